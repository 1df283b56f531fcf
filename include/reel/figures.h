/* SPDX-License-Identifier: MIT */
/*
 * The figures that Reel counts. Each stands here once; the structs of statistics, the tables over
 * ranks, `reel top`, Python and Fortran are made from these lists. A list is a macro that expands
 * X(type, name, text) for each figure in the order of its struct; a program may do the same:
 *
 *	static void print(const struct reel_pool_stats *stats)
 *	{
 *	#define PRINT(type, name, text) printf("%s %" PRIu64 "  %s\n", #name, stats->name, text);
 *		REEL_POOL_FIGURES(PRINT)
 *	}
 *
 * Names end in a unit, _bytes or _ns, or are numbers. A new figure comes at the end of its list and
 * takes a reserved member of its struct.
 */
#ifndef REEL_FIGURES_H
#define REEL_FIGURES_H

/* A member of a struct; and one with a figure for each tier. */
#define REEL_FIGURE_MEMBER(type, name, text) type name;
#define REEL_FIGURE_TIERS(type, name, text) type name[REEL_MAX_TIERS];

/* The figures that the store of a pool adds; in a pool without a store they are 0. */
#define REEL_POOL_STORE_FIGURES(X)                                                             \
	X(uint64_t, stalls, "pushes and pops that waited for the store")                       \
	X(uint64_t, stall_ns, "time that they waited, together")                               \
	X(uint64_t, written_bytes, "put to the store so far")                                  \
	X(uint64_t, stored_bytes, "bytes of these in the store: with a codec, fewer")          \
	X(uint64_t, read_bytes, "got back so far")                                             \
	X(uint64_t, failed_puts, "slabs that stayed in memory, and were put again or not")     \
	X(uint64_t, failed_gets, "attempts; if one fails for good, the tape has the error")    \
	X(uint64_t, pressure_events, "times that the system told of memory pressure")          \
	X(uint64_t, in_store_bytes, "of slabs whose copy the store has now, uncompressed")

/* The members of struct reel_pool_stats. */
#define REEL_POOL_FIGURES(X)                                                                   \
	X(uint64_t, hard_budget, "bytes; UINT64_MAX: no bound")                                \
	X(uint64_t, soft_budget, "bytes now; UINT64_MAX: no bound")                            \
	X(uint64_t, slab_bytes, "size of a slab")                                              \
	X(uint64_t, first_slab_bytes, "size of a first slab")                                  \
	X(uint64_t, resident_bytes, "charged to the budget now, in use and idle")              \
	X(uint64_t, peak_resident_bytes, "the maximum of it")                                  \
	X(uint64_t, slabs, "descriptors: in use, empty, without memory")                       \
	X(uint64_t, slabs_in_use, "on tapes now")                                              \
	X(uint64_t, takes, "slabs handed to tapes so far")                                     \
	X(uint64_t, shared_takes, "takes for which the thread's magazines were empty")         \
	X(uint64_t, fresh_slabs, "slabs carved or mapped, first slabs by the frame")           \
	X(uint64_t, refused, "takes refused at the hard budget")                               \
	X(uint64_t, trimmed_bytes, "given back to the system so far")                          \
	X(uint64_t, lost_slabs, "in magazines of threads that a fork left behind")             \
	REEL_POOL_STORE_FIGURES(X)

/*
 * The members of struct reel_run_stats, since the forward sweep began. Steps are the model's.
 * X_TIERS(type, name, text) is expanded for a figure of each tier.
 */
#define REEL_RUN_FIGURES(X, X_TIERS)                                                           \
	X(int64_t, advanced, "steps run without a record")                                     \
	X(int64_t, recorded, "steps recorded")                                                 \
	X(int64_t, reversed, "steps reversed")                                                 \
	X_TIERS(uint64_t, stores, "states stored")                                             \
	X_TIERS(uint64_t, loads, "states loaded")                                              \
	X(uint64_t, put_bytes, "to stores")                                                    \
	X(uint64_t, got_bytes, "from stores")                                                  \
	X(uint64_t, failed_puts, "transfers; their states stayed in memory")                   \
	X(uint64_t, fetched, "loads that found their state read ahead")                        \
	X(uint64_t, waits, "for a store")                                                      \
	X(uint64_t, wait_ns, "for a store")                                                    \
	X(uint64_t, peak_snapshot_bytes, "in memory, with frames kept for the next snapshots") \
	X(uint64_t, peak_tape_bytes, "of the tape")                                            \
	X(uint64_t, advance_ns, "in advance(), of all threads together")                       \
	X(uint64_t, record_ns, "in record(), of all threads together")                         \
	X(uint64_t, reverse_ns, "in reverse(), of all threads together")                       \
	X(int64_t, unlike_step, "REEL_RUN_AUDIT: the step that does not replay, or -1")        \
	X(uint64_t, saves, "restart files written")                                            \
	X(uint64_t, failed_saves, "restart files that could not be written")                   \
	X(uint64_t, rounded_bytes, "of states stored with loss")                               \
	X(uint64_t, kept_bytes, "that these states took up")

#endif
