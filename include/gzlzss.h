/*
 * gzlzss.h - compression to gzip's format, and decompression, by all cores and NVIDIA GPUs
 *
 * A program makes an object once and uses it as often as it likes: the object owns threads, their
 * memory, and GPUs, which take 0.3 s to come up.  Any thread may use it; calls from several threads
 * share the object's threads and GPUs.
 *
 *     gzlzss *z;
 *     gzlzss_status status = gzlzss_new(&z, NULL);
 *     ...
 *     size_t out_len = gzlzss_bound(z, in_len);
 *     void *out = malloc(out_len);
 *     status = gzlzss_compress(z, out, &out_len, in, in_len, NULL);
 *     ...
 *     gzlzss_free(z);
 *
 * What is compressed becomes one gzip member (RFC 1952).  Its bytes depend on the input, the level,
 * the segment size, `rsyncable` and `matcher` alone: not on threads, GPUs, or how the input is given.
 * They are those that `gzlzss -n` writes with the same options.  What can be decompressed is all that
 * gunzip reads: one or more members, and the formats older than gzip.
 *
 * Every function returns a status and does nothing else to say that something is wrong: it prints
 * nothing, ends no process, and leaves signals as they are.
 *
 * Where a function needs a pointer, NULL is GZLZSS_ERROR_ARGUMENT; functions without a status say below
 * what they return then, or do nothing.
 *
 * An object belongs to the process that made it.  After fork, the child makes an object of its own:
 * calls on the parent's object and streams return GZLZSS_ERROR_FORKED.  The child may free both, the
 * streams first; that never waits, and leaves most of their memory allocated.
 *
 * The manual page gzlzss(3) says the same at more length.
 */
#ifndef GZLZSS_H
#define GZLZSS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* --- What comes of a call ------------------------------------------------------------------- */

typedef enum gzlzss_status {
    GZLZSS_OK = 0,
    GZLZSS_STREAM_END = 1,      /* of a stream: all of it was processed, and all output was taken */
    GZLZSS_ERROR_ARGUMENT = -1, /* an argument is out of its range, or does not go with another */
    GZLZSS_ERROR_MEMORY = -2,   /* memory is short, or there can be no more threads */
    GZLZSS_ERROR_READ = -3,     /* reading failed: gzlzss_call.error_number is an errno */
    GZLZSS_ERROR_WRITE = -4,    /* writing failed, likewise */
    GZLZSS_ERROR_ROOM = -5,     /* the output buffer is too small */
    GZLZSS_ERROR_FORMAT = -6,   /* the input is in no format that gunzip reads */
    GZLZSS_ERROR_DATA = -7,     /* the input is damaged: its CRC or length is wrong, or more */
    GZLZSS_ERROR_TRUNCATED = -8,  /* the input ends before its end */
    GZLZSS_ERROR_TRAILING = -9,   /* all data was decompressed and is right, but something that is
                                   neither a member nor zeros follows; in_bytes says where */
    GZLZSS_ERROR_GPU = -10,       /* a GPU was asked for, and none can be used: gzlzss_no_gpu */
    GZLZSS_ERROR_CANCELLED = -11, /* gzlzss_cancel was called, or `progress` did not return 0 */
    GZLZSS_ERROR_FORKED = -12,    /* another process made the object */
    GZLZSS_ERROR_INTERNAL = -13   /* a bug in this library */
} gzlzss_status;

/* What it means, in a few English words without a full stop; never NULL. */
const char *gzlzss_status_text(gzlzss_status status);

/* --- Objects -------------------------------------------------------------------------------- */

/* GZLZSS_LEVEL_STORED does not compress: the input is stored, without a GPU, whatever `backend` is, and
 * without a `matcher`. */
#define GZLZSS_LEVEL_STORED 0
#define GZLZSS_LEVEL_MIN 1
#define GZLZSS_LEVEL_MAX 12
#define GZLZSS_LEVEL_DEFAULT 6

typedef enum gzlzss_backend {
    GZLZSS_AUTO = 0, /* the CPU, and GPUs if there are some and the input is large enough */
    GZLZSS_CPU = 1,
    GZLZSS_GPU = 2 /* GPUs find all matches; without one, gzlzss_new fails */
} gzlzss_backend;

/* Set all by GZLZSS_OPTIONS_INIT, then change what is to be different.  Later versions have more
 * members; `size` says which of them the program knows, and those that the library does not know
 * must be zero. */
