"""Impacts: rows that reach a rigid limit, or the ground, within a step."""

from __future__ import annotations

from typing import Any

from sixd.spatial.scalar import maximum, minimum, sqrt, where


class Impact:
    """A row that reaches an obstacle within a step, under constant acceleration: how long ago, and how fast.

    ``after`` is its distance at the end of the step, below 0 beyond the obstacle, v and w its velocities before and
    after the step, ``per`` is 1/h. Rows that are ``held`` there do not hit it.
    """

    def __init__(self, held: Any, after: Any, v: Any, w: Any, per: Any, h: Any) -> None:
        self.w, self.acceleration = w, (w - v) * per
        root = sqrt(maximum(w * w - self.acceleration * after * 2, 0))
        falls = w - root
        self.happens = where(held, 0, where(after <= 0, 1, 0)) > 0
        self.since = where(self.happens, minimum(maximum(after * 2 / where(falls < 0, falls, -1), 0), h), 0)
        self.speed = maximum(self.acceleration * self.since - w, 0)
        self.weight = where(self.happens, maximum(-w, 0), 0)

    def rebound(self, restitution: float, least: Any, still: Any) -> Any:
        """Return the velocity at the end of the step after bouncing; 0 if it does not bounce.

        ``still`` is the row's acceleration at rest, by weight and other forces. With it a bounce with restitution 1
        keeps the energy: what the impulse gives, λ (back + w)/2, is what the displacement since the impact takes. The
        acceleration by the motion itself changes at the impact, and with that before it every rebound gains.
        """
        if not restitution:
            return 0
        gained = still * self.since
        back = maximum((gained - self.w) * restitution + gained, 0)
        return where(self.happens & (self.speed > least), back, 0)
