#!/usr/bin/env bats
# gzip_env.bats - the environment variable GZIP, which GNU gzip reads but warns of

# shellcheck disable=SC2016,SC2317 # Shells that `same` starts run the commands.

load helpers
load compare

make_inputs() {
    common_inputs
}

both_kinds() {
    take text other.gz
}

@test "what it may hold" {
    local v
    for v in -1 -2 -3 -4 -5 -6 -7 -8 -9 --fast --best -n -N -q -v --no-name --name --quiet \
        --silent --verbose --rsyncable -vv -1v -v1 -n9 -9n -nN -Nn -qv -vq -n1v9 '-1 -9' '-9 -1' \
        '-n -1' '-v -q' '-q -v' '-9 --rsyncable' --verb --quie --no-n --na --rs --fa --be --sile \
        '-v -v'; do
        same_but_sizes both_kinds "GZIP='$v' gzip text" "GZIP='$v' gzip -d other.gz"
        same_in_turn_but_sizes both_kinds "GZIP='$v' gzip -c text"
    done
}

@test "what it may not hold" {
    local v
    for v in -c -d -f -h -k -l -L -m -M -r -t -V -Z -a -H '-S .x' -S.x '-b 9' -b9 --stdout \
        --to-stdout --decompress --uncompress --force --help --keep --list --license --recursive \
        --synchronous --test --version --lzw --ascii --suffix=.x '--suffix .x' --bits=9 \
        ---presume-input-tty -1c -c1 -vd -9k '-1 -c' '-c -1' '-v --keep' --kee --to --dec -kv -ck \
        '-k -c' -qc '-q -c' '-q -k'; do
        same_in_turn both_kinds "GZIP='$v' gzip text"
    done
    same both_kinds 'GZIP=-c gzip -q text' 'GZIP=-c gzip -h' 'GZIP=-c gzip' \
        'GZIP=-d gunzip other.gz' 'GZIP=-c zcat other.gz' 'GZIP=-c gzip --foo'
}

@test "what is no option" {
    local v
    for v in -A -0 -10 -P -W -u -x --foo --foo=3 --s --f --n --v --t --r --fast=1 --verbose=2 \
        --no-name=x -b -S --bits --suffix '-1 -S' '-?' -9A -A9 '-v -A' '-A -v' '-q -A' -qA -Aq \
        --level2 --bytes; do
        same_in_turn both_kinds "GZIP='$v' gzip text 2>&1 | sed -E 's/(possibilities:).*/\1/'" \
            "GZIP='$v' gzip text 2>/dev/null"
    done
}

@test "operands in it" {
    local v
    for v in 9 text 'text -9' '-9 text' - '-9 -' '- -9' -- '-9 --' '-- -9' '-- text' '-9 -- text' \
        '-9 text other.gz' '-1 2' "'-9'" '"-9"' '\-9' "-9'" "'-9" $'-9\\' '-9"' '$x' '*' '-9 *' \
        '#' '-c text' 'text -c' '-q text' 'text -A' '-A text' '= -9' '-9;-1' '-9,-1' '-9 ; -1'; do
        same_in_turn both_kinds "GZIP=$(printf %q "$v") gzip text"
    done
}

@test "blanks" {
    local v
    for v in '' ' ' '  ' $'\t' $' \t ' ' -9' '-9 ' $'\t-9' $'-9\t' $'-9\t-n' '-9   -n' $'\n' \
        $'-9\n' $'\n-9' $'-9\n-n' $'-9\r' $'\v-9' $'-9\f' $'-9\v-n' $'\xa0-9' '-9  '; do
        same both_kinds "GZIP=$(printf %q "$v") gzip text" "GZIP=$(printf %q "$v") gzip -d other.gz"
    done
    same both_kinds "GZIP='$(printf '%04000d' 0 | tr 0 ' ')-9' gzip text" \
        "GZIP='$(printf -- '-9 %.0s' {1..500})' gzip text"
}

@test "beside the command line" {
    same_but_sizes both_kinds 'GZIP=-9 gzip -1 text' 'GZIP=-1 gzip -9 text' 'GZIP=-9 gzip -q text' \
        'GZIP=-9 gzip -q -k text' 'GZIP=-q gzip -v text' 'GZIP=-v gzip -q text' \
        'GZIP=-q gzip other.gz' 'GZIP=-q gzip -v other.gz' 'GZIP=-n gzip -N text' \
        'GZIP=-N gzip -n text' 'GZIP=-N gzip -d other.gz' 'GZIP=-n gzip -dN other.gz' \
        'GZIP=-v gzip -v text' 'GZIP=-9 gzip --foo' 'GZIP=-q gzip --foo' 'GZIP=-9 gzip -A text' \
        'GZIP=-9 gzip -k text -v' 'GZIP=-9 gzip -- text' 'GZIP=-9 gzip' 'GZIP=-9 gzip <text' \
        'GZIP=-9 gzip -' 'GZIP=-9 gzip missing' 'GZIP=-q gzip missing' \
        'GZIP=-9 gzip -h >/dev/null' 'GZIP=-9 gzip -V >/dev/null' 'GZIP=-9 gzip -L >/dev/null' \
        'GZIP=-q gzip -V >/dev/null' 'GZIP=-9 gzip -l other.gz' 'GZIP=-v gzip -l other.gz' \
        'GZIP=-v gzip -t other.gz' 'GZIP=-q gzip -t other.gz' 'GZIP=-9 gunzip other.gz' \
        'GZIP=-9 zcat other.gz' 'GZIP=-v zcat other.gz' 'GZIP=-q gunzip text' \
        'GZIP=-9 gzip -S "" text' 'GZIP=-9 gzip -b x' 'GZIP=-9 gzip -Z' 'GZIP=-9 gzip -S' \
        'GZIP=-9 gzip "" text' 'GZIP=-9 gzip text ""' 'GZIP=-9 gzip -r .' \
        'GZIP=-9 gzip -c text other.gz'
}

@test "POSIXLY_CORRECT, and other variables" {
    same_but_sizes both_kinds 'POSIXLY_CORRECT=1 GZIP=-9 gzip text -k' \
        'POSIXLY_CORRECT=1 GZIP=-9 gzip -k text' 'POSIXLY_CORRECT=1 GZIP="-9 text" gzip -k text' \
        'POSIXLY_CORRECT=1 GZIP="text -9" gzip -k' 'GZIP_OPT=-v gzip text' 'gzip=-v gzip text' \
        'GUNZIP=-v gunzip other.gz' 'ZCAT=-v zcat other.gz' 'COLUMNS=20 gzip -l other.gz' \
        'TMPDIR=/nowhere gzip text' 'LC_ALL=de_DE.UTF-8 LANGUAGE=de gzip missing' \
        'LC_ALL=C.UTF-8 gzip --foo' 'LC_ALL=C.UTF-8 gzip -A' \
        'unset PATH; hash gzip 2>/dev/null; GZIP=-v POSIXLY_CORRECT= gzip text -k'
}
