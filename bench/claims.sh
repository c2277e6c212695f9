#!/bin/bash
# claims.sh - measures what the papers claim (bench/papers.md), method by method
#
#   bench/claims.sh [-m MIB] [-l LARGE_MIB] [-r RUNS] [-d KINDS] [-o DIR] [GROUP]...
#
# A GROUP is a set of measurements for one or more claims:
#
#     systems     every paper's whole system, on every kind of data
#     large       the same systems on LARGE_MIB (default 512) mebibytes: the papers' forms with one
#                 thread for each chunk need so much data to fill a GPU
#     symbols     gpuLZ: sizes of symbols, windows and chunks
#     dklzss      DKLZSS beside brute force in the same chunk
#     ahead       Mathur's LZSS: positions that are looked at before a match is taken
#     collisions  Mathur's LZSS: hash functions, by the collisions that they make
#     table       GLZSS: sizes of the hash table
#     widths      GLZSS: widths of the fields
#     lists       position lists: lengths of a list, and bytes that are hashed
#     others      gzip -6, and xz -6 with one and with all cores
#
# By default, all of them. The data are those of bench/papers.sh, and further kinds of arrays
# (bench/arrays.c): the first MIB mebibytes (default 32) of each, LARGE_MIB in the group `large`, 8
# in `dklzss`. With -d, only these KINDS, with commas between them.
#
# Writes DIR/claims.csv (default: the current directory). A line of it has the group, the kind of
# data, its size, the method, the number of bytes in the paper's format, and one measured number
# with its name. Measurements on the CPU run side by side on all cores, so their times are
# processor times; but those of gzip and xz are wall times. Then measurements on the GPU, and xz on
# all cores, run alone. On the GPU, bench/paper_codec does RUNS runs (default 3) of each form.
# bench/claims.awk makes tables from the file.
#
# GZLZSS is the command to measure (default: ./gzlzss). Its folder must contain bench/paper_codec,
# bench/paper_stage and bench/arrays, and bench/gpu_stage to measure the GPU; build them with make.
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"

mib=32 large=512 dir=. runs=3 only=
while getopts m:l:r:d:o: option; do
    case $option in
    m) mib=$OPTARG ;;
    l) large=$OPTARG ;;
    r) runs=$OPTARG ;;
    d) only=,$OPTARG, ;;
    o) dir=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
groups=("$@")
[ $# -gt 0 ] || groups=(systems large symbols dklzss ahead collisions table widths lists others)
mkdir -p "$dir"
csv=$dir/claims.csv

programs=$(dirname "$(command -v "${gzlzss[0]}")")/bench
for program in paper_codec paper_stage arrays; do
    [ -x "$programs/$program" ] || fail "there is no $programs/$program: make bench/$program"
done
has_gpu=
if [ -x "$programs/gpu_stage" ] &&
    echo x | "${gzlzss[@]}" --backend=gpu >"$work/out" 2>/dev/null; then
    has_gpu=1
fi

# --- Data -----------------------------------------------------------------------------------------

texts=(text source xml binaries dna)
arrays=(counters field codes particles density rows comments waves)

# sample FILE BYTES prints the first BYTES of the file, which is repeated if it is shorter.
sample() {
    local left=$2
    while [ "$left" -gt 0 ]; do
        head -c "$left" "$1"
        left=$((left - $(stat -Lc %s "$1")))
    done
}

# data_file KIND MIB prints the path of a file of this kind and size, and makes it if need be.
data_file() {
    local file=$work/data/$1.$2 corpus
    if [ ! -e "$file" ]; then
        case $1 in
        text) corpus=gcide ;;
        source) corpus=linux200 ;;
        xml) corpus=cldr.tar ;;
        binaries) corpus=lib.tar ;;
        dna) corpus=ecoli ;;
        *) corpus= ;;
        esac
        [ -z "$corpus" ] || [ -r "$corpora/$corpus" ] ||
            fail "there is no $corpora/$corpus; bench/corpora.sh fetches it"
        case $1 in
        run) head -c $(($2 << 20)) /dev/zero ;;
        period*)
            yes "$(head -c "${1#period}" "$corpora/gcide" | tr '\n' ' ')" | tr -d '\n' |
                head -c $(($2 << 20))
            ;;
        *)
            if [ -n "$corpus" ]; then
                sample "$corpora/$corpus" $(($2 << 20))
            else
                "$programs/arrays" "$1" $(($2 << 20))
            fi
            ;;
        esac >"$file.new" || [ -s "$file.new" ] || fail "cannot make the data $1"
        mv "$file.new" "$file"
    fi
    echo "$file"
}
mkdir "$work/data"

