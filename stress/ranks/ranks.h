/* SPDX-License-Identifier: MIT */
/*
 * reel-stress-ranks: random programs of ranks that talk by MPI. A seed draws a list of operations,
 * the same one on all ranks. Each rank carries out its part, forward and in reverse, on a tape.
 * An oracle on rank 0, which has neither a tape nor messages, replays all ranks in one process and
 * compares the memory and the adjoints of each rank after each operation.
 *
 *	reel-stress-ranks.c  options; runs programs; failures and hangs
 *	compare.c            gathers the memory of all ranks, and compares it with the oracle
 *	program.c            draws a program: all that its seed chooses
 *	draw-exchange.c      the messages of an exchange
 *	draw-collective.c    the operands of collective calls
 *	print.c              a program in words
 *	memory.c             the memory of a rank, and datatypes over it
 *	local.c              statements that a rank calculates by itself
 *	steps.c              the order of a rank's calls in an exchange
 *	exchange.c           the calls of an exchange that wait, in both sweeps
 *	waits.c              requests that are waited for, in both sweeps
 *	collective.c         collective calls, in both sweeps
 *	oracle.c             replays all ranks in one process; oracle-reduce.c, their reductions
 *
 * Numbers. In an exact program all numbers are small integers, and are brought back to a small
 * range after each operation, adjoints too. So all sums are exact in each order, and comparison is
 * by equality. In a smooth program they are real, and the oracle is compared with differences.
 *
 * Choices of the run. A message that may be received in several places begins with a mark, the
 * number of its own. The oracle learns from it which receive took which message, and checks that
 * MPI allows that.
 */
#ifndef REEL_STRESS_RANKS_H
#define REEL_STRESS_RANKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <reel.h>
#include <reel/mpi.h>

enum {
	MAX_RANKS = 8,
	MAX_OPERATIONS = 16,
	MAX_MESSAGES = 40,
	MAX_COMMUNICATORS = 5,
	MAX_STATEMENTS = 12,
	MAX_UNITS = 64 /* of one slice */
};

/* ---- Memory (memory.c) ---------------------------------------------------------- */

struct mixed {
	int number;
	double value;
	float small[2];
	int unsent; /* not part of the datatype */
};

struct pair {
	double value;
	int number;
};

/* One unit of any kind, aligned as memory is. */
union any_unit {
	long double l[2];
	struct mixed s;
};

/* The memory of a rank, or its adjoint. */
struct memory {
	long double l[32];
	double d[160];
	struct mixed s[24];
	struct pair p[24];
	float f[64];
};

/* The kinds of units that datatypes are made of. */
enum kind { DOUBLES, FLOATS, LONGS, MIXED, PAIRS, COMPLEX, FLOAT_COMPLEX, LONG_COMPLEX, KINDS };

/* How a datatype arranges units of one kind. */
enum shape { PLAIN, CONTIGUOUS, VECTOR, INDEXED, STRUCT, RESIZED, SUBARRAY, LOW, SHAPES };

/* `count` elements of a datatype; the first one begins at unit `at` of its kind. */
struct slice {
	enum kind kind;
	enum shape shape;
	int at, count;
};

extern const char *const kind_names[KINDS], *const shape_names[SHAPES];

/* Number of units in an element of a shape, and from an element to the next one. */
int units_of(enum shape shape);
int extent_of(enum shape shape);
/* Number of units of a kind in the memory, and their bytes. */
int units_in_memory(enum kind kind);
size_t unit_bytes(enum kind kind);
/* The index of unit k of a slice. */
int unit_at(const struct slice *slice, int k);
void *unit(struct memory *memory, enum kind kind, int index);
/* Where MPI is told that a slice begins. */
void *place_of(struct memory *memory, const struct slice *slice);

/* The numbers of a unit: set all to 0; to += from; the first one. */
void zero_unit(void *to, enum kind kind);
void add_unit(void *to, const void *from, enum kind kind);
void set_first(void *to, enum kind kind, double value);
double get_first(const void *from, enum kind kind);
/* Copies the part of a unit that is in the datatype. */
void copy_unit(void *to, const void *from, enum kind kind);
/*
 * Returns true if two units have the same numbers, and integers; of the numbers, up to `tolerance`.
 */
bool is_unit_equal(const void *a, const void *b, enum kind kind, double tolerance);

/* Each number of the memory has an index. */
int number_of_leaves(void);
bool is_narrow(int leaf); /* a float */
double get_leaf(const struct memory *memory, int leaf);
void set_leaf(struct memory *memory, int leaf, double value);
/* Brings the numbers of the memory back to a small range. */
void wrap_memory(struct memory *memory);
/* The first kind and unit that differ. Returns whether there is one. */
bool find_difference(struct memory *a, struct memory *b, double tolerance, enum kind *kind,
		     int *index);

void make_datatypes(void);
void free_datatypes(void);
MPI_Datatype datatype(enum kind kind, enum shape shape);

