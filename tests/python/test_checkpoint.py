# SPDX-License-Identifier: MIT
"""reel.checkpoint(): gradients are those of the model alone, and memory stays within the budget."""

import copy
import functools
import itertools
import os
import pickle
import random

import numpy as np
import pytest

import reel

torch = pytest.importorskip("torch")
nn = torch.nn
from test_offload import Attention, copied, gradients, model_of, offload, same  # noqa: E402, F401

if not hasattr(nn.Module, "compile"):
    pytest.skip("reel.checkpoint() needs a newer PyTorch", allow_module_level=True)
import reel._checkpoint  # noqa: E402

KINDS = [reel._checkpoint.KEEP, reel._checkpoint.OFFLOAD, reel._checkpoint.AGAIN, reel._checkpoint.AGAIN_OFFLOAD]
WIDTH = 64


class Tall(nn.Module):
    """Saves several times its input."""

    def __init__(self, factor):
        super().__init__()
        self.up, self.down = nn.Linear(WIDTH, factor * WIDTH), nn.Linear(factor * WIDTH, WIDTH)

    def forward(self, x):
        return self.down(nn.functional.gelu(self.up(x)))


class Shift(nn.Module):
    """Writes to its argument."""

    def forward(self, x):
        return x.mul_(0.5).sin()


class Pair(nn.Module):
    """Has arguments of several kinds, and two results."""

    def forward(self, x, *, scale=(1.0, None), parts=None):
        parts["first"] = x * scale[0]
        return parts["first"].tanh(), x.exp().clamp(max=3)


class Normed(nn.Module):
    """Has buffers that it changes, and of which its result depends."""

    def __init__(self):
        super().__init__()
        self.norm, self.linear = nn.BatchNorm1d(WIDTH), nn.utils.spectral_norm(nn.Linear(WIDTH, WIDTH))

    def forward(self, x):
        return self.linear(self.norm(x.flatten(0, 1)).view_as(x))


class Recurrent(nn.Module):
    """Has a module that holds references to its parameters."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, 8, batch_first=True)

    def forward(self, x):
        return x + nn.functional.pad(self.lstm(x)[0], (0, WIDTH - 8))


class Tied(nn.Module):
    """Has one parameter under two names."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x).relu_())


class Drawn(Tall):
    """Draws random numbers of which torch's own checkpoint keeps no state."""

    def __init__(self, factor):
        super().__init__(factor)
        self.generator = torch.Generator()

    def forward(self, x):
        drawn = torch.rand((), generator=self.generator)
        return super().forward(x * drawn + random.random()).mul(np.random.rand()).sin()


class Tower(nn.Module):
    """Calls its blocks in a loop of its own, some of them twice."""

    def __init__(self, blocks, twice):
        super().__init__()
        self.blocks, self.twice = nn.ModuleList(blocks), twice
        self.bias = nn.Parameter(torch.zeros(WIDTH))

    def forward(self, x):
        x = x + self.bias
        for number, block in enumerate(self.blocks):
            for _ in range(2 if number in self.twice else 1):
                if isinstance(block, Pair):
                    a, b = block(x, scale=(2.0, None), parts={})
                    x = a + b
                else:
                    x = x + block(x) if number % 3 == 0 else block(x)
        return x


MAKERS = [lambda draw: Tall(draw.choice([1, 2, 4])), lambda draw: Attention(WIDTH), lambda draw: Shift(),
          lambda draw: Pair(), lambda draw: Normed(), lambda draw: nn.Dropout(0.2), lambda draw: nn.LayerNorm(WIDTH),
          lambda draw: nn.Linear(WIDTH, WIDTH), lambda draw: Recurrent(), lambda draw: Tied()]


def tower(seed):
    draw = random.Random(seed)
    torch.manual_seed(seed)
    blocks = [draw.choice(MAKERS)(draw) for _ in range(draw.randint(2, 12))]
    model = Tower(blocks, draw.sample(range(len(blocks)), draw.choice([0, 0, 1])))
    return model, torch.randn(draw.choice([16, 32, 48]), draw.choice([32, 64]), WIDTH)


def states(model):
    return [buffer.clone() for buffer in model.buffers()]


def peak_of(step):
    """The largest number of bytes that torch's allocator has given out in a step."""
    with torch.autograd.profiler.profile(profile_memory=True) as profile:
        step()
    memory = sorted((event.start_ns(), event.nbytes()) for event in profile.kineto_results.events()
                    if event.name() == "[memory]")
    return max(itertools.accumulate(nbytes for _, nbytes in memory))


