"""Evaluation of the functions of the library: by compiled code for numbers, by the plain algorithm for symbols.

Most states and batches of floats go straight to compiled code. All other calls are checked here: first the arguments,
then the results if compiled code reports that one is suspect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from sixd.algorithms.operational.stack import as_key
from sixd.engine import artifact
from sixd.engine.functions import READABLE, Function, Request, Shape
from sixd.engine.gpu_calls import GpuCalls, gpu_calls
from sixd.engine.result_checks import inspect, require_mass, require_regular
from sixd.errors import ScalarTypeError
from sixd.model.manifold import require_unit_quaternions
from sixd.model.memo import KNOWN, known_of
from sixd.model.system import System, require_system
from sixd.runtime import batch
from sixd.runtime.arrays.registry import by_library, library_of
from sixd.runtime.calls import CallTable, FastCall
from sixd.runtime.routine import Routine, has_contiguous_core, shares_memory
from sixd.spatial.scalar import Array, is_number

_EMPTY: dict[Any, Any] = {}
_CONFIGURATION = ("nq",)  # core shape


def call(
    declared: Function,
    system: System,
    arrays: tuple[Any, ...],
    f_ext: Any,
    out: Any,
    choices: tuple[Any, ...],
    entries: CallTable | None = None,
    tried: FastCall | None = None,
) -> Any:
    """Evaluate a declared function on arrays with leading batch dimensions; ``choices`` as passed, in its own order.

    ``entries`` holds the entries of the function for its default choices, and is filled here; ``tried`` is one that has
    declined these arguments.
    """
    if declared.adapt is None:
        known = KNOWN.get(id(system), _EMPTY)
        has_gpu = library_of(arrays[0]).on_gpu
        try:
            made = known.get(("gpu", declared, choices) if has_gpu else (declared, choices))
        except TypeError:  # a choice that cannot be a key, such as a mapping of frames
            choices = tuple(map(as_key, choices))
            made = known.get(("gpu", declared, choices) if has_gpu else (declared, choices))
        if has_gpu and made is not None:
            return made(system, arrays, f_ext, out)
        if made is not None and made is not tried and f_ext is None:
            result = made(*arrays) if out is None else made(*arrays, out=out)
            if result is not None:
                return result
    require_system(declared.name, system)
    names = (*declared.arrays, "point" if declared.adapt else "t")[: len(arrays)]
    given = (*arrays, f_ext)

    def on_numpy(values: Sequence[Any], out: Any) -> Any:
        if values is not given:  # the memory of tensors, for which there may be code already
            return call(declared, system, tuple(values[:-1]), values[-1], out, choices, entries, tried)
        function, checked, own = _checked(declared, system, choices, arrays)
        result = _evaluate_on_cpu(function, system, checked, _by_name(function, own, f_ext), out, is_user=True)
        if declared.adapt is None and not system.symbols:
            _use_code(declared, function, system, choices, checked, entries)
        return result

    def on_gpu(values: Sequence[Any], out: Any) -> Any:
        function, checked, own = _checked(declared, system, choices, arrays)
        calls = gpu_calls(system, function, checked)
        if declared.adapt is None:
            known_of(system).setdefault(("gpu", declared, choices), calls)
        return calls(system, own, f_ext, out)

    return by_library(declared.name, (*names, "f_ext"), given, out, on_numpy, on_gpu)


def _checked(
    declared: Function, system: System, choices: tuple[Any, ...], arrays: tuple[Any, ...]
) -> tuple[Function, tuple[Any, ...], tuple[Any, ...]]:
    """The variant of a declared function for these arguments, with its checked choices and its arrays."""
    function = declared.for_system(system)
    checked = function.check_choices(system, choices)
    if function.adapt is not None:
        function, arrays = function.adapt(function, system, checked, arrays)
    return function, checked, arrays


def _use_code(
    declared: Function,
    function: Function,
    system: System,
    choices: tuple[Any, ...],
    checked: tuple[Any, ...],
    entries: CallTable | None,
) -> None:
    """Route later calls directly to the code that was compiled so far, by an entry in the memo."""
    known = known_of(system)
    entry = known.get((declared, choices))
    # most calls end here: looking for the routines takes 2 us
    if entry is not None and entry.provided == _provided(known, entry.routines):
        return
    requests = [Request(function, checked, dtype, False) for dtype in ("float64", "float32")]
    routines = [known[request] for request in requests if request in known]
    whole = next((routine for routine in routines if routine.provided), None)
    if whole is None:
        return
    codes = [routine.code for routine in routines if routine.code is not None]
    if entry is None:
        batches: list[Routine] = []
        made = FastCall(whole.inputs, whole.outputs, partial(_batch, function, batches), batches, function.result)
        entry = known.setdefault((declared, choices), made)
    provided = _provided(known, routines)
    entry.routines[:] = routines
    entry.attach(artifact.shell, codes, provided)
    texts = _texts(declared, choices)
    if codes and entries is not None and function is declared and texts is not None:
        entries.add(id(system), texts, entry, artifact.shell)


def _provided(known: Mapping[Any, Any], routines: Sequence[Routine]) -> tuple[int, ...]:
    """What changes when more code was compiled."""
    return (len(known), *(routine.provided for routine in routines))


def _texts(declared: Function, choices: tuple[Any, ...]) -> list[str] | None:
    """The choices by which compiled code can find an entry; None if it cannot: other choices are not the defaults."""
    texts = []
    for (name, usual), x in zip(declared.choices.items(), choices, strict=True):
        if not is_text(name, usual):
            if x != usual:
                return None
        elif not isinstance(x, str):  # a stack of frames has no name
            return None
        else:
            texts.append(str(x))
    return texts


def is_text(name: str, default: Any) -> bool:
    """Whether a choice, of that default, is a text, by which compiled code can find an entry."""
    return name == "frame" or isinstance(default, str)


def _batch(function: Function, routines: list[Routine], *arrays: Any, out: Any = None) -> Any:
    """The result for a plain batch that the code of calls has declined, such as a large one; None for other arrays."""
    if type(arrays[0]) is not np.ndarray:
        return None
    results = (routine.quick(arrays, out) for routine in routines)
    found = next((result for result in results if result is not None), None)
    return found if out is not None else function.pack(found)


def evaluate(
    function: Function,
    model: System,
    choices: tuple[Any, ...],
    arrays: tuple[Any, ...],
    f_ext: Any = None,
    out: Any = None,
    dtype: str | None = None,
    find: Callable[[Request], Any] | None = None,
    is_user: bool = False,
) -> Any:
    """Evaluate a function with checked choices on arrays of NumPy, of another library on the CPU, or on a GPU.

    ``dtype`` None takes that of the arrays; ``find(request)`` gives a kernel's routine, by default that of the memo.
    ``is_user``: the arrays are a user's, whose quaternions must have unit length.
    """
    given = _by_name(function, arrays, f_ext)

    def on_numpy(values: Sequence[Any], out: Any) -> Any:
        own = dict(zip(given, values, strict=True))
        return _evaluate_on_cpu(function, model, choices, own, out, dtype, find, is_user)

    def on_gpu(values: Sequence[Any], out: Any) -> Any:
        require_mass(function, model)
        calls = gpu_calls(model, function, choices) if find is None else GpuCalls(function, choices, dtype)
        return calls(model, arrays, f_ext, out, find)

    return by_library(function.name, tuple(given), tuple(given.values()), out, on_numpy, on_gpu)


def _by_name(function: Function, arrays: tuple[Any, ...], f_ext: Any) -> dict[str, Any]:
    """The arrays of a function by name."""
    given = dict(zip(function.arrays, arrays, strict=True))
    return given if f_ext is None else {**given, "f_ext": f_ext}


def _evaluate_on_cpu(
    function: Function,
    model: System,
    choices: tuple[Any, ...],
    given: Mapping[str, Any],
    out: Any = None,
    dtype: str | None = None,
    find: Callable[[Request], Any] | None = None,
    is_user: bool = False,
) -> Any:
    """:func:`evaluate` for arrays in CPU memory: by compiled code for numbers, plainly for other scalars."""
    where, forced = function.name, len(given) > len(function.arrays)
    require_mass(function, model)
    arguments = [
        batch.Argument(name, x, function.core(model, name), _meaning(function, model, name))
        for name, x in given.items()
    ]
    prepared = batch.prepare(where, arguments)
    if find is not None and prepared.dtype is object and all(map(is_number, _elements(prepared.arrays))):
        arguments = [a._replace(value=x.astype(float)) for a, x in zip(arguments, prepared.arrays, strict=True)]
        prepared = batch.prepare(where, arguments)
    if is_user:
        _require_unit(function, model, prepared.arrays, arguments)
    if prepared.dtype is object:
        return _evaluate_plainly(function, model, choices, arguments, forced, out)
    if model.is_traced:
        arguments = [a._replace(value=x.astype(object)) for a, x in zip(arguments, prepared.arrays, strict=True)]
        return _evaluate_plainly(function, model, choices, arguments, forced, out)
    function.require_numeric(where, model)
    kind = dtype or np.dtype(prepared.dtype).name
    request = Request(function, choices, kind, forced)
    made = find(request) if find is not None else artifact.routine(model, request)
    inputs = [_cast(where, name, x, a, kind) for (name, x), a in zip(given.items(), prepared.arrays, strict=True)]
    return _run_checked(function, model, choices, made, inputs, prepared.batch, out)


def _require_unit(function: Function, model: System, arrays: list[Array], arguments: list[batch.Argument]) -> None:
    """Raise if a quaternion of a configuration has not unit length."""
    for argument, x in zip(arguments, arrays, strict=True):
        if function.shape(argument.name) == _CONFIGURATION:
            require_unit_quaternions(function.name, model, argument.name, x)


def _run_checked(
    function: Function,
    model: System,
    choices: tuple[Any, ...],
    made: Routine,
    inputs: list[Array],
    shape: tuple[int, ...],
    out: Any,
) -> Any:
    """The results of a routine, inspected if compiled code reports one as suspect; ``out`` if it is passed."""
    if out is not None:
        inputs = _apart(inputs, out)
    results, suspect = _run(function.name, model, made, inputs, shape, out)
    if suspect and function.check_finite:
        inspect(function, model, choices, made, inputs, shape, results)
    if out is not None:
        return out
    return function.pack(tuple(results)) if len(results) > 1 else results[0]


def _meaning(function: Function, model: System, name: str) -> str:
    """The meaning of an array's core shape, as text, if it depends on the system."""
    sizes = _sizes(function.shape(name))
    return f"{sizes} of model {model.name!r}" if sizes else ""


