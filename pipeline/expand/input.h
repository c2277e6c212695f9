/*
 * input.h - an input that several threads read at any place, be it a file, a pipe, memory or what
 * is pushed
 */
#ifndef GZLZSS_INPUT_H
#define GZLZSS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct input;

/* Of the file or pipe fd, from where it stands.  NULL if that is neither, or memory or descriptors
 * are short. */
struct input *input_open(int fd);

/* Of bytes[0..len), which stay as they are until input_close.  NULL if memory is short. */
struct input *input_open_memory(const uint8_t *bytes, size_t len);

/* Of what input_push gives.  NULL if memory is short. */
struct input *input_open_pushed(void);

/* Gives the next bytes of it, as many as fit before the byte `limit` of the input; returns how
 * many.  `ends`: if these are all, the input ends with them.  One thread at a time. */
size_t input_push(struct input *in, const uint8_t *bytes, size_t len, uint64_t limit, bool ends);

/* Bytes of the input; UINT64_MAX as long as a pipe's are not known. */
uint64_t input_size(struct input *in);

/* Whether it is a regular file or memory, of which any part can be read at any time. */
bool input_is_file(const struct input *in);

/* Whether all before that byte has been read, or the input ends before it. */
bool input_has(struct input *in, uint64_t offset);

/* Reads from that byte of the input on; returns fewer bytes than asked for only where it ends, or
 * cannot be read, or is no longer kept, or a pipe takes long, or more is to be pushed, or after
 * input_cancel.
 * Any thread. */
size_t input_read_at(struct input *in, uint64_t offset, uint8_t *to, size_t len);

/* As read(2) there: as many bytes as there are now, 0 at the end, or -1 with errno set. */
ssize_t input_read(struct input *in, uint64_t offset, uint8_t *to, size_t len);

/* What is before that byte will not be wanted any more. */
void input_forget(struct input *in, uint64_t offset);

/* Whoever waits for a pipe's other end goes on, and so does everyone later. */
void input_cancel(struct input *in);

/* Leaves a file standing at that byte. */
void input_close(struct input *in, uint64_t offset);

#endif
