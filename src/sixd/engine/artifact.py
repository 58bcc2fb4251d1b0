"""Compilation: from a function or a recipe, a system, a dtype and a target to code that can be called.

All code is made by :func:`build`: key, disk cache, trace, emit, image. The key of a library function of a model with
library joints needs no tracing; any other function is traced, and its graph is the key. The routines of a system are
kept in its memo.
"""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sixd.algorithms.operational.stack import parts_of
from sixd.algorithms.singular import reciprocal_pivots, singular_joints, watch_weights
from sixd.engine.functions import Function, Request
from sixd.engine.targets import CodeTarget, cpu
from sixd.errors import CompileWarning, SixdError, TraceError
from sixd.gc_pause import PAUSED
from sixd.model.builder import MASSLESS
from sixd.model.joints import BUILT_IN, parameters_of
from sixd.model.memo import known_of
from sixd.model.model import Model
from sixd.model.system import System
from sixd.runtime import cache as disk
from sixd.runtime.calls import CallableCode
from sixd.runtime.machine_code import Image
from sixd.runtime.routine import CodeForm, Rollout, Routine
from sixd.slow_work import watched
from sixd.spatial.scalar import Array
from sixd.trace.ops import Op
from sixd.trace.program import Program, trace
from sixd.trace.recipe import EachRow, Recipe, Repeated, TableCall, Work

# results are reported as suspect if they are not finite, or, of functions that divide by the mass matrix, if they are
# so large or the pivots so small that digits may be lost. Compiled code compares the sum of squares, which overflows
# first
LARGE_SOLUTION = 1e12
_LARGE_SQUARES = {"float64": 1e300, "float32": 1e37}
# a warning says how long compiling takes if that is above this [s]; per operation of a program that is cut at its
# bodies, and of another
_LONG, _MARKED, _UNMARKED = 15.0, 4e-6, 1e-4
MOST_ARRAYS = 64  # of a NumPy ufunc
_HEAD = 2  # arrays of a rollout besides those of its recipe: numbers of records and of steps
_FIELDS = ("placement", "inertia", "gravity", "rest", "stiffness", "damping", "friction", "armature")


# compiling --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class CompileUnit:
    """A unit of compilation.

    ``name``, ``system`` and ``detail`` appear in messages; ``key`` identifies it; ``trace()`` returns its program or
    recipe; ``limit`` is the sum of squares above which results are suspect; ``singular()`` returns the numbers of the
    joints that make it singular.
    """

    name: str
    system: str
    key: tuple[bytes | str, ...]
    form: str
    dtype: str
    trace: Callable[[], Program | Recipe]
    limit: float = 0.0
    singular: Callable[[], tuple[int, ...]] = tuple
    detail: str = ""


def build(work: CompileUnit, target: CodeTarget) -> CodeForm:
    """Return the code of a unit of compilation, from the disk cache if it is there."""
    key = disk.digest(*work.key, work.form, work.dtype, disk.fingerprint(), target.name, target.machine_key())
    entry = disk.read(key)
    part = None if entry is None else _unpack(entry)
    if part is None:
        # without a pause the collector takes a sixth of the time of 100,000 operations and more
        with watched(f"compiling {work.name} for {work.system!r}"), PAUSED:
            program = work.trace()
            _warn_if_long(work, program)
            image = target.emit(program, work.form, work.dtype, work.limit)
            outputs = tuple(slot.shape for slot in program.outputs) if isinstance(program, Program) else ()
            part = CodeForm(image, outputs, program.operations, work.singular())
        disk.write(key, _pack(part, work))
    return part


def shell() -> Image:
    """Return the code of calls from Python, which is the same for all systems and functions."""
    return _common("shell", "calls from Python")


def handlers() -> Image:
    """Return the code of calls from XLA, which is the same for all systems and functions."""
    return _common("handlers", "calls from XLA")


