/*
 * fuzz_command.c - the command with any options, variables and files touches no file outside its
 * directory
 *
 * A fuzz target (target.h).  The input is words as in fuzz_options.c, an empty word, and the bytes
 * of the files.  The command runs in the directory `in` of a scratch directory, beside a directory
 * `outside`.  The words have no slash and no "..", but a header in the files may have any name.
 * After the run, `outside` must be as before.
 *
 * The command runs in a thread of its own, which has a working directory of its own (CLONE_FS).
 * Where the kernel has Landlock, this thread can write only in the scratch directory, so that not
 * even a bug does harm.
 */
#include "config.h"

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#if __has_include(<linux/landlock.h>)
#include <linux/landlock.h>
#endif

#include "src/operands.h"
#include "tests/fuzz/words.h"

#define SECRET "the file outside\n"

/* The most bytes of the command line, and the most bytes that a run may read as a file. */
#define WORDS_BYTES ((size_t)2000)
#define FILE_BYTES ((size_t)100000)

/* --- The scratch directory ------------------------------------------------------------------ */

static char scratch[] = "/tmp/gzlzss-fuzz-XXXXXX";

/* Removes the entries of the directory fd, and closes it. */
static void remove_entries(int fd)
{
    DIR *d = fdopendir(fd);
    struct dirent *e;

    while (d != NULL && (e = readdir(d)) != NULL) {
        int below;

        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        below = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
        if (below >= 0)
            remove_entries(below);
        REQUIRE(unlinkat(fd, e->d_name, below >= 0 ? AT_REMOVEDIR : 0) == 0);
    }
    if (d != NULL)
        closedir(d);
}

static void remove_scratch(void)
{
    remove_entries(open(scratch, O_RDONLY | O_DIRECTORY));
    rmdir(scratch);
}

static void write_file(int dir, const char *name, const void *bytes, size_t len)
{
    const int fd = openat(dir, name, O_WRONLY | O_CREAT | O_TRUNC, 0644);

    REQUIRE(fd >= 0 && write(fd, bytes, len) == (ssize_t)len);
    close(fd);
}

