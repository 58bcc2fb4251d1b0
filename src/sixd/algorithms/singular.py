"""Configurations and joints that make the mass matrix singular, or too ill-conditioned to solve with.

Two measures. The first is a pivot D of the articulated-body algorithm over the composite inertia SᵀIcS: their ratio is
1 for a joint that moves alone, and 0 for one that moves nothing beyond what other joints move already. It finds the
joints that make M singular in every configuration. The second is the condition number of M in one configuration, each
DoF scaled by its usual inertia so that metres and radians, fingers and arms can be compared: errors of M⁻¹ grow
with it. A sum of reciprocal pivots is a cheap test for configurations where the condition may be large. Of mechanisms
with many DoF M is not formed: its extreme eigenvalues are estimated by products and solves with it, O(n) each.
"""

from __future__ import annotations

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import NamedTuple, TypeGuard

import numpy as np

from sixd.algorithms.aba import Articulated, articulated_inertias
from sixd.algorithms.constrained.dynamics import mass_metric
from sixd.algorithms.crba import composite_inertias, crba
from sixd.algorithms.kinematics import joint_transforms
from sixd.algorithms.linear.dense import factors_small
from sixd.algorithms.solve import solve_factored, times_columns
from sixd.model.memo import remember
from sixd.model.model import Model
from sixd.model.system import System
from sixd.spatial.scalar import Array, Scalar

_ROUNDING = 1e-13
# the largest condition of M at which results are returned: eps cond(M), by which they may be off, is 1e-2
LARGEST_CONDITION = {name: 1e-2 / float(np.finfo(name).eps) for name in ("float64", "float32")}
_TRIED = 4  # random configurations within limits, and as many without, for the sizes
_TRIED_OF_MANY = 2  # of trees with many DoF
# the condition is computed where the sum of reciprocal pivots, relative to usual ones, exceeds this: two nested
# singularities may give a condition that is the square, so it is at most the root of the largest condition allowed
_LARGE_SUM = 5e6
# but a sum that is ordinary for a mechanism is not large: in chains of 200 links it is 1e6, in chains of 1,000 2e8
_ORDINARY = 4.0
# factor by which the condition may exceed the sum, beyond its excess in random configurations
_MARGIN = 10.0
# DoF of a tree above which M is not formed. Of a chain of 200, forming it eight times took 0.7 s, longer than
# tracing forward dynamics; of 1,000, 20 s
_MANY = 100
# products with M and with its inverse, for an estimate of the condition: 0 to 9 % below it (robots, chains to 400)
_PRODUCTS = 8


class Usual(NamedTuple):
    """Properties of M over random configurations.

    ``size`` (n,) are its largest diagonal entries for the DoF that are solved for, ``sum`` is the largest sum of
    these over pivots, ``excess`` the largest ratio of its condition to that sum.
    """

    size: Array
    sum: float
    excess: float


# in every configuration ---------------------------------------------------------------------------


def vanishing_pivots(model: Model, q: Array, prescribed: AbstractSet[int] = frozenset()) -> list[int]:
    """Bodies whose joint has a pivot that vanishes to rounding at q (nq,), except the joints of ``prescribed``."""
    X, S = joint_transforms(model, q)
    Ic = composite_inertias(model, X)
    with np.errstate(all="ignore"):
        D = articulated_inertias(model, X, S, prescribed).D
    singular = []
    for i in model.bodies:
        if i in prescribed or not len(D[i]) or not np.isfinite(D[i]).all():
            continue
        # each DoF in its own scale, so that metres and radians can be compared
        size = np.sqrt(np.abs(np.diag(S[i].T @ Ic[i] @ S[i]) + model.armature[model.iv[i]]))
        if not size.all() or abs(np.linalg.eigvalsh(D[i] / np.outer(size, size))[0]) <= _ROUNDING:
            singular.append(i)
    return singular


def singular_joints(model: Model, prescribed: AbstractSet[int] = frozenset()) -> tuple[str, ...]:
    """Names of the joints whose pivot vanishes in every configuration (three random ones are tried).

    Joints of the bodies in ``prescribed`` have a prescribed motion and need no pivot. Symbolic models: none.
    """
    return remember(model, ("singular joints", frozenset(prescribed)), lambda: _singular_joints(model, prescribed))


def _singular_joints(model: Model, prescribed: AbstractSet[int]) -> tuple[str, ...]:
    if model.symbols:
        return ()
    rng = np.random.default_rng(0)
    singular = set(model.bodies)
    for _ in range(3):
        singular &= set(vanishing_pivots(model, anywhere(model, rng), prescribed))
    return tuple(model.joint_names[i - 1] for i in sorted(singular))


