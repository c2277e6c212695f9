/*
 * gzlzss.h - compress to gzip's format, and decompress, with all cores and NVIDIA GPUs
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
 * Objects.  Make one object (gzlzss_new) and keep it as long as the program compresses or
 * decompresses, because it owns threads, their memory, and GPUs.  Starting a GPU takes 0.3 s.
 *
 * Threads.  Any thread may call any function on an object at any time, except gzlzss_free.  Calls
 * from several threads share the object's threads and GPUs.  Only one thread at a time may use a
 * stream.  Only one call or stream at a time may use a gzlzss_call.  A call returns when its work
 * is done.  The object's threads do most of it; the calling thread decompresses memory and regular
 * files, and compresses inputs of up to 128 KiB in memory by itself.
 *
 * Output.  Compression writes one gzip member (RFC 1952), or another `format`.  Its bytes depend
 * only on the input, `level`, `format`, `segment_size`, `rsyncable` and `matcher`, on the name, the
 * time and the level in `call`, and on the places where a stream is flushed.  They do not depend on
 * threads, GPUs, or how the program gives the input.  If there is no name, time or flush,
 * `gzlzss -n` writes the same bytes with the same options.
 *
 * Input.  Decompression reads everything that gunzip reads: one or more members, and the formats
 * older than gzip (pack, compress, LZH; .zip with one file).  An object whose `format` is
 * GZLZSS_ZLIB or GZLZSS_RAW reads only that format.
 *
 * Errors.  Every function that can fail returns a gzlzss_status, and reports errors in no other
 * way: the library prints nothing, does not end the process, and leaves signal handlers as they
 * are.  A failed call leaves the object usable.
 *
 * NULL.  A NULL pointer gives GZLZSS_ERROR_ARGUMENT, unless the function's comment allows it.  A
 * function that returns void does nothing if it gets a NULL pointer.
 *
 * fork.  An object belongs to the process that made it.  In a child process, calls on the parent's
 * objects and streams return GZLZSS_ERROR_FORKED; make a new object there.  The child may free the
 * parent's objects and streams, the streams first.  This never waits, and leaves most of their
 * memory allocated.
 *
 * Stack.  A call takes up to 16 KiB of the calling thread's stack.
 *
 * The manual page gzlzss(3) tells more about memory, GPUs and signals.
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

/* --- Status --------------------------------------------------------------------------------- */

typedef enum gzlzss_status {
    /* The call did what it was asked to do.  From gzlzss_stream_run and gzlzss_decoder_run: the
     * stream has not ended; go on. */
    GZLZSS_OK = 0,
    /* gzlzss_stream_run and gzlzss_decoder_run only: the stream has ended, and the caller has all
     * of its output. */
    GZLZSS_STREAM_END = 1,
    /* gzlzss_decoder_run only: the data was compressed with a dictionary, which
     * gzlzss_decoder_dictionary gives. */
    GZLZSS_NEEDS_DICTIONARY = 2,
    /* An argument is out of range, contradicts another one, or is NULL where that is not
     * allowed. */
    GZLZSS_ERROR_ARGUMENT = -1,
    /* Memory is short, or the system refuses to start a thread. */
    GZLZSS_ERROR_MEMORY = -2,
    /* Reading failed.  gzlzss_call.error_number has the errno. */
    GZLZSS_ERROR_READ = -3,
    /* Writing failed.  gzlzss_call.error_number has the errno. */
    GZLZSS_ERROR_WRITE = -4,
    /* The output buffer is too small. */
    GZLZSS_ERROR_ROOM = -5,
    /* The input is in no format that the object (enum gzlzss_format) or the decoder reads. */
    GZLZSS_ERROR_FORMAT = -6,
    /* The input is damaged: invalid compressed data, or a wrong CRC or length. */
    GZLZSS_ERROR_DATA = -7,
    /* The input ends in the middle of a member. */
    GZLZSS_ERROR_TRUNCATED = -8,
    /* All data was decompressed and is right, but bytes follow that are neither a member nor zeros.
     * gzlzss_call.in_bytes says where they start.  A .zip with more than one file gives this
     * status, too. */
    GZLZSS_ERROR_TRAILING = -9,
    /* The program asked for a GPU and no GPU can be used.  gzlzss_no_gpu says why. */
    GZLZSS_ERROR_GPU = -10,
    /* gzlzss_cancel was called, or `progress` returned a value other than 0. */
    GZLZSS_ERROR_CANCELLED = -11,
    /* Another process made the object. */
    GZLZSS_ERROR_FORKED = -12,
    /* A bug in this library, or faulty memory or a faulty processor.  With `verify`: the compressed
     * data does not decode to the input. */
    GZLZSS_ERROR_INTERNAL = -13
} gzlzss_status;

/* Returns a status in a few English words, without a full stop.  Never NULL.  The string is
 * constant: do not free it. */
const char *gzlzss_status_text(gzlzss_status status);

/* --- Objects -------------------------------------------------------------------------------- */

/* Levels 1 to 12 are those of the command: higher is slower and smaller.  Level 0 (STORED) copies
 * the input into a member without compressing it; compression then uses no GPU, whatever `backend`
 * says, and allows no `matcher`. */
#define GZLZSS_LEVEL_STORED 0
#define GZLZSS_LEVEL_MIN 1
#define GZLZSS_LEVEL_MAX 12
#define GZLZSS_LEVEL_DEFAULT 6

/* The engine that finds matches during compression.  Decompression uses the CPU; only the functions
 * of gzlzss_cuda.h that decompress may use a GPU, with GZLZSS_AUTO and with GZLZSS_GPU. */
