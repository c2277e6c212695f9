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
folders="base lzss huffman inflate compat access gpu papers module pipeline lib src"
# mpi/ includes the header of an MPI: the build's, or else the one that mpicc knows.  As a system
# header, it is not itself checked.
mpi=$(sed -n 's/^MPI_CPPFLAGS = *//p' "$build/Makefile")
[ -n "$mpi" ] || mpi=$(mpicc -show 2>/dev/null | tr ' ' '\n' | grep '^-I' | tr '\n' ' ') || true
mpi=$(echo "$mpi" | sed 's/-I */-isystem /g')
[ -z "$mpi" ] || folders="$folders mpi"
# shellcheck disable=SC2086 # The folders have no blanks.
files=${LINT_FILES-$(find $folders -name '*.c' | sort)}
flags="-std=gnu17 -pthread -DHAVE_CONFIG_H -DMODULE_DIR=__FILE__ -I$build -I. -Iinclude $mpi"
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

# False alarms of gcc 12's analyzer, as FILE FUNCTION FLAG.  It loses memory that it saw go into a
# list or an array, and does not know what other files and callers promise.
analyzer_known() {
    cat <<END
access/trail.c access_trail_leave malloc-leak: the other points stay in the list
./huffman/make_lengths.h make_codes use-of-uninitialized-value: used[0..used_count) has been written
lib/stream.c put_parts malloc-leak: the stream's list has the parts, and others free them
mpi/expand.c make_lanes malloc-leak: free_lanes frees what the lanes have
mpi/operands.c look_at_sizes null-dereference: ranks_agree is true only if this rank has memory
pipeline/compress/read_back.c take null-dereference: the caller knows that there is a segment
pipeline/compress/read_back.c verify_slot null-dereference: as above
pipeline/crew/workers.c get_memory malloc-leak: the worker has the tools, and crew_leave frees them
pipeline/expand/input.c last_block malloc-leak: the block is in in->blocks
pipeline/expand/regions.c region_find_start malloc-leak: cut_off puts the rest into the list
pipeline/expand/tools.c expand_free_tools malloc-leak: view.in is INF_BACK behind the memory's start
END
}

# Prints the analyzer's warnings without the false alarms.  gcc names the function in a line of its
# own, before the first of its warnings.
run_analyzer() {
    # shellcheck disable=SC2016
    FLAGS=$flags LC_ALL=C \
        each sh -c 'gcc $FLAGS -O2 -fanalyzer -S -o /dev/null "$1" 2>&1' sh >"$found"
    analyzer_known | awk '
        FILENAME == "-" { sub(":", "", $3); known[$1, $2, "[-Wanalyzer-" $3 "]"]; next }
        { split($0, place, ":") }
        / In function / { split($0, quoted, "\047"); sub(/\..*/, "", quoted[2])
                          within[place[1]] = quoted[2] }
        / warning: / && !((place[1], within[place[1]], $NF) in known) { print; status = 1 }
        END { exit status }' - "$found"
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
