# SPDX-License-Identifier: MIT
# REEL_CHECK_FORTRAN
# Conditional FORTRAN: there is a Fortran compiler whose programs can call C with descriptors of arrays (Fortran 2018).
# FORTRAN_BINDING_HEADER is the header that declares them in C. FORTRAN_FCFLAGS are flags for the module.
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
   REEL_FORTRAN_FLAGS([-std=f2018 -Wall -Wextra -pedantic -ffree-line-length-none])
   AS_IF([test "x$enable_werror" = xyes], [REEL_FORTRAN_FLAGS([-Werror])])
   AC_LANG_POP([Fortran])])
AM_CONDITIONAL([FORTRAN], [test "$reel_fortran" = "yes ($FC)"])])

# REEL_CHECK_FORTRAN_MPI
# Conditional FORTRAN_MPI: there is a module mpi_f08 of the MPI that C uses. MPI_FCFLAGS and MPI_FCLIBS are the flags of
# mpifort. REEL_MPI_REQUEST_WORDS is the size of a request in words of 8 bytes.
AC_DEFUN([REEL_CHECK_FORTRAN_MPI],
[AC_REQUIRE([REEL_CHECK_FORTRAN])
AC_REQUIRE([REEL_WITH_MPI])
AC_SUBST([MPI_FCFLAGS])
AC_SUBST([MPI_FCLIBS])
AC_SUBST([REEL_MPI_REQUEST_WORDS])
AS_CASE([$with_mpi/$reel_fortran],
  [yes/yes*],
  [REEL_FIND_MPI_F08],
  [reel_fortran_mpi="no (it needs MPI and the Fortran module)"])
AM_CONDITIONAL([FORTRAN_MPI], [test "$reel_fortran_mpi" = yes])])

# REEL_FIND_MPI_F08
# Finds the mpifort of the MPI that C uses. A program passes a status from Fortran to C, since its size and members differ
# between MPIs. The program is linked, and run unless it is for another machine.
AC_DEFUN([REEL_FIND_MPI_F08],
[AC_MSG_CHECKING([for the module mpi_f08 of C's MPI])
reel_fortran_mpi="no (mpifort's mpi_f08 is not there, or not that of C's MPI)"
AS_ECHO(["#include <mpi.h>
int is_same(const MPI_Status *status, int bytes);
int is_same(const MPI_Status *status, int bytes)
{
  return bytes == sizeof *status && status->MPI_SOURCE == 3 && status->MPI_TAG == 4;
}"]) >conftest-c.c
AS_ECHO(["program main
  use, intrinsic :: iso_c_binding
  use mpi_f08
  interface
    integer(c_int) function is_same(status, bytes) bind(C)
      import
      type(MPI_Status), intent(in) :: status
      integer(c_int), value :: bytes
    end function
  end interface
  type(MPI_Status) :: status
  logical :: ended
  call MPI_Finalized(ended)
  status%MPI_SOURCE = 3
  status%MPI_TAG = 4
  if (is_same(status, int(storage_size(status) / 8, c_int)) == 0 .or. ended) error stop
end program"]) >conftest-f.f90
for reel_wrapper in mpifort mpifort.openmpi mpifort.mpich; do
  MPI_FCFLAGS= MPI_FCLIBS=
  for reel_word in `$reel_wrapper -show 2>/dev/null`; do
    AS_CASE([$reel_word], [-I*], [AS_VAR_APPEND([MPI_FCFLAGS], [" $reel_word"])],
      [-L* | -l*], [AS_VAR_APPEND([MPI_FCLIBS], [" $reel_word"])])
  done
  AS_IF([$CC $CPPFLAGS $CFLAGS $MPI_CFLAGS -c -o conftest-c.$ac_objext conftest-c.c &&
         $FC $FCFLAGS $MPI_FCFLAGS $LDFLAGS -o conftest$ac_exeext conftest-f.f90 conftest-c.$ac_objext \
           $MPI_FCLIBS $MPI_LIBS &&
         { test "$cross_compiling" = yes || ./conftest$ac_exeext; }],
    [reel_fortran_mpi=yes; break])
done >&AS_MESSAGE_LOG_FD 2>&1
rm -f conftest*
AC_MSG_RESULT([$reel_fortran_mpi])
AS_IF([test "$reel_fortran_mpi" = yes],
  [reel_saved_cppflags=$CPPFLAGS
   CPPFLAGS="$CPPFLAGS -I$srcdir/include $MPI_CFLAGS"
   AC_COMPUTE_INT([REEL_MPI_REQUEST_WORDS], [(sizeof(struct reel_mpi_request) + 7) / 8],
     [#include <reel/mpi.h>], [reel_fortran_mpi="no (reel/mpi.h cannot be compiled)"])
   CPPFLAGS=$reel_saved_cppflags],
  [MPI_FCFLAGS= MPI_FCLIBS=])])

# REEL_FORTRAN_FLAGS(FLAGS)
# Adds the FLAGS that the compiler accepts to FORTRAN_FCFLAGS.
AC_DEFUN([REEL_FORTRAN_FLAGS],
[reel_saved_fcflags=$FCFLAGS
for reel_flag in $1; do
  FCFLAGS="$reel_saved_fcflags $reel_flag"
  AC_COMPILE_IFELSE([AC_LANG_PROGRAM], [AS_VAR_APPEND([FORTRAN_FCFLAGS], [" $reel_flag"])])
done
FCFLAGS=$reel_saved_fcflags])

# REEL_FORTRAN_CALLS_C
# Finds ISO_Fortran_binding.h, which belongs to the Fortran compiler. gfortran's is in the folder of gcc's own headers.
# Other C compilers do not search that folder, and should find no other header there, so it is included by its path. The
# program is linked, and run unless it is for another machine.
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
