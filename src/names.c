/*
 * names.c - the names of compressed files (names.h)
 */
#include "config.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "src/names.h"

/* The suffixes that gunzip removes without being told.  None is the end of another. */
static const char *const known[] = {".gz", ".z", ".taz", ".tgz", "-gz", "-z", "_z"};

enum { KNOWN = sizeof(known) / sizeof(known[0]) };

/* Whether name[0..length) ends in the suffix, in any letter case, but is not just the suffix. */
static bool has_suffix(const char *name, size_t length, const char *suffix)
{
    size_t n = strlen(suffix);

    return length > n && strncasecmp(name + length - n, suffix, n) == 0;
}

/* Whether the user's suffix `own` is the end of a known suffix, as "gz" is the end of ".gz".
 * Letter case counts. */
static bool is_tail_of_known(const char *own)
{
    const size_t n = strlen(own);

    for (int i = 0; i < KNOWN; i++) {
        const size_t length = strlen(known[i]);

        if (n < length && strcmp(known[i] + length - n, own) == 0)
            return true;
    }
    return false;
}

/* The suffix that name[0..length) ends in, or NULL. */
static const char *find_suffix(const char *name, size_t length, const char *own)
{
    /* With -S gz, "f.gz" should count as "f" with the suffix ".gz", not as "f." with "gz".  So if
     * `own` is the end of a known suffix, try the known suffixes first. */
    const bool own_last = is_tail_of_known(own);

    if (!own_last && has_suffix(name, length, own))
        return own;
    for (int i = 0; i < KNOWN; i++)
        if (has_suffix(name, length, known[i]))
            return known[i];
    return own_last && has_suffix(name, length, own) ? own : NULL;
}

const char *names_suffix(const char *name, const char *own)
{
    const char *base = names_base(name);
    const size_t length = strlen(base);
    const char *suffix = find_suffix(base, length, own);

    return suffix == NULL ? NULL : base + length - strlen(suffix);
}

bool names_are_zlib(const char *name)
{
    const char *base = names_base(name);

    return has_suffix(base, strlen(base), NAMES_SUFFIX_ZLIB);
}

const char *names_packed_suffix(const char *name, const char *own)
{
    const char *suffix = names_suffix(name, own);

    if (suffix != NULL || !names_are_zlib(name))
        return suffix;
    return name + strlen(name) - strlen(NAMES_SUFFIX_ZLIB);
}

const char *names_guess(int i, const char *own)
{
    static const char *const guesses[] = {".gz", ".z", "-z", ".Z"};

    if (i == 0)
        return own;
    return i <= (int)(sizeof(guesses) / sizeof(guesses[0])) ? guesses[i - 1] : NULL;
}

char *names_join(const char *first, size_t length, const char *second)
{
    char *s = malloc(length + strlen(second) + 1);

    if (s != NULL) {
        memcpy(s, first, length);
        strcpy(s + length, second);
    }
    return s;
}

const char *names_replacement(const char *suffix)
{
    return strcasecmp(suffix, ".tgz") == 0 || strcasecmp(suffix, ".taz") == 0 ? ".tar" : "";
}

const char *names_base(const char *name)
{
    const char *slash = strrchr(name, '/');

    return slash == NULL ? name : slash + 1;
}

bool names_shorten(char *name, const char *own)
{
    char *base = (char *)names_base(name);
    char *end = own != NULL ? (char *)names_suffix(name, own) : base + strlen(base);
    size_t suffix;

    if (end == NULL || end == base)
        return false;
    /* names_suffix may have found a longer suffix than `own`: with -S gz, it finds ".gz" in "f.gz".
     * gzip keeps only `own`. */
    if (own != NULL && strlen(own) < strlen(end))
        strcpy(end, own);
    suffix = strlen(end);
    if (suffix > 0 && end - base > 4 && memcmp(end - 4, ".tar", 4) == 0) {
        memcpy(end - 4, ".tgz", sizeof(".tgz"));
        return true;
    }
    for (int least = 3; least > 0 && suffix > 0; least--) {
        for (char *part_end = end, *part; part_end > base; part_end = part - 1) {
            part = part_end;
            while (part > base && part[-1] != '.')
                part--;
            if (part_end - part > least) {
                memmove(part_end - 1, part_end, strlen(part_end) + 1);
                return true;
            }
            if (part == base)
                break;
        }
    }
    /* If no part has a byte to spare, remove the last part and its dot.  If there is no suffix to
     * keep, remove the last byte. */
    base = end - 1;
    while (suffix > 0 && base > names_base(name) && *base != '.')
        base--;
    if (suffix > 0 && base + 1 == end && base > names_base(name))
        base--;
    memmove(base, end, strlen(end) + 1);
    return base > names_base(name);
}

uint64_t names_hash(const char *base, const char *own)
{
    size_t length = strlen(base);
    uint64_t hash = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
    const char *suffix;

    while ((suffix = find_suffix(base, length, own)) != NULL ||
           (has_suffix(base, length, ".tar") && (suffix = ".tar")) ||
           (has_suffix(base, length, NAMES_SUFFIX_ZLIB) && (suffix = NAMES_SUFFIX_ZLIB)))
        length -= strlen(suffix);
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (uint64_t)tolower((unsigned char)base[i])) * UINT64_C(0x100000001b3);
    return hash;
}
