/*
 * slots.h - claimed segments, and the memory that they hold
 */
#ifndef GZLZSS_SLOTS_H
#define GZLZSS_SLOTS_H

#include "pipeline/crew/state.h"

/* Slots may hold so many bytes, of which workers need so many to be busy.  Where memory is
 * limited, makes as many slots as these are segments: later, others may have taken the memory. */
void slots_init(struct pipeline *p, uint64_t held_max, uint64_t held_by_workers);

/* No more than what workers need may be held: there are no GPUs. */
void slots_shrink(struct pipeline *p);

/* Slots may hold so many bytes more. */
void slots_grow(struct pipeline *p, uint64_t bytes);

/* Frees all memory; no job may be left. */
void slots_free(struct pipeline *p);

/* A slot for a segment of the job.  It counts as `weight` bytes until slot_weigh sets how many it
 * holds.  NULL if memory is short. */
struct slot *slot_new(struct job *j, size_t weight);
void slot_weigh(struct slot *s, size_t weight);

/* The segment is encoded, or will never be; the slot is the writer's. */
void slot_done(struct slot *s);

/* Frees the first slot of the job, which is done. */
void slot_free_first(struct job *j);

/* Frees the slots of a failed job that are done, unless the writer has them, and wakes the crew. */
void slots_drop_done(struct job *j);

/* Whether `bytes` more may be claimed and leave room for `reserve`. */
bool slots_have_room(const struct pipeline *p, uint64_t bytes, uint64_t reserve);

/* Bytes that slots may hold in all, and the part that workers do not need. */
uint64_t slots_most(const struct pipeline *p);
uint64_t slots_beyond_workers(const struct pipeline *p);

/* An output buffer for a segment; NULL if memory is short. */
uint8_t *slots_take_output(struct pipeline *p);

#endif
