# steps.bash - the steps of .ci/run: what each check does
#
# .ci/run reads this file.  $top is the top of the clone, $work is build/ci below it.
# $tested_files lists the test files of the folders that have changed; $share is this run's share of
# what rotates, or "all" (.ci/choose.bash).
# shellcheck shell=bash disable=SC2154

as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    else
        sudo env DEBIAN_FRONTEND=noninteractive "$@"
    fi
}

# What the steps need.  The last two lines have programs that gzlzss is tested together with.
debian_packages="autoconf automake libtool pkg-config gcc g++ clang lld llvm ccache libc6-dev make
    zlib1g-dev libisal-dev bats git shellcheck cppcheck clang-format clang-tidy
    util-linux mandoc zsh fish rsync ncompress zip debhelper lintian fakeroot
    dh-python pybuild-plugin-pyproject python3-setuptools gpg gpg-agent gpgconf
    gnuplot-nox strace valgrind
    abigail-tools mpi-default-dev openmpi-bin libopenmpi-dev mpich libmpich-dev
    python3-dev python3-venv libpython3.11-testsuite
    dpkg-dev musl-tools gcc-aarch64-linux-gnu libc6-dev-arm64-cross gcc-s390x-linux-gnu
    libc6-dev-s390x-cross qemu-user-static
    tabix samtools gztool unzip zstd btrfs-progs logrotate cpio pigz isal libdeflate-tools busybox
    nodejs p7zip-full"

# packages [OPTION] updates apt's lists, and installs what the steps need.  With --download-only, it
# only fetches the packages.
packages() {
    # shellcheck disable=SC2086 # The list has to be split.
    as_root apt-get -y -o DPkg::Lock::Timeout=300 update &&
        as_root apt-get -y -o DPkg::Lock::Timeout=300 install --no-install-recommends "$@" \
            $debian_packages
}

# Fetches the packages while ./quickstart compiles and tests, which hardly uses the network.  Waits
# until ./quickstart has configured the build: then it needs apt no more.
fetch_packages() {
    until [ -e "$top/build/.quickstart-configured" ] || [ $SECONDS -gt 200 ]; do
        sleep 1
    done
    packages --download-only
}

# use_ccache makes all later builds take compilations from ccache if it has them: within this run,
# builds with equal flags share them, and a second run in this clone shares those of the first.
# Debian's links in /usr/lib/ccache stand for the compilers.  Paths below the top of the clone are
# relative for ccache, and debugging information may name another build directory.  ccache reads
# Automake's lists of headers instead of preprocessing each file (CCACHE_DEPEND), so that a build
# which finds nothing costs no more than one without ccache.
use_ccache() {
    PATH=/usr/lib/ccache:$PATH
    export CCACHE_DIR=${CCACHE_DIR-$work/ccache} CCACHE_BASEDIR=$top
    export CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1
}

# tracked PATTERN... prints the tracked files, each with a zero byte after it.  Git accepts the
# clone even if another user owns it.
tracked() {
    git -c safe.directory="$top" ls-files -z -- "$@"
}

# Make and helpers.bash set variables of Bats files, which shellcheck does not see (SC2154).
lint_scripts() {
    local list=$work/scripts
    tracked quickstart bootstrap .ci/run '.ci/*.bash' 'build-aux/*.sh' 'tests/*.bash' 'tests/*.sh' \
        'tests/fuzz/*.sh' 'tests/gpu/*.sh' 'bench/*.sh' completions/bash/gzlzss \
        'packaging/conda/*.sh' debian/gzlzss.prerm 'debian/tests/*' ':!debian/tests/control' \
        >"$list" &&
        [ -s "$list" ] &&
        xargs -0 shellcheck -x <"$list" &&
        tracked 'tests/*.bats' | xargs -0 -r shellcheck -s bats -e SC2154
}

# Each version of clang-format lays out code differently, so the check needs this one.
format_version=14

find_format() {
    clang_format=$(command -v clang-format-$format_version || echo clang-format)
    "$clang_format" --version 2>&1 | grep -q "version $format_version\." && return
    echo "        the layout of the sources was not checked:" \
        "there is no clang-format $format_version"
    return 1
}

