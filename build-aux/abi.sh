#!/bin/sh
# abi.sh - compares the shared library with lib/gzlzss.abi, which says what programs rely on
#
#   abi.sh LIBRARY          fails if they differ
#   abi.sh --write LIBRARY  makes the file anew
#
# The library has to be built by gcc for x86-64 with -g.  Once a version was released, what the file
# says of it may be added to, but not changed: see docs/adding.md.
set -eu

src=$(dirname "$0")/..
dump=$src/lib/gzlzss.abi

if [ "$1" = --write ]; then
    # Without paths, which differ from one machine to the next.
    abidw --exported-interfaces-only --headers-dir "$src/include" --drop-private-types \
        --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --type-id-style hash "$2" |
        sed "s,path='[^']*/lib/,path='lib/," >"$dump"
else
    # It says nothing if there is nothing to say, but may return 0 for a file that it cannot read.
    differences=$(abidiff --headers-dir2 "$src/include" --drop-private-types "$dump" "$1" 2>&1) || true
    [ -z "$differences" ] || {
        echo "$differences"
        exit 1
    }
fi
