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
    {.letter = '0', .kind = PEER_NONE}, {.letter = 'A', .kind = PEER_NONE},
    {.letter = 'C', .kind = PEER_NONE}, {.letter = 'K', .kind = PEER_NONE},
    {.letter = 'U', .kind = PEER_NONE}, {.letter = 'Y', .kind = PEER_NONE},
    {.letter = 'o', .kind = PEER_NONE}, {.letter = 'z', .kind = PEER_NONE},
};

/* --- pigz (2.6 and 2.8) --------------------------------------------------------------------- */

static const char *const pigz_names[] = {"pigz", "unpigz", NULL};

/* clang-format off */

/* pigz's -F, -I, -J and -O are for its level 11, which is zopfli's method.  gzlzss's level 11 is
 * another method, without such options. */
static const struct peer_option pigz_options[] = {
    {'F', "first", NULL, "zopfli's iterations before blocks", PEER_IGNORED, NULL},
    {'H', NULL, NULL, "code by Huffman codes only; also --huffman", PEER_MEANS, "huffman"},
    {'I', "iterations", "N", "zopfli's iterations", PEER_IGNORED, NULL},
    {'J', "maxsplits", "N", "zopfli's blocks", PEER_IGNORED, NULL},
    {'O', "oneblock", NULL, "zopfli's blocks", PEER_IGNORED, NULL},
    {'T', NULL, NULL, "do not store or restore the time; also -m", PEER_MEANS, "no-time"},
};

/* --- igzip (2.30) --------------------------------------------------------------------------- */

static const char *const igzip_names[] = {"igzip", NULL};

/* igzip's levels are 0 to 3, and level 0 compresses. */
static const struct peer_option igzip_options[] = {
    {'0', NULL, NULL, "compress fastest, as -1", PEER_MEANS, "level=1"},
    {'z', NULL, NULL, "compress, which is the default; also --compress", PEER_MEANS, "compress"},
};

/* --- bgzip (htslib 1.16 and 1.21) ----------------------------------------------------------- */

static const char *const bgzip_names[] = {"bgzip", NULL};

static const struct peer_option bgzip_options[] = {
    {'@', NULL, "N", "use N threads; also --threads", PEER_MEANS, "threads"},
    {'b', "offset", "N", "decompress from byte N on, to stdout", PEER_MEANS, ":bgzip-offset"},
    {0, "binary", NULL, "blocks need not end with a line", PEER_IGNORED, NULL},
    {'g', "rebgzip", NULL, "cut as an index says", PEER_REFUSED, NULL},
    {'i', NULL, NULL, "make an index; also --index", PEER_MEANS, "index"},
    {'I', "index-name", "FILE", "the name of the index", PEER_MEANS, ":bgzip-index"},
    {'l', "compress-level", "N", "compress at level N; also --level", PEER_MEANS, "level"},
    {'r', NULL, NULL, "make an index of a compressed file; also --reindex", PEER_MEANS, "reindex"},
    {'s', "size", "N", "decompress N bytes, to stdout", PEER_MEANS, ":bgzip-size"},
};

/* clang-format on */

/* --- Programs that write, or do, something else --------------------------------------------- */

static const char *const pbgzip_names[] = {"pbgzip", NULL};
static const char *const bzip2_names[] = {"bzip2",  "bunzip2",  "bzcat",  "pbzip2",
                                          "lbzip2", "lbunzip2", "lbzcat", NULL};
static const char *const compress_names[] = {"compress", NULL};
static const char *const lz4_names[] = {"lz4", "lz4c", "unlz4", "lz4cat", NULL};
static const char *const other_gzip_names[] = {"minigzip", "rapidgzip", "zopfli", NULL};
static const char *const xz_names[] = {"xz",  "unxz", "xzcat",  "lzma",  "unlzma", "lzcat",  "pixz",
                                       "pxz", "lzip", "lunzip", "plzip", "lzop",   "unlzop", NULL};
static const char *const zip_names[] = {"zip", "unzip", "funzip", NULL};
static const char *const zstd_names[] = {"zstd", "zstdmt", "pzstd", "unzstd", "zstdcat", NULL};

_Static_assert(sizeof(bgzip_options) / sizeof(bgzip_options[0]) <= PEER_OPTIONS_MAX,
               "the longest list");

#define OPTIONS(list) .options = (list), .count = sizeof(list) / sizeof((list)[0])

static const struct peer peers[] = {
    {.names = gzip_names, OPTIONS(gzip_options)},
    {.names = pigz_names, OPTIONS(pigz_options), .variable = "PIGZ"},
    {.names = igzip_names, OPTIONS(igzip_options), .implies = "keep", .ignores_gzip = true},
    {.names = bgzip_names, OPTIONS(bgzip_options), .implies = "format=bgzf", .ignores_gzip = true},
    {.names = pbgzip_names, .differs = "format is BGZF"},
    {.names = bzip2_names, .differs = "format is bzip2"},
    {.names = compress_names, .differs = "format is .Z"},
    {.names = lz4_names, .differs = "format is lz4"},
    {.names = other_gzip_names, .differs = "options mean something else"},
    {.names = xz_names, .differs = "format is another one"},
    {.names = zip_names, .differs = "format is zip"},
    {.names = zstd_names, .differs = "format is zstd"},
};

/* --- Finding a program ---------------------------------------------------------------------- */

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

bool peers_is_cat(const char *program)
{
    return strcmp(program, "gzcat") == 0 || strcmp(program, "gzlzsscat") == 0 ||
           (program[0] != '\0' && strcmp(program + 1, "cat") == 0);
}

bool peers_decompresses(const char *program)
{
    return peers_is_cat(program) || strncmp(program, "un", 2) == 0 ||
           strncmp(program, "gun", 3) == 0;
}
