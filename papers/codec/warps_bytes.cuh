/*
 * warps_bytes.cuh - decode GLZSS and Mathur's LZ4, a token at a time (warps.cu)
 */
#ifndef GZLZSS_PAPERS_CODEC_WARPS_BYTES_CUH
#define GZLZSS_PAPERS_CODEC_WARPS_BYTES_CUH

#include "papers/codec/glzss.h"
#include "papers/codec/lz4.h"
#include "papers/codec/lanes.cuh"

/* --- GLZSS ------------------------------------------------------------------------------------ */

/* The twin of glzss_decode_25: all lanes read the same tokens, and share the copies. */
static __device__ __forceinline__ bool glzss_warp_25(const uint8_t *coded, uint32_t size,
                                                     uint8_t *out, uint32_t plain)
{
    struct codec_tokens t = {coded, size, 0, 0, 0};
    uint32_t done = 0, flag;

    while (done < plain) {
        uint32_t count;

        if (!codec_take_flag(&t, &flag))
            return false;
        if (flag == 0) {
            count = coded[t.at++] + 1u;
            if (count > size - t.at || count > plain - done)
                return false;
            copy_run(out + done, coded + t.at, count);
            t.at += count;
        } else {
            uint32_t distance;

            if (size - t.at < 3)
                return false;
            distance = coded[t.at] | (uint32_t)coded[t.at + 1] << 8;
            count = coded[t.at + 2] + (uint32_t)GLZSS_MIN_MATCH;
            t.at += 3;
            if (distance == 0 || distance > done || count > plain - done)
                return false;
            copy_match(out, done, count, distance);
        }
        done += count;
    }
    return codec_tokens_end(&t);
}

/* Copies a run of literals whose first bit is bit number `bit` of coded[]. */
static __device__ __forceinline__ void copy_run_of_bits(uint8_t *out, const uint8_t *coded,
                                                        uint32_t bit, uint32_t length)
{
    for (uint32_t i = threadIdx.x % WARP; i < length; i += WARP)
        out[i] = (uint8_t)bits_at(coded, bit + 8 * i, 8);
    __syncwarp();
}

/* The twin of glzss_decode_17. */
static __device__ __forceinline__ bool glzss_warp_17(const uint8_t *coded, uint32_t size,
                                                     uint8_t *out, uint32_t plain)
{
    uint32_t bit = 0, done = 0;

    while (done < plain) {
        /* The longest token but for a run's literals. */
        const uint32_t token = bits_at(coded, bit, 25);
        uint32_t count;

        if (token >> 24 == 0) {
            count = (token >> 16 & 255) + 1;
            if (count > plain - done || bit + 9 + 8 * count > 8 * size)
                return false;
            copy_run_of_bits(out + done, coded, bit + 9, count);
            bit += 9 + 8 * count;
        } else {
            const bool is_far = token >> 23 == 3;
            const uint32_t distance = is_far ? token >> 7 & 0xffff : (token >> 12 & 0x7ff) + 1;

            count = (is_far ? token & 127 : token >> 8 & 15) + GLZSS_MIN_MATCH;
            bit += is_far ? 25 : 17;
            if (distance == 0 || distance > done || count > plain - done || bit > 8 * size)
                return false;
            copy_match(out, done, count, distance);
        }
        done += count;
    }
    return bits_end(coded, size, bit);
}

struct glzss_warp {
    static __device__ __forceinline__ bool decode(const codec_view &v, uint32_t c, uint8_t *out,
                                                  uint32_t plain)
    {
        const codec_place place = v.places[c];
        const uint8_t *coded = v.coded + place.at;

        if (is_too_long(v, place))
            return false;
        return v.shape.variant == GLZSS_25 ? glzss_warp_25(coded, place.size, out, plain)
                                           : glzss_warp_17(coded, place.size, out, plain);
    }
};

/* --- Mathur's LZ4 ----------------------------------------------------------------------------- */

/* The twin of lz4_take_match. */
static __device__ __forceinline__ uint32_t lz4_warp_match(lz4_reader *r, uint32_t more,
                                                          uint8_t *out, uint32_t done,
                                                          uint32_t plain)
{
    uint32_t distance;

    if (r->size - r->at < 2)
        return UINT32_MAX;
    distance = r->in[r->at] | (uint32_t)r->in[r->at + 1] << 8;
    r->at += 2;
    if (distance == 0)
        return more == 0 ? 0 : UINT32_MAX;
    if (distance > done || plain - done < LZ4_MIN_MATCH ||
        !lz4_take_more(r, &more, plain - done - LZ4_MIN_MATCH))
        return UINT32_MAX;
    copy_match(out, done, more + LZ4_MIN_MATCH, distance);
    return more + LZ4_MIN_MATCH;
}

/* The twin of lz4_decode. */
struct lz4_warp {
    static __device__ __forceinline__ bool decode(const codec_view &v, uint32_t c, uint8_t *out,
                                                  uint32_t plain)
    {
        const codec_place place = v.places[c];
        lz4_reader r = {v.coded + place.at, place.size, 0};
        uint32_t done = 0;

        while (done < plain) {
            uint32_t token, count, length;

            if (r.at == r.size)
                return false;
            token = r.in[r.at++];
            count = token >> 4;
            if (!lz4_take_more(&r, &count, plain - done) || count > r.size - r.at)
                return false;
            copy_run(out + done, r.in + r.at, count);
            r.at += count;
            done += count;
            length = lz4_warp_match(&r, token & 15, out, done, plain);
            if (length == UINT32_MAX || length + count == 0)
                return false;
            done += length;
        }
        return r.at == r.size;
    }
};

#endif