def _common(form: str, name: str) -> Image:
    key = disk.digest(form, disk.fingerprint(), cpu.name, cpu.machine_key())
    entry = disk.read(key)
    part = None if entry is None else _unpack(entry)
    if part is None:
        part = CodeForm(cpu.emit(None, form, ""), (), 0)
        disk.write(key, _pack(part, CompileUnit(name, "", (), form, "", _no_program)))
    return part.image


def _no_program() -> Program:
    raise NotImplementedError


def _warn_if_long(work: CompileUnit, program: Program | Recipe) -> None:
    parts = [program] if isinstance(program, Program) else program.programs
    seconds = sum(part.operations * (_MARKED if part.marks else _UNMARKED) for part in parts)
    if seconds > _LONG:
        warnings.warn(
            f"{work.name}: compiling {sum(part.operations for part in parts):,} operations for {work.system!r} takes "
            f"about {seconds:.0f} s, once: the code is kept on disk.",
            CompileWarning,
            stacklevel=4,
        )


def _pack(part: CodeForm, work: CompileUnit) -> disk.CachedKernel:
    header = {
        "name": f"{work.name} {work.detail}".strip(), "model": work.system,
        "functions": part.image.functions, "linked": part.image.linked,
        "outputs": part.outputs, "operations": part.operations, "singular": part.singular,
    }  # fmt: skip
    return disk.CachedKernel(header, part.image.code)


def _unpack(entry: disk.CachedKernel) -> CodeForm | None:
    try:
        h = entry.header
        image = Image(entry.image, {str(k): int(v) for k, v in h["functions"].items()}, bool(h["linked"]))
        outputs = tuple(tuple(int(n) for n in shape) for shape in h["outputs"])
        return CodeForm(image, outputs, int(h["operations"]), tuple(int(i) for i in h["singular"]))
    except (KeyError, TypeError, ValueError):
        return None  # written by another version: build again


# programs ---------------------------------------------------------------------------------------


def trace_request(model: System, request: Request) -> Program:
    """Return the traced program of a request."""
    function = request.function

    def one(*row: Any) -> Any:
        return function.row(model, request.choices, *request.split(row), dtype=request.dtype)

    try:
        with np.errstate(all="ignore"):  # constants of a singular model may divide by zero
            shapes = {name: function.core(model, name) for name in request.arrays}
            program = trace(one, shapes, request.dtype, watch=_watch(model, request))
    except TraceError as error:
        joints = model.joints if isinstance(model, Model) else ()
        own = sorted({type(j).__name__ for j in joints if type(j) not in BUILT_IN})
        hint = f" The model has joints of your own, {own}, which must be written in that way, too." if own else ""
        raise TraceError(f"{function.name}: {error}{hint}") from error
    except SixdError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        traced = any(word in str(error) for word in ("Expr", "ufunc", "dtype('O')", "inhomogeneous"))
        if function.named or not traced:  # a mistake of another kind
            raise
        raise TraceError(
            f"{function.name}: it cannot be run on traced scalars: {error}. Use the functions of sixd.spatial (sin, "
            f"sqrt, where …) instead of NumPy's, and return numbers in an array or in a tuple of arrays."
        ) from error
    if not program.outputs:
        raise TraceError(f"{function.name}: it returns an empty tuple, expected an array or a tuple of arrays.")
    count = len(program.inputs) + len(program.outputs)
    if count > MOST_ARRAYS:
        raise TraceError(f"{function.name}: {count} arrays go in and out, expected at most {MOST_ARRAYS}. Join some.")
    if program.nodes:
        program.nodes[0].graph.close()
    return program


def _watch(model: System, request: Request) -> Callable[..., list[tuple[Any, float]]] | None:
    """Function of a state that returns weighted reciprocal pivots, which compiled code checks; None if not needed."""
    function, prescribed = request.function, request.function.prescribed(request.choices)
    if not (function.solves and function.check_finite) or model.symbols:
        return None
    weights = watch_weights(model, prescribed, request.dtype) * LARGE_SOLUTION
    q_index = request.arrays.index("q")

    def pairs(*row: Array) -> list[tuple[Any, float]]:
        return list(zip(reciprocal_pivots(model, row[q_index], prescribed), weights.tolist(), strict=True))

    return pairs


