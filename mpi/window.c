/* SPDX-License-Identifier: MIT */
/*
 * One-sided calls between fences. In the reverse sweep the calls of a rank reach into the window of
 * adjoints: a Put gets them and leaves 0, a Get adds to them, an Accumulate gets them. The reverse
 * of a call is complete when it returns, since the program may have calculated the put values after
 * the fence; a fence would complete it too late, so these calls lock the window.
 */
#include "config.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

#include "comm/error.h"
#include "message/wait.h"

/* An attribute of the window. */
struct window {
	struct reel_mpi_attached *attached; /* of the communicator that made the window */
	bool fenced; /* calls may come: the last fence was not the end */
	bool locked; /* in the reverse sweep: a call has come after the last fence */
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval = MPI_KEYVAL_INVALID;

/* ---- Windows ---- */

static int delete_window(MPI_Win win, int key, void *value, void *extra)
{
	(void)win;
	(void)key;
	(void)extra;
	free(value);
	return MPI_SUCCESS;
}

static int find_window(MPI_Win win, const char *call, struct window **window)
{
	int found = 0;

	pthread_mutex_lock(&lock);
	if (win != MPI_WIN_NULL && keyval != MPI_KEYVAL_INVALID)
		MPI_Win_get_attr(win, keyval, window, &found);
	pthread_mutex_unlock(&lock);
	return found ? 0
		     : reel_fail(-EINVAL, "%s: the window is not attached; call "
					  "reel_mpi_win_attach() first", call);
}

/* Returns 0 if the window has the ranks of the communicator, and one copy of its memory. */
static int check_window(MPI_Win win, MPI_Comm comm, const char *call)
{
	MPI_Group ours, theirs;
	int *model, found, same;

	MPI_Comm_group(comm, &ours);
	MPI_Win_get_group(win, &theirs);
	MPI_Group_compare(ours, theirs, &same);
	MPI_Group_free(&ours);
	MPI_Group_free(&theirs);
	if (same != MPI_IDENT)
		return reel_fail(-EINVAL, "%s: the window was made on another communicator", call);
	MPI_Win_get_attr(win, MPI_WIN_MODEL, &model, &found);
	if (!found || *model != MPI_WIN_UNIFIED)
		return reel_fail(-ENOTSUP, "%s: MPI keeps a second copy of the window's memory "
					   "(MPI_WIN_SEPARATE); send messages instead", call);
	return 0;
}

int reel_mpi_win_attach(MPI_Win win, MPI_Comm comm)
{
	static const char call[] = "reel_mpi_win_attach";
	struct reel_mpi_attached *attached;
	struct window *window;
	int error = reel_mpi_find(comm, call, &attached), code = MPI_SUCCESS;

	if (!error && win == MPI_WIN_NULL)
		error = reel_fail(-EINVAL, "%s: MPI_WIN_NULL", call);
	if (!error)
		error = check_window(win, comm, call);
	if (error)
		return error;
	window = calloc(1, sizeof *window);
	if (!window)
		return reel_fail(-ENOMEM, "%s: no memory", call);
	window->attached = attached;
	pthread_mutex_lock(&lock);
	if (keyval == MPI_KEYVAL_INVALID)
		code = MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, delete_window, &keyval, NULL);
	pthread_mutex_unlock(&lock);
	if (code == MPI_SUCCESS)
		code = MPI_Win_set_attr(win, keyval, window);
	if (code != MPI_SUCCESS)
		free(window);
	return reel_mpi_error(code, call);
}

/* ---- Fences ---- */

int reel_mpi_win_fence_at(reel_tape *tape, const char *call_site, int assertion, MPI_Win win)
{
	static const char call[] = "reel_mpi_win_fence";
	struct window *window;
	int error = find_window(win, call, &window);

	(void)call_site;
	if (!error)
		error = reel_mpi_error(MPI_Win_fence(assertion, win), call);
	if (!error)
		window->fenced = !(assertion & MPI_MODE_NOSUCCEED);
	return reel_mpi_stick(tape, error);
}

