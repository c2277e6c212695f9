# helpers.bash - functions and settings for all Bats files
#
# The build (Makefile.am) sets these variables to absolute paths: GZLZSS_COMMAND (or GZLZSS) is the
# command to test, GEN the data generator (tests/gen.c), and srcdir the top of the source tree.
# shellcheck shell=bash

# The command reads options from the environment variable GZLZSS.  So the command's path is exported
# as GZLZSS_COMMAND, and $GZLZSS is a shell variable that is not exported.
export GZLZSS_COMMAND=${GZLZSS_COMMAND:-${GZLZSS:?must be the path of the command to test}}
unset GZLZSS
GZLZSS=$GZLZSS_COMMAND
: "${GEN:?must be the path of tests/gen}"
: "${srcdir:?must be the path of the source tree}"

# Some tests compare messages from strerror, so set the locale.  The user's options must not affect
# the programs under test.
export LC_ALL=C
unset GZIP GZIP_OPT PIGZ
unset GZLZSS_TEST_GPU_MIN GZLZSS_TEST_GPU_FAULT GZLZSS_TEST_GPU_MEMORY GZLZSS_TEST_GPU_SHARED
unset GZLZSS_TEST_BAD_SEGMENT GZLZSS_TEST_GPU_BATCH GZLZSS_TEST_MPI_WAVE GZLZSS_TEST_REGION
unset GZLZSS_TEST_GPU_MODULE

# no_ignored_signals: fails if a signal that the tests send was ignored when Bats started.  The mask
# below has the bits of HUP, INT, QUIT, PIPE, TERM, XCPU and XFSZ.
no_ignored_signals() {
    local ignored
    # Read the mask of a child (sed), since the shell itself ignores SIGQUIT.
    ignored=$(sed -n 's/^SigIgn:[[:blank:]]*//p' /proc/self/status 2>/dev/null)
    [ $((0x${ignored:-0} & 0x1805007)) -eq 0 ] ||
        fail "signals are ignored here; use 'make check', or start Bats with" \
            "${GEN%gen}default_signals"
}

# is_left_out: true if SKIP_LONG is in the environment and tests/long lists this test.
is_left_out() {
    [ -n "${SKIP_LONG-}" ] &&
        grep -qxF "$(basename "$BATS_TEST_FILENAME" .bats): $BATS_TEST_DESCRIPTION" \
            "$srcdir/tests/long"
}

# Enters an empty directory for the test.  Each test file's setup() must call this.
enter_test_directory() {
    ! is_left_out || skip "takes long, and is run by ./quickstart check all"
    umask 022
    no_ignored_signals || return 1
    cd "$BATS_TEST_TMPDIR" || return 1
}

# A pipe fails if any of its commands does, also the one on the left of cmp.
set -o pipefail

have() {
    command -v "$1" >/dev/null 2>&1
}

# reads_all COMMAND...: runs a command that may end before it has read all input, as head and
# grep -q do, and then reads the rest.  So the command before it does not end by SIGPIPE.
reads_all() {
    local status=0
    "$@" || status=$?
    cat >/dev/null
    return "$status"
}

# endless COMMAND...: runs a command that ends by SIGPIPE when nobody reads its output any more.
endless() {
    local status=0
    "$@" || status=$?
    [ "$status" -eq 141 ]
}

have_gnu_gzip() {
    have gzip && gzip --version 2>/dev/null | reads_all head -n 1 | reads_all grep -q '^gzip [0-9]'
}

# True if the command was built with AddressSanitizer or ThreadSanitizer.
is_sanitized() {
    grep -q -a -e __asan_init -e __tsan_init "$GZLZSS"
}

# Skips the test in a build with a sanitizer.  Use it in a test that only compares results, if other
# tests run the same code with hostile data or on many threads.
without_sanitizers() {
    ! is_sanitized || skip "tells nothing more with a sanitizer"
}

# True if the command uses musl's C library.  Some of musl's error messages differ from glibc's, so
# some messages of the command differ from gzip's.
has_musl() {
    grep -q -a -e ld-musl- -e 'Symbolic link loop' "$GZLZSS"
}

# Options for sed that replace musl's messages by glibc's.  Two of them are for messages from which
# on_terminal (tests/compare.bash) has removed letters.
glibc_words=(-e 's/Symbolic link loop/Too many levels of symbolic links/g'
    -e 's/Smbolic lik loop/Too ma levels of smbolic liks/g'
    -e 's/Filename too long/File name too long/g')

