/* SPDX-License-Identifier: MIT */
/* The memory of a rank, number by number, and datatypes over it. */
#include <config.h>

#include <complex.h>
#include <math.h>
#include <string.h>

#include "ranks.h"

#define COUNT_OF(array) ((int)(sizeof(array) / sizeof *(array)))

const char *const kind_names[KINDS] = {"double", "float", "long double", "struct", "pair",
				       "complex", "float complex", "long double complex"};
const char *const shape_names[SHAPES] = {"plain", "contiguous", "vector", "indexed", "struct",
					 "resized", "subarray", "low"};

/* The units of an element, in the order in which they are sent. */
static const struct {
	int units, extent, offset[3];
} shapes[SHAPES] = {
	[PLAIN] = {1, 1, {0}},		 [CONTIGUOUS] = {2, 2, {0, 1}},
	[VECTOR] = {2, 3, {0, 2}},	 [INDEXED] = {3, 4, {3, 0, 1}},
	[STRUCT] = {2, 3, {2, 0}},	 [RESIZED] = {1, 2, {0}},
	[SUBARRAY] = {2, 4, {1, 2}},	 [LOW] = {2, 3, {1, 0}},
};

int units_of(enum shape shape)
{
	return shapes[shape].units;
}

int extent_of(enum shape shape)
{
	return shapes[shape].extent;
}

static const struct memory *const none;

int units_in_memory(enum kind kind)
{
	switch (kind) {
	case DOUBLES:
		return COUNT_OF(none->d);
	case FLOATS:
		return COUNT_OF(none->f);
	case LONGS:
		return COUNT_OF(none->l);
	case MIXED:
		return COUNT_OF(none->s);
	case PAIRS:
		return COUNT_OF(none->p);
	case COMPLEX:
		return COUNT_OF(none->d) / 2;
	case FLOAT_COMPLEX:
		return COUNT_OF(none->f) / 2;
	default:
		return COUNT_OF(none->l) / 2;
	}
}

size_t unit_bytes(enum kind kind)
{
	static const size_t bytes[KINDS] = {
		[DOUBLES] = sizeof(double),	  [FLOATS] = sizeof(float),
		[LONGS] = sizeof(long double),	  [MIXED] = sizeof(struct mixed),
		[PAIRS] = sizeof(struct pair),	  [COMPLEX] = 2 * sizeof(double),
		[FLOAT_COMPLEX] = 2 * sizeof(float), [LONG_COMPLEX] = 2 * sizeof(long double),
	};

	return bytes[kind];
}

int unit_at(const struct slice *slice, int k)
{
	int units = shapes[slice->shape].units;

	return slice->at + k / units * shapes[slice->shape].extent +
	       shapes[slice->shape].offset[k % units];
}

void *unit(struct memory *memory, enum kind kind, int index)
{
	switch (kind) {
	case DOUBLES:
		return &memory->d[index];
	case FLOATS:
		return &memory->f[index];
	case LONGS:
		return &memory->l[index];
	case MIXED:
		return &memory->s[index];
	case PAIRS:
		return &memory->p[index];
	case COMPLEX:
		return &memory->d[2 * index];
	case FLOAT_COMPLEX:
		return &memory->f[2 * index];
	default:
		return &memory->l[2 * index];
	}
}

void *place_of(struct memory *memory, const struct slice *slice)
{
	return unit(memory, slice->kind, slice->at);
}

/* ---- Units ---- */

/* The numbers of a unit one after the other; a struct's numbers by name. */
#define FOR_NUMBERS(kind, to, from, act)                                                           \
	switch (kind) {                                                                            \
	case DOUBLES:                                                                              \
	case COMPLEX:                                                                              \
		for (int k = 0; k < (kind == COMPLEX ? 2 : 1); k++)                                \
			act(((double *)(to))[k], ((const double *)(from))[k]);                     \
		break;                                                                             \
	case FLOATS:                                                                               \
	case FLOAT_COMPLEX:                                                                        \
		for (int k = 0; k < (kind == FLOAT_COMPLEX ? 2 : 1); k++)                          \
			act(((float *)(to))[k], ((const float *)(from))[k]);                       \
		break;                                                                             \
	case LONGS:                                                                                \
	case LONG_COMPLEX:                                                                         \
		for (int k = 0; k < (kind == LONG_COMPLEX ? 2 : 1); k++)                           \
			act(((long double *)(to))[k], ((const long double *)(from))[k]);           \
		break;                                                                             \
	case MIXED:                                                                                \
		act(((struct mixed *)(to))->value, ((const struct mixed *)(from))->value);         \
		for (int k = 0; k < 2; k++)                                                        \
			act(((struct mixed *)(to))->small[k],                                      \
			    ((const struct mixed *)(from))->small[k]);                             \
		break;                                                                             \
	default:                                                                                   \
		act(((struct pair *)(to))->value, ((const struct pair *)(from))->value);           \
		break;                                                                             \
	}

