/*
 * codec.h - the formats of the papers: whole inputs coded and decoded as a paper says
 *
 * gzlzss codes the matches of all methods by DEFLATE.  These formats code them as the papers do, so
 * that a paper's figures can be compared with ours: the compression ratio in its own format, and
 * the time of coding and decoding.  gzlzss itself does not use them.
 *
 * A file has a front, then the chunks' coded forms; in some formats, each of these follows a head
 * of its own.  The front gives the number of plain bytes, and in some formats the chunks' sizes.
 * Since no paper stores its format's name or the keys, a file has neither: the caller must give
 * them to decode it.  No file has a checksum, for the same reason.  Numbers are little-endian.
 *
 * The files.  A field is its size in bytes, then its meaning: "4 n" is a number of 4 bytes, n.
 * n: number of chunks; "size of a chunk": of its coded form; "place": offset in all flags or data.
 *
 *   culzss          4 plain size, 4 n, n times 2 size of a chunk; the chunks
 *   glzss (both)    4 n; each chunk after 4 plain size and 4 size of the chunk
 *   lzss, lz4       4 plain size; each chunk after 4 plain size and 4 size of the chunk
 *   dklzss          4 plain size, n times 2 size of a chunk; the chunks
 *   position-lists  4 plain size, 4 block size, 256 times 2 frequency of a byte, n times 4 size of
 *                   a chunk; the chunks
 *   gpulz           4 plain size, 4 n, 4 size of all flags, 4 size of all data, n + 1 times 4
 *                   place of a chunk's flags, n + 1 times 4 place of a chunk's data; all flags; all
 *                   data; with symbol=auto, n times 1 width of the chunk's symbols
 *
 * NAME.h has the coded form of one chunk, as inline functions for the CPU and the GPU.  A format's
 * coded form has one part, or two for gpuLZ: flags and data.
 */
#ifndef GZLZSS_PAPERS_CODEC_H
#define GZLZSS_PAPERS_CODEC_H

#include "papers/codec/range.h"
#include "papers/codec/shape.h"
#include "papers/papers.h"

