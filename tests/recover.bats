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
    local size moved
    for i in 1 2 3 4 5; do
        "$GEN" source 50000 "$i" >part
        gzip -nc part >>all.gz
        cat part >>data
    done
    size=$(stat -c %s all.gz)
    "$GEN" random 500 | put $((size / 2)) all.gz
    exits 2 "$GZLZSS" --recover -vt all.gz
    [[ $output == *"output bytes 0 to 99999: verified by CRC"* ]]
    [[ $output == *"200000 verified by CRC"* ]]
    "$GZLZSS" --recover -qc all.gz >recovered || [ $? -eq 2 ]
    cmp -n 100000 data recovered
    # If the damaged member has another length, and nothing tells where, what follows is moved, and
    # a message says so.
    moved=$(($(stat -c %s recovered) - 250000))
    [[ $output == *"output bytes $((150000 + moved)) to $((249999 + moved)): verified by CRC"* ]]
    [ "$moved" -eq 0 ] || [[ $output == *"at 1 place, bytes may be missing or too many"* ]]
    cmp -i "150000:$((150000 + moved))" data recovered
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

# flip BYTE BIT FILE: inverts a bit of the file.
flip() {
    local byte
    byte=$(od -An -tu1 -j "$1" -N 1 "$3")
    # shellcheck disable=SC2059 # the format is the byte
    printf "\\x$(printf %02x $((byte ^ 1 << $2)))" | put "$1" "$3"
}

# first_difference ONE OTHER: prints the first byte that differs, counted from 1, or nothing.
first_difference() {
    { cmp "$1" "$2" 2>/dev/null || [ $? -eq 1 ]; } | sed -n 's/.* byte \([0-9]*\),.*/\1/p'
}

# flips COUNT FILE: makes COUNT copies of a file that holds `data`, each with one bit inverted, at
# spread-out places.  --recover must give all that gunzip gives.  Bytes before the data's start, to
# which damaged data may refer, are any bytes in gunzip, and zeros here.  Of a file of one member,
# nothing else may be given if gunzip comes to its end.  Prints how many copies have another length
# than `data` then.
flips() {
    local size at wrong ours members other_length=0
    members=$(LC_ALL=C grep -oUaP '\x1f\x8b\x08' "$2" | wc -l)
    size=$(stat -c %s "$2")
    for ((i = 0; i < $1; i++)); do
        at=$((10 + (size - 18) * (i + 1) / ($1 + 1)))
        cp "$2" flipped.gz
        flip "$at" $((i % 8)) flipped.gz
        gzip -dc flipped.gz >given 2>message || [ $? -le 2 ]
        "$GZLZSS" --recover -qc flipped.gz >recovered || [ $? -eq 2 ] || fail "bit $i of byte $at"
        if grep -q 'crc error\|length error' message; then
            { cmp -ln "$(stat -c %s given)" given recovered || [ $? -eq 1 ]; } >differences
            awk '$3 != 0' differences | diff /dev/null - ||
                fail "bit $((i % 8)) of byte $at: gunzip gives something else"
            [ "$(stat -c %s given)" -le "$(stat -c %s recovered)" ] || fail "byte $at: cut off"
            [ "$members" -gt 1 ] || [ "$(stat -c %s given)" -eq "$(stat -c %s recovered)" ] ||
                fail "byte $at: something is added"
            [ "$(stat -c %s given)" -eq "$(stat -c %s data)" ] || other_length=$((other_length + 1))
        else
            # gunzip has stopped; up to there, everything must be as good.
            wrong=$(first_difference data given)
            ours=$(first_difference data recovered)
            [ "${ours:-1000000}" -ge "${wrong:-1000000}" ] || fail "bit $((i % 8)) of byte $at"
        fi
    done
    echo "$other_length"
}

@test "a bit that is another: all that gunzip gives, nothing cut off, nothing added at the end" {
    "$GEN" source 300000 >data
    "$GZLZSS" -6nc data >data.gz
    # Such bits change the length in some copies: there is something to cut off or to fill up.
    [ "$(flips 53 data.gz)" -ge 10 ]
    gzip -9nc data >gzip.gz
    flips 12 gzip.gz
    # Of two segments, nothing tells which one has the wrong length.
    "$GZLZSS" -6nb 200 -c data >two.gz
    flips 12 two.gz
    for part in 1 2 3 4; do
        tail -c +$(((part - 1) * 75000 + 1)) data | reads_all head -c 75000 | gzip -nc
    done >members.gz
    flips 12 members.gz
    "$GZLZSS" --format=bgzf -nc data >bgzf.gz
    flips 12 bgzf.gz
}

