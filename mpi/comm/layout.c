/* SPDX-License-Identifier: MIT */
/* Datatypes taken apart, and operations number by number. */
#include "config.h"

#include "layout.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <reel/extend.h>

#include "error.h"

/* ---- MPI's own types ---- */

static const size_t number_bytes[] = {sizeof(float), sizeof(double), sizeof(long double)};

/* Types with numbers at their beginning. Some have several names, and some are not everywhere. */
static const struct {
	MPI_Datatype type;
	enum reel_mpi_number number;
	int count;
} floating[] = {
	{MPI_DOUBLE, REEL_MPI_DOUBLE, 1},
	{MPI_FLOAT, REEL_MPI_FLOAT, 1},
	{MPI_LONG_DOUBLE, REEL_MPI_LONG_DOUBLE, 1},
	{MPI_C_DOUBLE_COMPLEX, REEL_MPI_DOUBLE, 2},
	{MPI_C_FLOAT_COMPLEX, REEL_MPI_FLOAT, 2},
	{MPI_C_LONG_DOUBLE_COMPLEX, REEL_MPI_LONG_DOUBLE, 2},
	{MPI_CXX_DOUBLE_COMPLEX, REEL_MPI_DOUBLE, 2},
	{MPI_CXX_FLOAT_COMPLEX, REEL_MPI_FLOAT, 2},
	{MPI_CXX_LONG_DOUBLE_COMPLEX, REEL_MPI_LONG_DOUBLE, 2},
	{MPI_DOUBLE_PRECISION, REEL_MPI_DOUBLE, 1},
	{MPI_REAL, REEL_MPI_FLOAT, 1},
	{MPI_REAL8, REEL_MPI_DOUBLE, 1},
	{MPI_REAL4, REEL_MPI_FLOAT, 1},
	{MPI_DOUBLE_COMPLEX, REEL_MPI_DOUBLE, 2},
	{MPI_COMPLEX, REEL_MPI_FLOAT, 2},
	{MPI_COMPLEX16, REEL_MPI_DOUBLE, 2},
	{MPI_COMPLEX8, REEL_MPI_FLOAT, 2},
	{MPI_DOUBLE_INT, REEL_MPI_DOUBLE, 1},
	{MPI_FLOAT_INT, REEL_MPI_FLOAT, 1},
	{MPI_LONG_DOUBLE_INT, REEL_MPI_LONG_DOUBLE, 1},
	{MPI_2DOUBLE_PRECISION, REEL_MPI_DOUBLE, 2},
	{MPI_2REAL, REEL_MPI_FLOAT, 2},
};

/* Types without an adjoint. */
static const MPI_Datatype discrete[] = {
	MPI_INT, MPI_CHAR, MPI_LONG, MPI_UNSIGNED, MPI_SIGNED_CHAR, MPI_UNSIGNED_CHAR, MPI_SHORT,
	MPI_UNSIGNED_SHORT, MPI_UNSIGNED_LONG, MPI_LONG_LONG, MPI_UNSIGNED_LONG_LONG, MPI_WCHAR,
	MPI_C_BOOL, MPI_INT8_T, MPI_INT16_T, MPI_INT32_T, MPI_INT64_T, MPI_UINT8_T, MPI_UINT16_T,
	MPI_UINT32_T, MPI_UINT64_T, MPI_AINT, MPI_OFFSET, MPI_COUNT, MPI_CXX_BOOL, MPI_INTEGER,
	MPI_LOGICAL, MPI_CHARACTER, MPI_INTEGER1, MPI_INTEGER2, MPI_INTEGER4, MPI_INTEGER8,
	MPI_2INT, MPI_LONG_INT, MPI_SHORT_INT, MPI_2INTEGER,
};

/* At least the alignment of each number. */
#define ALIGN ((MPI_Aint)sizeof(max_align_t))

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* ---- Derived types ---- */

