/* SPDX-License-Identifier: MIT */
#include "config.h"

#include "kernel.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct kernel *const kernels[] = {
	&kernel_gravity, &kernel_nn,     &kernel_logsum,     &kernel_matdescent, &kernel_mttkrp,
	&kernel_somier,  &kernel_lenet5, &kernel_pathfinder, &kernel_massspring,
};

const size_t kernel_count = COUNT_OF(kernels);

const struct kernel *kernel_find(const char *name)
{
	for (size_t i = 0; i < kernel_count; i++)
		if (strcmp(kernels[i]->name, name) == 0)
			return kernels[i];
	return NULL;
}

const struct kernel_variant *kernel_find_variant(const struct kernel *kernel, const char *name)
{
	for (size_t v = 0; v < kernel->variant_count; v++)
		if (strcmp(kernel->variants[v].name, name) == 0)
			return &kernel->variants[v];
	return NULL;
}

void kernel_case_open(struct kernel_case *one, const struct kernel *kernel,
		      enum kernel_size size)
{
	*one = (struct kernel_case){.kernel = kernel};
	one->data = kernel->setup(&one->memory, size);
}

void kernel_case_close(struct kernel_case *one)
{
	columns_free(&one->fresh);
	columns_free(&one->warm);
	columns_free(&one->on_pages);
	memory_free(&one->memory);
}

double kernel_primal(struct kernel_case *one)
{
	return one->kernel->primal(one->data);
}

size_t kernel_inputs(struct kernel_case *one, struct kernel_input *inputs)
{
	return one->kernel->inputs(one->data, inputs);
}

static const struct columns *columns_of(struct kernel_case *one, enum kernel_storage storage)
{
	size_t bytes[MAX_COLUMNS];
	size_t count = one->kernel->columns(one->data, bytes);

	if (storage == IN_FRESH_COLUMNS) {
		if (!one->fresh.count)
			columns_allocate(&one->fresh, bytes, count);
		return &one->fresh;
	}
	if (storage == IN_PAGE_COLUMNS) {
		if (!one->on_pages.count)
			columns_allocate_on_pages(&one->on_pages, bytes, count);
		return &one->on_pages;
	}
	if (!one->warm.count)
		columns_allocate_staggered(&one->warm, bytes, count);
	return &one->warm;
}

static struct records records_of(struct kernel_case *one, const struct kernel_variant *variant,
				 reel_tape *tape)
{
	if (variant->storage == ON_TAPE)
		return (struct records){.tape = tape};
	return (struct records){.columns = columns_of(one, variant->storage)};
}

double kernel_forward(struct kernel_case *one, const struct kernel_variant *variant,
		      reel_tape *tape)
{
	struct records records = records_of(one, variant, tape);

	return variant->forward(one->data, &records);
}

void kernel_reverse(struct kernel_case *one, const struct kernel_variant *variant,
		    reel_tape *tape)
{
	struct records records = records_of(one, variant, tape);

	variant->reverse(one->data, &records);
	columns_free(&one->fresh);
}

double kernel_gradient(struct kernel_case *one, const struct kernel_variant *variant,
		       reel_tape *tape)
{
	double objective = kernel_forward(one, variant, tape);

	kernel_reverse(one, variant, tape);
	return objective;
}

size_t kernel_column_bytes(struct kernel_case *one)
{
	size_t bytes[MAX_COLUMNS], total = 0;
	size_t count = one->kernel->columns(one->data, bytes);

	for (size_t c = 0; c < count; c++)
		total += bytes[c];
	return total;
}

_Noreturn void kernel_refused(const reel_tape *tape, const char *site)
{
	fprintf(stderr, "kernels: %s at %s\n", reel_error_text(reel_tape_error(tape)), site);
	exit(1);
}
