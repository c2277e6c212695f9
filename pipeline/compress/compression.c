/*
 * compression.c - opens, cancels and closes a job that is compressed (compression.h)
 */
#include "config.h"

#include <stdlib.h>

#include "base/clock.h"
#include "compat/container.h"
#include "pipeline/compress/compression.h"
#include "pipeline/compress/verify.h"
#include "pipeline/crew/workers.h"

/* The most bytes of a pipe that are read ahead while a GPU is brought up: about as many as a fast
 * pipe gives in that time. */
#ifndef AHEAD_SIZE
#define AHEAD_SIZE ((size_t)512 << 20)
#endif

/* If there may be GPUs, this many bytes of pushed segments may wait for them, in addition to the
 * segments for workers.  All batches of a GPU together hold this many bytes (BATCHES_SIZE in
 * pipeline.c). */
#define PUSH_FOR_GPUS ((uint64_t)128 << 20)

/* With 8 threads or more, a pipe_reader reads a pipe.  With fewer, workers do not wait for reading,
 * and the pipe_reader only costs time (4 % at level 1 on a 2-core EPYC). */
#ifndef PIPE_READER_FROM
#define PIPE_READER_FROM 8
#endif

/* The most segments that may wait.  If the input is pushed, enough segments may wait to keep all
 * workers and GPUs busy.  If the input is a pipe, AHEAD_SIZE bytes of segments may be read
 * ahead. */
static uint64_t most_ahead(const struct job *j)
{
    const struct pipeline *p = j->pipeline;
    const uint64_t for_gpus = p->gpus != NULL ? PUSH_FOR_GPUS : 0;

    return j->request->is_pushed
               ? (uint64_t)crew_claimers(p) + PUSH_SPARE + for_gpus / p->segment_size
               : AHEAD_SIZE / p->segment_size;
}

/* Prepares the source for the job's kind of input.  Returns false if memory is short; then the
 * source is freed. */
static bool open_source(const struct job *j, struct source *source)
{
    const struct pipeline *p = j->pipeline;
    const struct pipeline_job *request = j->request;
    const bool in_pieces = p->config.rsyncable;
    const size_t size = in_pieces ? LZ_SEGMENT_MAX : p->segment_size;

    if (request->is_pushed)
        source_init_pushed(source, size);
    else if (request->in != NULL && request->is_on_gpu)
        source_init_gpu_memory(source, request->in, request->in_len, size, p->copiers,
                               request->device);
    else if (request->in != NULL)
        source_init_memory(source, request->in, request->in_len, size);
    else
        source_init(source, request->in_fd, size,
                    p->config.threads >= PIPE_READER_FROM && !in_pieces);
    if (!in_pieces || source_begin_pieces(source))
        return true;
    source_finish(source);
    return false;
}

/* Makes room for the bytes that are written after the data.  Returns false if memory is short. */
static bool make_end(const struct job *j, struct compression *c)
{
    const size_t room = gz_end_room(j->pipeline->config.container, j->request->header_len);

    if (j->request->extent != PIPELINE_WHOLE || room == 0)
        return true;
    c->end = malloc(room);
    return c->end != NULL;
}

/* If pieces are read back, makes room for the window.  Returns false if memory is short. */
static bool make_window(const struct job *j, struct compression *c)
{
    if (!verify_is_in_file(j) || !j->pipeline->config.rsyncable)
        return true;
    c->read_back.window = malloc(LZ_CHUNK_SIZE);
    return c->read_back.window != NULL;
}

static void free_compression(struct compression *c)
{
    if (c != NULL) {
        free(c->end);
        free(c->read_back.window);
    }
    free(c);
}

static bool compression_open(struct job *j)
{
    struct pipeline *p = j->pipeline;
    struct compression *c = calloc(1, sizeof(*c));

    if (c == NULL || !make_end(j, c) || !make_window(j, c) || !open_source(j, &c->source)) {
        free_compression(c);
        return false;
    }
    ahead_init(&c->ahead, p, most_ahead(j),
               !j->request->is_pushed && p->gpus != NULL && !source_is_file(&c->source));
    c->claimed[0].time = c->claimed[1].time = clock_seconds();
    j->compression = c;
    j->any_order = c->source.random_access;
    j->input_size = c->source.size;
    return true;
}

static void compression_cancel(struct job *j)
{
    source_cancel(&j->compression->source);
}

static void compression_close(struct job *j)
{
    struct compression *c = j->compression;

    source_finish(&c->source);
    j->request->stats = j->stats;
    j->request->check = c->check;
    ahead_free(&c->ahead);
    flush_close(&c->flush, j->pipeline);
    free_compression(c);
}

const struct direction compression = {compression_open, compression_cancel, compression_close};
