/*
 * copiers.h - copies from and to the memory of GPUs, for any thread of a pipeline's
 */
#ifndef GZLZSS_COPIERS_H
#define GZLZSS_COPIERS_H

#include <stdbool.h>
#include <stddef.h>

#include "gpu/gpu.h"

/* Idle copiers (gpu/gpu.h).  A new one is made only when all are in use. */
struct copiers;

/* NULL if memory is short. */
struct copiers *copiers_new(void);

/* Whether one was made; c may be NULL, and nobody may be copying. */
bool copiers_are_used(const struct copiers *c);

/* Frees them all; c may be NULL, and nobody may be copying. */
void copiers_free(struct copiers *c);

/* Copies between memory of CUDA device `device` and other memory.  False with errno set: EIO if the
 * device failed, ENOMEM. */
bool copiers_copy(struct copiers *c, int device, void *to, const void *from, size_t len);

#endif
