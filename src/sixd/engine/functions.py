"""Functions as data: the algorithm that runs on a state, its arrays and its choices.

A :class:`Function` is made from the signature of a public function (``sixd.engine.public``) or from a user's function
(``sixd.engine.request``). A :class:`Request` adds the choices of one use. Nothing is compiled or evaluated here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.constrained.least_norm import COARSE
from sixd.algorithms.constrained.rows import is_timed, row_counts
from sixd.algorithms.derivatives.implicit import is_wanted
from sixd.algorithms.operational.stack import read_stack
from sixd.engine.targets import CodeTarget, cpu
from sixd.errors import ScalarTypeError, unknown_name
from sixd.model.memo import remember
from sixd.model.model import require_model
from sixd.model.system import REGISTERED, System, library
from sixd.spatial.scalar import Array, is_number
from sixd.trace.expr import Expr

Shape = tuple[int | str, ...]

# core shapes of arrays by name; a size that is text is that of the system
SHAPES: dict[str, Shape] = {
    "q": ("nq",), "q0": ("nq",), "q1": ("nq",), "qd": ("nv",), "qdd": ("nv",), "tau": ("nv",), "dq": ("nv",),
    "f_ext": ("nb", 6), "lam": ("rows of the constraints",), "t": (),
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Function:
    """A function of a system and arrays: ``algorithm(system, *arrays, **choices)`` evaluates one state.

    ``arrays`` are the names of its arrays; ``shapes`` the core shapes of those that are not in ``SHAPES``; ``choices``
    its fixed arguments with their defaults (... if there is none). ``force``: it takes f_ext too. ``solves``: it
    divides by the mass matrix. ``needs_mass``: it is not defined for a massless model. ``named``: its name and choices
    determine what it computes, which does not hold for a user's function. ``own``: it runs a user's code, which may
    compute something else at another time. ``check_finite``: results that are not finite are
    errors. ``generic``: the algorithm accepts any system and uses its constraints; other algorithms are written for
    trees, and a system may replace them (``System.apply``). ``timed``: constraints may make it depend on time.
    ``stacks``: its frame may be several frames, whose rows are stacked. ``explain(name, system, choices, row, arrays)``
    returns the error for a state whose result is not finite, or None if the cause is unknown; ``row`` is text
    such as " in state (3,)". ``adapt(function, system, choices,
    arrays)`` returns the variant of the function for these arrays, and its arrays. ``result`` is the class of several
    results, a named tuple. ``implicit`` is an algorithm with the same results, to be differentiated: its derivatives
    are those of an implicit function.
    """

    name: str
    algorithm: Callable[..., Any]
    arrays: tuple[str, ...]
    shapes: Mapping[str, Shape] = field(default_factory=dict)
    choices: Mapping[str, Any] = field(default_factory=dict)
    force: bool = False
    solves: bool = False
    needs_mass: bool = False
    named: bool = True
    own: bool = False
    check_finite: bool = True
    generic: bool = False
    timed: bool = False
    stacks: bool = False
    explain: Callable[[str, System, tuple[Any, ...], str, tuple[Array, ...]], Exception | None] | None = None
    adapt: Callable[..., tuple[Function, tuple[Any, ...]]] | None = None
    result: type | None = None
    implicit: Callable[..., Any] | None = None

    def __post_init__(self) -> None:
        for name in self.arrays:
            if name not in self.shapes and name not in SHAPES:
                raise TypeError(
                    f"{self.name}: the shape of its array {name!r} is not known. State it: "
                    f"shapes={{{name!r}: ('nv',)}}, or add the name to SHAPES or CHOICES in sixd/engine/functions.py."
                )

    def pack(self, results: Any) -> Any:
        """Several results, a tuple, in the class that users get; a single one as it is."""
        return results if self.result is None or type(results) is not tuple else self.result(*results)

    def shape(self, name: str) -> Shape:
        """Core shape of one of its arrays, with sizes of the system as text."""
        return self.shapes[name] if name in self.shapes else SHAPES[name]

    def core(self, system: System, name: str) -> tuple[int, ...]:
        """Core shape of one of its arrays for a system."""
        return tuple(n if isinstance(n, int) else _size(system, n) for n in self.shape(name))

    def check_choices(self, system: System, given: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the choices in a form that can be a key; raise if one is not allowed."""
        checks = {**CHOICES, "frame": read_stack} if self.stacks else CHOICES
        return tuple(checks[name](self.name, system, x) for name, x in zip(self.choices, given, strict=True))

    def for_system(self, system: System) -> Function:
        """Return the function, with the time as its last array if it and a constraint of the system depend on time."""
        return _with_time(self) if self.timed and takes_time(system) else self

    def row(
        self,
        system: System,
        choices: tuple[Any, ...],
        arrays: Iterable[Array],
        f_ext: Any = None,
        dtype: str = "float64",
    ) -> Any:
        """Run the algorithm on one state, with checked choices; ``dtype`` is that of the numbers it is traced for."""
        force = {} if f_ext is None else {"f_ext": f_ext}
        if force and self.named:
            system.require_bodies(self.name)
        options = dict(zip(self.choices, choices, strict=True))
        if self.generic and self.solves and dtype == "float32":
            options["limits"] = COARSE
        arrays, algorithm = tuple(arrays), self.algorithm
        if self.implicit is not None and is_wanted(*arrays):
            algorithm = self.implicit
        if self.named and not self.generic:
            return system.apply(self.name, algorithm, *arrays, **options, **force)
        return algorithm(system, *arrays, **options, **force)

    def prescribed(self, choices: tuple[Any, ...]) -> frozenset[int]:
        """Bodies whose joints have a prescribed motion, by checked choices."""
        return dict(zip(self.choices, choices, strict=True)).get("given", frozenset())

    def require_numeric(self, where: str, system: System, *otherwise: str) -> None:
        """Raise if the system has symbols that are not inputs of this function; see ``System.require_numeric``."""
        if any(str(s) not in self.arrays for s in system.symbols):
            system.require_numeric(where, *otherwise)


