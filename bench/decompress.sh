#!/bin/bash
# decompress.sh - compares gzlzss with its peers in decompression, for each kind of .gz file, with
# several numbers of threads
#
#   bench/decompress.sh [-o DIR] [-p "THREADS..."] [-r RUNS] [FILE]
#
# Makes several kinds of .gz file from FILE (default: the kernel source of bench/corpora.sh).
# gzlzss, pigz, pigz -i, gzip, igzip, bgzip and zopfli each make one kind, if they are installed;
# zopfli does so only if FILE has at most 20 MB. The kind "members" is six copies of gzip's output,
# so it has six members. The peers are igzip, gzip, pigz and rapidgzip -P (if Python finds it).
#
# The tools take turns, RUNS times (default 5). Each time, a tool writes once to /dev/null, and once
# to a file in memory. The table for a kind shows the medians of these two speeds, in GB of output
# for each second, and the peak memory in MiB. The last table shows the machine's limits. Its first
# row is the speed of dd, which writes zeros to a file in memory. The other rows are for igzip.
# There is a row for each number of THREADS: that many igzip processes run side by side, and write
# to /dev/null. With -o, DIR/decompress.csv also gets the medians; bench/plot.sh DIR then draws
# speed against threads. GZLZSS is the command to measure (default: ./gzlzss). Needs GNU time.
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

# make NAME COMMAND... writes the command's output to $work/NAME.gz. It does nothing if the command
# is not installed.
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

# The commands of all tools. The word FILE in a command stands for the input.
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

# command_of TOOL NAME sets $words to the tool's command for the input $work/NAME.gz.
command_of() {
    read -ra words <<<"${1/FILE/$work/$2.gz}"
    local i
    for i in "${!words[@]}"; do
        if [[ ${words[i]} == import* ]]; then
            words[i]='import sys, rapidgzip; sys.exit(rapidgzip.cli())'
        fi
    done
}

# name_of TOOL prints the tool's name for the tables.
name_of() {
    local name=${1% -dc FILE}
    [[ $name != python3* ]] || name="rapidgzip ${name##* }"
    echo "${name##*/}"
}

# median TIME... prints the median.
median() {
    printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
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
    # To save time, check only two outputs: that of the last tool, and that of gzlzss.
    if [ "$kind" != members ]; then
        cmp "$work/out" "$file" || fail "$kind: ${words[*]} is wrong"
        "${gzlzss[@]}" -dc "$work/$kind.gz" | cmp - "$file" || fail "$kind: gzlzss is wrong"
    fi
    header "$kind" "to /dev/null" "to a file" "peak MiB"
    for tool in "${tools[@]}"; do
        command_of "$tool" "$kind"
        "${peak[@]}" "${words[@]}" >/dev/null
        name=$(name_of "$tool")
        # shellcheck disable=SC2086 # The shell has to split the list of times.
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
