#!/bin/bash
# rsyncable.sh - measures how much larger --rsyncable makes the output, and how much rsync must send
# after a byte was inserted into the input
#
#   bench/rsyncable.sh [-l "LEVEL..."] [FILE...]
#
# Uses the first 50 MB of each FILE (default: the kernel source and gcide, from bench/corpora.sh).
# Prints a row for gzlzss and a row for gzip, with the sizes without and with --rsyncable. Then
# inserts a byte into the input, at the front or at one of 9 other places, and compresses again. The
# last two columns are the bytes that rsync -z sends ("literal data") to turn the old compressed
# file into the new one: for the byte at the front, and the mean of all 10 places. GZLZSS is the
# command to measure (default: ./gzlzss).
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"

levels=6
while getopts l: option; do
    case $option in
    l) levels=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- "$corpora"/{linux200,gcide}
command -v rsync >/dev/null || fail "needs rsync"

size=50000000
places=10

# literal OLD NEW prints the bytes that rsync sends to turn OLD into NEW.
literal() {
    rm -rf "$work/to"
    mkdir "$work/to"
    cp "$1" "$work/to/$(basename "$2")"
    touch -d @1 "$work/to/$(basename "$2")"
    rsync -z --no-whole-file --stats "$2" "$work/to/" |
        sed -n 's/^Literal data: \([0-9,]*\) .*/\1/p' | tr -d ,
}

about "rsyncable.sh: the first $size bytes, a byte inserted at $places places"
header file level tool size --rsyncable "literal data: front" "mean of all places"
for file; do
    head -c "$size" "$file" >"$work/plain"
    bytes=$(wc -c <"$work/plain")
    for level in $levels; do
        for tool in gzlzss gzip; do
            run=(gzip)
            [ "$tool" = gzip ] || run=("${gzlzss[@]}")
            [ "$tool" = gzlzss ] || [ "$level" -le 9 ] || continue
            without=$("${run[@]}" "-$level" -nc "$work/plain" | wc -c)
            "${run[@]}" "-$level" -nc --rsyncable "$work/plain" >"$work/old.gz"
            gzip -dc "$work/old.gz" | cmp - "$work/plain" || fail "$tool was wrong"
            sum=0
            for ((i = 0; i < places; i++)); do
                {
                    head -c $((bytes * i / places)) "$work/plain"
                    printf x
                    tail -c +$((bytes * i / places + 1)) "$work/plain"
                } | "${run[@]}" "-$level" -n --rsyncable >"$work/new.gz"
                sent=$(literal "$work/old.gz" "$work/new.gz")
                [ "$i" -gt 0 ] || front=$sent
                sum=$((sum + sent))
            done
            with=$(wc -c <"$work/old.gz")
            row "$(basename "$file")" "$level" "$tool" "$without" "$with" "$front" $((sum / places))
        done
    done
done
