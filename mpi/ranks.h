/*
 * ranks.h - the ranks: how they wait for each other, agree, and share a machine
 *
 * MPI waits by asking again and again, which takes a processor from the threads that compress.  So
 * the ranks meet first: ranks_meet sleeps between two looks.  What they have to say to each other is
 * said once all are there, and then takes microseconds.
 *
 * An error in what the ranks say to each other is no rank's to report to the others: a message is
 * printed, what is not final is removed, and the process ends by SIGTERM; mpirun then ends the rest.
 * (A rank that was started with SIGTERM ignored removes nothing: it ends by MPI_Abort.)
 */
#ifndef GZLZSS_MPI_RANKS_H
#define GZLZSS_MPI_RANKS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/messages.h"

/* Some ranks: all of them, or one. */
struct ranks {
    MPI_Comm comm;
    int rank, count;
};

/* Starts MPI; `program` is for the message about ranks that cannot reach each other. */
void ranks_begin(int *argc, char ***argv, const char *program);
void ranks_end(void);

struct ranks ranks_all(void);
struct ranks ranks_alone(void); /* this one */

/* Returns when all of them have called it. */
void ranks_meet(const struct ranks *r);

/* Adds up what all of them have in mine[0..count): all[0..count) becomes the sums, and *before the sum of
 * mine[0] over the ranks before this one.  They meet first. */
void ranks_add_up(const struct ranks *r, const uint64_t *mine, int count, uint64_t *before,
                  uint64_t *all);

/* Whether all are well.  All of them call it, here and below. */
bool ranks_agree(const struct ranks *r, bool is_well);

/* Gives all of them what rank 0 has there. */
void ranks_share(const struct ranks *r, void *bytes, size_t len);

/* The same for a text that rank 0 has, NULL counting as an empty one; the others get one of their
 * own, to be freed.  It ends the process if memory is short. */
char *ranks_share_text(const struct ranks *r, const char *text);

/* The same for a variable of the environment.  No other thread may run. */
void ranks_share_variable(const struct ranks *r, const char *name);

/* Whether all of them have the same texts. */
bool ranks_have_same(const struct ranks *r, char *const *texts, int count);

/* Leaves messages with rank 0 alone.  If the status of some ranks is not STATUS_OK, rank 0 gets those
 * of the first such rank behind its own; it has none to get if it is that rank.  All get that rank's
 * status. */
void ranks_tell(const struct ranks *r, struct messages *m);

/* Moves the messages of rank `from` to rank 0. */
void ranks_hand_over(const struct ranks *r, struct messages *m, int from);

/* Which of the ranks on this machine this one is, from 0. */
int ranks_local(void);

/* This rank's share of the processors that it may use, by its affinity mask and the CPU quotas of its
 * control groups: ranks on this machine with the same mask have equal shares.  1 or more. */
int ranks_threads(void);

#endif
