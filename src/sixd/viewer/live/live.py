"""The scene of a live page: that of the mechanism at its start, the step as JavaScript, sliders, plots and traces."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sixd.api.constraints import assemble
from sixd.errors import ScalarTypeError, ShapeError, SixdError, unknown_name
from sixd.forces.elements import Force, elements
from sixd.forces.ground import Ground
from sixd.forces.ground_points import plane_axes
from sixd.model.model import Model
from sixd.model.system import System, require_system
from sixd.simulation.arguments import positive
from sixd.simulation.nonsmooth.rigid_ground import RigidGround
from sixd.simulation.scenario import Scenario
from sixd.simulation.setup import Setup, make_setup
from sixd.simulation.simulate import METHODS
from sixd.simulation.stepping.compiled_steps import MIDPOINT
from sixd.simulation.stepping.fixed import STEP
from sixd.simulation.stepping.implicit import IMPLICIT
from sixd.simulation.stepping.runge_kutta import EXPLICIT
from sixd.spatial.scalar import Array
from sixd.trajectory.labels import labels_of
from sixd.viewer.live.deformation import deformations
from sixd.viewer.live.programs import LivePrograms, live_problem, make_programs
from sixd.viewer.live.sliders import Adjustable, adjustable, on_ground, with_surface
from sixd.viewer.scene.drawn_model import drawn_model
from sixd.viewer.scene.packing import flat_list
from sixd.viewer.scene.plots import titled_groups
from sixd.viewer.scene.poses import display_turn, kinematics, world_poses
from sixd.viewer.scene.scene import make_scene, measure

LIVE_METHODS = (*EXPLICIT, IMPLICIT)  # all whose steps are those of q and qd
_FAR = 3.0  # sizes of the mechanism by which a body has moved that leaves the first view
_REHEARSAL, _RECORDS = 4.0, 200  # [s] of motion that decide on the floor and the first view, and records of it


def make_live_scene(
    system: System,
    *,
    q: Any = None,
    qd: Any = None,
    parameters: Mapping[Any, Any] | None = None,
    dt: float | None = None,
    method: str = "rk4",
    controller: Any = None,
    forces: Any = (),
    trace: str | Sequence[str] | None = None,
    camera: Mapping[str, Any] | None = None,
    title: str | None = None,
    collisions: bool = False,
) -> dict[str, Any]:
    """Return the scene of a page that simulates a system from (q, qd) by itself; arguments as for ``sixd.view``."""
    require_system("view", system)
    _require_method(method)
    step = positive("view", "dt", STEP if dt is None else dt, "s")
    at = _row("q", q, system.nq)
    surface, parameters = on_ground(elements("view", forces), parameters)
    adjusted = adjustable(system, parameters, at)
    motion = {"controller": controller, "forces": with_surface(elements("view", forces), surface)}
    setup = _setup(adjusted, at, _row("qd", qd, system.nv), motion)
    numeric = adjusted.numeric
    model = drawn_model(numeric)
    turn = display_turn(model)
    problem, inputs = live_problem(setup.problem, {s.symbol: s.value for s in surface})
    programs = make_programs(problem, method, turn)
    rehearsal = _rehearsal(numeric, setup, method, step, motion)
    near = None if rehearsal is None else _near(numeric, rehearsal)
    scene = make_scene(numeric, near, q=setup.q[0], camera=camera, title=title, collisions=collisions)
    scene["leaves"] = near is not rehearsal
    scene["trajectories"] = []
    scene["kinematics"] = ""
    scene["settings"]["ground"] = _floor(problem.forces, turn, scene["settings"]["ground"])
    constants = {**{name: x[0] for name, x in setup.constants.items()}, **inputs}
    scene["simulation"] = {
        "h": step,
        "method": method,
        "start": {"q": flat_list(setup.q[0]), "qd": flat_list(setup.qd[0]), "u": flat_list(setup.u[0])},
        "constants": {f"constant {name}": flat_list(x) for name, x in constants.items()},
        "inputs": [f"constant {name}" for name in problem.constants],
        "sliders": [
            {"input": f"constant {s.symbol}", "label": s.label, "unit": s.unit, "value": s.value, "low": s.low,
             "high": s.high}
            for s in (*adjusted.sliders, *surface)
        ],
        "turn": flat_list(turn[:3, :3]),
        "pull": next(iter(inputs)),
        "contacts": programs.contacts,
        "observed": dict(programs.observed),
        "plots": _plots(numeric, programs),
        "traces": _traces(model, trace),
        "reactions": _reactions(model) if "react" in programs.programs else [],
    }  # fmt: skip
    scene["simulation"] |= deformations(adjusted, scene, setup.q[0])
    scene["simulation_code"] = programs.source()
    if scene["simulation"]["traces"]:
        scene["settings"]["trails"] = "origin"
    return scene


def _require_method(method: str) -> None:
    if method in LIVE_METHODS:
        return
    if method in METHODS:
        why = "has momenta instead of velocities" if method == MIDPOINT else "chooses its steps in Python"
        known = ", ".join(LIVE_METHODS)
        raise ScalarTypeError(f"view: method {method!r} {why}, expected one of {known} in live pages.")
    raise unknown_name("view: method", "choice", method, LIVE_METHODS)


def _row(name: str, value: Any, size: int) -> Any:
    """One row of numbers as floats; None and names of configurations as they are."""
    if value is None or isinstance(value, str):
        return value
    try:
        row = np.asarray(value, dtype=float)
    except (TypeError, ValueError):
        raise ScalarTypeError(f"view: {name} is {value!r}, expected {size} numbers.") from None
    if row.shape != (size,):
        raise ShapeError(f"view: {name} has shape {row.shape}, expected ({size},): a live page shows one motion.")
    return row


def _setup(adjusted: Adjustable, q: Any, qd: Any, motion: Mapping[str, Any]) -> Setup:
    """The setup of the simulation, with the sliders as parameters; raise if it needs Python while it runs."""
    system = adjusted.system
    if q is None and system.constraints:
        q = assemble(adjusted.numeric, adjusted.numeric.initial_configuration())
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        run = Scenario(system, parameters={s.symbol: s.value for s in adjusted.sliders}, where="view", **motion)
        setup = make_setup("view", run, q, qd)
    if setup.sampled is not None:
        why = "".join(str(w.message).partition("fix it: view: ")[2] for w in found)
        raise ScalarTypeError(
            f"view: the controller cannot be compiled, expected one that can, since a live page runs without Python: "
            f"{why or 'it has a memory or a clock of its own.'} Or show a recorded motion: "
            f"sixd.view(model, sixd.simulate(…))."
        )
    return setup


def _rehearsal(
    system: System, setup: Setup, method: str, step: float, motion: Mapping[str, Any]
) -> tuple[Array, Array] | None:
    """The first seconds of the motion as (t, q), for the floor and the first view; None if it fails."""
    seconds = min(_REHEARSAL, 20_000 * step)
    every = max(1, round(seconds / step / _RECORDS))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = Scenario(system, dt=step, method=method, **motion)
            found = run.simulate(setup.q[0], setup.qd[0], seconds, record_every=every, progress=False)
    except SixdError:
        return None
    good = np.isfinite(found.q).all(axis=1)
    return (found.t[good], found.q[good]) if good.any() else None


def _floor(forces: Sequence[Force], turn: Array, usual: float | None) -> float | None:
    """The height of the floor in the page: that of the lowest ground that is level, if there is one."""
    grounds = [force for force in forces if isinstance(force, (Ground, RigidGround))]
    return min(
        (float(g.height) for g in grounds if (turn[:3, :3] @ plane_axes(g.normal)[0])[2] > 1 - 1e-9), default=usual
    )


def _near(system: System, motion: tuple[Array, Array]) -> tuple[Array, Array]:
    """The records of a motion before a body has moved by several times the mechanism's size; itself if none has."""
    t, q = motion
    poses, box, _ = measure(system, q[:1])
    origins = world_poses(kinematics(system, np.eye(4)), q)[:, 1:, :3, 3]
    moved = np.linalg.norm(origins - poses[1:, :3, 3], axis=-1).max(axis=-1, initial=0.0)
    far = moved > _FAR * max(float(np.linalg.norm(box[1] - box[0])), 1e-9)
    return (t[: far.argmax()], q[: far.argmax()]) if far.any() else motion