#ifdef __cplusplus
extern "C" {
#endif

struct paper_format;

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

/* The most parts that a chunk's coded form has.  gpuLZ has two: first the flags, then the data. */
#define CODEC_PARTS 2

/* Where a part of a chunk's coded form is in the file. */
struct codec_place {
    uint64_t at;
    uint32_t size;
};

/* A file in a format, taken apart. */
struct codec_file {
    const struct paper_format *format;
    struct codec_shape shape;
    uint64_t plain; /* plain bytes of the whole file, below 2^32 */
    uint64_t size;  /* bytes of the file */
    uint32_t count; /* chunks */
    /* The parts of the chunks: chunk i's are places[i * format->parts] and following. */
    struct codec_place *places;
    uint8_t *widths;          /* gpuLZ: bytes of each chunk's symbols; otherwise NULL */
    bool has_widths;          /* gpuLZ: the widths are in the file (symbol=auto) */
    struct range_model model; /* position lists: the bytes' frequencies */
    uint8_t *scratch;         /* position lists: a packed block, on the CPU; otherwise NULL */
};

/* The greatest value of a key that a format's fields can hold. */
struct codec_limit {
    uint32_t key;     /* index in struct lz_level's param */
    const char *name; /* NULL ends the limits */
    uint32_t most;
};

/* What a file has besides the chunks' coded forms, for formats of one part. */
struct codec_layout {
    bool has_plain;      /* the front has the plain size, 4 bytes */
    bool has_count;      /* the front has the number of chunks, 4 bytes */
    bool has_model;      /* the front has a block's size, 4 bytes, and 256 frequencies, 2 each */
    uint32_t size_bytes; /* bytes of each chunk's coded size in the front's table; 0: no table */
    bool has_heads;      /* before each coded form: 4 bytes plain size, 4 bytes coded size */
};

/* Bytes of a chunk's head, and of a file's model: the block's size and the frequencies. */
#define CODEC_HEAD_SIZE 8
#define CODEC_MODEL_SIZE (4u + 256 * 2)

/* Bytes of gpuLZ's front without the two arrays of places. */
#define CODEC_GPULZ_FRONT 16

/* Where the table of the chunks' sizes is, in a file with chunks of one part. */
BOTH_INLINE uint32_t codec_table_at(const struct codec_layout *layout)
{
    return (layout->has_plain ? 4u : 0) + (layout->has_count ? 4u : 0) +
           (layout->has_model ? CODEC_MODEL_SIZE : 0u);
}

/* Bytes in front of the first chunk and its head; for gpuLZ (parts == 2), of the first flags. */
BOTH_INLINE uint64_t codec_front_size(const struct codec_layout *layout, uint32_t parts,
                                      uint64_t count)
{
    return parts == 2 ? CODEC_GPULZ_FRONT + 2 * 4 * (count + 1)
                      : codec_table_at(layout) + layout->size_bytes * count;
}

struct paper_format {
    const char *method; /* the method's name; glzss-basic and glzss-tagging share formats */
    const char *form;   /* a name, if the method has several formats; otherwise NULL */
    enum codec_family family;
    uint32_t parts; /* of a chunk's coded form: 1 or 2 */
    struct codec_layout layout;
    struct codec_limit limits[3];

    /* Returns the format's numbers for a level whose keys fit. */
    struct codec_shape (*shape)(const struct lz_level *level);

    /* Sets what the file's chunks have in common, before they are encoded: the widths of symbols,
     * or the model.  NULL: nothing. */
    void (*prepare)(struct codec_file *file, const struct lz_level *level, const uint8_t *in,
                    const uint16_t *tags);

    /* Encodes chunk i, which is in[0..paper_plain(file, i)), with its tags.  Writes the parts to
     * out[0] and out[1], and sets their sizes.  out[format->parts - 1] has room for shape.bound
     * bytes, and out[0] for gpulz_flags_bound if there are two parts. */
    void (*encode)(const struct codec_file *file, uint32_t i, const uint8_t *in,
                   const uint16_t *tags, uint8_t *const out[CODEC_PARTS],
                   uint32_t sizes[CODEC_PARTS]);

    /* Decodes chunk i of the file bytes[] to out[0..paper_plain(file, i)).  Returns false if it is
     * damaged; some of these bytes are then written, and nothing outside. */
    bool (*decode)(const struct codec_file *file, uint32_t i, const uint8_t *bytes, uint8_t *out);
};

/* Returns a format of a method's paper.  form: NULL for the method's first format; otherwise the
 * format's name.  Returns NULL if there is none. */
const struct paper_format *paper_format_of(const char *method, const char *form);

/* All formats, ended by NULL; the formats of a method are side by side. */
extern const struct paper_format *const paper_formats[];

/* Whether the level's keys fit the format's fields.  If not, sets `error` to a message that names
 * the first key that does not, and its greatest value. */
bool paper_fits(const struct paper_format *format, const struct lz_level *level,
                char error[PAPER_ERROR_SIZE]);

/* --- Tags ------------------------------------------------------------------------------------- */

/* Bytes of a segment: a matcher matches one at a time, and no match crosses its start.  For lzss,
 * and for lz4 without the key `chunk`, the matcher heeds no other limit, so their segments are
 * chunks of the paper.  The other methods keep matches inside their chunks, and have the level's
 * default. */
size_t paper_segment(const struct paper_format *format, const struct lz_level *level);

/* Writes the tags of a segment's len bytes. */
void paper_tags(const struct lz_chunk *chunks, size_t len, uint16_t *tags);

/* Finds the matches of in[0..len) on the CPU, and writes their tags.  LZ_INPUT_PAD bytes after the
 * input are readable.  Returns false if memory is short. */
bool paper_match(const struct paper_format *format, const struct lz_level *level, const uint8_t *in,
                 size_t len, uint16_t *tags);

/* --- Files ------------------------------------------------------------------------------------ */

/* The plain bytes of chunk i. */
static inline uint32_t paper_plain(const struct codec_file *file, uint32_t i)
{
    const uint64_t left = file->plain - (uint64_t)i * file->shape.chunk;

    return left < file->shape.chunk ? (uint32_t)left : file->shape.chunk;
}

/*
 * To code an input: paper_begin; the format's prepare; encode the chunks, and set the sizes of
 * their places; paper_place, which sets where each part goes; write the parts there; paper_front,
 * which writes all the rest.  To decode a file: paper_open; decode the chunks.
 */

/* Begins a file for `plain` bytes.  Returns false if there are 2^32 bytes or more, or memory is
 * short. */
bool paper_begin(struct codec_file *file, const struct paper_format *format,
                 const struct lz_level *level, size_t plain);

/* Sets the places of all parts from their sizes, and the file's size. */
void paper_place(struct codec_file *file);

/* Writes the file's front, the chunks' heads, and what follows the chunks to bytes[0..size). */
void paper_front(const struct codec_file *file, uint8_t *bytes);

/* Takes apart the file bytes[0..size).  Returns false if it is damaged, or memory is short.  If it
 * returns true, all places lie in the file, and each chunk of the plain bytes has its parts. */
bool paper_open(struct codec_file *file, const struct paper_format *format,
                const struct lz_level *level, const uint8_t *bytes, size_t size);

/* Frees what paper_begin or paper_open has allocated, also after they failed. */
void paper_close(struct codec_file *file);

/* Sets the model from how often each byte occurs in the packed blocks of a file.  Each byte that
 * occurs gets a frequency of at least 1. */
void paper_set_model(struct range_model *model, const uint64_t counts[256]);

/* --- Whole inputs on the CPU ------------------------------------------------------------------ */

/* Codes in[0..len) with its tags.  LZ_INPUT_PAD bytes after the input are readable.  Returns the
 * file, which the caller frees, and sets *size to its size.  Returns NULL if there are 2^32 bytes
 * or more, or memory is short. */
uint8_t *paper_encode(const struct paper_format *format, const struct lz_level *level,
                      const uint8_t *in, size_t len, const uint16_t *tags, size_t *size);

/* Decodes the file coded[0..size).  Returns the plain bytes, which the caller frees, and sets *len
 * to their number.  Returns NULL if the file is damaged or memory is short. */
uint8_t *paper_decode(const struct paper_format *format, const struct lz_level *level,
                      const uint8_t *coded, size_t size, size_t *len);

#ifdef __cplusplus
}
#endif

#endif
