#!/usr/bin/env bats
# docs.bats - the manual pages and the completions have all of the command's options, and no others;
# the documents have no broken links

# shellcheck disable=SC2154 # srcdir comes from the build.

load helpers

# Options that the command accepts, but that --help does not list.  The manual page must have these
# options.  The completions may have them, but need not.
unlisted='ascii files files0 memlimit output-dir-flat reindex silent to-stdout uncompress'
unlisted_letters='H a'

setup() {
    enter_test_directory
    man=$srcdir/man/gzlzss.1
    completions=$srcdir/completions
    "$GZLZSS" --help >help
}

# Sorts the words on standard input, and prints one on each line.
sorted() {
    tr -s ' ' '\n' | sed '/^$/d' | LC_ALL=C sort -u
}

# without WORDS OTHERS: prints the words that are not in OTHERS.
without() {
    echo "$2" | sorted >others
    echo "$1" | sorted | comm -23 - others
}

# in_help, in_man, in_bash, in_zsh and in_fish print names of long options, without dashes.  in_help
# prints those that --help lists.
in_help() {
    sed -nE 's/^  (-.,|   ) --([a-z-]+).*/\2/p' help
}

# Prints the options in the manual page's list of options, without their arguments.  An option keeps
# all its dashes but the first.
entries_in_man() {
    sed -nE 's/^\.It Fl //p' "$man" | sed -E -e 's/ Ar [A-Za-z]+//g' -e 's/ Ns = Ns//g' \
        -e 's/ ,|Fl //g' | tr ' ' '\n'
}

in_man() {
    entries_in_man | sed -n 's/^-//p'
}

# The next three functions print the options in the completions for each shell.
in_bash() {
    # shellcheck source=/dev/null
    (. "$completions/bash/gzlzss" && _gzlzss_options --) | sed -nE 's/^--([a-z-]+)=?$/\1/p'
}

# An entry of zsh's list may begin with other options in parentheses, which the entry's option
# excludes.  Leave these out.
in_zsh() {
    sed -n '/_arguments/,$p' "$completions/zsh/_gzlzss" | sed "s/'([^)]*)//" |
        sed -nE "s/^ *[^[]*--([a-z-]+).*/\1/p"
}

in_fish() {
    sed -nE 's/^complete -c gzlzss .*-l ([a-z-]+).*/\1/p' "$completions/fish/gzlzss.fish"
}

letters_in_help() {
    sed -nE 's/^  -([A-Za-z]),.*/\1/p' help
}

letters_in_man() {
    entries_in_man | grep -x '[A-Za-z]'
}

# documents WHAT FOUND REQUIRED ALLOWED: FOUND must have all words of REQUIRED.  All its other words
# must be in ALLOWED.
documents() {
    local missing wrong
    [ -n "$2" ] || fail "found no option in $1"
    missing=$(without "$3" "$2")
    [ -z "$missing" ] || fail "not in $1: $missing"
    wrong=$(without "$2" "$3 $4")
    [ -z "$wrong" ] || fail "in $1, but there is no such option: $wrong"
}

@test "the manual page has every option, and no other" {
    documents "$man" "$(in_man)" "$(in_help) $unlisted" ''
}

@test "the manual page has every letter, and no other" {
    documents "$man" "$(letters_in_man)" "$(letters_in_help) $unlisted_letters" ''
}

@test "the completions have every option, and no other" {
    local listed
    listed=$(in_help)
    documents "$completions/bash/gzlzss" "$(in_bash)" "$listed" "$unlisted"
    documents "$completions/zsh/_gzlzss" "$(in_zsh)" "$listed" "$unlisted"
    documents "$completions/fish/gzlzss.fish" "$(in_fish)" "$listed" "$unlisted"
}

# accepted OPTION: true if the command accepts this option, with or without a value: --help after
# the option must still work.
accepted() {
    "$GZLZSS" "$1" --help >stdout 2>stderr || "$GZLZSS" "$1" 1 --help >stdout 2>stderr
}

@test "the options that --help does not list are there" {
    for name in $unlisted; do
        accepted "--$name" || fail "--$name: $(cat stderr)"
    done
    for letter in $unlisted_letters; do
        accepted "-$letter" || fail "-$letter: $(cat stderr)"
    done
}

