#!/bin/sh
# version.sh - checks that all files that contain gzlzss's version contain the same version
#
#   build-aux/version.sh [DIR]    checks the tree in DIR, by default the tree that this script is in
#
# The version in configure.ac is authoritative.  Prints a line for each place with another version,
# and fails if there is such a place.  To release a version, see docs/releasing.md.
set -u

cd "${1-$(dirname "$0")/..}" || exit 2

version=$(sed -n 's/^AC_INIT(\[gzlzss\], \[\([0-9.]*\)\]).*/\1/p' configure.ac)
case $version in
*.*.*) ;;
*)
    echo "configure.ac: found no version in the form 1.2.3" >&2
    exit 2
    ;;
esac

status=0

# same FILE WHAT FOUND EXPECTED complains unless FOUND is EXPECTED.
same() {
    [ "$3" = "$4" ] && return
    echo "$1: $2 is '$3', but configure.ac has version $version"
    status=1
}

# not_newer FILE WHAT FOUND complains if FOUND is empty, or newer than the version.
not_newer() {
    newest=$(printf '%s\n%s\n' "$3" "$version" | sort -V | tail -n 1)
    [ -n "$3" ] && [ "$newest" = "$version" ] && return
    echo "$1: $2 is '$3', but configure.ac has version $version"
    status=1
}

# macro NAME prints the value of GZLZSS_VERSION_NAME.
macro() {
    sed -n "s/^#define GZLZSS_VERSION_$1 \"\{0,1\}\([0-9.]*\)\"\{0,1\}\$/\1/p" include/gzlzss.h
}

same include/gzlzss.h GZLZSS_VERSION_STRING "$(macro STRING)" "$version"
same include/gzlzss.h GZLZSS_VERSION_MAJOR.MINOR.PATCH \
    "$(macro MAJOR).$(macro MINOR).$(macro PATCH)" "$version"
same NEWS.md 'the first version' \
    "$(sed -n 's/^## \([0-9][0-9.]*\).*/\1/p' NEWS.md | head -n 1)" "$version"
for page in man/*.[13]; do
    same "$page" 'the version in .Os' \
        "$(sed -n 's/^\.Os "gzlzss \([0-9.]*\)"$/\1/p' "$page")" "$version"
done
same packaging/rpm/gzlzss.spec 'the version' \
    "$(sed -n 's/^Version: *\([0-9.]*\)$/\1/p' packaging/rpm/gzlzss.spec)" "$version"
same packaging/conda/recipe.yaml 'the version' \
    "$(sed -n 's/^  version: "\([0-9.]*\)"$/\1/p' packaging/conda/recipe.yaml)" "$version"
same packaging/spack/package.py 'the version in the URL' \
    "$(sed -n 's/^    url = ".*gzlzss-\([0-9.]*\)\.tar\.gz"$/\1/p' packaging/spack/package.py)" \
    "$version"
# Symbols of the library name the version that they came with.
not_newer lib/gzlzss.map 'the newest version of symbols' \
    "$(sed -n 's/^GZLZSS_\([0-9.]*\) {$/\1/p' lib/gzlzss.map | sort -V | tail -n 1)"
# The tarball has no debian/.
if [ -f debian/changelog ]; then
    not_newer debian/libgzlzss0.symbols 'the newest version' \
        "$(sed -n 's/^ [^ ]* \([0-9.]*\)$/\1/p' debian/libgzlzss0.symbols | sort -V | tail -n 1)"
    same debian/changelog 'the first version' \
        "$(sed -n '1s/^gzlzss (\([0-9.]*\)).*/\1/p' debian/changelog)" "$version"
fi
exit $status
