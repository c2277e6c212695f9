#!/usr/bin/env bats
# files.bats - names, attributes, headers, and files that are refused; no error and no signal loses
# data

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    enter_test_directory
    NAME=$(basename "$GZLZSS")
    "$GEN" text 5000 >f
    touch -d '2001-02-03 04:05:06.789012345 UTC' f
    chmod 640 f
    cp -p f original
}

# attributes FILE: prints mode, owner and time.
attributes() {
    stat -c '%a %u %g %y' "$1"
}

# as_user COMMAND...: runs the command as a user other than root, since access rights do not apply
# to root.
as_user() {
    if [ "$(id -u)" -ne 0 ]; then
        "$@"
    else
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    fi
}

needs_user() {
    chmod 777 .
    as_user test -x "$GZLZSS" 2>/dev/null || skip "cannot become another user"
    as_user test -w . || skip "another user cannot reach the test directory"
}

# on_terminal COMMAND: runs the shell command on a new terminal, and returns its exit status.
# Standard input is typed on the terminal.  The file "typescript" gets the terminal's output.
on_terminal() {
    script -qec "$1" typescript >/dev/null
}

needs_terminal() {
    have script || skip "script is not installed"
    script -qec true /dev/null >/dev/null 2>&1 </dev/null || skip "script does not work here"
}

@test "compression replaces the file and keeps its mode, owner and time" {
    if [ "$(id -u)" -eq 0 ]; then
        chown 12345:12346 f
        touch -r original f
    fi
    before=$(attributes f)
    ends_with 0 "$GZLZSS" f
    stderr_is
    [ ! -s stdout ]
    absent f
    [ "$(attributes f.gz)" = "$before" ]
    ends_with 0 "$GZLZSS" -d f.gz
    stderr_is
    absent f.gz
    [ "$(attributes f)" = "$before" ]
    cmp f original
}

@test "modes are kept whatever the umask" {
    umask 077
    for mode in 400 600 644 755 666; do
        chmod "$mode" f
        "$GZLZSS" f
        [ "$(stat -c %a f.gz)" = "$mode" ]
        "$GZLZSS" -d f.gz
        [ "$(stat -c %a f)" = "$mode" ]
    done
}

@test "set-user-ID, set-group-ID and sticky files are left alone, and -c does not care" {
    for mode in 4755 2755 1755; do
        chmod "$mode" f
        ends_with 2 "$GZLZSS" f
        absent f.gz
        [ "$(stat -c %a f)" = "$mode" ]
        "$GZLZSS" -c f | gzip -dc | cmp - original
    done
    # The last mode of the loop has the sticky bit.  With -f, the command compresses such a file
    # nevertheless.
    "$GZLZSS" -kf f
    [ "$(stat -c %a f.gz)" = 755 ]
}

@test "nobody else can read the output before it is done" {
    needs_hold
    "$GEN" text 1000000 >big
    chmod 644 big
    umask 000
    HOLD_WRITES=1 holds_at /big.gz "$GZLZSS" -p1 -b 128 big
    [ "$(stat -c %a big.gz)" = 600 ]
    [ -e big ]
    lets_go 0
    [ "$(stat -c %a big.gz)" = 644 ]
}

@test "-k keeps the input" {
    ends_with 0 "$GZLZSS" -k f
    cmp f original
    "$GZLZSS" -dc f.gz | cmp - original
    mv f.gz g.gz
    ends_with 0 "$GZLZSS" -dk g.gz
    cmp g original
    [ -e g.gz ]
}

@test "-c writes to standard output and keeps the input" {
    ends_with 0 "$GZLZSS" -c f
    absent f.gz
    cmp f original
    "$GZLZSS" -dc <stdout | cmp - original
    "$GZLZSS" -k f
    ends_with 0 "$GZLZSS" -dc f.gz
    cmp stdout original
    [ -e f.gz ]
}

@test "-v says what was done" {
    ends_with 0 "$GZLZSS" -v f
    grep -qE '^f:.* [0-9]+\.[0-9]% -- replaced with f\.gz$' stderr
    ends_with 0 "$GZLZSS" -dkv f.gz
    grep -qE '^f\.gz:.* [0-9]+\.[0-9]% -- created f$' stderr
    ends_with 0 "$GZLZSS" -tv f.gz
    grep -qE '^f\.gz:.* OK$' stderr
}

@test "-v prints what gzip prints, but for the ratio" {
    have_gnu_gzip || skip "GNU gzip is not installed"
    for options in -v -kv -v9; do
        mkdir -p a b
        cp -p f a
        cp -p f b
        # Ignore the ratio: gzlzss's differs.
        (cd a && gzip $options f 2>&1 >/dev/null | sed -E 's/ *[0-9.]+%/ N%/') >theirs
        (cd b && "$GZLZSS" $options f 2>&1 >/dev/null | sed -E 's/ *[0-9.]+%/ N%/') >ours
        diff theirs ours
        rm -r a b
    done
}

