#!/usr/bin/env bats
# gzip_tools.bats - programs that run gzip from the PATH work in the same way with gzlzss in its
# place

# shellcheck disable=SC2016,SC2317 # Shells that `same` starts run the commands.
# shellcheck disable=SC2094 # Nothing here reads the file that it writes.
# shellcheck disable=SC2154 # inputs comes from compare.bash.

load helpers
load compare

make_inputs() {
    common_inputs
    printf 'one\ntwo\nthree\n' >a
    printf 'one\n2\nthree\n' >b
    touch -d @1000000000 a b
    gzip -k a b
    if have compress; then
        compress -c a >a.Z
        compress -c text >text.Z
        touch -d @1000000000 a.Z text.Z
    fi
}

# needs PROGRAM...: skips the test if one of these is not installed.
needs() {
    local p
    for p; do
        have "$p" || skip "$p is not installed"
    done
}

lines() {
    take a b a.gz b.gz text text.gz cut.gz junk.gz plain.gz
}

@test "zgrep, zegrep and zfgrep" {
    needs zgrep
    same lines 'zgrep two a.gz' 'zgrep two a.gz b.gz' 'zgrep -c e a.gz b.gz' 'zgrep nothing a.gz' \
        'zgrep -l one *.gz' 'zgrep -L one a.gz b.gz' 'zgrep two a b a.gz' 'zgrep two <a.gz' \
        'zgrep two - <a.gz' 'zgrep -h one a.gz b.gz' 'zgrep -n three a.gz' 'zgrep -i TWO a' \
        'zgrep -q one a.gz' 'zgrep -e one -e two a.gz' 'zgrep one missing.gz' 'zgrep one missing' \
        'zgrep one cut.gz' 'zgrep one junk.gz' 'zgrep -v one a.gz' 'zegrep "one|two" a.gz' \
        'zfgrep . a.gz' 'zgrep one dir' 'zgrep' 'zgrep one plain.gz' \
        'echo two >f; zgrep -f f a.gz'
}

@test "zdiff and zcmp" {
    needs zdiff zcmp
    same lines 'zdiff a.gz b.gz' 'zdiff a.gz' 'zdiff a b.gz' 'zdiff a.gz b' \
        'zdiff -u a.gz b.gz | tail -n +3' 'zdiff a.gz a.gz' 'zdiff a.gz - <b.gz' \
        'zdiff - a.gz <b.gz' 'zdiff missing.gz a.gz' 'zdiff cut.gz text.gz 2>&1 | tail -n 3' \
        'zdiff junk.gz text.gz' 'zcmp a.gz b.gz' 'zcmp a.gz' 'zcmp a.gz a' 'zcmp a a' \
        'zcmp a.gz missing' 'zcmp -s a.gz b.gz' 'zcmp cut.gz text.gz' 'zcmp junk.gz text.gz' \
        'zcmp b' 'zdiff text'
}

@test "zmore, zless and zcat" {
    needs zmore
    same lines 'zmore a.gz </dev/null' 'zmore a.gz b.gz </dev/null' 'zmore <a.gz' \
        'zmore missing </dev/null' 'zcat a.gz b.gz' 'zcat a' 'zcat -f a b.gz'
    have less || return 0
    # LESSHISTFILE=- keeps less from writing a history.
    same lines 'LESSHISTFILE=- zless a.gz </dev/null' 'LESSHISTFILE=- zless a.gz b.gz </dev/null' \
        'LESSHISTFILE=- zless cut.gz </dev/null' 'LESSHISTFILE=- zless a </dev/null'
}

@test "znew" {
    needs znew compress
    same 'take a.Z text.Z b' 'znew a.Z' 'znew -v a.Z 2>&1 | sed "s/[0-9.-]*%//"' \
        'znew -t a.Z text.Z' 'znew -9 text.Z' 'znew -K text.Z' 'znew -f a.Z' \
        'touch a.gz; znew a.Z' 'znew b' 'znew missing' 'znew -P text.Z' 'znew -4 a.Z text.Z'
}

@test "zforce" {
    needs zforce
    same 'take x=a.gz y=a z.gz=b.gz t.tgz=b.gz "with space=a.gz"; mkdir dir' 'zforce x' 'zforce *' \
        'zforce y' 'zforce z.gz' 'zforce missing' 'zforce "with space"' 'zforce t.tgz' \
        'zforce dir' 'touch x.gz; zforce x'
}

@test "gzexe" {
    needs gzexe
    program() {
        { echo '#!/bin/sh'; echo 'echo "here with $*"; exit 3'; sed 's/^/# /' "$inputs/a"; } >prog
        chmod 755 prog
        touch -d @1000000000 prog
    }
    same_but_sizes program 'gzexe prog; rm prog~; ./prog x y; echo $?; rm prog' \
        'gzexe prog >/dev/null 2>&1; ./prog 2>&1; gzexe -d prog; rm -f prog~' \
        'gzexe prog 2>/dev/null; gzexe prog; ./prog a; rm -f prog prog~' 'gzexe missing' \
        'gzexe -d prog'
}

