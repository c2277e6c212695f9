/*
 * symbols.h - decodes DEFLATE from the middle of data, where the window before it is not known
 *
 * The result is not bytes but symbols of 16 bits.  A symbol below 256 is a byte of the data.  The
 * symbol INF_UNKNOWN + i stands for a copy of byte i of the INF_WINDOW bytes before the start,
 * which are not known yet.  When these bytes are known, inf_resolve turns the symbols into bytes.
 * These are the two stages of pugz (Kerbiriou and Chikhi, "Parallel decompression of
 * gzip-compressed files and random access to DNA sequences", 2019) and of rapidgzip (Knespel and
 * Brunst, 2023).
 *
 * As soon as the last INF_WINDOW symbols are all bytes (inf_is_known), they are a window.  With
 * this window, a decoder to bytes, which is faster, can go on.
 */
#ifndef GZLZSS_INFLATE_SYMBOLS_H
#define GZLZSS_INFLATE_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inflate/raw.h"

/* The symbol of the first byte of the unknown window. */
#define INF_UNKNOWN 0x8000u

/* Bytes after the input that must be readable, though the result does not depend on them. */
#define INF_SYMBOLS_PAD ((size_t)16)

/* A decoder's tables: about 0.1 MB of memory. */
struct inf_symbols;

/* Makes a decoder; returns NULL if memory is short. */
struct inf_symbols *inf_symbols_new(void);

/* Frees d, which may be NULL. */
void inf_symbols_free(struct inf_symbols *d);

/* Sets the INF_WINDOW symbols before out[0] to those of the unknown window. */
void inf_symbols_begin(uint16_t *out);

/*
 * Decodes the block that starts at bit *place of in[0..len).  Its symbols go after out[0..*n),
 * where `out` has room for `room` symbols in all.  Returns INF_BLOCK, or INF_END after the final
 * block; then *place is the end of the block, and *n includes its symbols.  With any other result,
 * *place and *n stay as they are:
 *
 *   - INF_BAD: the data is bad;
 *   - INF_CUT: the block does not end in this input;
 *   - INF_MORE: `room` may be too small.  Room for the block's symbols and 278 more is always
 *     enough.
 */
enum inf_result inf_symbols_block(struct inf_symbols *d, const uint8_t *in, size_t len,
                                  uint64_t *place, uint16_t *out, size_t *n, size_t room);

/* Whether all INF_WINDOW symbols before `end` are bytes. */
bool inf_is_known(const uint16_t *end);

/* Turns n symbols into bytes; window[0..INF_WINDOW) are the bytes before the start.  `bytes` may be
 * the memory of the symbols.  d is used only as memory for a table, so the symbols may come from
 * another decoder. */
void inf_resolve(struct inf_symbols *d, const uint16_t *symbols, size_t n, const uint8_t *window,
                 uint8_t *bytes);

#endif
