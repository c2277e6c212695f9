#!/usr/bin/env bats
# install.bats - make install puts files at the right places, and make uninstall removes all of them

# shellcheck disable=SC2154 # srcdir comes from the build.
# shellcheck disable=SC2016 # configure and make expand variables.

load helpers

setup() {
    enter_test_directory
    build=$(dirname "$GZLZSS")
    [ -f "$build/Makefile" ] || skip "this is not a build tree"
    have make || skip "make is not installed"
    # The make that runs the tests must not influence the make that the tests start.
    unset MAKEFLAGS MFLAGS MAKELEVEL
    dest=$PWD/dest
    # Install everything below one directory, whatever paths configure was given.
    places=(DESTDIR="$dest" prefix=/p exec_prefix=/p bindir=/p/bin datarootdir=/p/share
        datadir=/p/share mandir=/p/share/man man1dir=/p/share/man/man1 man3dir=/p/share/man/man3
        libdir=/p/lib includedir=/p/include pkgconfigdir=/p/lib/pkgconfig
        bashcompletiondir=/p/share/bash zshcompletiondir=/p/share/zsh
        fishcompletiondir=/p/share/fish gzipnamesdir=)
}

in_build() {
    make -s -C "$build" "${places[@]}" "$@" >log 2>&1 || fail "make $*:" "$(cat log)"
}

# Prints all installed files and links.
installed() {
    (cd "$dest" && find . ! -type d -printf '%P\n') | sort
}