lint_format() {
    local list=$work/sources
    tracked '*.c' '*.h' '*.cu' '*.cuh' >"$list" && [ -s "$list" ] &&
        xargs -0 "$clang_format" --dry-run -Werror <"$list"
}

# Reads the code for defects; ./quickstart has made config.h.  Cppcheck and gcc's analyzer read all
# files.  clang-tidy takes longer, so it reads only some folders; make lint reads all.
lint_code() {
    sh build-aux/lint.sh "$top/build" cppcheck analyzer &&
        LINT_FILES=$(find base lib src -name '*.c') sh build-aux/lint.sh "$top/build" clang-tidy
}

# build NAME ARG... configures with ARGs in the directory build/ci/NAME, and makes `all` there.
# With a shared and a static library, libtool compiles each file twice, so most steps make only one
# of the two.  ./quickstart check all, distcheck and deb have both.
build() {
    local dir=$work/$1
    shift
    mkdir -p "$dir" && cd "$dir" && "$top/configure" "$@" && make all
}

# Programs that Bats files need.  Steps that run no unit tests build only these.
bats_programs="tests/gen tests/encode tests/decode tests/default_signals tests/levels \
tests/replay tests/damage"

# Fails if gcc printed a warning in the build of quickstart, which has the users' flags: for the
# command, the library or a test.
check_warnings() {
    [ -s "$top/build/quickstart.log" ] || return
    ! grep -aE '^[^ ]+\.(c|h|cc|cu|cuh):[0-9]+:[0-9]+: warning: ' "$top/build/quickstart.log"
}

# Sanitizers fail at once where the kernel randomizes addresses by more bits than they support.
# setarch -R turns that off.  Some containers forbid it; there the tests start without it.
calm=()
if setarch -R true 2>/dev/null; then
    calm=(setarch -R)
fi

# Tests for ASan and UBSan: all unit tests, and the Bats files that give the command data and files
# of many kinds.  Tests in these files skip if a sanitizer adds nothing (without_sanitizers in
# tests/helpers.bash).  Other Bats files compare with gzip, test the command line, or are about when
# something happens (atomic, progress, signals); they run only without sanitizers, or with
# ThreadSanitizer.
asan_units() {
    make -s list-tests | grep -E '^tests/(unit|fuzz)/'
}
asan_bats=$(printf 'tests/%s.bats\n' roundtrip decompress expand formats files safety rsyncable \
    recover fuzz)

# The tests that read hostile data: every run has them.
hostile_tests=$(printf 'tests/unit/test_%s\n' raw blockheader find whole push symbols decoder \
    access reader gunzip status unpack unlzh unlzw zip gzip container formats
    printf 'tests/%s.bats\n' fuzz recover decompress)

# Prints the tests for ASan that this run has: all, or the hostile ones and those of the folders
# that have changed.
asan_tests() {
    if [ "${scope[asan]}" = whole ]; then
        asan_units
        echo "$asan_bats"
    else
        {
            echo "$hostile_tests"
            echo "$tested_files"
        } | sort -u | grep -xF -e "$asan_bats" -e "$(asan_units)"
    fi
}

# programs_of TEST... prints the unit tests among these.
programs_of() {
    printf '%s\n' "$@" | grep -v '\.bats$'
}

