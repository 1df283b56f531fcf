# SPDX-License-Identifier: MIT
# A test is one line here: tests/FOLDER/t-NAME.c, linked with the convenience library, so that it can call
# hidden functions.

# Tags follow a test on its line. They are empty variables for make; build-aux/stage.sh selects the tests of a stage by them.
# one_thread: the test has one thread, runs a program of the examples, or watches programs from another process.
# ThreadSanitizer finds nothing in one thread, and makes it five times as long; it does not see into other processes.
one_thread =
# locks: the threads of the test synchronise only by locks. helgrind does not know the order of atomics. It also reports a
# false race if a thread waits at a semaphore on its stack and uses that stack again, so stores with their own threads are
# left to the thread stages.
locks =
# parts: the test depends on parts that the stage plain leaves out or replaces, but is in a folder that plain leaves out.
parts =
# any_build: tests a program beside the library, or texts, which are the same in each build.
any_build =
# compiles: compiles its own programs with the library, which takes longer than to run them.
compiles =
# once_more: runs the whole programs of t-tsunami.sh and t-sedov-program.sh again, with the same code in another order.
once_more =
# measures: tests a program for measuring or for stress, which takes seconds by itself.
measures =
# slow: takes long with a sanitizer, and shorter tests run the same code.
slow =
# emulated: has thousands of threads of a device, each of which the emulator runs for a short time. The emulator determines
# their order, so ThreadSanitizer finds nothing in them.
emulated =

# Tests of ranks wait most of the time. They come first, so that other tests use the processors meanwhile,
# and no test of ranks runs alone at the end.
if MPI
check_PROGRAMS += \
	%D%/mpi/t-mpi-checked \
	%D%/mpi/t-mpi-collectives \
	%D%/mpi/t-mpi-errors \
	%D%/mpi/t-mpi-messages \
	%D%/mpi/t-mpi-neighbours \
	%D%/mpi/t-mpi-run \
	%D%/mpi/t-mpi-windows
endif

check_PROGRAMS += \
	%D%/tape/t-abi $(one_thread) \
	%D%/tape/t-tape $(locks) $(parts) \
	%D%/tape/t-values $(one_thread) \
	%D%/tape/t-bits $(one_thread) \
	%D%/tape/t-span $(one_thread) $(locks) $(parts) \
	%D%/tape/t-cursor $(one_thread) \
	%D%/tape/t-mark $(one_thread) $(locks) \
	%D%/tape/t-hold $(one_thread) $(locks) \
	%D%/tape/t-sum \
	%D%/tape/t-recording $(parts) \
	%D%/plan/t-schedule $(one_thread) \
	%D%/checkpoint/t-checkpoint \
	%D%/checkpoint/t-checkpoint-threads \
	%D%/checkpoint/t-checkpoint-memory \
	%D%/checkpoint/t-snapshot \
	%D%/checkpoint/t-close-order $(one_thread) \
	%D%/checkpoint/t-restart $(one_thread) \
	%D%/checkpoint/t-drive $(one_thread) \
	%D%/checkpoint/t-learn \
	%D%/checkpoint/t-loss \
	%D%/checkpoint/t-accuracy $(one_thread) \
	%D%/checkpoint/t-run-progress $(one_thread) \
	%D%/checkpoint/t-save-now \
	%D%/checkpoint/t-run-group \
	%D%/plan/t-plan-binomial $(one_thread) \
	%D%/plan/t-plan-tables $(one_thread) \
	%D%/plan/t-plan-text $(one_thread) \
	%D%/plan/t-auto $(one_thread) $(slow) \
	%D%/plan/t-plan-uneven $(one_thread) $(slow) \
	%D%/plan/t-plan-search $(one_thread) $(slow) \
	%D%/plan/t-costs $(one_thread) \
	%D%/plan/t-choose $(one_thread) \
	%D%/whole/t-digits $(one_thread) \
	%D%/whole/t-kernels $(one_thread) \
	%D%/tape/t-check \
	%D%/tape/t-error $(one_thread) \
	%D%/tape/t-random \
	%D%/pool/t-page-kind $(one_thread) \
	%D%/pool/t-pool \
	%D%/pool/t-magazine \
	%D%/pool/t-budget \
	%D%/os/t-wakeup \
	%D%/os/t-wakeup-condition \
	%D%/pool/t-share \
	%D%/pool/t-slab $(one_thread) \
	%D%/spill/t-slab-owner \
	%D%/spill/t-prefetch \
	%D%/spill/t-offload \
	%D%/spill/t-pool-text \
	%D%/spill/t-spill \
	%D%/spill/t-spill-faults \
	%D%/spill/t-spill-large \
	%D%/spill/t-spill-tapes \
	%D%/spill/t-spill-process \
	%D%/spill/t-spill-share \
	%D%/spill/t-spill-limits \
	%D%/spill/t-spill-budget \
	%D%/spill/t-pressure \
	%D%/parcel/t-parcel \
	%D%/parcel/t-parcel-random \
	%D%/parcel/t-parcel-faults \
	%D%/pool/t-thread \
	%D%/os/t-cancel \
	%D%/pool/t-fork \
	%D%/whole/t-faults \
	%D%/os/t-environment \
	%D%/os/t-os-thread \
	%D%/os/t-signals $(one_thread) \
	%D%/os/t-memory-limit \
	%D%/os/t-memory-pressure \
	%D%/store/t-file-slots $(one_thread) \
	%D%/store/t-store-file \
	%D%/store/t-store-file-open \
	%D%/store/t-store-file-faults \
	%D%/store/t-store \
	%D%/store/t-store-fault $(locks) \
	%D%/store/t-store-open $(one_thread) $(locks) \
	%D%/gpu/t-gpu-driver $(one_thread) \
	%D%/gpu/t-gpu-hip $(one_thread) \
	%D%/gpu/t-gpu-fake \
	%D%/gpu/t-gpu-store \
	%D%/gpu/t-gpu-spill \
	%D%/gpu/t-gpu-faults \
	%D%/gpu/t-gpu-mutants \
	%D%/gpu/t-gpu-pinned \
	%D%/gpu/t-gpu-checkpoint \
	%D%/gpu/t-gpu-device \
	%D%/store/t-crc32c $(one_thread) \
	%D%/store/t-shuffle $(one_thread) \
	%D%/store/t-difference $(one_thread) \
	%D%/store/t-quantise $(one_thread) \
	%D%/store/t-rice $(one_thread) \
	%D%/pool/t-freelist-c11 \
	%D%/tools/t-scheduler \
	%D%/spill/t-progress \
	%D%/tape/t-version $(one_thread) \
	%D%/trace/t-live \
	%D%/trace/t-trace \
	%D%/dropin/t-adstack \
	%D%/dropin/t-adstack-beside \
	%D%/dropin/t-adstack-random \
	%D%/dropin/t-adstack-segments

