// SPDX-License-Identifier: MIT
/*
 * A device of PyTorch in host memory, whose streams run as late as those of a GPU may: for tests
 * that must find a missing wait for another stream, or a reference that is dropped too early.
 *
 * A stream is a queue of operations, which run when something has to wait for them: run_until().
 * All memory of the device is there twice:
 *
 *   - the memory, at the address that tensors have. It changes when an operation runs.
 *   - its shadow, which changes when an operation is issued. It has the contents that the program
 *     means: the order of issue is one of the orders that streams and events permit, and in a
 *     program without races all of these give the same result.
 *
 * Kernels are those of the CPU. They compute on shadows, when the program issues them. The queue
 * has the results, and digests of the arguments. When the operation runs, its arguments in the
 * memory must have these digests. Otherwise the operation came too early or too late: it writes
 * NaNs, and reports a fault.
 */
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/_to_copy.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

// From Python.h, which may not be installed. The process has these functions.
struct PyThreadState;
extern "C" int PyGILState_Check(void);
extern "C" PyThreadState *PyEval_SaveThread(void);
extern "C" void PyEval_RestoreThread(PyThreadState *);

namespace {

constexpr c10::DeviceType FAKE = c10::DeviceType::PrivateUse1;
constexpr int DEVICES = 2;
constexpr size_t ALIGNMENT = 512;	// of addresses and sizes of blocks, as in CUDA's allocator
constexpr c10::DispatchKeySet KEYS(c10::DispatchKey::PrivateUse1);

// ---- Streams ----

struct Stream {
	c10::DeviceIndex device;
	int64_t id;
	uint64_t issued = 0, done = 0;	// numbers of operations
	std::deque<std::function<void()>> queue;	// operations done + 1 to issued
};

// A position in a stream: done if the stream has run that number of operations.
struct Event {
	Stream *stream;
	uint64_t position;
};

enum Mode { LATE, RANDOM, EAGER };

// Tensors may be freed when the process ends, after the destructors of these variables would have
// run, so there are none.

// Protects everything here. Recursive, because call_host() holds it and allocates memory for
// results. A thread that holds it must drop no tensor that may be the last reference to an object
// of Python: it would wait for the lock of the interpreter, whose holder may wait for this one.
std::recursive_mutex &mutex = *new std::recursive_mutex;

// A thread waits for the mutex without the lock of the interpreter, since the thread that holds the
// mutex may need that one, to count a reference to a tensor.
struct Lock {
	std::recursive_mutex &held;

