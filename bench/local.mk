include bench/kernels/local.mk

# `make bench` runs reel-bench; BENCH_FLAGS are its options.
noinst_PROGRAMS += %D%/reel-bench
%C%_reel_bench_SOURCES = \
	%D%/reel-bench.c \
	%D%/bench.h \
	%D%/memory.c \
	%D%/measure.c %D%/measure.h \
	%D%/sweeps.c \
	%D%/count.c %D%/count.h \
	%D%/report.c %D%/report.h \
	%D%/plot.c %D%/plot.h \
	%D%/b-floor.c \
	%D%/b-bulk.c \
	%D%/b-record.c \
	%D%/b-single.c \
	%D%/b-cold.c \
	%D%/b-threads.c \
	%D%/b-kernels.c \
	%D%/b-peer.c %D%/adolc.h \
	%D%/b-memory.c \
	%D%/b-spill.c %D%/spill.h \
	%D%/spill-sweep.c \
	%D%/spill-peers.c \
	%D%/spill-share.c \
	%D%/spill-size.c \
	%D%/spill-cost.c \
	%D%/spill-codec.c \
	%D%/b-gpu.c \
	%D%/b-plan.c \
	%D%/b-checkpoint.c \
	%D%/b-instructions.c
%C%_reel_bench_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/examples/gradients -I$(top_srcdir)/gpu
%C%_reel_bench_CFLAGS = $(AM_CFLAGS)
%C%_reel_bench_LDFLAGS = $(AM_LDFLAGS) $(OPENMP_CFLAGS)
# Loops begin lines of the cache: one that lies across two may take twice as long.
$(%C%_reel_bench_OBJECTS): CFLAGS += -O3 -falign-loops=64
%C%_reel_bench_LDADD = $(ADOLC_OBJECT) $(CLAD_OBJECT) libreel-kernels.la libreel-cuda-core.la \
	libreel.la $(ADOLC_LIBS) \
	$(CLAD_LIBS) -lm

# Threads: with hidden functions, since slabs are taken and given without a tape, too.
noinst_PROGRAMS += %D%/reel-scale
%C%_reel_scale_SOURCES = \
	%D%/reel-scale.c \
	%D%/bench.h %D%/scale.h \
	%D%/memory.c \
	%D%/measure.c %D%/measure.h \
	%D%/report.c %D%/report.h \
	%D%/plot.c %D%/plot.h \
	%D%/place.c %D%/place.h \
	%D%/place-hwloc.c \
	%D%/team.c %D%/team.h \
	%D%/histogram.c %D%/histogram.h \
	%D%/b-scale-pool.c \
	%D%/b-scale-latency.c \
	%D%/b-scale-tail.c \
	%D%/b-scale-tape.c \
	%D%/b-scale-region.c \
	tools/kernel-file.c tools/kernel-file.h tools/facts.h
%C%_reel_scale_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)
%C%_reel_scale_CFLAGS = $(AM_CFLAGS) $(CK_CFLAGS) $(OPENMP_CFLAGS) $(HWLOC_CFLAGS)
$(%C%_reel_scale_OBJECTS): CFLAGS += -O3
%C%_reel_scale_LDADD = $(scale_omp) libreel-core.la $(HWLOC_LIBS) -lm

# The drop-in for Tapenade's stack: calls out of line, so each stack and its sweeps are files apart.
noinst_PROGRAMS += %D%/reel-bench-dropin
%C%_reel_bench_dropin_SOURCES = \
	%D%/reel-bench.c \
	%D%/bench.h \
	%D%/memory.c \
	%D%/measure.c %D%/measure.h \
	%D%/report.c %D%/report.h \
	%D%/plot.c %D%/plot.h \
	%D%/b-dropin.c %D%/dropin.h \
	%D%/dropin-sweeps.h %D%/dropin-calls.h \
	%D%/dropin-static.c \
	%D%/dropin-shared.c \
	%D%/dropin-inline.c \
	%D%/dropin-bump.c %D%/dropin-bump-sweeps.c \
	%D%/dropin-original.c %D%/dropin-original-sweeps.c
%C%_reel_bench_dropin_CPPFLAGS = $(AM_CPPFLAGS) -DREEL_BENCH_DROPIN=1 \
	-DDROPIN_LIBRARY='"$(abs_top_builddir)/.libs/libreel-adstack.so"'
%C%_reel_bench_dropin_LDADD = libreel-adstack-core.la -ldl -lm

if OPENMP
%C%_reel_bench_SOURCES += %D%/b-lookahead.c %D%/b-adjoint.c %D%/b-omp.c
%C%_reel_bench_LDADD += libreel-gradients.la libreel-omp.la
%D%/reel_bench-b-omp.$(OBJEXT): CFLAGS += $(OPENMP_CFLAGS)
scale_omp = libreel-omp-core.la
endif

# Rules of their own, so that all else needs no C++ compiler. A loop of one cycle takes two where it
# lies across a line of the instructions' cache: those of Clad's forms begin at one.
if BENCH_ADOLC
ADOLC_OBJECT = %D%/adolc.o
ADOLC_LIBS = -ladolc -lstdc++
%D%/adolc.o: %D%/adolc.cpp %D%/adolc.h
	$(AM_V_GEN)$(CXX) $(CPPFLAGS) -O3 $(CXXFLAGS) -c -o $@ $(srcdir)/%D%/adolc.cpp
endif
if BENCH_CLAD
CLAD_OBJECT = %D%/b-clad.o
CLAD_LIBS = -lstdc++
%D%/b-clad.o: %D%/b-clad.cpp %D%/clad-cursors.h %D%/clad-slabs.h %D%/bench.h \
		$(reelclad_HEADERS) $(reelinclude_HEADERS)
	$(AM_V_GEN)$(CXX) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) -I$(top_srcdir)/dropin $(CPPFLAGS) \
	  -I$(srcdir)/%D% -std=c++17 -O3 -falign-loops=64 -falign-jumps=64 \
	  -Wno-ignored-optimization-argument $(CXXFLAGS) -c -o $@ $(srcdir)/%D%/b-clad.cpp
endif
CLEANFILES += %D%/adolc.o %D%/b-clad.o

.PHONY: bench bench-dropin bench-instructions bench-scale
bench: %D%/reel-bench$(EXEEXT)
	OMP_WAIT_POLICY=passive %D%/reel-bench$(EXEEXT) $(BENCH_FLAGS)

bench-dropin: %D%/reel-bench-dropin$(EXEEXT) libreel-adstack.la
	%D%/reel-bench-dropin$(EXEEXT) $(BENCH_FLAGS)

bench-scale: %D%/reel-scale$(EXEEXT)
	%D%/reel-scale$(EXEEXT) $(BENCH_FLAGS)

# What a push and a pop cost in instructions, in each shape.
bench-instructions: %D%/reel-bench$(EXEEXT)
	%D%/reel-bench$(EXEEXT) --only '^instructions/'

EXTRA_DIST += %D%/results.sh %D%/rows.awk %D%/figures.awk %D%/tables.awk %D%/RESULTS.md \
	%D%/adolc.cpp \
	%D%/b-clad.cpp %D%/clad-cursors.h %D%/clad-slabs.h \
	%D%/kernels.svg \
	%D%/scaling.sh %D%/scaling.awk %D%/SCALING.md %D%/scaling.svg
