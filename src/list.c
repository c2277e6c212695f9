/*
 * list.c - prints the list of -l (list.h)
 */
#include "config.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "src/list.h"
#include "src/quote.h"

/* The width of a size, in characters, and the part of the heading that only -v prints. */
#define COLUMN 19
#define DETAILS "method  crc     date  time  "

void list_format_ratio(char text[LIST_RATIO_SIZE], double saved, double whole)
{
    snprintf(text, LIST_RATIO_SIZE, "%5.1f%%", whole == 0 ? 0.0 : 100.0 * saved / whole);
}

/* Prints sizes, ratio and a name.  The ratio does not count the `overhead` bytes of header and
 * trailer. */
static void print_sizes(uint64_t packed, uint64_t original, uint64_t overhead, const char *name,
                        bool with_sizes)
{
    char ratio[LIST_RATIO_SIZE], *memory;
    const char *shown = quote_for(STDOUT_FILENO, name, &memory);

    list_format_ratio(ratio, (double)original - ((double)packed - (double)overhead),
                      (double)original);
    if (with_sizes)
        printf("%*llu %*llu ", COLUMN, (unsigned long long)packed, COLUMN,
               (unsigned long long)original);
    printf("%s %s\n", ratio, shown != NULL ? shown : "?");
    free(memory);
}

void list_print(struct list *l, const struct list_entry *e)
{
    if (!l->has_heading) {
        l->has_heading = true;
        if (l->verbose)
            printf(DETAILS);
        if (!l->quiet)
            printf("%*s %*s  ratio uncompressed_name\n", COLUMN, "compressed", COLUMN,
                   "uncompressed");
    }
    if (l->verbose) {
        struct tm tm;
        char date[32] = "??? ?? ??:??";

        if (localtime_r(&e->time, &tm) != NULL)
            strftime(date, sizeof(date), "%b %e %H:%M", &tm);
        /* Without a CRC, print a long with all bits set, as gzip does. */
        printf("%-5s %08lx %s ", e->method, e->has_crc ? (unsigned long)e->crc : ULONG_MAX, date);
    }
    print_sizes(e->packed, e->original, e->overhead, e->name, true);
    l->packed += e->packed;
    l->original += e->original;
    l->overhead = e->overhead + (l->exact ? l->overhead : 0);
}

void list_print_totals(struct list *l)
{
    if (l->packed == 0 || l->original == 0)
        return;
    if (l->verbose)
        printf("%*s", (int)sizeof(DETAILS) - 1, "");
    /* Without --exact, l->overhead is that of the last file alone, as in gzip. */
    print_sizes(l->packed, l->original, l->overhead, "(totals)", l->verbose || !l->quiet);
}

void list_break_off(struct list *l)
{
    l->overhead = 0;
    list_print_totals(l);
}
