# SPDX-License-Identifier: MIT
include_HEADERS = include/reel.h include/reel.hpp
reelincludedir = $(includedir)/reel
core_headers = \
	include/reel/run.h \
	include/reel/compiler.h \
	include/reel/error.h \
	include/reel/extend.h \
	include/reel/figures.h \
	include/reel/inline.h \
	include/reel/layout.h \
	include/reel/loss.h \
	include/reel/model.h \
	include/reel/pool.h \
	include/reel/parcel.h \
	include/reel/plan.h \
	include/reel/recording.h \
	include/reel/store.h \
	include/reel/sum.h \
	include/reel/tape.h \
	include/reel/version.h
reelinclude_HEADERS = $(core_headers)

# The part of lib/ that libreel-cuda and libreel-omp also contain. All three libraries hide its symbols.
noinst_LTLIBRARIES += libreel-os.la
libreel_os_la_CFLAGS = $(AM_CFLAGS) $(CONVENIENCE_CFLAGS) $(LIBRARY_CFLAGS)
libreel_os_la_SOURCES = \
	%D%/os/os.c %D%/os/os.h \
	%D%/os/os-thread.c %D%/os/os-thread.h \
	%D%/store/transfer-queue.c %D%/store/transfer-queue.h

# Unit tests link this library, so that they can call hidden functions.
noinst_LTLIBRARIES += libreel-core.la
libreel_core_la_CFLAGS = $(AM_CFLAGS) $(CONVENIENCE_CFLAGS) $(LIBRARY_CFLAGS) $(CK_CFLAGS) \
	$(LZ4_CFLAGS)
