#!/usr/bin/env bats
# gzip_options.bats - options mean what they mean to GNU gzip, and unknown ones are errors

# shellcheck disable=SC2016 # Shells that `same` starts run the commands.

load helpers
load compare

make_inputs() {
    common_inputs
}

both_kinds() {
    take text other.gz
}

@test "every short option, alone, when compressing" {
    for o in a c d f k l m M n N q r t v 1 2 3 4 5 6 7 8 9; do
        same_but_sizes two_files "gzip -$o text"
    done
    same_but_sizes two_files 'gzip -S .x text' 'gzip -S.x text' 'gzip text' 'gzip -vv text' \
        'gzip -vvv text'
}

@test "every short option, alone, when decompressing" {
    for o in a c d f k l m M n N q r t v 1 9; do
        same two_compressed "gzip -d$o text.gz"
    done
    same two_compressed 'gzip -dS .x text.gz' 'gzip -dS.x text.gz' 'gzip -dvv text.gz' \
        'gzip -d text.gz other.gz'
}

@test "every short option, alone, from a pipe" {
    for o in a c d f k l m M n N q r t v 1 9; do
        same_in_turn_but_sizes two_files "gzip -$o <text"
        same_in_turn two_compressed "gzip -d$o <text.gz"
    done
}

@test "every long option, when compressing" {
    for o in ascii stdout to-stdout decompress uncompress force keep list no-name name quiet \
        silent recursive rsyncable synchronous test verbose fast best suffix=.x 'suffix .x' lzw \
        -presume-input-tty; do
        same_but_sizes two_files "gzip --$o text"
    done
}

@test "every long option, when decompressing" {
    for o in ascii stdout to-stdout decompress uncompress force keep list no-name name quiet \
        silent recursive rsyncable synchronous test verbose fast best suffix=.x 'suffix .x' lzw \
        -presume-input-tty; do
        same two_compressed "gzip -d --$o text.gz"
    done
}

@test "every two of the short options together" {
    local a b
    for a in a c d f k l n N q r t v; do
        for b in c d f k l n N q r t v; do
            [ $a = $b ] || same_but_sizes both_kinds "gzip -$a$b text other.gz"
        done
    done
}

@test "three and more" {
    same_but_sizes both_kinds 'gzip -dct other.gz' 'gzip -dcl other.gz' 'gzip -tlv other.gz' \
        'gzip -ltv other.gz' 'gzip -lcv other.gz' 'gzip -kfv text' 'gzip -kqv text' \
        'gzip -kvq text' 'gzip -qvv text' 'gzip -vqv text' 'gzip -dvq other.gz' \
        'gzip -dqv other.gz' 'gzip -nNk text' 'gzip -Nnk text' 'gzip -NnNk text' \
        'gzip -dnN other.gz' 'gzip -dNn other.gz' 'gzip -lNn other.gz' 'gzip -lnN other.gz' \
        'gzip -dkc other.gz' 'gzip -1k9 text' 'gzip -91k text' 'gzip -k1 -9 text' \
        'gzip -9 -k1 text' 'gzip --fast -k --best text' 'gzip --best --fast -k text' \
        'gzip -kc9vf text' 'gzip -dkcvf other.gz' 'gzip -drcv other.gz' 'gzip -tvq other.gz' \
        'gzip -tqv other.gz' 'gzip -mM -k text' 'gzip -Mm -k text' 'gzip -nM -k text' \
        'gzip -Nm -k text' 'gzip -dm other.gz' 'gzip -dM other.gz' 'gzip -dNm other.gz' \
        'gzip -dnM other.gz' 'gzip -S .a -S .b text' 'gzip -kS.a --suffix=.b text' \
        'gzip -ad other.gz' 'gzip -dd other.gz' 'gzip -tt other.gz' 'gzip -ll other.gz' \
        'gzip -cc text' 'gzip -ff text' 'gzip -kk text' 'gzip -rr text' 'gzip -tf text' \
        'gzip -lf text' 'gzip -dcf text other.gz' 'gzip -dtf text' 'gzip -tcf text'
}

@test "levels' headers" {
    same two_files 'gzip -1k text' 'gzip -2k text' 'gzip -9k text' 'gzip --fast text' \
        'gzip --best text' 'gzip -1 <text' 'gzip -9 <text' 'gzip -n1 text' 'gzip -n9 text' \
        'gzip -N1 <text' 'gzip -12k text' 'gzip -c -1 text' 'gzip -1n --rsyncable text' \
        'gzip -9 --rsyncable text' 'gzip --rsyncable -dc text'
}

