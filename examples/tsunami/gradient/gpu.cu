/* SPDX-License-Identifier: MIT */
/*
 * One source for nvcc and for the emulator (tests/helpers/). Rows are dealt to the blocks of a
 * launch, the columns of a row to the threads of its block, so that a thread has the same cells in
 * all kernels and pops its own values. Each kernel gathers and writes its own cells: the gradient
 * is the same to the last bit in any order of threads, and equal to the CPU's where neither
 * compiler contracts products and sums.
 */
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <math.h>
#include <utility>
#include <vector>

#ifdef __CUDACC__
#include <cuda_runtime.h>
#else
#include "helpers/emulator.h"
#endif

#define STAGE __device__
#define STAGE_HELPER __host__ __device__
#define EACH_ROW(j, first, last)                                                                   \
	for (int j = (first) + (int)blockIdx.x; j < (last); j += (int)gridDim.x)
#define EACH_COLUMN(i, columns) for (int i = (int)threadIdx.x; i < (columns); i += (int)blockDim.x)
#define VECTOR_LOOP
#define _Noreturn __attribute__((noreturn))

extern "C" {
#include "gpu.h"
#include "common/progress.h"
#include "common/report.h"
}

#define DEVICE_STOP(what, why) fail("--device cuda: %s: %s; --device cpu does without", what, why)
#include "../../gpu/device.h"

namespace stages {
#include "model/shallow.c"
#include "adjoint.c"
} // namespace stages

#ifndef MAX_BLOCK_THREADS
#define MAX_BLOCK_THREADS 256
#endif
#define SLAB_BYTES (64 << 10)
#define WARP 32
/* Words of a lane in a row of the tapes, and so the rows that a cell takes. */
#define WORD_BYTES sizeof(double)
#define CELL_ROWS ((int64_t)(sizeof(struct cell) / WORD_BYTES))
/* The part of the device's free memory that tapes may take. */
#define MEMORY_PART 0.75
#define STATES 4 /* of struct gpu */

/* ---- Kernels ---- */

namespace tsunami {

/* The record of a cell and a step on the tape. */
struct cell {
	double elevation, u, v;
};

/* The model on the device, and the depth. */
struct sea {
	struct model model;
	struct grid grid;
	const double *depth;

	REEL_DEVICE ptrdiff_t gauge() const
	{
		return grid_row(&grid, model.gauge_row) + model.gauge_column;
	}
	/* Whether it is a cell of this thread. */
	REEL_DEVICE bool has_gauge() const
	{
		return (unsigned)model.gauge_row % gridDim.x == blockIdx.x &&
		       (unsigned)model.gauge_column % blockDim.x == threadIdx.x;
	}
};

/* A kernel's own copy, which stays in registers as long as nothing points to itself. */
REEL_DEVICE struct model placed(struct model model, const struct grid *grid)
{
	model.grid = grid;
	return model;
}

__global__ void look_for_dry_cells(sea s, struct state now, int *dry, int mark)
{
	const struct grid grid = s.grid;
	const struct model model = placed(s.model, &grid);

	if (!stages::primal_is_wet(&model, s.depth, &now, 0, grid.rows))
		atomicMax(dry, mark);
}

__global__ void transport(sea s, struct state now, struct diagnostics on_the_way)
{
	const struct grid grid = s.grid;
	const struct model model = placed(s.model, &grid);

	stages::primal_transport(&model, s.depth, &now, &on_the_way, 0, grid.rows);
}

/* Whole warps push, since lanes that are equally high write a row together. */
REEL_DEVICE int whole_warps(int columns)
{
	return (columns + WARP - 1) / WARP * WARP;
}

/*
 * Computes the transports as transport() does, and pushes the values that the reversal of this step
 * needs.
 */
__global__ void record(reel_device_arena arena, bool is_first, sea s, struct state now,
		       struct diagnostics on_the_way)
{
	const struct grid grid = s.grid;
	const struct model model = placed(s.model, &grid);
	reel_device_tape<> tape;

