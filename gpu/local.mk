# SPDX-License-Identifier: MIT
# libreel-cuda: a store in GPU memory. It loads the driver at run time, so each machine can build it.
noinst_LTLIBRARIES += libreel-cuda-core.la
libreel_cuda_core_la_CFLAGS = $(AM_CFLAGS) $(CONVENIENCE_CFLAGS) $(LIBRARY_CFLAGS)
libreel_cuda_core_la_SOURCES = \
	%D%/driver/context.c %D%/driver/context.h \
	%D%/driver/driver.c %D%/driver/driver.h \
	%D%/driver/driver-types.h \
	%D%/driver/frames.c %D%/driver/frames.h \
	%D%/driver/pinned.c %D%/driver/pinned.h \
	%D%/store/copy-stream.c %D%/store/copy-stream.h \
	%D%/store/device-memory.c %D%/store/device-memory.h \
	%D%/store/gpu-store.c %D%/store/gpu-store.h \
	%D%/tape/host-tape.c
libreel_cuda_core_la_LIBADD = libreel-os.la

lib_LTLIBRARIES += libreel-cuda.la
libreel_cuda_la_SOURCES =
libreel_cuda_la_LIBADD = libreel-arena.la libreel-cuda-core.la libreel.la
libreel_cuda_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(NO_UNDEFINED_LDFLAGS) $(NO_DELETE_LDFLAGS)
if HAVE_VERSION_SCRIPT
libreel_cuda_la_LDFLAGS += -Wl,--version-script=%D%/libreel-cuda.map
libreel_cuda_la_DEPENDENCIES = libreel-arena.la libreel-cuda-core.la libreel.la %D%/libreel-cuda.map
%D%/libreel-cuda.map: $(gpu_headers) $(map_tool)
	$(write_map) -v set=REEL_CUDA_0.1 $(gpu_headers)
endif
CLEANFILES += %D%/libreel-cuda.map
EXTRA_DIST += %D%/README.md %D%/tape/README.md %D%/try.sh

# The tape for kernels: headers, and the part of its memory that runs on the host.
gpu_headers = \
	include/reel/gpu.h \
	include/reel/arena.h \
	include/reel/host-tape.h \
	include/reel/device.cuh \
	include/reel/device-add.cuh \
	include/reel/device-slab.cuh \
	include/reel/device-warp.cuh
reelinclude_HEADERS += $(gpu_headers)

noinst_LTLIBRARIES += libreel-arena.la
libreel_arena_la_CFLAGS = $(AM_CFLAGS) $(CONVENIENCE_CFLAGS) $(LIBRARY_CFLAGS)
libreel_arena_la_SOURCES = \
	%D%/tape/arena-layout.h \
	%D%/tape/arena-state.c %D%/tape/arena-state.h \
	%D%/tape/batches.c %D%/tape/batches.h \
	%D%/tape/device-arena.c \
	%D%/tape/drain.c %D%/tape/drain.h \
	%D%/tape/spill-policy.c %D%/tape/spill-policy.h \
	%D%/tape/tables.c %D%/tape/tables.h \
	%D%/tape/tables-copy.c

# A fake device for tests, which keeps its memory on the host; and the same as a library of a driver.
noinst_LTLIBRARIES += libreel-fake-device.la
libreel_fake_device_la_SOURCES = tests/helpers/fake-device.c tests/helpers/fake-device.h
# The tests give this library the name of the driver's library.
if SHARED_LIBRARIES
check_LTLIBRARIES += libreel-fake-driver.la
libreel_fake_driver_la_SOURCES = tests/helpers/fake-device.c tests/helpers/fake-device.h
libreel_fake_driver_la_CPPFLAGS = $(AM_CPPFLAGS) -DFAKE_DRIVER_LIBRARY=1
libreel_fake_driver_la_LDFLAGS = -module -avoid-version -shared -rpath /nowhere
endif
