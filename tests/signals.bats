#!/usr/bin/env bats
# signals.bats - at whatever moment a signal comes, either the input is left or the whole output
#
# The tests send about one hundred signals, of several kinds that end a program.  The signals come
# while several threads compress a large file, while a file is decompressed, and while many small
# files are compressed side by side.

load helpers

setup() {
    enter_test_directory
}

signals=(HUP INT PIPE TERM XCPU XFSZ)

# interrupt SIGNAL MILLISECONDS ARGUMENT...: runs the command and sends it the signal at a random
# moment.  In half of the cases, this is within MILLISECONDS ms of the start; otherwise, it is
# within a tenth of that time.  The command must succeed or end by that signal, and print nothing.
# $status becomes the exit status.
interrupt() {
    local signal=$1 most=$2
    shift 2
    [ $((RANDOM % 2)) -eq 0 ] || most=$((most / 10))
    status=0
    # `ulimit -c 0` is needed because XCPU and XFSZ would leave a core file.  LeakSanitizer is
    # switched off because it starts a process at the program's end; this process may get the
    # signal, too, and LeakSanitizer would print a message about that.  Other tests find leaks.
    (
        ulimit -c 0
        export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0
        exec timeout --preserve-status -s "$signal" \
            "$(printf '%d.%03d' $((most / 1000)) $((RANDOM % (most % 1000 + 1) + 1)))" "$GZLZSS" \
                "$@"
    ) 2>stderr || status=$?
    [ "$status" -eq 0 ] || [ "$status" -eq $((128 + $(kill -l "$signal"))) ] ||
        fail "exit status $status after SIG$signal: $*" "$(cat stderr)"
    if grep -v -e 'Terminated' -e 'core dumped' stderr; then
        fail "it said something"
    fi
}

@test "a large file: 48 signals" {
    rounds=$(rounds 48)
    "$GEN" text 15000000 >copy
    ln copy big
    stopped=0
    for ((round = 0; round < rounds; round++)); do
        signal=${signals[round % 6]}
        # "big" is a hard link to "copy", so the data is still there after the command has removed
        # "big".  The command compresses a file with several links only with -f.
        interrupt "$signal" 150 -f -p $((round % 4 + 1)) big
        if [ -e big ]; then
            [ "$status" -ne 0 ]
            absent big.gz
            stopped=$((stopped + 1))
        else
            # The command has finished the file.  The signal may have ended the command after that.
            "$GZLZSS" -dc big.gz | cmp - copy
            rm big.gz
            ln copy big
        fi
    done
    "$GEN" text 15000000 | cmp - copy
    echo "stopped $stopped times"
    [ "$stopped" -gt 5 ]
}

@test "decompression: 16 signals" {
    rounds=$(rounds 16)
    "$GEN" text 15000000 >copy
    "$GZLZSS" -c copy >copy.gz
    sum=$(sha <copy.gz)
    for ((round = 0; round < rounds; round++)); do
        ln -f copy.gz z.gz
        rm -f z
        interrupt "${signals[round % 6]}" 80 -df z.gz
        if [ -e z.gz ]; then
            [ "$status" -ne 0 ]
            absent z
        else
            cmp z copy
        fi
    done
    [ "$(sha <copy.gz)" = "$sum" ]
}

@test "each signal, when a part of the output exists" {
    needs_hold
    "$GEN" text 6000000 >copy
    "$GZLZSS" -c copy >copy.gz
    ulimit -c 0
    # The shell lets programs that run in the background ignore SIGINT.
    reset=("${GEN%gen}default_signals")
    for signal in "${signals[@]}"; do
        ln -f copy.gz z.gz
        ln -f copy big
        HOLD_WRITES=1 holds_at /z "${reset[@]}" "$GZLZSS" -df z.gz
        [ -s z ]
        stops_by "$signal"
        absent z
        cmp z.gz copy.gz
        HOLD_WRITES=1 holds_at /big.gz "${reset[@]}" "$GZLZSS" -p1 -f big
        [ -s big.gz ]
        stops_by "$signal"
        absent big.gz
        cmp big copy
    done
}

# check_tree: "work" must have each file of "tree", unchanged or compressed.  The function compares
# many files at once, since a process for each file would take longer than the test itself.
check_tree() {
    local kept compressed
    (cd work && find . -type f | sort) >left
    sed -n 's/\.gz$//p' left | sort >compressed
    comm -12 names left >kept
    mapfile -t kept <kept
    mapfile -t compressed <compressed
    finished=${#compressed[@]}
    # Each name is in one of the two lists, so no output is left beside its input, and there are no
    # other files.
    sort kept compressed | cmp - names || fail "lost, doubled or added"
    [ "$(wc -l <left)" -eq "$files" ]
    # cat needs at least one name: /dev/null.
    (cd tree && cat /dev/null "${kept[@]}") >wanted
    (cd work && cat /dev/null "${kept[@]}") | cmp - wanted || fail "an input has changed"
    if [ "$finished" -gt 0 ]; then
        (cd tree && cat "${compressed[@]}") >wanted
        (cd work && "$GZLZSS" -dc "${compressed[@]/%/.gz}") | cmp - wanted || fail "something is lost"
    fi
}

@test "many files side by side: 36 signals" {
    rounds=$(rounds 36)
    files=120
    "$GEN" source 3000000 >all
    mkdir tree
    for ((i = 0; i < files; i++)); do
        mkdir -p tree/$((i / 20))
        tail -c +$((i * 24000 + 1)) all |
            reads_all head -c $((i % 7 * 4000 + 10)) >tree/$((i / 20))/$i
    done
    (cd tree && find . -type f | sort) >names
    partly=0
    for ((round = 0; round < rounds; round++)); do
        rm -rf work
        cp -r tree work
        interrupt "${signals[round % 6]}" 60 -r -p $((round % 4 + 1)) work
        check_tree
        [ "$status" -ne 0 ] || [ "$finished" -eq "$files" ]
        if [ "$finished" -gt 0 ] && [ "$finished" -lt "$files" ]; then
            partly=$((partly + 1))
        fi
    done
    echo "stopped half-way $partly times"
    [ "$partly" -gt 0 ]
}
