"""The code of one time step: for one state or a batch of arrays of the CPU, or for arrays on a GPU.

Arrays of forces, the step's length and the time are inputs of that code; functions and force elements are part of it.
"""

from __future__ import annotations

import weakref
from types import CellType
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.engine.artifact import shell
from sixd.errors import ScalarTypeError
from sixd.forces.elements import RigidForce
from sixd.runtime.arrays.registry import look
from sixd.runtime.calls import FastCall
from sixd.runtime.cuda.driver import driver
from sixd.simulation.problem import Problem
from sixd.simulation.setup import Setup, are_on_gpu, make_setup
from sixd.simulation.stepping.fixed import Runner
from sixd.simulation.stepping.single_step import step_code, step_rollout
from sixd.spatial.scalar import Array

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario

_FLOATS = {float, np.float64}
_DOUBLE, _SINGLE = np.dtype("float64"), np.dtype("float32")
_LARGE = 1e30  # s: longer times are left to the general way, since they may not fit into float32
_MANY = 10_000  # numbers in q: from about there on several threads pay, and batches are left to a rollout
_LAST = "last step on a GPU"


# code -------------------------------------------------------------------------------------------


def _decline(*_: Any, **__: Any) -> None:
    """Return None: there is no code for these arguments."""


class StepCode:
    """The code of a step for one state, ``entry``, and for batches, ``batches``; ``kept`` has what it was made of.

    Both are functions (q, qd, h, t, *forces) -> (q, qd) of arrays, of one dtype and batch, that return None for
    arguments of other kinds.
    """

    __slots__ = (
        "_numbers", "_numbers_of_batch", "batches", "cells", "entry", "has_arrays", "is_table", "kept", "parts",
    )  # fmt: skip

    def __init__(self, has_arrays: bool, is_table: bool = False) -> None:
        self.entry: Any = _decline
        self.batches: Any = _decline
        self.has_arrays = has_arrays  # the controller, f_ext or both
        self.is_table = is_table  # the controller is a table of forces
        self.parts: list[weakref.ref[Any]] = []  # the functions and elements that are part of the code
        self.cells: list[tuple[CellType, Any]] = []  # variables of closures, and their values
        self.kept: dict[Any, Any] = {}
        self._numbers: Any = (None,) * 4  # of the call before: dt and t, and their arrays
        self._numbers_of_batch: Any = (None,) * 5

    @property
    def is_empty(self) -> bool:
        """Whether nothing was compiled."""
        return not self.kept and self.entry is _decline and self.batches is _decline

    def advance(self, q: Any, qd: Any, dt: Any, t: Any, controller: Any, f_ext: Any) -> Any:
        """Return (q, qd) a step later, or None if there is no code for arguments of these kinds."""
        before = self._numbers
        if before[0] is dt and before[1] is t:
            _, _, h, start = before  # a new array takes 70 ns
        elif type(dt) in _FLOATS and type(t) in _FLOATS:
            h = before[2] if before[0] is dt else np.array(dt)
            start = before[3] if before[1] is t else np.array(t)
            self._numbers = dt, t, h, start
        else:
            return self._with_other_kinds(q, qd, dt, t, controller, f_ext)
        if not self.has_arrays:
            result = self.entry(q, qd, h, start)
        elif self.is_table:
            result = None
            if f_ext is None and -_LARGE < t < _LARGE:
                result = self.entry(q, qd, h, start, controller.held(t))
        elif f_ext is None:
            result = self.entry(q, qd, h, start, controller)
        elif type(controller) is np.ndarray:
            result = self.entry(q, qd, h, start, controller, f_ext)
        else:
            result = self.entry(q, qd, h, start, f_ext)
        return self._with_other_kinds(q, qd, dt, t, controller, f_ext) if result is None else result

    def _with_other_kinds(self, q: Any, qd: Any, dt: Any, t: Any, controller: Any, f_ext: Any) -> Any:
        """Return the step for batches, float32 and whole numbers as dt and t; None for others."""
        if type(q) is not np.ndarray or (q.dtype is not _DOUBLE and q.dtype is not _SINGLE) or q.size > _MANY:
            return None
        batch, kind, before = q.shape[:-1], q.dtype, self._numbers_of_batch
        if before[0] is dt and before[1] is t and before[2] is kind and before[3] == batch:
            numbers = before[4]  # new ones take 2 us
        else:
            numbers = [_filled(x, batch, kind) for x in (dt, t)]
            if numbers[0] is None or numbers[1] is None:
                return None
            self._numbers_of_batch = dt, t, kind, batch, numbers
        code = self.batches if batch else self.entry
        if not self.has_arrays:
            return code(q, qd, *numbers)
        if self.is_table:
            controller = controller.held(t).astype(kind, copy=False)
        tau, force = (x if type(x) is np.ndarray else None for x in (controller, f_ext))
        if batch:  # forces of one state are those of all
            tau, force = _for_batch(tau, batch, 1), _for_batch(force, batch, 2)
        arrays = [x for x in (tau, force) if x is not None]
        return code(q, qd, *numbers, *arrays)

    def first(self, setup: Setup, method: str, h: float, t: float, controller: Any) -> Any:
        """Return the step of a setup by code that is made now; None if that does not serve."""
        problem, system = setup.problem, setup.problem.system
        if (setup.sampled is not None and not self.is_table) or problem.parameters:
            return None
        form = "steps" if setup.batch else "step"
        if not setup.rows or (form == "steps" and setup.q.size > _MANY):
            return None
        code = step_code(problem, method, setup.dtype, form, self.kept)
        inputs = [(system.nq,), (system.nv,), (), (), *problem.constants.values()]
        name = "batches" if setup.batch else "entry"
        if getattr(self, name) is _decline:
            setattr(self, name, FastCall(inputs, inputs[:2], _decline))
        getattr(self, name).attach(shell, [code])
        constants = dict(setup.constants)
        if self.is_table:
            constants["tau"] = controller.held(t).astype(setup.dtype)[None]
        with np.errstate(over="ignore"):  # the guard notices it
            numbers = [np.full(setup.rows, x, setup.dtype) for x in (h, t)]
        each = [*numbers, *constants.values()]
        each = [np.ascontiguousarray(np.broadcast_to(x, (setup.rows, *x.shape[1:]))) for x in each]
        arrays = [setup.q, setup.qd, *each]
        result = self.batches(*arrays) if setup.batch else self.entry(*[np.asarray(x[0]) for x in arrays])
        return None if result is None else tuple(setup.shaped(x) if setup.batch else x for x in result)


