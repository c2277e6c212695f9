#!/bin/sh
# run.sh - puts faults into the sources, one at a time, and checks that the tests notice each
#
#     sh tests/mutants/run.sh [OPTION]... [NAME]...
#
# NAME is a patch in this directory, with or without ".patch"; by default, all patches.
#
#     -n          do not run the tests without a fault first
#     -t SECONDS  a test that takes longer has noticed the fault; default 300
#     -w DIR      the directory for the copy; default gzlzss-mutants in TMPDIR or /tmp
#
# A patch begins with lines of text, and these lines are among them:
#
#     change: what is wrong with the patch, in words
#     kills: TEST...    the tests that must notice it; one of them is enough
#     survives: why     in place of `kills`, for a fault that no test can notice, or does yet
#     needs: asan       the tests notice it in a build with ASan and UBSan, as .ci/run has one
#
# TEST is a unit test (test_flush), one of its tests (test_flush:test_random), a Bats file
# (tests/names.bats), some of its tests (tests/names.bats:REGEX, without blanks: `.` stands for
# one), a file of Python's tests (python/tests/test_file.py), some of its tests
# (python/tests/test_file.py:PATTERN, as for `unittest -k`), or a program (python/tests/cpython.py).
#
# The script keeps a copy of the tree, so that only what a patch changes is compiled again.  It
# brings the copy up to date with the tree's tracked files, configures it with the words in
# MUTANTS_CONFIGURE, if it is new, and runs the tests named by the patches without a fault: they
# must pass.  For each patch it then prints
#
#     killed BY    a test failed, or took too long
#     survived     no test failed; this is a failure of the run unless the patch says `survives`
#     stale        the patch does not apply, or the sources do not compile with it: a failure, too
#
# The last line is the count.  Logs are in DIR/logs.
set -u
export LC_ALL=C
top=$(cd "$(dirname "$0")/../.." && pwd -P) || exit 2
work=${TMPDIR:-/tmp}/gzlzss-mutants
limit=300
baseline=true
jobs=${JOBS:-2}

usage() {
    sed -n 's/^#     sh \(tests.*\)/usage: sh \1/p' "$0" >&2
    exit 2
}

while getopts nt:w: option; do
    case $option in
    n) baseline=false ;;
    t) limit=$OPTARG ;;
    w) work=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))

mkdir -p "$work/logs" || exit 2
work=$(cd "$work" && pwd -P) || exit 2
copy=$work/tree
build=$work/plain
# Only one run at a time may have the copy.  Tests do not get the lock, as they may leave processes.
exec 9>"$work/lock"
flock -n 9 || {
    echo "run.sh: $work is in use; see -w" >&2
    exit 2
}

# field NAME PATCH: prints the rest of the patch's line "NAME: ...".
field() {
    sed -n "/^--- /q; s/^$1: *//p" "$2"
}

# update FILE...: makes these files of the copy equal to the tree's.  A file that does not change
# keeps its time, so that make does not compile it again.
update() {
    for file; do
        cmp -s "$top/$file" "$copy/$file" && continue
        mkdir -p "$copy/$(dirname "$file")" && cp -p "$top/$file" "$copy/$file" &&
            touch "$copy/$file" || exit 2
    done
}

# Makes the copy, or brings it up to date.
make_copy() {
    mkdir -p "$copy" || exit 2
    git -C "$top" ls-files >"$work/files" || exit 2
    touch "$work/files.old"
    # Files that the tree no longer has, and files that only patches made, go.
    (cd "$copy" && grep -vxFf "$work/files" "$work/files.old" | xargs -r rm -f)
    cp "$work/files" "$work/files.old"
    while IFS= read -r file; do
        [ ! -f "$top/$file" ] || update "$file"
    done <"$work/files"
    [ -x "$copy/configure" ] || (cd "$copy" && ./bootstrap) >"$work/logs/bootstrap" 2>&1 || {
        echo "run.sh: bootstrap failed; see $work/logs/bootstrap" >&2
        exit 2
    }
}

# choose_build PATCH: sets $build to the directory of the build that the patch needs, and configures
# it if it is new.
choose_build() {
    flags='-O1 -g'
    build=$work/plain
    if [ "$(field needs "$1")" = asan ]; then
        flags="$flags -fsanitize=address,undefined -fno-sanitize-recover=undefined"
        build=$work/asan
    fi
    [ ! -f "$build/Makefile" ] || return 0
    mkdir -p "$build"
    # shellcheck disable=SC2086
    (cd "$build" && "$copy/configure" --without-cuda --disable-static CFLAGS="$flags" \
        CXXFLAGS="$flags" ${MUTANTS_CONFIGURE-}) >"$work/logs/configure" 2>&1 || {
        echo "run.sh: configure failed; see $work/logs/configure" >&2
        exit 2
    }
}

# Takes the patch that is in the copy, if there is one, out of it.
patched=
take_out() {
    # shellcheck disable=SC2086
    [ -z "$patched" ] || update $patched
    patched=
    is_installed=false
}
trap take_out EXIT
trap 'exit 1' HUP INT TERM

