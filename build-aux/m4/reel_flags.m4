# SPDX-License-Identifier: MIT
# REEL_CHECK_CFLAGS(VARIABLE, FLAGS)
# Substitutes VARIABLE with the FLAGS that the compiler accepts. Tries them with -Werror, because clang only warns of
# unknown flags.
AC_DEFUN([REEL_CHECK_CFLAGS],
[AC_SUBST([$1])
reel_saved_cflags=$CFLAGS
for reel_flag in $2; do
  AS_VAR_PUSHDEF([reel_cv_flag], [reel_cv_cflag_$reel_flag])
  AC_CACHE_CHECK([whether $CC takes $reel_flag], [reel_cv_flag],
    [CFLAGS="$reel_saved_cflags -Werror $reel_flag"
     AC_COMPILE_IFELSE([AC_LANG_PROGRAM],
       [AS_VAR_SET([reel_cv_flag], [yes])], [AS_VAR_SET([reel_cv_flag], [no])])])
  AS_VAR_IF([reel_cv_flag], [yes], [AS_VAR_APPEND([$1], [" $reel_flag"])])
  AS_VAR_POPDEF([reel_cv_flag])
done
CFLAGS=$reel_saved_cflags])

# REEL_CHECK_VERSION_SCRIPT
# Conditional HAVE_VERSION_SCRIPT: the linker accepts a map of symbols.
AC_DEFUN([REEL_CHECK_VERSION_SCRIPT],
[AC_CACHE_CHECK([whether the linker takes a version script], [reel_cv_version_script],
  [reel_saved_ldflags=$LDFLAGS
   AS_ECHO(["REEL_TEST { global: main; local: *; };"]) >conftest.map
   LDFLAGS="$LDFLAGS -Wl,--version-script=conftest.map"
   AC_LINK_IFELSE([AC_LANG_PROGRAM],
     [reel_cv_version_script=yes], [reel_cv_version_script=no])
   LDFLAGS=$reel_saved_ldflags
   rm -f conftest.map])
AM_CONDITIONAL([HAVE_VERSION_SCRIPT], [test "$reel_cv_version_script" = yes])])

# REEL_CHECK_NO_UNDEFINED
# Substitutes NO_UNDEFINED_LDFLAGS, by which the linker refuses undefined symbols; libtool's -no-undefined does not ask it
# to. It is empty with a sanitizer, whose symbols come from the program.
AC_DEFUN([REEL_CHECK_NO_UNDEFINED],
[AC_REQUIRE([REEL_ENABLE_SANITIZER])
AC_SUBST([NO_UNDEFINED_LDFLAGS])
AS_CASE([$enable_sanitizer/$host_os],
  [/linux*], [NO_UNDEFINED_LDFLAGS=-Wl,-z,defs])])

# REEL_CHECK_NO_DELETE
# Substitutes NO_DELETE_LDFLAGS, which keep the library in memory after dlclose(): threads that end later call it.
AC_DEFUN([REEL_CHECK_NO_DELETE],
[AC_SUBST([NO_DELETE_LDFLAGS])
AS_CASE([$host_os], [linux*], [NO_DELETE_LDFLAGS=-Wl,-z,nodelete])])

# REEL_SEARCH_ATOMIC
# Adds the library of 64-bit atomics to LIBS, which some 32-bit machines need.
AC_DEFUN([REEL_SEARCH_ATOMIC],
[AC_CACHE_CHECK([for the library of 64-bit atomics], [reel_cv_atomic],
  [reel_saved_libs=$LIBS
   reel_cv_atomic=unknown
   for reel_library in none -latomic; do
     AS_IF([test $reel_library != none], [LIBS="$reel_saved_libs $reel_library"])
     AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <stdatomic.h>
       static _Atomic unsigned long long word;]],
       [[return (int)atomic_fetch_add(&word, 1);]])],
       [reel_cv_atomic=$reel_library; break])
   done
   LIBS=$reel_saved_libs])
AS_CASE([$reel_cv_atomic],
  [unknown], [AC_MSG_ERROR([this compiler has no 64-bit atomics])],
  [-latomic], [LIBS="$LIBS -latomic"])])

# REEL_SEARCH_DLADDR
# Macro HAVE_DLADDR: the system can name places in a program. Adds the library of dladdr() to LIBS if it has one.
AC_DEFUN([REEL_SEARCH_DLADDR],
[AC_SEARCH_LIBS([dladdr], [dl], [reel_dladdr=yes], [reel_dladdr=no])
AC_CHECK_HEADERS([elf.h link.h], [], [reel_dladdr=no])
REEL_DEFINE([HAVE_DLADDR], [reel_dladdr], [dladdr() is there.])])

# REEL_SEARCH_DLOPEN
# Macro HAVE_DLOPEN: libraries can be loaded at run time. Adds the library of dlopen() to LIBS if it has one.
AC_DEFUN([REEL_SEARCH_DLOPEN],
[AC_SEARCH_LIBS([dlopen], [dl], [reel_dlopen=yes], [reel_dlopen=no])
REEL_DEFINE([HAVE_DLOPEN], [reel_dlopen], [dlopen() is there.])])

# REEL_SWITCH(FEATURE, DEFAULT, MACRO, HELP, COMMENT)
# The help shows --enable-FEATURE, or --disable-FEATURE if DEFAULT is yes. MACRO is 1 or 0.
AC_DEFUN([REEL_SWITCH],
[AC_ARG_ENABLE([$1], [AS_HELP_STRING([m4_if([$2], [yes], [--disable], [--enable])-$1], [$4])],
  [], [enable_]m4_translit([$1], [-], [_])[=$2])
REEL_DEFINE([$3], [enable_]m4_translit([$1], [-], [_]), [$5])])

# REEL_DEFINE(MACRO, VARIABLE, COMMENT)
# MACRO is 1 if the shell variable VARIABLE is yes, else 0. -DMACRO=... of a test program overrides it.
AC_DEFUN([REEL_DEFINE],
[AH_VERBATIM([$1], [/* $3 */
#ifndef $1
# undef $1
#endif])
AS_IF([test "x$[]$2" = xyes], [AC_DEFINE([$1], [1])], [AC_DEFINE([$1], [0])])])
