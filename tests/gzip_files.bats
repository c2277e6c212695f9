#!/usr/bin/env bats
# gzip_files.bats - which files are refused, what the user is asked, and which attributes are kept

# shellcheck disable=SC2016,SC2317 # Shells that `same` starts run the commands.

load helpers
load compare

make_inputs() {
    common_inputs
}

# Makes files that are not regular, or have special modes, links or names.
menagerie() {
    take text other text.gz other.gz
    mkdir dir dir.gz empty
    take dir/text=text
    ln -s text soft
    ln -s text.gz soft.gz
    ln -s dir softdir
    ln -s dir softdir.gz
    ln -s nothing dangling
    ln -s nothing dangling.gz
    ln -s loop loop
    take once=other once.gz=other.gz thrice=other
    ln once twice
    ln once.gz twice.gz
    ln thrice three
    ln thrice drei
    mkfifo fifo fifo.gz
    take setuid=other setgid=other sticky=other all=other
    take setuid.gz=other.gz setgid.gz=other.gz sticky.gz=other.gz
    chmod 4755 setuid setuid.gz
    chmod 2755 setgid setgid.gz
    chmod 1644 sticky sticky.gz
    chmod 7777 all
}

@test "links, directories, FIFOs and special modes" {
    local option f
    for option in '' -f -c -k -q -r -d -df -dc -t -l -cf -rf -dr -drf -kf -v -dcf -qf; do
        for f in dir dir/ dir.gz soft softdir softdir/ dangling loop once thrice setuid setgid \
            sticky all soft.gz softdir.gz dangling.gz once.gz setuid.gz setgid.gz sticky.gz; do
            # The option in the comment makes the name of the tree unique, so that each option gets
            # its own tree.
            same_in_turn_but_sizes "menagerie # $option" "gzip $option $f"
        done
    done
    for option in '' -f -k -q -r -d -df -v; do
        same menagerie "timeout 5 gzip $option fifo" "timeout 5 gzip $option fifo.gz"
    done
    # gzip does not wait until another process has opened the FIFO for writing.  If the FIFO is
    # already open for writing, gzip waits for data.
    for option in '-c fifo' '-dc fifo' '-t fifo' '-l fifo' '-dcf fifo' '-cf fifo'; do
        same menagerie "timeout 0.5 gzip $option"
        for f in text text.gz; do
            same menagerie \
                "exec 9<>fifo; cat $f >&9; timeout 5 gzip $option 9<&- & \
                    sleep 0.1; exec 9<&-; wait \$!"
        done
    done
    same menagerie 'gzip /dev/null' 'gzip -f /dev/null' 'gzip -c /dev/null' 'gzip -dc /dev/null' \
        'gzip -t /dev/null' 'gzip -l /dev/null' 'gzip dir text soft missing once other' \
        'gzip soft/x' 'gzip -f soft dangling' 'gzip -r dir soft' 'gzip -kr .'
}

@test "a socket" {
    have python3 || skip "python3 is not installed"
    socket() {
        python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("s")'
    }
    same socket 'gzip s' 'gzip -f s' 'gzip -c s' 'gzip -d s' 'gzip -r .' 'gzip -dc s' 'gzip -q s'
}

# Makes files whose outputs exist already.
taken() {
    take text text.gz other text.z=text other.gz=text.gz
    mkdir dir
    take dir/text=text
    mkdir dir/text.gz
    take link=other
    ln -s text.gz link.gz
    take dangle=other
    ln -s nothing dangle.gz
    take self.gz=text.gz
    ln -s self.gz self
    take twin.gz=text.gz
    ln twin.gz twin
    chmod 400 other.gz
}

