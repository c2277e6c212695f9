#!/usr/bin/env bats
# containers.bats - --format: other programs and gzlzss itself can read zlib, raw DEFLATE, BGZF and
# zip

# shellcheck disable=SC2154 # GEN and GZLZSS come from the build.

load helpers

setup() {
    enter_test_directory
    "$GEN" mixed 500000 >plain
    touch -d @1000000000 plain
    : >empty
    printf x >one
    head -c 65280 plain >whole # one member of BGZF
    head -c 65281 plain >longer
}

inputs="plain empty one whole longer"

# read_back FORMAT: the command must write the same output in this format from a file and from
# standard input, with one thread and with several.  It must also decompress this output, from a
# file and from standard input, with one thread and with several.
read_back() {
    local f level levels
    for f in $inputs; do
        levels=6
        [ "$f" != plain ] || levels="0 1 6 10"
        for level in $levels; do
            "$GZLZSS" --format="$1" -n -"$level" -p3 -c "$f" >packed
            "$GZLZSS" --format="$1" -n -"$level" -p1 <"$f" | cmp - packed
            "$GZLZSS" --format="$1" -dc -p3 packed | cmp - "$f"
            "$GZLZSS" --format="$1" -d -p1 <packed | cmp - "$f"
            "$GZLZSS" --format="$1" -t packed
        done
    done
}

needs() {
    have "$1" || skip "$1 is not installed"
}

@test "every format is read back" {
    local format
    for format in gzip zlib raw bgzf zip; do
        read_back "$format"
    done
}

@test "the emulated GPU writes the same bytes in every format" {
    without_sanitizers
    local format level
    truncate -s 150000 plain # the emulation is slow
    for format in zlib raw bgzf zip; do
        for level in 1 6 9; do
            "$GZLZSS" --backend=cpu --format="$format" -"$level" -c plain >cpu
            GZLZSS_TEST_GPU_MIN=0 "${GEN%gen}emulated_gzlzss" --backend=gpu --format="$format" \
                -"$level" -vv -c plain >gpu 2>messages
            cmp cpu gpu
            grep -q ' 0 by CPU' messages || fail "$(cat messages)"
        done
    done
}

