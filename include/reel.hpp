/* SPDX-License-Identifier: MIT */
/*
 * Reel for C++14 and later: owners, which close their objects, and exceptions for errors.
 *
 *	#include <reel.hpp>                  -fopenmp, pkg-config --cflags --libs reel-omp
 *
 *	reel::root root;
 *	reel::parallel_for(root, n, reel_dynamic(16), [&](reel::lane lane, int i) {
 *		lane.push(x[i]);
 *		x[i] = std::sin(x[i]) * a[i];
 *	});
 *	reel::parallel_for_reverse(root, n, reel_dynamic(16), [&](reel::lane lane, int i) {
 *		double x_i = lane.pop<double>();
 *
 *		a_bar[i] += std::sin(x_i) * x_bar[i];
 *		x_bar[i] *= std::cos(x_i) * a[i];
 *	});
 *
 * Each member is one call of the C function with the same name, whose header is the manual. For
 * other calls each owner converts to its C pointer: reel_tape_hold(tape), reel_lane_bytes(root). Do
 * not use this for functions that close it, such as reel_lane_freeze(): the owner closes it.
 *
 * Owners (pool, tape, root, plan, run, parcel) are moved, not copied. A tape that was moved from is
 * an empty tape on the default pool; members of any other such owner throw EINVAL. A destructor
 * closes, and throws nothing: a pool whose tapes are still open, and a pinned parcel, stay open. So
 * declare a pool before its tapes and parcels; nullptr is the default pool.
 *
 * Exceptions. A call that returns an error in C throws a std::system_error with this error as its
 * code, of std::generic_category(), and reel_error_text() in its what(). Pushes and pops do not
 * throw: their errors stick, and check() throws them at the end of a loop.
 */
#ifndef REEL_HPP
#define REEL_HPP

#include <atomic>
#include <cerrno>
#include <cstddef>
#include <exception>
#include <memory>
#include <system_error>

#include <reel.h>
#include <reel/parcel.h>
#include <reel/region.h>

namespace reel {

/* Throws the result of a C function, if it is below 0; otherwise returns it. */
inline int check(int error, const char *what = nullptr)
{
	if (error < 0)
		throw std::system_error(-error, std::generic_category(),
					what ? what : reel_error_text(error));
	return error;
}

namespace detail {
struct closer {
	void operator()(reel_pool *pool) const { reel_pool_close(pool); }
	void operator()(reel_lane *root) const { reel_lane_close(root); }
	void operator()(reel_plan *plan) const { reel_plan_close(plan); }
	void operator()(reel_run *run) const { reel_run_close(run); }
	void operator()(reel_parcel *parcel) const { reel_parcel_close(parcel); }
};

template <class T> T *given(T *pointer)
{
	return check(pointer ? 0 : -EINVAL, "an owner that was moved from has nothing"), pointer;
}

template <class T> class owner {
public:
	operator T *() const noexcept { return pointer.get(); }

protected:
	T *own() const { return given(pointer.get()); }
	/* open(address of the pointer, arguments...) is a function of C. */
	template <class Open, class... Arguments> explicit owner(Open open, Arguments... arguments)
	{
		T *opened = nullptr;

		check(open(&opened, arguments...));
		pointer.reset(opened);
	}

private:
	std::unique_ptr<T, closer> pointer;
};

/* A base, so that it is there before the owner opens the parcel. */
struct contents { void *at = nullptr; };

/* The loop of a region, whose first exception is thrown when its team has come to the end. */
struct team_loop {
	std::atomic_flag is_taken = ATOMIC_FLAG_INIT;
	std::exception_ptr first;
	template <class Part> void carry_out(const Part &part)
	{
		try {
			part();
		} catch (...) {
			/* Relaxed: it chooses a thread; the team's end orders `first` for end(). */
			if (!is_taken.test_and_set(std::memory_order_relaxed))
				first = std::current_exception();
		}
	}
	void end(reel_lane *parent) const
	{
		if (first)
			std::rethrow_exception(first);
		check(reel_lane_error(parent));
	}
};
} // namespace detail

#define REEL_FROM const char *file = __builtin_FILE(), int line = __builtin_LINE()
#define REEL_AT reel_call_site(file, line)

/* Tapes and lanes inherit pushes and pops from this. Self::c_tape() returns the tape of C. */
template <class Self> class stack {
public:
	operator reel_tape *() noexcept { return static_cast<Self *>(this)->c_tape(); }

	/* Trivially copyable types with a default constructor; a bool takes a bit. */
	template <class T> void push(T value, REEL_FROM) { reel_push_at<T>(*this, value, REEL_AT); }
	template <class T> T pop(REEL_FROM)
	{
		return reel_record_of<T>::reel_pop_value_at(*this, REEL_AT);
	}
	template <class T> T *push_span(std::size_t n, REEL_FROM)
	{
		return static_cast<T *>(reel_push_span_at(*this, n, *reel_type_of<T>(), REEL_AT));
	}
	template <class T> const T *pop_span(std::size_t n, REEL_FROM)
	{
		return static_cast<const T *>(
			reel_pop_span_at(*this, n, *reel_type_of<T>(), REEL_AT));
	}

	template <class T> void push_array(const T *source, std::size_t n, REEL_FROM)
	{
		reel_push_array_at(*this, source, n, sizeof(T), reel_kind_of<T>::value, REEL_AT);
	}
	template <class T> void pop_array(T *target, std::size_t n, REEL_FROM)
	{
		reel_pop_array_at(*this, target, n, sizeof(T), reel_kind_of<T>::value, REEL_AT);
	}
	int error() { return reel_tape_error(*this); }
	void check() { reel::check(error()); }
};

class pool : public detail::owner<reel_pool> {
public:
	/* If it throws, options.store stays the caller's. */
	explicit pool(const reel_pool_options &options = reel_pool_options())
		: owner(reel_pool_open, &options) {}
};

class tape : public stack<tape> {
public:
	explicit tape(reel_pool *pool = nullptr, unsigned flags = 0)
	{
		reel::check(reel_tape_open(&opened, pool, flags));
	}
	tape(tape &&other) noexcept { reel_tape_move(&opened, &other.opened); }
	tape &operator=(tape &&other) noexcept
	{
		if (this != &other)
			reel_tape_close(&opened), reel_tape_move(&opened, &other.opened);
		return *this;
	}
	~tape() { reel_tape_close(&opened); }