@test "the header is gzip's, byte for byte" {
    have_gnu_gzip || skip "GNU gzip is not installed"
    mkdir dir
    cp -p f "dir/a name.txt"
    for level in 1 2 5 6 8 9; do
        gzip "-$level" -c f >theirs
        "$GZLZSS" "-$level" -c f >ours
        [ "$(hex theirs 0 12)" = "$(hex ours 0 12)" ] || fail "-$level"
        gzip "-$level" -nc f >theirs
        "$GZLZSS" "-$level" -nc f >ours
        [ "$(hex theirs 0 10)" = "$(hex ours 0 10)" ] || fail "-$level -n"
        gzip "-$level" <f >theirs
        "$GZLZSS" "-$level" <f >ours
        [ "$(hex theirs 0 10)" = "$(hex ours 0 10)" ] || fail "-$level <f"
        # shellcheck disable=SC2002 # The inputs have to be pipes.
        cat f | gzip "-$level" >theirs
        # shellcheck disable=SC2002
        cat f | "$GZLZSS" "-$level" >ours
        [ "$(hex theirs 0 10)" = "$(hex ours 0 10)" ] || fail "cat f | -$level"
    done
    gzip -c "dir/a name.txt" >theirs
    "$GZLZSS" -c "dir/a name.txt" >ours
    [ "$(hex theirs 0 21)" = "$(hex ours 0 21)" ]
}

@test "the header has name, time, and what level was used" {
    "$GZLZSS" -1 -c f >z
    [ "$(hex z 0 12)" = \
        1f8b0808"$(printf %08x 981173106 | sed -E 's/(..)(..)(..)(..)/\4\3\2\1/')04036600" ]
    "$GZLZSS" -9 -nc f >z
    [ "$(hex z 0 10)" = 1f8b0800000000000203 ]
    "$GZLZSS" -6 -n <f >z
    [ "$(hex z 0 10)" = 1f8b0800000000000003 ]
}

@test "times that the header cannot hold become no time" {
    for time in '1960-01-01 UTC' '1970-01-01 UTC' '2110-01-01 UTC'; do
        touch -d "$time" f
        ends_with 2 "$GZLZSS" -c f
        stderr_is "$NAME: f: warning: file timestamp out of range for gzip format"
        [ "$(hex stdout 4 4)" = 00000000 ]
    done
    touch -d '2105-01-01 UTC' f
    "$GZLZSS" -c f >z
    [ "$(hex z 4 4)" != 00000000 ]
}

@test "gzip -lv and gunzip -N see the name, time and size" {
    have_gnu_gzip || skip "GNU gzip is not installed"
    "$GZLZSS" -k f
    mkdir theirs
    cp -p f theirs
    gzip -k theirs/f
    # Compare CRC, uncompressed size, date and name; compressed size and ratio may differ.
    gzip -lvN f.gz | awk 'NR == 2 { print $1, $2, $3, $4, $5, $7, $9 }' >ours
    (cd theirs && gzip -lvN f.gz) | awk 'NR == 2 { print $1, $2, $3, $4, $5, $7, $9 }' >expected
    grep -q ' 5000 f$' expected
    diff expected ours
    touch f.gz
    mv f.gz other.gz
    rm f
    gunzip -N other.gz
    cmp f original
    [ "$(stat -c %Y f)" = "$(stat -c %Y original)" ]
}

@test "an existing file is not overwritten" {
    echo precious >f.gz
    ends_with 2 "$GZLZSS" f
    grep -qE '^'"$NAME"': f\.gz:? already exists;.*not overwritten$' stderr
    [ "$(wc -l <stderr)" -eq 1 ]
    [ "$(cat f.gz)" = precious ]
    cmp f original
    "$GZLZSS" -c f >g.gz
    echo precious >g
    ends_with 2 "$GZLZSS" -d g.gz
    [ "$(cat g)" = precious ]
    [ -e g.gz ]
}

@test "-f overwrites" {
    echo precious >f.gz
    ends_with 0 "$GZLZSS" -kf f
    stderr_is
    "$GZLZSS" -dc f.gz | cmp - original
    echo precious >f
    ends_with 0 "$GZLZSS" -df f.gz
    cmp f original
}

@test "-f replaces a link, not what it points to" {
    echo precious >target
    ln -s target f.gz
    ends_with 0 "$GZLZSS" -kf f
    [ "$(cat target)" = precious ]
    [ ! -L f.gz ]
    "$GZLZSS" -dc f.gz | cmp - original
}

@test "at a terminal, it asks before it overwrites" {
    needs_terminal
    echo precious >f.gz
    status=0
    echo n | on_terminal "'$GZLZSS' f" || status=$?
    [ "$status" -eq 2 ]
    # The echo of the typed letter may be anywhere in the output.
    tr -d '\r\n' <typescript | reads_all grep -q 'already exists;n\{0,1\} do you wish to overwrite (y or n)?'
    [ "$(cat f.gz)" = precious ]
    cmp f original
    echo y | on_terminal "'$GZLZSS' f"
    absent f
    "$GZLZSS" -dc f.gz | cmp - original
}

