#!/usr/bin/env bats
# peers.bats - under another program's name, an option means what it means to that program, or
# gzlzss refuses it

# shellcheck disable=SC2154 # GEN and GZLZSS come from the build.

load helpers

setup() {
    enter_test_directory
    mkdir bin
    ln -s "$GZLZSS" bin/pigz
    ln -s "$GZLZSS" bin/unpigz
    ln -s "$GZLZSS" bin/igzip
    "$GEN" text 30000 >plain
    touch -d @1000000000 plain
}

# refused COMMAND...: the command must end with status 1 and a message, write nothing, and leave all
# files as they are.
refused() {
    local before
    before=$(ls -l plain*)
    ends_with 1 "$@"
    [ -s stderr ] || fail "$*: no message"
    [ ! -s stdout ] || fail "$*: there is an output"
    [ "$(ls -l plain*)" = "$before" ] || fail "$*: $(ls -l)"
}

# header FILE: prints the flags and the time from the header, in hexadecimal.
header() {
    od -A n -t x1 -j 3 -N 5 "$1"
}

# The options of pigz that are refused: letter and long name.
pigz_refused='A:alias C:comment F:first H:huffman I:iterations J:maxsplits K:zip O:oneblock U:rle'
pigz_refused+=' z:zlib'

@test "pigz: what it does and gzlzss does not is refused, however it is asked for" {
    local option letter long
    for option in $pigz_refused; do
        letter=${option%:*} long=${option#*:}
        for word in "-$letter" "-9k$letter" "-$letter"5 "--$long" "--$long=5" "--${long%?}"; do
            refused bin/pigz "$word" plain
            grep -q 'not supported by gzlzss' stderr || fail "$word: $(cat stderr)"
        done
        refused bin/pigz plain "-$letter"
        refused bin/unpigz "-$letter" plain
        for variable in PIGZ GZIP GZLZSS; do
            refused env "$variable=-1 -$letter" bin/pigz plain
            grep -q "^pigz: $variable: -$letter: not supported" stderr ||
                fail "$variable: $(cat stderr)"
        done
    done
    # -H must not print gzlzss's help, with status 0, into the output file.
    status=0
    bin/pigz -H <plain >y.gz 2>stderr || status=$?
    [ "$status" -eq 1 ] && [ ! -s y.gz ]
}

@test "pigz: -T takes no operand, and what dracut, dpkg and others ask for is done" {
    bin/pigz -9 -n -T -R <plain >out
    bin/pigz -9nTR <plain | cmp - out
    "$GZLZSS" -9 -n --rsyncable <plain | cmp - out
    # The header has the name, but not the time.
    for options in -T -m --no-time '-N -T' '-nN -m'; do
        # shellcheck disable=SC2086 # These are several.
        bin/pigz -c $options plain >out
        [ "$(header out)" = ' 08 00 00 00 00' ] || fail "$options: $(header out)"
    done
    for options in -M --time '-T -M' '-mN'; do
        # shellcheck disable=SC2086
        bin/pigz -c $options plain >out
        [ "$(header out)" != ' 08 00 00 00 00' ] || [ "$options" = -mN ] ||
            fail "$options: $(header out)"
    done
    bin/pigz -Yk -p2 -b 128 plain
    bin/unpigz -c plain.gz | cmp - plain
    bin/unpigz -f plain.gz
    absent plain.gz
    "$GZLZSS" -0 -nc plain >out
    bin/pigz -0 -nc plain | cmp - out
    bin/pigz --help | grep -q '^  -T, --no-time  '
    ! bin/pigz --help | grep -q -e '-T, --threads' || fail "-T is two things"
}

@test "pigz: PIGZ is read, and GZIP as pigz reads it; by other names they are not" {
    PIGZ='-9 -n' bin/pigz -c plain >out
    [ -z "$(PIGZ=-9 bin/pigz -c plain 2>&1 >/dev/null)" ]
    "$GZLZSS" -9 -nc plain | cmp - out
    PIGZ=-1 bin/pigz -9 -nc plain | cmp - out
    GZIP='-p2 -1' PIGZ=-9 bin/pigz -nc plain 2>stderr | cmp - out
    [ ! -s stderr ]
    "$GZLZSS" -nc plain >out
    PIGZ=-1 "$GZLZSS" -nc plain | cmp - out
    PIGZ=-1 GZIP=-9 bin/igzip -nc plain 2>stderr | cmp - out
    [ ! -s stderr ]
    refused env PIGZ=plain bin/pigz plain
    stderr_is 'pigz: plain: non-option in PIGZ environment variable' \
        "Try \`pigz --help' for more information."
}

@test "igzip: inputs are kept, unless --rm asks for their end" {
    bin/igzip plain
    cmp plain <("$GZLZSS" -dc plain.gz)
    mv plain copy
    bin/igzip -d plain.gz
    cmp plain copy
    [ -e plain.gz ]
    bin/igzip -f --rm -k plain
    [ -e plain ]
    bin/igzip -fk --rm plain
    absent plain
    bin/igzip -d --rm plain.gz
    absent plain.gz
    cmp plain copy
}

@test "igzip: -0 compresses, -z does not decompress, -o names the output" {
    "$GZLZSS" -1nc plain >fast
    "$GZLZSS" -nc plain >usual
    bin/igzip -0nc plain | cmp - fast
    bin/igzip -0nc -T 2 plain | cmp - fast
    bin/igzip -d -z -nc plain | cmp - usual
    bin/igzip --decompress --compress -nc plain | cmp - usual
    bin/igzip -n -o out plain
    cmp out usual
    bin/igzip -nkfoout -1 plain
    cmp out fast
    [ -e plain ]
}

@test "names with a version, or of what was put aside, and paths" {
    for name in pigz.real pigz-2.8 pigz.distrib unpigz.orig; do
        ln -s "$GZLZSS" "bin/$name"
        refused "$PWD/bin/$name" -H plain
        grep -q "^$name: -H: not supported" stderr
    done
    # These names do not count as pigz.
    for name in pigzy mypigz gzlzss-pigz pigz.gzlzss; do
        ln -s "$GZLZSS" "bin/$name"
        ends_with 0 "bin/$name" -H
        grep -q ^Usage: stdout
    done
}

@test "programs of other formats: nothing is done by their names" {
    cp plain plain.gz
    for name in bgzip bzip2 bunzip2 bzcat pbzip2 lbzip2 compress lz4 unlz4 lz4cat xz unxz xzcat \
        lzma lzcat lzip plzip lzop pixz zip unzip zstd unzstd zstdcat pzstd zstdmt zopfli \
        rapidgzip minigzip zstd-1.5 xz.real; do
        ln -s "$GZLZSS" "bin/$name"
        for words in plain '-d plain.gz' '-c plain' --help; do
            # shellcheck disable=SC2086 # These are several.
            refused "bin/$name" $words
            grep -q "^$name: gzlzss does not stand in for this program" stderr ||
                fail "$name: $(cat stderr)"
        done
        refused bash -c "bin/$name <plain"
    done
}

@test "--help says what the program does by its name" {
    for name in gzip gunzip zcat gunzlzss gzlzsscat uncompress; do
        ln -s "$GZLZSS" "bin/$name"
    done
    for name in gunzip unpigz gunzlzss uncompress; do
        "bin/$name" --help >help
        [ "$(sed -n 2p help)" = "Decompress FILEs in gzip's format on all cores." ] ||
            fail "$name: $(cat help)"
        grep -qF 'by default, decompress each FILE.gz to FILE and remove FILE.gz)' help
    done
    for name in zcat gzlzsscat; do
        "bin/$name" --help >help
        [ "$(sed -n 2p help)" = \
            "Decompress FILEs in gzip's format to standard output, on all cores." ]
        grep -qF 'by default, decompress each FILE to standard output, and keep it)' help
    done
    for name in gzip pigz igzip; do
        "bin/$name" --help >help
        sed -n 2p help | grep -q '^Compress FILEs'
    done
    grep -qF 'by default, compress each FILE to FILE.gz and keep FILE)' help # igzip's
    bin/gzip --help | grep -qF 'by default, compress each FILE to FILE.gz and remove FILE)'
    for name in gzip unpigz zcat igzip; do
        awk 'length > 80' <("bin/$name" --help) >long
        [ ! -s long ] || fail "$name: $(cat long)"
    done
}

# as_real NAME OPTION...: under this name, gzlzss must leave the same files, with the same headers,
# as the real program.  (igzip does not give an output its input's time, so igzip's times are not
# compared.)
as_real() {
    local name=$1 way program
    shift
    for way in real ours; do
        rm -rf $way
        mkdir $way
        cp -p plain $way/f
        gzip -Nc plain >$way/g.gz
        touch -d @1100000000 $way/g.gz
        program=$PWD/bin/$name
        [ $way = ours ] || program=$real
        (
            cd $way || exit
            "$program" "$@" >stdout 2>/dev/null </dev/null
            echo $?
            ls
            [ "$name" = igzip ] || find . -type f ! -name stdout -printf '%f %TY\n' | sort
            for f in *.gz *.z stdout; do
                [ -e "$f" ] || continue
                od -A n -t x1 -N 8 "$f"
                gzip -dc <"$f" 2>/dev/null | cksum
            done
        ) >$way.is
    done
    diff real.is ours.is || fail "$name $*"
}

@test "what is left behind is what pigz leaves, with the options that both have" {
    local real
    real=$(command -v pigz) || skip "no pigz to compare with"
    for options in f '-k f' '-T f' '-n f' '-mk f' '-nM f' '-nN f' '-c f' '-9nTR f' '-0 f' '-0nk f' \
        '--no-time f' '--time -k f' '-Yk f' '--synchronous f' '-d g.gz' '-dk g.gz' '-dN g.gz' \
        '-dNT g.gz' '-dM g.gz' '-dNm g.gz' '-dc g.gz' '-t g.gz' '-i -p 2 -b 64 f' '-S .z f'; do
        # shellcheck disable=SC2086 # These are several.
        as_real pigz $options
    done
}

@test "what is left behind is what igzip leaves, with the options that both have" {
    local real
    real=$(command -v igzip) || skip "no igzip to compare with"
    for options in f '-k f' '--rm f' '-n f' '-c f' '-0 f' '-1 --rm -k f' '-d g.gz' '-d --rm g.gz' \
        '-dc g.gz' '-t g.gz' '-T 2 f' '-d -z f' '-S .z f' '-N f'; do
        # shellcheck disable=SC2086
        as_real igzip $options
    done
}