if POOL_CK
check_PROGRAMS += %D%/pool/t-freelist-ck
endif
if HAVE_LZ4
check_PROGRAMS += %D%/store/t-pack $(one_thread)
endif

if OPENMP
check_PROGRAMS += \
	%D%/omp/t-omp-checkpoint \
	%D%/omp/t-omp-group \
	%D%/omp/t-omp-memory \
	%D%/omp/t-omp-faults \
	%D%/omp/t-omp-cancel \
	%D%/omp/t-omp-patterns \
	%D%/omp/t-adjoint-omp
endif
check_PROGRAMS += \
	%D%/omp/t-adjoint \
	%D%/omp/t-adjoint-check \
	%D%/omp/t-adjoint-faults $(one_thread) \
	%D%/omp/t-lane-recording \
	%D%/omp/t-binding \
	%D%/omp/t-lane-run \
	%D%/omp/t-region \
	%D%/omp/t-region-end \
	%D%/omp/t-deadlock \
	%D%/omp/t-task \
	%D%/omp/t-team-size \
	%D%/omp/t-reduction \
	%D%/omp/t-region-faults \
	%D%/omp/t-region-trace $(one_thread) \
	%D%/omp/t-observe \
	%D%/whole/t-gradient $(parts) \
	%D%/whole/t-sedov \
	%D%/whole/t-sedov-gradient \
	%D%/whole/t-gradient-faults \
	%D%/whole/t-gradient-process

# Scripts find the source and build directories in the environment. The longest ones come first.
dist_check_SCRIPTS += \
	%D%/python/t-torch.sh $(one_thread) \
	%D%/python/t-jax.sh $(one_thread) \
	%D%/python/t-python.sh $(one_thread) \
	%D%/dropin/t-adstack-process.sh $(parts) \
	%D%/dropin/t-adstack-programs.sh $(compiles) $(one_thread) \
	%D%/tools/t-bench.sh $(measures) $(any_build) \
	%D%/source/t-configure.sh \
	%D%/tape/t-cplusplus.sh $(one_thread) \
	%D%/omp/t-omp-cplusplus.sh \
	%D%/omp/t-region-bounds.sh $(any_build) \
	%D%/omp/t-region-statements.sh \
	%D%/dropin/t-enzyme-languages.sh $(compiles) $(one_thread) \
	%D%/dropin/t-plan-texts.sh $(compiles) $(one_thread) \
	%D%/dropin/t-fortran.sh $(compiles) $(one_thread) \
	%D%/source/t-amalgamation.sh $(compiles) \
	%D%/source/t-cmake.sh $(any_build) $(compiles) \
	%D%/source/t-guide.sh $(compiles) \
	%D%/fuzz/t-fuzz.sh \
	%D%/gpu/t-gpu-open.sh \
	%D%/gpu/t-gpu-try.sh $(measures) $(one_thread) $(slow) \
	%D%/whole/t-gradients.sh $(one_thread) \
	%D%/source/t-generated.sh \
	%D%/source/t-headers.sh \
	%D%/tools/t-coverage.sh \
	%D%/tools/t-info.sh $(any_build) \
	%D%/source/t-layers.sh \
	%D%/source/t-lists.sh \
	%D%/mpi/t-mpi-fortran.sh $(compiles) \
	%D%/source/t-names.sh \
	%D%/source/t-models.sh \
	%D%/mpi/t-mpi-random.sh \
	%D%/tools/t-mutate.sh $(any_build) \
	%D%/source/t-omp-page.sh \
	%D%/source/t-packaging.sh \
	%D%/omp/t-omp-runtimes.sh \
	%D%/tools/t-options.sh $(any_build) \
	%D%/dropin/t-petsc.sh $(compiles) \
	%D%/dropin/t-petsc-examples.sh $(compiles) \
	%D%/dropin/t-petsc-random.sh $(compiles) \
	%D%/tools/t-plan.sh $(one_thread) $(slow) \
	%D%/tools/t-profile.sh $(any_build) \
	%D%/tools/t-report.sh $(any_build) \
	%D%/tools/t-top.sh $(one_thread) \
	%D%/tools/t-tune.sh $(measures) $(any_build) \
	%D%/tools/t-scale.sh $(measures) $(any_build) \
	%D%/tools/t-stress.sh $(measures) $(parts) \
	%D%/source/t-recipes.sh $(compiles) \
	%D%/source/t-reference.sh \
	%D%/source/t-site.sh \
	%D%/source/t-stages.sh \
	%D%/source/t-symbols.sh \
	%D%/source/t-words.sh $(any_build) \
	%D%/trace/t-trace-programs.sh $(once_more) \
	%D%/whole/t-sedov-program.sh $(one_thread) \
	%D%/whole/t-sedov-ranks.sh $(once_more) \
	%D%/whole/t-tsunami.sh $(one_thread) \
	%D%/whole/t-tsunami-checkpoint.sh $(once_more) $(one_thread) \
	%D%/whole/t-tsunami-ranks.sh $(once_more) $(one_thread) \
	%D%/whole/t-tsunami-restart.sh $(once_more) $(one_thread) \
	%D%/omp/t-verifier.sh $(compiles)

