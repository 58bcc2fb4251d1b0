"""One time step of a scenario: ``Scenario.stepper``, and the code that ``sixd.step`` finds again at each call.

``sixd.step`` keeps code only of parts that cannot change. They are known by their addresses and not kept alive: when
one dies, its code is dropped. All other parts are read anew at each call.
"""

from __future__ import annotations

import weakref
from abc import ABC
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import fields, replace
from functools import partial
from types import CellType, FunctionType
from typing import TYPE_CHECKING, Any, final

import numpy as np

from sixd.errors import require_known
from sixd.model.memo import add_index, known_of
from sixd.model.system import System
from sixd.runtime.arrays.registry import by_library, needs_numpy
from sixd.simulation.arguments import finite_time
from sixd.simulation.controller import independent_copy
from sixd.simulation.setup import make_problem, require_inertia
from sixd.simulation.stepping.compiled_steps import FIXED_STEP, rollout
from sixd.simulation.stepping.fixed import STEP
from sixd.simulation.stepping.single_step import step_code
from sixd.simulation.stepping.step_code import StepCode, advanced, require_stateless
from sixd.spatial.scalar import Array

if TYPE_CHECKING:
    from sixd.simulation.scenario import Scenario

_ARRAY = "array"  # in a key: an input of the code
_IMMUTABLE = (type(None), bool, int, float, complex, str, bytes, np.generic, System)


def step_run(run: Scenario, q: Any, qd: Any, t: Any) -> tuple[Any, Any]:
    """Return the state (q, qd) one step of a scenario later."""
    h, code = STEP if run.dt is None else run.dt, None
    options = run.model, run.method, run.controller, run.f_ext, run.forces, run.constraints, run.stabilisation
    if not run.parameters:
        code = find(*options)
        result = None if code is None else code.advance(q, qd, h, t, run.controller, run.f_ext)
        if result is not None:
            return result
    require_known("step: method", "choice", run.method, FIXED_STEP)
    t = finite_time("step", t)
    if needs_numpy(q, qd, run.controller, run.f_ext):

        def on_numpy(values: Sequence[Any], _: Any) -> Any:
            q, qd, controller, f_ext = values
            return step_run(replace(run, controller=controller, f_ext=f_ext), q, qd, t)

        values = q, qd, run.controller, run.f_ext
        return by_library("step", ("q", "qd", "controller", "f_ext"), values, None, on_numpy)
    new = _begin(run) if code is None and not run.parameters else None  # before functions are traced
    result = advanced("step", run, q, qd, h, t, code or new, None, code is not None)
    if new is not None and not new.is_empty:
        known_of(run.model)
        _KNOWN.setdefault(id(run.model), {})[_key(*options[1:])] = new
    return result


# by id of the system, then by the other arguments
_KNOWN: dict[int, dict[Any, StepCode]] = {}
add_index(_KNOWN)


def find(
    system: Any, method: Any, controller: Any, f_ext: Any, forces: Any, constraints: Any, stabilisation: Any
) -> StepCode | None:
    """Return the code of a step of these arguments, if there is some."""
    known = _KNOWN.get(id(system))
    if known is None:
        return None
    try:
        code = known.get(_key(method, controller, f_ext, forces, constraints, stabilisation))
    except TypeError:  # an argument that cannot be in a key
        return None
    if code is None or not code.cells:
        return code
    try:
        return code if all(cell.cell_contents is value for cell, value in code.cells) else None
    except ValueError:  # a variable was deleted
        return None


def _key(method: Any, controller: Any, f_ext: Any, forces: Any, constraints: Any, stabilisation: Any) -> Any:
    # written out, since a call of a function for each argument would take 0.2 us
    if controller is not None:
        controller = _ARRAY if type(controller) is np.ndarray else id(controller)
    if f_ext is not None:
        f_ext = _ARRAY if type(f_ext) is np.ndarray else id(f_ext)
    forces = tuple([id(x) for x in forces]) if type(forces) in (tuple, list) else (id(forces),)
    # the type, too: True is refused where 1.0 is not
    return method, controller, f_ext, forces, constraints, stabilisation, type(stabilisation)


