# SPDX-License-Identifier: MIT
"""A device of PyTorch for tests, `torch.fake`, whose streams run as late as a GPU's may: fake_torch_device.cpp.

load() compiles and registers it. The module has the part of torch.cuda's interface that Reel uses, and what tests need.
PyTorch has no fused LSTM of the CPU, which a device needs for an LSTMCell; the layers of models have kernels otherwise.
"""

import atexit
import contextlib
import ctypes
import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import time

import torch

_SOURCE = pathlib.Path(__file__).with_suffix(".cpp")
_MODES = ["late", "random", "eager"]
_lib = None


def compiler():
    """The C++ compiler, or None."""
    return shutil.which(os.environ.get("CXX", "").split(" ")[0] or "g++") or shutil.which("c++")


def load(directory):
    """Compile the device into the directory, unless it is there, and make it the device "fake" of this process.

    The first backward pass of a process starts a thread for each device that is there. So tests of this device have a
    process of their own.
    """
    global _lib
    if _lib is not None:
        return
    root = pathlib.Path(torch.__file__).parent
    command = [compiler(), "-std=c++20", "-O1", "-shared", "-fPIC", "-isystem", root / "include", _SOURCE,
               f"-D_GLIBCXX_USE_CXX11_ABI={int(torch._C._GLIBCXX_USE_CXX11_ABI)}",
               "-L", root / "lib", "-lc10", "-ltorch_cpu"]
    key = hashlib.sha256(_SOURCE.read_bytes() + f"{torch.__version__} {command}".encode()).hexdigest()[:16]
    library = pathlib.Path(directory, f"fake-{key}.so")
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        partial = library.with_suffix(f".{os.getpid()}")
        subprocess.run([*command, "-o", partial], check=True)
        partial.rename(library)
    _lib = ctypes.CDLL(str(library))
    _lib.fake_bytes.restype = ctypes.c_size_t
    _lib.fake_fault.restype = ctypes.c_char_p
    _lib.fake_fault.argtypes = [ctypes.c_size_t]
    _lib.fake_calls.restype = ctypes.c_long
    _lib.fake_leave_out.argtypes = [ctypes.c_char_p, ctypes.c_long]
    _lib.fake_is_left_out.restype = ctypes.c_bool
    _lib.fake_current_stream.restype = ctypes.c_int64
    _lib.fake_set_stream.argtypes = [ctypes.c_int64, ctypes.c_int]
    torch.utils.rename_privateuse1_backend("fake")
    torch._register_device_module("fake", sys.modules[__name__])
    try:
        torch.ones((), device="fake", requires_grad=True).exp().backward()
    except RuntimeError as error:
        raise RuntimeError("load() comes after the first backward pass of this process") from error
    # PyTorch's thread of a device drops a graph when backward() has returned, and aborts if the interpreter is gone.
    atexit.register(time.sleep, 0.1)


# ---- For tests ----

def reset(seed=0, mode="late"):
    """Run all work, forget calls and faults, and begin anew with this seed and mode.

    Streams run only when something waits for them (`late`), also whenever the seed says so (`random`), or at once
    (`eager`). In all modes the seed says which of several streams runs first, and how often a query has to ask.
    """
    global _is_capturing
    _is_capturing = False
    _lib.fake_reset(seed, _MODES.index(mode))


def bytes():
    """Bytes of the device's memory that are in use, of all devices."""
    return _lib.fake_bytes(False)


def peak_bytes():
    """The largest value of bytes() since reset()."""
    return _lib.fake_bytes(True)


def faults():
    """The races that operations have found when they ran: memory of a tensor that was freed, or contents that differ
    from those that the order of issue gives. The first one is the cause; operations that use its result add theirs."""
    found = []
    while (fault := _lib.fake_fault(len(found))) is not None:
        found.append(fault.decode())
    return found


def leave_out(kind, number):
    """Have the call of this number and kind do nothing, counted from 1 since reset().

    Kinds: `wait_event`, for an event or a stream; `record`; `record_stream`; `synchronize`; and `query`, which then
    says that all is done. PyTorch's own calls do not count. A test may have more kinds, and ask is_left_out().
    """
    _lib.fake_leave_out(kind.encode(), number)


def calls(kind):
    """The number of calls of this kind since reset()."""
    return _lib.fake_calls(kind.encode())


def is_left_out(kind):
    """Count a call, and tell whether it is the one to leave out."""
    return _lib.fake_is_left_out(kind.encode())


def capture(is_capturing):
    """Set what is_current_stream_capturing() says."""
    global _is_capturing
    _is_capturing = is_capturing


# ---- As torch.cuda has it ----

_is_capturing = False


class Stream(torch.Stream):
    def __new__(cls, device=None, **options):
        if "stream_id" not in options:
            options["device"] = torch.device("fake", _index(device))
        return super().__new__(cls, **options)

    def wait_event(self, event):
        if not is_left_out("wait_event"):
            super().wait_event(event)

    def wait_stream(self, stream):
        if not is_left_out("wait_event"):
            super().wait_stream(stream)

    def record_event(self, event=None):
        if event is None:
            event = Event()
        event.record(self)
        return event

    def synchronize(self):
        if not is_left_out("synchronize"):
            super().synchronize()

    def query(self):
        return is_left_out("query") or super().query()


class Event(torch.Event):
    def __new__(cls, enable_timing=False, blocking=False, interprocess=False):
        return super().__new__(cls, "fake", enable_timing=enable_timing, blocking=blocking, interprocess=interprocess)

    def record(self, stream=None):
        if not is_left_out("record"):
            super().record(current_stream() if stream is None else stream)

    def wait(self, stream=None):
        if not is_left_out("wait_event"):
            super().wait(current_stream() if stream is None else stream)

    def query(self):
        return is_left_out("query") or super().query()

    def synchronize(self):
        if not is_left_out("synchronize"):
            super().synchronize()


def _index(device):
    """The number of a device, which may be one without a number, a number or a name."""
    if device is None or isinstance(device, int):
        return current_device() if device is None else device
    index = torch.device(device).index
    return current_device() if index is None else index


def is_available():
    return True


def device_count():
    return 2


def current_device():
    return _lib.fake_current_device()


def set_device(device):
    _lib.fake_set_device(_index(device))


@contextlib.contextmanager
def device(device):
    previous = current_device()
    set_device(device)
    try:
        yield
    finally:
        set_device(previous)


def current_stream(device=None):
    index = _index(device)
    kind = torch._C._autograd.DeviceType.PrivateUse1
    return Stream(stream_id=_lib.fake_current_stream(index), device_index=index, device_type=int(kind))


@contextlib.contextmanager
def stream(stream):
    with device(stream.device):
        previous = current_stream()
        _lib.fake_set_stream(stream.stream_id, stream.device.index)
        try:
            yield
        finally:
            _lib.fake_set_stream(previous.stream_id, stream.device.index)


def synchronize(device=None):
    if not is_left_out("synchronize"):
        _lib.fake_synchronize(_index(device))


def is_current_stream_capturing():
    return _is_capturing


# torch.manual_seed() calls these two. Random numbers are those of the CPU.
def _is_in_bad_fork():
    return False


def manual_seed_all(seed):
    pass


# torch.utils.checkpoint() asks for it.
def get_amp_supported_dtype():
    return [torch.bfloat16, torch.float16]
