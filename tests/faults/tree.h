/*
 * tree.h - the files of a run, in memory
 */
#ifndef GZLZSS_TESTS_FAULTS_TREE_H
#define GZLZSS_TESTS_FAULTS_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct bytes {
    uint8_t *at; /* allocated */
    size_t len;
};

#define TREE_MAX 32

/* All regular files in a directory and below. */
struct tree {
    struct entry {
        char *path; /* relative to the directory */
        struct bytes data;
        mode_t mode;
        time_t time;
    } entries[TREE_MAX];
    size_t count;
};

/* All functions end the program if the system fails them. */

/* Returns allocated text. */
char *text_of(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct bytes bytes_read(const char *path);
void bytes_write(const char *path, struct bytes data);
bool bytes_are_equal(struct bytes a, struct bytes b);

/* Whether both are the same data, if compressed data means what it decompresses to. */
bool bytes_mean_the_same(struct bytes a, struct bytes b);

/* Adds the files in a directory, with `prefix` before their paths; none if there is no such
 * directory. */
void tree_add(struct tree *t, const char *directory, const char *prefix);
void tree_free(struct tree *t);

/* Returns the data of a file, or NULL. */
const struct bytes *tree_find(const struct tree *t, const char *path);

/* Removes all that is in a directory, and the directory. */
void tree_remove(const char *directory);

#endif
