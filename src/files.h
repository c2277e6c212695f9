/*
 * files.h - what happens to one operand: names, opening, attributes, and removing what is done with
 */
#ifndef GZLZSS_FILES_H
#define GZLZSS_FILES_H

#include "src/messages.h"
#include "src/options.h"
#include "src/pipeline.h"

/*
 * Compresses, decompresses or tests one file, or standard input if name is "-", and reports what
 * went wrong through m.  `p` is needed only for compression.
 */
void file_process(const char *name, const struct options *o, struct pipeline *p,
                  struct messages *m);

#endif