# The first file takes so long that the other files are finished before the first file.
@test "at a terminal, of several files, it asks about those that are there, in order" {
    needs_terminal
    "$GEN" source 6000000 >large
    for i in 1 2 3 4 5 6; do
        "$GEN" text $((i * 1000)) >"s$i"
        cp "s$i" "copy$i"
    done
    echo old2 >s2.gz
    echo old5 >s5.gz
    status=0
    printf 'n\ny\n' | on_terminal "'$GZLZSS' -9 -p 4 large s?" || status=$?
    [ "$status" -eq 2 ]
    [ "$(cat s2.gz)" = old2 ]
    cmp s2 copy2
    for i in 1 3 4 5 6; do
        absent "s$i"
        "$GZLZSS" -dc "s$i.gz" | cmp - "copy$i"
    done
    absent large
    [ "$(grep -a -o 's[0-9].gz already exists' typescript | tr '\n' ' ')" = \
        "s2.gz already exists s5.gz already exists " ] ||
        fail "$(cat typescript)"
}

@test "compressed data is not written to a terminal" {
    needs_terminal
    for command in "'$GZLZSS' <f" "'$GZLZSS' -c - <f" "'$GZLZSS' -c <f"; do
        status=0
        on_terminal "$command" </dev/null || status=$?
        [ "$status" -eq 1 ] || fail "exit status $status: $command"
        grep -q 'compressed data not written to a terminal' typescript
    done
    on_terminal "'$GZLZSS' -cf <f" </dev/null
    ! grep -q 'compressed data not written' typescript || fail "refused with -f"
    # Decompressed data may be written to a terminal.
    "$GZLZSS" -k f
    on_terminal "'$GZLZSS' -dc f.gz" </dev/null
    tr -d '\r' <typescript | reads_all grep -qF "$(head -n 3 original | tail -n 1)"
}

@test "compressed data is not read from a terminal" {
    needs_terminal
    status=0
    # If the command waits for data, `timeout` ends it.
    on_terminal "timeout 5 '$GZLZSS' -d >out" </dev/null || status=$?
    [ "$status" -eq 1 ]
    grep -q 'compressed data not read from a terminal' typescript
}

@test "a directory is left alone" {
    mkdir dir
    ends_with 2 "$GZLZSS" dir
    stderr_is "$NAME: dir is a directory -- ignored" ||
        stderr_is "$NAME: dir: is a directory -- ignored"
    absent dir.gz
    ends_with 2 "$GZLZSS" -d dir
    ends_with 2 "$GZLZSS" -c dir
    ends_with 2 "$GZLZSS" -q dir
    stderr_is
}

@test "a missing file is an error, and the others are done" {
    cp -p f g
    ends_with 1 "$GZLZSS" f missing g
    stderr_is "$NAME: missing: No such file or directory"
    absent f g missing.gz
    "$GZLZSS" -dc f.gz | cmp - original
    "$GZLZSS" -dc g.gz | cmp - original
    ends_with 1 "$GZLZSS" -d f.gz missing g.gz
    cmp f original
    cmp g original
}

@test "an error outranks a warning" {
    mkdir dir
    ends_with 1 "$GZLZSS" -k missing dir f
    ends_with 1 "$GZLZSS" -kf dir missing f
    ends_with 2 "$GZLZSS" -kf dir f
}

@test "names that end as compressed files' do" {
    for suffix in .gz .tgz .taz -gz .z _z -z .GZ .Tgz; do
        cp original "a$suffix"
        "$GZLZSS" "a$suffix" >stdout 2>stderr </dev/null || [ $? -eq 2 ]
        grep -q "a$suffix.* already has $suffix suffix -- unchanged" stderr || fail "$(cat stderr)"
        cmp "a$suffix" original
        absent "a$suffix.gz"
    done
    # Decompression removes the suffix, or replaces .tgz and .taz by .tar.
    "$GZLZSS" -nc original >z
    for pair in a.gz:a a.tgz:a.tar a.taz:a.tar a-gz:a a.z:a a_z:a a-z:a a.GZ:a; do
        cp z "${pair%:*}"
        "$GZLZSS" -d "${pair%:*}"
        cmp "${pair#*:}" original
        absent "${pair%:*}"
        rm "${pair#*:}"
    done
    # A name that is only a suffix counts as a name without a suffix.
    cp original .gz
    ends_with 0 "$GZLZSS" .gz
    "$GZLZSS" -dc .gz.gz | cmp - original
}

@test "decompression finds FILE.gz for FILE, and needs a suffix it knows" {
    "$GZLZSS" -k f
    mv f.gz g.gz
    ends_with 0 "$GZLZSS" -dk g
    cmp g original
    cp g.gz h.other
    ends_with 2 "$GZLZSS" -d h.other
    grep -q 'h\.other: unknown suffix -- ignored' stderr
    [ -e h.other ]
    ends_with 0 "$GZLZSS" -dc h.other
    cmp stdout original
}

@test "an unreadable file is an error" {
    needs_user
    chmod 000 f
    ends_with 1 as_user "$GZLZSS" -k f
    stderr_is "$NAME: f: Permission denied"
    absent f.gz
}

