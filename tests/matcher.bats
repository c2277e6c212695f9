#!/usr/bin/env bats
# matcher.bats - --matcher: the match finders of published papers
#
# The tests go through the list that --matcher=help prints.

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    enter_test_directory
    names=$(matchers)
}

# Skips the test in a build without the papers' match finders.
with_papers() {
    [ -n "$names" ] || skip "this is a build without the papers' match finders"
}

# refused TEXT MESSAGE: --matcher=TEXT is an error with this message.
refused() {
    ends_with 1 "$GZLZSS" "--matcher=$1" -c /dev/null
    [ ! -s stdout ]
    grep -qxF "gzlzss: invalid matcher '$1': $2" stderr || fail "$1: $(cat stderr)"
}

# keys NAME: prints a line for each key of a method: the key, its default, and its possible words,
# or its least and greatest value and perhaps a word.
keys() {
    "$GZLZSS" --matcher=help | awk -v name="$1" '
        /^[a-z0-9-]*: / { found = $1 == name ":" }
        found && /^    / {
            split($1, pair, "=")
            sub(/.*; /, "")
            sub(/powers of two from /, "")
            gsub(/ (to|or) /, " ")
            print pair[1], pair[2], $0
        }'
}

@test "help lists methods, with their papers and keys, and does nothing else" {
    with_papers
    "$GZLZSS" --matcher=help -d nothing >help
    for name in $names; do
        grep -A1 "^$name: ." help | tail -n 1 | reads_all grep -qE '^  \(.+, .*[0-9]{4}\)$' ||
            fail "$name has no source"
    done
    keys culzss >found
    printf '%s\n' 'window 128 3 4096' 'chunk 4096 512 32768' 'length 127 3 258' \
        'search all all far one-pass both' | cmp - found
    keys lz4 >found
    grep -qxF 'skip 6 0 15 no' found
    "$GZLZSS" --matcher help | cmp help -
    env GZLZSS=--matcher=help "$GZLZSS" | cmp help -
}

@test "a build without the papers' match finders says so" {
    [ -z "$names" ] || skip "this is a build with them"
    "$GZLZSS" --matcher=help >help
    grep -q "built without the papers' match finders" help
    "$GZLZSS" --help | reads_all grep -q -- '--matcher=NAME *find matches as a paper does: not in this build'
    refused culzss "this gzlzss was built without the papers' match finders"
    refused '' "this gzlzss was built without the papers' match finders"
}

@test "names that are none" {
    with_papers
    refused nothing "there is no match finder 'nothing'"
    refused '' "there is no match finder ''"
    refused , "there is no match finder ''"
    refused CULZSS "there is no match finder 'CULZSS'"
    refused lazy,window=3 "there is no match finder 'lazy'"
    # A wrong matcher is an error even if nothing is compressed.
    ends_with 1 "$GZLZSS" --matcher=nothing -d </dev/null
    ends_with 1 "$GZLZSS" --matcher
    ends_with 1 env GZLZSS=--matcher=nothing "$GZLZSS" -c /dev/null
    grep -qF "GZLZSS: invalid matcher 'nothing'" stderr || fail "$(cat stderr)"
    ends_with 1 env GZIP=--matcher=culzss "$GZLZSS" -c /dev/null
    grep -qF 'option not valid in GZIP' stderr
}

@test "keys that are none, and values that are out of range" {
    with_papers
    for name in $names; do
        refused "$name," "$name has no key ''"
        refused "$name,nothing=3" "$name has no key 'nothing'"
        keys "$name" >found
        while read -r key usual least most _; do
            for value in '' x -1 1.5 99999999999999999999; do
                ends_with 1 "$GZLZSS" "--matcher=$name,$key=$value" -c /dev/null
                grep -qF "invalid matcher '$name,$key=$value': give $key " stderr ||
                    fail "$(cat stderr)"
            done
            ends_with 1 "$GZLZSS" "--matcher=$name,$key=$usual,$key=$usual" -c /dev/null
            grep -qF "': $key is given twice" stderr
            case $least in
            [0-9]*)
                for value in $((least - 1)) $((most + 1)); do
                    ends_with 1 "$GZLZSS" "--matcher=$name,$key=$value" -c /dev/null
                done
                ;;
            esac
        done <found
    done
    refused culzss,window=2 'give window 3 to 4096'
    refused culzss,chunk=4095 'give chunk a power of two, 512 to 32768'
    refused culzss,window 'give window 3 to 4096'
    refused lz4,skip=none 'give skip 0 to 15 or no'
    refused lz4,skip=16 'give skip 0 to 15 or no'
}

