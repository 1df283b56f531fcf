/* SPDX-License-Identifier: MIT */
/*
 * GPU memory as a store (store.h): libreel-cuda. It is not a CUDA program: it loads NVIDIA's driver
 * (libcuda.so.1) when a program first asks for a device, so that programs can link and call it on
 * machines without a driver. Where there is no libcuda.so.1 it loads AMD's HIP (libamdhip64.so.5 to
 * 7), which has been tested against a substitute and on no device.
 *
 *	reel_store *store;
 *
 *	error = reel_store_open(&store, "gpu=4G,memory=2G,file", NULL);
 *
 * needs no more than libreel: it loads libreel-cuda for the word "gpu". A program that
 * calls the functions below is linked with libreel-cuda (pkg-config reel-cuda).
 *
 * It uses the device's primary context, as CUDA's runtime does. No function changes the calling
 * thread's context. After a fork the child has no GPU.
 */
#ifndef REEL_GPU_H
#define REEL_GPU_H

#include <stddef.h>
#include <stdint.h>

#include <reel/pool.h>
#include <reel/store.h>

#ifdef __cplusplus
extern "C" {
#endif

struct reel_gpu_device {
	char name[96];
	uint64_t memory_bytes;
	unsigned driver_version; /* of CUDA that the driver is for: 13000 is 13.0; HIP: its own */
	unsigned compute_major, compute_minor;
	unsigned multiprocessors;
	unsigned threads; /* that a multiprocessor can have at once */
	unsigned reserved[7];
};

/*
 * The number of devices, and the properties of one, numbered from 0 as in the driver
 * (CUDA_VISIBLE_DEVICES or HIP_VISIBLE_DEVICES applies). Any thread. 0, or -ENODEV: there is no
 * driver, or no such device. The first call loads the driver.
 */
int reel_gpu_count(unsigned *count);
int reel_gpu_describe(unsigned number, struct reel_gpu_device *device);

/* All zero, or NULL, is sensible. */
struct reel_gpu_store_options {
	unsigned device;       /* its number */
	/* Transfers under way at once, each way: 1 to 64; 0: 8, or 2 to 7 if 8 are above 16 MiB. */
	unsigned depth;
	size_t slot_bytes;     /* the largest put; 0: 2 MiB */
	uint64_t bytes;        /* of the device's memory; 0: three quarters of its free memory */
	uint64_t reserved[4];  /* 0 */
};

/*
 * A leaf in the memory of a GPU. When the store opens, it allocates one block of that memory, which
 * it divides into slots of one size; the slot left last is used first. It also creates two streams,
 * an event for each transfer that may be under way, and the same number of pinned buffers of the
 * size of a slot (twice `depth` in all).
 *
 * Memory that is registered with the store, such as the memory of pools, is pinned at its first put
 * or get; from then on it travels to the device and back without a copy. All other memory is copied
 * to or from one of the pinned buffers.
 *
 * Transfers complete on two threads of the store, which sleep until an event of the driver. When
 * the driver reports that the device is lost, every transfer from then on is -ENODEV;
 * reel_gpu_get_stats() has the reason. A transfer that fails alone is -EIO.
 *
 * Returns 0, or
 *   -ENODEV  there is no driver, no such device, or it does not work
 *   -ENOMEM  too little memory on the device, no memory can be pinned, or no thread can be started
 *   -EINVAL  an option is out of range
 */
int reel_store_gpu_open(reel_store **store, const struct reel_gpu_store_options *options);

/*
 * The figures of a store on a GPU, or of a pool whose frames are pinned. A pool has no slots and
 * makes no transfers: only pinned_bytes, refused_adoptions and problem are set, and the rest is 0.
 */
struct reel_gpu_stats {
	uint64_t total_bytes, used_bytes;   /* of slots */
	uint64_t puts, gets;                /* that succeeded */
	uint64_t put_bytes, got_bytes;
	uint64_t failed_puts, failed_gets;
	uint64_t copied_bytes;              /* of these, through the store's own buffers */
	uint64_t pinned_bytes;              /* now: adopted memory or frames, and those buffers */
	uint64_t refused_adoptions;         /* of memory or frames that the driver did not pin */
	uint64_t reserved[5];
	char problem[160];                  /* text of the driver's last failure, or "" */
};

/* Of a store that reel_store_gpu_open() has opened. Any thread, but not in the child of a fork. */
void reel_gpu_get_stats(reel_store *store, struct reel_gpu_stats *stats);

/*
 * From now on the driver pins each frame of the pool while it is resident, for as long as the pool
 * lives: the memory of parcels, tapes and recordings, but not memory that the program lends to
 * parcels. Every device copies from and to it at the speed of its link, and asynchronously. NULL is
 * the default pool.
 *
 * The pinned bytes are at most the resident bytes, which the budget counts. If the driver pins no
 * more memory, frames are taken without, and copies from and to them take longer;
 * reel_gpu_get_pool_stats() has their number and the reason. The call gives the idle memory of the
 * pool back to the system, so that it is pinned when it comes again; frames that are in use are
 * pinned after they have been idle and gone back.
 *
 * The driver works on each page of a frame that it pins. A frame stays pinned while slabs come and
 * go in it, so choose a soft budget from which the pool does not give frames back in each sweep. A
 * store in the memory of the same device shares the pins of the pool.
 *
 * Any thread, also while other threads use the pool. In the child of a fork the pool goes on, and
 * no more of its frames are pinned. Returns 0, also if the frames of the pool are pinned already,
 * for whichever device, or
 *   -ENODEV  there is no driver, no such device, or it does not work; or this is a child
 *   -ENOMEM  no memory
 *   -EINVAL  the pool's slabs are not whole pages
 *   or an error of the default pool
 */
int reel_gpu_pin_pool(reel_pool *pool, unsigned device);
/* NULL: the default pool. All 0 if its frames are not pinned, and in a child. Any thread. */
void reel_gpu_get_pool_stats(reel_pool *pool, struct reel_gpu_stats *stats);

#ifdef __cplusplus
}
#endif

#endif
