/*
 * test_bitwriter.c - the bit writer writes the same bytes as a simple reference
 *
 * The reference keeps each bit in a byte of its own.  The bit writer and the reference get the same
 * random values, of all allowed widths.  Flushes are as rare as allowed, or more frequent.
 */
#include "config.h"

#include <string.h>

#include "huffman/bitwriter.h"
#include "tests/unit/unit.h"

#define MAX_BYTES 4096
#define CANARY 0xa5

/* The bits written so far, one in each element. */
struct reference {
    uint8_t bits[8 * MAX_BYTES];
    size_t count;
};

static struct reference ref;
static uint8_t out[MAX_BYTES + 64];

static void start(struct bitwriter *w)
{
    memset(out, CANARY, sizeof(out));
    ref.count = 0;
    w->next = out;
    w->bits = 0;
    w->count = 0;
}

static void put(struct bitwriter *w, uint64_t value, unsigned count)
{
    bits_put(w, value, count);
    for (unsigned i = 0; i < count; i++)
        ref.bits[ref.count++] = value >> i & 1;
}

/* Checks the state after a flush: all whole bytes are written, the other bits are pending, and no
 * byte past the slack has changed. */
static void check_flushed(const struct bitwriter *w)
{
    size_t bytes = ref.count / 8;
    uint64_t pending = 0;

    if (!CHECK_EQ(w->next - out, bytes))
        return;
    for (size_t i = 0; i < bytes; i++) {
        unsigned byte = 0;

        for (unsigned bit = 0; bit < 8; bit++)
            byte |= (unsigned)ref.bits[8 * i + bit] << bit;
        CHECK_EQ(out[i], byte);
    }
    CHECK_EQ(w->count, ref.count % 8);
    for (unsigned bit = 0; bit < ref.count % 8; bit++)
        pending |= (uint64_t)ref.bits[8 * bytes + bit] << bit;
    CHECK_EQ(w->bits, pending);
    for (size_t i = bytes + BITWRITER_SLACK; i < sizeof(out); i++)
        CHECK_EQ(out[i], CANARY);
}

static void align(struct bitwriter *w)
{
    bits_align(w);
    while (ref.count % 8 != 0)
        ref.bits[ref.count++] = 0;
    check_flushed(w);
    CHECK_EQ(w->count, 0);
}

/* Returns a value of `count` bits: random, all ones or all zeros. */
static uint64_t random_value(uint64_t *state, unsigned count)
{
    uint64_t all = count == 0 ? 0 : UINT64_MAX >> (64 - count);

    switch (unit_below(state, 4)) {
    case 0:
        return all;
    case 1:
        return 0;
    default:
        return unit_rand(state) & all;
    }
}

static void random_puts(void)
{
    uint64_t state = 1;

    for (unsigned round = 0; round < 200; round++) {
        unsigned widest = 1 + (unsigned)unit_below(&state, BITWRITER_ROOM);
        size_t bytes = 1 + unit_below(&state, 600);
        struct bitwriter w;
        unsigned room = BITWRITER_ROOM;

        start(&w);
        while (ref.count < 8 * bytes) {
            unsigned count = (unsigned)unit_below(&state, widest + 1);

            if (count > room) {
                bits_flush(&w);
                room = BITWRITER_ROOM;
            }
            put(&w, random_value(&state, count), count);
            room -= count;
            if (unit_below(&state, 16) == 0) {
                bits_flush(&w);
                room = BITWRITER_ROOM;
            }
            if (unit_below(&state, 64) == 0) {
                bits_flush(&w);
                align(&w);
                room = BITWRITER_ROOM;
            }
        }
        bits_flush(&w);
        check_flushed(&w);
        align(&w);
    }
}

/* Puts values of every allowed width, from 0 bits on, after any number of pending bits. */
static void every_width(void)
{
    for (unsigned pending = 0; pending < 8; pending++) {
        for (unsigned count = 0; count <= BITWRITER_ROOM; count++) {
            struct bitwriter w;

            start(&w);
            put(&w, (1u << pending) - 1, pending);
            bits_flush(&w);
            check_flushed(&w);
            put(&w, count == 0 ? 0 : UINT64_MAX >> (64 - count), count);
            bits_flush(&w);
            check_flushed(&w);
            put(&w, 1, 1);
            bits_flush(&w);
            check_flushed(&w);
        }
    }
}

/* Aligning also flushes, so aligning must work after the largest number of bits that may be put
 * before a flush. */
static void align_every_width(void)
{
    for (unsigned pending = 0; pending < 8; pending++) {
        for (unsigned count = 0; count <= BITWRITER_ROOM; count++) {
            struct bitwriter w;

            start(&w);
            put(&w, (1u << pending) - 1, pending);
            bits_flush(&w);
            put(&w, count == 0 ? 0 : UINT64_MAX >> (64 - count), count);
            align(&w);
            put(&w, 5, 3);
            align(&w);
        }
    }
}

/* Flushing or aligning twice, or with no pending bits, adds nothing. */
static void nothing_pending(void)
{
    struct bitwriter w;

    start(&w);
    bits_flush(&w);
    check_flushed(&w);
    align(&w);
    put(&w, 0x1ff, 9);
    bits_flush(&w);
    bits_flush(&w);
    check_flushed(&w);
    align(&w);
    align(&w);
    CHECK_EQ(w.next - out, 2);
}

int main(void)
{
    RUN(random_puts);
    RUN(every_width);
    RUN(align_every_width);
    RUN(nothing_pending);
    return unit_done();
}
