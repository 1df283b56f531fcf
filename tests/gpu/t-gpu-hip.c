/* SPDX-License-Identifier: MIT */
/* HIP has the functions of the driver's table, with our numbers, if its header is there. */
#include <config.h>

#include <stdint.h>

#if defined(__has_include) && UINTPTR_MAX > UINT32_MAX
#if __has_include(<hip/hip_runtime_api.h>)
#define HAVE_HIP 1
#endif
#endif

#if HAVE_HIP

#define __HIP_PLATFORM_AMD__
#include <hip/hip_runtime_api.h>

#include "gpu/driver/driver.h"
#include "tap/tap.h"

#define SAME(ours, theirs) _Static_assert(sizeof(ours) == sizeof(theirs), #ours " is a " #theirs)

SAME(reel_cu_result, hipError_t);
SAME(reel_cu_device, hipDevice_t);
SAME(reel_cu_attribute, hipDeviceAttribute_t);
SAME(reel_cu_address, hipDeviceptr_t);
SAME(reel_cu_context, hipCtx_t);
SAME(reel_cu_stream, hipStream_t);
SAME(reel_cu_event, hipEvent_t);

#define EQUAL(ours, theirs) _Static_assert((int)(ours) == (int)(theirs), #ours " is " #theirs)

EQUAL(REEL_CU_SUCCESS, hipSuccess);
EQUAL(REEL_CU_INVALID_VALUE, hipErrorInvalidValue);
EQUAL(REEL_CU_OUT_OF_MEMORY, hipErrorOutOfMemory);
EQUAL(REEL_CU_NOT_INITIALIZED, hipErrorNotInitialized);
EQUAL(REEL_CU_NO_DEVICE, hipErrorNoDevice);
EQUAL(REEL_CU_INVALID_DEVICE, hipErrorInvalidDevice);
EQUAL(REEL_CU_INVALID_CONTEXT, hipErrorInvalidContext);
EQUAL(REEL_CU_INVALID_HANDLE, hipErrorInvalidHandle);
EQUAL(REEL_CU_NOT_READY, hipErrorNotReady);
EQUAL(REEL_CU_ILLEGAL_ADDRESS, hipErrorIllegalAddress);
EQUAL(REEL_CU_HOST_MEMORY_ALREADY_REGISTERED, hipErrorHostMemoryAlreadyRegistered);
EQUAL(REEL_CU_HOST_MEMORY_NOT_REGISTERED, hipErrorHostMemoryNotRegistered);
EQUAL(REEL_CU_LAUNCH_FAILED, hipErrorLaunchFailure);
EQUAL(REEL_CU_UNKNOWN, hipErrorUnknown);
EQUAL(REEL_HIP_MULTIPROCESSORS, hipDeviceAttributeMultiprocessorCount);
EQUAL(REEL_HIP_THREADS_PER_MULTIPROCESSOR, hipDeviceAttributeMaxThreadsPerMultiProcessor);
EQUAL(REEL_HIP_COMPUTE_MAJOR, hipDeviceAttributeComputeCapabilityMajor);
EQUAL(REEL_HIP_COMPUTE_MINOR, hipDeviceAttributeComputeCapabilityMinor);
EQUAL(REEL_CU_STREAM_NON_BLOCKING, hipStreamNonBlocking);
EQUAL(REEL_CU_EVENT_BLOCKING_SYNC, hipEventBlockingSync);
EQUAL(REEL_CU_EVENT_DISABLE_TIMING, hipEventDisableTiming);
EQUAL(REEL_CU_HOST_ALLOC_PORTABLE, hipHostMallocPortable);
EQUAL(REEL_CU_HOST_REGISTER_PORTABLE, hipHostRegisterPortable);

/* HIP calls contexts deprecated, but still has them. */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define IS_DECLARED(member, symbol, hip, arguments) _Static_assert(sizeof &hip > 0, #hip);
REEL_DRIVER_CALLS(IS_DECLARED)

int main(void)
{
	unsigned calls = 0;

	tap_begin();
#define COUNT_CALL(...) calls++;
	REEL_DRIVER_CALLS(COUNT_CALL)
	ok(calls > 0, "compiled: %u functions, and the numbers, are in HIP %d.%d", calls,
	   HIP_VERSION_MAJOR, HIP_VERSION_MINOR);
	return tap_end();
}

#else

#include "tap/tap.h"

int main(void)
{
	tap_begin();
	tap_skip_all("there is no header of HIP to compare with");
	return tap_end();
}

#endif