# Each link must be a relative path to a file that exists, so that the link still works after the
# directory was moved.
links_lead_somewhere() {
    local link
    find "$dest" -type l >links
    while read -r link; do
        [ -e "$link" ] || fail "dangling: $link -> $(readlink "$link")"
        case $(readlink "$link") in
        /*) fail "not relative: $link -> $(readlink "$link")" ;;
        esac
    done <links
}

@test "install puts everything in its place, twice too; uninstall leaves nothing" {
    in_build install
    in_build install
    installed >found
    sort >expected <<'END'
p/bin/gunzlzss
p/bin/gzlzss
p/bin/gzlzsscat
p/include/gzlzss.h
p/include/gzlzss_cuda.h
p/lib/libgzlzss.a
p/lib/libgzlzss.la
p/lib/libgzlzss.so
p/lib/libgzlzss.so.0
p/lib/libgzlzss.so.0.1.0
p/lib/pkgconfig/gzlzss.pc
p/share/bash/gunzlzss
p/share/bash/gzlzss
p/share/bash/gzlzsscat
p/share/fish/gunzlzss.fish
p/share/fish/gzlzss.fish
p/share/fish/gzlzsscat.fish
p/share/man/man1/gunzlzss.1
p/share/man/man1/gzlzss.1
p/share/man/man1/gzlzsscat.1
p/share/man/man3/gzlzss.3
p/share/zsh/_gzlzss
END
    if [ -x "$build/gzlzss-mpi" ]; then
        printf '%s\n' p/bin/gzlzss-mpi p/share/man/man1/gzlzss-mpi.1 | sort -o expected - expected
    fi
    diff expected found
    links_lead_somewhere
    "$GZLZSS" --version >wanted
    "$dest/p/bin/gunzlzss" --version | cmp - wanted
    in_build uninstall
    [ -z "$(installed)" ] || fail "left: $(installed)"
}

@test "gzip's names come where they are wanted, and go with their directory" {
    in_build install gzipnamesdir=/p/libexec//names/
    for name in gzip gunzip zcat; do
        [ "$(readlink "$dest/p/libexec/names/$name")" = ../../bin/gzlzss ]
    done
    links_lead_somewhere
    in_build uninstall gzipnamesdir=/p/libexec//names/
    absent "$dest/p/libexec/names"
    [ -z "$(installed)" ] || fail "left: $(installed)"

    # If the directories of the link and of the command have only the root in common, the link is an
    # absolute path.
    in_build install gzipnamesdir=/other
    [ "$(readlink "$dest/other/gzip")" = /p/bin/gzlzss ]
    in_build uninstall gzipnamesdir=/other
    absent "$dest/other"

    # Install gzip's names as links in the command's directory.
    in_build install gzipnamesdir=/p/bin
    [ "$(readlink "$dest/p/bin/zcat")" = gzlzss ]
    in_build uninstall gzipnamesdir=/p/bin
    [ -z "$(installed)" ] || fail "left: $(installed)"
}

@test "a gzip that is not ours is neither replaced nor removed" {
    mkdir -p "$dest/p/names"
    echo theirs >"$dest/p/names/gzip"
    ln -s pigz "$dest/p/names/gunzip"
    if in_build install gzipnamesdir=/p/names; then
        fail "make install went over another gzip"
    fi
    grep -q 'p/names/gzip is there already' log
    in_build uninstall gzipnamesdir=/p/names
    [ "$(cat "$dest/p/names/gzip")" = theirs ]
    [ "$(readlink "$dest/p/names/gunzip")" = pigz ]
}

@test "a command with another name is what the links lead to" {
    in_build install program_transform_name='s,^,x-,' gzipnamesdir=/p/names
    [ -x "$dest/p/bin/x-gzlzss" ]
    [ "$(readlink "$dest/p/bin/gunzlzss")" = x-gzlzss ]
    links_lead_somewhere
    in_build uninstall program_transform_name='s,^,x-,' gzipnamesdir=/p/names
    [ -z "$(installed)" ] || fail "left: $(installed)"
}

@test "completions go nowhere if that is wanted" {
    in_build install bashcompletiondir= zshcompletiondir= fishcompletiondir=
    absent "$dest/p/share/bash" "$dest/p/share/zsh" "$dest/p/share/fish"
    in_build uninstall bashcompletiondir= zshcompletiondir= fishcompletiondir=
    [ -z "$(installed)" ] || fail "left: $(installed)"
}

@test "where libtool cannot install to, nothing is installed, and make says so" {
    for place in DESTDIR="$PWD/a b" DESTDIR="$PWD/a;b" bindir='/a b' libdir='/p/lib (1)'; do
        if in_build install "$place"; then
            fail "make install took $place"
        fi
        grep -q '^cannot install in .*: libtool fails where a path has a blank' log ||
            fail "$(cat log)"
        absent "$PWD/a b" "$PWD/a" "$PWD/a;b" "$dest"
    done
}

@test "configure says at once with what paths it cannot work, and why" {
    for option in --prefix='/a b' --exec-prefix='/a`b' --bindir="/a'b" \
        --libdir='${exec_prefix}/a&b'; do
        ends_with 1 "$srcdir/configure" "$option"
        grep -q '^configure: error: the path to install in, .*a.b' stderr ||
            fail "$option: $(cat stderr)"
        ! grep -q compiler stdout || fail "$(cat stdout)"
    done
    ln -s "$srcdir" 'the sources'
    ends_with 1 'the sources/configure'
    grep -q '^configure: error: the path of the sources, the sources' stderr || fail "$(cat stderr)"
    for name in "it's" 'a b'; do
        mkdir "$name"
        (cd "$name" && ends_with 1 "$srcdir/configure")
        grep -q "^configure: error: the path of this directory, .*/$name," "$name/stderr" ||
            fail "$(cat "$name/stderr")"
    done
}

@test "configure's list of what will be built has whole paths, and says what lacks without ISA-L" {
    # What configure found out about the machine for the build need not be tried again.
    sed -n '/^ac_cv_env_/d; /^[a-z]*_cv_[A-Za-z0-9_]*=/p' "$build/config.log" >cache
    ends_with 0 "$srcdir/configure" --cache-file=cache --without-cuda --without-isal --prefix=/usr \
        --exec-prefix=/opt/x --enable-gzip-names='${exec_prefix}/gz' --with-fish-completion-dir=no
    sed -n '/will be built:$/,$p' stdout >list
    ! grep -F '$' list || fail "a variable"
    grep -q '^ *ISA-L  *no (--without-isal), decompression takes 2.5 times as long$' list
    grep -q "^ *gzip's names  *gzip, gunzip and zcat in /opt/x/gz\$" list
    grep -q '^ *zsh: /usr/share/zsh/site-functions$' list
    grep -q '^ *fish: no$' list
    # The path in the Makefile must still contain the variable, so that a prefix given to make
    # changes the path.
    grep -qxF 'gzipnamesdir = ${exec_prefix}/gz' Makefile
}

