/*
 * ranks.h - the ranks: how they wait for each other, agree, and share a machine
 *
 * MPI waits by polling, which takes a processor from the threads that compress.  So the ranks meet
 * first, by ranks_meet, which sleeps between two checks.  They exchange data only when all have
 * arrived; the exchange then takes microseconds.  So put ranks_meet before each new call of MPI in
 * which ranks wait for each other.
 *
 * If the communication itself fails, a rank cannot tell the others.  So it prints a message and
 * ends by SIGTERM, whose handler removes outputs that are not final.  Then mpirun ends the other
 * ranks.  A rank that was started with SIGTERM ignored ends by MPI_Abort instead, and removes
 * nothing.
 */
#ifndef GZLZSS_MPI_RANKS_H
#define GZLZSS_MPI_RANKS_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/messages.h"

/* A group of ranks: all ranks, or this rank alone.  All ranks of a group must call a function that
 * takes the group, unless its comment says otherwise. */
struct ranks {
    MPI_Comm comm;
    int rank,  /* this rank's number in the group */
        count; /* how many ranks the group has */
};

/* Starts MPI.  `program` is the program's name, for messages about ranks that cannot reach each
 * other. */
void ranks_begin(int *argc, char ***argv, const char *program);

/* Ends MPI, after all ranks have called this. */
void ranks_end(void);

/* The group of all ranks. */
struct ranks ranks_all(void);

/* The group of this rank alone. */
struct ranks ranks_alone(void);

/* Returns when all ranks of the group have called this function. */
void ranks_meet(const struct ranks *r);

/* Adds up numbers of all ranks, after the ranks have met.  all[i] becomes the sum of mine[i] over
 * all ranks, for 0 <= i < count.  *before becomes the sum of mine[0] over the ranks before this
 * one. */
void ranks_add_up(const struct ranks *r, const uint64_t *mine, int count, uint64_t *before,
                  uint64_t *all);

/* Whether is_well is true on all ranks. */
bool ranks_agree(const struct ranks *r, bool is_well);

/* Copies bytes[0..len) from rank 0 to all ranks. */
void ranks_share(const struct ranks *r, void *bytes, size_t len);

/* Returns, on all ranks, a copy of the text that rank 0 has.  The caller frees the copy.  A NULL on
 * rank 0 counts as an empty text.  Ends the process if memory is short. */
char *ranks_share_text(const struct ranks *r, const char *text);

/* Sets an environment variable on all ranks to the value that it has on rank 0.  No other thread
 * may run. */
void ranks_share_variable(const struct ranks *r, const char *name);

/* Whether all ranks have the same texts[0..count). */
bool ranks_have_same(const struct ranks *r, char *const *texts, int count);

/* Moves messages to rank 0, so that only rank 0 has any.  If one or more ranks have a status other
 * than STATUS_OK, the first of these ranks counts: all ranks get its status, and its messages come
 * after rank 0's own.  The messages of all other ranks are dropped. */
void ranks_tell(const struct ranks *r, struct messages *m);

/* Moves the messages of rank `from` to rank 0, where they come after rank 0's own messages.  All
 * other ranks do nothing. */
void ranks_hand_over(const struct ranks *r, struct messages *m, int from);

/* Returns this rank's number, from 0, among the ranks on this machine.  All ranks must call
 * this. */
int ranks_local(void);

/* Returns this rank's share of the processors that it may use, by its affinity mask and the CPU
 * quotas of its control groups; 1 or more.  Ranks on this machine with the same mask have equal
 * shares.  All ranks must call this. */
int ranks_threads(void);

#endif
