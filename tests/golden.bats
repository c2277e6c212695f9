#!/usr/bin/env bats
# golden.bats - compressed output is the same, byte for byte, as when its digest was recorded
# (tests/data/README)

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    enter_test_directory
}

# check_lines PATTERN: checks all recorded digests whose lines match the extended pattern.
check_lines() {
    local digest level block kind size wrong=0 checked=0
    grep -E "^[^#]+ $1" "$srcdir/tests/data/golden.sha256" >lines || fail "nothing recorded"
    while read -r digest level block kind size; do
        checked=$((checked + 1))
        if [ "$(golden_digest "$level" "$block" "$kind" "$size")" != "$digest" ]; then
            wrong=$((wrong + 1))
            echo "differs: level $level, block size $block, $kind $size"
        fi
    done <lines
    [ "$checked" -gt 0 ] || fail "nothing recorded"
    [ "$wrong" -eq 0 ]
}

@test "the inputs themselves are what was recorded" {
    check_lines '- - '
}

@test "edge and small inputs, level 6" {
    check_lines '6 1024 [a-z0-9]+ [0-9]{1,5}$'
}

@test "large inputs, level 1" {
    check_lines '1 1024 [a-z0-9]+ [0-9]{6,}$'
}

@test "large inputs, level 6" {
    check_lines '6 1024 [a-z0-9]+ [0-9]{6,}$'
}

@test "large inputs, level 9" {
    check_lines '9 1024 [a-z0-9]+ [0-9]{6,}$'
}

@test "segments of 32 KiB" {
    check_lines '6 32 '
}

@test "real files at levels 1, 6 and 9" {
    check_lines '[169] 1024 file '
}

@test "the levels in between" {
    check_lines '[234578] 1024 '
}

@test "the near-optimal levels" {
    check_lines '1[0-9] (1024|4096|8192) [a-z0-9]+ [0-9]+$'
}

@test "real files at the near-optimal levels" {
    check_lines '1[0-9] 1024 file '
}

@test "level 0" {
    check_lines '0 (32|1024) '
}

# The next two tests run each level without -b, on data that is longer than one segment of the
# default size.
@test "segments of the default size, levels 0 to 9" {
    check_lines '[0-9] default '
}

@test "segments of the default size, the near-optimal levels" {
    check_lines '1[0-9] default '
}

@test "formats and strategies" {
    local digest kind size options wrong=0 checked=0
    while read -r digest kind size options; do
        [ "$digest" != '#' ] || continue
        checked=$((checked + 1))
        if [ "$(options_digest "$kind" "$size" "$options")" != "$digest" ]; then
            wrong=$((wrong + 1))
            echo "differs: $options, $kind $size"
        fi
    done <"$srcdir/tests/data/options.sha256"
    [ "$checked" -gt 0 ] || fail "nothing recorded"
    [ "$wrong" -eq 0 ]
}

# If this fails after a row of the table was changed on purpose, take other or more data, and record
# it for all rows (tests/data/README).
@test "each number of the level table decides a recorded digest" {
    local level kind
    without_sanitizers
    "$GEN" copies 560017 >c
    "$GEN" binary 800011 >b
    "${GEN%gen}levels" c b
    for kind in 'copies 560017' 'binary 800011'; do
        for level in $(levels | tail -n +2); do
            grep -qxE "[0-9a-f]{64} $level 1024 $kind" "$srcdir/tests/data/golden.sha256" ||
                fail "level $level is not recorded with $kind"
            grep -qxE "[0-9a-f]{64} $kind --format=bgzf -$level" \
                "$srcdir/tests/data/options.sha256" ||
                fail "BGZF's level $level is not recorded with $kind"
        done
    done
}

@test "every level is recorded with the default segment size" {
    local level
    for level in $(levels); do
        grep -qE "^[0-9a-f]{64} $level default [a-z0-9]+ [0-9]+$" \
            "$srcdir/tests/data/golden.sha256" ||
            fail "level $level is not"
    done
}

@test "the tests above leave no recorded line out" {
    if grep -vE \
        '^#|^[0-9a-f]{64} (- - |[0-9] (1024|default) |[06] 32 |1[0-9] (1024|4096|8192|default) )' \
        "$srcdir/tests/data/golden.sha256"; then
        fail "no test checks these"
    fi
}