def _begin(run: Scenario) -> StepCode | None:
    """Return new code without content; None if a part of the scenario can change."""
    controller, f_ext = run.controller, run.f_ext
    is_table = hasattr(controller, "held") and type(controller).__module__.startswith("sixd.")
    if is_table and controller.held(0.0) is None:
        return None
    parts = [x for x in (controller, f_ext) if x is not None and not _is_array(x)]
    if not all(map(callable, parts)) or (hasattr(controller, "sample") and not is_table):
        return None
    parts += run.forces
    has_arrays = is_table or any(x is not None and _is_array(x) for x in (controller, f_ext))
    code = StepCode(has_arrays, is_table)
    options = run.method, controller, f_ext, run.forces, run.constraints, run.stabilisation
    drop = partial(_drop, id(run.model), _key(*options))
    try:
        for part in parts:
            code.cells += _variables(part, set())
            code.parts.append(weakref.ref(part, drop))
    except (TypeError, ValueError):  # it can change, be garbage-collected without notice, or lacks a variable
        return None
    return code


def _is_array(x: Any) -> bool:
    return type(x) is np.ndarray or (not callable(x) and hasattr(x, "shape"))


def _drop(system: int, key: Any, _: object) -> None:
    """Drop the code of which an object has died."""
    _KNOWN.get(system, {}).pop(key, None)


def _variables(part: Any, seen: set[int]) -> Iterator[tuple[CellType, Any]]:
    """Yield the variables of closures in a part of a scenario, and their values; TypeError if it can change otherwise.
    Numbers, texts, systems, frozen dataclasses of such, and functions whose closures hold such cannot change. ``seen``
    are the ids of the functions before this part, which may call each other."""
    if isinstance(part, _IMMUTABLE):
        return
    inner: Iterable[Any]
    if isinstance(part, (tuple, frozenset)):
        inner = part
    elif isinstance(part, FunctionType):
        if id(part) in seen:
            return
        seen.add(id(part))
        cells = part.__closure__ or ()
        yield from ((cell, cell.cell_contents) for cell in cells)
        inner = *(cell.cell_contents for cell in cells), part.__defaults__, *(part.__kwdefaults__ or {}).values()
    elif isinstance(part, np.ndarray):
        if part.flags.writeable or part.base is not None:
            raise TypeError
        return
    elif type(part).__module__.startswith("sixd.") and hasattr(type(part), "__dataclass_params__"):
        # its numbers cannot be changed, but a target, say, may be a user's object
        inner = filter(callable, vars(part).values())
    elif _is_frozen(type(part)):
        inner = vars(part).values()
    else:
        raise TypeError
    for x in inner:
        yield from _variables(x, seen)


def _is_frozen(cls: type) -> bool:
    """Whether objects of a class of the user's cannot change: frozen dataclasses all through, whose only variables are
    fields, and whose methods have no closures. A subclass that is no dataclass can set attributes."""
    for own in (c for c in cls.__mro__ if c not in (ABC, object) and not c.__module__.startswith("sixd.")):
        if not getattr(vars(own).get("__dataclass_params__"), "frozen", False):
            return False
        for name, x in vars(own).items():
            x = x.fget if isinstance(x, property) else getattr(x, "__func__", x)
            is_method = isinstance(x, FunctionType) and set(x.__code__.co_freevars) <= {"__class__"}
            is_made = name == "_abc_impl" or (name[:2] == name[-2:] == "__" and name != "__call__")  # not by the user
            if not (is_method or is_made or name in {field.name for field in fields(own)}):
                return False
    return True


# steppers ---------------------------------------------------------------------------------------


