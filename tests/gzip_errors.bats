#!/usr/bin/env bats
# gzip_errors.bats - damaged data, and errors in reading and writing: gzlzss does what gzip does

# shellcheck disable=SC2016,SC2317 # Shells that `same` starts run the commands.
# shellcheck disable=SC2094 # Nothing here reads the file that it writes.
# shellcheck disable=SC2154 # inputs comes from compare.bash.

load helpers
load compare

make_inputs() {
    common_inputs
    "$GEN" random 700000 >big
    gzip -k big
    printf hello | gzip -n >tiny.gz
    printf hello >hello
    gzip hello
    # Make members whose headers have all fields: extra field, name and comment.  The second header
    # also has a CRC.
    {
        printf '\037\213\010\034\001\002\003\104\0\003\005\0extraname\0comment\0'
        tail -c +11 tiny.gz
    } >full.gz
    {
        printf '\037\213\010\036\001\002\003\104\0\003\005\0extraname\0comment\0'
        printf '\037\213\010\036\001\002\003\104\0\003\005\0extraname\0comment\0' | gzip -n |
            tail -c 8 | reads_all head -c 2
        tail -c +11 tiny.gz
    } >sum.gz
    { head -c 40 sum.gz && printf XX && tail -c +43 sum.gz; } >badsum.gz
}

# cut_off FILE: for each N below the size of the input FILE, makes cut-N.gz with the first N bytes
# of that input.
cut_off() {
    local n
    for ((n = 0; n < $(wc -c <"$inputs/$1"); n++)); do
        head -c "$n" "$inputs/$1" >"cut-$n.gz"
    done
    settle_times
}

