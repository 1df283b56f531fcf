# SPDX-License-Identifier: MIT
# The trajectory for PETSc, a plug-in that the program loads. PETSc calls the function that has the file's name in its
# own. The plug-in is linked with PETSc, because in programs such as Python plug-ins do not see the PETSc of the program.
if PETSC
lib_LTLIBRARIES += libreel-petsc.la
libreel_petsc_la_SOURCES = \
	%D%/errors.c \
	%D%/first-stage.c \
	%D%/keep.c \
	%D%/options.c \
	%D%/restart.c \
	%D%/setup.c \
	%D%/steps.c \
	%D%/trajectory.c %D%/trajectory.h
libreel_petsc_la_CPPFLAGS = $(AM_CPPFLAGS) $(PETSC_CFLAGS)
libreel_petsc_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS)
libreel_petsc_la_LIBADD = libreel-mpi.la libreel.la $(PETSC_LIBS) $(MPI_LIBS)
libreel_petsc_la_LDFLAGS = -module -avoid-version -shared -no-undefined $(NO_UNDEFINED_LDFLAGS) \
	-export-symbols-regex '^PetscDLLibraryRegister_'
endif

EXTRA_DIST += %D%/README.md tests/dropin/petsc.sh tests/dropin/t-petsc-adjoint.c tests/dropin/t-petsc-random.c \
	tests/dropin/t-petsc-ranks.c
