#!/bin/sh
# nvcc.sh - nvcc as libtool calls a compiler
#
#   build-aux/nvcc.sh NVCC ARG...
#
# What libtool adds for position-independent code is for the host's compiler.
set -eu

nvcc=$1
shift
for argument; do
    shift
    case $argument in
    -fPIC | -fPIE | -DPIC) set -- "$@" -Xcompiler "$argument" ;;
    *) set -- "$@" "$argument" ;;
    esac
done
exec "$nvcc" "$@"
