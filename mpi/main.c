/*
 * main.c - gzlzss-mpi: compresses or decompresses files by the ranks of an MPI job
 *
 * All ranks have the same command line.  Rank 0 reads the environment for all, and it alone prints.
 */
#include "config.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "mpi/operands.h"
#include "mpi/options.h"
#include "mpi/ranks.h"
#include "src/cleanup.h"
#include "src/version.h"

/* Makes standard input empty.  No rank can ask the user a question, because standard input, if
 * there is any, belongs to rank 0 alone. */
static void close_stdin(void)
{
    const int fd = open("/dev/null", O_RDONLY);

    if (fd > STDIN_FILENO) {
        dup2(fd, STDIN_FILENO);
        close(fd);
    }
}

/* Performs the action of the options. */
static void run(struct options *o, struct messages *m, bool prints)
{
    switch (o->action) {
    case ACTION_HELP:
        if (prints)
            mpi_options_help(m->program);
        break;
    case ACTION_VERSION:
        if (prints)
            version_print();
        break;
    case ACTION_LICENSE:
        if (prints)
            options_license();
        break;
    default:
        if (!mpi_options_check(o, m))
            break;
        /* From here on, rank 0 prints the messages of all. */
        if (prints)
            msg_flush(m);
        cleanup_init();
        mpi_operands_process(o, m);
        break;
    }
}

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    /* mpirun copies what this prints, perhaps to a terminal. */
    struct messages m = {.program = slash != NULL ? slash + 1
                                    : argc > 0    ? argv[0]
                                                  : "gzlzss-mpi",
                         .quotes = true,
                         .collect = true};
    struct options o;
    struct ranks all;

    ranks_begin(&argc, &argv, m.program);
    close_stdin();
    all = ranks_all();
    ranks_share_variable(&all, "GZIP");
    ranks_share_variable(&all, "PIGZ");
    ranks_share_variable(&all, "GZLZSS");
    if (!ranks_have_same(&all, argv + 1, argc - 1)) {
        msg_error(&m, "all ranks have to be started with the same options and operands");
    } else {
        if (options_parse(&o, argc, argv, &m))
            run(&o, &m, all.rank == 0);
        options_free(&o);
    }
    if (all.rank == 0)
        msg_flush(&m);
    msg_discard(&m);
    ranks_end();
    return m.status;
}
