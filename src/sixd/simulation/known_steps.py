"""Steps that were made before: compiled code for one row of a system, by method and forces, found in one lookup.

Forces given as arrays, the step's length and the time are arguments of that code. Functions and force elements are part
of it: they are known by their addresses, watched for changes, and not kept alive. When one dies, the code is dropped.
"""

from __future__ import annotations

from functools import partial
from types import MethodType
from typing import Any

import numpy as np

from sixd.engine.artifact import shell
from sixd.forces.elements import Force
from sixd.model.memo import add_index, known_of
from sixd.model.system import System
from sixd.runtime.calls import FastCall
from sixd.simulation.setup import Setup
from sixd.simulation.stepping.single_step import step_code
from sixd.simulation.watched_objects import Unwatchable, Watched, parts
from sixd.spatial.scalar import Array

NO_FORCES = ()
_ARRAY = "array"  # in a key: an argument of the code
_FLOATS = {float, np.float64}
_DOUBLE, _SINGLE = np.dtype("float64"), np.dtype("float32")
_LARGE = 1e30  # s: longer times are left to the general way, since they may not fit into float32

_MANY = 10_000  # numbers in q: from about there on several threads pay, and rows are left to a rollout

# by id of the system, then by the other arguments
_KNOWN: dict[int, dict[Any, KnownStep]] = {}
add_index(_KNOWN)


def _decline(*_: Any, **__: Any) -> None:
    """Return None: there is no code for these arguments."""


class KnownStep:
    """The code of a step for one row, ``entry``, and for batches, ``rows``; in ``kept`` is what it was made of.

    Both are functions (q, qd, h, t, *forces) -> (q, qd) of arrays, of one dtype and batch, that return None where they
    do not serve.
    """

    __slots__ = (
        "_numbers", "_numbers_of_rows", "changing", "entry", "has_arrays", "holds", "kept", "key", "rows", "watched",
    )  # fmt: skip

    def __init__(self, key: Any, has_arrays: bool, holds: bool, watched: list[Watched]) -> None:
        self.key = key
        self.entry: Any = _decline
        self.rows: Any = _decline
        self.has_arrays = has_arrays  # the controller, f_ext or both
        self.holds = holds  # the controller is a table of forces
        self.watched = watched
        self.changing = [x for x in watched if not x.is_fixed]
        self.kept: dict[Any, Any] = {}
        self._numbers: Any = (None,) * 4  # of the call before: dt and t, and their arrays
        self._numbers_of_rows: Any = (None,) * 5

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
            found = self.entry(q, qd, h, start)
        elif self.holds:
            found = None
            if f_ext is None and -_LARGE < t < _LARGE:
                found = self.entry(q, qd, h, start, controller.held(t))
        elif f_ext is None:
            found = self.entry(q, qd, h, start, controller)
        elif type(controller) is np.ndarray:
            found = self.entry(q, qd, h, start, controller, f_ext)
        else:
            found = self.entry(q, qd, h, start, f_ext)
        return self._with_other_kinds(q, qd, dt, t, controller, f_ext) if found is None else found

    def _with_other_kinds(self, q: Any, qd: Any, dt: Any, t: Any, controller: Any, f_ext: Any) -> Any:
        """Return the step for batches, float32 and whole numbers as dt and t; None for others."""
        if type(q) is not np.ndarray or (q.dtype is not _DOUBLE and q.dtype is not _SINGLE) or q.size > _MANY:
            return None
        batch, kind, before = q.shape[:-1], q.dtype, self._numbers_of_rows
        if before[0] is dt and before[1] is t and before[2] is kind and before[3] == batch:
            numbers = before[4]  # new ones take 2 us
        else:
            numbers = [_filled(x, batch, kind) for x in (dt, t)]
            if numbers[0] is None or numbers[1] is None:
                return None
            self._numbers_of_rows = dt, t, kind, batch, numbers
        code = self.rows if batch else self.entry
        if not self.has_arrays:
            return code(q, qd, *numbers)
        if self.holds:
            controller = controller.held(t).astype(kind, copy=False)
        tau, force = (x if type(x) is np.ndarray else None for x in (controller, f_ext))
        if batch:  # forces of one row are those of all
            tau, force = _for_rows(tau, batch, 1), _for_rows(force, batch, 2)
        arrays = [x for x in (tau, force) if x is not None]
        return code(q, qd, *numbers, *arrays)

    def first(self, setup: Setup, method: str, h: float, t: float, controller: Any) -> Any:
        """Return the step of a setup by code that is made now; None if that does not serve.

        From now on the step is known, unless its controller is called with numbers.
        """
        problem, system = setup.problem, setup.problem.system
        if setup.sampled is not None and not self.holds:
            return None
        form, result = "steps" if setup.batch else "step", None
        if setup.rows and (form == "step" or setup.q.size <= _MANY):
            code = step_code(problem, method, setup.dtype, form, self.kept)
            inputs = [(system.nq,), (system.nv,), (), (), *problem.constants.values()]
            name = "rows" if setup.batch else "entry"
            if getattr(self, name) is _decline:
                setattr(self, name, FastCall(inputs, inputs[:2], _decline))
            getattr(self, name).attach(shell, [code])
            constants = dict(setup.constants)
            if self.holds:
                constants["tau"] = controller.held(t).astype(setup.dtype)[None]
            with np.errstate(over="ignore"):  # the guard finds it
                numbers = [np.full(setup.rows, x, setup.dtype) for x in (h, t)]
            given = [*numbers, *constants.values()]
            rows = [np.ascontiguousarray(np.broadcast_to(x, (setup.rows, *x.shape[1:]))) for x in given]
            arrays = [setup.q, setup.qd, *rows]
            found = self.rows(*arrays) if setup.batch else self.entry(*[np.asarray(x[0]) for x in arrays])
            if found is not None:
                result = tuple(x.reshape((*setup.batch, x.shape[-1])) for x in found)
        self.keep(system)
        return result

    def keep(self, system: System) -> None:
        """Make the step known from now on."""
        known_of(system)
        _KNOWN.setdefault(id(system), {})[self.key] = self