	reel_tape *c_tape() noexcept { return &opened; }

private:
	reel_tape opened = {};
};

/* A lane that a root owns: a name for it, which is copied. */
class lane : public stack<lane> {
public:
	explicit lane(reel_lane *of) : its_lane(detail::given(of)), its_tape(reel_lane_tape(of)) {}

	operator reel_lane *() const noexcept { return its_lane; }
	reel_tape *c_tape() noexcept { return its_tape; }

private:
	reel_lane *its_lane;
	reel_tape *its_tape;
};

/* The owner of a root and of all lanes in it. */
class root : public detail::owner<reel_lane> {
public:
	explicit root(reel_pool *pool = nullptr, unsigned flags = 0)
		: owner(reel_lane_open, pool, flags) {}

	int error() const { return reel_lane_error(own()); }
	void check() const { reel::check(error()); }
};

/*
 * REEL_PARALLEL_FOR over 0 <= i < n: calls body(lane, i) for each i, and throws the errors of the
 * parent, a root or another lane. If calls throw, their lanes run no more iterations, the others
 * do, and then the first exception is thrown. The recording cannot be reversed then: the root has
 * the error -EINVAL.
 */
template <class Index, class Body>
void parallel_for(reel_lane *parent, Index n, reel_chunking chunking, const Body &body)
{
	detail::team_loop loop;

	REEL_PARALLEL_WITH(detail::given(parent), part, reel_max_threads(), 0, ) {
		lane named(part);

		loop.carry_out([&] { REEL_FOR(part, Index, i, 0, n, chunking) body(named, i); });
	}
	loop.end(parent);
}

template <class Index, class Body>
void parallel_for_reverse(reel_lane *parent, Index n, reel_chunking chunking, const Body &body)
{
	detail::team_loop loop;

	REEL_PARALLEL_REVERSE(detail::given(parent), part) {
		lane named(part);

		loop.carry_out(
			[&] { REEL_FOR_REVERSE(part, Index, i, 0, n, chunking) body(named, i); });
	}
	loop.end(parent);
}

class plan : public detail::owner<reel_plan> {
public:
	plan(reel_planner planner, const reel_problem &problem)
		: owner(reel_plan_open, planner, &problem) {}
};

class run : public detail::owner<reel_run> {
public:
	/* The plan outlives the run. If it throws, the stores in options stay the caller's. */
	run(const reel_plan *plan, const reel_model &model,
	    const reel_run_options &options = reel_run_options())
		: owner(reel_run_open, detail::given(plan), &model, &options) {}

	/* These return 0, or the result of a callback above 0. */
	int forward(void *context, void *state)
	{
		return check(reel_run_forward(own(), context, state));
	}
	int reverse(void *context, void *state, void *adjoint)
	{
		return check(reel_run_reverse(own(), context, state, adjoint));
	}
	int resume(void *context, void *adjoint)
	{
		return check(reel_run_resume(own(), context, adjoint));
	}
};

class parcel : private detail::contents, public detail::owner<reel_parcel> {
public:
	/* Opens a parcel. Its contents are written at data(), which is nullptr after seal(). */
	parcel(reel_pool *pool, std::size_t bytes,
	       const reel_parcel_options &options = reel_parcel_options())
		: owner(reel_parcel_open, pool, bytes, &options, &at) {}

	void *data() const noexcept { return static_cast<reel_parcel *>(*this) ? at : nullptr; }
	void seal() { check(reel_parcel_seal(own())), at = nullptr; }
	void unseal() { check(reel_parcel_unseal(own(), &at)); }
	void seal_compared() { check(reel_parcel_seal_compared(own())), at = nullptr; }
};

/* A pin of a sealed parcel, as long as this lives, and the address of the contents. */
template <class T> class pinned {
public:
	explicit pinned(reel_parcel *parcel) : its_parcel(detail::given(parcel))
	{
		check(reel_parcel_pin(parcel, &at));
	}
	pinned(const pinned &) = delete;
	~pinned() { reel_parcel_unpin(its_parcel); }

	operator const T *() const noexcept { return static_cast<const T *>(at); }

private:
	reel_parcel *const its_parcel;
	const void *at;
};

#undef REEL_FROM
#undef REEL_AT

} // namespace reel

#endif
