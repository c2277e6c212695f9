/*
 * test_symbols.c - decoding DEFLATE from the middle: to symbols (inflate/symbols.h) or, with a
 * known window, to bytes (inflate/raw.h).  Decoding starts at each place where zlib's inflate()
 * reports the start of a block.
 *
 * FUZZ_SECONDS=N in the environment: runs N seconds for each kind of random stream, with new
 * streams on each run.
 */
#include "config.h"

#include "base/deflate.h"
#include "inflate/raw.h"
#include "inflate/symbols.h"
#include "tests/unit/blocks.h"
#include "tests/unit/hand_overs.h"
#include "tests/unit/paths.h"
#include "tests/unit/streams.h"
#include "tests/unit/unit.h"

#include <string.h>
#include <time.h>
#include <zlib.h>

enum {
    OUT_MAX = 2 << 20,
    BLOCKS_MAX = 20000,
    /* inf_symbols_block may need this many elements more than a block's output has. */
    SLACK = DEFLATE_MAX_MATCH + 20,
    /* The bytes of gzip's trailer, after a stream. */
    TRAILER = 8,
};

/* --- Which back end was used ------------------------------------------------------------------ */

/* How often zlib was given a window, to go on inside a block or at a block's start. */
static unsigned long windows;

#undef inflateSetDictionary
int inflateSetDictionary(z_streamp z, const Bytef *dictionary, uInt len);
int test_set_dictionary(z_streamp z, const Bytef *dictionary, uInt len);

int test_set_dictionary(z_streamp z, const Bytef *dictionary, uInt len)
{
    windows++;
    return inflateSetDictionary(z, dictionary, len);
}

/* --- Streams that zlib has read ------------------------------------------------------------- */

struct start {
    uint64_t place; /* the position of the block's first bit */
    size_t made;    /* bytes of output before the block */
};

enum verdict { IS_GOOD, IS_CUT, IS_BAD };

/* A stream, and zlib's results for it. */
struct sample {
    const uint8_t *raw;
    size_t len;
    enum verdict verdict;
    /* The starts of the blocks, then the end of the last block. */
    struct start start[BLOCKS_MAX + 1];
    size_t blocks;  /* the number of good blocks */
    size_t reached; /* bytes of the stream that zlib has used */
    uint8_t *data;  /* INF_WINDOW bytes of history, then the output */
    size_t made;
};

static struct sample sample;
static uint8_t sample_data[INF_WINDOW + OUT_MAX];

/* Lets zlib read a stream, and sets `sample`.  If `window` is true, INF_WINDOW bytes of noise come
 * before the stream's output.  Returns false if the output is too large. */
static bool learn(const uint8_t *raw, size_t len, bool window)
{
    static z_stream z;
    uint64_t state = 11;

    if (z.state == NULL && inflateInit2(&z, -15) != Z_OK)
        abort();
    inflateReset(&z);
    sample.raw = raw;
    sample.len = len;
    sample.verdict = IS_CUT;
    sample.blocks = 0;
    sample.start[0] = (struct start){0, 0};
    sample.data = sample_data + INF_WINDOW;
    for (size_t i = 0; i < INF_WINDOW; i++)
        sample_data[i] = (uint8_t)unit_rand(&state);
    if (window && inflateSetDictionary(&z, sample_data, INF_WINDOW) != Z_OK)
        abort();
    z.next_in = (Bytef *)raw;
    z.avail_in = (uInt)len;
    z.next_out = sample.data;
    z.avail_out = OUT_MAX;
    for (;;) {
        const int ret = inflate(&z, Z_BLOCK);
        sample.made = OUT_MAX - z.avail_out;
        sample.reached = len - z.avail_in;
        if (z.avail_out == 0 || sample.blocks == BLOCKS_MAX)
            return false;
        if (ret == Z_DATA_ERROR)
            sample.verdict = IS_BAD;
        if (ret != Z_OK || (z.data_type & 128) == 0) {
            if (sample.verdict == IS_CUT &&
                has_no_length_code(raw, len, sample.start[sample.blocks].place))
                sample.verdict = IS_BAD;
            return true;
        }
        sample.start[++sample.blocks] =
            (struct start){8 * (uint64_t)sample.reached - (z.data_type & 7), sample.made};
        if ((z.data_type & 64) != 0) {
            sample.verdict = IS_GOOD;
            return true;
        }
    }
}

/* Returns the result that must be reported at the end of block k. */
static enum inf_result result_of(size_t k)
{
    return sample.verdict == IS_GOOD && k + 1 == sample.blocks ? INF_END : INF_BLOCK;
}

/* Appends data that compresses: words of a few letters, or runs. */
static void random_data(struct bytes *data, size_t len, uint64_t *state)
{
    const unsigned kind = below(state, 4);

    while (data->len < len) {
        const uint64_t r = unit_rand(state);
        uint8_t word[8] = {0};
        for (unsigned i = 0; i < sizeof word; i++)
            word[i] = (uint8_t)(r >> 8 * i & (kind == 0 ? 0xff : kind == 1 ? 0x1f : 3));
        if (data->len > 300 && one_in(state, 2)) {
            /* Copy earlier bytes, mostly near ones, sometimes the farthest possible. */
            size_t far = one_in(state, 4) ? 32768 - below(state, 300) : 1 + below(state, 300);
            far = far < data->len ? far : data->len;
            for (unsigned n = 3 + below(state, 300); n != 0; n--)
                add_byte(data, data->data[data->len - far]);
        }
        add(data, word, kind == 3 ? 1 : sizeof word);
    }
    data->len = len;
}

