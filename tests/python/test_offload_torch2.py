# SPDX-License-Identifier: MIT
"""reel.offload() under what changes how PyTorch runs or saves: compilers, classes that wrap tensors, checkpointing,
transforms of functions, autocast. Each part is skipped where the installed PyTorch lacks it."""

import contextlib
import functools
import importlib
import inspect
import os
import random
import shutil
import subprocess
import sys
import sysconfig

import pytest

import reel
from test_offload import (  # noqa: F401
    BIG, MODELS, StorageWeakRef, copied, copies, gradients, lent, model_of, offload, parcels, same, torch,
)

# Where a test does not say otherwise, tensors go to parcels at once.
pytestmark = pytest.mark.usefixtures("copied")

nn = torch.nn
NOTHING = contextlib.nullcontext()


def has(name):
    try:
        importlib.import_module(name)
    except ImportError:
        return False
    return True


def both(function, shapes, manager, dtype=torch.float32):
    """The gradients of a function by torch alone, and with the saved tensors in the hands of the manager."""
    found = []
    for context in NOTHING, manager:
        torch.manual_seed(3)
        leaves = [torch.randn(shape).to(dtype).requires_grad_() for shape in shapes]
        with context:
            loss = function(*leaves).float().square().sum()
        found.append(torch.autograd.grad(loss, leaves))
        del loss
    return found


# ---- Checkpoints ----

checkpointing = pytest.importorskip("torch.utils.checkpoint")


def block(x, w):
    return torch.dropout((x @ w).sin() * x, 0.25, True).tanh()


@pytest.mark.parametrize("reentrant", [True, False])
@pytest.mark.parametrize("where", ["around", "within", "both"])
def test_checkpoints_around_and_within(where, reentrant, offload):
    def inside(x, w):
        with offload if where != "around" and is_offloaded else NOTHING:
            return block(block(x, w), w)

    def function(x, w):
        for _ in range(3):
            x = checkpointing.checkpoint(inside, x, w, use_reentrant=reentrant)
        return x

    found = []
    for is_offloaded in False, True:
        torch.manual_seed(3)
        leaves = [torch.randn(BIG).requires_grad_(), (torch.randn(BIG) / 16).requires_grad_()]
        with offload if is_offloaded and where != "within" else NOTHING:
            loss = function(leaves[0] * 1, leaves[1]).square().sum()
            if where == "both":
                loss.backward()
        if where != "both":
            loss.backward()
        found.append([leaf.grad for leaf in leaves])
        del loss
    assert same(*found) and parcels(offload) == 0


@pytest.mark.skipif(not hasattr(checkpointing, "create_selective_checkpoint_contexts"),
                    reason="torch has no selective checkpointing")
@pytest.mark.parametrize("options", [{}, {"respect_saved_tensors_hooks": True}, {"respect_saved_tensors_hooks": False}], ids=str)
def test_selective_checkpoints(options, offload):
    if not set(options) <= set(inspect.signature(checkpointing.checkpoint).parameters) | set(checkpointing.checkpoint.__doc__.split()):
        pytest.skip("torch has no such option")
    options["context_fn"] = functools.partial(checkpointing.create_selective_checkpoint_contexts, [torch.ops.aten.mm.default])

    def function(x, w):
        for _ in range(3):
            x = checkpointing.checkpoint(block, x, w, use_reentrant=False, **options)
        counts.append(parcels(offload))
        return x

    counts = []
    assert same(*both(lambda x, w: function(x * 1, w / 16), [BIG, BIG], offload))
    assert parcels(offload) == 0 and counts[0] == 0 and counts[1] >= (6 if options.get("respect_saved_tensors_hooks") else 3), counts


# ---- Gradients of gradients, transforms of functions ----