# Prints the column for gzlzss of the tables in docs/habits.md.
in_habits() {
    awk -F '|' 'NF == 10 && !/---/ { print $9 }' "$srcdir/docs/habits.md"
}

# options_in PATTERN: prints all parts of standard input that match the pattern, without blanks and
# dashes.
options_in() {
    grep -o -e "$1" | sed 's/^ *-*//'
}

@test "docs/habits.md: gzlzss has the options that it names" {
    local there wrong
    there="$(in_help) $unlisted"
    in_habits >now
    [ "$(options_in '--[a-z-]*' <now | wc -l)" -gt 30 ]
    wrong=$(without "$(options_in '--[a-z-]*' <now)" "$there")
    [ -z "$wrong" ] || fail "there is no such option: $wrong"
    wrong=$(without "$(options_in ' -[A-Za-z]\b' <now)" "$(letters_in_help) $unlisted_letters")
    [ -z "$wrong" ] || fail "there is no such letter: $wrong"
}

@test "the levels in the manual page are those of the command" {
    entries_in_man | grep -x '[0-9]*' | sort -n >levels
    levels | diff - levels || fail "the level table (<) and man/gzlzss.1 (>) differ"
    for level in $(levels); do
        accepted "-$level"
    done
    last=$(last_level)
    ! accepted "--level=$((last + 1))" || fail "there is a level $((last + 1))"
}

@test "what names the last level names this one" {
    local last all unsaid=()
    # says FILE PATTERN: adds to "unsaid" if no line of the file matches.
    says() {
        grep -q -e "$2" "$srcdir/$1" || unsaid+=("$1: $2")
    }
    last=$(last_level)
    all=$(levels | sed 1d | tr '\n' '|' | sed 's/|/ | /g')
    says man/gzlzss.1 "^0 to $last\\.\$"
    says man/gzlzss.1 "^\\.Fl $((last + 1))\$"
    says man/gzlzss.1 "^\\.It Fl 10 ,.* $last\$"
    says README.md "levels 0 to $last"
    says docs/gpu.md "^| level | ${all% }\$"
    [ "${#unsaid[@]}" -eq 0 ] || fail "these lack lines: $(printf '\n%s' "${unsaid[@]}")"
}

@test "the manual pages are clean" {
    have mandoc || skip "mandoc is not installed"
    # Ignore two complaints: about manuals that are referred to but not installed, and about .Os,
    # which names gzlzss and its version for the footer.
    # Its status tells of complaints that are ignored, too.
    mandoc -T lint "$srcdir"/man/*.[13] >said 2>&1 || [ $? -le 2 ]
    sed -e '/referenced manual not found/d' -e '/outdated mandoc.db/d' \
        -e '/explicitly specified: Os gzlzss /d' said >complaints
    [ ! -s complaints ] || fail "$(cat complaints)"
}

@test "README.md and docs/gpu.md name the same options for which no GPU is used" {
    local options
    options=$(tr '\n' ' ' <"$srcdir/docs/gpu.md" | sed -n 's/.*when it compresses (not for \([^)]*\)).*/\1/p')
    [ -n "$options" ]
    # shellcheck disable=SC2016 # The backquotes are Markdown's.
    for option in $(printf '%s' "$options" | grep -o -e '`--[a-z]*`' -e 'level 0' | tr -d ' '); do
        tr '\n' ' ' <"$srcdir/README.md" | tr -d ' ' |
            reads_all grep -q "NoGPUisusedfor[^.]*$option" || fail "README.md lacks $option"
    done
    # The options of a compression that the command itself does without a GPU.
    "$GEN" text 300000 >plain
    for option in --rsyncable --huffman --rle -0; do
        "$GZLZSS" -vv -kf "$option" plain 2>stderr
        grep -qi 'GPU not used' stderr || fail "$option: $(cat stderr)"
        case ${option#-0} in
        '') [[ $options = *'level 0'* ]] || fail "docs/gpu.md lacks level 0" ;;
        *) [[ $options = *"\`$option\`"* ]] || fail "docs/gpu.md lacks $option" ;;
        esac
    done
}