@test "an unwritable directory is an error" {
    needs_user
    mkdir locked
    cp original locked/f
    chmod 644 locked/f
    chmod 555 locked
    ends_with 1 as_user "$GZLZSS" locked/f
    stderr_is "$NAME: locked/f.gz: Permission denied"
    cmp locked/f original
    chmod 755 locked
    absent locked/f.gz
}

@test "a symbolic link is refused without -f" {
    ln -s f link
    ends_with 1 "$GZLZSS" link
    [ "$(wc -l <stderr)" -eq 1 ]
    absent link.gz
    [ -L link ]
    ends_with 0 "$GZLZSS" -c link
    "$GZLZSS" -dc <stdout | cmp - original
    ends_with 0 "$GZLZSS" -f link
    "$GZLZSS" -dc link.gz | cmp - original
    absent link
    cmp f original
}

@test "a file with hard links is refused without -f" {
    ln f hard
    ends_with 2 "$GZLZSS" f
    stderr_is "$NAME: f has 1 other link -- file ignored"
    absent f.gz
    cmp f original
    ends_with 0 "$GZLZSS" -c f
    ends_with 0 "$GZLZSS" -f f
    absent f
    cmp hard original
}

@test "neither file nor directory: refused, also with -f" {
    mkfifo pipe
    for force in -k -kf -f; do
        # No process has opened the FIFO for writing, and the command must not wait for such a
        # process.
        ends_with 2 timeout 10 "$GZLZSS" $force pipe
        stderr_is "$NAME: pipe is not a directory or a regular file - ignored"
        [ -p pipe ]
        absent pipe.gz
    done
    echo hello >pipe 3>&- &
    timeout 10 "$GZLZSS" -c pipe | gzip -dc | reads_all grep -qx hello
    [ -p pipe ]
}

# Makes the files of the tests that compare with gzip.
make_case() {
    mkdir case case/dir
    cp -p f case
    cp -p f case/done.gz
    cp -p f case/done.tgz
    cp -p f case/linked
    ln case/linked case/twice
    ln -s f case/soft
    cp -p f case/g
    echo precious >case/g.gz
}

# shellcheck disable=SC2016 # In all of these, $TOOL is for same_as_gzip's shell.
@test "as gzip: what is refused and what is not" {
    make_case
    all_same_as_gzip '$TOOL dir' '$TOOL -d dir' '$TOOL -q dir' '$TOOL missing f' \
        '$TOOL -c missing' '$TOOL -d missing.gz' '$TOOL soft' '$TOOL -f soft' '$TOOL -f linked' \
        '$TOOL g' '$TOOL -f g' '$TOOL -d f' '$TOOL -k f; $TOOL -dk f' '$TOOL -cd f' '$TOOL f/f' \
        '$TOOL -nc f | $TOOL -d' '$TOOL -k f dir missing' '$TOOL f f' '$TOOL -t done.gz f'
}

# shellcheck disable=SC2016
@test "as gzip: a file with hard links" {
    make_case
    all_same_as_gzip '$TOOL linked' '$TOOL -q linked'
}

# shellcheck disable=SC2016
@test "as gzip: a name that has a suffix already is no error" {
    make_case
    all_same_as_gzip '$TOOL done.gz' '$TOOL -q done.gz' '$TOOL done.tgz f' '$TOOL f done.gz dir'
}

# shellcheck disable=SC2016
@test "as gzip: a missing compressed file's name" {
    make_case
    all_same_as_gzip '$TOOL -d missing' '$TOOL -t missing' '$TOOL -dc missing f' \
        '$TOOL -S .thirty-bytes-are-a-suffix-now -d missing'
}

# shellcheck disable=SC2016
@test "as gzip: -cdf copies what is not compressed" {
    make_case
    all_same_as_gzip '$TOOL -cdf f' '$TOOL -df <f' '$TOOL -nc f | cat - f | $TOOL -cdf'
}

@test "several files, one of which fails" {
    for p in 1 2; do
        for n in 1 2 3 4 5; do
            "$GZLZSS" -nc original >"$n.gz"
        done
        rm -f 1 2 3 4 5
        # After an unknown method, the command goes on.  Truncated data ends the run.
        printf '\1' | dd of=2.gz bs=1 seek=2 conv=notrunc status=none
        truncate -s -5 4.gz
        ends_with 1 "$GZLZSS" -p "$p" -d 1.gz 2.gz 3.gz 4.gz 5.gz
        sed -i '/; see --recover$/d' stderr
        stderr_is "$NAME: 2.gz: unknown method 1 -- not supported" \
            "" "$NAME: 4.gz: unexpected end of file"
        cmp 1 original
        cmp 3 original
        absent 1.gz 2 3.gz 4 5
        [ -e 2.gz ]
        [ -e 4.gz ]
        [ -e 5.gz ]
    done
}

@test "a full disk: /dev/full" {
    [ -c /dev/full ] || skip "there is no /dev/full"
    "$GEN" random 3000000 >big
    "$GZLZSS" -k big
    for arguments in '-c f' '-c big' '-c -p 1 big' '-c -p 4 big' '-dc big.gz'; do
        status=0
        # shellcheck disable=SC2086 # The shell splits it into words.
        "$GZLZSS" $arguments >/dev/full 2>stderr || status=$?
        [ "$status" -eq 1 ] || fail "exit status $status: $arguments"
        stderr_is "" "$NAME: stdout: No space left on device"
    done
    cmp f original
    [ -e big ]
}

