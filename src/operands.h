/*
 * operands.h - works on all operands, and on the files in directories, several at a time where
 * possible
 */
#ifndef GZLZSS_OPERANDS_H
#define GZLZSS_OPERANDS_H

#include <stdbool.h>

#include "src/messages.h"
#include "src/options.h"

/* Works on all operands, as the options say.  *m gets the messages and the status.  False if the
 * program may only end by _exit or leave (pipeline_leave). */
bool operands_process(const struct options *o, struct messages *m);

#endif
