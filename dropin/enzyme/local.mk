# SPDX-License-Identifier: MIT
# The checkpoint scheme for loops that Enzyme differentiates. It can be built without Enzyme.
reelinclude_HEADERS += include/reel/enzyme.h

# Tests link this library with the core of the library.
noinst_LTLIBRARIES += libreel-enzyme-core.la
libreel_enzyme_core_la_SOURCES = \
	%D%/enzyme.h \
	%D%/options.c \
	%D%/regions.c \
	%D%/scheme.c
libreel_enzyme_core_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib

lib_LTLIBRARIES += libreel-enzyme.la
libreel_enzyme_la_SOURCES =
libreel_enzyme_la_LIBADD = libreel-enzyme-core.la libreel.la
libreel_enzyme_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(NO_UNDEFINED_LDFLAGS)
if HAVE_VERSION_SCRIPT
libreel_enzyme_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/enzyme.map
libreel_enzyme_la_DEPENDENCIES = libreel-enzyme-core.la libreel.la %D%/enzyme.map
endif

check_PROGRAMS += \
	tests/dropin/t-enzyme $(one_thread) \
	tests/dropin/t-enzyme-counts $(one_thread)
noinst_HEADERS += tests/helpers/enzyme-driver.h
tests_dropin_t_enzyme_LDADD = libreel-enzyme-core.la $(LDADD)
tests_dropin_t_enzyme_counts_LDADD = libreel-enzyme-core.la $(LDADD)
EXTRA_DIST += %D%/README.md %D%/enzyme.map \
	tests/dropin/enzyme-programs/loop.cpp \
	tests/dropin/enzyme-programs/loop.f90 \
	tests/dropin/enzyme-programs/loop.rs
