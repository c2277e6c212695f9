/*
 * codec.h - the formats of the papers: whole inputs coded and decoded as a paper says
 *
 * gzlzss codes the matches of all methods by DEFLATE.  These formats code them as the papers do, so
 * that a paper's figures can be compared with ours: the compression ratio in its own format, and
 * the time of coding and decoding.  gzlzss itself does not use them.
 *
 * A file in a format has a front, then the chunks' coded forms, each after a head of its own in
 * some formats.  The front tells how many plain bytes there are, and in some formats the chunks'
 * sizes.  Nothing in a file says which format and which keys it is for, since no paper has this:
 * who decodes must give them.  No format has a checksum.  Numbers are little-endian.
 *
 * Files, in bytes (n chunks):
 *
 *   culzss          4 plain size, 4 n, n times 2 size of a chunk; the chunks
 *   glzss (both)    4 n; each chunk after 4 plain size and 4 size of the chunk
 *   lzss, lz4       4 plain size; each chunk after 4 plain size and 4 size of the chunk
 *   dklzss          4 plain size, n times 2 size of a chunk; the chunks
 *   position-lists  4 plain size, 4 block size, 256 times 2 frequency of a byte, n times 4 size of
 *                   a chunk; the chunks
 *   gpulz           4 plain size, 4 n, 4 bytes of all flags, 4 bytes of all data, n + 1 times 4
 *                   place of a chunk's flags, n + 1 times 4 place of a chunk's data; all flags; all
 *                   data; with symbol=auto, n times 1 width of the chunk's symbols
 *
 * NAME.h has the coded form of one chunk, as inline functions for the CPU and the GPU.  A format's
 * coded form has one part, or two for gpuLZ: flags and data.
 */
#ifndef GZLZSS_PAPERS_CODEC_H
#define GZLZSS_PAPERS_CODEC_H

#include "papers/codec/shape.h"
#include "papers/papers.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The families of formats: for each, NAME.h has functions NAME_encode and NAME_decode. */
enum codec_family {
    CODEC_CULZSS,
    CODEC_GLZSS,
    CODEC_LZSS,
    CODEC_LZ4,
    CODEC_POSITION_LISTS,
    CODEC_GPULZ,
    CODEC_DKLZSS,
};

/* Where a part of a chunk's coded form is in the file. */
struct codec_place {
    uint64_t at;
    uint32_t size;
};

struct paper_format;

/* A file in a format, taken apart. */
struct codec_file {
    const struct paper_format *format;
    struct codec_shape shape;
    uint64_t plain;     /* plain bytes of the whole file, below 2^32 */
    uint32_t count;     /* chunks */
    uint64_t file_size; /* bytes */
    /* The parts of the chunks: chunk i's are places[i * parts] and following, where `parts` is the
     * format's number of parts. */
    struct codec_place *places;
    uint8_t *widths;           /* gpuLZ: bytes of each chunk's symbols; otherwise NULL */
    uint16_t frequencies[256]; /* position lists: how often a byte occurs, scaled */
};

struct paper_format {
    const char *method; /* the method's name; glzss-basic and glzss-tagging share a format */
    const char *form;   /* a format has a name only if its method has several; otherwise NULL */
    enum codec_family family;
    uint32_t parts; /* of a chunk's coded form: 1 or 2 */

    /* Whether the level's keys fit the format's fields.  If not, sets `error` to a message. */
    bool (*fits)(const struct lz_level *level, char error[PAPER_ERROR_SIZE]);

    /* Returns the numbers of the format with the level's keys. */
    struct codec_shape (*shape)(const struct lz_level *level);

    /* For formats of one part with nothing but a shape (not gpuLZ, not position lists): the
     * functions of NAME.h. */
    uint32_t (*encode)(const struct codec_shape *s, const uint8_t *in, const uint16_t *tags,
                       uint32_t len, uint8_t *out);
    bool (*decode)(const struct codec_shape *s, const uint8_t *coded, uint32_t size, uint8_t *out,
                   uint32_t plain);
};

/* Returns the format of a method's paper, or NULL if there is none.  form: NULL for a method's
 * first format; otherwise the format's name. */
const struct paper_format *paper_format_of(const char *method, const char *form);

/* Bytes of a segment, whose matches are found at a time, for a format: the level's default, or a
 * chunk's size if a chunk is larger than LZ_CHUNK_SIZE and its matches may not leave it. */
size_t paper_segment(const struct paper_format *format, const struct lz_level *level);

/* Writes the tags of a segment's len bytes. */
void paper_tags(const struct lz_chunk *chunks, size_t len, uint16_t *tags);

/* The plain bytes of chunk i. */
static inline uint32_t paper_plain(const struct codec_file *file, uint32_t i)
{
    const uint64_t left = file->plain - (uint64_t)i * file->shape.chunk;

    return left < file->shape.chunk ? (uint32_t)left : file->shape.chunk;
}

/*
 * To code an input: call paper_begin; code the chunks and set their places' sizes; call
 * paper_place, which sets where each part goes; write the parts to their places; call paper_front,
 * which writes all the rest.  To decode a file: call paper_open; decode the parts at their places.
 * paper_close frees what paper_begin and paper_open have allocated; it may be called after either
 * has failed.
 */

/* Begins a file with `plain` bytes.  For gpuLZ, chooses the symbols' widths, for which it needs the
 * bytes.  Returns false if there are 2^32 bytes or more, or memory is short. */
bool paper_begin(struct codec_file *file, const struct paper_format *format,
                 const struct lz_level *level, const uint8_t *in, size_t plain);

/* Sets the places of all parts from their sizes, and file_size. */
void paper_place(struct codec_file *file);

/* Writes the file's front, the chunks' heads, and what follows the chunks to out[0..file_size). */
void paper_front(const struct codec_file *file, uint8_t *out);

/* Takes apart the file bytes[0..size).  Returns false if it is damaged, or memory is short.  If it
 * returns true, all places lie in the file, and each chunk of the plain bytes has its parts. */
bool paper_open(struct codec_file *file, const struct paper_format *format,
                const struct lz_level *level, const uint8_t *bytes, size_t size);

void paper_close(struct codec_file *file);

/* Codes in[0..len) with its tags on the CPU.  Returns the file, which the caller frees, and sets
 * *size to its size.  Returns NULL if there are 2^32 bytes or more, or memory is short. */
uint8_t *paper_encode(const struct paper_format *format, const struct lz_level *level,
                      const uint8_t *in, size_t len, const uint16_t *tags, size_t *size);

/* Decodes the file coded[0..size) on the CPU.  Returns the plain bytes, which the caller frees, and
 * sets *len to their number.  Returns NULL if the file is damaged or memory is short. */
uint8_t *paper_decode(const struct paper_format *format, const struct lz_level *level,
                      const uint8_t *coded, size_t size, size_t *len);

#ifdef __cplusplus
}
#endif

#endif
