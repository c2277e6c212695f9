#!/usr/bin/env bats
# range.bats - --range and --lines write the right parts of a file; --index makes indexes that
# gzlzss and other programs read

load helpers

# Makes the files for all tests once, in "case". Each test gets links to these files.
setup_file() {
    cd "$BATS_FILE_TMPDIR" || return 1
    mkdir case
    cd case || return 1
    "$GEN" text 12000000 >plain
    "$GZLZSS" -1 -b 256 -c plain >ours-1.gz
    "$GZLZSS" -6 -c plain >ours-6.gz
    "$GZLZSS" -10 -c plain >ours-10.gz
    "$GZLZSS" --rsyncable -c plain >rsyncable.gz
    "$GZLZSS" -0 -c plain >stored.gz
    { head -c 5000000 plain | "$GZLZSS"; tail -c +5000001 plain | "$GZLZSS" -b 64; } >members.gz
    ! have gzip || gzip -6 -c plain >gzip.gz
    ! have pigz || pigz -c plain >pigz.gz
    ! have pigz || pigz -i -c plain >pigz-i.gz
    ! have bgzip || bgzip -c plain >bgzip.gz
}

setup() {
    enter_test_directory
    ln "$BATS_FILE_TMPDIR"/case/* .
    size=12000000
}

# part OFFSET LENGTH: prints this part of "plain".
part() {
    tail -c +$(($1 + 1)) plain | reads_all head -c "$2"
}

# try_ranges FILE [OPTION]...: compares ranges of the file at random places with tail and head.
try_ranges() {
    local i offset length
    RANDOM=17
    for ((i = 0; i < $(rounds 4); i++)); do
        offset=$(((RANDOM * 32768 + RANDOM) % (size + 100)))
        length=$((RANDOM % 3 == 0 ? RANDOM * 90 : RANDOM % 300))
        part $offset $length >expected
        "$GZLZSS" "--range=$offset:$length" "${@:2}" "$1" >got || return 1
        cmp expected got || fail "$*: $offset:$length"
    done
    offset=$((RANDOM * 100 + 1))
    tail -c $offset plain >expected
    "$GZLZSS" "--range=-$offset:" "${@:2}" "$1" | cmp - expected || fail "$*: -$offset:"
    part $((size - 1024)) 100 >wanted
    "$GZLZSS" --range=-1K:100 "${@:2}" "$1" | cmp - wanted
    # Longer ranges are decompressed by several threads.
    part 4500000 7000000 >wanted
    "$GZLZSS" --range=4500000:7000000 "${@:2}" "$1" | cmp - wanted || fail "$*: long"
    part $((5 << 20)) "$size" >wanted
    "$GZLZSS" --range=5M: "${@:2}" "$1" | cmp - wanted || fail "$*: 5M:"
    part $((6 << 20)) "$size" >wanted
    GZLZSS_TEST_REGION=30000 "$GZLZSS" --range=6M: "${@:2}" "$1" | cmp - wanted || fail "$*: 6M:"
    part 4500000 "$size" >wanted
    "$GZLZSS" -p1 --range=4500000: "${@:2}" "$1" | cmp - wanted || fail "$*: -p1"
    {
        part 0 5
        part $((11 << 20)) 1024
    } >wanted
    "$GZLZSS" --range=:5 --range=11M:1K "${@:2}" "$1" | cmp - wanted
}

@test "ranges are right, whatever made the file" {
    local file
    for file in *.gz; do
        try_ranges "$file"
    done
}

@test "ranges are right by an index of each format" {
    local file
    for file in *.gz; do
        "$GZLZSS" -t --index "$file"
        "$GZLZSS" -t "--index-file=$file.gzidx" "$file"
        try_ranges "$file"
        try_ranges "$file" "--index-file=$file.gzidx"
        "$GZLZSS" -v --range=9M:10 "$file" 2>stderr >got
        stderr_is "${GZLZSS##*/}: $file: read by an index"
        "$GZLZSS" -v --range=1: "$file" 2>stderr >got
        stderr_is
    done
}

