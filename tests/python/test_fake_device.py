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
        self.layers = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 8), nn.BatchNorm1d(8),
                                    nn.GroupNorm(2, 8), nn.ReLU(), nn.Dropout(0.5))
        self.convolution = nn.Conv1d(1, 2, 3)

    def forward(self, tokens):
        x = self.embedding(tokens)
        y = torch.cat([self.layers(x), x, self.convolution(x[:, None]).flatten(1)], -1)
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
        for tensor in found:
            tensor.record_stream(main)
        found = [tensor * 1 for tensor in found]
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


@pytest.mark.parametrize("reentrant", [True, False])
def test_a_checkpoint_of_pytorch(reentrant):
    from torch.utils.checkpoint import checkpoint

    x = torch.randn(100)
    for _ in everywhere():
        there = x.to("fake").requires_grad_()
        y = checkpoint(lambda x: torch.dropout(x.sin(), 0.5, True).exp(), there, use_reentrant=reentrant)
        y.sum().backward()
        kept = y.cpu() != 1  # a value that dropout() does not keep is exp(0)
        assert torch.equal(there.grad.cpu() != 0, kept) and 0 < kept.sum() < 100


def round_trip(looks, left_out=None):
    """A tensor goes to the host and comes back by two streams, with all that this needs, or one thing left out.

    If it looks, the host waits for one stream or the other meanwhile. Returns whether the result is right.
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


def test_a_seed_says_what_happens():
    def results(mode):
        found = []
        for seed in SEEDS:
            fake.reset(seed, mode)
            found.append([round_trip(False, thing) for thing in THINGS] + fake.faults())
        return found

    for mode in MODES:
        found = results(mode)
        assert results(mode) == found
        assert any(one != found[0] for one in found) == (mode == "random")


# ---- The parts ----

def test_a_copy_without_a_wait_runs_late():
    x = torch.ones(3).to("fake")
    host = torch.zeros(3)
    host.copy_(x, non_blocking=True)
    assert host.sum() == 0
    event = fake.current_stream().record_event()
    event.synchronize()
    assert host.sum() == 3
    source = torch.ones(3)
    x.copy_(source, non_blocking=True)
    source.fill_(2)
    assert x.sum().item() != 3
    assert fake.faults()[0].startswith("a copy to the device read host memory too early, or after it was overwritten")
    assert "aten::sum read a tensor" in fake.faults()[1]


def test_a_copy_that_waits_takes_the_source_as_it_is():
    source = torch.ones(3)
    x = source.to("fake")
    source.fill_(2)
    assert x.tolist() == [1, 1, 1]


def test_work_on_the_host_stays_in_order_on_the_device():
    """A copy to the host and one back need no wait of the host between them."""
    for _ in everywhere():
        x, y, host = torch.arange(6.0).view(2, 3).to("fake"), torch.zeros(3, 2, device="fake"), torch.zeros(2, 3)
        host.copy_(x, non_blocking=True)
        y.t().copy_(host, non_blocking=True)
        assert (y * 2).cpu().tolist() == [[0, 6], [2, 8], [4, 10]]


def test_a_query_ends():
    for _ in everywhere():
        for asked in fake.current_stream().record_event(), fake.current_stream():
            torch.ones(1, device="fake")
            assert sum(1 for _ in iter(asked.query, True)) < 100
    fake.reset()
    assert not all(fake.current_stream().record_event().query() for _ in SEEDS)  # the stream has no work


def test_a_seed_says_which_stream_is_first():
    found = set()
    for seed in SEEDS:
        fake.reset(seed)
        x = torch.zeros(1, device="fake")
        fake.synchronize()
        for value in 1.0, 2.0:
            with fake.stream(fake.Stream()):
                x.copy_(torch.full((1,), value))
        fake.synchronize()
        found.add(x.item())
    assert found == {1, 2}


def test_memory_that_was_freed_last_is_taken_first():
    x, y = torch.ones(100, device="fake"), torch.ones(100, device="fake")
    one, other = x.data_ptr(), y.data_ptr()
    assert fake.bytes() == 1024
    del x
    del y
    assert fake.bytes() == 0 and fake.peak_bytes() >= 1024
    with fake.stream(fake.Stream()):
        assert torch.ones(100, device="fake").data_ptr() not in (one, other)
    x, y = torch.empty(100, device="fake"), torch.empty(100, device="fake")
    assert (x.data_ptr(), y.data_ptr()) == (other, one)
    assert x.isnan().all()


def test_memory_that_another_stream_uses_is_kept_until_it_has_ended():
    x, stream = torch.ones(100, device="fake"), fake.Stream()
    stream.wait_stream(fake.current_stream())
    with fake.stream(stream):
        y = x + 1
    x.record_stream(stream)
    address = x.data_ptr()
    del x
    assert fake.bytes() == 1024 and torch.empty(100, device="fake").data_ptr() != address
    stream.synchronize()
    assert fake.bytes() == 512 and torch.empty(100, device="fake").data_ptr() == address
    assert y.sum().item() == 200 and fake.faults() == []


def test_memory_of_the_host_that_is_gone_is_left_alone():
    x, host = torch.ones(3, device="fake"), torch.empty(3)
    host.copy_(x, non_blocking=True)
    del host
    fake.synchronize()
    x.copy_(torch.ones(3), non_blocking=True)
    assert x.isnan().all()
    assert [fault for fault in fake.faults() if "freed" in fault] == fake.faults()[:2]


def test_calls_are_counted_and_left_out():
    def is_right(looks=False):
        x = torch.ones(3, device="fake")
        event, stream = fake.Event(blocking=True), fake.Stream()
        event.record()
        stream.wait_event(event)
        with fake.stream(stream):
            y = x + 1
        x.record_stream(stream)
        del x
        if looks:
            torch.zeros(3, device="fake").sum().item()
        stream.synchronize()
        return y.cpu().tolist() == [2, 2, 2]

    assert is_right()
    counts = {kind: fake.calls(kind) for kind in ("wait_event", "record", "record_stream", "synchronize", "query")}
    assert counts == {"wait_event": 1, "record": 1, "record_stream": 1, "synchronize": 1, "query": 0}
    for kind in "record", "wait_event", "record_stream":
        fake.reset()
        fake.leave_out(kind, 2)
        assert [is_right(kind == "record_stream") for _ in range(3)] == [True, False, True]
    fake.reset()
    fake.leave_out("query", 1)
    event = fake.current_stream().record_event()
    assert event.query()
    fake.leave_out("synchronize", 1)
    host = torch.zeros(3)
    host.copy_(torch.ones(3, device="fake"), non_blocking=True)
    fake.synchronize()
    assert host.sum() == 0
    fake.synchronize()
    assert host.sum() == 3


@pytest.mark.parametrize("mode", MODES)
def test_two_devices(mode):
    fake.reset(1, mode)
    x = torch.ones(3, device="fake:1", requires_grad=True)
    assert fake.device_count() == 2 and fake.current_device() == 0 and fake.current_stream(1).device == x.device
    y = (x * 2).to("fake:0") + torch.arange(3, device="fake")
    y.sum().backward()
    assert y.tolist() == [2, 3, 4] and x.grad.tolist() == [2, 2, 2] and x.grad.device == x.device
    with fake.device(1):
        assert torch.zeros(1, device="fake").device == x.device
        stream = fake.Stream()
    assert stream.device == x.device and stream != fake.Stream(1) != fake.current_stream(1)
    with fake.stream(stream):
        assert fake.current_device() == 1 and fake.current_stream() == stream
        assert hash(fake.current_stream()) == hash(stream)
    assert fake.current_device() == 0 and fake.faults() == []


@pytest.mark.parametrize("mode", MODES)
def test_storages_views_and_types(mode):
    fake.reset(1, mode)
    x = torch.arange(12.0).to("fake")
    storage = x.untyped_storage()
    view = torch.empty(0, device="fake").set_(storage, 2, (2, 3), (4, 1))
    assert view.tolist() == [[2, 3, 4], [6, 7, 8]] and view.untyped_storage().data_ptr() == storage.data_ptr()
    bits = torch.empty(0, dtype=torch.uint8, device="fake").set_(storage)
    assert bits.numel() == 48
    assert torch.empty(0, device="fake").set_(view).stride() == (4, 1)
    x.view(3, 4).t()[1].zero_()
    assert view.half().cpu().tolist() == [[2, 3, 4], [6, 7, 8]] and x[5].item() == 0
    assert view.to("cpu", torch.int64).sum() == 30 and torch.equal(view, view.clone())
    assert torch.view_as_complex(x.view(6, 2)).conj().cpu()[0].item() == -0j
    assert torch.view_as_complex(x.view(6, 2)).conj().imag.cpu().tolist() == [0, -3, 0, -7, 0, -11]
    assert torch.where(x > 6, x.half(), 1.0).dtype == torch.float16
    storage.resize_(8)
    assert x[:2].tolist() == [0, 0]
    storage.resize_(0)
    assert fake.faults() == []
    assert torch.arange(5, device="fake").tolist() == [0, 1, 2, 3, 4]
    assert torch.ones(2, device="fake").to("cpu", non_blocking=True).shape == (2,)
    x = torch.ones(2, 3, 4, 4, device="fake").resize_((1, 3, 8, 8), memory_format=torch.channels_last)
    assert x.is_contiguous(memory_format=torch.channels_last) and x.untyped_storage().nbytes() == 768


def test_a_capture_is_what_the_test_says():
    assert fake.is_available() and not fake.is_current_stream_capturing()
    fake.capture(True)
    assert fake.is_current_stream_capturing()
