/* SPDX-License-Identifier: MIT */
/*
 * The geometry of a hexahedron with the corners of mesh.h. Its faces are bilinear. A shape is the
 * positions of its corners; the same functions serve velocities and adjoints of positions.
 */
#ifndef SEDOV_HEXAHEDRON_H
#define SEDOV_HEXAHEDRON_H

#include "mesh.h"
#include "number.h"

#define FACES 6

/* The corners around each face; the cross product of its first two edges points outward. */
static const int face_corner[FACES][4] = {
	{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {2, 3, 7, 6}, {3, 0, 4, 7}, {1, 2, 6, 5},
};

/* Whether a corner lies above (1) or below (-1) the centre, along each axis. */
static const double corner_side[AXES][CORNERS] = {
	{-1, 1, 1, -1, -1, 1, 1, -1},
	{-1, -1, 1, 1, -1, -1, 1, 1},
	{-1, -1, -1, -1, 1, 1, 1, 1},
};

static inline real dot(const real u[AXES], const real v[AXES])
{
	return u[0] * v[0] + u[1] * v[1] + u[2] * v[2];
}

/* product += factor (u x v) */
static inline void add_cross(double factor, const real u[AXES], const real v[AXES],
			     real product[AXES])
{
	product[0] += factor * (u[1] * v[2] - u[2] * v[1]);
	product[1] += factor * (u[2] * v[0] - u[0] * v[2]);
	product[2] += factor * (u[0] * v[1] - u[1] * v[0]);
}

static inline void cross(const real u[AXES], const real v[AXES], real product[AXES])
{
	product[0] = u[1] * v[2] - u[2] * v[1];
	product[1] = u[2] * v[0] - u[0] * v[2];
	product[2] = u[0] * v[1] - u[1] * v[0];
}

/* target += factor source */
static inline void add_scaled(real factor, const real source[AXES], real target[AXES])
{
	for (int a = 0; a < AXES; a++)
		target[a] += factor * source[a];
}

/* What the corners of an element have in arrays over nodes, one for each axis. */
static inline void gather_corners(const struct mesh *mesh, real *const field[AXES], int element,
				  real x[CORNERS][AXES])
{
	const int *node = mesh->node + (long)CORNERS * element;

	for (int k = 0; k < CORNERS; k++)
		for (int a = 0; a < AXES; a++)
			x[k][a] = field[a][node[k]];
}

/* The mean edge along an axis. */
static inline void mean_edge(real x[CORNERS][AXES], int axis, real edge[AXES])
{
	for (int a = 0; a < AXES; a++) {
		edge[a] = 0.0;
		for (int k = 0; k < CORNERS; k++)
			edge[a] += 0.25 * corner_side[axis][k] * x[k][a];
	}
}

/* The two diagonals of a face; half of their cross product is the face's area. */
static inline void face_diagonals(real x[CORNERS][AXES], int face, real first[AXES],
				  real second[AXES])
{
	const int *k = face_corner[face];

	for (int a = 0; a < AXES; a++) {
		first[a] = x[k[2]][a] - x[k[0]][a];
		second[a] = x[k[3]][a] - x[k[1]][a];
	}
}

static inline void face_edge_sums(real x[CORNERS][AXES], int face, real sum[4][AXES])
{
	const int *k = face_corner[face];

	for (int i = 0; i < 4; i++)
		for (int a = 0; a < AXES; a++)
			sum[i][a] = x[k[i]][a] + x[k[(i + 1) % 4]][a];
}

/*
 * The derivative of the volume with respect to each corner: for each face of the corner the cross
 * product of the sums of the two edges that do not touch it, over 12.
 */
static inline void volume_slopes(real x[CORNERS][AXES], real slope[CORNERS][AXES])
{
	for (int k = 0; k < CORNERS; k++)
		for (int a = 0; a < AXES; a++)
			slope[k][a] = 0.0;
	for (int f = 0; f < FACES; f++) {
		real sum[4][AXES];

		face_edge_sums(x, f, sum);
		for (int i = 0; i < 4; i++)
			add_cross(1.0 / 12.0, sum[(i + 1) % 4], sum[(i + 2) % 4],
				  slope[face_corner[f][i]]);
	}
}

/*
 * Adds to x_bar what volume_slopes() owes: the volume's second derivative times slope_bar. That is
 * symmetric, so the reverse of volume_slopes() is its tangent.
 */
static inline void volume_slopes_reverse(real x[CORNERS][AXES], real slope_bar[CORNERS][AXES],
					 real x_bar[CORNERS][AXES])
{
	for (int f = 0; f < FACES; f++) {
		real sum[4][AXES], d_sum[4][AXES];

		face_edge_sums(x, f, sum);
		face_edge_sums(slope_bar, f, d_sum);
		for (int i = 0; i < 4; i++) {
			int next = (i + 1) % 4, after = (i + 2) % 4;

			add_cross(1.0 / 12.0, d_sum[next], sum[after],
				  x_bar[face_corner[f][i]]);
			add_cross(1.0 / 12.0, sum[next], d_sum[after],
				  x_bar[face_corner[f][i]]);
		}
	}
}

/* A quarter of the area of each face of a corner, as a vector that points outward. */
static inline void corner_normals(real x[CORNERS][AXES], real normal[CORNERS][AXES])
{
	for (int k = 0; k < CORNERS; k++)
		for (int a = 0; a < AXES; a++)
			normal[k][a] = 0.0;
	for (int f = 0; f < FACES; f++) {
		real first[AXES], second[AXES], area[AXES];

		face_diagonals(x, f, first, second);
		cross(first, second, area);
		for (int i = 0; i < 4; i++)
			add_scaled(0.125, area, normal[face_corner[f][i]]);
	}
}

/* Adds what the diagonals of a face owe to its corners. */
static inline void face_diagonals_reverse(int face, const real first_bar[AXES],
					  const real second_bar[AXES], real x_bar[CORNERS][AXES])
{
	const int *k = face_corner[face];

	add_scaled(1.0, first_bar, x_bar[k[2]]);
	add_scaled(-1.0, first_bar, x_bar[k[0]]);
	add_scaled(1.0, second_bar, x_bar[k[3]]);
	add_scaled(-1.0, second_bar, x_bar[k[1]]);
}

static inline void corner_normals_reverse(real x[CORNERS][AXES], real normal_bar[CORNERS][AXES],
					  real x_bar[CORNERS][AXES])
{
	for (int f = 0; f < FACES; f++) {
		real first[AXES], second[AXES], area_bar[AXES] = {0.0};
		real first_bar[AXES], second_bar[AXES];

		face_diagonals(x, f, first, second);
		for (int i = 0; i < 4; i++)
			add_scaled(0.125, normal_bar[face_corner[f][i]], area_bar);
		cross(second, area_bar, first_bar);
		cross(area_bar, first, second_bar);
		face_diagonals_reverse(f, first_bar, second_bar, x_bar);
	}
}

/* The triple product of (a - b) + (c - d), e - f and g - h, where these are corners. */
static inline real corner_product(real x[CORNERS][AXES], int a, int b, int c, int d, int e, int f,
				  int g, int h)
{
	real u[AXES], v[AXES], w[AXES], product[AXES];

	for (int i = 0; i < AXES; i++) {
		u[i] = (x[a][i] - x[b][i]) + (x[c][i] - x[d][i]);
		v[i] = x[e][i] - x[f][i];
		w[i] = x[g][i] - x[h][i];
	}
	cross(v, w, product);
	return dot(u, product);
}

static inline real hexahedron_volume(real x[CORNERS][AXES])
{
	return (corner_product(x, 3, 1, 7, 2, 6, 3, 2, 0) +
		corner_product(x, 4, 3, 5, 7, 6, 4, 7, 0) +
		corner_product(x, 1, 4, 2, 5, 6, 1, 5, 0)) / 12.0;
}

#endif
