/* SPDX-License-Identifier: MIT */
/*
 * The calls of a lane for elements of TYPE. adjoint-lane.c includes this file once for each type;
 * NAME(stem) appends the suffix of the type.
 */

const VIEW *NAME(reel_adjoint_lane_view)(reel_adjoint *adjoint, unsigned lane)
{
	return &find_lane(adjoint, lane, sizeof(TYPE))->view.VIEWED;
}

void NAME(reel_adjoint_lane_add_span)(reel_adjoint *adjoint, unsigned lane, size_t first, size_t n,
				      const TYPE *v)
{
	struct adjoint_lane *user = use(adjoint, lane, first, n, sizeof(TYPE));
	TYPE *target;

	if (!user || !n)
		return;
	REEL_ASSERT(is_plain(adjoint) || user->copy == adjoint->array);
	touch(adjoint, user, first, n);
	target = (TYPE *)user->copy + first;
	if (is_plain(adjoint))
		for (size_t k = 0; k < n; k++)
			target[k] += v[k];
	else
		for (size_t k = 0; k < n; k++)
			while (!REEL_ADJOINT_TRY_ATOMIC(TYPE, &target[k], v[k]))
				;
}

void NAME(reel_adjoint_lane_add)(reel_adjoint *adjoint, unsigned lane, size_t i, TYPE v)
{
	NAME(reel_adjoint_lane_add_span)(adjoint, lane, i, 1, &v);
}

TYPE *NAME(reel_adjoint_lane_span)(reel_adjoint *adjoint, unsigned lane, size_t first, size_t n)
{
	struct adjoint_lane *user;

	if (adjoint->policy == REEL_ADJOINT_ATOMIC) {
		reel_adjoint_fail(adjoint, -EINVAL,
				  "%s: there are no spans under ATOMIC; use "
				  "reel_adjoint_add_span(), which all policies have",
				  adjoint->name);
		return NULL;
	}
	user = use(adjoint, lane, first, n, sizeof(TYPE));
	if (!user)
		return NULL;
	REEL_ASSERT(user->copy || !adjoint->n);
	touch(adjoint, user, first, n);
	/* The address of an array without elements may be NULL. */
	return user->copy ? (TYPE *)user->copy + first : NULL;
}

TYPE NAME(reel_adjoint_lane_take)(reel_adjoint *adjoint, unsigned lane, size_t i)
{
	struct adjoint_lane *user = NULL;
	TYPE zero = 0, v;

	if (adjoint->policy == REEL_ADJOINT_OWNER)
		user = use(adjoint, lane, i, 1, sizeof(TYPE));
	else
		reel_adjoint_fail(adjoint, -EINVAL,
				  "%s: a sum can be taken under OWNER only; read the array when it "
				  "has been reduced", adjoint->name);
	if (!user)
		return (TYPE)NAN;
	REEL_ASSERT(user->copy == adjoint->array);
	/*
	 * Relaxed: as in an add, the value orders no other memory. The exchange is atomic because
	 * in check mode two lanes that conflict may be here at once.
	 */
	__atomic_exchange((TYPE *)user->copy + i, &zero, &v, __ATOMIC_RELAXED);
	return v;
}
