"""Solutions with small dense matrices, unrolled over scalars, without pivoting: symmetric, masked, and general.

A mask says which rows and columns are ``free``. The others need no branch on a value: the reciprocals of their pivots
are 0, and every product with them vanishes. Any scalar.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sixd.spatial.scalar import Array, Scalar, where
from sixd.spatial.transform import mirror_upper


def factors_small(D: Array) -> tuple[list[list[Scalar]], list[Scalar]]:
    """L and the reciprocals r of the pivots: D = L diag(1/r) Lᵀ of a joint's size (≤ 6)."""
    n = len(D)
    L = [[1 if i == j else 0 for j in range(n)] for i in range(n)]
    d: list[Scalar] = []  # pivots
    r: list[Scalar] = []
    for j in range(n):
        d.append(D[j, j] - sum(L[j][k] * L[j][k] * d[k] for k in range(j)))
        r.append(1 / d[j])
        for i in range(j + 1, n):
            L[i][j] = (D[i, j] - sum(L[i][k] * L[j][k] * d[k] for k in range(j))) * r[j]
    return L, r


def inverse_small(D: Array) -> Array:
    """Inverse of a symmetric positive definite matrix of a joint's size (≤ 6), by LDLᵀ."""
    n = len(D)
    L, r = factors_small(D)
    # W = L⁻¹, then D⁻¹ = Wᵀ diag(r) W
    W = [[1 if i == j else 0 for j in range(n)] for i in range(n)]
    for j in range(n):
        for i in range(j + 1, n):
            W[i][j] = -sum(L[i][k] * W[k][j] for k in range(j, i))
    inverse = [[sum(W[k][i] * W[k][j] * r[k] for k in range(max(i, j), n)) for j in range(n)] for i in range(n)]
    return mirror_upper(np.array(inverse).reshape(n, n))


def factors_free(W: Array, free: Sequence[Any]) -> tuple[list[list[Any]], list[Any]]:
    """L without its diagonal, and the reciprocals of the pivots, 0 except in free rows, of W = LDLᵀ.

    Reads the lower triangle. The rest of W is updated after each pivot: a sum over all earlier pivots, as in
    :func:`factors_small`, would be one long chain of operations.
    """
    n = len(W)
    left = [[W[i, j] for j in range(i + 1)] for i in range(n)]
    L: list[list[Any]] = [[0] * n for _ in range(n)]
    r: list[Any] = []
    for j in range(n):
        r.append(where(free[j], 1 / left[j][j], 0))
        for i in range(j + 1, n):
            L[i][j] = left[i][j] * r[j]
            for m in range(j + 1, i + 1):
                left[i][m] = left[i][m] - L[i][j] * left[m][j]
    return L, r


def solve_free(W: Array, b: Array, free: Sequence[Any]) -> Array:
    """x (k,), 0 except in free rows, with (W x)ᵢ = bᵢ there, by LDLᵀ."""
    n = len(b)
    L, r = factors_free(W, free)
    y: list[Any] = []
    for i in range(n):
        y.append(b[i] - sum(L[i][m] * y[m] for m in range(i)))
    x: list[Any] = [0] * n
    for i in reversed(range(n)):
        x[i] = y[i] * r[i] - sum(L[m][i] * x[m] for m in range(i + 1, n))
    return np.array(x)


def solve_free_lu(W: Array, b: Array, free: Sequence[Any]) -> Array:
    """The same for a matrix that is not symmetric, by LU."""
    n = len(b)
    A, y = [list(row) for row in W], list(b)
    r: list[Any] = []
    for j in range(n):
        r.append(where(free[j], 1 / A[j][j], 0))
        for i in range(j + 1, n):
            factor = A[i][j] * r[j]
            for m in range(j + 1, n):
                A[i][m] = A[i][m] - factor * A[j][m]
            y[i] = y[i] - factor * y[j]
    x: list[Any] = [0] * n
    for i in reversed(range(n)):
        x[i] = (y[i] - sum(A[i][m] * x[m] for m in range(i + 1, n))) * r[i]
    return np.array(x)


def solve_rows(T: list[list[Any]], b: list[list[Any]]) -> list[list[Any]]:
    """T⁻¹ b (n, k) for a few right-hand sides, by Gaussian elimination on lists of rows."""
    n, b = len(T), [list(row) for row in b]
    inverses: list[Any] = []
    for i in range(n):
        inverses.append(1 / T[i][i])
        for a in range(i + 1, n):
            factor = T[a][i] * inverses[i]
            T[a] = [t - factor * o for t, o in zip(T[a], T[i], strict=True)]
            b[a] = [y - factor * o for y, o in zip(b[a], b[i], strict=True)]
    for i in reversed(range(n)):
        for a in range(i + 1, n):
            b[i] = [y - T[i][a] * o for y, o in zip(b[i], b[a], strict=True)]
        b[i] = [y * inverses[i] for y in b[i]]
    return b
