/*
 * report.h - what --json says about a file
 */
#ifndef GZLZSS_REPORT_H
#define GZLZSS_REPORT_H

#include "src/files.h"

/* Makes f->report of the results of the work, once the output is finished.  Without --json, does
 * nothing. */
void report_make(struct file *f);

/* Prints the report on a file that is final, or that could not be worked on, and frees f->report.
 * The main thread calls this for one file after another, in order.  Without --json, does nothing. */
void report_print(struct messages *m, struct file *f);

#endif
