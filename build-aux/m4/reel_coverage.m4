# SPDX-License-Identifier: MIT
# REEL_ENABLE_COVERAGE
# --enable-coverage counts by gcov, --enable-coverage=mcdc by clang's counters. Changes CFLAGS, because all files have to
# be instrumented.
AC_DEFUN([REEL_ENABLE_COVERAGE],
[AC_ARG_ENABLE([coverage],
  [AS_HELP_STRING([--enable-coverage[[=KIND]]], [count lines and branches: "gcov", or "mcdc" (clang 18 and later)])],
  [], [enable_coverage=no])
AS_CASE([$enable_coverage],
  [no], [],
  [yes | gcov], [reel_coverage_flags='--coverage -fprofile-update=atomic'],
  [mcdc], [reel_coverage_flags='-fprofile-instr-generate -fcoverage-mapping -fcoverage-mcdc'],
  [AC_MSG_ERROR([--enable-coverage=$enable_coverage: "gcov" and "mcdc" are known])])
AS_IF([test "$enable_coverage" != no],
  [AS_VAR_APPEND([CFLAGS], [" $reel_coverage_flags"])
   AC_MSG_CHECKING([whether $CC links with $reel_coverage_flags])
   AC_LINK_IFELSE([AC_LANG_PROGRAM], [AC_MSG_RESULT([yes])],
     [AC_MSG_RESULT([no])
      AC_MSG_ERROR([$CC cannot count coverage that way])])
   AC_DEFINE([REEL_COVERAGE], [1], [A child of fork() writes what it has counted.])])])