	if (is_first)
		tape.open(arena);
	else
		tape.resume(arena);
	EACH_ROW (j, 0, grid.rows) {
		ptrdiff_t here = grid_row(&grid, j);

		EACH_COLUMN (i, whole_warps(grid.columns)) {
			cell pushed = {};

			if (i < grid.columns)
				pushed = cell{now.elevation[here + i], now.u[here + i],
					      now.v[here + i]};
			tape.push(pushed);
		}
	}
	tape.save();
	stages::primal_transport(&model, s.depth, &now, &on_the_way, 0, grid.rows);
}

__global__ void continuity(sea s, struct state now, struct state next,
			   struct diagnostics on_the_way, double *gauge)
{
	const struct grid grid = s.grid;
	const struct model model = placed(s.model, &grid);

	stages::primal_continuity(&model, &now, &next, &on_the_way, 0, grid.rows);
	if (s.has_gauge())
		*gauge = next.elevation[s.gauge()];
}

__global__ void momentum(sea s, struct state now, struct state next, struct diagnostics on_the_way)
{
	const struct grid grid = s.grid;
	const struct model model = placed(s.model, &grid);

	stages::primal_momentum(&model, s.depth, &now, &next, &on_the_way, 0, grid.rows);
}

/* The last of the numbers from `first` on, in steps of `stride`, that is below `end`. */
REEL_DEVICE int last_below(int first, int stride, int end)
{
	return first < end ? first + (end - 1 - first) / stride * stride : -1;
}

/* Pops the state before the step, for all to read; adds the objective's term to the adjoint. */
__global__ void restore(reel_device_arena arena, sea s, struct state now, struct state adjoint,
			const double *weight)
{
	const struct grid grid = s.grid;
	reel_device_tape<> tape;
	int row = (int)blockIdx.x, rows = (int)gridDim.x;
	int column = (int)threadIdx.x, columns = (int)blockDim.x;

	tape.resume(arena);
	for (int j = last_below(row, rows, grid.rows); j >= 0; j -= rows) {
		ptrdiff_t here = grid_row(&grid, j);
		int last = last_below(column, columns, whole_warps(grid.columns));

		for (int i = last; i >= 0; i -= columns) {
			cell popped = tape.pop<cell>();

			if (i >= grid.columns)
				continue;
			now.elevation[here + i] = popped.elevation;
			now.u[here + i] = popped.u;
			now.v[here + i] = popped.v;
		}
	}
	tape.save();
	if (s.has_gauge())
		adjoint.elevation[s.gauge()] += *weight;
}

__global__ void reverse_momentum(sea s, struct state now, struct state next, struct state adjoint,
				 struct diagnostics on_the_way, struct sensitivities owed)
{
	const struct grid grid = s.grid;
	const struct model model = placed(s.model, &grid);

	stages::primal_transport(&model, s.depth, &now, &on_the_way, 0, grid.rows);
	stages::adjoint_momentum(&model, s.depth, &now, &next, &adjoint, &owed, 0, grid.rows);
}

__global__ void reverse_continuity(sea s, struct state now, struct state adjoint,
				   struct diagnostics on_the_way, struct sensitivities owed)
{
	const struct grid grid = s.grid;
	const struct model model = placed(s.model, &grid);

	stages::adjoint_continuity(&model, s.depth, &now, &on_the_way, &adjoint, &owed, 0,
				   grid.rows);
}

__global__ void reverse_transport(sea s, struct state now, struct state adjoint,
				  struct diagnostics on_the_way, struct sensitivities owed)
{
	const struct grid grid = s.grid;
	const struct model model = placed(s.model, &grid);

	stages::adjoint_transport(&model, s.depth, &now, &on_the_way, &adjoint, &owed, 0,
				  grid.rows);
}

__global__ void reverse_depth(sea s, struct state adjoint, struct sensitivities owed,
			      double *depth_gradient)
{
	const struct grid grid = s.grid;
	const struct model model = placed(s.model, &grid);

	stages::adjoint_depth(&model, &adjoint, &owed, depth_gradient, 0, grid.rows);
}

} // namespace tsunami

using namespace tsunami;

/* ---- Memory on the device ---- */

/* Fields that are taken from the device's memory together. */
struct fields {
	size_t elements;
	device::array<double> memory;
	size_t taken = 0;

	fields(size_t count, size_t each) : elements(each), memory(count * each)
	{
	}
	double *take()
	{
		return memory.data + elements * taken++;
	}
	const double *take(const double *host)
	{
		double *field = take();

		device::copy(field, host, elements * sizeof(double));
		return field;
	}
	/* One piece of memory. */
	struct state take_state()
	{
		double *elevation = take(), *u = take();

		return {elevation, u, take()};
	}
	struct diagnostics take_diagnostics()
	{
		double *x = take(), *y = take(), *vorticity = take();

