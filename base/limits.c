/*
 * limits.c - how many processors and how much memory this process may use (limits.h)
 *
 * A control group (cgroup) is a directory with files that hold its limits.  /proc/self/cgroup names
 * the process's own groups: one line for version 2, "0::PATH", and one for every hierarchy of
 * version 1, "ID:CONTROLLERS:PATH".  PATH is relative to the hierarchy's root.
 * /proc/self/mountinfo says where each hierarchy is mounted.  A container may see only a part of a
 * hierarchy.  If so, the field "root" in mountinfo names the group where that part begins.
 *
 * The limits of all groups above a process's own group apply to the process, too.  So limits_read
 * reads the files of all groups from the process's own up to the mount point.  See cgroups(7), and
 * proc(5) for the fields of mountinfo.
 */
#include "config.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/io.h"
#include "base/limits.h"

/* A memory limit of this many bytes or more counts as no limit.  In version 1, the file of a group
 * without a limit has such a number. */
#define NO_MEMORY_LIMIT (UINT64_C(1) << 60)

/* Sizes of buffers, in bytes: for a path, and for the text of a file with many paths.  A longer
 * path or text is cut off. */
#define NAME_SIZE 4096
#define FILE_SIZE (16 * NAME_SIZE)

/* A hierarchy of control groups.  Version 2 has one hierarchy; version 1 has one for each
 * controller. */
struct hierarchy {
    /* "cpu" or "memory"; NULL for version 2. */
    const char *controller;
    /* The mount point; empty if none was found. */
    char mount[NAME_SIZE];
    /* The group whose directory is the mount point; "/" if all groups are visible. */
    char visible[NAME_SIZE];
    /* The process's group; empty if none was found. */
    char group[NAME_SIZE];
};

/* The hierarchies that may limit this process. */
enum { V2, V1_CPU, V1_MEMORY, HIERARCHIES };

/* All large buffers.  They are not on the stack, because the stack may be small: `ulimit -s` limits
 * it, and musl gives a thread only 128 KiB. */
struct tables {
    const char *root;
    struct hierarchy all[HIERARCHIES];
    /* The text of the file that was read last. */
    char text[FILE_SIZE];
    /* The directory of the group whose limits are being read. */
    char group[2 * NAME_SIZE];
    /* The name of the file being read. */
    char path[4 * NAME_SIZE];
};

/* Reads the file t->path into text[0..room) as a string, cut off if the file is longer.  Returns
 * false if the file cannot be opened.  If `is_line` is true, the file has one line, and one read(2)
 * returns all of it.  A second read(2), which would return 0, is then left out to save time. */
static bool read_file(const struct tables *t, bool is_line, char *text, size_t room)
{
    const int fd = io_open(t->path, O_RDONLY | O_CLOEXEC);
    size_t length = 0;
    ssize_t n;

    if (fd < 0)
        return false;
    while (length + 1 < room && (n = io_read(fd, text + length, room - 1 - length)) > 0) {
        length += (size_t)n;
        if (is_line)
            break;
    }
    text[length] = '\0';
    close(fd);
    return true;
}

/* Whether a comma-separated list contains this word. */
static bool has_word(const char *list, const char *word)
{
    const size_t length = strlen(word);

    for (const char *at = list; (at = strstr(at, word)) != NULL; at += length)
        if ((at == list || at[-1] == ',') && (at[length] == ',' || at[length] == '\0'))
            return true;
    return false;
}

/* Cuts the next word off *rest, and returns it; NULL if there is none.  `blanks` are the characters
 * that separate words. */
static char *next_word(char **rest, const char *blanks)
{
    char *word;

    do
        word = strsep(rest, blanks);
    while (word != NULL && *word == '\0');
    return word;
}

/* Reads the file `name`, a path below t->root, into t->text.  Returns false if that fails. */
static bool read_text(struct tables *t, const char *name)
{
    snprintf(t->path, sizeof(t->path), "%s%s", t->root, name);
    return read_file(t, false, t->text, sizeof(t->text));
}

