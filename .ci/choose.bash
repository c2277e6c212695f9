# choose.bash - which steps a run of .ci/run has
#
# Every run has the core.  The rest is divided into five shares: a run has the share with the number
# of commits modulo 5, so runs of five commits in a row have all of it.  A run also has what belongs
# to the files that have changed since the last commit for which `.ci/run all` passed
# (tests/areas).  That commit stands in .ci/whole.
# shellcheck shell=bash disable=SC2034,SC2154

core=(asan cuda deb python-asan long warnings scripts forms layers columns format)

# The shares take about the same time.  "STEP+" means that a step of the core does all of its work.
shares=(
    "tsan fuzz"
    "aarch64 s390x musl"
    "dist abi code"
    "python cuda+"
    "asan+ deb+"
)

declare -A chosen=() scope=([asan]=part [cuda]=part [deb]=part)

# choose STEP... adds steps to this run.
choose() {
    local name
    for name; do
        case $name in
        ports) choose aarch64 s390x musl ;;
        cuda-archs) choose cuda+ ;;
        *+)
            chosen[${name%+}]=1
            scope[${name%+}]=whole
            ;;
        *) chosen[$name]=1 ;;
        esac
    done
}

# Prints the files that differ between the commit of .ci/whole and this tree.  Fails if the clone
# does not have that commit.
changed_files() {
    local git=(git -c "safe.directory=$top")
    "${git[@]}" cat-file -e "$(cat .ci/whole 2>/dev/null)^{commit}" 2>/dev/null &&
        "${git[@]}" diff --name-only "$(cat .ci/whole)"
}

# choose_all adds everything.
choose_all() {
    share=all
    choose "${core[@]}"
    # shellcheck disable=SC2068 # The shares have to be split.
    choose ${shares[@]}
}

# choose_changed adds what belongs to changed files; all if it is not known what has changed.
choose_changed() {
    local belonging
    if ! belonging=$(changed_files); then
        echo "        .ci/whole names no commit of this clone: everything is run"
        choose_all
        return
    fi
    belonging=$(sh build-aux/areas.sh --for <<<"$belonging")
    tested_files=$(sed -n 's/^test //p' <<<"$belonging")
    # shellcheck disable=SC2046 # The steps have to be split.
    choose $(sed -n 's/^step //p' <<<"$belonging" | grep -vx asan)
}

# choose_usual adds the core, this commit's share, and what has changed.
choose_usual() {
    local number
    number=$(git -c "safe.directory=$top" rev-list --count HEAD) || number=0
    share=$((number % 5))
    choose "${core[@]}"
    # shellcheck disable=SC2086 # The share has to be split.
    choose ${shares[share]}
    echo "        share $share of 0 to 4 (commit number $number): ${shares[share]};" \
        "a fifth of the long tests"
    choose_changed
}

# Prints the steps that were chosen, and the changed files' tests.
tell_choice() {
    local name words=
    for name in $(printf '%s\n' "${!chosen[@]}" | sort); do
        words="$words $name"
        case ${scope[$name]-} in
        whole) words="$words (all of it)" ;;
        part) words="$words (a part)" ;;
        esac
    done
    echo "        steps:$words"
    [ -z "$tested_files" ] ||
        echo "        with the tests of changed folders: $(wc -w <<<"$tested_files") files"
}
