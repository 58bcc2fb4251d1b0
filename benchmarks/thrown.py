"""``python -m benchmarks.thrown``: bodies and robots thrown onto rigid ground; a table of the worst values.

Each motion lasts 1 s. For each kind of body, method and step, ``--count`` motions are shared out among coefficients of
friction and restitution. Columns: how many motions diverged, and are left out, since the method itself gains three
times the initial energy; the depth of the deepest point at the end of any step; the largest energy gained in a
step, beyond what the method gains in a step without contact, as a part of the initial energy above the ground; and
unsolved problems of impulses a step.
"""

from __future__ import annotations

import argparse
import itertools
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

import sixd
from benchmarks.report import Report, progress
from benchmarks.robots import load

Array = Any

FRICTIONS, RESTITUTIONS = (0.0, 0.5, 1.0, 1.5), (0.0, 0.5, 1.0)
METHODS, STEPS = ("rk4", "euler", "implicit"), (1e-3, 5e-3)
_CHUNK = 100  # motions at a time: their records fill the memory
# times the initial energy: motions that have more diverged, as those of Euler's method do without contact, where a body
# turns by 0.2 rad in a step
_DIVERGED = 3
_DRY = 0.3  # N m: friction of the joints of robots
_SIDES = {"box on 4 corners": (0.2, 0.1, 0.1), "box": (0.2, 0.1, 0.1), "rod": (0.6, 0.05, 0.05)}
_SIDES |= {"plate": (0.5, 0.5, 0.03), "tetrahedron": (0.2, 0.2, 0.2)}
_SIGNS = np.array(list(itertools.product((-1, 1), repeat=3)))
_CORNERS = dict.fromkeys(_SIDES, _SIGNS) | {"box on 4 corners": _SIGNS[::2]}
_CORNERS["tetrahedron"] = np.array([[1, 1, 1], [1, -1, -1], [-1, 1, -1], [-1, -1, 1]]) * 0.75 / np.sqrt(3)
_ROBOTS = ("go2", "talos")
_KINDS = ("", " with limits", " with friction", " with both")
NAMES = (*_SIDES, *(robot + kind for robot in _ROBOTS for kind in _KINDS))


@dataclass(frozen=True, eq=False)
class Body:
    """A mechanism on a free joint, its points by frame, and whether its joints have rigid limits."""

    model: sixd.Model
    points: dict[str, Array]
    limits: bool = False


def body_of(name: str) -> Body:
    """Return one of the thrown bodies."""
    if name in _SIDES:
        builder = sixd.ModelBuilder("body")
        builder.add_body("body", "world", sixd.Free(), inertia=sixd.box(*_SIDES[name], mass=1.0))
        return Body(builder.build(), {"body": _CORNERS[name] * np.array(_SIDES[name]) / 2})
    robot, _, kind = name.partition(" with ")
    model = load(robot, True).model
    if kind in ("friction", "both"):
        joints = [joint for joint in model.joint_names if model.v_slice(joint).stop > 6]
        model = model.with_joints({joint: {"friction": _DRY} for joint in joints})
    return Body(model, _points(robot), kind in ("limits", "both"))


def _points(robot: str) -> dict[str, Array]:
    """Return the corners of a robot's trunk, its knees, feet and hands."""
    if robot == "go2":
        legs = ("FL", "FR", "RL", "RR")
        trunk = _SIGNS * np.array([0.19, 0.047, 0.057])
        return {"base": trunk} | {f"{leg}_{part}": [(0, 0, 0, 0.022)] for leg in legs for part in ("calf", "foot")}
    sole = [(x, y, -0.107) for x in (-0.1, 0.1) for y in (-0.06, 0.06)]
    sides = ("left", "right")
    points: dict[str, Array] = {"torso_2_link": _SIGNS * np.array([0.1, 0.15, 0.15]) + np.array([0, 0, 0.15])}
    points |= {f"leg_{side}_6_link": sole for side in sides}
    points |= {f"{part}_{side}_{n}_link": [(0, 0, 0, 0.05)] for side in sides for part, n in (("leg", 4), ("arm", 7))}
    return points | {"base_link": [(0, 0, -0.15, 0.05)], "head_2_link": [(0, 0, 0.1, 0.1)]}


