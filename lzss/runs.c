/*
 * runs.c - finds only runs of one byte: matches at distance 1, of any length
 *
 * This is zlib's strategy Z_RLE, which zlib recommends for the images of PNG files.
 */
#include "config.h"

#include "lzss/emit.h"
#include "lzss/matcher.h"

/* Writes the runs in bytes [start, end) of the segment as sequences to `out`.  Returns their
 * end. */
static struct lz_sequence *find_runs(const uint8_t *in, size_t start, size_t end,
                                     struct lz_sequence *out)
{
    size_t literals = start, length;

    /* The segment's first byte has no byte before it to repeat. */
    for (size_t pos = start > 0 ? start : 1; pos < end; pos += length) {
        length = 0;
        while (pos + length < end && in[pos + length] == in[pos - 1])
            length++;
        if (length >= LZ_MIN_MATCH) {
            out = lz_emit(out, pos - literals, length, 1);
            literals = pos + length;
        }
        /* The byte after the run differs from the byte before it, so it begins no run. */
        length++;
    }
    return out;
}

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    (void)level;
    for (size_t start = m->begin; start < m->end; start += LZ_CHUNK_SIZE) {
        const size_t c = start / LZ_CHUNK_SIZE;
        struct lz_sequence *const first = m->to_sequences + c * LZ_CHUNK_MAX_SEQUENCES;
        struct lz_sequence *const last = find_runs(in, start, LZ_CHUNK_END(start, len), first);

        m->to_chunks[c] = (struct lz_chunk){.sequences = first, .count = (uint32_t)(last - first)};
    }
}

const struct lz_finder lz_finder_runs = {
    .name = "runs",
    .in_parts = true,
    .find = find_matches,
};
