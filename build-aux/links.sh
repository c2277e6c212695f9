#!/bin/sh
# links.sh - installs or removes symbolic links: other names for an installed file
#
#   links.sh install TARGET DIR NAME...     makes DIR/NAME a link to TARGET, for every NAME
#   links.sh uninstall TARGET DIR NAME...   removes those links
#
# TARGET and DIR are the final absolute paths.  During installation, TARGET and DIR lie below the
# directory DESTDIR, which comes from the environment.  DIR may contain other programs' files, such
# as another gzip.  So the script replaces and removes only links to a file with TARGET's name.
set -eu

action=$1
target=$(printf '%s\n' "$2" | tr -s /)
dir=$(printf '%s/\n' "$3" | tr -s /)
dir=${dir%/}
shift 3

# link_text prints the text of the links.  The text is the relative path from DIR to TARGET, so that
# the links still work if both are moved together.  But if the first components of the two paths
# differ, the text is TARGET's absolute path, because one of these components may itself be a link,
# as /opt often is.  Debian's policy demands this choice, too.
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

# ours FILE succeeds if FILE is a link to a file with TARGET's name.
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
