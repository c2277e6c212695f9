/*
 * raw.c - decodes raw DEFLATE, with ISA-L if it can be loaded, else with zlib (raw.h)
 *
 * A back end turns raw DEFLATE (RFC 1951) into bytes, and does nothing else.  There are two back
 * ends: zlib's inflate, and ISA-L's isal_inflate, which is several times faster.  Users must not
 * notice which back end is used.  So with ISA-L, this file accepts the same data as with zlib, and
 * makes the same bytes of bad data before the error.  ISA-L alone would differ from zlib in three
 * cases:
 *
 *   - ISA-L accepts codes that are not complete.  So each block's header is checked before ISA-L
 *     sees it (inflate/blockheader.h).  For this, ISA-L has to stop at the end of each block, but
 *     it stops only at the end of a stream.  So the bit that marks the last block is set in each
 *     block that ISA-L gets.  Stored blocks are copied without ISA-L, as there may be many small
 *     ones.
 *   - When ISA-L finds an error, the last bytes before the error may be missing in its output, or
 *     other bytes may follow them.  So the output of that call is dropped, and zlib decodes the
 *     same input again.
 *   - When the input ends inside a block, up to two literals that could be decoded are missing, and
 *     an error after them is not found.  In this case, too, zlib decodes the rest.
 *
 * A back end may take bytes after the end of its data, since ISA-L loads eight bytes at a time into
 * a bit buffer.  The back end tells how many bytes it did not use, and the reading position steps
 * back to the first byte after the data.
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
    bool at_block; /* whether a block starts next */
    unsigned rest; /* if at_block: how many bits of the last byte of input are in the next block */
    uint8_t bits;  /* if at_block: the `rest` bits */
};

static void zlib_ready(struct zlib *zlib)
{
    zlib->at_block = true;
    zlib->rest = zlib->bits = 0;
}

/* At the start of each block, zlib writes to the start of its state.  If these writes cross from
 * one page to another, empty blocks take twice as long.  So memory for zlib starts at a multiple of
 * this number of bytes. */
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

/* Like zlib_open, but also makes zlib allocate its window now.  By itself, zlib would do so only
 * after making some output. */
