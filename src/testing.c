/*
 * testing.c - reads the environment variables for tests (testing.h)
 */
#include "config.h"

#include <stdlib.h>
#include <string.h>

#include "gpu/loader.h"
#include "src/testing.h"

/* The number in an environment variable; 0 if it is not set. */
static size_t number_in(const char *variable)
{
    const char *value = getenv(variable);

    return value != NULL ? (size_t)strtoull(value, NULL, 10) : 0;
}

void testing_choose_engine(void)
{
    const char *module = secure_getenv("GZLZSS_TEST_GPU_MODULE");

    gpu_module_use(module != NULL && module[0] == '/' ? module : NULL);
}

void testing_configure(struct pipeline_config *config)
{
    struct gpu_options *options = &config->gpus.options;
    const char *fault = getenv("GZLZSS_TEST_GPU_FAULT");

    config->is_test = getenv("GZLZSS_TEST_GPU_MIN") != NULL;
    config->test_gpu_min = number_in("GZLZSS_TEST_GPU_MIN");
    config->test_gpu_batch = number_in("GZLZSS_TEST_GPU_BATCH");
    config->test_bad_segment = number_in("GZLZSS_TEST_BAD_SEGMENT");
    memset(options, 0, sizeof(*options));
    options->memory = number_in("GZLZSS_TEST_GPU_MEMORY");
    options->shared = number_in("GZLZSS_TEST_GPU_SHARED");
    options->seconds = (double)number_in("GZLZSS_TEST_GPU_MS") / 1e3;
    if (fault == NULL)
        return;
    options->is_wrong = strcmp(fault, "corrupt") == 0;
    options->hangs = strcmp(fault, "hang") == 0;
    options->miscopies = strcmp(fault, "copy") == 0;
    options->fails = strncmp(fault, "fail=", 5) == 0;
    if (options->fails)
        options->good_batches = strtol(fault + 5, NULL, 10);
}

size_t testing_region(void)
{
    return number_in("GZLZSS_TEST_REGION");
}
