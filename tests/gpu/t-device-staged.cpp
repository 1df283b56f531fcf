/* SPDX-License-Identifier: MIT */
/* Tapes whose front rows are in shared memory, on the emulator, with bulk copies that take their time. */
#define REEL_EMULATOR_BULK 1
#include "helpers/device-support.h"

#include <reel/device-staged.cuh>

namespace {

struct record {
	double a;
	int32_t b[5];
};

uint64_t number(unsigned step)
{
	return ((uint64_t)global_thread() << 32) + step;
}

/* The same for all lanes. */
template <class Tape> void push_step(Tape &tape, unsigned n)
{
	switch (scramble(n) % 4) {
	case 0: tape.push(number(n)); break;
	case 1: tape.push(record{(double)n, {1, 2, 3, 4, (int32_t)number(n)}}); break;
	case 2: tape.push((float)n, number(n)); break;
	default: tape.push((uint8_t)n);
	}
}

template <class Tape> bool pop_step(Tape &tape, unsigned n)
{
	record x;
	float y;
	uint64_t z;

	switch (scramble(n) % 4) {
	case 0: return tape.template pop<uint64_t>() == number(n);
	case 1:
		tape.pop(x);
		return x.a == n && x.b[4] == (int32_t)number(n);
	case 2:
		tape.pop(y, z);
		return y == (float)n && z == number(n);
	default: return tape.template pop<uint8_t>() == (uint8_t)n;
	}
}

/* Of a launch: which steps it makes. */
unsigned walk;

unsigned steps_of(unsigned round, unsigned most)
{
	return (unsigned)(scramble(walk * 1000 + blockIdx.x * 100 + threadIdx.x / 32 * 10 + round) %
			  most);
}

/* To and fro, each warp in its own way. */
template <unsigned Rows, unsigned Word>
void to_and_fro(reel_device_arena arena, reel_device_stage<Rows, Word> *stages, wrongs *wrong)
{
	reel_staged_tape<Rows, Word> tape;
	unsigned height = 0;

	tape.open(arena, &stages[threadIdx.x / 32]);
	for (unsigned round = 0; round < 5; round++) {
		unsigned most = walk % 2 ? 40 : 2 * Rows;
		unsigned up = steps_of(2 * round, most), down = steps_of(2 * round + 1, most);

		for (; up > 0; up--)
			push_step(tape, height++);
		for (; height > 0 && down > 0; down--)
			wrong->add(!pop_step(tape, --height));
	}
	while (height > 0)
		wrong->add(!pop_step(tape, --height));
	wrong->add(!tape.is_empty());
	tape.close();
}

void kernel_of_4(reel_device_arena arena, wrongs *wrong)
{
	__shared__ reel_device_stage<3, 4> stages[2];

	to_and_fro<3, 4>(arena, stages, wrong);
}

void kernel_of_8(reel_device_arena arena, wrongs *wrong)
{
	__shared__ reel_device_stage<5> stages[2];

	to_and_fro<5, 8>(arena, stages, wrong);
}

void kernel_of_16(reel_device_arena arena, wrongs *wrong)
{
	__shared__ reel_device_stage<5, 16> stages[2];

	to_and_fro<5, 16>(arena, stages, wrong);
}

void random_steps(uint32_t word_bytes, void (*kernel)(reel_device_arena, wrongs *))
{
	wrongs wrong;
	uint32_t faults = 0;

	for (unsigned n = 0; n < 2 * orders(); n++) {
		host_arena arena(400, 4, word_bytes);

		walk = n;
		emulator::launch(2, 50,
				 [&] { kernel(arena.device(), &wrong); },
				 order(3 * n + 2));
		faults |= arena.header->faults;
	}
	is_int(wrong.n, 0, "emulated: blocks of rows of words of %u come and go", word_bytes);
	is_int(faults, 0, "no fault is noted");
}

void forward_kernel(reel_device_arena arena, unsigned most)
{
	__shared__ reel_device_stage<5> stages[2];
	reel_staged_tape<5> tape;
	unsigned steps = steps_of(0, most);

	tape.open(arena, &stages[threadIdx.x / 32]);
	for (unsigned n = 0; n < steps; n++)
		push_step(tape, n);
	tape.save();
}

void reverse_kernel(reel_device_arena arena, unsigned most, wrongs *wrong)
{
	__shared__ reel_device_stage<5> stages[2];
	reel_staged_tape<5> tape;
	unsigned steps = steps_of(0, most);

	tape.resume(arena, &stages[threadIdx.x / 32]);
	for (unsigned n = steps; n-- > 0;)
		wrong->add(!pop_step(tape, n));
	wrong->add(!tape.is_empty());
	tape.close();
}

void handed_over()
{
	wrongs wrong;
	uint32_t faults = 0;

	for (unsigned most = 1; most < 90; most += is_brief() ? 30 : 11) {
		host_arena arena(400, 6);

		emulator::launch(3, 50, [&] { forward_kernel(arena.device(), most); }, order(most));
		emulator::launch(3, 50, [&] { reverse_kernel(arena.device(), most, &wrong); },
				 order(most + 7));
		faults |= arena.header->faults;
	}
	is_int(wrong.n, 0, "emulated: what one kernel saved another resumes");
	is_int(faults, 0, "no fault is noted");
}

/* Down into the lowest block, which is put once more. */
void lowest_again_kernel(reel_device_arena arena, wrongs *wrong)
{
	__shared__ reel_device_stage<5> stages[2];
	reel_staged_tape<5> tape;
	unsigned height = 6;

	tape.open(arena, &stages[threadIdx.x / 32]);
	for (unsigned n = 0; n < height; n++)
		tape.push(number(n));
	for (; height > 3; height--)
		wrong->add(tape.pop<uint64_t>() != number(height - 1));
	for (; height < 18; height++)
		tape.push(number(height + 100));
	for (; height > 3; height--)
		wrong->add(tape.pop<uint64_t>() != number(height + 99));
	for (; height > 0; height--)
		wrong->add(tape.pop<uint64_t>() != number(height - 1));
	tape.close();
}

void lowest_again()
{
	wrongs wrong;

	for (unsigned seed = 0; seed < 16 * orders(); seed++) {
		host_arena arena(8, 2);

		emulator::launch(1, 64, [&] { lowest_again_kernel(arena.device(), &wrong); },
				 order(seed));
		wrong.add(arena.header->faults != 0);
	}
	is_int(wrong.n, 0, "emulated: the lowest block goes out twice, in order");
}

void add_kernel(reel_device_arena arena, unsigned height, unsigned rows)
{
	__shared__ reel_device_stage<5> stages[1];
	reel_staged_tape<5> tape;

	if (height == 0)
		tape.open(arena, stages);
	else
		tape.resume(arena, stages);
	for (unsigned n = height; n < height + rows; n++)
		tape.push(number(n));
	tape.save();
}

/* A launch that is undone may change no row that an earlier one has saved. */
void what_was_saved_stays()
{
	enum { KEPT = 11, LANES = 32, SLAB_ROWS = 16 };
	unsigned changed = 0;

	for (unsigned seed = 0; seed < 16 * orders(); seed++) {
		host_arena arena(1, 1);
		uint64_t *rows, before[(KEPT + 1) * LANES];

		emulator::launch(1, LANES, [&] { add_kernel(arena.device(), 0, KEPT); }, order(seed));
		rows = reinterpret_cast<uint64_t *>(arena.memory) +
		       arena.header->first_slab * SLAB_ROWS * LANES;
		memcpy(before, rows, sizeof before);
		emulator::launch(1, LANES, [&] { add_kernel(arena.device(), KEPT, seed % 3 ? 14 : 40); },
				 order(seed + 1000));
		changed += memcmp(before + LANES, rows + LANES, sizeof before - LANES * 8) != 0;
	}
	is_int(changed, 0, "emulated: what was saved stays, though memory runs out above it");
}

void deep_kernel(reel_device_arena arena, unsigned rows, unsigned *zeros, wrongs *wrong)
{
	__shared__ reel_device_stage<5> stages[2];
	reel_staged_tape<5> tape;

	tape.open(arena, &stages[threadIdx.x / 32]);
	for (unsigned n = 1; n <= rows; n++)
		tape.push(number(n));
	for (unsigned n = rows; n > 0; n--) {
		uint64_t x = tape.pop<uint64_t>();

		if (x == 0)
			__atomic_fetch_add(zeros, 1, __ATOMIC_RELAXED);
		else
			wrong->add(x != number(n));
	}
	wrong->add(!tape.is_empty());
	tape.close();
}

void exhausted()
{
	wrongs wrong;
	unsigned zeros = 0, differences = 0;

	/* 103 rows: 20 blocks of 5 have left shared memory, three in each slab of 15 rows. */
	for (unsigned seed = 0; seed < 4 * orders(); seed++) {
		for (unsigned slabs : {1u, 3u, 13u}) {
			host_arena arena(slabs, 2);

			emulator::launch(
				1, 64,
				[&] { deep_kernel(arena.device(), 103, &zeros, &wrong); },
				order(3 * seed + slabs));
			differences += arena.needed() != 14;
			differences += arena.header->faults != REEL_DEVICE_EXHAUSTED;
		}
	}
	is_int(differences, 0, "emulated: what is needed is exact when memory runs out");
	is_int(wrong.n, 0, "pops give what was pushed or zero");
	ok(zeros > 0, "%u pops give zero", zeros);
	zeros = 0;
	host_arena enough(14, 2);
	emulator::launch(1, 64, [&] { deep_kernel(enough.device(), 103, &zeros, &wrong); });
	is_int(zeros + wrong.n + enough.header->faults, 0,
	       "all comes back if there is as much memory as was needed");
}

/* A tape after the other, and between them the stage is the program's. */
void in_turn_kernel(reel_device_arena arena, wrongs *wrong)
{
	__shared__ reel_device_stage<5> stages[2];
	reel_device_stage<5> *stage = &stages[threadIdx.x / 32];
	reel_staged_tape<5> tape;

	for (unsigned turn = 1; turn < 4; turn++) {
		tape.open(arena, stage);
		for (unsigned n = 0; n < 12 * turn; n++)
			tape.push(number(turn + n));
		for (unsigned n = 12 * turn; n-- > 0;)
			wrong->add(tape.pop<uint64_t>() != number(turn + n));
		tape.close();
		if (threadIdx.x % 32 == 0)
			memset(stage, (int)turn, sizeof *stage);
		__syncwarp(~0u);
	}
}

void in_turn()
{
	wrongs wrong;

	for (unsigned seed = 0; seed < orders(); seed++) {
		host_arena arena(40, 2);

		emulator::launch(1, 64, [&] { in_turn_kernel(arena.device(), &wrong); }, order(seed));
		wrong.add(arena.header->faults != 0);
	}
	is_int(wrong.n, 0, "emulated: tapes have a stage in turn");
}

void misused_kernel(reel_device_arena arena, bool apart, wrongs *wrong)
{
	__shared__ reel_device_stage<5> stages[1];
	reel_staged_tape<5> tape;

	tape.open(arena, stages);
	wrong->add(tape.pop<double>() != 0);
	if (apart && threadIdx.x % 2 == 0) {
		for (unsigned n = 0; n < 6; n++)
			tape.push(1.0);
	} else if (apart) {
		tape.push(2.0);
		wrong->add(tape.pop<double>() != 2.0);
		wrong->add(tape.pop<double>() != 0);
	}
	tape.close();
}

void misused()
{
	wrongs wrong;

	for (bool apart : {false, true}) {
		host_arena arena(9, 1);

		emulator::launch(1, 32, [&] { misused_kernel(arena.device(), apart, &wrong); });
		is_int(arena.header->faults,
		       REEL_DEVICE_UNDERFLOW | (apart ? REEL_DEVICE_DIVERGED : 0),
		       "emulated: %s a fault",
		       apart ? "lanes that do not push and pop together are"
			     : "a pop that mirrors no push is");
	}
	is_int(wrong.n, 0, "pops that are faults give zero");
}

} // namespace

int main()
{
	tap_begin();
	random_steps(4, kernel_of_4);
	random_steps(8, kernel_of_8);
	random_steps(16, kernel_of_16);
	handed_over();
	lowest_again();
	what_was_saved_stays();
	exhausted();
	in_turn();
	misused();
	return tap_end();
}
