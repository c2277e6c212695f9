# compare.bash - runs commands with GNU gzip and with gzlzss, and compares everything that they do
#
#     same TREE COMMAND...
#
# TREE is a command that fills the current directory; COMMAND is a line of shell.  COMMAND runs
# twice, each time in a directory that TREE has filled.  The first time, `gzip`, `gunzip`, `zcat`
# and a few other names are GNU gzip; the second time, they are gzlzss.  gzlzss takes its name from
# argv[0], as gzip does, so the same name is in both programs' messages.  The following must be
# equal for both programs:
#
#   - the exit status, and standard output and error to the byte;
#   - the tree: names, types, modes with the set-uid, set-gid and sticky bits, owners, numbers of
#     links, links' targets, times of change and of access to the nanosecond, and contents.  All
#     times after the start of the tests count as "now".  (Before the command, all times of access
#     are old.)
#
#     same_in_turn TREE COMMAND...
#
# runs the commands one after another in the same tree, and compares the tree after the last
# command.  `same_in_turn` is several times as fast as `same`.  Use it for commands that change
# nothing, or that each change a different file.
#
# A stream or a file in gzip's format may differ if these are equal: the header (flags, time, XFL,
# system), the stored name, and the data that GNU gzip decompresses.
#
# `same` only queues the comparisons.  The test's teardown makes all queued comparisons, and the
# test fails if a comparison fails.  Teardown groups the comparisons by tree, since making and
# reading trees is most of the work.  At the end of a file, a comment in the TAP output gives the
# number of comparisons.
#
# Intended differences
#
# In these points, gzlzss differs from gzip on purpose.  tests/gzip_differences.bats tests each of
# them.
#
#   - Compressed data differs, and so does its size.  `same_but_sizes` and `same_in_turn_but_sizes`
#     ignore the numbers in the reports of -v and -l.  (Reports on data that GNU gzip compressed are
#     equal.)
#   - The texts of -h, -L and -V.
#   - gzlzss restores the first member's time.
#   - With -d, long runs of zeros become holes.
#   - -b is the size of segments in KiB, not a number of bits.
#   - -10, -11 and so on are levels.
#   - gzlzss has more options: -i, -o, -p, -R, -T and long ones.  The message about an ambiguous
#     long option lists these, too.  Every name and abbreviation that gzip accepts keeps its
#     meaning.
#
# shellcheck shell=bash
# shellcheck disable=SC2094 # "$GEN" text >text reads no file.
# shellcheck disable=SC2154 # GEN and GZLZSS come from the build.

# Times from this second on count as "now".
compare_epoch=$EPOCHSECONDS

# The names under which commands may call either program.
compare_names=(gzip gunzip zcat gzcat uncompress)

# Bats calls the four hooks below.  A test file that loads this file must define make_inputs.

# Makes the directories "theirs" and "ours", in which the names in compare_names are GNU gzip and
# gzlzss.  Then calls make_inputs in the directory $inputs.
setup_file() {
    local tool program theirs
    if ! theirs=$(command -v gzip) ||
        ! gzip --version 2>/dev/null | reads_all head -n 1 | compare_version_is_right; then
        skip "GNU gzip of version 1.12 or later is not installed"
    fi
    # Other users must be able to enter these directories (as_user).
    chmod a+x "$BATS_RUN_TMPDIR" "$BATS_RUN_TMPDIR"/file 2>/dev/null
    chmod 755 "$BATS_FILE_TMPDIR"
    compare_base=$BATS_FILE_TMPDIR/compare
    inputs=$BATS_FILE_TMPDIR/inputs
    export compare_base inputs
    mkdir -p "$compare_base"/{theirs,ours} "$inputs"
    : >"$compare_base/count"
    for tool in theirs ours; do
        program=$theirs
        [ $tool = theirs ] || program=$GZLZSS
        for name in "${compare_names[@]}"; do
            if [ $tool = ours ] || [ "$name" = gzip ]; then
                ln -s "$program" "$compare_base/$tool/$name"
            else
                # The real gunzip and zcat are scripts, which start a gzip that calls itself gzip in
                # messages.  So make scripts that start gzip with the right name in argv[0].
                compare_script "$theirs" "$name" >"$compare_base/theirs/$name"
                chmod 755 "$compare_base/theirs/$name"
            fi
        done
    done
    (
        set -e
        cd "$inputs"
        compare_with theirs
        make_inputs
    )
}

