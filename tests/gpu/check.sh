#!/bin/sh
# check.sh - checks, on a machine with a GPU, that the GPU engine and the mixed mode write the same
# bytes as the CPU engine, even if a GPU fails or is wrong
#
#     make check-gpu
#
#     GZLZSS_COMMAND=... GEN=... srcdir=... sh tests/gpu/check.sh [FILE...]
#
# It needs only a shell, the core utilities, gzip and the built tree.  It also compares the engines
# on FILEs.  It takes some minutes, mostly for bringing up the GPU in every process.  With
# SIDE_BY_SIDE=1, the sections run at the same time, which needs a GPU with 80 GB of memory.

# FILEs are relative to the directory from which the script is called.
here=$(pwd)
command=${GZLZSS_COMMAND:-$here/gzlzss}
GEN=${GEN:-$here/tests/gen}
srcdir=${srcdir:-$here}

export LC_ALL=C
unset GZIP GZLZSS
unset GZLZSS_TEST_GPU_MIN GZLZSS_TEST_GPU_FAULT GZLZSS_TEST_GPU_MEMORY GZLZSS_TEST_GPU_SHARED
unset GZLZSS_TEST_GPU_BATCH GZLZSS_TEST_GPU_MS

scratch=$(mktemp -d) || exit 1
trap 'cd / && rm -rf "$scratch"' EXIT
trap 'exit 1' HUP INT TERM
cd "$scratch" || exit 1

# verdict WHAT: prints the result of a check.  The check has failed if the file "problems" is not
# empty; verdict prints and empties this file.
verdict() {
    if [ -s problems ]; then
        echo "not ok - $1"
        sed 's/^/    /' problems
    else
        echo "ok - $1"
    fi
    : >problems
}

problem() {
    echo "$*" >>problems
}

sha() {
    sha256sum "$1" | cut -d ' ' -f 1
}

# segments: adds up the numbers that -vv has written to "messages" for all inputs.  Prints how many
# segments the CPU matched, how many the GPU matched, and how many were matched again.
segments() {
    awk '
        function number(of) { return match($0, "[0-9]+ " of) ? substr($0, RSTART) + 0 : 0 }
        / segments?[:,;] / {
            c += number("segment") - number("by GPU")
            g += number("by GPU")
            r += number("redone")
        }
        END { print c + 0, g + 0, r + 0 }' messages
}

# count WHICH: prints number WHICH (1 to 3) of the output of `segments`.
count() {
    segments | cut -d ' ' -f "$1"
}

# compress ARGUMENT...: runs the command with these arguments, with its output in "out" and
# "messages".  A failure is a problem.
compress() {
    status=0
    "$command" -n -vv "$@" >out 2>messages || status=$?
    if [ "$status" -ne 0 ]; then
        problem "exit status $status: $*: $(head -n 1 messages)"
    fi
}

# expect_gpu_alone WHAT: the GPU must have matched all segments, without an error.  (With
# --backend=gpu, the CPU must not help.)
expect_gpu_alone() {
    if [ "$(count 1)" -ne 0 ] || [ "$(count 2)" -eq 0 ] || [ "$(count 3)" -ne 0 ]; then
        problem "$1: segments by CPU, by GPU, redone: $(segments), not 0, some, 0"
    fi
}

# --- Is there a GPU? ----------------------------------------------------------------------------

"$command" --list-devices || exit 1
if ! echo x | "$command" --backend=gpu >out 2>messages; then
    cat messages
    echo "This check needs a GPU that gzlzss can use."
    exit 1
fi

# If one of these programs printed nothing, the loops over its list would check nothing and pass.
if [ -z "$("$GEN" kinds)" ] || [ -z "$("${GEN%gen}levels")" ]; then
    echo "$GEN or ${GEN%gen}levels does not work."
    exit 1
fi

# --- The recorded digests -----------------------------------------------------------------------

