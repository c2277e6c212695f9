#!/bin/bash
# mpi.sh - measures how gzlzss-mpi scales with its ranks, and compares it with gzlzss with the same
# number of threads
#
#   bench/mpi.sh [-p THREADS] [-n "RANKS..."] [-l LEVEL] [-r REPEATS] FILE
#
# gzlzss-mpi compresses FILE with 1, 2, 4 and 8 ranks (-n), each of 2 threads (-p). gzlzss
# compresses FILE with the same total numbers of threads. Then both decompress. The script prints a
# row for each number of ranks or threads, with the seconds, the GB of FILE for each second, and the
# efficiency. The seconds are the least time of 3 rounds (-r), less the time to start the same
# number of ranks that do nothing. The efficiency is the speed for each thread, divided by that of
# the first row. The script compares every output of gzlzss-mpi with that of gzlzss. FILE should be
# in a tmpfs that has space for two more copies: otherwise, the script measures mainly the file
# system.
#
# GZLZSS is the gzlzss to measure; gzlzss-mpi must be in the same folder. MPIRUN is the command that
# starts the ranks, with options if needed. MPI need not be installed: it may be unpacked into a
# folder DIR, together with the libraries that it needs. If so, set LD_LIBRARY_PATH=DIR/lib and
# PATH=DIR/bin:$PATH; for MPICH, also set MPIRUN="mpiexec.hydra -launcher fork" (hydra_pmi_proxy
# must be in the same folder). MPI must not bind a rank to fewer processors than the rank has
# threads. The script tells Open MPI to bind no ranks; MPICH binds none by default.
set -u

threads=2 ranks="1 2 4 8" level=6 repeats=3
while getopts p:n:l:r: option; do
    case $option in
    p) threads=$OPTARG ;;
    n) ranks=$OPTARG ;;
    l) level=$OPTARG ;;
    r) repeats=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
file=${1:?give a FILE}
gzlzss=${GZLZSS:-gzlzss}
gzlzss=$(command -v "$gzlzss") || {
    echo "mpi.sh: there is no gzlzss; set GZLZSS" >&2
    exit 2
}
unset GZLZSS GZIP
mpi=$(dirname "$gzlzss")/gzlzss-mpi
read -ra mpirun <<<"${MPIRUN:-mpirun}"
if [ ! -x "$mpi" ] || ! command -v "${mpirun[0]}" >/dev/null; then
    echo "mpi.sh: there is no $mpi, or no ${mpirun[0]} to start it with; set GZLZSS and MPIRUN" >&2
    exit 2
fi
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none

size=$(stat -c %s "$file")
out=$file.gz want=$file.mpi-want plain=$file.mpi-bench
for name in "$out" "$want" "$plain" "$plain.gz"; do
    if [ -e "$name" ]; then
        echo "mpi.sh: $name is in the way" >&2
        exit 2
    fi
done
trap 'rm -f "$out" "$want" "$plain" "$plain.gz"' EXIT
"$gzlzss" "-$level" -nc "$file" >"$want"
cp "$want" "$plain.gz"

# seconds COMMAND... runs the command, and prints how many seconds it takes.
seconds() {
    local begin end
    begin=$(date +%s.%N)
    "$@" >/dev/null </dev/null || echo "mpi.sh: failed: $*" >&2
    end=$(date +%s.%N)
    awk -v b="$begin" -v e="$end" 'BEGIN { print e - b }'
}

# run KEY OUTPUT WANT COMMAND... runs the command, and keeps its least time so far, in seconds, in
# least[KEY]. OUTPUT is the file that the command writes, or empty. The function compares this file
# with WANT, and removes it.
declare -A least
run() {
    local key=$1 output=$2 wanted=$3 took
    shift 3
    took=$(seconds "$@")
    if [ -n "$output" ]; then
        cmp "$output" "$wanted" >&2 || { echo "mpi.sh: that was: $*" >&2 && exit 1; }
        rm -f "$output"
    fi
    least[$key]=$(printf '%s\n' "$took" "${least[$key]:-$took}" | sort -g | head -n 1)
}

# row WHAT THREADS SECONDS START prints a row. START is the time to start the ranks, in seconds.
# $first is the speed for each thread in the first row.
first=
row() {
    local speed
    speed=$(awk -v s="$size" -v t="$3" -v o="$4" 'BEGIN { print s / 1e9 / (t - o) }')
    [ -n "$first" ] || first=$(awk -v s="$speed" -v n="$2" 'BEGIN { print s / n }')
    awk -v w="$1" -v n="$2" -v t="$3" -v o="$4" -v s="$speed" -v f="$first" \
        'BEGIN { printf "%-26s %7d %8.3f %8.3f %8.3f %10.2f\n", w, n, t - o, o, s, s / n / f }'
}

# table WHAT OPTION... measures compression or decompression (WHAT) and prints a table. All rows
# take turns in each round, because the machine may be faster at one time than at another.
table() {
    local what=$1 input=$file output=$out wanted=$want n i
    shift
    if [ "$what" = decompression ]; then
        input=$plain.gz output=$plain wanted=$file
    fi
    least=()
    for ((i = 0; i < repeats; i++)); do
        for n in $ranks; do
            run "mpi $n" "$output" "$wanted" "${mpirun[@]}" -n "$n" "$mpi" "-p$threads" "$@" "$input"
            run "start $n" "" "" "${mpirun[@]}" -n "$n" "$mpi" --version
            run "one $n" "$output" "$wanted" "$gzlzss" "-p$((n * threads))" "$@" "$input"
        done
    done
    printf '\n%s of %s, %s bytes, level %s; %s processors\n' \
        "$what" "${file##*/}" "$size" "$level" "$(nproc)"
    printf '%-26s %7s %8s %8s %8s %10s\n' what threads seconds start GB/s efficiency
    first=
    for n in $ranks; do
        row "gzlzss-mpi, $n x -p$threads" $((n * threads)) "${least[mpi $n]}" "${least[start $n]}"
    done
    first=
    for n in $ranks; do
        row "gzlzss -p$((n * threads))" $((n * threads)) "${least[one $n]}" 0
    done
}

table compression "-$level" --backend=cpu -nk
table decompression -dk
