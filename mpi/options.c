/*
 * options.c - checks that ranks support the options that were given (options.h)
 */
#include "config.h"

#include <stdio.h>
#include <string.h>

#include "mpi/options.h"

/* Prints that an option cannot be used with MPI, and what to use instead.  Returns false. */
static bool refuse(struct messages *m, const char *what, const char *instead)
{
    msg_error(m, "%s does not go with MPI: %s", what, instead);
    return false;
}

bool mpi_options_check(struct options *o, struct messages *m)
{
    if (o->action == ACTION_LIST)
        return refuse(m, "--list", "use gzlzss -l");
    if (o->action == ACTION_LIST_DEVICES)
        return refuse(m, "--list-devices", "use gzlzss --list-devices");
    if (o->action == ACTION_LIST_MATCHERS)
        return refuse(m, "--matcher=help", "use gzlzss --matcher=help");
    if (o->to_stdout)
        return refuse(m, "--stdout", "the ranks write to a file together; use gzlzss -c");
    if (o->recursive)
        return refuse(m, "--recursive", "give the files, as find prints them");
    if (o->pipeline.rsyncable)
        return refuse(m, "--rsyncable", "segments end where the input says so; use gzlzss");
    if (o->pipeline.container != CONTAINER_GZIP)
        return refuse(m, "--format", "ranks read and write .gz files; use gzlzss");
    if (o->pipeline.own_level.finder != NULL && o->matcher == NULL)
        return refuse(m, "--huffman or --rle", "the library has no such strategies; use gzlzss");
    if (o->progress)
        return refuse(m, "--progress", "use -v, which reports each file");
    if (o->name_count == 0)
        return refuse(m, "standard input", "give FILEs that all ranks can open");
    for (int i = 0; i < o->name_count; i++)
        if (strcmp(o->names[i], "-") == 0)
            return refuse(m, "standard input", "give FILEs that all ranks can open");
    /* No other program must see a partial output. */
    o->atomic = true;
    /* No rank can ask the user, not even in gzip's own tests. */
    o->presume_input_tty = false;
    return true;
}

void mpi_options_help(const char *program)
{
    printf("Usage: mpirun -n N %s [OPTION]... FILE...\n"
           "Compress FILEs to gzip's format, or decompress them, by all ranks of an MPI job.\n"
           "What is written is what gzlzss writes.\n"
           "\n",
           program);
    options_list_for_mpi();
    printf("\n"
           "All ranks need the same working directory, on a file system that they share.\n"
           "The environment variable GZLZSS may hold options; that of rank 0 counts.\n");
}