# All tests share these, so that a test needs only its line above.
AM_CPPFLAGS += -I$(top_srcdir) -I$(top_srcdir)/tests -I$(top_srcdir)/lib
LDADD = libreel-tap.la libreel-test-stores.la libreel-core.la -lm

# Tests are linked without libtool's wrapper script, so that debuggers and valgrind run the test itself.
AM_LDFLAGS = -no-install

noinst_HEADERS += %D%/helpers/support.h %D%/helpers/pool-support.h %D%/helpers/late-store.h %D%/helpers/store-verbs.h %D%/helpers/held-store.h %D%/helpers/clock-back.h \
	%D%/helpers/spill-support.h \
	%D%/helpers/file-support.h %D%/helpers/cheapest.h %D%/helpers/plan-support.h %D%/helpers/table.h %D%/helpers/recurrence.h \
	%D%/helpers/refusals.h %D%/helpers/adstack-support.h %D%/helpers/adjoint-support.h %D%/helpers/thread-team.h \
	%D%/helpers/omp-reports.h %D%/helpers/gpu-support.h %D%/helpers/mutants.h %D%/helpers/file-refusals.h %D%/helpers/process-support.h %D%/helpers/share-support.h \
	%D%/helpers/cancel-support.h %D%/helpers/file-tree.h %D%/helpers/pretended-trigger.h \
	%D%/helpers/meeting.h %D%/helpers/ranks.h %D%/helpers/slab-refusals.h \
	%D%/helpers/comma-locale.h %D%/helpers/trace-support.h

check_LTLIBRARIES += libreel-tap.la
libreel_tap_la_SOURCES = %D%/tap/tap.c %D%/tap/tap.h

# Stores for tests: layers that count transfers, or make them fail. They call hidden functions of the library that layers
# share, so they come before the library on the linker's command line.
noinst_LTLIBRARIES += libreel-test-stores.la
libreel_test_stores_la_SOURCES = \
	%D%/helpers/store-count.c %D%/helpers/store-count.h \
	%D%/helpers/store-fault.c %D%/helpers/store-fault.h

%C%_store_t_store_SOURCES = %D%/store/t-store.c $(store_suite) %D%/helpers/store-later.c %D%/helpers/store-later.h
%C%_spill_t_spill_faults_SOURCES = %D%/spill/t-spill-faults.c %D%/helpers/store-later.c %D%/helpers/store-later.h
%C%_store_t_store_fault_SOURCES = %D%/store/t-store-fault.c $(store_suite)
%C%_store_t_store_open_SOURCES = %D%/store/t-store-open.c $(store_suite)

# Tests on the fake device, which the names of their checks mention.
gpu_test_libraries = libreel-tap.la libreel-cuda-core.la libreel-fake-device.la libreel-test-stores.la libreel-core.la -lm
gpu_test_cppflags = $(AM_CPPFLAGS) -I$(top_srcdir)/gpu
%C%_gpu_t_gpu_driver_CPPFLAGS = $(gpu_test_cppflags) $(CUDA_HEADER_CPPFLAGS)
%C%_gpu_t_gpu_hip_CPPFLAGS = $(gpu_test_cppflags)
%C%_gpu_t_gpu_fake_CPPFLAGS = $(gpu_test_cppflags)
%C%_gpu_t_gpu_fake_LDADD = $(gpu_test_libraries)
%C%_gpu_t_gpu_spill_CPPFLAGS = $(gpu_test_cppflags)
%C%_gpu_t_gpu_spill_LDADD = $(gpu_test_libraries)
%C%_gpu_t_gpu_faults_CPPFLAGS = $(gpu_test_cppflags)
%C%_gpu_t_gpu_faults_LDADD = $(gpu_test_libraries)
%C%_gpu_t_gpu_mutants_CPPFLAGS = $(gpu_test_cppflags)
%C%_gpu_t_gpu_mutants_LDADD = $(gpu_test_libraries)
%C%_gpu_t_gpu_pinned_CPPFLAGS = $(gpu_test_cppflags)
%C%_gpu_t_gpu_pinned_LDADD = $(gpu_test_libraries)
%C%_gpu_t_gpu_device_SOURCES = %D%/gpu/t-gpu-device.c $(store_suite)
%C%_gpu_t_gpu_device_LDADD = $(gpu_test_libraries)
%C%_gpu_t_gpu_checkpoint_CPPFLAGS = $(gpu_test_cppflags)
%C%_gpu_t_gpu_checkpoint_LDADD = $(gpu_test_libraries)
%C%_gpu_t_gpu_store_CPPFLAGS = $(gpu_test_cppflags)
%C%_gpu_t_gpu_store_LDADD = $(gpu_test_libraries)
%C%_gpu_t_gpu_store_SOURCES = %D%/gpu/t-gpu-store.c $(store_suite) %D%/helpers/store-later.c %D%/helpers/store-later.h