def anywhere(system: System, rng: np.random.Generator) -> Array:
    """A random configuration (nq,); for a tree, joint limits are ignored."""
    if not isinstance(system, Model):
        return np.asarray(system.random_configuration(rng), dtype=float)
    unlimited = [np.full(joint.nq, np.inf) for joint in system.joints[1:]]
    parts = [joint.random(rng, -x, x) for joint, x in zip(system.joints[1:], unlimited, strict=True)]
    return np.concatenate([np.zeros(0), *parts])


# of many DoF ---------------------------------------------------------------------------------


def is_large(system: System) -> TypeGuard[Model]:
    """Whether the system is a tree of so many DoF that its mass matrix is not formed."""
    return isinstance(system, Model) and system.nv > _MANY


class _Factors(NamedTuple):
    """M in one configuration: transforms, subspaces and articulated inertias of the bodies, and its diagonal, of the
    DoF that are solved for."""

    X: list[Array]
    S: list[Array]
    articulated: Articulated
    diagonal: Array


def _factors(model: Model, q: Array, prescribed: AbstractSet[int]) -> _Factors:
    X, S = joint_transforms(model, q)
    Ic = composite_inertias(model, X)
    parts = [np.diag(S[i].T @ (Ic[i] @ S[i])) for i in model.bodies]
    diagonal = np.concatenate([np.zeros(0), *parts]) + model.armature
    return _Factors(X, S, articulated_inertias(model, X, S, prescribed), diagonal[solved_dofs(model, prescribed)])


def estimated_condition(model: Model, q: Array, prescribed: AbstractSet[int], usual: Array) -> float:
    """:func:`condition` of M at q (nq,), restricted to the DoF that are solved for, without forming it."""
    if not np.isfinite(q).all():
        return np.nan
    with np.errstate(all="ignore"):
        return _estimate(model, _factors(model, q, prescribed), prescribed, usual)


def _estimate(model: Model, factors: _Factors, prescribed: AbstractSet[int], usual: Array) -> float:
    X, S, articulated, diagonal = factors
    free, size = solved_dofs(model, prescribed), np.sqrt(np.maximum(diagonal, usual))

    def spread(x: Array) -> Array:
        full = np.zeros((model.nv, 1))
        full[free, 0] = x
        return full

    def scaled_mass(x: Array) -> Array:
        return times_columns(model, X, S, spread(x / size))[free, 0] / size

    def scaled_inverse(x: Array) -> Array:
        return solve_factored(model, X, S, articulated, spread(x * size), prescribed)[free, 0] * size

    largest = [_largest_eigenvalue(f, len(free)) for f in (scaled_mass, scaled_inverse)]
    # NaN, from pivots that are 0, is not positive
    return largest[0] * largest[1] if all(x > 0 for x in largest) else np.inf


def _largest_eigenvalue(times: Callable[[Array], Array], n: int) -> float:
    """An estimate from below of the largest eigenvalue of a symmetric matrix (n, n), by Lanczos' method."""
    v = np.random.default_rng(0).standard_normal(n)
    basis, images = np.zeros((0, n)), np.zeros((0, n))
    for _ in range(min(n, _PRODUCTS)):
        basis = np.concatenate([basis, [v / np.linalg.norm(v)]])
        images = np.concatenate([images, [times(basis[-1])]])
        v = images[-1]
        for _ in range(2):  # a second time, since rounding leaves a part
            v = v - basis.T @ (basis @ v)
        if np.linalg.norm(v) <= 1e-12 * np.linalg.norm(images[-1]):
            break  # the space that v can reach is complete, as for many equal pendulums
    projected = basis @ images.T
    return float(np.linalg.eigvalsh(projected + projected.T)[-1] / 2) if np.isfinite(projected).all() else np.nan


# in one configuration -----------------------------------------------------------------------------


def reciprocal_pivots(system: System, q: Array, prescribed: AbstractSet[int] = frozenset()) -> list[Scalar]:
    """1/d of each DoF that is solved for, as the algorithms compute them.

    d is the inertia that a DoF has while the DoF that it carries move freely.
    """
    if not isinstance(system, Model):
        return list(mass_metric(system, q).weight)
    X, S = joint_transforms(system, q)
    return _reciprocals(system, articulated_inertias(system, X, S, prescribed), prescribed)


def _reciprocals(model: Model, articulated: Articulated, prescribed: AbstractSet[int]) -> list[Scalar]:
    return [r for i in model.bodies if i not in prescribed for r in factors_small(articulated.D[i])[1]]