def _filled(x: Any, batch: tuple[int, ...], kind: np.dtype[Any]) -> Array | None:
    """Return a number for every row; None if it is of a strange kind, or may not fit into float32."""
    if type(x) not in (float, np.float64, int) or not -_LARGE < x < _LARGE:
        return None
    return np.full(batch, x, kind)


def _for_rows(x: Array | None, batch: tuple[int, ...], core: int) -> Array | None:
    """Return the array with that batch, if it has none of its own."""
    return x if x is None or x.ndim != core else np.ascontiguousarray(np.broadcast_to(x, batch + x.shape))


def find(
    system: Any, method: Any, controller: Any, f_ext: Any, forces: Any, constraints: Any, stabilisation: Any
) -> KnownStep | None:
    """Return the step of these arguments, if it is known and what it was made of has not changed."""
    known = _KNOWN.get(id(system))
    if known is None:
        return None
    try:
        found = known.get(_key(method, controller, f_ext, forces, constraints, stabilisation))
    except TypeError:  # an argument that cannot be in a key
        return None
    if found is not None and found.changing and not all(x.is_unchanged() for x in found.changing):
        return None
    return found


def _key(method: Any, controller: Any, f_ext: Any, forces: Any, constraints: Any, stabilisation: Any) -> Any:
    # written out, since calls of a function for each argument would take 0.2 us
    if controller is not None:
        kind = type(controller)
        if kind is np.ndarray:
            controller = _ARRAY
        elif kind is MethodType:
            controller = id(controller.__self__), id(controller.__func__)
        else:
            controller = id(controller)
    if f_ext is not None:
        kind = type(f_ext)
        if kind is np.ndarray:
            f_ext = _ARRAY
        elif kind is MethodType:
            f_ext = id(f_ext.__self__), id(f_ext.__func__)
        else:
            f_ext = id(f_ext)
    if forces is not NO_FORCES:
        forces = tuple([id(x) for x in forces]) if type(forces) in (tuple, list) else id(forces)
    # the type, too: True is refused where 1.0 is not
    return method, controller, f_ext, forces, constraints, stabilisation, type(stabilisation)


def begin(
    system: Any, method: Any, controller: Any, f_ext: Any, forces: Any, constraints: Any, stabilisation: Any
) -> KnownStep | None:
    """Return a new step, which its first use makes known; None if one of the arguments cannot be watched.

    Called before functions are traced: what they read may change from then on.
    """
    holds = hasattr(controller, "held") and type(controller).__module__.startswith("sixd.")
    if holds and controller.held(0.0) is None:
        return None
    objects = [x for x in (controller, f_ext) if x is not None and type(x) is not np.ndarray]
    if not all(callable(x) for x in objects) or (hasattr(controller, "sample") and not holds):
        return None
    if not isinstance(system, System) or not isinstance(forces, (tuple, list, Force)):
        return None
    objects += (forces,) if isinstance(forces, Force) else forces
    try:
        key = _key(method, controller, f_ext, forces, constraints, stabilisation)
        hash(key)
        drop = partial(_drop, id(system), key)
        watched = [Watched(part, drop) for x in objects for part in parts(x)]
    except (Unwatchable, TypeError, RuntimeError):  # or an argument that is refused later
        return None
    return KnownStep(key, holds or any(type(x) is np.ndarray for x in (controller, f_ext)), holds, watched)


def _drop(system: int, key: Any, _: object) -> None:
    """Drop a step of which an object has died."""
    _KNOWN.get(system, {}).pop(key, None)
