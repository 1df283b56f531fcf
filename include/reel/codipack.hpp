/* SPDX-License-Identifier: MIT */
/*
 * CoDiPack's tapes on Reel: data streams whose chunks leave memory when a budget is used up, and
 * come back when the tape is evaluated. C++17, CoDiPack 3.
 *
 *	#include <reel/codipack.hpp>
 *
 *	using Real = codi::ActiveType<codi::JacobianReuseTape<codi::JacobianTapeTypes<
 *		double, double, codi::MultiUseIndexManager<int>, reel::codipack::data>>>;
 *
 * Nothing else of the program changes. All types that take a Data take this one: JacobianTapeTypes
 * and PrimalValueTapeTypes, with linear and with reused indices.
 *
 * Memory. A stream has at first a chunk of at most 64 KiB of ordinary memory, which stays. All
 * others are parcels (reel/parcel.h) of a slab each, less if the chunk size of CoDiPack is less.
 * The last chunk and those that are being evaluated are in memory; the pool keeps the others there
 * while its budget has room. reset() and resetTo() give chunks to the pool, which keeps their
 * memory for the next recording.
 *
 * Streams of types that are not trivially copyable, such as the values of a second derivative, stay
 * in CoDiPack's own streams; see spills<T>. Data beside the streams also stays there: the adjoint
 * vector, the primal vector, the data of external functions.
 *
 * Errors. A call that finds no room, or whose chunk a store has lost, throws a std::system_error
 * with the text in what(). Its code is the error of reel_parcel_open() or reel_parcel_unseal(), or
 *
 *   ENXIO    the default pool is refused
 *   ENODATA  deleteData() was called
 *   EBUSY    a reset would remove data that is being evaluated
 *   EINVAL   positions are not in order, or belong to data that was reset
 *
 * A statement reserves its room before any part of it is stored, so a refused statement is not on
 * the tape. Each stream keeps a slab in reserve, so that a tape can be evaluated and reset after a
 * refused statement. An evaluation that throws has evaluated a part.
 *
 * Write the bytes that pushLowLevelFunction() reserves before the next low-level function is
 * pushed: after that their chunk may leave memory.
 *
 * Threads. As with CoDiPack's own streams one thread at a time records on a tape, resets, edits or
 * swaps it. Several threads may evaluate a tape at the same time, each with an adjoint vector of
 * its own. A tape may be made by one thread and evaluated by another.
 */
#ifndef REEL_CODIPACK_HPP
#define REEL_CODIPACK_HPP

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <codi.hpp>
#include <reel.hpp>

namespace reel {
namespace codipack {

/*
 * True for a type whose values may leave memory, and may have another address when they come back.
 * A program may specialise it for a type of its own that is not trivially copyable, if a copy of
 * the bytes is a copy of the value: a stream calls no destructors.
 */
template <class T> struct spills : std::is_trivially_copyable<T> {};

namespace detail {

inline std::atomic<reel_pool *> chosen_pool{nullptr};
alignas(64) inline char no_item;

/*
 * Memory for walks, a slab of each stream from its second chunk on. Read-ahead of another stream's
 * chunks may have used the memory that one stream needs, so all streams of a tape give it together.
 */
class reserve {
public:
	void link(reserve &nested)
	{
		inner = &nested;
		nested.outer = this;
	}

	void take(reel_pool *pool, std::size_t bytes)
	{
		std::lock_guard<std::mutex> lock(mutex);

		if (!slab)
			slab.emplace(pool, bytes);
	}

	/* Returns whether there was some. */
	bool give()
	{
		std::lock_guard<std::mutex> lock(mutex);
		const bool had = slab.has_value();

		slab.reset();
		return had;
	}

	bool give_all()
	{
		reserve *each = this;
		bool had = false;

		while (each->outer)
			each = each->outer;
		for (; each; each = each->inner)
			had |= each->give();
		return had;
	}

