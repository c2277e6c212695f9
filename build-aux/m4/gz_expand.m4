# GZ_EXPAND(VARIABLE)
# -------------------
# Sets gz_expanded to the directory in VARIABLE, with variables such as ${datadir} replaced.  Use it
# in messages only: make may still change these variables.
AC_DEFUN([GZ_EXPAND],
[gz_expanded=`
  case $prefix in NONE) prefix=$ac_default_prefix ;; esac
  case $exec_prefix in NONE) exec_prefix=$prefix ;; esac
  gz_dir=@S|@$1
  for gz_round in 1 2 3 4; do
    case $gz_dir in *'@S|@{'*) eval "gz_dir=\"$gz_dir\"" ;; esac
  done
  AS_ECHO(["$gz_dir"])`
])
