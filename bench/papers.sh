#!/bin/bash
# papers.sh - measures all methods of papers, and levels 1, 6 and 9, on several kinds of data
#
#   bench/papers.sh [-m MIB] [-o DIR] [-r RUNS] [-w MATCHER]... [FILE...]
#
# The data are the FILEs. By default, they are text, source, XML, binaries and DNA from Debian
# packages (bench/corpora.sh), and arrays of counters, of a field and of quantization codes
# (bench/arrays.c). The script uses the first MIB mebibytes (default 96) of each file. A shorter
# file of the default data, such as the DNA, is repeated. The script writes papers.csv and papers.md
# into DIR (default: the current directory). papers.md has a table for each file; bench/plot.sh DIR
# draws the ratio against the speed. -w adds a method with other parameters, for instance -w
# culzss,window=64.
#
# The columns are: the size of the .gz file in bytes; the size in the paper's own coding, computed
# from the sequences (bench/codings.c); the MB that a core matches in a second; the GB/s of the GPU
# stage; the command's time with all cores; and the command's time with the GPU. The columns of the
# GPU are empty if there is no GPU. The times are the least of RUNS (default 3), with and without
# the GPU in turns. gzip must decompress each output to the data, and the outputs with and without
# the GPU must be equal.
#
# GZLZSS is the command to measure (default: ./gzlzss). Its folder must contain bench/paper_stage,
# bench/gpu_stage and bench/arrays; build them with make.
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"

mib=96 dir=. runs=3 more=()
while getopts m:o:r:w: option; do
    case $option in
    m) mib=$OPTARG ;;
    o) dir=$OPTARG ;;
    r) runs=$OPTARG ;;
    w) more+=("$OPTARG") ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
mkdir -p "$dir"
csv=$dir/papers.csv

programs=$(dirname "$(command -v "${gzlzss[0]}")")/bench
[ -x "$programs/paper_stage" ] || fail "there is no $programs/paper_stage: make bench/paper_stage"
has_gpu=
if echo x | "${gzlzss[@]}" --backend=gpu >"$work/out" 2>/dev/null; then
    if [ -x "$programs/gpu_stage" ]; then
        has_gpu=1
    else
        echo "papers.sh: there is no $programs/gpu_stage, so the GPU is left out: make bench/gpu_stage" >&2
    fi
fi

# The matchers to measure: all methods that the command lists, those of -w, and three levels.
mapfile -t matchers < <("${gzlzss[@]}" --matcher=help | sed -n 's/^\([a-z][a-z0-9-]*\): .*/\1/p')
[ ${#matchers[@]} -gt 0 ] || fail "this gzlzss has no methods of papers"
matchers+=("${more[@]}" 1 6 9)

# cut_to NAME COMMAND... writes the first $mib mebibytes of the command's output to $work/data/NAME.
mkdir "$work/data"
data=()
cut_to() {
    local name=$1
    shift
    [ ! -e "$work/data/$name" ] || fail "there are two files $name"
    {
        status=0
        "$@" 2>"$work/cut" || status=$?
        echo "$status" >"$work/status"
    } | head -c $((mib << 20)) >"$work/data/$name"
    # The command may fail because head stops reading at this size.
    [ "$(cat "$work/status")" -eq 0 ] || [ "$(stat -c %s "$work/data/$name")" -eq $((mib << 20)) ] ||
        fail "failed: $*: $(cat "$work/cut")"
    [ -s "$work/data/$name" ] || fail "$name is empty"
    data+=("$name")
}

# over_again FILE prints the file again and again, until there are at least $mib mebibytes. The
# files are so large that no match reaches from one copy to the copy before it.
over_again() {
    local i
    for ((i = 0; i <= (mib << 20) / $(stat -Lc %s "$1"); i++)); do
        cat "$1"
    done
}

if [ $# -gt 0 ]; then
    for file; do
        [ -r "$file" ] || fail "cannot read $file"
        cut_to "${file##*/}" cat "$file"
    done
else
    [ -x "$programs/arrays" ] || fail "there is no $programs/arrays: make bench/arrays"
    for pair in text:gcide source:linux200 xml:cldr.tar binaries:lib.tar dna:ecoli; do
        file=$corpora/${pair#*:}
        [ -r "$file" ] || fail "there is no $file; bench/corpora.sh fetches it"
        cut_to "${pair%%:*}" over_again "$file"
    done
    for kind in counters field codes; do
        cut_to "$kind" "$programs/arrays" "$kind" $((mib << 20))
    done
fi

# options MATCHER sets $chosen to the command's options for this matcher or level.
options() {
    case $1 in
    [0-9]*) chosen=("-$1") ;;
    *) chosen=("--matcher=$1") ;;
    esac
}

# run ENGINE FILE runs the command once. best[ENGINE] is the least time so far.
declare -A best
run() {
    timed "${gzlzss[@]}" -n "${chosen[@]}" "--backend=$1" -c "$2" || fail "failed: ${chosen[*]}, $1, $2"
    if [ -z "${best[$1]:-}" ] || [ "$usec" -lt "${best[$1]}" ]; then
        best[$1]=$usec
    fi
}

# line DATA MATCHER measures the matcher on $work/data/DATA, and adds a line to papers.csv.
line() {
    local file=$work/data/$1 size gz own core stage sequences matched i words
    size=$(stat -c %s "$file")
    options "$2"
    words=$("$programs/paper_stage" "$file" "$2" "$mib") || fail "paper_stage failed: $2"
    read -r core _ sequences _ matched _ _ _ _ own _ <<<"$words"
    stage=
    if [ -n "$has_gpu" ]; then
        words=$("$programs/gpu_stage" "$file" "$2") || fail "gpu_stage failed: $2"
        stage=$(grep -o '[0-9.]* GB/s' <<<"$words" | sed -n '1s/ .*//p')
    fi
    best=()
    for ((i = 0; i < runs; i++)); do
        run cpu "$file"
        if [ "$i" -eq 0 ]; then
            verify "$file" || fail "gzip does not read it back: $2, $1"
            mv "$work/out" "$work/first"
        fi
        if [ -n "$has_gpu" ]; then
            run gpu "$file"
            cmp "$work/out" "$work/first" || fail "the GPU's output differs: $2, $1"
        fi
    done
    gz=$(stat -c %s "$work/first")
    echo "$1,$size,\"$2\",$gz,${own/-/},$sequences,$matched,$core,$stage,${best[cpu]},${best[gpu]:-}" >>"$csv"
}

echo 'data,bytes,matcher,gz_bytes,own_bytes,sequences,matched_percent,core_mbs,gpu_stage_gbs,cpu_usec,gpu_usec' >"$csv"
for name in "${data[@]}"; do
    for matcher in "${matchers[@]}"; do
        line "$name" "$matcher"
    done
done
{
    about "methods of papers, up to $mib MiB of each file"
    awk -f "$here/papers_table.awk" "$csv"
} | tee "$dir/papers.md"
