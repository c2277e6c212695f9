/*
 * peers.h - other programs by whose names gzlzss may be called, and what their options mean
 *
 * An option that is not listed for a program means what it means to gzlzss: the same, or nothing,
 * to that program.
 */
#ifndef GZLZSS_PEERS_H
#define GZLZSS_PEERS_H

#include <stdbool.h>
#include <stddef.h>

/* What an option may mean beside the letters of gzlzss's options. */
enum {
    PEER_REFUSED = 512, /* what gzlzss does not do: an error */
    PEER_NONE,          /* there is no such option */
    PEER_COMPRESS,      /* not to decompress */
    PEER_REMOVE,        /* not to keep the input */
    PEER_SYNCHRONOUS,
};

/* An option that means something else to gzlzss, or nothing. */
struct peer_option {
    char letter;      /* 0: it has none */
    const char *name; /* the long one; NULL: it has none */
    int means;        /* a letter of an option without an argument, or one of the above */
    const char *what; /* it does, in a few words */
};

#define PEER_OPTIONS_MAX 16

struct peer {
    const char *const *names; /* the program's, ended by NULL */
    const char *differs;      /* what keeps gzlzss from doing its work by this name, or NULL */
    const struct peer_option *options; /* `count` of them, PEER_OPTIONS_MAX at most */
    size_t count;
    bool keeps;        /* its inputs, unless it is told otherwise */
    bool ignores_gzip; /* does not read the environment variable GZIP */
    /* The environment variable that holds options for it, or NULL.  If there is one, GZIP may hold
     * any option, too. */
    const char *variable;
};

/* The program of this name, without directories, which may have a dot and anything behind it, or a
 * hyphen and a version; NULL if it is none of those listed, or contains gzlzss's own name. */
const struct peer *peers_find(const char *program);

/* Its option with this letter; NULL if none is listed.  p may be NULL. */
const struct peer_option *peers_letter(const struct peer *p, int letter);

#endif