class Request(NamedTuple):
    """Code to be compiled for a system: function, checked choices, dtype, whether it takes f_ext, and target."""

    function: Function
    choices: tuple[Any, ...]
    dtype: str
    force: bool
    target: CodeTarget = cpu

    @property
    def arrays(self) -> tuple[str, ...]:
        """Names of the arrays that the routine takes."""
        return self.function.arrays + (("f_ext",) if self.force else ())

    def split(self, row: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        """Split the arrays that the routine takes into the function's own and f_ext, which may be None."""
        return (row[:-1], row[-1]) if self.force else (row, None)


def in_order(where: str, names: tuple[str, ...], arrays: tuple[Any, ...], named: dict[str, Any]) -> tuple[Any, ...]:
    """The arrays of a kernel, passed by position and by name, in the order of their names."""
    given = dict(zip(names, arrays, strict=False))
    for name in named:
        if name not in names:
            raise unknown_name(f"kernel {where}", "array", name, names)
    given |= named
    if len(arrays) + len(named) != len(names) or set(given) != set(names):
        raise ScalarTypeError(
            f"kernel {where}: got {len(arrays) + len(named)} arrays, expected {len(names)}: {', '.join(names)}. The "
            f"model is part of the kernel."
        )
    return tuple(given[name] for name in names)


def as_function(function: Function, choices: tuple[Any, ...]) -> Function:
    """The function with these choices fixed, for a kernel."""
    if not choices:
        return function

    def algorithm(model: System, *row: Array, f_ext: Any = None) -> Any:
        return function.row(model, choices, row, f_ext, dtype_of_trace(row))

    return replace(
        function, algorithm=algorithm, choices={}, named=False, generic=False, solves=False, check_finite=False
    )


def dtype_of_trace(arrays: Iterable[Any]) -> str:
    """The dtype for which these arrays are traced; float64 for numbers."""
    scalars = (e for array in arrays for e in np.asarray(array, dtype=object).flat)
    return next((e.graph.dtype for e in scalars if isinstance(e, Expr)), "float64")


class DeclaredFunctions(Mapping[str, Function]):
    """The declarations among the registered functions, by name."""

    def __getitem__(self, name: str) -> Function:
        declared = getattr(library(name), "declared", None)
        if declared is None:
            raise KeyError(name)
        return declared

    def __iter__(self) -> Iterator[str]:
        return (name for name, function in list(REGISTERED.items()) if hasattr(function, "declared"))

    def __len__(self) -> int:
        return sum(1 for _ in self)


LIBRARY = DeclaredFunctions()
# f(system, *arrays, run=) by name, filled by sixd.symbolic: run(system, *arrays) on symbols, simplified, or None
READABLE: dict[str, Callable[..., Any]] = {}


@cache
def _with_time(function: Function) -> Function:
    return replace(function, arrays=(*function.arrays, "t"), timed=False)


def takes_time(system: System) -> bool:
    """Whether a constraint of the system prescribes a rate that depends on time."""
    return bool(system.constraints) and remember(system, "takes time", lambda: is_timed(system))


def _size(system: System, name: str) -> int:
    if name in ("nq", "nv", "nb"):
        return getattr(system, name)
    return remember(system, name, lambda: sum(k for k, _ in row_counts(system)))


# choices ----------------------------------------------------------------------------------------


def _word(name: str, *allowed: str) -> Callable[[str, System, Any], str]:
    def check(where: str, system: System, value: Any) -> str:
        if not isinstance(value, str) or value not in allowed:
            raise unknown_name(f"{where}: {name}", "choice", value, allowed)
        return value

    return check


def _frame(where: str, system: System, value: Any) -> str:
    system.frame(value, where)
    return str(value)


def _other_frame(where: str, system: System, value: Any) -> str:
    return _frame(f"{where}: relative_to", system, value)


def _flag(where: str, system: System, value: Any) -> bool:
    if not isinstance(value, (bool, np.bool_)):
        raise ScalarTypeError(f"{where}: packed is {value!r}, expected True or False.")
    return bool(value)


def _prescribed(where: str, model: Any, given: Any) -> frozenset[int]:
    require_model(where, model)
    if isinstance(given, str):
        raise ScalarTypeError(f"{where}: given is the string {given!r}, expected a list of joint names: [{given!r}].")
    if not isinstance(given, Iterable):
        raise ScalarTypeError(f"{where}: given is {given!r}, expected a list of joint names, such as [].")
    return frozenset(model.joint_index(name) for name in given)


def _number(name: str, unit: str = "") -> Callable[[str, System, Any], float]:
    def check(where: str, system: System, value: Any) -> float:
        if isinstance(value, bool) or not is_number(value) or not 0 <= value < np.inf:
            raise ScalarTypeError(f"{where}: {name} is {value!r}, expected a finite number of at least 0{unit}.")
        return float(value)

    return check


# the fixed arguments that a function of the library may have, with their checks
CHOICES: dict[str, Callable[[str, System, Any], Any]] = {
    "frame": _frame,
    "relative_to": _other_frame,
    "expressed_in": _word("expressed_in", "body", "aligned", "world"),
    "kind": _word("kind", "spatial", "classical"),
    "per": _word("per", "model", "body", "subtree"),
    "given": _prescribed,
    "stabilisation": _number("stabilisation", " [1/s]"),
    "regularization": _number("regularization"),
    "packed": _flag,
}
