# common.sh - functions for the measuring scripts, which source this file
# shellcheck shell=bash
# shellcheck disable=SC2034 # The variables are for the scripts.
set -euo pipefail
export LC_ALL=C
unset GZIP GZIP_OPT PIGZ

read -ra gzlzss <<<"${GZLZSS:-./gzlzss}"
# GZLZSS must not be exported: gzlzss would read options from this variable.
export -n GZLZSS
corpora=${GZLZSS_CORPORA:-${XDG_CACHE_HOME:-$HOME/.cache}/gzlzss-corpora}
corpus_files=("$corpora"/{linux200,gcc.tar,cldr.tar,gcide,wordnet.tar,lib.tar})
cores=$(getconf _NPROCESSORS_ONLN)

# A script's temporary files are in memory, and are removed when it ends.
work=$(mktemp -d /dev/shm/gzlzss-bench.XXXXXX)
trap 'rm -rf "$work"' EXIT

fail() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 1
}

command -v "${gzlzss[0]}" >/dev/null || fail "there is no ${gzlzss[0]}; GZLZSS names the command to measure"

# all_levels prints the command's levels except 0, from --help, in one line.
all_levels() {
    seq -s ' ' "$("${gzlzss[@]}" --help | sed -n 's/.* level 1 .* to \([0-9]*\) .*/\1/p')"
}

# usage prints the comment at the start of the script, and ends the script.
usage() {
    sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "$0" >&2
    exit 1
}

# about WORD... prints the first lines of a script's output: the words, the processor, and the
# version of gzlzss.
about() {
    local model
    model=$(sed -n 's/^model name.*: //p' /proc/cpuinfo | sed -n 1p)
    printf '%s; %s, %s cores; %s\n' "$*" "${model:-unknown CPU}" "$cores" \
        "$("${gzlzss[@]}" --version | sed -n 1p)"
}

# row CELL... prints a line of a Markdown table; header CELL... prints the table's first lines.
row() {
    printf '|'
    printf ' %s |' "$@"
    echo
}

header() {
    echo
    row "$@"
    printf '|'
    printf -- '---|%.0s' "$@"
    echo
}

# spent sets cpu_ms to the processor time of all commands so far, user and system, in ms.
spent() {
    local user system
    times >"$work/times"
    # The second line is that of the commands: 1m2.345s 0m0.678s
    { read -r _ && read -r user system; } <"$work/times"
    user=${user//[.s]/} system=${system//[.s]/}
    cpu_ms=$(((${user%m*} + ${system%m*}) * 60000 + 10#${user#*m} + 10#${system#*m}))
}

# timed COMMAND... runs the command. Its output is then in $work/out, its wall time in $usec, and
# its processor time in $cpu_ms. Returns the command's status.
timed() {
    local start status=0 before
    spent
    before=$cpu_ms
    start=${EPOCHREALTIME/[.,]/}
    "$@" >"$work/out" || status=$?
    usec=$((${EPOCHREALTIME/[.,]/} - start))
    spent
    cpu_ms=$((cpu_ms - before))
    return "$status"
}

# verify FILE succeeds if gzip decompresses the last output to the contents of FILE.
verify() {
    gzip -dc <"$work/out" | cmp - "$1"
}

# decimal TENTHS prints a number of tenths with one decimal.
decimal() {
    printf '%d.%d' $(($1 / 10)) $(($1 % 10))
}

# rate BYTES MICROSECONDS prints MB/s.
rate() {
    decimal $(($1 * 10 / $2))
}

# gigabytes BYTES MICROSECONDS prints GB/s.
gigabytes() {
    awk -v b="$1" -v t="$2" 'BEGIN { printf "%.2f", b / t / 1000 }'
}

# "${peak[@]}" COMMAND... writes the command's peak resident memory, in KiB, to $work/peak.
peak=(/usr/bin/time -f %M -o "$work/peak")
need_peak() {
    [ -x "${peak[0]}" ] || fail "needs GNU time (apt-get install time)"
}
