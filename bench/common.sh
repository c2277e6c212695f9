# common.sh - what the measuring scripts share; they source it
# shellcheck shell=bash
# shellcheck disable=SC2034 # The variables are for the scripts.
set -euo pipefail
export LC_ALL=C
unset GZIP GZIP_OPT PIGZ

read -ra gzlzss <<<"${GZLZSS:-./gzlzss}"
# To the command itself it would be options.
export -n GZLZSS
corpora=${GZLZSS_CORPORA:-${XDG_CACHE_HOME:-$HOME/.cache}/gzlzss-corpora}
corpus_files=("$corpora"/{linux200,gcc.tar,cldr.tar,gcide,wordnet.tar,lib.tar})
cores=$(getconf _NPROCESSORS_ONLN)

# Everything a script writes is in memory, and goes when it ends.
work=$(mktemp -d /dev/shm/gzlzss-bench.XXXXXX)
trap 'rm -rf "$work"' EXIT

fail() {
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    exit 1
}

command -v "${gzlzss[0]}" >/dev/null || fail "there is no ${gzlzss[0]}; GZLZSS names the command to measure"

# all_levels prints the command's levels but 0, in a line, as --help knows them.
all_levels() {
    seq -s ' ' "$("${gzlzss[@]}" --help | sed -n 's/.* level 1 .* to \([0-9]*\) .*/\1/p')"
}

# usage shows the comment that the script begins with.
usage() {
    sed '1d; /^[^#]/,$d; s/^# \{0,1\}//' "$0" >&2
    exit 1
}

# about WORD... begins the output: what ran, where.
about() {
    local model
    model=$(sed -n 's/^model name.*: //p' /proc/cpuinfo | sed -n 1p)
    printf '%s; %s, %s cores; %s\n' "$*" "${model:-unknown CPU}" "$cores" \
        "$("${gzlzss[@]}" --version | sed -n 1p)"
}

# header CELL... and row CELL... print a line of a Markdown table.
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

# timed COMMAND... leaves the command's output in $work/out and its wall time in $usec, and ends as
# the command does.
timed() {
    local start=${EPOCHREALTIME/[.,]/} status=0
    "$@" >"$work/out" || status=$?
    usec=$((${EPOCHREALTIME/[.,]/} - start))
    return "$status"
}

# verify FILE: that gzip makes FILE of the last output.
verify() {
    gzip -dc <"$work/out" | cmp - "$1"
}

# decimal TENTHS
decimal() {
    printf '%d.%d' $(($1 / 10)) $(($1 % 10))
}

# rate BYTES MICROSECONDS is in MB/s.
rate() {
    decimal $(($1 * 10 / $2))
}

# "${peak[@]}" COMMAND... leaves the command's peak resident memory, in KiB, in $work/peak.
peak=(/usr/bin/time -f %M -o "$work/peak")
need_peak() {
    [ -x "${peak[0]}" ] || fail "needs GNU time (apt-get install time)"
}
