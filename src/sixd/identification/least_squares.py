"""Weighted least squares on the regressor, in blocks of rows: only a triangular factor is kept.

Rows are divided by the noise (whitened), so that the covariance of the solution is (Rᵀ R)⁻¹.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.errors import ScalarTypeError, ShapeError, SingularError
from sixd.model.model import Model
from sixd.spatial.scalar import Array, ArrayLike, require_scalars

_BLOCK = 2000  # samples whose rows are held at a time: 2000 · 7 · 98 numbers are 11 MB
_WORST = 1e9  # condition of the normalized columns beyond which parameters count as not excited
_LARGEST, _LEAST = 1e50, 1e-30  # of measured numbers, and of their noise
_PASSES = 4  # of an estimate of the noise from residuals

Regressor = Callable[[Array, Array, Array], Array]


class Reduction(NamedTuple):
    """A filter: ``apply`` maps signals (n, …) to fewer samples (m, …), and scales white noise by ``gain``."""

    apply: Callable[[Array], Array]
    gain: float


class Samples(NamedTuple):
    """Measured q (n, nq), qd, qdd and tau (n, nv); torques and regressors pass through the same filter, if any."""

    q: Array
    qd: Array
    qdd: Array
    tau: Array
    reduction: Reduction | None = None

    @property
    def torques(self) -> Array:
        """(m, nv): the measured torques after the filter."""
        return self.tau if self.reduction is None else self.reduction.apply(self.tau)

    def through(self, function: Regressor) -> Iterator[tuple[slice, Array]]:
        """Which of the torques, and function(q, qd, qdd) for them, in blocks; after the filter all at once."""
        blocks = [slice(k, k + _BLOCK) for k in range(0, len(self.tau), _BLOCK)]
        results = (function(self.q[block], self.qd[block], self.qdd[block]) for block in blocks)
        if self.reduction is None:
            yield from zip(blocks, results, strict=True)
        else:
            yield slice(None), self.reduction.apply(np.concatenate(list(results)))

    def evaluate(self, function: Regressor) -> Array:
        """function(q, qd, qdd) of all samples (m, …), after the filter."""
        return np.concatenate([part for _, part in self.through(function)])


class Factor(NamedTuple):
    """min ‖R x - z‖² + rest² is the least-squares problem: R (r, r) upper triangular, z (r,)."""

    R: Array
    z: Array
    rest: float

    def solve(self) -> Array:
        """x (r,)."""
        return np.linalg.solve(self.R, self.z)

    def with_prior(self, ridge: Array) -> Factor:
        """The factor of the same rows and of ridge · x = 0."""
        rows = np.concatenate([np.column_stack([self.R, self.z]), np.column_stack([np.diag(ridge), 0 * ridge])])
        R = _triangle(rows)
        return Factor(R[:-1, :-1], R[:-1, -1], self.rest)

    def covariance(self) -> Array:
        """(r, r) of x, for rows of unit noise."""
        inverse = np.linalg.inv(self.R)
        return inverse @ inverse.T


def _triangle(rows: Array) -> Array:
    """R of the factorization Q R of the rows."""
    return np.asarray(np.linalg.qr(rows, mode="r"))


def checked_samples(where: str, model: Model, q: Any, qd: Any, qdd: Any, tau: Any, reduction: Any = None) -> Samples:
    """The samples, leading dimensions flattened; raises for other shapes and numbers that are not finite."""
    arrays: dict[str, Array] = {}
    for name, x, width in (("q", q, model.nq), ("qd", qd, model.nv), ("qdd", qdd, model.nv), ("tau", tau, model.nv)):
        require_scalars(f"{where}: {name}", x)
        array = np.asarray(x)
        if array.dtype == object:
            raise ScalarTypeError(f"{where}: {name} holds symbols or objects, expected measured numbers.")
        if array.ndim < 2 or array.shape[-1] != width:
            raise ShapeError(
                f"{where}: {name} has shape {array.shape}, expected (n, {width}): a row for each sample, a column for "
                f"each {'coordinate' if name == 'q' else 'degree of freedom'} of {model.name!r}."
            )
        arrays[name] = array.astype(float)
    if len({x.shape[:-1] for x in arrays.values()}) > 1:
        sizes = ", ".join(f"{name} {x.shape}" for name, x in arrays.items())
        raise ShapeError(f"{where}: got {sizes}, expected as many samples of each.")
    samples = {name: x.reshape(-1, x.shape[-1]) for name, x in arrays.items()}
    for name, x in samples.items():
        require_finite(where, name, x)
        if np.abs(x).max(initial=0.0) > _LARGEST:
            raise ScalarTypeError(f"{where}: {name} has numbers beyond {_LARGEST:g}, expected SI units.")
    return Samples(**samples, reduction=reduction)


def require_finite(where: str, name: str, samples: Array) -> None:
    """Raise if any of the samples (n, …) is not finite."""
    bad = np.flatnonzero(~np.isfinite(samples).all(axis=tuple(range(1, samples.ndim))))
    if len(bad):
        raise ScalarTypeError(
            f"{where}: {name} is not finite in {len(bad)} of {len(samples)} samples, first in sample {bad[0]}. Remove "
            f"these samples from all arrays."
        )


def checked_noise(where: str, noise: ArrayLike | None, nv: int) -> Array | None:
    """Standard deviations (nv,), or a covariance (nv, nv); None if they are to be estimated."""
    if noise is None:
        return None
    require_scalars(f"{where}: noise", noise)
    array = np.asarray(noise, dtype=float)
    if array.shape not in ((), (nv,), (nv, nv)):
        raise ShapeError(
            f"{where}: noise has shape {array.shape}, expected a standard deviation, one for each degree of freedom "
            f"({nv},), or a covariance ({nv}, {nv})."
        )
    if array.ndim == 2:
        symmetric = np.isfinite(array).all() and np.allclose(array, array.T, rtol=1e-9)
        if not symmetric or np.linalg.eigvalsh(array)[0] <= 0:
            raise ScalarTypeError(f"{where}: noise is not a covariance, expected a positive definite matrix.")
        return array
    if not (np.isfinite(array) & (array > _LEAST)).all():
        raise ScalarTypeError(f"{where}: noise is {array.tolist()}, expected positive standard deviations of tau.")
    return np.broadcast_to(array, (nv,)).copy()


def whitener(noise: Array) -> Array:
    """V (nv, nv) for which V tau has unit noise."""
    return np.diag(1 / noise) if noise.ndim == 1 else np.linalg.inv(np.linalg.cholesky(noise))


def factorize(regressor: Regressor, samples: Samples, noise: Array) -> Factor:
    """The factor of whitened rows; ``regressor(q, qd, qdd)`` is (n, nv, r)."""
    V = whitener(noise)
    R: Array | None = None
    tau = samples.torques
    for block, W in samples.through(regressor):
        rows = V @ np.concatenate([W, tau[block][..., None]], axis=-1)
        rows = rows.reshape(-1, rows.shape[-1])
        R = _triangle(rows if R is None else np.concatenate([R, rows]))
    assert R is not None
    return Factor(R[:-1, :-1], R[:-1, -1], abs(float(R[-1, -1])))


def _least_noise(tau: Array) -> Array:
    """(nv,): the rounding of data without noise; zero would give infinite weights."""
    largest = np.abs(tau).max(axis=0)
    return np.maximum(1e-9 * np.maximum(largest, 1e-3 * largest.max() or 1.0), 2 * _LEAST)


def _estimated_noise(regressor: Regressor, samples: Samples, factor: Factor, noise: Array) -> Array:
    """Standard deviations (nv,) of the residuals, by the degrees of freedom that the fit leaves to each torque."""
    x, inverse = factor.solve(), np.linalg.inv(factor.R)
    squares, fitted = np.zeros((2, samples.tau.shape[1]))
    tau = samples.torques
    for block, W in samples.through(regressor):
        squares += ((tau[block] - W @ x) ** 2).sum(axis=0)
        fitted += ((W @ inverse) ** 2).sum(axis=(0, 2)) / noise**2
    return np.sqrt(squares / np.maximum(len(tau) - fitted, 1.0))


def least_squares(
    where: str,
    regressor: Regressor,
    samples: Samples,
    known: Array,
    noise: Array | None,
    labels: Sequence[str],
    ridge: Array | None = None,
) -> tuple[Factor, Array]:
    """The factor, and the noise: the argument, or estimated for each degree of freedom from residuals in a few passes.

    ``known`` (n, nv) is the part of the torques that is not estimated.
    ``ridge`` (r,) adds a prior: deviations 1/ridge from zero. Without it SingularError is raised, with names of
    ``labels``, if the motion does not excite all parameters.
    """
    count, nv = samples.torques.shape
    if count * nv <= len(labels):
        raise ShapeError(
            f"{where}: got {count} samples of {nv} torques, expected more than {-(-len(labels) // nv)} for "
            f"{len(labels)} parameters. Measure longer, or estimate fewer parameters."
        )
    least = _least_noise(samples.tau)
    samples = samples._replace(tau=samples.tau - known)

    def factor_for(noise: Array) -> Factor:
        factor = factorize(regressor, samples, noise)
        if ridge is not None:
            return factor.with_prior(ridge)
        _require_excited(where, factor, labels)
        return factor

    if noise is not None:
        if samples.reduction is not None:
            noise = noise * samples.reduction.gain**noise.ndim  # deviations, or a covariance
        return factor_for(noise), noise
    spread = np.sqrt((samples.torques**2).mean(axis=0))
    noise = np.maximum(spread, least)
    for _ in range(_PASSES):
        new = np.maximum(_estimated_noise(regressor, samples, factor_for(noise), noise), least)
        done = np.allclose(new, noise, rtol=1e-3)
        noise = new
        if done:
            break
    return factor_for(noise), noise


def _require_excited(where: str, factor: Factor, labels: Sequence[str]) -> None:
    size = np.linalg.norm(factor.R, axis=0)
    still = [name for name, x in zip(labels, size, strict=True) if not x > size.max() / _WORST]
    if not still:
        _, values, directions = np.linalg.svd(factor.R / size)
        if values[-1] * _WORST > values[0]:
            return
        lost = directions[values * _WORST <= values[0]]
        still = [name for name, x in zip(labels, np.abs(lost).max(axis=0), strict=True) if x > 0.1]
    names = ", ".join(still[:8]) + (", …" if len(still) > 8 else "")
    raise SingularError(
        f"{where}: the motion does not excite all parameters: the data do not determine {names}. Move all joints, fast "
        f"enough, as sixd.identification.excitation does, or estimate fewer parameters."
    )
