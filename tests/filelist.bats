#!/usr/bin/env bats
# filelist.bats - --files-from, --null and --exclude-compressed: which files the command works on

# shellcheck disable=SC2094 # Nothing here writes the file that it reads.

load helpers

setup() {
    enter_test_directory
    NAME=${GZLZSS##*/}
    for f in a b c; do
        "$GEN" text 3000 >$f
    done
}

# --- --files-from ---

@test "--files-from takes names from a file or standard input, after those of the command line" {
    printf 'b\nc\n' >list
    ends_with 0 "$GZLZSS" -v --files-from=list a
    [ "$(cut -d : -f 1 stderr | tr '\n' ' ')" = 'a b c ' ] || fail "$(cat stderr)"
    absent a b c
    printf '%s\n' a.gz b.gz c.gz | "$GZLZSS" -d --files-from=-
    # The last line need not end with a newline.
    for option in --files-from=- '--files-from -' --files --files=-; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        printf 'a\nb' | "$GZLZSS" -n $option
        # shellcheck disable=SC2086
        printf 'a\nb' | "$GZLZSS" -d $option
        [ -e a ]
        [ -e b ]
    done
    cat a b >wanted
    printf 'a\nb\n' | "$GZLZSS" -c --files-from=- | gzip -dc | cmp - wanted
}

@test "--null: names end with zero bytes, and may have any other" {
    cp a $'two\nlines'
    cp a ' blanks '
    for option in '--null --files-from=list' '--files-from=list --null' --files0=list; do
        printf 'two\nlines\0\0 blanks \0' >list
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 0 "$GZLZSS" $option
        absent $'two\nlines' ' blanks '
        printf 'two\nlines.gz\0 blanks .gz' >list
        # shellcheck disable=SC2086
        ends_with 0 "$GZLZSS" -d $option
        cmp a $'two\nlines'
    done
    find . -name '[abc]' -print0 | "$GZLZSS" --files0
    [ -e a.gz ] && [ -e b.gz ] && [ -e c.gz ]
}

@test "--files-from: empty lines, hyphens, carriage returns and - are taken as in xz" {
    cp a ./-k
    cp a ./-
    cp a ./--
    printf '\n\n-k\n\n-\n--\n' >list
    ends_with 0 "$GZLZSS" --files-from=list
    stderr_is
    for f in -k - --; do
        gzip -dc "./$f.gz" | cmp - a
    done
    printf 'a\r\nb\n' >list
    ends_with 1 "$GZLZSS" --files-from=list
    printf '%s: a\r: No such file or directory\n' "$NAME" | cmp - stderr
    [ -e a ]
    [ -e b.gz ]
    cp a $'c\r'
    printf 'c\r\n' | "$GZLZSS" --files-from=-
    [ -e c ] && [ -e $'c\r.gz' ]
}

@test "--files-from: a missing file is an error, and the others are done, as with operands" {
    local p
    for p in 1 3; do
        printf 'a\nmissing\nb\n' >list
        ends_with 1 "$GZLZSS" -p$p --files-from=list none
        stderr_is "$NAME: none: No such file or directory" \
            "$NAME: missing: No such file or directory"
        "$GZLZSS" -d a b
    done
    mkdir d
    printf 'd\n' >list
    ends_with 2 "$GZLZSS" --files-from=list
    stderr_is "$NAME: d is a directory -- ignored"
    cp a d
    ends_with 0 "$GZLZSS" -r --files-from=list
    [ -e d/a.gz ]
}

@test "--files-from a file that cannot be read; a zero byte in a line" {
    ends_with 1 "$GZLZSS" --files-from=none a
    stderr_is "$NAME: none: No such file or directory"
    absent a
    mkdir d
    ends_with 1 "$GZLZSS" --files-from=d b
    stderr_is "$NAME: d: Is a directory"
    absent b
    status=0
    "$GZLZSS" --files-from=- <&- 2>stderr || status=$?
    [ "$status" -eq 1 ]
    stderr_is "$NAME: stdin: Bad file descriptor"
    printf 'c\0d\nc\n' >list
    ends_with 1 "$GZLZSS" --files-from=list
    stderr_is "$NAME: list: a name has a zero byte; for names that end with one, give --null"
    [ -e c ]
}

@test "--files-from without names does nothing, and does not read standard input as data" {
    ends_with 0 "$GZLZSS" --files-from=/dev/null
    stderr_is
    [ ! -s stdout ]
    printf '\n\n' | "$GZLZSS" --files-from=- >stdout
    [ ! -s stdout ]
}

@test "--files-from=- and standard input as data exclude each other" {
    for words in '--files-from=- -' '- --files' 'a - --files0'; do
        # shellcheck disable=SC2086 # The shell splits it into words.
        ends_with 1 "$GZLZSS" $words
        stderr_is "$NAME: standard input cannot be both a list of files and a file"
        [ -e a ]
    done
    printf 'a\n' >list
    cat b a >wanted
    "$GZLZSS" -c --files-from=list - <b | gzip -dc | cmp - wanted
}

@test "--files-from: many names from a pipe, side by side" {
    local i
    mkdir d
    for ((i = 0; i < 500; i++)); do
        echo $i >d/$i
    done
    seq 0 499 | sed 's,^,d/,' | "$GZLZSS" -p4 --files-from=-
    seq 0 499 >wanted
    seq 0 499 | sed 's,.*,d/&.gz,' | "$GZLZSS" -p4 -c -d --files-from=- | cmp - wanted
    seq 0 499 | sed 's,.*,d/&.gz,' | "$GZLZSS" -p4 -d --files-from=-
    [ "$(find d -name '*.gz' | wc -l)" -eq 0 ]
    seq 0 499 >wanted
    cat d/* | sort -n | cmp - wanted
}

@test "--files-from a program that waits for the outputs: files are done before the last name" {
    local p
    mkfifo names
    for p in 1 4; do
        timeout 20 "$GZLZSS" -vp$p --files-from=names 2>log &
        exec 9>names
        printf 'a\nb' >&9
        until [ -e a.gz ] && [ ! -e a ]; do
            kill -0 $! || fail "$p: $(cat log; ls)"
        done
        [ -e b ]
        printf '\nc\n' >&9
        until [ ! -e b ] && [ ! -e c ]; do
            kill -0 $! || fail "$p: $(cat log; ls)"
        done
        exec 9>&-
        wait $!
        "$GZLZSS" -d a b c
    done
}

@test "--files-from: names of all lengths, and more than fit into a buffer" {
    local i
    mkdir d
    for ((i = 1; i < 700; i++)); do
        printf 'd/%0*d\n' $((i % 240 + 1)) $i
    done >list
    xargs touch <list
    "$GZLZSS" -p2 --files-from=list
    [ "$(find d -name '*.gz' | wc -l)" -eq 699 ]
    [ "$(find d -type f | wc -l)" -eq 699 ]
    # Give a name that is longer than the name of any file can be.
    { printf 'd/%0200000d\n' 1; echo a; } >list
    ends_with 1 "$GZLZSS" --files-from=list
    grep -q 'File name too long$' stderr
    absent a
}

@test "-l --files-from prints totals, as for operands" {
    "$GZLZSS" a b
    "$GZLZSS" -l a.gz b.gz >expected
    printf 'a.gz\nb.gz\n' | "$GZLZSS" -l --files-from=- | cmp - expected
}

# --- --exclude-compressed ---

# is_left_alone FORMAT: with --exclude-compressed, the command must not compress the file "f". With
# -v, it must print a message about that.
is_left_alone() {
    ends_with 0 "$GZLZSS" --exclude-compressed -v f || return 1
    stderr_is "$NAME: f: starts as $1 data does -- unchanged" || return 1
    ends_with 0 "$GZLZSS" --exclude-compressed f || return 1
    stderr_is || return 1
    absent f.gz || return 1
    [ -e f ]
}

@test "--exclude-compressed leaves files alone that other programs have compressed" {
    local program
    for program in gzip bzip2 xz zstd lz4 lzip compress pigz; do
        have $program || continue
        $program -c <a >f
        is_left_alone $program 2>/dev/null || is_left_alone gzip
    done
    "$GZLZSS" -c a >f
    is_left_alone gzip
}

@test "--exclude-compressed knows formats by their first bytes" {
    local format bytes
    while read -r format bytes; do
        # shellcheck disable=SC2059 # printf converts the escapes in it.
        { printf "$bytes"; cat a; } >f
        is_left_alone "${format//_/ }" || fail "$format"
        # If the first byte is missing, the command compresses the file.
        # shellcheck disable=SC2059
        { printf "$bytes" | tail -c +2; cat a; } >f
        "$GZLZSS" --exclude-compressed f
        absent f
        rm f.gz
    done <<'END'
pack \037\036
LZH \037\240
lzop \211LZO\000\r\n\032\n
lz4 \002\041\114\030
snappy \377\006\000\000sNaPpY
zip PK\003\004
7z 7z\274\257\047\034
RAR Rar!\032\007
CAB MSCF\000\000\000\000
squashfs hsqs
PNG \211PNG\r\n\032\n
JPEG \377\330\377
JPEG_2000 \000\000\000\014jP\040\040\r\n\207\n
JPEG_XL \000\000\000\014JXL\040\r\n\207\n
GIF GIF87a
GIF GIF89a
WebP RIFF\001\002\003\004WEBPVP8
MP4 \000\000\000\040ftypisom
Matroska \032\105\337\243
Ogg OggS\000
FLAC fLaC
MP3 ID3\003\000
MP3 ID3\004\000
WOFF wOFF
WOFF wOF2
END
}

@test "-d says what a file is that gzlzss does not read, in place of gzip's message alone" {
    local format bytes name=${GZLZSS##*/} options
    while read -r format bytes; do
        # shellcheck disable=SC2059 # printf converts the escapes in it.
        printf "$bytes" >f.x
        ends_with 2 "$GZLZSS" -d f.x
        stderr_is "$name: f.x: unknown suffix -- ignored" \
            "$name: f.x: starts as $format data does, which gzlzss does not read"
        cp f.x f.gz
        for options in -d -t -l -dc '-dcp1 --range=1:1'; do
            # shellcheck disable=SC2086 # The shell splits it into words.
            ends_with 1 "$GZLZSS" $options f.gz
            [ "$(tail -n 1 stderr)" = \
                "$name: f.gz: starts as $format data does, which gzlzss does not read" ] ||
                fail "$options: $(cat stderr)"
        done
        status=0
        # shellcheck disable=SC2002 # The input has to be a pipe.
        cat f.x | "$GZLZSS" -d >out 2>stderr || status=$?
        [ "$status" -eq 1 ]
        grep -qx "$name: stdin: starts as $format data does, which gzlzss does not read" stderr
        ends_with 0 "$GZLZSS" -dq f.x
        stderr_is
    done <<'END'
xz \375\067zXZ\000\000\004\346\326\264\106
zstd \050\265\057\375\044\000\001\000
bzip2 BZh91AY&SY
lz4 \004\042\115\030\144\100
lzip LZIP\001\014
7z 7z\274\257\047\034\000\004
END
    # By gzip's name, the messages are gzip's; and what gzlzss reads gets no such message.
    ln -s "$GZLZSS" gzip
    ends_with 2 ./gzip -d f.x
    stderr_is "gzip: f.x: unknown suffix -- ignored"
    "$GZLZSS" -c a >f.x
    ends_with 2 "$GZLZSS" -d f.x
    stderr_is "$name: f.x: unknown suffix -- ignored"
    echo plain >f.gz
    ends_with 1 "$GZLZSS" -d f.gz
    ! grep 'starts as' stderr || fail "plain text is no format"
}

