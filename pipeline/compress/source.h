/*
 * source.h - cuts the input of a compression into segments and reads them
 *
 * In memory and in a regular file, a segment that certainly has another byte after it can be read
 * at any time.  So several threads read such segments, in any order.  All other segments, up to and
 * including the last, are read one after another.  For these, only reading to the end of the input
 * tells which segment is the last.  If a file grows meanwhile, it is read up to its new end.
 *
 * The memory may be a GPU's.  Then reading copies it to the host.
 *
 * For --rsyncable, segments are pieces.  A piece may end anywhere in the input.  The last bytes
 * before that place determine that the piece ends there.  So if two inputs have a part in common,
 * they soon have the same pieces in that part.  Pieces are read one after another.
 */
#ifndef GZLZSS_SOURCE_H
#define GZLZSS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sparse.h"
#include "base/wake.h"
#include "lzss/lzss.h"
#include "pipeline/compress/copiers.h"

/* The longest piece, in bytes.  PIPELINE_PIECE_MIN is the shortest.  Changing this number changes
 * the output. */
#define SOURCE_PIECE_MAX ((size_t)64 << 10)

struct source {
    int fd;
    const uint8_t *memory;   /* the input; NULL: fd or source_push gives it */
    struct copiers *copiers; /* copies `memory` if that is in GPU memory; else NULL */
    int device;              /* the CUDA device with that memory */
    bool is_file;            /* the input is a regular file, or memory */
    /* The input is pushed: by source_push, or as whole segments (push.c). */
    bool is_pushed;
    /* Ends a wait for fd.  If no thread ever waits for fd, as with a regular file, `wake` is not
     * open. */
    struct wake wake;
    struct pipe_reader *reader; /* reads fd if that is a fast pipe; else NULL */
    size_t segment_size;
    uint64_t random_access; /* segments, from number 0, that can be read in any order */
    bool has_holes;         /* the file has holes, so `holes` reads it */
    struct sparse_input holes;
    uint64_t base; /* where segment 0 starts in the file, if random_access > 0 */
    uint64_t size; /* bytes of the file from fd's position on, or of memory; else 0 */

    /* For reading in order: */
    uint64_t in_order; /* segments read in order so far */
    bool have_peeked;  /* `peeked` is valid */
    uint8_t peeked;    /* the first byte of the next segment, already read */
    uint64_t end;      /* bytes of the whole input; set when the last segment was read */

    /* For reading in pieces: */
    /* The window before the next piece, and the bytes after that window.  NULL: no pieces. */
    uint8_t *held;
    size_t held_room; /* bytes of memory of `held`; grows if input is pushed */
    size_t next;      /* where the next piece starts in `held` */
    size_t filled;    /* bytes of input in `held`, with the window */
    uint64_t read;    /* bytes read so far, in all */
    bool no_more;     /* the input ends at held[filled] */
    bool flushes;     /* the input was flushed at held[filled], so a piece ends there */
};

/* Prepares the source for the file or pipe fd, from its position on.  If `fast` is set and fd is a
 * pipe, a pipe_reader reads it (pipe_reader.h).  After this or another source_init function, call
 * source_finish at the end. */
void source_init(struct source *s, int fd, size_t segment_size, bool fast);

/* Prepares the source for the input in[0..len), which must not change until source_finish. */
void source_init_memory(struct source *s, const uint8_t *in, size_t len, size_t segment_size);

/* Prepares the source for the input in[0..len), which is in the memory of CUDA device `device`.
 * `copiers` copies it (copiers.h). */
void source_init_gpu_memory(struct source *s, const uint8_t *in, size_t len, size_t segment_size,
                            struct copiers *copiers, int device);

/* Returns the address of segment `index` in a GPU's memory.  Returns NULL if the input is
 * elsewhere.  `index` is below random_access. */
const uint8_t *source_on_gpu(const struct source *s, uint64_t index);

/* Prepares the source for an input that the caller pushes: as whole segments (push.c), or by
 * source_push. */
void source_init_pushed(struct source *s, size_t segment_size);

/* Whether the input is a regular file or memory.  Such an input has random_access + 1 segments,
 * unless it is a file that grows. */
bool source_is_file(const struct source *s);

/* Whether the input is known to be longer than a segment before it is read. */
bool source_is_long(const struct source *s);

/* Reads the whole segment `index`, which is below random_access, to buf.  Any thread may call
 * this.  Returns false with errno set: PIPELINE_SHORTER if the file has become shorter, EIO if a
 * GPU failed. */
bool source_read_at(struct source *s, uint64_t index, uint8_t *buf);

/* Reads the next of the segments that come after the first random_access segments.  Reads the
 * segment to buf, and sets *len to its bytes.  Only the last segment may have fewer than
 * segment_size bytes, and only an empty input gives 0 bytes.  *last becomes true with the last
 * segment; then do not call this again.  Only one thread at a time may call this.  Returns false
 * with errno set after an error. */
bool source_read_next(struct source *s, uint8_t *buf, size_t *len, bool *last);

/* If a thread waits for a pipe's other end in source_read_next or source_next_piece, makes that
 * call fail with ECANCELED.  Any thread may call this. */
void source_cancel(const struct source *s);

/*
 * Switches the source to pieces, which are read by source_next_piece instead of source_read_next.
 * Call it after a source_init function with a segment_size of LZ_SEGMENT_MAX.  Returns false if
 * memory is short.
 */
bool source_begin_pieces(struct source *s);

/* Reads the next piece to buf, which has LZ_CHUNK_SIZE + SOURCE_PIECE_MAX bytes.  First, buf gets
 * the window before the piece, which has *before bytes: LZ_CHUNK_SIZE, or 0 near the start of the
 * input.  Then, buf gets the piece, which has *len bytes: 0 only if the input is empty.  *last
 * becomes true with the last piece.  Only one thread at a time may call this.  Returns false with
 * errno set after an error. */
bool source_next_piece(struct source *s, uint8_t *buf, size_t *before, size_t *len, bool *last);

/* Pushes input for pieces: takes as many of the `len` bytes as there is room for, and sets *taken
 * to their number.  If `ends` is set, the input ends with these bytes, once all are taken.  Returns
 * false if memory is short. */
bool source_push(struct source *s, const uint8_t *bytes, size_t len, bool ends, size_t *taken);

/* Makes a piece end after the bytes pushed so far. */
void source_flush(struct source *s);

/* Keeps the next piece from referring to anything before it.  Call this only if all bytes are in
 * pieces. */
void source_forget(struct source *s);

/* Whether source_push would take at least one byte, or the end of the input. */
bool source_has_room(const struct source *s);

/* Whether source_next_piece has all the input that it needs for a piece. */
bool source_has_piece(const struct source *s);

/* Frees the source's memory.  Leaves the file's position after the bytes that were read, as if the
 * file had been read from front to back. */
void source_finish(const struct source *s);

#endif
