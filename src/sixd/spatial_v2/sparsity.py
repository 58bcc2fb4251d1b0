"""Branch-induced sparsity under the original names  [RBDA 6.5].

λ is the parent array of the joint variables, 1-based: 0 ≤ λ(i) < i. A matrix H of that pattern has nonzeros in row i
of its lower triangle only in the columns i, λ(i), λ(λ(i)), …; only the lower triangle is read.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sixd.algorithms.linear import tree as native
from sixd.errors import ModelError, SingularError
from sixd.io.spatial_v2.matlab import square, vector
from sixd.io.spatial_v2.structures import parents
from sixd.model.tree import expand_parent
from sixd.spatial.scalar import Array, ArrayLike


def expandLambda(lam: ArrayLike, nf: ArrayLike) -> Array:
    """Return the parent array of joint variables from that of bodies with ``nf`` degrees of freedom [RBDA Table 6.4].

    >>> expandLambda([0, 1, 1], [2, 1, 3])
    array([0, 1, 2, 2, 4, 5])
    """
    over = parents("expandLambda", "lambda", lam)
    counts = vector("expandLambda", "nf", nf, len(over))
    if not all(n >= 1 and n == int(n) for n in counts):
        raise ModelError(f"expandLambda: nf is {counts.tolist()}, expected whole numbers of at least 1.")
    return np.array(expand_parent([-1, *over], [0, *(int(n) for n in counts)]), dtype=int) + 1


def LTL(H: ArrayLike, lam: ArrayLike) -> Array:
    """Return the lower-triangular L (n, n) with LᵀL = H, of the same pattern as H  [RBDA Table 6.3]."""
    A, over = _read("LTL", "H", H, lam)
    with np.errstate(all="ignore"):
        L = native.ltl(A, over)
    if np.isfinite(A).all() and not np.isfinite(L).all():
        raise SingularError("LTL: H is not positive definite. Is it a mass matrix?")
    return L.astype(float)


def LTDL(H: ArrayLike, lam: ArrayLike) -> tuple[Array, Array]:
    """Return the unit lower-triangular L and diagonal D, both (n, n), with LᵀDL = H."""
    A, over = _read("LTDL", "H", H, lam)
    with np.errstate(all="ignore"):
        L, D = native.ltdl(A, over)
    if np.isfinite(A).all() and not (np.isfinite(L).all() and np.isfinite(D).all()):
        raise SingularError("LTDL: H is singular, expected a positive definite matrix.")
    return L.astype(float), np.diag(D)


def mpyH(H: ArrayLike, lam: ArrayLike, x: ArrayLike) -> Array:
    """Return H x (n,)."""
    return _apply("mpyH", native.multiply_h, H, lam, x)


def mpyL(L: ArrayLike, lam: ArrayLike, x: ArrayLike) -> Array:
    """Return L x (n,)."""
    return _apply("mpyL", native.multiply_l, L, lam, x)


def mpyLt(L: ArrayLike, lam: ArrayLike, x: ArrayLike) -> Array:
    """Return Lᵀ x (n,)."""
    return _apply("mpyLt", native.multiply_lt, L, lam, x)


def mpyLi(L: ArrayLike, lam: ArrayLike, x: ArrayLike) -> Array:
    """Return L⁻¹ x (n,). ``mpyLi(L, lam, mpyLit(L, lam, b))`` solves H y = b with L = LTL(H, lam)."""
    return _apply("mpyLi", native.solve_l, L, lam, x)


def mpyLit(L: ArrayLike, lam: ArrayLike, x: ArrayLike) -> Array:
    """Return L⁻ᵀ x (n,)."""
    return _apply("mpyLit", native.solve_lt, L, lam, x)


def _read(where: str, name: str, matrix: ArrayLike, lam: ArrayLike) -> tuple[Array, list[int]]:
    """Return the matrix and the 0-based parent array; raises if λ excludes a nonzero entry, which would be ignored."""
    over = parents(where, "lambda", lam)
    A = square(where, name, matrix, len(over))
    allowed = np.eye(len(over), dtype=bool)
    for i, p in enumerate(over):
        if p:
            allowed[i] |= allowed[p - 1]
    excess = np.where(allowed, 0.0, np.tril(np.abs(A)))
    if excess.max(initial=0.0) > 1e-12 * np.abs(A).max(initial=0.0):
        row, column = np.unravel_index(excess.argmax(), excess.shape)
        raise ModelError(
            f"{where}: {name} has {A[row, column]:g} at ({row + 1}, {column + 1}), expected 0, because lambda does not "
            f"lead from {row + 1} to {column + 1}. A chain, lambda = 0 … n-1, allows every entry."
        )
    return A, [p - 1 for p in over]


def _apply(where: str, operation: Callable[..., Array], matrix: ArrayLike, lam: ArrayLike, x: ArrayLike) -> Array:
    A, over = _read(where, "the matrix", matrix, lam)
    return operation(A, over, vector(where, "x", x, len(over)))
