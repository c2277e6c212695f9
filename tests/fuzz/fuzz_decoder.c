/*
 * fuzz_decoder.c - the library's decoders, with pieces of any size
 *
 * A fuzz target (target.h).  The input's first bytes choose the format, a dictionary, and the sizes
 * of pieces and of room.  The rest is the data.  A decoder must give what zlib gives in one call,
 * and a copy that is made on the way must give the same.
 */
#include "config.h"

#include <zlib.h>

#include "include/gzlzss.h"
#include "tests/fuzz/target.h"

/* A few bytes of input can decode to gigabytes; stop at this size. */
#define OUT_MAX ((size_t)1 << 17)

/* The dictionary is the start of this. */
static const uint8_t dictionary[300] = "the dictionary of the target \"decoder\", with abcdefgh";

struct result {
    uint8_t *bytes;
    size_t used, made;
    gzlzss_status status;
};

/* Decodes by zlib in one call, with room for OUT_MAX bytes. */
static struct result by_zlib(const struct fuzz_input *in, int bits, size_t dictionary_len)
{
    static uint8_t bytes[OUT_MAX];
    struct result r = {.bytes = bytes};
    z_stream z = {.next_in = (Bytef *)in->data, .avail_in = (uInt)in->len, .next_out = r.bytes};
    int status;

    z.avail_out = OUT_MAX;
    REQUIRE(inflateInit2(&z, bits) == Z_OK);
    if (bits < 0 && dictionary_len > 0)
        REQUIRE(inflateSetDictionary(&z, dictionary, (uInt)dictionary_len) == Z_OK);
    status = inflate(&z, Z_SYNC_FLUSH);
    if (status == Z_NEED_DICT && inflateSetDictionary(&z, dictionary, (uInt)dictionary_len) == Z_OK)
        status = inflate(&z, Z_SYNC_FLUSH);
    r.used = in->len - z.avail_in;
    r.made = OUT_MAX - z.avail_out;
    r.status = status == Z_STREAM_END   ? GZLZSS_STREAM_END
               : status == Z_NEED_DICT  ? GZLZSS_NEEDS_DICTIONARY
               : status == Z_DATA_ERROR ? GZLZSS_ERROR_DATA
                                        : GZLZSS_OK;
    (void)inflateEnd(&z);
    return r;
}

/* Runs the decoder once, in memory that ends with the piece and with the room.  Gives it the
 * dictionary if it asks for it. */
static void run(gzlzss_decoder *d, struct result *r, const struct fuzz_input *in, size_t piece,
                size_t room, size_t dictionary_len)
{
    const size_t n = piece < in->len - r->used ? piece : in->len - r->used;
    uint8_t *bytes = fuzz_need(malloc(n + 1)), *out = fuzz_need(malloc(room + 1));
    gzlzss_in from = {bytes + 1, n, 0};
    gzlzss_out to = {out + 1, room, 0};

    if (n > 0)
        memcpy(bytes + 1, in->data + r->used, n);
    r->status = gzlzss_decoder_run(d, &to, &from);
    if (r->status == GZLZSS_NEEDS_DICTIONARY &&
        gzlzss_decoder_dictionary(d, dictionary, dictionary_len) == GZLZSS_OK)
        r->status = gzlzss_decoder_run(d, &to, &from);
    REQUIRE(from.used <= n && to.used <= room && to.used <= OUT_MAX - r->made);
    REQUIRE(r->status != GZLZSS_OK || from.used == n || to.used == room);
    if (to.used > 0)
        memcpy(r->bytes + r->made, out + 1, to.used);
    r->used += from.used;
    r->made += to.used;
    free(bytes);
    free(out);
}

/* Requires that the decoder's result is zlib's.  One of them may notice an error later than the
 * other, or not any more if the data is cut off. */
static void require_same(const struct result *ours, const struct result *theirs)
{
    const bool is_bad = ours->status == GZLZSS_ERROR_DATA || ours->status == GZLZSS_ERROR_FORMAT;

    REQUIRE(memcmp(ours->bytes, theirs->bytes,
                   ours->made < theirs->made ? ours->made : theirs->made) == 0);
    if (ours->made == OUT_MAX || theirs->made == OUT_MAX)
        return;
    REQUIRE(ours->made == theirs->made);
    REQUIRE((ours->status == GZLZSS_STREAM_END) == (theirs->status == GZLZSS_STREAM_END));
    REQUIRE(ours->status != GZLZSS_STREAM_END || ours->used == theirs->used);
    REQUIRE(is_bad || theirs->status == ours->status || theirs->status == GZLZSS_ERROR_DATA);
}

void fuzz_decoder(const uint8_t *data, size_t len)
{
    static const int bits[] = {31, 15, -15, 47, 24, 9, 0, -9};
    static const size_t sizes[] = {1, 2, 7, 16, 100, 1000, 5000, 33000};
    static uint8_t bytes[OUT_MAX];
    struct fuzz_input in = {data, len};
    const unsigned kind = fuzz_choose(&in, 8), pieces = fuzz_choose(&in, 64);
    const size_t copy_at = fuzz_choose16(&in);
    size_t dictionary_len = fuzz_choose(&in, 2) * fuzz_choose(&in, 256);
    struct result ours = {.bytes = bytes}, theirs;
    gzlzss_decoder *d = NULL, *copy;

    /* zlib forgets the part of a dictionary that is larger than the window. */
    if (bits[kind] == -9)
        dictionary_len = 0;
    theirs = by_zlib(&in, bits[kind], dictionary_len);
    REQUIRE(gzlzss_decoder_new(&d, bits[kind]) == GZLZSS_OK);
    if (bits[kind] < 0 && dictionary_len > 0)
        REQUIRE(gzlzss_decoder_dictionary(d, dictionary, dictionary_len) == GZLZSS_OK);
    for (size_t calls = 0; ours.status == GZLZSS_OK && ours.made < OUT_MAX; calls++) {
        const size_t most = sizes[pieces / 8], left = OUT_MAX - ours.made, made = ours.made;
        const size_t room = most < left ? most : left;

        run(d, &ours, &in, sizes[pieces % 8], room, dictionary_len);
        if (ours.used == in.len && ours.made - made < room)
            break;
        if (calls == copy_at) {
            REQUIRE(gzlzss_decoder_copy(&copy, d) == GZLZSS_OK);
            gzlzss_decoder_free(d);
            d = copy;
        }
    }
    require_same(&ours, &theirs);
    gzlzss_decoder_free(d);
}
