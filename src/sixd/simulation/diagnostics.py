"""Warnings of a simulation: forces that jump, starts in degrees, steps beyond a method's limit, motions that diverge.

The functions ``…_warning`` return the text of a warning, or None. The limits of steps are in ``stepping/stability.py``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sixd.algorithms.crba import crba
from sixd.algorithms.singular import condition, dependent_joints, is_large, usual_sizes
from sixd.constraints.reduced_model import Reduced
from sixd.forces.elements import RigidForce
from sixd.forces.joint_limits import limited_coordinates
from sixd.model.memo import remember
from sixd.model.model import Model
from sixd.model.system import System
from sixd.model.validate import TWO_TURNS, turns_within_limits
from sixd.simulation.nonsmooth.impulses.joint_rows import friction_joints, jumping_coordinates
from sixd.simulation.nonsmooth.rigid_ground import RigidGround
from sixd.simulation.nonsmooth.rigid_limits import RigidLimits
from sixd.simulation.setup import Setup
from sixd.simulation.stepping.compiled_steps import MIDPOINT
from sixd.simulation.stepping.fixed import Runner
from sixd.simulation.stepping.implicit import IMPLICIT
from sixd.simulation.stepping.stability import MARGIN, Limit, some_rows, step_limit
from sixd.spatial.scalar import Array
from sixd.trajectory.labels import labels_of, tree_behind
from sixd.trajectory.trajectory import Trajectory

# rad/s or m/s, or times the speed at the start if that is above 1: a joint that runs away, and one that has diverged
_FAST, _HUGE = 1e3, 1e9
_MOST_NAMES = 3
# a condition of M so many times that at the start means a singular state (of arms it varies by a factor of 20);
# the last records before a joint ran away are examined
_SINGULAR, _LAST = 1e3, 10
_BELOW = 1e-3  # m or rad: a start deeper in the ground, or further beyond a limit, is reported


# the start --------------------------------------------------------------------------------------


def start_warnings(setup: Setup) -> list[str]:
    """Return texts on forces that jump, on joints that start in degrees or beyond rigid limits, and on points below the
    ground."""
    checks = (_jumping_forces, _in_degrees, _below_ground, _beyond_limits)
    return [text for check in checks if (text := check(setup)) is not None]


def _some(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMES]) + (" …" if len(names) > _MOST_NAMES else "")


def _jumping_forces(setup: Setup) -> str | None:
    """Return a warning of forces that jump at rest, which steps do not know as friction."""
    system = setup.problem.system
    names = [repr(name) for name in jumping_coordinates(system)]
    if not names:
        return None
    return (
        f"the forces of {system.name!r} on {_some(names)} jump with the sign of a velocity, but not of their own, and "
        f"a motion that should come to rest chatters or creeps instead. Friction that sticks is that of joints of a "
        f"sixd.Model, or F sign(q̇) of a coordinate's own velocity."
    )


def _in_degrees(setup: Setup) -> str | None:
    """Return which joints with limits start beyond them and beyond two revolutions: most often in degrees."""
    system, q = setup.problem.system, setup.q
    if not isinstance(system, (Model, Reduced)) or not (np.abs(q) > TWO_TURNS).any():
        return None
    tree, joints = tree_behind(system), []
    assert tree is not None
    for name in system.joint_names:
        joint, starts = tree.joint(name), q[..., system.q_slice(name)]
        low, high = joint.lower, joint.upper
        if not turns_within_limits(joint.joint, low, high):
            continue
        beyond = (np.abs(starts) > TWO_TURNS) & ((starts < low) | (starts > high))
        if beyond.any():
            joints.append(f"{name!r} at {starts[beyond][0]:g} rad (limits {low[0]:g} … {high[0]:g})")
    if not joints:
        return None
    return f"q starts {_some(joints)}, which look like degrees. Convert them: np.radians(q); the command reads 45deg."


def _below_ground(setup: Setup) -> str | None:
    problem = setup.problem
    if problem.parameters or not any(isinstance(force, RigidGround) for force in problem.forces):
        return None
    from sixd.simulation.nonsmooth.contact.ground_points import GroundPoints

    points = GroundPoints(problem.system, problem.forces, problem.sizes)
    lowest, frame = 0.0, ""
    for row in some_rows(setup.rows) if setup.rows else ():
        heights = np.asarray(points.places(problem.system, setup.q[row].astype(float))[0], dtype=float)
        i = int(np.argmin(heights))
        if heights[i] < lowest:
            lowest, frame = float(heights[i]), points.points[i].frame
    if lowest > -_BELOW:
        return None
    return (
        f"a point of frame {frame!r} starts {-lowest:.3g} m below the rigid ground, and is moved onto it in the first "
        f"step. Start above it: a body whose points are all below may be pressed down instead."
    )


def _beyond_limits(setup: Setup) -> str | None:
    system = setup.problem.system
    has_stops = any(isinstance(force, RigidLimits) for force in setup.problem.forces)
    limited = limited_coordinates(system) if has_stops else []
    if not limited or not setup.rows:
        return None
    i, _, lower, upper = (np.array(x) for x in zip(*limited, strict=True))
    q = setup.q[:, i].astype(float)
    depth = np.nan_to_num(np.fmax(lower - q, q - upper), nan=-np.inf)
    row, k = map(int, np.unravel_index(np.argmax(depth), depth.shape))
    if not depth[row, k] > _BELOW:
        return None
    column, where = labels_of(system).q[i[k]], f" in state {row}" if setup.batch else ""
    return (
        f"joint {column.name!r} starts at {q[row, k]:.4g} {column.unit}{where}, {depth[row, k]:.3g} {column.unit} "
        f"beyond its rigid limits {lower[k]:g} … {upper[k]:g}, and is moved onto them in the first step. Start within "
        f"them."
    )


def unsolved_warning(motion: Trajectory) -> str | None:
    """Return how many problems of impulses, or of linearly implicit steps, did not converge."""
    count = int(np.sum(motion.facts["unsolved"])) if "unsolved" in motion.facts else 0
    if not count:
        return None
    if motion.facts["method"] == IMPLICIT:
        return (
            f"in {count} steps the matrix M + γh D + γ²h² K was not positive definite, or impulses (friction, limits, "
            f"contact) did not converge: forces drive the motion that they should resist, and grow faster "
            f'than a step of this length can follow. facts["unsolved"] counts them by state. A shorter dt helps.'
        )
    return (
        f"{count} problems of impulses (friction, limits, contact) did not converge, and their steps continue "
        f'with the last iterate; facts["unsolved"] counts them by state. A shorter dt helps.'
    )


# steps ------------------------------------------------------------------------------------------


def step_warning(runner: Runner) -> str | None:
    """Return how far the step is beyond its limit at the start; costs nothing where no force depends on the state."""
    limit = limit_at_start(runner)
    return None if limit is None else f"{excess(runner, limit)}. {_remedy(limit)}"


def limit_at_start(runner: Runner) -> Limit | None:
    """Return the limit that the step of a runner is beyond at the start, if it is."""
    setup = runner.setup
    if not setup.rows or not _depends_on_state(setup):
        return None
    has_friction = bool(friction_joints(setup) or jumping_coordinates(setup.problem.system))
    return step_limit(without_impulses(runner), some_rows(setup.rows), has_friction=has_friction)


def _depends_on_state(setup: Setup) -> bool:
    """Return whether forces other than gravity and inertia may depend on q or qd."""
    problem = setup.problem
    has_elements = any(not isinstance(force, RigidForce) for force in problem.forces)
    if problem.law is not None or problem.f_ext is not None or has_elements:
        return True
    model = tree_behind(problem.system)
    if model is None or "damping" in problem.parameters or model.symbols:
        return True
    return remember(model, "joint springs", lambda: bool(np.any(model.damping) or np.any(model.stiffness)))


def without_impulses(runner: Runner) -> Runner:
    """Return the runner, or one without rigid ground and limits, whose impulses have no derivatives."""
    setup, problem = runner.setup, runner.setup.problem
    kept = [i for i, force in enumerate(problem.forces) if not isinstance(force, RigidForce)]
    if len(kept) == len(problem.forces):
        return runner
    parts = np.split(setup.u, np.cumsum(problem.sizes)[:-1], axis=1)
    u = np.concatenate([setup.u[:, :0], *(parts[i] for i in kept)], axis=1)
    smooth = replace(problem, forces=tuple(problem.forces[i] for i in kept))
    return Runner(replace(setup, problem=smooth, u=u), runner.method, runner.h, runner.start)


def excess(runner: Runner, limit: Limit) -> str:
    """Return a text that compares the step with its limit, and names the mode."""
    kind = "oscillates" if abs(limit.mode.imag) > abs(limit.mode.real) else "decays"
    unit = "rad/s" if kind == "oscillates" else "1/s"
    name = _joint_of(runner.setup.problem.system, limit.dof)
    what = "controller" if runner.setup.problem.law is not None else "damping or stiffness"
    result = "iterations do not converge" if runner.method == MIDPOINT else "it grows instead"
    beyond = "beyond" if runner.h > limit.step else f"beyond {MARGIN:.0%} of"
    return (
        f"the step dt = {runner.h:.3g} s is {beyond} the limit of method {runner.method!r}, {limit.step:.3g} s: by the "
        f"{what} a mode mostly of joint {name!r} {kind} at {abs(limit.mode):.3g} {unit}, and with longer steps {result}"
    )


def _remedy(limit: Limit) -> str:
    """Return a text with the advised step of two digits; the limit is never due to forces held between samples."""
    most = limit.step * MARGIN
    unit = 10.0 ** (math.floor(math.log10(most)) - 1)
    return f'Use dt ≤ {math.floor(most / unit * (1 + 1e-12)) * unit:.2g}, or method="implicit".'


def _joint_of(system: System, dof: int) -> str:
    """Return the name of the joint that has this entry of qd."""
    return labels_of(system).qd[dof].joint


# divergence -------------------------------------------------------------------------------------


def divergence_warning(motion: Trajectory, runner: Runner | None) -> str | None:
    """Return which rollouts became infinite, NaN or huge, which joint diverged first and when, and the likely cause."""
    first = first_divergence(motion)
    if first is None:
        return None
    rows = math.prod(motion.batch)
    what = f"{first.rows} of {rows} rollouts {'is' if first.rows == 1 else 'are'}" if motion.batch else "the motion is"
    state = "not finite" if motion.failed else f"faster than {_HUGE:g} rad/s or m/s"
    count = " trajectory.failed counts them." if motion.failed else ""
    if not first.t:
        return f"{what} {state} from t = 0 s on: the start is not finite.{count}"
    return f"{what} {state} from t = {first.t:g} s on{first.joint}: {_cause(motion, runner, first)}{count}"


class Divergence(NamedTuple):
    """The number of rollouts that diverged; of the first its index, the record and time [s], a text on the joint, and
    the last ``calm`` record, before it ran away."""

    rows: int
    row: int
    record: int
    t: float
    joint: str
    calm: int


def first_divergence(motion: Trajectory) -> Divergence | None:
    """Return the first divergence among the rollouts that end infinite, NaN or huge."""
    if not len(motion) or not motion.q.size:
        return None
    if np.isfinite(motion.q[..., -1, :]).all() and (np.abs(motion.qd[..., -1, :]) <= _HUGE).all():
        return None  # 6 us; the lines below take 40
    q, qd = (x.reshape(-1, *x.shape[-2:]) for x in (motion.q, motion.qd))
    good = _is_bounded(q, qd, math.inf if motion.failed else _HUGE)
    rows = np.flatnonzero(~good[:, -1])
    if not len(rows):
        return None
    first = np.argmin(good[rows], axis=1)  # bad record of each of them
    k = int(np.argmin(first))
    row, record = int(rows[k]), int(first[k])
    joint, calm = _first_joint(motion, qd[row], record) if record and motion.system is not None else ("", 0)
    return Divergence(len(rows), row, record, float(motion.t[record]), joint, calm)


def _first_joint(motion: Trajectory, qd: Array, record: int) -> tuple[str, int]:
    """Return a text that names the joint that diverges first, and the record before it does. The rollout diverges
    at ``record``."""
    assert motion.system is not None
    speed = np.abs(qd[:record])
    fast = (speed > _FAST * max(1.0, speed[0].max(initial=0.0))).any(axis=1)
    k = int(np.argmax(fast)) if fast.any() else record - 1
    name = _joint_of(motion.system, int(np.argmax(speed[k])))
    when = f", beyond {_FAST:g} rad/s or m/s at t = {motion.t[k]:g} s" if fast.any() else ""
    return f", joint {name!r} first{when}", max(0, k - 1) if fast.any() else k


def _is_bounded(q: Array, qd: Array, most: float) -> Array:
    """Return (rows, records): whether states are finite, and at most ``most`` fast, or times the speed at the start."""
    with np.errstate(invalid="ignore", over="ignore"):
        speed, start = np.abs(qd).max(axis=-1, initial=0.0), np.abs(qd[:, :1]).max(axis=-1, initial=0.0)
        return np.isfinite(q).all(axis=-1) & np.isfinite(speed) & (speed <= most * np.maximum(1.0, start))


def _cause(motion: Trajectory, runner: Runner | None, first: Divergence) -> str:
    """Return the cause: singular coordinates, or a step that is too long at the start or before it ran away, else a
    list of others."""
    singular = _singularity(motion, first)
    if singular is not None:
        return singular
    if runner is not None and first.record and _depends_on_state(runner.setup):
        has_friction = bool(friction_joints(runner.setup))
        for record in dict.fromkeys([0, first.calm]):
            there = without_impulses(_restarted_at(runner, motion, first.row, record))
            limit = step_limit(there, np.array([0]), has_friction=has_friction)
            if limit is not None:
                name = _joint_of(runner.setup.problem.system, limit.dof)
                return (
                    f"the step is too long for method {runner.method!r}, whose limit by joint {name!r} is "
                    f"{limit.step:.3g} s. {_remedy(limit)}"
                )
    if runner is not None and runner.setup.sampled is not None:
        return (
            "a step that is too long, forces held between samples that are too hard (a shorter sample_time or lower "
            'gains help, or a controller that can be traced, without sample_time, and method="implicit"), a force that '
            "is not finite, a singular state, or constraints in a dead centre."
        )
    hint = "a step that is too long, a force that is not finite, a singular state, or constraints in a dead centre."
    if motion.facts["method"] == MIDPOINT:
        return f"iterations that do not converge (a shorter dt helps), or {hint}"
    return hint


def _singularity(motion: Trajectory, first: Divergence) -> str | None:
    """Return a text if the mass matrix of a tree is nearly singular where a rollout diverges, and not at its start."""
    model = motion.system
    if not first.calm or not isinstance(model, Model) or motion.parameters or is_large(model) or model.constraints:
        return None
    records = [0, *range(max(1, first.calm + 1 - _LAST), first.calm + 1)]
    q = motion.q.reshape(-1, *motion.q.shape[-2:])[first.row, records].astype(float)
    M = np.array([np.asarray(model.apply("mass_matrix", crba, x), dtype=float) for x in q])
    start, *later = condition(M, usual_sizes(model).size).tolist()
    if not max(later) > _SINGULAR * start:
        return None
    names = ", ".join(map(repr, dependent_joints(model, q[1 + later.index(max(later))], frozenset(), "float64")))
    return (
        f"the coordinates are singular there, for {names} moves next to no inertia that other joints do not move "
        f"already (the condition of the mass matrix is {max(later):.1e}, {start:.1e} at the start). A shorter step "
        f"only comes closer. Use other coordinates, such as a sixd.Spherical joint for three axes, or an armature."
    )


def _restarted_at(runner: Runner, motion: Trajectory, row: int, record: int) -> Runner:
    """Return the runner restarted at a record of a rollout."""
    setup = runner.setup
    n = len(motion)
    q, qd = (x.reshape(-1, n, x.shape[-1])[row, record][None].copy() for x in (motion.q, motion.qd))
    u = setup.u[row : row + 1]
    if motion.internal is not None:
        u = motion.internal.reshape(-1, n, u.shape[1])[row, record][None].copy()
    constants = {name: x[row : row + 1] if len(x) > 1 else x for name, x in setup.constants.items()}
    state = replace(setup, batch=(), q=q, qd=qd, u=u, constants=constants)
    return runner.restarted(state, np.array([runner.h]), float(motion.t[record]))
