"""``@public`` declares a function of the library, by its signature, its docstring and its algorithm.

    @public(rnea)
    def inverse_dynamics(model, q, qd, qdd, *, f_ext=None, out=None):
        '''Joint forces that produce the accelerations: …'''

Of the arguments after the model, ``f_ext`` and ``out`` mean the same in all functions; those named in ``CHOICES`` are
fixed arguments, and each combination of their values is compiled separately; all others are arrays. The function that
users get is an object that Python calls through compiled code, which finds the entry of the system and passes plain
arrays to it; every other call goes to a function in Python, and by that to ``sixd.engine.evaluate``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import MethodType
from typing import Any, TypeVar, cast

from sixd.engine.evaluate import call, is_text
from sixd.engine.functions import CHOICES, Function, Shape, takes_time
from sixd.model.memo import LOCK, add_index
from sixd.model.system import register, require_system
from sixd.runtime.calls import CallTable
from sixd.runtime.cpython import Called

F = TypeVar("F", bound=Callable[..., Any])


def public(
    algorithm: Callable[..., Any], *, shapes: Mapping[str, Shape] | None = None, **facts: Any
) -> Callable[[F], F]:
    """Return a decorator that declares a function of the library; its body is only the docstring.

    Parameters
    ----------
    algorithm : ``algorithm(system, *arrays, **choices)`` on one state of any scalar.
    shapes : core shapes of the arrays that are not in ``SHAPES``, such as {"b": ("nv",), "point": (3,)}.
    facts : ``solves``, ``needs_mass``, ``check_finite``, ``generic``, ``stacks``, ``explain``, ``adapt``,
        ``result``: see :class:`Function`.
    """

    def declare(function: F) -> F:
        declared = _read(function, algorithm, shapes or {}, facts)
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


class PublicFunction(Called):
    """A function of the library. It behaves as a function in Python does, and is called through compiled code.

    A Python function that looks for the entry takes 0.16 us, as long as an arm's dynamics with all the rest; the
    compiled code takes 0.01.
    """

    def __init__(self, function: Callable[..., Any], entries: CallTable) -> None:
        wraps(function)(self)
        self.__signature__ = inspect.signature(function)
        self.__defaults__, self.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        self._function, self._entries = function, entries
        entries.function = self

    def __call__(self, *args: Any, **options: Any) -> Any:
        """Call the function in Python: compiled code is not attached yet."""
        return self._function(*args, **options)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __reduce__(self) -> str:
        return self.__qualname__

    def __repr__(self) -> str:
        return f"<function {self.__qualname__} of sixd>"


def _entry_lines(system: str, arrays: list[str], options: list[str], framed: bool) -> list[str]:
    """The lines that call the memo's entry for plain arrays, if the options have their defaults."""
    same = " and ".join(f"{name} is default_{name}" for name in options if name != "out") or "True"
    row = ", ".join(arrays)
    result = f"entry({row}) if out is None else entry({row}, out=out)" if "out" in options else f"entry({row})"
    return [
        f"    if {same}:",
        f"        entry = entries.get(id({system}))",
        *["        if entry is not None: entry = entry.get(frame) if type(frame) is str else None"] * framed,
        "        if entry is not None:",
        f"            result = {result}",
        "            if result is not None: return result",
        "    else: entry = None",
    ]


def _call_lines(declared: Function, system: str, arrays: list[str], has_out: bool) -> list[str]:
    """The lines that evaluate the function in general."""
    row, force, out = ", ".join(arrays), "f_ext" if declared.force else "None", "out" if has_out else "None"
    choices = "".join(f"{name}, " for name in declared.choices)
    given, lines = f"({row},)", []
    if declared.timed:
        lines = [f"    require_system({declared.name!r}, {system})"]
        given = f"({row},) if takes_time({system}) else ({', '.join(arrays[:-1])},)"
    return [*lines, f"    return call(declared, {system}, {given}, {force}, {out}, ({choices}), entries, entry)"]


def _front(function: Callable[..., Any], declared: Function) -> Any:
    """The function that users call.

    Its source is generated with the arguments of the declaration: a call through ``*args`` and ``**options`` would take
    0.15 us longer.
    """
    parameters = list(inspect.signature(function).parameters.values())
    names, options = [p.name for p in parameters], [p.name for p in parameters if p.kind is p.KEYWORD_ONLY]
    positional = names[: len(names) - len(options)]
    system, arrays = names[0], [p.name for p in _arrays(parameters[1:])]
    defaults = ", ".join(f"{name}=default_{name}" for name in options)
    source = [f"def front({', '.join(positional)}{f', *, {defaults}' if options else ''}):"]
    framed = "frame" in declared.choices
    direct = declared.adapt is None
    if direct and len(arrays) == len(declared.arrays):
        source += _entry_lines(system, arrays, options, framed)
    else:
        source += ["    entry = None"]
    source += _call_lines(declared, system, arrays, "out" in names)
    space: dict[str, Any] = {f"default_{p.name}": p.default for p in parameters if p.name in options}
    space |= {"declared": declared, "call": call, "takes_time": takes_time, "require_system": require_system}
    exec(compile("\n".join(source), f"<sixd.{declared.name}>", "exec"), space)
    front = wraps(function)(space["front"])
    if not direct:
        space["entries"] = None
        return front
    assert positional == [system, *declared.arrays, *["frame"] * framed], "the order that compiled code expects"
    texts = {name: usual for name, usual in declared.choices.items() if name != "frame" and is_text(name, usual)}
    at = len(declared.arrays) + 1 if framed else 0
    space["entries"] = CallTable(positional, at, texts, "out" in names, front, LOCK)
    add_index(space["entries"])
    return PublicFunction(front, space["entries"])
