#!/bin/bash
# plot.sh - draws the results of bench/bench.sh, bench/decompress.sh, bench/gpu_decompress.sh,
# bench/papers.sh and bench/python.py, as PNG and SVG
#
#   bench/plot.sh DIR
#
# Draws the results that it finds in DIR. From results.csv and time.csv of bench/bench.sh, it makes
# DIR/pareto-FILE (speed against ratio), DIR/size (throughput against input size), DIR/threads and
# DIR/devices (scaling), and DIR/time-FILE (where the wall time goes). From decompress.csv of
# bench/decompress.sh, it makes DIR/decompress; from gpu_sizes.csv of bench/gpu_decompress.sh,
# DIR/gpu_sizes; from papers.csv of bench/papers.sh, DIR/papers; from python.csv of bench/python.py,
# DIR/python-files, python-objects and python-pieces. Each plot is a .png and a .svg file. The
# results may come from another machine. Needs gnuplot (apt-get install gnuplot-nox) and awk.
set -euo pipefail
export LC_ALL=C.UTF-8
here=$(cd "${0%/*}" && pwd)

fail() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 1
}

[ $# -eq 1 ] || fail "wants the directory with the results"
if [ ! -r "$1/decompress.csv" ] && [ ! -r "$1/gpu_sizes.csv" ] &&
    [ ! -r "$1/papers.csv" ] && [ ! -r "$1/python.csv" ]; then
    [ -r "$1/results.csv" ] || fail "there is no $1/results.csv"
    [ -r "$1/time.csv" ] || fail "there is no $1/time.csv"
fi
command -v gnuplot >/dev/null || fail "needs gnuplot (apt-get install gnuplot-nox)"

png=png
if gnuplot -e 'set terminal pngcairo' 2>/dev/null; then
    png=pngcairo
fi
script=$(mktemp)
trap 'rm -f "$script"' EXIT
# Change to DIR instead of passing its name to awk and gnuplot: awk would interpret a backslash in
# the name, and gnuplot would interpret a quote.
(
    cd "$1"
    if [ -r results.csv ]; then
        awk -v dir=. -v png="$png" -f "$here/results.awk" -f "$here/plots.awk" \
            results.csv time.csv >"$script"
        gnuplot "$script"
    fi
    if [ -r decompress.csv ]; then
        awk -v png="$png" -f "$here/decompress.awk" decompress.csv >"$script"
        gnuplot "$script"
    fi
    if [ -r gpu_sizes.csv ]; then
        awk -v png="$png" -f "$here/gpu_sizes.awk" gpu_sizes.csv >"$script"
        gnuplot "$script"
    fi
    if [ -r papers.csv ]; then
        awk -v png="$png" -f "$here/papers.awk" papers.csv >"$script"
        gnuplot "$script"
    fi
    if [ -r python.csv ]; then
        awk -v png="$png" -f "$here/python.awk" python.csv >"$script"
        gnuplot "$script"
    fi
)