/* The ranges of a type while they are found. */
struct ranges {
	struct reel_mpi_range *range;
	size_t count, room;
	int64_t numbers; /* number of floating-point numbers in them */
	int error;
};

static void add_range(struct ranges *ranges, MPI_Aint offset, int64_t count,
		      enum reel_mpi_number number)
{
	struct reel_mpi_range *top = ranges->count ? &ranges->range[ranges->count - 1] : NULL;

	REEL_ASSERT(count > 0 && number <= REEL_MPI_LONG_DOUBLE);
	if (ranges->error)
		return;
	ranges->numbers += count;
	if (top && top->number == number &&
	    top->offset + (MPI_Aint)number_bytes[number] * (MPI_Aint)top->count == offset) {
		top->count += count;
		return;
	}
	if (ranges->count == ranges->room) {
		size_t room = 2 * ranges->room + 4;
		struct reel_mpi_range *larger = realloc(ranges->range, room * sizeof *larger);

		if (!larger) {
			ranges->error = reel_fail(-ENOMEM,
						  "no memory for the layout of a datatype");
			return;
		}
		ranges->range = larger;
		ranges->room = room;
	}
	REEL_ASSERT(ranges->count < ranges->room);
	ranges->range[ranges->count++] = (struct reel_mpi_range){offset, count, number};
}

static void add_type(struct ranges *ranges, MPI_Aint offset, MPI_Datatype type);

/* The index in floating[], or COUNT(floating). */
static size_t find_floating(MPI_Datatype type)
{
	size_t i = 0;

	while (i < COUNT(floating) && floating[i].type != type)
		i++;
	return i;
}

/* Adds `count` elements of a type, one after the other. */
static void add_block(struct ranges *ranges, MPI_Aint offset, MPI_Aint count, MPI_Datatype type)
{
	int64_t before = ranges->numbers;
	size_t f = find_floating(type);
	MPI_Aint lower, extent;

	MPI_Type_get_extent(type, &lower, &extent);
	if (f < COUNT(floating) &&
	    (MPI_Aint)number_bytes[floating[f].number] * floating[f].count == extent) {
		if (count > 0)
			add_range(ranges, offset, count * floating[f].count, floating[f].number);
		return;
	}
	for (MPI_Aint i = 0; i < count && !ranges->error; i++) {
		add_type(ranges, offset + i * extent, type);
		/* Integers alone: the others are like the first one. */
		if (i == 0 && ranges->numbers == before)
			break;
	}
}

static void add_named(struct ranges *ranges, MPI_Aint offset, MPI_Datatype type)
{
	char name[MPI_MAX_OBJECT_NAME] = "";
	size_t f = find_floating(type);
	int length;

	if (f < COUNT(floating)) {
		add_range(ranges, offset, floating[f].count, floating[f].number);
		return;
	}
	for (size_t i = 0; i < COUNT(discrete); i++)
		if (discrete[i] == type)
			return;
	if (ranges->error)
		return;
	MPI_Type_get_name(type, name, &length);
	ranges->error = reel_fail(-ENOTSUP,
				  "data sent as %s has no known adjoint; send it with the type "
				  "of its numbers, or by MPI's own call if it needs no adjoint",
				  name);
}

/* Adds the elements of a rectangle in an array, from the slowest dimension to the fastest one. */
static void add_subarray(struct ranges *ranges, MPI_Aint offset, int dimensions, const int *sizes,
			 const int *widths, const int *starts, int stride, MPI_Datatype type)
{
	MPI_Aint lower, extent, row = 1;

	REEL_ASSERT(dimensions >= 0 && (stride == 1 || stride == -1));
	MPI_Type_get_extent(type, &lower, &extent);
	if (dimensions == 0) {
		add_type(ranges, offset, type);
		return;
	}
	/* `stride` is 1 where the first dimension is the slowest, as in C, and -1 otherwise. */
	for (int d = 1; d < dimensions; d++)
		row *= sizes[stride * d];
	for (int i = 0; i < widths[0] && !ranges->error; i++)
		add_subarray(ranges, offset + (starts[0] + i) * row * extent, dimensions - 1,
			     sizes + stride, widths + stride, starts + stride, stride, type);
}

