/* SPDX-License-Identifier: MIT */
/*
 * A tape whose newest rows are in shared memory, for warps whose lanes push and pop together.
 *
 *	__shared__ reel_device_stage<15> stages[WARPS];
 *	reel_staged_tape<15> tape;
 *
 *	tape.open(arena, &stages[threadIdx.x / 32]);
 *	... tape.push(x); ... x = tape.pop<double>(); ...
 *	tape.close();
 *
 * Stage. The stage of a warp holds two blocks of `Rows` rows. The newest rows are in one block.
 * When that block is full, it is copied to the arena while the other block is filled. In the
 * reverse sweep, the block below is copied back while the present block is popped. From compute
 * capability 9.0 on, these are bulk copies: one lane starts the copy of a whole block with one
 * instruction, and the copy runs beside the computation. On other devices, each lane copies its own
 * column.
 *
 * Size. A stage takes 2 x Rows x 32 words of shared memory. Rows is best a divisor of 255 (5, 15,
 * 17, 51), which is the number of rows in a slab of 64 KiB with words of 8 bytes: then no row of a
 * slab is left out.
 *
 * Lanes. All lanes of a warp (all that the thread block has) make the same pushes and pops, in the
 * same branch. For other kernels use reel_device_tape. If lanes have not kept together when a block
 * of rows ends, that is a fault, REEL_DEVICE_DIVERGED. The emulator always finds it. On a device,
 * such lanes may wait for each other for ever instead.
 *
 * Ending. All lanes call close() or save() before the kernel ends, since the shared memory must
 * stay until the copies have ended. After that the stage may be used for anything.
 *
 * Otherwise a staged tape is as reel_device_tape: types, order, faults, and an exact count of the
 * slabs needed. It has no bits and no places. A sweep that goes to and fro across the end of a
 * block copies a block each time.
 */
#ifndef REEL_DEVICE_STAGED_CUH
#define REEL_DEVICE_STAGED_CUH

#include <reel/device.cuh>

template <unsigned Rows, unsigned Word = 8> struct reel_device_stage {
	/* No constructor runs for __shared__ memory: open() of the tape sets what must be set. */
	alignas(16) typename reel_device_word<Word>::type rows[2][Rows][32];
	uint64_t arrived[2]; /* for each block, a barrier at which its copy back arrives */
};

/* ---- Within: bulk copies ---- */

#if defined(REEL_EMULATOR_BULK)
#define REEL_DEVICE_BULK 1

REEL_DEVICE void reel_bulk_open(uint64_t *barrier)
{
	emulator::bulk_open(barrier);
}

REEL_DEVICE void reel_bulk_close(uint64_t *barrier)
{
	emulator::bulk_close(barrier);
}

REEL_DEVICE void reel_bulk_fence()
{
}

REEL_DEVICE void reel_bulk_put(void *target, const void *source, uint32_t bytes)
{
	emulator::bulk_put(target, source, bytes);
}

template <unsigned Rest> REEL_DEVICE void reel_bulk_wait_until_read()
{
	emulator::bulk_wait_until_read(Rest);
}

REEL_DEVICE void reel_bulk_wait_until_written()
{
	emulator::bulk_wait_until_written();
}

REEL_DEVICE void reel_bulk_get(void *target, const void *source, uint32_t bytes, uint64_t *barrier)
{
	emulator::bulk_get(target, source, bytes, barrier);
}

REEL_DEVICE bool reel_bulk_is_here(const uint64_t *barrier, uint32_t parity)
{
	return emulator::bulk_is_here(barrier, parity);
}

#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
#define REEL_DEVICE_BULK 1

REEL_DEVICE uint32_t reel_bulk_shared(const void *address)
{
	return (uint32_t)__cvta_generic_to_shared(address);
}

/* Begins a barrier. One arrival, and the bytes that it announces, complete a phase. */
REEL_DEVICE void reel_bulk_open(uint64_t *barrier)
{
	asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;"
		     :
		     : "r"(reel_bulk_shared(barrier))
		     : "memory");
}

/* Ends a barrier. Before that, its memory may not be used for anything else. */
REEL_DEVICE void reel_bulk_close(uint64_t *barrier)
{
	asm volatile("mbarrier.inval.shared::cta.b64 [%0];"
		     :
		     : "r"(reel_bulk_shared(barrier))
		     : "memory");
}

