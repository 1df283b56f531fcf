/* SPDX-License-Identifier: MIT */
/*
 * The pool: where tapes get their slabs.
 *
 * A pool carves slabs from large mappings, which huge pages back if they are cheaper, hands them to
 * tapes, and keeps returned slabs for the next tape: a warm gradient maps nothing and causes no
 * page fault. A thread keeps a few empty slabs of its own (two magazines), so that most takes touch
 * no shared memory; magazines travel whole through one lock-free list.
 *
 * Most programs never name a pool: a tape that was opened without a pool, or is simply all zero,
 * uses the process's default pool.
 *
 * Calls at the same time (- is safe, X needs the caller's order):
 *
 *                         tape   hand-over  parcel  trim   stats  exit   fork   close
 *   a tape's calls        - (1)
 *   reel_tape_hand_over   - (1)  - (1)
 *   a parcel's calls      -      -          - (4)
 *   reel_pool_trim        -      -          -       -
 *   reel_pool_get_stats   -      -          -       -      -
 *   a thread's exit       -      -          -       -      -      -
 *   fork                  - (2)  - (2)      - (2)   -      -      - (2)  -
 *   reel_pool_close       X      X          X       X      X      - (3)  X      X
 *
 *   (1) on different tapes of the same pool; one tape belongs to one thread at a
 *       time, and a hand-over is ordered by the caller.
 *   (2) in the parent; for the child see below.
 *   (3) threads that used the pool may be ending then, or end later: a program does not know
 *       when OpenMP ends its threads.
 *   (4) of different parcels, or several pins of one; reel/parcel.h has the rest, also
 *       for a child.
 *
 * Inside, a tape's calls take a slab, give it back, and grow; with a store they also seal it, write
 * it, evict its frame, read it ahead, and drop it. A parcel's calls do the same, and pin and
 * announce slabs of parcels. A thread's exit is a flush of its magazines. reel-stress
 * (stress/pairs.c) runs each pair of these operations that can meet, in 2, 3 and 8 threads;
 * `reel-stress --list` explains why the other pairs cannot. A pool's hard budget does not change.
 *
 * Waits of other threads, if a thread is stopped in the middle of a call (each row holds at every
 * place in the call where another thread may run; tests/spill/t-progress.c):
 *
 *   push and pop with room              wait-free: no other thread is involved
 *   a slab taken or given, by magazine  wait-free, after the thread's first call
 *   the same, by the shared lists       lock-free: other threads make progress
 *   a new slab, a large slab, a trim    lock-free, except for system calls
 *   memory beyond the budget,           waits for their stores, for a fork, and for the close of
 *   beside runs or arenas with a store  such a run or arena
 *   a thread's exit                     waits for other threads' exits, and for a fork
 *   reel_pool_get_stats                 wait-free except for new threads; it reads counters
 *   with a store: a push at the budget  waits for a frame: for the store, or for the thread that
 *                                       holds the last frames; other threads that need a frame may
 *                                       wait as well; the rest continue
 *   with a store: a pop of a slab, or a waits for the store, and for a frame
 *   pin, that is not in memory
 *   reel_pool_close, fork               wait for transfers that are under way, and for threads'
 *                                       exits
 *
 * fork: the child may continue with the tapes that the forking thread owned, and open new ones.
 * Values that are only in the store belong to the parent: their pops give all ones, with -ECHILD,
 * and a push in the child that finds the hard budget used up is refused with -ECHILD. If the
 * default pool has a store, the child opens its own default pool with its own store: tapes that are
 * empty at the fork, and tapes that begin in the child, use that pool, so that workers that fork
 * after a gradient need no change. For other pools, a child that spills must open its own pool. The
 * child cannot use a tape that another thread was using at that moment, so it cannot close a pool
 * with such a tape. The empty slabs that other threads held in their magazines are lost to the
 * child and counted (lost_slabs).
 */
#ifndef REEL_POOL_H
#define REEL_POOL_H

#include <stddef.h>
#include <stdint.h>

#include <reel/figures.h>
#include <reel/store.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct reel_pool reel_pool;