# on_small_disk COMMANDS: runs the shell commands in "small", a file system of 256 KiB.  One shell
# runs all of them, since the mount may be visible only to it.
on_small_disk() {
    local unshare=()
    mkdir -p small
    if [ "$(id -u)" -ne 0 ]; then
        unshare=(unshare -rm)
    else
        unshare=(unshare -m)
    fi
    "${unshare[@]}" sh -c 'mount -t tmpfs -o size=256k tmpfs small' 2>/dev/null ||
        skip "cannot mount a file system"
    "${unshare[@]}" bash -ec 'mount -t tmpfs -o size=256k tmpfs small
        cd small
        '"$1"
}

@test "a full disk: the input stays, no output is left" {
    export GEN
    # shellcheck disable=SC2016 # The inner shell expands it.
    on_small_disk '
        "$GEN" random 150000 >input
        cp input ../copy
        status=0
        "$GZLZSS_COMMAND" input 2>../stderr || status=$?
        [ "$status" -eq 1 ]
        cmp input ../copy
        [ ! -e input.gz ]
        "$GEN" byte 1000000 | "$GZLZSS_COMMAND" >big.gz
        rm input
        status=0
        "$GZLZSS_COMMAND" -d big.gz 2>>../stderr || status=$?
        [ "$status" -eq 1 ]
        [ -e big.gz ]
        [ ! -e big ]'
    stderr_is "" "$NAME: input.gz: No space left on device" \
        "" "$NAME: big: No space left on device"
}

@test "an output that may not grow: the input stays, no output is left" {
    "$GEN" random 3000000 >big
    cp big copy
    for p in 1 2 5; do
        # SIGXFSZ ends the command, whichever thread's write fails.
        status=0
        (
            ulimit -f 512
            exec "$GZLZSS" -p "$p" big
        ) 2>stderr || status=$?
        [ "$status" -eq 153 ] || fail "exit status $status"
        cmp big copy
        absent big.gz
        # If the signal is ignored, the failed write is an ordinary error.
        status=0
        (
            trap '' XFSZ
            ulimit -f 512
            exec "$GZLZSS" -p "$p" big
        ) 2>stderr || status=$?
        [ "$status" -eq 1 ] || fail "exit status $status"
        stderr_is "" "$NAME: big.gz: File too large"
        cmp big copy
        absent big.gz
    done
}

@test "a signal that was ignored at the start stays ignored" {
    needs_hold
    "$GEN" text 1000000 >big
    trap '' HUP
    holds_at /big.gz "$GZLZSS" -p 1 big
    kill -s HUP "$pid"
    lets_go 0
    absent big
    "$GZLZSS" -t big.gz
}

@test "a pipe that is closed ends it silently" {
    "$GEN" random 8000000 >big
    for p in 1 2 4 16; do
        for _ in 1 2; do
            status=0
            # `head` closes the pipe before the main thread's first write, or before a later write
            # by any thread.
            for n in 10 5000000; do
                rm -f status
                # allowed: SIGPIPE is the point
                {
                    timeout 20 "$GZLZSS" -1 -c -p "$p" big 2>stderr || echo $? >status
                } | head -c $n >some
                [ "$(wc -c <some)" -eq $n ]
                # SIGPIPE ends the command, as it ends gzip.
                [ "$(cat status)" -eq 141 ] ||
                    fail "-p $p: exit status $(cat status)" "$(cat stderr)"
                stderr_is
            done
        done
    done
    "$GZLZSS" -k big
    rm status
    # allowed: SIGPIPE is the point
    { timeout 20 "$GZLZSS" -dc big.gz 2>stderr || echo $? >status; } | head -c 10 >ten
    head -c 10 big | cmp ten -
    [ "$(cat status)" -eq 141 ]
    stderr_is
    # SIGPIPE also ends the command if a thread other than the main thread writes.
    for p in 2 4 16; do
        for n in 1000000 3000000 5000000; do
            rm status
            head -c $n big >wanted
            # allowed: SIGPIPE is the point
            { timeout 20 "$GZLZSS" -p $p -dc big.gz 2>stderr || echo $? >status; } |
                head -c $n | cmp - wanted
            [ "$(cat status)" -eq 141 ] ||
                fail "-d -p $p: exit status $(cat status)" "$(cat stderr)"
            stderr_is
        done
    done
}

@test "an output that fails ends it even while the input has nothing to read" {
    mkfifo pipe
    "$GEN" random 6500000 >big
    (
        exec >pipe
        # cat writes all of the file, or fails because the command has ended.
        cat big || :
        exec sleep 1000
    ) 3>&- &
    writer=$!
    status=0
    # If the command waits for the writer, `timeout` ends it with status 124.
    timeout 100 "$GZLZSS" -p 4 <pipe 2>stderr >/dev/full || status=$?
    kill "$writer"
    [ "$status" -eq 1 ]
    stderr_is "" "$NAME: stdout: No space left on device"
}