# setting NAME: prints the value of a variable of the Makefile.
setting() {
    sed -n "s/^$1 = *//p" "$build/Makefile"
}

# hardened FILE KIND: FILE, a program or the library as KIND says, has everything for which
# configure has chosen flags, and no segment that is both writable and executable.
hardened() {
    local file=$1 kind=$2
    readelf -lW "$file" >segments
    readelf -dW "$file" >dynamic
    readelf -sW "$file" >symbols
    ! grep -E '^ *(LOAD|GNU_STACK) .* (RWE|WE) ' segments || fail "$file: writable and executable"
    ! grep TEXTREL dynamic || fail "$file: code that the loader changes"
    case $(setting GZ_LDFLAGS) in
    *noexecstack*) grep -qE '^ *GNU_STACK .* RW  ' segments || fail "$file: $(cat segments)" ;;
    esac
    case $(setting GZ_LDFLAGS) in
    *relro*now*)
        grep -q '^ *GNU_RELRO ' segments || fail "$file: no RELRO"
        grep -qE 'BIND_NOW|FLAGS_1.* NOW' dynamic || fail "$file: lazy binding"
        ;;
    esac
    case $kind,$(setting GZ_PIE_LDFLAGS) in
    program,-pie) grep -q 'FLAGS_1.* PIE' dynamic || fail "$file: not position-independent" ;;
    esac
    case $(setting GZ_CFLAGS) in
    *-fstack-protector-strong*) grep -q ' __stack_chk_fail' symbols || fail "$file: no protector" ;;
    esac
    # The fortified functions of the C library; musl has none.
    case $(setting GZ_CFLAGS) in
    *-D_FORTIFY_SOURCE=*)
        has_musl || grep -qE ' __[a-z]+_chk(@|$)' symbols || fail "$file: not fortified"
        ;;
    esac
}

@test "the programs and the library are hardened as configure chose" {
    have readelf || skip "readelf is not installed"
    readelf -dW "$GZLZSS" | reads_all grep -q NEEDED || skip "this is a static program"
    [ -n "$(setting GZ_LDFLAGS)" ] || skip "configured with --disable-hardening"
    hardened "$GZLZSS" program
    [ ! -e "$build/gzlzss-mpi" ] || hardened "$build/gzlzss-mpi" program
    [ ! -e "$build/.libs/libgzlzss.so" ] || hardened "$build/.libs/libgzlzss.so" library
    # Whether a linked program has the note on control-flow protection depends on the C library's
    # start-up files, too.  Our objects have it.
    case $(setting GZ_CFLAGS) in
    *-fcf-protection*) readelf -n "$build/src/main.o" | reads_all grep -q 'x86 feature: IBT, SHSTK' ;;
    esac
}

@test "the Debian source package can be made, and the binary one has the news" {
    [ -d "$srcdir/debian" ] || skip "there is no debian/ here"
    have dpkg-source || skip "dpkg-source is not installed"
    mkdir -p tree/debian tree/build tree/.git
    cp -R "$srcdir"/debian/{changelog,control,copyright,gzlzss.docs,rules,source} tree/debian
    cp "$srcdir/NEWS.md" "$srcdir/README.md" tree
    touch tree/build/x tree/.git/x
    dpkg-source -b tree >log 2>&1 || fail "$(cat log)"
    tar -tf gzlzss_*.tar.xz >packed
    grep -qx tree/NEWS.md packed
    # The package has neither build files nor the history.
    ! grep -q -e /build/ -e /.git/ packed || fail "$(cat packed)"
    grep -qx NEWS.md "$srcdir/debian/gzlzss.docs"
}
