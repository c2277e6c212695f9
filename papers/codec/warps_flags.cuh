/*
 * warps_flags.cuh - decode CULZSS and gpuLZ, 32 tokens at a time (warps.cu)
 */
#ifndef GZLZSS_PAPERS_CODEC_WARPS_FLAGS_CUH
#define GZLZSS_PAPERS_CODEC_WARPS_FLAGS_CUH

#include "papers/codec/culzss.h"
#include "papers/codec/gpulz.h"
#include "papers/codec/lanes.cuh"

/* --- CULZSS ----------------------------------------------------------------------------------- */

/* Finds this lane's token: sets t->data, and *flags to the flags of the token's group, from the
 * token's own on. The tokens begin at coded[at]. */
static __device__ __forceinline__ void culzss_find(const uint8_t *coded, uint32_t at, token *t,
                                                   uint32_t *flags)
{
    const uint32_t group = threadIdx.x % WARP / 8, place = threadIdx.x % 8;

#pragma unroll
    for (uint32_t i = 0; i < WARP / 8; i++) {
        const uint32_t all = __ldg(coded + at++), matches = ~all & 255;

        if (i == group) {
            t->data = at + place + (uint32_t)__popc(matches & ((1u << place) - 1));
            *flags = all >> place;
        }
        at += 8 + (uint32_t)__popc(matches);
    }
}

/* Decodes 32 tokens, or as many as are left. *at: where they are; *done: the bytes that are
 * decoded. Returns false if the coded form is damaged. All lanes return the same. */
static __device__ __forceinline__ bool culzss_step(const uint8_t *coded, uint32_t size,
                                                   uint8_t *out, uint32_t plain, uint32_t *at,
                                                   uint32_t *done)
{
    token t = {};
    uint32_t flags = 0;

    culzss_find(coded, min(*at, size), &t, &flags);
    t.data = min(t.data, size);
    t.is_match = (flags & 1) == CULZSS_IS_MATCH;

    const uint32_t first = __ldg(coded + t.data), second = __ldg(coded + t.data + 1);
    const uint32_t end = t.data + (t.is_match ? 2 : 1);

    t.length = t.is_match ? first : 1;
    t.distance = t.is_match ? second + 1 : 0;
    t.at = *done + sum_before(t.length);

    const bool is_used = t.at < plain;
    const bool is_good =
        end <= size && (!t.is_match || (t.length >= LZ_MIN_MATCH && t.length <= t.distance &&
                                        t.distance <= t.at && t.length <= plain - t.at));

    if (!__all_sync(ALL_LANES, is_good || !is_used))
        return false;
    if (is_used && !t.is_match)
        out[t.at] = (uint8_t)first;
    copy_matches(out, t, __ballot_sync(ALL_LANES, is_used && t.is_match));

    const uint32_t last = 31 - (uint32_t)__clz((int)__ballot_sync(ALL_LANES, is_used));

    *at = __shfl_sync(ALL_LANES, end, (int)last);
    *done = __shfl_sync(ALL_LANES, t.at + t.length, (int)last);
    if (*done < plain)
        return true;
    /* All is decoded. No byte may be left, and no flag. */
    return *at == size && __shfl_sync(ALL_LANES, flags, (int)last) >> 1 == 0;
}

struct culzss_warp {
    static __device__ __forceinline__ bool decode(const codec_view &v, uint32_t c, uint8_t *out,
                                                  uint32_t plain)
    {
        const codec_place place = v.places[c];
        const uint8_t *coded = v.coded + place.at;
        uint32_t at = 0, done = 0;

        if (place.size >= plain) {
            if (place.size == plain)
                copy_bytes(out, coded, plain);
            return place.size == plain;
        }
        while (done < plain)
            if (!culzss_step(coded, place.size, out, plain, &at, &done))
                return false;
        return true;
    }
};

/* --- gpuLZ ------------------------------------------------------------------------------------ */

