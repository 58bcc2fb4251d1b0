"""The junction: a function, a model and a target give a routine.

Routines of a model live here, in a map that forgets a model when it is gone; compiled code also lives on disk. A
library function of a model made of library joints has a key that needs no tracing; any other is traced, and its graph
is the key.
"""

from __future__ import annotations

import warnings
import weakref
from collections import defaultdict
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.singular import reciprocal_pivots, singular_joints, watch_weights
from sixd.engine.functions import Function
from sixd.errors import CompileWarning, SixdError, TraceError
from sixd.locks import FORKS_WAIT, Lock
from sixd.model.builder import MASSLESS
from sixd.model.joints import BUILT_IN, parameters_of
from sixd.model.model import Model
from sixd.model.system import System
from sixd.runtime import cache as disk
from sixd.runtime.image import Image, make_image
from sixd.runtime.routine import Part, Routine
from sixd.spatial.scalar import Array
from sixd.trace.ops import Op
from sixd.trace.program import Program, trace
from sixd.waiting import watched

# results that a user should not get unseen: not finite, or, of what divides by the mass matrix, so large or from such
# small pivots (_watch) that digits may be lost. Compiled code compares the sum of squares, which overflows first
LARGE_SOLUTION = 1e12
_LARGE_SQUARES = {"float64": 1e300, "float32": 1e37}
_LONG = 150_000  # operations, from which a user is told that it takes a while
MOST_ARRAYS = 64  # of a NumPy ufunc
_FIELDS = ("placement", "inertia", "gravity", "rest", "stiffness", "damping", "friction", "armature")


