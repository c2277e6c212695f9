#!/usr/bin/env bats
# quickstart.bats - what quickstart prints and does, with stand-ins for the programs that it calls

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    enter_test_directory
    mkdir tree
    cp "$srcdir/quickstart" tree
}

# nothing_done [DIRECTORY]: the directory must contain nothing but the script.
nothing_done() {
    [ "$(ls -A "${1-tree}")" = quickstart ] || fail "left: $(ls -A "${1-tree}")"
}

@test "quickstart in a path that Automake cannot work with says so, and does nothing" {
    for name in 'a b' 'a(b' "it's"; do
        mv tree "$name"
        ends_with 1 "$name/quickstart" check
        stderr_is "quickstart: the path of this directory, $PWD/$name, has a blank or a character \
that is special to a shell.\
 Automake and libtool cannot build there: move the directory to another path"
        nothing_done "$name"
        mv "$name" tree
    done
}

# stand_ins UID: makes stand-ins for files of the source tree, in "tree", and for programs of the
# system, in "bin".  `quickstart` sets PATH to "bin" alone.  UID is the user's number for the
# script.  The packages listed in the file "absent" count as not installed.  The build has ISA-L
# unless "absent" lists the package libisal-dev.
stand_ins() {
    local name
    mkdir bin
    mkdir tree/tests
    cp "$srcdir/tests/seconds" tree/tests
    for name in sh bash env date tee sleep kill dirname mkdir cat grep sed sort tr wc tail head rm \
        awk getconf ln touch printf uniq; do
        ln -s "$(command -v "$name")" bin
    done
    : >absent
    echo 'CC = gcc' >settings
    echo "$1" >uid
    stand_in bin/id "cat '$PWD/uid'"
    stand_in bin/dpkg-query 'for package; do :; done' \
        "if grep -qx \"\$package\" '$PWD/absent'; then exit 1; fi; printf installed"
    stand_in bin/apt-cache 'echo "  Candidate: 1"'
    stand_in bin/apt-get "echo \"apt-get \$*\" >>'$PWD/calls'" "[ ! -e '$PWD/apt-fails' ]"
    stand_in bin/make 'case $* in *-n*) echo "echo \"  CC      \" x;" && exit ;; esac' \
        "case \$* in *clean*) echo clean >>'$PWD/calls' && exit ;; esac" "echo make >>'$PWD/calls'" "ln -sf '$GZLZSS' '$PWD/tree/build/gzlzss'" \
        "cd '$PWD/tree/build'" '. ../../make-tests'
    cat >make-tests <<'END'
case $* in
*list-tests*TIER=all*) echo tests/a.bats tests/b.bats tests/unit/c ;;
*list-tests*) echo tests/a.bats tests/unit/c ;;
*list-test-programs*) echo tests/unit/c tests/gen ;;
*check*TESTS=tests*)
    [ ! -e ../../fails ] || bad=FAIL
    mkdir -p tests/unit
    echo "long: ${SKIP_LONG-}" >>../../calls
    printf ':test-result: %s name\n' PASS SKIP | tee tests/unit/c.trs >tests/b.trs
    printf ':test-result: %s name\n' PASS PASS ${bad-} >tests/a.trs
    for test in a b unit/c; do
        echo ':copy-in-global-log: no' >>tests/$test.trs
    done
    printf '# %s: 1\n' PASS SKIP ${bad-} >test-suite.log
    printf 'ok 1\nnot ok 2 %s\nFAIL: tests/a.bats 2 %s\n# because\nok 3\n' 'no good' 'no good' \
        >tests/a.log
    echo 'ok 1 name # skip there is no GPU' >tests/unit/c.log
    [ -z "${bad-}" ]
    ;;
esac
END
    stand_in tree/bootstrap "echo bootstrap >>'$PWD/calls'" "cd '$PWD/tree'" \
        'touch config.h.in Makefile.in'
    stand_in tree/configure "echo configure >>'$PWD/calls'" 'cat ../../settings >Makefile' \
        "if grep -qx libisal-dev '$PWD/absent'; then : >config.h; else" \
        "echo '#define HAVE_ISAL 1' >config.h; fi"
}

# stand_in FILE LINE...: makes a shell script with these lines.
stand_in() {
    { echo '#!/bin/sh'; printf '%s\n' "${@:2}"; } >"$1"
    chmod +x "$1"
}

# quickstart STATUS ARGUMENT...: runs quickstart, which must end with that status.
quickstart() {
    local status=$1
    shift
    ends_with "$status" env PATH="$PWD/bin" CUDA_HOME=/none tree/quickstart "$@"
}

@test "quickstart run: missing files are reported first; if none is left, nothing is done" {
    stand_ins 0
    mkdir dir
    quickstart 1 run none dir/none
    stderr_is "quickstart: none: No such file or directory" \
        "quickstart: dir/none: No such file or directory"
    quickstart 2 run dir
    stderr_is "quickstart: dir is a directory -- ignored"
    quickstart 1 run dir none
    quickstart 1 run none dir
    : >tree/plain
    quickstart 1 run tree/plain/x
    stderr_is "quickstart: tree/plain/x: Not a directory"
    if : >closed && chmod 0 closed && [ ! -r closed ]; then
        quickstart 1 run closed
        stderr_is "quickstart: closed: Permission denied"
    fi
    absent calls tree/build

    # If one of the files can be compressed, the other files only give messages and change the
    # status.
    echo data >'a file'
    quickstart 1 run none 'a file' dir
    stderr_is "quickstart: none: No such file or directory" \
        "quickstart: dir is a directory -- ignored"
    gzip -dc 'a file.gz' | cmp - 'a file'
    grep -q '^a file -> a file.gz (5 -> [0-9]* bytes)$' stdout
    [ "$(tr '\n' ' ' <calls)" = "bootstrap configure make " ]
}

