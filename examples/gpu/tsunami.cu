/* SPDX-License-Identifier: MIT */
/*
 * The tsunami's gradient (examples/tsunami) on a device against the CPU's, in an idealised basin.
 * Compiled by nvcc it runs on a GPU and also prints the cost of the gradient there; by a C++
 * compiler, behind the emulator. A line for each check, in the Test Anything Protocol, says which.
 */
#include <string>

#include <getopt.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#ifndef __CUDACC__
#define MAX_BLOCK_THREADS 32 /* fewer than a row has columns */
#endif
#include "gradient/gpu.cu"

/* In C a function may have the name of a struct. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wshadow"
extern "C" {
#include "model/basin.h"
#include "gradient/objective.h"
#include "program/options.h"
#include "common/parallel.h"
#include "gradient/reversal.h"
#include "gradient/sweep.h"
#include "program/verify.h"
}
#pragma GCC diagnostic pop

namespace {

int checks, failures;
int threads = 1; /* of the CPU */

#ifdef __CUDACC__
const char *where()
{
	static char words[300];

	snprintf(words, sizeof words, "ran on %s", device::name());
	return words;
}

const struct region tested = {160, 220, -5, 35};
const int tested_steps = 200;
/* A slab for each warp, and not two. */
const uint64_t scarce = (uint64_t)SLAB_BYTES * 500;
#else
const char *where()
{
	return "emulated";
}

bool is_brief()
{
	const char *full = getenv("TEST_LONG");

	return !full || !*full;
}

const struct region tested = {160, 178, -2, 2};
const int tested_steps = 31;
const uint64_t scarce = (uint64_t)SLAB_BYTES * 6;
#endif

const double tested_minutes = 30;

void ok(bool passed, const char *what)
{
	printf("%s %d - %s: %s\n", passed ? "ok" : "not ok", ++checks, where(), what);
	failures += !passed;
}

/* ---- A setting: a basin with an earthquake, and the gradient of its wave on the CPU ---- */

typedef std::vector<double> numbers;

struct result {
	numbers displacement, depth, gauge;

	bool operator==(const result &other) const
	{
		return is_same(displacement, other.displacement) && is_same(depth, other.depth) &&
		       is_same(gauge, other.gauge);
	}
	static bool is_same(const numbers &x, const numbers &y)
	{
		return x.size() == y.size() &&
		       memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
	}
};

struct setting {
	struct basin basin;
	struct model model;
	numbers displacement;
	struct controls controls;
	numbers weights; /* none is 0, so that the gradient has all steps in it */

	setting(struct region region, double minutes, int steps);
	~setting()
	{
		basin_destroy(&basin);
	}
	setting(const setting &) = delete;
	setting &operator=(const setting &) = delete;

	result empty() const
	{
		numbers field(grid_elements(&basin.grid));

		return {field, field, numbers((size_t)model.steps)};
	}
	template <class Sweeps> result by(Sweeps sweeps) const
	{
		result r = empty();
		struct controls gradient = {r.displacement.data(), r.depth.data()};

		sweeps(r.gauge.data(), &gradient);
		return r;
	}
	result on_cpu() const;
	result by_options(const std::vector<const char *> &more,
			  struct checkpointing_use *use) const;
	result by_calls(uint64_t tape_bytes, uint64_t *repeats) const;
};

setting::setting(struct region region, double minutes, int steps)
    : basin(basin_idealised(grid_create(region, minutes), 50)), model(),
      displacement(grid_elements(&basin.grid)), controls{displacement.data(), basin.depth}
{
	struct place epicentre = idealised_source(region), place = idealised_gauge(region);
	struct earthquake earthquake = {epicentre, 8.5, 30};

	source_displace(&earthquake, &basin, displacement.data());
	model.grid = &basin.grid;
	model.time_step = 0.8 * basin_longest_time_step(&basin);
	model.steps = steps;
	model.drag = 2.5e-3;
	model.min_speed = 1e-2;
	model.viscosity = 1e3;
	model.wet = basin.wet;
	model.open_east = basin.open_east;
	model.open_north = basin.open_north;
	model.sponge = basin.sponge;
	basin_locate(&basin, place, &model.gauge_column, &model.gauge_row);
	basin_nearest_wet(&basin, place, &model.gauge_column, &model.gauge_row);
	for (int n = 0; n < steps; n++)
		weights.push_back(1 + 0.5 * cos(n));
}

result setting::on_cpu() const
{
	return by([&](double *gauge, struct controls *gradient) {
		struct tapes *tapes = tapes_open(0, nullptr);

		forward_sweep(&model, &controls, threads, tapes, gauge);
		reverse_sweep(&model, controls.depth, threads, tapes, weights.data(), gradient);
		tapes_close(tapes);
	});
}

/* The options of a run on a device, and more of them. */
struct options read(std::vector<const char *> more)
{
	std::vector<char *> arguments;

