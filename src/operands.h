/*
 * operands.h - one operand after another, through directories, and files side by side
 */
#ifndef GZLZSS_OPERANDS_H
#define GZLZSS_OPERANDS_H

#include <stdbool.h>

#include "src/messages.h"
#include "src/options.h"

/* Does what the options say to all operands.  What there is to say goes to *m, as does the status.
 * Returns false if the program may end only by _exit or leave (pipeline_leave). */
bool operands_process(const struct options *o, struct messages *m);

#endif
