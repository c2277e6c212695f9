#!/usr/bin/env bats
# options.bats - the command line: every option, every way to write it, and wrong ones

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    enter_test_directory
    "$GEN" text 5000 >plain
    "$GZLZSS" -nc plain >plain.z
}

# value_of NAME: prints a value for this option.  Add a line here for each new option in --help that
# takes a value.
value_of() {
    case $1 in
    alias | comment) echo words ;;
    processes) echo 2 ;;
    blocksize) echo 64 ;;
    suffix) echo .x ;;
    threads) echo 2 ;;
    device | fill) echo 0 ;;
    level) echo 3 ;;
    matcher) echo help ;;
    backend) echo cpu ;;
    format) echo zlib ;;
    output) echo - ;;
    output-dir | output-dir-mirror) echo . ;;
    files-from) echo /dev/null ;;
    memory) echo 1G ;;
    range | lines) echo 1:1 ;;
    index-file) echo index ;;
    *) fail "no value for --$1 in options.bats" ;;
    esac
}

# Prints a line "LETTER|NAME|ARGUMENT" for each option that --help lists.  LETTER is the letter with
# its dash, or two blanks if there is no letter.  NAME is the long name with its dashes.  ARGUMENT
# is the argument's name, or empty.
listed_options() {
    "$GZLZSS" --help |
        sed -nE 's/^  (-.|  ),? +(--[a-z-]+)(=([A-Za-z]+))? .*/\1|\2|\4/p'
}

# works OPTION...: runs the command with these options, which must succeed.  Its input is compressed
# if the options ask for decompression, and uncompressed otherwise.  The files "stdout" and "stderr"
# get its output.
works() {
    case " $* " in
    *' --range'* | *' --lines'* | *' -d '* | *' --de'[!v]* | *' --exact '* | *' --recover '* | *' -t '* | \
        *' --te'* | *' -l '* | *' --lis'[!t-]* | *' --list '*)
        "$GZLZSS" "$@" <plain.z >stdout 2>stderr
        ;;
    # With --index, also give the index a name, since the command cannot make one from the name of
    # standard input.
    *' --index '*) "$GZLZSS" "$@" --index-file=index <plain >stdout 2>stderr ;;
    *) "$GZLZSS" "$@" <plain >stdout 2>stderr ;;
    esac || fail "exit status $?: $*" "$(cat stderr)"
}

# same_output FILE OPTIONS OPTIONS: with each of the two lists of options, the command must compress
# the file to the same bytes.  The outputs go to files because `cmp` of two process substitutions
# would not notice if both commands failed.
same_output() {
    # shellcheck disable=SC2086 # The shell splits it into words.
    "$GZLZSS" $2 <"$1" >first && "$GZLZSS" $3 <"$1" >second && [ -s first ] && cmp first second
}

@test "every option in --help is accepted, by letter and by name" {
    listed_options >options
    [ "$(wc -l <options)" -ge 16 ]
    while IFS='|' read -r letter name argument; do
        if [ -n "$argument" ]; then
            value=$(value_of "${name#--}")
            works "$name=$value"
            works "$name" "$value"
            if [ "$letter" != "  " ]; then
                works "$letter" "$value"
                works "$letter$value"
            fi
        else
            works "$name"
            if [ "$letter" != "  " ]; then
                works "$letter"
            fi
        fi
    done <options
}

@test "the options that gzip's users and our design count on are in --help" {
    listed_options >options
    for row in '-c|--stdout|' '-d|--decompress|' '-f|--force|' '-h|--help|' '-k|--keep|' \
        '-n|--no-name|' '-q|--quiet|' '-t|--test|' '-v|--verbose|' '-V|--version|' '-1|--fast|' \
        '-9|--best|' '-p|--processes|N' '-b|--blocksize|KiB' '  |--backend|NAME' \
        '  |--list-devices|'; do
        grep -qxF -e "$row" options || fail "not in --help: $row"
    done
}

@test "names that --help does not list" {
    works --to-stdout
    works --silent
    "$GZLZSS" --uncompress <plain.z | cmp - plain
}

@test "each option does what it says" {
    works -d
    cmp stdout plain
    works --decompress
    cmp stdout plain
    works -t
    [ ! -s stdout ]
    works -c
    "$GZLZSS" -d <stdout | cmp - plain
    works -v
    [ -s stderr ]
    works -vq
    [ ! -s stderr ]
    works -qv
    [ -s stderr ]
}