/* The arguments that made a type, in the order in which MPI_Type_get_contents() has them. */
struct contents {
	int combiner;
	int *i;
	MPI_Aint *a;
	MPI_Datatype *t;
};

static void add_contents(struct ranges *ranges, MPI_Aint at, const struct contents *c)
{
	const int *i = c->i;
	MPI_Aint lower, extent = 0;
	int last;

	REEL_ASSERT(c->combiner != MPI_COMBINER_NAMED);
	if (c->combiner != MPI_COMBINER_STRUCT)
		MPI_Type_get_extent(c->t[0], &lower, &extent);
	switch (c->combiner) {
	case MPI_COMBINER_DUP:
	case MPI_COMBINER_RESIZED:
		add_type(ranges, at, c->t[0]);
		break;
	case MPI_COMBINER_CONTIGUOUS:
		add_block(ranges, at, i[0], c->t[0]);
		break;
	case MPI_COMBINER_VECTOR:
		for (int k = 0; k < i[0]; k++)
			add_block(ranges, at + (MPI_Aint)k * i[2] * extent, i[1], c->t[0]);
		break;
	case MPI_COMBINER_HVECTOR:
		for (int k = 0; k < i[0]; k++)
			add_block(ranges, at + k * c->a[0], i[1], c->t[0]);
		break;
	case MPI_COMBINER_INDEXED:
		for (int k = 0; k < i[0]; k++)
			add_block(ranges, at + i[1 + i[0] + k] * extent, i[1 + k], c->t[0]);
		break;
	case MPI_COMBINER_HINDEXED:
		for (int k = 0; k < i[0]; k++)
			add_block(ranges, at + c->a[k], i[1 + k], c->t[0]);
		break;
	case MPI_COMBINER_INDEXED_BLOCK:
		for (int k = 0; k < i[0]; k++)
			add_block(ranges, at + i[2 + k] * extent, i[1], c->t[0]);
		break;
	case MPI_COMBINER_HINDEXED_BLOCK:
		for (int k = 0; k < i[0]; k++)
			add_block(ranges, at + c->a[k], i[1], c->t[0]);
		break;
	case MPI_COMBINER_STRUCT:
		for (int k = 0; k < i[0]; k++)
			add_block(ranges, at + c->a[k], i[1 + k], c->t[k]);
		break;
	case MPI_COMBINER_SUBARRAY:
		last = i[3 * i[0] + 1] == MPI_ORDER_C ? 0 : i[0] - 1;
		add_subarray(ranges, at, i[0], i + 1 + last, i + 1 + i[0] + last,
			     i + 1 + 2 * i[0] + last, last ? -1 : 1, c->t[0]);
		break;
	default:
		if (!ranges->error)
			ranges->error = reel_fail(-ENOTSUP, "the adjoint of a datatype made by "
							  "MPI_Type_create_darray() or of a class "
							  "of types is not known");
	}
}

static void add_type(struct ranges *ranges, MPI_Aint offset, MPI_Datatype type)
{
	struct contents c;
	int integers, addresses, types;

	if (ranges->error)
		return;
	MPI_Type_get_envelope(type, &integers, &addresses, &types, &c.combiner);
	if (c.combiner == MPI_COMBINER_NAMED) {
		add_named(ranges, offset, type);
		return;
	}
	c.i = malloc((size_t)integers * sizeof *c.i + 1);
	c.a = malloc((size_t)addresses * sizeof *c.a + 1);
	c.t = malloc((size_t)types * sizeof *c.t + 1);
	if (c.i && c.a && c.t) {
		MPI_Type_get_contents(type, integers, addresses, types, c.i, c.a, c.t);
		add_contents(ranges, offset, &c);
		for (int k = 0; k < types; k++) {
			int own, unused;

			MPI_Type_get_envelope(c.t[k], &unused, &unused, &unused, &own);
			if (own != MPI_COMBINER_NAMED)
				MPI_Type_free(&c.t[k]);
		}
	} else {
		ranges->error = reel_fail(-ENOMEM, "no memory for the layout of a datatype");
	}
	free(c.i);
	free(c.a);
	free(c.t);
}