@test "times are the same wherever they are told" {
    local seconds minutes
    # The time of make check-faults on two cores is in docs/reliability.md, in seconds.
    seconds=$(tr '\n' ' ' <"$srcdir/docs/reliability.md" |
        sed -n 's/.*make check-faults.* \([0-9]*\) s on two cores.*/\1/p')
    # shellcheck disable=SC2016 # The backquotes are Markdown's.
    minutes=$(sed -n 's/^| `make check-faults` |.* | \([0-9]*\) minutes |$/\1/p' \
        "$srcdir/docs/testing.md")
    [ "$minutes" -eq $(((seconds + 59) / 60)) ] || fail "$minutes minutes, and $seconds s"
    # shellcheck disable=SC2016
    minutes=$(sed -n 's/^| `.\/quickstart check` |.* | \([0-9a-z ]*\) minutes |$/\1/p' \
        "$srcdir/docs/testing.md")
    [ -n "$minutes" ]
    grep -q "quickstart check .*: $minutes minutes on two cores" "$srcdir/README.md"
    grep -q "quickstart check .*: $minutes minutes on two cores" "$srcdir/quickstart"
}

@test "SECURITY.md gives no address that nobody has" {
    ! grep -nE '@|example|debian/control' "$srcdir/SECURITY.md" || fail "reports go to the issues"
}

