#!/bin/bash
# coverage.sh - which lines and branches of the code tests run, as a table by folder
#
#   coverage.sh [--report] DIRECTORY      from the top of the source tree, after ./bootstrap
#
# Builds in DIRECTORY with gcov's counters, runs tests, and prints the table and, in
# DIRECTORY/lines.txt, the lines that no test ran.  --report only prints anew what the last call
# counted.  Needs gcc and gcovr.  If SKIP_LONG is in the environment, leaves out the Bats tests that
# tests/long lists.  Fails if a test fails.
#
# Counters that several threads share must be atomic, and then the match finders, the encoder and
# the emulated GPU take ten times as long.  So there are two builds.  In `alone`, tests with one
# thread run; its counters are not atomic.  In `together`, all other tests run; lzss/, huffman/ and
# gpu/ have no counters there, except for matcher.c and encoder.c, which say who works on what.
#
# Some loops are compiled once for each of several processors (base/cpu.h).  In `alone`, the tests
# of these run once more for each older processor, so that the branches of all versions count.
#
# Branches are those of gcc's code at -O1.  Left out are branches that gcc adds for exceptions
# (C++), and branches on lines without code.  The sources have no marks that leave anything out.
set -u -o pipefail

top=$(cd "$(dirname "$0")/.." && pwd)
run=yes
if [ "${1-}" = --report ]; then
    run=
    shift
fi
mkdir -p "${1:?is missing: the directory for the builds}" && cd "$1" || exit
here=$PWD
cores=$(getconf _NPROCESSORS_ONLN)
status=0
folders="lzss huffman inflate compat access gpu pipeline/crew pipeline/compress pipeline/expand \
pipeline lib src base"

# Unit tests with one thread.
alone=(kernels gpu_inflate gpu_many phases caller chains optimal tags matcher strategies encoder
    lanes lengths header bitwriter bytes whole raw raw_zlib raw_small symbols symbols_zlib find
    blockheader unlzh unlzw unpack zip gunzip status)
# Those of code with several versions.
versions=(chains optimal tags matcher strategies encoder lanes whole symbols)
# Bats files that are left out.  Most test scripts, documents and packages, or need parts that this
# build leaves out.  The last five end programs by signals and limits.  If a program ends while it
# writes its counts, the counts of all programs are lost.
without=(quickstart docs completions layers bench install mpi valgrind matcher library release
    signals limits system faults bombs)

# configured NAME CFLAGS CXXFLAGS [CPPFLAGS]: configures in the directory NAME, and enters it.
configured() {
    mkdir -p "$here/$1" && cd "$here/$1" || return
    [ -f Makefile ] ||
        "$top/configure" --without-cuda --disable-static --disable-papers --disable-hardening \
            CFLAGS="$2" CXXFLAGS="$3" CPPFLAGS="${4-}" LIBS="-L$here -lcoverage" \
            LDFLAGS="-Wl,--wrap=_exit -Wl,--wrap=raise -Wl,--wrap=kill"
}

# checked PROGRAM... -- TEST...: builds the programs and runs the tests with empty counters.
checked() {
    local programs=()
    while [ "$1" != -- ]; do
        programs+=("$1")
        shift
    done
    shift
    # Not in one call: `all` is made by a make of its own, and two would make the same files.
    make -j"$cores" all && make -j"$cores" "${programs[@]}" || return
    find . -name '*.gcda' -delete
    # Programs that have dropped root's rights must be able to write their counts, too.
    find . -name '*.gcno' | while read -r file; do
        : >"${file%.gcno}.gcda"
    done
    find . -name '*.gcda' -exec chmod 666 {} +
    make -k -j"$cores" check check_PROGRAMS="${programs[*]}" \
        TESTS="$*" || status=1
}

