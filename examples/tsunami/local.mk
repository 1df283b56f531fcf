# What needs neither netcdf nor cairo: for the program, and for what checks the gradient on a GPU.
EXTRA_LTLIBRARIES += libtsunami.la
libtsunami_la_SOURCES = \
	%D%/options.c %D%/options.h \
	%D%/grid.c %D%/grid.h \
	%D%/bathymetry.c %D%/bathymetry.h \
	%D%/basin.c %D%/basin.h \
	%D%/source.c %D%/source.h \
	%D%/shallow.c %D%/shallow.h \
	%D%/stage.h \
	%D%/tangent.c \
	%D%/adjoint.c \
	%D%/fields.c \
	%D%/step.c %D%/step.h \
	%D%/sweep.c %D%/sweep.h \
	%D%/loop.c %D%/loop.h \
	%D%/gpu.h \
	%D%/scheme.c %D%/scheme.h \
	%D%/layout.c %D%/layout.h \
	%D%/measure.c %D%/measure.h \
	%D%/checkpointing.c %D%/checkpointing.h \
	%D%/look-ahead.c %D%/look-ahead.h \
	%D%/reversal.c %D%/reversal.h \
	%D%/tapes.c %D%/tapes.h \
	%D%/objective.c %D%/objective.h \
	%D%/verify.c %D%/verify.h \
	%D%/progress.c %D%/progress.h \
	%D%/report.c %D%/report.h \
	%D%/parallel.h
# Without errno the loops with a square root vectorise too. Where a product and a sum are one operation
# no two compilers agree on which.
libtsunami_la_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS) -fno-math-errno -ffp-contract=off
libtsunami_la_CPPFLAGS = $(AM_CPPFLAGS)
if OPENMP
libtsunami_la_CPPFLAGS += -DLOOK_AHEAD=1
endif

# Of kernels: examples/gpu/device.mk has the rules for their objects.
tsunami_gpu = %D%/gpu.o
tsunami_gpu_sources = \
	%D%/gpu.cu %D%/gpu.h \
	%D%/shallow.c %D%/shallow.h \
	%D%/adjoint.c %D%/stage.h %D%/grid.h

if BUILD_TSUNAMI
noinst_PROGRAMS += examples/tsunami/tsunami
tsunami_program = $(abs_top_builddir)/examples/tsunami/tsunami
examples_tsunami_tsunami_SOURCES = \
	%D%/tsunami.c \
	%D%/relief.c \
	%D%/account.c %D%/account.h \
	%D%/picture.c %D%/picture.h \
	%D%/map.c %D%/map.h \
	%D%/chart.c %D%/chart.h \
	%D%/output.c %D%/output.h
examples_tsunami_tsunami_CPPFLAGS = $(AM_CPPFLAGS) $(NETCDF_CFLAGS) $(CAIRO_CFLAGS)
examples_tsunami_tsunami_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
examples_tsunami_tsunami_LDADD = libtsunami.la
if BUILD_CUDA
examples_tsunami_tsunami_LDADD += $(tsunami_gpu) libreel-arena.la libreel-cuda-core.la $(CUDA_LIBS)
else
examples_tsunami_tsunami_SOURCES += %D%/no-gpu.c
endif
examples_tsunami_tsunami_LDADD += libreel-omp.la libreel.la $(NETCDF_LIBS) $(CAIRO_LIBS) -lm
endif
EXTRA_DIST += %D%/README.md %D%/gpu.cu
CLEANFILES += libtsunami.la
