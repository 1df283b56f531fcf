# SPDX-License-Identifier: MIT
# `make stress` runs reel-stress; STRESS_FLAGS are its options.
noinst_PROGRAMS += %D%/reel-stress
%C%_reel_stress_SOURCES = \
	%D%/reel-stress.c \
	%D%/stress.h \
	%D%/draw.c \
	%D%/tapes.c \
	%D%/parcels.c \
	%D%/runs.c \
	%D%/lanes.c \
	%D%/pairs.c \
	%D%/subject.c %D%/subject.h \
	%D%/store.c \
	%D%/watch.c \
	$(scheduler_sources) \
	%D%/report.c
%C%_reel_stress_LDADD = libreel-omp-core.la libreel-test-stores.la libreel-core.la -lm
%C%_reel_stress_LDFLAGS = $(AM_LDFLAGS) $(OPENMP_CFLAGS) $(scheduler_ldflags)

if OPENMP
%C%_reel_stress_SOURCES += \
	%D%/programs.c %D%/program.h \
	%D%/program-draw.c \
	%D%/program-statement.c \
	%D%/program-run.c \
	%D%/program-tasks.c \
	%D%/program-omit.c
%C%_reel_stress_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS)
%C%_reel_stress_LDFLAGS += $(refusals_ldflags)
endif

# Random programs of ranks.
if MPI
noinst_PROGRAMS += %D%/reel-stress-ranks
%C%_reel_stress_ranks_SOURCES = \
	%D%/ranks/reel-stress-ranks.c \
	%D%/ranks/ranks.h \
	%D%/ranks/compare.c \
	%D%/ranks/program.c \
	%D%/ranks/draw-exchange.c \
	%D%/ranks/draw-collective.c \
	%D%/ranks/print.c \
	%D%/ranks/memory.c \
	%D%/ranks/local.c \
	%D%/ranks/steps.c \
	%D%/ranks/exchange.c \
	%D%/ranks/waits.c \
	%D%/ranks/collective.c \
	%D%/ranks/oracle.c \
	%D%/ranks/oracle-reduce.c
%C%_reel_stress_ranks_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
%C%_reel_stress_ranks_LDADD = libreel-mpi-core.la libreel-core.la $(MPI_LIBS) -lm
endif

# Sources and linker flags of a program whose threads may run in the order of a schedule.
scheduler_sources = %D%/scheduler.c %D%/scheduler.h %D%/scheduler-calls.c
scheduler_ldflags = \
	-Wl,--wrap=pthread_mutex_lock,--wrap=pthread_mutex_unlock \
	-Wl,--wrap=pthread_cond_wait,--wrap=pthread_cond_timedwait \
	-Wl,--wrap=pthread_cond_signal,--wrap=pthread_cond_broadcast \
	-Wl,--wrap=sem_wait,--wrap=sem_timedwait,--wrap=sem_clockwait,--wrap=sem_post \
	-Wl,--wrap=pthread_barrier_init,--wrap=pthread_barrier_destroy,--wrap=pthread_barrier_wait \
	-Wl,--wrap=pthread_create,--wrap=pthread_join,--wrap=sched_yield \
	-Wl,--wrap=clock_gettime,--wrap=nanosleep

.PHONY: stress
stress: %D%/reel-stress$(EXEEXT)
	%D%/reel-stress$(EXEEXT) $(STRESS_FLAGS)

# Plants faults in the library, which reel-stress has to find by a schedule.
.PHONY: check-scheduler
check-scheduler: %D%/reel-stress$(EXEEXT)
	$(AM_TESTS_ENVIRONMENT) OBJECTS='$(%C%_reel_stress_OBJECTS)' SCHEDULER_LDFLAGS='$(scheduler_ldflags)' \
	  OPENMP_CFLAGS='$(OPENMP_CFLAGS)' LIBS='$(LIBS) $(LZ4_LIBS)' \
	  RESULTS=$(RESULTS) $(SHELL) $(srcdir)/%D%/mutants.sh

EXTRA_DIST += %D%/README.md %D%/mutants.sh %D%/seeds %D%/soak.sh
