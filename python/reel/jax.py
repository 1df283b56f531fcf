# SPDX-License-Identifier: MIT
"""For JAX on the CPU: what the backward pass needs goes to parcels, which leave memory for a disk.

>>> import reel.jax
>>> pool = reel.Pool("64M", directory="/var/tmp")
>>> layer = reel.jax.offload(lambda w, x: jax.numpy.tanh(x @ w), pool)
"""

import functools
import weakref
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple, Union

import numpy as np

from . import _jax_calls as calls  # says so if there is no JAX, and so comes first
from ._jax_calls import TOKEN, collect, place_of, shapes_of
from ._plan import Plan
from ._pool import Pool
from ._sizes import Size, to_bytes

import jax
from jax import lax
from jax.extend import core


# ---- The derivative of a function, with its residuals as arrays -----------------------------------------------------

def _is_float(array: Any) -> bool:
    return bool(jax.numpy.issubdtype(array.dtype, np.inexact))


def _can_leave(aval: Any) -> bool:
    """Whether a parcel holds an array: one with numbers of whole bytes."""
    return not jax.dtypes.issubdtype(aval.dtype, jax.dtypes.extended) and not str(aval.dtype).endswith(("int4", "int2"))


def _nbytes(aval: Any) -> int:
    return int(np.prod(aval.shape, dtype=np.int64)) * aval.dtype.itemsize


def _is_literal(atom: Any) -> bool:
    return hasattr(atom, "val")


def _has_calls(parameters: Any, primitive: Any) -> bool:
    """Whether an equation makes a foreign call, which gives another token each time."""
    return primitive in (calls.save, calls.load, calls.end, calls.visit, calls.turn) or any(
        _has_calls(equation.params, equation.primitive)
        for jaxpr in core.jaxprs_in_params(parameters) for equation in jaxpr.eqns)


def _arrays(values: Iterable[Any], avals: Iterable[Any]) -> List[Any]:
    """The results of a program, some of which may be numbers in its text."""
    return [value if isinstance(value, jax.Array) else jax.numpy.asarray(value, aval.dtype)
            for value, aval in zip(values, avals)]


class _Hidden:
    """A leaf that is no array, as a part of the structure of its tree."""

    def __init__(self, leaf: Any) -> None:
        self.leaf = leaf


jax.tree_util.register_pytree_node(_Hidden, lambda hidden: ((), hidden.leaf), lambda leaf, _: _Hidden(leaf))


def _is_value(leaf: Any) -> bool:
    return isinstance(leaf, (jax.Array, np.ndarray, np.generic, int, float, complex)) or hasattr(leaf, "__jax_array__")


def _hide(tree: Any) -> Any:
    """The tree with arrays as its only leaves: an equinox module has functions, too."""
    return jax.tree.map(lambda leaf: leaf if _is_value(leaf) else _Hidden(leaf), tree)


def _show(tree: Any) -> Any:
    return jax.tree.map(lambda leaf: leaf.leaf if isinstance(leaf, _Hidden) else leaf, tree,
                        is_leaf=lambda leaf: isinstance(leaf, _Hidden))


class _Function:
    """A function of flat arrays: of those that it closes over, and of its arguments. `tree` is that of its results."""

    def __init__(self, f: Callable[..., Any], *arguments: Any) -> None:
        flat, tree = jax.tree.flatten(arguments)
        closed, shape = jax.make_jaxpr(lambda *flat: f(*jax.tree.unflatten(tree, flat)), return_shape=True)(*flat)
        self.jaxpr, self.consts = closed.jaxpr, list(closed.consts)
        self.tree: Any = jax.tree.structure(shape)
        self.results = [atom.aval for atom in self.jaxpr.outvars]

    def __call__(self, *flat: Any) -> List[Any]:
        n = len(self.consts)
        return _arrays(jax.core.eval_jaxpr(self.jaxpr, flat[:n], *flat[n:]), self.results)


