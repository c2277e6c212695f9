#!/bin/sh
# release.sh - makes, checks, signs and tags a release; `make release` runs it
#
#   build-aux/release.sh [--dry-run] [--key=KEY] [--output=DIR] VERSION
#
# First checks that the tree is ready for a release.  Then it makes the tarball from the last
# commit, twice, in two clones with different settings: the two must have the same bytes, and all
# files of the repository but those that only a clone needs.  `make distcheck-quick` builds, tests,
# installs and uninstalls what is in the tarball.  At the end, the tarball and a signature are in
# DIR (the current directory), and the commit has a signed tag.
#
#   --dry-run   ends after the checks: no signature, no tag, and nothing in DIR
#   --key=KEY   the GnuPG key that signs; default: git's user.signingKey, or the key of user.email
#
# Nothing is pushed or uploaded.
set -eu

die() {
    echo "release: $*" >&2
    exit 1
}

is_dry=false
key=
output=$PWD
while :; do
    case ${1-} in
    --dry-run) is_dry=true ;;
    --key=*) key=${1#*=} ;;
    --output=*) output=$(cd "${1#*=}" && pwd) ;;
    --*) die "unknown option $1" ;;
    *) break ;;
    esac
    shift
done
[ $# -eq 1 ] || die "usage: release.sh [--dry-run] [--key=KEY] [--output=DIR] VERSION"
version=$1
tag=v$version
name=gzlzss-$version

# The make that started this script must not influence the ones below.
unset MAKEFLAGS MFLAGS MAKELEVEL VERSION
# These variables add options to tar's and gzip's.
unset TAR_OPTIONS GZIP
cd "$(dirname "$0")/.."
top=$PWD

# --- Is the tree ready? -------------------------------------------------------------------------

echo "$version" | grep -qx '[0-9][0-9]*\.[0-9][0-9]*\.[0-9][0-9]*' ||
    die "'$version' is no version in the form 1.2.3"
git rev-parse --verify -q HEAD >/dev/null || die "this is no clone of the repository"
changes=$(git status --porcelain) || die "git cannot tell the state of the tree"
[ -z "$changes" ] || die "the tree has changes that are not committed:
$changes"
grep -qxF "AC_INIT([gzlzss], [$version])" configure.ac || die "configure.ac has another version"
sh build-aux/version.sh . || die "there are places with another version"
# A section without a date, such as "Not released", comes before the last release's.
sed -n '/^## /{p;q;}' NEWS.md | grep -qx "## $version ([0-9]*-[0-9]*-[0-9]*)" ||
    die "the first section of NEWS.md is not '## $version (DATE)'"
# A dry run may check a release that has its tag.
tagged=$(git rev-parse --verify -q "refs/tags/$tag^{commit}" || :)
[ -z "$tagged" ] || { $is_dry && [ "$tagged" = "$(git rev-parse HEAD)" ]; } ||
    die "the tag $tag exists"
for file in "$name.tar.gz" "$name.tar.gz.asc"; do
    [ ! -e "$output/$file" ] || die "$output/$file exists"
done
: "${key:=$(git config user.signingKey || git config user.email)}"
$is_dry || gpg --list-secret-keys "$key" >/dev/null 2>&1 || die "GnuPG has no secret key $key"

# --- The tarball --------------------------------------------------------------------------------

work=$(mktemp -d "${TMPDIR:-/tmp}/gzlzss-release.XXXXXX")
trap 'chmod -R u+w "$work"; rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM

# All files in the tarball have the commit's time.  Owners and rights do not depend on the machine.
# These are variables of Automake's rules.
dist() {
    make "$@" GZIP_ENV=-9n am__tar="tar --format=ustar --sort=name --mtime=@$time --owner=0 \
--group=0 --numeric-owner --mode=u+rw,go=rX -chf - \"\$\$tardir\""
}

# pack DIRECTORY UMASK ZONE LOCALE: makes the tarball in a new clone, in a directory build.
pack() {
    (
        umask "$2"
        export TZ="$3" LC_ALL="$4"
        git clone -q --no-local "$top" "$1" && cd "$1" && git checkout -q "$commit" &&
            ./bootstrap && mkdir build && cd build && ../configure --without-cuda &&
            dist dist
    ) >"$work/log" 2>&1 || die "the tarball cannot be made:
$(tail -n 30 "$work/log")"
}

commit=$(git rev-parse HEAD)
time=$(git log -1 --format=%ct)
echo "release: making $name.tar.gz of $commit, twice"
pack "$work/one" 022 UTC0 C
pack "$work/another" 077 XYZ-9 C.UTF-8
tarball=$work/one/build/$name.tar.gz
cmp "$tarball" "$work/another/build/$name.tar.gz" || die "the second tarball has other bytes"

# Only a clone needs .ci, .gitignore and debian.
git ls-files -- ':!.ci' ':!.gitignore' ':!debian' | LC_ALL=C sort >"$work/tracked"
tar -tf "$tarball" | sed 's,^[^/]*/,,' | LC_ALL=C sort >"$work/packed"
missing=$(LC_ALL=C comm -23 "$work/tracked" "$work/packed")
[ -z "$missing" ] || die "the tarball lacks $missing"

echo "release: building and testing what is in it"
(cd "$work/one/build" && dist distcheck-quick) >"$work/log" 2>&1 ||
    die "make distcheck failed:
$(tail -n 60 "$work/log")"
cmp "$tarball" "$work/another/build/$name.tar.gz" || die "the tested tarball differs"
(cd "$work/one/build" && sha256sum "$name.tar.gz")

if $is_dry; then
    echo "release: all checks passed; this was a dry run"
    exit
fi

# --- Signature and tag --------------------------------------------------------------------------

gpg --local-user "$key" --armor --detach-sign --output "$tarball.asc" "$tarball"
gpg --verify "$tarball.asc" "$tarball"
# If the release is not complete, leave nothing that the next run would refuse.
if ! cp "$tarball" "$tarball.asc" "$output" ||
    ! git tag -u "$key" -m "gzlzss $version" "$tag" "$commit"; then
    rm -f "$output/$name.tar.gz" "$output/$name.tar.gz.asc"
    die "the files cannot be copied, or the tag cannot be set"
fi
git verify-tag "$tag"
echo "release: $output/$name.tar.gz is signed, and $tag is set"
