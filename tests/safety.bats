#!/usr/bin/env bats
# safety.bats - no data is lost: inputs that change, full disks, little memory, closed descriptors

load helpers

setup() {
    enter_test_directory
    NAME=${GZLZSS##*/}
}

# waits_for_a OPTION...: starts the command on two small files, a and b, side by side, and holds it
# at a's output.  The command finishes b, but must wait for a before it removes b.
waits_for_a() {
    local suffix='' output=b.gz
    if [ "$1" = -d ]; then
        suffix=.gz
        output=b
    fi
    holds_at "/${output/b/a}" "$GZLZSS" -p2 "$@" "a$suffix" "b$suffix"
    until [ -s "$output" ]; do
        kill -0 "$pid" || fail "it has ended: $(cat stderr)"
        sleep 0.01
    done
    [ -e "a$suffix" ]
    [ -e "b$suffix" ]
}

# Skips the test where no mounts can be made.  "${with_mounts[@]}" COMMAND runs a command that can
# make mounts.  These mounts vanish when the command ends.
need_mounts() {
    with_mounts=(unshare -m)
    [ "$(id -u)" -eq 0 ] || with_mounts=(unshare -rm)
    "${with_mounts[@]}" mount -t tmpfs none /mnt 2>/dev/null || skip "no mounts can be made here"
}

# Each of these commands changes FILE.  The first removes FILE and makes a new FILE; the second
# makes FILE longer; the third makes FILE shorter; the fourth renames FILE and makes a new FILE; the
# fifth rewrites FILE with the same data and time.
changes=('rm FILE; cat new >FILE' 'cat new >>FILE' 'cat new >FILE' 'mv FILE other; cat new >FILE'
    'touch -r FILE time; dd if=FILE of=all status=none
        dd if=all of=FILE conv=notrunc status=none; touch -r time FILE')

@test "a small file that changes while it waits for others is compressed as it is then" {
    needs_hold
    "$GEN" text 100000 >data
    echo new >new
    for change in "${changes[@]}"; do
        cp data a
        echo older >b
        waits_for_a -12
        eval "${change//FILE/b}"
        cp b expected
        lets_go 0
        absent a b
        gzip -dc b.gz | cmp - expected
        gzip -dc a.gz | cmp - data
        rm a.gz b.gz
    done
}

@test "a small file that changes while it waits for others is decompressed as it is then" {
    needs_hold
    "$GEN" text 100000 | gzip -1 >data
    echo old | gzip >old
    echo new | gzip >new
    for change in "${changes[@]}"; do
        cp data a.gz
        cp old b.gz
        waits_for_a -d
        eval "${change//FILE/b.gz}"
        gzip -dc b.gz >expected
        lets_go 0
        absent a.gz b.gz
        cmp b expected
        rm a b
    done
}

@test "a file that changes while it is read is not removed, and gives no output" {
    needs_hold
    "$GEN" text 1200000 >data
    echo new >new
    for change in 'cat new >>big' 'dd if=new of=big conv=notrunc status=none' \
        'touch -r big time; dd if=new of=big conv=notrunc status=none; touch -r time big'; do
        for options in -12 '-12 --rsyncable' '-12 -f'; do
            cp data big
            # shellcheck disable=SC2086
            holds_at /big.gz "$GZLZSS" -p1 $options big
            eval "$change"
            cp big copy
            lets_go 1 "" "$NAME: big: file changed while it was read"
            absent big.gz
            cmp big copy
        done
        # With -k, the input stays, so no data can be lost.
        holds_at /big.gz "$GZLZSS" -k -p1 -12 big
        touch big
        lets_go 0
        gzip -dc big.gz | cmp - big
        rm big.gz
    done
}

@test "a change of mode or of names is no reason to keep a file" {
    needs_hold
    "$GEN" text 1200000 >data
    for change in 'chmod 600 big' 'ln big other'; do
        cp data big
        holds_at /big.gz "$GZLZSS" -p1 -12 big
        eval "$change"
        lets_go 0
        absent big
        gzip -dc big.gz | cmp - data
        rm big.gz
    done
    # The output that -f replaces may be another name of the input.
    for options in '' --atomic; do
        cp data a
        ln a a.gz
        # shellcheck disable=SC2086
        ends_with 0 "$GZLZSS" $options -f a
        stderr_is
        absent a
        gzip -dc a.gz | cmp - data
        mv a.gz b.gz
        ln b.gz b
        # shellcheck disable=SC2086
        ends_with 0 "$GZLZSS" $options -df b.gz
        absent b.gz
        cmp b data
        rm b
    done
}

@test "a file is given away, with --atomic and no other right of root's" {
    [ "$(id -u)" -eq 0 ] || skip "only root can give files away"
    rights=(setpriv --bounding-set '-all,+chown' --inh-caps '-all,+chown')
    "${rights[@]}" true 2>/dev/null || skip "setpriv cannot do that here"
    chmod 777 .
    "$GEN" text 100000 >a
    cp a data
    chown 1000:1000 a
    chmod 644 a
    ends_with 0 "${rights[@]}" "$GZLZSS" --atomic a
    stderr_is
    absent a
    gzip -dc a.gz | cmp - data
    [ "$(stat -c '%u %g %a' a.gz)" = "1000 1000 644" ]
}

@test "on a nearly full disk, files are compressed one by one if need be" {
    need_mounts
    mkdir disk
    "$GEN" text 8000000 >log
    "$GEN" text 1000000 >small
    for p in 2 16; do
        # shellcheck disable=SC2016
        "${with_mounts[@]}" bash -e -c '
            mount -t tmpfs -o size=64m none disk
            cp log disk
            for i in {1..30}; do
                cp small disk/f$i
            done
            cd disk
            fill=$(($(df -k --output=avail . | tail -n 1) - 4000))
            dd if=/dev/zero of=rest bs=1k count=$fill status=none
            "$0" -p "$1" log f?* 2>../stderr
            rm rest
            for i in {1..30}; do
                gzip -dc f$i.gz | cmp - ../small
            done
            gzip -dc log.gz | cmp - ../log
            [ "$(find . -type f | wc -l)" -eq 31 ]' "$GZLZSS" "$p" || fail "-p$p: $(cat stderr)"
        stderr_is
    done
    # A file whose output does not fit on the disk gives an error; the other files must be
    # compressed.
    # shellcheck disable=SC2016
    "${with_mounts[@]}" bash -e -c '
        mount -t tmpfs -o size=20m none disk
        for i in 1 2 3; do
            cp small disk/f$i
        done
        head -c 6000000 /dev/urandom >disk/f4
        cd disk
        fill=$(($(df -k --output=avail . | tail -n 1) - 2000))
        dd if=/dev/zero of=rest bs=1k count=$fill status=none
        status=0
        "$0" -p8 f1 f2 f3 f4 2>../stderr || status=$?
        [ $status -eq 1 ]
        [ -e f4 ]
        gzip -t f1.gz f2.gz f3.gz
        [ "$(find . -type f | wc -l)" -eq 5 ]' "$GZLZSS"
    stderr_is "" "$NAME: f4.gz: No space left on device"
}

@test "standard descriptors that are closed, and no /dev/null: they are taken all the same" {
    need_mounts
    "$GEN" text 100000 >data
    for closed in '<&-' '>&-' '2>&-' '<&- >&-' '<&- >&- 2>&-'; do
        cp data f
        "${with_mounts[@]}" sh -c "mount -t tmpfs none /dev; exec \"\$0\" -v f $closed" "$GZLZSS" \
            2>/dev/null
        absent f
        gzip -dc f.gz | cmp - data
        gzip -t f.gz
        "${with_mounts[@]}" sh -c "mount -t tmpfs none /dev; exec \"\$0\" -dv f.gz $closed" \
            "$GZLZSS" 2>/dev/null
        cmp f data
    done
}

# Skips the test in a build with a sanitizer.  A sanitizer needs much address space, and the command
# does not count a sanitizer's memory towards its own limits.
need_own_memory() {
    ! is_sanitized || skip "built with a sanitizer"
}

@test "with few addresses there are fewer threads, and everything is done" {
    need_own_memory
    "$GEN" source 20000000 >big
    "$GZLZSS" -3 -p1 -c big | sha256sum >expected
    for i in {1..12}; do
        "$GEN" text $((i * 90000)) >f"$i"
    done
    for limit in 1000000 150000 30000; do
        for p in 1 16 64; do
            (ulimit -v $limit && "$GZLZSS" -3 -p$p -c big) | sha256sum | cmp - expected
            (ulimit -v $limit && "$GZLZSS" -p$p f*)
            absent f1 f12
            (ulimit -v $limit && "$GZLZSS" -d -p$p f*.gz)
            for i in {1..12}; do
                "$GEN" text $((i * 90000)) | cmp - f"$i"
            done
        done
    done
    # If the memory is not enough for one thread, the command says so.
    (
        ulimit -v 120000
        ends_with 1 "$GZLZSS" -p4 -k -b 32768 big
        stderr_is "$NAME: memory exhausted"
    )
    absent big.gz
}

@test "64 threads take no more than 256 MiB" {
    have python3 || skip "python3 is not installed"
    need_own_memory
    for kind in mixed source; do
        "$GEN" $kind 160000000 >big
        python3 -c '
import resource, subprocess, sys
subprocess.check_call([sys.argv[1], "-1", "-c", "-p64", "big"], stdout=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(peak, "KiB")
sys.exit(peak > 262144)' "$GZLZSS"
    done
}

# new_group CONTROLLER FILE1 VALUE1 FILE2 VALUE2: makes a control group, and sets $group to its
# directory; teardown removes the group.  In version 1 of control groups, writes VALUE1 into FILE1
# of the group.  In version 2, writes VALUE2 into FILE2.
new_group() {
    local above
    for above in "/sys/fs/cgroup/$1" /sys/fs/cgroup; do
        group=$above/gzlzss-test-$$-$1
        if mkdir "$group" 2>/dev/null; then
            groups+=("$group")
            if [ -e "$group/$2" ] && echo "$3" >"$group/$2"; then
                return 0
            fi
            if [ -e "$group/$4" ] && echo "$5" >"$group/$4"; then
                return 0
            fi
        fi
    done
    skip "no control group can be made here"
}

teardown() {
    local g
    for g in "${groups[@]}"; do
        rmdir "$g" || true
    done
}

# in_group COMMAND...: runs the command in the control group $group.
in_group() {
    # shellcheck disable=SC2016
    bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$@"
}

@test "in a control group with 100 MiB it lives" {
    need_own_memory
    new_group memory memory.limit_in_bytes 100M memory.max 100M
    "$GEN" mixed 110000000 >big
    in_group "$GZLZSS" -p64 -1 -k big
    gzip -dc big.gz | cmp - big
    rm big big.gz
    for i in {1..40}; do
        "$GEN" mixed $((i * 90000)) >f"$i"
    done
    in_group "$GZLZSS" -p64 f*
    gzip -t f*.gz
    in_group "$GZLZSS" -d -p64 f*.gz
    "$GEN" mixed 3600000 | cmp - f40
    # With this memory limit, slow levels get one thread.
    in_group "$GZLZSS" -p64 -12 f40
    "$GEN" mixed 3600000 >wanted
    gzip -dc f40.gz | cmp - wanted
}

@test "there are no more threads than a control group's quota has processors" {
    without_sanitizers
    new_group cpu cpu.cfs_quota_us 100000 cpu.max '100000 100000'
    "$GEN" text 30000000 >big
    # shellcheck disable=SC2016
    bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$GZLZSS" --backend=cpu -k big 3>&- &
    pid=$!
    most=0
    while kill -0 $pid 2>/dev/null; do
        threads=("/proc/$pid/task/"*)
        [ ${#threads[@]} -le "$most" ] || most=${#threads[@]}
    done
    wait $pid
    [ "$most" -eq 1 ] || fail "$most threads"
    gzip -dc big.gz | cmp - big
}
