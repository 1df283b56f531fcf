/* SPDX-License-Identifier: MIT */
/*
 * The foreign calls of reel.jax, for XLA on the CPU. python/reel/jax.py makes programs of them:
 *
 *	save   token, arrays -> token          keeps the arrays in a parcel
 *	load   token -> token, arrays          gives back the last ones that were saved, or others
 *	end    token, arrays -> arrays         ends the session of such loads
 *	visit  token, state -> token           a state of the forward sweep of a plan
 *	turn   token, step, state -> token, order, state
 *	                                       the next state of the reverse sweep of a plan
 *
 * A session is what one forward pass has kept. A token, uint32[2], names its session and the number
 * of the next call in it. Each call takes the token of the call before it, so the order of the
 * calls is an order of data, which XLA keeps. A token that is used twice, or late, names no session
 * or another call, and is refused: a wrong order is an error and never a wrong number.
 *
 * A session ends with its end, its last load or its last turn, with a failure of a call of the
 * same execution, or when reel_jax_give_up() is told that nothing has its token any more.
 *
 * Threads. XLA makes the calls of different sessions at once. `table_lock` guards the sessions and
 * the places; a call marks its session as busy and works on it without the lock.
 */
#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <reel/error.h>
#include <reel/parcel.h>
#include <reel/plan.h>
#include <xla/ffi/api/c_api.h>

#define PUBLIC __attribute__((visibility("default")))

#define ALIGNMENT 64

/* Sessions of one parcel each are announced together with older ones, up to this many parcels. */
#define MAX_ANNOUNCED 256

/* Where sessions keep their arrays: a pool, and for the scan of a plan also the plan. */
struct place {
	int64_t id;
	reel_pool *pool;
	const reel_plan *plan;
	bool end_is_unknown;
	char *store[REEL_MAX_TIERS];
	char *directory;
	struct session *newest;
	struct place *next;
};

struct session {
	uint32_t id;
	uint32_t call;    /* number of the next call, which the token has too */
	int64_t execution; /* of the program that opened it */
	uint64_t used_ns;
	bool busy;
	bool announced;
	struct place *place;
	struct session *older, *newer; /* of the place */
	struct session *chained;       /* of the same bucket */

	/*
	 * The parcels have the saved arrays, or the states of the steps that a plan has recorded,
	 * in the order of their calls. A parcel that was loaded is NULL. The last one is not.
	 */
	reel_parcel **parcel;
	size_t parcels, room;

	reel_run *run;
	reel_action action; /* the one that is carried out */
	int64_t at;         /* number of the working state */
	int64_t left;       /* of a REVERSE: the steps from `first` to left - 1 are left */
};

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t not_busy = PTHREAD_COND_INITIALIZER;
static struct place *places;
static struct session **bucket; /* `buckets` lists of sessions, a power of two */
static size_t buckets, sessions;
static uint32_t last_id;

/* reel_jax_remind() sets these. */
static int (*add_pending_call)(int (*)(void *), void *);
static int (*collect)(void *);
static uint64_t collect_after_ns, collected_ns;

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- The table of sessions; all of it requires `table_lock` ---------------------- */

static struct session **entry_of(uint32_t id)
{
	struct session **entry = &bucket[id & (buckets - 1)];

	while (*entry && (*entry)->id != id)
		entry = &(*entry)->chained;
	return entry;
}

static int grow_table(void)
{
	size_t n = buckets ? 2 * buckets : 64, i;
	struct session **larger, *session, *next;

	if (sessions < buckets)
		return 0;
	larger = calloc(n, sizeof(struct session *));
	if (!larger)
		return -ENOMEM;
	for (i = 0; i < buckets; i++)
		for (session = bucket[i]; session; session = next) {
			next = session->chained;
			session->chained = larger[session->id & (n - 1)];
			larger[session->id & (n - 1)] = session;
		}
	free(bucket);
	bucket = larger;
	buckets = n;
	return 0;
}

/* The new session is busy. Returns NULL if there is no memory. */
static struct session *add_session(struct place *place, int64_t execution)
{
	struct session *session = calloc(1, sizeof *session);

