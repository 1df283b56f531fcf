/* SPDX-License-Identifier: MIT */
/* The tape in kernels, run on the emulator: whatever lanes do apart, each gets back what it pushed. */
#include "helpers/device-support.h"

#include "../../examples/gpu/checks.h"

namespace {

using checks::pop_step;
using checks::push_step;

struct large {
	uint64_t words[37];
};

uint64_t step_number(unsigned lane, unsigned step)
{
	return ((uint64_t)lane << 32) + step;
}

/* Each lane its own number of steps, some none; three rounds, so that slabs are used again. */
template <unsigned Word> void random_kernel(reel_device_arena arena, wrongs *wrong, unsigned most)
{
	reel_device_tape<Word> tape;
	unsigned lane = global_thread();

	tape.open(arena);
	for (unsigned round = 0; round < 3; round++) {
		unsigned steps = (unsigned)(scramble(lane + 1000 * round) % most);

		if (lane % 7 == 3)
			continue;
		if (lane % 11 == 5 && round == 1)
			return;
		for (unsigned i = 0; i < steps; i++) {
			push_step(tape, step_number(lane, i));
			if (i % 5 == 4)
				emulator::yield();
		}
		for (unsigned i = steps; i-- > 0;)
			wrong->add(!pop_step(tape, step_number(lane, i)));
		wrong->add(!tape.is_empty());
	}
}

template <unsigned Word> void random_steps(bool threads)
{
	wrongs wrong;
	uint32_t faults = 0;
	unsigned blocks = threads ? 2 : 3, size = threads ? 16 : 50;

	for (unsigned n = 0; n < (threads ? 2 : orders()); n++) {
		host_arena arena(threads ? 150 : 1500, 6, Word);

		emulator::launch(blocks, size,
				 [&] { random_kernel<Word>(arena.device(), &wrong, 80); },
				 order(n, threads));
		faults |= arena.header->faults;
	}
	is_int(wrong.n, 0, "emulated: lanes that do different things get back what they pushed, "
	       "words of %u%s", Word, threads ? ", as threads" : "");
	is_int(faults, 0, "no fault is noted");
}

void large_kernel(reel_device_arena arena, wrongs *wrong)
{
	reel_device_tape<> tape;
	large x = {};

	tape.open(arena);
	for (unsigned i = 0; i < 5 + threadIdx.x % 3; i++) {
		x.words[0] = x.words[36] = step_number(threadIdx.x, i);
		tape.push((uint8_t)i, x, true);
		tape.push(i % 2 == 0);
	}
	for (unsigned i = 5 + threadIdx.x % 3; i-- > 0;) {
		uint8_t byte;
		bool both;

		wrong->add(tape.pop<bool>() != (i % 2 == 0));
		tape.pop(byte, x, both);
		wrong->add(byte != i || !both || x.words[36] != step_number(threadIdx.x, i) ||
			   x.words[0] != x.words[36]);
	}
	wrong->add(!tape.is_empty());
}

void large_records()
{
	wrongs wrong;

	for (unsigned n = 0; n < orders(); n++) {
		host_arena arena(60, 2);

		emulator::launch(1, 40, [&] { large_kernel(arena.device(), &wrong); }, order(n));
		wrong.add(arena.header->faults);
	}
	is_int(wrong.n, 0, "emulated: records larger than a slab come back, and bits between them");
}

/* ---- Layout ---- */

void converged_kernel(reel_device_arena arena, unsigned rows)
{
	reel_device_tape<> tape;

	tape.open(arena);
	for (unsigned i = 0; i < rows; i++)
		tape.push(step_number(threadIdx.x, i));
}

void a_push_is_a_row()
{
	host_arena arena(8, 1);
	uint64_t slab = (uint64_t)arena.header->first_slab * 16 * 32 * 8;
	unsigned wrong = 0;

	emulator::launch(1, 32, [&] { converged_kernel(arena.device(), 10); });
	for (unsigned row = 0; row < 10; row++)
		for (unsigned lane = 0; lane < 32; lane++)
			wrong += *(uint64_t *)(arena.memory + slab + (row + 1) * 256 + lane * 8) !=
				 step_number(lane, row);
	is_int(wrong, 0, "emulated: what 32 lanes push together is one row, a word each");
	is_int(arena.slabs() - arena.free_slabs(), 1, "the warp of 32 lanes took one slab");
}

/* ---- Slabs ---- */

void climbing_kernel(reel_device_arena arena, wrongs *wrong, unsigned rounds, unsigned rows)
{
	reel_device_tape<> tape;

	tape.open(arena);
	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned i = 0; i < rows; i++)
			tape.push(step_number(threadIdx.x, i + round));
		for (unsigned i = rows; i-- > 0;)
			wrong->add(tape.pop<uint64_t>() != step_number(threadIdx.x, i + round));
	}
}

