/* SPDX-License-Identifier: MIT */
/* The store on a GPU does what every store must do, on the fake device. */
#include <config.h>

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/store/gpu-store.h"
#include "helpers/gpu-support.h"
#include "helpers/store-later.h"
#include "helpers/store-suite.h"
#include "helpers/store-count.h"
#include "helpers/store-fault.h"

#define SLOT SUITE_MAX_BYTES
#define ROOM (2 * SUITE_TOTAL_BYTES)

static uint64_t seed;

/* ---- Each function takes over `below`; NULL stays NULL. ---- */

static reel_store *gpu(uint64_t bytes, unsigned depth)
{
	struct reel_gpu_store_options options = {
		.bytes = bytes, .slot_bytes = SLOT, .depth = depth};
	reel_store *store;

	return reel_store_gpu_open(&store, &options) ? NULL : store;
}

static reel_store *memory_of(uint64_t bytes)
{
	reel_store *store;

	return reel_store_memory_open(&store, bytes) ? NULL : store;
}

static reel_store *memory(void)
{
	return memory_of(ROOM);
}

static reel_store *checksum(reel_store *below)
{
	reel_store *store;

	return below && !reel_store_checksum_open(&store, below) ? store : NULL;
}

static reel_store *tier(reel_store *first, reel_store *second)
{
	reel_store *store;

	return first && second && !reel_store_overflow_open(&store, first, second) ? store : NULL;
}

static reel_store *fault(reel_store *below)
{
	reel_store *store;

	return below && !reel_store_fault_open(&store, below, NULL, 0) ? store : NULL;
}

static reel_store *codec(reel_store *below)
{
	struct reel_codec_options options = {.max_bytes = SLOT, .buffers = 2};
	reel_store *store;

	return below && !reel_store_codec_open(&store, below, &options) ? store : NULL;
}

/* ---- Stacks ---- */

static reel_store *open_alone(void)
{
	return gpu(ROOM, 0);
}

static reel_store *open_one_deep(void)
{
	return gpu(ROOM, 1);
}

static reel_store *open_checked(void)
{
	return checksum(gpu(ROOM, 2));
}

static reel_store *open_tier(void)
{
	return tier(checksum(gpu(2 * SLOT, 3)), checksum(memory()));
}

static reel_store *open_below(void)
{
	return tier(store_later_open(checksum(memory_of(SLOT))),
		    tier(checksum(gpu(2 * SLOT, 2)), checksum(gpu(ROOM, 2))));
}

static reel_store *open_fault(void)
{
	return checksum(fault(gpu(ROOM, 4)));
}

static reel_store *open_codec(void)
{
	return codec(checksum(gpu(ROOM, 2)));
}

static const struct {
	const char *name;
	reel_store *(*open)(void);
	bool compresses;
} stacks[] = {
	{"fake device: gpu", open_alone, false},
	{"fake device: gpu, one transfer at a time", open_one_deep, false},
	{"fake device: checksum(gpu)", open_checked, false},
	{"fake device: tier(checksum(gpu), checksum(memory))", open_tier, false},
	{"fake device: tier(later(checksum(memory)), tier(checksum(gpu), checksum(gpu)))",
	 open_below, false},
	{"fake device: checksum(fault(gpu))", open_fault, false},
	{"fake device: codec(checksum(gpu))", open_codec, true},
};

static void it_does_what_stores_must(void)
{
	for (size_t i = 0; i < COUNT(stacks); i++) {
		if (stacks[i].compresses && !HAVE_LZ4)
			continue;
		if (is_brief() && i != 2 && i != 4)
			continue;
		open_fake((struct fake_options){.seed = seed + i});
		store_suite(stacks[i].name, stacks[i].open);
		close_fake_after(stacks[i].name);
	}
}

/* ---- Adopted memory ---- */

static struct reel_gpu_stats stats_of(reel_store *store)
{
	struct reel_gpu_stats stats;