@test "an output that exists" {
    local option
    for option in '' -f -k -q -v -kf; do
        same_but_sizes taken "gzip $option text" "gzip -d $option text.gz" "gzip $option dir/text" \
            "gzip $option link" "gzip $option dangle" "gzip -d $option self.gz" \
            "gzip $option self" "gzip -d $option twin.gz" "gzip $option text other missing" \
            "gzip -dN $option text.z" "gzip -d $option text.gz text.z"
    done
    same taken 'gzip -c text' 'gzip -dc text.gz' 'gzip <text >text.gz' 'gzip -c text >text.gz' \
        'gzip -rk .' 'gzip -drk .' 'gzip -cf text' 'gzip text <text.gz' 'gzip -- text - <other' \
        'echo y | gzip text' 'yes | gzip text' 'echo n | gzip text'
}

@test "the prompt's answers" {
    local answer
    for answer in y n Y N yes '' ' y' 'ny' 'yn' '\ty' x '\0y' 'y\0' '\ny'; do
        same taken "printf '$answer\n' | gzip ---presume-input-tty text" \
            "printf '$answer' | gzip ---presume-input-tty -k text"
    done
    same_but_sizes taken 'gzip ---presume-input-tty text' 'gzip ---presume-input-tty text <&-' \
        'gzip ---pre -q text' 'gzip --- -v text <<<y' 'gzip --- -vq text <<<n' \
        'gzip --- -f text <<<n' 'gzip --- -c text <<<n' $'gzip --- text other <<<"y\ny"' \
        'gzip --- text missing other <<<n' '(trap "" INT; gzip --- text <<<y)' \
        '(trap "" INT; gzip --- text other <<<y)' 'gzip --- dir/text <<<y' 'gzip --- link <<<y' \
        'gzip --- dangle <<<y' 'gzip --- -d self.gz <<<y' 'gzip --- -d twin.gz <<<y' \
        'gzip --- -r . <<<y' 'gzip --- text - <<<y' 'gzip --- - text <<<y' \
        'gzip --- -dN text.gz <<<y' 'gzip --- -dNv text.z <<<y' 'gzip --- <text' \
        'gzip --- -d <text.gz' 'gzip --- -c <text' 'gzip --- -t <text.gz' 'gzip --- -l <text.gz' \
        'gzip --- -dc <text.gz' 'gzip --- -f <text' 'gzip --- -df <text.gz' 'gzip --- -q <text' \
        'gzip --- -dq <text.gz' 'gzip --- - text <text' 'gzip --- -k other - <text' \
        'head -c 5000 /dev/zero | gzip --- text' 'printf %05000dy 0 | gzip --- text other' \
        'printf "y%05000d\ny\n" 0 | gzip --- text other'
}

@test "terminals" {
    needs_terminal
    local c option
    for c in 'gzip' 'gzip -c' 'gzip -d' 'gzip -dc' 'gzip -t' 'gzip <text' 'gzip - <text' \
        'gzip -c <text' 'gzip -v <text' 'gzip -q <text' 'gzip -q' 'gzip -dq' 'gzip -d <text.gz' \
        'gzip -dc text.gz' 'gzip -l <text.gz' 'gzip -t <text.gz' 'gzip -d -' 'gzip -k - other' \
        'gzip -k other - text' 'gzip -r' 'gzip -S .x' 'gunzip' 'zcat' 'gzip -tq' 'gzip -dv' \
        'gzip -9' 'gzip -dc missing -' 'gzip -v' 'gzip -N' 'gzip -rc' 'gzip -k other' \
        'gzip -d self.gz' '(trap "" INT; gzip text)' 'gzip -d <text.gz >/dev/null' \
        'gzip >/dev/null <text' 'gzip -l <text' 'gzip missing -' 'gzip --foo' 'gzip -df <text' \
        'gzip -c text' 'gzip -cf text' 'gzip -fc <text' 'gzip -c text | gzip -d' \
        'gzip -cf text >out' 'gzip <text >out' 'gzip -fc <text >out' 'gzip text </dev/null' \
        'gzip - text' 'gzip text 2>/dev/null </dev/null'; do
        same_but_sizes taken "on_terminal '$c'"
    done
    for c in 'y\n' 'n\n' '\n' 'Y\n' 'x\n' '\004' 'yn\n'; do
        for option in '' -q -df; do
            same_but_sizes taken "on_terminal 'gzip $option text' '$c'"
        done
        same_but_sizes taken "on_terminal 'gzip -d text.gz' '$c'"
    done
    same_but_sizes taken "on_terminal 'gzip text other' 'y\ny\n'" "on_terminal 'gzip -l'" \
        "on_terminal 'gzip -f'" "on_terminal 'gzip -df'" \
        "on_terminal 'gzip -r .' 'n\nn\nn\nn\nn\nn\nn\nn\nn\nn\n'"
}