typedef enum gzlzss_backend {
    GZLZSS_AUTO = 0, /* the CPU, and also GPUs if there are any and the input is large enough */
    GZLZSS_CPU = 1,  /* the CPU only */
    /* GPUs only; gzlzss_new fails if none can be used.  If a GPU fails later, the CPU does its
     * work. */
    GZLZSS_GPU = 2
} gzlzss_backend;

/* The formats that contain DEFLATE data (RFC 1951). */
typedef enum gzlzss_format {
    /* RFC 1952.  Decompression reads everything that gunzip reads. */
    GZLZSS_GZIP,
    /* RFC 1950, without a dictionary.  Name and time are not stored. */
    GZLZSS_ZLIB,
    /* DEFLATE alone: no header, no check value.  Name and time are not stored. */
    GZLZSS_RAW,
    /* BGZF (SAM specification, 4.1): a .gz made of members of at most 64 KiB, whose headers give
     * their sizes.  htslib, samtools and tabix need it.  A member is a segment.  The output of
     * levels 1 to 9 is about as small as that of bgzip's levels with the same numbers.  Name and
     * time are not stored.  Decompression is as with GZLZSS_GZIP. */
    GZLZSS_BGZF,
    /* A zip file with one entry.  Ranges are not possible.  Decompression is as with
     * GZLZSS_GZIP. */
    GZLZSS_ZIP
} gzlzss_format;

/* Initialize with GZLZSS_OPTIONS_INIT, then set the members that you want to change.  Later
 * versions may add members at the end; `size` tells the library which members the program has.  If
 * a program was compiled with a later header, it must leave the members that this library lacks at
 * zero; otherwise gzlzss_new returns GZLZSS_ERROR_ARGUMENT. */
typedef struct gzlzss_options {
    size_t size; /* sizeof(gzlzss_options): set by GZLZSS_OPTIONS_INIT */
    int level;   /* GZLZSS_LEVEL_STORED, or GZLZSS_LEVEL_MIN to GZLZSS_LEVEL_MAX */
    /* The most threads that compress or decompress: 1 to 1024.  0: one for each processor that the
     * process may use by its affinity mask and its control groups' quotas.  The object has fewer
     * threads if memory is limited.  Beside these, each GPU has up to eight threads, which mostly
     * wait, and each decompressing stream has one. */
    int threads;
    gzlzss_backend backend; /* GZLZSS_GPU cannot be combined with `rsyncable` */
    /* Bytes of a segment: 32768 to 33554432, a multiple of 1024.  0: 2 MiB, or 4 MiB from level 10
     * on.  Segments are compressed independently, side by side.  GZLZSS_BGZF: 32768 to 64512; 0:
     * 65280, as bgzip has it. */
    size_t segment_size;
    /* Not 0: let the content decide where segments end, as `gzlzss --rsyncable` does.  Then
     * segment_size has no effect, and no GPU compresses. */
    int rsyncable;
    /* CUDA device numbers, 0 or larger, that the object may use; gzlzss_new copies them. */
    const int *devices;
    size_t device_count; /* number of `devices`, 1 to 16; 0: all GPUs may be used */
    /* Find matches by the method of a paper: NAME[,KEY=VALUE]... as in the command's --matcher.
     * NULL: the level's own match finder.  gzlzss_new does not keep the pointer. */
    const char *matcher;
    gzlzss_format format; /* GZLZSS_BGZF cannot be combined with `rsyncable` */
    /* Not 0: decode what was compressed again, in memory, before it is given out, and compare its
     * length and check value with the input's.  If they differ, the call or stream ends with
     * GZLZSS_ERROR_INTERNAL.  This takes as long as decompression.  The output is the same.
     * `gzlzss --verify` does more: it reads its output files back. */
    int verify;
    /* Not 0: decompression and readers also accept a member that comes after zeros that follow
     * another member, as Python's gzip does.  Otherwise, such a member is trailing garbage, as for
     * GNU gzip.  Also as in Python, a lone byte 1f after the last member is then garbage.
     * Otherwise, it is a truncated member. */
    int skip_zeros;
} gzlzss_options;

#define GZLZSS_OPTIONS_INIT                                                                \
    {                                                                                      \
        sizeof(gzlzss_options), GZLZSS_LEVEL_DEFAULT, 0, GZLZSS_AUTO, 0, 0, NULL, 0, NULL, \
            GZLZSS_GZIP, 0, 0                                                              \
    }

/* Does what GZLZSS_OPTIONS_INIT does, for callers that have no macros of C.  `size` is the size of
 * the caller's struct in bytes, which may be that of an older or a later header: sets the members
 * that the library knows, and the rest of the struct to zeros.  Does nothing if options is NULL or
 * size is less than sizeof(size_t). */
void gzlzss_options_init(gzlzss_options *options, size_t size);

typedef struct gzlzss gzlzss;

/*
 * Makes an object and sets *z.  Free it with gzlzss_free.  options == NULL means the defaults.
 *
 * One thread starts at once; others start when there is work for them.  With GZLZSS_GPU, the GPU
 * starts at once, too; with GZLZSS_AUTO, when an input is large enough.
 *
 * On an error, *z is NULL.  GZLZSS_ERROR_ARGUMENT: an option is invalid.  GZLZSS_ERROR_MEMORY:
 * memory is short, no thread can be started, or a control group's limit is too low for this level
 * and segment size.  GZLZSS_ERROR_GPU: GZLZSS_GPU was asked for, and no GPU can be used.
 */
gzlzss_status gzlzss_new(gzlzss **z, const gzlzss_options *options);

