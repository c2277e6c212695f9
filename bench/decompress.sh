#!/bin/bash
# decompress.sh - decompression: each kind of .gz, by several numbers of threads, beside its peers
#
#   bench/decompress.sh [-o DIR] [-p "THREADS..."] [-r RUNS] [FILE]
#
# FILE (default: the kernel source of bench/corpora.sh) is compressed by whichever of gzlzss, pigz,
# pigz -i, gzip, igzip, zopfli and bgzip are there; gzip's output also comes six times over, as members.
# The peers are igzip, gzip, pigz and, where Python finds it, rapidgzip, with -P.  Each is timed RUNS times
# (default 5), all in turn, with the output going to /dev/null and to a file in memory; a table shows the
# medians in GB of output a second.  Another says how fast pwrite alone fills such a file, and what
# as many igzip do at the same time, each with a file of its own: what the machine can do at most.  The
# last is peak memory, in MiB.  With -o, DIR/decompress.csv has the medians, too, from which
# bench/plot.sh DIR draws speed against threads.  GZLZSS names the command to measure (default:
# ./gzlzss).  Needs GNU time.
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"
need_peak

threads="1 2 4 8 16"
runs=5
csv=/dev/null
while getopts o:p:r: option; do
    case $option in
    o)
        mkdir -p "$OPTARG"
        csv=$OPTARG/decompress.csv
        ;;
    p) threads=$OPTARG ;;
    r) runs=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
file=${1:-$corpora/linux200}
[ -r "$file" ] || fail "cannot read $file"

# make NAME COMMAND...: $work/NAME.gz from the command's output, if there is such a command.
kinds=()
make() {
    local name=$1
    shift
    command -v "$1" >/dev/null || return 0
    "$@" >"$work/$name.gz"
    kinds+=("$name")
}

make gzlzss-6 "${gzlzss[@]}" -6 -nc "$file"
make pigz-i-6 pigz -i -6 -nc "$file"
make pigz-6 pigz -6 -nc "$file"
make gzip-6 gzip -6 -nc "$file"
make igzip-1 igzip -1 -nc "$file"
make bgzip bgzip -c "$file"
if [ "$(stat -Lc %s "$file")" -le 20000000 ]; then
    make zopfli zopfli --i1 -c "$file"
fi
for _ in 1 2 3 4 5 6; do
    cat "$work/gzip-6.gz"
done >"$work/members.gz"
kinds+=(members)

# The tools: a name, and what runs it.  FILE stands for the input.
tools=()
for p in $threads; do
    tools+=("${gzlzss[*]} -p$p -dc FILE")
done
tools+=("gzip -dc FILE")
if command -v igzip >/dev/null; then
    tools+=("igzip -dc FILE")
fi
if command -v pigz >/dev/null; then
    tools+=("pigz -dc FILE")
fi
if python3 -c 'import rapidgzip' 2>/dev/null; then
    for p in $threads; do
        tools+=("python3 -c import(\"rapidgzip\").cli() -P$p -dc FILE")
    done
fi

# command_of TOOL NAME: the words of a tool's command for an input, in `words`.
command_of() {
    read -ra words <<<"${1/FILE/$work/$2.gz}"
    local i
    for i in "${!words[@]}"; do
        if [[ ${words[i]} == import* ]]; then
            words[i]='import sys, rapidgzip; sys.exit(rapidgzip.cli())'
        fi
    done
}

# name_of TOOL, as the tables have it.
name_of() {
    local name=${1% -dc FILE}
    [[ $name != python3* ]] || name="rapidgzip ${name##* }"
    echo "${name##*/}"
}

# median TIME..., of microseconds.
median() {
    printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
}

# gigabytes BYTES MICROSECONDS: in GB/s.
gigabytes() {
    awk -v b="$1" -v t="$2" 'BEGIN { printf "%.2f", b / t / 1000 }'
}

echo "file,kind,tool,threads,GB/s to /dev/null,GB/s to a file" >"$csv"
about "decompress.sh: GB/s of output, medians of $runs, of ${file##*/}, $(stat -Lc %s "$file") bytes"
for kind in "${kinds[@]}"; do
    size=$(stat -Lc %s "$file")
    [ "$kind" != members ] || size=$((6 * size))
    declare -A null=() memory=()
    for ((i = 0; i < runs; i++)); do
        for tool in "${tools[@]}"; do
            command_of "$tool" "$kind"
            start=${EPOCHREALTIME/[.,]/}
            "${words[@]}" >/dev/null
            null[$tool]+=" $((${EPOCHREALTIME/[.,]/} - start))"
            rm -f "$work/out"
            timed "${words[@]}"
            memory[$tool]+=" $usec"
        done
    done
    # The last output of each tool is right if that of the last tool is, and that of ours.
    if [ "$kind" != members ]; then
        cmp "$work/out" "$file" || fail "$kind: ${words[*]} is wrong"
        "${gzlzss[@]}" -dc "$work/$kind.gz" | cmp - "$file" || fail "$kind: gzlzss is wrong"
    fi
    header "$kind" "to /dev/null" "to a file" "peak MiB"
    for tool in "${tools[@]}"; do
        command_of "$tool" "$kind"
        "${peak[@]}" "${words[@]}" >/dev/null
        name=$(name_of "$tool")
        # shellcheck disable=SC2086 # They are several.
        fast=$(gigabytes "$size" "$(median ${null[$tool]})")
        # shellcheck disable=SC2086
        slow=$(gigabytes "$size" "$(median ${memory[$tool]})")
        row "$name" "$fast" "$slow" "$(($(<"$work/peak") / 1024))"
        [[ $name =~ -[pP]([0-9]+)$ ]] && p=${BASH_REMATCH[1]} || p=1
        echo "${file##*/},$kind,${name%% *},$p,$fast,$slow" >>"$csv"
    done
done

header "the machine" "GB/s"
rm -f "$work/out"
timed dd if=/dev/zero bs=1M count=1000 status=none
row "dd alone, into a file" "$(gigabytes $((1000 << 20)) "$usec")"
if command -v igzip >/dev/null; then
    for p in $threads; do
        start=${EPOCHREALTIME/[.,]/}
        for ((i = 0; i < p; i++)); do
            igzip -dc "$work/gzlzss-6.gz" >/dev/null &
        done
        wait
        row "$p igzip, one file each" \
            "$(gigabytes $((p * $(stat -Lc %s "$file"))) $((${EPOCHREALTIME/[.,]/} - start)))"
    done
fi
