# SPDX-License-Identifier: MIT
"""PyTorch's saved tensors as parcels: gradients of models, views, changes in place, lives, orders, failures."""

import _thread
import contextlib
import copy
import gc
import itertools
import os
import resource
import signal
import subprocess
import sys
import threading
import time
import types
import unittest
import warnings

import pytest

import reel

torch = pytest.importorskip("torch")
nn = torch.nn
import reel._offload  # noqa: E402
StorageWeakRef = pytest.importorskip("torch.multiprocessing.reductions").StorageWeakRef

# Or each collection in a test looks at the objects of torch's modules.
gc.freeze()

WIDTH = 256
BIG = (WIDTH, WIDTH)
"""A tensor of 256 KiB."""


class Attention(nn.Module):
    def __init__(self, width=64, heads=4):
        super().__init__()
        self.heads, self.to_all, self.out = heads, nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (part.view(batch, length, self.heads, -1).transpose(1, 2) for part in self.to_all(x).chunk(3, -1))
        seen = torch.ones(length, length, dtype=torch.bool, device=x.device).tril()
        weight = ((q @ k.transpose(-2, -1)) / 8).masked_fill(~seen, -1e4).softmax(-1)
        return x + self.out((weight @ v).transpose(1, 2).reshape(x.shape))


class Recurrent(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.width, self.cell = width, nn.LSTMCell(width, width)

    def forward(self, x):
        h = c = x.new_zeros(x.shape[1], self.width)
        for part in x:
            h, c = self.cell(part, (h, c))
        return h + c


def perceptron():
    return nn.Sequential(*(layer for _ in range(8) for layer in (nn.Linear(WIDTH, WIDTH), nn.GELU(), nn.Dropout(0.1)))), \
        (WIDTH, WIDTH)


def convolutions():
    layers = [nn.Conv2d(3, 16, 3, padding=1)]
    for _ in range(3):
        layers += [nn.Conv2d(16, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
    return nn.Sequential(*layers), (4, 3, 64, 64)


def recurrent():
    return Recurrent(), (1000 if os.environ.get("TEST_LONG") else 60, 64, 64)


def attention():
    return nn.Sequential(*(layer for _ in range(3) for layer in (Attention(), nn.LayerNorm(64)))), (6, 96, 64)


OLD = torch.__version__.startswith("1.")
"""An exception in a hook comes out as a RuntimeError with its text."""

MODELS = {model.__name__: model for model in (perceptron, convolutions, recurrent, attention)}


def model_of(name, dtype=torch.float32, device="cpu"):
    torch.manual_seed(1)
    model, shape = MODELS[name]()
    return model.to(device, dtype), torch.randn(shape).to(device, dtype)


def gradients(model, x):
    """Of all parameters, by one pass forward and backward."""
    torch.manual_seed(2)
    model.zero_grad()
    model(x).float().square().mean().backward()
    return [parameter.grad.clone() for parameter in model.parameters()]


def same(these, those):
    return len(these) == len(those) and all(torch.equal(a, b) for a, b in zip(these, those))


@pytest.fixture
def copied(monkeypatch):
    monkeypatch.setattr(reel._offload, "_LENT_BYTES", 1 << 40)


@pytest.fixture
def offload(tmp_path, copied):
    return reel.offload(pool=reel.Pool("3M", directory=tmp_path, slab="64K"), min_bytes="1K")


def parcels(offload):
    """Those that are alive, when the tensors of the operation before are copied."""
    torch.ones((), requires_grad=True).exp()
    gc.collect()
    return offload.pool.parcel_stats()["parcels"]


def copies(offload):
    """Those that are alive then: in parcels of their own, and in batches."""
    count = parcels(offload)
    batched = [x for x in gc.get_objects() if isinstance(x, reel._offload._Batched) and x.batch.offload is offload]
    return count - len({x.batch for x in batched}) + len(batched)


def big(value=1.0):
    """A result that has a gradient, and is no leaf."""
    return torch.full(BIG, value, requires_grad=True) * 1


def storage_of(x):
    return x.untyped_storage() if hasattr(x, "untyped_storage") else x.storage().untyped()


WAYS = {"lent": (0, 1), "copied": (0, 1 << 40), "batched": (2 << 20, 1)}
"""Of a tensor of the CPU to its parcel: the size of a batch, and the size from which its memory is lent."""


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def lent(request, monkeypatch):
    monkeypatch.setattr(reel._offload, "_MAX_BATCH_BYTES", request.param[0])
    monkeypatch.setattr(reel._offload, "_LENT_BYTES", request.param[1])


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
@pytest.mark.parametrize("name", MODELS)
def test_gradients_are_those_without_to_the_bit(name, dtype, offload, lent):
    model, x = model_of(name, dtype)
    try:
        wanted = gradients(model, x)
    except RuntimeError as error:
        pytest.skip(f"torch has no such operation on this processor: {error}")
    for _ in range(2):
        with offload:
            assert same(gradients(model, x), wanted)
    assert parcels(offload) == 0
    if dtype == torch.float32:  # half of the bytes fit into the budget
        assert offload.pool.stats()["written_bytes"] > 0


@pytest.mark.parametrize("name", MODELS)
def test_gradients_with_the_collector_at_each_step(name, offload):
    model, x = model_of(name)
    x = x[:8]
    wanted = gradients(model, x)
    before = gc.get_threshold()
    gc.set_threshold(1)
    try:
        with offload:
            assert same(gradients(model, x), wanted)
    finally:
        gc.set_threshold(*before)


def large(value=1.0):
    """One of 1 MiB."""
    return torch.full((512, 512), value, requires_grad=True) * 1


def chain(n):
    """Tensors that the budget of 8 MiB does not hold, of operations that save their results."""
    return [large(i / n).exp() for i in range(n)]


@pytest.mark.skipif(OLD, reason="a hook of a module is not called after an exception")
def test_a_model_that_it_is_attached_to_saves_with_each_call(offload):
    model, x = model_of("perceptron")
    wanted = gradients(model, x)
    assert offload.attach(model) is model
    for seen in model, copy.deepcopy(model):
        assert same(gradients(seen, x), wanted)
        with pytest.raises(RuntimeError):
            seen(x[:, :3])
        kept = big().exp()
        assert parcels(offload) == 0
    y = model(x)
    assert parcels(offload) > 0 and str(offload).startswith("saved tensors: 0 MiB where they were, ")
    del y, kept


@pytest.mark.skipif(not OLD, reason="it can be attached")
def test_an_old_torch_is_refused_by_attach(offload):
    with pytest.raises(ImportError, match="use `with`"):
        offload.attach(nn.Linear(1, 1))


def test_a_large_tensor_stays_where_it_is_while_the_budget_has_room(tmp_path):
    offload = reel.offload("64M", directory=tmp_path)
    with offload:
        results = chain(20)
        transposed = results[3].t() @ results[3]
    assert parcels(offload) == 20
    assert all(result.grad_fn._saved_result.data_ptr() == result.data_ptr() for result in results)
    assert 20 << 20 <= offload.pool.stats()["resident_bytes"] < 22 << 20 and offload.outside_bytes < 1000
    with pytest.raises(BufferError):
        offload.pool.close()
    del results, transposed
    gc.collect()
    assert offload.pool.stats()["resident_bytes"] == 0
    offload.pool.close()


def test_those_that_were_saved_first_leave_their_memory_when_the_budget_has_no_room(tmp_path):
    offload = reel.offload("8M", directory=tmp_path)
    with offload:
        results = chain(40)
    assert parcels(offload) == 40 and len(offload.pool._loans) <= 8
    assert results[0].grad_fn._saved_result.data_ptr() != results[0].data_ptr()
    assert all(torch.equal(result.grad_fn._saved_result, result) for result in results)
    stats = offload.pool.stats()
    assert stats["peak_resident_bytes"] <= 8 << 20 and stats["written_bytes"] > 0 and offload.outside_bytes < 1000
    assert results[-1].grad_fn._saved_result.data_ptr() == results[-1].data_ptr()
    sum(result.sum() for result in results).backward()
    del results
    assert parcels(offload) == 0


def test_views_of_a_storage_that_is_lent_have_one_parcel(tmp_path):
    offload = reel.offload("8M", directory=tmp_path)
    x = large(2.0)
    with offload:
        y = [x * x, x.t() * x.t(), x[7:9] * x[7:9], x.view(-1)[:-1] * x.view(-1)[1:]]
        results = chain(12)
        assert parcels(offload) == 12 + 1
    assert torch.equal(y[1].grad_fn._saved_self, x.t()) and torch.equal(y[2].grad_fn._saved_self, x[7:9])
    sum(part.sum() for part in y).backward()
    del results


def test_a_part_that_is_copied_gets_the_room_of_storages_that_are_lent(tmp_path):
    offload = reel.offload("4M", directory=tmp_path)
    with offload:
        results = chain(3)
        part = (torch.arange(3.0 * (1 << 18)).requires_grad_() * 2)[:5 << 16]
        y = part * part
    assert torch.equal(y.grad_fn._saved_self, part)
    (sum(result.sum() for result in results) + y.sum()).backward()


def test_a_tensor_may_have_a_quarter_of_the_budget(tmp_path, lent):
    offload = reel.offload("4M", directory=tmp_path)
    with offload:
        results = chain(12)
    assert all(torch.equal(result.grad_fn._saved_result, result) for result in results)
    sum(result.sum() for result in results).backward()


@pytest.mark.parametrize("budget", ["8M", "64M"])
def test_a_storage_that_is_resized_while_it_is_lent(budget, tmp_path):
    offload = reel.offload(budget, directory=tmp_path)
    x = torch.full((512, 512), 3.0)
    storage = storage_of(x)
    factor = torch.ones((), requires_grad=True)
    with offload:
        y = x * factor
        torch.ones((), requires_grad=True).exp()
        assert len(offload.pool._loans) == 1
        storage.resize_(0)
        assert not offload.pool._loans
        results = chain(40)
    storage.resize_(4 * x.numel())
    x.data.fill_(5)
    y.sum().backward()
    assert float(factor.grad) == 5 * x.numel() and len(results) == 40


def test_tensors_that_are_shared_with_processes_while_they_are_lent(tmp_path):
    offload = reel.offload("16M", directory=tmp_path)
    leaf, factors = torch.ones(512, 512, requires_grad=True), [torch.full((512, 512), 1 + i / 64) for i in range(64)]
    with offload:
        x = leaf * 1
        for i, factor in enumerate(factors):
            x = x * factor
            if i % 2:
                factors[i - 1].share_memory_()
        x.sum().backward()
    wanted = torch.ones(512, 512)
    for factor in reversed(factors):
        wanted *= factor
    assert torch.equal(leaf.grad, wanted) and offload.pool.stats()["written_bytes"] > 0
    assert [factor.is_shared() for factor in factors] == [True, False] * 32


@pytest.mark.parametrize("resize", [lambda x: x.resize_(1 << 20), lambda x: x.resize_as_(torch.empty(1 << 20))])
def test_tensors_that_are_resized_while_they_are_lent(resize, tmp_path):
    offload = reel.offload("16M", directory=tmp_path)
    x, factors = torch.ones(512, 512, requires_grad=True), [torch.ones(512, 512) for _ in range(64)]
    with offload:
        for i, factor in enumerate(factors):
            x = x * factor
            if i % 2:
                resize(factors[i - 1])
    assert offload.pool.stats()["written_bytes"] > 0
    # torch 1 counts no version.
    with contextlib.nullcontext() if OLD else pytest.raises(RuntimeError, match="modified by an inplace operation"):
        x.sum().backward()


def test_memory_that_was_written_while_it_is_lent_is_written_again_if_it_is_saved_again(tmp_path):
    """A batch normalisation changes its running statistics without a version."""
    offload = reel.offload(pool=reel.Pool("32M", soft_budget="4M", directory=tmp_path))
    x = torch.full((512, 512), 3.0)
    first, second = torch.ones((), requires_grad=True), torch.ones((), requires_grad=True)
    with offload:
        before = x * first
        results = chain(12)
        while offload.pool.stats()["written_bytes"] < 7 << 20:
            time.sleep(0.001)
        offload.pool._take_back()
        assert x.data_ptr() in offload.pool._loans
        x.data.fill_(5)
        after = x * second
        results += chain(40)
        assert x.data_ptr() not in offload.pool._loans
    (before.sum() + after.sum()).backward()
    assert float(second.grad) == float(first.grad) == 5 * x.numel()


def test_storages_that_are_resized_while_they_are_written(tmp_path):
    offload = reel.offload("4M", directory=tmp_path)
    factor = torch.ones((), requires_grad=True)
    kept = []
    with offload:
        for i in range(200):
            x = torch.full((512, 512), 3.0)
            kept.append((x, x * factor))
            torch.ones((), requires_grad=True).exp()
            if i >= 8:
                x, y = kept.pop(i % 8)
                y = y if i % 3 else None
                storage_of(x).resize_(0)
    assert offload.pool.stats()["written_bytes"] > 50 << 20
    child = os.fork()
    if not child:
        signal.alarm(30)
        for x, y in kept:
            storage_of(x).resize_(0)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0


def test_parameters_and_leaves_stay(offload):
    x = torch.randn(BIG, requires_grad=True)
    layer, frozen = nn.Linear(*BIG), nn.Linear(*BIG).requires_grad_(False)
    with offload:
        kept = [frozen(layer(x)), layer(x), x.t() @ layer.weight.t(), x.view(-1) * 2]
    assert len(kept) == 4 and parcels(offload) == 0


def test_small_tensors_and_all_but_plain_tensors_stay(tmp_path, copied):
    offload = reel.offload("8M", directory=tmp_path)
    sparse = torch.eye(8).to_sparse()
    with offload:
        small = (torch.randn(8, 8, requires_grad=True) * 1).exp()
        product = torch.sparse.mm(sparse, small)
        expanded = torch.full((1, 1), 2.0, requires_grad=True).mul(1).expand(1000, 1000).exp().sum()
        assert parcels(offload) == 1
        wide = torch.full((1, 1), 2.0, requires_grad=True).mul(1).expand(1000, 1000)
        assert (wide * wide.sin()).shape == (1000, 1000) and parcels(offload) == 2
    product.sum().backward()
    del expanded


@pytest.mark.parametrize("min_bytes", [1, "64K", "1G"])
def test_nested_tensors_stay(min_bytes, tmp_path):
    def gradient(manager):
        n = torch.nested.nested_tensor([torch.ones(300, 400), torch.ones(200, 400)]).requires_grad_()
        with manager:
            y = torch.softmax(n * 1, -1)
        torch.nested.to_padded_tensor(y, 0.0).square().sum().backward()
        return n.grad.unbind()

    offload = reel.offload("8M", directory=tmp_path, min_bytes=min_bytes)
    assert same(gradient(offload), gradient(contextlib.nullcontext()))


def test_a_model_that_holds_it_is_copied_and_its_parameters_are_saved(offload, tmp_path):
    model, x = model_of("perceptron")
    model.offload = offload
    wanted = gradients(model, x)
    for copied in copy.deepcopy(model), copy.copy(model):
        with copied.offload:
            assert copied.offload is offload and same(gradients(copied, x), wanted)
    with pytest.raises(TypeError, match="state_dict"):
        torch.save(model, tmp_path / "model")
    torch.save(model.state_dict(), tmp_path / "model")
    model.load_state_dict(torch.load(tmp_path / "model"))


def test_a_storage_is_saved_once(offload):
    x = big()
    with offload:
        kept = [x * x, x.t() @ x, (x.view(-1, 4) + 1).exp().log(), [part.exp() for part in x.chunk(4, 1)]]
        assert parcels(offload) == 1 + 1 + 4
        del kept
        kept = x.sin(), [part * part for part in x.chunk(4, 1)]
        assert parcels(offload) == 1
    del kept


def test_parts_of_a_large_storage_go_alone_until_they_are_as_large(offload):
    data = torch.randn(64, 1024)
    weight = torch.ones(1024, requires_grad=True)
    with offload:
        kept = [data[3] * weight, data[7] * weight, data[3, 16:] * weight[16:]]
        offload.pool.trim()
        assert copies(offload) == 3
        kept += [data[i:i + 8] * weight for i in range(56)]
        assert copies(offload) < 3 + 8 + 2
    sum(part.sum() for part in kept).backward()
    wanted = data[3] + data[7] + sum(data[i:i + 8].sum(0) for i in range(56))
    wanted[16:] += data[3, 16:]
    assert torch.allclose(weight.grad, wanted, atol=1e-3)


@pytest.mark.parametrize("part", [
    lambda x: x[3, 7], lambda x: x[5], lambda x: x[:, 9], lambda x: x[::64, 1::64], lambda x: x[7:7], lambda x: x.t()[1:2],
    lambda x: x[0, :1].expand(20), lambda x: x[2, 3:30].conj(),
])
@pytest.mark.parametrize("dtype", [torch.float32, torch.complex128], ids=str)
def test_a_small_part_does_not_keep_its_storage(part, dtype, tmp_path):
    offload = reel.offload("8M", directory=tmp_path)
    factor = torch.ones((), dtype=dtype, requires_grad=True)
    x = torch.randn(BIG).to(dtype)
    storage = storage_of(x)
    reference = StorageWeakRef(storage)
    with offload:
        nodes = [(part(x) * factor).grad_fn for _ in range(3)]
        assert parcels(offload) == 1 and offload.outside_bytes == 0
        wanted = part(x).clone()
        x.data.mul_(2)
        nodes.append((part(x) * factor).grad_fn)
    strides = part(x).stride()
    del x, storage
    assert reference.expired()
    for node, value in zip(nodes, [wanted] * 3 + [2 * wanted]):
        assert torch.equal(node._saved_self, value) and node._saved_self.stride() == strides
    del nodes, node
    assert parcels(offload) == 0 and offload.outside_bytes == 0


def test_what_stays_in_memory_is_counted_and_a_message_says_when_it_is_more_than_the_budget(tmp_path):
    offload = reel.offload("8M", directory=tmp_path)
    sparse = torch.eye(1000).to_sparse()
    total = []
    with warnings.catch_warnings(record=True) as messages:
        warnings.simplefilter("always")
        with offload:
            x = torch.full((1000,), 0.5, requires_grad=True) * 1
            total += [x * x for _ in range(100)]
            assert 4000 <= offload.outside_bytes < 5000
            total.append(torch.sparse.mm(sparse, x[:, None]))
            assert parcels(offload) == 0 and 8000 <= offload.outside_bytes < 9000
            weight = torch.ones(1000, requires_grad=True)
            total += [torch.rand(64, 128) * weight[:128] for _ in range(200)]
            assert 6 << 20 <= offload.outside_bytes < 8 << 20 and not messages
            total += [torch.rand(64, 128) * weight[:128] for _ in range(200)]
    assert [message.category for message in messages] == [UserWarning]
    assert "outside of the budget" in str(messages[0].message) and messages[0].filename == __file__
    del total, x
    assert parcels(offload) == 0 and offload.outside_bytes == 0


def test_parts_of_a_storage_that_never_fits_into_the_budget(tmp_path):
    offload = reel.offload(pool=reel.Pool("3M", directory=tmp_path, slab="64K"), min_bytes="1K")
    data = torch.randn(64, 1 << 14)
    weight = torch.ones(1 << 14, requires_grad=True)
    with offload:
        kept = [data[i:i + 8] * weight for i in range(56)]
    sum(part.sum() for part in kept).backward()
    assert torch.allclose(weight.grad, sum(data[i:i + 8].sum(0) for i in range(56)), atol=1e-3)


def test_parts_that_are_gone_are_not_counted(offload):
    data = torch.randn(64, 1024)
    weight = torch.ones(1024, requires_grad=True)
    with offload:
        kept = [data[:2] * weight]
        for i in range(56):
            (data[i:i + 8] * weight).sum().backward()
        kept += [data[3:5] * weight, data[7:9] * weight]
        assert copies(offload) == 3
    del kept


def test_memory_that_another_tensor_had_is_not_taken_for_it(offload):
    total, wanted = [], 0.0
    factor = torch.ones((), requires_grad=True)
    with offload:
        for i in range(100):
            data = torch.full((64, 64), float(i))
            total.append((data * factor).sum())
            wanted += float(data.sum())
            del data
    sum(total).backward()
    assert float(factor.grad) == wanted


def test_a_tensor_that_was_changed_between_two_saves_is_saved_twice(offload):
    factor = torch.ones((), requires_grad=True)
    data = torch.full(BIG, 3.0)
    with offload:
        first = (data.clone() * factor).sum()
        buffer = data.clone()
        second = (buffer * factor).sum()
        buffer.add_(1)
        third = (buffer * factor).sum()
        assert parcels(offload) == 3
    (first + third).backward()
    assert float(factor.grad) == 7 * data.numel()
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        second.backward()


def test_tensors_on_one_storage_that_count_their_changes_apart_are_saved_apart(offload):
    factor = torch.ones((), requires_grad=True)
    x = torch.full(BIG, 3.0).add_(1)
    y = x.data
    with offload:
        first = (x * factor).sum()
        y.add_(1)
        assert x._version == y._version
        second = (y * factor).sum()
    second.backward()
    assert float(factor.grad) == 5 * x.numel()
    del first


@pytest.mark.parametrize("function", ["rrelu", "rrelu_"])
@pytest.mark.parametrize("shape", [BIG, (3, 5), ()], ids=str)
def test_an_operation_that_writes_to_what_it_saved(function, shape, tmp_path, lent):
    """Its noise, which it saves before another tensor. It is copied after the operation, whatever comes next."""
    function = getattr(nn.functional, function)
    x = torch.randn(shape, requires_grad=True)

    def gradient(after=lambda x: None, last=lambda y: None):
        torch.manual_seed(2)
        y = function(x * 2, training=True)
        after(x)
        y = y * 3
        last(y)
        return torch.autograd.grad(y.sum(), x)

    wanted = gradient()
    offload = reel.offload("8M", directory=tmp_path, min_bytes=1)
    for after in lambda x: None, lambda x: x.exp() * x, lambda x: x.clone().detach().add_(1):
        with offload:
            assert same(gradient(after), wanted)
        assert same(gradient(after, offload.__enter__().__exit__), wanted)
        with offload:
            torch.manual_seed(2)
            y = function(x * 2, training=True)
        offload.pool.trim()
        assert same(torch.autograd.grad((y * 3).sum(), x), wanted)


def test_an_operation_that_writes_to_the_first_of_many_tensors_that_it_saved(tmp_path):
    """Batch normalisation saves its running mean and variance before it saves the weight, and changes them then."""
    norm = nn.BatchNorm1d(7)
    x = torch.randn(5, 7) + 1
    offload = reel.offload("8M", directory=tmp_path, min_bytes=1)
    with offload:
        node = norm(x).grad_fn
        assert torch.equal(node._saved_running_mean, norm.running_mean)
    assert parcels(offload) > 0 and torch.equal(node._saved_running_mean, norm.running_mean)


@pytest.mark.parametrize("nbytes", [0, 100, 4 << 20])
def test_a_storage_that_was_resized_before_its_copy(nbytes, offload):
    x = torch.full(BIG, 3.0)
    storage = storage_of(x)
    factor = torch.ones((), requires_grad=True)
    with offload:
        y = x * factor
        storage.resize_(nbytes)
        assert parcels(offload) == 0
    storage.resize_(4 * x.numel())
    x.data.fill_(5)
    y.sum().backward()
    assert float(factor.grad) == 5 * x.numel()


def operators():
    """What torch's own tests know of its operators: names, calls, and tensors to call them with."""
    # A package that Debian's torch does without; torch's tests derive a class from its only class.
    sys.modules.setdefault("expecttest", types.SimpleNamespace(TestCase=unittest.TestCase, ACCEPT=False))
    operators = pytest.importorskip("torch.testing._internal.common_methods_invocations").op_db
    gc.freeze()
    return operators


SHOW_MEMORY = {"as_strided_scatter", "empty_like", "new_empty", "new_empty_strided"}
"""Operators whose results or gradients have memory that nobody wrote to."""


def outcome(call, sample):
    """The gradients of all that the call takes, or the class of the exception in their place."""
    leaves = []

    def fresh(value):
        if isinstance(value, torch.Tensor):
            if not value.requires_grad:
                return value.detach().clone()
            leaves.append(value.detach().clone().requires_grad_())
            return leaves[-1] * 1  # that may be changed in place
        return type(value)(map(fresh, value)) if type(value) in (list, tuple) else value

    torch.manual_seed(3)
    try:
        results = call(fresh(sample.input), *fresh(sample.args), **{k: fresh(v) for k, v in sample.kwargs.items()})
        results = results if isinstance(results, (list, tuple)) else [results]
        total = sum((torch.view_as_real(y) if y.is_complex() else y).square().sum() for y in results
                    if isinstance(y, torch.Tensor) and y.requires_grad)
        found = torch.autograd.grad(total, leaves, allow_unused=True)
    except Exception as error:
        return type(error)
    return [leaf if leaf is None or leaf.layout is torch.strided else leaf.to_dense() for leaf in found]


def alike(these, those):
    """Not to the bit: LAPACK rounds as the addresses of its arguments have it, without hooks as well."""
    if type(these) is not list or type(those) is not list:
        return these is those
    return all(a is b if a is None or b is None else torch.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
               for a, b in zip(these, those))


def test_the_gradients_of_every_operator_of_torch(tmp_path):
    offload = reel.offload(pool=reel.Pool("64M", directory=tmp_path, slab="4K"), min_bytes=1)
    wrong, count = [], 0
    warnings.simplefilter("ignore")  # pytest takes it back
    for operator in operators():
        if not operator.supports_autograd or operator.name in SHOW_MEMORY:
            continue
        samples = operator.sample_inputs("cpu", torch.float64, requires_grad=True)
        samples = list(samples if os.environ.get("TEST_LONG") else itertools.islice(samples, 2))
        for call in filter(None, (operator.op, operator.inplace_variant)):
            for sample in samples:
                wanted = outcome(call, sample)
                with offload:
                    seen = outcome(call, sample)
                count += 1
                if not alike(seen, wanted):
                    wrong.append((operator.name, call, seen, wanted))
    assert not wrong and count > 1000


def argument(kind):
    """Some value of a type of the schemas; None: there is none, or none is known."""
    values = {"Tensor": lambda: torch.rand(4, 4, dtype=torch.float64, requires_grad=True), "List[Tensor]": lambda: [
        torch.rand(4, 4, dtype=torch.float64, requires_grad=True) for _ in range(2)],
        "number": lambda: 0.5, "float": lambda: 0.25, "int": lambda: 1, "bool": lambda: True, "List[int]": lambda: [0, 1]}
    return values.get(kind, lambda: None)()


def test_the_gradients_of_every_operator_whose_schema_has_an_argument_that_it_writes_to(tmp_path):
    offload = reel.offload(pool=reel.Pool("16M", directory=tmp_path, slab="4K"), min_bytes=1)
    wrong, count = [], 0
    for schema in torch._C._jit_get_all_schemas():
        writes = [a for a in schema.arguments if a.alias_info and a.alias_info.is_write and "Tensor" in str(a.type)]
        if not schema.name.startswith("aten::") or not writes or any(a.kwarg_only for a in writes):
            continue
        call = getattr(getattr(torch.ops.aten, schema.name[6:]), schema.overload_name or "default")
        first, *others = [argument(str(a.type)) for a in schema.arguments if not a.kwarg_only]
        sample = types.SimpleNamespace(input=first, args=others, kwargs={})
        wanted = outcome(call, sample)
        with offload:
            seen = outcome(call, sample)
        count += type(wanted) is list
        if not alike(seen, wanted):
            wrong.append((schema, seen, wanted))
    assert not wrong and count > 100


@pytest.mark.parametrize("min_bytes", ["1K", "1G"])
@pytest.mark.parametrize("change", [
    lambda x, y: y.add_(1), lambda x, y: y.view(-1)[3:5].zero_(), lambda x, y: y.t().mul_(2),
])
def test_a_change_in_place_is_an_error_as_without(change, min_bytes, tmp_path):
    with reel.offload("8M", directory=tmp_path, min_bytes=min_bytes):
        x = big().double()
        y = x.exp()
        z = y.sum()
    with torch.no_grad():
        change(x, y)
    del y
    with pytest.raises(RuntimeError, match=f"modified by an inplace operation: a tensor of {x.dtype} is at version"):
        z.backward()


class Overwriting(torch.autograd.Function):
    """Its backward pass writes to the tensor that it has saved."""

    @staticmethod
    def forward(context, x):
        context.save_for_backward(x)
        return x * 2

    @staticmethod
    def backward(context, gradient):
        x, = context.saved_tensors
        return x.mul_(0).add_(2).mul_(gradient)


def test_a_backward_pass_that_writes_to_what_it_saved(offload, lent):
    """Alone it may do so, once. The other operations that saved the tensor have no numbers to go on with."""
    for shape in (8, 8), (300, 300), BIG:
        leaf = torch.randn(shape, requires_grad=True)
        with offload:
            alone, x = Overwriting.apply(leaf * 1), leaf * 1
            shared = x.sin() + Overwriting.apply(x)
            torch.ones((), requires_grad=True).exp()
        gradient, = torch.autograd.grad(alone.sum(), leaf, retain_graph=True)
        assert torch.equal(gradient, torch.full(shape, 2.0))
        for result in alone, shared:
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                result.sum().backward()


@pytest.mark.skipif(OLD, reason="torch refuses it under any hooks")
def test_a_backward_pass_in_inference_mode(offload, lent):
    x = torch.randn(BIG, requires_grad=True)
    with offload:
        y = ((x * 1).sin() * x[:1]).sum()
    wanted, = torch.autograd.grad(y, x, retain_graph=True)
    with torch.inference_mode():
        y.backward()
    assert torch.equal(x.grad, wanted)


VIEWS = [
    lambda x: x, lambda x: x.t(), lambda x: x[::3, 1::5], lambda x: x[5:9], lambda x: x[:, None, :].expand(-1, 3, -1),
    lambda x: x.as_strided((40, 50), (1, 2), 7), lambda x: x[:0], lambda x: x[200],
    lambda x: x.view(16, 16, 16, 16).contiguous(memory_format=torch.channels_last),
]


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.complex128], ids=str)
def test_a_tensor_that_was_changed_without_a_version_is_saved_twice(view, dtype, tmp_path, copied):
    offload = reel.offload("8M", directory=tmp_path, min_bytes=1)
    x = view((torch.randn(BIG) - 2).to(dtype))
    factor = torch.ones((), requires_grad=True)
    saved = []

    def save():
        with offload:
            saved.append(((x * factor).grad_fn, x.clone()))
        return copies(offload)

    count = save()
    assert save() == count
    (x if x._base is None else x._base).data.zero_()
    assert save() == (2 * count if len(x) else count) == save()
    assert all(torch.equal(node._saved_self, wanted) for node, wanted in saved)


@pytest.mark.parametrize("x", [torch.zeros(BIG), torch.full(BIG, float("nan")), torch.zeros(BIG)[::3, 1::5]])
def test_copies_are_compared_bit_for_bit(x, offload):
    factor = torch.ones((), requires_grad=True)
    with offload:
        nodes = [(x * factor).grad_fn, (x * factor).grad_fn]
        assert parcels(offload) == 1
        x.data.neg_()
        nodes.append((x * factor).grad_fn)
    assert parcels(offload) == 2
    signs = [torch.signbit(node._saved_self).any() for node in nodes]
    assert signs[0] == signs[1] != signs[2]


def test_a_copy_that_has_left_memory_is_not_taken_for_another(offload):
    x = torch.full(BIG, 3.0)
    factor = torch.ones((), requires_grad=True)
    with offload:
        first = (x * factor).sum()
        others = [big(float(i)).exp() for i in range(20)]
        assert parcels(offload) == 21
        x.data.add_(1)
        second = (x * factor).sum()
    (first + second).backward()
    assert float(factor.grad) == 7 * x.numel() and len(others) == 20


def test_statistics_that_change_without_a_version(tmp_path):
    """A pass of a batch normalisation in evaluation saves them as the pass in training before it has left them."""
    def gradients(manager):
        torch.manual_seed(1)
        norm, at_once = nn.BatchNorm1d(1024), []
        with manager:
            losses = []
            for is_training in True, False, True, False:
                loss = norm.train(is_training)(3 * torch.randn(64, 1024) + 1).square().sum()
                at_once += torch.autograd.grad(loss, norm.weight, retain_graph=True)
                losses.append(loss)
        return at_once, [torch.autograd.grad(loss, norm.weight)[0] for loss in losses]

    wanted, _ = gradients(contextlib.nullcontext())
    at_once, later = gradients(reel.offload("8M", directory=tmp_path, min_bytes=1))
    assert same(at_once, wanted) and same(later, wanted)


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64], ids=str)
def test_a_tensor_comes_back_with_its_strides(view, dtype, offload):
    x = view(torch.randn(BIG).to(dtype))
    factor = torch.ones((), dtype=dtype, requires_grad=True)
    with offload:
        y = x * factor
        z = x.conj() * factor
    for seen, wanted in ((y.grad_fn._saved_self, x), (z.grad_fn._saved_self, x.conj())):
        assert torch.equal(seen, wanted) and seen.dtype == wanted.dtype and seen.stride() == wanted.stride()
        assert seen.data_ptr() % 64 == wanted.data_ptr() % 64


