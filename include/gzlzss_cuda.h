/*
 * gzlzss_cuda.h - compression and decompression of what is in a GPU's memory, and to there
 *
 * Every build of the library has these functions; one without CUDA returns GZLZSS_ERROR_GPU.  This
 * needs no header of CUDA's: a cudaStream_t is a struct CUstream_st *, and so is a CUstream.
 *
 *     status = gzlzss_cuda_compress(z, out, &out_len, device_in, in_len, stream, NULL);
 *
 * Pointers may be to memory of any GPU (cudaMalloc, cudaMallocAsync), to managed memory, or to the
 * host's, pinned or not; the call finds out.  So `out` may be the host's memory while `device_in` is
 * a GPU's, which is the usual case.
 *
 * The calls do not return before all is done.  In front of it, they wait for what was queued on
 * `stream` before the call, so that this may fill the input; and what is queued on any stream after
 * the call finds the output there.  They queue nothing on `stream` but an event.  0 is the legacy
 * default stream, which waits for all blocking streams, also in a program whose default streams are
 * per thread; cudaStreamPerThread is the calling thread's.  A stream that is being captured is
 * GZLZSS_ERROR_ARGUMENT.
 *
 * Where a GPU finds matches in what is in its own memory, they do not wait for the copy to the host,
 * which the encoder reads; what other GPUs or the
 * CPU match is copied first.  GPUs are brought up in the background once that is worth it, and kept
 * (gzlzss.h): those that `devices` and `backend` allow.  The bytes are those of gzlzss_compress in any
 * case.
 *
 * The calling thread's current device and context stay as they were.  The object's own threads use
 * the primary contexts of the devices, as CUDA's runtime does; whoever destroys one of these
 * (cudaDeviceReset) frees the object first.
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

/* As gzlzss_compress.  Also returns GZLZSS_ERROR_READ, with EIO, if the work on `stream` failed, or
 * the input cannot be read from the GPU, and GZLZSS_ERROR_WRITE, with EIO, if the output cannot be
 * written to one. */
gzlzss_status gzlzss_cuda_compress(gzlzss *z, void *out, size_t *out_len, const void *device_in,
                                   size_t in_len, struct CUstream_st *stream, gzlzss_call *call);

/* The same, to a descriptor.  If that is no regular file, the input goes through the host's memory
 * bit by bit, as the output may have to wait. */
gzlzss_status gzlzss_cuda_compress_fd(gzlzss *z, int out_fd, const void *device_in, size_t in_len,
                                      struct CUstream_st *stream, gzlzss_call *call);

/* As gzlzss_decompress, likewise.  The CPU decompresses: what is in a GPU's memory is copied bit by
 * bit. */
gzlzss_status gzlzss_cuda_decompress(gzlzss *z, void *out, size_t *out_len, const void *in,
                                     size_t in_len, struct CUstream_st *stream, gzlzss_call *call);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif
