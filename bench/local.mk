# `make bench` builds and runs every program of this list.
bench_programs = \
	%D%/b-push

EXTRA_PROGRAMS += $(bench_programs)
%C%_b_push_SOURCES = %D%/b-push.c %D%/measure.c %D%/measure.h
%C%_b_push_LDADD = libreel.la

.PHONY: bench
bench: $(bench_programs)
	@for program in $(bench_programs); do \
		echo "$$program"; ./$$program $(BENCH_FLAGS) || exit 1; \
	done

# What a push and a pop cost in instructions.
.PHONY: bench-instructions
bench-instructions: %D%/b-push$(EXEEXT)
	$(srcdir)/%D%/instructions.sh %D%/b-push$(EXEEXT)

EXTRA_DIST += %D%/instructions.sh
CLEANFILES += $(bench_programs)
