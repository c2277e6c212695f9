#!/usr/bin/env bats
# gzip_list.bats - -l, -t and -v: what they report, on which output, and in which columns

# shellcheck disable=SC2016,SC2317 # Shells that `same` starts run the commands.
# shellcheck disable=SC2094 # Nothing here reads the file that it writes.
# shellcheck disable=SC2154 # inputs comes from compare.bash.

load helpers
load compare

make_inputs() {
    common_inputs
    "$GEN" zeros 1234567 >nulls
    "$GEN" random 20000 >noise
    "$GEN" byte 1 >one
    gzip -9k nulls
    gzip -1k noise
    gzip -nk one
    cat text.gz text.gz other.gz empty.gz >four.gz
    cat empty.gz text.gz >late.gz
    cat text.gz cut.gz >second_cut.gz
    cat text.gz crc.gz >second_crc.gz
    { cat text.gz; head -c 5 text.gz; } >second_header.gz
    { cat text.gz; printf '\037\213'; } >second_magic.gz
    { cat text.gz; printf '\037\213\007\0\0\0'; } >second_method.gz
    { cat text.gz; printf '\0\0\0junk'; } >zeros_junk.gz
    { cat text.gz; printf '\0'; cat other.gz; } >zero_between.gz
    { cat text.gz; printf 'x'; cat other.gz; } >x_between.gz
    : >nothing.gz
    # These names do not end in .gz, so tests that take "*.gz" leave these files out.
    "${GEN%/*}/encode" pack 24 <text >in_pack
    "${GEN%/*}/encode" lzh 100 <text >in_lzh
    "${GEN%/*}/encode" zip 8 0 <text >in_zip
    "${GEN%/*}/encode" zip 0 0 <text >in_stored
    "${GEN%/*}/encode" lzw 16 1 0 <text >in_lzw
    # Make members with an extra field, with and without a name and a time.
    with_fields '\4' '\0\0\0\0' '\0\0' >extra_0
    with_fields '\4' '\0\0\0\0' '\3\0abc' >extra_3
    with_fields '\14' '\1\2\3\4' '\0\1'"$(printf 'x%.0s' {1..256})"'a name\0' >extra_256
    cat extra_256 extra_3 extra_0 >extras
    cat text.gz extra_0 >extra_later
    { cat extra_3; head -c 14 extra_3; } >extra_cut
    { cat extra_3; head -c 11 extra_3; } >extra_cut_early
    { cat text.gz extra_3; echo junk; } >extra_junk
    touch -m -d '2005-06-07 08:09:10.5 UTC' in_* extra*
    if have compress; then
        compress -c text >lzw.Z
        compress -c empty >lzw_empty.Z
    fi
}

# with_fields FLAGS TIME FIELDS: prints a member with the data "hello". FLAGS, TIME and FIELDS are
# the bytes for its header.
with_fields() {
    printf '\037\213\010%b%b\0\003%b' "$1" "$2" "$3"
    printf '\313\110\315\311\311\007\0\206\246\020\066\005\0\0\0'
}

