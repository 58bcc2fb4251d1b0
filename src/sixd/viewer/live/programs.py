"""The programs of a live page: the step, and what is drawn and plotted of a state, traced with sliders as inputs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sixd.algorithms.body_dynamics import joint_reactions
from sixd.algorithms.kinematics import body_poses
from sixd.algorithms.momentum import center_of_mass, energy, momentum
from sixd.engine.targets import js
from sixd.errors import ModelError, OutOfRangeError
from sixd.forces.elements import state_slices
from sixd.forces.ground import Ground
from sixd.model.model import Model
from sixd.simulation.nonsmooth.impulses.joint_rows import joint_rows
from sixd.simulation.nonsmooth.rigid_ground import RigidGround
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.compiled_steps import has_contact, make_recipe
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array
from sixd.trace import Program, jvp, vjp
from sixd.trace.recipe import Recipe
from sixd.trajectory.labels import tree_behind

MOST_OPERATIONS = 80_000  # of all programs together: 2.2 MB of JavaScript, which a browser reads within a second


@dataclass(frozen=True, eq=False)
class LivePrograms:
    """The step of a problem, programs by name, the names of what ``observe`` returns, with their sizes, and the number
    of points that the ground may touch."""

    recipe: Recipe
    programs: Mapping[str, Program]
    observed: Mapping[str, int]
    contacts: int

    def source(self) -> str:
        """The JavaScript of all of them; see ``codegen/js_module.py``."""
        return str(js.emit(self.recipe, self.programs))


def make_programs(problem: Problem, method: str, turn: Array) -> LivePrograms:
    """Return the programs of a problem for a page whose axes are the world's rotated by ``turn`` (4, 4).

    Each has the constants of the problem as its last inputs.
    poses : q -> (nb, 3, 4), the first three rows of each body's pose in the page.
    rates : q, qd -> (nb, 3, 4), their derivatives in time.
    pull : q, (nb, 3, 4) -> (nv,), forces that do the work Σ a·Ṫ; only where bodies take no forces themselves.
    accelerate : t, q, qd, u -> qdd (nv,), and maybe rates of u.
    react : t, q, qd, u -> (nb + number of constraints, 3), the forces that joints and then constraints exert on bodies.
    contacts : t, q, qd, u -> (2, k, 3), points on the ground and the forces on them; only if there is a ground.
    observe : q, qd -> energies, momentum and so on; ``observed`` has their names.
    """
    system, R = problem.system, turn[:3, :3]
    unturned = np.array_equal(R, np.eye(3))
    state: dict[str, tuple[int, ...]] = {"q": (system.nq,), "qd": (system.nv,)}

    def poses(q: Array, constants: Mapping[str, Any]) -> Array:
        T = problem.system_with(constants).apply("body_poses", body_poses, q)[:, :3]
        return T if unturned else np.array([R @ t for t in T]).reshape(system.nb, 3, 4)

    def rates(q: Array, qd: Array, constants: Mapping[str, Any]) -> Array:
        graph, T = q[0].graph, poses(q, constants)
        found = jvp(graph.entries(T), graph.entries(q), list(system.configuration_rate(q, qd)))
        return np.array(found).reshape(T.shape)

    def pull(q: Array, weights: Array, constants: Mapping[str, Any]) -> Array:
        graph, T = q[0].graph, poses(q, constants)
        return np.array(vjp(graph.entries(T), graph.entries(q), list(weights.ravel())))

    def accelerate(t: Any, q: Array, qd: Array, u: Array, constants: Mapping[str, Any]) -> Array:
        return problem.acceleration(t, q, qd, u, constants)[0]

    recipe = make_recipe(problem, method)
    observe, observed = _observation(problem)
    programs = {
        "poses": problem.traced(poses, {"q": (system.nq,)}),
        "rates": problem.traced(rates, state),
        "accelerate": _known(recipe, problem) or problem.traced(accelerate, {"t": (), **state, "u": (problem.nu,)}),
        "observe": problem.traced(observe, state),
    }
    if any(isinstance(force, (Ground, RigidGround)) for force in problem.forces):
        programs["contacts"] = problem.traced(_contacts(problem, R), {"t": (), **state, "u": (problem.nu,)})
    # of a tree whose joints have no dry friction the forces in the joints follow from the state
    if isinstance(system, Model) and joint_rows(problem) is None and not has_contact(problem):
        programs["react"] = problem.traced(_reaction(problem, R), {"t": (), **state, "u": (problem.nu,)})
    if not problem.has_f_ext:
        programs["pull"] = problem.traced(pull, {"q": (system.nq,), "weights": (system.nb, 3, 4)})
    if count_operations(recipe, programs) > MOST_OPERATIONS:
        programs.pop("react", None)
    _require_small(problem, recipe, programs)
    contacts = programs["contacts"].outputs[0].shape[1] if "contacts" in programs else 0
    return LivePrograms(recipe, programs, observed, contacts)


def _known(recipe: Recipe, problem: Problem) -> Program | None:
    """The program of the acceleration in the step itself, if it has one of just these inputs."""
    names = ["t", "q", "qd", "u", *problem.inputs]
    shapes = [(problem.system.nv,), (problem.nu,)]
    return next(
        (p for p in recipe.programs if [s.name for s in p.inputs] == names and [s.shape for s in p.outputs] == shapes),
        None,
    )


def _observation(problem: Problem) -> tuple[Callable[..., Array], dict[str, int]]:
    """The function (q, qd, constants) -> what is observed, as one array; and the names and sizes of its parts.

    Momentum is in world axes, angular momentum about the centre of mass; a system defined by energies has none.
    """
    observed = {"total": 1, "kinetic": 1, "potential": 1}
    has_momentum = tree_behind(problem.system) is not None

    def observe(q: Array, qd: Array, constants: Mapping[str, Any]) -> Array:
        system = problem.system_with(constants)
        kinetic, potential = system.apply("energy", energy, q, qd)
        found = [np.array([kinetic + potential, kinetic, potential])]
        if has_momentum:
            h, c = system.apply("momentum", momentum, q, qd), system.apply("center_of_mass", center_of_mass, q)
            found += [h[3:], h[:3] - skew(c) @ h[3:], c]
        return np.concatenate(found)

    if has_momentum:
        observed |= {"momentum": 3, "angular momentum": 3, "centre of mass": 3}
    return observe, observed


def _contacts(problem: Problem, R: Array) -> Callable[..., Array]:
    """The function (t, q, qd, u, constants) -> points that a ground may touch, and forces, in the axes of the page."""
    pairs = zip(problem.forces, state_slices(problem.sizes), strict=True)
    touching = [(force, own) for force, own in pairs if isinstance(force, (Ground, RigidGround))]

    def touch(t: Any, q: Array, qd: Array, u: Array, constants: Mapping[str, Any]) -> Array:
        system = problem.system_with(constants)
        found = [force.contacts(system, t, q, qd, u[own]) for force, own in touching]
        both = (np.concatenate([pair[k] for pair in found]) for k in range(2))
        return np.array([x @ R.T for x in both])

    return touch


def _reaction(problem: Problem, R: Array) -> Callable[..., Array]:
    """The function (t, q, qd, u, constants) -> forces of joints and constraints in the axes of the page."""

    def react(t: Any, q: Array, qd: Array, u: Array, constants: Mapping[str, Any]) -> Array:
        system = problem.system_with(constants)
        tau, f_ext, _ = problem.total_force(system, t, q, qd, u, constants)
        found = joint_reactions(system, q, qd, tau, t, expressed_in="aligned", f_ext=f_ext, limits=problem.limits)
        return np.array([R @ row[3:] for row in found]).reshape(-1, 3)

    return react


def count_operations(recipe: Recipe, programs: Mapping[str, Program]) -> int:
    """Return the number of operations of the programs that make up a step, and of further ones, each once."""
    every = {id(p): p for p in (*recipe.programs, *programs.values())}
    return sum(p.operations for p in every.values())


def _require_small(problem: Problem, recipe: Recipe, programs: Mapping[str, Program]) -> None:
    count = count_operations(recipe, programs)
    if count > MOST_OPERATIONS:
        raise OutOfRangeError(
            f"view: a live page of {problem.system.name!r} would need {count:,} operations, expected at most "
            f"{MOST_OPERATIONS:,}. Simulate it, and show the motion: sixd.view(model, sixd.simulate(…))."
        )


def live_problem(problem: Problem, surface: Mapping[str, float]) -> tuple[Problem, dict[str, Any]]:
    """Return the problem with forces by which the reader pulls, and coefficients of rigid grounds, among its constants;
    and the numbers of these, first of the forces: zeros."""
    system = problem.system
    problem, numbers = replace(problem, surface=tuple(surface)), {name: np.array(x) for name, x in surface.items()}
    try:
        system.require_bodies("view")
    except ModelError:
        return replace(problem, has_tau=True), {"tau": np.zeros(system.nv), **numbers}
    return replace(problem, has_f_ext=True), {"f_ext": np.zeros((system.nb, 6)), **numbers}
