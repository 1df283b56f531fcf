/* SPDX-License-Identifier: MIT */
/*
 * Which nodes an element has, which corners meet at a node, and which elements lie beside each
 * other. The kernels know nothing else of the mesh: it may be any mesh of hexahedra.
 *
 * Corner k of element e has the number 8 e + k:
 *
 *	    7------6
 *	   /|     /|       axis 2
 *	  4------5 |       |  axis 1
 *	  | 3----|-2       | /
 *	  |/     |/        |/
 *	  0------1         +---- axis 0
 */
#ifndef SEDOV_MESH_H
#define SEDOV_MESH_H

#define AXES 3
#define CORNERS 8
#define MAX_SIZE 640 /* elements along an edge: the numbers of corners fit into an int */

struct mesh {
	int size; /* elements along an edge */
	int elements, nodes;
	int *node; /* of each corner */

	/* The corners at node n are corner[corner_start[n]] to corner[corner_start[n + 1] - 1]. */
	int *corner_start, *corner;

	/*
	 * The elements beside an element along each axis, below and above. An element at a
	 * symmetry plane is its own neighbour there. The neighbour beyond a free surface is the
	 * element number `elements`, whose gradients are 0.
	 */
	int *neighbour[AXES][2];

	/* Bit a of a node is set if it lies in the symmetry plane across axis a and stays there. */
	unsigned char *held;
};

/* A cube of size^3 elements with symmetry planes below and free surfaces above. */
struct mesh mesh_cube(int size);
void mesh_destroy(struct mesh *mesh);

#endif