#define ZERO(to, from) (to) = 0
#define ADD(to, from) (to) += (from)
#define COPY(to, from) (to) = (from)
#define COMPARE(to, from) same = same && is_close((double)(to), (double)(from), tolerance)

void zero_unit(void *to, enum kind kind)
{
	FOR_NUMBERS(kind, to, to, ZERO)
}

void add_unit(void *to, const void *from, enum kind kind)
{
	FOR_NUMBERS(kind, to, from, ADD)
}

void copy_unit(void *to, const void *from, enum kind kind)
{
	FOR_NUMBERS(kind, to, from, COPY)
	if (kind == MIXED)
		((struct mixed *)to)->number = ((const struct mixed *)from)->number;
	else if (kind == PAIRS)
		((struct pair *)to)->number = ((const struct pair *)from)->number;
}

static bool is_close(double a, double b, double tolerance)
{
	return tolerance > 0 ? fabs(a - b) <= tolerance * (1 + fabs(a)) : a == b;
}

bool is_unit_equal(const void *a, const void *b, enum kind kind, double tolerance)
{
	bool same = true;

	FOR_NUMBERS(kind, a, b, COMPARE)
	if (kind == MIXED) {
		const struct mixed *one = a, *other = b;

		same = same && one->number == other->number && one->unsent == other->unsent;
	} else if (kind == PAIRS) {
		same = same && ((const struct pair *)a)->number == ((const struct pair *)b)->number;
	}
	return same;
}

void set_first(void *to, enum kind kind, double value)
{
	if (kind == FLOATS || kind == FLOAT_COMPLEX)
		*(float *)to = (float)value;
	else if (kind == LONGS || kind == LONG_COMPLEX)
		*(long double *)to = value;
	else if (kind == MIXED)
		((struct mixed *)to)->value = value;
	else
		*(double *)to = value;
}

double get_first(const void *from, enum kind kind)
{
	if (kind == FLOATS || kind == FLOAT_COMPLEX)
		return *(const float *)from;
	if (kind == LONGS || kind == LONG_COMPLEX)
		return (double)*(const long double *)from;
	if (kind == MIXED)
		return ((const struct mixed *)from)->value;
	return *(const double *)from;
}

/* ---- All numbers ---- */

enum {
	FIRST_PAIR = COUNT_OF(((struct memory *)0)->d),
	FIRST_LONG = FIRST_PAIR + COUNT_OF(((struct memory *)0)->p),
	FIRST_VALUE = FIRST_LONG + COUNT_OF(((struct memory *)0)->l),
	FIRST_FLOAT = FIRST_VALUE + COUNT_OF(((struct memory *)0)->s),
	FIRST_SMALL = FIRST_FLOAT + COUNT_OF(((struct memory *)0)->f),
	LEAVES = FIRST_SMALL + 2 * COUNT_OF(((struct memory *)0)->s)
};

int number_of_leaves(void)
{
	return LEAVES;
}

bool is_narrow(int leaf)
{
	return leaf >= FIRST_FLOAT;
}

double get_leaf(const struct memory *memory, int leaf)
{
	if (leaf < FIRST_PAIR)
		return memory->d[leaf];
	if (leaf < FIRST_LONG)
		return memory->p[leaf - FIRST_PAIR].value;
	if (leaf < FIRST_VALUE)
		return (double)memory->l[leaf - FIRST_LONG];
	if (leaf < FIRST_FLOAT)
		return memory->s[leaf - FIRST_VALUE].value;
	if (leaf < FIRST_SMALL)
		return memory->f[leaf - FIRST_FLOAT];
	return memory->s[(leaf - FIRST_SMALL) / 2].small[(leaf - FIRST_SMALL) % 2];
}

void set_leaf(struct memory *memory, int leaf, double value)
{
	if (leaf < FIRST_PAIR)
		memory->d[leaf] = value;
	else if (leaf < FIRST_LONG)
		memory->p[leaf - FIRST_PAIR].value = value;
	else if (leaf < FIRST_VALUE)
		memory->l[leaf - FIRST_LONG] = value;
	else if (leaf < FIRST_FLOAT)
		memory->s[leaf - FIRST_VALUE].value = value;
	else if (leaf < FIRST_SMALL)
		memory->f[leaf - FIRST_FLOAT] = (float)value;
	else
		memory->s[(leaf - FIRST_SMALL) / 2].small[(leaf - FIRST_SMALL) % 2] = (float)value;
}

