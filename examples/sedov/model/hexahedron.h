/* SPDX-License-Identifier: MIT */
/*
 * The geometry of a hexahedron with the corners of mesh.h. Its faces are bilinear. A shape is the
 * positions of its corners; the same functions serve velocities and adjoints of positions.
 */
#ifndef SEDOV_HEXAHEDRON_H
#define SEDOV_HEXAHEDRON_H

#include <reel/compiler.h>

#include "mesh.h"
#include "number.h"

#define FACES 6

/* The corners around each face; the cross product of its first two edges points outward. */
static const int face_corner[FACES][4] = {
	{0, 3, 2, 1}, {4, 5, 6, 7}, {0, 1, 5, 4}, {2, 3, 7, 6}, {3, 0, 4, 7}, {1, 2, 6, 5},
};

/*
 * Before a loop over the faces: unrolled, its corners are constants, and the shape stays in
 * registers. The kernels take 12 % less time.
 */
#if defined(__GNUC__) && !defined(__clang__)
#define ALL_FACES_AT_ONCE _Pragma("GCC unroll 6")
#else
#define ALL_FACES_AT_ONCE
#endif

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

/* The values at the corners of an element from arrays over nodes, one array for each axis. */
static inline void gather_corners(const struct mesh *mesh, real *const field[AXES], int element,
				  real x[CORNERS][AXES])
{
	const int *node = mesh->node + (long)CORNERS * element;

	for (int k = 0; k < CORNERS; k++)
		for (int a = 0; a < AXES; a++)
			x[k][a] = field[a][node[k]];
}

/*
 * Writes the contributions of an element to its corners to an array that has 8 places for each
 * element.
 */
static inline void put_corners(real x[CORNERS][AXES], int element, real (*corner)[AXES])
{
	for (int k = 0; k < CORNERS; k++)
		for (int a = 0; a < AXES; a++)
			corner[(long)CORNERS * element + k][a] = x[k][a];
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

/*
 * With the diagonals d, e of a face, and t, the sum of its corners, the derivatives of the volume
 * with respect to the corners are n + t x e, n - t x d, n - t x e and n + t x d, over 24, where
 * n = d x e. All six faces add up. A quarter of the face's area, as a vector, is n / 8.
 */
struct face {
	real d[AXES], e[AXES], t[AXES]; /* t over 24 */
};

static inline struct face face_of_corners(real x[CORNERS][AXES], int face)
{
	const int *k = face_corner[face];
	struct face now;

	face_diagonals(x, face, now.d, now.e);
	for (int a = 0; a < AXES; a++)
		now.t[a] = ((x[k[0]][a] + x[k[2]][a]) + (x[k[1]][a] + x[k[3]][a])) * (1.0 / 24.0);
	return now;
}

/*
 * Computes two vectors for each corner: the derivative of the volume, and a quarter of the areas of
 * its faces, which points outward.
 */
REEL_ALWAYS_INLINE void corner_areas(real x[CORNERS][AXES], real slope[CORNERS][AXES],
				real normal[CORNERS][AXES])
{
	for (int k = 0; k < CORNERS; k++)
		for (int a = 0; a < AXES; a++)
			slope[k][a] = normal[k][a] = 0.0;
	ALL_FACES_AT_ONCE
	for (int f = 0; f < FACES; f++) {
		const int *k = face_corner[f];
		struct face face = face_of_corners(x, f);
		real n[AXES], td[AXES], te[AXES];

		cross(face.d, face.e, n);
		cross(face.t, face.d, td);
		cross(face.t, face.e, te);
		for (int i = 0; i < 4; i++)
			add_scaled(0.125, n, normal[k[i]]);
		add_scaled(1.0, te, slope[k[0]]);
		add_scaled(-1.0, td, slope[k[1]]);
		add_scaled(-1.0, te, slope[k[2]]);
		add_scaled(1.0, td, slope[k[3]]);
	}
	for (int k = 0; k < CORNERS; k++)
		add_scaled(1.0 / 3.0, normal[k], slope[k]);
}

/* Adds the contributions of the diagonals of a face to its corners. */
static inline void face_diagonals_reverse(int face, const real first_bar[AXES],
					  const real second_bar[AXES], real x_bar[CORNERS][AXES])
{
	const int *k = face_corner[face];

	add_scaled(1.0, first_bar, x_bar[k[2]]);
	add_scaled(-1.0, first_bar, x_bar[k[0]]);
	add_scaled(1.0, second_bar, x_bar[k[3]]);
	add_scaled(-1.0, second_bar, x_bar[k[1]]);
}

/* Adds the contributions of corner_areas() to x_bar. */
REEL_ALWAYS_INLINE void corner_areas_reverse(real x[CORNERS][AXES], real slope_bar[CORNERS][AXES],
					real normal_bar[CORNERS][AXES], real x_bar[CORNERS][AXES])
{
	real part_bar[CORNERS][AXES];

	for (int k = 0; k < CORNERS; k++)
		for (int a = 0; a < AXES; a++)
			part_bar[k][a] = 0.125 * normal_bar[k][a] + (0.125 / 3.0) * slope_bar[k][a];
	ALL_FACES_AT_ONCE
	for (int f = 0; f < FACES; f++) {
		const int *k = face_corner[f];
		struct face face = face_of_corners(x, f);
		real n_bar[AXES], td_bar[AXES], te_bar[AXES];
		real d_bar[AXES], e_bar[AXES], t_bar[AXES];

		for (int a = 0; a < AXES; a++) {
			n_bar[a] = (part_bar[k[0]][a] + part_bar[k[2]][a]) +
				   (part_bar[k[1]][a] + part_bar[k[3]][a]);
			td_bar[a] = slope_bar[k[3]][a] - slope_bar[k[1]][a];
			te_bar[a] = slope_bar[k[0]][a] - slope_bar[k[2]][a];
		}
		cross(face.e, n_bar, d_bar);
		add_cross(1.0, td_bar, face.t, d_bar);
		cross(n_bar, face.d, e_bar);
		add_cross(1.0, te_bar, face.t, e_bar);
		cross(face.d, td_bar, t_bar);
		add_cross(1.0, face.e, te_bar, t_bar);
		face_diagonals_reverse(f, d_bar, e_bar, x_bar);
		for (int i = 0; i < 4; i++)
			add_scaled(1.0 / 24.0, t_bar, x_bar[k[i]]);
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
