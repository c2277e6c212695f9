#!/bin/bash
# bombs.sh - measures what decompression takes for data that is made to cost much
#
#   bench/bombs.sh [-m MB] [-r RUNS] [-c "CASE..."]
#
# Makes MB megabytes (default 3) of each CASE of tests/bombs (default: all), which must have been
# built (BOMBS in the environment: its path, default tests/bombs). Prints a Markdown table with the
# processor time in ns for each byte of input, and the peak memory in MiB, of gzip -t, and of
# gzlzss -t with one thread and with four. The best of RUNS (default 3) counts. GZLZSS is the
# command to measure, with options if needed (default: ./gzlzss).
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"

megabytes=3
runs=3
bombs=${BOMBS:-tests/bombs}
cases=
while getopts m:r:c: option; do
    case $option in
    m) megabytes=$OPTARG ;;
    r) runs=$OPTARG ;;
    c) cases=$OPTARG ;;
    *) usage ;;
    esac
done

# cost COMMAND... prints the ns for each byte of $work/in, and the MiB, of the command, which may
# find the input damaged.
cost() {
    local i
    for ((i = 0; i < runs; i++)); do
        /usr/bin/time -o "$work/time" -f '%U %S %M' "$@" "$work/in" >"$work/out" 2>&1 || true
        tail -n 1 "$work/time"
    done | awk -v size="$(stat -c %s "$work/in")" '
        { time = $1 + $2 }
        NR == 1 || time < best { best = time }
        $3 > most { most = $3 }
        END { printf "%.0f ns, %.0f MiB", best * 1e9 / size, most / 1024 }'
}

need_peak
header case "input, bytes" gzip "gzlzss -p1" "gzlzss -p4"
for case in ${cases:-$("$bombs")}; do
    size=$((megabytes * 1000000))
    # These expand to a thousand times the size, or take long to make.
    case $case in
    zeros | lzw | lzh) size=$((size / 30)) ;;
    esac
    "$bombs" "$case" "$size" >"$work/in" || exit 1
    row "$case" "$(stat -c %s "$work/in")" "$(cost gzip -t)" \
        "$(cost "${gzlzss[@]}" -t -p 1)" "$(cost "${gzlzss[@]}" -t -p 4)"
done
