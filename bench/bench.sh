#!/bin/bash
# bench.sh - the benchmark: gzlzss and its peers, as Markdown, CSV and plots
#
#   bench/bench.sh -o DIR [-P PART,...] [-t "TOOL[=COMMAND]..."] [-e "ENGINE..."] [-l "LEVEL..."]
#                  [-L "LEVEL..."] [-p THREADS] [-S BYTES] [-r RUNS] [-b SECONDS] [-T SECONDS]
#                  [-d DIR] [FILE...]
#
# Writes DIR/results.csv, DIR/time.csv and DIR/results.md. If gnuplot is installed, bench/plot.sh
# then draws the plots. bench/plot.sh can also draw them later, on another machine, from the CSV
# files. The script measures these PARTs (default: all):
#
#   pareto   size and speed of each tool, for each FILE (default: the files of bench/corpora.sh)
#   time     how much time gzlzss spends in each step, on the threads and on the GPU (gzlzss -vvv
#            tells)
#   size     throughput on inputs of 64 KiB to 10 GB, which are the FILEs, repeated
#   threads  throughput with 1, 2, 4, ... threads, on the first FILE
#   devices  throughput with 1, 2, ... GPUs, on the first FILE, if there are several GPUs; use a
#            large FILE, since gzlzss uses one GPU for every 8 GiB
#
# TOOLs (-t) are pigz, igzip, libdeflate-gzip, gzip, zopfli and nvcomp (default: those that are
# installed). =COMMAND sets a tool's command; for nvcomp, COMMAND is a python3 that has nvCOMP's
# package (bench/nvcomp_deflate.py). GZLZSS is the command to measure, with options if needed
# (default: ./gzlzss). ENGINEs (-e) are cpu, gpu and auto (default: all, but only cpu if gzlzss can
# use no GPU). -l sets the LEVELs of the parts pareto and time (default: 1, 3, 6, 9 and 12), and -L
# those of the other parts (default: 1 and 6). But the part pareto measures all of igzip's levels, 0
# to 3.
#
# The tools take turns, RUNS times (default 3; 5 if a tool's runs together take less than 0.1 s).
# The input is in the page cache, and the output goes to memory (/dev/shm). The least wall time
# counts. The script decompresses every output and compares the result with the input. gzip
# decompresses the output if the input has at most 256 MiB, and always the first output of each
# tool. Otherwise, igzip decompresses the output or, if igzip is not installed, pigz or gzip. If an
# output has the same SHA-256 as a correct output for the same input, the script does not decompress
# it, and its check is called "same".
#
# -b limits the time of one run (default 10 s). If a tool is expected to take longer for FILE, the
# tool gets only a sample of FILE: 1, 2, 5, 10, ... MB, made of up to 64 extracts from the whole
# file. The script then estimates the tool's ratio on the whole file from its ratio on the sample.
# For this, the script also runs gzlzss -6 on the sample and on the file, and assumes that the
# ratios of all tools change by the same factor. No new run begins later than SECONDS (-T) after the
# start. -S limits the size of each input (for instance 10G or 512Mi), and -p limits the number of
# threads. The inputs of the part "size" are in memory or, with -d, in that DIR.