static int lock_window(struct window *window, MPI_Win win, const char *call)
{
	int error;

	if (window->locked)
		return 0;
	error = reel_mpi_error(MPI_Win_lock_all(0, win), call);
	window->locked = !error;
	return error;
}

int reel_mpi_win_fence_reverse_at(reel_tape *tape, const char *call_site, int assertion,
				  MPI_Win win_bar)
{
	static const char call[] = "reel_mpi_win_fence_reverse";
	struct window *window;
	struct reel_mpi_message m = {.call = call, .call_site = call_site, .tape = tape};
	MPI_Request request = MPI_REQUEST_NULL;
	int error = find_window(win_bar, call, &window), own;

	(void)assertion;
	if (error)
		return reel_mpi_stick(tape, error);
	m.attached = window->attached;
	error = lock_window(window, win_bar, call);
	if (!error) {
		/* After the barrier the other ranks see the values that this rank has stored. */
		MPI_Win_sync(win_bar);
		REEL_ASSERT(window->locked);
		window->locked = false;
		error = reel_mpi_error(MPI_Win_unlock_all(win_bar), call);
	}
	own = reel_mpi_await_all(&m, MPI_Ibarrier(m.attached->sums, &request), &request);
	reel_mpi_give_up(m.attached, &request);
	return reel_mpi_stick(tape, error ? error : own);
}

/* ---- Calls ---- */

/* One call: the origin's message, and where it goes. */
struct access {
	struct reel_mpi_message m;
	enum reel_mpi_access kind;
	MPI_Op op; /* of an Accumulate */
	MPI_Aint at;
	int count;
	MPI_Datatype type;
	MPI_Win win;
	struct window *window;
};

/* MPI adds and replaces elements of one type of number only. */
static int check_type(MPI_Datatype type, int count, const char *call,
		      const struct reel_mpi_layout **layout)
{
	static const int bytes[] = {sizeof(float), sizeof(double), sizeof(long double)};
	const struct reel_mpi_range *range;
	int64_t active = 0;
	int size, error = reel_mpi_layout_of(type, call, layout);

	if (!error)
		error = reel_mpi_check_count(*layout, count, 1, call);
	if (error)
		return error;
	MPI_Type_size(type, &size);
	range = (*layout)->range;
	for (size_t i = 0; i < (*layout)->ranges; i++)
		if (range[i].number == range[0].number)
			active += range[i].count * bytes[range[i].number];
	if (!(*layout)->ranges || active == size)
		return 0;
	return reel_fail(-ENOTSUP, "%s: a type of several kinds of numbers cannot be reversed in a "
				   "window; move each kind by a call of its own",
			 call);
}

static int open_access(struct access *a)
{
	const struct reel_mpi_layout *target;
	int error = find_window(a->win, a->m.call, &a->window);

	if (!error)
		error = check_type(a->m.type, a->m.count, a->m.call, &a->m.layout);
	if (!error)
		error = check_type(a->type, a->count, a->m.call, &target);
	if (!error)
		a->m.attached = a->window->attached;
	REEL_ASSERT(error || (a->m.attached && a->m.layout));
	return error;
}

static int forward(const struct access *a)
{
	const struct reel_mpi_message *m = &a->m;
	int code;

	if (!a->window->fenced)
		return reel_fail(-ENOTSUP,
				 "%s: no reel_mpi_win_fence() has begun an epoch; accesses under a "
				 "lock, or between post, start, complete and wait, have no order "
				 "that could be reversed: use fences, or messages", m->call);
	if (a->kind == REEL_MPI_ACCUMULATE && a->op != MPI_SUM && m->layout->ranges)
		return reel_fail(-ENOTSUP,
				 "%s: only MPI_SUM can be reversed: of other operations the "
				 "adjoint depends on which rank came last, which MPI does not "
				 "tell; use reel_mpi_reduce()", m->call);
	if (a->kind == REEL_MPI_PUT)
		code = MPI_Put(m->buffer, m->count, m->type, m->peer, a->at, a->count, a->type,
			       a->win);
	else if (a->kind == REEL_MPI_GET)
		code = MPI_Get(m->buffer, m->count, m->type, m->peer, a->at, a->count, a->type,
			       a->win);
	else
		code = MPI_Accumulate(m->buffer, m->count, m->type, m->peer, a->at, a->count,
				      a->type, a->op, a->win);
	return reel_mpi_error(code, m->call);
}