# flipped FILE: for each byte N of the input FILE, makes two copies of the input, flip-255-N.gz and
# flip-4-N.gz.  The number before N is a mask: it has the bits that are flipped in byte N.
flipped() {
    local -a bytes
    local n m octal bits
    od -A n -v -t u1 -w1 "$inputs/$1" >numbers
    mapfile -t bytes <numbers
    rm numbers
    for bits in 255 4; do
        for ((n = 0; n < ${#bytes[@]}; n++)); do
            octal=
            for ((m = 0; m < ${#bytes[@]}; m++)); do
                printf -v octal '%s\\0%o' "$octal" $((m == n ? bytes[m] ^ bits : bytes[m]))
            done
            printf %b "$octal" >"flip-$bits-$n.gz"
        done
    done
    settle_times
}

# Gives all files in the current directory the same time.
settle_times() {
    touch -m -d '2003-01-02 03:04:05.987654321 UTC' -- *
}

@test "cut off after any byte" {
    local n
    for ((n = 0; n < 31; n++)); do
        same_in_turn 'cut_off hello.gz' "gzip -dc cut-$n.gz" "gzip -tv cut-$n.gz" \
            "gzip -lv cut-$n.gz" "gzip -dcf cut-$n.gz" "gzip -dv <cut-$n.gz" "gzip -dv cut-$n.gz"
    done
    for ((n = 10; n < 55; n++)); do
        same_in_turn 'cut_off sum.gz; take tiny.gz full.gz' "gzip -tN cut-$n.gz" \
            "cat tiny.gz cut-$n.gz | gzip -dc" "head -c $n full.gz | gzip -dc"
    done
    for n in 100 300 500 700 900 1000 1100; do
        same_in_turn 'take text.gz other.gz' "head -c $n text.gz | gzip -dc" \
            "head -c $n text.gz >c$n.gz; gzip -d c$n.gz" \
            "cat other.gz text.gz | head -c $n | gzip -dc"
    done
    for n in 1000 32768 32769 65536 100000 300000 600000 700000; do
        same_in_turn 'take big.gz' "head -c $n big.gz | gzip -dc" "head -c $n big.gz | gzip -t"
    done
}

@test "a byte that is another" {
    local n bits
    for ((n = 0; n < 31; n++)); do
        for bits in 255 4; do
            same_in_turn 'flipped hello.gz' "gzip -tv flip-$bits-$n.gz" \
                "gzip -dcf flip-$bits-$n.gz" "gzip -dv flip-$bits-$n.gz"
        done
    done
    for ((n = 0; n < 48; n++)); do
        same_in_turn 'flipped sum.gz' "gzip -dcN flip-255-$n.gz" "gzip -lv flip-4-$n.gz"
    done
    for n in 20 30 40 50 60 80 100 200 400 600 800 1000 1200; do
        same_in_turn 'take text.gz' "flip text.gz $n 255 | gzip -dc" \
            "flip text.gz $n 16 | gzip -dc" "flip text.gz $n 1 | gzip -t"
    done
}

# flip FILE N BITS: prints FILE, but flips some bits of byte N: those that are set in the mask BITS.
flip() {
    local byte
    byte=$(od -A n -t u1 -j "$2" -N 1 "$1")
    head -c "$2" "$1"
    printf '%b' "\\0$(printf %o $((byte ^ $3)))"
    tail -c +$(($2 + 2)) "$1"
}

@test "headers with everything in them" {
    local c f
    for f in full.gz sum.gz badsum.gz; do
        for c in -l -lv -lN -t -tv -dc -dcN -dcf; do
            same_in_turn 'take full.gz sum.gz badsum.gz tiny.gz' "gzip $c $f"
        done
        same_in_turn 'take full.gz sum.gz badsum.gz tiny.gz' "gzip -d <$f" "cat $f $f | gzip -d" \
            "cat tiny.gz $f | gzip -d"
        same 'take full.gz sum.gz badsum.gz' "gzip -d $f" "gzip -dN $f" "gzip -dv $f"
    done
    for f in 0 1 2 4 8 16 32 64 128 3 40 96 224 255; do
        c=$(printf '%03o' "$f")
        same_in_turn 'take tiny.gz' "printf '\\037\\213\\010\\$c\\0\\0\\0\\0\\0\\003' | gzip -dc" \
            "printf '\\037\\213\\010\\$c\\0\\0\\0\\0\\0\\003' >a$f.gz; \
                touch -d @1000000000 a$f.gz; gzip -d a$f.gz; gzip -l a$f.gz; gzip -tf a$f.gz" \
            "{ cat tiny.gz; printf '\\037\\213\\010\\$c\\0\\0\\0\\0\\0\\003'; } | gzip -dc" \
            "printf '\\037\\213\\$c\\0\\0\\0\\0\\0\\0\\003' | gzip -dc" \
            "printf '\\037\\$c\\010\\0\\0\\0\\0\\0\\0\\003' | gzip -dcf" \
            "{ cat tiny.gz; printf '\\037\\213\\$c\\0'; } | gzip -dc"
    done
}

# with_tail NAME: makes the file NAME from tiny.gz, with standard input after it.
with_tail() {
    cat "$inputs/tiny.gz" - >"$1"
    touch -m -d @1000000000 "$1"
}

@test "what comes after the end" {
    local c tail
    for tail in '\0' '\0\0\0' 'x' '\0x' 'x\0' '\037' '\037\213' '\037\213\010' '\037x' '\037\213x' \
        '\0\037\213' '\n' '\377' '\037\236' '\037\235' 'PK\003\004' '\032' \
        '\0\0\0\0\0\0\0\0\0\0\0\0x' '\037\213\010\0\0'; do
        for c in -dc -dcq -dcf -tq -tv -lv; do
            same_in_turn "printf '$tail' | with_tail a.gz" "gzip $c a.gz"
        done
        same_in_turn "printf '$tail' | with_tail a.gz; take tiny.gz big.gz" "gzip -dc <a.gz" \
            "cat a.gz tiny.gz | gzip -dc" "{ cat big.gz; printf '$tail'; } | gzip -t"
        same "printf '$tail' | with_tail a.gz" 'gzip -d a.gz' 'gzip -dv a.gz' 'gzip -dq a.gz'
    done
    for c in 1 10 511 512 513 8000 32768 40000 70000; do
        same_in_turn "head -c $c /dev/zero | with_tail a.gz; take tiny.gz" 'gzip -dc a.gz' \
            'gzip -dcv a.gz' '{ cat a.gz; echo x; } | gzip -d' 'cat a.gz tiny.gz | gzip -d' \
            'gzip -l a.gz' 'gzip -lv <a.gz'
    done
}

@test "one of several that is damaged" {
    local c f how
    for c in -dc -t -tv -l -lv -dcf -dcq -d -dq -dv; do
        how=same_in_turn
        [[ $c = *[clt]* ]] || how=same
        for f in 'text.gz cut.gz other.gz' 'text.gz crc.gz other.gz' 'text.gz length.gz other.gz' \
            'text.gz plain.gz other.gz' 'text.gz junk.gz other.gz' 'text.gz zeros.gz other.gz' \
            'text.gz empty.gz other.gz' 'text.gz missing.gz other.gz' 'text.gz setuid.gz other.gz' \
            'text.gz dir.gz other.gz' 'junk.gz cut.gz' 'cut.gz junk.gz' 'dir.gz missing.gz' \
            'missing.gz dir.gz' 'dir.gz junk.gz text.gz' 'crc.gz crc.gz' \
            'text.gz - other.gz <cut.gz' 'text.gz - other.gz <junk.gz' 'text.gz x other.gz' \
            'x missing' 'zeros.gz junk.gz'; do
            $how \
                'take text.gz other.gz cut.gz crc.gz length.gz plain.gz junk.gz zeros.gz \
                    setuid.gz=text.gz x=text; : >empty.gz; mkdir dir.gz; chmod 4755 setuid.gz' \
                "gzip $c $f"
        done
    done
    for c in '' -q -f -r -c; do
        how=same_but_sizes
        [[ $c != *[ct]* ]] || how=same_in_turn_but_sizes
        for f in 'text missing other' 'missing dir' 'dir missing' 'dir text' 'text done.gz dir' \
            'done.gz' 'done.gz missing' 'setuid text missing' 'text text other' "'' text" \
            'other there' 'there missing' 'missing there'; do
            $how \
                'take text other setuid=text done.gz=text.gz there=text there.gz=text.gz; \
                    mkdir dir; take dir/f=text; chmod 4755 setuid' \
                "gzip $c $f"
        done
    done
}

@test "an output that is full" {
    [ -c /dev/full ] || skip "there is no /dev/full"
    local c commands=()
    for c in '-c text' '-dc text.gz' '-c big' '-dc big.gz' '-c text other' '-dc text.gz other.gz' \
        '-c missing text' '-c text missing' '-dc missing.gz text.gz' '-dc cut.gz' '-dc crc.gz' \
        '-dc junk.gz' '-dcf text' '-dcf big' '-l text.gz' '-lv text.gz other.gz' '-tv text.gz' \
        '-t text.gz' '-k text' '-dk text.gz' '-cv text' '-dcv text.gz' '-cq text' '-dcq text.gz' \
        '-c empty' '-dc empty.gz' '-c - <text' '<text' '-v <text' '-d <text.gz' '-d <big.gz' \
        '-l <text.gz' '-rc .' '-cr text other' '-l missing text.gz' '-c dir text' '-lN text.gz' \
        '-l text.gz missing' '-kc text' '-cS .x text' '-dN <text.gz' '-dc full.gz empty.gz' \
        '-n9 <big'; do
        commands+=("gzip $c >/dev/full")
    done
    commands+=('gzip -v text 2>/dev/full' 'gzip missing 2>/dev/full' \
        'gzip -dv text.gz 2>/dev/full' 'gzip -dc cut.gz 2>/dev/full' \
        'gzip -h 2>/dev/full >/dev/full' 'gzip --foo 2>/dev/full' 'gzip -tv text.gz 2>/dev/full')
    same_in_turn_but_sizes \
        'take text other big empty text.gz=other.gz other.gz=text.gz big.gz \
            cut.gz crc.gz junk.gz empty.gz full.gz; mkdir dir' \
        "${commands[@]}"
}

@test "standard descriptors that are closed, or of the wrong kind" {
    local c commands=()
    for c in '-c text' '-dk big.gz' '-dc big.gz' '-l big.gz' '-t big.gz' '-v text' '-tv big.gz' '' \
        '-d' '-t' '-l' '-c' '-' '-f' '-df' '-dcf' 'text - big' '- text' 'missing' '-h' '-V' \
        '--foo' '-r' 'there' '-lv big.gz missing.gz' '-dcf text' '-q text' '-q' '-dq'; do
        commands+=("gzip $c <&-" "gzip $c >&- <text" "gzip $c 2>&- <text" "gzip $c <&- >&-" \
            "gzip $c <&- >&- 2>&-" "gzip $c >&- 2>&-" "gzip $c 0>out" "gzip $c 1</dev/null" \
            "gzip $c <." "gzip $c <text >/dev/null 2</dev/null" "gzip $c <&- 2>&-")
    done
    same_in_turn_but_sizes 'take text big big.gz there=text there.gz=text.gz' "${commands[@]}"
    commands=()
    for c in text '-k text' '-v text' '-d other.gz' '-dv other.gz' '-r .' 'text - other.gz'; do
        commands+=("gzip $c <&-" "gzip $c >&-" "gzip $c 2>&-" "gzip $c <&- >&- 2>&-" \
            "gzip $c >&- 2>&-" "gzip $c <&- 2>&-")
    done
    same_but_sizes 'take text other.gz' "${commands[@]}"
}

@test "a pipe that is closed" {
    local c commands=()
    for c in '-c big' '-dc big.gz' '<big' '-d <big.gz' '-cq big' '-dcf big' '-c big big2' \
        '-dcv big.gz' '-cv big' '-dc big.gz missing.gz' '-rc .'; do
        commands+=("{ gzip $c; echo \$? >status; } | head -c 1" \
            "{ (trap '' PIPE; gzip $c; echo \$? >status); } | head -c 1" \
            "{ gzip $c; echo \$? >status; } | dd bs=1 count=40000 status=none" \
            "{ (trap '' PIPE; gzip $c; echo \$? >status); } | dd bs=1 count=40000 status=none")
    done
    same_in_turn_but_sizes 'take big big.gz big2=big' "${commands[@]}"
    # Outputs that a pipe could hold: the program starts when the other end has been closed.
    commands=()
    for c in 'gzip -l big.gz' 'gzip -lv big.gz' '(trap "" PIPE; gzip -l big.gz)' 'gzip -h' \
        '(trap "" PIPE; gzip -c text)' 'gzip -c text'; do
        commands+=("mkfifo o p; { read -r _ <p; $c; echo \$? >status; } >o & \
            exec 9<o; exec 9<&-; echo >p; wait; rm o p")
    done
    same 'take text big.gz' "${commands[@]}"
}

@test "an output that may not grow" {
    local c commands=()
    for c in '-k big' 'big' '-c big >out' '-dk big.gz' '-dc big.gz >out' '-dcf big >out' \
        'text big other' '-f big' '-dN big.gz' '-v big' '-kq big' '-dv big.gz text.gz' '-r .'; do
        # If a signal ends the program, the shell prints a message; do not compare this message.
        commands+=("{ (ulimit -f 100; exec gzip $c 2>err); } 2>/dev/null" \
            "(trap '' XFSZ; ulimit -f 100; gzip $c)" "(trap '' XFSZ; ulimit -f 0; gzip $c)")
    done
    same_but_sizes \
        'take big=random text other; for i in 1 2 3 4 5 6; \
            do cat big big >b; cat b >>big; done; rm b; touch -d @1234567890 big; gzip -k big' \
        "${commands[@]}"
}

@test "signals" {
    local s commands=()
    for s in HUP INT TERM XCPU QUIT USR1; do
        # When the signal comes, the program is waiting for more input.
        commands+=("mkfifo p; (trap - $s; exec gzip -c <p >out 2>err) & exec 9<>p; sleep 0.1; \
            kill -s $s \$!; \
            { wait \$!; } 2>/dev/null; echo \$?" \
            "mkfifo p; (trap '' $s; exec gzip -dc <p >out) & exec 9<>p; sleep 0.1; kill -s $s \$!; \
                sleep 0.02; \
                cat text.gz >&9; exec 9>&-; wait \$!; echo \$?")
    done
    same 'take text.gz' "${commands[@]}"
}

@test "a file system that is full" {
    local unshare=(unshare -m)
    [ "$(id -u)" -eq 0 ] || unshare=(unshare -rm)
    "${unshare[@]}" sh -c 'mount -t tmpfs -o size=64k tmpfs /mnt' 2>/dev/null ||
        skip "cannot mount a file system"
    local c
    for c in 'gzip noise' 'gzip -k noise' 'gzip -f noise' 'gzip -kv noise small' \
        'gzip -d yes.gz' 'gzip -dk yes.gz small' 'gzip -dv yes.gz' 'gzip -dN yes.gz' \
        'gzip -r .' 'gzip -c noise >out' 'gzip -dc yes.gz >out' 'gzip -q noise'; do
        same_but_sizes 'mkdir small; take random' \
            "${unshare[*]} bash -c 'mount -t tmpfs -o size=64k tmpfs small; \
                cd small; for i in {1..13}; do cat ../random; done >noise; \
                yes | head -c 99999 | gzip -n >yes.gz; \
                touch small; $c; echo \$?; ls -A | sort'"
    done
}

@test "a directory that cannot be read" {
    needs_user
    same_but_sizes \
        'take text; mkdir closed open closed/in; take closed/f=text open/f=text open/g=text; \
            chmod 700 closed; chown 65534 . open' \
        'as_user gzip -r closed' 'as_user gzip -r closed open' 'as_user gzip -r .' \
        'as_user gzip -dr .' 'as_user gzip -qr closed' 'as_user gzip -rv closed' \
        'as_user gzip closed/f' 'as_user gzip -r closed/in' \
        'chmod 711 closed; as_user gzip -r closed' \
        'chmod 744 closed; as_user gzip -r closed 2>&1 | sort' \
        'chmod 711 closed; as_user gzip closed/f' 'as_user gzip -c closed/f' \
        'as_user gzip -f closed/f' 'as_user gzip -t closed/f' 'as_user gzip -l closed/f' \
        'as_user gzip -d closed/f' 'as_user gzip -rc .' 'as_user gzip -rl .' 'as_user gzip -rt .'
}

@test "large files, of chunks and more" {
    local c commands=()
    for c in '-k big' '-1k big' '-9k big' '-c big' '<big' '-dk big.gz' '-dc big.gz' '-n <big' \
        '--rsyncable -k big'; do
        commands+=("gzip $c")
    done
    commands+=('cat big big big | gzip' 'cat big.gz big.gz text.gz | gzip -d' \
        'gzip -c big | gzip -c | gzip -c | gzip -d | gzip -d | gzip -d')
    same 'take big big.gz text.gz' "${commands[@]}"
}