# Quotes words for a shell. Commas need no quotes, but %q quotes them.
quoted() {
    printf '%q ' "$@" | sed 's/\\,/,/g; s/ $//'
}
command_line=${GZLZSS:+GZLZSS=$(quoted "$GZLZSS") }$(quoted "$0" "$@")
here=${0%/*}
# shellcheck source=bench/common.sh
. "$here/common.sh"

parts=pareto,time,size,threads,devices
tools="pigz igzip libdeflate-gzip gzip zopfli nvcomp"
engines="cpu gpu auto"
levels="1 3 6 9 12"
few_levels="1 6"
threads=$cores
limit=10G
runs=3
budget=10
total=1000000
input_dir=
dir=
while getopts o:P:t:e:l:L:p:S:r:b:T:d: option; do
    case $option in
    o) dir=$OPTARG ;;
    P) parts=$OPTARG ;;
    t) tools=$OPTARG ;;
    e) engines=$OPTARG ;;
    l) levels=$OPTARG ;;
    L) few_levels=$OPTARG ;;
    p) threads=$OPTARG ;;
    S) limit=$OPTARG ;;
    r) runs=$OPTARG ;;
    b) budget=$OPTARG ;;
    T) total=$OPTARG ;;
    d) input_dir=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
[ -n "$dir" ] || usage
[ $# -gt 0 ] || set -- "${corpus_files[@]}"
limit=$(numfmt --from=auto "$limit")
for part in ${parts//,/ }; do
    [[ " pareto time size threads devices " == *" $part "* ]] ||
        fail "$part is no part"
done
declare -A named
for file; do
    if [ ! -r "$file" ] || [ ! -s "$file" ]; then
        fail "cannot read $file, or it is empty"
    fi
    [ -z "${named[${file##*/}]-}" ] || fail "two files are called ${file##*/}"
    named[${file##*/}]=1
done
if [ -n "$input_dir" ]; then
    input_dir=$(mktemp -d "$input_dir/gzlzss-bench.XXXXXX")
    trap 'rm -rf "$work" "$input_dir"' EXIT
else
    input_dir=$work
fi
mkdir -p "$dir"
rm -f "$dir"/{results.csv,time.csv,results.md}

errors=0
notes=()

# note TEXT adds TEXT to the notes at the end of the Markdown. complain TEXT adds TEXT to the notes,
# too; it also prints TEXT to standard error, and counts an error.
note() {
    local old
    for old in "${notes[@]}"; do
        [ "$old" != "$*" ] || return 0
    done
    notes+=("$*")
}

complain() {
    errors=$((errors + 1))
    printf '%s: %s\n' "${0##*/}" "$1" >&2
    note "Error: $1"
}

has_part() {
    [[ ,$parts, == *,"$1",* ]]
}

# --- The tools ------------------------------------------------------------------------------------

declare -A path
for tool in $tools; do
    name=${tool%%=*}
    case $name in
    pigz | igzip | libdeflate-gzip | gzip | zopfli) command=${tool#*=} ;;
    nvcomp) [[ $tool == *=* ]] && command=${tool#*=} || command=python3 ;;
    *) fail "$name is no tool that $0 knows" ;;
    esac
    if ! path[$name]=$(command -v "$command"); then
        note "$name is not installed and was left out."
        unset "path[$name]"
    fi
done
if [ -n "${path[nvcomp]-}" ] &&
    ! nvcomp_version=$("${path[nvcomp]}" "$here/nvcomp_deflate.py" --version 2>"$work/err"); then
    note "nvCOMP was left out: $(tail -n 1 "$work/err")"
    unset "path[nvcomp]"
fi

# Debian's igzip accepts -T, but always has one thread.
igzip_threads=1
if [ -n "${path[igzip]-}" ] && grep -q pthread_create "${path[igzip]}"; then
    igzip_threads=8 # its maximum
fi

# The number of devices that this build supports.
gpus=$("${gzlzss[@]}" --list-devices | grep -E '^[0-9]+: .*compute capability' |
    grep -vc 'not supported') || true
devices=$gpus
if [ "$gpus" -gt 1 ] && ! "${gzlzss[@]}" --device 0,1 --help >"$work/out" 2>&1; then
    devices=1
    note "This gzlzss does not take a list of devices: of the $gpus GPUs one was used."
fi
if [ "$gpus" -eq 0 ]; then
    engines=cpu
    note "There is no GPU that gzlzss could use ($("${gzlzss[@]}" --list-devices | head -n 1)):" \
        "its engine is the CPU's."
fi

# A "candidate" is a tool with its settings, which the script measures. A candidate is a string of
# five words: TOOL ENGINE LEVEL THREADS DEVICES.

# set_command CANDIDATE sets $command to its command.
set_command() {
    local tool engine level p n
    read -r tool engine level p n <<<"$1"
    case $tool in
    gzlzss)
        command=("${gzlzss[@]}" -n -vvv "--backend=$engine" "-$level" -p "$p")
        [ "$n" -eq 0 ] || [ "$n" -eq "$devices" ] ||
            command+=(--device "$(seq -s , 0 $((n - 1)))")
        ;;
    pigz) command=("${path[pigz]}" -n "-$level" -p "$p") ;;
    igzip)
        command=("${path[igzip]}" "-$level")
        [ "$p" -eq 1 ] || command+=(-T "$p")
        ;;
    zopfli) command=("${path[zopfli]}" "--$level") ;;
    *) command=("${path[$tool]}" "-$level") ;;
    esac
    command+=(-c)
}