/* Frees an object.  First free its streams, and let all calls on it return.  Waits for the object's
 * threads to end, and for a GPU that is still starting.  z may be NULL. */
void gzlzss_free(gzlzss *z);

/* Writes to text the reason why no GPU can be used, or why one failed: at most size - 1 bytes of
 * English words, and a zero byte.  A size of 256 is enough.  The text is empty while the object
 * knows of no such reason.  If z is NULL, the text says why the calling thread's last gzlzss_new
 * returned GZLZSS_ERROR_GPU. */
void gzlzss_no_gpu(const gzlzss *z, char *text, size_t size);

/* --- Calls ---------------------------------------------------------------------------------- */

/*
 * Further arguments and results of a call.  Functions accept NULL instead of a gzlzss_call.  A call
 * with NULL has no name, no time, no `progress`, and no results.
 *
 * Initialize with GZLZSS_CALL_INIT; `size` is as in gzlzss_options.  The struct and the memory to
 * which it points must stay valid until the call returns; for a stream, until gzlzss_stream_free.
 * Use one struct for one call or stream at a time.
 */
typedef struct gzlzss_call {
    size_t size; /* sizeof(gzlzss_call): set by GZLZSS_CALL_INIT */
    /* Compression: the file's name for the header, stored as it is.  RFC 1952 wants it
     * without directories.  NULL: the header has no name. */
    const char *name;
    uint32_t mtime; /* compression: the time for the header, seconds since 1970; 0: none */
    /* Called now and then with the bytes read and written so far.  Return 0 to go on; any other
     * value makes the call end with GZLZSS_ERROR_CANCELLED.  Any thread may call it, but only one
     * at a time.  It must not call functions on the object.  May be NULL. */
    int (*progress)(void *ctx, uint64_t in, uint64_t out);
    void *ctx; /* the first argument of `progress` */
    /* The members below are set by the library.  Read them after the call has returned; for a
     * stream, after its end or an error.  They are set to 0 when the call begins. */
    int error_number; /* errno after GZLZSS_ERROR_READ and GZLZSS_ERROR_WRITE; else 0 */
    /* Bytes of input, counted from where the call began.  Compression: all bytes read.
     * Decompression: the bytes up to the end of the last member; with GZLZSS_ERROR_TRAILING, the
     * bytes that follow the members start there.  After another error: about where the error was
     * found. */
    uint64_t in_bytes;
    uint64_t out_bytes; /* bytes of output */
    /* Compression: the level of this call or stream, GZLZSS_LEVEL_MIN to GZLZSS_LEVEL_MAX, or
     * GZLZSS_CALL_STORED for level 0.  0: the object's level.  The segment size stays the object's.
     *
     * With a level other than the object's, the CPU compresses, and threads do not share a segment.
     * A thread that goes from one level to another gets new memory first, which takes some 0.1 ms.
     * GZLZSS_ERROR_ARGUMENT: there is no such level, it needs more memory than the object's level,
     * or the object has a `matcher`.  From the least memory to the most, the levels are 0, 2, 1, 3
     * to 6, 7 to 9, and 10 to 12; with GZLZSS_BGZF, 0, 1, 2 to 5, 6 to 7, and 8 to 12. */
    int level;
    /* Set by the library, like error_number.  Decompression: what GZLZSS_ERROR_DATA or
     * GZLZSS_ERROR_FORMAT is about, in the words of gzlzss_decoder_error, as "incorrect data
     * check" for a wrong CRC, or NULL.  The string is constant: do not free it. */
    const char *message;
} gzlzss_call;

/* Level 0 (GZLZSS_LEVEL_STORED) as the level of a call. */
#define GZLZSS_CALL_STORED (-1)

#define GZLZSS_CALL_INIT                                           \
    {                                                              \
        sizeof(gzlzss_call), NULL, 0, NULL, NULL, 0, 0, 0, 0, NULL \
    }

/* Does what GZLZSS_CALL_INIT does, as gzlzss_options_init for the options. */
void gzlzss_call_init(gzlzss_call *call, size_t size);

/* Returns the most bytes that gzlzss_compress or gzlzss_compress_range can write for in_len bytes
 * of input with this object's options.  If call->name is set, add strlen(name) + 1; with
 * GZLZSS_ZIP, add twice as much.  Returns SIZE_MAX if no buffer can be that large, or if z is
 * NULL. */
size_t gzlzss_bound(const gzlzss *z, size_t in_len);

/*
 * Compresses in[0..in_len) into out.
 *
 * *out_len: before the call, the size of out in bytes; afterwards, the bytes written.  On an error
 * it is 0.  The buffers must not overlap.  A pointer may be NULL if its length is 0; an empty input
 * gives a member, too.
 *
 * GZLZSS_ERROR_ROOM: out is too small.  A buffer of gzlzss_bound bytes is always large enough.
 */
gzlzss_status gzlzss_compress(gzlzss *z, void *out, size_t *out_len, const void *in, size_t in_len,
                              gzlzss_call *call);

/*
 * Decompresses in[0..in_len), with all members in it, into out.
 *
 * *out_len: before the call, the size of out in bytes; afterwards, the bytes written.  On an error
 * it is the number of bytes decompressed before the error was found; they may be wrong.  The
 * buffers must not overlap.  A pointer may be NULL if its length is 0.
 *
 * GZLZSS_ERROR_ROOM: out is too small.  A .gz does not reliably say how large its data is.  If you
 * do not know the size, use a stream or a descriptor.  GZLZSS_ERROR_TRAILING: all output is right;
 * the program may ignore the bytes that follow the members.  An empty input gives
 * GZLZSS_ERROR_TRUNCATED.
 */
