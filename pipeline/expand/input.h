/*
 * input.h - an input that several threads read at any place: a file, a pipe, memory, or bytes that
 * the caller pushes
 */
#ifndef GZLZSS_INPUT_H
#define GZLZSS_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct input;

/* Opens the file or pipe fd, from its position on.  Returns NULL if fd is neither, or if memory or
 * descriptors are short. */
struct input *input_open(int fd);

/* Opens the regular file fd, from its byte `from` on.  input_close leaves fd's position as it is.
 * Returns NULL if fd is no regular file, or if memory is short. */
struct input *input_open_at(int fd, uint64_t from);

/* Opens bytes[0..len), which must not change until input_close.  Returns NULL if memory is
 * short. */
struct input *input_open_memory(const uint8_t *bytes, size_t len);

/* Opens an input whose bytes input_push appends.  Returns NULL if memory is short. */
struct input *input_open_pushed(void);

/* Appends bytes[0..len) to a pushed input, but stops at byte `limit` of the input.  Returns how
 * many bytes it has appended.  If `ends` is set, the input ends after bytes[0..len), once they are
 * all appended.  Only one thread at a time may call this. */
size_t input_push(struct input *in, const uint8_t *bytes, size_t len, uint64_t limit, bool ends);

/* Returns the size of the input in bytes.  While the end of a pipe or of a pushed input is not
 * known, returns UINT64_MAX. */
uint64_t input_size(struct input *in);

/* Whether the input is a regular file or memory, any part of which can be read at any time. */
bool input_is_file(const struct input *in);

/* Returns the bytes of an input that input_open_memory has opened; NULL for any other input. */
const uint8_t *input_memory(const struct input *in);

/* Whether all bytes before byte `offset` can be read now, or the input's end is known. */
bool input_has(struct input *in, uint64_t offset);

/* Reads up to `len` bytes, from byte `offset` of the input on.  Any thread may call this.  Returns
 * how many bytes it has read, which are fewer than `len` only for one of these reasons:
 *
 * - The input ends there, or cannot be read.
 * - The input no longer keeps the bytes.
 * - A pipe gives nothing for 50 ms.
 * - The bytes are not pushed yet.
 * - input_cancel was called. */
size_t input_read_at(struct input *in, uint64_t offset, uint8_t *to, size_t len);

/* Reads like read(2), from byte `offset` on.  Waits until there is a byte to read.  Returns how
 * many bytes it has read, or 0 at the end.  Returns -1 with errno set after an error or
 * input_cancel. */
ssize_t input_read(struct input *in, uint64_t offset, uint8_t *to, size_t len);

/* Tells the input that nobody will read bytes before `offset` again. */
void input_forget(struct input *in, uint64_t offset);

/* Ends all waits for a pipe or for pushed bytes, and lets no thread wait for them later. */
void input_cancel(struct input *in);

/* Closes the input.  The position of a file that input_open has opened becomes byte `offset`. */
void input_close(struct input *in, uint64_t offset);

#endif
