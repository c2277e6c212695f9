#!/bin/sh
# nvcc.sh - runs nvcc with arguments that libtool made for a C compiler
#
#   build-aux/nvcc.sh 'NVCC OPTION...' ARGUMENT...
#
# libtool adds options for position-independent code, which nvcc must pass to the host's compiler.
# So this script puts -Xcompiler before each of them.  The Makefile cannot do this: libtool would
# remove each -Xcompiler outside the first argument.
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
