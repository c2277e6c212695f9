/*
 * gpu_decoder.h - a GPU that decodes for the consumer
 *
 * A pipeline has one GPU decoder at most.  It is brought up in the background, which takes some
 * 0.3 s, once there is a decompression that is large enough.  Until then the cores decode.  Then
 * the consumer hands over: from the block where it is, the GPU decodes on, up to the end of the
 * input or to something that it leaves to the CPU.  The consumer writes the output, and compares
 * each member with its trailer.
 *
 * The decoder serves one decompression at a time; others use the cores.
 *
 * Functions are called with the pipeline's lock held, unless they say otherwise.
 */
#ifndef GZLZSS_EXPAND_GPU_DECODER_H
#define GZLZSS_EXPAND_GPU_DECODER_H

#include "pipeline/expand/expansion.h"

/* Whether it is worth it to bring up a GPU for this input.  Called without the lock. */
bool decoder_is_worth_it(const struct pipeline *p, struct input *in);

/* Starts to bring up a GPU for this decompression, if that is worth it and not done yet.  If the
 * caller of the pipeline has asked for it, waits until it is up, or has failed.  Called without the
 * lock. */
void decoder_consider(struct expansion *e);

/* Brings up a GPU, and waits for it.  False, with the reason in `error`, if that fails.  Called
 * without the lock, before the first decompression. */
bool decoder_need(struct pipeline *p, char error[GPU_ERROR_SIZE]);

/* Whether the decoder is idle, and is worth handing over to at that bit of the input. */
bool decoder_is_ready(const struct expansion *e, uint64_t bit);

/* Whether the decoder decodes for this decompression. */
bool decoder_is_at_work(const struct expansion *e);

/* Has the decoder, which is ready, decode from the consumer's place on.  window[0..INF_WINDOW) is
 * before it. */
void decoder_start(struct expansion *e, const struct gz_place *place, const uint8_t *window);

/* Whether the decoder, which is at work, has output that begins at that bit.  Waits until it is
 * known.  If there is none, the decoder is no longer at work for *e. */
bool decoder_has(struct expansion *e, uint64_t bit);

/* Writes the output that begins at the place, and moves the place on, up to the member's end or to
 * the end of the decoder's work.  window[0..INF_WINDOW) becomes what is before it.  False: writing
 * has failed, and *error becomes errno. */
bool decoder_write(struct expansion *e, struct gz_place *place, uint8_t *window, int *error);

/* Ends the decoder's work for this decompression, if it is at work.  Waits for that. */
void decoder_stop(struct expansion *e);

/* Whether threads of a GPU's driver may run in this process. */
bool decoder_is_used(const struct pipeline *p);

/* Frees the decoder, if there is one.  Called without the lock, after the last decompression. */
void decoder_free(struct pipeline *p);

/* The GPU's name, or an empty text; and why it could not be used, or an empty text. */
void decoder_describe(struct pipeline *p, char name[GPU_ERROR_SIZE], char trouble[GPU_ERROR_SIZE]);

#endif
