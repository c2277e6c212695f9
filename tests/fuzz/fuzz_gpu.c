/*
 * fuzz_gpu.c - for every input, a GPU makes zlib's output or leaves the input to the CPU
 *
 * A libFuzzer target (`make fuzz`) for all kinds of decompression by a GPU (gpu/inflate.h): of a
 * whole file in memory, to memory of a size that was counted before, in steps, and of many inputs
 * at once.  The kernels run on an emulated device (tests/emulation/cuda_runtime.h).
 * tests/fuzz/mutate_gpu.c uses the same code without clang.
 *
 * The input's first bytes are a struct fuzz_gpu_choice.  A fuzzer can hardly guess a CRC-32.  So
 * with most choices, the other bytes are raw DEFLATE, and this program adds headers and trailers.
 * Batches and groups are small, so that a small file passes through many of them.
 *
 * Opening an engine takes long, so all inputs with the same setting share one engine, as the files
 * of a program do.  If an input fails only after other inputs, the cause may be data that the other
 * inputs have left in the engine's memory.
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
 * of this size are long enough for an outline (gpu/cuda/inflate/units.cu). */
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
    size_t out_end;      /* bytes of output up to the block's end */
    bool is_final;
};

enum end {
    GOOD,
    BAD_MEMBER, /* a header or a trailer is bad, or cut off */
    BAD_BLOCK,  /* the block after the last good one is bad, or cut off */
    TOO_LONG    /* the output is longer than OUT_MAX */
};