		return {x, y, vorticity, take()};
	}
	struct sensitivities take_sensitivities()
	{
		double *field[9];

		for (double *&each : field)
			each = take();
		return {field[0], field[1], field[2], field[3], field[4],
			field[5], field[6], field[7], field[8]};
	}
};

/* The model's and the depth; states and the adjoint; diagnostics; sensitivities; the gradient. */
#define FIELDS (5 + 3 * (STATES + 1) + 4 + 9 + 1)

struct gpu {
	const struct model *host;
	device::array<row_metric> metric;
	device::array<double> gauge, weights;
	device::array<int> dry;
	fields all;
	sea here;
	double *depth;
	struct state now, other; /* of the sweep; the second one is its buffer */
	struct state before;     /* a segment, to run it again */
	struct state after;      /* the step reversed last, or the last of all */
	struct state adjoint;
	struct diagnostics on_the_way;
	struct sensitivities owed;
	double *depth_gradient;
	device::tapes tapes;
	uint64_t bound; /* bytes of the tapes, 0: none but the device's */
	unsigned blocks, threads;
	double *record_of_gauge;
	int64_t known; /* steps that have been run before */
	int64_t dry_step, max_steps;
	uint64_t repeats;

	gpu(const struct model *model, uint64_t tape_bytes);

	size_t state_bytes() const
	{
		return 3 * all.elements * sizeof(double);
	}
	uint64_t warps() const
	{
		return (uint64_t)blocks * threads / WARP;
	}
	int64_t cells_of_lane() const
	{
		int64_t rows = (host->grid->rows + (int)blocks - 1) / (int)blocks;

		return rows * ((host->grid->columns + (int)threads - 1) / (int)threads);
	}
};

/* The number of threads for a row: its columns, in equal parts of at most a block's threads. */
static unsigned threads_for(int columns)
{
	int parts = (columns + MAX_BLOCK_THREADS - 1) / MAX_BLOCK_THREADS;

	return (unsigned)(((columns + parts - 1) / parts + WARP - 1) / WARP * WARP);
}

gpu::gpu(const struct model *model, uint64_t tape_bytes)
    : host(model), metric((size_t)model->grid->rows + 2), gauge((size_t)model->steps),
      weights((size_t)model->steps), dry(1), all(FIELDS, grid_elements(model->grid)),
      here{*model, *model->grid, nullptr}, tapes(0, SLAB_BYTES, tape_bytes, WORD_BYTES),
      bound(tape_bytes), record_of_gauge(nullptr), known(0), dry_step(-1), max_steps(0), repeats(0)
{
	unsigned most;

	device::copy(metric.data, model->grid->metric - 1, metric.n * sizeof(row_metric));
	here.grid.metric = metric.data + 1;
	here.model.wet = all.take(model->wet);
	here.model.open_east = all.take(model->open_east);
	here.model.open_north = all.take(model->open_north);
	here.model.sponge = all.take(model->sponge);
	here.depth = depth = all.take();
	now = all.take_state();
	other = all.take_state();
	before = all.take_state();
	after = all.take_state();
	adjoint = all.take_state();
	on_the_way = all.take_diagnostics();
	owed = all.take_sensitivities();
	depth_gradient = all.take();

	threads = threads_for(model->grid->columns);
	most = reel_arena_threads(tapes.arena) / threads;
	blocks = std::min((unsigned)model->grid->rows, std::max(most, 1u));
}

/* ---- Sweeps ---- */

#define LAUNCH_ALL(kernel, ...) LAUNCH(tsunami::kernel, g.blocks, g.threads, __VA_ARGS__)

/* So that the first of several steps has the largest. */
static int dry_mark(const gpu &g, int64_t step)
{
	return (int)(g.host->steps + 1 - step);
}

static void look(gpu &g, struct state now, int64_t step)
{
	if (step_is_checked(g.host, step))
		LAUNCH_ALL(look_for_dry_cells, g.here, now, g.dry.data, dry_mark(g, step));
}

