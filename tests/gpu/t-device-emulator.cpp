/* SPDX-License-Identifier: MIT */
/* The warp emulator finds what it is for. */
#include "helpers/device-support.h"

#include <sys/wait.h>
#include <unistd.h>

namespace {

/* ---- Orders ---- */

void ticket_kernel(unsigned *next, std::vector<unsigned> *order)
{
	(*order)[atomicAdd(next, 1u)] = global_thread();
}

std::vector<unsigned> tickets(uint64_t seed)
{
	std::vector<unsigned> drawn(128);
	unsigned next = 0;

	emulator::launch(4, 32, [&] { ticket_kernel(&next, &drawn); }, order(seed));
	return drawn;
}

void orders_are_drawn()
{
	ok(tickets(1) == tickets(1), "emulated: a seed gives one order");
	ok(tickets(1) != tickets(2), "two seeds give two orders");
}

/* ---- Barriers ---- */

void turn_kernel(unsigned *out, bool with_barrier)
{
	__shared__ unsigned values[64];

	values[threadIdx.x] = 100 * blockIdx.x + threadIdx.x;
	if (with_barrier)
		__syncthreads();
	out[global_thread()] = values[63 - threadIdx.x];
}

unsigned wrong_turns(bool with_barrier)
{
	std::vector<unsigned> out(192);
	unsigned wrong = 0;

	for (unsigned n = 0; n < orders(); n++) {
		emulator::launch(3, 64, [&] { turn_kernel(out.data(), with_barrier); }, order(n));
		for (unsigned i = 0; i < 192; i++)
			wrong += out[i] != 100 * (i / 64) + 63 - i % 64;
	}
	return wrong;
}

void barriers_are_needed()
{
	is_int(wrong_turns(true), 0, "emulated: blocks have shared memory of their own");
	ok(wrong_turns(false) > 0, "a barrier that is missing shows");
}

/* ---- Warps ---- */

void warp_kernel(wrongs *wrong)
{
	unsigned lane = threadIdx.x % 32, active;

	wrong->add(__shfl_sync(~0u, lane, 5) != 5);
	wrong->add(__shfl_xor_sync(~0u, 10 * lane, 3) != 10 * (lane ^ 3));
	wrong->add(__shfl_down_sync(~0u, lane, 4) != (lane + 4 < 32 ? lane + 4 : lane));
	wrong->add(__ballot_sync(~0u, lane % 2) != 0xaaaaaaaau);
	wrong->add(__match_any_sync(~0u, lane % 4) != 0x11111111u << lane % 4);
	wrong->add(__reduce_max_sync(~0u, lane) != 31);
	if (lane >= 20)
		return;
	wrong->add(__all_sync(0xfffff, lane < 20) != 1);
	active = __activemask();
	wrong->add(!(active >> lane & 1) || active >> 20);
	wrong->add(__match_any_sync(active, active) != active);
}

void operations_of_a_warp()
{
	wrongs wrong;

	for (unsigned n = 0; n < orders(); n++)
		emulator::launch(2, 64, [&] { warp_kernel(&wrong); }, order(n));
	is_int(wrong.n, 0, "emulated: the operations of a warp give what they should");
	emulator::launch(1, 32, [&] { warp_kernel(&wrong); }, order(1, true));
	is_int(wrong.n, 0, "the operations of threads give what they should");
}

/* ---- Errors ---- */

void apart_kernel()
{
	if (threadIdx.x % 2)
		__syncwarp();
	else
		__ballot_sync(~0u, 1);
}

void outside_kernel()
{
	__syncwarp(1u << (threadIdx.x + 1) % 32);
}

/* Whether the kernel stops the program. */
bool stops(void (*kernel)())
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		if (!freopen("/dev/null", "w", stderr))
			_exit(0);
		emulator::launch(1, 32, kernel);
		_exit(0);
	}
	waitpid(child, &status, 0);
	return WIFSIGNALED(status) || WEXITSTATUS(status) != 0;
}

void errors_stop_the_program()
{
	ok(stops(apart_kernel), "emulated: lanes that wait in different operations are found");
	ok(stops(outside_kernel), "emulated: so is a mask without the lane itself");
}

} // namespace

int main()
{
	tap_begin();
	orders_are_drawn();
	barriers_are_needed();
	operations_of_a_warp();
	errors_stop_the_program();
	return tap_end();
}