/* ---- Random numbers (program.c) ---------------------------------------------------- */

struct random {
	uint64_t next;
};

struct random random_of(uint64_t seed, uint64_t a, uint64_t b);
int below(struct random *random, int bound);
bool one_in(struct random *random, int n);

/* ---- Programs (program.c) ------------------------------------------------------------ */

/* A communicator: which ranks of the world have which number in it. */
struct communicator {
	int size, member[MAX_RANKS];
	MPI_Comm comm; /* of this rank, if it is a member */
};

/* The number of a rank of the world in it, or -1. */
int number_in(const struct communicator *communicator, int world_rank);

enum sending {
	SEND, SSEND, BSEND, RSEND, ISEND, ISSEND, IBSEND, IRSEND, SEND_INIT, SSEND_INIT, SENDINGS
};
enum receiving { RECV, PROBE, MPROBE, IRECV, RECV_INIT, RECEIVINGS };

/* A shift: all ranks send and receive at once, by Sendrecv or Sendrecv_replace. */
enum shifting { NO_SHIFT, SENDRECV, REPLACE };

enum { NOBODY = -1 }; /* MPI_PROC_NULL */

struct message {
	int from, to, tag; /* numbers in the communicator */
	struct slice sent, received;
	enum sending sending;
	enum receiving receiving;
	bool any_source, any_tag, status;
	bool sent_early, received_early; /* a request that starts as the exchange begins */
	int mark; /* 0: it can be received in one place only */
	enum shifting shifting;
};

/* Messages in an order in which synchronous calls would not deadlock. */
struct exchange {
	uint64_t seed;
	int messages;
	struct message message[MAX_MESSAGES];
	bool receives_first; /* then a barrier, so that ready sends are allowed */
	bool barrier_after;
	int wait_after;	     /* requests of messages before this one are waited for there */
};

enum move { GATHER, GATHERV, SCATTER, SCATTERV, ALLGATHER, ALLGATHERV, ALLTOALL, ALLTOALLV,
	    ALLTOALLW, MOVES };

/* Senders and receivers of blocks; as in mpi/collective/collectives.c, but from the standard. */
struct move_pattern {
	bool rooted_send, rooted_receive; /* only the root sends; only the root receives */
	bool in_blocks, out_blocks;	  /* received, sent: one block for each rank */
	bool varying;
};
extern const struct move_pattern move_patterns[MOVES];

struct move_operation {
	enum move move;
	int root;
	bool in_place;
	struct slice sent[MAX_RANKS][MAX_RANKS];     /* of a rank, to each rank */
	struct slice received[MAX_RANKS][MAX_RANKS]; /* of a rank, from each rank */
};

enum reducing { REDUCE, ALLREDUCE, REDUCE_SCATTER, REDUCE_SCATTER_BLOCK, SCAN, EXSCAN, REDUCINGS };
enum operator { SUM, PROD, MIN, MAX, MINLOC, MAXLOC, OPERATORS };

struct reduction_operation {
	enum reducing reducing;
	enum operator operator;
	enum kind kind;
	bool in_place;
	int root, count, counts[MAX_RANKS];
	int operand[MAX_RANKS], result[MAX_RANKS]; /* the first unit */
};

struct statement {
	int to, left, right;
	int keep; /* 0: `to` is overwritten */
};

enum operation_kind { LOCAL, EXCHANGE, BCAST, BARRIER, MOVE, REDUCTION, OPERATION_KINDS };

struct operation {
	enum operation_kind kind;
	int communicator;
	int same_as; /* an exchange that is repeated: the operation that it repeats, or itself */
	struct exchange exchange;
	struct move_operation move;
	struct reduction_operation reduction;
	struct {
		int root;
		struct slice slice[MAX_RANKS];
	} bcast;
	int statements;
	struct statement statement[MAX_RANKS][MAX_STATEMENTS];
};

struct program {
	uint64_t seed;
	int ranks;
	bool smooth; /* real numbers; otherwise all are small integers */
	unsigned tape_flags;
	bool spilled;
	int rehearsal; /* number of operations that run first without a tape */
	bool on_one_rank;
	int root; /* of the objective */
	int communicators;
	struct communicator communicator[MAX_COMMUNICATORS];
	int operations;
	struct operation operation[MAX_OPERATIONS];
};

extern struct program program;

void draw_program(uint64_t seed, int ranks);
/* The numbers that a rank begins with, and the weights of the objective. */
void set_beginning(struct memory *memory, int rank);
double weight_of(int rank, int leaf);
void print_program(int operations);
void print_operation(int index);

/* Memory that an operation uses, while it is drawn. */
struct usage {
	unsigned char used[MAX_RANKS][sizeof(struct memory)]; /* FREE, READ, WRITTEN */
};

/*
 * Finds memory of a rank for a slice of `units` units of its kind and shape; sets `at` and `count`.
 * `shared`: several messages may be sent from it. Returns false: there is none left.
 */
