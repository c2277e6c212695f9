#!/bin/bash
# gpu_decompress.sh - compares decompression of .gz files by a GPU with nvCOMP, with gzlzss on the
# cores, and with rapidgzip
#
#   bench/gpu_decompress.sh [-o DIR] [-P PART,...] [-k "KIND..."] [-p "THREADS..."] [-r RUNS] [-l]
#                           [-s BYTES] [-d DIR] [-T SECONDS] [FILE...]
#
# FILEs are uncompressed files (default: those files of bench/corpora.sh that exist). Prints a table
# for each PART and FILE. The script measures these PARTs (default: all):
#
#   inflate   bench/gpu_inflate on each KIND of .gz file made from FILE, from the GPU's memory to
#             the GPU's memory
#   nvcomp    bench/nvcomp_inflate, timed in the same way, if that program was built. It
#             decompresses FILE in chunks of 64 KiB to 2 MiB, each of which is a stream; the file of
#             KIND gzip-6; and the members of the file of KIND bgzf
#   sizes     bench/gpu_inflate on the first 1, 3, 10, ... MB of the first FILE, up to BYTES (-s,
#             default 300M, at most 10G), in the KINDs gzip-6, pigz-6, bgzf and gzlzss-6. If FILE is
#             smaller than a size, the input is ten copies, as members, of the .gz for a tenth of
#             that size.
#   commands  wall time of gzlzss -t, of gzlzss -dc to /dev/null, and of rapidgzip -P (if Python
#             finds it), with each number of THREADS (-p, default "4 16"). gzlzss runs with each
#             --backend. The inputs are the files of KINDs gzip-6, bgzf and gzlzss-6. With -l, 3
#             copies and 27 copies of each file, as members, are inputs, too. All commands take
#             turns, RUNS times (-r, default 3), and the least time of each counts. A command that
#             takes more than 1 s runs once.
#
# KINDs (-k, all by default): gzip-1, gzip-6, gzip-9, pigz-6, pigz-i-6 (pigz -i), igzip-1,
# libdeflate-6, libdeflate-12, zopfli, bgzf (bgzip or bench/python_gz.py), python-zlib, gzlzss-1,
# gzlzss-6 and gzlzss-12. A KIND is left out if the program that makes it is not installed.
# libdeflate-12 gets the first 100 MB of a FILE, and zopfli the first 10 MB. Programs that have one
# thread run side by side.
#
# The script makes the .gz files in memory or, with -d, in that DIR, where they stay for later
# calls. It leaves out copies that would fill the free space or half of the memory. No measurement
# begins later than SECONDS (-T) after the start. With -o, the script writes gpu_inflate.csv,
# gpu_sizes.csv and gpu_commands.csv into that DIR, but only those of the measured parts;
# bench/plot.sh DIR draws the speed against the size.
#
# GZLZSS, GPU_INFLATE and NVCOMP_INFLATE are the programs to measure (default: ./gzlzss,
# bench/gpu_inflate and bench/nvcomp_inflate in the current directory).
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"

gpu_inflate=${GPU_INFLATE:-bench/gpu_inflate}
nvcomp_inflate=${NVCOMP_INFLATE:-bench/nvcomp_inflate}
parts=inflate,nvcomp,sizes,commands
kinds="gzip-1 gzip-6 gzip-9 pigz-6 pigz-i-6 igzip-1 libdeflate-6 libdeflate-12 zopfli bgzf
    python-zlib gzlzss-1 gzlzss-6 gzlzss-12"
threads="4 16"
runs=3
copies="1"
limit=300M
dir=$work
total=1000000
out=
while getopts o:P:k:p:r:ls:d:T: option; do
    case $option in
    o) out=$OPTARG ;;
    P) parts=$OPTARG ;;
    k) wanted_kinds=$OPTARG ;;
    p) threads=$OPTARG ;;
    r) runs=$OPTARG ;;
    l) copies="1 3 27" ;;
    s) limit=$OPTARG ;;
    d) dir=$OPTARG ;;
    T) total=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
