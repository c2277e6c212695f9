/*
 * coder.cuh - Huffman coding of a batch on the device, for the engine
 *
 * After the match finder's kernels, the steps of coding.cuh follow in the same stream.  The host
 * sends the list of segments, and gets their outputs and what tells it whether to believe them.
 */
#ifndef GZLZSS_GPU_CODER_CUH
#define GZLZSS_GPU_CODER_CUH

#include "gpu/cuda/huffman/coding.cuh"

/* The memory for coding a batch. */
struct coder_memory {
    gpu_coder c;
    uint8_t *device, *host;         /* one block of each; the host's is pinned */
    size_t from_host, cleared;      /* bytes of `device` that the host sends, and bytes to clear */
    size_t chunks, sequences, sums; /* room: chunks, sequences, CRC parts */
    size_t packed_room;             /* bytes of packed outputs */
    /* The segments added so far: */
    size_t out_used;
    uint32_t in_sum_count, longest, chunk;
};

/* Makes the memory for a batch of at most so many chunks and sequences. */
cudaError_t coder_make(coder_memory *m, size_t chunks, size_t sequences);
void coder_free(coder_memory *m);

/* coder_begin empties the list of segments; coder_add adds one, with its bytes at `start` of the
 * batch's input; its last block is final if is_last. */
void coder_begin(coder_memory *m, uint32_t split);
void coder_add(coder_memory *m, uint32_t start, uint32_t length, bool is_last);

/* Queues all steps, and copies of the results to the host.  The tags of the view are used up.  For
 * tests: if `flip` is not 0, bit flip - 1 of the outputs is flipped before they are checked. */
cudaError_t coder_queue(coder_memory *m, const gpu_view &v, long flip, cudaStream_t stream);

/* After the copies: the bytes of all outputs at m->c.packed; 0 if the number is impossible. */
size_t coder_packed(const coder_memory *m);

/* After these bytes were copied to `packed`: fills in *o for a segment.  Returns false if the GPU's
 * output cannot be used. */
bool coder_result(const coder_memory *m, uint32_t segment, const uint8_t *packed,
                  struct gpu_output *o);

/* Loads all kernels (gpu_load). */
cudaError_t coder_load(void);

#endif
