# GZ_LOCAL_NAMES
# --------------
# Tests whether build-aux/archive.sh can make names local.  The script fails, for example, if there
# is no objcopy, or if objects contain no machine code before they are linked (-flto).  Sets
# gz_cv_local_names to yes, or to no and the reason.  Sets ARCHIVE_OBJCOPY for archive.sh: to
# objcopy's command, or to nothing if names cannot be made local.
#
# tests/library.bats tries the same tools in its own way, and fails if they work but this test says
# no.
AC_DEFUN([GZ_LOCAL_NAMES],
[AC_CHECK_TOOL([OBJCOPY], [objcopy])
AC_CACHE_CHECK([whether names in an archive can be made local], [gz_cv_local_names],
  [gz_cv_local_names="no, the objects of an archive cannot be made"
   gz_save_LIBS=$LIBS
   LIBS="conftest.lib/conftest.a $LIBS"
   mkdir conftest.lib
   echo 'V { global: gz_outer; local: *; };' | tr ' ' '\n' >conftest.map
   AC_COMPILE_IFELSE([AC_LANG_SOURCE([[int gz_inner(void); int gz_inner(void) { return 1; }]])],
     [mv conftest.$ac_objext conftest.lib/inner.$ac_objext])
   AC_COMPILE_IFELSE([AC_LANG_SOURCE([[int gz_inner(void); int gz_outer(void);
                                       int gz_outer(void) { return gz_inner(); }]])],
     [mv conftest.$ac_objext conftest.lib/outer.$ac_objext])
   AS_IF([test -z "$OBJCOPY"], [gz_cv_local_names="no, there is no objcopy"],
     [{ $AR cr conftest.lib/conftest.a conftest.lib/inner.$ac_objext conftest.lib/outer.$ac_objext &&
        LD=$LD OBJCOPY=$OBJCOPY AR=$AR RANLIB=$RANLIB \
            $SHELL "$srcdir/build-aux/archive.sh" conftest.lib/conftest.a conftest.map; } \
      2>conftest.err],
     [AC_LINK_IFELSE([AC_LANG_PROGRAM([[int gz_outer(void); extern int gz_inner; int gz_inner = 1;]],
                                      [[return gz_outer() + gz_inner;]])],
        [gz_cv_local_names=yes],
        [gz_cv_local_names="no, a program cannot be linked with the result (-flto?)"])],
     [gz_error=`sed 1q conftest.err`
      gz_cv_local_names="no, ${gz_error:-a tool fails}"
      cat conftest.err >&AS_MESSAGE_LOG_FD])
   rm -rf conftest.lib conftest.map conftest.err
   LIBS=$gz_save_LIBS])
ARCHIVE_OBJCOPY=
AS_IF([test "$gz_cv_local_names" = yes], [ARCHIVE_OBJCOPY=$OBJCOPY])
AC_SUBST([ARCHIVE_OBJCOPY])
])
