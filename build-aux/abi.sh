#!/bin/sh
# abi.sh - compares the shared library's interface with lib/gzlzss.abi, on which programs rely
#
#   abi.sh LIBRARY          fails if they differ
#   abi.sh --write LIBRARY  writes the file anew
#
# Build the library by gcc for x86-64 with -g.  After a release, add to the file, but do not change
# what it says about the released interface: see docs/adding.md.
set -eu

src=$(dirname "$0")/..
dump=$src/lib/gzlzss.abi

if [ "$1" = --write ]; then
    # Leaves out paths, which differ between machines.
    abidw --exported-interfaces-only --headers-dir "$src/include" --drop-private-types \
        --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed \
        --type-id-style hash "$2" |
        sed "s,path='[^']*/lib/,path='lib/," >"$dump"
else
    # abidiff prints nothing if there are no differences.  Its status is no help: it may be 0 for a
    # file that abidiff cannot read.
    differences=$(abidiff --headers-dir2 "$src/include" --drop-private-types "$dump" "$1" 2>&1) ||
        true
    [ -z "$differences" ] || {
        echo "$differences"
        exit 1
    }
fi
