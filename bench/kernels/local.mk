# SPDX-License-Identifier: MIT
# The kernels, a convenience library for the benchmark and its test. KERNEL_CFLAGS change results only by fusing a
# multiplication with an addition. They let loops with sqrt(), with a comparison or with a sum of products become vectors.
noinst_LTLIBRARIES += libreel-kernels.la
libreel_kernels_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/bench
libreel_kernels_la_CFLAGS = $(AM_CFLAGS) $(CONVENIENCE_CFLAGS) $(KERNEL_CFLAGS)
libreel_kernels_la_SOURCES = \
	%D%/gravity.c \
	%D%/nn.c \
	%D%/logsum.c \
	%D%/matdescent.c \
	%D%/mttkrp.c \
	%D%/somier.c \
	%D%/lenet5.c \
	%D%/pathfinder.c \
	%D%/massspring.c \
	%D%/kernels.c %D%/kernel.h \
	%D%/columns.c %D%/columns.h \
	%D%/memory.c %D%/memory.h \
	%D%/digits.h \
	%D%/exponential.h \
	%D%/lanes.h \
	%D%/random.h
KERNEL_CFLAGS = -fno-math-errno -fno-trapping-math -ffp-contract=fast

# The user's CFLAGS come last and have -O2. FAST_CFLAGS after them compile these loops as programs compile theirs.
$(libreel_kernels_la_OBJECTS): CFLAGS += $(FAST_CFLAGS)