limit=$(numfmt --from=auto "$limit") || usage

# is_in WORD LIST: whether the word is in the list, which has blanks between words.
is_in() {
    [[ " ${2//[[:space:]]/ } " == *" $1 "* ]]
}

for kind in ${wanted_kinds-}; do
    is_in "$kind" "$kinds" || fail "there is no kind $kind"
done
kinds=${wanted_kinds-$kinds}
parts=${parts//,/ }
for part in $parts; do
    is_in "$part" "inflate nvcomp sizes commands" || fail "there is no part $part"
done
has_part() {
    is_in "$1" "$parts"
}

files=("$@")
if [ $# -eq 0 ]; then
    for file in "${corpus_files[@]}"; do
        [ ! -r "$file" ] || files+=("$file")
    done
    [ ${#files[@]} -gt 0 ] || fail "there is no file of bench/corpora.sh"
fi

# name_of FILE prints the name of FILE for tables and for .gz files.
name_of() {
    local name=${1##*/}
    echo "${name//[^A-Za-z0-9._-]/_}"
}
names=
for file in "${files[@]}"; do
    if [ ! -r "$file" ] || [ ! -f "$file" ]; then
        fail "cannot read $file"
    fi
    name=$(name_of "$file")
    ! is_in "$name" "$names" || fail "two files have the name $name"
    names+=" $name"
done

if has_part inflate || has_part sizes; then
    command -v "$gpu_inflate" >/dev/null ||
        fail "there is no $gpu_inflate (make bench/gpu_inflate); GPU_INFLATE names it"
fi
echo x | "${gzlzss[@]}" --backend=gpu 2>"$work/errors" >/dev/null ||
    fail "$(sed -n 's/^[^:]*: //; 1p' "$work/errors")"
mkdir -p "$dir"

# begin_csv NAME COLUMN,... makes the file NAME in the directory of -o, with a heading, and sets
# $csv to its path. Without -o, sets $csv to /dev/null.
begin_csv() {
    csv=/dev/null
    [ -n "$out" ] || return 0
    mkdir -p "$out"
    csv=$out/$1
    echo "$2" >"$csv"
}

# problem TEXT prints an error. The script goes on, but will end with status 1.
status=0
problem() {
    echo "${0##*/}: $1" >&2
    status=1
}

# late succeeds if the time limit (-T) is over, and adds a note about that. The script prints all
# notes at its end.
notes=()
is_late=
late() {
    [ "$SECONDS" -ge "$total" ] || return 1
    [ -n "$is_late" ] || notes+=("Left out: what would have begun more than $total s after the start.")
    is_late=1
}

# megabytes BYTES prints MB with one decimal.
megabytes() {
    decimal $(($1 / 100000))
}

# --- The .gz files --------------------------------------------------------------------------------

# of_one_thread has the kinds that are made by programs with one thread; the slowest comes first.
# of_all_cores has the kinds that are made by programs that use all cores.
of_one_thread="zopfli libdeflate-12 gzip-9 gzip-6 python-zlib libdeflate-6 gzip-1 igzip-1"
of_all_cores="pigz-6 pigz-i-6 bgzf gzlzss-1 gzlzss-6 gzlzss-12"

# has_program KIND succeeds if a program that makes this kind is installed.
has_program() {
    case $1 in
    gzlzss-*) true ;;
    bgzf) command -v bgzip || command -v python3 ;;
    python-zlib) command -v python3 ;;
    libdeflate-*) command -v libdeflate-gzip ;;
    zopfli) command -v zopfli || command -v pigz ;;
    *) command -v "${1%%-*}" ;;
    esac >/dev/null
}

