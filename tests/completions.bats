#!/usr/bin/env bats
# completions.bats - what the shells offer as completions

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    enter_test_directory
    mkdir bin files
    for name in gzlzss gunzlzss gzlzsscat; do
        ln -s "$GZLZSS" "bin/$name"
    done
    export PATH=$PWD/bin:$PATH
    cd files || return 1
    mkdir sub
    touch plain.txt 'with space.txt' packed.gz old.Z mail.tgz archive.zip other.xyz
}

# complete_words WORD...: fills COMPREPLY for these words; the last one is being completed.  Bash
# treats "=" as a word.
complete_words() {
    # shellcheck source=/dev/null
    . "$srcdir/completions/bash/gzlzss"
    COMP_WORDS=("$@")
    COMP_CWORD=$(($# - 1))
    COMPREPLY=()
    # Ignore the status: compopt fails outside of Readline.
    _gzlzss || true
}

# offers WORD...: COMPREPLY must have exactly these words, in any order.
offers() {
    local got expected
    got=$(printf '%s\n' "${COMPREPLY[@]}" | sed '/^$/d' | sort)
    expected=$(printf '%s\n' "$@" | sed '/^$/d' | sort)
    [ "$got" = "$expected" ] || fail "expected:" "$expected" "got:" "$got"
}

@test "bash: options" {
    complete_words gzlzss --de
    offers --decompress --device=
    complete_words gzlzss -k --blo
    offers --blocksize=
    complete_words gzlzss -1
    # shellcheck disable=SC2046 # The shell splits it into words.
    offers $(levels | sed -n 's/^1/-1/p')
    complete_words gzlzss -0
    offers -0
    complete_words gzlzss --level 0
    offers 0
    complete_words gzlzss --nonsense
    offers
    complete_words gzlzss -
    [ "${#COMPREPLY[@]}" -ge 30 ]
}

@test "bash: values of options, however they are written" {
    complete_words gzlzss --backend = ''
    offers auto cpu gpu
    complete_words gzlzss --backend =
    offers auto cpu gpu
    complete_words gzlzss --backend = g
    offers gpu
    complete_words gzlzss --backend a
    offers auto
    complete_words gzlzss --backend=c
    offers --backend=cpu
    complete_words gzlzss --level 1
    # shellcheck disable=SC2046 # The shell splits it into words.
    offers $(levels | grep '^1')
    complete_words gzlzss --matcher=hel
    offers --matcher=help
    complete_words gzlzss --matcher ''
    # shellcheck disable=SC2046 # The shell splits it into words.
    offers help $(matchers)
    complete_words gzlzss -b 20
    offers 2048
    complete_words gzlzss -kb 20
    offers 2048
    complete_words gzlzss -p ''
    offers $(seq "$(getconf _NPROCESSORS_ONLN)")
    complete_words gzlzss -S .z
    offers .z .zip
    complete_words gzlzss --backend = x
    offers
    complete_words gzlzss --keep=x
    offers
}

@test "bash: files and directories as values of options" {
    complete_words gzlzss -o p
    offers plain.txt packed.gz
    complete_words gzlzss -ko p
    offers plain.txt packed.gz
    complete_words gzlzss --files-from = pl
    offers plain.txt
    complete_words gzlzss --output-dir s
    offers sub
    complete_words gzlzss --output-dir-mirror=s
    offers --output-dir-mirror=sub
    # In -od, d is the value of -o, not the option -d.
    complete_words gzlzss -od p
    offers plain.txt
}

@test "bash: files to compress are those that are not compressed" {
    complete_words gzlzss ''
    offers plain.txt 'with space.txt' archive.zip other.xyz sub
    complete_words gzlzss -9 w
    offers 'with space.txt'
    complete_words gzlzss -S .xyz ''
    offers plain.txt 'with space.txt' archive.zip sub
    # With -c, all files are offered.
    complete_words gzlzss -c ''
    offers plain.txt 'with space.txt' packed.gz old.Z mail.tgz archive.zip other.xyz sub
    complete_words gzlzss -p 2 --stdout p
    offers plain.txt packed.gz
}

@test "bash: files to decompress are those that are compressed" {
    local words
    for words in "-d" "--decompress" "-kd" "-b 64 -d" "-9 --uncompress" "-p2 -d"; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        complete_words gzlzss $words ''
        offers packed.gz old.Z mail.tgz sub
    done
    complete_words gunzlzss ''
    offers packed.gz old.Z mail.tgz sub
    complete_words /usr/bin/gunzlzss -k p
    offers packed.gz
    # Decompression removes no suffix .zip, so .zip files are offered only with these options.
    for words in "-t" "-cd" "--list" "-d --stdout" "-vl" "-d -S .zip" "-dS.zip" "-d --suffix=.zip" \
        "-d --suffix = .zip"; do
        # shellcheck disable=SC2086
        complete_words gzlzss $words ''
        offers packed.gz old.Z mail.tgz archive.zip sub
    done
    complete_words gzlzsscat ''
    offers packed.gz old.Z mail.tgz archive.zip sub
    complete_words gzlzsscat -f ''
    offers plain.txt 'with space.txt' packed.gz old.Z mail.tgz archive.zip other.xyz sub
    # In -Sd, d is the value of -S, not the option -d.
    complete_words gzlzss -Sd p
    offers plain.txt
}

@test "bash: behind -- come files alone" {
    touch ./-d.gz ./-d.txt
    complete_words gzlzss -- -
    offers -d.txt
    complete_words gzlzss -- -d p
    offers plain.txt
}

@test "bash: the three names are registered" {
    bash -c ". '$srcdir/completions/bash/gzlzss' && complete -p gzlzss gunzlzss gzlzsscat" \
        >registered
    [ "$(wc -l <registered)" -eq 3 ]
}

# fish_offers WORDS COMPLETION...: for the command line WORDS, fish offers exactly these
# completions.
fish_offers() {
    local got expected words=$1
    shift
    got=$(HOME=$BATS_TEST_TMPDIR fish --no-config -c "
        set fish_complete_path '$srcdir/completions/fish' \$fish_complete_path
        complete -C '$words'" | cut -f 1 | sort)
    expected=$(printf '%s\n' "$@" | sort)
    [ "$got" = "$expected" ] || fail "$words, expected:" "$expected" "got:" "$got"
}

@test "fish: options, values and files" {
    have fish || skip "fish is not installed"
    fish_offers 'gzlzss --de' --decompress --device
    fish_offers 'gzlzss --backend ' auto cpu gpu
    # shellcheck disable=SC2046 # The shell splits it into words.
    fish_offers 'gzlzss --matcher ' help $(matchers)
    # shellcheck disable=SC2046
    fish_offers 'gzlzss -1' $(levels | sed -n 's/^1/-1/p')
    fish_offers 'gzlzss p' packed.gz plain.txt
    fish_offers 'gzlzss -d ' archive.zip packed.gz old.Z mail.tgz sub/
    fish_offers 'gunzlzss p' packed.gz
    fish_offers 'gzlzsscat -f --ke' --keep
}

# zsh_arguments NAME: prints the arguments that our function passes to zsh's _arguments, which makes
# the completions from them.
zsh_arguments() {
    zsh -f -c "
        _arguments() { print -rl -- \"\$@\" }
        _call_program() { shift && \"\$@\" }
        service=$1
        source '$srcdir/completions/zsh/_gzlzss'"
}

# zsh_files NAME OPTION...: prints the files that zsh offers after these options.
zsh_files() {
    local service=$1
    shift
    zsh -f -c "
        setopt extendedglob nullglob
        # Prints the files that match the pattern or, without a pattern, all files.
        _files() { print -rl -- \${~\${2:-*}} }
        _arguments() { : }
        source '$srcdir/completions/zsh/_gzlzss'
        typeset -A opt_args
        for option; do opt_args[\$option]=; done
        service=$service
        _gzlzss_files" zsh "$@" | sort | tr '\n' ' '
}

@test "zsh: numbers of threads" {
    have zsh || skip "zsh is not installed"
    for option in -p -T; do
        # An option's line ends with the code that _arguments evaluates to complete its value.
        zsh_arguments gzlzss | sed -nE "s/.*\)$option\+\[.*:\((.*)\)$/print -l -- \1/p" >evaluated
        seq "$(getconf _NPROCESSORS_ONLN)" >wanted
        zsh -f ./evaluated | cmp - wanted
    done
}

@test "zsh: options and files" {
    have zsh || skip "zsh is not installed"
    zsh_arguments gzlzss >arguments
    for level in $(levels | sed 1d); do
        grep -qF -e "-${level}[compress at level $level]" arguments
    done
    grep -qx -e "(.* -$level .*)-0\[store, do not compress\]" arguments
    grep -qxF -e "--level=[compress at this level]:level:({0..$level})" arguments
    grep -qF -e '--blocksize=[' arguments
    rm arguments
    [ "$(zsh_files gzlzss)" = "archive.zip other.xyz plain.txt with space.txt " ]
    [ "$(zsh_files gzlzss -d)" = "mail.tgz old.Z packed.gz " ]
    [ "$(zsh_files gunzlzss)" = "mail.tgz old.Z packed.gz " ]
    [ "$(zsh_files gzlzsscat)" = "archive.zip mail.tgz old.Z packed.gz " ]
    [ "$(zsh_files gzlzss --test)" = "archive.zip mail.tgz old.Z packed.gz " ]
    [ "$(zsh_files gzlzss -c)" = \
        "archive.zip mail.tgz old.Z other.xyz packed.gz plain.txt sub with space.txt " ]
}