/* Tapes of this pool are checked: see "Checked mode" in reel/tape.h. */
#define REEL_POOL_CHECKED 1u
/* Do not ask for huge pages. See "Pages" below. */
#define REEL_POOL_SMALL_PAGES 2u
/*
 * A hard_budget of 0 is half of the memory that the system allows this process (see
 * reel_pool_default()). With a store, while the system is short of memory: write and evict above a
 * lower soft budget, and give idle slabs back to the system. See "Memory pressure" below.
 */
#define REEL_POOL_OBEY_LIMITS 4u
/* Ask for huge pages, whatever they cost. See "Pages" below. */
#define REEL_POOL_HUGE_PAGES 8u

/*
 * All zero means all defaults. Sizes are bytes.
 */
struct reel_pool_options {
	/*
	 * Maximum of resident bytes, in use and idle together. Without a store a push that would
	 * need more is refused with -EDQUOT and the tape keeps everything pushed before it. With a
	 * store the push waits until a slab has been stored. An open tape keeps the slab that it
	 * left last, even when it is empty. A pop is never refused: if nothing can leave memory,
	 * slabs that come back from the store exceed this. 0: no bound, or with
	 * REEL_POOL_OBEY_LIMITS half of the system's limit; the statistics have the number.
	 */
	size_t hard_budget;
	/*
	 * Without a store: above this the pool gives empty slabs back to the system instead of
	 * keeping them warm, except the first slabs of tapes and those in magazines. With a store:
	 * above this, slabs are written behind; a tape that stays below it costs no transfer. When
	 * a tape has used up the hard budget, slabs below this are also written, until 16 slabs, or
	 * three quarters if there are fewer, have a copy in the store. At most hard_budget. 0: the
	 * hard budget, or with a store three quarters of it.
	 */
	size_t soft_budget;
	/*
	 * A slab: a multiple of 64, from 64 B to 1 GiB; 0: 2 MiB, one huge page. A pool has at most
	 * 2^20 slabs (2^16 where addresses have 32 bits), and gives back to the system only slabs
	 * that are whole pages. Under a budget, slabs that are not whole huge pages get small
	 * pages.
	 */
	size_t slab_bytes;
	/*
	 * Size of each of the first four slabs of a tape, which are cut from one slab: divides
	 * slab_bytes into at most 1024. 0: 64 KiB, more for very large slabs, or slab_bytes if 64
	 * KiB does not divide it; and 4 KiB for the lowest slab of a tape, so that 100,000 tapes of
	 * 320 bytes take 0.4 GB. If it is slab_bytes, all slabs of a tape are alike.
	 */
	size_t first_slab_bytes;
	/*
	 * Slabs in a magazine, 1 to 16. 0: 16, less under a tight budget. With a store only
	 * first slabs are kept in magazines, and under a tight budget none.
	 */
	unsigned magazine_slabs;
	/* REEL_POOL_* */
	unsigned flags;
	/*
	 * The store of slabs that have no room in memory. Needs slabs that are multiples of the
	 * store's alignment and not larger than its largest put (for a file any size, unless
	 * reel_file_options.slot_bytes limits it; with a codec or on a GPU 2 MiB, unless their
	 * options change it), and a hard_budget with room for the slabs that stay in memory. For
	 * each tape in use these are
	 *
	 *   - 2 slabs, or 3 if tapes of the pool are held (reel_tape_hold()), and one more for
	 *     a tape with collective spans (reel/region.h);
	 *   - 4 first slabs, and 4 more for each hold, counting the maximum number of holds on
	 *     one tape; none if first_slab_bytes is slab_bytes;
	 *   - spans larger than a slab: room for the two largest that lie on each other.
	 *
	 * By default 32 first slabs fill one slab, so 4 slabs are enough for a tape in up to 7
	 * holds. A checked tape counts as two tapes; the notes of a lane (reel/region.h) count as
	 * one tape. If the hard_budget is smaller, a push is refused with a message that names the
	 * number of slabs that its tape needs, or a pop exceeds the budget. The pool takes over the
	 * store and closes it when the pool is closed; if reel_pool_open() fails, the store still
	 * belongs to the caller. NULL: none.
	 */
	reel_store *store;
	/*
	 * The name of a budget that processes of one user on one node share: at most 15 letters,
	 * digits, - and _. Then all pools with this name together have hard_budget bytes; see
	 * "Shared budgets" below. "": this pool shares no budget.
	 */
	char shared_budget[16];
	/* For options to come: 0. */
	uint64_t reserved[1];
};