	more.insert(more.begin(), {"tsunami", "--device", "cuda"});
	for (const char *each : more)
		arguments.push_back(const_cast<char *>(each));
	arguments.push_back(nullptr);
	optind = 0;
	return options_read((int)more.size(), arguments.data());
}

/* As the program does it that is given these options. */
result setting::by_options(const std::vector<const char *> &more,
			   struct checkpointing_use *use) const
{
	struct options options = read(more);
	struct checkpointing *run = checkpointing_open(&options, &model);
	result r = by([&](double *gauge, struct controls *gradient) {
		checkpointing_forward(run, &controls, gauge);
		checkpointing_reverse(run, weights.data(), gradient);
	});
	*use = checkpointing_use(run);
	checkpointing_close(run);
	return r;
}

/* All steps on tapes that begin with `tape_bytes` of memory. */
result setting::by_calls(uint64_t tape_bytes, uint64_t *repeats) const
{
	const struct gpu_calls *calls = gpu_built_in();
	struct gpu *gpu = calls->open(&model, tape_bytes);
	reel_model steps = calls->model(gpu);
	result r = by([&](double *gauge, struct controls *gradient) {
		void *state = calls->start(gpu, &controls, gauge);

		steps.record(gpu, state, 0, model.steps, nullptr);
		steps.reverse(gpu, calls->turn(gpu, weights.data()), 0, model.steps, nullptr);
		calls->finish(gpu, gradient);
	});

	*repeats = calls->use(gpu).repeats;
	calls->close(gpu);
	return r;
}

/* ---- Checks ---- */

/* The end of a run that ends the program, in its own process; a sanitizer may print text before. */
struct ending {
	int status;
	std::string words;
};

/* Without the handlers registered by atexit(), which are not made for a forked child. */
void leave()
{
	_exit(EXIT_UNUSABLE);
}

template <class Run> ending end_of(Run run)
{
	ending end = {-1, ""};
	int said[2], status;
	char piece[200];
	ssize_t bytes;
	pid_t child;

	if (pipe(said))
		return end;
	fflush(stdout);
	child = fork();
	if (child == 0) {
		dup2(said[1], STDERR_FILENO);
		set_failure_cleanup(leave);
		run();
		_exit(0);
	}
	::close(said[1]);
	while ((bytes = ::read(said[0], piece, sizeof piece)) > 0)
		end.words.append(piece, (size_t)bytes);
	::close(said[0]);
	waitpid(child, &status, 0);
	end.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	/* A sanitizer may have said something before. */
	if (end.words.find("example: ") != std::string::npos)
		end.words.erase(0, end.words.find("example: "));
	return end;
}

/* First: a process that has used a device, or a team of threads, cannot have a child that does. */
void check_dry()
{
	setting s(tested, tested_minutes, 101);
	ending here, there;

	s.model.time_step *= 3; /* which is not stable */
	here = end_of([&] { s.on_cpu(); });
	there = end_of([&] {
		struct checkpointing_use use;

		s.by_options({"--checkpoint", "binomial:2", "--segment", "5"}, &use);
	});
	ok(here.status == EXIT_UNUSABLE && here.words.find("total depth") != std::string::npos,
	   "a cell falls dry on the CPU");
	ok(there.status == EXIT_UNUSABLE && there.words == here.words,
	   "the same cell falls dry after the same step, in the same words");
	if (there.words != here.words)
		printf("#   %s#   %s", here.words.c_str(), there.words.c_str());
}

void check_gradient(const setting &s, const result &reference)
{
	uint64_t repeats;

	ok(s.by_calls(0, &repeats) == reference,
	   "the gradient and the gauge's record are those of the CPU, to the last bit");
	ok(s.by_calls(scarce, &repeats) == reference && repeats == 1,
	   "tapes that had too little memory have what they need when the steps are run again");
#ifndef __CUDACC__
	bool same = true;

	for (uint64_t seed = 1000; seed < (is_brief() ? 2000 : 5000); seed += 1000) {
		device::seed() = seed;
		same = same && s.by_calls(0, &repeats) == reference;
	}
	ok(same, "in any order of the lanes the gradient is the same, to the last bit");
#endif
}

bool is_as_planned(const struct checkpointing_use &use)
{
	const struct counts &planned = use.planned, &done = use.done;

	return done.advanced == planned.advanced && done.recorded == planned.recorded &&
	       done.reversed == planned.reversed && done.stores[0] == planned.stores[0] &&
	       done.loads[0] == planned.loads[0];
}

