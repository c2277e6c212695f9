# GZ_COMPLETION_DIR(SHELL, PKG-CONFIG-MODULE, DEFAULT)
# ----------------------------------------------------
# Adds the option --with-SHELL-completion-dir and sets SHELLcompletiondir.  If the option's value is
# "no", sets it to nothing; if the value is a directory, sets it to that directory.  Without the
# option, sets it to the completionsdir of the pkg-config module if that directory is below our
# prefix, and otherwise to DEFAULT.
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
