#!/bin/sh
# build.sh - builds and installs for conda; recipe.yaml says how
#
# CUDA is --with-cuda or --without-cuda.
set -eu

[ -x configure ] || ./bootstrap
./configure --prefix="$PREFIX" "$CUDA" --disable-static
make -j"${CPU_COUNT:-1}"
make install
rm -f "$PREFIX/lib/libgzlzss.la"
