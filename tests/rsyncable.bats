#!/usr/bin/env bats
# rsyncable.bats - --rsyncable: after a difference between two inputs, their outputs soon become
# equal again

load helpers

setup() {
    enter_test_directory
}

@test "round trips at all levels, of all sizes" {
    local kinds=(source random zeros)
    if is_sanitized; then
        kinds=(source)
    fi
    for size in 0 1 4095 4096 4097 32767 32768 32769 65536 100000 1048577; do
        for kind in "${kinds[@]}"; do
            "$GEN" "$kind" $size >plain
            for level in 0 1 2 6 9 10 12; do
                [ $size -lt 1000000 ] || [ $level -lt 10 ] || continue
                "$GZLZSS" --rsyncable -n -$level <plain >plain.gz
                gzip -dc plain.gz | cmp - plain || fail "$kind $size, level $level"
                "$GZLZSS" -t plain.gz
            done
        done
    done
}

@test "the same bytes with any number of threads, from a file and from a pipe, slow or not" {
    "$GEN" source 3000000 >plain
    for level in 0 1 6; do
        "$GZLZSS" --rsyncable -n -$level -p1 -c plain >one.gz
        for p in 2 5; do
            "$GZLZSS" --rsyncable -n -$level -p$p -c plain | cmp - one.gz
            "$GZLZSS" --rsyncable -n -$level -p$p <plain | cmp - one.gz
        done
        {
            head -c 1000 plain
            sleep 0.1
            tail -c +1001 plain | dd bs=7777 status=none
        } | "$GZLZSS" --rsyncable -n -$level | cmp - one.gz
    done
}

# common_tail FILE FILE: prints how many bytes are equal at the end of both files, not counting the
# trailers.
common_tail() {
    python3 -c '
import sys
a, b = (open(name, "rb").read()[-9::-1] for name in sys.argv[1:])
n = 0
while n < min(len(a), len(b)) and a[n] == b[n]:
    n += 1
print(n)' "$1" "$2"
}

@test "after a change, the output soon is what it was" {
    without_sanitizers
    have python3 || skip "python3 is not installed"
    "$GEN" source 3000000 >plain
    "$GZLZSS" --rsyncable -n plain
    size=$(wc -c <plain.gz)
    "$GEN" source 3000000 >plain
    # Insert a byte at the front or, in a second run, in the middle.  (The output before a change is
    # the same even without --rsyncable.)
    (printf x && cat plain) | "$GZLZSS" --rsyncable -n >front.gz
    [ "$(common_tail plain.gz front.gz)" -ge $((size - 30000)) ]
    (head -c 1500000 plain && printf x && tail -c +1500001 plain) |
        "$GZLZSS" --rsyncable -n >middle.gz
    [ "$(common_tail plain.gz middle.gz)" -ge $((size * 48 / 100)) ]
    cmp -n $((size * 48 / 100)) plain.gz middle.gz
    # Without --rsyncable, the outputs must stay different after the change.  So the checks above
    # are able to fail.
    "$GZLZSS" -nf plain
    (printf x && gzip -dc plain.gz) | "$GZLZSS" -n >front.gz
    [ "$(common_tail plain.gz front.gz)" -lt 30000 ]
}

@test "it costs less than three parts in a hundred of text" {
    without_sanitizers
    "$GEN" text 3000000 >plain
    with=$("$GZLZSS" -nc --rsyncable plain | wc -c)
    without=$("$GZLZSS" -nc plain | wc -c)
    [ "$without" -gt 0 ]
    [ "$with" -gt "$without" ] && [ $((with * 100)) -le $((without * 103)) ] ||
        fail "$without, $with"
}

@test "what comes out is what was recorded" {
    without_sanitizers
    local checked=0
    while read -r digest level kind size; do
        checked=$((checked + 1))
        [ "$("$GEN" "$kind" "$size" | "$GZLZSS" -n "-$level" --rsyncable | sha)" = "$digest" ] ||
            fail "differs: $kind $size, level $level"
    done <"$srcdir/tests/data/rsyncable.sha256"
    [ "$checked" -gt 0 ] || fail "nothing is recorded"
}

@test "the segments are not for a GPU" {
    ends_with 1 "$GZLZSS" --rsyncable --backend=gpu -c /dev/null
    grep -q 'does not go with' stderr
}