@pytest.mark.parametrize("name", ["perceptron", "attention"])
def test_a_penalty_on_the_gradient(name, offload):
    model, x = model_of(name)
    found = []
    for manager in NOTHING, offload:
        torch.manual_seed(3)
        leaf = x.clone().requires_grad_()
        model.zero_grad()
        with manager:
            first, = torch.autograd.grad(model(leaf).square().mean(), leaf, create_graph=True)
            (first.square().sum() + model(leaf).square().mean()).backward()
        found.append([leaf.grad] + [parameter.grad.clone() for parameter in model.parameters()])
    assert same(*found)
    del first
    assert parcels(offload) == 0


def transforms():
    func = pytest.importorskip("torch.func")

    def f(x, w):
        return (x * w).sin().square().exp().mean()

    def forward(x, w):
        return func.jvp(lambda w: f(x, w), (w,), (torch.ones_like(w),))[1]

    return {
        "grad": lambda x, w: func.grad(f, 1)(x, w).sum(),
        "vjp": lambda x, w: func.vjp(lambda w: f(x, w), w)[1](torch.ones(()))[0].sum(),
        "jacrev": lambda x, w: func.jacrev(lambda w: (x[:8, :8] * w).sin().square().mean(0))(w[:8, :8]).sum(),
        "hessian": lambda x, w: func.hessian(lambda w: f(x[:2, :4], w))(w[:2, :4]).sum(),
        "vmap_grad": lambda x, w: func.vmap(func.grad(f), (0, None))(x, w[0]).sum(),
        "functionalize": lambda x, w: func.functionalize(f)(x, w),
        "jvp": forward,
        "jacfwd": lambda x, w: func.jacfwd(lambda w: (x[:8, :8] * w).sin().square().mean(0))(w[:8, :8]).sum(),
        "vmap": lambda x, w: func.vmap(lambda row: f(row, w[0]))(x * 1).sum(),
        "vmap_of_rows": lambda x, w: func.vmap(lambda row: (row.exp() * row).sin(), 1)(x * w).sum(),
    }


REFUSED = {"grad", "vjp", "jacrev", "hessian", "vmap_grad"}


@pytest.mark.parametrize("name", ["grad", "vjp", "jacrev", "hessian", "vmap_grad", "functionalize", "jvp", "jacfwd", "vmap",
                                  "vmap_of_rows"])
def test_transforms_of_functions_are_right_or_refused(name, offload):
    function = transforms()[name]
    try:
        found = both(function, [BIG, BIG], offload)
    except RuntimeError as error:
        assert name in REFUSED and "saved tensor hooks" in str(error), error
    else:
        assert same(*found), name
    assert parcels(offload) == 0
    # The hooks are as they were.
    assert same(*both(lambda x, w: (x * w).exp().sin(), [BIG, BIG], offload))


def test_a_transform_around_the_offload_is_right_or_refused(offload):
    func = pytest.importorskip("torch.func")

    def f(x, manager):
        with manager:
            return (x * 1).sin().exp().mul(x).sum()

    x = torch.randn(BIG)
    wanted = func.grad(lambda x: f(x, NOTHING))(x)
    try:
        assert torch.equal(func.grad(lambda x: f(x, offload))(x), wanted)
    except RuntimeError as error:
        assert "saved tensor hooks" in str(error), error
    rows = func.vmap(lambda row: f(row, offload))(x)
    assert torch.equal(rows, func.vmap(lambda row: f(row, NOTHING))(x))


def test_dual_numbers(offload):
    forward = pytest.importorskip("torch.autograd.forward_ad")

    def function(x, w):
        with forward.dual_level():
            dual = forward.make_dual(x * 1, torch.ones(BIG))
            y = forward.unpack_dual((dual * w).sin().exp())
            return y.primal + y.tangent

    assert same(*both(function, [BIG, BIG], offload))
    assert parcels(offload) == 0


@pytest.mark.skipif(not hasattr(torch, "set_default_device"), reason="torch has no default device")
def test_another_default_device(offload, lent):
    x = torch.randn(16, 16, requires_grad=True)
    with offload:
        y = (x * 1).sin()
        torch.ones((), requires_grad=True).exp()
        with torch.device("meta"):
            saved = y.grad_fn._saved_self
    assert torch.equal(saved, x)


