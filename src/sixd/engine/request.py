"""Requests from the arguments of ``sixd.compile`` and ``sixd.export_c``.

A request has one function: of the library, of the user, or several of these joined into one, with or without parameters
of the model.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.engine.functions import SHAPES, Function, Request, Shape
from sixd.engine.parameters import parameter_shape, with_parameters
from sixd.engine.targets import choose_target
from sixd.errors import ScalarTypeError, require_known, unknown_name
from sixd.model.system import System, require_system
from sixd.spatial.scalar import Array

DTYPES = ("float64", "float32")
_KNOWN = ("q", "qd", "qdd", "tau", "dq", "f_ext")


def make_request(
    where: str,
    function: Any,
    model: System,
    target: str,
    dtype: Any,
    parameters: Sequence[str],
    shapes: Mapping[str, tuple[int, ...]] | None,
    static: dict[str, Any],
    arch: str | None = None,
) -> Request:
    """Return the request of a call of ``sixd.compile`` or ``sixd.export_c``, whose arguments are checked here.

    ``dtype`` None, that of the arguments of each call, is float64 in it.
    """
    require_system(where, model)
    chosen, dtype = choose_target(where, target, arch), DTYPES[0] if dtype is None else _dtype_name(dtype)
    require_known(f"{where}: dtype", "choice", dtype, DTYPES)
    if isinstance(parameters, str):
        raise ScalarTypeError(f"{where}: parameters is a string, expected names in a tuple: ({parameters!r},).")
    several = tuple(function) if isinstance(function, (tuple, list)) else (function,)
    if not several:
        raise ScalarTypeError(f"{where}: got no function, expected one, or a tuple of functions.")
    parts = [_part(where, f, model, dict(shapes or {}), static) for f in several]
    own = [name for part in parts if not part.function.named for name in part.function.arrays]
    for name in shapes or ():
        if name not in own:
            raise unknown_name(f"{where}: shapes", "array", name, own)
    known = {name for part in parts for name in part.takes}
    for name in static:
        if name not in known:
            raise unknown_name(where, "argument", name, known)
    if len(parts) == 1 and not parameters:
        made = Request(parts[0].function, parts[0].choices, dtype, False, chosen)
    else:
        made = Request(_join(where, parts, model, tuple(parameters)), (), dtype, False, chosen)
    inputs = f"make them inputs: parameters={tuple(map(str, model.symbols))}"
    made.function.require_numeric(f"{where}: {made.function.name}", model, inputs)
    return made


def _dtype_name(dtype: Any) -> str:
    """The name of a dtype in any form that NumPy accepts: "float32", numpy.float32, …"""
    try:
        return str(np.dtype(dtype))
    except TypeError:
        return str(dtype)


class _Part(NamedTuple):
    """One of the functions to be compiled, with its checked choices and the names of all its arguments."""

    function: Function
    choices: tuple[Any, ...]
    takes: tuple[str, ...]
    takes_model: bool = True


def _part(where: str, function: Any, model: System, shapes: dict[str, Any], static: dict[str, Any]) -> _Part:
    if not callable(function):
        raise ScalarTypeError(f"{where}: function is {function!r}, expected a function, such as sixd.inverse_dynamics.")
    name = getattr(function, "__name__", getattr(function, "name", type(function).__name__))
    declared = getattr(function, "declared", None)
    if not isinstance(declared, Function):
        return _own(where, name, function, model, shapes, static)
    if getattr(function, "model", model) is not model:
        raise ScalarTypeError(f"{where}: kernel {declared.name} is that of another model, {function.model.name!r}.")
    made = declared.for_system(model)
    values = tuple(static.get(choice, default) for choice, default in made.choices.items())
    for choice, value in zip(made.choices, values, strict=True):
        if value is ...:
            got = f" Got {', '.join(static)}." if static else ""
            raise ScalarTypeError(f"{where}: {name} needs {choice}: sixd.{where}(sixd.{name}, model, {choice}=…).{got}")
    return _Part(made, made.check_choices(model, values), tuple(made.choices))


def _own(
    where: str, name: str, function: Callable[..., Any], model: System, shapes: dict[str, Any], static: dict[str, Any]
) -> _Part:
    """A user's function: its arguments are arrays, unless they are fixed, have a default, or are the model."""
    try:
        arguments = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        raise ScalarTypeError(f"{where}: the arguments of {name} cannot be read, expected a Python function.") from None
    arrays: list[str] = []
    for a in arguments:
        if a.kind in (a.VAR_POSITIONAL, a.VAR_KEYWORD, a.POSITIONAL_ONLY) or a.name == "out":
            raise ScalarTypeError(
                f"{where}: {name} takes {a}, expected arguments that can be passed by name, none of them called out."
            )
        if a.name not in static and a.name != "model" and (a.default is a.empty or a.name in shapes):
            arrays.append(a.name)
    names = [a.name for a in arguments]
    for unknown in [a for a in arrays if a not in shapes and a not in _KNOWN]:
        raise ScalarTypeError(
            f"{where}: the shape of {unknown!r}, an argument of {name}, is not known. Give, say, "
            f"shapes={{{unknown!r}: (3,)}}, or fix it: {unknown}=…. Known are {', '.join(_KNOWN)}."
        )
    fixed = {k: x for k, x in static.items() if k in names}
    takes_model = "model" in names

    def algorithm(model: System, *row: Array) -> Any:
        given = {**dict(zip(arrays, row, strict=True)), **fixed}
        result = function(**given, **({"model": model} if takes_model else {}))
        return result.arrays() if hasattr(result, "arrays") else result  # of an object with several, as sixd.distance's

    sizes = {a: _core(where, a, shapes[a]) if a in shapes else SHAPES[a] for a in arrays}
    own = Function(name, algorithm, tuple(arrays), sizes, named=False, own=True, check_finite=False)
    return _Part(own, (), tuple(names), takes_model)