# spoken CANDIDATE prints the candidate in words, for notes.
spoken() {
    local tool engine level p n
    read -r tool engine level p n <<<"$1"
    [ "$tool" != gzlzss ] || tool+=" --backend=$engine"
    echo "$tool -$level, threads: $p$([ "$n" -eq 0 ] || echo ", GPUs: $n")"
}

# candidates LEVEL THREADS TOOL... prints the candidates for this level and this number of threads.
# It leaves out tools that are not installed or do not have the level.
candidates() {
    local level=$1 p=$2 tool engine
    shift 2
    for tool; do
        case $tool in
        gzlzss)
            for engine in $engines; do
                echo "gzlzss $engine $level $p $([ "$engine" = cpu ] && echo 0 || echo "$devices")"
            done
            continue
            ;;
        pigz | gzip) [[ $level == [1-9] ]] || continue ;;
        libdeflate-gzip) [[ $level == [1-9] || $level == 1[0-2] ]] || continue ;;
        igzip) [[ $level == [0-3] ]] || continue ;;
        zopfli) [ "$level" = i15 ] || continue ;;
        nvcomp) continue ;; # nvcomp measures itself
        esac
        [ -n "${path[$tool]-}" ] || continue
        case $tool in
        pigz) echo "pigz cpu $level $p 0" ;;
        igzip)
            echo "igzip cpu $level 1 0"
            [ "$igzip_threads" -eq 1 ] || [ "$p" -eq 1 ] ||
                echo "igzip cpu $level $((p < igzip_threads ? p : igzip_threads)) 0"
            ;;
        *) echo "$tool cpu $level 1 0" ;;
        esac
    done
}

# --- Inputs ---------------------------------------------------------------------------------------

# part: the current part. whole, name and size: the file of the current input, the input's name in
# the tables, and its size in bytes.
part=
whole=
name=
size=0