	explicit Lock(std::recursive_mutex &wanted) : held(wanted)
	{
		if (held.try_lock())
			return;
		PyThreadState *state = PyGILState_Check() ? PyEval_SaveThread() : nullptr;
		held.lock();
		if (state)
			PyEval_RestoreThread(state);
	}
	~Lock() { held.unlock(); }
};

Mode mode = LATE;
std::mt19937 &generator = *new std::mt19937;
int patience;	// number of queries that may still say that work is not done
std::deque<std::string> &faults = *new std::deque<std::string>;
// First the default streams of the devices, then the others, whose number is the id.
std::deque<Stream> &streams = *new std::deque<Stream>;

Stream &stream_of(const c10::Stream &stream)
{
	return streams[stream.id() ? stream.id() : stream.device_index()];
}

c10::Stream handle_of(const Stream &stream)
{
	return c10::Stream(c10::Stream::UNSAFE, c10::Device(FAKE, stream.device), stream.id);
}

thread_local c10::DeviceIndex current_device;
thread_local int64_t current_streams[DEVICES];	// ids

Stream &current_stream(c10::DeviceIndex device)
{
	int64_t id = current_streams[device];
	return streams[id ? id : device];
}

// Runs the operations of a stream up to a position. An operation that waits for an event of another
// stream runs that stream up to the event. That ends, because the event was issued before the wait.
void run_until(Stream &stream, uint64_t position)
{
	for (; stream.done < position; stream.done++) {
		stream.queue.front()();
		stream.queue.pop_front();
	}
}

// The streams with work, beginning with one that the seed says. Streams of earlier tests have none,
// so they change nothing.
std::vector<Stream *> busy_streams()
{
	std::vector<Stream *> busy;
	for (Stream &stream : streams)
		if (!stream.queue.empty())
			busy.push_back(&stream);
	if (!busy.empty())
		std::rotate(busy.begin(), busy.begin() + generator() % busy.size(), busy.end());
	return busy;
}

void run_some()
{
	while (mode == RANDOM && generator() % 2)
		for (Stream *stream : busy_streams())
			run_until(*stream, stream->done + generator() % (stream->queue.size() + 1));
}

void issue(Stream &stream, std::function<void()> operation)
{
	stream.queue.push_back(std::move(operation));
	stream.issued++;
	if (mode == EAGER)
		run_until(stream, stream.issued);
	run_some();
}

// Tells whether work is done. If it is not, the answer is no a few times, and then the work is
// done: a program that polls ends.
bool query(Stream &stream, uint64_t position)
{
	run_some();
	if (stream.done < position && patience-- <= 0) {
		patience = generator() % 5;
		run_until(stream, position);
	}
	return stream.done >= position;
}

// ---- Memory ----

struct Block {
	char *memory;	// followed by its shadow
	size_t size;
	Stream *owner;	// the stream that was current when it was allocated
	uint64_t freed = 0, poisoned = 0;	// how often, as issued and as done
	std::set<Stream *> users;	// other streams, by record_stream()
	std::vector<Event> uses;	// the ends of their work when the tensor was freed
};

using FreeBlocks = std::map<std::pair<Stream *, size_t>, std::vector<Block *>>;
FreeBlocks &free_blocks = *new FreeBlocks;	// the one that was freed last at the end
// Freed, but other streams have not ended their work on them.
std::list<Block *> &used_blocks = *new std::list<Block *>;
size_t bytes, peak_bytes;

// A block is poisoned when it is free for other tensors, in the order of its stream. So a tensor
// that is used too late has NaNs even if no other tensor gets its memory.
void make_free(Block *block)
{
	block->freed++;
	bytes -= block->size;
	memset(block->memory + block->size, 0xFF, block->size);
	free_blocks[{block->owner, block->size}].push_back(block);
	issue(*block->owner, [block] {
		memset(block->memory, 0xFF, block->size);
		block->poisoned++;
	});
}

void look_for_free()
{
	for (auto at = used_blocks.begin(); at != used_blocks.end();) {
		Block *block = *at;
		bool is_done = true;
		for (const Event &use : block->uses)
			is_done &= use.stream->done >= use.position;
		at = is_done ? used_blocks.erase(at) : std::next(at);
		if (is_done)
			make_free(block);
	}
}

void free_block(void *context)
{
	Lock lock(mutex);
	auto *block = static_cast<Block *>(context);
	block->uses.clear();
	for (Stream *user : block->users)
		block->uses.push_back({user, user->issued});
	block->users.clear();
	if (block->uses.empty())
		make_free(block);
	else
		used_blocks.push_back(block);
}

struct Allocator final : c10::Allocator {
	c10::DataPtr allocate(size_t nbytes) override
	{
		Lock lock(mutex);
		c10::Device device(FAKE, current_device);
		if (!nbytes)
			return c10::DataPtr(nullptr, device);
		look_for_free();
		Stream &stream = current_stream(current_device);
		size_t size = (nbytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
		std::vector<Block *> &free = free_blocks[{&stream, size}];
		Block *block;
		if (free.empty()) {
			void *memory = std::aligned_alloc(ALIGNMENT, 2 * size);
			memset(memory, 0xFF, 2 * size);
			block = new Block{static_cast<char *>(memory), size, &stream};
		} else {
			block = free.back();
			free.pop_back();
		}
		bytes += size;
		peak_bytes = std::max(peak_bytes, bytes);
		return c10::DataPtr(block->memory, block, free_block, device);
	}
	c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
	void copy_data(void *, const void *, size_t) const override
	{
		TORCH_CHECK(false, "copies are operations of a stream");
	}
};
Allocator &allocator = *new Allocator;

Block *block_of(const c10::Storage &storage)
{
	void *context = storage.device_type() == FAKE ? storage.data_ptr().get_context() : nullptr;
	return static_cast<Block *>(context);
}

void record_stream(const c10::DataPtr &data, Stream &stream)
{
	auto *block = static_cast<Block *>(data.get_context());
	if (block && block->owner != &stream)
		block->users.insert(&stream);
}

// The elements of a tensor. Neighbours that have no gap are one item.
struct Region {
	char *base;
	std::ptrdiff_t shadow;	// from the memory to its shadow; 0 on the host
	Block *block;
	uint64_t generation;	// the block's at the time of issue
	// The storage, if it owns memory of the host. Other memory of the host may outlive it.
	std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> owner;
	size_t item;
	std::vector<int64_t> sizes, strides;

