#!/bin/sh
# archive.sh - makes all names in an archive local, except those that a version script lists
#
#   archive.sh ARCHIVE MAP [COMMAND...]
#
# The library's files call each other, so their functions are global names in the archive, like the
# functions of the library's interface.  A program that has a function with such a name could not be
# linked with the archive.  This script links the archive's objects into one object, and makes all
# names local that MAP does not list.  LD, OBJCOPY, AR and RANLIB, from the environment, are the
# host's tools, with any options.
#
# COMMAND is libtool's command, which runs first and makes .libs/NAME.a and NAME.la.  With
# --disable-static there is no archive, and the script does nothing.  An empty OBJCOPY leaves the
# archive as it is.
#
# On some processors, compilers put small functions into section groups.  If several groups have the
# same name, a linker keeps only the first group, and the local names of the other groups would be
# missing.  So --force-group-allocation turns the groups into ordinary sections.  objcopy also
# removes the sections of -flto, which still contain the global names.
#
# All objects are C.  C++ would need more: objcopy cannot make its unique symbols local before they
# are weak.
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
# After an error, removes the archive and the .la file, so that the next make builds both again.
clean_up() {
    rm -f "$names" "$object"
    [ $status -eq 0 ] || rm -f "$archive" "$library"
    exit $status
}
trap clean_up EXIT

sed -n '/global:/,/local:/s/^ *\([A-Za-z_0-9]*\);$/\1/p' "$map" >"$names"
# The shell has to split the tools' variables into words.
# shellcheck disable=SC2086
{
    $LD -r --force-group-allocation -o "$object" --whole-archive "$archive"
    $OBJCOPY --keep-global-symbols="$names" -R '.gnu.lto_*' -R '.gnu.debuglto_*' "$object"
    rm -f "$archive"
    $AR cr "$archive" "$object"
    $RANLIB "$archive"
}
status=0
