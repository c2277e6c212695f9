#!/usr/bin/env bats
# quickstart.bats - what quickstart says before it sets out, with stand-ins for the programs that it calls

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    enter_test_directory
    mkdir tree
    cp "$srcdir/quickstart" tree
}

# Nothing was made beside the script.
nothing_done() {
    [ "$(ls -A "${1-tree}")" = quickstart ] || fail "left: $(ls -A "${1-tree}")"
}

@test "quickstart in a path that Automake cannot work with says so, and does nothing" {
    for name in 'a b' 'a(b' "it's"; do
        mv tree "$name"
        ends_with 1 "$name/quickstart" check
        stderr_is "quickstart: the path of this directory, $PWD/$name, has a blank or a character that is special to a shell.\
 Automake and libtool cannot build there: move the directory to another path"
        nothing_done "$name"
        mv "$name" tree
    done
}
