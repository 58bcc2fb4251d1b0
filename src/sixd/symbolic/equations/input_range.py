"""Limits of inputs mapped to generalised forces: the box lower ≤ f ≤ upper through τ = T(q) f."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

from sixd.errors import ModelError, ShapeError
from sixd.lazy import sympy
from sixd.symbolic.arguments import ExprLike, VectorLike, entries_of, expression, is_listed

if TYPE_CHECKING:
    from sixd.symbolic.equations.equations import Equations

_MOST_INPUTS = 10  # 2¹⁰ corners


class InputRange(NamedTuple):
    """``lower``, ``upper`` (nv, 1): the range of each generalised force; ``corners`` (nv, 2ᵐ): T times each corner.

    The forces that the inputs can produce are the convex hull of the corners, a zonotope. It lies in the box from
    ``lower`` to ``upper`` and touches each of its faces, but fills it only if every row of T has one entry.
    """

    lower: Any
    upper: Any
    corners: Any


def input_range(system: Equations, lower: VectorLike | ExprLike, upper: VectorLike | ExprLike) -> InputRange:
    """Generalised forces τ = T(q) f of inputs within a box, lower ≤ f ≤ upper (m,) each: bounds and corners.

    Limits are numbers or symbols; a scalar applies to all inputs.
    """
    T = system.input_matrix
    m = T.cols
    if m > _MOST_INPUTS:
        raise ModelError(f"input_range: there are {m} inputs, expected at most {_MOST_INPUTS}: a box has 2ᵐ corners.")
    low, high = (_limits(name, x, m) for name, x in (("lower", lower), ("upper", upper)))
    for k, (a, b) in enumerate(zip(low, high, strict=True)):
        if (a > b) == True:  # noqa: E712  with symbols it may be undecided
            raise ModelError(f"input_range: input {k + 1} has the limits {a} and {b}, expected lower ≤ upper.")
    middle, half = (low + high) / 2, (high - low) / 2
    reach = T.applyfunc(sympy.Abs) * half
    corners = [T * sympy.Matrix(c) for c in product(*zip(low, high, strict=True))]
    return InputRange(T * middle - reach, T * middle + reach, sympy.Matrix.hstack(*corners))


def _limits(name: str, x: VectorLike | ExprLike, m: int) -> Any:
    limits = entries_of("input_range", name, x) if is_listed(x) else [x] * m
    if len(limits) != m:
        raise ShapeError(f"input_range: {name} has {len(limits)} entries, expected {m}, one for each input.")
    return sympy.Matrix(m, 1, [expression("input_range", name, e) for e in limits])