@test "quickstart run: an output that exists is a warning, an error beside it an error" {
    stand_ins 0
    echo data >a
    echo data >b
    quickstart 0 run a b
    ! grep ISA-L stdout || fail "there is ISA-L"
    quickstart 2 run a b
    grep -q 'a.gz already exists' stderr
    rm b.gz
    quickstart 2 run a b
    gzip -dc b.gz | cmp - b
    rm b.gz
    ln -s b c
    quickstart 1 run a c
}

@test "quickstart without root and sudo leaves out what is optional, and says what that costs" {
    stand_ins 1000
    echo data >a
    echo libisal-dev >absent
    quickstart 0 run a
    grep -qx \
        "quickstart: going on without these packages, as installing them needs root or sudo: \
libisal-dev " \
        stdout
    grep -q 'decompression takes 2.5 times as long' stdout
    gzip -dc a.gz | cmp - a
    printf '%s\n' pigz python3 >absent
    quickstart 0 check
    grep -q 'needs root or sudo: pigz python3 $' stdout
    grep -qx 'quickstart: tests that need them are skipped' stdout
    grep -qx 'quickstart: 1 passed, 1 skipped, 0 failed' stdout
    ! grep apt-get calls || fail "without root"

    # If a required package cannot be installed, quickstart fails.
    rm -f calls
    printf '%s\n' libtool libisal-dev >absent
    quickstart 1 run a
    stderr_is \
        "quickstart: these packages are missing, and installing them needs root or sudo: libtool \
libisal-dev "
    absent calls
}

@test "quickstart as root installs; what is optional may fail to be" {
    stand_ins 0
    echo data >a
    echo libisal-dev >absent
    touch apt-fails
    quickstart 0 run a
    why='as apt-get failed (.*quickstart.log says why)'
    grep -q "^quickstart: going on without these packages, $why: libisal-dev \$" stdout
    gzip -dc a.gz | cmp - a
    rm apt-fails calls a.gz
    quickstart 0 run a
    [ "$(grep -c apt-get calls)" -eq 2 ]
    grep -q 'apt-get .* install --no-install-recommends libisal-dev$' calls
    # configure must run again, to find the new package.
    grep -q configure calls
    ! grep -q clean calls || fail "what had been built was built again"

    # If the package changes how files are compiled, all of them are compiled again.
    echo pigz >absent
    echo 'CC = other' >settings
    rm calls
    quickstart 0 check
    [ "$(head -n 4 calls | tail -n 2 | tr '\n' ' ')" = "configure clean " ]
    echo libisal-dev >absent

    echo libtool >>absent
    touch apt-fails
    quickstart 1 run a
    grep -q "this failed: apt_get update" stderr
}

@test "quickstart check shows each test file as it ends; all of them only if that is wanted" {
    stand_ins 0
    quickstart 0 check
    grep -qx 'long: 1' calls
    all="'./quickstart check all' runs all tests"
    grep -qx "quickstart: running tests of all kinds, 2 files; $all" stdout
    grep -q '^quickstart: \[1/2\] tests/a.bats: 2 passed; about [1-9][0-9]* s left$' stdout
    grep -qx 'quickstart: \[2/2\] tests/unit/c: 1 passed, 1 skipped' stdout
    [ "$(tail -n 2 stdout)" = "quickstart: 1 skipped: there is no GPU
quickstart: 1 passed, 1 skipped, 0 failed" ]
    rm calls
    quickstart 0 check all
    grep -qx 'long: ' calls
    grep -qx 'quickstart: running all tests, 3 files' stdout
    grep -q '^quickstart: \[3/3\] ' stdout
    [ "$(tail -n 1 stdout)" = "quickstart: 1 passed, 1 skipped, 0 failed" ]
    for words in 'check most' 'check all all' ''; do
        # shellcheck disable=SC2086
        quickstart 1 $words
        grep -q '^usage: ' stderr
    done
}

@test "quickstart check says which test failed, where the log is, and what it says" {
    stand_ins 0
    touch fails
    quickstart 1 check
    grep -q '^quickstart: \[1/2\] tests/a.bats: 2 passed, 1 FAILED; about ' stdout
    stderr_is \
        "quickstart: tests/a.bats failed; the end of $PWD/tree/build/tests/a.log, \
but for what passed:" \
        'not ok 2 no good' 'FAIL: tests/a.bats 2 no good' '# because' \
        "quickstart: 1 passed, 1 skipped, 1 failed; $PWD/tree/build/test-suite.log has the details"
}

@test "the tests that take long are there" {
    local file name
    while IFS= read -r line; do
        file=${line%%: *} name=${line#*: }
        grep -qxF "@test \"$name\" {" "$srcdir/tests/$file.bats" || fail "not there: $line"
    done <"$srcdir/tests/long"
    grep -v '^#' "$srcdir/tests/seconds" | while read -r name all most; do
        [ -e "$srcdir/$name" ] || [ -e "$srcdir/$name.c" ] || fail "not there: $name"
        [ "$most" -le "$all" ]
    done
}
