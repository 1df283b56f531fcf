# SPDX-License-Identifier: MIT
# Sources that the programs of the examples share.
examples_common = \
	%D%/common/digits.c %D%/common/digits.h \
	%D%/common/numbers.c %D%/common/numbers.h \
	%D%/common/fingerprint.h \
	%D%/common/disk.c %D%/common/disk.h \
	%D%/common/scheme.c %D%/common/scheme.h \
	%D%/common/progress.c %D%/common/progress.h \
	%D%/common/report.c %D%/common/report.h \
	%D%/common/parallel.h
# Sources that need MPI.
examples_world = %D%/common/world.c %D%/common/world.h

include examples/tsunami/local.mk
include examples/sedov/local.mk
include examples/omp/local.mk
include examples/gradients/local.mk

# doc/tutorial.md shows these programs, and tests/source/t-guide.sh runs them. quote.awk copies them, and the patterns of
# OpenMP, into their pages.
EXTRA_DIST += %D%/quote.awk \
	%D%/tutorial/step-1.c %D%/tutorial/step-2.c %D%/tutorial/step-3.c \
	%D%/tutorial/step-4.c %D%/tutorial/step-5.c %D%/tutorial/step-6.c

# heat.py uses the Python package on DOLFINx; tests/python/test_dolfinx.py runs it.
EXTRA_DIST += %D%/heat.py

# A store that a user writes; a test runs it.
if BUILD_SQLITE
check_PROGRAMS += %D%/store-sqlite
examples_store_sqlite_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
examples_store_sqlite_LDADD = libreel.la $(SQLITE_LIBS)
endif