# ---- Types ----

@pytest.mark.parametrize("name", MODELS)
def test_autocast(name, offload):
    model, x = model_of(name)
    x = x[:16]

    def all_gradients(manager):
        torch.manual_seed(2)
        model.zero_grad()
        with manager:
            with torch.autocast("cpu", torch.bfloat16):
                y = model(x)
            y.float().square().mean().backward()
        return [parameter.grad.clone() for parameter in model.parameters()]

    wanted = all_gradients(NOTHING)
    for _ in range(2):
        assert same(all_gradients(offload), wanted)
    assert parcels(offload) == 0


@pytest.mark.parametrize("dtype", [
    "uint8", "int8", "int16", "int64", "uint16", "uint32", "uint64", "bool", "float16", "bfloat16", "complex32", "complex64",
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e8m0fnu", "float4_e2m1fn_x2"])
def test_a_tensor_of_any_type_comes_back(dtype, tmp_path):
    dtype = getattr(torch, dtype, None)
    if dtype is None:
        pytest.skip("torch has no such type")
    bits = torch.randint(0, 2 if dtype is torch.bool else 256, (1024, 64), dtype=torch.uint8)
    wanted = bits.view(dtype)

    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, other):
            ctx.save_for_backward(other)
            return x * 2

        @staticmethod
        def backward(ctx, y_bar):
            seen, = ctx.saved_tensors
            assert seen.dtype is dtype and torch.equal(seen.view(torch.uint8), bits)
            return y_bar * 2, None

    x = torch.ones(3, requires_grad=True)
    with reel.offload("8M", directory=tmp_path, min_bytes=1) as offload:
        y = Keep.apply(x, wanted.clone())
        assert parcels(offload) == 1
    y.sum().backward()
    assert torch.equal(x.grad, torch.full((3,), 2.0))


# ---- Classes that wrap tensors ----

def has_distributed():
    return torch.distributed.is_available() and has("torch.distributed.device_mesh") and \
        hasattr(importlib.import_module("torch.distributed.fsdp"), "fully_shard") and torch.distributed.is_gloo_available()


class Layer(nn.Module):
    def __init__(self, width=128):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return x + self.down(torch.nn.functional.gelu(self.up(self.norm(x))))


def local(tensor):
    return tensor.to_local() if hasattr(tensor, "to_local") else tensor


def gradients_of_ranks(model, x, manager):
    """Two steps: the second one has gradients to add to."""
    model.zero_grad()
    with manager:
        for _ in range(2):
            local(model(x)).square().mean().backward()
    return [local(parameter.grad).clone() for parameter in model.parameters()]


def by_shards(mesh, make):
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    for policy in {}, {"mp_policy": MixedPrecisionPolicy(torch.bfloat16, torch.float32)}, {"reshard_after_forward": False}:
        model = make()
        for layer in model:
            fully_shard(layer, mesh=mesh, **policy)
        yield "FSDP2 " + str(policy), fully_shard(model, mesh=mesh, **policy)
    yield "DDP", nn.parallel.DistributedDataParallel(make())


def by_tensors(mesh, make):
    from torch.distributed.tensor import Shard
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, SequenceParallel, parallelize_module

    plans = {
        "tensor parallel": lambda: {"up": ColwiseParallel(), "down": RowwiseParallel()},
        "sequence parallel": lambda: {
            "norm": SequenceParallel(), "up": ColwiseParallel(input_layouts=Shard(1), use_local_output=False),
            "down": RowwiseParallel(output_layouts=Shard(1))},
    }
    for name, plan in plans.items():
        yield name, nn.Sequential(*(parallelize_module(layer, mesh, plan()) for layer in make()))


def in_ranks(rank, directory):
    """What the two processes run."""
    from torch.distributed.device_mesh import init_device_mesh

    torch.set_num_threads(1)
    torch.distributed.init_process_group("gloo", init_method=f"file://{directory}/ranks", rank=rank, world_size=2)
    mesh = init_device_mesh("cpu", (2,))

    def make():
        torch.manual_seed(1)
        return nn.Sequential(*(Layer() for _ in range(3)))

    x = torch.randn(4, 64, 128, generator=torch.Generator().manual_seed(2))
    for name, model in [*by_shards(mesh, make), *by_tensors(mesh, make)]:
        wanted = gradients_of_ranks(model, x, NOTHING)
        offload = reel.offload(pool=reel.Pool("2M", directory=directory, slab="64K"), min_bytes="1K")
        for _ in range(2):
            assert same(gradients_of_ranks(model, x, offload), wanted), name
        assert offload.pool.stats()["written_bytes"] > 0, name
        assert parcels(offload) == 0 and offload.outside_bytes == 0, name
    by_operations(mesh, directory)
    torch.distributed.destroy_process_group()


def by_operations(mesh, directory):
    """Of distributed tensors: what goes to parcels, what comes back, and changes in place."""
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    reel._offload._LENT_BYTES = 1 << 40  # each goes to a parcel at once
    offload = reel.offload("8M", directory=directory, min_bytes="1K")
    whole = torch.randn(BIG)
    found = []
    for manager in NOTHING, offload:
        x = distribute_tensor(whole, mesh, [Shard(0)]).requires_grad_()
        with manager:
            y = x.exp()
            z = (y.t() @ y).redistribute(mesh, [Replicate()]).sin().sum()
            count = copies(offload)
        z.backward()
        found.append([x.grad.to_local()])
        assert (count > 1) == (manager is offload)
    assert same(*found)
    with offload:
        x = distribute_tensor(whole, mesh, [Shard(0)]).requires_grad_() * 1
        reference, y = StorageWeakRef(x.to_local().untyped_storage()), x.sin()
        del x
        assert copies(offload) == 1 and reference.expired()
        y = distribute_tensor(whole, mesh, [Shard(0)]).requires_grad_().exp()
        z = y.sum()
        assert copies(offload) == 1
        seen = y.grad_fn._saved_result
        assert type(seen) is type(y) and seen.placements == y.placements and torch.equal(seen.to_local(), y.to_local())
        with torch.no_grad():
            y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.backward()


@pytest.mark.skipif(not has_distributed(), reason="torch has no distributed tensors on the CPU")
def test_distributed_tensors_of_two_processes(tmp_path, monkeypatch):
    monkeypatch.setenv("GLOO_SOCKET_IFNAME", "lo")
    torch.multiprocessing.spawn(in_ranks, (str(tmp_path),), 2)


def jagged(*lengths):
    return torch.nested.nested_tensor([torch.randn(n, 64) for n in lengths], layout=torch.jagged)


@pytest.mark.skipif(not hasattr(torch, "jagged"), reason="torch has no jagged layout")
@pytest.mark.parametrize("operation", [
    lambda n, w: n.exp() * n, lambda n, w: (n @ w).sin(), lambda n, w: torch.nn.functional.layer_norm(n, (64,)).softmax(-1),
    lambda n, w: n.transpose(1, 2).sin(), lambda n, w: torch.nn.functional.linear(n.sin(), w).cos() + n,
])
def test_jagged_tensors(operation, offload):
    found, counts = [], []
    for manager in NOTHING, offload:
        torch.manual_seed(3)
        n, w = jagged(7, 300, 20).requires_grad_(), torch.randn(64, 64, requires_grad=True)
        with manager:
            y = operation(n * 1, w)
            counts.append(parcels(offload))
            assert manager is NOTHING or offload.outside_bytes < 1000
        loss = y.values().square().sum()
        found.append([x.values() if x is not None and x.is_nested else x
                      for x in torch.autograd.grad(loss, (n, w), allow_unused=True)])
        del y, loss
    assert counts[0] == 0 < counts[1]
    assert all(a is b if a is None else torch.equal(a, b) for a, b in zip(*found)) and parcels(offload) == 0


# ---- Compiled code ----

def can_compile(backend):
    if not hasattr(torch, "compile"):
        return False
    include = os.path.join(sysconfig.get_paths()["include"], "Python.h")
    return backend != "inductor" or (shutil.which("g++") is not None and os.path.exists(include))


def compiled(function, backend, **options):
    torch._dynamo.reset()
    return torch.compile(function, backend=backend, **options)


BACKENDS = [pytest.param(name, marks=pytest.mark.skipif(not can_compile(name), reason=f"torch cannot compile by {name}"))
            for name in ("aot_eager", "inductor")]


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_compiled_code_saves_goes_to_parcels(backend, offload):
    def chain(x, w):
        for _ in range(4):
            x = (x @ w).sin() * x
        return x

    function = compiled(chain, backend)
    found = []
    for manager in NOTHING, offload, offload:
        torch.manual_seed(3)
        x, w = torch.randn(BIG, requires_grad=True), (torch.randn(BIG) / 16).requires_grad_()
        with manager:
            y = function(function(x * 1, w), w)
            count = parcels(offload)
        y.square().sum().backward()
        found.append((x.grad, w.grad))
    assert same(found[1], found[0]) and same(found[2], found[0]) and count > 1
    del y
    assert parcels(offload) == 0 and offload.pool.stats()["written_bytes"] > 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_gradient_that_compiled_code_makes_of_what_it_saved_is_no_parcel(backend, offload):
    function = compiled(lambda x, w, b: (x @ w + b).tanh() * 2, backend)
    x, w, b = torch.randn(BIG, requires_grad=True), torch.randn(BIG), torch.randn(BIG, requires_grad=True)
    with offload:
        loss = function(x * 1, w, b).sum()
        assert parcels(offload) > 0
    loss.backward()
    assert parcels(offload) == 0 and offload.pool.parcel_stats()["pinned_bytes"] == 0 and b.grad is not None


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_compiled_model_and_its_weights(backend, offload, lent):
    model, x = model_of("attention")
    model = nn.Sequential(*(compiled(layer, backend) for layer in model))
    wanted = gradients(model, x)
    with offload:
        assert same(gradients(model, x), wanted)
    assert parcels(offload) == 0 and offload.outside_bytes == 0


def test_a_compiled_backward_pass_has_all_tensors_at_once(tmp_path):
    autograd = pytest.importorskip("torch._dynamo.compiled_autograd")
    model, x = model_of("perceptron")
    model = model[:6]
    wanted = gradients(model, x)

    def compiled_gradients(budget):
        offload = reel.offload(pool=reel.Pool(budget, directory=tmp_path, slab="64K"), min_bytes="1K")
        torch.manual_seed(2)
        model.zero_grad()
        with offload:
            loss = model(x).float().square().mean()
        with autograd._enable(compiled(None, "aot_eager")):
            loss.backward()
        return [parameter.grad for parameter in model.parameters()]

    assert all(torch.allclose(a, b, 1e-4, 1e-6) for a, b in zip(compiled_gradients("64M"), wanted))
    with pytest.raises(MemoryError, match="EDQUOT"):
        compiled_gradients("1M")


@pytest.mark.parametrize("backend", BACKENDS)
def test_an_offload_within_compiled_code_is_right(backend, offload):
    def function(x, w):
        with offload if is_offloaded else NOTHING:
            y = (x @ w).sin() * x
        return y.exp().tanh()

    found = []
    for is_offloaded in False, True:
        call = compiled(function, backend)
        torch.manual_seed(3)
        x, w = torch.randn(BIG, requires_grad=True), (torch.randn(BIG) / 16).requires_grad_()
        call(x * 1, w).square().sum().backward()
        found.append((x.grad, w.grad))
    # Not to the bit: torch compiles other graphs, with a break at the `with`.
    assert all(torch.allclose(a, b, 1e-4, 1e-4) for a, b in zip(*found)) and parcels(offload) == 0


@pytest.mark.parametrize("backend", BACKENDS)
def test_compiled_code_in_a_checkpoint_and_with_one(backend, offload, lent):
    call = compiled(block, backend)
    whole = torch.compile(lambda x, w: checkpointing.checkpoint(block, x, w, use_reentrant=False).sin(), backend=backend)

    def function(x, w):
        x = checkpointing.checkpoint(call, x * 1, w / 16, use_reentrant=False)
        return whole(x, w) * x

    assert same(*both(function, [BIG, BIG], offload))
    assert parcels(offload) == 0


# ---- Graphs at random ----

def random_step(choice, values, weights):
    """One more value of the graph, from those that are there; all are of one shape."""
    x, y, w = choice.choice(values), choice.choice(values), choice.choice(weights)
    n = x.shape[0]
    half = n // 2
    operations = [
        lambda: x @ w, lambda: x.t() @ w / 8, lambda: x * y, lambda: x.sin(), lambda: (x.abs() + 0.1).sqrt(),
        lambda: torch.cat([x[:half], y[half:]]), lambda: x.softmax(-1) * y, lambda: x.mul(1).relu_(),
        lambda: torch.nn.functional.rrelu(x, training=True), lambda: torch.nn.functional.rrelu_(x * 1, training=True),
        lambda: torch.nn.functional.leaky_relu_(x * y), lambda: torch.dropout(x, 0.3, True),
        lambda: torch.nn.functional.layer_norm(x, (n,), w[0]), lambda: x[:, :1].expand(n, n) * y,
        lambda: x[3:4].expand(n, n).exp().tanh() + y, lambda: torch.where(x > 0, x, y * x), lambda: x.cumsum(0) / n,
        lambda: (x * 1).index_add_(0, torch.arange(0, n, 2), y[::2]), lambda: x.clone().mul_(y).add_(w).tanh_(),
        lambda: torch.addmm(y, x, w, alpha=0.1), lambda: x.to(torch.bfloat16).exp().tanh().to(x.dtype),
        lambda: x.view(-1).flip(0).view(n, n) * x, lambda: torch.nn.functional.gelu(x) + y, lambda: torch.maximum(x, y),
        lambda: torch.complex(x, y).mul(torch.complex(y, x)).abs(), lambda: torch.nn.functional.logsigmoid(x) * y,
        lambda: checkpointing.checkpoint(block, x * 1, w, use_reentrant=choice.random() < 0.5),
        lambda: torch.nn.functional.batch_norm(x, torch.zeros(n), torch.ones(n), training=True),
        lambda: torch.nn.functional.max_pool1d(x[None], 3, 1, 1)[0],
    ]
    return choice.choice(operations)()


@pytest.mark.parametrize("seed", range(int(os.environ.get("TEST_SEEDS", 12))))
def test_graphs_at_random_are_those_of_torch_to_the_bit(seed, tmp_path, lent):
    found = []
    for is_offloaded in False, True:
        choice = random.Random(seed)
        offload = reel.offload(pool=reel.Pool(choice.choice(["1M", "4M"]), directory=tmp_path, slab="64K"),
                               min_bytes=choice.choice([1, "4K"]))
        torch.manual_seed(seed)
        weights = [(torch.randn(64, 64) / 8).requires_grad_() for _ in range(3)]
        values = [torch.randn(64, 64), torch.randn(64, 64).requires_grad_() * 1]
        with contextlib.ExitStack() as stack:
            for _ in range(choice.randrange(5, 40)):
                if choice.random() < 0.2:
                    stack.pop_all().close() if choice.random() < 0.5 else None
                    stack.enter_context(offload if is_offloaded else NOTHING)
                values.append(random_step(choice, values[-6:], weights))
        loss = sum(value.mean() for value in values[-5:]) + weights[0].mean()
        for again in [True] * choice.randrange(2) + [False]:
            loss.backward(retain_graph=again)
        found.append([weight.grad for weight in weights])
        del loss, values
    assert len(found[0]) == len(found[1]) and all(
        a is b if a is None else torch.equal(a.isnan(), b.isnan()) and torch.equal(a.nan_to_num(), b.nan_to_num())
        for a, b in zip(*found))
    assert parcels(offload) == 0
