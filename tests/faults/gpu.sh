#!/bin/sh
# gpu.sh - makes each call of CUDA fail, each copy go wrong and each kernel hang, one in each run
#
#     GEN=... GZLZSS_COMMAND=... sh tests/faults/gpu.sh [-s STEP] [-k KIND] [SCENARIO...]
#
# The GPU is emulated (tests/emulation/faults.cu lists the faults).  With -s, only each STEPth call,
# copy and kernel of a run fails; with -k, only faults of this kind come.  Without names of
# scenarios, all of them run.  The script prints a table.  These are the outcomes of a run:
#
#     same       status 0, and all bytes are as without a GPU
#     other      status 0, and the output is right, but the GPU found other matches, because its
#                input was copied wrongly
#     said so    an error message and status 1: with --backend=gpu if the GPU cannot be used at the
#                start, and for wrong bytes that were written to standard output before the CRC
#     lost       anything else: wrong or partial output without an error, an input that is gone, a
#                crash, a run that does not end.  The script prints these runs and exits with 1

GEN=${GEN:-$(pwd)/tests/gen}
emulated=${GEN%gen}emulated_gzlzss
plain=${GZLZSS_COMMAND:-$(pwd)/gzlzss}
export LC_ALL=C
unset GZIP GZLZSS EMULATED_FAULT EMULATED_DEVICES
step=1
kinds="memory short launch ecc unavailable hang truncated missing wrong random"
while getopts s:k: option; do
    case $option in
    s) step=$OPTARG ;;
    k) kinds=$OPTARG ;;
    *) exit 2 ;;
    esac
done
shift $((OPTIND - 1))
[ $# -gt 0 ] || set -- gpu1 gpu3 gpu6 gpu9 gpu12 auto two small-batches many to-file to-pipe test \
    members many-files

scratch=$(mktemp -d) || exit 2
trap 'cd / && rm -rf "$scratch"' EXIT
trap 'exit 2' HUP INT TERM
cd "$scratch" || exit 2

"$GEN" mixed 150000 >data || exit 2
"$GEN" mixed 40000 >short
for i in 1 2 3 4; do
    { cat short; echo "$i"; } >"file$i"
done
"$plain" --backend=cpu -n -6 -b 64 -c data >data.gz || exit 2
"$plain" --backend=cpu -n -6 -b 64 -c short >short.gz
cat short short short >members
cat short.gz short.gz short.gz >members.gz
export GZLZSS_TEST_GPU_MIN=0 GZLZSS_TEST_GPU_MS=150
# A run has this many seconds.
limit=60

# run OUTPUT ARGUMENT...: runs the command with its standard output in OUTPUT.
run() {
    output=$1
    shift
    status=0
    timeout "$limit" "$emulated" "$@" >"$output" 2>messages || status=$?
}

# compressing EXPECTED FILE: the verdict on a run that compressed FILE to "out".
compressing() {
    if [ "$status" -eq 0 ] && cmp -s out "$1"; then
        verdict=same
    elif [ "$status" -eq 0 ] && [ "$(cat came)" = 'a copy' ] &&
        gzip -dc <out 2>/dev/null | cmp -s - "$2"; then
        verdict=other
    elif [ "$status" -eq 1 ] && [ ! -s out ] && grep -q 'cannot use a GPU' messages; then
        verdict='said so'
    fi
}

# decompressing FILE: the verdict on a run that decompressed to "out".
decompressing() {
    if [ "$status" -eq 0 ] && cmp -s out "$1"; then
        verdict=same
    elif [ "$status" -eq 1 ] && grep -q 'crc error\|cannot use a GPU' messages; then
        verdict='said so'
    fi
}

# compress LEVEL FILE ARGUMENT...
compress() {
    level=$1
    input=$2
    shift 2
    expected="expected-$level-$input"
    [ -f "$expected" ] ||
        "$plain" --backend=cpu "-$level" -b 32 -n -c "$input" >"$expected"
    run out -n "-$level" -b 32 -c "$@" "$input"
    compressing "$expected" "$input"
}

# each SUFFIX NAME...: whether all files are there and right, and nothing else is.
each() {
    suffix=$1
    shift
    for f in "$@"; do
        cmp -s "work/$f" "$f" || return 1
        if [ -n "$suffix" ]; then
            gzip -dc "work/$f$suffix" 2>/dev/null | cmp -s - "$f" || return 1
        fi
    done
}

# scenario NAME: runs it, and sets `verdict`.
scenario() {
    verdict=lost
    case $1 in
    gpu12) compress 12 short -p2 --backend=gpu ;;
    gpu*) compress "${1#gpu}" data -p2 --backend=gpu ;;
    auto) compress 6 data -p4 ;;
    two) EMULATED_DEVICES=2 compress 3 data -p2 --backend=gpu --device=0,1 ;;
    small-batches) GZLZSS_TEST_GPU_MEMORY=20000000 compress 6 data -p2 --backend=gpu ;;
    many)
        rm -rf work && mkdir work && cp file1 file2 file3 file4 work
        run out -k -3 -p2 --backend=gpu work/file1 work/file2 work/file3 work/file4
        if [ "$status" -eq 0 ] && each .gz file1 file2 file3 file4; then
            verdict=same
        elif [ "$status" -eq 1 ] && grep -q 'cannot use a GPU' messages && each '' file1 file2 &&
            [ "$(find work | wc -l)" -eq 5 ]; then
            verdict='said so'
        fi
        ;;
    to-pipe | test | to-file | members | many-files) decompress "$1" ;;
    *)
        echo "$1: no such scenario" >&2
        exit 2
        ;;
    esac
}