# attributes MODE [TIME]: makes files with this mode and time.  If root runs the tests, the files
# get another owner, too.
attributes() {
    take text other.gz text.gz
    mkdir sub
    take sub/text=text
    chmod "$1" text other.gz
    chmod 700 sub
    if [ "$(id -u)" -eq 0 ]; then
        chown 1234:2345 text other.gz
        chmod "$1" text other.gz
    fi
    touch -m -d "${2-2011-12-13 14:15:16.171819202 UTC}" text other.gz
}

@test "modes, under different umasks" {
    local mode mask
    for mode in 000 400 644 600 444 777 666 755 111 222 200 040 1777 1644; do
        # The command, not the function `attributes`, sets the mode, because a tree with unreadable
        # files could not be copied.
        same 'attributes 640' "chmod $mode text; gzip -f text" \
            "chmod $mode other.gz; gzip -df other.gz"
    done
    for mask in 000 077 022 777 027 111 666 0400; do
        same 'attributes 640' "umask $mask; gzip text" "umask $mask; gzip -d other.gz" \
            "umask $mask; gzip -k text" "umask $mask; gzip -dN other.gz" "umask $mask; gzip -r ."
        same 'attributes 777' "umask $mask; gzip text"
    done
}

@test "another user's attributes" {
    needs_user
    [ "$(id -u)" -eq 0 ] || skip "only root can give files away"
    given() {
        attributes 640
        take own=text own.gz=other.gz both=text
        chown 65534:65534 . own own.gz
        chown 65534:2345 both
        chmod 664 both
        chmod 755 .
        chmod 644 text
        chmod 644 other.gz
        mkdir closed shut mine
        take closed/f=text shut/f=text shut/f.gz=text.gz
        take secret=text secret.gz=text.gz mine/secret=text
        chmod 000 secret secret.gz mine/secret
        chmod 700 closed
        chmod 755 shut
        chown 65534 mine
        chmod 2775 mine
    }
    same given 'as_user gzip text' 'as_user gzip -v own 2>&1 | cut -c 1-5' \
        'as_user gzip -d other.gz' 'as_user gzip -d own.gz' 'as_user gzip both' \
        'as_user gzip -f both' 'as_user gzip secret' 'as_user gzip -f secret' \
        'as_user gzip -c secret' 'as_user gzip -d secret' 'as_user gzip -d secret.gz' \
        'as_user gzip -l secret.gz' 'as_user gzip -t secret.gz' 'as_user gzip closed/f' \
        'as_user gzip -d closed/f' 'as_user gzip -c closed/f' 'as_user gzip shut/f' \
        'as_user gzip -f shut/f' 'as_user gzip -d shut/f.gz' 'as_user gzip -df shut/f.gz' \
        'as_user gzip -c shut/f' 'as_user gzip -k shut/f' 'as_user gzip -r .' \
        'as_user gzip -r closed' 'as_user gzip -r shut' \
        'as_user gzip -rv closed own 2>&1 | cut -c 1-20' 'as_user gzip -r closed mine' \
        'as_user gzip -q secret' 'as_user gzip -q shut/f' 'as_user gzip -qr closed' \
        'as_user gzip secret own' 'as_user gzip own secret' 'as_user gzip -kr .' \
        'umask 077; as_user gzip own' 'umask 077; as_user gzip both' 'as_user gzip -q both' \
        'as_user gzip shut/f own' 'chmod 555 mine; as_user gzip mine/secret' \
        'cp -p own mine/f; chmod 1777 mine; as_user gzip mine/f' \
        'chown 0 .; chmod 1777 .; as_user gzip text' \
        'chown 0 .; chmod 1777 .; as_user gzip -d other.gz' 'chown 0 .; as_user gzip own' \
        'chown 0 .; as_user gzip -c own' \
        'cp -p own mine/f; chown 65534 mine/f; chmod 400 mine/f; as_user gzip mine/f' \
        'chown 0 . ; touch own.gz; chmod 1777 .; as_user gzip -f own' \
        'touch -m own; chmod 111 mine; as_user gzip -r mine'
}

