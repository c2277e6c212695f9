/*
 * small.c - compresses small inputs in memory, in the calling thread alone (small.h)
 *
 * An input of 4 KB takes some 50 us.  Handing it to another thread, and waiting for the result,
 * would take as long again.
 */
#include "config.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "compat/check.h"
#include "compat/container.h"
#include "pipeline/compress/small.h"
#include "pipeline/compress/store.h"
#include "pipeline/compress/verify.h"
#include "pipeline/compress/write.h"
#include "pipeline/crew/workers.h"

/* The most bytes of an input that the calling thread compresses.  Larger inputs go to the crew,
 * where several threads share a segment. */
#define SMALL_MAX ((size_t)128 << 10)

bool small_fits(const struct pipeline *p, const struct pipeline_job *request)
{
    return p->small != NULL && request->in != NULL && !request->is_on_gpu &&
           request->in_len <= SMALL_MAX && request->in_len <= p->segment_size &&
           request->begin == NULL && !p->config.rsyncable && !p->wait_for_gpu &&
           p->config.container != CONTAINER_ZIP;
}

/* Tools that no thread uses, by level.  A level's cache is made when it is first needed.  If the
 * pipeline has a level that is not in the table (own_level), that level uses the cache of level 0.
 * Such a pipeline takes no other level, so only one level uses that cache. */
struct small {
    _Atomic(struct object_cache *) caches[LZ_ROWS];
};

/* Returns the level's cache, or makes it.  Returns NULL if memory is short. */
static struct object_cache *cache_of(struct small *s, const struct lz_level *level)
{
    struct object_cache *cache, *made;
    int number = LZ_ROWS - 1;

    while (number > LZ_LEVEL_STORED && lz_level(number) != level)
        number--;
    cache = s->caches[number];
    if (cache != NULL)
        return cache;
    made = malloc(sizeof(*made));
    if (made == NULL)
        return NULL;
    object_cache_init(made);
    /* If another thread has made the cache meanwhile, use that cache. */
    if (atomic_compare_exchange_strong(&s->caches[number], &cache, made))
        return made;
    object_cache_free(made, NULL);
    free(made);
    return cache;
}

/* Takes idle tools from the cache.  If the cache has none, makes new tools.  Returns NULL if memory
 * is short. */
static struct worker_tools *take_tools(struct object_cache *cache, const struct lz_level *level,
                                       bool verifies)
{
    struct worker_tools *t = (struct worker_tools *)object_cache_take(cache);

    if (t != NULL)
        return t;
    t = tools_new(level, SMALL_MAX, verifies, false);
    if (t == NULL)
        return NULL;
    t->out = malloc(huff_bound(SMALL_MAX) + BGZF_AROUND);
    if (t->out != NULL)
        return t;
    tools_free(t);
    return NULL;
}

/* Matches and encodes the input, or stores it at level 0.  Sets *out_len to the number of bytes in
 * t->out.  Returns false if the matches did not pass the encoder's check, which would be a bug. */
static bool encode_data(const struct pipeline *p, struct worker_tools *t,
                        struct pipeline_job *request, size_t *out_len)
{
    const enum container container = p->config.container;
    const enum gz_check check = gz_check_of(container);
    const enum huff_end end =
        request->extent == PIPELINE_RANGE && container != CONTAINER_BGZF ? HUFF_MARK : HUFF_LAST;
    uint8_t *out = t->out + gz_before_data(container);
    const struct lz_chunk *chunks;

    if (lz_is_stored(t->level)) {
        *out_len = store_segment(request->in, request->in_len, end, check, out, &request->check);
        return true;
    }
    memcpy(t->in, request->in, request->in_len);
    memset(t->in + request->in_len, 0, LZ_INPUT_PAD);
    chunks = lz_match_segment(t->matcher, t->in, request->in_len);
    if (!huff_encode_segment(t->encoder, t->in, request->in_len, chunks, t->level->split, end, out,
                             out_len))
        return false;
    request->check = gz_check_more(check, gz_check_start(check), request->in, request->in_len);
    lz_take_counters(t->matcher, request->stats.counters);
    return true;
}

/* Verifies the output, if the pipeline does that.  The decoded bytes go to t->in.  Returns whether
 * the output is right. */
static bool verify(const struct pipeline *p, struct worker_tools *t,
                   const struct pipeline_job *request, size_t out_len)
{
    const enum container container = p->config.container;
    struct slot s = {
        .len = request->in_len, .out = t->out, .out_len = out_len, .check = request->check};

    verify_spoil(&p->config, &s);
    if (!p->config.verify)
        return true;
    verify_note(&s, container, request->in);
    return verify_segment(t->decoder, &s, container,
                          request->extent != PIPELINE_RANGE || container == CONTAINER_BGZF, t->in,
                          0);
}

/* Calls encode_data.  In BGZF, then makes a member of the data.  At the end, verifies the
 * result. */
static enum pipeline_status encode(const struct pipeline *p, struct worker_tools *t,
                                   struct pipeline_job *request, size_t *out_len)
{
    if (!encode_data(p, t, request, out_len))
        return PIPELINE_WRONG;
    if (p->config.container == CONTAINER_BGZF)
        *out_len = gz_write_member(t->out, *out_len, request->check, request->in_len);
    return verify(p, t, request, *out_len) ? PIPELINE_OK : PIPELINE_NOT_VERIFIED;
}

bool small_compress(struct pipeline *p, struct pipeline_job *request)
{
    const struct lz_level *level = request->level != NULL ? request->level : p->level;
    struct object_cache *cache = cache_of(p->small, level);
    struct worker_tools *t = cache != NULL ? take_tools(cache, level, p->config.verify) : NULL;
    uint8_t end[GZ_END_MOST];
    struct iovec parts[3];
    size_t out_len = 0;
    int n = 0;

    if (t == NULL)
        return false;
    request->status = encode(p, t, request, &out_len);
    if (request->status == PIPELINE_OK) {
        parts[n++] = (struct iovec){(void *)request->header, request->header_len};
        parts[n++] = (struct iovec){t->out, out_len};
        if (request->extent == PIPELINE_WHOLE) {
            const struct gz_data data = {.check = request->check, .len = request->in_len};

            parts[n].iov_base = end;
            parts[n].iov_len = gz_write_end(p->config.container, end, &data);
            out_len += parts[n++].iov_len;
        }
        request->stats.in_bytes = request->in_len;
        request->stats.out_bytes = request->header_len + out_len;
        request->stats.cpu_segments = 1;
        if (!write_parts(request, parts, n)) {
            request->status = PIPELINE_WRITE_ERROR;
            request->error_number = errno;
        }
    }
    object_cache_put(cache, &t->kept);
    request->is_over = true;
    return true;
}

bool small_init(struct pipeline *p)
{
    p->small = calloc(1, sizeof(*p->small));
    return p->small != NULL && cache_of(p->small, p->level) != NULL;
}

static void give_back(struct cached_object *kept)
{
    tools_free((struct worker_tools *)kept);
}

void small_free(struct pipeline *p)
{
    for (int i = 0; p->small != NULL && i < LZ_ROWS; i++) {
        struct object_cache *cache = p->small->caches[i];

        if (cache != NULL)
            object_cache_free(cache, give_back);
        free(cache);
    }
    free(p->small);
}
