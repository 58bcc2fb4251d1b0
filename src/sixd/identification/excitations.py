"""``excitation``: motions from which parameters can be identified well.

The condition number of the weighted regressor of the base parameters is minimized over the amplitudes of a Fourier
series. For singular values σ, log ‖σ‖_s + log ‖1/σ‖_s is a smooth upper bound of log(σ_max / σ_min). Its gradient with
respect to the regressor is a matrix, which the adjoint of the regressor maps to gradients for q, qd and qdd of each
sample.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sixd.api.dynamics import inverse_dynamics, joint_torque_regressor
from sixd.engine.differentiation import vjp
from sixd.engine.kernel import Kernel
from sixd.errors import ModelError, ScalarTypeError
from sixd.identification.fourier import FourierSeries, TrajectoryBasis, rest_basis
from sixd.identification.least_squares import checked_noise, whitener
from sixd.identification.limits import MotionLimits, make_limits
from sixd.identification.structure.base import BaseParameters, base_parameters
from sixd.identification.structure.columns import Friction, make_columns, require_rates
from sixd.model.manifold import read_generator
from sixd.model.model import Model
from sixd.spatial.scalar import Array, ArrayLike, is_number
from sixd.trajectory.labels import labels_of
from sixd.trajectory.paths import checked_path, open_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SHARPNESS = 12.0  # s of the norms: the bound is above log κ by at most 2 log(r) / s, 0.6 for 43 parameters
_MOST_SAMPLES = 1e7  # of a result
_PER_WAVE = 8  # samples of the shortest wave in the optimization
_FINE = 5  # times as many samples in the check of the limits
_SHORT = 4  # starts are compared after the iterations divided by this
_PENALTIES = (1e2, 1e4, 1e6)  # weights of the excess over limits, one after the other


@dataclass(frozen=True, eq=False, repr=False)
class Excitation:
    """A periodic motion that excites the base parameters; made by ``sixd.identification.excitation``.

    t : (n,) [s] one period; q, qd, qdd, tau : (n, nv) the motion, and the torques that the model predicts for it.
    condition : condition number of the weighted regressor of the base parameters over these samples.
    random_condition : that of the best random motion within the same limits among the starts of the optimization.
    series : the Fourier series: ``series(t)`` is q, qd, qdd at any times; ``.centre``, ``.sine``, ``.cosine``.
    """

    base: BaseParameters
    series: FourierSeries
    t: Array
    q: Array
    qd: Array
    qdd: Array
    tau: Array
    condition: float
    random_condition: float

    @property
    def coefficients(self) -> dict[str, Array]:
        """centre (nv,), sine and cosine (nv, harmonics) of the series."""
        return {"centre": self.series.centre, "sine": self.series.sine, "cosine": self.series.cosine}

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write t, q, qd, qdd and tau to a .csv file, with names of joints, or to an .npz file."""
        target, suffix = checked_path("save", path, (".csv", ".npz"))
        arrays = {"t": self.t, "q": self.q, "qd": self.qd, "qdd": self.qdd, "tau": self.tau}
        with open_whole("save", path, target) as file:
            if suffix == ".npz":
                np.savez(file, **arrays)  # type: ignore[arg-type]
                return
            names = labels_of(self.base.model).names("qd")
            header = ["t", *(f"{what}.{name}" for what in ("q", "qd", "qdd", "tau") for name in names)]
            file.write((",".join(header) + "\n").encode())
            np.savetxt(file, np.column_stack(list(arrays.values())), fmt="%.17g", delimiter=",")

    def plot(self, path: str | os.PathLike[str] | None = None) -> Figure:
        """Draw q, qd, qdd and tau over time and return the matplotlib figure; with ``path`` also save it."""
        from sixd.identification.figures import motion_figure

        return motion_figure(self, path)

    def __repr__(self) -> str:
        return (
            f"<Excitation of {self.base.model.name!r}: {self.series.period:g} s, {self.series.harmonics} harmonics, "
            f"condition {self.condition:.4g} (random {self.random_condition:.4g})>"
        )


