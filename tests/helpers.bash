# helpers.bash - what the Bats files share
#
# The build says where things are: GZLZSS_COMMAND (or GZLZSS) is the command to test, GEN the data
# generator (tests/gen.c) and srcdir the top of the source tree, all absolute paths (Makefile.am).
# shellcheck shell=bash

# In the environment, GZLZSS would be options to the command: its path has another name there, and
# is a variable of this shell alone under this one.
export GZLZSS_COMMAND=${GZLZSS_COMMAND:-${GZLZSS:?must be the path of the command to test}}
unset GZLZSS
GZLZSS=$GZLZSS_COMMAND
: "${GEN:?must be the path of tests/gen}"
: "${srcdir:?must be the path of the source tree}"

# Messages are compared with gzip's and made by strerror, and the user's settings must not reach
# the programs under test.
export LC_ALL=C
unset GZIP GZIP_OPT PIGZ GZLZSS_TEST_GPU_MIN GZLZSS_TEST_GPU_FAULT GZLZSS_TEST_GPU_MEMORY GZLZSS_TEST_GPU_SHARED
unset GZLZSS_TEST_MPI_WAVE GZLZSS_TEST_REGION

# no_ignored_signals fails if a signal that the command deals with was ignored when Bats started:
# the tests could not send it.  Each bit stands for one: HUP, INT, QUIT, PIPE, TERM, XCPU and XFSZ.
no_ignored_signals() {
    local ignored
    # A process that the shell starts: for itself, a shell ignores SIGQUIT.
    ignored=$(sed -n 's/^SigIgn:[[:blank:]]*//p' /proc/self/status 2>/dev/null)
    [ $((0x${ignored:-0} & 0x1805007)) -eq 0 ] ||
        fail "signals are ignored here; use 'make check', or start Bats with ${GEN%gen}default_signals"
}

# With SKIP_LONG in the environment, tests in the list tests/long are left out.
is_left_out() {
    [ -n "${SKIP_LONG-}" ] &&
        grep -qxF "$(basename "$BATS_TEST_FILENAME" .bats): $BATS_TEST_DESCRIPTION" "$srcdir/tests/long"
}

# Every test file's setup() calls this: an empty directory for each test.
enter_test_directory() {
    ! is_left_out || skip "takes long, and is run by ./quickstart check all"
    umask 022
    no_ignored_signals || return 1
    cd "$BATS_TEST_TMPDIR" || return 1
}

have() {
    command -v "$1" >/dev/null 2>&1
}

have_gnu_gzip() {
    have gzip && gzip --version 2>/dev/null | head -n 1 | grep -q '^gzip [0-9]'
}

# Whether the command was built with AddressSanitizer or ThreadSanitizer.
is_sanitized() {
    grep -q -a -e __asan_init -e __tsan_init "$GZLZSS"
}

# For tests whose code others run with sanitizers, too, with hostile data or from many threads: what
# they compare does not depend on sanitizers.
without_sanitizers() {
    ! is_sanitized || skip "tells nothing more with a sanitizer"
}

# Whether the command has musl's C library, whose words for errors are not always glibc's (and
# gzip's, in the tests).
has_musl() {
    grep -q -a -e ld-musl- -e 'Symbolic link loop' "$GZLZSS"
}

# For sed: musl's words in glibc's, also where on_terminal (tests/compare.bash) has taken letters
# out.
glibc_words=(-e 's/Symbolic link loop/Too many levels of symbolic links/g'
    -e 's/Smbolic lik loop/Too ma levels of smbolic liks/g' -e 's/Filename too long/File name too long/g')

# rounds NUMBER: so many, or a third of them where a sanitizer makes each several times as slow.
rounds() {
    if is_sanitized; then
        echo $((($1 + 2) / 3))
    else
        echo "$1"
    fi
}

# The levels, from 0 on.
levels() {
    "${GEN%gen}levels" | cut -d ' ' -f 1
}

# Of each match finder, the level that has most to do; level 0, which has none, is one of them.
level_of_each_finder() {
    "${GEN%gen}levels" | awk '{ level[$2] = $1 } END { for (finder in level) print level[finder] }'
}

last_level() {
    levels | tail -n 1
}

# The names of the match finders that --matcher takes; none in a build without them.
matchers() {
    "$GZLZSS" --matcher=help | sed -n 's/^\([a-z0-9-]*\): .*/\1/p'
}

# Whether the command finds a GPU that it can use.
have_gpu() {
    echo x | "$GZLZSS" --backend=gpu >/dev/null 2>&1
}

# Skips the test unless strace can trace here.  With strace, LeakSanitizer cannot look for leaks.
needs_strace() {
    have strace || skip "strace is not installed"
    export ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
    strace -o /dev/null true 2>/dev/null || skip "strace cannot trace here"
}

