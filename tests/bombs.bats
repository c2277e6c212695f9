#!/usr/bin/env bats
# bombs.bats - data that is made to cost much time or memory: both stay bounded

load helpers

setup() {
    enter_test_directory
    without_sanitizers
}

# make_bomb CASE: makes CASE.gz of some 2 MB.  Some cases are smaller: encoding them takes long.
make_bomb() {
    local size=2000000
    case $1 in
    zeros) size=50000 ;;
    lzw | lzh) size=20000 ;;
    esac
    "${GEN%gen}bombs" "$1" "$size" >"$1.gz"
}

# within COMMAND...: runs the command with 1 s of processor time, and 400 MB of addresses, most of
# which are the threads' stacks and the programs.  For 2 MB, that is 500 ns a byte.
within() {
    (
        ulimit -t 1 -v 400000
        "$GZLZSS" "$@" >stdout 2>stderr </dev/null
    )
}

@test "bombs: -t, -l, --recover, ranges and an index, with one thread and with four" {
    local case threads
    for case in $("${GEN%gen}bombs"); do
        make_bomb "$case"
        for threads in 1 4; do
            within -t -p "$threads" "$case.gz" || fail "-t -p $threads $case.gz: $(cat stderr)"
            within -dc -p "$threads" "$case.gz"
            cksum <stdout >"sum$threads"
        done
        cmp sum1 sum4
        gzip -dc <"$case.gz" 2>/dev/null | cksum | cmp - sum1
        within -l --exact "$case.gz"
        case $case in
        pack | lzw | lzh | zip) continue ;;
        esac
        within --range=-50: -c "$case.gz" || fail "--range=-50: $case.gz: $(cat stderr)"
        within --range=1000:50 -c "$case.gz"
        within -t --index --index-file="$case.index" "$case.gz"
        within --range=0:50 --index-file="$case.index" -c "$case.gz"
        # --recover takes a header of more than some KB for no header.
        within --recover -c "$case.gz" || [ $? -eq 2 ] || [ "$case" = name ] ||
            fail "--recover $case.gz: $(cat stderr)"
        rm "$case.gz"
    done
}

# u64 NUMBER...: prints numbers of 8 bytes, low byte first.
u64() {
    local n i
    for n; do
        for ((i = 0; i < 64; i += 8)); do
            # shellcheck disable=SC2059 # the format is the byte
            printf "\\x$(printf %02x $((n >> i & 255)))"
        done
    done
}

@test "bombs: an index that claims more points than it has, or than memory has" {
    local count kind
    printf 'some data\n' | "$GZLZSS" -n >f.gz
    for count in 1 1000 $((1 << 32)) $((1 << 61)) $(((1 << 61) + 1)) -1; do
        u64 "$count" 10 10 >bgzip
        { u64 0; printf gzipindx; u64 "$count" "$count" 0 10 0 | rev_words; } >gztool
        {
            printf 'GZIDX\1\0'
            u64 "$(stat -c %s f.gz)" 10
            printf '\0\0\20\0\0\200\0\0\377\377\377\377'
            u64 10 0
            printf '\0\1'
        } >indexed
        for kind in bgzip gztool indexed; do
            within --range=0:4 --index-file="$kind" -c f.gz || [ $? -eq 1 ] ||
                fail "$kind $count: $(cat stderr)"
        done
    done
}

# rev_words: turns the bytes of each word of 8 bytes round.
rev_words() {
    od -An -v -tx1 -w8 | awk '{ for (i = NF; i > 0; i--) printf "\\x%s", $i }' | xargs -0 printf
}
