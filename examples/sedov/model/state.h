/* SPDX-License-Identifier: MIT */
/*
 * The state of a run: arrays over nodes and elements.
 */
#ifndef SEDOV_STATE_H
#define SEDOV_STATE_H

#include <stdint.h>

#include "mesh.h"
#include "parameters.h"

/* The limits of the time step: the signal speed, and how much a volume may change. */
enum { COURANT_LIMIT, VOLUME_LIMIT, LIMITS };

struct clock {
	real time;          /* after the last step */
	real time_step;     /* of the last step; before the first step: of the first one */
	real limit[LIMITS]; /* of the next step, set by the elements after the last one */
	int32_t element[LIMITS]; /* that set it, by its number in the whole cube; -1: none */
	int32_t steps;      /* that were run */
	uint32_t branches;  /* time-step.c */
	real impulse;       /* the time integral of the pressure at the sensor, where that is */
};

/* The state between two steps. */
struct state {
	/* At nodes. */
	real *position[AXES];
	real *velocity[AXES];
	/* In elements. */
	real *energy; /* per initial volume */
	real *pressure;
	real *viscosity; /* the pressure of the artificial viscosity */
	real *volume;    /* over the initial volume */
	real *sound_speed;
	struct clock clock;
};

/* Values that the initial positions determine for the whole run. */
struct reference {
	real *volume;    /* of elements, and their mass, since the initial density is 1 */
	real *node_mass; /* an eighth of the mass of each element that meets there */
};

/* Data that does not change in a run. */
struct model {
	const struct mesh *mesh;
	struct parameters parameters;
	struct reference reference;
	int sensor; /* the element whose pressure is integrated; -1: it is in another part */
	int freezes_time_step; /* derivatives take the time steps as given */
};

/* The variables of a gradient. */
struct controls {
	real *energy; /* in elements, at the beginning */
	real *position[AXES];
	real linear_viscosity, quadratic_viscosity, adiabatic_exponent;
};

struct controls controls_create(const struct mesh *mesh);
void controls_destroy(struct controls *controls);

/* The published problem: a cube with an edge of 1.125 that has all energy in element 0. */
void controls_publish(const struct mesh *mesh, struct controls *controls);

struct state state_create(const struct mesh *mesh);
void state_destroy(struct state *state);

/*
 * Takes over the coefficients, and computes the masses; an element without a volume ends the
 * program. The mesh outlives the model.
 */
struct model model_create(const struct mesh *mesh, const struct controls *controls);
void model_destroy(struct model *model);

/* The state at time 0. An energy that is not finite, or is below 0, ends the program. */
void state_start(const struct model *model, const struct controls *controls, struct state *state);

#endif
