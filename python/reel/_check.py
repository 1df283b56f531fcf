# SPDX-License-Identifier: MIT
"""The comparison of a gradient with values of its function."""

from typing import Any, Callable, Dict, NamedTuple, Sequence, Tuple, Union

import numpy as np

Arrays = Union[float, np.ndarray, Sequence[Union[float, np.ndarray]]]


class GradientCheck(NamedTuple):
    """The slope of the function in each direction: by the gradient, and by the function's values."""

    by_gradient: Tuple[float, ...]
    by_values: Tuple[float, ...]
    error: float
    """The largest difference of the two, as a part of the larger one."""


def _flat(arrays: Any) -> np.ndarray:
    listed = arrays if isinstance(arrays, (tuple, list)) else [arrays]
    return np.concatenate([np.asarray(array, float).ravel() for array in listed])


def _like(flat: np.ndarray, arrays: Any) -> Any:
    """The numbers in new arrays of these shapes."""
    if not isinstance(arrays, (tuple, list)):
        shape = np.shape(arrays)
        return flat.reshape(shape) if shape else float(flat[0])
    ends = np.cumsum([np.size(array) for array in arrays])[:-1]
    return [_like(part, array) for part, array in zip(np.split(flat, ends), arrays)]


def check_gradient(value: Callable[[Any], Any], gradient: Callable[[Any], Any], at: Arrays, *, directions: int = 3,
                   tolerance: float = 1e-6, seed: int = 0) -> GradientCheck:
    """Compare gradient(x) with values of value(x) beside `at`: an array, a number, or a list of those.

    In each direction, which is drawn at random by `seed`, central differences with several steps are extrapolated to
    the step 0, and the best two steps are taken. An error above `tolerance` is an AssertionError with both slopes.

    >>> check_gradient(lambda x: (x ** 3).sum(), lambda x: 3 * x ** 2, np.arange(4.0)).error < 1e-6
    True
    """
    start, draw = _flat(at), np.random.default_rng(seed)
    slope_at = _flat(gradient(_like(start.copy(), at)))
    if slope_at.shape != start.shape:
        raise ValueError(f"the gradient has {slope_at.size} numbers, and its argument has {start.size}")

    def along(direction: np.ndarray, step: float) -> float:
        ahead, behind = (float(value(_like(start + sign * step * direction, at))) for sign in (1, -1))
        return (ahead - behind) / (2 * step)

    pairs = []
    for _ in range(directions):
        direction = draw.choice((-1.0, 1.0), start.size) * np.maximum(np.abs(start), 1)
        wanted = float(slope_at @ direction)
        steps: Dict[float, float] = {step: along(direction, step) for step in (1e-2 / 2 ** i for i in range(14))}
        better = [(4 * steps[step / 2] - steps[step]) / 3 for step in steps if step / 2 in steps]
        # Neighbours are closest where neither the curvature nor the rounding of the values shows.
        best = min(range(len(better) - 1), key=lambda i: abs(better[i + 1] - better[i]))
        pairs.append((wanted, better[best + 1]))
    error = float(np.max([abs(one - other) / (max(abs(one), abs(other)) or 1) for one, other in pairs]))
    found = GradientCheck(tuple(one for one, _ in pairs), tuple(other for _, other in pairs), error)
    if not error <= tolerance:
        raise AssertionError(f"the gradient is not that of the function: along {directions} directions its slopes are "
                             f"{found.by_gradient}, and those of the function's values {found.by_values}")
    return found
