/*
 * deal.h - decides which rank works on which file
 */
#ifndef GZLZSS_MPI_DEAL_H
#define GZLZSS_MPI_DEAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Takes the place of a rank's number if all ranks work on the file together. */
#define DEAL_TO_ALL (-1)

/*
 * Sets owner[i], for each of the `count` files, of which there is at least one.  File i has
 * sizes[i] bytes.  owner[i] becomes the rank that works on file i, or DEAL_TO_ALL.
 *
 * All ranks work on a file together if it has more than an even share of all bytes, if it is the
 * only file, or if all_together is set.  The other files are dealt out, the largest first, each to
 * the rank with the fewest bytes so far.  If several ranks have the fewest, the first of them gets
 * the file.
 *
 * The result depends only on the arguments, so all ranks compute the same result.  The time grows
 * as count x log(count x ranks).  Returns false if memory is short.
 */
bool deal_files(int *owner, const uint64_t *sizes, size_t count, int ranks, bool all_together);

#endif
