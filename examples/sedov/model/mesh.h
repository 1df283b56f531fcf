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
 *
 * Parts. A mesh may be one of the equal cubes, or parts, into which a cube is cut. It has all nodes
 * of its elements; a node between parts has a copy in each of them. A result of an element of
 * another part is a ghost here: a place at the end of an array, to which the ranks that have the
 * parts copy it.
 *
 *	over corners    corners of elements | ghosts: corners of other parts at nodes of this part
 *	over elements   elements | the place for a free surface | ghosts: elements of other parts
 *	                that lie beside this part along an axis, below and above it
 *
 * An array over elements that has ghosts belongs to one axis.
 */
#ifndef SEDOV_MESH_H
#define SEDOV_MESH_H

#define AXES 3
#define CORNERS 8
#define MAX_SIZE 640 /* elements along an edge: the numbers of corners fit into an int */
#define MAX_BORDERS 26 /* faces, edges and corners of a cube */

/* The corners that this part and another one exchange: those at the nodes that both have. */
struct border {
	int direction[AXES]; /* to the other part: -1, 0 or 1 along each axis */
	int part;            /* the other part */
	int corners;         /* that each of them has at these nodes */
	int *own;            /* corners of this part, in ascending order */
	int ghosts;          /* the first of the others, which follow in ascending order */
};

/* The elements that they exchange if they share a face: those on both sides of it. */
struct face_border {
	int part;   /* -1: there is none beyond the face */
	int *own;   /* `face_elements` of this part, in ascending order */
	int ghosts; /* the first of the other part's, in ascending order */
};

struct mesh {
	int size; /* elements along an edge */
	int elements, nodes;
	int *node; /* of each corner, also of ghosts */

	/*
	 * The corners at node n are corner[corner_start[n]] to corner[corner_start[n + 1] - 1], in
	 * the order that they have in the whole cube: so each copy of a node sums up the same
	 * numbers in the same order.
	 */
	int *corner_start, *corner;

	/*
	 * The elements beside an element along each axis, below and above. An element at a
	 * symmetry plane is its own neighbour there. The neighbour beyond a free surface is the
	 * element number `elements`, whose gradients are 0.
	 */
	int *neighbour[AXES][2];

	/* Bit a of a node is set if it lies in the symmetry plane across axis a and stays there. */
	unsigned char *held;

	/* The places of arrays that have ghosts. */
	int corner_places, element_places;

	/*
	 * The place of this part in the whole cube, and its borders. A whole cube is its only part.
	 */
	int whole_size;         /* elements along an edge of the whole cube */
	int first[AXES];        /* place of element 0 in the whole cube */
	unsigned char *counted; /* whether sums over nodes count this copy of a node */
	int borders;
	struct border border[MAX_BORDERS];
	int face_elements;
	struct face_border face[AXES][2]; /* below and above */
	struct ranks *ranks; /* that have the other parts; NULL: there are none */
};

/* A cube of size^3 elements with symmetry planes below and free surfaces above. */
struct mesh mesh_cube(int size);

/* A part of it: it is cut into parts^3 parts, where `parts` divides the size. */
struct mesh mesh_part(int size, int parts, int part);

/* A part without its lists: it knows numbers in the whole cube. Nothing of it is destroyed. */
struct mesh mesh_outline(int size, int parts, int part);

void mesh_destroy(struct mesh *mesh);

/* The numbers that an element, and a node, of a part have in the whole cube. */
int mesh_whole_element(const struct mesh *mesh, int element);
int mesh_whole_node(const struct mesh *mesh, int node);

/* The element that has this number in the whole cube; -1: it is in another part. */
int mesh_element_here(const struct mesh *mesh, int whole_element);

#endif
