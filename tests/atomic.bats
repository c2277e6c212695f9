#!/usr/bin/env bats
# atomic.bats - --atomic: an output gets its name only once it is complete
#
# Two environment variables change the tests.  KILLS is the number of kills (default 24), for
# example in `KILLS=500 bats tests/atomic.bats`.  ATOMIC_DIR is a directory on the file system to
# test.

load helpers

setup() {
    enter_test_directory
    NAME=${GZLZSS##*/}
    "$GEN" text 3000000 >data
    cp data f
}

# Prints the names in the current directory, including those that start with a dot.
names() {
    find . -mindepth 1 -printf '%P\n' | sort | tr '\n' ' '
}

# True if this directory's file system supports unnamed files (O_TMPFILE), which can get a name
# later.
have_unnamed() {
    "$GZLZSS" --atomic -k f && ! grep -q temporary stderr
}

@test "an output has its name when it is whole: by itself, and in place of another" {
    ends_with 0 "$GZLZSS" --atomic f
    stderr_is
    gzip -dc f.gz | cmp - data
    [ "$(names)" = "data f.gz stderr stdout " ]
    ends_with 0 "$GZLZSS" --atomic -d f.gz
    cmp f data
    [ "$(names)" = "data f stderr stdout " ]
    for options in '' '--synchronous' '-p1' '--rsyncable'; do
        echo old >f.gz
        # shellcheck disable=SC2086
        ends_with 2 "$GZLZSS" --atomic $options f
        stderr_is "$NAME: f.gz already exists;	not overwritten"
        [ "$(cat f.gz)" = old ]
        # shellcheck disable=SC2086
        ends_with 0 "$GZLZSS" --atomic $options -f f
        stderr_is
        gzip -dc f.gz | cmp - data
        [ "$(names)" = "data f.gz stderr stdout " ]
        # shellcheck disable=SC2086
        ends_with 0 "$GZLZSS" --atomic $options -dkf f.gz
        # shellcheck disable=SC2086
        ends_with 0 "$GZLZSS" --atomic $options -df f.gz
        cmp f data
        [ "$(names)" = "data f stderr stdout " ]
    done
}

@test "mode, owner and times are the input's, also with --atomic" {
    chmod 640 f
    touch -d '2001-02-03 04:05:06.789' f
    [ "$(id -u)" -ne 0 ] || chown 12:34 f
    stat -c '%a %u %g %Y' f >before
    "$GZLZSS" --atomic f
    stat -c '%a %u %g %Y' f.gz | cmp - before
    touch f
    "$GZLZSS" --atomic -df f.gz
    stat -c '%a %u %g %Y' f | cmp - before
}

@test "GZLZSS may hold --atomic; -c and -t have nothing to do with it" {
    echo old >f.gz
    env GZLZSS=--atomic "$GZLZSS" -f f
    gzip -dc f.gz | cmp - data
    "$GZLZSS" --atomic -dc f.gz | cmp - data
    "$GZLZSS" --atomic -t f.gz
    "$GZLZSS" --atomic -c data | gzip -dc | cmp - data
    # Before gzlzss had --atomic, --a meant --ascii, as in gzip.
    ends_with 0 "$GZLZSS" --a -kf data
    stderr_is "$NAME: option --ascii ignored on this system"
}

@test "while it is at work, the old output is there, or none" {
    needs_hold
    for old in no yes; do
        rm -f f.gz
        [ $old = no ] || echo old >f.gz
        # Hold the command when a part of the output is written, in a file without a name.
        HOLD_WRITES=1 holds_at '' "$GZLZSS" --atomic -p1 -b 256 -f f
        if [ $old = yes ]; then
            [ "$(cat f.gz)" = old ]
        else
            absent f.gz
        fi
        # End the command by a signal that it handles.  Only the files that existed before may be
        # left.
        stops_by TERM
        if [ $old = yes ]; then
            [ "$(names)" = "data f f.gz stderr " ]
            [ "$(cat f.gz)" = old ]
        else
            [ "$(names)" = "data f stderr " ]
        fi
    done
}

@test "an output that appears meanwhile is not overwritten" {
    needs_hold
    HOLD_WRITES=1 holds_at '' "$GZLZSS" --atomic -p1 -b 256 f
    echo other >f.gz
    lets_go 1 "$NAME: f.gz: appeared meanwhile -- not overwritten"
    [ "$(cat f.gz)" = other ]
    cmp f data
}

@test "damaged input, a directory in the way, a name too long: nothing more is left" {
    gzip -c data >g.gz
    truncate -s -100 g.gz
    ends_with 1 "$GZLZSS" --atomic -d g.gz
    absent g
    mkdir f.gz
    ends_with 1 "$GZLZSS" --atomic -f f
    stderr_is "$NAME: f.gz: Is a directory"
    cmp f data
    long=$(printf 'n%.0s' $(seq 254))
    cp data "$long"
    ends_with 0 "$GZLZSS" --atomic "$long"
    [ "$(find . -name 'nnn*' | wc -l)" -eq 1 ]
    gzip -dc nnn* | cmp - data
    # g is a link to g.gz, so the file that has the output's name is the input itself.
    ln -s g.gz g
    ends_with 1 "$GZLZSS" --atomic -f g
    stderr_is "$NAME: g.gz: input and output are the same file"
    [ "$(find . -name '.gzlzss*')" = "" ]
}

@test "without unnamed files, or without /proc, there is a temporary name" {
    ! is_sanitized || skip "a sanitizer needs /proc"
    with_mounts=(unshare -m)
    [ "$(id -u)" -eq 0 ] || with_mounts=(unshare -rm)
    "${with_mounts[@]}" mount -t tmpfs none /proc 2>/dev/null || skip "no mounts can be made here"
    # shellcheck disable=SC2016
    without_proc=("${with_mounts[@]}" sh -c 'mount -t tmpfs none /proc && exec "$0" "$@"' "$GZLZSS")
    for old in no yes; do
        rm -f f.gz
        [ $old = no ] || echo old >f.gz
        ends_with 0 "${without_proc[@]}" --atomic -kf f
        stderr_is "$NAME: f: --atomic uses a temporary name here"
        gzip -dc f.gz | cmp - data
        [ "$(names)" = "data f f.gz stderr stdout " ]
        # The command must print the note about temporary names once for all files, and must not
        # print it with -q.
        ends_with 0 "${without_proc[@]}" --atomic -kf f data
        stderr_is "$NAME: f: --atomic uses a temporary name here"
        ends_with 0 "${without_proc[@]}" --atomic -qkf f data
        stderr_is
        rm data.gz
    done
    # A signal removes the temporary file.
    needs_hold
    rm f.gz
    HOLD_WRITES=1 holds_at '' "${without_proc[@]}" --atomic -p1 -b 256 f
    [ -n "$(find . -name '.gzlzss-*')" ]
    absent f.gz
    stops_by TERM
    [ "$(names)" = "data f stderr stdout " ] || fail "$(names)"
    cmp f data
}

@test "unnamed files are made where there are some" {
    needs_strace
    strace -f -e trace=openat,linkat -o trace "$GZLZSS" --atomic f 2>stderr
    # The command must try to make an unnamed file, even if this file system has no unnamed files.
    grep -q O_TMPFILE trace
    grep -q -e 'linkat.*/proc/self/fd' -e 'linkat.*\.gzlzss-' trace
}

@test "with --synchronous, file and name are on the disk before the input goes" {
    needs_strace
    for options in '' -f; do
        cp data f
        [ -z "$options" ] || echo old >f.gz
        # shellcheck disable=SC2086
        strace -f -e trace=fsync,linkat,renameat,unlinkat -o trace \
            "$GZLZSS" --atomic --synchronous $options f
        sed -n 's/^[0-9]* *\([a-z]*\)(.*/\1/p' trace | tr '\n' ' ' >order
        case $(cat order) in
        # The calls sync the output, give it its name (and replace the old file), sync the
        # directory, and remove the input.
        'fsync linkat fsync unlinkat ') [ -z "$options" ] ;;
        'fsync linkat renameat fsync unlinkat ') [ -n "$options" ] ;;
        # Without unnamed files, the output has a temporary name, which is removed or renamed.
        'fsync linkat unlinkat fsync unlinkat ') [ -z "$options" ] ;;
        'fsync renameat fsync unlinkat ') [ -n "$options" ] ;;
        *) fail "$(cat trace)" ;;
        esac
        grep -q 'unlinkat(.*"f", 0) *= 0' trace
        rm f.gz
    done
}