/*
 * Orders this thread's loads and stores before the bulk copies that this thread starts afterwards,
 * or that a thread starts after it has synchronised with this thread.
 */
REEL_DEVICE void reel_bulk_fence()
{
	asm volatile("fence.proxy.async;" : : : "memory");
}

/* Starts a copy to the arena, as a bulk group of its own of the calling thread. */
REEL_DEVICE void reel_bulk_put(void *target, const void *source, uint32_t bytes)
{
	asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;\n\t"
		     "cp.async.bulk.commit_group;"
		     :
		     : "l"(__cvta_generic_to_global(target)), "r"(reel_bulk_shared(source)),
		       "r"(bytes)
		     : "memory");
}

/* Waits until all groups of this thread but the newest `Rest` have read their source. */
template <unsigned Rest> REEL_DEVICE void reel_bulk_wait_until_read()
{
	asm volatile("cp.async.bulk.wait_group.read %0;" : : "n"(Rest) : "memory");
}

REEL_DEVICE void reel_bulk_wait_until_written()
{
	asm volatile("cp.async.bulk.wait_group 0;" : : : "memory");
}

REEL_DEVICE void reel_bulk_get(void *target, const void *source, uint32_t bytes, uint64_t *barrier)
{
	asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%3], %2;\n\t"
		     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], "
		     "%2, [%3];"
		     :
		     : "r"(reel_bulk_shared(target)), "l"(__cvta_generic_to_global(source)),
		       "r"(bytes), "r"(reel_bulk_shared(barrier))
		     : "memory");
}

REEL_DEVICE bool reel_bulk_is_here(const uint64_t *barrier, uint32_t parity)
{
	uint32_t here;

	asm volatile("{\n\t.reg .pred p;\n\t"
		     "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;\n\t"
		     "selp.u32 %0, 1, 0, p;\n\t}"
		     : "=r"(here)
		     : "r"(reel_bulk_shared(barrier)), "r"(parity)
		     : "memory");
	return here;
}

#endif

/* ---- Within: moving blocks ---- */

/*
 * Copies blocks between the stage and the arena; each lane has one mover. An address in the arena
 * is that of a block's first row, at the word of lane 0.
 */
template <unsigned Rows, unsigned Word> struct reel_device_mover {
	typedef typename reel_device_word<Word>::type word;
	static constexpr uint32_t bytes = Rows * 32 * Word;

	reel_device_stage<Rows, Word> *stage;
	uint32_t lanes;   /* the lanes of the warp, which move blocks together */
	uint32_t parity;  /* bit b: parity of the phase of arrived[b] that ends next */

#ifdef REEL_DEVICE_BULK

	REEL_DEVICE bool leads() const
	{
		return reel_device_is_first(lanes);
	}

	REEL_DEVICE void open()
	{
		parity = 0;
		if (leads()) {
			reel_bulk_open(&stage->arrived[0]);
			reel_bulk_open(&stage->arrived[1]);
			reel_bulk_fence();
		}
		__syncwarp(lanes);
	}

	/* Requires that all copies have ended. */
	REEL_DEVICE void close() const
	{
		if (leads()) {
			reel_bulk_close(&stage->arrived[0]);
			reel_bulk_close(&stage->arrived[1]);
		}
		__syncwarp(lanes);
	}

	/* Starts to copy block b to the arena. The lanes may read the block meanwhile. */
	REEL_DEVICE void put(unsigned b, unsigned char *target) const
	{
		/* Makes what each lane wrote visible to the copy. */
		reel_bulk_fence();
		__syncwarp(lanes);
		if (leads())
			reel_bulk_put(target, stage->rows[b], bytes);
	}

	/*
	 * Waits until all copies to the arena but the newest `Rest` have read their block. Only
	 * then may the lanes write to such a block.
	 */
	template <unsigned Rest> REEL_DEVICE void wait_until_read() const
	{
		if (leads())
			reel_bulk_wait_until_read<Rest>();
		__syncwarp(lanes);
	}

	/* Waits until all blocks that were put are in the arena. */
	REEL_DEVICE void wait_until_written() const
	{
		if (leads())
			reel_bulk_wait_until_written();
		__syncwarp(lanes);
	}

	/* Starts to copy a block of the arena to block b, which no lane may use any more. */
	REEL_DEVICE void get(unsigned b, const unsigned char *source) const
	{
		wait_until_written();
		if (leads()) {
			reel_bulk_fence();
			reel_bulk_get(stage->rows[b], source, bytes, &stage->arrived[b]);
		}
	}

	REEL_DEVICE void wait_until_here(unsigned b)
	{
		while (!reel_bulk_is_here(&stage->arrived[b], parity >> b & 1))
			;
		parity ^= 1u << b;
	}

#else

	REEL_DEVICE void open()
	{
		parity = 0;
	}

	REEL_DEVICE void close() const
	{
	}

	REEL_DEVICE void put(unsigned b, unsigned char *target) const
	{
		for (unsigned row = 0; row < Rows; row++)
			((word *)target)[row * 32 + reel_device_warp_index()] =
				stage->rows[b][row][reel_device_warp_index()];
	}

	template <unsigned> REEL_DEVICE void wait_until_read() const
	{
	}

	REEL_DEVICE void wait_until_written() const
	{
	}

	REEL_DEVICE void get(unsigned b, const unsigned char *source) const
	{
		for (unsigned row = 0; row < Rows; row++)
			stage->rows[b][row][reel_device_warp_index()] =
				((const word *)source)[row * 32 + reel_device_warp_index()];
	}

	REEL_DEVICE void wait_until_here(unsigned)
	{
	}

#endif

	REEL_DEVICE void clear(unsigned b) const
	{
		for (unsigned row = 0; row < Rows; row++)
			stage->rows[b][row][reel_device_warp_index()] = word();
	}
};