@test "all levels, --level, --fast and --best" {
    local last
    for level in $(levels); do
        works "-$level"
        "$GZLZSS" -d <stdout | cmp - plain
        same_output plain "-$level" "--level=$level"
        same_output plain "-$level" "-k${level}c"
    done
    same_output plain '-n --fast' '-n -1'
    same_output plain '-n --best' '-n -9'
    same_output plain '-n' '-n -6'
    # The last option counts.
    same_output plain '-n -1 -9' '-n -9'
    same_output plain '-n -91' '-n -1'
    same_output plain '-n -12 -6' '-n -6'
    # Two digits are one number only if they are adjacent and the number is a level.
    same_output plain '-n -1 -2' '-n -2'
    same_output plain '-n -1n2' '-n -2'
    same_output plain '-n -19' '-n -9'
    same_output plain '-n -121' '-n -1'
    same_output plain '-n -1 -0' '-n -0'
    same_output plain '-n -100' '-n -0'
    same_output plain '-n -90n' '-n -0'
    same_output plain '-n -01' '-n -1'
    same_output plain '-n -010' '-n -10'
    name=$(basename "$GZLZSS")
    last=$(last_level)
    for wrong in $((last + 1)) -1 x 6x ''; do
        ends_with 1 "$GZLZSS" "--level=$wrong" -k plain
        stderr_is "$name: invalid level '$wrong': give 0 to $last"
    done
    absent plain.gz
}

@test "level 0 stores, whatever else is asked for" {
    local n size blocks
    name=$(basename "$GZLZSS")
    # A stored block of up to 65535 bytes takes five bytes more; a mark between two segments takes
    # ten.
    for n in 0 1 65535 65536 131070 2097152 2097153 5000000; do
        "$GEN" text $n >in
        "$GZLZSS" -0n <in >out
        "$GZLZSS" -d <out | cmp - in
        # shellcheck disable=SC2017 # whole segments
        blocks=$((n / 2097152 * 33 + (n % 2097152 + 65534) / 65535))
        size=$((18 + n + 5 * (blocks > 0 ? blocks : 1) + 10 * (n > 0 ? (n - 1) / 2097152 : 0)))
        [ "$(wc -c <out)" -eq $size ] || fail "$n bytes became $(wc -c <out), not $size"
        for p in 1 2 5; do
            "$GZLZSS" -0nc -p$p in | cmp - out
            # shellcheck disable=SC2002 # The input has to be a pipe.
            cat in | "$GZLZSS" -0n -p$p | cmp - out
            "$GZLZSS" -dc -p$p out | cmp - in
        done
    done
    # Level 0 has no work for a GPU.  So the command starts no GPU, and --backend=gpu works even
    # without a GPU.
    for backend in auto cpu gpu; do
        "$GZLZSS" -0n -vv --backend=$backend <in 2>stderr | cmp - out
        grep -qx "$name: stdin: GPU not used: level 0 finds no matches" stderr
    done
    ends_with 1 "$GZLZSS" -0k --matcher=culzss plain
    stderr_is "$name: --matcher does not go with level 0, which finds no matches"
    absent plain.gz
    # Named files, and several files at a time, work as with other levels.
    cp in one
    cp plain two
    "$GZLZSS" -0 one two
    absent one two
    "$GZLZSS" -d one.gz two.gz
    cmp one in
    cmp two plain
}

@test "operands and options in any order" {
    cp plain one
    cp plain two
    cp plain ./-12
    "$GZLZSS" one -k two -1 -- -12
    for f in one two ./-12; do
        "$GZLZSS" -dc <"$f.gz" | cmp - plain
        cmp "$f" plain
    done
}

@test "names can be cut short" {
    "$GZLZSS" --dec <plain.z | cmp - plain
    "$GZLZSS" --unc <plain.z | cmp - plain
    works --te
    works --verb
    works --proc=2 --block=64 --backe=cpu
    # An abbreviation that fits two names is an error.
    ends_with 1 "$GZLZSS" --s
    grep -q ambiguous stderr
}

@test "letters in one word" {
    "$GZLZSS" -dc <plain.z | cmp - plain
    "$GZLZSS" -kv9 plain 2>stderr
    [ -e plain.gz ]
    [ -e plain ]
    [ -s stderr ]
    "$GZLZSS" -dcp2 plain.gz | cmp - plain
    "$GZLZSS" -cnp3 -b64 plain >z
    "$GZLZSS" -dc <z | cmp - plain
}

@test "options after operands" {
    "$GZLZSS" plain -k -9
    [ -e plain ]
    "$GZLZSS" plain.gz -dc | cmp - plain
}

@test "-- ends the options" {
    cp plain ./-d
    "$GZLZSS" -k -- -d
    [ -e ./-d.gz ]
    "$GZLZSS" -dc -- -d.gz | cmp - plain
    ends_with 1 "$GZLZSS" -- -nosuchfile
    stderr_is "$(basename "$GZLZSS"): -nosuchfile: No such file or directory"
}

@test "- is standard input" {
    "$GZLZSS" -d - <plain.z | cmp - plain
    "$GZLZSS" -n - <plain | cmp - plain.z
    # "-" between files is standard input.
    cp plain.z other.z
    "$GZLZSS" -dc other.z - other.z <plain.z >three
    cat plain plain plain | cmp - three
    [ ! -e ./-.gz ]
}

