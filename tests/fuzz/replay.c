/*
 * replay.c - runs a fuzz target on files, without a fuzzer
 *
 *     tests/replay TARGET [FILE...]    each file is an input; without one, standard input is
 *     tests/replay                     prints the names of all targets
 *
 * It ends by abort() at the first input for which something is not as it must be.  Before each
 * file, it prints the file's name to standard output, so that the last line names the input.
 * AFL++ can run it, too, with one FILE (@@) or with standard input.
 */
#include "config.h"

#include "tests/fuzz/target.h"

/* The most bytes of an input. */
#define INPUT_MAX ((size_t)1 << 26)

static const struct target {
    const char *name;
    void (*run)(const uint8_t *data, size_t len);
} targets[] = {
#define ROW(name) {#name, fuzz_##name},
    FUZZ_TARGETS(ROW)
#undef ROW
};

enum { TARGETS = sizeof(targets) / sizeof(targets[0]) };

static const struct target *find(const char *name)
{
    for (int i = 0; i < TARGETS; i++)
        if (strcmp(name, targets[i].name) == 0)
            return &targets[i];
    return NULL;
}

/* Runs the target on all bytes of a file.  False if the file cannot be read. */
static bool run(const struct target *t, FILE *file)
{
    uint8_t *all = fuzz_need(malloc(INPUT_MAX)), *input;
    size_t len;

    if (file == NULL)
        return false;
    len = fread(all, 1, INPUT_MAX, file);
    /* Memory of exactly this size lets a sanitizer see reads past the end. */
    input = fuzz_need(malloc(len > 0 ? len : 1));
    memcpy(input, all, len);
    free(all);
    t->run(input, len);
    free(input);
    return true;
}

int main(int argc, char **argv)
{
    const struct target *t;
    FILE *file;

    for (int i = 0; argc == 1 && i < TARGETS; i++)
        puts(targets[i].name);
    if (argc == 1)
        return EXIT_SUCCESS;
    t = find(argv[1]);
    if (t == NULL) {
        fprintf(stderr, "replay: no target has the name %s\n", argv[1]);
        return EXIT_FAILURE;
    }
    if (argc == 2)
        return run(t, stdin) ? EXIT_SUCCESS : EXIT_FAILURE;
    for (int i = 2; i < argc; i++) {
        puts(argv[i]);
        fflush(stdout);
        file = fopen(argv[i], "rb");
        if (!run(t, file)) {
            perror(argv[i]);
            return EXIT_FAILURE;
        }
        fclose(file);
    }
    return EXIT_SUCCESS;
}
