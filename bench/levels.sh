#!/bin/bash
# levels.sh - compares size and speed of every level with pigz, gzip and libdeflate-gzip, as
# Markdown
#
#   bench/levels.sh [-p THREADS] [-s] [-r RUNS] [-l "LEVEL..."] [-t "PEER..."] [-C CACHE] [FILE...]
#
# By default, FILEs are those of bench/corpora.sh, LEVELs are all except 0, and PEERs are pigz, gzip
# and libdeflate-gzip. A peer is left out if it is not installed or does not have the level. pigz
# -11 is left out, too: it uses zopfli, and is a hundred times slower. GZLZSS is the command to
# measure, with options if needed (default: ./gzlzss).
#
# The tools take turns, RUNS times (default 3). Each file is read once before the runs, and the
# output goes to a file in memory (/dev/shm). The least time counts. gzip and libdeflate-gzip have
# only one thread; with -s, gzlzss also runs with one thread, to compare with them. Speed is in MB
# of input for each second of wall time. gzip decompresses every output, and the script compares the
# result with FILE. After the tables, the script prints the ratios of gzlzss to its peers, and
# whether the levels meet their requirements.
#
# With -C, the script keeps the peers' numbers in the file CACHE. A later call with the same CACHE
# reads them instead of running the peers.
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"

threads=$cores
single=
runs=3
levels=$(all_levels)
hardest=${levels##* }
peers="pigz gzip libdeflate-gzip"
cache=
while getopts p:sr:l:t:C: option; do
    case $option in
    p) threads=$OPTARG ;;
    s) single=1 ;;
    r) runs=$OPTARG ;;
    l) levels=$OPTARG ;;
    t) peers=$OPTARG ;;
    C) cache=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- "${corpus_files[@]}"

about "levels.sh: best of $runs runs"
tools=("gzlzss -p$threads")
if [ -n "$single" ] && [ "$threads" -gt 1 ]; then
    tools+=("gzlzss -p1")
fi
for peer in $peers; do
    if ! command -v "$peer" >/dev/null; then
        echo "$peer is not installed and was left out."
        continue
    fi
    "$peer" -V 2>&1 | sed -n "1s/^/$peer: /p"
    if [ "$peer" = pigz ]; then
        tools+=("pigz -p$threads")
    else
        tools+=("$peer")
    fi
done

# A result is a line with FILE, BYTES, LEVEL, TOOL, SIZE and MICROSECONDS, separated by tabs. The
# lines of the cache have the same form. The first four fields are the key in the arrays `sizes` and
# `times`.
declare -A sizes times cached
if [ -f "$cache" ]; then
    while IFS=$'\t' read -r name bytes level tool size usec; do
        key=$name$'\t'$bytes$'\t'$level$'\t'$tool
        sizes[$key]=$size
        times[$key]=$usec
        cached[$key]=1
    done < <(grep -v $'\tgzlzss' "$cache")
    echo "Peers' figures that $cache has are of an earlier run: ratios to their speeds are not of one run."
fi

# measure TOOL runs the tool on $file at $level. It does nothing if the tool does not have the
# level, or if the numbers are in the cache.
measure() {
    local command=("$1")
    case $1 in
    gzlzss*) command=("${gzlzss[@]}" -n -p "${1#*-p}") ;;
    pigz*)
        [ "$level" -le 9 ] || return 0
        command=(pigz -n -p "$threads")
        ;;
    gzip) [ "$level" -le 9 ] || return 0 ;;
    esac
    key=$name$'\t'$bytes$'\t'$level$'\t'$1
    [ -z "${cached[$key]-}" ] || return 0
    timed "${command[@]}" "-$level" -c "$file"
    if [ -z "${sizes[$key]-}" ]; then
        verify "$file"
        sizes[$key]=$(stat -c %s "$work/out")
        times[$key]=$usec
    elif [ "$usec" -lt "${times[$key]}" ]; then
        times[$key]=$usec
    fi
}

