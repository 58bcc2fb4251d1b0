"""One Levenberg-Marquardt iteration with bounds, as a traced program, and the recipe that repeats it.

The merit is F = ½ Σ (w r)² + ½ ρ Σ (φ + y/ρ)²: weighted errors of the tasks, and constraints φ = 0 with multipliers y,
which are updated where F is stationary (an augmented Lagrangian, so that loops stay closed where targets cannot be
reached). An iteration evaluates F, its gradient g and the Gauss-Newton matrix H at a trial; accepts it if F is smaller;
and solves min ½ dᵀ(H + μ F 1)d + gᵀd within the bounds of the joints for the next trial. The damping μ F
vanishes with the error, which keeps quadratic convergence also at singular solutions [J. Fan, Y. Yuan, "On the
quadratic convergence of the Levenberg–Marquardt method without nonsingularity assumption", *Computing* 74 (2005); T.
Sugihara, "Solvability-unconcerned inverse kinematics by the Levenberg–Marquardt method", *IEEE Trans. Robotics* 27
(2011)]; μ follows the ratio of the decrease to the one expected [H. B. Nielsen, IMM-REP-1999-05].
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import Any

import numpy as np

from sixd.algorithms.linear.dense import solve_free
from sixd.ik.task_rows import FrameTask, joint_slices, posture_error, squared
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar, absolute, maximum, minimum, sqrt, where
from sixd.trace.derivative import directional
from sixd.trace.expr import Expr
from sixd.trace.program import Program, trace
from sixd.trace.recipe import Recipe
from sixd.trace.stages import Stages, trace_stages

RUNNING, REACHED, STALLED, STATIONARY = 0, 1, 2, 3  # status of a sample
_PENALTY = {"float64": 1e4, "float32": 1e2}  # ρ: multipliers gain four digits in each update
CLOSED = {"float64": 1e-10, "float32": 1e-5}  # constraints hold
_MOST_DAMPED = 1e12
_ROUNDING = {"float64": 1e-15, "float32": 5e-7}  # of F
_RIDGE = {"float64": 1e-12, "float32": 1e-6}  # of H, for degrees of dof that change nothing
_LONGEST, _LONGER = 60, 300  # iterations of an attempt; of one to a target out of reach or to a posture
_NEAR = 1e-6  # m² and rad²: an attempt this near goes on
_SLOW, _PATIENCE = 0.7, 4  # an attempt ends after so many iterations that leave more than this part of F


@dataclass(frozen=True)
class IKProblem:
    """What is solved for: tasks, locked degrees of dof, and a mode.

    "search" gives an attempt up early; "finish" does not; "exact" has second derivatives in H, too, which is better
    near a minimum that does not reach the targets, and may be worse elsewhere; "posture" looks for the solution
    nearest to a configuration.
    """

    system: System
    tasks: tuple[FrameTask, ...]
    locked: tuple[int, ...] = ()
    mode: str = "search"
    dtype: str = "float64"

    @property
    def key(self) -> tuple[Any, ...]:
        """What distinguishes it among the problems of its system."""
        return self.tasks, self.locked, self.mode, self.dtype

    @property
    def posture(self) -> bool:
        """Whether the tasks are constraints, and a posture the objective."""
        return self.mode == "posture"

    @cached_property
    def boxed(self) -> dict[int, int]:
        """Degrees of freedom whose coordinates are real numbers, with their places in q."""
        places: dict[int, int] = {}
        v = 0
        for joint, i in joint_slices(self.system):
            if joint.is_vector_space:
                places |= {v + k: i.start + k for k in range(joint.nv)}
            v += joint.nv
        return places

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """Arrays that do not change in an attempt, and their shapes."""
        n = (self.system.nq,)
        return {
            **{f"target {k}": task.shape for k, task in enumerate(self.tasks)},
            "weights": (2 * len(self.tasks),), "lower": n, "upper": n, "tolerance": (),
            **({"posture": n} if self.posture else {}),
        }  # fmt: skip

    def errors(self, q: Array, given: dict[str, Any]) -> tuple[Array, Array]:
        """Weighted errors (k,) of all tasks and their Jacobian (k, nv)."""
        r: list[Array] = [np.zeros(0, dtype=int)]
        J: list[Array] = [np.zeros((0, self.system.nv), dtype=int)]
        for k, task in enumerate(self.tasks):
            target, weights = given[f"target {k}"], given["weights"]
            rows = task.rows(self.system, q, target, exact=self.posture)
            r += [rows.metres * weights[2 * k], rows.radians * weights[2 * k + 1]]
            J += [rows.J_metres * weights[2 * k], rows.J_radians * weights[2 * k + 1]]
        return np.concatenate(r), np.concatenate(J)

    def closures(self, q: Array) -> tuple[Array, Array]:
        """Errors φ (h,) of the holonomic constraints and their Jacobian (h, nv)."""
        phi: list[Array] = [np.zeros(0, dtype=int)]
        A: list[Array] = [np.zeros((0, self.system.nv), dtype=int)]
        for c in self.system.constraints:
            phi.append(c.position(self.system, q))
            A.append(c.jacobian(self.system, q)[: len(phi[-1])])
        return np.concatenate(phi), np.concatenate(A)

    def branch(self, q: Array) -> Scalar:
        """A scalar that is positive unless a constraint is on a wrong branch."""
        return reduce(minimum, [c.branch(self.system, q) for c in self.system.constraints], 1)

    def evaluate(self, q: Array, y: Array, given: dict[str, Any]) -> tuple[Scalar, Array, Array, Scalar, Array]:
        """F, g (nv,), H (nv, nv), the square of the tasks' error, and constraints φ (h,), at a configuration."""
        r, J = self.errors(q, given)
        phi, A = self.closures(q)
        square, wanted, D = squared(r), r, J
        if self.posture:  # the tasks are constraints, the distance to the posture is the objective
            phi, A = np.concatenate([r, phi]), np.concatenate([J, A])
            wanted, D = posture_error(self.system, q, given["posture"]), np.eye(self.system.nv, dtype=int)
        penalty = _PENALTY[self.dtype]
        force = phi * penalty + y
        merit = (squared(wanted) + squared(force) / penalty) / 2
        gradient = D.T @ wanted + A.T @ force
        H = self._second(q, gradient) if self.mode in ("exact", "posture") else D.T @ D + A.T @ A * penalty
        return merit, gradient, H, square, phi

    def _second(self, q: Array, gradient: Array) -> Array:
        """The symmetric part of the derivative of the gradient along the degrees of dof."""
        rates = np.array([self.system.configuration_rate(q, e) for e in np.eye(self.system.nv, dtype=int)])
        H = directional(list(gradient), list(q), rates)
        return (H + H.T) / 2

    @cached_property
    def pattern(self) -> tuple[tuple[int, ...], tuple[tuple[int, int], ...]]:
        """Degrees of dof that move, and the structural nonzeros (i, j), i ≥ j, of H among them."""
        system = self.system
        pattern: list[Any] = []

        def entries(q: Array, y: Array, *arrays: Any) -> Any:
            _, gradient, H, _, _ = self.evaluate(q, y, dict(zip(self.shapes, arrays, strict=True)))
            moving = [i for i in range(system.nv) if is_structural_nonzero(gradient[i]) and i not in self.locked]
            pairs = [(i, j) for i in moving for j in moving if j <= i]
            pattern[:] = tuple(moving), tuple((i, j) for i, j in pairs if i == j or is_structural_nonzero(H[i, j]))
            return np.zeros(1)

        trace(entries, {"q": (system.nq,), "y": (self.constraints,), **self.shapes}, self.dtype)
        return pattern[0], pattern[1]

    @cached_property
    def loops(self) -> int:
        """The number of constraints of the system."""
        counts: list[int] = []

        def count(q: Array) -> Any:
            counts.append(len(self.closures(q)[0]))
            return np.zeros(1)

        trace(count, {"q": (self.system.nq,)}, self.dtype)
        return counts[0]

    @cached_property
    def constraints(self) -> int:
        """The number h of constraints."""
        counts: list[int] = []

        def count(q: Array, *arrays: Any) -> Any:
            tasks = len(self.errors(q, dict(zip(self.shapes, arrays, strict=True)))[0]) if self.posture else 0
            counts.append(self.loops + tasks)
            return np.zeros(1)

        trace(count, {"q": (self.system.nq,), **self.shapes}, self.dtype)
        return counts[0]


