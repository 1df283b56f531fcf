# SPDX-License-Identifier: MIT
# The module reel, for adjoints written in Fortran. A Fortran compiler cannot read modules that another one has written.
if FORTRAN
lib_LTLIBRARIES += libreel-fortran.la
libreel_fortran_la_SOURCES = \
	%D%/reel.f90 \
	%D%/fortran.h \
	%D%/values.c \
	%D%/section.c \
	%D%/arrays.c \
	%D%/records.c \
	%D%/sweeps.c \
	%D%/model.c \
	dropin/call-site.c dropin/call-site.h
libreel_fortran_la_CPPFLAGS = $(AM_CPPFLAGS)
libreel_fortran_la_CFLAGS = $(AM_CFLAGS) -Wno-missing-prototypes
libreel_fortran_la_FCFLAGS = $(FORTRAN_FCFLAGS) $(FC_MODOUT)%D%
libreel_fortran_la_LIBADD = libreel.la
libreel_fortran_la_LDFLAGS = -version-info 0:0:0 -no-undefined
if HAVE_VERSION_SCRIPT
libreel_fortran_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/libreel-fortran.map
libreel_fortran_la_DEPENDENCIES = libreel.la %D%/libreel-fortran.map
endif

# The module reel_omp, for parallel reverse sweeps.
lib_LTLIBRARIES += libreel-fortran-omp.la
libreel_fortran_omp_la_SOURCES = %D%/reel_omp.f90
libreel_fortran_omp_la_FCFLAGS = $(FORTRAN_FCFLAGS) $(FC_MODINC)%D% $(FC_MODOUT)%D%
libreel_fortran_omp_la_LIBADD = libreel-fortran.la libreel-omp.la libreel.la
libreel_fortran_omp_la_LDFLAGS = -version-info 0:0:0 -no-undefined
if HAVE_VERSION_SCRIPT
libreel_fortran_omp_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/libreel-fortran.map
endif
reel_omp_object = %D%/libreel_fortran_omp_la-reel_omp.lo
$(reel_omp_object): %D%/libreel_fortran_la-reel.lo

# The compiled modules, and their sources, which document the interface.
fortrandir = $(libdir)/reel/fortran
dist_fortran_DATA = %D%/reel.f90 %D%/reel_omp.f90
nodist_fortran_DATA = %D%/reel.$(FC_MODEXT) %D%/reel_omp.$(FC_MODEXT)
%D%/reel_omp.$(FC_MODEXT): %D%/libreel_fortran_omp_la-reel_omp.lo
	@test -f $@ || { rm -f $< && $(MAKE) $(AM_MAKEFLAGS) $<; }
%D%/reel.$(FC_MODEXT): %D%/libreel_fortran_la-reel.lo
	@test -f $@ || { rm -f $< && $(MAKE) $(AM_MAKEFLAGS) $<; }

# The module reel_mpi. Fortran has to declare the size of a request, which configure asks C for.
if FORTRAN_MPI
lib_LTLIBRARIES += libreel-fortran-mpi.la
libreel_fortran_mpi_la_SOURCES = \
	%D%/reel_mpi.F90 \
	%D%/buffers.c %D%/buffers.h \
	%D%/messages.c \
	%D%/requests.c \
	%D%/collectives.c \
	dropin/call-site.c dropin/call-site.h
libreel_fortran_mpi_la_CPPFLAGS = $(AM_CPPFLAGS) -DREEL_MPI_REQUEST_WORDS=$(REEL_MPI_REQUEST_WORDS)
libreel_fortran_mpi_la_CFLAGS = $(AM_CFLAGS) $(MPI_CFLAGS) -Wno-missing-prototypes
libreel_fortran_mpi_la_FCFLAGS = $(FORTRAN_FCFLAGS) $(MPI_FCFLAGS) $(FC_MODINC)%D% $(FC_MODOUT)%D%
libreel_fortran_mpi_la_LIBADD = libreel-fortran.la libreel-mpi.la libreel.la $(MPI_FCLIBS) $(MPI_LIBS)
libreel_fortran_mpi_la_LDFLAGS = -version-info 0:0:0 -no-undefined
if HAVE_VERSION_SCRIPT
libreel_fortran_mpi_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/libreel-fortran.map
endif
reel_mpi_object = %D%/libreel_fortran_mpi_la-reel_mpi.lo
$(reel_mpi_object): %D%/libreel_fortran_la-reel.lo

dist_fortran_DATA += %D%/reel_mpi.F90
nodist_fortran_DATA += %D%/reel_mpi.$(FC_MODEXT)
%D%/reel_mpi.$(FC_MODEXT): %D%/libreel_fortran_mpi_la-reel_mpi.lo
	@test -f $@ || { rm -f $< && $(MAKE) $(AM_MAKEFLAGS) $<; }
endif
endif
CLEANFILES += %D%/reel.mod %D%/reel_mpi.mod %D%/reel_omp.mod

# Makes the modules from templates, and from the headers, which declare the types and the functions.
%D%/reel.f90: %D%/reel.f90.in $(module_tool) $(core_headers)
	$(write_module) -v template=%D%/reel.f90.in $(core_headers)
%D%/reel_omp.f90: %D%/reel_omp.f90.in $(module_tool) $(core_headers) $(omp_headers)
	$(write_module) -v template=%D%/reel_omp.f90.in $(core_headers) $(omp_headers)
CLEANFILES += %D%/reel.f90 %D%/reel_omp.f90
EXTRA_DIST += \
	%D%/README.md \
	%D%/reel.f90.in \
	%D%/reel_omp.f90.in \
	%D%/reel_mpi.F90 \
	%D%/reel_omp.f90 \
	%D%/libreel-fortran.map \
	%D%/reel.f90