@test "--synchronous without --atomic: the file, then its directory, is synced before the input goes" {
    needs_strace
    local action
    for action in '' -d; do
        if [ "$action" = -d ]; then
            "$GZLZSS" -c data >f.gz
            set -- -d f.gz
        else
            cp data f
            set -- f
        fi
        strace -f -y -e trace=fsync,linkat,renameat,unlinkat -o trace "$GZLZSS" --synchronous "$@"
        # Lines: the call, and whether its descriptor is the directory.
        sed -n -e "s,^[0-9]* *\\(fsync\\)([0-9]*<$PWD>.*,\\1 directory,p; t" \
            -e 's/^[0-9]* *\([a-z]*\)(.*/\1/p' trace | tr '\n' ' ' >order
        [ "$(cat order)" = 'fsync fsync directory unlinkat ' ] || fail "$(cat trace)"
        rm f f.gz 2>/dev/null || true
    done
}

# prepare ACTION: copies the files for this action from ../kept, and lists them in $files.
prepare() {
    local name
    find . -mindepth 1 -delete
    case $1 in
    one*)
        cp ../kept/big .
        files=(big)
        ;;
    many*)
        files=(s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 s12)
        cp "${files[@]/#/../kept/}" .
        ;;
    back*)
        files=(big s1 s2 s3 s4 s5 s6 s7 s8 s9 s10 s11 s12)
        for name in "${files[@]}"; do
            cp "../kept/$name.gz" .
        done
        ;;
    esac
    case $1 in
    back-old)
        for name in "${files[@]}"; do
            cp ../kept/old "$name"
        done
        ;;
    *-old)
        for name in "${files[@]}"; do
            cp ../kept/old "$name.gz"
        done
        ;;
    esac
}

