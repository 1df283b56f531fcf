# SPDX-License-Identifier: MIT
"""check_gradient(): right gradients pass, wrong ones do not, whatever the shape of the argument."""

import numpy as np
import pytest

import reel

STEPS = 50


def by_run(plan=None):
    """The final sum of a loop, and its gradient by a run, as functions of the first state and a number."""

    def value(arguments):
        x, a = np.array(arguments[0]), arguments[1]
        for _ in range(STEPS):
            x += 0.01 * a * np.sin(x)
        return x.sum()

    def gradient(arguments):
        x, a = np.array(arguments[0]), arguments[1]
        x_bar, a_bar = np.zeros(x.shape), np.zeros(1)

        def step(i):
            before = x.copy()
            x[:] += 0.01 * a * np.sin(x)
            return before

        def adjoint_step(i, before):
            a_bar[:] += (0.01 * np.sin(before) * x_bar).sum()
            x_bar[:] *= 1 + 0.01 * a * np.cos(before)

        def at_end():
            x_bar[:] = 1

        reel.Run(plan or reel.Plan("binomial", STEPS, [4]), x).gradient(step, adjoint_step, at_end)
        return [x_bar, a_bar[0]]

    return value, gradient


def test_the_gradient_of_a_run_passes():
    value, gradient = by_run()
    found = reel.check_gradient(value, gradient, [np.linspace(0.1, 2, 12).reshape(3, 4), 1.5])
    assert found.error < 1e-8 and len(found.by_values) == 3


@pytest.mark.parametrize("wrong", [lambda x_bar, a_bar: [x_bar, a_bar * 1.0001], lambda x_bar, a_bar: [x_bar.T, a_bar],
                                   lambda x_bar, a_bar: [x_bar, np.nan]])
def test_a_gradient_with_one_wrong_part_does_not(wrong):
    value, gradient = by_run()
    with pytest.raises(AssertionError, match="slopes"):
        reel.check_gradient(value, lambda x: wrong(*gradient(x)), [np.linspace(0.1, 2, 12).reshape(3, 4), 1.5])


@pytest.mark.parametrize("value, gradient, at", [
    (lambda x: np.exp(-x), lambda x: -np.exp(-x), 3.0), (lambda x: 1e6 * x + 7, lambda x: 1e6, 1e-3),
    (lambda x: (x ** 2).sum(), lambda x: 2 * x, np.linspace(-1e3, 1e3, 7)), (lambda x: 4.0, lambda x: 0 * x, np.ones(3))])
def test_numbers_of_any_size_pass(value, gradient, at):
    reel.check_gradient(value, gradient, at)


def test_a_gradient_of_another_shape_is_named():
    with pytest.raises(ValueError, match="has 2 numbers, and its argument has 3"):
        reel.check_gradient(lambda x: x.sum(), lambda x: np.ones(2), np.ones(3))