/* Returns the scratch directory, with new files of these bytes. */
static int make_files(const uint8_t *bytes, size_t len)
{
    static int root = -1;
    struct stat st;

    if (root < 0) {
        REQUIRE(mkdtemp(scratch) != NULL);
        root = open(scratch, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        atexit(remove_scratch);
    }
    remove_entries(openat(root, ".", O_RDONLY | O_DIRECTORY));
    REQUIRE(root >= 0 && mkdirat(root, "in", 0755) == 0 && mkdirat(root, "outside", 0755) == 0);
    REQUIRE(mkdirat(root, "in/dir", 0755) == 0);
    write_file(root, "outside/secret", SECRET, sizeof(SECRET) - 1);
    write_file(root, "in/a", bytes, len);
    write_file(root, "in/b.gz", bytes, len);
    write_file(root, "in/dir/c.gz", bytes, len);
    REQUIRE(symlinkat("../../outside/secret", root, "in/dir/link") == 0);
    REQUIRE(symlinkat("../outside/secret", root, "in/link.gz") == 0);
    REQUIRE(fstatat(root, "outside/secret", &st, 0) == 0);
    return root;
}

/* Requires that `outside` has its file, and nothing else. */
static void check_outside(int root)
{
    char text[64] = "";
    const int dir = openat(root, "outside", O_RDONLY | O_DIRECTORY),
              fd = openat(root, "outside/secret", O_RDONLY);
    DIR *d = fdopendir(dir);
    int entries = 0;

    REQUIRE(d != NULL && fd >= 0);
    REQUIRE(read(fd, text, sizeof(text) - 1) == (ssize_t)sizeof(SECRET) - 1);
    REQUIRE(strcmp(text, SECRET) == 0);
    while (readdir(d) != NULL)
        entries++;
    REQUIRE(entries == 3); /* with "." and ".." */
    closedir(d);
    close(fd);
}

/* Lets this thread write only below the directory, if the kernel has Landlock. */
static void restrict_to(int root)
{
#ifdef LANDLOCK_ACCESS_FS_MAKE_REG
    const struct landlock_ruleset_attr attr = {
        .handled_access_fs = LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_FILE |
                             LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG |
                             LANDLOCK_ACCESS_FS_MAKE_DIR};
    const struct landlock_path_beneath_attr rule = {.allowed_access = attr.handled_access_fs,
                                                    .parent_fd = root};
    const int rules = (int)syscall(SYS_landlock_create_ruleset, &attr, sizeof(attr), 0);

    if (rules < 0)
        return;
    REQUIRE(syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0) == 0);
    REQUIRE(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
    REQUIRE(syscall(SYS_landlock_restrict_self, rules, 0) == 0);
    close(rules);
#else
    (void)root;
#endif
}

/* --- The command ---------------------------------------------------------------------------- */

bool __wrap_pipeline_leave(struct pipeline *p);

/* The command leaves its memory and threads to the system when it ends.  Here, another run follows,
 * so the linker replaces pipeline_leave by this function (--wrap). */
bool __wrap_pipeline_leave(struct pipeline *p)
{
    pipeline_free(p);
    return true;
}

struct command {
    struct options o;
    struct messages m;
    int root;
};

static void *run_command(void *argument)
{
    struct command *c = argument;

    REQUIRE(unshare(CLONE_FS) == 0 && fchdir(c->root) == 0 && chdir("in") == 0);
    restrict_to(c->root);
    (void)operands_process(&c->o, &c->m);
    return NULL;
}

/* Makes `to` a file in memory with these bytes, and returns what it was before. */
static int replace(int to, const void *bytes, size_t len)
{
    const int fd = memfd_create("standard", MFD_CLOEXEC), before = dup(to);

    REQUIRE(fd >= 0 && before >= 0 && write(fd, bytes, len) == (ssize_t)len);
    REQUIRE(lseek(fd, 0, SEEK_SET) == 0 && dup2(fd, to) == to);
    close(fd);
    return before;
}

static void put_back(int to, int before)
{
    REQUIRE(dup2(before, to) == to && close(before) == 0);
}

/* Makes slashes and ".." harmless: the user may name any file. */
static void confine(char *word)
{
    for (; *word != '\0'; word++)
        if (*word == '/' || (*word == '.' && word[1] == '.'))
            *word = '_';
}

static void run_with(struct command *c, const struct fuzz_input *file)
{
    int standard[3];
    pthread_t thread;

    c->root = make_files(file->data, file->len);
    fflush(stdout);
    for (int fd = 0; fd < 3; fd++)
        standard[fd] = replace(fd, file->data, fd == 0 ? file->len : 0);
    REQUIRE(pthread_create(&thread, NULL, run_command, c) == 0);
    REQUIRE(pthread_join(thread, NULL) == 0);
    fflush(stdout);
    for (int fd = 0; fd < 3; fd++)
        put_back(fd, standard[fd]);
    if (c->o.files_from == NULL)
        check_outside(c->root);
}

void fuzz_command(const uint8_t *data, size_t len)
{
    struct fuzz_input in = {data, len};
    struct fuzz_words w;
    struct command c = {.m = {.collect = true}};

    fuzz_words_read(&w, &in, WORDS_BYTES);
    for (int i = 0; i < w.argc; i++)
        confine(w.argv[i]);
    c.m.program = w.argv[0];
    in = fuzz_take(&in, FILE_BYTES);
    /* Many threads only take time. */
    if (options_parse(&c.o, w.argc, w.argv, &c.m) && c.o.action <= ACTION_LIST &&
        c.o.pipeline.threads <= 4)
        run_with(&c, &in);
    options_free(&c.o);
    msg_discard(&c.m);
    fuzz_words_free(&w);
}
