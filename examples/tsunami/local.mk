if BUILD_TSUNAMI
noinst_PROGRAMS += examples/tsunami/tsunami
tsunami_program = $(abs_top_builddir)/examples/tsunami/tsunami
examples_tsunami_tsunami_SOURCES = \
	%D%/tsunami.c \
	%D%/options.c %D%/options.h \
	%D%/grid.c %D%/grid.h \
	%D%/bathymetry.c %D%/bathymetry.h \
	%D%/basin.c %D%/basin.h \
	%D%/source.c %D%/source.h \
	%D%/shallow.c %D%/shallow.h \
	%D%/tangent.c \
	%D%/adjoint.c \
	%D%/fields.c \
	%D%/step.c %D%/step.h \
	%D%/sweep.c %D%/sweep.h \
	%D%/loop.c %D%/loop.h \
	%D%/scheme.c %D%/scheme.h \
	%D%/layout.c %D%/layout.h \
	%D%/measure.c %D%/measure.h \
	%D%/checkpointing.c %D%/checkpointing.h \
	%D%/look-ahead.c %D%/look-ahead.h \
	%D%/reversal.c %D%/reversal.h \
	%D%/account.c %D%/account.h \
	%D%/tapes.c %D%/tapes.h \
	%D%/objective.c %D%/objective.h \
	%D%/verify.c %D%/verify.h \
	%D%/picture.c %D%/picture.h \
	%D%/map.c %D%/map.h \
	%D%/chart.c %D%/chart.h \
	%D%/output.c %D%/output.h \
	%D%/progress.c %D%/progress.h \
	%D%/report.c %D%/report.h \
	%D%/parallel.h
examples_tsunami_tsunami_CPPFLAGS = $(AM_CPPFLAGS) $(NETCDF_CFLAGS) $(CAIRO_CFLAGS)
# Without errno the loops with a square root vectorise too.
examples_tsunami_tsunami_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS) -fno-math-errno
examples_tsunami_tsunami_LDADD = libreel-omp.la libreel.la $(NETCDF_LIBS) $(CAIRO_LIBS) -lm
if OPENMP
examples_tsunami_tsunami_CPPFLAGS += -DLOOK_AHEAD=1
endif
endif
EXTRA_DIST += %D%/README.md
