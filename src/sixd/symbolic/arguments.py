"""Checks of SymPy arguments: coordinates, velocities, expressions, vectors and matrices.

Coordinates are symbols or functions of time. Every message begins with ``where``, the function that the user called,
and ``what``, its argument. Independent of mechanics.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.lazy import Expr, Matrix, sympy
from sixd.spatial.scalar import Array, is_sympy

ExprLike: TypeAlias = "Expr | float"  # also an equation where a value must vanish
VectorLike: TypeAlias = "Matrix | Array | Sequence[ExprLike]"
MatrixLike: TypeAlias = "Matrix | Array | Sequence[Sequence[ExprLike]]"
Coordinates: TypeAlias = "Matrix | Sequence[Expr]"  # symbols or functions of time
_FIX = "Velocities are computed from positions."


def coordinates(where: str, q: Coordinates, name: str = "q") -> tuple[Expr, ...]:
    """The coordinates as a tuple: SymPy symbols or functions of time, each once."""
    from sympy.core.function import AppliedUndef, UndefinedFunction

    if isinstance(q, (str, Mapping)) or (isinstance(q, sympy.Basic) and not isinstance(q, sympy.MatrixBase)):
        raise ScalarTypeError(f"{where}: {name} is {q!r}, expected a list of coordinates: [{q}].")
    try:
        entries = tuple(q)
    except TypeError:
        raise ScalarTypeError(f"{where}: {name} is {q!r}, expected a list of SymPy symbols.") from None
    for x in entries:
        if isinstance(x, UndefinedFunction):
            raise ScalarTypeError(f"{where}: coordinate {x} is a function, expected one of time: {x}(t).")
        if not isinstance(x, (sympy.Symbol, AppliedUndef)):
            how = f" Make it by sympy.Symbol({x!r})." if isinstance(x, str) else ""
            raise ScalarTypeError(f"{where}: coordinate {x!r} is a {type(x).__name__}, expected a SymPy symbol.{how}")
    if len(set(entries)) != len(entries):
        raise ModelError(f"{where}: {name} is {list(entries)}, expected each coordinate once.")
    return entries


def velocities(where: str, q: Sequence[Expr], qd: Coordinates | None, used: Iterable[Expr] = ()) -> tuple[Expr, ...]:
    """A velocity for each coordinate: the argument, else qd1 for q1, thetad for theta, the derivative for f(t).

    The velocity of a real coordinate is real, of any sign, unless the expressions ``used`` contain one with the
    coordinate's assumptions.
    """
    from sympy.core.function import AppliedUndef

    listed = (e for x in used for e in (x if isinstance(x, (list, tuple)) else [x]))
    present = set().union(*(getattr(e, "free_symbols", ()) for e in listed))

    def rate(x: Expr) -> Any:
        if isinstance(x, AppliedUndef):
            return x.diff(x.args[0])
        same = sympy.Symbol(with_dots(x.name), **x.assumptions0)
        return sympy.Symbol(same.name, real=True) if x.is_real and same not in present else same

    if qd is None:
        return tuple(map(rate, q))
    if isinstance(qd, (str, Mapping)) or not is_listed(qd):
        raise ScalarTypeError(f"{where}: qd is {qd!r}, expected a list with a velocity for each coordinate.")
    speeds = tuple(qd)
    if len(speeds) != len(q):
        raise ShapeError(f"{where}: qd has {len(speeds)} entries, expected {len(q)}, one for each coordinate.")
    own = all(isinstance(x, (sympy.Symbol, AppliedUndef, sympy.Derivative)) and x not in q for x in speeds)
    if not own or len(set(speeds)) != len(speeds):
        raise ModelError(f"{where}: qd is {list(speeds)}, expected a symbol of its own for each velocity.")
    return speeds


def is_listed(x: object) -> TypeGuard[Iterable[Any]]:
    """Whether it has entries: a list, an array, or a SymPy matrix, which has no ``__iter__``."""
    return hasattr(x, "__iter__") or (
        hasattr(x, "tolist") and getattr(x, "shape", ()) != ()
    )  # NumPy's numbers have both


def with_dots(name: str, dots: str = "d") -> str:
    """The name of a derivative: q1 -> qd1, theta -> thetad, x_2 -> xd_2."""
    stem = name.rstrip("0123456789")
    number = name[len(stem) :]
    return f"{stem[:-1]}{dots}_{number}" if stem.endswith("_") and number else f"{stem}{dots}{number}"


def expression(where: str, what: str, x: object) -> Any:
    """A real SymPy expression from a number, an expression or an equation (left minus right side)."""
    if isinstance(x, (str, bytes, bool, np.bool_, complex, type(None))) or (
        not is_sympy(x) and not np.isscalar(x) and not hasattr(x, "_sympy_")
    ):
        raise ScalarTypeError(f"{where}: {what} is {x!r}, expected a number or a SymPy expression.")
    value = sympy.sympify(x.item() if isinstance(x, np.generic) else x)
    if isinstance(value, sympy.Equality):
        value = value.lhs - value.rhs
    bad = not isinstance(value, sympy.Expr) or value.has(sympy.nan, sympy.oo, -sympy.oo, sympy.zoo)
    if bad or value.is_commutative is False:
        raise ScalarTypeError(f"{where}: {what} is {x!r}, expected a finite number or a SymPy expression.")
    return value


def vector(where: str, what: str, x: object, sizes: Sequence[int]) -> Any:
    """A column of expressions, its length one of ``sizes``."""
    entries = entries_of(where, what, x)
    if len(entries) not in sizes:
        wanted = " or ".join(map(str, sizes))
        raise ShapeError(f"{where}: {what} has {len(entries)} components, expected {wanted}.")
    return sympy.Matrix(len(entries), 1, [expression(where, f"a component of {what}", e) for e in entries])


def entries_of(where: str, what: str, x: object) -> list[Expr]:
    """The entries of a list, an array or a matrix that is a row or a column."""
    if isinstance(x, sympy.MatrixBase) and 1 not in x.shape and 0 not in x.shape:
        raise ShapeError(f"{where}: {what} has shape {x.shape}, expected a vector.")
    if isinstance(x, (str, Mapping)) or not is_listed(x):
        raise ScalarTypeError(f"{where}: {what} is {x!r}, expected a list.")
    return list(x)


def listed(where: str, what: str, x: object) -> list[Any]:
    """The entries of a list, or a single expression as a list."""
    return entries_of(where, what, x) if is_listed(x) else [x]


def matrix(where: str, what: str, x: object, shape: tuple[int | None, int]) -> Any:
    """A matrix of expressions of that shape, None for any number of rows; a flat list becomes one row."""
    if isinstance(x, sympy.MatrixBase):
        rows = [list(x.row(i)) for i in range(x.rows)] if x.rows and x.cols else []
        actual = x.shape
    else:
        rows = _rows_of(where, what, x)
        actual = (len(rows), len(rows[0]) if rows else shape[1])
    wanted = f"({'k' if shape[0] is None else shape[0]}, {shape[1]})"
    if actual[1] != shape[1] or shape[0] not in (None, actual[0]) or any(len(r) != shape[1] for r in rows):
        raise ShapeError(f"{where}: {what} has shape {tuple(actual)}, expected {wanted}.")
    return sympy.Matrix(len(rows), shape[1], [expression(where, f"an entry of {what}", e) for r in rows for e in r])


def _rows_of(where: str, what: str, x: object) -> list[list[Expr]]:
    """The rows of nested lists; a flat list is one row."""
    if isinstance(x, (str, Mapping)) or not is_listed(x):
        raise ScalarTypeError(f"{where}: {what} is {x!r}, expected a SymPy matrix.")
    entries = list(x)
    nested = [is_listed(r) and not isinstance(r, str) for r in entries]
    if any(nested) and not all(nested):
        raise ShapeError(f"{where}: {what} mixes rows and numbers, expected rows of equal length.")
    return [list(r) for r in entries] if all(nested) else [entries]


def time_in(expressions: Iterable[Expr]) -> Any:
    """The symbol t if an expression contains it, also as the argument of a function; else None."""
    return next((s for e in expressions for s in e.free_symbols if str(s) == "t"), None)


def require_positions(where: str, what: str, entries: Iterable[Expr], qd: Sequence[Expr], fix: str = _FIX) -> None:
    """Raise ``ModelError`` if an entry contains one of the velocities ``qd``, or a derivative."""
    names = {str(x) for x in qd}  # of symbols with other assumptions too
    for e in entries:
        own = {x for x in e.free_symbols if str(x) in names} | {x for x in qd if e.has(x)}
        rates = sorted(own | e.atoms(sympy.Derivative), key=str)
        if rates:
            raise ModelError(f"{where}: {what} contains the velocity {rates[0]}, expected functions of q alone. {fix}")
