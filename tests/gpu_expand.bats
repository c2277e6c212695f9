#!/usr/bin/env bats
# gpu_expand.bats - the command decompresses on a GPU as it does on the CPU
#
# The GPU is emulated: tests/emulated_gzlzss is the command with the GPU engine compiled for
# tests/emulation/.  With GZLZSS_TEST_GPU_MIN=0, the command uses the GPU even for the smallest
# file, and waits until the GPU has started.  With GZLZSS_TEST_GPU_BATCH, the GPU's batches are
# small, so that even a small file has several of them.

# shellcheck disable=SC2154 # GEN and GZLZSS come from the build.
# shellcheck disable=SC2030,SC2031,SC2094 # Each test sets the fault for itself.

load helpers

setup() {
    enter_test_directory
    without_sanitizers # the unit tests run the kernels with them
    emulated=${GEN%gen}emulated_gzlzss
    export GZLZSS_TEST_GPU_MIN=0 GZLZSS_TEST_GPU_BATCH=60000
    "$GEN" mixed 600000 >plain
}

# on_gpu ARGUMENT...: runs the command on the emulated GPU.  In its messages, the function replaces
# the program's name by gzlzss.
on_gpu() {
    local status=0
    "$emulated" "$@" >gpu.out 2>gpu.err || status=$?
    sed -i 's/emulated_gzlzss: /gzlzss: /' gpu.err
    return "$status"
}

# same ARGUMENT...: the emulated GPU must give the same output, messages and exit status as one
# thread of the CPU.
same() {
    local on_cpu=0 status=0
    "$GZLZSS" --backend=cpu -p1 "$@" >cpu.out 2>cpu.err || on_cpu=$?
    on_gpu -p2 "$@" || status=$?
    [ "$status" -eq "$on_cpu" ] || fail "$*: status $status, not $on_cpu: $(cat gpu.err)"
    cmp cpu.out gpu.out || fail "$*: other output"
    diff cpu.err gpu.err || fail "$*: other messages"
}

# share FILE: decompresses FILE, and prints how much of the output the GPU has made, in percent.
share() {
    on_gpu -tvv "$1" || return
    sed -n 's/.*GPU (emulated device) decompressed \([0-9]*\)%.*/\1/p' gpu.err
}

# nearly_all FILE: the GPU must have made nearly all of the output.
nearly_all() {
    local made
    made=$(share "$1")
    [ "${made:-0}" -ge 95 ] || fail "$1: the GPU has made ${made:-0}%: $(cat gpu.err)"
}

@test "output is the same for every program's and level's files" {
    local level f
    have gzip || skip "gzip is not installed"
    for level in 1 6 9; do
        gzip -"$level" -c plain >"gzip$level.gz"
        "$GZLZSS" -"$level" -c plain >"own$level.gz"
    done
    "$GZLZSS" -b 128 -c plain >segments.gz
    if have pigz; then
        pigz -6 -p2 -c plain >pigz.gz
        pigz -6 -p2 -i -c plain >marks.gz
    fi
    for f in *.gz; do
        same -dc "$f"
        cmp gpu.out plain || fail "$f: wrong output"
        nearly_all "$f"
    done
}

@test "data of every kind is the same: stored, fixed, long matches, many members" {
    local kind i
    for kind in random zeros; do
        "$GEN" "$kind" 1000000 >"$kind"
        "$GZLZSS" -6 -c "$kind" >"$kind.gz"
    done
    "$GZLZSS" -0 -c plain >stored.gz
    for i in 1 2 3 4 5 6 7 8; do
        head -c $((i * 45000)) plain | "$GZLZSS" -1 -c >>members.gz
    done
    cat random.gz members.gz >both.gz
    for i in random zeros stored members both; do
        same -dc "$i.gz"
    done
    nearly_all members.gz
}

@test "-t, -l, -d, one thread, a file that is read from standard input" {
    "$GZLZSS" -6 -c plain >a.gz
    same -t a.gz
    same -l a.gz
    same -tv a.gz
    on_gpu -p1 -dc <a.gz
    cmp gpu.out plain
    on_gpu -dk a.gz
    cmp a plain
    ! "$emulated" -dc -p4 a.gz >/dev/full 2>gpu.err || fail "a full disk is no error"
    grep -q 'No space left on device' gpu.err
}

