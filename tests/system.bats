#!/usr/bin/env bats
# system.bats - a system that refuses: full file systems, quotas, limits, no /proc, process 1
#
# Whatever the system refuses: the input stays until the output is complete, no partial output is
# left, and one line says why.  tests/faults makes single calls fail; here, the system itself does.
# A test is skipped, with the reason, where the machine does not allow it.

load helpers

setup() {
    enter_test_directory
    without_sanitizers
    NAME=${GZLZSS##*/}
    errors=$PWD/stderr # not in the directory that refuses
    "$GEN" text 300000 >data
    "$GZLZSS" -nk -b 32 data
}

# Skips the test where no mounts can be made.  "${with_mounts[@]}" COMMAND runs a command that can
# make mounts.  These mounts vanish when the command ends.
need_mounts() {
    with_mounts=(unshare -m)
    [ "$(id -u)" -eq 0 ] || with_mounts=(unshare -rm)
    "${with_mounts[@]}" mount -t tmpfs none /mnt 2>/dev/null || skip "no mounts can be made here"
}

# refused WORDS COMMAND...: runs the command.  If it fails, it must say so in one line that has the
# WORDS, and $refusals grows by one.
refused() {
    local words=$1 status=0
    shift
    "$@" 2>"$errors" 3>&- || status=$?
    [ "$status" -ne 0 ] || return 0
    refusals=$((refusals + 1))
    [ "$status" -eq 1 ] || fail "exit status $status: $*" "$(cat "$errors")"
    [ "$(grep -c "^$NAME: " "$errors")" -eq 1 ] || fail "$*" "$(cat "$errors")"
    grep -q "$words" "$errors" || fail "$*" "$(cat "$errors")"
}

# either_or INPUT OUTPUT DATA: INPUT must be there, equal to DATA, without an output.  Or the input
# is gone, and OUTPUT is complete.  Each of the two may be compressed.
either_or() {
    local left
    left=$(find . -name '.gzlzss*')
    [ -z "$left" ] || fail "left over: $left"
    if [ -e "$1" ]; then
        absent "$2"
        set -- "$1" "$1" "$3"
    fi
    case $2 in
    *.gz) gzip -dc "$2" | cmp - "$3" ;;
    *) cmp "$2" "$3" ;;
    esac
}

# Calls of the function `$1` for every way of work: it gets the input's name and the options.
each_way() {
    "$1" data
    "$1" data --atomic
    "$1" data --rsyncable -p4
    "$1" data -p4 -b 32 --synchronous
    "$1" data.gz -d
    "$1" data.gz -d -p4 --atomic
}

# output_of INPUT: prints the output's name.
output_of() {
    case $1 in
    *.gz) echo "${1%.gz}" ;;
    *) echo "$1.gz" ;;
    esac
}

full_at_each_size() {
    local input=$1 free
    shift
    refusals=0
    for free in 0 4 32 36 64 100 292 296 400; do
        cp "../$input" .
        dd if=/dev/zero of=rest bs=1k status=none \
            count=$(($(df -k --output=avail . | tail -n 1) - free))
        refused 'No space left on device' "$GZLZSS" "$@" "$input"
        rm rest
        either_or "$input" "$(output_of "$input")" ../data
        rm -f data data.gz
    done
    [ "$refusals" -gt 3 ] || fail "$refusals times only"
}

@test "a full file system, at many sizes" {
    need_mounts
    mkdir disk
    export -f each_way full_at_each_size refused either_or output_of absent fail
    export NAME errors
    # shellcheck disable=SC2016 # The inner shell expands it.
    "${with_mounts[@]}" bash -e -c 'mount -t tmpfs -o size=2m none disk
        cd disk
        GZLZSS=$GZLZSS_COMMAND
        each_way full_at_each_size'
}

within_a_quota() {
    local input=$1
    shift
    refusals=0
    btrfs -q subvolume create part
    cp "../$input" part
    sync -f part
    # Room for the input, and not for the whole output.
    btrfs qgroup limit $(($(stat -c %s "part/$input") + 80000)) part
    cd part || return 1
    refused 'Disk quota exceeded' "$GZLZSS" "$@" "$input"
    [ "$refusals" -eq 1 ] || fail "it fitted: $input $*"
    either_or "$input" "$(output_of "$input")" ../../data
    cd .. || return 1
    btrfs -q subvolume delete part
}

@test "a quota" {
    [ "$(id -u)" -eq 0 ] || skip "only root can mount the image of a disk"
    need_mounts
    have mkfs.btrfs && have btrfs || skip "mkfs.btrfs is not installed"
    truncate -s 120M image
    mkfs.btrfs -q image >/dev/null 2>&1 || skip "mkfs.btrfs fails"
    mkdir disk
    # shellcheck disable=SC2016 # The inner shell expands it.
    "${with_mounts[@]}" bash -c 'mount -o loop image disk && btrfs quota enable disk' 2>reason ||
        skip "no quotas here: $(head -n 1 reason)"
    export -f each_way within_a_quota refused either_or output_of absent fail
    export NAME errors
    # shellcheck disable=SC2016 # The inner shell expands it.
    "${with_mounts[@]}" bash -e -c 'mount -o loop image disk
        cd disk
        GZLZSS=$GZLZSS_COMMAND
        each_way within_a_quota'
}

