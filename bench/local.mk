# SPDX-License-Identifier: MIT
include bench/kernels/local.mk

# bench/digits/digits.sh runs this program. A test has its loops.
bench_models = %D%/digits/models.c %D%/digits/models.h
noinst_PROGRAMS += %D%/digits/digits
%C%_digits_digits_SOURCES = %D%/digits/digits.c $(bench_models)
%C%_digits_digits_LDADD = libreel.la -lm
$(%C%_digits_digits_OBJECTS): CFLAGS += $(FAST_CFLAGS)

# `make bench` runs reel-bench; BENCH_FLAGS are its options.
noinst_PROGRAMS += %D%/reel-bench
%C%_reel_bench_SOURCES = \
	%D%/reel-bench.c \
	%D%/common/bench.h \
	%D%/common/memory.c \
	%D%/common/measure.c %D%/common/measure.h \
	%D%/common/sweeps.c \
	%D%/common/count.c %D%/common/count.h \
	%D%/common/report.c %D%/common/report.h \
	%D%/common/plot.c %D%/common/plot.h \
	%D%/b-floor.c \
	%D%/b-bulk.c \
	%D%/b-record.c \
	%D%/b-single.c \
	%D%/b-sum.c \
	%D%/b-cold.c \
	%D%/b-open.c \
	%D%/b-threads.c \
	%D%/b-recording.c \
	%D%/b-kernels.c \
	%D%/peers/b-peer.c %D%/peers/adolc.h \
	%D%/b-memory.c \
	%D%/spill/b-spill.c %D%/spill/spill.h \
	%D%/spill/spill-sweep.c \
	%D%/spill/spill-peers.c \
	%D%/spill/spill-ranks.c \
	%D%/spill/spill-share.c \
	%D%/spill/spill-size.c \
	%D%/spill/spill-cost.c \
	%D%/spill/spill-codec.c \
	%D%/spill/spill-parcels.c \
	%D%/b-gpu.c \
	%D%/b-plan.c \
	%D%/b-checkpoint.c tests/helpers/store-later.c \
	%D%/b-instructions.c
%C%_reel_bench_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/bench -I$(top_srcdir)/examples/gradients
%C%_reel_bench_CFLAGS = $(AM_CFLAGS)
%C%_reel_bench_LDFLAGS = $(AM_LDFLAGS) $(OPENMP_CFLAGS)
# Each loop begins at a cache line: a loop that lies across two lines may take twice as long.
$(%C%_reel_bench_OBJECTS): CFLAGS += $(FAST_CFLAGS) -falign-loops=64
%C%_reel_bench_LDADD = $(ADOLC_OBJECT) $(CXX_OBJECTS) libreel-kernels.la libreel-cuda-core.la \
	libreel.la $(ADOLC_LIBS) \
	$(CXX_LIBS) -lm

# reel-scale calls hidden functions of the library, to take and give slabs without a tape.
noinst_PROGRAMS += %D%/reel-scale
%C%_reel_scale_SOURCES = \
	%D%/scale/reel-scale.c \
	%D%/common/bench.h %D%/scale/scale.h \
	%D%/common/memory.c \
	%D%/common/measure.c %D%/common/measure.h \
	%D%/common/report.c %D%/common/report.h \
	%D%/common/plot.c %D%/common/plot.h \
	%D%/common/place.c %D%/common/place.h \
	%D%/common/team.c %D%/common/team.h \
	%D%/common/histogram.c %D%/common/histogram.h \
	%D%/scale/b-scale-pool.c \
	%D%/scale/b-scale-latency.c \
	%D%/scale/b-scale-tail.c \
	%D%/scale/b-scale-tape.c \
	%D%/scale/b-scale-region.c \
	%D%/scale/b-scale-phase.c \
	tools/kernel-file.c tools/kernel-file.h tools/facts.h
%C%_reel_scale_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/bench -I$(top_srcdir)/examples
%C%_reel_scale_CFLAGS = $(AM_CFLAGS) $(CK_CFLAGS) $(OPENMP_CFLAGS)
$(%C%_reel_scale_OBJECTS): CFLAGS += $(FAST_CFLAGS)
%C%_reel_scale_LDADD = $(scale_omp) libreel-core.la -lm

# The drop-in for Tapenade's stack. Calls have to be out of line, so each stack and its sweeps are separate files.
noinst_PROGRAMS += %D%/reel-bench-dropin
%C%_reel_bench_dropin_SOURCES = \
	%D%/reel-bench.c \
	%D%/common/bench.h \
	%D%/common/memory.c \
	%D%/common/measure.c %D%/common/measure.h \
	%D%/common/report.c %D%/common/report.h \
	%D%/common/plot.c %D%/common/plot.h \
	%D%/dropin/b-dropin.c %D%/dropin/dropin.h \
	%D%/dropin/dropin-sweeps.h %D%/dropin/dropin-calls.h \
	%D%/dropin/dropin-static.c \
	%D%/dropin/dropin-shared.c \
	%D%/dropin/dropin-inline.c \
	%D%/dropin/dropin-bump.c %D%/dropin/dropin-bump-sweeps.c \
	%D%/dropin/dropin-original.c %D%/dropin/dropin-original-sweeps.c
%C%_reel_bench_dropin_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/bench -DREEL_BENCH_DROPIN=1 \
	-DDROPIN_LIBRARY='"$(abs_top_builddir)/.libs/libreel-adstack.so"'
%C%_reel_bench_dropin_LDADD = libreel-adstack-core.la -ldl -lm

# The program that bench/enzyme.sh runs, with the driver of the tests.
noinst_PROGRAMS += %D%/dropin/enzyme-loop
%C%_dropin_enzyme_loop_SOURCES = \
	%D%/dropin/enzyme-loop.c \
	%D%/common/measure.c %D%/common/measure.h
