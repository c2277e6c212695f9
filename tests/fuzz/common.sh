# common.sh - what the scripts that run fuzz programs share; they source this file
# shellcheck shell=bash
# shellcheck disable=SC2034 # The variables are for the scripts.
set -u -o pipefail
here=$(cd "${0%/*}" && pwd)

# Where inputs are: those that runs have found, and the archives.
work=fuzz.work
corpus=$here/corpus

# usage prints how the script is called, which its fourth line says, and ends the script.
usage() {
    sed -n '4s/^# *//p' "$0" >&2
    exit 2
}

# take_targets [PROGRAMS [TARGET...]] sets `programs` to the directory of the programs (default:
# tests/fuzz), and `targets` to the targets (default: all that have a program there).
take_targets() {
    local program
    programs=${1-tests/fuzz}
    targets=("${@:2}")
    if [ ${#targets[@]} -eq 0 ]; then
        for program in "$programs"/fuzz_*; do
            [ -x "$program" ] && [ -f "$program" ] && targets+=("${program##*/fuzz_}")
        done
    fi
}
