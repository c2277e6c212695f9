/*
 * gpu_decoder.h - a GPU that decodes for the consumer
 *
 * A pipeline has at most one GPU decoder.  The first decompression that is large enough makes the
 * pipeline bring up the decoder in the background, which takes about 0.3 s.  Meanwhile, the cores
 * decode.  Once the GPU is up, the consumer hands over to it.  The GPU decodes from the consumer's
 * block to the input's end, or to data that it leaves to the CPU.  The consumer writes the output,
 * and compares each member with its trailer.
 *
 * The decoder serves one decompression at a time.  All others use the cores.
 *
 * Call these functions with the pipeline's lock, unless they say otherwise.  Some give up the lock
 * while they wait or write.
 */
#ifndef GZLZSS_EXPAND_GPU_DECODER_H
#define GZLZSS_EXPAND_GPU_DECODER_H

#include "pipeline/expand/expansion.h"

/* Whether bringing up a GPU pays for this input.  Called without the lock. */
bool decoder_is_worth_it(const struct pipeline *p, struct input *in);

/* Starts to bring up a GPU if that pays (decoder_is_worth_it), unless one is up or being brought
 * up.  If the pipeline's caller demands a GPU, waits until it is up or has failed.  Called without
 * the lock. */
void decoder_consider(struct expansion *e);

/* Brings up a GPU, and waits for it.  Returns false, with the reason in error[], if the GPU cannot
 * be used.  Called without the lock, before the first decompression. */
bool decoder_need(struct pipeline *p, char error[GPU_ERROR_SIZE]);

/* Whether the decoder is idle, and it pays to hand over to the decoder at bit `bit` of the
 * input. */
bool decoder_is_ready(const struct expansion *e, uint64_t bit);

/* Whether the decoder decodes for this decompression. */
bool decoder_is_at_work(const struct expansion *e);

/* Makes the decoder, which must be ready, decode from the consumer's place on.
 * window[0..INF_WINDOW) is the window before the place. */
void decoder_start(struct expansion *e, const struct gz_place *place, const uint8_t *window);

/* Waits until it is known whether the decoder has output that begins at bit `bit` of the input, and
 * returns whether it has.  The decoder must be at work.  If it has no such output, its work for
 * this decompression ends. */
bool decoder_has(struct expansion *e, uint64_t bit);

/* Writes the decoder's output from the place on, up to the member's end or to the end of the
 * decoder's work.  Moves the place to the end of that output.  Unless the member has ended,
 * window[0..INF_WINDOW) becomes the window before the place.  Returns false if writing has failed;
 * then *error is an errno. */
bool decoder_write(struct expansion *e, struct gz_place *place, uint8_t *window, int *error);

/* Computes some CRCs of output that came from the GPU's memory, for the consumer.  Gives up the
 * lock meanwhile.  Returns false if there is nothing to do. */
bool decoder_check_some(struct pipeline *p);

/* Ends the use of the GPU, because its output was wrong: the CPU has decompressed the same input
 * well.  Called without the lock. */
void decoder_blame(struct pipeline *p);

/* If the decoder works for this decompression, ends its work, and waits until it has stopped. */
void decoder_stop(struct expansion *e);

/* Whether the pipeline has a decoder.  If it has, the GPU's driver may have threads in this
 * process.  Called without the lock, after the last decompression. */
bool decoder_is_used(const struct pipeline *p);

/* Frees the decoder, if there is one.  Called without the lock, after the last decompression. */
void decoder_free(struct pipeline *p);

/* Sets name[] to the GPU's name, or to an empty string if there is no GPU.  Sets trouble[] to the
 * reason why the GPU cannot be used, or to an empty string if it can.  Called without the lock. */
void decoder_describe(struct pipeline *p, char name[GPU_ERROR_SIZE], char trouble[GPU_ERROR_SIZE]);

#endif