decompress() {
    export GZLZSS_TEST_GPU_BATCH=20000
    case $1 in
    to-pipe)
        run out -dc -p2 data.gz
        decompressing data
        ;;
    test)
        run out -t -p2 data.gz
        [ "$status" -ne 0 ] || verdict=same
        ;;
    members)
        run out -dc -p3 members.gz
        decompressing members
        ;;
    to-file)
        rm -f out out.gz
        cp data.gz out.gz
        run stdout -d -p2 out.gz
        if [ "$status" -eq 0 ] && cmp -s out data && [ ! -e out.gz ]; then verdict=same; fi
        ;;
    many-files)
        rm -rf work && mkdir work
        cp data.gz members.gz short.gz work
        run stdout -d -p2 work/data.gz work/members.gz work/short.gz
        if [ "$status" -eq 0 ] && each '' data members short && [ "$(find work | wc -l)" -eq 4 ]
        then
            verdict=same
        fi
        ;;
    esac
    unset GZLZSS_TEST_GPU_BATCH
}

# note KIND VERDICT: counts a run for the table.
note() {
    echo "$1	$2" >>outcomes
}

: >outcomes
for name in "$@"; do
    scenario "$name"
    if [ "$verdict" != same ]; then
        echo "$name: lost without any fault: status $status: $(head -n 1 messages)"
        exit 1
    fi
    for kind in $kinds; do
        number=0
        while :; do
            : >came
            export EMULATED_FAULT="$kind:$number" EMULATED_FAULT_FILE="$scratch/came"
            scenario "$name"
            unset EMULATED_FAULT EMULATED_FAULT_FILE
            [ -s came ] || break
            if [ "$verdict" = lost ]; then
                echo "lost: $name, $kind:$number, at $(cat came): status $status," \
                    "$(head -n 1 messages)"
            fi
            note "$kind" "$verdict"
            number=$((number + step))
        done
    done
done

awk -F '\t' -v kinds="$kinds" '
    { all[$1]++; n[$1, $2]++; lost += $2 == "lost" }
    END {
        print "| fault | runs | same | other | said so | lost |"
        print "|---|---|---|---|---|---|"
        count = split(kinds, kind, " ")
        for (i = 1; i <= count; i++) {
            k = kind[i]
            printf "| %s | %d | %d | %d | %d | %d |\n", k, all[k], n[k, "same"], n[k, "other"],
                   n[k, "said so"], n[k, "lost"]
        }
        printf "| **all** | %d | | | | %d |\n", NR, lost
        exit lost > 0 || NR == 0
    }' outcomes
