/*
 * peers.h - other programs by whose names gzlzss may be called, and what their options mean
 *
 * Only options that mean something else to the program than to gzlzss are listed.  All other
 * options have gzlzss's meaning.
 */
#ifndef GZLZSS_PEERS_H
#define GZLZSS_PEERS_H

#include <stdbool.h>
#include <stddef.h>

/* What gzlzss does about an option of another program. */
enum peer_kind {
    PEER_MEANS,   /* the option means an option of gzlzss */
    PEER_IGNORED, /* a message says that the option has no effect here; the work is done */
    PEER_REFUSED, /* an error: gzlzss does not do this */
    PEER_NONE,    /* an error: the program has no such option */
};

/* An option of another program that means something else to gzlzss, or that gzlzss does not
 * have. */
struct peer_option {
    char letter; /* 0: the option has no letter */
    /* The long name.  NULL: the option has no long name, or gzlzss has an equal long option. */
    const char *name;
    const char *argument; /* the argument's name in --help; NULL: no argument */
    const char *what;     /* what the option does, in a few words; NULL: only with PEER_NONE */
    enum peer_kind kind;
    /* PEER_MEANS: the long name of an option of gzlzss, without dashes.  If that option takes an
     * argument, either "=" and the argument follow here, or `argument` is not NULL and the user
     * gives it. */
    const char *means;
};

/* The most options that are listed for a program. */
#define PEER_OPTIONS_MAX 16

struct peer {
    const char *const *names;          /* the program's names, ended by NULL */
    const char *differs;               /* why gzlzss cannot stand in for the program, or NULL */
    const struct peer_option *options; /* options[0..count) */
    size_t count;                      /* at most PEER_OPTIONS_MAX */
    /* An option of gzlzss that the program's name implies, or NULL: a long name without dashes, and
     * perhaps "=" and an argument. */
    const char *implies;
    bool ignores_gzip; /* the program does not read the environment variable GZIP */
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

/* Whether the program is called as zcat, gzcat, gzlzsscat or the like: decompression to standard
 * output. */
bool peers_is_cat(const char *program);

/* Whether the program is called by a name for decompression: gunzip, gunzlzss or the like, or one
 * for which peers_is_cat is true. */
bool peers_decompresses(const char *program);

#endif