void one_slab_for_all_lanes(bool threads)
{
	wrongs wrong;
	unsigned taken = 0, faults = 0;

	for (unsigned n = 0; n < (threads ? 2 : orders()); n++) {
		/* 40 rows are three slabs of 15, for each of four warps; no more are there. */
		host_arena arena(12, 4);

		emulator::launch(2, 64,
				 [&] { climbing_kernel(arena.device(), &wrong, 3, 40); },
				 order(n, threads));
		taken |= arena.free_slabs();
		faults |= arena.header->faults;
	}
	is_int(wrong.n, 0, "emulated: all lanes of a warp climb in any order%s",
	       threads ? ", as threads" : "");
	is_int(taken, 0, "a warp takes a slab once for all lanes");
	is_int(faults, 0, "the slabs suffice, though there are no more than all lanes need");
}

void trim_kernel(reel_device_arena arena, wrongs *wrong, unsigned kept)
{
	reel_device_tape<> tape;

	tape.open(arena);
	for (unsigned i = 0; i < 100; i++)
		tape.push(i);
	for (unsigned i = 100; i-- > kept + threadIdx.x % 3;)
		wrong->add(tape.pop<unsigned>() != i);
	tape.trim();
	for (unsigned i = kept + threadIdx.x % 3; i < 50; i++)
		tape.push(i);
	for (unsigned i = 50; i-- > 0;)
		wrong->add(tape.pop<unsigned>() != i);
	tape.trim();
}

void trimmed()
{
	wrongs wrong;
	bool all = true;
	unsigned faults = 0;

	for (unsigned n = 0; n < orders(); n++) {
		host_arena arena(40, 4);

		emulator::launch(2, 64, [&] { trim_kernel(arena.device(), &wrong, n * 3); },
				 order(n));
		all = all && arena.free_slabs() == arena.slabs();
		faults |= arena.header->faults;
	}
	is_int(wrong.n, 0, "emulated: a trim keeps what is on the tapes");
	ok(all, "a trim gives all else back");
	is_int(faults, 0, "no fault is noted");
}

/* Many warps take and give slabs at once. */
void churn_kernel(reel_device_arena arena, wrongs *wrong, unsigned rounds)
{
	reel_device_tape<> tape;

	tape.open(arena);
	for (unsigned round = 0; round < rounds; round++) {
		for (unsigned i = 0; i < 35; i++)
			tape.push(step_number(global_thread(), i));
		for (unsigned i = 35; i-- > 0;)
			wrong->add(tape.pop<uint64_t>() != step_number(global_thread(), i));
		tape.trim(1u << threadIdx.x % 32);
	}
}

void churned(bool threads)
{
	wrongs wrong;
	bool all = true;
	unsigned faults = 0;

	for (unsigned n = 0; n < (threads ? 2 : orders()); n++) {
		/* One lane a block, so a lane is a warp. */
		host_arena arena(24, 8);

		emulator::launch(8, 1, [&] { churn_kernel(arena.device(), &wrong, threads ? 200 : 20); },
				 order(n, threads));
		all = all && arena.free_slabs() == arena.slabs();
		faults |= arena.header->faults;
	}
	is_int(wrong.n, 0, "emulated: warps take slabs and give them back%s", threads ? ", as threads" : "");
	ok(all && !faults, "no slab is lost or handed out twice");
}

/* ---- Places ---- */