/* Makes raw DEFLATE with zlib, with any level and strategy, and any kind of flush. */
static void random_deflate(struct bytes *raw, size_t len, uint64_t *state)
{
    struct bytes data = {0};
    z_stream z = {0};

    random_data(&data, len, state);
    if (deflateInit2(&z, (int)below(state, 10), Z_DEFLATED, -15, 1 + (int)below(state, 9),
                     (int)below(state, 5)) != Z_OK)
        abort();
    const unsigned most = one_in(state, 2) ? 300 : 60000;
    for (size_t done = 0, n; done < len || done == 0; done += n) {
        uint8_t out[4096];
        n = 1 + below(state, most);
        n = len - done < n ? len - done : n;
        const int flush = done + n == len ? Z_FINISH : (int[]){0, 1, 2, 3, 5}[below(state, 5)];
        z.next_in = n != 0 ? data.data + done : NULL;
        z.avail_in = (uInt)n;
        do {
            z.next_out = out;
            z.avail_out = sizeof out;
            deflate(&z, flush);
            add(raw, out, sizeof out - z.avail_out);
        } while (z.avail_out == 0);
        if (flush == Z_FINISH)
            break;
    }
    deflateEnd(&z);
    drop(&data);
}

/* Makes blocks of all types.  If `spoil` is false, all blocks are good. */
static void random_blocks(struct bytes *raw, unsigned max, unsigned symbols, bool spoil,
                          bool window, uint64_t *state)
{
    struct stream s = {
        .bits = {.to = raw}, .made = window ? INF_WINDOW : 0, .spoil = spoil, .random = state};

    for (unsigned n = below(state, max); n != 0; n--)
        put_block(&s, false, symbols);
    put_block(&s, true, symbols);
    end_bits(&s.bits);
}

/* --- Input ---------------------------------------------------------------------------------- */

/* A copy of an input, and a pad of random bytes after the copy.  The memory ends with the pad. */
struct input {
    uint8_t *bytes;
    size_t len;
};

static struct input make_input(const uint8_t *raw, size_t len, unsigned filling, uint64_t *state)
{
    struct input in = {unit_need(malloc(len + INF_SYMBOLS_PAD)), len};

    if (len != 0)
        memcpy(in.bytes, raw, len);
    for (size_t i = 0; i < INF_SYMBOLS_PAD; i++)
        in.bytes[len + i] = (uint8_t)(filling == 0 ? 0 : filling == 1 ? 0xff : unit_rand(state));
    return in;
}

/* --- Symbols -------------------------------------------------------------------------------- */

static struct inf_symbols *decoder;
static uint16_t symbols[INF_WINDOW + OUT_MAX];

/* Compares symbols that were decoded from block k on with zlib's output. */
static bool same_data(size_t k, const uint16_t *out, size_t n)
{
    static uint8_t bytes[OUT_MAX];
    static uint16_t copy[OUT_MAX];
    const size_t before = sample.start[k].made;
    const uint8_t *data = sample.data + before;

    inf_resolve(decoder, out, n, data - INF_WINDOW, bytes);
    bool ok = CHECK(memcmp(bytes, data, n) == 0);
    memcpy(copy, out, n * sizeof *out);
    inf_resolve(decoder, copy, n, data - INF_WINDOW, (uint8_t *)copy);
    return CHECK(memcmp(copy, data, n) == 0) && ok;
}

/* True if all symbols are bytes, or markers for bytes at most `window` before the start. */
static bool markers_exist(const uint16_t *out, size_t n, size_t window)
{
    for (size_t i = 0; i < n; i++)
        if (out[i] > 0xff && out[i] < 2 * INF_UNKNOWN - window)
            return false;
    return true;
}

/* Decodes all blocks from block k on.  If `window` is true, noise comes before the stream's
 * output.  For the data after the last good block, the verdict must be the one that zlib gives.  A
 * block that ends in the last near_end bytes of the input may be reported as incomplete. */