limited_at_each_number() {
    local input=$1 most
    shift
    refusals=0
    for most in 4 5 6 7 8 9 10 12; do
        refused 'Too many open files' run_limited -n "$most" "$@" "$input"
        either_or "$input" "$(output_of "$input")" ../data
        rm -f data data.gz
        cp ../data ../data.gz .
        rm -f "$(output_of "$input")"
    done
    case $refusals in
    [1-6]) ;;
    *) fail "$refusals times" ;;
    esac
}

# run_limited OPTION NUMBER ARGUMENT...: runs the command with this option of ulimit.
run_limited() (
    ulimit "$1" "$2"
    shift 2
    exec "$GZLZSS" "$@"
)

in_directory() {
    local input=$2
    mkdir -p d
    cd d || return 1
    rm -f data data.gz
    cp "../$input" .
    "$1" "$input" "${@:3}"
    cd ..
}

@test "few descriptors: from some number on, it works" {
    few() {
        in_directory limited_at_each_number "$@"
    }
    each_way few
}

@test "no more processes: one thread does the work" {
    [ "$(id -u)" -eq 0 ] || skip "only root can become another user"
    have prlimit && have setpriv || skip "prlimit or setpriv is not installed"
    chmod 777 .
    nobody=(prlimit --nproc=1 setpriv --reuid=65533 --regid=65533 --clear-groups)
    "${nobody[@]}" test -x "$GZLZSS" 2>/dev/null || skip "cannot become another user"
    "${nobody[@]}" "$GZLZSS" -n -p4 -b 32 -c data 2>stderr | cmp - data.gz
    "${nobody[@]}" "$GZLZSS" -dc -p4 data.gz 2>>stderr | cmp - data
    # shellcheck disable=SC2002 # The input has to be a pipe.
    cat data | "${nobody[@]}" "$GZLZSS" -n -p4 -b 32 2>>stderr | cmp - data.gz
    stderr_is
}

# An output that may not grow beyond a limit: tests/files.bats has more.
@test "a limit on the size of files: at once, after some blocks, or with --atomic" {
    local options size status
    for options in -k '-k --atomic' '-k -p4 -b 32'; do
        for size in 1 64 128; do
            rm -f data.gz
            status=0
            # shellcheck disable=SC2086 # The shell splits it into words.
            (trap '' XFSZ && ulimit -f $size && exec "$GZLZSS" $options data) 2>stderr ||
                status=$?
            [ "$status" -eq 1 ] || [ "$size" -eq 128 ] || fail "$options, $size: status $status"
            [ "$status" -eq 0 ] || stderr_is "" "$NAME: data.gz: File too large"
            [ "$status" -eq 0 ] || absent data.gz
            [ -z "$(find . -name '.gzlzss*')" ]
        done
    done
}

@test "a control group whose memory is too small: the input stays" {
    local group=/sys/fs/cgroup/gzlzss-system-$$ file=memory.max status
    [ -e /sys/fs/cgroup/cgroup.procs ] || file=memory.limit_in_bytes
    [ "$file" = memory.max ] || group=/sys/fs/cgroup/memory/gzlzss-system-$$
    mkdir "$group" 2>/dev/null || skip "no control group can be made here"
    if ! echo 3M 2>/dev/null >"$group/$file"; then
        rmdir "$group"
        skip "no control group with a limit on memory can be made here"
    fi
    echo 0 2>/dev/null >"$group/memory.swap.max" || true
    "$GEN" text 4000000 >big
    cp big copy
    for options in '' --atomic -12; do
        status=0
        # The system may kill the command, or the command says that memory is short.
        # shellcheck disable=SC2016,SC2086
        bash -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$group" "$GZLZSS" -p4 $options big \
            2>stderr || status=$?
        [ "$status" -eq 137 ] || [ "$status" -eq 1 ] || [ "$status" -eq 0 ] ||
            fail "status $status" "$(cat stderr)"
        if [ "$status" -eq 0 ]; then
            gzip -dc big.gz | cmp - copy
            cp copy big
        fi
        cmp big copy
        # After SIGKILL, a partial output may be left, except with --atomic.
        [ "$status" -ne 1 ] || absent big.gz
        [ "$options" != --atomic ] || [ "$status" -eq 0 ] || absent big.gz
        rm -f big.gz
    done
    rmdir "$group" || true
}

