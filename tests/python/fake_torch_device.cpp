// SPDX-License-Identifier: MIT
/*
 * A device of PyTorch in host memory, whose streams run as late as a GPU's may: for tests that must find a missing wait
 * for another stream, or a reference that is dropped too early.
 *
 * A stream is a queue of operations, which run when something has to wait for them: see run_until(). All memory of the
 * device is there twice:
 *
 *   - the memory, at the address that tensors have. It changes when an operation runs.
 *   - its shadow, which changes when an operation is issued. It has the contents that the program means: the order of
 *     issue is one of the orders that streams and events permit, and in a program without races all of these give
 *     the same result.
 *
 * So the kernels of the CPU compute on shadows, when the program issues them. A queue has the results, and digests of
 * the arguments. When the operation runs, its arguments in the memory have to have these digests. If one of them does
 * not, the operation came too early or too late; it writes NaNs, and reports a fault.
 */
#include <ATen/EmptyTensor.h>
#include <ATen/core/Tensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/ops/_to_copy.h>
#include <ATen/ops/empty.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>

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
#include <string_view>
#include <vector>

namespace {

constexpr c10::DeviceType FAKE = c10::DeviceType::PrivateUse1;
constexpr int DEVICES = 2;
constexpr size_t ALIGNMENT = 512;	// of the address and the size of a block, as CUDA's allocator has it

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

// Tensors may be freed when the process ends, after the destructors of this file would have run, so there are none.

// Protects everything here. Recursive, because an operation of PyTorch holds it, and allocates memory for its results.
std::recursive_mutex &mutex = *new std::recursive_mutex;
using Lock = std::lock_guard<std::recursive_mutex>;

Mode mode = LATE;
std::mt19937 &generator = *new std::mt19937;
int patience;	// number of queries that may still say that work is not done
std::vector<std::string> &faults = *new std::vector<std::string>;
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
	return stream_of(c10::Stream(c10::Stream::UNSAFE, c10::Device(FAKE, device), current_streams[device]));
}

// Runs the operations of a stream up to a position. One that waits for an event of another stream runs that one up to
// the event. That ends: an event that is waited for was issued before the wait.
void run_until(Stream &stream, uint64_t position)
{
	for (; stream.done < position; stream.done++) {
		stream.queue.front()();
		stream.queue.pop_front();
	}
}

void run_some()
{
	while (mode == RANDOM && generator() % 2) {
		Stream &stream = streams[generator() % streams.size()];
		run_until(stream, stream.done + generator() % (stream.queue.size() + 1));
	}
}

void issue(Stream &stream, std::function<void()> operation)
{
	stream.queue.push_back(std::move(operation));
	stream.issued++;
	if (mode == EAGER)
		run_until(stream, stream.issued);
	run_some();
}

// Work that is not done may be said to be under way a few times. A program that polls ends nevertheless.
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
std::list<Block *> &used_blocks = *new std::list<Block *>;	// freed, but other streams have not ended their work on them
size_t bytes, peak_bytes;

// A block is poisoned when it is free for other tensors, in the order of its stream. A tensor that is read afterwards
// has NaNs, although on a GPU its memory may have its contents until the next allocation.
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
			block = new Block{static_cast<char *>(std::aligned_alloc(ALIGNMENT, 2 * size)), size, &stream};
			memset(block->memory, 0xFF, 2 * size);
		} else {
			block = free.back();
			free.pop_back();
		}
		bytes += size;
		peak_bytes = std::max(peak_bytes, bytes);
		return c10::DataPtr(block->memory, block, free_block, device);
	}
	c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
	void copy_data(void *, const void *, size_t) const override { TORCH_CHECK(false, "copy_data() is not there"); }
};
Allocator &allocator = *new Allocator;