static bool decode_from(size_t k, const struct input *in, bool window, size_t near_end)
{
    uint16_t *const out = symbols + INF_WINDOW;
    const size_t first = k, before = sample.start[k].made + (window ? INF_WINDOW : 0);
    uint64_t place = sample.start[k].place;
    size_t n = 0, made = 0;
    bool ok = true;

    inf_symbols_begin(out);
    for (; k < sample.blocks && ok; k++) {
        const uint64_t from = place, end = sample.start[k + 1].place;
        const enum inf_result result =
            inf_symbols_block(decoder, in->bytes, in->len, &place, out, &n, OUT_MAX);
        if (end > 8 * in->len || (result == INF_CUT && end + 8 * near_end > 8 * in->len)) {
            ok = CHECK_EQ(result, INF_CUT);
            ok = CHECK_EQ(place, from) && CHECK_EQ(n, made) && ok;
            break;
        }
        ok = CHECK_EQ(result, result_of(k));
        ok = CHECK_EQ(place, end) && ok;
        made = sample.start[k + 1].made - sample.start[first].made;
        ok = CHECK_EQ(n, made) && ok;
    }
    if (ok && k == sample.blocks && sample.verdict != IS_GOOD) {
        const uint64_t from = place;
        const enum inf_result result =
            inf_symbols_block(decoder, in->bytes, in->len, &place, out, &n, OUT_MAX);
        if (sample.verdict == IS_CUT)
            ok = CHECK_EQ(result, INF_CUT);
        else if (sample.reached + 16 < in->len)
            ok = CHECK_EQ(result, INF_BAD);
        else
            ok = CHECK(result == INF_BAD || result == INF_CUT);
        ok = CHECK_EQ(place, from) && CHECK_EQ(n, made) && ok;
    }
    ok = ok && CHECK(markers_exist(out, n, before < INF_WINDOW ? before : INF_WINDOW));
    ok = ok && same_data(first, out, n);
    if (!ok)
        printf("# from block %zu of %zu to block %zu, in %zu of %zu bytes\n", first, sample.blocks,
               k, in->len, sample.len);
    return ok;
}

/* Decodes a stream from some of its blocks on.  If the stream has few blocks, decodes it from each
 * of them on. */
static bool decode_from_some(bool window, uint64_t *state)
{
    const size_t step = 1 + sample.blocks / 8;
    bool ok = true;

    for (size_t k = below(state, (unsigned)step); k <= sample.blocks && ok; k += step) {
        if (k == sample.blocks && sample.verdict == IS_GOOD)
            break;
        const struct input in = make_input(sample.raw, sample.len, below(state, 3), state);
        ok = decode_from(k, &in, window, TRAILER);
        free(in.bytes);
    }
    return ok;
}

static void show(const struct bytes *raw)
{
    printf("# %zu bytes:", raw->len);
    for (size_t i = 0; i < raw->len && i < 400; i++)
        printf("%s%02x", i % 32 == 0 ? "\n# " : "", raw->data[i]);
    printf("\n");
}

/* The numbers of streams, of blocks, and of each verdict. */
static struct {
    unsigned long n, blocks, verdicts[3];
} seen;

/* Runs one kind of stream `times` times, or for FUZZ_SECONDS. */
static void repeat(bool (*one)(uint64_t *state), unsigned long times)
{
    const char *seconds = getenv("FUZZ_SECONDS");
    const time_t start = time(NULL), limit = seconds != NULL ? atoi(seconds) : 0;
    uint64_t state = limit != 0 ? (uint64_t)start * 1000 + times : times;

    memset(&seen, 0, sizeof seen);
    for (unsigned long n = 0; limit != 0 ? time(NULL) - start < limit : n < times; n++) {
        const uint64_t before = state;
        if (!one(&state)) {
            printf("# state %#llx\n", (unsigned long long)before);
            break;
        }
    }
    printf("# %lu streams with %lu good blocks: %lu good, %lu cut off, %lu bad\n", seen.n,
           seen.blocks, seen.verdicts[IS_GOOD], seen.verdicts[IS_CUT], seen.verdicts[IS_BAD]);
}

/* Lets zlib read a stream, then decodes it from some blocks on. */
static bool compare(struct bytes *raw, bool window, uint64_t *state)
{
    bool ok = true;

    if (learn(raw->data, raw->len, window)) {
        seen.n++;
        seen.blocks += sample.blocks;
        seen.verdicts[sample.verdict]++;
        ok = decode_from_some(window, state);
    }
    if (!ok)
        show(raw);
    drop(raw);
    return ok;
}

/* --- Streams at random ---------------------------------------------------------------------- */

static bool by_deflate(uint64_t *state)
{
    struct bytes raw = {0};

    random_deflate(&raw, below(state, one_in(state, 8) ? 400000 : 6000), state);
    add(&raw, "trailing", TRAILER);
    return compare(&raw, false, state);
}

static bool of_blocks(uint64_t *state)
{
    const bool large = one_in(state, 20);
    struct bytes raw = {0};

    random_blocks(&raw, large ? 300 : 6, large ? 3000 : 60, false, false, state);
    add(&raw, "trailing", TRAILER);
    return compare(&raw, false, state);
}

/* With a whole window before the stream, no distance is too large.  So decoding without a known
 * window must give zlib's verdict on all blocks. */
static bool damaged(uint64_t *state)
{
    struct bytes raw = {0};

    if (one_in(state, 2))
        random_deflate(&raw, below(state, 3000), state);
    else
        random_blocks(&raw, 5, 60, one_in(state, 2), true, state);
    const size_t end = one_in(state, 2) && raw.len > 100 ? 100 : raw.len;
    for (unsigned n = below(state, 3); n != 0; n--)
        raw.data[below(state, (unsigned)end)] ^= (uint8_t)(1u << below(state, 8));
    if (one_in(state, 4))
        raw.len = below(state, (unsigned)raw.len + 1);
    else
        for (unsigned i = 0; i < 40; i++)
            add_byte(&raw, unit_rand(state) & 0xff);
    return compare(&raw, true, state);
}