# rounds NUMBER: prints the number or, in a build with a sanitizer, which is slow, a third of the
# number.
rounds() {
    if is_sanitized; then
        echo $((($1 + 2) / 3))
    else
        echo "$1"
    fi
}

# Prints the levels, from 0 on.
levels() {
    "${GEN%gen}levels" | cut -d ' ' -f 1
}

# Prints the highest level of each match finder, and level 0, which has no match finder.
level_of_each_finder() {
    "${GEN%gen}levels" | awk '{ level[$2] = $1 } END { for (finder in level) print level[finder] }'
}

last_level() {
    levels | tail -n 1
}

# Prints the names that --matcher takes; none in a build without the papers' match finders.
matchers() {
    "$GZLZSS" --matcher=help | sed -n 's/^\([a-z0-9-]*\): .*/\1/p'
}

# True if the command finds a GPU that it can use.
have_gpu() {
    echo x | "$GZLZSS" --backend=gpu >/dev/null 2>&1
}

# Skips the test if strace cannot trace here.  Switches LeakSanitizer off, which does not work under
# strace.
needs_strace() {
    have strace || skip "strace is not installed"
    export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
    strace -o /dev/null true 2>/dev/null || skip "strace cannot trace here"
}

# Skips the test if tests/hold.c cannot hold the command: in a static build, and with a sanitizer.
needs_hold() {
    hold=${GEN%gen}hold.so
    held=$BATS_TEST_TMPDIR.held
    go=$BATS_TEST_TMPDIR.go
    ! is_sanitized || skip "built with a sanitizer"
    echo x >"$BATS_TEST_TMPDIR.probe"
    HOLD='' HOLD_AT=$go HOLD_UNTIL=$go LD_PRELOAD=$hold "$GZLZSS" -f "$BATS_TEST_TMPDIR.probe"
    [ -e "$go" ] || skip "a static build cannot be held"
}

# holds_at NAME COMMAND...: runs the command, as process $pid, until it is about to write to a file
# whose path ends with NAME; with HOLD_WRITES=N, until it has done so N times.  The thread that
# writes waits until the test calls lets_go.  So the test can do something at this
# point, however fast or slow the machine is.  The file "stderr" gets the messages.
holds_at() {
    rm -f "$held" "$go"
    HOLD=$1 HOLD_AT=$held HOLD_UNTIL=$go LD_PRELOAD=$hold "${@:2}" 2>stderr 3>&- &
    pid=$!
    until [ -e "$held" ]; do
        kill -0 "$pid" || fail "it has ended: $(cat stderr)"
        sleep 0.01
    done
}

# lets_go STATUS MESSAGE...: lets the held command go on.  The command must end with this status and
# these messages.
lets_go() {
    local expected=$1
    shift
    : >"$go"
    ends_as "$expected" "$@"
}

# stops_by SIGNAL: sends the signal to the held command, which must end by it and print nothing.
stops_by() {
    kill -s "$1" "$pid"
    ends_as $((128 + $(kill -l "$1")))
}

# ends_as STATUS MESSAGE...: waits until the command, which is process $pid, ends.
ends_as() {
    local expected=$1 status=0
    shift
    wait "$pid" || status=$?
    [ "$status" -eq "$expected" ] || fail "exit status $status" "$(cat stderr)"
    stderr_is "$@"
}

# fail LINE...: prints the lines and fails the test.
fail() {
    printf '%s\n' "$*"
    return 1
}

# ends_with STATUS COMMAND...: runs the command, which must end with that exit status.  The files
# "stdout" and "stderr" get its output.
ends_with() {
    local expected=$1 status=0
    shift
    "$@" >stdout 2>stderr </dev/null || status=$?
    [ "$status" -eq "$expected" ] ||
        fail "exit status $status, not $expected: $*" "stderr: $(cat stderr)"
}

