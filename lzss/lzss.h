/*
 * lzss.h - match finding: the words both engines share, and the CPU engine
 *
 * Input is cut into segments; a segment is cut into chunks of LZ_CHUNK_SIZE bytes (the last may be
 * shorter).  A match finder turns every chunk into a list of sequences: "copy this many literals
 * from the input, then repeat this many bytes from this far back".  What a list holds is a function
 * of the segment's bytes and the level alone; the GPU engine (gpu/gpu.h) produces the same lists.
 */
#ifndef GZLZSS_LZSS_H
#define GZLZSS_LZSS_H

#include <stddef.h>
#include <stdint.h>

#include "base/deflate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* DEFLATE's limits (RFC 1951, section 3.2.5). */
#define LZ_MIN_MATCH DEFLATE_MIN_MATCH
#define LZ_MAX_MATCH DEFLATE_MAX_MATCH
#define LZ_WINDOW_SIZE DEFLATE_WINDOW_SIZE

/*
 * Bytes a chunk spans.  A smaller chunk gives the GPU more parallel work and the block splitter
 * finer cuts; every chunk end stops one match short, and every chunk costs the GPU the 32 KiB of
 * history it has to index first.  History plus chunk must not exceed 65536, so that positions in
 * them fit in 16 bits.
 */
#define LZ_CHUNK_SIZE 32768

/* Sizes a segment may have, and has by default: a larger one from LZ_LEVEL_LARGE_SEGMENTS on, where
 * time matters less; see --blocksize. */
#define LZ_SEGMENT_MIN ((size_t)32 << 10)
#define LZ_SEGMENT_DEFAULT ((size_t)2 << 20)
#define LZ_SEGMENT_DEFAULT_LARGE ((size_t)4 << 20)
#define LZ_LEVEL_LARGE_SEGMENTS 10
#define LZ_SEGMENT_MAX ((size_t)32 << 20)

/* Bytes past the end of a segment that must be readable (their values do not matter): positions are
 * hashed by up to 12 bytes, and the encoder compares matches 32 bytes at a time. */
#define LZ_INPUT_PAD 64

/* Sequences one chunk can have at most. */
#define LZ_CHUNK_MAX_SEQUENCES (LZ_CHUNK_SIZE / LZ_MIN_MATCH)

/* Chunks in a segment of `len` bytes. */
#define LZ_CHUNKS(len) (((len) + LZ_CHUNK_SIZE - 1) / LZ_CHUNK_SIZE)

/* Where the chunk that starts at `start`, below `len`, ends in a segment of `len` bytes. */
#define LZ_CHUNK_END(start, len) ((len) - (start) < LZ_CHUNK_SIZE ? (len) : (start) + LZ_CHUNK_SIZE)

/*
 * `literals` input bytes (0 to LZ_CHUNK_SIZE) stand for themselves, then `length` bytes (3 to 258)
 * repeat those `distance` (1 to 32768) back.  Literals after a chunk's last match have no
 * sequence: they are whatever of the chunk is left.
 */
struct lz_sequence {
    uint16_t literals;
    uint16_t length;
    uint16_t distance;
};

/* The sequences of one chunk, in order.  A chunk of literals alone has none. */
struct lz_chunk {
    const struct lz_sequence *sequences;
    uint32_t count;
};

/* One row of the level table (levels.c). */
struct lz_level {
    unsigned finder;        /* enum lz_finder (finders.h); see chains.h and optimal.h for these: */
    uint16_t depth;         /* candidates looked at, by four bytes, */
    uint16_t long_depth;    /* by seven, */
    uint16_t longest_depth; /* and by twelve */
    uint16_t nice;          /* a match of this length is good enough to stop searching, 12 to 258 */
    uint16_t near3; /* chains: how far back a match of three may lie, up to 32767; 0: none */
    uint8_t lazy;   /* chains: positions of look-ahead, 0, 1 or 2 */
    uint8_t passes; /* optimal: over the shortest path, 1 or more */
    uint16_t split; /* bytes between places where a block may end (huffman.h) */
};

#define LZ_LEVEL_MIN 1
#define LZ_LEVEL_MAX 12
#define LZ_LEVEL_DEFAULT 6

/* The row of a level from LZ_LEVEL_MIN to LZ_LEVEL_MAX; never NULL. */
const struct lz_level *lz_level(int level);

/* The CPU engine's state for one thread: tables, and room for one segment's sequences, of which others
 * may fill in some (lz_match_chunks). */
struct lz_matcher;

/* A matcher for `level` and those below it, and for segments of up to `segment_size` bytes, 1 to
 * LZ_SEGMENT_MAX; NULL if memory is short, and NULL can be freed. */
struct lz_matcher *lz_matcher_new(const struct lz_level *level, size_t segment_size);

/* Bytes that lz_matcher_new takes.  How much of that is ever touched depends on the data. */
size_t lz_matcher_size(const struct lz_level *level, size_t segment_size);
void lz_matcher_free(struct lz_matcher *m);

/*
 * Finds the matches of the segment in[0..len), len from 0 to the matcher's segment size, with
 * LZ_INPUT_PAD readable bytes after it.  Returns an array of LZ_CHUNKS(len) chunks that stays
 * valid until the next call.
 */
const struct lz_chunk *lz_match_segment(struct lz_matcher *m, const struct lz_level *level,
                                        const uint8_t *in, size_t len);

/* The same, but the segment's first chunk is only looked back at, as a preset dictionary is: len is
 * LZ_CHUNK_SIZE at least, and that chunk's sequences are not found (there are 0 of them). */
const struct lz_chunk *lz_match_after(struct lz_matcher *m, const struct lz_level *level,
                                      const uint8_t *in, size_t len);

/*
 * A part of a segment, with a level without passes: finds the matches, those of lz_match_segment, of
 * the `count` chunks, 1 or more, from `first` on, all within the segment in[0..len), with
 * LZ_INPUT_PAD readable bytes after it, and puts them where lz_chunks(to) will be.  If m is `to`, m
 * goes on with its tables: its calls for a segment are in order, from chunk 0 on, with no chunk
 * between them left out.  Another m begins anew each time, a chunk earlier if there is one.  Threads
 * that each have an m of their own may do this at the same time with one `to`, for different chunks;
 * meanwhile it is used for nothing else.
 */
void lz_match_chunks(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                     size_t len, size_t first, size_t count, struct lz_matcher *to);

/* The LZ_CHUNKS(len) chunks of the segment that was matched last, all of which were; valid until the
 * next call with m. */
const struct lz_chunk *lz_chunks(const struct lz_matcher *m);

#ifdef __cplusplus
}
#endif

#endif