/* ---- Layouts are kept with the types ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int keyval = MPI_KEYVAL_INVALID;

static int delete_layout(MPI_Datatype type, int key, void *value, void *extra)
{
	(void)type;
	(void)key;
	(void)extra;
	free(value);
	return MPI_SUCCESS;
}

/* Requires `lock`. */
static int make_layout(MPI_Datatype type, const char *call, struct reel_mpi_layout **made)
{
	struct ranges ranges = {NULL, 0, 0, 0, 0};
	struct reel_mpi_layout *layout;
	MPI_Aint lower;

	add_type(&ranges, 0, type);
	REEL_ASSERT(ranges.error || (ranges.count <= ranges.room &&
				     !ranges.count == !ranges.numbers));
	layout = ranges.error ? NULL : malloc(sizeof *layout + ranges.count * sizeof *ranges.range);
	if (layout) {
		layout->ranges = ranges.count;
		if (ranges.count)
			memcpy(layout->range, ranges.range, ranges.count * sizeof *ranges.range);
		MPI_Type_get_extent(type, &lower, &layout->extent);
		MPI_Type_get_true_extent(type, &layout->true_offset, &layout->true_extent);
		if (MPI_Type_set_attr(type, keyval, layout) != MPI_SUCCESS) {
			free(layout);
			layout = NULL;
			ranges.error = reel_fail(-EIO, "a datatype takes no attribute");
		}
	} else if (!ranges.error) {
		ranges.error = reel_fail(-ENOMEM, "no memory for the layout of a datatype");
	}
	free(ranges.range);
	REEL_ASSERT(!layout == (ranges.error != 0));
	*made = layout;
	return ranges.error ? reel_fail(ranges.error, "%s: %s", call, reel_error_text(0)) : 0;
}

int reel_mpi_layout_of(MPI_Datatype type, const char *call, const struct reel_mpi_layout **layout)
{
	struct reel_mpi_layout *kept = NULL;
	int found = 0, error = 0;

	if (type == MPI_DATATYPE_NULL)
		return reel_fail(-EINVAL, "%s: MPI_DATATYPE_NULL", call);
	pthread_mutex_lock(&lock);
	if (keyval == MPI_KEYVAL_INVALID)
		error = reel_mpi_error(MPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, delete_layout,
							      &keyval, NULL),
				       call);
	if (!error)
		MPI_Type_get_attr(type, keyval, &kept, &found);
	if (!error && !found)
		error = make_layout(type, call, &kept);
	pthread_mutex_unlock(&lock);
	REEL_ASSERT(error || kept);
	*layout = kept;
	return error;
}

int reel_mpi_check_count(const struct reel_mpi_layout *layout, int count, int times,
			 const char *call)
{
	MPI_Aint extent = layout->extent < 0 ? -layout->extent : layout->extent;
	/* The last element may reach beyond its extent, and the first one is aligned. */
	MPI_Aint left = PTRDIFF_MAX / times - 2 * ALIGN;

	REEL_ASSERT(times > 0 && left > 0);
	if (count < 0)
		return reel_fail(-EINVAL, "%s: a count of %d", call, count);
	if (!count ||
	    (layout->true_extent <= left && extent <= (left - layout->true_extent) / count))
		return 0;
	return reel_fail(-EOVERFLOW, "%s: %d elements of %lld bytes are more than memory can have",
			 call, count, (long long)extent);
}

