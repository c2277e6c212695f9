/*
 * copiers.h - copies from and to the memory of GPUs, for all threads of a pipeline
 *
 * A copier (gpu/gpu.h) serves one thread at a time.  The pipeline has a few copiers for each
 * device, and makes each when it is first needed.  If all are in use, a thread waits for one.
 */
#ifndef GZLZSS_COPIERS_H
#define GZLZSS_COPIERS_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/gpu.h"

/* All copiers of a pipeline. */
struct copiers;

/* Makes an empty list of copiers.  Returns NULL if memory is short. */
struct copiers *copiers_new(void);

/* Whether any copier was made.  c may be NULL.  No thread may be copying. */
bool copiers_are_used(const struct copiers *c);

/* Frees all copiers.  c may be NULL.  No thread may be copying. */
void copiers_free(struct copiers *c);

/* Copies `len` bytes between memory of CUDA device `device` and other memory.  Any thread may call
 * this.  Returns false with errno set: ENOMEM if memory is short, EIO if the device failed or no
 * copier could be made. */
bool copiers_copy(struct copiers *c, int device, void *to, const void *from, size_t len);

/* Copies `count` parts, 1 or more, from host memory to memory of CUDA device `device`, one after
 * another.  Otherwise as copiers_copy. */
bool copiers_put(struct copiers *c, int device, void *to, const struct iovec *parts, int count);

#endif