# compress KIND FILE writes FILE, compressed as this kind, to standard output.
compress() {
    local level=-${1##*-}
    case $1 in
    gzip-*) gzip "$level" -nc "$2" ;;
    pigz-i-*) pigz -i "$level" -nc "$2" ;;
    pigz-*) pigz "$level" -nc "$2" ;;
    igzip-*) igzip "$level" -nc "$2" ;;
    libdeflate-*) libdeflate-gzip "$level" -c "$2" ;;
    python-zlib) python3 "$here/python_gz.py" "$2" ;;
    gzlzss-*) "${gzlzss[@]}" "$level" -nc "$2" ;;
    zopfli)
        if command -v zopfli >/dev/null; then
            zopfli --i1 -c "$2"
        else
            pigz -11 -I 1 -p 1 -nc "$2" # pigz contains zopfli.
        fi
        ;;
    bgzf)
        if command -v bgzip >/dev/null; then
            bgzip -@ "$cores" -c "$2"
        else
            python3 "$here/python_gz.py" --bgzf "$2"
        fi
        ;;
    esac
}

# first MB FILE sets $input to a file with the first MB megabytes of FILE. If FILE is not larger,
# sets $input to FILE.
first() {
    input=$2
    [ "$(stat -Lc %s "$2")" -gt $(($1 * 1000000)) ] || return 0
    input=$dir/$(name_of "$2").$1MB
    [ -f "$input" ] || head -c $(($1 * 1000000)) "$2" >"$input"
}

# want KIND FILE tells make_all to make a .gz of this kind from FILE, and sets $gz to its name.
# Returns 1 if no program that makes this kind is installed. original[GZ] is the file to compress,
# kind_of[GZ] is the kind, and bytes_of[GZ] is the size of the decompressed data.
declare -A original=() kind_of=() bytes_of=()
want() {
    has_program "$1" || return 1
    gz=$dir/$(name_of "$2").$1.gz
    original[$gz]=$2
    kind_of[$gz]=$1
    bytes_of[$gz]=$(stat -Lc %s "$2")
}

# want_part KIND FILE does the same as want. But if a slow program makes this kind, the .gz is made
# from the first megabytes of FILE only.
want_part() {
    case $1 in
    zopfli) first 10 "$2" ;;
    libdeflate-12) first 100 "$2" ;;
    *) input=$2 ;;
    esac
    want "$1" "$input"
}

make_one() {
    compress "${kind_of[$1]}" "${original[$1]}" >"$1.new" && mv "$1.new" "$1"
}

# missing KIND sets $gzs to the files of this kind that were wanted and do not exist yet.
missing() {
    local gz
    gzs=()
    for gz in "${!kind_of[@]}"; do
        if [ "${kind_of[$gz]}" = "$1" ] && [ ! -f "$gz" ]; then
            gzs+=("$gz")
        fi
    done
}

make_all() {
    local kind gz pid gzs pids=()
    for kind in $of_one_thread; do
        missing "$kind"
        for gz in "${gzs[@]}"; do
            while [ "$(jobs -rp | wc -l)" -ge "$cores" ]; do
                wait -n || true # The status is asked for below.
            done
            make_one "$gz" &
            pids+=($!)
        done
    done
    for pid in "${pids[@]}"; do
        wait "$pid" || fail "a program that compresses has failed"
    done
    for kind in $of_all_cores; do
        missing "$kind"
        for gz in "${gzs[@]}"; do
            make_one "$gz" || fail "$kind has failed"
        done
    done
}

# has_room BYTES succeeds if DIR has space for a .gz of this size, and the memory has space for two
# of them.
has_room() {
    local space memory
    space=$(df -B 1 --output=avail "$dir" | sed 1d)
    memory=$(awk '/^MemAvailable:/ { printf "%.0f", $2 * 1024 }' /proc/meminfo)
    [ "$1" -lt "$space" ] && [ $((2 * $1)) -lt "$memory" ]
}

