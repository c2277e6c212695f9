/*
 * here.c - small inputs in memory, by the calling thread alone (here.h)
 *
 * 4 KB take some 50 us.  To hand them to another thread, and wait for it, would take as long.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compat/crc.h"
#include "compat/gzip.h"
#include "pipeline/crew.h"
#include "pipeline/here.h"
#include "pipeline/store.h"
#include "pipeline/write.h"

/* Inputs of more bytes go to the crew: where it has several threads, they share a segment. */
#define HERE_MAX ((size_t)128 << 10)

bool pipeline_is_for_here(const struct pipeline *p, const struct pipeline_job *of)
{
    return p->here != NULL && of->in != NULL && !of->is_on_gpu && of->in_len <= HERE_MAX &&
           of->in_len <= p->segment_size && of->begin == NULL && !p->config.rsyncable &&
           !p->wait_for_gpu;
}

/* Takes memory that nobody uses, or makes some; NULL if memory is short. */
static struct tools *take_tools(struct pipeline *p)
{
    struct tools *t = (struct tools *)shelves_take(p->here);

    if (t != NULL)
        return t;
    t = tools_new(p->level, HERE_MAX);
    if (t == NULL)
        return NULL;
    t->out = malloc(huff_bound(HERE_MAX));
    if (t->out != NULL)
        return t;
    tools_free(t);
    return NULL;
}

/* Matches and encodes, or stores; returns the bytes in t->out.  The CPU's matches are right. */
static size_t encode(const struct pipeline *p, struct tools *t, struct pipeline_job *of)
{
    const enum huff_end end = of->extent == PIPELINE_RANGE ? HUFF_MARK : HUFF_LAST;
    const struct lz_chunk *chunks;
    size_t out_len;

    if (lz_is_stored(p->level))
        return store_segment(of->in, of->in_len, end, t->out, &of->crc);
    memcpy(t->in, of->in, of->in_len);
    memset(t->in + of->in_len, 0, LZ_INPUT_PAD);
    chunks = lz_match_segment(t->matcher, p->level, t->in, of->in_len);
    if (!huff_encode_segment(t->encoder, t->in, of->in_len, chunks, p->level->split, end, t->out,
                             &out_len))
        return 0;
    of->crc = gz_crc32(0, of->in, of->in_len);
    lz_take_counters(t->matcher, of->stats.counters);
    return out_len;
}

bool pipeline_compress_here(struct pipeline *p, struct pipeline_job *of)
{
    struct tools *t = take_tools(p);
    uint8_t trailer[GZ_TRAILER_SIZE];
    struct iovec parts[3];
    size_t out_len;
    int n = 0;

    if (t == NULL)
        return false;
    out_len = encode(p, t, of);
    of->status = out_len > 0 ? PIPELINE_OK : PIPELINE_WRONG;
    if (of->status == PIPELINE_OK) {
        parts[n++] = (struct iovec){(void *)of->header, of->header_len};
        parts[n++] = (struct iovec){t->out, out_len};
        if (of->extent == PIPELINE_MEMBER) {
            gz_write_trailer(trailer, of->crc, of->in_len);
            parts[n++] = (struct iovec){trailer, sizeof(trailer)};
            out_len += sizeof(trailer);
        }
        of->stats.in_bytes = of->in_len;
        of->stats.out_bytes = of->header_len + out_len;
        of->stats.cpu_segments = 1;
        if (!write_parts(of, parts, n)) {
            of->status = PIPELINE_WRITE_ERROR;
            of->error_number = errno;
        }
    }
    shelves_leave(p->here, &t->kept);
    of->is_over = true;
    return true;
}

static void give_back(struct shelved *kept)
{
    tools_free((struct tools *)kept);
}

void here_free(struct pipeline *p)
{
    if (p->here != NULL)
        shelves_free(p->here, give_back);
    free(p->here);
}
