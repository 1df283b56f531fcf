/* SPDX-License-Identifier: MIT */
#include "ranks.h"

#include <stdlib.h>
#include <string.h>

#include <reel/mpi.h>

#include "common/report.h"

#define MAX_ARRAYS 2 /* of one exchange of corners */

/* Tags of messages. */
enum { OF_CORNERS, OF_FACES };

/* Buffers of the messages to and from each border, of corners, and to each face. */
struct exchange {
	double *sent[MAX_BORDERS], *received[MAX_BORDERS];
	double *sent_to_face[AXES][2];
};

/* There is one at most. */
static struct exchange buffers;

/* ---- The part of a rank ---- */

static int cube_root_of(int number)
{
	int root = 1;

	while (root * root * root < number)
		root++;
	return root;
}

static void check_number(int number, int parts, int size)
{
	if (parts * parts * parts != number)
		fail("%d ranks cannot share a cube equally: start 1, 8, 27, 64 or another cube "
		     "number", number);
	if (size % parts != 0)
		fail("--size %d: %d ranks cut each edge into %d parts; choose a multiple of %d",
		     size, number, parts, parts);
}

static void open_exchange(const struct mesh *mesh, struct exchange *exchange)
{
	for (int i = 0; i < mesh->borders; i++) {
		size_t values = (size_t)mesh->border[i].corners * AXES * MAX_ARRAYS;

		exchange->sent[i] = allocate(values, sizeof(double));
		exchange->received[i] = allocate(values, sizeof(double));
	}
	for (int a = 0; a < AXES; a++)
		for (int side = 0; side < 2; side++)
			exchange->sent_to_face[a][side] =
				allocate((size_t)mesh->face_elements, sizeof(double));
}

static void cut(struct ranks *ranks, int size, struct mesh *mesh)
{
	int parts = cube_root_of(ranks->world->number);

	check_number(ranks->world->number, parts, size);
	*mesh = mesh_part(size, parts, ranks->world->rank);
	mesh->ranks = ranks;
	ranks->mesh = mesh;
	open_exchange(mesh, ranks->exchange);
}

/* ---- Exchange ---- */

static void pack_corners(const struct border *border, double (*const array[])[AXES], int arrays,
			 double *packed)
{
	for (int i = 0; i < arrays; i++)
		for (int k = 0; k < border->corners; k++, packed += AXES)
			memcpy(packed, array[i][border->own[k]], AXES * sizeof(double));
}

static void unpack_corners(const struct border *border, double (*const array[])[AXES], int arrays,
			   const double *packed)
{
	size_t values = (size_t)border->corners * AXES;

	for (int i = 0; i < arrays; i++, packed += values)
		memcpy(array[i][border->ghosts], packed, values * sizeof(double));
}

/* With statuses, since gcc takes MPICH's MPI_STATUSES_IGNORE for an array that is too short. */
static void wait_for_all(int count, MPI_Request *request)
{
	MPI_Status status[2 * MAX_BORDERS];

	MPI_Waitall(count, request, status);
}

static void exchange_corners(struct ranks *ranks, double (*const array[])[AXES], int arrays)
{
	const struct mesh *mesh = ranks->mesh;
	struct exchange *exchange = ranks->exchange;
	MPI_Request request[2 * MAX_BORDERS], *next = request;

	for (int i = 0; i < mesh->borders; i++) {
		const struct border *border = &mesh->border[i];
		int values = border->corners * AXES * arrays;

		MPI_Irecv(exchange->received[i], values, MPI_DOUBLE, border->part, OF_CORNERS,
			  MPI_COMM_WORLD, next++);
		pack_corners(border, array, arrays, exchange->sent[i]);
		MPI_Isend(exchange->sent[i], values, MPI_DOUBLE, border->part, OF_CORNERS,
			  MPI_COMM_WORLD, next++);
	}
	wait_for_all(2 * mesh->borders, request);
	for (int i = 0; i < mesh->borders; i++)
		unpack_corners(&mesh->border[i], array, arrays, exchange->received[i]);
}

