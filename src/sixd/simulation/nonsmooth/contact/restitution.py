"""Restitution at impacts that never gains energy.

With impulses p the kinetic energy changes by p·u + ½ ‖z‖², where u are the velocities before, and z = Uᵀp. Impulses p₀
without a rebound obey Coulomb's law, and take energy: p₀·u₊ ≤ 0. Those with a rebound, p₁ (Newton's law: a point that
strikes with the speed v leaves with e v), may gain some if several points are involved, or friction (Kane's paradox).
Then p₀ + θ (p₁ - p₀) with the largest θ ≤ 1 that gains nothing is between the two. It is within the cones of friction,
and no point enters the ground.
"""

from __future__ import annotations

from sixd.spatial.scalar import Array, maximum, minimum, sqrt, where


def without_gain(u: Array, p0: Array, z0: Array, p1: Array, z1: Array) -> tuple[Array, Array]:
    """Return the impulses (n,) of an impact, and their z (nv,); see above."""
    dp, dz = p1 - p0, z1 - z0
    start = p0 @ u + (z0 @ z0) * 0.5
    rate = dp @ u + z0 @ dz
    bend = (dz @ dz) * 0.5
    gain = start + rate + bend
    root = sqrt(maximum(rate * rate - bend * minimum(start, 0) * 4, 0))
    part = minimum(maximum((root - rate) / where(bend > 0, bend * 2, 1), 0), 1)
    part = where(gain > 0, part, 1)
    return p0 + dp * part, z0 + dz * part
