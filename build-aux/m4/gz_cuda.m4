# GZ_CUDA
# -------
# Looks for nvcc and decides whether to build the CUDA engine.
#
# If the toolkit is missing or does not work, there is an error with --with-cuda.  Without this
# option, the build is for the CPU only, and there is no warning.  Sets and substitutes
#
#   NVCC, NVCCFLAGS   the compiler, and the user's flags (default -O3)
#   CUDA_GENCODE      the -gencode options for CUDA_ARCHS
#   CUDA_LIBS         what the C compiler needs to link nvcc's objects
#
# Also sets gz_cuda (yes or no), gz_cuda_text, gz_cuda_sass and gz_cuda_ptx for the summary.
# Defines HAVE_CUDA in config.h and as an Automake conditional.
AC_DEFUN([GZ_CUDA],
[AC_ARG_WITH([cuda],
  [AS_HELP_STRING([--with-cuda@<:@=DIR@:>@],
     [build the GPU engine, with the CUDA Toolkit in DIR @<:@default: if nvcc is in PATH, $CUDA_HOME/bin or /usr/local/cuda/bin@:>@])],
  [], [with_cuda=auto])
AC_ARG_VAR([NVCC], [CUDA compiler])
AC_ARG_VAR([NVCCFLAGS], [CUDA compiler flags @<:@-O3@:>@])
AC_ARG_VAR([CUDA_ARCHS],
  [GPU architectures to compile for, as in "75 80 90"; PTX of the newest is added @<:@every one the toolkit knows from 75 on@:>@])
: ${NVCCFLAGS="-O3"}

gz_cuda=no
gz_cuda_why=
AS_IF([test "$with_cuda" != no],
  [AS_CASE(["$with_cuda"],
     [auto|yes], [gz_cuda_path=$PATH${CUDA_HOME:+$PATH_SEPARATOR$CUDA_HOME/bin}$PATH_SEPARATOR/usr/local/cuda/bin],
     [gz_cuda_path=$with_cuda/bin])
   AC_PATH_PROG([NVCC], [nvcc], [], [$gz_cuda_path])
   AS_IF([test -z "$NVCC"],
     [gz_cuda_why="nvcc was not found"],
     [_GZ_CUDA_VERSION
      _GZ_CUDA_ARCHS
      AS_IF([test -z "$gz_cuda_why"], [_GZ_CUDA_LIBS])])
   AS_IF([test -z "$gz_cuda_why"], [gz_cuda=yes],
         [test "$with_cuda" != auto],
         [AC_MSG_ERROR([--with-cuda was given, but $gz_cuda_why])],
         [test -n "$CUDA_ARCHS" && test -n "$NVCC"],
         [AC_MSG_ERROR([CUDA_ARCHS was given, but $gz_cuda_why])])],
  [gz_cuda_why="--without-cuda"])

AS_IF([test "$gz_cuda" = yes],
  [gz_cuda_text="yes, toolkit $gz_cuda_version"
   AC_DEFINE([HAVE_CUDA], [1], [Define to 1 if the CUDA engine is built.])],
  [gz_cuda_text="no ($gz_cuda_why), CPU only"
   CUDA_GENCODE=
   CUDA_LIBS=])
AC_SUBST([CUDA_GENCODE])
AC_SUBST([CUDA_LIBS])
AM_CONDITIONAL([HAVE_CUDA], [test "$gz_cuda" = yes])
])

# The toolkit's version, for the summary.
m4_define([_GZ_CUDA_VERSION],
[AC_MSG_CHECKING([the version of the CUDA Toolkit])
gz_cuda_version=`"$NVCC" --version 2>&AS_MESSAGE_LOG_FD | sed -n 's/^.*release \([[0-9.]]*\).*$/\1/p'`
: ${gz_cuda_version:=unknown}
AC_MSG_RESULT([$gz_cuda_version])
])