/* The lowest byte of `count` elements, from the first one's address, rounded down to ALIGN. */
static MPI_Aint lowest(const struct reel_mpi_layout *layout, int count)
{
	MPI_Aint low = layout->true_offset;

	if (layout->extent < 0)
		low += (count - 1) * layout->extent;
	return low - (low % ALIGN + ALIGN) % ALIGN;
}

size_t reel_mpi_layout_bytes(const struct reel_mpi_layout *layout, int count)
{
	MPI_Aint extent = layout->extent < 0 ? -layout->extent : layout->extent;

	REEL_ASSERT(count > 0);
	return (size_t)(layout->true_extent + (count - 1) * extent + ALIGN);
}

char *reel_mpi_layout_place(const struct reel_mpi_layout *layout, int count, void *memory)
{
	REEL_ASSERT(count > 0);
	return (char *)memory - lowest(layout, count);
}

/* ---- Number by number ---- */

/*
 * By fours, which compilers make vectors of, since the parameters are `restrict`: large adjoints
 * are added as fast as they come. `from` is a temporary, and has no number of `to`.
 */
#define DEFINE_ADD(name, NUMBER)                                                                   \
	static void name(NUMBER *restrict to, const NUMBER *restrict from, int64_t n)              \
	{                                                                                          \
		int64_t k = 0;                                                                     \
                                                                                                   \
		for (; k + 4 <= n; k += 4) {                                                       \
			to[k] += from[k];                                                          \
			to[k + 1] += from[k + 1];                                                  \
			to[k + 2] += from[k + 2];                                                  \
			to[k + 3] += from[k + 3];                                                  \
		}                                                                                  \
		for (; k < n; k++)                                                                 \
			to[k] += from[k];                                                          \
	}
DEFINE_ADD(add_floats, float)
DEFINE_ADD(add_doubles, double)
DEFINE_ADD(add_long_doubles, long double)

static void add_numbers(char *to, const char *from, MPI_Aint offset, int64_t n,
			enum reel_mpi_number number)
{
	void *x = to + offset;
	const void *y = from + offset;

	REEL_ASSERT(n > 0 && number <= REEL_MPI_LONG_DOUBLE);
	switch (number) {
	case REEL_MPI_FLOAT:
		add_floats(x, y, n);
		break;
	case REEL_MPI_DOUBLE:
		add_doubles(x, y, n);
		break;
	case REEL_MPI_LONG_DOUBLE:
		add_long_doubles(x, y, n);
		break;
	}
}

/* Elements that are one range without a gap are as one element with one long range. */
static int64_t join(const struct reel_mpi_layout *layout, int *count)
{
	int64_t joined = *count;

	REEL_ASSERT(*count >= 0);
	if (layout->ranges != 1 ||
	    layout->extent !=
		    (MPI_Aint)number_bytes[layout->range->number] * (MPI_Aint)layout->range->count)
		return 1;
	*count = *count > 0;
	return joined;
}

void reel_mpi_layout_add(const struct reel_mpi_layout *layout, int count, void *to,
			 const void *from)
{
	int64_t joined = join(layout, &count);

	for (int i = 0; i < count; i++)
		for (size_t r = 0; r < layout->ranges; r++)
			add_numbers(to, from, layout->range[r].offset + i * layout->extent,
				    layout->range[r].count * joined, layout->range[r].number);
}

static void set_bytes(const struct reel_mpi_layout *layout, int count, char *to, int byte)
{
	int64_t joined = join(layout, &count);

	for (int i = 0; i < count; i++)
		for (size_t r = 0; r < layout->ranges; r++) {
			const struct reel_mpi_range *range = &layout->range[r];

			memset(to + range->offset + i * layout->extent, byte,
			       (size_t)(range->count * joined) * number_bytes[range->number]);
		}
}

void reel_mpi_layout_zero(const struct reel_mpi_layout *layout, int count, void *to)
{
	set_bytes(layout, count, to, 0);
}

void reel_mpi_layout_poison(const struct reel_mpi_layout *layout, int count, void *to)
{
	set_bytes(layout, count, to, 0xff);
}
