#!/usr/bin/env bats
# formats.bats - .Z, pack, lzh and zip: good and damaged files give the same output and messages as
# with GNU gzip
#
# tests/encode makes the files.  tests/decode decompresses them with the command's own functions,
# and prints everything that these report.  So these tests compare the code in compat/ with gzip,
# byte for byte.

load helpers

setup() {
    enter_test_directory
    ENCODE=${GEN%/*}/encode
    DECODE=${GEN%/*}/decode
}

# The encodings of the tests.  The two tests with damaged files use only the first list.
encodings=("lzw 16 1 0" "lzw 16 0 0" "lzw 12 1 90" "pack 24" "pack 9" "lzh 65535" "lzh 50"
    "zip 8 0" "zip 8 8" "zip 0 0")
more_encodings=("lzw 9 1 0" "lzw 9 0 0" "lzw 10 0 0" "lzw 13 1 5000" "lzh 1000")

# encode ENCODING: compresses standard input.  The words of ENCODING are arguments of tests/encode.
encode() {
    # shellcheck disable=SC2086
    "$ENCODE" $1
}

# same_decoding MODE FILE...: gzip and tests/decode must give the same standard output, messages and
# exit status.  If the data is wrong, one output may be shorter than the other, because gzip writes
# a window at a time, and does not write the last part before the error.
same_decoding() {
    local theirs=0 ours=0 mode=$1 difference gzip_said we_said
    shift
    gzip "-$mode" "$@" >gzip.out 2>gzip.err </dev/null || theirs=$?
    "$DECODE" "-${mode: -1}" "$@" >decode.out 2>decode.err || ours=$?
    # `read` reads a whole file here without starting a process.
    IFS= read -r -d '' gzip_said <gzip.err || true
    IFS= read -r -d '' we_said <decode.err || true
    [ "$theirs" -eq "$ours" ] ||
        fail "$*: exit status $ours, gzip's $theirs; $gzip_said" || return 1
    if ! difference=$(cmp gzip.out decode.out 2>&1) &&
        { [ "$ours" -ne 1 ] || [[ $difference != "cmp: EOF on "* ]]; }; then
        fail "$*: $difference" || return 1
    fi
    [ "$gzip_said" = "$we_said" ] || fail "$*: other messages:" "$gzip_said" "$we_said"
}

# same_deflate_decoding MODE FILE: like same_decoding, but for damaged data, gzip may print another
# error than tests/decode.  The reason is that gzip accepts matches that reach back before the
# data's start, and notices only later that the CRC or the length is wrong.
same_deflate_decoding() {
    same_decoding "$@" >why || { [ -s decode.err ] &&
        printf '\ngzip: %s: invalid compressed data--format violated\n' "$2" |
        cmp -s - decode.err &&
        [ -s gzip.err ]; } || fail "$(cat why)"
}

@test "good files, by the command" {
    local n kind e
    for n in 1 3 256 70000; do
        for kind in text random; do
            "$GEN" "$kind" "$n" >plain
            for e in "${encodings[@]}" "${more_encodings[@]}"; do
                encode "$e" <plain >packed.gz
                "$GZLZSS" -dc packed.gz | cmp - plain || fail "$e, $kind $n"
                "$GZLZSS" -t <packed.gz
            done
        done
    done
    n=3000001
    ! is_sanitized || n=500001
    "$GEN" mixed $n >plain
    for e in "${encodings[@]}" "${more_encodings[@]}"; do
        encode "$e" <plain >packed.gz
        "$GZLZSS" -dk packed.gz
        cmp packed plain
        rm packed
    done
}

@test "as gzip: good files" {
    without_sanitizers
    have_gnu_gzip || skip "GNU gzip is not installed"
    local spec e
    for spec in "text 0" "text 1" "text 2" "source 3000" "random 3000" "zeros 100000" \
        "mixed 500000"; do
        # shellcheck disable=SC2086
        "$GEN" $spec >plain
        for e in "${encodings[@]}" "${more_encodings[@]}"; do
            encode "$e" <plain >packed
            same_decoding dc packed
            if [ ! -s plain ] && [ "${e% *}" = pack ]; then
                continue # an empty file, which this format cannot express
            fi
            cmp decode.out plain || fail "$e, $spec"
        done
    done
}

@test "as gzip: what compress and zip make" {
    without_sanitizers
    have_gnu_gzip || skip "GNU gzip is not installed"
    have compress || have zip || skip "compress and zip are not installed"
    local n bits
    for n in 1 300 20000 700000; do
        "$GEN" mixed "$n" >plain
        if have compress; then
            for bits in 10 12 15 16; do
                compress -b "$bits" -c plain >plain.Z || [ $? -eq 2 ] # status 2: the output is larger
                same_decoding dc plain.Z
                cmp decode.out plain
            done
        fi
        if have zip; then
            zip -q - plain >piped.zip # puts the sizes after the data, as it cannot seek
            rm -f two.zip
            cp plain other
            zip -q two.zip plain other
            for f in piped.zip two.zip; do
                same_decoding dc "$f"
                cmp decode.out plain
            done
        fi
    done
}

@test "as gzip: every truncation" {
    without_sanitizers
    have_gnu_gzip || skip "GNU gzip is not installed"
    local e f
    "$GEN" text 60 >plain
    for e in "${encodings[@]}"; do
        encode "$e" <plain >whole
        rm -f cut*
        "$ENCODE" cut cut <whole
        for f in cut*; do
            same_decoding dc "$f" || fail "$e"
        done
    done
}

@test "as gzip: damage" {
    without_sanitizers
    have_gnu_gzip || skip "GNU gzip is not installed"
    local e f seed=1
    for e in "${encodings[@]}"; do
        "$GEN" binary 400 | encode "$e" >whole
        "$ENCODE" damage $((seed++)) 50 damaged <whole
        for f in damaged*; do
            if [ "${e%% *}" = zip ]; then
                same_deflate_decoding dc "$f" || fail "$e, seed $seed"
            else
                same_decoding dc "$f" || fail "$e, seed $seed"
            fi
        done
    done
}

# Makes a small good file in each format, and the .gz file "member".
make_parts() {
    "$GEN" text 200 >plain
    for e in lzw-16-1-0 pack-24 lzh-100 zip-8-0 zip-8-8 zip-0-0; do
        encode "${e//-/ }" <plain >"${e%%-*}${e##*-}"
    done
    mv lzw0 lzw
    mv pack24 pack
    mv lzh100 lzh
    "$GEN" text 100 | gzip -n >member
}

@test "as gzip: what follows a member" {
    without_sanitizers
    have_gnu_gzip || skip "GNU gzip is not installed"
    local a b tail
    make_parts
    for a in lzw pack lzh zip0 zip8 member; do
        for b in lzw pack lzh zip0 zip8 member; do
            cat "$a" "$b" >both
            same_decoding dc both
            cat pack "$a" "$b" >both
            same_decoding dc both
        done
        for tail in '\0' '\0\0\0\0' '\0\0\037\213' P PK 'PK\3\4' 'PK\3\4a' '\037' '\037\235' \
            '\037\235\221' '\037\235\340a' '\037\036' '\037\240' '\037\213\010\300' garbage; do
            # shellcheck disable=SC2059
            { cat "$a"; printf "$tail"; } >both
            same_decoding dc both || fail "$a and $tail"
        done
    done
}

@test "as gzip: which errors keep it from the next file" {
    have_gnu_gzip || skip "GNU gzip is not installed"
    local f mode
    make_parts
    patch lzw 2 '\221' bits
    patch lzw 2 '\372' flags-bits
    patch lzw 2 '\340' flags
    patch lzw 3 '\377\377' first-code
    patch lzw 30 '\377\377' code
    patch pack 6 '\032' code-length
    patch pack 7 '\002' many-leaves
    patch pack 5 '\001' pack-length
    printf '\037\036\0\0\0\1\2\0\0abc' >few-leaves
    patch lzh 4 '\377\377\377\377' table
    patch zip0 6 '\1' zip-encrypted
    patch zip0 8 '\1' zip-method
    patch zip0 14 'abc' zip-crc
    patch zip0 22 'abc' zip-length
    patch zip0 39 '\377' zip-data
    encode "zip 0 0" <plain >stored
    patch stored 18 'a' zip-stored-length
    head -c 35 zip0 >zip-header
    cat zip0 zip0 >zip-entries
    patch zip-entries 14 'abc' zip-entries-crc
    patch zip-entries 14 'abcdefghijk' zip-entries-both
    patch member 2 '\7' method
    patch member 3 '\40' encrypted
    patch member 3 '\310' reserved
    patch member 3 '\2' header-crc
    patch member $(($(stat -c %s member) - 8)) 'abc' crc
    patch member $(($(stat -c %s member) - 4)) 'abc' length
    patch member $(($(stat -c %s member) - 8)) 'abcdefg' crc-length
    patch member 10 '\377' data
    { cat member; echo garbage; } >garbage
    head -c 20 member >broken
    : >empty
    for f in lzw pack lzh zip0 zip8 member bits flags-bits flags first-code code code-length \
        many-leaves few-leaves pack-length table zip-encrypted zip-method zip-crc zip-length \
            zip-data zip-stored-length zip-header zip-entries zip-entries-crc zip-entries-both \
            method encrypted reserved header-crc crc length crc-length data garbage broken empty \
            plain; do
        for mode in dc t; do
            same_decoding "$mode" "$f" member || fail "-$mode $f"
        done
        same_decoding dcf "$f"
        list_is_gzips "$f"
    done
}

# patch FROM OFFSET BYTES TO: copies FROM to TO, with BYTES at the offset.
patch() {
    cp "$1" "$4"
    # shellcheck disable=SC2059
    printf "$3" | dd of="$4" bs=1 seek="$2" conv=notrunc status=none
}

# list_is_gzips FILE: the list of tests/decode must have the same numbers as the list of `gzip -lv`,
# whether or not the file has an error.
list_is_gzips() {
    gzip -lv "$1" >gzip.lines 2>/dev/null || true
    awk 'NR > 1 { print $1, $2, $6, $7, $8 }' gzip.lines >gzip.list
    "$DECODE" -l "$1" >decode.list 2>/dev/null || true
    cmp gzip.list decode.list || fail "$1: $(cat gzip.list decode.list)"
}

@test "as gzip: -f copies what is nothing it knows" {
    without_sanitizers
    have_gnu_gzip || skip "GNU gzip is not installed"
    local bytes
    make_parts
    # shellcheck disable=SC2059
    for bytes in '' P PK 'PK\3' 'PK\3\4' 'PK\3\4abc' 'PK\4\4abc' '\037' '\037\235' '\037\036' \
        '\037\240' '\037\213' '\0' '\0\0\1' hello; do
        printf "$bytes" >input
        same_decoding dcf input || fail "$bytes"
        { cat pack; printf "$bytes"; } >input
        same_decoding dcf input || fail "pack and $bytes"
    done
}

@test "as gzip: -l" {
    without_sanitizers
    have_gnu_gzip || skip "GNU gzip is not installed"
    local a b
    make_parts
    cp plain "a name"
    gzip -c "a name" >named
    for a in lzw pack lzh zip0 zip8 member named; do
        list_is_gzips "$a"
        [ "$(wc -l <gzip.list)" -eq 1 ]
        for b in lzw pack member named; do
            cat "$a" "$b" >both
            list_is_gzips both
        done
    done
    "$GEN" mixed 2000000 >large
    for e in "${encodings[@]}"; do
        encode "$e" <large >packed
        list_is_gzips packed
    done
    { cat zip0; head -c 1000000 /dev/zero; } >followed
    list_is_gzips followed
}