def _filled(x: Any, batch: tuple[int, ...], kind: np.dtype[Any]) -> Array | None:
    """Return a number for every state; None if it is of another kind, or may not fit into float32."""
    return np.full(batch, x, kind) if type(x) in (float, np.float64, int) and -_LARGE < x < _LARGE else None


def _for_batch(x: Array | None, batch: tuple[int, ...], core: int) -> Array | None:
    """Return the array with that batch, if it has none of its own."""
    return x if x is None or x.ndim != core else np.ascontiguousarray(np.broadcast_to(x, batch + x.shape))


def advanced(
    where: str, run: Scenario, q: Any, qd: Any, h: float, t: float, code: StepCode | None, tau: Any, checked: bool
) -> tuple[Any, Any]:
    """Return the state (q, qd) one step later, by code that is made or completed now. ``tau`` are forces besides those
    of a controller that can be compiled; ``checked``: its functions were traced before."""
    if are_on_gpu(q, qd, tau, run):
        return _advanced_on_gpu(where, run, q, qd, h, t, code, tau, checked)
    setup = make_setup(where, run, q, qd, start=t, tau=tau, checked=checked)
    require_stateless(setup.problem)
    if code is not None:
        result = code.first(setup, run.method, h, t, run.controller)
        if result is not None:
            return result
    return _rolled_out(setup, run.method, h, t, code)


