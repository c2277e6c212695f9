/*
 * deal.h - which rank works on which file
 */
#ifndef GZLZSS_MPI_DEAL_H
#define GZLZSS_MPI_DEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* In the place of a rank: all of them work on the file together. */
#define DEAL_TO_ALL (-1)

/*
 * Sets owner[i] to the rank that works on file i of `count`, 1 or more, which has sizes[i] bytes.  A file that has more than
 * an even share of all bytes is all ranks', and so is an only one; with all_together, each is.  The
 * others are dealt out, the largest first, each to the rank that has least; of such ranks, to the first.
 * It depends on nothing else, so that all ranks come to the same.  Takes time that grows as
 * count x log(count x ranks).  False if memory is short.
 */
bool deal_files(int *owner, const uint64_t *sizes, size_t count, int ranks, bool all_together);

#endif
