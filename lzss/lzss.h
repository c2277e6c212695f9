/*
 * lzss.h - match finding: the types that the CPU engine and the GPU engine share, and the CPU
 * engine
 *
 * An input is cut into segments, and a segment into chunks of LZ_CHUNK_SIZE bytes; the last chunk
 * may be shorter.  A match finder turns each chunk into a list of sequences.  A sequence is some
 * literals, which are copied from the input, and then a match, which repeats earlier bytes.
 *
 * A list depends only on the segment's bytes and on the level.  The GPU engine (gpu/gpu.h) makes
 * the same lists, so the output does not depend on which engine matched a segment.
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
 * Bytes of a chunk.  Smaller chunks give a GPU more work to do side by side, and the encoder more
 * places where a block may end.  But a match cannot go on past a chunk's end, and for each chunk, a
 * GPU first has to index the 32 KiB before it.  A chunk and these 32 KiB must have at most 65536
 * bytes together, as positions in them are kept in 16 bits.
 */
#define LZ_CHUNK_SIZE 32768

/* The smallest and the largest segment that --blocksize may ask for, in bytes.  Each level has its
 * own default (struct lz_level). */
#define LZ_SEGMENT_MIN ((size_t)32 << 10)
#define LZ_SEGMENT_MAX ((size_t)32 << 20)

/* Bytes after a segment that the caller must make readable; their values do not matter.  Level 1
 * compares 64 bytes at a time, and may start at the segment's last byte. */
#define LZ_INPUT_PAD 64

/* The most sequences that a chunk can have. */
#define LZ_CHUNK_MAX_SEQUENCES (LZ_CHUNK_SIZE / LZ_MIN_MATCH)

/* The number of chunks in a segment of `len` bytes. */
#define LZ_CHUNKS(len) (((len) + LZ_CHUNK_SIZE - 1) / LZ_CHUNK_SIZE)

/* The end of the chunk that starts at byte `start` of a segment of `len` bytes; start < len. */
#define LZ_CHUNK_END(start, len) ((len) - (start) < LZ_CHUNK_SIZE ? (len) : (start) + LZ_CHUNK_SIZE)

/* Some literals, and the match after them.  Literals after a chunk's last match belong to no
 * sequence; the rest of the chunk consists of them. */
struct lz_sequence {
    uint16_t literals; /* bytes that stand for themselves: 0 to LZ_CHUNK_SIZE */
    uint16_t length;   /* bytes of the match: LZ_MIN_MATCH to LZ_MAX_MATCH */
    uint16_t distance; /* how far back the repeated bytes start: 1 to LZ_WINDOW_SIZE */
};

/* A chunk's sequences, in order.  A chunk without a match has none. */
struct lz_chunk {
    const struct lz_sequence *sequences;
    uint32_t count;
};

struct lz_matcher;
struct lz_level;

/* Whether a GPU has a twin of a match finder, which finds the same matches. */
enum lz_twin {
    LZ_TWIN_NONE,
    LZ_TWIN,
    LZ_TWIN_WALKS, /* a twin whose kernels only walk (struct gpu_finder without `find`) */
};

/* The most kinds of events that a finder may count as it works (counter_names). */
#define LZ_COUNTERS 2

/* A match finder: a method to choose a segment's matches.  finders.h lists the levels' finders, and
 * lzss/NAME.c defines the one called NAME.  Its parameters are in struct lz_level. */
struct lz_finder {
    const char *name;

    enum lz_twin twin;

    /* Whether lz_match_chunks works with the finder.  It does if a chunk's matches do not depend on
     * the matches chosen in other chunks. */
    bool in_parts;

    /* Whether a core takes most of a second for a segment.  In that time, a GPU does the work of
     * many cores. */
    bool is_slow;

    /* A finder's working memory is called its state; each matcher has a state of its own.
     * new_state makes a state for a level and for segments of up to `segment_size` bytes, and
     * returns NULL if memory is short.  state_size returns how many bytes a new state has.
     * free_state frees a state; if free_state is NULL, free() does.  All three are NULL in a finder
     * without a state, or with a plain state (plain_state). */
    void *(*new_state)(const struct lz_level *level, size_t segment_size);
    size_t (*state_size)(const struct lz_level *level, size_t segment_size);
    void (*free_state)(void *state);

    /* Bytes of a plain state, which lz_matcher_new takes from malloc(); 0 in all other finders. */
    size_t plain_state;

