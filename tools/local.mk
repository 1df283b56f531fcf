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
	%D%/memory.c \
	%D%/options.c \
	%D%/plan.c %D%/plan.h \
	%D%/plan-uneven.c \
	%D%/plan-costs.c \
	%D%/plan-options.c \
	%D%/plan-plot.c \
	%D%/profile.c %D%/profile.h \
	%D%/profile-file.c \
	%D%/profile-source.c \
	%D%/quiet-pool.c \
	%D%/reel.c \
	%D%/report.c %D%/report.h \
	%D%/report-advice.c \
	%D%/report-charts.c \
	%D%/report-figure.c \
	%D%/report-trace.c \
	%D%/top.c \
	%D%/tune.c \
	%D%/verb.h
# The completions read the names of verbs and options from the help of the installed command.
bashcompletiondir = $(datadir)/bash-completion/completions
dist_bashcompletion_DATA = %D%/completion/reel
zshcompletiondir = $(datadir)/zsh/site-functions
dist_zshcompletion_DATA = %D%/completion/_reel
nodist_%C%_reel_SOURCES = %D%/report-page.c
CLEANFILES += %D%/report-page.c
report_page_parts = %D%/report/page.css %D%/report/page.js
EXTRA_DIST += $(report_page_parts) %D%/README.md
%D%/report-page.c: $(report_page_parts)
	$(AM_V_GEN)mkdir -p %D% && for part in css js; do \
		echo "extern const char report_$$part[]; const char report_$$part[] = {" && \
		od -An -v -tu1 $(srcdir)/%D%/report/page.$$part | sed 's/[0-9][0-9]*/&,/g' && echo '0};' || exit; \
	done >$@.new && mv $@.new $@
%C%_reel_CFLAGS = $(AM_CFLAGS) $(OPENMP_CFLAGS) $(LIBDW_CFLAGS)
# Without -no-install libtool makes a wrapper script, and a program that can be installed.
%C%_reel_LDFLAGS =
%C%_reel_LDADD = libreel-cuda.la libreel.la $(LIBDW_LIBS) -lm

