#!/bin/sh
# links.sh - other names for what was installed, as symbolic links
#
#   links.sh install TARGET DIR NAME...     makes DIR/NAME a link to TARGET, for every NAME
#   links.sh uninstall TARGET DIR NAME...   removes those links
#
# TARGET and DIR are absolute, and where things are going to be; DESTDIR, from the environment, is in
# front of them while they are installed.  DIR may hold names that are not ours, another gzip above
# all, so nothing but a link to a file of TARGET's name is ever replaced or removed.
set -eu

action=$1
target=$(printf '%s\n' "$2" | tr -s /)
dir=$(printf '%s/\n' "$3" | tr -s /)
dir=${dir%/}
shift 3

# What the links say: a path from DIR to TARGET, which stays right when both are moved.  If they share
# no part of their paths, one of them may be on other ground (/opt is often a link), so the link says
# all of it, as Debian's policy has it too.
link_text() {
    from=$dir
    up=
    first=${dir#/}
    first=/${first%%/*}
    case $target in
    "$first"/*) ;;
    *)
        echo "$target"
        return
        ;;
    esac
    while :; do
        case $target in
        "$from"/*) break ;;
        esac
        from=${from%/*}
        up=../$up
    done
    echo "$up${target#"$from"/}"
}

# ours FILE: it is a link to a file of TARGET's name.
ours() {
    [ -L "$1" ] || return 1
    to=$(readlink "$1")
    [ "${to##*/}" = "${target##*/}" ]
}

text=$(link_text)
for name; do
    file=${DESTDIR-}$dir/$name
    if [ "$action" = uninstall ]; then
        if ours "$file"; then
            echo " rm -f '$file'"
            rm -f "$file"
        fi
        continue
    fi
    if ours "$file"; then
        rm -f "$file"
    elif [ -e "$file" ] || [ -L "$file" ]; then
        echo "$file is there already, and not a link to ${target##*/}: it stays" >&2
        exit 1
    fi
    mkdir -p "${DESTDIR-}$dir"
    echo " ln -s '$text' '$file'"
    ln -s "$text" "$file"
done