libreel_core_la_LIBADD = libreel-os.la $(LZ4_LIBS)
libreel_core_la_SOURCES = \
	%D%/checkpoint/restart/restart.c %D%/checkpoint/restart/restart.h \
	%D%/checkpoint/restart/restart-epoch.c \
	%D%/checkpoint/restart/restart-file.c %D%/checkpoint/restart/restart-file.h \
	%D%/checkpoint/restart/restart-name.c \
	%D%/checkpoint/restart/save-request.c %D%/checkpoint/restart/save-request.h \
	%D%/checkpoint/run/accuracy.c \
	%D%/checkpoint/run/run.c %D%/checkpoint/run/run.h \
	%D%/checkpoint/run/run-group.c %D%/checkpoint/run/run-group.h \
	%D%/checkpoint/run/run-lookahead.h \
	%D%/checkpoint/run/run-loss.c %D%/checkpoint/run/run-loss.h \
	%D%/checkpoint/run/run-packer.c %D%/checkpoint/run/run-packer.h \
	%D%/checkpoint/snapshot/snapshot.c %D%/checkpoint/snapshot/snapshot.h \
	%D%/checkpoint/sweep/run-action.c \
	%D%/checkpoint/sweep/run-learn.c \
	%D%/checkpoint/sweep/run-open.c \
	%D%/checkpoint/sweep/run-read-ahead.c \
	%D%/checkpoint/sweep/sweep.c %D%/checkpoint/sweep/sweep.h \
	%D%/checkpoint/watch/run-audit.c \
	%D%/checkpoint/watch/run-progress.c \
	%D%/checkpoint/watch/watch.h \
	%D%/os/annotate.h \
	%D%/os/assert.c %D%/os/assert.h \
	%D%/os/bytes.h \
	%D%/os/cancel.h \
	%D%/os/clock.h \
	%D%/os/counter.h \
	%D%/os/environment.c %D%/os/environment.h \
	%D%/os/error.c %D%/os/error.h \
	%D%/os/integer.h \
	%D%/os/memory-limit.c %D%/os/memory-limit.h \
	%D%/os/memory-pressure.c %D%/os/memory-pressure.h \
	%D%/os/numerals.h \
	%D%/os/os-file.c %D%/os/os-file.h \
	%D%/os/process.c %D%/os/process.h \
	%D%/os/signals.h \
	%D%/os/stream.h \
	%D%/os/wakeup.h \
	%D%/os/yield.h \
	%D%/plan/choose.c \
	%D%/plan/choose-reason.c \
	%D%/plan/costs.c %D%/plan/costs.h \
	%D%/plan/costs-memory.c \
	%D%/plan/plan.c %D%/plan/plan.h \
	%D%/plan/plan-auto.c \
	%D%/plan/plan-binomial.c \
	%D%/plan/plan-hierarchical.c \
	%D%/plan/plan-mixed.c \
	%D%/plan/plan-online.c \
	%D%/plan/plan-periodic.c \
	%D%/plan/plan-text.c \
	%D%/plan/plan-uneven.c \
	%D%/plan/predict.c \
	%D%/plan/schedule.c \
	%D%/plan/schedule-check.c \
	%D%/pool/budget.c \
	%D%/pool/children.c \
	%D%/pool/fork.c \
	%D%/pool/freelist.h \
	%D%/pool/freelist-c11.h \
	%D%/pool/freelist-ck.h \
	%D%/pool/magazine.c \
	%D%/pool/mapping.c \
	%D%/pool/memory.c \
	%D%/pool/page-kind.c %D%/pool/page-kind.h \
	%D%/pool/pool.c %D%/pool/pool.h \
	%D%/pool/reclaim.h \
	%D%/pool/share.c %D%/pool/share.h \
	%D%/pool/share-file.c \
	%D%/pool/slab.c %D%/pool/slab.h \
	%D%/pool/supply.c \
	%D%/pool/trim.c \
	%D%/spill/owner/demand.c %D%/spill/owner/demand.h \
	%D%/spill/owner/offload.h \
	%D%/spill/owner/pins.c %D%/spill/owner/pins.h \
	%D%/spill/owner/slab-owner.c %D%/spill/owner/slab-owner.h \
	%D%/spill/parcel/bin.c \
	%D%/spill/parcel/order.c \
	%D%/spill/parcel/parcel.c %D%/spill/parcel/parcel.h \
	%D%/spill/parcel/parcels.c \
	%D%/spill/parcel/place.c \
	%D%/spill/pool/child-pool.h \
	%D%/spill/pool/default-pool.c %D%/spill/pool/default-pool.h \
	%D%/spill/pool/pool-open.c \
	%D%/spill/pool/pool-text.c %D%/spill/pool/pool-text.h \
	%D%/spill/thread/copy.c %D%/spill/thread/copy.h \
	%D%/spill/thread/pressure.c %D%/spill/thread/pressure.h \
	%D%/spill/thread/read-ahead.c %D%/spill/thread/read-ahead.h \
	%D%/spill/thread/thread.c %D%/spill/thread/thread.h \
	%D%/spill/thread/transfer.c %D%/spill/thread/transfer.h \
	%D%/spill/thread/victim.c %D%/spill/thread/victim.h \
	%D%/spill/thread/waiting.c %D%/spill/thread/waiting.h \
	%D%/spill/thread/write-back.c %D%/spill/thread/write-back.h \
	%D%/store/crc32c.c %D%/store/crc32c.h \
	%D%/store/difference.c %D%/store/difference.h \
	%D%/store/file-open.c \
	%D%/store/file-ranges.c %D%/store/file-ranges.h \
	%D%/store/file-request.c %D%/store/file-request.h \
	%D%/store/file-slots.c %D%/store/file-slots.h \
	%D%/store/file-threads.c \
	%D%/store/pack.c %D%/store/pack.h \
	%D%/store/quantise.c %D%/store/quantise.h \
	%D%/store/rice.c %D%/store/rice.h \
	%D%/store/shuffle.c %D%/store/shuffle.h \
	%D%/store/store.c %D%/store/store.h \
	%D%/store/store-checksum.c \
	%D%/store/store-codec.c \
	%D%/store/store-file.c %D%/store/store-file.h \
	%D%/store/store-gpu.c \
	%D%/store/store-memory.c \
	%D%/store/store-open.c \
	%D%/store/store-overflow.c \
	%D%/store/transfer-threads.c %D%/store/transfer-threads.h \
	%D%/tape/array.c \
	%D%/tape/below.c \
	%D%/tape/bits.c \
	%D%/tape/call-site.c \
	%D%/tape/check.c \
	%D%/tape/error.c \
	%D%/tape/hold.c \
	%D%/tape/lane-listener.h \
	%D%/tape/mark.c \
	%D%/tape/pop.c \
	%D%/tape/profile.c \
	%D%/tape/push.c \
	%D%/tape/recording.c \
	%D%/tape/room.c \
	%D%/tape/span.c \
	%D%/tape/sum.c \
	%D%/tape/tape.c %D%/tape/tape.h \
	%D%/tape/version.c \
	%D%/trace/live.c %D%/trace/live.h \
	%D%/trace/output.c %D%/trace/output.h \
	%D%/trace/profile.c %D%/trace/profile.h \
	%D%/trace/progress-line.c %D%/trace/progress-line.h \
	%D%/trace/ring.c %D%/trace/ring.h \
	%D%/trace/trace.c %D%/trace/trace.h
# Makes vector loops of its loops with -O2 also.
libreel_vectorised = %D%/store/libreel_core_la-difference.lo %D%/store/libreel_core_la-quantise.lo
$(libreel_vectorised): AM_CFLAGS += $(VECTORISE_CFLAGS)

lib_LTLIBRARIES += libreel.la
libreel_la_SOURCES =
libreel_la_LIBADD = libreel-core.la
libreel_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(NO_UNDEFINED_LDFLAGS) $(NO_DELETE_LDFLAGS)
if HAVE_VERSION_SCRIPT
libreel_la_LDFLAGS += -Wl,--version-script=%D%/libreel.map
libreel_la_DEPENDENCIES = libreel-core.la %D%/libreel.map
%D%/libreel.map: $(core_headers) $(libreel_core_la_SOURCES) $(map_tool)
	$(write_map) -v set=REEL_0.1 $(core_headers) $(libreel_core_la_SOURCES)
endif
CLEANFILES += %D%/libreel.map
EXTRA_DIST += %D%/README.md %D%/os/README.md %D%/store/README.md \
	%D%/pool/README.md %D%/spill/README.md %D%/tape/README.md %D%/trace/README.md %D%/plan/README.md \
	%D%/checkpoint/README.md
