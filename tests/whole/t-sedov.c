/* SPDX-License-Identifier: MIT */
/*
 * The blast of examples/sedov computes the published results, with any number of threads.
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

/* The model has a pointer to the mesh in the struct, so the struct must not move. */
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

/* The mass is always that of the cube. The scheme is not quite conservative: it loses energy. */
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

enum { MAX_PARTS = 27 };

/* Returns the border of the mesh with another part. */
static const struct border *border_with(const struct mesh *mesh, int part)
{
	const struct border *border = mesh->border;

	while (border->part != part)
		border++;
	return border;
}

/* Copies what other parts have at their corners to the ghosts of each part. */
static void exchange_corners(const struct mesh *mesh, int parts, int **array)
{
	for (int p = 0; p < parts; p++)
		for (int i = 0; i < mesh[p].borders; i++) {
			const struct border *here = &mesh[p].border[i];
			const struct border *there = border_with(&mesh[here->part], p);

			for (int k = 0; k < here->corners; k++)
				array[p][here->ghosts + k] = array[here->part][there->own[k]];
		}
}

/* Returns the number in the whole cube of the element beside an element; -1: there is none. */
static int number_beside(const struct mesh *mesh, int part, int element, int axis, int side)
{
	const struct face_border *face = &mesh[part].face[axis][side];
	int beside = mesh[part].neighbour[axis][side][element];

	if (beside == mesh[part].elements)
		return -1;
	if (beside < mesh[part].elements)
		return mesh_whole_element(&mesh[part], beside);
	return mesh_whole_element(&mesh[face->part],
				  mesh[face->part].face[axis][!side].own[beside - face->ghosts]);
}

/* Returns whether a node has its corners in the order of the whole cube, and is held as there. */
static int is_node_of(const struct mesh *whole, const struct mesh *part, const int *whole_corner, int n)
{
	int all = mesh_whole_node(part, n), first = part->corner_start[n];
	int count = part->corner_start[n + 1] - first;
	const int *list = whole->corner + whole->corner_start[all];

	if (count != whole->corner_start[all + 1] - whole->corner_start[all])
		return 0;
	for (int i = 0; i < count; i++)
		if (whole_corner[part->corner[first + i]] != list[i])
			return 0;
	return part->held[n] == whole->held[all];
}

/* The parts of a cube, put together, are the cube. */
static void test_parts(int size, int edge)
{
	struct mesh whole = mesh_cube(size), mesh[MAX_PARTS];
	int parts = edge * edge * edge, *corner[MAX_PARTS], wrong = 0, beside = 0, counted = 0;

	for (int p = 0; p < parts; p++) {
		mesh[p] = mesh_part(size, edge, p);
		corner[p] = calloc((size_t)mesh[p].corner_places, sizeof(int));
		for (int k = 0; k < CORNERS * mesh[p].elements; k++)
			corner[p][k] = CORNERS * mesh_whole_element(&mesh[p], k / CORNERS) +
				       k % CORNERS;
	}
	exchange_corners(mesh, parts, corner);
	for (int p = 0; p < parts; p++) {
		for (int n = 0; n < mesh[p].nodes; n++) {
			wrong += !is_node_of(&whole, &mesh[p], corner[p], n);
			counted += mesh[p].counted[n];
		}
		for (int e = 0; e < mesh[p].elements; e++)
			for (int i = 0; i < 2 * AXES; i++)
				beside += number_beside(mesh, p, e, i / 2, i % 2) !=
					  number_beside(&whole, 0, mesh_whole_element(&mesh[p], e),
							i / 2, i % 2);
	}
	is_int(wrong, 0, "%d parts of %d^3 elements: copies of a node have its corners in one order",
	       parts, size);
	is_int(beside, 0, "each element has its neighbours");
	is_int(counted, whole.nodes, "sums count each node once");
	for (int p = 0; p < parts; p++) {
		mesh_destroy(&mesh[p]);
		free(corner[p]);
	}
	mesh_destroy(&whole);
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

/* A negative viscosity accelerates the shock, until the numbers are not finite. */
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
	ok(read(file, line, sizeof line - 1) > 0 && strstr(line, wanted),
	   "the message says: %s", wanted);
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
	test_parts(4, 2);
	test_parts(3, 3);
	test_conservation(5);
	test_published(5, 72, "7.853665e+03");
	if (!is_brief())
		test_published(30, 932, "2.025075e+05");
	test_threads();
	return tap_end();
}
