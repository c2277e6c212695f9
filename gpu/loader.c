/*
 * loader.c - finds and loads a GPU engine's module (loader.h)
 *
 * A process has one CUDA driver and one set of GPUs, so it has one module, and the pointer to it is
 * a variable of the process, as for ISA-L (base/isal.c).
 */
#include "config.h"

#include "gpu/loader.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The module's name in a directory of modules. */
#define MODULE "cuda.so"

/* Where to look for the module below the directory of the program or the shared library that has
 * this code. The first entry is for the library, the second for a program in the directory where it
 * was built. If neither has it, the module is in MODULE_DIR, the directory of installed modules. */
static const char *const places[] = {"gzlzss/" MODULE, ".libs/gzlzss/" MODULE};

static pthread_once_t once = PTHREAD_ONCE_INIT, located = PTHREAD_ONCE_INIT;
static _Atomic(const struct gpu_module *) loaded;
static const char *wanted;           /* gpu_module_use */
static atomic_bool is_tried;         /* whether loading was tried */
static bool is_found;                /* whether `path` is the path of a module */
static char path[PATH_MAX];          /* of the module, once it is loaded */
static char trouble[GPU_ERROR_SIZE]; /* why there is no module */

/* Whether the program, and not a shared library, has this code. The program's object comes first
 * in the loader's list. */
static int look_at_program(struct dl_phdr_info *object, size_t size, void *ctx)
{
    const uintptr_t here = (uintptr_t)&once;
    bool *const is_here = ctx;

    (void)size;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *const part = &object->dlpi_phdr[i];

        if (part->p_type == PT_LOAD && here - (object->dlpi_addr + part->p_vaddr) < part->p_memsz)
            *is_here = true;
    }
    return 1;
}

/* Puts the directory of the program or the shared library that has this code into `path`. */
static bool find_own_directory(void)
{
    bool is_program = false;
    Dl_info info;

    (void)dl_iterate_phdr(look_at_program, &is_program);
    if (is_program) {
        const ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - 1);

        if (len <= 0)
            return false;
        path[len] = '\0';
    } else if (dladdr(&once, &info) == 0 || realpath(info.dli_fname, path) == NULL) {
        return false;
    }
    *strrchr(path, '/') = '\0';
    return true;
}

/* Whether the file or the directory belongs to root or this user, and only its owner can write to
 * it. */
