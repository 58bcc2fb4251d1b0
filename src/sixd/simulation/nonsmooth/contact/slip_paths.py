"""How a point slides within a step: where it stops or reverses, and what its friction was until then.

A point that slides at the beginning of a step with the velocity v (2,), and would slide on with e (2,) at its end if it
were braked along -v all the time, passes rest after the part c = |v|/(|v| + |e|) of the step, if v·e < 0. Without this,
each reversal would cost an error of the order of h in the velocity, and each stop one of μ g h²/8 in the position.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sixd.simulation.nonsmooth.contact.laws import size_of
from sixd.spatial.scalar import minimum, where

# parts of a step in which the path of a point that stops is followed: a box at 1 ms stops within 2e-7 m of where it
# should (5e-7 on a straight line), a go2 that lands with slipping feet has half of the error
_PARTS = 4
_INSIDE = 1 - 1e-9  # of the square of a cone's radius: within it a point sticks
_DAMPING = 1e-9


class Slip(NamedTuple):
    """The slip of a point: c and c s (3,) for ``cone.py``, and what moves the configuration since friction was not
    constant: its moment (2,) [N s²] where the point stops; 1 where it reverses, see :func:`turned_moment`.

    ``bends``: 1 in both cases, where the change of the held impulse counts as constant.
    """

    shift: list[Any]
    moment: list[Any]
    turns: Any
    bends: Any


def slip_path(B: Any, v: Any, w: Any, l: Any, mu: Any, held: Any, h: Any) -> Slip:
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


def turned_moment(x: Any, shift: Any, turns: Any, mu: Any, h: Any) -> list[Any]:
    """Return the moment (2,) of the impulse x (3,) of a point that reverses: friction -μ x_n s, then the rest."""
    return [-(shift[r] * x[0] * mu + shift[0] * x[r]) * turns * (h / 2) for r in (1, 2)]


def _stopping(B: Any, v: Any, w: Any, l: Any, most: Any, h: Any) -> list[Any]:
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
