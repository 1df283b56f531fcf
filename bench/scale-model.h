/* SPDX-License-Identifier: MIT */
/*
 * What threads lose to each other at the pool's shared list: a closed queueing network. So
 * many customers, the threads, think (fill and drain the slabs of one chain, each by itself)
 * and are then served one at a time by one server (the list's head, for one take and one
 * give of a chain). Exact mean value analysis: Reiser and Lavenberg, "Mean-value analysis
 * of closed multichain queuing networks", J. ACM 27 (1980).
 */
#ifndef REEL_BENCH_SCALE_MODEL_H
#define REEL_BENCH_SCALE_MODEL_H

/* Any unit of time, the same for both; think >= 0, service > 0. */
struct scale_network {
	double think;
	double service;
};

struct scale_load {
	double cycle;       /* think, wait and be served */
	double throughput;  /* chains in a unit of time, by all customers together */
	double queue;       /* customers at the server, mean */
	double utilisation; /* the part of the time in which the server is busy */
};

/* With so many customers, at least 1. Takes time in proportion to them. */
struct scale_load scale_predict(struct scale_network network, int customers);

/*
 * With more threads than processors. One that does not run waits for a processor, not for
 * the list: no list without locks is held by who sleeps. So as many customers as processors,
 * and a cycle that is longer by threads / processors.
 */
struct scale_load scale_predict_shared(struct scale_network network, int threads,
				       int processors);

/* The time of thinking with which so many customers have this cycle; 0 if even none is too long. */
double scale_think(double cycle, double service, int customers);

#endif