/* Tests noise.  The noise mostly starts with bits that are no block's header, and otherwise with a
 * block with fixed codes. */
static bool noise(uint64_t *state)
{
    struct bytes raw = {0};

    for (unsigned n = below(state, 300); n != 0; n--)
        add_byte(&raw, unit_rand(state) & 0xff);
    if (raw.len != 0 && one_in(state, 2))
        raw.data[0] = (uint8_t)((raw.data[0] & 0xf8) | 2 | (raw.data[0] & 1));
    return compare(&raw, true, state);
}

static void streams_by_deflate(void)
{
    repeat(by_deflate, 60);
}

static void streams_of_blocks(void)
{
    repeat(of_blocks, 200);
    CHECK(seen.verdicts[IS_GOOD] == seen.n);
}

static void damaged_streams(void)
{
    repeat(damaged, 3000);
    CHECK(seen.verdicts[IS_GOOD] > seen.n / 10 && seen.verdicts[IS_CUT] > seen.n / 20 &&
          seen.verdicts[IS_BAD] > seen.n / 5);
}

static void streams_of_noise(void)
{
    repeat(noise, 4000);
}

/* --- Ends of the input ---------------------------------------------------------------------- */

/* Decodes a stream that is cut off after each of its bytes, from each of its blocks on. */
static void cut_anywhere(size_t near_end, uint64_t *state)
{
    for (size_t len = 0; len <= sample.len; len++)
        for (size_t k = 0; k < sample.blocks; k++) {
            const struct input in = make_input(sample.raw, len, below(state, 3), state);
            const bool ok = decode_from(k, &in, false, near_end);
            free(in.bytes);
            if (!ok)
                return;
        }
}

static void cut_streams(size_t near_end)
{
    uint64_t state = 12;

    for (unsigned n = 0; n < 60; n++) {
        struct bytes raw = {0};
        if (n % 2 == 0)
            random_deflate(&raw, below(&state, 600), &state);
        else
            random_blocks(&raw, 4, 15, false, false, &state);
        if (raw.len < 600 && CHECK(learn(raw.data, raw.len, false)) &&
            CHECK_EQ(sample.verdict, IS_GOOD))
            cut_anywhere(near_end, &state);
        drop(&raw);
    }
}

static void truncation(void)
{
    cut_streams(TRAILER);
}

/* No input is needed after a block.  So a block is decoded even if its last bit is the input's last
 * bit. */
static void blocks_up_to_the_end(void)
{
    cut_streams(0);
}

/* --- Room ----------------------------------------------------------------------------------- */

/* Decodes block k after `old` symbols that the output already has, with room for `room` further
 * symbols. */
static void with_room(size_t k, size_t old, size_t room)
{
    const struct start *s = &sample.start[k];
    const size_t size = s[1].made - s[0].made;
    uint16_t *memory = unit_need(malloc((INF_WINDOW + old + room) * sizeof *memory));
    uint16_t *const out = memory + INF_WINDOW + old;
    uint64_t place = s->place, state = room, n_state = 1;
    size_t n = old;

    for (size_t i = 0; i < old; i++)
        memory[INF_WINDOW + i] = (uint16_t)(unit_rand(&n_state) & 0xff);
    inf_symbols_begin(out);
    const struct input in = make_input(sample.raw, sample.len, 2, &state);
    const enum inf_result result =
        inf_symbols_block(decoder, in.bytes, in.len, &place, memory + INF_WINDOW, &n, old + room);
    if (room < size || (result == INF_MORE && room < size + SLACK)) {
        CHECK_EQ(result, INF_MORE);
        CHECK_EQ(place, s[0].place);
        CHECK_EQ(n, old);
    } else if (CHECK_EQ(result, result_of(k))) {
        CHECK_EQ(place, s[1].place);
        CHECK_EQ(n, old + size);
        same_data(k, out, size);
    }
    free(in.bytes);
    free(memory);
}

static void little_room(void)
{
    uint64_t state = 13;

    for (unsigned n = 0; n < 40; n++) {
        struct bytes raw = {0};
        if (n % 2 == 0)
            random_deflate(&raw, below(&state, 20000), &state);
        else
            random_blocks(&raw, 5, 60, false, false, &state);
        add(&raw, "trailing", TRAILER);
        if (CHECK(learn(raw.data, raw.len, false)))
            for (size_t k = 0; k < sample.blocks && k < 10; k++) {
                const size_t size = sample.start[k + 1].made - sample.start[k].made;
                const size_t rooms[] = {0,           size / 2, size - (size > 0),
                                        size,        size + 1, size + below(&state, SLACK),
                                        size + SLACK};
                for (size_t i = 0; i < sizeof rooms / sizeof rooms[0]; i++)
                    with_room(k, i % 2 * 100, rooms[i]);
            }
        drop(&raw);
    }
}

/* --- By hand -------------------------------------------------------------------------------- */