# stderr_is LINE...: the file "stderr" must have exactly these lines.
stderr_is() {
    if [ $# -eq 0 ]; then
        [ ! -s stderr ] || fail "unexpected message: $(cat stderr)"
    else
        printf '%s\n' "$@" | cmp -s - stderr || fail "expected: $*" "got: $(cat stderr)"
    fi
}

# absent FILE...: none of these files may exist, not even as a dangling link.
absent() {
    local f
    for f in "$@"; do
        if [ -e "$f" ] || [ -L "$f" ]; then
            fail "$f should not exist" || return 1
        fi
    done
}

sha() {
    sha256sum | cut -d ' ' -f 1
}

# hex FILE OFFSET COUNT: prints COUNT bytes of the file as hexadecimal digits.
hex() {
    od -A n -t x1 -j "$2" -N "$3" -v "$1" | tr -d ' \n'
}

# Makes the directory "in", with small and large inputs of all kinds, and with sizes around those of
# chunks and segments.
make_edge_inputs() {
    local k n
    mkdir -p in
    for n in 0 1 2 3; do
        "$GEN" text "$n" >"in/text-$n"
    done
    for n in 32767 32768 32769; do # a chunk, and a segment of -b 32
        "$GEN" source "$n" >"in/source-$n"
        "$GEN" random "$n" >"in/random-$n"
    done
    for n in 1048575 1048576 1048577; do # a segment of -b 1024
        "$GEN" text "$n" >"in/text-$n"
    done
    "$GEN" random 1048577 >in/random-1048577
    "$GEN" zeros 1048577 >in/zeros-1048577
    for k in $("$GEN" kinds); do
        "$GEN" "$k" 100003 >"in/$k-100003"
    done
    "$GEN" byte 2500000 >in/byte-2500000
    "$GEN" mixed 3000001 >in/mixed-3000001
    "$GEN" binary 2100000 >in/binary-2100000
}

# Adds real files to the directory "in": files that Debian machines usually have, if they exist.
make_real_inputs() {
    local libc
    mkdir -p in
    copy_if_there /usr/share/common-licenses/GPL-3 in/licence.txt
    copy_if_there /bin/bash in/bash.elf
    libc=$(ldd /bin/sh 2>/dev/null | awk '/libc\.so/ { print $3 }')
    copy_if_there "${libc:-/lib/x86_64-linux-gnu/libc.so.6}" in/libc.elf
    cp "$srcdir/src/operands.c" in/operands.c
    cp "$srcdir/tests/helpers.bash" in/helpers.bash
    tar -C "$srcdir" -cf in/sources.tar src lzss huffman compat gpu tests/gen.c tests/data
    # Make a tar of many small files: documentation or, if there is none, configuration.
    find /usr/share/doc /usr/share/perl-base /etc -xdev -type f -size -40k -readable \
        >list 2>/dev/null || true
    head -n 400 list | tar -cf in/small-files.tar -T - 2>/dev/null || true
    if have gzip; then
        gzip -9 <in/operands.c >in/compressed.gz
        tar -C "$srcdir" -cf - src lzss | gzip -6 >>in/compressed.gz
    fi
}

copy_if_there() {
    if [ -r "$1" ]; then
        cat "$1" >"$2"
    fi
}

# decompressed FILE: prints what gzip makes of the file, and how gzip ends.
decompressed() {
    local status=0
    gzip -dcf <"$1" 2>/dev/null || status=$?
    echo "exit status $status"
}

# different FILE FILE: prints the bytes that differ, which may be none, as cmp -l does.
different() {
    cmp -l "$1" "$2" || [ $? -eq 1 ]
}

# same_as_gzip COMMANDS: runs the shell commands in two copies of the directory "case", once with
# GNU gzip as $TOOL and once with gzlzss.  Both must end with the same status, print the same text,
# and leave the same files, modes and times.  These differences in messages are ignored: the
# program's name, ratios, white space, empty lines, the colon after the file's name, and gzlzss's
# line that says where a file is damaged.  Compressed files are equal if their decompressed data
# is.
same_as_gzip() {
    local tool dir differences
    for tool in gzip gzlzss; do
        dir=by-$tool
        rm -rf "$dir"
        cp -a case "$dir"
        if [ "$tool" = gzip ]; then
            TOOL=gzip
        else
            TOOL=$GZLZSS
        fi
        export TOOL
        (
            status=0
            cd "$dir" || exit 1
            bash -c "$1" >standard-output 2>../stderr </dev/null || status=$?
            touch -d @0 standard-output
            echo "exit status $status"
            sed -E -e 's/^gzlzss: /gzip: /' -e 's/^(gzip: [^ ]+): /\1 /' -e 's/[ \t]+/ /g' \
                -e 's/-?[0-9.]+%/N%/' -e '/^ ?$/d' -e '/; see --recover$/d' \
                "${glibc_words[@]}" ../stderr
            find . -type f -printf '%P %m %TY-%Tm-%Td %TT\n' | sort
        ) >"$tool.result"
    done
    # Decompress only files that differ; there are few.
    { diff -rq by-gzip by-gzlzss 2>/dev/null || [ $? -eq 1 ]; } |
        sed -n 's/^Files \(.*\) and \(.*\) differ$/\1 \2/p' |
        while read -r theirs ours; do
            decompressed "$theirs" >theirs.data
            decompressed "$ours" >ours.data
            diff -q theirs.data ours.data || [ $? -eq 1 ]
        done >>gzlzss.result
    if ! differences=$(diff gzip.result gzlzss.result); then
        fail "gzip (<) and gzlzss (>) differ in: $1" "$differences"
    fi
}

# all_same_as_gzip COMMANDS...: calls same_as_gzip for each argument.
all_same_as_gzip() {
    local c bad=0
    have_gnu_gzip || skip "GNU gzip is not installed"
    for c in "$@"; do
        same_as_gzip "$c" || bad=1
    done
    [ "$bad" -eq 0 ]
}

# The recorded digests.  A line of golden.sha256 has the digest of a compressed stream:
#
#     DIGEST LEVEL BLOCKSIZE KIND SIZE    of `gen KIND SIZE | gzlzss -n -LEVEL -b BLOCKSIZE`
#     DIGEST LEVEL BLOCKSIZE file NAME    of tests/data/NAME in place of generated data
#
# "default" as the block size means no -b.  With - as the level and the block size, the digest is of
# the data itself.

golden_input() {
    if [ "$1" = file ]; then
        cat "$srcdir/tests/data/$2"
    else
        "$GEN" "$1" "$2"
    fi
}

# golden_digest LEVEL BLOCKSIZE KIND SIZE: prints the digest that this build gives for a line with
# these words.
golden_digest() {
    local block=(-b "$2")
    if [ "$1" = - ]; then
        golden_input "$3" "$4" | sha
    else
        [ "$2" != default ] || block=()
        golden_input "$3" "$4" | "$GZLZSS" --backend=cpu -n "-$1" "${block[@]}" | sha
    fi
}

# The lines of papers.sha256 are similar.  In place of KIND SIZE, a line may have "file NAME", as
# above:
#
#     DIGEST MATCHER KIND SIZE            of `gen KIND SIZE | gzlzss -n --matcher=MATCHER`

# paper_digest MATCHER KIND SIZE: prints the digest that this build gives for a line with these
# words.
paper_digest() {
    golden_input "$2" "$3" | "$GZLZSS" --backend=cpu -n "--matcher=$1" | sha
}

# The lines of options.sha256 have options of the command at the end:
#
#     DIGEST KIND SIZE OPTION...          of `gen KIND SIZE | gzlzss -n OPTION...`

# options_digest KIND SIZE OPTIONS: prints the digest that this build gives for a line with these
# words.
options_digest() {
    local options
    read -ra options <<<"$3"
    golden_input "$1" "$2" | "$GZLZSS" --backend=cpu -n "${options[@]}" | sha
}

# Prints options.sha256 with the digests of this build (tests/data/README).
options_update() {
    local digest kind size options
    while read -r digest kind size options; do
        if [ "$digest" = '#' ]; then
            echo "$digest $kind $size $options"
        else
            echo "$(options_digest "$kind" "$size" "$options") $kind $size $options"
        fi
    done <"$srcdir/tests/data/options.sha256"
}

# Prints papers.sha256 with the digests of this build (tests/data/README).
papers_update() {
    local digest matcher kind size
    while read -r digest matcher kind size; do
        if [ "$digest" = '#' ]; then
            echo "$digest $matcher $kind $size"
        else
            echo "$(paper_digest "$matcher" "$kind" "$size") $matcher $kind $size"
        fi
    done <"$srcdir/tests/data/papers.sha256"
}

# Prints golden.sha256 with the digests of this build (tests/data/README).
golden_update() {
    local digest level block kind size
    while read -r digest level block kind size; do
        if [ "$digest" = '#' ] || [ -z "$digest" ]; then
            echo "$digest${level:+ $level}${block:+ $block}${kind:+ $kind}${size:+ $size}"
        else
            echo "$(golden_digest "$level" "$block" "$kind" "$size") $level $block $kind $size"
        fi
    done <"$srcdir/tests/data/golden.sha256"
}
