/*
 * gzlzss_cuda.h - compress and decompress data in a GPU's memory
 *
 *     status = gzlzss_cuda_compress(z, out, &out_len, device_in, in_len, stream, NULL);
 *
 * Builds.  Every build of the library has these functions.  Without the GPU engine they return
 * GZLZSS_ERROR_GPU.  This header needs no header of CUDA's, because both cudaStream_t and CUstream
 * are names for struct CUstream_st *.
 *
 * Pointers.  Each pointer may be to memory of any GPU (cudaMalloc, cudaMallocAsync), to managed
 * memory, or to the host's memory, pinned or not; the call finds out which.  The usual case is an
 * input in a GPU's memory and an output in the host's.
 *
 * Order.  A call first waits for the work that was queued on `stream` before it, which may fill the
 * input.  The call returns when all is done, so work queued on any stream afterwards finds the
 * output.  The call queues only an event on `stream`.  A `stream` of 0 is the legacy default
 * stream, which waits for all blocking streams.  A program with default streams per thread may pass
 * 0, too.  cudaStreamPerThread is the calling thread's default stream.  A stream that is being
 * captured gives GZLZSS_ERROR_ARGUMENT; the capture goes on.
 *
 * Compression.  A GPU finds matches in its own memory.  Meanwhile, the input is copied to the host,
 * where the encoder reads it.  Segments that the CPU or another GPU matches are copied first.  GPUs
 * start in the background once that saves time, and the object keeps them; `devices` and `backend`
 * (gzlzss.h) say which GPUs may be used.  The bytes are those of gzlzss_compress in any case.
 *
 * Decompression.  The GPU that has the output does all of the work (gzlzss_cuda_decompress).
 *
 * Contexts.  The calling thread's current device, context and capture mode stay as they were, also
 * while the call runs `progress`.  The library uses the primary contexts of the devices, as CUDA's
 * runtime does.  Before you destroy such a context (cudaDeviceReset), free the object.
 */
#ifndef GZLZSS_CUDA_H
#define GZLZSS_CUDA_H

#ifndef GZLZSS_H
#include <gzlzss.h>
#endif

struct CUstream_st;