/* Finds the process's group in each hierarchy. */
static void find_groups(struct tables *t)
{
    struct hierarchy *const all = t->all;
    char *lines = t->text, *line;

    if (!read_text(t, "/proc/self/cgroup"))
        return;
    while ((line = strsep(&lines, "\n")) != NULL) {
        const char *number = strsep(&line, ":");
        const char *controllers = strsep(&line, ":");
        const char *path = line;

        for (struct hierarchy *h = all; path != NULL && h < all + HIERARCHIES; h++)
            if (h->controller != NULL ? has_word(controllers, h->controller)
                                      : strcmp(number, "0") == 0 && *controllers == '\0')
                snprintf(h->group, sizeof(h->group), "%s", path);
    }
}

/* Finds where each hierarchy is mounted. */
static void find_mounts(struct tables *t)
{
    struct hierarchy *const all = t->all;
    char *lines = t->text, *line;

    if (!read_text(t, "/proc/self/mountinfo"))
        return;
    while ((line = strsep(&lines, "\n")) != NULL) {
        /* A line's fields: ID, parent, device, root, mount point, options, optional fields, "-",
         * type, source, options. */
        char *rest = strstr(line, " - cgroup"), *at = line, *words[5] = {NULL}, *type, *options;
        bool is_whole = rest != NULL;

        if (!is_whole)
            continue;
        rest += 3;
        type = next_word(&rest, " \n");
        (void)next_word(&rest, " \n");
        options = next_word(&rest, " \n");
        for (int i = 0; i < 5; i++)
            is_whole = (words[i] = next_word(&at, " ")) != NULL && is_whole;
        if (type == NULL || options == NULL || !is_whole)
            continue;
        for (struct hierarchy *h = all; h < all + HIERARCHIES; h++) {
            if (h->controller != NULL
                    ? strcmp(type, "cgroup") != 0 || !has_word(options, h->controller)
                    : strcmp(type, "cgroup2") != 0)
                continue;
            snprintf(h->visible, sizeof(h->visible), "%s", words[3]);
            snprintf(h->mount, sizeof(h->mount), "%s", words[4]);
        }
    }
}

/* Reads up to two numbers from the file `name` of t->group.  A number that is missing or "max"
 * becomes UINT64_MAX.  Returns false if there is no such file. */
static bool read_numbers(struct tables *t, const char *name, uint64_t numbers[2])
{
    char text[64], *rest = text;

    snprintf(t->path, sizeof(t->path), "%s%s/%s", t->root, t->group, name);
    if (!read_file(t, true, text, sizeof(text)))
        return false;
    for (int i = 0; i < 2; i++) {
        const char *word = next_word(&rest, " \n");

        /* Version 1 has -1 if there is no quota. */
        numbers[i] =
            word == NULL || *word < '0' || *word > '9' ? UINT64_MAX : strtoull(word, NULL, 10);
    }
    return true;
}

/* Lowers l->threads to the CPU quota of t->group. */
static void apply_quota(struct limits *l, struct tables *t, const struct hierarchy *h)
{
    uint64_t quota[2], period[2];

    if (h->controller == NULL) {
        if (!read_numbers(t, "cpu.max", quota))
            return;
        period[0] = quota[1];
    } else if (!read_numbers(t, "cpu.cfs_quota_us", quota) ||
               !read_numbers(t, "cpu.cfs_period_us", period)) {
        return;
    }
    if (quota[0] == UINT64_MAX || period[0] == 0 || period[0] == UINT64_MAX)
        return;
    quota[0] = quota[0] / period[0] + (quota[0] % period[0] != 0);
    if (quota[0] < (uint64_t)l->threads)
        l->threads = quota[0] > 0 ? (int)quota[0] : 1;
}

