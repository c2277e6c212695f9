#!/usr/bin/env bats
# jobs.bats - the threads of one pipeline work on several files, of all sizes, at the same time

load helpers

setup() {
    enter_test_directory
}

# Makes the directory "tree".  Its files have sizes from 0 bytes to several segments, and are not in
# the order of their sizes.
make_tree() {
    local i sizes=(0 4500000 1 70000 2097152 3 2097153 500000 33000 2300001 12 4194304 100000
        700001)
    local kinds=(source random text mixed)
    mkdir -p tree/sub
    for ((i = 0; i < ${#sizes[@]}; i++)); do
        "$GEN" "${kinds[i % 4]}" "${sizes[i]}" >"tree/$((i % 10))$i"
        [ $((i % 3)) -ne 0 ] || cp "tree/$((i % 10))$i" "tree/sub/$i"
    done
}

# digests DIR: prints the digests of all files in DIR.
digests() {
    (cd "$1" && find . -type f | sort | xargs sha256sum)
}

@test "every file of a mixed tree becomes what it becomes alone, and back" {
    local f options threads
    make_tree
    digests tree >original
    for options in '-1' '-6 -b64' '-6' '-2 --rsyncable'; do
        rm -rf alone
        cp -r tree alone
        # shellcheck disable=SC2086 # The shell splits it into words.
        find alone -type f | sort | while read -r f; do
            "$GZLZSS" -n $options -p1 --backend=cpu "$f"
        done
        digests alone >expected
        # Try each number of threads with two of the four lists of options.
        case $options in
        -1) threads='1 2' ;;
        *b64) threads='3 16' ;;
        -6) threads='2 16' ;;
        *) threads='1 3' ;;
        esac
        for threads in $threads; do
            rm -rf together
            cp -r tree together
            # shellcheck disable=SC2086
            "$GZLZSS" -nr $options -p $threads together
            digests together | cmp - expected
        done
        "$GZLZSS" -tr -p 3 together
        "$GZLZSS" -dr -p 3 together
        digests together | cmp - original
    done
}

@test "slow levels, too" {
    mkdir tree
    for i in 1 2 3 4 5 6 7; do
        "$GEN" source $((i * i * 17000)) >"tree/$i"
    done
    for level in 10 12; do
        rm -rf alone together
        cp -r tree alone
        cp -r tree together
        for i in 1 2 3 4 5 6 7; do
            "$GZLZSS" -n -$level -p1 --backend=cpu "alone/$i"
        done
        "$GZLZSS" -nr -$level -p 5 together
        digests alone >wanted
        digests together | cmp - wanted
    done
}

# At most 32 workers claim segments.  The others only begin jobs.
@test "more threads than claim segments" {
    mkdir d
    for ((i = 0; i < 60; i++)); do
        "$GEN" source $((i * 300)) >"d/$i"
    done
    for ((round = 0; round < 12; round++)); do
        timeout 60 "$GZLZSS" -p 48 -1 -kfr d || fail "status $? in round $round"
    done
    "$GZLZSS" -tr -p 48 d
}

# Three of the arguments fail: a file whose output exists, a directory, and a name that does not
# exist.
@test "a file that fails harms no other" {
    make_tree
    rm -r tree/sub
    cd tree
    "$GEN" text 3000000 >x1
    cp x1 x2
    echo old >x1.gz
    mkdir x3
    status=0
    "$GZLZSS" -p 3 00 x1 11 x3 22 nothing 33 x2 44 </dev/null 2>../stderr || status=$?
    [ "$status" -eq 1 ]
    [ "$(grep -c 'already exists\|is a directory\|No such file' ../stderr)" -eq 3 ] ||
        fail "$(cat ../stderr)"
    "$GEN" text 3000000 | cmp x1 -
    [ "$(cat x1.gz)" = old ]
    absent 00 11 22 33 44 x2
    "$GZLZSS" -t 00.gz 11.gz 22.gz 33.gz 44.gz x2.gz
}

@test "large files side by side: 24 signals, and nothing is lost" {
    local signals=(HUP INT PIPE TERM XCPU XFSZ) round f partly=0 finished
    mkdir tree
    for i in 1 2 3 4 5; do
        "$GEN" source $((i * 1500000)) >"tree/$i"
    done
    for ((round = 0; round < 24; round++)); do
        rm -rf work
        cp -r tree work
        "$GZLZSS" -4 -p $((round % 3 + 2)) work/[1-5] 2>stderr &
        if [ $((round / 6 % 2)) -eq 0 ]; then
            sleep "0.0$((RANDOM % 90 + 10))"
        else
            # Wait until one file is done; the other four take longer.
            while [ -e work/1 ] && kill -0 $! 2>/dev/null; do
                :
            done
        fi
        kill -s "${signals[round % 6]}" $! 2>/dev/null || true
        wait $! 2>/dev/null || true
        finished=0
        for f in 1 2 3 4 5; do
            if [ -e work/$f ]; then
                cmp work/$f tree/$f
                absent work/$f.gz
            else
                "$GZLZSS" -dc work/$f.gz | cmp - tree/$f
                finished=$((finished + 1))
            fi
        done
        [ "$(find work -type f | wc -l)" -eq 5 ]
        [ $finished -eq 0 ] || [ $finished -eq 5 ] || partly=$((partly + 1))
    done
    echo "stopped half-way $partly times"
    [ "$partly" -gt 0 ]
}