@test "times, to the nanosecond and far away" {
    local time
    for time in @0 @1 @-1 @-0.5 @0.000000001 @2147483647 @2147483648 @4294967295 @4294967296 \
        @4294967297 @-2147483648 @1000000000.123456789 @8589934592 '1901-01-01 UTC' \
        '2038-01-19 03:14:08 UTC' '2106-02-07 06:28:16 UTC' '2200-01-01 UTC' '2446-01-01 UTC'; do
        same_but_sizes "attributes 644 '$time'" 'gzip text' 'gzip -d other.gz' 'gzip -dN other.gz' \
            'gzip -N text; gzip -dN text.gz' 'gzip -n text; gzip -dN text.gz' 'gzip -m text' \
            'gzip -M text'
        same_in_turn "attributes 644 '$time'" 'gzip -c text' 'gzip <text' 'gzip -N <text' \
            'gzip -n <text' 'gzip -lv text.gz other.gz' 'gzip -nc text'
    done
    same 'attributes 644' 'gzip -dn text.gz' 'gzip -dN text.gz' 'gzip -dM text.gz' \
        'gzip -dnM text.gz' 'gzip -dm text.gz' 'gzip -dNm text.gz' 'gzip -dk text.gz' \
        'gzip -dcN text.gz' 'gzip -r .' 'gzip -rk .' 'TZ=Asia/Tokyo gzip -dN text.gz' \
        'gzip -c <text' 'gzip -nc <text' 'cat text | gzip' 'cat text | gzip -N' \
        'cat text | gzip -n' 'gzip - <text' 'gzip -1 -c text' 'gzip - - <text'
}

# stored FLAGS TIME NAME: prints a member that contains "hello", with these fields in its header.
stored() {
    printf '%b' '\037\213\010'"$1$2"'\0\003'"$3"
    printf hello | gzip -n | tail -c +11
}

# stored_name NAME [DIRECTORY]: makes compressed files in which NAME is stored, and directories, one
# of them with the name DIRECTORY.
stored_name() {
    stored '\010' '\001\002\003\104' "$1\0" >a.gz
    mkdir d sub "${2-other}"
    cp -p a.gz d
    cp a.gz a.tgz
    cp a.gz a.z
    take sub/f=text
}

@test "-N: the name that is stored" {
    local name long
    long=$(printf 'n%.0s' {1..1000})
    for name in b a a.gz '' . .. / a/b ../b b/ sub/f -b 'a b' 'a\nb' '\377\376' 'a\\b' 'b\001' sub \
        other sub/.. /etc/passwd '\033[1m' c:b 'c:\\b' "${long:0:200}" "${long:0:255}" \
        "${long:0:256}" "${long:0:300}" "$long" "/${long:0:250}" "a/b/${long:0:100}"; do
        same "stored_name '$name'" 'gzip -dNv a.gz' 'gzip -dN d/a.gz' 'gzip -dNf a.gz'
        same_in_turn "stored_name '$name'" 'gzip -lN a.gz' 'gzip -l a.gz' 'gzip -lv a.gz' \
            'gzip -lvN a.gz' 'gzip -dcN a.gz' 'gzip -dN <a.gz' 'gzip -lN <a.gz' 'gzip -tvN a.gz' \
            'gzip -l <a.gz'
    done
    for name in b a/b ''; do
        same "stored_name '$name'" 'gzip -dN a.gz' 'gzip -d a.gz' 'gzip -dNk a.gz' \
            'gzip -dN a.tgz' 'gzip -dN a' 'gzip -dNr d' 'gzip -dNS .x a.z'
    done
    same 'stored_name b' 'touch b; gzip -dN a.gz' 'touch b; gzip -dNf a.gz' \
        'mkdir b; gzip -dN a.gz' 'mkdir b; gzip -dNf a.gz' 'ln -s sub b; gzip -dN a.gz' \
        'ln -s x b; gzip -dNf a.gz' 'touch b; gzip --- -dN a.gz <<<y' \
        'touch b; gzip --- -dN a.gz <<<n' 'gzip -dN a.gz a.z' 'gzip -dNf a.gz a.z' \
        'ln a.gz b; gzip -dNf a.gz' 'touch a; gzip -dN a.gz'
    same 'stored_name a.gz' 'gzip -dN a.gz' 'gzip -dNf a.gz' 'gzip -dN d/a.gz'
}