%C%_dropin_enzyme_loop_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/bench -I$(top_srcdir)/tests
%C%_dropin_enzyme_loop_LDADD = libreel-enzyme.la libreel.la -lm
$(%C%_dropin_enzyme_loop_OBJECTS): CFLAGS += $(FAST_CFLAGS)

if OPENMP
%C%_reel_bench_SOURCES += %D%/b-lookahead.c %D%/b-adjoint.c %D%/b-omp.c %D%/b-sedov.c
%C%_reel_bench_LDADD += libreel-gradients.la libsedov.la libreel-omp.la
%D%/reel_bench-b-omp.$(OBJEXT) %D%/reel_bench-b-sedov.$(OBJEXT): CFLAGS += $(OPENMP_CFLAGS)
%D%/reel_bench-b-sedov.$(OBJEXT): CPPFLAGS += -I$(srcdir)/examples/sedov -I$(srcdir)/examples
scale_omp = libreel-omp-core.la
endif

# Automake would need a C++ compiler in every build for these; with their own rules only this part needs one. Loops begin
# at a cache line: a loop of one cycle, as Clad's forms have, takes two cycles if it lies across two lines.
if BENCH_ADOLC
ADOLC_OBJECT = %D%/adolc.o
ADOLC_LIBS = -ladolc -lstdc++
%D%/adolc.o: %D%/peers/adolc.cpp %D%/peers/adolc.h
	$(AM_V_GEN)$(CXX) $(CPPFLAGS) -O3 $(CXXFLAGS) -c -o $@ $(srcdir)/%D%/peers/adolc.cpp
endif
if BENCH_CXX
CXX_OBJECTS = %D%/b-clad.o %D%/b-cplusplus.o
CXX_LIBS = -lstdc++
bench_cxx = $(CXX) $(DEFS) $(DEFAULT_INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) -I$(srcdir)/%D%
bench_cxxflags = -falign-loops=64 -falign-jumps=64 -Wno-ignored-optimization-argument $(CXXFLAGS)
%D%/b-clad.o: %D%/peers/b-clad.cpp %D%/peers/clad-cursors.h %D%/peers/clad-slabs.h %D%/common/bench.h \
		$(reelclad_HEADERS) $(reelinclude_HEADERS)
	$(AM_V_GEN)$(bench_cxx) -I$(top_srcdir)/dropin -std=c++17 -O3 $(bench_cxxflags) -c -o $@ $(srcdir)/%D%/peers/b-clad.cpp
%D%/b-cplusplus.o: %D%/b-cplusplus.cpp %D%/common/bench.h $(include_HEADERS) $(reelinclude_HEADERS)
	$(AM_V_GEN)$(bench_cxx) -std=c++14 -O3 $(bench_cxxflags) -c -o $@ $(srcdir)/%D%/b-cplusplus.cpp
endif
CLEANFILES += %D%/adolc.o %D%/b-clad.o %D%/b-cplusplus.o

.PHONY: bench bench-dropin bench-instructions bench-scale
bench: %D%/reel-bench$(EXEEXT)
	OMP_WAIT_POLICY=passive %D%/reel-bench$(EXEEXT) $(BENCH_FLAGS)

bench-dropin: %D%/reel-bench-dropin$(EXEEXT) libreel-adstack.la
	%D%/reel-bench-dropin$(EXEEXT) $(BENCH_FLAGS)

bench-scale: %D%/reel-scale$(EXEEXT)
	%D%/reel-scale$(EXEEXT) $(BENCH_FLAGS)

# Counts the instructions of a push and a pop in each shape.
bench-instructions: %D%/reel-bench$(EXEEXT)
	%D%/reel-bench$(EXEEXT) --only '^instructions/'

# The program that bench/ranks/ranks.sh runs, to measure the cost of ranks.
if MPI
noinst_PROGRAMS += %D%/ranks/halo
%C%_ranks_halo_SOURCES = %D%/ranks/halo.c examples/tsunami/model/ranks.c $(examples_world)
%C%_ranks_halo_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/examples/tsunami -I$(top_srcdir)/examples
%C%_ranks_halo_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS) $(MPI_CFLAGS)
%C%_ranks_halo_LDADD = libtsunami.la libreel-mpi.la libreel-omp.la libreel.la $(MPI_LIBS) -lm
endif
# checkpoint.py, offload.py and, on a GPU, perceptron.py measure PyTorch's saved tensors, wave.py a gradient in JAX; their
# first comments have their usage.
EXTRA_DIST += %D%/checkpoint.py %D%/offload.py %D%/perceptron.py %D%/python.py %D%/enzyme.sh %D%/petsc.sh %D%/seeing.sh %D%/two-files.sh %D%/wave.py
EXTRA_DIST += %D%/results.sh %D%/runs.awk %D%/rows.awk %D%/machine.awk %D%/figures.awk %D%/tables.awk %D%/chart.awk %D%/front.awk %D%/steps.awk %D%/RESULTS.md %D%/RESULTS-steps.md %D%/RESULTS-seeing.md %D%/RESULTS-gpu.md \
	%D%/peers/adolc.cpp \
	%D%/b-cplusplus.cpp %D%/peers/b-clad.cpp %D%/peers/clad-cursors.h %D%/peers/clad-slabs.h \
	%D%/kernels.svg %D%/front.svg %D%/steps.svg \
	%D%/digits/digits.sh %D%/digits/digits.awk %D%/RESULTS-digits.md %D%/digits.svg \
	%D%/ranks/ranks.sh %D%/ranks/ranks.awk \
	%D%/scale/scaling.sh %D%/scale/scaling.awk %D%/SCALING.md %D%/scaling.svg
