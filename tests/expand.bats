#!/usr/bin/env bats
# expand.bats - decompression by many threads gives the same result as by one thread

# shellcheck disable=SC2154 # GEN and GZLZSS come from the build.

load helpers

setup() {
    enter_test_directory
    "$GEN" mixed 2000000 >plain
}

# is_same: true if the last run of as_one has the same output, messages and status as one thread.
is_same() {
    cmp one many && cmp one.err many.err && [ "$status" -eq "$expected" ]
}

# as_one FILE [OPTION...]: the output, the messages and the exit status must be the same as with one
# thread.  Tries several numbers of threads and sizes of regions, from a file and from a pipe.
as_one() {
    local file=$1 threads stretch stretches status expected numbers='2 3 16'
    shift
    expected=0
    "$GZLZSS" -dcv -p1 "$@" <"$file" >one 2>one.err || expected=$?
    # With a sanitizer, leave out two threads, which would show nothing that three threads do not
    # show.
    ! is_sanitized || numbers='3 16'
    for threads in $numbers; do
        # Try each number of threads and each size, but not all combinations.
        case $threads in
        2) stretches='0 7000' ;;
        3) stretches='1024 100000' ;;
        16) stretches='0 1024' ;;
        esac
        for stretch in $stretches; do
            status=0
            GZLZSS_TEST_REGION=$stretch "$GZLZSS" -dcv -p"$threads" "$@" <"$file" >many \
                2>many.err || status=$?
            is_same ||
                fail "$file: -p$threads, parts of $stretch bytes: status $status, not $expected"
        done
        status=0
        # shellcheck disable=SC2002 # The input has to be a pipe.
        cat "$file" | GZLZSS_TEST_REGION=5000 "$GZLZSS" -dcv -p"$threads" "$@" >many 2>many.err ||
            status=$?
        is_same || fail "$file, from a pipe: -p$threads: status $status, not $expected"
    done
}

# ahead FILE [REGION]: -vv must report regions that were decoded ahead.  REGION is their size in
# bytes.
ahead() {
    GZLZSS_TEST_REGION=${2-20000} "$GZLZSS" -tvv -p4 "$1" 2>messages
    grep -q '[1-9][0-9]* parts decompressed ahead, [1-9]' messages || fail "$1: $(cat messages)"
}

@test "segments of gzlzss are decoded side by side" {
    for options in -0 -1 -6 -9 '-6 -b 64' -12; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        "$GZLZSS" -c $options -b 256 plain >f.gz
        as_one f.gz
        cmp plain many
        ahead f.gz
    done
    "$GZLZSS" -c --rsyncable plain >f.gz
    as_one f.gz
    ahead f.gz
}

@test "what gzip and zlib make" {
    have gzip || skip "gzip is not installed"
    for level in 1 6 9; do
        gzip -$level -c plain >f.gz
        as_one f.gz
        cmp plain many
        ahead f.gz 100000
    done
}

@test "what pigz makes is decoded side by side" {
    have pigz || skip "pigz is not installed"
    for options in '-6' '-9' '-i' '-0' '-H' '-F'; do
        # Old versions lack -H and -F.
        pigz $options -c plain >f.gz 2>/dev/null || { [[ $options = -[HF] ]] && continue; }
        as_one f.gz
        cmp plain many
        [ "$options" = -0 ] || ahead f.gz 100000
    done
}

@test "members are decoded side by side, of all sizes, also of none and of one byte" {
    for size in 0 1 2 100 30000 0 1 70000 400000 3 0; do
        "$GEN" text "$size" >part
        cat part >>expected
        "$GZLZSS" -c part >>f.gz
    done
    as_one f.gz
    cmp expected many
    ahead f.gz 5000
    : >g.gz
    for n in $(seq 60); do
        "$GEN" source 60000 "$n" | "$GZLZSS" -1 >>g.gz
    done
    as_one g.gz
    ahead g.gz
}

@test "trailing zeros, garbage, and members that are not whole" {
    "$GZLZSS" -c -b 64 plain >good.gz
    { cat good.gz; head -c 100000 /dev/zero; } >f.gz
    as_one f.gz
    { cat good.gz; "$GEN" binary 50000; } >f.gz
    as_one f.gz
    { cat good.gz good.gz; printf '\037\213\010'; } >f.gz
    as_one f.gz
    { cat good.gz; head -c 70000 good.gz; cat good.gz; } >f.gz
    as_one f.gz
    { cat good.gz; cat plain; } >f.gz
    as_one f.gz -f
}

