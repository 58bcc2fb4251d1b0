"""When points reach the ground within a step.

The height of a point and its rate are known at both ends of a step. A cubic with these values (Hermite's) is off by the
order h⁴: 1e-11 m for a body that turns at 10 rad/s, in a step of 1 ms. Newton's method on shorter steps does the rest.
"""

from __future__ import annotations

from typing import Any

from sixd.spatial.scalar import Array, maximum, minimum, where

_ITERATIONS = 8  # of Newton's method on the cubic, each halving the interval at worst; four are usual


def time_on_cubic(before: Any, after: Any, v: Any, w: Any, h: Any, falls: Any, strikes: Any) -> Any:
    """Return when a point reaches the ground within a step of length h, or h.

    ``before`` and ``after`` are its heights, v and w their rates at both ends. ``falls``: 1 if it is below the ground
    at the end; ``strikes``: 1 if it is on the ground at the beginning, and approaches.
    """
    d0, d1 = v * h, w * h
    a, b = (before - after) * 2 + d0 + d1, (after - before) * 3 - d0 * 2 - d1
    low, high = 0.0, 1.0
    x: Any = before / where(before > after, before - after, 1)
    for _ in range(_ITERATIONS):
        y = ((a * x + b) * x + d0) * x + before
        low, high = where(y > 0, x, low), where(y > 0, high, x)
        slope = (a * x * 3 + b * 2) * x + d0
        ahead = x - y / where(slope < 0, slope, -1)
        x = where((slope < 0) & (ahead >= low) & (ahead <= high), ahead, (low + high) * 0.5)
    return where(strikes > 0, 0, where(falls > 0, x * h, h))


def newton_time(time: Any, heights: Array, w: Array, falls: Array, most: Any) -> tuple[Any, Any]:
    """Return a better time of the first contact, and by how much the first point is off the ground [m].

    ``heights`` and their rates w (k,) are those at ``time``; of the points that fall, the lowest is followed.
    """
    lowest, rate = 1e9, -1.0  # type: Any, Any
    for height, speed, fall in zip(heights, w, falls, strict=True):
        lower = (fall > 0) & (height < lowest)
        lowest, rate = where(lower, height, lowest), where(lower, speed, rate)
    better = time - lowest / where(rate < 0, rate, -1)
    return where(rate < 0, minimum(maximum(better, 0), most), time), where(lowest < 1e8, lowest, 0)
