#!/usr/bin/env bats
# mpi.bats - gzlzss-mpi: any number of ranks writes the same files as gzlzss, and decompresses them;
# no error loses the input
#
# Ranks are processes on this machine, which the program MPIRUN starts.  Without that program, or in
# a build without MPI, the tests are skipped.

load helpers

setup() {
    enter_test_directory
    MPI=$(dirname "$GZLZSS")/gzlzss-mpi
    [ -x "$MPI" ] || skip "gzlzss-mpi was not built (configure --with-mpi)"
    have "${MPIRUN:-mpirun}" || skip "mpirun is not installed"
    # Open MPI must be told that ranks may run as root, and that there may be more ranks than cores.
    # MPICH ignores these variables.
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
        OMPI_MCA_rmaps_base_oversubscribe=1
    export OMPI_MCA_hwloc_base_binding_policy=none
    export OMPI_MCA_plm_rsh_agent=/bin/false
    # MPI makes files with long names in TMPDIR, so TMPDIR must be a short path.
    export TMPDIR=/tmp
}

teardown() {
    if [ -d full ]; then
        umount full 2>/dev/null || true
    fi
}

# mpi RANKS ARGUMENT...: runs gzlzss-mpi with this number of ranks.  The file "stderr" gets their
# standard error, without the lines that MPI adds after a status other than 0.
mpi() {
    local ranks=$1 status=0
    shift
    timeout 60 "${MPIRUN:-mpirun}" -n "$ranks" "$MPI" "$@" >stdout 2>all </dev/null || status=$?
    sed -e '/^-\{20,\}$/,/^-\{20,\}$/d' -e '/^mca_fbtl_posix/d' -e '/^=\{20,\}$/,$d' all >stderr
    return $status
}

# mpi_ends_with STATUS RANKS ARGUMENT...: runs `mpi`, which must end with that exit status.
mpi_ends_with() {
    local expected=$1 status=0
    shift
    mpi "$@" || status=$?
    [ "$status" -eq "$expected" ] || fail "exit status $status, not $expected: $*" "$(cat all)"
}

# True if the MPI library is MPICH, whose ranks keep a processor busy while they wait.
is_mpich() {
    ldd "$MPI" | reads_all grep -q libmpich
}

# lacks PATTERN FILE: no line of the file may match.
lacks() {
    if grep -E "$1" "$2"; then
        fail "not expected"
    fi
}

# Prints the options that --help lists: their letters or, without a letter, their names with one
# hyphen.
in_help() {
    sed -nE -e 's/^  -([A-Za-z]).*/\1/p' -e 's/^      -(-[a-z-]+).*/\1/p' stdout
}

# nothing_left_but FILE...: of all names that begin with a dot or an x, the current directory must
# have exactly the given ones.
nothing_left_but() {
    local found
    found=$(find . -maxdepth 1 \( -name '.?*' -o -name 'x*' \) -printf '%P\n' | LC_ALL=C sort |
        tr '\n' ' ')
    [ "$found" = "$* " ] || fail "there is $found, not $*"
}

# Makes files x.SIZE.  Their sizes are around the sizes of a segment (-b 32) and of a wave, which is
# 64 KiB for each rank.
make_inputs() {
    local size
    for size in 0 1 32767 32768 32769 65535 65536 65537 131072 262145 524288 1000001; do
        "$GEN" mixed "$size" >"x.$size"
    done
    touch -d @1000000000 x.*
}

