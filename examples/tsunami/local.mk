# SPDX-License-Identifier: MIT
# Sources without netcdf and cairo, for the program and for the check of the gradient on a GPU.
EXTRA_LTLIBRARIES += libtsunami.la
libtsunami_la_SOURCES = \
	%D%/program/options.c %D%/program/options.h \
	%D%/model/grid.c %D%/model/grid.h \
	%D%/model/bathymetry.c %D%/model/bathymetry.h \
	%D%/model/basin.c %D%/model/basin.h \
	%D%/model/source.c %D%/model/source.h \
	%D%/model/shallow.c %D%/model/shallow.h \
	%D%/model/stage.h \
	%D%/gradient/tangent.c \
	%D%/gradient/adjoint.c \
	%D%/model/fields.c \
	%D%/model/ranks.h \
	%D%/model/step.c %D%/model/step.h \
	%D%/gradient/sweep.c %D%/gradient/sweep.h \
	%D%/gradient/loop.c %D%/gradient/loop.h \
	%D%/gradient/gpu.h \
	%D%/model/layout.c %D%/model/layout.h \
	%D%/gradient/checkpointing.c %D%/gradient/checkpointing.h \
	%D%/gradient/restart.c %D%/gradient/restart.h \
	%D%/gradient/look-ahead.c %D%/gradient/look-ahead.h \
	%D%/gradient/reversal.c %D%/gradient/reversal.h \
	%D%/gradient/tapes.c %D%/gradient/tapes.h \
	%D%/gradient/objective.c %D%/gradient/objective.h \
	%D%/program/verify.c %D%/program/verify.h \
	$(examples_common)
# Without errno loops with a square root vectorise. -ffp-contract=off: compilers differ in the products and sums that
# they contract, so results would differ.
libtsunami_la_CFLAGS = $(AM_CFLAGS) $(CONVENIENCE_CFLAGS) $(OPENMP_CFLAGS) -fno-math-errno -ffp-contract=off
libtsunami_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%D% -I$(top_srcdir)/examples
if OPENMP
libtsunami_la_CPPFLAGS += -DLOOK_AHEAD=1
endif

# Objects of kernels; examples/gpu/device.mk has their rules.
tsunami_gpu = %D%/gpu.o
tsunami_gpu_sources = \
	%D%/gradient/gpu.cu %D%/gradient/gpu.h \
	%D%/model/shallow.c %D%/model/shallow.h \
	%D%/gradient/adjoint.c %D%/model/stage.h %D%/model/grid.h

if BUILD_TSUNAMI
noinst_PROGRAMS += examples/tsunami/tsunami
tsunami_program = $(abs_top_builddir)/examples/tsunami/tsunami
examples_tsunami_tsunami_SOURCES = \
	%D%/program/tsunami.c \
	%D%/model/relief.c \
	%D%/program/account.c %D%/program/account.h \
	%D%/picture/picture.c %D%/picture/picture.h \
	%D%/picture/map.c %D%/picture/map.h \
	%D%/picture/chart.c %D%/picture/chart.h \
	%D%/program/output.c %D%/program/output.h
examples_tsunami_tsunami_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%D% -I$(top_srcdir)/examples \
	$(NETCDF_CFLAGS) $(CAIRO_CFLAGS)
examples_tsunami_tsunami_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
examples_tsunami_tsunami_LDADD = libtsunami.la
if BUILD_CUDA
examples_tsunami_tsunami_LDADD += $(tsunami_gpu) libreel-arena.la libreel-cuda-core.la $(CUDA_LIBS)
else
examples_tsunami_tsunami_SOURCES += %D%/gradient/no-gpu.c
endif
if MPI
examples_tsunami_tsunami_SOURCES += %D%/model/ranks.c $(examples_world)
examples_tsunami_tsunami_CFLAGS += $(MPI_CFLAGS)
examples_tsunami_tsunami_LDADD += libreel-mpi.la $(MPI_LIBS)
else
examples_tsunami_tsunami_SOURCES += %D%/model/no-ranks.c
endif
examples_tsunami_tsunami_LDADD += libreel-omp.la libreel.la $(NETCDF_LIBS) $(CAIRO_LIBS) -lm
endif
EXTRA_DIST += %D%/README.md %D%/sensitivity.png %D%/gradient/gpu.cu
CLEANFILES += libtsunami.la