# golden gpu|auto LEVEL BLOCKSIZE: checks the recorded digests.  One process compresses all inputs
# for this level and block size, so that the GPU is brought up only once.
golden() {
    mode=$1
    level=$2
    block=$3
    set -- -b "$block"
    [ "$block" != default ] || set --
    rm -rf golden
    mkdir golden
    while read -r digest l b kind size; do
        if [ "$l" = "$level" ] && [ "$b" = "$block" ]; then
            if [ "$kind" = file ]; then
                cp "$srcdir/tests/data/$size" "golden/$kind-$size"
            else
                "$GEN" "$kind" "$size" >"golden/$kind-$size"
            fi
            echo "$digest  golden/$kind-$size.gz" >>golden.list
        fi
    done <"$srcdir/tests/data/golden.sha256"
    if [ "$mode" = gpu ]; then
        compress -k "-$level" "$@" --backend=gpu golden/*
        # An empty input counts as a segment, but has no byte for the GPU to match.
        grep -v -e '-0: 1 segment;' messages >others
        mv others messages
        # Level 0 finds no matches, so it needs no GPU.
        [ "$level" -eq 0 ] || expect_gpu_alone "level $level, block size $block"
    else
        # Use only two threads: with more, these small files are often done before the GPU is ready.
        GZLZSS_TEST_GPU_MIN=0
        export GZLZSS_TEST_GPU_MIN
        compress -k -p2 "-$level" "$@" golden/*
        unset GZLZSS_TEST_GPU_MIN
        auto_segments=$((auto_segments + $(count 2)))
    fi
    sha256sum -c --quiet golden.list >>problems 2>&1 || problem "recorded digests do not match"
    verdict "recorded digests, $mode, level $level, block size $block: $(wc -l <golden.list)"
    rm -f golden.list
}

# How many segments the GPU has matched in the mixed mode.
auto_segments=0

# used_gpu: the GPU must have matched some segments in this section's runs in the mixed mode.
used_gpu() {
    [ "$auto_segments" -gt 0 ] || problem "the GPU did nothing in any of these runs"
    verdict "the mixed mode uses the GPU: $auto_segments segments"
}

recorded() {
    grep -v '^#' "$srcdir/tests/data/golden.sha256" | awk '$2 != "-" { print $2, $3 }' |
        sort -u >groups
    while read -r group_level group_block; do
        golden gpu "$group_level" "$group_block"
        golden auto "$group_level" "$group_block"
    done <groups
    [ -s groups ] || problem "nothing recorded"
    verdict "there are recorded digests"
    used_gpu
}

# --- The papers' match finders ------------------------------------------------------------------

# matchers: writes the names that --matcher accepts to "names".  Prints a note if there are none.
matchers() {
    : >names
    if ! "$command" --matcher=help >help 2>&1; then
        echo "skipped - this is a build without the papers' match finders"
        return 1
    fi
    sed -n 's/^\([a-z0-9-]*\): .*/\1/p' help >names
    [ -s names ] && return
    problem "--matcher=help lists none"
    verdict "methods of papers"
    return 1
}

