/*
 * options.c - checks that ranks support the options that were given (options.h)
 */
#include "config.h"

#include <stdio.h>

#include "mpi/options.h"

/* Prints that an option cannot be used with MPI, and what to use instead.  Returns false. */
static bool refuse(struct messages *m, const char *what, const char *instead)
{
    msg_error(m, "%s does not go with MPI: %s", what, instead);
    return false;
}

bool mpi_options_check(struct options *o, struct messages *m)
{
    const struct {
        bool is_given;
        const char *what, *instead;
    } refused[] = {
        {o->action == ACTION_LIST, "--list", "use gzlzss -l"},
        {o->action == ACTION_LIST_DEVICES, "--list-devices", "use gzlzss --list-devices"},
        {o->action == ACTION_LIST_MATCHERS, "--matcher=help", "use gzlzss --matcher=help"},
        {o->recover, "--recover", "use gzlzss"},
        {o->range_count > 0, "--range or --lines", "use gzlzss"},
        {o->makes_index, "--index", "use gzlzss -t --index afterwards"},
        {o->to_stdout, "--stdout", "the ranks write to a file together; use gzlzss -c"},
        {o->output != NULL || o->output_dir != NULL, "--output", "outputs are beside the inputs"},
        {o->recursive, "--recursive", "give the files, as find prints them"},
        {o->files_from != NULL, "--files-from", "give the files"},
        {o->exclude_compressed, "--exclude-compressed", "give the other files"},
        {o->pipeline.rsyncable, "--rsyncable", "segments end where the input says so; use gzlzss"},
        {o->pipeline.container != CONTAINER_GZIP, "--format",
         "ranks read and write .gz files; use gzlzss"},
        {o->pipeline.own_level.finder != NULL && o->matcher == NULL, "--huffman or --rle",
         "the library has no such strategies; use gzlzss"},
        {o->json, "--json", "use -v, which reports each file"},
        {o->progress, "--progress", "use -v, which reports each file"},
        {options_read_stdin(o), "standard input", "give FILEs that all ranks can open"},
    };

    for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++)
        if (refused[i].is_given)
            return refuse(m, refused[i].what, refused[i].instead);
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
