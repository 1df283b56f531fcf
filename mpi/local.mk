# SPDX-License-Identifier: MIT
# libreel-mpi: the reverse sweep of MPI programs. It is built if MPI is installed.
if MPI
mpi_headers = include/reel/mpi.h
reelinclude_HEADERS += $(mpi_headers)

noinst_LTLIBRARIES += libreel-mpi-core.la
libreel_mpi_core_la_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/%D%
libreel_mpi_core_la_CFLAGS = $(AM_CFLAGS) $(CONVENIENCE_CFLAGS) $(LIBRARY_CFLAGS) $(MPI_CFLAGS)
libreel_mpi_core_la_SOURCES = \
	%D%/attach.c \
	%D%/collective/broadcast.c %D%/collective/broadcast.h \
	%D%/collective/collectives.c \
	%D%/collective/nonblocking.c %D%/collective/nonblocking.h \
	%D%/collective/reduce.c \
	%D%/collective/scan.c %D%/collective/scan.h \
	%D%/collective/sum.c \
	%D%/comm/attached.c %D%/comm/attached.h \
	%D%/comm/error.c %D%/comm/error.h \
	%D%/comm/factor.c %D%/comm/factor.h \
	%D%/comm/layout.c %D%/comm/layout.h \
	%D%/comm/neighbours.c %D%/comm/neighbours.h \
	%D%/comm/operation.c %D%/comm/operation.h \
	%D%/message/agree.c %D%/message/agree.h \
	%D%/message/check.c %D%/message/check.h \
	%D%/message/message.c %D%/message/message.h \
	%D%/message/order.c %D%/message/order.h \
	%D%/message/point-to-point.c \
	%D%/message/requests.c \
	%D%/message/transfer.c %D%/message/transfer.h \
	%D%/message/wait.c %D%/message/wait.h \
	%D%/report.c \
	%D%/run.c \
	%D%/window.c

lib_LTLIBRARIES += libreel-mpi.la
libreel_mpi_la_SOURCES =
libreel_mpi_la_LIBADD = libreel-mpi-core.la libreel.la $(MPI_LIBS)
libreel_mpi_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(NO_UNDEFINED_LDFLAGS)
if HAVE_VERSION_SCRIPT
libreel_mpi_la_LDFLAGS += -Wl,--version-script=%D%/libreel-mpi.map
libreel_mpi_la_DEPENDENCIES = libreel-mpi-core.la libreel.la %D%/libreel-mpi.map
%D%/libreel-mpi.map: $(mpi_headers) $(map_tool)
	$(write_map) -v set=REEL_MPI_0.1 $(mpi_headers)
endif
CLEANFILES += %D%/libreel-mpi.map
endif
EXTRA_DIST += %D%/README.md
