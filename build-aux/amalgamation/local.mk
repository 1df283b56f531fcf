# SPDX-License-Identifier: MIT
# `make amalgamation` writes amalgamation/reel.c and reel.h, the core of the library as two files.
# `make check-amalgamation` runs the tests of the core with them in place of its objects.
amalgamation_headers = include/reel.h include/reel/extend.h include/reel/parcel.h include/reel/plan.h \
	include/reel/recording.h include/reel/sum.h
amalgamation_sources = $(libreel_os_la_SOURCES) $(libreel_core_la_SOURCES)

.PHONY: amalgamation check-amalgamation
amalgamation: amalgamation/reel.c

amalgamation/reel.c: %D%/amalgamate.awk %D%/config.in %D%/prologue.in $(core_headers) $(amalgamation_sources)
	$(AM_V_GEN)$(MKDIR_P) $(@D) && cd $(srcdir) && $(AWK) -v source=. -v folder=$(abs_builddir)/$(@D) \
		-v version=$(VERSION) -f %D%/amalgamate.awk $(amalgamation_headers) %D%/prologue.in \
		$(amalgamation_sources)

amalgamation/reel.lo: amalgamation/reel.c
	$(AM_V_CC)$(LIBTOOL) $(AM_V_lt) --tag=CC --mode=compile $(CC) -Iamalgamation -pthread -Wall -Wextra -Werror \
		$(CFLAGS) -DREEL_ASSERTIONS=1 -c -o $@ amalgamation/reel.c

check-amalgamation:
	$(MAKE) check libreel_core_la_OBJECTS=amalgamation/reel.lo libreel_core_la_LIBADD= \
		TESTS="$$(echo $(check_PROGRAMS) | tr ' ' '\n' | grep -E '^tests/(checkpoint|os|parcel|plan|pool|spill|store|tape|trace)/' | tr '\n' ' ')"

CLEANFILES += amalgamation/reel.c amalgamation/reel.h
EXTRA_DIST += %D%/amalgamate.awk %D%/config.in %D%/prologue.in
