#!/bin/sh
# lint.sh - looks for defects in all C files with tools that read code without running it
#
#   lint.sh BUILD [TOOL...]    TOOL: cppcheck, clang-tidy, analyzer (gcc -fanalyzer); default: all
#
# BUILD is a directory in which configure ran: its config.h and CFLAGS say how to read the code.
# Fails if a tool finds something that is not a known false alarm.  False alarms are listed here, or
# stand in the code with NOLINT for clang-tidy; each with its reason.  LINT_FILES, in the
# environment, lists the files to check instead of all.
#
# If a tool is not installed, says so and goes on, unless TOOL names it.
set -eu

build=$(cd "$1" && pwd)
shift
wanted=$*
cd "$(dirname "$0")/.."
folders="base lzss huffman inflate compat access gpu papers pipeline lib src"
# gzlzss-mpi needs the header of an MPI, of which the tools need to know the place.
mpi=$(sed -n 's/^MPI_CPPFLAGS = *//p' "$build/Makefile")
[ -z "$mpi" ] || folders="$folders mpi"
# shellcheck disable=SC2086 # The folders have no blanks.
files=${LINT_FILES-$(find $folders -name '*.c' | sort)}
flags="-std=gnu17 -pthread -DHAVE_CONFIG_H -I$build -I. -Iinclude $mpi"
cores=$(getconf _NPROCESSORS_ONLN)
found=$(mktemp)
trap 'rm -f "$found"' EXIT
status=0

# each COMMAND... runs the command once for each file, on all cores.
each() {
    # shellcheck disable=SC2086
    printf '%s\n' $files | xargs -P "$cores" -n 1 "$@"
}

# Cppcheck's false alarms:
# readdirCalled, strtokCalled   only one thread has the directory, or reads the environment
# leakReturnValNotUsed          take_standard_descriptors opens descriptors 0 to 2 for good
# uninitvar, ctuuninitvar       make_steps writes sorted[0..n): n counts the lengths other than 0;
#                               check_dynamic gets the lengths to fill in
run_cppcheck() {
    # shellcheck disable=SC2086
    cppcheck -q -j "$cores" --error-exitcode=1 --std=c11 --enable=warning,performance,portability \
        --library=posix,gnu --inline-suppr --suppress=missingIncludeSystem \
        --suppress=readdirCalled --suppress=strtokCalled \
        --suppress=leakReturnValNotUsed:src/main.c \
        --suppress=uninitvar:inflate/blockheader.c \
        --suppress=ctuuninitvar:inflate/blockheader.c \
        --suppress=preprocessorErrorDirective \
        -DHAVE_CONFIG_H -D__linux__ -D__x86_64__ -D__GNUC__=12 -I"$build" -I. -Iinclude $files
}

run_tidy() {
    # shellcheck disable=SC2016 # The inner shell expands them.
    FLAGS=$flags each sh -c '"$0" --quiet "$1" -- $FLAGS 2>/dev/null' "$tidy"
}

# False alarms of gcc 12's analyzer, as FILE FLAG:
# lib/stream.c    put_parts puts the memory into the stream's list, which others free
run_analyzer() {
    # shellcheck disable=SC2016
    FLAGS=$flags each sh -c 'gcc $FLAGS -O2 -fanalyzer -S -o /dev/null "$1" 2>&1' sh >"$found"
    ! grep -a 'warning:' "$found" |
        grep -v '^lib/stream\.c:.*\[-Wanalyzer-malloc-leak\]$'
}

# may_run TOOL COMMAND: whether TOOL is wanted and COMMAND, which it needs, is installed.
may_run() {
    case " $wanted " in
    "  " | *" $1 "*) ;;
    *) return 1 ;;
    esac
    if ! command -v "$2" >/dev/null; then
        echo "lint.sh: $1 was left out: $2 is not installed" >&2
        [ -z "$wanted" ] || status=1
        return 1
    fi
    echo "lint.sh: $1"
}

# The checks of .clang-tidy are those of version 14; later versions have more.
tidy=$(command -v clang-tidy-14 || echo clang-tidy)
if may_run cppcheck cppcheck; then run_cppcheck || status=1; fi
if may_run clang-tidy "$tidy"; then run_tidy || status=1; fi
if may_run analyzer gcc; then run_analyzer || status=1; fi
exit $status
