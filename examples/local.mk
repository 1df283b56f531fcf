include examples/tsunami/local.mk
include examples/omp/local.mk
include examples/gradients/local.mk

# A store of one's own; its run is a test.
if BUILD_SQLITE
check_PROGRAMS += %D%/store-sqlite
examples_store_sqlite_CPPFLAGS = $(AM_CPPFLAGS) $(SQLITE_CFLAGS)
examples_store_sqlite_LDADD = libreel.la $(SQLITE_LIBS)
endif
