#!/bin/bash
# worst.sh - measures the speed on inputs that are hard for match finders, and compares it with that
# on kernel source
#
#   bench/worst.sh [-m MIB] [-p THREADS] [-r RUNS] [-l "LEVEL..."] [-c "CASE..."] [FILE]
#
# Makes MIB mebibytes (default 64) of each CASE (default: all). Prints a Markdown table with each
# level's speed in MB of input for each second, and the ratio of that speed to the level's speed on
# the same number of bytes of FILE (default: the kernel source of bench/corpora.sh). (!) marks a
# ratio below a fifth. THREADS and RUNS are 1 by default; the best run counts. gzip decompresses
# every output, and the script compares the result with the input. GZLZSS is the command to measure,
# with options if needed (default: ./gzlzss).
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"

mib=64
threads=1
runs=1
levels=$(all_levels)
cases="zeros period2 period3 runs300 runs32767 debruijn4-8 debruijn2-16 debruijn2-20 lines phrases"
while getopts m:p:r:l:c: option; do
    case $option in
    m) mib=$OPTARG ;;
    p) threads=$OPTARG ;;
    r) runs=$OPTARG ;;
    l) levels=$OPTARG ;;
    c) cases=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))

# debruijn LETTERS ORDER prints a sequence that contains every string of ORDER letters once. The
# sequence consists of all Lyndon words whose length divides ORDER, in order (Fredricksen, Kessler
# and Maiorana 1978). Duval's algorithm makes the words.
debruijn() {
    awk -v k="$1" -v n="$2" 'BEGIN {
        w[0] = -1
        for (len = 1; len > 0; ) {
            w[len - 1]++
            if (n % len == 0)
                for (i = 0; i < len; i++) printf "%s", substr("abcd", w[i] + 1, 1)
            for (i = len; i < n; i++) w[i] = w[i - len]
            for (len = n; len > 0 && w[len - 1] == k - 1; ) len--
        }
    }'
}

# repeat COMMAND... prints the command's output again and again, without end.
repeat() {
    "$@" >"$work/piece"
    while cat "$work/piece"; do :; done
}

letters() {
    head -c "$1" /dev/zero | tr '\0' a
}

# Prints two phrases in turn, each followed by a byte that varies.
phrases() {
    awk 'BEGIN {
        phrase[0] = "fourteen bytes"
        phrase[1] = "the phrase is repeated, forty bytes long"
        for (x = 1; ; x = x * 16807 % 2147483647)
            printf "%s%c", phrase[i++ % 2], 33 + x % 90
    }'
}

# endless CASE prints the data of this case until the reader stops. `yes` prints a newline after
# each copy, so a period is one byte longer than the string.
endless() {
    case $1 in
    zeros) cat /dev/zero ;;
    period2) yes a ;;
    period3) yes ab ;;
    runs*) yes "$(letters "${1#runs}")" ;;
    debruijn*) repeat debruijn "${1:8:1}" "${1#*-}" ;;
    lines) seq -f 'line %07.0f' inf ;;
    phrases) phrases ;;
    esac 2>/dev/null
}

# measure NAME prints the row for $work/in.
declare -A reference
below=0
measure() {
    local cells=("$1") bytes level i best speed ratio cell
    bytes=$(stat -c %s "$work/in")
    for level in $levels; do
        best=
        for ((i = 0; i < runs; i++)); do
            timed "${gzlzss[@]}" "-$level" -n -p "$threads" -c "$work/in"
            if [ -z "$best" ] || [ "$usec" -lt "$best" ]; then best=$usec; fi
        done
        verify "$work/in"
        # `speed` is in bytes for each millisecond. The speeds of the first row, which is for FILE,
        # are the reference.
        speed=$((bytes * 1000 / best))
        reference[$level]=${reference[$level]:-$speed}
        ratio=$((speed * 100 / reference[$level]))
        cell="$(rate "$bytes" "$best") $(printf '%d.%02d' $((ratio / 100)) $((ratio % 100)))"
        if [ "$ratio" -lt 20 ]; then
            cell+=" (!)"
            below=$((below + 1))
        fi
        cells+=("$cell")
    done
    row "${cells[@]}"
}

source=${1:-$corpora/linux200}
about "worst.sh: $mib MiB of each, $threads threads, best of $runs runs; MB/s, and ratio to ${source##*/}"
read -ra columns <<<"$levels"
header case "${columns[@]}"
head -c "${mib}M" "$source" >"$work/in"
measure "${source##*/}"
for case in $cases; do
    (set +o pipefail && endless "$case" | head -c "${mib}M" >"$work/in")
    [ -s "$work/in" ] || fail "could not make $case"
    measure "$case"
done
printf '\n%d below a fifth\n' "$below"
