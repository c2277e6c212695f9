/*
 * source.h - the input of a compression, segment by segment
 *
 * Segments of memory, and of a regular file, that certainly have another byte after them can be read in any order
 * and by several threads at a time.  All others, up to and including the last, are read one after
 * another, since only reading on tells whether one is the last; a file that grows meanwhile is
 * followed to wherever its end is then.
 *
 * Memory may be a GPU's: to read it is to copy it to the host's.
 *
 * For --rsyncable, the segments are pieces that end where the bytes before say so, wherever in the
 * input that is: so what is the same in two inputs soon has the same segments in both.  They are
 * read one after another.
 */
#ifndef GZLZSS_SOURCE_H
#define GZLZSS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "lzss/lzss.h"
#include "pipeline/compress/copiers.h"

/* The longest piece (PIPELINE_PIECE_MIN is the shortest). */
#define SOURCE_PIECE_MAX ((size_t)64 << 10)

struct source {
    int fd;
    const uint8_t *memory;   /* the input, or NULL: fd is */
    struct copiers *copiers; /* not NULL: the memory is this device's, and they get there */
    int device;
    bool is_file;               /* a regular one, or memory */
    bool is_pushed;             /* by source_push, or elsewhere */
    int wake[2];                /* a pipe that ends waiting, unless the file is regular; else -1 */
    struct pipe_reader *reader; /* of a pipe, or NULL */
    size_t segment_size;
    uint64_t random_access; /* how many segments, from 0, can be read in any order */
    uint64_t base;          /* where in the file segment 0 starts, if random_access > 0 */
    uint64_t size;          /* bytes of the file from there on; 0 if it is none */

    /* Of reading in order: */
    uint64_t in_order; /* segments read so */
    bool have_peeked;  /* one byte of the next segment was read already */
    uint8_t peeked;
    uint64_t end; /* bytes of the whole input, once the last segment was read */

    /* Of reading in pieces: */
    uint8_t *held;    /* the window before the next piece, and what was read after it; else NULL */
    size_t held_room; /* bytes that it has memory for: it grows with what is pushed */
    size_t next;      /* where in it the next piece starts, */
    size_t filled;    /* and where what was read ends, */
    uint64_t read;    /* which are so many bytes in all */
    bool no_more;     /* the input ends there */
};

/* Looks at the file from where it is positioned.  If `fast`, a pipe is read by a pipe_reader
 * (pipe_reader.h).  source_finish has to follow. */
void source_init(struct source *s, int fd, size_t segment_size, bool fast);

/* The same for the input in[0..len), which stays as it is until source_finish. */
void source_init_memory(struct source *s, const uint8_t *in, size_t len, size_t segment_size);

/* The same for memory of CUDA device `device`, which these copy (copiers.h). */
void source_init_gpu_memory(struct source *s, const uint8_t *in, size_t len, size_t segment_size,
                            struct copiers *copiers, int device);

/* Where segment `index`, which is below random_access, is in a GPU's memory; NULL if the input is
 * elsewhere. */
const uint8_t *source_on_gpu(const struct source *s, uint64_t index);

/* The same for an input that is not read: its segments come otherwise, or by source_push. */
void source_init_pushed(struct source *s, size_t segment_size);

/* Whether the input is a regular file or memory: it has as many segments as random_access says and
 * one more, unless it is a file and grows. */
bool source_is_file(const struct source *s);

/* Reads the whole segment `index`, which is below random_access.  Any thread.  Returns false with
 * errno set; PIPELINE_SHORTER if the file has become shorter, EIO if a GPU failed. */
bool source_read_at(const struct source *s, uint64_t index, uint8_t *buf);

/* Reads the next segment after the random_access ones: *len bytes, less than a whole segment only
 * if it is the last, 0 only if the input is empty.  One thread at a time; the source has ended once
 * *last is set.  Returns false with errno set. */
bool source_read_next(struct source *s, uint8_t *buf, size_t *len, bool *last);

/* Wakes a thread that waits in source_read_next for a pipe's other end: it fails with ECANCELED.
 * Any thread. */
void source_cancel(const struct source *s);

/*
 * These two make the source, which was readied as above with segments of LZ_SEGMENT_MAX bytes, one
 * of pieces, and take the place of source_read_next.  source_begin_pieces returns false if memory is
 * short.
 *
 * buf, of LZ_CHUNK_SIZE + SOURCE_PIECE_MAX bytes, gets the window before the piece, then the piece:
 * *before, LZ_CHUNK_SIZE or near the start of the input 0, and *len bytes.  *len is 0 only if the
 * input is empty.  One thread at a time.  Returns false with errno set.
 */
bool source_begin_pieces(struct source *s);
bool source_next_piece(struct source *s, uint8_t *buf, size_t *before, size_t *len, bool *last);

/* For pieces of an input that is pushed: source_push takes as many bytes as there is room for, and
 * sets *taken to how many; `ends`: the input ends with them, if all are taken.  False: memory is short.
 * source_has_room says whether it takes any, and source_has_piece whether source_next_piece has what it
 * needs. */
bool source_push(struct source *s, const uint8_t *bytes, size_t len, bool ends, size_t *taken);
bool source_has_room(const struct source *s);
bool source_has_piece(const struct source *s);

/* Leaves the file positioned after what was read, as reading it from front to back would have. */
void source_finish(const struct source *s);

#endif