@test "marks, headers of blocks and members that are data" {
    # The data contains bytes that look like marks, and like starts of blocks and of members.  Most
    # of the data is random, so it is stored, and these bytes are in f.gz.  Matches in the later
    # copy of the data reach back over all of them.
    "$GEN" random 40000 >noise
    for n in $(seq 20); do
        printf '\000\000\377\377\000\000\000\377\377'
        "$GZLZSS" -c -b 32 noise | tail -c 3000
        head -c 5000 noise
        gzip -c noise | reads_all head -c 2000
    done >data
    cat data data noise plain data >all
    "$GZLZSS" -c -1 all >f.gz
    as_one f.gz
    cmp all many
    gzip -c all >f.gz
    as_one f.gz
    # A .gz file stored inside another .gz file.
    "$GZLZSS" -c -b 32 plain >inner
    "$GZLZSS" -c inner >f.gz
    as_one f.gz
    cmp inner many
}

@test "a mark is the last thing, or there are only marks" {
    head -c 100000 plain | "$GZLZSS" -b 32 >whole.gz
    for n in $(seq 40); do
        printf '\000\000\377\377\000'
    done | {
        printf '\037\213\010\000\000\000\000\000\000\003\000'
        reads_all head -c 180
        printf '\000\000\377\377'
    } >f.gz
    as_one f.gz
    {
        printf '\037\213\010\000\000\000\000\000\000\003\000'
        for n in $(seq 4000); do
            printf '\000\000\377\377\000'
        done
        printf '\000\000\377\377\003\000\000\000\000\000\000\000\000\000'
    } >g.gz
    as_one g.gz
    [ ! -s many ]
}

@test "cut off anywhere: the same output, message and status" {
    "$GZLZSS" -c -b 64 plain >f.gz
    size=$(wc -c <f.gz)
    for n in $(seq 40); do
        head -c $((size * n / 41)) f.gz >cut.gz
        status=0
        "$GZLZSS" -dc -p1 cut.gz >one 2>one.err || status=$?
        [ "$status" -eq 1 ]
        ends_with 1 env GZLZSS_TEST_REGION=$((1000 * n)) "$GZLZSS" -dc -p4 cut.gz
        cmp stdout one
        cmp stderr one.err
    done
}

@test "a flipped bit anywhere: the same output, message and status" {
    have gzip || skip "gzip is not installed"
    gzip -c plain >f.gz
    size=$(wc -c <f.gz)
    for n in $(seq 40); do
        cp f.gz bad.gz
        at=$((20 + (size - 20) * n / 41))
        byte=$(od -An -tu1 -j $at -N1 f.gz)
        # shellcheck disable=SC2059 # printf converts the escapes in it.
        printf "\\$(printf %o $((byte ^ 1 << n % 8)))" |
            dd of=bad.gz bs=1 seek=$at conv=notrunc status=none
        status=0
        "$GZLZSS" -dc -p1 bad.gz >one 2>one.err || status=$?
        ends_with "$status" env GZLZSS_TEST_REGION=$((2000 * n)) "$GZLZSS" -dc -p4 bad.gz
        cmp stdout one
        cmp stderr one.err
    done
}

@test "the windows of parts reach back through parts before them" {
    # All matches reach back nearly 32 KiB, so each region needs bytes of the region before it.
    "$GEN" random 32000 >noise
    for n in $(seq 60); do
        cat noise
        echo "$n"
    done >data
    have gzip || skip "gzip is not installed"
    gzip -c data >f.gz
    as_one f.gz
    cmp data many
}

@test "a file that is one block, and one of fixed blocks alone" {
    head -c 3000000 /dev/zero | "$GZLZSS" -12 >f.gz
    as_one f.gz
    "$GEN" text 300 >short
    for n in $(seq 400); do
        "$GZLZSS" -c short
    done >f.gz
    as_one f.gz
}

