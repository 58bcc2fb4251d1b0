"""Closures between two frames: a loop closed by a joint, and a rod of fixed length.

The rows of A are in the axes of ``frame_a``; they are exact derivatives of ``position`` everywhere, not only where it
vanishes. λ is the force that the closure exerts on the body of ``frame_b``, and with the opposite sign on that of
``frame_a``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, cast, final

import numpy as np

from sixd.algorithms.constrained.relative import relative_jacobian, relative_motion, relative_pose
from sixd.errors import ModelError, ScalarTypeError, unknown_name
from sixd.model.constraint import Constraint
from sixd.model.joints.base import Joint, finite_parameter
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.rotation import EYE3, rotation_to_vector, skew, unskew
from sixd.spatial.scalar import Array, Scalar, absolute, is_number

_NAMES = ("rx", "ry", "rz", "x", "y", "z")
WORDS = {
    "point": ("x", "y", "z"),
    "planar": ("x", "y"),
    "axis": ("rx", "ry", "x", "y", "z"),
    "weld": _NAMES,
}


class OnFrames(Constraint):
    """Base of constraints on frames of a model; ``frame_fields`` are the names of the fields that hold frame names."""

    @property
    def frames(self) -> tuple[str, ...]:  # type: ignore[override]
        """Names of the frames that it acts on."""
        return tuple(getattr(self, name) for name in self.frame_fields)


@final
@dataclass(frozen=True)
class Loop(OnFrames):
    """Two frames closed to each other in some directions.

    ``directions`` is "point" (three translations: a ball joint), "planar" (x and y: a hinge of a planar mechanism,
    within frame_a's xy-plane), "axis" (a hinge about frame_a's z: three translations, rotations about x and y), "weld"
    (all six), or any of ("rx", "ry", "rz", "x", "y", "z"), rotations about and translations along frame_a's axes.

    Translations: R_Aᵀ(p_B - p_A) [m]. Rotations, with R = R_AᵀR_B [rad, for small angles]: the vector of ½(R - Rᵀ), sin
    of the angle times its axis; of two rotations, the cross product of frame_a's third axis with frame_b's, since ½(R -
    Rᵀ) would lose rank after half a revolution of the hinge. λ: force [N] along, moment [N m] about frame_a's axes, on
    the body of ``frame_b``.

    >>> import sixd
    >>> sixd.Loop("coupler_end", "rocker_end", "planar")
    Loop(frame_a='coupler_end', frame_b='rocker_end', directions=('x', 'y'))
    """

    frame_fields: ClassVar[tuple[str, ...]] = ("frame_a", "frame_b")
    frame_a: str
    frame_b: str
    directions: Any = "weld"

    def __post_init__(self) -> None:
        directions = self.directions
        if isinstance(directions, str):
            if directions not in WORDS and directions not in _NAMES:
                raise unknown_name("Loop: directions", "word", directions, (*WORDS, *_NAMES))
            directions = WORDS.get(directions, (directions,))
        if self.frame_a == self.frame_b:
            raise ModelError(f"Loop: both frames are {self.frame_a!r}, expected two that move against each other.")
        if isinstance(directions, (Joint, type)) or not isinstance(directions, Iterable):
            raise ScalarTypeError(
                f"Loop: directions is {directions!r}, expected a word or names such as ('x', 'y'). A loop closed by a "
                f"hinge about z is 'axis', by a ball 'point', rigidly 'weld'."
            )
        chosen = tuple(directions)
        for name in chosen:
            if name not in _NAMES:
                raise unknown_name("Loop: directions", "direction", name, _NAMES)
        if not chosen or len(set(chosen)) != len(chosen):
            raise ModelError(f"Loop: directions are {list(chosen)}, expected at least one, each once.")
        object.__setattr__(self, "directions", chosen)

    @property
    def spatial(self) -> bool:  # type: ignore[override]
        """Whether it closes all three translations."""
        return {"x", "y", "z"} <= set(self.directions)

    def position(self, system: System, q: Array) -> Array:
        """φ (h,): the residual in each of the directions [rad and m]."""
        R, p = relative_pose(tree_of(self, system), q, self.frame_a, self.frame_b)
        free = self._hinge
        turned = unskew(R) if free is None else skew(EYE3[free]) @ R[:, free]
        return self._rows(turned, p)

    def velocity(self, system: System, q: Array, qd: Array) -> Array:
        """A qd (h,): the rate of ``position``."""
        m = relative_motion(tree_of(self, system), q, qd, self.frame_a, self.frame_b)
        return self._rows(self._map(m.R) @ m.w, m.pd)

    def jacobian(self, system: System, q: Array) -> Array:
        """A (h, nv): the Jacobian of ``position``."""
        R, _, J_w, J_p = relative_jacobian(tree_of(self, system), q, self.frame_a, self.frame_b)
        return self._rows(self._map(R) @ J_w, J_p)

    def bias(self, system: System, q: Array, qd: Array) -> Array:
        """dA/dt qd (h,)."""
        m = relative_motion(tree_of(self, system), q, qd, self.frame_a, self.frame_b)
        turning = self._map(m.R) @ m.wd + self._map(skew(m.w) @ m.R) @ m.w
        return self._rows(turning, m.pdd)

    def branch(self, system: System, q: Array) -> Any:
        """A scalar above 0 unless rotations vanish after half a revolution, as sines do; see ``closure``."""
        chosen = [k for k in range(3) if _NAMES[k] in self.directions]
        if not chosen:
            return 1
        R, _ = relative_pose(tree_of(self, system), q, self.frame_a, self.frame_b)
        if self._hinge is not None:
            return R[self._hinge, self._hinge]
        if len(chosen) == 3:
            return R[0, 0] + R[1, 1] + R[2, 2] - 1
        return 1 - absolute(rotation_to_vector(R)[chosen[0]])

    def closure(self, system: System, q: Array) -> tuple[Array, Array]:
        """Residual (h,) and its rows of A (h, nv); angles instead of sines, which also vanish at half a revolution."""
        R, p, J_w, J_p = relative_jacobian(tree_of(self, system), q, self.frame_a, self.frame_b)
        free, chosen = self._hinge, [k for k in range(3) if _NAMES[k] in self.directions]
        error, rows = np.asarray(rotation_to_vector(R), dtype=float), J_w
        if free is not None:
            error = _angle_between(EYE3[free], R[:, free])
        elif len(chosen) == 1 and abs(error[chosen[0]]) < 1:
            error, rows = unskew(R), self._map(R) @ J_w
        return self._rows(error, p), self._rows(rows, J_p)

    @property
    def _hinge(self) -> int | None:
        """The only axis about which frame_b is free to rotate, None if there is not exactly one."""
        free = [k for k in range(3) if _NAMES[k] not in self.directions]
        return free[0] if len(free) == 1 else None

    def _map(self, R: Array) -> Array:
        """K (3, 3), linear in R: the rate of the rotations' residual is K w, for dR/dt = w× R. 1 at R = 1."""
        if self._hinge is None:
            return (EYE3 * (R[0, 0] + R[1, 1] + R[2, 2]) - R) / 2
        return -skew(EYE3[self._hinge]) @ skew(R[:, self._hinge])

    def _rows(self, rotation: Array, translation: Array) -> Array:
        """The rows of both that ``directions`` chooses."""
        return np.array([(rotation if k < 3 else translation)[k % 3] for k in map(_NAMES.index, self.directions)])


