include bench/kernels/local.mk

# `make bench` runs reel-bench; BENCH_FLAGS are its options.
noinst_PROGRAMS += %D%/reel-bench
%C%_reel_bench_SOURCES = \
	%D%/reel-bench.c \
	%D%/bench.h \
	%D%/measure.c %D%/measure.h \
	%D%/sweeps.c \
	%D%/instructions.c \
	%D%/b-floor.c \
	%D%/b-bulk.c \
	%D%/b-record.c \
	%D%/b-single.c \
	%D%/b-cold.c \
	%D%/b-threads.c \
	%D%/b-kernels.c
%C%_reel_bench_CFLAGS = $(AM_CFLAGS)
$(%C%_reel_bench_OBJECTS): CFLAGS += -O3
%C%_reel_bench_LDADD = libreel-kernels.la libreel.la -lm

.PHONY: bench bench-instructions
bench: %D%/reel-bench$(EXEEXT)
	%D%/reel-bench$(EXEEXT) $(BENCH_FLAGS)

# What a push and a pop of a double cost in instructions.
bench-instructions: %D%/reel-bench$(EXEEXT)
	$(srcdir)/%D%/instructions.sh %D%/reel-bench$(EXEEXT)

EXTRA_DIST += %D%/instructions.sh %D%/results.sh %D%/RESULTS.md