@test "closed standard descriptors: nothing but the data gets into the output" {
    cp f copy
    "$GZLZSS" -v f <&- >&- 2>&-
    absent f
    gzip -dc f.gz | cmp - copy
    gzip -t f.gz
}

@test "-f does not remove the file it reads" {
    cp f original
    "$GZLZSS" f
    cp f.gz copy
    ln -s f.gz f
    ends_with 1 "$GZLZSS" -f f
    stderr_is "$NAME: f.gz: input and output are the same file"
    cmp f.gz copy
}

@test "a suffix with a slash does not lead out of the directory" {
    cp f g
    for suffix in /x x/y ./x; do
        ends_with 1 "$GZLZSS" -f -S "$suffix" f g
        cmp f original
        cmp g original
    done
    mkdir d
    "$GZLZSS" -c f >d/x
    ends_with 2 "$GZLZSS" -d -S /x d/x
    stderr_is "$NAME: d/x: unknown suffix -- ignored"
    absent x y d/d
}

@test "-f with suffixes that overlap: each file in its turn" {
    head -c 3000000 /dev/urandom >a.gz
    cp f a.g
    ends_with 0 "$GZLZSS" -p 4 -f -S z a.gz a.g
    "$GZLZSS" -dc a.gz | cmp - original
}

@test "-r: a directory that is named twice has nothing half done in it the second time" {
    mkdir d
    for i in {1..60}; do
        cp f "d/$i"
    done
    ends_with 0 "$GZLZSS" -p 4 -r d d
    stderr_is
    "$GZLZSS" -dc d/60.gz | cmp - original
}

@test "many files and directories side by side need few descriptors" {
    mkdir d
    "$GEN" text 4000000 >d/0
    for i in {1..150}; do
        mkdir "d/d$i"
        cp f "d/d$i/f"
        cp f "d/f$i"
    done
    (
        ulimit -n 128
        ends_with 0 "$GZLZSS" -p 32 -12 -r d d/d*
    )
    stderr_is
    (
        ulimit -n 20
        ends_with 0 "$GZLZSS" -p 32 -dr d
    )
    stderr_is
}

# make_deep LEVELS EVERY: makes the directory "deep", which has LEVELS thousand nested directories
# d, and a file f in every EVERY-th of them.  The function adds directories at the top, since a path
# to the bottom would be too long.
make_deep() {
    local i k path
    path=$(printf 'd/%.0s' {1..1000})
    mkdir deep
    for ((i = 0; i < $1; i++)); do
        mkdir -p "new/$path"
        mv deep "new/${path}d"
        for ((k = 0; k < 1000; k += $2)); do
            echo "$i $k" >"new/${path:0:2*k}f"
        done
        mv new deep
    done
}

# count_files NAME: prints how many files in "deep" have this name.
count_files() {
    find deep -type f -name "$1" | wc -l
}

@test "-r: more levels than there may be descriptors" {
    mkdir -p "deep/$(printf 'd/%.0s' {1..300})"
    find deep -type d -exec cp -p f '{}/f' \;
    for p in 1 2 32; do
        (
            ulimit -n 64
            ends_with 0 "$GZLZSS" -p $p -r deep
            stderr_is
            [ "$(count_files f)" -eq 0 ]
            [ "$(count_files f.gz)" -eq 301 ]
            ends_with 0 "$GZLZSS" -p $p -t -r deep/
            stderr_is
            ends_with 0 "$GZLZSS" -p $p -dr ./deep//
            stderr_is
            [ "$(count_files f)" -eq 301 ]
            [ "$(count_files f.gz)" -eq 0 ]
        )
    done
    [ "$(find deep -type f ! -execdir cmp -s f "$PWD/original" \; -print | wc -l)" -eq 0 ]
}

@test "-r: 12000 levels, whose paths are longer than the system takes" {
    without_sanitizers
    make_deep 12 20
    timeout 60 "$GZLZSS" -p 1 -r deep
    [ "$(count_files f)" -eq 0 ]
    [ "$(count_files f.gz)" -eq 600 ]
    timeout 60 "$GZLZSS" -p 2 -dr deep
    [ "$(count_files f)" -eq 600 ]
    [ "$(count_files f.gz)" -eq 0 ]
    [ "$(find deep -type f -execdir cat f \; | sort -u | wc -l)" -eq 600 ]
    # Each message has the file's whole path, and the reason.
    "$GZLZSS" -drv deep 2>stderr || [ $? -eq 2 ]
    [ "$(grep -c '^'"$NAME"': deep[/d]*/f: unknown suffix -- ignored$' stderr)" -eq 600 ]
    [ "$(awk '{ if (length($0) > n) n = length($0) } END { print n }' stderr)" -gt 22000 ]
}

