#!/usr/bin/env bats
# bench.bats - the benchmarks write well-formed files, and notice wrong output
#
# The tests ignore the measured times.

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    have gzip || skip "gzip is not installed"
    [ -w /dev/shm ] || skip "there is no /dev/shm"
    enter_test_directory
    "$GEN" text 100000 >words
}

# bench STATUS ARG...: runs bench.sh on small data, with its output in "out".  It must end with this
# status.
bench() {
    local status=$1
    shift
    GZLZSS=${measured:-$GZLZSS} ends_with "$status" "$srcdir/bench/bench.sh" -o out -r 1 -p 2 -l 1 \
        -L 1 "$@"
}

# tool NAME: makes the command ./NAME from the script on standard input.
tool() {
    {
        echo '#!/bin/bash'
        cat
    } >"$1"
    chmod +x "$1"
}

# rows PATTERN COUNT: COUNT lines of results.csv must match the pattern.
rows() {
    local n
    n=$(grep -cE "^$1$" out/results.csv) || true
    [ "$n" -eq "$2" ] || fail "$n rows, not $2, match $1" "$(cat out/results.csv)" "$(cat stderr)"
}

has_note() {
    grep -qF -- "$1" out/results.md || fail "results.md does not say: $1" "$(cat out/results.md)"
}

# well_formed FILE: the file must have lines below its heading, the same number of columns in all
# lines, and no empty column.
well_formed() {
    awk -F , 'NR == 1 { n = NF } NF != n || /,,|,$/ { exit 1 } END { if (NR < 2) exit 1 }' "$1" ||
        fail "$1:" "$(cat "$1")"
}

@test "every part, on a small file" {
    local size
    bench 0 -t gzip -S 300000 words
    well_formed out/results.csv
    well_formed out/time.csv
    size=$("$GZLZSS" -1 -n -c words | wc -c)
    rows "pareto,words,100000,gzlzss,cpu,1,2,0,$size,[0-9]+\.[0-9]{6},gzip" 1
    size=$(gzip -1 -c words | wc -c)
    rows "pareto,words,100000,gzip,cpu,1,1,0,$size,[0-9]+\.[0-9]{6},gzip" 1
    rows "size,repeated,(65536|262144),gzlzss,cpu,1,2,0,.*,gzip" 2
    rows "threads,words,100000,gzlzss,cpu,1,[12],0,.*,same" 2
    rows '.*' 7
    [ "$(wc -l <out/time.csv)" -eq 2 ]
    for title in 'Benchmark' 'Speed and ratio: words' 'Throughput against' 'Scaling with threads' \
        'Where the time goes: words'; do
        has_note "# $title"
    done
    has_note '| gzlzss cpu | 1 | 2 | 0 |'
    # All lines of a table have the same number of cells.
    awk -F '|' '!/^\|/ { n = 0; next } n && NF != n { exit 1 } { n = NF }' out/results.md ||
        fail "$(cat out/results.md)"
}

@test "one part alone, and no other" {
    bench 0 -t '' -P size -S 65536 words
    rows 'size,.*' 1
    rows '.*' 2
    bench 0 -t '' -P time words
    rows '.*' 1
    well_formed out/time.csv
}

@test "a wrong output is an error" {
    # shellcheck disable=SC2016 # ./wrong expands $0: it compresses itself.
    tool wrong <<<'gzip -c "$0"'
    bench 1 -t gzip=./wrong -P pareto words
    rows 'pareto,words,100000,gzip,.*,WRONG' 1
    rows 'pareto,words,100000,gzlzss,.*,gzip' 1
    has_note 'Error: wrong output: '
    grep -q 'wrong output: ' stderr
    grep -qF '| gzip | 1 | 1 | 0 |' out/results.md
}

@test "so is a truncated one, and a tool that fails" {
    tool truncated <<<'gzip "$@" | head -c -1'
    bench 1 -t gzip=./truncated -P pareto words
    rows 'pareto,words,100000,gzip,.*,WRONG' 1
    tool failing <<<'echo no luck >&2; exit 3'
    bench 1 -t gzip=./failing -P pareto words
    rows 'pareto,words,100000,gzip,.*' 0
    has_note 'no luck'
}

