#!/bin/bash
# large.sh - files over 4 GiB, and a stream of many gigabytes in bounded memory
#
#   GZLZSS_COMMAND=/path/to/gzlzss tests/large.sh GB FILE
#
# The data is FILE, again and again, so FILE should have many megabytes.  First, a stream of GB
# gigabytes that is never on disk goes through gzlzss and through gzlzss -d.  Its checksum must stay
# the same, and neither program may take more than MEMORY MiB (default 512).  Then 4.4 GB go into a
# file: gzip must read what gzlzss makes of it, from a file and from a pipe, and gzlzss must read
# what both make, list the size, and find a range beyond 4 GiB.  This needs 10 GB in TMPDIR.  The
# script prints what was equal, and ends with 1 at the first thing that is wrong.
#
# OPTIONS (default -1) are given to gzlzss when it compresses.
# shellcheck disable=SC2002 # a pipe is read in another way than a file
set -u -o pipefail

gzlzss=$(realpath -e "${GZLZSS_COMMAND:?must be the path of gzlzss}") || exit 2
gigabytes=${1:?how many gigabytes?}
file=$(realpath -e "${2:?which file?}") || exit 2
read -ra options <<<"${OPTIONS--1}"
unset GZLZSS GZIP
export LC_ALL=C

work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    echo "large.sh: wrong: $*" >&2
    exit 1
}

# stream BYTES writes the data.
stream() {
    while cat "$file" 2>/dev/null; do :; done | head -c "$1"
}

# measured NAME COMMAND... runs the command, and writes the most memory that it took, in KiB, to
# NAME.memory: what the kernel said at most a second before the end.
measured() {
    local name=$1 pid
    shift
    "$@" <&0 &
    pid=$!
    while sed -n 's/^VmHWM:[^0-9]*\([0-9]*\) kB/\1/p' "/proc/$pid/status" >now 2>/dev/null; do
        [ ! -s now ] || mv now "$name.memory"
        sleep 1
    done
    wait $pid
}

# Sends the stream through both programs.
check_stream() {
    local bytes=$((gigabytes * 1000000000)) start=$SECONDS name
    mkdir pack unpack
    stream $bytes | tee >(cksum >before) |
        (cd pack && measured pack "$gzlzss" "${options[@]}") | tee >(wc -c >size) |
        (cd unpack && measured unpack "$gzlzss" -d) | cksum >after ||
        fail "a program failed on the stream"
    until [ -s before ] && [ -s size ]; do
        sleep 0.1
    done
    cmp before after || fail "the stream has changed"
    echo "a stream of $gigabytes GB, to $(cat size) bytes and back: equal," \
        "$((SECONDS - start)) s"
    for name in pack unpack; do
        echo "$name: $(($(cat $name/$name.memory) / 1024)) MiB"
        [ "$(cat $name/$name.memory)" -le $((${MEMORY-512} * 1024)) ] || fail "too much memory"
    done
}

# equal COMMAND...: the command must write the file's data.
equal() {
    "$@" | cmp - plain || fail "$*"
    echo "$*: equal"
}

check_files() {
    local offset=$(((1 << 32) + 12345))
    stream 4400000000 >plain
    "$gzlzss" "${options[@]}" -k plain -o packed || fail "a file over 4 GiB"
    equal gzip -dc packed
    equal "$gzlzss" -dc packed
    "$gzlzss" -t packed || fail "gzlzss -t"
    [ "$("$gzlzss" -l --exact packed | awk 'NR == 2 { print $2 }')" = 4400000000 ] ||
        fail "gzlzss -l --exact"
    cmp <("$gzlzss" -dc --range=$offset:1000000 packed) \
        <(tail -c +$((offset + 1)) plain | head -c 1000000) || fail "--range"
    cat plain | "$gzlzss" "${options[@]}" | cat >packed || fail "a pipe over 4 GiB"
    equal gzip -dc packed
    cat packed | equal "$gzlzss" -d
    gzip -1 -c plain >packed
    equal "$gzlzss" -dc packed
    cat packed | equal "$gzlzss" -d
}

check_stream
check_files
