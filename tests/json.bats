#!/usr/bin/env bats
# json.bats - --json: an object about each file, for programs

load helpers

setup() {
    enter_test_directory
    NAME=${GZLZSS##*/}
    have python3 || skip "python3 is not installed"
    "$GEN" text 100000 >a
    "$GEN" text 300 >b
    : >c
}

# field FILE LINE EXPRESSION: prints the value of a Python expression about the object in that line
# of the file; "o" is the object.  Fails if any line of the file is not a JSON object.
field() {
    python3 - "$@" <<'END'
import json, sys
with open(sys.argv[1], encoding='utf-8') as f:
    objects = [json.loads(line) for line in f]
assert all(isinstance(o, dict) for o in objects)
o = objects[int(sys.argv[2]) - 1]
print(eval(sys.argv[3]))
END
}

# is FILE LINE EXPRESSION VALUE: the expression must have this value.  The first three arguments are
# those of `field`.
is() {
    local got
    got=$(field "$1" "$2" "$3") || fail "no JSON: $(cat "$1")"
    [ "$got" = "$4" ] || fail "$3 in line $2 is $got, not $4: $(cat "$1")"
}

@test "compression: one object for each file, in order, side by side or not" {
    local p
    for p in 1 3; do
        ends_with 0 "$GZLZSS" -kf -p$p --json a b c
        stderr_is
        [ "$(wc -l <stdout)" -eq 3 ]
        is stdout 1 'list(o)' "['name', 'output', 'format', 'compressed', 'uncompressed', \
'ratio', 'members', 'crc', 'engine', 'seconds', 'status']"
        for i in 1 2 3; do
            f=$(echo a b c | cut -d ' ' -f $i)
            is stdout $i 'o["name"], o["output"], o["format"], o["members"], o["status"]' \
                "('$f', '$f.gz', 'gzip', 1, 0)"
            is stdout $i 'o["compressed"], o["uncompressed"]' \
                "($(stat -c %s "$f.gz"), $(stat -c %s "$f"))"
            is stdout $i 'int(o["crc"], 16)' \
                "$(python3 -c "import zlib; print(zlib.crc32(open('$f', 'rb').read()))")"
            is stdout $i 'o["seconds"] > 0, o["engine"]' "(True, 'cpu')"
        done
        is stdout 1 'abs(o["ratio"] - (1 - o["compressed"] / o["uncompressed"])) < 0.0001' True
        is stdout 3 'o["ratio"], o["crc"]' "(0.0, '00000000')"
    done
}

@test "decompression, test and list say the same about a file" {
    "$GZLZSS" a b c
    for options in -l -t -lv -tv -tq '-l -p1' '-dkf'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 0 "$GZLZSS" $options --json a.gz b.gz c.gz
        stderr_is
        [ "$(wc -l <stdout)" -eq 3 ]
        is stdout 1 'o["name"], o["format"], o["uncompressed"], o["members"]' \
            "('a.gz', 'gzip', 100000, 1)"
        is stdout 2 'o["compressed"]' "$(stat -c %s b.gz)"
        is stdout 3 'o["uncompressed"], o["crc"]' "(0, '00000000')"
        case $options in
        -t*) is stdout 1 '"output" in o' False ;;
        *) is stdout 1 'o["output"]' a ;;
        esac
    done
}

@test "where data goes to standard output, objects go to standard error" {
    "$GZLZSS" -k a b
    for words in '-c a' '<a' '-o - a'; do
        eval "'$GZLZSS' -n --json $words" >stdout 2>stderr
        gzip -dc <stdout | cmp - a
        is stderr 1 'o["compressed"], o["uncompressed"]' "($(stat -c %s stdout), 100000)"
    done
    is stderr 1 'o["name"]' a
    cat a b >wanted
    "$GZLZSS" --json -dc a.gz b.gz 2>stderr | cmp - wanted
    is stderr 2 'o["uncompressed"]' 300
    "$GZLZSS" --json -d <a.gz 2>stderr | cmp - a
    is stderr 1 'o["name"], "output" in o' "('-', False)"
    # The next commands write nothing else to standard output, so the object goes to standard
    # output.
    "$GZLZSS" --json -o out <a >stdout
    is stdout 1 'o["name"], o["output"]' "('-', 'out')"
    "$GZLZSS" --json -t <a.gz >stdout
    is stdout 1 'o["uncompressed"]' 100000
}

@test "several members: their sum, as with --exact, and no CRC" {
    "$GZLZSS" -c a b a >many.gz
    "$GZLZSS" -l --json many.gz >stdout
    is stdout 1 'o["members"], o["uncompressed"], o["compressed"], "crc" in o' \
        "(3, 200300, $(stat -c %s many.gz), False)"
    head -c 100 /dev/zero >>many.gz
    "$GZLZSS" -l --json many.gz >stdout
    # shellcheck disable=SC2046 # The first two words of the line are the sizes.
    set -- $("$GZLZSS" -q --exact many.gz)
    is stdout 1 'o["compressed"], o["uncompressed"]' "($1, $2)"
}

@test "older formats have their names" {
    if have compress; then
        compress -c a >a.Z
        "$GZLZSS" -l --json a.Z >stdout
        is stdout 1 'o["format"], o["uncompressed"], "crc" in o' "('compress', 100000, False)"
    fi
    python3 -c "import zipfile; zipfile.ZipFile('a.zip', 'w', 8).write('a')"
    "$GZLZSS" -t --json -S .zip a.zip >stdout
    is stdout 1 'o["format"], o["uncompressed"]' "('zip', 100000)"
}

