#!/bin/sh
# abi.sh - compares the shared library's interface with the recorded one, lib/gzlzss.abi
#
#   abi.sh LIBRARY          fails if they differ
#   abi.sh --write LIBRARY  writes the file anew
#
# Build the library with gcc for x86-64, with -g.  Programs rely on a released interface: the file
# may get additions, but nothing in it may change (docs/adding.md).
set -eu

src=$(dirname "$0")/..
dump=$src/lib/gzlzss.abi

if [ "$1" = --write ]; then
    # Leave out paths, which differ between machines.
    abidw --exported-interfaces-only --headers-dir "$src/include" --drop-private-types \
        --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed \
        --type-id-style hash "$2" |
        sed "s,path='[^']*/lib/,path='lib/," >"$dump"
else
    # abidiff prints nothing if there are no differences.  Ignore its status, which may be 0 even if
    # abidiff cannot read a file.
    differences=$(abidiff --headers-dir2 "$src/include" --drop-private-types "$dump" "$1" 2>&1) ||
        true
    [ -z "$differences" ] || {
        echo "$differences"
        exit 1
    }
fi