@test "numbers that make no sense are refused with one line" {
    name=$(basename "$GZLZSS")
    for n in -1 x 2x '' 99999999999999999999 1025; do
        ends_with 1 "$GZLZSS" -p "$n" -k plain
        stderr_is "$name: invalid number of threads '$n': give 0 to 1024 (0: all cores)"
        absent plain.gz
        ends_with 1 "$GZLZSS" "--processes=$n" -k plain
        absent plain.gz
    done
    for n in 0 1 31 '' 32769 -64 +64 ' 64' x 12x 31k 32769k 33M 0M k M 64kk 64KiB 1.5M 0x40 \
        99999999999999999999M; do
        ends_with 1 "$GZLZSS" -b "$n" -k plain
        stderr_is "$name: invalid block size '$n': give 32 to 32768 (KiB)"
        absent plain.gz
    done
    # --bits is an option of gzip, too, so the message must be that of gzip.
    ends_with 1 "$GZLZSS" --bits=x -k plain
    stderr_is "$name: -b operand is not an integer" "Try \`$name --help' for more information."
    absent plain.gz
    ends_with 1 "$GZLZSS" --backend=foo -k plain
    stderr_is "$name: invalid backend 'foo': give auto, cpu or gpu"
    absent plain.gz
    for list in '' ',' '0,' ',0' '0,,1' '0,0' x 0,x -1 0x1 1024 99999999999999999999 \
        0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16; do
        ends_with 1 "$GZLZSS" --device="$list" -k plain
        stderr_is \
            "$name: invalid devices '$list': give different numbers, at most 16, \
with commas between them"
        absent plain.gz
    done
}

@test "the size of segments may have a unit" {
    "$GEN" text 2200000 >large
    for n in 128k:128 128K:128 32k:32 32768k:32768 1M:1024 2M:2048 2m:2048 32M:32768; do
        same_output large "-n -b ${n%:*}" "-n -b${n#*:}" || fail "$n"
        works "--blocksize=${n%:*}"
    done
    "$GZLZSS" -nc -b 128k large >small-blocks
    "$GZLZSS" -nc large >usual-blocks
    ! cmp -s small-blocks usual-blocks || fail "it means nothing"
}

@test "-p0 and -T0 mean all cores" {
    "$GEN" text 6000000 >large
    for option in -p0 -T0 --processes=0 '-p1 --threads=0'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        works $option
        same_output large "-n $option" -n
    done
}

@test "-R and -i are what they are to pigz" {
    "$GEN" text 300000 >large
    same_output large '-n -R' '-n --rsyncable'
    same_output large -nRc9 '-nc9 --rsyncable'
    for option in -i --independent; do
        same_output large "-n $option" -n
    done
}

@test "what is wrong in GZLZSS is said to be there" {
    local name wrong
    name=$(basename "$GZLZSS")
    # in_variable VALUE MESSAGE: with this value of the variable GZLZSS, the command must fail, and
    # the first line of standard error must be this message.
    in_variable() {
        ends_with 1 env "GZLZSS=$1" "$GZLZSS" -k plain
        [ "$(head -n 1 stderr)" = "$name: $2" ] || fail "$1:" "$(cat stderr)"
        absent plain.gz
    }
    in_variable --level=99 "GZLZSS: invalid level '99': give 0 to $(last_level)"
    in_variable '-9 -p x' "GZLZSS: invalid number of threads 'x': give 0 to 1024 (0: all cores)"
    in_variable -b12x "GZLZSS: invalid block size '12x': give 32 to 32768 (KiB)"
    in_variable --backend=x "GZLZSS: invalid backend 'x': give auto, cpu or gpu"
    in_variable --foo "GZLZSS: unrecognized option '--foo'"
    in_variable -kE "GZLZSS: invalid option -- 'E'"
    in_variable -S "GZLZSS: option requires an argument -- 'S'"
    wrong=$(printf %050d 0)
    in_variable "-S $wrong" "GZLZSS: invalid suffix '$wrong'"
    in_variable -Z 'GZLZSS: -Z not supported in this version'
    in_variable foo 'foo: non-option in GZLZSS environment variable'
    # Errors on the command line do not name the variable.
    ends_with 1 env GZLZSS=-9 "$GZLZSS" --level=99 -k plain
    stderr_is "$name: invalid level '99': give 0 to $(last_level)"
    ends_with 1 env GZLZSS=-9 "$GZLZSS" -k missing
    stderr_is "$name: missing: No such file or directory"
    ends_with 1 env 'GZLZSS=-S .x' "$GZLZSS" -S "$wrong" -k plain
    stderr_is "$name: invalid suffix '$wrong'"
    ends_with 0 env "GZLZSS=-S $wrong" "$GZLZSS" -S .x -k plain
}

