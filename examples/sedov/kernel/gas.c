/* SPDX-License-Identifier: MIT */
/*
 * The energy after the work of pressure and viscosity in the step, by a predictor and two
 * correctors, and the pressure and the speed of sound of an ideal gas with that energy.
 */
#include "kernel.h"

/* If the square of the speed of sound is not above MIN_SQUARE, the speed is MIN_SPEED. */
#define MIN_SQUARE 0.1111111e-36
#define MIN_SPEED 0.3333333e-18

/* (gamma - 1) energy over the relative volume; 0 below the cut-off. */
static inline real pressure_of(const struct parameters *parameters, real energy, real volume,
			       uint32_t bit, uint32_t *branches)
{
	real pressure = (parameters->adiabatic_exponent - 1.0) * energy / volume;

	if (value_of(pressure) < parameters->pressure_cutoff) {
		*branches |= bit;
		return 0.0;
	}
	return pressure;
}

static inline real speed_of(const struct parameters *parameters, real energy, real pressure,
			    real volume, uint32_t bit, uint32_t *branches)
{
	real square = (parameters->adiabatic_exponent - 1.0) * (energy + volume * pressure);

	if (value_of(square) <= MIN_SQUARE) {
		*branches |= bit;
		return MIN_SPEED;
	}
	return square_root(square);
}

static inline real cut(real x, double cutoff, uint32_t bit, uint32_t *branches)
{
	if (fabs(value_of(x)) >= cutoff)
		return x;
	*branches |= bit;
	return 0.0;
}

static void check_ranges(const struct parameters *parameters, const struct state *state,
			 const struct fields *fields, int e, struct block *block)
{
	double volume = value_of(fields->volume[e]), energy = value_of(state->energy[e]);

	if (!(volume > parameters->min_volume && volume < parameters->max_volume))
		note_trouble(block, VOLUME_RANGE, e);
	else if (!(energy >= parameters->min_energy) || isinf(energy))
		note_trouble(block, ENERGY_RANGE, e);
	else if (!(value_of(state->viscosity[e]) <= parameters->max_viscosity))
		note_trouble(block, VISCOSITY_RANGE, e);
}

void gas(const struct model *model, struct state *state, struct fields *fields,
	 struct block *block)
{
	const struct parameters *p = &model->parameters;

	for (int e = block->first; e < block->last; e++) {
		real volume = fields->volume[e], change = fields->volume_change[e];
		real half_volume = volume - 0.5 * change;
		real linear = fields->linear[e], quadratic = fields->quadratic[e];
		real old = state->pressure[e] + state->viscosity[e];
		real energy = state->energy[e] - 0.5 * change * old, pressure, speed;
		real half_pressure, half_viscosity = 0.0, viscosity = 0.0;
		uint32_t branches = 0;

		if (value_of(change) > 0.0)
			branches |= GROWS;
		half_pressure = pressure_of(p, energy, half_volume, NO_HALF_PRESSURE, &branches);
		if (!(branches & GROWS)) {
			speed = speed_of(p, energy, half_pressure, half_volume, NO_HALF_SPEED,
					 &branches);
			half_viscosity = speed * linear + quadratic;
		}
		energy += 0.5 * change * (3.0 * old - 4.0 * (half_pressure + half_viscosity));
		energy = cut(energy, p->energy_cutoff, NO_ENERGY, &branches);

		pressure = pressure_of(p, energy, volume, NO_PRESSURE, &branches);
		if (!(branches & GROWS)) {
			speed = speed_of(p, energy, pressure, volume, NO_SPEED, &branches);
			viscosity = speed * linear + quadratic;
		}
		energy -= change / 6.0 * (7.0 * old - 8.0 * (half_pressure + half_viscosity) +
					  pressure + viscosity);
		energy = cut(energy, p->energy_cutoff, NO_LAST_ENERGY, &branches);

		pressure = pressure_of(p, energy, volume, NO_LAST_PRESSURE, &branches);
		speed = speed_of(p, energy, pressure, volume, NO_LAST_SPEED, &branches);
		if (!(branches & GROWS))
			viscosity = cut(speed * linear + quadratic, p->viscosity_cutoff,
					NO_VISCOSITY, &branches);
		if (fabs(value_of(volume) - 1.0) < p->volume_cutoff) {
			volume = 1.0;
			branches |= NO_CHANGE;
		}
		state->energy[e] = energy;
		state->pressure[e] = pressure;
		state->viscosity[e] = viscosity;
		state->sound_speed[e] = speed;
		state->volume[e] = volume;
		fields->branches[e] |= branches;
		check_ranges(p, state, fields, e, block);
	}
}

/* The adjoints that the pressure, or the speed of sound, of a gas passes on. */
struct gas_bar {
	real energy, volume, exponent;
};

static inline void pressure_reverse(const struct parameters *parameters, real energy, real volume,
				    real pressure_bar, uint32_t none, struct gas_bar *bar)
{
	real factor = (parameters->adiabatic_exponent - 1.0) / volume;

	if (none)
		return;
	bar->energy += pressure_bar * factor;
	bar->volume -= pressure_bar * factor * energy / volume;
	bar->exponent += pressure_bar * energy / volume;
}

/* Returns the term to add to the adjoint of the pressure. */
static inline real speed_reverse(const struct parameters *parameters, real energy, real pressure,
				 real volume, real speed, real speed_bar, uint32_t none,
				 struct gas_bar *bar)
{
	real square_bar = 0.5 * speed_bar / speed;
	real factor = (parameters->adiabatic_exponent - 1.0) * square_bar;

	if (none)
		return 0.0;
	bar->energy += factor;
	bar->volume += factor * pressure;
	bar->exponent += square_bar * (energy + volume * pressure);
	return factor * volume;
}