	if (!session || grow_table()) {
		free(session);
		return NULL;
	}
	do
		last_id++;
	while (!last_id || *entry_of(last_id));
	session->id = last_id;
	session->execution = execution;
	session->busy = true;
	session->place = place;
	session->older = place->newest;
	if (place->newest)
		place->newest->newer = session;
	place->newest = session;
	*entry_of(session->id) = session;
	sessions++;
	return session;
}

/* Takes a session out of the table, so that no call finds it. */
static void remove_session(struct session *session)
{
	*entry_of(session->id) = session->chained;
	if (session->older)
		session->older->newer = session->newer;
	if (session->newer)
		session->newer->older = session->older;
	else
		session->place->newest = session->older;
	sessions--;
	pthread_cond_broadcast(&not_busy);
}

static void free_session(struct session *session)
{
	reel_run_close(session->run);
	while (session->parcels)
		reel_parcel_close(session->parcel[--session->parcels]); /* or NULL */
	free(session->parcel);
	free(session);
}

/* Removes and frees the sessions of a list that `chained` links. */
static void end_sessions(struct session *session)
{
	while (session) {
		struct session *next = session->chained;

		free_session(session);
		session = next;
	}
}

static struct session *removed(struct session *session, struct session *list)
{
	remove_session(session);
	session->chained = list;
	return session;
}

/* ---- The frame of a call --------------------------------------------------------- */

static size_t bytes_of(const XLA_FFI_Buffer *buffer)
{
	size_t bytes;
	int64_t i;

	switch (buffer->dtype) {
	case XLA_FFI_DataType_S16:
	case XLA_FFI_DataType_U16:
	case XLA_FFI_DataType_F16:
	case XLA_FFI_DataType_BF16: bytes = 2; break;
	case XLA_FFI_DataType_S32:
	case XLA_FFI_DataType_U32:
	case XLA_FFI_DataType_F32: bytes = 4; break;
	case XLA_FFI_DataType_S64:
	case XLA_FFI_DataType_U64:
	case XLA_FFI_DataType_F64:
	case XLA_FFI_DataType_C64: bytes = 8; break;
	case XLA_FFI_DataType_C128: bytes = 16; break;
	default: bytes = 1; /* jax.py passes no type below a byte */
	}
	for (i = 0; i < buffer->rank; i++)
		bytes *= (size_t)buffer->dims[i];
	return bytes;
}

static XLA_FFI_Buffer *argument(const XLA_FFI_CallFrame *frame, int64_t i)
{
	return frame->args.args[i];
}

static XLA_FFI_Buffer *result(const XLA_FFI_CallFrame *frame, int64_t i)
{
	return frame->rets.rets[i];
}

/* Some of the arrays of a frame, in the order in which a parcel has them. */
struct arrays {
	void **buffer; /* XLA_FFI_Buffer */
	int64_t n;
};

