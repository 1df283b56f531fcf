# libreel-cuda: a store in GPU memory. It loads the driver when it runs, and so is built everywhere.
noinst_LTLIBRARIES += libreel-cuda-core.la
libreel_cuda_core_la_CFLAGS = $(AM_CFLAGS) $(INTERPOSITION_CFLAGS)
libreel_cuda_core_la_SOURCES = \
	%D%/store.c %D%/gpu-store.h \
	%D%/link.c %D%/link.h \
	%D%/pinned.c %D%/pinned.h \
	%D%/lanes.c \
	%D%/context.c %D%/context.h \
	%D%/driver.c %D%/driver.h %D%/driver-types.h
# Of lib/, what libreel keeps to itself.
libreel_cuda_core_la_SOURCES += lib/store/transfer-queue.c lib/os/os.c lib/os/os-thread.c

lib_LTLIBRARIES += libreel-cuda.la
libreel_cuda_la_SOURCES =
libreel_cuda_la_LIBADD = libreel-arena.la libreel-cuda-core.la libreel.la
libreel_cuda_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(NO_UNDEFINED_LDFLAGS) $(NO_DELETE_LDFLAGS)
if HAVE_VERSION_SCRIPT
libreel_cuda_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/libreel-cuda.map
libreel_cuda_la_DEPENDENCIES = libreel-arena.la libreel-cuda-core.la libreel.la %D%/libreel-cuda.map
endif
EXTRA_DIST += %D%/README.md %D%/libreel-cuda.map

# A device for tests, over host memory; and the same as a driver's library.
noinst_LTLIBRARIES += libreel-fake-device.la
libreel_fake_device_la_SOURCES = %D%/fake-device.c %D%/fake-device.h
# The tests give it the name of the driver's.
if SHARED_LIBRARIES
check_LTLIBRARIES += libreel-fake-driver.la
libreel_fake_driver_la_SOURCES = %D%/fake-device.c %D%/fake-device.h
libreel_fake_driver_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_DRIVER_LIBRARY=1
libreel_fake_driver_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
endif
