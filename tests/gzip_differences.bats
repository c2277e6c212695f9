#!/usr/bin/env bats
# gzip_differences.bats - where gzlzss differs from gzip on purpose
#
# There is one test for each entry of the list "Intended differences" in compare.bash.  The last
# test shows that the comparisons in compare.bash find other differences.

# shellcheck disable=SC2016,SC2317 # Shells that `same` starts run the commands.
# shellcheck disable=SC2094 # Nothing here reads the file that it writes.
# shellcheck disable=SC2154,SC2034 # inputs and compare_queue are compare.bash's.

load helpers
load compare

make_inputs() {
    common_inputs
    "$GEN" source 400000 >large
    gzip -k large
}

# theirs ARGUMENT...: runs GNU gzip.  ours ARGUMENT...: runs gzlzss under the name gzip.
theirs() {
    "$compare_base/theirs/gzip" "$@"
}
ours() {
    "$compare_base/ours/gzip" "$@"
}

# not COMMAND: fails if the command succeeds.  Tests need this function because Bats ignores a
# failed `! COMMAND` that is not the last command of a test.
not() {
    ! "$@"
}

# only_ours ARGUMENT...: with these arguments, gzip must fail and gzlzss must not.
only_ours() {
    not theirs "$@" <"$inputs/large" >/dev/null 2>&1 || fail "gzip has it, too: $*"
    ours "$@" <"$inputs/large" >only_ours.gz
    theirs -dc only_ours.gz | cmp - "$inputs/large"
}

@test "-h, -L and -V are about gzlzss" {
    ours -V | reads_all head -n 1 | reads_all grep -q '^gzlzss [0-9]'
    ours -L | reads_all grep -q gzlzss
    ours -h | reads_all grep -q -e --backend
    ours -h | reads_all grep -q -e --rsyncable
}

# keeps FILE ARGUMENT...: with these arguments, gzip must lose the data of FILE.  gzlzss must end
# with status 1, and leave FILE as it is.
keeps() {
    local file=$1 tool
    shift
    for tool in theirs ours; do
        rm -rf tree
        mkdir tree
        cd tree || return
        take self.gz=text.gz
        ln -s self.gz self
        { cat self.gz; printf '\037\213x'; head -c 1000 /dev/zero; } >more.gz
        # The name stored in this file is own.gz, the name of the compressed file itself.
        {
            printf '\037\213\010\010\0\0\0\0\0\003own.gz\0'
            gzip -nc ../large | tail -c +11
        } >own.gz
        cp "$file" ../before
        if [ $tool = theirs ]; then
            theirs "$@" >/dev/null 2>&1 || :
            not cmp -s "$file" ../before || fail "gzip keeps it, too: $*"
        else
            ends_with 1 ours "$@"
            [ -s stderr ]
            cmp "$file" ../before
        fi
        cd .. || return
    done
}

@test "data that gzip loses" {
    cp "$inputs/large" .
    keeps self.gz -f self
    keeps own.gz -dNf own.gz
    keeps more.gz -d more.gz
}

@test "the time of the first member" {
    printf '\037\213\010\0\1\2\3\4\0\003\003\0\0\0\0\0\0\0\0\0' >first
    printf '\037\213\010\0\5\6\7\4\0\003\003\0\0\0\0\0\0\0\0\0' >second
    cat first second >ours.gz
    cp ours.gz theirs.gz
    # gzip gives the output the stored time of the last member that has such a time.  gzlzss gives
    # the output the first member's time.
    theirs -dN theirs.gz
    [ "$(stat -c %Y theirs)" -eq $((0x04070605)) ]
    ours -dN ours.gz
    [ "$(stat -c %Y ours)" -eq $((0x04030201)) ]
}

@test "-b is the size of segments" {
    ours -nc "$inputs/large" >a
    ours -nc -b 32 "$inputs/large" >b
    not cmp -s a b
    not theirs -b 32k -c "$inputs/large" >/dev/null 2>&1
    ours -nc -b 32k "$inputs/large" | cmp - b
    theirs -dc b | cmp - "$inputs/large"
    # gzip ignores the number of bits.  gzlzss refuses a number that is not a possible segment size.
    theirs -b 16 -c "$inputs/large" >/dev/null
    ends_with 1 ours -b 16 -c "$inputs/large"
    ends_with 1 ours -b 99999999 -c "$inputs/large"
}