/* A part that has no neighbour beyond a face exchanges nothing there. */
static void exchange_faces(struct ranks *ranks, double *field[AXES][2])
{
	const struct mesh *mesh = ranks->mesh;
	MPI_Request request[2 * 2 * AXES], *next = request;

	for (int a = 0; a < AXES; a++)
		for (int side = 0; side < 2; side++) {
			const struct face_border *face = &mesh->face[a][side];
			double *sent = ranks->exchange->sent_to_face[a][side];

			if (face->part < 0)
				continue;
			MPI_Irecv(field[a][!side] + face->ghosts, mesh->face_elements, MPI_DOUBLE,
				  face->part, OF_FACES, MPI_COMM_WORLD, next++);
			for (int i = 0; i < mesh->face_elements; i++)
				sent[i] = field[a][side][face->own[i]];
			MPI_Isend(sent, mesh->face_elements, MPI_DOUBLE, face->part, OF_FACES,
				  MPI_COMM_WORLD, next++);
		}
	wait_for_all((int)(next - request), request);
}

/* ---- Values of all ranks together ---- */

static void take_least(struct ranks *ranks, struct least *least, int count)
{
	(void)ranks;
	MPI_Allreduce(MPI_IN_PLACE, least, count, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
}

static void add_up_ranks(struct ranks *ranks, const total *sums, double *values, int count)
{
	(void)ranks;
	if (reel_mpi_sum(NULL, sums, values, count, MPI_COMM_WORLD))
		fail("%s", reel_error_text(0));
}

static void share(struct ranks *ranks, double *value)
{
	(void)ranks;
	MPI_Bcast(value, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
}

/* Each part has `count` values; whole_number() is the place of one of them in the whole cube. */
static void gather(struct ranks *ranks, const double *field, int count,
		   int (*whole_number)(const struct mesh *mesh, int number), double *whole)
{
	int number = ranks->world->number, parts = cube_root_of(number);
	double *fields = NULL;

	if (whole)
		fields = allocate((size_t)number * (size_t)count, sizeof(double));
	MPI_Gather(field, count, MPI_DOUBLE, fields, count, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	for (int rank = 0; rank < number && whole; rank++) {
		struct mesh mesh = mesh_outline(ranks->mesh->whole_size, parts, rank);

		for (int i = 0; i < count; i++)
			whole[whole_number(&mesh, i)] =
				fields[(size_t)rank * (size_t)count + (size_t)i];
	}
	free(fields);
}

static void gather_elements(struct ranks *ranks, const double *field, double *whole)
{
	gather(ranks, field, ranks->mesh->elements, mesh_whole_element, whole);
}

/* Copies of a node have the same bits. */
static void gather_nodes(struct ranks *ranks, const double *field, double *whole)
{
	gather(ranks, field, ranks->mesh->nodes, mesh_whole_node, whole);
}

/* ---- From the beginning to the end ---- */

static void free_exchange(void)
{
	for (int i = 0; i < MAX_BORDERS; i++) {
		free(buffers.sent[i]);
		free(buffers.received[i]);
	}
	for (int a = 0; a < AXES; a++)
		for (int side = 0; side < 2; side++)
			free(buffers.sent_to_face[a][side]);
}

struct ranks *ranks_begin(int *count, char ***arguments)
{
	static struct ranks ranks = {
		.cut = cut, .exchange_corners = exchange_corners,
		.exchange_faces = exchange_faces, .take_least = take_least,
		.add_up = add_up_ranks, .share = share, .gather_elements = gather_elements,
		.gather_nodes = gather_nodes, .exchange = &buffers,
	};

	ranks.world = world_join(count, arguments);
	if (!ranks.world)
		return NULL;
	atexit(free_exchange);
	return &ranks;
}
