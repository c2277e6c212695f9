/*
 * fuzz_recover.c - recovering any input ends, and accounts for each byte of the output
 *
 * A fuzz target (target.h).  The input is recovered with two fill bytes.  The two outputs
 * must differ in exactly the bytes that were reported as unknown or lost.
 */
#include "config.h"

#include <errno.h>

#include "compat/recover/recover.h"
#include "tests/fuzz/target.h"

/* A few bytes of input can decode to gigabytes; stop at this size. */
#define OUT_MAX ((size_t)1 << 18)

struct recovery {
    const uint8_t *in;
    uint64_t in_len;
    uint8_t out[OUT_MAX];
    size_t out_len;
    uint64_t told; /* bytes of output in the findings so far */
};

static struct recovery both[2];

static ssize_t read_at(void *ctx, void *buf, size_t len, uint64_t offset)
{
    const struct recovery *const r = ctx;

    REQUIRE(offset + len <= r->in_len);
    if (len > 0)
        memcpy(buf, r->in + offset, len);
    return (ssize_t)len;
}

static int write_all(void *ctx, const void *buf, size_t len)
{
    struct recovery *const r = ctx;

    if (len > OUT_MAX - r->out_len) {
        errno = EFBIG;
        return -1;
    }
    memcpy(r->out + r->out_len, buf, len);
    r->out_len += len;
    return 0;
}

static void tell(void *ctx, const struct gz_finding *found)
{
    struct recovery *const r = ctx;

    REQUIRE(found->out <= found->out_end && found->out_end <= r->out_len);
    if (found->kind == GZ_FOUND_SEGMENT)
        return;
    REQUIRE(found->in <= found->in_end && found->in_end <= r->in_len);
    REQUIRE(found->out == r->told);
    r->told = found->out_end;
}

void fuzz_recover(const uint8_t *data, size_t len)
{
    struct gz_recovered sums[2];
    enum gz_status status[2];
    uint64_t differences = 0;

    for (int i = 0; i < 2; i++) {
        const struct gz_recover_io io = {.read_at = read_at,
                                         .write = write_all,
                                         .tell = tell,
                                         .ctx = &both[i],
                                         .size = len,
                                         .fill = i == 0 ? 0 : 0xff};

        both[i].in = data;
        both[i].in_len = len;
        both[i].out_len = 0;
        both[i].told = 0;
        status[i] = gz_recover(&io, &sums[i]);
    }
    REQUIRE(status[0] == status[1] && both[0].out_len == both[1].out_len);
    if (status[0] == GZ_WRITE_ERROR)
        return;
    for (size_t i = 0; i < both[0].out_len; i++)
        differences += both[0].out[i] != both[1].out[i];
    REQUIRE(both[0].told == both[0].out_len);
    REQUIRE(sums[0].unknown + sums[0].filled == differences);
    REQUIRE(sums[0].verified + sums[0].unverified + differences == both[0].out_len);
    REQUIRE(status[0] != GZ_NOT_GZIP || both[0].out_len == 0);
}