    /* state_more returns the most bytes by which a state may grow while the finder works;
     * limit_state lowers that number to `more`.  Both are NULL if a state does not grow. */
    size_t (*state_more)(const struct lz_level *level, size_t segment_size);
    void (*limit_state)(void *state, size_t more);

    /* Finds the matches of bytes [m->begin, m->end) of the segment in[0..len), as matcher.h says.
     * `find` is NULL in level 0's finder. */
    void (*find)(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in, size_t len);

    /* Finds the matches of bytes [m->begin, len) of in[0..len), where m->begin may lie anywhere in
     * a chunk (lz_match_more).  If m->goes_on is true, the call continues the last one: the state
     * is unchanged since then, and m->enter is m->begin.  Otherwise, m->enter is the first position
     * to enter, a chunk's start.  find_more is NULL in a finder that cannot do this. */
    void (*find_more)(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                      size_t len);

    /* Names of the LZ_COUNTERS kinds of events that the CPU finder counts, in the plural; NULL if
     * it counts nothing.  The counts depend only on the segment's bytes and the level.  GPU finders
     * do not count. */
    const char *const *counter_names;
};

/* The most parameters that a finder may have besides those with a name in struct lz_level. */
#define LZ_PARAMS 8

/* A row of the level table (levels.c), or a similar row for a finder of papers/.  chains.h and
 * optimal.h say what the parameters of their finders do; a method's file in papers/ says what
 * `param` holds. */
struct lz_level {
    const struct lz_finder *finder;
    uint16_t depth;           /* the most candidates of a search by four bytes; optimal: by four to
                               * six bytes */
    uint16_t long_depth;      /* chains: by seven bytes; optimal: by eight and twelve bytes */
    uint16_t longest_depth;   /* optimal: by 24 and 64 bytes; 0: no such search */
    uint16_t nice;            /* a match of this length ends a search: 12 to 258 */
    uint16_t max_distance3;   /* chains: largest distance of a match of three; 0: no such match */
    uint8_t lazy;             /* chains: how many positions lazy matching looks ahead: 0, 1 or 2 */
    uint8_t passes;           /* optimal: how often the shortest path is computed, 1 or more */
    uint16_t split;           /* bytes between two places where a block may end, or HUFF_BEST
                               * (huffman.h) */
    uint32_t segment_default; /* bytes of a segment without --blocksize */
    double core_guess;        /* assumed bytes per second of a core, until they are measured */
    uint32_t param[LZ_PARAMS];
};

/* Level numbers.  Level 0 (LZ_LEVEL_STORED) finds no matches.  Its segments are stored
 * (huff_store), without a matcher or a GPU.  LZ_LEVEL_MIN is the lowest level that finds
 * matches. */
#define LZ_LEVEL_STORED 0
#define LZ_LEVEL_MIN 1
#define LZ_LEVEL_MAX 12
#define LZ_LEVEL_DEFAULT 6

/* The rows of BGZF's levels 1 to LZ_LEVELS_BGZF follow those of the levels. */
#define LZ_LEVELS_BGZF 9
#define LZ_ROW_BGZF (LZ_LEVEL_MAX + 1)
#define LZ_ROWS (LZ_ROW_BGZF + LZ_LEVELS_BGZF)

/* Returns a row of the level table: that of `level`, LZ_LEVEL_STORED to LZ_LEVEL_MAX, or one of
 * BGZF's rows, LZ_ROW_BGZF to LZ_ROWS - 1.  Never returns NULL. */
const struct lz_level *lz_level(int level);

/* Returns the level that finds matches for `level` in input that comes piece by piece
 * (lz_match_more): `level` itself if its finder has find_more, level 2 for level 1, and level 9 for
 * levels above 9.  Returns NULL for level 0, lz_huffman_only, lz_run_length and the methods of
 * papers. */
const struct lz_level *lz_level_for_more(const struct lz_level *level);

/* Whether `level` is level 0's row. */
static inline bool lz_is_stored(const struct lz_level *level)
{
    return level->finder->find == NULL;
}

/* Whether a GPU can find matches for `level`. */
static inline bool lz_has_twin(const struct lz_level *level)
{
    return level->finder->twin != LZ_TWIN_NONE;
}

/* Rows that are not in the table, for zlib's strategies: lz_huffman_only (Z_HUFFMAN_ONLY) finds no
 * matches, and lz_run_length (Z_RLE) finds only runs of one byte. */
