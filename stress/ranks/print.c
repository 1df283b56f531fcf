/* SPDX-License-Identifier: MIT */
/* A program in words. */
#include <config.h>

#include <stdio.h>

#include "ranks.h"

static const char *const sendings[SENDINGS] = {"Send",	 "Ssend",  "Bsend",  "Rsend",	  "Isend",
					       "Issend", "Ibsend", "Irsend", "Send_init",
					       "Ssend_init"};
static const char *const receivings[RECEIVINGS] = {"Recv", "Probe and Recv", "Mprobe and Mrecv",
						   "Irecv", "Recv_init"};
static const char *const moves[MOVES] = {"Gather", "Gatherv", "Scatter", "Scatterv", "Allgather",
					 "Allgatherv", "Alltoall", "Alltoallv", "Alltoallw"};
static const char *const reducings[REDUCINGS] = {"Reduce", "Allreduce", "Reduce_scatter",
						 "Reduce_scatter_block", "Scan", "Exscan"};
static const char *const operators[OPERATORS] = {"SUM", "PROD", "MIN", "MAX", "MINLOC", "MAXLOC"};

static void print_slice(const struct slice *s)
{
	fprintf(stderr, "%d x %s %s at %d", s->count, shape_names[s->shape], kind_names[s->kind],
		s->at);
}

static void print_message(const struct message *m, int index)
{
	fprintf(stderr, "#     message %d, tag %d", index, m->tag);
	if (m->from == NOBODY)
		fprintf(stderr, ", from nobody");
	else
		fprintf(stderr, ", from %d: %s%s, ", m->from,
			m->shifting == REPLACE	  ? "Sendrecv_replace"
			: m->shifting == SENDRECV ? "Sendrecv"
						  : sendings[m->sending],
			m->sent_early ? " early" : ""), print_slice(&m->sent);
	if (m->to == NOBODY)
		fprintf(stderr, "; to nobody\n");
	else
		fprintf(stderr, "; to %d: %s%s%s%s%s, ", m->to,
			m->shifting ? "the same call" : receivings[m->receiving],
			m->received_early ? " early" : "", m->any_source ? " any source" : "",
			m->any_tag ? " any tag" : "", m->status ? " with status" : ""),
			print_slice(&m->received), fputc('\n', stderr);
}

static void print_exchange(const struct operation *o)
{
	const struct exchange *e = &o->exchange;

	fprintf(stderr, "exchange as %d, %d messages, wait after %d%s%s\n", o->same_as, e->messages,
		e->wait_after, e->receives_first ? ", receives first and a barrier" : "",
		e->barrier_after ? ", a barrier at the end" : "");
	for (int m = 0; m < e->messages; m++)
		print_message(&e->message[m], m);
}

static void print_move(const struct move_operation *o, int n)
{
	fprintf(stderr, "%s, root %d%s\n", moves[o->move], o->root,
		o->in_place ? ", in place" : "");
	for (int i = 0; i < n; i++) {
		fprintf(stderr, "#     %d sends", i);
		for (int j = 0; j < n; j++)
			fprintf(stderr, "%s ", j ? "," : ""), print_slice(&o->sent[i][j]);
		fprintf(stderr, "\n#     %d receives", i);
		for (int j = 0; j < n; j++)
			fprintf(stderr, "%s ", j ? "," : ""), print_slice(&o->received[i][j]);
		fputc('\n', stderr);
	}
}

static void print_reduction(const struct reduction_operation *r, int n)
{
	fprintf(stderr, "%s %s of %d %ss, root %d%s;", reducings[r->reducing],
		operators[r->operator], r->count, kind_names[r->kind], r->root,
		r->in_place ? ", in place" : "");
	for (int i = 0; i < n; i++)
		fprintf(stderr, " %d at %d to %d", r->counts[i], r->operand[i], r->result[i]);
	fputc('\n', stderr);
}

void print_operation(int index)
{
	const struct operation *o = &program.operation[index];
	int n = program.communicator[o->communicator].size;

	fprintf(stderr, "#   operation %d, communicator %d: ", index, o->communicator);
	switch (o->kind) {
	case LOCAL:
		fprintf(stderr, "%d statements on each rank\n", o->statements);
		break;
	case EXCHANGE:
		print_exchange(o);
		break;
	case MOVE:
		print_move(&o->move, n);
		break;
	case REDUCTION:
		print_reduction(&o->reduction, n);
		break;
	case BCAST:
		fprintf(stderr, "Bcast, root %d\n", o->bcast.root);
		break;
	default:
		fprintf(stderr, "Barrier\n");
	}
}

void print_program(int operations)
{
	fprintf(stderr, "# seed %llu, %d ranks, %s, %s tape, %s; %d operations run first without a "
			"tape; the objective is %s %d\n",
		(unsigned long long)program.seed, program.ranks,
		program.smooth ? "real numbers" : "small integers",
		program.tape_flags ? "checked" : "unchecked",
		program.spilled ? "spilled" : "in memory", program.rehearsal,
		program.on_one_rank ? "on rank" : "the sum of ranks from", program.root);
	for (int i = 0; i < operations; i++)
		print_operation(i);
}