static void stored_blocks(void)
{
    static const unsigned lens[] = {0, 1, 2, 7, 8, 9, 255, 256, 32767, 32768, 65534, 65535, 0};
    struct bytes raw = {0};
    uint64_t state = 14;
    struct stream s = {.bits = {.to = &raw}, .random = &state};

    for (unsigned skip = 0; skip < 8; skip++)
        for (size_t i = 0; i < sizeof lens / sizeof lens[0]; i++) {
            /* A fixed block of 10 bits, and 9 bits for each literal, puts the stored block at every
             * bit of a byte. */
            put_bits(&s.bits, 2, 3);
            for (unsigned k = 0; k < skip; k++)
                put_bits(&s.bits, 0x1ff, 9);
            put_bits(&s.bits, 0, 7);
            put_stored(&s, skip == 7 && i + 1 == sizeof lens / sizeof lens[0], lens[i]);
        }
    end_bits(&s.bits);
    const struct input whole = make_input(raw.data, raw.len, 1, &state);
    if (CHECK(learn(raw.data, raw.len, false)) && CHECK_EQ(sample.verdict, IS_GOOD))
        for (size_t k = 0; k < sample.blocks; k += 7) {
            if (!decode_from(k, &whole, false, 0))
                break;
            with_room(k, 5, sample.start[k + 1].made - sample.start[k].made);
        }
    /* A stored block whose last byte is missing. */
    const struct input cut = make_input(raw.data, raw.len - 1, 0, &state);
    decode_from(sample.blocks - 1, &cut, false, 0);
    free(whole.bytes);
    free(cut.bytes);
    drop(&raw);
}

static void put_fixed_code(struct bits *bits, unsigned symbol)
{
    uint8_t lengths[LITLEN_CODES];
    uint32_t code[LITLEN_CODES] = {0};

    for (unsigned i = 0; i < LITLEN_CODES; i++)
        lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    canonical_codes(lengths, LITLEN_CODES, code);
    put_code(bits, code, lengths, symbol);
}

static void put_match(struct bits *bits, unsigned length, unsigned distance)
{
    const unsigned l = deflate_length_symbol(length), d = deflate_distance_symbol(distance);

    put_fixed_code(bits, l);
    put_bits(bits, length - length_base(l), length_bits(l));
    for (unsigned i = 5; i > 0; i--)
        put_bits(bits, d >> (i - 1), 1);
    put_bits(bits, distance - distance_base(d), distance_bits(d));
}

/* Tests matches of all lengths, with the smallest distances, at which a copy overlaps itself, and
 * with large distances. */
static void matches(void)
{
    static const unsigned distances[] = {1,  2,  3,  4,  5,   6,   7,     8,     9,
                                         10, 15, 16, 17, 257, 258, 24577, 32767, 32768};
    enum { DISTANCES = sizeof distances / sizeof distances[0] };
    struct bytes raw = {0};
    uint64_t state = 15;
    struct stream s = {.bits = {.to = &raw}, .random = &state};

    put_stored(&s, false, 65535);
    for (unsigned i = 0; i < DISTANCES; i++) {
        put_bits(&s.bits, i + 1 == DISTANCES, 1);
        put_bits(&s.bits, 1, 2);
        for (unsigned length = DEFLATE_MIN_MATCH; length <= DEFLATE_MAX_MATCH; length++) {
            put_match(&s.bits, length, distances[i]);
            for (unsigned k = below(&state, 12); k != 0; k--)
                put_fixed_code(&s.bits, below(&state, 256));
        }
        put_fixed_code(&s.bits, END_OF_BLOCK);
    }
    end_bits(&s.bits);
    add(&raw, "trailing", TRAILER);
    const struct input in = make_input(raw.data, raw.len, 1, &state);
    if (CHECK(learn(raw.data, raw.len, false)) && CHECK_EQ(sample.verdict, IS_GOOD))
        for (size_t k = 0; k < sample.blocks; k++)
            if (!decode_from(k, &in, false, 0))
                break;
    free(in.bytes);
    drop(&raw);
}

/* Tests matches of 48 bits, which is the most possible, that start at each bit of a byte. */
static void longest_codes(void)
{
    struct codes c = {.litlen = {[END_OF_BLOCK] = 15, [284] = 15}};
    struct header h;
    struct bytes raw = {0};
    uint64_t state = 18;
    struct stream s = {.bits = {.to = &raw}, .random = &state};
    uint32_t litlen[LITLEN_CODES] = {0}, distance[DISTANCE_CODES] = {0};

    for (unsigned i = 1; i < 15; i++)
        c.litlen['a' + i] = c.distance[i] = (uint8_t)i;
    c.distance[28] = c.distance[29] = 15;
    canonical_codes(c.litlen, LITLEN_CODES, litlen);
    canonical_codes(c.distance, DISTANCE_CODES, distance);
    put_stored(&s, false, 65535);
    random_header(&h, &c, false, &state);
    put_header(&s.bits, true, &h);
    for (unsigned i = 0; i < 1000; i++) {
        for (unsigned k = below(&state, 25); k > 0; k--)
            put_code(&s.bits, litlen, c.litlen, 'b');
        put_code(&s.bits, litlen, c.litlen, 284);
        put_bits(&s.bits, below(&state, 31), 5);
        put_code(&s.bits, distance, c.distance, 28 + below(&state, 2));
        put_bits(&s.bits, unit_rand(&state), 13);
    }
    put_code(&s.bits, litlen, c.litlen, END_OF_BLOCK);
    end_bits(&s.bits);
    add(&raw, "trailing", TRAILER);
    const struct input in = make_input(raw.data, raw.len, 2, &state);
    if (CHECK(learn(raw.data, raw.len, false)) && CHECK_EQ(sample.verdict, IS_GOOD))
        decode_from(1, &in, false, 0);
    free(in.bytes);
    drop(&raw);
}