# rows BYTES DOUBLINGS COUNT: makes f.gz, and the file "data" with its uncompressed data.  BYTES are
# one or more blocks that decode to COUNT letters x.  f.gz has these blocks 2^DOUBLINGS times, and
# then the contents of "plain".
rows() {
    # shellcheck disable=SC2059 # printf converts the escapes in it.
    printf "$1" >row
    for _ in $(seq "$2"); do
        cat row row >twice
        mv twice row
    done
    { head -c $(($3 << $2)) /dev/zero | tr '\000' x; cat plain; } >data
    {
        printf '\037\213\010\000\000\000\000\000\000\003'
        cat row
        "$GZLZSS" -nc plain | tail -c +11 | reads_all head -c -8
        "$GZLZSS" -nc data | tail -c 8
    } >f.gz
}

@test "short blocks in long rows: empty ones, and of a few bytes" {
    "$GEN" mixed 500000 >plain
    rows '\000\000\000\377\377' 15 0
    as_one f.gz
    cmp data many
    rows '\000\001\000\376\377x' 15 1
    as_one f.gz
    cmp data many
    # Four fixed blocks: first empty ones, then blocks of one literal.
    rows '\002\010\040\200\000' 15 0
    as_one f.gz
    cmp data many
    rows '\252\000\250\002\240\012\200\052\000' 14 4
    as_one f.gz
    cmp data many
    # Eight dynamic blocks of three literals.
    dynamic='\004\300\201\010\000\000\000\000\040\355\361\017\011\200\003\021\000\000\000\000'
    dynamic+='\100\332\343\037\022\000\007\042\000\000\000\000\200\264\307\077\044\000\016\104'
    dynamic+='\000\000\000\000\000\151\217\177\110\000\034\210\000\000\000\000\000\322\036\377'
    dynamic+='\220\000\070\020\001\000\000\000\000\244\075\376\041\001\160\040\002\000\000\000'
    dynamic+='\000\110\173\374\103\002\340\100\004\000\000\000\000\220\366\370\207'
    rows "$dynamic" 11 24
    as_one f.gz
    cmp data many
    # Truncate and damage the file in the middle of these blocks.
    head -c 100000 f.gz >cut.gz
    as_one cut.gz
    { head -c 100000 f.gz; printf '\377\377\377\377'; tail -c +100005 f.gz; } >bad.gz
    as_one bad.gz
}

@test "data of which a part makes far more output than the rest" {
    # A region of the compressed file decodes to more bytes than an output buffer can hold.  Several
    # threads must still decode the rest of the file.
    {
        cat plain
        endless yes "the same line" | head -c 20000000
        cat plain
    } >dense
    "$GZLZSS" -c dense >f.gz
    as_one f.gz
    cmp dense many
    ahead f.gz 300000
    percent=$(sed -n 's/.* ahead, \([0-9]*\)% of the output$/\1/p' messages)
    [ "$percent" -ge 50 ] || fail "$(cat messages)"
    if have pigz; then
        pigz -c dense >f.gz
        as_one f.gz
        cmp dense many
    fi
}

@test "-t, -k, a named output, many files at a time" {
    for n in $(seq 6); do
        "$GEN" mixed 1000000 >"f$n"
        cp "f$n" "f$n.good"
        "$GZLZSS" -b 64 "f$n"
    done
    export GZLZSS_TEST_REGION=10000
    "$GZLZSS" -t -p4 f?.gz
    "$GZLZSS" -dk -p4 f?.gz
    for n in $(seq 6); do
        cmp "f$n" "f$n.good"
        [ -e "f$n.gz" ]
    done
    rm f?
    "$GZLZSS" -d -p2 f?.gz
    cmp f3 f3.good
    [ ! -e f3.gz ]
}

@test "a full disk is an error with many threads, too" {
    [ -w /dev/full ] || skip "there is no /dev/full"
    "$GZLZSS" -c -b 64 plain >f.gz
    status=0
    GZLZSS_TEST_REGION=10000 "$GZLZSS" -dc -p4 f.gz >/dev/full 2>messages || status=$?
    [ "$status" -eq 1 ]
    grep -q 'No space left on device' messages
}