static inline real known_pressure(const struct parameters *parameters, real energy, real volume,
				  uint32_t none)
{
	return none ? 0.0 : (parameters->adiabatic_exponent - 1.0) * energy / volume;
}

static inline real known_speed(const struct parameters *parameters, real energy, real pressure,
			       real volume, uint32_t none)
{
	return none ? MIN_SPEED : square_root((parameters->adiabatic_exponent - 1.0) *
						(energy + volume * pressure));
}

void gas_reverse(const struct model *model, const struct state *before,
		 const struct fields *fields, struct adjoint *adjoint, struct sums *sums, int b)
{
	const struct block *block = &fields->element_block[b];
	const struct parameters *p = &model->parameters;
	struct state *bar = &adjoint->state;

	for (int e = block->first; e < block->last; e++) {
		uint32_t branches = adjoint->branches[e], grows = branches & GROWS;
		real volume = fields->volume[e], change = fields->volume_change[e];
		real half_volume = volume - 0.5 * change;
		real linear = fields->linear[e], quadratic = fields->quadratic[e];
		real old = before->pressure[e] + before->viscosity[e];
		/* The energy after the predictor and each corrector, and values derived from it. */
		real energy[3], pressure[3], speed[3], half, work[3], change_bar, old_bar;
		real half_bar, speed_bar, pressure_bar, linear_bar = 0.0, quadratic_bar = 0.0;
		struct gas_bar now = {bar->energy[e], 0.0, 0.0}, middle;

		energy[0] = before->energy[e] - 0.5 * change * old;
		pressure[0] = known_pressure(p, energy[0], half_volume,
					     branches & NO_HALF_PRESSURE);
		speed[0] = known_speed(p, energy[0], pressure[0], half_volume,
				       branches & NO_HALF_SPEED);
		half = pressure[0] + (grows ? 0.0 : speed[0] * linear + quadratic);
		work[1] = 3.0 * old - 4.0 * half;
		energy[1] = branches & NO_ENERGY ? 0.0 : energy[0] + 0.5 * change * work[1];
		pressure[1] = known_pressure(p, energy[1], volume, branches & NO_PRESSURE);
		speed[1] = known_speed(p, energy[1], pressure[1], volume, branches & NO_SPEED);
		work[2] = 7.0 * old - 8.0 * half + pressure[1] +
			  (grows ? 0.0 : speed[1] * linear + quadratic);
		energy[2] = branches & NO_LAST_ENERGY ? 0.0 : energy[1] - change / 6.0 * work[2];
		pressure[2] = known_pressure(p, energy[2], volume, branches & NO_LAST_PRESSURE);
		speed[2] = known_speed(p, energy[2], pressure[2], volume,
				       branches & NO_LAST_SPEED);

		/* The last pressure, speed and viscosity. */
		now.volume = branches & NO_CHANGE ? 0.0 : bar->volume[e];
		speed_bar = bar->sound_speed[e];
		if (!grows && !(branches & NO_VISCOSITY)) {
			speed_bar += bar->viscosity[e] * linear;
			linear_bar = bar->viscosity[e] * speed[2];
			quadratic_bar = bar->viscosity[e];
		}
		pressure_bar = bar->pressure[e] +
			       speed_reverse(p, energy[2], pressure[2], volume, speed[2],
					     speed_bar, branches & NO_LAST_SPEED, &now);
		pressure_reverse(p, energy[2], volume, pressure_bar, branches & NO_LAST_PRESSURE,
				 &now);

		/* The second corrector. */
		if (branches & NO_LAST_ENERGY)
			now.energy = 0.0;
		change_bar = -now.energy * work[2] / 6.0;
		old_bar = -7.0 / 6.0 * change * now.energy;
		half_bar = 8.0 / 6.0 * change * now.energy;
		pressure_bar = -change * now.energy / 6.0;
		if (!grows) {
			linear_bar += pressure_bar * speed[1];
			quadratic_bar += pressure_bar;
			pressure_bar += speed_reverse(p, energy[1], pressure[1], volume, speed[1],
						      pressure_bar * linear, branches & NO_SPEED,
						      &now);
		}
		pressure_reverse(p, energy[1], volume, pressure_bar, branches & NO_PRESSURE, &now);

		/* The first corrector. */
		if (branches & NO_ENERGY)
			now.energy = 0.0;
		change_bar += 0.5 * now.energy * work[1];
		old_bar += 1.5 * change * now.energy;
		half_bar -= 2.0 * change * now.energy;
		middle = (struct gas_bar){now.energy, 0.0, 0.0};
		pressure_bar = half_bar;
		if (!grows) {
			linear_bar += half_bar * speed[0];
			quadratic_bar += half_bar;
			pressure_bar += speed_reverse(p, energy[0], pressure[0], half_volume,
						      speed[0], half_bar * linear,
						      branches & NO_HALF_SPEED, &middle);
		}
		pressure_reverse(p, energy[0], half_volume, pressure_bar,
				 branches & NO_HALF_PRESSURE, &middle);

		/* The predictor. */
		change_bar -= 0.5 * (middle.energy * old + middle.volume);
		old_bar -= 0.5 * change * middle.energy;
		bar->energy[e] = middle.energy;
		bar->pressure[e] = bar->viscosity[e] = old_bar;
		bar->sound_speed[e] = 0.0;
		adjoint->volume[e] = now.volume + middle.volume;
		adjoint->volume_change[e] = change_bar;
		adjoint->linear[e] = linear_bar;
		adjoint->quadratic[e] = quadratic_bar;
		total_add(&sums->of[BY_ADIABATIC_EXPONENT], now.exponent + middle.exponent);
	}
}
