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

#include <stdbool.h>
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

/* Sizes that a segment may have; see --blocksize.  A level has its own default. */
#define LZ_SEGMENT_MIN ((size_t)32 << 10)
#define LZ_SEGMENT_MAX ((size_t)32 << 20)

/* Bytes past the end of a segment that must be readable (their values do not matter): level 1
 * compares 64 bytes at a time, from any byte on. */
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

struct lz_matcher;
struct lz_level;

/* A match finder on the GPU: the twin of a struct lz_finder.  Only gpu/ and the twins themselves
 * see into it (gpu/internal.cuh). */
struct gpu_finder;

/* Numbers that a finder may count as it works. */
#define LZ_COUNTERS 2

/* A match finder: a method to choose a segment's matches.  finders.h lists those of the levels, and
 * lzss/NAME.c describes the one of that name.  Its parameters are in struct lz_level. */
struct lz_finder {
    const char *name;

    /* What finds the same on a GPU; in a build without CUDA there is nothing in it. */
    const struct gpu_finder *gpu;

    /* lz_match_chunks works: what is found in one chunk does not depend on what was chosen in
     * others. */
    bool in_parts;

    /* A core takes most of a second for a segment, and a GPU does the work of many cores. */
    bool is_slow;

    /* Makes the memory that it needs beside struct lz_matcher's tables; NULL if memory is short.
     * Says how many bytes that takes, and frees it.  These three are NULL for a finder that needs
     * none, or a plain state. */
    void *(*new_state)(const struct lz_level *level, size_t segment_size);
    size_t (*state_size)(const struct lz_level *level, size_t segment_size);
    void (*free_state)(void *state);

    /* If it may take more memory as it works, says how many bytes that is at most, and makes it no more
     * than `more`; otherwise both are NULL. */
    size_t (*state_more)(const struct lz_level *level, size_t segment_size);
    void (*limit_state)(void *state, size_t more);

    /* Bytes of a plain state: one piece of memory, whose values do not matter at first.  Otherwise 0. */
    size_t plain_state;

    /* Finds the matches of in[m->begin..m->end) of the segment in[0..len); see matcher.h.  NULL in the
     * finder of level 0, which finds none. */
    void (*find)(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in, size_t len);

    /* What it counts, in the plural; NULL if it counts nothing.  The numbers depend on the segment's
     * bytes and the level alone.  GPUs do not count. */
    const char *const *counter_names;
};

/* Parameters that a finder may have beside those that are named in struct lz_level. */
#define LZ_PARAMS 8

/* One row of the level table (levels.c), or such a row with another finder.  chains.h and optimal.h
 * say what the parameters do. */
struct lz_level {
    const struct lz_finder *finder;
    uint16_t depth;         /* candidates to look at by four bytes */
    uint16_t long_depth;    /* candidates to look at by seven bytes */
    uint16_t longest_depth; /* candidates to look at by twelve bytes */
    uint16_t nice;          /* a match of this length ends a search, 12 to 258 */
    uint16_t
        max_distance3; /* chains: how far back a match of three may lie, up to 32767; 0: none */
    uint8_t lazy;      /* chains: positions of look-ahead, 0, 1 or 2 */
    uint8_t passes;    /* optimal: passes over the shortest path, 1 or more */
    uint16_t split;    /* bytes between places where a block may end (huffman.h) */
    uint32_t segment_default;  /* bytes of a segment without --blocksize */
    double core_guess;         /* bytes that a core matches in a second, before that is measured */
    uint32_t param[LZ_PARAMS]; /* of finders that have others than these; they say what they are */
};

/* Level 0 looks for no matches: its segments are stored (huff_store).  There is no matcher for it, and
 * no GPU.  LZ_LEVEL_MIN is the least level that looks for some. */
#define LZ_LEVEL_STORED 0
#define LZ_LEVEL_MIN 1
#define LZ_LEVEL_MAX 12
#define LZ_LEVEL_DEFAULT 6

/* The row of a level from LZ_LEVEL_STORED to LZ_LEVEL_MAX; never NULL. */
const struct lz_level *lz_level(int level);

/* Whether this is level 0's row. */
static inline bool lz_is_stored(const struct lz_level *level)
{
    return level->finder->find == NULL;
}

/* struct lz_matcher is the CPU engine's state for one thread: tables, and room for one segment's
 * sequences.  Other threads may fill in some of these (lz_match_chunks). */

/* Makes a matcher for `level`, which is not level 0, and the levels below it, and for segments of up to `segment_size`
 * bytes, 1 to LZ_SEGMENT_MAX.  NULL if memory is short. */
struct lz_matcher *lz_matcher_new(const struct lz_level *level, size_t segment_size);

/* The bytes that lz_matcher_new takes; 0 for level 0.  How many of them are ever touched depends on the data. */
size_t lz_matcher_size(const struct lz_level *level, size_t segment_size);

/* The bytes that a matcher may take besides while it works, at most.  How many depends on the data, on what
 * the system gives, and on lz_matcher_limit, which makes it no more than `more`.  With fewer than it could
 * use, it takes longer, and finds the same. */
size_t lz_matcher_more(const struct lz_level *level, size_t segment_size);
void lz_matcher_limit(struct lz_matcher *m, size_t more);

/* m may be NULL. */
void lz_matcher_free(struct lz_matcher *m);

/*
 * Finds the matches of the segment in[0..len), len from 0 to the matcher's segment size, with
 * LZ_INPUT_PAD readable bytes after it.  Returns an array of LZ_CHUNKS(len) chunks that stays
 * valid until the next call.
 */
const struct lz_chunk *lz_match_segment(struct lz_matcher *m, const struct lz_level *level,
                                        const uint8_t *in, size_t len);

/* The same for a segment whose first chunk is a preset dictionary: matches refer to it, and it has
 * no sequences itself.  len is at least LZ_CHUNK_SIZE. */
const struct lz_chunk *lz_match_after(struct lz_matcher *m, const struct lz_level *level,
                                      const uint8_t *in, size_t len);

/*
 * Finds the matches of a part of the segment in[0..len): of `count` chunks, 1 or more, from chunk
 * `first` on.  LZ_INPUT_PAD bytes after the segment can be read.  The level's finder can match in
 * parts.  The results are those of lz_match_segment and go where lz_chunks(to) has them.
 *
 * If m is `to`, m keeps its tables from call to call.  Its calls for a segment then go from chunk 0
 * on, in order, and leave out no chunk between them.  Any other m starts empty and indexes the
 * preceding chunk first.
 *
 * Several threads, each with an m of its own, may do this at the same time with one `to`, for
 * different chunks.  Until all are done, nothing else uses `to`.
 */
void lz_match_chunks(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                     size_t len, size_t first, size_t count, struct lz_matcher *to);

/* Adds to sums what m has counted since it was made, or since the last call. */
void lz_take_counters(struct lz_matcher *m, uint64_t sums[LZ_COUNTERS]);

/* The LZ_CHUNKS(len) chunks of the last segment, once all of them were matched; valid until the
 * next call with m. */
const struct lz_chunk *lz_chunks(const struct lz_matcher *m);

#ifdef __cplusplus
}
#endif

#endif