@test "-v says why a range takes long" {
    "$GZLZSS" -v --range=9M:10 rsyncable.gz 2>stderr >got
    stderr_is "${GZLZSS##*/}: rsyncable.gz: no index and no marks: decompressed from the start"
    "$GZLZSS" -v --range=9M:10 ours-1.gz 2>stderr >got
    stderr_is "${GZLZSS##*/}: ours-1.gz: read by the marks between its segments"
}

# all_places FILE [OPTION]...: reads from places in each of the first segments, from a segment's
# start on and across it.  Each read must be right, and find the index to be right.
all_places() {
    local range
    for range in 0:10 65536:10 131071:2 1M:10 2097151:2 2M:10 2200000:10 4M:10 5M:10 6M:10 9M:10; do
        "$GZLZSS" -v "--range=$range" "${@:2}" "$1" 2>stderr >got
        case $range in
        *M:*) part $((${range%M:*} << 20)) "${range#*:}" >expected ;;
        *) part "${range%:*}" "${range#*:}" >expected ;;
        esac
        cmp expected got || fail "$*: $range"
        if grep -q 'does not fit' stderr; then
            fail "$*: $range: $(cat stderr)"
        fi
    done
}

@test "an index made while compressing is right" {
    local option
    for option in -1 -9 -0 '-b 64'; do
        cp plain copy
        # shellcheck disable=SC2086 # The shell splits it into words.
        "$GZLZSS" $option --index copy
        [ -s copy.gz.gzi ]
        try_ranges copy.gz
        all_places copy.gz
        "$GZLZSS" -v --range=9M:10 copy.gz 2>stderr >got
        stderr_is "${GZLZSS##*/}: copy.gz: read by an index"
        rm copy.gz copy.gz.gzi
    done
    "$GZLZSS" -c --index-file=piped.gzi <plain >piped.gz
    try_ranges piped.gz --index-file=piped.gzi
    all_places piped.gz --index-file=piped.gzi
}

@test "an index made while decompressing is right, and does not change the output" {
    local file
    for file in ours-6.gz rsyncable.gz members.gz; do
        "$GZLZSS" -dk -c --index "$file" | cmp - plain
        try_ranges "$file"
        all_places "$file"
    done
    "$GZLZSS" -dc --index-file=piped.gzi <rsyncable.gz | cmp - plain
    try_ranges rsyncable.gz --index-file=piped.gzi
    "$GZLZSS" -p1 -dc --index-file=alone.gzi rsyncable.gz | cmp - plain
    try_ranges rsyncable.gz --index-file=alone.gzi
}

@test "an index takes at most two thousandths of the file, as the manual says" {
    local file index
    grep -q '^It takes at most about two thousandths of the compressed file' "$srcdir/man/gzlzss.1"
    for file in *.gz; do
        "$GZLZSS" -t --index "$file"
        index=$(wc -c <"$file.gzi")
        [ "$index" -lt $(($(wc -c <"$file") / 500)) ] || fail "$file: $index bytes"
    done
}

@test "a BGZF file gets bgzip's index" {
    have bgzip || skip "bgzip is not installed"
    bgzip -r -I theirs bgzip.gz
    "$GZLZSS" -t --index bgzip.gz
    cmp theirs bgzip.gz.gzi
    "$GZLZSS" -dkc --index-file=ours bgzip.gz | cmp - plain
    cmp theirs ours
    try_ranges bgzip.gz --index-file=theirs
    part 7000000 1000 >wanted
    bgzip -b 7000000 -s 1000 -I ours -d -c bgzip.gz | cmp - wanted
}

@test "gztool reads our index, and we read gztool's" {
    have gztool || skip "gztool is not installed"
    local file
    for file in ours-1.gz rsyncable.gz members.gz; do
        "$GZLZSS" -t --index "$file"
        part 9000000 1000 >wanted
        gztool -W -v 0 -I "$file.gzi" -b 9000000 -r 1000 "$file" | cmp - wanted
        gztool -v 0 -s 1 -i -I theirs "$file"
        try_ranges "$file" --index-file=theirs
        rm theirs
    done
}