# repeat N GZ TO writes N copies of GZ, as members, to TO. Returns 1 if there is no space for the
# copies.
repeat() {
    local i
    has_room $(($1 * $(stat -c %s "$2"))) || return 1
    for ((i = 0; i < $1; i++)); do
        cat "$2"
    done >"$3"
    bytes_of[$3]=$(($1 * ${bytes_of[$2]}))
}

# --- From the GPU's memory to the GPU's memory ----------------------------------------------------

# inflate PROGRAM ARG... runs gpu_inflate or nvcomp_inflate. For each line of output, sets lines[I]
# to "FILE|BYTES|OUT_BYTES|GB/s|MS|DETAILS". If the line has no result, sets lines[I] to
# "FILE|BYTES|-|-|-|WHY".
inflate() {
    local line IFS='|'
    local good='^(.*[^ ]) +([0-9]+) +([0-9]+) +([0-9.]+) GB/s +([0-9.]+) ms: (.*)$'
    local bad='^(.*[^ ]) +([0-9]+)  (left|failed:) (.*)$'
    lines=()
    # Status 2 of nvcomp_inflate means that a line says "failed".
    "$@" >"$work/lines" || [ $? -eq 2 ] || problem "${1##*/} has failed"
    while IFS= read -r line; do
        if [[ $line =~ $good ]]; then
            line="${BASH_REMATCH[*]:1:6}"
        elif [[ $line =~ $bad ]]; then
            line="${BASH_REMATCH[1]}|${BASH_REMATCH[2]}|-|-|-|${BASH_REMATCH[3]} ${BASH_REMATCH[4]}"
        else
            problem "${1##*/}: $line"
            continue
        fi
        lines+=("${line//,/;}")
    done <"$work/lines"
}

# is_size FILE BYTES succeeds if the decompressed data of FILE must have BYTES bytes. Otherwise, it
# prints an error.
is_size() {
    [ "$2" = "${bytes_of[$1]}" ] && return
    problem "${1##*/} became $2 bytes, not ${bytes_of[$1]}"
    return 1
}

# show LINE KIND TOOL prints a row of the table for LINE, one of $lines, and adds the row to the CSV
# file.
show() {
    local gz bytes made speed ms details
    IFS='|' read -r gz bytes made speed ms details <<<"$1"
    if [ "$made" = - ]; then
        row "$2" "$3" "$(megabytes "$bytes")" - - "$details"
        return
    fi
    is_size "$gz" "$made" || return 0
    row "$2" "$3" "$(megabytes "$bytes")" "$(megabytes "$made")" "$speed" "$ms"
    echo "$name,$2,$bytes,$made,$3,$speed,$ms,$details" >>"$csv"
}