static size_t aligned(size_t bytes)
{
	return (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static size_t total(struct arrays arrays)
{
	size_t bytes = 0;
	int64_t i;

	for (i = 0; i < arrays.n; i++)
		bytes += aligned(bytes_of(arrays.buffer[i]));
	return bytes;
}

static void gather(struct arrays arrays, char *to)
{
	int64_t i;

	for (i = 0; i < arrays.n; i++) {
		const XLA_FFI_Buffer *buffer = arrays.buffer[i];
		size_t bytes = bytes_of(buffer);

		if (bytes)
			memcpy(to, buffer->data, bytes);
		/* Stores check and compress the gaps too. */
		memset(to + bytes, 0, aligned(bytes) - bytes);
		to += aligned(bytes);
	}
}

static void scatter(struct arrays arrays, const char *from)
{
	int64_t i;

	for (i = 0; i < arrays.n; i++) {
		const XLA_FFI_Buffer *buffer = arrays.buffer[i];
		size_t bytes = bytes_of(buffer);

		if (bytes)
			memcpy(buffer->data, from, bytes);
		from += aligned(bytes);
	}
}

/* Copies an argument to a result. XLA gives both the same memory where it can. */
static void pass(const XLA_FFI_CallFrame *frame, int64_t from, int64_t to)
{
	const XLA_FFI_Buffer *source = argument(frame, from), *target = result(frame, to);
	size_t bytes = bytes_of(source);

	if (bytes && target->data != source->data)
		memmove(target->data, source->data, bytes);
}

/* An XLA_FFI_Scalar or an XLA_FFI_Array of int64_t; NULL: the call has no such attribute. */
static const void *find_attribute(const XLA_FFI_CallFrame *frame, const char *name)
{
	int64_t i;

	for (i = 0; i < frame->attrs.size; i++) {
		const XLA_FFI_ByteSpan *span = frame->attrs.names[i];

		if (span->len == strlen(name) && !memcmp(span->ptr, name, span->len))
			return frame->attrs.attrs[i];
	}
	return NULL;
}

static int64_t attribute(const XLA_FFI_CallFrame *frame, const char *name)
{
	const XLA_FFI_Scalar *found = find_attribute(frame, name);

	return found ? *(const int64_t *)found->value : 0;
}

/* The number of the execution of the program that makes the call; 0: not known. */
static int64_t execution_of(const XLA_FFI_CallFrame *frame)
{
	XLA_FFI_RunId_Get_Args args = {
		.struct_size = XLA_FFI_RunId_Get_Args_STRUCT_SIZE, .ctx = frame->ctx};
	XLA_FFI_Error_Destroy_Args destroy = {
		.struct_size = XLA_FFI_Error_Destroy_Args_STRUCT_SIZE};

	if (frame->api->struct_size < XLA_FFI_STRUCT_SIZE(XLA_FFI_Api, XLA_FFI_RunId_Get))
		return 0;
	destroy.error = frame->api->XLA_FFI_RunId_Get(&args);
	if (destroy.error) {
		frame->api->XLA_FFI_Error_Destroy(&destroy);
		return 0;
	}
	return args.run_id;
}

/* ---- Errors ---------------------------------------------------------------------- */

/* The text of the error with which the call of this thread fails. Empty: it has no error. */
static _Thread_local char error_text[1024];

__attribute__((format(printf, 2, 3))) static int refused(int error, const char *format, ...)
{
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(error_text, sizeof error_text, format, arguments);
	va_end(arguments);
	return error;
}

/* Keeps the text of an error of the library, which its next call may change. */
static int checked(int error)
{
	if (error < 0 && !*error_text)
		snprintf(error_text, sizeof error_text, "%s", reel_error_text(error));
	return error;
}

static XLA_FFI_Error_Code code_of(int error)
{
	switch (-error) {
	case EINVAL: return XLA_FFI_Error_Code_INVALID_ARGUMENT;
	case ENOENT: return XLA_FFI_Error_Code_FAILED_PRECONDITION;
	case EDQUOT:
	case ENOMEM:
	case ENOSPC: return XLA_FFI_Error_Code_RESOURCE_EXHAUSTED;
	case EBADMSG:
	case EIO: return XLA_FFI_Error_Code_DATA_LOSS;
	default: return XLA_FFI_Error_Code_INTERNAL;
	}
}

/*
 * Ends the failed session, which may be NULL, and those that the same execution has opened: XLA
 * stops it, and nothing would load them.
 */
static XLA_FFI_Error *failed(const XLA_FFI_CallFrame *frame, struct session *session, int error)
{
	XLA_FFI_Error_Create_Args args = {.struct_size = XLA_FFI_Error_Create_Args_STRUCT_SIZE,
					  .message = error_text, .errc = code_of(error)};
	int64_t execution = execution_of(frame);
	struct session *gone = NULL, *other, *older;
	struct place *place;

	pthread_mutex_lock(&table_lock);
	if (session)
		gone = removed(session, gone);
	for (place = places; execution && place; place = place->next)
		for (other = place->newest; other; other = older) {
			older = other->older;
			if (other->execution == execution && !other->busy)
				gone = removed(other, gone);
		}
	pthread_mutex_unlock(&table_lock);
	end_sessions(gone);
	return frame->api->XLA_FFI_Error_Create(&args);
}

/* ---- A call in a session --------------------------------------------------------- */

/* Has Python's main thread look for sessions without a token, if none did so for long. */
static void remind(uint64_t now)
{
	if (add_pending_call && sessions && now - collected_ns > collect_after_ns) {
		collected_ns = now;
		add_pending_call(collect, NULL);
	}
}

static int open_session(struct session **session, int64_t id, int64_t execution)
{
	struct place *place;

	pthread_mutex_lock(&table_lock);
	for (place = places; place && place->id != id;)
		place = place->next;
	remind(now_ns());
	*session = place ? add_session(place, execution) : NULL;
	pthread_mutex_unlock(&table_lock);
	if (!place)
		return refused(-ENOENT, "reel.jax: the pool is closed");
	return *session ? 0 : refused(-ENOMEM, "reel.jax: no memory for a session");
}

static int find_session(struct session **session, uint32_t id, uint32_t call)
{
	struct session *found;
	int error = 0;

	*session = NULL;
	pthread_mutex_lock(&table_lock);
	found = buckets ? *entry_of(id) : NULL;
	if (!found)
		error = refused(
			-ENOENT,
			"reel.jax: these residuals are gone: a backward pass has used them, or "
			"they were given up after an error or because no array of JAX had their "
			"token; run the forward pass again");
	else if (found->busy || found->call != call)
		error = refused(-EINVAL,
				"reel.jax: these residuals are used twice or out of order; a "
				"forward pass has one backward pass");
	else
		found->busy = true;
	pthread_mutex_unlock(&table_lock);
	if (!error)
		*session = found;
	return error;
}

/*
 * Gives the session of the token that is the first argument. A token of zeros opens one, if
 * `opens`. It is busy until enter()'s caller calls leave() or failed().
 */
static int enter(const XLA_FFI_CallFrame *frame, bool opens, struct session **session)
{
	uint32_t token[2];

	*error_text = '\0';
	memcpy(token, argument(frame, 0)->data, sizeof token);
	if (opens && !token[0])
		return open_session(session, attribute(frame, "place"), execution_of(frame));
	return find_session(session, token[0], token[1]);
}

/* Ends the call. The token of the next call is the first result. An ended session has none. */
static void leave(const XLA_FFI_CallFrame *frame, struct session *session, uint32_t call,
		  bool ended)
{
	uint32_t token[2] = {ended ? 0 : session->id, ended ? 0 : call};

	pthread_mutex_lock(&table_lock);
	session->call = call;
	session->used_ns = now_ns();
	session->busy = false;
	if (ended)
		remove_session(session);
	pthread_cond_broadcast(&not_busy);
	pthread_mutex_unlock(&table_lock);
	if (ended)
		free_session(session);
	memcpy(result(frame, 0)->data, token, sizeof token);
}

/* ---- Parcels --------------------------------------------------------------------- */

static int push(struct session *session, struct arrays arrays)
{
	struct reel_parcel_options options = {.layout.element = 0};
	reel_parcel **list = session->parcel;
	size_t room = session->room ? 2 * session->room : 1;
	void *data;
	int error;

	if (session->parcels == session->room) {
		list = realloc(list, room * sizeof *list);
		if (!list)
			return refused(-ENOMEM, "reel.jax: no memory for a list of parcels");
		session->parcel = list;
		session->room = room;
	}
	error = checked(reel_parcel_open(&list[session->parcels], session->place->pool,
					 total(arrays), &options, &data));
	if (error)
		return error;
	gather(arrays, data);
	return checked(reel_parcel_seal(list[session->parcels++]));
}

/* Loads the parcel with this number, which is gone then. */
static int pop(struct session *session, size_t number, struct arrays arrays)
{
	reel_parcel *parcel = number < session->parcels ? session->parcel[number] : NULL;
	const void *data;
	int error;

	if (!parcel)
		return refused(-EINVAL, "reel.jax: residual %zu is not there", number);
	if (reel_parcel_bytes(parcel) != total(arrays))
		return refused(-EINVAL, "reel.jax: residuals of %zu bytes are loaded as %zu",
			       reel_parcel_bytes(parcel), total(arrays));
	error = checked(reel_parcel_pin(parcel, &data));
	if (error)
		return error;
	scatter(arrays, data);
	reel_parcel_unpin(parcel);
	reel_parcel_close(parcel);
	session->parcel[number] = NULL;
	while (session->parcels && !session->parcel[session->parcels - 1])
		session->parcels--;
	return 0;
}

/* Appends the parcels of a session, in this order or from the last one to the first. */
static size_t append(reel_parcel **list, size_t n, const struct session *session,
		     const XLA_FFI_Array *order)
{
	size_t i, number;

	for (i = 0; i < (order ? order->size : session->parcels); i++) {
		number = session->parcels - 1 - i;
		if (order)
			number = (size_t)((const int64_t *)order->data)[i];
		if (number < session->parcels && session->parcel[number])
			list[n++] = session->parcel[number];
	}
	return n;
}

/*
 * Announces the parcels of the session in the order of the loads, so that they are read ahead.
 * Those of older sessions of the same execution come next: a lax.scan() over a function that is
 * offloaded has a session for each step.
 */
static void announce(struct session *session, const XLA_FFI_Array *order)
{
	reel_parcel **list = NULL, **larger;
	struct session *each;
	size_t n = 0;

	if (session->announced)
		return;
	pthread_mutex_lock(&table_lock);
	for (each = session; each && each->execution == session->execution; each = each->older) {
		if (each != session && (each->busy || each->announced || each->run))
			break;
		if (n && n + each->parcels > MAX_ANNOUNCED)
			break;
		larger = realloc(list, (n + each->parcels + 1) * sizeof *list);
		if (!larger)
			break;
		list = larger;
		n = append(list, n, each, order && order->size <= each->parcels ? order : NULL);
		each->announced = true;
	}
	/* Without an announcement parcels are read when they are pinned. */
	if (n)
		reel_parcel_announce(list, n);
	pthread_mutex_unlock(&table_lock);
	free(list);
}

/* ---- save and load --------------------------------------------------------------- */

/*
 * The first `tied` arrays are also results: a program that uses these instead runs on after the
 * arrays are saved. The first `unsaved` of them are only that.
 */
static XLA_FFI_Error *save(const XLA_FFI_CallFrame *frame)
{
	int64_t tied = attribute(frame, "tied"), unsaved = attribute(frame, "unsaved"), i;
	struct session *session;
	int error = enter(frame, true, &session);

	if (!error)
		error = push(session, (struct arrays){frame->args.args + 1 + unsaved,
						      frame->args.size - 1 - unsaved});
	if (error)
		return failed(frame, session, error);
	for (i = 1; i <= tied; i++)
		pass(frame, i, i);
	leave(frame, session, session->call + 1, false);
	return NULL;
}

/*
 * Loads the last parcel, or with `order` the one with this number, where `order` lists the numbers
 * in the order of the loads. Arguments behind the token are values that are to exist before.
 */
static XLA_FFI_Error *load(const XLA_FFI_CallFrame *frame)
{
	const XLA_FFI_Array *order = find_attribute(frame, "order");
	int64_t number = attribute(frame, "number");
	struct session *session;
	int error = enter(frame, false, &session);

	if (!error) {
		announce(session, order);
		error = pop(session, order ? (size_t)number : session->parcels - 1,
			    (struct arrays){frame->rets.rets + 1, frame->rets.size - 1});
	}
	if (error)
		return failed(frame, session, error);
	leave(frame, session, session->call + 1, !order && !session->parcels);
	return NULL;
}

/* The arrays are what the loads were for: if a program uses one, none of the loads is dropped. */
static XLA_FFI_Error *end(const XLA_FFI_CallFrame *frame)
{
	struct session *session, *gone;
	int64_t i;
	int error = enter(frame, false, &session);

	if (error)
		return failed(frame, session, error);
	for (i = 1; i < frame->args.size; i++)
		pass(frame, i, i - 1);
	pthread_mutex_lock(&table_lock);
	gone = removed(session, NULL);
	pthread_mutex_unlock(&table_lock);
	end_sessions(gone);
	return NULL;
}

/* ---- visit and turn: a plan ------------------------------------------------------ */

static int save_state(void *context, const void *state, void *snapshot)
{
	(void)state;
	gather(*(struct arrays *)context, snapshot);
	return 0;
}

static int load_state(void *context, void *state, const void *snapshot)
{
	(void)state;
	scatter(*(struct arrays *)context, snapshot);
	return 0;
}

static int next_action(struct session *session)
{
	int error = checked(reel_run_next(session->run, &session->action));

	session->left = session->action.last;
	return error;
}

static int open_run(struct session *session, struct arrays state)
{
	const struct place *place = session->place;
	struct reel_run_options options = {.pool = place->pool, .flags = REEL_RUN_COPIES};
	reel_model model = {.state_bytes = total(state), .save = save_state, .load = load_state};
	int error = 0, tier;

	if (!place->plan)
		return refused(-EINVAL, "reel.jax: the place of this scan has no plan");
	for (tier = 0; !error && tier < REEL_MAX_TIERS; tier++)
		if (place->store[tier])
			error = checked(reel_store_open(&options.store[tier], place->store[tier],
							place->directory));
	if (!error)
		error = checked(reel_run_open(&session->run, place->plan, &model, &options));
	if (error) {
		for (tier = 0; tier < REEL_MAX_TIERS; tier++)
			reel_store_close(options.store[tier]);
		return error;
	}
	error = checked(reel_run_start(session->run, NULL, session, NULL));
	return error ? error : next_action(session);
}

/* Carries out what the plan asks for in this state, up to the step that leads on. */
static int visit_state(struct session *session, struct arrays state)
{
	int error = 0;

	while (!error) {
		bool steps = session->action.kind == REEL_ACTION_ADVANCE ||
			     session->action.kind == REEL_ACTION_RECORD;

		if (steps && session->at < session->action.last) {
			if (session->action.kind == REEL_ACTION_RECORD)
				error = push(session, state);
			session->at++;
			return error;
		}
		if (session->action.kind == REEL_ACTION_STORE)
			error = checked(reel_run_copy(session->run, &state));
		else if (!steps)
			error = refused(-EINVAL,
					"reel.jax: the plan goes back before the end of the loop");
		if (!error)
			error = next_action(session);
	}
	return error;
}

static XLA_FFI_Error *visit(const XLA_FFI_CallFrame *frame)
{
	struct arrays state = {frame->args.args + 1, frame->args.size - 1};
	struct session *session;
	int error = enter(frame, true, &session);

	if (!error && !session->run)
		error = open_run(session, state);
	if (!error)
		error = visit_state(session, state);
	if (error)
		return failed(frame, session, error);
	leave(frame, session, session->call + 1, false);
	return NULL;
}

/* The first number of an order. The second one is the step that the program runs or reverses. */
enum order { REVERSE_STEP, RUN_STEP };

/*
 * The last step of a RECORD, if it is reversed at once, is reversed from the working state. Other
 * states of recorded steps wait in the session.
 */
static int record_state(struct session *session, struct arrays state, int32_t order[2])
{
	bool is_last = session->at + 1 == session->action.last;
	int error = 0;

	if (is_last)
		error = next_action(session);
	if (!error && is_last && session->action.kind == REEL_ACTION_REVERSE &&
	    session->action.last == session->at + 1) {
		session->left--;
		order[0] = REVERSE_STEP;
		order[1] = (int32_t)session->at;
		return 0;
	}
	order[0] = RUN_STEP;
	order[1] = (int32_t)session->at++;
	return error ? error : push(session, state);
}

/* Carries out what the plan asks for, up to the next step to run or to reverse. */
static int turn_state(struct session *session, struct arrays state, int32_t order[2])
{
	int error = 0;

	for (; !error; error = error ? error : next_action(session)) {
		const reel_action *action = &session->action;

		switch (action->kind) {
		case REEL_ACTION_LOAD:
			session->at = action->first;
			/* fall through */
		case REEL_ACTION_STORE:
			error = checked(reel_run_copy(session->run, &state));
			break;
		case REEL_ACTION_ADVANCE:
			if (session->at == action->last)
				break;
			order[0] = RUN_STEP;
			order[1] = (int32_t)session->at++;
			return 0;
		case REEL_ACTION_RECORD:
			if (session->at == action->last)
				break;
			return record_state(session, state, order);
		case REEL_ACTION_REVERSE:
			if (session->left == action->first)
				break;
			order[0] = REVERSE_STEP;
			order[1] = (int32_t)--session->left;
			return pop(session, session->parcels - 1, state);
		default:
			return refused(-EINVAL, "reel.jax: a plan of \"%s\" is not for a scan",
				       reel_action_name(action->kind));
		}
	}
	return error;
}

static XLA_FFI_Error *turn(const XLA_FFI_CallFrame *frame)
{
	struct arrays state = {frame->rets.rets + 2, frame->rets.size - 2};
	int32_t order[2] = {0, 0}, step;
	struct session *session;
	int64_t i;
	int error = enter(frame, false, &session);

	if (error)
		return failed(frame, session, error);
	for (i = 2; i < frame->args.size; i++)
		pass(frame, i, i);
	memcpy(&step, argument(frame, 1)->data, sizeof step);
	if (session->place->end_is_unknown && reel_run_steps(session->run) == REEL_UNKNOWN_STEPS)
		error = checked(reel_run_end_loop(session->run));
	if (!error)
		error = turn_state(session, state, order);
	if (!error && order[0] == REVERSE_STEP && order[1] != step)
		error = refused(-EINVAL, "reel.jax: the plan reverses step %d instead of %d",
				order[1], step);
	if (error)
		return failed(frame, session, error);
	memcpy(result(frame, 1)->data, order, sizeof order);
	leave(frame, session, session->call + 1, order[0] == REVERSE_STEP && step == 0);
	return NULL;
}

/* ---- What XLA calls -------------------------------------------------------------- */

/* XLA asks first which version of its interface the calls were compiled for. */
static bool is_question(const XLA_FFI_CallFrame *frame)
{
	XLA_FFI_Extension_Base *each = frame->extension_start;

	for (; each; each = each->next)
		if (each->type == XLA_FFI_Extension_Metadata) {
			XLA_FFI_Metadata *metadata;

			metadata = ((XLA_FFI_Metadata_Extension *)each)->metadata;
			metadata->api_version.major_version = XLA_FFI_API_MAJOR;
			metadata->api_version.minor_version = XLA_FFI_API_MINOR;
			return true;
		}
	return false;
}

#define CALL(name)                                                      \
	PUBLIC XLA_FFI_Error *reel_jax_##name(XLA_FFI_CallFrame *frame); \
	XLA_FFI_Error *reel_jax_##name(XLA_FFI_CallFrame *frame)         \
	{                                                               \
		return is_question(frame) ? NULL : name(frame);         \
	}

CALL(save)
CALL(load)
CALL(end)
CALL(visit)
CALL(turn)

/* ---- The child of a fork --------------------------------------------------------- */

/*
 * The child forgets all sessions: those on which a thread of the parent worked would be busy for
 * ever. JAX works in no child.
 */
static void forget_all(void)
{
	pthread_mutex_init(&table_lock, NULL);
	pthread_cond_init(&not_busy, NULL);
	places = NULL;
	bucket = NULL;
	buckets = sessions = 0;
	add_pending_call = NULL;
}

__attribute__((constructor)) static void begin(void)
{
	pthread_atfork(NULL, NULL, forget_all);
}

/* ---- What jax.py calls ----------------------------------------------------------- */

static void free_place(struct place *place)
{
	int tier;

	for (tier = 0; tier < REEL_MAX_TIERS; tier++)
		free(place->store[tier]);
	free(place->directory);
	free(place);
}

static bool copied(char **to, const char *text)
{
	return !text || (*to = strdup(text));
}

/*
 * Returns the number of a place, which programs name in their calls, or -ENOMEM. `store` has the
 * text of a store for each tier of the plan, or NULL.
 */
PUBLIC int64_t reel_jax_open_place(reel_pool *pool, const reel_plan *plan, int end_is_unknown,
				   const char *const store[REEL_MAX_TIERS], const char *directory);

int64_t reel_jax_open_place(reel_pool *pool, const reel_plan *plan, int end_is_unknown,
			    const char *const store[REEL_MAX_TIERS], const char *directory)
{
	static int64_t last_place;
	struct place *place = calloc(1, sizeof *place);
	bool complete = place != NULL;
	int tier;

	for (tier = 0; complete && tier < REEL_MAX_TIERS; tier++)
		complete = copied(&place->store[tier], store[tier]);
	if (!complete || !copied(&place->directory, directory)) {
		if (place)
			free_place(place);
		return -ENOMEM;
	}
	place->pool = pool;
	place->plan = plan;
	place->end_is_unknown = end_is_unknown;
	pthread_mutex_lock(&table_lock);
	place->id = ++last_place;
	place->next = places;
	places = place;
	pthread_mutex_unlock(&table_lock);
	return place->id;
}

/* Ends the sessions of a place, and waits for those that a call works on. */
PUBLIC void reel_jax_close_place(int64_t id);

void reel_jax_close_place(int64_t id)
{
	struct place **entry = &places, *place;
	struct session *gone = NULL;

	pthread_mutex_lock(&table_lock);
	while (*entry && (*entry)->id != id)
		entry = &(*entry)->next;
	place = *entry;
	if (place)
		*entry = place->next; /* no call opens a session there */
	while (place && place->newest) {
		if (place->newest->busy)
			pthread_cond_wait(&not_busy, &table_lock);
		else
			gone = removed(place->newest, gone);
	}
	pthread_mutex_unlock(&table_lock);
	end_sessions(gone);
	if (place)
		free_place(place);
}

static bool is_silent(const struct session *session, uint64_t ns, uint64_t now)
{
	return !session->busy && now - session->used_ns >= ns;
}

/*
 * Lists up to `n` sessions in which no call was made for `ns`, and returns their number: more than
 * `n` means that there is no room for all.
 */
PUBLIC size_t reel_jax_silent(uint64_t ns, uint32_t *ids, size_t n);

size_t reel_jax_silent(uint64_t ns, uint32_t *ids, size_t n)
{
	const struct place *place;
	const struct session *session;
	uint64_t now = now_ns();
	size_t found = 0;

	pthread_mutex_lock(&table_lock);
	collected_ns = now;
	for (place = places; place; place = place->next)
		for (session = place->newest; session; session = session->older)
			if (is_silent(session, ns, now) && found++ < n)
				ids[found - 1] = session->id;
	pthread_mutex_unlock(&table_lock);
	return found;
}

/* Ends those of the sessions in which still no call was made, and returns their number. */
PUBLIC size_t reel_jax_give_up(uint64_t ns, const uint32_t *ids, size_t n);

size_t reel_jax_give_up(uint64_t ns, const uint32_t *ids, size_t n)
{
	struct session *gone = NULL, *session;
	uint64_t now = now_ns();
	size_t i, given_up = 0;

	pthread_mutex_lock(&table_lock);
	for (i = 0; i < n; i++) {
		session = buckets ? *entry_of(ids[i]) : NULL;
		if (session && is_silent(session, ns, now)) {
			gone = removed(session, gone);
			given_up++;
		}
	}
	pthread_mutex_unlock(&table_lock);
	end_sessions(gone);
	return given_up;
}

/*
 * From now on a call that opens a session has Python's main thread call `function`, at most once
 * in `ns`. `add` is Py_AddPendingCall(); NULL: no more.
 */
PUBLIC void reel_jax_remind(int (*add)(int (*)(void *), void *), int (*function)(void *),
			    uint64_t ns);

void reel_jax_remind(int (*add)(int (*)(void *), void *), int (*function)(void *), uint64_t ns)
{
	pthread_mutex_lock(&table_lock);
	add_pending_call = add;
	collect = function;
	collect_after_ns = ns;
	collected_ns = now_ns();
	pthread_mutex_unlock(&table_lock);
}