/* Run steps first to last - 1, with an arena recorded. */
static void launch_steps(gpu &g, struct state &now, int64_t first, int64_t last,
			 const reel_device_arena *arena)
{
	for (int64_t step = first; step < last; step++) {
		look(g, now, step);
		if (arena)
			LAUNCH_ALL(record, *arena, step == first, g.here, now, g.on_the_way);
		else
			LAUNCH_ALL(transport, g.here, now, g.on_the_way);
		LAUNCH_ALL(continuity, g.here, now, g.other, g.on_the_way, g.gauge.data + step);
		LAUNCH_ALL(momentum, g.here, now, g.other, g.on_the_way);
		std::swap(now, g.other);
		if (step >= g.known)
			progress_show("forward sweep", (int)step + 1, g.host->steps);
	}
	g.known = std::max(g.known, last);
	look(g, now, last);
}

static void copy_state(const gpu &g, const struct state &to, const struct state &from)
{
	device::copy(to.elevation, from.elevation, g.state_bytes());
}

/*
 * Steps are launched before it is known whether all cells stay wet: go back to where one did not.
 */
static int stop_if_dry(gpu &g, struct state &now, int64_t first)
{
	int mark = g.dry.host()[0];

	if (mark == 0)
		return 0;
	g.dry_step = g.host->steps + 1 - mark;
	copy_state(g, now, g.before);
	launch_steps(g, now, first, g.dry_step, nullptr);
	return -EDOM;
}

/* After the launches. */
static int conclude(gpu &g, struct state &now, int64_t first, int64_t last)
{
	int error = stop_if_dry(g, now, first);

	device::copy(g.record_of_gauge + first, g.gauge.data + first,
		     (size_t)(last - first) * sizeof(double));
	return error;
}

static int advance(void *context, void *state, int64_t first, int64_t last)
{
	gpu &g = *static_cast<gpu *>(context);
	struct state &now = *static_cast<struct state *>(state);

	copy_state(g, g.before, now);
	launch_steps(g, now, first, last, nullptr);
	return conclude(g, now, first, last);
}

static int record_steps(void *context, void *state, int64_t first, int64_t last, reel_tape *)
{
	gpu &g = *static_cast<gpu *>(context);
	struct state &now = *static_cast<struct state *>(state);
	int result;

	copy_state(g, g.before, now);
	for (;;) {
		result = g.tapes.attempt([&](reel_device_arena arena) {
			launch_steps(g, now, first, last, &arena);
		});
		if (result <= 0)
			break;
		g.repeats++;
		copy_state(g, now, g.before);
	}
	if (result < 0)
		fail("--device cuda: the tapes of %lld steps: %s; choose a shorter --segment, or "
		     "--checkpoint binomial:16", (long long)(last - first), reel_error_text(0));
	g.max_steps = std::max(g.max_steps, last - first);
	return conclude(g, now, first, last);
}

static int reverse_steps(void *context, void *, int64_t first, int64_t last, reel_tape *)
{
	gpu &g = *static_cast<gpu *>(context);
	int result = g.tapes.attempt([&](reel_device_arena arena) {
		for (int64_t step = last; step-- > first;) {
			LAUNCH_ALL(restore, arena, g.here, g.other, g.adjoint,
				   (const double *)g.weights.data + step);
			LAUNCH_ALL(reverse_momentum, g.here, g.other, g.after, g.adjoint,
				   g.on_the_way, g.owed);
			LAUNCH_ALL(reverse_continuity, g.here, g.other, g.adjoint, g.on_the_way,
				   g.owed);
			LAUNCH_ALL(reverse_transport, g.here, g.other, g.adjoint, g.on_the_way,
				   g.owed);
			LAUNCH_ALL(reverse_depth, g.here, g.adjoint, g.owed, g.depth_gradient);
			std::swap(g.other, g.after);
			progress_show("reverse sweep", g.host->steps - (int)step, g.host->steps);
		}
	});

	if (result)
		device::stop("tapes", reel_error_text(0));
	return 0;
}

static int save(void *context, const void *state, void *snapshot)
{
	const struct state *now = static_cast<const struct state *>(state);

	device::copy(snapshot, now->elevation, static_cast<gpu *>(context)->state_bytes());
	return 0;
}

static int load(void *context, void *state, const void *snapshot)
{
	const struct state *now = static_cast<const struct state *>(state);

	device::copy(now->elevation, snapshot, static_cast<gpu *>(context)->state_bytes());
	return 0;
}

/* ---- The calls ---- */

static struct gpu *open_gpu(const struct model *model, uint64_t tape_bytes)
{
	device::open();
	return new gpu(model, tape_bytes);
}

static void close_gpu(struct gpu *g)
{
	delete g;
}

