# SPDX-License-Identifier: MIT
"""How pyadjoint carries out the steps of Reel's schedules: with values of this sweep, and of no other one.

By itself pyadjoint keeps each value of the taping in `BlockVariable.output`, and reads it there if the variable has no
checkpoint. That is as much memory as without a schedule. It is also a wrong value once the controls have changed:
pyadjoint clears the inputs of a recorded step before that step is reversed.

pyadjoint chooses a function by the class of an action. Schedules of Reel give it a Forward of a class of their own,
for which this module registers functions: they call pyadjoint's functions, and also keep or give up values.
"""

import weakref
from typing import Any, Dict, Set, Tuple

import numpy as np

from checkpoint_schedules.schedule import Forward, StorageType  # type: ignore[import-not-found]
from pyadjoint.block_variable import BlockVariable  # type: ignore[import-not-found]
from pyadjoint.checkpointing import CheckpointError, CheckpointManager, Mode  # type: ignore[import-not-found]

from ._package import MIN_BYTES


class _Sweeps:
    """Shared by a manager of checkpoints and the variables of its tape."""

    def __init__(self) -> None:
        self.is_replayed = False
        """The controls may differ from the controls of the taping."""
        self.stored: Dict[int, Any] = {}
        """While taping: the steps whose states are stored, in their order, and the storage."""
        self.computed: Set[Any] = set()
        """The outputs of the step that runs. A solver may begin with the last value of its own output."""


_sweeps: "weakref.WeakKeyDictionary[Any, _Sweeps]" = weakref.WeakKeyDictionary()


def _stand_in(cls: type, shape: Tuple[int, ...], dtype: "np.dtype[Any]") -> Any:
    """An array of this type and shape without memory. It has no values that could be taken for right ones."""
    value = np.full((), np.nan, dtype) if dtype.kind in "fc" else np.zeros((), dtype)
    return np.broadcast_to(value, shape).view(cls)


class Variable(BlockVariable):  # type: ignore[misc]
    """An output of a step that was taped. A large array lives as long as the program, or a checkpoint, has it."""

    def give_up(self, sweeps: _Sweeps) -> None:
        self._sweeps = sweeps
        array = self.output
        if isinstance(array, np.ndarray) and array.nbytes >= MIN_BYTES:
            self._array, self._like = weakref.ref(array), (type(array), array.shape, array.dtype)
            del self.__dict__["output"]

    @property
    def output(self) -> Any:
        if "output" in self.__dict__:
            return self.__dict__["output"]
        array = self._array()
        return _stand_in(*self._like) if array is None else array

    @output.setter
    def output(self, value: Any) -> None:
        self.__dict__["output"] = value

    @property
    def saved_output(self) -> Any:
        is_gone = "output" not in self.__dict__ and self._array() is None
        if self.checkpoint is None and (is_gone or self._sweeps.is_replayed and self not in self._sweeps.computed):
            raise CheckpointError(
                f"the value of a block variable that was made in step {self.creation_timestep} is asked for, and the "
                "schedule has not kept it; only functionals and their derivatives can be evaluated on a tape with a "
                "schedule: for tangents and Hessians tape the loop without one")
        return super().saved_output


def _keep_for_later_use(manager: Any, sweeps: _Sweeps, step: int) -> None:
    """Add each variable of an earlier step that this step uses to the states that were stored in between."""
    timesteps = manager.tape.timesteps
    for variable in timesteps[step].checkpointable_state:
        for stored in reversed(sweeps.stored):
            if not 0 <= variable.creation_timestep < stored:
                break
            checkpoint = timesteps[stored]._checkpoint
            if variable not in checkpoint:
                packages = manager.tape._package_data.values() if sweeps.stored[stored] == StorageType.DISK else ()
                for package in packages:
                    package.continue_checkpointing()
                checkpoint[variable] = variable.saved_output._ad_create_checkpoint()
                for package in packages:
                    package.pause_checkpointing()


def _kept_by(step: Any, outputs: Set[Any], records: bool) -> Dict[Any, Any]:
    """The inputs of a step that stay: those that nothing computes, and all of them if the step is reversed next."""
    inputs = {variable for block in step for variable in block.get_dependencies()} - outputs
    return {variable: variable._checkpoint for variable in inputs
            if variable._checkpoint is not None and (records or variable.creation_timestep < 0)}


_tape_by_pyadjoint = CheckpointManager.__dict__["process_taping"].dispatcher.dispatch(Forward)
_run_by_pyadjoint = CheckpointManager.__dict__["process_operation"].dispatcher.dispatch(Forward)


class PlannedForward(Forward):  # type: ignore[misc]
    """A Forward that pyadjoint carries out by the functions below."""


PlannedForward.__name__ = Forward.__name__


@CheckpointManager.process_taping.register(PlannedForward)
def _tape(manager: Any, action: Any, timestep: int) -> Any:
    step, sweeps = timestep - 1, _sweeps.setdefault(manager, _Sweeps())
    if step < action.n0:
        return _tape_by_pyadjoint(manager, action, timestep)
    _keep_for_later_use(manager, sweeps, step)
    if step == action.n0 and action.write_ics:
        sweeps.stored[step] = action.storage
    blocks = list(manager.tape.timesteps[step])
    is_covered = _tape_by_pyadjoint(manager, action, timestep)
    for block in blocks:
        for variable in block.get_outputs():
            if type(variable) is BlockVariable:
                variable.__class__ = Variable
                variable.give_up(sweeps)
    return is_covered


@CheckpointManager.process_operation.register(PlannedForward)
def _run(manager: Any, action: Any, progress_bar: Any, **kwargs: Any) -> None:
    sweeps = _sweeps.setdefault(manager, _Sweeps())
    sweeps.is_replayed |= manager.mode == Mode.RECOMPUTE
    records = action.write_adj_deps and action.storage == StorageType.WORK
    for step in range(action.n0, min(action.n1, manager.total_timesteps)):
        blocks = manager.tape.timesteps[step]
        sweeps.computed = {variable for block in blocks for variable in block.get_outputs()}
        kept = _kept_by(blocks, sweeps.computed, records)
        try:
            _run_by_pyadjoint(manager, Forward(
                step, step + 1, action.write_ics and step == action.n0, action.write_adj_deps, action.storage),
                progress_bar, **kwargs)
        finally:
            sweeps.computed = set()
        for variable, checkpoint in kept.items():
            variable._checkpoint = checkpoint
