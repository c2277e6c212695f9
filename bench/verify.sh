#!/bin/bash
# verify.sh - measures what --verify costs
#
#   bench/verify.sh [-l "LEVEL..."] [-p "THREADS..."] [-n ROUNDS] [FILE...]
#
# Compresses the first 100 MB of each FILE (default: gcide and lib.tar, from bench/corpora.sh) to a
# file in memory, without and with --verify in turn, ROUNDS times each (default: 7). Prints the
# least processor time (user and system) and the least wall time of each, in ms, and by how much
# --verify raises them. The last columns have the processor time of -t, and of -t as a share of
# compression. GZLZSS is the command to measure (default: ./gzlzss).
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"

levels='1 6 9'
threads='1 2'
rounds=7
while getopts l:p:n: option; do
    case $option in
    l) levels=$OPTARG ;;
    p) threads=$OPTARG ;;
    n) rounds=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- "$corpora"/{gcide,lib.tar}

size=100000000

# measure NAME COMMAND... runs the command, and keeps its least times in cpu[NAME] and wall[NAME],
# in ms.
declare -A cpu wall
measure() {
    local name=$1 wall_ms
    shift
    timed "$@" || fail "failed: $*"
    wall_ms=$((usec / 1000))
    [ -n "${cpu[$name]-}" ] && [ "${cpu[$name]}" -le "$cpu_ms" ] || cpu[$name]=$cpu_ms
    [ -n "${wall[$name]-}" ] && [ "${wall[$name]}" -le "$wall_ms" ] || wall[$name]=$wall_ms
}

# more A B prints by how many percent B is more than A.
more() {
    awk -v a="$1" -v b="$2" 'BEGIN { printf "%+.1f %%", 100 * (b - a) / a }'
}

about "verify.sh: the first $size bytes, the least of $rounds runs"
header file level threads "CPU ms" "with --verify" "" "wall ms" "with --verify" "" "-t, CPU ms" ""
for file; do
    head -c "$size" "$file" >"$work/plain"
    for level in $levels; do
        for p in $threads; do
            cpu=()
            wall=()
            run=("${gzlzss[@]}" "-$level" "-p$p" -nkf)
            for ((i = 0; i < rounds; i++)); do
                measure without "${run[@]}" "$work/plain"
                measure with "${run[@]}" --verify "$work/plain"
                measure test "${gzlzss[@]}" -t "-p$p" "$work/plain.gz"
            done
            row "$(basename "$file")" "$level" "$p" "${cpu[without]}" "${cpu[with]}" \
                "$(more "${cpu[without]}" "${cpu[with]}")" "${wall[without]}" "${wall[with]}" \
                "$(more "${wall[without]}" "${wall[with]}")" "${cpu[test]}" \
                "$(more "${cpu[without]}" $((cpu[without] + cpu[test])))"
        done
    done
done