def test_parts_of_complex_numbers(offload):
    x = torch.randn(BIG, dtype=torch.complex64)
    factor = torch.ones((), requires_grad=True)
    with offload:
        results = [(part, part * factor) for part in (x.real, x.imag, x.conj().imag, x.mH.imag)]
    for part, result in results:
        assert torch.equal(result.grad_fn._saved_self, part)
    for dtype in (torch.bool, torch.int32):
        mask = torch.rand(BIG) > 0.5
        with offload:
            y = big().masked_fill(mask, 0)
        assert torch.equal(y.grad_fn._saved_mask, mask)


def test_a_graph_is_gone_through_twice(offload, lent):
    model, x = model_of("perceptron")
    wanted = gradients(model, x)
    torch.manual_seed(2)
    with offload:
        loss = model(x).square().mean()
    for _ in range(3):
        model.zero_grad()
        loss.backward(retain_graph=True)
        assert same([parameter.grad for parameter in model.parameters()], wanted)
    del loss
    assert parcels(offload) == 0


@pytest.mark.parametrize("within", [True, False])
def test_gradients_of_gradients(within, tmp_path):
    def second(x, w, offload):
        with offload:
            y = ((x * w).sin() @ w).exp().mean()
            if within:
                first, = torch.autograd.grad(y, w, create_graph=True)
        if not within:
            first, = torch.autograd.grad(y, w, create_graph=True)
        with offload:
            z = first.square().sum()
        return torch.autograd.grad(z, w)

    class Nothing:
        __enter__ = __exit__ = lambda *_: None

    offload = reel.offload("16M", directory=tmp_path, min_bytes="1K")
    x, w = torch.randn(BIG), (torch.randn(BIG) / 100).requires_grad_()
    assert same(second(x, w, offload), second(x, w, Nothing()))
    assert parcels(offload) == 0