def excitation(
    model: Model,
    *,
    period: float = 10.0,
    harmonics: int = 5,
    rate: float = 100.0,
    friction: Friction = (),
    armature: bool = False,
    noise: ArrayLike | None = None,
    lower: ArrayLike | None = None,
    upper: ArrayLike | None = None,
    velocity: ArrayLike | None = None,
    acceleration: ArrayLike | None = None,
    effort: ArrayLike | None = None,
    margin: float = 0.05,
    starts: int = 3,
    iterations: int = 100,
    seed: int | np.random.Generator = 0,
) -> Excitation:
    """A periodic motion, from rest to rest, whose measurement determines the base parameters well.

    Parameters
    ----------
    period, harmonics : length [s], and number of harmonics of each joint's Fourier series.
    rate : [Hz] of the samples in the result.
    friction, armature : which parameters are to be identified besides the inertias, as for ``fit``.
    noise : standard deviation of each torque (nv,), which weights its rows; by default the effort limits, or 1.
    lower, upper, velocity, acceleration, effort : limits, a number or (nv,) each; by default those of the model, which
        has none for accelerations. Torques are those of the model.
    margin : part of each limit that is kept free.
    starts : random motions from which the optimization starts; after a few iterations it continues with the best.
    iterations : most iterations of each of its three rounds; 0 returns the best random motion.
    seed : of the random motions.

    Returns
    -------
    Excitation : ``.t .q .qd .qdd .tau``, ``.condition``, ``.random_condition``, ``.series``, ``.plot()``, ``.save()``.

    The limits hold at the samples of a grid of 40 in the shortest wave. Gradients are exact, by the adjoints of the
    regressor and of inverse dynamics. Coulomb friction is treated as constant between reversals.
    """
    columns = make_columns("excitation", model, friction, armature)
    require_rates("excitation", model)
    _require_positive("period", period)
    _require_positive("rate", rate)
    for name, x, least in (("harmonics", harmonics, 2), ("starts", starts, 1), ("iterations", iterations, 0)):
        if not isinstance(x, (int, np.integer)) or isinstance(x, bool) or x < least:
            raise ScalarTypeError(f"excitation: {name} is {x!r}, expected a whole number, at least {least}.")
    samples = float(period) * float(rate)
    if not 2 * harmonics < samples <= _MOST_SAMPLES:
        raise ScalarTypeError(
            f"excitation: period is {period!r} s and rate {rate!r} Hz, {samples:.3g} samples, expected more than "
            f"{2 * harmonics}, two in the shortest wave, and at most {_MOST_SAMPLES:.0e}."
        )
    rng = read_generator("excitation: seed", seed)
    if not is_number(margin) or not 0 <= float(margin) < 1:
        raise ScalarTypeError(f"excitation: margin is {margin!r}, expected a part of the limits such as 0.05.")
    overrides = {"lower": lower, "upper": upper, "velocity": velocity, "acceleration": acceleration, "effort": effort}
    limits = make_limits(model, float(margin), overrides)
    weights = checked_noise("excitation", noise, model.nv)
    if weights is None:
        weights = np.where(np.isfinite(limits.effort), limits.effort, 1.0)
    kinds = [kind for kind in columns.kinds if kind != "armature"]
    base = base_parameters(model, friction=kinds, armature=armature)
    search = _Search(base, limits, whitener(weights), float(period), int(harmonics))
    first = [search.random(rng) for _ in range(starts)]
    best = search.best(first, int(iterations))
    series = search.series(best)
    t = np.arange(round(samples)) / float(rate)
    q, qd, qdd = series(t)
    tau = inverse_dynamics(model, q, qd, qdd)
    condition = search.condition_of(q, qd, qdd)
    return Excitation(base, series, t, q, qd, qdd, tau, condition, min(map(search.condition, first)))


def _require_positive(name: str, x: float) -> None:
    if not is_number(x) or not 0 < float(x) < np.inf:
        raise ScalarTypeError(f"excitation: {name} is {x!r}, expected a positive number.")


