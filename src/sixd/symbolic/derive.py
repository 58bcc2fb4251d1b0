"""``sixd.equations``: a model's equations of motion, by the library's own algorithms on elements of a ring.

crba, christoffel and gravity_force run line by line as on floats; what comes out is canonical by construction.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.algorithms.coriolis import christoffel
from sixd.algorithms.crba import composite_inertias, crba
from sixd.algorithms.kinematics import joint_transforms
from sixd.algorithms.passive import passive_force, spring_energy
from sixd.algorithms.rnea import gravity_force
from sixd.model.constraint import Constraint
from sixd.model.joints import Free, Prismatic, Revolute, Spherical
from sixd.model.model import Model, require_model
from sixd.model.system import System
from sixd.spatial.inertia import first_moment
from sixd.spatial.scalar import Array, is_number, is_sympy, is_zero, object_map
from sixd.symbolic.equations import Equations
from sixd.symbolic.poly import Poly
from sixd.symbolic.snap import snap_model

if TYPE_CHECKING:
    from sixd.symbolic.ring import Ring


def equations(model: Model, *, snap: float = 1e-9) -> Equations:
    """The equations of motion of a model in closed form: τ = M q̈ + C q̇ + g + b.

    Parameters
    ----------
    model : its parameters may be numbers or SymPy symbols.
    snap : entries of placements and axes this near to those of a turn by a multiple of 90° (or to zero) become exactly
        that: robot files say 1.57079632679 where 90° is meant. ``.snapped`` tells what was moved, ``.model`` is the
        model with which results are to be compared. 0 moves nothing.

    Returns
    -------
    Equations : ``.q .qd .qdd .M .C .Gamma .g .b .h .tau .T .V .L``, ``.pose(frame)``, ``.jacobian(frame)``,
        ``.latex()``; a system that ``sixd.compile`` and the other functions accept in the place of a model.

    >>> import sixd
    >>> sixd.equations(sixd.zoo.planar(2)).M[1, 1]
    0.333333333333333
    """
    from sixd.symbolic.ring import Ring

    require_model("equations", model)
    model, moved = snap_model(model, snap)
    ring, symbols = Ring(), _symbols(model)
    numbers, q = ring_model(model, ring), ring_coordinates(model, ring, symbols[0])
    qs, qds = (np.array(x, dtype=object) for x in symbols[:2])

    def energies() -> tuple[Poly, Poly]:
        qd = ring_array(ring, symbols[1])
        kinetic = (qd @ (M @ qd)) / 2 if len(qd) else ring.zero
        total = composite_inertias(numbers, joint_transforms(numbers, q)[0])[0]
        potential = _convert(ring, spring_energy(model, qs)) - first_moment(total) @ numbers.gravity
        return kinetic, ring.zero + potential

    M = ring_array(ring, crba(numbers, q))
    return Equations(
        model.name,
        ring,
        symbols,
        M=M,
        Gamma=ring_array(ring, christoffel(numbers, q)),
        g=ring_array(ring, gravity_force(numbers, q)),
        b=np.array([_convert(ring, x) for x in passive_force(model, qs, qds)], dtype=object),
        energies=energies,
        parallel=parallel_axes(model, symbols[0]),
        constraints=tuple(Bound(c, model) for c in model.constraints),
        lossy=tuple(not (is_zero(d) and is_zero(f)) for d, f in zip(model.damping, model.friction, strict=True)),
        symbols=model.symbols,
        model=model,
        snapped=moved,
    )


def _convert(ring: Ring, x: Any) -> Poly:
    """A force or an energy of joints' springs; those of orientations, with their roots, are taken as they are."""
    import sympy

    rooted = is_sympy(x) and x.has(sympy.Piecewise, sympy.atan2)
    return ring.opaque(x) if rooted else ring.convert(x)


@dataclass(frozen=True)
class Bound(Constraint):
    """A constraint of a model, asked for in the name of its equations."""

    constraint: Constraint
    model: Model

    def position(self, system: System, q: Array) -> Array:
        return self.constraint.position(self.model, q)

    def velocity(self, system: System, q: Array, qd: Array) -> Array:
        return self.constraint.velocity(self.model, q, qd)

    def target(self, t: Any) -> Array | None:
        return self.constraint.target(t)

    def jacobian(self, system: System, q: Array) -> Array:
        return self.constraint.jacobian(self.model, q)

    def bias(self, system: System, q: Array, qd: Array) -> Array:
        return self.constraint.bias(self.model, q, qd)


def ring_array(ring: Ring, values: Any) -> Array:
    """An array of any shape with elements of the ring."""
    array = np.asarray(values, dtype=object)
    return object_map(ring.convert, array) if array.size else array


def ring_model(model: Model, ring: Ring) -> Model:
    """The model with elements of the ring for its numbers, as far as the algorithms look at them."""
    arrays: dict[str, Any] = {
        name: ring_array(ring, getattr(model, name)) for name in ("placement", "inertia", "gravity", "armature")
    }
    frames = {name: dataclasses.replace(f, pose=ring_array(ring, f.pose)) for name, f in model.frames.items()}
    return dataclasses.replace(model, frames=frames, **arrays)


def ring_coordinates(model: Model, ring: Ring, symbols: list[Any]) -> Array:
    """q (nq,) in the ring; quaternions are of unit length there."""
    q = ring_array(ring, symbols)
    for i in model.bodies:
        if isinstance(model.joints[i], (Free, Spherical)):
            start = model.iq[i].start
            q[start : start + 4] = ring.quaternion(*symbols[start : start + 4])
    return q


def parallel_axes(model: Model, symbols: list[Any]) -> tuple[tuple[Any, ...], ...]:
    """Groups of coordinates that turn about parallel axes, one after another: their angles add up."""
    groups: list[list[Any]] = []
    last: list[tuple[int, Array] | None] = [None]  # of each body: group of the turn that carries it, and its axis there
    for i in model.bodies:
        joint, R, above = model.joints[i], model.placement[i][:3, :3], last[model.parent[i]]
        here = None
        if all(is_number(x) for x in R.ravel()):
            carried = None if above is None else R.T.astype(float) @ above[1]  # in the joint's frame
            if isinstance(joint, Prismatic) and above is not None and carried is not None:
                here = (above[0], carried)
            elif isinstance(joint, Revolute) and all(is_number(a) for a in joint.axis):
                axis = np.array(joint.axis, dtype=float)
                if above is not None and carried is not None and abs(abs(axis @ carried) - 1) < 1e-12:
                    here = (above[0], axis)
                else:
                    here = (len(groups), axis)
                    groups.append([])
                groups[here[0]].append(symbols[model.iq[i].start])
        last.append(here)
    return tuple(tuple(g) for g in groups if len(g) > 1)


def _symbols(model: Model) -> tuple[list[Any], list[Any], list[Any]]:
    """q1 …, qd1 …, qdd1 …; a letter more where the model has parameters of these names."""
    import sympy

    taken = {str(s) for s in model.symbols}
    letter = "q"
    while any(f"{letter}{d}{k + 1}" in taken for k in range(model.nq) for d in ("", "d", "dd")):
        letter += "_"
    counts = {"": model.nq, "d": model.nv, "dd": model.nv}
    q, qd, qdd = ([sympy.Symbol(f"{letter}{d}{k + 1}") for k in range(n)] for d, n in counts.items())
    return q, qd, qdd