@test "any number of ranks writes what gzlzss writes, and decompresses it" {
    local level ranks f
    make_inputs
    # shellcheck disable=SC2030 # for this test
    export GZLZSS_TEST_MPI_WAVE=65536
    for level in 0 1 6 12; do
        for f in x.*; do
            "$GZLZSS" -b 32 "-$level" -c "$f" >"want-$f"
        done
        for ranks in 1 2 3 4 8; do
            # MPICH takes seconds for a run with more ranks than processors.  So with MPICH, leave
            # out most of these runs: three ranks at one level exchange all kinds of messages, and
            # more ranks or other levels make no difference to MPI.
            ! is_mpich || [ "$ranks" -le "$(nproc)" ] ||
                { [ "$ranks" -le 3 ] && [ "$level" -eq 6 ]; } || continue
            mpi_ends_with 0 "$ranks" -p2 -b 32 "-$level" -k x.*
            [ ! -s stderr ] || fail "$(cat stderr)"
            for f in x.*[0-9]; do
                cmp "want-$f" "$f.gz"
                mv "$f.gz" "y${f#x}.gz"
            done
            [ "$level" -eq 0 ] || [ "$level" -eq 6 ] || continue
            GZLZSS_TEST_REGION=20000 mpi_ends_with 0 "$ranks" -p2 -vv -d y.*.gz
            # All ranks together must decompress each file of three or more segments, because such a
            # file has marks.
            [ "$ranks" -eq 1 ] || lacks 'y\.(65537|131072|262145|524288|1000001)\.gz: it' stderr
            for f in x.*; do
                cmp "$f" "y${f#x}"
            done
            rm y.*
        done
    done
}

@test "the segments' default size, name and time, and a wave that all have a share of" {
    "$GEN" source 9000000 >x
    touch -d @1234567890 x
    chmod 640 x
    "$GZLZSS" -c x >want
    mpi_ends_with 0 3 -p2 -v x
    cmp want x.gz
    grep -q '^x:.*replaced with x.gz$' stderr
    [ "$(stat -c '%a %Y' x.gz)" = "640 1234567890" ]
    nothing_left_but x.gz
    mpi_ends_with 0 2 -t -v x.gz
    grep -q '^x.gz:.* OK$' stderr
    "$GZLZSS" -dvc x.gz 2>&1 >y | sed 's/ -- .*//' >ratio
    mpi_ends_with 0 2 -d -v x.gz
    grep -qF "$(cat ratio)" stderr
    cmp x y
    mpi_ends_with 0 2 -n --level=1 -S .z x
    "$GZLZSS" -n1 <y | cmp - x.z
}

# differ ARGUMENT...: runs two ranks as if on different machines.  The first has one processor, and
# waves of 64 KiB.  The second has all processors, and waves of 256 KiB, as with a GPU.
differ() {
    timeout 60 "${MPIRUN:-mpirun}" \
        -n 1 env GZLZSS_TEST_MPI_WAVE=65536 taskset -c "$first_cpu" "$MPI" "$@" : \
        -n 1 env GZLZSS_TEST_MPI_WAVE=262144 "$MPI" "$@" 2>stderr </dev/null ||
            fail "status $?: $(cat stderr)"
}

@test "ranks on machines that differ: fewer processors, no GPU" {
    have taskset || skip "taskset is not installed"
    first_cpu=$(taskset -cp $$ | sed 's/.*: //; s/[-,].*//')
    [ "$(nproc)" -gt 1 ] || skip "there is one processor"
    "$GEN" source 2500000 >x
    for level in 1 6; do
        "$GZLZSS" -n -b 32 "-$level" -c x >want
        differ -n -k -b 32 "-$level" x
        cmp want x.gz
        mv x.gz y.gz
        GZLZSS_TEST_REGION=20000 differ -vv -d y.gz
        cmp x y
        lacks 'one rank' stderr
        rm y
    done
}

@test "colons in a path are nothing to MPI" {
    local dir
    "$GEN" text 100000 >x
    for dir in a:b ufs:c ./d:/e:f; do
        mkdir -p "$dir"
        cp x "$dir/x:y"
        mpi_ends_with 0 2 -b 32 "$dir/x:y"
        [ ! -s stderr ] || fail "$(cat stderr)"
        mpi_ends_with 0 2 -d "$dir/x:y.gz"
        cmp x "$dir/x:y"
    done
}

