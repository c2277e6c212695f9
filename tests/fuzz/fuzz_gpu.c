/*
 * fuzz_gpu.c - for every input, a GPU makes zlib's output or leaves the input to the CPU
 *
 * A libFuzzer target (`make fuzz`) for both kinds of decompression by a GPU (gpu/inflate.h): of a
 * whole file in memory, and in steps.  The kernels run on an emulated device
 * (tests/emulation/cuda_runtime.h).  tests/fuzz/mutate_gpu.c uses the same code without clang.
 *
 * The input's first bytes are a struct fuzz_gpu_choice.  A fuzzer can hardly guess a CRC-32.  So
 * with most choices, the other bytes are raw DEFLATE, and this program adds headers and trailers.
 * Batches and groups are small, so that a small file passes through many of them.
 *
 * An engine takes long to open.  So all inputs with the same setting share one, as a program's
 * files do.  If an input fails only after others, data that these left in the engine's memory
 * matters.
 */
#include "config.h"

#include <string.h>
#include <zlib.h>

#include "gpu/inflate.h"
#include "tests/fuzz/fuzz_gpu.h"
#include "tests/unit/encoders.h"

#define REQUIRE(condition) \
    ((condition)           \
         ? (void)0         \
         : (fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition), abort()))

/* zlib stops after this much output, because a few bytes of input can decode to gigabytes.  Blocks
 * of this size are long enough for an outline (gpu/units.cu). */
#define OUT_MAX ((size_t)3 << 20)

/* Each batch takes some milliseconds on the emulated device. */
#define BATCHES_MAX 20

#define MEMBERS_MAX 16
#define WINDOW ((size_t)32768)
#define GUARD 64
#define FILLER 0xa5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

/* --- What zlib makes of the file -------------------------------------------------------------- */

/* A block that zlib has accepted. */
struct block {
    uint64_t start, end; /* bits of the input */
    size_t out_end;      /* bytes of output up to its end */
    bool is_final;
};

enum end {
    GOOD,
    BAD_MEMBER, /* a header or a trailer is bad, or cut off */
    BAD_BLOCK,  /* the block behind the last good one is bad, or cut off */
    TOO_LONG    /* the output is longer than OUT_MAX */
};

struct reference {
    const uint8_t *in;
    size_t in_len, used; /* bytes of input, and bytes of its good members */
    uint8_t *out;
    size_t out_len; /* bytes of output of the good blocks */
    struct block *blocks;
    size_t count, room;
    enum end end;
};

static void add_block(struct reference *r, const struct block *b)
{
    if (r->count == r->room) {
        r->room = 2 * r->room + 16;
        r->blocks = unit_need(realloc(r->blocks, r->room * sizeof(*r->blocks)));
    }
    r->blocks[r->count++] = *b;
    r->out_len = b->out_end;
}

/* Reads a member; if has_header is false, a raw stream.  If it is bad, sets r->end and returns
 * false. */
static bool read_member(struct reference *r, z_stream *z, bool has_header)
{
    struct block b = {8 * (uint64_t)(z->next_in - r->in), 0, 0, false};
    bool is_in_blocks = !has_header;

    for (;;) {
        const int result = inflate(z, Z_BLOCK);

        if (result == Z_STREAM_END) {
            r->used = (size_t)(z->next_in - r->in);
            return true;
        }
        REQUIRE(result == Z_OK || result == Z_BUF_ERROR || result == Z_DATA_ERROR);
        if (result == Z_DATA_ERROR || (z->data_type & 128) == 0) {
            r->end = !is_in_blocks || b.is_final                  ? BAD_MEMBER
                     : result == Z_DATA_ERROR || z->avail_out > 0 ? BAD_BLOCK
                                                                  : TOO_LONG;
            return false;
        }
        /* A header or a block has ended. */
        b.end = 8 * (uint64_t)(z->next_in - r->in) - (unsigned)(z->data_type & 7);
        b.out_end = OUT_MAX - z->avail_out;
        b.is_final = (z->data_type & 64) != 0;
        if (is_in_blocks)
            add_block(r, &b);
        is_in_blocks = true;
        b.start = b.end;
    }
}

