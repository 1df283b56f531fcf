include_HEADERS = include/reel.h
reelincludedir = $(includedir)/reel
reelinclude_HEADERS = \
	include/reel/block.h \
	include/reel/compiler.h \
	include/reel/inline.h \
	include/reel/pool.h \
	include/reel/tape.h \
	include/reel/version.h

# In the order in which a value travels. Unit tests link this, and so reach hidden symbols.
noinst_LTLIBRARIES += libreel-core.la
libreel_core_la_CFLAGS = $(AM_CFLAGS) $(INTERPOSITION_CFLAGS) $(CK_CFLAGS)
libreel_core_la_SOURCES = \
	%D%/tape.c %D%/tape.h \
	%D%/push.c \
	%D%/seal.c \
	%D%/pop.c \
	%D%/bits.c \
	%D%/span.c \
	%D%/array.c \
	%D%/mark.c \
	%D%/hold.c \
	%D%/block.c \
	%D%/check.c \
	%D%/error.c \
	%D%/magazine.c \
	%D%/supply.c \
	%D%/trim.c \
	%D%/pool.c %D%/pool.h \
	%D%/budget.c \
	%D%/arena.c \
	%D%/os.c %D%/os.h \
	%D%/fork.c \
	%D%/environment.c %D%/environment.h \
	%D%/version.c \
	%D%/annotate.h \
	%D%/claim.h \
	%D%/freelist.h \
	%D%/freelist-c11.h \
	%D%/freelist-ck.h \
	%D%/slab.h \
	%D%/stream.h \
	%D%/yield.h

lib_LTLIBRARIES += libreel.la
libreel_la_SOURCES =
libreel_la_LIBADD = libreel-core.la
libreel_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(NO_UNDEFINED_LDFLAGS) $(NO_DELETE_LDFLAGS)
if HAVE_VERSION_SCRIPT
libreel_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/libreel.map
libreel_la_DEPENDENCIES = libreel-core.la %D%/libreel.map
endif
EXTRA_DIST += %D%/libreel.map