class _Linear:
    """The forward pass of a function by some of its flat arguments. Its backward pass needs residuals.

    `forward` gives the results and then the residuals. A residual is an argument ("input", its number), a constant
    ("const", its value), depends only on the first `fixed` arguments ("fixed"), or is new ("kept").
    """

    def __init__(self, f: Callable[..., List[Any]], results: Sequence[Any], by: Sequence[int], arguments: Sequence[Any],
                 fixed: int) -> None:
        is_float = [_is_float(aval) for aval in results]
        self.by, self.float_results = list(by), [i for i, yes in enumerate(is_float) if yes]
        trees = []

        def forward(*flat: Any) -> List[Any]:
            def differentiable(*chosen: Any) -> Any:
                full = list(flat)
                for i, value in zip(self.by, chosen):
                    full[i] = value
                outs = f(*full)
                return ([out for out, yes in zip(outs, is_float) if yes],
                        [out for out, yes in zip(outs, is_float) if not yes])
            floats, backward, others = jax.vjp(differentiable, *[flat[i] for i in self.by], has_aux=True)
            leaves, tree = jax.tree.flatten(backward)
            trees.append(tree)
            rest, first = iter(others), iter(floats)
            return [next(first if yes else rest) for yes in is_float] + leaves

        closed = jax.make_jaxpr(forward)(*arguments)
        self.jaxpr, self.consts, self.tree = closed.jaxpr, closed.consts, trees[-1]
        self.avals = [atom.aval for atom in self.jaxpr.outvars[len(results):]]
        self.cotangents = [jax.ShapeDtypeStruct(results[i].shape, results[i].dtype) for i in self.float_results]
        self.kinds = self._kinds(len(results), fixed)

    def _kinds(self, results: int, fixed: int) -> List[Tuple[str, Any]]:
        varying = set(self.jaxpr.invars[fixed:])
        for equation in self.jaxpr.eqns:
            if _has_calls(equation.params, equation.primitive) or any(
                    atom in varying for atom in equation.invars if not _is_literal(atom)):
                varying.update(equation.outvars)
        inputs = {var: i for i, var in enumerate(self.jaxpr.invars)}
        consts = dict(zip(self.jaxpr.constvars, self.consts))
        kinds: List[Tuple[str, Any]] = []
        for atom in self.jaxpr.outvars[results:]:
            if _is_literal(atom):
                kinds.append(("const", atom.val))
            elif atom in inputs:
                kinds.append(("input", inputs[atom]))
            elif atom in consts:
                kinds.append(("const", consts[atom]))
            else:
                kinds.append(("kept" if atom in varying else "fixed", None))
        return kinds

    def forward(self, *flat: Any) -> Tuple[List[Any], List[Any]]:
        """The results, and the residuals."""
        outs = _arrays(jax.core.eval_jaxpr(self.jaxpr, self.consts, *flat), [var.aval for var in self.jaxpr.outvars])
        n = len(outs) - len(self.kinds)
        return outs[:n], outs[n:]

    def backward(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> Sequence[Any]:
        """The cotangents of the arguments in `by`, from those of all results."""
        return self.backward_of_floats(residuals, [cotangents[i] for i in self.float_results])

    def backward_of_floats(self, residuals: Sequence[Any], cotangents: Sequence[Any]) -> Sequence[Any]:
        backward = jax.tree.unflatten(self.tree, residuals)
        return backward(cotangents)  # type: ignore[no-any-return]


def _check_context() -> None:
    if jax.sharding.get_abstract_mesh().manual_axes:
        raise NotImplementedError("reel.jax does not work under shard_map or pmap")


class _Kept:
    """What a forward pass leaves: arrays, and what was learnt when it was traced."""

    def __init__(self, arrays: Any, known: Any) -> None:
        self.arrays, self.known = arrays, known


jax.tree_util.register_pytree_node(_Kept, lambda kept: ((kept.arrays,), kept.known),
                                   lambda known, arrays: _Kept(arrays[0], known))


def _with_rules(primal: Callable[..., Any], forward: Callable[..., Any], backward: Callable[..., Any]) -> Any:
    """A function of flat arguments. `forward` is told which of them have a tangent; `backward` gives a cotangent, or
    None, for each."""
    function = jax.custom_vjp(primal)

    def with_values(*arguments: Any) -> Any:
        perturbed = tuple(bool(argument.perturbed) for argument in arguments)
        return forward(perturbed, *[argument.value for argument in arguments])

    def with_zeros(kept: Any, cotangents: Any) -> Any:
        return backward(kept, [_zeros(ct.aval) if isinstance(ct, jax.custom_derivatives.SymbolicZero) else ct
                               for ct in cotangents])

    function.defvjp(with_values, with_zeros, symbolic_zeros=True)
    return function


def _zeros(aval: Any) -> Any:
    make: Any = np.zeros if aval.dtype == jax.dtypes.float0 else jax.numpy.zeros
    return make(aval.shape, aval.dtype)


def _zero_token() -> Any:
    return jax.numpy.zeros(2, np.uint32)


def _spread(by: Sequence[int], n: int, cotangents: Sequence[Any]) -> Tuple[Any, ...]:
    found = dict(zip(by, cotangents))
    return tuple(found.get(i) for i in range(n))


# ---- offload --------------------------------------------------------------------------------------------------------

class _Pieces:
    """A program in pieces: `between(number, values)` is called before equation `number`, and may change the values."""

    def __init__(self, jaxpr: Any, consts: Sequence[Any], cuts: Iterable[int]) -> None:
        self.jaxpr, self.consts = jaxpr, consts
        n = len(jaxpr.eqns)
        self.cuts = [0, *sorted(set(cuts) - {0, n}), n] if n else [0]
        self.last_use = {var: n for var in jaxpr.outvars if not _is_literal(var)}
        for number, equation in reversed([*enumerate(jaxpr.eqns)]):
            for var in equation.invars:
                if not _is_literal(var):
                    self.last_use.setdefault(var, number)

    def run(self, arguments: Dict[Any, Any], between: Callable[[int, Dict[Any, Any]], None]) -> List[Any]:
        values = {**dict(zip(self.jaxpr.constvars, self.consts)), **arguments}
        for begin, end in zip(self.cuts, self.cuts[1:]):
            between(begin, values)
            equations = self.jaxpr.eqns[begin:end]
            made = {var: None for equation in equations for var in equation.outvars
                    if self.last_use.get(var, -1) >= end}
            inner = {var for equation in equations for var in equation.outvars}
            used = {var: None for equation in equations for var in equation.invars
                    if not _is_literal(var) and var not in inner}
            piece = self.jaxpr.replace(constvars=[], invars=[*used], outvars=[*made], eqns=equations,
                                       debug_info=self.jaxpr.debug_info.with_unknown_names())
            results = jax.core.eval_jaxpr(piece, [], *map(values.__getitem__, used))
            values.update(zip(made, results))
            for var in [var for var in values if self.last_use.get(var, -1) < end]:
                del values[var]
        between(len(self.jaxpr.eqns), values)
        return _arrays([var.val if _is_literal(var) else values[var] for var in self.jaxpr.outvars],
                       [var.aval for var in self.jaxpr.outvars])


class _Offloaded:
    """Both passes of a function, in whose forward pass a residual is saved when it is there, and in whose backward pass
    it is loaded for its first use.

    XLA runs what is ready in any order. It runs a save before the equations that follow, because an array that these
    use passes through the call; and a load after the equations before, because the call has a result of these.
    """

    def __init__(self, linear: _Linear, place: int, smallest: int) -> None:
        self.linear, self.place = linear, place
        self.n = len(linear.jaxpr.outvars) - len(linear.kinds)
        self.results, self.leaves = linear.jaxpr.outvars[:self.n], linear.jaxpr.outvars[self.n:]
        closed = jax.make_jaxpr(lambda leaves, bars: linear.backward_of_floats(leaves, bars))(
            [jax.ShapeDtypeStruct(aval.shape, aval.dtype) for aval in linear.avals], linear.cotangents)
        self.back = closed.jaxpr
        first_use = self._first_uses()
        made = {var: number for number, equation in enumerate(linear.jaxpr.eqns) for var in equation.outvars}
        self.saved: List[int] = []
        for i, (kind, _) in enumerate(linear.kinds):
            if (kind in ("kept", "fixed") and self.leaves[i] in made and i in first_use and
                    _can_leave(linear.avals[i]) and _nbytes(linear.avals[i]) >= smallest):
                self.saved.append(i)
        self.saved.sort(key=lambda i: made[self.leaves[i]])
        self.forward_pieces = _Pieces(linear.jaxpr, linear.consts, [made[self.leaves[i]] + 1 for i in self.saved])
        self.save_at: Dict[int, List[int]] = {}
        for i in self.saved:
            self.save_at.setdefault(made[self.leaves[i]] + 1, []).append(i)
        self.last_use = self._last_uses()
        self.backward_pieces = _Pieces(self.back, closed.consts, [first_use[i] for i in self.saved])
        self.load_at: Dict[int, List[int]] = {}
        for i in self.saved:
            self.load_at.setdefault(first_use[i], []).append(i)
        numbers = {i: number for number, i in enumerate(self.saved)}
        self.numbers = numbers
        self.order = tuple(numbers[i] for at in sorted(self.load_at) for i in self.load_at[at])

    def _first_uses(self) -> Dict[int, int]:
        """The equation of the backward pass that uses a residual first; that of the end, if it is a result."""
        found: Dict[Any, int] = {var: len(self.back.eqns) for var in self.back.outvars if not _is_literal(var)}
        for number, equation in reversed([*enumerate(self.back.eqns)]):
            found.update((var, number) for var in equation.invars if not _is_literal(var))
        return {i: found[var] for i, var in enumerate(self.back.invars[:len(self.leaves)]) if var in found}

    def _last_uses(self) -> Dict[Any, int]:
        """The equation of the forward pass that uses a variable last; that of the end, if it is a result."""
        found: Dict[Any, int] = {}
        for number, equation in enumerate(self.linear.jaxpr.eqns):
            found.update((var, number) for var in equation.invars if not _is_literal(var))
        found.update((var, len(self.linear.jaxpr.eqns)) for var in self.results if not _is_literal(var))
        return found

    def forward(self, *flat: Any) -> Tuple[List[Any], Any]:
        jaxpr, tokens = self.linear.jaxpr, [_zero_token()]

        def save(number: int, values: Dict[Any, Any]) -> None:
            for i in self.save_at.get(number, ()):
                var = self.leaves[i]
                through = self._through(var, number, values)
                unsaved = [values[each] for each in through if each is not var]
                token, *passed = calls.save.bind(tokens[0], *unsaved, values[var], shapes=shapes_of(
                    TOKEN, *[each.aval for each in through]), place=self.place, tied=len(through), unsaved=len(unsaved))
                tokens[0] = token
                values.update(zip(through, passed))
                kept.discard(i)

        kept = set(range(len(self.leaves)))
        outs = self.forward_pieces.run(dict(zip(jaxpr.invars, flat)), save)
        stay = [value if i in kept else None for i, value in enumerate(outs[self.n:])]
        return outs[:self.n], (tokens[0], stay)

    def _through(self, var: Any, number: int, values: Dict[Any, Any]) -> List[Any]:
        """The variable that passes through the save of `var`: one that equations from `number` on use, and if that is
        not `var`, the one that was made last."""
        if self.last_use.get(var, -1) >= number:
            return [var]
        for equation in reversed(self.linear.jaxpr.eqns[:number]):
            for other in equation.outvars:
                if other in values and self.last_use.get(other, -1) >= number and _can_leave(other.aval):
                    return [other]
        return []

    def backward(self, kept: Any, bars: Sequence[Any]) -> Sequence[Any]:
        token, residuals = kept
        tokens, jaxpr = [token], self.back
        leaves, inputs = jaxpr.invars[:len(self.leaves)], jaxpr.invars[len(self.leaves):]
        arguments = {var: value for var, value in zip(leaves, residuals) if value is not None}
        arguments.update(zip(inputs, bars))
        known = set(arguments)

        def load(number: int, values: Dict[Any, Any]) -> None:
            for i in self.load_at.get(number, ()):
                after = self._after(number, values, known)
                token, values[leaves[i]] = calls.load.bind(
                    tokens[0], *after, shapes=shapes_of(TOKEN, self.linear.avals[i]), number=self.numbers[i],
                    order=self.order)
                tokens[0] = token
                known.add(leaves[i])

        known -= set(inputs)
        results = self.backward_pieces.run(arguments, load)
        return calls.end.bind(tokens[0], *results, shapes=shapes_of(*results)) if self.saved else results

    def _after(self, number: int, values: Dict[Any, Any], residuals: Set[Any]) -> List[Any]:
        """Values that the backward pass has before equation `number`: those that it uses, or else the last ones."""
        equations = self.back.eqns
        for equation in ([equations[number]] if number < len(equations) else []):
            found = [values[var] for var in equation.invars
                     if not _is_literal(var) and var in values and var not in residuals]
            if found:
                return found
        for equation in reversed(equations[:number]):
            found = [values[var] for var in equation.outvars if var in values]
            if found:
                return found
        return [values[var] for var in self.back.invars[len(self.leaves):] if var in values]


def offload(f: Callable[..., Any], pool: Pool, *, min_bytes: Size = "64K") -> Callable[..., Any]:
    """f, whose residuals go to parcels of the pool between the forward and the backward pass.

    Residuals are what jax.vjp(f) keeps. Arguments, arrays that f closes over, and residuals of fewer than `min_bytes`
    bytes stay. What one equation makes is in memory together: a loop within f should be a reel.jax.scan().

    A result of jax.vjp() has one backward pass. vmap, second derivatives and shard_map are refused.
    """
    smallest = to_bytes(min_bytes, "min_bytes")
    place = place_of(pool)

    @functools.wraps(f)
    def offloaded(*arguments: Any, **named: Any) -> Any:
        pool._live()
        _check_context()
        given = _hide((arguments, named))

        def shown(given: Any) -> Any:
            arguments, named = _show(given)
            return _hide(f(*arguments, **named))
        function = _Function(shown, given)
        flat = [*function.consts, *jax.tree.leaves(given)]

        def forward(perturbed: Sequence[bool], *flat: Any) -> Any:
            by = [i for i, yes in enumerate(perturbed) if yes]
            passes = _Offloaded(_Linear(function, function.results, by, flat, len(function.consts)), place, smallest)
            outs, kept = passes.forward(*flat)
            return outs, _Kept(kept, (passes, len(flat)))

        def backward(kept: _Kept, cotangents: Any) -> Any:
            passes, n = kept.known
            bars = [cotangents[i] for i in passes.linear.float_results]
            return _spread(passes.linear.by, n, passes.backward(kept.arrays, bars))

        outs = _with_rules(function, forward, backward)(*flat)
        return _show(jax.tree.unflatten(function.tree, outs))

    return offloaded


# ---- scan -----------------------------------------------------------------------------------------------------------

class _Loop(NamedTuple):
    """The step of a loop as a function of flat arrays: constants, the state, and what step i gets of xs.

    The last arguments of a while loop are the constants of its condition.
    """

    step: _Function
    length: Optional[int]
    """None: as long as the condition is true."""
    consts: int
    carry: int
    arguments: int
    """Number of all arguments."""
    condition: Optional[_Function] = None
    reverse: bool = False
    unroll: Any = 1

    def one(self, *flat: Any) -> Tuple[List[Any], List[Any]]:
        outs = self.step(*flat)
        return outs[:self.carry], outs[self.carry:]

    def split(self, flat: Sequence[Any]) -> Tuple[List[Any], List[Any], List[Any]]:
        """Constants, state, and xs."""
        end = self.arguments - (len(self.condition.consts) if self.condition else 0)
        return (list(flat[:self.consts]), list(flat[self.consts:self.consts + self.carry]),
                list(flat[self.consts + self.carry:end]))

    def run(self, body: Callable[[Any, Any], Any], token: Any, flat: Sequence[Any]) -> Tuple[Any, Any, Any]:
        """The forward sweep. `body((token, state), x)` gives both anew, and a pair of lists to stack. Returns the last
        ones, the stacked ones, and the number of steps."""
        _, init, xs = self.split(flat)
        condition = self.condition
        if condition is None:
            values, stacked = lax.scan(body, (token, init), xs, self.length, self.reverse, self.unroll)
            return values, stacked, self.length
        given = flat[self.arguments - len(condition.consts):]

        def counted(state: Any) -> Any:
            n, values = state
            return n + 1, body(values, [])[0]
        n, values = lax.while_loop(lambda state: condition(*given, *state[1][1])[0], counted,
                                   (np.int32(0), (token, init)))
        return values, ([], []), n

    def run_back(self, body: Callable[[Any, Any], Any], state: Any, slices: Any, n: Any) -> Tuple[Any, Any]:
        """The reverse sweep. `body(state, (i, slices))` is called for the steps n - 1, ..., 0."""
        if self.condition is None:
            steps = np.arange(n, dtype=np.int32)[::-1 if self.reverse else 1]
            return lax.scan(body, state, (steps, slices), n, not self.reverse, self.unroll)

        def counted(state: Any) -> Any:
            i, values = state[0] - 1, state[1]
            return i, body(values, (i, slices))[0]
        return lax.while_loop(lambda state: state[0] > 0, counted, (n, state))[1], []

    def primal(self, *flat: Any) -> List[Any]:
        consts, _, _ = self.split(flat)

        def body(state: Any, x: Any) -> Any:
            carry, ys = self.one(*consts, *state[1], *x)
            return ((), carry), (ys, [])
        (_, carry), (ys, _), _ = self.run(body, (), flat)
        return [*carry, *ys]

    def linear(self, perturbed: Sequence[bool], flat: Sequence[Any], adds: bool = False) -> _Linear:
        """The derivative of a step by the state, and by the constants and xs that have a tangent.

        With `adds` the constants are results too, behind those of the step. Their cotangents are the sums over later
        steps, to which the backward pass of the step adds its own terms one by one, as that of lax.scan() does.
        """
        consts, init, xs = self.split(flat)
        avals = [jax.ShapeDtypeStruct(a.shape, a.dtype) for a in (*consts, *init)]
        avals += [jax.ShapeDtypeStruct(x.shape[1:], x.dtype) for x in xs]
        by = [i for i, aval in enumerate(avals) if _is_float(aval) and
              (perturbed[i] or self.consts <= i < self.consts + self.carry)]
        if not adds:
            return _Linear(self.step, self.step.results, by, avals, self.consts)
        summed = [i for i in by if i < self.consts]
        return _Linear(lambda *flat: [*self.step(*flat), *[flat[i] for i in summed]],
                       [*self.step.results, *[avals[i] for i in summed]], by, avals, self.consts)

    def backward(self, linear: _Linear, flat: Sequence[Any], cotangents: Sequence[Any], token: Any, more: Any, n: Any,
                 residuals: Callable[..., Any]) -> Tuple[Any, ...]:
        """The cotangents of the arguments. `residuals(token, i, state, x, more)` gives a token, a state and the
        residuals of step i, where the state is what it gave for step i + 1. There are n steps."""
        consts, init, xs = self.split(flat)
        end = self.consts + self.carry
        of_consts = [i for i in linear.by if i < self.consts]
        of_carry = [i for i in linear.by if self.consts <= i < end]
        of_xs = [i for i in linear.by if i >= end]
        carry_bar = [cotangents[i - self.consts] for i in of_carry]
        sums = [jax.numpy.zeros(flat[i].shape, flat[i].dtype) for i in of_consts]
        results = len(self.step.results)
        adds = of_consts and linear.float_results[-1] >= results
        float_ys = [i for i in linear.float_results if self.carry <= i < results]
        ys_bar = [cotangents[i] for i in float_ys]

        def body(state: Any, slices: Any) -> Any:
            token, values, carry_bar, sums = state
            i, (x, y_bar, extra) = slices
            token, values, leaves = residuals(token, i, values, x, extra)
            bars: List[Any] = [None] * results + sums
            for index, bar in zip((j - self.consts for j in of_carry), carry_bar):
                bars[index] = bar
            for index, bar in zip(float_ys, y_bar):
                bars[index] = bar
            found = dict(zip(linear.by, linear.backward(leaves, bars)))
            sums = [found[j] if adds else total + found[j] for total, j in zip(sums, of_consts)]
            return (token, values, [found[j] for j in of_carry], sums), [found[j] for j in of_xs]

        values, extra = more
        (_, _, carry_bar, sums), xs_bar = self.run_back(
            body, (token, values, carry_bar, sums), (xs, ys_bar, extra), n)
        return _spread([*of_consts, *of_carry, *of_xs], self.arguments, [*sums, *carry_bar, *xs_bar])


def scan(step: Callable[[Any, Any], Any], init: Any, xs: Any = None, length: Optional[int] = None,
         reverse: bool = False, unroll: Union[int, bool] = 1, *, plan: Union[Plan, str] = "store-all", pool: Pool,
         stores: Sequence[Optional[str]] = (), directory: Any = None) -> Any:
    """jax.lax.scan(step, init, xs, length, reverse, unroll), for which the backward pass needs little memory.

    With the plan "store-all" the residuals of each step go to a parcel of the pool. Any other plan, such as
    "binomial:20" or a reel.Plan for this number of steps, keeps states in its slots, and runs the steps in between
    again; "all" keeps each state. A plan of several tiers takes `stores` and `directory` as reel.Run does.

    A result of jax.vjp() has one backward pass. vmap, second derivatives and shard_map are refused.
    """
    lengths = {np.shape(x)[0] for x in jax.tree.leaves(xs)} | ({int(length)} if length is not None else set())
    if len(lengths) != 1:
        raise ValueError(f"scan needs xs of one length, or length=, and got {sorted(lengths)}")
    length = lengths.pop()
    if length >= 1 << 31:
        raise ValueError("reel.jax.scan() has at most 2^31 - 1 steps")

    def shown(state: Any, x: Any) -> Any:
        results = step(_show(state), x)
        if not isinstance(results, (tuple, list)) or len(results) != 2:
            raise TypeError("the step of a scan returns a pair: the new state, and what is stacked, or None")
        return _hide(results[0]), results[1]
    state, ys = _repeat(shown, _hide(init), xs, length, None, bool(reverse), unroll, plan, pool, stores, directory)
    return _show(state), ys


def while_loop(condition: Callable[[Any], Any], body: Callable[[Any], Any], init: Any, *,
               plan: Union[Plan, str] = "store-all", pool: Pool, stores: Sequence[Optional[str]] = (),
               directory: Any = None) -> Any:
    """jax.lax.while_loop(condition, body, init), of which JAX has no backward pass. The arguments are those of scan().

    A plan is one for a number of steps that is not known, such as "online:20" or "auto".
    """
    state, _ = _repeat(lambda state, _: (_hide(body(_show(state))), None), _hide(init), None, None,
                       lambda state: condition(_show(state)), False, 1, plan, pool, stores, directory)
    return _show(state)


def _repeat(step: Callable[..., Any], init: Any, xs: Any, length: Optional[int], condition: Any, reverse: bool,
            unroll: Any, plan: Any, pool: Pool, *where: Any) -> Any:
    """The last state of the loop, and what it stacks."""
    _check_context()
    init = jax.tree.map(lambda x: lax.convert_element_type(x, jax.numpy.asarray(x).dtype), init)
    one = jax.tree.map(lambda x: jax.ShapeDtypeStruct(np.shape(x)[1:], jax.numpy.asarray(x).dtype), xs)
    function = _Function(step, init, one)
    carry_tree: Any = jax.tree.structure(init)
    _check_step(function, init)
    leaves, stores_all = jax.tree.leaves(init), isinstance(plan, str) and plan == "store-all"
    changed = [i for i in range(len(leaves)) if function.jaxpr.outvars[i] is not function.jaxpr.invars[i]]
    if len(changed) < len(leaves) and stores_all:
        # lax.scan() takes the parts of a state that no step changes out of the state, as constants. This plan does
        # so too, so that it adds the terms of their gradients in the same order. The other plans have the order of
        # lax.scan() over jax.checkpoint(step), which leaves these parts in the state.
        def merge(values: Sequence[Any]) -> Any:
            found = dict(zip(changed, values))
            return jax.tree.unflatten(carry_tree, [found.get(i, leaf) for i, leaf in enumerate(leaves)])

        def smaller(values: Any, x: Any) -> Any:
            carry, y = step(merge(values), x)
            after = jax.tree.leaves(carry)
            return [after[i] for i in changed], y

        def goes_on(values: Sequence[Any]) -> Any:
            return condition and condition(merge(values))
        values, ys = _repeat(smaller, [leaves[i] for i in changed], xs, length, condition and goes_on, reverse, unroll,
                             plan, pool, *where)
        return merge(values), ys
    until = _Function(condition, init) if condition else None
    flat = [*function.consts, *jax.tree.leaves((init, xs)), *(until.consts if until else [])]
    loop = _Loop(function, length, len(function.consts), carry_tree.num_leaves, len(flat), until, reverse, unroll)
    if stores_all or length == 0:
        forward, backward = _store_all(loop, place_of(pool))
    else:
        forward, backward = _planned(loop, place_of(pool, _plan_of(plan, length, pool), *where))
    outs = _with_rules(loop.primal, forward, backward)(*flat) if length != 0 else loop.primal(*flat)
    return jax.tree.unflatten(function.tree, outs)


def _check_step(function: _Function, init: Any) -> None:
    leaves, tree = jax.tree.flatten(init)
    results = function.tree.children()
    if results[0] != tree:
        raise TypeError(f"a step changes the structure of the state: {tree} to {results[0]}")
    for before, after in zip(leaves, function.results):
        if before.shape != after.shape or before.dtype != after.dtype:
            raise TypeError("a step changes an array in the state: "
                            f"{before.dtype}{list(before.shape)} to {after.dtype}{list(after.shape)}")


def _plan_of(plan: Any, length: Optional[int], pool: Pool) -> Plan:
    if isinstance(plan, Plan):
        if plan.steps not in (None, length):
            raise ValueError(f"the plan is for {plan.steps} steps, and the loop has "
                             f"{'a number that is not known' if length is None else length}")
        return plan
    return _plan_from_text(plan, length, pool._live())


_texts: "weakref.WeakKeyDictionary[Any, Dict[Any, Plan]]" = weakref.WeakKeyDictionary()


def _plan_from_text(text: str, length: Optional[int], lease: Any) -> Plan:
    plans = _texts.setdefault(lease, {})
    if (text, length) not in plans:
        online = text.split(":")[0] == "online"
        plans[text, length] = Plan(text, None if online else length)
    return plans[text, length]


def _store_all(loop: _Loop, place: int) -> Tuple[Callable[..., Any], Callable[..., Any]]:
    """Residuals of steps that are the state before a step, or new, go to a parcel for each step."""

    def forward(perturbed: Sequence[bool], *flat: Any) -> Any:
        linear = loop.linear(perturbed, flat, adds=True)
        consts, _, _ = loop.split(flat)
        end = loop.consts + loop.carry
        saved = [i for i, (kind, at) in enumerate(linear.kinds) if _can_leave(linear.avals[i]) and
                 (kind == "kept" or kind == "input" and loop.consts <= at < end)]
        stacked = [i for i, (kind, at) in enumerate(linear.kinds) if i not in saved and
                   (kind == "kept" or kind == "input" and loop.consts <= at < end)]
        if stacked and loop.condition:
            raise TypeError(f"a while loop keeps residuals of numbers, and not of {linear.avals[stacked[0]].dtype}: "
                            "put jax.random.key_data(key) into the state")

        def body(state: Any, x: Any) -> Any:
            token, carry = state
            outs, leaves = linear.forward(*consts, *carry, *x)
            if saved:
                token, = calls.save.bind(token, *[leaves[i] for i in saved], shapes=shapes_of(TOKEN), place=place,
                                         tied=0, unsaved=0)
            return (token, outs[:loop.carry]), (outs[loop.carry:len(loop.step.results)], [leaves[i] for i in stacked])

        (token, carry), (ys, stacks), n = loop.run(body, _zero_token(), flat)
        return [*carry, *ys], _Kept((token, flat, stacks, None if loop.length else n), (linear, saved, stacked))

    def backward(kept: _Kept, cotangents: Any) -> Any:
        (token, flat, stacks, n), (linear, saved, stacked) = kept.arrays, kept.known
        n = loop.length or n
        consts, init, xs = loop.split(flat)
        end = loop.consts + loop.carry
        fixed: List[Any] = [None] * len(linear.kinds)
        if any(kind == "fixed" for kind, _ in linear.kinds):
            # They depend on the constants only. XLA computes what they need of a step of zeros, once.
            _, fixed = jax.jit(linear.forward)(*consts, *[jax.numpy.zeros_like(x) for x in init],
                                               *[jax.numpy.zeros(x.shape[1:], x.dtype) for x in xs])

        def residuals(token: Any, i: Any, values: Any, x: Any, extra: Any) -> Any:
            loaded: Any = ()
            if saved:
                token, *loaded = calls.load.bind(token, shapes=shapes_of(TOKEN, *[linear.avals[j] for j in saved]))
            found = {**dict(zip(saved, loaded)), **dict(zip(stacked, extra))}
            for j, (kind, at) in enumerate(linear.kinds):
                if j not in found:
                    found[j] = (fixed[j] if kind == "fixed" else at if kind == "const" else
                                consts[at] if at < loop.consts else x[at - end])
            return token, values, [found[j] for j in range(len(found))]

        return loop.backward(linear, flat, cotangents, token, ((), stacks), n, residuals)

    return forward, backward


def _planned(loop: _Loop, place: int) -> Tuple[Callable[..., Any], Callable[..., Any]]:
    """The plan decides at each state. Foreign calls walk through it, so that the program has the step twice, whatever
    the length: `visit` sees each state of the forward sweep, and `turn` gives the state before each step of the reverse
    sweep, with the number of a step to run first, or to reverse."""

    def forward(perturbed: Sequence[bool], *flat: Any) -> Any:
        linear = loop.linear(perturbed, flat)
        consts, init, _ = loop.split(flat)
        for array in init:
            if not _can_leave(array):
                raise TypeError(f"a plan keeps states of numbers, and not of {array.dtype}: put "
                                "jax.random.key_data(key) into the state")

        def body(state: Any, x: Any) -> Any:
            token, carry = state
            token, = calls.visit.bind(token, *carry, shapes=shapes_of(TOKEN), place=place)
            carry, ys = loop.one(*consts, *carry, *x)
            return (token, carry), (ys, [])

        (token, carry), (ys, _), n = loop.run(body, _zero_token(), flat)
        return [*carry, *ys], _Kept((token, flat, None if loop.length else n), linear)

    def backward(kept: _Kept, cotangents: Any) -> Any:
        (token, flat, n), linear = kept.arrays, kept.known
        n = loop.length or n
        consts, init, xs = loop.split(flat)

        def turn(token: Any, i: Any, values: Any) -> Any:
            token, order, *values = calls.turn.bind(
                token, i, *values, shapes=shapes_of(TOKEN, jax.ShapeDtypeStruct((2,), np.int32), *values))
            return token, order, values

        def residuals(token: Any, i: Any, values: Any, x: Any, extra: Any) -> Any:
            def run_step(state: Any) -> Any:
                token, order, values = state
                at = n - 1 - order[1] if loop.reverse else order[1]
                its_x = [lax.dynamic_index_in_dim(each, at, keepdims=False) for each in xs]
                values, _ = loop.one(*consts, *values, *its_x)
                return turn(token, i, values)

            token, _, values = lax.while_loop(lambda state: state[1][0] == 1, run_step, turn(token, i, values))
            _, leaves = linear.forward(*consts, *values, *x)
            return token, values, leaves

        values = [jax.numpy.zeros_like(x) for x in init]
        return loop.backward(linear, flat, cotangents, token, (values, None), n, residuals)

    return forward, backward


# ---- diffrax --------------------------------------------------------------------------------------------------------

def diffrax_adjoint(pool: Pool, plan: Union[Plan, str] = "store-all", *, stores: Sequence[Optional[str]] = (),
                    directory: Any = None) -> Any:
    """An adjoint for diffrax.diffeqsolve(), whose steps are those of while_loop() with these arguments."""
    import diffrax
    from equinox import internal

    class Adjoint(diffrax.AbstractAdjoint):  # type: ignore[misc]
        """The solve itself is differentiated, as by diffrax.RecursiveCheckpointAdjoint."""

        def loop(self, *, throw: bool, passed_solver_state: bool, passed_controller_state: bool, **given: Any) -> Any:
            return self._loop(**given, outer_while_loop=steps, inner_while_loop=functools.partial(
                internal.while_loop, kind="checkpointed"))

    def steps(condition: Any, body: Any, init: Any, *, max_steps: Optional[int], buffers: Any) -> Any:
        def goes_on(state: Any) -> Any:
            return condition(state) if max_steps is None else condition(state) & (state.num_steps < max_steps)
        return while_loop(goes_on, body, init, plan=plan, pool=pool, stores=stores, directory=directory)

    return Adjoint()


__all__ = ["collect", "diffrax_adjoint", "offload", "scan", "while_loop"]
