"""What a simulation tells its user to doubt: dry friction, steps beyond a method's limit, motions that diverge."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from sixd.errors import SimulationWarning
from sixd.model.system import System
from sixd.simulation.setup import Setup
from sixd.simulation.stepping.adaptive import ADAPTIVE
from sixd.simulation.stepping.fixed import Runner
from sixd.simulation.stepping.recipes import MIDPOINT
from sixd.simulation.stepping.stability import MARGIN, Limit, some_rows, step_limit
from sixd.spatial.scalar import Array, is_zero
from sixd.trajectory.labels import labels_of, tree_behind
from sixd.trajectory.trajectory import Trajectory

# rad/s or m/s, and so many times the speed at the start: a joint that runs away, and one that nothing brings back
FAST, HUGE = 1e3, 1e9
_MOST_NAMES = 3
_AT_REST = {
    "midpoint": "its iterations find no solution where a joint sticks, and the motion ends in NaN",
    **dict.fromkeys(ADAPTIVE, "it takes ever shorter steps where a joint sticks, and may not come to an end"),
}
_EXPLICIT = "an explicit step cannot stick: a joint that should rest chatters or creeps, and may keep moving for ever"


def tell(where: str, text: str, stacklevel: int) -> None:
    """Warn of something, at the call of the user's that many calls up."""
    warnings.warn(f"{where}: {text}", SimulationWarning, stacklevel + 1)


# friction ---------------------------------------------------------------------------------------


def friction_doubt(setup: Setup, method: str) -> str | None:
    """What dry friction does to a method, if there is some."""
    names = _rubbing(setup)
    if not names:
        return None
    some = ", ".join(map(repr, names[:_MOST_NAMES])) + (" …" if len(names) > _MOST_NAMES else "")
    return (
        f"{setup.problem.system.name!r} has dry friction at {some}, which method {method!r} gets wrong near rest: "
        f"{_AT_REST.get(method, _EXPLICIT)}. Put damping in the place of friction, or leave it out "
        f'(parameters={{"friction": np.zeros(nv)}}, or model.without_passive()).'
    )


def _rubbing(setup: Setup) -> list[str]:
    """Names of the joints, or coordinates, with dry friction."""
    system = setup.problem.system
    model = tree_behind(system)
    if model is None:
        return _coulomb(system)
    friction: Any = model.friction
    if "friction" in setup.problem.parameters:
        friction = np.abs(setup.constants["friction"]).max(axis=0, initial=0.0)
    elif model.symbols and setup.problem.parameters and setup.rows:  # a symbol's number may be zero
        row = {name: setup.constants[name][0] for name in setup.problem.parameters}
        friction = tree_behind(setup.problem.settled(row)).friction  # type: ignore[union-attr]
    rubs = [not is_zero(x) for x in friction]
    return [name for name in model.joint_names if any(rubs[model.v_slice(name)])] if any(rubs) else []


def _coulomb(system: Any) -> list[str]:
    """Coordinates of a Lagrangian system with forces that jump with the sign of a velocity."""
    if not any(getattr(system, "lossy", ())):
        return []
    import sympy

    return [name for name, force in zip(system.joint_names, system.b, strict=True) if force.has(sympy.sign)]


# steps ------------------------------------------------------------------------------------------


def step_doubt(runner: Runner) -> str | None:
    """What is wrong with the step at the start, or None; costs nothing where no force has a slope."""
    setup = runner.setup
    if not setup.rows or not _has_slopes(setup):
        return None
    found = step_limit(runner, some_rows(setup.rows), rubs=bool(_rubbing(setup)))
    return None if found is None else f"{_beyond(runner, found)}. {_remedy(runner, found)}"


def _has_slopes(setup: Setup) -> bool:
    """Whether forces may depend on q or qd, beside gravity and inertia."""
    problem = setup.problem
    if problem.law is not None or problem.f_ext is not None or problem.forces:
        return True
    model = tree_behind(problem.system)
    if model is None or "damping" in problem.parameters or model.symbols:
        return True
    return bool(np.any(model.damping) or np.any(model.stiffness))


def _beyond(runner: Runner, limit: Limit) -> str:
    kind = "oscillates" if abs(limit.mode.imag) > abs(limit.mode.real) else "decays"
    unit = "rad/s" if kind == "oscillates" else "1/s"
    name = joint_of(runner.setup.problem.system, limit.freedom)
    what = "controller" if runner.setup.problem.law is not None else "damping or stiffness"
    result = "iterations do not settle" if runner.method == MIDPOINT else "it grows instead"
    beyond = "beyond" if runner.h > limit.step else f"beyond {MARGIN:.0%} of"
    return (
        f"the step dt = {runner.h:.3g} s is {beyond} the limit of method {runner.method!r}, {limit.step:.3g} s: by the "
        f"{what} a mode mostly of joint {name!r} {kind} at {abs(limit.mode):.3g} {unit}, and with longer steps {result}"
    )


def _remedy(runner: Runner, limit: Limit) -> str:
    stiff = "" if runner.setup.sampled is not None else ', or method="stiff"'
    return f"Use dt ≤ {_below(limit.step * MARGIN)}{stiff}."


