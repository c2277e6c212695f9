/*
 * entry.c - makes of one target (target.h) a program for libFuzzer, AFL++ or another engine that
 * knows libFuzzer's function
 *
 * Compile it with -DFUZZ_TARGET=fuzz_NAME.
 */
#include "config.h"

#include "tests/fuzz/target.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    FUZZ_TARGET(data, len);
    return 0;
}
