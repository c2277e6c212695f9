#!/usr/bin/env bats
# decompress.bats - several members, padding, garbage and damage: gzlzss does and says what GNU gzip
# does

load helpers

# Makes the good and bad files for all tests once, in "case".  Each test gets a copy.
setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    mkdir case
    cd case || return 1
    "$GEN" text 100000 >plain
    "$GEN" binary 30000 >other
    "$GZLZSS" -c plain >good.gz
    "$GZLZSS" -c other >other.gz
    cat good.gz other.gz good.gz >three.gz
    { cat good.gz; head -c 1000 /dev/zero; } >padded.gz
    { cat good.gz; echo garbage; } >garbage.gz
    { cat good.gz; printf '\037\213'; } >cut-member.gz
    { cat good.gz; head -c 10 /dev/zero; cat other.gz; } >padded-member.gz
    : >empty.gz
    cp plain text.gz
    size=$(wc -c <good.gz)
    # Truncate the file in the magic number, in the header, in the name, at the start of the data,
    # in the data, and before, in and at the end of the trailer.
    for n in 1 2 5 10 12 16 17 100 $((size / 2)) $((size - 9)) $((size - 8)) $((size - 5)) \
        $((size - 4)) $((size - 1)); do
        head -c "$n" good.gz >"cut-$n.gz"
    done
    damage good.gz 0 '\036' magic.gz
    damage good.gz 2 '\007' method.gz
    damage good.gz 3 '\050' flags.gz
    damage good.gz $((size - 8)) '\252\125' crc.gz
    damage good.gz $((size - 3)) '\252' length.gz
    damage good.gz $((size / 2)) '\000\377\000\377\000\377' data.gz
    damage good.gz 16 '\377\377' block.gz
}

setup() {
    enter_test_directory
    cp -a "$BATS_FILE_TMPDIR/case" .
}

# damage FROM OFFSET BYTES TO: copies FROM to TO, with BYTES at the offset.
damage() {
    cp "$1" "$4"
    # shellcheck disable=SC2059 # printf converts the escapes in it.
    printf "$3" | dd of="$4" bs=1 seek="$2" conv=notrunc status=none
    ! cmp -s "$1" "$4" || fail "$4 was meant to differ"
}

