#!/usr/bin/env bats
# faults.bats - calls of the system fail: a sample of `make check-faults` (tests/faults/main.c)

load helpers

setup() {
    enter_test_directory
    without_sanitizers
    faults=${GEN%gen}faults/faults
    [ -x "$faults" ] || skip "tests/faults/faults was not built"
}

# sample OPTION...: runs tests/faults/faults with these options.
sample() {
    local status=0
    "$faults" "$@" >table || status=$?
    [ "$status" -ne 77 ] || skip "$(cat table)"
    [ "$status" -eq 0 ] || fail "status $status" "$(cat table)"
    # Enough calls have failed, and both outcomes have occurred.
    awk '$1 == "all" { good = $2 > 500 && $3 > 100 && $4 > 50 && $NF == 0 } END { exit !good }' \
        table || fail "$(cat table)"
}

@test "one call of many fails: nothing is lost, and messages say why" {
    sample --every=60 --seed=1
}
