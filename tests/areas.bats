#!/usr/bin/env bats
# areas.bats - tests/areas and tests/skips, which .ci/run reads, are about files that there are

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    enter_test_directory
    areas=$srcdir/build-aux/areas.sh
}

@test "docs/testing.md has the table that tests/areas makes" {
    sh "$areas" --table >table
    [ "$(wc -l <table)" -gt 20 ]
    sed -n '/^| changed | run first |/,/^$/p' "$srcdir/docs/testing.md" | grep . | cmp - table ||
        fail "put the output of 'build-aux/areas.sh --table' into docs/testing.md"
}

@test "every source belongs to a line, and every folder and test of a line exists" {
    (cd "$srcdir" && find base lzss huffman inflate compat access gpu papers module pipeline lib \
        include src mpi python/src python/package man docs \( -name '*.[ch]' -o -name '*.cu' -o \
        -name '*.cuh' -o -name '*.py' -o -name '*.1' -o -name '*.3' -o -name '*.md' \)) >sources
    [ "$(wc -l <sources)" -gt 300 ]
    sh "$areas" --unknown <sources >unknown
    [ ! -s unknown ] || fail "belong to no line of tests/areas: $(cat unknown)"
    grep -v -e '^#' -e '^$' "$srcdir/tests/areas" | sed 's/ : .*//' | tr ' ' '\n' >paths
    while read -r path; do
        # A tarball has no folders that only a clone needs.
        [ -e "$srcdir/$path" ] || [ "$path" = debian/ ] || fail "not there: $path"
    done <paths
    sh "$areas" --for <sources >names
    sed -n 's/^test //p' names >tests
    [ "$(wc -l <tests)" -gt 60 ]
    while read -r test; do
        grep -qwF "$test" "$srcdir/Makefile.am" || fail "not there: $test"
    done <tests
    if [ -e "$srcdir/.ci/run" ]; then
        sed -n 's/^step //p' names | grep -vx -e ports -e cuda-archs >steps
        while read -r step; do
            grep -qE "^ *maybe $step " "$srcdir/.ci/run" || fail "not a step of .ci/run: $step"
        done <steps
    fi
}

@test "a changed file has its folder's tests and steps; a changed test has itself" {
    printf '%s\n' compat/recover/x.c tests/unit/test_push.c tests/names.bats none |
        sh "$areas" --for >got
    for line in 'test tests/recover.bats' 'test tests/unit/test_gunzip' 'step asan' \
        'test tests/unit/test_push' 'test tests/names.bats'; do
        grep -qx "$line" got || fail "lacks: $line"
    done
    ! grep -q golden got || fail "golden.bats does not belong to these"
}

@test "a skip passes if its step, file and reason are listed, and only then" {
    mkdir -p tree/build-aux tree/tests logs/tests/unit
    cp "$srcdir/build-aux/skips.sh" tree/build-aux
    printf '%s\n' '# comment' '' 'asan* | * | built with a *' '* | unit/test_x | no pipes' \
        'python | python | no GPU' >tree/tests/skips
    printf '%s\n' 'ok 1 good' 'ok 2 name # skip built with a sanitizer' >logs/tests/a.log
    echo '1..0 # SKIP no pipes' >logs/tests/unit/test_x.log
    bash tree/build-aux/skips.sh asan logs
    ends_with 1 bash tree/build-aux/skips.sh tsan logs
    grep -q 'not listed .* step tsan: a : built with a sanitizer$' stdout
    cp logs/tests/unit/test_x.log logs/tests/unit/test_y.log
    ends_with 1 bash tree/build-aux/skips.sh asan logs
    grep -q 'unit/test_y : no pipes$' stdout
    echo "test_a (test_x.Class.test_a) ... skipped 'no GPU'" >log
    bash tree/build-aux/skips.sh python log
    echo "test_a (test_x.Class.test_a) ... skipped 'no pandas'" >>log
    ends_with 1 bash tree/build-aux/skips.sh python log
}