static bool zlib_open_whole(struct zlib *zlib)
{
    /* A stored block of one byte, which is not the last block. */
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

/* Gives zlib the bits of *byte above the lowest `skip`; gives none if skip is 0. */
static void give_bits(struct zlib *zlib, const uint8_t *byte, unsigned skip)
{
    zlib->rest = skip != 0 ? 8 - skip : 0;
    zlib->bits = skip != 0 ? (uint8_t)(*byte >> skip) : 0;
    if (skip != 0)
        inflatePrime(&zlib->z, (int)zlib->rest, zlib->bits);
}

/* inf_start with zlib. */
static bool zlib_start(struct zlib *zlib, uint8_t byte, unsigned skip, const uint8_t *window,
                       size_t len)
{
    give_bits(zlib, &byte, skip);
    return len == 0 || inflateSetDictionary(&zlib->z, window, (uInt)len) == Z_OK;
}

/* Decodes the input up to in[end) or, if `stops`, only up to the end of a block. */
static enum inf_result zlib_call(struct zlib *zlib, struct inf_io *io, size_t end, bool stops)
{
    z_stream *const z = &zlib->z;

    z->next_in = (uint8_t *)io->in + io->used; /* never written to; const only with ZLIB_CONST */
    z->avail_in = (uInt)((ptrdiff_t)end - io->used);
    z->next_out = io->out + io->made;
    z->avail_out = (uInt)(io->out_len - io->made);
    int ret = inflate(z, stops ? Z_BLOCK : Z_NO_FLUSH);
    /* zlib stops after the final block, too.  It says only in the next call that the data ends. */
    if (stops && ret == Z_OK && (z->data_type & (128 | 64)) == (128 | 64))
        ret = inflate(z, Z_BLOCK);
    io->used = (ptrdiff_t)(end - z->avail_in);
    io->made = io->out_len - z->avail_out;
    zlib->at_block = false;
    switch (ret) {
    case Z_OK:
    case Z_BUF_ERROR: /* no byte was taken or made, which is no error */
        /* data_type has 128 if zlib has stopped "immediately after decoding an end-of-block code",
         * 64 in the last block, and in its low bits the number of unused bits in the last byte
         * taken. */
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

/* Calls inf_check_block for the next block, whose first `count` bits are in `bits`.  Returns
 * INF_MORE if the header is good. */
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
 * inf_run with zlib.
 *
 * zlib checks the headers of blocks itself.  But if a header's precode has no code at all, zlib
 * takes another bit for each code length before it reports the error, and the input may not have
 * these bits.  So a header is checked before zlib sees it, unless the input is long enough for any
 * header.
 */
static enum inf_result zlib_run(struct zlib *zlib, struct inf_io *io)
{
    /* zlib may decode many blocks in one call up to byte `many` of the input.  All headers that
     * start before this byte are in the input as a whole, and the blocks up to there end before
     * stops_from. */
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
 * ISA-L decodes the start of each call's data into its tmp_out_buffer, after the window that it
 * keeps there, and copies it to the output.  When tmp_out_buffer is full, ISA-L goes on in the
 * output, where it looks back no further than to the start of the call.  tmp_out_buffer is filled
 * up to tmp_out_valid; the bytes before tmp_out_processed were copied to the output.  When a call
 * ends inside a block, ISA-L leaves a window in tmp_out_buffer.  When a call ends at the end of a
 * block, ISA-L believes that the data has ended, and leaves no window.
 *
 * So raw.c has to provide the window for each block, in one of three ways:
 *
 *   - After short blocks, which fit in tmp_out_buffer, the window is still there.
 *   - The window is copied to the start of tmp_out_buffer.
 *   - The window is copied to the end of tmp_out_buffer, as if it had not been copied to the output
 *     yet.  ISA-L copies it to the place where it already is, and decodes the whole block after it,
 *     in the output.  This last way makes blocks of 30 to 100 KB about 1 % faster.
 */
enum {
    WINDOW = ISAL_DEF_HIST_SIZE,
    /* When tmp_out_buffer has more bytes than this, the window is copied to its start.  With a
     * larger value, the window is copied less often after short blocks; with a smaller one, fewer
     * short blocks are decoded in two calls. */
    FULL = WINDOW + WINDOW / 2,
    /* A block that decodes to this many bytes or more is long, and the next block is expected to be
     * long, too. */
    LONG_BLOCK = WINDOW / 2,

    /* ISA-L makes larger tables than zlib, so it takes longer than zlib for a short block: a fixed
     * block of fewer than SHORT_FIXED bytes of input, or another block of fewer than SHORT_OTHER
     * bytes.  After SHORT_RUN short blocks in a row, zlib decodes about SHORT_TURN bytes of input,
     * and then it is ISA-L's turn again.  With a larger SHORT_TURN, ISA-L decodes fewer of the
     * short blocks when there are many.  With a smaller SHORT_TURN, zlib decodes fewer of the long
     * blocks that follow short blocks. */
    SHORT_FIXED = 80,
    SHORT_OTHER = 384,
    SHORT_RUN = 16,
    SHORT_TURN = 16 << 10,
};

_Static_assert(INF_WINDOW == WINDOW, "the caller keeps a window");

struct inf_raw {
    const struct isal *isal;    /* NULL: zlib decodes all data, and use_zlib is always true */
    struct inflate_state state; /* ISA-L's state: 90 KB */
    struct inf_block block;     /* the current block's header */
    bool in_block;              /* the decoder is after the current block's header, and before the
                                 * block's end */
    unsigned stored_left;       /* bytes of a stored block that are still to be copied */
    size_t block_len;           /* bytes that ISA-L has decoded from its current or last block */
    size_t block_bits;          /* bits of input that the block_len bytes took */
    unsigned short_run;         /* short blocks in a row, so far */
    bool replay;                /* whether the next call copies the window to the output again */

    /* The header of the block that ISA-L decodes, kept for zlib. */
    uint8_t header[INF_BLOCK_HEADER_MAX + 1];
    unsigned header_skip; /* bits of the first byte that precede the header */

    bool use_zlib;  /* zlib decodes the rest of the data or, with is_turn, until its turn ends */
    bool is_turn;   /* zlib has a turn */
    ptrdiff_t turn; /* about how many bytes of input remain in the turn */
    bool has_zlib;  /* zlib is open */
    struct zlib zlib;
};

/* Makes ISA-L ready for data. */
static void begin(struct inf_raw *raw)
{
    raw->isal->inflate_init(&raw->state);
    raw->in_block = false;
    raw->block_len = 0;
    raw->replay = false;
    raw->use_zlib = raw->is_turn = false;
}

/* Makes ISA-L ready for a block that starts after the lowest `skip` bits of a byte. */
static void begin_at(struct inf_raw *raw, uint8_t byte, unsigned skip)
{
    begin(raw);
    if (skip > 0) {
        raw->state.read_in = (uint64_t)byte >> skip;
        raw->state.read_in_length = 8 - (int32_t)skip;
    }
    /* Mark tmp_out_buffer as full, so that the next call first copies the window to its start. */
    raw->state.tmp_out_processed = raw->state.tmp_out_valid = 2 * WINDOW;
}

static void raw_close(struct inf_raw *raw)
{
    if (raw->has_zlib)
        inflateEnd(&raw->zlib.z);
}

/* Makes zlib ready for data that follows the `window` bytes before `end`.  Returns false if memory
 * is short. */
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
    /* After many short members in a row, zlib gets a turn, as it does after many short blocks. */
    const ptrdiff_t turn = raw->is_turn ? raw->turn : raw->short_run >= SHORT_RUN ? SHORT_TURN : 0;
    begin(raw);
    raw->use_zlib = raw->is_turn = turn > 0 && open_zlib(raw, NULL, 0);
    raw->turn = turn;
}

void inf_decide_as(struct inf_raw *raw, const struct inf_raw *other)
{
    raw->short_run = other->short_run;
    raw->is_turn = other->is_turn;
    raw->turn = other->turn;
}

/* How many bytes the data may refer back from the next byte of output. */
static size_t window_of(const struct inf_io *io)
{
    const size_t all = io->window + io->made;
    return all < WINDOW ? all : WINDOW;
}

/* The place up to which ISA-L has decoded the input, in bits from io->in - INF_BACK on.  The bits
 * in ISA-L's bit buffer are not decoded yet; they are the last bits before io->used. */
static size_t place_of(const struct inflate_state *state, const struct inf_io *io)
{
    return 8 * (size_t)(io->used + (ptrdiff_t)INF_BACK) - (size_t)state->read_in_length;
}

/* Sets io->used to the first byte boundary at or after the place. */
static void go_to(struct inf_io *io, size_t place)
{
    io->used = (ptrdiff_t)((place + 7) / 8) - (ptrdiff_t)INF_BACK;
}

/*
 * Hands the rest of the data to zlib: the input from `place` on, which is in a block after its
 * header, and the output from io->made on.
 *
 * zlib cannot start inside a block.  So it gets the block's header again, and then the bits from
 * `place` on instead of those that follow the header.
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
    z->next_out = io->out; /* nothing is written, as a header has no data */
    z->avail_out = 0;
    inflate(z, Z_TREES);
    if ((z->data_type & 256) == 0) /* not "immediately after decoding a block header" */
        return INF_BAD;
    inflatePrime(z, -1, 0); /* drop the bits after the header */

    go_to(io, place);
    give_bits(&raw->zlib, io->in + io->used - 1, place % 8);
    return INF_MORE;
}

/* Starts a turn of zlib's, after many short blocks.  If memory is short, ISA-L goes on. */
static void begin_turn(struct inf_raw *raw, struct inf_io *io)
{
    const size_t place = place_of(&raw->state, io);

    raw->short_run = SHORT_RUN - 1; /* so that one more short block ends ISA-L's next turn */
    raw->use_zlib = raw->is_turn = open_zlib(raw, io->out + io->made, window_of(io));
    if (!raw->use_zlib)
        return;
    raw->turn = SHORT_TURN;
    go_to(io, place);
    give_bits(&raw->zlib, io->in + io->used - 1, place % 8);
}

/* Decodes in zlib's turn, which ends at the end of a block.  Then it is ISA-L's turn; after one
 * more short block, zlib gets another turn. */
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

/* The number of bytes in tmp_out_buffer that are not in the output yet. */
static size_t pending(const struct inflate_state *state)
{
    return (size_t)(state->tmp_out_valid - state->tmp_out_processed);
}

/* Copies the pending bytes to the output, as far as there is room.  Returns false if some are
 * left. */
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

/* Copies the window to the end of tmp_out_buffer, from where ISA-L will copy it to the output
 * again.  The data so far must have a whole window. */
static void replay_window(struct inf_raw *raw, const struct inf_io *io)
{
    memcpy(raw->state.tmp_out_buffer + WINDOW, io->out + io->made - WINDOW, WINDOW);
    raw->state.tmp_out_processed = WINDOW;
    raw->state.tmp_out_valid = 2 * WINDOW;
    raw->replay = true;
}

/* Checks the header of the next block, and prepares ISA-L for the block unless it is stored. */
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
    /* Tell ISA-L that the block is the last one, so that it stops at the block's end. */
    if (state->read_in_length == 0) {
        state->read_in = io->in[io->used++];
        state->read_in_length = 8;
    }
    state->read_in |= 1;
    state->block_state = ISAL_BLOCK_NEW_HDR;
    return INF_MORE;
}

/* Copies a stored block to the output, as far as the input has its bytes and the output has room.
 * Copies the same bytes to tmp_out_buffer, too, so that the window there stays complete, unless
 * tmp_out_buffer would then have more than FULL bytes. */
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
        valid = 2 * WINDOW; /* marks that tmp_out_buffer has no window any more */
    }
    state->tmp_out_processed = state->tmp_out_valid = (int32_t)valid;
    memcpy(io->out + io->made, io->in + io->used, n);
    io->used += (ptrdiff_t)n;
    io->made += n;
    raw->stored_left -= (unsigned)n;
    return raw->stored_left == 0 ? INF_END : INF_MORE;
}