@test "extra fields are told of once a file, however many members have one" {
    # Make a file as bgzip does: members with an extra field of six bytes, and an empty member at
    # the end.
    local i some=50 name=${GZLZSS##*/}
    block='\037\213\010\004\0\0\0\0\0\003\006\0BC\002\0%b%b'
    # shellcheck disable=SC2059 # printf converts the escapes in it.
    printf "$block" '\037\0' '\313\110\315\311\311\007\0\206\246\020\066\005\0\0\0' >member
    for ((i = 0; i < some; i++)); do
        cat member
    done >bgzf.gz
    # shellcheck disable=SC2059
    printf "$block" '\033\0' '\003\0\0\0\0\0\0\0\0\0' >>bgzf.gz
    cat case/good.gz member member >later.gz
    ends_with 0 "$GZLZSS" -t bgzf.gz
    stderr_is
    ends_with 0 "$GZLZSS" -tv bgzf.gz later.gz bgzf.gz
    stderr_is "$name: bgzf.gz: extra field of 6 bytes ignored" $'bgzf.gz:\t OK' \
        $'later.gz:\t'"$name: later.gz: extra field of 6 bytes ignored" ' OK' \
        "$name: bgzf.gz: extra field of 6 bytes ignored" $'bgzf.gz:\t OK'
    for option in -tvv -lv -lvv; do
        for threads in 1 2 4; do
            GZLZSS_TEST_REGION=64 ends_with 0 "$GZLZSS" $option -p$threads bgzf.gz
            [ "$(grep -c 'extra field' stderr)" -eq 1 ] || fail "$option -p$threads"
        done
    done
    ends_with 0 "$GZLZSS" -dkv bgzf.gz
    [ "$(grep -c 'extra field' stderr)" -eq 1 ]
    [ "$(wc -c <bgzf)" -eq $((5 * some)) ]
}

@test "members one after another" {
    cat case/plain case/other case/plain >expected
    "$GZLZSS" -dc case/three.gz | cmp - expected
    # shellcheck disable=SC2002 # The input has to be a pipe.
    cat case/three.gz | "$GZLZSS" -d | cmp - expected
    "$GZLZSS" -t case/three.gz
    "$GZLZSS" -d case/three.gz
    cmp case/three expected
    # Try a file of many small members.
    for n in $(seq 100); do
        "$GEN" text "$n" >part
        "$GZLZSS" <part >>many.gz
        cat part >>many-expected
    done
    "$GZLZSS" -dc many.gz | cmp - many-expected
}

@test "zero bytes after the last member are padding" {
    ends_with 0 "$GZLZSS" -dc case/padded.gz
    stderr_is
    cmp stdout case/plain
}

@test "garbage after the last member is a warning, and the data is right" {
    ends_with 2 "$GZLZSS" -dk case/garbage.gz
    grep -q 'garbage\.gz: decompression OK, trailing garbage ignored' stderr
    cmp case/garbage case/plain
    ends_with 2 "$GZLZSS" -dc case/garbage.gz
    cmp stdout case/plain
    ends_with 2 "$GZLZSS" -qdc case/garbage.gz
    stderr_is
    cmp stdout case/plain
    ends_with 2 "$GZLZSS" -t case/garbage.gz
}

@test "a file that breaks off is an error and leaves no output" {
    local f n size
    size=$(wc -c <case/good.gz)
    for f in case/cut-*.gz case/empty.gz; do
        ends_with 1 "$GZLZSS" -d "$f"
        [ -s stderr ]
        absent "${f%.gz}"
        [ -e "$f" ] || fail "$f is gone"
        ends_with 1 "$GZLZSS" -t "$f"
        ends_with 1 "$GZLZSS" -dc "$f"
        # The output before the error is right.
        cmp -n "$(wc -c <stdout)" stdout case/plain
    done
    # If only the trailer is incomplete, all data is written.
    for n in 8 5 4 1; do
        ends_with 1 "$GZLZSS" -dc "case/cut-$((size - n)).gz"
        cmp stdout case/plain
    done
}

@test "a damaged file is an error and leaves no output" {
    for f in magic method flags crc length data block text; do
        ends_with 1 "$GZLZSS" -d "case/$f.gz"
        [ "$(grep -c "case/$f.gz[: ]" stderr)" -ge 1 ]
        absent "case/$f"
        [ -e "case/$f.gz" ]
        ends_with 1 "$GZLZSS" -t "case/$f.gz"
        ends_with 1 "$GZLZSS" -dqc "case/$f.gz"
        [ -s stderr ]
    done
}

# In a build with sanitizers, this test is skipped, because tests/fuzz/mutate tries damaged bytes in
# all formats.
@test "a damaged byte anywhere is noticed" {
    without_sanitizers
    # The file is small, so that the test can damage each byte.  If a bit is flipped, the command
    # must either write the same output or fail.
    "$GEN" source 300 >small
    "$GZLZSS" -nc small >small.gz
    # Build the file from octal numbers in the shell: a process for each of the many steps would
    # take too long.
    od -A n -v -t o1 -w1 small.gz | tr -d ' ' >numbers
    mapfile -t bytes <numbers
    [ "${#bytes[@]}" -eq "$(wc -c <small.gz)" ]
    for ((i = 10; i < ${#bytes[@]}; i++)); do
        damaged=("${bytes[@]}")
        printf -v "damaged[i]" %03o $((8#${bytes[i]} ^ 1 << i % 8))
        printf %b "${damaged[@]/#/\\0}" >damaged.gz
        if "$GZLZSS" -dc damaged.gz >out 2>/dev/null; then
            cmp out small
        fi
    done
    # Check that the loop damages files: the last damaged file must differ from the original only in
    # its last byte.
    ! cmp -s damaged.gz small.gz || fail "nothing was damaged"
    cmp -n $((${#bytes[@]} - 1)) damaged.gz small.gz
}

@test "an output that exists stays as it is, after errors too" {
    for f in crc cut-100 garbage good; do
        echo precious >"case/$f"
        ends_with 2 "$GZLZSS" -d "case/$f.gz"
        [ "$(cat "case/$f")" = precious ]
        [ -e "case/$f.gz" ]
    done
    ends_with 0 "$GZLZSS" -df case/good.gz
    cmp case/good case/plain
}

@test "-t writes nothing" {
    ends_with 0 "$GZLZSS" -t case/good.gz case/three.gz
    stderr_is
    [ ! -s stdout ]
    absent case/good case/three
    ends_with 1 "$GZLZSS" -t case/good.gz case/crc.gz case/three.gz
    [ "$(grep -v 'see --recover$' stderr | grep -c .)" -eq 1 ]
    ends_with 0 "$GZLZSS" -tv case/good.gz case/three.gz
    [ "$(grep -c 'OK$' stderr)" -eq 2 ]
    "$GZLZSS" -t <case/good.gz
}

@test "-dc of several files, one of which is damaged" {
    ends_with 1 "$GZLZSS" -dc case/good.gz case/magic.gz case/other.gz
    cat case/plain case/other | cmp - stdout
}

@test "an empty file inside" {
    "$GEN" text 0 | "$GZLZSS" >nothing.gz
    "$GZLZSS" -d nothing.gz
    [ -e nothing ]
    [ ! -s nothing ]
}

# shellcheck disable=SC2016 # In all of these tests, same_as_gzip's shell expands $TOOL.
@test "as gzip: good files" {
    rm case/other
    all_same_as_gzip '$TOOL -d good.gz' '$TOOL -dk three.gz' '$TOOL -dc three.gz good.gz' \
        '$TOOL -t good.gz three.gz other.gz' '$TOOL -tv good.gz three.gz' '$TOOL -d <three.gz' \
        'cat good.gz other.gz | $TOOL -dc' '$TOOL -t <good.gz' '$TOOL -dv good.gz other.gz' \
        '$TOOL -dkv good.gz' '$TOOL -dqk good.gz' '$TOOL -dcn good.gz'
}

# shellcheck disable=SC2016
@test "as gzip: padding and garbage" {
    all_same_as_gzip '$TOOL -d padded.gz' '$TOOL -t padded.gz' '$TOOL -dc padded.gz good.gz' \
        '$TOOL -d garbage.gz' '$TOOL -dc garbage.gz good.gz' '$TOOL -t garbage.gz' \
        '$TOOL -dq garbage.gz' '$TOOL -d <garbage.gz' '$TOOL -t cut-member.gz' \
        '$TOOL -d cut-member.gz' '$TOOL -d padded-member.gz' 'cat garbage.gz | $TOOL -d'
}

# shellcheck disable=SC2016
@test "as gzip: padding is worth a warning to -v" {
    all_same_as_gzip '$TOOL -tv padded.gz 2>/dev/null' '$TOOL -dv padded.gz 2>/dev/null'
}

# gzip stops at a truncated file; gzlzss goes on to the next file.
# shellcheck disable=SC2016
@test "as gzip: files that break off" {
    all_same_as_gzip 'for f in cut-*.gz empty.gz; do $TOOL -d $f; echo $? >&2; done' \
        'for f in cut-*.gz empty.gz; do $TOOL -d <$f >/dev/null; echo $? >&2; done' \
        '$TOOL -t cut-100.gz' '$TOOL -t <cut-17.gz' '$TOOL -d good.gz cut-100.gz'
}

# gzip prints two lines if both the CRC and the length are wrong; gzlzss prints one.
# shellcheck disable=SC2016
@test "as gzip: damaged files" {
    all_same_as_gzip '$TOOL -d magic.gz' '$TOOL -t magic.gz' '$TOOL -d <magic.gz' \
        '$TOOL -d crc.gz' '$TOOL -t crc.gz' '$TOOL -d <crc.gz' '$TOOL -d length.gz' \
        '$TOOL -d data.gz 2>/dev/null' '$TOOL -t data.gz 2>/dev/null' '$TOOL -d block.gz' \
        '$TOOL -d text.gz' '$TOOL -t <text.gz' '$TOOL -tq crc.gz' \
        '$TOOL -t crc.gz good.gz magic.gz' '$TOOL -dc good.gz magic.gz other.gz' \
        '$TOOL -tv good.gz crc.gz 2>/dev/null' '$TOOL -tv garbage.gz good.gz 2>/dev/null'
}

# Each file contains "aa", with the right CRC and length.  In each file except the first, one of the
# Huffman codes is incomplete, which means that some bit patterns have no meaning.  ISA-L alone
# would accept all of these files.
# shellcheck disable=SC2016
@test "as gzip: codes that are not complete" {
    for name in complete literals distances lengths; do
        case $name in
        complete) data='\005\300\201\010\000\000\000\000\040\326\375\045\216' ;;
        literals) data='\005\200\201\010\000\000\000\200\130\367\227\070\020' ;;
        distances) data='\005\300\201\000\000\000\000\200\040\326\374\045\232' ;;
        lengths) data='\005\300\201\014\000\000\000\000\060\326\372\113\064\004' ;;
        esac
        printf '\037\213\010\000\000\000\000\000\000\003%b\327\031\212\007\002\000\000\000' \
            "$data" >"case/$name.gz"
        run "$GZLZSS" -dc "case/$name.gz"
        if [ "$name" = complete ]; then
            [ "$status" -eq 0 ]
            [ "$output" = aa ]
        else
            [ "$status" -eq 1 ]
            [[ $output == *"format violated"* ]]
        fi
    done
    all_same_as_gzip '$TOOL -dv complete.gz' '$TOOL -t literals.gz' '$TOOL -d literals.gz' \
        '$TOOL -t distances.gz' '$TOOL -dc <distances.gz' '$TOOL -t lengths.gz' \
        '$TOOL -tv complete.gz lengths.gz' '$TOOL -d lengths.gz good.gz'
}

# The input ends at some byte after a block's header.  If the input ends early, it must count as
# truncated; if the input ends later, its header must count as bad.  zlib alone would ask for more
# input in both cases.
# shellcheck disable=SC2016
@test "as gzip: a block without any code" {
    local bytes n
    # The headers of two dynamic blocks.  One lists 4 lengths and the other 19 lengths for the code
    # of the code lengths; all of these lengths are 0, so this code has no codewords.
    for bytes in '\144\000\000' '\144\340\001'; do
        for n in $(seq 0 70); do
            printf '\037\213\010\000\060\060\060\060\060\060%b' "$bytes" >"case/cut-$n.gz"
            head -c "$n" /dev/zero >>"case/cut-$n.gz"
        done
        all_same_as_gzip 'for n in $(seq 0 70); do $TOOL -dc cut-$n.gz; echo $? >&2; done' \
            'for n in $(seq 0 70); do cat cut-$n.gz | $TOOL -t; echo $? >&2; done'
    done
}

# shellcheck disable=SC2016
@test "as gzip: an unknown method, unknown flags" {
    all_same_as_gzip '$TOOL -d method.gz' '$TOOL -d <method.gz' '$TOOL -d flags.gz 2>/dev/null'
}

# shellcheck disable=SC2016
@test "as gzip: an output that exists" {
    rm case/other
    for f in good crc; do
        echo precious >case/$f
        touch -d @1000000000 case/$f
    done
    ln -s plain case/garbage
    mkdir case/length
    all_same_as_gzip '$TOOL -d good.gz other.gz' '$TOOL -df good.gz' '$TOOL -dc good.gz' \
        '$TOOL -d crc.gz' '$TOOL -df crc.gz' '$TOOL -d length.gz' '$TOOL -t good.gz' \
        '$TOOL -df garbage.gz' '$TOOL -d garbage.gz'
}

# gzip decodes data that refers to bytes before its start, and reports only a wrong checksum (man
# gzlzss, DIFFERENCES).
@test "data that refers to bytes before their start is invalid there" {
    # A fixed block: the letter a, a match of three bytes at distance two, and the end of the block.
    printf '\x1f\x8b\x08\0\0\0\0\0\0\x03\x4b\x04\x42\0\0\0\0\0\x04\0\0\0' >far.gz
    local status=0
    "$GZLZSS" -dc far.gz >out 2>err || status=$?
    [ "$status" -eq 1 ]
    [ "$(cat out)" = a ]
    grep -q "far.gz: invalid compressed data--format violated" err
}