store_suite = %D%/helpers/store-suite.c %D%/helpers/store-suite.h
%C%_store_t_pack_CPPFLAGS = $(AM_CPPFLAGS) $(LZ4_CFLAGS)

%C%_plan_t_plan_tables_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_DATA='"$(abs_top_srcdir)/tests/data"'
EXTRA_DIST += \
	%D%/README.md \
	%D%/tools/report-browser.py \
	%D%/data/binomial_optimum.csv \
	%D%/data/diskrevolve_costs.csv \
	%D%/data/hrevolve_costs.csv \
	%D%/data/mixed_optimum.csv \
	%D%/data/mixed_sized_optimum.csv \
	%D%/data/multistage_access_counts.csv \
	%D%/data/online_costs.csv \
	%D%/data/parallel_reversal.csv \
	%D%/data/parallel_reversal_splits.csv \
	%D%/data/twolevel_periodic.csv

%C%_omp_t_omp_checkpoint_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/omp
%C%_omp_t_omp_checkpoint_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_omp_checkpoint_LDADD = $(omp_test_libraries)

omp_test_libraries = libreel-tap.la libreel-omp-core.la libreel-test-stores.la libreel-core.la -lm
%C%_omp_t_region_faults_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_region_faults_LDADD = $(omp_test_libraries)
%C%_omp_t_region_faults_LDFLAGS = $(AM_LDFLAGS) $(refusals_ldflags)
%C%_omp_t_binding_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_binding_LDADD = $(omp_test_libraries)
%C%_omp_t_lane_run_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_region_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_region_end_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_deadlock_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_lane_recording_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_reduction_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_task_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_observe_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_lane_run_LDADD = $(omp_test_libraries)
%C%_omp_t_region_LDADD = $(omp_test_libraries)
%C%_omp_t_region_end_LDADD = $(omp_test_libraries)
%C%_omp_t_deadlock_LDADD = $(omp_test_libraries)
%C%_omp_t_lane_recording_LDADD = $(omp_test_libraries)
%C%_omp_t_reduction_LDADD = $(omp_test_libraries)
%C%_omp_t_task_LDADD = $(omp_test_libraries)
%C%_omp_t_team_size_LDADD = $(omp_test_libraries)
%C%_omp_t_team_size_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_observe_LDADD = $(omp_test_libraries)
%C%_omp_t_region_trace_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_region_trace_LDADD = $(omp_test_libraries)