Block *block_of(const c10::Storage &storage)
{
	return storage.device_type() == FAKE ? static_cast<Block *>(storage.data_ptr().get_context()) : nullptr;
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
	// Of the host, if PyTorch frees the memory with it. Memory of others may outlive the tensors on it.
	std::optional<c10::weak_intrusive_ptr<c10::StorageImpl>> owner;
	size_t item;
	std::vector<int64_t> sizes, strides;

	Region(char *base, Block *block, size_t item) :
		base(base), shadow(block ? block->size : 0), block(block), generation(block ? block->freed : 0), item(item)
	{
	}
	explicit Region(const at::Tensor &tensor) :
		Region(static_cast<char *>(tensor.storage().mutable_data()) + tensor.storage_offset() * tensor.element_size(),
		       block_of(tensor.storage()), tensor.element_size())
	{
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
		walk(at, [&](char *item_at) { packed.append(item_at, item); });
		return packed;
	}
	size_t digest(std::ptrdiff_t from_base) const { return std::hash<std::string>()(pack(base + from_base)); }
	size_t digest() const { return digest(shadow); }	// of what the program means
	void unpack(char *at, const std::string &packed) const
	{
		const char *from = packed.data();
		walk(at, [&](char *item_at) { memcpy(item_at, from, item), from += item; });
	}
};

// ---- Operations ----

// Reports a fault unless the memory of a region is with the tensor that the operation was issued for.
bool check_memory(const char *name, const Region &region)
{
	if (region.block ? region.block->poisoned == region.generation : !region.owner || !region.owner->expired())
		return true;
	faults.push_back(std::string(name) + (region.block && region.block->poisoned < region.generation ?
		" used memory before its stream was done with the tensor that had it before" :
		" used the memory of a tensor that was freed"));
	return false;
}

