#!/bin/sh
# waits.sh - times two builds of the command in turn on a GPU: what its waits for the GPU cost
#
#     bench/waits.sh OLD NEW FILE [RUNS]
#
# OLD and NEW are two programs. For levels 1, 6, 9 and 12, and for -dc and -t of a .gz of FILE,
# the script prints the least seconds of wall time and of processor time (user + system) of RUNS
# runs (5) of each program, with --backend=gpu. The programs take turns, so that other work on the
# machine and its temperature touch both.

if [ $# -lt 3 ]; then
    sed -n '4s/^# *//p' "$0" >&2
    exit 2
fi
old=$1
new=$2
file=$3
runs=${4:-5}
scratch=$(mktemp -d) || exit 1
trap 'rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM

# timed PROGRAM ARGUMENT...: prints wall time and processor time of a run.
timed() {
    TIMEFORMAT='%R %U %S' bash -c 'time "$@" >/dev/null' timed "$@" 2>&1 |
        awk 'END { print $1, $2 + $3 }'
}

# least FILE: the least of each column.
least() {
    awk 'NR == 1 || $1 < w { w = $1 } NR == 1 || $2 < c { c = $2 }
        END { printf "%.3f | %.3f", w, c }' "$1"
}

echo "| work | old: wall | processor | new: wall | processor |"
echo "|---|---|---|---|---|"
"$new" -6 -c "$file" >"$scratch/data.gz" || exit 1
for work in -1 -6 -9 -12 -dc -t; do
    input=$file
    case $work in
    -dc | -t) input=$scratch/data.gz ;;
    esac
    : >"$scratch/old"
    : >"$scratch/new"
    i=0
    while [ "$i" -lt "$runs" ]; do
        timed "$old" "$work" -c --backend=gpu "$input" >>"$scratch/old"
        timed "$new" "$work" -c --backend=gpu "$input" >>"$scratch/new"
        i=$((i + 1))
    done
    echo "| $work | $(least "$scratch/old") | $(least "$scratch/new") |"
done
