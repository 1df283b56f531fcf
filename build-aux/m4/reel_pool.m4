# SPDX-License-Identifier: MIT
# REEL_WITH_POOL
# Chooses the lock-free list of the pool: Concurrency Kit's, or Reel's own in C11 atomics.
# Sets REEL_POOL_CK, CK_CFLAGS, the conditional POOL_CK, $reel_pool and $reel_pool_reason.
AC_DEFUN([REEL_WITH_POOL],
[AC_REQUIRE([REEL_ENABLE_SANITIZER])
AC_ARG_WITH([pool],
  [AS_HELP_STRING([--with-pool=ck|c11|auto],
    [lock-free list of the pool: Concurrency Kit, C11 atomics, or the first of them that works @<:@auto@:>@])],
  [reel_pool_reason="as asked for"], [with_pool=auto])
AS_CASE([$with_pool/$enable_sanitizer],
  [ck/* | auto/ | auto/address* | auto/undefined*],
    [_REEL_POOL_CK([reel_pool=ck],
      [AS_IF([test $with_pool = ck],
        [AC_MSG_ERROR([--with-pool=ck: $reel_ck_fault.
Install Concurrency Kit >= 0.7.0 (Debian: libck-dev) or configure with --with-pool=c11.])])
       reel_pool=c11 reel_pool_reason=$reel_ck_fault])
     AS_IF([test $with_pool/$reel_pool = auto/ck], [reel_pool_reason="ck $reel_ck_version found"])],
  [c11/*], [reel_pool=c11],
  [auto/*],
    dnl ThreadSanitizer does not see the atomics that Concurrency Kit writes in assembly.
    [reel_pool=c11 reel_pool_reason="for -fsanitize=$enable_sanitizer"],
  [AC_MSG_ERROR([--with-pool takes ck, c11 or auto, not "$with_pool"])])
AS_IF([test $reel_pool = ck], [reel_pool_ck=yes], [reel_pool_ck=no CK_CFLAGS=])
REEL_DEFINE([REEL_POOL_CK], [reel_pool_ck], [The pool's lock-free list is Concurrency Kit's.])
AM_CONDITIONAL([POOL_CK], [test $reel_pool = ck])])

# _REEL_POOL_CK(IF-USABLE, IF-NOT)
# Asks pkg-config for ck, because the flags in ck.pc choose the assembly. Only headers are used, so -lck is not linked.
AC_DEFUN([_REEL_POOL_CK],
[reel_ck_fault=
PKG_CHECK_MODULES([CK], [ck >= 0.7.0],
  [reel_ck_version=`$PKG_CONFIG --modversion ck`
   AC_MSG_CHECKING([whether ck_stack pops for many consumers])
   reel_saved_cppflags=$CPPFLAGS
   CPPFLAGS="$CPPFLAGS $CK_CFLAGS"
   AC_COMPILE_IFELSE([AC_LANG_SOURCE([[#include <ck_stack.h>
#ifndef CK_F_STACK_TRYPOP_MPMC
#error "no double-width compare and swap"
#endif]])],
     [AC_MSG_RESULT([yes])],
     [AC_MSG_RESULT([no])
      reel_ck_fault="ck $reel_ck_version has no ck_stack_trypop_mpmc on $host_cpu"])
   CPPFLAGS=$reel_saved_cppflags],
  [reel_ck_fault="no ck >= 0.7.0 found by pkg-config"])
AS_IF([test -z "$reel_ck_fault"], [$1], [$2])])