# papers_golden MATCHER: checks the recorded digests for this matcher, with its parameters.  One
# process compresses all inputs with the GPU alone, then one in the mixed mode.
papers_golden() {
    rm -rf golden
    mkdir golden
    while read -r digest m kind size; do
        if [ "$m" = "$1" ]; then
            if [ "$kind" = file ]; then
                cp "$srcdir/tests/data/$size" "golden/$kind-$size"
            else
                "$GEN" "$kind" "$size" >"golden/$kind-$size"
            fi
            echo "$digest  golden/$kind-$size.gz" >>golden.list
        fi
    done <"$srcdir/tests/data/papers.sha256"
    compress -k "--matcher=$1" --backend=gpu golden/*
    expect_gpu_alone "--matcher=$1"
    sha256sum -c --quiet golden.list >>problems 2>&1 || problem "recorded digests do not match"
    verdict "recorded digests, gpu, --matcher=$1: $(wc -l <golden.list)"
    rm golden/*.gz
    GZLZSS_TEST_GPU_MIN=0
    export GZLZSS_TEST_GPU_MIN
    compress -k -p2 "--matcher=$1" golden/*
    unset GZLZSS_TEST_GPU_MIN
    auto_segments=$((auto_segments + $(count 2)))
    sha256sum -c --quiet golden.list >>problems 2>&1 || problem "recorded digests do not match"
    verdict "recorded digests, auto, --matcher=$1: $(wc -l <golden.list)"
    rm -f golden.list
}

# papers [FILE...]: checks every method on the recorded inputs, on every kind of data, and on FILEs.
papers() {
    matchers || return 0
    grep -v '^#' "$srcdir/tests/data/papers.sha256" | cut -d ' ' -f 2 | sort -u >recorded
    while read -r text; do
        papers_golden "$text"
    done <recorded
    used_gpu
    while read -r name; do
        on_every_kind "method $name" "--matcher=$name" "$@"
    done <names
    "$GEN" mixed 20000003 >input
    while read -r name; do
        same "mixed 20000003 --matcher=$name" input "--matcher=$name"
    done <names
}

# --- Every engine, number of threads and way to read: the same bytes ----------------------------

# same NAME FILE [OPTION...]: all ways to compress the file must give the same output, and gunzip
# must restore the file.
same() {
    name=$1
    input=$2
    shift 2
    compress --backend=cpu -p 2 "$@" <"$input"
    mv out expected
    gzip -dc <expected | cmp - "$input" >>problems 2>&1 || problem "gunzip does not give it back"
    for mode in cpu gpu auto; do
        if [ "$mode" = auto ]; then
            GZLZSS_TEST_GPU_MIN=0
            export GZLZSS_TEST_GPU_MIN
        fi
        for p in 1 2 16; do
            for way in file pipe; do
                if [ "$way" = file ]; then
                    compress "--backend=$mode" -p "$p" "$@" <"$input"
                else
                    # shellcheck disable=SC2002 # The input has to be a pipe.
                    cat "$input" | compress "--backend=$mode" -p "$p" "$@"
                fi
                cmp expected out >>problems 2>&1 ||
                    problem "differs: $mode, -p $p, $way: $(sha out)"
                if [ "$mode" = gpu ] && [ -s "$input" ]; then
                    expect_gpu_alone "-p $p, $way"
                elif [ "$mode" = auto ]; then
                    auto_segments=$((auto_segments + $(count 2)))
                fi
            done
        done
        unset GZLZSS_TEST_GPU_MIN
    done
    verdict "$name: $(sha expected)"
}

kinds() {
    for kind in $("$GEN" kinds); do
        "$GEN" "$kind" 3000001 >input
        same "$kind 3000001" input
    done
}

sizes() {
    for size in 0 1 2 3 32767 32768 32769 1048575 1048576 1048577 16777215 16777216 16777217; do
        "$GEN" mixed "$size" >input
        same "mixed $size" input
    done
    used_gpu
}

options() {
    "$GEN" mixed 5000011 >input
    same "mixed 5000011 -b 32" input -b 32
    same "mixed 5000011 -b 33" input -b 33
    same "mixed 5000011 -b 32768" input -b 32768
    "$GEN" text 30000001 >input
    same "text 30000001 -b 4096" input -b 4096
    same "text 30000001 -9" input -9
    same "text 30000001 --format=bgzf" input --format=bgzf
    same "text 30000001 --format=bgzf -1" input --format=bgzf -1
    same "text 30000001 --format=zip" input --format=zip
    "$GEN" mixed 9000011 >input
    same "mixed 9000011 -10" input -10
    same "mixed 9000011 -12 -b 8192" input -12 -b 8192
    "$GEN" mixed 100000007 >input
    same "mixed 100000007" input
    used_gpu
}

named_files() {
    for file in "$@"; do
        case $file in
        /*) ;;
        *) file=$here/$file ;;
        esac
        if [ -r "$file" ]; then
            same "$file" "$file"
        else
            problem "cannot be read"
            verdict "$file"
        fi
    done
}

# on_every_kind NAME OPTION [FILE...]: compresses every kind of data, and FILEs, with the option,
# and compares the engines.  There is one process for each engine.
on_every_kind() {
    what=$1
    option=$2
    shift 2
    rm -rf by-cpu by-gpu
    mkdir by-cpu
    for kind in $("$GEN" kinds); do
        "$GEN" "$kind" 1500007 >"by-cpu/$kind"
    done
    n=0
    for file in "$@"; do
        case $file in
        /*) ;;
        *) file=$here/$file ;;
        esac
        n=$((n + 1))
        head -c 50000000 "$file" >"by-cpu/file-$n"
    done
    cp -r by-cpu by-gpu
    compress -k "$option" --backend=cpu by-cpu/*
    compress -k "$option" --backend=gpu by-gpu/*
    expect_gpu_alone "$what"
    for file in by-cpu/*.gz; do
        cmp "$file" "by-gpu/${file#by-cpu/}" >>problems 2>&1
        gzip -t "$file" >>problems 2>&1
    done
    verdict "every kind of data, $what"
}

levels() {
    for level in $("${GEN%gen}levels" | sed -n '2,$s/ .*//p'); do
        on_every_kind "level $level" "-$level" "$@"
    done
}

