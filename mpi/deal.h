/*
 * deal.h - decides which rank works on which file
 */
#ifndef GZLZSS_MPI_DEAL_H
#define GZLZSS_MPI_DEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Stands for a rank's number: all ranks work on the file together. */
#define DEAL_TO_ALL (-1)

/*
 * Sets owner[i] to the rank that works on file i, which has sizes[i] bytes, or to DEAL_TO_ALL, for
 * all `count` files (1 or more).
 *
 * All ranks work on a file together if it has more than an even share of all bytes, if it is the
 * only file, or if all_together is set.  The other files are dealt out, the largest first, each to
 * the rank with the fewest bytes so far.  If several ranks have the fewest, the first of them gets
 * the file.
 *
 * The result depends only on the arguments, so all ranks compute the same.  The time grows as count
 * x log(count x ranks).  False if memory is short.
 */
bool deal_files(int *owner, const uint64_t *sizes, size_t count, int ranks, bool all_together);

#endif
