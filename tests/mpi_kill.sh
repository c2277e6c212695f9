#!/bin/bash
# mpi_kill.sh - kills ranks of gzlzss-mpi at random moments, and checks that no data is lost
#
#   GZLZSS_COMMAND=/path/to/gzlzss GEN=/path/to/tests/gen tests/mpi_kill.sh [TIMES]
#
# The script runs gzlzss-mpi with three ranks, TIMES times (default 50), for compression and
# decompression in turn.  In each run, it sends SIGKILL to one rank after a random time.
# Afterwards, the unchanged input or the whole output must exist, or both.  Except for these, only
# temporary files may exist.  In half of the runs, an old file has the output's name, and -f is
# given.  In these runs, the old file must be unchanged, or the complete new output must have
# replaced it.  MPIRUN is the program that starts the ranks.
set -u

times=${1-50}
gzlzss=${GZLZSS_COMMAND:?must be the path of gzlzss}
mpi=$(dirname "$gzlzss")/gzlzss-mpi
mpirun=${MPIRUN:-mpirun}
gen=${GEN:?must be the path of tests/gen}
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export GZLZSS_TEST_MPI_WAVE=262144 GZLZSS_TEST_REGION=262144
unset GZLZSS GZIP

work=$(mktemp -d) && cd "$work" || exit 1
trap 'rm -rf "$work"' EXIT

"$gen" source 20000000 >plain
"$gzlzss" -6 -n -b 128 -c plain >packed
echo old >old
plain=$(sha256sum <plain) packed=$(sha256sum <packed) old=$(sha256sum <old)

# digest FILE: prints the file's digest, or nothing if the file does not exist.
digest() {
    if [ -f "$1" ]; then
        sha256sum <"$1"
    fi
}

# ranks PID: prints the ids of all ranks among the descendants of process PID.
ranks() {
    local child
    cat /proc/"$1"/task/*/children 2>/dev/null | tr ' ' '\n' | while read -r child; do
        if [ "$(readlink "/proc/$child/exe")" = "$(readlink -f "$mpi")" ]; then
            echo "$child"
        fi
        ranks "$child"
    done
}

finished=0 early=0 left=0 killed=0
for ((i = 1; i <= times; i++)); do
    mkdir run && cd run || exit 1
    args=(-p1 -n -b 128)
    if [ $((i % 2)) -eq 0 ]; then
        input=x output=x.gz in=$plain out=$packed
        cp ../plain x
        touch -r ../plain x
    else
        input=x.gz output=x in=$packed out=$plain
        cp ../packed x.gz
        args+=(-d)
    fi
    is_there=
    if [ $((i % 4)) -ge 2 ]; then
        cp ../old $output
        is_there=$old
        args+=(-f)
    fi
    "$mpirun" -n 3 "$mpi" "${args[@]}" $input >../log 2>&1 </dev/null &
    job=$!
    # Wait until all ranks have started.
    for ((wait = 0; wait < 200 && $(ranks $job | wc -l) < 3; wait++)); do
        sleep 0.02
    done
    # The first kill comes at once, so that at least one rank is killed while it works.  The other
    # kills come within 0.3 s, or, in every third run, within 0.9 s.
    [ "$i" -eq 1 ] || sleep "0.$(printf %03d $((RANDOM % (i % 3 == 0 ? 900 : 300))))"
    victim=$(ranks $job | shuf -n 1)
    if [ -n "$victim" ] && kill -KILL "$victim" 2>/dev/null; then
        killed=$((killed + 1))
    fi
    wait $job
    status=$?
    # Wait for the ranks, since mpirun may end before the ranks end.
    for ((wait = 0; wait < 100 && $(pgrep -cf "$mpi" || true) > 0; wait++)); do
        sleep 0.05
    done
    now_in=$(digest $input) now_out=$(digest $output)
    case "$now_in,$now_out" in
    "$in,$is_there") early=$((early + 1)) ;;
    "$in,$out" | ",$out" | "$out") finished=$((finished + 1)) ;;
    *)
        echo "run $i (${args[*]}), status $status: something is lost"
        ls -la
        cat ../log
        exit 1
        ;;
    esac
    if [ -n "$(find . -name '.gzlzss-*')" ]; then
        left=$((left + 1))
    fi
    if [ -n "$(find . -type f ! -name x ! -name x.gz ! -name '.gzlzss-*')" ]; then
        echo "run $i: there is something else"
        ls -la
        exit 1
    fi
    cd .. && rm -rf run
done
echo "$times runs, a rank killed in $killed: $early ended before the output was there," \
    "$finished after; $left left a temporary file"
# Fail if no rank was killed, or none before the output was complete: the test has then shown
# nothing.
[ "$killed" -gt 0 ] && [ "$early" -gt 0 ]
