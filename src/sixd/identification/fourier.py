"""Periodic motions as finite Fourier series that begin and end at rest.

    q(t) = centre + Σ_l  sine[:, l] sin(l ω t) + cosine[:, l] (cos(l ω t)),    ω = 2π / period,  l = 1 … harmonics

At t = 0, and after each period, velocity and acceleration are zero: Σ l sine = 0 and Σ l² cosine = 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sixd.spatial.scalar import Array, ArrayLike, require_scalars


class TrajectoryBasis(NamedTuple):
    """Functions of time that are at rest at 0, and their derivatives, (n, m) each; ``to_series`` (2 harmonics, m)."""

    value: Array
    rate: Array
    curve: Array
    to_series: Array


def rest_basis(t: Array, period: float, harmonics: int) -> TrajectoryBasis:
    """The m = 2 (harmonics - 1) combinations of sines and cosines that begin at rest, at times t (n,)."""
    numbers = np.arange(1, harmonics + 1)
    to_series = np.zeros((2 * harmonics, 2 * harmonics - 2))
    for row, column, condition in ((0, 0, numbers), (harmonics, harmonics - 1, numbers**2)):
        null = np.linalg.svd(condition[None].astype(float))[2][1:].T
        to_series[row : row + harmonics, column : column + harmonics - 1] = null
    value, rate, curve = (waves @ to_series for waves in series_waves(t, period, harmonics))
    return TrajectoryBasis(value, rate, curve, to_series)


def series_waves(t: Array, period: float, harmonics: int) -> tuple[Array, Array, Array]:
    """Sines, then cosines (…, 2 harmonics) at times t (…), and their first and second derivatives."""
    w = 2 * np.pi / period * np.arange(1, harmonics + 1)
    angle = np.asarray(t, dtype=float)[..., None] * w
    s, c = np.sin(angle), np.cos(angle)
    pairs = (s, c), (w * c, -w * s), (-(w**2) * s, -(w**2) * c)
    value, rate, curve = (np.concatenate(pair, axis=-1) for pair in pairs)
    return value, rate, curve


@dataclass(frozen=True, eq=False)
class FourierSeries:
    """A periodic motion: ``centre`` (nv,), ``sine`` and ``cosine`` (nv, harmonics) amplitudes, ``period`` [s]."""

    centre: Array
    sine: Array
    cosine: Array
    period: float

    @property
    def harmonics(self) -> int:
        """Number of harmonics."""
        return self.sine.shape[1]

    def __call__(self, t: ArrayLike) -> tuple[Array, Array, Array]:
        """q, qd and qdd (…, nv) at times t (…) [s]."""
        require_scalars("series: t", t)
        amplitudes = np.concatenate([self.sine, self.cosine], axis=1).T
        q, qd, qdd = (waves @ amplitudes for waves in series_waves(np.asarray(t), self.period, self.harmonics))
        return self.centre + q, qd, qdd