static reel_arena_report read_arena(gpu &g)
{
	reel_arena_report report;

	if (reel_arena_read(g.tapes.arena, device::tapes::stream(), &report))
		device::stop("tapes", reel_error_text(0));
	return report;
}

/* The first row of a slab says which slab it is. */
#define SLAB_ROWS (SLAB_BYTES / WARP / (int64_t)WORD_BYTES - 1)

/* Slabs without rows in an arena of `slabs` slabs: they hold its lists. */
static uint64_t slabs_besides(const reel_arena_report &report, uint64_t slabs)
{
	return report.bytes / SLAB_BYTES - report.slabs + slabs * sizeof(uint32_t) / SLAB_BYTES + 1;
}

/* Each warp is taken to have as much as the fullest. */
static int64_t fitting_steps(struct gpu *g)
{
	reel_arena_report report = read_arena(*g);
	double most = MEMORY_PART * (double)(device::unused_bytes() + report.bytes);
	uint64_t all = (uint64_t)most / SLAB_BYTES, besides = slabs_besides(report, all);
	uint64_t slabs = all > besides ? all - besides : 0;

	if (g->bound)
		slabs = report.slabs;
	return (int64_t)(slabs / g->warps()) * SLAB_ROWS / (g->cells_of_lane() * CELL_ROWS);
}

static void reserve(struct gpu *g, int64_t steps)
{
	reel_arena_report report = read_arena(*g);
	int64_t rows = steps * g->cells_of_lane() * CELL_ROWS;

	report.slabs_needed = g->warps() * (uint64_t)((rows + SLAB_ROWS - 1) / SLAB_ROWS);
	if (report.slabs_needed <= report.slabs)
		return;
	report.bytes_needed = report.slabs_needed + slabs_besides(report, report.slabs_needed);
	report.bytes_needed *= SLAB_BYTES;
	if (reel_arena_grow(g->tapes.arena, &report))
		device::stop("tapes", reel_error_text(0));
}

static reel_model model_of(const struct gpu *g)
{
	reel_model model = {};

	model.state_bytes = g->state_bytes();
	model.advance = advance;
	model.record = record_steps;
	model.reverse = reverse_steps;
	model.save = save;
	model.load = load;
	return model;
}

static void *start(struct gpu *g, const struct controls *controls, double *gauge)
{
	size_t bytes = g->all.elements * sizeof(double);

	device::copy(g->depth, controls->depth, bytes);
	device::zero(g->now.elevation, g->state_bytes());
	device::copy(g->now.elevation, controls->displacement, bytes);
	g->dry.clear();
	g->dry_step = -1;
	g->known = 0;
	g->record_of_gauge = gauge;
	return &g->now;
}

static void *turn(struct gpu *g, const double *weights)
{
	size_t bytes = g->all.elements * sizeof(double);

	device::copy(g->weights.data, weights, g->weights.n * sizeof(double));
	device::zero(g->adjoint.elevation, g->state_bytes());
	device::zero(g->depth_gradient, bytes);
	std::swap(g->now, g->after);
	return &g->adjoint;
}

static void finish(struct gpu *g, struct controls *gradient)
{
	size_t bytes = g->all.elements * sizeof(double);

	device::copy(gradient->displacement, g->adjoint.elevation, bytes);
	device::copy(gradient->depth, g->depth_gradient, bytes);
	for (size_t k = 0; k < g->all.elements; k++) {
		gradient->displacement[k] *= g->host->wet[k];
		gradient->depth[k] *= g->host->wet[k];
	}
}

static int64_t dry_step(const struct gpu *g, struct state *state)
{
	size_t bytes = g->all.elements * sizeof(double);

	if (g->dry_step >= 0)
		device::copy(state->elevation, g->now.elevation, bytes);
	return g->dry_step;
}

static struct gpu_use use(struct gpu *g)
{
	uint64_t cells = (uint64_t)g->host->grid->rows * (uint64_t)g->host->grid->columns;

	return {device::name(), cells * sizeof(cell) * (uint64_t)g->max_steps,
		read_arena(*g).bytes, g->repeats};
}

extern "C" const struct gpu_calls *gpu_built_in(void)
{
	static const struct gpu_calls calls = {open_gpu, close_gpu, fitting_steps,
					       reserve,  model_of,  start,
					       turn,     finish,    dry_step,
					       use};

	return &calls;
}
