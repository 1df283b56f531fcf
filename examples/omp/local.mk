# SPDX-License-Identifier: MIT
# Patterns of OpenMP. tests/omp/t-omp-patterns runs them, and omp/PATTERNS.md shows them.
omp_patterns = \
	%D%/atomic.c \
	%D%/cancel.c \
	%D%/collapse.c \
	%D%/critical.c \
	%D%/declared.c \
	%D%/depend.c \
	%D%/dependences.c \
	%D%/extremes.c \
	%D%/locks.c \
	%D%/loops.c \
	%D%/master.c \
	%D%/nested.c \
	%D%/ordered.c \
	%D%/parallel.c \
	%D%/phases.c \
	%D%/states.c \
	%D%/private.c \
	%D%/reduction.c \
	%D%/replay.c \
	%D%/sections.c \
	%D%/shared.c \
	%D%/simd.c \
	%D%/single.c \
	%D%/taskgroup.c \
	%D%/taskloop.c \
	%D%/tasks.c \
	%D%/threadprivate.c \
	%D%/untied.c \
	%D%/patterns.h