@test "several members, files by gzip, and by pigz if it is there" {
    "$GEN" text 400000 >x
    { "$GZLZSS" -b 32 -c x; "$GZLZSS" -c <x; "$GZLZSS" -b 32 -n <x; } >several.gz
    cat x x x >want
    GZLZSS_TEST_REGION=20000 mpi_ends_with 0 3 -p2 -d -k -vv several.gz
    cmp want several
    lacks 'one rank' stderr
    rm several
    if have gzip; then
        gzip -c x >by-gzip.gz
        mpi_ends_with 0 2 -d -vv by-gzip.gz
        cmp x by-gzip
        grep -q 'it has no marks: one rank decompresses it' stderr
    fi
    if have pigz; then
        pigz -i -b 32 -p 2 -c x >by-pigz.gz
        GZLZSS_TEST_REGION=20000 mpi_ends_with 0 2 -d -vv by-pigz.gz
        cmp x by-pigz
        lacks 'one rank' stderr
    fi
}

@test "bytes like a mark that are none cost no byte" {
    # The data contains the bytes of marks, where no segment ends.  Random data is stored, so these
    # bytes are also in the output.
    "$GEN" random 160000 >noise
    for i in 0 1 2 3 4 5 6 7; do
        dd if=noise bs=20000 skip="$i" count=1 status=none
        printf '\0\0\377\377\0\0\0\377\377'
    done >x
    "$GZLZSS" -b 32 -k x
    cp x want
    rm x
    GZLZSS_TEST_REGION=5000 mpi_ends_with 0 3 -p2 -d -vv x.gz
    cmp want x
    grep -q 'its parts do not fit together: one rank decompresses it' stderr
}

@test "one rank decompresses where the file system has no unnamed files" {
    [ "$(id -u)" -eq 0 ] || skip "only root can hide files of /proc"
    # Without the links in /proc/PID/fd, an unnamed file cannot get a name.  UCX, a library of
    # MPICH, would also use these links, for the ranks' messages.
    export UCX_POSIX_USE_PROC_LINK=n
    # shellcheck disable=SC2016
    without_links=(unshare -m sh -c 'mount -t tmpfs none /proc/$$/fd && exec "$0" "$@"')
    "${without_links[@]}" true 2>/dev/null || skip "no mounts can be made here"
    "$GEN" text 3000000 >x
    # One rank alone decompresses a file without marks.  If there are two such files, each rank gets
    # one file.
    "$GZLZSS" -b 32768 -c x >y1.gz
    cp y1.gz y2.gz
    for files in y1.gz 'y1.gz y2.gz'; do
        # shellcheck disable=SC2086
        timeout 60 "${MPIRUN:-mpirun}" -n 2 "${without_links[@]}" "$MPI" -dkf -p2 $files 2>stderr \
            </dev/null || fail "status $?: $(cat stderr)"
        [ ! -s stderr ] || fail "$(cat stderr)"
        cmp x y1
    done
    cmp x y2
    [ "$(find . -name '.gzlzss-*')" = "" ]
}

@test "damaged, truncated, with garbage: what gzlzss says, and nothing is left" {
    local damage args size
    "$GEN" text 400000 >x
    "$GZLZSS" -b 32 -c x >good.gz
    size=$(stat -c %s good.gz)
    rm x
    for damage in crc empty garbage header length middle truncated zeros; do
        cp good.gz "x-$damage.gz"
    done
    printf 'abcd' | dd of=x-crc.gz bs=1 seek=$((size - 8)) conv=notrunc status=none
    : >x-empty.gz
    echo garbage >>x-garbage.gz
    printf 'X' | dd of=x-header.gz bs=1 conv=notrunc status=none
    printf 'abcd' | dd of=x-length.gz bs=1 seek=$((size - 4)) conv=notrunc status=none
    printf 'abcdefgh' | dd of=x-middle.gz bs=1 seek=50000 conv=notrunc status=none
    truncate -s -1000 x-truncated.gz
    truncate -s +1000 x-zeros.gz
    for args in -d -t; do
        for f in x-*.gz; do
            "$GZLZSS" $args -k "$f" 2>&1 || true
        done | sed 's/^gzlzss:/gzlzss-mpi:/' >want
        rm -f x-garbage x-zeros
        GZLZSS_TEST_REGION=20000 mpi_ends_with 1 3 -p2 $args -k x-*.gz
        cmp want stderr || fail "$args: $(cat stderr)"
        if [ "$args" = -d ]; then
            nothing_left_but x-crc.gz x-empty.gz x-garbage x-garbage.gz x-header.gz x-length.gz \
                x-middle.gz x-truncated.gz x-zeros x-zeros.gz
            "$GEN" text 400000 | cmp - x-garbage
            cmp x-garbage x-zeros
            rm x-garbage x-zeros
        fi
    done
    mpi_ends_with 2 2 -d x-garbage.gz
}