@test "a tool that is not there is left out" {
    bench 0 -t zopfli=./nowhere -P pareto words
    has_note 'zopfli is not installed'
    rows '.*' 2
    bench 1 -t ./gzip words
}

@test "a slow tool gets a sample, and a ratio put in relation" {
    "$GEN" source 3000000 >listing
    # shellcheck disable=SC2016 # ./slow expands it.  Two MB would exceed the time limit (-b).
    tool slow <<<'[ "$(stat -c %s "$3")" -lt 1000 ] || sleep 1.6; gzip "$@"'
    bench 0 -t gzip=./slow -b 3 -P pareto listing
    rows 'pareto,listing,1000000,gzip,.*,gzip' 1
    rows 'pareto,listing,3000000,gzlzss,.*,gzip' 1
    rows 'reference,listing,(1000000|3000000),gzlzss,cpu,6,.*' 2
    grep -qE '^\| gzip \| 1 \| 1 \| 0 \| [0-9.]+ \| ~[0-9.]+ \|.*\| 1 MB of it \|' out/results.md ||
        fail "$(cat out/results.md)"
}

@test "nothing begins after the time allowed" {
    bench 0 -t gzip -T 0 words
    rows '.*' 1
    has_note 'Left out, as 0 s were over: pareto, gzip -1'
}

@test "of a large input a sample is taken" {
    "$GEN" source 3000000 >listing
    bench 0 -t '' -P pareto -S 2M listing
    rows 'pareto,listing,2000000,.*' 1
    has_note 'listing has 3000000 bytes; a sample of 2000000'
}

# Makes a command that claims to have two GPUs.
pretend_two_gpus() {
    tool gpus <<END
args=()
for a; do
    case \$a in
    --list-devices)
        echo "0: Some GPU, compute capability 9.0, 132 multiprocessors, 81079 MiB"
        echo "1: Some GPU, compute capability 9.0, 132 multiprocessors, 81079 MiB"
        echo "2: Old GPU, compute capability 3.0, 8 multiprocessors, 2048 MiB," \
            "not supported by this build"
        exit ;;
    --backend=*) ;;
    --device) ;;
    0 | 0,1) ;;
    *) args+=("\$a") ;;
    esac
done
exec "$GZLZSS" "\${args[@]}"
END
    measured=./gpus
}

@test "engines and GPUs" {
    pretend_two_gpus
    bench 0 -t '' -P pareto,time,threads,devices words
    rows 'pareto,words,100000,gzlzss,(gpu|auto),1,2,2,.*' 2
    rows 'threads,words,100000,gzlzss,(gpu|auto),1,[12],2,.*' 4
    rows 'devices,words,100000,gzlzss,(gpu|auto),1,2,[12],.*' 4
    rows 'devices,.*,cpu,.*' 0
    [ "$(wc -l <out/time.csv)" -eq 4 ]
    has_note 'GPU 1: Some GPU'
    has_note '# Scaling with GPUs'
    bench 0 -t '' -e gpu -P pareto words
    rows 'pareto,.*' 1
}

@test "igzip, if it has been built with threads" {
    # shellcheck disable=SC2016 # ./igzip expands it.
    tool igzip <<<'case $* in # not pthread_create
        *-T\ 2*) shift 3 ;;
        *) shift ;;
        esac
        gzip "$@"'
    bench 0 -t igzip=./igzip -P pareto,threads words
    rows 'pareto,words,100000,igzip,cpu,[0-3],1,.*' 4
    rows 'pareto,words,100000,igzip,cpu,[0-3],2,.*' 4
    rows 'threads,words,100000,igzip,cpu,1,[12],.*' 2
}

@test "nvCOMP's own figures" {
    # shellcheck disable=SC2016 # ./python expands it.
    tool python <<<'case $* in
        *.py\ --version) echo 9.9 ;;
        --version) echo Python 3 ;;
        *) echo 1,100000,50000,0.001,zlib; echo 2,100000,40000,0.002,WRONG ;;
    esac'
    bench 1 -t nvcomp=./python -P pareto words
    rows 'pareto,words,100000,nvcomp,gpu,1,1,1,50000,0.001,zlib' 1
    has_note '- nvcomp: 9.9, by Python 3'
    has_note '| nvcomp (1) | 1 | 1 | 1 | 100.0 | 2.000 |  |'
    has_note 'Error: wrong output: nvCOMP, algorithm type 2'
}

