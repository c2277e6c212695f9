/*
 * literals.c - finds no matches: all bytes become literals, so only Huffman codes compress them
 *
 * This is zlib's strategy Z_HUFFMAN_ONLY.  Level 0 finds no matches, either, but stores its
 * segments.  With this finder, the encoder gives frequent bytes short codes.
 */
#include "config.h"

#include "lzss/matcher.h"

static void find_matches(struct lz_matcher *m, const struct lz_level *level, const uint8_t *in,
                         size_t len)
{
    (void)level;
    (void)in;
    (void)len;
    for (size_t c = m->begin / LZ_CHUNK_SIZE; c < LZ_CHUNKS(m->end); c++)
        m->to_chunks[c] = (struct lz_chunk){.sequences = m->to_sequences, .count = 0};
}

const struct lz_finder lz_finder_literals = {
    .name = "literals",
    .in_parts = true,
    .find = find_matches,
};
