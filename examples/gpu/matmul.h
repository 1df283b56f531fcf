/* SPDX-License-Identifier: MIT */
/*
 * C = tanh(A B), tile by tile through shared memory. The adjoint needs tanh's slope, whose argument
 * is gone: the forward kernel pushes the result, the reverse one pops it, and two products of tiles
 * give A_bar = G B' and B_bar = A' G.
 */
#ifndef REEL_EXAMPLES_MATMUL_H
#define REEL_EXAMPLES_MATMUL_H

#include "example.h"

namespace matmul {

#define TILE 8

/* Element (row, column) of a product of n x n matrices, either of which may be taken transposed. */
REEL_DEVICE double product(const double *a, const double *b, unsigned n, bool a_turned,
			   bool b_turned, unsigned row, unsigned column, double (*a_tile)[TILE],
			   double (*b_tile)[TILE])
{
	unsigned i = threadIdx.y, j = threadIdx.x;
	double sum = 0;

	for (unsigned k = 0; k < n; k += TILE) {
		a_tile[i][j] = a_turned ? a[(k + j) * n + row] : a[row * n + k + j];
		b_tile[i][j] = b_turned ? b[column * n + k + i] : b[(k + i) * n + column];
		__syncthreads();
		for (unsigned l = 0; l < TILE; l++)
			sum += a_tile[i][l] * b_tile[l][j];
		__syncthreads();
	}
	return sum;
}

/* The tiles of the result are shared out among the blocks. */
#define FOR_EACH_TILE(n)                                                                           \
	for (unsigned tile = blockIdx.x; tile < (n) / TILE * ((n) / TILE); tile += gridDim.x)
#define TILE_ROW(n) (tile / ((n) / TILE) * TILE + threadIdx.y)
#define TILE_COLUMN(n) (tile % ((n) / TILE) * TILE + threadIdx.x)

__global__ void primal(const double *a, const double *b, double *c, unsigned n)
{
	__shared__ double a_tile[TILE][TILE], b_tile[TILE][TILE];

	FOR_EACH_TILE(n) {
		unsigned row = TILE_ROW(n), column = TILE_COLUMN(n);

		c[row * n + column] =
			tanh(product(a, b, n, false, false, row, column, a_tile, b_tile));
	}
}

__global__ void forward(reel_device_arena arena, const double *a, const double *b, double *c,
			unsigned n)
{
	__shared__ double a_tile[TILE][TILE], b_tile[TILE][TILE];
	reel_device_tape<> tape;

	tape.open(arena);
	FOR_EACH_TILE(n) {
		unsigned row = TILE_ROW(n), column = TILE_COLUMN(n);
		double result = tanh(product(a, b, n, false, false, row, column, a_tile, b_tile));

		tape.push(result, row * n + column);
		c[row * n + column] = result;
	}
	tape.save();
}

/* c_bar becomes the adjoint of A B. Pops until the tape is empty: records name their places. */
__global__ void reverse_tanh(reel_device_arena arena, double *c_bar)
{
	reel_device_tape<> tape;

	tape.resume(arena);
	while (!tape.is_empty()) {
		double result;
		unsigned place;

		tape.pop(result, place);
		c_bar[place] *= 1 - result * result;
	}
}

__global__ void reverse_product(const double *a, const double *b, const double *c_bar, unsigned n,
				double *a_bar, double *b_bar)
{
	__shared__ double a_tile[TILE][TILE], b_tile[TILE][TILE];

	FOR_EACH_TILE(n) {
		unsigned row = TILE_ROW(n), column = TILE_COLUMN(n);

		a_bar[row * n + column] +=
			product(c_bar, b, n, false, true, row, column, a_tile, b_tile);
		b_bar[row * n + column] +=
			product(a, c_bar, n, true, false, row, column, a_tile, b_tile);
	}
}

inline double objective(const shape &s, const std::vector<double> &input, unsigned n)
{
	device::array<double> all(input), c((size_t)n * n);

	LAUNCH(primal, s.blocks, dim3(TILE, TILE), all.data, all.data + n * n, c.data, n);
	return weigh(c.host());
}

inline double check(const shape &s)
{
	unsigned n = s.scale == 1 ? 16 : 128;
	std::vector<double> input = uniforms((size_t)2 * n * n, 1, -0.5, 0.5), gradient;
	device::tapes tapes(s.blocks * 2, 4096, 1 << 20);

	tapes.run([&](reel_device_arena arena) {
		device::array<double> all(input), c((size_t)n * n), bars((size_t)2 * n * n);
		device::array<double> c_bar(weights((size_t)n * n));

		LAUNCH(forward, s.blocks, dim3(TILE, TILE), arena, all.data, all.data + n * n,
		       c.data, n);
		LAUNCH(reverse_tanh, s.blocks, dim3(TILE, TILE), arena, c_bar.data);
		LAUNCH(reverse_product, s.blocks, dim3(TILE, TILE), all.data, all.data + n * n,
		       c_bar.data, n, bars.data, bars.data + n * n);
		gradient = bars.host();
	});
	return gradient_error(input, gradient,
			      [&](const std::vector<double> &x) { return objective(s, x, n); },
			      1e-5);
}

} // namespace matmul

#endif