// Reports a fault unless a region has the contents that the program means.
bool check_contents(const char *name, const Region &region, size_t digest)
{
	if (!check_memory(name, region))
		return false;
	if (region.digest(0) == digest)
		return true;
	faults.push_back(std::string(name) + (region.block ? " read a tensor" : " read host memory") +
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
	region.walk(region.base, [&](char *at) { first = std::min(first, at), last = std::max(last, at + region.item); });
	std::string image(first, last - first);
	for (const HostWrite &write : host_writes) {
		const char *from = write.packed.data();
		write.target.walk(write.target.base, [&](char *at) {
			char *low = std::max(at, first), *high = std::min(at + write.target.item, last);
			if (low < high)
				memcpy(&image[low - first], from + (low - at), high - low);
			from += write.target.item;
		});
	}
	return region.pack(&image[region.base - first]);
}

// Issues a copy of bytes. It holds no reference, and the host's side is read or written when it runs.
void issue_copy(Stream &stream, const Region &from, const Region &to)
{
	const char *name = !from.block ? "a copy to the device" : !to.block ? "a copy to the host" : "a copy";
	std::string packed = from.block ? from.pack(from.base + from.shadow) : meant(from);
	size_t digest = std::hash<std::string>()(packed), size = packed.size();
	auto write = host_writes.end();
	if (to.block)
		to.unpack(to.base + to.shadow, packed);
	else
		write = host_writes.insert(write, {to, std::move(packed)});
	issue(stream, [=] {
		check_contents(name, from, digest);
		bool is_there = from.block || !from.owner || !from.owner->expired();
		if (check_memory(name, to) || to.block)
			to.unpack(to.base, is_there ? from.pack(from.base) : std::string(size, '\xFF'));
		if (!to.block)
			host_writes.erase(write);
	});
}

using Digests = std::vector<std::pair<Region, size_t>>;
using Results = std::vector<std::pair<Region, std::string>>;

// Issues a kernel whose results are known, and are in the shadows already.
void issue_kernel(Stream &stream, const char *name, Digests reads, Results writes)
{
	issue(stream, [name, reads = std::move(reads), writes = std::move(writes)] {
		bool is_right = true;
		for (auto &[region, digest] : reads)
			is_right &= check_contents(name, region, digest);
		for (auto &[region, packed] : writes)
			if (check_memory(name, region))
				region.unpack(region.base, is_right ? packed : std::string(packed.size(), '\xFF'));
	});
}

void wait_event(Stream &stream, Event event)
{
	issue(stream, [event] { run_until(*event.stream, event.position); });
}

Stream &stream_for(const at::Tensor &tensor)
{
	return current_stream(tensor.device().index());
}

// ---- Kernels ----

// A tensor of the CPU on the shadow of a tensor, or on its memory.
at::Tensor on_host(const at::Tensor &tensor, bool on_shadow)
{
	const c10::Storage &storage = tensor.storage();
	Block *block = block_of(storage);
	auto *data = static_cast<char *>(storage.mutable_data());
	if (!tensor.numel() && !tensor.storage_offset())	// its kernel may resize it
		return at::empty(tensor.sizes(), tensor.options().device(at::kCPU));
	at::Tensor result = at::detail::make_tensor<c10::TensorImpl>(
		c10::Storage(c10::Storage::use_byte_size_t(), storage.nbytes(),
			     c10::DataPtr(data + (block && on_shadow ? block->size : 0), at::kCPU), nullptr, false),
		c10::DispatchKeySet(c10::DispatchKey::CPU), tensor.dtype());
	result.unsafeGetTensorImpl()->set_sizes_and_strides(tensor.sizes(), tensor.strides(), tensor.storage_offset());
	if (tensor.unsafeGetTensorImpl()->is_wrapped_number())
		result.unsafeGetTensorImpl()->set_wrapped_number(true);
	result._set_conj(tensor.is_conj());
	result._set_neg(tensor.is_neg());
	return result;
}

at::Tensor copy_from(const at::Tensor &from, const at::Tensor &to, bool non_blocking)
{
	at::Tensor source = from.expand_as(to);
	bool is_inside = source.device() == to.device();
	if (!is_inside && source.device().type() == to.device().type()) {
		copy_from(at::_to_copy(from, at::TensorOptions().device(at::kCPU)), to, false);
		return to;
	}
	if (!to.numel())
		return to;
	bool converts = source.scalar_type() != to.scalar_type() || source.is_conj() != to.is_conj() ||
			source.is_neg() != to.is_neg();
	if (converts && !is_inside) {
		// The side of the source converts. On the host that makes a tensor of which a copy is staged.
		source = at::_to_copy(source, at::TensorOptions().dtype(to.scalar_type()));
		non_blocking &= source.device().type() == FAKE;
	}
	Lock lock(mutex);
	Region source_region(source), target(to);
	Stream &stream = stream_for(to.device().type() == FAKE ? to : source);
	if (is_inside && converts) {
		Digests reads{{source_region, source_region.digest()}};
		on_host(to, true).copy_(on_host(source, true));
		issue_kernel(stream, "a conversion", std::move(reads), {{target, target.pack(target.base + target.shadow)}});
	} else if (is_inside || non_blocking) {
		issue_copy(stream, source_region, target);
	} else if (target.block) {
		std::string packed = source_region.pack(source_region.base);
		target.unpack(target.base + target.shadow, packed);
		issue_kernel(stream, "a copy to the device", {}, {{target, packed}});
	} else {
		run_until(stream, stream.issued);
		check_contents("a copy to the host", source_region, source_region.digest());
		target.unpack(target.base, source_region.pack(source_region.base));
	}
	return to;
}

void resize_storage(const c10::Storage &storage, size_t nbytes)
{
	Lock lock(mutex);
	c10::DeviceGuard guard(storage.device());
	c10::DataPtr data = allocator.allocate(nbytes);
	size_t both = std::min(nbytes, storage.nbytes());
	if (both)
		issue_copy(current_stream(current_device), Region(static_cast<char *>(storage.mutable_data()), block_of(storage), both),
			   Region(static_cast<char *>(data.get()), static_cast<Block *>(data.get_context()), both));
	storage.unsafeGetStorageImpl()->set_data_ptr_noswap(std::move(data));
	storage.unsafeGetStorageImpl()->set_nbytes(nbytes);
}

void grow_storage(const at::Tensor &tensor)
{
	size_t nbytes = at::detail::computeStorageNbytes(tensor.sizes(), tensor.strides(), tensor.element_size(),
							 tensor.storage_offset());
	if (tensor.numel() && nbytes > tensor.storage().nbytes())
		resize_storage(tensor.storage(), nbytes);
}

const at::Tensor &resize(const at::Tensor &self, at::IntArrayRef size, std::optional<at::MemoryFormat> format)
{
	self.unsafeGetTensorImpl()->set_sizes_contiguous(size);
	if (format && *format != at::MemoryFormat::Preserve)
		self.unsafeGetTensorImpl()->empty_tensor_restride(*format);
	grow_storage(self);
	return self;
}

at::Tensor &set_storage(at::Tensor &self, at::Storage storage, int64_t offset, at::IntArrayRef size, at::IntArrayRef stride)
{
	c10::TensorImpl *tensor = self.unsafeGetTensorImpl();
	tensor->set_storage_keep_dtype(std::move(storage));
	tensor->set_sizes_contiguous(size);
	tensor->set_sizes_and_strides(size, stride.size() == size.size() ? stride : self.strides(), offset);
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
	return set_storage(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

at::Tensor &set_nothing(at::Tensor &self)
{
	c10::DeviceGuard guard(self.device());
	return set_storage(self, c10::Storage(c10::Storage::use_byte_size_t(), 0, allocator.allocate(0), &allocator, true), 0, 0, {});
}

c10::DeviceGuard guard_for(std::optional<at::Device> device)
{
	return c10::DeviceGuard(device && device->has_index() ? *device : c10::Device(FAKE, current_device));
}

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> type, std::optional<at::Layout>,
		 std::optional<at::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format)
{
	auto guard = guard_for(device);
	return at::detail::empty_generic(size, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
					 c10::dtype_or_default(type), format);
}

at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> type,
			 std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>)
{
	auto guard = guard_for(device);
	return at::detail::empty_strided_generic(size, stride, &allocator, c10::DispatchKeySet(c10::DispatchKey::PrivateUse1),
						 c10::dtype_or_default(type));
}

// One call of a kernel of the CPU.
struct Call {
	bool is_synchronous;	// returns numbers, which the host reads from the memory
	std::vector<at::Tensor> tensors, hosts;	// the tensors of the device among the arguments, and the CPU's in their place
	std::optional<c10::Device> device;

	at::Tensor argument(const at::Tensor &tensor)
	{
		if (!tensor.defined() || tensor.device().type() != FAKE)
			return tensor;
		if (!device || tensors.empty())
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
			for (const auto &tensor : value.toOptionalTensorVector())
				list.push_back(tensor ? std::optional<at::Tensor>(argument(*tensor)) : std::nullopt);
			return list;
		}
		if (value.isDevice() && value.toDevice().type() == FAKE) {
			if (!device)
				device = value.toDevice().has_index() ? value.toDevice() : c10::Device(FAKE, current_device);
			return c10::Device(at::kCPU);
		}
		return value;
	}
	// The tensor of the device in place of one of the CPU: an argument, a view of one, or a new one.
	at::Tensor result(const at::Tensor &host, Results &writes)
	{
		if (!host.defined())
			return host;
		for (size_t i = 0; i < hosts.size(); i++)
			if (host.unsafeGetTensorImpl() == hosts[i].unsafeGetTensorImpl())
				return tensors[i];
		for (size_t i = 0; i < hosts.size(); i++)
			if (host.storage().unsafeGetStorageImpl() == hosts[i].storage().unsafeGetStorageImpl()) {
				at::Tensor view = at::detail::make_tensor<c10::TensorImpl>(
					c10::TensorImpl::VIEW, c10::Storage(tensors[i].storage()), tensors[i].key_set(), host.dtype());
				view.unsafeGetTensorImpl()->set_sizes_and_strides(host.sizes(), host.strides(), host.storage_offset());
				return view;
			}
		at::Tensor tensor = at::detail::empty_strided_generic(host.sizes(), host.strides(), &allocator,
			c10::DispatchKeySet(c10::DispatchKey::PrivateUse1), host.scalar_type());
		if (host.numel()) {
			writes.emplace_back(Region(tensor), Region(host).pack(static_cast<char *>(host.data_ptr())));
			writes.back().first.unpack(writes.back().first.base + writes.back().first.shadow, writes.back().second);
		}
		return tensor;
	}
};