/* A chunk's coded form, and how much of it is decoded. */
struct gpulz_chunk {
    const uint8_t *flags, *data;
    struct gpulz_sizes sizes;
    uint32_t width;  /* bytes of a symbol */
    uint32_t tokens; /* decoded so far */
    uint32_t used;   /* their bytes of data */
    uint32_t done;   /* their bytes of output */
};

/* Finds this lane's token. Returns its flag and those after it in the same byte; 0 if the chunk has
 * no such flag. Sets t->data. */
static __device__ __forceinline__ uint32_t gpulz_find(const gpulz_chunk &c, token *t)
{
    const uint32_t lane = threadIdx.x % WARP, byte = (c.tokens + lane) / 8;
    const uint32_t flags = byte < c.sizes.flags ? __ldg(c.flags + byte) >> lane % 8 : 0;
    const uint32_t matches = __ballot_sync(ALL_LANES, (flags & 1) != 0);
    const uint32_t before = (uint32_t)__popc(matches & ((1u << lane) - 1));

    t->is_match = (flags & 1) != 0;
    t->data = min(c.used + 2 * before + (lane - before) * c.width, c.sizes.data);
    return flags;
}

/* Whether this lane's token, which is used, is good. `end` is the end of its data. */
static __device__ __forceinline__ bool gpulz_is_good(const gpulz_chunk &c, const token &t,
                                                     uint32_t end, uint32_t plain)
{
    /* Whether the chunk has the token's flag is not checked here: gpulz_step compares the number of
     * tokens with the number of flags at the end. */
    if (end > c.sizes.data)
        return false;
    return !t.is_match || (t.length > 0 && t.length <= t.distance && t.distance <= t.at &&
                           t.length <= plain - t.at);
}

/* Decodes 32 tokens, or as many as are left. Returns false if the coded form is damaged. All lanes
 * return the same. */
static __device__ __forceinline__ bool gpulz_step(gpulz_chunk &c, uint8_t *out, uint32_t plain)
{
    token t = {};
    const uint32_t flags = gpulz_find(c, &t);

    t.length = (t.is_match ? __ldg(c.data + t.data) : 1u) * c.width;
    t.distance = t.is_match ? __ldg(c.data + t.data + 1) * c.width : 0;
    t.at = c.done + sum_before(t.length);

    const bool is_used = t.at < plain;

    /* A chunk's last literal may be shorter than a symbol. */
    if (is_used && !t.is_match)
        t.length = min(t.length, plain - t.at);

    const uint32_t end = t.data + (t.is_match ? 2 : t.length);

    if (!__all_sync(ALL_LANES, !is_used || gpulz_is_good(c, t, end, plain)))
        return false;
    if (is_used && !t.is_match)
        for (uint32_t i = 0; i < t.length; i++)
            out[t.at + i] = __ldg(c.data + t.data + i);
    copy_matches(out, t, __ballot_sync(ALL_LANES, is_used && t.is_match));

    const uint32_t last = 31 - (uint32_t)__clz((int)__ballot_sync(ALL_LANES, is_used));

    c.tokens += last + 1;
    c.used = __shfl_sync(ALL_LANES, end, (int)last);
    c.done = __shfl_sync(ALL_LANES, t.at + t.length, (int)last);
    if (c.done < plain)
        return true;
    /* All is decoded. No data may be left, and no flag but padding. */
    return c.used == c.sizes.data && (c.tokens + 7) / 8 == c.sizes.flags &&
           __shfl_sync(ALL_LANES, flags, (int)last) >> 1 == 0;
}

struct gpulz_warp {
    static __device__ __forceinline__ bool decode(const codec_view &v, uint32_t c, uint8_t *out,
                                                  uint32_t plain)
    {
        const codec_place flags = v.places[2 * c], data = v.places[2 * c + 1];
        gpulz_chunk chunk = {v.coded + flags.at,
                             v.coded + data.at,
                             {flags.size, data.size},
                             v.chunk_widths[c],
                             0,
                             0,
                             0};

        while (chunk.done < plain)
            if (!gpulz_step(chunk, out, plain))
                return false;
        return true;
    }
};

#endif