/* Tests the fixed codes that have no meaning. */
static void codes_without_meaning(void)
{
    for (unsigned symbol = 286; symbol < 288; symbol++)
        for (unsigned d = 0; d < 32; d++) {
            struct bytes raw = {0};
            struct bits bits = {.to = &raw};
            uint64_t state = 16;
            put_bits(&bits, 2, 3);
            put_fixed_code(&bits, 'a');
            put_fixed_code(&bits, d < 30 ? symbol : 257);
            for (unsigned i = 5; i > 0; i--)
                put_bits(&bits, d >> (i - 1), 1);
            for (unsigned i = 0; i < 30; i++)
                put_fixed_code(&bits, 'b');
            put_fixed_code(&bits, END_OF_BLOCK);
            end_bits(&bits);
            for (unsigned i = 0; i < 30; i++)
                add_byte(&raw, 0);
            if (CHECK(learn(raw.data, raw.len, true)) && CHECK_EQ(sample.verdict, IS_BAD))
                decode_from_some(true, &state);
            drop(&raw);
        }
}

static void begin(void)
{
    static uint16_t out[INF_WINDOW + 2];

    out[INF_WINDOW + 1] = 1234;
    inf_symbols_begin(out + INF_WINDOW + 1);
    CHECK_EQ(out[0], 0);
    for (size_t i = 0; i < INF_WINDOW; i++)
        if (!CHECK_EQ(out[1 + i], INF_UNKNOWN + i))
            break;
    CHECK_EQ(out[INF_WINDOW + 1], 1234);
    inf_symbols_free(NULL);
}

static void known_windows(void)
{
    static uint16_t out[INF_WINDOW + 2];
    const uint16_t unknown[] = {INF_UNKNOWN, INF_UNKNOWN + 1, INF_UNKNOWN + INF_WINDOW - 1};

    for (unsigned zeros = 0; zeros < 2; zeros++) {
        for (size_t i = 0; i < INF_WINDOW + 2; i++)
            out[i] = zeros ? 0 : (uint16_t)(i * 7 & 0xff);
        CHECK(inf_is_known(out + 1 + INF_WINDOW));
        for (size_t i = 0; i < INF_WINDOW + 2; i += i < 600 || i > INF_WINDOW - 600 ? 1 : 61)
            for (size_t k = 0; k < 3; k++) {
                const uint16_t was = out[i];
                out[i] = unknown[k];
                if (!CHECK_EQ(inf_is_known(out + 1 + INF_WINDOW), i == 0 || i == INF_WINDOW + 1))
                    printf("# with %#x at %zu\n", out[i], i);
                out[i] = was;
            }
    }
}

static void resolving(void)
{
    static uint8_t window[INF_WINDOW];
    uint64_t state = 17;

    for (size_t i = 0; i < INF_WINDOW; i++)
        window[i] = (uint8_t)unit_rand(&state);
    for (size_t n = 0; n < 200; n++)
        for (unsigned rare = 1; rare < 40; rare += 6) {
            uint16_t in[200];
            uint8_t want[200], bytes[200 + 1];
            for (size_t i = 0; i < n; i++) {
                const uint64_t r = unit_rand(&state);
                in[i] = (uint16_t)(r & 0xff);
                if (one_in(&state, rare))
                    in[i] = (uint16_t)(INF_UNKNOWN + (r >> 8) % INF_WINDOW);
                want[i] = in[i] < INF_UNKNOWN ? (uint8_t)in[i] : window[in[i] - INF_UNKNOWN];
            }
            bytes[n] = 0xa5;
            inf_resolve(decoder, in, n, window, bytes);
            CHECK(memcmp(bytes, want, n) == 0);
            CHECK_EQ(bytes[n], 0xa5);
            inf_resolve(decoder, in, n, window, (uint8_t *)in);
            CHECK(memcmp(in, want, n) == 0);
        }
}

/* --- Bytes ---------------------------------------------------------------------------------- */

/* How a test gives a stream to inf_run, and how much room the output has. */
struct way {
    size_t in_max, out_max; /* the most bytes of input, and of output, for a call; 0: no limit */
    bool exact;             /* there is room exactly up to the end of a block */
    bool stops;
    int64_t from; /* do not stop before this bit */
    uint64_t *random;
};

static size_t some(size_t most, size_t all, const struct way *w)
{
    return most == 0 || most > all ? all : 1 + unit_below(w->random, most);
}

