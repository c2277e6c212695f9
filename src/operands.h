/*
 * operands.h - works on one operand after another, through directories, and files side by side
 */
#ifndef GZLZSS_OPERANDS_H
#define GZLZSS_OPERANDS_H

#include <stdbool.h>

#include "src/messages.h"
#include "src/options.h"

/* Does what the options say to all operands.  *m gets the messages and the status.  False if the
 * program may only end by _exit or leave (pipeline_leave). */
bool operands_process(const struct options *o, struct messages *m);

#endif
