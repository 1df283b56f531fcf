/* SPDX-License-Identifier: MIT */
/* Step 3: the tape is larger than the memory that it may take. */
#include <math.h>
#include <reel.h>
#include <stdio.h>

enum { N = 10000, STEPS = 1000, CREST = 2500, GAUGE = 2700 };

static void start(double *u)
{
	for (int i = 1; i <= N; i++)
		u[i] = 1 + exp(-pow((i - CREST) / 100.0, 2));
}

/* Without a tape, the primal alone. */
static void step(double *u, reel_tape *tape)
{
	u[0] = u[N];
	if (tape)
		reel_push_array(tape, u, N + 1);
	for (int i = N; i > 0; i--)
		u[i] -= 0.1 * u[i] * (u[i] - u[i - 1]);
}

static void step_reverse(double *u_bar, reel_tape *tape)
{
	static double old[N + 1];

	reel_pop_array(tape, old, N + 1);
	for (int i = 1; i <= N; i++) {
		u_bar[i - 1] += 0.1 * old[i] * u_bar[i];
		u_bar[i] *= 1 - 0.1 * (2 * old[i] - old[i - 1]);
	}
	u_bar[N] += u_bar[0];
	u_bar[0] = 0;
}

int main(void)
{
	static double u[N + 1], u_bar[N + 1];
	struct reel_pool_options options = {.hard_budget = 16 << 20};
	struct reel_pool_stats stats;
	double sum = 0;
	reel_pool *pool;
	reel_tape tape;

	if (reel_store_open(&options.store, "file", ".") || reel_pool_open(&pool, &options)) {
		fprintf(stderr, "%s\n", reel_error_text(0));
		return 1;
	}
	reel_tape_open(&tape, pool, 0);
	start(u);
	for (int i = 0; i < STEPS; i++)
		step(u, &tape);
	u_bar[GAUGE] = 1;
	for (int i = 0; i < STEPS; i++)
		step_reverse(u_bar, &tape);
	for (int i = 1; i <= N; i++)
		sum += u_bar[i];
	printf("J = %.17g, dJ/du = %.17g at the crest, %.17g in all\n", u[GAUGE], u_bar[CREST],
	       sum);
	reel_pool_get_stats(pool, &stats);
	printf("at most %.1f MiB in memory, %.1f MiB written to the disk\n",
	       stats.peak_resident_bytes / 1048576.0, stats.written_bytes / 1048576.0);
	if (reel_tape_error(&tape))
		return 1;
	reel_tape_close(&tape);
	reel_pool_close(pool);
	return 0;
}