def test_a_thread_of_torch_without_code_of_python_saves(offload):
    """As those of devices do in a backward pass: the hook is the first function of Python there."""
    saved, end = [], time.monotonic() + 10
    _thread.start_new_thread(saved.extend, (map(offload._pack, (big().exp() for _ in range(3))),))
    while len(saved) < 3 and time.monotonic() < end:
        time.sleep(0.001)
    assert len(saved) == 3 and parcels(offload) == 2


def test_threads_go_through_one_graph_and_graphs_of_their_own(tmp_path, lent):
    offload = reel.offload(pool=reel.Pool("12M", directory=tmp_path, slab="64K"), min_bytes="1K")
    model, x = model_of("attention")
    parameters = list(model.parameters())
    wanted = gradients(model, x)
    with offload:
        shared = model(x).square().mean()
    results = []

    def run(i):
        for _ in range(3):
            loss = shared
            if i % 2:
                with offload:
                    loss = model(x).square().mean()
            results.append(torch.autograd.grad(loss, parameters, retain_graph=True))

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 12 and all(same(result, wanted) for result in results)
    del shared
    assert parcels(offload) == 0


def test_small_tensors_share_parcels(tmp_path):
    offload = reel.offload("16M", directory=tmp_path)
    x = torch.linspace(-1, 1, 1 << 14).requires_grad_()
    for times in range(3):
        y, kept = x, [x]
        with offload if times else contextlib.nullcontext():
            for _ in range(1000):
                y = torch.sin(y)
                kept.append(y[:1])
        if times:
            assert parcels(offload) <= 1000 // 31 + 1
            assert offload.pool.stats()["written_bytes"] > 32 << 20
        for _ in range(2):  # the second one finds what the first one has read, and reads it again
            x.grad = None
            y.sum().backward(retain_graph=True)
            assert times == 0 or torch.equal(x.grad, wanted)
        wanted = x.grad
    del y, kept
    assert parcels(offload) == 0
    offload.pool.close()