	reel_gpu_get_stats(store, &stats);
	return stats;
}

static int there_and_back(reel_store *store, unsigned char *data, size_t bytes)
{
	reel_transfer transfer = {.data = data, .bytes = bytes};
	int error;

	suite_fill(data, bytes, 2);
	error = reel_store_put_and_wait(store, &transfer);
	if (error)
		return error;
	memset(data, 0, bytes);
	error = reel_store_get_and_wait(store, &transfer);
	reel_store_drop(store, transfer.extent);
	if (!error && !suite_is_filled(data, bytes, 2))
		return -EBADMSG;
	return error;
}

/* Puts the leaf below each kind of layer, and behind a store that takes nothing. */
static reel_store *buried(reel_store *leaf)
{
	reel_store *store;

	if (reel_store_count_open(&store, checksum(fault(leaf))))
		abort();
	return tier(checksum(memory_of(1)), HAVE_LZ4 ? codec(store) : store);
}

static void adopted_memory_is_not_copied(void)
{
	unsigned char *data = suite_allocate(2 * SLOT);
	struct reel_store_capacity capacity;
	reel_store *leaf, *store;

	open_fake((struct fake_options){.seed = 1});
	leaf = gpu(ROOM, 0);
	store = buried(leaf);
	reel_store_get_capacity(store, &capacity);
	ok(capacity.registers,
	   "fake device: a stack with a GPU in it says that it registers memory");
	is_int(there_and_back(store, data, SLOT), 0, "fake device: memory that is not adopted");
	is_int(stats_of(leaf).copied_bytes, 2 * SLOT,
	       "memory that is not adopted is copied, to and fro");
	is_int(reel_store_register(store, data, SLOT), 0, "fake device: memory is adopted");
	is_int(reel_store_register(store, data, SLOT), 0, "memory is adopted a second time");
	is_int(there_and_back(store, data, SLOT), 0, "fake device: adopted memory travels");
	is_int(there_and_back(store, data + 4096, SLOT / 2), 0, "pieces of adopted memory travel");
	is_int(stats_of(leaf).copied_bytes, 2 * SLOT, "adopted memory travels without a copy");
	is_int(there_and_back(store, data + SLOT, SLOT / 2), 0,
	       "the neighbour of adopted memory travels");
	is_int(stats_of(leaf).copied_bytes, 3 * SLOT, "the neighbour is copied");
	reel_store_unregister(store, data + 4096, SLOT - 4096);
	is_int(fake_device_registered_bytes(), SLOT, "fake device: a slot is pinned, as a whole");
	reel_store_unregister(store, data, SLOT);
	reel_store_unregister(store, data + SLOT, SLOT);
	is_int(fake_device_registered_bytes(), 0, "fake device: nothing is pinned afterwards");
	is_int(there_and_back(store, data, SLOT), 0, "fake device: released memory travels");
	is_int(stats_of(leaf).copied_bytes, 5 * SLOT, "released memory is copied");
	ok(reel_store_register(store, data + 1, SLOT), "parts of pages are not adopted");
	is_int(reel_store_register(store, data + SLOT, SLOT), 0,
	       "fake device: more memory is adopted");
	reel_store_close(store);
	is_int(fake_device_registered_bytes(), 0, "fake device: it is released with the store");
	close_fake_after("adopting");
	free(data);
}

