/*
 * starts.h - finds the next place in a damaged input where decoding can start
 *
 * The search accepts a place only if a block can be decoded from it, and if the block is followed
 * by another block's good header, or by the end of the data and of the member.  A false place is
 * then unlikely, but possible, because a stored block may contain a whole .gz, whose blocks are
 * good, but are not blocks of this input.  So the search also looks for stored blocks, and accepts
 * no place inside them.
 *
 * The time is bounded by the length of the input: all work counts against one budget (run.h).  If
 * the budget is used up, a search begins further on, and passes over what is before.
 */
#ifndef GZLZSS_RECOVER_STARTS_H
#define GZLZSS_RECOVER_STARTS_H

#include "compat/recover/run.h"

struct gz_starts;

/* Makes the tables for searching.  Returns NULL if memory is short. */
struct gz_starts *gz_starts_new(struct gz_runner *r);

/* Frees s, which may be NULL. */
void gz_starts_free(struct gz_starts *s);

/* Finds the first start at bit `from` of the input or after it.  The last two blocks of the run
 * `except`, which may be NULL, are passed over.  Returns false if there is no start. */
bool gz_starts_find(struct gz_starts *s, uint64_t from, const struct gz_run *except,
                    struct gz_start *start);

/* Returns how many bytes of the input the searches have passed over so far, since the budget was
 * used up. */
uint64_t gz_starts_passed(const struct gz_starts *s);

/* Whether a member starts at byte `at` of the input.  Sets *start to the member's start. */
bool gz_starts_member(struct gz_view *view, uint64_t at, struct gz_start *start);

/* Whether byte `at` of the input can be the first byte after a member: the input ends there, a
 * member starts there, or only zeros follow for a while. */
bool gz_starts_end(struct gz_view *view, uint64_t at);

#endif
