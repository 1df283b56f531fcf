/* SPDX-License-Identifier: MIT */
#include "reversal.h"

#include <stdlib.h>

#include "common/parallel.h"
#include "model/ranks.h"
#include "sweep.h"

struct reversal reversal_open(const struct options *options, const struct model *model)
{
	struct reversal reversal = {
		.model = model,
		.on_gpu = options->on_gpu,
		.threads = options->threads,
		.reverse_threads = options->reverse_threads ? options->reverse_threads
							    : options->threads,
	};

	if (options->scheme.text || options->on_gpu)
		reversal.checkpointing = checkpointing_open(options, model);
	else
		reversal.tapes = tapes_open(options->budget, options->spill);
	return reversal;
}

void reversal_close(struct reversal *reversal)
{
	if (reversal->checkpointing) {
		checkpointing_close(reversal->checkpointing);
		return;
	}
	tapes_close(reversal->tapes);
}

/* The record of the gauge is on the rank of the gauge alone. */
static void share_gauge(const struct model *model, double *gauge)
{
	if (model->ranks)
		model->ranks->share(model->ranks, gauge_row_of_all(model), gauge, model->steps);
}

void reversal_primal_on_cpu(struct reversal *reversal, const struct controls *controls, int threads,
			    double *gauge)
{
	const struct model *model = reversal->model;
	struct controls here = controls_here(model->ranks, controls);

	forward_sweep(model, &here, threads, NULL, gauge);
	share_gauge(model, gauge);
}

void reversal_tangent(struct reversal *reversal, const struct controls *controls,
		      const struct controls *direction, int threads, double *d_gauge)
{
	const struct model *model = reversal->model;
	struct controls here = controls_here(model->ranks, controls);
	struct controls direction_here = controls_here(model->ranks, direction);

	tangent_sweep(model, &here, &direction_here, threads, d_gauge);
	share_gauge(model, d_gauge);
}

/* Threads run it as they run the forward sweep of all steps on tape. */
void reversal_primal(struct reversal *reversal, const struct controls *controls, double *gauge)
{
	if (reversal->on_gpu)
		checkpointing_primal(reversal->checkpointing, controls, gauge);
	else
		reversal_primal_on_cpu(reversal, controls, reversal->threads, gauge);
}

void reversal_forward(struct reversal *reversal, const struct controls *controls, double *gauge)
{
	const struct model *model = reversal->model;
	struct controls here = controls_here(model->ranks, controls);

	if (reversal->checkpointing)
		checkpointing_forward(reversal->checkpointing, &here, gauge);
	else
		forward_sweep(model, &here, reversal->threads, reversal->tapes, gauge);
	share_gauge(model, gauge);
}

/* Each tape belongs to a lane, so another number of threads may take them. */
static void reverse_lanes(struct reversal *reversal, const struct controls *controls,
			  const double *weights, struct controls *gradient)
{
	int threads = request_threads(reversal->reverse_threads);

	reverse_sweep(reversal->model, controls->depth, threads, reversal->tapes, weights,
		      gradient);
	request_threads(reversal->threads);
}

static void reverse(struct reversal *reversal, const struct controls *controls,
		    const double *weights, struct controls *gradient)
{
	if (reversal->checkpointing)
		checkpointing_reverse(reversal->checkpointing, weights, gradient);
	else
		reverse_lanes(reversal, controls, weights, gradient);
}

void reversal_reverse(struct reversal *reversal, const struct controls *controls,
		      const double *weights, struct controls *gradient)
{
	const struct model *model = reversal->model;
	struct ranks *ranks = model->ranks;
	struct controls here = controls_here(ranks, controls), own;

	if (!ranks) {
		reverse(reversal, controls, weights, gradient);
		return;
	}
	own = (struct controls){grid_field(model->grid), grid_field(model->grid)};
	reverse(reversal, &here, weights, &own);
	ranks->gather(ranks, own.displacement, gradient->displacement);
	ranks->gather(ranks, own.depth, gradient->depth);
	free(own.displacement);
	free(own.depth);
}