# --- Smaller GPUs, and several ------------------------------------------------------------------

# limited NAME VALUE LEVEL: with the variable NAME set to VALUE, which limits the GPU, the GPU must
# still match all segments, without an error.
limited() {
    compress --backend=cpu "-$3" <bytes
    mv out expected
    eval "$1=$2; export $1"
    compress --backend=gpu "-$3" <bytes
    unset "$1"
    cmp expected out >>problems 2>&1
    expect_gpu_alone "$1=$2"
    verdict "$1=$2, level $3"
}

limits() {
    "$GEN" mixed 50000003 >bytes
    for level in 2 6 9; do
        limited GZLZSS_TEST_GPU_SHARED 100000 "$level"
        limited GZLZSS_TEST_GPU_SHARED 1000 "$level"
    done
    for level in 1 6 12; do
        limited GZLZSS_TEST_GPU_MEMORY 2000000000 "$level"
    done

    if [ "$("$command" --list-devices | wc -l)" -gt 1 ]; then
        for level in 1 6 9; do
            for mode in gpu auto; do
                compress --backend=cpu "-$level" <bytes
                mv out expected
                GZLZSS_TEST_GPU_MIN=0
                export GZLZSS_TEST_GPU_MIN
                for list in 0,1 1,0 1; do
                    compress "--backend=$mode" "-$level" --device "$list" <bytes
                    cmp expected out >>problems 2>&1 || problem "differs: $mode, --device $list"
                    # With auto, many cores may be done before the second GPU is up.
                    case $mode,$list in
                    gpu,*,*)
                        grep -q 'by GPU (.* and 1 more)' messages ||
                            problem "$mode, $list: not by two"
                        ;;
                    esac
                done
                unset GZLZSS_TEST_GPU_MIN
                verdict "two GPUs, $mode, level $level"
            done
        done

        # The second file is large enough for two GPUs, so the second GPU is brought up while the
        # first one works.
        rm -rf growing
        mkdir growing
        "$GEN" text 3000001 >growing/1
        cp bytes growing/2
        for n in 1 2; do
            "$command" -n --backend=cpu <growing/$n >growing/$n.expected
        done
        GZLZSS_TEST_GPU_MIN=20000000
        export GZLZSS_TEST_GPU_MIN
        compress -k --backend=gpu -p 4 --device 0,1 growing/1 growing/2
        unset GZLZSS_TEST_GPU_MIN
        for n in 1 2; do
            cmp growing/$n.expected growing/$n.gz >>problems 2>&1
        done
        verdict "a second GPU for the second file"
    else
        echo "skipped - there is only one GPU"
    fi
    echo x | "$command" --backend=gpu --device 0,99 >out 2>messages && problem "--device 0,99 works"
    grep -q 'there is no CUDA device 99' messages || problem "--device 0,99: $(cat messages)"
    verdict "a device that is not there"
}

