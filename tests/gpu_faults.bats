#!/usr/bin/env bats
# gpu_faults.bats - calls, copies and kernels of an emulated GPU fail: a sample of `make
# check-gpu-faults` (tests/faults/gpu.sh)

load helpers

setup() {
    enter_test_directory
    without_sanitizers # there are many runs
}

# sample STEP SCENARIO...: runs this sample.  Enough must have failed, and nothing may be lost.
sample() {
    sh "$srcdir/tests/faults/gpu.sh" -s "$@" >table || fail "$(cat table)"
    awk -F '|' '$2 ~ /all/ { good = $3 > 50 && $7 == 0 } END { exit !good }' table ||
        fail "$(cat table)"
}

@test "compression: the cores do what a GPU cannot, with the same bytes" {
    sample 29 gpu1 gpu6 two small-batches
}

@test "decompression: the cores do what a GPU cannot, with the same bytes" {
    sample 29 to-file to-pipe members many-files
}
