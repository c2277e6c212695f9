#!/usr/bin/env bats
# verify.bats - --verify finds every damage between compression and the output, and nothing else
#
# GZLZSS_TEST_BAD_SEGMENT=N makes the command encode segment N of each file wrongly.
# tests/wrong_write.c damages output files while they are written.

load helpers

setup() {
    enter_test_directory
    without_sanitizers # unit tests and the fuzzers run the decoder with them
    export GZLZSS_TEST_GPU_MIN=0 # only for the emulated GPU
    emulated=${GEN%gen}emulated_gzlzss
}

# The options of each kind of output; with them, a file of 300 kB has several segments.
kinds=('-1 -b 64' '-6 -b 64' '-9 -b 64' '-12 -b 64' '-0 -b 64' '-6 -R' '--huffman -b 64'
    '--format=bgzf' '-0 --format=bgzf' '--zlib -b 64' '--zip -b 64' '--format=raw -b 64')

# Makes files of no bytes, of one small segment, and of several segments.
make_files() {
    : >empty
    "$GEN" text 300 >tiny
    "$GEN" source 30000 >small
    "$GEN" mixed 300000 >large
    "$GEN" random 200000 >noise
}

# Sets $shim to the shared object that damages outputs (tests/wrong_write.c).
need_shim() {
    shim=${GEN%gen}.libs/wrong_write.so
    [ -e "$shim" ] || skip "there is no shared object to load"
    echo x >probe
    damaged flip 3 "$GZLZSS" -k probe || skip "it cannot be loaded"
    [ "$(hex probe.gz 3 1)" = 18 ] || skip "it has no effect"
    rm probe probe.gz
}

# damaged WAY BYTE COMMAND...: runs the command, whose output files are damaged.
damaged() {
    WRONG_WAY=$1 WRONG_BYTE=$2 LD_PRELOAD=$shim "${@:3}"
}

# refuses FILE OPTION...: with --verify and these options, the command must fail, keep the file, and
# leave no output.  The variables for the fault are in the environment.
refuses() {
    local file=$1
    shift
    cp "$file" before
    ends_with 1 "$GZLZSS" --verify -f "$@" "$file" || return 1
    grep -q -e '--verify found that the output does not decompress to the input$' stderr ||
        fail "$*: $(cat stderr)" || return 1
    cmp "$file" before || return 1
    set -- "$file".*
    [ ! -e "$1" ] || fail "there is an output: $1"
}

# lacks FILE WORD: the word must not be in the file.
lacks() {
    if grep -q "$2" "$1"; then
        fail "$2 in: $(cat "$1")"
    fi
}

@test "right outputs pass, and are the same as without --verify" {
    make_files
    for options in "${kinds[@]}"; do
        for p in 1 4; do
            for file in empty tiny small large noise; do
                # shellcheck disable=SC2086 # The shell splits it into words.
                "$GZLZSS" $options -p$p -c $file >expected
                # shellcheck disable=SC2086
                "$GZLZSS" $options -p$p --verify -c $file | cmp - expected
                # shellcheck disable=SC2086
                "$GZLZSS" $options -p$p --verify -f -o out $file
                cmp out expected
                # shellcheck disable=SC2086
                "$GZLZSS" $options -n -p$p --verify <$file >piped
                # shellcheck disable=SC2086
                "$GZLZSS" $options -n -p$p <$file | cmp - piped
            done
        done
    done
}

@test "pieces of --rsyncable are verified in order, by however many threads" {
    "$GEN" mixed 6000000 >f
    for p in 2 4 8; do
        for level in 0 1; do
            "$GZLZSS" -R -$level -p$p --verify -kf f
            "$GZLZSS" -dc f.gz | cmp - f
        done
    done
}

@test "right outputs of every match finder pass" {
    "$GEN" mixed 150000 >f
    for matcher in $(matchers); do
        "$GZLZSS" --verify --matcher="$matcher" -b 64 -kf -p2 f
        "$GZLZSS" -dc f.gz | cmp - f
        "$GZLZSS" --verify --matcher="$matcher" -b 64 -c f | cmp - f.gz
    done
}