def is_structural_nonzero(x: Any) -> bool:
    """Whether an entry of a traced array is not zero by structure."""
    return not x.is_value(0) if isinstance(x, Expr) else bool(x != 0)


class Iteration:
    """The program of one iteration. It replaces the arrays ``changing``; the last is a flag, 1 if the attempt ended."""

    def __init__(self, problem: IKProblem) -> None:
        self.problem = problem
        self.dofs, self.entries = problem.pattern
        nq, n, h = problem.system.nq, len(self.dofs), problem.constraints
        self.changing: dict[str, tuple[int, ...]] = {
            "q": (nq,), "trial": (nq,), "merit": (), "g": (n,), "H": (len(self.entries),), "expected": (),
            "damping": (), "growth": (), "y": (h,), "phi": (h,), "branch": (), "square": (), "gradient": (), "slow": (),
            "count": (), "closed": (), "status": (), "ended": (),
        }  # fmt: skip

    @cached_property
    def program(self) -> Program:
        """The traced iteration."""
        return trace(self._once, {**self.changing, **self.problem.shapes}, self.problem.dtype)

    def _once(self, *arrays: Any) -> Any:
        names = (*self.changing, *self.problem.shapes)
        old = dict(zip(names, arrays, strict=True))
        problem, new = self.problem, dict(old)
        y = old["y"]

        # accept the trial if the merit decreases
        merit, gradient, H, square, phi = problem.evaluate(old["trial"], y, old)
        first = old["merit"] > _LARGEST
        # ignore changes below rounding
        rounding = old["merit"] * _ROUNDING[problem.dtype]
        better = merit < where(first, np.inf, old["merit"] + rounding)
        accepted = {
            "q": old["trial"], "merit": merit, "g": gradient[list(self.dofs)],
            "H": np.array([H[e] for e in self.entries]), "square": square, "phi": phi,
            "branch": problem.branch(old["trial"]),
        }  # fmt: skip
        for name, x in accepted.items():
            new[name] = where(better, x, old[name]) if np.size(x) else x
        gain = where(old["expected"] < rounding * 10, 1, (old["merit"] - merit) / old["expected"])
        cube = (gain * 2 - 1) * (gain * 2 - 1) * (gain * 2 - 1)
        less = maximum(1 - cube, 0.1)
        damping = where(first, old["damping"], old["damping"] * where(better, minimum(less, 2), old["growth"]))
        new["growth"] = where(better, 2, old["growth"] * 2)
        slow = (merit > old["merit"] * _SLOW) & ~first & (new["square"] > _NEAR)
        new["slow"] = where(slow, old["slow"] + 1, 0)
        new["damping"] = damping = maximum(damping, 1e-9)

        # the next trial
        d, new["gradient"], new["expected"] = self._bounded_step(new, old)
        new["trial"] = self._moved(new["q"], d, old)
        new["count"] = old["count"] + 1

        # whether it ends
        tolerance, searching = old["tolerance"], problem.mode == "search"
        reached = new["square"] <= tolerance * tolerance
        # near singular solutions the gradient is small before the error is
        limit = tolerance * minimum(sqrt(new["square"]), 1) if searching else tolerance
        still = new["gradient"] <= limit
        stuck = (damping > _MOST_DAMPED) | (new["count"] >= (_LONGEST if searching else _LONGER))
        if searching:
            stuck = stuck | (new["slow"] > _PATIENCE)
        if len(phi):
            loops = new["phi"][len(phi) - problem.loops :]
            new["closed"] = reduce(maximum, [absolute(x) for x in loops], 0)
            closed = new["closed"] <= CLOSED[problem.dtype] if len(loops) else tolerance > 0
            closed = closed & (new["branch"] > 0)
            reached = reached & closed
            hold = reached if problem.posture else closed
            reached = reached & still if problem.posture else reached
            # stationary, but constraints do not hold: update the multipliers and evaluate the same point again
            update = still & ~hold & ~stuck
            new["y"] = where(update, y + new["phi"] * _PENALTY[problem.dtype], y)
            new["trial"] = where(update, new["q"], new["trial"])
            new["merit"] = where(update, np.inf, new["merit"])
            still = still & hold
        status = where(reached, REACHED, where(still, STATIONARY, where(stuck, STALLED, RUNNING)))
        # NaN ends an attempt at once, and stays in its error and gradient
        lost = first & ~better
        status = where(lost, STALLED, status)
        new["square"], new["gradient"] = where(lost, square, new["square"]), where(lost, square, new["gradient"])
        before = old["ended"] > 0
        new["status"], new["ended"] = status, where(status > 0.5, 1, 0)
        kept = [where(before, old[name], new[name]) if np.size(new[name]) else new[name] for name in self.changing]
        return (*kept[:-1], where(before, 1, new["ended"]))

    def _bounded_step(self, at: dict[str, Any], given: dict[str, Any]) -> tuple[Array, Scalar, Scalar]:
        """The step within the bounds, the largest entry of the projected gradient, and the expected decrease.

        Coordinates that the gradient pushes against their bound stay there; those that would cross a bound stop at it,
        and the others are solved for again.
        """
        n, g, boxed = len(self.dofs), at["g"], self.problem.boxed
        H = np.zeros((n, n), dtype=object)
        place = {dof: k for k, dof in enumerate(self.dofs)}
        for (i, j), x in zip(self.entries, at["H"], strict=True):
            H[place[i], place[j]] = H[place[j], place[i]] = x
        more = at["damping"] * at["merit"]
        W = H + np.diag([more + _RIDGE[self.problem.dtype]] * n)
        low: list[Any] = [None] * n
        high: list[Any] = [None] * n
        free: list[Any] = [True] * n
        largest: Any = 0
        for k, dof in enumerate(self.dofs):
            if dof not in boxed:
                largest = maximum(largest, absolute(g[k]))
                continue
            i = boxed[dof]
            low[k], high[k] = given["lower"][i] - at["q"][i], given["upper"][i] - at["q"][i]
            free[k] = where(g[k] > 0, low[k], -high[k]) < 0
            largest = maximum(largest, absolute(minimum(maximum(-g[k], low[k]), high[k])))
        d = solve_free(W, -g, free)
        held: list[Any] = [0] * n
        stays = list(free)
        bounded = [k for k in range(n) if low[k] is not None]
        for k in bounded:
            crossed = where(d[k] < low[k], low[k], where(d[k] > high[k], high[k], 0))
            held[k] = where(free[k], crossed, 0)
            stays[k] = free[k] & (d[k] >= low[k]) & (d[k] <= high[k])
        if bounded:
            stop = np.array(held)
            d = stop + solve_free(W, -g - W @ stop, stays)
            d = np.array([minimum(maximum(x, low[k]), high[k]) if k in bounded else x for k, x in enumerate(d)])
        return d, largest, -(g @ d) - (d @ (H @ d)) / 2

    def _moved(self, q: Array, d: Any, given: dict[str, Any]) -> Array:
        """The configuration (nq,) after a step, exactly within the bounds."""
        step = np.zeros(self.problem.system.nv, dtype=object)
        step[list(self.dofs)] = d
        moved = np.array(self.problem.system.integrate_row(q, step))
        for dof in self.dofs:
            if dof in self.problem.boxed:
                i = self.problem.boxed[dof]
                moved[i] = minimum(maximum(moved[i], given["lower"][i]), given["upper"][i])
        return np.array([moved[i] if i in self.moving else q[i] for i in range(len(q))])

    @cached_property
    def moving(self) -> tuple[int, ...]:
        """The places in q of joints that move."""
        places: list[int] = []
        v, dofs = 0, set(self.dofs)
        for joint, i in joint_slices(self.problem.system):
            if dofs & set(range(v, v + joint.nv)):
                places += range(i.start, i.stop)
            v += joint.nv
        return tuple(places)