@test "a bit that is another: messages, and what may be moved" {
    local length
    "$GEN" source 300000 >data
    "$GZLZSS" -6nc data >data.gz
    # Look for a bit that changes the length.
    for ((at = 5000; ; at += 1000)); do
        cp data.gz flipped.gz
        flip "$at" 1 flipped.gz
        gzip -dc flipped.gz >given 2>message || [ $? -eq 1 ]
        length=$(stat -c %s given)
        ! grep -q 'crc error\|length error' message || [ "$length" -eq 300000 ] || break
    done
    exits 2 "$GZLZSS" --recover -t flipped.gz
    sed "s/^${GZLZSS##*/}: flipped.gz: //; s/, and its/,\\
    and its/; s/, may/,\\
    may/; s/, 0 unknown/,\\
    0 unknown/; s/, so/,\\
    so/" <<<"$output" >messages
    diff - messages <<EOF
bytes 0 to $(($(stat -c %s data.gz) - 1)): a member with the wrong CRC: it has $length bytes,
    and its trailer says 300000
output bytes 0 to $((length - 1)): not verified,
    may be wrong and moved from some byte on
$length bytes found: 0 verified by CRC, $length not verified (they may be wrong),
    0 unknown or lost
at 1 place, bytes may be missing or too many,
    so what comes after may be moved
EOF
}

@test "a member whose length alone is wrong is verified" {
    "$GEN" source 50000 >data
    gzip -nc data >length.gz
    printf '\001' | put $(($(stat -c %s length.gz) - 1)) length.gz
    gzip -nc data >>length.gz
    exits 2 "$GZLZSS" --recover -k length.gz
    cat data data >both
    cmp both length
    grep -q "a member with the wrong length: it has 50000 bytes, and its trailer says $((50000 + (1 << 24))), but its CRC is right" <<<"$output"
    grep -q '100000 bytes written: 100000 verified by CRC, 0 not verified, 0 unknown' <<<"$output"
    [ "$(wc -l <<<"$output")" -eq 2 ]
    exits 2 "$GZLZSS" --recover -qt length.gz
    [ -z "$output" ]
}

@test "a segment with a wrong length is cut or filled up; a lost mark cuts nothing" {
    local mark size=$((64 << 10)) at
    "$GEN" source $((12 * size + 1000)) >data
    "$GZLZSS" -6nb 64 -c data >data.gz
    # Change bits of the fourth segment: the others keep their places.
    mark=$(marks data.gz | sed -n 4p)
    for at in 2000 3001 4002 5003 6004 7005; do
        cp data.gz flipped.gz
        flip $((mark + at)) $((at % 8)) flipped.gz
        "$GZLZSS" --recover -qc flipped.gz >recovered || [ $? -eq 2 ]
        [ "$(stat -c %s data)" -eq "$(stat -c %s recovered)" ]
        different data recovered | awk -v size=$size '{print int(($1 - 1) / size)}' | sort -u >wrong
        echo 4 | diff - wrong
    done
    # Change a bit of padding in the mark: the data is whole, but two segments look like one.
    cp data.gz flipped.gz
    flip $((mark + 4)) 7 flipped.gz
    gzip -dc flipped.gz >given
    cmp data given
    flip $(($(stat -c %s data.gz) - 8)) 0 flipped.gz
    "$GZLZSS" --recover -qc flipped.gz >recovered || [ $? -eq 2 ]
    cmp data recovered
}

# repeat PART SIZE FILE: fills the file with the part (a format for printf), again and again.
repeat() {
    # shellcheck disable=SC2059 # the part is a format
    printf "$1" >"$3"
    while [ "$(stat -c %s "$3")" -lt "$2" ]; do
        cat "$3" "$3" >twice
        mv twice "$3"
    done
    truncate -s "$2" "$3"
}

