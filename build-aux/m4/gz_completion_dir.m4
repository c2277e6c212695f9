# GZ_COMPLETION_DIR(SHELL, PKG-CONFIG-MODULE, DEFAULT)
# ----------------------------------------------------
# Adds --with-SHELL-completion-dir and sets SHELLcompletiondir.  With "no", the value is empty.
# With a directory, it is that directory.  Without the option, it is the pkg-config module's
# completionsdir if that is below our prefix, otherwise DEFAULT.
AC_DEFUN([GZ_COMPLETION_DIR],
[AC_ARG_WITH([$1-completion-dir],
  [AS_HELP_STRING([--with-$1-completion-dir=DIR],
                  [install completions for $1 in DIR, or nowhere if it is "no"])],
  [], [with_$1_completion_dir=yes])
AS_CASE([$with_$1_completion_dir],
  [no], [$1completiondir=],
  [yes],
  [$1completiondir=$3
   m4_ifnblank([$2],
     [AS_CASE([$prefix], [NONE], [gz_prefix=$ac_default_prefix], [gz_prefix=$prefix])
      gz_dir=`$PKG_CONFIG --variable=completionsdir $2 2>/dev/null`
      AS_CASE([$gz_dir], ["$gz_prefix"/*], [$1completiondir=$gz_dir])])],
  [$1completiondir=$with_$1_completion_dir])
AC_SUBST([$1completiondir])dnl
])
