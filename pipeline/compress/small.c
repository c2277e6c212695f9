/*
 * small.c - compresses small inputs in memory, in the calling thread alone (small.h)
 *
 * An input of 4 KB takes some 50 us.  Handing it to another thread, and waiting for the result,
 * would take as long again.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compat/crc.h"
#include "compat/gzip.h"
#include "pipeline/compress/small.h"
#include "pipeline/compress/store.h"
#include "pipeline/compress/write.h"
#include "pipeline/crew/workers.h"

/* Larger inputs go to the crew, where several threads share a segment. */
#define SMALL_MAX ((size_t)128 << 10)

bool small_fits(const struct pipeline *p, const struct pipeline_job *request)
{
    return p->small != NULL && request->in != NULL && !request->is_on_gpu &&
           request->in_len <= SMALL_MAX && request->in_len <= p->segment_size &&
           request->begin == NULL && !p->config.rsyncable && !p->wait_for_gpu;
}

/* Takes idle tools from the cache, or makes some; NULL if memory is short. */
static struct worker_tools *take_tools(struct pipeline *p)
{
    struct worker_tools *t = (struct worker_tools *)object_cache_take(p->small);

    if (t != NULL)
        return t;
    t = tools_new(p->level, SMALL_MAX);
    if (t == NULL)
        return NULL;
    t->out = malloc(huff_bound(SMALL_MAX));
    if (t->out != NULL)
        return t;
    tools_free(t);
    return NULL;
}

/* Matches and encodes the input, or stores it at level 0.  Returns the number of bytes in t->out; 0
 * if the matches did not pass the encoder's check, which would be a bug. */
static size_t encode(const struct pipeline *p, struct worker_tools *t, struct pipeline_job *request)
{
    const enum huff_end end = request->extent == PIPELINE_RANGE ? HUFF_MARK : HUFF_LAST;
    const struct lz_chunk *chunks;
    size_t out_len;

    if (lz_is_stored(p->level))
        return store_segment(request->in, request->in_len, end, t->out, &request->crc);
    memcpy(t->in, request->in, request->in_len);
    memset(t->in + request->in_len, 0, LZ_INPUT_PAD);
    chunks = lz_match_segment(t->matcher, t->in, request->in_len);
    if (!huff_encode_segment(t->encoder, t->in, request->in_len, chunks, p->level->split, end,
                             t->out, &out_len))
        return 0;
    request->crc = gz_crc32(0, request->in, request->in_len);
    lz_take_counters(t->matcher, request->stats.counters);
    return out_len;
}

bool small_compress(struct pipeline *p, struct pipeline_job *request)
{
    struct worker_tools *t = take_tools(p);
    uint8_t trailer[GZ_TRAILER_SIZE];
    struct iovec parts[3];
    size_t out_len;
    int n = 0;

    if (t == NULL)
        return false;
    out_len = encode(p, t, request);
    request->status = out_len > 0 ? PIPELINE_OK : PIPELINE_WRONG;
    if (request->status == PIPELINE_OK) {
        parts[n++] = (struct iovec){(void *)request->header, request->header_len};
        parts[n++] = (struct iovec){t->out, out_len};
        if (request->extent == PIPELINE_MEMBER) {
            gz_write_trailer(trailer, request->crc, request->in_len);
            parts[n++] = (struct iovec){trailer, sizeof(trailer)};
            out_len += sizeof(trailer);
        }
        request->stats.in_bytes = request->in_len;
        request->stats.out_bytes = request->header_len + out_len;
        request->stats.cpu_segments = 1;
        if (!write_parts(request, parts, n)) {
            request->status = PIPELINE_WRITE_ERROR;
            request->error_number = errno;
        }
    }
    object_cache_put(p->small, &t->kept);
    request->is_over = true;
    return true;
}

bool small_init(struct pipeline *p)
{
    p->small = malloc(sizeof(*p->small));
    if (p->small == NULL)
        return false;
    object_cache_init(p->small);
    return true;
}

static void give_back(struct cached_object *kept)
{
    tools_free((struct worker_tools *)kept);
}

void small_free(struct pipeline *p)
{
    if (p->small != NULL)
        object_cache_free(p->small, give_back);
    free(p->small);
}