	Region(void *memory, Block *block, size_t item) :
		base(static_cast<char *>(memory)), shadow(block ? block->size : 0), block(block),
		generation(block ? block->freed : 0), item(item)
	{
	}
	explicit Region(const at::Tensor &tensor) :
		Region(tensor.storage().mutable_data(), block_of(tensor.storage()),
		       tensor.element_size())
	{
		base += tensor.storage_offset() * item;
		if (!block && tensor.storage().resizable())
			owner = tensor.storage().getWeakStorageImpl();
		if (tensor.is_contiguous()) {
			item *= tensor.numel();
			return;
		}
		sizes = tensor.sizes().vec();
		for (int64_t stride : tensor.strides())
			strides.push_back(stride * item);
	}

	template <class Function> void walk(char *at, Function visit, size_t dimension = 0) const
	{
		if (dimension == sizes.size())
			return visit(at);
		for (int64_t i = 0; i < sizes[dimension]; i++)
			walk(at + i * strides[dimension], visit, dimension + 1);
	}
	std::string pack(char *at) const
	{
		std::string packed;
		walk(at, [&](char *place) { packed.append(place, item); });
		return packed;
	}
	void unpack(char *at, const std::string &packed) const
	{
		const char *from = packed.data();
		walk(at, [&](char *place) {
			memcpy(place, from, item);
			from += item;
		});
	}
	bool is_gone() const { return owner && owner->expired(); }
	std::string read() const { return pack(base); }
	std::string read_shadow() const { return pack(base + shadow); }
	void write(const std::string &packed) const { unpack(base, packed); }
	void write_shadow(const std::string &packed) const { unpack(base + shadow, packed); }
};

// ---- Operations ----

size_t digest(const std::string &packed)
{
	return std::hash<std::string>()(packed);
}

// Reports a fault unless the memory of a region has the tensor that the operation was issued for.
bool check_memory(const char *name, const Region &region)
{
	Block *block = region.block;
	if (block ? block->poisoned == region.generation : !region.is_gone())
		return true;
	bool is_early = block && block->poisoned < region.generation;
	faults.push_back(std::string(name) + (is_early ?
		" used memory whose stream was not done with the tensor that had it before" :
		" used the memory of a tensor that was freed"));
	return false;
}

// Reports a fault unless a region has the contents that the program means.
bool check_contents(const char *name, const Region &region, size_t meant)
{
	if (!check_memory(name, region))
		return false;
	if (digest(region.read()) == meant)
		return true;
	faults.push_back(std::string(name) +
			 (region.block ? " read a tensor" : " read host memory") +
			 " too early, or after it was overwritten");
	return false;
}

// Writes to host memory that are not done, in the order of their issue.
struct HostWrite {
	Region target;
	std::string packed;
};
std::list<HostWrite> &host_writes = *new std::list<HostWrite>;

// Contents of a region of the host as they will be when all that was issued is done.
std::string meant(const Region &region)
{
	char *first = region.base, *last = region.base;
	region.walk(region.base, [&](char *at) {
		first = std::min(first, at);
		last = std::max(last, at + region.item);
	});
	std::string image(first, last - first);
	for (const HostWrite &write : host_writes) {
		if (write.target.is_gone())
			continue;
		const char *from = write.packed.data();
		write.target.walk(write.target.base, [&](char *at) {
			char *low = std::max(at, first);
			char *high = std::min(at + write.target.item, last);
			if (low < high)
				memcpy(&image[low - first], from + (low - at), high - low);
			from += write.target.item;
		});
	}
	return region.pack(&image[region.base - first]);
}

// Issues a copy of bytes, which holds no reference, and uses the host's memory when it runs.
void issue_copy(Stream &stream, const Region &from, const Region &to)
{
	const char *name = from.block && to.block ? "a copy" :
			   from.block ? "a copy to the host" : "a copy to the device";
	std::string packed = from.block ? from.read_shadow() : meant(from);
	size_t meant = digest(packed), size = packed.size();
	auto write = host_writes.end();
	if (to.block)
		to.write_shadow(packed);
	else
		write = host_writes.insert(write, {to, std::move(packed)});
	issue(stream, [=] {
		check_contents(name, from, meant);
		if (check_memory(name, to) || to.block)
			to.write(from.is_gone() ? std::string(size, -1) : from.read());
		if (!to.block)
			host_writes.erase(write);
	});
}

// A call of a kernel. It keeps the digest of each argument that the kernel reads, and the contents
// of each result, for the time when the operation runs.
struct Kernel {
	const char *name;
	std::vector<std::pair<Region, size_t>> reads;
	std::vector<std::pair<Region, std::string>> writes;