/* ---- Reverse ---- */

/* Gets the adjoint at the target, and adds it; if `leave_zero`, 0 stays there. */
static int fetch(struct access *a, bool leave_zero)
{
	struct reel_mpi_message *m = &a->m;
	size_t bytes = reel_mpi_layout_bytes(m->layout, m->count);
	struct reel_mpi_buffer *got = reel_mpi_take_buffer(m->attached, bytes);
	struct reel_mpi_buffer *zeros = got ? reel_mpi_take_buffer(m->attached, bytes) : NULL;
	int error = zeros ? 0 : -ENOMEM;

	REEL_ASSERT(a->window->locked);
	if (!error) {
		char *zero = reel_mpi_layout_place(m->layout, m->count, zeros->data);
		char *place = reel_mpi_layout_place(m->layout, m->count, got->data);

		memset(zeros->data, 0, bytes);
		error = reel_mpi_error(leave_zero
					       ? MPI_Get_accumulate(zero, m->count, m->type, place,
								    m->count, m->type, m->peer,
								    a->at, a->count, a->type,
								    MPI_REPLACE, a->win)
					       : MPI_Get(place, m->count, m->type, m->peer, a->at,
							 a->count, a->type, a->win),
				       m->call);
		if (!error)
			error = reel_mpi_error(MPI_Win_flush(m->peer, a->win), m->call);
		if (!error)
			reel_mpi_layout_add(m->layout, m->count, m->buffer, place);
		reel_mpi_give_buffer(m->attached, zeros);
	}
	if (got)
		reel_mpi_give_buffer(m->attached, got);
	return error;
}

static int add_at_target(struct access *a)
{
	struct reel_mpi_message *m = &a->m;
	int error = reel_mpi_error(MPI_Accumulate(m->buffer, m->count, m->type, m->peer, a->at,
						  a->count, a->type, MPI_SUM, a->win),
				   m->call);

	REEL_ASSERT(a->window->locked);
	if (!error)
		error = reel_mpi_error(MPI_Win_flush(m->peer, a->win), m->call);
	if (!error)
		reel_mpi_layout_zero(m->layout, m->count, m->buffer);
	return error;
}

static int reverse(struct access *a)
{
	struct reel_mpi_message *m = &a->m;
	int error;

	if (!reel_mpi_is_active(m))
		return 0;
	error = lock_window(a->window, a->win, m->call);
	if (error)
		return error;
	error = a->kind == REEL_MPI_GET ? add_at_target(a) : fetch(a, a->kind == REEL_MPI_PUT);
	if (error)
		reel_mpi_layout_poison(m->layout, m->count, m->buffer);
	return error;
}

int reel_mpi_access_at(reel_tape *tape, const char *call_site, enum reel_mpi_form form,
		       enum reel_mpi_access kind, const void *origin, int count, MPI_Datatype type,
		       int target, MPI_Aint displacement, int target_count,
		       MPI_Datatype target_type, MPI_Op op, MPI_Win win)
{
	static const char *const names[][2] = {
		[REEL_MPI_PUT] = {"reel_mpi_put", "reel_mpi_put_reverse"},
		[REEL_MPI_GET] = {"reel_mpi_get", "reel_mpi_get_reverse"},
		[REEL_MPI_ACCUMULATE] = {"reel_mpi_accumulate", "reel_mpi_accumulate_reverse"},
	};
	struct access a = {.m = REEL_MPI_MESSAGE(names[kind][form], origin, count, target, 0),
			   .kind = kind, .op = op, .at = displacement, .count = target_count,
			   .type = target_type, .win = win};
	int error = open_access(&a);

	REEL_ASSERT(form <= REEL_MPI_REVERSE);
	if (!error)
		error = form == REEL_MPI_REVERSE ? reverse(&a) : forward(&a);
	return reel_mpi_stick(tape, error);
}