# --- A GPU that is wrong or fails ---------------------------------------------------------------

# fault NAME FAULT INPUT [OPTION...]: if the GPU has this fault, the output must equal the CPU
# engine's.
fault() {
    name=$1
    kind=$2
    input=$3
    shift 3
    compress --backend=cpu "$@" <"$input"
    mv out expected
    for mode in gpu auto; do
        for p in 1 4; do
            GZLZSS_TEST_GPU_MIN=0
            GZLZSS_TEST_GPU_FAULT=$kind
            export GZLZSS_TEST_GPU_MIN GZLZSS_TEST_GPU_FAULT
            # Use one GPU: each GPU counts its own batches, and with several, none might reach the
            # batch with the fault.
            compress "--backend=$mode" --device 0 -p "$p" "$@" <"$input"
            unset GZLZSS_TEST_GPU_MIN GZLZSS_TEST_GPU_FAULT
            cmp expected out >>problems 2>&1 || problem "differs: $mode, -p $p"
            # In the mixed mode, the CPU may have matched everything before the fault.
            [ "$mode" = gpu ] || continue
            case $kind in
            corrupt)
                [ "$(count 3)" -gt 0 ] || problem "-p $p: nothing was redone: $(segments)"
                ;;
            *)
                [ "$(count 1)" -gt 0 ] || problem "-p $p: nothing was left to the CPU: $(segments)"
                grep -qE 'GPU (not used|failed or could not be used): .' messages ||
                    problem "-p $p: -v does not say so"
                ;;
            esac
        done
    done
    verdict "$name: $kind"
}

faults() {
    "$GEN" text 3000001 >small
    "$GEN" mixed 100000007 >large
    fault "text 3000001" corrupt small
    fault "text 3000001 -b 32" corrupt small -b 32
    fault "mixed 100000007" corrupt large
    # A kernel does not end in time.  Without a limit, each run would take 20 s and pass.
    GZLZSS_TEST_GPU_MS=300
    export GZLZSS_TEST_GPU_MS
    began=$(date +%s)
    fault "text 3000001" hang small
    fault "text 3000001 -12" hang small -12
    unset GZLZSS_TEST_GPU_MS
    [ $(($(date +%s) - began)) -lt 60 ] || problem "a kernel that hangs keeps the command waiting"
    verdict "kernels that hang end in time"
    fault "text 3000001" fail=0 small
    fault "mixed 100000007" fail=0 large
    fault "mixed 100000007" fail=3 large
    fault "mixed 100000007 -b 32" fail=3 large -b 32

    # Also check the files after the one at which the GPU fails.  A file of two segments takes two
    # batches, since its last segment is read separately.
    for n in 1 2 3; do
        "$GEN" source 2000001 "$n" >"source-$n"
        compress --backend=cpu -b 1024 -c "source-$n"
        cat out >>expected-all
    done
    GZLZSS_TEST_GPU_FAULT=fail=2
    export GZLZSS_TEST_GPU_FAULT
    compress --backend=gpu -b 1024 -c source-1 source-2 source-3
    unset GZLZSS_TEST_GPU_FAULT
    cmp expected-all out >>problems 2>&1
    [ "$(count 1)" -gt 0 ] || problem "nothing was left to the CPU: $(segments)"
    [ "$(count 2)" -gt 0 ] || problem "nothing was done by the GPU: $(segments)"
    verdict "three files, the GPU fails at the second"
}

# --- Decompression ------------------------------------------------------------------------------

# inflate ARGUMENT...: decompresses on the GPU, to "out" and "messages".
inflate() {
    status=0
    GZLZSS_TEST_GPU_MIN=0 "$command" --backend=gpu "$@" >out 2>messages || status=$?
}

# as_on_cpu FILE: the GPU's output, messages and exit status must be the CPU's.
as_on_cpu() {
    on_cpu=0
    "$command" --backend=cpu -dc "$1" >expected 2>expected.err || on_cpu=$?
    inflate -dc "$1"
    [ "$status" -eq "$on_cpu" ] || problem "$1: exit status $status, not $on_cpu"
    cmp expected out >>problems 2>&1
    diff expected.err messages >>problems 2>&1
}