@test "-M before a limit on memory is refused; else it is gzip's -M" {
    local limit
    for limit in 1G 500MiB 64k 1000000 2KB 80%; do
        for options in -M -kM '-9 -M' '-M -M'; do
            # shellcheck disable=SC2086 # The shell splits it into words.
            ends_with 1 "$GZLZSS" $options $limit plain
            stderr_is "$(basename "$GZLZSS"): -M $limit: -M stores the time, as in gzip; for a \
limit on memory, give --memory=$limit" "Try \`$(basename "$GZLZSS") --help' for more information."
            absent plain.gz
        done
    done
    ends_with 1 env "GZLZSS=-M 1G" "$GZLZSS" plain
    absent plain.gz
    # -M is gzip's option if the next word is the name of a file that exists, another name that is
    # no limit on memory, or another option.
    cp plain 1G
    ends_with 0 "$GZLZSS" -kM 1G plain
    [ -e 1G.gz ]
    [ -e plain.gz ]
    rm 1G.gz plain.gz 1G
    ends_with 1 "$GZLZSS" -k -M none plain
    stderr_is "$(basename "$GZLZSS"): none: No such file or directory"
    [ -e plain.gz ]
    ends_with 1 "$GZLZSS" -kf -M -v 1G plain
    grep -q '1G: No such file or directory' stderr
    # Under gzip's name, the command does what gzip does.
    ln -s "$GZLZSS" gzip
    ends_with 1 ./gzip -kf -M 1G plain
    stderr_is "gzip: 1G: No such file or directory"
}

@test "-M with a limit on memory in the same argument is that limit, and else gzip's letters" {
    local word
    "$GZLZSS" -nc plain >expected
    for word in -M64M -M1G -M500MiB -M80% -nM64M -M300000k -vM100000000 -M2T; do
        ends_with 0 "$GZLZSS" -ncp1 "$word" plain
        cmp stdout expected
    done
    # The limit counts.
    for word in -M64 -M13 -M100k -nM9K -M1m -vM500k; do
        ends_with 1 "$GZLZSS" -nc "$word" plain
        grep -q 'memory exhausted: needs [0-9]* MiB, and the limit is [01] MiB$' stderr
        ends_with 1 env "GZLZSS=-n $word" "$GZLZSS" -c plain
        grep -q 'and the limit is [01] MiB$' stderr
    done
    # What gzip understands stays gzip's, and so does the name in an option's argument.
    "$GZLZSS" -9 -c plain >expected
    for word in -M9 -Mc9 -kM9 -M9k -vM9; do
        ends_with 0 "$GZLZSS" -c "$word" plain
        cmp stdout expected
    done
    "$GZLZSS" -12nc plain | "$GZLZSS" -dc -M1t
    ends_with 0 "$GZLZSS" -k -SM64M plain
    ends_with 0 "$GZLZSS" -k -S -M64M plain
    [ -e plainM64M ]
    [ -e plain-M64M ]
    ends_with 1 "$GZLZSS" -k -- -M64M
    stderr_is "$(basename "$GZLZSS"): -M64M: No such file or directory"
    # Under gzip's name, all of them are gzip's letters.
    ln -s "$GZLZSS" gzip
    "$GZLZSS" -4c plain >expected
    ends_with 0 ./gzip -c -M64M plain
    cmp stdout expected
    ends_with 1 ./gzip -c -M1G plain
    grep -qx "gzip: invalid option -- 'G'" stderr
    # The variable GZIP may not hold such a limit, as it may not hold -M.
    ends_with 1 env GZIP=-M64M "$GZLZSS" -c plain
    grep -q 'option not valid in GZIP environment variable' stderr
}

@test "--no- and --no are still abbreviations of --no-name, as in gzip" {
    for option in --no --no- --no-n; do
        "$GZLZSS" -c $option plain | cmp - plain.z
    done
}

@test "an unknown option is refused" {
    for option in --nonsense -@ --stdout=x; do
        ends_with 1 "$GZLZSS" "$option" -k plain
        grep -q "^Try .*--help" stderr
        [ ! -s stdout ]
        absent plain.gz
    done
    ends_with 1 "$GZLZSS" -p
    ends_with 1 "$GZLZSS" --backend
}

@test "-h prints help and does nothing else" {
    for option in -h --help; do
        ends_with 0 "$GZLZSS" "$option" plain
        stderr_is
        grep -q '^Usage: ' stdout
        grep -q -e '--backend=NAME' stdout
        absent plain.gz
        [ "$(awk 'length > 79' stdout | wc -l)" -eq 0 ]
    done
}

