#!/usr/bin/env bats
# destination.bats - where outputs go: -o, --output-dir and --output-dir-mirror; and which inputs
# stay: -k and --rm

# shellcheck disable=SC2094 # Nothing here writes the file that it reads.

load helpers

setup() {
    enter_test_directory
    NAME=${GZLZSS##*/}
    "$GEN" text 3000 >a
    "$GEN" text 5000 >b
}

# Makes the directory "in", with three files called x in different directories, and one called y.
make_tree() {
    mkdir -p in/1/2 in/3
    echo first >in/x
    echo second >in/1/2/x
    echo third >in/3/x
    "$GEN" text 70000 >in/3/y
}

# files DIR: prints the names of all files and directories in DIR, sorted, on one line.
files() {
    (cd "$1" && find . -mindepth 1 -printf '%P\n' | LC_ALL=C sort | tr '\n' ' ')
}

# holds FILE.gz FILE: FILE.gz must decompress to the contents of FILE.
holds() {
    gzip -dc <"$1" | cmp - "$2"
}

# --- -o ---

@test "-o names the output, in any way to write it, and the input stays" {
    local option
    for option in '-o out' -oout --output=out '--output out' '-vqo out'; do
        rm -f out
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 0 "$GZLZSS" $option a
        stderr_is
        [ ! -s stdout ]
        holds out a
        absent a.gz
    done
    mkdir d
    ends_with 0 "$GZLZSS" -d out -o d/plain
    cmp d/plain a
    [ -e out ]
}

@test "-o and standard input: the file gets the mode that the umask allows" {
    umask 027
    "$GZLZSS" -o out.gz <a
    holds out.gz a
    [ "$(stat -c %a out.gz)" = 640 ]
    "$GZLZSS" -d -o out - <out.gz
    cmp out a
    "$GZLZSS" --atomic -o new.gz <a
    [ "$(stat -c %a new.gz)" = 640 ]
}

@test "-o copies the mode and the time of an input file" {
    chmod 604 a
    touch -d '2001-02-03 04:05:06.789' a
    for options in '' --atomic --synchronous '--atomic --synchronous'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        "$GZLZSS" $options -fo out a
        [ "$(stat -c '%a %Y' out)" = "$(stat -c '%a %Y' a)" ]
    done
}

@test "-o takes one input: several are refused, and nothing is touched" {
    local words
    mkdir d
    for words in 'a b' '-r d' '-r a' '- -' '--files-from=list'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 1 "$GZLZSS" -o out $words
        stderr_is "$NAME: --output takes one input; for several, give --output-dir"
        absent out a.gz b.gz
    done
    # -t and -l write no output, so they ignore -o.
    "$GZLZSS" -k a b
    "$GZLZSS" -t -o out a.gz b.gz
    "$GZLZSS" -l -o out a.gz b.gz
    absent out
}

@test "-o an existing file: not overwritten, unless the user says yes or -f" {
    echo old >out
    ends_with 2 "$GZLZSS" -o out a
    stderr_is "$NAME: out already exists;	not overwritten"
    [ "$(cat out)" = old ]
    if have script; then
        echo n | script -qec "'$GZLZSS' ---presume-input-tty -o out a" /dev/null >/dev/null || true
        [ "$(cat out)" = old ]
        echo y | script -qec "'$GZLZSS' ---presume-input-tty -o out a" /dev/null >/dev/null
        holds out a
    fi
    ends_with 0 "$GZLZSS" -f -o out b
    stderr_is
    holds out b
    # A link is replaced, not followed.
    ln -s b link
    ends_with 2 "$GZLZSS" -o link a
    ends_with 0 "$GZLZSS" -f -o link a
    [ ! -L link ]
    holds link a
}

@test "-o the input itself is refused, by any name and in any way" {
    cp a copy
    ln a hard
    ln -s a soft
    mkdir d
    for words in '-o a' '-o ./a' '-o d/../a' "-o $PWD/a" '-o hard' '-d -o a'; do
        for force in '' -f '-f --atomic' '-f --rm'; do
            # shellcheck disable=SC2086 # The shell splits it into words.
            ends_with 1 "$GZLZSS" $words $force a
            grep -q "^$NAME: .*: input and output are the same file\$" stderr ||
                grep -q 'not in gzip format' stderr || fail "$words $force: $(cat stderr)"
            cmp a copy
            cmp hard copy
        done
    done
    ends_with 1 "$GZLZSS" -f -o a soft
    stderr_is "$NAME: a: input and output are the same file"
    cmp a copy
}

@test "-o a directory, or into one that there is not, is an error" {
    mkdir d
    for force in '' -f '-f --atomic'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 1 "$GZLZSS" $force -o d a
        stderr_is "$NAME: d: Is a directory"
        # shellcheck disable=SC2086
        ends_with 1 "$GZLZSS" $force -o none/out a
        stderr_is "$NAME: none/out: No such file or directory"
    done
    [ -d d ]
    [ -e a ]
}

@test "-o - is standard output; the last of -c and -o counts" {
    "$GZLZSS" -nc a >expected
    "$GZLZSS" -n -o - a | cmp - expected
    "$GZLZSS" -nc b | cat expected - >both
    "$GZLZSS" -n -o - a b | cmp - both
    "$GZLZSS" -n -o out -c a | cmp - expected
    absent out
    "$GZLZSS" -nco out a
    cmp out expected
    [ -e a ]
}

# make_device NAME MINOR: makes a device like /dev/null (minor 3) or /dev/full (7).  Fails where
# that is not allowed.  No test writes to the real ones: a wrong command would replace them.
make_device() {
    if [ "$(id -u)" -ne 0 ] || ! mknod "$1" c 1 "$2" 2>/dev/null; then
        return 1
    fi
    if [ "$2" -eq 3 ] && ! { : >>"$1"; } 2>/dev/null; then
        rm "$1" # a file system without devices
        return 1
    fi
}

@test "-o a device or a pipe writes to it, and does not replace it" {
    local atomic
    "$GZLZSS" -nc a >expected
    mkfifo fifo
    ln -s /proc/self/fd/1 standard
    for atomic in '' --atomic; do
        timeout 20 cat fifo >got &
        # shellcheck disable=SC2086 # It may be empty.
        timeout 20 "$GZLZSS" $atomic -n -f -o fifo a
        wait $!
        cmp got expected
        [ -p fifo ]
        # shellcheck disable=SC2086
        "$GZLZSS" $atomic -n -o standard a >got
        cmp got expected
        # Standard output may be a pipe.
        timeout 20 cat fifo >piped &
        # shellcheck disable=SC2086
        "$GZLZSS" $atomic -n -f -o standard a >fifo
        wait $!
        cmp piped expected
        [ -L standard ]
    done
    if make_device null 3 && make_device full 7; then
        for atomic in '' --atomic; do
            # shellcheck disable=SC2086
            ends_with 0 "$GZLZSS" $atomic -f -o null a
            # shellcheck disable=SC2086
            ends_with 1 "$GZLZSS" $atomic -f -o full a
            grep -q 'No space left on device' stderr
            [ -c null ]
            [ -c full ]
        done
    fi
}

@test "without -f, an output takes the place of nothing, whatever has its name" {
    local place options
    mkdir d
    echo old >foreign
    ln -s "$PWD/b" link
    ln -s "$PWD/nowhere" dangling
    mkfifo fifo
    make_device device 3 || true
    cp b expected
    for place in d foreign link dangling fifo device; do
        [ -e $place ] || [ -L $place ] || continue
        cp -a $place a.gz
        stat -c '%F %i %s' a.gz >before
        for options in '' --atomic --synchronous; do
            # shellcheck disable=SC2086 # The shell splits it into words.
            ends_with 2 timeout 20 "$GZLZSS" -k $options a
            stderr_is "$NAME: a.gz already exists;	not overwritten"
            stat -c '%F %i %s' a.gz | diff before -
        done
        rm -r a.gz
    done
    cmp b expected
    absent nowhere
}

@test "-o: an input that stays may be a pipe or a link, or have several names or any suffix" {
    mkfifo fifo
    cat a >fifo &
    "$GZLZSS" -o out fifo
    wait $!
    holds out a
    [ -p fifo ]
    ln -s a soft
    ln a hard
    for input in soft hard; do
        ends_with 0 "$GZLZSS" -fo out $input
        holds out a
    done
    # Try the same inputs with --rm, which must not remove them.
    ends_with 1 "$GZLZSS" -o new --rm soft
    stderr_is "$NAME: soft: Too many levels of symbolic links"
    ends_with 2 "$GZLZSS" -o new --rm hard
    ends_with 2 "$GZLZSS" -fo new --rm fifo
    stderr_is "$NAME: fifo is not a directory or a regular file - ignored"
    [ -L soft ]
    [ -p fifo ]
    "$GZLZSS" -nc a >odd.name
    "$GZLZSS" -dfo out odd.name
    cmp out a
    "$GZLZSS" -fo out odd.name
    "$GZLZSS" -dc <out | cmp - odd.name
}

@test "-o: the name in the header is the input's, and -N restores none" {
    "$GZLZSS" -o out.gz a
    [ "$(gzip -lN out.gz | awk 'NR == 2 { print $4 }')" = a ]
    "$GZLZSS" -dN -o new out.gz
    cmp new a
}

@test "-o: a name that is too long is an error, and is not shortened" {
    long=$(printf '%0300d' 0)
    ends_with 1 "$GZLZSS" -o "$long" a
    stderr_is "$NAME: $long: File name too long"
    [ "$(files .)" = 'a b stderr stdout ' ]
}

@test "-o: after an error no output is left, and the old one only without -f" {
    "$GZLZSS" -c a | reads_all head -c 700 >cut.gz
    for options in '' --atomic; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 1 "$GZLZSS" -d $options -o out cut.gz
        absent out
        [ -e cut.gz ]
    done
    echo old >out
    ends_with 1 "$GZLZSS" -df --atomic -o out cut.gz
    [ "$(cat out)" = old ]
}

@test "-o: a signal removes the partial output, and the input stays" {
    needs_hold
    "$GEN" text 1000000 >large
    cp large copy
    HOLD_WRITES=1 holds_at /out "$GZLZSS" -p1 -b 128 --rm -o out large
    [ -s out ]
    stops_by TERM
    absent out
    cmp large copy
}

@test "-v and -o name the output" {
    ends_with 0 "$GZLZSS" -v -o out a
    grep -q '^a:.*-- created out$' stderr
    ends_with 0 "$GZLZSS" -v --rm -o out2 a
    grep -q '^a:.*-- replaced with out2$' stderr
    absent a
}

# --- --rm ---

@test "--rm: the default alone, and what -o and --output-dir need to remove inputs" {
    "$GZLZSS" --rm a
    absent a
    "$GZLZSS" -d -k --rm a.gz
    absent a.gz
    "$GZLZSS" --rm -k a
    [ -e a ]
    rm a.gz
    mkdir d
    "$GZLZSS" --output-dir=d a
    [ -e a ]
    "$GZLZSS" --rm --output-dir=d b
    absent b
    "$GZLZSS" -d --rm -o b d/b.gz
    absent d/b.gz
    # Standard input is never removed, not even if a file has the name that messages give it.
    cp a stdin
    ends_with 0 "$GZLZSS" --rm -o out <stdin
    stderr_is
    "$GZLZSS" --rm -fo out <stdin
    cmp stdin a
    # With -c, nothing is removed.
    "$GZLZSS" --rm -c a >/dev/null
    [ -e a ]
}

# --- --output-dir ---

@test "--output-dir puts all outputs into the directory, side by side or not" {
    local options way
    make_tree
    for options in -p1 -p3 '-p3 --atomic' '-p3 --synchronous -f'; do
        for way in '-r in' 'in/x in/3/y in/1/2/x in/3/x'; do
            rm -rf out
            mkdir out
            # shellcheck disable=SC2086 # The shell splits it into words.
            "$GZLZSS" $options --output-dir=out $way >stdout 2>stderr || [ $? -eq 2 ]
            [ "$(files out)" = 'x.gz y.gz ' ] || fail "$options $way: $(files out)"
            holds out/y.gz in/3/y
            [ "$(files in)" = '1 1/2 1/2/x 3 3/x 3/y x ' ]
        done
        # Three inputs have the same name, x.  The output of the first input stays or, with -f, that
        # of the last.
        case $options in
        *-f*) holds out/x.gz in/3/x ;;
        *)
            holds out/x.gz in/x
            [ "$(grep -c 'out/x.gz already exists;	not overwritten' stderr)" -eq 2 ] ||
                fail "$(cat stderr)"
            ;;
        esac
    done
    mkdir back
    ends_with 0 "$GZLZSS" -vd --output-dir back/ out/y.gz
    grep -q -- '-- created back/y$' stderr
    rm back/y
    "$GZLZSS" -d --output-dir back out/*.gz
    cmp back/y in/3/y
}

@test "--output-dir: many files with the same names are made in order" {
    local i
    mkdir out
    for ((i = 0; i < 200; i++)); do
        mkdir $i
        echo $i >$i/$((i % 20))
    done
    "$GZLZSS" -p4 --output-dir=out {0..199}/* 2>stderr || [ $? -eq 2 ]
    [ "$(wc -l <stderr)" -eq 180 ]
    for ((i = 0; i < 20; i++)); do
        [ "$(gzip -dc out/$i.gz)" = $i ]
    done
    "$GZLZSS" -f -p4 --output-dir=out {0..199}/*
    for ((i = 0; i < 20; i++)); do
        [ "$(gzip -dc out/$i.gz)" = $((180 + i)) ]
    done
}

@test "--output-dir: an input that is another input's output waits for it" {
    local i
    "$GEN" source 3000000 >a
    mkdir d
    for ((i = 0; i < 10; i++)); do
        rm -f d/*
        ends_with 0 "$GZLZSS" -p4 -f --output-dir=d a d/a.gz b
        holds d/a.gz a
        holds d/a.gz.gz d/a.gz
    done
}

@test "--output-dir that is not there, or is no directory: an error before anything is done" {
    for option in --output-dir=none --output-dir-flat=none; do
        ends_with 1 "$GZLZSS" $option a b
        stderr_is "$NAME: none: No such file or directory"
        absent none a.gz
    done
    for option in --output-dir=b --output-dir-mirror=b; do
        ends_with 1 "$GZLZSS" $option a
        stderr_is "$NAME: b: Not a directory"
    done
    ends_with 1 "$GZLZSS" --output-dir=. -o out a
    stderr_is "$NAME: --output does not go with --output-dir"
    absent out
}

@test "--output-dir: suffixes, stored names, standard input" {
    mkdir out d
    cp a d/f.tar
    "$GZLZSS" -S .x --output-dir=out d/f.tar
    holds out/f.tar.x a
    "$GZLZSS" -d -S .x --output-dir=d out/f.tar.x 2>stderr || [ $? -eq 2 ]
    gzip -c a >d/f.tgz
    "$GZLZSS" -d --output-dir=out d/f.tgz
    cmp out/f.tar a
    gzip -c b >d/g.gz
    "$GZLZSS" -dN --output-dir=out d/g.gz
    cmp out/b b
    # As in zstd, standard input goes to standard output.
    "$GZLZSS" --output-dir=out <a | gzip -dc | cmp - a
}

# --- --output-dir-mirror ---

@test "--output-dir-mirror keeps directories, as zstd does" {
    local options
    make_tree
    for options in -p1 -p3 '-p3 --atomic'; do
        rm -rf out
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 0 "$GZLZSS" $options --output-dir-mirror=out -r in
        stderr_is
        [ "$(files out)" = 'in in/1 in/1/2 in/1/2/x.gz in/3 in/3/x.gz in/3/y.gz in/x.gz ' ] ||
            fail "$(files out)"
        holds out/in/1/2/x.gz in/1/2/x
    done
    # Decompress into "back".  The names there begin with "in", as they do in "out".
    (cd out && "$GZLZSS" -d -r --output-dir-mirror=../back in)
    diff -r in back/in
    if have zstd; then
        zstd -q -r in --output-dir-mirror theirs
        [ "$(files theirs | sed 's/\.zst/.gz/g')" = "$(files out)" ]
    fi
}

@test "--output-dir-mirror: absolute paths go below the directory, .. is ignored" {
    make_tree
    ends_with 0 "$GZLZSS" --output-dir-mirror=out "$PWD/in/x" ./in/3/x ///"$PWD"/in/3/y
    holds "out$PWD/in/x.gz" in/x
    holds "out$PWD/in/3/y.gz" in/3/y
    holds out/in/3/x.gz in/3/x
    mkdir sub
    cd sub
    for path in ../in/x ../sub/../in/x ../in; do
        ends_with 2 "$GZLZSS" -r --output-dir-mirror=out "$path"
        stderr_is "$NAME: $path: has .. in its path -- ignored"
        [ "$(files out)" = '' ]
    done
    # A name that only contains ".." is an ordinary name.
    mkdir ..d
    cp ../a ..d/a..
    "$GZLZSS" --output-dir-mirror=out ..d/a..
    holds out/..d/a...gz ../a
}

@test "--output-dir-mirror: nothing is made for files that there are not; errors name the output" {
    make_tree
    ends_with 1 "$GZLZSS" --output-dir-mirror=out in/none/x in/1/none
    [ "$(files out)" = '' ]
    : >out/in
    ends_with 1 "$GZLZSS" --output-dir-mirror=out in/3/x
    stderr_is "$NAME: out/in/3/x.gz: Not a directory"
    [ -e in/3/x ]
    if [ "$(id -u)" -ne 0 ]; then
        mkdir closed
        chmod 500 closed
        ends_with 1 "$GZLZSS" --output-dir-mirror=closed in/3/x
        stderr_is "$NAME: closed/in/3/x.gz: Permission denied"
    fi
}

@test "--output-dir and links: links to files are left alone, or followed with -f, as without it" {
    make_tree
    mkdir out
    ln -s ../a in/link
    ends_with 1 "$GZLZSS" --output-dir=out in/link
    stderr_is "$NAME: in/link: Too many levels of symbolic links"
    ends_with 0 "$GZLZSS" -f --output-dir=out in/link
    holds out/link.gz a
    # The directory of --output-dir may be a link.
    ln -s out outlink
    ends_with 0 "$GZLZSS" --output-dir=outlink b
    holds out/b.gz b
}

@test "--output-dir-mirror follows no link below the directory, also with -f" {
    local options input
    make_tree
    mkdir -p real elsewhere/3
    ln -s real out
    for options in -p1 -p3 -f '-f --atomic' '-d -f'; do
        input=in/3/x
        [[ $options != -d* ]] || input=in/3/x.gz
        rm -rf real/*
        rm -f in/3/x.gz elsewhere/3/*
        "$GZLZSS" -k in/3/x
        echo old >elsewhere/3/x.gz
        cp elsewhere/3/x.gz elsewhere/3/x
        cp -r elsewhere kept
        # A link above the output's directory, and one in its place; both absolute and relative.
        mkdir -p real/in
        ln -s "$PWD/elsewhere/3" real/in/3
        ln -s ../elsewhere/3 real/in/1
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 1 "$GZLZSS" $options --output-dir-mirror=out $input in/1/2/x in/3/y
        grep -qx "$NAME: out/in/3/.*: Too many levels of symbolic links" stderr
        diff -r elsewhere kept || fail "$options"
        rm -r kept real/in
        ln -s ../elsewhere real/in
        # shellcheck disable=SC2086
        ends_with 1 "$GZLZSS" $options --output-dir-mirror=out $input
        [ "$(files elsewhere)" = '3 3/x 3/x.gz ' ]
        [ "$(cat elsewhere/3/x elsewhere/3/x.gz)" = "$(printf 'old\nold')" ]
    done
    # The directory itself may be a link.
    rm -r real/*
    rm in/3/x.gz
    ends_with 0 "$GZLZSS" -r --output-dir-mirror=out in
    holds real/in/3/x.gz in/3/x
}

@test "many directories with few descriptors" {
    local i
    for ((i = 0; i < 150; i++)); do
        mkdir -p in/$i
        echo $i >in/$i/f
    done
    (ulimit -n 40 && "$GZLZSS" -p4 -r --output-dir-mirror=out in)
    for ((i = 0; i < 150; i++)); do
        [ "$(gzip -dc out/in/$i/f.gz)" = $i ]
    done
}
