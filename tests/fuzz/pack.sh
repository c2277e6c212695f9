#!/bin/bash
# pack.sh - packs the fuzz programs, with all that they need, to run them on another machine
#
#   tests/fuzz/pack.sh [PROGRAMS [FILE]]
#
# FILE (default: fuzz.tar.gz) gets the programs of PROGRAMS (default: tests/fuzz) without symbols,
# the shared libraries that they need besides the C library's, run.sh with common.sh, and the
# corpus. To see where an input fails, give it to the program that was packed.
# There, the machine needs a C library as new as this one's, x86-64, bash, tar and awk:
#
#   tar -xzf fuzz.tar.gz && fuzz/run.sh -t 1800 fuzz/programs
set -eu -o pipefail
here=$(cd "${0%/*}" && pwd)
programs=${1:-tests/fuzz}
file=${2:-fuzz.tar.gz}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir -p "$work/fuzz/programs/lib"
for program in "$programs"/fuzz_*; do
    if [ ! -x "$program" ]; then
        continue
    fi
    strip -o "$work/fuzz/programs/${program##*/}" "$program"
    ldd "$program" | awk '$2 == "=>" { print $3 }' |
        { grep -v -E '/(libc|libm|libpthread|libdl|librt)\.so' || true; } |
        xargs -r cp -L -u -t "$work/fuzz/programs/lib"
done
cp "$here/run.sh" "$here/common.sh" "$work/fuzz/"
cp -r "$here/corpus" "$work/fuzz/"
tar -czf "$file" -C "$work" fuzz
ls -l "$file"