@test "options that there are not" {
    local o
    for o in A B C D E F G I J K O P Q U W X Y 0 e g j o s u w x y z '?' : = + ',' . / ' '; do
        same_in_turn two_files "gzip '-$o' text" "gzip '-k$o' text"
    done
    same_in_turn two_files 'gzip -01 text' 'gzip -90 text' 'gzip -k -0' 'gzip -kA missing' \
        'gzip missing -A' 'gzip -é text' 'gzip --foo text' 'gzip --foo=3 text' \
        'gzip --no-date text' 'gzip --date text' 'gzip --stdout2 text' 'gzip --Stdout text' \
        'gzip --no text' 'gzip --no-nam text' 'gzip --noname text' 'gzip --bytes text' \
        'gzip -W text' 'gzip -W keep text' 'gzip --keep= text' 'gzip --keep=1 text' \
        'gzip --fast=3 text' 'gzip --help=3' 'gzip --version=x' 'gzip -Z' 'gzip -Z text' \
        'gzip -kZ text' 'gzip -Zk text' 'gzip --lzw text' 'gzip -d --lzw text' 'gzip text --foo' \
        'gzip --decompress=yes text' 'gzip --1 text' 'gzip --9 text' 'gzip --6 text' \
        'gzip --H text' 'gzip --uncompres' 'gunzip --foo' 'zcat -A'
}

@test "abbreviations that only gzip's names decide" {
    local o
    for o in a asc sto std to to-s d dec u un fo forc h he k kee lis lic no no- na q qui sil sy \
        sync su suff=.x re rs te verb vers fa be bes lz si st p - -p -presume; do
        same_but_sizes both_kinds \
            "gzip --$o text 2>&1 | sed -E '/^(Usage|gzip [0-9]|gzlzss [0-9])/,\$d'"
    done
}

# Removes the list of possibilities, which may include options that only gzlzss has.
without_list() {
    sed -E 's/(ambiguous; possibilities:) .*/\1/'
}

@test "abbreviations that are ambiguous" {
    local o
    for o in f n l v r s t b li ver =; do
        same_in_turn both_kinds "gzip --$o text 2>&1 | without_list" "gzip --$o >/dev/null 2>&1"
    done
    for o in fa=1 f=1 l=1 r=x; do
        same_in_turn both_kinds "gzip --$o text 2>&1 | without_list"
    done
}

@test "arguments of options" {
    same two_files 'gzip -S' 'gzip --suffix' 'gzip -k -S' 'gzip text -S' 'gzip text --suffix' \
        'gzip -b' 'gzip --bits' 'gzip -Sk text' 'gzip -S -k text' 'gzip -S -- text' \
        'gzip -S= text' 'gzip --suffix= text' 'gzip -S "" text' 'gzip -S .x -S "" text' \
        'gzip --suffix=.x=y text' 'gzip --suffix .x text' 'gzip -kSx text' 'gzip -S .x' \
        'gzip -S .x -d' 'gzip -S "" --foo' 'gzip -S ""' 'gzip -S "" missing' 'gzip -c -S "" text' \
        'gzip -d -S "" text' 'gzip -t -S "" text' 'gzip -l -S "" text' 'gzip -S "" <text'
}

@test "-b wants a number" {
    same_in_turn two_files 'gzip -b x text' 'gzip -b "" text' 'gzip --bits=x text' \
        'gzip --bits x text' 'gzip -b 9x text' 'gzip -b "" ' 'gzip -kb' 'gzip -dbx text'
}

@test "operands before options, and --" {
    same_but_sizes both_kinds 'gzip text -v' 'gzip text -k' 'gzip text -c' 'gzip other.gz -d' \
        'gzip text -kv other.gz' 'gzip -- text' 'gzip -k -- text' 'gzip -- -k text' 'gzip -- -k' \
        'gzip text -- -k' 'gzip --' 'gzip -- --' 'gzip -k -- text -- other.gz' \
        'gzip text - -k <text' 'gzip - -k text <text' 'gzip -c - <text' 'gzip -d - <other.gz' \
        'gzip -- - <text' 'gzip -d -- - <other.gz' 'gzip -dk other.gz -v --' \
        'cp -p text ./-v; gzip -- -v' 'cp -p text ./-v; gzip ./-v' 'cp -p text ./--; gzip -- --' \
        'cp -p text ./-; gzip ./-' 'cp -p text ./-; gzip - <other.gz'
}

@test "POSIXLY_CORRECT" {
    local c
    for c in 'gzip text -v' 'gzip -k text -v' 'gzip -v text' 'gzip text --' 'gzip -- text -v' \
        'gzip - -v <text' 'gzip -A text' 'gzip --foo text' 'gzip -kdv other.gz -k' 'gzip -S' \
        'gzip --f' 'cp -p text ./-v; gzip text -v'; do
        same_but_sizes both_kinds "export POSIXLY_CORRECT=1; $c 2>&1 | without_list" \
            "export POSIXLY_CORRECT=; $c >/dev/null 2>&1"
    done
}

