/*
 * slots.h - keeps claimed segments, and bounds the memory that they hold
 */
#ifndef GZLZSS_SLOTS_H
#define GZLZSS_SLOTS_H

#include "pipeline/crew/state.h"

/* Makes p->slots.  Slots may hold held_max bytes in all.  To keep all workers busy, held_by_workers
 * of these bytes are enough.  If the address space is limited, allocates slots now, for as many
 * segments as fit in held_by_workers, because other code might have taken the memory later. */
void slots_init(struct pipeline *p, uint64_t held_max, uint64_t held_by_workers);

/* Lowers the limit to the bytes that workers need.  Call this if there are no GPUs. */
void slots_shrink(struct pipeline *p);

/* Raises the limit by `bytes` bytes. */
void slots_grow(struct pipeline *p, uint64_t bytes);

/* Frees all slots and spare output buffers.  No job may be left. */
void slots_free(struct pipeline *p);

/* Makes a slot for the job's next claimed segment.  The slot counts as `weight` bytes until
 * slot_weigh.  Returns NULL if memory is short. */
struct slot *slot_new(struct job *j, size_t weight);

/* Makes the slot count as `weight` bytes from now on. */
void slot_weigh(struct slot *s, size_t weight);

/* Hands the slot to the writer, after its segment was encoded or dropped. */
void slot_done(struct slot *s);

/* Takes the first slot, which must be done, out of the job's list. */
struct slot *slot_take_first(struct job *j);

/* Keeps a slot and its output buffer for later segments.  The slot must be out of the job's
 * list. */
void slot_free(struct slot *s);

/* Frees the job's first slot, which must be done. */
void slot_free_first(struct job *j);

/* Frees the slots of a failed job that are done, and wakes the crew.  Does nothing while a thread
 * writes the job's output, because that thread calls this function after its last write. */
void slots_drop_done(struct job *j);

/* Whether a thread may claim `bytes` more bytes.  It may if at least `reserve` bytes then stay free
 * for others. */
bool slots_have_room(const struct pipeline *p, uint64_t bytes, uint64_t reserve);

/* Bytes that slots may hold in all. */
uint64_t slots_most(const struct pipeline *p);

/* By how many bytes the limit slots_most exceeds the bytes that keep all workers busy. */
uint64_t slots_beyond_workers(const struct pipeline *p);

/* Takes a spare output buffer for a segment, or makes one.  Returns NULL if memory is short. */
uint8_t *slots_take_output(struct pipeline *p);

#endif
