/*
 * arrays.c - prints test data: arrays of numbers like those from simulations and instruments
 *
 *   bench/arrays counters|field|codes BYTES
 *
 *     counters  int32: the readings of 16 event counters, one reading after another. From one
 *               reading to the next, one time in four a counter keeps its value; otherwise, the
 *               counter rises by a small random number. The largest rise is 1 for some counters,
 *               and up to 128 for others.
 *     field     float32: a field of 512 x 512 points, one time step after another. The values are a
 *               sum of moving waves, with random noise of one part in ten thousand.
 *     codes     uint16: the values of "field", coded as SZ codes them. SZ is a compressor with an
 *               error bound. SZ predicts each value by the Lorenzo predictor. The code is 512 plus
 *               the difference between the value and its prediction, in steps of twice the error
 *               bound.
 *
 * All numbers have the machine's byte order. The last bits of floating-point numbers may differ
 * between machines.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* COUNTERS is the number of event counters. SIDE is the number of points along each side of the
 * field. ERROR_BOUND is the error bound of the codes: with a larger bound, the codes vary less, so
 * they compress better. */
#define COUNTERS 16
#define SIDE 512
#define ERROR_BOUND 1e-3

static uint64_t state = 88172645463325252;

/* Returns the next random number (xorshift64). */
static uint64_t draw(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static void put(const void *bytes, size_t size, uint64_t *left)
{
    const size_t n = size < *left ? size : (size_t)*left;

    if (fwrite(bytes, 1, n, stdout) != n)
        exit(1);
    *left -= n;
}

static void counters(uint64_t left)
{
    int32_t counter[COUNTERS] = {0};

    while (left > 0) {
        for (int i = 0; i < COUNTERS; i++)
            if (draw() % 4 != 0)
                counter[i] += (int32_t)(1 + draw() % (1U << (i % 8)));
        put(counter, sizeof(counter), &left);
    }
}

/* Computes the field at time step `time`. */
static void make_field(float *f, int time)
{
    static double along[2][3][SIDE];

    for (int w = 0; w < 3; w++)
        for (int i = 0; i < SIDE; i++) {
            const double at = 6.283185307179586 * (double)i / SIDE;

            along[0][w][i] = sin((w + 1) * at + 0.05 * (w + 1) * time);
            along[1][w][i] = cos((2 * w + 1) * at - 0.03 * time);
        }
    for (int y = 0; y < SIDE; y++)
        for (int x = 0; x < SIDE; x++) {
            double v = 10;

            for (int w = 0; w < 3; w++)
                v += along[0][w][x] * along[1][w][y] * 3 / (w + 1);
            f[y * SIDE + x] = (float)(v * (1 + 1e-4 * ((double)(draw() % 2048) / 1024 - 1)));
        }
}

static void field(uint64_t left, int as_codes)
{
    static float f[SIDE * SIDE];
    static double known[SIDE * SIDE];
    static uint16_t codes[SIDE * SIDE];

    for (int time = 0; left > 0; time++) {
        make_field(f, time);
        if (!as_codes) {
            put(f, sizeof(f), &left);
            continue;
        }
        for (int y = 0; y < SIDE; y++)
            for (int x = 0; x < SIDE; x++) {
                const int at = y * SIDE + x;
                const double west = x > 0 ? known[at - 1] : 0, north = y > 0 ? known[at - SIDE] : 0;
                const double both = x > 0 && y > 0 ? known[at - SIDE - 1] : 0;
                const double guess = west + north - both;
                const double steps = floor((f[at] - guess) / (2 * ERROR_BOUND) + 0.5);

                /* If the value is too far from its prediction, the code is 0. SZ itself would also
                 * store the value, but elsewhere. */
                if (steps > -512 && steps < 512) {
                    codes[at] = (uint16_t)(512 + (int)steps);
                    known[at] = guess + steps * 2 * ERROR_BOUND;
                } else {
                    codes[at] = 0;
                    known[at] = f[at];
                }
            }
        put(codes, sizeof(codes), &left);
    }
}

int main(int argc, char **argv)
{
    uint64_t size;

    if (argc != 3) {
        fprintf(stderr, "usage: arrays counters|field|codes BYTES\n");
        return 2;
    }
    size = strtoull(argv[2], NULL, 10);
    if (strcmp(argv[1], "counters") == 0)
        counters(size);
    else if (strcmp(argv[1], "field") == 0)
        field(size, 0);
    else if (strcmp(argv[1], "codes") == 0)
        field(size, 1);
    else
        return 2;
    return fflush(stdout) != 0;
}
