/* SPDX-License-Identifier: MIT */
/* Our declarations of the driver agree with cuda.h, if it is there; cuda.h is for 64 bits only. */
#include <config.h>

#include <stdint.h>

#if HAVE_CUDA_H && UINTPTR_MAX > UINT32_MAX

#include <cuda.h>

#include "gpu/driver/driver-types.h"

#define SAME(ours, theirs)                                                                         \
	_Static_assert(sizeof(ours) == sizeof(theirs) && _Alignof(ours) == _Alignof(theirs),       \
		       #ours " is a " #theirs)

SAME(reel_cu_result, CUresult);
SAME(reel_cu_device, CUdevice);
SAME(reel_cu_attribute, CUdevice_attribute);
SAME(reel_cu_address, CUdeviceptr);
SAME(reel_cu_context, CUcontext);
SAME(reel_cu_stream, CUstream);
SAME(reel_cu_event, CUevent);
SAME(reel_cu_host_function, CUhostFn);
_Static_assert((CUdevice)-1 < 0 && (reel_cu_device)-1 < 0, "devices are signed");
_Static_assert((CUdeviceptr)-1 > 0 && (reel_cu_address)-1 > 0, "addresses are not");

#define EQUAL(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " is " #theirs)

EQUAL(REEL_CU_SUCCESS, CUDA_SUCCESS);
EQUAL(REEL_CU_INVALID_VALUE, CUDA_ERROR_INVALID_VALUE);
EQUAL(REEL_CU_OUT_OF_MEMORY, CUDA_ERROR_OUT_OF_MEMORY);
EQUAL(REEL_CU_NOT_INITIALIZED, CUDA_ERROR_NOT_INITIALIZED);
EQUAL(REEL_CU_NO_DEVICE, CUDA_ERROR_NO_DEVICE);
EQUAL(REEL_CU_INVALID_DEVICE, CUDA_ERROR_INVALID_DEVICE);
EQUAL(REEL_CU_INVALID_CONTEXT, CUDA_ERROR_INVALID_CONTEXT);
EQUAL(REEL_CU_INVALID_HANDLE, CUDA_ERROR_INVALID_HANDLE);
EQUAL(REEL_CU_NOT_READY, CUDA_ERROR_NOT_READY);
EQUAL(REEL_CU_ILLEGAL_ADDRESS, CUDA_ERROR_ILLEGAL_ADDRESS);
EQUAL(REEL_CU_HOST_MEMORY_ALREADY_REGISTERED, CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED);
EQUAL(REEL_CU_HOST_MEMORY_NOT_REGISTERED, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED);
EQUAL(REEL_CU_LAUNCH_FAILED, CUDA_ERROR_LAUNCH_FAILED);
EQUAL(REEL_CU_NOT_PERMITTED, CUDA_ERROR_NOT_PERMITTED);
EQUAL(REEL_CU_UNKNOWN, CUDA_ERROR_UNKNOWN);
EQUAL(REEL_CU_MULTIPROCESSORS, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
EQUAL(REEL_CU_THREADS_PER_MULTIPROCESSOR, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR);
EQUAL(REEL_CU_COMPUTE_MAJOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
EQUAL(REEL_CU_COMPUTE_MINOR, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
EQUAL(REEL_CU_STREAM_NON_BLOCKING, CU_STREAM_NON_BLOCKING);
EQUAL(REEL_CU_EVENT_BLOCKING_SYNC, CU_EVENT_BLOCKING_SYNC);
EQUAL(REEL_CU_EVENT_DISABLE_TIMING, CU_EVENT_DISABLE_TIMING);
EQUAL(REEL_CU_HOST_ALLOC_PORTABLE, CU_MEMHOSTALLOC_PORTABLE);
EQUAL(REEL_CU_HOST_REGISTER_PORTABLE, CU_MEMHOSTREGISTER_PORTABLE);

/* Declares the table again with the types of cuda.h, so that it must agree exactly. */
#define reel_cu_result CUresult
#define reel_cu_device CUdevice
#define reel_cu_attribute CUdevice_attribute
#define reel_cu_address CUdeviceptr
#define reel_cu_context CUcontext
#define reel_cu_stream CUstream
#define reel_cu_event CUevent
#define reel_cu_host_function CUhostFn

#include "gpu/driver/driver.h"

#include "tap/tap.h"

#define AGREES(member, symbol, arguments)                                                          \
	_Static_assert(_Generic(&symbol, CUresult(*) arguments: 1, default: 0),                     \
		       "the declaration of " #symbol);
#define AGREES_IN_CUDA(member, symbol, hip, arguments) AGREES(member, symbol, arguments)
REEL_DRIVER_CALLS(AGREES_IN_CUDA)
REEL_CUDA_CALLS(AGREES)

int main(void)
{
	unsigned calls = 0;

	tap_begin();
#define COUNT_CALL(...) calls++;
	REEL_DRIVER_CALLS(COUNT_CALL)
	REEL_CUDA_CALLS(COUNT_CALL)
	ok(calls > 0, "compiled: %u calls of the driver are as cuda.h %d declares them", calls,
	   CUDA_VERSION);
	return tap_end();
}

#else

#include "tap/tap.h"

int main(void)
{
	tap_begin();
	tap_skip_all("there is no cuda.h to compare with");
	return tap_end();
}

#endif