@test "a segment that is encoded wrongly is found in files of all kinds" {
    make_files
    for options in "${kinds[@]}"; do
        for p in 1 4; do
            for n in 1 2 4; do
                # shellcheck disable=SC2086 # The shell splits it into words.
                GZLZSS_TEST_BAD_SEGMENT=$n refuses large $options -p$p
            done
            # shellcheck disable=SC2086
            GZLZSS_TEST_BAD_SEGMENT=1 refuses small $options -p$p
            # shellcheck disable=SC2086
            GZLZSS_TEST_BAD_SEGMENT=1 refuses tiny $options -p$p
        done
    done
    # Without --verify, the fault is real.
    GZLZSS_TEST_BAD_SEGMENT=2 "$GZLZSS" -b 64 -k large
    ends_with 1 "$GZLZSS" -t large.gz
}

@test "in standard output, a wrong segment is found before it is written" {
    make_files
    for options in "${kinds[@]}"; do
        for p in 1 4; do
            for n in 1 3; do
                # shellcheck disable=SC2086 # The shell splits it into words.
                "$GZLZSS" $options -p$p -c large >whole
                # shellcheck disable=SC2086
                GZLZSS_TEST_BAD_SEGMENT=$n ends_with 1 "$GZLZSS" --verify $options -p$p -c large
                grep -q -e '--verify found' stderr
                cmp -n "$(stat -c %s stdout)" stdout whole
                [ "$(stat -c %s stdout)" -lt "$(stat -c %s whole)" ]
            done
        done
    done
    # A pipe as input and output, and a file that is open for reading, too.
    for p in 1 4; do
        GZLZSS_TEST_BAD_SEGMENT=2 "$GZLZSS" --verify -b 64 -p$p <large 2>stderr | cat >out || true
        grep -q '^gzlzss: stdin: --verify found' stderr
        GZLZSS_TEST_BAD_SEGMENT=2 "$GZLZSS" --verify -b 64 -p$p -c large 1<>out 2>stderr || true
        grep -q '^gzlzss: large: --verify found' stderr
    done
}

@test "of many files side by side, only those with a wrong output stay" {
    mkdir d
    for ((i = 1; i <= 40; i++)); do
        "$GEN" text $((i * 1000)) "$i" >d/small$i
        "$GEN" text $((66000 + i * 1000)) "$i" >d/large$i
    done
    cp -r d as-before
    for p in 1 4; do
        rm -rf d
        cp -r as-before d
        GZLZSS_TEST_BAD_SEGMENT=2 ends_with 1 "$GZLZSS" --verify -b 64 -p$p -r d
        [ "$(grep -c -e '--verify found' stderr)" -eq 40 ]
        for ((i = 1; i <= 40; i++)); do
            "$GZLZSS" -dc d/small$i.gz | cmp - as-before/small$i
            cmp d/large$i as-before/large$i
            absent d/small$i d/large$i.gz
        done
    done
}

@test "the encoding of what a GPU has matched is verified, too" {
    [ -x "$emulated" ] || skip "there is no emulated GPU"
    "$GEN" mixed 500000 >f
    "$GZLZSS" -b 64 -c f >expected
    for p in 1 3; do
        "$emulated" --backend=gpu --verify -vv -b 64 -p$p -kf f 2>stderr
        grep -q ' 8 by GPU' stderr
        cmp f.gz expected
        rm f.gz
        "$emulated" --backend=gpu --verify -b 64 -p$p -c f | cmp - expected
        for n in 1 5 8; do
            for out in -k -c; do
                GZLZSS_TEST_BAD_SEGMENT=$n ends_with 1 "$emulated" --backend=gpu --verify \
                    -b 64 -p$p $out f
                grep -q -e '--verify found' stderr
                absent f.gz
            done
        done
    done
    # What the GPU itself does wrong is found without --verify, and mended.
    GZLZSS_TEST_GPU_FAULT=corrupt "$emulated" --backend=gpu --verify -b 64 -k f
    cmp f.gz expected
}