@test "values by default are the same as none, and others are taken" {
    with_papers
    "$GEN" source 100000 >plain
    for name in $names; do
        "$GZLZSS" -nc --matcher="$name" plain >usual.gz
        keys "$name" >found
        all=
        while read -r key usual least most words; do
            "$GZLZSS" -nc --matcher="$name,$key=$usual" plain | cmp - usual.gz
            all=$all,$key=$usual
            for value in $least $most $words; do
                "$GZLZSS" -nc --matcher="$name,$key=$value" plain | gzip -dc | cmp - plain ||
                    fail "$name,$key=$value"
            done
        done <found
        "$GZLZSS" -nc --matcher="$name$all" plain | cmp - usual.gz
    done
    # Parameters have an effect.
    "$GZLZSS" -nc --matcher=culzss plain >128.gz
    "$GZLZSS" -nc --matcher=culzss,window=1024 plain >1024.gz
    [ "$(wc -c <1024.gz)" -lt "$(wc -c <128.gz)" ]
    "$GZLZSS" -nc --matcher=culzss,search=both plain >both.gz
    if cmp -s 128.gz both.gz; then
        fail "the key search changes nothing"
    fi
    "$GZLZSS" -nc --matcher=lz4 plain >visited.gz
    "$GZLZSS" -nc --matcher=lz4,skip=no,enter=all plain >all.gz
    [ "$(wc -c <all.gz)" -lt "$(wc -c <visited.gz)" ]
}

@test "threads of a GPU change nothing" {
    with_papers
    "$GEN" source 100000 >plain
    for name in $names; do
        keys "$name" | sed -n 's/^threads auto auto //p' >found
        "$GZLZSS" -nc --matcher="$name" plain >wanted
        while read -r count; do
            "$GZLZSS" -nc --matcher="$name,threads=$count" plain | cmp - wanted
        done <found
    done
}

@test "every method: what gunzip makes of it is the input" {
    with_papers
    local kind size kinds=(text zeros random binary mixed)
    if is_sanitized; then
        kinds=(text zeros)
    fi
    for name in $names; do
        for kind in "${kinds[@]}"; do
            for size in 0 1 2 3 32768 32769 200003; do
                "$GEN" "$kind" $size >plain
                "$GZLZSS" --matcher="$name" -n <plain >plain.gz
                gzip -dc plain.gz | cmp - plain || fail "$name, $kind $size"
            done
        done
        # The output differs from that of the level's own match finder.
        "$GZLZSS" -n <plain >default.gz
        ! cmp -s default.gz plain.gz || fail "$name changes nothing"
    done
}

@test "every method: the same bytes with any number of threads, from a file and from a pipe" {
    with_papers
    local block size p cases=$'2100001\n'
    for name in $names; do
        # The inputs below have two segments of the default size, with one method only; four
        # segments of 64 KiB; and a single segment, which several threads match in parts.
        # shellcheck disable=SC2086 # The option for blocks is one word, or none.
        while read -r size block; do
            "$GEN" mixed "$size" >plain
            "$GZLZSS" --matcher="$name" -n $block -p1 -c plain >one.gz
            for p in 1 2 5; do
                [ $p -eq 1 ] || "$GZLZSS" --matcher="$name" -n $block -p$p -c plain | cmp - one.gz
                # shellcheck disable=SC2002,SC2086 # gzlzss has to read a pipe.
                cat plain | "$GZLZSS" --matcher="$name" -n $block -p$p | cmp - one.gz
            done
            gzip -dc one.gz | cmp - plain
        done <<<"$cases"$'200001 -b64\n300001 -b8192'
        cases=
    done
}

