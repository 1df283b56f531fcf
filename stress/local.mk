# `make stress` runs reel-stress; STRESS_FLAGS are its options.
noinst_PROGRAMS += %D%/reel-stress
%C%_reel_stress_SOURCES = \
	%D%/reel-stress.c \
	%D%/stress.h \
	%D%/draw.c \
	%D%/tapes.c \
	%D%/lanes.c \
	%D%/pairs.c \
	%D%/subject.c %D%/subject.h \
	%D%/store.c \
	%D%/watch.c \
	%D%/report.c
%C%_reel_stress_LDADD = libreel-omp-core.la libreel-core.la -lm
%C%_reel_stress_LDFLAGS = $(AM_LDFLAGS) $(OPENMP_CFLAGS)

.PHONY: stress
stress: %D%/reel-stress$(EXEEXT)
	%D%/reel-stress$(EXEEXT) $(STRESS_FLAGS)

EXTRA_DIST += %D%/README.md %D%/soak.sh
