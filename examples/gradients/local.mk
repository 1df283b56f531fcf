# SPDX-License-Identifier: MIT
# Gradients of programs with OpenMP. They are a library, so that reel-bench can measure them.
if OPENMP
noinst_LTLIBRARIES += libreel-gradients.la
libreel_gradients_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/examples
libreel_gradients_la_CFLAGS = $(AM_CFLAGS) $(CONVENIENCE_CFLAGS) $(OPENMP_CFLAGS)
libreel_gradients_la_SOURCES = \
	%D%/example.c %D%/example.h \
	examples/common/barrier.h examples/common/parallel.h \
	%D%/burgers-1d.c \
	%D%/burgers-2d.c \
	%D%/mlp.c \
	%D%/lorenz.c \
	%D%/cholesky.c
# Results are compared bit by bit. So a product and a sum are two roundings, also where the compiler inlines a function.
$(libreel_gradients_la_OBJECTS): CFLAGS += $(FAST_CFLAGS) -ffp-contract=off

noinst_PROGRAMS += %D%/gradients
gradients_program = $(abs_top_builddir)/%D%/gradients
%C%_gradients_SOURCES = %D%/gradients.c %D%/check.c %D%/check.h
%C%_gradients_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_gradients_LDADD = libreel-gradients.la libreel-omp.la libreel.la -lm
endif
EXTRA_DIST += %D%/README.md