typedef struct gzlzss_options {
    size_t size;            /* of the struct */
    int level;              /* GZLZSS_LEVEL_MIN to GZLZSS_LEVEL_MAX, or GZLZSS_LEVEL_STORED */
    int threads;            /* 1 to 1024; 0: as many as processors that the process may use */
    gzlzss_backend backend; /* of compression */
    size_t segment_size; /* bytes, 32768 to 33554432, a multiple of 1024; 0: the level's default */
    int rsyncable;       /* not 0: as gzip --rsyncable; segment_size does not count then */
    const int *devices;  /* numbers of the CUDA devices that may be used, copied; NULL: all */
    size_t device_count; /* 0 to 16 */
    const char *matcher; /* as the command's --matcher=NAME[,KEY=VALUE]...; NULL: the level's way */
} gzlzss_options;

#define GZLZSS_OPTIONS_INIT                                                               \
    {                                                                                     \
        sizeof(gzlzss_options), GZLZSS_LEVEL_DEFAULT, 0, GZLZSS_AUTO, 0, 0, NULL, 0, NULL \
    }

typedef struct gzlzss gzlzss;

/* Makes an object with these options, which may be NULL: the defaults.  On an error, *z is NULL.
 * One thread is started, and others when there is work for them. */
gzlzss_status gzlzss_new(gzlzss **z, const gzlzss_options *options);

/* No call on it may be under way, and its streams must be freed.  z may be NULL. */
void gzlzss_free(gzlzss *z);

/* Why no GPU can be used, if that was found out; else an empty string.  Up to `size` bytes with the
 * zero at the end.  With NULL: why this thread's last gzlzss_new failed with GZLZSS_ERROR_GPU. */
void gzlzss_no_gpu(const gzlzss *z, char *text, size_t size);

/* --- Calls ---------------------------------------------------------------------------------- */

/* What a call may be told beside its input and output.  Set all by GZLZSS_CALL_INIT. */
typedef struct gzlzss_call {
    size_t size;      /* of the struct */
    const char *name; /* for the header of what is compressed; NULL: none */
    uint32_t mtime;   /* likewise, seconds since 1970; 0: none */
    /* Called now and then with the bytes of input and output so far; if it does not return 0, the
     * call ends with GZLZSS_ERROR_CANCELLED.  By any thread, one at a time.  May be NULL.  It may
     * not use the object. */
    int (*progress)(void *ctx, uint64_t in, uint64_t out);
    void *ctx;
    int error_number; /* set after GZLZSS_ERROR_READ and GZLZSS_ERROR_WRITE; else 0 */
    /* Set by the call.  in_bytes: bytes of input, from where the call began.  Compression: all that
     * were read.  Decompression: those up to the end of the last member, also with
     * GZLZSS_ERROR_TRAILING: what follows the members starts there.  After any other error, about
     * where it was found.  out_bytes: bytes of output. */
    uint64_t in_bytes;
    uint64_t out_bytes;
} gzlzss_call;

#define GZLZSS_CALL_INIT                                  \
    {                                                     \
        sizeof(gzlzss_call), NULL, 0, NULL, NULL, 0, 0, 0 \
    }

/* In all of these, `call` may be NULL. */

/* The most bytes that gzlzss_compress makes of in_len, SIZE_MAX if no buffer has room for them or z is
 * NULL; without the header's name, which takes its length and one byte more. */
size_t gzlzss_bound(const gzlzss *z, size_t in_len);

/* Compresses in[0..in_len) into out, which has room for *out_len bytes; sets *out_len to how many
 * bytes there are, 0 on an error.  The buffers must not overlap. */
gzlzss_status gzlzss_compress(gzlzss *z, void *out, size_t *out_len, const void *in, size_t in_len,
                              gzlzss_call *call);

/* Decompresses, likewise.  On an error, *out_len is how many bytes were decompressed before it was
 * found; they may be wrong. */
gzlzss_status gzlzss_decompress(gzlzss *z, void *out, size_t *out_len, const void *in,
                                size_t in_len, gzlzss_call *call);

/* Compresses, or decompresses, what is left to read of one descriptor and writes to another.  The
 * calling thread waits for descriptors that are no regular files.  On success, a regular input file's
 * offset is just behind the data that was read.  What was written before an error stays. */
gzlzss_status gzlzss_compress_fd(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call);
gzlzss_status gzlzss_decompress_fd(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call);

/* Cancels the calls that were made with `call`, or all, if it is NULL: they end soon, with
 * GZLZSS_ERROR_CANCELLED, unless they are over before.  Calls that start while gzlzss_cancel runs may be
 * cancelled, too.  Any thread; not a signal handler. */
void gzlzss_cancel(gzlzss *z, const gzlzss_call *call);

/* --- Streams -------------------------------------------------------------------------------- */

typedef struct gzlzss_stream gzlzss_stream;