# mostly_on_gpu FILE: the GPU must make nearly all of the file's output.
mostly_on_gpu() {
    inflate -tvv "$1"
    [ "$status" -eq 0 ] || problem "$1: exit status $status: $(head -n 1 messages)"
    grep -qE 'GPU \(.*\) decompressed (9[0-9]|100)%' messages ||
        problem "$1: the GPU did not decompress it: $(cat messages)"
}

decompress() {
    for kind in $("$GEN" kinds); do
        "$GEN" "$kind" 20000003 >plain
        for way in "gzip -1" "gzip -6" "$command -1" "$command -6" "$command -9 -b 32"; do
            # shellcheck disable=SC2086 # A program and its options.
            $way -c <plain >a.gz
            as_on_cpu a.gz
            cmp plain out >>problems 2>&1
        done
        verdict "decompression of $kind"
    done
    "$GEN" mixed 100000007 >plain
    gzip -6 -c <plain >a.gz
    mostly_on_gpu a.gz
    "$command" -6 -c <plain >b.gz
    mostly_on_gpu b.gz
    cat a.gz b.gz a.gz >members.gz
    mostly_on_gpu members.gz
    as_on_cpu members.gz
    { cat a.gz; head -c 1000 /dev/zero; } >zeros.gz
    as_on_cpu zeros.gz
    { cat a.gz; echo garbage; } >garbage.gz
    as_on_cpu garbage.gz
    verdict "decompression: members, and what follows"
    size=$(wc -c <a.gz)
    for i in 1 2 3 4 5 6 7; do
        head -c $((size * i / 8)) a.gz >cut.gz
        as_on_cpu cut.gz
        { head -c $((size * i / 8)) a.gz; printf '\252\125\252'; tail -c +$((size * i / 8 + 4)) a.gz
        } >bad.gz
        as_on_cpu bad.gz
    done
    verdict "decompression: damaged and cut files"
    for n in 0 5 20 40 60 80 100 150; do
        GZLZSS_TEST_GPU_FAULT=fail=$n
        export GZLZSS_TEST_GPU_FAULT
        inflate -dcvv a.gz
        unset GZLZSS_TEST_GPU_FAULT
        [ "$status" -eq 0 ] || problem "fail=$n: exit status $status"
        cmp plain out >>problems 2>&1
    done
    GZLZSS_TEST_GPU_FAULT=copy
    export GZLZSS_TEST_GPU_FAULT
    inflate -dcvv a.gz
    [ "$status" -eq 0 ] || problem "copy: exit status $status"
    cmp plain out >>problems 2>&1
    grep -q 'a copy from its memory was wrong' messages || problem "copy: nothing was wrong"
    GZLZSS_TEST_GPU_FAULT=hang
    began=$(date +%s)
    GZLZSS_TEST_GPU_MS=300 inflate -dcvv a.gz
    [ "$status" -eq 0 ] || problem "hang: exit status $status"
    cmp plain out >>problems 2>&1
    grep -q 'the device does not answer' messages || problem "hang: it did not"
    [ $(($(date +%s) - began)) -lt 10 ] || problem "hang: the command waits for it"
    GZLZSS_TEST_GPU_FAULT=corrupt
    inflate -tvv a.gz
    unset GZLZSS_TEST_GPU_FAULT
    [ "$status" -eq 0 ] || problem "corrupt: exit status $status"
    grep -q 'the CPU decompresses again' messages || problem "corrupt: nothing was wrong"
    verdict "decompression: a GPU that fails or errs"
}

# --- The kernels themselves, under compute-sanitizer ---------------------------------------------

# has_sanitizer: true if compute-sanitizer is installed; otherwise prints a note.
has_sanitizer() {
    command -v compute-sanitizer >/dev/null 2>&1 && return
    echo "skipped - compute-sanitizer is not installed"
    return 1
}

