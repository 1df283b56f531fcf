# SPDX-License-Identifier: MIT
bin_PROGRAMS += %D%/reel
%C%_reel_SOURCES = \
	%D%/environment.c \
	%D%/facts.c %D%/facts.h \
	%D%/features.c \
	%D%/gpu.c \
	%D%/info.c %D%/info.h \
	%D%/json.c %D%/json.h \
	%D%/kernel-file.c %D%/kernel-file.h \
	%D%/machine.c \
	%D%/openmp.c \
	%D%/plan.c %D%/plan.h \
	%D%/plan-costs.c \
	%D%/plan-options.c \
	%D%/plan-plot.c \
	%D%/plan-workers.c \
	%D%/profile.c %D%/profile.h \
	%D%/profile-source.c \
	%D%/reel.c \
	%D%/topology-hwloc.c \
	%D%/topology-kernel.c \
	%D%/topology.h \
	%D%/tune.c \
	%D%/verb.h
%C%_reel_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS) $(HWLOC_CFLAGS) $(LIBDW_CFLAGS)
# Libtool's wrapper script, unlike -no-install, leaves a program that can be installed.
%C%_reel_LDFLAGS =
%C%_reel_LDADD = libreel-cuda.la libreel.la $(HWLOC_LIBS) $(LIBDW_LIBS)

