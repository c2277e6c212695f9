#!/bin/bash
# run.sh - runs fuzz programs side by side, and prints a table of what they did
#
#   tests/fuzz/run.sh [-j JOBS] [-t SECONDS] [-c CORPUS] [-w WORK] [PROGRAMS [TARGET...]]
#
# PROGRAMS is the directory of the fuzz_TARGET that `make fuzz` has made (default: tests/fuzz). Each
# TARGET (default: all) runs for SECONDS (default 60), and JOBS of them at a time (default: the
# number of cores). A run starts from the archive CORPUS/TARGET.tar.gz (default:
# the folder corpus beside this script) and from the inputs that earlier runs have left in
# WORK/TARGET (default: fuzz.work). An input that makes a program fail comes to WORK/failed.
#
# The table has, for each target, the executions, the seconds, how many inputs failed, the edges of
# the program that the inputs reach, before and after, and the inputs. The status is 1 if an input
# failed.
#
# pack.sh makes an archive by which this runs on another machine.
# shellcheck source=tests/fuzz/common.sh
. "${0%/*}/common.sh"

jobs=$(getconf _NPROCESSORS_ONLN)
seconds=60
while getopts j:t:c:w: option; do
    case $option in
    j) jobs=$OPTARG ;;
    t) seconds=$OPTARG ;;
    c) corpus=$OPTARG ;;
    w) work=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
take_targets "$@"
mkdir -p "$work/failed" || exit 1
# pack.sh puts libraries there.
export LD_LIBRARY_PATH=$programs/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}

# seeds TARGET fills WORK/TARGET with the inputs of the corpus.
seeds() {
    mkdir -p "$work/$1"
    if [ -f "$corpus/$1.tar.gz" ]; then
        tar -xzf "$corpus/$1.tar.gz" -C "$work/$1"
    fi
}

# run TARGET runs the target's program; WORK/TARGET.log has what it prints.
run() {
    seeds "$1"
    "$programs/fuzz_$1" -max_total_time="$seconds" -timeout=25 -rss_limit_mb=4096 -max_len=70000 \
        -print_final_stats=1 -report_slow_units=60 -close_fd_mask=1 \
        -artifact_prefix="$work/failed/$1-" "$work/$1" >"$work/$1.log" 2>&1 </dev/null
}

# row TARGET prints the target's row from its log.
row() {
    awk -v target="$1" -v failed="$(find "$work/failed" -name "$1-*" | wc -l)" \
        -v inputs="$(find "$work/$1" -type f | wc -l)" '
        / cov: / { for (i = 1; i < NF; i++) if ($i == "cov:") { edges = $(i + 1) } }
        /INITED +cov:/ { before = edges }
        /^stat::number_of_executed_units:/ { runs = $2 }
        /^Done [0-9]+ runs in [0-9]+ second/ { runs = $2; time = $5 }
        END { printf "| %s | %d | %d | %d | %d | %d | %d |\n", target, runs, time, failed, before,
              edges, inputs }' "$work/$1.log"
}

for target in "${targets[@]}"; do
    while [ "$(jobs -rp | wc -l)" -ge "$jobs" ]; do
        wait -n
    done
    run "$target" &
done
wait
echo "| target | executions | seconds | failed | edges before | edges after | inputs |"
echo "|---|---|---|---|---|---|---|"
for target in "${targets[@]}"; do
    row "$target"
done
[ -z "$(ls -A "$work/failed")" ]