# sanitized TOOL COMMAND...: runs the command under this tool of compute-sanitizer, with its output
# in "messages".  Anything that the tool finds is a problem.
sanitized() {
    tool=$1
    shift
    status=0
    # Under the sanitizer, a kernel can take longer than the usual limit on waits.
    GZLZSS_TEST_GPU_MS=1000000 compute-sanitizer --tool "$tool" --error-exitcode 9 \
        --log-file sanitizer.log "$@" >messages 2>&1 || status=$?
    if [ "$status" -ne 0 ]; then
        problem "exit status $status"
        grep -v '^ok' messages | tail -n 30 >>problems
        tail -n 30 sanitizer.log >>problems
    fi
    grep -q 'SUMMARY: 0 \(errors\|hazards\)' sanitizer.log ||
        problem "no summary: $(tail -n 3 sanitizer.log)"
}

# kernels TOOL OPTIONS...: runs gzlzss under the tool, once for each argument OPTIONS, a string of
# options.
kernels() {
    has_sanitizer || return 0
    tool=$1
    shift
    mkdir sanitize
    "$GEN" text 100000 >sanitize/text
    "$GEN" zeros 40000 >sanitize/zeros
    "$GEN" binary 100000 >sanitize/binary
    for options in "$@"; do
        # shellcheck disable=SC2086 # These are several.
        sanitized "$tool" "$command" -nkf -vv $options --backend=gpu sanitize/text sanitize/zeros \
            sanitize/binary
        expect_gpu_alone "under $tool"
        for f in text zeros binary; do
            # shellcheck disable=SC2086
            "$command" -n $options --backend=cpu <"sanitize/$f" |
                cmp - "sanitize/$f.gz" >>problems 2>&1 || problem "$f differs"
        done
        verdict "compute-sanitizer $tool, $options"
    done
}

# levels_under TOOL: checks the last level of every match finder, and the copies to and from the
# GPU.
levels_under() {
    under=$1
    set -- "-6 -b 1024" "-6 -b 32"
    for level in $("${GEN%gen}levels" | sed 1d |
        awk '{ level[$2] = $1 } END { for (f in level) print level[f] }'); do
        set -- "$@" "-$level -b 256"
    done
    kernels "$under" "$@"
}

# papers_under TOOL: checks every method; parameters with which kernels take other paths; and
# segments whose last chunk is short.
papers_under() {
    under=$1
    matchers || return 0
    set -- "--matcher=gpulz,symbol=1 -b 33" --matcher=gpulz,symbol=2 --matcher=gpulz,symbol=4 \
        --matcher=lz4,chunk=4k "--matcher=glzss-tagging,chunk=4096 -b 33" \
            "--matcher=dklzss,chunk=512 -b 33" "--matcher=lzss,window=32768,chain=8 -b 33" \
            "--matcher=position-lists,hash=3,threshold=3 -b 33" \
            --matcher=gpulz,symbol=3 --matcher=culzss,search=far --matcher=culzss,search=both \
            --matcher=glzss-basic,threads=32 "--matcher=glzss-tagging,threads=4 -b 33" \
            --matcher=glzss-tagging,threads=4,table=65536 "--matcher=dklzss,threads=1 -b 33" \
            "--matcher=lzss,threads=1 -b 33" "--matcher=lz4,threads=1 -b 33" \
            "--matcher=lz4,enter=all -b 33" "--matcher=lz4,enter=all,threads=1,chunk=8k -b 33"
    while read -r matcher; do
        set -- "$@" "--matcher=$matcher"
    done <names
    kernels "$under" "$@"
}

