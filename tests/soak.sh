#!/bin/bash
# soak.sh - random options on random pieces of real files, against gunzip, for a given time
#
#   GZLZSS_COMMAND=/path/to/gzlzss tests/soak.sh SECONDS FILE...
#
# Each turn takes a random piece of a random FILE (up to 16 MiB) and
#
# - compresses it with random options, from a file or a pipe, to a file or a pipe; gunzip and gzlzss
#   must make the piece of it again;
# - compresses it with gzip at a random level; gzlzss must make the piece of it again.
#
# gzlzss decompresses with a random number of threads, and also a part by --range.
#
# SEED is the first turn's number (default 1).  A turn's choices depend only on its number, so SEED
# repeats it.  JOBS (default 1) is the number of turns that run side by side.  At the first wrong
# result, soak.sh prints the turn's number and its commands, keeps its directory, and exits with 1.
# The last line counts turns, comparisons and bytes.
set -u

gzlzss=$(realpath -e "${GZLZSS_COMMAND:?must be the path of gzlzss}") || exit 2
seconds=${1:?how many seconds?}
shift
mapfile -t files < <(realpath -e -- "${@:?which files?}")
[ ${#files[@]} -eq $# ] || exit 2
unset GZLZSS GZIP
export LC_ALL=C

engine=()
if "$gzlzss" --list-devices 2>/dev/null | grep -q "^[0-9].* compute capability"; then
    engine=(--backend=gpu --backend=cpu)
fi

top=$(mktemp -d) && cd "$top" || exit 1

# pick N sets `picked` to a random number from 0 to N - 1, for N up to 2^45.  Bash gives a subshell
# other random numbers, so the turn's own shell has to call it.
pick() {
    picked=$(((RANDOM << 30 | RANDOM << 15 | RANDOM) % $1))
}

# one WORD... sets `picked` to one of the words.
one() {
    pick $#
    shift "$picked"
    picked=$1
}

# must COMMAND runs a shell's command line.  If it fails, the turn ends.
must() {
    echo "$1" >>commands
    bash -o pipefail -c "$1" 2>stderr && return
    echo "soak.sh: turn $turn is wrong.  In $PWD:" >&2
    sed 's/^/    /' commands stderr >&2
    exit 1
}

# same COMMAND: the command's output must be the piece.
same() {
    must "$1 | cmp - in"
    compared=$((compared + 1))
}

# Makes the piece, and sets `size`.  Its magnitude is random, and then its length.
cut_piece() {
    local whole length
    one "${files[@]}"
    file=$picked
    whole=$(stat -c %s "$file")
    pick 25
    pick $(((1 << picked) + 1))
    length=$((picked < whole ? picked : whole))
    pick $((whole - length + 1))
    must "tail -c +$((picked + 1)) '$file' 2>/dev/null | head -c $length >in || true"
    size=$(stat -c %s in)
}

# Sets `options` to random options for compression.  If they exclude each other, gzlzss refuses
# them, and only the level stays.
pick_options() {
    local option
    pick 16
    if [ "$picked" -eq 0 ]; then
        one 10 11 12
    else
        pick 10
    fi
    options=(-"$picked")
    one 1 2 3 4 8
    options+=(-p"$picked")
    pick 1000
    for option in -n -m -N --comment=comment --blocksize=$((32 + picked)) --rsyncable --huffman \
        --format=bgzf --rle --memory=100M --synchronous "${engine[@]}"; do
        pick 8
        [ "$picked" -ne 0 ] || options+=("$option")
    done
    "$gzlzss" "${options[@]}" -c </dev/null >/dev/null 2>&1 || options=("${options[0]}")
}

# Compresses the piece to "packed" in a random way.
compress() {
    pick_options
    local run="'$gzlzss' ${options[*]}"
    one "$run -c in >packed" "$run <in >packed" "cat in | $run | cat >packed" \
        "cp in copy && $run copy && test ! -e copy && mv copy.gz packed" \
        "$run --atomic -k in -o packed"
    must "$picked"
}

# Decompresses "packed" in a random way, and some of it by --range.
decompress() {
    local threads offset
    one 1 2 3 4 8
    threads=-p$picked
    one "'$gzlzss' -dc $threads packed" "'$gzlzss' -d $threads <packed" \
        "cat packed | '$gzlzss' -d $threads" \
        "cp packed copy.gz && '$gzlzss' -d $threads copy.gz && test ! -e copy.gz && cat copy"
    same "($picked)"
    rm -f copy
    must "'$gzlzss' -t $threads packed"
    pick $((size + 1))
    offset=$picked
    pick $((size - offset + 1))
    must "cmp <('$gzlzss' -dc $threads --range=$offset:$picked packed) \
        <(tail -c +$((offset + 1)) in 2>/dev/null | head -c $picked)"
    compared=$((compared + 1))
}

# turn JOB takes the turn `turn`, and notes in the job's file what was done.
turn() {
    local compared=0
    RANDOM=$turn
    mkdir "$turn" && cd "$turn" || exit 1
    cut_piece
    compress
    same "gzip -dc <packed"
    decompress
    pick 9
    must "gzip -$((picked + 1)) -c in >packed"
    decompress
    echo "$compared $size" >>"$top/done.$1"
    cd .. && rm -r "$turn"
}

# take_turns JOB takes every JOBS-th turn, until the time is over or a turn of any job was wrong.
take_turns() {
    turn=$((${SEED-1} + $1))
    while [ $SECONDS -lt "$seconds" ] && [ ! -e failed ]; do
        (turn "$1") || touch failed
        turn=$((turn + ${JOBS-1}))
    done
}

for ((job = 0; job < ${JOBS-1}; job++)); do
    take_turns "$job" &
done
wait
cat done.* 2>/dev/null | awk '{ compared += $1; bytes += $2 }
    END { printf "%d turns, %d comparisons, %.1f GB: equal\n", NR, compared, bytes / 1e9 }'
if [ -e failed ]; then
    echo "soak.sh: a turn was wrong; $top has its directory" >&2
    exit 1
fi
cd / && rm -r "$top"
