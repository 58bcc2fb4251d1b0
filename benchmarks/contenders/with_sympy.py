"""SymPy's mechanics module on the same arm: Kane's method, as its users write it."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import sympy
from sympy.physics.mechanics import KanesMethod, Point, ReferenceFrame, RigidBody, dynamicsymbols, inertia

import sixd


class Derived(NamedTuple):
    """M q̈ = f, with the symbols that stand for q and q̇."""

    mass_matrix: Any
    forcing: Any
    q: list[Any]
    u: list[Any]


def derive(model: sixd.Model) -> Derived:
    """The equations of a chain of revolute joints, gravity included."""
    q, u = dynamicsymbols(f"q1:{model.nv + 1}"), dynamicsymbols(f"u1:{model.nv + 1}")
    world, origin = ReferenceFrame("N"), Point("O")
    origin.set_vel(world, 0)
    frames, points, bodies, loads = [world], [origin], [], []
    for i in model.bodies:
        p = model.parent[i]
        T, body = model.placement[i], model.body_inertia(model.body_names[i - 1])
        rotation = sympy.Matrix(3, 3, [_number(x) for x in T[:3, :3].ravel()])
        joint = frames[p].orientnew(f"J{i}", "DCM", rotation)
        joint.set_ang_vel(frames[p], 0)
        axis = _vector(joint, model.joints[i].axis)  # type: ignore[attr-defined]
        frame = joint.orientnew(f"B{i}", "Axis", [q[i - 1], axis])
        frame.set_ang_vel(joint, u[i - 1] * axis)
        at = points[p].locatenew(f"O{i}", _vector(frames[p], T[:3, 3]))
        at.v2pt_theory(points[p], world, frames[p])
        mass = float(body.mass)
        center = at.locatenew(f"C{i}", _vector(frame, np.asarray(body.first_moment) / mass if mass else np.zeros(3)))
        center.v2pt_theory(at, world, frame)
        about = np.asarray(body.about_com if mass else body.matrix[:3, :3])
        moments = [_number(about[k]) for k in ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2))]
        bodies.append(RigidBody(f"body{i}", center, frame, mass, (inertia(frame, *moments), center)))
        loads.append((center, mass * _vector(world, model.gravity)))
        frames.append(frame)
        points.append(at)
    t = dynamicsymbols._t
    kane = KanesMethod(world, q_ind=q, u_ind=u, kd_eqs=[a.diff(t) - b for a, b in zip(q, u, strict=True)])
    kane.kanes_equations(bodies, loads)
    return Derived(kane.mass_matrix, kane.forcing, q, u)


def _number(x: Any) -> Any:
    return sympy.Integer(int(x)) if float(x).is_integer() else sympy.Float(float(x))


def _vector(frame: Any, values: Any) -> Any:
    x, y, z = (_number(v) for v in values)
    return x * frame.x + y * frame.y + z * frame.z