@final
class Stepper:
    """A compiled time step of a scenario: ``stepper(q, qd, t=0.0, tau=None)`` returns the state (q, qd) one step later.

    Made by ``Scenario.stepper()``. It is the fast way for loops in Python, such as a controller with a clock of its own
    or a learning environment.

    Parameters
    ----------
    q, qd : (…, nq), (…, nv), one state or a batch.
    t : the time [s], for controllers, forces and constraints that depend on it.
    tau : (…, nv), joint forces held during the step [N m or N], which are added to the controller's.

    Notes
    -----
    A stepper is frozen: it was made from copies of the scenario's controller, f_ext and forces. What changes in these
    afterwards, attributes and variables of closures among them, has no effect; make a new stepper instead. A controller
    that cannot be compiled, or that has a sample time, is called with numbers before each step; it may keep a memory,
    which belongs to the stepper.

    >>> import sixd
    >>> advance = sixd.Scenario(sixd.zoo.pendulum(), dt=0.01).stepper()
    >>> q, qd = [0.5], [0.0]
    >>> for k in range(100):
    ...     q, qd = advance(q, qd, 0.01 * k, tau=[-0.1])
    """

    def __init__(self, run: Scenario) -> None:
        require_known(f"{_STEPPER}: method", "choice", run.method, FIXED_STEP)
        self._h = STEP if run.dt is None else run.dt
        forces = tuple(map(_copied, run.forces))
        run = replace(run, controller=_copied(run.controller), f_ext=_copied(run.f_ext), forces=forces)
        problem, self._sampled = make_problem(_STEPPER, run)
        require_stateless(problem)
        require_inertia(problem)
        self._constant = run.controller if problem.law is None and self._sampled is None else None
        self._run = run if problem.law is not None else replace(run, controller=None, sample_time=None)
        self._f_ext = run.f_ext if problem.has_f_ext else None
        self._plain, self._forced = StepCode(problem.has_f_ext), StepCode(has_arrays=True)
        self._last: tuple[float, Any] | None = None  # of a sampled controller: the time of the call before, and tau
        # compiled now, from what functions are now
        code = self._forced if problem.has_tau else self._plain
        if problem.parameters:
            rollout(problem, run.method, "float64", code.kept)
        else:
            step_code(problem, run.method, "float64", "step", code.kept)

    def __call__(self, q: Any, qd: Any, t: Any = 0.0, tau: Any = None) -> tuple[Any, Any]:
        """Return the state (q, qd) one step later; see the class."""
        if self._sampled is not None:
            tau = _sum(self._sample(q, qd, t), tau)
        elif self._constant is not None:
            tau = _sum(self._constant, tau)
        code = self._plain if tau is None else self._forced
        result = code.advance(q, qd, self._h, t, tau, self._f_ext)
        if result is not None:
            return result
        t = finite_time(_STEPPER, t)
        if needs_numpy(q, qd, tau, self._f_ext):

            def on_numpy(values: Sequence[Any], _: Any) -> Any:
                q, qd, tau, f_ext = values
                run = self._run if f_ext is None else replace(self._run, f_ext=f_ext)
                return advanced(_STEPPER, run, q, qd, self._h, t, code, tau, checked=True)

            values = q, qd, tau, self._f_ext
            return by_library(_STEPPER, ("q", "qd", "tau", "f_ext"), values, None, on_numpy)
        return advanced(_STEPPER, self._run, q, qd, self._h, t, code, tau, checked=True)

    def _sample(self, q: Any, qd: Any, t: Any) -> Array:
        """Return the forces (…, nv) of a controller that is called with numbers, from its last sample on.

        Between samples they are held as long as the times of calls follow each other by one step.
        """
        sampled, t = self._sampled, finite_time(_STEPPER, t)
        assert sampled is not None
        q, qd = np.asarray(q, dtype=float), np.asarray(qd, dtype=float)
        batch = np.broadcast_shapes(q.shape[:-1], qd.shape[:-1])
        if self._last is not None and sampled.interval is not None and batch == sampled.batch:
            before, tau = self._last
            lines = [int(x / sampled.interval + 1e-6) for x in (before, t)]
            if lines[0] == lines[1] and abs(t - before - self._h) < 1e-6 * self._h:
                self._last = t, tau
                return tau
        if batch != sampled.batch:
            sampled = self._sampled = replace(sampled, batch=batch)
        states = [np.broadcast_to(x, (*batch, x.shape[-1])).reshape((-1, x.shape[-1])) for x in (q, qd)]
        tau = sampled(t, *states).reshape((*batch, -1))
        self._last = t, tau
        return tau


_STEPPER = "stepper"


def _sum(a: Any, b: Any) -> Any:
    return a if b is None else np.asarray(a) + b if type(b) in (list, tuple) else a + b


def _copied(part: Any) -> Any:
    """Return a copy of a controller or force element, or itself if it cannot be copied."""
    try:
        return independent_copy(part)
    except Exception:
        return part
