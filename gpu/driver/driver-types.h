/* SPDX-License-Identifier: MIT */
/*
 * The types of CUDA's driver, as in its binary interface on 64-bit machines. With them Reel needs
 * no header of CUDA. tests/gpu/t-gpu-driver.c compares them with cuda.h.
 */
#ifndef REEL_GPU_DRIVER_TYPES_H
#define REEL_GPU_DRIVER_TYPES_H

#include <stdint.h>

typedef int reel_cu_result; /* 0: success */
typedef int reel_cu_device;
typedef int reel_cu_attribute;
typedef uint64_t reel_cu_address; /* an address in the device's memory */
typedef struct reel_cu_context_object *reel_cu_context;
typedef struct reel_cu_stream_object *reel_cu_stream;
typedef struct reel_cu_event_object *reel_cu_event;
typedef void (*reel_cu_host_function)(void *argument);

/* The results that Reel tells apart; all other values are errors. */
enum {
	REEL_CU_SUCCESS = 0,
	REEL_CU_INVALID_VALUE = 1,
	REEL_CU_OUT_OF_MEMORY = 2,
	REEL_CU_NOT_INITIALIZED = 3,
	REEL_CU_NO_DEVICE = 100,
	REEL_CU_INVALID_DEVICE = 101,
	REEL_CU_INVALID_CONTEXT = 201,
	REEL_CU_INVALID_HANDLE = 400,
	REEL_CU_NOT_READY = 600,
	REEL_CU_ILLEGAL_ADDRESS = 700,
	REEL_CU_HOST_MEMORY_ALREADY_REGISTERED = 712,
	REEL_CU_HOST_MEMORY_NOT_REGISTERED = 713,
	REEL_CU_LAUNCH_FAILED = 719,
	REEL_CU_NOT_PERMITTED = 800,
	REEL_CU_UNKNOWN = 999
};

enum {
	REEL_CU_MULTIPROCESSORS = 16,
	REEL_CU_THREADS_PER_MULTIPROCESSOR = 39,
	REEL_CU_COMPUTE_MAJOR = 75,
	REEL_CU_COMPUTE_MINOR = 76
};

/* HIP numbers these attributes in its own way. The numbers are valid from HIP 5 on. */
enum {
	REEL_HIP_MULTIPROCESSORS = 63,
	REEL_HIP_THREADS_PER_MULTIPROCESSOR = 57,
	REEL_HIP_COMPUTE_MAJOR = 23,
	REEL_HIP_COMPUTE_MINOR = 61
};

/* Flags of cuStreamCreate(), cuEventCreate(), cuMemHostAlloc() and cuMemHostRegister(). */
enum {
	REEL_CU_STREAM_NON_BLOCKING = 1,
	REEL_CU_EVENT_BLOCKING_SYNC = 1,
	REEL_CU_EVENT_DISABLE_TIMING = 2,
	REEL_CU_HOST_ALLOC_PORTABLE = 1,
	REEL_CU_HOST_REGISTER_PORTABLE = 1
};

#endif