@test "-r: directories that are moved meanwhile" {
    # There are 40 levels.  The limit on descriptors does not allow the command to keep so many
    # directories open.  When the test stops the command, the command has read the names in all
    # levels.  The order of the names depends on the file system.
    local i level names
    level=deep
    for ((i = 0; i < 40; i++)); do
        mkdir "$level"
        for name in {1..12}; do
            echo old >"$level/$name"
        done
        level+=/d
    done
    level() {
        echo "deep$(printf '/d%.0s' $(seq 1 "$1"))"
    }
    needs_hold
    "$GEN" text 100000 >"$(level 39)/big"
    # shellcheck disable=SC2016
    holds_at /big.gz sh -c 'ulimit -n 64 && exec "$0" -9 -p 1 -r deep' "$GZLZSS"
    # Move a directory away with everything in it.  Then rename the directory that contained it, and
    # make a new directory with that name.
    mv "$(level 30)" moved
    mv "$(level 29)" "$(level 28)/other"
    mkdir "$(level 29)"
    for name in {1..12}; do
        echo new >"$(level 29)/$name"
    done
    : >"$go"
    status=0
    wait "$pid" || status=$?
    # The command must not have touched the files in the new directory.
    [ "$(cat "$(level 29)"/* | sort | uniq -c | tr -d ' ')" = 12new ]
    # The command may have left out files of the directory that was renamed; if so, the command must
    # have printed a message.  The command must have compressed all other files.
    names=(-name '[1-9]' -o -name '1[0-2]')
    left=$(find "$(level 28)/other" "${names[@]}" | wc -l)
    if [ "$left" -gt 0 ]; then
        [ "$status" -eq 1 ]
        stderr_is "$NAME: $(level 29): No such file or directory"
    else
        [ "$status" -eq 0 ]
        stderr_is
    fi
    [ "$(find deep moved "${names[@]}" | wc -l)" -eq $((left + 12)) ]
    [ "$(find deep moved -name '*.gz' | wc -l)" -eq $((480 - left + 1)) ]
    find deep moved -name '*.gz' -exec "$GZLZSS" -t {} +
}

