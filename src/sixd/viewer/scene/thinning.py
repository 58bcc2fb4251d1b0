"""Fewer records than a simulation gives: poses as often as a screen shows them, plots that keep every peak.

Knows times and numbers, no motions and no page.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sixd.spatial.scalar import Array

RATE = 60.0  # records/s, what screens show


@dataclass(frozen=True)
class Bins:
    """Records gathered so that a plot keeps every peak: of each bin the smallest and the largest value, in turn."""

    records: int
    most: int

    @property
    def width(self) -> int:
        """Records a bin; 1 if all are kept."""
        return 1 if self.records <= max(self.most, 2) else -(-2 * self.records // max(self.most, 2))

    def times(self, t: Array) -> Array:
        """Of the points: the beginning and the middle of each bin, the last record at the end."""
        if self.width == 1:
            return t
        first = np.arange(0, self.records, self.width)
        middle = np.minimum(first + self.width // 2, self.records - 1)
        return np.append(np.stack([t[first], t[middle]], axis=1).ravel(), t[-1])

    def values(self, x: Array) -> Array:
        """Of the points: the two extremes of each bin as they follow each other, and the last value."""
        if self.width == 1:
            return np.asarray(x)
        x = np.asarray(x, dtype=float)
        full = np.append(x, np.repeat(x[-1], -len(x) % self.width)).reshape(-1, self.width)
        row = np.arange(len(full))
        # a value that is not finite is an extreme: the line has a gap there
        low, high = full.argmin(axis=1), full.argmax(axis=1)
        pair = np.stack([full[row, np.minimum(low, high)], full[row, np.maximum(low, high)]], axis=1)
        return np.append(pair.ravel(), x[-1])


def thinned(t: Array, rate: float = RATE) -> Array:
    """Numbers of records, at most about ``rate`` a second: those nearest to a grid, first and last among them."""
    if len(t) < 3 or (len(t) - 1) <= rate * (t[-1] - t[0]) * 1.02:
        return np.arange(len(t))
    grid = np.linspace(t[0], t[-1], max(int(np.ceil(rate * (t[-1] - t[0]))) + 1, 2))
    right = np.clip(np.searchsorted(t, grid), 1, len(t) - 1)
    nearest = np.where(grid - t[right - 1] < t[right] - grid, right - 1, right)
    return np.unique(np.concatenate([[0], nearest, [len(t) - 1]]))
