/* SPDX-License-Identifier: MIT */
#include "mesh.h"

#include <stdbool.h>
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

/* The place of element, node or part `number` along each axis, `edge` of them to an edge. */
static void locate(int number, int edge, int place[AXES])
{
	for (int a = 0; a < AXES; a++, number /= edge)
		place[a] = number % edge;
}

static int number_at(const int place[AXES], int edge)
{
	int number = 0;

	for (int a = AXES; a-- > 0;)
		number = number * edge + place[a];
	return number;
}

/* ---- Elements and nodes of this part ---- */

/* The node at a corner of the element at a place, which may be outside of this part. */
static int node_at(const struct mesh *mesh, const int element_place[AXES], int corner)
{
	int place[AXES];

	for (int a = 0; a < AXES; a++)
		place[a] = element_place[a] + place_of_corner[corner][a];
	return number_at(place, mesh->size + 1);
}

static int whole_element_at(const struct mesh *mesh, const int element_place[AXES])
{
	int place[AXES];

	for (int a = 0; a < AXES; a++)
		place[a] = mesh->first[a] + element_place[a];
	return number_at(place, mesh->whole_size);
}

static void connect_nodes(struct mesh *mesh)
{
	for (int e = 0; e < mesh->elements; e++) {
		int place[AXES];

		locate(e, mesh->size, place);
		for (int k = 0; k < CORNERS; k++)
			mesh->node[CORNERS * e + k] = node_at(mesh, place, k);
	}
}

static void describe_nodes(struct mesh *mesh)
{
	mesh->held = allocate((size_t)mesh->nodes, 1);
	mesh->counted = allocate((size_t)mesh->nodes, 1);
	for (int n = 0; n < mesh->nodes; n++) {
		int place[AXES];

		locate(n, mesh->size + 1, place);
		mesh->counted[n] = 1;
		for (int a = 0; a < AXES; a++) {
			if (mesh->first[a] + place[a] == 0)
				mesh->held[n] |= (unsigned char)(1u << a);
			if (place[a] == mesh->size && mesh->first[a] + place[a] < mesh->whole_size)
				mesh->counted[n] = 0;
		}
	}
}

/* ---- Borders ---- */

/*
 * Lists, in ascending order, the elements of a part that lie at its border in a direction, which is
 * -1, 0 or 1 along each axis. They have the same numbers in each part. Returns how many they are.
 */
static int list_elements(const struct mesh *mesh, const int direction[AXES], int *element)
{
	int first[AXES], last[AXES], place[AXES], count = 0;

	for (int a = 0; a < AXES; a++) {
		first[a] = direction[a] > 0 ? mesh->size - 1 : 0;
		last[a] = direction[a] < 0 ? 0 : mesh->size - 1;
	}
	for (place[2] = first[2]; place[2] <= last[2]; place[2]++)
		for (place[1] = first[1]; place[1] <= last[1]; place[1]++)
			for (place[0] = first[0]; place[0] <= last[0]; place[0]++)
				element[count++] = number_at(place, mesh->size);
	return count;
}

/* Lists the corners of these elements at that border. */
static int list_corners(const struct mesh *mesh, const int direction[AXES], int *corner)
{
	int *element = allocate_numbers(mesh->face_elements);
	int elements = list_elements(mesh, direction, element), count = 0;

	for (int i = 0; i < elements; i++)
		for (int k = 0; k < CORNERS; k++) {
			bool is_there = true;

			for (int a = 0; a < AXES; a++)
				if (direction[a] && place_of_corner[k][a] != (direction[a] > 0))
					is_there = false;
			if (is_there)
				corner[count++] = CORNERS * element[i] + k;
		}
	free(element);
	return count;
}

/* Returns the part in a direction; -1: none. */
static int part_at(const struct mesh *mesh, const int direction[AXES])
{
	int parts = mesh->whole_size / mesh->size, place[AXES];

	for (int a = 0; a < AXES; a++) {
		place[a] = mesh->first[a] / mesh->size + direction[a];
		if (place[a] < 0 || place[a] >= parts)
			return -1;
	}
	return number_at(place, parts);
}

/* A border has at most the corners of a face. */
static void list_borders(struct mesh *mesh)
{
	int places = CORNERS * mesh->elements;

	for (int d = 0; d < MAX_BORDERS + 1; d++) {
		struct border *border = &mesh->border[mesh->borders];

		locate(d, 3, border->direction);
		for (int a = 0; a < AXES; a++)
			border->direction[a]--;
		border->part = part_at(mesh, border->direction);
		if (border->part < 0 || d == MAX_BORDERS / 2)
			continue;
		border->own = allocate_numbers(CORNERS / 2 * mesh->face_elements);
		border->corners = list_corners(mesh, border->direction, border->own);
		border->ghosts = places;
		places += border->corners;
		mesh->borders++;
	}
	mesh->corner_places = places;
}

static void list_faces(struct mesh *mesh)
{
	mesh->element_places = mesh->elements + 1;
	for (int a = 0; a < AXES; a++)
		for (int side = 0; side < 2; side++) {
			int direction[AXES] = {0};
			struct face_border *face = &mesh->face[a][side];

			direction[a] = side ? 1 : -1;
			face->part = part_at(mesh, direction);
			face->own = allocate_numbers(mesh->face_elements);
			list_elements(mesh, direction, face->own);
			face->ghosts = mesh->elements + 1 + side * mesh->face_elements;
			if (face->part >= 0)
				mesh->element_places = mesh->elements + 1 + 2 * mesh->face_elements;
		}
}

/* ---- Lists of neighbours ---- */