@cache
def _sizes(shape: Shape) -> str:
    return ", ".join(map(str, shape)) if any(isinstance(n, str) for n in shape) else ""


def _apart(inputs: list[Array], out: Any) -> list[Array]:
    """The inputs, copied if ``out`` may overlap them: compiled code and the inspection of results need them intact."""
    outputs = [x for x in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(x, np.ndarray)]
    return [x.copy() if shares_memory(x, outputs) else x for x in inputs]


def _elements(arrays: list[Array]) -> Iterator[Any]:
    return (x for array in arrays for x in array.ravel())


def _cast(where: str, name: str, value: Any, array: Array, dtype: str) -> Array:
    """The array in the routine's dtype; raise instead of rounding float64 to float32 silently."""
    if array.dtype == dtype:
        return array
    if (
        dtype == "float32"
        and array.dtype.kind == "f"
        and array.itemsize > 4
        and not isinstance(value, (list, tuple, float))
    ):
        raise ScalarTypeError(
            f"{where}: {name} holds {array.dtype}, expected {dtype}, for which this was compiled. Convert it by "
            f"{name}.astype({dtype!r}), or compile with dtype='float64'."
        )
    return array.astype(dtype)


def _run(
    where: str, model: System, made: Routine, inputs: list[Array], shape: tuple[int, ...], out: Any
) -> tuple[list[Any], bool]:
    """The outputs of a routine, in ``out`` if it is passed, and whether some are suspect."""
    part = made.first_part(shape)
    require_regular(where, model, part.singular)
    if out is None:
        return made(inputs, shape, None)
    shapes = [shape + core for core in part.outputs]
    outputs = batch.targets(where, out, shapes, made.dtype, len(shapes) > 1)
    if shape and all(_takes(x, len(core), made.dtype) for x, core in zip(outputs, part.outputs, strict=True)):
        return made(inputs, shape, outputs)
    results, suspect = made(inputs, shape, None)
    for output, result in zip(outputs, results, strict=True):
        output[...] = result
    return results, suspect


def _takes(output: Array, core: int, dtype: str) -> bool:
    """Whether compiled code can write into an array directly."""
    return output.dtype == dtype and output.flags.aligned and has_contiguous_core(output, core)


def _evaluate_plainly(
    function: Function,
    model: System,
    choices: tuple[Any, ...],
    arguments: list[batch.Argument],
    force: bool,
    out: Any,
) -> Any:
    """Run the algorithm itself on every state: for symbols and other scalars."""
    request = Request(function, choices, "object", force)

    simplified = READABLE.get(function.name) if function.named else None

    def plainly(system: System, *arrays: Array) -> Any:
        return function.row(system, choices, *request.split(arrays))

    def one(*row: Array) -> Any:
        result = None if simplified is None else simplified(model, *row, run=plainly)
        return plainly(model, *row) if result is None else result

    result = batch.apply(function.name, one, arguments, out=out)
    return result if out is not None else function.pack(result)