# Says what is wrong and fails the test.
fail() {
    printf '%s\n' "$*"
    return 1
}

# ends_with STATUS COMMAND...: the command ends with that exit status.  Its standard error is left
# in the file "stderr", its standard output in "stdout".
ends_with() {
    local expected=$1 status=0
    shift
    "$@" >stdout 2>stderr </dev/null || status=$?
    [ "$status" -eq "$expected" ] ||
        fail "exit status $status, not $expected: $*" "stderr: $(cat stderr)"
}

# stderr_is LINE...: standard error of the last ends_with was exactly these lines.
stderr_is() {
    if [ $# -eq 0 ]; then
        [ ! -s stderr ] || fail "unexpected message: $(cat stderr)"
    else
        printf '%s\n' "$@" | cmp -s - stderr || fail "expected: $*" "got: $(cat stderr)"
    fi
}

# absent FILE...: none of these exist, not even as dangling links.
absent() {
    local f
    for f in "$@"; do
        if [ -e "$f" ] || [ -L "$f" ]; then
            fail "$f should not exist"
        fi
    done
}

sha() {
    sha256sum | cut -d ' ' -f 1
}

# hex FILE OFFSET COUNT: bytes of a file as hexadecimal digits.
hex() {
    od -A n -t x1 -j "$2" -N "$3" -v "$1" | tr -d ' \n'
}

# Makes the directory "in" of small and large inputs of all kinds, the edges first.
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

# Adds real files to the directory "in": those that any Debian machine has, whichever are there.
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
    # A tar of many small files; without documentation on the machine, of its settings.
    find /usr/share/doc /usr/share/perl-base /etc -xdev -type f -size -40k -readable 2>/dev/null |
        head -n 400 >list
    tar -cf in/small-files.tar -T list 2>/dev/null || true
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

# same_as_gzip COMMANDS: shell commands, run in two copies of the directory "case", once with $TOOL
# GNU gzip and once ours, end with the same status, print the same and leave the same files with the
# same modes and times.  In messages, the program's name does not count, nor do the ratios, the
# empty lines and other white space of gzip's, nor that all of ours have a colon after the file's
# name.  Compressed output counts by what is in it.
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
                -e 's/-?[0-9.]+%/N%/' -e '/^ ?$/d' "${glibc_words[@]}" ../stderr
            find . -type f -printf '%P %m %TY-%Tm-%Td %TT\n' | sort
        ) >"$tool.result"
    done
    # Few files differ, so few need to be looked into.
    diff -rq by-gzip by-gzlzss 2>/dev/null | sed -n 's/^Files \(.*\) and \(.*\) differ$/\1 \2/p' |
        while read -r theirs ours; do
            cmp <(gzip -dcf <"$theirs") <(gzip -dcf <"$ours") 2>&1 || true
        done >>gzlzss.result
    if ! differences=$(diff gzip.result gzlzss.result); then
        fail "gzip (<) and gzlzss (>) differ in: $1" "$differences"
    fi
}

# all_same_as_gzip COMMANDS...: each of them is.
all_same_as_gzip() {
    local c bad=0
    have_gnu_gzip || skip "GNU gzip is not installed"
    for c in "$@"; do
        same_as_gzip "$c" || bad=1
    done
    [ "$bad" -eq 0 ]
}

# The recorded digests.  A line of golden.sha256 says what a compressed stream's digest is:
#
#     DIGEST LEVEL BLOCKSIZE KIND SIZE    of `gen KIND SIZE | gzlzss -n -LEVEL -b BLOCKSIZE`
#     DIGEST LEVEL BLOCKSIZE file NAME    of tests/data/NAME in place of generated data
#
# With "default" for the block size there is no -b.  With - for the level and the block size, it is
# the digest of the data itself.

golden_input() {
    if [ "$1" = file ]; then
        cat "$srcdir/tests/data/$2"
    else
        "$GEN" "$1" "$2"
    fi
}

# golden_digest LEVEL BLOCKSIZE KIND SIZE
golden_digest() {
    local block=(-b "$2")
    if [ "$1" = - ]; then
        golden_input "$3" "$4" | sha
    else
        [ "$2" != default ] || block=()
        golden_input "$3" "$4" | "$GZLZSS" --backend=cpu -n "-$1" "${block[@]}" | sha
    fi
}

# Of papers.sha256, a line says:
#
#     DIGEST MATCHER KIND SIZE    of `gen KIND SIZE | gzlzss -n --matcher=MATCHER`, or of a file, as above

# paper_digest MATCHER KIND SIZE
paper_digest() {
    golden_input "$2" "$3" | "$GZLZSS" --backend=cpu -n "--matcher=$1" | sha
}

# Prints papers.sha256 anew.
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

# Prints golden.sha256 anew, with the digests that the command gives now (tests/data/README).
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