@test "a file that becomes shorter while the ranks decode it is for one of them" {
    needs_strace
    "$GEN" text 400000 >x
    "$GZLZSS" -b 32 x
    # The threads of one rank have found a mark, and wait.  Before they go on, truncate the file in
    # the header of a block that comes after the first mark from which they decode.
    cut=$(grep -obUaP '\x00\x00\xff\xff\x00\x00\x00\xff\xff' x.gz |
        awk -F: '$1 > 40003 { print $1 + 19; exit }')
    GZLZSS_TEST_REGION=20000 timeout 30 "${MPIRUN:-mpirun}" -n 1 "$MPI" -d -p2 -vv x.gz : \
        -n 1 strace -f -o trace -P "$PWD/x.gz" -e trace=pread64 -e \
            inject=pread64:delay_enter=2000000:when=2 "$MPI" -d -p2 -vv x.gz 2>stderr </dev/null \
            3>&- &
    pid=$!
    until grep -qs pread64 trace; do
        kill -0 "$pid"
        sleep 0.05
    done
    truncate -s "$cut" x.gz
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 1 ] || fail "status $status: $(cat stderr)"
    grep -q 'its parts do not fit together: one rank decompresses it' stderr
    grep -q 'x.gz: unexpected end of file' stderr
    nothing_left_but x.gz
}

@test "a file that becomes shorter while the ranks compress it: gzlzss's message" {
    needs_strace
    "$GEN" text 6000000 >x
    # The second rank's first read waits, and meanwhile the file is truncated.
    GZLZSS_TEST_MPI_WAVE=65536 timeout 30 "${MPIRUN:-mpirun}" -n 1 "$MPI" "$PWD/x" : \
        -n 1 strace -f -o trace -P "$PWD/x" -e trace=pread64 -e \
            inject=pread64:delay_enter=2000000:when=1 "$MPI" "$PWD/x" 2>stderr </dev/null 3>&- &
    pid=$!
    until grep -qs pread64 trace; do
        kill -0 "$pid"
        sleep 0.05
    done
    truncate -s 1000 x
    status=0
    wait "$pid" || status=$?
    [ "$status" -eq 1 ] || fail "status $status: $(cat stderr)"
    grep -q 'x: file became shorter while it was read' stderr || fail "$(cat stderr)"
    nothing_left_but x
}

# fails RANK ARGUMENT...: runs two ranks.  strace, with the options in $faults, makes system calls
# of RANK fail.  The run must end with status 1.
fails() {
    local rank=$1 status=0 faulty
    shift
    faulty=(-n 1 strace -f -o trace "${faults[@]}" "$MPI" "$@")
    if [ "$rank" -eq 0 ]; then
        set -- "${faulty[@]}" : -n 1 "$MPI" "$@"
    else
        set -- -n 1 "$MPI" "$@" : "${faulty[@]}"
    fi
    timeout 60 "${MPIRUN:-mpirun}" "$@" 2>all </dev/null || status=$?
    [ "$status" -eq 1 ] || fail "status $status: $*" "$(cat all)"
    grep '^gzlzss-mpi: ' all >stderr
}