static void what_cannot_be_pinned_is_copied(void)
{
	unsigned char *data = suite_allocate(SLOT);
	reel_store *store;

	open_fake((struct fake_options){.pinned_bytes = 9 * SLOT});
	store = gpu(ROOM, 4);
	ok(store && reel_store_register(store, data, SLOT) == 0,
	   "fake device: a slot's worth fits");
	reel_store_unregister(store, data, SLOT);
	free(data);
	data = suite_allocate(4 * SLOT);
	is_int(reel_store_register(store, data, 4 * SLOT), -ENOMEM, "fake device: four do not");
	is_int(stats_of(store).refused_adoptions, 1, "the refused adoption is counted");
	ok(strstr(stats_of(store).problem, "CUDA_ERROR_OUT_OF_MEMORY"), "the reason is kept: %s",
	   stats_of(store).problem);
	is_int(there_and_back(store, data, SLOT), 0, "fake device: refused memory travels");
	is_int(stats_of(store).copied_bytes, 2 * SLOT, "memory that was refused travels as copies");
	reel_store_close(store);
	close_fake_after("a limit of pinned memory");
	open_fake((struct fake_options){.pinned_bytes = 3 * SLOT});
	ok(!gpu(ROOM, 2) && strstr(reel_error_text(0), "pinned memory"),
	   "fake device: without such memory no store opens: %s", reel_error_text(0));
	close_fake_after("no pinned memory");
	free(data);
}

/* Memory that two stores have adopted stays pinned until neither needs it. */
static void stores_share_what_is_pinned(void)
{
	unsigned char *data = suite_allocate(2 * SLOT);
	reel_store *first, *second;

	open_fake((struct fake_options){.pinned_bytes = 5 * SLOT});
	first = gpu(ROOM, 1);
	second = gpu(ROOM, 1);
	is_int(reel_store_register(first, data, SLOT), 0,
	       "fake device: one store registers memory");
	is_int(reel_store_register(second, data + SLOT, 4096), -ENOMEM,
	       "fake device: it pins no more");
	ok(reel_store_register(second, data + 4096, SLOT / 2) == 0 &&
		   fake_device_registered_bytes() == SLOT,
	   "fake device: another one registers a part, which is pinned already");
	reel_store_unregister(first, data, SLOT);
	is_int(fake_device_registered_bytes(), SLOT, "fake device: it stays for the other one");
	is_int(reel_store_register(first, data, SLOT), 0, "and serves the first one again");
	reel_store_close(first);
	is_int(fake_device_registered_bytes(), SLOT, "also after the end of a store");
	is_int(there_and_back(second, data + 4096, SLOT / 2), 0, "the second store transfers it");
	is_int(stats_of(second).copied_bytes, 0, "without a copy");
	reel_store_close(second);
	is_int(fake_device_registered_bytes(), 0, "fake device: the last store unpins it");
	close_fake_after("two stores");
	free(data);
}

/* A device pins in its own context, which may end before that of another device. */
static void devices_share_no_pins(void)
{
	unsigned char *data = suite_allocate(SLOT);
	reel_store *first, *second;

	open_fake((struct fake_options){.devices = 2});
	first = gpu(ROOM, 1);
	if (reel_store_gpu_open(&second, &(struct reel_gpu_store_options){
						 .device = 1, .bytes = ROOM, .slot_bytes = SLOT}))
		abort();
	is_int(reel_store_register(first, data, SLOT), 0, "fake device: one device pins memory");
	is_int(reel_store_register(second, data, SLOT), -EBUSY,
	       "fake device: another one does not");
	is_int(there_and_back(second, data, SLOT), 0, "its store copies the memory");
	reel_store_close(first);
	is_int(reel_store_register(second, data, SLOT), 0,
	       "fake device: it pins the memory after the end of the first store");
	reel_store_close(second);
	close_fake_after("two devices");
	free(data);
}

/* The program may unpin its memory at any time. */
static void memory_that_the_program_pins_is_copied(void)
{
	unsigned char *data = suite_allocate(SLOT);
	const struct reel_driver *driver;
	struct reel_gpu_context context;
	reel_store *store;

	open_fake((struct fake_options){0});
	driver = reel_driver_get(NULL);
	store = gpu(ROOM, 1);
	reel_gpu_context_open(&context, 0);
	reel_gpu_enter(&context);
	driver->cuMemHostRegister(data, 4096, REEL_CU_HOST_REGISTER_PORTABLE);
	is_int(reel_store_register(store, data, SLOT), -EBUSY,
	       "fake device: memory that the program has pinned is refused");
	driver->cuMemHostUnregister(data);
	is_int(there_and_back(store, data, SLOT), 0, "fake device: it is transferred by copies");
	is_int(reel_store_register(store, data, SLOT), 0,
	       "fake device: memory is adopted once the program has unpinned it");
	reel_store_close(store);
	reel_gpu_leave(&context);
	reel_gpu_context_close(&context);
	close_fake_after("memory of the program");
	free(data);
}

