#!/usr/bin/env bats
# library.bats - all interfaces of the library give the same output as the command; the library
# exports only its own names; the examples work
#
# tests/unit/test_library.c tests errors, threads and streams.

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

setup() {
    enter_test_directory
    LIBRARY=${GEN%/*}/library
    build=$(dirname "$GZLZSS")
    CC=${CC:-cc} CXX=${CXX:-c++}
}

# same WAY OPTIONS ARGUMENT...: the library must compress the file "in", in this way and with these
# options, to the bytes that the command writes with the arguments.  It must decompress these bytes
# to "in".
same() {
    local way=$1 options=$2
    shift 2
    "$GZLZSS" -nc "$@" <in >expected
    # shellcheck disable=SC2086 # The shell splits it into words.
    "$LIBRARY" "$way" $options <in >out || fail "$way $options"
    cmp out expected || fail "$way $options is not gzlzss $*"
    [ "$way" = range ] && return
    # shellcheck disable=SC2086
    "$LIBRARY" "$way" -d $options <out | cmp - in || fail "$way -d $options"
}

@test "library: the command's bytes at all levels, in every way" {
    "$GEN" text 300000 >in
    "$GEN" random 20000 >>in
    "$GEN" source 200000 >>in
    for level in $(levels); do
        for way in memory fd stream range; do
            same $way "-l $level -p 2 -s 65536 -c 0" -"$level" -b 64
        done
    done
}

@test "library: the command's bytes with default segments, and any chunks" {
    "$GEN" text 5000000 >in
    same memory "-p 3" -6
    same fd "-p 1" -6
    same range "-p 2 -c 2" -6
    for chunk in 0 1000 131072; do
        same stream "-p 2 -c $chunk" -6
    done
    same stream "-l 1 -p 1" -1
    for way in memory fd stream range; do
        same $way "-l 0 -p 2" -0
    done
}

@test "library: the command's bytes with --rsyncable" {
    "$GEN" text 3000000 >in
    for way in memory fd stream; do
        same $way "-R -p 2" --rsyncable
        same $way "-l 0 -R -p 2" -0 --rsyncable
    done
    : >in
    for way in memory fd stream; do
        same $way "-R" --rsyncable
    done
}

@test "library: descriptors that are pipes; an empty input; a name" {
    "$GEN" text 5000000 >in
    "$GZLZSS" -nc <in >expected
    # shellcheck disable=SC2002 # The input has to be a pipe.
    cat in | "$LIBRARY" fd -p 3 | cat >out
    cmp out expected
    # shellcheck disable=SC2002
    cat out | "$LIBRARY" fd -d -p 3 | cat | cmp - in
    : >in
    for way in memory fd stream range; do
        same $way "" -6
    done
    "$LIBRARY" memory -n name <in >out
    [ "$(tail -c +11 out | reads_all head -c 4)" = name ]
}

@test "library: without a GPU, --backend=gpu's equivalent is an error" {
    if have_gpu; then
        skip "there is a GPU"
    fi
    ends_with 1 "$LIBRARY" memory -B gpu
    stderr_is "no usable GPU"
}

@test "library: exactly the functions of the headers are exported, with their version" {
    have nm || skip "nm is not installed"
    [ -f "$build/.libs/libgzlzss.so" ] || skip "no shared library was built"
    sed -n 's/^[a-z].*[ *]\(gzlzss_[a-z0-9_]*\)(.*/\1/p' "$srcdir"/include/gzlzss.h \
        "$srcdir"/include/gzlzss_cuda.h |
        sort >declared
    [ "$(wc -l <declared)" -gt 15 ]
    nm -D --defined-only "$build/.libs/libgzlzss.so" |
        sed -n 's/^[0-9a-f]* T \(.*\)@@GZLZSS_0\.[0-9]*$/\1/p' | sort >exported
    cmp declared exported || fail "$(diff declared exported)"
    nm -D --defined-only "$build/.libs/libgzlzss.so" | awk '{ print $2 }' | sort | uniq -c >kinds
    [ "$(awk '{ print $2 }' kinds | tr '\n' ' ')" = "A T " ] || fail "$(cat kinds)"
}

# names FILE...: prints the global names that objects and archives define, except the names of the
# library's functions.
names() {
    nm -g --defined-only "$@" 2>/dev/null | sed -n 's/^[0-9a-f]* [A-Za-z] //p' | LC_ALL=C sort -u |
        grep -v '^gzlzss_'
}

# build_setting NAME: prints one of the build's variables of make.
build_setting() {
    sed -n "s/^$1 = //p" "$build/Makefile"
}

# Tries with two small objects, without configure's help, whether the build's compiler and linker
# and the installed objcopy can make names local.  If not, prints why, and returns false.
tools_make_names_local() {
    local compiler linker
    have objcopy || {
        echo "objcopy is not installed"
        return 1
    }
    read -ra compiler <<<"$(build_setting CC) $(build_setting CFLAGS)"
    read -ra linker <<<"$(build_setting LD)"
    echo 'int gzlzss_outer(void); int inner(void); int gzlzss_outer(void) { return inner(); }' >outer.c
    echo 'int inner(void); int inner(void) { return 1; }' >inner.c
    {
        "${compiler[@]}" -c outer.c inner.c &&
            "${linker[@]}" -r --force-group-allocation -o both.o outer.o inner.o &&
            objcopy --wildcard --keep-global-symbol='gzlzss_*' both.o
    } >log 2>&1 || {
        head -n 1 log
        return 1
    }
    nm -g --defined-only both.o >log
    if names both.o >/dev/null || ! grep -q ' T gzlzss_outer$' log; then
        echo "objcopy does not change these objects' names (-flto?)"
        return 1
    fi
}

@test "library: of the archive's names, a program may have all but those of the functions" {
    local reason
    have nm || skip "nm is not installed"
    [ -f "$build/.libs/libgzlzss.a" ] || skip "no archive was built"
    reason=$(tools_make_names_local) || skip "names in an archive cannot be made local: $reason"
    [ -n "$(build_setting ARCHIVE_OBJCOPY)" ] ||
        fail "configure finds no way to make names local, but there is one (config.log says more)"
    # Check that nm finds the library's own functions in this archive.  If it does, it would find
    # other names, too.
    nm -g --defined-only "$build/.libs/libgzlzss.a" >all
    grep -q ' T gzlzss_new$' all
    ! names "$build/.libs/libgzlzss.a" || fail "these are global"
    # A program may define names that the library's objects use internally.  The program here
    # defines all of them, as arrays, which would crash if the library called them.
    local objects words
    find "$build/lib" -name '*.o' >list
    mapfile -t objects <list
    names "$build/.libs/libcore.a" "${objects[@]}" >found
    [ "$(wc -l <found)" -gt 200 ] || fail "$(wc -l <found) names"
    grep -qx job_submit found
    grep -x '[A-Za-z_][A-Za-z_0-9]*' found | sed 's/.*/char &[64] = "&";/' >taken.c
    cat >program.c <<'END'
#include <gzlzss.h>
#include <stdio.h>
#include <string.h>
#include "taken.c"
int main(void)
{
    static char in[300000], out[400000], back[sizeof(in)];
    size_t len = sizeof(out), back_len = sizeof(back);
    gzlzss *z;
    memset(in, 'x', sizeof(in));
    if (gzlzss_new(&z, NULL) != GZLZSS_OK ||
        gzlzss_compress(z, out, &len, in, sizeof(in), NULL) != GZLZSS_OK ||
        gzlzss_decompress(z, back, &back_len, out, len, NULL) != GZLZSS_OK ||
        memcmp(in, back, sizeof(in)) != 0)
        return 1;
    gzlzss_free(z);
    puts(job_submit);
    return 0;
}
END
    # Use the compiler that made the archive, its flags, and the libraries that the archive needs.
    for name in CC CFLAGS LDFLAGS ISAL_LIBS LIBS; do
        build_setting $name
        [ $name != LDFLAGS ] ||
            echo "-w -fno-builtin -I $srcdir/include program.c $build/.libs/libgzlzss.a"
    done | tr ' ' '\n' | sed '/^$/d' >list
    mapfile -t words <list
    "${words[@]}" -pthread -o program >log 2>&1 || fail "$(cat log)"
    [ "$(./program)" = job_submit ]
}

@test "library: the manual page has every function as it is declared" {
    have "$CC" || skip "cc is not installed"
    # Put each declaration on a line, with single blanks.
    "$CC" -E -P -I "$srcdir/include" "$srcdir/include/gzlzss_cuda.h" | grep -v '^#' | tr '\n' ' ' |
        tr -s ' ' | tr ';' '\n' |
        sed -n 's/^ *\([a-z].* \**gzlzss_[a-z0-9_]*(.*\)/\1/p' | sort >declared
    [ "$(wc -l <declared)" -gt 15 ]
    # In the manual's synopsis, .Ft has the type, and .Fn the name and the arguments.
    awk '/^\.Sh DESCRIPTION/ { exit }
        /^\.Ft/ { sub(/^\.Ft /, ""); gsub(/"/, ""); type = $0 ~ /\*$/ ? $0 : $0 " " }
        /^\.Fn/ {
            name = $2
            sub(/^\.Fn [^ ]* /, "")
            gsub(/" "/, ", ")
            gsub(/"/, "")
            print type name "(" $0 ")"
        }' "$srcdir/man/gzlzss.3" | sort | diff declared -
}

# Installs the library below "dest", and sets "flags" for compiling a program with it.
install_library() {
    [ -f "$build/Makefile" ] || skip "this is not a build tree"
    [ -f "$build/.libs/libgzlzss.so" ] || skip "no shared library was built"
    have make || skip "make is not installed"
    have pkg-config || skip "pkg-config is not installed"
    have "$CC" || skip "cc is not installed"
    case $(sed -n 's/^CFLAGS = //p' "$build/Makefile") in
    *-fsanitize*) skip "with a sanitizer, programs need it, too" ;;
    esac
    local prefix
    prefix=$(sed -n 's/^prefix = //p' "$build/Makefile")
    unset MAKEFLAGS MFLAGS MAKELEVEL
    make -s -C "$build" DESTDIR="$PWD/dest" install-libLTLIBRARIES install-includeHEADERS \
        install-nodist_pkgconfigDATA >log 2>&1 || fail "$(cat log)"
    PKG_CONFIG_PATH=$(dirname "$(find "$PWD/dest" -name gzlzss.pc)")
    export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR=
    pkg-config --define-variable=prefix="$PWD/dest$prefix" --cflags --libs gzlzss |
        tr ' ' '\n' | sed '/^$/d' >flags
    mapfile -t flags <flags
    LD_LIBRARY_PATH=$(dirname "$(find "$PWD/dest" -name libgzlzss.so)")
    export LD_LIBRARY_PATH
}

@test "library: the examples, compiled as a program would be, do what they say" {
    install_library
    for example in memory descriptor stream gzwrite; do
        "$CC" -Wall -Wextra -Werror "$srcdir/examples/$example.c" "${flags[@]}" -o $example ||
            fail "$example.c does not compile with ${flags[*]}"
    done
    ./memory 'some words' | gzip -dc >out
    [ "$(cat out)" = "some words" ]
    "$GEN" text 3000000 >in
    ./descriptor in in.gz 2>progress
    grep -q '3000000 bytes' progress
    gzip -dc in.gz | cmp - in
    ends_with 1 ./descriptor in in.gz
    ./stream <in >out
    "$GZLZSS" -nc <in | cmp - out
    ./stream -d <out | cmp - in
    ends_with 1 ./stream -d <in
    ./gzwrite log.gz 100000
    [ "$(gzip -dc log.gz | wc -l)" -eq 100000 ]
    [ "$(gzip -dc log.gz | tail -n 1)" = "00099999: this was done, and then that" ]
}

@test "library: the examples say what went wrong, and nothing that did not" {
    install_library
    for example in memory descriptor stream; do
        "$CC" "$srcdir/examples/$example.c" "${flags[@]}" -o $example
    done
    echo words >in
    # Make a library whose function returns an error that is not in errno: errno has an unrelated
    # value.
    cat >fails.c <<'END'
#include <errno.h>
#include <gzlzss.h>
gzlzss_status gzlzss_compress_fd(gzlzss *z, int out, int in, gzlzss_call *call)
{
    (void)z, (void)out, (void)in, (void)call;
    errno = EISDIR;
    return GZLZSS_ERROR_MEMORY;
}
END
    "$CC" -shared -fPIC fails.c "${flags[@]}" -o fails.so
    LD_PRELOAD=$PWD/fails.so ends_with 1 ./descriptor in in.gz
    stderr_is '' 'descriptor: out of memory'
    [ ! -e in.gz ]
    mkdir directory
    ends_with 1 ./descriptor directory in.gz
    stderr_is '' 'descriptor: read error: Is a directory'
    ends_with 1 ./descriptor missing in.gz
    stderr_is 'missing: No such file or directory'
    [ ! -e in.gz ]
    # The next errors come from the examples' own output, not from the library.
    [ -c /dev/full ] || skip "there is no /dev/full"
    for example in memory stream; do
        status=0
        ./$example <in >/dev/full 2>stderr || status=$?
        [ "$status" -eq 1 ]
        stderr_is "$example: No space left on device"
    done
}

@test "library: the examples for a GPU's memory compile; without a GPU they say so" {
    install_library
    local nvcc
    grep -q '^#define HAVE_CUDA' "$build/config.h" || skip "this is a build without CUDA"
    nvcc=$(sed -n 's/^NVCC = //p' "$build/Makefile")
    for example in device load; do
        "$nvcc" -Xcompiler -Wall,-Wextra "$srcdir/examples/$example.cu" "${flags[@]}" \
            -o $example 2>log || fail "$(cat log)"
        ends_with 2 ./$example
    done
    ends_with 1 ./load missing.gz
    stderr_is 'missing.gz: No such file or directory'
    gzip -c /dev/null >empty.gz
    have_gpu || ends_with 1 ./load empty.gz
    if have_gpu; then
        ./device numbers.gz 300000
        seq -f %08.0f 0 299999 >wanted
        gzip -dc numbers.gz | cmp - wanted
    else
        ends_with 1 ./device numbers.gz 300000
        [ ! -e numbers.gz ]
    fi
}

@test "library: the header is C++'s, too; the archive alone does" {
    install_library
    have "$CXX" || skip "c++ is not installed"
    cat >program.cc <<'END'
#include <gzlzss_cuda.h>
int main()
{
    gzlzss_options options = GZLZSS_OPTIONS_INIT;
    gzlzss_call call = GZLZSS_CALL_INIT;
    gzlzss *z = nullptr;
    char out[100];
    size_t len = sizeof(out);
    options.threads = 1;
    if (gzlzss_new(&z, &options) != GZLZSS_OK ||
        gzlzss_compress(z, out, &len, "x", 1, &call) != GZLZSS_OK)
        return 1;
    CUstream_st *stream = nullptr;
    if (gzlzss_cuda_compress(z, nullptr, nullptr, "x", 1, stream, &call) != GZLZSS_ERROR_ARGUMENT)
        return 1;
    gzlzss_free(z);
    return 0;
}
END
    "$CXX" -Wall -Wextra -Werror -pedantic program.cc "${flags[@]}" -o program
    ./program
    [ -f "$LD_LIBRARY_PATH/libgzlzss.a" ] || skip "no archive was built"
    pkg-config --define-variable=prefix="${LD_LIBRARY_PATH%/lib*}" --static --cflags --libs gzlzss |
        tr ' ' '\n' | sed 's/^-lgzlzss$/-l:libgzlzss.a/; /^$/d' >flags
    mapfile -t flags <flags
    rm "$LD_LIBRARY_PATH"/*.so*
    "$CXX" program.cc "${flags[@]}" -o program
    ./program
}