/*
 * Prepares tmp_out_buffer for a call of ISA-L, and returns how many new bytes the call may put out;
 * 0 if the output is full.
 *
 * Data that a call decodes directly into the output can refer back only to bytes that the same call
 * has put out.  So the call must put out a whole window first.  A call does so if tmp_out_processed
 * is at most WINDOW, as it is after a call that has ended inside a block.  After short blocks,
 * tmp_out_processed may be more than WINDOW.  If it is, the call gets less room than is left in
 * tmp_out_buffer, so that it ends before it would decode directly into the output.
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

/* Decodes the block with ISA-L. */
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
            io->made += old; /* the bytes decoded before the call */
            return hand_over(raw, io, place);
        }
        const size_t made = (size_t)(state->next_out - out) - again;
        io->made += made;
        io->used = (ptrdiff_t)(io->in_len - state->avail_in);
        raw->block_len += made;
        raw->block_bits += place_of(state, io) - before;
        raw->replay = false;
        if (!block_ended(state) && !limited) {
            /* The output is full, or the input is used up. */
            if (io->in_ends && io->made < io->out_len)
                return hand_over(raw, io, place_of(state, io));
            return INF_MORE;
        }
    }
    return drain(state, io) ? INF_END : INF_MORE;
}

/* Updates the count of short blocks at the end of a block.  An empty stored block counts, because
 * zlib passes over it faster than copy_stored does.  A stored block of a few bytes does not change
 * the count, because zlib and copy_stored copy it equally fast. */
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

/* inf_run with ISA-L.  Returns INF_MORE with use_zlib set if zlib has to go on. */
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

    /* If a back end returns INF_MORE and use_zlib has changed, the other back end goes on. */
    do {
        by_zlib = raw->use_zlib;
        result = !by_zlib       ? isal_run(raw, io)
                 : raw->is_turn ? run_turn(raw, io)
                                : zlib_run(&raw->zlib, io);
    } while (result == INF_MORE && raw->use_zlib != by_zlib);
    return result;
}

/* Decodes the data of inflate/trial.h to out[0..INF_TRIAL_MADE], and returns whether the result is
 * right. */
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

/* Finds out whether this ISA-L does what raw.c expects.  First fills ISA-L's state with a pattern,
 * which inflate_init then replaces in some fields.  If the state has another layout in this library
 * than in the headers, the fields are not where raw.c looks for them, and raw.c finds the pattern
 * there. */
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

void inf_decide_as(struct inf_raw *raw, const struct inf_raw *other)
{
    (void)raw;
    (void)other;
}

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
