/* SPDX-License-Identifier: MIT */
/*
 * CUDA's driver as one table: the functions of libcuda.so.1, which reel_driver_get() loads when it
 * is called first, or of the fake device of the tests (fake-device.h). Reel is not linked with
 * CUDA. The members have the names of the manual of CUDA's driver.
 */
#ifndef REEL_GPU_DRIVER_H
#define REEL_GPU_DRIVER_H

#include <stdbool.h>
#include <stddef.h>

#include "driver-types.h"

/* CALL(member, symbol in the library, arguments) for each function. */
#define REEL_DRIVER_CALLS(CALL)                                                                    \
	CALL(cuInit, cuInit, (unsigned flags))                                                     \
	CALL(cuDriverGetVersion, cuDriverGetVersion, (int *version))                               \
	CALL(cuGetErrorName, cuGetErrorName, (reel_cu_result result, const char **name))           \
	CALL(cuGetErrorString, cuGetErrorString, (reel_cu_result result, const char **words))      \
	CALL(cuDeviceGetCount, cuDeviceGetCount, (int *count))                                     \
	CALL(cuDeviceGet, cuDeviceGet, (reel_cu_device *device, int number))                       \
	CALL(cuDeviceGetName, cuDeviceGetName, (char *name, int bytes, reel_cu_device device))     \
	CALL(cuDeviceGetAttribute, cuDeviceGetAttribute,                                           \
	     (int *value, reel_cu_attribute attribute, reel_cu_device device))                     \
	CALL(cuDeviceTotalMem, cuDeviceTotalMem_v2, (size_t *bytes, reel_cu_device device))        \
	CALL(cuDevicePrimaryCtxRetain, cuDevicePrimaryCtxRetain,                                   \
	     (reel_cu_context *context, reel_cu_device device))                                    \
	CALL(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2, (reel_cu_device device))     \
	CALL(cuCtxPushCurrent, cuCtxPushCurrent_v2, (reel_cu_context context))                     \
	CALL(cuCtxPopCurrent, cuCtxPopCurrent_v2, (reel_cu_context *context))                      \
	CALL(cuMemGetInfo, cuMemGetInfo_v2, (size_t *unused, size_t *total))                       \
	CALL(cuMemAlloc, cuMemAlloc_v2, (reel_cu_address *address, size_t bytes))                  \
	CALL(cuMemFree, cuMemFree_v2, (reel_cu_address address))                                   \
	CALL(cuMemHostAlloc, cuMemHostAlloc, (void **memory, size_t bytes, unsigned flags))        \
	CALL(cuMemFreeHost, cuMemFreeHost, (void *memory))                                         \
	CALL(cuMemHostRegister, cuMemHostRegister_v2,                                              \
	     (void *memory, size_t bytes, unsigned flags))                                         \
	CALL(cuMemHostUnregister, cuMemHostUnregister, (void *memory))                             \
	CALL(cuMemHostGetDevicePointer, cuMemHostGetDevicePointer_v2,                              \
	     (reel_cu_address *address, void *memory, unsigned flags))                             \
	CALL(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2,                                              \
	     (reel_cu_address to, const void *from, size_t bytes, reel_cu_stream stream))          \
	CALL(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2,                                              \
	     (void *to, reel_cu_address from, size_t bytes, reel_cu_stream stream))                \
	CALL(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2,                                              \
	     (reel_cu_address to, reel_cu_address from, size_t bytes, reel_cu_stream stream))      \
	CALL(cuMemsetD8Async, cuMemsetD8Async,                                                     \
	     (reel_cu_address to, unsigned char value, size_t bytes, reel_cu_stream stream))       \
	CALL(cuStreamCreate, cuStreamCreate, (reel_cu_stream *stream, unsigned flags))             \
	CALL(cuStreamDestroy, cuStreamDestroy_v2, (reel_cu_stream stream))                         \
	CALL(cuStreamQuery, cuStreamQuery, (reel_cu_stream stream))                                \
	CALL(cuStreamSynchronize, cuStreamSynchronize, (reel_cu_stream stream))                    \
	CALL(cuStreamWaitEvent, cuStreamWaitEvent,                                                 \
	     (reel_cu_stream stream, reel_cu_event event, unsigned flags))                         \
	CALL(cuLaunchHostFunc, cuLaunchHostFunc,                                                   \
	     (reel_cu_stream stream, reel_cu_host_function function, void *argument))              \
	CALL(cuEventCreate, cuEventCreate, (reel_cu_event *event, unsigned flags))                 \
	CALL(cuEventDestroy, cuEventDestroy_v2, (reel_cu_event event))                             \
	CALL(cuEventRecord, cuEventRecord, (reel_cu_event event, reel_cu_stream stream))           \
	CALL(cuEventSynchronize, cuEventSynchronize, (reel_cu_event event))

struct reel_driver {
#define REEL_DRIVER_MEMBER(member, symbol, arguments) reel_cu_result (*member) arguments;
	REEL_DRIVER_CALLS(REEL_DRIVER_MEMBER)
#undef REEL_DRIVER_MEMBER
};

/*
 * Returns the table, which stays until the process ends. Returns NULL if there is no driver, and
 * sets `*problem` to the reason. Does not call cuInit(). Any thread.
 */
const struct reel_driver *reel_driver_get(const char **problem);

/* For tests: sets the table that reel_driver_get() returns. NULL: the table of libcuda.so.1. */
void reel_driver_replace(const struct reel_driver *driver);

#define REEL_DRIVER_WORDS 160

/* Writes the name, number and description of a result to `words`. Returns `words`. */
const char *reel_driver_explain(const struct reel_driver *driver, reel_cu_result result,
				char words[REEL_DRIVER_WORDS]);

#endif
