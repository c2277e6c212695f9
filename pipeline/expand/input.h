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

/* Opens the file or pipe fd, from its position on.  NULL if fd is neither, or if memory or
 * descriptors are short. */
struct input *input_open(int fd);

/* Opens bytes[0..len), which must not change until input_close.  NULL if memory is short. */
struct input *input_open_memory(const uint8_t *bytes, size_t len);

/* Opens an input whose bytes input_push gives.  NULL if memory is short. */
struct input *input_open_pushed(void);

/* Appends bytes[0..len) to a pushed input, but none at byte `limit` of the input or behind it.
 * Returns how many bytes it has taken.  `ends`: if it takes all of them, the input ends there.
 * Only one thread at a time may call this. */
size_t input_push(struct input *in, const uint8_t *bytes, size_t len, uint64_t limit, bool ends);

/* Returns the size of the input in bytes; UINT64_MAX while the end of a pipe is not known. */
uint64_t input_size(struct input *in);

/* Whether the input is a regular file or memory: any part of these can be read at any time. */
bool input_is_file(const struct input *in);

/* Whether all bytes before byte `offset` have been read, or the input ends before it. */
bool input_has(struct input *in, uint64_t offset);

/* Reads up to `len` bytes, from byte `offset` of the input on.  Returns how many it has read.  They
 * are fewer than `len` only if the input ends there or cannot be read, if its bytes are no longer
 * kept, if a pipe takes long, if the bytes are not pushed yet, or after input_cancel.  Any thread
 * may call this. */
size_t input_read_at(struct input *in, uint64_t offset, uint8_t *to, size_t len);

/* Reads like read(2), from byte `offset` on: waits for a first byte, and returns how many bytes it
 * has read; 0 at the end; -1 with errno set after an error. */
ssize_t input_read(struct input *in, uint64_t offset, uint8_t *to, size_t len);

/* Tells the input that nobody will read bytes before `offset` again. */
void input_forget(struct input *in, uint64_t offset);

/* Makes threads that wait for a pipe's other end return, and lets none wait for it later. */
void input_cancel(struct input *in);

/* Closes the input.  The position of a file becomes byte `offset`. */
void input_close(struct input *in, uint64_t offset);

#endif
