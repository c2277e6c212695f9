#!/bin/bash
# minimise.sh - makes the corpus of the inputs that fuzzing has found
#
#   tests/fuzz/minimise.sh [-s BYTES] [-w WORK] [-c CORPUS] [PROGRAMS [TARGET...]]
#
# For each TARGET (default: all) that has a folder in WORK, takes the inputs in WORK/TARGET (default
# of WORK: fuzz.work, which run.sh has filled), keeps those that reach code which the others do not
# (libFuzzer's -merge=1 prefers small ones), and writes them to CORPUS/TARGET.tar.gz (default of
# CORPUS: the folder corpus beside this script). An archive has at most BYTES (default 16000) before
# it is compressed: of more inputs, it has the smallest. Inputs whose name starts with "failed" or
# "seed" stay in any case: give such a name to an input that has made a target fail, and to one that
# is large enough to have many regions, segments or blocks.
# shellcheck source=tests/fuzz/common.sh
. "${0%/*}/common.sh"

most=16000
while getopts s:w:c: option; do
    case $option in
    s) most=$OPTARG ;;
    w) work=$OPTARG ;;
    c) corpus=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
take_targets "$@"
mkdir -p "$corpus" || exit 1

# small_first DIRECTORY prints the names of files: those that stay, and the smallest, up to $most
# bytes.
small_first() {
    find "$1" -type f -printf '%s %f\n' | sort -k1,1n -k2 | awk -v most="$most" '
        $2 ~ /^(failed|seed)/ { print $2; next }
        { sum += $1 }
        sum <= most { print $2 }'
}

for target in "${targets[@]}"; do
    [ -d "$work/$target" ] || continue
    rm -rf "$work/merged"
    mkdir "$work/merged"
    "$programs/fuzz_$target" -merge=1 -close_fd_mask=1 -timeout=60 "$work/merged" "$work/$target" \
        >"$work/$target.merge.log" 2>&1 </dev/null || echo "$target: the merge failed" >&2
    find "$work/$target" \( -name 'failed*' -o -name 'seed*' \) -exec cp {} "$work/merged" \;
    small_first "$work/merged" |
        tar -cf - -C "$work/merged" --sort=name --mtime=@0 --owner=0 --group=0 --mode=644 \
            --format=ustar -T - | gzip -9n >"$corpus/$target.tar.gz"
    printf '%-18s %5d inputs of %5d, %6d bytes\n' "$target" \
        "$(tar -tzf "$corpus/$target.tar.gz" | wc -l)" "$(find "$work/$target" -type f | wc -l)" \
        "$(stat -c %s "$corpus/$target.tar.gz")"
done
rm -rf "$work/merged"
