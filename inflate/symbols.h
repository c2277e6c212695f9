/*
 * symbols.h - DEFLATE decoded from the middle, where the window before is not known
 *
 * What is decoded are not bytes but symbols: a byte of the data that is known, or INF_UNKNOWN + i
 * for byte i of the INF_WINDOW bytes before the start, which are not.  When the window is known,
 * the symbols become bytes (inf_resolve).  That is the first of the two stages of pugz (Kerbiriou
 * and Chikhi, "Parallel decompression of gzip-compressed files and random access to DNA sequences",
 * 2019) and rapidgzip (Knespel and Brunst, 2023).
 *
 * As soon as the last INF_WINDOW symbols are all known (inf_is_known), they are a window that a
 * decoder of bytes can go on from.
 */
#ifndef GZLZSS_INFLATE_SYMBOLS_H
#define GZLZSS_INFLATE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inflate/raw.h"

#define INF_UNKNOWN 0x8000u

/* Bytes behind the input that are read, though nothing depends on them. */
#define INF_SYMBOLS_PAD ((size_t)16)

/* A decoder's tables; about 0.1 MB of memory. */
struct inf_symbols;

/* NULL if memory is short. */
struct inf_symbols *inf_symbols_new(void);
void inf_symbols_free(struct inf_symbols *d); /* d may be NULL */

/* Makes the INF_WINDOW symbols before out[0] those of the unknown window. */
void inf_symbols_begin(uint16_t *out);

/*
 * Decodes the block that starts at bit *place of in[0..len); its symbols follow out[0..*n), for
 * which there is room for `room` in all.  Returns INF_BLOCK, or INF_END after the final block, with
 * *place behind it and *n raised.  With any other result both are unchanged: INF_BAD; INF_CUT: the
 * block does not end in that input; INF_MORE: there may be no room for all of it (273 symbols more
 * than it has are enough).
 */
enum inf_result inf_symbols_block(struct inf_symbols *d, const uint8_t *in, size_t len,
                                  uint64_t *place, uint16_t *out, size_t *n, size_t room);

/* Whether the INF_WINDOW symbols before `end` are all bytes. */
bool inf_is_known(const uint16_t *end);

/* Makes bytes of n symbols, where window[0..INF_WINDOW) are the bytes before the start.  `bytes` may
 * be where the symbols are.  The symbols can be another decoder's: d is only memory for a table. */
void inf_resolve(struct inf_symbols *d, const uint16_t *symbols, size_t n, const uint8_t *window,
                 uint8_t *bytes);

#endif
