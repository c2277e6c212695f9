#!/bin/bash
# corpora.sh - fetches the files for the measurements
#
#   bench/corpora.sh [DIR]
#
# The files come from Debian packages, and stay in DIR (default: $GZLZSS_CORPORA, or
# ~/.cache/gzlzss-corpora). A file that is already in DIR is not fetched again. Needs 3 GB of space,
# apt-get with package lists, dpkg-deb, xz and gzip, but not root.
set -euo pipefail

dir=${1:-${GZLZSS_CORPORA:-${XDG_CACHE_HOME:-$HOME/.cache}/gzlzss-corpora}}
mkdir -p "$dir"
cd "$dir"

# unpack PACKAGE fetches the package and unpacks its files into the folder unpacked/PACKAGE.
unpack() {
    [ -d "unpacked/$1" ] && return
    mkdir -p debs unpacked
    (cd debs && apt-get download "$1")
    dpkg-deb -x debs/"$1"_*.deb "unpacked/$1.new"
    mv "unpacked/$1.new" "unpacked/$1"
}

# make FILE COMMAND... writes the command's output to FILE, unless FILE exists. If the command
# fails, FILE does not exist afterwards.
make() {
    local file=$1
    shift
    [ -f "$file" ] && return
    "$@" >"$file.new"
    mv "$file.new" "$file"
}

first() {
    head -c "$1" "$2"
}

# undz FILE prints the decompressed FILE. gzip gets it as standard input, since gzip would refuse a
# file name that ends in .dz.
undz() {
    gzip -dc <"$1"
}

tar_of() {
    tar -cf - --sort=name --owner=0 --group=0 --mtime=@0 -C "$1" .
}

unpack linux-source-6.1
make linux.tar xz -dc unpacked/linux-source-6.1/usr/src/linux-source-6.1.tar.xz
make linux200 first 200000000 linux.tar
unpack gcc-12-source
make gcc.tar xz -dc unpacked/gcc-12-source/usr/src/gcc-12/gcc-12.*.tar.xz
unpack unicode-cldr-core
make cldr.tar tar_of unpacked/unicode-cldr-core/usr/share/unicode/cldr
unpack dict-gcide
make gcide undz unpacked/dict-gcide/usr/share/dictd/gcide.dict.dz
unpack wordnet-base
make wordnet.tar tar_of unpacked/wordnet-base/usr/share/wordnet
unpack libllvm14
make lib.tar tar_of unpacked/libllvm14/usr/lib

unpack bowtie-examples
make ecoli gzip -dc unpacked/bowtie-examples/usr/share/doc/bowtie/examples/genomes/NC_008253.fna.gz

ls -l linux.tar linux200 gcc.tar cldr.tar gcide wordnet.tar lib.tar ecoli