@test "--format: its name and the members, the same when it is written and read" {
    local format members input crc
    for format in gzip bgzf zlib raw zip; do
        for input in a c; do
            "$GZLZSS" --format=$format -S .$format -k --json $input >stdout
            members=$(field stdout 1 'o["members"]')
            crc=$(field stdout 1 'repr(o.get("crc"))')
            is stdout 1 'o["format"], o["compressed"]' "('$format', $(stat -c %s $input.$format))"
            "$GZLZSS" -l --format=$format --json -S .$format $input.$format >stdout
            is stdout 1 'o["format"], o["members"], o["uncompressed"], o.get("crc")' \
                "('$format', $members, $(stat -c %s $input), $crc)"
            # gzlzss does not read the bytes of a zip file after the first member, so these bytes do
            # not count.
            [ $format = zip ] || is stdout 1 'o["compressed"]' "$(stat -c %s $input.$format)"
        done
    done
    "$GZLZSS" -lS .bgzf --json a.bgzf >stdout
    is stdout 1 'o["format"], o["members"]' "('bgzf', 3)"
    "$GZLZSS" -t --json <a.bgzf >stdout
    is stdout 1 'o["format"], o["members"]' "('bgzf', 3)"
    cat a.bgzf c.bgzf | "$GZLZSS" -t --json >stdout
    is stdout 1 'o["format"], o["members"]' "('gzip', 4)"
}

@test "names of any bytes come back" {
    local name
    for name in 'quote"' 'back\slash' $'new\nline' $'tab\t\x7f' ' blank' 'grün' $'bad\xff' \
        $'cut\xc3' $'cut\xe2\x82' $'\xc0\x80' $'\xed\xa0\x80' $'\xf4\x90\x80\x80' \
        $'\xf0\x9f\x98\x80' $'\x01\x1f' $'\x80\xbf' $'\xe0\x80\x80' $'\xf0\x80\x80\x80'; do
        cp b "$name"
        "$GZLZSS" --json "./$name" >stdout
        [ "$(wc -l <stdout)" -eq 1 ]
        python3 - <<'END' >got
import json, os, sys
sys.stdout.buffer.write(os.fsencode(json.load(open('stdout', encoding='utf-8'))['output']))
END
        printf '%s' "./$name.gz" | cmp - got
    done
}

@test "damaged, missing and refused files have a status; messages stay text" {
    "$GZLZSS" -k a b
    printf 'garbage' | cat b.gz - >trail.gz
    tail -c +2 b.gz >bad.gz
    mkdir d
    ends_with 1 "$GZLZSS" -t --json trail.gz none.gz bad.gz d b.gz
    is stdout 1 'o["name"], o["status"], o["uncompressed"]' "('trail.gz', 2, 300)"
    is stdout 1 'o["compressed"]' "$(stat -c %s b.gz)"
    is stdout 2 'o' "{'name': 'none.gz', 'status': 1}"
    is stdout 3 'o["name"], o["status"], "uncompressed" in o' "('bad.gz', 1, False)"
    is stdout 4 'o' "{'name': 'd', 'status': 2}"
    is stdout 5 'o["status"]' 0
    grep -q "^$NAME: none.gz: No such file or directory$" stderr
    # A file with the output's name exists already.
    ends_with 2 "$GZLZSS" -k --json a
    is stdout 1 'o["name"], o["status"], "output" in o' "('a', 2, False)"
    # After a file at which gzip would end, gzlzss prints no more objects.
    head -c 1000 a.gz >cut.gz
    ends_with 1 "$GZLZSS" -t --json cut.gz b.gz
    [ "$(wc -l <stdout)" -eq 1 ]
    is stdout 1 'o["status"]' 1
}

@test "sizes above 4 GiB are right" {
    without_sanitizers
    truncate -s 4400000001 large
    "$GZLZSS" -1 --json -o large.gz large >stdout
    is stdout 1 'o["uncompressed"]' 4400000001
    "$GZLZSS" -l --json large.gz >stdout
    is stdout 1 'o["uncompressed"], o["ratio"] > 0.99' '(4400000001, True)'
}

@test "standard output that is full is an error" {
    [ -c /dev/full ] || skip "there is no /dev/full"
    "$GZLZSS" -k a
    status=0
    "$GZLZSS" -l --json a.gz >/dev/full 2>stderr || status=$?
    [ "$status" -eq 1 ]
    grep -q "^$NAME: stdout: " stderr
}

@test "--list-devices --json: an object for each GPU, in any order of the options" {
    for words in '--list-devices --json' '--json --list-devices'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 0 "$GZLZSS" $words
        if [ -s stdout ]; then
            is stdout 1 'o["device"]' 0
            stderr_is
        else
            [ "$(wc -l <stderr)" -eq 1 ]
        fi
    done
    # Without --json, the list is text.
    "$GZLZSS" --list-devices >text
    [ -n "$(sed 's/^[0-9]*: //' text)" ]
    # All properties of the emulated GPU are known, so the test can compare the whole object.
    [ -x "${GEN%gen}emulated_gzlzss" ] || return 0
    "${GEN%gen}emulated_gzlzss" --list-devices --json >stdout
    is stdout 1 'o' "{'device': 0, 'name': 'emulated device', 'compute_capability': '9.0', \
'multiprocessors': 1, 'memory': 2147483648, 'supported': True}"
}

@test "the engine is the one that worked" {
    [ -x "${GEN%gen}emulated_gzlzss" ] || skip "there is no emulated GPU"
    without_sanitizers
    "${GEN%gen}emulated_gzlzss" --backend=gpu -k -b 32 --json a >stdout
    is stdout 1 'o["engine"]' gpu
}
