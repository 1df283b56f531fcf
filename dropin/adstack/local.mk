# SPDX-License-Identifier: MIT
# The stack of Tapenade's adjoints. It contains the core, so that a program needs only one -l. Programs in Fortran and in
# C can use the static library.
adstack_sources = \
	%D%/stack.c %D%/stack.h \
	%D%/take.c \
	%D%/bits.c \
	%D%/array.c \
	%D%/repeat.c \
	%D%/segment.c \
	%D%/types.c \
	%D%/count.c \
	%D%/fail.c \
	%D%/forms.h \
	%D%/scalars.c \
	%D%/looks.c \
	%D%/arrays.c \
	%D%/tangent.c \
	%D%/manage.c \
	%D%/show.c \
	%D%/openmp.c \
	%D%/binomial.c \
	%D%/fixedpoint.c

include_HEADERS += %D%/reel-adstack.h

# Tests link this library, so that they can call hidden functions.
noinst_LTLIBRARIES += libreel-adstack-core.la
libreel_adstack_core_la_SOURCES = $(adstack_sources)
libreel_adstack_core_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
libreel_adstack_core_la_CFLAGS = $(AM_CFLAGS) $(CONVENIENCE_CFLAGS) $(LIBRARY_CFLAGS) $(CK_CFLAGS) \
	-ftls-model=initial-exec
libreel_adstack_core_la_LIBADD = libreel-core.la

lib_LTLIBRARIES += libreel-adstack.la
libreel_adstack_la_SOURCES =
libreel_adstack_la_LIBADD = libreel-adstack-core.la
libreel_adstack_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(NO_UNDEFINED_LDFLAGS) \
	$(NO_DELETE_LDFLAGS)
if HAVE_VERSION_SCRIPT
libreel_adstack_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/adstack.map
libreel_adstack_la_DEPENDENCIES = libreel-adstack-core.la %D%/adstack.map
endif
EXTRA_DIST += %D%/adstack.map %D%/README.md

# A call into a shared library goes through two tables, which takes the time of a push. So a program that is linked with
# -lreel-adstack gets its own copy of the scalars: libreel-adstack.so is a linker script that names the archive first.
scalars_cflags = $(AM_CFLAGS) $(ADSTACK_SCALARS_CFLAGS) -ftls-model=initial-exec
if ADSTACK_SCALARS
lib_LIBRARIES += libreel-adstack-scalars.a
libreel_adstack_scalars_a_SOURCES = %D%/scalars.c %D%/forms.h %D%/stack.h
libreel_adstack_scalars_a_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
libreel_adstack_scalars_a_CFLAGS = $(scalars_cflags)
install-exec-hook:
	script=$(DESTDIR)$(libdir)/libreel-adstack.so && rm -f $$script && { \
	  echo '/* GNU ld script: the program gets its own copy of what it calls most. */' && \
	  sed -n "s/^dlname='\(.*\)'/INPUT ( libreel-adstack-scalars.a \1 )/p" libreel-adstack.la; \
	} >$$script
endif

# This archive has the same functions for optimisation at link time: only the linker can inline them in Fortran programs.
if ADSTACK_LTO
adstackltodir = $(libdir)
adstacklto_DATA = libreel-adstack-lto.a
libreel-adstack-lto.a: %D%/scalars.c %D%/forms.h %D%/stack.h %D%/reel-adstack.h config.h
	$(AM_V_CC)$(CC) $(AM_CPPFLAGS) -I$(top_srcdir)/lib $(CPPFLAGS) $(scalars_cflags) $(CFLAGS) \
		-flto -ffat-lto-objects -c -o %D%/scalars-lto.o $(srcdir)/%D%/scalars.c
	$(AM_V_at)rm -f $@ && $(AR) rcs $@ %D%/scalars-lto.o
endif
CLEANFILES += libreel-adstack-lto.a %D%/scalars-lto.o