// Runs any operation that has no kernel above by the CPU's kernel.
void call_host(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
	Lock lock(mutex);
	const c10::FunctionSchema &schema = op.schema();
	const char *name = schema.name().c_str();
	size_t count = schema.arguments().size();
	bool is_view = false, has_tensor = false;
	for (const auto &returned : schema.returns()) {
		is_view |= returned.alias_info() && !returned.alias_info()->isWrite();
		has_tensor |= returned.type()->kind() == c10::TypeKind::TensorType || returned.type()->kind() == c10::TypeKind::ListType;
	}
	Call call{!has_tensor && !schema.returns().empty()};
	Digests reads;
	std::vector<size_t> written;
	for (size_t i = 0; i < count; i++) {
		size_t first = call.tensors.size();
		c10::IValue &value = (*stack)[stack->size() - count + i];
		value = call.argument(value);
		const c10::AliasInfo *alias = schema.arguments()[i].alias_info();
		for (size_t k = first; k < call.tensors.size(); k++) {
			Region region(call.tensors[k]);
			if (!is_view && !schema.arguments()[i].is_out() && call.tensors[k].numel())
				reads.emplace_back(region, region.digest());
			if (alias && alias->isWrite())
				written.push_back(k);
		}
	}
	TORCH_CHECK(call.device, name, " has no argument on a device");
	c10::DeviceGuard guard(*call.device);
	Stream &stream = current_stream(current_device);
	if (call.is_synchronous) {
		run_until(stream, stream.issued);
		for (auto &[region, digest] : reads)
			check_contents(name, region, digest);
	}
	op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
	if (call.is_synchronous)
		return;
	Results writes;
	for (size_t k : written) {
		at::Tensor &tensor = call.tensors[k], &host = call.hosts[k];
		if (!tensor.sizes().equals(host.sizes()))
			resize(tensor, host.sizes(), std::nullopt);
		if (!host.numel())
			continue;
		writes.emplace_back(Region(tensor), Region(host).pack(static_cast<char *>(host.data_ptr())));
		writes.back().first.unpack(writes.back().first.base + writes.back().first.shadow, writes.back().second);
	}
	for (size_t i = 0; i < schema.returns().size(); i++) {
		c10::IValue &value = (*stack)[stack->size() - schema.returns().size() + i];
		if (value.isTensor()) {
			value = call.result(value.toTensor(), writes);
		} else if (value.isTensorList()) {
			c10::List<at::Tensor> list;
			for (const at::Tensor &tensor : value.toTensorVector())
				list.push_back(call.result(tensor, writes));
			value = list;
		}
	}
	if (!is_view && (!reads.empty() || !writes.empty()))
		issue_kernel(stream, name, std::move(reads), std::move(writes));
}

