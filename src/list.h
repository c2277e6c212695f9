/*
 * list.h - what -l prints
 */
#ifndef GZLZSS_LIST_H
#define GZLZSS_LIST_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct list_entry {
    const char *method; /* five letters */
    uint32_t crc;
    bool has_crc;
    time_t time;
    uint64_t packed, original; /* bytes of the whole file, and of what is in it */
    uint64_t overhead;         /* of packed, what is header and trailer */
    const char *name;
};

struct list {
    bool verbose, quiet;
    bool has_heading;  /* it was printed */
    uint64_t overhead; /* of the last file */
    uint64_t packed, original;
};

/* Prints a file's line on standard output, before the first one the heading. */
void list_print(struct list *l, const struct list_entry *e);

/* Prints the sums. */
void list_print_totals(struct list *l);

/* A file has no line of its own, as something follows its data: gzip prints the sums so far. */
void list_break_off(struct list *l);

/* "74.9%": how much smaller than `whole` it is if `saved` bytes of it are saved.  Room for at least
 * 8 bytes. */
void list_format_ratio(char *text, double saved, double whole);

#endif