/* Reads all members; if has_headers is false, one raw stream. */
static void read_all(struct reference *r, const uint8_t *in, size_t len, bool has_headers)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in, .avail_in = (uInt)len, .avail_out = OUT_MAX};

    *r = (struct reference){.in = in, .in_len = len, .out = unit_need(malloc(OUT_MAX))};
    z.next_out = r->out;
    REQUIRE(inflateInit2(&z, has_headers ? MAX_WBITS + 16 : -MAX_WBITS) == Z_OK);
    while (read_member(r, &z, has_headers) && has_headers && z.avail_in > 0)
        REQUIRE(inflateReset(&z) == Z_OK);
    (void)inflateEnd(&z);
}

static void drop_reference(struct reference *r)
{
    free(r->out);
    free(r->blocks);
}

/* --- Files from raw streams ------------------------------------------------------------------- */

static void add_header(struct bytes *gz, bool is_bgzf)
{
    static const uint8_t usual[] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3};
    static const uint8_t bgzf[] = {0x1f, 0x8b, 8, 4,   0,   0, 0, 0, 0,
                                   0xff, 6,    0, 'B', 'C', 2, 0, 0, 0};

    add(gz, is_bgzf ? bgzf : usual, is_bgzf ? sizeof(bgzf) : sizeof(usual));
}

/* Adds the good blocks of a stream, and an empty final block. */
static void add_mended(struct bytes *gz, const struct reference *r)
{
    const uint64_t bit = r->count > 0 ? r->blocks[r->count - 1].end : 0;
    struct bits b = {.to = gz, .n = bit % 8};

    add(gz, r->in, bit / 8);
    if (b.n > 0)
        b.byte = r->in[bit / 8] & ((1u << b.n) - 1);
    put_bits(&b, 3, 10); /* final, fixed; and the code of the end */
    end_bits(&b);
}

/* Makes members of the raw streams, which follow each other. */
static void add_members(struct bytes *gz, enum fuzz_gpu_form form, const uint8_t *data, size_t len)
{
    struct reference r = {.end = GOOD};

    for (int i = 0; i < MEMBERS_MAX && r.end == GOOD && (i == 0 || len > 0); i++) {
        const size_t start = gz->len;

        read_all(&r, data, len, false);
        add_header(gz, form == FUZZ_GPU_BGZF);
        if (r.end == GOOD)
            add(gz, data, r.used);
        else if (form == FUZZ_GPU_STREAMS)
            add(gz, data, len);
        else
            add_mended(gz, &r);
        add_le(gz, crc32(0, r.out, (uInt)r.out_len), 4);
        add_le(gz, r.out_len, 4);
        if (form == FUZZ_GPU_BGZF) {
            gz->data[start + 16] = (uint8_t)(gz->len - start - 1);
            gz->data[start + 17] = (uint8_t)((gz->len - start - 1) >> 8);
        }
        data += r.used;
        len -= r.used;
        drop_reference(&r);
    }
}

/* --- The engines ------------------------------------------------------------------------------ */

static const struct gpu_inflate_options settings[FUZZ_GPU_SETTINGS] = {
    {.batch = 256 << 10, .symbols = OUT_MAX},
    {.batch = 5000, .symbols = 200000, .longer = 4000},
    {.batch = FUZZ_GPU_SMALL_BATCH, .symbols = 60000, .longer = 500},
    {.batch = 800, .symbols = 33000, .longer = 100},
    {.batch = 120, .symbols = 1000, .longer = 20},
};

static struct gpu_inflate *open_engine(unsigned setting, bool in_steps)
{
    static struct gpu_inflate *engines[FUZZ_GPU_SETTINGS][2];
    struct gpu_inflate **g = &engines[setting][in_steps];
    struct gpu_inflate_options options = settings[setting];
    char error[GPU_ERROR_SIZE];

    options.in_steps = in_steps;
    if (*g == NULL)
        *g = unit_need(gpu_inflate_open(0, &options, error));
    return *g;
}

/* --- A whole file ----------------------------------------------------------------------------- */

struct progress {
    unsigned batches, stop; /* batches decoded; batches after which to stop, 0: never */
    size_t in_len, room;
    uint64_t in, out;
};

