/*
 * version.c - prints the version, and what is built in and found on this machine (version.h)
 *
 * The list of GPUs comes from /proc.  Asking the driver for it would start all GPUs, as
 * --list-devices does.
 */
#include "config.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <zlib.h>

#include "base/isal.h"
#include "gpu/loader.h"
#include "inflate/raw.h"
#include "src/version.h"

#define DRIVER_VERSION "/proc/driver/nvidia/version"
#define DRIVER_GPUS "/proc/driver/nvidia/gpus"

/* Finds the driver's version in a line of DRIVER_VERSION: the first word that consists of digits
 * and dots.  Cuts the line after it.  NULL if there is none. */
static char *find_version(char *line)
{
    for (char *word = strtok(line, " \t\n"); word != NULL; word = strtok(NULL, " \t\n"))
        if (isdigit((unsigned char)*word) && word[strspn(word, "0123456789.")] == '\0')
            return word;
    return NULL;
}

/* Prints the model of the GPU that has the directory `name` in DRIVER_GPUS. */
static void print_gpu(const char *name)
{
    char path[300], line[200], *model;
    FILE *file;

    snprintf(path, sizeof(path), DRIVER_GPUS "/%.200s/information", name);
    file = fopen(path, "r");
    if (file == NULL)
        return;
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "Model:", 6) != 0)
            continue;
        model = line + 6 + strspn(line + 6, " \t");
        model[strcspn(model, "\n")] = '\0';
        printf("GPU %s: %s.\n", name, model);
        break;
    }
    fclose(file);
}

static void print_gpus(void)
{
    const struct dirent *entry;
    DIR *directory = opendir(DRIVER_GPUS);

    if (directory == NULL)
        return;
    while ((entry = readdir(directory)) != NULL)
        if (entry->d_name[0] != '.')
            print_gpu(entry->d_name);
    closedir(directory);
}

static void print_cuda(void)
{
    char line[200], *version = NULL;
    FILE *file = fopen(DRIVER_VERSION, "r");
    int toolkit, driver;

    if (file != NULL) {
        if (fgets(line, sizeof(line), file) != NULL)
            version = find_version(line);
        fclose(file);
    }
    gpu_versions(&toolkit, &driver);
    if (gpu_module_if_loaded() != NULL)
        printf("GPU engine %s.\n", gpu_module_path());
    printf("CUDA toolkit %d.%d.  ", toolkit / 1000, toolkit % 1000 / 10);
    if (driver == 0)
        printf("No NVIDIA driver was found.\n");
    else
        printf("NVIDIA driver%s%s, for CUDA up to %d.%d.\n", version != NULL ? " " : "",
               version != NULL ? version : "", driver / 1000, driver % 1000 / 10);
    print_gpus();
}

/* Prints what is known about the libraries.  why_no_isal: see isal_why_not. */
static void print_libraries(const char *why_no_isal)
{
    printf("zlib %s, built with %s.\n", zlibVersion(), ZLIB_VERSION);
    if (why_no_isal != NULL)
        printf("ISA-L not used, so decompression takes 2.5 times as long: %s.\n", why_no_isal);
#ifdef HAVE_ISAL
    else {
        char version[ISAL_VERSION_SIZE];

        isal_version(version);
        printf("ISA-L %s.\n", version);
    }
#endif
}

void version_print(void)
{
    char no_engine[GPU_ERROR_SIZE];
    const bool has_engine = gpu_is_installed(no_engine);
    const char *why;

    inf_close(inf_open(false)); /* opening a decoder tests whether ISA-L works */
    why = isal_why_not();
    printf("%s\n"
           "CUDA: %s.  CRC-32 and inflate: %s.\n",
           PACKAGE_STRING, has_engine ? "yes" : "no", why == NULL ? "ISA-L" : "zlib");
    if (has_engine)
        print_cuda();
    else
        printf("CUDA not used: %s.\n", no_engine);
    print_libraries(why);
}