extern const struct lz_level lz_huffman_only, lz_run_length;

/*
 * struct lz_matcher is the CPU engine for one thread: a level, its finder's state, and room for a
 * segment's sequences.  Other threads may fill in some of these sequences (lz_match_chunks).
 */

/* Makes a matcher for `level`, which is not level 0 and is copied, and for segments of up to
 * `segment_size` bytes, 1 to LZ_SEGMENT_MAX.  Returns NULL if memory is short. */
struct lz_matcher *lz_matcher_new(const struct lz_level *level, size_t segment_size);

/* The bytes that lz_matcher_new allocates; 0 for level 0.  Some of them may never be touched,
 * depending on the data. */
size_t lz_matcher_size(const struct lz_level *level, size_t segment_size);

/* The most bytes that a matcher may allocate while it works, in addition to lz_matcher_size.  How
 * many bytes it allocates depends on the data, the system and lz_matcher_limit.  A matcher that
 * gets fewer bytes than it could use takes longer, and finds the same matches. */
size_t lz_matcher_more(const struct lz_level *level, size_t segment_size);

/* Makes `more` the limit for the bytes that m may allocate while it works.  Before this call, the
 * limit is lz_matcher_more. */
void lz_matcher_limit(struct lz_matcher *m, size_t more);

/* Frees m, which may be NULL. */
void lz_matcher_free(struct lz_matcher *m);

/*
 * Finds the matches of the segment in[0..len), 0 <= len <= the matcher's segment size.
 * LZ_INPUT_PAD bytes after the segment must be readable.  Returns an array of LZ_CHUNKS(len)
 * chunks, valid until the next call with m.
 */
const struct lz_chunk *lz_match_segment(struct lz_matcher *m, const uint8_t *in, size_t len);

/* Like lz_match_segment, for a segment whose first chunk is a preset dictionary.  Matches may refer
 * to the dictionary, but the dictionary itself gets no sequences.  len is at least
 * LZ_CHUNK_SIZE. */
const struct lz_chunk *lz_match_after(struct lz_matcher *m, const uint8_t *in, size_t len);

/*
 * Finds the matches of in[begin..len), which may refer to the bytes before `begin`.  Unlike with
 * lz_match_after, `begin` may be any number up to len.  The level of m is one that
 * lz_level_for_more returned.  The result has one entry for each chunk of in[0..len); only the
 * entries from the chunk with `begin` on are valid, and that chunk's sequences start at `begin`.
 *
 * goes_on: says that this input continues the input of the last call with m, which ended at
 * `begin`.  If so, m enters only the new positions into its tables.  That saves time, and does not
 * change the results.  Since the last call, the caller may have cut off whole chunks at the front,
 * but not the chunk with `begin` or the chunk before it.
 */
const struct lz_chunk *lz_match_more(struct lz_matcher *m, const uint8_t *in, size_t len,
                                     size_t begin, bool goes_on);

/*
 * Finds the matches of `count` chunks, 1 or more, of the segment in[0..len), from chunk `first` on.
 * LZ_INPUT_PAD bytes after the segment must be readable.  m and `to` are for the same level, whose
 * finder can match in parts (in_parts).  The results are those of lz_match_segment.  They are
 * stored in `to`, and lz_chunks(to) returns them.
 *
 * If m and `to` are the same matcher, m keeps its tables from one call to the next.  So the calls
 * for a segment must start with chunk 0, be in order, and leave out no chunk.  If m and `to`
 * differ, m starts with empty tables, and first indexes the chunk before `first`.
 *
 * Several threads, each with an m of its own, may call this at the same time with one `to`, for
 * different chunks.  Nothing else may use `to` until all of them are done.
 */
void lz_match_chunks(struct lz_matcher *m, const uint8_t *in, size_t len, size_t first,
                     size_t count, struct lz_matcher *to);

/* Adds the numbers of events that m has counted since the last call of this function (at first,
 * since m was made) to `sums`. */
void lz_take_counters(struct lz_matcher *m, uint64_t sums[LZ_COUNTERS]);

/* Returns the LZ_CHUNKS(len) chunks of the last segment.  Call this when all of them are matched.
 * The result is valid until the next call with m. */
const struct lz_chunk *lz_chunks(const struct lz_matcher *m);

#ifdef __cplusplus
}
#endif

#endif
