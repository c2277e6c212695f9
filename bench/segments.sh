#!/bin/bash
# segments.sh - size, speed and peak memory for several segment sizes (-b), as Markdown
#
#   bench/segments.sh [-b "KIB..."] [-p THREADS] [-r RUNS] [-l "LEVEL..."] [FILE...]
#
# By default, segments have 1024, 2048 and 4096 KIB, LEVELs are 1, 6, 9 and 12, and FILEs are those
# of bench/corpora.sh. A cell has the size in bytes, the speed in MB of input for each second of
# wall time, and the peak resident memory in MiB. The segment sizes take turns, RUNS times (default
# 3), and the best speed counts. The last table is for all files together. Its cells also have the
# difference in size from the first column, in millionths. gzip decompresses every output, and the
# script compares the result with FILE. GZLZSS is the command to measure, with options if needed
# (default: ./gzlzss). Needs GNU time.
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"
need_peak

segments="1024 2048 4096"
threads=$cores
runs=3
levels="1 6 9 12"
while getopts b:p:r:l: option; do
    case $option in
    b) segments=$OPTARG ;;
    p) threads=$OPTARG ;;
    r) runs=$OPTARG ;;
    l) levels=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- "${corpus_files[@]}"

about "segments.sh: -p$threads, best of $runs runs; size, MB/s, peak MiB"
columns=()
for b in $segments; do
    columns+=("-b $b")
done

# Arrays with "all" in their names have the numbers of all files together, by level and segment
# size. The other arrays have those of the current file, by segment size.
declare -A all_sizes all_times all_peaks sizes times peaks
all=0
for file; do
    bytes=$(stat -Lc %s "$file")
    all=$((all + bytes))
    cat "$file" >/dev/null
    printf '\n%s, %s bytes:\n' "${file##*/}" "$bytes"
    header level "${columns[@]}"
    for level in $levels; do
        sizes=() times=() peaks=()
        for ((i = 0; i < runs; i++)); do
            for b in $segments; do
                timed "${peak[@]}" "${gzlzss[@]}" "-$level" -n -b "$b" -p "$threads" -c "$file"
                kib=$(<"$work/peak")
                if [ "$i" -eq 0 ]; then
                    verify "$file"
                    sizes[$b]=$(stat -c %s "$work/out")
                fi
                if [ "$usec" -lt "${times[$b]:-$((usec + 1))}" ]; then times[$b]=$usec; fi
                if [ "$kib" -gt "${peaks[$b]:-0}" ]; then peaks[$b]=$kib; fi
            done
        done
        cells=("$level")
        for b in $segments; do
            key=$level,$b
            cells+=("${sizes[$b]}, $(rate "$bytes" "${times[$b]}"), $((peaks[$b] / 1024))")
            all_sizes[$key]=$((${all_sizes[$key]:-0} + sizes[$b]))
            all_times[$key]=$((${all_times[$key]:-0} + times[$b]))
            if [ "${peaks[$b]}" -gt "${all_peaks[$key]:-0}" ]; then all_peaks[$key]=${peaks[$b]}; fi
        done
        row "${cells[@]}"
    done
done

printf '\nAll files, %s bytes; size relative to the first column, in millionths:\n' "$all"
header level "${columns[@]}"
for level in $levels; do
    cells=("$level")
    base=${all_sizes[$level,${segments%% *}]}
    for b in $segments; do
        key=$level,$b
        cells+=("${all_sizes[$key]} ($(printf '%+d' $(((all_sizes[$key] - base) * 1000000 / base)))), \
$(rate "$all" "${all_times[$key]}"), $((all_peaks[$key] / 1024))")
    done
    row "${cells[@]}"
done