def run(model, x):
    """A step, after which gradients of parameters have their memory."""
    torch.manual_seed(2)
    model.zero_grad(set_to_none=False)
    model(x).sum().backward()


class Clock:
    """Blocks take random times, so that all choices are made, and the same ones in each run."""

    def __init__(self, draw):
        self.draw, self.now = draw, 0.0

    def perf_counter(self):
        self.now += self.draw.choice([1e-4, 1e-2, 1.0])
        return self.now


def check_tower(seed, directory, seen, monkeypatch):
    plain, x = tower(seed)
    model = copy.deepcopy(plain)
    wanted = [(gradients(plain, x), states(plain)) for _ in range(3)]
    whole = peak_of(lambda: run(plain, x))
    draw = random.Random(seed)
    bandwidth = draw.choice([1e5, 1e7, 1e9, 1e12])
    monkeypatch.setattr(reel._checkpoint, "_measure", lambda place: (bandwidth, bandwidth))
    monkeypatch.setattr(reel._checkpoint, "time", Clock(draw))
    budget = int(whole * draw.uniform(0.4, 1.5)) + (2 << 20)
    chosen = reel.checkpoint(model, budget, directory=directory if draw.random() < 0.7 else None)
    try:
        found = [(gradients(model, x), states(model)) for _ in range(3)]
    except MemoryError as error:
        assert "no plan fits" in str(error) or "needs" in str(error)
        return False
    for step, ((these, buffers), (those, other_buffers)) in enumerate(zip(found, wanted)):
        assert same(these, those) and same(buffers, other_buffers), (seed, step, str(chosen))
    peak, pool = peak_of(lambda: run(model, x)), chosen._offload and chosen._offload.pool
    assert peak <= budget, (seed, peak, budget, whole, str(chosen))
    if pool:
        assert pool.stats()["peak_resident_bytes"] <= budget // 4
    seen.update(chosen.choices)
    return True


def test_random_models(tmp_path, monkeypatch):
    seen, count = set(), 1000 if os.environ.get("TEST_LONG") else 30
    planned = sum(check_tower(seed, tmp_path, seen, monkeypatch) for seed in range(count))
    assert planned > count / 3 and seen == set(KINDS)


def chain(*blocks):
    torch.manual_seed(1)
    return nn.Sequential(*blocks), torch.randn(16, 64, WIDTH)


def talls(count=6):
    return chain(*(Tall(4) for _ in range(count)))


@pytest.fixture
def fast(monkeypatch):
    """The store is as fast as memory."""
    monkeypatch.setattr(reel._checkpoint, "_measure", lambda place: (1e12, 1e12))


def test_a_larger_batch_is_tried_anew():
    model, x = talls()
    wanted = gradients(copy.deepcopy(model), torch.cat([x, x]))
    chosen = reel.checkpoint(model, "20M")
    gradients(model, x)
    assert chosen.choices == [reel._checkpoint.KEEP] * 6
    small = chosen.blocks
    assert same(gradients(model, torch.cat([x, x])), wanted)
    assert all(new.inputs == 2 * old.inputs for new, old in zip(chosen.blocks, small))
    assert reel._checkpoint.AGAIN in chosen.choices
    peak = peak_of(lambda: run(model, torch.cat([x, x])))
    assert peak <= 20 << 20
    blocks = chosen.blocks
    gradients(model, x)
    assert chosen.blocks == blocks, "a smaller batch has the same plan"


def test_random_numbers_are_drawn_once():
    def seeded(model):
        random.seed(1)
        np.random.seed(1)
        for block in model:
            block.generator.manual_seed(1)
        found = gradients(model, x)
        return found + [torch.rand((), generator=model[0].generator), torch.tensor([random.random(), np.random.rand()])]

    model, x = chain(*(Drawn(4) for _ in range(6)))
    wanted = seeded(model)
    chosen = reel.checkpoint(model, "8M")
    assert same(seeded(model), wanted) and same(seeded(model), wanted)
    assert reel._checkpoint.AGAIN in chosen.choices


class Halving(nn.Module):
    """Each block writes to its first argument, and reads the second one."""

    class Half(Tall):
        def forward(self, x, other):
            return super().forward(x.mul_(0.5)) + other.view_as(x).sin()

    def __init__(self, view):
        super().__init__()
        self.blocks, self.view = nn.ModuleList(self.Half(4) for _ in range(4)), view

    def forward(self, x):
        for block in self.blocks:
            x = x * 1
            x = block(x, self.view(x))
        return x