gzlzss_status gzlzss_decompress(gzlzss *z, void *out, size_t *out_len, const void *in,
                                size_t in_len, gzlzss_call *call);

/*
 * Like gzlzss_compress and gzlzss_decompress, but write to memory that grows with the output.
 *
 * The call gets the memory from resize(ctx, memory, size), which works like realloc(): it returns
 * memory for `size` bytes, 1 or more, which begins with the bytes at `memory`.  `memory` is the
 * last result of `resize`, or NULL at first.  If `resize` returns other memory, it frees `memory`.
 * If it returns NULL, `memory` stays valid, and the call ends with GZLZSS_ERROR_MEMORY.  resize ==
 * NULL means realloc().  Any thread may call `resize`, but one at a time.  `resize` must not call
 * functions on the object.
 *
 * The memory grows by half at a time, and shrinks to the output's size at the end; `resize` may
 * refuse to shrink it.  *out becomes the memory, also after an error, and the program frees it.
 * *out is NULL if nothing was written.  *out_len becomes the bytes of output.  After an error,
 * gzlzss_compress_new sets *out_len to 0, and gzlzss_decompress_new sets it to the bytes
 * decompressed before the error was found; these bytes may be wrong.  Neither function returns
 * GZLZSS_ERROR_ROOM.
 *
 * A small input can decompress to a thousand times its size.  If you want a limit, let `resize`
 * return NULL above it.
 */
gzlzss_status gzlzss_compress_new(gzlzss *z, void **out, size_t *out_len,
                                  void *(*resize)(void *ctx, void *memory, size_t size), void *ctx,
                                  const void *in, size_t in_len, gzlzss_call *call);
gzlzss_status gzlzss_decompress_new(gzlzss *z, void **out, size_t *out_len,
                                    void *(*resize)(void *ctx, void *memory, size_t size),
                                    void *ctx, const void *in, size_t in_len, gzlzss_call *call);

/*
 * Read in_fd from its current position to its end, and write the compressed or decompressed data to
 * out_fd at its current position.  The descriptors stay open.  They may be non-blocking.
 *
 * On success, a regular input file's offset is just after the data read.  After an error, the bytes
 * already written stay in the output.
 *
 * Where a descriptor is not a regular file, the calling thread waits for it.  gzlzss_cancel ends
 * this wait, except for terminals, and for pipes to which other processes write at the same time.
 * Writing to a pipe without a reader gives GZLZSS_ERROR_WRITE with EPIPE, and no SIGPIPE.
 */
gzlzss_status gzlzss_compress_fd(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call);
gzlzss_status gzlzss_decompress_fd(gzlzss *z, int out_fd, int in_fd, gzlzss_call *call);

/*
 * Cancels the call or the stream that uses *call.  If `call` is NULL, cancels all calls and streams
 * of the object.  A cancelled call soon ends with GZLZSS_ERROR_CANCELLED, unless it ends by itself
 * first.
 *
 * gzlzss_cancel does not wait for the calls to end, and does not affect calls that start later.
 * Calls that start while it runs may be cancelled, too.  Any thread may call it, but not a signal
 * handler.
 */
void gzlzss_cancel(gzlzss *z, const gzlzss_call *call);

/* --- Streams -------------------------------------------------------------------------------- */

typedef struct gzlzss_stream gzlzss_stream;

/* A stream's input: bytes[used..size) has not been taken yet.  gzlzss_stream_run raises `used`. */
typedef struct gzlzss_in {
    const void *bytes;
    size_t size;
    size_t used;
} gzlzss_in;

/* A stream's output buffer: bytes[used..size) is free.  gzlzss_stream_run raises `used`. */
typedef struct gzlzss_out {
    void *bytes;
    size_t size;
    size_t used;
} gzlzss_out;

/* Says what a stream shall do with its input. */
typedef enum gzlzss_directive {
    GZLZSS_CONTINUE = 0, /* take the input, which may be none; more may follow */
    GZLZSS_END = 1,      /* take the input, which ends with *in, and give all output */
    /* Take the input, and give all output that it makes; more may follow.  Compression: the other
     * side can then decode all input so far, as after zlib's Z_SYNC_FLUSH.  With GZLZSS_BGZF, a
     * flush ends a member. */
    GZLZSS_FLUSH = 2,
    /* Compression: as GZLZSS_FLUSH; also, the output that follows can be decoded without the output
     * so far, as after zlib's Z_FULL_FLUSH.  Decompression: the same as GZLZSS_FLUSH. */
    GZLZSS_FULL_FLUSH = 3
} gzlzss_directive;

/* Begin a stream for one input, and set *s.  End it with gzlzss_stream_free, before gzlzss_free.
 * On an error, *s is NULL.  *call, if given, must stay valid until gzlzss_stream_free. */
gzlzss_status gzlzss_compress_stream(gzlzss_stream **s, gzlzss *z, gzlzss_call *call);
gzlzss_status gzlzss_decompress_stream(gzlzss_stream **s, gzlzss *z, gzlzss_call *call);

