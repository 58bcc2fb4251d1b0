"""Arguments of simulations that are arrays on a GPU: rows of states and constants there, and their problem.

The problem is found by a setup of the processor for one row that stands in for them: shapes and options are checked,
but not the numbers, which would have to be copied.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.api.manifold import integrate
from sixd.engine.kernel import batched
from sixd.engine.parameters import parameter_shape
from sixd.engine.public import declaration
from sixd.engine.targets import CodeTarget, cuda
from sixd.errors import DeviceError, ScalarTypeError, ShapeError
from sixd.model.system import System, require_system
from sixd.runtime.array_libraries import GPU, common_kind, kind_of
from sixd.runtime.cuda.arrays import Library, layout_of, library_of, read_array
from sixd.runtime.cuda.device import device
from sixd.simulation.problem import Problem
from sixd.simulation.setup import Setup, make_setup
from sixd.simulation.stepping import midpoint
from sixd.simulation.stepping.compiled_steps import has_momenta, state_shapes

Shape = tuple[int, ...]
_NUMBERS = (float, int, np.float64, np.float32)


@dataclass(frozen=True, eq=False)
class GpuRows:
    """Arrays on a GPU: q (rows, nq), qd (rows, nv), and constants (rows or 1, core) by name; ``batch`` is the shape of
    the batch, whose entries are the rows. ``like`` is one of the arrays as given."""

    where: str
    batch: Shape
    q: Any
    qd: Any
    constants: dict[str, Any]
    dtype: str
    like: Any
    library: Library
    target: CodeTarget

    @property
    def rows(self) -> int:
        """Number of rows."""
        return math.prod(self.batch)

    def zeros(self, shape: Shape) -> Any:
        """An array of zeros on the GPU."""
        return self.library.full(self.like, shape, 0.0)

    def number(self, x: float) -> Any:
        """An array (1,) on the GPU: one number for all rows."""
        return self.library.full(self.like, (1,), x)

    def numbers(self, x: Any) -> Any:
        """A copy of numbers of the processor on the GPU."""
        return self.library.upload(self.like, np.asarray(x, self.dtype))

    def shaped(self, x: Any) -> Any:
        """An array (rows, …) in the shape of the batch."""
        return x.reshape((*self.batch, *x.shape[1:]))

    def started(self, setup: Setup, method: str, *, momenta: bool = True) -> dict[str, Any]:
        """The state before the first step, by name, with quaternions of unit length; see :func:`state_shapes`."""
        problem, system = setup.problem, setup.problem.system
        q, qd = self.q, self.qd
        if system.nq != system.nv:
            names = problem.parameters if system.symbols else ()
            move = batched(self.where, declaration(integrate), system, names, self.dtype)
            q = move(q, self.zeros((self.rows, system.nv)), *(self.constants[name] for name in names))
        state = {"q": q, "qd": qd, "u": self._internal(setup)}
        if momenta and has_momenta(problem, method):
            values = [self.constants[name] for name in problem.parameters]
            moments = batched(self.where, midpoint.MOMENTUM, system, problem.parameters, self.dtype)
            state |= {"p": moments(q, qd, *values), "v": qd}
        shapes = state_shapes(problem, method, momenta=momenta)
        return {name: state[name] if name in state else self.zeros((self.rows, *shapes[name])) for name in shapes}

    def _internal(self, setup: Setup) -> Any:
        """The states of force elements at the start."""
        row = setup.u[0]
        shape = (self.rows, len(row))
        return self.library.rows(self.numbers(row), shape) if row.any() else self.zeros(shape)


def are_on_gpu(*values: Any, parameters: Any = None) -> bool:
    """Whether one of these arguments of a simulation, or of the parameters, is an array on a GPU."""
    more = parameters.values() if isinstance(parameters, Mapping) else ()
    return any(kind_of(x) == GPU for x in (*values, *more))


def make_rows(
    where: str,
    system: System,
    q: Any,
    qd: Any,
    arrays: Mapping[str, tuple[Any, Shape]],
    parameters: Mapping[str, Any] | None,
) -> GpuRows:
    """The rows of arguments, each with its core shape: ``arrays`` are constants other than parameters."""
    require_system(where, system)
    if isinstance(q, str):
        raise ScalarTypeError(f"{where}: q is {q!r}, expected an array on the GPU, as other arguments are.")
    given = {"q": (q, (system.nq,)), "qd": (qd, (system.nv,)), **arrays}
    given |= {str(name): (x, parameter_shape(where, system, str(name))) for name, x in (parameters or {}).items()}
    labels = {name: "controller" if name == "tau" else name for name in given}
    common_kind(where, tuple(labels.values()), tuple(x for x, _ in given.values()))
    like = next(x for x, _ in given.values() if kind_of(x) == GPU)
    first = read_array(where, "an array", like)
    library = library_of(where, like)
    shapes: dict[str, Shape] = {}
    for name, (x, core) in given.items():
        if x is None or (core == () and type(x) in _NUMBERS):
            shapes[name] = ()
            continue
        label = labels[name]
        found = read_array(where, label, x)
        if found.dtype != first.dtype:
            raise ScalarTypeError(
                f"{where}: {label} holds {found.dtype}, but others {first.dtype}, expected one dtype. Convert it."
            )
        if found.device != first.device and min(found.device, first.device) >= 0:
            raise DeviceError(f"{where}: {label} is on another GPU than others, expected all on one. Copy it.")
        shapes[name] = layout_of(where, label, found, core).batch
    batch = _common(where, {labels[name]: shape for name, shape in shapes.items()})
    rows = math.prod(batch)

    def whole(name: str, neutral: Any) -> Any:
        """A state in all rows."""
        x, core = given[name]
        x = library.upload(like, np.asarray(neutral, first.dtype)) if x is None else x
        same = shapes[name] == batch and given[name][0] is not None
        return (x if same else library.rows(x, batch + core)).reshape((rows, *core))

    constants: dict[str, Any] = {}
    for name, (x, core) in given.items():
        if name not in ("q", "qd"):
            one = type(x) in _NUMBERS or not shapes[name]
            x = library.full(like, (), float(x)) if type(x) in _NUMBERS else x
            full = x if one or shapes[name] == batch else library.rows(x, batch + core)
            constants[name] = full.reshape((1 if one else rows, *core))
    target = cuda(device(where, max(first.device, 0)).architecture)
    start = whole("q", system.initial_configuration()), whole("qd", np.zeros(system.nv))
    return GpuRows(where, batch, *start, constants, first.dtype, like, library, target)


def _common(where: str, shapes: Mapping[str, Shape]) -> Shape:
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{name} {shape}" for name, shape in shapes.items())
        raise ShapeError(f"{where}: the batch dimensions do not broadcast: {listed}.") from None


def constants_of(system: System, controller: Any, f_ext: Any) -> dict[str, tuple[Any, Shape]]:
    """The forces of a simulation that are arrays, with their core shapes, by the names of constants."""
    found: dict[str, tuple[Any, Shape]] = {}
    if controller is not None and not is_function(controller):
        found["tau"] = controller, (system.nv,)
    if f_ext is not None and not callable(f_ext):
        found["f_ext"] = f_ext, (system.nb, 6)
    return found


def is_function(controller: Any) -> bool:
    """Whether a controller is a function or an object that is called, not an array."""
    return callable(controller) or hasattr(controller, "sample")


def stand_in(rows: GpuRows, system: System, controller: Any, f_ext: Any) -> tuple[Any, Any]:
    """The controller and f_ext, with zeros of the processor, for one row, instead of arrays on the GPU."""
    tau = controller if controller is None or is_function(controller) else np.zeros(system.nv, rows.dtype)
    force = f_ext if f_ext is None or callable(f_ext) else np.zeros((system.nb, 6), rows.dtype)
    return tau, force


def make_setup_of(
    rows: GpuRows, system: System, *, controller: Any, sample_time: Any, f_ext: Any, parameters: Any, **options: Any
) -> Setup:
    """A setup of one row of the processor, with the problem of these rows; ``options`` as for :func:`make_setup`."""
    where, kind = rows.where, np.dtype(rows.dtype)
    tau, force = stand_in(rows, system, controller, f_ext)
    values = {name: np.ones(rows.constants[str(name)].shape[1:], kind) for name in parameters or ()}
    setup = make_setup(
        where, system, system.neutral().astype(kind), np.zeros(system.nv, kind), controller=tau,
        sample_time=sample_time, f_ext=force, parameters=values or None, seed=None, start=None, **options,
    )  # fmt: skip
    if setup.sampled is not None:
        raise ScalarTypeError(
            f"{where}: the controller is called with numbers between the steps, but arrays are on a GPU, where all "
            f"steps are one compiled program. Give a function (t, q, qd) -> tau of the functions of sixd.spatial, "
            f"without sample_time and rng, or copy the arrays to the processor."
        )
    return setup


def launch(
    code: Callable[..., list[Any]], rows: GpuRows, counts: Any, state: Mapping[str, Any], problem: Problem, h: float,
    start: float = 0.0,
) -> dict[str, Any]:  # fmt: skip
    """Start the steps of a rollout, and return its results by the names of the state."""
    constants = [rows.number(h), rows.number(start), *(rows.constants[name] for name in problem.constants)]
    return dict(zip(state, code(counts, [*state.values(), *constants]), strict=True))
