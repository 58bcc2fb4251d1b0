"""Standard parameters that a real body can have, as near to measured base parameters as possible.

The pseudo-inertia P (4, 4) of every body is positive definite, and damping, friction and armature are not negative:

    minimize  ½ ‖R K θ - z‖² + ½ ‖(θ - θ₀) / (width · scale)‖²     subject to  P_i(θ) ≥ margin        ("lmi")
    minimize  ½ ‖R K θ - z‖² + weight Σ (tr P₀⁻¹ P - log det P)                                       ("log-det")

The prior θ₀ decides what the data do not determine. The first is a semidefinite program, for Clarabel; the second is
smooth and convex, for Newton's method: the divergence from P₀ keeps P positive definite and is independent of the
coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sixd.errors import MissingPackageError, SixdError
from sixd.identification.structure.columns import Columns
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import Array

METHODS = ("lmi", "log-det")
MARGIN = 1e-6  # smallest eigenvalue of P, in units of mass and size; a solver is exact to 1e-8
WIDTH = 10.0  # of the prior, in units of mass and size
WEIGHT = 1.0  # of the divergence, where ½ ‖…‖² is in units of the noise
_FLOOR = 1e-3  # smallest eigenvalue of P₀ in the divergence, in the same units
_NEWTON = 200  # most steps of Newton's method
_TOLERANCES = (1e-10, 1e-8, 1e-6)  # of Clarabel, one after the other
_LARGEST = 1e5  # norm of a column of H beyond which units are larger
_ROOT = np.sqrt(2.0)


# (10, 4, 4): the pseudo-inertia of each parameter
BASIS = np.array([Inertia.from_parameters(row).pseudo_inertia for row in np.eye(10)])


class ConicProblem(NamedTuple):
    """Scaled variables x = θ / scale: 10 for each of ``bodies`` bodies, then those of the joints.

    H, z : the data, ‖H x - z‖². prior : x₀. positive : numbers of the variables that must be positive.
    """

    H: Array
    z: Array
    prior: Array
    bodies: int
    positive: Array
    unit: float = 1.0  # of H and z, in units of the noise

    @property
    def width(self) -> float:
        """Width of the prior, in the same unit."""
        return WIDTH * self.unit

    def pseudo(self, x: Array) -> Array:
        """P (bodies, 4, 4)."""
        return np.einsum("bk,kij->bij", x[: 10 * self.bodies].reshape(self.bodies, 10), BASIS)

    def slack(self, x: Array) -> float:
        """The smallest eigenvalue of all P: more than 0 is realisable."""
        return float(np.linalg.eigvalsh(self.pseudo(x))[:, 0].min(initial=np.inf))


def body_scale(mass: float, length: float) -> Array:
    """(10,): units of the parameters of a body of that mass and size."""
    return mass * np.concatenate([[1.0], [length] * 3, [length**2] * 6])


def model_scale(columns: Columns) -> Array:
    """(p,): units of the standard parameters of a model: its mean mass, its size, and its friction or torque."""
    model, values = columns.model, columns.values
    masses = values[: 10 * model.nb].reshape(-1, 10)[:, 0]
    mass = float(masses.mean()) if masses.mean() > 0 else 1.0
    length = float(np.abs(model.placement[:, :3, 3]).max(initial=0.0)) / 2 or 0.2
    parts = [np.tile(body_scale(mass, length), model.nb)]
    for kind in columns.kinds:
        own = np.abs(values[columns.slice(kind)])
        usual = mass * length**2 if kind == "armature" else mass * length
        parts.append(np.where(own > 0, own, usual))
    return np.concatenate(parts)


def realisable(where: str, problem: ConicProblem, method: str) -> Array:
    """x of the realisable parameters nearest to the data."""
    # for data almost without noise, H in units of the noise is too large for a solver's tolerances: scale it down
    unit = max(float(np.linalg.norm(problem.H, axis=0).max()) / _LARGEST, 1.0)
    problem = problem._replace(H=problem.H / unit, z=problem.z / unit, unit=unit)
    if method == "log-det":
        try:
            return _inside(problem, _by_newton(problem))
        except np.linalg.LinAlgError:
            raise SixdError(
                f"{where}: Newton's method ended at parameters that no body can have, as for torques that are zero or "
                f"of the other sign. Check signs and units of the data; consistent=False returns the least squares."
            ) from None
    # without constraints first: often the solution is realisable
    rows = np.concatenate([problem.H, np.eye(len(problem.prior)) / problem.width])
    x = np.linalg.lstsq(rows, np.concatenate([problem.z, problem.prior / problem.width]), rcond=None)[0]
    if problem.slack(x) < MARGIN or (x[problem.positive] < 0).any():
        x = _by_clarabel(where, problem)
    return _inside(problem, x)


def _inside(problem: ConicProblem, x: Array) -> Array:
    """The point, moved towards the parameters of a ball until it is realisable: a solver may stop outside."""
    x = x.copy()
    x[problem.positive] = np.maximum(x[problem.positive], 0)
    if problem.slack(x) > MARGIN / 2:
        return x
    middle = x.copy()
    ball = Inertia(1.0, (0, 0, 0), [0.4] * 3).parameters
    middle[: 10 * problem.bodies] = np.tile(ball, problem.bodies)
    part = 1e-12
    while problem.slack((1 - part) * x + part * middle) <= MARGIN / 2:
        part *= 4
    return (1 - part) * x + part * middle


# semidefinite program ---------------------------------------------------------------------------


def _by_clarabel(where: str, problem: ConicProblem) -> Array:
    """Solve by Clarabel: minimize ½ ‖y‖² + ½ ‖(x - x₀)/width‖², y = H x - z, P(x) ≥ margin, x[positive] ≥ 0."""
    try:
        import clarabel
    except ImportError:
        raise MissingPackageError(
            f"{where}: the package clarabel is not installed, expected it for consistent=True. Run: pip install "
            f"clarabel, or use consistent='log-det'."
        ) from None
    from scipy import sparse

    n, k = len(problem.prior), len(problem.H)
    quadratic = np.concatenate([np.full(n, problem.width**-2), np.ones(k)])
    linear = np.concatenate([-problem.prior / problem.width**2, np.zeros(k)])
    blocks = [np.concatenate([problem.H, -np.eye(k)], axis=1)]
    right = [problem.z]
    cones: list[object] = [clarabel.ZeroConeT(k)]
    if len(problem.positive):
        chosen = np.zeros((len(problem.positive), n + k))
        chosen[np.arange(len(problem.positive)), problem.positive] = -1.0
        blocks.append(chosen)
        right.append(np.zeros(len(chosen)))
        cones.append(clarabel.NonnegativeConeT(len(chosen)))
    upper = np.triu_indices(4)
    order = np.lexsort(upper)  # the upper triangle by columns
    i, j = upper[0][order], upper[1][order]
    weights = np.where(i == j, 1.0, _ROOT)
    triangle = (BASIS[:, i, j] * weights).T  # (10, 10)
    for body in range(problem.bodies):
        block = np.zeros((10, n + k))
        block[:, 10 * body : 10 * body + 10] = -triangle
        blocks.append(block)
        right.append(-MARGIN * np.where(i == j, 1.0, 0.0))
        cones.append(clarabel.PSDTriangleConeT(4))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    data = (sparse.diags(quadratic, format="csc"), linear, sparse.csc_matrix(np.concatenate(blocks)))
    for tolerance in _TOLERANCES:
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        solution = clarabel.DefaultSolver(*data, np.concatenate(right), cones, settings).solve()
        if str(solution.status) in ("Solved", "AlmostSolved"):
            return np.array(solution.x)[:n]
    raise SixdError(
        f"{where}: Clarabel ended with {solution.status}, expected a solution. Check signs and units of the data, or "
        f"use consistent='log-det'."
    )


# Newton's method --------------------------------------------------------------------------------


def _by_newton(problem: ConicProblem) -> Array:
    """Newton's method with backtracking, from the prior; the objective is self-concordant."""
    n, nb, weight = len(problem.prior), problem.bodies, WEIGHT / problem.unit**2
    start = problem.prior.copy()
    values, vectors = np.linalg.eigh(problem.pseudo(start))
    floor = np.maximum(values, _FLOOR)
    P0 = np.einsum("bik,bk,bjk->bij", vectors, floor, vectors)
    inverse0 = np.einsum("bik,bk,bjk->bij", vectors, 1 / floor, vectors)
    start[: 10 * nb] = _parameters(P0).ravel()
    start[problem.positive] = np.maximum(start[problem.positive], _FLOOR)
    x0 = start[problem.positive]
    # offsets have the prior of the other method
    loose = np.eye(n)[np.setdiff1d(np.arange(10 * nb, n), problem.positive)] / problem.width
    H, z = np.concatenate([problem.H, loose]), np.concatenate([problem.z, loose @ problem.prior])
    gram = H.T @ H

    def value(x: Array) -> float:
        P, own = problem.pseudo(x), x[problem.positive]
        signs, logs = np.linalg.slogdet(P)
        if (signs <= 0).any() or (own <= 0).any() or not (np.linalg.eigvalsh(P)[:, 0] > 0).all():
            return np.inf
        divergence = np.einsum("bij,bij->", inverse0, P) - logs.sum()
        return float(((H @ x - z) ** 2).sum() / 2 + weight * (divergence + (own / x0 - np.log(own)).sum()))

    x = start
    for _ in range(_NEWTON):
        inverse = np.linalg.inv(problem.pseudo(x))
        gradient, hessian = H.T @ (H @ x - z), gram.copy()
        first = np.einsum("bij,kij->bk", inverse0 - inverse, BASIS)
        moved = np.einsum("bij,kjl->bkil", inverse, BASIS)
        second = np.einsum("bkil,bmli->bkm", moved, moved)
        gradient[: 10 * nb] += weight * first.ravel()
        for b in range(nb):
            own = slice(10 * b, 10 * b + 10)
            hessian[own, own] += weight * second[b]
        p = problem.positive
        gradient[p] += weight * (1 / x0 - 1 / x[p])
        hessian[p, p] += weight / x[p] ** 2
        step = np.linalg.solve(hessian, -gradient)
        decrease = -float(gradient @ step)
        length, here = 1.0, value(x)
        while value(x + length * step) > here - 1e-4 * length * decrease and length > 1e-12:
            length /= 2
        if length <= 1e-12:
            break
        x = x + length * step
        if decrease < 1e-9 * weight:
            break
    return x


def _parameters(P: Array) -> Array:
    """(b, 10): the parameters of pseudo-inertias (b, 4, 4)."""
    return np.array([Inertia.from_pseudo_inertia(x).parameters for x in P]).reshape(len(P), 10)
