# SPDX-License-Identifier: MIT
# REEL_WITH_MPI
# Conditional MPI: libreel-mpi is built, with MPI_CFLAGS and MPI_LIBS. MPI_PACKAGE is the package that reel-mpi.pc
# requires, if pkg-config has found MPI. MPIRUN starts the ranks of tests; MPIRUN_FLAGS let it run as root, and start more
# ranks than there are processors.
AC_DEFUN([REEL_WITH_MPI],
[AC_ARG_VAR([MPIRUN], [command that starts the ranks of an MPI program, for tests])
AC_SUBST([MPI_PACKAGE])
AC_SUBST([MPIRUN_FLAGS])
reel_mpi_packages="ompi-c mpich mpicc"
reel_saved_cflags=$CFLAGS
reel_saved_libs=$LIBS
AS_CASE([$with_mpi], [auto | yes | no | ''], [], [reel_mpi_packages=$with_mpi with_mpi=yes])
REEL_WITH_OPTIONAL([mpi], [build libreel-mpi; a pkg-config name, such as mpich, chooses among several],
  [reel_fault="there is no MPI; Debian: libopenmpi-dev or libmpich-dev"
   for MPI_PACKAGE in $reel_mpi_packages; do
     AS_IF([test "$MPI_PACKAGE" = mpicc],
       [# The flags that the wrapper gives to its compiler.
        MPI_CFLAGS= MPI_LIBS=
        for reel_word in `mpicc -show 2>/dev/null`; do
          AS_CASE([$reel_word], [-I* | -D*], [AS_VAR_APPEND([MPI_CFLAGS], [" $reel_word"])],
            [-L* | -l* | -Wl,*], [AS_VAR_APPEND([MPI_LIBS], [" $reel_word"])])
        done],
       [$PKG_CONFIG --exists "$MPI_PACKAGE"],
       [MPI_CFLAGS=`$PKG_CONFIG --cflags "$MPI_PACKAGE"` MPI_LIBS=`$PKG_CONFIG --libs "$MPI_PACKAGE"`],
       [continue])
     # As system headers, MPI's headers cause no warnings.
     MPI_CFLAGS=`AS_ECHO([" $MPI_CFLAGS"]) | sed 's/ -I/ -isystem /g'`
     CFLAGS="$reel_saved_cflags $MPI_CFLAGS"
     LIBS="$MPI_LIBS $reel_saved_libs"
     AC_LINK_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[return MPI_Init(0, 0);]])],
       [reel_found=yes; break])
   done
   AS_IF([test "$reel_found" = yes],
     [AC_COMPILE_IFELSE([AC_LANG_PROGRAM([[#include <mpi.h>]], [[return OPEN_MPI;]])],
       [MPIRUN_FLAGS="--allow-run-as-root --oversubscribe"
        AC_PATH_PROGS([MPIRUN], [mpirun.openmpi mpirun mpiexec])],
       [AC_PATH_PROGS([MPIRUN], [mpirun.mpich mpiexec.hydra mpirun mpiexec])])])
   CFLAGS=$reel_saved_cflags
   LIBS=$reel_saved_libs])
AS_IF([test "$with_mpi" = yes], [reel_mpi="yes ($MPI_PACKAGE)"], [MPI_CFLAGS= MPI_LIBS= MPI_PACKAGE=])
AS_IF([test "$MPI_PACKAGE" = mpicc], [MPI_PACKAGE=])
AC_SUBST([MPI_CFLAGS])
AC_SUBST([MPI_LIBS])
AM_CONDITIONAL([MPI], [test "$with_mpi" = yes])])

# REEL_WITH_PETSC
# Conditional PETSC: the trajectory is built, with PETSC_CFLAGS, for the build of PETSc that pkg-config knows as
# PETSC_PACKAGE. PETSc has to use the MPI of libreel-mpi.
AC_DEFUN([REEL_WITH_PETSC],
[AC_REQUIRE([REEL_WITH_MPI])
PETSC_PACKAGE=petsc
AS_CASE([$with_petsc], [auto | yes | no | ''], [], [PETSC_PACKAGE=$with_petsc with_petsc=yes])
REEL_WITH_OPTIONAL([petsc], [build the trajectory for PETSc; a pkg-config name, such as petsc64, chooses among several],
  [AS_IF([test "$with_mpi" != yes || test "$enable_shared" = no],
     [reel_fault="it needs libreel-mpi, and shared libraries"],
     [PKG_CHECK_MODULES([PETSC], [$PETSC_PACKAGE >= 3.18], [reel_found=yes], [reel_fault=$PETSC_PKG_ERRORS])])])
AS_IF([test "$with_petsc" = yes],
  [# As system headers, PETSc's headers cause no warnings.
   PETSC_CFLAGS=`AS_ECHO([" $PETSC_CFLAGS"]) | sed 's/ -I/ -isystem /g'`
   reel_petsc="yes ($PETSC_PACKAGE)"])
AM_CONDITIONAL([PETSC], [test "$with_petsc" = yes])])