%C%_omp_t_adjoint_LDADD = $(omp_test_libraries)
%C%_omp_t_adjoint_LDFLAGS = $(AM_LDFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_adjoint_check_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/omp
%C%_omp_t_adjoint_check_LDADD = $(omp_test_libraries)
%C%_omp_t_adjoint_check_LDFLAGS = $(AM_LDFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_adjoint_omp_LDADD = $(omp_test_libraries)
%C%_omp_t_adjoint_omp_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_adjoint_faults_LDADD = $(omp_test_libraries)
%C%_omp_t_adjoint_faults_LDFLAGS = $(AM_LDFLAGS) $(OPENMP_CFLAGS) $(refusals_ldflags)
%C%_omp_t_omp_group_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_omp_group_LDADD = $(omp_test_libraries)
%C%_omp_t_omp_memory_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_omp_memory_LDADD = $(omp_test_libraries)
%C%_omp_t_omp_cancel_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_omp_cancel_LDADD = $(omp_test_libraries)
%C%_omp_t_omp_faults_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_omp_faults_LDADD = $(omp_test_libraries)
%C%_omp_t_omp_patterns_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_omp_t_omp_patterns_SOURCES = %D%/omp/t-omp-patterns.c $(omp_patterns)
%C%_omp_t_omp_patterns_LDADD = $(omp_test_libraries)

# Programs that start themselves by mpirun.
mpi_test_cppflags = $(AM_CPPFLAGS) $(MPI_CFLAGS) -DMPIRUN='"$(MPIRUN)"' -DMPIRUN_FLAGS='"$(MPIRUN_FLAGS)"'
mpi_test_libraries = libreel-tap.la libreel-mpi-core.la libreel-core.la $(MPI_LIBS) -lm
%C%_mpi_t_mpi_checked_CPPFLAGS = $(mpi_test_cppflags)
%C%_mpi_t_mpi_checked_LDADD = $(mpi_test_libraries)
%C%_mpi_t_mpi_collectives_CPPFLAGS = $(mpi_test_cppflags)
%C%_mpi_t_mpi_collectives_LDADD = $(mpi_test_libraries)
%C%_mpi_t_mpi_errors_CPPFLAGS = $(mpi_test_cppflags)
%C%_mpi_t_mpi_errors_LDADD = libreel-test-stores.la $(mpi_test_libraries)
%C%_mpi_t_mpi_neighbours_CPPFLAGS = $(mpi_test_cppflags)
%C%_mpi_t_mpi_neighbours_LDADD = $(mpi_test_libraries)
%C%_mpi_t_mpi_windows_CPPFLAGS = $(mpi_test_cppflags)
%C%_mpi_t_mpi_windows_LDADD = $(mpi_test_libraries)
%C%_mpi_t_mpi_messages_CPPFLAGS = $(mpi_test_cppflags)
%C%_mpi_t_mpi_messages_LDADD = $(mpi_test_libraries)
%C%_mpi_t_mpi_run_CPPFLAGS = $(mpi_test_cppflags)
%C%_mpi_t_mpi_run_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_mpi_t_mpi_run_LDADD = libreel-omp-core.la $(mpi_test_libraries)

%C%_whole_t_digits_SOURCES = %D%/whole/t-digits.c $(bench_models)
%C%_whole_t_digits_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/bench
%C%_whole_t_kernels_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/bench
%C%_whole_t_kernels_LDADD = libreel-tap.la libreel-kernels.la libreel-test-stores.la libreel-core.la -lm

%C%_whole_t_sedov_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/examples/sedov -I$(top_srcdir)/examples
%C%_whole_t_sedov_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_whole_t_sedov_LDADD = libsedov.la $(omp_test_libraries)
%C%_whole_t_sedov_gradient_CPPFLAGS = $(%C%_whole_t_sedov_CPPFLAGS)
%C%_whole_t_sedov_gradient_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_whole_t_sedov_gradient_LDADD = libsedov-tangent.la libsedov.la $(omp_test_libraries)

# The kernels of the Sedov blast, compiled once more with complex numbers.
check_LTLIBRARIES += libsedov-tangent.la
libsedov_tangent_la_SOURCES = $(sedov_kernels) %D%/helpers/sedov-tangent.c %D%/helpers/sedov-tangent.h
libsedov_tangent_la_CPPFLAGS = $(%C%_whole_t_sedov_CPPFLAGS) -DSEDOV_TANGENT \
	-include $(srcdir)/%D%/helpers/sedov-tangent.h
libsedov_tangent_la_CFLAGS = $(AM_CFLAGS) $(CONVENIENCE_CFLAGS) $(OPENMP_CFLAGS)

# A whole program that uses all parts of the library.
gradient_program = %D%/helpers/gradient-program.c %D%/helpers/gradient-program.h
gradient_libraries = libreel-tap.la libreel-omp-core.la libreel-adstack-core.la -lm
%C%_whole_t_gradient_SOURCES = %D%/whole/t-gradient.c $(gradient_program)
%C%_whole_t_gradient_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_whole_t_gradient_LDADD = $(gradient_libraries)
%C%_pool_t_slab_CPPFLAGS = $(AM_CPPFLAGS) -DSLAB_HEADER='"$(abs_top_srcdir)/lib/pool/slab.h"'
%C%_whole_t_gradient_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=reel_below_read_ahead
%C%_whole_t_gradient_process_SOURCES = %D%/whole/t-gradient-process.c $(gradient_program)
%C%_whole_t_gradient_process_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_whole_t_gradient_process_LDADD = $(gradient_libraries)
%C%_whole_t_gradient_faults_SOURCES = %D%/whole/t-gradient-faults.c $(gradient_program)
%C%_whole_t_gradient_faults_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_whole_t_gradient_faults_LDADD = $(gradient_libraries)
%C%_whole_t_gradient_faults_LDFLAGS = $(AM_LDFLAGS) $(file_refusals_ldflags)

# Tests of the stack of Tapenade's adjoints, which call its hidden functions.
adstack_test_libraries = libreel-tap.la libreel-adstack-core.la -lm
%C%_dropin_t_adstack_random_LDADD = $(adstack_test_libraries)
%C%_dropin_t_adstack_segments_LDADD = $(adstack_test_libraries)
%C%_dropin_t_adstack_LDADD = $(adstack_test_libraries)
%C%_dropin_t_adstack_beside_LDADD = $(adstack_test_libraries)
%C%_dropin_t_adstack_beside_CPPFLAGS = $(AM_CPPFLAGS) -DTEST_DATA='"$(abs_top_srcdir)/tests/data"'

EXTRA_DIST += \
	%D%/adstack-programs/adStack.h \
	%D%/adstack-programs/binomial.c \
	%D%/adstack-programs/binomial.f90 \
	%D%/adstack-programs/branches.c \
	%D%/adstack-programs/early.c \
	%D%/adstack-programs/errors.c \
	%D%/adstack-programs/fixedpoint.c \
	%D%/adstack-programs/openmp.c \
	%D%/adstack-programs/openmp.f90 \
	%D%/adstack-programs/reference.c \
	%D%/adstack-programs/stencil.c \
	%D%/adstack-programs/stencil.f90 \
	%D%/adstack-programs/tangent.f90 \
	%D%/adstack-programs/tasks.c \
	%D%/adstack-programs/tasks.f90

EXTRA_DIST += \
	%D%/python/fake_torch_device.cpp %D%/python/fake_torch_device.py \
	%D%/python/test_audit.py %D%/python/test_check.py %D%/python/test_checkpoint.py \
	%D%/python/test_dolfinx.py %D%/python/test_fake_device.py %D%/python/test_jax.py %D%/python/test_library.py \
	%D%/python/test_main.py %D%/python/test_offload.py %D%/python/test_offload_device.py \
	%D%/python/test_offload_torch2.py %D%/python/test_offload_trainer.py %D%/python/test_package.py \
	%D%/python/test_plan.py %D%/python/test_pool.py %D%/python/test_pyadjoint.py %D%/python/test_ranks.py %D%/python/test_run.py \
	%D%/python/test_schedules.py %D%/python/test_tables.py %D%/python/pytest.sh \
	%D%/helpers/fortran.sh \
	%D%/helpers/ranks.sh \
	%D%/fortran-programs/arrays.f90 \
	%D%/fortran-programs/checks.f90 \
	%D%/fortran-programs/collectives.f90 \
	%D%/fortran-programs/kinds.f90 \
	%D%/fortran-programs/layout.c \
	%D%/fortran-programs/layout.f90 \
	%D%/fortran-programs/messages.f90 \
	%D%/fortran-programs/pieces.f90 \
	%D%/fortran-programs/places.f90 \
	%D%/fortran-programs/ranks.f90 \
	%D%/fortran-programs/records.f90 \
	%D%/fortran-programs/regions.f90 \
	%D%/fortran-programs/requests.f90 \
	%D%/fortran-programs/sweeps.f90 \
	%D%/fortran-programs/threads.f90 \
	%D%/fortran-programs/transpose.f90 \
	%D%/fortran-programs/values.f90

# One source, compiled for each lock-free list. Yield points find faults in milliseconds that would take hours otherwise.
%C%_pool_t_freelist_c11_SOURCES = %D%/pool/t-freelist.c
%C%_pool_t_freelist_c11_CPPFLAGS = $(AM_CPPFLAGS) -DREEL_POOL_CK=0 -DREEL_YIELD_POINTS=1
%C%_pool_t_freelist_ck_SOURCES = %D%/pool/t-freelist.c
%C%_pool_t_freelist_ck_CPPFLAGS = $(AM_CPPFLAGS) $(CK_CFLAGS) -DREEL_POOL_CK=1 -DREEL_YIELD_POINTS=1

# A test whose threads run in a schedule.
%C%_tools_t_scheduler_SOURCES = %D%/tools/t-scheduler.c $(scheduler_sources)
%C%_tools_t_scheduler_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/stress
%C%_tools_t_scheduler_LDFLAGS = $(AM_LDFLAGS) $(scheduler_ldflags)
%C%_pool_t_magazine_SOURCES = %D%/pool/t-magazine.c $(scheduler_sources)
%C%_pool_t_magazine_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/stress
%C%_pool_t_magazine_LDFLAGS = $(AM_LDFLAGS) $(scheduler_ldflags)
%C%_spill_t_progress_SOURCES = %D%/spill/t-progress.c $(scheduler_sources)
%C%_spill_t_progress_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/stress
%C%_spill_t_progress_LDFLAGS = $(AM_LDFLAGS) $(scheduler_ldflags)

# A clock that the test sets, or stops.
%C%_pool_t_share_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime
%C%_plan_t_costs_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=clock_gettime,--wrap=reel_supply_take

# A memory pressure that the test makes.
%C%_spill_t_pressure_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=reel_memory_pressure_open

# Pauses that the test counts.
%C%_spill_t_spill_share_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=nanosleep

# Functions of refusals.h and file-refusals.h stand between the library and the system, and refuse calls on demand. The
# library has to be linked into the program for that.
clock_back_ldflags = -Wl,--wrap=clock_gettime
%C%_parcel_t_parcel_LDFLAGS = $(AM_LDFLAGS) $(clock_back_ldflags) -Wl,--wrap=reel_write_round
%C%_omp_t_omp_cancel_LDFLAGS = $(AM_LDFLAGS) $(clock_back_ldflags)
refusals_ldflags = -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=aligned_alloc \
	-Wl,--wrap=mmap,--wrap=mmap64,--wrap=munmap,--wrap=madvise,--wrap=pthread_setspecific
file_refusals_ldflags = $(refusals_ldflags) \
	-Wl,--wrap=reel_os_file_open_nameless,--wrap=reel_os_file_open_named \
	-Wl,--wrap=reel_os_file_open_new,--wrap=reel_os_file_open_to_read \
	-Wl,--wrap=reel_os_file_allocate,--wrap=reel_os_file_write,--wrap=reel_os_file_read \
	-Wl,--wrap=reel_os_file_sync,--wrap=reel_os_file_write_back \
	-Wl,--wrap=reel_os_file_rename,--wrap=reel_os_file_unlink \
	-Wl,--wrap=reel_os_thread_start
%C%_parcel_t_parcel_faults_LDFLAGS = $(AM_LDFLAGS) $(refusals_ldflags)
%C%_whole_t_faults_LDFLAGS = $(AM_LDFLAGS) $(refusals_ldflags)
%C%_checkpoint_t_checkpoint_memory_LDFLAGS = $(AM_LDFLAGS) $(refusals_ldflags)
%C%_omp_t_omp_group_LDFLAGS = $(AM_LDFLAGS) $(refusals_ldflags) \
	-Wl,--wrap=reel_pool_take,--wrap=reel_snapshot_reserve
%C%_omp_t_omp_memory_LDFLAGS = $(AM_LDFLAGS) $(refusals_ldflags) -Wl,--wrap=reel_pool_take

%C%_store_t_file_slots_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc
%C%_checkpoint_t_snapshot_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=reel_budget_charge

# The calls of lib/os/ for files, which the test lets fail.
%C%_store_t_store_file_faults_LDFLAGS = $(AM_LDFLAGS) \
	-Wl,--wrap=reel_os_file_open_nameless,--wrap=reel_os_file_open_named \
	-Wl,--wrap=reel_os_file_unlink,--wrap=reel_os_file_direct_alignment \
	-Wl,--wrap=reel_os_file_set_direct,--wrap=reel_os_file_allocate \
	-Wl,--wrap=reel_os_file_room,--wrap=fallocate,--wrap=fallocate64 \
	-Wl,--wrap=reel_os_file_write,--wrap=reel_os_file_read,--wrap=reel_os_file_write_back \
	-Wl,--wrap=reel_os_map,--wrap=reel_os_unmap \
	-Wl,--wrap=reel_os_thread_start \
	-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc

# The models of t-models.sh within larger bounds. RESULTS=yes writes their numbers of states to
# tests/results/models.txt.
EXTRA_DIST += %D%/models/dispatch.pml %D%/models/magazine.pml %D%/models/offload.pml \
	%D%/models/order.pml %D%/models/parcel.pml %D%/models/pool.pml %D%/models/wake.pml
.PHONY: check-models
check-models:
	$(AM_TESTS_ENVIRONMENT) MODELS=full RESULTS=$(RESULTS) $(SHELL) $(srcdir)/%D%/source/t-models.sh

# Runs the tests at full length; otherwise most are short.
.PHONY: check-long
check-long:
	TEST_LONG=yes $(MAKE) $(AM_MAKEFLAGS) check

# Long forms of tests, which have a short form above. They work in the source directory. FLAGS are their
# options, such as --results.
EXTRA_DIST += %D%/results.sh %D%/long/kill.sh %D%/long/faults.sh %D%/long/equivalence.sh %D%/long/cross.sh
.PHONY: kill check-faults check-equivalence check-cross
kill: %D%/whole/t-gradient-process$(EXEEXT)
	BUILD_DIR='$(abs_top_builddir)' $(srcdir)/%D%/long/kill.sh $(FLAGS)
check-faults: %D%/whole/t-gradient-faults$(EXEEXT) %D%/whole/t-gradient-process$(EXEEXT)
	BUILD_DIR='$(abs_top_builddir)' $(srcdir)/%D%/long/faults.sh $(FLAGS)
check-equivalence:
	$(srcdir)/%D%/long/equivalence.sh $(FLAGS)
check-cross:
	$(srcdir)/%D%/long/cross.sh $(FLAGS)

# Counts the lines and branches of the library that the tests reach, by gcov, and conditions, by clang 19.
EXTRA_DIST += %D%/coverage/coverage.sh %D%/coverage/mcdc.sh %D%/coverage/rows.awk \
	%D%/coverage/notes.awk %D%/coverage/table.awk
.PHONY: coverage coverage-mcdc test-programs
coverage:
	$(SHELL) $(srcdir)/%D%/coverage/coverage.sh --work $(abs_top_builddir)/coverage $(COVERAGE_FLAGS)
coverage-mcdc:
	$(SHELL) $(srcdir)/%D%/coverage/mcdc.sh --work $(abs_top_builddir)/coverage-mcdc $(COVERAGE_FLAGS)

# The results of the last runs of long tests and tools.
EXTRA_DIST += %D%/results

# tests/mutate/mutate.sh changes the library, and runs the tests to see if one of them fails.
EXTRA_DIST += %D%/mutate/mutate.sh %D%/mutate/mutants.awk %D%/mutate/report.awk
test-programs: $(check_PROGRAMS)

# `make check` shows no result before all tests are compiled.
all-local: $(built_by_all)
	@case ' $(MAKECMDGOALS) ' in *' check '*) \
		missing=0; \
		for program in $(check_PROGRAMS); do test -f $$program || missing=`expr $$missing + 1`; done; \
		test $$missing -eq 0 || echo "Test programs to compile first: $$missing. All of them take minutes, and fewer with make -j.";; \
	esac

TESTS = $(check_PROGRAMS) $(dist_check_SCRIPTS)
TEST_EXTENSIONS = .sh
TEST_TIMEOUT = 600

LOG_DRIVER = $(SHELL) $(top_srcdir)/build-aux/timed.sh env AM_TAP_AWK='$(AWK)' $(SHELL) $(top_srcdir)/build-aux/tap-driver.sh
LOG_DRIVER_FLAGS = --merge
SH_LOG_DRIVER = $(LOG_DRIVER)
SH_LOG_DRIVER_FLAGS = $(LOG_DRIVER_FLAGS)

# A test that hangs ends as an error.
if HAVE_TIMEOUT
LOG_COMPILER = $(TIMEOUT)
AM_LOG_FLAGS = -k 5 $(TEST_TIMEOUT)
SH_LOG_COMPILER = $(TIMEOUT)
AM_SH_LOG_FLAGS = -k 5 $(TEST_TIMEOUT) $(SHELL)
else
SH_LOG_COMPILER = $(SHELL)
endif

# Tests unset the variables of the user that the library (REEL_*) and OpenMP's runtimes read. ThreadSanitizer cannot see
# into an OpenMP runtime that was not built for it, and ignores such libraries. Threads must not spin while they wait, because
# there may be more threads than cores.
AM_TESTS_ENVIRONMENT = \
	for name in $$(env | $(SED) -nE 's/^((REEL|OMP|GOMP|KMP)_[A-Z_]*)=.*/\1/p'); do \
		unset $$name; \
	done; \
	TSAN_OPTIONS="ignore_noninstrumented_modules=1 die_after_fork=0 $$TSAN_OPTIONS"; \
	CC='$(CC)'; CFLAGS='$(CFLAGS)'; CXX='$(CXX)'; FC='$(FC)'; FCFLAGS='$(FCFLAGS)'; NM='$(NM)'; CK_CFLAGS='$(CK_CFLAGS)'; MPI_CFLAGS='$(MPI_CFLAGS)'; \
	MPI_LIBS='$(MPI_LIBS)'; MPI_FCFLAGS='$(MPI_FCFLAGS)'; MPI_FCLIBS='$(MPI_FCLIBS)'; MPIRUN='$(MPIRUN) $(MPIRUN_FLAGS)'; \
	STATIC_LIBS='$(LZ4_LIBS) $(LIBS)'; \
	SOURCE_DIR='$(abs_top_srcdir)'; BUILD_DIR='$(abs_top_builddir)'; \
	TSUNAMI='$(tsunami_program)'; SEDOV='$(sedov_program)'; GRADIENTS='$(gradients_program)'; NVCC='$(NVCC)'; \
	OMP_WAIT_POLICY=passive; \
	export OMP_WAIT_POLICY TSAN_OPTIONS CC CFLAGS CXX FC FCFLAGS NM CK_CFLAGS MPI_CFLAGS MPI_LIBS MPI_FCFLAGS MPI_FCLIBS MPIRUN STATIC_LIBS; \
	export SOURCE_DIR BUILD_DIR TSUNAMI SEDOV GRADIENTS NVCC;

# Builds programs outside of the tree with pkg-config, as users of the library do.
EXTRA_DIST += %D%/data/abi
EXTRA_DIST += %D%/gpu/gpu-open.c %D%/tape/t-cplusplus.cc %D%/omp/t-omp-cplusplus.cc %D%/omp/t-owners.cc %D%/omp/statements-program.c %D%/tap/tap.sh %D%/whole/example.sh %D%/install/installcheck.c %D%/install/installcheck-mpi.c %D%/install/installcheck-mpi.f90 %D%/install/installcheck-omp.c %D%/install/installcheck-cuda.c %D%/install/installcheck-device.cu \
	%D%/install/installcheck-enzyme.c \
	%D%/install/installcheck-adstack.c \
	%D%/install/installcheck.f90 %D%/install/installcheck.sh %D%/omp/verifier-program.c
installcheck-local:
	CC='$(CC)' CXX='$(CXX)' CFLAGS='$(CFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' DESTDIR='$(DESTDIR)' \
	  $(SHELL) $(srcdir)/%D%/install/installcheck.sh $(srcdir)/%D%/install/installcheck.c \
	  '$(pkgconfigdir)' '$(libdir)'
	CC='$(CC)' CXX='$(CXX)' CFLAGS='$(CFLAGS)' NVCC='$(NVCC)' PKG_CONFIG='$(PKG_CONFIG)' DESTDIR='$(DESTDIR)' \
	  $(SHELL) $(srcdir)/%D%/install/installcheck.sh $(srcdir)/%D%/install/installcheck-cuda.c \
	  '$(pkgconfigdir)' '$(libdir)' reel-cuda
	CC='$(CC)' CXX='$(CXX)' CFLAGS='$(CFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' DESTDIR='$(DESTDIR)' \
	  $(SHELL) $(srcdir)/%D%/install/installcheck.sh $(srcdir)/%D%/install/installcheck-enzyme.c \
	  '$(pkgconfigdir)' '$(libdir)' reel-enzyme
	CC='$(CC)' CXX='$(CXX)' CFLAGS='$(CFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' DESTDIR='$(DESTDIR)' NM='$(NM)' \
	  $(SHELL) $(srcdir)/%D%/install/installcheck.sh $(srcdir)/%D%/install/installcheck-adstack.c \
	  '$(pkgconfigdir)' '$(libdir)' reel-adstack
if OPENMP
	CC='$(CC)' CXX='$(CXX)' CFLAGS='$(CFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' DESTDIR='$(DESTDIR)' \
	  $(SHELL) $(srcdir)/%D%/install/installcheck.sh $(srcdir)/%D%/install/installcheck-omp.c \
	  '$(pkgconfigdir)' '$(libdir)' reel-omp
endif
# With DESTDIR pkg-config would also search MPI below DESTDIR, so the flags of MPI are given here.
if MPI
	CC='$(CC)' CFLAGS='$(CFLAGS) $(MPI_CFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' DESTDIR='$(DESTDIR)' \
	  $(SHELL) $(srcdir)/%D%/install/installcheck.sh $(srcdir)/%D%/install/installcheck-mpi.c \
	  '$(pkgconfigdir)' '$(libdir)' reel-mpi
endif
if FORTRAN
	FC='$(FC)' FCFLAGS='$(FCFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' DESTDIR='$(DESTDIR)' \
	  $(SHELL) $(srcdir)/%D%/install/installcheck.sh $(srcdir)/%D%/install/installcheck.f90 \
	  '$(pkgconfigdir)' '$(libdir)' reel-fortran
endif
if FORTRAN_MPI
	FC='$(FC)' FCFLAGS='$(FCFLAGS) $(MPI_FCFLAGS)' PKG_CONFIG='$(PKG_CONFIG)' DESTDIR='$(DESTDIR)' \
	  $(SHELL) $(srcdir)/%D%/install/installcheck.sh $(srcdir)/%D%/install/installcheck-mpi.f90 \
	  '$(pkgconfigdir)' '$(libdir)' reel-fortran-mpi
endif
