# SPDX-License-Identifier: MIT
# libreel-omp: parallel reverse sweeps of OpenMP programs. In a build without OpenMP other threads can use its lanes and
# tasks, and its sweeps run on one thread.
omp_headers = include/reel/omp.h include/reel/adjoint.h include/reel/observe.h \
	include/reel/region.h include/reel/reduction.h include/reel/task.h \
	include/reel/worker.h
reelinclude_HEADERS += $(omp_headers)

noinst_LTLIBRARIES += libreel-omp-core.la
# -fexceptions: a C++ exception may pass these functions, and then has to run their cleanups.
libreel_omp_core_la_CFLAGS = $(AM_CFLAGS) $(CONVENIENCE_CFLAGS) $(LIBRARY_CFLAGS) $(OPENMP_CFLAGS) -fexceptions
libreel_omp_core_la_SOURCES = \
	%D%/adjoint/adjoint.c %D%/adjoint/adjoint.h \
	%D%/adjoint/adjoint-check.c \
	%D%/adjoint/adjoint-lane.c %D%/adjoint/adjoint-lane.h \
	%D%/adjoint/adjoint-reduce.c \
	%D%/lane/lane.c %D%/lane/lane.h \
	%D%/lane/lane-open.c \
	%D%/lane/lane-table.c \
	%D%/lane/lane-task.h \
	%D%/lane/lane-tree.c \
	%D%/lane/note.c %D%/lane/note.h \
	%D%/lane/observe.c %D%/lane/observe.h \
	%D%/lane/ordered-count.c %D%/lane/ordered-count.h \
	%D%/lane/region-state.h \
	%D%/lookahead/lookahead.c %D%/lookahead/lookahead.h \
	%D%/lookahead/lookahead-act.c \
	%D%/lookahead/lookahead-open.c \
	%D%/loop/loop.c \
	%D%/loop/reduction.c \
	%D%/order/deadlock.c %D%/order/deadlock.h \
	%D%/order/ordered.c \
	%D%/region/barrier.c %D%/region/barrier.h \
	%D%/region/lane-recording.c \
	%D%/region/mistake.c %D%/region/mistake.h \
	%D%/region/phase.c %D%/region/phase.h \
	%D%/region/region.c %D%/region/region.h \
	%D%/region/worker.c \
	%D%/runtime/caller.h \
	%D%/runtime/team.c %D%/runtime/team.h \
	%D%/runtime/team-size.c %D%/runtime/team-size.h \
	%D%/runtime/wait.c %D%/runtime/wait.h \
	%D%/task/task.c %D%/task/task.h \
	%D%/task/task-add.c \
	%D%/task/task-replay.c
libreel_omp_core_la_LIBADD = libreel-os.la
libreel_omp_unseen = %D%/runtime/libreel_omp_core_la-team.lo
$(libreel_omp_unseen): CFLAGS += $(NO_THREAD_SANITIZER_CFLAGS)
# Makes vector loops of their loops with -O2 also.
libreel_omp_vectorised = %D%/adjoint/libreel_omp_core_la-adjoint-reduce.lo \
	%D%/task/libreel_omp_core_la-task-add.lo
$(libreel_omp_vectorised): AM_CFLAGS += $(VECTORISE_CFLAGS)

lib_LTLIBRARIES += libreel-omp.la
libreel_omp_la_SOURCES =
libreel_omp_la_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
libreel_omp_la_LIBADD = libreel-omp-core.la libreel.la -lm
libreel_omp_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(NO_UNDEFINED_LDFLAGS)
if HAVE_VERSION_SCRIPT
libreel_omp_la_LDFLAGS += -Wl,--version-script=%D%/libreel-omp.map
libreel_omp_la_DEPENDENCIES = libreel-omp-core.la libreel.la %D%/libreel-omp.map
%D%/libreel-omp.map: $(omp_headers) $(map_tool)
	$(write_map) -v set=REEL_OMP_0.1 $(omp_headers)
endif
CLEANFILES += %D%/libreel-omp.map
# LLVM's OpenMP runtime loads the verifier, or the program does before it. So it is linked with no OpenMP runtime.
if BUILD_VERIFIER
lib_LTLIBRARIES += libreel-verify.la
libreel_verify_la_SOURCES = \
	%D%/verifier/phases.c \
	%D%/verifier/report.c \
	%D%/verifier/sections.c \
	%D%/verifier/source.c \
	%D%/verifier/state.c \
	%D%/verifier/tasks.c \
	%D%/verifier/tool.c \
	%D%/verifier/verifier.h
libreel_verify_la_CFLAGS = $(AM_CFLAGS) $(VERIFIER_CFLAGS)
libreel_verify_la_LIBADD = libreel-omp.la libreel.la
libreel_verify_la_LDFLAGS = -module -avoid-version -shared -no-undefined \
	$(NO_UNDEFINED_LDFLAGS) $(NO_DELETE_LDFLAGS) -export-symbols-regex '^ompt_start_tool$$'
endif
EXTRA_DIST += %D%/README.md %D%/PATTERNS.md %D%/verifier/README.md