/* bytes[used..size) are still to be read, or free. */
typedef struct gzlzss_in {
    const void *bytes;
    size_t size;
    size_t used;
} gzlzss_in;

typedef struct gzlzss_out {
    void *bytes;
    size_t size;
    size_t used;
} gzlzss_out;

/* What is to be done with the input of a stream. */
typedef enum gzlzss_directive {
    GZLZSS_CONTINUE = 0, /* more may come */
    GZLZSS_END = 1,      /* the input ends with what is in *in */
    GZLZSS_FLUSH = 2     /* give all output that the input so far makes; of decompression alone */
} gzlzss_directive;

/* Begins a stream; on an error, *s is NULL.  `call` stays in use until gzlzss_stream_free. */
gzlzss_status gzlzss_compress_stream(gzlzss_stream **s, gzlzss *z, gzlzss_call *call);
gzlzss_status gzlzss_decompress_stream(gzlzss_stream **s, gzlzss *z, gzlzss_call *call);

/*
 * Takes input and gives output, and raises `used`.  Returns when
 *
 * - there is no more room for output, and more is there; or
 * - all of *in was taken, with GZLZSS_CONTINUE: what comes of it may be given by a later call;
 *   with GZLZSS_FLUSH, all that comes of it was given; or
 * - it is over: GZLZSS_STREAM_END with GZLZSS_END, when all was given (of a .zip, when the data of
 *   its file was); or an error.
 *
 * Until then it may wait for the object's threads, but for nothing else.  GZLZSS_OK: there is more
 * to do.  GZLZSS_END and GZLZSS_FLUSH are to be given again until it was done, while *in does not
 * grow.  in may be NULL: there is no input now.  One thread at a time for one stream.  After an
 * error other than GZLZSS_ERROR_ARGUMENT, every call returns the same.
 *
 * A stream that decompresses takes input before it needs it: when it is over, in->used may have gone
 * past the end of the last member.  call->in_bytes is where that is, from the stream's first byte on.
 *
 * A stream whose caller is away keeps little memory.  Compression keeps the input that is not compressed
 * yet, at most a segment, and output that was not taken.  Decompression keeps 8 MiB at most, after 0.1 s.
 */
gzlzss_status gzlzss_stream_run(gzlzss_stream *s, gzlzss_out *out, gzlzss_in *in,
                                gzlzss_directive directive);

/* Ends it, also before its end.  s may be NULL. */
void gzlzss_stream_free(gzlzss_stream *s);

/* --- Ranges: one member from many processes ------------------------------------------------- */

/*
 * A member is a header, DEFLATE data and a trailer; its DEFLATE data is that of its segments, one
 * after another.  So several processes can each compress some segments:
 *
 *     gzlzss_header, gzlzss_compress_range for all ranges in order, gzlzss_trailer
 *
 * makes the bytes of gzlzss_compress.
 */

/* Bytes of a segment; 0 if z is NULL. */
size_t gzlzss_segment_size(const gzlzss *z);

/* Writes a header into out, which has room for *out_len bytes, 10 and the name's length and one
 * more if there is one; sets *out_len.  Of `call`, the name and the time count. */
gzlzss_status gzlzss_header(const gzlzss *z, void *out, size_t *out_len, const gzlzss_call *call);

/* As gzlzss_compress, for some segments of an input: a multiple of the segment size, more than 0;
 * or, if is_last, the rest of the input, which may be 0 bytes only if that is the whole input.  *crc
 * becomes the CRC-32 of in[0..in_len).  Not with `rsyncable`. */
gzlzss_status gzlzss_compress_range(gzlzss *z, void *out, size_t *out_len, const void *in,
                                    size_t in_len, int is_last, uint32_t *crc, gzlzss_call *call);

/* The CRC-32 of two ranges, one after the other, of their CRCs and the second one's length. */
uint32_t gzlzss_crc32_combine(uint32_t first, uint32_t second, uint64_t second_len);

/* Writes the trailer, 8 bytes: of the CRC-32 and the length of the whole input. */
void gzlzss_trailer(void *out, uint32_t crc, uint64_t in_len);

/* --- Versions ------------------------------------------------------------------------------- */

/* The version of this header. */
#define GZLZSS_VERSION_MAJOR 0
#define GZLZSS_VERSION_MINOR 2
#define GZLZSS_VERSION_PATCH 0
#define GZLZSS_VERSION_STRING "0.2.0"

/* The version of the library in use, in the form of GZLZSS_VERSION_STRING.  It can differ from the
 * header's: a program may run with another release of the shared library than it was compiled with. */
const char *gzlzss_version(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