/* ---- Within: places of blocks ---- */

/*
 * The place of a block is the number of the row below its first row. TOP_NONE is below all blocks,
 * and TOP_NONE + n is the place of the n-th block that was refused. TOP_SPILLED + n is a row in the
 * store, n rows below the bottom slab.
 */
REEL_DEVICE_RARE uint32_t reel_staged_refuse(unsigned char *base, uint32_t refused, uint32_t blocks,
					     uint32_t word_bytes)
{
	reel_arena_warp *warp = reel_device_state(base, word_bytes);

	if (warp) {
		uint32_t slab = reel_device_highest(base, warp);
		uint32_t slabs = slab ? reel_device_slab(base, slab)->height + 1 : 0;

		reel_device_note(base, REEL_DEVICE_EXHAUSTED);
		atomicMax(&warp->peak, slabs + (refused - 1) / blocks + 1);
	}
	return REEL_DEVICE_TOP_NONE + refused;
}

/* Returns the place above, from a place in the store. A block that is put in the store is lost. */
REEL_DEVICE uint32_t reel_staged_rise(unsigned char *base, reel_arena_warp *warp, uint32_t place,
				      uint32_t rows)
{
	const reel_arena_header *header = reel_device_header(base);
	uint32_t drained = reel_device_drained(base, warp), row;

	if (place == REEL_DEVICE_TOP_NONE) {
		place = REEL_DEVICE_TOP_SPILLED + drained;
	} else {
		row = (drained - (place - REEL_DEVICE_TOP_SPILLED)) % header->row_mask;
		place -= row + 2 * rows <= header->row_mask ? rows : header->row_mask - row;
	}
	if (place == REEL_DEVICE_TOP_SPILLED)
		return warp->bottom << header->row_shift;
	reel_device_miss(base, warp, place - REEL_DEVICE_TOP_SPILLED);
	return place;
}

REEL_DEVICE uint32_t reel_staged_sink(unsigned char *base, const reel_arena_warp *warp,
				      uint32_t place, uint32_t rows)
{
	uint32_t mask = reel_device_header(base)->row_mask;
	uint32_t height = reel_device_drained(base, warp) - (place - REEL_DEVICE_TOP_SPILLED);

	if (height == 0)
		return REEL_DEVICE_TOP_NONE;
	/* At the end of each slab are the rows that are too few for a block. */
	return place + (height % mask ? rows : mask % rows + rows);
}

REEL_DEVICE_RARE uint32_t reel_staged_above(unsigned char *base, uint32_t place, uint32_t rows,
					    uint32_t word_bytes)
{
	uint32_t mask = reel_device_header(base)->row_mask, top;
	reel_arena_warp *warp;

	if (place < REEL_DEVICE_TOP_NONE && (place & mask) + 2 * rows <= mask)
		return place + rows;
	warp = reel_device_state(base, word_bytes);
	if (reel_device_is_below(base, warp, place))
		return reel_staged_rise(base, warp, place, rows);
	if (place > REEL_DEVICE_TOP_NONE)
		return reel_staged_refuse(base, place - REEL_DEVICE_TOP_NONE + 1, mask / rows,
					  word_bytes);
	top = place == REEL_DEVICE_TOP_NONE ? place : place | mask;
	top = reel_device_climb(base, top, word_bytes);
	return top & REEL_DEVICE_TOP_NONE ? REEL_DEVICE_TOP_NONE + 1 : top;
}