/*
 * Takes input from *in, puts output into *out, and raises `used` of both.  Afterwards, the buffers
 * are the caller's again.  in == NULL means no input; out->bytes may be NULL if out->size is 0.
 * One thread at a time may run a stream.
 *
 * If out is full and there is more output, the function returns GZLZSS_OK: call it again with more
 * room and the same directive.  Otherwise, each directive has its own end:
 *
 * - GZLZSS_CONTINUE returns GZLZSS_OK when it has taken all of *in.  Later calls may give the
 *   output of that input.
 * - GZLZSS_FLUSH and GZLZSS_FULL_FLUSH return GZLZSS_OK when they have taken all of *in and given
 *   all of its output.  So a flush is complete when out is not full; until then, do not add to *in.
 * - GZLZSS_END returns GZLZSS_STREAM_END when it has given all output.  Until then, do not add to
 *   *in.
 *
 * Decompression may end without GZLZSS_END.  A .zip or LZH input ends by itself: any directive
 * returns GZLZSS_STREAM_END once the file's data is complete.  Errors, too, may come with any
 * directive.  After GZLZSS_STREAM_END, and after an error other than GZLZSS_ERROR_ARGUMENT, every
 * further call returns the same status.
 *
 * A call may wait for the object's threads, but for nothing else.
 *
 * A compressing stream gives the output of whole segments, and the rest at the end.  To get output
 * sooner, flush the stream, or choose smaller segments.
 *
 * The output depends on the places of flushes, too: two streams with the same input and options,
 * flushed at the same places, give the same bytes.
 *
 * A flush without new input adds nothing if the call before was a flush, too, and not a weaker one.
 * Otherwise it gives an empty block of 5 or 6 bytes, as zlib's flushes do: at the stream's start
 * (after the header), after a GZLZSS_CONTINUE, even one without input, and if a full flush follows
 * a flush.  So a protocol whose messages end with flushes can have a message without bytes: call
 * GZLZSS_CONTINUE for each message, then GZLZSS_FLUSH.  All these blocks end with 00 00 FF FF.  In
 * BGZF, a flush without new input gives nothing.
 *
 * Input of up to 128 KiB between two flushes, or after the last one, is a piece.  The calling
 * thread compresses a piece by itself.  A piece may refer to the 32 KiB before it, so small pieces
 * lose little.  Levels 1 and 10 to 12 find the matches of a piece as levels 2 and 9 do.  A flush
 * after more than 128 KiB ends a segment, as a full flush does, and the object's threads compress
 * that segment.  With GZLZSS_BGZF or `matcher`, every flush ends a segment, which the object's
 * threads compress.  With `rsyncable`, the object's threads compress pieces, too.
 *
 * A decompressing stream takes input before it needs it.  When it ends, in->used may be past the
 * end of the last member; call->in_bytes is where the member ends, counted from the stream's first
 * byte.
 *
 * A stream that the caller does not run keeps little memory.  Compression keeps input that is not
 * yet compressed, at most one segment, and output that the caller has not taken.  After a flush, it
 * also keeps up to 256 KiB (128 KiB if no piece has more than 64 KiB).  The object keeps the tables
 * of the last 256 streams that were flushed, up to 1 MiB each, but at most an eighth of limited
 * memory.  From 0.1 s after the last call on, decompression keeps at most 8 MiB.
 */
gzlzss_status gzlzss_stream_run(gzlzss_stream *s, gzlzss_out *out, gzlzss_in *in,
                                gzlzss_directive directive);

/* Frees a stream.  If it has not ended, its work is cancelled first.  s may be NULL. */
void gzlzss_stream_free(gzlzss_stream *s);

/* --- Decoders: one stream, in the calling thread -------------------------------------------- */

/*
 * A decoder decompresses one stream, in pieces of any size, as zlib's inflate() does.  It needs no
 * object, has no thread, and takes no byte after the stream's end.  It is for data that comes in
 * small pieces, for many streams at a time, and for what the functions above do not read: preset
 * dictionaries, and data of which one member shall be read.
 *
 *     gzlzss_decoder *d;
 *     status = gzlzss_decoder_new(&d, 31);
 *     ...
 *     status = gzlzss_decoder_run(d, &out, &in);
 *     ...
 *     gzlzss_decoder_free(d);
 *
 * Only one thread at a time may use a decoder.  A decoder works in a child process after fork().
 *
 * Memory.  A new decoder takes less than 1 KB.  Once it has decoded data, it keeps 44 KB of tables,
 * and 32 KB for the last bytes of the output, however long it is idle.  At the stream's end and
 * after an error, it gives up all but 1 KB.
 */
typedef struct gzlzss_decoder gzlzss_decoder;

/*
 * Makes a decoder and sets *d.  window_bits says what it reads, in the numbers of zlib's
 * inflateInit2():
 *
 * - 8 to 15: zlib's format.  A header with a larger window than 1 << window_bits bytes is an error;
 * - 0: zlib's format, with any window;
 * - 24 to 31, and 16: gzip's format, one member;
 * - 40 to 47, and 32: zlib's or gzip's, as the header says;
 * - -8 to -15: DEFLATE alone.
 *
 * The decoder always keeps 32 KiB of its output, so it accepts matches from any distance that
 * DEFLATE has.  On an error, *d is NULL.  GZLZSS_ERROR_ARGUMENT: window_bits is none of these.
 */
gzlzss_status gzlzss_decoder_new(gzlzss_decoder **d, int window_bits);

/* Makes a decoder that goes on from where `d` is, and sets *copy. */
gzlzss_status gzlzss_decoder_copy(gzlzss_decoder **copy, const gzlzss_decoder *d);