@test "without nvCOMP its script says so" {
    have python3 || skip "python3 is not installed"
    ! python3 -c 'from nvidia import nvcomp' 2>/dev/null &&
        ! python3 -c 'import nvcomp' 2>/dev/null ||
        skip "nvCOMP is there"
    ends_with 3 python3 "$srcdir/bench/nvcomp_deflate.py" words
    [ "$(wc -l <stderr)" -eq 1 ]
}

@test "what is made of known figures" {
    mkdir out
    cat >out/results.csv <<'END'
part,file,bytes,tool,engine,level,threads,devices,out_bytes,seconds,checked
pareto,f,9000000,gzlzss,cpu,1,4,0,3000000,0.030000,gzip
pareto,f,9000000,gzlzss,gpu,1,4,1,3000000,0.060000,same
pareto,f,9000000,gzlzss,cpu,6,4,0,2250000,0.090000,gzip
pareto,f,1000000,zopfli,cpu,i15,1,0,160000,2.000000,gzip
pareto,f,9000000,gzip,cpu,9,1,0,2500000,0.900000,gzip
pareto,f,9000000,nvcomp,gpu,1,1,1,3000000,0.001000,zlib
reference,f,1000000,gzlzss,cpu,6,4,0,200000,0.010000,gzip
size,repeated,65536,gzlzss,cpu,1,4,0,20000,0.001000,gzip
size,repeated,65536,gzlzss,gpu,1,4,1,20000,0.400000,gzip
size,repeated,1073741824,gzlzss,cpu,1,4,0,300000000,1.000000,gzip
size,repeated,1073741824,gzlzss,gpu,1,4,1,300000000,0.900000,gzip
size,repeated,4294967296,gzlzss,cpu,1,4,0,1200000000,4.000000,gzip
size,repeated,4294967296,gzlzss,gpu,1,4,1,1200000000,2.000000,gzip
END
    tr -d ' \n' >out/time.csv <<'END'
file,bytes,engine,level,threads,devices,seconds,read,match,encode,write,
    copy_in,kernels,copy_out,cpu_segments,gpu_segments
END
    echo >>out/time.csv
    echo f,500000000,gpu,6,4,1,1.000000,0.100,0.000,1.500,0.200,0.050,0.600,0.050,1,239 \
        >>out/time.csv
    awk -f "$srcdir/bench/results.awk" -f "$srcdir/bench/tables.awk" out/results.csv out/time.csv \
        >out/results.md
    has_note '| gzlzss cpu | 1 | 4 | 0 | 300.0 | 3.000 | x | all of it | gzip |'
    has_note '| gzlzss gpu | 1 | 4 | 1 | 150.0 | 3.000 |  | all of it | same |'
    has_note '| gzlzss cpu | 6 | 4 | 0 | 100.0 | 4.000 | x | all of it | gzip |'
    # zopfli's ratio on the sample is 6.25.  gzlzss -6 compresses the sample 25 % better than the
    # whole file.  So the estimate of zopfli's ratio on the file is 6.25 / 1.25 = 5.
    has_note '| zopfli | i15 | 1 | 0 | 0.5 | ~5.000 | x | 1 MB of it | gzip |'
    has_note '| gzip | 9 | 1 | 0 | 10.0 | 3.600 |  | all of it | gzip |'
    has_note '| nvcomp (1) | 1 | 1 | 1 | 9000.0 | 3.000 |  | all of it | zlib |'
    has_note '| 64 KiB | 65.5 | 0.2 |'
    has_note '- Level 1: gpu is faster than cpu from 1 GiB on.'
    has_note '| gpu | 6 | 2.000 | 0.200 | 0.000 | 3.000 | 0.400 | 4.400 | 0.100 | 1.200 | 0.100 |'
    has_note ' | 239 of 240 |'
}

@test "plots" {
    local name
    have gnuplot || skip "gnuplot is not installed"
    pretend_two_gpus
    bench 0 -t gzip -S 300000 words
    ends_with 0 "$srcdir/bench/plot.sh" out
    for name in pareto-words size threads devices time-words; do
        [ "$(hex "out/$name.png" 0 4)" = 89504e47 ] || fail "$name.png is none"
        grep -q '</svg>' "out/$name.svg" || fail "$name.svg is incomplete"
    done
    stderr_is
}

