/* SPDX-License-Identifier: MIT */
/* A program that uses the installed libreel-cuda, in C and C++: with a GPU or without. */
#include <reel.h>
#include <reel/gpu.h>

int main(void)
{
	unsigned count = 0;
	int error = reel_gpu_count(&count);

	return error ? !*reel_store_problem() : count == 0;
}
