/* SPDX-License-Identifier: MIT */
/* The host's side of a tape in kernels, on the fake device; its kernels are emulated, in stream order. */
#include "helpers/device-support.h"

#include <cerrno>
#include <cstdio>

#include "helpers/fake-support.h"

namespace {

const reel_driver *fake;
reel_cu_context context;

reel_cu_stream open_stream()
{
	return fake_open_stream(fake, &context);
}

void close_stream(reel_cu_stream stream)
{
	fake_close_stream(fake, context, stream);
}

void open_fake(uint64_t seed)
{
	fake = fake_open(seed);
}

void close_fake(const char *after)
{
	is_int(fake_device_wrongs(), 0, "no copy was used too early or too late: %s", fake_device_wrong());
	is_int(fake_device_close(), 0, "nothing is left on the device after %s", after);
	reel_driver_replace(nullptr);
}

/* ---- A launch, as the device would run it: later, in the order of its stream ---- */

struct launch {
	reel_device_arena arena;
	unsigned rows;
	bool reverse, both;
	wrongs *wrong;
};

void kernel(const launch &l)
{
	reel_device_tape<> tape;
	unsigned lane = global_thread(), rows = l.rows + lane % 5;

	if (l.reverse)
		tape.resume(l.arena);
	else
		tape.open(l.arena);
	for (unsigned i = 0; i < rows && !l.reverse; i++)
		tape.push(scramble(lane + 1000 * i));
	if (!l.reverse && !l.both)
		return tape.save();
	for (unsigned i = rows; i-- > 0;)
		l.wrong->add(tape.pop<uint64_t>() != scramble(lane + 1000 * i));
}

void run(void *argument)
{
	const launch *l = static_cast<const launch *>(argument);

	emulator::launch(2, 64, [&] { kernel(*l); });
}

void start(reel_cu_stream stream, launch *l)
{
	fake_launch(fake, context, stream, run, l);
}

reel_arena_options small(uint64_t slabs)
{
	reel_arena_options options = {};

	options.slab_bytes = 16 * 32 * 8;
	options.warps = 4;
	options.bytes = arena_bytes(slabs, options.slab_bytes, options.warps);
	return options;
}

reel_arena *open_arena(uint64_t slabs)
{
	reel_arena_options options = small(slabs);
	reel_arena *arena;

	if (reel_arena_open(&arena, &options)) {
		printf("Bail out! %s\n", reel_error_text(0));
		exit(EXIT_FAILURE);
	}
	return arena;
}

void settled(uint64_t seed)
{
	open_fake(seed);
	reel_cu_stream stream = open_stream();
	reel_arena *arena = open_arena(2);
	reel_arena_report report = {};
	wrongs wrong;
	launch l = {reel_arena_device(arena), 40, false, true, &wrong};

	start(stream, &l);
	is_int(reel_arena_read(arena, stream, &report), 0, "an arena is read");
	is_int(report.faults, REEL_DEVICE_EXHAUSTED, "emulated: a kernel ran out of its two slabs");
	is_int(report.slabs, 2, "the arena had two slabs");
	is_int(report.slabs_needed, 12, "the launch needs three slabs for each of four warps");
	is_int(reel_arena_settle(arena, stream), 1, "the arena grows, the launch is to be repeated");
	wrong.n = 0;
	l.arena = reel_arena_device(arena);
	start(stream, &l);
	is_int(reel_arena_settle(arena, stream), 0, "emulated: all is well then");
	is_int(wrong.n, 0, "every value came back");
	is_int(reel_arena_read(arena, stream, &report), 0, "the arena is read again");
	is_int(report.slabs, report.slabs_needed, "the arena has exactly what was needed");
	reel_arena_close(arena);
	close_stream(stream);
	close_fake("a relaunch");
}

void handed_over(uint64_t seed)
{
	open_fake(seed);
	reel_cu_stream stream = open_stream(), other = open_stream();
	reel_arena *first = open_arena(16), *second = open_arena(16);
	wrongs wrong;
	launch forward = {reel_arena_device(first), 30, false, false, &wrong};
	launch reverse = {reel_arena_device(first), 30, true, false, &wrong};
	launch beside = {reel_arena_device(second), 20, false, true, &wrong};

	for (int i = 0; i < 3; i++) {
		start(stream, &forward);
		start(stream, &reverse);
		is_int(reel_arena_reset(first, stream), 0, "an arena is reset in the order of its stream");
	}
	is_int(reel_arena_settle(first, stream), 0, "emulated: forward and reverse kernels in a stream");
	start(other, &beside);
	is_int(reel_arena_settle(second, other), 0, "emulated: and one in another stream and arena");
	is_int(wrong.n, 0, "all values came back");
	start(stream, &reverse);
	is_int(reel_arena_settle(first, stream), -EPROTO, "emulated: after a reset there is nothing to resume");
	ok(strstr(reel_error_text(0), "not saved"), "the problem says that nothing was saved: %s",
	   reel_error_text(0));
	reel_arena_close(first);
	reel_arena_close(second);
	close_stream(stream);
	close_stream(other);
	close_fake("several launches");
}

void sized()
{
	open_fake(1);
	reel_arena *arena;
	reel_arena_options options = {};
	int processors, threads;

	fake->cuDeviceGetAttribute(&processors, REEL_CU_MULTIPROCESSORS, 0);
	fake->cuDeviceGetAttribute(&threads, REEL_CU_THREADS_PER_MULTIPROCESSOR, 0);
	is_int(reel_arena_open(&arena, NULL), 0, "an arena opens by default");
	is_int(reel_arena_threads(arena), processors * threads,
	       "sized by the lanes that are resident");
	reel_arena_close(arena);
	reel_arena_close(NULL);
	options.word_bytes = 12;
	is_int(reel_arena_open(&arena, &options), -EINVAL, "no words of 12 bytes: %s",
	       reel_error_text(0));
	options.word_bytes = 16;
	options.slab_bytes = 2048;
	is_int(reel_arena_open(&arena, &options), -EINVAL, "no slabs of 4 rows");
	options = small(3);
	options.bytes = 4096;
	is_int(reel_arena_open(&arena, &options), -EINVAL, "no arena without a slab: %s",
	       reel_error_text(0));
	options = small(3);
	options.device = 7;
	is_int(reel_arena_open(&arena, &options), -ENODEV, "no GPU 7: %s", reel_error_text(0));
	options = small(3);
	options.bytes = (uint64_t)1 << 36;
	is_int(reel_arena_open(&arena, &options), -ENOMEM, "no more memory than there is: %s",
	       reel_error_text(0));
	close_fake("openings that fail");
}

void absent()
{
	fake_options options = {};
	reel_arena *arena;

	options.absent = true;
	reel_driver_replace(fake_device_open(&options));
	is_int(reel_arena_open(&arena, NULL), -ENODEV,
	       "no arena opens without a GPU: %s", reel_error_text(0));
	ok(!arena, "there is no arena");
	fake_device_close();
	reel_driver_replace(NULL);
}

/* One whole use of an arena; returns the first error. */
int use(reel_cu_stream stream)
{
	reel_arena_options options = small(2);
	reel_arena *arena;
	wrongs wrong;
	int error = reel_arena_open(&arena, &options);

	if (error)
		return error;
	launch l = {reel_arena_device(arena), 40, false, true, &wrong};
	start(stream, &l);
	error = reel_arena_settle(arena, stream);
	if (error == 1)
		error = reel_arena_reset(arena, stream);
	/* Of the stream that a failing call left running. */
	if (fake->cuCtxPushCurrent(context))
		fake->cuCtxPushCurrent(context);
	for (int tries = 0; tries < 3 && fake->cuStreamSynchronize(stream) != 0; tries++)
		;
	fake->cuCtxPopCurrent(nullptr);
	reel_arena_close(arena);
	return error;
}

/* Every call of the driver fails once. */
void every_call_fails()
{
	unsigned unseen = 0, left = 0, calls;
	uint64_t before;

	open_fake(3);
	reel_cu_stream stream = open_stream();
	before = fake_device_calls();
	use(stream);
	calls = (unsigned)(fake_device_calls() - before);
	close_stream(stream);
	fake_device_close();
	for (unsigned n = 0; n < calls; n += is_brief() ? 3 : 1) {
		open_fake(3);
		stream = open_stream();
		before = fake_device_calls();
		fake_device_fail_call(before + n, REEL_CU_UNKNOWN, false);
		int error = use(stream);
		const char *name = fake_device_call_name(before + n);
		/* If an event fails, the arena waits for the stream. */
		bool harmless = strstr(name, "EventRecord") || strstr(name, "EventQuery") ||
				strstr(name, "Free") || strstr(name, "Destroy") ||
				strstr(name, "Release") || strstr(name, "PopCurrent") ||
				strstr(name, "PushCurrent") || strstr(name, "LaunchHostFunc") ||
				strstr(name, "Synchronize");

		if (error == 0 && !harmless) {
			unseen++;
			tap_note("call %u, %s, failed unseen", n, name);
		}
		fake_device_stop_failing();
		close_stream(stream);
		unsigned objects = fake_device_close();
		if (objects && !harmless) {
			left++;
			tap_note("call %u, %s, failed: %u objects left", n, name, objects);
		}
	}
	reel_driver_replace(NULL);
	is_int(unseen, 0, "a call of the driver that fails is told of, each of %u", calls);
	is_int(left, 0, "a call that fails leaves nothing behind");
}

} // namespace

int main()
{
	tap_begin();
	tap_case("opening");
	sized();
	absent();
	tap_case("launches");
	settled(1);
	handed_over(2);
	tap_case("faults");
	every_call_fails();
	return tap_end();
}
