/* SPDX-License-Identifier: MIT */
/*
 * A GPU's driver as one table: the functions of NVIDIA's libcuda.so.1 or of AMD's libamdhip64,
 * which reel_driver_get() loads when it is called first, or of the fake device of the tests
 * (fake-device.h). Reel is linked with none of them. The members have the names of the manual of
 * CUDA's driver. HIP's functions have the same parameters, numbers of errors and flags.
 */
#ifndef REEL_GPU_DRIVER_H
#define REEL_GPU_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "driver-types.h"

/* CALL(member, symbol of CUDA, symbol of HIP, arguments) for each function. */
#define REEL_DRIVER_CALLS(CALL)                                                                    \
	CALL(cuInit, cuInit, hipInit, (unsigned flags))                                            \
	CALL(cuDriverGetVersion, cuDriverGetVersion, hipDriverGetVersion, (int *version))          \
	CALL(cuDeviceGetCount, cuDeviceGetCount, hipGetDeviceCount, (int *count))                  \
	CALL(cuDeviceGet, cuDeviceGet, hipDeviceGet, (reel_cu_device *device, int number))         \
	CALL(cuDeviceGetName, cuDeviceGetName, hipDeviceGetName,                                   \
	     (char *name, int bytes, reel_cu_device device))                                       \
	CALL(cuDeviceTotalMem, cuDeviceTotalMem_v2, hipDeviceTotalMem,                             \
	     (size_t *bytes, reel_cu_device device))                                               \
	CALL(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain, hipDevicePrimaryCtxRetain,        \
	     (reel_cu_context *context, reel_cu_device device))                                    \
	CALL(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, hipDevicePrimaryCtxRelease,  \
	     (reel_cu_device device))                                                              \
	CALL(cuCtxPushCurrent, cuCtxPushCurrent_v2, hipCtxPushCurrent,                             \
	     (reel_cu_context context))                                                            \
	CALL(cuCtxPopCurrent, cuCtxPopCurrent_v2, hipCtxPopCurrent,                                \
	     (reel_cu_context *context))                                                           \
	CALL(cuMemGetInfo, cuMemGetInfo_v2, hipMemGetInfo,                                         \
	     (size_t *unused, size_t *total))                                                      \
	CALL(cuMemAlloc, cuMemAlloc_v2, hipMalloc,                                                 \
	     (reel_cu_address *address, size_t bytes))                                             \
	CALL(cuMemFree, cuMemFree_v2, hipFree, (reel_cu_address address))                          \
	CALL(cuMemHostAlloc, cuMemHostAlloc, hipHostMalloc,                                        \
	     (void **memory, size_t bytes, unsigned flags))                                        \
	CALL(cuMemFreeHost, cuMemFreeHost, hipHostFree, (void *memory))                            \
	CALL(cuMemHostRegister, cuMemHostRegister_v2, hipHostRegister,                             \
	     (void *memory, size_t bytes, unsigned flags))                                         \
	CALL(cuMemHostUnregister, cuMemHostUnregister, hipHostUnregister, (void *memory))          \
	CALL(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2, hipMemcpyHtoDAsync,                          \
	     (reel_cu_address to, const void *from, size_t bytes, reel_cu_stream stream))          \
	CALL(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2, hipMemcpyDtoHAsync,                          \
	     (void *to, reel_cu_address from, size_t bytes, reel_cu_stream stream))                \
	CALL(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2, hipMemcpyDtoDAsync,                          \
	     (reel_cu_address to, reel_cu_address from, size_t bytes, reel_cu_stream stream))      \
	CALL(cuMemsetD8Async, cuMemsetD8Async, hipMemsetD8Async,                                   \
	     (reel_cu_address to, unsigned char value, size_t bytes, reel_cu_stream stream))       \
	CALL(cuStreamCreate, cuStreamCreate, hipStreamCreateWithFlags,                             \
	     (reel_cu_stream *stream, unsigned flags))                                             \
	CALL(cuStreamDestroy, cuStreamDestroy_v2, hipStreamDestroy,                                \
	     (reel_cu_stream stream))                                                              \
	CALL(cuStreamSynchronize, cuStreamSynchronize, hipStreamSynchronize,                       \
	     (reel_cu_stream stream))                                                              \
	CALL(cuStreamQuery, cuStreamQuery, hipStreamQuery, (reel_cu_stream stream))                \
	CALL(cuEventCreate, cuEventCreate, hipEventCreateWithFlags,                                \
	     (reel_cu_event *event, unsigned flags))                                               \
	CALL(cuEventDestroy, cuEventDestroy_v2, hipEventDestroy, (reel_cu_event event))            \
	CALL(cuEventRecord, cuEventRecord, hipEventRecord,                                         \
	     (reel_cu_event event, reel_cu_stream stream))                                         \
	CALL(cuEventQuery, cuEventQuery, hipEventQuery, (reel_cu_event event))                     \
	CALL(cuEventSynchronize, cuEventSynchronize, hipEventSynchronize,                          \
	     (reel_cu_event event))

/* CALL(member, symbol of CUDA, arguments) for the functions that HIP has in another form. */
#define REEL_CUDA_CALLS(CALL)                                                                      \
	CALL(cuGetErrorName, cuGetErrorName, (reel_cu_result result, const char **name))           \
	CALL(cuGetErrorString, cuGetErrorString,                                                   \
	     (reel_cu_result result, const char **words))                                          \
	CALL(cuDeviceGetAttribute, cuDeviceGetAttribute,                                           \
	     (int *value, reel_cu_attribute attribute, reel_cu_device device))

/*
 * CALL(member, symbol of CUDA, arguments) for the functions that only tests call, of the fake
 * device. reel_driver_get() does not look for them in a driver, and leaves these members NULL.
 */
#define REEL_FAKE_CALLS(CALL)                                                                      \
	CALL(cuStreamWaitEvent, cuStreamWaitEvent,                                                 \
	     (reel_cu_stream stream, reel_cu_event event, unsigned flags))                         \
	CALL(cuLaunchHostFunc, cuLaunchHostFunc,                                                   \
	     (reel_cu_stream stream, reel_cu_host_function function, void *argument))

struct reel_driver {
#define REEL_DRIVER_MEMBER(member, symbol, hip, arguments) reel_cu_result (*member) arguments;
	REEL_DRIVER_CALLS(REEL_DRIVER_MEMBER)
#undef REEL_DRIVER_MEMBER
#define REEL_DRIVER_MEMBER(member, symbol, arguments) reel_cu_result (*member) arguments;
	REEL_CUDA_CALLS(REEL_DRIVER_MEMBER)
	REEL_FAKE_CALLS(REEL_DRIVER_MEMBER)
#undef REEL_DRIVER_MEMBER
};

/*
 * Returns the table, which stays until the process ends. Returns NULL if there is no driver, and
 * sets `*problem` to the reason. Does not call cuInit(). Any thread.
 */
const struct reel_driver *reel_driver_get(const char **problem);

/* For tests: sets the table that reel_driver_get() returns. NULL: the loaded table. */
void reel_driver_replace(const struct reel_driver *driver);

#define REEL_DRIVER_WORDS 160

/* Writes the name, number and description of a result to `words`. Returns `words`. */
const char *reel_driver_explain(const struct reel_driver *driver, reel_cu_result result,
				char words[REEL_DRIVER_WORDS]);

#endif