@test "help begins with the cores and GPUs" {
    local first
    first=$("$GZLZSS" --help | sed -n '2,/^$/p' | tr '\n' ' ')
    [[ $first == *"on all cores, and on NVIDIA GPUs where they help"* ]]
    "$GZLZSS" --help | reads_all grep -q -e '--synchronous  *sync output to disk before removing input$'
    "$GZLZSS" --help | reads_all grep -q -e '--verbose  *report each file; -vv also times and engine$'
}

@test "-V prints the version" {
    version=$(sed -nE 's/^AC_INIT\(\[gzlzss\], *\[([^]]*)\].*/\1/p' "$srcdir/configure.ac")
    [ -n "$version" ]
    for option in -V --version; do
        ends_with 0 "$GZLZSS" "$option" plain
        stderr_is
        [ "$(head -n 1 stdout)" = "gzlzss $version" ]
        grep -q '^CUDA: ' stdout
        grep -q '^zlib [0-9][.0-9]*, built with [0-9][.0-9]*\.$' stdout
        if grep -q 'inflate: ISA-L\.$' stdout; then
            grep -qE '^ISA-L .*[0-9](, linked)?\.$' stdout
        else
            grep -q '^ISA-L not used, so decompression takes 2.5 times as long: ' stdout
        fi
        [ "$(grep -c '^CUDA toolkit [0-9]' stdout)" -eq "$(grep -c '^CUDA: yes' stdout)" ]
        [ "$(grep -c '^CUDA not used: ' stdout)" -eq "$(grep -c '^CUDA: no' stdout)" ]
        absent plain.gz
    done
}

# True if the command loads ISA-L at run time instead of being linked with it.
loads_isal() {
    grep -qa 'libisal\.so' "$GZLZSS" && have ldd && ! ldd "$GZLZSS" | reads_all grep -q isal
}

# Makes no_isal.so, which, if preloaded, makes all attempts to load ISA-L fail.
no_isal() {
    cat >no_isal.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
void *dlopen(const char *name, int flags)
{
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return name != NULL && strstr(name, "isal") != NULL ? NULL : next(name, flags);
}
END
    "${CC:-cc}" -shared -fPIC no_isal.c -o no_isal.so
}

@test "where ISA-L is not installed, zlib does its work, to the same bytes and messages" {
    have "${CC:-cc}" || skip "cc is not installed"
    loads_isal || skip "ISA-L is not loaded, or there is no ldd"
    no_isal
    "$GZLZSS" -V | reads_all grep -q 'inflate: ISA-L\.$'
    LD_PRELOAD=$PWD/no_isal.so "$GZLZSS" -V | reads_all grep -q 'inflate: zlib\.$'
    "$GEN" mixed 9000000 >in
    for options in -p1 -p4; do
        "$GZLZSS" -nc $options in >expected.gz
        "$GZLZSS" -nc plain | cat expected.gz - expected.gz >two.gz
        head -c 1500000 expected.gz >cut.gz
        { head -c 1000000 expected.gz; printf '\377\377\377\377'
            tail -c +1000005 expected.gz; } >bad.gz
        for name in two cut bad; do
            status=0
            "$GZLZSS" -dc $options $name.gz >$name.out 2>$name.err || status=$?
            echo "$status" >>$name.err
        done
        export LD_PRELOAD=$PWD/no_isal.so
        "$GZLZSS" -nc $options in | cmp - expected.gz
        for name in two cut bad; do
            status=0
            "$GZLZSS" -dc $options $name.gz >out 2>err || status=$?
            echo "$status" >>err
            cmp out $name.out
            cmp err $name.err
        done
        unset LD_PRELOAD
        cat in plain in | cmp - two.out
        [ "$(tail -n 1 bad.err) $(tail -n 1 cut.err)" = "1 1" ]
    done
}

# wrong_isal NUMBER: makes an ISA-L in this directory.  This ISA-L does one thing wrong, which
# NUMBER selects, and otherwise works like the real ISA-L.  With number 0, nothing is wrong.
wrong_isal() {
    local name
    name=$(grep -ao 'libisal\.so\.[0-9]*' "$GZLZSS" | reads_all head -n 1)
    cat >isal.c <<'END'
#include <dlfcn.h>
#include <isa-l/igzip_lib.h>
static void *real(const char *name)
{
    return dlsym(dlopen(REAL, RTLD_NOW | RTLD_LOCAL), name);
}
uint32_t crc32_gzip_refl(uint32_t crc, const unsigned char *bytes, uint64_t len)
{
    return ((uint32_t(*)(uint32_t, const unsigned char *, uint64_t))real("crc32_gzip_refl"))(
        crc, bytes, len);
}
void isal_inflate_init(struct inflate_state *s)
{
    const struct inflate_state before = *s;
    ((void (*)(struct inflate_state *))real("isal_inflate_init"))(s);
# if WRONG == 1 /* as if these fields were at other offsets */
    s->tmp_out_valid = before.tmp_out_valid;
    s->tmp_out_processed = before.tmp_out_processed;
#endif
    (void)before;
}
int isal_inflate(struct inflate_state *s)
{
    unsigned char *const out = s->next_out;
#if WRONG == 2
    return ISAL_INVALID_BLOCK;
#elif WRONG == 3 /* the window is lost */
    if (s->tmp_out_valid == 2 * ISAL_DEF_HIST_SIZE)
        s->tmp_out_valid = s->tmp_out_processed = 0;
#endif
    const int result = ((int (*)(struct inflate_state *))real("isal_inflate"))(s);
#if WRONG == 4
    if (s->next_out > out)
        *out ^= 1;
#elif WRONG == 5
    s->read_in_length++;
#endif
    (void)out;
    return result;
}
END
    "${CC:-cc}" -O1 -shared -fPIC -DWRONG="$1" \
        -DREAL="\"$("${CC:-cc}" -print-file-name="$name")\"" isal.c -o "$name"
}

