#!/bin/bash
# repeat.sh - runs what has most threads again and again, in a build with ThreadSanitizer
#
#   GZLZSS_COMMAND=/path/to/gzlzss GEN=/path/to/tests/gen tests/repeat.sh TIMES [CASE...]
#
# A case is something that the command does with 8 threads (see `once`), or one test of a unit test,
# as test_library:test_turns.  The default is all cases below.  JOBS runs (default: the number of
# cores) go on side by side.  A run is wrong if its status is not 0, as after a race, or if it takes
# more than 300 seconds.  The table has a line for each case: runs, wrong runs, seconds.  The output
# of wrong runs is kept.  Status 1 if any run was wrong.
set -u

gzlzss=$(realpath -e "${GZLZSS_COMMAND:?must be the path of gzlzss}") || exit 2
gen=$(realpath -e "${GEN:?must be the path of tests/gen}") || exit 2
units=${gzlzss%/*}/tests/unit
times=${1:?how many times?}
shift
if [ $# -eq 0 ]; then
    set -- compress pipe rsyncable bgzf files expand expand-marks expand-bgzf expand-files range \
        test_library:test_turns test_library:test_streams test_library:test_threads \
        test_gpus:test_several test_gpus:test_many_jobs test_gpus:test_pushed \
        test_flush:test_threads test_flush:test_many_streams test_waits:test_callers_are_away \
        test_gpu_decoder:test_failures test_cuda:test_threads test_reader:test_long_threads
fi
unset GZLZSS GZIP
export LC_ALL=C TSAN_OPTIONS=halt_on_error=1 GZLZSS_TEST_REGION=65536

work=$(mktemp -d) && cd "$work" || exit 1
mkdir parts
"$gen" source 2000000 >plain
split -b 40000 plain parts/
gzip -c plain >by-gzip.gz
"$gzlzss" -b 64 -k plain -o marked.gz
"$gzlzss" --format=bgzf plain -k -o bgzf.gz
gzip -k parts/*
mkdir packed
mv parts/*.gz packed

# Runs a case once, in the directory that is given.
once() {
    local case=$1 run=("$gzlzss" -p8)
    case $case in
    compress) "${run[@]}" -b 32 -c plain | gzip -dc | cmp - plain ;;
    pipe) "${run[@]}" -b 32 < <(cat plain) | gzip -dc | cmp - plain ;;
    rsyncable) "${run[@]}" -b 64 --rsyncable -c plain | gzip -dc | cmp - plain ;;
    bgzf) "${run[@]}" --format=bgzf -c plain | gzip -dc | cmp - plain ;;
    files) "${run[@]}" -c parts/* | gzip -dc | cmp - plain ;;
    expand) "${run[@]}" -dc by-gzip.gz | cmp - plain ;;
    expand-marks) "${run[@]}" -dc marked.gz | cmp - plain ;;
    expand-bgzf) "${run[@]}" -dc bgzf.gz | cmp - plain ;;
    expand-files) "${run[@]}" -dc packed/* | cmp - plain ;;
    range) "${run[@]}" -dc --range=500000:1000000 by-gzip.gz |
        cmp - <(tail -c +500001 plain | head -c 1000000) ;;
    test_*:*) UNIT_ONLY=${case#*:} "$units/${case%:*}" | grep '^ok 1 ' ;;
    *)
        echo "repeat.sh: no such case: $case" >&2
        return 2
        ;;
    esac
}

# One run; its output is kept if it is wrong.
run() {
    local log=$work/$1.$2.log
    if once "$1" >"$log" 2>&1; then
        rm "$log"
    fi
}

set -o pipefail
export -f once run
export gzlzss units work
wrong=0
for case; do
    start=$SECONDS
    seq "$times" | xargs -P "${JOBS:-$(getconf _NPROCESSORS_ONLN)}" -I{} \
        timeout 300 bash -o pipefail -c "run '$case' {}"
    logs=$(find . -maxdepth 1 -name "$case.*.log" | wc -l)
    printf '%-36s %6d runs %4d wrong %6d s\n' "$case" "$times" "$logs" $((SECONDS - start))
    wrong=$((wrong + logs))
done
if [ "$wrong" -gt 0 ]; then
    echo "repeat.sh: $work has the output of wrong runs" >&2
    exit 1
fi
cd / && rm -r "$work"