for file; do
    name=${file##*/}
    bytes=$(stat -Lc %s "$file")
    cat "$file" >/dev/null
    printf '\n%s, %s bytes; size, and MB/s:\n' "$name" "$bytes"
    header level "${tools[@]}"
    for level in $levels; do
        for ((i = 0; i < runs; i++)); do
            for tool in "${tools[@]}"; do
                measure "$tool"
            done
        done
        cells=("$level")
        for tool in "${tools[@]}"; do
            key=$name$'\t'$bytes$'\t'$level$'\t'$tool
            if [ -z "${sizes[$key]-}" ]; then
                cells+=(-)
                continue
            fi
            cells+=("${sizes[$key]}, $(rate "$bytes" "${times[$key]}")")
            printf '%s\t%s\t%s\n' "$key" "${sizes[$key]}" "${times[$key]}" >>"$work/results"
            if [ -n "$cache" ] && [[ $tool != gzlzss* ]] && [ -z "${cached[$key]-}" ]; then
                tail -n 1 "$work/results" >>"$cache"
            fi
        done
        row "${cells[@]}"
    done
done

awk -F '\t' -v ours="${tools[0]}" -v pigz="pigz -p$threads" -v hardest="$hardest" '
function add(file, level, tool, bytes, size, usec) {
    if (!(file in total)) names[++files] = file
    total[file] = bytes
    if (!(tool in tools)) order[++ntools] = tool
    tools[tool]
    if (level > last) last = level
    if (tool == ours) have[level]
    sizes[file, level, tool] += size
    times[file, level, tool] += usec
}
{
    add($1, $3, $4, $2, $5, $6)
}

function known(file, level, tool) {
    return (file, level, tool) in sizes
}

# hold(RULE, VALUE, OK, PLACE) counts whether VALUE meets RULE, as OK says. Returns VALUE in the
# form for the tables: with (!) if it does not meet the rule.
function hold(rule, value, ok, place) {
    value = sprintf("%.4f", value)
    if (!(rule in count)) rules[++nrules] = rule
    count[rule]++
    held[rule] += ok
    if (!ok) broken[rule] = broken[rule] "; " place ": " value
    return ok ? value : value " (!)"
}

function size_ratio(file, level, peer,    x, place, shown) {
    if (!known(file, level, peer)) return "-"
    x = sizes[file, level, ours] / sizes[file, level, peer]
    if (file == "sum") return sprintf("%.4f", x)
    place = file " -" level
    if (level == hardest) {
        shown = hold("size at level " level ", at most 1.005 of " peer, x, x <= 1.005, place)
        hold("goal: size at level " level ", below " peer, x, x < 1, place)
        return shown
    }
    return hold((peer == "gzip" || level > 9 ? "" : "goal: ") "size at levels " \
        (level > 9 ? "10 to " hardest - 1 : "1 to 9") ", at most " peer, x, x <= 1, place)
}

# Returns the speed of the tool, divided by that of the peer, and checks whether this ratio reaches
# the bounds `least` and `goal`. A bound of 0 means that there is no bound.
function speed_ratio(file, level, tool, peer, least, goal,    x, place, shown) {
    if (!known(file, level, tool) || !known(file, level, peer)) return "-"
    x = times[file, level, peer] / times[file, level, tool]
    if (!least) return sprintf("%.2f", x)
    place = file " -" level
    if (!goal) return hold("speed per core at levels 10 to " hardest ", at least " peer, x, x >= least, place)
    shown = hold(sprintf("speed at level %d, at least %.1f of %s", level, least, peer), x, x >= least, place)
    hold(sprintf("goal: speed at level %d, at least %.1f of %s", level, goal, peer), x, x >= goal, place)
    return shown
}

function print_sum(    l, t) {
    printf "\nThe sum of the files, %.0f bytes; size, and seconds:\n\n| level |", bytes
    for (t = 1; t <= ntools; t++) printf " %s |", order[t]
    printf "\n|---|"
    for (t = 1; t <= ntools; t++) printf "---|"
    for (l = 1; l <= last; l++) {
        if (!(l in have)) continue
        printf "\n| %d |", l
        for (t = 1; t <= ntools; t++)
            if (known("sum", l, order[t]))
                printf " %.0f, %.2f |", sizes["sum", l, order[t]], times["sum", l, order[t]] / 1e6
            else
                printf " - |"
    }
    print ""
}

END {
    # least[LEVEL] is the speed that a level must reach, and goal[LEVEL] is the speed that it should
    # reach. Both are multiples of the speed of the peer.
    least[1] = 1.3; goal[1] = 2
    least[6] = 1.6; goal[6] = 2.5
    least[9] = 1.5; goal[9] = 2.9
    for (l = 10; l <= hardest; l++) least[l] = 1
    deflate = "libdeflate-gzip"
    one = ("gzlzss -p1" in tools) ? "gzlzss -p1" : ours ~ /-p1$/ ? ours : ""

    n = files
    all = n > 1 ? "sum" : names[1]
    for (f = 1; f <= n && n > 1; f++) {
        bytes += total[names[f]]
        for (l = 1; l <= last; l++)
            for (t = 1; t <= ntools; t++)
                if (known(names[f], l, order[t]))
                    add("sum", l, order[t], bytes, sizes[names[f], l, order[t]], times[names[f], l, order[t]])
    }

    if (n > 1) print_sum()
    printf "\nRatios of %s to the peers, size below 1 and speed above 1 being better:\n\n", ours
    printf "| file | level | size / gzip | size / libdeflate | speed / pigz | %s speed / libdeflate |\n", \
        one ? one : "(with -s)"
    print "|---|---|---|---|---|---|"
    for (f = 1; f <= files; f++)
        for (l = 1; l <= last; l++) {
            if (!(l in have)) continue
            file = names[f]
            printf "| %s | %d | %s | %s | %s | %s |\n", file, l, size_ratio(file, l, "gzip"), \
                size_ratio(file, l, deflate), \
                speed_ratio(file, l, ours, pigz, l <= 9 ? least[l] : 0, goal[l]), \
                speed_ratio(file, l, one, deflate, l >= 10 ? least[l] : 0, 0)
        }

    print "\nVerdicts:\n"
    for (i = 1; i <= nrules; i++)
        printf "- %s: %d of %d%s\n", rules[i], held[rules[i]], count[rules[i]], broken[rules[i]]
    for (f = 1; f <= files; f++) {
        before = 0
        bad = ""
        for (l = 1; l <= last; l++) {
            if (!(l in have)) continue
            if (before && (d = sizes[names[f], l, ours] - sizes[names[f], before, ours]) > 0)
                bad = bad sprintf("; no: -%d has %.0f more than -%d", l, d, before)
            before = l
        }
        printf "- %s: sizes fall or stay with rising level%s\n", names[f], bad ? bad : ": yes"
    }
    before = 0
    bad = dominated = ""
    for (l = 1; l <= last; l++) {
        if (!(l in have)) continue
        if (before && times[all, l, ours] < times[all, before, ours])
            bad = bad sprintf("; no: -%d is faster than -%d", l, before)
        before = l
        for (m = 1; m <= last; m++)
            if (m in have && times[all, l, ours] > times[all, m, ours] && \
                sizes[all, l, ours] >= sizes[all, m, ours])
                dominated = dominated sprintf("; no: -%d is slower than -%d and not smaller", l, m)
    }
    print "- " all ": speed falls with rising level" (bad ? bad : ": yes")
    print "- " all ": no level is dominated" (dominated ? dominated : ": yes")
}' "$work/results"
