#!/usr/bin/env bats
# recover.bats - damaged files: --recover, and where -t says that a file is damaged; -l --exact

# shellcheck disable=SC2154 # GEN and GZLZSS come from the build.
# shellcheck disable=SC2016 # The shells that the tests start expand variables.

load helpers

setup() {
    enter_test_directory
    damage=${GEN%gen}damage
}

# exits STATUS COMMAND...: runs the command, as `run` does, and checks its exit status.
exits() {
    local expected=$1
    shift
    run "$@"
    [ "$status" -eq "$expected" ] || fail "exit status $status: $output"
}

# mixed SIZE: prints text, data that does not compress, a .gz and zeros.
mixed() {
    "$GEN" source "$1"
    "$GEN" random $(($1 / 3))
    "$GEN" text "$1" | gzip -c
    head -c $(($1 / 3)) /dev/zero
    "$GEN" binary "$1"
}

# put OFFSET FILE: overwrites bytes of the file, from OFFSET on, by standard input.
put() {
    dd of="$2" bs=1 seek="$1" conv=notrunc status=none
}

# zeros OFFSET COUNT FILE: overwrites COUNT bytes of the file, from OFFSET on, by zeros.
zeros() {
    head -c "$2" /dev/zero | put "$1" "$3"
}

# marks FILE: prints the offset of each mark in the file, in bytes.
marks() {
    LC_ALL=C grep -obUaP '\x00\x00\xff\xff\x00\x00\x00\xff\xff' "$1" | cut -d : -f 1
}

@test "three damaged segments: all others are recovered, byte for byte" {
    local size=$((64 << 10)) mark
    "$GEN" source $((20 * size + 1000)) >data
    "$GZLZSS" -n -b 64 -c data >data.gz
    for segment in 3 8 15; do
        mark=$(marks data.gz | sed -n "${segment}p")
        # Write 600 bytes of noise into the middle of the segment.
        "$GEN" random 600 "$segment" | put $((mark + 4000)) data.gz
    done
    exits 2 "$GZLZSS" --recover -f data.gz
    [ -e data.gz ]
    mv data recovered
    "$GEN" source $((20 * size + 1000)) >data
    [ "$(stat -c %s data)" -eq "$(stat -c %s recovered)" ]
    different data recovered | awk -v size=$size '{print int(($1 - 1) / size)}' | sort -nu >wrong
    printf '%s\n' 3 8 15 | diff - wrong
}

@test "a file of one member: all up to the damage, and all behind the next block" {
    "$GEN" binary 2000000 >data
    gzip -6 -c data >data.gz
    zeros 413184 4096 data.gz
    "$GZLZSS" --recover -q -c data.gz >recovered || [ $? -eq 2 ]
    "$GZLZSS" --recover -q --fill=255 -c data.gz >other || [ $? -eq 2 ]
    # The command knows from the member's length how many bytes are lost, so the output has the
    # right size.
    [ "$(stat -c %s recovered)" -eq 2000000 ]
    # The two outputs differ only in the bytes that are unknown: these are 0 or, with --fill, 255.
    # All known bytes must be right, and most bytes must be known.
    different recovered other >both
    awk '$2 != 0 || $3 != 377' both | diff /dev/null -
    awk '{print $1}' both >unknown
    different data recovered | awk '{print $1}' >wrong
    sort unknown >unknown.sorted
    sort wrong | comm -13 unknown.sorted - | diff /dev/null -
    [ "$(wc -l <unknown)" -lt 400000 ]
    [ "$(head -n 1 wrong)" -gt 1000000 ]
}

@test "members are verified by their CRC" {
    local size
    for i in 1 2 3 4 5; do
        "$GEN" source 50000 "$i" >part
        gzip -nc part >>all.gz
        cat part >>data
    done
    size=$(stat -c %s all.gz)
    "$GEN" random 500 | put $((size / 2)) all.gz
    exits 2 "$GZLZSS" --recover -vt all.gz
    [[ $output == *"output bytes 0 to 99999: verified by CRC"* ]]
    [[ $output == *"output bytes 150000 to 249999: verified by CRC"* ]]
    [[ $output == *"200000 verified by CRC"* ]]
    "$GZLZSS" --recover -qc all.gz >recovered || [ $? -eq 2 ]
    cmp -n 100000 data recovered
    cmp -i 150000 data recovered
}

@test "garbage in front, a lost header, a cut file" {
    "$GEN" source 300000 >data
    "$GZLZSS" -n -b 32 -c data >good.gz
    { echo "not a header"; cat good.gz; } >front.gz
    "$GZLZSS" --recover -qc front.gz >recovered || [ $? -eq 2 ]
    cmp data recovered
    cp good.gz header.gz
    "$GEN" random 10 | put 0 header.gz
    "$GZLZSS" --recover -qc header.gz >recovered || [ $? -eq 2 ]
    cmp data recovered
    head -c 30000 good.gz >cut.gz
    exits 1 "$GZLZSS" -dc cut.gz
    "$GZLZSS" --recover -qc cut.gz >recovered || [ $? -eq 2 ]
    [ "$(stat -c %s recovered)" -gt 90000 ]
    cmp -n "$(stat -c %s recovered)" data recovered
}