_LARGEST = 1e30
PATH_DAMPING = 1e-3  # a pose of a path is near the one before
STATE = ("q", "damping", "y", "merit", "square", "gradient", "closed", "branch", "slow", "count", "status")


def make_recipe(iteration: Iteration, most: int) -> Recipe:
    """The recipe of up to ``most`` iterations of attempts that have not ended; its state are the arrays ``STATE``."""
    changing, shapes = iteration.changing, iteration.problem.shapes

    def step(stages: Stages, *arrays: Any) -> Any:
        given = dict(zip((*STATE, *shapes), arrays, strict=True))
        return _repeated(stages, iteration, {name: given[name] for name in STATE}, given, most)

    recipe = trace_stages(step, {name: changing[name] for name in STATE}, shapes, iteration.problem.dtype)
    return replace(recipe, recorded=())


def make_path_recipe(iteration: Iteration, most: int) -> Recipe:
    """The recipe of up to ``most`` iterations for each pose of a path, from the last solution; targets are series."""
    changing, shapes = iteration.changing, iteration.problem.shapes
    series = {name: shape for name, shape in shapes.items() if name.startswith("target")}
    constants = {name: shape for name, shape in shapes.items() if name not in series}

    def step(stages: Stages, *arrays: Any) -> Any:
        given = dict(zip((*STATE, *constants, *series), arrays, strict=True))
        # each pose keeps only q and the multipliers
        fresh = {name: np.zeros(changing[name]) if changing[name] else 0.0 for name in STATE}
        fresh |= {"q": given["q"], "y": given["y"], "damping": PATH_DAMPING}
        return _repeated(stages, iteration, fresh, given, most)

    state = {name: changing[name] for name in STATE}
    return trace_stages(step, state, constants, iteration.problem.dtype, series)


def _repeated(stages: Stages, iteration: Iteration, state: dict[str, Any], given: dict[str, Any], most: int) -> Any:
    """The state after up to ``most`` iterations."""
    changing, shapes = iteration.changing, iteration.problem.shapes
    start: dict[str, Any] = {name: np.zeros(shape) if shape else 0.0 for name, shape in changing.items()}
    start |= state | {"trial": state["q"], "merit": np.inf, "expected": 1.0, "growth": 2.0}
    if isinstance(state["status"], Expr):  # attempts that have ended stay as they are
        ended = state["status"] > 0.5
        start |= {"merit": where(ended, state["merit"], np.inf), "ended": where(ended, 1, 0)}
    results = stages(iteration.program, *start.values(), *(given[name] for name in shapes), most=most)
    after = dict(zip(changing, results, strict=True))
    return tuple(after[name] for name in STATE)