@test "a rank that cannot open or write: all end, with one message, and the input stays" {
    needs_strace
    # shellcheck disable=SC2031 # each test has its own
    export GZLZSS_TEST_MPI_WAVE=65536 GZLZSS_TEST_REGION=20000
    "$GEN" text 1000000 >copy
    "$GZLZSS" -b 32 -c copy >copy.gz
    for rank in 0 1; do
        cp copy x
        faults=(-P "$PWD/x" -e trace=openat -e inject=openat:error=EMFILE)
        fails $rank "$PWD/x"
        stderr_is "gzlzss-mpi: $PWD/x: Too many open files"
        nothing_left_but x
        # The ranks call pwrite64 only for the output.
        faults=(-e trace=pwrite64 -e inject=pwrite64:error=EIO:when=3)
        fails $rank -b 32 x
        stderr_is "gzlzss-mpi: x.gz: Input/output error"
        nothing_left_but x
        cmp copy x
        rm x
        cp copy.gz x.gz
        faults=(-e trace=pwrite64 -e inject=pwrite64:error=EIO:when=2+)
        fails $rank -d x.gz
        stderr_is "gzlzss-mpi: x: Input/output error"
        nothing_left_but x.gz
        cmp copy.gz x.gz
        rm x.gz
    done
}

@test "a full file system: one message, the input stays, nothing else is left" {
    [ "$(id -u)" -eq 0 ] || skip "only root can make a small file system"
    mkdir full
    mount -t tmpfs -o size=1200k none full 2>/dev/null || skip "no file system can be mounted here"
    "$GEN" random 1000000 >full/x
    sha256sum full/x >sum
    GZLZSS_TEST_MPI_WAVE=65536 mpi_ends_with 1 3 -p2 -b 32 full/x
    stderr_is '' 'gzlzss-mpi: full/x.gz: No space left on device'
    sha256sum -c --quiet sum
    [ "$(ls -A full)" = x ]
    "$GEN" zeros 3000000 | "$GZLZSS" -b 32 >full/x.gz
    rm full/x
    GZLZSS_TEST_REGION=1000 mpi_ends_with 1 3 -p2 -d full/x.gz
    stderr_is '' 'gzlzss-mpi: full/x: No space left on device'
    [ "$(ls -A full)" = x.gz ]
}

@test "a directory that cannot be written to" {
    mkdir dir
    "$GEN" text 1000 >dir/x
    chmod 555 dir
    if [ "$(id -u)" -eq 0 ]; then
        mount --bind dir dir 2>/dev/null && mount -o remount,ro,bind dir 2>/dev/null ||
            skip "root can write anywhere"
    fi
    status=0
    mpi_ends_with 1 2 dir/x || status=$?
    [ "$(id -u)" -ne 0 ] || umount dir
    [ "$status" -eq 0 ]
    [ "$(wc -l <stderr)" -eq 1 ]
    grep -q '^gzlzss-mpi: dir/x.gz: ' stderr
    [ "$(ls -A dir)" = x ]
}

@test "an output that exists, with and without -f; a name that is not there, or has the suffix" {
    "$GEN" text 100000 >x
    echo old >x.gz
    mpi_ends_with 2 2 x
    stderr_is "$(printf 'gzlzss-mpi: x.gz already exists;\tnot overwritten')"
    [ "$(cat x.gz)" = old ]
    # The ranks do not ask the user.
    mpi_ends_with 2 2 ---presume-input-tty x
    stderr_is "$(printf 'gzlzss-mpi: x.gz already exists;\tnot overwritten')"
    mpi_ends_with 0 2 -f -n x
    absent x
    "$GEN" text 100000 | "$GZLZSS" -n | cmp - x.gz
    mpi_ends_with 1 2 missing
    stderr_is 'gzlzss-mpi: missing: No such file or directory'
    mpi_ends_with 0 2 x.gz
    stderr_is 'gzlzss-mpi: x.gz already has .gz suffix -- unchanged'
    nothing_left_but x.gz
}

@test "names in messages have no control characters: mpirun copies them to a terminal" {
    local bad=$'x\033[31m\n' quoted="'x'\$'\\033''[31m'\$'\\n'"
    "$GEN" text 1000 >"$bad"
    mpi_ends_with 0 2 -kv "$bad"
    grep -qF "$quoted:" stderr
    mpi_ends_with 2 2 -k "$bad"
    grep -qF "$quoted'.gz' already exists" stderr
    mpi_ends_with 1 2 "$bad.no"
    lacks $'\033' stderr
    mpi_ends_with 1 2 "--level=$bad"
    lacks $'\033' stderr
}

