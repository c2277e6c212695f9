/*
 * expand.h - one .gz with marks, decompressed by some ranks
 */
#ifndef GZLZSS_MPI_EXPAND_H
#define GZLZSS_MPI_EXPAND_H

#include "mpi/work.h"

/* Whether the file looks as if it had marks, so that the ranks can share the work: one rank asks. */
bool expand_has_marks(const struct together *e, uint64_t header_len);

enum expand_result {
    EXPAND_DONE,
    EXPAND_FAILED,   /* a message in e->f says why, of one rank at least */
    EXPAND_NOT_HERE, /* something about the file is for gunzip's own code: nothing was said */
};

/*
 * Decompresses the file, whose first member has a header of so many bytes, to e->out if that is
 * open.  All ranks of e->r call it, and all get the same result.  After EXPAND_DONE, *member_bytes
 * are those of the last member's data, and *members how many there are.
 */
enum expand_result expand_together(struct together *e, uint64_t header_len, uint64_t *members,
                                   uint64_t *member_bytes);

#endif
