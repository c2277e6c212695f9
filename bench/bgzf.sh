#!/bin/bash
# bgzf.sh - compares gzlzss --format=bgzf with bgzip: size and speed at each level, as Markdown
#
#   bench/bgzf.sh [-e "ENGINE..."] [-l "LEVEL..."] [-p THREADS] [-r RUNS] [FILE...]
#
# By default, the ENGINE is cpu, LEVELs are 1, 6 and 9, and FILEs are those of bench/corpora.sh. A
# cell has the size in bytes and the least wall time of RUNS runs (default 3), in seconds. The
# programs take turns. The last two columns have bgzip's size and time, divided by those of the
# first ENGINE: a ratio above 1 means that gzlzss is better. The last row of a table is for the
# decompression of bgzip's file to /dev/null. bgzip decompresses every output once, and the script
# compares the result with FILE. GZLZSS is the command to measure (default: ./gzlzss), and BGZIP is
# the bgzip to compare with (default: bgzip).
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"

bgzip=${BGZIP:-bgzip}
engines=cpu
levels="1 6 9"
threads=$cores
runs=3
while getopts e:l:p:r: option; do
    case $option in
    e) engines=$OPTARG ;;
    l) levels=$OPTARG ;;
    p) threads=$OPTARG ;;
    r) runs=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- "${corpus_files[@]}"
command -v "$bgzip" >/dev/null || fail "there is no $bgzip; BGZIP names the peer"

# compress ENGINE LEVEL FILE: compresses FILE once, by gzlzss with this engine, or by bgzip if
# ENGINE is "bgzip".
compress() {
    if [ "$1" = bgzip ]; then
        timed "$bgzip" -@ "$threads" -l "$2" -c "$3"
    else
        timed "${gzlzss[@]}" --format=bgzf --backend="$1" -p "$threads" "-$2" -c "$3"
    fi
}

# decompress ENGINE FILE: decompresses FILE once in the same way, to /dev/null.
decompress() {
    if [ "$1" = bgzip ]; then
        timed bash -c '"$@" >/dev/null' - "$bgzip" -@ "$threads" -dc "$2"
    else
        timed bash -c '"$@" >/dev/null' - "${gzlzss[@]}" --backend="$1" -p "$threads" -dc "$2"
    fi
}

# ratio A B: prints A / B.
ratio() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%.3f", a / b }'
}

# best ENGINE: keeps the time of the run that has just ended if it is the ENGINE's least time so
# far.
best() {
    if [ "$usec" -lt "${times[$1]:-$((usec + 1))}" ]; then times[$1]=$usec; fi
}

about "bgzf.sh: -p$threads, best of $runs runs; bytes and seconds" "$("$bgzip" --version | sed -n 1p)"
declare -A sizes times
for file; do
    cat "$file" >/dev/null
    printf '\n%s, %s bytes:\n' "${file##*/}" "$(stat -Lc %s "$file")"
    # shellcheck disable=SC2086 # There may be several engines.
    header level $engines bgzip size time
    for level in $levels -d; do
        sizes=() times=()
        for ((i = 0; i < runs; i++)); do
            for engine in $engines bgzip; do
                if [ "$level" = -d ]; then
                    decompress "$engine" "$work/packed.gz"
                    best "$engine"
                    continue
                fi
                compress "$engine" "$level" "$file"
                best "$engine"
                [ "$i" -eq 0 ] || continue
                sizes[$engine]=$(stat -c %s "$work/out")
                "$bgzip" -@ "$threads" -dc "$work/out" | cmp - "$file" || fail "wrong output"
                [ "$engine" != bgzip ] || mv "$work/out" "$work/packed.gz"
            done
        done
        cells=()
        for engine in $engines bgzip; do
            cells+=("${sizes[$engine]:+${sizes[$engine]} }$(ratio "${times[$engine]}" 1000000)")
        done
        first=${engines%% *}
        row "$level" "${cells[@]}" \
            "$([ "$level" = -d ] || ratio "${sizes[bgzip]}" "${sizes[$first]}")" \
            "$(ratio "${times[bgzip]}" "${times[$first]}")"
    done
done