def _below(x: float) -> str:
    """A number of two digits, at most x."""
    unit = 10.0 ** (math.floor(math.log10(x)) - 1)
    return f"{math.floor(x / unit * (1 + 1e-12)) * unit:.2g}"


def joint_of(system: System, freedom: int) -> str:
    """The name of the joint that has this entry of qd."""
    return labels_of(system).qd[freedom].joint


# divergence -------------------------------------------------------------------------------------


def divergence_doubt(found: Trajectory, runner: Runner | None) -> str | None:
    """Which rows became infinite, NaN or huge, which joint went first and when, and why that may be; or None."""
    gone = first_gone(found)
    if gone is None:
        return None
    rows = math.prod(found.batch)
    what = f"{gone.rows} of {rows} rows {'is' if gone.rows == 1 else 'are'}" if found.batch else "the motion is"
    state = "not finite" if found.failed else f"faster than {HUGE:g} rad/s or m/s"
    count = " trajectory.failed counts them." if found.failed else ""
    if not gone.t:
        return f"{what} {state} from t = 0 s on: the start is not finite.{count}"
    return f"{what} {state} from t = {gone.t:g} s on{gone.joint}: {_cause(found, runner, gone)}{count}"


class Gone(NamedTuple):
    """How many rows went; of the first its number, the record and time [s], and words that name the joint."""

    rows: int
    row: int
    record: int
    t: float
    joint: str


def first_gone(found: Trajectory) -> Gone | None:
    """The rows that end infinite, NaN or huge."""
    if not len(found) or not found.q.size:
        return None
    if np.isfinite(found.q[..., -1, :]).all() and (np.abs(found.qd[..., -1, :]) <= HUGE).all():
        return None  # 6 us; what is below takes 40
    q, qd = (x.reshape(-1, *x.shape[-2:]) for x in (found.q, found.qd))
    good = _is_good(q, qd, math.inf if found.failed else HUGE)
    rows = np.flatnonzero(~good[:, -1])
    if not len(rows):
        return None
    first = np.argmin(good[rows], axis=1)  # a record of each
    k = int(np.argmin(first))
    row, record = int(rows[k]), int(first[k])
    joint = _went_first(found, qd[row], record) if record and found.system is not None else ""
    return Gone(len(rows), row, record, float(found.t[record]), joint)


def _went_first(found: Trajectory, qd: Array, record: int) -> str:
    """Words for the joint that ran away first in a row that was lost at a record."""
    assert found.system is not None
    speed = np.abs(qd[:record])
    fast = (speed > FAST * max(1.0, speed[0].max(initial=0.0))).any(axis=1)
    k = int(np.argmax(fast)) if fast.any() else record - 1
    name = joint_of(found.system, int(np.argmax(speed[k])))
    return f", joint {name!r} first" + (f", beyond {FAST:g} rad/s or m/s at t = {found.t[k]:g} s" if fast.any() else "")


def _is_good(q: Array, qd: Array, most: float) -> Array:
    """(rows, records): whether states are finite, and no faster than ``most``, or so many times the start's speed."""
    with np.errstate(invalid="ignore", over="ignore"):
        speed, start = np.abs(qd).max(axis=-1, initial=0.0), np.abs(qd[:, :1]).max(axis=-1, initial=0.0)
        return np.isfinite(q).all(axis=-1) & np.isfinite(speed) & (speed <= most * np.maximum(1.0, start))


def _cause(found: Trajectory, runner: Runner | None, gone: Gone) -> str:
    """The step, if it is too long at the start or where the motion went, else what there may be."""
    if runner is not None and gone.record and _has_slopes(runner.setup):
        for record in dict.fromkeys([0, gone.record - 1]):
            limit = step_limit(_at(runner, found, gone.row, record), np.array([0]), rubs=bool(_rubbing(runner.setup)))
            if limit is not None:
                name = joint_of(runner.setup.problem.system, limit.freedom)
                return (
                    f"the step is too long for method {runner.method!r}, whose limit by joint {name!r} is "
                    f"{limit.step:.3g} s. {_remedy(runner, limit)}"
                )
    hint = "a step that is too long, a force that is not finite, a singular state, or constraints in a dead centre."
    if found.facts["method"] == MIDPOINT:
        return f"iterations that do not settle (a shorter dt helps, but not where dry friction sticks), or {hint}"
    return hint


def _at(runner: Runner, found: Trajectory, row: int, record: int) -> Runner:
    """The runner at a record of a row."""
    setup = runner.setup
    n = len(found)
    q, qd = (x.reshape(-1, n, x.shape[-1])[row, record][None].copy() for x in (found.q, found.qd))
    u = setup.u[row : row + 1]
    if found.internal is not None:
        u = found.internal.reshape(-1, n, u.shape[1])[row, record][None].copy()
    constants = {name: x[row : row + 1] if len(x) > 1 else x for name, x in setup.constants.items()}
    state = replace(setup, batch=(), q=q, qd=qd, u=u, constants=constants)
    return runner.elsewhere(state, np.array([runner.h]), float(found.t[record]))
