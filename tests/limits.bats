#!/usr/bin/env bats
# limits.bats - with a small stack or little memory, everything that one thread can do still works

load helpers

setup() {
    enter_test_directory
    NAME=${GZLZSS##*/}
    # Sanitizers need more memory and stack.
    without_sanitizers
}

# Sets $small, so that "${small[@]}" COMMAND... runs a command with a stack of 16 KiB, which also
# contains its environment.  Skips the test if not even `true` works with this stack.
need_small_stacks() {
    local i
    # shellcheck disable=SC2016 # The inner shell expands it.
    small=(env -i "PATH=$PATH" LC_ALL=C sh -c 'ulimit -c 0; ulimit -s 16 && exec "$@"' small)
    for i in 1 2 3 4 5; do
        "${small[@]}" true || skip "no program runs with a stack of 16 KiB"
    done
}

@test "a stack of 16 KiB is enough to compress" {
    need_small_stacks
    "$GEN" mixed 2100000 >f
    for options in "-1 -p1" "-p1" "-p4" "-9 -p2" "-12 -p1" "-12 -p4 -b 256" "--rsyncable -p4" \
        "-b 64 -p3"; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        "$GZLZSS" $options -c f >expected
        # shellcheck disable=SC2086
        "${small[@]}" "$GZLZSS" $options -c f >f.gz
        cmp f.gz expected
    done
    for matcher in $(matchers); do
        "$GEN" text 50000 | "$GZLZSS" --matcher="$matcher" >expected
        "$GEN" text 50000 | "${small[@]}" "$GZLZSS" --matcher="$matcher" | cmp - expected
    done
}

@test "a stack of 16 KiB is enough to decompress" {
    need_small_stacks
    "$GEN" mixed 5000000 >f
    "$GZLZSS" -k f
    "$GZLZSS" -12 -b 32768 -c f >one-segment.gz
    for p in 1 2 4; do
        for file in f.gz one-segment.gz; do
            "${small[@]}" "$GZLZSS" -dc -p$p $file | cmp - f
            "${small[@]}" "$GZLZSS" -dc -p$p <$file | cmp - f
            # shellcheck disable=SC2002 # The input has to be a pipe.
            cat $file | "${small[@]}" "$GZLZSS" -t -p$p
        done
    done
    "${small[@]}" "$GZLZSS" -lv f.gz
    "${small[@]}" "$GZLZSS" -d <f.gz >g
    cmp f g
    # Try files that are replaced by their outputs, and many files side by side.
    for i in 1 2 3 4 5 6; do
        "$GEN" text $((i * 100000)) >t$i
    done
    "${small[@]}" "$GZLZSS" -p3 t?
    absent t1 t6
    "${small[@]}" "$GZLZSS" -d -p3 t?.gz
    for i in 1 2 3 4 5 6; do
        "$GEN" text $((i * 100000)) | cmp - t$i
    done
}

@test "with a stack of 16 KiB, errors, signals and the exit status are as ever" {
    need_small_stacks
    "$GEN" text 100000 | "$GZLZSS" >f.gz
    head -c 1000 f.gz >cut.gz
    ends_with 1 "${small[@]}" "$GZLZSS" -d cut.gz
    sed -i '/; see --recover$/d' stderr
    stderr_is "" "$NAME: cut.gz: unexpected end of file"
    absent cut
    ends_with 1 "${small[@]}" "$GZLZSS" nothing
    # A closed pipe ends the command.
    status=0
    { "${small[@]}" "$GZLZSS" -dc f.gz || echo $? >status; } | true
    [ "$(cat status)" -eq 141 ]
    # A signal removes the partial output.
    "$GEN" text 60000000 >big
    "${small[@]}" "$GZLZSS" -12 -p2 big 3>&- &
    pid=$!
    until [ -e big.gz ]; do
        kill -0 "$pid" || fail "it has ended"
    done
    kill -TERM "$pid"
    wait "$pid" || status=$?
    [ "$status" -eq 143 ]
    absent big.gz
    [ -e big ]
}

# rises LETTER LIMIT... -- COMMAND...: runs the command with each limit, in KiB, which `ulimit
# -LETTER` sets.  The command must write the contents of "expected", or print that memory is short.
# If the command works with one limit, it must also work with all higher limits.
rises() {
    local letter=$1 limits=() limit works=no
    shift
    while [ "$1" != -- ]; do
        limits+=("$1")
        shift
    done
    shift
    for limit in "${limits[@]}"; do
        if (ulimit "-$letter" "$limit" && "$@") >stdout 2>stderr; then
            works=yes
            cmp stdout expected
        else
            [ $works = no ] || fail "no longer with ulimit -$letter $limit: $*" "$(cat stderr)"
            grep -q -e 'memory exhausted' -e 'out of memory' -e 'loading shared' -e \
                'Cannot allocate' stderr ||
                fail "with ulimit -$letter $limit: $*" "$(cat stderr)"
        fi
    done
    [ $works = yes ] || fail "not with ulimit -$letter $limit, either: $*" "$(cat stderr)"
}

@test "with more memory, what worked with less works" {
    "$GEN" mixed 5000000 >f
    "$GZLZSS" -n -c f >f.gz
    cp f expected
    # Some of these limits leave enough memory for a helper's stack or for its buffers, but not for
    # both.
    rises d {700..2500..100} {9000..11000..100} 14000 19000 25000 -- "$GZLZSS" -dc -p2 f.gz
    rises d {900..2500..200} {9050..11000..150} 17000 22000 40000 -- "$GZLZSS" -dc -p8 f.gz
    rises v {6500..40000..4100} -- "$GZLZSS" -dc -p4 f.gz
    cp f.gz expected
    for p in 1 4; do
        rises d {8000..27000..2570} -- "$GZLZSS" -n -c -p$p f
        rises v {9000..40000..4100} -- "$GZLZSS" -n -c -p$p f
    done
}

@test "one thread needs 11 MB to compress at levels up to 9, and 48 MB above, and finds the same" {
    "$GEN" text 1200000 >f
    for level in 1 6 9 10 12; do
        "$GZLZSS" -n -$level -c f >expected
        least=11000
        [ "$level" -lt 10 ] || least=48000
        for p in 1 8; do
            (ulimit -d $least && "$GZLZSS" -n -$level -p$p -c f) | cmp - expected
            (ulimit -v $((least + 10000)) && "$GZLZSS" -n -$level -p$p -c f) | cmp - expected
        done
    done
}

# Sets $failing to the shared object that makes allocations fail (tests/faults/shim.c).
need_failing() {
    failing=${GEN%gen}faults/shim.so
    [ -e "$failing" ] || skip "there is no shared object to load"
    fails "$GZLZSS" --version 2>&1 >/dev/null | reads_all grep -q '^COUNT' || skip "it cannot be loaded"
}

# fails COMMAND...: runs the command with the shared object $failing.  This object counts
# allocations of at least a page, and makes those fail that the variable FAULT selects.
fails() {
    FAULT_MIN=4096 FAULT_COUNT=1 LD_PRELOAD=$failing "$@"
}

# each_fails COMMAND...: whichever single allocation fails, the command must still work, and its
# output must equal "expected".
each_fails() {
    local n
    fails "$@" 2>stderr >stdout
    count=$(sed -n 's/^COUNT memory //p' stderr)
    [ "$count" -gt 3 ]
    for ((n = 1; n <= count + 1; n++)); do
        FAULT="memory $n ENOMEM" fails "$@" >stdout 2>stderr ||
            fail "allocation $n of $count: $*" "$(cat stderr)"
        cmp stdout expected
    done
}

# ends_some_time COMMAND...: for each N, runs the command while allocation N and all later ones
# fail.  One thread needs the first allocations, so the command may fail if N is small.  But if the
# command works for one N, it must also work for all larger N.
ends_some_time() {
    local n works=no
    for ((n = 1; n <= count + 1; n++)); do
        if FAULT="memory $n+ ENOMEM" fails "$@" >stdout 2>stderr; then
            works=yes
            cmp stdout expected
        else
            [ $works = no ] || fail "allocations from $n on of $count: $*" "$(cat stderr)"
            grep -q -e 'memory exhausted' -e 'out of memory' stderr || fail "$(cat stderr)"
        fi
    done
    [ $works = yes ]
}

# piped COMMAND...: gives the command f.gz through a pipe.  f.gz is short, so that the test can
# decompress it many times, but several threads work on it.
piped() {
    env -u LD_PRELOAD cat f.gz | "$@"
}

@test "whichever allocation fails, decompression by several threads goes on" {
    need_failing
    "$GEN" mixed 900000 >f
    "$GZLZSS" -c f >f.gz
    "$GZLZSS" -c -b 64 f >marks.gz
    cp f expected
    export GZLZSS_TEST_REGION=50000
    for command in "$GZLZSS -dc -p4 f.gz" "$GZLZSS -dc -p2 marks.gz" "piped $GZLZSS -dc -p4"; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        each_fails $command
        # shellcheck disable=SC2086
        ends_some_time $command
    done
    # Several files are decompressed side by side, in any order, so -t is used, which has no output
    # to compare.
    : >expected
    each_fails "$GZLZSS" -t -p3 f.gz marks.gz
}

@test "whichever allocation fails, compression by several threads goes on" {
    need_failing
    "$GEN" mixed 500000 >f
    for options in "-p4 -b 64" "-1 -p2 -b 64" "-12 -p2 -b 96"; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        "$GZLZSS" -n $options -c f >expected
        # shellcheck disable=SC2086
        each_fails "$GZLZSS" -n $options -c f
        # shellcheck disable=SC2086
        ends_some_time "$GZLZSS" -n $options -c f
    done
}

# in_group BYTES COMMAND...: runs the command as if it were in a control group with a memory limit
# of BYTES.  For this, the function mounts files with that limit in place of the real files.
in_group() {
    # shellcheck disable=SC2016 # The inner shell expands it.
    unshare -rm bash -c '
        group() { sed -n "s/^$1//p" /proc/self/cgroup | head -n 1; }
        v2=$(group 0::) v1=$(group "[0-9]*:[^:]*memory[^:]*:")
        mount -t tmpfs none /sys/fs/cgroup || exit 99
        for file in "$v2/memory.max" "unified/$v2/memory.max" "memory/$v1/memory.limit_in_bytes"; do
            mkdir -p "/sys/fs/cgroup/${file%/*}" && echo "$0" >"/sys/fs/cgroup/$file" || exit 99
        done
        exec "$@"' "$@"
}

@test "a control group with less memory than one thread needs: that is said, and nothing is done" {
    in_group 1000000 true 2>/dev/null || skip "no control group can be made up here"
    "$GEN" text 2200000 >f
    cp f copy
    for options in "-12" "-10 -p4" "-12 -k" "-11 -c"; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 1 in_group 25000000 "$GZLZSS" $options f
        stderr_is "$NAME: memory exhausted: needs 32 MiB, and the limit is 23 MiB"
        [ ! -s stdout ]
        absent f.gz
        cmp f copy
    done
    ends_with 1 in_group 4000000 "$GZLZSS" f
    stderr_is "$NAME: memory exhausted: needs 6 MiB, and the limit is 3 MiB"
    ends_with 1 in_group 4000000 "$GZLZSS" -p2 f copy
    stderr_is "$NAME: memory exhausted: needs 6 MiB, and the limit is 3 MiB"
    absent f.gz copy.gz
    # If the memory is enough for one thread, the output is the same as without a limit.  Smaller
    # segments need less memory, and decompression needs only little memory.
    "$GZLZSS" -n -12 -c f >expected
    in_group 34000000 "$GZLZSS" -n -12 -p4 -c f | cmp - expected
    in_group 25000000 "$GZLZSS" -12 -b 1024 -k f
    in_group 4000000 "$GZLZSS" -dc -p4 f.gz | cmp - f
}

# peak COMMAND...: runs the command, and prints the most memory that it had, in KiB.
peak() {
    python3 -c '
import resource, subprocess, sys
status = subprocess.call(sys.argv[1:], stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)' "$@"
}

@test "--memory limits what compression and decompression use" {
    local limit kib
    have python3 || skip "python3 is not installed"
    "$GEN" mixed 30000000 >f
    "$GZLZSS" -nc f >expected
    [ "$(peak "$GZLZSS" -nc -p16 f)" -gt 40000 ] || skip "nothing here takes much memory"
    # (Python itself takes 14 MB, so lower limits cannot be measured in this way.)
    for limit in 20M 40MiB 80000k; do
        case $limit in
        20M) kib=20480 ;;
        40MiB) kib=40960 ;;
        *) kib=80000 ;;
        esac
        # Shared libraries take up to 3000 KiB, which do not count.
        for command in "-nc -p16 --memory=$limit f" "-dc -p16 --memlimit $limit expected"; do
            # shellcheck disable=SC2086 # The shell splits it into words.
            used=$(peak "$GZLZSS" $command)
            [ "$used" -lt $((kib + 3000)) ] || fail "$command: $used KiB"
        done
        "$GZLZSS" -nc -p16 --memory=$limit f | cmp - expected
        "$GZLZSS" -dc -p16 --memory=$limit <expected | cmp - f
    done
}

@test "--memory: too little is an error before anything is done, as are wrong limits" {
    local limit
    echo x >f
    for limit in 1 1M 5000k; do
        ends_with 1 "$GZLZSS" --memory=$limit f
        grep -q "^$NAME: memory exhausted: needs 6 MiB, and the limit is [0-4] MiB$" stderr ||
            fail "$(cat stderr)"
        absent f.gz
    done
    for limit in '' 0 x 1X 1GG -1 1.5G '1 G' 99999999999999999999 16777216T 1iB % 0% 101% 5%%; do
        ends_with 1 "$GZLZSS" --memory="$limit" f
        stderr_is "$NAME: invalid limit on memory '$limit': give bytes, or as 500M, 4GiB, 80%"
        absent f.gz
    done
    for limit in 8388608 8192k 8192K 8192Ki 8192KiB 8192kB 8M 1g 1T 1TiB 9000000B 16777215T 100% \
        80%; do
        "$GZLZSS" --memory=$limit f
        "$GZLZSS" -d --memory=$limit f.gz
    done
}