/* Decodes the sample to bytes from block k on, and compares the result with zlib's. */
static bool run_from(struct inf_raw *raw, size_t k, const struct way *w)
{
    static uint8_t out[INF_WINDOW + OUT_MAX];
    const struct start *start = &sample.start[k];
    const size_t before = start->made < INF_WINDOW ? start->made : INF_WINDOW;
    uint8_t *const in = unit_need(malloc(INF_BACK + sample.len));
    enum inf_result result = INF_MORE;
    size_t at = (size_t)((start->place + 7) / 8), grown = 0, made = 0, next = k + 1;
    bool ok = true;

    memset(in, 0xee, INF_BACK);
    memcpy(in + INF_BACK, sample.raw, sample.len);
    memcpy(out + INF_WINDOW - before, sample.data + start->made - before, before);
    hand_overs = 0;
    inf_reset(raw);
    if (k > 0) {
        /* Only the window and the bits from the block's start on may matter; other bytes and bits
         * may have any value. */
        const uint8_t window[1] = {0};
        const unsigned skip = (unsigned)(start->place % 8);
        ok = CHECK(inf_start(raw, skip != 0 ? sample.raw[at - 1] : 0x55, skip,
                             before != 0 ? out + INF_WINDOW - before : window, before));
    }
    while (ok) {
        const int64_t in_bit = 8 * ((int64_t)at - (int64_t)INF_BACK);
        const size_t n = some(w->in_max, sample.len - at, w), len = n > grown ? n : grown;
        const size_t window = before + made < INF_WINDOW ? before + made : INF_WINDOW;
        struct inf_io io = {.in = in + INF_BACK + at,
                            .in_len = len < sample.len - at ? len : sample.len - at,
                            .out = out + INF_WINDOW + made,
                            .out_len = some(w->out_max, OUT_MAX - made, w),
                            .window = window,
                            .stops = w->stops,
                            .stops_from = w->from > in_bit ? (size_t)(w->from - in_bit) : 0};
        io.in_ends = at + io.in_len == sample.len;
        if (w->exact && next <= sample.blocks && start->made + made < sample.start[next].made)
            io.out_len = sample.start[next].made - start->made - made;
        result = inf_run(raw, &io);
        const uint64_t place = (uint64_t)(in_bit + (int64_t)io.place);
        const bool full = io.made == io.out_len, stuck = io.used == 0 && io.made == 0;
        ok = CHECK(io.used <= (ptrdiff_t)io.in_len && io.made <= io.out_len);
        at = (size_t)((ptrdiff_t)at + io.used);
        made += io.made;
        grown = 0;
        while (w->from > 0 && next < sample.blocks &&
               sample.start[next].made <= start->made + made &&
               (int64_t)sample.start[next].place < w->from)
            next++;
        if (result == INF_BLOCK) {
            ok = CHECK(w->stops) && CHECK(next < sample.blocks + (sample.verdict != IS_GOOD)) && ok;
            ok = ok && CHECK_EQ(place, sample.start[next].place) &&
                 CHECK_EQ(start->made + made, sample.start[next].made);
            next++;
        } else if (result == INF_CUT || (result == INF_MORE && !full)) {
            if (io.in_ends)
                break;
            /* If a call uses no input and makes no output, it must be because it needs more input.
             * compat/deflate.c treats other calls without progress as errors of the back end. */
            if (stuck)
                ok = CHECK(result == INF_CUT || io.in_len == 0) && ok;
            if (result == INF_CUT)
                grown = io.in_len + 1;
        } else if (result != INF_MORE) {
            break;
        }
    }
    if (ok) {
        ok = sample.verdict == IS_GOOD  ? CHECK_EQ(result, INF_END)
             : sample.verdict == IS_BAD ? CHECK_EQ(result, INF_BAD)
                                        : CHECK(result == INF_MORE || result == INF_CUT);
        ok = CHECK_EQ(start->made + made, sample.made) && ok;
        if (w->stops && w->from == 0)
            ok = CHECK_EQ(next, sample.blocks + (sample.verdict != IS_GOOD)) && ok;
#if defined(HAVE_ISAL) && !defined(NO_ISAL)
        if (sample.verdict == IS_GOOD)
            ok = CHECK_EQ(hand_overs, 0) && ok;
#endif
        if (ok && sample.verdict == IS_GOOD)
            ok = CHECK_EQ(at, (sample.start[sample.blocks].place + 7) / 8);
        ok = ok && CHECK(memcmp(out + INF_WINDOW, sample.data + start->made, made) == 0);
    }
    if (!ok)
        printf("# from block %zu of %zu, with %zu of input, %zu of output%s%s, before block %zu\n",
               k, sample.blocks, w->in_max, w->out_max, w->stops ? ", stops" : "",
               w->exact ? ", exact" : "", next);
    free(in);
    return ok;
}