@final
@dataclass(frozen=True)
class Distance(OnFrames):
    """The origins of two frames stay ``length`` [m] apart: a massless rod with ball joints at its ends.

    φ = ½(‖p_B - p_A‖² - length²) [m²], smooth for any length above 0. The rod's force (compression positive) is
    λ · length [N].
    """

    frame_fields: ClassVar[tuple[str, ...]] = ("frame_a", "frame_b")
    frame_a: str
    frame_b: str
    length: Any

    def __post_init__(self) -> None:
        require_positive("Distance", "length", self.length)
        if self.frame_a == self.frame_b:
            raise ModelError(f"Distance: both frames are {self.frame_a!r}, expected two that move against each other.")

    def position(self, system: System, q: Array) -> Array:
        """φ (1,) = ½(‖p_B - p_A‖² - length²) [m²]."""
        _, p = relative_pose(tree_of(self, system), q, self.frame_a, self.frame_b)
        return np.array([(p @ p - self.length * self.length) / 2])

    def velocity(self, system: System, q: Array, qd: Array) -> Array:
        """A qd (1,): the rate of ``position`` [m²/s]."""
        m = relative_motion(tree_of(self, system), q, qd, self.frame_a, self.frame_b)
        return np.array([m.p @ m.pd])

    def jacobian(self, system: System, q: Array) -> Array:
        """A (1, nv): the Jacobian of ``position``."""
        _, p, _, J_p = relative_jacobian(tree_of(self, system), q, self.frame_a, self.frame_b)
        return (p @ J_p)[None]

    def bias(self, system: System, q: Array, qd: Array) -> Array:
        """dA/dt qd (1,)."""
        m = relative_motion(tree_of(self, system), q, qd, self.frame_a, self.frame_b)
        return np.array([m.pd @ m.pd + m.p @ m.pdd])


def require_positive(kind: str, name: str, value: Scalar) -> None:
    """Raise unless ``value`` is a finite number above 0, or an expression."""
    finite_parameter(f"{kind}: {name}", value, "[m]")
    if is_number(value) and value <= 0:
        raise ModelError(f"{kind}: {name} is {value!r}, expected a number above 0 [m].")


def _angle_between(a: Array, b: Array) -> Array:
    """The rotation vector (3,) of least angle from the unit vector a to b, as floats."""
    normal, cosine = np.cross(a, b), float(a @ b)
    sine = float(np.linalg.norm(normal))
    if sine < 1e-9 and cosine < 0:  # any axis across a will do
        normal, sine = np.roll(a, 1).astype(float), 1.0
        return normal * np.pi
    return normal * (np.arctan2(sine, cosine) / sine if sine > 1e-9 else 1.0)


def tree_of(constraint: Constraint, system: System) -> Model:
    """The system as a model; raise if it is not a tree with frames."""
    system.frame(constraint.frames[0], constraint.label)
    return cast(Model, system)
