# SPDX-License-Identifier: MIT
"""The device of fake_torch_device.py: programs that are right have right results on it, and mistakes are seen."""

import copy

import pytest

torch = pytest.importorskip("torch", minversion="2.5")
import fake_torch_device as fake  # noqa: E402

if fake.compiler() is None:
    pytest.skip("there is no C++ compiler", allow_module_level=True)

nn = torch.nn
MODES = ["late", "random", "eager"]
SEEDS = range(20)


@pytest.fixture(autouse=True)
def device(tmp_path_factory):
    fake.load(tmp_path_factory.getbasetemp().parent / "fake-device")
    fake.reset()
    yield
    fake.reset()


def everywhere():
    """Each mode, with each seed."""
    for mode in MODES:
        for seed in SEEDS:
            fake.reset(seed, mode)
            yield
            fake.synchronize()
            assert fake.faults() == []


# ---- Programs that are right ----

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 8), nn.ReLU(), nn.Dropout(0.5))

    def forward(self, tokens):
        x = self.embedding(tokens)
        y = torch.cat([self.layers(x), x], -1)
        y[:, 0].mul_(2)
        return (y * y).sum() + y[tokens > 4].exp().mean() + y.softmax(-1)[0].std()


def gradients(model, tokens):
    torch.manual_seed(3)
    loss = model(tokens)
    return [loss, *torch.autograd.grad(loss, list(model.parameters()))]


def same(found, expected):
    return all(torch.equal(one.cpu(), other) for one, other in zip(found, expected))


@pytest.fixture
def model():
    torch.manual_seed(1)
    return Model()


def test_a_model_has_the_gradients_of_the_cpu(model):
    tokens = torch.arange(20) % 11
    expected = gradients(model, tokens)
    for _ in everywhere():
        assert same(gradients(copy.deepcopy(model).to("fake"), tokens.to("fake")), expected)


def test_a_model_on_another_stream(model):
    tokens = torch.arange(20) % 11
    expected = gradients(model, tokens)
    for _ in everywhere():
        its, tokens_there = copy.deepcopy(model).to("fake"), tokens.to("fake")
        stream, main = fake.Stream(), fake.current_stream()
        stream.wait_stream(main)
        with fake.stream(stream):
            found = gradients(its, tokens_there)
        main.wait_stream(stream)
        found = [gradient * 1 for gradient in found]
        fake.synchronize()
        assert same(found, expected)


def test_a_backward_pass_takes_the_streams_of_the_forward_pass():
    """PyTorch's engine has the waits between them."""
    x = torch.randn(1000)
    expected = 3 * torch.exp(3 * x.sin()) * x.cos()
    for _ in everywhere():
        there, stream = x.to("fake").requires_grad_(), fake.Stream()
        y = 3 * there.sin()
        stream.wait_stream(fake.current_stream())
        with fake.stream(stream):
            z = y.exp()
            y.record_stream(stream)
        fake.current_stream().wait_stream(stream)
        loss = z.sum()
        z.record_stream(fake.current_stream())
        loss.backward()
        assert torch.allclose(there.grad.cpu(), expected)


def round_trip(looks, left_out=None):
    """A tensor goes to the host and comes back by two streams, with all that this needs, or one thing left out.

    If it looks, the program has the host wait for one stream or the other meanwhile. Returns whether the result is right.
    """
    has = {thing: thing != left_out for thing in THINGS}
    main, out, back = fake.current_stream(), fake.Stream(), fake.Stream()
    kept = []
    x = torch.arange(1000.0).to("fake") + 1
    host = torch.zeros(1000)
    # Out.
    if has["wait before the copy"]:
        out.wait_stream(main)
    copied = fake.Event(blocking=True)
    with fake.stream(out):
        if not has["event after the copy"]:
            copied.record()
        host.copy_(x, non_blocking=True)
        if has["event after the copy"]:
            copied.record()
    if has["source held"]:
        kept.append(x)
    del x
    noise = torch.ones(1000, device="fake").mul_(5)
    if looks:
        noise.sum().item()
    # The host works on it.
    if has["event before the host reads"]:
        copied.synchronize()
    kept.clear()
    host = host * 2
    # Back.
    with fake.stream(back):
        y = host.to("fake", non_blocking=True)
        arrived = back.record_event()
    if has["wait before the target is read"]:
        main.wait_event(arrived)
    z = y + 1
    if has["record_stream"]:
        y.record_stream(main)
    del y
    with fake.stream(back):
        other = torch.zeros(1000, device="fake")
    if looks:
        back.synchronize()
    del other
    return torch.equal(z.cpu(), (torch.arange(1000.0) + 1) * 2 + 1)


THINGS = ["wait before the copy", "event after the copy", "source held", "event before the host reads",
          "wait before the target is read", "record_stream"]


def test_a_round_trip():
    for _ in everywhere():
        assert round_trip(False)
        assert round_trip(True)


@pytest.mark.parametrize("thing", THINGS)
def test_a_mistake_is_seen(thing):
    def is_right(seed, mode, looks):
        fake.reset(seed, mode)
        return round_trip(looks, thing)

    assert not all(is_right(seed, "late", looks) for seed in SEEDS for looks in (False, True))
    assert not all(is_right(seed, "random", looks) for seed in SEEDS for looks in (False, True))