static bool run_from_some(struct bytes *raw, uint64_t *state)
{
    static struct inf_raw *run;
    bool ok = true;

    if (run == NULL)
        run = unit_need(inf_open(false));
    if (learn(raw->data, raw->len, false)) {
        const size_t step = 1 + sample.blocks / 6;
        seen.n++;
        seen.blocks += sample.blocks;
        seen.verdicts[sample.verdict]++;
        for (size_t k = 0; k < sample.blocks && ok; k += 1 + below(state, (unsigned)step)) {
            const bool small = sample.made < 10000;
            const struct way ways[] = {
                {.stops = true},
                {.stops = false, .in_max = small ? 40 : 5000, .random = state},
                {.stops = true, .in_max = small ? 20 : 5000, .random = state},
                {.stops = true, .out_max = small ? 30 : 5000, .random = state},
                {.stops = true, .in_max = 3000, .out_max = small ? 7 : 3000, .random = state},
                {.stops = true, .from = 1 + below(state, 8 * (unsigned)sample.len)},
                {.stops = true,
                 .from = 1 + below(state, 8 * (unsigned)sample.len),
                 .in_max = small ? 40 : 5000,
                 .random = state},
                {.stops = true, .exact = true},
                {.stops = true, .exact = true, .in_max = small ? 20 : 5000, .random = state},
            };
            for (size_t i = 0; i < sizeof ways / sizeof ways[0] && ok; i++)
                ok = run_from(run, k, &ways[i]);
        }
    }
    if (!ok)
        show(raw);
    drop(raw);
    return ok;
}

static bool bytes_by_deflate(uint64_t *state)
{
    struct bytes raw = {0};

    random_deflate(&raw, below(state, one_in(state, 8) ? 400000 : 6000), state);
    add(&raw, "trailing", below(state, TRAILER + 1));
    return run_from_some(&raw, state);
}

static bool bytes_of_blocks(uint64_t *state)
{
    const bool large = one_in(state, 20);
    struct bytes raw = {0};

    random_blocks(&raw, large ? 100 : 6, large ? 3000 : 60, false, false, state);
    add(&raw, "trailing", below(state, TRAILER + 1));
    return run_from_some(&raw, state);
}

/* Tests many short blocks, of one type or of all types, so that zlib decodes them.  Sometimes, a
 * longer block is between them. */
static bool bytes_of_short_blocks(uint64_t *state)
{
    struct bytes raw = {0};
    struct stream s = {.bits = {.to = &raw}, .spoil = one_in(state, 4), .random = state};

    for (unsigned rows = 1 + below(state, 6); rows != 0; rows--) {
        const unsigned kind = below(state, 5), most = 1 + below(state, 12);
        for (unsigned n = below(state, one_in(state, 4) ? 1500 : 100); n != 0; n--) {
            if (kind == 0 || (kind == 4 && one_in(state, 2)))
                put_fixed(&s, false, below(state, most));
            else if (kind == 1 || (kind == 4 && one_in(state, 2)))
                put_dynamic(&s, false, below(state, most));
            else
                put_stored(&s, false, kind == 2 ? 0 : below(state, most));
        }
        if (one_in(state, 2))
            put_block(&s, false, 3000);
    }
    put_block(&s, true, 10);
    end_bits(&s.bits);
    add(&raw, "trailing", below(state, TRAILER + 1));
    if (one_in(state, 4))
        raw.len = below(state, (unsigned)raw.len + 1);
    return run_from_some(&raw, state);
}

static bool damaged_bytes(uint64_t *state)
{
    struct bytes raw = {0};

    if (one_in(state, 2))
        random_deflate(&raw, below(state, 3000), state);
    else
        random_blocks(&raw, 6, 60, one_in(state, 2), false, state);
    if (one_in(state, 2))
        raw.data[below(state, (unsigned)raw.len)] ^= (uint8_t)(1u << below(state, 8));
    if (one_in(state, 2))
        raw.len = below(state, (unsigned)raw.len + 1);
    return run_from_some(&raw, state);
}

static void bytes_from_blocks_by_deflate(void)
{
    repeat(bytes_by_deflate, 20);
}

static void bytes_from_random_blocks(void)
{
    repeat(bytes_of_blocks, 100);
    CHECK(seen.verdicts[IS_GOOD] == seen.n);
}

static void bytes_from_short_blocks(void)
{
    windows = 0;
    repeat(bytes_of_short_blocks, 15);
    /* zlib was given far more windows than there are streams that may end inside a block.  So zlib
     * was also used for whole blocks. */
    CHECK(windows > 300);
}

static void bytes_of_damaged_streams(void)
{
    repeat(damaged_bytes, 400);
}

int main(void)
{
    decoder = unit_need(inf_symbols_new());
    RUN(streams_by_deflate);
    RUN(streams_of_blocks);
    RUN(damaged_streams);
    RUN(streams_of_noise);
    RUN(bytes_from_blocks_by_deflate);
    RUN(bytes_from_random_blocks);
    RUN(bytes_from_short_blocks);
    RUN(bytes_of_damaged_streams);
    if (getenv("FUZZ_SECONDS") == NULL) {
        RUN(truncation);
        RUN(blocks_up_to_the_end);
        RUN(little_room);
        RUN(stored_blocks);
        RUN(matches);
        RUN(longest_codes);
        RUN(codes_without_meaning);
        RUN(begin);
        RUN(known_windows);
        RUN(resolving);
    }
    inf_symbols_free(decoder);
    return unit_done_on_paths();
}
