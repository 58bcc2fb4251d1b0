"""Checks a joint's methods against each other: they must describe the same motion.

A user-defined joint with a wrong S or a missing S° would give wrong forces without an error; the builder therefore
checks every joint whose class is not built in.
"""

from __future__ import annotations

import numpy as np

from sixd.errors import ModelError
from sixd.model.joints.base import Joint
from sixd.spatial.dual import derivative
from sixd.spatial.scalar import Array, ArrayLike, Scalar, is_number, is_sympy
from sixd.spatial.transform import crm, inverse_transform, pose_from_transform, transform_from_pose

_STEP, _TOLERANCE = 1e-6, 1e-6  # central differences: truncation and rounding are both near 1e-10
_SLOPE = 1e-9  # of S: rounding of a constant S that is computed from q leaves 1e-16
_SAMPLES = 2  # configurations at which S is differentiated


def verify_joint(joint: Joint, *, name: str = "", samples: int = 3) -> None:
    """Raise ModelError if shapes, S, S°, integrate or neutral of ``joint`` contradict its transform."""
    who = f"joint {name or type(joint).__name__!r} ({type(joint).__name__})"
    for count in ("nq", "nv"):
        n = getattr(joint, count, None)
        if not isinstance(n, int) or n < 0:
            raise ModelError(f"{who}: {count} is {n}, expected a whole number. Write {count} = 1, say, in the class.")
    rng, unlimited = np.random.default_rng(0), np.full(joint.nq, np.inf)
    try:
        neutral = np.asarray(joint.neutral())
        _shape(who, "neutral()", neutral, (joint.nq,))
        with np.errstate(all="ignore"):
            for q in [*(joint.random(rng, -unlimited, unlimited) for _ in range(samples)), neutral]:
                _verify_at(who, joint, q, rng.standard_normal(joint.nv))
    except (TypeError, ValueError, IndexError, ZeroDivisionError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            f"{who}: its methods fail on floats: {error}. If nq and nv differ, define integrate, difference, neutral "
            f"and random; if a parameter is a symbol, make the class a frozen dataclass."
        ) from error


def _verify_at(who: str, joint: Joint, q: Array, qd: Array) -> None:
    for method in (joint.transform, joint.subspace):
        if not isinstance(method(q), np.ndarray):
            raise ModelError(f"{who}: {method.__name__}(q) is a {type(method(q)).__name__}, expected a NumPy array.")
    X, S = joint.transform(q), joint.subspace(q)
    _shape(who, "transform(q)", X, (6, 6))
    _shape(who, "subspace(q)", S, (6, joint.nv))
    _shape(who, "bias(q, qd)", joint.bias(q, qd), (6,))
    E, rigid = X[:3, :3], transform_from_pose(pose_from_transform(X))
    if not np.allclose(E @ E.T, np.eye(3), atol=1e-9) or not np.allclose(X, rigid, atol=1e-9):
        raise ModelError(
            f"{who}: transform(q) is not a Plücker transform at q = {np.round(q, 3).tolist()}; build it from rotx … "
            f"xlt (and define neutral() if zeros are not a configuration)."
        )
    ahead, behind = joint.integrate(q, _STEP * qd), joint.integrate(q, -_STEP * qd)
    _shape(who, "integrate(q, dq)", ahead, (joint.nq,))

    # dX/dt = -vJ× X
    rate = (joint.transform(ahead) - joint.transform(behind)) / (2 * _STEP)
    _compare(who, "subspace", "the derivative of transform", -crm(S @ qd), rate @ inverse_transform(X))
    rate = (joint.subspace(ahead) - joint.subspace(behind)) / (2 * _STEP)
    _compare(who, "bias", "S° qd (does S depend on q? define subspace_rate)", joint.bias(q, qd), rate @ qd)
    if type(joint).bias is Joint.bias or joint.nv == 1:  # else S° is not defined
        _compare(who, "subspace_rate", "the derivative of subspace", joint.subspace_rate(q, qd), rate)
    rate = (ahead - behind) / (2 * _STEP)
    _shape(who, "configuration_rate(q, qd)", joint.configuration_rate(q, qd), (joint.nq,))
    _compare(who, "configuration_rate", "the derivative of integrate", joint.configuration_rate(q, qd), rate)
    back = joint.difference(q, joint.integrate(q, 0.1 * qd))
    _compare(who, "difference", "the inverse of integrate", back, 0.1 * qd)


def has_constant_subspace(joint: Joint) -> bool:
    """Whether S does not depend on q; raise if it does, but the joint defines no rate of it."""
    if type(joint).subspace_rate is not Joint.subspace_rate or type(joint).bias is not Joint.bias:
        return False
    if type(joint).subspace.__module__.startswith("sixd."):
        return True
    rng, unlimited = np.random.default_rng(0), np.full(joint.nq, np.inf)
    for q in [joint.random(rng, -unlimited, unlimited) for _ in range(_SAMPLES)]:
        for d, e in enumerate(np.eye(joint.nv, dtype=int)):
            change = derivative(joint.subspace, q, joint.configuration_rate(q, e))[1]
            if any(_is_nonzero(x) for x in change.ravel()):
                raise ModelError(
                    f"{type(joint).__name__}: its S depends on q (it changes along DoF {d} at q = "
                    f"{np.round(q, 3).tolist()}), but it defines neither subspace_rate nor bias, so its rate would "
                    f"be assumed zero. Define subspace_rate(q, qd) -> (6, {joint.nv}), the derivative of subspace(q)."
                )
    return True


def _is_nonzero(x: Scalar) -> bool:
    """Whether a derivative is not zero, at some values of symbols; other scalars replace those of a verified joint."""
    if is_sympy(x):
        x = float(x.subs({symbol: 0.7 + 0.3 * k for k, symbol in enumerate(sorted(x.free_symbols, key=str))}))
    return is_number(x) and abs(x) > _SLOPE


def _shape(who: str, what: str, got: ArrayLike, expected: tuple[int, ...]) -> None:
    if np.shape(got) != expected:
        raise ModelError(f"{who}: {what} has shape {np.shape(got)}, expected {expected}.")


def _compare(who: str, what: str, against: str, got: np.ndarray, expected: np.ndarray) -> None:
    error = np.abs(got - expected).max(initial=0.0) / max(1.0, np.abs(expected).max(initial=0.0))
    if not error < _TOLERANCE:
        raise ModelError(f"{who}: {what} differs from {against} by {error:.1e} (relative). Fix the method.")
