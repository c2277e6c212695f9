/*
 * contents.c - the data that scenarios name (contents.h)
 */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/faults/contents.h"

#define BIG_SIZE 9500000

static void add(struct contents *c, const char *name, struct bytes data)
{
    if (c->count == CONTENTS_MAX)
        abort();
    c->all[c->count].name = name;
    c->all[c->count++].data = data;
}

/* Fills bytes[0..len) with lines of words. */
static void fill(uint8_t *bytes, size_t len)
{
    static const char *const words[] = {"segment", "of", "literal", "the", "match",  "distance",
                                        "window",  "a",  "chain",   "and", "length", "block"};
    uint32_t random = 1;
    size_t at = 0, column = 0;

    while (at < len) {
        const char *word;

        random = random * 1664525 + 1013904223;
        word = words[(random >> 20) % (sizeof(words) / sizeof(words[0]))];
        for (; *word != '\0' && at < len; column++)
            bytes[at++] = (uint8_t)*word++;
        if (at < len)
            bytes[at++] = column > 60               ? '\n'
                          : (random >> 16) % 5 == 0 ? (uint8_t)(random >> 25)
                                                    : ' ';
        if (column > 60)
            column = 0;
    }
}

static struct bytes lines(size_t len)
{
    struct bytes data = {calloc(len + 1, 1), len};

    if (data.at == NULL)
        abort();
    fill(data.at, len);
    return data;
}

static struct bytes with_zeros(size_t len, size_t from, size_t to, size_t last)
{
    struct bytes data = lines(len);

    memset(data.at + from, 0, to - from);
    memset(data.at + last, 0, len - last);
    return data;
}

/* Runs a command of the shell in `work`, with $G as the command under test. */
static void run(const char *gzlzss, const char *work, const char *command)
{
    char *line = text_of("cd '%s' && G='%s' && %s", work, gzlzss, command);

    if (system(line) != 0) {
        fprintf(stderr, "failed: %s\n", line);
        exit(3);
    }
    free(line);
}

static void read_back(struct contents *c, const char *work, const char *name)
{
    char *path = text_of("%s/%s", work, name);

    add(c, name, bytes_read(path));
    free(path);
}

void contents_make(struct contents *c, const char *gzlzss, const char *work)
{
    static const char *const made[] = {"tiny.gz",  "small.gz", "text.gz",  "text.gz.gzi",
                                       "holes.gz", "big.gz",   "solid.gz", "named.gz"};

    add(c, "tiny", lines(300));
    add(c, "small", lines(3000));
    add(c, "other", lines(5000));
    add(c, "text", lines(150000));
    add(c, "holes", with_zeros(600000, 1000, 400000, 500000));
    add(c, "big", with_zeros(BIG_SIZE, 0, 0, BIG_SIZE - 1000000));
    add(c, "names", (struct bytes){(uint8_t *)strdup("a\nb\nc\n"), 6});
    for (size_t i = 0; i < c->count; i++) {
        char *path = text_of("%s/%s", work, c->all[i].name);

        bytes_write(path, c->all[i].data);
        free(path);
    }
    run(gzlzss, work,
        "cp small stored && $G -kN stored && mv stored.gz named.gz && "
        "$G -nc text >solid.gz && $G -1nk big && "
        "$G -nk -b 32 tiny small holes && $G -nk -b 32 --index text");
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        read_back(c, work, made[i]);
}

struct bytes contents_find(const struct contents *c, const char *name, size_t length)
{
    for (size_t i = 0; i < c->count; i++)
        if (strlen(c->all[i].name) == length && strncmp(c->all[i].name, name, length) == 0)
            return c->all[i].data;
    fprintf(stderr, "no contents: %s\n", name);
    exit(3);
}
