#!/bin/bash
# memory.sh - peak resident memory of every level, from a file and from a pipe, as Markdown
#
#   bench/memory.sh [-p "THREADS..."] [-l "LEVEL..."] [FILE]
#
# Prints a column for each number of THREADS (default 1, 2, 4 and 8). A cell has two peaks in MiB:
# when gzlzss reads a file, and when it reads a pipe. The heading of a column has the limit for
# levels 1 to 9: 32 MiB, and 24 MiB for each thread. (!) marks a cell with a peak above the limit.
# The last column is the memory that one more thread takes, computed from the first and the last
# number of threads. FILE (default: the kernel source of bench/corpora.sh) must be large enough to
# keep all threads busy. GZLZSS is the command to measure, with options if needed (default:
# ./gzlzss). Needs GNU time.
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"
need_peak

threads="1 2 4 8"
levels=$(all_levels)
while getopts p:l: option; do
    case $option in
    p) threads=$OPTARG ;;
    l) levels=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
file=${1:-$corpora/linux200}

# mib KIB prints MiB with one decimal.
mib() {
    decimal $(($1 * 10 / 1024))
}

about "memory.sh: peak MiB on ${file##*/}, $(stat -Lc %s "$file") bytes, from a file and from a pipe"
cells=(level)
for p in $threads; do
    cells+=("-p$p, limit $((24 * p + 32))")
done
header "${cells[@]}" "per thread"
first=${threads%% *}
for level in $levels; do
    cells=("$level")
    peaks=()
    for p in $threads; do
        "${peak[@]}" "${gzlzss[@]}" "-$level" -n -p "$p" -c "$file" >/dev/null
        of_file=$(<"$work/peak")
        # shellcheck disable=SC2002 # The input has to be a pipe.
        cat "$file" | "${peak[@]}" "${gzlzss[@]}" "-$level" -n -p "$p" -c >/dev/null
        of_pipe=$(<"$work/peak")
        most=$((of_file > of_pipe ? of_file : of_pipe))
        peaks+=("$most")
        cell="$(mib "$of_file"), $(mib "$of_pipe")"
        if [ "$level" -le 9 ] && [ "$most" -gt $(((24 * p + 32) * 1024)) ]; then
            cell+=" (!)"
        fi
        cells+=("$cell")
    done
    if [ "$p" -gt "$first" ]; then
        cells+=("$(mib $(((most - peaks[0]) / (p - first))))")
    else
        cells+=(-)
    fi
    row "${cells[@]}"
done
