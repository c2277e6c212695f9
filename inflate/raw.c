/*
 * raw.c - raw DEFLATE, by ISA-L where it can be loaded, else by zlib
 *
 * A back end only turns raw DEFLATE (RFC 1951) into bytes.  There are two: zlib's inflate, and
 * ISA-L's isal_inflate, which is several times faster.  Which one is used must not show, and zlib
 * is the measure: the same data is good, and of bad data the same bytes come out before the error.
 * ISA-L falls short of that in three ways, and zlib is there to help:
 *
 *   - It accepts codes that are not complete.  So each block's header is checked before ISA-L sees
 *     it (inflate/blockheader.h).  ISA-L stops only at the end of a stream; it is made to stop at
 *     the end of each block by setting the bit that says the block is the last.  Stored blocks are
 *     copied without it, as there may be many small ones.
 *   - When it finds an error, what it wrote may lack the last bytes before the error, or have
 *     others behind them.  So what it did in that call is forgotten, and zlib goes on from there.
 *   - When the input ends inside a block, up to two literals that could be decoded are missing, and
 *     an error behind them.  There, too, zlib goes on.
 *
 * A back end may have taken bytes beyond the end of its data: ISA-L loads eight at a time into a
 * bit buffer.  It tells how many they are, and the reading position steps back to the first byte
 * after the data.
 */
#include "config.h"

#include "inflate/raw.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/isal.h"
#include "inflate/trial.h"

/* --- zlib ----------------------------------------------------------------------------------- */

struct zlib {
    z_stream z;
    bool at_block; /* a block is to start, */
    unsigned rest; /* before which so many bits of the last byte of input are left, */
    uint8_t bits;  /* which are these */
};

static void zlib_ready(struct zlib *zlib)
{
    zlib->at_block = true;
    zlib->rest = zlib->bits = 0;
}

/* What zlib writes at the start of each block, at the start of its state, must not cross from one page to
 * another: empty blocks take twice as long then.  So memory for it starts at a multiple of this. */
enum { ALIGNMENT = 256 };

