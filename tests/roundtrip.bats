#!/usr/bin/env bats
# roundtrip.bats - every decoder gives back the original data; the output depends only on the input

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

# Makes the inputs for all tests once, in the directory "in".  Compresses them at the default level,
# into the directory "gz".
setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    make_edge_inputs
    make_real_inputs
    mkdir gz
    for f in in/*; do
        "$GZLZSS" -c "$f" >"gz/${f#in/}.gz"
    done
}

setup() {
    enter_test_directory
    ln -s "$BATS_FILE_TMPDIR/in" in
    ln -s "$BATS_FILE_TMPDIR/gz" gz
}

# decodes_all COMMAND...: the command must decode every file in "gz" from standard input.
decodes_all() {
    local f wrong=0
    for f in in/*; do
        if ! "$@" <"gz/${f#in/}.gz" 2>stderr | cmp - "$f" || [ "${PIPESTATUS[0]}" -ne 0 ]; then
            echo "wrong: ${f#in/}: $(cat stderr)"
            wrong=$((wrong + 1))
        fi
    done
    [ "$wrong" -eq 0 ]
}

# not_empty DIGEST: fails if DIGEST is that of an empty output.  A command that has failed has such
# an output.
not_empty() {
    [ "$1" != "$(sha </dev/null)" ] || fail "there is no output"
}

# needs COMMAND: skips the test if the command is not installed.
needs() {
    have "$1" || skip "$1 is not installed"
}

@test "the inputs are what the tests mean them to be" {
    for f in text-0 text-1 random-32769 text-1048577 zeros-1048577 period7-100003 operands.c \
        sources.tar small-files.tar; do
        [ -e "in/$f" ] || fail "$f is missing"
    done
    [ "$(wc -c <in/text-1048577)" -eq 1048577 ]
    [ "$(tar -tf in/small-files.tar | wc -l)" -gt 20 ]
    [ "$(find in/ -type f | wc -l)" -ge 40 ]
}

@test "gzlzss -d" {
    decodes_all "$GZLZSS" -dc
}

@test "gunzip" {
    without_sanitizers
    needs gunzip
    decodes_all gunzip -c
}

@test "pigz -d" {
    without_sanitizers
    needs pigz
    decodes_all pigz -dc
}

@test "igzip -d" {
    without_sanitizers
    needs igzip
    for f in in/*; do
        igzip -dc "gz/${f#in/}.gz" | cmp - "$f"
        [ "${PIPESTATUS[0]}" -eq 0 ]
    done
}

@test "libdeflate-gunzip" {
    without_sanitizers
    needs libdeflate-gunzip
    decodes_all libdeflate-gunzip -c
}

@test "busybox gunzip" {
    without_sanitizers
    needs busybox
    busybox gunzip --help >/dev/null 2>&1 || skip "this busybox has no gunzip"
    decodes_all busybox gunzip -c
}

@test "python3's gzip" {
    without_sanitizers
    needs python3
    python3 - <<'END'
import glob, gzip, os, sys

for name in glob.glob("in/*"):
    with gzip.open("gz/" + os.path.basename(name) + ".gz") as f, open(name, "rb") as original:
        if f.read() != original.read():
            sys.exit(name + " differs")
END
}

@test "node's zlib" {
    without_sanitizers
    needs node
    cat >decode.js <<'END'
const fs = require("fs"), zlib = require("zlib");

for (const name of fs.readdirSync("in")) {
    const data = zlib.gunzipSync(fs.readFileSync("gz/" + name + ".gz"));
    if (!data.equals(fs.readFileSync("in/" + name))) {
        console.error(name + " differs");
        process.exit(1);
    }
}
END
    node decode.js
}

@test "perl's IO::Uncompress" {
    without_sanitizers
    needs perl
    perl -MIO::Uncompress::Gunzip -e 1 2>/dev/null || skip "perl has no IO::Uncompress::Gunzip"
    cat >decode.pl <<'END'
use IO::Uncompress::Gunzip qw(gunzip $GunzipError);

for my $name (glob "in/*") {
    my ($base) = $name =~ m{([^/]*)$};
    my $got = "";
    gunzip "gz/$base.gz" => \$got, Strict => 1 or die "$base: $GunzipError\n";
    open my $f, "<:raw", $name or die "$name: $!\n";
    local $/;
    my $want = <$f> // "";
    die "$base differs\n" if $got ne $want;
}
END
    perl decode.pl
}

@test "7z" {
    without_sanitizers
    local seven=
    for c in 7zz 7z 7za; do
        if [ -z "$seven" ] && have "$c"; then
            seven=$c
        fi
    done
    [ -n "$seven" ] || skip "7zz, 7z and 7za are not installed"
    for f in in/*; do
        "$seven" e -so "gz/${f#in/}.gz" 2>/dev/null | cmp - "$f"
        [ "${PIPESTATUS[0]}" -eq 0 ]
    done
}

@test "every level, decoded by gunzip and by -d" {
    local small=(in/text-[0-3] in/*-100003 in/operands.c) files level finders
    finders=" $(level_of_each_finder | tr '\n' ' ')"
    for level in $(levels); do
        files=("${small[@]}")
        # One level of each match finder also gets large files, or, with a sanitizer, is the only
        # one.
        if [[ $finders == *" $level "* ]]; then
            is_sanitized || files+=(in/random-1048577 in/sources.tar)
        elif is_sanitized; then
            continue
        fi
        for f in "${files[@]}"; do
            "$GZLZSS" "-$level" -c "$f" >z
            "$GZLZSS" -dc <z | cmp - "$f"
            if have gunzip; then
                gunzip -c <z | cmp - "$f"
            fi
        done
    done
}

@test "segments of every size, at their edges" {
    for size in 32 33 100 1000 2048 32768; do
        for n in $((size * 1024 - 1)) $((size * 1024)) $((size * 1024 + 1)) 3000001; do
            [ "$n" -lt 4000000 ] || continue
            "$GEN" mixed "$n" >plain
            "$GZLZSS" -b "$size" -c plain >z
            "$GZLZSS" -dc <z | cmp - plain
            if have gunzip; then
                gunzip -c <z | cmp - plain
            fi
        done
    done
}

@test "incompressible input grows by at most 0.01 % and the header and trailer" {
    without_sanitizers
    for n in 100003 1048576 1048577 5000000; do
        "$GEN" random "$n" >plain
        for level in 1 6 9 12; do
            size=$("$GZLZSS" -n "-$level" <plain | wc -c)
            [ "$size" -gt "$n" ] && [ "$size" -le $((n + n / 10000 + 18)) ] ||
                fail "$n bytes became $size at -$level"
        done
    done
    # Small inputs grow at most by the header of a stored block.
    for n in 0 1 2 3 100 1000; do
        size=$("$GEN" random "$n" | "$GZLZSS" -n | wc -c)
        [ "$size" -ge $((n + 18)) ] && [ "$size" -le $((n + 5 + 18)) ] ||
            fail "$n bytes became $size"
    done
    # Compressed data does not compress again.
    if [ -e in/compressed.gz ]; then
        n=$(wc -c <in/compressed.gz)
        size=$("$GZLZSS" -n <in/compressed.gz | wc -c)
        [ "$size" -gt $((n * 9 / 10)) ] && [ "$size" -le $((n + n / 10000 + 5 + 18)) ] ||
            fail "$n bytes became $size"
    fi
}

@test "regular input becomes very small" {
    without_sanitizers
    for f in in/zeros-1048577 in/byte-2500000; do
        n=$(wc -c <"$f")
        size=$(wc -c <"gz/${f#in/}.gz")
        [ "$size" -gt 18 ] && [ "$size" -le $((n / 200)) ] || fail "$f: $n bytes became $size"
    done
}

@test "one output: any number of threads" {
    local files=(in/mixed-3000001 in/text-1048577 in/text-1)
    is_sanitized || files+=(in/sources.tar in/text-1048576 in/text-0)
    for f in "${files[@]}"; do
        for b in 32 1024; do
            expected=$("$GZLZSS" -n -c -p 1 -b "$b" "$f" | sha)
            not_empty "$expected"
            for p in 2 5 16; do
                got=$("$GZLZSS" -n -c -p "$p" -b "$b" "$f" | sha)
                [ "$got" = "$expected" ] || fail "$f differs with -p $p -b $b"
            done
        done
    done
    # Without -p, the output must be the same as with -p.
    [ "$("$GZLZSS" -nc in/sources.tar | sha)" = "$("$GZLZSS" -nc -p 1 in/sources.tar | sha)" ]
}

@test "one output: file, redirection, pipe" {
    local files=(in/mixed-3000001 in/text-1048577 in/text-0)
    is_sanitized || files+=(in/sources.tar in/text-1048576 in/text-3)
    for f in "${files[@]}"; do
        expected=$("$GZLZSS" -n -c -p 1 "$f" | sha)
        not_empty "$expected"
        for p in 1 2 16; do
            [ "$("$GZLZSS" -n -p "$p" <"$f" | sha)" = "$expected" ] || fail "$f: redirection"
            # shellcheck disable=SC2002 # The input has to be a pipe.
            [ "$(cat "$f" | "$GZLZSS" -n -p "$p" | sha)" = "$expected" ] || fail "$f: pipe"
            [ "$("$GZLZSS" -n -p "$p" - <"$f" | sha)" = "$expected" ] || fail "$f: -"
        done
    done
}

@test "one output: a small file alone, beside another, and from a pipe" {
    # For a single file, the command allocates only as much memory as the file's size needs.
    for n in 1 1000 4096 4097 32767 32768 32769 100000; do
        head -c $n in/sources.tar >x
        cp x y
        for level in 1 6 9 12; do
            # shellcheck disable=SC2002 # The input has to be a pipe.
            expected=$(cat x | "$GZLZSS" -n -"$level" | sha)
            not_empty "$expected"
            [ "$("$GZLZSS" -n -"$level" <x | sha)" = "$expected" ] || fail "$n: redirection"
            [ "$("$GZLZSS" -n -"$level" -c x | sha)" = "$expected" ] || fail "$n: -c"
            "$GZLZSS" -n -"$level" -k x
            [ "$(sha <x.gz)" = "$expected" ] || fail "$n: alone"
            "$GZLZSS" -n -"$level" -kf x y
            [ "$(sha <x.gz)" = "$expected" ] || fail "$n: beside another"
            rm x.gz y.gz
        done
    done
}

@test "one output: a slow pipe, in pieces of odd sizes" {
    f=in/mixed-3000001
    for p in 1 5; do
        {
            for n in 1 777 32767 1 65537 1048575 300001 2; do
                dd bs="$n" count=1 iflag=fullblock 2>/dev/null
                sleep 0.02
            done
            cat
        } <"$f" | "$GZLZSS" -n -p "$p" >z
        "$GZLZSS" -n <"$f" | cmp z - || fail "differs with -p $p"
    done
}

@test "one output: a fast pipe" {
    for _ in 1 2 3 4; do
        cat in/mixed-3000001
    done >all
    for b in 256 2048; do
        # shellcheck disable=SC2002 # The input has to be a pipe.
        cat all | "$GZLZSS" -1 -n -p 8 -b "$b" >z
        "$GZLZSS" -1 -nc -b "$b" all | cmp z - || fail "differs with -b $b"
    done
}

@test "one output: a redirected file that is not read from its start" {
    f=in/mixed-3000001
    tail -c +1000004 "$f" >rest
    {
        dd bs=1000003 count=1 iflag=fullblock 2>/dev/null >/dev/null
        "$GZLZSS" -n -p 2 >z
    } <"$f"
    "$GZLZSS" -n <rest | cmp z -
}

@test "a redirected file is left positioned after what was read" {
    "$GEN" text 2500000 >plain
    {
        "$GZLZSS" -n -p 3 >z
        cat >rest
    } <plain
    [ ! -s rest ]
}

@test "the output depends on the segment size, and all are right" {
    f=in/mixed-3000001
    : >digests
    for b in 32 64 256 1024 2048; do
        "$GZLZSS" -n -b "$b" <"$f" >z
        "$GZLZSS" -dc <z | cmp - "$f"
        sha <z >>digests
    done
    [ "$(sort -u digests | wc -l)" -eq 5 ]
    "$GZLZSS" -n <"$f" | cmp - z # of -b 2048
    "$GEN" mixed 5000011 >plain
    "$GZLZSS" -n -10 -b 4096 <plain >z
    "$GZLZSS" -n -10 <plain | cmp - z
}

@test "tar -I gzlzss, and tar -xzf" {
    without_sanitizers
    PATH=$(dirname "$GZLZSS"):$PATH
    program=$(basename "$GZLZSS")
    tar -C "$srcdir" -I "$program" -cf sources.tgz src lzss huffman compat tests/gen.c
    mkdir by-tar by-us
    tar -C by-us -I "$program" -xf sources.tgz
    diff -r "$srcdir/src" by-us/src
    have gzip || skip "gzip is not installed: tar -xzf needs it"
    tar -C by-tar -xzf sources.tgz
    diff -r "$srcdir/huffman" by-tar/huffman
}

@test "cat x | gzlzss | gunzip | cmp - x" {
    without_sanitizers
    needs gunzip
    for f in in/mixed-3000001 in/bash.elf in/licence.txt; do
        if [ -e "$f" ]; then
            # shellcheck disable=SC2002 # The input has to be a pipe.
            cat "$f" | "$GZLZSS" | gunzip | cmp - "$f"
            [ "${PIPESTATUS[*]}" = "0 0 0 0" ]
        fi
    done
}

@test "-d decodes what other programs write" {
    checked=0
    for c in 'gzip -1' 'gzip -9' 'pigz -p 2' 'pigz -11 -p 2' 'pigz -i -b 32' 'libdeflate-gzip -12' \
        'igzip -0' 'igzip -3' 'busybox gzip' '7za a -tgzip -si -so dummy'; do
        have "${c%% *}" || continue
        for f in in/text-0 in/text-1 in/zeros-100003 in/random-100003 in/text-1048577; do
            if [ "$c" = "pigz -11 -p 2" ] && [ "$f" = in/text-1048577 ]; then
                continue # takes seconds
            fi
            # shellcheck disable=SC2086 # The shell splits it into words.
            if ! $c <"$f" 2>/dev/null >z; then
                continue # some compressors cannot write to a pipe
            fi
            "$GZLZSS" -dc <z | cmp - "$f" || fail "by $c: $f"
            checked=$((checked + 1))
        done
    done
    [ "$checked" -gt 0 ] || skip "other programs are not installed"
}

@test "segments that several threads match in parts have the same bytes" {
    # Try sizes around those of chunks (32 KiB), of parts (two to eight chunks) and of segments.
    local sizes=(98304 98305 524287 2200000)
    is_sanitized || sizes+=(200000 1048577)
    for size in "${sizes[@]}"; do
        "$GEN" mixed "$size" >"in.$size"
        for options in -1 -6 -9 "-5 -b 200"; do
            # shellcheck disable=SC2086 # The shell splits it into words.
            "$GZLZSS" -nc -p1 $options "in.$size" >alone
            # shellcheck disable=SC2086
            "$GZLZSS" -nc -p5 -vv $options "in.$size" 2>stderr >together
            cmp alone together || fail "$size $options"
            # shellcheck disable=SC2086
            "$GZLZSS" -nc -p5 $options <"in.$size" | cmp alone - || fail "$size $options, stdin"
            # shellcheck disable=SC2002,SC2086
            cat "in.$size" | "$GZLZSS" -nc -p5 $options | cmp alone - ||
                fail "$size $options, pipe"
            case $options,$size in
            -[69],98304) ! grep -q ' in parts;' stderr || fail "$size $options: in parts" ;;
            -[69],[1-9]??????)
                grep -q ', [1-9][0-9]* in parts;' stderr || fail "$size $options: not in parts"
                ;;
            esac
        done
    done
    # From level 10 on, one worker matches all chunks of a segment, so -vv must not tell of parts.
    "$GZLZSS" -nc -p5 -vv -10 in.524287 2>&1 >/dev/null | reads_all grep -q ': 1 segment;'
}
