/*
 * option_rows.h - the table of all options; only the files that read or list options use it
 */
#ifndef GZLZSS_OPTION_ROWS_H
#define GZLZSS_OPTION_ROWS_H

#include <stdbool.h>
#include <stddef.h>

#include "src/options.h"

/* What getopt_long returns for options that have no letter. */
enum {
    OPTION_ATOMIC = 256,
    OPTION_BACKEND,
    OPTION_BGZIP_INDEX,
    OPTION_BGZIP_OFFSET,
    OPTION_BGZIP_SIZE,
    OPTION_BITS,
    OPTION_COMPRESS,
    OPTION_DEVICE,
    OPTION_EXACT,
    OPTION_EXCLUDE_COMPRESSED,
    OPTION_FILES0,
    OPTION_FILES_FROM,
    OPTION_FILL,
    OPTION_FORMAT,
    OPTION_HUFFMAN,
    OPTION_INDEX,
    OPTION_INDEX_FILE,
    OPTION_JSON,
    OPTION_LEVEL,
    OPTION_LINES,
    OPTION_LIST_DEVICES,
    OPTION_MATCHER,
    OPTION_MEMORY,
    OPTION_MIRROR,
    OPTION_NO_PROGRESS,
    OPTION_NO_SPARSE,
    OPTION_NO_VERIFY,
    OPTION_NULL,
    OPTION_OUTPUT_DIR,
    OPTION_PRESUME_INPUT_TTY,
    OPTION_PROGRESS,
    OPTION_RANGE,
    OPTION_RECOVER,
    OPTION_REINDEX,
    OPTION_RM,
    OPTION_SPARSE,
    OPTION_VERIFY,
    /* OPTION_OF_PEER + i: long option i of the program by whose name gzlzss is called (peers.h). */
    OPTION_OF_PEER = 1024,
};

/* How matches are found: as the level does, or as the last of --huffman and --rle says. */
enum strategy { STRATEGY_OF_LEVEL, STRATEGY_HUFFMAN, STRATEGY_RLE };

/* Options seen so far whose meaning depends on other options.  options_conclude combines them, as
 * gzip does. */
struct wishes {
    bool ascii, decompress, test, list;
    const char *suffix;         /* the argument of -S; NULL: the format's suffix */
    bool remove;                /* --rm */
    int no_name, no_time;       /* -1: the default of the action */
    const char *suffix_source;  /* the source of -S (`source` in struct messages) */
    const char *matcher_source; /* the source of --matcher */
    enum strategy strategy;
    /* bgzip's -b, -s and -I.  -I alone makes no index. */
    bool has_offset, has_size, only_names_index;
    uint64_t offset, size;
};

/* An option sets members of these structs.  Each name is HOLDER_ and the struct's name, so that the
 * macro MEMBER can make it from the struct's name. */
enum holder { HOLDER_options, HOLDER_wishes, HOLDER_messages, HOLDERS };

enum effect_kind {
    NOTHING,
    SET_BOOL, /* a bool becomes `value` */
    SET_INT,  /* an int, or an enumeration, becomes `value` */
    COUNT,    /* an int grows by one */
    NUMBER,   /* an int becomes the argument, which must be a number from `value` to `most` */
    WORD,     /* an enumeration becomes the index of the argument in `words` */
    TEXT,     /* a const char * becomes the argument, or "-" if there is none */
    SOURCE,   /* a const char * becomes the option's source, as `source` in struct messages */
    ODD,      /* apply_odd has a case for the option */
};

/* What an option does to one member of one struct. */
struct effect {
    enum effect_kind kind;
    enum holder holder;
    size_t offset;            /* the member's offset in that struct */
    int value,                /* see enum effect_kind */
        most;                 /* NUMBER: the largest number */
    const char *what;         /* NUMBER and WORD: the argument's name in messages */
    const char *unit;         /* NUMBER: text after the range in messages */
    const char *const *words; /* WORD: the words, ended by NULL */
};

/* Whether the environment variable GZIP may hold the option.  As in gzip, the variable may hold
 * only options that do not change what happens to files.  IN_GZIP_BY_NAME: only by the long name;
 * gzip has no option with this letter. */
enum in_gzip { NOT_IN_GZIP, IN_GZIP, IN_GZIP_BY_NAME };

struct option_row {
    /* The option's letter, or an OPTION_ number; 0: the row is a heading of --help. */
    int id;
    const char *name; /* the long name; NULL: there is only a letter */
    /* The argument's name in --help, in brackets if the argument may be missing; NULL: no
     * argument. */
    const char *argument;
    const char *help;         /* text in --help; NULL: not listed */
    struct effect effects[3]; /* the effects; unused unless this row is the first with its id */
    enum in_gzip in_gzip;     /* unused unless this row is the first with its id */
    const char *in_mpi;       /* text in gzlzss-mpi's --help, SAME for `help`; NULL: not listed */
};

#define SAME ""

/* The table, option_rows[0..option_row_count); the count is OPTION_ROWS_MAX at most. */
extern const struct option_row option_rows[];
extern const int option_row_count;
#define OPTION_ROWS_MAX 128

/* The words for --format, by enum container, ended by NULL. */
extern const char *const option_formats[];

/* Sets the fields that depend on several options.  Returns false, with a message printed, if the
 * options contradict each other. */
bool options_conclude(struct options *o, const struct wishes *w, struct messages *m);

#endif