def test_a_small_tensor_that_many_operations_save_is_copied_once(tmp_path):
    offload = reel.offload("32M", directory=tmp_path)
    y, mask = torch.linspace(-1, 1, 1 << 14).requires_grad_() * 1, torch.ones(1 << 14)
    with offload:
        for _ in range(100):
            y = (y * mask).tanh()
    assert copies(offload) == 101
    mask.data[5] = 2
    with offload:
        y = (y * mask).tanh()
    assert copies(offload) == 103


def test_a_batch_leaves_memory_for_a_tensor_that_needs_the_room(tmp_path):
    """In the forward pass one that is open, and in the backward pass one that is pinned."""
    offload = reel.offload("4M", directory=tmp_path)
    small, large = (torch.linspace(0, 1, n).requires_grad_() for n in (1 << 14, 768 << 10))
    with offload:
        small_result, results = small.exp().sin(), [large.exp() for _ in range(3)]
    (small_result.sum() + results.pop().sum()).backward()
    for result in results:
        result.sum().backward()
    assert torch.equal(large.grad, 3 * large.detach().exp())
    assert torch.equal(small.grad, small.detach().exp().cos() * small.detach().exp())


def test_threads_read_from_a_batch_while_another_one_fills_it(tmp_path):
    offload = reel.offload("8M", directory=tmp_path)
    ones = torch.ones(1 << 14, requires_grad=True)
    kept, wrong, is_done = [], [], False

    def read():
        while not is_done:
            for value, node in kept[-1:]:
                wrong.extend(value[node._saved_result != value])

    threads = [threading.Thread(target=read) for _ in range(2)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)  # or each reader keeps the lock of the interpreter for 5 ms
    try:
        for thread in threads:
            thread.start()
        with offload:
            for i in range(1000):
                result = (ones * (i / 1000)).exp()
                kept.append((result.detach().clone(), result.grad_fn))
    finally:
        is_done = True
        for thread in threads:
            thread.join()
        sys.setswitchinterval(interval)
    assert not wrong and offload.pool.stats()["written_bytes"] > 0
    assert all(torch.equal(node._saved_result, value) for value, node in kept)


