# The guide, and the reference: a page of the manual for each public name, made from the comments of
# the headers.
EXTRA_DIST += %D%/README.md %D%/by-hand.md %D%/checkpointing.md %D%/choosing.md %D%/comparison.md %D%/compatibility.md %D%/digits.md %D%/errors.md %D%/faq.md %D%/installing.md \
	%D%/mpi.md %D%/openmp.md %D%/parcels.md %D%/spilling.md %D%/surroundings.md %D%/tuning.md %D%/tutorial.md %D%/verifying.md

# The date of the release, which the pages show; packaging/release.sh --fill writes it.
manual_date = November 29, 2026
manual_tool = %D%/reference/pages.sh build-aux/api/figures.awk %D%/reference/headers.awk \
	%D%/reference/mdoc.awk %D%/reference/tool.awk %D%/reference/reel.7 %D%/reference/reel-environment.7
site_tool = %D%/reference/site.sh %D%/reference/site.awk %D%/reference/index.awk \
	%D%/reference/style.css %D%/reference/search.js
EXTRA_DIST += $(manual_tool) $(site_tool) %D%/report.png

noinst_DATA = %D%/man/names
%D%/man/names: $(manual_tool) $(reelinclude_HEADERS) $(tools_reel_SOURCES)
	$(AM_V_GEN)AWK='$(AWK)' $(SHELL) $(srcdir)/%D%/reference/pages.sh $(srcdir) %D%/man $(PACKAGE_VERSION) \
		'$(manual_date)' package=reel $(core_headers) package=reel-omp $(omp_headers) \
		package=reel-mpi $(mpi_headers) package=reel-cuda $(gpu_headers)

install-data-local: %D%/man/names
	for section in 1 3 7; do \
		$(MKDIR_P) "$(DESTDIR)$(mandir)/man$$section" && \
		$(INSTALL_DATA) %D%/man/man$$section/* "$(DESTDIR)$(mandir)/man$$section" || exit; \
	done

uninstall-local: %D%/man/names
	for page in `cd %D%/man && echo man?/*`; do \
		rm -f "$(DESTDIR)$(mandir)/$$page" || exit; \
	done

# Makes static pages of the guide and the manual by mandoc and lowdown; open doc/html/index.html.
.PHONY: doc
doc: %D%/man/names
	$(AM_V_GEN)AWK='$(AWK)' $(SHELL) $(srcdir)/%D%/reference/site.sh $(srcdir) %D%/man %D%/html $(PACKAGE_VERSION)

mostlyclean-local:
	rm -rf %D%/man %D%/html