struct reference {
    const uint8_t *in;
    size_t in_len, used; /* bytes of input, and bytes of the input's good members */
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

/* Reads a member with zlib.  If has_header is false, reads a raw stream instead.  If the member or
 * stream is bad, sets r->end and returns false. */
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

/* Reads all members of in[0..len) with zlib.  If has_headers is false, reads one raw stream
 * instead. */
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

/* The format of a file that contains a raw stream. */
enum wrapping { AS_GZIP, AS_BGZF, AS_ZLIB, AS_RAW };

static void add_wrapped(struct bytes *to, enum wrapping wrapping, enum fuzz_gpu_form form,
                        const struct reference *r)
{
    static const uint8_t zlib_header[] = {0x78, 0x9c};
    const size_t start = to->len;

    if (wrapping == AS_ZLIB)
        add(to, zlib_header, sizeof(zlib_header));
    else if (wrapping != AS_RAW)
        add_header(to, wrapping == AS_BGZF);
    if (r->end == GOOD)
        add(to, r->in, r->used);
    else if (form == FUZZ_GPU_STREAMS)
        add(to, r->in, r->in_len);
    else
        add_mended(to, r);
    if (wrapping == AS_ZLIB) {
        const uint32_t sum = (uint32_t)adler32(1, r->out, (uInt)r->out_len);
        const uint8_t trailer[] = {(uint8_t)(sum >> 24), (uint8_t)(sum >> 16), (uint8_t)(sum >> 8),
                                   (uint8_t)sum};

        add(to, trailer, sizeof(trailer));
    } else if (wrapping != AS_RAW) {
        add_le(to, crc32(0, r->out, (uInt)r->out_len), 4);
        add_le(to, r->out_len, 4);
    }
    if (wrapping == AS_BGZF) {
        to->data[start + 16] = (uint8_t)(to->len - start - 1);
        to->data[start + 17] = (uint8_t)((to->len - start - 1) >> 8);
    }
}

/* Wraps the raw streams in data[0..len), which follow one another.  Sets ends[i] to the end of
 * stream number i.  Returns the number of streams. */
static size_t add_streams(struct bytes *to, enum wrapping wrapping, enum fuzz_gpu_form form,
                          const uint8_t *data, size_t len, size_t ends[MEMBERS_MAX])
{
    struct reference r = {.end = GOOD};
    size_t count = 0;

    while (count < MEMBERS_MAX && r.end == GOOD && (count == 0 || len > 0)) {
        read_all(&r, data, len, false);
        add_wrapped(to, wrapping, form, &r);
        ends[count++] = to->len;
        data += r.used;
        len -= r.used;
        drop_reference(&r);
    }
    return count;
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

/* --- A size, and memory of that size ---------------------------------------------------------- */

static void try_count(const struct fuzz_gpu_choice *choice, unsigned setting,
                      const struct reference *r, struct fuzz_gpu_result *result, uint64_t *size)
{
    struct progress progress = {.stop = choice->stop, .in_len = r->in_len};
    char error[GPU_ERROR_SIZE] = "";
    enum gpu_inflate_result done;

    *size = 77;
    done = gpu_inflate_count(open_engine(setting, false), r->in, r->in_len, size, goes_on,
                             &progress, error);
    REQUIRE(done == GPU_INFLATE_DONE || *size == 0);
    if (done == GPU_INFLATE_STOPPED)
        REQUIRE(progress.batches == progress.stop);
    else
        REQUIRE(done == GPU_INFLATE_DONE || (done == GPU_INFLATE_LEFT && error[0] != '\0'));
    if (done == GPU_INFLATE_DONE && r->end == GOOD)
        REQUIRE(*size == r->out_len);
    /* If gpu_inflate has decompressed the file, the device must be able to count the file's
     * output. */
    if (result->is_done && choice->stop == 0)
        REQUIRE(done == GPU_INFLATE_DONE);
    result->is_counted = done == GPU_INFLATE_DONE;
}

/* The memory that gpu_inflate_new asks for. */
struct allocation {
    struct progress progress;
    uint8_t *memory;
    size_t shift, size;
    unsigned asked;
};

static uint8_t *allocate(void *ctx, size_t size)
{
    struct allocation *a = ctx;

    a->asked++;
    a->size = size;
    /* Data that is bad can count as gigabytes. */
    if (size > OUT_MAX)
        return NULL;
    a->progress.room = size;
    a->memory = unit_need(malloc(a->shift + size + GUARD));
    memset(a->memory, FILLER, a->shift + size + GUARD);
    return a->memory + a->shift;
}

static bool new_goes_on(void *ctx, uint64_t in, uint64_t out)
{
    struct allocation *a = ctx;

    REQUIRE(a->memory != NULL || (in == 0 && out == 0));
    return goes_on(&a->progress, in, out);
}

static void try_new(const struct fuzz_gpu_choice *choice, unsigned setting,
                    const struct reference *r, struct fuzz_gpu_result *result)
{
    struct allocation a = {.progress = {.stop = choice->stop, .in_len = r->in_len},
                           .shift = choice->shift % 16};
    char error[GPU_ERROR_SIZE] = "";
    size_t out_len = 77;
    uint64_t size;
    enum gpu_inflate_result done;

    try_count(choice, setting, r, result, &size);
    done = gpu_inflate_new(open_engine(setting, false), r->in, r->in_len, allocate, &out_len,
                           new_goes_on, &a, error);
    REQUIRE(a.asked == 0 || (a.asked == 1 && (!result->is_counted || a.size == size)));
    if (result->is_counted && choice->stop == 0)
        REQUIRE(a.asked == 1);
    if (done == GPU_INFLATE_DONE)
        REQUIRE(r->end == GOOD && out_len == a.size && out_len == r->out_len &&
                memcmp(a.memory + a.shift, r->out, out_len) == 0);
    else if (done == GPU_INFLATE_STOPPED)
        REQUIRE(out_len == a.progress.out &&
                (a.asked == 1 && a.memory == NULL ? a.size > OUT_MAX
                                                  : a.progress.batches == a.progress.stop));
    else
        REQUIRE(done == GPU_INFLATE_LEFT && out_len == 0 && error[0] != '\0');
    if (a.memory != NULL)
        REQUIRE(is_filled(a.memory, a.shift) && is_filled(a.memory + a.shift + a.size, GUARD));
    free(a.memory);
    result->is_new = done == GPU_INFLATE_DONE;
}

/* --- Many inputs ------------------------------------------------------------------------------ */

#define INPUTS_MAX (4 * MEMBERS_MAX)

static const int window_bits[] = {
    [CONTAINER_GZIP] = 15 + 16, [CONTAINER_ZLIB] = 15, [CONTAINER_RAW] = -15};

/* Decodes one of many inputs with zlib.  Sets r->used to `len`, or to 0 if the input is bad. */
static void read_input(struct reference *r, const uint8_t *in, size_t len, enum container format)
{
    z_stream z = {.next_in = (Bytef *)(uintptr_t)in, .avail_in = (uInt)len, .avail_out = OUT_MAX};

    *r = (struct reference){.in = in, .in_len = len, .out = unit_need(malloc(OUT_MAX))};
    z.next_out = r->out;
    REQUIRE(inflateInit2(&z, window_bits[format]) == Z_OK);
    if (len > 0 && inflate(&z, Z_FINISH) == Z_STREAM_END && z.avail_in == 0)
        r->used = len;
    r->out_len = z.total_out;
    r->out = unit_need(realloc(r->out, r->out_len + 1));
    (void)inflateEnd(&z);
}

/* Inputs of gpu_inflate_many, and zlib's results for them. */
struct inputs {
    struct bytes bytes; /* of all inputs */
    size_t starts[INPUTS_MAX], ends[INPUTS_MAX], count;
    struct reference references[INPUTS_MAX];
    struct gpu_inflate_input work[INPUTS_MAX];
    uint8_t *memory[INPUTS_MAX]; /* the outputs, with guards */
    size_t shifts[INPUTS_MAX];
    size_t room; /* for all outputs together */
};

/* Cuts a file into inputs, or makes an input of each raw stream.  Then repeats the list of inputs
 * up to four times, with the inputs at the same places in memory. */
static void make_inputs(struct inputs *m, const struct fuzz_gpu_choice *choice,
                        enum container format, const uint8_t *data, size_t len)
{
    const enum fuzz_gpu_form form = choice->form % FUZZ_GPU_FORMS;
    const enum wrapping wrapping = format == CONTAINER_ZLIB  ? AS_ZLIB
                                   : format == CONTAINER_RAW ? AS_RAW
                                   : form == FUZZ_GPU_BGZF   ? AS_BGZF
                                                             : AS_GZIP;
    const size_t times = 1 + choice->inputs % 4;

    if (form != FUZZ_GPU_FILE) {
        m->count = add_streams(&m->bytes, wrapping, form, data, len, m->ends);
    } else {
        add(&m->bytes, data, len);
        m->count = 1 + choice->inputs / 4 % MEMBERS_MAX;
        for (size_t i = 0; i < m->count; i++)
            m->ends[i] = (i + 1) * len / m->count;
    }
    m->bytes.data = unit_need(realloc(m->bytes.data, m->bytes.len > 0 ? m->bytes.len : 1));
    for (size_t i = 0; i < times * m->count; i++) {
        m->ends[i] = m->ends[i % m->count];
        m->starts[i] = i % m->count > 0 ? m->ends[i - 1] : 0;
    }
    m->count *= times;
}

/* Sets the place of input number i and the place of its output. */
static void place_input(struct inputs *m, const struct fuzz_gpu_choice *choice, size_t i,
                        enum container format)
{
    const size_t start = m->starts[i], len = m->ends[i] - start;
    struct fuzz_gpu_choice own = *choice;
    struct reference *r = &m->references[i];
    struct gpu_inflate_input *to = &m->work[i];

    own.room = (uint8_t)(choice->room + (i % 5 == 0 ? i / 5 : 0));
    m->shifts[i] = (choice->shift + i) % 16;
    read_input(r, m->bytes.data + start, len, format);
    *to = (struct gpu_inflate_input){.in = r->in,
                                     .in_len = len,
                                     .room = room_for(&own, r),
                                     .in_block = choice->is_bgzf % 2 != 0 ? m->bytes.data : NULL,
                                     .result = GPU_INFLATE_FAILED,
                                     .made = 77};
    m->memory[i] = unit_need(malloc(m->shifts[i] + to->room + GUARD));
    memset(m->memory[i], FILLER, m->shifts[i] + to->room + GUARD);
    to->out = m->memory[i] + m->shifts[i];
    m->room += to->room;
}

/* Checks the result of input number i. */
static void check_input(const struct inputs *m, size_t i)
{
    const struct reference *r = &m->references[i];
    const struct gpu_inflate_input *w = &m->work[i];
    size_t written = w->room;

    if (w->result == GPU_INFLATE_DONE) {
        REQUIRE(r->used == r->in_len && r->in_len > 0 && w->made == r->out_len);
        REQUIRE(w->made <= w->room && memcmp(w->out, r->out, w->made) == 0);
        written = w->made;
    } else {
        REQUIRE(w->result == GPU_INFLATE_LEFT && w->made == 0);
    }
    REQUIRE(is_filled(m->memory[i], m->shifts[i]));
    REQUIRE(is_filled(w->out + written, w->room + GUARD - written));
}

static void try_many(const struct fuzz_gpu_choice *choice, const uint8_t *data, size_t len,
                     struct fuzz_gpu_result *result)
{
    const enum container format = choice->format % 3;
    unsigned setting = choice->setting % FUZZ_GPU_SETTINGS;
    struct inputs *m = unit_need(calloc(1, sizeof(*m)));
    struct progress progress = {.stop = choice->stop};
    char error[GPU_ERROR_SIZE] = "";
    enum gpu_inflate_result done;
    uint64_t in = 0, out = 0;

    make_inputs(m, choice, format, data, len);
    for (size_t i = 0; i < m->count; i++) {
        place_input(m, choice, i, format);
        progress.in_len += m->work[i].in_len;
    }
    progress.room = m->room;
    while (setting > 0 && progress.in_len > BATCHES_MAX * settings[setting].batch)
        setting--;
    done = gpu_inflate_many(open_engine(setting, false), m->work, m->count, format, goes_on,
                            &progress, error);
    if (done == GPU_INFLATE_STOPPED)
        REQUIRE(progress.batches == progress.stop);
    else
        REQUIRE(done == GPU_INFLATE_DONE);
    for (size_t i = 0; i < m->count; i++) {
        check_input(m, i);
        in += m->work[i].in_len;
        out += m->work[i].made;
        result->inputs += m->references[i].used > 0 && m->work[i].room >= m->references[i].out_len;
        result->made += m->work[i].result == GPU_INFLATE_DONE;
        drop_reference(&m->references[i]);
        free(m->memory[i]);
    }
    REQUIRE(progress.out == out && (progress.in == in || done == GPU_INFLATE_STOPPED));
    drop(&m->bytes);
    free(m);
}

/* --- In steps --------------------------------------------------------------------------------- */

/* The progress of the CPU, which takes the output when a file is decompressed in steps. */
struct consumer {
    const struct reference *r;
    size_t block;        /* the number of the next block */
    uint64_t bit;        /* the bit of the input where the next run has to start */
    size_t at;           /* bytes of output so far */
    size_t member_start; /* the member's output starts with this byte */
    bool has_stopped;    /* a header or trailer is bad, or the output is too long */
};

/* The bits between a stored block's header and the next byte may repeat the header, so several
 * starts can be right, of which the GPU takes the last.  Returns the last bit at which the header
 * of the stored block at `bit` can be read, or `bit` if there is no such block. */
static uint64_t last_start(const struct reference *r, uint64_t bit)
{
    const uint64_t last = (bit + 3 + 7) / 8 * 8 - 3;

    for (uint64_t i = bit; i < last + 3; i++)
        if (i / 8 >= r->in_len || (r->in[i / 8] >> i % 8 & 1) != 0)
            return bit;
    return last;
}

/* Moves the consumer to the end of a run's blocks.  Returns false if zlib has stopped before that
 * end. */
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
    /* zlib accepts all blocks of a run, unless zlib has stopped before them. */
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

/* Compares the CRCs of an output buffer's parts.  Each run must start with a new part. */
static void check_parts(const struct gpu_inflate_output *o, const uint8_t *bytes)
{
    uint64_t at = 0, run_end = 0;
    size_t run = 0;

    for (size_t i = 0; i < o->part_count; i++) {
        const size_t len = (size_t)(o->parts[i].end - at);

        while (run < o->count && run_end <= at)
            run_end += o->runs[run++].length;
        REQUIRE(o->parts[i].end > at && len <= GPU_INFLATE_PART && o->parts[i].end <= run_end);
        REQUIRE(o->parts[i].crc == crc32(0, bytes + at, (uInt)len));
        at = o->parts[i].end;
    }
    REQUIRE(at == o->length);
}

/* Takes all output from an output buffer. */
static void take_output(struct gpu_inflate *g, struct consumer *c, unsigned output,
                        const struct gpu_inflate_output *o)
{
    uint8_t *const bytes = unit_need(malloc(o->length > 0 ? (size_t)o->length : 1));
    char error[GPU_ERROR_SIZE] = "";
    uint64_t at = 0;

    for (size_t n; at < o->length; at += n) {
        /* The sizes are odd, so that slices start anywhere. */
        const size_t left = (size_t)(o->length - at), next = left < 200006 ? 0 : 100003;

        n = left < 100003 ? left : 100003;
        memcpy(bytes + at,
               unit_need((void *)(uintptr_t)gpu_inflate_take(g, output, at, n, next, error)), n);
    }
    check_parts(o, bytes);
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
 * buffer's length, or 0 if the input ends before this buffer. */
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

/* Decodes an input buffer, and takes the outputs.  Takes each output only after the next output was
 * made, as a slow consumer does. */
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
 * the same member.  Returns a consumer at the start of that block. */
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
        /* Load the next buffer before this one is decoded, as the pipeline's loader does. */
        const size_t next_len = load(g, r, first, i + 1);

        done = decode_input(g, &c, (unsigned)(i % GPU_INFLATE_INPUTS),
                            first + i * gpu_inflate_batch_size(g), len, result);
        if (done != GPU_INFLATE_DONE || gpu_inflate_has_ended(g))
            break;
        len = next_len;
    }
    result->is_stepped = done == GPU_INFLATE_DONE && !c.has_stopped && gpu_inflate_has_ended(g);
    result->step_length = c.at - began;
    /* If the GPU has left nothing to the CPU, it must have found the end of a good file. */
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
    const unsigned some = choice->calls & FUZZ_GPU_CALLS, calls = some != 0 ? some : FUZZ_GPU_CALLS;
    unsigned setting = choice->setting % FUZZ_GPU_SETTINGS;
    size_t ends[MEMBERS_MAX];
    struct bytes gz = {0};
    struct reference r;

    *result = (struct fuzz_gpu_result){0};
    if (calls & FUZZ_GPU_MANY)
        try_many(choice, data, len, result);
    if (form == FUZZ_GPU_FILE)
        add(&gz, data, len);
    else
        add_streams(&gz, form == FUZZ_GPU_BGZF ? AS_BGZF : AS_GZIP, form, data, len, ends);
    while (setting > 0 && gz.len > BATCHES_MAX * settings[setting].batch)
        setting--;
    /* Memory of exactly this size lets a sanitizer see reads past the end. */
    gz.data = unit_need(realloc(gz.data, gz.len > 0 ? gz.len : 1));
    read_all(&r, gz.data, gz.len, true);
    result->is_good = r.end == GOOD;
    if (calls & FUZZ_GPU_WHOLE)
        try_whole(choice, setting, &r, result);
    if (calls & FUZZ_GPU_STEPS)
        try_steps(choice, setting, &r, result);
    if (calls & FUZZ_GPU_NEW)
        try_new(choice, setting, &r, result);
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
