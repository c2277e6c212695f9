/*
 * main.c - the command: options, then one operand after another
 */
#include "config.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/cleanup.h"
#include "src/files.h"
#include "src/messages.h"
#include "src/options.h"
#include "src/pipeline.h"

static void print_line(void *ctx, const char *text)
{
    (void)ctx;
    puts(text);
}

/* Compresses, decompresses or tests all operands.  Returns false if the program may end only by
 * _exit (pipeline_free). */
static bool process_all(const struct options *o, struct messages *m)
{
    struct pipeline *p = NULL;
    char error[GPU_ERROR_SIZE];

    if (o->action == ACTION_COMPRESS) {
        p = pipeline_new(&o->pipeline, error);
        if (p == NULL) {
            msg_error(m, NULL, o->pipeline.backend == BACKEND_GPU ? "cannot use a GPU: %s" : "%s",
                      error);
            return true;
        }
    }
    if (o->name_count == 0)
        file_process("-", o, p, m);
    for (int i = 0; i < o->name_count; i++)
        file_process(o->names[i], o, p, m);
    return p == NULL || pipeline_free(p);
}

/* Makes sure that the three standard descriptors are taken: a file opened in the place of one would
 * get what is meant for the terminal.  They are opened so that their use fails, as it would have.
 */
static void take_standard_descriptors(void)
{
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

int main(int argc, char **argv)
{
    const char *slash = argc > 0 ? strrchr(argv[0], '/') : NULL;
    struct messages m = {.program = slash != NULL ? slash + 1 : argc > 0 ? argv[0] : PACKAGE_NAME};
    struct options o;
    bool may_exit = true;

    take_standard_descriptors();
    if (!options_parse(&o, argc, argv, &m))
        return m.status;
    switch (o.action) {
    case ACTION_HELP:
        options_help(m.program);
        break;
    case ACTION_VERSION:
        options_version();
        break;
    case ACTION_LIST_DEVICES:
        gpu_list_devices(print_line, NULL);
        break;
    default:
        cleanup_init();
        may_exit = process_all(&o, &m);
        break;
    }
    /* Some file systems tell only now that there was no room. */
    if (fflush(stdout) != 0 || ferror(stdout) || close(STDOUT_FILENO) != 0)
        msg_error(&m, "stdout", "%s", strerror(errno));
    if (!may_exit)
        _exit(m.status);
    return m.status;
}