@test "an ISA-L that does not decompress as expected is not used" {
    have "${CC:-cc}" || skip "cc is not installed"
    loads_isal || skip "ISA-L is not loaded, or there is no ldd"
    echo '#include <isa-l/igzip_lib.h>' | "${CC:-cc}" -E - >/dev/null 2>&1 ||
        skip "ISA-L has no headers here"
    "$GEN" mixed 3000000 >in
    "$GZLZSS" -c in >in.gz
    gzip -c in >gzip.gz
    export LD_LIBRARY_PATH=$PWD
    for wrong in 0 1 2 3 4 5; do
        wrong_isal $wrong
        is=zlib
        [ "$wrong" -ne 0 ] || is=ISA-L
        "$GZLZSS" -V | reads_all grep -q "inflate: $is\.\$" || fail "$wrong: $("$GZLZSS" -V)"
        for options in -p1 -p4; do
            cat in in >wanted
            "$GZLZSS" -dc $options in.gz gzip.gz | cmp - wanted
        done
        ends_with 0 "$GZLZSS" -tvv in.gz
        is='ISA-L not used.*: libisal\.so\.[0-9]* does not decompress as expected$'
        said=$(grep -c "$is" stderr) || true
        [ "$said" -eq $((wrong > 0)) ]
    done
}

@test "-vv says once why ISA-L is not used, and what that costs; of small files nothing" {
    "$GEN" random 600000 | "$GZLZSS" -c >in.gz
    "$GZLZSS" -c plain >plain.gz
    local why='this gzlzss was built without it' command=("$GZLZSS")
    case $("$GZLZSS" -V) in
    *'inflate: ISA-L.'*)
        for options in -tvv -vvdkc; do
            ends_with 0 "$GZLZSS" $options in.gz
            ! grep ISA-L stderr || fail "it is used"
        done
        have "${CC:-cc}" || skip "cc is not installed"
        loads_isal || skip "ISA-L is not loaded, or there is no ldd"
        no_isal
        command=(env LD_PRELOAD="$PWD/no_isal.so" "$GZLZSS")
        why='libisal\.so\.[0-9]* could not be loaded'
        ;;
    esac
    "${command[@]}" --version | reads_all grep -qx \
        "ISA-L not used, so decompression takes 2.5 times as long: $why\." || fail "in --version"
    for options in -tvv '-p1 -vvdkc' '-tvv -p4' '-tvv in.gz' '-p1 -tvv in.gz'; do
        # shellcheck disable=SC2086 # Several options, and perhaps the file once more.
        ends_with 0 "${command[@]}" $options in.gz
        [ "$(grep -cx \
            "${GZLZSS##*/}: ISA-L not used, so decompression takes 2.5 times as long: $why" \
            stderr)" -eq 1 ] || fail "$options: $(cat stderr)"
    done
    for options in '-tv in.gz' '-tvv plain.gz' '-lvv in.gz' '-kfvv plain'; do
        # shellcheck disable=SC2086
        ends_with 0 "${command[@]}" $options
        ! grep ISA-L stderr || fail "$options"
    done
}

@test "a small file is compressed without loading ISA-L, a larger one is not" {
    loads_isal || skip "ISA-L is not loaded, or there is no ldd"
    "$GEN" text 1000000 >in
    LD_DEBUG=files "$GZLZSS" -nc in 2>log >in.gz
    grep -q libz log || skip "this C library does not tell what it loads"
    grep -q libisal log
    LD_DEBUG=files "$GZLZSS" -nc plain 2>log >plain.gz
    grep -q libz log
    ! grep libisal log || fail "a small file"
}