/* ---- Depth ---- */

/* Pinned buffers of a store without registered memory: one for each transfer under way. */
static void enough_is_under_way(void)
{
	static const struct {
		size_t slot_bytes;
		unsigned depth, expected;
	} row[] = {{4096, 0, 8}, {0, 0, 8}, {4 << 20, 0, 4}, {16 << 20, 0, 2}, {4096, 3, 3}};
	size_t slot_bytes;
	reel_store *store;

	open_fake((struct fake_options){0});
	for (size_t i = 0; i < COUNT(row); i++) {
		slot_bytes = row[i].slot_bytes ? row[i].slot_bytes : 2 << 20;
		if (reel_store_gpu_open(&store, &(struct reel_gpu_store_options){
							.slot_bytes = row[i].slot_bytes,
							.bytes = slot_bytes,
							.depth = row[i].depth}))
			abort();
		is_int(stats_of(store).pinned_bytes, 2 * row[i].expected * slot_bytes,
		       "fake device: slots of %zu bytes, depth %u: %u transfers each way",
		       slot_bytes, row[i].depth, row[i].expected);
		reel_store_close(store);
	}
	close_fake_after("depths");
}

/* ---- Absence ---- */

static void what_is_absent_is_said(void)
{
	struct reel_gpu_store_options bad[] = {{.depth = 65}, {.reserved = {0, 1}},
#if SIZE_MAX > UINT32_MAX
					       {.slot_bytes = (size_t)1 << 33},
#endif
	};
	struct reel_gpu_device device;
	reel_store *store;
	unsigned count = 1;

	open_fake((struct fake_options){.absent = true});
	is_int(reel_store_gpu_open(&store, NULL), -ENODEV, "fake device: no device is there");
	ok(strstr(reel_error_text(0), "CUDA_ERROR_NO_DEVICE"), "%s", reel_error_text(0));
	ok(reel_gpu_count(&count) == -ENODEV && count == 0, "fake device: none is counted");
	close_fake();
	open_fake((struct fake_options){.devices = 2, .memory_bytes = 4 * SLOT});
	is_int(reel_store_gpu_open(&store, &(struct reel_gpu_store_options){.device = 2}), -ENODEV,
	       "fake device: there is no third one");
	ok(strstr(reel_error_text(0), "there are 2"), "%s", reel_error_text(0));
	ok(!gpu(5 * SLOT, 0), "fake device: it does not have that much memory");
	ok(strstr(reel_error_text(0), "CUDA_ERROR_OUT_OF_MEMORY"), "%s", reel_error_text(0));
	is_int(reel_store_gpu_open(&store, &(struct reel_gpu_store_options){0}), -ENOMEM,
	       "fake device: it has no memory for one slot of 2 MiB");
	ok(strstr(reel_error_text(0), "2097152"), "%s", reel_error_text(0));
	store = gpu(0, 1);
	is_int(stats_of(store).total_bytes, 3 * SLOT, "fake device: three quarters are taken");
	reel_store_close(store);
	for (size_t i = 0; i < COUNT(bad); i++)
		ok(reel_store_gpu_open(&store, &bad[i]) == -EINVAL, "bad options: %s",
		   reel_error_text(0));
	ok(!reel_gpu_count(&count) && count == 2, "fake device: two are counted");
	ok(!reel_gpu_describe(1, &device) && !strcmp(device.name, "fake device 1") &&
		   device.memory_bytes == 4 * SLOT && device.compute_major == 9 &&
		   device.multiprocessors == 2 && device.driver_version == 13000,
	   "fake device: the second one is described");
	close_fake_after("absence");
}

