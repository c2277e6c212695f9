/*
 * pipeline.h - compression of one input into one gzip member, by many threads and perhaps a GPU
 */
#ifndef GZLZSS_PIPELINE_H
#define GZLZSS_PIPELINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "src/gpus.h"

/* What finds matches: the CPU, with a GPU beside it where that is worth it; the CPU alone; a GPU
 * alone, but for segments that it gets wrong, or all after it has failed. */
enum backend { BACKEND_AUTO, BACKEND_CPU, BACKEND_GPU };

struct pipeline_config {
    int level;           /* LZ_LEVEL_MIN to LZ_LEVEL_MAX */
    int threads;         /* 1 or more; there are fewer where memory is short */
    size_t segment_size; /* LZ_SEGMENT_MIN to LZ_SEGMENT_MAX, a multiple of 1024 */
    enum backend backend;
    struct gpus_config gpus; /* with which GPUs */
    /* Bytes that the process may fill, and have mapped; 0: any number.  The pipeline has fewer threads if
     * that is little. */
    uint64_t memory, address_space;
    bool rsyncable; /* segments end where the input says so (source.h), whatever segment_size is;
                       not with BACKEND_GPU */
};

/* What a compression did; seconds are added up over all threads. */
struct pipeline_stats {
    uint64_t in_bytes, out_bytes; /* out_bytes: the whole member */
    uint64_t cpu_segments;        /* matched by the CPU engine */
    uint64_t gpu_segments;        /* matched by the GPU engine */
    uint64_t redone_segments;     /* of these, how many did not pass the check */
    uint64_t split_segments;      /* matched by the CPU, by several threads if these were free */
    double read, match, encode, write; /* `read` and `write` include waiting for the other end */
    struct gpu_times gpu;
    bool cpu_kept_up; /* with a pipe that might have been worth a GPU, so that it was not */
    bool wanted_gpus; /* at some time, they were worth bringing up for this input */
};

enum pipeline_status {
    PIPELINE_OK,
    PIPELINE_READ_ERROR,
    PIPELINE_WRITE_ERROR,
    PIPELINE_NO_MEMORY,
    PIPELINE_WRONG, /* a bug: the CPU engine found matches that are none */
};

/* Keeps what is worth keeping from one input to the next: the GPUs, and the workers' memory. */
struct pipeline;

struct progress;

/* Bytes of a stack that are enough for a pipeline's threads, and are reckoned where addresses are few. */
#define PIPELINE_STACK_SIZE ((size_t)1 << 20)

/* The threads that a pipeline has with this configuration: as many as its memory allows, or fewer. */
int pipeline_threads(const struct pipeline_config *config);

/* *config is copied.  Returns NULL, with the reason in error, if memory is short or, with
 * BACKEND_GPU, which brings the GPU up now, if there is none that can be used. */
struct pipeline *pipeline_new(const struct pipeline_config *config, char error[GPU_ERROR_SIZE]);

/* Returns false if a GPU was used or is still being brought up: the program may then end only by
 * _exit or leave (leave.h), which wait for no thread and leave tidying up to the system. */
bool pipeline_free(struct pipeline *p);

/*
 * Compresses what is left to read of in_fd to out_fd: the header given, the data, a trailer.  The
 * bytes written depend on the input, the level, the segment size and `rsyncable` alone.  On
 * PIPELINE_READ_ERROR and PIPELINE_WRITE_ERROR *error_number says what happened: an errno, ENODATA
 * if the file became shorter while it was read.  *stats is valid after PIPELINE_OK.  Neither
 * descriptor is closed, and a partial output is the caller's to remove.  *progress, unless
 * that is NULL, is kept up to date.
 */
enum pipeline_status pipeline_compress(struct pipeline *p, int in_fd, int out_fd,
                                       const uint8_t *header, size_t header_len,
                                       struct progress *progress, struct pipeline_stats *stats,
                                       int *error_number);

/* Why no GPU was used for an input, if none failed.  `asked` is what the user asked for, which the
 * pipeline's own configuration may differ from. */
void pipeline_why_no_gpu(const struct pipeline *p, const struct pipeline_config *asked,
                         const struct pipeline_stats *stats, char why[GPU_ERROR_SIZE]);

/* The GPU's name if it has been used, else NULL; and why one failed or could not be used at some time
 * though it might have been, else an empty string. */
const char *pipeline_gpu_name(const struct pipeline *p);
const char *pipeline_gpu_trouble(struct pipeline *p);

#endif
