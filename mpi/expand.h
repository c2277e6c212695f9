/*
 * expand.h - decompresses one .gz with marks with several ranks
 */
#ifndef GZLZSS_MPI_EXPAND_H
#define GZLZSS_MPI_EXPAND_H

#include "mpi/work.h"

/* Whether the file seems to have marks, so that ranks can share the work.  Only one rank calls
 * this. */
bool expand_has_marks(const struct together *e, uint64_t header_len);

enum expand_result {
    EXPAND_DONE,     /* all is well */
    EXPAND_FAILED,   /* on at least one rank, a message in e->f says why */
    EXPAND_NOT_HERE, /* one rank must decompress the file with gunzip's own code; no message was
                      * printed */
};

/*
 * Decompresses the file to e->out, if that is open.  header_len is the size of the first member's
 * header in bytes.  All ranks of e->r must call this function, and all get the same result.  After
 * EXPAND_DONE, *members is the number of members, and *member_bytes the size of the last member's
 * data.
 */
enum expand_result expand_together(struct together *e, uint64_t header_len, uint64_t *members,
                                   uint64_t *member_bytes);

#endif
