# GZ_MPI
# ------
# With --with-mpi, looks for MPI and decides whether to build gzlzss-mpi.
#
# MPI's compiler is a script that calls a C compiler with more options.  With -show, the scripts of
# Open MPI and MPICH print these options.  This macro takes the options, and uses them with the C
# compiler that compiles all other files.  Sets and substitutes
#
#   MPICC              MPI's compiler
#   MPIRUN             the program that starts ranks, for the tests
#   MPI_CPPFLAGS       the options for MPI's headers
#   MPI_LIBS           the options for MPI's libraries
#
# Also sets gz_mpi (yes or no) and gz_mpi_text for the summary.  Defines the Automake conditional
# HAVE_MPI.
AC_DEFUN([GZ_MPI],
[AC_ARG_WITH([mpi],
  [AS_HELP_STRING([--with-mpi@<:@=MPICC@:>@],
     [also build gzlzss-mpi, with MPI's compiler MPICC @<:@default: no; without a name, mpicc@:>@])],
  [], [with_mpi=no])
gz_mpi=no
gz_mpi_text="no (--with-mpi)"
MPIRUN=
MPI_CPPFLAGS=
MPI_LIBS=
AS_IF([test "$with_mpi" != no],
  [AS_CASE([$with_mpi], [yes], [gz_mpicc=${MPICC-mpicc}], [gz_mpicc=$with_mpi])
   AC_PATH_PROG([MPICC], [$gz_mpicc])
   AS_IF([test -z "$MPICC"],
     [AC_MSG_ERROR([--with-mpi was given, and there is no $gz_mpicc (Debian's packages are libopenmpi-dev and libmpich-dev)])])
   AC_MSG_CHECKING([how to link with MPI])
   for gz_word in `"$MPICC" -show 2>&AS_MESSAGE_LOG_FD`; do
     AS_CASE([$gz_word],
       [-I* | -D*], [AS_VAR_APPEND([MPI_CPPFLAGS], [" $gz_word"])],
       [-L* | -l* | -Wl,-rpath* | -Wl,--enable-new-dtags | -pthread], [AS_VAR_APPEND([MPI_LIBS], [" $gz_word"])])
   done
   gz_save_CPPFLAGS=$CPPFLAGS
   gz_save_LIBS=$LIBS
   CPPFLAGS="$CPPFLAGS$MPI_CPPFLAGS"
   LIBS="$MPI_LIBS $LIBS"
   AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]],
                    [[MPI_Request r;
                      MPI_Ibarrier(MPI_COMM_WORLD, &r);
                      MPI_File_iwrite_at(MPI_FILE_NULL, 0, 0, 0, MPI_BYTE, &r);]])],
                  [gz_mpi=yes])
   CPPFLAGS=$gz_save_CPPFLAGS
   LIBS=$gz_save_LIBS
   AC_MSG_RESULT([$gz_mpi])
   AS_IF([test "$gz_mpi" = no],
     [AC_MSG_ERROR([--with-mpi was given, and a program of MPI 3 cannot be linked with what $MPICC -show prints (config.log says why)])])
   # mpirun is in the same directory as mpicc.  If mpicc has a suffix, as in mpicc.mpich, mpirun has
   # the same suffix.
   gz_mpirun=`AS_ECHO(["$MPICC"]) | sed 's,mpicc\([[^/]]*\)$,mpirun\1,'`
   AS_IF([test -x "$gz_mpirun" && test "$gz_mpirun" != "$MPICC"], [MPIRUN=$gz_mpirun])
   gz_mpi_text="yes ($MPICC)"])
AC_SUBST([MPIRUN])
AC_SUBST([MPI_CPPFLAGS])
AC_SUBST([MPI_LIBS])
AM_CONDITIONAL([HAVE_MPI], [test "$gz_mpi" = yes])
])
