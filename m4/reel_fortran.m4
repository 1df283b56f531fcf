# REEL_CHECK_FORTRAN
# Conditional FORTRAN: a Fortran compiler whose programs can call C with descriptors of arrays
# (Fortran 2018). FORTRAN_BINDING_HEADER is where C finds them, FORTRAN_FCFLAGS are flags for the module.
AC_DEFUN([REEL_CHECK_FORTRAN],
[AC_ARG_ENABLE([fortran], [AS_HELP_STRING([--disable-fortran], [do not build the Fortran module])])
AC_SUBST([FORTRAN_FCFLAGS])
AS_IF([test "x$enable_fortran" = xno], [reel_fortran="no (as asked for)"],
  [test -z "$FC"], [reel_fortran="no (no Fortran compiler)"],
  [AS_IF([test -n "$enable_sanitizer"], [AS_VAR_APPEND([FCFLAGS], [" -fsanitize=$enable_sanitizer"])])
   REEL_FORTRAN_CALLS_C
   AS_IF([test "$reel_cv_fortran_header" != none],
     [reel_fortran="yes ($FC)"
      AC_DEFINE_UNQUOTED([FORTRAN_BINDING_HEADER], [$reel_cv_fortran_header],
        [The ISO_Fortran_binding.h of the Fortran compiler.])],
     [reel_fortran="no (programs of $FC and $CC with descriptors of arrays do not work)"])])
AS_CASE([$enable_fortran/$reel_fortran], [yes/no*], [AC_MSG_ERROR([--enable-fortran: $reel_fortran])])
AS_CASE([$reel_fortran],
  [yes*],
  [AC_LANG_PUSH([Fortran])
   AC_FC_MODULE_FLAG([], [:])
   AC_FC_MODULE_OUTPUT_FLAG([], [:])
   AC_FC_MODULE_EXTENSION
   REEL_FORTRAN_FLAGS([-std=f2018 -Wall -Wextra -pedantic])
   AS_IF([test "x$enable_werror" = xyes], [REEL_FORTRAN_FLAGS([-Werror])])
   AC_LANG_POP([Fortran])])
AM_CONDITIONAL([FORTRAN], [test "$reel_fortran" = "yes ($FC)"])])

# REEL_FORTRAN_FLAGS(FLAGS)
# Add those of FLAGS that the compiler takes to FORTRAN_FCFLAGS.
AC_DEFUN([REEL_FORTRAN_FLAGS],
[reel_saved_fcflags=$FCFLAGS
for reel_flag in $1; do
  FCFLAGS="$reel_saved_fcflags $reel_flag"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM], [AS_VAR_APPEND([FORTRAN_FCFLAGS], [" $reel_flag"])])
done
FCFLAGS=$reel_saved_fcflags])

# REEL_FORTRAN_CALLS_C
# The header belongs to the Fortran compiler: that of gfortran is among gcc's own, where other C
# compilers do not look, and where they should find nothing else. What is linked is run, unless it
# is for another machine.
AC_DEFUN([REEL_FORTRAN_CALLS_C],
[AC_CACHE_CHECK([for descriptors of arrays that $FC and $CC agree on], [reel_cv_fortran_header],
  [AS_ECHO(["#include HEADER
int second(const CFI_cdesc_t *a);
int second(const CFI_cdesc_t *a)
{
  return a->rank == 1 ? *(int *)((char *)a->base_addr + a->dim@<:@0@:>@.sm) : 0;
}"]) >conftest-c.c
   AS_ECHO(["program main
  use, intrinsic :: iso_c_binding
  interface
    integer(c_int) function second(a) bind(C)
      import
      type(*), intent(in) :: a(..)
    end function
  end interface
  integer(c_int) :: a(5) = @<:@1, 2, 3, 4, 5@:>@
  if (second(a(5:1:-2)) /= 3) error stop
end program"]) >conftest-f.f90
   reel_cv_fortran_header=none
   reel_header=`$FC -print-file-name=include/ISO_Fortran_binding.h 2>/dev/null`
   for reel_header in '"ISO_Fortran_binding.h"' "\"$reel_header\""; do
     AS_IF([$CC $CPPFLAGS -DHEADER="$reel_header" $CFLAGS -c -o conftest-c.$ac_objext conftest-c.c &&
            $FC $FCFLAGS $LDFLAGS -o conftest$ac_exeext conftest-f.f90 conftest-c.$ac_objext &&
            { test "$cross_compiling" = yes || ./conftest$ac_exeext; }],
       [reel_cv_fortran_header=$reel_header; break])
   done >&AS_MESSAGE_LOG_FD 2>&1
   rm -f conftest*])])
