/*
 * arrays.c - prints test data: arrays of numbers like those from simulations and instruments
 *
 *   bench/arrays KIND BYTES
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
 * The gpuLZ paper (section 4.1) measures six sets of data: codes of three simulations, a column of
 * numbers and one of strings from the TPC-H benchmark, and a seismic wave field. "codes" is like
 * the first, a weather simulation. These kinds are like the others:
 *
 *     particles uint16: the coordinates of particles, cell by cell, coded as "codes". The
 *               prediction is the coordinate of the particle before.
 *     density   uint16: a field of 64 x 64 x 64 points, one time step after another, coded as
 *               "codes" with the Lorenzo predictor in three dimensions. The field is the
 *               exponential of a sum of waves and of noise, so that a few points have most of the
 *               mass.
 *     rows      int32: the rows of a table of orders, four numbers each: the order, which has one
 *               to seven rows, a part, a supplier, and the row's number in the order.
 *     comments  the comments of the same table: sentences from a list of words, cut anywhere.
 *     waves     float32: a wave that goes out from a source in a field of 256 x 256 points, one
 *               time step after another. It is 0 where the wave has not arrived.
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

/* Returns the code of a value with this prediction (kind "codes"), and sets *known to the value
 * that a decoder gets. */
static uint16_t code_of(double value, double guess, double error_bound, double *known)
{
    const double steps = floor((value - guess) / (2 * error_bound) + 0.5);

    if (steps <= -512 || steps >= 512) {
        *known = value;
        return 0;
    }
    *known = guess + steps * 2 * error_bound;
    return (uint16_t)(512 + (int)steps);
}

/* Returns a random number from -1 to 1 whose distribution is near a normal one. */
static double noise(void)
{
    double sum = 0;

    for (int i = 0; i < 4; i++)
        sum += (double)(draw() % 2001) / 1000 - 1;
    return sum / 4;
}

/* Cells along a side of the box, and particles of a cell. The error bound is a thousandth of the
 * box. */
#define CELLS 256
#define PARTICLES 8

static void particles(uint64_t left)
{
    const double error_bound = 1e-3 * CELLS;
    double known = 0;

    for (uint64_t cell = 0; left > 0; cell++)
        for (int i = 0; i < PARTICLES; i++) {
            const double at = (double)(cell / 16 % CELLS) + 2.5 * noise();
            const uint16_t code = code_of(at, known, error_bound, &known);

            put(&code, sizeof(code), &left);
        }
}

#define CUBE 64

/* Sets f to the logarithm of the density at time step `time`. */
static void make_density(double f[CUBE][CUBE][CUBE], int time)
{
    double wave[3][CUBE];

    for (int i = 0; i < CUBE; i++)
        for (int d = 0; d < 3; d++)
            wave[d][i] = sin(6.283185307179586 * (d + 1) * i / CUBE + 0.02 * (d + 1) * time);
    for (int z = 0; z < CUBE; z++)
        for (int y = 0; y < CUBE; y++)
            for (int x = 0; x < CUBE; x++)
                f[z][y][x] = exp(2 * (wave[0][x] + wave[1][y] + wave[2][z]) + 0.04 * noise());
}

/* The Lorenzo prediction of known[z][y][x]. Points outside the field count as 0. */
static double predict(double known[CUBE][CUBE][CUBE], int z, int y, int x)
{
    double sum = 0;

    for (int corner = 1; corner < 8; corner++) {
        const int dz = corner >> 2, dy = corner >> 1 & 1, dx = corner & 1;

        if (z >= dz && y >= dy && x >= dx)
            sum += ((dz + dy + dx) % 2 != 0 ? 1 : -1) * known[z - dz][y - dy][x - dx];
    }
    return sum;
}

