"""All that RNEA computes on its way, body by body, and the forces in the joints under forward dynamics.

The classical quantities of Newton's and Euler's equations next to the spatial ones. Accelerations are those of the
motion, without gravity; weight is a force on each body. c is the centre of mass in body coordinates; other letters as
in rnea.py.
"""

from __future__ import annotations

import dataclasses
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sixd.algorithms.constrained.dynamics import constrained_dynamics
from sixd.algorithms.constrained.least_norm import EXACT, RankLimits
from sixd.algorithms.constrained.rows import row_slices
from sixd.algorithms.kinematics import ZERO6, express, frame_transform, joint_kinematics, world_transforms
from sixd.algorithms.passive_forces import passive_force
from sixd.algorithms.rnea import inward, outward, subtract_external_forces
from sixd.errors import ModelError, ScalarTypeError
from sixd.model.joints import Fixed, Joint
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.inertia import first_moment
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array, Scalar, is_sympy, is_zero
from sixd.spatial.transform import inverse_transform, pose_from_transform, rotate_both, transform_from_pose

ZERO3 = np.zeros(3, dtype=int)


class BodyDynamics(NamedTuple):
    """Rows of all bodies: what ``newton_euler`` returns, in this order."""

    omega: Array
    omegad: Array
    v: Array
    vd: Array
    vd_com: Array
    velocity: Array
    acceleration: Array
    F: Array
    N: Array
    f: Array
    n: Array
    tau: Array
    gravity: Array


def newton_euler(
    model: Model,
    q: Array,
    qd: Array,
    qdd: Array,
    *,
    expressed_in: str = "body",
    f_ext: Array | None = None,
    centers: Any = None,
) -> tuple[Array, ...]:
    """Motion, net force and joint force of every body, and tau  [RBDA section 5.3; Craig, section 6.5].

    ``centers`` (nb + 1, 3) are the centres of mass in the bodies; by default those of the model's inertias.
    """
    kinematics = joint_kinematics(model, q, qd)
    X_W = world_transforms(model, kinematics.X)
    centers = centers_of_mass(model) if centers is None else centers

    # outward: motion and net force of each body
    v, a, net = outward(model, kinematics, qdd, ZERO6)

    # inward: the joint carries what weight and other forces from outside do not
    loads = [ZERO6] + [net[i] - model.inertia[i] @ (X_W[i] @ model.a_gravity) for i in model.bodies]
    f, along = inward(model, kinematics, subtract_external_forces(model, kinematics.X, loads, f_ext))
    tau = along + model.armature * qdd + passive_force(model, q, qd)

    rows = [_row(model, v[i], a[i], net[i], f[i], centers[i], X_W[i], expressed_in) for i in model.bodies]
    widths = (3, 3, 3, 3, 3, 6, 6, 3, 3, 3, 3, 3)
    columns = zip(*rows, strict=True) if rows else [()] * len(widths)
    *found, gravity = (np.array(x).reshape(model.nb, k) for x, k in zip(columns, widths, strict=True))
    return *found, tau, gravity


def _row(
    model: Model, v: Array, a: Array, net: Array, f: Array, c: Array, X_W: Array, expressed_in: str
) -> tuple[Array, ...]:
    """The fields of one body, without tau, from its quantities in body coordinates."""
    w, wd, F, gravity = v[:3], a[:3], net[3:], X_W[:3, :3] @ model.gravity
    vd = a[3:] + skew(w) @ v[3:]  # classical acceleration of the origin
    vd_com = vd + skew(wd) @ c + skew(w) @ (skew(w) @ c)
    N = net[:3] - skew(c) @ F  # about the centre of mass
    vectors = [w, wd, v[3:], vd, vd_com, F, N, gravity]
    if expressed_in != "body":
        vectors = [X_W[:3, :3].T @ x for x in vectors[:7]] + [model.gravity]
        v, a = express(v, X_W, expressed_in), express(a, X_W, expressed_in)
        f = express_force(f, X_W, expressed_in)
    return *vectors[:5], v, a, *vectors[5:7], f[3:], f[:3], vectors[7]


def express_force(f_F: Array, X_FW: Array, expressed_in: str) -> Array:
    """A force vector (6,), from the frame F, in "body", "aligned" or "world" coordinates."""
    if expressed_in == "body":
        return f_F
    return rotate_both(X_FW[:3, :3].T, f_F) if expressed_in == "aligned" else X_FW.T @ f_F


def centers_of_mass(model: Model) -> list[Array]:
    """c (3,) of every body in its own coordinates, the world's entry first; the origin for a body without mass."""
    found = [ZERO3]
    for i in model.bodies:
        m = model.inertia[i][5, 5]
        found.append(ZERO3 if is_zero(m) else first_moment(model.inertia[i]) / m)
    return found


# forward dynamics -----------------------------------------------------------------------------------