/*
 * The nodes of the ghosts, and the numbers that they have as corners of the whole cube. The other
 * part has the same corners as this one would have at a border in the opposite direction.
 */
static void connect_ghosts(struct mesh *mesh, const struct border *border, int *whole_corner)
{
	int opposite[AXES], *corner = allocate_numbers(border->corners);

	for (int a = 0; a < AXES; a++)
		opposite[a] = -border->direction[a];
	list_corners(mesh, opposite, corner);
	for (int i = 0; i < border->corners; i++) {
		int k = corner[i] % CORNERS, place[AXES];

		locate(corner[i] / CORNERS, mesh->size, place);
		for (int a = 0; a < AXES; a++)
			place[a] += border->direction[a] * mesh->size;
		mesh->node[border->ghosts + i] = node_at(mesh, place, k);
		whole_corner[border->ghosts + i] = CORNERS * whole_element_at(mesh, place) + k;
	}
	free(corner);
}

/* Puts a corner into a list of `count` corners that are in the order of the whole cube. */
static void put_in_order(int *list, int count, int corner, const int *whole_corner)
{
	for (; count > 0 && whole_corner[list[count - 1]] > whole_corner[corner]; count--)
		list[count] = list[count - 1];
	list[count] = corner;
}

/* Counts the corners at each node, then lists them. */
static void connect_corners(struct mesh *mesh)
{
	int *whole_corner = allocate_numbers(mesh->corner_places);
	int *count = allocate_numbers(mesh->nodes);

	for (int k = 0; k < CORNERS * mesh->elements; k++)
		whole_corner[k] = CORNERS * mesh_whole_element(mesh, k / CORNERS) + k % CORNERS;
	for (int i = 0; i < mesh->borders; i++)
		connect_ghosts(mesh, &mesh->border[i], whole_corner);
	mesh->corner_start = allocate_numbers(mesh->nodes + 1);
	mesh->corner = allocate_numbers(mesh->corner_places);
	for (int k = 0; k < mesh->corner_places; k++)
		mesh->corner_start[mesh->node[k] + 1]++;
	for (int n = 0; n < mesh->nodes; n++)
		mesh->corner_start[n + 1] += mesh->corner_start[n];
	for (int k = 0; k < mesh->corner_places; k++) {
		int n = mesh->node[k];

		put_in_order(mesh->corner + mesh->corner_start[n], count[n]++, k, whole_corner);
	}
	free(whole_corner);
	free(count);
}

static void connect_elements(struct mesh *mesh)
{
	int stride = 1;

	for (int a = 0; a < AXES; a++, stride *= mesh->size) {
		const struct face_border *face = mesh->face[a];
		int *below = allocate_numbers(mesh->elements);
		int *above = allocate_numbers(mesh->elements);

		for (int e = 0; e < mesh->elements; e++) {
			below[e] = e - stride;
			above[e] = e + stride;
		}
		for (int i = 0; i < mesh->face_elements; i++) {
			int first = face[0].own[i], last = face[1].own[i];

			below[first] = face[0].part < 0 ? first : face[0].ghosts + i;
			above[last] = face[1].part < 0 ? mesh->elements : face[1].ghosts + i;
		}
		mesh->neighbour[a][0] = below;
		mesh->neighbour[a][1] = above;
	}
}

struct mesh mesh_outline(int size, int parts, int part)
{
	struct mesh mesh = {.size = size / parts, .whole_size = size};
	int edge = mesh.size + 1;

	mesh.elements = mesh.size * mesh.size * mesh.size;
	mesh.nodes = edge * edge * edge;
	mesh.face_elements = mesh.size * mesh.size;
	locate(part, parts, mesh.first);
	for (int a = 0; a < AXES; a++)
		mesh.first[a] *= mesh.size;
	return mesh;
}

struct mesh mesh_part(int size, int parts, int part)
{
	struct mesh mesh = mesh_outline(size, parts, part);

	list_borders(&mesh);
	list_faces(&mesh);
	mesh.node = allocate_numbers(mesh.corner_places);
	connect_nodes(&mesh);
	connect_corners(&mesh);
	connect_elements(&mesh);
	describe_nodes(&mesh);
	return mesh;
}

struct mesh mesh_cube(int size)
{
	return mesh_part(size, 1, 0);
}

void mesh_destroy(struct mesh *mesh)
{
	free(mesh->node);
	free(mesh->corner_start);
	free(mesh->corner);
	for (int a = 0; a < AXES; a++)
		for (int side = 0; side < 2; side++) {
			free(mesh->neighbour[a][side]);
			free(mesh->face[a][side].own);
		}
	for (int i = 0; i < mesh->borders; i++)
		free(mesh->border[i].own);
	free(mesh->held);
	free(mesh->counted);
}

/* ---- Numbers in the whole cube ---- */

int mesh_whole_element(const struct mesh *mesh, int element)
{
	int place[AXES];

	locate(element, mesh->size, place);
	return whole_element_at(mesh, place);
}

int mesh_whole_node(const struct mesh *mesh, int node)
{
	int place[AXES];

	locate(node, mesh->size + 1, place);
	for (int a = 0; a < AXES; a++)
		place[a] += mesh->first[a];
	return number_at(place, mesh->whole_size + 1);
}

int mesh_element_here(const struct mesh *mesh, int whole_element)
{
	int place[AXES];

	locate(whole_element, mesh->whole_size, place);
	for (int a = 0; a < AXES; a++) {
		place[a] -= mesh->first[a];
		if (place[a] < 0 || place[a] >= mesh->size)
			return -1;
	}
	return number_at(place, mesh->size);
}
