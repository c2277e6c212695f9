# GZ_PATHS
# --------
# Ends configure with an error if a path has a character that the scripts of Automake and libtool do
# not quote.  Call it before AM_INIT_AUTOMAKE, which also tests two of these paths, but with a less
# helpful message.  The target can-install in Makefile.am tests directories that the user gives to
# make.
AC_DEFUN([GZ_PATHS],
[AC_MSG_CHECKING([whether Automake and libtool can work with all paths])
gz_lf='
'
# gz_path_fits PATH WHAT
gz_path_fits ()
{
  case @S|@1 in
  *[[\\\"\'\`\#\@S|@\&\;\(\)\<\>\|\{\}\*\?\ \	$gz_lf]]*)
    AC_MSG_RESULT([no])
    AC_MSG_ERROR([@S|@2
has a blank or a character that is special to a shell, and the scripts of Automake and libtool do not quote it.
Choose another path, for the sources, for the directory to build in, or to install in]) ;;
  esac
}
gz_path_fits "$srcdir" "the path of the sources, $srcdir,"
gz_path_fits "`pwd`" "the path of this directory, `pwd`,"
for gz_dir in "$prefix" "$exec_prefix" "$bindir" "$libdir"; do
  gz_path_fits "`AS_ECHO(["$gz_dir"]) | sed 's/^[[@S|@]]{[[a-z_]]*}//'`" "the path to install in, $gz_dir,"
done
AC_MSG_RESULT([yes])
])