@pytest.mark.parametrize("directory", [False, True])
def test_an_argument_that_stands_there_twice_is_one_tensor_when_a_block_runs_again(directory, tmp_path, fast):
    (model, x), place = chain(Halving(lambda x: x)), {"directory": tmp_path} if directory else {}
    wanted = gradients(model, x)
    chosen = reel.checkpoint(model, "12M", **place)
    assert same(gradients(model, x), wanted) and same(gradients(model, x), wanted)
    assert chosen.plan is not None
    other, x = chain(Halving(lambda x: x.view(-1)))
    reel.checkpoint(other, "12M", **place)
    with pytest.raises(TypeError, match=r"block 0 \(Half\) again, which writes .* two are views of the same memory"):
        other(x)


def test_a_block_whose_last_operation_writes_to_what_it_has_saved():
    model, x = chain(*(nn.Sequential(Tall(4), nn.RReLU()) if i % 2 else Tall(4) for i in range(6)))
    wanted = gradients(model, x)
    chosen = reel.checkpoint(model, "8M")
    assert same(gradients(model, x), wanted) and same(gradients(model, x), wanted)
    assert [block.ends_late for block in chosen.blocks] == [False, True] * 3 and reel._checkpoint.AGAIN in chosen.choices


def test_calls_without_gradients_change_nothing():
    model, x = talls()
    chosen = reel.checkpoint(model, "64M")
    with torch.no_grad():
        model(x)
    assert chosen.plan is None and "has not ended" in str(chosen)
    model.eval()
    gradients(model, x)
    assert chosen.plan.steps == 6 and str(chosen) == "6 blocks: 6 keep"


def test_copies_share_the_plan_and_files_do_not(tmp_path, fast):
    model, x = talls()
    chosen = reel.checkpoint(model, "16M", directory=tmp_path)
    wanted = gradients(model, x)
    other = copy.deepcopy(model)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert same(gradients(other, x), wanted), "a copy has its own parameters"
    assert len(set(chosen.choices)) > 1
    with pytest.raises(TypeError, match=r"reel.checkpoint\(\) returned cannot be pickled"):
        pickle.dumps(model)


def test_remove():
    model, x = talls()
    chosen = reel.checkpoint(model, "20M")
    with pytest.raises(ValueError, match="has this Tall already"):
        reel.checkpoint(model, "20M")
    chosen.remove()
    gradients(model, x)
    assert chosen.plan is None and not any("forward" in block.__dict__ for block in model)
    own = model[1].forward = functools.partial(Tall.forward, model[1])
    reel.checkpoint(model, "20M").remove()
    assert model[1].forward is own


def test_blocks_that_are_named():
    model, x = talls(2)
    chosen = reel.checkpoint(model, "64M", blocks=[model[0].up, model[1]])
    gradients(model, x)
    assert len(chosen.blocks) == 2
    with pytest.raises(ValueError, match="Linear, is a part of another block"):
        reel.checkpoint(talls()[0], "1M", blocks=[model[1].up, model[1]])
    with pytest.raises(ValueError, match="no list of blocks"):
        reel.checkpoint(Tall(2), "1M")


def test_an_argument_that_may_change_is_refused():
    class Cache:
        pass

    class Cached(Tall):
        def forward(self, x, cache):
            return super().forward(x)

    model = Tower([Tall(2), Cached(2)], [])
    model.forward = lambda x: model.blocks[1](model.blocks[0](x), Cache())
    reel.checkpoint(model, "20M")
    with pytest.raises(TypeError, match=r"cannot run block 1 \(Cached\) again, which takes a Cache: .*use_cache=False"):
        model(torch.ones(4, WIDTH))


class Fading(nn.Module):
    """Has another factor in each run."""

    def __init__(self, change):
        super().__init__()
        self.factor, self.weight, self.draws = 1.0, nn.Parameter(torch.ones(WIDTH)), [torch.Generator()]
        self.change = change

    def forward(self, x):
        self.change(self)
        return torch.sin(x * self.weight) * self.factor


def fade(block):
    block.factor *= -1


def shrink(block):
    with torch.no_grad():
        block.weight.mul_(0.9)


def draw(block):
    block.factor = float(torch.rand((), generator=block.draws[0]))