// ---- What PyTorch asks of a device ----

struct Guard final : c10::impl::DeviceGuardImplInterface {
	c10::DeviceType type() const override { return FAKE; }
	c10::DeviceIndex deviceCount() const noexcept override { return DEVICES; }
	c10::Device getDevice() const override { return c10::Device(FAKE, current_device); }
	void uncheckedSetDevice(c10::Device device) const noexcept override { current_device = device.index(); }
	void setDevice(c10::Device device) const override
	{
		TORCH_CHECK(device.index() >= 0 && device.index() < DEVICES, "there is no ", device);
		current_device = device.index();
	}
	c10::Device exchangeDevice(c10::Device device) const override
	{
		c10::Device previous = getDevice();
		if (device.has_index())
			setDevice(device);
		return previous;
	}
	c10::Stream getStream(c10::Device device) const override
	{
		Lock lock(mutex);
		return handle_of(current_stream(device.has_index() ? device.index() : current_device));
	}
	c10::Stream getDefaultStream(c10::Device device) const override
	{
		return c10::Stream(c10::Stream::DEFAULT, c10::Device(FAKE, device.has_index() ? device.index() : current_device));
	}
	c10::Stream getNewStream(c10::Device device, int = 0) const override
	{
		Lock lock(mutex);
		auto id = static_cast<int64_t>(streams.size());
		streams.push_back({device.has_index() ? device.index() : current_device, id});
		return handle_of(streams.back());
	}
	c10::Stream getStreamFromGlobalPool(c10::Device device, bool = false) const override { return getNewStream(device); }
	c10::Stream exchangeStream(c10::Stream stream) const override
	{
		c10::Stream previous = getStream(stream.device());
		current_streams[stream.device_index()] = stream.id();
		return previous;
	}
	void record(void **event, const c10::Stream &stream, c10::DeviceIndex, c10::EventFlag) const override
	{
		Lock lock(mutex);
		if (!*event)
			*event = new Event;
		Stream &its = stream_of(stream);
		issue(its, [] {});	// so that even an event of a stream without work is not done at once
		*static_cast<Event *>(*event) = {&its, its.issued};
	}
	void destroyEvent(void *event, c10::DeviceIndex) const noexcept override { delete static_cast<Event *>(event); }
	void block(void *event, const c10::Stream &stream) const override
	{
		Lock lock(mutex);
		if (event)
			wait_event(stream_of(stream), *static_cast<Event *>(event));
	}
	bool queryEvent(void *event) const override
	{
		Lock lock(mutex);
		return !event || query(*static_cast<Event *>(event)->stream, static_cast<Event *>(event)->position);
	}
	void synchronizeEvent(void *event) const override
	{
		Lock lock(mutex);
		if (event)
			run_until(*static_cast<Event *>(event)->stream, static_cast<Event *>(event)->position);
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
		for (Stream &stream : streams)
			if (stream.device == device)
				run_until(stream, stream.issued);
	}
	void recordDataPtrOnStream(const c10::DataPtr &data, const c10::Stream &stream) const override
	{
		Lock lock(mutex);
		record_stream(data, stream_of(stream));
	}
	double elapsedTime(void *, void *, c10::DeviceIndex) const override { return 0; }
};