/*
 * Decodes from *in to *out, and raises `used` of both.  Afterwards, the buffers are the caller's
 * again.  All bytes of *out after `used` may be overwritten.  in == NULL means no input; out->bytes
 * may be NULL if out->size is 0.  Returns
 *
 * - GZLZSS_OK: all input is taken, or out is full.  If out is not full, there is no more output
 *   without more input.  If the input ends here, the data is truncated;
 * - GZLZSS_STREAM_END: the stream has ended, just before in->used.  Its check value (gzip, zlib)
 *   and its length (gzip) are right;
 * - GZLZSS_NEEDS_DICTIONARY: call gzlzss_decoder_dictionary, and then run the decoder again;
 * - GZLZSS_ERROR_FORMAT: the header is in no format that the decoder reads;
 * - GZLZSS_ERROR_DATA: the data is damaged, or does not match its trailer; or gzip's header does
 *   not match its CRC.  All bytes before the error are in the output.  A code that means nothing is
 *   reported once 15 bits of input from its start on are there, even if it is shorter;
 * - GZLZSS_ERROR_MEMORY.
 *
 * After GZLZSS_STREAM_END and after an error other than GZLZSS_ERROR_ARGUMENT, every further call
 * takes nothing and returns the same status.
 */
gzlzss_status gzlzss_decoder_run(gzlzss_decoder *d, gzlzss_out *out, gzlzss_in *in);

/* Gives the decoder the dictionary with which the data was compressed, and which it copies: after
 * GZLZSS_NEEDS_DICTIONARY or, for DEFLATE alone, before any input.  GZLZSS_ERROR_DATA: this is not
 * the dictionary that the header asks for; another may be tried.  GZLZSS_ERROR_ARGUMENT: the
 * decoder takes no dictionary now. */
gzlzss_status gzlzss_decoder_dictionary(gzlzss_decoder *d, const void *dictionary, size_t len);

/* Returns what GZLZSS_ERROR_FORMAT or GZLZSS_ERROR_DATA is about, in zlib's words for headers and
 * trailers ("incorrect header check"); else an empty string.  The string is constant. */
const char *gzlzss_decoder_error(const gzlzss_decoder *d);

/* Frees a decoder, which may be NULL. */
void gzlzss_decoder_free(gzlzss_decoder *d);

/* --- Files ---------------------------------------------------------------------------------- */

/*
 * Reading and writing a .gz a few bytes at a time, as with stdio or with zlib's gzread and gzwrite.
 *
 *     gzlzss_file *f;
 *     size_t len = sizeof(line);
 *     status = gzlzss_file_open(&f, z, "log.gz", GZLZSS_READ, NULL);
 *     status = gzlzss_file_read(f, line, &len);
 *     ...
 *     status = gzlzss_file_close(f);
 *
 * Only one thread at a time may use a file.  Close it before gzlzss_free.  A file is a stream, and
 * works with the object's threads.  It is read and written in the object's format.  A call may wait
 * for the descriptor; gzlzss_cancel does not end this wait.  Writing to a pipe without a reader
 * gives GZLZSS_ERROR_WRITE, and no SIGPIPE.  An error stays, that is, all further calls return it.
 * The exception is a read error: gzlzss_file_seek may go back to a byte before it, and then reading
 * goes on there.
 */
typedef struct gzlzss_file gzlzss_file;

typedef enum gzlzss_file_mode {
    GZLZSS_READ = 0,
    GZLZSS_WRITE = 1,  /* write a member; a file that exists is emptied first */
    GZLZSS_APPEND = 2, /* write a member after the file's other members */
    GZLZSS_CREATE = 3  /* write a member; it is an error if the file exists */
} gzlzss_file_mode;

/*
 * Opens a file by its path, and sets *file.  On an error, *file is NULL.  If open(2) fails, the
 * status is GZLZSS_ERROR_READ or GZLZSS_ERROR_WRITE, and call->error_number has the errno.  New
 * files have mode 0666 less the umask.  As with fopen, a link is followed, and a device or a pipe
 * is written to; nothing is removed or replaced.
 *
 * call: the header's name and time, `level` and `progress`, or NULL; it must stay valid until
 * gzlzss_file_close.
 */
gzlzss_status gzlzss_file_open(gzlzss_file **file, gzlzss *z, const char *path,
                               gzlzss_file_mode mode, gzlzss_call *call);

/* Like gzlzss_file_open, for an open descriptor.  Reads or writes from the descriptor's position
 * on, also with GZLZSS_APPEND.  gzlzss_file_close leaves the descriptor open.  After reading, the
 * descriptor's position may be anywhere after the data that was read. */
gzlzss_status gzlzss_file_of(gzlzss_file **file, gzlzss *z, int fd, gzlzss_file_mode mode,
                             gzlzss_call *call);

/* Reads decompressed bytes.  *len: before the call, the bytes wanted; afterwards, the bytes read.
 * Fewer bytes than wanted are read only at the end of the data, where the status is GZLZSS_OK, or
 * after an error.  With GZLZSS_ERROR_TRAILING, all bytes that were read are right. */
gzlzss_status gzlzss_file_read(gzlzss_file *f, void *out, size_t *len);

/* Writes bytes to be compressed.  They may stay in memory until gzlzss_file_flush or
 * gzlzss_file_close. */
gzlzss_status gzlzss_file_write(gzlzss_file *f, const void *in, size_t len);

/* Compresses all bytes so far and writes them to the descriptor, so that the other side can decode
 * them now.  directive: GZLZSS_FLUSH or GZLZSS_FULL_FLUSH.  Writing no bytes does not count as a
 * GZLZSS_CONTINUE, so a flush after it adds nothing. */
gzlzss_status gzlzss_file_flush(gzlzss_file *f, gzlzss_directive directive);

/* Reading: goes to byte `offset` of the decompressed data, or to the data's end if that comes
 * first.  To go forward, this decompresses the bytes in between.  To go back by more than some KB,
 * it starts again where the file began, so the descriptor must be a regular file.  If it is not, or
 * if the file is written, the status is GZLZSS_ERROR_ARGUMENT, and the position stays. */
gzlzss_status gzlzss_file_seek(gzlzss_file *f, uint64_t offset);

