"""How a function of the library is evaluated: on compiled code for numbers, by the plain algorithm for symbols.

One row, or a plain batch, of float64 goes straight to its code. Everything else is checked here, and so is what is
suspect in a result: one place knows what it means when a result is not finite.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np

from sixd.algorithms.singular import LARGEST_CONDITION, condition, dependent_joints, solved_freedoms, usual_sizes
from sixd.engine.artifact import ENTRIES, SHORTCUTS, Request, routine
from sixd.engine.functions import LIBRARY, Function, core_shape, find, meaning
from sixd.errors import ModelError, ScalarTypeError, SingularError
from sixd.model import manifold
from sixd.model.manifold import nonfinite_error
from sixd.model.model import Model
from sixd.model.system import System, require_system
from sixd.runtime import batch
from sixd.runtime.routine import Routine, has_contiguous_core, shares_memory
from sixd.spatial.scalar import Array, is_number, is_zero

F = TypeVar("F", bound=Callable[..., Any])
_LOOKED_AT = 32  # rows together, where one of them is suspect: 5 ms of a humanoid


def shortcut(function: F) -> F:
    """Answer a call of one row by compiled code at once, if that is there; every other call goes on to the function.

    The function in front has the very arguments of the one behind, in written-out code: a call through ``*args`` and
    ``**options`` would take 0.15 us longer, half as long as an arm's dynamics.
    """
    parameters = list(inspect.signature(function).parameters.values())
    names = [p.name for p in parameters]
    options = {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}
    places = [name for name in names if name not in options]
    library = LIBRARY[function.__name__]
    frame = "frame" if library.choices else ""
    source = f"""
def front({", ".join(places)}, *, {", ".join(f"{name}=default_{name}" for name in options)}):
    if {" and ".join(f"{name} is default_{name}" for name in options)}:
        entry = entries.get(id(model))
        {"if entry is not None: entry = entry.get(frame) if type(frame) is str else None" if frame else ""}
        if entry is not None:
            result = entry({", ".join(library.arrays)})
            if result is not None:
                return result
    return function({", ".join(places)}, {", ".join(f"{name}={name}" for name in options)})
"""
    space: dict[str, Any] = {f"default_{name}": x for name, x in options.items()}
    space |= {"entries": ENTRIES[function.__name__], "function": function}
    exec(source, space)
    return cast(F, wraps(function)(space["front"]))


def call(name: str, model: System, arrays: tuple[Any, ...], f_ext: Any = None, out: Any = None, *choices: Any) -> Any:
    """The library's function of that name, on arrays with leading batch dimensions; ``choices`` in its own order."""
    if f_ext is None:
        try:
            made = SHORTCUTS.get((id(model), name, choices))
        except TypeError:  # a choice that is no word: refused below
            made = None
        if made is not None:
            result = made.entry(*arrays) if out is None else None
            if result is None:
                result = made.quick(arrays, out)
            if result is not None:
                return result
    require_system(name, model)
    function = find(name, model)
    settled = function.settle(model, choices)
    result = evaluate(function, model, settled, arrays, f_ext, out)
    if not function.check and not model.symbols:
        made = SHORTCUTS[id(model), name, choices] = routine(model, Request(function, settled, "float64", False))
        if made.has_entry and choices[1:] == tuple(function.choices.values())[1:]:
            if choices:
                ENTRIES[name].setdefault(id(model), {})[choices[0]] = made.entry
            else:
                ENTRIES[name][id(model)] = made.entry
    return result