@test "tar" {
    needs tar
    tree() {
        mkdir d
        take d/text=text d/b=b d/a.gz=a.gz
        ln -s text d/link
        touch -d @1000000000 d
    }
    # tar's list shows the attributes of the files in an archive, so the test compares these
    # attributes, too.
    same tree 'tar -czf o.tgz d; gzip -dc o.tgz | tar -tvf -; rm o.tgz' \
        'tar -czf o.tgz d; tar -tzvf o.tgz; rm o.tgz' \
        'tar -czf o.tgz d; rm -r d; tar -xzf o.tgz; rm o.tgz' \
        'tar -czf o.tar.gz d; rm -r d; tar -xf o.tar.gz; rm o.tar.gz' \
        'tar -I gzip -cf o d; rm -r d; tar -I gzip -xf o; rm o' \
        'tar -I "gzip -9" -cf o d; gzip -l o >/dev/null; echo $?; rm o' \
        'tar -caf o.tar.gz d; file=o.tar.gz; tar -taf o.tar.gz; rm o.tar.gz' \
        'tar --use-compress-program=gzip -cf o d; tar -xOf o d/b; rm o' \
        'tar -c d | gzip | tar -xzOf - d/b' \
        'tar -czf o.tgz d; head -c 300 o.tgz >cut; tar -tzf cut 2>&1 | grep -v -e "^d/"; \
            rm cut o.tgz' \
        'cat d/text >no.tgz; tar -xzf no.tgz' 'tar -czf - d | tar -xzf - -C /dev/null' \
        'tar -czf o.tgz d; echo junk >>o.tgz; tar -tzf o.tgz; echo $?; rm o.tgz'
}

@test "find, xargs and the shell's loops" {
    tree() {
        mkdir -p d/e
        take d/text=text d/b=b d/e/a=a 'd/e/with space=a' d/done.gz=a.gz
    }
    same tree 'find . -type f | sort | tr "\n" "\0" | xargs -0 gzip' \
        'find . -type f -exec gzip {} +' 'find . -type f -exec gzip {} \;' \
        'find . -type f ! -name "*.gz" -print0 | sort -z | xargs -0 -n 1 -P 2 gzip -9' \
        'find . -name "*.gz" | xargs gunzip' 'find . -type f | sort | xargs gzip' \
        'find d -type f -exec gzip -c {} + | gzip -dc | sort' \
        'for f in d/*; do gzip -f "$f"; done' \
        'for f in d/*; do [ -f "$f" ] && gzip -t "$f" && echo "$f"; done 2>&1' \
        'gzip -c d/text | tee copy | gzip -dc; gzip -dc <copy; rm copy' \
        'cat d/text | gzip -9n | cat | gunzip | cat' \
        'gzip -l d/done.gz | awk "NR == 2 { print \$1 + \$2 }"' \
        'while read -r line; do echo "$line" | gzip | zcat; done <d/b' \
        'gzip -dc d/done.gz >d/out && rm d/done.gz' \
        'exec 5<d/text; gzip <&5 >o; exec 5<&-; gzip -dc o; rm o' 'nice gzip d/text' \
        'env gzip d/text' 'timeout 9 gzip d/text' 'nohup gzip d/text 2>/dev/null' \
        'ls | gzip | zcat' 'gzip < <(cat d/text) | zcat' 'zcat <(gzip -c d/text)'
}

@test "logrotate" {
    needs logrotate
    local c config='size 1
rotate 3
create 600
compress
missingok'
    logs() {
        take log=text
        mkdir state
        chmod 640 log
    }
    for c in '' 'compressoptions -9' 'compressoptions -1 -n' 'delaycompress' 'dateext' "shred" \
        'compressext .gzip
compressoptions -S .gzip' \
        'mail nobody@localhost
nomail'; do
        # `rotate` sets logrotate's compresscmd.  logrotate runs this command in an environment of
        # its own.
        same logs "rotate '$config
$c'" "rotate '$config
$c'; cp -p log.1* copy 2>/dev/null; echo more >>log; touch -d @1000000100 log; rotate '$config
$c'; rm -f log"
    done
}

rotate() {
    printf '%s {\n%s\ncompresscmd %s\nuncompresscmd %s\n}\n' "$PWD/log" "$1" \
        "$(command -v gzip)" "$(command -v gunzip)" >state/conf
    chmod 644 state/conf
    logrotate -f -s "$PWD/state/state" state/conf 2>&1 | sed "s|$PWD||g"
    rm -r state
    mkdir -p state
}

@test "programs that are known to call it" {
    package() {
        take text
        mkdir -p pkg/DEBIAN
        printf '%s: %s\n' Package x Version 1 Architecture all Maintainer 'x <x@x>' Description x \
            >pkg/DEBIAN/control
        chmod 755 pkg pkg/DEBIAN
    }
    same package \
        'have dpkg-deb && dpkg-deb -Zgzip -b pkg >/dev/null && \
            dpkg-deb -I pkg.deb | tail -n 5; rm -f pkg.deb' \
        'have cpio && echo text | cpio -o 2>/dev/null | gzip -9 | gunzip | cpio -t 2>/dev/null' \
        'have rsync && rsync -a text copy' \
        'have git && git init -q . && git add text && \
            git -c user.name=x -c user.email=x@x -c gc.auto=0 commit -qm x && \
                git -c tar.tar.gz.command="gzip -cn" archive --format=tar.gz HEAD | tar -tzf -; \
                rm -rf .git'
}