@test "every file that names the version names the same one" {
    sh "$srcdir/build-aux/version.sh" || fail "see docs/releasing.md"
    local version
    version=$(sed -n 's/^#define GZLZSS_VERSION_STRING "\(.*\)"$/\1/p' "$srcdir/include/gzlzss.h")
    [ -n "$version" ]
    "$GZLZSS" --version >said
    head -n 1 said >first
    grep -q -w -F "$version" first || fail "$(cat said)"
    # A build directory has pkg-config's file.
    local pc=${GZLZSS%/*}/lib/gzlzss.pc
    [ ! -f "$pc" ] || grep -qx "Version: $version" "$pc" || fail "$(cat "$pc")"
}

@test "the check of versions sees each place with another version" {
    local place
    mkdir -p include lib man debian packaging/{rpm,conda,spack}
    cp "$srcdir"/lib/gzlzss.map lib
    cp "$srcdir"/packaging/spack/package.py packaging/spack
    cp "$srcdir"/packaging/rpm/gzlzss.spec packaging/rpm
    cp "$srcdir"/packaging/conda/recipe.yaml packaging/conda
    cp "$srcdir"/configure.ac "$srcdir"/NEWS.md .
    cp "$srcdir"/include/gzlzss.h include
    cp "$srcdir"/man/*.[13] man
    local version
    version=$(sed -n 's/^AC_INIT(\[gzlzss\], \[\(.*\)\]).*/\1/p' configure.ac)
    echo "gzlzss ($version) unstable; urgency=medium" >debian/changelog
    # The tarball has no debian/.
    echo " gzlzss_new@GZLZSS_0.1 $version" >debian/libgzlzss0.symbols
    sh "$srcdir/build-aux/version.sh" .
    # other FILE SCRIPT: if the sed script is applied to FILE, the check must fail with one line,
    # about FILE.
    other() {
        cp "$1" kept
        sed -i "$2" "$1"
        ! sh "$srcdir/build-aux/version.sh" . >complaints || fail "$1, $2: no complaint"
        [ "$(cut -d : -f 1 complaints)" = "$1" ] || fail "$1, $2: $(cat complaints)"
        cp kept "$1"
    }
    other NEWS.md '0,/^## [0-9.]*/ s//## 9.9.9/'
    other debian/changelog '1s/(.*)/(9.9.9)/'
    other packaging/rpm/gzlzss.spec 's/^Version: .*/Version: 9.9.9/'
    other packaging/conda/recipe.yaml 's/^  version: ".*/  version: "9.9.9"/'
    other packaging/spack/package.py 's/gzlzss-[0-9.]*\.tar/gzlzss-9.9.9.tar/'
    other lib/gzlzss.map 's/^GZLZSS_0.3 /GZLZSS_9.9 /'
    other debian/libgzlzss0.symbols 's/ [0-9.]*$/ 9.9.9/'
    other include/gzlzss.h 's/\(VERSION_STRING\) .*/\1 "9.9.9"/'
    for part in MAJOR MINOR PATCH; do
        other include/gzlzss.h "s/\(VERSION_$part\) .*/\1 99/"
    done
    for place in man/*; do
        other "$place" 's/^\.Os .*/.Os "gzlzss 9.9.9"/'
        other "$place" 's/^\.Os .*/.Os/'
    done
}

# apt_lists: prints the packages that docs/building.md installs, one line for each command, also if
# it goes on in the next line.
apt_lists() {
    sed -e ':next' -e '/\\$/ { N; s/\\\n *//; b next' -e '}' "$srcdir/docs/building.md" |
        sed -n 's/^    sudo apt-get install //p'
}

@test "docs/building.md names the packages that the Debian package is built with, and no other" {
    [ -f "$srcdir/debian/control" ] || skip "there is no debian/ here"
    # Get the names of the packages, without versions, architectures and profiles.  debhelper-compat
    # stands for debhelper.
    sed -n '/^Build-Depends:/,/^[^ ]*$/ s/^ \([a-z0-9+.-]*\).*/\1/p' "$srcdir/debian/control" |
        sed 's/^debhelper-compat$/debhelper/' | sort >depends
    [ "$(wc -l <depends)" -ge 7 ] || fail "found in debian/control: $(cat depends)"
    [ "$(apt_lists | wc -l)" -eq 2 ] || fail "$(apt_lists)"
    # The first list has the packages that every build needs.  build-essential contains
    # dpkg-buildpackage.
    apt_lists | sed -n 1p | sorted >build
    apt_lists | sed -n 2p | sorted >package
    { echo build-essential; comm -23 depends build; } | sort | diff - package ||
        fail "debian/control (<) and docs/building.md (>) differ"
}

# links FILE: prints the relative targets of its links, without anchors.
links() {
    # shellcheck disable=SC2016 # The backquotes are Markdown's.
    sed 's/`[^`]*`//g' "$srcdir/$1" | tr '\n' ' ' | sed 's/](\([^)]*\))/\n\1\n/g' |
        sed -n -e 'n;s/#.*//;/^http/!p'
}

@test "links between the documents lead to files" {
    local document target results wrong=()
    results=("$srcdir"/bench/results/*/results.md)
    results=("${results[@]#"$srcdir"/}")
    for document in README.md NEWS.md CONTRIBUTING.md SECURITY.md mpi/README.md python/README.md \
        docs/adding.md docs/architecture.md docs/building.md docs/decompression.md docs/format.md \
        docs/gpu.md docs/habits.md docs/performance.md docs/recovery.md docs/releasing.md \
        docs/reliability.md docs/testing.md bench/gpu-notes.md bench/levels.md bench/library.md \
        bench/output.md bench/papers.md "${results[@]}"; do
        for target in $(links "$document"); do
            [ -e "$srcdir/$(dirname "$document")/$target" ] || wrong+=("$document: $target")
        done
    done
    [ "${#wrong[@]}" -eq 0 ] || fail "there are no such files: $(printf '\n%s' "${wrong[@]}")"
}

@test "each fault in tests/mutants says what it is, and reliability.md has it" {
    local patch name
    for patch in "$srcdir"/tests/mutants/*.patch; do
        name=$(basename "$patch" .patch)
        sed '/^--- /q' "$patch" | reads_all grep -q '^change: .' || fail "$name has no change"
        sed '/^--- /q' "$patch" | reads_all grep -qE '^(kills|survives): .' || fail "$name has no kills"
        grep -q "^| \`$name\` |" "$srcdir/docs/reliability.md" || fail "reliability.md lacks $name"
    done
    # The two tables have as many lines.
    [ "$(sed -n '/^## Faults in the sources/,/^## --verify/p' "$srcdir/docs/reliability.md" |
        grep -c '^| `')" -eq "$(find "$srcdir/tests/mutants" -name '*.patch' | wc -l)" ]
}
