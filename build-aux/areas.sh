#!/bin/sh
# areas.sh - which tests and steps of .ci/run belong to which files (tests/areas)
#
#   areas.sh --table       prints docs/testing.md's table of what to run first
#   areas.sh --for         reads names of changed files, a line each; prints "test NAME" for each
#                          test file and "step NAME" for each step that belongs to them
#   areas.sh --unknown     reads names of files; prints those that belong to no line
set -eu

areas=$(dirname "$0")/../tests/areas

# Reads tests/areas, then standard input if the mode needs it.
run_awk() {
    awk -F ' : ' -v mode="$1" '
    FILENAME != "-" && /^(#|$)/ { next }
    FILENAME != "-" {
        n++
        paths[n] = $1
        tests[n] = $2
        steps[n] = $3
        if ($2 == "-")
            tests[n] = ""
        next
    }
    # A test that has changed belongs to itself.
    mode == "for" && /^tests\/unit\/test_[a-z0-9_]*\.c$/ { print "test " substr($0, 1, length - 2) }
    mode == "for" && /^tests\/[a-z_]*\.bats$/ { print "test " $0 }
    {
        found = 0
        for (i = 1; i <= n; i++)
            if (belongs($0, paths[i])) {
                found = 1
                if (mode == "for")
                    show(tests[i], steps[i])
            }
        if (mode == "unknown" && !found)
            print
    }
    function belongs(file, list,    words, k, j) {
        k = split(list, words, " ")
        for (j = 1; j <= k; j++)
            if (words[j] ~ /\/$/ ? index(file, words[j]) == 1 : file == words[j])
                return 1
        return 0
    }
    function show(test_list, step_list,    words, k, j) {
        k = split(test_list, words, " ")
        for (j = 1; j <= k; j++)
            print "test tests/" (words[j] ~ /\.bats$/ ? "" : "unit/") words[j]
        k = split(step_list, words, " ")
        for (j = 1; j <= k; j++)
            print "step " words[j]
    }
    function code(list,    words, k, j, text) {
        k = split(list, words, " ")
        text = ""
        for (j = 1; j <= k; j++)
            text = text (j > 1 ? ", " : "") "`" words[j] "`"
        return text
    }
    END {
        if (mode != "table")
            exit
        print "| changed | run first | steps of `.ci/run` |"
        print "|---|---|---|"
        for (i = 1; i <= n; i++)
            print "| " code(paths[i]) " | " code(tests[i]) " | " code(steps[i]) " |"
    }' "$areas" "$2"
}

case ${1-} in
--table) run_awk table /dev/null ;;
--for) run_awk for - | sort -u ;;
--unknown) run_awk unknown - ;;
*)
    sed -n '2,/^set -eu/s/^# \{0,1\}//p' "$0" >&2
    exit 2
    ;;
esac
