"""The configuration manifold: the methods ``integrate`` and ``difference`` of all systems."""

from __future__ import annotations

from sixd.engine.public import public
from sixd.model.system import System
from sixd.spatial.scalar import Array, ArrayLike


@public(lambda system, q, dq: system.integrate_row(q, dq), generic=True)
def integrate(system: System, q: ArrayLike, dq: ArrayLike) -> Array:
    """Configuration (…, nq) reached from q (…, nq) by the constant velocity dq (…, nv) in unit time."""


@public(lambda system, q0, q1: system.difference_row(q0, q1), generic=True)
def difference(system: System, q0: ArrayLike, q1: ArrayLike) -> Array:
    """dq (…, nv) with ``integrate(q0, dq)`` = q1; the shortest rotation for orientations."""
