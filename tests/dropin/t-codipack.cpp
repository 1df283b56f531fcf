/* SPDX-License-Identifier: MIT */
/*
 * Compares streams of reel/codipack.hpp with plain vectors: random programs record, evaluate, edit
 * and reset tapes of four streams, as CoDiPack's tapes have them, on pools of many sizes, with and
 * without a store. Each evaluation compares all that it sees.
 */
#include <config.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <random>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

#include <reel/codipack.hpp>

#define _Noreturn [[noreturn]]
extern "C" {
#include "tap/tap.h"
}

namespace {

std::mt19937 generator(1);

std::size_t below(std::size_t n)
{
	return std::uniform_int_distribution<std::size_t>(0, n - 1)(generator);
}

/* ---- Tapes ---- */

/* Counts statements, as CoDiPack's linear index manager does. */
struct counter {
	using Position = int;

	int count = 0;

	int getPosition() const { return count; }
	int getZeroPosition() const { return 0; }
	void resetTo(int position) { count = position; }
	void resetHard() { count = 0; }
	void erase(int, int, bool) {}
	void swap(counter &other) { std::swap(count, other.count); }
	template <class Target> Target extractPosition(int position) const { return position; }

	template <int depth, class Function, class... Arguments>
	void evaluateForward(int start, int end, Function function, Arguments &&...arguments)
	{
		function(std::forward<Arguments>(arguments)..., start, end);
	}
	template <int depth, class Function, class... Arguments>
	void evaluateReverse(int start, int end, Function function, Arguments &&...arguments)
	{
		function(std::forward<Arguments>(arguments)..., start, end);
	}
	template <class Function, class... Arguments>
	void forEachChunk(Function &, bool, Arguments &&...)
	{
	}
};

struct argument {
	double jacobian;
	int index;

	bool operator==(const argument &other) const
	{
		return jacobian == other.jacobian && index == other.index;
	}
};

struct statement {
	int lhs;
	std::vector<argument> arguments;
	std::vector<char> bytes; /* of an external function, if there are any */
};

template <template <class, class> class Data> struct tape {
	using statement_data = Data<codi::Chunk2<int, unsigned char>, counter>;
	using jacobian_data = Data<codi::Chunk2<double, int>, statement_data>;
	using info_data = Data<codi::Chunk2<int, unsigned short>, jacobian_data>;
	using byte_data = Data<codi::Chunk1<char>, info_data>;
	using position = typename byte_data::Position;

	counter indices;
	statement_data statements;
	jacobian_data jacobians;
	info_data infos;
	byte_data bytes;

	explicit tape(std::size_t items)
		: statements(items), jacobians(2 * items), infos(items), bytes(8 * items)
	{
		statements.setNested(&indices);
		jacobians.setNested(&statements);
		infos.setNested(&jacobians);
		bytes.setNested(&infos);
	}

	void record(const statement &s)
	{
		statements.reserveItems(1);
		/* More than is needed: in CoDiPack arguments may turn out to be constants. */
		auto before = jacobians.reserveItems(s.arguments.size() + 2);
		if (!s.bytes.empty()) {
			infos.reserveItems(1);
			bytes.reserveItems(s.bytes.size());
		}

		for (const argument &a : s.arguments)
			jacobians.pushData(a.jacobian, a.index);
		if (jacobians.getPushedDataCount(before) != s.arguments.size())
			std::abort();
		if (!s.bytes.empty()) {
			char *to;

			bytes.getDataPointers(to);
			std::memcpy(to, s.bytes.data(), s.bytes.size());
			bytes.addDataSize(s.bytes.size());
			infos.pushData(s.lhs, s.bytes.size());
		}
		statements.pushData(s.lhs, s.arguments.size());
		indices.count++;
	}
};

/* A statement on the tape: a walk hands references to its data to a function. */
struct seen {
	int &lhs;
	std::size_t arguments;
	double *jacobian;
	int *index;
	std::size_t n_bytes;
	char *bytes;
};

/* Takes the ranges of the four streams apart, as CoDiPack's tapes do. */
template <bool forward, class Visit> auto statements_of(Visit &visit)
{
	return [&visit](std::size_t &byte, const std::size_t &, char *bytes, std::size_t &info,
			const std::size_t &, int *owner, unsigned short *sizes,
			std::size_t &jacobian, const std::size_t &, double *jacobians, int *indices,
			std::size_t &at, const std::size_t &end, int *lhs, unsigned char *counts,
			int, int) {
		while (at != end) {
			bool has_bytes;

			if (!forward)
				at--;
			/* An odd left-hand side says that the statement has bytes. */
			has_bytes = lhs[at] % 2;
			std::size_t n_bytes = 0;
			if (has_bytes && !forward)
				info--;
			if (has_bytes) {
				n_bytes = owner[info] == lhs[at] ? sizes[info] : 0;
				byte -= forward ? 0 : n_bytes;
			}
			jacobian -= forward ? 0 : counts[at];
			visit(seen{lhs[at], counts[at], jacobians + jacobian, indices + jacobian,
				   n_bytes, bytes + byte});
			if (forward) {
				jacobian += counts[at];
				byte += n_bytes;
				info += has_bytes;
				at++;
			}
		}
	};
}

template <bool forward, class Tape, class Visit>
void walk(Tape &walked, const typename Tape::position &from, const typename Tape::position &to,
	  Visit visit)
{
	auto function = statements_of<forward>(visit);

	if (forward)
		walked.bytes.evaluateForward(from, to, function);
	else
		walked.bytes.evaluateReverse(from, to, function);
}

using reel_tape_type = tape<reel::codipack::data>;

/* ---- The model ---- */

struct marked {
	reel_tape_type::position position;
	std::size_t statements;
};

/* A tape, and the same statements in plain vectors. */
struct pair {
	explicit pair(std::size_t items) : real(items) { mark(); }