# what is plotted and drawn ------------------------------------------------------------------------


def _plots(system: Any, programs: LivePrograms) -> list[dict[str, Any]]:
    """The plots: each series is an entry of an array of the page, "observed", "q", "qd" or "pull"."""
    first, starts = 0, {}
    for name, size in programs.observed.items():
        starts[name], first = first, first + size
    energies = [_series(n, "observed", starts[n]) for n in list(starts)[:3]]
    found = [{"title": "energy [J]", "unit": "J", "series": energies}]
    labels = labels_of(system)
    for what, columns in (("q", labels.q), ("qd", labels.qd)):
        found += [
            {"title": title, "unit": unit, "series": [_series(c.name, what, k) for k, c in group]}
            for title, unit, group in titled_groups(what, columns)
        ]
    for name, unit in (("momentum", "N s"), ("angular momentum", "N m s")):
        if name in starts:
            series = [_series(axis, "observed", starts[name] + k) for k, axis in enumerate("xyz")]
            found.append({"title": f"{name} [{unit}]", "unit": unit, "series": series})
    forces = [_series("pull", "pulling", 0)]
    if "react" in programs.programs:
        joints = enumerate(_reactions(system))
        forces = [_series(one["name"], "reactionSizes", k) for k, one in joints if one["body"]] + forces
    title = "forces in joints [N]" if len(forces) > 1 else "pull [N]"
    if programs.contacts:
        forces, title = [_series("ground", "groundForce", 0), *forces], "forces [N]"
    found.insert(1, {"title": title, "unit": "N", "series": forces})
    return found


def _series(label: str, array: str, index: int) -> dict[str, Any]:
    return {"label": label, "array": array, "index": index}


def _reactions(model: Model) -> list[dict[str, Any]]:
    """Where the forces of joints and then of constraints act: bodies, and points in them."""
    found = [{"name": name, "body": i, "point": [0.0] * 3} for i, name in enumerate(model.joint_names, start=1)]
    for k, constraint in enumerate(model.constraints):
        frame = None if constraint.acted_frame is None else model.frames[constraint.acted_frame]
        point = [0.0] * 3 if frame is None else flat_list(np.asarray(frame.pose, dtype=float)[:3, 3])
        name = constraint.acted_frame or f"constraint {k + 1}"
        found.append({"name": name, "body": 0 if frame is None else frame.body, "point": point})
    return found


def _traces(model: Any, trace: str | Sequence[str] | None) -> list[dict[str, Any]]:
    """The points whose paths are drawn: origins of bodies and frames."""
    names = [trace] if isinstance(trace, str) else list(trace or ())
    found = []
    for name in names:
        if name not in model.frames:
            raise unknown_name("view: trace", "frame", name, model.frames)
        frame = model.frames[name]
        if frame.body == 0:
            raise ScalarTypeError(f"view: trace: {name!r} is fixed to the world, expected a frame that moves.")
        found.append({"name": name, "body": frame.body, "point": flat_list(np.asarray(frame.pose, dtype=float)[:3, 3])})
    return found
