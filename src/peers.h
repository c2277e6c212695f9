/*
 * peers.h - other programs by whose names gzlzss may be called, and what their options mean
 *
 * Lists only the options that mean something else to the program than to gzlzss.  All other options
 * have gzlzss's meaning.
 */
#ifndef GZLZSS_PEERS_H
#define GZLZSS_PEERS_H

#include <stdbool.h>
#include <stddef.h>

/* What an option can mean, besides the meanings of gzlzss's letters. */
enum {
    PEER_REFUSED = 512, /* an error: gzlzss does not do this */
    PEER_NONE,          /* an error: the program has no such option */
    PEER_COMPRESS,      /* do not decompress */
    PEER_SYNCHRONOUS,   /* sync output to disk before removing the input */
};

/* An option of another program that means something else to gzlzss, or that gzlzss does not
 * have. */
struct peer_option {
    char letter;      /* 0: the option has no letter */
    const char *name; /* the long name; NULL: the option has none */
    int means;        /* a PEER_ number, or the letter of a gzlzss option without argument */
    const char *what; /* what the option does, in a few words */
};

/* The most options that are listed for a program. */
#define PEER_OPTIONS_MAX 16

struct peer {
    const char *const *names;          /* the program's names, ended by NULL */
    const char *differs;               /* why gzlzss cannot stand in for the program, or NULL */
    const struct peer_option *options; /* options[0..count) */
    size_t count;                      /* at most PEER_OPTIONS_MAX */
    bool keeps;                        /* the program keeps its inputs by default */
    bool ignores_gzip;                 /* the program does not read the environment variable GZIP */
    /* The environment variable that holds options for the program, or NULL.  If it is not NULL, the
     * variable GZIP may hold all options, too, instead of only some. */
    const char *variable;
};

/* Finds the program that is called `program`, a name without directories.  A dot and any text, or a
 * hyphen and a version, may follow the listed name.  NULL if no program matches, or if the name
 * contains "gzlzss". */
const struct peer *peers_find(const char *program);

/* Finds the option of p with this letter; NULL if none is listed.  p may be NULL. */
const struct peer_option *peers_letter(const struct peer *p, int letter);

#endif