#ifdef __cplusplus
extern "C" {
#endif

#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

/* Compresses device_in[0..in_len) into out; arguments are as for gzlzss_compress.  Further errors,
 * with error_number EIO: GZLZSS_ERROR_READ, if the work on `stream` failed or the input cannot be
 * read from the GPU; GZLZSS_ERROR_WRITE, if the output cannot be written to a GPU.
 *
 * A GPU that does not answer for a minute or more (docs/gpu.md) has failed.  It may still read and
 * write the memory that it was given, whatever the call returns. */
gzlzss_status gzlzss_cuda_compress(gzlzss *z, void *out, size_t *out_len, const void *device_in,
                                   size_t in_len, struct CUstream_st *stream, gzlzss_call *call);

/* Compresses device_in[0..in_len) to a descriptor, with the errors of gzlzss_cuda_compress and
 * gzlzss_compress_fd.  If out_fd is not a regular file, the input passes through the host's memory,
 * 256 KiB at a time, because the output may have to wait. */
gzlzss_status gzlzss_cuda_compress_fd(gzlzss *z, int out_fd, const void *device_in, size_t in_len,
                                      struct CUstream_st *stream, gzlzss_call *call);

/*
 * Decompresses in[0..in_len) into out; arguments are as for gzlzss_decompress, and further errors
 * as for gzlzss_cuda_compress.
 *
 * If `out` is memory of a GPU and in_len is at least 64 KiB, that GPU decompresses, unless
 * `backend` is GZLZSS_CPU or `devices` leaves the GPU out.  `in` may be in its memory, in another
 * GPU's or in the host's.  The GPU decodes in parallel, whether there are one or many members, and
 * whatever program wrote them.  It compares the output with each member's CRC-32 and length.  It
 * leaves some data to the CPU: data that is damaged, does not fit in `out`, has other bytes after
 * its members, is in an older format, or would be slow to decode on a GPU.  Then the CPU
 * decompresses all of it again, so output and status are always those of gzlzss_decompress.
 * `progress` never gets smaller numbers than before.
 *
 * In all other cases, the CPU decompresses.  It copies data from and to a GPU's memory 1 MiB at a
 * time.
 *
 * The first such call for a GPU takes 1.8 GB of that GPU's memory and some pinned memory of the
 * host; the object keeps both for later calls until gzlzss_free.  If that much memory is not free,
 * the CPU does the work, and calls try again after about a second.  If the GPU fails, the CPU does
 * all such work from then on.  gzlzss_no_gpu says why.
 *
 * Calls from several threads take turns on one GPU, in the order in which they came; gzlzss_cancel
 * also ends waiting for a turn.  For calls side by side on one GPU, make more objects.
 */
gzlzss_status gzlzss_cuda_decompress(gzlzss *z, void *out, size_t *out_len, const void *in,
                                     size_t in_len, struct CUstream_st *stream, gzlzss_call *call);

/*
 * Sets *size to the number of bytes that in[0..in_len) decompresses to, and keeps no output.  `in`
 * may be in a GPU's memory or the host's.
 *
 * If in_len is at least 64 KiB, and the object's format is neither GZLZSS_ZLIB nor GZLZSS_RAW, a
 * GPU counts the bytes.  This is the GPU that has the input or, if the host has the input, the
 * calling thread's current device.  Counting takes a third to 60 % of the time that decompression
 * takes.  The GPU notices damaged blocks and wrong lengths of members, but does not compute
 * CRC-32s.  So after GZLZSS_OK, decompression can still find an error.  If the GPU leaves the data
 * to the CPU, the CPU decompresses it and counts.  After an error in the data, *size is the number
 * of bytes before the error.  `progress` is called only while the CPU counts.
 */
gzlzss_status gzlzss_cuda_decompressed_size(gzlzss *z, uint64_t *size, const void *in,
                                            size_t in_len, struct CUstream_st *stream,
                                            gzlzss_call *call);

/*
 * Decompresses in[0..in_len) to memory that the program allocates once the size is known.  The
 * calling thread calls allocate(ctx, size), with its own CUDA context.  `allocate` returns memory
 * for `size` bytes on the GPU that has the input or, if the host has it, on the calling thread's
 * current device.  No queued work may still use the memory.  So after cudaMallocAsync, wait for its
 * stream.  `allocate` must not use `z`, whose GPU is waiting.  *out becomes the last result of
 * `allocate`, and *out_len the number of bytes of output, also after an error.  The program frees
 * all memory that `allocate` has returned.
 *
 * The GPU counts the output, then makes it.  It copies and searches an input of up to 128 MiB once,
 * a longer one twice.  If the CPU has to do the work, it decompresses the input twice, and accepts
 * any memory from `allocate`.  If a GPU has counted too few bytes, `allocate` is called a second
 * time.  Errors are those of gzlzss_cuda_decompress, and GZLZSS_ERROR_MEMORY if `allocate` returns
 * NULL for more than 0 bytes.
 */
gzlzss_status gzlzss_cuda_decompress_new(gzlzss *z, void **out, size_t *out_len,
                                         void *(*allocate)(void *ctx, size_t size), void *ctx,
                                         const void *in, size_t in_len, struct CUstream_st *stream,
                                         gzlzss_call *call);

/* --- Many inputs at once ---------------------------------------------------------------------- */

/* One of many inputs: a page of a Parquet file, a chunk of an HDF5 file, a record. */
typedef struct gzlzss_item {
    const void *in;
    size_t in_len;
    void *out;
    size_t out_len;       /* before the call: bytes of room at `out`; after it: bytes of output */
    gzlzss_status status; /* set by the call, as gzlzss_decompress would return it */
} gzlzss_item;

/*
 * Decompresses items[0..count), which are independent of each other.  All are in the same format:
 * GZLZSS_GZIP, GZLZSS_ZLIB or GZLZSS_RAW.  The array items[] is in the host's memory.  Inputs and
 * outputs may be anywhere; outputs must not overlap.
 *
 * One GPU is used, the GPU of the first output that is in a GPU's memory.  It decompresses, side by
 * side, all items with output in its memory, except items with an input of more than 128 MiB or
 * with a gzip input of several members.  It is fastest for inputs in its own memory, and for
 * hundreds of items or more.  The calling thread decompresses the other items, and items that the
 * GPU leaves, one after the other.  Each item's output and status are the same as if the CPU had
 * done all items.
 *
 * Returns GZLZSS_OK if all items have this status, otherwise the status of the first item with
 * another one.  If the call ends early (cancelled, or the work on `stream` failed), it returns the
 * reason, which is also the status of each item that is not done.  A wrong argument or a stream
 * that is being captured gives GZLZSS_ERROR_ARGUMENT.  The object keeps the GPU's memory for later
 * calls, as for gzlzss_cuda_decompress.
 */
gzlzss_status gzlzss_cuda_decompress_batch(gzlzss *z, gzlzss_item *items, size_t count,
                                           gzlzss_format format, struct CUstream_st *stream,
                                           gzlzss_call *call);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
