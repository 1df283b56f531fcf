# The stack of Tapenade's adjoints. It brings the core along, so that one -l is all a program needs;
# the static library serves programs in Fortran and C alike.
adstack_sources = \
	%D%/stack.c %D%/stack.h \
	%D%/take.c \
	%D%/bits.c \
	%D%/array.c \
	%D%/repeat.c \
	%D%/location.c \
	%D%/segment.c \
	%D%/types.c \
	%D%/count.c \
	%D%/sites.c \
	dropin/call-site.c dropin/call-site.h \
	%D%/fail.c \
	%D%/forms.h \
	%D%/scalars.c \
	%D%/arrays.c \
	%D%/tangent.c \
	%D%/manage.c \
	%D%/show.c \
	%D%/openmp.c \
	%D%/binomial.c \
	%D%/fixedpoint.c \
	%D%/profile.c

include_HEADERS += %D%/reel-adstack.h

# Tests link this, and so reach hidden symbols.
noinst_LTLIBRARIES += libreel-adstack-core.la
libreel_adstack_core_la_SOURCES = $(adstack_sources)
libreel_adstack_core_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
libreel_adstack_core_la_CFLAGS = $(AM_CFLAGS) $(INTERPOSITION_CFLAGS) $(CK_CFLAGS) \
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

# The scalars once more, for optimisation at link time: Fortran has no other way to make them inline.
if ADSTACK_LTO
adstackltodir = $(libdir)
adstacklto_DATA = libreel-adstack-lto.a
libreel-adstack-lto.a: %D%/scalars.c %D%/forms.h %D%/stack.h %D%/reel-adstack.h config.h
	$(AM_V_CC)$(CC) $(AM_CPPFLAGS) -I$(top_srcdir)/lib $(CPPFLAGS) $(AM_CFLAGS) $(CFLAGS) \
		-ftls-model=initial-exec -flto -ffat-lto-objects \
		-c -o %D%/scalars-lto.o $(srcdir)/%D%/scalars.c
	$(AM_V_at)rm -f $@ && $(AR) rcs $@ %D%/scalars-lto.o
endif
CLEANFILES += libreel-adstack-lto.a %D%/scalars-lto.o