# put_in PATCH: applies the patch to the copy.
put_in() {
    patch -d "$copy" -p1 -f -s --dry-run <"$1" || return
    patched=$(sed -n 's,^+++ b/\([^	 ]*\).*,\1,p' "$1")
    is_installed=false
    patch -d "$copy" -p1 -f -s --no-backup-if-mismatch <"$1"
}

# Whether the Python package is installed as it is in the copy now.
is_installed=false

# compile TEST: builds what the test needs.
compile() {
    case $1 in
    # `all` starts a make of its own, so it must not run beside the other target.
    test_*) make -C "$build" -j "$jobs" all &&
            make -C "$build" tests/default_signals "tests/unit/${1%%:*}" ;;
    tests/*.bats*) make -C "$build" -j "$jobs" all && make -C "$build" programs-for-bats ;;
    python/*)
        [ "$is_installed" = false ] || return 0
        { [ -x "$work/venv/bin/python" ] || python3 -m venv "$work/venv"; } &&
            rm -rf "$copy/python/build" && CFLAGS=$flags MAX_JOBS=$jobs \
            "$work/venv/bin/pip" install -q --force-reinstall "$copy/python" && is_installed=true
        ;;
    *)
        echo "not a test: $1"
        false
        ;;
    esac
}

# run_test TEST: runs the test, at most for the limit.
run_test() {
    case $1 in
    test_*)
        only=${1#"${1%%:*}"}
        (
            cd "$build" || exit
            [ -z "$only" ] || export UNIT_ONLY="${only#:}"
            srcdir=$copy timeout -k 10 "$limit" tests/default_signals "tests/unit/${1%%:*}"
        )
        ;;
    tests/*.bats*)
        filter=${1#"${1%%:*}"}
        (
            cd "$build" || exit
            export GZLZSS_COMMAND="$build/gzlzss" GEN="$build/tests/gen" srcdir="$copy"
            timeout -k 10 "$limit" tests/default_signals bats -f "${filter#:}" "$copy/${1%%:*}"
        )
        ;;
    python/*)
        filter=${1#"${1%%:*}"}
        module=$(basename "${1%%:*}" .py)
        (
            cd "$copy/python/tests" || exit
            case $module in
            test_*) set -- -m unittest -v ${filter:+-k "${filter#:}"} "$module" ;;
            *) set -- "$module.py" ;;
            esac
            timeout -k 10 "$limit" "$work/venv/bin/python" -B "$@"
        )
        ;;
    esac
}

# Runs the tests of all patches without a fault.
check_tests() {
    done=' '
    for patch; do
        choose_build "$patch"
        for test in $(field kills "$patch"); do
            case $done in
            *" $build:$test "*) continue ;;
            esac
            done="$done$build:$test "
            log=$work/logs/without
            { compile "$test" && run_test "$test" 9>&-; } >"$log" 2>&1 </dev/null || {
                echo "run.sh: $test fails without a fault; see $log" >&2
                exit 1
            }
        done
    done
}

# try PATCH: puts the fault in, runs its tests, and prints the result.
try() {
    name=$(basename "$1" .patch)
    log=$work/logs/$name
    by=
    tests=$(field kills "$1")
    choose_build "$1"
    if [ -z "$(field change "$1")" ] || [ -z "$tests$(field survives "$1")" ]; then
        echo "stale     $name: has no \`change\`, or neither \`kills\` nor \`survives\`"
        stale=$((stale + 1))
        return
    fi
    put_in "$1" >"$log" 2>&1 || {
        echo "stale     $name: does not apply; see $log"
        stale=$((stale + 1))
        return
    }
    for test in ${tests:-all}; do
        if [ "$test" = all ]; then
            make -C "$build" -j "$jobs" all
        else
            compile "$test"
        fi >>"$log" 2>&1 </dev/null || {
            echo "stale     $name: does not compile; see $log"
            stale=$((stale + 1))
            return
        }
        [ "$test" != all ] || break
        status=0
        run_test "$test" >>"$log" 2>&1 </dev/null 9>&- || status=$?
        if [ $status -ne 0 ]; then
            by=$test
            [ $status -ne 124 ] && [ $status -ne 137 ] || by="$test, by its time"
            break
        fi
    done
    if [ -n "$by" ]; then
        echo "killed    $name: $by"
        killed=$((killed + 1))
    elif [ -z "$tests" ]; then
        echo "survives  $name, as it says: $(field survives "$1")"
        expected=$((expected + 1))
    else
        echo "survived  $name: $(field change "$1")"
        survived=$((survived + 1))
    fi
}

if [ $# -eq 0 ]; then
    set -- "$top"/tests/mutants/*.patch
else
    count=$#
    for name; do
        set -- "$@" "$top/tests/mutants/$(basename "$name" .patch).patch"
    done
    shift "$count"
fi
for patch; do
    [ -f "$patch" ] || {
        echo "run.sh: no such file: $patch" >&2
        exit 2
    }
done

make_copy
! $baseline || check_tests "$@"
killed=0 survived=0 expected=0 stale=0
for patch; do
    try "$patch"
    take_out
done
echo "$# faults: $killed killed, $expected survive as they say, $survived survived, $stale stale"
[ $((survived + stale)) -eq 0 ]
