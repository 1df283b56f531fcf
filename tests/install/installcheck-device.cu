/* SPDX-License-Identifier: MIT */
/* Kernels with a tape, and the installed libreel-cuda: on a GPU, or without one as far as its error. */
#include <cerrno>

#include <reel/arena.h>
#include <reel/device.cuh>

__global__ void forward(reel_device_arena arena, int values)
{
	reel_device_tape<> tape;

	tape.open(arena);
	for (int i = 0; i < values; i++)
		tape.push(i + 0.5);
	tape.save();
}

__global__ void reverse(reel_device_arena arena, int values, unsigned *wrong)
{
	reel_device_tape<> tape;

	tape.resume(arena);
	for (int i = values; i-- > 0;)
		if (tape.pop<double>() != i + 0.5)
			atomicAdd(wrong, 1);
}

int main()
{
	reel_arena *arena;
	unsigned *wrong, count = 1;
	int error = reel_arena_open(&arena, nullptr);

	if (error == -ENODEV)
		return !*reel_error_text(0);
	if (error || cudaMallocManaged(&wrong, sizeof *wrong))
		return 1;
	do {
		*wrong = 0;
		forward<<<2, 64>>>(reel_arena_device(arena), 1000);
		reverse<<<2, 64>>>(reel_arena_device(arena), 1000, wrong);
		error = reel_arena_settle(arena, nullptr);
	} while (error > 0);
	if (!error)
		count = *wrong;
	cudaFree(wrong);
	reel_arena_close(arena);
	return count > 0;
}