static bool goes_on(void *ctx, uint64_t in, uint64_t out)
{
    struct progress *p = ctx;

    REQUIRE(in >= p->in && in <= p->in_len && out >= p->out && out <= p->room);
    p->in = in;
    p->out = out;
    return ++p->batches != p->stop;
}

static bool is_filled(const uint8_t *bytes, size_t len)
{
    return len == 0 || (bytes[0] == FILLER && memcmp(bytes, bytes + 1, len - 1) == 0);
}

static size_t room_for(const struct fuzz_gpu_choice *choice, const struct reference *r)
{
    switch (choice->room % 4) {
    case 0:
        return r->out_len + 1000;
    case 1:
        return r->out_len;
    case 2:
        return r->out_len > 0 ? r->out_len - 1 : 0;
    default:
        return OUT_MAX;
    }
}

static void try_whole(const struct fuzz_gpu_choice *choice, unsigned setting,
                      const struct reference *r, struct fuzz_gpu_result *result)
{
    const size_t room = room_for(choice, r), shift = choice->shift % 16;
    uint8_t *const memory = unit_need(malloc(shift + room + GUARD)), *const out = memory + shift;
    struct progress progress = {.stop = choice->stop, .in_len = r->in_len, .room = room};
    char error[GPU_ERROR_SIZE] = "";
    size_t out_len = 77, written = room;
    enum gpu_inflate_result done;

    memset(memory, FILLER, shift + room + GUARD);
    done = gpu_inflate(open_engine(setting, false), r->in, r->in_len, out, room, &out_len, goes_on,
                       &progress, error);
    REQUIRE(done != GPU_INFLATE_LEFT || error[0] != '\0');
    if (done == GPU_INFLATE_DONE) {
        REQUIRE(r->end == GOOD && out_len == r->out_len && memcmp(out, r->out, out_len) == 0);
        written = out_len;
    } else if (done == GPU_INFLATE_STOPPED) {
        REQUIRE(progress.batches == progress.stop && out_len == progress.out);
        REQUIRE(r->end == TOO_LONG || out_len <= r->out_len);
        REQUIRE(memcmp(out, r->out, out_len < r->out_len ? out_len : r->out_len) == 0);
    } else {
        REQUIRE(done == GPU_INFLATE_LEFT && out_len == 0);
    }
    REQUIRE(is_filled(memory, shift) && is_filled(out + written, room + GUARD - written));
    free(memory);
    result->is_done = done == GPU_INFLATE_DONE;
    result->batches = progress.batches;
}

/* --- In steps --------------------------------------------------------------------------------- */

/* The CPU, which takes the output of the steps, and how far it is. */
struct consumer {
    const struct reference *r;
    size_t block;        /* the number of the next block */
    uint64_t bit;        /* the bit of the input where the next run has to start */
    size_t at;           /* bytes of output so far */
    size_t member_start; /* the member's output starts with this byte */
    bool has_stopped;    /* a header or trailer is bad, or the output is too long */
};

/* The bits between a stored block's header and the next byte may repeat the header, so several
 * starts can be right; the GPU takes the last one.  Returns the last bit at which the header of the
 * stored block at `bit` can be read, or `bit` if there is no such block. */
static uint64_t last_start(const struct reference *r, uint64_t bit)
{
    const uint64_t last = (bit + 3 + 7) / 8 * 8 - 3;

    for (uint64_t i = bit; i < last + 3; i++)
        if (i / 8 >= r->in_len || (r->in[i / 8] >> i % 8 & 1) != 0)
            return bit;
    return last;
}

/* Moves the consumer behind the blocks of a run.  False if zlib has not read all of them. */
static bool pass_blocks(struct consumer *c, const struct gpu_inflate_run *run)
{
    const struct reference *r = c->r;

    while (c->block < r->count) {
        const struct block *b = &r->blocks[c->block++];

        if (b->is_final) {
            REQUIRE(run->ends_member && run->end == (b->end + 7) / 8 * 8);
            return true;
        }
        if (!run->ends_member && (run->end == b->end || run->end == last_start(r, b->end)))
            return true;
    }
    /* The run has a block that zlib does not accept, unless zlib has stopped earlier. */
    REQUIRE(r->end == TOO_LONG);
    return false;
}

