"""``python -m benchmarks.exact_contact``: by how much solved problems contradict Coulomb's law, with 50 digits.

The problems are those of steps of thrown bodies, and of a go2 that lands or falls: of the velocity at the end of a step
("corrected"), of impacts ("impact"), and of impacts with restitution ("rebound"). From the state and the impulses of a
problem, which are floats, everything else is computed anew, with 50 digits, by other code: mass matrix, Jacobians,
velocities after the impulses, and the laws. Residuals are velocities [m/s]; impulses count by the mean response γ:

- normal: the complementarity of u_n ≥ 0 and x_n ≥ 0, |min(u_n, γ x_n)|. With restitution u_n is u_n + e u_n⁻.
- cone: γ (‖x_t‖ - μ x_n), if it is positive.
- dissipation: γ times the distance of friction from that of maximum dissipation, the projection of x_t - u_t/γ onto the
  disc of radius μ x_n. If the point slid along s at the beginning of the step, the disc has the centre -c μ x_n s and
  the radius (1 - c) μ x_n (docs/theory/contact.md).
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import mpmath
import numpy as np

import sixd
from benchmarks.contact_problems import CORRECTED, IMPACT, REBOUND, ContactProblem, ContactTrial
from benchmarks.exact_robot import DIGITS, ExactRobot, exact, size_of, solve
from benchmarks.report import Report
from benchmarks.sections.nonsmooth import _go2, _points
from benchmarks.thrown import Body, body_of, heights, thrown

Array = Any

CASES = ("box", "rod", "plate", "tetrahedron", "go2 on 4 points", "go2 on 16 points", "go2")
SURFACES = ((0.5, 0.0), (1.0, 0.0), (0.5, 0.5))  # friction, restitution
STEP = 1e-3
_SLIDES = 1e-3  # m/s: speeds from which on a point counts as sliding, and as landing
_STICKS = 1e-7
_ROWS = 6  # motions of a case


@dataclass(frozen=True)
class Residual:
    """Residuals [m/s] of a problem, and how many of its points land, slide, and stick."""

    kind: str
    normal: float
    cone: float
    dissipation: float
    lands: int
    slides: int
    sticks: int

    @property
    def largest(self) -> float:
        """The largest residual [m/s]."""
        return max(self.normal, self.cone, self.dissipation)


def residuals(case: str, friction: float, restitution: float, count: int, seed: int = 0) -> Iterator[Residual]:
    """Yield the residuals of the solved problems in about ``count`` steps with impulses, half of them with landings."""
    rng = np.random.default_rng(seed)
    body, q, qd, duration = _motions(case, rng)
    ground = sixd.RigidGround(body.points, friction=friction, restitution=restitution)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.SimulationWarning)
        motion = sixd.simulate(body.model, q, qd, duration, dt=STEP, forces=ground)
    trial, robot = ContactTrial(body.model, [ground]), ExactRobot(body.model, body.points)
    above = heights(body, motion.q[:, :-1]) > 1e-7
    pushes = motion.contacts()[0][2][:, 1:, :, 2] > 0
    lands = (above & pushes).any(-1)
    for chosen in (lands, pushes.any(-1) & ~lands):
        for row, step in rng.permutation(np.argwhere(chosen))[: -(-count // 2)]:
            state = (np.asarray(x)[row, step] for x in (motion.q, motion.qd, motion.internal))
            yield from _of_step(robot, trial.step(STEP, *state)[1])


def _motions(case: str, rng: np.random.Generator) -> tuple[Body, Array, Array, float]:
    """Return a mechanism, states (rows, …), and for how long it lands, slides and comes to rest."""
    if " on " not in case:
        body = body_of(case)
        return body, *thrown(body, _ROWS, rng), 0.9
    model, stance = _go2()
    body = Body(model, _points(int(case.split()[2])))
    q, qd = np.tile(stance, (_ROWS, 1)), 0.5 * rng.standard_normal((_ROWS, model.nv))
    q[:, 7:] += 0.1 * rng.standard_normal((_ROWS, model.nv - 6))
    q[:, 6] += 0.02 - heights(body, q).min(1)
    return body, q, qd, 0.25


def _of_step(robot: ExactRobot, problems: list[ContactProblem]) -> Iterator[Residual]:
    """Yield the residuals of the solved problems of a step, except those for predicted velocities and for heights."""
    with mpmath.workdps(DIGITS):
        v, before = exact(problems[0].v), problems[0].b
        for problem in problems:
            if problem.kind not in (CORRECTED, IMPACT, REBOUND):
                continue
            M, J = robot.at(problem.q)
            k = len(J)
            back = exact(np.zeros(k))
            if problem.kind == CORRECTED:
                held = exact(problem.guess[: 3 * k])
                v = exact(problem.v) + _change(M, J, exact(problem.x) - held)  # what impacts begin with
                u = J @ v
            else:
                u = J @ (v + _change(M, J, exact(problem.x)))
                if problem.kind == REBOUND:
                    back = exact((before - problem.b)[: 3 * k : 3])
                before = problem.b
            if problem.solved and (problem.x[: 3 * k : 3] > 0).any():
                yield _residual(problem, u, back, (J @ v)[:, 0])


def _change(M: Array, J: Array, x: Array) -> Array:
    return solve(M, J.reshape(-1, J.shape[-1]).T @ x)


def _residual(problem: ContactProblem, u: Array, back: Array, before: Array) -> Residual:
    gamma, x = mpmath.mpf(problem.gamma), exact(problem.x[: 3 * len(u)]).reshape(-1, 3)
    normal = cone = dissipation = mpmath.mpf(0)
    lands = slides = sticks = 0
    for i in np.flatnonzero(problem.parts):
        (c, *cs), mu, push, v = exact(problem.slide[i]), mpmath.mpf(problem.mu[i]), x[i, 1:], u[i, 1:]
        reach = mu * x[i, 0]
        normal = max(normal, abs(min(u[i, 0] - back[i], gamma * x[i, 0])))
        cone = max(cone, gamma * (size_of(push) - reach))
        off, radius = push + np.array(cs) * reach, (1 - c) * reach
        w = off - v / gamma
        size = size_of(w)
        dissipation = max(dissipation, gamma * size_of(off - (w * (radius / size) if size > radius else w)))
        if x[i, 0] > 0:
            lands += int(problem.kind != CORRECTED and before[i] < -_SLIDES)
            slides += int(size_of(v) > _SLIDES)
            sticks += int(size_of(v) < _STICKS)
    return Residual(problem.kind, float(normal), float(cone), float(dissipation), lands, slides, sticks)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=20, help="steps of each case, friction and restitution")
    parser.add_argument("--cases", nargs="+", default=CASES, choices=CASES)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = []
    for case in options.cases:
        found = [x for surface in SURFACES for x in residuals(case, *surface, options.count, options.seed)]
        for kind in (CORRECTED, IMPACT, REBOUND):
            own = [x for x in found if x.kind == kind]
            if own:
                counts = (f"{sum(getattr(x, name) for x in own)}" for name in ("lands", "slides", "sticks"))
                worst = (f"{max(getattr(x, name) for x in own):.0e}" for name in ("normal", "cone", "dissipation"))
                rows.append([case, kind, f"{len(own)}", *counts, *worst])
    head = ["mechanism", "problems", "", "points that land", "slide", "stick", "normal [m/s]", "cone", "dissipation"]
    Report().table(head, rows, left=2)


if __name__ == "__main__":
    main()