# inflates_under TOOL: decompresses small files, in small batches.
inflates_under() {
    has_sanitizer || return 0
    "$GEN" mixed 1500000 >plain
    gzip -6 -c <plain >a.gz
    "$GEN" binary 1500000 | "$command" -6 -c >b.gz
    "$GEN" text 1500000 | "$command" -1 -b 32 -c >c.gz
    GZLZSS_TEST_GPU_MIN=0 GZLZSS_TEST_GPU_BATCH=200000
    export GZLZSS_TEST_GPU_MIN GZLZSS_TEST_GPU_BATCH
    for f in a b c; do
        sanitized "$1" "$command" -tvv --backend=gpu "$f.gz"
        grep -qE 'GPU \(.*\) decompressed' messages || problem "$f.gz: not by the GPU"
    done
    unset GZLZSS_TEST_GPU_MIN GZLZSS_TEST_GPU_BATCH
    verdict "compute-sanitizer $1, decompression"
}

decompress_memcheck() {
    inflates_under memcheck
}

decompress_racecheck() {
    inflates_under racecheck
}

memcheck() {
    levels_under memcheck
}

racecheck() {
    levels_under racecheck
}

papers_memcheck() {
    papers_under memcheck
}

papers_racecheck() {
    papers_under racecheck
}

# --- Device pointers ----------------------------------------------------------------------------

# has_program NAME: true if `make check-gpu` has built this program, beside the command.  Sets
# $program to its path.
has_program() {
    program=$(dirname "$command")/tests/gpu/$1
    [ -x "$program" ] && return
    problem "there is no $program: make check-gpu builds it"
    verdict "programs for device pointers"
    return 1
}

example() {
    has_program device || return 0
    seq -f %08.0f 0 2999999 >expected
    "$program" numbers.gz 3000000 >problems 2>&1 || problem "examples/device.cu: exit status $?"
    gzip -dc numbers.gz | cmp - expected >>problems 2>&1
    "$command" -n <expected | cmp - numbers.gz >>problems 2>&1
    verdict "examples/device.cu"
    has_program load || return 0
    "$program" numbers.gz >messages 2>&1 || problem "examples/load.cu: exit status $?"
    grep -qx '27000000 bytes, 3000000 lines' messages || problem "$(cat messages)"
    verdict "examples/load.cu"
}

# device_pointers TOOL CHECK...: runs these checks of tests/gpu/test_device_pointers under the
# sanitizer's tool; without CHECKs, all checks.
device_pointers() {
    has_program test_device_pointers && has_sanitizer || return 0
    tool=$1
    shift
    sanitized "$tool" "$program" quick "$@"
    verdict "compute-sanitizer $tool, device pointers"
}

# many_inputs TOOL: runs tests/gpu/test_gpu_many under the sanitizer's tool.
many_inputs() {
    has_program test_gpu_many && has_sanitizer || return 0
    sanitized "$1" "$program" quick
    verdict "compute-sanitizer $1, many inputs"
}

many_inputs_memcheck() {
    many_inputs memcheck
}

many_inputs_racecheck() {
    many_inputs racecheck
}

device_pointers_memcheck() {
    device_pointers memcheck
}

device_pointers_racecheck() {
    # Check only decompression. A match finder's lanes write to one mark at the same time on purpose
    # (lanes_with_same in gpu/cuda/warp.cuh), and racecheck reports that for inputs of a few bytes.
    device_pointers racecheck inflating inflating_threads own_context
}

# --- All of them --------------------------------------------------------------------------------

sections="recorded papers kinds sizes options named_files levels limits faults decompress
    decompress_memcheck decompress_racecheck memcheck racecheck
    papers_memcheck papers_racecheck example device_pointers_memcheck device_pointers_racecheck
    many_inputs_memcheck many_inputs_racecheck"
number=0
for section in $sections; do
    number=$((number + 1))
    mkdir "$section"
    (
        cd "$section" || exit 1
        : >problems
        "$section" "$@"
        echo "ok - $section: done"
    ) 2>&1 | tee "$section.log" &
    [ -n "$SIDE_BY_SIDE" ] || wait
done
wait
passed=$(cat ./*.log | grep -c '^ok - ')
failed=$(cat ./*.log | grep -c '^not ok - ')
broken_off=$((number - $(cat ./*.log | grep -c '^ok - .*: done$')))
echo "$passed passed, $failed failed, $broken_off sections broken off"
[ "$failed" -eq 0 ] && [ "$broken_off" -eq 0 ]