/* reel/figures.h explains each figure. */
struct reel_pool_stats {
	REEL_POOL_FIGURES(REEL_FIGURE_MEMBER)
	uint64_t reserved[2]; /* 0 */
};

/*
 * Pages. A fresh huge page costs a fifth of the time of small pages on a machine of one's own, and
 * several times as much on a virtual machine whose host takes free memory back: that host has to
 * find memory for each huge page, while small pages lie between others that are in use, and are
 * there. Where the system makes huge pages on request (transparent_hugepage/enabled is always or
 * madvise), a pool measures the costs: the thread that takes a fresh frame makes its first 2 MiB
 * resident, and up to 8 MiB if the costs have changed. Threads that fill a larger span touch the
 * rest. Each frame gets the kind of page that was cheaper last. The dearer kind is tried from time
 * to time, which takes about a twentieth of the time of the others. All pools of a process share
 * the costs. Later sweeps take 1.02 to 1.05 times as long in small pages as in huge ones.
 *
 * With REEL_POOL_SMALL_PAGES or REEL_POOL_HUGE_PAGES nothing is measured, and no page is resident
 * before its first use. The same holds, with huge pages, in a pool with a store, and for slabs that
 * are not whole huge pages; under a budget these get small pages. A frame whose memory was given
 * back to the system keeps its kind of page.
 */

/*
 * Memory pressure. A pool with a store and REEL_POOL_OBEY_LIMITS, which the default pool has, opens
 * a trigger on memory.pressure of the control group (version 2) of this process, or if that fails,
 * on /proc/pressure/memory: some thread has waited for memory in 150 ms of 2 s. If the kernel has
 * no such file (Linux 5.2 has), or refuses the trigger, the flag does nothing; `reel info` shows
 * it. The pool's own thread looks at the trigger once a second; pushes and pops do not.
 *
 * Each event halves the soft budget, to no less than a quarter and 4 slabs, and gives all idle
 * slabs except first slabs back to the system. Until 4 s have passed without an event, slabs above
 * the lowered soft budget go to the store, and stored slabs that are not needed within a second
 * leave memory; slabs requested in advance are read only below it. Then the soft budget is
 * restored. No push is refused, and no value changes: a sweep takes longer, as under a smaller
 * budget. A pool without a store has no thread; its program calls reel_pool_trim(). In the child of
 * a fork the pools of the parent have no trigger.
 */

/*
 * Shared budgets. Pools of one user's processes on one node, such as the ranks of a job, share a
 * budget if they have the same name in `shared_budget`. All of them together have at most
 * hard_budget bytes resident, except for pops, as within one pool. If they were opened with
 * different numbers, the smallest one counts, and one line on stderr says so.
 *
 * Each pool keeps 4 slabs, so that it can always go on; reel_pool_open() waits up to 5 seconds for
 * them. The rest of the budget goes to the pools that need it. A pool that is refused memory is
 * short of it. Then the other pools give idle slabs back to the system, and after 50 ms also slabs
 * in use: each pool that has more than its allotment writes and evicts slabs that are not needed
 * within a second. All pools that are short have the same allotment; a pool that is not short keeps
 * its memory up to that. A pool without a store gives only slabs back that its tapes leave; a push
 * on such a pool waits up to 2 seconds for memory of others before it is refused with -EDQUOT.
 *
 * The memory of a killed process comes back within 100 ms if another process has a pool with a
 * store, and otherwise as soon as a pool needs it. In the child of a fork, the pools of the parent
 * have no share, and their memory does not count. The child's default pool, and pools that the
 * child opens, join anew.
 *
 * There is no server: the pools meet in /dev/shm/reel-budget-USER-NAME, a file that only this user
 * can open (-EPERM otherwise), and that the last process removes when it ends. If that process was
 * killed, the next one takes the file over. Needs Linux with /proc (-ENOTSUP). Processes that do
 * not see each other in /proc, as in two containers, cannot share a budget (-EPERM).
 *
 * Cost: two atomic operations on shared memory for a slab that was not idle; a pool with a store
 * looks at the others every 50 ms, and one of them at the processes in /proc every 30 ms.
 */

