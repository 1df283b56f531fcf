/* SPDX-License-Identifier: MIT */
#include "shallow.h"

#include <stdlib.h>

struct state state_create(const struct grid *grid)
{
	return (struct state){grid_field(grid), grid_field(grid), grid_field(grid)};
}

void state_destroy(struct state *state)
{
	free(state->elevation);
	free(state->u);
	free(state->v);
}

struct diagnostics diagnostics_create(const struct grid *grid)
{
	return (struct diagnostics){grid_field(grid), grid_field(grid), grid_field(grid),
				    grid_field(grid)};
}

void diagnostics_destroy(struct diagnostics *diagnostics)
{
	free(diagnostics->transport_x);
	free(diagnostics->transport_y);
	free(diagnostics->vorticity);
	free(diagnostics->bernoulli);
}

struct sensitivities sensitivities_create(const struct grid *grid)
{
	return (struct sensitivities){grid_field(grid), grid_field(grid), grid_field(grid),
				      grid_field(grid), grid_field(grid), grid_field(grid),
				      grid_field(grid), grid_field(grid), grid_field(grid)};
}

void sensitivities_destroy(struct sensitivities *sensitivities)
{
	free(sensitivities->tendency_x);
	free(sensitivities->tendency_y);
	free(sensitivities->mean_v);
	free(sensitivities->mean_u);
	free(sensitivities->bernoulli);
	free(sensitivities->relative_vorticity);
	free(sensitivities->corner_depth);
	free(sensitivities->face_depth_x);
	free(sensitivities->face_depth_y);
}