def test_what_is_never_needed_is_given_up(offload, lent):
    with offload:
        for _ in range(40):
            x = big()
            unused = x.exp().sin() * x
            used = x.cos().sum()
            used.backward()
    del unused, used
    assert parcels(offload) == 0 and offload.pool.parcel_stats()["pinned_bytes"] == 0


def test_a_tensor_that_was_shown_keeps_what_it_shows(offload):
    with offload:
        results = [big(float(i)).exp() for i in range(60)]
    wanted = results[30].detach().clone()
    shown = results[30].grad_fn._saved_result
    part = shown[10:12]
    with pytest.raises(BufferError):
        offload.pool.close()
    del results, shown
    with offload:
        others = [big(float(i)).exp() for i in range(60)]
    assert torch.equal(part, wanted[10:12]) and len(others) == 60


@pytest.mark.parametrize("reentrant", [True, False])
def test_with_torchs_checkpoints(reentrant, offload, lent):
    from torch.utils.checkpoint import checkpoint

    model, x = model_of("perceptron")
    x = x.requires_grad_()
    wanted = gradients(model, x)

    class Checkpointed(nn.Module):
        def forward(self, x):
            for layer in model:
                x = checkpoint(layer, x, use_reentrant=reentrant)
            return x

        def parameters(self):
            return model.parameters()

    with offload:
        assert same(gradients(Checkpointed(), x), wanted)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")

        def offloaded(x):
            with offload:
                return model[0](x).exp()

        y = checkpoint(offloaded, x, use_reentrant=reentrant)
        y.sum().backward()
    assert parcels(offload) == 0


