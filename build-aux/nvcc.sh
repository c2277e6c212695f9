#!/bin/sh
# nvcc.sh - nvcc as libtool calls a compiler
#
#   build-aux/nvcc.sh 'NVCC OPTION...' ARGUMENT...
#
# What libtool adds to the arguments for position-independent code is for the host's compiler.  It
# takes away any -Xcompiler, but for those within the first argument.
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
# The first argument is words.
# shellcheck disable=SC2086
exec $compile "$@"
