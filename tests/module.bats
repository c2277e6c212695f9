#!/usr/bin/env bats
# module.bats - the command finds, checks and loads the module of a GPU engine (gpu/loader.c)
#
# The module is tests/emulation/cuda.so, which has an emulated device.

load helpers

setup() {
    enter_test_directory
    module=${GEN%gen}emulation/cuda.so
    [ -e "$module" ] || skip "there is no emulated device in this build"
    cp "$module" cuda.so
    version=$("$GZLZSS" --version | sed -n '1s/^gzlzss //p')
    "$GEN" source 300000 >plain
}

# with_module FILE ARGUMENT...: runs the command with this module.
with_module() {
    local file=$1
    shift
    env GZLZSS_TEST_GPU_MODULE="$file" "$GZLZSS" "$@"
}

@test "with a module, --version and --list-devices say so, and a GPU writes the CPU's bytes" {
    ends_with 0 with_module "$PWD/cuda.so" --version
    grep -q '^CUDA: yes\.' stdout
    grep -qF "GPU engine $PWD/cuda.so." stdout
    ends_with 0 with_module "$PWD/cuda.so" --list-devices
    grep -q '^0: emulated device' stdout
    for level in 1 6 10; do
        ends_with 0 with_module "$PWD/cuda.so" -$level --backend=gpu -ncvv plain
        grep -q 'by GPU' stderr
        "$GZLZSS" -$level --backend=cpu -nc plain | cmp stdout -
    done
    "$GZLZSS" -c plain >plain.z
    ends_with 0 with_module "$PWD/cuda.so" -d --backend=gpu -c plain.z
    cmp stdout plain
}

# loaded_bytes FILE: prints the size of a shared object up to the end of its last loaded segment.
loaded_bytes() {
    local kind offset size end=0

    readelf -lW "$1" >segments
    while read -r kind offset _ _ size _; do
        [ "$kind" != LOAD ] || [ $((offset + size)) -le $end ] || end=$((offset + size))
    done <segments
    [ $end -gt 0 ]
    echo $end
}

@test "a module that is missing, damaged, truncated or of another version is not used" {
    echo "no shared object" >damaged.so
    LC_ALL=C sed "s/$version/$(tr '0-9' '9' <<<"$version")/g" cuda.so >other.so
    ! cmp -s cuda.so other.so || fail "the module has no version"
    cp "$GEN" empty.so
    head -c 60000 cuda.so >cut.so
    head -c 1000 cuda.so >start.so
    files=(missing damaged other empty cut start)
    if have readelf; then
        # Of the last segment that is loaded, a byte is missing.
        head -c $(($(loaded_bytes cuda.so) - 1)) cuda.so >last.so
        files+=(last)
    fi
    for file in "${files[@]}"; do
        ends_with 0 with_module "$PWD/$file.so" --version
        grep -q '^CUDA: no\.' stdout
        case $file in
        missing) grep -qF "CUDA not used: no GPU engine is installed ($PWD/missing.so)." stdout ;;
        cut | last) grep -qF "CUDA not used: the GPU engine $PWD/$file.so is truncated" stdout ;;
        other) grep -qF "$PWD/other.so is not of version $version" stdout ;;
        *) grep -qF 'CUDA not used: the GPU engine' stdout ;;
        esac
        ends_with 1 with_module "$PWD/$file.so" --backend=gpu -c plain
        grep -q 'cannot use a GPU: .*GPU engine' stderr
        [ ! -s stdout ]
        ends_with 0 with_module "$PWD/$file.so" -nc plain
        stderr_is
        "$GZLZSS" --backend=cpu -nc plain | cmp stdout -
        GZLZSS_TEST_GPU_MIN=0 ends_with 0 with_module "$PWD/$file.so" -ncvv plain
        grep -q 'GPU not used: .*GPU engine' stderr
        "$GZLZSS" --backend=cpu -nc plain | cmp stdout -
    done
}