@test "what follows the data: zeros, other bytes, a cut member" {
    "$GZLZSS" -6 -c plain >a.gz
    { cat a.gz; head -c 1000 /dev/zero; } >zeros.gz
    { cat a.gz; echo 'this is no gzip'; } >garbage.gz
    { cat a.gz; head -c 150000 a.gz; } >cut.gz
    same -dc zeros.gz
    same -dc garbage.gz
    same -t garbage.gz
    same -dc cut.gz
    same -t cut.gz
}

@test "a file that is cut exactly where a block ends" {
    # The mark between segments ends with an empty stored block.
    local at
    cat plain plain | "$GZLZSS" -6 -b 256 -c >a.gz
    at=$(LC_ALL=C grep -abo "$(printf '\377\377')" a.gz | awk -F: '$1 > 600000 { print $1; exit }')
    [ -n "$at" ] || fail "there is no mark"
    head -c $((at + 2)) a.gz >cut.gz
    export GZLZSS_TEST_GPU_BATCH=4000000
    same -dc cut.gz
    same -t cut.gz
}

@test "flipped bits and cuts: the same output up to the error, message and status" {
    local size i at byte
    "$GZLZSS" -6 -b 256 -c plain >a.gz
    size=$(stat -c %s a.gz)
    for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
        at=$((size * i / 13))
        byte=$(od -An -tu1 -j "$at" -N 1 a.gz)
        cp a.gz bad.gz
        # shellcheck disable=SC2059 # printf converts the escapes in it.
        printf "\\$(printf %o $((byte ^ (1 << (i % 8)))))" |
            dd of=bad.gz bs=1 seek="$at" conv=notrunc 2>/dev/null
        same -dc bad.gz
        same -t bad.gz
        head -c "$at" a.gz >bad.gz
        same -dc bad.gz
    done
}

@test "a GPU that fails, at any stage, hands over to the CPU" {
    local n has_failed=0
    "$GZLZSS" -6 -b 256 -c plain >a.gz
    for n in 0 1 2 5 10 20 30 40 50 60 80 100 120; do
        export GZLZSS_TEST_GPU_FAULT=fail=$n
        on_gpu -tvv a.gz || fail "fail=$n: -t: $(cat gpu.err)"
        ! grep -q 'an emulated error' gpu.err || has_failed=$((has_failed + 1))
        on_gpu -dc a.gz || fail "fail=$n: -dc: $(cat gpu.err)"
        cmp gpu.out plain || fail "fail=$n: wrong output"
    done
    [ "$has_failed" -ge 10 ] || fail "only $has_failed failures came about"
}

@test "a GPU that errs: the CPU decompresses again, unless the output is gone" {
    "$GZLZSS" -6 -c plain >a.gz
    export GZLZSS_TEST_GPU_FAULT=corrupt
    on_gpu -tvv a.gz
    grep -q 'a GPU took part' gpu.err
    on_gpu -dk a.gz
    cmp a plain
    # It is not used for later files, unless the data was bad.
    cp a.gz b.gz
    on_gpu -tvv -p1 a.gz b.gz
    [ "$(grep -c 'a GPU took part' gpu.err)" -eq 1 ] || fail "$(cat gpu.err)"
    grep -q 'b.gz: GPU not used: its output was wrong' gpu.err || fail "$(cat gpu.err)"
    ! on_gpu -dc a.gz || fail "wrong output is not noticed"
    grep -q 'crc error' gpu.err
}

@test "a wrong copy to the host is not written: the CPU goes on" {
    local p
    "$GZLZSS" -6 -b 256 -c plain >a.gz
    export GZLZSS_TEST_GPU_FAULT=copy
    for p in 1 3; do
        on_gpu -dcvv -p "$p" a.gz
        cmp gpu.out plain
        grep -q 'GPU not used.*: a copy from its memory was wrong' gpu.err || fail "$(cat gpu.err)"
    done
}

@test "--backend=gpu without a GPU fails before any file is touched" {
    "$GZLZSS" -6 -c plain >a.gz
    CUDA_VISIBLE_DEVICES='' ends_with 1 "$GZLZSS" -d --backend=gpu a.gz
    grep -q 'cannot use a GPU' stderr
    [ -f a.gz ] && [ ! -e a ]
}

@test "one GPU serves one file after the other" {
    local i
    for i in 1 2 3; do
        { cat plain; echo "$i"; } | "$GZLZSS" -1 -c >"$i.gz"
    done
    on_gpu -tvv -p1 1.gz 2.gz 3.gz
    [ "$(grep -c 'GPU (emulated device) decompressed' gpu.err)" -eq 3 ] || fail "$(cat gpu.err)"
    same -dc 1.gz 2.gz 3.gz
}
