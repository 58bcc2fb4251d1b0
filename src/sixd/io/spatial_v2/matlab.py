"""Checks of arguments in MATLAB's shapes: vectors, matrices, and points as columns.

A vector may be a 1-D array, a list, a column or a row, and is returned as a 1-D array. Several points are the columns
of a matrix, as in the original; a single point may be a vector, and the result is then a vector too.
"""

from __future__ import annotations

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.spatial.scalar import Array, ArrayLike, Scalar, exact, require_scalars, symbols_in


def numbers(where: str, name: str, value: object, *, symbols: bool = False) -> Array:
    """Return ``value`` as an array of floats; of objects if SymPy's ``symbols`` are allowed and it has some."""
    try:
        x = np.asarray(value)
        if value is None or x.dtype.kind == "c":
            raise TypeError
        if symbols and symbols_in([x]):
            require_scalars(f"{where}: {name}", x)
            return np.asarray(exact(x), dtype=object)
        return x.astype(float)
    except (TypeError, ValueError):
        raise ScalarTypeError(f"{where}: {name} is {value!r}, expected numbers.") from None


def sampled(x: Array) -> Array:
    """Return an array of floats as it is; symbols are replaced by fixed numbers, so that the array can be checked."""
    if x.dtype != object:
        return x
    values = {symbol: 0.7 + 0.1 * k for k, symbol in enumerate(sorted(symbols_in([x]), key=str))}
    return np.array([float(e.subs(values)) if hasattr(e, "subs") else e for e in x.ravel()], float).reshape(x.shape)


def scalar(where: str, name: str, value: object) -> Scalar:
    """Return one number or symbol; ``value`` may be an array of one element."""
    x = np.asarray(value)
    if x.size != 1 or x.dtype.kind not in "fiubO":
        raise ShapeError(f"{where}: {name} is {value!r}, expected one number.")
    return x.ravel()[0]


def count(where: str, name: str, value: object, least: int = 0) -> int:
    """Return ``value`` as a whole number of at least ``least``."""
    n = numbers(where, name, value)
    if n.size != 1 or not np.isfinite(n).all() or n.item() != round(n.item()) or n.item() < least:
        raise ModelError(f"{where}: {name} is {value!r}, expected a whole number of at least {least}.")
    return int(n.item())


def is_vector(x: Array) -> bool:
    """Whether all dimensions but one are 1: a vector, column, row or single number."""
    return x.size == 0 or x.size == max(x.shape, default=1)


def vector(where: str, name: str, value: object, *sizes: int, symbols: bool = False) -> Array:
    """Return ``value`` as a 1-D array of one of the ``sizes``; columns and rows are flattened."""
    x = numbers(where, name, value, symbols=symbols)
    if not is_vector(x) or x.size not in sizes:
        wanted = " or ".join(str(n) for n in sizes)
        raise ShapeError(f"{where}: {name} has shape {x.shape}, expected a vector of {wanted} numbers.")
    return x.ravel()


def vectors(where: str, size: int, **named: object) -> list[Array]:
    """Return several vectors of one size, passed by name."""
    return [vector(where, name, value, size) for name, value in named.items()]


def square(where: str, name: str, value: object, *sizes: int, symbols: bool = False) -> Array:
    """Return ``value`` as an n×n array, n one of the ``sizes``."""
    x = numbers(where, name, value, symbols=symbols)
    if x.shape not in [(n, n) for n in sizes]:
        wanted = " or ".join(f"{n}×{n}" for n in sizes)
        raise ShapeError(f"{where}: {name} has shape {x.shape}, expected a matrix {wanted}.")
    return x


def columns(where: str, name: str, value: object, rows: int, *, symbols: bool = False) -> Array:
    """Return ``value`` as a (rows, n) array whose columns are points; a vector is one column."""
    x = numbers(where, name, value, symbols=symbols)
    if x.size == rows and is_vector(x):
        return x.reshape(rows, 1)
    if x.ndim != 2 or len(x) != rows:
        raise ShapeError(f"{where}: {name} has shape {x.shape}, expected ({rows},) or {rows}×n, one column per point.")
    return x


def single(value: ArrayLike) -> bool:
    """Whether the caller passed one point as a plain vector, and so expects a vector as result."""
    return np.ndim(value) < 2
