# GZ_CHECK_CFLAG(FLAG)
# --------------------
# Appends FLAG to GZ_CFLAGS if the C compiler accepts it without a warning.  The test has -Werror,
# because clang only warns of unknown options.
AC_DEFUN([GZ_CHECK_CFLAG],
[AS_VAR_PUSHDEF([gz_var], [gz_cv_cflag_$1])dnl
AC_CACHE_CHECK([whether $CC accepts $1], [gz_var],
  [gz_save_CFLAGS=$CFLAGS
   CFLAGS="$CFLAGS -Werror $1"
   AC_COMPILE_IFELSE([AC_LANG_SOURCE([[int main(void) { return 0; }]])],
                     [AS_VAR_SET([gz_var], [yes])], [AS_VAR_SET([gz_var], [no])])
   CFLAGS=$gz_save_CFLAGS])
AS_VAR_IF([gz_var], [yes], [GZ_CFLAGS="$GZ_CFLAGS $1"])
AS_VAR_POPDEF([gz_var])dnl
])
