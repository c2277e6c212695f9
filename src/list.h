/*
 * list.h - prints the list of -l
 */
#ifndef GZLZSS_LIST_H
#define GZLZSS_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The contents of a file's line. */
struct list_entry {
    const char *method; /* the method's name, at most five letters (gz_format_name) */
    uint32_t crc;
    bool has_crc;
    time_t time;
    uint64_t packed,   /* bytes of the compressed file */
        original;      /* bytes of the uncompressed data */
    uint64_t overhead; /* how many of the `packed` bytes are header and trailer */
    const char *name;  /* the name that the file decompresses to */
};

/* The list so far.  To begin one, set `verbose`, `quiet` and `exact`, and zero the rest. */
struct list {
    bool verbose;      /* -v: with method, CRC and time */
    bool quiet;        /* -q: without a heading */
    bool exact;        /* --exact: the totals' ratio leaves out the headers and trailers of all
                        * files */
    bool has_heading;  /* the heading was printed, or -q left it out */
    uint64_t packed,   /* bytes of all compressed files so far */
        original;      /* bytes of their uncompressed data */
    uint64_t overhead; /* bytes of header and trailer: of the last file, or with `exact`, of all */
};

/* Prints a file's line on standard output; before the first line, prints the heading. */
void list_print(struct list *l, const struct list_entry *e);

/* Prints the line of totals, unless a total is 0. */
void list_print_totals(struct list *l);

/* Prints the totals so far.  gzip does this in place of a file's line if the file has something
 * after its compressed data. */
void list_break_off(struct list *l);

/* Formats `saved` as a percentage of `whole`, as in "74.9%".  If `whole` is 0, the percentage is
 * 0. */
#define LIST_RATIO_SIZE 16
void list_format_ratio(char text[LIST_RATIO_SIZE], double saved, double whole);

#endif
