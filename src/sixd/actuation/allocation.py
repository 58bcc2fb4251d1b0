"""Allocation: the inputs f of least norm with T f = τ, by singular values for numbers, exactly for symbols."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sixd.errors import SingularError
from sixd.spatial.scalar import Array, is_object

# singular values below this part of the largest count as zero. Solving leaves a residual of about 1e-16 ‖T‖ ‖f‖,
# which is 1e-8 of τ at the smallest singular value that counts; ten times that means that τ is out of range
_RANK = 1e-8
_RESIDUAL = {4: 1e-5, 8: 1e-7}  # by the bytes of a number in τ


def least_norm(where: str, T: Array, tau: Array, names: Sequence[str], strict: bool) -> Array:
    """f (…, m) for T (…, n, m) and τ (…, n); NaN, or with ``strict`` an error, where there is none. ``names`` of the n
    forces are for the message."""
    if is_object(T, tau):
        pairs = zip(T.reshape(-1, *T.shape[-2:]), tau.reshape(-1, tau.shape[-1]), strict=True)
        rows = [_exactly(where, a, b, strict) for a, b in pairs]
        return np.array(rows, dtype=object).reshape(*tau.shape[:-1], T.shape[-1])
    wide, right = T.astype(float), tau.astype(float)
    finite = np.isfinite(wide).all(axis=(-2, -1)) & np.isfinite(right).all(axis=-1)
    safe, known = np.where(finite[..., None, None], wide, 0), np.where(finite[..., None], right, 0)
    # scale each row of T to 1, so that newtons and newton metres have the same rounding; the norm of f does not change
    size = np.abs(safe).max(axis=-1, initial=0)
    scale = 1 / np.where(size > 0, size, 1)
    scaled, aim = safe * scale[..., None], known * scale
    f = (np.linalg.pinv(scaled, rcond=_RANK) @ aim[..., None])[..., 0]
    left = known - (safe @ f[..., None])[..., 0]
    limit = _RESIDUAL[tau.itemsize] * np.abs(known).max(axis=-1, initial=0)
    impossible = (np.abs(left) > limit[..., None]).any(axis=-1) & finite
    if strict and impossible.any():
        _raise_impossible(where, scaled, known, left, impossible, names)
    f = np.where((impossible | ~finite)[..., None], np.nan, f)
    return f.astype(tau.dtype, copy=False)


def _raise_impossible(where: str, T: Array, tau: Array, left: Array, impossible: Array, names: Sequence[str]) -> None:
    index = tuple(int(i) for i in np.argwhere(impossible)[0])
    row = f" in state {index}" if index else ""
    worst = int(np.abs(left[index]).argmax())
    rank = int(np.linalg.matrix_rank(T[index], rtol=_RANK))
    n, m = T.shape[-2:]
    few = f"there are {m} inputs for {n} joint forces"
    why = f"the input matrix ({n}, {m}) has rank {rank} there" if rank < min(n, m) else few
    raise SingularError(
        f"{where}: the inputs cannot produce tau{row}: {left[index][worst]:.3g} of {tau[index][worst]:.3g} is left "
        f"over at {names[worst]!r}, and {why}. Ask for a tau in the range of T, or for NaN by strict=False."
    )


def _exactly(where: str, T: Array, tau: Array, strict: bool) -> list[Any]:
    """f (m,) of symbols: T⁺ τ for T of full rank at generic points, τ in its range."""
    import sympy

    from sixd.symbolic.echelon import echelon, is_zero, tidy

    A, b = sympy.Matrix(T), sympy.Matrix(tau)
    reduced = echelon(A)
    rank = len(reduced.pivots)
    rows = sorted(reduced.sources)
    # f = Bᵀ(B Bᵀ)⁻¹ b for a basis B of the rows, or B⁻¹ b; by the adjugate, so that one determinant stands below
    B, c = A.extract(rows, list(range(A.cols))), b.extract(rows, [0])
    square = B if rank == A.cols else (B * B.T).applyfunc(tidy)
    solved = square.adjugate() * c / tidy(square.det()) if rank else c
    f = solved if rank == A.cols else B.T * solved
    if rank < A.rows:  # else nothing can be left over
        # floats as the decimals that they read, so that they can cancel
        left = [e for e in (sympy.nsimplify(e, rational=True) for e in A * f - b) if not is_zero(e)]
        if left and not strict:
            return [sympy.nan] * A.cols
        if left:
            raise SingularError(
                f"{where}: the inputs cannot produce tau: {tidy(-left[0])} is left over, and the input matrix "
                f"{A.shape} has rank {rank}. Ask for a tau in the range of T, or for NaN by strict=False."
            )
    return [tidy(e) for e in f]