/* A product of 8 numbers and its adjoint stay exact: 24 bits of a float, 53 of a double. */
void wrap_memory(struct memory *memory)
{
	for (int leaf = 0; leaf < LEAVES; leaf++) {
		double range = is_narrow(leaf) ? 8 : 32, x = get_leaf(memory, leaf);

		set_leaf(memory, leaf, x - range * floor(x / range + 0.5));
	}
}

bool find_difference(struct memory *a, struct memory *b, double tolerance, enum kind *kind,
		     int *index)
{
	for (*kind = DOUBLES; *kind <= PAIRS; ++*kind)
		for (*index = 0; *index < units_in_memory(*kind); ++*index)
			if (!is_unit_equal(unit(a, *kind, *index), unit(b, *kind, *index), *kind,
					   tolerance))
				return true;
	return false;
}

/* ---- Datatypes ---- */

static MPI_Datatype types[KINDS][SHAPES];

static MPI_Datatype make_mixed(void)
{
	int lengths[] = {1, 1, 2};
	MPI_Aint offsets[] = {offsetof(struct mixed, number), offsetof(struct mixed, value),
			      offsetof(struct mixed, small)};
	MPI_Datatype parts[] = {MPI_INT, MPI_DOUBLE, MPI_FLOAT}, tight, type;

	MPI_Type_create_struct(3, lengths, offsets, parts, &tight);
	MPI_Type_create_resized(tight, 0, sizeof(struct mixed), &type);
	MPI_Type_free(&tight);
	return type;
}

static MPI_Datatype resized(MPI_Datatype type, MPI_Aint low, MPI_Aint extent)
{
	MPI_Datatype made;

	MPI_Type_create_resized(type, low, extent, &made);
	MPI_Type_free(&type);
	return made;
}

static MPI_Datatype make_shape(MPI_Datatype base, enum shape shape, MPI_Aint bytes)
{
	MPI_Aint apart[] = {2 * bytes, 0}, near[] = {bytes, 0};
	int lengths[] = {1, 2}, places[] = {3, 0}, ones[] = {1, 1}, size = 4, width = 2, begin = 1;
	MPI_Datatype both[] = {base, base}, type;

	switch (shape) {
	case CONTIGUOUS:
		MPI_Type_contiguous(2, base, &type);
		return type;
	case VECTOR:
		MPI_Type_vector(2, 1, 2, base, &type);
		return type;
	case INDEXED:
		MPI_Type_indexed(2, lengths, places, base, &type);
		return type;
	case STRUCT:
		MPI_Type_create_struct(2, ones, apart, both, &type);
		return type;
	case RESIZED:
		MPI_Type_dup(base, &type);
		return resized(type, 0, 2 * bytes);
	case SUBARRAY:
		MPI_Type_create_subarray(1, &size, &width, &begin, MPI_ORDER_C, base, &type);
		return type;
	case LOW:
		MPI_Type_create_hindexed(2, ones, near, base, &type);
		return resized(type, -bytes, 3 * bytes);
	default:
		MPI_Type_dup(base, &type);
		return type;
	}
}

void make_datatypes(void)
{
	MPI_Datatype own[KINDS] = {MPI_DOUBLE,	     MPI_FLOAT,
				   MPI_LONG_DOUBLE,  make_mixed(),
				   MPI_DOUBLE_INT,   MPI_C_DOUBLE_COMPLEX,
				   MPI_C_FLOAT_COMPLEX, MPI_C_LONG_DOUBLE_COMPLEX};

	for (enum kind kind = 0; kind < KINDS; kind++) {
		types[kind][PLAIN] = own[kind];
		if (kind == MIXED)
			MPI_Type_commit(&types[kind][PLAIN]);
		for (enum shape shape = CONTIGUOUS; shape < SHAPES; shape++) {
			types[kind][shape] = make_shape(own[kind], shape,
							(MPI_Aint)unit_bytes(kind));
			MPI_Type_commit(&types[kind][shape]);
		}
	}
}

void free_datatypes(void)
{
	for (enum kind kind = 0; kind < KINDS; kind++)
		for (enum shape shape = kind == MIXED ? PLAIN : CONTIGUOUS; shape < SHAPES; shape++)
			MPI_Type_free(&types[kind][shape]);
}

MPI_Datatype datatype(enum kind kind, enum shape shape)
{
	return types[kind][shape];
}