@test "no operand, empty operands and many -" {
    same_but_sizes both_kinds 'gzip ""' 'gzip "" text' 'gzip text ""' 'gzip -d ""' 'gzip -c ""' \
        'gzip -l ""' 'gzip -t ""' 'gzip -r ""' 'gzip -f ""' 'gzip -q ""' 'gzip <text' \
        'gzip -d <other.gz' 'gzip - - <text' 'gzip - - - <text' 'gzip -d - - <other.gz' \
        'gzip -t - - <other.gz' 'gzip -l - - <other.gz' 'gzip -tv - - <other.gz' \
        'gzip - text - <text' 'gzip -c - text - <text' 'gzip -dc other.gz - other.gz <other.gz' \
        'gzip text - text <text' 'gzip -v - <text' 'gzip -v <text' 'gzip -dv <other.gz' \
        'gzip -d - other.gz <other.gz' 'gzip -k - <text' 'gzip -N <text' 'gzip -n <text' \
        'gzip </dev/null' 'gzip -d </dev/null' 'gzip -t </dev/null' 'gzip -l </dev/null' \
        'gzip -f - <text' 'gzip -S .x - <text' 'gzip -dS .x - <other.gz' 'gzip -r - <text' \
        'gzip -9 - <text' 'gzip -dcf - <text' 'gzip -dcf - - <text' 'gzip -df - <text' \
        'gzip -df <text'
}

# Compares only how the texts begin, and the exit statuses, since the texts differ.
@test "-h, -L and -V" {
    same_in_turn_but_sizes two_files 'gzip -h | head -n 1 | cut -c 1-12; exit ${PIPESTATUS[0]}' \
        'gzip -H >/dev/null' 'gzip --help >/dev/null' 'gzip -h text >/dev/null' \
        'gzip text -h >/dev/null' 'gzip -hA text >/dev/null' 'gzip -Ah text >/dev/null' \
        'gzip -V >/dev/null' 'gzip --version >/dev/null' 'gzip -V text >/dev/null' \
        'gzip text -V >/dev/null' 'gzip -L >/dev/null' 'gzip --license >/dev/null' \
        'gzip -L text >/dev/null' 'gzip -hV >/dev/null' 'gzip -Vh | grep -c Usage' \
        'gzip -hV | grep -c Usage' 'gzip -VA >/dev/null' 'gzip -S "" -h >/dev/null' \
        'gzip -h -S "" >/dev/null' 'gzip -V -S "" >/dev/null' 'gzip -Z -h >/dev/null' \
        'gzip -h -Z >/dev/null' 'gzip -qh | grep -c Usage' 'gzip -h >/dev/full' \
        'gzip -V >/dev/full' 'gzip -L >/dev/full' 'gzip -h >&-' 'gzip -V >&-' \
        'gunzip -h | head -n 1 | cut -c 1-14' 'zcat -h | head -n 1 | cut -c 1-12' \
        'gunzip -V >/dev/null' 'gzip --help missing >/dev/null' 'gzip -b x -h >/dev/null' \
        'gzip -h -b x >/dev/null'
}

@test "the name that the program goes by" {
    local name
    for name in gzip gunzip zcat gzcat uncompress un ungzip ungz gun gunz xgunzip cat mycat gzcats \
        GUNZIP Zcat gunzip.exe zcat.exe gzip.EXE .exe lt-gunzip gzlzss unlzss gzip-1.12 \
        zcat-1 '' /usr/bin/gunzip ./zcat ../x/gzip gunzip/ /bin/zcat// -gzip; do
        same_but_sizes two_compressed "(exec -a '$name' gzip text.gz)"
        same_in_turn_but_sizes two_compressed "(exec -a '$name' gzip -c missing text.gz)" \
            "(exec -a '$name' gzip <text.gz)" "(exec -a '$name' gzip -A)"
    done
    same_but_sizes two_compressed 'gunzip text.gz' 'gunzip -v text.gz' 'gunzip -c text.gz' \
        'gunzip -t text.gz' 'gunzip -l text.gz' 'gunzip -k text' 'gunzip missing' \
        'gunzip <text.gz' 'zcat text.gz other.gz' 'zcat text' 'zcat -v text.gz' 'zcat <text.gz' \
        'zcat missing' 'zcat -t text.gz' 'zcat -l text.gz' 'zcat -f text.gz' 'gunzip -f text.gz' \
        'zcat -k text.gz' 'zcat -r .' 'gunzip -r .' 'gunzip -rv .' 'zcat - text.gz <other.gz' \
        'zcat -d text.gz' 'zcat -1 text.gz' 'gunzip -9 text.gz' 'gunzip -S .x text.gz' \
        'gunzip -N text.gz' 'gunzip -n text.gz' 'gunzip -q text.gz'
}