@test "a header with a name of megabytes counts as none, and the data is all there" {
    "$GEN" text 300000 >plain
    {
        printf '\037\213\010\010\0\0\0\0\0\003'
        head -c 3000000 /dev/zero | tr '\0' n
        printf '\0'
        gzip -nc plain | tail -c +11
    } >long.gz
    exits 2 "$GZLZSS" --recover -k long.gz
    cmp plain long
    echo "$output" | reads_all grep -q 'bytes 0 to 3000010: no gzip header; no bytes are missing'
    echo "$output" | reads_all grep -q '300000 verified by CRC, 0 not verified'
}

@test "--recover of good files, of other files, and of no files" {
    "$GEN" text 10000 >data
    gzip -k data
    cp data plain.gz
    mv data original
    "$GZLZSS" --recover data.gz
    cmp original data
    [ -e data.gz ]
    exits 0 "$GZLZSS" --recover -vt data.gz
    [[ $output == *"data.gz: not damaged" ]]
    exits 1 "$GZLZSS" --recover -c plain.gz
    [[ $output == *"plain.gz: no compressed data found" ]]
    exits 1 "$GZLZSS" --recover plain.gz
    [ ! -e plain ]
    gzip -c </dev/null >empty.gz
    "$GZLZSS" --recover empty.gz
    [ -e empty ]
    [ ! -s empty ]
    "$GZLZSS" --recover <data.gz | cmp original -
    # shellcheck disable=SC2002 # The input has to be a pipe.
    exits 1 bash -c 'cat data.gz | "$GZLZSS_COMMAND" --recover'
    [[ $output == *"stdin: --recover needs a regular file, which it reads twice" ]]
    exits 1 "$GZLZSS" --recover -l data.gz
    exits 1 "$GZLZSS" --recover --fill=256 data.gz
}

@test "1000 damaged files: nothing wrong is verified" {
    local count
    mixed 60000 >data
    "$GZLZSS" -b 32 -c data >ours.gz
    "$GZLZSS" -0 -b 32 -c data >stored.gz
    "$GZLZSS" -R -c data >rsyncable.gz
    "$GZLZSS" -12 -c data >small.gz
    split -b 20000 data part.
    for part in part.*; do
        gzip -c "$part"
    done >members.gz
    gzip -6 -c data >gzip.gz
    gzip -1 -c data >fast.gz
    if have pigz; then
        pigz -b 128 -c data >pigz.gz
        pigz -i -b 128 -c data >independent.gz
    fi
    ! have bgzip || bgzip -c data >bgzf.gz
    count=$(rounds 100)
    for file in *.gz; do
        echo "$file"
        "$damage" data "$file" "$count"
    done
}

@test "-t and -d say where a file is damaged, below gzip's message" {
    local first=$'\n''gzlzss: all.gz: invalid compressed data--crc error'
    "$GEN" source 50000 1 | gzip -nc >all.gz
    size=$(stat -c %s all.gz)
    "$GEN" source 50000 2 | gzip -nc >>all.gz
    printf 'XXXX' | put $(($(stat -c %s all.gz) - 8)) all.gz
    exits 1 bash -c 'exec -a gzlzss "$GZLZSS_COMMAND" -t all.gz 2>&1'
    [ "$output" = "$first"$'\n'"gzlzss: all.gz: the member is bytes $size to $(($(stat -c %s all.gz) - 1)), output bytes 50000 to 99999; see --recover" ]
    exits 1 bash -c 'exec -a gzlzss "$GZLZSS_COMMAND" -qt all.gz 2>&1'
    [ "$output" = "$first" ]
    exits 1 bash -c 'exec -a gzip "$GZLZSS_COMMAND" -tv all.gz 2>&1'
    [[ $output != *--recover* ]]
    head -c $((size + 5000)) all.gz >cut.gz
    exits 1 bash -c 'exec -a gzlzss "$GZLZSS_COMMAND" -dc cut.gz 2>&1 >/dev/null'
    [[ $output == *"cut.gz: noticed near byte $((size + 5000)), output byte "*", in the member at byte $size, output byte 50000; see --recover" ]]
}

@test "-l --exact counts all members, and nothing else" {
    "$GEN" source 50000 1 | gzip -nc >all.gz
    "$GEN" source 30000 2 | gzip -nc >>all.gz
    size=$(stat -c %s all.gz)
    exits 0 "$GZLZSS" -l --exact all.gz
    [ "$(awk 'NR == 2 {print $1, $2, $4}' <<<"$output")" = "$size 80000 all" ]
    ratio=$(awk -v s="$size" 'BEGIN {printf "%.1f%%", 100 - 100 * (s - 36) / 80000}')
    [ "$(awk 'NR == 2 {print $3}' <<<"$output")" = "$ratio" ]
    cp all.gz garbage.gz
    printf 'x%.0s' {1..99} >>garbage.gz
    exits 2 "$GZLZSS" -l --exact all.gz garbage.gz
    [ "$(awk '/ garbage$/ {print $1, $2}' <<<"$output")" = "$size 80000" ]
    [ "$(awk '/totals/ {print $1, $2, $3}' <<<"$output")" = "$((2 * size)) 160000 $ratio" ]
    head -c 8000 all.gz >cut.gz
    exits 1 "$GZLZSS" -l --exact cut.gz
    [ "$output" = $'\n'"${GZLZSS##*/}: cut.gz: unexpected end of file" ]
    exits 0 "$GZLZSS" --exact all.gz
    [[ $output == *80000*all ]]
}