def _rolled_out(setup: Setup, method: str, h: float, t: float, code: StepCode | None) -> tuple[Any, Any]:
    """Return the step as the first one of a simulation."""
    *_, last = Runner(setup, method, h, t, None if code is None else code.kept).run(np.array([1]), lambda done: None)
    return setup.shaped(last.q[:, -1]), setup.shaped(last.qd[:, -1])


def require_stateless(problem: Problem) -> None:
    """Raise if a force element has a state of its own, which a single step would lose."""
    if any(size and not isinstance(x, RigidForce) for x, size in zip(problem.forces, problem.sizes, strict=True)):
        raise ScalarTypeError(f"{problem.where}: an element of forces has a state of its own. Use sixd.simulate.")


# on a GPU ---------------------------------------------------------------------------------------


def _advanced_on_gpu(
    where: str, run: Scenario, q: Any, qd: Any, h: float, t: float, code: StepCode | None, tau: Any, checked: bool
) -> tuple[Any, Any]:
    forces = (tau if tau is not None else run.controller, run.f_ext)
    arrays = q, qd, *(x for x in forces if x is not None and not callable(x))
    last = None if code is None else code.kept.get(_LAST)
    result = None if last is None else last.again(arrays, h, t)
    if result is not None:
        return result
    setup = make_setup(where, run, q, qd, start=t, tau=tau, checked=checked)
    problem, method = setup.problem, run.method
    require_stateless(problem)
    if problem.parameters:
        return _rolled_out(setup, method, h, t, code)
    compiled = step_rollout(problem, method, setup.dtype, setup.target, None if code is None else code.kept)
    if code is not None and q is not None and qd is not None:
        code.kept[_LAST] = _RepeatedStep(setup, compiled, arrays, h, t)
    numbers = setup.number(h), setup.number(t)
    q, qd = compiled([1], [setup.q, setup.qd, *numbers, *setup.constants.values()])
    return setup.shaped(q), setup.shaped(qd)


class _RepeatedStep:
    """The step before on a GPU, to be repeated on arrays of the same layouts without the checks of new ones."""

    def __init__(self, setup: Setup, code: Any, arrays: tuple[Any, ...], h: float, t: float) -> None:
        self.batch, self.library, self.code, self.h, self.t = setup.batch, setup.library, code, h, t
        self.layouts, addresses, self.numbers = zip(*(look(x) for x in arrays), strict=True)
        used = (setup.q, setup.qd, *setup.constants.values())
        # an array that was copied for all states would be copied again
        self.usable = addresses == tuple(look(x)[1] for x in used) and setup.rows > 0
        self.shapes = tuple(None if x is y else tuple(y.shape) for x, y in zip(arrays, used, strict=True))
        # numbers made while a graph is recorded belong to that graph
        stream = self.library.stream(max(self.numbers[0], 0))
        self.usable = self.usable and not driver(setup.problem.where).is_capturing(stream)
        self.step: Any = setup.number(h) if self.usable else None
        self.start: Any = setup.number(t) if self.usable else None

    def again(self, arrays: tuple[Any, ...], h: float, t: float) -> tuple[Any, Any] | None:
        """Return (q, qd) a step later; None if arrays have other layouts."""
        try:
            layouts, _, numbers = zip(*(look(x) for x in arrays), strict=True)
        except Exception:  # raised again, with a name, by the general way
            return None
        if not self.usable or layouts != self.layouts or numbers != self.numbers:
            return None
        shaped = [x if shape is None else x.reshape(shape) for x, shape in zip(arrays, self.shapes, strict=True)]
        full, like = self.library.full, arrays[0]
        step = self.step if h == self.h else full(like, (1,), h)
        start = self.start if t == self.t else full(like, (1,), t)
        q, qd = self.code([1], [*shaped[:2], step, start, *shaped[2:]])
        if len(self.batch) == 1:
            return q, qd
        return q.reshape((*self.batch, q.shape[1])), qd.reshape((*self.batch, qd.shape[1]))
