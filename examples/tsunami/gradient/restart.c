/* SPDX-License-Identifier: MIT */
#include "restart.h"

#include <errno.h>
#include <string.h>

#include "common/fingerprint.h"

/* A file has this header, the values at the gauge, one a step, and the fields of the adjoint. */
struct header {
	uint64_t fingerprint;
	int64_t known;
};

#define FIELDS 7

static void fields_of(const struct adjoint *adjoint, double *field[FIELDS])
{
	field[0] = adjoint->state.elevation;
	field[1] = adjoint->state.u;
	field[2] = adjoint->state.v;
	field[3] = adjoint->next.elevation;
	field[4] = adjoint->next.u;
	field[5] = adjoint->next.v;
	field[6] = adjoint->depth_gradient;
}

static size_t field_bytes(const struct model *model)
{
	return grid_elements(model->grid) * sizeof(double);
}

static size_t gauge_bytes(const struct model *model)
{
	return (size_t)model->steps * sizeof(double);
}

size_t restart_bytes(const struct model *model)
{
	return sizeof(struct header) + gauge_bytes(model) + FIELDS * field_bytes(model);
}

/*
 * This number stands for the order of the values in a snapshot (save() in loop.c). A change of the
 * order raises it, so that a file of the old order is refused.
 */
#define SNAPSHOT_ORDER 2

/* The number of all that the values at the gauge and the gradient depend on. */
static uint64_t fingerprint(const struct loop *loop)
{
	const struct model *model = loop->model;
	const double real[] = {model->time_step, model->drag, model->min_speed, model->viscosity};
	const int whole[] = {SNAPSHOT_ORDER, model->steps, model->gauge_column, model->gauge_row};
	size_t bytes = field_bytes(model);
	uint64_t value = FINGERPRINT_START;

	value = fingerprint_add(value, real, sizeof(real));
	value = fingerprint_add(value, whole, sizeof(whole));
	value = fingerprint_add(value, model->wet, bytes);
	value = fingerprint_add(value, model->sponge, bytes);
	value = fingerprint_add(value, loop->depth, bytes);
	return fingerprint_add(value, loop->displacement, bytes);
}

int restart_save(void *context, const void *passed, void *bytes)
{
	const struct loop *loop = context;
	struct header header = {fingerprint(loop), loop->known};
	char *next = bytes;
	double *field[FIELDS];

	memcpy(next, &header, sizeof(header));
	next += sizeof(header);
	memcpy(next, loop->gauge, gauge_bytes(loop->model));
	next += gauge_bytes(loop->model);
	if (!passed)
		return 0;
	fields_of(passed, field);
	for (int k = 0; k < FIELDS; k++, next += field_bytes(loop->model))
		memcpy(next, field[k], field_bytes(loop->model));
	return 0;
}

int restart_load(void *context, void *passed, const void *bytes)
{
	struct loop *loop = context;
	struct header header;
	const char *next = bytes;
	double *field[FIELDS];

	memcpy(&header, next, sizeof(header));
	if (header.fingerprint != fingerprint(loop))
		return -ESTALE;
	loop->known = header.known;
	next += sizeof(header);
	memcpy(loop->gauge, next, gauge_bytes(loop->model));
	next += gauge_bytes(loop->model);
	if (!passed)
		return 0;
	fields_of(passed, field);
	for (int k = 0; k < FIELDS; k++, next += field_bytes(loop->model))
		memcpy(field[k], next, field_bytes(loop->model));
	return 0;
}