@test "the module beside a program is loaded, but not from a directory that others can write to" {
    without_sanitizers
    mkdir -p place/.libs/gzlzss
    cp "$GZLZSS" place/command
    cp cuda.so place/.libs/gzlzss/
    ends_with 0 place/command --version
    grep -qF "GPU engine $PWD/place/.libs/gzlzss/cuda.so." stdout
    # The program's own name, which a caller can choose, says nothing.
    # shellcheck disable=SC2016 # The other shell expands it.
    ends_with 0 bash -c 'exec -a "$1/other/command" place/command --version' bash "$PWD"
    grep -qF "GPU engine $PWD/place/.libs/gzlzss/cuda.so." stdout
    chmod o+w place
    ends_with 0 place/command --version
    ! grep -F "$PWD/place" stdout || fail "loaded from a directory that others can change"
    chmod o-w place
    [ "$(id -u)" -eq 0 ] || skip "only root can give a directory to somebody else"
    chown 65534 place
    ends_with 0 place/command --version
    ! grep -F "$PWD/place" stdout || fail "loaded from a directory that others can change"
}

# loads: the program in "place" must load the module that is beside it.
loads() {
    ends_with 0 place/command --version
    grep -qF "GPU engine $PWD/place/.libs/gzlzss/cuda.so." stdout || fail "$1: it is not loaded"
}

# loads_not: the program in "place" must not load the module that is beside it.
loads_not() {
    ends_with 0 place/command --version
    ! grep -F "$PWD/place" stdout || fail "$1: it is loaded"
}

@test "a link to a module is judged where it leads, with every directory on the way" {
    without_sanitizers
    local entry
    mkdir -p place/.libs/gzlzss far/away/deep far/beside
    cp "$GZLZSS" place/command
    mv cuda.so far/away/deep/engine.so
    ln -s ../../../far/beside/../away/second place/.libs/gzlzss/cuda.so
    ln -s "$PWD/far/third" far/away/second
    ln -s away/deep/engine.so far/third
    loads "a chain of links"
    for entry in place place/.libs place/.libs/gzlzss far far/beside far/away far/away/deep \
        far/away/deep/engine.so; do
        chmod g+w $entry
        loads_not "group may write to $entry"
        chmod g-w,o+w $entry
        loads_not "all may write to $entry"
        chmod o-w $entry
        loads $entry
    done
    # In a directory with the sticky bit, nobody can replace the entries of others.
    chmod 1777 far
    loads "a directory like /tmp"
    ln -sfn third far/third
    loads_not "an endless link"
    ln -sfn away/deep far/third
    loads_not "a directory"
    ln -sfn away/deep/engine.so far/third
    [ "$(id -u)" -eq 0 ] || skip "only root can give files to somebody else"
    for entry in far/third far/away/second far/away far/away/deep/engine.so far/beside \
        place/.libs/gzlzss/cuda.so; do
        chown -h 65534 $entry
        loads_not "$entry is somebody's"
        chown -h 0 $entry
        loads $entry
    done
}

@test "a module that is no regular file is not opened, and nothing waits for it" {
    local name
    mkfifo fifo.so
    mkdir directory.so
    ln -s /dev/zero device.so
    for name in fifo directory device; do
        ends_with 0 timeout 20 env GZLZSS_TEST_GPU_MODULE="$PWD/$name.so" "$GZLZSS" --version
        grep -qF "CUDA not used: the GPU engine $PWD/$name.so is no regular file." stdout ||
            fail "$name: $(cat stdout)"
        ends_with 1 timeout 20 env GZLZSS_TEST_GPU_MODULE="$PWD/$name.so" "$GZLZSS" \
            --backend=gpu -c plain
        grep -q 'cannot use a GPU: .* is no regular file' stderr
    done
}

@test "small files and the CPU alone load no module" {
    have strace || skip "strace is not installed"
    strace -f -e trace=openat -o trace "$GZLZSS" -c plain >/dev/null 2>&1 ||
        skip "strace does not work here"
    "$GZLZSS" -c plain >plain.z
    for options in '-c plain' '-c --backend=cpu -9 plain' '-t plain.z'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        strace -f -e trace=openat -o trace env GZLZSS_TEST_GPU_MODULE="$PWD/cuda.so" "$GZLZSS" \
            $options >/dev/null
        ! grep 'cuda\.so' trace || fail "$options"
    done
}
