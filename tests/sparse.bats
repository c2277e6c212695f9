#!/usr/bin/env bats
# sparse.bats - holes: -d writes zeros as holes, and compression does not read holes

load helpers

setup() {
    enter_test_directory
    truncate -s 1M hole
    [ "$(blocks hole)" -eq 0 ] || skip "this file system has no holes"
}

# blocks FILE: prints how many KiB the file takes on the disk.
blocks() {
    du -k "$1" | cut -f 1
}

# Makes the file "in": data, 5 MB of zeros, data, and 3 MB of zeros, which are holes.
make_sparse() {
    "$GEN" random 100000 >in
    truncate -s 5100000 in
    "$GEN" random 50000 >>in
    truncate -s 8150000 in
}

@test "-d writes zeros in a file as holes, with the same data and size" {
    local f options
    make_sparse
    cp --sparse=never in full
    "$GZLZSS" -c full >in.gz
    gzip -c full >other.gz
    for f in in other; do
        for options in -p1 -p3 '-p3 --sparse' '-p3 --atomic' '-p2 --synchronous'; do
            rm -f out
            # shellcheck disable=SC2086 # The shell splits it into words.
            "$GZLZSS" -d $options -o out $f.gz
            cmp out in
            [ "$(blocks out)" -lt 400 ] || fail "$f $options: $(blocks out) KiB"
        done
        "$GZLZSS" -d --no-sparse -fo out $f.gz
        cmp out in
        [ "$(blocks out)" -ge 7950 ]
    done
    # The last of the two options counts.
    "$GZLZSS" -d --no-sparse --sparse -fo out in.gz
    [ "$(blocks out)" -lt 400 ]
    # Decompress files side by side, and replace their inputs.
    cp in.gz 1.gz
    cp in.gz 2.gz
    "$GZLZSS" -d -p3 1.gz 2.gz
    cmp 1 in
    cmp 2 in
    [ "$(blocks 1)" -lt 400 ]
}

@test "holes in every format" {
    local format options
    make_sparse
    cp --sparse=never in full
    for format in bgzf zlib raw zip; do
        "$GZLZSS" --format=$format -nc in >in.$format
        "$GZLZSS" --format=$format -nc full | cmp - in.$format
        for options in -p1 -p3; do
            "$GZLZSS" -d $options --format=$format -fo out in.$format
            cmp out in
            [ "$(blocks out)" -lt 400 ] || fail "$format $options: $(blocks out) KiB"
        done
    done
}

@test "standard output gets zeros, and holes only with --sparse" {
    make_sparse
    "$GZLZSS" -c in >in.gz
    "$GZLZSS" -dc in.gz >out
    cmp out in
    [ "$(blocks out)" -ge 7950 ]
    "$GZLZSS" -dc --sparse in.gz >out
    cmp out in
    [ "$(blocks out)" -lt 400 ]
    "$GZLZSS" -d --sparse <in.gz >out
    cmp out in
    [ "$(blocks out)" -lt 400 ]
    # Write several files, one after the other, and then other bytes.
    { "$GZLZSS" -dc --sparse in.gz in.gz; echo end; } >out
    echo end | cat in in - | cmp - out
    [ "$(blocks out)" -lt 800 ]
    "$GZLZSS" -dc --sparse in.gz | cmp - in
}

@test "--sparse does not leave old data in standard output" {
    make_sparse
    "$GZLZSS" -c in >in.gz
    # Try three outputs: one that starts after other data, one that overwrites other data, and one
    # that is appended to a file.
    { echo start; "$GZLZSS" -dc --sparse in.gz; } >out
    echo start | cat - in | cmp - out
    "$GEN" text 9000000 >out
    "$GZLZSS" -dc --sparse in.gz 1<>out
    cmp -n 8150000 out in
    [ "$(stat -c %s out)" -eq 9000000 ]
    echo start >out
    "$GZLZSS" -dc --sparse in.gz >>out
    echo start | cat - in | cmp - out
}

@test "runs of zeros of all lengths and places" {
    local n start
    for start in 0 1 4095 4096; do
        for n in 1 4096 32767 32768 36864 40960 45057 200000; do
            { "$GEN" random $start; head -c $n /dev/zero; } >in
            for end in 0 1 5000; do
                { cat in && "$GEN" random $end; } | tee full | gzip -1 >in.gz
                "$GZLZSS" -dfko out in.gz
                cmp out full
            done
        done
    done
    : | gzip -c >in.gz
    "$GZLZSS" -dfko out in.gz
    [ ! -s out ]
}

@test "data after an error: the output before it is complete" {
    make_sparse
    "$GZLZSS" -c in >in.gz
    head -c $(($(stat -c %s in.gz) - 500)) in.gz >cut.gz
    ends_with 1 "$GZLZSS" -dc cut.gz
    mv stdout expected
    ends_with 1 "$GZLZSS" -dc --sparse cut.gz
    cmp stdout expected
}

@test "a file with holes becomes what it becomes without, by any number of threads" {
    local options
    make_sparse
    cp --sparse=never in full
    for options in -1 '-6 -b 64' '-6 -p1' '-9 -b 512' -0 --rsyncable '-10 -p2'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        "$GZLZSS" -nc $options full >expected
        # shellcheck disable=SC2086
        "$GZLZSS" -nc $options in | cmp - expected
        # shellcheck disable=SC2086
        "$GZLZSS" -n $options <in | cmp - expected
    done
    # Let the command begin to read in the middle of the file.
    { head -c 1000000 >/dev/null; "$GZLZSS" -n; } <in >out
    tail -c +1000001 full | "$GZLZSS" -n | cmp - out
    # The command must leave the descriptor's offset at the end of the input.
    { "$GZLZSS" -n >out; wc -c; } <in >rest
    [ "$(cat rest)" -eq 0 ]
    # Try holes at both ends, and a file that is only a hole.
    truncate -s 9M all
    "$GEN" random 100 | dd of=all bs=1 seek=5000000 conv=notrunc status=none
    for f in all hole; do
        # shellcheck disable=SC2002 # The input has to be a pipe.
        cat $f | "$GZLZSS" -nc -b 64 >expected
        "$GZLZSS" -nc -b 64 $f | cmp - expected
    done
}

@test "holes are not read" {
    needs_strace
    truncate -s 20M in
    "$GEN" random 5000 | dd of=in bs=1 seek=10000000 conv=notrunc status=none
    strace -f -e trace=read,pread64 -o log "$GZLZSS" -nc in >out
    gzip -dc out | cmp - in
    # Sum up the bytes that the command has read of the input.  The command must have read only the
    # data between the holes, and a segment at the end.
    sum=$(sed -n 's/.*pread64(.* = \([0-9]*\)$/\1/p' log | awk '{ sum += $1 } END { print sum + 0 }')
    [ "$sum" -lt 4000000 ] || fail "$sum bytes were read"
    [ "$sum" -ge 5000 ]
}

@test "the end of data before a hole is looked up once, not for each segment" {
    needs_strace
    "$GEN" text 6000000 >in
    truncate -s 7M in
    strace -f -e trace=lseek -o log "$GZLZSS" -nc -b 64 -p 4 in >out
    gzip -dc out | cmp - in
    # There are 92 segments of data.  Four threads may look at the same time.
    count=$(grep -c SEEK_HOLE log)
    [ "$count" -ge 1 ] && [ "$count" -le 8 ] || fail "it was looked up $count times"
}
