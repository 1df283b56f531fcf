# SPDX-License-Identifier: MIT
"""The actions of checkpoint_schedules: its own classes where that package is there, and like ones where not.

Clients choose what to do by the class of an action, so that they take no other classes than those.
"""

import enum
from typing import Any, Tuple

try:
    from checkpoint_schedules.schedule import (  # type: ignore[import-not-found]
        CheckpointSchedule, Copy, EndForward, EndReverse, Forward, Move, Reverse, StorageType)
except ImportError:
    StorageType = enum.Enum("StorageType", {"RAM": 0, "DISK": 1, "WORK": -1, "NONE": None})  # type: ignore[no-redef]

    class _Action:
        names: Tuple[str, ...] = ()

        def __init__(self, *args: Any) -> None:
            if len(args) != len(self.names):
                raise TypeError(f"{type(self).__name__} has {len(self.names)} arguments")
            self.args = args
            vars(self).update(zip(self.names, args))

        def __repr__(self) -> str:
            return f"{type(self).__name__}({', '.join(map(repr, self.args))})"

    class Forward(_Action):  # type: ignore[no-redef]
        names = ("n0", "n1", "write_ics", "write_adj_deps", "storage")

    class Reverse(_Action):  # type: ignore[no-redef]
        names = ("n1", "n0", "clear_adj_deps")

    class Copy(_Action):  # type: ignore[no-redef]
        names = ("n", "from_storage", "to_storage")

    class Move(Copy):  # type: ignore[no-redef]
        pass

    class EndForward(_Action):  # type: ignore[no-redef]
        pass

    class EndReverse(_Action):  # type: ignore[no-redef]
        pass

    class CheckpointSchedule:  # type: ignore[no-redef]
        def __init__(self, max_n: Any = None) -> None:
            self._n, self._r, self._max_n = 0, 0, max_n
            self._iter: Any = None

        def __iter__(self) -> "CheckpointSchedule":
            return self

        def __next__(self) -> Any:
            if self._iter is None:
                self._iter = self._iterator()
            return next(self._iter)

        def _iterator(self) -> Any:
            raise NotImplementedError

        @property
        def n(self) -> int:
            return self._n

        @property
        def r(self) -> int:
            return self._r

        @property
        def max_n(self) -> Any:
            return self._max_n

        def finalize(self, n: int) -> None:
            if n < 1:
                raise ValueError("a loop has at least one step")
            if self._max_n is None:
                if self._n < n:
                    raise RuntimeError("the loop cannot end where it has not come to")
                self._n = self._max_n = n
            elif self._n != n or self._max_n != n:
                raise RuntimeError("the loop has another end")