def test_contexts_nest_and_the_innermost_one_saves(offload, tmp_path):
    inner = reel.offload(pool=offload.pool, min_bytes="1K")
    other = reel.offload("8M", directory=tmp_path, min_bytes="1K")
    x = big()
    with offload, offload:
        with inner, other:
            kept = [x.exp()]
        assert parcels(other) == 1 and parcels(offload) == 0
        kept.append(x.sin())
    assert parcels(offload) == 1
    kept.append(x.cos())
    assert parcels(offload) == 1 and len(kept) == 3


def test_an_order_that_differs_is_read_ahead_too(offload, lent):
    def through(order):
        before = offload.pool.parcel_stats()
        with offload:
            results = [big(i / 100).exp() for i in range(100)]
        for i in order:
            results[i].sum().backward()
            results[i] = None
        after = offload.pool.parcel_stats()
        return after["announced"] - before["announced"]

    assert through(reversed(range(100))) >= 88  # of those that are held none is announced
    # Two jumps.
    assert through([*range(49, -1, -1), *range(99, 74, -1), *range(74, 49, -1)]) >= 80
    # From the first to the last: nothing is announced but by mistake, and all values are right.
    through(range(100))


def test_arguments():
    with pytest.raises(TypeError, match="budget or a pool"):
        reel.offload()
    with pytest.raises(TypeError, match="has its store"):
        reel.offload(pool=reel.Pool("8M"), directory="/tmp")
    with pytest.raises(ValueError):
        reel.offload("8M", min_bytes=-1)
    with pytest.raises(reel.StoreError):
        reel.offload("8M", directory="/nowhere")