bool find_room(struct usage *usage, struct random *random, int rank, struct slice *slice, int units,
	       bool shared);
/* Contiguous memory: the first unit, or -1. */
int find_area(struct usage *usage, struct random *random, int rank, enum kind kind, int units);

void draw_exchange(struct exchange *exchange, const struct communicator *c, struct random *random,
		   int tag);
/* False: there is not enough memory for the operation that was drawn. */
bool draw_move(struct move_operation *move, const struct communicator *c, struct random *random);
bool draw_reduction(struct reduction_operation *r, const struct communicator *c,
		    struct random *random);
bool draw_bcast(struct operation *operation, const struct communicator *c, struct random *random);
enum kind draw_kind(struct random *random);

/* ---- Running -------------------------------------------------------------------------- */

/* The current operation of a rank; printed if the rank fails or hangs. */
struct whereabouts {
	int rank, ranks, operation;
	bool reverse;
	const char *volatile doing;
	int message;
};
extern struct whereabouts whereabouts;

/* Ends the program on all ranks, with the seed and the operations. */
void fail(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* Fails if a call of the library did. */
void must(int error, const char *call);

/* Which message each receive of an exchange took; for the oracle. */
struct decided {
	signed char taken[MAX_OPERATIONS][MAX_MESSAGES];
};
extern struct decided decided;

/* A log of the results of waits in the forward sweep, which the reverse sweep must repeat. */
void log_push(int entry);
int log_pop(void);
int log_height(void);
void log_reset(int height);

/* The calls of a rank in an operation; `x` is the memory or its adjoint. */
void run_local(const struct operation *o, int rank, reel_tape *tape, struct memory *x,
	       bool reverse);
void run_exchange(int index, reel_tape *tape, struct memory *x, bool reverse);
/* Forgets the requests of the program before. */
void forget_exchanges(void);
void run_collective(const struct operation *o, reel_tape *tape, struct memory *x, bool reverse);

/* ---- Steps of an exchange (steps.c) ------------------------------------------------------ */

enum action { CALL_SEND, CALL_RECEIVE, CALL_SHIFT, START_SEND, START_RECEIVE, WAIT, CALL_BARRIER };
enum waiting { WAIT_EACH, WAITALL, WAITANY, WAITSOME, TEST, WAITINGS };

/* Requests that are waited for together. */
struct wait_set {
	enum waiting waiting;
	bool statuses;
	bool once_more; /* after all have ended */
	int n;
	int message[2 * MAX_MESSAGES]; /* -1: a null request */
	bool receive[2 * MAX_MESSAGES];
	struct reel_mpi_request forward[2 * MAX_MESSAGES], back[2 * MAX_MESSAGES];
};

struct step {
	enum action action;
	int message, other; /* of a shift: the one that is sent; and the one that is received */
	int set, slot;	    /* of a request */
};

struct steps {
	bool made;
	int count, sets;
	struct step step[4 * MAX_MESSAGES + 8];
	struct wait_set set[2];
};

bool is_blocking_send(const struct message *m);
bool is_blocking_receive(const struct message *m);
void make_steps(struct steps *steps, const struct exchange *e, int number);

/* The arguments of MPI for a message. */
int source_of(const struct message *m);
int tag_of(const struct message *m);
int dest_of(const struct message *m);

/* Keeps the status of the receive of message m, and compares it in the reverse sweep. */
void told(const struct exchange *e, int m, const MPI_Status *status, bool reverse);

void start(const struct exchange *e, struct wait_set *set, int slot, reel_tape *tape,
	   struct memory *x, MPI_Comm comm, bool reverse);
void wait_forward(const struct exchange *e, struct wait_set *set, reel_tape *tape);
void wait_reverse(const struct exchange *e, struct wait_set *set, reel_tape *tape,
		  struct memory *x, MPI_Comm comm);

/* ---- The oracle (oracle.c, oracle-reduce.c) -------------------------------------------------- */

/* All ranks in one process. */
struct oracle {
	struct memory x[MAX_RANKS];
	struct memory bar[MAX_RANKS];
	const struct decided *decided; /* of each rank */
};
extern struct oracle oracle;

/* The number on top of the oracle's own stack: operands, and derivatives. */
void oracle_push(double x);
double oracle_pop(void);

void oracle_reduce(const struct reduction_operation *r, const struct communicator *c);
void oracle_reduce_reverse(const struct reduction_operation *r, const struct communicator *c);

/* Returns NULL, or the fault in the run's choices. */
const char *oracle_forward(int index);
void oracle_reverse(int index);
void oracle_begin(void);

/*
 * Gathers the ranks' memory on rank 0, and compares it: the values after each operation, and the
 * adjoints after its reverse. The reverse sweep begins with bars[operations].
 */
void compare(const struct memory *after, const struct memory *bars);

#endif
