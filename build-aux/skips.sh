#!/bin/bash
# skips.sh - fails if a test was skipped for a reason that tests/skips does not list
#
#   skips.sh STEP DIR      reads the logs of all tests that ran in the build directory DIR
#   skips.sh STEP FILE     reads a log of Python's unittest -v
#   skips.sh --list DIR    prints how many tests were skipped for each reason
#
# STEP is a step of .ci/run: a reason may be good in some steps only.
set -u -o pipefail

# Prints "FILE : REASON" for each skipped test of the build directory $1.
skips_of_build() {
    find "$1/tests" -name '*.log' -exec awk '
        FNR == 1 { file = FILENAME; sub(/.*\/tests\//, "", file); sub(/\.log$/, "", file) }
        /^(ok|not ok|1\.\.0)/ && match($0, /# ([Ss]kip|SKIP) */) {
            print file " : " substr($0, RSTART + RLENGTH)
        }' {} +
}

# The same for a log of Python's unittest.
skips_of_unittest() {
    sed -nE "s/^.*\((.*)\).* \.\.\. skipped '(.*)'$/python : \2/p" "$1"
}

skips_of() {
    if [ -d "$1" ]; then
        skips_of_build "$1"
    else
        skips_of_unittest "$1"
    fi
}

if [ "${1-}" = --list ]; then
    skips_of "$2" | sed 's/^[^:]* : //' | sort | uniq -c | sort -rn
    exit
fi

# is_listed FILE REASON: whether a line of tests/skips has patterns for both, and for this step.
is_listed() {
    local k
    for ((k = 0; k < ${#steps[@]}; k++)); do
        # shellcheck disable=SC2053 # These are patterns.
        if [[ $step == ${steps[k]} && $1 == ${files[k]} && $2 == ${reasons[k]} ]]; then
            return 0
        fi
    done
    return 1
}

step=$1
steps=() files=() reasons=()
while IFS='|' read -r a b c; do
    steps+=("$(xargs <<<"$a")")
    files+=("$(xargs <<<"$b")")
    reasons+=("${c# }")
done < <(grep -vE '^(#|$)' "$(dirname "$0")/../tests/skips")

bad=0
while IFS= read -r line; do
    is_listed "${line%% : *}" "${line#* : }" && continue
    echo "skipped, and not listed in tests/skips for the step $step: $line"
    bad=$((bad + 1))
done < <(skips_of "$2" | sort -u)
[ "$bad" -eq 0 ]