@pytest.mark.parametrize("change", [fade, shrink, draw])
def test_a_block_that_is_another_one_in_each_run_is_refused(change):
    model, x = chain(Tall(4), Fading(change), Tall(4))
    reel.checkpoint(model, "8M")
    with pytest.raises(RuntimeError, match=r"cannot run block 1 \(Fading\) again: two runs of it had different results"):
        gradients(model, x)
    model, x = chain(Tall(4), Fading(lambda block: setattr(block, "calls", block.factor)), Tall(4))
    wanted = gradients(model, x)
    reel.checkpoint(model, "8M")
    assert same(gradients(model, x), wanted)


def test_too_small_budgets(tmp_path, fast):
    model, x = talls()
    reel.checkpoint(model, "1M")
    with pytest.raises(MemoryError, match="with a budget of 1048576 bytes.*step 0 alone takes"):
        model(x)
    model, x = talls()
    reel.checkpoint(model, "4M", directory=tmp_path)
    with pytest.raises(MemoryError, match=r"block 0 \(Tall\) needs 1048576 bytes from the pool at once.* to 8388608"):
        model(x)


def test_an_exception_in_the_model():
    class Failing(nn.Module):
        fails = True

        def forward(self, x):
            if self.fails:
                raise KeyError("once")
            return x

    model, x = chain(Tall(2), Failing(), Tall(2))
    chosen = reel.checkpoint(model, "64M")
    with pytest.raises(KeyError):
        model(x)
    assert chosen.plan is None
    model[1].fails = False
    gradients(model, x)
    assert chosen.plan.steps == 3


def hooks_left():
    return torch._C._autograd._top_saved_tensors_default_hooks(True) is not None


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt], ids=str)
@pytest.mark.parametrize("place", ["before", "within", "after"])
@pytest.mark.parametrize("kind", ["offload", "checkpoint"])
def test_a_call_of_a_model_that_fails_leaves_no_hooks_for_the_next_one(kind, place, error, offload):
    def fail(*_):
        raise error

    model, x = model_of("perceptron")
    wanted = gradients(model, x)
    if place == "before":
        handle = model.register_forward_pre_hook(fail)
    chosen = reel.checkpoint(model, "8M", store="memory=64M") if kind == "checkpoint" else offload.attach(model)
    if place != "before":
        handle = (model[4] if place == "within" else model).register_forward_hook(fail)
    for _ in range(2):
        with offload, pytest.raises(error):
            model(x)
    handle.remove()
    for _ in range(2):
        assert same(gradients(model, x), wanted)
    assert not hooks_left() and not offload._hooks and not torch.autograd._profiler_enabled()
    assert kind == "offload" or chosen.plan is not None


def test_a_program_that_profiles():
    model, x = chain(Tall(4), Shift(), Tall(4))
    wanted = gradients(copy.deepcopy(model), x)
    chosen = reel.checkpoint(model, "64M")
    with torch.autograd.profiler.profile():
        assert same(gradients(model, x), wanted)
    assert chosen.plan is None
    assert same(gradients(model, x), wanted) and chosen.plan is not None


def test_second_order_and_a_graph_that_is_kept(tmp_path, fast):
    model, x = talls(4)
    x.requires_grad_()

    def second(model):
        first, = torch.autograd.grad(model(x).square().sum(), x, create_graph=True)
        return torch.autograd.grad(first.square().sum(), list(model.parameters()))

    wanted = second(copy.deepcopy(model))
    chosen = reel.checkpoint(model, "12M", directory=tmp_path)
    for _ in range(2):
        assert same(second(model), wanted)
    loss = model(x).sum()
    these, those = (torch.autograd.grad(loss, list(model.parameters()), retain_graph=True) for _ in range(2))
    assert same(these, those) and len(set(chosen.choices)) > 1


def test_replicas_are_refused():
    model, x = talls()
    reel.checkpoint(model, "64M")
    replica = model._replicate_for_data_parallel()
    with pytest.raises(RuntimeError, match="DistributedDataParallel"):
        replica(x)


@pytest.mark.parametrize("what", ["blocks", "model"])
def test_compiled_code(what):
    model, x = talls()
    wanted = gradients(copy.deepcopy(model), x)
    if what == "blocks":
        model = nn.Sequential(*(torch.compile(block, backend="aot_eager") for block in model))
    chosen = reel.checkpoint(model, "12M")
    if what == "model":
        model = torch.compile(model, backend="aot_eager")
    for _ in range(3):
        assert same(gradients(model, x), wanted)
    assert reel._checkpoint.AGAIN in chosen.choices
