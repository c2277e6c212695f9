/*
 * peers.c - other programs by whose names gzlzss may be called (peers.h)
 *
 * To add a program, add a row to `peers`.  Compare it with the program itself: what it does without
 * options, what each of its letters and long names does, and which environment variables it reads.
 */
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "src/peers.h"

/* --- gzip ----------------------------------------------------------------------------------- */

static const char *const gzip_names[] = {"gzip", "gunzip", "zcat", "gzcat", "uncompress", NULL};

static const struct peer_option gzip_options[] = {
    {'0', NULL, PEER_NONE, NULL},
};

/* --- pigz (2.6 and 2.8) --------------------------------------------------------------------- */

static const char *const pigz_names[] = {"pigz", "unpigz", NULL};

static const struct peer_option pigz_options[] = {
    {'T', "no-time", 'm', "do not store or restore the time; also -m"},
    {0, "time", 'M', "store or restore the time; also -M"},
    {'Y', NULL, PEER_SYNCHRONOUS, "sync output to disk before removing input"},
    {'A', "alias", PEER_REFUSED, "a name in a zip file"},
    {'C', "comment", PEER_REFUSED, "a comment in the header"},
    {'F', "first", PEER_REFUSED, "zopfli's iterations"},
    {'H', "huffman", PEER_REFUSED, "Huffman coding alone"},
    {'I', "iterations", PEER_REFUSED, "zopfli's iterations"},
    {'J', "maxsplits", PEER_REFUSED, "zopfli's blocks"},
    {'K', "zip", PEER_REFUSED, "zip format"},
    {'O', "oneblock", PEER_REFUSED, "zopfli's blocks"},
    {'U', "rle", PEER_REFUSED, "run-length encoding"},
    {'z', "zlib", PEER_REFUSED, "zlib format"},
};

/* --- igzip (2.30) --------------------------------------------------------------------------- */

static const char *const igzip_names[] = {"igzip", NULL};

/* igzip's levels are 0 to 3, and level 0 compresses. */
static const struct peer_option igzip_options[] = {
    {'0', NULL, '1', "compress fastest, as -1"},
    {'z', "compress", PEER_COMPRESS, "compress, which is the default"},
};

/* --- Programs that write, or do, something else --------------------------------------------- */

static const char *const bgzip_names[] = {"bgzip", "pbgzip", NULL};
static const char *const bzip2_names[] = {"bzip2",  "bunzip2",  "bzcat",  "pbzip2",
                                          "lbzip2", "lbunzip2", "lbzcat", NULL};
static const char *const compress_names[] = {"compress", NULL};
static const char *const lz4_names[] = {"lz4", "lz4c", "unlz4", "lz4cat", NULL};
static const char *const other_gzip_names[] = {"minigzip", "rapidgzip", "zopfli", NULL};
static const char *const xz_names[] = {"xz",  "unxz", "xzcat",  "lzma",  "unlzma", "lzcat",  "pixz",
                                       "pxz", "lzip", "lunzip", "plzip", "lzop",   "unlzop", NULL};
static const char *const zip_names[] = {"zip", "unzip", "funzip", NULL};
static const char *const zstd_names[] = {"zstd", "zstdmt", "pzstd", "unzstd", "zstdcat", NULL};

_Static_assert(sizeof(pigz_options) / sizeof(pigz_options[0]) <= PEER_OPTIONS_MAX,
               "the longest list");

#define OPTIONS(list) .options = (list), .count = sizeof(list) / sizeof((list)[0])

static const struct peer peers[] = {
    {.names = gzip_names, OPTIONS(gzip_options)},
    {.names = pigz_names, OPTIONS(pigz_options), .variable = "PIGZ"},
    {.names = igzip_names, OPTIONS(igzip_options), .keeps = true, .ignores_gzip = true},
    {.names = bgzip_names, .differs = "format is BGZF"},
    {.names = bzip2_names, .differs = "format is bzip2"},
    {.names = compress_names, .differs = "format is .Z"},
    {.names = lz4_names, .differs = "format is lz4"},
    {.names = other_gzip_names, .differs = "options mean something else"},
    {.names = xz_names, .differs = "format is another one"},
    {.names = zip_names, .differs = "format is zip"},
    {.names = zstd_names, .differs = "format is zstd"},
};

/* --- Looking them up ------------------------------------------------------------------------ */

/* Whether `program` is `name`, perhaps with a version or another ending, as "pigz-2.8" and
 * "pigz.real". */
static bool is_called(const char *program, const char *name)
{
    const size_t length = strlen(name);

    return strncmp(program, name, length) == 0 &&
           (program[length] == '\0' || program[length] == '.' ||
            (program[length] == '-' && isdigit((unsigned char)program[length + 1])));
}

const struct peer *peers_find(const char *program)
{
    if (strstr(program, PACKAGE_NAME) != NULL)
        return NULL;
    for (size_t i = 0; i < sizeof(peers) / sizeof(peers[0]); i++)
        for (const char *const *name = peers[i].names; *name != NULL; name++)
            if (is_called(program, *name))
                return &peers[i];
    return NULL;
}

const struct peer_option *peers_letter(const struct peer *p, int letter)
{
    for (size_t i = 0; p != NULL && i < p->count; i++)
        if (p->options[i].letter == letter)
            return &p->options[i];
    return NULL;
}