/* Lowers l->memory to the limits of t->group. */
static void apply_memory(struct limits *l, struct tables *t, const struct hierarchy *h)
{
    /* While a group has more memory than memory.high, the system slows its processes down.  So
     * memory.high counts as a limit, too. */
    static const char *const names[2][2] = {{"memory.limit_in_bytes", NULL},
                                            {"memory.max", "memory.high"}};

    for (int i = 0; i < 2; i++) {
        const char *name = names[h->controller == NULL][i];
        uint64_t limit[2];

        if (name != NULL && read_numbers(t, name, limit) && limit[0] < NO_MEMORY_LIMIT &&
            limit[0] < l->memory)
            l->memory = limit[0];
    }
}

/* The type of apply_quota and apply_memory, which lower a limit in *l to that of the group
 * t->group. */
typedef void apply_function(struct limits *l, struct tables *t, const struct hierarchy *h);

/* Applies the limits of the process's group and of the visible groups above it. */
static void apply_groups(struct limits *l, struct tables *t, const struct hierarchy *h,
                         apply_function *apply)
{
    const size_t top = strlen(h->mount);
    size_t visible = strcmp(h->visible, "/") == 0 ? 0 : strlen(h->visible);
    char *const group = t->group;

    if (h->group[0] == '\0' || h->mount[0] == '\0')
        return;
    /* If the process's group is not below the visible one, only the group at the mount point can be
     * read. */
    if (strncmp(h->group, h->visible, visible) != 0 ||
        (h->group[visible] != '/' && h->group[visible] != '\0'))
        visible = strlen(h->group);
    snprintf(group, sizeof(t->group), "%s%s", h->mount, h->group + visible);
    for (size_t length = strlen(group); length > 0 && group[length - 1] == '/';)
        group[--length] = '\0';
    for (;;) {
        char *slash = strrchr(group, '/');

        apply(l, t, h);
        if (slash == NULL || (size_t)(slash - group) < top)
            break;
        *slash = '\0';
    }
}

bool limits_affinity(struct limits_set *set)
{
    memset(set, 0, sizeof(*set));
    if (sched_getaffinity(0, sizeof(*set), (cpu_set_t *)set->bits) == 0)
        return true;
    memset(set, 0, sizeof(*set));
    return false;
}

int limits_processors(void)
{
    struct limits_set set;
    long n = 0;

    if (limits_affinity(&set))
        for (size_t i = 0; i < sizeof(set.bits) / sizeof(set.bits[0]); i++)
            n += set.bits[i] == 0 ? 0 : __builtin_popcountl(set.bits[i]); /* most words are 0 */
    else
        n = sysconf(_SC_NPROCESSORS_ONLN);
    return n < 1 ? 1 : n > INT_MAX ? INT_MAX : (int)n;
}

uint64_t limits_mapped(void)
{
    static const int resources[] = {RLIMIT_AS, RLIMIT_DATA};
    uint64_t least = UINT64_MAX;
    struct rlimit limit;

    for (size_t i = 0; i < sizeof(resources) / sizeof(resources[0]); i++)
        if (getrlimit(resources[i], &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
            limit.rlim_cur < least)
            least = limit.rlim_cur;
    return least;
}

void limits_read(struct limits *l, const char *root)
{
    struct tables *t;
    const long pages = sysconf(_SC_PHYS_PAGES), page_size = sysconf(_SC_PAGE_SIZE);

    l->threads = limits_processors();
    l->memory = pages > 0 && page_size > 0 ? (uint64_t)pages * (uint64_t)page_size : UINT64_MAX;
    l->address_space = limits_mapped();
    t = malloc(sizeof(*t));
    if (t == NULL)
        return;
    t->root = root;
    memset(t->all, 0, sizeof(t->all));
    t->all[V1_CPU].controller = "cpu";
    t->all[V1_MEMORY].controller = "memory";
    find_groups(t);
    find_mounts(t);
    apply_groups(l, t, &t->all[V2], apply_quota);
    apply_groups(l, t, &t->all[V2], apply_memory);
    apply_groups(l, t, &t->all[V1_CPU], apply_quota);
    apply_groups(l, t, &t->all[V1_MEMORY], apply_memory);
    free(t);
}