@test "decompression: the table's figures are in decompress.csv" {
    [ -x /usr/bin/time ] || skip "GNU time is not installed"
    env GZLZSS="${measured:-$GZLZSS}" "$srcdir/bench/decompress.sh" -o out -r 1 -p "1 2" words \
        >table 2>stderr ||
        fail "decompress.sh failed" "$(cat stderr)"
    well_formed out/decompress.csv
    local figure
    figure=$(sed -n 's/^words,gzip-6,gzip,1,\([0-9.]*\),.*/\1/p' out/decompress.csv)
    grep -q "^| gzip | $figure |" table || fail "not in the table: $figure" "$(cat table)"
    [ "$(grep -c '^words,gzip-6,[a-z]*,2,' out/decompress.csv)" -ge 1 ] ||
        fail "$(cat out/decompress.csv)"
}

# gpu_decompress STATUS ARG...: runs gpu_decompress.sh, which must end with this status.
gpu_decompress() {
    local status=$1
    shift
    GZLZSS=$GZLZSS GPU_INFLATE=${gpu_inflate-/bin/true} ends_with "$status" \
        "$srcdir/bench/gpu_decompress.sh" "$@"
}

@test "decompression by a GPU: bad usage" {
    gpu_decompress 1 -x words
    grep -q '^gpu_decompress.sh - ' stderr || fail "$(cat stderr)"
    gpu_decompress 1 -s much words
    grep -q '^gpu_decompress.sh - ' stderr || fail "$(cat stderr)"
    gpu_decompress 1 -P sizes,speeds words
    stderr_is "gpu_decompress.sh: there is no part speeds"
    gpu_decompress 1 -k "gzip-6 gzip-10" words
    stderr_is "gpu_decompress.sh: there is no kind gzip-10"
    gpu_decompress 1 words nowhere
    stderr_is "gpu_decompress.sh: cannot read nowhere"
    gpu_decompress 1 words ./words
    stderr_is "gpu_decompress.sh: two files have the name words"
    GZLZSS_CORPORA=$PWD gpu_decompress 1
    stderr_is "gpu_decompress.sh: there is no file of bench/corpora.sh"
}

@test "decompression by a GPU: without bench/gpu_inflate or a GPU, a message and no results" {
    local gpu_inflate=./nowhere
    gpu_decompress 1 -o out words
    stderr_is \
        "gpu_decompress.sh: there is no ./nowhere (make bench/gpu_inflate); GPU_INFLATE names it"
    absent out
    have_gpu && skip "there is a GPU"
    # This part does not need gpu_inflate.
    gpu_decompress 1 -P commands -o out words
    [ "$(wc -l <stderr)" -eq 1 ] || fail "$(cat stderr)"
    grep -q '^gpu_decompress.sh: .*GPU' stderr || fail "$(cat stderr)"
    [ ! -s stdout ] || fail "$(cat stdout)"
    absent out
}

@test "decompression by a GPU: the plot" {
    have gnuplot || skip "gnuplot is not installed"
    mkdir out
    cat >out/gpu_sizes.csv <<'END'
file,kind,bytes,out_bytes,GB/s,ms
f_1,gzip-6,300000,1000000,1.50,0.67
f_1,gzip-6,3000000,10000000,9.00,1.11
f_1,bgzf,310000,1000000,2.50,0.40
END
    ends_with 0 "$srcdir/bench/plot.sh" out
    stderr_is
    [ "$(hex out/gpu_sizes.png 0 4)" = 89504e47 ] || fail "gpu_sizes.png is none"
    grep -q '</svg>' out/gpu_sizes.svg || fail "gpu_sizes.svg is incomplete"
    grep -q bgzf out/gpu_sizes.svg
}

