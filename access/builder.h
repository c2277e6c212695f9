/*
 * builder.h - makes an index of a .gz while the file is decoded
 *
 * The code that decodes the file calls access_builder_note at places where a block starts, and
 * access_builder_wrote with the output.  The builder keeps a point every ACCESS_INDEX_APART bytes
 * of output.  If the file is BGZF, its members are all that an index needs, and both calls do
 * nothing.
 */
#ifndef GZLZSS_ACCESS_BUILDER_H
#define GZLZSS_ACCESS_BUILDER_H

#include "access/index.h"
#include "compat/io.h"

/* The least distance of two points with windows, in bytes of output.  With half this distance,
 * reads are twice as fast, and the index is twice as large. */
#ifndef ACCESS_INDEX_APART /* tests choose other sizes */
#define ACCESS_INDEX_APART ((uint64_t)8 << 20)
#endif

/* The most bytes of memory for an index.  If it needs more, every second point is dropped. */
#define ACCESS_INDEX_MEMORY ((uint64_t)64 << 20)

struct access_builder;

/* Makes a builder; returns NULL if memory is short.  `file` is the .gz, and *file is copied.  If
 * the .gz cannot be read at any place, pass NULL; windows are then stored whole
 * (access_window_pack). */
struct access_builder *access_builder_new(const struct access_source *file);

/* Makes a builder for a BGZF file that is being written, and cannot be read again.  The caller
 * tells it where members start (access_builder_member).  NULL if memory is short. */
struct access_builder *access_builder_new_bgzf(void);

/* Tells the builder of access_builder_new_bgzf that a member with data, but not the first, starts
 * at byte `at` of the file and byte `out` of the data.  Calls must give the places in order. */
void access_builder_member(struct access_builder *b, uint64_t at, uint64_t out);

/* Frees b, which may be NULL. */
void access_builder_free(struct access_builder *b);

/* Whether the file is BGZF.  If so, the builder has the file's index already. */
bool access_builder_is_bgzf(const struct access_builder *b);

/* Whether access_builder_note would keep this point. */
bool access_builder_wants(struct access_builder *b, uint64_t bit, uint64_t out, bool has_window);

/* Tells the builder that a block starts at bit `bit` of the file and byte `out` of the output.  The
 * `len` bytes before `end`, INF_WINDOW at most, are the window; `len` is 0 if the data does not
 * refer back.  Calls must give the places in order.  Any thread may call this, but only one at a
 * time. */
void access_builder_note(struct access_builder *b, uint64_t bit, uint64_t out, const uint8_t *end,
                         size_t len);

/*
 * Returns a gz_ahead (compat/io.h) that notes places where a block starts while compat/ decodes the
 * file, and otherwise does what `inner` does; `inner` may be NULL.  b and *inner must stay as long
 * as the result is in use.  The result does not note places in runs that `inner` decodes ahead; the
 * code that accepts a run must note them.
 */
struct gz_ahead access_builder_ahead(struct access_builder *b, const struct gz_ahead *inner);

/* Counts the line feeds in the next bytes of the output.  Any thread may call this, but only one at
 * a time; another thread may note a place meanwhile.  All places in these bytes must have been
 * noted before. */
void access_builder_wrote(struct access_builder *b, const uint8_t *bytes, size_t len);

/* Writes the index (access_index_write).  Call this once all data was decoded.  file_size and size
 * are the lengths of the file and of the output.  A BGZF file gets bgzip's index, whatever the
 * format.  Returns false if memory was short (errno stays as it is), or if `put` or reading the
 * file has failed (errno says why). */
bool access_builder_write(struct access_builder *b, enum access_format format, uint64_t file_size,
                          uint64_t size, bool (*put)(void *ctx, const void *bytes, size_t len),
                          void *ctx);

#endif