@test "--exclude-compressed: other files, short files, standard input, and -d" {
    local bytes
    for bytes in '' '\037' 'P' 'RIFF....WAVE' 'ID3,x' 'LZIP is' 'BZh' 'BZh91AY&S' '%%PDF-1.5'; do
        # shellcheck disable=SC2059 # printf converts the escapes in it.
        printf "$bytes" >f
        "$GZLZSS" --exclude-compressed f
        absent f
        rm f.gz
    done
    gzip -c a >f
    "$GZLZSS" --exclude-compressed <f | gzip -dc | cmp - f
    cp f f.gz
    "$GZLZSS" -df --exclude-compressed f.gz
    cmp f a
    gzip -c a >f
    # As in zstd, the output of -c does not contain a file that is left alone.
    "$GZLZSS" -c --exclude-compressed f b | gzip -dc | cmp - b
    mkdir d
    mv f a d
    "$GZLZSS" -r --exclude-compressed d
    [ -e d/f ] && [ -e d/a.gz ]
}

@test "--files-from: a name that does not end takes no more memory than a name can have" {
    ends_with 1 "$GZLZSS" --files-from=/dev/zero
    stderr_is "$NAME: /dev/zero: File name too long"
    head -c 3000000 /dev/zero | tr '\0' x >list
    ends_with 1 "$GZLZSS" --null --files-from=list
    stderr_is "$NAME: list: File name too long"
}