@test "python_gz.py: gzip and BGZF" {
    have python3 || skip "python3 is not installed"
    "$GEN" source 200000 >listing # four members of BGZF, and an empty one
    python3 "$srcdir/bench/python_gz.py" listing >listing.gz
    gzip -dc listing.gz | cmp - listing
    python3 "$srcdir/bench/python_gz.py" --bgzf listing >listing.bgzf
    gzip -dc <listing.bgzf | cmp - listing
    # Each header has the size of its member.  The last member is the empty member that the
    # specification of BGZF demands.
    local -i at=0 members=0 size
    size=$(stat -c %s listing.bgzf)
    while [ "$at" -lt "$size" ]; do
        [ "$(hex listing.bgzf $((at + 10)) 6)" = 060042430200 ] || fail "no BGZF header at $at"
        members+=1
        at+=1+$(od -A n -t u2 --endian=little -j $((at + 16)) -N 2 listing.bgzf)
    done
    [ "$at" -eq "$size" ]
    [ "$members" -eq 5 ] || fail "$members members"
    [ "$(hex listing.bgzf $((size - 28)) 28)" = \
        1f8b08040000000000ff0600424302001b0003000000000000000000 ] || fail "the end is wrong"
    ends_with 1 python3 "$srcdir/bench/python_gz.py"
    stderr_is "usage: bench/python_gz.py [--bgzf] FILE"
}

@test "methods of papers: a line for each, and its own coding's size" {
    local name
    local -i methods=0
    "$GZLZSS" --matcher=help >help 2>/dev/null || skip "this build has no methods of papers"
    GZLZSS=$GZLZSS ends_with 0 "$srcdir/bench/papers.sh" -m 1 -r 1 -o out -w culzss,window=40 words
    awk -F , '{ sub(/"[^"]*"/, "") } NF != 11 { exit 1 }' out/papers.csv ||
        fail "$(cat out/papers.csv)"
    for name in $(sed -n 's/^\([a-z][a-z0-9-]*\): .*/\1/p' help) culzss,window=40; do
        methods+=1
        size=$("$GZLZSS" -nc "--matcher=$name" words | wc -c)
        grep -q "^words,100000,\"$name\",$size,[0-9]\+,[0-9]" out/papers.csv ||
            fail "$name:" "$(cat out/papers.csv)"
        grep -q "^| $name | [0-9.]* | [0-9.]* |" out/papers.md ||
            fail "$name:" "$(cat out/papers.md)"
    done
    [ "$methods" -gt 1 ] || fail "$(cat help)"
    grep -q "^words,100000,\"9\",$("$GZLZSS" -9nc words | wc -c),,[0-9]" out/papers.csv ||
        fail "$(cat out/papers.csv)"
    have gnuplot || return 0
    ends_with 0 "$srcdir/bench/plot.sh" out
    [ "$(hex out/papers.png 0 4)" = 89504e47 ] || fail "papers.png is none"
}

# codec STATUS ARG...: runs bench/paper_codec.
codec() {
    local status=$1
    shift
    ends_with "$status" "${GZLZSS%/*}/bench/paper_codec" "$@"
}

@test "formats of papers: speeds and ratio of each method, and of both forms of GLZSS" {
    local name size=0 before
    "$GZLZSS" --matcher=help >help 2>/dev/null || skip "this build has no methods of papers"
    for name in $(sed -n 's/^\([a-z][a-z0-9-]*\): .*/\1/p' help) glzss-basic,form=17,table=1024; do
        codec 0 words "$name" 1
        grep -Eq '^core: [0-9.]+ MB/s matching, [0-9.]+ coding, [0-9.]+ decoding; 100000 bytes become [0-9]+, ratio [0-9.]+$' stdout ||
            fail "$name:" "$(cat stdout)"
    done
    codec 0 words glzss-basic,form=25 1
    before=$(sed 's/.*become \([0-9]*\),.*/\1/' stdout)
    codec 0 words glzss-basic,form=17 1
    size=$(sed 's/.*become \([0-9]*\),.*/\1/' stdout)
    [ "$size" -ne "$before" ]
    codec 1 words culzss,form=17
    stderr_is "paper_codec: the method has no such format"
    codec 1 words lzss,length=19
    stderr_is "paper_codec: lzss's format has no room for length=19; give at most 18"
    codec 1 words
    stderr_is "paper_codec: usage: paper_codec FILE METHOD[,KEY=VALUE]... [MIB [cpu|gpu|both [RUNS]]]"
}
