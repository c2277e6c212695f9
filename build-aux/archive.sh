#!/bin/sh
# archive.sh - leaves global, of the names in an archive, only those that a version script lists
#
#   archive.sh ARCHIVE MAP [COMMAND...]
#
# Files of the library use each other's names.  So in an archive these names are as global as the library's
# functions, and a program that has a function of such a name cannot be linked with it.  The archive's objects
# are linked to one, and in that, the names that MAP does not list are made local.  LD, OBJCOPY, AR and RANLIB,
# from the environment, are the host's tools, with options if there are some.
#
# COMMAND, if given, is libtool's, and is run first, to make .libs/NAME.a and NAME.la.  With --disable-static,
# it makes no archive; and if OBJCOPY is empty, the archive stays as it is.
#
# C++'s inline functions stand in groups, and of all groups with one name a linker keeps the first.  Local
# names in a group that it drops would be missing, hence --force-group-allocation, which makes ordinary
# sections of them.  Names that C++ has once in a process (GNU's unique symbols) cannot be made local, but
# weak ones can, so C++'s names become these first.  What -flto adds beside the code has the names as they were, and is left out.
set -eu

archive=$1
map=$2
shift 2
[ $# -eq 0 ] || "$@"
if [ -z "$OBJCOPY" ] || [ ! -f "$archive" ]; then
    exit
fi

names=$archive.names
object=${archive%.a}.all.o
library=$(dirname "$archive")/../$(basename "$archive" .a).la
status=1
# After an error, make has to begin again.
trap 'rm -f "$names" "$object"; [ $status -eq 0 ] || rm -f "$archive" "$library"; exit $status' EXIT

sed -n '/global:/,/local:/s/^ *\([A-Za-z_0-9]*\);$/\1/p' "$map" >"$names"
# The tools' variables are words.
# shellcheck disable=SC2086
{
    $LD -r --force-group-allocation -o "$object" --whole-archive "$archive"
    $OBJCOPY -w --weaken-symbol='_Z*' "$object"
    $OBJCOPY --keep-global-symbols="$names" -R '.gnu.lto_*' -R '.gnu.debuglto_*' "$object"
    rm -f "$archive"
    $AR cr "$archive" "$object"
    $RANLIB "$archive"
}
status=0
