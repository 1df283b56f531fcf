/* SPDX-License-Identifier: MIT */
#include "objective.h"

#include <math.h>

double objective(const struct model *model, const double *gauge)
{
	long double sum = 0.0L;

	for (int n = 0; n < model->steps; n++)
		sum += (long double)gauge[n] * gauge[n];
	return (double)(0.5L * model->time_step * sum);
}

double objective_difference(const struct model *model, const double *gauge,
			    const double *reference)
{
	long double sum = 0.0L;

	for (int n = 0; n < model->steps; n++)
		sum += ((long double)gauge[n] - reference[n]) *
		       ((long double)gauge[n] + reference[n]);
	return (double)(0.5L * model->time_step * sum);
}

void objective_weights(const struct model *model, const double *gauge, double J_bar,
		       double *weights)
{
	for (int n = 0; n < model->steps; n++)
		weights[n] = J_bar * model->time_step * gauge[n];
}

double arrival_hours(const struct model *model, const double *gauge)
{
	double largest = 0.0;

	for (int n = 0; n < model->steps; n++)
		largest = fmax(largest, fabs(gauge[n]));
	for (int n = 0; n < model->steps; n++)
		if (fabs(gauge[n]) > ARRIVAL_PART * largest)
			return (n + 1) * model->time_step / 3600.0;
	return NAN;
}
