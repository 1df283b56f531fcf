/* SPDX-License-Identifier: MIT */
#include "mesh.h"

#include <stdlib.h>

#include "common/report.h"

/* The place of corner k in its element, along each axis. */
static const int place_of_corner[CORNERS][AXES] = {
	{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 1}, {1, 0, 1}, {1, 1, 1}, {0, 1, 1},
};

static int *allocate_numbers(int count)
{
	return allocate((size_t)count, sizeof(int));
}

/* The position of element or node `number` along each axis, `edge` of them to an edge. */
static void locate(int number, int edge, int place[AXES])
{
	for (int a = 0; a < AXES; a++, number /= edge)
		place[a] = number % edge;
}

static void connect_nodes(struct mesh *mesh)
{
	int edge = mesh->size + 1;

	mesh->node = allocate_numbers(CORNERS * mesh->elements);
	for (int e = 0; e < mesh->elements; e++) {
		int place[AXES];

		locate(e, mesh->size, place);
		for (int k = 0; k < CORNERS; k++) {
			int node = 0;

			for (int a = AXES; a-- > 0;)
				node = node * edge + place[a] + place_of_corner[k][a];
			mesh->node[CORNERS * e + k] = node;
		}
	}
}

/* Counts the corners at each node, then lists them in ascending order. */
static void connect_corners(struct mesh *mesh)
{
	int corners = CORNERS * mesh->elements;
	int *next = allocate_numbers(mesh->nodes);

	mesh->corner_start = allocate_numbers(mesh->nodes + 1);
	mesh->corner = allocate_numbers(corners);
	for (int k = 0; k < corners; k++)
		mesh->corner_start[mesh->node[k] + 1]++;
	for (int n = 0; n < mesh->nodes; n++) {
		mesh->corner_start[n + 1] += mesh->corner_start[n];
		next[n] = mesh->corner_start[n];
	}
	for (int k = 0; k < corners; k++)
		mesh->corner[next[mesh->node[k]]++] = k;
	free(next);
}

static void connect_elements(struct mesh *mesh)
{
	int stride = 1;

	for (int a = 0; a < AXES; a++, stride *= mesh->size) {
		int *below = allocate_numbers(mesh->elements);
		int *above = allocate_numbers(mesh->elements);

		for (int e = 0; e < mesh->elements; e++) {
			int place[AXES];

			locate(e, mesh->size, place);
			below[e] = place[a] > 0 ? e - stride : e;
			above[e] = place[a] < mesh->size - 1 ? e + stride : mesh->elements;
		}
		mesh->neighbour[a][0] = below;
		mesh->neighbour[a][1] = above;
	}
}

static void hold_nodes(struct mesh *mesh)
{
	mesh->held = allocate((size_t)mesh->nodes, 1);
	for (int n = 0; n < mesh->nodes; n++) {
		int place[AXES];

		locate(n, mesh->size + 1, place);
		for (int a = 0; a < AXES; a++)
			if (place[a] == 0)
				mesh->held[n] |= (unsigned char)(1u << a);
	}
}

struct mesh mesh_cube(int size)
{
	struct mesh mesh = {.size = size};

	mesh.elements = size * size * size;
	mesh.nodes = (size + 1) * (size + 1) * (size + 1);
	connect_nodes(&mesh);
	connect_corners(&mesh);
	connect_elements(&mesh);
	hold_nodes(&mesh);
	return mesh;
}

void mesh_destroy(struct mesh *mesh)
{
	free(mesh->node);
	free(mesh->corner_start);
	free(mesh->corner);
	for (int a = 0; a < AXES; a++) {
		free(mesh->neighbour[a][0]);
		free(mesh->neighbour[a][1]);
	}
	free(mesh->held);
}
