#!/bin/bash
# short_blocks.sh - compares gzlzss with gzip and pigz in decompressing files of millions of short
# blocks or members
#
#   bench/short_blocks.sh [-m MIB] [-p "THREADS..."] [-r RUNS]
#
# Makes .gz files of six kinds of blocks or members, each of at most MIB mebibytes (default 64) and
# more than a half of that. gzip, pigz -p1, and gzlzss with each number of THREADS (default "1 2 4
# 16") decompress them in turns, RUNS times (default 5). A cell has the least processor time in
# milliseconds, and its ratio to the least time among gzip, pigz -p1, and gzlzss with the first
# number of THREADS. (!) marks a ratio of gzlzss above 1.2. A tool that takes more than 20 seconds
# is left out. GZLZSS is the command to measure (default: ./gzlzss). Needs pigz.
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"
command -v pigz >/dev/null || fail "needs pigz"

mib=64
threads="1 2 4 16"
runs=5
while getopts m:p:r: option; do
    case $option in
    m) mib=$OPTARG ;;
    p) threads=$OPTARG ;;
    r) runs=$OPTARG ;;
    *) usage ;;
    esac
done

# repeated BYTES fills $work/row with copies of BYTES, which are escapes for printf. It starts with
# one copy, and doubles the file until the file has at least half of MIB mebibytes. $times becomes
# the number of copies.
repeated() {
    # shellcheck disable=SC2059 # The bytes are escapes.
    printf "$1" >"$work/row"
    times=1
    while [ "$(stat -c %s "$work/row")" -lt $((mib << 19)) ]; do
        cat "$work/row" "$work/row" >"$work/twice"
        mv "$work/twice" "$work/row"
        times=$((2 * times))
    done
}

# blocks BYTES LETTERS makes $work/gz from many copies of BYTES. BYTES are one or more blocks that
# decode to LETTERS letters x.
blocks() {
    repeated "$1"
    head -c $(($2 * times)) /dev/zero | tr '\0' x | gzip -1 | tail -c 8 >"$work/trailer"
    {
        printf '\037\213\010\000\000\000\000\000\000\003'
        cat "$work/row"
        printf '\003\000'
        cat "$work/trailer"
    } >"$work/gz"
}

# Eight dynamic blocks; each decodes to three letters.
dynamic='\004\300\201\010\000\000\000\000\040\355\361\017\011\200\003\021\000\000\000\000\100\332\343\037\022\000\007'
dynamic+='\042\000\000\000\000\200\264\307\077\044\000\016\104\000\000\000\000\000\151\217\177\110\000\034\210\000\000'
dynamic+='\000\000\000\322\036\377\220\000\070\020\001\000\000\000\000\244\075\376\041\001\160\040\002\000\000\000\000\110'
dynamic+='\173\374\103\002\340\100\004\000\000\000\000\220\366\370\207'

make() {
    case $1 in
    stored-0) blocks '\000\000\000\377\377' 0 ;;
    stored-1) blocks '\000\001\000\376\377x' 1 ;;
    fixed-0) blocks '\002\010\040\200\000' 0 ;; # four blocks
    fixed-1) blocks '\252\000\250\002\240\012\200\052\000' 4 ;;
    dynamic-3) blocks "$dynamic" 24 ;;
    members-0)
        repeated '\037\213\010\000\000\000\000\000\000\003\003\000\000\000\000\000\000\000\000\000'
        mv "$work/row" "$work/gz"
        ;;
    esac
}

tools=(gzip "pigz -p1")
for p in $threads; do
    tools+=("${gzlzss[*]} -p$p")
done
about "short_blocks.sh: processor time in ms, least of $runs runs; ratio to the least of gzip, pigz and -p${threads%% *}"
header kind MB gzip "pigz -p1" "${tools[@]:2}"
for kind in stored-0 stored-1 fixed-0 fixed-1 dynamic-3 members-0; do
    make $kind
    pigz -p1 -dc "$work/gz" | cmp - <("${gzlzss[@]}" -dc "$work/gz") || fail "$kind is wrong"
    declare -A best=()
    for ((i = 0; i < runs; i++)); do
        for tool in "${tools[@]}"; do
            if [ "${best[$tool]-0}" -gt 19000 ]; then continue; fi
            read -ra words <<<"$tool"
            # After 20 s of wall time, the command is stopped, and its time up to then counts.
            timed timeout 20 "${words[@]}" -dc "$work/gz" 2>/dev/null || true
            if [ -z "${best[$tool]-}" ] || [ "$cpu_ms" -lt "${best[$tool]}" ]; then
                best[$tool]=$cpu_ms
            fi
        done
    done
    least=1000000
    for tool in "${tools[@]:0:3}"; do
        if [ "${best[$tool]}" -lt "$least" ]; then least=${best[$tool]}; fi
    done
    least=$((least > 0 ? least : 1))
    cells=()
    for tool in "${tools[@]}"; do
        ratio=$((best[$tool] * 100 / least))
        cell="${best[$tool]} $(printf '%d.%02d' $((ratio / 100)) $((ratio % 100)))"
        if [ "${best[$tool]}" -gt 19000 ]; then
            cell=-
        elif [ "$ratio" -gt 120 ] && [[ $tool != pigz* && $tool != gzip ]]; then
            cell+=" (!)"
        fi
        cells+=("$cell")
    done
    row "$kind" "$(($(stat -c %s "$work/gz") / 1000000))" "${cells[@]}"
done
