#!/usr/bin/env bats
# peers.bats - under another program's name, gzlzss gives each option the meaning that it has in
# that program, or refuses the option

# shellcheck disable=SC2154 # GEN and GZLZSS come from the build.

load helpers

setup() {
    enter_test_directory
    mkdir bin
    ln -s "$GZLZSS" bin/pigz
    ln -s "$GZLZSS" bin/unpigz
    ln -s "$GZLZSS" bin/igzip
    ln -s "$GZLZSS" bin/bgzip
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

# refuses PROGRAM OPTIONS BEFORE: under the name PROGRAM, gzlzss must refuse each option, in every
# spelling, with the right message.  Each word of OPTIONS is LETTER:NAME:WHAT.  WHAT is a text for
# the message, with _ in place of blanks.  BEFORE has the other options without which the program
# would refuse any command line; BEFORE may be empty.
refuses() {
    local program=$1 options=$2 before=$3 option letter name what word
    for option in $options; do
        IFS=: read -r letter name what <<<"$option"
        what=${what//_/ }
        for word in "-$letter" "-k$letter" "-$letter"5; do
            # shellcheck disable=SC2086 # There may be several options in BEFORE, or none.
            refused "bin/$program" $before "$word" plain
            stderr_is "$program: -$letter: not supported by gzlzss, which this is ($what)" \
                "Try \`$program --help' for more information."
        done
        for word in ${name:+"--$name" "--$name=5"}; do
            # shellcheck disable=SC2086
            refused "bin/$program" $before "$word" plain
            stderr_is "$program: --$name: not supported by gzlzss, which this is ($what)" \
                "Try \`$program --help' for more information."
        done
        # shellcheck disable=SC2086
        refused "bin/$program" $before plain "-$letter"
        refused env "GZLZSS=-k -$letter" "bin/$program" plain
        grep -q "^$program: GZLZSS: -$letter: not supported" stderr || fail "$(cat stderr)"
        "bin/$program" --help | reads_all grep -q "^  not supported:.* -$letter" || fail "-$letter: no help"
    done
}

@test "pigz: -z and -K write zlib's format and zip files, and are read" {
    "$GZLZSS" --format=zlib -c plain >wanted
    bin/pigz -z -c plain | cmp - wanted
    "$GZLZSS" --format=zip -c plain >wanted
    PIGZ=-K bin/pigz -c plain | cmp - wanted
    bin/pigz -kz plain
    bin/unpigz -c plain.zz | cmp - plain
    bin/pigz -dz <plain.zz | cmp - plain
    bin/pigz -kK plain
    bin/unpigz -c <plain.zip | cmp - plain
}

@test "pigz: options for zopfli are ignored, with a note and status 0" {
    local option
    "$GZLZSS" -11nc plain >want
    for option in -F -O '-I 5' -I5 '-J 3' --first --oneblock '--iterations 5' '--maxsplits 3'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 0 bin/pigz -11nc $option plain
        cmp stdout want
        grep -qx "pigz: option ${option:0:2}.* ignored by gzlzss, which this is (zopfli's .*)" \
            stderr || fail "$option: $(cat stderr)"
        # shellcheck disable=SC2086
        ends_with 0 bin/pigz -11nqc $option plain
        stderr_is
    done
    bin/pigz --help | reads_all grep -qx '  ignored:                 -F -I -J -O'
    refused bin/pigz plain -I
    stderr_is "pigz: option requires an argument -- 'I'" \
        "Try \`pigz --help' for more information."
}

@test "pigz: a comment and an alias are in the header; -H and -U shape what is coded" {
    bin/pigz -nC 'two words' <plain >out
    [ "$(hex out 3 1)" = 10 ]
    [ "$(dd if=out bs=1 skip=10 count=9 2>/dev/null)" = 'two words' ]
    [ "$(hex out 19 1)" = 00 ]
    tail -c +21 out >wanted
    "$GZLZSS" -n <plain | tail -c +11 | cmp - wanted
    "$GZLZSS" -dc out | cmp - plain
    printf 'a\0b\0' >wanted
    bin/pigz --comment b --alias a <plain | reads_all head -c 14 | tail -c 4 | cmp - wanted
    "$GZLZSS" -n <plain >wanted
    bin/pigz -n --alias a <plain | cmp - wanted
    printf 'plain\0' >wanted
    bin/pigz -A a -c plain | reads_all head -c 16 | tail -c 6 | cmp - wanted
    # With these options, the output depends neither on the level nor on the engine.  But level 0
    # still stores.
    for way in huffman:-H rle:-U; do
        "$GZLZSS" -n "--${way%:*}" <plain >out
        "$GZLZSS" -dc out | cmp - plain
        bin/pigz -n "${way#*:}" <plain | cmp - out
        bin/pigz -n "${way#*:}" --backend=gpu -p 3 <plain | cmp - out
        bin/pigz -n <plain >without
        ! cmp -s without out || fail "$way does nothing"
        "$GZLZSS" -n0 <plain >wanted
        bin/pigz -n0 "${way#*:}" <plain | cmp - wanted
    done
    # Under the name pigz, -H must not print gzlzss's help.
    bin/pigz -H <plain >out
    "$GZLZSS" -dc out | cmp - plain
}

@test "pigz: -T takes no operand, and what dracut, dpkg and others ask for is done" {
    bin/pigz -9 -n -T -R <plain >out
    bin/pigz -9nTR <plain | cmp - out
    "$GZLZSS" -9 -n --rsyncable <plain | cmp - out
    # With these options, the header must have the name, but not the time.
    for options in -T -m --no-time '-N -T' '-nN -m'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
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
    bin/pigz --help | reads_all grep -q '^  -T  *do not store or restore the time; also -m$'
    bin/pigz --help >help
    ! grep -q -e '-T, --threads' help || fail "-T is two things"
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
    "$GZLZSS" -dc plain.gz | cmp plain -
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

@test "containers: what Docker and containerd call" {
    "$GZLZSS" -nc plain >layer
    bin/unpigz -d -c <layer | cmp - plain
    bin/igzip -d -c <layer | cmp - plain
}

# Makes a file as bgzip does: a member with the field BC, and an empty member.
make_bgzf() {
    local n
    "$GZLZSS" -nc plain >member
    n=$(($(wc -c <member) + 8 - 1)) # the field BC has the whole member's size, less one
    {
        printf '\37\213\10\4\0\0\0\0\0\377\6\0BC\2\0'
        # shellcheck disable=SC2059 # printf converts the escapes in it.
        printf "\\x$(printf %02x $((n % 256)))\\x$(printf %02x $((n / 256)))"
        tail -c +11 member
        printf '\37\213\10\4\0\0\0\0\0\377\6\0BC\2\0\33\0\3\0\0\0\0\0\0\0\0\0'
    } >"$1"
}

@test "bgzip: it compresses to BGZF and decompresses, and refuses to cut as an index says" {
    make_bgzf data.gz
    ! have bgzip || bgzip -t data.gz
    for options in -d -dk '-d -@ 2' -d@2 '-d --threads=2 -l 3' '-f --decompress -l9'; do
        cp data.gz copy.gz
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 0 bin/bgzip $options copy.gz
        stderr_is
        cmp copy plain
        rm -f copy copy.gz
    done
    bin/bgzip -t data.gz
    bin/bgzip -cd data.gz | cmp - plain
    [ -e data.gz ]
    bin/bgzip -d <data.gz | cmp - plain
    bin/bgzip -d -o out data.gz
    cmp out plain
    bin/bgzip --output=out.gz plain
    "$GZLZSS" --format=bgzf -c plain | cmp out.gz -
    [ -e plain ]
    "$GZLZSS" --format=bgzf -c plain >wanted
    bin/bgzip -c plain | cmp - wanted
    "$GZLZSS" --format=bgzf -9 -c plain >wanted
    bin/bgzip -c -@ 2 -l 9 plain | cmp - wanted
    bin/bgzip <plain >out
    "$GZLZSS" --format=bgzf -c plain | cmp - out
    cp plain copy
    ends_with 0 bin/bgzip copy
    absent copy
    ! have bgzip || bgzip -dc copy.gz | cmp - plain
    refuses bgzip 'g:rebgzip:cut_as_an_index_says' -d
    refused bin/bgzip -d -l 13 data.gz
    stderr_is "bgzip: invalid level '13': give 0 to $(last_level)"
    # From version 1.17 on, bgzip ends a block of text only at the end of a line, unless --binary is
    # given.
    ends_with 0 bin/bgzip -dc --binary data.gz
    cmp stdout plain
    stderr_is 'bgzip: option --binary ignored by gzlzss, which this is (blocks need not end with a line)'
    bin/bgzip --help | reads_all grep -qx '  ignored:                 --binary'
    # bgzip does not read the variable GZIP.
    GZIP=-9 bin/bgzip -cd data.gz 2>stderr | cmp - plain
    stderr_is
}

@test "bgzip: -i and -r make bgzip's indexes, -I names them" {
    "$GEN" text 300000 >large
    bin/bgzip -c large >large.gz
    if have bgzip; then
        bgzip -r -I theirs large.gz
    else
        "$GZLZSS" -t --index-file=theirs large.gz
    fi
    bin/bgzip -r large.gz
    cmp large.gz.gzi theirs
    bin/bgzip -r -I named large.gz
    cmp named theirs
    bin/bgzip --reindex --index-name=again large.gz
    cmp again theirs
    bin/bgzip -fi large
    cmp large.gz.gzi theirs
    # For an empty input, bgzip 1.16 writes -1 as the number of members.
    : >empty
    bin/bgzip -i empty
    head -c 8 /dev/zero | cmp empty.gz.gzi -
}

@test "bgzip: -b and -s decompress a part to standard output, with an index and without" {
    local options
    "$GEN" text 300000 >large
    ends_with 0 bin/bgzip -i -k large
    cp large.gz bare.gz
    mv large.gz.gzi index
    tail -c +123457 large >behind
    head -c 70000 behind >part
    head -c 70000 large >first
    head -c 9 behind >nine
    for file in large.gz bare.gz '-I index large.gz'; do
        for options in '-b 123456' '-b 123456 -d' '-d -b123456' '--offset=123456' \
            '-@ 4 -b 123456'; do
            # shellcheck disable=SC2086 # The shell splits it into words.
            ends_with 0 bin/bgzip $options $file
            cmp stdout behind
            stderr_is
        done
        for options in '-b 123456 -s 70000' '-s70000 -db 123456' '--offset 123456 --size 70000'; do
            # shellcheck disable=SC2086
            ends_with 0 bin/bgzip $options $file
            cmp stdout part
        done
        # shellcheck disable=SC2086
        ends_with 0 bin/bgzip -ds 70000 $file
        cmp stdout first
        # shellcheck disable=SC2086
        ends_with 0 bin/bgzip -b 0 $file
        cmp stdout large
        # shellcheck disable=SC2086
        ends_with 0 bin/bgzip -b 5 -s 0 $file
        [ ! -s stdout ]
    done
    [ -e large.gz ]
    [ -e bare.gz ]
    bin/bgzip -b 123456 -s 9 <large.gz >out
    cmp out nine
    bin/bgzip -b 123456 -s 9 -I index <large.gz >out
    cmp out nine
    # Without -d, -s compresses to standard output.
    ends_with 0 bin/bgzip -s 9 large
    cmp stdout bare.gz
    for options in '-b x' '-b -1' '-d -s 1k' -b5G; do
        # shellcheck disable=SC2086
        refused bin/bgzip $options large.gz
        grep -q "^bgzip: invalid offset or size '.*': give a number of bytes$" stderr
    done
    # -I names an index, and makes none.
    ends_with 0 bin/bgzip -k -f -I none large
    ends_with 0 bin/bgzip -dkf -I none large.gz
    absent none large.gz.gzi
    # gzip's --si is --silent, here as everywhere.
    ends_with 0 "$GZLZSS" --si -c plain
}

@test "bgzip: an index is made while the data goes to standard output" {
    local size
    for size in 0 1 65280 65281 1000000; do
        "$GEN" source $size >large
        bin/bgzip -c large >large.gz
        bin/bgzip -r -I expected large.gz
        ! have bgzip || [ $size -eq 0 ] || bgzip -r -I expected large.gz
        for threads in 1 4; do
            rm -f index piped.gz
            ends_with 0 bash -c "bin/bgzip -@ $threads -i -I index <large >piped.gz"
            cmp piped.gz large.gz
            cmp index expected
            rm index
            bin/bgzip -@ $threads -c --index --index-name=index large | cat >piped.gz
            [ "${PIPESTATUS[*]}" = "0 0" ]
            cmp piped.gz large.gz
            cmp index expected
        done
    done
    tail -c 500000 large >part
    ends_with 0 bin/bgzip -b 500000 -I index piped.gz
    cmp stdout part
    if have bgzip; then
        bgzip -b 500000 -I index piped.gz >out
        cmp out part
    fi
    "$GEN" random 200000 >noise
    "$GZLZSS" --format=bgzf -b 32 --index-file=index <noise >small.gz
    "$GZLZSS" -t --index-file=expected small.gz
    cmp index expected
    refused bash -c 'bin/bgzip -i <plain'
    grep -q 'needs --index-file' stderr
}

@test "bgzip: --help says BGZF, and what -b, -s and -I do" {
    bin/bgzip --help >help
    grep -q '^Compress FILEs to BGZF on all cores' help
    grep -qx '  -b, --offset=N  *decompress from byte N on, to stdout' help
    grep -qx '  -s, --size=N  *decompress N bytes, to stdout' help
    grep -qx '  -I, --index-name=FILE  *the name of the index' help
    grep -qx '  not supported:  *-g' help
    ! grep :bgzip- help || fail "a name for gzlzss's own use"
}

@test "names with a version, or of what was put aside, and paths" {
    "$GZLZSS" -k plain
    for name in pigz.real pigz-2.8 pigz.distrib unpigz.orig; do
        ln -s "$GZLZSS" "bin/$name"
        ends_with 0 "$PWD/bin/$name" -tF plain.gz
        grep -q "^$name: option -F ignored" stderr
    done
    # Under these names, gzlzss must not behave like pigz.
    for name in pigzy mypigz gzlzss-pigz pigz.gzlzss; do
        ln -s "$GZLZSS" "bin/$name"
        ends_with 0 "bin/$name" -H
        grep -q ^Usage: stdout
    done
}

@test "programs of other formats: nothing is done by their names" {
    cp plain plain.gz
    for name in pbgzip bzip2 bunzip2 bzcat pbzip2 lbzip2 compress lz4 unlz4 lz4cat xz unxz xzcat \
        lzma lzcat lzip plzip lzop pixz zip unzip zstd unzstd zstdcat pzstd zstdmt zopfli \
        rapidgzip minigzip zstd-1.5 xz.real; do
        ln -s "$GZLZSS" "bin/$name"
        for words in plain '-d plain.gz' '-c plain' --help; do
            # shellcheck disable=SC2086 # The shell splits it into words.
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
        sed -n 2p help | reads_all grep -q '^Compress FILEs'
    done
    grep -qF 'by default, compress each FILE to FILE.gz and keep FILE)' help # igzip's
    bin/bgzip --help | reads_all grep -qF 'by default, compress each FILE to FILE.gz and remove FILE)'
    bin/gzip --help | reads_all grep -qF 'by default, compress each FILE to FILE.gz and remove FILE)'
    for name in gzip unpigz zcat igzip bgzip; do
        "bin/$name" --help | awk 'length > 80' >long
        [ ! -s long ] || fail "$name: $(cat long)"
    done
}

# as_real NAME OPTION...: under this name, gzlzss must leave the same files, with the same headers,
# as the real program.  The times of files are not compared for igzip and bgzip, because these
# programs do not give an output the time of its input.
as_real() {
    local name=$1 way program differences
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
            [[ $name == [ib]gzip ]] || find . -type f ! -name stdout -printf '%f %TY\n' | sort
            for f in *.gz *.z stdout; do
                [ -e "$f" ] || continue
                od -A n -t x1 -N 8 "$f"
                gzip -dc <"$f" 2>/dev/null | cksum
            done
        ) >$way.is
    done
    differences=$(diff real.is ours.is) || fail "$name $* (<: the real one)" "$differences"
}

# all_as_real NAME OPTIONS...: calls as_real for each argument, whose words are options and files.
all_as_real() {
    local name=$1 options real bad=0
    real=$(command -v "$name") || skip "$name is not installed"
    shift
    for options in "$@"; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        as_real "$name" $options || bad=1
    done
    [ "$bad" -eq 0 ]
}

@test "what is left behind is what pigz leaves, with the options that both have" {
    all_as_real pigz f '-k f' '-T f' '-n f' '-mk f' '-nM f' '-nN f' '-c f' '-9nTR f' '-0 f' \
        '-0nk f' '--no-time f' '--time -k f' '-Yk f' '--synchronous f' '-d g.gz' '-dk g.gz' \
        '-dN g.gz' '-dNT g.gz' '-dM g.gz' '-dNm g.gz' '-dc g.gz' '-t g.gz' '-i -p 2 -b 64 f' \
        '-S .z f'
    all_as_real pigz '-H f' '-kU f' '--huffman f' '--rle -k f' '-C hi f' '-nkC hi f' \
        '--comment hi -c f' '-A hi f' '--alias hi -c f' '-F f' '-kO f' '-I 5 f' '-kI5 f' '-J 5 f' \
        '--first f' '--oneblock f' '--iterations 5 f' '--maxsplits 5 f' '-Y -c f'
}

@test "pigz's long names do what they do in pigz" {
    all_as_real pigz '--fast f' '--best f' '--keep f' '--stdout f' '--to-stdout f' \
        '--processes 2 f' '--blocksize 64 f' '--independent f' '--rsyncable f' '--suffix .z f' \
        '--decompress g.gz' '--uncompress g.gz' '--test g.gz' '--quiet f' '--silent f' \
        '--name --decompress g.gz' '--no-name f' '--force f' '--recursive f' '-d missing'
}

@test "what is left behind is what unpigz leaves" {
    all_as_real unpigz g.gz '-k g.gz' '-c g.gz' '-d -c g.gz' '-dk g.gz' '-t g.gz' '-N g.gz' \
        '-Nm g.gz' '-p 1 g.gz' '-f g.gz' '-q g.gz' g
}

@test "pigz's header with a comment is the same" {
    local options
    have pigz || skip "pigz is not installed"
    for options in '-C hi' '-n --comment hi' '-nC hi' '-9C hi'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        pigz $options -c plain | reads_all head -c 13 >wanted
        # shellcheck disable=SC2086
        bin/pigz $options -c plain | reads_all head -c 13 | cmp - wanted
    done
}

@test "what is left behind is what igzip leaves, with the options that both have" {
    all_as_real igzip f '-k f' '--rm f' '-n f' '-c f' '-0 f' '-1 --rm -k f' '-d g.gz' '-d --rm g.gz' \
        '-dc g.gz' '-d -c g.gz' '-t g.gz' '-T 2 f' '-d -z f' '-S .z f' '-N f' '--compress f' \
        '--decompress g.gz' '--keep f' '--stdout f' '--threads 2 f' '--force f' '--no-name f' \
        '--name f' '--test g.gz' '--quiet f' '-2 f' '-3 f'
}

@test "what is left behind is what bgzip leaves when it decompresses" {
    all_as_real bgzip '-d g.gz' '-dk g.gz' '-dc g.gz' '-cd g.gz' '-df g.gz' '-t g.gz' \
        '-d -@ 2 g.gz' '-d@2 g.gz' '-d --threads 2 g.gz' '--decompress g.gz' '-d --keep g.gz' \
        '-d --stdout g.gz' '--test g.gz' '-d --force g.gz' '-d -l 3 g.gz' '-d missing'
}
