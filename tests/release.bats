#!/usr/bin/env bats
# release.bats - build-aux/release.sh refuses what is not ready, and makes, checks, signs and tags
# what is; it works on a small project in place of this one

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    keys=
    enter_test_directory
    have git || skip "git is not installed"
    have gpg || skip "gpg is not installed"
    # GnuPG's agent has a socket in this directory, whose path must be short.
    keys=$(mktemp -d /tmp/gzlzss-gpg.XXXXXX)
    export GNUPGHOME=$keys HOME=$PWD TMPDIR=$PWD
    # The user's settings of git are neither read nor written.
    export GIT_CONFIG_GLOBAL=$PWD/.gitconfig GIT_CONFIG_NOSYSTEM=1
    unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
    git config --global user.name Somebody
    git config --global user.email somebody@example.org
    git config --global init.defaultBranch main
    project
    mkdir out
}

teardown() {
    [ -z "$keys" ] || { GNUPGHOME=$keys gpgconf --kill all && rm -rf "$keys"; }
}

# project: makes a project of version 1.2.3 that is ready for its release, in the directory
# `project`.  Its bootstrap makes configure, whose Makefile packs as Automake's does, but leaves out
# the file `absent`.  Its test fails if the file `broken` is there.
project() {
    mkdir -p project/{build-aux,include,lib,man,packaging/{rpm,conda,spack}}
    cp "$srcdir"/build-aux/{release,version}.sh project/build-aux
    cd project || return
    echo 'AC_INIT([gzlzss], [1.2.3])' >configure.ac
    printf '#define GZLZSS_VERSION_%s\n' 'MAJOR 1' 'MINOR 2' 'PATCH 3' 'STRING "1.2.3"' \
        >include/gzlzss.h
    printf '# News\n\n## 1.2.3 (2026-01-02)\n\n## 1.2.2 (2025-01-02)\n' >NEWS.md
    echo '.Os "gzlzss 1.2.3"' >man/gzlzss.1
    echo '.Os "gzlzss 1.2.3"' >man/gzlzss.3
    echo 'Version: 1.2.3' >packaging/rpm/gzlzss.spec
    echo '  version: "1.2.3"' >packaging/conda/recipe.yaml
    echo '    url = "https://example.org/gzlzss-1.2.3.tar.gz"' >packaging/spack/package.py
    echo 'GZLZSS_1.2 {' >lib/gzlzss.map
    cat >Makefile.in <<'END'
am__tar = tar -chf - "$$tardir"
dist:
	rm -rf gzlzss-1.2.3
	cp -R $(filter-out ../absent ../build, $(wildcard ../*)) gzlzss-1.2.3
	tardir=gzlzss-1.2.3 && $(am__tar) | gzip $(GZIP_ENV) -c >gzlzss-1.2.3.tar.gz
	rm -r gzlzss-1.2.3
distcheck-quick: dist
	test ! -e ../broken
END
    sed -i 's/^\tcp/\tmkdir gzlzss-1.2.3\n&/' Makefile.in
    printf '#!/bin/sh\n:\n' >run
    cat >bootstrap <<'END'
#!/bin/sh
printf '#!/bin/sh\ncp ../Makefile.in Makefile\n' >configure
chmod +x configure
echo same >extra
END
    chmod +x run bootstrap
    git init -q
    git add .
    git commit -q -m "Version 1.2.3"
    cd ..
}

# Makes a key without a password.
make_key() {
    gpg --batch --quiet --passphrase '' --quick-generate-key somebody@example.org ed25519 sign never
}

release() {
    (cd project && sh build-aux/release.sh --output=../out "$@") >log 2>&1
}

# refuses TEXT ARGUMENT...: release.sh must fail with this text, without output and tag.
refuses() {
    local text=$1
    shift
    ! release "$@" || fail "not refused:" "$(cat log)"
    grep -qF -e "$text" log || fail "not '$text':" "$(cat log)"
    [ -z "$(ls out)" ] || fail "there is an output"
    [ -z "$(git -C project tag -l 'v1.2.[3-9]')" ] || fail "there is a tag"
}

commit() {
    git -C project commit -q -a -m "$1"
}

@test "a tree that is not ready is refused" {
    make_key
    refuses usage
    refuses "no version" 1.2
    refuses "no version" v1.2.3
    refuses "configure.ac has another version" 1.2.4
    refuses "configure.ac has another version" 1.2.30

    echo >>project/run
    refuses "not committed" 1.2.3
    git -C project checkout -q run
    echo >project/new
    refuses "not committed" 1.2.3
    rm project/new

    sed -i 's/1.2.3/1.2.4/' project/man/gzlzss.3
    commit "another version"
    refuses "man/gzlzss.3: the version" 1.2.3
    git -C project reset -q --hard HEAD~1

    sed -i 's/^# News/&\n\n## Not released/' project/NEWS.md
    commit "news that are not released"
    refuses "NEWS.md is not '## 1.2.3 (DATE)'" 1.2.3
    git -C project reset -q --hard HEAD~1

    touch out/gzlzss-1.2.3.tar.gz
    ends_with 1 release 1.2.3
    grep -q "gzlzss-1.2.3.tar.gz exists" log
    rm out/*
    refuses "no secret key nobody@example.org" --key=nobody@example.org 1.2.3
}

@test "a tag that exists is refused" {
    make_key
    git -C project tag v1.2.3
    ends_with 1 release 1.2.3
    grep -q "the tag v1.2.3 exists" log
    [ -z "$(ls out)" ]

    # A dry run accepts it, but only for the commit that has it.
    release --dry-run 1.2.3 || fail "$(cat log)"
    git -C project commit -q --allow-empty -m "a commit more"
    ends_with 1 release --dry-run 1.2.3
    grep -q "the tag v1.2.3 exists" log
}

@test "a release whose tests fail, or whose tarball lacks a file or differs, is refused" {
    make_key
    touch project/broken
    git -C project add broken
    commit "a defect"
    refuses "distcheck failed" 1.2.3
    git -C project reset -q --hard HEAD~1

    touch project/absent
    git -C project add absent
    commit "a file that is not packed"
    refuses "the tarball lacks absent" 1.2.3
    git -C project reset -q --hard HEAD~1

    # shellcheck disable=SC2016 # The new bootstrap expands it.
    sed -i 's/^echo same/echo $PWD/' project/bootstrap
    commit "a file that differs"
    refuses "other bytes" 1.2.3
}

@test "if a copy or the tag fails, nothing is left" {
    make_key
    mkdir bin
    cat >bin/cp <<END
#!/bin/sh
$(command -v cp) "\$@" || exit
case \$* in
*.asc*) exit 1 ;;
esac
END
    chmod +x bin/cp
    PATH=$PWD/bin:$PATH refuses "cannot be copied" 1.2.3

    git -C project config gpg.program false
    refuses "the tag cannot be set" 1.2.3
    git -C project config --unset gpg.program
    release 1.2.3 || fail "$(cat log)"
}

@test "a dry run needs no key, and leaves nothing" {
    release --dry-run 1.2.3 || fail "$(cat log)"
    grep -q "dry run" log
    [ -z "$(ls out)" ]
    [ -z "$(git -C project tag)" ]
    [ -z "$(git -C project status --porcelain)" ]
    [ -z "$(find . -maxdepth 1 -name 'gzlzss-release*')" ] || fail "temporary files are left"
}

@test "a release is signed and has a tag; its tarball is always the same" {
    make_key
    release 1.2.3 || fail "$(cat log)"
    (cd out && gpg --verify gzlzss-1.2.3.tar.gz.asc gzlzss-1.2.3.tar.gz) || fail "signature"
    git -C project verify-tag v1.2.3
    [ "$(git -C project rev-parse 'v1.2.3^{commit}')" = "$(git -C project rev-parse HEAD)" ]

    # The times are the commit's, and the rights do not depend on the umask.
    tar -tvf out/gzlzss-1.2.3.tar.gz --full-time --utc >list
    grep -q '^-rwxr-xr-x 0/0 .* gzlzss-1.2.3/run$' list || fail "$(cat list)"
    grep -q '^-rw-r--r-- 0/0 .* gzlzss-1.2.3/NEWS.md$' list || fail "$(cat list)"
    [ "$(awk '{ print $4, $5 }' list | sort -u)" = \
        "$(TZ=UTC git -C project log -1 --date=format-local:'%F %T' --format=%cd)" ] ||
        fail "$(cat list)"

    git -C project tag -d v1.2.3
    mkdir again
    (umask 077 && cd project && sh build-aux/release.sh --output=../again 1.2.3) >log 2>&1 ||
        fail "$(cat log)"
    cmp out/gzlzss-1.2.3.tar.gz again/gzlzss-1.2.3.tar.gz
}