# clang's build is the one with ASan and UBSan.  If the scope is whole, clang compiles everything,
# gzlzss-mpi and the emulated kernels included.  No warning is allowed.  In C++, clang also checks
# the type of functions that are called by pointer; its runtime library for C lacks that check, so
# it is off.  lld links the sanitized tests in a third of the time.
check_asan() {
    local flags="-O1 -gline-tables-only -fno-omit-frame-pointer -fsanitize=address,undefined" tests
    flags="$flags -fno-sanitize-recover=all -Werror"
    build asan --without-cuda --with-mpi --disable-static CC=clang CFLAGS="$flags" CXX=clang++ \
        CXXFLAGS="$flags -fno-sanitize=function" LDFLAGS=-fuse-ld=lld || return
    mapfile -t tests < <(asan_tests)
    [ ${#tests[@]} -gt 10 ] || return
    if [ "${scope[asan]}" = whole ]; then
        make check TESTS= && "${calm[@]}" make check TESTS="${tests[*]}"
    else
        SKIP_LONG=1 "${calm[@]}" make check TESTS="${tests[*]}" \
            check_PROGRAMS="$bats_programs $(programs_of "${tests[@]}" | tr '\n' ' ')"
    fi
}

# Options of configure for gzlzss-mpi with Open MPI and with MPICH.  The builds of two other steps,
# cuda and distcheck, have them.
openmpi=--with-mpi=mpicc.openmpi
mpich=--with-mpi=mpicc.mpich

# Runs, with ThreadSanitizer, the tests in which many threads work together.
#
# The match finders and the encoder are compiled first, without the sanitizer, because it would
# spend most of its time in them.  They have no locks.  Their callers, matcher.c and encoder.c, read
# and write for each chunk some of its bytes, its count and some of its sequences, and some of the
# output, so the sanitizer sees when these change hands too early.  It does not see a match finder
# that reads or writes outside its own chunk.
#
# The papers' match finders add no threads, so this build leaves them out.
threads='one output|the same bytes|many files|many threads|side by side|a build without'
check_tsan() {
    local flags="-O2 -g1" units inner
    units=$(printf 'tests/unit/test_%s ' gpus library flush file waits wake cuda \
        gpu_decoder)
    mapfile -t inner < <(tracked 'lzss/*.c' 'huffman/*.c' ':!lzss/matcher.c' \
        ':!huffman/encoder.c' | tr '\0' '\n' | sed 's/\.c$/.lo/')
    mkdir -p "$work/tsan" && cd "$work/tsan" && [ ${#inner[@]} -gt 0 ] &&
        "$top/configure" --without-cuda --disable-papers --disable-static \
            CFLAGS="$flags -fsanitize=thread" &&
        make CFLAGS="$flags" "${inner[@]}" && make all &&
        "${calm[@]}" env TSAN_OPTIONS=halt_on_error=1 make check \
            check_PROGRAMS="$bats_programs $units" \
            TESTS="$units $(printf 'tests/%s.bats ' roundtrip rsyncable signals expand matcher)" \
            BATS_LOG_FLAGS="--filter '$threads'"
}

# Gets zlib's source for the ports below from the Debian archive that apt uses, with lists and a
# cache of its own, so that apt's stay as they are.  It leaves out security updates, whose archive
# may lack sources: any version of zlib is good enough.
fetch_zlib() {
    local dir=$work/zlib
    mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" && cd "$dir" &&
        apt-get indextargets --format "deb-src \$(REPO_URI) \$(RELEASE) \$(COMPONENT)" \
            'Created-By: Packages' 'Origin: Debian' | grep -v -e '-security ' |
        sort -u >sources.list &&
        [ -s sources.list ] &&
        printf '%s;\n' "Dir::Etc::SourceList \"$dir/sources.list\"" 'Dir::Etc::SourceParts "-"' \
            "Dir::State::Lists \"$dir/lists\"" "Dir::Cache \"$dir/cache\"" >apt.conf &&
        APT_CONFIG=$dir/apt.conf apt-get update &&
        APT_CONFIG=$dir/apt.conf apt-get source zlib && mv zlib-*/ source
}

# Unit tests whose results depend on the processor or the C library, and that are quick in an
# emulator.
# shellcheck disable=SC2034 # .ci/run reads it.
port_units=(bitwriter bytes crc find gzip header leave lengths limits messages names options
    pipe_reader object_cache status tags)

# check_port NAME COMPILER HOST EMULATOR UNIT... builds the command for another system, linked
# statically.  The emulator runs these unit tests, and the command for some of the recorded digests.
# If EMULATOR is empty, this machine runs the programs, and other tests of the command: the digests
# do not depend on the C library, as the compressor calls nothing of it but for memory.
#
# The tests need no match finders of papers, so the build leaves them out.  There may be no C++
# compiler; only the tests of the GPU engine need one.
check_port() {
    local name=$1 compiler=$2 host=$3 emulator=$4 zlib=$work/$1/zlib tests program
    local bats=tests/golden.bats filter='inputs themselves|real files|levels in between' way=()
    tests=$(printf 'tests/unit/test_%s ' "${@:5}")
    mkdir -p "$work/$name" && cp -r "$work/zlib/source" "$zlib" || return
    (cd "$zlib" && CHOST=$host CC=$compiler CFLAGS=-O2 ./configure --static && make libz.a) ||
        return
    build "$name" ${host:+"--host=$host"} --without-cuda --without-isal --disable-papers \
        --disable-shared CC="$compiler" CFLAGS="-O2 -Werror" CPPFLAGS="-I$zlib" \
        LDFLAGS="--static -L$zlib" CXX=false || return
    if [ -z "$emulator" ]; then
        bats="$(printf 'tests/%s.bats ' options gzip_env roundtrip)" filter=.
    else
        mkdir emulated
        for program in gzlzss tests/gen tests/levels; do
            printf '#!/bin/sh\nexec %s "%s" "$@"\n' "$emulator" "$PWD/$program" \
                >"emulated/${program##*/}"
        done
        chmod +x emulated/*
        way=(LOG_COMPILER="$emulator"
            BATS_LOG_COMPILER="$emulator $PWD/tests/default_signals bats"
            TESTS_ENVIRONMENT="GZLZSS_COMMAND='$PWD/emulated/gzlzss' GEN='$PWD/emulated/gen'")
    fi
    make check check_PROGRAMS="tests/gen tests/default_signals tests/levels $tests" \
        TESTS="$tests $bats" BATS_LOG_FLAGS="--filter '$filter'" "${way[@]}"
}

# Builds the fuzz programs.  tests/fuzz.bats runs the targets on the corpus, also with sanitizers.
check_fuzz() {
    mkdir -p "$work/fuzz" && cd "$work/fuzz" && "$top/configure" --without-cuda --disable-shared &&
        make fuzz && tests/fuzz/fuzz_options -runs=100
}

# Prints the newest architecture that gpu/ has a branch for; if the scope is whole, also the oldest
# one and all others for which gpu/ has a branch by __CUDA_ARCH__.
cuda_archs() {
    if [ "${scope[cuda]}" = whole ]; then
        echo 75 86 90
    else
        echo 90
    fi
}

# Builds with the CUDA engine if there is nvcc, and with ISA-L linked.  Tests some recorded digests
# of each match finder, and the command line's tests of GPUs and engines; the machine need not have
# a GPU.  If the scope is whole, also tests gzlzss-mpi with Open MPI.
engines='GPU|device|backend|-V prints|real files|levels in between'
check_cuda() {
    local options=(--without-mpi)
    [ "${scope[cuda]}" != whole ] || options=("$openmpi")
    if [ -n "$nvcc" ]; then
        options+=(--with-cuda)
    else
        options+=(--without-cuda)
    fi
    build cuda "${options[@]}" --with-isal=linked --disable-static CUDA_ARCHS="$(cuda_archs)" \
        CFLAGS="-O1 -Werror" NVCCFLAGS="-O1 -Xcompiler -Werror" &&
        make check check_PROGRAMS="$bats_programs" TESTS="tests/options.bats tests/golden.bats" \
            BATS_LOG_FLAGS="--filter '$engines'" || return
    [ "${scope[cuda]}" = whole ] || return 0
    mv test-suite.log engines.log &&
        make check check_PROGRAMS="$bats_programs" TESTS=tests/mpi.bats &&
        cat engines.log >>test-suite.log
}

# Fails if the tarball lacks a tracked file.  Only a clone needs .ci, .gitignore and debian.
tarball_is_whole() {
    tar -tf "$work"/dist/gzlzss-*.tar.gz | sed 's,^[^/]*/,,' | sort >"$work/dist/in-tarball" &&
        (cd "$top" && tracked ':!.ci' ':!.gitignore' ':!debian') | tr '\0' '\n' |
        sort >"$work/dist/tracked" &&
        [ -s "$work/dist/tracked" ] &&
        ! comm -13 "$work/dist/in-tarball" "$work/dist/tracked" | grep .
}

# Makes the tarball, builds and tests it in a tree that is read-only, installs and uninstalls it.
# The tests are those of gzlzss-mpi with MPICH, and quick ones of each kind, since ./quickstart
# check all has run all; so the build need not be optimized.
check_dist() {
    local flags="-O0 -Werror" options units bats
    options="--without-cuda $mpich CC=gcc CFLAGS='$flags' CXXFLAGS='$flags'"
    units=$(printf 'tests/unit/test_%s ' gzip unpack raw)
    bats=$(printf 'tests/%s.bats ' mpi install docs quickstart completions)
    mkdir -p "$work/dist" && cd "$work/dist" &&
        "$top/configure" --without-cuda &&
        make distcheck DISTCHECK_CONFIGURE_FLAGS="$options" \
            check_PROGRAMS="$bats_programs $units" \
            TESTS="$units $bats" &&
        tarball_is_whole
}

# Builds the Debian packages, source and binary, and has lintian check them.  Files of the packages
# run where they were unpacked.  Other steps run the tests, so the first build needs neither tests
# nor optimization.  If the scope is whole, a second build in another directory, with other
# settings, must make the same bytes, and a third one runs the packages' tests.
check_deb() {
    local deb here=$work/deb
    mkdir -p "$here/first/tree" "$here/root" && deb_tree first || return
    (cd "$here/first/tree" && build_deb nocheck &&
        dpkg-deb -c ../gzlzss_*.deb | grep -F NEWS.md &&
        lintian --allow-root --fail-on error,warning ../*.changes) || return
    for deb in "$here/first"/*.deb; do
        dpkg-deb -x "$deb" "$here/root" || return
    done
    try_deb && if [ "${scope[deb]}" = whole ]; then rebuild_deb; fi
}

# deb_tree NAME copies the tracked files to the directory NAME/tree.
deb_tree() {
    mkdir -p "$work/deb/$1/tree" &&
        tracked | tar --null -T - -cf - | tar -xf - -C "$work/deb/$1/tree"
}

try_deb() {
    local root=$work/deb/root
    LD_LIBRARY_PATH=$root/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH) \
        PYTHONPATH=$root/usr/lib/python3/dist-packages \
        /usr/bin/python3 -B -c 'import gzlzss, sys
sys.stdout.buffer.write(gzlzss.compress(b"words\n"))' >"$root/words.gz" &&
        "$root/usr/libexec/gzlzss/zcat" "$root/words.gz" | grep -x words
}

rebuild_deb() {
    local deb here=$work/deb
    deb_tree second && deb_tree tested || return
    (cd "$here/second/tree" && umask 002 && TZ=XYZ-9 LC_ALL=C HOME=/nowhere build_deb nocheck -b) ||
        return
    for deb in "$here"/first/*.deb; do
        cmp "$deb" "$here/second/${deb##*/}" || return
    done
    (cd "$here/tested/tree" && build_deb '' -b)
}

# build_deb CHECK [OPTION] builds the packages of the source tree in this directory.  CHECK is
# "nocheck" or empty.
build_deb() {
    local check=$1
    shift
    DEB_BUILD_OPTIONS="$check noopt" env -u MAKEFLAGS dpkg-buildpackage -us -uc "$@"
}

# The versions of the packages that the Python package is tested with.
python_peers="pandas==2.2.3 polars==1.17.1 fsspec==2024.12.0 distributed==2024.12.1 dask==2024.12.1
    mpi4py==4.1.1 numpy==2.2.1 mypy==2.4.1"

# python_venv NAME makes a copy of the tracked files, and a new virtual environment.  Enters its
# directory.
python_venv() {
    local dir=$work/$1
    mkdir -p "$dir/tree" && tracked | tar --null -T - -cf - | tar -xf - -C "$dir/tree" &&
        cd "$dir" && python3 -m venv venv
}

# Installs the Python package from a copy of the tracked files into a new virtual environment, and
# runs its tests, and CPython's tests of gzip and zlib with it.  pip fetches setuptools and the
# packages that it is tested with.
check_python() {
    # shellcheck disable=SC2086 # The list has to be split.
    python_venv python && MAX_JOBS=2 venv/bin/pip install ./tree/python &&
        venv/bin/pip install $python_peers &&
        venv/bin/python -W error -m unittest discover -v -s tree/python/tests &&
        venv/bin/python tree/python/tests/cpython.py all &&
        venv/bin/python tree/python/tests/random_calls.py 100000 &&
        check_skips python "$work/python.log"
}

# The same tests of the package with ASan and UBSan, but for those of other packages, of memory and
# of examples; and random calls.  Python itself has no sanitizer, so ASan is loaded before it, and
# what Python does not free at its end is not looked at.
check_python_asan() {
    local flags="-O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all"
    python_venv python-asan &&
        CC=gcc CFLAGS=$flags LDFLAGS=$flags MAX_JOBS=2 venv/bin/pip install ./tree/python &&
        export LD_PRELOAD ASAN_OPTIONS=detect_leaks=0:allocator_may_return_null=1 &&
        LD_PRELOAD="$(gcc -print-file-name=libasan.so) $(gcc -print-file-name=libubsan.so)" &&
        "${calm[@]}" venv/bin/python -m unittest discover -v -s tree/python/tests \
            -p 'test_[dfa]*.py' &&
        "${calm[@]}" venv/bin/python tree/python/tests/random_calls.py 5000
}

# --- The long tests ------------------------------------------------------------------------------

# Prints the test files that have tests which `./quickstart check` leaves out.
long_files() {
    {
        sed -n 's,^\([a-z_]*\): .*,tests/\1.bats,p' "$top/tests/long"
        make -s -C "$top/build" list-long
    } | sort -u
}

# Prints those that this run has: all, or this run's share and those of the folders that have
# changed.
long_tests() {
    if [ "$share" = all ]; then
        long_files
    else
        {
            long_files | awk -v share="$share" 'NR % 5 == share'
            long_files | grep -xF -e "$tested_files"
        } | sort -u
    fi
}

# long_names prints a regular expression for the names of the tests in tests/long.  Each character
# that could mean something to Bats or to a shell matches any.
long_names() {
    sed -n 's/^[a-z_]*: //p' "$top/tests/long" | sed 's/[^A-Za-z0-9 ]/./g' | paste -s -d '|'
}

# Runs, in the build of quickstart, the test files that have skipped a test because a program was
# not installed: the packages are there now.  Then runs the long tests.
check_long() {
    local files bats units
    cd "$top/build" && mv test-suite.log quickstart-suite.log || return
    files=$(grep -lE '# (skip|SKIP) .*not installed' tests/*.log | sed 's/log$/bats/' | tr '\n' ' ')
    if [ -n "$files" ]; then
        SKIP_LONG=1 make check TESTS="$files" check_PROGRAMS= || return
        mv test-suite.log again.log
    fi
    check_skips quickstart-check "$top/build" || return
    mapfile -t files < <(long_tests)
    [ ${#files[@]} -gt 0 ] || return
    units=$(printf '%s\n' "${files[@]}" | grep -v '\.bats$' | tr '\n' ' ')
    bats=$(printf '%s\n' "${files[@]}" | grep '\.bats$' | tr '\n' ' ')
    make check CFLAGS="-O1 -g" check_PROGRAMS="$units" TESTS="$units $bats" \
        BATS_LOG_FLAGS="--filter '^($(long_names))\$\$'"
}

# check_skips STEP DIR fails if a test in the build directory DIR was skipped that tests/skips does
# not list for this step.
check_skips() {
    bash "$top/build-aux/skips.sh" "$1" "$2"
}