@test "damage between writing and reading back is found at each kind of place" {
    need_shim
    make_files
    for options in '-6 -b 64 -p1' '-1 -b 64 -p4' '-0 -b 64 -p4' '-6 -R -p4' '--zip -b 64 -p2' \
        '--zlib -b 64 -p2' '--format=bgzf -p4' '--format=raw -b 64 -p2' '-6 -b 64 -p4 --atomic'; do
        for file in tiny large; do
            # shellcheck disable=SC2086 # The shell splits it into words.
            "$GZLZSS" $options -c $file >whole
            size=$(stat -c %s whole)
            # The header, the data, the trailer and the last byte.  Raw data has no trailer, and its
            # last byte may have bits that mean nothing.
            bytes="1 $((size / 3)) $((size / 2)) $((size - 6)) $((size - 1))"
            [ "${options#*raw}" = "$options" ] || bytes=${bytes% *}
            for byte in $bytes; do
                # shellcheck disable=SC2086
                LD_PRELOAD=$shim WRONG_WAY=flip WRONG_BYTE=$byte refuses $file $options
            done
            # shellcheck disable=SC2086
            LD_PRELOAD=$shim WRONG_WAY=lose WRONG_BYTE=$((size / 2)) refuses $file $options
            # shellcheck disable=SC2086
            LD_PRELOAD=$shim WRONG_WAY=cut WRONG_BYTE=$((size / 2)) refuses $file $options
            # shellcheck disable=SC2086
            LD_PRELOAD=$shim WRONG_WAY=append WRONG_BYTE=$((size - 1)) refuses $file $options
        done
    done
    # Without --verify, nothing is noticed.
    damaged lose 1000 "$GZLZSS" -b 64 -k large
    ends_with 1 "$GZLZSS" -t large.gz
}

@test "every single bit of a small output is verified" {
    need_shim
    "$GEN" text 80 >f
    "$GZLZSS" -k f
    size=$(stat -c %s f.gz)
    unused=0
    for ((byte = 0; byte < size; byte++)); do
        status=0
        damaged flip "$byte" "$GZLZSS" --verify -kf f 2>stderr || status=$?
        # The bits between the last code and the trailer mean nothing, and no decoder looks at them.
        if [ "$status" -eq 0 ]; then
            "$GZLZSS" -dc f.gz | cmp - f
            : $((unused++))
        fi
    done
    [ "$size" -gt 50 ] && [ "$unused" -le 1 ]
}

@test "of many files, those are refused whose outputs were damaged" {
    need_shim
    for ((i = 1; i <= 20; i++)); do
        "$GEN" text $((i * 100)) "$i" >s$i
    done
    "$GZLZSS" -k s?*
    expected=0
    for ((i = 1; i <= 20; i++)); do
        [ "$(stat -c %s s$i.gz)" -le 200 ] || expected=$((expected + 1))
        rm s$i.gz
    done
    [ "$expected" -gt 0 ]
    [ "$expected" -lt 20 ]
    for p in 1 4; do
        status=0
        damaged flip 200 "$GZLZSS" --verify -f -k -p$p s?? s? 2>stderr || status=$?
        [ "$status" -eq 1 ]
        [ "$(grep -c -e '--verify found' stderr)" -eq "$expected" ]
        rm -- *.gz
    done
}

@test "an output that cannot be read back is refused, with the reason" {
    need_shim
    make_files
    for file in tiny large; do
        for p in 1 4; do
            status=0
            damaged unread 20 "$GZLZSS" --verify -b 64 -p$p $file 2>stderr || status=$?
            [ "$status" -eq 1 ]
            grep -q "^gzlzss: $file.gz: cannot be read back for --verify: Input/output error\$" stderr
            absent $file.gz
            [ -e $file ]
        done
    done
}

@test "-v and --json say that an output was verified" {
    "$GEN" text 1000 >f
    "$GZLZSS" -kv --verify f 2>stderr
    grep -q -- '% -- verified, created f.gz$' stderr
    "$GZLZSS" -v --verify <f 2>stderr >out
    grep -q -- '% -- verified$' stderr
    "$GZLZSS" -kvvf --verify f 2>stderr
    grep -q ', verify 0\.' stderr
    "$GZLZSS" -kf --json --verify f | reads_all grep -q '"verified":true,'
    "$GZLZSS" -kf --json f >out
    lacks out verified
    "$GZLZSS" -kfvv f 2>out
    lacks out verif
}

@test "the last of --verify and --no-verify counts, and GZLZSS may hold them" {
    "$GEN" text 1000 >f
    env GZLZSS=--verify "$GZLZSS" -kf --json f | reads_all grep -q '"verified":true,'
    env GZLZSS=--verify "$GZLZSS" -kf --no-verify --json f >out
    lacks out verified
    "$GZLZSS" --no-verify --verify -kf --json f | reads_all grep -q '"verified":true,'
    # It means nothing to other actions.
    "$GZLZSS" --verify -t f.gz
    "$GZLZSS" --verify -l f.gz >out
    "$GZLZSS" --verify -dc f.gz | cmp - f
    # It is a choice that the variable GZIP may not make.
    ends_with 1 env GZIP=--verify "$GZLZSS" -kf f
}
