include_HEADERS = include/reel.h
reelincludedir = $(includedir)/reel
reelinclude_HEADERS = \
	include/reel/block.h \
	include/reel/checkpoint.h \
	include/reel/compiler.h \
	include/reel/costs.h \
	include/reel/gpu.h \
	include/reel/inline.h \
	include/reel/pool.h \
	include/reel/schedule.h \
	include/reel/store.h \
	include/reel/tape.h \
	include/reel/version.h

# In the order in which a value travels. Unit tests link this, and so reach hidden symbols.
noinst_LTLIBRARIES += libreel-core.la
libreel_core_la_CFLAGS = $(AM_CFLAGS) $(INTERPOSITION_CFLAGS) $(CK_CFLAGS) $(LIBURING_CFLAGS) \
	$(LZ4_CFLAGS)
libreel_core_la_LIBADD = $(LIBURING_LIBS) $(LZ4_LIBS)
libreel_core_la_SOURCES = \
	%D%/tape.c %D%/tape.h \
	%D%/push.c \
	%D%/seal.c \
	%D%/pop.c \
	%D%/bits.c \
	%D%/span.c \
	%D%/array.c \
	%D%/mark.c \
	%D%/hold.c \
	%D%/block.c \
	%D%/schedule.c \
	%D%/schedule-check.c \
	%D%/plan.c %D%/plan.h \
	%D%/plan-binomial.c \
	%D%/plan-mixed.c \
	%D%/plan-hierarchical.c \
	%D%/plan-count.c \
	%D%/plan-periodic.c \
	%D%/plan-online.c \
	%D%/checkpoint-open.c \
	%D%/checkpoint.c %D%/checkpoint.h \
	%D%/checkpoint-ahead.c \
	%D%/checkpoint-audit.c \
	%D%/checkpoint-restart.c \
	%D%/checked-file.c %D%/checked-file.h \
	%D%/snapshot.c %D%/snapshot.h \
	%D%/buffer.c \
	%D%/costs.c %D%/costs.h \
	%D%/costs-touch.c \
	%D%/predict.c \
	%D%/choose.c \
	%D%/choose-words.c \
	%D%/check.c \
	%D%/error.c \
	%D%/residence.c %D%/residence.h \
	%D%/client.c \
	%D%/survey.c \
	%D%/spill.c \
	%D%/prefetch.c \
	%D%/offload.c %D%/offload.h \
	%D%/magazine.c \
	%D%/supply.c \
	%D%/trim.c \
	%D%/pool.c %D%/pool.h \
	%D%/budget.c \
	%D%/arena.c \
	%D%/store.c %D%/store.h \
	%D%/store-open.c \
	%D%/store-tier.c \
	%D%/store-codec.c \
	%D%/shuffle.c %D%/shuffle.h \
	%D%/difference.c %D%/difference.h \
	%D%/store-checksum.c \
	%D%/crc32c.c %D%/crc32c.h \
	%D%/store-count.c \
	%D%/store-fault.c \
	%D%/store-memory.c \
	%D%/store-gpu.c \
	%D%/store-file.c %D%/store-file.h \
	%D%/file-open.c \
	%D%/file-runs.c %D%/file-runs.h \
	%D%/file-slots.c %D%/file-slots.h \
	%D%/file-queue.c %D%/file-queue.h \
	%D%/file-request.c %D%/file-request.h \
	%D%/file-threads.c \
	%D%/file-ring.c \
	%D%/os.c %D%/os.h \
	%D%/os-file.c %D%/os-file.h \
	%D%/os-thread.c %D%/os-thread.h \
	%D%/fork.c \
	%D%/environment.c %D%/environment.h \
	%D%/version.c \
	%D%/annotate.h \
	%D%/cancel.h \
	%D%/claim.h \
	%D%/event.h \
	%D%/freelist.h \
	%D%/freelist-c11.h \
	%D%/freelist-ck.h \
	%D%/slab.h \
	%D%/stream.h \
	%D%/yield.h
if HAVE_LZ4
libreel_core_la_SOURCES += %D%/pack.c %D%/pack.h
endif
# Its loops are to become vector loops, with -O2 too.
libreel_vectorised = %D%/libreel_core_la-difference.lo
$(libreel_vectorised): AM_CFLAGS += $(VECTORISE_CFLAGS)

lib_LTLIBRARIES += libreel.la
libreel_la_SOURCES =
libreel_la_LIBADD = libreel-core.la
libreel_la_LDFLAGS = -version-info 0:0:0 -no-undefined $(NO_UNDEFINED_LDFLAGS) $(NO_DELETE_LDFLAGS)
if HAVE_VERSION_SCRIPT
libreel_la_LDFLAGS += -Wl,--version-script=$(srcdir)/%D%/libreel.map
libreel_la_DEPENDENCIES = libreel-core.la %D%/libreel.map
endif
EXTRA_DIST += %D%/libreel.map