/* The number of decompressed bytes before the next byte to read or write; 0 if f is NULL. */
uint64_t gzlzss_file_tell(const gzlzss_file *f);

/* Whether all data was read.  As with feof, the result may be 0 although the next read gives no
 * bytes. */
int gzlzss_file_eof(const gzlzss_file *f);

/* Returns the error that all further calls return, or GZLZSS_OK.  Sets *error_number to the errno
 * after GZLZSS_ERROR_READ and GZLZSS_ERROR_WRITE, else to 0.  error_number may be NULL. */
gzlzss_status gzlzss_file_error(const gzlzss_file *f, int *error_number);

/* Writes the remaining data and the member's end; closes the descriptor if gzlzss_file_open has
 * opened it; and frees f, also after an error.  Returns the file's error if it has one, else the
 * error of these steps, or GZLZSS_OK.  The data of a written file is complete only if this returns
 * GZLZSS_OK.  f may be NULL. */
gzlzss_status gzlzss_file_close(gzlzss_file *f);

/* --- Readers: the decompressed data at any place -------------------------------------------- */

/*
 * A reader reads the decompressed data of a file or of memory at any place, like pread(2).  Several
 * threads may read from one reader at the same time.
 *
 *     gzlzss_reader *r;
 *     status = gzlzss_reader_fd(&r, z, fd, NULL);
 *     ...
 *     size_t len = sizeof(buffer);
 *     status = gzlzss_reader_read(r, buffer, &len, offset, NULL);
 *
 * The input must be in gzip's own format, with one or more members.  Each read decodes from the
 * last place before `offset` that the reader knows.  It knows places from an index
 * (gzlzss_reader_index), from BGZF's headers, from the marks of gzlzss and `pigz -i`, and from
 * earlier reads: it remembers one place for each MiB that was decoded.  So without an index and
 * marks, the first read far into the data decodes all data before `offset`.
 *
 * All threads of the object decode if more than 8 MiB of data come between that place and `offset`,
 * or if *len is more than 8 MiB.  Otherwise, only the calling thread does.  So to read much, read
 * tens of MiB in a call.
 *
 * A reader takes up to 32 MiB of memory for places, and 0.7 MiB for each of the last four reads and
 * for each read under way.  If 32 MiB are not enough, it forgets every second place.
 *
 * An index and marks may be wrong.  Before a read returns data that was decoded from such a place,
 * it checks that decoding comes to the next place, or to the end of the data, where the index or
 * the marks say.  The first such read also decodes the data before the first place, if that has at
 * most 64 MiB, and compares.  If anything differs, the reader ignores the index and the marks from
 * then on, and forgets all that it has found out by them; later reads, the size and an exported
 * index are right.  Data that earlier reads have returned may have been wrong.
 *
 * These things cannot be noticed: an index whose places from some place on are all shifted by the
 * same number of bytes, until a read decodes the data before the first of these; an index whose
 * places are right, but whose windows (bytes before a place) were changed on purpose; and a file
 * that was made so that its marks mislead.  So use an index only if you trust its author as much as
 * the file's author.  The library looks for no index itself.  A program that does should look at
 * the owner: the command passes over an index that belongs neither to the user, nor to root, nor to
 * the file's owner.  A read checks a member's CRC only if it decodes the member from its start to
 * its end.
 *
 * The members `name`, `mtime` and `progress` of `call` have no effect; gzlzss_cancel ends a read.
 * After gzlzss_reader_read, call->in_bytes is about the place in the input where the read has
 * ended, or 0 if all threads have decoded the data.
 */
typedef struct gzlzss_reader gzlzss_reader;

/*
 * Make a reader of the regular file fd, from the file's byte 0 on, or of in[0..in_len), and set *r.
 * The file or memory must stay as it is until gzlzss_reader_free, which comes before gzlzss_free.
 * The descriptor stays open, and its position stays as it is.
 *
 * On an error, *r is NULL.  GZLZSS_ERROR_ARGUMENT: fd is no regular file.  A file in another format
 * is noticed by the first read.
 */
gzlzss_status gzlzss_reader_fd(gzlzss_reader **r, gzlzss *z, int fd, gzlzss_call *call);
gzlzss_status gzlzss_reader_memory(gzlzss_reader **r, gzlzss *z, const void *in, size_t in_len,
                                   gzlzss_call *call);

/* Frees a reader.  Let all reads return first.  r may be NULL. */
void gzlzss_reader_free(gzlzss_reader *r);

/*
 * Gives the reader an index of the input: of bgzip (.gzi), of gztool or of indexed_gzip, in the
 * regular file fd or in index[0..index_len), which must stay as it is until gzlzss_reader_free.
 * Call this before the first read.
 *
 * GZLZSS_ERROR_FORMAT: this is no index.  GZLZSS_ERROR_DATA: it is damaged, or belongs to a file of
 * another length.  After an error, the reader works without the index.
 */
gzlzss_status gzlzss_reader_index_fd(gzlzss_reader *r, int fd, gzlzss_call *call);
gzlzss_status gzlzss_reader_index(gzlzss_reader *r, const void *index, size_t index_len,
                                  gzlzss_call *call);

/*
 * Reads *len bytes of the data from byte `offset` on into buf.  *len becomes the number of bytes
 * read.  This is less than before only at the end of the data, and 0 after the end.  Bytes after
 * the last member that are no member are ignored.
 *
 * After an error, *len is 0.  GZLZSS_ERROR_FORMAT: the input is empty, or not in gzip's own format.
 * GZLZSS_ERROR_DATA and GZLZSS_ERROR_TRUNCATED: the input is damaged where it had to be decoded.
 */