# Makes CUDA_GENCODE from CUDA_ARCHS.  If the user has not set CUDA_ARCHS, takes all architectures
# from sm_75 on that nvcc knows, except those with a letter, such as sm_90a.  Code for sm_90a runs
# only on one kind of GPU, and code for sm_90 runs there, too.
m4_define([_GZ_CUDA_ARCHS],
[AC_MSG_CHECKING([the GPU architectures to compile for])
gz_cuda_known=`"$NVCC" --list-gpu-code 2>&AS_MESSAGE_LOG_FD | sed -n 's/^sm_\([[0-9]]*\)$/\1/p' | sort -n`
AS_IF([test -n "$CUDA_ARCHS"],
  [gz_cuda_list=`AS_ECHO(["$CUDA_ARCHS"]) | tr ',;' '  '`],
  [gz_cuda_list=`AS_ECHO(["$gz_cuda_known"]) | $AWK '$[]1 >= 75'`])
gz_cuda_sass=
gz_cuda_ptx=
gz_cuda_newest=0
CUDA_GENCODE=
for gz_arch in $gz_cuda_list; do
  gz_number=`AS_ECHO(["$gz_arch"]) | sed -n 's/^\([[1-9][0-9][0-9]*]\)[[af]]\{0,1\}$/\1/p'`
  AS_IF([test -z "$gz_number"],
    [AC_MSG_RESULT([$gz_arch?])
     AC_MSG_ERROR([CUDA_ARCHS: "$gz_arch" is no architecture; write "90", or "75 80 90"])])
  AS_VAR_APPEND([CUDA_GENCODE], [" -gencode arch=compute_$gz_arch,code=sm_$gz_arch"])
  AS_VAR_APPEND([gz_cuda_sass], ["${gz_cuda_sass:+ }sm_$gz_arch"])
  AS_IF([test "$gz_number" -gt "$gz_cuda_newest"],
    [gz_cuda_newest=$gz_number
     gz_cuda_ptx=compute_$gz_arch])
done
AS_IF([test -z "$gz_cuda_sass"],
  [AC_MSG_RESULT([none])
   gz_cuda_why="$NVCC names no architecture from sm_75 up"],
  [AS_VAR_APPEND([CUDA_GENCODE], [" -gencode arch=$gz_cuda_ptx,code=$gz_cuda_ptx"])
   AC_MSG_RESULT([$gz_cuda_sass, and PTX of $gz_cuda_ptx])])
])

# Finds CUDA_LIBS by compiling a kernel with nvcc and linking it to a shared object with the C
# compiler, as the Makefile does.  nvcc names the toolkit's library directories; this macro also tries the usual
# places.
#
# If possible, the macro links the C++ library and libgcc's unwinder statically.  A static link adds
# only the parts that are used, and takes a millisecond less to load.
m4_define([_GZ_CUDA_LIBS],
[AC_MSG_CHECKING([how to link CUDA objects with $CC])
gz_cuda_top=`AS_DIRNAME(["$NVCC"])`/..
gz_cuda_dirs=
rm -f conftest.cu
AS_ECHO([["__global__ void kernel(int *x) { *x = 1; }
extern \"C\" int run(int *x) { kernel<<<1, 1>>>(x); return cudaGetLastError() != cudaSuccess; }"]]) >conftest.cu
gz_cuda_said=`"$NVCC" --dryrun conftest.cu 2>&1 | sed -n 's/^@%:@\$ LIBRARIES=//p' | tr -d '"'`
for gz_word in $gz_cuda_said; do
  AS_CASE([$gz_word], [-L*], [AS_VAR_APPEND([gz_cuda_dirs], [" ${gz_word@%:@-L}"])])
done
gz_cuda_L=
for gz_dir in $gz_cuda_dirs "$gz_cuda_top/lib64" "$gz_cuda_top/lib" \
              "$gz_cuda_top/targets/`uname -m`-linux/lib"; do
  AS_IF([test -f "$gz_dir/libcudart_static.a"],
    [gz_cuda_L="-L`cd "$gz_dir" && pwd` "
     break])
done

CUDA_LIBS=
AS_IF(["$NVCC" $NVCCFLAGS $CUDA_GENCODE -std=c++17 -Xcompiler -fPIC -c conftest.cu -o conftest.cuda.o >&AS_MESSAGE_LOG_FD 2>&1],
  [gz_save_LIBS=$LIBS
   gz_save_LDFLAGS=$LDFLAGS
   LDFLAGS="$LDFLAGS -shared"
   for gz_cxx in "-static-libgcc -l:libstdc++.a" "-lstdc++" ""; do
     gz_libs="$gz_cuda_L-lcudart_static -ldl -lrt -lpthread${gz_cxx:+ $gz_cxx}"
     LIBS="conftest.cuda.o $gz_libs $gz_save_LIBS"
     AC_LINK_IFELSE([AC_LANG_PROGRAM([[int run(int *x);]], [[return run((void *)0);]])],
                    [CUDA_LIBS=$gz_libs])
     test -n "$CUDA_LIBS" && break
   done
   LIBS=$gz_save_LIBS
   LDFLAGS=$gz_save_LDFLAGS
   AS_IF([test -n "$CUDA_LIBS"],
     [AC_MSG_RESULT([$CUDA_LIBS])],
     [AC_MSG_RESULT([it does not link])
      gz_cuda_why="$CC cannot link what nvcc compiles (config.log says why)"])],
  [AC_MSG_RESULT([nvcc does not compile])
   gz_cuda_why="$NVCC cannot compile a kernel (config.log says why)"])
rm -f conftest.cu conftest.cuda.o
])