class _Search:
    """The optimization: variables x are the centre (nv,), then amplitudes (m, nv) of the functions of a basis."""

    def __init__(
        self, base: BaseParameters, limits: MotionLimits, whiten: Array, period: float, harmonics: int
    ) -> None:
        self.base, self.limits, self.whiten = base, limits, whiten
        self.period, self.harmonics = period, harmonics
        count = _PER_WAVE * harmonics
        self.t = np.arange(count) * period / count
        self.coarse = rest_basis(self.t, period, harmonics)
        fine = _FINE * count
        self.fine = rest_basis(np.arange(fine) * period / fine, period, harmonics)
        self.adjoint: Kernel = vjp(joint_torque_regressor, base.model)
        self.torque_gradients = limits.torque_gradients()

    def split(self, x: Array) -> tuple[Array, Array]:
        """Centre (nv,) and amplitudes (m, nv)."""
        nv = self.base.model.nv
        return x[:nv], x[nv:].reshape(-1, nv)

    def motion(self, x: Array, basis: TrajectoryBasis) -> tuple[Array, Array, Array]:
        """q, qd, qdd (n, nv)."""
        centre, amplitudes = self.split(x)
        return centre + basis.value @ amplitudes, basis.rate @ amplitudes, basis.curve @ amplitudes

    def series(self, x: Array) -> FourierSeries:
        """The motion as a Fourier series."""
        centre, amplitudes = self.split(x)
        sines, cosines = np.split((self.coarse.to_series @ amplitudes).T, 2, axis=1)
        return FourierSeries(centre.copy(), sines, cosines, self.period)

    def condition_of(self, q: Array, qd: Array, qdd: Array) -> float:
        """Condition number of the weighted base regressor."""
        rows = self.whiten @ self.base.regressor(q, qd, qdd)
        return float(np.linalg.cond(rows.reshape(-1, len(self.base))))

    def condition(self, x: Array) -> float:
        """Condition number of the motion x."""
        return self.condition_of(*self.motion(x, self.fine))

    def random(self, rng: np.random.Generator) -> Array:
        """A random motion within the limits, as large as they allow."""
        limits, nv = self.limits, self.base.model.nv
        m = self.coarse.value.shape[1]
        for _ in range(100):
            centre = limits.middle + 0.5 * limits.reach * rng.uniform(-1, 1, nv)
            amplitudes = rng.normal(size=(m, nv)) * limits.reach
            x = self.within(np.concatenate([centre, amplitudes.ravel()]))
            if x is not None:
                return x
        raise ModelError(
            f"excitation: model {self.base.model.name!r} cannot hold its own weight within the effort limits "
            f"{limits.effort.tolist()} at 100 random configurations. Give effort=, or lower and upper around a "
            f"configuration that it can hold."
        )

    def within(self, x: Array) -> Array | None:
        """The motion, scaled around its centre until it keeps all limits; None if it violates them at rest."""
        centre, amplitudes = self.split(x)
        centre = np.clip(centre, self.limits.lower, self.limits.upper)

        def scaled(part: float) -> Array:
            return np.concatenate([centre, part * amplitudes.ravel()])

        def keeps(part: float) -> bool:
            return self.limits.excess(*self.motion(scaled(part), self.fine)) <= 0

        if keeps(1.0):
            return scaled(1.0)
        if not keeps(0.0):
            return None
        low, high = 0.0, 1.0
        for _ in range(40):
            middle = (low + high) / 2
            low, high = (middle, high) if keeps(middle) else (low, middle)
        return scaled(low) if low > 0 else None

    def best(self, starts: list[Array], iterations: int) -> Array:
        """The best motion within the limits that the optimization reaches from these, or the best of them."""
        tried = list(starts)
        if iterations:
            short = [self.descend(x, _PENALTIES[0], max(1, iterations // _SHORT)) for x in starts]
            x = min(short, key=lambda x: self.cost(x, _PENALTIES[0])[0])
            for weight in _PENALTIES:
                x = self.descend(x, weight, iterations)
                inside = self.within(x)
                tried += [inside] if inside is not None else []
        return min(tried, key=self.condition)

    def descend(self, x: Array, weight: float, iterations: int) -> Array:
        """A motion with a smaller cost."""
        from scipy.optimize import minimize

        result = minimize(self.cost, x, args=(weight,), jac=True, method="L-BFGS-B", options={"maxiter": iterations})
        return np.asarray(result.x)

    def cost(self, x: Array, weight: float) -> tuple[float, Array]:
        """The smooth bound of the logarithm of the condition number with the penalty of limits, and its gradient."""
        motion = self.motion(x, self.coarse)
        bound, gradients = self.bound(*motion)
        excess, over = self.limits.penalty(self.torque_gradients, *motion)
        d_q, d_qd, d_qdd = (a + weight * b for a, b in zip(gradients, over, strict=True))
        basis = self.coarse
        amplitudes = basis.value.T @ d_q + basis.rate.T @ d_qd + basis.curve.T @ d_qdd
        return bound + weight * excess, np.concatenate([d_q.sum(axis=0), amplitudes.ravel()])

    def bound(self, q: Array, qd: Array, qdd: Array) -> tuple[float, tuple[Array, Array, Array]]:
        """log ‖σ‖_s + log ‖1/σ‖_s, and its gradients with respect to q, qd and qdd (n, nv)."""
        base, columns = self.base, self.base.columns
        n, nv = qd.shape
        rows = self.whiten @ base.regressor(q, qd, qdd)
        U, values, Vt = np.linalg.svd(rows.reshape(-1, len(base)), full_matrices=False)
        values = np.maximum(values, 1e-12 * values[0])
        # powers of ratios, which do not overflow
        large, small = (values / values[0]) ** _SHARPNESS, (values[-1] / values) ** _SHARPNESS
        bound = np.log(values[0] / values[-1]) + (np.log(large.sum()) + np.log(small.sum())) / _SHARPNESS
        derivative = (large / large.sum() - small / small.sum()) / values
        weight = np.zeros((n, nv, columns.count))
        weight[..., list(base.independent)] = self.whiten.T @ ((U * derivative) @ Vt).reshape(n, nv, len(base))
        d_q, d_qd, d_qdd = self.adjoint(q, qd, qdd, weight[..., : 10 * base.model.nb])
        every = np.arange(nv)
        for kind, gradient in (("viscous", d_qd), ("armature", d_qdd)):
            if kind in columns.kinds:
                gradient += weight[:, every, every + columns.slice(kind).start]
        return float(bound), (d_q, d_qd, d_qdd)
