#!/bin/bash -eu
# build.sh - builds all fuzz targets for OSS-Fuzz, and their corpora, into $OUT
#
# OSS-Fuzz runs it at the top of a clone, with CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE, OUT
# and WORK set. To try it with clang's own libFuzzer, from the top of a clone:
#
#   export CC=clang CXX=clang++ LIB_FUZZING_ENGINE=-fsanitize=fuzzer OUT=/tmp/out WORK=/tmp/work
#   export CFLAGS='-O1 -g -fsanitize=address,undefined,fuzzer-no-link' CXXFLAGS=$CFLAGS
#   mkdir -p $OUT $WORK && bash tests/fuzz/oss-fuzz/build.sh
#
# The targets need no library but zlib, which is linked statically: the machine that runs them has
# none. ISA-L is left out for the same reason; it would not be instrumented either.
top=$PWD
[ -x configure ] || ./bootstrap
mkdir -p "$WORK/gzlzss"
cd "$WORK/gzlzss"
"$top/configure" --without-cuda --without-isal --disable-shared
make -j"$(nproc)" fuzz-programs GZ_CFLAGS='-std=gnu17 -pthread' CFLAGS="$CFLAGS" \
    LIB_FUZZING_ENGINE="$LIB_FUZZING_ENGINE" LIBS='-l:libz.a -lm'

for program in tests/fuzz/fuzz_*; do
    [ -x "$program" ] || continue
    target=${program##*/fuzz_}
    cp "$program" "$OUT/"
    rm -rf seeds && mkdir seeds
    tar -xzf "$top/tests/fuzz/corpus/$target.tar.gz" -C seeds
    (cd seeds && zip -qr "$OUT/fuzz_${target}_seed_corpus.zip" .)
    printf '[libfuzzer]\nmax_len = 70000\ntimeout = 60\n' >"$OUT/fuzz_$target.options"
done