gzlzss_status gzlzss_reader_read(gzlzss_reader *r, void *buf, size_t *len, uint64_t offset,
                                 gzlzss_call *call);

/* Sets *size to the bytes of the data.  If neither an index nor marks give the size, decodes all of
 * the input once.  If they do, decodes from the last place on; the size is then as right as that
 * place.  Errors are those of gzlzss_reader_read. */
gzlzss_status gzlzss_reader_size(gzlzss_reader *r, uint64_t *size, gzlzss_call *call);

/* The format of an index that is written.  The index of a BGZF file always has bgzip's. */
typedef enum gzlzss_index_format {
    GZLZSS_INDEX_GZTOOL = 0, /* at most about two thousandths of the input's size */
    /* 32 KiB for each 8 MiB of the data, except at places to which nothing refers back */
    GZLZSS_INDEX_INDEXED_GZIP = 1
} gzlzss_index_format;

/*
 * Writes an index of the input to out, for later readers and other programs.  If the reader does
 * not know all places yet, it first decodes the rest of the input.  Places of the reader's own
 * index are written, too, if no read has found them wrong.
 *
 * *out_len: before the call, the size of out in bytes; afterwards, the bytes of the index.
 * GZLZSS_ERROR_ROOM: out is too small; *out_len is the size that is needed.  Other errors are those
 * of gzlzss_reader_read, and set *out_len to 0.  out may be NULL if *out_len is 0.
 */
gzlzss_status gzlzss_reader_export(gzlzss_reader *r, gzlzss_index_format format, void *out,
                                   size_t *out_len, gzlzss_call *call);

/* --- Ranges: one output from many processes ------------------------------------------------- */

/*
 * Several processes can each compress some segments of one input.  The following outputs, one after
 * another, are the same bytes as the output of gzlzss_compress for the whole input:
 *
 *     gzlzss_header, gzlzss_compress_range for each range in order, gzlzss_end
 *
 * All processes must use the same level, segment_size, format and matcher.  With GZLZSS_ZIP, these
 * three functions return GZLZSS_ERROR_ARGUMENT.
 */

/* Returns the bytes of a segment; 0 if z is NULL. */
size_t gzlzss_segment_size(const gzlzss *z);

/*
 * Writes the header of the object's format to out, with the name, the time and the level of `call`.
 * Other members of `call` have no effect.
 *
 * *out_len: before the call, the size of out in bytes; afterwards, the bytes written, 0 on an
 * error.  gzip's header has 10 bytes; with a name, strlen(name) + 1 more.  zlib's has 2 bytes.  Raw
 * data and BGZF have no header here.  GZLZSS_ERROR_ROOM: out is too small.
 */
gzlzss_status gzlzss_header(const gzlzss *z, void *out, size_t *out_len, const gzlzss_call *call);

/*
 * Compresses a range of an input, without header and trailer; buffers and *out_len are as for
 * gzlzss_compress.  Sets *check to the check value of in[0..in_len): the Adler-32 for GZLZSS_ZLIB,
 * 0 for GZLZSS_RAW, else the CRC-32.
 *
 * If is_last is 0, in_len must be a multiple of the segment size, and not 0.  Otherwise
 * in[0..in_len) is the rest of the input, which may be empty only if the whole input is empty.
 *
 * GZLZSS_ERROR_ARGUMENT: in_len breaks these rules, or the object is `rsyncable`.  The library
 * cannot check that an empty last range is the whole input.
 */
gzlzss_status gzlzss_compress_range(gzlzss *z, void *out, size_t *out_len, const void *in,
                                    size_t in_len, int is_last, uint32_t *check, gzlzss_call *call);

/* Returns the check value of two ranges, the second right after the first, from the check value of
 * each and the number of bytes of the second.  Returns 0 if z is NULL. */
uint32_t gzlzss_check_combine(const gzlzss *z, uint32_t first, uint32_t second,
                              uint64_t second_len);

/* Writes the bytes that follow the last range to out.  `check` and in_len are the check value and
 * the number of bytes of the whole input.  *out_len is as for gzlzss_header; at most 28 bytes are
 * written. */
gzlzss_status gzlzss_end(const gzlzss *z, void *out, size_t *out_len, uint32_t check,
                         uint64_t in_len);

/* The next three functions are for gzip only.  New programs should use gzlzss_check_combine and
 * gzlzss_end, which are for every format. */

/* Returns the CRC-32 of two ranges, the second right after the first, from the CRC-32 of each and
 * the number of bytes of the second. */
uint32_t gzlzss_crc32_combine(uint32_t first, uint32_t second, uint64_t second_len);

/* Returns the CRC-32 of A followed by in[0..in_len).  `crc` is the CRC-32 of A, or 0 if A has no
 * bytes.  `in` may be NULL if in_len is 0; otherwise, a NULL pointer gives `crc`. */
uint32_t gzlzss_crc32(uint32_t crc, const void *in, size_t in_len);

/* Writes a member's trailer to out: 8 bytes, with the CRC-32 and the length of the whole input. */
void gzlzss_trailer(void *out, uint32_t crc, uint64_t in_len);

/* --- Versions ------------------------------------------------------------------------------- */

/* The version of this header. */
#define GZLZSS_VERSION_MAJOR 0
#define GZLZSS_VERSION_MINOR 3
#define GZLZSS_VERSION_PATCH 0
#define GZLZSS_VERSION_STRING "0.3.0"

/* The version of the library in use, in the form of GZLZSS_VERSION_STRING.  It can differ from the
 * header's version, because a program may run with another release of the shared library than it
 * was compiled with. */
const char *gzlzss_version(void);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