REEL_DEVICE_RARE uint32_t reel_staged_below(unsigned char *base, uint32_t place, uint32_t rows,
					    uint32_t word_bytes)
{
	const reel_arena_header *header = reel_device_header(base);
	uint32_t last = (header->row_mask / rows - 1) * rows, slab;
	const reel_arena_warp *warp;

	if (place < REEL_DEVICE_TOP_NONE && place & header->row_mask)
		return place - rows;
	warp = reel_device_state(base, word_bytes);
	if (reel_device_top_is_spilled(place))
		return reel_staged_sink(base, warp, place, rows);
	if (place > REEL_DEVICE_TOP_NONE + 1)
		return place - 1;
	if (place > REEL_DEVICE_TOP_NONE) {
		slab = warp ? reel_device_highest(base, warp) : 0;
	} else {
		slab = reel_device_slab(base, place >> header->row_shift)->below;
		if (!slab && reel_device_drained(base, warp))
			return reel_staged_sink(base, warp, REEL_DEVICE_TOP_SPILLED, rows);
	}
	return slab ? slab << header->row_shift | last : REEL_DEVICE_TOP_NONE;
}

/* ---- The tape ---- */

template <unsigned Rows, unsigned Word = 8> struct reel_staged_tape {
	typedef typename reel_device_word<Word>::type word;

	REEL_DEVICE void open(const reel_device_arena &arena, reel_device_stage<Rows, Word> *stage)
	{
		uint32_t rest = reel_device_block_threads() - reel_device_thread() / 32 * 32;

		base = arena.base;
		mover.stage = stage;
		mover.lanes = rest < 32 ? (1u << rest) - 1 : ~0u;
		mover.open();
		placed = REEL_DEVICE_TOP_NONE;
		count = 0;
		front = 0;
		on_its_way = false;
	}

	/*
	 * Opens the tape that this warp's lanes saved in an earlier kernel, whose thread blocks had
	 * the same size. All lanes call it.
	 */
	REEL_DEVICE void resume(const reel_device_arena &arena,
				reel_device_stage<Rows, Word> *stage)
	{
		reel_device_tape<Word> saved;

		open(arena, stage);
		saved.resume_as(arena, Rows);
		placed = saved.top;
		if (placed == REEL_DEVICE_TOP_NONE)
			return;
		note_if_spilled();
		bring(0);
		if (on_its_way)
			mover.wait_until_here(0);
		on_its_way = false;
		count = (uint32_t)saved.bits;
		placed = reel_staged_below(base, placed, Rows, Word);
		bring(1);
	}

	/* Leaves the tape in the arena for a later kernel, and ends it. All lanes call it. */
	REEL_DEVICE void save()
	{
		reel_device_tape<Word> saved;

		saved.base = base;
		saved.top = placed;
		saved.bits = Rows;
		if (count > 0) {
			saved.top = reel_staged_above(base, placed, Rows, Word);
			saved.bits = (typename reel_device_word<Word>::bits)count;
			if (!(saved.top & REEL_DEVICE_TOP_NONE))
				mover.put(front, address(saved.top));
		}
		saved.save_as(Rows);
		close();
	}

	/* Ends the tape and waits for its copies. All lanes call it. */
	REEL_DEVICE void close()
	{
		if (on_its_way)
			mover.wait_until_here(front ^ 1);
		on_its_way = false;
		mover.wait_until_written();
		mover.close();
	}

	template <class... T> REEL_DEVICE void push(const T &...x)
	{
		word words[reel_device_record<Word, T...>::rows];

		reel_device_record<Word, T...>::pack(words, x...);
		push_words(words);
	}

	template <class T> REEL_DEVICE T pop()
	{
		word words[reel_device_record<Word, T>::rows];
		T value;

		pop_words(words);
		reel_device_record<Word, T>::unpack(words, value);
		return value;
	}

	template <class First, class... Rest> REEL_DEVICE void pop(First &first, Rest &...rest)
	{
		word words[reel_device_record<Word, First, Rest...>::rows];

		pop_words(words);
		reel_device_record<Word, First, Rest...>::unpack(words, first, rest...);
	}

	REEL_DEVICE bool is_empty() const
	{
		return count == 0 && placed == REEL_DEVICE_TOP_NONE;
	}

	/* ---- Within ---- */

	unsigned char *base;
	reel_device_mover<Rows, Word> mover;
	uint32_t placed; /* place of the block below the front block; it has the other buffer */
	uint32_t count;  /* rows in the front block */
	uint32_t front;
	bool on_its_way; /* the block at `placed` is being copied into the other buffer */

	REEL_DEVICE unsigned char *address(uint32_t place) const
	{
		return base + (uint64_t)(place + 1) * (32 * Word);
	}

	REEL_DEVICE word &at(uint32_t row)
	{
		return mover.stage->rows[front][row][reel_device_warp_index()];
	}

	template <unsigned N> REEL_DEVICE void push_words(const word (&words)[N])
	{
		/* A record larger than a block never fits. */
		constexpr unsigned fit = N <= Rows ? N : 0;

		if (fit && count + N <= Rows) {
#pragma unroll
			for (unsigned i = 0; i != fit; i++)
				at(count + i) = words[i];
			count += N;
			return;
		}
#pragma unroll
		for (unsigned i = 0; i < N; i++) {
			if (count == Rows)
				up();
			at(count++) = words[i];
		}
	}

	template <unsigned N> REEL_DEVICE void pop_words(word (&words)[N])
	{
		constexpr unsigned fit = N <= Rows ? N : 0;

		if (fit && count >= N) {
			count -= N;
#pragma unroll
			for (unsigned i = 0; i != fit; i++)
				words[i] = at(count + i);
			return;
		}
#pragma unroll
		for (unsigned i = N; i-- > 0;) {
			bool there = count > 0 || down();

			words[i] = there ? at(--count) : word();
		}
	}

	REEL_DEVICE void note_if_apart() const
	{
		if (__match_any_sync(mover.lanes, placed + 2 * count + front) != mover.lanes)
			reel_device_note(base, REEL_DEVICE_DIVERGED);
	}

	/* Notes that the block at `placed` is wanted now, and not only fetched ahead. */
	REEL_DEVICE void note_if_spilled() const
	{
		if (reel_device_top_is_spilled(placed))
			reel_device_miss(base, reel_device_state(base, Word),
					 placed - REEL_DEVICE_TOP_SPILLED);
	}

	/* Puts the front block, which is full, into the arena and goes on in the other buffer. */
	REEL_DEVICE void up()
	{
		bool is_refused;

		note_if_apart();
		placed = reel_staged_above(base, placed, Rows, Word);
		is_refused = placed & REEL_DEVICE_TOP_NONE;
		if (!is_refused)
			mover.put(front, address(placed));
		front ^= 1;
		if (on_its_way)
			mover.wait_until_here(front);
		on_its_way = false;
		/* The newest copy reads the other buffer, unless the block was refused. */
		if (is_refused)
			mover.template wait_until_read<0>();
		else
			mover.template wait_until_read<1>();
		count = 0;
	}

	/*
	 * Goes on in the other buffer, since the front block is empty, and starts to fetch the
	 * block below. Returns false if the tape is empty.
	 */
	REEL_DEVICE bool down()
	{
		note_if_apart();
		if (placed == REEL_DEVICE_TOP_NONE) {
			reel_device_note(base, REEL_DEVICE_UNDERFLOW);
			return false;
		}
		note_if_spilled();
		front ^= 1;
		if (on_its_way)
			mover.wait_until_here(front);
		on_its_way = false;
		count = Rows;
		placed = reel_staged_below(base, placed, Rows, Word);
		__syncwarp(mover.lanes);
		bring(front ^ 1);
		return true;
	}

	/*
	 * Starts to copy the block at `placed` into buffer b. If that block was refused or is in
	 * the store, buffer b becomes zero. In any case, all blocks that were put are in the arena
	 * afterwards: the front block may be put to its old place again, and nothing else orders
	 * two copies to one place.
	 */
	REEL_DEVICE void bring(unsigned b)
	{
		if (!(placed & REEL_DEVICE_TOP_NONE)) {
			mover.get(b, address(placed));
			on_its_way = true;
			return;
		}
		mover.wait_until_written();
		if (placed > REEL_DEVICE_TOP_NONE)
			mover.clear(b);
	}
};

#endif