# take FILE makes FILE the current input.
take() {
    rm -f "$work"/sample.*
    whole=$1
    name=${1##*/}
    name=${name//[,\"|]/_}
    size=$(stat -Lc %s "$1")
    cat "$1" >/dev/null
    [ "$size" -le "$limit" ] ||
        note "$name has $size bytes; a sample of $limit was taken for it (-S)."
}

# sample BYTES prints BYTES bytes of the current input, in extracts that are as far apart as
# possible. Each extract has at least 256 KiB, because short extracts would compress worse than the
# whole input: no match can reach back from one extract to another.
sample() {
    local bytes=$1 pieces i length
    pieces=$((bytes / 262144))
    pieces=$((pieces < 1 ? 1 : pieces > 64 ? 64 : pieces))
    length=$((bytes / pieces))
    for ((i = 0; i < pieces; i++)); do
        [ "$i" -lt $((pieces - 1)) ] || length=$((bytes - i * length))
        dd if="$whole" bs=1M iflag=skip_bytes,count_bytes,fullblock count="$length" status=none \
            skip=$((pieces > 1 ? (size - length) * i / (pieces - 1) : 0))
    done
}

# input BYTES sets $input to a file with BYTES bytes of the current input: a sample, or the whole
# input.
input() {
    if [ "$1" -eq "$size" ]; then
        input=$whole
        return
    fi
    input=$work/sample.$1
    [ -f "$input" ] || sample "$1" >"$input"
}

# set_rungs sets $rungs to the sizes of samples of the current input, the largest last.
set_rungs() {
    local most=$((size < limit ? size : limit)) unit n
    rungs=()
    for unit in 1000000 10000000 100000000 1000000000 10000000000; do
        for n in 1 2 5; do
            [ $((n * unit)) -ge "$most" ] || rungs+=($((n * unit)))
        done
    done
    rungs+=("$most")
}

# --- A measurement --------------------------------------------------------------------------------

# The results of each candidate on the current input. at: bytes of input. best, spent: least time
# and total time, in microseconds. count: number of runs. out_bytes: bytes of output. checked: the
# tool that checked the output. said: the numbers from gzlzss -vvv (what_vv_said).
declare -A at best spent count out_bytes checked said

# startup: for each tool and engine, the time for the smallest input, in microseconds. by_gzip: has
# a value for each tool if gzip has already checked an output of the tool.
declare -A startup by_gzip

is_late() {
    [ "$SECONDS" -ge "$total" ]
}

# run CANDIDATE BYTES runs the candidate once on that number of bytes, and measures the time
# (`timed`). Fails if the candidate fails.
run() {
    input "$2"
    set_command "$1"
    timed "${command[@]}" "$input" 2>"$work/err" && return
    complain "${command[*]} on $name: $(tail -n 1 "$work/err")"
    return 1
}

# right: has a key for each correct output. The key consists of the input's name and size, and the
# output's digest.
declare -A right

# check CANDIDATE BYTES checks the last output. Sets $by to the name of the tool that checked the
# output, to "same" if no check was needed, or to WRONG.
check() {
    local tool=${1%% *} program=gzip output
    output="$whole $2 $(sha256sum <"$work/out")"
    if [ -n "${right[$output]-}" ]; then
        by=same
        return
    fi
    if [ "$2" -gt $((256 << 20)) ] && [ -n "${by_gzip[$tool]-}" ]; then
        program=${path[igzip]-${path[pigz]-gzip}}
    fi
    if ! "$program" -dc <"$work/out" 2>/dev/null | cmp -s - "$input"; then
        by=WRONG
        complain "wrong output: ${command[*]} on $2 bytes of $name"
        return
    fi
    by=${program##*/}
    right[$output]=1
    [ "$program" != gzip ] || by_gzip[$tool]=1
}

# Reads the message that gzlzss -vvv has printed. The first line of its output has the numbers of
# segments that the CPU and the GPU have matched. The second line has the seconds of each step, in
# the order of time.csv.
what_vv_said() {
    local n='([0-9]+)' t='([0-9.]+)'
    sed -nE -e "s/.* segments?: $n by CPU, $n by GPU.*/\\1,\\2/p" -e t \
        -e "s/.*: $n segments?[,;] .*/\\1,0/p" "$work/err"
    sed -nE -e "s/.*; seconds: read $t, match $t, encode $t, write $t/\\1,\\2,\\3,\\4/" -e T \
        -e "s/; GPU: copy in $t, kernels $t, copy out $t$/,\\1,\\2,\\3/p" -e t -e 's/$/,0,0,0/p' "$work/err"
}

# keep CANDIDATE BYTES checks the last run and adds it to the results.
keep() {
    local out
    out=$(stat -c %s "$work/out")
    check "$1" "$2"
    rm -f "$work/out"
    spent[$1]=$((${spent[$1]-0} + usec))
    count[$1]=$((${count[$1]-0} + 1))
    if [ "${checked[$1]-}" = WRONG ]; then
        by=WRONG
    elif [ "$by" = same ] && [ -n "${checked[$1]-}" ]; then
        by=${checked[$1]}
    fi
    checked[$1]=$by
    if [ "${count[$1]}" -eq 1 ] || [ "$usec" -lt "${best[$1]}" ]; then
        at[$1]=$2
        best[$1]=$usec
        out_bytes[$1]=$out
        said[$1]=$(what_vv_said)
    fi
}

# set_startup CANDIDATE measures the candidate's time for the smallest input. If the candidate
# fails, the script does not run it again.
set_startup() {
    local key=${1% * * *} i
    if [ -n "${startup[$key]-}" ]; then
        [ "${startup[$key]}" != failed ]
        return
    fi
    head -c 1 "$whole" >"$work/tiny"
    set_command "$1"
    # If a GPU was idle for a while, its first use takes longer. So the second run counts.
    for i in 1 2; do
        if ! timed "${command[@]}" "$work/tiny" 2>"$work/err"; then
            complain "${command[*]}: $(tail -n 1 "$work/err")"
            startup[$key]=failed
            return 1
        fi
        startup[$key]=$usec
    done
}

# takes_too_long CANDIDATE BYTES BYTES_BEFORE USEC succeeds if the candidate is expected to take
# longer than the budget for BYTES bytes. The estimate comes from BYTES_BEFORE bytes, which took
# USEC microseconds.
takes_too_long() {
    local start=${startup[${1% * * *}]} rest
    rest=$(($4 > start ? $4 - start : 1))
    [ $((start + rest * $2 / $3)) -gt $((budget * 1000000)) ]
}

# settle CANDIDATE runs the candidate on samples that become larger, up to the largest of $rungs
# that the time budget allows. It keeps the result of the last run.
settle() {
    local now=0 next=${rungs[0]} rung
    set_startup "$1" || return 1
    while [ "$next" -ne "$now" ]; do
        now=$next
        run "$1" "$now" || return 1
        for rung in "${rungs[@]}"; do
            if [ "$rung" -gt "$now" ] && ! takes_too_long "$1" "$rung" "$now" "$usec"; then
                next=$rung
            fi
        done
    done
    keep "$1" "$now"
}

# measure CANDIDATE... measures all candidates, which take turns.
measure() {
    local c i failed=" "
    for ((i = 0; i < (runs > 5 ? runs : 5); i++)); do
        for c; do
            if is_late; then
                [ "$i" -gt 0 ] || late+=("$part, $(spoken "$c")")
            elif [ "$i" -eq 0 ]; then
                settle "$c" || failed+="$c "
            elif [ -n "${best[$c]-}" ] && [[ $failed != *" $c "* ]] &&
                { [ "$i" -lt "$runs" ] || [ "${spent[$c]}" -lt 100000 ]; }; then
                if run "$c" "${at[$c]}"; then
                    keep "$c" "${at[$c]}"
                else
                    failed+="$c "
                fi
            fi
        done
    done
}

# seconds MICROSECONDS prints seconds.
seconds() {
    printf '%d.%06d' $(($1 / 1000000)) $(($1 % 1000000))
}

line() {
    local IFS=,
    echo "$*"
}

# record PART CANDIDATE... writes the candidates' results to results.csv.
record() {
    local part=$1 c
    shift
    for c; do
        [ -n "${best[$c]-}" ] || continue
        # shellcheck disable=SC2086 # The candidate is five columns.
        line "$part" "$name" "${at[$c]}" $c "${out_bytes[$c]}" "$(seconds "${best[$c]}")" \
            "${checked[$c]}" >>"$dir/results.csv"
    done
}

forget() {
    at=() best=() spent=() count=() out_bytes=() checked=() said=()
}

# --- The parts ------------------------------------------------------------------------------------

# Runs gzlzss -6 on the samples and on the file, if it has not run on them yet. From its ratios,
# results.awk estimates the ratio on the whole file of a tool that ran only on a sample.
refer() {
    local c="gzlzss cpu 6 $threads 0" n top=${rungs[-1]} sizes
    sizes=$(printf '%s\n' "${at[@]}" | sort -nu)
    forget
    [ -n "$sizes" ] && [ "$sizes" != "$top" ] && ! is_late || return 0
    set_startup "$c"
    for n in $sizes "$top"; do
        ! grep -q "^[a-z]*,$name,$n,gzlzss,[a-z]*,6," "$dir/results.csv" || continue
        run "$c" "$n" || return 0
        keep "$c" "$n"
        record reference "$c"
        # Leave out the largest size, which is the last, if it would take too long.
        if takes_too_long "$c" "$top" "$n" "$usec"; then
            return
        fi
        forget
    done
}

nvcomp() {
    local level bytes out s right n
    if [ -z "${path[nvcomp]-}" ] || is_late; then
        return
    fi
    for n in "${rungs[@]}"; do
        [ "$n" -gt 200000000 ] || bytes=$n
    done
    input "${bytes:-${rungs[0]}}"
    at[nvcomp]=$bytes
    timed "${path[nvcomp]}" "$here/nvcomp_deflate.py" -r "$runs" -n 200000000 "$input" \
        2>"$work/err" || note "nvCOMP: $(tail -n 1 "$work/err")"
    while IFS=, read -r level bytes out s right; do
        line pareto "$name" "$bytes" nvcomp gpu "$level" 1 1 "$out" "$s" "$right" >>"$dir/results.csv"
        [ "$right" != WRONG ] || complain "wrong output: nvCOMP, algorithm type $level, on $name"
    done <"$work/out"
}

record_time() {
    local c engine level p n steps segments
    for c; do
        if [[ $c != gzlzss* ]] || [ -z "${best[$c]-}" ]; then
            continue
        fi
        read -r _ engine level p n <<<"$c"
        segments=$(sed -n 1p <<<"${said[$c]}")
        steps=$(sed -n 2p <<<"${said[$c]}")
        if [ -z "$steps" ]; then
            complain "gzlzss -vvv does not say where its time went"
            continue
        fi
        line "$name" "${at[$c]}" "$engine" "$level" "$p" "$n" "$(seconds "${best[$c]}")" "$steps" \
            "$segments" >>"$dir/time.csv"
    done
}

pareto() {
    local part=pareto level list who=(gzlzss)
    if has_part pareto; then
        who+=(pigz igzip libdeflate-gzip gzip)
    fi
    take "$1"
    set_rungs
    for level in $levels; do
        mapfile -t list < <(candidates "$level" "$threads" "${who[@]}")
        measure "${list[@]}"
        ! has_part time || record_time "${list[@]}"
        ! has_part pareto || record pareto "${list[@]}"
    done
    if has_part pareto; then
        list=()
        for level in 0 1 2 3; do
            [[ " $levels " == *" $level "* ]] ||
                mapfile -t -O "${#list[@]}" list < <(candidates "$level" "$threads" igzip)
        done
        mapfile -t -O "${#list[@]}" list < <(candidates i15 1 zopfli)
        [ ${#list[@]} -eq 0 ] || measure "${list[@]}"
        record pareto "${list[@]}"
        nvcomp
        refer
    fi
    forget
}

# repeated BYTES FILE... prints BYTES bytes of the files, repeated.
repeated() {
    local bytes=$1
    shift
    # cat fails when head stops reading; ignore that.
    { while cat "$@" 2>/dev/null; do :; done || true; } | head -c "$bytes" || true
}

free_in() {
    df --output=avail -B1 "$1" | tail -n 1
}

# has_room BYTES succeeds if there is space for an input of this size, which replaces the current
# input, and for its output.
has_room() {
    if [ "$input_dir" = "$work" ]; then
        [ $(($(free_in "$work") + size)) -ge $((2 * $1)) ]
    else
        [ "$(free_in "$work")" -ge "$1" ] && [ $(($(free_in "$input_dir") + size)) -ge "$1" ]
    fi
}

size_part() {
    local part=size n c level all=() next last=0
    declare -A before
    whole=$input_dir/input
    name=repeated
    size=0
    for level in $few_levels; do
        mapfile -t -O "${#all[@]}" all < <(candidates "$level" "$threads" gzlzss pigz igzip)
    done
    for n in 65536 262144 1048576 4194304 16777216 67108864 268435456 1073741824 4294967296 \
        10000000000; do
        if [ "$n" -gt "$limit" ] || [ ${#all[@]} -eq 0 ]; then
            break
        fi
        if ! has_room "$n"; then
            note "There was no room for inputs of $n bytes in $input_dir."
            break
        fi
        repeated "$n" "$@" >"$whole"
        size=$(stat -c %s "$whole")
        [ "$size" -eq "$n" ] || fail "cannot make an input of $n bytes"
        rungs=("$n")
        next=()
        for c in "${all[@]}"; do
            if [ -n "${before[$c]-}" ] && takes_too_long "$c" "$n" "$last" "${before[$c]}"; then
                note "Left out, as expected to take more than $budget s: $(spoken "$c"), $n bytes or more."
            else
                next+=("$c")
            fi
        done
        all=("${next[@]}")
        measure "${all[@]}"
        next=()
        for c in "${all[@]}"; do
            [ -n "${best[$c]-}" ] || continue
            before[$c]=${best[$c]}
            next+=("$c")
        done
        record size "${all[@]}"
        all=("${next[@]}")
        last=$n
        forget
    done
    rm -f "$whole"
}

threads_part() {
    local part=threads level p list counts=()
    take "$1"
    set_rungs
    for ((p = 1; p < threads; p *= 2)); do
        counts+=("$p")
    done
    counts+=("$threads")
    for level in $few_levels; do
        for p in "${counts[@]}"; do
            mapfile -t list < <(candidates "$level" "$p" gzlzss pigz igzip)
            # igzip uses at most 8 threads, so leave it out if there are more.
            [ "$p" -le 8 ] || mapfile -t list < <(printf '%s\n' "${list[@]}" | grep -v ^igzip)
            [ "$p" -eq 1 ] || mapfile -t list < <(printf '%s\n' "${list[@]}" | grep -v '^igzip.* 1 0$')
            measure "${list[@]}"
            record threads "${list[@]}"
            forget
        done
    done
}

devices_part() {
    local part=devices level n list engine
    [ "$devices" -gt 1 ] || return 0
    take "$1"
    set_rungs
    for level in $few_levels; do
        for ((n = 1; n <= devices; n++)); do
            list=()
            for engine in $engines; do
                [ "$engine" = cpu ] || list+=("gzlzss $engine $level $threads $n")
            done
            measure "${list[@]}"
            record devices "${list[@]}"
            forget
        done
    done
}

# --- The Markdown ---------------------------------------------------------------------------------

version() {
    case $1 in
    nvcomp) echo "$nvcomp_version, by $("${path[nvcomp]}" --version 2>&1)" ;;
    zopfli) dpkg-query -W -f '${Version}' zopfli 2>/dev/null || echo "does not tell its version" ;;
    *) "${path[$1]}" -V 2>&1 | sed -n 1p ;;
    esac
}

# Prints the head of the Markdown, which names the machine and the tools.
head_of_report() {
    local tool commit
    commit=$(git -C "$here" describe --always --dirty 2>/dev/null) || commit=
    echo "# Benchmark, $(date -u +%F)"
    echo
    about "bench.sh: best of $runs runs"
    echo
    printf '    %s\n\n' "$command_line"
    echo "- Linux $(uname -r), $(sed -n 's/^MemTotal: *\([0-9]*\) kB/\1/p' /proc/meminfo) KiB of memory"
    if [ "$gpus" -gt 0 ]; then
        "${gzlzss[@]}" --list-devices | sed 's/^/- GPU /'
        nvidia-smi --query-gpu=driver_version --format=csv,noheader 2>/dev/null |
            sed -n '1s/^/- NVIDIA driver /p' || true
    fi
    echo "- gzlzss: $("${gzlzss[@]}" --version | sed -n 1p)${commit:+, $commit}, -p $threads"
    for tool in pigz igzip libdeflate-gzip gzip zopfli nvcomp; do
        [ -z "${path[$tool]-}" ] || echo "- $tool: $(version "$tool")"
    done
    [ -z "${path[igzip]-}" ] || [ "$igzip_threads" -gt 1 ] ||
        echo "- This igzip has been built without threads."
    echo "- gzip, which checks: $(gzip --version | sed -n 1p)"
}

# report writes the Markdown with all results so far, so that an interrupted run leaves a report.
report() {
    {
        cat "$work/head"
        awk -f "$here/results.awk" -f "$here/tables.awk" "$dir/results.csv" "$dir/time.csv"
        if [ ${#notes[@]} -gt 0 ]; then
            printf '\n## Notes\n\n'
            printf -- '- %s\n' "${notes[@]}"
        fi
    } >"$dir/results.md"
}

late=()
head_of_report >"$work/head"
line part file bytes tool engine level threads devices out_bytes seconds checked >"$dir/results.csv"
line file bytes engine level threads devices seconds read match encode write copy_in kernels \
    copy_out cpu_segments gpu_segments >"$dir/time.csv"
if has_part pareto || has_part time; then
    for file; do
        pareto "$file"
        report
    done
fi
if has_part size; then
    size_part "$@"
    report
fi
! has_part threads || threads_part "$1"
! has_part devices || devices_part "$1"
for c in "${late[@]}"; do
    note "Left out, as $total s were over: $c."
done
report
if command -v gnuplot >/dev/null; then
    "$here/plot.sh" "$dir"
else
    echo "${0##*/}: gnuplot is not installed; on a machine that has it: $here/plot.sh $dir" >&2
fi
[ "$errors" -eq 0 ] || exit 1
