/* SPDX-License-Identifier: MIT */
/* Programs on the fake device: streams, in whose order emulated kernels run. */
#ifndef TESTS_FAKE_SUPPORT_H
#define TESTS_FAKE_SUPPORT_H

extern "C" {
#include "fake-device.h"
}

/* With a link the device has a clock, and no delays. */
inline const reel_driver *fake_open(uint64_t seed, double link_bytes_per_second = 0)
{
	fake_options options = {};
	const reel_driver *driver;

	options.seed = seed;
	options.delay_us = 20;
	options.late = !link_bytes_per_second && seed % 3 == 1;
	options.link_bytes_per_second = link_bytes_per_second;
	driver = fake_device_open(&options);
	reel_driver_replace(driver);
	return driver;
}

inline reel_cu_stream fake_open_stream(const reel_driver *driver, reel_cu_context *context)
{
	reel_cu_stream stream = nullptr;

	driver->cuDevicePrimaryCtxRetain(context, 0);
	driver->cuCtxPushCurrent(*context);
	driver->cuStreamCreate(&stream, REEL_CU_STREAM_NON_BLOCKING);
	driver->cuCtxPopCurrent(nullptr);
	return stream;
}

inline void fake_close_stream(const reel_driver *driver, reel_cu_context context,
			      reel_cu_stream stream)
{
	driver->cuCtxPushCurrent(context);
	driver->cuStreamDestroy(stream);
	driver->cuCtxPopCurrent(nullptr);
	driver->cuDevicePrimaryCtxRelease(0);
}

/* `argument` is used until the stream has been waited for. */
inline void fake_launch(const reel_driver *driver, reel_cu_context context, reel_cu_stream stream,
			reel_cu_host_function kernel, void *argument)
{
	driver->cuCtxPushCurrent(context);
	driver->cuLaunchHostFunc(stream, kernel, argument);
	driver->cuCtxPopCurrent(nullptr);
}

/* With one stream. */
struct fake_program {
	const reel_driver *driver;
	reel_cu_context context = nullptr;
	reel_cu_stream stream = nullptr;

	explicit fake_program(uint64_t seed, double link_bytes_per_second = 0)
	    : driver(fake_open(seed, link_bytes_per_second))
	{
		stream = fake_open_stream(driver, &context);
	}
	fake_program(const fake_program &) = delete;
	fake_program &operator=(const fake_program &) = delete;

	void launch(reel_cu_host_function kernel, void *argument)
	{
		fake_launch(driver, context, stream, kernel, argument);
	}

	/* One of these calls may fail, once. */
	void wait()
	{
		for (bool done = false; !done;) {
			if (driver->cuCtxPushCurrent(context))
				continue;
			done = !driver->cuStreamSynchronize(stream);
			driver->cuCtxPopCurrent(nullptr);
		}
	}

	/* How many objects are left, and copies were used too early or too late. */
	unsigned end()
	{
		unsigned wrong, left;

		wait();
		fake_close_stream(driver, context, stream);
		wrong = fake_device_wrongs();
		if (wrong)
			tap_note("%s", fake_device_wrong());
		left = fake_device_close();
		reel_driver_replace(nullptr);
		return wrong + left;
	}
};

#endif
