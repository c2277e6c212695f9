#!/usr/bin/env bats
# names.bats - names in headers and of files: an output stays in its directory, and a terminal gets
# no control characters

load helpers

setup() {
    enter_test_directory
    NAME=${GZLZSS##*/}
}

# header NAME: prints a header that stores NAME, whose escapes printf converts.
header() {
    printf '\037\213\010\010\0\0\0\0\0\003%b\0' "$1"
}

# stored NAME: makes in/f.gz, whose header has this name, in a new directory `in` beside the
# directories `out` and `outside`.
stored() {
    rm -rf in out outside
    mkdir -p in out outside
    printf 'secret\n' >outside/x
    printf 'the data\n' >data
    {
        header "$1"
        gzip -nc data | tail -c +11
    } >in/f.gz
}

# may_make FILE...: there must be no files below this directory but in/f.gz, outside/x, data, and at
# most one of FILE.
may_make() {
    local got
    got=$(find . -type f ! -name 'std*' | sort | grep -vxF -e ./in/f.gz -e ./outside/x -e ./data) || :
    for file in '' "$@"; do
        [ "$got" != "$file" ] || return 0
    done
    fail "made: $got"
}

@test "-N: the output is in its directory, whatever name the header has" {
    local name base long option
    long=$(printf 'n%.0s' {1..255})
    for name in .. . ../x ../outside/x /outside/x "$PWD/outside/x" a/../../outside/x x/ '' \
        '../outside/\000' '..\000x' 'out/../x' '//x' '\033]0;x' '-x' ' x ' "$long" "../$long" "$long/x"; do
        for option in '' -f --atomic '-f --atomic' --output-dir=out '--output-dir=out -f'; do
            stored "$name"
            base=$(printf '%b' "${name%%\\000*}")
            base=${base##*/}
            # shellcheck disable=SC2086 # several options
            "$GZLZSS" -dNk $option in/f.gz >stdout 2>stderr </dev/null || :
            case $option in
            *out*) may_make "./out/$base" "./out/f" ;;
            *) may_make "./in/$base" "./in/f" ;;
            esac
            [ "$(cat outside/x)" = secret ]
        done
    done
}

@test "-N: a name that is a link, or the input's, is no way out either" {
    stored x
    ln -s ../outside/x in/x
    ends_with 2 "$GZLZSS" -dNk in/f.gz
    ends_with 0 "$GZLZSS" -dNkf in/f.gz
    [ ! -L in/x ]
    cmp data in/x
    [ "$(cat outside/x)" = secret ]
    stored f.gz
    cp in/f.gz before
    ends_with 1 "$GZLZSS" -dNf in/f.gz
    cmp before in/f.gz
}

@test "-r does not follow links to directories that it finds" {
    local option
    for option in -r '-r --output-dir=out' '-r --output-dir-mirror=out'; do
        stored x
        ln -s ../outside in/link
        ln -s ../outside/x in/file
        # shellcheck disable=SC2086 # several options
        "$GZLZSS" $option in >stdout 2>stderr </dev/null || :
        [ "$(ls outside)" = x ]
        [ "$(cat outside/x)" = secret ]
        [ -z "$(find out -name 'x*')" ]
    done
}

@test "--output-dir-mirror with names from a list: none leads out of the directory" {
    stored x
    printf '%s\n' ../outside/x in/../outside/x outside/../outside/x ./outside/x >list
    (mkdir cwd && cd cwd && ln -s ../outside outside &&
        "$GZLZSS" -k --output-dir-mirror=../out --files-from=../list \
            >../stdout 2>../stderr </dev/null) || :
    [ "$(find . -name '*.gz' | sort | tr '\n' ' ')" = "./in/f.gz ./out/outside/x.gz " ]
}

# A name in a zip file or an LZH header is not used.
@test "a zip file's entry has no say in the output's name" {
    have zip || skip "zip is not installed"
    stored x
    mkdir deep
    (cd deep && zip -q ../in/z.zip ../data)
    ends_with 0 "$GZLZSS" -dN -S .zip in/z.zip
    cmp in/z data
}

# --- Terminals ---------------------------------------------------------------------------------