def condition(M: Array, usual: Array) -> Array:
    """Condition numbers (...,) of M (..., n, n), infinite where M is not positive definite, NaN where it is not finite.

    Each DoF is scaled by its usual inertia (n,), or by its inertia in M if that is larger.
    """
    finite = np.asarray(np.isfinite(M).all(axis=(-2, -1)))
    size = np.sqrt(np.maximum(np.diagonal(M, axis1=-2, axis2=-1), usual))
    with np.errstate(all="ignore"):
        scaled = M / (size[..., :, None] * size[..., None, :])
        scaled = np.where(np.isfinite(scaled), scaled, 0.0)  # 0/0 for a DoF without inertia
        values = np.linalg.eigvalsh(scaled)
        ratio = values[..., -1] / values[..., 0] if M.shape[-1] else np.ones(finite.shape)
        positive = values[..., 0] > 0 if M.shape[-1] else finite
    return np.where(finite, np.where(positive, ratio, np.inf), np.nan)


def solved_dofs(system: System, prescribed: AbstractSet[int] = frozenset()) -> Array:
    """Indices (n,) of the DoF that are solved for: those of joints whose motion is not prescribed."""
    held = [k for i in prescribed for k in range(*system.v_slice(system.joint_names[i - 1]).indices(system.nv))]
    return np.setdiff1d(np.arange(system.nv), np.array(held, dtype=int))


def usual_sizes(system: System, prescribed: AbstractSet[int] = frozenset()) -> Usual:
    """The :class:`Usual` properties of M; computed once per system."""
    return remember(system, ("usual sizes", frozenset(prescribed)), lambda: _usual_sizes(system, prescribed))


@np.errstate(all="ignore")
def _usual_sizes(system: System, prescribed: AbstractSet[int]) -> Usual:
    rng, free = np.random.default_rng(0), solved_dofs(system, prescribed)
    tried = _TRIED_OF_MANY if is_large(system) else _TRIED
    configurations = [np.asarray(system.random_configuration(rng), dtype=float) for _ in range(tried)]
    configurations += [anywhere(system, rng) for _ in range(tried)]
    if is_large(system):
        states = [_factors(system, q, prescribed) for q in configurations]
        size = np.max([state.diagonal for state in states], axis=0, initial=0.0)
        pivots = np.array([_reciprocals(system, state.articulated, prescribed) for state in states])
        # within the limits and without, once each: an estimate needs more time than all the rest
        conditions = [_estimate(system, state, prescribed, size) for state in states[::tried]]
        return _usual(size, pivots, np.array(conditions), slice(None, None, tried))
    pivots = np.array([np.asarray(reciprocal_pivots(system, q, prescribed), dtype=float) for q in configurations])
    matrices = np.array([np.asarray(system.apply("mass_matrix", crba, q), dtype=float) for q in configurations])
    matrices = matrices[:, free[:, None], free]
    diagonals = np.diagonal(matrices, axis1=1, axis2=2)
    size = np.max(np.where(np.isfinite(diagonals), diagonals, 0.0), axis=0, initial=0.0)
    return _usual(size, pivots, condition(matrices, size), slice(None))


def _usual(size: Array, pivots: Array, conditions: Array, where: slice) -> Usual:
    """``conditions`` are those in the configurations ``where``."""
    sums = np.array([np.sum(size * row) for row in pivots])
    excess = conditions / np.abs(sums[where])
    largest = (float(np.max(x[np.isfinite(x)], initial=start)) for x, start in ((np.abs(sums), 0.0), (excess, 1.0)))
    return Usual(size, *largest)


def watch_weights(system: System, prescribed: AbstractSet[int], dtype: str) -> Array:
    """Weights (n,) for the reciprocal pivots: where their sum is below 1, ``condition`` is allowed in that dtype."""
    usual = usual_sizes(system, prescribed)
    large = max(_LARGE_SUM, _ORDINARY * usual.sum)
    return usual.size / min(large, LARGEST_CONDITION[dtype] / (_MARGIN * usual.excess))


def dependent_joints(system: System, q: Array, prescribed: AbstractSet[int], dtype: str) -> list[str]:
    """Names of the joints, or coordinates, that make M singular at q (nq,): those of small pivots, at least one."""
    free, size = solved_dofs(system, prescribed), usual_sizes(system, prescribed).size
    with np.errstate(all="ignore"):
        part = 1 / np.abs(np.asarray(reciprocal_pivots(system, q, prescribed), dtype=float) * size)
    part = np.where(np.isfinite(part), part, np.inf)  # pivots after one of 0 are not finite
    small = set(free[part <= max(float(part.min(initial=np.inf)), 1 / LARGEST_CONDITION[dtype])].tolist())
    ranges = {name: range(*system.v_slice(name).indices(system.nv)) for name in system.joint_names}
    return [name for name, dofs in ranges.items() if small & set(dofs)]