def thrown(body: Body, count: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Return states whose lowest points are 0.5 to 1 m above the ground; 2 m/s and 5 rad/s standard deviation."""
    model = body.model
    q = np.tile(model.neutral(), (count, 1))
    q[:, :4] = rng.normal(size=(count, 4))
    q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
    if model.nq > 7:
        low, high = np.maximum(model.lower[7:], -np.pi), np.minimum(model.upper[7:], np.pi)
        q[:, 7:] = rng.uniform(low, high, (count, model.nq - 7))
    q[:, 6] -= heights(body, q).min(1) - rng.uniform(0.5, 1.0, count)
    qd = rng.normal(size=(count, model.nv)) * 5
    qd[:, 3:6] *= 0.4
    return q, qd


def heights(body: Body, q: Array) -> Array:
    """Return the heights (…, k) of the points."""
    rows = []
    for frame, points in body.points.items():
        T, own = np.asarray(sixd.pose(body.model, q, frame)), np.asarray(points, dtype=float)
        radius = own[:, 3] if own.shape[1] > 3 else 0
        rows.append(T[..., 2, 3, None] + T[..., 2, :3] @ own[:, :3].T - radius)
    return np.concatenate(rows, axis=-1)


@dataclass(frozen=True)
class Worst:
    """What the motions of a trial show at worst: columns of the table."""

    diverged: int
    depth: float
    gain: float
    unsolved: float

    def __or__(self, other: Worst) -> Worst:
        diverged, unsolved = self.diverged + other.diverged, self.unsolved + other.unsolved
        return Worst(diverged, max(self.depth, other.depth), max(self.gain, other.gain), unsolved)


def throw(
    body: Body, q: Array, qd: Array, friction: float, restitution: float, method: str, h: float, duration: float = 1.0
) -> Worst:
    """Return the worst values of motions, with the number of unsolved problems."""
    forces: list[Any] = [sixd.RigidGround(body.points, friction=friction, restitution=restitution)]
    forces += [sixd.RigidLimits()] if body.limits else []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.SimulationWarning)
        motion = sixd.simulate(body.model, q, qd, duration, forces=forces, method=method, dt=h)
    with np.errstate(all="ignore"):
        E = np.where(np.isfinite(motion.qd).all((1, 2)), energies(body, motion.q, motion.qd).max(1), np.inf)
    calm = energies(body, q, qd) * _DIVERGED > E
    if not calm.any():
        return Worst(len(q), 0.0, 0.0, 0.0)
    qs, qds = np.asarray(motion.q)[calm], np.asarray(motion.qd)[calm]
    depth = -min(0.0, float(heights(body, qs).min()))
    gain = float(gains(body, qs, qds, method, h).max())
    return Worst(int(np.sum(~calm)), depth, gain, float(np.sum(np.array(motion.facts["unsolved"])[calm])))


def energies(body: Body, q: Array, qd: Array) -> Array:
    """Return the kinetic and potential energies (…,) above the ground; infinite where states are not finite."""
    flat = [np.asarray(x).reshape(-1, x.shape[-1]) for x in (q, qd)]
    good = np.all([(np.abs(x) < 1e100).all(1) for x in flat], axis=0)
    E = np.full(len(good), np.inf)
    E[good] = np.sum(sixd.energy(body.model, *(x[good] for x in flat)), axis=0)
    return E.reshape(q.shape[:-1])


def gains(body: Body, q: Array, qd: Array, method: str, h: float) -> Array:
    """Return the energy (rows, steps) gained in each step as a part of the initial one, beyond what the method gains
    without contact: from the state before, or from that after the step, since an impact changes speeds within it; and
    with weight, or without, since the ground carries that."""
    E, forces = energies(body, q, qd), sixd.RigidLimits() if body.limits else ()
    flat = [x.reshape(-1, x.shape[-1]) for x in (q, qd)]
    own = np.zeros(E.shape)
    for model in (body.model, body.model.with_gravity((0, 0, 0))):
        falling = replace(body, model=model)
        ends = [x.reshape(*E.shape, -1) for x in sixd.step(model, flat[0], flat[1], h, method=method, forces=forces)]
        own = np.maximum(own, energies(falling, *ends) - energies(falling, q, qd))
    return (np.diff(E, axis=1) - np.maximum(own[:, :-1], own[:, 1:])) / E[:, :1]


def trial(
    name: str, method: str, h: float, count: int, frictions: Sequence[float], seed: int
) -> Iterator[tuple[float, float, Worst]]:
    """Yield the worst values for each friction and restitution, with unsolved problems a step."""
    body, rng = body_of(name), np.random.default_rng(seed)
    pairs = list(itertools.product(frictions, RESTITUTIONS))
    own = -(-count // len(pairs))
    for friction, restitution in pairs:
        result = Worst(0, 0.0, 0.0, 0.0)
        for first in range(0, own, _CHUNK):
            q, qd = thrown(body, min(_CHUNK, own - first), rng)
            result |= throw(body, q, qd, friction, restitution, method, h)
        steps = own * round(1 / h)
        yield friction, restitution, Worst(result.diverged, result.depth, result.gain, result.unsolved / steps)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=2000, help="motions of each body, method and step")
    parser.add_argument("--bodies", nargs="+", default=NAMES, choices=NAMES)
    parser.add_argument("--methods", nargs="+", default=METHODS, choices=METHODS)
    parser.add_argument("--steps", nargs="+", type=float, default=STEPS)
    parser.add_argument("--frictions", nargs="+", type=float, default=FRICTIONS)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = []
    for name, method, h in itertools.product(options.bodies, options.methods, options.steps):
        results = list(trial(name, method, h, options.count, options.frictions, options.seed))
        for label, chosen in (("0", [0.0]), ("> 0", [x for x in options.frictions if 0 < x < 1.5]), ("1.5", [1.5])):
            own = [worst for friction, _, worst in results if friction in chosen]
            if own:
                rows.append([name, method, f"{h * 1e3:g}", label, *_cells(own)])
                progress(" | ".join(rows[-1]))
    head = ["body", "method", "step [ms]", "friction", "diverged", "depth [m]", "energy gained", "unsolved a step"]
    Report().table(head, rows, left=2)


def _cells(own: Sequence[Worst]) -> list[str]:
    worst = [max(getattr(x, key) for x in own) for key in ("depth", "gain")]
    unsolved = np.mean([x.unsolved for x in own])
    return [f"{sum(x.diverged for x in own)}", *(f"{x:.0e}" for x in (*worst, unsolved))]


if __name__ == "__main__":
    main()