@test "lines are right, with an index and without" {
    local file first count
    sed 's/e/\n/g' plain >lines
    printf 'no line feed' >>lines
    "$GZLZSS" -c lines >lines.gz
    cp lines.gz copy.gz
    "$GZLZSS" -t --index lines.gz
    for file in lines.gz copy.gz; do
        while read -r first count; do
            sed -n "$first,$((first + count - 1))p" lines >expected
            "$GZLZSS" "--lines=$first:$count" "$file" | cmp - expected || fail "$first:$count"
        done <<<"1 1
2 1
77777 3
200000 1000"
        tail -n +300000 lines >wanted
        "$GZLZSS" --lines=300000: "$file" | cmp - wanted
        {
            head -n 2 lines
            printf feed
        } >wanted
        "$GZLZSS" --lines=:2 --range=-4: "$file" | cmp - wanted
        "$GZLZSS" --lines=99999999:1 "$file" | cmp - /dev/null
    done
    "$GZLZSS" -v --lines=300000:1 lines.gz 2>stderr >got
    stderr_is "${GZLZSS##*/}: lines.gz: read by an index"
}

@test "ranges of a pipe are right" {
    part 100 50 >wanted
    "$GZLZSS" --range=100:50 <rsyncable.gz | cmp - wanted
    part $((7 << 20)) 50 >wanted
    # shellcheck disable=SC2002
    cat rsyncable.gz | reads_all "$GZLZSS" --range=7M:50 | cmp - wanted
    part $((size - (1 << 20))) 50 >wanted
    # shellcheck disable=SC2002
    cat rsyncable.gz | reads_all "$GZLZSS" --range=-1M:50 | cmp - wanted
    status=0
    # shellcheck disable=SC2002
    cat rsyncable.gz | reads_all "$GZLZSS" --range=-2M: 2>stderr || status=$?
    [ "$status" -eq 1 ] || fail "it cannot know the end"
    stderr_is "${GZLZSS##*/}: stdin: a range from the end needs a regular file"
}

@test "every format: ranges, and indexes only of gzip's own" {
    local format index
    for format in bgzf zlib raw zip; do
        "$GZLZSS" --format=$format -1 -b 60 -c plain >plain.$format
        try_ranges plain.$format --format=$format
        try_ranges plain.$format --format=$format -p1
    done
    try_ranges plain.bgzf
    cp plain.zlib plain.zz
    try_ranges plain.zz
    for format in zlib raw zip; do
        ends_with 1 "$GZLZSS" --index --format=$format plain
        ends_with 1 "$GZLZSS" --range=1:1 --index-file=none --format=$format plain.$format
    done
    ends_with 1 "$GZLZSS" -t --index plain.zz
    absent plain.zz.gzi
    # An index for BGZF must be the same, whether gzlzss makes it together with the file or
    # afterwards.
    "$GZLZSS" --index --format=bgzf -o out.gz plain
    "$GZLZSS" -t --index-file=after out.gz
    cmp out.gz.gzi after
    tail -c 9 plain >wanted
    "$GZLZSS" --index-file=after --range=-9: out.gz | cmp - wanted
    ends_with 0 "$GZLZSS" --index-file=index --format=bgzf -c plain
    cmp index after
}

@test "parts go to the file of --output, which replaces no input" {
    "$GZLZSS" --rm --range=100:50 -o out ours-6.gz
    part 100 50 | cmp out -
    [ -e ours-6.gz ]
    mkdir d
    cp ours-6.gz one.gz
    cp ours-1.gz two.gz
    "$GZLZSS" -p3 --range=100:50 --range=5:1 --output-dir=d one.gz two.gz
    {
        part 100 50
        part 5 1
    } >expected
    cmp d/one expected
    cmp d/two expected
}

@test "a range of a file that is cut off: what gunzip gives of it" {
    local range length
    part 0 3700000 | "$GZLZSS" -nc >data.gz
    length=$(stat -c %s data.gz)
    head -c $((length - 1000)) data.gz >cut.gz
    gzip -dc cut.gz >given || [ $? -eq 1 ]
    length=$(stat -c %s given)
    for range in 0:4000000 3000000:1000000 3000000:2000000; do
        ends_with 1 "$GZLZSS" --range=$range cut.gz
        tail -c +$((${range%:*} + 1)) given | cmp - stdout
    done
    # Nothing is missing in a range before the cut.
    "$GZLZSS" --range=$((length - 10)):10 cut.gz >got
    tail -c 10 given | cmp - got
}

