"""How a point slides within a step: where it stops or reverses, and what its friction was until then.

A point that slides at the beginning of a step with the velocity v (2,), and would slide on with e (2,) at its end if it
were braked along -v all the time, passes rest after the part c = |v|/(|v| + |e|) of the step, if v·e < 0. Without this,
each reversal would cost an error of the order of h in the velocity, and each stop one of μ g h²/8 in the position.
"""

from __future__ import annotations

from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from sixd.simulation.nonsmooth.contact.contact_rows import ContactRows
from sixd.simulation.nonsmooth.contact.laws import size_of
from sixd.simulation.nonsmooth.contact.solver import ContactSolver
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array, Scalar, is_number, maximum, minimum, where
from sixd.trace.program import trace
from sixd.trace.stages import Into, Rows, Stages

# parts of a step in which the path of a point that stops is followed: a box at 1 ms stops within 2e-7 m of where it
# should (5e-7 on a straight line), a go2 that lands with slipping feet has half of the error
_PARTS = 4
_INSIDE = 1 - 1e-9  # of the square of a cone's radius: within it a point sticks
_DAMPING = 1e-9
# m/s: points that are slower at the beginning of a step did not slide. Those that stick have up to 2e-7 there, since
# the configuration moves on after their velocity is 0
_AT_REST = {"float64": 1e-6, "float32": 1e-5}


class Slip(NamedTuple):
    """The slip of a point: c and c s (3,) for ``laws.py``, and what moves the configuration since friction was not
    constant: its moment (2,) [N s²] where the point stops; 1 where it reverses, see :func:`turned_moment`.

    ``bends``: 1 in both cases, where the change of the held impulse counts as constant.
    """

    shift: list[Any]
    moment: list[Any]
    turns: Any
    bends: Any


def slip_path(B: Any, v: Scalar, w: Scalar, l: Any, mu: Scalar, held: Scalar, h: Scalar) -> Slip:
    """Return the slip of a point with the tangential velocity v (2,) before and w (2,) after a step of length h.
    B (2, 2) is its own tangential response, l (3,) the impulse that was held."""
    speed = size_of(v)
    scale = 1 / where(speed > 0, speed, 1)
    s = [v[0] * scale, v[1] * scale]
    most = l[0] * mu
    sticks = l[1] * l[1] + l[2] * l[2] < most * most * _INSIDE

    # the velocity at the end, had it been braked along -s
    more = [-s[0] * most - l[1], -s[1] * most - l[2]]
    e = [w[r] + B[r][0] * more[0] + B[r][1] * more[1] for r in range(2)]
    along, end = e[0] * s[0] + e[1] * s[1], size_of(e)
    turns = held & (along < 0) & (speed > 0)
    both = speed + end
    part = where(turns, speed / where(turns, speed - along, 1), minimum(0.5, speed / where(both > 0, both, 1)))
    # whether it sticks at the end is decided with all of its friction
    used = where(sticks, 0, where(held, part, 0))

    stop = _stopping(B, v, w, l, most, h)
    slides = held & (speed > 0)
    moment = [where(sticks & slides, stop[r], 0) for r in range(2)]
    back = where(sticks, 0, where(turns, 1, 0))
    return Slip([used, s[0] * used, s[1] * used], moment, back, where(sticks & slides, 1, back))


def turned_moment(x: Any, shift: Any, turns: Any, mu: Scalar, h: Scalar) -> list[Any]:
    """Return the moment (2,) of the impulse x (3,) of a point that reverses: friction -μ x_n s, then the rest."""
    return [-(shift[r] * x[0] * mu + shift[0] * x[r]) * turns * (h / 2) for r in (1, 2)]


def _stopping(B: Any, v: Scalar, w: Scalar, l: Any, most: Scalar, h: Scalar) -> list[Any]:
    """Return the moment (2,) of a point that comes to rest: its path in short parts, against a straight line."""
    more = (B[0][0] + B[1][1]) * _DAMPING
    a, b, d = B[0][0] + more, B[0][1], B[1][1] + more
    det = a * d - b * b
    scale = 1 / where(det > 0, det, 1)

    def impulse(y: Any) -> list[Any]:
        return [(d * y[0] - b * y[1]) * scale, (a * y[1] - b * y[0]) * scale]

    # what changes the velocity in a part, without friction; then friction stops it, or brakes it along its direction
    gain = [(w[r] - v[r] - B[r][0] * l[1] - B[r][1] * l[2]) / _PARTS for r in range(2)]
    most = most / _PARTS
    y, way = list(v), [v[0] / 2, v[1] / 2]
    for j in range(_PARTS):
        y = [y[0] + gain[0], y[1] + gain[1]]
        x = impulse(y)
        rests = x[0] * x[0] + x[1] * x[1] <= most * most
        size = size_of(y)
        brake = most / where(size > 0, size, 1)
        x = [y[0] * brake, y[1] * brake]
        y = [where(rests, 0, y[r] - B[r][0] * x[0] - B[r][1] * x[1]) for r in range(2)]
        weight = 1 if j < _PARTS - 1 else 0.5
        way = [way[r] + y[r] * weight for r in range(2)]
    return impulse([(way[r] / _PARTS - (v[r] + y[r]) / 2) * h for r in range(2)])


