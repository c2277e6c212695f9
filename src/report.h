/*
 * report.h - what --json says about a file
 */
#ifndef GZLZSS_REPORT_H
#define GZLZSS_REPORT_H

#include "src/files.h"

/* Makes f->report, once file_finish was called and before the file is made final.  Without --json,
 * or if there was no work to do on the file, does nothing. */
void report_make(struct file *f);

/* Prints the report on a file that is final, or that could not be worked on; frees f->report.  The
 * main thread calls this for one file after another, in order.  Without --json, does nothing. */
void report_print(struct messages *m, struct file *f);

#endif
