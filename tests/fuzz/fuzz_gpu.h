/*
 * fuzz_gpu.h - decompresses one file on the emulated device, and compares the output with zlib's
 * (fuzz_gpu.c)
 */
#ifndef GZLZSS_FUZZ_GPU_H
#define GZLZSS_FUZZ_GPU_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The kinds of input data. */
enum fuzz_gpu_form {
    FUZZ_GPU_FILE,    /* a .gz file */
    FUZZ_GPU_STREAMS, /* raw DEFLATE streams; each gets a header, and the trailer of its output */
    FUZZ_GPU_MENDED,  /* like FUZZ_GPU_STREAMS, but a bad stream ends after its last good block */
    FUZZ_GPU_BGZF,    /* like FUZZ_GPU_MENDED, with headers of BGZF */
    FUZZ_GPU_FORMS
};

/* The number of engines.  From engine to engine, batches and groups get smaller. */
#define FUZZ_GPU_SETTINGS 5

/* The compressed bytes of a batch of engine number 2.  Twice as many further bytes are loaded with
 * each batch. */
#define FUZZ_GPU_SMALL_BATCH 2000

/* The functions to call.  Each is a bit of fuzz_gpu_choice.calls. */
enum {
    FUZZ_GPU_WHOLE = 1, /* gpu_inflate */
    FUZZ_GPU_STEPS = 2, /* gpu_inflate_begin, ... */
    FUZZ_GPU_NEW = 4,   /* gpu_inflate_count and gpu_inflate_new */
    FUZZ_GPU_MANY = 8,  /* gpu_inflate_many */
    FUZZ_GPU_CALLS = 15
};

/* How a file is decompressed.  An input of the libFuzzer target begins with these bytes.  Every
 * value is valid: fuzz_gpu.c takes it modulo the number of cases. */
struct fuzz_gpu_choice {
    uint8_t form;    /* enum fuzz_gpu_form */
    uint8_t calls;   /* the functions to call; 0: all */
    uint8_t setting; /* an engine's number; if the file has too many batches, a lower one is used */
    uint8_t room;    /* the room at `out` (fuzz_gpu.c): more than the output, just enough, one byte
                      * less, or very much */
    uint8_t stop;    /* 0: decompress all in one call; n: stop after n batches */
    uint8_t shift;   /* distance of the output from a multiple of 16 bytes */
    uint8_t first;   /* number of the block at which decompression in steps begins */
    uint8_t is_bgzf; /* odd: the file counts as BGZF in steps, and inputs have an `in_block` */
    uint8_t format;  /* of gpu_inflate_many's inputs: enum container */
    uint8_t inputs;  /* into how many inputs a file is cut, and how often each input is given */
};

/* The results for a file. */
struct fuzz_gpu_result {
    bool is_good;       /* zlib accepts the file */
    bool is_done;       /* gpu_inflate has decompressed it */
    bool is_stepped;    /* the steps have decompressed it, up to its end */
    unsigned batches;   /* batches that gpu_inflate has decoded */
    unsigned outputs;   /* output buffers that the steps have filled */
    size_t step_length; /* bytes of output of the steps */
    bool is_counted;    /* gpu_inflate_count has counted its output */
    bool is_new;        /* gpu_inflate_new has decompressed it */
    unsigned inputs;    /* gpu_inflate_many's inputs that zlib accepts and that have room */
    unsigned made;      /* the number of `inputs` that gpu_inflate_many has decompressed */
};

/* Decompresses the data by the functions that *choice names.  Aborts if a result differs from
 * zlib's. */
void fuzz_gpu_one(const struct fuzz_gpu_choice *choice, const uint8_t *data, size_t len,
                  struct fuzz_gpu_result *result);

#endif
