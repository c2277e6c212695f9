/*
 * verify.h - decodes an encoded segment again, and compares the result with the input
 *
 * The encoder has compared each match with the input (huffman/count.c).  This file looks at what
 * the encoder made of them: codes, headers of blocks, stored blocks, the header and the trailer of
 * a BGZF member, and how the segment ends.  The result must have the input's length and check
 * value.
 *
 * The decoder is the one of inflate/whole.h, which has no code in common with the encoder.
 */
#ifndef GZLZSS_VERIFY_H
#define GZLZSS_VERIFY_H

#include "pipeline/crew/state.h"

/* Whether the job's segments are verified in memory, before they are written. */
static inline bool verify_is_in_memory(const struct job *j)
{
    return j->pipeline->config.verify && !j->request->reads_back;
}

/* Whether the job's segments are verified after they were written (read_back.h). */
static inline bool verify_is_in_file(const struct job *j)
{
    return j->pipeline->config.verify && j->request->reads_back;
}

/* For tests: damages the segment's output if the configuration says so. */
static inline void verify_spoil(const struct pipeline_config *config, const struct slot *s)
{
    if (config->test_bad_segment == s->index + 1)
        s->out[s->out_len / 2] ^= 0xff;
}

/* Sets s->sum, the value that verify_segment compares.  in[0..s->len) is the segment's input, and
 * s->check is set. */
void verify_note(struct slot *s, enum container container, const uint8_t *in);

/*
 * Decodes the segment's output s->out[0..s->out_len) to buf + before, which has room for s->len
 * bytes.  Returns whether the output is right: whether it decodes to s->len bytes whose value is
 * s->sum, and ends there, as the data's end if is_final is set.  buf[0..before) are the bytes
 * before the segment, to which its matches may refer.  `buf` may be the memory of the input.
 * Called without the lock.
 */
bool verify_segment(struct inf_whole *decoder, const struct slot *s, enum container container,
                    bool is_final, uint8_t *buf, size_t before);

#endif
