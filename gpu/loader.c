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

/* Whether only root and this user can change the file, or put files into the directory. Code from a
 * directory such as /tmp, to which a program was copied, must not be loaded. */
static bool is_trusted(const char *name)
{
    struct stat st;

    return stat(name, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid()) &&
           (st.st_mode & (S_IWGRP | S_IWOTH)) == 0;
}

/* Whether `path` is a file, and it and its directory are trusted. */
static bool has_trusted_module(void)
{
    char *const slash = strrchr(path, '/');
    bool is_good = is_trusted(path);

    *slash = '\0';
    is_good &= is_trusted(path);
    *slash = '/';
    return is_good;
}

/* Puts the module's path into `path`. Returns whether the file exists. */
static bool find_module(void)
{
    if (wanted != NULL) {
        snprintf(path, sizeof(path), "%s", wanted);
        return access(path, F_OK) == 0;
    }
    if (find_own_directory() && is_trusted(path)) {
        const size_t len = strlen(path), room = sizeof(path) - len;

        for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
            if (snprintf(path + len, room, "/%s", places[i]) < (int)room && has_trusted_module())
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

/* Whether the file is truncated, as after a copy to a full disk. dlopen would map it, and reading
 * the missing pages would raise SIGBUS. Returns false for a file that is no ELF file: dlopen
 * reports that. */
static bool is_truncated(void)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    ElfW(Ehdr) header;
    struct stat st;
    bool is_whole = true;

    if (fd < 0)
        return false;
    if (fstat(fd, &st) == 0 && pread(fd, &header, sizeof(header), 0) == (ssize_t)sizeof(header) &&
        memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_phentsize == sizeof(ElfW(Phdr)))
        is_whole = has_all_segments(fd, header.e_phoff, header.e_phnum, st.st_size);
    close(fd);
    return !is_whole;
}

static void load(void)
{
    const struct gpu_module *module;
    gpu_module_entry *entry;
    void *library;

    gpu_module_locate();
    if (!is_found) {
        snprintf(trouble, sizeof(trouble), "no GPU engine is installed (%.180s)", path);
        return;
    }
    if (is_truncated()) {
        snprintf(trouble, sizeof(trouble), "the GPU engine %.180s is truncated", path);
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