def test_a_used_up_budget_is_an_exception_and_the_graph_stays(lent):
    offload = reel.offload("8M", min_bytes="1K")
    results = []
    with offload:
        with pytest.raises(RuntimeError if OLD else MemoryError, match="budget.*EDQUOT"):
            for i in range(100):
                results.append(big(i / 100).exp())
        assert len(results) > 10
        assert all(torch.equal(result.grad_fn._saved_result, result) for result in results)
    sum(result.sum() for result in results).backward()


def run_python(text, tmp_path, way=None, **options):
    if way:
        text = f"import reel._offload as way\nway._MAX_BATCH_BYTES, way._LENT_BYTES = {WAYS[way]}\n" + text
    text = f"import gc, os, signal, sys, time, torch, reel\ndirectory = {str(tmp_path)!r}\n" + text
    return subprocess.run([sys.executable, "-W", "ignore", "-c", text], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=300, **options)


def test_libreel_malloc_saves_the_page_faults_of_each_tensor(tmp_path):
    said = subprocess.run([sys.executable, "-m", "reel", "--malloc"], stdout=subprocess.PIPE, text=True).stdout.strip()
    if not os.path.isabs(said):
        pytest.skip("there is no libreel-malloc")
    faults, gradients = [], []
    for library in "", said:
        done = run_python("""
import resource
torch.set_num_threads(1)
x = torch.linspace(0, 1, 1 << 18).requires_grad_()
for _ in range(3):
    x.grad, before = None, resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    with reel.offload("16M", directory=directory) as offload:
        y = x
        for _ in range(64):
            y = y * y
        y.sum().backward()
assert offload.pool.stats()["written_bytes"] > 16 << 20
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before, x.grad.double().sum().item())
""", tmp_path, env={**os.environ, "LD_PRELOAD": library})
        seen = done.stdout.split()
        faults.append(int(seen[0]))
        gradients.append(seen[1])
    assert gradients[0] == gradients[1] and 10 * faults[1] < faults[0], faults


MANY = """
offload = reel.offload("8M", directory=directory, min_bytes="1K")
def big(value):
    return torch.full((256, 256), value, requires_grad=True) * 1
def save(n=100):
    with offload:
        return [big(i / 100).exp() for i in range(n)]
"""


@pytest.mark.parametrize("way", WAYS)
def test_resident_memory_is_within_the_budget_after_a_pass_without(way, tmp_path):
    """In that pass glibc has raised the size from which it maps blocks one by one."""
    done = run_python("""
def chain(n, x=torch.full((1 << 20,), 0.5, requires_grad=True)):
    for _ in range(n):
        x = torch.tanh(x)
    return x.sum()
def kilobytes(name):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith(name))
offload = reel.offload("64M", directory=directory)
chain(40).backward()
before = kilobytes("VmRSS")
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
with offload:
    chain(100).backward()
print((kilobytes("VmHWM") - before) >> 10)
""", tmp_path, way)
    assert done.returncode == 0 and int(done.stdout) <= 64 + 16, done.stdout