@test "files get the format's suffix, and lose it" {
    local format suffix
    cp -p plain original
    for format in zlib:.zz raw:.deflate bgzf:.gz zip:.zip; do
        suffix=${format#*:}
        format=${format%:*}
        ends_with 0 "$GZLZSS" --format="$format" plain
        [ -s "plain$suffix" ]
        absent plain
        ends_with 0 "$GZLZSS" --format="$format" -d "plain$suffix"
        absent "plain$suffix"
        cmp plain original
    done
}

@test "-z and -K are --format=zlib and --format=zip" {
    "$GZLZSS" --format=zlib -c plain >wanted
    "$GZLZSS" -z -c plain | cmp - wanted
    "$GZLZSS" --format=zip -c plain >wanted
    "$GZLZSS" -K -c plain | cmp - wanted
}

@test "-d knows .zz, and other programs' suffixes only if they are gzip's" {
    "$GZLZSS" -z plain
    ends_with 0 "$GZLZSS" -d plain.zz
    "$GZLZSS" -K -k plain
    # gzip, too, leaves zip files alone, since a zip file may have many entries.
    ends_with 2 "$GZLZSS" -d plain.zip
    stderr_is "gzlzss: plain.zip: unknown suffix -- ignored"
    "$GZLZSS" -dc plain.zip | cmp - plain
    # A file whose name ends in .zz is compressed like any other file, as by gzip.
    "$GZLZSS" -z -k plain
    ends_with 0 "$GZLZSS" -k plain.zz
    [ -s plain.zz.gz ]
}

@test "python's zlib reads zlib's format and raw data" {
    needs python3
    local f
    for f in $inputs; do
        "$GZLZSS" -z -9 -c "$f" >zlib
        "$GZLZSS" --format=raw -9 -c "$f" >raw
        python3 -c '
import sys, zlib
plain, packed, raw = (open(name, "rb").read() for name in sys.argv[1:])
assert zlib.decompress(packed) == plain
assert zlib.decompress(raw, -15) == plain' "$f" zlib raw
        python3 -c '
import sys, zlib
raw = zlib.compressobj(wbits=-15)
plain = open(sys.argv[1], "rb").read()
open("zlib", "wb").write(zlib.compress(plain))
open("raw", "wb").write(raw.compress(plain) + raw.flush())' "$f"
        "$GZLZSS" --format=zlib -dc zlib | cmp - "$f"
        "$GZLZSS" --format=raw -dc raw | cmp - "$f"
    done
}

@test "pigz reads zlib's format and zip files, and is read" {
    needs pigz
    local f
    for f in $inputs; do
        "$GZLZSS" -z -c "$f" | pigz -dc | cmp - "$f"
        "$GZLZSS" -K -c "$f" | pigz -dc | cmp - "$f"
        pigz -z -c "$f" | "$GZLZSS" -dz | cmp - "$f"
        # After the zip file's member, nothing is read: a pipe could end pigz by SIGPIPE.
        pigz -K -c "$f" >zip
        "$GZLZSS" -d <zip | cmp - "$f"
    done
}

@test "unzip reads zip files: name, time and data" {
    needs unzip
    "$GZLZSS" -K -k plain
    mkdir to
    (cd to && TZ=UTC unzip -q ../plain.zip)
    cmp to/plain plain
    [ "$(stat -c %Y to/plain)" -eq 1000000000 ]
    "$GZLZSS" -K -n -c plain >unnamed.zip
    unzip -tq unnamed.zip
    unzip -p unnamed.zip - | cmp - plain
}

@test "python's zipfile reads zip files" {
    needs python3
    local f
    for f in $inputs; do
        "$GZLZSS" -K -c "$f" >packed.zip
        python3 -c '
import sys, zipfile
z = zipfile.ZipFile("packed.zip")
assert z.testzip() is None and z.namelist() == [sys.argv[1]]
assert z.read(sys.argv[1]) == open(sys.argv[1], "rb").read()' "$f"
    done
    # The header must say that the name is in UTF-8.
    cp plain "$(printf '\303\244.txt')"
    "$GZLZSS" -K ./*.txt
    python3 -c '
import glob, zipfile
assert zipfile.ZipFile(glob.glob("*.txt.zip")[0]).namelist() == ["\u00e4.txt"]'
}

@test "gzip and bgzip read BGZF" {
    needs gzip
    local f
    for f in $inputs; do
        "$GZLZSS" --format=bgzf -c "$f" >packed.gz
        gzip -dc packed.gz | cmp - "$f"
        # BGZF ends with an empty member.
        "$GZLZSS" --format=bgzf -c empty >wanted
        tail -c 28 packed.gz | cmp - wanted
        if have bgzip; then
            bgzip -dc packed.gz | cmp - "$f"
            bgzip -r packed.gz
        fi
    done
    have bgzip || skip "bgzip is not installed; gzip has read all"
    bgzip -c empty >wanted
    "$GZLZSS" --format=bgzf -c empty | cmp - wanted
    "$GZLZSS" --format=bgzf plain
    bgzip -r plain.gz
    "$GZLZSS" -dc plain.gz | tail -c +100001 | reads_all head -c 70000 >wanted
    bgzip -b 100000 -s 70000 plain.gz | cmp - wanted
}

@test "tabix and samtools work on BGZF files" {
    have tabix && have samtools || skip "tabix or samtools is not installed"
    {
        printf '##fileformat=VCFv4.2\n##contig=<ID=1>\n'
        printf '#CHROM\tPOS\tID\tREF\tALT\tQUAL\tFILTER\tINFO\n'
        seq 20000 | awk '{ printf "1\t%d\t.\tA\tC\t50\tPASS\tDP=%d\n", $1 * 10, $1 }'
    } >calls.vcf
    "$GZLZSS" --format=bgzf -k calls.vcf
    tabix -p vcf calls.vcf.gz
    [ "$(tabix calls.vcf.gz 1:150000-150100)" = "$(awk '$2 >= 150000 && $2 <= 150100' calls.vcf)" ]
    {
        echo '>chr1'
        "$GEN" text 300000 | od -A n -v -t u1 | awk '{ for (i = 1; i <= NF; i++)
            printf "%s", substr("ACGT", $i % 4 + 1, 1) }' | fold -w 60
        echo
    } >genome.fa
    "$GZLZSS" --format=bgzf -k genome.fa
    samtools faidx genome.fa
    samtools faidx genome.fa chr1:100001-100200 >want
    rm genome.fa
    samtools faidx genome.fa.gz
    samtools faidx genome.fa.gz chr1:100001-100200 | cmp - want
}

@test "damaged zlib and raw data: message, exit status, no output" {
    "$GZLZSS" -z plain
    cp plain.zz good
    cp good plain.zz
    printf '\377' | dd of=plain.zz conv=notrunc bs=1 seek=0 2>/dev/null
    ends_with 1 "$GZLZSS" -d plain.zz
    stderr_is "" "gzlzss: plain.zz: not in zlib format"
    cp good plain.zz
    printf '\273' | dd of=plain.zz conv=notrunc bs=1 seek=1 2>/dev/null
    ends_with 1 "$GZLZSS" -d plain.zz
    stderr_is "" "gzlzss: plain.zz: needs a dictionary -- not supported"
    cp good plain.zz
    truncate -s -1 plain.zz
    ends_with 1 "$GZLZSS" -d plain.zz
    stderr_is "" "gzlzss: plain.zz: unexpected end of file"
    cp good plain.zz
    truncate -s -1 plain.zz
    printf '\0' >>plain.zz
    if ! cmp -s plain.zz good; then
        ends_with 1 "$GZLZSS" -d plain.zz
        stderr_is "" "gzlzss: plain.zz: invalid compressed data--Adler-32 error"
    fi
    absent plain
    cp good plain.zz
    printf 'after' >>plain.zz
    ends_with 2 "$GZLZSS" -dc plain.zz
    stderr_is "" "gzlzss: plain.zz: decompression OK, trailing garbage ignored"
    head -c 300 /dev/zero | tr '\0' '\377' >noise.deflate
    ends_with 1 "$GZLZSS" --format=raw -d noise.deflate
    stderr_is "" "gzlzss: noise.deflate: invalid compressed data--format violated"
    absent noise
}

@test "several threads decompress zlib's format and raw data, with the same verdict on damage" {
    local format at status
    "$GEN" mixed 3000000 >large
    for format in zlib raw; do
        "$GZLZSS" --format="$format" -1 -c large >packed
        GZLZSS_TEST_REGION=50000 "$GZLZSS" --format="$format" -p4 -vv -dc packed 2>messages |
            cmp - large
        grep -q 'parts decompressed ahead' messages || fail "$(cat messages)"
        for at in 1000 200000 700000; do
            cp packed damaged
            printf 'damage' | dd of=damaged conv=notrunc bs=1 seek="$at" 2>/dev/null
            # Raw data has no check value, so damage may go unnoticed.
            status=0
            "$GZLZSS" --format="$format" -p1 -dc damaged >out 2>err || status=$?
            [ "$format" = raw ] || [ "$status" -eq 1 ]
            GZLZSS_TEST_REGION=50000 \
                ends_with "$status" "$GZLZSS" --format="$format" -p4 -dc damaged
            cmp stdout out
            cmp stderr err
        done
    done
}

@test "BGZF: segments are members, so long ones and --rsyncable are refused" {
    ends_with 1 "$GZLZSS" --format=bgzf -b 64 -c plain
    stderr_is "gzlzss: invalid block size for --format=bgzf: give at most 63 (KiB)"
    ends_with 1 "$GZLZSS" --format=bgzf --rsyncable -c plain
    stderr_is "gzlzss: --rsyncable does not go with --format=bgzf, whose members are short anyway"
    "$GZLZSS" --format=bgzf -b 32 -c plain | gzip -dc | cmp - plain
    ends_with 1 "$GZLZSS" --format=tar -c plain
    stderr_is "gzlzss: invalid format 'tar': give gzip, zlib, raw, bgzf or zip"
}

@test "BGZF: output is as small as bgzip's at the same level" {
    have bgzip || skip "bgzip is not installed"
    without_sanitizers
    tar -cf source.tar -C "$srcdir" src lzss huffman inflate pipeline gpu
    local level ours theirs
    for level in 1 2 3 4 5 6 7 8 9; do
        ours=$("$GZLZSS" --format=bgzf -"$level" -c source.tar | wc -c)
        theirs=$(bgzip -l "$level" -c source.tar | wc -c)
        # Allow 0.5 % more: the parameters of the levels were chosen with a larger sample.
        [ $((ours * 1000)) -le $((theirs * 1005)) ] || fail "level $level: $ours, not $theirs"
    done
}