@test "-N: headers without a name, and a name alone" {
    local time
    for time in '\0\0\0\0' '\001\0\0\0' '\377\377\377\177' '\0\0\0\200' '\377\377\377\377' \
        '\0\0\0\104'; do
        same "stored '\0' '$time' '' >a.gz; stored '\010' '$time' 'b\0' >c.gz" 'gzip -dN a.gz' \
            'gzip -d a.gz' 'gzip -dN c.gz' 'gzip -dnN c.gz' 'gzip -dNn c.gz' \
            'gzip -lvN a.gz c.gz; gzip -lv a.gz c.gz' 'TZ=America/New_York gzip -lvN c.gz' \
            'TZ=Asia/Kolkata gzip -lv <c.gz' 'gzip -dM c.gz' 'gzip -dm c.gz' 'gzip -dnM c.gz' \
            'gzip -dNm c.gz' 'gzip -dcN c.gz' 'gzip -dkN c.gz' 'cat c.gz >>a.gz; gzip -dN a.gz' \
            'cat a.gz >>c.gz; gzip -dN c.gz' 'cat c.gz | gzip -lvN' 'cat c.gz | gzip -lv' \
            'gzip -lv <c.gz'
    done
}

@test "several inputs to one output, and the same twice" {
    same 'take text other empty' 'gzip -c text other' 'gzip -c other text empty' \
        'gzip -c text missing other' 'gzip -c text text' 'gzip text text' 'gzip -k text text' \
        'gzip -f text text' 'gzip -fk text text' 'gzip text text.gz' \
        'gzip -c text | gzip -c | gzip -dc | gzip -d' 'gzip text other empty' 'gzip -n text empty' \
        'gzip empty; gzip -d empty.gz' 'gzip -c empty empty' \
        'gzip -c text other >both.gz; gzip -d both.gz' \
        'gzip -c text other | LC_ALL=C grep -aobe "other" -e "text"' \
        'gzip -nc text other | LC_ALL=C grep -aobe "other" -e "text" | head -n 1' \
        'gzip -cv text other 2>&1 >/dev/null | sed "s/[0-9.-]*%//"' \
        'gzip -c text other empty |
            LC_ALL=C grep -aoP "\x1f\x8b\x08\x08[\x00-\xff]{4}\x00\x03[a-z]*" | od -c'
    same 'take text.gz other.gz empty.gz multi.gz' 'gzip -dc text.gz other.gz' \
        'gzip -d text.gz text.gz' 'gzip -d text.gz text' 'gzip -dc text.gz text.gz' \
        'gzip -dk text.gz text.gz' 'gzip -dkf text.gz text.gz' 'gzip -dc text other' \
        'gzip -d multi.gz' 'gzip -dN multi.gz' 'gzip -d empty.gz' 'gzip -dc empty.gz empty.gz' \
        'gzip text.gz; gzip -f text.gz; gzip -d text.gz.gz'
}