# compare_script GZIP NAME: prints a script that does what the program GZIP does under this name.
compare_script() {
    local options=-d
    case $2 in
    *cat) options=-cd ;;
    esac
    # shellcheck disable=SC2016 # The script expands it.
    printf '#!/bin/bash\nexec -a %s %q %s "$@"\n' "$2" "$1" $options
}

compare_version_is_right() {
    local name version major minor
    read -r name version
    IFS=. read -r major minor <<<"$version"
    [ "$name" = gzip ] && [ "$((${major:-0} * 1000 + ${minor%%[!0-9]*}))" -ge 1012 ]
}

# Prints how many comparisons the test file has made.
teardown_file() {
    local all failed meant
    [ -e "$compare_base/count" ] || return 0
    all=$(wc -l <"$compare_base/count")
    failed=$(grep -c '^not' "$compare_base/count")
    meant=$(grep -c '^meant' "$compare_base/count")
    echo "# ${BATS_TEST_FILENAME##*/}: $all comparisons with gzip," \
        "$((all - failed - meant)) hold, $meant differ as is meant, $failed differ" >&3
}

setup() {
    enter_test_directory || return 1
    chmod 755 .
    compare_queue=()
    compare_round=0
    compare_musl=$(! has_musl || echo yes)
}

teardown() {
    compare_queued
}