# is_new FILE NAME: true if FILE has all data of ../kept/NAME.  If the name FILE ends in .gz, the
# data must be compressed.
is_new() {
    case $1 in
    *.gz) gzip -dc "$1" 2>/dev/null | cmp -s - "../kept/$2" ;;
    *) cmp -s "$1" "../kept/$2" ;;
    esac
}

# is_new_of_any FILE: true if FILE has all data of one of $files, compressed or not.
is_new_of_any() {
    local name
    for name in "${files[@]}"; do
        if cmp -s "$1" "../kept/$name" ||
            gzip -dc <"$1" 2>/dev/null | cmp -s - "../kept/$name"; then
            return 0
        fi
    done
    return 1
}

# kill_often OPTION...: runs the command with these options again and again, and kills it at random
# moments.  Sets $loses to the number of outputs that were neither the old file nor the complete new
# file.
kill_often() {
    local action round name input output left pid status killed=0
    local -a files back
    loses=0
    names=0
    work=$(mktemp -d "${ATOMIC_DIR:-$PWD}/atomic-XXXXXX")
    mkdir "$work/kept" "$work/run"
    cd "$work/kept" || return 1
    "$GEN" text 3000000 >big
    for round in 1 2 3 4 5 6 7 8 9 10 11 12; do
        "$GEN" text $((round * 30000)) >s$round
    done
    gzip -1k big s*
    echo precious >old
    cd ../run || return 1
    for ((round = 0; round < ${KILLS:-24}; round++)); do
        action=$(echo one one-old many many-old back back-old | cut -d ' ' -f $((round % 6 + 1)))
        prepare "$action"
        back=()
        output=.gz
        input=
        case $action in back*)
            back=(-d)
            input=.gz
            output=
            ;;
        esac
        "$GZLZSS" "${back[@]}" -f -p4 "$@" "${files[@]/%/$input}" 2>/dev/null 3>&- &
        pid=$!
        sleep "$(printf '0.%03d' $((RANDOM % (round % 4 == 0 ? 150 : 50))))"
        kill -KILL "$pid" 2>/dev/null || true
        status=0
        wait "$pid" 2>/dev/null || status=$?
        [ "$status" -eq 0 ] || [ "$status" -eq 137 ] || fail "$action: exit status $status"
        [ "$status" -eq 0 ] || killed=$((killed + 1))
        for name in "${files[@]}"; do
            if [ -e "$name$input" ]; then
                cmp "$name$input" "../kept/$name$input"
                if [ -e "$name$output" ] && ! is_new "$name$output" "$name" &&
                    ! cmp -s "$name$output" ../kept/old; then
                    loses=$((loses + 1))
                    echo "$action: $name$output is a part"
                elif [ ! -e "$name$output" ] && [ "${action%-old}" != "$action" ]; then
                    loses=$((loses + 1))
                    echo "$action: the old $name$output is gone"
                fi
            else
                is_new "$name$output" "$name" ||
                    fail "$action: $name$input is gone, $name$output is not whole"
                names=$((names + 1))
            fi
        done
        find . -name '.gzlzss*' >../temporary-files
        # After a kill, a temporary file may be left only if an output was to replace an old file.
        # The temporary file must then be complete.
        while read -r left; do
            case $action in
            *-old) is_new_of_any "$left" || fail "$action: $left is a part" ;;
            *) fail "$action: $left is left" ;;
            esac
            temporary=$((temporary + 1))
        done <../temporary-files
    done
    echo "# $* ${KILLS:-24} kills: $names files done, $loses outputs in part or lost," \
        "$temporary temporary names" >&3
    cd "$BATS_TEST_TMPDIR" || return 1
    rm -r "$work"
    [ "$killed" -gt 0 ] || fail "no signal came in time"
}

@test "killed at any moment: the input or the whole output, and the old one until then" {
    without_sanitizers
    have_unnamed 2>stderr || skip "no unnamed files here"
    temporary=0
    kill_often --atomic
    [ "$loses" -eq 0 ]
    kill_often --atomic --synchronous
    [ "$loses" -eq 0 ]
}

@test "killed at any moment without --atomic: no input is lost" {
    without_sanitizers
    temporary=0
    kill_often
}

@test "--atomic closes each output: 100 files with 64 descriptors" {
    for ((i = 0; i < 100; i++)); do
        echo $i >many-$i
    done
    (ulimit -n 64 && "$GZLZSS" --atomic -p 1 many-*)
    outputs=(many-*.gz)
    [ ${#outputs[@]} -eq 100 ]
}
