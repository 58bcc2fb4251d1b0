"""Structural zeros of results: which entries are zero for every state, found from the traced program.

A packed result has only the other entries, in row-major order, as sparse solvers take them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sixd.engine.artifact import trace_request
from sixd.engine.functions import LIBRARY, Function, Request
from sixd.errors import ScalarTypeError
from sixd.model.memo import remember
from sixd.model.system import System, for_any_system, require_system
from sixd.spatial.scalar import Array


def derivative_pattern(function: Callable[..., Any], model: System, *, f_ext: bool = False, **choices: Any) -> Any:
    """Which entries of a function's results are not zero by structure, such as between joints on different branches.

    Parameters
    ----------
    function : a function of the library, such as ``sixd.inverse_dynamics_derivatives``.
    f_ext : whether external forces act; some entries are zero without them.
    choices : its fixed arguments, such as ``frame="tool"``.

    Returns
    -------
    Boolean arrays in the form of the results for one state, (nv, nv) each for derivatives of dynamics: False where the
    entry is zero for all states. A named tuple if the function returns one. With ``packed=True`` the function returns
    the True entries alone, in row-major order: ``result.q[..., k]`` is entry ``numpy.argwhere(pattern.q)[k]``.

    >>> import sixd
    >>> arm = sixd.zoo.planar(3)
    >>> sixd.derivative_pattern(sixd.inverse_dynamics_derivatives, arm).q.astype(int)
    array([[0, 1, 1],
           [0, 1, 1],
           [0, 1, 1]])
    """
    where = "derivative_pattern"
    require_system(where, model)
    declared = getattr(function, "declared", None)
    if not isinstance(declared, Function):
        raise ScalarTypeError(
            f"{where}: function is {function!r}, expected one of the library, such as "
            f"sixd.inverse_dynamics_derivatives."
        )
    for name in choices:
        if name not in declared.choices or name == "packed":
            raise ScalarTypeError(
                f"{where}: {declared.name} has no fixed argument {name!r}, expected some of {list(declared.choices)}."
            )
    given = tuple(choices.get(name, default) for name, default in declared.choices.items())
    if ... in given:
        missing = [name for name, value in zip(declared.choices, given, strict=True) if value is ...]
        raise ScalarTypeError(f"{where}: {declared.name} needs {missing[0]}. Give {missing[0]}=….")
    found = _pattern(where, declared, model, declared.check_choices(model, given), f_ext)
    return declared.pack(found) if len(found) > 1 else found[0]


def _pattern(where: str, declared: Function, system: System, choices: tuple[Any, ...], force: bool) -> Any:
    """The patterns of all results, which the system's memo keeps."""
    if system.is_traced or system.symbols:
        raise ScalarTypeError(
            f"{where}: {system.name!r} has parameters that are not numbers, expected numbers: zeros depend on them. "
            f"Use .substitute, and no parameters= of sixd.compile."
        )
    function = declared.for_system(system)

    def make() -> tuple[Array, ...]:
        program = trace_request(system, Request(function, choices, "float64", force and function.force))
        flags = [[not e.is_value(0) for e in slot.entries] for slot in program.outputs]
        return tuple(np.array(f, dtype=bool).reshape(s.shape) for f, s in zip(flags, program.outputs, strict=True))

    return remember(system, ("pattern", declared.name, choices, force), make)


def packable(name: str, algorithm: Callable[..., Any]) -> Callable[..., Any]:
    """The algorithm of the library's function ``name``, of several results, with the choice ``packed``."""

    @for_any_system
    def one(system: System, *arrays: Array, packed: bool = False, **options: Any) -> Any:
        result = algorithm(system, *arrays, **options)
        if not packed:
            return result
        declared = LIBRARY[name]
        choices = tuple(False if c == "packed" else options.get(c, usual) for c, usual in declared.choices.items())
        patterns = _pattern(name, declared, system, choices, options.get("f_ext") is not None)
        return type(result)(*(x[mask] for x, mask in zip(result, patterns, strict=True)))

    return one