def evaluate(
    function: Function,
    model: System,
    choices: tuple[Any, ...],
    arrays: tuple[Any, ...],
    f_ext: Any = None,
    out: Any = None,
    dtype: str | None = None,
    made: Routine | None = None,
) -> Any:
    """:func:`call` with settled choices; ``dtype`` None takes that of the arrays, ``made`` is a routine at hand."""
    where = function.name
    if function.needs_mass and isinstance(model, Model) and is_zero(model.mass):
        raise ModelError(f"{where}: model {model.name!r} has no mass, so no centre of mass. Give its bodies a mass.")
    given = dict(zip(function.arrays, arrays, strict=True))
    if f_ext is not None:
        given["f_ext"] = f_ext
    arguments = [
        batch.Argument(name, x, function.core(model, name), _meaning(function, model, name))
        for name, x in given.items()
    ]
    prepared = batch.prepare(where, arguments)
    if dtype is not None and prepared.dtype is object and all(map(is_number, _elements(prepared.arrays))):
        arguments = [a._replace(value=x.astype(float)) for a, x in zip(arguments, prepared.arrays, strict=True)]
        prepared = batch.prepare(where, arguments)
    traced = prepared.dtype is not object and model.is_traced
    if traced:
        arguments = [a._replace(value=x.astype(object)) for a, x in zip(arguments, prepared.arrays, strict=True)]
    if traced or prepared.dtype is object:
        return _evaluate_plainly(function, model, choices, arguments, f_ext is not None, out)
    function.require_numeric(where, model)
    kind = dtype or np.dtype(prepared.dtype).name
    made = made or routine(model, Request(function, choices, kind, f_ext is not None))
    inputs = [_cast(where, name, x, a, kind) for (name, x), a in zip(given.items(), prepared.arrays, strict=True)]
    if out is not None:
        inputs = _apart(inputs, out)
    results, suspect = _run(where, model, made, inputs, prepared.batch, None if function.check else out)
    kept = function.check(where, choices, results) if function.check else results
    if suspect and function.judged:
        _inspect(function, model, choices, made, inputs, prepared.batch, results)
    if function.check and out is not None:
        return batch.write(where, kept, out, len(kept) > 1)
    if out is not None:
        return out
    return tuple(kept) if len(kept) > 1 else kept[0]


def _meaning(function: Function, model: System, name: str) -> str:
    """What the core shape of an array means, in words, if it has the usual one."""
    usual = function.core(model, name) == core_shape(model, name)
    return f"{meaning(name)} of model {model.name!r}" if usual else ""


def _apart(inputs: list[Array], out: Any) -> list[Array]:
    """The inputs, copied where ``out`` may lie over them: compiled code, and a look at its results, need them whole."""
    places = [x for x in (out if isinstance(out, (tuple, list)) else (out,)) if isinstance(x, np.ndarray)]
    return [x.copy() if shares_memory(x, places) else x for x in inputs]


def _elements(arrays: list[Array]) -> Iterator[Any]:
    return (x for array in arrays for x in array.ravel())


def _cast(where: str, name: str, value: Any, array: Array, dtype: str) -> Array:
    """The array in the routine's dtype; float64 is not cut to float32 in silence."""
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
    """The outputs of a routine, in ``out`` if that is given, and whether some are suspect."""
    part = made.first_part(shape)
    require_regular(where, model, part.singular)
    if out is None:
        return made(inputs, shape, None)
    shapes = [shape + core for core in part.outputs]
    places = batch.targets(where, out, shapes, made.dtype, len(shapes) > 1)
    if shape and all(_takes(p, len(core), made.dtype) for p, core in zip(places, part.outputs, strict=True)):
        return made(inputs, shape, places)
    results, suspect = made(inputs, shape, None)
    for place, result in zip(places, results, strict=True):
        place[...] = result
    return results, suspect


def _takes(place: Array, core: int, dtype: str) -> bool:
    """Whether compiled code can write into an array itself."""
    return place.dtype == dtype and place.flags.aligned and has_contiguous_core(place, core)


def _evaluate_plainly(
    function: Function,
    model: System,
    choices: tuple[Any, ...],
    arguments: list[batch.Argument],
    force: bool,
    out: Any,
) -> Any:
    """The algorithm itself on every row: for symbols and other scalars."""
    request = Request(function, choices, "object", force)

    def one(*row: Array) -> Any:
        result = function.row(model, choices, *request.split(row))
        if function.check is None:
            return result
        (kept,) = function.check(function.name, choices, [np.asarray(x) for x in result])
        return kept

    return batch.apply(function.name, one, arguments, out=out)


# what is suspect --------------------------------------------------------------------------------


