# SPDX-License-Identifier: MIT
# Gradients of programs with OpenMP. The examples are a library, so that reel-bench measures them.
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
# Bits are compared: a product and a sum are two roundings, wherever the compiler inlines them.
$(libreel_gradients_la_OBJECTS): CFLAGS += $(FAST_CFLAGS) -ffp-contract=off

noinst_PROGRAMS += %D%/gradients
gradients_program = $(abs_top_builddir)/%D%/gradients
%C%_gradients_SOURCES = %D%/gradients.c %D%/check.c %D%/check.h
%C%_gradients_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_gradients_LDADD = libreel-gradients.la libreel-omp.la libreel.la -lm
endif
EXTRA_DIST += %D%/README.md