# inflate_part FILE prints the rows of gpu_inflate.
inflate_part() {
    local kind line gzs=()
    for kind in $kinds; do
        if want_part "$kind" "$1"; then
            gzs+=("$gz")
        fi
    done
    [ ${#gzs[@]} -gt 0 ] || return 0
    inflate "$gpu_inflate" "${gzs[@]}"
    for line in "${lines[@]}"; do
        show "$line" "${kind_of[${line%%|*}]}" gpu_inflate
    done
}

# nvcomp_part FILE prints the rows of nvcomp_inflate.
nvcomp_part() {
    local kind line text gzs=()
    bytes_of[$1]=$(stat -Lc %s "$1")
    inflate "$nvcomp_inflate" -c 65536 -c 131072 -c 524288 -c 2097152 "$1"
    for line in "${lines[@]}"; do
        text=${line##*chunks of }
        show "$line" "chunks-${text%%[^0-9]*}" nvcomp-deflate
    done
    for kind in gzip-6 bgzf; do
        if is_in "$kind" "$kinds" && want "$kind" "$1"; then
            gzs+=("$gz")
        fi
    done
    if [ ${#gzs[@]} -eq 0 ] || late; then
        return 0
    fi
    inflate "$nvcomp_inflate" "${gzs[@]}"
    for line in "${lines[@]}"; do
        text=${line##*gzip }
        show "$line" "${kind_of[${line%%|*}]}" "nvcomp-gzip-${text%%[^a-z]*}"
    done
}

# --- Speed against size ---------------------------------------------------------------------------

sizes=() # in MB
for size in 1 3 10 30 100 300 1000 3000 10000; do
    [ $((size * 1000000)) -gt "$limit" ] || sizes+=("$size")
done

# want_size KIND MB tells make_all to make a .gz of this kind from the first MB megabytes of the
# first FILE, and sets $gz to its name. Returns 1 if FILE is smaller, or if no program that makes
# this kind is installed.
want_size() {
    [ "$(stat -Lc %s "${files[0]}")" -ge $(($2 * 1000000)) ] || return 1
    first "$2" "${files[0]}"
    want "$1" "$input"
}

# size_row KIND prints the row of this kind in the table of the part "sizes".
size_row() {
    local size line gz bytes made speed ms details gzs=() large=() cells=()
    local -A of_size=() speeds=()
    for size in "${sizes[@]}"; do
        if ! want_size "$1" "$size"; then
            [ -n "${of_size[$((size / 10))]-}" ] || continue
            gz=$dir/$name.${size}MB.$1.copies.gz
            if ! repeat 10 "${of_size[$((size / 10))]}" "$gz"; then
                notes+=("Left out, for lack of space: $size MB as $1.")
                continue
            fi
            large+=("$gz")
        fi
        of_size[$size]=$gz
        gzs+=("$gz")
    done
    [ ${#gzs[@]} -gt 0 ] || return 0
    inflate "$gpu_inflate" "${gzs[@]}"
    rm -f "${large[@]}"
    for line in "${lines[@]}"; do
        IFS='|' read -r gz bytes made speed ms details <<<"$line"
        if [ "$made" = - ]; then
            notes+=("${gz##*/}: $details.")
        elif is_size "$gz" "$made"; then
            speeds[$((made / 1000000))]=$speed
            echo "$name,$1,$bytes,$made,$speed,$ms" >>"$csv"
        fi
    done
    for size in "${sizes[@]}"; do
        cells+=("${speeds[$size]:--}")
    done
    row "$1" "${cells[@]}"
}

# --- Commands -------------------------------------------------------------------------------------

tools=("-t cpu" "-t auto" "-t gpu" "-dc cpu" "-dc auto" "-dc gpu")
if has_part commands && python3 -c 'import rapidgzip' 2>/dev/null; then
    tools+=("-dc rapidgzip")
fi

# command_of TOOL THREADS GZ sets $words to the command that decompresses GZ with this tool and this
# number of threads.
command_of() {
    if [ "$1" = "-dc rapidgzip" ]; then
        words=(python3 -c 'import sys, rapidgzip; sys.exit(rapidgzip.cli())' "-P$2" -dc "$3")
    else
        words=("${gzlzss[@]}" "${1% *}" "--backend=${1#* }" "-p$2" "$3")
    fi
}

# time_commands GZ runs all tools on GZ, with each number of threads. It sets least[THREADS TOOL] to
# the least wall time in microseconds.
declare -A least
time_commands() {
    local i p tool start usec
    least=()
    for ((i = 0; i < runs; i++)); do
        for p in $threads; do
            for tool in "${tools[@]}"; do
                [ "${least[$p $tool]:-0}" -le 1000000 ] || continue
                ! late || return 0
                command_of "$tool" "$p" "$1"
                start=${EPOCHREALTIME/[.,]/}
                if ! "${words[@]}" >/dev/null 2>"$work/errors"; then
                    problem "${words[*]} has failed: $(sed -n 1p "$work/errors")"
                    continue
                fi
                usec=$((${EPOCHREALTIME/[.,]/} - start))
                [ "$usec" -ge "${least[$p $tool]:-$((usec + 1))}" ] || least[$p $tool]=$usec
            done
        done
    done
}

# command_rows KIND COPIES prints the rows for this number of copies of the .gz of this kind: one
# row for each number of threads.
command_rows() {
    local p tool usec seconds cells gz one
    want "$1" "$file" || return 0
    if [ "$2" -gt 1 ]; then
        one=$gz
        gz=$dir/$name.$1.copies.gz
        if ! repeat "$2" "$one" "$gz"; then
            notes+=("Left out, for lack of space: $2 copies of $name as $1.")
            return
        fi
    fi
    time_commands "$gz"
    for p in $threads; do
        cells=()
        for tool in "${tools[@]}"; do
            usec=${least[$p $tool]-}
            if [ -z "$usec" ]; then
                cells+=(-)
                continue
            fi
            seconds=$(printf '%d.%03d' $((usec / 1000000)) $((usec / 1000 % 1000)))
            cells+=("$seconds")
            echo "$name,$1,$2,$(stat -c %s "$gz"),${bytes_of[$gz]},$p,${tool/ /,},$seconds,$(
                gigabytes "${bytes_of[$gz]}" "$usec"
            )" >>"$csv"
        done
        row "$name" "$1" "$2" "$(megabytes "${bytes_of[$gz]}")" "$p" "${cells[@]}"
    done
    [ "$2" -eq 1 ] || rm -f "$gz"
}

# --- The parts ------------------------------------------------------------------------------------

# those_of KIND... prints each of these KINDs that the user has chosen (-k).
those_of() {
    local kind
    for kind; do
        ! is_in "$kind" "$kinds" || echo "$kind"
    done
}
size_kinds=$(those_of gzip-6 pigz-6 bgzf gzlzss-6)
command_kinds=$(those_of gzip-6 bgzf gzlzss-6)

if has_part nvcomp && ! command -v "$nvcomp_inflate" >/dev/null; then
    echo "nvCOMP is left out: there is no $nvcomp_inflate."
    parts=${parts/nvcomp/}
fi
for file in "${files[@]}"; do
    if has_part inflate; then
        for kind in $kinds; do
            want_part "$kind" "$file" || true
        done
    fi
    if has_part nvcomp; then
        for kind in $(those_of gzip-6 bgzf); do
            want "$kind" "$file" || true
        done
    fi
    if has_part commands; then
        for kind in $command_kinds; do
            want "$kind" "$file" || true
        done
    fi
done
if has_part sizes; then
    for kind in $size_kinds; do
        for size in "${sizes[@]}"; do
            want_size "$kind" "$size" || true
        done
    done
fi
make_all

about "gpu_decompress.sh" "on $("${gzlzss[@]}" --list-devices | sed -n 1p)"
if has_part inflate || has_part nvcomp; then
    begin_csv gpu_inflate.csv file,kind,bytes,out_bytes,tool,GB/s,ms,details
    for file in "${files[@]}"; do
        ! late || break
        name=$(name_of "$file")
        header "$name as" tool ".gz MB" MB GB/s ms
        ! has_part inflate || inflate_part "$file"
        ! has_part nvcomp || late || nvcomp_part "$file"
    done
fi
if has_part sizes && ! late; then
    begin_csv gpu_sizes.csv file,kind,bytes,out_bytes,GB/s,ms
    name=$(name_of "${files[0]}")
    header "GB/s of $name as" "${sizes[@]/%/ MB}"
    for kind in $size_kinds; do
        late || size_row "$kind"
    done
fi
if has_part commands && ! late; then
    begin_csv gpu_commands.csv file,kind,copies,bytes,out_bytes,threads,command,backend,seconds,GB/s
    header file kind copies MB threads "${tools[@]/%/, s}"
    for n in $copies; do
        for file in "${files[@]}"; do
            name=$(name_of "$file")
            for kind in $command_kinds; do
                late || command_rows "$kind" "$n"
            done
        done
    done
fi
if [ ${#notes[@]} -gt 0 ]; then
    echo
    printf '%s\n' "${notes[@]}"
fi
exit $status
