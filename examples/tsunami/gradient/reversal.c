/* SPDX-License-Identifier: MIT */
#include "reversal.h"

#include "common/parallel.h"
#include "sweep.h"

struct reversal reversal_open(const struct options *options, const struct model *model,
			      const struct controls *controls)
{
	struct reversal reversal = {
		.model = model,
		.on_gpu = options->on_gpu,
		.threads = options->threads,
		.reverse_threads = options->reverse_threads ? options->reverse_threads
							    : options->threads,
	};

	if (options->scheme.text || options->on_gpu) {
		reversal.checkpointing = checkpointing_open(options, model, controls);
		return reversal;
	}
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

/* Threads run it as they run the forward sweep of all steps on tape. */
void reversal_primal(struct reversal *reversal, const struct controls *controls, double *gauge)
{
	if (reversal->on_gpu)
		checkpointing_primal(reversal->checkpointing, controls, gauge);
	else
		forward_sweep(reversal->model, controls, reversal->threads, NULL, gauge);
}

void reversal_forward(struct reversal *reversal, const struct controls *controls, double *gauge)
{
	if (reversal->checkpointing)
		checkpointing_forward(reversal->checkpointing, controls, gauge);
	else
		forward_sweep(reversal->model, controls, reversal->threads, reversal->tapes, gauge);
}

/* The tapes are those of lanes, whatever threads take them. */
static void reverse_lanes(struct reversal *reversal, const struct controls *controls,
			  const double *weights, struct controls *gradient)
{
	int threads = request_threads(reversal->reverse_threads);

	reverse_sweep(reversal->model, controls->depth, threads, reversal->tapes, weights,
		      gradient);
	request_threads(reversal->threads);
}

void reversal_reverse(struct reversal *reversal, const struct controls *controls,
		      const double *weights, struct controls *gradient)
{
	if (reversal->checkpointing)
		checkpointing_reverse(reversal->checkpointing, weights, gradient);
	else
		reverse_lanes(reversal, controls, weights, gradient);
}
