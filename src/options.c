/*
 * options.c - answers questions about options that were read, and frees them (options.h)
 *
 * option_parse.c reads the options.
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "src/options.h"

bool options_name_one(const struct options *o)
{
    return o->name_count <= 1 && !o->recursive && o->files_from == NULL;
}

bool options_read_stdin(const struct options *o)
{
    for (int i = 0; i < o->name_count; i++)
        if (strcmp(o->names[i], "-") == 0)
            return true;
    return o->name_count == 0 && o->files_from == NULL;
}

void options_free(struct options *o)
{
    for (int i = 0; i < OPTIONS_VARIABLES; i++)
        free(o->variables[i]);
    free(o->ranges);
}