static bool is_trusted(const struct stat *st)
{
    return (st->st_uid == 0 || st->st_uid == geteuid()) && (st->st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Whether code may be loaded from this directory. It may not from a directory such as /tmp, to
 * which a program was copied. */
static bool is_trusted_directory(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 && is_trusted(&st);
}

/* Whether a path may lead by this entry of a directory. Users who may write to a directory with the
 * sticky bit, such as /tmp, can neither rename nor replace the entries of others, and a link has no
 * mode. */
static bool is_trusted_step(const struct stat *st)
{
    if (S_ISLNK(st->st_mode) || (S_ISDIR(st->st_mode) && (st->st_mode & S_ISVTX) != 0))
        return st->st_uid == 0 || st->st_uid == geteuid();
    return is_trusted(st);
}

/* The most links that a path may lead by; Linux has the same limit. */
#define LINKS_MAX 40

/* A path on the way to a file: a path without links, which was judged, and the rest. */
struct way {
    char judged[PATH_MAX], rest[PATH_MAX];
    size_t length; /* of `judged` */
};

/* Replaces the last name of w->judged, which is a link, by what the link contains. `after` is what
 * follows the link in w->rest. */
static bool follow_link(struct way *w, const char *after)
{
    static char target[PATH_MAX];
    const ssize_t n = readlink(w->judged, target, sizeof(target));
    const size_t left = strlen(after) + 1;

    if (n <= 0 || (size_t)n + left > sizeof(w->rest))
        return false;
    memmove(w->rest + n, after, left);
    memcpy(w->rest, target, (size_t)n);
    w->length = target[0] == '/' ? 0 : (size_t)(strrchr(w->judged, '/') - w->judged);
    return true;
}

/* Whether only root and this user can change the regular file `name`, an absolute path, or put
 * another in its place. All directories and links on the way to the file count: those that `name`
 * has, and those to which links lead. */
static bool is_trusted_file(const char *name)
{
    static struct way w; /* too large for a stack; only one thread locates the module */
    struct stat st = {0};
    int links = 0;

    if (!is_trusted_directory("/") ||
        snprintf(w.rest, sizeof(w.rest), "%s", name) >= (int)sizeof(w.rest))
        return false;
    w.length = 0;
    for (char *word = w.rest + strspn(w.rest, "/"); *word != '\0'; word += strspn(word, "/")) {
        const size_t n = strcspn(word, "/");

        if (w.length + n + 2 > sizeof(w.judged))
            return false;
        snprintf(w.judged + w.length, sizeof(w.judged) - w.length, "/%.*s", (int)n, word);
        if (lstat(w.judged, &st) != 0 || !is_trusted_step(&st))
            return false;
        word += n;
        if (n == 2 && memcmp(word - 2, "..", 2) == 0) {
            w.judged[w.length] = '\0';
            w.length = w.length > 0 ? (size_t)(strrchr(w.judged, '/') - w.judged) : 0;
        } else if (S_ISLNK(st.st_mode)) {
            if (++links > LINKS_MAX || !follow_link(&w, word))
                return false;
            word = w.rest;
        } else if (n != 1 || word[-1] != '.') {
            w.length += n + 1;
        }
    }
    return S_ISREG(st.st_mode);
}

/* Puts the module's path into `path`. Returns whether the file exists. */
static bool find_module(void)
{
    if (wanted != NULL) {
        snprintf(path, sizeof(path), "%s", wanted);
        return access(path, F_OK) == 0;
    }
    if (find_own_directory() && is_trusted_directory(path)) {
        const size_t len = strlen(path), room = sizeof(path) - len;

        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
            if (snprintf(path + len, room, "/%s", places[i]) < (int)room && is_trusted_file(path))
                return true;
    }
    snprintf(path, sizeof(path), "%s/%s", MODULE_DIR, MODULE);
    return access(path, F_OK) == 0;
}

static void locate(void)
{
    is_found = find_module();
}

void gpu_module_locate(void)
{
    pthread_once(&located, locate);
}

/* Whether the file contains all bytes of its PT_LOAD segments. The program header table is at
 * offset `at` and has `count` entries. */
static bool has_all_segments(int fd, uint64_t at, unsigned count, off_t size)
{
    for (unsigned i = 0; i < count; i++, at += sizeof(ElfW(Phdr))) {
        ElfW(Phdr) part;

        if (pread(fd, &part, sizeof(part), (off_t)at) != (ssize_t)sizeof(part) ||
            (part.p_type == PT_LOAD &&
             (part.p_filesz > (uint64_t)size || part.p_offset > (uint64_t)size - part.p_filesz)))
            return false;
    }
    return true;
}

/* Says why the file must not be loaded; NULL if it may be. dlopen would wait at a FIFO for a
 * writer. It would map a file that is truncated, as after a copy to a full disk, and reading the
 * missing pages would raise SIGBUS. Returns NULL for a file that is no ELF file, or cannot be
 * opened: dlopen reports that. */
static const char *find_fault(void)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    const char *fault = NULL;
    ElfW(Ehdr) header;
    struct stat st;

    if (fd < 0)
        return NULL;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))
        fault = "is no regular file";
    else if (pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
             memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
             header.e_phentsize == sizeof(ElfW(Phdr)) &&
             !has_all_segments(fd, header.e_phoff, header.e_phnum, st.st_size))
        fault = "is truncated";
    close(fd);
    return fault;
}

static void load(void)
{
    const struct gpu_module *module;
    gpu_module_entry *entry;
    const char *fault;
    void *library;

    gpu_module_locate();
    if (!is_found) {
        snprintf(trouble, sizeof(trouble), "no GPU engine is installed (%.180s)", path);
        return;
    }
    fault = find_fault();
    if (fault != NULL) {
        snprintf(trouble, sizeof(trouble), "the GPU engine %.180s %s", path, fault);
        return;
    }
    library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (library == NULL) {
        const char *reason = dlerror();

        snprintf(trouble, sizeof(trouble), "the GPU engine cannot be loaded: %.200s",
                 reason != NULL ? reason : path);
        return;
    }
    *(void **)&entry = dlsym(library, GPU_MODULE_ENTRY_NAME);
    module = entry != NULL ? entry() : NULL;
    if (module == NULL || module->interface != GPU_MODULE_INTERFACE ||
        strcmp(module->version, PACKAGE_VERSION) != 0) {
        snprintf(trouble, sizeof(trouble), "the GPU engine %.150s is not of version %s", path,
                 PACKAGE_VERSION);
        dlclose(library);
        return;
    }
    atomic_store(&loaded, module);
}

static void try_to_load(void)
{
    load();
    atomic_store(&is_tried, true);
}

const struct gpu_module *gpu_module(char error[GPU_ERROR_SIZE])
{
    const struct gpu_module *module;

    pthread_once(&once, try_to_load);
    module = gpu_module_if_loaded();
    if (module == NULL)
        snprintf(error, GPU_ERROR_SIZE, "%s", trouble);
    return module;
}

void gpu_module_trouble(char error[GPU_ERROR_SIZE])
{
    error[0] = '\0';
    if (atomic_load(&is_tried) && gpu_module_if_loaded() == NULL)
        snprintf(error, GPU_ERROR_SIZE, "%s", trouble);
}

const struct gpu_module *gpu_module_if_loaded(void)
{
    return atomic_load_explicit(&loaded, memory_order_acquire);
}

const char *gpu_module_path(void)
{
    return path;
}

void gpu_module_use(const char *name)
{
    wanted = name;
}