@test "an output that is the input" {
    same 'take text text.gz' 'ln -s text text.z; gzip -df text.z' \
        'gzip -c text >>text.gz; gzip -dc text.gz' 'gzip -f <text >text.x; gzip -dc <text.x' \
        'gzip <text >>text.gz' 'gzip -d <text.gz >text.new' \
        'rm text; ln -s text.gz text; gzip -df text.gz' \
        'rm text; ln text.gz text; gzip -df text.gz' 'rm text; ln text.gz text; gzip -f text'
    # Standard output is the input file itself.
    same 'take text text.gz' 'gzip -c text 1<>text' 'gzip -dc text.gz 1<>text.gz' \
        'gzip -c <text 1<>text; cmp text text.gz'
}

@test "-cdf passes on what it does not know" {
    same \
        'take text text.gz junk.gz zeros.gz cut.gz empty random \
            multi.gz plain.gz; printf "\037" >one; printf "\037\213" >two; \
                printf "\037\213\010" >three; \
                printf "\037\235" >lzw' \
        'gzip -dcf text' 'gzip -dcf text.gz text' 'gzip -dcf text text.gz' 'gzip -dcf random' \
        'gzip -dcf empty' 'gzip -dcf <text' 'gzip -dcf <random' 'gzip -dcf </dev/null' \
        'gzip -df <text' 'gzip -dcf junk.gz' 'gzip -dcf zeros.gz' 'gzip -dcf cut.gz' \
        'gzip -dcf one' 'gzip -dcf two' 'gzip -dcf three' 'gzip -dcf lzw' 'gzip -dc one' \
        'gzip -dc two' 'gzip -dc three' 'gzip -dc lzw' 'gzip -df text' 'gzip -df plain.gz' \
        'gzip -dfk plain.gz' 'gzip -dcf plain.gz' 'gzip -dcfv plain.gz' 'gzip -dcfv text' \
        'gzip -tf text' 'gzip -tfv text' 'gzip -tf one' 'gzip -lf text' 'gzip -lfv text' \
        'gzip -dcfq junk.gz' 'gzip -dcfv junk.gz' 'gzip -dcfN text' 'zcat -f text text.gz' \
        'zcat -f missing' 'zcat -f <text' 'gunzip -f text' 'gunzip -cf text' \
        'cat text.gz text | gzip -dcf' 'cat text.gz text text.gz | gzip -dcf' \
        'cat text.gz one | gzip -dcf' 'cat text text.gz | gzip -dcf' \
        'cat text.gz empty | gzip -dcf' 'cat text.gz two | gzip -dcf' \
        'cat text.gz three | gzip -dcf' 'cat text.gz lzw | gzip -dcf' 'gzip -dcfr .' 'gzip -drf .' \
        'gzip -dcf . text' 'gzip -dcrf text' 'printf "\037" | gzip -dcf' 'printf a | gzip -dcf' \
        'printf "\0" | gzip -dcf' 'printf "\0\0" | gzip -dcf' 'printf "\0\0" | gzip -dc' \
        'cat text.gz; printf "\0" | gzip -dcf' 'printf "PK\003\004" | gzip -dcf' \
        'printf "\037\036" | gzip -dcf' 'printf "\037\240" | gzip -dcf'
}

# Makes directories with files, links and a FIFO in them.
forest() {
    mkdir -p a/b/c a/d e
    take a/text=text a/b/text.gz=text.gz a/b/c/other=other a/d/x.tgz=other.gz a/d/done.z=other.gz
    take e/empty=empty a/b/.hidden=other a/b/c/bad.gz=cut.gz
    ln -s ../e a/link
    ln -s text a/soft
    ln -s nothing a/dangling
    ln -s . a/b/self
    chmod 4755 a/b/c/other
    mkfifo a/d/fifo
    take top=text
}

