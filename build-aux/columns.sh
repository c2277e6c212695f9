#!/bin/sh
# columns.sh - checks that no line of code or comment has more than 100 columns
#
#   build-aux/columns.sh [DIR]    checks tracked files in DIR, by default this script's tree
#
# Prints file, number and width of each longer line, and fails if there is such a line.  A tab goes
# to the next multiple of eight columns; a character of UTF-8 is one column.  Lines that cannot be
# broken may be longer:
#
# - all lines of tests/data, which are recorded;
# - in Bats files, in tests/compare.bash and in bench/*.sh, code with a quotation mark: such strings
#   are commands and messages;
# - a line whose last word starts within the first 21 columns and goes past column 100, as a long
#   address may.
set -u

cd "${1-$(dirname "$0")/..}" || exit 2

# safe.directory: Git must accept the tree even if another user owns it.
# shellcheck disable=SC2016 # the program is awk's
git -c safe.directory="$PWD" ls-files -- '*.c' '*.h' '*.cu' '*.cuh' '*.sh' '*.bash' '*.bats' \
    Makefile.am configure.ac bootstrap quickstart '.ci/*' ':!tests/data' ':!.ci/whole' |
    LC_ALL=C xargs awk '
BEGIN { quotation = "[\"\047]" }

{
    line = $0
    gsub(/[\200-\277]/, "", line)
    while ((at = index(line, "\t")) > 0)
        line = substr(line, 1, at - 1) sprintf("%" 8 - (at - 1) % 8 "s", "") substr(line, at + 1)
    if (length(line) <= 100)
        next
    if (FILENAME ~ /\.bats$|^tests\/compare\.bash$|^bench\/.*\.sh$/ &&
        line !~ /^ *#/ && line ~ quotation)
        next
    # Find the space before the last word that begins within the first 100 columns.
    for (begin = 100; begin > 0 && substr(line, begin, 1) != " "; begin--)
        ;
    if (begin > 20 || substr(line, 101) ~ / /) {
        printf "%s:%d: %d columns\n", FILENAME, FNR, length(line)
        bad = 1
    }
}
END { exit bad }'