@test "levels above 9" {
    for n in $(levels | sed -n '/../p'); do
        ours -n"$n" <"$inputs/large" >a
        ours -n "--level=$n" <"$inputs/large" | cmp - a
        theirs -dc a | cmp - "$inputs/large"
    done
    not theirs -10 <"$inputs/large" 2>/dev/null
    ends_with 1 ours -0 -c "$inputs/large"
    ends_with 1 ours -90 -c "$inputs/large"
}

@test "options that gzip does not have" {
    only_ours --output=-
    only_ours -p 1
    only_ours -p1
    only_ours -T 2
    only_ours -T2
    only_ours --processes=1
    only_ours --processes 2
    only_ours --threads=2
    only_ours --blocksize=64
    only_ours --backend=cpu
    only_ours --backend auto
    only_ours --level=3
    only_ours --progress
    for o in --alias=x --comment=x --compress --huffman --no-progress --no-time --rle --rm \
        --time; do
        only_ours "$o"
    done
    # gzlzss also has these options of pigz.
    only_ours -i
    only_ours -R
    only_ours --independent
    ours -n --rsyncable <"$inputs/large" >wanted
    ours -nR <"$inputs/large" | cmp - wanted
    ours -n <"$inputs/large" >wanted
    ours -ni <"$inputs/large" | cmp - wanted
    for o in -R -i; do
        not env GZIP=$o "$compare_base/ours/gzip" <"$inputs/large" >/dev/null 2>&1
    done
    not theirs --list-devices >/dev/null 2>&1
    # --list-devices lists the devices or, without a device, says why there is none.
    ours --list-devices >devices
    [ -s devices ]
}

@test "the suffix .zz means zlib's format" {
    ours --zlib -c "$inputs/large" >a.zz
    ends_with 2 theirs -d a.zz
    ours -d a.zz
    cmp a "$inputs/large"
}

@test "an ambiguous option's possibilities are gzip's and gzlzss's own" {
    local o p found=0
    for o in f n l v r s t b; do
        for p in $(theirs --$o 2>&1 | sed -n "s/.*possibilities: //p" | tr -d "'"); do
            ends_with 1 ours --$o
            grep -q -a -e "'$p'" stderr || fail "--$o: no $p"
            found=$((found + 1))
        done
    done
    [ "$found" -ge 16 ]
}

@test "compressed data is gzlzss's" {
    local n
    for n in 1 6 9; do
        ours -$n -nc "$inputs/large" >a
        theirs -$n -nc "$inputs/large" >b
        not cmp -s a b
        [ "$(hex a 0 10)" = "$(hex b 0 10)" ]
    done
}

@test "long runs of zeros become holes" {
    truncate -s 1M holes
    [ "$(du -k holes | cut -f 1)" -eq 0 ] || skip "this file system has no holes"
    theirs holes
    cp holes.gz zeros.gz
    theirs -d holes.gz
    ours -d zeros.gz
    cmp holes zeros
    [ "$(du -k zeros | cut -f 1)" -eq 0 ]
    [ "$(du -k holes | cut -f 1)" -ge 1024 ]
}

# compare_made SCRIPT COMMAND: puts this script in gzlzss's place.  True if the comparison finds no
# difference between gzip and the script when COMMAND runs.
compare_made() {
    local holds=1
    rm "$compare_base/ours/gzip"
    printf '#!/bin/bash\ngzip=%q/theirs/gzip\n%s\n' "$compare_base" "$1" >"$compare_base/ours/gzip"
    chmod 755 "$compare_base/ours/gzip"
    compare_queue=()
    same 'take text text.gz other; mkdir sub; ln -s text link; mkfifo fifo' "$2"
    rm -f "$BATS_TEST_TMPDIR/verdict"
    compare_queued >/dev/null || holds=
    compare_queue=()
    # Callers look at the status, so `fail` would not end the test.
    if [ ! -e "$BATS_TEST_TMPDIR/verdict" ]; then
        echo "nothing was compared: $2"
        exit 1
    fi
    [ -n "$holds" ]
}

# sabotaged SCRIPT COMMAND: runs COMMAND with gzip and with the script, which does something wrong;
# the comparison must find a difference.  If gzip itself takes the script's place, the comparison
# must find none.
sabotaged() {
    case $proven in
    *"[$2]"*) ;;
    *) compare_made 'exec "$gzip" "$@"' "$2" || fail "this does not hold: $2" ;;
    esac
    proven+=[$2]
    if compare_made "$1" "$2"; then
        fail "this is not found: $1"
    fi
}

