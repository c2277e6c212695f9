#!/bin/sh
# layers.sh - checks that each folder of the sources uses only the folders that it may use
#
#   build-aux/layers.sh [DIR]     checks the sources in DIR, by default this script's tree
#   build-aux/layers.sh --list    prints a line for each folder: its name, and what it may use
#
# Fails, and prints file and line, if
#
# - a file includes a header of a folder that its own folder may not use;
# - files of a folder include each other in a circle; foo.c, foo.h and foo.cu count as one file;
# - a file accesses a field of a member of struct pipeline or struct expansion that another file
#   owns;
# - a file outside src/ and mpi/ prints, reads or changes the environment, sets signals, or ends the
#   process: only commands may do this.
#
# Tests and benchmarks may use everything, so the script leaves them out.
set -u

# docs/architecture.md has the same list (tests/layers.bats compares them).
layers='base
lzss base
huffman base lzss
inflate base
compat base inflate
access base inflate compat
gpu base lzss
gpu/cuda base lzss gpu gpu/cuda/huffman
gpu/cuda/match base lzss gpu gpu/cuda
gpu/cuda/huffman base lzss huffman gpu gpu/cuda gpu/cuda/inflate
gpu/cuda/inflate base gpu gpu/cuda
papers base lzss gpu gpu/cuda gpu/cuda/match
module base lzss gpu papers
pipeline/crew base lzss huffman inflate gpu
pipeline/compress base lzss huffman inflate compat gpu pipeline/crew
pipeline/expand base inflate compat gpu pipeline/crew
pipeline base lzss huffman inflate compat gpu pipeline/crew pipeline/compress pipeline/expand
include
lib include base lzss huffman inflate compat access gpu papers pipeline
src base lzss huffman inflate compat access gpu papers pipeline
mpi include base inflate compat gpu pipeline src'

# The members of struct pipeline and struct expansion whose fields only one file may access.  Each
# line has a member, and the file that owns it.  Variables with these structs are called p, pipeline
# or e.  The members that are not in the list need no check, since they are pointers to structs that
# only one file defines.
owners='measures pipeline/crew/measures
slots pipeline/crew/slots
crew pipeline/crew/workers
jobs pipeline/crew/jobs
regions pipeline/expand/regions
in_order pipeline/expand/in_order
pushing pipeline/expand/pushing
share pipeline/expand/share
direct pipeline/expand/direct'

# Functions that only the commands (src/ and mpi/) may call.  Only commands may use stdout and
# stderr, too.
commands_own='getenv secure_getenv setenv unsetenv putenv exit _exit _Exit quick_exit atexit abort
    perror printf vprintf puts putchar signal sigaction raise kill stdout stderr'

if [ "${1-}" = --list ]; then
    echo "$layers"
    exit
fi
cd "${1-$(dirname "$0")/..}" || exit 2

# The folders from the list that exist.
folders=
for folder in $(echo "$layers" | cut -d ' ' -f 1 | grep -v /); do
    [ ! -d "$folder" ] || folders="$folders $folder"
done
if [ -z "$folders" ]; then
    echo "layers.sh: there are no sources in $PWD" >&2
    exit 2
fi

# Put each list on one line, for awk's -v.
list=$(echo "$layers" | tr '\n' ';')
own=$(echo "$commands_own" | tr '\n' ' ')
owner_list=$(echo "$owners" | tr '\n' ';')

# shellcheck disable=SC2016,SC2086 # the program is awk's; the shell splits the folders into words
find $folders -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' | LC_ALL=C sort |
    xargs awk -v layers="$list" -v own="$own" -v owners="$owner_list" '
# Returns the folder of a path: the innermost one that is in the list, otherwise the outermost one.
function folder_of(path,    folder)
{
    folder = path
    while (sub(/\/[^\/]*$/, "", folder) > 0)
        if (folder in is_folder)
            return folder
    sub(/\/.*/, "", path)
    return path
}

# Returns a path without its suffix.
function module_of(path)
{
    sub(/\.[a-z]*$/, "", path)
    return path
}

function complain(where, what)
{
    print where ": " what
    bad = 1
}

