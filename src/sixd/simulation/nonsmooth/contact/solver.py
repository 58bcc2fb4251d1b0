"""Impulses that obey the laws of all points and joint rows: Newton's method on the laws, with loops over the points.

With impulses x the points have the velocities u = b + P U z, where z = Uᵀ Pᵀ x collects impulses (J W Jᵀ = U Uᵀ of the
frames' rows) and P (3, 6) is the map of a point from its frame. An iteration linearizes the laws, x = r - D u:

    (M + Jᵀ K J) dw = Jᵀ (f - F),     K = Σ Pᵀ D P,  f = Σ Pᵀ (r - D u),  F = Σ Pᵀ x     (over the points of a frame)

All points of a frame fold into one matrix K (6, 6): the cost is a loop over the points, and one linear system
(``linear_system.py``). The velocities u are those by the impulses x, computed anew in each iteration: changes that are
added up would keep what rounding leaves. D stays unsymmetric: symmetric, it takes three times as many iterations, and
7 % of the problems of a go2 stay unsolved.

The first iteration takes the modes of the impulses that it is given, those of the last step: a point without one is
open, one on the edge of its cone slips. By the velocities that these impulses leave, points that the ground has just
reached would stick next to others of the same body, and throw it off. Most problems are solved by a few stiff
iterations (``_phases``). The others begin again without impulses, with laws that are at first softer than the response
itself, and impulses that are moved into their cones: solutions of laws that soften less and less follow each other.
From the last iterates instead, twenty times as many problems of a go2 that falls would not be solved. No best iterates,
no patience.

The displacement onto the ground is a problem of the same kind, with heights for velocities and μ = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache, cached_property, partial, reduce
from typing import Any, NamedTuple

import numpy as np

from sixd.simulation.nonsmooth.contact.derivatives import constant_solution, smooth_solution
from sixd.simulation.nonsmooth.contact.ground_points import GroundPoints
from sixd.simulation.nonsmooth.contact.laws import (
    in_cone,
    linear_point,
    linear_row,
    point_residual,
    row_impulse,
    times,
)
from sixd.simulation.nonsmooth.contact.linear_system import LinearSystem
from sixd.simulation.nonsmooth.contact.sparse_rows import SparseRows
from sixd.spatial.rotation import skew
from sixd.spatial.scalar import Array, Scalar, absolute, exp, maximum, minimum, where
from sixd.spatial.transform import blocks, force_at_point
from sixd.trace.program import Program, trace
from sixd.trace.recipe import Recipe
from sixd.trace.stages import Into, Rows, Stages

Shapes = dict[str, tuple[int, ...]]

FAR = 1e9  # m/s: added to the normal velocity of points that do not take part
_FEW = 8  # iterations, before a problem is begun again
_SOLVED = 1e6  # count of iterations of a problem that is solved
# part of γ by which laws that fix a velocity are softened. One iteration solves the problem of a robot that stands,
# with 1e-6 two. Rounding leaves the part _ROUNDING of what an iteration changes velocities by
_STIFF = {"float64": 1e-8, "float32": 1e-3}
_ROUNDING = {name: float(np.finfo(name).eps) / soft for name, soft in _STIFF.items()}
STIFF_JOINTS = 1e-4  # of joint rows, whose impulses and those of the points are often redundant
_SOFTER = 1e-3


class _Ramp(NamedTuple):
    """Iterations of a problem that the first ones leave: ``number`` of them soften from ``first`` down to ``least``,
    joint rows by ``joints`` at least; ``hard`` stiff ones, and ``gentle`` ones that soften by ``_LAST`` follow. They
    ``begin`` without impulses, or go on with those of the ramp before. ``project``: impulses are moved into their
    cones, except in hard iterations."""

    first: float
    number: int
    least: float
    joints: float
    hard: int = 0
    gentle: int = 0
    begin: bool = True
    project: bool = True


# the last four follow the path of softened solutions slowly, at first with joint rows that are softer than points, and
# go on from each other's impulses. A go2 with limits and dry friction that falls and comes to rest, μ from 0 to 1.5: of
# 480,000 steps of 1 ms they leave 6 problems unsolved, the first three 135; of 96,000 of 5 ms 2 instead of 42. Impulses
# that are moved into their cones leave the path: of 50 such problems one ramp of 200 iterations solves 30 without this,
# 20 with it. Friction is that of the velocity at the end of a step alone: by the paths of points that reverse it may
# add energy, and mechanisms that jam would have solutions with a thousand times the speed
_RAMPS = (
    _Ramp(30, 16, 1e-4, 1e-4, hard=4),
    _Ramp(30, 40, 1e-4, 1e-4, gentle=24),
    _Ramp(30, 100, 1e-3, 1e-4, hard=4, gentle=24),
    _Ramp(30, 60, 1e-7, 1e-2, project=False),
    _Ramp(1, 60, 1e-7, 1e-2, begin=False, project=False),
    _Ramp(1, 60, 1e-7, 1e-4, begin=False, project=False),
    _Ramp(1, 60, 1e-7, 1e-4, begin=False, project=False),
)
_LAST = 1e-5
_LONGEST = 128
_BEGIN = [number for number, ramp in enumerate(_RAMPS) if ramp.begin]
# m/s: by which velocities may contradict the laws, until the last of the first iterations and from then on; of joint
# rows [rad/s] the part _COARSER counts
_TOLERANCES = {"float64": (1e-10, 1e-8), "float32": (2e-5, 5e-5)}
_COARSER = 0.01
# m/s: instead of the last where velocities are predicted. Those of redundant points contradict each other by what the
# prediction neglects (1e-7 m/s for a go2 that lies on trunk, knees and feet); the end of the step has its own problem
_PREDICTED = {"float64": 1e-6, "float32": 1e-4}
_SLIPS = 0.1  # of its friction: how close to the edge of its cone an impulse was that of a point that slips


class ContactSolver:
    """The solver of the points of some frames, and m joint rows, as calls within a recipe."""

    def __init__(
        self, rows: SparseRows, points: GroundPoints, system: LinearSystem, size: int, m: int, dtype: str
    ) -> None:
        """``size`` is the number of entries of the linear system, 0 if they are those of U."""
        self.rows, self.points, self.system, self.m, self.dtype = rows, points, system, m, dtype
        self.size = size or rows.size
        self.k, self.frames = len(points), len(points.frames)
        self.axes = points.axes
        self._define_programs()

    def _define_programs(self) -> None:
        rows, m, k, dtype = self.rows, self.m, self.k, self.dtype
        width = self.points.width
        vectors: Shapes = {"x": (3,), "b": (3,), "V": (width,), "r": (3,)}
        axes: Shapes = {} if self.axes is not None else {"axes": (3, 3)}
        law: Shapes = {"mu": (), "slide": (3,), "pressed": (), "part": (), **axes}
        phase: Shapes = {"gamma": (), "per": (), "stiff": (), "first": ()}
        self.fold = trace(self._fold, {**vectors, **law, **phase}, dtype)
        known: Shapes = {"u": (3,), "r": (3,), "rest": (3,), "D": (6,), "dV": (width,)}
        self.move = trace(self._move, {**known, **law, "gamma": ()}, dtype)
        self.phase = trace(_phases(dtype), {"count": (), "ramp": (), "gamma": ()}, dtype)
        self.cone = trace(self._in_cone, {"x": (3,), "mu": (), "slide": (3,), "pressed": ()}, dtype)
        size, n = (rows.size,), (m,)
        folded: Shapes = {"K": (self.frames, width, width), "f": (self.frames, width)}
        joints: Shapes = {"y": n, "w": n, "bounds": (4 * m,)}
        shapes: Shapes = {"A": (self.size,), **folded, "F": folded["f"], "soft": (), **joints, "B": n}
        self.linear = trace(self._linear, shapes, dtype)
        sums: Shapes = {"share": (self.frames,), "first": (self.frames, 3), "second": (self.frames, 3, 3)}
        self.response = trace(self._response, {"U": size, **sums}, dtype)
        self.wrench = trace(self._wrench, {"x": (3,), "r": (3,), **axes}, dtype)
        begun: Shapes = {"U": size, "f": folded["f"], "y": n, "c": n}
        self.velocities = trace(self._velocities, begun, dtype)
        done: Shapes = {"U": size, "f": folded["f"], "x": (3 * k,), "y": n, "b": (3 * k,), "c": n, "solved": ()}
        self.finish = trace(self._finish, done, dtype)

    def gamma(self, stages: Stages, U: Array, arms: Array, parts: Array) -> Any:
        """Return γ, the mean response of the points whose ``parts`` (k,) are 1; of all points if none is."""

        def moments(_: Array, part: Scalar, r: Array) -> tuple[Any, ...]:
            part = part + 1e-9
            return part, r * part, np.outer(r, r) * part

        return stages(self.response, U, *self.points.over(stages, moments, [parts], [arms], into="+++"))

    def __call__(
        self, stages: Stages, known: tuple[Array, Array, Array], gamma: Scalar, b: Array, x: Array, slide: Array,
        bounds: Any, mu: Array, when: Scalar, *, pressed: Any = None, cold: bool = False, predicts: bool = False,
    ) -> tuple[Array, Array, Any]:  # fmt: skip
        """Return impulses (n,), z (nv,), and 1 if they obey the laws; from a guess x (n,), whose modes are taken first
        unless it is ``cold``. Where ``when`` is 0, x and z are zeros. ``known`` are the entries of U and of the linear
        system, and the arms (k, 3).

        b (n,) are the velocities without impulses, slide (3k,) the c and c s of the points, bounds (4m,) the graphs of
        joint rows, mu (k,) coefficients of friction. ``pressed`` (k,): heights instead of velocities; 1 for points
        that end on the ground. ``predicts``: b are predicted.
        """
        k, points, joint = self.k, range(self.k), slice(3 * self.k, None)
        pressed = np.zeros(k) if pressed is None else pressed
        bounds = np.zeros(0) if bounds is None else bounds
        U, A, arms = known
        A = A if np.size(A) else U
        B = stages.part(self._joint_responses, U) if self.m else np.zeros(0)
        kept = stages.kept(U, A, arms, gamma, b, slide.reshape(k, 3), mu, pressed, bounds, B)
        U, A, arms, gamma, b, slide, mu, pressed, bounds, B = kept
        (parts,) = stages.kept(np.array([where(b[3 * i] < FAR / 2, 1, 0) for i in points]))
        rows = [Rows(y, points) for y in (arms, mu, slide, pressed, parts)]
        if self.axes is None:
            (axes,) = stages.kept(np.array([p.axes for p in self.points.points]))
            rows.append(Rows(axes, points))
        by_frame, each = [Into(self.frames, self.points.frame_of, True)], [Into(k, points)]
        frame_of, forces = self.points.frame_of, np.zeros((self.frames, self.points.width))

        def iteration(rows: list[Rows], ramp: Scalar, early: float, later: float) -> Callable[..., tuple[Any, ...]]:
            def once(x: Array, F: Array, y: Array, count: Scalar, _: Any) -> tuple[Any, ...]:
                soft, per, stiff, project, first, last = stages(self.phase, count, ramp, gamma)
                (x,) = stages.repeat(
                    lambda x: (stages.each(self.cone, Rows(x, points), *rows[1:4], into=each),), x, most=1,
                    when=project,
                )  # fmt: skip
                V, w = stages(self.velocities, U, F, y, b[joint])
                K, f, u, rest, D = stages.each(
                    self.fold, Rows(x, points), Rows(b[: 3 * k].reshape(k, 3), points), Rows(V, frame_of), *rows,
                    gamma, per, stiff, first * float(not cold),
                    into=[*by_frame, *by_frame, *each, *each, *each], when=parts,
                )  # fmt: skip
                dV, y, size = stages(self.linear, A, K, f, F, soft, y, w, bounds, B)
                x, F, sizes = stages.each(
                    self.move, Rows(u, points), rows[0], Rows(rest, points), Rows(D, points), Rows(dV, frame_of),
                    *rows[1:], gamma, into=[*each, *by_frame, *each], when=parts,
                )  # fmt: skip
                size = reduce(maximum, list(sizes), size)
                # a state that is not finite has no solution, and would go through all iterations of all ramps
                good = ~(size >= where(last > 0, later, early))
                ended = where(good, 1, where(ramp > 0, last, 0))
                return x, F, y, where(good, _SOLVED, count + 1), ended

            return once

        def again(x: Array, F: Array, y: Array, ramp: Scalar, done: Any) -> tuple[Any, ...]:
            goes_on = 1 - sum(where((ramp > k - 0.5) & (ramp < k + 0.5), 1, 0) for k in _BEGIN)
            x, F, y, count, _ = stages.repeat(
                iteration(plain, ramp + 1, later, later), x * goes_on, F * goes_on, y * goes_on, 0.0, 0.0,
                most=_LONGEST, when=1 - done,
            )  # fmt: skip
            return x, F, y, ramp + 1, where(count >= _SOLVED, 1, 0)

        early, later = _TOLERANCES[self.dtype]
        later = _PREDICTED[self.dtype] if predicts else later
        own = [] if self.axes is not None else [axes]
        (none,) = stages.kept(np.zeros((k, 3)))
        plain = [*rows[:2], Rows(none, points), *rows[3:]]
        guess, F = x[: 3 * k].reshape(k, 3), forces
        if not cold:
            F = stages.each(self.wrench, Rows(guess, points), rows[0], *rows[5:], into=by_frame)
        reads = [U, arms, gamma, b, slide, mu, pressed, bounds, parts, *own]
        once, most = iteration(rows, 0.0, early, later), min(_FEW, self.points.sweeps)
        start = guess, F, x[joint], 0.0, 0.0
        begins_again = self.points.sweeps > _FEW
        smooth = self._constant if begins_again else self._smooth
        *state, done = stages.repeat(once, *start, most=most, when=when, smooth=smooth, reads=reads)
        done = where(when > 0, done, 1)
        (failed,) = stages.kept(1 - done)
        (slide,) = stages.kept(slide * done)  # what begins again obeys Coulomb's law alone
        if begins_again:  # the derivatives of both loops are those of this one
            reads[4] = slide
            *state, done = stages.repeat(
                again, *state[:3], 0.0, done, most=len(_RAMPS), when=failed, smooth=self._smooth, reads=reads
            )
        x, _, y, _ = state
        # impulses leave their cones by rounding
        clean = stages.each(self.cone, Rows(x, points), rows[1], Rows(slide, points), rows[3], into=each)
        f = stages.each(self.wrench, Rows(clean, points), rows[0], *rows[5:], into=by_frame)
        x, z = stages(self.finish, U, f, clean.reshape(3 * k), y, b[: 3 * k], b[joint], done)
        return x, z, done

    @cached_property
    def _constant(self) -> Callable[[], Program]:
        return cache(partial(constant_solution, self))

    @cached_property
    def _smooth(self) -> Callable[[], Recipe]:
        return cache(partial(smooth_solution, self))

    # programs -----------------------------------------------------------------------------------------

    def _fold(
        self, x: Array, b: Array, V: Array, r: Array, mu: Scalar, slide: Array, pressed: Scalar, part: Scalar,
        *rest: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return K (6, 6) and f (6,) of a point, its velocity u (3,) with the impulses, r - D u (3,), and D (6,);
        zeros unless it takes part."""
        axes, (gamma, per, stiff, first) = self.axes_of(rest)
        u = b + self.points.velocity(axes, V, r)
        u = np.array([where(part > 0, a, 0) for a in u])
        along = [x[a] * gamma for a in (1, 2)]
        fast = u[1] * u[1] + u[2] * u[2] > along[0] * along[0] + along[1] * along[1]
        modes = [where(x[0] > 0, 0, 1), *(where(fast, u[a], along[a - 1] * -_SLIPS) for a in (1, 2))]
        seen = [where(first > 0, a, c) for a, c in zip(modes, u, strict=True)]
        seen[0] = where(part > 0, seen[0], 1)
        x = np.array([where(part > 0, a, 0) for a in x])
        law, D = linear_point(per, stiff, seen, x, mu, slide, pressed)
        left = np.array([a - c for a, c in zip(law, times(D, u), strict=True)])
        k, m1, m2, a, c, d = D
        if self.points.width == 3:
            return np.array([[k, 0, 0], [m1, a, c], [m2, c, d]], dtype=object), left, u, left, np.array(D)
        world = axes.T @ np.array([[k, 0, 0], [m1, a, c], [m2, c, d]], dtype=object) @ axes
        R = skew(r)
        E = R @ world
        return blocks(E @ R.T, E, world @ R.T, world), force_at_point(axes.T @ left, r), u, left, np.array(D)

    def axes_of(self, rest: Sequence[Any]) -> tuple[Array, Sequence[Any]]:
        """Return the axes of a point, and the other arguments; they are the first if points differ in them."""
        return (rest[0], rest[1:]) if self.axes is None else (self.axes, rest)

    def _move(
        self, u: Array, r: Array, left: Array, D: Array, dV: Array, mu: Scalar, slide: Array, pressed: Scalar,
        part: Scalar, *rest: Any,
    ) -> tuple[Any, ...]:  # fmt: skip
        """Return the impulse of a point after an iteration, the same on its frame, and by how much the impulse and
        its velocity contradict its law; zeros unless it takes part."""
        axes, (gamma,) = self.axes_of(rest)
        du = self.points.velocity(axes, dV, r)
        x, u = left - np.array(times(D, du)), u + du
        size = point_residual(gamma, u, x, mu, slide, pressed)
        size = reduce(maximum, [absolute(d) * _ROUNDING[self.dtype] for d in du], size)
        x = np.array([where(part > 0, y, 0) for y in x])
        return x, self.points.wrench(axes, x, r), where(part > 0, size, 0)

    def _linear(
        self, A: Array, K: Array, f: Array, F: Array, soft: Scalar, y: Array, w: Array, bounds: Array, B: Array
    ) -> tuple[Any, ...]:
        """Return the changes (frames, r) of the velocities of the frames, and of the joint rows the impulses (m,) and
        by how much they contradict their laws.

        F (frames, r) and y (m,) are the impulses so far, with which joint rows have the velocities w (m,), and B (m,)
        the rows' responses to their own impulses.
        """
        laws = [linear_row(B[i], w[i], y[i], bounds[4 * i : 4 * i + 4], soft) for i in range(self.m)]
        left = [one - D * w[i] for i, (one, D) in enumerate(laws)]
        dV, dw = self.system.changes(A, K, f - F, [a - c for a, c in zip(left, y, strict=True)], [D for _, D in laws])
        size: Any = 0
        x = [left[i] - D * dw[i] for i, (_, D) in enumerate(laws)]
        for i in range(self.m):
            target = row_impulse(B[i], w[i] + dw[i], x[i], bounds[4 * i : 4 * i + 4])
            size = maximum(size, absolute((target - x[i]) * B[i]) * _COARSER)
        return dV, np.array(x), size

    def _joint_responses(self, U: Array) -> Array:
        return self.rows.diagonal(U, self.points.size)

    def own_responses(self, U: Array) -> Array:
        """Return the responses (frames, r, r) of the frames to impulses on themselves."""
        rows, width = self.rows.rows(U), self.points.width
        frames = [rows[i : i + width] for i in range(0, self.points.size, width)]
        return np.array([[[sum(a[j] * d[j] for j in a) for d in own] for a in own] for own in frames])

    def _response(self, U: Array, share: Array, first: Array, second: Array) -> Any:
        """Return the mean over points that take part of a third of the trace of P U Uᵀ Pᵀ; 1 if none does. ``share``,
        ``first`` and ``second`` are the sums, by frame, of 1, of arms r and of r rᵀ over these points."""
        total: Any = 0
        for n, W in enumerate(self.own_responses(U)):
            total = total + W[-3:, -3:].trace() * share[n]
            if self.points.width == 6:  # of v + ω × r: tr(W_vv) - 2 tr([r] W_ωv) + tr([r] W_ωω [r]ᵀ)
                total = total - (skew(first[n]) @ W[:3, 3:]).trace() * 2
                total = total + W[:3, :3].trace() * second[n].trace() - (W[:3, :3] * second[n]).sum()
        count = sum(share)
        mean = total * (1 / 3) / where(count > 0, count, 1)
        return where(mean > 0, mean, 1)

    def _wrench(self, x: Array, r: Array, *rest: Any) -> Array:
        return self.points.wrench(self.axes_of([*rest, None])[0], x, r)

    def _velocities(self, U: Array, f: Array, y: Array, c: Array) -> tuple[Array, Array]:
        """Return the velocities of the frames (frames, r) and joint rows (m,) by impulses."""
        V = self.rows.velocities(U, self.rows.collected(U, np.concatenate([f.ravel(), y])))
        return V[: self.points.size].reshape(f.shape), c + V[self.points.size :]

    @staticmethod
    def _in_cone(x: Array, mu: Scalar, slide: Array, pressed: Scalar) -> Array:
        return np.array(in_cone(x, mu, slide, pressed))

    def _finish(
        self, U: Array, f: Array, x: Array, y: Array, b: Array, c: Array, solved: Scalar
    ) -> tuple[Array, Array]:
        """Return x (n,) and z (nv,). Of a problem that is not solved all impulses are reduced, so that they take as
        much kinetic energy, xᵀb + ½ ‖z‖², as they can: an iterate beyond the solution would add energy, and where
        friction is strong (Painlevé's paradox) without limit."""
        z = self.rows.collected(U, np.concatenate([f.ravel(), y]))
        square = z @ z
        part = minimum(maximum(-(x @ b + y @ c) / where(square > 0, square, 1), 0), 1)
        part = where(solved > 0, 1, part)
        return np.concatenate([x, y]) * part, z * part