/* Compares a run, whose output is at bytes[], with zlib's. */
static void check_run(struct consumer *c, const struct gpu_inflate_run *run, const uint8_t *bytes)
{
    const struct reference *r = c->r;

    if (c->block == r->count)
        /* The CPU reads trailers and headers itself, and stops if one is bad. */
        REQUIRE(r->end == BAD_MEMBER || r->end == TOO_LONG);
    else
        REQUIRE(run->start == c->bit);
    if (c->block == r->count || !pass_blocks(c, run)) {
        c->has_stopped = true;
        return;
    }
    const size_t length = r->blocks[c->block - 1].out_end - c->at;

    REQUIRE(run->length == length && memcmp(bytes, r->out + c->at, length) == 0);
    REQUIRE(run->crc == crc32(0, bytes, (uInt)length));
    c->at += length;
    c->bit = run->end;
    if (run->ends_member) {
        c->member_start = c->at;
        if (c->block < r->count)
            c->bit = r->blocks[c->block].start;
    }
}

/* Takes all output from an output buffer. */
static void take_output(struct gpu_inflate *g, struct consumer *c, unsigned output,
                        const struct gpu_inflate_output *o)
{
    uint8_t *const bytes = unit_need(malloc(o->length > 0 ? (size_t)o->length : 1));
    char error[GPU_ERROR_SIZE] = "";
    uint64_t at = 0;

    for (size_t n; at < o->length; at += n) {
        /* Odd sizes, so that slices start anywhere. */
        n = o->length - at < 100003 ? (size_t)(o->length - at) : 100003;
        memcpy(bytes + at, unit_need((void *)(uintptr_t)gpu_inflate_take(g, output, at, n, error)),
               n);
    }
    at = 0;
    for (size_t i = 0; i < o->count && !c->has_stopped; at += o->runs[i++].length) {
        REQUIRE(o->runs[i].length <= o->length - at);
        check_run(c, &o->runs[i], bytes + at);
    }
    if (!c->has_stopped) {
        const size_t made = c->at - c->member_start, known = made < WINDOW ? made : WINDOW;

        REQUIRE(at == o->length);
        if (!o->runs[o->count - 1].ends_member)
            REQUIRE(memcmp(o->window + WINDOW - known, c->r->out + c->at - known, known) == 0);
    }
    free(bytes);
}

/* Loads input buffer number i of an input that is decoded from byte `first` on.  Returns the
 * buffer's length; 0 if the input ends before it. */
static size_t load(struct gpu_inflate *g, const struct reference *r, uint64_t first, uint64_t i)
{
    const uint64_t start = first + i * gpu_inflate_batch_size(g);
    const size_t left = start < r->in_len ? (size_t)(r->in_len - start) : 0;
    const size_t len = left < gpu_inflate_input_size(g) ? left : gpu_inflate_input_size(g);
    char error[GPU_ERROR_SIZE] = "";

    for (size_t at = 0, n; at < len; at += n) {
        n = len - at < 30011 ? len - at : 30011;
        memcpy(gpu_inflate_stage(g), r->in + start + at, n);
        REQUIRE(gpu_inflate_put(g, (unsigned)(i % GPU_INFLATE_INPUTS), at, n, error));
    }
    return len;
}

/* Decodes an input buffer, and takes the outputs.  As if the consumer were slow, takes each output
 * only after the next one was made. */
static enum gpu_inflate_result decode_input(struct gpu_inflate *g, struct consumer *c,
                                            unsigned input, uint64_t start, size_t len,
                                            struct fuzz_gpu_result *result)
{
    struct gpu_inflate_output outputs[GPU_INFLATE_OUTPUTS];
    char error[GPU_ERROR_SIZE] = "";
    enum gpu_inflate_result done = gpu_inflate_find(g, input, start, len, error);

    for (unsigned i = 0; done == GPU_INFLATE_DONE && !c->has_stopped; i++) {
        const unsigned now = i % GPU_INFLATE_OUTPUTS, before = (i + 1) % GPU_INFLATE_OUTPUTS;

        done = gpu_inflate_next(g, now, &outputs[now], error);
        if (i > 0)
            take_output(g, c, before, &outputs[before]);
        if (done != GPU_INFLATE_DONE || outputs[now].count == 0)
            break;
        result->outputs++;
    }
    REQUIRE(done == GPU_INFLATE_DONE || (done == GPU_INFLATE_LEFT && error[0] != '\0'));
    return done;
}

