#!/usr/bin/env bats
# bats_forms.bats - no test has a statement that cannot fail, and the check finds such statements

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    enter_test_directory
    forms=$srcdir/build-aux/bats_forms.sh
}

# made LINE...: makes the file t.bats from these lines and from standard input, in which TEST stands
# for @test: Bats itself looks for that word.
made() {
    printf '%s\n' "$@" >t.bats
    sed 's/^TEST /@test "one" /' >>t.bats
}

# complains TEXT...: makes the file t.bats from standard input.  The check must fail and print these
# texts, each of which begins with a line's number.
complains() {
    made 'load helpers'
    ends_with 1 sh "$forms" t.bats
    printf 't.bats:%s\n' "$@" | cmp - stdout || fail "not expected: $(cat stdout)"
}

# passes: like complains, but the check must find nothing.
passes() {
    made '' 'load helpers'
    ends_with 0 sh "$forms" t.bats || fail "$(cat stdout)"
    [ ! -s stdout ]
}

@test "no test has a statement that cannot fail" {
    sh "$forms"
}

# Run the worst form, so that the claim itself is tested: Bats does not see that A is false.
@test "what the shell passes over, and what it does not" {
    local bash=(bash -eET -o pipefail -c)
    ends_with 0 "${bash[@]}" 'f() { false && true; true; }; f'
    ends_with 0 "${bash[@]}" 'f() { ! true; true; }; f'
    ends_with 0 "${bash[@]}" 'f() { for i in 1 2; do false && true; done; true; }; f'
    ends_with 0 "${bash[@]}" 'f() { { false && true; } >out; true; }; f'
    ends_with 0 "${bash[@]}" 'f() { cmp /dev/null <(false); true; }; f'
    ends_with 1 "${bash[@]}" 'f() { false && true; }; f; true'
    ends_with 1 "${bash[@]}" 'f() { (false && true); true; }; f'
    ends_with 1 "${bash[@]}" 'f() { false | true; true; }; f'
    ends_with 1 "${bash[@]}" 'f() { { false; true; } >out; true; }; f'
}

@test "A && B that is not the last statement" {
    complains '3: A && B that is not the last statement cannot fail at A' \
        '5: A && B that is not the last statement cannot fail at A' \
        '9: A && B that is not the last statement cannot fail at A' \
        '10: A && B that is not the last statement cannot fail at A' \
        '13: A && B that is not the last statement cannot fail at A' \
        '17: A && B that is not the last statement cannot fail at A' <<'END'
TEST {
    [ -e a ] && [ -e b ]
    for i in 1 2; do
        [ -e $i ] && cmp $i a
    done
    if true; then
        [ -e a ] ||
            { [ -e b ] && [ -e c ]; }
        [[ a = b && c = d ]] && # a comment
            cmp a b
    fi
    { cat a && cat b; } >c
    cat c
}
helper() {
    case $1 in x) cmp a b && cmp c d ;; esac
    : "${x:-"$(true)"}"
}
END
}

@test "a statement with ! or with || true, and ! before a pipe" {
    complains '3: ! A that is not the last statement cannot fail' \
        '4: ! A | B succeeds if A fails' \
        '5: an assertion || true cannot fail' \
        '6: an assertion || true cannot fail' <<'END'
TEST {
    ! cmp a b
    ! cat a | cmp - b || fail "the same"
    cmp a b || true
    cat a | cmp - b || :
    ! cmp a b
}
END
}

@test "a command that may end before it has read all, also in \$(...)" {
    complains '3: A | head may end A by SIGPIPE; see reads_all' \
        '4: A | grep may end A by SIGPIPE; see reads_all' \
        '5: A | sed may end A by SIGPIPE; see reads_all' \
        '8: A | grep may end A by SIGPIPE; see reads_all' \
        '9: A | head may end A by SIGPIPE; see reads_all' \
        '7: A | head may end A by SIGPIPE; see reads_all' <<'END'
TEST {
    cat a | head -n 1 >b
    if cat a | grep -aq x; then
        cat a | sed 5q | cmp - b
    fi
    [ "$(cat a | head -n 1)" = x ]
    cat a | grep --quiet x
    cat a | { head -c 5 | cmp - b; cat c; }
    cat a | { cat - c; head -n 1 b; cat c | reads_all head -n 1; }
}
END
}

@test "a status that nobody looks at" {
    # shellcheck disable=SC2016 # The text is the script's.
    complains '4: nobody looks at what run gives' \
        '6: local loses the status of $(...)' \
        '8: set +e and +o pipefail make failures pass' \
        '5: the status of <(A) or >(A) is lost' <<'END'

TEST {
    run cat a
    cmp a <(cat b)
    local x=$(cat a)
    run -1 cat missing
    set +o pipefail
    run cat a
    [ "$status" -eq 0 ]
}
END
    printf 'f() {\n    true\n}\n' >t.bats
    ends_with 1 sh "$forms" t.bats
    printf 't.bats:1: it does not load helpers, which set pipefail\n' | cmp - stdout
}

@test "a function in a condition, whose assertions then cannot fail" {
    complains '15: in this call, loose cannot fail at t.bats:3' \
        '17: in this call, loose cannot fail at t.bats:3' \
        '18: in this call, runs cannot fail at t.bats:11' <<'END'
loose() {
    cmp a b
    cmp c d
}
strict() {
    cmp a b || return 1
    cmp c d
}
runs() {
    "$GZLZSS" a
    cmp c d
}
TEST {
    loose || fail "x"
    strict || fail "x"
    if loose; then true; fi
    ! runs
}
END
}

@test "what is right, or is allowed with a reason, or is no code" {
    passes <<'END'
both() {
    [ -e a ] && [ -e b ]
}
TEST {
    [ -e a ] || [ -e b ]
    [ -e a ] && [ -e b ] || fail "none"
    ! cmp a b || fail "the same"
    for i in 1 2; do
        [ $i = 1 ] && continue
        [ $i = 1 ] && x=2
    done
    if cmp a b && cmp c d; then
        cat a | reads_all grep -q x
    fi
    while [ -e a ] && ! [ -e b ]; do rm a; done
    (cd a && cmp b c)
    cat a | { cat - && cat b; } | cmp - c
    case $1 in a | b) true ;; esac
    [ $((1 << 3)) -eq 8 ]
    ((x++ < 5)) || fail "(("
    bash -c 'cmp a b && cmp c d; cat a | head -n 1'
    cat <<-EOT | cmp - a
	cmp a b && cmp c d
	EOT
    endless yes | head -n 1 >a
    echo "# [ -e a ] && x" '$(a | head)' "a \" && b"
    # allowed: the reason
    cmp a b && cmp c d
    cmp a <(cat b) # allowed: the reason
    local x
    x=$(cat a)
    both
    ! cmp a b
}
END
}

@test "a mark without a reason allows nothing, and what it cannot read is said" {
    complains '4: A && B that is not the last statement cannot fail at A' <<'END'
TEST {
    # allowed:
    cmp a b && cmp c d
    true
}
END
    complains '4: bats_forms.sh does not understand this' <<'END'
TEST {
    for i in 1 2; do
}
END
}
