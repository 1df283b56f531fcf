/* SPDX-License-Identifier: MIT */
/*
 * The blast of examples/sedov: what it computes is what was published, for any number of threads.
 */
#include "config.h"

#include <fcntl.h>
#include <math.h>
#include <sys/wait.h>

#include "helpers/omp-reports.h"
#include "helpers/support.h"

#include "common/parallel.h"
#include "gradient/sweep.h"

struct blast {
	struct mesh mesh;
	struct controls controls;
	struct model model;
	struct state state;
};

static struct blast blast_create(int size)
{
	struct blast blast = {.mesh = mesh_cube(size)};

	blast.controls = controls_create(&blast.mesh);
	controls_publish(&blast.mesh, &blast.controls);
	blast.state = state_create(&blast.mesh);
	return blast;
}

/* The mesh of the model is that of the struct, which stays where it is. */
static void blast_run(struct blast *blast, int max_steps)
{
	blast->model = model_create(&blast->mesh, &blast->controls);
	state_start(&blast->model, &blast->controls, &blast->state);
	forward_sweep(&blast->model, &blast->state, max_steps, NULL, 0);
	model_destroy(&blast->model);
}

static void blast_destroy(struct blast *blast)
{
	controls_destroy(&blast->controls);
	state_destroy(&blast->state);
	mesh_destroy(&blast->mesh);
}

/* The largest difference of two energies in the first plane that are mirror images. */
static double asymmetry(const struct blast *blast)
{
	const double *energy = blast->state.energy;
	int size = blast->mesh.size;
	double largest = 0.0;

	for (int j = 0; j < size; j++)
		for (int i = 0; i < j; i++)
			largest = fmax(largest, fabs(energy[j * size + i] - energy[i * size + j]));
	return largest;
}

static double total_energy(const struct blast *blast)
{
	double sum = 0.0;

	for (int e = 0; e < blast->mesh.elements; e++)
		sum += blast->model.reference.volume[e] * blast->state.energy[e];
	for (int n = 0; n < blast->mesh.nodes; n++)
		for (int a = 0; a < AXES; a++)
			sum += 0.5 * blast->model.reference.node_mass[n] *
			       blast->state.velocity[a][n] * blast->state.velocity[a][n];
	return sum;
}

/* The mass is that of the cube in all steps. The scheme is not quite conservative: it loses energy. */
static void test_conservation(int size)
{
	const double edge = 1.125;
	struct blast blast = blast_create(size);
	double mass = 0.0, first, last, least = INFINITY;

	blast.model = model_create(&blast.mesh, &blast.controls);
	state_start(&blast.model, &blast.controls, &blast.state);
	first = last = total_energy(&blast);
	for (int n = 0; n < blast.mesh.nodes; n++)
		mass += blast.model.reference.node_mass[n];
	ok(fabs(mass - edge * edge * edge) < 1e-12, "the mass of the nodes is that of the cube");
	while (!run_is_finished(&blast.model, &blast.state)) {
		double before = last;

		forward_sweep(&blast.model, &blast.state, 1, NULL, 0);
		last = total_energy(&blast);
		least = fmin(least, (before - last) / first);
	}
	ok(least > -1e-3 && last > 0.8 * first && last < first,
	   "the energy falls to %.3f of the first, and in no step rises by more than %.1e",
	   last / first, fmax(-least, 0.0));
	model_destroy(&blast.model);
	blast_destroy(&blast);
}

static void test_published(int size, int steps, const char *energy)
{
	struct blast blast = blast_create(size);
	char text[32];

	blast_run(&blast, 0);
	snprintf(text, sizeof text, "%.6e", blast.state.energy[0]);
	is_int(blast.state.clock.steps, steps, "%d^3 elements take the published steps", size);
	is_string(text, energy, "%d^3 elements have the published energy at the origin", size);
	ok(asymmetry(&blast) < 1e-8, "the first plane is symmetric within 1e-8");
	blast_destroy(&blast);
}

static void test_threads(void)
{
	static const int teams[] = {2, 3, 8};
	struct blast one = blast_create(7);

	request_threads(1);
	blast_run(&one, 30);
	for (int i = 0; i < 3; i++) {
		struct blast blast = blast_create(7);
		size_t bytes = (size_t)blast.mesh.elements * sizeof(double);

		request_threads(teams[i]);
		blast_run(&blast, 30);
		ok(memcmp(blast.state.energy, one.state.energy, bytes) == 0 &&
		   blast.state.clock.time == one.state.clock.time,
		   "%d threads compute the bits of one thread", teams[i]);
		blast_destroy(&blast);
	}
	blast_destroy(&one);
}

static void overlap_nodes(struct blast *blast)
{
	blast->controls.position[0][1] = -9.0;
}

static void give_infinite_energy(struct blast *blast)
{
	blast->controls.energy[3] = INFINITY;
}

static void give_no_energy(struct blast *blast)
{
	blast->controls.energy[0] = 0.0;
}

/* A viscosity that drives the shock on, until the numbers are none. */
static void turn_viscosity_round(struct blast *blast)
{
	blast->controls.linear_viscosity = blast->controls.quadratic_viscosity = -9.0;
}

static void test_refusal(void (*spoil)(struct blast *blast), const char *wanted)
{
	char line[256] = "";
	pid_t child = fork();
	int status, file;

	if (child == 0) {
		struct blast blast = blast_create(3);

		if (!freopen("message", "w", stderr))
			_exit(9);
		spoil(&blast);
		blast_run(&blast, 0);
		_exit(8);
	}
	waitpid(child, &status, 0);
	is_int(WIFEXITED(status) ? WEXITSTATUS(status) : -1, 2, "it ends with status 2");
	file = open("message", O_RDONLY);
	ok(read(file, line, sizeof line - 1) > 0 && strstr(line, wanted), "and says: %s", wanted);
	close(file);
}

int main(void)
{
	tap_begin();
	if (OMP_IS_UNSEEN)
		tap_skip_all("ThreadSanitizer does not see the barriers of this OpenMP runtime");
	test_refusal(overlap_nodes, "element 0 is tangled: its volume at the beginning is ");
	test_refusal(give_infinite_energy, "element 3 has the energy inf at the beginning");
	test_refusal(give_no_energy, "element 0 has no energy at the beginning");
	test_refusal(turn_viscosity_round, " after step ");
	test_conservation(5);
	test_published(5, 72, "7.853665e+03");
	if (!is_brief())
		test_published(30, 932, "2.025075e+05");
	test_threads();
	return tap_end();
}
