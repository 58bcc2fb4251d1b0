"""``@public`` declares a function of the library, by its signature, its docstring and its algorithm.

    @public(rnea)
    def inverse_dynamics(model, q, qd, qdd, *, f_ext=None, out=None):
        '''Joint forces that produce the accelerations: …'''

Of the arguments after the model, ``f_ext`` and ``out`` mean the same in all functions; those named in ``CHOICES`` are
fixed arguments, and each combination of their values is compiled separately; all others are arrays. The function that
users get passes a single row directly to compiled code, and every other call to ``sixd.engine.evaluate``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar, cast

from sixd.engine.evaluate import call
from sixd.engine.functions import CHOICES, LIBRARY, Function, Shape, takes_time
from sixd.model.memo import new_index
from sixd.model.system import register, require_system

F = TypeVar("F", bound=Callable[..., Any])


def public(
    algorithm: Callable[..., Any], *, shapes: Mapping[str, Shape] | None = None, **facts: Any
) -> Callable[[F], F]:
    """Return a decorator that declares a function of the library; its body is only the docstring.

    Parameters
    ----------
    algorithm : ``algorithm(system, *arrays, **choices)`` on one row of any scalar.
    shapes : core shapes of the arrays that are not in ``SHAPES``, such as {"b": ("nv",), "point": (3,)}.
    facts : ``solves``, ``needs_mass``, ``judged``, ``generic``, ``check``, ``adapt``: see :class:`Function`.
    """

    def declare(function: F) -> F:
        declared = _read(function, algorithm, shapes or {}, facts)
        LIBRARY[declared.name] = declared
        front = _front(function, declared)
        front.declared = declared
        return cast(F, register(front))

    return declare


def declaration(function: Callable[..., Any]) -> Function:
    """Return the :class:`Function` that a public function declares."""
    return function.declared  # type: ignore[attr-defined]


def _read(function: Callable[..., Any], algorithm: Any, shapes: Mapping[str, Shape], facts: dict[str, Any]) -> Function:
    """The :class:`Function` that a signature declares."""
    parameters = list(inspect.signature(function).parameters.values())[1:]
    arrays = tuple(p.name for p in _arrays(parameters) if p.default is p.empty)  # variants have those with defaults
    choices = {p.name: ... if p.default is p.empty else p.default for p in parameters if p.name in CHOICES}
    return Function(
        function.__name__,
        algorithm,
        arrays,
        shapes,
        choices,
        force=any(p.name == "f_ext" for p in parameters),
        timed=any(p.name == "t" for p in parameters),
        **facts,
    )


def _arrays(parameters: list[inspect.Parameter]) -> list[inspect.Parameter]:
    return [p for p in parameters if p.name not in ("f_ext", "out") and p.name not in CHOICES]


def _front(function: Callable[..., Any], declared: Function) -> Any:
    """The function that users call.

    Its source is generated with the arguments of the declaration: a call through ``*args`` and ``**options`` would take
    0.15 us longer, half the time of an arm's dynamics.
    """
    parameters = list(inspect.signature(function).parameters.values())
    names, options = [p.name for p in parameters], [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    positional = names[: len(names) - len(options)]
    system, arrays = names[0], [p.name for p in _arrays(parameters[1:])]
    row = ", ".join(arrays)
    defaults = ", ".join(f"{name}=default_{name}" for name in options)
    source = [f"def front({', '.join(positional)}{f', *, {defaults}' if options else ''}):"]
    if len(arrays) == len(declared.arrays) and declared.adapt is None:
        # one row, with the options at their defaults: the memo may have its entry
        same = " and ".join(f"{name} is default_{name}" for name in options) or "True"
        source += [f"    if {same}:", f"        entry = entries.get(id({system}))"]
        if "frame" in declared.choices:
            source += ["        if entry is not None: entry = entry.get(frame) if type(frame) is str else None"]
        source += ["        if entry is not None:", f"            result = entry({row})"]
        source += ["            if result is not None: return result"]
    if declared.timed:
        source += [f"    require_system({declared.name!r}, {system})"]
    given = f"({row},) if takes_time({system}) else ({', '.join(arrays[:-1])},)" if declared.timed else f"({row},)"
    force, out = ("f_ext" if declared.force else "None"), ("out" if "out" in names else "None")
    choices = "".join(f"{name}, " for name in declared.choices)
    source += [f"    return call(declared, {system}, {given}, {force}, {out}, ({choices}), entries)"]
    space: dict[str, Any] = {f"default_{p.name}": p.default for p in parameters if p.name in options}
    space |= {"declared": declared, "call": call, "takes_time": takes_time, "require_system": require_system}
    space["entries"] = new_index()
    exec(compile("\n".join(source), f"<sixd.{declared.name}>", "exec"), space)
    return wraps(function)(space["front"])
