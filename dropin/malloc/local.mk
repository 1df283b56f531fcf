# SPDX-License-Identifier: MIT
# The allocator for other programs. Programs preload it, so it is a shared library, which exports only the functions of
# malloc. For small requests it calls glibc's allocator by names that only glibc has.
if MALLOC_DROPIN
lib_LTLIBRARIES += libreel-malloc.la
libreel_malloc_la_SOURCES = \
	%D%/malloc.c \
	%D%/system.c %D%/system.h \
	%D%/blocks.c %D%/blocks.h \
	%D%/classes.h \
	%D%/start.c
libreel_malloc_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/lib
libreel_malloc_la_CFLAGS = $(AM_CFLAGS) $(CK_CFLAGS) -ftls-model=initial-exec
libreel_malloc_la_LIBADD = libreel-core.la -ldl
libreel_malloc_la_LDFLAGS = -module -avoid-version -shared -no-undefined $(NO_UNDEFINED_LDFLAGS) \
	-Wl,--version-script=$(srcdir)/%D%/malloc.map
libreel_malloc_la_DEPENDENCIES = libreel-core.la %D%/malloc.map
endif

dist_check_SCRIPTS += tests/dropin/t-malloc.sh $(compiles)
EXTRA_DIST += \
	%D%/README.md \
	%D%/malloc.map \
	tests/dropin/t-malloc-blocks.c \
	tests/dropin/t-malloc-edges.c \
	tests/dropin/t-malloc-random.c \
	tests/dropin/t-malloc-threads.c