def graph_text(program: Program) -> bytes:
    """Return a program as bytes, which are equal for equal graphs in every process."""
    position = {node.index: k for k, node in enumerate(program.nodes)}
    lines = [f"{[(s.name, s.shape) for s in program.inputs]}"]
    for n in program.nodes:
        if len(n.args) == 2:  # nearly all; apart, in half the time
            a, b = n.args
            lines.append(f"{n.op.word} None [{position[a.index]}, {position[b.index]}]")
        else:
            value = n.value.hex() if n.op is Op.CONST else n.value
            lines.append(f"{n.op.word} {value} {[position[a.index] for a in n.args]}")
    lines += [f"{s.shape} {[position[e.index] for e in s.entries]}" for s in program.outputs]
    lines += [f"watched {position[node.index]} {weight.hex()}" for node, weight in program.watched]
    return "\n".join(lines).encode()


def recipe_key(recipe: Recipe, dtype: str) -> str:
    """Return a digest of a recipe, which is equal for equal recipes in every process."""
    numbers: dict[int, int] = {}
    parts = (
        list(recipe.memory.items()), recipe.state, recipe.constants, recipe.results, recipe.guard, recipe.series,
        recipe.recorded, recipe.backwards,
    )  # fmt: skip
    lines = [repr(parts).encode()]

    def describe(work: Work) -> Any:
        if isinstance(work, Repeated):
            own = work.inputs, work.outputs, work.results, work.most, work.when, work.tape, work.made, work.rewinds
            return *own, [describe(part) for part in work.works]
        if isinstance(work, EachRow):
            parts = work.source_parts, work.output_parts, work.rows, work.when
            names = work.sources, work.rows_in, work.inputs, work.outputs, work.results
            return *names, parts, [describe(part) for part in work.works]
        if id(work.program) not in numbers:
            numbers[id(work.program)] = len(numbers)
            lines.append(graph_text(work.program))
        table = (work.starts, work.added, work.rows, work.when) if isinstance(work, TableCall) else ()
        return numbers[id(work.program)], work.inputs, work.outputs, table

    lines.append(repr([describe(work) for work in recipe.works]).encode())
    return disk.digest(dtype, *lines)


# kernels ----------------------------------------------------------------------------------------


def routine(system: System, request: Request) -> Routine:
    """Return the routine of a request, which the system's memo keeps."""
    known = known_of(system)
    found = known.get(request)
    return found if found is not None else known.setdefault(request, make_routine(system, request))


def make_routine(system: System, request: Request, program: Program | None = None) -> Routine:
    """Return a routine that compiles when its code is first needed, and does not keep the system alive.

    ``program`` is the traced program of the request, if there is one already.
    """
    shapes = tuple(request.function.core(system, name) for name in request.arrays)
    return request.target.kernel(
        request.function.name, shapes, request.dtype, _Provider(weakref.ref(system), request, program)
    )


class _Provider:
    """Provides the parts of a routine; the caller of the routine holds the system."""

    def __init__(self, system: weakref.ref[System], request: Request, program: Program | None) -> None:
        self.system, self.request, self.program = system, request, program

    def __call__(self, form: str) -> CodeForm:
        system, request = self.system(), self.request
        assert system is not None
        function = request.function
        numbers = _model_key(system) if _is_known(system, function) else None
        if numbers is None and self.program is None:
            # traced once: variables that a user's function closes over may change
            self.program = trace_request(system, request)
        program = self.program
        if program is not None:
            key: tuple[bytes | str, ...] = ("graph", graph_text(program), str(function.solves))
        else:
            key = ("library", function.name, numbers or b"", _choices_key(system, request))

        def singular() -> tuple[int, ...]:
            if not (isinstance(system, Model) and function.solves):
                return ()
            names = singular_joints(system, function.prescribed(request.choices))
            return tuple(system.joint_names.index(n) + 1 for n in names)

        limit = LARGE_SOLUTION**2 if function.solves else _LARGE_SQUARES[request.dtype]
        trace = (lambda: program) if program is not None else (lambda: trace_request(system, request))
        work = CompileUnit(function.name, system.name, key, form, request.dtype, trace, limit, singular)
        return build(work, request.target)