@test "of several errors of the output, the first is told" {
    [ -c /dev/full ] || skip "there is no /dev/full"
    have "${CC:-cc}" || skip "cc is not installed"
    without_sanitizers
    ldd "$GZLZSS" >/dev/null 2>&1 ||
        skip "nothing can be loaded before it: it is static, or there is no ldd"
    cat >close.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
int close(int fd)
{
    const int result = ((int (*)(int))dlsym(RTLD_NEXT, "close"))(fd);
    if (fd != 1)
        return result;
    errno = EIO;
    return -1;
}
END
    "${CC:-cc}" -shared -fPIC close.c -o close.so
    ends_with 1 env LD_PRELOAD="$PWD/close.so" "$GZLZSS" --help
    grep -qx "${GZLZSS##*/}: stdout: I[/a-z]*[Oo][a-z]* error" stderr
    status=0
    LD_PRELOAD=$PWD/close.so "$GZLZSS" --help >/dev/full 2>stderr || status=$?
    [ "$status" -eq 1 ]
    grep -qx "${GZLZSS##*/}: stdout: No space left on device" stderr
}

@test "help to a full disk fails" {
    [ -c /dev/full ] || skip "there is no /dev/full"
    status=0
    "$GZLZSS" --help >/dev/full 2>stderr || status=$?
    [ "$status" -eq 1 ]
    [ -s stderr ]
}

@test "--list-devices prints a line and succeeds, with a GPU or without" {
    ends_with 0 "$GZLZSS" --list-devices
    stderr_is
    [ -s stdout ]
    ends_with 0 "$GZLZSS" --list-devices --json
    # A line has a number first if it is a GPU's, and only then.
    "$GZLZSS" --list-devices >list
    [ "$(grep -c '^[0-9]*: ' list)" -eq "$(wc -l <stdout)" ]
}

@test "--backend=cpu and auto write the same bytes" {
    "$GEN" mixed 2500000 >large
    for f in plain large; do
        "$GZLZSS" -nc "$f" >z
        "$GZLZSS" -nc --backend=cpu "$f" | cmp z -
        "$GZLZSS" -nc --backend=auto "$f" | cmp z -
        "$GZLZSS" -n --backend=cpu <"$f" | cmp z -
    done
    # The last option counts.
    "$GZLZSS" -nc --backend=gpu --backend=cpu large | cmp z -
}

@test "-vv tells where the time went, and of GPUs only if one was used" {
    local t='[0-9]+\.[0-9]{3}' name
    name=$(basename "$GZLZSS")
    ends_with 0 "$GZLZSS" -vv --backend=cpu -k plain
    [ "$(wc -l <stderr)" -eq 3 ]
    grep -qE "^$name: plain: GPU not used: not wanted$" stderr
    grep -qE "^$name: plain: 1 segment; seconds: read $t, match $t, encode $t, write $t$" stderr
    # If matching takes a second or more, times have one decimal; with -vvv, three.
    "$GEN" text 6000000 >large
    # Make matching the first segment take a second on any machine: stop the command when it has
    # read the segment and has used 0.05 s of CPU time.
    "$GZLZSS" -vvkf -p1 -12 --backend=cpu large 2>stderr 3>&- &
    until awk '/^rchar/ { exit $2 < 4194304 }' /proc/$!/io &&
        awk '{ exit $14 + $15 < 5 }' /proc/$!/stat; do
        kill -0 $!
    done
    kill -STOP $!
    sleep 1.1
    kill -CONT $!
    wait $!
    t='[0-9]+\.[0-9]'
    grep -qE "^$name: large: 2 segments; seconds: read $t, match $t, encode $t, write $t$" stderr ||
        fail "$(cat stderr)"
    ends_with 0 "$GZLZSS" -vvvkf -p1 -12 --backend=cpu large
    t='[0-9]+\.[0-9]{3}'
    grep -qE "^$name: large: 2 segments; seconds: read $t, match $t, encode $t, write $t$" stderr
    # With several files, -vv also prints totals.
    ends_with 0 "$GZLZSS" -vvkf -1 --backend=cpu large plain
    [ "$(tail -n 1 stderr)" = "$name: 4 segments, of 2 files" ] || fail "$(cat stderr)"
}

@test "without a GPU: --backend=gpu is one clear line, and nothing is touched" {
    if have_gpu; then
        skip "there is a GPU"
    fi
    for option in --backend=gpu '--backend=gpu -v' '--backend=gpu -q' '--backend=gpu -f'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 1 "$GZLZSS" $option plain
        [ "$(wc -l <stderr)" -eq 1 ]
        grep -q "^$(basename "$GZLZSS"): cannot use a GPU: ..*" stderr
        [ ! -s stdout ]
        absent plain.gz
        [ -e plain ]
    done
    # The error comes before anything is read.
    ends_with 1 "$GZLZSS" --backend=gpu -c plain
    [ ! -s stdout ]
    ends_with 1 "$GZLZSS" --backend=gpu -d plain.z
    grep -q "cannot use a GPU: ..*" stderr
    [ -e plain.z ]
}