run_alone() {
    local flags="-O1 -g1 --coverage" units path
    units="$(printf 'tests/unit/test_%s ' "${alone[@]}") tests/fuzz/mutate tests/fuzz/mutate_gpu"
    configured alone "$flags" "$flags" -DCPU_PATH_MOST=coverage_cpu_path || return
    # shellcheck disable=SC2086
    checked $units tests/default_signals -- $units || return
    for path in 0 1; do
        COVERAGE_CPU_PATH=$path make -k -j"$cores" check check_PROGRAMS="$units" \
            TESTS="$(printf 'tests/unit/test_%s ' "${versions[@]}")" || status=1
    done
}

run_together() {
    local flags="-O1 -g1 --coverage -fprofile-update=atomic" inner units bats helpers
    configured together "$flags" "-O2 -g1" || return
    inner=$(cd "$top" && find lzss huffman -name '*.c' ! -name matcher.c ! -name encoder.c |
        sed 's/\.c$/.lo/')
    # shellcheck disable=SC2086
    make -j"$cores" CFLAGS="-O2 -g1" $inner || return
    units=$(make -s list-tests TIER=all | grep '^tests/unit/' |
        grep -vE '_(avx2|portable)$' | grep -vxF "$(printf 'tests/unit/test_%s\n' "${alone[@]}")")
    bats=$(make -s list-tests TIER=all | grep '\.bats$' |
        grep -vxF "$(printf 'tests/%s.bats\n' "${without[@]}")")
    helpers=$(make -s list-test-programs TIER=all | grep -v -e ^tests/unit/ -e ^tests/fuzz/)
    # shellcheck disable=SC2086
    checked $units $helpers tests/wrong_write.la -- $units $bats
}

# Adds up gcovr's lines for files: lines and branches, each with how many were run.
by_folder() {
    awk -F, -v folders="$folders" '
        function percent(part, all) { return all ? 100 * part / all : 100 }
        function row(name) {
            printf "%-20s %7d %7.1f %9d %7.1f\n", name, lines[name],
                percent(run[name], lines[name]), branches[name],
                percent(taken[name], branches[name])
        }
        NR > 1 {
            folder = $1
            sub(/\/[^\/]*$/, "", folder)
            # Folders inside a folder count with it, except in pipeline/.
            if (folder !~ /^pipeline\//) sub(/\/.*/, "", folder)
            n = split(folder ~ /^pipeline\// ? folder " all-of-pipeline" : \
                folder == "pipeline" ? "pipeline all-of-pipeline" : folder, names, " ")
            for (i = 1; i <= n; i++) {
                lines[names[i]] += $2; run[names[i]] += $3
                branches[names[i]] += $5; taken[names[i]] += $6
            }
        }
        END {
            printf "%-20s %7s %7s %9s %7s\n", "folder", "lines", "%", "branches", "%"
            n = split(folders, order, " ")
            for (i = 1; i <= n; i++) row(order[i])
            row("all-of-pipeline")
        }'
}

report() {
    local filters=()
    for folder in lzss huffman inflate compat access gpu pipeline lib src base; do
        filters+=(--filter "$top/$folder/")
    done
    cd "$top" &&
        gcovr -r "$top" "${filters[@]}" --exclude-throw-branches --exclude-unreachable-branches \
            --gcov-ignore-parse-errors -j "$cores" --csv "$here/files.csv" --txt "$here/lines.txt" \
            "$here/alone" "$here/together" >"$here/gcovr.log" 2>&1 || return
    by_folder <"$here/files.csv" | tee "$here/folders.txt"
}

# failed LOG: shows the tests that failed, or why the build did.
failed() {
    status=1
    grep -E '^(FAIL|ERROR): ' "$1" || tail -n 20 "$1"
}

if [ -n "$run" ]; then
    if ! command -v gcovr >/dev/null; then
        echo "coverage.sh: gcovr is not installed" >&2
        exit 1
    fi
    ${CC:-gcc} -O1 -fPIC -I"$top" -c "$top/tests/coverage.c" -o coverage.o &&
        ar cr libcoverage.a coverage.o || exit
    (run_alone && exit $status) >alone.log 2>&1 || failed alone.log
    (run_together && exit $status) >together.log 2>&1 || failed together.log
fi
report || {
    cat "$here/gcovr.log"
    exit 1
}
exit $status
