#!/bin/bash
# levels.sh - size and speed of every level, beside gzip, pigz and libdeflate-gzip, as Markdown
#
#   bench/levels.sh [-p THREADS] [-r RUNS] [-l "LEVEL..."] [FILE...]
#
# FILEs are those of bench/corpora.sh by default.  GZLZSS names the command to measure (default:
# ./gzlzss).  The tools take turns, RUNS times (default 3), each file first read once, output to a
# file in memory (/dev/shm); the best time counts.  gzip and libdeflate-gzip have one thread.  Speed is
# in MB of input a second of wall time.  Every output is decompressed by gzip and compared.
set -euo pipefail

threads=$(getconf _NPROCESSORS_ONLN)
runs=3
levels="1 2 3 4 5 6 7 8 9"
while getopts p:r:l: option; do
    case $option in
    p) threads=$OPTARG ;;
    r) runs=$OPTARG ;;
    l) levels=$OPTARG ;;
    *) exit 1 ;;
    esac
done
shift $((OPTIND - 1))

gzlzss=${GZLZSS:-./gzlzss}
if [ $# -eq 0 ]; then
    dir=${GZLZSS_CORPORA:-${XDG_CACHE_HOME:-$HOME/.cache}/gzlzss-corpora}
    set -- "$dir"/{linux200,gcc.tar,cldr.tar,gcide,wordnet.tar,lib.tar}
fi
out=$(mktemp /dev/shm/levels.XXXXXX)
trap 'rm -f "$out"' EXIT

# run NAME COMMAND...: its output's size in sizes[NAME], its best time in times[NAME], microseconds.
declare -A sizes times
run() {
    local name=$1 start end
    shift
    start=${EPOCHREALTIME/[.,]/}
    "$@" >"$out"
    end=${EPOCHREALTIME/[.,]/}
    if [ -z "${sizes[$name]-}" ]; then
        gzip -dc <"$out" | cmp - "$file"
        sizes[$name]=$(stat -c %s "$out")
        times[$name]=$((end - start))
    elif [ $((end - start)) -lt "${times[$name]}" ]; then
        times[$name]=$((end - start))
    fi
}

tools=("gzlzss -p$threads" "pigz -p$threads" gzip libdeflate-gzip)
for file; do
    bytes=$(stat -c %s "$file")
    cat "$file" >/dev/null
    echo
    echo "$(basename "$file"), $bytes bytes; size, and MB/s:"
    echo
    printf '| level |'
    printf ' %s |' "${tools[@]}"
    printf '\n|---|'
    printf -- '---|%.0s' "${tools[@]}"
    echo
    for level in $levels; do
        sizes=()
        times=()
        for ((i = 0; i < runs; i++)); do
            for tool in "${tools[@]}"; do
                case $tool in
                gzlzss*) run "$tool" "$gzlzss" "-$level" -n -p "$threads" -c "$file" ;;
                pigz*) run "$tool" pigz "-$level" -n -p "$threads" -c "$file" ;;
                gzip) [ "$level" -gt 9 ] || run "$tool" gzip "-$level" -n -c "$file" ;;
                *) run "$tool" "$tool" "-$level" -c "$file" ;;
                esac
            done
        done
        printf '| %s |' "$level"
        for tool in "${tools[@]}"; do
            if [ -n "${sizes[$tool]-}" ]; then
                printf ' %s, %s |' "${sizes[$tool]}" $((bytes / times[$tool]))
            else
                printf ' - |'
            fi
        done
        echo
    done
done
