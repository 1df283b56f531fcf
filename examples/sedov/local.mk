# SPDX-License-Identifier: MIT
# Sources that the tests compile once more, with complex numbers.
sedov_kernels = \
	%D%/model/number.h %D%/model/mesh.h %D%/model/hexahedron.h %D%/model/ranks.h \
	%D%/model/parameters.c %D%/model/parameters.h \
	%D%/model/state.c %D%/model/state.h \
	%D%/kernel/kernel.h \
	%D%/kernel/fields.c \
	%D%/kernel/force.c \
	%D%/kernel/motion.c \
	%D%/kernel/kinematics.c \
	%D%/kernel/viscosity.c \
	%D%/kernel/gas.c \
	%D%/kernel/time-step.c \
	%D%/kernel/step.c %D%/kernel/step.h \
	%D%/gradient/objective.c %D%/gradient/objective.h

# The library of the program and of its tests.
EXTRA_LTLIBRARIES += libsedov.la
libsedov_la_SOURCES = \
	$(sedov_kernels) \
	%D%/model/mesh.c \
	%D%/gradient/pack.c %D%/gradient/pack.h \
	%D%/gradient/sweep.c %D%/gradient/sweep.h \
	%D%/gradient/loop.c %D%/gradient/loop.h \
	%D%/gradient/look-ahead.c %D%/gradient/look-ahead.h \
	%D%/gradient/layout.c %D%/gradient/layout.h \
	%D%/gradient/gradient.c %D%/gradient/gradient.h \
	%D%/gradient/verify.c %D%/gradient/verify.h \
	$(examples_common)
libsedov_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%D% -I$(top_srcdir)/examples
libsedov_la_CFLAGS = $(AM_CFLAGS) $(CONVENIENCE_CFLAGS) $(OPENMP_CFLAGS) -fno-math-errno
# Results are compared bit by bit. So a product and a sum are two roundings, also where the compiler inlines a function.
$(libsedov_la_OBJECTS): CFLAGS += -O3 -ffp-contract=off

noinst_PROGRAMS += %D%/sedov
sedov_program = $(abs_top_builddir)/%D%/sedov
%C%_sedov_SOURCES = \
	%D%/program/sedov.c \
	%D%/program/gradient-file.c %D%/program/gradient-file.h \
	%D%/program/options.c %D%/program/options.h \
	%D%/picture/slice.c %D%/picture/slice.h
%C%_sedov_CPPFLAGS = $(libsedov_la_CPPFLAGS) $(NETCDF_CFLAGS)
%C%_sedov_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_sedov_LDADD = libsedov.la
if MPI
%C%_sedov_SOURCES += %D%/model/ranks.c $(examples_world)
%C%_sedov_CFLAGS += $(MPI_CFLAGS)
%C%_sedov_LDADD += libreel-mpi.la $(MPI_LIBS)
else
%C%_sedov_SOURCES += %D%/model/no-ranks.c
endif
%C%_sedov_LDADD += libreel-omp.la libreel.la $(NETCDF_LIBS) -lm
EXTRA_DIST += %D%/README.md
CLEANFILES += libsedov.la