@test "-r" {
    local option
    for option in -r -rk -rf -rv -rq -rkf -dr -drk -drf -drv -drq -rn -rN -drN -rS.x -drS.x -rc \
        -drc -rt -rtv -rl -rlv -drcf -r9 --recursive '-r --keep -q' -rvv -rlq -rtq -rcv; do
        same_but_sizes forest "timeout 9 gzip $option . 2>&1 >/dev/null | sort" \
            "timeout 9 gzip $option top e"
    done
    same_but_sizes forest 'gzip -r' 'gzip -r <top' 'gzip -r - <top' 'gzip -r e - <top' \
        'gzip -r e/' 'gzip -r e//' 'gzip -r ./e/.' 'gzip -rv e/' 'gzip -rv ./e//' 'gzip -r a/link' \
        'gzip -r a/link/' 'gzip -rf a/link' 'gzip -r a/soft' 'gzip -r missing e' \
        'gzip -r e missing' 'gzip -r e e' 'gzip -r e; gzip -r e' 'gzip -dr e' \
        'gzip -r e; gzip -dr e' 'mkdir n; gzip -r n' 'mkdir n; gzip -dr n' 'mkdir n; gzip -rc n' \
        'mkdir n; gzip -rl n' 'gzip -rt a/b/c' 'gzip -rl a/b' 'gzip -rlv a/b a/d' \
        'gzip -r a e >/dev/null 2>&1' 'gzip -rk a e >/dev/null 2>&1' \
        'gzip -dr a e >/dev/null 2>&1' 'gzip -rt a e >/dev/null 2>&1' 'gzip e' 'gzip -q e top' \
        'gzip -c e' 'gzip a top e' 'gzip -rd a/b/text' 'gzip -drS .tgz a/d' 'cd a/b; gzip -rk ..' \
        'gzip -r e/empty' 'gzip -dr a/b/text.gz' 'gzip -rc e | gzip -d' 'gzip -r "" e' \
        'gzip -rf a/dangling' 'gzip -rkv e top'
}

@test "owner, group, mode and time, with some of root's rights" {
    [ "$(id -u)" -eq 0 ] || skip "needs to be root"
    setpriv --bounding-set -fowner,-chown true 2>/dev/null || skip "cannot give up rights"
    local rights mode
    # owned MODE: makes files of several owners, some of them not readable for everybody.
    owned() {
        local owner
        for owner in 0:0 0:1001 1000:0 1000:1001 65534:1001 65534:65534; do
            take "f-$owner=other" "z-$owner.gz=other.gz"
            chown "$owner" ./?-"$owner"*
            chmod "$1" ./?-"$owner"*
        done
        chmod 777 .
    }
    for mode in 640 664 777 070 606; do
        for rights in '--bounding-set -fowner' '--bounding-set -chown' \
            '--bounding-set -fowner,-chown' '--bounding-set -fsetid' \
            '--reuid=65534 --regid=65534 --clear-groups' \
            '--reuid=65534 --regid=65534 --groups=1001'; do
            same "owned $mode" "setpriv $rights gzip f-*" "setpriv $rights gzip -d z-*.gz" \
                "setpriv $rights gzip -kdN z-*.gz"
        done
    done
}

@test "-r: directories with a slash behind, beside files in them" {
    local operands
    nested() {
        mkdir -p d/e
        take d/x=text d/y=other d/e/x=text d/e/z=empty
    }
    for operands in 'd/x d/' 'd/ d/x' 'd/ d/' 'd/e/x d/e/ d/' './d/x ./d/' 'd/x d' 'd d/' \
        'd/x d// d/' 'd/x nothing/' 'd/x d/y/' 'd/x d/ d/y' 'd/nothing d/ d/x' '-c d/x d/' \
        '-k d/x d/ d/y' 'nothing/x nothing/ d/'; do
        same_but_sizes nested "gzip -rv $operands 2>&1 >/dev/null | sort" \
            "gzip -r $operands >/dev/null"
        same_but_sizes nested "gzip -r d; gzip -drv ${operands//d\/x/d/x.gz} 2>&1 >/dev/null | sort"
    done
}

@test "-r: the order of files" {
    many() {
        local n
        mkdir d
        for n in k b z a m c y x w 10 9 8 d.gz e.z; do
            take "d/$n=empty"
        done
    }
    # Both programs must process the files in the same order: that of the directory, perhaps sorted
    # by inode.
    same_but_sizes many 'gzip -rv d' 'gzip -rk d; gzip -lr d >/dev/null' 'gzip -rkv d d'
}