BEGIN {
    n = split(layers, lines, ";")
    for (i = 1; i <= n; i++) {
        count = split(lines[i], words, " ")
        is_folder[words[1]] = 1
        for (k = 1; k <= count; k++)
            may_use[words[1], words[k]] = 1
    }
    n = split(owners, lines, ";")
    for (i = 1; i <= n; i++) {
        split(lines[i], words, " ")
        owner[words[1]] = words[2]
    }
    n = split(own, words, " ")
    for (i = 1; i <= n; i++)
        is_own[words[i]] = 1
}

FNR == 1 {
    folder = folder_of(FILENAME)
    in_comment = 0
}

/^[ \t]*#[ \t]*include[ \t]*"/ {
    included = $0
    sub(/^[^"]*"/, "", included)
    sub(/".*/, "", included)
    if (included == "config.h")
        next
    user = module_of(FILENAME)
    used = module_of(included)
    if (included !~ /\// || included ~ /^\.\.?\//)
        complain(FILENAME ":" FNR, "\"" included "\" is not a path from the top")
    else if (!((folder, folder_of(included)) in may_use))
        complain(FILENAME ":" FNR, folder "/ may not use " folder_of(included) "/ (" included ")")
    else if (folder == folder_of(included) && user != used && !((user, used) in place)) {
        place[user, used] = FILENAME ":" FNR
        uses[user] = uses[user] " " used
        if (!(user in is_known)) {
            is_known[user] = 1
            modules[++module_count] = user
        }
    }
    next
}

{
    # `code` becomes the line without comments and strings.
    code = ""
    rest = $0
    while (rest != "") {
        if (in_comment) {
            at = index(rest, "*/")
            if (at == 0)
                break
            rest = substr(rest, at + 2)
            in_comment = 0
        } else if (match(rest, /\/\*|\/\/|"([^"\\]|\\.)*"/) == 0) {
            code = code rest
            break
        } else {
            code = code substr(rest, 1, RSTART - 1) " "
            found = substr(rest, RSTART, RLENGTH)
            rest = substr(rest, RSTART + RLENGTH)
            if (found == "//")
                break
            in_comment = found == "/*"
        }
    }
}

folder ~ /^pipeline/ {
    rest = code
    while (match(rest, /(^|[^A-Za-z_0-9])(p|pipeline|e)->[a-z_]+[.;,)]/) > 0) {
        whole = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        sub(/^[^a-z]/, "", whole)
        sub(/.$/, "", whole)
        member = whole
        sub(/^.*->/, "", member)
        if ((member in owner) && owner[member] != module_of(FILENAME))
            complain(FILENAME ":" FNR, "only " owner[member] ".c may look into " whole)
    }
}

folder != "src" && folder != "mpi" {
    # Look at words that are not names of members.  A word before a parenthesis is a call.
    before = ""
    while (match(code, /[A-Za-z_][A-Za-z_0-9]*/) > 0) {
        word = substr(code, RSTART, RLENGTH)
        if (RSTART > 1)
            before = substr(code, RSTART - 1, 1)
        code = substr(code, RSTART + RLENGTH)
        is_call = code ~ /^[ \t]*\(/ || word == "stdout" || word == "stderr"
        if ((word in is_own) && is_call && before !~ /[.>]/)
            complain(FILENAME ":" FNR, word " is for src/ alone")
        before = ""
    }
}

# Visits all modules that the module uses, to find circles.  `path` lists the modules that led to
# this module, from the first module on.
function visit(module, path,    next_ones, n, i, at, circle)
{
    state[module] = "open"
    n = split(uses[module], next_ones, " ")
    for (i = 1; i <= n; i++) {
        if (state[next_ones[i]] == "open") {
            circle = path " " module " " next_ones[i]
            at = index(circle, " " next_ones[i] " ")
            circle = substr(circle, at + 1)
            gsub(/ /, " -> ", circle)
            complain(place[module, next_ones[i]], "a circle: " circle)
        } else if (state[next_ones[i]] == "") {
            visit(next_ones[i], path " " module)
        }
    }
    state[module] = "done"
}

END {
    for (i = 1; i <= module_count; i++)
        if (state[modules[i]] == "")
            visit(modules[i], "")
    exit bad
}' || exit 1