@test "every method: with --rsyncable" {
    with_papers
    "$GEN" source 1000003 >plain
    for name in $names; do
        "$GZLZSS" --matcher="$name" -n --rsyncable -p1 -c plain >one.gz
        "$GZLZSS" --matcher="$name" -n --rsyncable -p3 <plain | cmp - one.gz
        gzip -dc one.gz | cmp - plain
    done
}

@test "the level is still the encoder's and the segments'" {
    with_papers
    "$GEN" text 300003 >plain
    # The next input has two segments at level 12, and three segments at level 6.
    "$GEN" zeros 4200001 >large
    for name in $names; do
        "$GZLZSS" -n --matcher="$name" -6 <plain >six.gz
        # The order of the options does not matter.
        "$GZLZSS" -n -6 --matcher="$name" <plain | cmp - six.gz
        "$GZLZSS" -n -12 --matcher="$name" -vv <large 2>stderr >/dev/null
        grep -q ' 2 segments' stderr || fail "$(cat stderr)"
        "$GZLZSS" -n -12 --matcher="$name" -b 2048 <plain >blocks.gz
        ! cmp -s six.gz blocks.gz || fail "$name: places where a block may end are the same"
    done
}

@test "the last --matcher counts" {
    with_papers
    "$GEN" source 100000 >plain
    "$GZLZSS" -n --matcher=culzss <plain >last.gz
    "$GZLZSS" -n --matcher=culzss,window=8 --matcher=culzss <plain | cmp - last.gz
    env GZLZSS=--matcher=culzss,window=8 "$GZLZSS" -n --matcher=culzss <plain | cmp - last.gz
}

@test "a method that counts: -vv tells, and the same with any number of threads" {
    with_papers
    printf abcxbacxabc |
        "$GZLZSS" -nvv --backend=cpu --matcher=lzss,hash=djb2,buckets=16 2>&1 >/dev/null |
        reads_all grep -qxF 'gzlzss: stdin: matching by CPU: 6 probes, 5 collisions'
    printf abcxbacxabc | "$GZLZSS" -nv --matcher=lzss 2>stderr >/dev/null
    ! grep probes stderr || fail "-v tells"
    printf abcxbacxabc | "$GZLZSS" -nvv --matcher=culzss 2>stderr >/dev/null
    ! grep 'matching by CPU' stderr || fail "culzss counts nothing"
    "$GEN" mixed 2200001 >plain
    "$GZLZSS" -nvvc --backend=cpu -p1 --matcher=lzss plain 2>&1 >/dev/null | grep probes >one
    for options in -p2 -p5 '-p5 -b4096'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        "$GZLZSS" -nvvc --backend=cpu $options --matcher=lzss plain 2>&1 >/dev/null |
            grep probes >counts
        case $options in
        *-b*) if cmp -s one counts; then fail "$options: $(cat counts)"; fi ;;
        *) cmp one counts ;;
        esac
    done
}

@test "what comes out is what was recorded" {
    with_papers
    without_sanitizers
    local checked=0
    grep -v '^#' "$srcdir/tests/data/papers.sha256" >lines
    while read -r digest matcher kind size; do
        checked=$((checked + 1))
        [ "$(paper_digest "$matcher" "$kind" "$size")" = "$digest" ] ||
            fail "differs: $matcher, $kind $size"
    done <lines
    [ "$checked" -gt 0 ] || fail "nothing is recorded"
}

@test "every method is recorded, on all that is, and also with other values" {
    with_papers
    for name in $names; do
        for input in 'text 1300007' 'zeros 1300007' 'random 300007' 'binary 1300007' \
            'mixed 5000011' 'file prose.txt' 'file source.txt' 'file object.bin'; do
            grep -qE "^[0-9a-f]{64} $name $input\$" "$srcdir/tests/data/papers.sha256" ||
                fail "not recorded: $name $input"
        done
        [ -z "$(keys "$name")" ] ||
            grep -qE "^[0-9a-f]{64} $name,[^ ]+ " "$srcdir/tests/data/papers.sha256" ||
            fail "$name is not recorded with other values"
    done
}
