#!/usr/bin/env bats
# fuzz.bats - runs the fuzz targets on the inputs in tests/fuzz/corpus, by which earlier fuzzing has
# reached the most code, and on those that once made a target fail

load helpers

setup() {
    enter_test_directory
    replay=${GEN%gen}replay
}

@test "fuzz: every target is good for its corpus" {
    local target
    for target in $("$replay"); do
        mkdir "$target"
        tar -xzf "$srcdir/tests/fuzz/corpus/$target.tar.gz" -C "$target"
        find "$target" -type f -print0 | xargs -0 "$replay" "$target" >log 2>errors ||
            fail "$target: $(tail -n 1 log): $(cat errors)"
    done
}

@test "fuzz: the targets of replay, of make and of the corpus are the same" {
    "$replay" | sort >targets
    find "$srcdir/tests/fuzz/corpus" -name '*.tar.gz' -printf '%f\n' | sed 's/\.tar\.gz$//' |
        grep -vx gpu | sort | cmp targets -
    sed -n '/^fuzz_targets = /,/[^\\]$/p' "$srcdir/Makefile.am" | grep -o '[a-z_]*' |
        grep -vx fuzz_targets | sort | cmp targets -
}