@test "a damaged place after much output of little input: nothing is passed over" {
    head -c 2097152 /dev/zero | "$GZLZSS" -nb 1024 -c >zeros.gz
    # A segment of 1 MiB, 500 times.
    tail -c +11 zeros.gz | reads_all head -c $(($(marks zeros.gz | sed -n 1p) - 1)) >segment
    "$GEN" source 1000000 | "$GZLZSS" -nb 64 -c >data.gz
    # A block of no type, after a mark.
    printf '\007' | put $(($(marks data.gz | sed -n 3p) + 9)) data.gz
    {
        head -c 10 zeros.gz
        for ((i = 0; i < 500; i++)); do
            cat segment
        done
        tail -c +11 data.gz
    } >large.gz
    exits 2 "$GZLZSS" --recover -t large.gz
    [[ $output == *"invalid compressed data"* ]] || fail "$output"
    [[ $output != *"passed over"* ]] || fail "$output"
}

@test "one damaged place among many short blocks that refer back" {
    # A block that copies from the one before it, and an empty block.
    repeat '\302\024\001\0\0\0\377\377' 80000 blocks
    {
        printf '\037\213\010\0\0\0\0\0\0\003'
        printf '\112\257\322\121\050\316\310\057\052\121\110\312\311\117\316\056\326\123'
        printf '\0\0\0\0\377\377'
        cat blocks
        printf '\003\0trailer.'
    } >short.gz
    printf '\007' | put 40034 short.gz
    exits 2 "$GZLZSS" --recover -k short.gz
    [ "$(grep -c 'invalid compressed data' <<<"$output")" -eq 1 ] || fail "$output"
}

@test "as many damaged places as there can be: little time, few messages, and true sums" {
    local size=4000000 lines
    # A mark, a stored block, and a block of no type: a damaged place in every 35 bytes.
    repeat '\0\0\377\377\0\0\0\377\377\0\024\0\353\377xxxxxxxxxxxxxxxxxxxx\007' $size gaps.gz
    # About 60 times as much as it takes.  A search for each place would take minutes.
    exits 2 bash -c 'ulimit -t 20 && exec "$GZLZSS_COMMAND" --recover -k gaps.gz'
    lines=$(wc -l <<<"$output")
    [ "$lines" -le $((100 + 8 * 4 + 4)) ] || fail "$lines lines"
    grep -q 'more damaged places, not listed; 0 bytes verified by CRC, ' <<<"$output"
    grep -q 'too many damaged places: [0-9]* bytes of the file were passed over' <<<"$output"
    # Nothing but the data is written, and the sums are those of the lines.
    [ -z "$(tr -d x <gaps)" ]
    awk '/: not verified,/ {for (i = 1; i < NF; i++) if ($i == "to") sum += $(i + 1) - $(i - 1) + 1}
        / not verified$/ {sum += $(NF - 2)}
        / bytes written: / {for (i = 1; i < NF; i++) if ($i == "written:") all = $(i - 2)}
        END {exit sum != all}' <<<"$output"
    # Half of the bytes look like the start of a header, each of which takes 1 us to check.
    repeat '\275\266' $size headers.gz
    printf '\037\213\010\0\0\0\0\0\0\003\007' | put 0 headers.gz
    exits 1 bash -c 'ulimit -t 20 && exec "$GZLZSS_COMMAND" --recover -t headers.gz'
    [[ $output == *"headers.gz: no compressed data found" ]]
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

@test "a page that can be read once: what is called verified is right" {
    "$GEN" random 3000000 >data
    gzip -nc data >data.gz
    "$damage" data data.gz 30
}

@test "zeros that are data: all that gunzip gives" {
    for part in 1 2 3 4; do
        "$GEN" random 3000 "$part"
        head -c 50000 /dev/zero
    done >data
    "$GZLZSS" --huffman -nc data >data.gz
    cp data.gz crc.gz
    flip $(($(stat -c %s crc.gz) - 8)) 0 crc.gz
    "$GZLZSS" --recover -qc crc.gz >recovered || [ $? -eq 2 ]
    cmp data recovered
    head -c $(($(stat -c %s data.gz) - 10)) data.gz >cut.gz
    gzip -dc cut.gz >given || [ $? -eq 1 ]
    "$GZLZSS" --recover -qc cut.gz >recovered || [ $? -eq 2 ]
    [ -s given ]
    cmp given recovered
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