def _inspect(
    function: Function,
    model: System,
    choices: tuple[Any, ...],
    made: Routine,
    inputs: list[Array],
    shape: tuple[int, ...],
    results: list[Any],
) -> None:
    """Raise for the first row whose arguments are finite and whose result is not, or may have lost its digits."""
    names = (*function.arrays, "f_ext")[: len(inputs)]
    cores = [function.core(model, name) for name in names]
    count = math.prod(shape)

    def table(x: Any, core: tuple[int, ...]) -> Array:
        return np.reshape(x, (count, math.prod(core)))

    rows = [np.broadcast_to(a, shape + c).reshape((count, *c)) for a, c in zip(inputs, cores, strict=True)]
    flat = np.concatenate([table(r, np.shape(r)[len(shape) :]) for r in results], axis=1)
    given = np.all([np.isfinite(table(r, c)).all(axis=1) for r, c in zip(rows, cores, strict=True)], axis=0)
    lost = ~np.isfinite(flat).all(axis=1)
    singular = np.zeros(count, dtype=bool)
    prescribed = function.prescribed(choices)
    if function.solves:
        q = rows[names.index("q")].astype(float)
        suspect = _suspect_rows(made, rows, given)
        conditions = _conditions(model, prescribed, q[suspect]) if suspect else np.zeros(0)
        singular[suspect] = conditions > LARGEST_CONDITION[made.dtype]
    for k in np.flatnonzero(given & (lost | singular)).tolist():
        row = f" in row {tuple(int(i) for i in np.unravel_index(k, shape))}" if shape else ""
        if not singular[k]:
            raise nonfinite_error(model, function.name, row, *(r[k].astype(float) for r in rows))
        found = dependent_joints(model, q[k], prescribed, made.dtype)
        raise _singular_error(function.name, model, found, row, conditions[suspect.index(k)], made.dtype)


def _suspect_rows(made: Routine, rows: list[Array], given: Array) -> list[int]:
    """The suspect rows among those whose arguments are finite, and a few beside them."""

    def is_suspect(among: Array) -> bool:
        return bool(len(among)) and made([r[among] for r in rows], among.shape, None)[1]

    def find_in(among: Array) -> list[int]:  # by halves, since compiled code tells of all the rows of a call together
        if len(among) <= _LOOKED_AT:
            return [int(k) for k in among]
        return [k for half in np.array_split(among, 2) if is_suspect(half) for k in find_in(half)]

    among = np.flatnonzero(given)
    return find_in(among) if given.all() or is_suspect(among) else []


def _conditions(model: System, prescribed: frozenset[int], q: Array) -> Array:
    """The condition of M (n,), or of what it is for the joints that are solved for, at each q (n, nq)."""
    made = routine(model, Request(find("mass_matrix", model), (), "float64", False))
    M, free = made([q], q.shape[:1], None)[0][0], solved_freedoms(model, prescribed)
    return condition(M[:, free[:, None], free], usual_sizes(model, prescribed).size)


def _singular_error(where: str, model: System, names: list[str], row: str, found: float, dtype: str) -> SingularError:
    what, hint = "coordinates", "or use other coordinates"
    if isinstance(model, Model):
        what, hint = "joints", "or give the joints an armature"
    return SingularError(
        f"{where}: the mass matrix is singular in this configuration{row}: there {what} {names} move nothing that "
        f"others do not move already, to rounding (its condition is {found:.1e}, expected at most "
        f"{LARGEST_CONDITION[dtype]:.1e} for {dtype}). Move away from it, {hint}."
    )


def require_regular(where: str, model: System, singular: tuple[int, ...]) -> None:
    """Raise if there are joints, told by their numbers, that make the mass matrix singular in every configuration."""
    if singular and isinstance(model, Model):
        names, bodies = [model.joint_names[i - 1] for i in singular], [model.body_names[i - 1] for i in singular]
        raise SingularError(
            f"{where}: the mass matrix of {model.name!r} is singular: joints {names} move no inertia of their own "
            f"(they carry {bodies}). Give those bodies a mass and a matrix, the joints an armature, or lock them with "
            f"model.lock."
        )


manifold.evaluate = call