void places_kernel(reel_device_arena arena, wrongs *wrong)
{
	reel_device_tape<> tape;
	unsigned n = 20 + threadIdx.x;

	tape.open(arena);
	tape.push(-1.0);
	tape.push_bit(true);
	auto start = tape.mark();
	for (unsigned i = 0; i < n; i++)
		tape.push(i, (double)i);
	auto end = tape.mark();
	for (unsigned times = 0; times < 3; times++) {
		tape.rewind(end);
		wrong->add(tape.look<double>() != 0 && n == 1);
		for (unsigned i = n; i-- > 0;) {
			unsigned x;
			double y;

			tape.pop(x, y);
			wrong->add(x != i || y != i);
		}
	}
	for (unsigned i = 0; i < 50; i++) {
		tape.push(i);
		tape.push_bit(i & 1);
	}
	tape.rewind(start);
	wrong->add(!tape.pop_bit());
	wrong->add(tape.look<double>() != -1);
	wrong->add(tape.pop<double>() != -1);
	wrong->add(!tape.is_empty());
}

void places()
{
	wrongs wrong;
	unsigned faults = 0;

	for (unsigned n = 0; n < orders(); n++) {
		host_arena arena(40, 2);

		emulator::launch(1, 45, [&] { places_kernel(arena.device(), &wrong); }, order(n));
		faults |= arena.header->faults;
	}
	is_int(wrong.n, 0, "emulated: a tape is reversed again and again, and cut back");
	is_int(faults, 0, "no fault is noted");
}

/* ---- Handing over ---- */

void forward_kernel(reel_device_arena arena, unsigned most)
{
	reel_device_tape<> tape;
	unsigned lane = global_thread(), steps = (unsigned)(scramble(lane) % most);

	tape.open(arena);
	for (unsigned i = 0; i < steps; i++)
		push_step(tape, step_number(lane, i));
	tape.save();
}

void reverse_kernel(reel_device_arena arena, unsigned most, wrongs *wrong)
{
	reel_device_tape<> tape;
	unsigned lane = global_thread(), steps = (unsigned)(scramble(lane) % most);

	tape.resume(arena);
	for (unsigned i = steps; i-- > 0;)
		wrong->add(!pop_step(tape, step_number(lane, i)));
	wrong->add(!tape.is_empty());
}

void handed_over()
{
	wrongs wrong;
	unsigned faults = 0;

	for (unsigned n = 0; n < orders(); n++) {
		host_arena arena(400, 6);

		emulator::launch(3, 50, [&] { forward_kernel(arena.device(), 60); }, order(n));
		emulator::launch(3, 50, [&] { reverse_kernel(arena.device(), 60, &wrong); },
				 order(n + 77));
		faults |= arena.header->faults;
	}
	is_int(wrong.n, 0, "emulated: what one kernel pushed another pops");
	is_int(faults, 0, "no fault is noted");

	host_arena arena(400, 6);
	emulator::launch(2, 50, [&] { forward_kernel(arena.device(), 60); });
	emulator::launch(3, 32, [&] { reverse_kernel(arena.device(), 1, &wrong); });
	ok(arena.header->faults & REEL_DEVICE_RESUME, "emulated: blocks of another size are a fault");
	is_int(wrong.n, 0, "blocks of another size have empty tapes");
}

void two_arenas_kernel(reel_device_arena first, reel_device_arena second, wrongs *wrong)
{
	reel_device_tape<> values;
	reel_device_tape<4> counts;

	values.open(first);
	counts.open(second);
	for (unsigned i = 0; i < 40; i++) {
		values.push((double)i);
		counts.push(i);
	}
	for (unsigned i = 40; i-- > 0;)
		wrong->add(values.pop<double>() != counts.pop<unsigned>());
}

void two_arenas()
{
	wrongs wrong;
	host_arena first(8, 1), second(8, 1, 4);

	emulator::launch(1, 32, [&] { two_arenas_kernel(first.device(), second.device(), &wrong); });
	is_int(wrong.n, 0, "emulated: a kernel has two tapes, in two arenas");
	is_int(first.header->faults | second.header->faults, 0, "no fault is noted");
}

} // namespace

int main()
{
	tap_begin();
	tap_case("layout");
	a_push_is_a_row();
	tap_case("values");
	random_steps<8>(false);
	random_steps<4>(false);
	random_steps<16>(false);
	large_records();
	tap_case("slabs");
	one_slab_for_all_lanes(false);
	trimmed();
	churned(false);
	tap_case("places");
	places();
	tap_case("kernels");
	handed_over();
	two_arenas();
	tap_case("lanes as threads");
	random_steps<8>(true);
	one_slab_for_all_lanes(true);
	churned(true);
	return tap_end();
}
