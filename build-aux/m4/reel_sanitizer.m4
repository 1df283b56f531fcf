# SPDX-License-Identifier: MIT
# REEL_ENABLE_SANITIZER
# Adds --enable-sanitizer=LIST, with the LIST of the compiler's -fsanitize=. $enable_sanitizer is empty if off.
# NO_THREAD_SANITIZER_CFLAGS are for files that only call a library that ThreadSanitizer cannot see into. FAST_CFLAGS are
# for loops whose time is measured. They are empty with a sanitizer: times are not measured then, and gcc would take 20
# seconds to optimise one instrumented file.
AC_DEFUN([REEL_ENABLE_SANITIZER],
[AC_ARG_ENABLE([sanitizer],
  [AS_HELP_STRING([--enable-sanitizer=LIST], [instrument everything: "address,undefined" or "thread"])],
  [AS_CASE([$enableval],
    [no], [enable_sanitizer=],
    [yes], [AC_MSG_ERROR([--enable-sanitizer needs a list, as in --enable-sanitizer=address,undefined])])])
AC_SUBST([NO_THREAD_SANITIZER_CFLAGS])
AC_SUBST([FAST_CFLAGS], [-O3])
AS_CASE([,$enable_sanitizer,], [*,thread,*], [NO_THREAD_SANITIZER_CFLAGS=-fno-sanitize=thread])
AS_IF([test -n "$enable_sanitizer"],
  [FAST_CFLAGS=
   AS_VAR_APPEND([CFLAGS],
     [" -fsanitize=$enable_sanitizer -fno-sanitize-recover=all -fno-omit-frame-pointer"])
   AC_MSG_CHECKING([whether $CC links with -fsanitize=$enable_sanitizer])
   AC_LINK_IFELSE([AC_LANG_PROGRAM], [AC_MSG_RESULT([yes])],
     [AC_MSG_RESULT([no])
      AC_MSG_ERROR([the runtime of -fsanitize=$enable_sanitizer is missing (Debian, clang 14: libclang-rt-14-dev)])])])
])