def library_key(system: System, request: Request) -> bytes | None:
    """What determines the code of a request, but for its dtype and target, without tracing it; None if only the traced
    program does."""
    numbers = _model_key(system) if _is_known(system, request.function) else None
    return None if numbers is None else repr((request.function.name, numbers, _choices_key(system, request))).encode()


def _is_known(system: System, function: Function) -> bool:
    """Whether the numbers of a model determine what a function computes."""
    return function.named and not (function.generic and system.constraints)


def _model_key(model: System) -> bytes | None:
    """The numbers of a model that any function uses, as bytes; None if a joint or a symbol is not the library's."""
    if not isinstance(model, Model) or model.symbols or not all(type(j) in BUILT_IN for j in model.joints):
        return None
    joints = [(type(j).__name__, [float(x).hex() for x in parameters_of(j)]) for j in model.joints]
    parts = [repr((model.parent, joints)).encode()]
    arrays = {name: np.array(getattr(model, name), dtype=float) for name in _FIELDS}
    arrays["inertia"][0] = MASSLESS.matrix  # functions do not use bodies that are fixed to the world
    parts += [array.tobytes() for array in arrays.values()]
    return b"|".join(parts)


def _choices_key(model: System, request: Request) -> str:
    """The choices as text that does not depend on names."""
    words: list[Any] = [request.force, sorted(request.function.shapes.items()), request.arrays]
    for name, value in zip(request.function.choices, request.choices, strict=True):
        if name in ("frame", "relative_to"):
            frames = [(model.frame(label), rows) for label, rows in parts_of(value)]
            words += [(frame.body, [float(x).hex() for x in frame.pose.ravel()], rows) for frame, rows in frames]
        else:
            words.append(sorted(value) if isinstance(value, frozenset) else value)
    return repr(words)


# rollouts ---------------------------------------------------------------------------------------


def make_rollout(
    recipe: Recipe, key: str, name: str, method: str, system: str, dtype: str, target: CodeTarget = cpu
) -> Rollout:
    """Return the code of a recipe with this :func:`recipe_key`: many steps of many states in one call."""
    count = _HEAD + len(recipe.inputs) + len(recipe.outputs)
    if count > MOST_ARRAYS:
        raise TraceError(
            f"{name}: {count} arrays go in and out of a step of {system!r}, expected at most {MOST_ARRAYS}. Make fewer "
            f"parameters variable."
        )
    part = build(CompileUnit(name, system, ("recipe", key), "rollout", dtype, lambda: recipe, detail=method), target)
    fixed = [recipe.memory[n] for n in (*recipe.state, *recipe.constants)]
    series = [("r", *recipe.memory[n]) for n in recipe.series]
    outputs = [(*(("r",) if each else ()), *recipe.memory[n]) for n, each in recipe.outputs.items()]
    return target.rollout(part.image, name, dtype, [*fixed, *series], outputs, recipe.operations)


def make_step(
    recipe: Recipe, key: str, form: str, method: str, system: str, dtype: str, target: CodeTarget = cpu
) -> CallableCode:
    """Return the code of a recipe for a single step, of one state ("step") or of states ("steps"), for a plan.

    Rows are suspect if the recipe's guard is not 1.
    """
    part = build(CompileUnit("step", system, ("recipe", key), form, dtype, lambda: recipe, detail=method), target)
    inputs = [recipe.memory[n] for n in (*recipe.state, *recipe.constants)]
    return target.step(part.image, form, dtype, inputs, [recipe.memory[n] for n in recipe.results], recipe.operations)
