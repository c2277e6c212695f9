#!/bin/sh
# nvcc.sh - runs nvcc with a compiler's arguments from libtool
#
#   build-aux/nvcc.sh 'NVCC OPTION...' ARGUMENT...
#
# libtool's options for position-independent code are for the host's compiler, so this script puts
# -Xcompiler before them.  libtool removes each -Xcompiler outside the first argument.
set -eu

compile=$1
shift
for argument; do
    shift
    case $argument in
    -fPIC | -fPIE | -DPIC) set -- "$@" -Xcompiler "$argument" ;;
    *) set -- "$@" "$argument" ;;
    esac
done
# The shell has to split the first argument into words.
# shellcheck disable=SC2086
exec $compile "$@"