static void density(uint64_t left)
{
    static double f[CUBE][CUBE][CUBE], known[CUBE][CUBE][CUBE];
    /* The densities are between 0 and about exp(6). */
    const double error_bound = 1e-3 * 403;

    for (int time = 0; left > 0; time++) {
        make_density(f, time);
        for (int z = 0; z < CUBE; z++)
            for (int y = 0; y < CUBE; y++)
                for (int x = 0; x < CUBE; x++) {
                    const uint16_t code =
                        code_of(f[z][y][x], predict(known, z, y, x), error_bound, &known[z][y][x]);

                    put(&code, sizeof(code), &left);
                }
    }
}

static void rows(uint64_t left)
{
    for (int32_t order = 1; left > 0; order += order % 8 == 7 ? 25 : 1)
        for (int32_t line = 1, lines = 1 + (int32_t)(draw() % 7); line <= lines; line++) {
            const int32_t row[4] = {order, 1 + (int32_t)(draw() % 200000),
                                    1 + (int32_t)(draw() % 10000), line};

            put(row, sizeof(row), &left);
        }
}

static void comments(uint64_t left)
{
    static const char *const words[] = {"quickly ",
                                        "slow ",
                                        "furious ",
                                        "careful ",
                                        "final ",
                                        "regular ",
                                        "special ",
                                        "silent ",
                                        "packages ",
                                        "orders ",
                                        "requests ",
                                        "accounts ",
                                        "deposits ",
                                        "letters ",
                                        "ships ",
                                        "boxes ",
                                        "sleep ",
                                        "wake ",
                                        "haggle ",
                                        "nod ",
                                        "cajole ",
                                        "detect ",
                                        "integrate ",
                                        "among ",
                                        "above ",
                                        "against ",
                                        "across ",
                                        "the ",
                                        "according to the ",
                                        "never ",
                                        "always ",
                                        ". "};
    char text[128];

    while (left > 0) {
        const size_t want = 10 + (size_t)(draw() % 34);
        size_t len = 0;

        while (len < want) {
            /* Words at the front of the list are more frequent. */
            const size_t count = sizeof(words) / sizeof(words[0]);
            const char *const word = words[draw() % (1 + draw() % count)];

            memcpy(text + len, word, strlen(word));
            len += strlen(word);
        }
        text[want] = '\n';
        put(text, want + 1, &left);
    }
}

#define PLANE 256

/* The wave at a distance from the source, at a time. Its shape is the second derivative of a bell,
 * as seismic sources are often modelled. */
static float wave_at(double distance, double time)
{
    const double behind = time - distance, bell = behind - 24;

    if (behind <= 0)
        return 0;
    return (float)((1 - bell * bell / 72) * exp(-bell * bell / 144) / sqrt(1 + distance) +
                   1e-4 * sin(0.3 * behind) / (1 + behind));
}

static void waves(uint64_t left)
{
    static float f[PLANE][PLANE];

    for (int step = 0; left > 0; step++) {
        const int time = 90 + step % 100;

        for (int y = 0; y < PLANE; y++)
            for (int x = 0; x < PLANE; x++)
                f[y][x] = wave_at(hypot(x - 0.3 * PLANE, y - 0.4 * PLANE), time);
        put(f, sizeof(f), &left);
    }
}

static void floats(uint64_t left)
{
    field(left, 0);
}

static void codes(uint64_t left)
{
    field(left, 1);
}

static const struct {
    const char *name;
    void (*print)(uint64_t bytes);
} kinds[] = {
    {"counters", counters}, {"field", floats}, {"codes", codes},       {"particles", particles},
    {"density", density},   {"rows", rows},    {"comments", comments}, {"waves", waves},
};

int main(int argc, char **argv)
{
    const size_t count = sizeof(kinds) / sizeof(kinds[0]);

    for (size_t i = 0; argc == 3 && i < count; i++)
        if (strcmp(argv[1], kinds[i].name) == 0) {
            kinds[i].print(strtoull(argv[2], NULL, 10));
            return fflush(stdout) != 0;
        }
    fprintf(stderr, "usage: arrays KIND BYTES\nKIND is one of");
    for (size_t i = 0; i < count; i++)
        fprintf(stderr, " %s", kinds[i].name);
    fprintf(stderr, "\n");
    return 2;
}
