# GZ_HARDENING
# ------------
# Chooses flags that make faults in the code harder to exploit.  Adds flags for the compiler to
# GZ_CFLAGS, and sets and substitutes
#
#   GZ_LDFLAGS        for everything that is linked
#   GZ_PIE_LDFLAGS    for programs: they are loaded at random addresses
#   GZ_NVCCFLAGS      for nvcc, whose C++ compiler need not be the C compiler
#
# Each flag is tried first.  A flag that the user's CFLAGS or LDFLAGS contradict has no effect,
# because these come last on a command line.  Also sets gz_hardening_text for the summary.
AC_DEFUN([GZ_HARDENING],
[AC_ARG_ENABLE([hardening],
  [AS_HELP_STRING([--disable-hardening],
     [leave out the flags that make faults in the code harder to exploit])],
  [], [enable_hardening=yes])
GZ_LDFLAGS=
GZ_PIE_LDFLAGS=
GZ_NVCCFLAGS=
gz_hardening=
AS_IF([test "$enable_hardening" = no], [gz_hardening_text="no (--disable-hardening)"],
  [_GZ_HARDENED_CODE
   _GZ_FORTIFY
   _GZ_HARDENED_LINK
   _GZ_PIE
   _GZ_HARDENED_NVCC
   gz_hardening_text=${gz_hardening:-"no, the tools know none of the flags"}])
AC_SUBST([GZ_LDFLAGS])
AC_SUBST([GZ_PIE_LDFLAGS])
AC_SUBST([GZ_NVCCFLAGS])
])

# _GZ_TRY_HARDENING(NAME, CFLAGS, LDFLAGS, IF-ACCEPTED)
# -----------------------------------------------------
# Compiles and links a function with an array, because some systems lack the functions that the
# flags make it call.  Compiling comes first, by itself, since clang may not say that it ignores a
# flag if it also links.  The user's flags come last, as in the Makefile.
m4_define([_GZ_HARDENED_PROGRAM],
[AC_LANG_PROGRAM([[#include <stdio.h>]],
                 [[char a[64];
                   return fgets(a, sizeof(a), stdin) != NULL && a[9];]])])

m4_define([_GZ_TRY_HARDENING],
[AS_VAR_PUSHDEF([gz_var], [gz_cv_hardening_$1])dnl
AC_CACHE_CHECK([whether to harden with $1], [gz_var],
  [gz_save_CFLAGS=$CFLAGS
   gz_save_LDFLAGS=$LDFLAGS
   CFLAGS="-Werror $2 $CFLAGS"
   LDFLAGS="$3 $LDFLAGS"
   AS_VAR_SET([gz_var], [no])
   AC_COMPILE_IFELSE([_GZ_HARDENED_PROGRAM],
     [AC_LINK_IFELSE([_GZ_HARDENED_PROGRAM], [AS_VAR_SET([gz_var], [yes])])])
   CFLAGS=$gz_save_CFLAGS
   LDFLAGS=$gz_save_LDFLAGS])
AS_VAR_IF([gz_var], [yes], [AS_VAR_APPEND([gz_hardening], ["${gz_hardening:+ }$1"])
$4])
AS_VAR_POPDEF([gz_var])dnl
])

# The first flag detects that a function's return address was overwritten.  The second keeps a large
# frame from jumping over the page below the stack.  The others let a processor refuse jumps to
# other places than those that the compiler marks: on x86-64 and on ARM.
m4_define([_GZ_HARDENED_CODE],
[gz_hardened_code=
m4_foreach_w([gz_flag], [-fstack-protector-strong -fstack-clash-protection -fcf-protection
                         -mbranch-protection=standard],
  [_GZ_TRY_HARDENING(gz_flag, gz_flag, [],
     [AS_VAR_APPEND([GZ_CFLAGS], [" gz_flag"])
      AS_VAR_APPEND([gz_hardened_code], ["${gz_hardened_code:+,}gz_flag"])])])
])

# _FORTIFY_SOURCE has the C library check sizes: at level 3 also those that are known only at run
# time, for which it needs gcc 12 or clang 9.  It does nothing without optimization, and hides calls
# from sanitizers.  The user, or the compiler by itself, may have chosen a level.
m4_define([_GZ_FORTIFY],
[gz_fortify=no
AS_CASE([" $CPPFLAGS $CFLAGS "], [*" -fsanitize="* | *"_FORTIFY_SOURCE"*], [],
  [AC_CACHE_CHECK([whether the compiler optimizes, and lacks _FORTIFY_SOURCE], [gz_cv_fortify],
     [AC_COMPILE_IFELSE([AC_LANG_SOURCE([[#if defined _FORTIFY_SOURCE || !defined __OPTIMIZE__
                                          #error
                                          #endif
                                          int x;]])],
                        [gz_cv_fortify=yes], [gz_cv_fortify=no])])
   AS_IF([test "$gz_cv_fortify" = yes],
     [_GZ_TRY_HARDENING([-D_FORTIFY_SOURCE=3], [-D_FORTIFY_SOURCE=3], [], [gz_fortify=3])
      AS_IF([test "$gz_fortify" = no],
        [_GZ_TRY_HARDENING([-D_FORTIFY_SOURCE=2], [-D_FORTIFY_SOURCE=2], [], [gz_fortify=2])])
      AS_IF([test "$gz_fortify" != no],
        [AS_VAR_APPEND([GZ_CFLAGS], [" -D_FORTIFY_SOURCE=$gz_fortify"])])])])
])

# The linker makes the tables of functions in other libraries read-only before main() starts, and
# the stack not executable even if an object does not ask for that.
m4_define([_GZ_HARDENED_LINK],
[m4_foreach_w([gz_flag], [relro now noexecstack],
  [_GZ_TRY_HARDENING([-z ]gz_flag, [], [-Wl,-z,gz_flag],
     [AS_VAR_APPEND([GZ_LDFLAGS], [" -Wl,-z,gz_flag"])])])
])

# A static program would also need another start-up file.
m4_define([_GZ_PIE],
[AS_CASE([" $CFLAGS $LDFLAGS "],
  [*" -static "* | *" --static "* | *" -no-pie "* | *" -fno-pie "* | *" -fno-PIE "*], [],
  [_GZ_TRY_HARDENING([-pie], [-fPIE], [-pie],
     [AS_VAR_APPEND([GZ_CFLAGS], [" -fPIE"])
      GZ_PIE_LDFLAGS=-pie])])
])

m4_define([_GZ_HARDENED_NVCC],
[AS_IF([test "$gz_cuda" = yes && test -n "$gz_hardened_code"],
  [AC_MSG_CHECKING([whether nvcc takes these flags, too])
   AS_ECHO(["int f(int *x) { int a[[64]]; for (int &i : a) i = *x++; return a[[*x]]; }"]) >conftest.cu
   AS_IF(["$NVCC" $NVCCFLAGS -std=c++17 -Xcompiler "$gz_hardened_code" \
            -c conftest.cu -o conftest.cuda.o >&AS_MESSAGE_LOG_FD 2>&1],
     [GZ_NVCCFLAGS="-Xcompiler $gz_hardened_code"
      AC_MSG_RESULT([yes])],
     [AC_MSG_RESULT([no])])
   rm -f conftest.cu conftest.cuda.o])
])