# --- What is measured -----------------------------------------------------------------------------

# The papers' systems: each method in its paper's form, and then in this program's. The forms with
# threads=1 have few threads, so only the groups `large` and `dklzss` have them.
read -ra systems <<<"culzss,search=both culzss glzss-basic,threads=32 glzss-basic \
glzss-tagging,threads=4 glzss-tagging lzss lzss,ahead=0 lz4,skip=no,enter=all,window=4096 lz4 \
position-lists gpulz,symbol=2 gpulz,symbol=4,window=32 dklzss"

# rows GROUP prints a line for each measurement: the program, the kind of data, the mebibytes, the
# method, and where it is measured: on the cpu, on the gpu, on both, or on one of them (on the GPU
# if there is one). `alone` is on all cores, while nothing else runs. Keys that only matter on the
# GPU are not measured on the CPU.
rows() {
    local kind method where s w c a
    case $1 in
    systems)
        for kind in "${texts[@]}" "${arrays[@]}"; do
            for method in "${systems[@]}"; do
                where=both
                [[ $method != *threads=* ]] || where=gpu
                echo "codec $kind $mib $method $where"
            done
        done
        ;;
    large)
        for kind in text source; do
            for method in culzss,search=both glzss-basic,threads=32 glzss-basic \
                glzss-tagging,threads=4 glzss-tagging lzss,threads=1 lzss \
                lz4,threads=1,skip=no,enter=all,window=4096 gpulz,symbol=2; do
                echo "codec $kind $large $method gpu"
            done
        done
        ;;
    symbols)
        for kind in codes particles density rows comments waves; do
            for s in 1 2 3 4; do
                for w in 32 64 128 255; do
                    echo "codec $kind $mib gpulz,symbol=$s,window=$w one"
                done
            done
            for c in 4096 8192 16384; do
                echo "codec $kind $mib gpulz,symbol=2,window=128,chunk=$c one"
            done
        done
        ;;
    dklzss)
        for kind in text source dna run period2 period16 period64; do
            for c in 512 4096 16384; do
                w=$((c < 4096 ? c : 4096))
                [ "$c" -eq 4096 ] || [ "$kind" = text ] || [ "$kind" = run ] || continue
                echo "stage $kind 8 dklzss,chunk=$c both"
                # With larger chunks, the threads are so few and slow that this takes minutes.
                [ "$c" -gt 512 ] || echo "stage $kind 8 dklzss,chunk=$c,threads=1 gpu"
                echo "stage $kind 8 culzss,window=$w,chunk=$c,length=258 both"
            done
        done
        ;;
    ahead)
        for kind in "${texts[@]}"; do
            for a in ahead=0 ahead=1 ahead=8 choice=saving,ahead=1 choice=saving,ahead=8; do
                echo "codec $kind $mib lzss,$a both"
            done
        done
        ;;
    collisions)
        for kind in "${texts[@]}"; do
            for s in djb2 murmur3; do
                for c in 1024 4096 32768; do
                    for a in 0 8; do
                        echo "count $kind $mib lzss,hash=$s,buckets=$c,ahead=$a cpu"
                    done
                done
            done
        done
        ;;
    table)
        for s in 1024 4096 16384 65536; do
            echo "codec text $mib glzss-tagging,table=$s both"
        done
        ;;
    widths)
        for kind in text source dna; do
            for s in 25 17; do
                echo "codec $kind $mib glzss-basic,form=$s cpu"
            done
        done
        ;;
    lists)
        for kind in text source dna; do
            for s in 1 4 16 64 256 1024 4096; do
                echo "codec $kind $mib position-lists,list=$s cpu"
            done
            for s in 3 4; do
                echo "codec $kind $mib position-lists,hash=$s cpu"
            done
        done
        ;;
    others)
        for kind in "${texts[@]}"; do
            echo "gzip $kind $mib -6 cpu"
            echo "xz $kind $mib -6 cpu"
            echo "xz $kind $mib -6,-T0 alone"
        done
        ;;
    *) fail "there is no group $1" ;;
    esac
}

# --- Measurements ---------------------------------------------------------------------------------

# measured NAME VALUE prints a line of the file. It uses the variables of measure.
measured() {
    echo "$group,$kind,$bytes,\"$method\",$coded,$1,$2"
}