good_ones() {
    take text.gz other.gz empty.gz random.gz nulls.gz noise.gz one.gz
}
all_of_them() {
    cp -p "$inputs"/*.gz .
    if have compress; then
        cp -p "$inputs"/*.Z .
    fi
    take text
    mkdir dir
    take dir/f.gz=text.gz dir/g.gz=other.gz dir/h=text
}

# `reading` has options that change no file, and `writing` has options that do.
reading=(-l -lv -lq -lN -lvN -lvq -t -tv -tq -tvq -dcv -dcq -lf -tf -lc -tc)
writing=(-dv -dkv -dvq -dkq -dvN)

@test "each file by itself" {
    local f option n=0
    for f in "$inputs"/*.gz; do
        f=${f##*/}
        n=$((n + 1))
        for option in "${reading[@]}"; do
            # Combinations of three options are tried with every third file only.
            [ ${#option} -lt 4 ] || [ $((n % 3)) -eq 0 ] || continue
            same_in_turn all_of_them "gzip $option $f"
        done
        same_in_turn all_of_them "gzip -l <$f" "gzip -lv <$f" "gzip -t <$f" "gzip -tv <$f" \
            "gzip -dv <$f" "cat $f | gzip -l" "cat $f | gzip -lv" "cat $f | gzip -dv" \
            "gzip -lq <$f" "gzip -dq <$f"
        for option in "${writing[@]}"; do
            same "take $f" "gzip $option $f"
        done
    done
}

@test "compress's format" {
    have compress || skip "compress is not installed"
    local f option
    for f in lzw.Z lzw_empty.Z; do
        for option in "${reading[@]}"; do
            same_in_turn all_of_them "gzip $option $f"
        done
        same_in_turn all_of_them "gzip -l <$f" "gzip -lv <$f" "gzip -tv <$f" "gzip -dv <$f" \
            "gzip -l text.gz $f" "gzip -lv $f other.gz" "gzip -l $f $f"
        for option in "${writing[@]}"; do
            same "take $f" "gzip $option $f"
        done
    done
}

@test "other formats" {
    formats() {
        take pack.z=in_pack lzh.gz=in_lzh zip.gz=in_zip stored.gz=in_stored lzw.gz=in_lzw text.gz
    }
    same_in_turn formats 'gzip -lv *' 'gzip -l *' 'gzip -lv pack.z' 'gzip -lv lzh.gz text.gz' \
        'gzip -lv <pack.z' 'gzip -lv <lzh.gz' 'gzip -tv *' 'gzip -lvN pack.z lzh.gz'
    same formats 'gzip -dv *'
}

@test "extra fields, of whichever member" {
    local f option
    # If a file has several extra fields, gzlzss reports only the first.
    for f in extras extra_cut; do
        for option in -l -t -tq -dc -dcq; do
            same_in_turn "take a.gz=$f" "gzip $option a.gz" "gzip $option <a.gz"
        done
        same "take a.gz=$f" 'gzip -dq a.gz' 'gzip -d a.gz'
    done
    for f in extra_0 extra_3 extra_256 extra_later extra_cut_early extra_junk; do
        for option in -lv -lvv -tv -tvv -tvN -dcv -dcvvN -l -t -tq; do
            same_in_turn "take a.gz=$f" "gzip $option a.gz" "gzip $option <a.gz"
        done
        same "take a.gz=$f" 'gzip -dv a.gz' 'gzip -dvv a.gz' 'gzip -dvvn a.gz' 'gzip -dkvN a.gz' \
            'gzip -dq a.gz' 'gzip -d a.gz'
    done
}

@test "-vvN tells of the time" {
    local f
    for f in extra_256 text.gz plain.gz extra_0; do
        same "take a.gz=$f" 'gzip -dvvN a.gz' 'gzip -dvvvN a.gz' 'gzip -dkvvN a.gz' \
            'gzip -dvN a.gz' 'gzip -dcvvN a.gz' 'gzip -tvvN a.gz' 'gzip -dvvN <a.gz' \
            'gzip -dvv a.gz' 'gzip -dvvM a.gz' 'gzip -dvvNm a.gz'
    done
    # The compressed file's own time is already the stored time, exactly or nearly.
    same 'take a.gz=extra_256; touch -d @67305985 a.gz' 'gzip -dvvN a.gz'
    same 'take a.gz=extra_256; touch -d @67305985.5 a.gz' 'gzip -dvvN a.gz'
    same 'take a.gz=extra_256 text.gz' 'gzip -dvvN a.gz text.gz'
}

@test "several files, totals and headings" {
    local option some
    for option in -l -lv -lq -lN -lvN -t -tv -dcv -lvq -tq; do
        for some in 'text.gz other.gz' '*.gz' 'text.gz text.gz' 'empty.gz empty.gz' \
            'text.gz missing other.gz' 'missing text.gz' 'missing missing2' 'text other' \
            '- text.gz <other.gz' 'text.gz - <other.gz' '- - <other.gz' '. text.gz' 'text.gz .' \
            'noise.gz random.gz' '-r .'; do
            same_in_turn good_ones "gzip $option $some"
        done
        for some in 'text.gz cut.gz other.gz' 'cut.gz text.gz' 'text.gz cut.gz' 'junk.gz text.gz' \
            'text.gz plain.gz other.gz' 'nothing.gz text.gz' 'four.gz late.gz' 'crc.gz length.gz' \
            '*.gz' '-r dir' '-r dir text.gz' '-r .' 'dir text.gz' 'text text.gz' \
            'nulls.gz.gz nulls' 'second_cut.gz text.gz' 'second_magic.gz other.gz' \
            'zeros.gz zero_between.gz'; do
            same_in_turn all_of_them "gzip $option $some"
        done
    done
    for option in -dv -dkv -dvN; do
        same good_ones "gzip $option text.gz other.gz" "gzip $option *.gz" \
            "gzip $option text.gz text.gz" "gzip $option text.gz missing other.gz" \
            "gzip $option text other" "gzip $option text.gz - <other.gz" "gzip $option -r ."
        same all_of_them "gzip $option text.gz cut.gz other.gz" "gzip $option *.gz" \
            "gzip $option -r dir"
    done
}

@test "dates" {
    local zone time
    for time in '2001-02-03 04:05:06' '2024-02-29 23:59:59' '1970-01-01 00:00:00' \
        '2030-12-31 00:00:00' '1999-11-09 01:02:03'; do
        for zone in UTC America/New_York Asia/Kolkata Europe/Berlin; do
            same_in_turn \
                "take text; TZ=UTC touch -d '$time' text; \
                    gzip text 2>/dev/null; TZ=UTC touch -d '$time' text.gz" \
                "TZ=$zone gzip -lv text.gz" "TZ=$zone gzip -lvN text.gz" \
                "TZ=$zone gzip -lv <text.gz" "TZ=$zone gzip -n <text.gz | gzip -d | gzip -lv" \
                "TZ=$zone gzip -lvn text.gz"
        done
    done
    same 'take text.gz' 'touch text.gz; gzip -lv text.gz' 'gzip -lvn text.gz' \
        'gzip -lv text.gz text.gz' 'TZ= gzip -lv text.gz' 'TZ=XXX-3 gzip -lv text.gz' \
        'LC_ALL=de_DE.UTF-8 gzip -lv text.gz'
}

@test "names in lists" {
    same \
        'take text.gz a.tgz=text.gz a.tar.gz=text.gz b.z=text.gz c.Z=text.gz d.GZ=text.gz \
            e-gz=text.gz f_z=text.gz "g h.gz"=text.gz x=text.gz "p%s.gz"=text.gz; \
            cp text.gz $'"'a\\nb.gz'" \
        'gzip -l *' 'gzip -lv *' 'gzip -lN *' 'gzip -l a' 'gzip -l a.tar' 'gzip -l x' \
        'gzip -lS x x' 'gzip -l ./text.gz' 'gzip -l ././text' 'gzip -l ../tree/text.gz' \
        'gzip -tv *' 'gzip -tv a' 'gzip -dv *' 'gzip -dvk x' 'gzip -lNv text.gz "g h.gz"' \
        'gzip -l x <text.gz -' 'gzip -lN <text.gz' 'gzip -lr .' 'gzip -lr . | sort'
}

@test "-v when compressing" {
    local option
    for option in -v -vv -vk -vc -vf -vn -vr -vq -qv; do
        same_but_sizes 'take text other empty random one' "gzip $option text" "gzip $option *" \
            "gzip $option text - other <random" "gzip $option text missing other" \
            "gzip $option -S .x text" "gzip $option ./text" "gzip $option '' text"
        same_in_turn_but_sizes 'take text other empty random one' "gzip $option <text" \
            "gzip $option - <text" "gzip $option - - <text" "gzip $option </dev/null" \
            "cat text | gzip $option"
    done
}

@test "to which of the outputs" {
    same_but_sizes good_ones 'gzip -l text.gz 2>/dev/null' 'gzip -l text.gz missing >/dev/null' \
        'gzip -tv text.gz 2>/dev/null' 'gzip -tv text.gz >/dev/null' \
        'gzip -dv text.gz 2>/dev/null' 'gzip -dv text.gz >/dev/null' \
        'gzip -dcv text.gz 2>/dev/null' 'gzip -dcv text.gz 2>&1' 'gzip -dcv empty.gz 2>&1' \
        'gzip -tv text.gz missing other.gz 2>&1' 'gzip -l text.gz 2>&1 >/dev/full' \
        'gzip -l text.gz >&-' 'gzip -lv text.gz other.gz >&-' 'gzip -t text.gz >&-' \
        'gzip -tv text.gz >&-' 'gzip -t text.gz >/dev/full' 'gzip -tv text.gz 2>&-' \
        'gzip -tv text.gz 2>/dev/full' 'gzip -l text.gz | head -n 1' 'gzip -dv one.gz 2>/dev/full' \
        'gzip -dv one.gz 2>&-'
    # musl's stdio writes the first lines of a list early, even to a file, so the order would
    # differ.
    has_musl || same_but_sizes good_ones 'gzip -lv text.gz missing other.gz 2>&1' \
        'gzip -l text.gz nothing other.gz 2>&1'
}

# gzip decompresses the whole file for its size, which takes ten seconds or more, so it does that
# once.
@test "sizes above 4 GiB" {
    head -c 4294967297 /dev/zero | "$GZLZSS" -1 >"$inputs/large.gz"
    same "ln -s $inputs/large.gz large.gz" \
        "gzip -lvf large.gz $inputs/text.gz 2>&1 | sed 's| /.*/| |'"
}
