"""``sixd.equations``: equations of motion in closed form, derived from a model.

The library's own algorithms (crba, christoffel, gravity_force) run on elements of a ring as they do on floats, so the
results are canonical by construction.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.coriolis import christoffel
from sixd.algorithms.crba import crba
from sixd.algorithms.momentum import composite_inertia
from sixd.algorithms.passive_forces import passive_force, spring_energy
from sixd.algorithms.rnea import gravity_force
from sixd.constraints.reduced_model import Reduced
from sixd.engine.functions import READABLE
from sixd.errors import CompileWarning, ModelError, ScalarTypeError, ShapeError
from sixd.lazy import Expr, sympy
from sixd.model.constraint import Explicit
from sixd.model.joints import Prismatic, Revolute
from sixd.model.model import Model, require_model
from sixd.model.system import System
from sixd.spatial.inertia import first_moment
from sixd.spatial.scalar import Array, is_number, is_sympy, is_zero, object_map
from sixd.symbolic.arguments import Coordinates, coordinates, velocities, with_dots
from sixd.symbolic.closed_form import ClosedForm
from sixd.symbolic.equations.equations import Equations
from sixd.symbolic.equations.ring_model import model_constraints, ring_coordinates, ring_force, ring_system
from sixd.symbolic.equations.snap import snap_model
from sixd.symbolic.ring.poly import Poly
from sixd.symbolic.ring.ring import Ring
from sixd.symbolic.writing.readable import readable


def equations(model: Model | Reduced, *, q: Coordinates | None = None, snap: float = 1e-9) -> Equations:
    """The equations of motion of a model in closed form: τ = M q̈ + C q̇ + g + b.

    Parameters
    ----------
    model : its parameters may be numbers or SymPy symbols; or a model in independent coordinates, ``model.reduce()``.
    q : symbols for the nq coordinates, such as [theta1, theta2]; by default q1, q2, … Velocities are then thetad1, …
    snap : entries of placements and axes within this distance of those of a rotation by a multiple of 90° (or of zero)
        become exact: robot files write 1.57079632679 for 90°. ``.snapped`` lists the changes, ``.model`` is the changed
        model, to compare results with. 0 changes nothing.

    Returns
    -------
    Equations : ``.q .qd .qdd .M .C .Gamma .g .b .h .tau .T .V .L``, ``.pose(frame)``, ``.jacobian(frame)``,
        ``.latex()``; a system that ``sixd.compile`` and the other functions accept in place of a model.

    >>> import sixd
    >>> sixd.equations(sixd.zoo.planar(2)).M[1, 1]
    1/3
    """
    if not isinstance(model, Reduced):
        require_model("equations", model)
    tree, moved = snap_model(model.model if isinstance(model, Reduced) else model, snap)
    system = tree.reduce() if isinstance(model, Reduced) else tree
    _warn_if_long(tree)
    ring, symbols = Ring(), _symbols(system) if q is None else _named(system, q)
    numbers, q = ring_system(system, ring), ring_coordinates(system, tree, ring, symbols[0])
    state = [np.array(x, dtype=object) for x in symbols[:2]]
    lifted = system.state(*state) if isinstance(system, Reduced) else state
    passive = passive_force(tree, *lifted)
    passive = system.G(state[0]).T @ passive if isinstance(system, Reduced) else passive
    polys = {
        "M": ring.array(numbers.apply("mass_matrix", crba, q)),
        "Gamma": ring.array(numbers.apply("christoffel", christoffel, q)),
        "g": ring.array(numbers.apply("gravity_force", gravity_force, q)),
        "b": np.array([ring_force(ring, x) for x in passive], dtype=object),
    }

    def energies() -> tuple[Poly, Poly]:
        qd = ring.array(symbols[1])
        kinetic = (qd @ (polys["M"] @ qd)) / 2 if len(qd) else ring.zero
        total = numbers.apply("composite_inertia", composite_inertia, q)
        springs = ring_force(ring, spring_energy(tree, lifted[0]))
        return kinetic, springs - first_moment(total) @ tree.gravity

    lossy = [not (is_zero(d) and is_zero(f)) for d, f in zip(tree.damping, tree.friction, strict=True)]
    return Equations(
        system.name,
        ClosedForm(ring, *symbols, polys, energies, parallel_axes(system, tree, symbols[0])),
        constraints=model_constraints(system),
        lossy=tuple(lossy) if system is tree else (any(lossy),) * system.nv,
        symbols=system.symbols,
        model=system,
        snapped=moved,
    )


# the length of a closed form grows sixfold with each joint of a chain that rotates about another axis: C of seven took
# 6 to 90 s, depending on the inertias; joints that rotate about parallel axes count half
_LONG = 6.2


# time for a field relative to that for C; 10 rotations (talos): M 60 s of 6480 s, g 1 s after 5 s for the derivation
_SHARES = {"C": 1.0, "h": 1.0, "tau": 1.0, "Gamma": 1.0, "M": 1e-2, "T": 1e-2, "L": 1e-2}
_DERIVING = 1e-3
_LONGEST = 1.0  # estimate for a kinetic energy [s], beyond which results on symbols are not simplified


def foreseen_seconds(tree: Model, field: str = "C") -> float:
    """Estimated time for a field of the equations of a model [s], within a factor of five."""
    return float(30 * 6 ** (_rotations(tree) - 7) * _SHARES.get(field, _DERIVING))


def _rotations(tree: Model) -> float:
    """Number of rotations about different axes, in the chain that has most of them."""
    depth, axes = [0.0], [np.zeros(3)]
    for i in tree.bodies:
        p, joint, R = tree.parent[i], tree.joints[i], tree.placement[i][:3, :3]
        rotations, axis = float(min(joint.nv, 3)), np.zeros(3)
        if isinstance(joint, Revolute) and all(is_number(x) for x in (*joint.axis, *R.ravel())):
            axis = np.array(joint.axis, dtype=float)
            rotations = 0.5 if _parallel(R.astype(float) @ axis, axes[p]) else 1.0
        elif isinstance(joint, Prismatic):
            rotations = 0.2
        depth.append(depth[p] + rotations)
        axes.append(axis)
    return max(depth)


def _warn_if_long(tree: Model) -> None:
    rotations = _rotations(tree)
    if rotations > _LONG:
        warnings.warn(
            f"equations: {tree.name!r} has a chain of {rotations:.0f} rotations: its closed form is long; C takes "
            f"about {foreseen_seconds(tree):.0f} s, printing it more. Lock joints that do not matter, or evaluate "
            f"the model itself.",
            CompileWarning,
            stacklevel=3,
        )


def parallel_axes(system: System, tree: Model, symbols: list[Expr]) -> tuple[tuple[Expr, ...], ...]:
    """Groups of coordinates that rotate about parallel axes, in one chain or in several: their angles add up."""
    names = {name: symbols[system.q_slice(name).start] for name in system.joint_names}
    for c in tree.constraints:  # a dependent joint rotates by the angle of its independent one
        if isinstance(c, Explicit):
            names |= {j: names[c.independent[0]] for j in c.dependent if j not in names and c.independent[0] in names}
    groups: list[_ParallelGroup] = []
    last: list[tuple[_ParallelGroup, Array] | None] = [None]  # of each body: group that carries it, axis in its frame
    for i in tree.bodies:
        joint, R, above = tree.joints[i], tree.placement[i][:3, :3], last[tree.parent[i]]
        here = None
        if all(is_number(x) for x in R.ravel()):
            R = R.astype(float)
            if isinstance(joint, Prismatic) and above is not None:
                here = (above[0], R.T @ above[1])
            elif isinstance(joint, Revolute) and all(is_number(a) for a in joint.axis):
                axis = np.array(joint.axis, dtype=float)
                here = (_group_of(R @ axis, groups, above, at_base=not tree.parent[i]), axis)
                symbol = names.get(tree.joint_names[i - 1])
                if symbol is not None and symbol not in here[0].coordinates:
                    here[0].coordinates.append(symbol)
        last.append(here)
    return tuple(tuple(group.coordinates) for group in groups if len(group.coordinates) > 1)


class _ParallelGroup(NamedTuple):
    """Joints with parallel axes: the axis in the world, zero unless it is fixed there, and the coordinates."""

    axis: Array
    coordinates: list[Expr]


def _group_of(
    axis: Array, groups: list[_ParallelGroup], above: tuple[_ParallelGroup, Array] | None, *, at_base: bool
) -> _ParallelGroup:
    """The group of a joint with this axis in its parent's frame: one with parallel axes, or a new one."""
    group = above[0] if above is not None and _parallel(axis, above[1]) else None
    if at_base:
        group = next((group for group in groups if _parallel(group.axis, axis)), None)
    if group is None:
        group = _ParallelGroup(axis if at_base else np.zeros(3), [])
        groups.append(group)
    return group