@test "ranges of older formats and of damaged files" {
    printf hello | "$GZLZSS" >small.gz
    printf ell >wanted
    "$GZLZSS" --range=1:3 small.gz | cmp - wanted
    printf ll >wanted
    "$GZLZSS" --range=-3:2 small.gz | cmp - wanted
    printf hello >wanted
    "$GZLZSS" --range=-100: small.gz | cmp - wanted
    "$GZLZSS" --range=-0: small.gz | cmp - /dev/null
    head -c 2000000 rsyncable.gz >cut.gz
    part 1000 1000 >wanted
    "$GZLZSS" --range=1000:1000 cut.gz | cmp - wanted
    ends_with 1 "$GZLZSS" --range=11000000:10 cut.gz
    stderr_is '' "${GZLZSS##*/}: cut.gz: unexpected end of file"
    printf 'no gzip at all' >wrong.gz
    ends_with 1 "$GZLZSS" --range=1:1 wrong.gz
    stderr_is '' "${GZLZSS##*/}: wrong.gz: not in gzip format"
    if have compress; then
        head -c 100000 plain | compress -c >old.Z
        part 5000 5000 >wanted
        "$GZLZSS" --range=5000:5000 old.Z | cmp - wanted
    fi
}

@test "an index that is wrong is an error if it was asked for, and else ignored" {
    "$GZLZSS" -t --index rsyncable.gz
    "$GZLZSS" -t --index members.gz
    head -c 1000 rsyncable.gz.gzi >short
    ends_with 1 "$GZLZSS" --range=9M:10 --index-file=short rsyncable.gz
    stderr_is "${GZLZSS##*/}: short: the index is damaged"
    ends_with 1 "$GZLZSS" --range=9M:10 --index-file=plain rsyncable.gz
    stderr_is "${GZLZSS##*/}: plain: not an index that gzlzss reads"
    ends_with 1 "$GZLZSS" --range=9M:10 --index-file=missing rsyncable.gz
    stderr_is "${GZLZSS##*/}: missing: No such file or directory"

    # Give an index that belongs to another file.
    ends_with 0 "$GZLZSS" --range=11M:10 --index-file=members.gz.gzi rsyncable.gz
    part $((11 << 20)) 10 | cmp stdout -
    stderr_is "${GZLZSS##*/}: rsyncable.gz: the index does not fit it, so it is decompressed from the start"

    cp short rsyncable.gz.gzi
    ends_with 0 "$GZLZSS" --range=9M:10 rsyncable.gz
    part $((9 << 20)) 10 | cmp stdout -
    stderr_is "${GZLZSS##*/}: rsyncable.gz.gzi: the index is damaged, so it is ignored"

    touch -d '2001-01-01' members.gz.gzi
    ends_with 0 "$GZLZSS" --range=9M:10 members.gz
    part $((9 << 20)) 10 | cmp stdout -
    stderr_is "${GZLZSS##*/}: members.gz.gzi: the index is older than the file, so it is ignored"
}

@test "an index whose line numbers are another file's is ignored, and the lines are right" {
    head -c 3000000 plain | sed 's/e/\n/g' >one
    head -c 3000000 plain | sed 's/t/\n/g' >two
    # Stored files of one size have the same points, so that only the lines differ.
    "$GZLZSS" -0 one two
    "$GZLZSS" -t --index one.gz
    mv one.gz.gzi two.gz.gzi
    ends_with 0 "$GZLZSS" --lines=30000:2 two.gz
    stderr_is "${GZLZSS##*/}: two.gz: the index does not fit it, so it is ignored"
    "$GZLZSS" -dk two.gz
    sed -n 30000,30001p two | cmp stdout -
    ends_with 0 "$GZLZSS" -q --lines=30000:2 two.gz
    stderr_is
    sed -n 30000,30001p two | cmp stdout -
}

