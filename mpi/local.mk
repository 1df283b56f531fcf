# SPDX-License-Identifier: MIT
# libreel-mpi: the reverse sweep of MPI programs. It is built where MPI is.
if MPI
mpi_headers = include/reel/mpi.h
reelinclude_HEADERS += $(mpi_headers)

noinst_LTLIBRARIES += libreel-mpi-core.la
libreel_mpi_core_la_CFLAGS = $(AM_CFLAGS) $(LIBRARY_CFLAGS) $(MPI_CFLAGS)
libreel_mpi_core_la_SOURCES = \
	%D%/attached.c %D%/attached.h \
	%D%/check.c %D%/check.h \
	%D%/agree.c \
	%D%/layout.c %D%/layout.h \
	%D%/transfer.c %D%/transfer.h \
	%D%/point-to-point.c \
	%D%/requests.c \
	%D%/broadcast.c \
	%D%/neighbours.c %D%/neighbours.h \
	%D%/collectives.c \
	%D%/nonblocking.c %D%/nonblocking.h \
	%D%/reduce.c %D%/reduce.h \
	%D%/factor.c \
	%D%/operation.c %D%/operation.h \
	%D%/scan.c \
	%D%/sum.c \
	%D%/window.c \
	%D%/run.c \
	%D%/report.c

lib_LTLIBRARIES += libreel-mpi.la
libreel_mpi_la_SOURCES =
libreel_mpi_la_LIBADD = libreel-mpi-core.la libreel.la $(MPI_LIBS)
libreel_mpi_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(NO_UNDEFINED_LDFLAGS)
if HAVE_VERSION_SCRIPT
libreel_mpi_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/libreel-mpi.map
libreel_mpi_la_DEPENDENCIES = libreel-mpi-core.la libreel.la %D%/libreel-mpi.map
endif
endif
EXTRA_DIST += %D%/README.md %D%/libreel-mpi.map
