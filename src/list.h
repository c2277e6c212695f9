/*
 * list.h - what -l prints
 */
#ifndef GZLZSS_LIST_H
#define GZLZSS_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* What a file's line tells. */
struct list_entry {
    const char *method; /* five letters or less (gz_format_name) */
    uint32_t crc;
    bool has_crc;
    time_t time;
    uint64_t packed, original; /* bytes of the whole file, and of what is in it */
    uint64_t overhead;         /* of packed, what is header and trailer */
    const char *name;          /* of what the file decompresses to */
};

/* The list so far.  All zero but the first two is the start of one. */
struct list {
    bool verbose;              /* -v: with method, CRC and time */
    bool quiet;                /* -q: without a heading */
    bool has_heading;          /* the heading's turn has come */
    uint64_t packed, original; /* bytes of all files so far */
    uint64_t overhead;         /* of the last file */
};

/* Prints a file's line on standard output, before the first one the heading. */
void list_print(struct list *l, const struct list_entry *e);

/* Prints the sums, unless one of them is 0. */
void list_print_totals(struct list *l);

/* A file has no line of its own, as something follows its data: gzip prints the sums so far. */
void list_break_off(struct list *l);

/* "74.9%": how much smaller `whole` bytes are if `saved` of them are saved; 0 if `whole` is 0. */
#define LIST_RATIO_SIZE 16
void list_format_ratio(char text[LIST_RATIO_SIZE], double saved, double whole);

#endif