/*
 * Open a pool and store it in *pool.
 *
 * options may be NULL (all defaults) and is not kept. Any thread. The pool belongs to the caller,
 * which ends it with reel_pool_close().
 *
 * Returns 0, or
 *   -EINVAL  an option is out of its range; *pool is unchanged
 *   -ENOMEM  no memory, or no thread key is left
 *   -EAGAIN  the system starts no thread for a pool with a store
 *   -EPERM, -EBUSY, -EDQUOT, -ENOTSUP, or another error of a file
 *            it cannot share a budget: the text names the file and the remedy
 *
 * Cost: some mappings of address space; memory is taken when tapes need it.
 */
int reel_pool_open(reel_pool **pool, const struct reel_pool_options *options);

/*
 * End a pool and unmap all its memory. Every tape, parcel and run on it, and every arena that
 * borrows from it, must have been closed, and no other thread may use it any more. Threads that
 * used it need not have ended: they may be ending at this moment. NULL is allowed.
 *
 * Returns 0, or
 *   -EBUSY   slabs are still on tapes, or parcels, runs or arenas are not closed; nothing was done
 *   -EPERM   it is the default pool, which lives as long as the process
 */
int reel_pool_close(reel_pool *pool);

/*
 * The pool of tapes without a pool, opened at its first use and configured by the environment, so
 * that a relinked program needs no change of its source:
 *
 *   REEL_BUDGET=BYTES    the hard budget: a number such as 1.5G, with K, M, G or T or without;
 *              60%       this share of the system's limit
 *              auto      half of that; also if there is a store and no budget
 *              shared:4G (60%, auto): all processes of the user on the node that say so share
 *                        this budget (see "Shared budgets"); shared:NAME:4G: all that say this
 *                        name; the name is "node" otherwise
 *   REEL_SPILL_DIR=DIR   a directory for slabs beyond the budget
 *   REEL_STORE=TEXT      or a store as reel_store_open() describes it, "memory=2G";
 *                        "lz4,file" puts its file in REEL_SPILL_DIR, else in
 *                        SLURM_TMPDIR or TMPDIR
 *   REEL_CHECKED=1       checked mode for its tapes
 *   REEL_SLAB=BYTES      slab_bytes: a multiple of 64K of at most 2M
 *   REEL_PAGES=small     REEL_POOL_SMALL_PAGES
 *              huge      REEL_POOL_HUGE_PAGES
 *
 * The system's limit is the minimum of the limits of the process's control groups (version 2:
 * memory.max and memory.high, version 1: memory.limit_in_bytes) and of all groups above them,
 * RLIMIT_AS, and the physical memory; `reel info` shows which one. It is read once. Ranks of an MPI
 * program that mpirun has started on one node divide it; a REEL_BUDGET in bytes applies to each
 * rank. Neither is so with a shared budget. The budget and the memory of REEL_STORE may together
 * take 95 % of it. A larger or senseless budget is reported in one line on stderr, and replaced by
 * auto: half of the limit, or the memory that the store leaves. Without REEL_BUDGET and without a
 * store memory has no bound, except in a control group with a limit: there it is nine tenths of the
 * memory that is unused at the first use. If the store cannot be opened, for example because the
 * directory is a tmpfs, the pool is refused: the first push on each of its tapes fails with -ENXIO,
 * and its report gives the reason and the remedy. Without that store the program would fail later,
 * when its budget is used up. The child of a fork does not read the environment again: its default
 * pool has the same budget as the parent's, in addition to the memory that the parent keeps. In a
 * set-user-id program the environment is not read.
 *
 * Any thread. NULL if there is no memory for it, or it is refused (see reel_error_text()); the next
 * call tries again.
 */
reel_pool *reel_pool_default(void);

/*
 * Give idle memory back to the system until at most `keep` bytes are resident,
 * or until none is idle. Slabs in other threads' magazines, the small first
 * slabs, and slabs that are not whole pages stay. Any thread, while others use the pool.
 *
 * Returns the bytes given back. Cost: a system call per slab given back, and a
 * page fault for each page of it when it is next used.
 */
size_t reel_pool_trim(reel_pool *pool, size_t keep);

/*
 * Read the pool's counters. Any thread, while others use the pool; each counter is exact, but
 * together they are not a snapshot of one moment.
 */
void reel_pool_get_stats(reel_pool *pool, struct reel_pool_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