# Makes the queued comparisons.  The file "verdict" gets a list of the comparisons that fail.
compare_queued() {
    local i tree
    local -A groups=() compare_verdicts=()
    [ ${#compare_queue[@]} -gt 0 ] || return 0
    compare_round=$((compare_round + 1))
    : >"$BATS_TEST_TMPDIR/done"
    (
        # Remove Bats' traps, which would run at every command.
        trap - DEBUG ERR EXIT
        set +eETu # allowed: the verdict is looked at
        exec 3>&-
        : >"$BATS_TEST_TMPDIR/verdict"
        for ((i = 0; i < ${#compare_queue[@]}; i += 4)); do
            groups[${compare_queue[i]} ${compare_queue[i + 1]}]+="$i "
        done
        for tree in "${!groups[@]}"; do
            # shellcheck disable=SC2086 # A list of numbers.
            compare_group "${tree%% *}" "${tree#* }" ${groups[$tree]}
        done
    )
    # "done" has a line for each comparison.  Without this check, a comparison that was not made
    # would pass.
    [ "$(wc -l <"$BATS_TEST_TMPDIR/done")" -eq $((${#compare_queue[@]} / 4)) ] ||
        echo "not all comparisons were made" >>"$BATS_TEST_TMPDIR/verdict"
    cat "$BATS_TEST_TMPDIR/verdict"
    [ ! -s "$BATS_TEST_TMPDIR/verdict" ]
}

same() {
    compare_later each same "$@"
}

same_but_sizes() {
    compare_later each any "$@"
}

same_in_turn() {
    compare_later turn same "$@"
}

same_in_turn_but_sizes() {
    compare_later turn any "$@"
}

# compare_later HOW SIZES TREE COMMAND...: queues a comparison for each command.  HOW is "each" for
# a tree for each command, or "turn" for one tree for all commands.  SIZES is "any" if sizes may
# differ, or "same".
compare_later() {
    local how=$1 sizes=$2 tree=$3 command
    shift 3
    for command; do
        compare_queue+=("$how" "$tree" "$command" "$sizes")
    done
}

# Makes, in the current directory, the files from which most trees are made.  Each file's time of
# change is older than its time of access, so that the file system does not set the time of access
# again when the file is read.
common_inputs() {
    "$GEN" text 4000 >text
    "$GEN" source 1500 >other
    "$GEN" random 3000 >random
    : >empty
    touch -m -d '2001-02-03 04:05:06.123456789 UTC' text other random empty
    gzip -k text other random empty
    touch -m -d '2005-06-07 08:09:10.5 UTC' ./*.gz
    cat text.gz other.gz >multi.gz
    { cat text.gz; echo junk; } >junk.gz
    { cat text.gz; head -c 99 /dev/zero; } >zeros.gz
    head -c 700 text.gz >cut.gz
    { head -c -8 text.gz; printf XXXX; tail -c 4 text.gz; } >crc.gz
    { head -c -4 text.gz; printf XXXX; } >length.gz
    cp text plain.gz
    touch -m -d '2005-06-07 08:09:10.5 UTC' {multi,junk,zeros,cut,crc,length,plain}.gz
}

# --- Trees ---

# take FILE...: copies these files from $inputs; NAME=FILE copies FILE as NAME.
take() {
    local f
    for f; do
        cp -p "$inputs/${f#*=}" "./${f%%=*}"
    done
}

nothing() {
    :
}

two_files() {
    take text other
    chmod 640 text
}

two_compressed() {
    take text.gz other.gz
    chmod 640 text.gz
}

# as_user COMMAND...: runs the command as a user other than root, since access rights do not apply
# to root.
as_user() {
    if [ "$(id -u)" -ne 0 ]; then
        "$@"
    else
        setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
    fi
}

# Skips the test if as_user cannot work.  In a test with as_user, the function that makes the tree
# must also make that user the owner of the files.
needs_user() {
    as_user test -x "$GZLZSS" 2>/dev/null || skip "cannot become another user"
    as_user test -x "$compare_base/ours/gzip" 2>/dev/null || skip "another user cannot get here"
}

# on_terminal COMMAND [TYPED]: runs the command on a new terminal, types TYPED (by default ^D), and
# prints what the terminal shows.  From this text, it removes carriage returns, and all letters that
# are in TYPED, since the terminal's echo may come before or after the program's output.
on_terminal() {
    local status=0 shown=$BATS_TEST_TMPDIR/shown
    # The input of `script` is a FIFO that never ends, since `script` would wait if its input ended.
    mkfifo typed
    exec 8<>typed
    rm typed
    printf '%b' "${2-\\004\\004\\004\\004}" >&8
    timeout 10 script -qec "$1" "$shown" <&8 >/dev/null || status=$?
    exec 8>&-
    sed -e '/^Script /d' -e 's/\^D\x08\x08//g' "$shown" | if [ $# -gt 1 ]; then
        tr -d '\r\n' | tr -d Yynx
    else
        tr -d '\r'
    fi
    return $status
}

needs_terminal() {
    have script || skip "script is not installed"
    script -qec true /dev/null >/dev/null 2>&1 </dev/null || skip "script does not work here"
}

# compare_with theirs|ours: from here on, `gzip` and its other names are GNU gzip (theirs) or gzlzss
# (ours).
compare_with() {
    PATH=$compare_base/$1:${PATH#"$compare_base"/*:}
}

# compare_group HOW TREE INDEX...: makes all queued comparisons that use this tree.  Each INDEX is
# the place of a comparison in the queue.
compare_group() {
    local how=$1 tree=$2 tool i k=0 ended depth=1 leaf base command differences
    local -a status=()
    local -A entries=() lists=()
    shift 2
    compare_groups=$((${compare_groups-0} + 1))
    base=$BATS_TEST_TMPDIR/$compare_round.$compare_groups
    # Each copy of the tree has a number of `depth` bits.  Even numbers are for gzip, odd ones for
    # gzlzss.  In the path of a copy, each bit is a directory.
    while [ "$how" = each ] && [ $((1 << depth)) -lt $(($# * 2)) ]; do
        depth=$((depth + 1))
    done
    compare_leaf 0
    mkdir -p "$base/${leaf%/0}" "$base/first" "$base/out"
    cd "$base" || return
    (
        cd first || exit
        compare_with theirs
        eval "$tree"
    ) </dev/null 2>out/tree
    if [ -s out/tree ]; then
        { echo "This is no tree: $tree"; cat out/tree; } >>"$BATS_TEST_TMPDIR/verdict"
    fi
    # In tmpfs, the names of a directory come in the reverse order in a copy.  So gzip's tree and
    # gzlzss's are both copies, of the same number of copies.
    cp -a first "$leaf"
    cp -a first "${leaf%0}1"
    rm -rf first
    leaf=${leaf%/0}
    # Each round doubles the number of copies of the tree.
    while [ "$leaf" != tree ]; do
        cp -a "$leaf" "${leaf%0}1"
        leaf=${leaf%/0}
    done
    find tree -exec touch -h -a -d '2004-01-02 03:04:05.123456789 UTC' {} +
    for i; do
        for tool in theirs ours; do
            compare_leaf "$k"
            (
                cd "$leaf" || exit
                compare_with $tool
                eval "${compare_queue[i + 2]}"
            ) </dev/null >"out/$i.$tool.stdout" 2>"out/$i.$tool.stderr"
            status+=($?)
            k=$((k + 1))
        done
        [ "$how" = each ] || k=0
    done
    if [ -n "$compare_musl" ]; then
        sed -i "${glibc_words[@]}" out/*.ours.*
    fi
    compare_read_trees
    compare_ended=false
    for tool in "${status[@]}"; do
        [ "$tool" -ne 1 ] || compare_ended=true
    done
    k=0 ended=0
    for i; do
        compare_one
        [ "$how" = turn ] || k=$((k + 2))
        ended=$((ended + 2))
    done
}

# compare_leaf NUMBER: sets $leaf to the path of that copy of the tree.
compare_leaf() {
    local bit
    leaf=tree
    for ((bit = depth - 1; bit >= 0; bit--)); do
        leaf+=/$(($1 >> bit & 1))
    done
}

# True if gzlzss differs on purpose for this command.  The reasons are in the list at the top of
# this file, or in the comments below.
compare_is_meant() {
    case "$tree; $command" in
    # Standard input is compressed after a file.  gzip then stores the name "stdin".
    *'gzip'*' - '*) ;;
    # The output of a link would be the file to which the link leads.  gzip destroys this file.
    'taken; gzip -'*'f'*' self') ;;
    # The stored name is empty, ends with a slash, or is the name of the input itself.
    "stored_name ''; "* | "stored_name '/'; "* | "stored_name 'b/'; "*) ;;
    "stored_name 'a.gz'; gzip -dNf a.gz" | 'stored_name a.gz; gzip -dNf a.gz') ;;
    # Compressed data is compressed again.  gzlzss prints more messages than gzip, and after
    # sorting, they stand between the others.
    'forest; timeout 9 gzip -r'*'f '* | 'forest; timeout 9 gzip -rvv '*) ;;
    # No process has opened the FIFO for writing yet.  gzip treats such a FIFO as empty.
    'menagerie; timeout 0.5 gzip -'*' fifo' | 'menagerie; exec 9<>fifo;'*) ;;
    # The suffix contains a slash.
    *'gzip -dfS x/y fx/y' | *'gzip -dfS ../x f../x' | *'gzip -dfS ./ f./') ;;
    # Offsets in the output, and the ratio of copied data, depend on the size of compressed data.
    *'grep -aobe'*) ;;
    'take text text.gz junk.gz zeros.gz cut.gz empty random'*'multi.gz plain.gz; printf'*) ;;
    # A path has more than 1023 bytes, or gzip is called by one of its other names, which are
    # scripts.
    *p/p/p/p/p/p/p/p* | *./////////* | *'(exec -a '*) ;;
    # The input is the root directory.
    'odd_names; gzip /' | 'odd_names; gzip -d /') ;;
    # There is an error in a member after the first, or in a .Z.  gzip removes the input
    # nevertheless.
    'take second_method.gz; gzip -d'* | *'\037\213x'*' | with_tail '*) ;;
    # The data is damaged.  gzlzss may write more of the data before the damage, and reports matches
    # that reach back before the data's start.
    *'head -c '*' | gzip -dc' | *'flip '*' | gzip -'* | 'flipped '*'; gzip -dc'*' flip-255-'*) ;;
    # The command uses levels and options that only gzlzss has.
    *'-12'* | *"GZIP='-10'"* | *"GZIP='--bytes'"* | *' --p '* | *'-b ""'* | *'-dbx '*) ;;
    "two_files; gzip '-o' text" | "two_files; gzip '-ko' text") ;;
    # Writing a list or help to standard output fails.
    *'gzip -l'*'>/dev/full' | *'gzip -l'*'>&-'* | *'gzip -l'*'1</dev/null'*) ;;
    *'gzip -l big.gz)'*) ;;
    *'gzip -h '* | *'gzip -V '* | *'gzip -L >/dev/full') ;;
    # Compressed data is truncated in a pipe, shown on a terminal, or compressed again.
    *'gzip '*' | dd bs=1 count=40000 status=none' | *"on_terminal 'gzip "*c*) ;;
    'menagerie # -'*'f; gzip -'*'f sticky.gz') ;;
    *) return 1 ;;
    esac
}

# Makes comparison $i of the queue.  Tree $k is that of gzip, and tree $k + 1 that of gzlzss.  The
# exit statuses of both programs begin at place $ended of the list.  Differences go to the file
# "verdict".
compare_one() {
    local theirs ours
    differences=
    echo >>"$BATS_TEST_TMPDIR/done"
    command=${compare_queue[i + 2]}
    [ "${status[ended]}" -eq "${status[ended + 1]}" ] ||
        differences="exit status ${status[ended]} and ${status[ended + 1]}"$'\n'
    compare_leaf "$k"
    theirs=$leaf
    compare_leaf $((k + 1))
    ours=$leaf
    compare_messages
    # Commands that run in turn share a tree: compare it after the last command.
    if [ "$how" = each ] || [ $((ended + 2)) -eq ${#status[@]} ]; then
        compare_trees
    fi
    compare_stdout
    if [ -z "$differences" ]; then
        echo "ok $command" >>"$compare_base/count"
        return
    fi
    if compare_is_meant; then
        echo "meant $command" >>"$compare_base/count"
        return
    fi
    echo "not ok $command" >>"$compare_base/count"
    {
        command="$tree; $command"
        echo "gzip (<) and gzlzss (>) differ after: ${command//$'\n'/\\n}"
        head -n "${COMPARE_LINES:-30}" <<<"${differences%$'\n'}" | cut -c -300
    } >>"$BATS_TEST_TMPDIR/verdict"
}

# compare_as STREAM COMMAND...: runs the command on gzip's and on gzlzss's STREAM, and adds a diff
# of the two results to $differences.
compare_as() {
    local what=$1
    shift
    differences+="$what:"$'\n'
    # allowed: sed and cat -v, whose output differs if one of them fails
    differences+=$(diff -a <("$@" "out/$i.theirs.$what") <("$@" "out/$i.ours.$what") | cat -v)$'\n'
}

# compare_equal STREAM: true if both programs have written the same bytes to STREAM.  The shell
# itself compares text, since starting a program takes longer.  If `read` succeeds, the stream has a
# null byte, so it is not text.
compare_equal() {
    local theirs ours
    if IFS= read -r -d '' theirs <"out/$i.theirs.$1" ||
        IFS= read -r -d '' ours <"out/$i.ours.$1"; then
        cmp -s "out/$i.theirs.$1" "out/$i.ours.$1"
    else
        [ "$theirs" = "$ours" ]
    fi
}

compare_messages() {
    # In this tree, a link leads to its own directory.  The programs follow the link 40 or 41 times
    # before they stop.
    if [ "$tree" = forest ]; then
        sed -i -e '/\/self\/self\//d' -e '/(totals)$/d' out/"$i".*
    fi
    if [ ! -s "out/$i.theirs.stderr" ] && [ ! -s "out/$i.ours.stderr" ]; then
        return 0
    fi
    compare_equal stderr && return
    # gzlzss's -vv prints more, on purpose.
    sed -i -E '/: (GPU not used: |a GPU failed or could not be used: |[0-9]+ segments?[:,;] )/d' \
        "out/$i.ours.stderr"
    compare_equal stderr && return
    if [ "${compare_queue[i + 3]}" = any ] || compare_makes_data; then
        compare_but_sizes stderr || compare_as stderr compare_without_sizes
    else
        compare_as stderr cat
    fi
}

compare_stdout() {
    local theirs=out/$i.theirs.stdout ours=out/$i.ours.stdout
    if [ ! -s "$theirs" ] && [ ! -s "$ours" ]; then
        return 0
    fi
    compare_equal stdout && return
    if [ "${compare_queue[i + 3]}" = any ] || compare_makes_data; then
        compare_but_sizes stdout && return
    fi
    compare_compressed "$theirs" "$ours" || compare_as stdout cat
}

# True if the command may print sizes of data that it has compressed itself.
compare_makes_data() {
    case $command in
    'gzip -d'* | 'gzip -l'* | 'gzip -t'* | gun* | zcat* | 'cat '*) return 1 ;;
    esac
}

compare_but_sizes() {
    # allowed: sed, whose output differs if one of them fails
    cmp -s <(compare_without_sizes "out/$i.theirs.$1") <(compare_without_sizes "out/$i.ours.$1")
}

# Replaces the ratios in the reports of -v and -l by words.  In the reports of -l, also replaces the
# two sizes before each ratio.
compare_without_sizes() {
    sed -E -e 's/ *-?[0-9]+\.[0-9]%/ RATIO/g' -e 's/ +[0-9]+( +[0-9]+ RATIO)/ SIZE\1/' "$@"
}

# Reads all trees at once.  entries[PATH] becomes a description of the path.  lists[TREE] becomes a
# string of all paths of the tree and their descriptions.  In this string, // follows each path and
# each description, since no path contains //.
compare_read_trees() {
    local path type mode owner links changed read target sum top=$((4 + 2 * depth)) text
    local -A sums=()
    # Read the attributes first, since reading a file changes its time of access.
    find tree -mindepth "$depth" -printf '%p\0%y %m %U:%G %n %T@ %A@ %l\0' >out/entries
    while IFS= read -r -d '' text; do
        sums[${text:42}]=${text:0:40}
        # allowed: a file that cannot be read has no sum
    done < <(find tree -type f -exec sha1sum -z {} + 2>/dev/null)
    while IFS= read -r -d '' path &&
        IFS=' ' read -r -d '' type mode owner links changed read target; do
        # A directory's number of links and time of access depend on the file system.
        [ "$type" != d ] || links=- read=-
        [ "$type" = f ] || read=-
        ! compare_is_now "$changed" || changed=now
        ! compare_is_now "$read" || read=now
        sum=${sums[$path]-}
        entries[$path]="$type $mode $owner links=$links changed=$changed read=$read $target#$sum"
        lists[${path:0:top}]+="${path:top}//${entries[$path]}//"
    done <out/entries
    return 0
}

# compare_is_now TIME: true if TIME is after the start of the tests.
compare_is_now() {
    local seconds=${1%%.*}
    [[ $seconds != - && $seconds -ge $compare_epoch && $seconds -le $((compare_epoch + 100000)) ]]
}

compare_trees() {
    local name rest=${lists[$theirs]} a b
    [ "$rest" != "${lists[$ours]-}" ] || return 0
    while [ -n "$rest" ]; do
        name=${rest%%//*}
        rest=${rest#*//*//}
        a=${entries[$theirs$name]} b=${entries[$ours$name]-}
        # If an error has ended a command, it may have read files that it did not process.
        if $compare_ended; then
            a=${a/ read=* /} b=${b/ read=* /}
        fi
        if [ "${a%#*}" != "${b%#*}" ]; then
            differences+="< ${a%#*} .$name"$'\n'${b:+"> ${b%#*} .$name"$'\n'}
        fi
        if [[ $a = f* && $b = f* && ${a##*#} != "${b##*#}" ]] &&
            ! compare_once "${a##*#}" "${b##*#}" "$theirs$name" "$ours$name"; then
            differences+=".$name has other contents"$'\n'
        fi
    done
    rest=${lists[$ours]-}
    while [ -n "$rest" ]; do
        name=${rest%%//*}
        rest=${rest#*//*//}
        b=${entries[$ours$name]}
        [ -n "${entries[$theirs$name]-}" ] || differences+="> ${b%#*} .$name"$'\n'
    done
}

# compare_once SUM SUM FILE FILE: as compare_compressed, but compares two contents only once.  Each
# SUM is the hash of a FILE's contents.  Many commands make the same files.
compare_once() {
    local pair="$1 $2" verdict=0
    if [ -z "${compare_verdicts[$pair]-}" ]; then
        compare_compressed "$3" "$4" || verdict=1
        compare_verdicts[$pair]=$verdict
    fi
    return "${compare_verdicts[$pair]}"
}

# compare_compressed FILE FILE: true if both files are in gzip's format, and their headers and their
# data are equal.
compare_compressed() {
    local a b
    a=$(compare_header "$1") && b=$(compare_header "$2") && [ "$a" = "$b" ] || return 1
    a=$("$compare_base/theirs/gzip" -dc <"$1" 2>&1 | sha1sum)
    b=$("$compare_base/theirs/gzip" -dc <"$2" 2>&1 | sha1sum)
    [ "$a" = "$b" ]
}

# Prints the header's bytes, including the name, in hexadecimal.  For a time after the start of the
# tests, prints "now", since a second may end between the runs of the two programs.
compare_header() {
    local bytes i end=20
    bytes=$(od -A n -v -t x1 -N 1100 "$1")
    bytes=${bytes//[!0-9a-f]/}
    [[ $bytes = 1f8b08* ]] || return 1
    if compare_is_now $((0x${bytes:14:2}${bytes:12:2}${bytes:10:2}${bytes:8:2})); then
        bytes=${bytes:0:8}nownowno${bytes:16}
    fi
    if [ $((0x${bytes:6:2} & 8)) -ne 0 ]; then
        for ((i = 20; i < ${#bytes}; i += 2)); do
            [ "${bytes:i:2}" = 00 ] && break
        done
        end=$i
    fi
    echo "${bytes:0:end}"
}
