#!/bin/bash
# front.sh - compares each level with all levels of the peers on one core, and shows which are
# dominated
#
#   bench/front.sh [-r RUNS] [-l "LEVEL..."] [FILE...]
#
# By default, FILEs are those of bench/corpora.sh, and LEVELs are all of gzlzss's except 0. The
# peers are gzip, pigz -p1, igzip, libdeflate-gzip and minigzip (of zlib or zlib-ng), if they are
# installed, at all of their levels except pigz -11. GZLZSS is the command to measure (default:
# ./gzlzss); it runs with -p1 --backend=cpu. All tools take turns, RUNS times (default 1), and write
# to a file in memory. The time of a run is its user time plus its system time; the least time of a
# tool counts. gzip decompresses every output of gzlzss, and the script compares the result with
# FILE.
#
# Prints a Markdown table with MB of input for each second of CPU time, and the compression ratio,
# for each file and for all files together. Then lists the dominated levels of gzlzss. A level is
# dominated if a peer has a level that is at least as fast on all files together, and whose output
# is not larger.
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"

runs=1
levels=$(all_levels)
while getopts r:l: option; do
    case $option in
    r) runs=$OPTARG ;;
    l) levels=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- "${corpus_files[@]}"

about "front.sh: least CPU time of $runs runs"
tools=()
for level in $levels; do
    tools+=("gzlzss -$level")
done
# peer COMMAND LEVEL... adds a peer, if it is installed.
peer() {
    local name=$1 level
    shift
    command -v "${name%% *}" >/dev/null || {
        echo "${name%% *} is not installed and was left out."
        return
    }
    for level; do
        tools+=("$name -$level")
    done
}
peer gzip 1 2 3 4 5 6 7 8 9
peer "pigz -p1" 1 2 3 4 5 6 7 8 9
peer igzip 0 1 2 3
peer libdeflate-gzip 1 2 3 4 5 6 7 8 9 10 11 12
peer minigzip 1 2 3 4 5 6 7 8 9

# measure TOOL FILE adds a line with TOOL, FILE, BYTES, SIZE and CPU seconds to $work/figures.
measure() {
    local words
    read -ra words <<<"$1"
    if [ "${words[0]}" = gzlzss ]; then
        words=("${gzlzss[@]}" -n -p1 --backend=cpu "${words[@]:1}")
    fi
    timed "${words[@]}" -c <"$2" 2>/dev/null || fail "$1 failed on $2"
    if [ "${1%% *}" = gzlzss ]; then
        verify "$2" || fail "$1 made something else of $2"
    fi
    printf '%s\t%s\t%s\t%s\t%d.%03d\n' "$1" "${2##*/}" "$(stat -Lc %s "$2")" \
        "$(stat -c %s "$work/out")" $((cpu_ms / 1000)) $((cpu_ms % 1000)) >>"$work/figures"
}

for ((run = 0; run < runs; run++)); do
    for file; do
        cat "$file" >/dev/null
        for tool in "${tools[@]}"; do
            measure "$tool" "$file"
        done
    done
done

awk -F'\t' '
{
    if (!($1 in is_tool)) { is_tool[$1] = 1; tool[++tools] = $1 }
    if (!($2 in bytes)) file[++files] = $2
    bytes[$2] = $3
    size[$1, $2] = $4
    if (!(($1, $2) in least) || $5 < least[$1, $2]) least[$1, $2] = $5
}
END {
    printf "\n|"
    for (f = 1; f <= files; f++) printf " | %s", file[f]
    printf " | sum |\n|---|"
    for (f = 0; f <= files; f++) printf "---|"
    print ""
    for (t = 1; t <= tools; t++) {
        in_all = out_all = seconds = 0
        printf "| %s |", tool[t]
        for (f = 1; f <= files; f++) {
            b = bytes[file[f]]; z = size[tool[t], file[f]]; s = least[tool[t], file[f]]
            printf " %.1f, %.3f |", b / s / 1e6, b / z
            in_all += b; out_all += z; seconds += s
        }
        speed[t] = in_all / seconds / 1e6; out[t] = out_all
        printf " %.1f, %.4f |\n", speed[t], in_all / out_all
    }
    print ""
    for (t = 1; t <= tools; t++) {
        if (tool[t] !~ /^gzlzss/) continue
        for (p = 1; p <= tools; p++)
            if (tool[p] !~ /^gzlzss/ && speed[p] >= speed[t] && out[p] <= out[t]) {
                printf "- %s is dominated by %s\n", tool[t], tool[p]; dominated++
            }
    }
    if (!dominated) print "No level of gzlzss is dominated."
}' "$work/figures"