# on_terminal COMMAND: runs the shell command on a new terminal.  The file
# $BATS_TEST_TMPDIR.typescript gets the terminal's output, without carriage returns.
on_terminal() {
    script -qec "$1" "$BATS_TEST_TMPDIR.raw" >/dev/null </dev/null || :
    sed -e '/^Script /d' "$BATS_TEST_TMPDIR.raw" | tr -d '\r' >"$BATS_TEST_TMPDIR.typescript"
}

needs_terminal() {
    have script || skip "script is not installed"
    script -qec true /dev/null >/dev/null 2>&1 </dev/null || skip "script does not work here"
}

# Requires that the terminal's output has the quoted name, and no control characters but line feeds
# and tabs.
is_clean() {
    local output=$BATS_TEST_TMPDIR.typescript
    grep -qF -- "$1" "$output" || fail "no $1 in: $(cat -v "$output")"
    ! grep -q "$(printf '[\001-\010\013-\037\177\200-\237]')" "$output" ||
        fail "control characters in: $(cat -v "$output")"
}

# A name with control characters, and as ls prints it on a terminal.
bad=$'e\033[31m\007\n\177\tz'
quoted="'e'\$'\\033''[31m'\$'\\a\\n\\177\\t''z'"

@test "a terminal gets names quoted, as ls quotes them" {
    needs_terminal
    touch "$bad"
    [ "$(ls --quoting-style=shell-escape e*)" = "$quoted" ] || skip "ls quotes in another way"
}

@test "a terminal gets no control characters of a file's name: messages, -v, -l, the prompt" {
    local command
    needs_terminal
    printf 'some data, some data\n' >"$bad"
    export bad
    # shellcheck disable=SC2016 # the shell on the terminal expands $bad
    for command in '-kv "$bad"' '-kfv "$bad"' '-tv "$bad.gz"' '-l "$bad.gz"' '-lv "$bad.gz"' \
        '-k "$bad"' '-k "$bad.gz"' '-d "$bad.x"' '"$bad.missing"' '-dkN "$bad.gz"' \
        '-S "$bad.s" -kv "$bad"' '-rkv .' '--range=0:3 "$bad.x"' '-k -o "no/$bad" "$bad"' \
        '--output-dir="$bad/no" "$bad"' '--files-from="$bad.missing"' '--level="$bad"' \
        '--"$bad"' '--matcher="$bad"' '--backend="$bad"' '-t --index --index-file="no/$bad" "$bad.gz"' \
        '--recover -k "$bad"'; do
        on_terminal "'$GZLZSS' $command"
        is_clean "e'\$'\\033''[31m'"
    done
    on_terminal "printf garbage >\"\$bad.gz\"; '$GZLZSS' -t \"\$bad.gz\""
    is_clean "${quoted%\'}.gz': not in gzip format"
}

@test "a terminal gets no control characters of a name in a header" {
    needs_terminal
    for name in 'e\033[31mz' 'e\033[31mz\233' '\302\233' '\377'; do
        stored "$name"
        on_terminal "'$GZLZSS' -lN in/f.gz; '$GZLZSS' -dNkv in/f.gz; '$GZLZSS' -dNkf in/f.gz"
        is_clean "'\$'\\"
    done
}

@test "--json has no control characters at all" {
    printf 'x\n' >"$bad"$'\302\233'
    ends_with 0 "$GZLZSS" --json -k "$bad"$'\302\233'
    if grep -q "$(printf '[\001-\011\013-\037\177\200-\237]')" stdout; then
        fail "control characters in: $(cat -v stdout)"
    fi
    grep -qF '\u001b[31m\u0007\u000a\u007f\u0009z\u009b' stdout
}

@test "what is no terminal gets names as they are" {
    printf 'x\n' >"$bad"
    ends_with 0 "$GZLZSS" -kv "$bad"
    grep -qF $'e\033[31m\007' stderr
    ends_with 0 "$GZLZSS" -l "$bad.gz"
    grep -qF $'e\033[31m\007' stdout
    ends_with 1 "$GZLZSS" "$bad.missing"
    stderr_is "$NAME: $bad.missing: No such file or directory"
}
