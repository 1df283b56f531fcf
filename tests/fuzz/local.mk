# SPDX-License-Identifier: MIT
# Targets for fuzzers, in one program. reel-replay runs them without a fuzzer, for t-fuzz.sh.
fuzz_targets = \
	%D%/fuzz.c %D%/fuzz.h \
	%D%/targets.c %D%/targets.h \
	%D%/tape.c \
	%D%/adstack.c \
	%D%/lanes.c \
	%D%/walk.c %D%/walk.h \
	%D%/schedule.c \
	%D%/actions.c \
	%D%/choose.c \
	%D%/restart.c \
	%D%/stored.c \
	%D%/pack.c \
	%D%/shuffle.c \
	%D%/field.c \
	%D%/store-words.c \
	%D%/environment.c \
	%D%/plan-words.c \
	%D%/kernel-file.c \
	%D%/facts.c \
	tools/facts.c tools/facts.h \
	tools/json.c tools/json.h \
	tools/kernel-file.c tools/kernel-file.h \
	tools/memory.c \
	tools/plan.c tools/plan.h \
	tools/plan-uneven.c \
	tools/plan-costs.c \
	tools/options.c \
	tools/plan-options.c \
	tools/plan-plot.c
fuzz_libraries = libreel-adstack-core.la libreel-omp-core.la libreel-test-stores.la libreel-core.la -lm

noinst_PROGRAMS += %D%/reel-replay
%C%_reel_replay_SOURCES = %D%/run.c $(fuzz_targets)
%C%_reel_replay_CPPFLAGS = $(AM_CPPFLAGS) $(LZ4_CFLAGS)
%C%_reel_replay_LDADD = $(fuzz_libraries)
%C%_reel_replay_LDFLAGS = $(AM_LDFLAGS) $(OPENMP_CFLAGS)

# The library of a fuzzer, which has the main function. fuzz.sh builds this program in its own directories.
FUZZING_ENGINE = -fsanitize=fuzzer
EXTRA_PROGRAMS += %D%/reel-fuzz
%C%_reel_fuzz_SOURCES = %D%/entry.c $(fuzz_targets)
%C%_reel_fuzz_CPPFLAGS = $(AM_CPPFLAGS) $(LZ4_CFLAGS)
%C%_reel_fuzz_LDADD = $(fuzz_libraries)
%C%_reel_fuzz_LDFLAGS = $(AM_LDFLAGS) $(OPENMP_CFLAGS) $(FUZZING_ENGINE)

# FUZZ_SECONDS is the time of each target, FUZZ_TARGETS are the targets (default: all), FUZZ_FLAGS other options of fuzz.sh.
FUZZ_SECONDS = 60
FUZZ_TARGETS =
FUZZ_FLAGS =

.PHONY: fuzz fuzz-afl
fuzz fuzz-afl:
	$(MKDIR_P) %D%/run
	cd %D%/run && engine=`echo $@ | $(SED) 's/^fuzz$$/libfuzzer/; s/^fuzz-//'` && \
		$(abs_top_srcdir)/%D%/fuzz.sh --engine $$engine --seconds $(FUZZ_SECONDS) \
		$(FUZZ_FLAGS) $(FUZZ_TARGETS)

EXTRA_DIST += %D%/README.md %D%/fuzz.sh %D%/report.sh %D%/seeds.sh %D%/corpus
clean-local: clean-fuzz
.PHONY: clean-fuzz
clean-fuzz:
	rm -rf %D%/run