/* Fills the end of window[] with the output before block number `first`, as far as it belongs to
 * the same member.  Returns a consumer that is there. */
static struct consumer begin_at(const struct reference *r, size_t first, uint8_t window[WINDOW])
{
    struct consumer c = {.r = r, .block = first, .bit = r->blocks[first].start};

    for (size_t i = 0; i < first; i++) {
        c.at = r->blocks[i].out_end;
        if (r->blocks[i].is_final)
            c.member_start = c.at;
    }
    const size_t made = c.at - c.member_start, known = made < WINDOW ? made : WINDOW;

    memset(window, FILLER, WINDOW);
    memcpy(window + WINDOW - known, r->out + c.at - known, known);
    return c;
}

static void try_steps(const struct fuzz_gpu_choice *choice, unsigned setting,
                      const struct reference *r, struct fuzz_gpu_result *result)
{
    struct gpu_inflate *const g = open_engine(setting, true);
    uint8_t window[WINDOW];
    char error[GPU_ERROR_SIZE] = "";
    enum gpu_inflate_result done;
    struct consumer c;

    if (r->count == 0)
        return;
    c = begin_at(r, choice->first % r->count, window);
    const uint64_t first = c.bit / 8 / 4 * 4;
    const size_t began = c.at;
    size_t len = load(g, r, first, 0);

    done = gpu_inflate_begin(g, r->in_len, c.bit, window, (uint32_t)(c.at - c.member_start),
                             choice->is_bgzf % 2, error);
    REQUIRE(done == GPU_INFLATE_DONE);
    for (uint64_t i = 0; len > 0 && !c.has_stopped; i++) {
        /* The loader is ahead by a buffer. */
        const size_t next_len = load(g, r, first, i + 1);

        done = decode_input(g, &c, (unsigned)(i % GPU_INFLATE_INPUTS),
                            first + i * gpu_inflate_batch_size(g), len, result);
        if (done != GPU_INFLATE_DONE || gpu_inflate_has_ended(g))
            break;
        len = next_len;
    }
    result->is_stepped = done == GPU_INFLATE_DONE && !c.has_stopped && gpu_inflate_has_ended(g);
    result->step_length = c.at - began;
    /* If nothing was left to the CPU, the GPU has found the end of a good file. */
    if (done == GPU_INFLATE_DONE && r->end == GOOD)
        REQUIRE(result->is_stepped && c.block == r->count);
    if (result->is_stepped)
        REQUIRE(r->end == GOOD || r->end == BAD_MEMBER);
}

/* --- One file --------------------------------------------------------------------------------- */

void fuzz_gpu_one(const struct fuzz_gpu_choice *choice, const uint8_t *data, size_t len,
                  struct fuzz_gpu_result *result)
{
    const enum fuzz_gpu_form form = choice->form % FUZZ_GPU_FORMS;
    unsigned setting = choice->setting % FUZZ_GPU_SETTINGS;
    struct bytes gz = {0};
    struct reference r;

    *result = (struct fuzz_gpu_result){0};
    if (form == FUZZ_GPU_FILE)
        add(&gz, data, len);
    else
        add_members(&gz, form, data, len);
    while (setting > 0 && gz.len > BATCHES_MAX * settings[setting].batch)
        setting--;
    /* Memory of exactly this size lets a sanitizer see reads past the end. */
    gz.data = unit_need(realloc(gz.data, gz.len > 0 ? gz.len : 1));
    read_all(&r, gz.data, gz.len, true);
    result->is_good = r.end == GOOD;
    try_whole(choice, setting, &r, result);
    try_steps(choice, setting, &r, result);
    drop_reference(&r);
    drop(&gz);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct fuzz_gpu_choice choice;
    struct fuzz_gpu_result result;

    if (len < sizeof(choice))
        return 0;
    memcpy(&choice, data, sizeof(choice));
    fuzz_gpu_one(&choice, data + sizeof(choice), len - sizeof(choice), &result);
    return 0;
}