class SlipPaths:
    """The slip of the points of a step, as calls within a recipe."""

    def __init__(self, rows: ContactRows, solve: ContactSolver, lag: float, dtype: str) -> None:
        self.rows, self.solve, self.lag, self.dtype, self.k = rows, solve, lag, dtype, rows.k
        width = rows.points.width
        slip: dict[str, tuple[int, ...]] = {"W": (width, width), "v": (2,), "w": (2,), "l": (3,), "r": (3,)}
        slip |= {"mu": (), "slides": (), "h": (), **({} if solve.axes is not None else {"axes": (3, 3)})}
        self.slip = trace(self._slip, slip, dtype)

    def slips(
        self, stages: Stages, mu: Array, h: Scalar, v: Array, w: Array, held: Array, l: Array, U: Array, arms: Array
    ) -> tuple[Array, ...]:
        """Return the slide of the points (3k,), and their moments (k, 3), turns (k,) and bends (k,): zeros while none
        slides."""
        k, least = self.k, _AT_REST[self.dtype] ** 2
        rows = range(k)

        def begin(v: Array, w: Array, held: Array, l: Array, U: Array) -> tuple[Any, ...]:
            slides, tangents = [], [np.array([y[3 * i + 1 : 3 * i + 3] for i in rows]) for y in (v, w)]
            for i in rows:
                fast = where(tangents[0][i] @ tangents[0][i] > least, held[i], 0)
                slides.append(0 if is_number(mu[i]) and not mu[i] else fast)
            return *tangents, l[: 3 * k].reshape(k, 3), np.array(slides), reduce(maximum, slides)

        before, after, l, slides, any = stages.part(begin, v, w, held, l, U)
        data = stages.kept(before, after, l, slides, U, arms, h)

        def paths(*_: Any) -> tuple[Any, ...]:
            before, after, l, slides, U, arms, h = data
            W = stages.part(self.solve.own_responses, U)
            axes = np.array([p.axes for p in self.rows.points.points])
            more = [] if self.solve.axes is not None else [Rows(axes, rows)]
            arguments = [Rows(y, rows) for y in (before, after, l, arms, mu, slides)]
            return stages.each(
                self.slip, Rows(W, self.rows.points.frame_of), *arguments, h, *more,
                into=[Into(k, rows)] * 4, when=slides,
            )  # fmt: skip

        zeros = np.zeros((k, 3)), np.zeros((k, 3)), np.zeros(k), np.zeros(k)
        slide, moment, turns, bends = stages.repeat(paths, *zeros, most=1, when=any)
        return slide.reshape(3 * k), moment, turns, bends

    def _slip(
        self, W: Array, v: Array, w: Array, l: Array, r: Array, mu: Scalar, slides: Scalar, h: Scalar, *rest: Any
    ) -> tuple[Any, ...]:
        """Return slide (3,), moment (3,), turns and bends of a point; zeros unless it slides."""
        axes, _ = self.solve.axes_of([*rest, None] if self.solve.axes is None else [None])
        P = np.eye(3, dtype=int) if self.rows.points.width == 3 else axes @ np.hstack([-skew(r), np.eye(3, dtype=int)])
        B = (P @ W @ P.T)[1:, 1:]
        slip = slip_path(B, v, w, l, mu, slides > 0, h)
        results = np.array(slip.shift), np.array([0, *slip.moment]), slip.turns, slip.bends
        return tuple(where(slides > 0, y, 0) for y in results)

    def moment(
        self, stages: Stages, mu: Array, h: Scalar, x: Array, l: Array, start: Array, slide: Array, moment: Array,
        turns: Array, bends: Array,
    ) -> Array:  # fmt: skip
        """Return what the impulses x (3k,) move by, beyond those that were held, as a moment (3k,) about the end."""

        def one(
            _: Array, h: Scalar, x: Array, l: Array, start: Array, slide: Array, moment: Array, turns: Scalar,
            bends: Scalar, mu: Scalar,
        ) -> Array:  # fmt: skip
            since = where(bends > 0, h * max(self.lag, 0.5), h * self.lag)
            # held in the middle of a smooth change
            moved = (x - l) * since + moment + (l - start) * (h * (-1 / 6))
            more = turned_moment(x, slide, turns, mu, h)
            return np.array([moved[0], moved[1] + more[0], moved[2] + more[1]])

        own = slice(3 * self.k)
        known = [x[own]], [l[own]], [start[own]], [slide], [moment], [turns], [bends], [mu]
        return self.rows.points.over(stages, one, h, *known, into="f")