	reel_tape_type real;
	std::vector<statement> model;
	std::vector<marked> marks; /* in their order, the first one at 0 */

	void mark() { marks.push_back({real.bytes.getPosition(), model.size()}); }
	/* Forgets marks at the same statement, too: one may end a chunk, another begin the next. */
	void forget_marks_behind(std::size_t mark) { marks.resize(mark + 1); }
};

statement any_statement(std::size_t items)
{
	statement made;

	made.lhs = static_cast<int>(below(1 << 20)) * 2;
	for (std::size_t n = below(std::min<std::size_t>(2 * items, 8)); n > 0; n--)
		made.arguments.push_back({static_cast<double>(below(1000)),
					  static_cast<int>(below(1000))});
	if (below(4) == 0) {
		made.lhs++;
		for (std::size_t n = 1 + below(std::min<std::size_t>(8 * items, 300)); n > 0; n--)
			made.bytes.push_back(static_cast<char>(below(256)));
	}
	return made;
}

bool is_same(const statement &wanted, const seen &found)
{
	bool same = wanted.lhs == found.lhs && wanted.arguments.size() == found.arguments &&
		    wanted.bytes.size() == found.n_bytes &&
		    std::equal(wanted.bytes.begin(), wanted.bytes.end(), found.bytes);

	for (std::size_t a = 0; same && a < found.arguments; a++)
		same = wanted.arguments[a] == argument{found.jacobian[a], found.index[a]};
	return same;
}

/* Changes some data of a statement, and the model as well. Even numbers stay even. */
void edit(statement &wanted, const seen &found)
{
	if (below(8) == 0)
		wanted.lhs = found.lhs = found.lhs + (found.n_bytes ? 0 : 2);
	for (std::size_t a = 0; a < found.arguments; a++)
		if (below(8) == 0)
			wanted.arguments[a].jacobian = found.jacobian[a] = static_cast<double>(below(9));
	for (std::size_t b = 0; b < found.n_bytes; b++)
		if (below(64) == 0)
			wanted.bytes[b] = found.bytes[b] = static_cast<char>(below(256));
}

struct differs {};

/* Returns whether a walk sees all statements between two marks, and no others. */
template <bool forward> bool agrees(pair &tested, const marked &low, const marked &high, bool edits)
{
	std::size_t at = forward ? low.statements : high.statements;
	bool same = true;

	walk<forward>(tested.real, forward ? low.position : high.position,
		      forward ? high.position : low.position, [&](const seen &found) {
			      statement &wanted = tested.model.at(forward ? at : at - 1);

			      same &= is_same(wanted, found);
			      if (edits && same)
				      edit(wanted, found);
			      at += forward ? 1 : static_cast<std::size_t>(-1);
		      });
	return same && at == (forward ? high.statements : low.statements);
}

/* ---- Random programs ---- */

void record_some(pair &tested, std::size_t items)
{
	for (std::size_t n = 1 + below(40); n > 0; n--) {
		statement next = any_statement(items);

		tested.real.record(next);
		tested.model.push_back(next);
		if (below(10) == 0)
			tested.mark();
	}
	tested.mark();
}

void reset_to(pair &tested, std::size_t mark)
{
	const marked to = tested.marks[mark];

	tested.real.bytes.resetTo(to.position);
	tested.model.resize(to.statements);
	tested.forget_marks_behind(mark);
}

/* Copies a part of one tape to the end of the other, which reads and writes at the same time. */
void append(pair &to, pair &from, const marked &low, const marked &high)
{
	walk<true>(from.real, low.position, high.position, [&](const seen &found) {
		statement copy{found.lhs, {}, {found.bytes, found.bytes + found.n_bytes}};

		for (std::size_t a = 0; a < found.arguments; a++)
			copy.arguments.push_back({found.jacobian[a], found.index[a]});
		to.real.record(copy);
		to.model.push_back(copy);
	});
	to.mark();
}

void erase(pair &tested, std::size_t low, std::size_t high)
{
	const marked from = tested.marks[low], to = tested.marks[high];

	tested.real.bytes.erase(from.position, to.position);
	tested.model.erase(tested.model.begin() + static_cast<std::ptrdiff_t>(from.statements),
			   tested.model.begin() + static_cast<std::ptrdiff_t>(to.statements));
	tested.forget_marks_behind(low);
	tested.mark();
}

bool items_agree(pair &tested)
{
	auto &data = tested.real.statements;
	const auto zero = data.getZeroPosition(), end = data.getPosition();
	std::size_t at = 0;
	bool same = true;

	data.forEachForward(zero, end, [&](int *lhs, unsigned char *count) {
		same &= *lhs == tested.model.at(at).lhs &&
			*count == tested.model.at(at).arguments.size();
		at++;
	});
	same &= at == tested.model.size();
	data.forEachReverse(end, zero, [&](int *lhs, unsigned char *) {
		same &= *lhs == tested.model.at(--at).lhs;
	});
	return same && !at && data.getDataSize() == tested.model.size();
}

void write_chunk(const codi::ChunkBase *chunk, codi::FileIo &file)
{
	chunk->writeData(file);
}

void read_chunk(codi::ChunkBase *chunk, codi::FileIo &file)
{
	chunk->readData(file);
}

void delete_chunk(codi::ChunkBase *chunk)
{
	chunk->deleteData();
}

/* Returns whether a walk over deleted data throws. Restores the data from a file afterwards. */
bool goes_through_a_file(pair &tested)
{
	const marked &low = tested.marks.front(), high = tested.marks.back();
	bool thrown = tested.model.empty();

	{
		codi::FileIo file("chunks", true);

		tested.real.bytes.forEachChunk(write_chunk, true, file);
	}
	tested.real.bytes.forEachChunk(delete_chunk, true);
	try {
		agrees<false>(tested, low, high, false);
	} catch (const std::system_error &error) {
		thrown = error.code().value() == ENODATA;
	}
	codi::FileIo file("chunks", false);
	tested.real.bytes.forEachChunk(read_chunk, true, file);
	return thrown;
}

/* A walk may end early. Its announcements are taken back then. */
bool ends_early(pair &tested)
{
	const marked &low = tested.marks.front(), &high = tested.marks.back();
	std::size_t after = below(tested.model.size() + 1);

	try {
		walk<false>(tested.real, high.position, low.position, [&](const seen &) {
			if (!after--)
				throw differs();
		});
	} catch (const differs &) {
		return true;
	}
	return tested.model.empty() || after == 0;
}

/* A function that a walk calls may walk through the same tape. */
bool walks_within_a_walk(pair &tested)
{
	const marked &low = tested.marks.front(), high = tested.marks.back();
	std::size_t turn = below(20);
	bool same = true;

	walk<false>(tested.real, high.position, low.position, [&](const seen &) {
		if (turn-- == 0)
			same = agrees<true>(tested, low, high, true);
	});
	return same && agrees<false>(tested, low, high, false);
}

struct setting {
	std::size_t items;  /* in a chunk */
	std::size_t slab;   /* bytes */
	std::size_t budget; /* slabs; 0: no bound, and no store */
	const char *store;
};

reel_pool *open_pool(const setting &how)
{
	reel_pool_options options = {};
	reel_pool *pool = nullptr;

	options.slab_bytes = options.first_slab_bytes = how.slab;
	options.hard_budget = how.budget * how.slab;
	if (how.store)
		reel::check(reel_store_open(&options.store, how.store, "."));
	reel::check(reel_pool_open(&pool, &options));
	reel::codipack::set_pool(pool);
	return pool;
}

bool one_step(pair &tested, pair &other)
{
	std::size_t low = below(tested.marks.size());
	std::size_t high = low + below(tested.marks.size() - low);
	const marked from = tested.marks[low], to = tested.marks[high];

	switch (below(13)) {
	case 0:
		return agrees<true>(tested, from, to, false);
	case 1:
		return agrees<false>(tested, from, to, false);
	case 2:
		return agrees<true>(tested, from, to, true);
	case 3:
		return agrees<false>(tested, from, to, true);
	case 4:
		reset_to(tested, below(3) ? tested.marks.size() - 1 - below(tested.marks.size()) / 4
					  : low);
		return true;
	case 5:
		append(other, tested, from, to);
		return true;
	case 6:
		erase(tested, low, high);
		return true;
	case 7:
		tested.real.bytes.swap(other.real.bytes);
		std::swap(tested.model, other.model);
		std::swap(tested.marks, other.marks);
		return true;
	case 8:
		return items_agree(tested);
	case 9:
		return goes_through_a_file(tested);
	case 10:
		return ends_early(tested);
	case 11:
		return walks_within_a_walk(tested);
	default:
		if (below(20))
			return true;
		tested.real.bytes.resetHard();
		tested.model.clear();
		tested.marks.clear();
		tested.mark();
		return true;
	}
}

statement plain(int n)
{
	return {2 * n, {{0.5 * n, n}, {n + 1.0, n + 1}}, {}};
}

void fill(pair &tested, int n)
{
	for (int i = 0; i < n; i++) {
		tested.real.record(plain(i));
		tested.model.push_back(plain(i));
	}
	tested.mark();
}

/* Returns the number of steps that went wrong. */
unsigned random_program(const setting &how, unsigned steps)
{
	pair tested(how.items), other(how.items);
	/* More than a budget has room for, but few enough chunks for a walk of a second. */
	const std::size_t many = std::min<std::size_t>(9000, 200 * how.items);
	unsigned wrong = 0;

	fill(tested, static_cast<int>(many));
	wrong += !agrees<false>(tested, tested.marks.front(), tested.marks.back(), true);
	for (unsigned s = 0; s < steps; s++) {
		record_some(tested, how.items);
		wrong += !one_step(tested, other);
		wrong += !agrees<false>(tested, tested.marks.front(), tested.marks.back(), false);
		wrong += !agrees<true>(other, other.marks.front(), other.marks.back(), false);
		if (tested.model.size() > many / 2)
			reset_to(tested, 0);
		if (other.model.size() > many / 2)
			reset_to(other, 0);
	}
	return wrong;
}

bool is_brief()
{
	const char *full = std::getenv("TEST_LONG");

	return !full || !*full;
}

/* Number of steps in the short form. Under a sanitizer, t-codipack.sh gives fewer. */
#ifndef BRIEF_STEPS
#define BRIEF_STEPS 100
#endif

/* A pool closes only if nothing on it is open any more. */
void random_programs()
{
	static const setting settings[] = {
		{32, 4096, 0, nullptr},   {1, 512, 0, nullptr},      {32, 512, 60, "memory=64M"},
		{5, 512, 60, "memory=64M"}, {100000, 4096, 20, "memory=64M"}, {300, 4096, 40, "memory=64M"},
		{100000, 8192, 10, "file"},
	};

	for (const setting &how : settings) {
		reel_pool *pool = open_pool(how);
		reel_pool_stats stats;

		is_int(random_program(how, is_brief() ? BRIEF_STEPS : 1000), 0,
		       "chunks of %zu items, slabs of %zu bytes, %zu of them: as plain vectors",
		       how.items, how.slab, how.budget);
		reel_pool_get_stats(pool, &stats);
		if (how.budget)
			ok(stats.read_bytes > 0, "%llu bytes came back",
			   static_cast<unsigned long long>(stats.read_bytes));
		ok(!how.budget || stats.peak_resident_bytes <= how.budget * how.slab,
		   "all in the budget");
		is_int(reel_pool_close(pool), 0, "nothing is left");
	}
}

/* ---- Cases ---- */

int error_of_walk(pair &tested, const marked &from, const marked &to)
{
	try {
		walk<false>(tested.real, from.position, to.position, [](const seen &) {});
	} catch (const std::system_error &refused) {
		return refused.code().value();
	}
	return 0;
}

/* A position is valid again when the same data is recorded up to it. */
void positions_stay_valid()
{
	reel_pool *pool = open_pool({64, 512, 60, "memory=64M"});

	{
		pair tested(64);

		tap_case("positions");
		fill(tested, 1000);
		const marked kept = tested.marks.back();
		fill(tested, 1000);
		tested.real.bytes.reset();
		tested.model.clear();
		tested.marks.clear();
		tested.mark();
		is_int(error_of_walk(tested, kept, tested.marks[0]), EINVAL,
		       "a position of data that was reset begins no walk");
		fill(tested, 1000);
		is_int(error_of_walk(tested, tested.marks[0], kept), EINVAL,
		       "nor one that is behind where the walk ends");
		ok(tested.marks.back().position == kept.position, "the same data ends at the same one");
		fill(tested, 500);
		ok(agrees<false>(tested, kept, tested.marks.back(), false), "it begins a walk");
		is_int(tested.real.bytes.extractPosition<int>(kept.position), 1000,
		       "and has those of the nested data");
	}
	reel_pool_close(pool);
}

/* A chunk that an evaluation has only read is not written again; one that it has changed is. */
void what_is_read_is_not_written_again()
{
	reel_pool *pool = open_pool({512, 4096, 40, "memory=64M"});
	reel_pool_stats before, after;

	{
		pair tested(512);

		tap_case("walks that read");
		fill(tested, 40000);
		agrees<false>(tested, tested.marks[0], tested.marks[1], false);
		reel_pool_get_stats(pool, &before);
		for (int i = 0; i < 3; i++)
			agrees<false>(tested, tested.marks[0], tested.marks[1], false);
		reel_pool_get_stats(pool, &after);
		ok(after.read_bytes > before.read_bytes + 500000, "bring the tape back");
		ok(after.written_bytes < before.written_bytes + 40 * 4096, "and write next to none");
		ok(agrees<true>(tested, tested.marks[0], tested.marks[1], true) &&
			   agrees<false>(tested, tested.marks[0], tested.marks[1], false),
		   "what a walk has changed is there in the next one");
	}
	reel_pool_close(pool);
}

/* A statement for which there is no room is not on the tape, and the tape can still be used. */
void a_refusal_leaves_the_tape_as_it_was()
{
	reel_pool *pool = open_pool({64, 512, 60, "memory=40K"});

	{
		pair tested(64);
		int error = 0, n = 0;

		tap_case("a store that is full");
		try {
			for (; n < 1000000; n++) {
				tested.real.record(plain(n));
				tested.model.push_back(plain(n));
			}
		} catch (const std::system_error &refused) {
			error = refused.code().value();
		}
		ok(error == EDQUOT || error == ENOSPC, "throws: %s", std::strerror(error));
		is_int(tested.real.indices.count, n, "no part of the statement is on the tape");
		is_int(tested.real.statements.getDataSize(), n, "nor in its streams");
		is_int(tested.real.jacobians.getDataSize(), 2 * n, "of arguments neither");
		tested.mark();
		ok(agrees<false>(tested, tested.marks.front(), tested.marks.back(), false),
		   "what is on it can be evaluated, though nothing leaves memory");
		reset_to(tested, 0);
		fill(tested, 1000);
		ok(agrees<false>(tested, tested.marks.front(), tested.marks.back(), false),
		   "after a reset it is recorded again");
	}
	reel_pool_close(pool);
}

/* A function that an evaluation calls must not take away the data of the evaluation. */
void a_reset_within_a_walk_is_refused()
{
	reel_pool *pool = open_pool({64, 512, 60, "memory=64M"});

	{
		pair tested(64);
		int error = 0;

		tap_case("a reset within a walk");
		fill(tested, 2000);
		try {
			walk<false>(tested.real, tested.marks[1].position, tested.marks[0].position,
				    [&](const seen &) { tested.real.bytes.reset(); });
		} catch (const std::system_error &refused) {
			error = refused.code().value();
		}
		is_int(error, EBUSY, "throws");
		ok(agrees<false>(tested, tested.marks[0], tested.marks[1], false),
		   "and what was being evaluated is there");
	}
	reel_pool_close(pool);
}

/* A stream may be erased without those nested in it. */
void one_stream_is_erased()
{
	reel_pool *pool = open_pool({64, 512, 60, "memory=64M"});

	{
		pair tested(64);
		using position = reel_tape_type::info_data::Position;
		auto &infos = tested.real.infos;
		int sum = 0;

		tap_case("items that are erased from one stream");
		for (int i = 0; i < 1000; i++) {
			if (i == 100 || i == 900)
				tested.mark();
			infos.reserveItems(1);
			infos.pushData(i, 1);
		}
		tested.mark();
		const position first = infos.getZeroPosition();
		const position low = tested.marks[1].position.inner;
		const position high = tested.marks[2].position.inner;
		infos.erase(low, low, false);
		is_int(infos.getDataSize(), 1000, "none between a position and itself");
		infos.erase(low, high, false);
		is_int(infos.getDataSize(), 200, "all between two");
		infos.forEachForward(first, infos.getPosition(),
				     [&](int *item, unsigned short *) { sum += *item; });
		is_int(sum, 99 * 50 + 949 * 100 + 50, "the others are there");
	}
	reel_pool_close(pool);
}

/* Threads that evaluate the same tape share its chunks in memory. */
void threads_evaluate_one_tape()
{
	reel_pool *pool = open_pool({64, 512, 80, "memory=64M"});

	{
		pair tested(64);
		std::vector<std::thread> threads;
		std::vector<int> same(3);

		tap_case("several threads");
		fill(tested, 5000);
		for (std::size_t t = 0; t < same.size(); t++)
			threads.emplace_back([&, t] {
				same[t] = agrees<false>(tested, tested.marks[0], tested.marks[1],
							false) &&
					  agrees<true>(tested, tested.marks[0], tested.marks[1],
						       false);
			});
		for (std::thread &each : threads)
			each.join();
		ok(same[0] && same[1] && same[2], "evaluate a tape that another one has made");
	}
	reel_pool_close(pool);
}

void the_first_statement_takes_little()
{
	reel_pool *pool = open_pool({1 << 21, 2 << 20, 0, nullptr});
	reel_pool_stats stats;

	{
		pair tested(1 << 21);
		codi::TapeValues values;

		tap_case("a tape of one statement");
		fill(tested, 1);
		tested.real.jacobians.addToTapeValues(values);
		reel_pool_get_stats(pool, &stats);
		is_int(stats.resident_bytes, 0, "takes nothing of the pool");
		ok(values.entries["Memory allocated"] <= 65536, "and 64 KiB for a stream");
		is_int(static_cast<long long>(values.entries["Memory used"]), 2 * 12,
		       "of which two arguments take 24 bytes");
		is_int(static_cast<long long>(values.entries["Total number"]), 2, "and count as 2");
	}
	reel_pool_close(pool);
}

/* Values with constructors of their own stay in CoDiPack's streams. */
struct owning {
	std::string text;
};
static_assert(std::is_same<reel::codipack::data<codi::Chunk2<owning, int>, counter>,
			   codi::ChunkedData<codi::Chunk2<owning, int>, counter>>::value,
	      "a type that is not trivially copyable is in a stream of CoDiPack's own");

} // namespace

int main()
{
	tap_begin();
	random_programs();
	positions_stay_valid();
	what_is_read_is_not_written_again();
	a_refusal_leaves_the_tape_as_it_was();
	a_reset_within_a_walk_is_refused();
	one_stream_is_erased();
	threads_evaluate_one_tape();
	the_first_statement_takes_little();
	return tap_end();
}
