#!/bin/bash
# small.sh - measures small inputs: one file of 1 KB, and many files of 4 KiB
#
#   bench/small.sh [-n FILES] [-r RUNS] [FILE]
#
# Measures wall time in two ways. First, the tools compress the first 1000 bytes of FILE (default:
# the kernel source of bench/corpora.sh). They take turns, 200 times, and the median counts. Second,
# the tools compress a directory (-r) of FILES files (default 20000) of 4096 bytes each, cut from
# FILE. They take turns, RUNS times (default 3), and the least time counts. GZLZSS is the command to
# measure (default: ./gzlzss).
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"

files=20000
runs=3
while getopts n:r: option; do
    case $option in
    n) files=$OPTARG ;;
    r) runs=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
file=${1:-$corpora/linux200}
[ -r "$file" ] || fail "cannot read $file"

tools=("${gzlzss[*]}" gzip)
command -v pigz >/dev/null && tools+=(pigz)

about "small.sh"

head -c 1000 "$file" >"$work/small"
declare -A times
for ((i = 0; i < 200; i++)); do
    for tool in "${tools[@]}"; do
        read -ra words <<<"$tool"
        timed "${words[@]}" -c "$work/small"
        times[$tool]+="$usec "
    done
done
header "1000 bytes" "median, ms"
for tool in "${tools[@]}"; do
    row "$tool" "$(tr ' ' '\n' <<<"${times[$tool]% }" | sort -n | sed -n 100p |
        awk '{ printf "%.2f", $1 / 1000 }')"
done

mkdir "$work/files"
head -c $((files * 4096)) "$file" | (cd "$work/files" && split -a 6 -d -b 4096 - f)
for ((i = 0; i < files; i += 500)); do
    mkdir "$work/files/$((i / 500))"
    for ((k = i; k < i + 500 && k < files; k++)); do
        printf '%s\0' "$work/files/f$(printf %06d "$k")"
    done | xargs -0 mv -t "$work/files/$((i / 500))"
done
declare -A best
lines=("${gzlzss[*]} -r" "${gzlzss[*]} -p1 -r" "gzip -r")
command -v pigz >/dev/null && lines+=("pigz -r")
for ((i = 0; i < runs; i++)); do
    for line in "${lines[@]}"; do
        read -ra words <<<"$line"
        rm -rf "$work/now"
        cp -r "$work/files" "$work/now"
        timed "${words[@]}" "$work/now"
        [ "$(find "$work/now" -name '*.gz' | wc -l)" -eq "$files" ] || fail "$line left files out"
        if [ -z "${best[$line]:-}" ] || [ "$usec" -lt "${best[$line]}" ]; then
            best[$line]=$usec
        fi
    done
done
header "$files files of 4 KiB" "s, best of $runs" "times as fast as gzip -r"
for line in "${lines[@]}"; do
    row "$line" "$(awk -v us="${best[$line]}" -v gzip="${best[gzip -r]}" \
        'BEGIN { printf "%.2f | %.2f", us / 1e6, gzip / us }')"
done
