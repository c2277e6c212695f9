/*
 * paper_codec_gpu.h - measures how a GPU codes and decodes a paper's format, for bench/paper_codec
 */
#ifndef GZLZSS_BENCH_PAPER_CODEC_GPU_H
#define GZLZSS_BENCH_PAPER_CODEC_GPU_H

#include "papers/codec/codec.h"

/*
 * Codes in[0..len) and decodes it on device number `device`, `runs` times in each form that the
 * format has. Checks that each run gives the same bytes as the CPU: coded[0..size), or if that is
 * NULL, the bytes that the CPU codes from the device's matches. Ends the program with a message if
 * a run does not, or if the device fails.
 *
 * Prints a line for each form: the least wall time of a run, from and to pinned host memory, and
 * the least time of all kernels together, with the times of that run's kernels and copies. These
 * two may be different runs. A first run in each form is not measured. In the form "cpu", the
 * device only finds the matches, and one core of the host codes them, as in CULZSS's and
 * GLZSS-tagging's papers.
 */
void paper_codec_gpu(int device, unsigned runs, const struct paper_format *format,
                     const struct lz_level *level, const uint8_t *in, size_t len,
                     const uint8_t *coded, size_t size);

#endif