void check_checkpointing(const setting &s, const result &reference)
{
	int64_t steps = s.model.steps, cells = s.basin.grid.rows * s.basin.grid.columns;
	char bytes[32];
	struct checkpointing_use use;
	bool same = s.by_options({}, &use) == reference;

	ok(same && use.layout.segments == 1 && use.gpu.repeats == 0 &&
		   use.gpu.tape_bytes == (uint64_t)(24 * cells * steps),
	   "all steps are on the tapes where those fit");
	same = s.by_options({"--checkpoint", "binomial:2", "--segment", "4", "--audit"}, &use) ==
	       reference;
	ok(same && use.done.advanced > 0 && is_as_planned(use) &&
		   use.gpu.tape_bytes == (uint64_t)(24 * cells * 4),
	   "with two states and segments of four steps the gradient is the same, as planned");
	same = s.by_options({"--checkpoint", "online:3", "--segment", "3"}, &use) == reference;
	ok(same && use.done.stores[0] > 0, "and where the end is met on the way");
	snprintf(bytes, sizeof bytes, "%llu", (unsigned long long)scarce);
	same = s.by_options({"--budget", bytes}, &use) == reference;
	ok(same && use.layout.planner == REEL_BINOMIAL && use.layout.segments > 1 &&
		   use.gpu.repeats == 0 && use.gpu.memory_bytes <= scarce,
	   "where the tapes do not fit into the budget states are kept, and it is kept to");
	if (!same || use.layout.segments < 2 || use.gpu.repeats)
		printf("#   %lld segments of %lld steps, %llu repeated, %llu bytes\n",
		       (long long)use.layout.segments, (long long)use.layout.segment,
		       (unsigned long long)use.gpu.repeats,
		       (unsigned long long)use.gpu.memory_bytes);
}

#ifndef __CUDACC__
/* More than an arena has that is opened with no number: eight slabs for each warp. */
void check_reserve()
{
	setting s(tested, tested_minutes, 240);
	struct checkpointing_use use;
	bool same = s.by_options({}, &use) == s.on_cpu();

	ok(same && use.gpu.repeats == 0 && use.gpu.memory_bytes > (uint64_t)SLAB_BYTES * 33,
	   "what the tapes need is reserved, and no step is run again for want of it");
}
#endif

void check_verification(const setting &s)
{
	struct options options = read({"--checkpoint", "binomial:3", "--segment", "7"});
	struct reversal reversal = reversal_open(&options, &s.model);
	struct verification verification = {};

	s.by([&](double *gauge, struct controls *gradient) {
		numbers derivative((size_t)s.model.steps), primal((size_t)s.model.steps);

		reversal_primal(&reversal, &s.controls, primal.data());
		reversal_forward(&reversal, &s.controls, gauge);
		ok(memcmp(primal.data(), gauge, primal.size() * sizeof(double)) == 0,
		   "a run without tapes has the same record");
		objective_weights(&s.model, gauge, 1, derivative.data());
		reversal_reverse(&reversal, &s.controls, derivative.data(), gradient);
		verification = verify_gradient(&s.model, &s.controls, gauge, gradient, threads,
					       &reversal);
	});
	reversal_close(&reversal);
	ok(verification_passed(&verification),
	   "Taylor remainders and dot products are as they should be");
	printf("#   slope %.4f, dot products %.1e apart\n", verification.taylor_slope,
	       verification.dot_product_error);
}

#ifdef __CUDACC__
/* Prints the cost of the gradient, for a basin large enough to occupy the device. */
void measure(const struct region &region, double minutes, int steps)
{
	setting s(region, minutes, steps);
	struct options options = read({});
	struct reversal reversal = reversal_open(&options, &s.model);
	double start, primal = HUGE_VAL, gradient_seconds = HUGE_VAL;

	s.by([&](double *gauge, struct controls *gradient) {
		for (int k = 0; k < 3; k++) {
			start = wall_time();
			reversal_primal(&reversal, &s.controls, gauge);
			primal = std::min(primal, wall_time() - start);
			start = wall_time();
			reversal_forward(&reversal, &s.controls, gauge);
			reversal_reverse(&reversal, &s.controls, s.weights.data(), gradient);
			gradient_seconds = std::min(gradient_seconds, wall_time() - start);
		}
	});
	reversal_close(&reversal);
	printf("# %d x %d cells, %d steps: primal %.3f s, gradient %.3f s: %.2f runs\n",
	       s.basin.grid.columns, s.basin.grid.rows, steps, primal, gradient_seconds,
	       gradient_seconds / primal);
}
#endif

} // namespace

int main()
{
#ifdef __CUDACC__
	int most = default_threads();
#endif

	setvbuf(stdout, nullptr, _IOLBF, 0);
	request_threads(threads);
	check_dry();
#ifdef __CUDACC__
	threads = request_threads(most);
#endif
	{
		setting s(tested, tested_minutes, tested_steps);
		result reference = s.on_cpu();

		check_gradient(s, reference);
		check_checkpointing(s, reference);
		check_verification(s);
	}
#ifndef __CUDACC__
	if (!is_brief())
		check_reserve();
#else
	measure(tested, 10, 400);
	measure(tested, 4, 400);
#endif
	device::close();
	printf("1..%d\n", checks);
	return failures > 0;
}