@test "no more threads than wanted, also for a link among small files" {
    without_sanitizers
    [ -d /proc/self/task ] || skip "no /proc"
    mkdir d
    for i in {1..40}; do
        head -c 300000 /dev/urandom >"d/$i"
    done
    head -c 30000000 /dev/urandom >large
    ln -s "$PWD/large" d/link
    "$GZLZSS" -p 4 -kf d/? d/link d/* &
    most=0
    while threads=(/proc/$!/task/*) && [ -e "${threads[0]}" ]; do
        # A thread that has ended may be visible for a moment longer.
        for i in 1 2 3 4 5; do
            [ ${#threads[@]} -gt 4 ] || break
            sleep 0.05
            threads=(/proc/$!/task/*)
        done
        [ ${#threads[@]} -le "$most" ] || most=${#threads[@]}
    done
    wait $!
    [ "$most" -gt 1 ]
    [ "$most" -le 4 ] || fail "$most threads"
}

@test "files side by side at a terminal show no progress over each other's" {
    without_sanitizers
    needs_terminal
    for i in 1 2; do
        "$GEN" text 8000000 >"f$i"
    done
    on_terminal "'$GZLZSS' -12 -p 2 -v -f f1 f2" </dev/null
    [ "$(grep -c 'f[12]:' typescript)" -eq 2 ]
    ! grep -q 'f1:.*f1:' typescript || fail "a line that has its name twice"
    [ -e f1.gz ]
}

@test "-N -f does not remove the file it reads, if that is the name stored in it" {
    cp f x.gz
    "$GZLZSS" -f x.gz
    mv x.gz.gz x.gz
    cp x.gz copy
    ends_with 1 "$GZLZSS" -dNf x.gz
    stderr_is "$NAME: x.gz: input and output are the same file"
    cmp x.gz copy
}

@test "memory does not grow with the input: 64 MiB for two threads" {
    have python3 || skip "python3 is not installed"
    # The limit does not count a sanitizer's memory.
    if is_sanitized; then
        skip "built with a sanitizer"
    fi
    for kind in random text; do
        "$GEN" $kind 80000000 | python3 -c '
import resource, subprocess, sys
subprocess.check_call([sys.argv[1], "-p2"], stdout=subprocess.DEVNULL)
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(peak, "KiB")
sys.exit(peak > 65536)' "$GZLZSS"
    done
}

@test "a file that becomes shorter while it is read is never removed on an error" {
    "$GEN" random 30000000 >copy
    for p in 1 4; do
        # The test reads one byte of the output, so that compression has begun, then truncates the
        # input, and only then reads the rest.  Until then, the full pipe keeps the command from
        # reading all of the input.
        cp copy big
        mkfifo out
        "$GZLZSS" -c -p "$p" big >out 2>stderr 3>&- &
        pid=$!
        exec 9<out
        dd bs=1 count=1 status=none <&9 >z
        truncate -s 1000 big
        cat <&9 >>z &
        status=0
        wait "$pid" || status=$?
        exec 9<&-
        wait
        rm out
        [ "$status" -eq 1 ]
        stderr_is "" "$NAME: big: file became shorter while it was read"
        # The input is truncated after different delays.
        for delay in 0.01 0.03 0.06 0.1; do
            cp copy big
            "$GZLZSS" -p "$p" big 2>stderr 3>&- &
            pid=$!
            sleep "$delay"
            truncate -c -s 100000 big
            status=0
            wait "$pid" || status=$?
            if [ "$status" -eq 0 ]; then
                "$GZLZSS" -d big.gz
                n=$(wc -c <big)
                [ "$n" -ge 100000 ]
                cmp -n "$n" big copy
            else
                [ "$status" -eq 1 ]
                [ -e big ]
                absent big.gz
            fi
        done
    done
}

@test "a file that grows while it is read gives a whole output" {
    "$GEN" text 3000000 >big
    mkfifo out
    "$GZLZSS" -c -p 2 big >out 3>&- &
    pid=$!
    exec 9<out
    dd bs=1 count=1 status=none <&9 >z
    "$GEN" random 500000 >>big
    cat <&9 >>z
    wait "$pid"
    exec 9<&-
    # The output may contain all, some or none of the bytes that the test appended during the run.
    "$GZLZSS" -dc <z >got
    [ "$(wc -c <got)" -ge 3000000 ]
    cmp -n "$(wc -c <got)" got big
}

@test "standard input, output and error may be closed" {
    "$GZLZSS" -k f <&-
    "$GZLZSS" -dc f.gz | cmp - original
    rm f.gz
    "$GZLZSS" -k f >&-
    "$GZLZSS" -dc f.gz | cmp - original
    status=0
    "$GZLZSS" -c f >&- 2>stderr || status=$?
    [ "$status" -eq 1 ]
    [ -s stderr ]
    cmp f original
    rm f.gz
    "$GZLZSS" -k f 2>&-
    "$GZLZSS" -dc f.gz | cmp - original
    cmp f original
}

@test "long names, odd names and names in other directories" {
    mkdir -p 'a dir/b'
    long=$(printf 'n%.0s' $(seq 252))
    for name in 'a dir/b/f' './-f' "$PWD/abs" "$long" $'new\nline' $'\xff\xfe' '*' 'a dir/..f'; do
        cp -p original "$name"
        "$GZLZSS" -- "$name"
        absent "$name"
        "$GZLZSS" -d -- "$name.gz"
        cmp "$name" original
    done
    # With the suffix, this name would be too long.
    cp original "$long"xyz
    ends_with 0 "$GZLZSS" "$long"xyz
    stderr_is "$NAME: ${long}xyz compressed to $long.gz"
    absent "$long"xyz
    "$GZLZSS" -dN "$long.gz"
    cmp "$long"xyz original
}

@test "before a file that ends it, -f removes no output of those after it" {
    for n in 1 2 3 4 5 6; do
        echo "$n" >"b$n"
    done
    "$GZLZSS" -c original >a.gz
    truncate -s -5 a.gz
    for n in 1 2 3 4 5 6; do
        echo new | "$GZLZSS" >"b$n.gz"
    done
    ends_with 1 "$GZLZSS" -p 4 -df a.gz b1.gz b2.gz b3.gz b4.gz b5.gz b6.gz
    for n in 1 2 3 4 5 6; do
        [ "$(cat "b$n")" = "$n" ]
        [ -e "b$n.gz" ]
    done
}

@test "a file that takes the input's name meanwhile is not removed" {
    needs_hold
    "$GEN" text 100000 >big
    cp big wanted
    echo other >other
    holds_at /big.gz "$GZLZSS" -9 -p1 big
    mv other big
    lets_go 2 "$NAME: big: replaced by another file meanwhile -- not removed"
    [ "$(cat big)" = other ]
    "$GZLZSS" -dc big.gz | cmp - wanted
}

@test "an error in reading is told as what it is, whatever its number" {
    needs_strace
    "$GEN" text 300000 >f
    # Lustre gives ENODATA for files on tape.  The message must not say that the file became
    # shorter.
    ends_with 1 strace -f -P "$PWD/f" -o trace -e trace=pread64 -e inject=pread64:error=ENODATA \
        "$GZLZSS" -b 32 f
    stderr_is "" "$NAME: f: No data available"
    absent f.gz
}

@test "an input that cannot be looked at before it is removed stays, and the message says why" {
    needs_strace
    for option in -1 --atomic; do
        "$GEN" text 1000 >f
        strace -e trace=newfstatat,fstatat64 true 2>/dev/null || skip "strace knows other names"
        strace -e trace=newfstatat,fstatat64 -o trace "$GZLZSS" $option f 2>stderr
        # Find the last of these calls that names the file.
        name=$(grep '"f"' trace | tail -n 1 | sed 's/(.*//')
        nth=$(grep "^$name(" trace | grep -n '"f"' | tail -n 1 | cut -d : -f 1)
        rm f.gz
        "$GEN" text 1000 >f
        ends_with 2 strace -e trace="$name" -e inject="$name:error=EIO:when=$nth" -o trace \
            "$GZLZSS" $option f
        stderr_is "$NAME: f: Input/output error"
        "$GEN" text 1000 | cmp - f
        "$GZLZSS" -dc f.gz | cmp - f
        rm f.gz
    done
}
