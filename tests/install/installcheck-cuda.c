/* SPDX-License-Identifier: MIT */
/* A program that uses the installed libreel-cuda, in C and C++: with a GPU or without. */
#include <reel.h>
#include <reel/gpu.h>

int main(void)
{
	unsigned count = 0;
	int error = reel_gpu_count(&count);

	return error ? !*reel_error_text(0) : count == 0;
}