def _phases(dtype: str) -> Callable[..., Any]:
    """Return the schedule: count, ramp, γ -> how soft joint rows are, 1/γ and 1/(γ soft), whether impulses are moved
    into their cones, whether modes are those of the impulses, and whether the iteration is the last.

    Ramp 0: 3 stiff iterations, 3 softer ones, 2 stiff. The others: see ``_RAMPS``.
    """
    stiff = _STIFF[dtype]

    def phase(count: Scalar, ramp: Scalar, gamma: Scalar) -> tuple[Any, ...]:
        softer = (count >= 3) & (count < 6)
        soft: Any = where(softer, max(_SOFTER, stiff), stiff)
        project, length = where(softer, 1, 0), _FEW  # type: Any, Any
        joints: Any = STIFF_JOINTS
        for number, own in enumerate(_RAMPS, 1):
            now, hard = (ramp > number - 0.5) & (ramp < number + 0.5), own.number + own.hard
            less = exp(count * (np.log(max(own.least, stiff) / own.first) / (own.number - 1))) * own.first
            rest = where(count < hard, stiff, max(_LAST, stiff))
            soft = where(now, where(count < own.number, less, rest), soft)
            gentle = where((count < own.number) | (count >= hard), 1, 0) if own.project else 0
            project, joints = where(now, gentle, project), where(now, own.joints, joints)
            length = where(now, hard + own.gentle, length)
        first, last = where((ramp < 0.5) & (count < 1), 1, 0), where(count + 1.5 > length, 1, 0)
        per = 1 / gamma
        return maximum(soft, joints), per, per / soft, project, first, last

    return phase