/* ---- What only this store does ---- */

static void slots_are_used_again_last_first(void)
{
	unsigned char *data = suite_allocate(SLOT);
	reel_transfer transfer[3] = {0};
	reel_store *store;

	open_fake((struct fake_options){0});
	store = gpu(ROOM, 0);
	for (unsigned i = 0; i < 3; i++) {
		transfer[i] = (reel_transfer){.data = data, .bytes = SLOT};
		reel_store_put_and_wait(store, &transfer[i]);
	}
	ok(transfer[0].extent.location == 0 && transfer[2].extent.location == 2,
	   "fake device: slots are taken from the lowest on");
	reel_store_drop(store, transfer[0].extent);
	reel_store_drop(store, transfer[2].extent);
	reel_store_put_and_wait(store, &transfer[2]);
	is_int(transfer[2].extent.location, 2, "fake device: the slot given last is the next one");
	transfer[1].bytes = SLOT / 2;
	is_int(reel_store_get_and_wait(store, &transfer[1]), -EINVAL,
	       "a get of another length is refused");
	transfer[1].bytes = SLOT + 1;
	is_int(reel_store_put_and_wait(store, &transfer[1]), -EMSGSIZE, "so is a put too large");
	reel_store_close(store);
	close_fake_after("slots");
	free(data);
}

/* The fake device ends a child that calls the driver. */
static void a_child_leaves_the_device_alone(void)
{
	unsigned char *data = suite_allocate(SLOT);
	reel_transfer transfer = {.data = data, .bytes = SLOT};
	reel_store *store;
	int status;
	pid_t child;

	open_fake((struct fake_options){0});
	store = gpu(ROOM, 0);
	reel_store_register(store, data, SLOT);
	reel_store_put_and_wait(store, &transfer);
	/* As if another thread were working with the store when the child is made. */
	pthread_mutex_lock(&((struct reel_gpu_store *)store)->memory.lock);
	pthread_mutex_lock(&((struct reel_gpu_store *)store)->memory.pinned.lock);
	child = fork_with_timeout();
	if (child == 0) {
		struct reel_gpu_stats stats = {.used_bytes = 1};
		bool right = reel_store_get_and_wait(store, &transfer) == -ECHILD &&
			     reel_store_put_and_wait(store, &transfer) == -ECHILD &&
			     reel_store_register(store, data, SLOT) == -ECHILD &&
			     reel_store_sync(store, -1) == 0;

		reel_store_unregister(store, data, SLOT);
		reel_store_drop(store, transfer.extent);
		reel_gpu_get_stats(store, &stats);
		right = right && !stats.used_bytes;
		reel_store_close(store);
		_exit(!right);
	}
	pthread_mutex_unlock(&((struct reel_gpu_store *)store)->memory.lock);
	pthread_mutex_unlock(&((struct reel_gpu_store *)store)->memory.pinned.lock);
	waitpid(child, &status, 0);
	is_int(status, 0, "fake device: the child of a fork does not touch it");
	is_int(reel_store_get_and_wait(store, &transfer), 0, "fake device: the parent goes on");
	reel_store_close(store);
	close_fake_after("a fork");
	free(data);
}

int main(void)
{
	tap_begin();
	seed = getenv("TEST_SEED") ? strtoull(getenv("TEST_SEED"), NULL, 0) : 0;
	it_does_what_stores_must();
	adopted_memory_is_not_copied();
	what_cannot_be_pinned_is_copied();
	stores_share_what_is_pinned();
	devices_share_no_pins();
	memory_that_the_program_pins_is_copied();
	enough_is_under_way();
	what_is_absent_is_said();
	slots_are_used_again_last_first();
	a_child_leaves_the_device_alone();
	return tap_end();
}
