# SPDX-License-Identifier: MIT
# `make amalgamation` writes amalgamation/reel.c and reel.h, the core of the library as two files, and
# reel-omp.c and reel-omp.h, its part for OpenMP.
amalgamation_headers = include/reel.h include/reel/extend.h include/reel/parcel.h include/reel/plan.h \
	include/reel/recording.h include/reel/sum.h
amalgamation_sources = $(libreel_os_la_SOURCES) $(libreel_core_la_SOURCES)

.PHONY: amalgamation check-amalgamation check-amalgamated
amalgamation: amalgamation/reel.c

amalgamation/reel.c: %D%/amalgamate.awk %D%/prologue.in %D%/config.in LICENSE include/reel.h $(core_headers) \
		$(amalgamation_sources) $(omp_headers) $(libreel_omp_core_la_SOURCES)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cd $(srcdir) && { $(AWK) -v source=. -v folder=$(abs_builddir)/$(@D) \
		-v version=$(VERSION) -f %D%/amalgamate.awk +reel.h $(amalgamation_headers) \
		+reel-omp.h $(omp_headers) +reel-omp.c %D%/config.in $(libreel_omp_core_la_SOURCES) \
		+reel.c %D%/prologue.in %D%/config.in $(amalgamation_sources) || \
		{ rm -f $(abs_builddir)/$@; false; }; }

# Links the tests of the core and of OpenMP with the two sources in place of the library. They need a separate build with
# --with-pool=c11: tests use structures of the library, which depend on the list of the pool.
check-amalgamation:
	$(MKDIR_P) amalgamation/check && cd amalgamation/check && \
	{ test -f Makefile || eval "$(abs_srcdir)/configure $$($(abs_builddir)/config.status --config)" \
		--with-pool=c11 --enable-assertions --without-mpi --without-petsc FC=no; } && \
	$(MAKE) amalgamation && $(MAKE) check-amalgamated

amalgamated_options = -DREEL_ASSERTIONS=1
amalgamated_lz4 =
if HAVE_LZ4
amalgamated_lz4 += -DHAVE_LZ4=1 $(LZ4_CFLAGS)
endif
amalgamation/reel.lo amalgamation/reel-omp.lo: amalgamation/reel.c
	$(AM_V_CC)$(LIBTOOL) $(AM_V_lt) --tag=CC --mode=compile $(CC) $(CONVENIENCE_CFLAGS) -pthread -Wall -Wextra \
		-Werror $(OPENMP_CFLAGS) -fexceptions $(CFLAGS) $(amalgamated_options) $(amalgamated_lz4) -c -o $@ \
		$(@:.lo=.c)

# Leaves out tests that replace functions of the library by linker options: the linker cannot do that inside one object.
check-amalgamated:
	tests=$$(for test in $(check_PROGRAMS); do case $$test in \
		tests/checkpoint/* | tests/omp/* | tests/os/* | tests/parcel/* | tests/plan/* | tests/pool/* | \
		tests/spill/* | tests/store/* | tests/tape/* | tests/trace/*) \
			grep -qsE '__wrap_reel_|(file|slab)-refusals\.h' $(srcdir)/$$test.c || echo $$test ;; \
		esac; done | tr '\n' ' ') && \
	$(MAKE) check-TESTS libreel_core_la_OBJECTS=amalgamation/reel.lo 'libreel_core_la_LIBADD=$(LZ4_LIBS)' \
		libreel_omp_core_la_OBJECTS=amalgamation/reel-omp.lo libreel_omp_core_la_LIBADD= \
		TESTS="$$tests" check_PROGRAMS="$$tests" dist_check_SCRIPTS= check_LTLIBRARIES=libreel-tap.la

CLEANFILES += amalgamation/reel.c amalgamation/reel.h amalgamation/reel-omp.c amalgamation/reel-omp.h
EXTRA_DIST += %D%/amalgamate.awk %D%/prologue.in %D%/config.in
