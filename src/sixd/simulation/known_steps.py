"""Steps that were made before: compiled code for one row of a system, by method and forces, found in one lookup.

Forces given as arrays, the step's length and the time are arguments of that code. Functions and force elements are part
of it: they are known by their addresses, watched for changes, and not kept alive. When one dies, the code is dropped.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import MethodType
from typing import Any

import numpy as np

from sixd.forces.elements import Force
from sixd.model.memo import known_of, new_index
from sixd.model.system import System
from sixd.runtime.cpython import decline, layout_is_known
from sixd.simulation.setup import Setup
from sixd.simulation.stepping.single_step import step_code
from sixd.simulation.watched_objects import Unwatchable, Watched, parts
from sixd.spatial.scalar import Array

NO_FORCES = ()
_ARRAY = "array"  # in a key: an argument of the code
_FLOAT32 = np.dtype("float32")

# by id of the system, then by the other arguments
_KNOWN: dict[int, dict[Any, KnownStep]] = new_index()


class KnownStep:
    """The code of a step for one row in float64 and in float32, and in ``kept`` what it was made of.

    ``entry(q, qd, dt, t)``, with the forces if ``has_arrays``, returns (q, qd), or None for arguments of other kinds.
    """

    __slots__ = ("changing", "entry", "entry32", "has_arrays", "holds", "kept", "key", "watched")

    def __init__(self, key: Any, has_arrays: bool, holds: bool, watched: list[Watched]) -> None:
        self.key = key
        self.entry: Callable[..., Any] = decline
        self.entry32: Callable[..., Any] = decline
        self.has_arrays = has_arrays
        self.holds = holds  # the controller is a table of forces
        self.watched = watched
        self.changing = [x for x in watched if not x.is_fixed]
        self.kept: dict[Any, Any] = {}

    def with_other_kinds(self, q: Any, qd: Any, dt: Any, t: Any, controller: Any, f_ext: Any) -> Any:
        """Return the step for float32, for whole numbers and NumPy's as dt and t, and for tables of forces; or None."""
        dt, t = (float(x) if type(x) is np.float64 or (type(x) is int and abs(x) < 2**53) else x for x in (dt, t))
        if type(dt) is not float or type(t) is not float or t - t != 0.0:
            return None
        single = getattr(q, "dtype", None) is _FLOAT32
        if self.holds:
            controller = controller.held(t)
            controller = controller.astype(_FLOAT32) if single else controller
        arrays = [x for x in (controller, f_ext) if type(x) is np.ndarray]
        return (self.entry32 if single else self.entry)(q, qd, dt, t, *arrays)

    def first(self, setup: Setup, method: str, h: float, t: float, controller: Any) -> Any:
        """Return the step of a setup by the code for one row, made now if it is new; None if that does not fit.

        From now on the step is known, unless the controller is called with numbers.
        """
        if setup.sampled is not None and not self.holds:
            return None
        known_of(setup.problem.system)
        _KNOWN.setdefault(id(setup.problem.system), {})[self.key] = self
        if setup.batch != () or not layout_is_known():
            return None
        constants = {name: x[0] for name, x in setup.constants.items()}
        if self.holds:
            constants["tau"] = controller.held(t).astype(setup.dtype)
        entry = step_code(setup.problem, method, setup.dtype, self.kept)
        if setup.dtype == "float64":
            self.entry = entry
        else:
            self.entry32 = entry
        return entry(setup.q[0], setup.qd[0], h, t, *constants.values())


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
    if found is not None and found.changing and not all([x.is_unchanged() for x in found.changing]):
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