	void read(const Region &region)
	{
		reads.emplace_back(region, digest(region.read_shadow()));
	}
	void write(const Region &region, std::string packed)
	{
		region.write_shadow(packed);
		writes.emplace_back(region, std::move(packed));
	}
	bool check() const
	{
		bool is_right = true;
		for (const auto &[region, meant] : reads)
			is_right &= check_contents(name, region, meant);
		return is_right;
	}
	void operator()() const
	{
		bool is_right = check();
		for (const auto &[region, packed] : writes)
			if (check_memory(name, region))
				region.write(is_right ? packed : std::string(packed.size(), -1));
	}
};

// ---- Kernels ----

// A tensor of the CPU in place of one of the device, on its shadow or its memory.
at::Tensor on_host(const at::Tensor &tensor, bool on_shadow)
{
	const c10::Storage &storage = tensor.storage();
	Block *block = block_of(storage);
	if (!tensor.numel() && !tensor.storage_offset())	// its kernel may resize it
		return at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
	auto *data = static_cast<char *>(storage.mutable_data());
	if (block && on_shadow)
		data += block->size;
	auto result = at::detail::make_tensor<c10::TensorImpl>(
		c10::Storage(c10::Storage::use_byte_size_t(), storage.nbytes(),
			     c10::DataPtr(data, at::kCPU), nullptr, false),
		c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
	result.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(),
							    tensor.storage_offset());
	result._set_conj(tensor.is_conj());
	result._set_neg(tensor.is_neg());
	return result;
}

at::Tensor copy_from(const at::Tensor &from, const at::Tensor &to, bool non_blocking)
{
	bool is_inside = from.device() == to.device();
	if (!is_inside && from.device().type() == to.device().type()) {
		copy_from(at::_to_copy(from, at::TensorOptions(at::kCPU)), to, false);
		return to;
	}
	if (!to.numel())
		return to;
	at::Tensor source = from.expand_as(to);
	bool converts = source.scalar_type() != to.scalar_type() ||
			source.is_conj() != to.is_conj() || source.is_neg() != to.is_neg();
	if (converts && !is_inside) {
		// The side of the source converts. The result is freed before a copy of it may run,
		// which is right on the device, in the order of the stream; the host's is staged.
		at::Tensor converted = at::empty(to.sizes(),
						 source.options().dtype(to.scalar_type()));
		converted._set_conj(to.is_conj());
		converted._set_neg(to.is_neg());
		source = converted.copy_(source);
		non_blocking &= source.device().type() == FAKE;
	}
	Lock lock(mutex);
	Region in(source), out(to);
	Stream &stream = current_stream((out.block ? to : source).device().index());
	if (is_inside && converts) {
		Kernel kernel{"a conversion"};
		kernel.read(in);
		on_host(to, true).copy_(on_host(source, true));
		kernel.write(out, out.read_shadow());
		issue(stream, std::move(kernel));
	} else if (is_inside || non_blocking) {
		issue_copy(stream, in, out);
	} else if (out.block) {
		Kernel kernel{"a copy to the device"};
		kernel.write(out, in.read());
		issue(stream, std::move(kernel));
	} else {
		run_until(stream, stream.issued);
		check_contents("a copy to the host", in, digest(in.read_shadow()));
		out.write(in.read());
	}
	return to;
}

void resize_storage(const c10::Storage &storage, size_t nbytes)
{
	Lock lock(mutex);
	c10::DeviceGuard guard(storage.device());
	c10::DataPtr data = allocator.allocate(nbytes);
	size_t kept = std::min(nbytes, storage.nbytes());
	if (kept)
		issue_copy(current_stream(current_device),
			   Region(storage.mutable_data(), block_of(storage), kept),
			   Region(data.get(), static_cast<Block *>(data.get_context()), kept));
	storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(data));
	storage.unsafeGetStorageImpl()->set_nbytes(nbytes);
}

void grow_storage(const at::Tensor &tensor)
{
	size_t nbytes = at::detail::computeStorageNbytes(
		tensor.sizes(), tensor.strides(), tensor.element_size(), tensor.storage_offset());
	if (nbytes > tensor.storage().nbytes())
		resize_storage(tensor.storage(), nbytes);
}

const at::Tensor &resize(const at::Tensor &self, at::IntArrayRef size,
			 std::optional<at::MemoryFormat> format)
{
	self.unsafeGetTensorImpl()->set_sizes_contiguous(size);
	if (format && *format != at::MemoryFormat::Preserve)
		self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
	grow_storage(self);
	return self;
}

at::Tensor &set_storage(at::Tensor &self, at::Storage storage, int64_t offset, at::IntArrayRef size,
			at::IntArrayRef stride)
{
	c10::TensorImpl *its = self.unsafeGetTensorImpl();
	its->set_storage_keep_dtype(std::move(storage));
	its->set_sizes_contiguous(size);
	its->set_sizes_and_strides(size, stride.size() ? stride : self.strides(), offset);
	grow_storage(self);
	return self;
}

at::Tensor &set_whole_storage(at::Tensor &self, at::Storage storage)
{
	int64_t size = storage.nbytes() / self.element_size();
	return set_storage(self, std::move(storage), 0, size, {});
}

at::Tensor &set_tensor(at::Tensor &self, const at::Tensor &source)
{
	return set_storage(self, source.storage(), source.storage_offset(), source.sizes(),
			   source.strides());
}

c10::Device with_index(c10::Device device)
{
	return device.has_index() ? device : c10::Device(FAKE, current_device);
}

using Type = std::optional<at::ScalarType>;
using Layout = std::optional<at::Layout>;
using Device = std::optional<at::Device>;
using Pinned = std::optional<bool>;

at::Tensor empty(at::IntArrayRef size, Type type, Layout, Device device, Pinned,
		 std::optional<at::MemoryFormat> format)
{
	c10::DeviceGuard guard(with_index(device.value_or(FAKE)));
	return at::detail::empty_generic(size, &allocator, KEYS, c10::dtype_or_default(type),
					 format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, Type type, Layout,
			 Device device, Pinned)
{
	c10::DeviceGuard guard(with_index(device.value_or(FAKE)));
	return at::detail::empty_strided_generic(size, stride, &allocator, KEYS,
						 c10::dtype_or_default(type));
}

// The arguments of a call that are tensors of the device, and the CPU's tensors in their place.
struct Call {
	bool is_synchronous;	// returns numbers, which the host reads from the memory
	std::vector<at::Tensor> tensors, hosts;
	Device device;

	at::Tensor argument(const at::Tensor &tensor)
	{
		if (!tensor.defined() || tensor.device().type() != FAKE)
			return tensor;
		if (!device)
			device = tensor.device();
		tensors.push_back(tensor);
		hosts.push_back(on_host(tensor, !is_synchronous));
		return hosts.back();
	}
	c10::IValue argument(const c10::IValue &value)
	{
		if (value.isTensor())
			return argument(value.toTensor());
		if (value.isTensorList()) {
			c10::List<at::Tensor> list;
			for (const at::Tensor &tensor : value.toTensorVector())
				list.push_back(argument(tensor));
			return list;
		}
		if (value.isOptionalTensorList()) {
			c10::List<std::optional<at::Tensor>> list;
			for (std::optional<at::Tensor> tensor : value.toOptionalTensorVector()) {
				if (tensor)
					tensor = argument(*tensor);
				list.push_back(tensor);
			}
			return list;
		}
		if (value.isDevice() && value.toDevice().type() == FAKE) {
			if (!device)
				device = with_index(value.toDevice());
			return c10::Device(at::kCPU);
		}
		return value;
	}
	// The device's tensor in place of one of the CPU: an argument, a view of one, or a new one.
	at::Tensor result(const at::Tensor &host, Kernel &kernel) const
	{
		if (!host.defined())
			return host;
		for (size_t i = 0; i < hosts.size(); i++)
			if (host.is_same(hosts[i]))
				return tensors[i];
		for (size_t i = 0; i < hosts.size(); i++) {
			if (!host.is_alias_of(hosts[i]))
				continue;
			auto view = at::detail::make_tensor<c10::TensorImpl>(
				c10::TensorImpl::VIEW, c10::Storage(tensors[i].storage()),
				tensors[i].key_set(), host.dtype());
			view.unsafeGetTensorImpl()->set_sizes_and_strides(
				host.sizes(), host.strides(), host.storage_offset());
			return view;
		}
		at::Tensor tensor = at::detail::empty_strided_generic(
			host.sizes(), host.strides(), &allocator, KEYS, host.scalar_type());
		kernel.write(Region(tensor), Region(host).read());
		return tensor;
	}
};

// Has the CPU's kernel compute. Two operations are there for devices alone.
void redispatch(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
	const std::string &name = op.schema().name();
	std::string other = name;
	if (name == "aten::convolution_overrideable") {
		other = "aten::convolution";
	} else if (name == "aten::convolution_backward_overrideable") {
		other = "aten::convolution_backward";
		auto arguments = static_cast<int64_t>(op.schema().arguments().size());
		stack->insert(stack->end() - arguments + 3, c10::IValue());	// sizes of the bias
	}
	c10::OperatorHandle its = other == name ? op :
		c10::Dispatcher::singleton().findSchemaOrThrow(other.c_str(), "");
	its.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
}

// Carries out all operations that have no kernel above.
void call_host(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
	const c10::FunctionSchema &schema = op.schema();
	size_t first = stack->size() - schema.arguments().size();
	bool is_view = false, has_tensors = schema.returns().empty();
	for (const auto &returned : schema.returns()) {
		auto kind = returned.type()->kind();
		is_view |= returned.alias_info() && !returned.alias_info()->isWrite();
		has_tensors |= kind == c10::TypeKind::TensorType || kind == c10::TypeKind::ListType;
	}
	Kernel kernel{schema.name().c_str()};
	Call call{!has_tensors};
	std::vector<bool> is_out;
	torch::jit::Stack kept(stack->begin() + first, stack->end());	// until the lock is free
	Lock lock(mutex);
	for (size_t i = 0; i < schema.arguments().size(); i++) {
		(*stack)[first + i] = call.argument((*stack)[first + i]);
		is_out.resize(call.tensors.size(), schema.arguments()[i].is_out());
	}
	for (size_t i = 0; i < call.tensors.size(); i++)
		if (!is_view && !is_out[i])
			kernel.read(Region(call.tensors[i]));
	TORCH_CHECK(call.device, schema.name(), " has no argument that is on a device");
	c10::DeviceGuard guard(*call.device);
	Stream &stream = current_stream(current_device);
	if (call.is_synchronous) {
		run_until(stream, stream.issued);
		kernel.check();
	}
	redispatch(op, stack);
	if (call.is_synchronous)
		return;
	// The schema of an operation does not tell all arguments that it writes to.
	auto read = kernel.reads.begin();
	for (size_t i = 0; i < call.tensors.size() && !is_view; i++) {
		const at::Tensor &tensor = call.tensors[i], &host = call.hosts[i];
		if (!tensor.sizes().equals(host.sizes()))
			resize(tensor, host.sizes(), std::nullopt);
		std::string packed = Region(host).read();
		if (is_out[i] || digest(packed) != read++->second)
			kernel.write(Region(tensor), std::move(packed));
	}
	for (size_t i = first; i < stack->size(); i++) {
		c10::IValue &value = (*stack)[i];
		if (value.isTensor()) {
			value = call.result(value.toTensor(), kernel);
		} else if (value.isTensorList()) {
			c10::List<at::Tensor> list;
			for (const at::Tensor &tensor : value.toTensorVector())
				list.push_back(call.result(tensor, kernel));
			value = list;
		}
	}
	if (!is_view)
		issue(stream, std::move(kernel));
}

// ---- What PyTorch asks of a device ----

struct Guard final : c10::impl::DeviceGuardImplInterface {
	c10::DeviceType type() const override { return FAKE; }
	c10::DeviceIndex deviceCount() const noexcept override { return DEVICES; }
	c10::Device getDevice() const override { return c10::Device(FAKE, current_device); }
	void setDevice(c10::Device device) const override
	{
		TORCH_CHECK(device.index() < DEVICES, "there is no device ", device);
		uncheckedSetDevice(device);
	}
	void uncheckedSetDevice(c10::Device device) const noexcept override
	{
		current_device = with_index(device).index();
	}
	c10::Device exchangeDevice(c10::Device device) const override
	{
		c10::Device previous = getDevice();
		setDevice(device);
		return previous;
	}

	c10::Stream getStream(c10::Device device) const override
	{
		Lock lock(mutex);
		return handle_of(current_stream(with_index(device).index()));
	}
	c10::Stream getDefaultStream(c10::Device device) const override
	{
		return c10::Stream(c10::Stream::DEFAULT, with_index(device));
	}
	c10::Stream getNewStream(c10::Device device, int = 0) const override
	{
		Lock lock(mutex);
		auto id = static_cast<int64_t>(streams.size());
		streams.push_back({with_index(device).index(), id});
		return handle_of(streams.back());
	}
	c10::Stream exchangeStream(c10::Stream stream) const override
	{
		c10::Stream previous = getStream(stream.device());
		current_streams[stream.device_index()] = stream.id();
		return previous;
	}
	bool queryStream(const c10::Stream &stream) const override
	{
		Lock lock(mutex);
		return query(stream_of(stream), stream_of(stream).issued);
	}
	void synchronizeStream(const c10::Stream &stream) const override
	{
		Lock lock(mutex);
		run_until(stream_of(stream), stream_of(stream).issued);
	}
	void synchronizeDevice(c10::DeviceIndex device) const override
	{
		Lock lock(mutex);
		for (Stream *stream : busy_streams())
			if (stream->device == device)
				run_until(*stream, stream->issued);
	}

	void record(void **event, const c10::Stream &stream, c10::DeviceIndex,
		    c10::EventFlag) const override
	{
		Lock lock(mutex);
		Stream &its = stream_of(stream);
		issue(its, [] {});	// or an event of an idle stream would be done at once
		if (!*event)
			*event = new Event;
		*static_cast<Event *>(*event) = {&its, its.issued};
	}
	void destroyEvent(void *event, c10::DeviceIndex) const noexcept override
	{
		delete static_cast<Event *>(event);
	}
	void block(void *event, const c10::Stream &stream) const override
	{
		Lock lock(mutex);
		Event its = *static_cast<Event *>(event);
		issue(stream_of(stream), [its] { run_until(*its.stream, its.position); });
	}
	bool queryEvent(void *event) const override
	{
		Lock lock(mutex);
		auto *its = static_cast<Event *>(event);
		return !its || query(*its->stream, its->position);
	}
	void synchronizeEvent(void *event) const override
	{
		Lock lock(mutex);
		auto *its = static_cast<Event *>(event);
		if (its)
			run_until(*its->stream, its->position);
	}

	void recordDataPtrOnStream(const c10::DataPtr &data,
				   const c10::Stream &stream) const override
	{
		Lock lock(mutex);
		record_stream(data, stream_of(stream));
	}
};

struct Hooks final : at::PrivateUse1HooksInterface {
	bool isBuilt() const override { return true; }
	bool isAvailable() const override { return true; }
	bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
	c10::DeviceIndex deviceCount() const override { return DEVICES; }
	c10::Allocator *getPinnedMemoryAllocator() const override
	{
		return c10::GetAllocator(at::kCPU);
	}
	void resizePrivateUse1Bytes(const c10::Storage &storage, size_t nbytes) const override
	{
		resize_storage(storage, nbytes);
	}
};

// Calls that tests count or leave out, by their kind.
struct Calls {
	long made, left_out;
};
std::map<std::string, Calls> &calls = *new std::map<std::string, Calls>;

bool is_left_out(const char *kind)
{
	Lock lock(mutex);
	Calls &its = calls[kind];
	return ++its.made == its.left_out;
}

void record_tensor(at::Tensor &tensor, c10::Stream stream)
{
	Lock lock(mutex);
	if (!is_left_out("record_stream"))
		record_stream(tensor.storage().data_ptr(), stream_of(stream));
}

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

int registered = [] {
	for (c10::DeviceIndex device = 0; device < DEVICES; device++)
		streams.push_back({device, 0});
	c10::SetAllocator(FAKE, &allocator);
	at::RegisterPrivateUse1HooksInterface(new Hooks);
	return 0;
}();

TORCH_LIBRARY_IMPL(_, PrivateUse1, library)
{
	library.fallback(torch::CppFunction::makeFromBoxedFunction<&call_host>());
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, library)
{
	library.impl("empty.memory_format", empty);
	library.impl("empty_strided", empty_strided);
	library.impl("_copy_from", copy_from);
	library.impl("resize_", resize);
	library.impl("set_.source_Storage", set_whole_storage);
	library.impl("set_.source_Storage_storage_offset", set_storage);
	library.impl("set_.source_Tensor", set_tensor);
	library.impl("record_stream", record_tensor);
	// PyTorch has other ways for devices without such kernels. They round differently, or fail.
	for (const char *name : {"native_layer_norm", "native_group_norm",
				 "convolution_overrideable", "convolution_backward_overrideable"})
		library.impl(name, torch::CppFunction::makeFromBoxedFunction<&call_host>());
}

// Otherwise PyTorch would copy a conjugated or negated tensor before a copy of it.
TORCH_LIBRARY_IMPL(aten, Conjugate, library)
{
	library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

TORCH_LIBRARY_IMPL(aten, Negative, library)
{
	library.impl("_copy_from", torch::CppFunction::makeFallthrough());
}

} // namespace

// ---- For fake_torch_device.py ----

extern "C" {

// Runs all work, and begins anew.
void fake_reset(unsigned seed, int new_mode)
{
	Lock lock(mutex);
	mode = LATE;
	for (Stream &stream : streams)
		run_until(stream, stream.issued);
	look_for_free();
	for (Stream &stream : streams)
		run_until(stream, stream.issued);
	for (auto &list : free_blocks)
		for (Block *block : list.second) {
			free(block->memory);
			delete block;
		}
	free_blocks.clear();
	calls.clear();
	faults.clear();
	generator.seed(seed);
	patience = generator() % 5;
	peak_bytes = bytes;
	mode = static_cast<Mode>(new_mode);
}

size_t fake_bytes(bool peak)
{
	Lock lock(mutex);
	look_for_free();
	return peak ? peak_bytes : bytes;
}

// The fault of this number, or NULL.
const char *fake_fault(size_t number)
{
	Lock lock(mutex);
	return number < faults.size() ? faults[number].c_str() : nullptr;
}

bool fake_is_left_out(const char *kind)
{
	return is_left_out(kind);
}

long fake_calls(const char *kind)
{
	Lock lock(mutex);
	return calls[kind].made;
}

void fake_leave_out(const char *kind, long number)
{
	Lock lock(mutex);
	calls[kind].left_out = number;
}

int fake_current_device()
{
	return current_device;
}

void fake_set_device(int device)
{
	current_device = device;
}

int64_t fake_current_stream(int device)
{
	return current_streams[device];
}

void fake_set_stream(int64_t id, int device)
{
	current_streams[device] = id;
}

void fake_synchronize(int device)
{
	Guard().synchronizeDevice(device);
}
}