struct Hooks final : at::PrivateUse1HooksInterface {
	bool isBuilt() const override { return true; }
	bool isAvailable() const override { return true; }
	bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
	c10::DeviceIndex deviceCount() const override { return DEVICES; }
	c10::DeviceIndex getCurrentDevice() const override { return current_device; }
	void setCurrentDevice(c10::DeviceIndex device) const override { Guard().setDevice(c10::Device(FAKE, device)); }
	c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override
	{
		return Guard().exchangeDevice(c10::Device(FAKE, device)).index();
	}
	c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override { return exchangeDevice(device); }
	c10::Allocator *getPinnedMemoryAllocator() const override { return c10::GetAllocator(at::kCPU); }
	void resizePrivateUse1Bytes(const c10::Storage &storage, size_t nbytes) const override { resize_storage(storage, nbytes); }
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
	library.impl("set_", set_nothing);
	library.impl("set_.source_Storage", set_whole_storage);
	library.impl("set_.source_Storage_storage_offset", set_storage);
	library.impl("set_.source_Tensor", set_tensor);
	library.impl("record_stream", record_tensor);
	// These have kernels of the CPU, and for any other device parts that round differently.
	for (const char *name : {"native_layer_norm", "native_group_norm"})
		library.impl(name, torch::CppFunction::makeFromBoxedFunction<&call_host>());
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

bool fake_is_left_out(const char *kind) { return is_left_out(kind); }
long fake_calls(const char *kind) { Lock lock(mutex); return calls[kind].made; }
void fake_leave_out(const char *kind, long number) { Lock lock(mutex); calls[kind].left_out = number; }
int fake_current_device() { return current_device; }
void fake_set_device(int device) { Guard().uncheckedSetDevice(c10::Device(FAKE, device)); }
int64_t fake_current_stream(int device) { return current_streams[device]; }
void fake_synchronize(int device) { Guard().synchronizeDevice(device); }
void fake_set_stream(int64_t id, int device) { current_streams[device] = id; }
}