@pytest.mark.parametrize("way", WAYS)
def test_a_full_disk_is_an_exception_and_loses_nothing(way, tmp_path):
    done = run_python(MANY + """
results = []
try:
    with offload:
        for i in range(200):
            results.append(big(i / 100).exp())
except (OSError, RuntimeError) as error:
    print("refused", "EFBIG" in str(error))
print(len(results) > 20)
while results:
    result = results.pop()
    assert torch.equal(result.grad_fn._saved_result, result), len(results)
    result.sum().backward()
""", tmp_path, way, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8 << 20, 8 << 20)))
    assert done.returncode == 0 and done.stdout == "refused True\nTrue\n", done.stdout


@pytest.mark.parametrize("way", WAYS)
def test_an_interpreter_ends_while_graphs_are_alive(way, tmp_path):
    done = run_python(MANY + """
ends = ["", "del results", "os._exit(0)", "sys.exit(0)", "shown = results[3].grad_fn._saved_result",
        "results[0].grad_fn.metadata['shown'] = results[3].grad_fn._saved_result", "torch.shown = results.pop()"]
results = None
for end in ends:
    child = os.fork()
    if child == 0:
        offload = reel.offload("8M", directory=directory, min_bytes="1K")
        results = save()
        exec(end)
        break
    if os.waitpid(child, 0)[1] != 0:
        print("failed:", end)
""", tmp_path, way)
    assert done.returncode == 0 and done.stdout == ""
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("way", WAYS)
def test_a_child_has_what_is_in_memory_and_is_told_of_the_rest(way, tmp_path):
    done = run_python(MANY + """
results = save()
child = os.fork()
if child == 0:
    assert torch.equal(results[99].grad_fn._saved_result, results[99])
    try:
        results[0].grad_fn._saved_result
    except (reel.Error, RuntimeError) as error:
        print("ECHILD" in str(error), flush=True)
    del results
    gc.collect()
    own = reel.offload("8M", directory=directory, min_bytes="1K")
    with own:
        results = [big(i / 100).exp() for i in range(100)]
    sum(result.sum() for result in results).backward()
    print("child", flush=True)
    sys.exit(0)
print(os.waitpid(child, 0)[1])
for result in results:
    assert torch.equal(result.grad_fn._saved_result, result)
    result.sum().backward()
""", tmp_path, way, env={**os.environ, "OMP_NUM_THREADS": "1"})  # GNU's OpenMP hangs in a child of a parent with threads
    assert done.returncode == 0 and done.stdout == "True\nchild\n0\n", done.stdout


@pytest.mark.parametrize("way", WAYS)
def test_workers_of_a_data_loader(way, tmp_path):
    done = run_python(MANY + """
from torch.utils.data import DataLoader
data = torch.arange(64.0).repeat(256, 1).t().contiguous().requires_grad_(False)
model = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.Tanh()) for _ in range(4)])
with offload:
    results = save(40)
    for batch in DataLoader(list(data), batch_size=16, num_workers=2):
        model(batch).sum().backward()
    for result in results:
        result.sum().backward()
print("done")
""", tmp_path, way)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "done", done.stdout


@pytest.mark.parametrize("way", WAYS)
def test_ctrl_c_ends_a_pass_and_leaves_nothing(way, tmp_path):
    done = run_python(MANY + """
signal.signal(signal.SIGALRM, signal.default_int_handler)
for turn in range(20):
    try:
        # Python drops an exception that is raised in __del__: the signal comes again.
        signal.setitimer(signal.ITIMER_REAL, 0.003 * (turn + 1), 5)
        while True:
            for result in save():
                result.sum().backward()
    except (KeyboardInterrupt, RuntimeError) as error:
        assert "KeyboardInterrupt" in repr(error), error
signal.setitimer(signal.ITIMER_REAL, 0)
result = None
gc.collect()
print(offload.pool.parcel_stats()["parcels"], offload.pool.parcel_stats()["pinned_bytes"])
""", tmp_path, way)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == "0 0", done.stdout
    assert os.listdir(tmp_path) == []


def test_reel_does_not_import_torch_and_says_if_it_is_missing(tmp_path):
    text = "import sys\nsys.modules['torch'] = None\nimport reel\nreel.Pool('8M')\nreel.offload('8M')"
    done = subprocess.run([sys.executable, "-c", text], stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1 and "ImportError: reel.offload() needs PyTorch" in done.stderr
    text = "import sys, reel\nassert 'torch' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", text]).returncode == 0


class Streams:
    """Of the CPU, in the place of a device: copies are made at once, and end when they are waited for."""

    class Stream:
        def __init__(self, device=None):
            pass

        def synchronize(self):
            pass

        wait_event = wait_stream = lambda self, other: None

    class Event:
        def __init__(self, blocking=False):
            assert blocking, "a wait for another event keeps a processor busy"

        def record(self, stream):
            pass

        def query(self):
            return False

        def synchronize(self):
            pass

    current = Stream()
    stream = staticmethod(lambda stream: contextlib.nullcontext())
    current_stream = staticmethod(lambda device: Streams.current)
    is_current_stream_capturing = staticmethod(lambda: False)


def test_copies_of_a_device(monkeypatch, offload):
    """With each version of PyTorch. test_offload_device.py has the rest, for those with a fake device."""
    cpu = torch.device("cpu")
    monkeypatch.setitem(reel._device._devices, cpu, reel._device.Device(Streams, cpu))
    monkeypatch.setattr(reel._offload._Storage, "_copy",
                        lambda self, offload, *rest: reel._offload._Streamed(offload, self, *rest))
    monkeypatch.setattr(reel._offload._Saved, "_lend", lambda *_: False)
    monkeypatch.setattr(offload, "_pin", lambda device: None)
    model, x = model_of("perceptron")
    wanted = gradients(model, x)
    with offload:
        assert same(gradients(model, x), wanted)
        assert same(gradients(model, x), wanted)
    while reel._device.end_first_of_all():
        pass
    assert parcels(offload) == 0 and offload._arriving_bytes == 0


@pytest.mark.skipif(not OLD, reason="PyTorch is new enough")
def test_checkpoint_needs_a_newer_version():
    with pytest.raises(ImportError, match="needs PyTorch 2.4"):
        reel.checkpoint(nn.Sequential(nn.Tanh(), nn.Tanh()), "1M")