def _parallel(a: Array, b: Array) -> bool:
    return bool(abs(abs(a @ b) - 1) < 1e-12)


def _symbols(model: System) -> tuple[list[Expr], list[Expr], list[Expr]]:
    """q1 …, qd1 …, qdd1 …; q_1 … if the model has parameters of these names."""
    used = {str(s) for s in model.symbols}
    letter = "q"
    while any(f"{letter}{d}{k + 1}" in used for k in range(model.nq) for d in ("", "d", "dd")):
        letter += "_"
    counts = {"": model.nq, "d": model.nv, "dd": model.nv}
    q, qd, qdd = ([sympy.Symbol(f"{letter}{d}{k + 1}") for k in range(n)] for d, n in counts.items())
    return q, qd, qdd


def _named(model: System, q: Coordinates) -> tuple[list[Expr], list[Expr], list[Expr]]:
    """The user's coordinates, and velocities and accelerations named after them; ball joints have the default names."""
    positions, used = coordinates("equations", q), {str(s) for s in model.symbols}
    if len(positions) != model.nq:
        names = ", ".join(model.joint_names)
        raise ShapeError(f"equations: q has {len(positions)} entries, expected {model.nq}, for the joints {names}.")
    _, qd, qdd = _symbols(model)
    for joint in model.joint_names:
        own, at = positions[model.q_slice(joint)], model.v_slice(joint)
        if len(own) == len(qd[at]):
            qd[at] = velocities("equations", own, None)
            qdd[at] = [sympy.Symbol(with_dots(str(x), "dd")) for x in own]
    everything = [*positions, *qd, *qdd]
    clash = [x for x in everything if str(x) in used or not isinstance(x, sympy.Symbol)]
    if clash or len({str(x) for x in everything}) != len(everything):
        raise ModelError(
            f"equations: q is {list(positions)}, expected symbols whose names, and those of their rates, differ from "
            f"all other coordinates and from the model's parameters {sorted(used)}."
        )
    return list(positions), qd, qdd


def _readable(system: System, *arrays: Array, run: Callable[..., Any]) -> Any:
    """The result of ``run(system, *arrays)`` on symbols, simplified by a ring; quaternions have unit length.

    None for other scalars and systems, for functions that the ring lacks, such as roots, and for long chains.
    """
    tree = system.model if isinstance(system, Reduced) else system
    if not isinstance(tree, Model) or not all(is_sympy(x) or is_number(x) for a in arrays for x in a):
        return None
    if foreseen_seconds(tree, "T") > _LONGEST:
        return None
    ring, q = Ring(), list(arrays[0])
    named = all(getattr(x, "is_Symbol", False) for x in q)
    parallel = parallel_axes(system, tree, q) if named else ()
    try:
        coordinates = ring_coordinates(system, tree, ring, q) if named else ring.array(q)
        result = run(ring_system(system, ring), coordinates, *map(ring.array, arrays[1:]))
    except ScalarTypeError:
        return None

    def written(x: Array) -> Any:
        return object_map(lambda e: readable(ring.convert(e), parallel), x)

    return tuple(map(written, result)) if isinstance(result, tuple) else written(result)


READABLE.update(pose=_readable, energy=_readable)