def joint_reactions(
    system: System,
    q: Array,
    qd: Array,
    tau: Array,
    t: Scalar = 0.0,
    *,
    expressed_in: str = "body",
    f_ext: Array | None = None,
    limits: RankLimits = EXACT,
) -> Array:
    """[n; f] (nb + number of constraints, 6): what each joint exerts on its body, then each constraint on its own."""
    if not isinstance(system, Model):
        raise ModelError(system.refusal("joint_reactions"))
    if system.constraints and any(is_sympy(x) for x in (*q, *qd, *tau)):
        raise ScalarTypeError(
            "joint_reactions: q, qd or tau has symbols and the model has constraints, expected numbers: the closed "
            "form would be too long. For multipliers in symbols: sixd.equations(model).constrained_equations()."
        )
    qdd, lam = constrained_dynamics(system, q, qd, tau, t, f_ext=f_ext, limits=limits)
    wrenches = constraint_wrenches(system, q, lam)
    own = np.zeros((system.nb, 6), dtype=int) if f_ext is None else f_ext
    total = sum(wrenches, own) if wrenches or f_ext is not None else None
    found = BodyDynamics(*newton_euler(system, q, qd, qdd, expressed_in=expressed_in, f_ext=total))
    joints = np.concatenate([found.n, found.f], axis=1)
    pairs = zip(system.constraints, wrenches, strict=True)
    loops = [_at_frame(system, q, c.acted_frame, w, expressed_in) for c, w in pairs]
    return np.concatenate([joints, np.array(loops).reshape(len(loops), 6)])


def constraint_wrenches(model: Model, q: Array, lam: Array) -> list[Array]:
    """For each constraint the wrenches (nb, 6) that it exerts on the bodies, in world coordinates.

    The constraint's rows are evaluated on the same bodies cut free of their joints: with A of those, λᵀA V is the power
    at any velocities V of the bodies, so Aᵀλ are the wrenches. A constraint between joints exerts none on bodies.
    """
    X_W = world_transforms(model, joint_kinematics(model, q, np.zeros(model.nv, dtype=int)).X)
    cut = _cut_free(model)
    poses = [pose_from_transform(X_W[i])[:3].ravel() for i in model.bodies]
    q_cut = np.concatenate([np.zeros(0, dtype=int), *poses])
    found = []
    for c, rows in zip(model.constraints, row_slices(model), strict=True):
        if c.joints or not c.frames:
            found.append(np.zeros((model.nb, 6), dtype=int))
            continue
        forces = (lam[rows] @ c.jacobian(cut, q_cut)).reshape(model.nb, 6)
        found.append(np.array([X_W[i].T @ forces[i - 1] for i in model.bodies]))
    return found


def _at_frame(model: Model, q: Array, frame: str | None, wrenches: Array, expressed_in: str) -> Array:
    """The wrench on the body of a frame, at that frame; ``wrenches`` (nb, 6) are in world coordinates."""
    if frame is None:
        return ZERO6
    body = model.frame(frame).body
    # what the ground gets is opposed to what all bodies get
    force = wrenches[body - 1] if body else -sum(wrenches, ZERO6)
    X_FW = frame_transform(model, q, frame)
    return express_force(inverse_transform(X_FW).T @ force, X_FW, expressed_in)


@dataclasses.dataclass(frozen=True)
class _Cut(Joint):
    """A free body: q is its pose, the first three rows (12,), and qd its velocity in its own coordinates."""

    nq: ClassVar[int] = 12
    nv: ClassVar[int] = 6

    def transform(self, q: Array) -> Array:
        """X_cp (6, 6) of the pose."""
        return transform_from_pose(np.concatenate([q.reshape(3, 4), np.array([[0, 0, 0, 1]])]))

    def subspace(self, q: Array) -> Array:
        """S = 1."""
        return np.eye(6, dtype=int)

    def configuration_rate(self, q: Array, qd: Array) -> Array:
        """[R ω×, R v] as rows."""
        R = q.reshape(3, 4)[:, :3]
        return np.concatenate([R @ skew(qd[:3]), (R @ qd[3:])[:, None]], axis=1).ravel()


def _cut_free(model: Model) -> Model:
    """The bodies and frames of a model without its joints."""
    nb, zeros = model.nb, np.zeros(6 * model.nb)
    rates: dict[str, Any] = dict.fromkeys(
        ("stiffness", "damping", "friction", "armature", "effort_limit", "velocity_limit"), zeros
    )
    return dataclasses.replace(
        model,
        parent=(-1, *([0] * nb)),
        joints=(Fixed(), *([_Cut()] * nb)),
        placement=np.array([np.eye(4, dtype=int)] * (nb + 1)),
        lower=np.zeros(12 * nb),
        upper=np.zeros(12 * nb),
        rest=np.zeros(12 * nb),
        constraints=(),
        configurations={},
        **rates,
    )