static void *zlib_allocate(void *ctx, unsigned count, unsigned size)
{
    const size_t all = (size_t)count * size;

    (void)ctx;
    return aligned_alloc(ALIGNMENT, (all + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

static void zlib_free(void *ctx, void *bytes)
{
    (void)ctx;
    free(bytes);
}

static bool zlib_open(struct zlib *zlib)
{
    *zlib = (struct zlib){.z = {.zalloc = zlib_allocate, .zfree = zlib_free}};
    zlib_ready(zlib);
    return inflateInit2(&zlib->z, -MAX_WBITS) == Z_OK; /* negative: no wrapper */
}

static void zlib_reset(struct zlib *zlib)
{
    inflateReset(&zlib->z);
    zlib_ready(zlib);
}

/* The same, with the memory for a window, which zlib would take only when it has made some output. */
static bool zlib_open_whole(struct zlib *zlib)
{
    /* A stored block of one byte, which is not the last. */
    static const uint8_t block[] = {0, 1, 0, 0xfe, 0xff, 0};
    z_stream *const z = &zlib->z;
    uint8_t byte;

    if (!zlib_open(zlib))
        return false;
    z->next_in = (uint8_t *)block; /* never written to; const only with ZLIB_CONST */
    z->avail_in = sizeof block;
    z->next_out = &byte;
    z->avail_out = 1;
    if (inflate(z, Z_NO_FLUSH) == Z_OK && inflateReset(z) == Z_OK)
        return true;
    inflateEnd(z);
    return false;
}

/* Gives zlib the bits of a byte but the lowest `skip`, if that is not a whole byte of input. */
static void give_bits(struct zlib *zlib, const uint8_t *byte, unsigned skip)
{
    zlib->rest = skip != 0 ? 8 - skip : 0;
    zlib->bits = skip != 0 ? (uint8_t)(*byte >> skip) : 0;
    if (skip != 0)
        inflatePrime(&zlib->z, (int)zlib->rest, zlib->bits);
}

/* inf_start by zlib. */
static bool zlib_start(struct zlib *zlib, uint8_t byte, unsigned skip, const uint8_t *window,
                       size_t len)
{
    give_bits(zlib, &byte, skip);
    return len == 0 || inflateSetDictionary(&zlib->z, window, (uInt)len) == Z_OK;
}

/* Decodes in[..end), up to the end of a block if `stops`. */
static enum inf_result zlib_call(struct zlib *zlib, struct inf_io *io, size_t end, bool stops)
{
    z_stream *const z = &zlib->z;

    z->next_in = (uint8_t *)io->in + io->used; /* never written to; const only with ZLIB_CONST */
    z->avail_in = (uInt)((ptrdiff_t)end - io->used);
    z->next_out = io->out + io->made;
    z->avail_out = (uInt)(io->out_len - io->made);
    int ret = inflate(z, stops ? Z_BLOCK : Z_NO_FLUSH);
    /* After the final block, too, it stops before it says that the data ends. */
    if (stops && ret == Z_OK && (z->data_type & (128 | 64)) == (128 | 64))
        ret = inflate(z, Z_BLOCK);
    io->used = (ptrdiff_t)(end - z->avail_in);
    io->made = io->out_len - z->avail_out;
    zlib->at_block = false;
    switch (ret) {
    case Z_OK:
    case Z_BUF_ERROR: /* no byte was taken or made: no error */
        /* data_type: 128 "if inflate() returned immediately after decoding an end-of-block code",
         * 64 in the last block, and the number of unused bits in the last byte taken. */
        if (stops && (z->data_type & (128 | 64)) == 128) {
            zlib->at_block = true;
            zlib->rest = (unsigned)z->data_type & 7;
            zlib->bits = (uint8_t)(io->in[io->used - 1] >> (8 - zlib->rest));
            io->place = 8 * (size_t)(io->used + (ptrdiff_t)INF_BACK) - zlib->rest;
            return INF_BLOCK;
        }
        return INF_MORE;
    case Z_STREAM_END:
        return INF_END;
    case Z_MEM_ERROR:
        return INF_NO_MEMORY;
    default:
        return INF_BAD;
    }
}

static size_t in_left(const struct inf_io *io)
{
    return (size_t)((ptrdiff_t)io->in_len - io->used);
}

/* inf_check_block for the next block, whose first bits are those. */
static enum inf_result check_block(const struct inf_io *io, uint64_t bits, unsigned count,
                                   struct inf_block *block)
{
    switch (inf_check_block(bits, count, io->in + io->used, in_left(io), block)) {
    case INF_BLOCK_CUT:
        return INF_CUT;
    case INF_BLOCK_BAD:
        return INF_BAD;
    case INF_BLOCK_GOOD:
        break;
    }
    return INF_MORE;
}

/*
 * inf_run by zlib.
 *
 * zlib checks the headers of blocks itself.  But of one without any code it takes another bit for
 * each code length, which the input may not have, before it says so.  A header of which some may be
 * missing is checked before zlib sees it, therefore.
 */
static enum inf_result zlib_run(struct zlib *zlib, struct inf_io *io)
{
    /* Up to here zlib decodes many blocks in one call: all of their headers are in the input, and
     * they end before stops_from. */
    ptrdiff_t many = (ptrdiff_t)io->in_len - (ptrdiff_t)INF_BLOCK_HEADER_MAX;
    const ptrdiff_t stop = (ptrdiff_t)(io->stops_from / 8) - 1 - (ptrdiff_t)INF_BACK;
    enum inf_result result;
    struct inf_block block;

    if (io->stops && stop < many)
        many = stop;
    do {
        result = zlib->at_block && in_left(io) < INF_BLOCK_HEADER_MAX
                     ? check_block(io, zlib->bits, zlib->rest, &block)
                     : INF_MORE;
        if (result == INF_MORE && io->used < many)
            result = zlib_call(zlib, io, (size_t)many, false);
        if (result != INF_MORE || io->made == io->out_len)
            return result;
        result = zlib_call(zlib, io, io->in_len, true);
    } while (result == INF_BLOCK && !(io->stops && io->place >= io->stops_from));
    return result;
}

#ifdef HAVE_ISAL

/* --- ISA-L ---------------------------------------------------------------------------------- */

/*
 * ISA-L decodes the start of each call's data into its tmp_out_buffer, behind the window that it
 * keeps there, and copies it to the output.  When tmp_out_buffer is full, it goes on in the output,
 * where it looks back no further than to the start of the call.  tmp_out_buffer is filled up to
 * tmp_out_valid, and the bytes before tmp_out_processed have been put out.  When a call ends inside
 * a block, ISA-L leaves a window in tmp_out_buffer.  When a call ends at the end of a block, which
 * ISA-L takes for the end of the data, it does not.
 *
 * So the window has to be given to ISA-L for each block, in one of three ways:
 *
 *   - After short blocks, which fit in tmp_out_buffer, it is still there.
 *   - It is copied to the start of tmp_out_buffer.
 *   - It is copied to the end of tmp_out_buffer, as if it had not been put out.  ISA-L puts it
 *     where it stands already, and decodes all of the block behind it, in the output.  That makes
 *     blocks of 30 to 100 KB about 1 % faster.
 */
enum {
    WINDOW = ISAL_DEF_HIST_SIZE,
    /* How full tmp_out_buffer gets before the window is copied to its start.  With more, that is
     * done less often after short blocks; with less, fewer of them are decoded in two calls. */
    FULL = WINDOW + WINDOW / 2,
    /* A block of so many bytes is a long one, and the next is taken to be like it. */
    LONG_BLOCK = WINDOW / 2,

    /* ISA-L makes larger tables than zlib, so blocks of fewer bytes of input take it longer.  After
     * SHORT_RUN of these in a row, zlib decodes about SHORT_TURN bytes of input, then it is ISA-L's
     * turn again.  With longer turns fewer blocks between them are ISA-L's; with shorter ones, less
     * is left to zlib where blocks become longer. */
    SHORT_FIXED = 80,
    SHORT_OTHER = 384,
    SHORT_RUN = 16,
    SHORT_TURN = 16 << 10,
};

_Static_assert(INF_WINDOW == WINDOW, "the caller keeps a window");

struct inf_raw {
    const struct isal *isal;    /* NULL: zlib decodes all data, and use_zlib is always true */
    struct inflate_state state; /* 90 KB */
    struct inf_block block;
    bool in_block;        /* behind that block's header, and its end has not been reached */
    unsigned stored_left; /* bytes of a stored block still to be copied */
    size_t block_len;     /* bytes decoded from the last other block, */
    size_t block_bits;    /* and bits of its input */
    unsigned short_run;   /* blocks in a row that were short */
    bool replay;          /* the next call puts the window out again */

    /* The header of a block that ISA-L decodes, for zlib. */
    uint8_t header[INF_BLOCK_HEADER_MAX + 1];
    unsigned header_skip; /* bits of its first byte that stand before the header */

    bool use_zlib; /* it decodes the rest of the data, */
    bool is_turn;  /* or only about so many bytes more of the input */
    ptrdiff_t turn;
    bool has_zlib; /* it is open */
    struct zlib zlib;
};

static void begin(struct inf_raw *raw)
{
    raw->isal->inflate_init(&raw->state);
    raw->in_block = false;
    raw->block_len = 0;
    raw->replay = false;
    raw->use_zlib = raw->is_turn = false;
}

/* Begins where a block starts behind the lowest `skip` bits of a byte. */
static void begin_at(struct inf_raw *raw, uint8_t byte, unsigned skip)
{
    begin(raw);
    if (skip > 0) {
        raw->state.read_in = (uint64_t)byte >> skip;
        raw->state.read_in_length = 8 - (int32_t)skip;
    }
    /* There is no window in tmp_out_buffer. */
    raw->state.tmp_out_processed = raw->state.tmp_out_valid = 2 * WINDOW;
}

static void raw_close(struct inf_raw *raw)
{
    if (raw->has_zlib)
        inflateEnd(&raw->zlib.z);
}

/* Has zlib ready for data that goes on behind the window that ends there; false if memory is short. */
static bool open_zlib(struct inf_raw *raw, const uint8_t *end, size_t window)
{
    if (raw->has_zlib)
        zlib_reset(&raw->zlib);
    else
        raw->has_zlib = zlib_open_whole(&raw->zlib);
    return raw->has_zlib &&
           (window == 0 || inflateSetDictionary(&raw->zlib.z, end - window, (uInt)window) == Z_OK);
}

void inf_reset(struct inf_raw *raw)
{
    if (raw->isal == NULL) {
        zlib_reset(&raw->zlib);
        return;
    }
    /* A great many short members are like as many short blocks. */
    const ptrdiff_t turn = raw->is_turn ? raw->turn : raw->short_run >= SHORT_RUN ? SHORT_TURN : 0;
    begin(raw);
    raw->use_zlib = raw->is_turn = turn > 0 && open_zlib(raw, NULL, 0);
    raw->turn = turn;
}

/* How many bytes of the data stand before the next byte of output and may be referred to. */
static size_t window_of(const struct inf_io *io)
{
    const size_t all = io->window + io->made;
    return all < WINDOW ? all : WINDOW;
}

/* Where the input goes on that ISA-L has not decoded, in bits from io->in - INF_BACK on.  The
 * bits in its bit buffer stand in the input, too, just before what it has not taken. */
static size_t place_of(const struct inflate_state *state, const struct inf_io *io)
{
    return 8 * (size_t)(io->used + (ptrdiff_t)INF_BACK) - (size_t)state->read_in_length;
}

/* Goes to the first whole byte there. */
static void go_to(struct inf_io *io, size_t place)
{
    io->used = (ptrdiff_t)((place + 7) / 8) - (ptrdiff_t)INF_BACK;
}

/*
 * Has zlib decode the rest of the data: the input from that place on, which is in the block but not
 * in its header, and the output from io->made on.
 *
 * zlib cannot start inside a block.  So it gets the block's header again, and then the bits from
 * the place on instead of those behind the header.
 */
static enum inf_result hand_over(struct inf_raw *raw, struct inf_io *io, size_t place)
{
    const bool part = raw->header_skip != 0;
    z_stream *z = &raw->zlib.z;

    raw->use_zlib = open_zlib(raw, io->out + io->made, window_of(io));
    if (!raw->use_zlib)
        return INF_NO_MEMORY;
    raw->zlib.at_block = false;
    give_bits(&raw->zlib, raw->header, raw->header_skip);
    z->next_in = raw->header + part;
    z->avail_in = (raw->header_skip + raw->block.header_bits + 7) / 8 - part;
    z->next_out = io->out; /* nothing is written: a header holds no data */
    z->avail_out = 0;
    inflate(z, Z_TREES);
    if ((z->data_type & 256) == 0) /* not "immediately after decoding a block header" */
        return INF_BAD;
    inflatePrime(z, -1, 0); /* forget what is behind it */

    go_to(io, place);
    give_bits(&raw->zlib, io->in + io->used - 1, place % 8);
    return INF_MORE;
}

/* Has zlib decode the next blocks, after many short ones.  Without memory for it, ISA-L goes on. */
static void begin_turn(struct inf_raw *raw, struct inf_io *io)
{
    const size_t place = place_of(&raw->state, io);

    raw->short_run = SHORT_RUN - 1; /* when it is ISA-L's turn again */
    raw->use_zlib = raw->is_turn = open_zlib(raw, io->out + io->made, window_of(io));
    if (!raw->use_zlib)
        return;
    raw->turn = SHORT_TURN;
    go_to(io, place);
    give_bits(&raw->zlib, io->in + io->used - 1, place % 8);
}

/* zlib's turn.  It ends at the end of a block; there ISA-L goes on, and if that finds one more short
 * block, zlib has another turn. */
static enum inf_result run_turn(struct inf_raw *raw, struct inf_io *io)
{
    const size_t end = 8 * (size_t)(io->used + (ptrdiff_t)INF_BACK + raw->turn);
    struct inf_io part = *io;

    part.stops = true;
    if (!io->stops || end < io->stops_from)
        part.stops_from = end;
    const enum inf_result result = zlib_run(&raw->zlib, &part);
    raw->turn = part.used - io->used < raw->turn ? raw->turn - (part.used - io->used) : 0;
    io->used = part.used;
    io->made = part.made;
    io->place = part.place;
    if (result != INF_BLOCK)
        return result;
    if (raw->turn == 0)
        begin_at(raw, io->in[io->used - 1], io->place % 8);
    return io->stops && io->place >= io->stops_from ? INF_BLOCK : INF_MORE;
}

static bool block_ended(const struct inflate_state *state)
{
    return state->block_state == ISAL_BLOCK_INPUT_DONE || state->block_state == ISAL_BLOCK_FINISH;
}

/* Bytes that are in tmp_out_buffer and not yet in the output. */
static size_t pending(const struct inflate_state *state)
{
    return (size_t)(state->tmp_out_valid - state->tmp_out_processed);
}

/* Copies them, as far as there is room.  False: some are left. */
static bool drain(struct inflate_state *state, struct inf_io *io)
{
    const size_t all = pending(state), room = io->out_len - io->made, n = all < room ? all : room;

    memcpy(io->out + io->made, state->tmp_out_buffer + state->tmp_out_processed, n);
    state->tmp_out_processed += (int32_t)n;
    io->made += n;
    return n == all;
}

/* Copies the window from the output to the start of tmp_out_buffer. */
static void copy_window(struct inflate_state *state, const struct inf_io *io)
{
    const size_t window = window_of(io);

    memcpy(state->tmp_out_buffer, io->out + io->made - window, window);
    state->tmp_out_processed = state->tmp_out_valid = (int32_t)window;
}

/* Copies it to the end, to be put out again.  It must be a whole one. */
static void replay_window(struct inf_raw *raw, const struct inf_io *io)
{
    memcpy(raw->state.tmp_out_buffer + WINDOW, io->out + io->made - WINDOW, WINDOW);
    raw->state.tmp_out_processed = WINDOW;
    raw->state.tmp_out_valid = 2 * WINDOW;
    raw->replay = true;
}

/* Checks the header of the next block, and readies ISA-L for the block if it is to decode it. */
static enum inf_result start_block(struct inf_raw *raw, struct inf_io *io)
{
    struct inflate_state *state = &raw->state;
    struct inf_block *block = &raw->block;
    const size_t place = place_of(state, io);
    const enum inf_result result =
        check_block(io, state->read_in, (unsigned)state->read_in_length, block);

    if (result != INF_MORE)
        return result;
    raw->in_block = true;
    raw->block_bits = 0;
    if (block->type == INF_BLOCK_STORED) {
        raw->stored_left = block->stored_len;
        state->read_in = 0;
        state->read_in_length = 0;
        go_to(io, place + block->header_bits);
        return INF_MORE;
    }

    raw->header_skip = place % 8;
    memcpy(raw->header, io->in - INF_BACK + place / 8,
           (raw->header_skip + block->header_bits + 7) / 8);
    if (raw->block_len >= LONG_BLOCK && state->tmp_out_valid > WINDOW)
        replay_window(raw, io);
    raw->block_len = 0;
    /* ISA-L is told that the block is the last, so that it stops at its end. */
    if (state->read_in_length == 0) {
        state->read_in = io->in[io->used++];
        state->read_in_length = 8;
    }
    state->read_in |= 1;
    state->block_state = ISAL_BLOCK_NEW_HDR;
    return INF_MORE;
}

/* Copies what there is of a stored block: to the output and, unless that is full, to
 * tmp_out_buffer, so that a window that is there stays whole. */
static enum inf_result copy_stored(struct inf_raw *raw, struct inf_io *io)
{
    struct inflate_state *state = &raw->state;
    const size_t left = in_left(io), room = io->out_len - io->made;
    size_t n = raw->stored_left, valid = (size_t)state->tmp_out_valid;

    n = n < left ? n : left;
    n = n < room ? n : room;
    if (valid + n <= FULL) {
        memcpy(state->tmp_out_buffer + valid, io->in + io->used, n);
        valid += n;
    } else {
        valid = 2 * WINDOW; /* there is no window */
    }
    state->tmp_out_processed = state->tmp_out_valid = (int32_t)valid;
    memcpy(io->out + io->made, io->in + io->used, n);
    io->used += (ptrdiff_t)n;
    io->made += n;
    raw->stored_left -= (unsigned)n;
    return raw->stored_left == 0 ? INF_END : INF_MORE;
}

/*
 * Readies tmp_out_buffer for a call, and returns how many new bytes the call may put out; 0: the
 * output is full.
 *
 * A call that comes to decode in the output must have put out a window before.  It has if
 * tmp_out_processed is at most WINDOW, as ISA-L leaves it at the end of a call inside a block.
 * After short blocks it may be more.  Then the call gets less room than is left in tmp_out_buffer,
 * so that it ends before.
 */
static size_t room_for_call(struct inf_raw *raw, struct inf_io *io)
{
    struct inflate_state *state = &raw->state;
    const size_t room = io->out_len - io->made;

    if (raw->replay || (state->tmp_out_processed <= WINDOW && pending(state) <= room))
        return room;
    if (!drain(state, io))
        return 0;
    if (state->tmp_out_processed > FULL)
        copy_window(state, io);
    const size_t left = io->out_len - io->made, processed = (size_t)state->tmp_out_processed;
    if (processed <= WINDOW)
        return left;
    const size_t most = 2 * WINDOW - 1 - processed;
    return most < left ? most : left;
}

bool inf_start(struct inf_raw *raw, uint8_t byte, unsigned skip, const uint8_t *window, size_t len)
{
    if (raw->isal == NULL)
        return zlib_start(&raw->zlib, byte, skip, window, len);
    begin_at(raw, byte, skip);
    return true;
}

/* Has ISA-L decode the block. */
static enum inf_result decode_block(struct inf_raw *raw, struct inf_io *io)
{
    struct inflate_state *state = &raw->state;

    while (!block_ended(state)) {
        const size_t room = room_for_call(raw, io);
        if (room == 0)
            return INF_MORE;
        const bool limited = !raw->replay && state->tmp_out_processed > WINDOW;
        const size_t again = raw->replay ? WINDOW : 0, old = pending(state) - again;
        uint8_t *const out = io->out + io->made - again;
        const size_t before = place_of(state, io);
        size_t place = before;
        if (state->block_state == ISAL_BLOCK_NEW_HDR)
            place += raw->block.header_bits;

        state->next_in = (uint8_t *)io->in + io->used; /* never written to */
        state->avail_in = (uint32_t)in_left(io);
        state->next_out = out;
        state->avail_out = (uint32_t)(again + room);
        if (raw->isal->inflate(state) < 0) {
            io->made += old; /* what was decoded before the call, and nothing else */
            return hand_over(raw, io, place);
        }
        const size_t made = (size_t)(state->next_out - out) - again;
        io->made += made;
        io->used = (ptrdiff_t)(io->in_len - state->avail_in);
        raw->block_len += made;
        raw->block_bits += place_of(state, io) - before;
        raw->replay = false;
        if (!block_ended(state) && !limited) {
            /* The output is full, or the input used up. */
            if (io->in_ends && io->made < io->out_len)
                return hand_over(raw, io, place_of(state, io));
            return INF_MORE;
        }
    }
    return drain(state, io) ? INF_END : INF_MORE;
}

/* A block has ended.  Stored blocks of a few bytes are copied as fast here as by zlib, empty ones are
 * not. */
static void count_short(struct inf_raw *raw)
{
    const struct inf_block *block = &raw->block;
    const size_t least = 8 * (size_t)(block->type == INF_BLOCK_FIXED ? SHORT_FIXED : SHORT_OTHER);

    if (block->type != INF_BLOCK_STORED)
        raw->short_run = raw->block_bits < least ? raw->short_run + 1 : 0;
    else if (block->stored_len >= SHORT_OTHER)
        raw->short_run = 0;
    else
        raw->short_run += block->stored_len == 0;
}

/* inf_run by ISA-L, until zlib goes on. */
static enum inf_result isal_run(struct inf_raw *raw, struct inf_io *io)
{
    while (!raw->use_zlib) {
        enum inf_result result = raw->in_block ? INF_MORE : start_block(raw, io);
        if (result != INF_MORE)
            return result;
        result = raw->block.type == INF_BLOCK_STORED ? copy_stored(raw, io) : decode_block(raw, io);
        if (result != INF_END)
            return result;
        raw->in_block = false;
        count_short(raw);
        if (raw->block.final) {
            go_to(io, place_of(&raw->state, io));
            return INF_END;
        }
        io->place = place_of(&raw->state, io);
        if (raw->short_run >= SHORT_RUN)
            begin_turn(raw, io);
        if (io->stops && io->place >= io->stops_from)
            return INF_BLOCK;
    }
    return INF_MORE;
}

enum inf_result inf_run(struct inf_raw *raw, struct inf_io *io)
{
    enum inf_result result = INF_MORE;
    bool by_zlib;

    /* INF_MORE from one that gives way to the other means that the other goes on. */
    do {
        by_zlib = raw->use_zlib;
        result = !by_zlib       ? isal_run(raw, io)
                 : raw->is_turn ? run_turn(raw, io)
                                : zlib_run(&raw->zlib, io);
    } while (result == INF_MORE && raw->use_zlib != by_zlib);
    return result;
}

/* Decodes the data of inflate/trial.h to out[0..INF_TRIAL_MADE]; whether what comes is right. */
static bool decodes_trial(struct inf_raw *raw, uint8_t *out)
{
    uint8_t in[INF_BACK + INF_TRIAL_LEN + INF_BACK] = {0};
    enum inf_result result = INF_MORE;
    size_t at = 0, made = 0;

    memcpy(in + INF_BACK, inf_trial_data, INF_TRIAL_LEN);
    for (unsigned i = 0; i < INF_TRIAL_CALLS && result == INF_MORE; i++) {
        struct inf_io io = {.in = in + INF_BACK + at,
                            .in_len = inf_trial_calls[i].in - at,
                            .out = out + made,
                            .out_len = inf_trial_calls[i].out - made,
                            .window = made < WINDOW ? made : WINDOW};
        result = inf_run(raw, &io);
        at = (size_t)((ptrdiff_t)at + io.used);
        made += io.made;
    }
    return result == INF_END && !raw->use_zlib && at == INF_TRIAL_LEN && made == INF_TRIAL_MADE &&
           raw->isal->crc32_gzip_refl(0, out, made) == INF_TRIAL_CRC;
}

/* Whether that ISA-L does what is expected of it.  If its state were another, fields that it clears would not
 * be where they are sought. */
static enum isal_verdict try_isal(const struct isal *isal, void *ctx)
{
    struct inf_raw *raw = ctx;
    const struct inflate_state *state = &raw->state;
    uint8_t *const out = malloc(INF_TRIAL_MADE + 1);
    bool is_right;

    if (out == NULL)
        return ISAL_UNKNOWN;
    raw->isal = isal;
    memset(&raw->state, 0xa5, offsetof(struct inflate_state, tmp_out_buffer));
    begin(raw);
    is_right = state->read_in == 0 && state->read_in_length == 0 && state->tmp_out_valid == 0 &&
               state->tmp_out_processed == 0 && state->block_state == ISAL_BLOCK_NEW_HDR &&
               decodes_trial(raw, out);
    free(out);
    return is_right ? ISAL_RIGHT : ISAL_WRONG;
}

static bool raw_open(struct inf_raw *raw, bool is_small)
{
    raw->has_zlib = false;
    raw->short_run = 0;
    raw->isal = is_small ? isal_if_tried() : isal_open_inflate(try_isal, raw);
    if (raw->isal != NULL) {
        begin(raw);
        return true;
    }
    if (raw->has_zlib)
        inflateEnd(&raw->zlib.z);
    raw->is_turn = false;
    raw->use_zlib = raw->has_zlib = zlib_open_whole(&raw->zlib);
    return raw->has_zlib;
}

#else /* zlib alone */

struct inf_raw {
    struct zlib zlib;
};

static bool raw_open(struct inf_raw *raw, bool is_small)
{
    (void)is_small;
    return zlib_open_whole(&raw->zlib);
}

void inf_reset(struct inf_raw *raw)
{
    zlib_reset(&raw->zlib);
}

bool inf_start(struct inf_raw *raw, uint8_t byte, unsigned skip, const uint8_t *window, size_t len)
{
    return zlib_start(&raw->zlib, byte, skip, window, len);
}

enum inf_result inf_run(struct inf_raw *raw, struct inf_io *io)
{
    return zlib_run(&raw->zlib, io);
}

static void raw_close(struct inf_raw *raw)
{
    inflateEnd(&raw->zlib.z);
}

#endif

struct inf_raw *inf_open(bool is_small)
{
    struct inf_raw *raw = malloc(sizeof *raw);

    if (raw != NULL && !raw_open(raw, is_small)) {
        free(raw);
        raw = NULL;
    }
    return raw;
}

void inf_close(struct inf_raw *raw)
{
    if (raw != NULL)
        raw_close(raw);
    free(raw);
}