# shift_index INDEX BYTES FROM: shifts the places in the data of an index of gztool's, from point
# FROM on, and the length of the data.
shift_index() {
    perl -e '
        my ($name, $by, $from) = @ARGV;
        open(my $f, "+<:raw", $name) or die;
        my $all = do { local $/; <$f> };
        my $lines = substr($all, 8, 8) eq "gzipindX";
        my $at = $lines ? 20 : 16;
        my $count = unpack("Q>", substr($all, $at, 8));
        $at += 16;
        for my $i (0 .. $count - 1) {
            my $out = unpack("Q>", substr($all, $at, 8));
            substr($all, $at, 8) = pack("Q>", $out + $by) if $i >= $from;
            $at += 24 + unpack("N", substr($all, $at + 20, 4)) + ($lines ? 8 : 0);
        }
        substr($all, $at, 8) = pack("Q>", unpack("Q>", substr($all, $at, 8)) + $by);
        seek($f, 0, 0);
        print $f $all;
    ' "$@"
}

@test "places that are all shifted are noticed, and the right data is written" {
    local wrong by name=${GZLZSS##*/}
    have perl || skip "perl is not installed"
    for file in members.gz ours-1.gz rsyncable.gz; do
        for by in 1 -1 1000; do
            "$GZLZSS" -t --index-file=index $file
            shift_index index $by 1
            wrong="$name: $file: the index does not fit it, so it is decompressed from the start"
            ends_with 0 "$GZLZSS" --index-file=index --range=11M:50 $file
            part $((11 << 20)) 50 | cmp stdout -
            stderr_is "$wrong"
            ends_with 0 "$GZLZSS" --index-file=index --range=5M:5M $file
            part $((5 << 20)) $((5 << 20)) | cmp stdout -
            stderr_is "$wrong"
            ends_with 0 "$GZLZSS" --index-file=index --range=-1000:10 $file
            part $((size - 1000)) 10 | cmp stdout -
        done
    done
}

@test "an index that is found wrong after data was written by it is an error" {
    local name=${GZLZSS##*/}
    have perl || skip "perl is not installed"
    "$GZLZSS" -t --index-file=index ours-1.gz
    shift_index index 50 3
    # The first range is read by wrong places that agree with each other.  The second passes the
    # first of them.
    ends_with 1 "$GZLZSS" --index-file=index --range=8M:50 --range=4600000:5M ours-1.gz
    grep -q "^$name: ours-1.gz: the index, marks or members were found wrong too late: " stderr ||
        fail "$(cat stderr)"
    ends_with 0 "$GZLZSS" --index-file=index --range=4600000:5M ours-1.gz
    part 4600000 $((5 << 20)) | cmp stdout -
}

@test "an index beside a file that belongs to somebody else is passed over" {
    local name=${GZLZSS##*/}
    [ "$(id -u)" -eq 0 ] || skip "only root can give files away"
    cp rsyncable.gz a.gz
    "$GZLZSS" -t --index a.gz
    chown 12345 a.gz.gzi
    ends_with 0 "$GZLZSS" --range=9M:10 a.gz
    stderr_is "$name: a.gz.gzi: the index belongs to another user, so it is ignored"
    part $((9 << 20)) 10 | cmp stdout -
    ends_with 0 "$GZLZSS" -q --range=9M:10 a.gz
    stderr_is
    # It is used if it belongs to the file's owner, or if the user names it.
    ends_with 0 "$GZLZSS" -v --range=9M:10 --index-file=a.gz.gzi a.gz
    stderr_is "$name: a.gz: read by an index"
    chown 12345 a.gz
    ends_with 0 "$GZLZSS" -v --range=9M:10 a.gz
    stderr_is "$name: a.gz: read by an index"
    # Root's is used by anybody.
    chown root a.gz.gzi
    if have setpriv; then
        chmod 711 "$BATS_RUN_TMPDIR" "$BATS_FILE_TMPDIR" "$BATS_TEST_TMPDIR" || true
        if setpriv --reuid 23456 --clear-groups true 2>/dev/null &&
            setpriv --reuid 23456 --clear-groups "$GZLZSS" --version >/dev/null 2>&1 &&
            setpriv --reuid 23456 --clear-groups test -r a.gz; then
            ends_with 0 setpriv --reuid 23456 --clear-groups "$GZLZSS" -v --range=9M:10 a.gz
            stderr_is "$name: a.gz: read by an index"
        fi
    fi
}

@test "line numbers that are all wrong by the same number are noticed" {
    local name=${GZLZSS##*/}
    have perl || skip "perl is not installed"
    "$GZLZSS" -tp1 --index-file=index ours-1.gz
    perl -e '
        open(my $f, "+<:raw", "index") or die;
        my $all = do { local $/; <$f> };
        my $at = 36;
        for my $i (0 .. unpack("Q>", substr($all, 20, 8)) - 1) {
            $at += 24 + unpack("N", substr($all, $at + 20, 4));
            my $line = unpack("Q>", substr($all, $at, 8));
            substr($all, $at, 8) = pack("Q>", $line + 3) if $i > 0;
            $at += 8;
        }
        substr($all, $at + 8, 8) = pack("Q>", unpack("Q>", substr($all, $at + 8, 8)) + 3);
        seek($f, 0, 0);
        print $f $all;
    '
    local line=$(($(wc -l <plain) - 1000))
    ends_with 0 "$GZLZSS" --index-file=index --lines=$line:2 ours-1.gz
    stderr_is "$name: ours-1.gz: the index does not fit it, so it is ignored"
    sed -n "$line,$((line + 1))p" plain | cmp stdout -
}

@test "-v says where an index was written, and in whose format" {
    local index
    head -c 100000 plain >a
    for index in 'a.gz.gzi gztool' 'a.gzidx indexed_gzip'; do
        ends_with 0 "$GZLZSS" -kfv "--index-file=${index% *}" a
        grep -qxF "${GZLZSS##*/}: ${index% *}: index written (${index#* }'s format)" stderr ||
            fail "$(cat stderr)"
    done
    ends_with 0 "$GZLZSS" -kfv --format=bgzf --index a
    grep -qxF "${GZLZSS##*/}: a.gz.gzi: index written (bgzip's format)" stderr ||
        fail "$(cat stderr)"
    [ -s a.gz.gzi ]
}

@test "an index that cannot be made, or a range that cannot be read, is an error that says why" {
    local name=${GZLZSS##*/}
    mkdir d
    local directory
    for directory in d . d/..; do
        ends_with 1 "$GZLZSS" -t "--index-file=$directory" ours-6.gz
        stderr_is "$name: $directory: Is a directory"
    done
    ends_with 1 "$GZLZSS" --range=1:1 --index-file=d ours-6.gz
    stderr_is "$name: d: Is a directory"
    ends_with 1 "$GZLZSS" --range=1:1 --index-file=/dev/null ours-6.gz
    stderr_is "$name: /dev/null: Invalid argument"
    status=0
    # shellcheck disable=SC2002 # The input has to be a pipe.
    cat ours-6.gz | reads_all "$GZLZSS" --range=1:1 --range=5:1 >stdout 2>stderr || status=$?
    [ "$status" -eq 1 ] || fail "two of a pipe: status $status"
    stderr_is "$name: stdin: several ranges need a regular file"
    [ ! -s stdout ]
    status=0
    # shellcheck disable=SC2002
    cat ours-6.gz | reads_all "$GZLZSS" --range=1:1 --index-file=i >stdout 2>stderr || status=$?
    [ "$status" -eq 1 ] || fail "a pipe's index: status $status"
    stderr_is "$name: stdin: only a regular file in gzip's own format can have an index"
}

@test "an index never replaces the file itself" {
    cp ours-6.gz a.gz
    ends_with 1 "$GZLZSS" -t --index-file=a.gz a.gz
    cmp a.gz ours-6.gz
    cp plain b
    ends_with 1 "$GZLZSS" --index-file=b b
    cmp plain b
    ends_with 1 "$GZLZSS" --index-file=b.gz b
    cmp plain b
    absent b.gz
}

# make_places: makes one of everything that can have an index's name, in the directory "there".
make_places() {
    mkdir -p there/directory
    echo precious >there/foreign
    : >there/empty
    "$GEN" random 24 >there/random
    echo precious >target
    ln -s "$PWD/target" there/link
    ln -s "$PWD/nowhere" there/dangling
    mkfifo there/fifo
    # Only root can make a device, and not everywhere.  Never give a test the real one.
    if [ "$(id -u)" -eq 0 ] && mknod there/device c 1 3 2>/dev/null; then
        { : >>there/device; } 2>/dev/null || rm there/device
    fi
}

# state: prints what is in "there", and what the links lead to.
state() {
    (cd there && find . -printf '%p %y %l\n' | LC_ALL=C sort && cat foreign random | od -A n -t x1)
    cat target
    [ ! -e nowhere ] || echo nowhere
}

@test "an index takes the place of nothing but an index, unless -f says so" {
    local place name=${GZLZSS##*/}
    head -c 100000 plain >a
    "$GZLZSS" -k a
    make_places
    state >before
    for place in foreign empty random link dangling; do
        for options in '-k -S .x a' '-t a.gz' '-dkc a.gz' '-k --atomic -S .x a'; do
            # shellcheck disable=SC2086 # The shell splits it into words.
            ends_with 1 "$GZLZSS" --index-file=there/$place $options
            stderr_is "$name: there/$place: exists and is no index -- not overwritten without -f"
            state | diff before -
            absent a.x
        done
        # The same for a name that the command chooses.
        cp -a there/$place a.gz.gzi
        ends_with 1 "$GZLZSS" -t --index a.gz
        stderr_is "$name: a.gz.gzi: exists and is no index -- not overwritten without -f"
        [ "$(stat -c '%F %s' a.gz.gzi)" = "$(stat -c '%F %s' there/$place)" ]
        ends_with 0 "$GZLZSS" -tf --index a.gz
        ends_with 0 "$GZLZSS" -v --range=5:5 a.gz
        [ -f a.gz.gzi ]
        [ ! -L a.gz.gzi ]
        rm a.gz.gzi
    done
    ends_with 1 "$GZLZSS" -t --index-file=there/directory a.gz
    ends_with 1 "$GZLZSS" -tf --index-file=there/directory a.gz
    stderr_is "$name: there/directory: Is a directory"
    state | diff before -
    for place in foreign empty random link dangling; do
        ends_with 0 "$GZLZSS" -tf --index-file=there/$place a.gz
        [ ! -L there/$place ]
        part 5 5 >wanted_part
        "$GZLZSS" --range=5:5 --index-file=there/$place a.gz | cmp - wanted_part
    done
    [ "$(cat target)" = precious ]
    absent nowhere
}

@test "an old index is replaced, whichever format it has" {
    local old new
    head -c 200000 plain >a
    "$GZLZSS" -k a
    "$GZLZSS" -k --format=bgzf -S .bgz a
    "$GZLZSS" -t --index-file=gztool a.gz
    "$GZLZSS" -t --index-file=x.gzidx a.gz
    "$GZLZSS" -t --index-file=bgzip a.bgz
    for old in gztool x.gzidx bgzip; do
        for new in a.gz a.bgz; do
            cp $old old
            ends_with 0 "$GZLZSS" -t --index-file=old $new
            stderr_is
            part 150000 5 >wanted_part
            "$GZLZSS" --range=150000:5 --index-file=old $new | cmp - wanted_part
        done
    done
}

@test "a device or a pipe that --index-file names is written to, and stays" {
    head -c 100000 plain >a
    "$GZLZSS" -k a
    make_places
    ln -s /proc/self/fd/1 there/stdout
    "$GZLZSS" -t --index-file=expected a.gz
    for force in '' -f; do
        timeout 20 cat there/fifo >got &
        # shellcheck disable=SC2086 # It may be empty.
        ends_with 0 timeout 20 "$GZLZSS" -t $force --index-file=there/fifo a.gz
        wait $!
        cmp expected got
        [ -p there/fifo ]
        # shellcheck disable=SC2086
        "$GZLZSS" -t $force --index-file=there/stdout a.gz >got
        cmp expected got
        [ -L there/stdout ]
        if [ -e there/device ]; then
            # shellcheck disable=SC2086
            ends_with 0 "$GZLZSS" -t $force --index-file=there/device a.gz
            [ -c there/device ]
        fi
    done
    # Nobody opens a pipe that has the name of an index by chance: that would wait for ever.
    mkfifo a.gz.gzi
    ends_with 1 timeout 20 "$GZLZSS" -t --index a.gz
    [ -p a.gz.gzi ]
}

# names DIR: prints the names of all files in DIR, sorted, on one line.
names() {
    (cd "$1" && find . -type f -printf '%P\n' | LC_ALL=C sort | tr '\n' ' ')
}

@test "-r leaves indexes beside their files alone, however often it runs" {
    local i before expected options name=${GZLZSS##*/}
    mkdir -p d/e
    head -c 100000 plain | tee d/x >d/e/y
    "$GZLZSS" -r --index d
    expected='e/y.gz e/y.gz.gzi x.gz x.gz.gzi '
    [ "$(names d)" = "$expected" ]
    for options in '-r --index' '-r' '-r -p1' '-rk --format=bgzf' '-rf -S .gz'; do
        # Only -f compresses what is compressed.
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 0 "$GZLZSS" -q $options d
        stderr_is
        names d >there
        ! grep -F gzi. there || fail "$options: $(cat there)"
        rm -f d/x.* d/e/y.*
        head -c 100000 plain | "$GZLZSS" | tee d/x.gz >d/e/y.gz
        "$GZLZSS" -rt --index d
    done
    # Names of bgzip's, indexed_gzip's and gztool's indexes.
    "$GZLZSS" -ck --format=bgzf plain >d/b.bgz
    "$GZLZSS" -t --index-file=d/b.bgz.gzi d/b.bgz
    "$GZLZSS" -t --index-file=d/x.gz.gzidx d/x.gz
    mv d/e/y.gz.gzi d/e/y.gzi
    before=$(names d | sed 's/b.bgz /b.bgz.gz /')
    ends_with 0 "$GZLZSS" -vr d
    for i in b.bgz.gzi e/y.gzi x.gz.gzi x.gz.gzidx; do
        grep -qxF "$name: d/$i is an index -- unchanged" stderr || fail "$(cat stderr)"
    done
    [ "$(names d)" = "$before" ]
    # A file that only has the name of an index is compressed, and so is an index without its file.
    mkdir f
    echo foreign >f/x.gz.gzi
    cp plain f/x.gz
    "$GZLZSS" -t --index-file=f/alone.gz.gzi ours-6.gz
    ends_with 0 "$GZLZSS" -qr f
    [ "$(names f)" = 'alone.gz.gzi.gz x.gz x.gz.gzi.gz ' ]
    # An index that the user names is compressed.
    "$GZLZSS" -t --index ours-6.gz
    "$GZLZSS" -r ours-6.gz.gzi
    [ -e ours-6.gz.gzi.gz ]
}

@test "wrong ranges and combinations are errors" {
    local range
    for range in '' 5 5:x x:5 :-5 5:5:5 1Q:5 '5 :5' 99999999999999999999:1 9000000000G:1; do
        ends_with 1 "$GZLZSS" "--range=$range" ours-6.gz
        stderr_is "${GZLZSS##*/}: invalid range '$range': give OFFSET:LENGTH (bytes, or as 64K, 2M, 1G)"
    done
    for range in '' 0:1 -1:1 5:x 1K:1; do
        ends_with 1 "$GZLZSS" "--lines=$range" ours-6.gz
        stderr_is "${GZLZSS##*/}: invalid lines '$range': give FIRST:COUNT, from 1 on"
    done
    ends_with 1 "$GZLZSS" -t --range=1:1 ours-6.gz
    ends_with 1 "$GZLZSS" -l --range=1:1 ours-6.gz
    ends_with 1 "$GZLZSS" -l --index ours-6.gz
    ends_with 1 "$GZLZSS" --index --range=1:1 ours-6.gz
    ends_with 1 "$GZLZSS" --index-file=x -t ours-6.gz ours-1.gz
    ends_with 1 "$GZLZSS" --rsyncable --index plain
    ends_with 1 "$GZLZSS" --index -c plain
    [ -e ours-6.gz ]
}