@test "the other end of the output closes: it ends at once, as with one thread" {
    local threads way writer
    "$GZLZSS" -c -b 64 plain >f.gz
    cat plain plain | reads_all head -c 3000000 >expected
    for threads in 1 4; do
        for way in killed told; do
            # A new FIFO, since cat may still write to the last one after its shell was killed.
            rm -f fifo
            mkfifo fifo
            # The input never ends, so only the closed output can end the command before `timeout`
            # does with status 124.
            { while cat f.gz; do :; done; } >fifo 2>/dev/null 3>&- &
            writer=$!
            rm -f status
            # allowed: SIGPIPE is the point
            {
                [ $way = killed ] || trap '' PIPE
                GZLZSS_TEST_REGION=10000 timeout 20 "$GZLZSS" -dc -p$threads <fifo 2>messages ||
                    echo $? >status
            } | head -c 3000000 >some
            kill "$writer" 2>/dev/null || true
            cmp some expected
            if [ $way = killed ]; then
                [ "$(cat status)" -eq 141 ] || fail "-p$threads: exit status $(cat status)"
                [ ! -s messages ]
            else
                [ "$(cat status)" -eq 1 ] || fail "-p$threads: exit status $(cat status)"
                grep -q 'stdout: Broken pipe' messages
            fi
        done
    done
}

@test "an input that never ends: an error before that is told at once" {
    "$GEN" text 6000000 >long
    "$GZLZSS" -c -b 64 long | reads_all head -c 900000 >f.gz
    [ "$(wc -c <f.gz)" -eq 900000 ]
    "$GEN" random 20000 | dd of=f.gz bs=1 seek=300000 conv=notrunc status=none
    status=0
    mkfifo fifo
    { cat f.gz; sleep 1000; } >fifo 3>&- &
    writer=$!
    # If the command never ends, `timeout` stops it, with status 124.
    timeout 100 "$GZLZSS" -dc -p4 <fifo >/dev/null 2>messages || status=$?
    kill "$writer" 2>/dev/null || true
    [ "$status" -eq 1 ]
    grep -q 'invalid compressed data' messages
}

@test "an input that stalls: what has come is decoded meanwhile" {
    "$GEN" text 6000000 >long
    "$GZLZSS" -c -b 64 long >f.gz
    mkfifo fifo
    : >out
    { head -c 900000 f.gz; sleep 1000; } >fifo 3>&- &
    writer=$!
    "$GZLZSS" -dc -p4 <fifo >out 3>&- &
    reader=$!
    # From these 900,000 bytes, one thread can write 2.4 MB.  With -p4, the command must write as
    # much before the pipe ends, after 1000 seconds.
    for _ in $(seq 1000); do
        [ "$(wc -c <out)" -lt 2400000 ] || break
        sleep 0.1
    done
    kill "$writer" "$reader" || true
    [ "$(wc -c <out)" -ge 2400000 ]
    cmp -n 2400000 out long
}

# stalls FILE: a pipe gives the first 1.3 MB of FILE, and then nothing more, but stays open.
# Before it ends, four threads must write at least nine tenths of the bytes that one thread writes
# within 5 seconds.
stalls() {
    local threads writer reader size=0
    for threads in 1 4; do
        rm -f fifo
        mkfifo fifo
        : >out
        { head -c 1300000 "$1"; sleep 1000; } >fifo 3>&- &
        writer=$!
        "$GZLZSS" -dc -p$threads <fifo >out 3>&- &
        reader=$!
        for _ in $(seq $((threads == 1 ? 50 : 1000))); do
            [ "$threads" -eq 1 ] || [ "$(wc -c <out)" -lt "$size" ] || break
            sleep 0.1
        done
        [ "$(wc -c <out)" -ge "$size" ] || fail "$(wc -c <out) bytes, not $size"
        size=$(($(wc -c <out) * 9 / 10))
        kill "$writer" "$reader" || true
    done
    [ "$size" -gt 1000000 ]
}

@test "an input without marks that stalls: what has come is decoded meanwhile" {
    have gzip || skip "gzip is not installed"
    "$GEN" text 6000000 >long
    if have pigz; then
        pigz -p1 -b 128 -c long >f.gz
        stalls f.gz
    fi
    gzip -c long >g.gz
    stalls g.gz
}

@test "-vv tells what was decoded ahead" {
    "$GZLZSS" -c -b 64 plain >f.gz
    ahead f.gz
    "$GZLZSS" -tvv -p1 f.gz 2>messages
    [ "$(grep -c ahead messages)" -eq 0 ]
}
