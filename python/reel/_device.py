# SPDX-License-Identifier: MIT
"""Copies between tensors of a device and parcels, in two streams beside those of the program.

A call that begins a copy returns before the device has read or written anything. So the memory on both sides is held
until the event after the copy has come: neither the device's allocator nor the pool gives it to another owner before.
"""

import atexit
import contextlib
import os
from collections import deque
from typing import Any, Deque, Dict, List, Optional

import torch


class Transfer:
    """A copy that was begun. `event` comes after it, and is None until it is in the stream.

    `held` is all that the copy uses, and empty from the end of the copy on. The iterator `seal` seals the parcel that
    the device has written.
    """

    __slots__ = ("event", "held", "seal", "nbytes")

    def __init__(self, nbytes: int, held: List[Any], seal: Any) -> None:
        self.event: Any = None
        self.nbytes, self.held, self.seal = nbytes, held, seal


class Way:
    """The copies in one direction, which end in the order in which they began. Any thread.

    Threads need no lock here: to end a transfer twice does nothing.
    """

    def __init__(self, module: Any, device: Any) -> None:
        self._module, self._stream = module, module.Stream(device=device)
        self._transfers: Deque[Transfer] = deque()
        self.nbytes = 0

    def begin(self, target: Any, source: Any, stream: Any, held: List[Any], seal: Any = iter(())) -> Transfer:
        """Copy when all is done that `stream` was given before."""
        event = self._module.Event(blocking=True)
        transfer = Transfer(source.numel() * source.element_size(), held, seal)
        self.nbytes += transfer.nbytes
        self._transfers.append(transfer)
        try:
            self._stream.wait_stream(stream)
            with self._module.stream(self._stream):
                target.copy_(source, non_blocking=True)
            event.record(self._stream)
            transfer.event = event
        except BaseException:
            self._end_now(transfer)
            raise
        return transfer

    def _end(self, transfer: Transfer) -> None:
        next(transfer.seal, None)
        transfer.held.clear()
        with contextlib.suppress(ValueError):  # another thread was first
            self._transfers.remove(transfer)
            self.nbytes -= transfer.nbytes

    def _end_now(self, transfer: Transfer) -> None:
        """Wait for the end of the copy. The thread sleeps meanwhile."""
        (transfer.event or self._stream).synchronize()
        self._end(transfer)

    def _first(self) -> Optional[Transfer]:
        try:
            return self._transfers[0]
        except IndexError:
            self.nbytes = 0  # threads may have counted wrongly
            return None

    def end_past(self) -> None:
        """End the transfers whose events have come."""
        first = self._first()
        while first is not None and first.event is not None and first.event.query():
            self._end(first)
            first = self._first()

    def end_first(self) -> bool:
        """Wait for the first transfer. False: there is none."""
        first = self._first()
        if first is not None:
            self._end_now(first)
        return first is not None

    def limit(self, nbytes: int) -> None:
        """Wait until the transfers under way have at most this many bytes. The last one may have more."""
        self.end_past()
        while self.nbytes > nbytes and len(self._transfers) > 1:
            self.end_first()


class Device:
    """A device with streams: cuda, also of AMD, or another one whose module in torch has the same functions."""

    def __init__(self, module: Any, device: Any) -> None:
        self.device, self._module = device, module
        self.out, self.back = Way(module, device), Way(module, device)

    def stream(self) -> Any:
        """The current stream of this thread, as an object that holds it."""
        if self._module.is_current_stream_capturing():
            raise RuntimeError("reel.offload() cannot be captured in a graph of the device: a replay would copy to "
                               "parcels that are gone; capture outside of the `with`")
        return self._module.current_stream(self.device)

    def on(self, stream: Any) -> Any:
        """A context in which this thread takes memory on the stream."""
        return self._module.stream(stream)

    def end_past(self) -> None:
        self.out.end_past()
        self.back.end_past()

    def end_first(self) -> bool:
        """Wait for a copy. False: none is under way."""
        return self.out.end_first() or self.back.end_first()


_devices: Dict[Any, Optional[Device]] = {}
"""The devices that tensors were on. None: one without streams, or the CPU."""


def device_of(device: Any) -> Optional[Device]:
    if device not in _devices:
        module = None if device.type == "cpu" else getattr(torch, device.type, None)
        has_streams = all(hasattr(module, name) for name in (
            "Stream", "Event", "stream", "current_stream", "is_current_stream_capturing"))
        _devices.setdefault(device, Device(module, device) if has_streams else None)
    return _devices[device]


def end_first_of_all() -> bool:
    """Wait for a copy of some device. False: none is under way."""
    return any(device is not None and device.end_first() for device in list(_devices.values()))


@atexit.register
def _end_all() -> None:
    """Or the memory of parcels would be unmapped while a device uses it."""
    while end_first_of_all():
        pass


_of_parent: List[Any] = []


def _leave_to_parent() -> None:
    """In the child of a fork, which has no device: the parent's copies are not ended, and keep all that they use."""
    _of_parent.extend(_devices.values())
    _devices.clear()


os.register_at_fork(after_in_child=_leave_to_parent)