def _core(where: str, name: str, shape: Any) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
    if not all(isinstance(n, (int, np.integer)) and n >= 0 for n in sizes):
        raise ScalarTypeError(f"{where}: the shape of {name!r} is {shape!r}, expected whole numbers, such as (3,).")
    return tuple(int(n) for n in sizes)


def _join(where: str, parts: list[_Part], model: System, parameters: tuple[str, ...]) -> Function:
    """One function of the arrays of all parts and then of the parameters, which returns the results of all parts."""
    for part in parts:
        if parameters and not part.takes_model:
            raise ScalarTypeError(
                f"{where}: {part.function.name} takes no model, so it cannot see the parameters {list(parameters)}. "
                f"Give it an argument named model, and use that inside."
            )
    shapes: dict[str, Shape] = {}
    cores: dict[str, tuple[int, ...]] = {}
    for function, *_ in parts:
        for name in function.arrays:
            core = function.core(model, name)
            shapes.setdefault(name, function.shape(name))
            if cores.setdefault(name, core) != core:
                raise ScalarTypeError(
                    f"{where}: {name} has shape {core} in {function.name}, {cores[name]} before. Give it another name."
                )
    clash = sorted(set(shapes) & set(parameters))
    if clash or len(set(parameters)) != len(parameters):
        raise ScalarTypeError(
            f"{where}: parameters are {list(parameters)}, expected each once and no name of an array."
        )
    arrays = tuple(shapes)
    shapes |= {name: parameter_shape(where, model, name) for name in parameters}

    def algorithm(model: System, *row: Array, f_ext: Any = None) -> Any:
        given = dict(zip(shapes, row, strict=True))
        if parameters:
            model = with_parameters(model, {name: given[name] for name in parameters})
        results: list[Any] = []
        for function, choices, *_ in parts:
            # if a user's function has an array named f_ext, library functions get it too
            force = given.get("f_ext", f_ext) if function.force else None
            result = function.row(model, choices, (given[a] for a in function.arrays), force)
            results.extend(result if isinstance(result, tuple) else [result])
        return tuple(results) if len(results) > 1 else results[0]

    def explain(where: str, system: System, choices: tuple[Any, ...], row: str, arrays: tuple[Array, ...]) -> Any:
        given = dict(zip(shapes, arrays, strict=False))
        for function, own, *_ in parts:
            if function.explain is not None:
                found = function.explain(where, system, own, row, tuple(given[a] for a in function.arrays))
                if found is not None:
                    return found
        return None

    functions = [part.function for part in parts]
    free = not parameters and all(f.check_finite and "given" not in f.choices for f in functions)
    return Function(
        "+".join(f.name for f in functions),
        algorithm,
        (*arrays, *parameters),
        shapes,
        force=any(f.force for f in functions),
        solves=free and any(f.solves for f in functions),
        needs_mass=any(f.needs_mass for f in functions),
        named=False,
        own=any(f.own for f in functions),
        check_finite=free,
        explain=explain,
    )
