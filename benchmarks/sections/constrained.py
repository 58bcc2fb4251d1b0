"""Dynamics under constraints: sixd's batches compared with Pinocchio's constraint dynamics on the same states."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

import sixd
from benchmarks import robots
from benchmarks.agreement import require_agreement
from benchmarks.contenders import with_pinocchio
from benchmarks.report import progress
from benchmarks.session import Session, cell, ratio
from benchmarks.tasks import Array, States, random_states
from sixd.cli.output import digits
from sixd.cli.timing import Contender

_HEAD = ("mechanism", "nv", "equations", "operations", "sixd", "Pinocchio call", "net", "ratio to net")


@dataclass(frozen=True, eq=False)
class Case:
    """A model with one loop, states that satisfy it, and Pinocchio's model of the tree."""

    title: str
    model: sixd.Model
    states: States
    theirs: Any
    settings: Any  # Pinocchio's solver: one step where equations are independent, a few where they are not
    tolerance: float


def measure(session: Session) -> None:
    """A row a mechanism."""
    report = session.report
    report.heading("Dynamics under constraints, one thread")
    report.paragraph(
        f"Nanoseconds a state for batches of {session.rows} states. Pinocchio's `constraintDynamics` has no batch "
        "call; 'net' is its call minus that on a model without joints. The world holds the UR5 at its wrist's origin. "
        "Pinocchio closes the four-bar in space, with one redundant equation, and iterates for it; sixd closes it in "
        "the plane."
    )
    rows = []
    for case in (_four_bar(session.rows), _held_arm(session.rows)):
        progress(f"constrained dynamics, {case.title}")
        contenders = [_ours(case), _pinocchio(case), _empty()]
        require_agreement(contenders, _reference(case), f"constrained dynamics of {case.title}")
        timings = session.time(("constrained", case.title), contenders)
        count = sixd.compile(sixd.constrained_dynamics, case.model).program.operations
        equations = sixd.mobility(case.model).equations
        own, other = timings["sixd"], timings["Pinocchio"]
        net = other.median - timings["Pinocchio empty"].median
        session.measured["constrained", case.title, "Pinocchio net"] = net
        cells = [str(case.model.nv), str(equations), str(count), cell(own), cell(other), digits(net)]
        rows.append([case.title, *cells, ratio(net, own.median)])
    report.table(_HEAD, rows)


def _held_arm(rows: int) -> Case:
    robot = robots.load("ur5")
    model = _with_constraint(robot.model, sixd.Loop("world", robot.frame, "point"))
    theirs = with_pinocchio.model_of(robot)
    states = random_states(robot.model, rows)
    return Case("ur5", model, states, theirs, pin.ProximalSettings(1e-12, 0.0, 1), 1e-9)


def _four_bar(rows: int) -> Case:
    model = sixd.zoo.four_bar()
    rng = np.random.default_rng(7)
    crank = rng.uniform(-np.pi, np.pi, rows)
    # the coupler's end is where circles about the crank's end and the rocker's pivot meet
    from_pivot = np.stack([0.5 * np.cos(crank) - 2.0, 0.5 * np.sin(crank)], axis=1)
    d = np.linalg.norm(from_pivot, axis=1)
    to_end = np.arctan2(from_pivot[:, 1], from_pivot[:, 0])
    rocker = to_end - np.arccos((1.5**2 + d**2 - 2.0**2) / (2 * 1.5 * d))
    end = np.stack([2 + 1.5 * np.cos(rocker) - 0.5 * np.cos(crank), 1.5 * np.sin(rocker) - 0.5 * np.sin(crank)])
    q = np.stack([crank, np.arctan2(end[1], end[0]) - crank, rocker], axis=1)
    P, _ = sixd.projections(model, q)
    qd = np.einsum("bij,bj->bi", P, rng.standard_normal((rows, 3)))
    states = {"q": q, "qd": qd, "tau": rng.standard_normal((rows, 3))}
    tree = robots.Robot("four-bar", False, _without_constraints(model), "coupler_end")
    # Pinocchio's proximal steps end at some 1e-8 of the result
    return Case("four-bar", model, states, with_pinocchio.model_of(tree), pin.ProximalSettings(1e-10, 1e-8, 20), 1e-6)


def _with_constraint(model: sixd.Model, constraint: sixd.Constraint) -> sixd.Model:
    builder = sixd.ModelBuilder.from_model(model)
    builder.add_constraint(constraint)
    return builder.build()


def _without_constraints(model: sixd.Model) -> sixd.Model:
    builder = sixd.ModelBuilder.from_model(model)
    builder.constraints = []
    return builder.build()


def _ours(case: Case) -> Contender:
    names: dict[str, Any] = {"function": sixd.constrained_dynamics, "model": case.model, **case.states}
    names["out"] = sixd.constrained_dynamics(case.model, *(case.states[x] for x in ("q", "qd", "tau")))
    statement = "function(model, q, qd, tau, out=out)"

    def result() -> Array:
        exec(statement, names)
        return names["out"][0]

    return Contender("sixd", statement, names, len(case.states["q"]), result)


def _pinocchio(case: Case) -> Contender:
    model, data = case.theirs, case.theirs.createData()
    places = [_place(model, name) for name in case.model.constraints[0].frames]
    loop = pin.RigidConstraintModel(pin.ContactType.CONTACT_3D, model, *places[0], *places[1], pin.ReferenceFrame.LOCAL)
    loops, loop_data = pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    loops.append(loop)
    loop_data.append(loop.createData())
    pin.initConstraintDynamics(model, data, loops, loop_data)
    first = {name: x[0].copy() for name, x in case.states.items()}
    names = {
        "function": pin.constraintDynamics, "model": model, "data": data, "loops": loops, "datas": loop_data,
        "settings": case.settings, **first,
    }  # fmt: skip
    statement = "function(model, data, q, qd, tau, loops, datas, settings)"

    def result() -> Array:
        rows = range(min(with_pinocchio.CHECKED, len(case.states["q"])))
        states = ({name: x[k] for name, x in case.states.items()} for k in rows)
        return np.array([eval(statement, names | row).copy() for row in states])

    return Contender("Pinocchio", statement, names, result=result, tolerance=case.tolerance)


def _empty() -> Contender:
    """The same call on a model without joints and loops."""
    model, nothing = pin.Model(), np.zeros(0)
    data, loops, datas = model.createData(), pin.StdVec_RigidConstraintModel(), pin.StdVec_RigidConstraintData()
    pin.initConstraintDynamics(model, data, loops, datas)
    names = {
        "function": pin.constraintDynamics, "model": model, "data": data, "loops": loops, "datas": datas,
        "settings": pin.ProximalSettings(1e-12, 0.0, 1), "q": nothing, "qd": nothing, "tau": nothing,
    }  # fmt: skip
    return Contender("Pinocchio empty", "function(model, data, q, qd, tau, loops, datas, settings)", names)


def _place(model: Any, frame: str) -> tuple[int, Any]:
    """Joint and placement of a frame over there."""
    if frame == "world":
        return 0, pin.SE3.Identity()
    record = model.frames[model.getFrameId(frame)]
    return record.parentJoint, record.placement


def _reference(case: Case) -> Array:
    return sixd.constrained_dynamics(case.model, *(case.states[x] for x in ("q", "qd", "tau")))[0]
