# SPDX-License-Identifier: MIT
# REEL_INSTALLED_PATHS
# Substitutes paths of installed files, for installed files that refer to them. INSTALLED_LIBDIR and
# INSTALLED_INCLUDEDIR are paths without variables. PC_PREFIX, PC_LIBDIR and PC_INCLUDEDIR are for files of pkg-config:
# relative to the file, so that the installed tree can be moved or copied. Below /usr they are absolute: pkg-config leaves
# out the flags of system folders, which it recognises only by these names.
AC_DEFUN([REEL_INSTALLED_PATHS],
[reel_prefix=$prefix reel_exec_prefix=$exec_prefix
test "x$prefix" != xNONE || prefix=$ac_default_prefix
test "x$exec_prefix" != xNONE || exec_prefix=$prefix
for reel_directory in libdir includedir pkgconfigdir; do
  eval "reel_path=\$$reel_directory"
  while :; do
    AS_CASE([$reel_path], [*\$[]*], [eval "reel_path=\"$reel_path\""], [break])
  done
  reel_below=$reel_path
  AS_CASE([$reel_path], ["$prefix"/*],
    [reel_below='${prefix}'`AS_ECHO(["$reel_path"]) | sed "s|^$prefix||"`])
  AS_CASE([$reel_directory],
    [libdir], [INSTALLED_LIBDIR=$reel_path PC_LIBDIR=$reel_below],
    [includedir], [INSTALLED_INCLUDEDIR=$reel_path PC_INCLUDEDIR=$reel_below])
done
PC_PREFIX=$prefix
AS_CASE([$prefix:$reel_below], [/usr:*|/:*], [],
  [*:\$[]*], [PC_PREFIX=`AS_ECHO(["$reel_below"]) | sed 's|/[[^/]]*|/..|g; s|prefix|pcfiledir|'`])
prefix=$reel_prefix exec_prefix=$reel_exec_prefix
AC_SUBST([INSTALLED_LIBDIR])
AC_SUBST([INSTALLED_INCLUDEDIR])
AC_SUBST([PC_PREFIX])
AC_SUBST([PC_LIBDIR])
AC_SUBST([PC_INCLUDEDIR])])