@test "what the CPU does alone, it does without looking for a GPU's driver" {
    LD_DEBUG=libs "$GZLZSS" --list-devices >stdout 2>stderr || true
    grep -q 'find library=libcuda' stderr || skip "no GPU engine is installed, or the loader does not tell"
    for options in -c '-c --backend=cpu' '-c -1 -p2' '-c -12 --backend=cpu -p2'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        LD_DEBUG=libs "$GZLZSS" $options plain >stdout 2>stderr
        gzip -t <stdout
        ! grep 'libcuda' stderr || fail "$options"
    done
    LD_DEBUG=libs "$GZLZSS" -dc plain.z >stdout 2>stderr
    ! grep 'libcuda' stderr || fail -dc
}

@test "without a GPU: auto works and says nothing" {
    if have_gpu; then
        skip "there is a GPU"
    fi
    ends_with 0 "$GZLZSS" -nc plain
    stderr_is
    cmp stdout plain.z
    ends_with 0 "$GZLZSS" -nc --backend=auto plain
    stderr_is
    cmp stdout plain.z
}

@test "without a GPU: auto that tries one goes on without, and -vv says so, but not -v" {
    if have_gpu; then
        skip "there is a GPU"
    fi
    export GZLZSS_TEST_GPU_MIN=0
    "$GEN" mixed 2500000 >large
    for f in plain large; do
        ends_with 0 "$GZLZSS" -nc "$f"
        stderr_is
        env -u GZLZSS_TEST_GPU_MIN "$GZLZSS" -nc "$f" | cmp stdout -
        ends_with 0 "$GZLZSS" -v -nc "$f"
        [ "$(wc -l <stderr)" -eq 1 ]
        ends_with 0 "$GZLZSS" -vv -nc "$f"
        grep -q "^$(basename "$GZLZSS"): $f: GPU not used: ..*" stderr
        # With --backend=cpu, the command does not try to use a GPU.
        ends_with 0 "$GZLZSS" -vv --backend=cpu -nc "$f"
        grep -qE "GPU not used: not wanted$" stderr
    done
}

@test "auto wants a GPU for a segment that takes a core long, and not for fewer bytes" {
    have_gpu || skip "there is no GPU"
    "$GEN" mixed 4194305 >large
    for level in 10 12; do
        ends_with 0 "$GZLZSS" -vvc -p16 "-$level" large
        ! grep -q "the CPU is faster" stderr || fail "it does not, at level $level"
        head -c 4194304 large >less
        ends_with 0 "$GZLZSS" -vvc -p16 "-$level" less
        grep -q "GPU not used: below about 4 MB the CPU is faster (level $level, 16 threads)$" \
            stderr
    done
    ends_with 0 "$GZLZSS" -vvc -p16 -9 large
    grep -q "GPU not used: below about 166 MB the CPU is faster (level 9, 16 threads)$" stderr
}

@test "without a GPU: -vv says what is missing, whatever the input's size" {
    local why
    if have_gpu; then
        skip "there is a GPU"
    fi
    # If these files exist, the command assumes that there is a GPU.
    if [ -e /dev/nvidiactl ] || [ -e /dev/dxg ]; then
        skip "there is a GPU's driver"
    fi
    why=$("$GZLZSS" --list-devices)
    "$GEN" mixed 2500000 >large
    cp plain second
    for options in plain large 'plain second' '--rsyncable plain'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 0 "$GZLZSS" -vvkf -p2 $options
        grep 'GPU not used' stderr >said
        [ "$(grep -cF "GPU not used: $why" said)" -eq "$(wc -l <said)" ] || fail "$(cat said)"
    done
}

@test "with a GPU: it does the work, to the same bytes" {
    have_gpu || skip "there is no GPU"
    "$GEN" mixed 2500000 >large
    ends_with 0 "$GZLZSS" -vv --backend=gpu -nc large
    grep -q ': 3 segments: 0 by CPU, 3 by GPU (.*); seconds: .*; GPU: copy in ' stderr
    "$GZLZSS" --backend=cpu -nc large | cmp stdout -
}

@test "GZLZSS holds no operands, also behind --" {
    local value name
    name=$(basename "$GZLZSS")
    cp plain foo
    for value in foo 'foo bar' '-9 foo' 'foo -9' '-- foo' '-9 -- foo' '-- foo -9' '-- foo bar' \
        'foo -- bar' '-- foo --'; do
        ends_with 1 env "GZLZSS=$value" "$GZLZSS" -k plain
        stderr_is "$name: foo: non-option in GZLZSS environment variable" \
            "Try \`$name --help' for more information."
        absent plain.gz foo.gz
    done
    for value in -- -9 '-9 --'; do
        ends_with 0 env "GZLZSS=$value" "$GZLZSS" -kf plain
        stderr_is
    done
}