@test "many files are dealt to the ranks, and read as if one came after the other" {
    local i
    for i in 1 2 3 4 5 6 7 8 9; do
        "$GEN" text $((i * 10000)) >"x$i"
    done
    "$GEN" text 3000000 >x5
    mkdir want
    cp -p x? want
    "$GZLZSS" -b 32 want/x?
    mpi_ends_with 1 3 -v -b 32 x1 x2 x3 missing x4 x5 x6 x7 x8 x9
    for i in 1 2 3 4 5 6 7 8 9; do
        cmp "want/x$i.gz" "x$i.gz"
    done
    [ "$(sed 's/:.*//' stderr | tr '\n' ' ')" = 'x1 x2 x3 gzlzss-mpi x4 x5 x6 x7 x8 x9 ' ] ||
        fail "$(cat stderr)"
    printf 'no gzip' >x4.gz
    mpi_ends_with 1 3 -d x?.gz
    stderr_is '' 'gzlzss-mpi: x4.gz: not in gzip format'
    nothing_left_but x1 x2 x3 x4.gz x5 x6 x7 x8 x9
}

@test "without mpirun it is one rank; what does not go with ranks is refused" {
    "$GEN" text 100000 >x
    "$GZLZSS" -k x
    mv x.gz want
    timeout 60 "$MPI" x </dev/null
    cmp want x.gz
    for option in -c -l -r --rsyncable --huffman -U; do
        ends_with 1 timeout 60 "$MPI" $option x.gz
        [ "$(wc -l <stderr)" -eq 1 ]
        grep -q 'does not go with MPI' stderr
    done
    ends_with 1 timeout 60 "$MPI"
    grep -q 'standard input does not go with MPI: give FILEs' stderr
    mpi_ends_with 1 2 --no-such-option
    [ "$(grep -c 'no-such-option' stderr)" -eq 1 ]
    mpi_ends_with 0 2 --help
    [ "$(grep -c '^Usage: mpirun' stdout)" -eq 1 ]
    # The manual page has all options that --help lists.
    [ "$(in_help | wc -l)" -ge 15 ]
    tr ' ' '\n' <"$srcdir/man/gzlzss-mpi.1" >words
    for option in $(in_help); do
        grep -qx -e "$option" words || fail "not in the manual: -$option"
    done
    rm words
    nothing_left_but x.gz
}

@test "a quota of processors counts, as for gzlzss" {
    local mount
    [ "$(id -u)" -eq 0 ] || skip "only root can hide a control group"
    [ "$(nproc)" -gt 1 ] || skip "there is one processor"
    # Replace the files of the control groups by files that allow one processor.  The new files have
    # the names and formats of both versions of control groups.
    mount=$(awk '/ - cgroup2 / || / - cgroup [^ ]+ [^ ]*,?cpu(,|$)/ { print $5 }' \
        /proc/self/mountinfo | reads_all head -n 1)
    [ -n "$mount" ] || skip "there are no control groups"
    "$GEN" text 100000 >x
    # shellcheck disable=SC2016
    unshare -m sh -c 'mount -t tmpfs none "$0" && cd "$0" && echo 100000 100000 >cpu.max &&
        echo 100000 >cpu.cfs_quota_us && echo 100000 >cpu.cfs_period_us && cd - >/dev/null &&
        exec "$@"' \
        "$mount" timeout 60 "$MPI" -vv -k x 2>stderr </dev/null || skip "no mounts can be made here"
    grep -q 'x: 1 rank, of 1 thread here' stderr || fail "$(cat stderr)"
}

@test "options in GZLZSS count, and those of gzip's variable" {
    "$GEN" text 100000 >x
    GZLZSS='-1 -b 32 -n' mpi_ends_with 0 2 -k x
    "$GZLZSS" -1 -b 32 -n <x | cmp - x.gz
    GZIP=-9 mpi_ends_with 0 2 -kfn -q x
    "$GZLZSS" -9 -n <x | cmp - x.gz
}

@test "a rank is killed at any moment: nothing is lost" {
    run timeout 100 bash "$srcdir/tests/mpi_kill.sh" 5
    [ "$status" -eq 0 ] || fail "$output"
}