# numbers_of_codec reads the output of bench/paper_codec, and prints a line for each number of it.
numbers_of_codec() {
    local what form words name
    while read -r words; do
        coded=$(sed -n 's/.* become \([0-9]*\),.*/\1/p' <<<"$words")
        case $words in
        core:*)
            read -r _ what _ _ form _ name _ <<<"${words//,/}"
            measured "core matching MB/s" "$what"
            measured "core coding MB/s" "$form"
            measured "core decoding MB/s" "$name"
            ;;
        gpu\ *)
            read -r _ what form _ <<<"${words//:/}"
            name=${words#*kernels } name=${name%% *}
            measured "gpu $what $form kernels GB/s" "$name"
            name=${words#*end to end } name=${name%% *}
            measured "gpu $what $form end to end GB/s" "$name"
            tr ',' '\n' <<<"${words#*ms: }" | sed -n 's/^ *\(.*\) \([0-9.]*\)$/\1,\2/p' |
                while IFS=, read -r name words; do
                    measured "gpu $what $form $name ms" "$words"
                done
            ;;
        *) measured "coded bytes" "$coded" ;;
        esac
    done
}

# measure GROUP WHERE TOOL KIND MIB METHOD measures one line of `rows` on the CPU or on the GPU.
measure() {
    local group=$1 where=$2 tool=$3 kind=$4 size=$5 method=$6 file bytes coded='' usec
    local -a words
    file=$work/data/$kind.$size
    bytes=$(stat -c %s "$file")
    case $tool.$where in
    codec.*)
        words=$("$programs/paper_codec" "$file" "$method" "$size" "$where" "$runs") ||
            fail "paper_codec failed: $method, $kind"
        numbers_of_codec <<<"$words"
        ;;
    stage.cpu)
        words=$("$programs/paper_stage" "$file" "$method" "$size") || fail "failed: $method, $kind"
        measured "core matching MB/s" "${words%% *}"
        ;;
    stage.gpu)
        words=$("$programs/gpu_stage" "$file" "$method") || fail "gpu_stage failed: $method, $kind"
        measured "gpu stage GB/s" "$(grep -o '[0-9.]* GB/s' <<<"$words" | sed -n '1s/ .*//p')"
        ;;
    count.cpu)
        words=$("${gzlzss[@]}" -vv -c --backend=cpu -p1 "--matcher=$method" "$file" 2>&1 >/dev/null) ||
            fail "failed: $method, $kind"
        measured collisions "$(sed -n 's/.*[^0-9]\([0-9][0-9]*\) collisions.*/\1/p' <<<"$words")"
        measured probes "$(sed -n 's/.*[^0-9]\([0-9][0-9]*\) probes.*/\1/p' <<<"$words")"
        ;;
    gzip.* | xz.*)
        usec=$(now_usec)
        IFS=, read -ra words <<<"$method"
        method="$tool ${words[*]}"
        coded=$("$tool" "${words[@]}" -c "$file" | wc -c)
        measured "$tool seconds" "$(awk -v t="$(($(now_usec) - usec))" 'BEGIN { print t / 1e6 }')"
        ;;
    esac
}

now_usec() {
    echo "${EPOCHREALTIME/./}"
}

all=$work/rows
for group in "${groups[@]}"; do
    rows "$group" | while read -r tool kind rest; do
        if [ -z "$only" ] || [[ $only = *,$kind,* ]]; then
            echo "$group $tool $kind $rest"
        fi
    done
done >"$all"
while read -r _ _ kind size _; do
    echo "$kind $size"
done <"$all" | sort -u | while read -r kind size; do
    data_file "$kind" "$size" >/dev/null
done

echo 'group,data,bytes,method,coded_bytes,what,value' >"$csv"
# On the CPU: as many at a time as there are cores.
n=0
while read -r group tool kind size method where; do
    case $where in
    one) [ -z "$has_gpu" ] || continue ;;
    gpu | alone) continue ;;
    esac
    n=$((n + 1))
    while [ "$(jobs -pr | wc -l)" -ge "$cores" ]; do
        wait -n || fail "a measurement failed"
    done
    measure "$group" cpu "$tool" "$kind" "$size" "$method" >"$work/line.$n" &
done <"$all"
while [ -n "$(jobs -pr)" ]; do
    wait -n || fail "a measurement failed"
done
for ((i = 1; i <= n; i++)); do
    cat "$work/line.$i"
done >>"$csv"
# One at a time.
while read -r group tool kind size method where; do
    case $where in
    alone) measure "$group" cpu "$tool" "$kind" "$size" "$method" ;;
    gpu | both | one) [ -z "$has_gpu" ] || measure "$group" gpu "$tool" "$kind" "$size" "$method" ;;
    esac
done <"$all" >>"$csv"
about "claims of papers, $mib MiB of each kind of data"