@test "what the comparison finds" {
    local real proven=
    real=$(readlink "$compare_base/ours/gzip")
    cp "$compare_base/count" count
    sabotaged '"$gzip" "$@"; exit 3' 'gzip text'
    sabotaged '"$gzip" "$@" && exit 2' 'gzip -c text'
    sabotaged '"$gzip" "$@"; r=$?; echo >&2; exit $r' 'gzip text'
    sabotaged '"$gzip" "$@"; r=$?; printf "\0" >&2; exit $r' 'gzip missing'
    sabotaged 'echo >&2; exec "$gzip" "$@"' 'gzip missing'
    sabotaged '"$gzip" "$@" 2>&1 | tr -d "\n" >&2; exit 1' 'gzip missing'
    sabotaged '"$gzip" "$@" 2>&1' 'gzip missing'
    sabotaged '"$gzip" "$@" 2>&1 | tr G g >&2; exit 1' 'gzip Gone'
    sabotaged '"$gzip" "$@"; echo x' 'gzip -dc text.gz'
    sabotaged '"$gzip" "$@"; printf "\0"' 'gzip -k other'
    sabotaged '"$gzip" "$@" | head -c -1' 'gzip -dc text.gz'
    sabotaged '"$gzip" "$@"; echo x | "$gzip"' 'gzip -c text'
    sabotaged '"$gzip" -n "$@"' 'gzip -c text'
    sabotaged '"$gzip" -1 "$@"' 'gzip -c text'
    sabotaged '"$gzip" -n "$@"' 'gzip -f text'
    sabotaged '"$gzip" -k "$@"' 'gzip other'
    sabotaged '"$gzip" "$@"; touch -d "$(stat -c %y other.gz | cut -c 1-26)" other.gz' 'gzip other'
    sabotaged '"$gzip" "$@"; touch -m other.gz' 'gzip other'
    sabotaged '"$gzip" "$@"; touch -a other.gz' 'gzip other'
    sabotaged '"$gzip" "$@"; chmod o+x other.gz' 'gzip other'
    sabotaged '"$gzip" "$@"; chmod u+s other.gz' 'gzip other'
    sabotaged '"$gzip" "$@"; : >new' 'gzip other'
    sabotaged '"$gzip" "$@"; rm fifo' 'gzip other'
    sabotaged '"$gzip" "$@"; rm fifo; : >fifo' 'gzip other'
    sabotaged '"$gzip" "$@"; ln -sf other link' 'gzip other'
    sabotaged '"$gzip" "$@"; ln text hard' 'gzip other'
    sabotaged '"$gzip" "$@"; rmdir sub' 'gzip other'
    sabotaged '"$gzip" "$@"; chmod 700 sub' 'gzip other'
    sabotaged '"$gzip" "$@"; mv other.gz sub' 'gzip other'
    sabotaged '"$gzip" "$@"; touch -r other.gz t; \
        printf X | dd of=other.gz bs=1 seek=8 conv=notrunc status=none; \
        touch -r t other.gz; rm t' 'gzip other'
    sabotaged '"$gzip" "$@"; t=$(stat -c %y text); \
        printf X | dd of=text bs=1 seek=8 conv=notrunc status=none; \
        touch -m -d "$t" text' 'gzip other'
    if [ "$(id -u)" -eq 0 ]; then
        sabotaged '"$gzip" "$@"; chown 1:0 other.gz' 'gzip other'
        sabotaged '"$gzip" "$@"; chown 0:1 other.gz' 'gzip other'
    fi
    rm "$compare_base/ours/gzip"
    ln -s "$real" "$compare_base/ours/gzip"
    mv count "$compare_base/count"
    # Differently compressed data does not count as a difference.
    printf '#!/bin/bash\n"%s" -6 "$@" | "%s" -d | "%s" -n5' \
        "$compare_base"/{theirs,theirs,theirs}/gzip >"$compare_base/ours/gzip.5"
    chmod 755 "$compare_base/ours/gzip.5"
    mv "$compare_base/ours/gzip.5" "$compare_base/ours/gzip"
    same 'take text' 'gzip -nc text'
}