@test "no /proc and no /sys: the same bytes" {
    need_mounts
    # shellcheck disable=SC2016
    bare=("${with_mounts[@]}" sh -c 'mount -t tmpfs none /proc && mount -t tmpfs none /sys &&
        exec "$0" "$@"' "$GZLZSS")
    ends_with 0 "${bare[@]}" -n -p4 -b 32 -c data
    stderr_is
    cmp stdout data.gz
    ends_with 0 "${bare[@]}" -dc -p4 data.gz
    stderr_is
    cmp stdout data
    "$GEN" mixed 5000000 >large
    "$GZLZSS" -n -c large >expected
    ends_with 0 "${bare[@]}" -n -c large
    stderr_is
    cmp stdout expected
    ends_with 0 "${bare[@]}" -l data.gz
    ends_with 0 "${bare[@]}" --synchronous data -o new.gz
    gzip -dc new.gz | cmp - data
}

# Starts the command as process 1 of a PID namespace, and sets $pid to its number here.
start_as_process_1() {
    local children candidate
    "${as_process_1[@]}" "$GZLZSS" "$@" 2>stderr 3>&- &
    above=$!
    pid=
    until [ -n "$pid" ]; do
        kill -0 $above || fail "it has ended: $(cat stderr)"
        children=$(cat "/proc/$above/task/$above/children" 2>/dev/null) || continue
        for candidate in $children; do
            if [ "$(tr '\0' ' ' <"/proc/$candidate/cmdline" | cut -d ' ' -f 1)" = "$GZLZSS" ]; then
                pid=$candidate
            fi
        done
    done
}

@test "process 1 of a container: the same bytes, and a signal ends it" {
    as_process_1=(unshare -pf --mount-proc)
    [ "$(id -u)" -eq 0 ] || as_process_1=(unshare -rpf --mount-proc)
    "${as_process_1[@]}" true 2>/dev/null || skip "no PID namespace can be made here"
    "${as_process_1[@]}" "$GZLZSS" -n -p4 -b 32 -c data | cmp - data.gz
    "${as_process_1[@]}" "$GZLZSS" -dc -p4 data.gz | cmp - data
    "$GEN" text 60000000 >big
    for signal in TERM HUP; do
        for options in '' --atomic; do
            # shellcheck disable=SC2086 # The shell splits it into words.
            start_as_process_1 -12 -p2 $options big
            until awk '/^wchar/ { exit $2 < 10000 }' "/proc/$pid/io"; do
                kill -0 "$pid" || fail "it has ended: $(cat stderr)"
            done
            kill -s $signal "$pid"
            status=0
            wait $above || status=$?
            [ "$status" -eq $((128 + $(kill -l $signal))) ] || fail "$signal: status $status"
            stderr_is
            absent big.gz
            [ -z "$(find . -name '.gzlzss*')" ]
        done
    done
    "$GEN" text 60000000 | cmp - big
    # A closed pipe ends it, too.
    status=0
    { "${as_process_1[@]}" "$GZLZSS" -1 -c big || echo $? >status; } | true
    [ "$(cat status)" -eq 141 ] || fail "status $(cat status)"
}

@test "a file system that is read-only" {
    need_mounts
    mkdir disk
    for options in '' -f --atomic; do
        for input in data data.gz; do
            # shellcheck disable=SC2016,SC2046,SC2086
            ends_with 1 "${with_mounts[@]}" bash -c 'mount -t tmpfs none disk
                cp "$0" disk && mount -o remount,ro disk && cd disk && "$@" "$0"
                status=$?
                cmp "$0" "../$0" && [ "$(ls -A)" = "$0" ] && exit $status' "$input" \
                "$GZLZSS" $([ $input = data ] || echo -d) $options
            grep -qx "$NAME: $(output_of $input): Read-only file system" stderr ||
                fail "$(cat stderr)"
        done
    done
}

@test "a directory that the user may not write" {
    user=()
    if [ "$(id -u)" -eq 0 ]; then
        have setpriv || skip "setpriv is not installed"
        user=(setpriv --reuid=65533 --regid=65533 --clear-groups)
    fi
    mkdir d
    cp data data.gz d
    rm -f d/data.gz
    chmod 755 . d
    chmod a-w d
    "${user[@]}" test -r d/data 2>/dev/null || skip "another user cannot reach the directory"
    for options in '' -f --atomic; do
        # shellcheck disable=SC2086
        ends_with 1 "${user[@]}" "$GZLZSS" $options d/data
        stderr_is "$NAME: d/data.gz: Permission denied"
        cmp d/data data
        absent d/data.gz
    done
    # The output is complete, but the input cannot be removed: it is kept, with a warning.
    mkdir out
    chmod 777 out
    ends_with 0 "${user[@]}" "$GZLZSS" --output-dir=out d/data
    gzip -dc out/data.gz | cmp - data
    chmod u+w d
}