class Request(NamedTuple):
    """What is to be compiled for a model: a function with its choices settled, a dtype, with f_ext or without."""

    function: Function
    choices: tuple[Any, ...]
    dtype: str
    force: bool

    @property
    def arrays(self) -> tuple[str, ...]:
        """Names of the arrays that the routine takes."""
        return self.function.arrays + (("f_ext",) if self.force else ())

    def split(self, row: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        """The arrays that the routine takes as the function's own and f_ext, which may be None."""
        return (row[:-1], row[-1]) if self.force else (row, None)


_LOCK = Lock()
_ROUTINES: dict[int, dict[Request, Routine]] = {}
_ALIVE: dict[int, weakref.ref[System]] = {}
# by id of the model, name of the function and choices as given: what serves calls with float64 and without f_ext
SHORTCUTS: dict[tuple[int, str, tuple[Any, ...]], Routine] = {}
# by name of the function, then by id of the model (and then by frame, if it has one): what serves calls of one row,
# with other choices at their defaults
ENTRIES: defaultdict[str, dict[int, Any]] = defaultdict(dict)


def routine(model: System, request: Request) -> Routine:
    """The routine of a request, made at the first call."""
    known = _ROUTINES.get(id(model))
    found = known.get(request) if known is not None else None
    return found or _new_routine(model, request)


def _new_routine(model: System, request: Request) -> Routine:
    with _LOCK:
        if id(model) not in _ALIVE:
            _ROUTINES[id(model)] = {}  # first: a child forked between the two lines finds it
            _ALIVE[id(model)] = weakref.ref(model, partial(_forget, id(model)))
        table = _ROUTINES[id(model)]
        if request not in table:
            table[request] = make_routine(model, request)
        return table[request]


def _forget(key: int, _: object) -> None:
    with _LOCK:
        _ALIVE.pop(key, None)
        _ROUTINES.pop(key, None)
        for call in [c for c in list(SHORTCUTS) if c[0] == key]:  # others may add to it meanwhile
            SHORTCUTS.pop(call, None)
        for entries in list(ENTRIES.values()):
            entries.pop(key, None)


def make_routine(model: System, request: Request, program: Program | None = None) -> Routine:
    """A routine that compiles when it must; it does not keep the model alive. ``program``: if it is traced already."""
    function = request.function
    shapes = tuple(function.core(model, name) for name in request.arrays)
    return Routine(function.name, shapes, request.dtype, _Provider(weakref.ref(model), request, program))


class _Provider:
    """Gives the parts of a routine, from the disk if they are there; the caller of the routine holds the model."""

    def __init__(self, model: weakref.ref[System], request: Request, program: Program | None) -> None:
        self.model, self.request, self.program = model, request, program

    def __call__(self, form: str) -> Part:
        model, request = self.model(), self.request
        assert model is not None
        known = request.function.named and not (request.function.constrained and model.constraints)
        numbers = _model_key(model) if known else None
        if numbers is None and self.program is None:  # traced once: what a user's function closes over may change
            self.program = trace_request(model, request)
        program = self.program
        if program is not None:
            what: tuple[bytes | str, ...] = ("graph", graph_text(program), str(request.function.solves))
        else:
            what = ("library", request.function.name, numbers or b"", _choices_key(model, request))
        key = disk.digest(*what, form, request.dtype, disk.fingerprint(), cpu_key())
        entry = disk.read(key)
        part = None if entry is None else _unpack(entry)
        if part is None:
            with watched(f"compiling {request.function.name} for {model.name!r}"):
                part = self._compile(model, program or trace_request(model, request), form)
            disk.write(key, _pack(part, request.function.name, model.name))
        return part

    def _compile(self, model: System, program: Program, form: str) -> Part:
        # imported here: a warm start needs no code generator
        with FORKS_WAIT:
            from sixd.codegen.llvm.entry import emit_entry
            from sixd.codegen.llvm.loop import emit_loop
            from sixd.codegen.llvm.machine import assemble, host

        function, dtype = self.request.function, self.request.dtype
        singular: tuple[str, ...] = ()
        if isinstance(model, Model) and function.solves:
            singular = singular_joints(model, function.prescribed(self.request.choices))
        tell_if_long(function.name, model.name, program.operations)
        limit = LARGE_SOLUTION**2 if function.solves else _LARGE_SQUARES[dtype]
        machine = host()
        if form == "entry":
            module = emit_entry(program, dtype, limit, machine.has_fma)
        else:
            module = emit_loop(program, dtype, machine.lanes(dtype), limit, machine.has_fma)
        image = make_image(assemble(module, machine))
        outputs = tuple(slot.shape for slot in program.outputs)
        return Part(image, outputs, program.operations, tuple(model.joint_names.index(n) + 1 for n in singular))


def tell_if_long(where: str, model: str, operations: int) -> None:
    """Warn of work that takes a user's patience."""
    if operations > _LONG:
        warnings.warn(
            f"{where}: compiling {operations:,} operations for {model!r} takes about {operations * 1e-4:.0f} s, once: "
            f"the code is kept on disk.",
            CompileWarning,
            stacklevel=3,
        )


def trace_request(model: System, request: Request) -> Program:
    """The program of a request."""
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
        hint = f" The model has joints of your own, {own}, which must be written so, too." if own else ""
        raise TraceError(f"{function.name}: {error}{hint}") from error
    except SixdError:
        raise
    except (TypeError, ValueError, AttributeError) as error:
        traced = any(word in str(error) for word in ("Expr", "ufunc", "dtype('O')", "inhomogeneous"))
        if function.named or not traced:  # a mistake of another kind
            raise
        raise TraceError(
            f"{function.name}: it cannot be run on traced scalars: {error}. Use the functions of sixd.spatial (sin, "
            f"sqrt, where …) in the place of NumPy's, and return numbers in an array or in a tuple of arrays."
        ) from error
    if not program.outputs:
        raise TraceError(f"{function.name}: it returns an empty tuple, expected an array or some in a tuple.")
    count = len(program.inputs) + len(program.outputs)
    if count > MOST_ARRAYS:
        raise TraceError(f"{function.name}: {count} arrays go in and out, expected at most {MOST_ARRAYS}. Join some.")
    return program


def _watch(model: System, request: Request) -> Callable[..., list[tuple[Any, float]]] | None:
    """What compiled code watches besides results: the reciprocals of the pivots, where results are judged by them."""
    function, prescribed = request.function, request.function.prescribed(request.choices)
    if not (function.solves and function.judged) or model.symbols:
        return None
    weights = watch_weights(model, prescribed, request.dtype) * LARGE_SOLUTION
    place = request.arrays.index("q")

    def pairs(*row: Array) -> list[tuple[Any, float]]:
        return list(zip(reciprocal_pivots(model, row[place], prescribed), weights.tolist(), strict=True))

    return pairs


def graph_text(program: Program) -> bytes:
    """A program as bytes: equal for equal graphs in every process."""
    place = {node.index: k for k, node in enumerate(program.nodes)}
    lines = [f"{[(s.name, s.shape) for s in program.inputs]}"]
    for n in program.nodes:
        value = n.value.hex() if n.op is Op.CONST else n.value
        lines.append(f"{n.op.word} {value} {[place[a.index] for a in n.args]}")
    lines += [f"{s.shape} {[place[e.index] for e in s.entries]}" for s in program.outputs]
    lines += [f"watched {place[node.index]} {weight.hex()}" for node, weight in program.watched]
    return "\n".join(lines).encode()


def _model_key(model: System) -> bytes | None:
    """The numbers of a model that any function uses, as bytes; None if a joint or a symbol is not the library's."""
    if not isinstance(model, Model) or model.symbols or not all(type(j) in BUILT_IN for j in model.joints):
        return None
    joints = [(type(j).__name__, [float(x).hex() for x in parameters_of(j)]) for j in model.joints]
    parts = [repr((model.parent, joints)).encode()]
    arrays = {name: np.array(getattr(model, name), dtype=float) for name in _FIELDS}
    arrays["inertia"][0] = MASSLESS.matrix  # no function uses what is fixed to the world
    parts += [array.tobytes() for array in arrays.values()]
    return b"|".join(parts)


def _choices_key(model: System, request: Request) -> str:
    """The choices in words that do not depend on names."""
    words: list[Any] = [request.force, sorted(request.function.shapes.items()), request.arrays]
    for name, value in zip(request.function.choices, request.choices, strict=True):
        if name == "frame":
            frame = model.frame(value)
            words.append((frame.body, [float(x).hex() for x in frame.pose.ravel()]))
        else:
            words.append(sorted(value) if isinstance(value, frozenset) else value)
    return repr(words)


@cache
def cpu_key() -> str:
    """The processor's features as NumPy knows them: enough to tell processors apart, without LLVM."""
    with FORKS_WAIT:
        import platform

    from numpy._core._multiarray_umath import __cpu_features__ as features

    return platform.machine() + platform.system() + repr(sorted(name for name, there in features.items() if there))


def _pack(part: Part, name: str, model: str) -> disk.Entry:
    header = {
        "name": name, "model": model, "functions": part.image.functions, "linked": part.image.linked,
        "outputs": part.outputs, "operations": part.operations, "singular": part.singular,
    }  # fmt: skip
    return disk.Entry(header, part.image.code)


def _unpack(entry: disk.Entry) -> Part | None:
    try:
        h = entry.header
        image = Image(entry.image, {str(k): int(v) for k, v in h["functions"].items()}, bool(h["linked"]))
        outputs = tuple(tuple(int(n) for n in shape) for shape in h["outputs"])
        return Part(image, outputs, int(h["operations"]), tuple(int(i) for i in h["singular"]))
    except (KeyError, TypeError, ValueError):
        return None  # of another version: built anew