	void swap(reserve &other) { std::swap(slab, other.slab); }

private:
	std::mutex mutex;
	std::optional<reel::parcel> slab;
	reserve *inner = nullptr, *outer = nullptr;
};

/* The walk of a stream's nested data: of another stream, or of an index manager, which has none. */
template <class Data> struct walk_of {
	static constexpr bool is_stream = false;
	struct type {
		type(Data &, bool) {}
	};
};

/* The columns of a chunk, as CoDiPack's ChunkN<Column...> names them. */
template <class Chunk> struct columns_of;

template <template <class...> class Any, class... Column> struct columns_of<Any<Column...>> {
	using pointers = std::tuple<Column *...>;

	static constexpr std::index_sequence_for<Column...> indices{};
	static constexpr std::size_t item_bytes = (sizeof(Column) + ...);
	/* Each column begins at a multiple of this. */
	static constexpr std::size_t align = 64;
	static constexpr bool spill = ((spills<Column>::value && alignof(Column) <= align) && ...);
	static constexpr bool is_bytes = (std::is_same<Column, char>::value && ...);

	/* Number of items that fit into `bytes` bytes. */
	static constexpr std::size_t items_in(std::size_t bytes)
	{
		return (bytes - (sizeof...(Column) - 1) * align) / item_bytes;
	}

	static std::size_t bytes_of(std::size_t items)
	{
		return (padded(items * sizeof(Column)) + ...);
	}

	static pointers in(char *memory, std::size_t items)
	{
		std::size_t before = 0;

		/* In braces the columns are taken from left to right. */
		return pointers{reinterpret_cast<Column *>(
			memory + std::exchange(before,
					       before + padded(items * sizeof(Column))))...};
	}

	template <class... Value>
	static void assign(const pointers &to, std::size_t item, const Value &...value)
	{
		std::apply([&](Column *...column) {
			((column[item] = static_cast<Column>(value)), ...); }, to);
	}

	static pointers item(const pointers &first, std::size_t n)
	{
		return std::apply([&](Column *...column) {
			return pointers(column + n...); }, first);
	}

	/* Moves n items down, as memmove() does. */
	static void move(const pointers &at, std::size_t to, std::size_t from, std::size_t n)
	{
		std::apply([&](Column *...column) {
			(std::memmove(static_cast<void *>(column + to), column + from,
				      n * sizeof(Column)), ...); }, at);
	}

private:
	static constexpr std::size_t padded(std::size_t bytes)
	{
		return (bytes + align - 1) / align * align;
	}
};

} // namespace detail

template <class Chunk, class Nested> class stream;

template <class Chunk, class Nested> struct detail::walk_of<stream<Chunk, Nested>> {
	static constexpr bool is_stream = true;
	using type = typename stream<Chunk, Nested>::walk;
};

/*
 * Chooses the pool for tapes that are empty now; it outlives them. nullptr, or no call: the default
 * pool, whose budget and store the environment sets (REEL_BUDGET, REEL_SPILL_DIR; reel/pool.h).
 */
inline void set_pool(reel_pool *pool)
{
	/* Relaxed: the program orders this call and the first statement of a tape. */
	detail::chosen_pool.store(pool, std::memory_order_relaxed);
}

/*
 * A data stream, as CoDiPack's DataInterface describes it: its names and their meaning are
 * CoDiPack's. Positions are valid until the data before them is reset, and become valid again when
 * the same data is recorded again on a pool with slabs of the same size.
 */
template <class T_Chunk, class T_Nested> class stream {
public:
	using Chunk = T_Chunk;
	using NestedData = T_Nested;
	using InternalPosHandle = std::size_t;
	using NestedPosition = typename NestedData::Position;
	using Position = codi::ChunkPosition<NestedPosition>;

	explicit stream(std::size_t items_of_chunk) : chunk_items(items_of_chunk) {}
	stream(std::size_t items_of_chunk, NestedData *data) : stream(items_of_chunk)
	{
		setNested(data);
	}
	stream(const stream &) = delete;
	stream &operator=(const stream &) = delete;

	void setNested(NestedData *data)
	{
		nested = data;
		if constexpr (inner_walk::is_stream)
			spare.link(data->spare);
		chunks.emplace_back(data->getZeroPosition());
	}

	/* ---- Adding items ---- */

	/*
	 * Makes room for `items` items that lie one after the other. Throws if there is no room.
	 * Cost: a comparison; for each chunk the cost of reel_parcel_open().
	 */
	InternalPosHandle reserveItems(const std::size_t &items)
	{
		if (REEL_UNLIKELY(items > limit - used))
			go_on(items);
		return used;
	}

	template <class... Value> void pushData(const Value &...value)
	{
		columns::assign(to, used, value...);
		used++;
	}

	template <class... Column> void getDataPointers(Column *&...column)
	{
		std::tie(column...) = columns::item(to, used);
	}

	void addDataSize(const std::size_t &items) { used += items; }

	std::size_t getPushedDataCount(const InternalPosHandle &from) const { return used - from; }

	/* ---- Sizes and positions ---- */

	/* Does nothing: the pool keeps the memory of chunks that are not used. */
	void resize(const std::size_t &) {}

	void reset() { resetTo(getZeroPosition()); }

	void resetHard()
	{
		reset_this(0, 0);
		chunks[0].ordinary.reset();
		chunks[0].room = 0;
		nested->resetHard();
	}

	void resetTo(const Position &position)
	{
		check(position, position);
		reset_this(position.chunk, position.data);
		nested->resetTo(position.inner);
	}

	/* Chunks that lie between both positions as a whole go to the pool. */
	void erase(const Position &start, const Position &end, bool recursive = true)
	{
		check(start, end);
		if (start.chunk == end.chunk) {
			cut(start.chunk, start.data, end.data);
		} else {
			cut(start.chunk, start.data, used_of(start.chunk));
			cut(end.chunk, 0, end.data);
		}
		if (recursive)
			nested->erase(start.inner, end.inner, recursive);
		close_between(start, end, recursive);
	}

	std::size_t getDataSize() const
	{
		std::size_t size = 0;

		for (std::size_t i = 0; i < chunks.size(); i++)
			size += used_of(i);
		return size;
	}

	Position getPosition() const { return Position(current, used, nested->getPosition()); }

	Position getZeroPosition() const { return Position(0, 0, nested->getZeroPosition()); }

	template <class Target> Target extractPosition(const Position &position) const
	{
		if constexpr (std::is_same<Target, Position>::value)
			return position;
		else
			return nested->template extractPosition<Target>(position.inner);
	}

	/* ---- All of it ---- */

	void addToTapeValues(codi::TapeValues &values) const
	{
		constexpr auto sum = codi::TapeValues::LocalReductionOperation::Sum;
		std::size_t allocated = 0;

		for (const chunk &each : chunks)
			allocated += each.room ? columns::bytes_of(each.room) : 0;
		values.addUnsignedLongEntry("Total number", getDataSize());
		values.addUnsignedLongEntry("Number of chunks", chunks.size());
		values.addDoubleEntry("Memory used", double(getDataSize()) * columns::item_bytes,
				      sum, true, false);
		values.addDoubleEntry("Memory allocated", double(allocated), sum, false, true);
	}

	void swap(stream &other)
	{
		std::swap(chunks, other.chunks);
		std::swap(current, other.current);
		std::swap(used, other.used);
		std::swap(limit, other.limit);
		std::swap(to, other.to);
		std::swap(chunk_items, other.chunk_items);
		std::swap(pool, other.pool);
		std::swap(slab_bytes, other.slab_bytes);
		spare.swap(other.spare);
		std::swap(kept, other.kept);
		nested->swap(*other.nested);
	}

	/* ---- Evaluating ---- */

	template <int selectedDepth = -1, class Function, class... Arguments>
	void evaluateForward(const Position &start, const Position &end, Function function,
			     Arguments &&...arguments)
	{
		evaluate<true, selectedDepth>(start, end, function,
					      std::forward<Arguments>(arguments)...);
	}

	template <int selectedDepth = -1, class Function, class... Arguments>
	void evaluateReverse(const Position &start, const Position &end, Function function,
			     Arguments &&...arguments)
	{
		evaluate<false, selectedDepth>(start, end, function,
					       std::forward<Arguments>(arguments)...);
	}

	template <class Function, class... Arguments>
	void forEachForward(const Position &start, const Position &end, Function function,
			    Arguments &&...arguments)
	{
		for_each<true>(start, end, function, arguments...);
	}

	template <class Function, class... Arguments>
	void forEachReverse(const Position &start, const Position &end, Function function,
			    Arguments &&...arguments)
	{
		for_each<false>(start, end, function, arguments...);
	}

	/*
	 * Calls the function with an object for each chunk, which is valid until it returns. It is
	 * a codi::ChunkBase: a tape with the same chunks can read data that was written to a file.
	 */
	template <class Function, class... Arguments>
	void forEachChunk(Function &function, bool recursive, Arguments &&...arguments)
	{
		for (std::size_t i = 0; i < chunks.size(); i++) {
			chunk_view view(*this, i);

			function(&view, arguments...);
			set_used(i, view.getUsedSize());
		}
		if (recursive)
			nested->forEachChunk(function, recursive, arguments...);
	}

private:
	template <class, class> friend class stream;
	template <class> friend struct detail::walk_of;

	using columns = detail::columns_of<Chunk>;
	using pointers = typename columns::pointers;
	using inner_walk = detail::walk_of<NestedData>;

	static constexpr std::size_t first_bytes = 65536;
	static constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

	struct aligned_delete {
		void operator()(char *memory) const
		{
			::operator delete(memory, std::align_val_t(columns::align));
		}
	};

	struct chunk {
		explicit chunk(const NestedPosition &at) : start(at) {}

		std::unique_ptr<char, aligned_delete> ordinary; /* the memory of the first chunk */
		std::optional<reel::parcel> parcel;             /* memory of each other chunk */
		std::size_t used = 0; /* number of items; for the last chunk see stream::used */
		std::size_t room = 0; /* number of items for which there is memory */
		unsigned users = 0;   /* number of walks that have it in memory */
		bool has_changed = false; /* since it was brought to memory, for certain */
		NestedPosition start; /* the nested data's position when the chunk was begun */

		char *memory() const
		{
			return ordinary ? ordinary.get()
			       : parcel ? static_cast<char *>(parcel->data())
					: nullptr;
		}
	};

	/*
	 * A walk through a stream and its nested data has one chunk of each in memory. The last one
	 * stays there, since a program that evaluates a tape in small steps uses it again.
	 */
	class walk {
	public:
		/* `writes`: all that it sees is changed. */
		walk(stream &walked, bool writes)
			: inner(*walked.nested, writes), of(walked),
			  changes(writes && columns::is_bytes) {}
		walk(const walk &) = delete;
		walk &operator=(const walk &) = delete;
		~walk()
		{
			leave(true);
			if (std::uncaught_exceptions() == uncaught)
				return;
			/* An evaluation that throws uses no more chunks. Some may be reset. */
			std::lock_guard<std::mutex> lock(of.mutex);

			for (std::size_t index : announced)
				if (index < of.chunks.size() && of.chunks[index].parcel) {
					reel_parcel *parcel = *of.chunks[index].parcel;

					reel_parcel_withdraw(&parcel, 1);
				}
		}

		const pointers &at(std::size_t index)
		{
			if (index != here) {
				leave(false);
				columns_here = of.use(index, changes);
				here = index;
			}
			return columns_here;
		}

		void leave(bool keeps)
		{
			if (here != nowhere)
				of.give_up(std::exchange(here, nowhere), keeps);
		}

		/* Adds the chunk to the chunks that will be used, unless it was added last. */
		void list(std::size_t index, std::vector<reel_parcel *> &order)
		{
			if (std::exchange(listed, index) == index)
				return;
			std::lock_guard<std::mutex> lock(of.mutex);
			const chunk &which = of.chunks[index];

			if (which.parcel && !which.memory()) {
				announced.push_back(index);
				order.push_back(*which.parcel);
			}
		}

		typename inner_walk::type inner;

	private:
		stream &of;
		bool changes;
		std::size_t here = nowhere, listed = nowhere;
		std::vector<std::size_t> announced;
		int uncaught = std::uncaught_exceptions();
		pointers columns_here;
	};

	class chunk_view : public codi::ChunkBase {
	public:
		chunk_view(stream &of, std::size_t n)
			: codi::ChunkBase(of.chunks[n].room), viewed(of), index(n),
			  in_memory(of, false)
		{
			setUsedSize(of.used_of(n));
		}

		template <class... Column>
		void dataPointer(const std::size_t &item, Column *&...column)
		{
			std::tie(column...) = columns::item(in_memory.at(index), item);
		}

		void erase(const std::size_t &start, const std::size_t &end) override
		{
			viewed.cut(index, start, end);
			setUsedSize(viewed.used_of(index));
		}

		void allocateData() override
		{
			std::lock_guard<std::mutex> lock(viewed.mutex);

			viewed.allocate(index);
			viewed.seal_idle(index);
		}

		void deleteData() override
		{
			in_memory.leave(false);
			if (viewed.kept == index)
				viewed.kept = nowhere;
			viewed.chunks[index].parcel.reset();
			viewed.chunks[index].ordinary.reset();
			viewed.set_used(index, viewed.used_of(index));
		}

		void readData(codi::FileIo &file) override
		{
			allocateData();
			std::apply([&](auto *...column) {
				(file.readData(column, getUsedSize()), ...); }, contents());
		}

		void writeData(codi::FileIo &file) const override
		{
			std::apply([&](auto *...column) {
				(file.writeData(column, getUsedSize()), ...); }, contents());
		}

	private:
		pointers contents() const
		{
			return getUsedSize() ? in_memory.at(index) : no_items();
		}

		stream &viewed;
		std::size_t index;
		mutable walk in_memory;
	};

	[[noreturn]] static void fail(int error, const char *what)
	{
		throw std::system_error(error, std::generic_category(), what);
	}

	/* ---- Chunks ---- */

	/* Where a function that reads nothing may add positions to. */
	static pointers no_items() { return columns::in(&detail::no_item, 0); }

	std::size_t used_of(std::size_t index) const
	{
		return index == current ? used : chunks[index].used;
	}

	void set_used(std::size_t index, std::size_t items)
	{
		if (index == current)
			used = limit = items;
		else
			chunks[index].used = items;
	}

	void choose_pool()
	{
		struct reel_pool_stats stats;

		/* Relaxed, as in set_pool(). */
		pool = detail::chosen_pool.load(std::memory_order_relaxed);
		pool = pool ? pool : reel_pool_default();
		if (!pool)
			fail(ENXIO, reel_error_text(-ENXIO));
		reel_pool_get_stats(pool, &stats);
		slab_bytes = stats.slab_bytes;
	}

	/* Gives a chunk memory for `room` items, if it has none. Requires the mutex. */
	void allocate(std::size_t index)
	{
		chunk &which = chunks[index];

		if (!which.room || which.ordinary || which.parcel)
			return;
		if (index == 0)
			which.ordinary.reset(static_cast<char *>(::operator new(
				columns::bytes_of(which.room), std::align_val_t(columns::align))));
		else
			which.parcel.emplace(pool, columns::bytes_of(which.room));
	}

	/*
	 * Brings a chunk to memory, where it can be changed. If the store is full, nothing leaves
	 * memory, and the reserve makes room. Requires the mutex.
	 */
	char *bring(std::size_t index)
	{
		chunk &which = chunks[index];

		if (!which.ordinary && !which.parcel)
			fail(ENODATA, "the data of this tape was deleted (deleteData())");
		if (which.memory())
			return which.memory();
		try {
			which.parcel->unseal();
		} catch (const std::system_error &refused) {
			if (refused.code().value() != EDQUOT || !spare.give_all())
				throw;
			which.parcel->unseal();
		}
		return which.memory();
	}

	/* Seals a chunk that no walk uses, unless it is the last one. Requires the mutex. */
	void seal_idle(std::size_t index)
	{
		chunk &which = chunks[index];

		if (which.users || index == current || !which.parcel || !which.memory())
			return;
		if (std::exchange(which.has_changed, false))
			which.parcel->seal();
		else
			which.parcel->seal_compared();
	}

	void seal_kept()
	{
		if (kept != nowhere)
			seal_idle(std::exchange(kept, nowhere));
	}

	/* The rare part of reserveItems(): goes on in the last chunk, or begins another one. */
	REEL_COLD void go_on(std::size_t items)
	{
		std::lock_guard<std::mutex> lock(mutex);

		if (current == 0 && !chunks[0].room && items <= columns::items_in(first_bytes))
			chunks[0].room = std::min(
				columns::items_in(first_bytes), std::max(items, chunk_items));
		if (items > chunks[current].room - used)
			begin(items);
		else if (!used)
			allocate(current);
		to = columns::in(bring(current), chunks[current].room);
		limit = chunks[current].room;
	}

	/*
	 * Begins a chunk behind the last one, which is sealed first, so that it can make room. If
	 * this throws, the next call tries again.
	 */
	void begin(std::size_t items)
	{
		chunk &last = chunks[current];

		if (current == 0)
			choose_pool();
		limit = used;
		seal_kept();
		if (last.users)
			last.has_changed = true;
		else if (last.parcel && last.memory())
			last.parcel->seal();
		chunks.emplace_back(nested->getPosition());
		chunks.back().room =
			std::max(items, std::min(chunk_items, columns::items_in(slab_bytes)));
		try {
			spare.take(pool, slab_bytes);
			allocate(current + 1);
		} catch (...) {
			chunks.pop_back();
			throw;
		}
		chunks[current].used = used;
		current++;
		used = 0;
	}

	/* The chunk at a position becomes the last one. Those behind it go to the pool. */
	void reset_this(std::size_t index, std::size_t items)
	{
		for (std::size_t i = index + 1; i < chunks.size(); i++)
			if (chunks[i].users)
				fail(EBUSY, "a tape is reset while this part of it is evaluated");
		if (kept > index)
			kept = nowhere;
		if (index == 0)
			spare.give();
		chunks.erase(chunks.begin() + static_cast<std::ptrdiff_t>(index) + 1, chunks.end());
		current = index;
		set_used(index, items);
	}

	/* For walks. Each walk gives up the chunks that it uses. */
	pointers use(std::size_t index, bool changes)
	{
		std::lock_guard<std::mutex> lock(mutex);
		char *memory;

		if (kept != index)
			seal_kept();
		memory = bring(index);
		chunks[index].users++;
		chunks[index].has_changed |= changes;
		return columns::in(memory, chunks[index].room);
	}

	/*
	 * An evaluation may change a tape: CoDiPack's functions get pointers to write through, so a
	 * chunk that is sealed is compared with its copy. One that is kept is sealed later.
	 */
	void give_up(std::size_t index, bool keeps)
	{
		std::lock_guard<std::mutex> lock(mutex);

		chunks[index].users--;
		if (kept != index)
			seal_kept();
		if (keeps)
			kept = index;
		else
			seal_idle(index);
	}

	/* Takes items out of a chunk. */
	void cut(std::size_t index, std::size_t start, std::size_t end)
	{
		const std::size_t rest = used_of(index) - end;

		if (start == end)
			return;
		if (rest) {
			walk in_memory(*this, false);

			columns::move(in_memory.at(index), start, end, rest);
		}
		set_used(index, start + rest);
	}

	/* ---- Erased positions ---- */

	/*
	 * Returns the place of a position at or behind `end` after the data from `start` to `end`
	 * was erased.
	 */
	static Position after_erasing(Position position, const Position &start, const Position &end)
	{
		if (position.chunk == end.chunk)
			position.data -= end.data - (start.chunk == end.chunk ? start.data : 0);
		if (start.chunk < end.chunk)
			position.chunk -= end.chunk - start.chunk - 1;
		if constexpr (inner_walk::is_stream)
			position.inner = NestedData::after_erasing(position.inner, start.inner,
								   end.inner);
		return position;
	}

	/* The positions of the nested data have moved if it was also erased. */
	void close_between(const Position &start, const Position &end, bool recursive)
	{
		const auto first = chunks.begin() + static_cast<std::ptrdiff_t>(start.chunk) + 1;
		const auto last = chunks.begin() + static_cast<std::ptrdiff_t>(end.chunk);

		if constexpr (inner_walk::is_stream)
			for (auto each = first; recursive && each != chunks.end(); each++)
				each->start = each->start < end.inner ? start.inner
					: NestedData::after_erasing(each->start, start.inner,
								    end.inner);
		if (first >= last)
			return;
		seal_kept();
		current -= current >= end.chunk ? end.chunk - start.chunk - 1 : 0;
		chunks.erase(first, last);
	}

	/* ---- Walks ---- */

	/* Returns whether the tape reaches to a position. */
	bool has(const Position &position) const
	{
		if (position.chunk > current || position.data > used_of(position.chunk))
			return false;
		if constexpr (inner_walk::is_stream)
			return nested->has(position.inner);
		return true;
	}

	void check(const Position &first, const Position &last) const
	{
		if (last < first || !has(last))
			fail(EINVAL, "positions of a tape are not in order, or lie behind its end");
	}

	/*
	 * The part of one chunk that lies between two positions: items from `at` up to `stop`, or
	 * in a walk backward those below `at`, down to `stop`.
	 */
	struct part {
		std::size_t index, at, stop;
		NestedPosition inner, inner_stop;
	};

	template <bool forward>
	part part_of(std::size_t index, std::size_t at, const NestedPosition &inner,
		     const Position &end) const
	{
		if (index == end.chunk)
			return {index, at, end.data, inner, end.inner};
		return {index, at, forward ? used_of(index) : 0, inner,
			chunks[forward ? index + 1 : index].start};
	}

	/* Continues with the next chunk. Returns false at the end. */
	template <bool forward> bool next_part(part &of, const Position &end) const
	{
		if (of.index == end.chunk)
			return false;
		of = part_of<forward>(forward ? of.index + 1 : of.index - 1,
				      forward ? 0 : used_of(of.index - 1), of.inner_stop, end);
		return true;
	}

	/* Lists the chunks that a walk will use and that may be away. */
	template <bool forward, int depth>
	void list(walk &walked, std::vector<reel_parcel *> &order, const Position &from,
		  const Position &end)
	{
		part each = part_of<forward>(from.chunk, from.data, from.inner, end);

		do {
			if (each.at != each.stop)
				walked.list(each.index, order);
			if constexpr (depth != 0 && inner_walk::is_stream)
				nested->template list<forward, depth - 1>(
					walked.inner, order, each.inner, each.inner_stop);
		} while (next_part<forward>(each, end));
	}

	/* A failure is ignored: a chunk that is not announced is read when it is used. */
	template <bool forward, int depth>
	void announce(walk &walked, const Position &from, const Position &end)
	{
		std::vector<reel_parcel *> order;

		list<forward, depth>(walked, order, from, end);
		if (order.size() > 1)
			reel_parcel_announce(order.data(), order.size());
	}

	/*
	 * Calls the function for ranges that lie in one chunk of each stream. Arguments come from
	 * the outer streams: positions between which the function counts, and columns. Inlined, so
	 * that its counters, passed by reference, can be in registers.
	 */
	template <bool forward, int depth, class Function, class... Arguments>
	REEL_INLINE_MEMBER void run(walk &walked, const Position &from, const Position &end,
				    Function &function, Arguments &&...arguments)
	{
		part each = part_of<forward>(from.chunk, from.data, from.inner, end);

		do {
			const pointers here = each.at == each.stop ? no_items()
								   : walked.at(each.index);

			run_part<forward, depth>(walked, each, here, columns::indices, function,
						 std::forward<Arguments>(arguments)...);
		} while (next_part<forward>(each, end));
	}

	template <bool forward, int depth, std::size_t... column, class Function,
		  class... Arguments>
	REEL_INLINE_MEMBER void run_part(walk &walked, const part &of, const pointers &here,
					 std::index_sequence<column...>, Function &function,
					 Arguments &&...arguments)
	{
		std::size_t at = of.at;
		const std::size_t stop = of.stop;

		if constexpr (depth == 0)
			function(std::forward<Arguments>(arguments)..., at, stop,
				 std::get<column>(here)...);
		else if constexpr (inner_walk::is_stream)
			nested->template run<forward, depth - 1>(
				walked.inner, of.inner, of.inner_stop, function,
				std::forward<Arguments>(arguments)..., at, stop,
				std::get<column>(here)...);
		else if constexpr (forward)
			nested->template evaluateForward<depth - 1>(
				of.inner, of.inner_stop, function,
				std::forward<Arguments>(arguments)..., at, stop,
				std::get<column>(here)...);
		else
			nested->template evaluateReverse<depth - 1>(
				of.inner, of.inner_stop, function,
				std::forward<Arguments>(arguments)..., at, stop,
				std::get<column>(here)...);
	}

	template <bool forward, int depth, class Function, class... Arguments>
	void evaluate(const Position &start, const Position &end, Function &function,
		      Arguments &&...arguments)
	{
		check(forward ? start : end, forward ? end : start);

		walk walked(*this, forward);

		announce<forward, depth>(walked, start, end);
		run<forward, depth>(walked, start, end, function,
				    std::forward<Arguments>(arguments)...);
	}

	template <bool forward, class Function, class... Arguments>
	void for_each(const Position &start, const Position &end, Function &function,
		      Arguments &...arguments)
	{
		const auto call = [&](auto *...column) { function(column..., arguments...); };

		check(forward ? start : end, forward ? end : start);

		walk walked(*this, forward);
		part each = part_of<forward>(start.chunk, start.data, start.inner, end);

		announce<forward, 0>(walked, start, end);
		do {
			while (each.at != each.stop) {
				const pointers &first = walked.at(each.index);

				std::apply(call, columns::item(first, forward ? each.at++
									      : --each.at));
			}
		} while (next_part<forward>(each, end));
	}

	/*
	 * The last chunk. Items up to `limit` have room at `to`; if that is `used`, the next call
	 * of reserveItems() looks for both.
	 */
	pointers to;
	std::size_t used = 0, limit = 0;
	std::size_t current = 0;
	std::vector<chunk> chunks;
	NestedData *nested = nullptr;
	std::size_t chunk_items;
	reel_pool *pool = nullptr;
	std::size_t slab_bytes = 0;
	detail::reserve spare;
	/* The chunk that the last walk ended with, which is not sealed yet. */
	std::size_t kept = nowhere;
	/* Guards the memory of chunks: the first of several walks brings it, the last seals it. */
	mutable std::mutex mutex;
};

/* The template that a program gives to a tape type as its Data. */
template <class Chunk, class Nested>
using data = std::conditional_t<detail::columns_of<Chunk>::spill, stream<Chunk, Nested>,
				codi::ChunkedData<Chunk, Nested>>;

} // namespace codipack
} // namespace reel

#endif
