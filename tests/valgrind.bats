#!/usr/bin/env bats
# valgrind.bats - the command uses no uninitialized byte and no memory that it has not allocated

load helpers

setup() {
    have valgrind || skip "valgrind is not installed"
    enter_test_directory
    # Valgrind cannot run a build with sanitizers.
    valgrind -q "$GZLZSS" --version >/dev/null 2>&1 || skip "valgrind cannot run this build"
}

# checked ARGUMENT...: valgrind runs the command and finds nothing.
checked() {
    valgrind -q --error-exitcode=99 "$GZLZSS" "$@" 2>stderr || fail "$*:" "$(head -n 40 stderr)"
}

@test "inputs of odd sizes, by every match finder" {
    # Give the inputs in order of size, the smallest first: otherwise, the memory after an input
    # would still be set from an earlier, larger input.
    local files=()
    for size in 0 1 2 3 4 7 33 1001 32767 32769; do
        "$GEN" source "$size" >"in.$size"
        files+=("in.$size")
    done
    cat "${files[@]}" >all
    for level in $(level_of_each_finder); do
        checked --backend=cpu -p1 "-$level" -c "${files[@]}" >z
        "$GZLZSS" -dc <z | cmp - all
    done
    checked -dc <z | cmp - all
}

@test "several threads, pieces, a pipe, and files side by side" {
    local level options=('' --rsyncable '-0 --rsyncable')
    # Run every match finder, on several segments, and on one segment that several threads match.
    for level in $(level_of_each_finder); do
        options+=("-$level -b 64")
    done
    "$GEN" mixed 140001 >large
    for options in "${options[@]}"; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        checked --backend=cpu -p3 $options -c large >z
        "$GZLZSS" -dc <z | cmp - large
        # shellcheck disable=SC2002,SC2086
        cat large | checked --backend=cpu -p3 $options >z
        "$GZLZSS" -dc <z | cmp - large
    done
    mkdir many
    for size in 1 31 999 5003; do
        "$GEN" text "$size" >"many/$size"
    done
    checked --backend=cpu -p3 -rv many
    checked -p3 -rt many
    checked -lv many/1.gz many/999.gz
    checked -drN many
}
