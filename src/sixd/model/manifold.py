"""The configuration space of a model: the product of its joints' spaces."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sixd.errors import ScalarTypeError, SingularError, SixdError
from sixd.model.constraint import Constraint, with_followers
from sixd.model.joints import Joint
from sixd.model.memo import remember
from sixd.spatial.scalar import Array, exact, symbols_in

if TYPE_CHECKING:
    from sixd.model.model import Model
    from sixd.model.system import System

Seed = np.random.Generator | int | None


def random_configuration(
    joints: Iterable[tuple[Joint, slice]], lower: Array, upper: Array, rng: Seed, size: int | tuple[int, ...] | None
) -> Array:
    """Configurations (…, nq) of joints with their slices of q, drawn within limits (nq,); see ``draw_arguments``."""
    rng, shape = draw_arguments(rng, size)
    if symbols_in([lower, upper]):
        raise ScalarTypeError("random_configuration: the limits are symbolic, expected numbers. Use substitute.")
    limits = [(joint, lower[i].astype(float), upper[i].astype(float)) for joint, i in joints]
    if size is None:
        return np.concatenate([np.zeros(0), *(joint.random(rng, low, high) for joint, low, high in limits)])
    count = math.prod(shape)
    columns = [joint.random_rows(rng, low, high, count) for joint, low, high in limits]
    return np.concatenate([np.zeros((count, 0)), *columns], axis=1).reshape(*shape, len(lower))


def read_generator(
    what: str, seed: Seed, expected: str = "a whole number of at least 0, or a numpy.random.Generator"
) -> np.random.Generator:
    """The generator for a generator or seed; ``what`` is its name in the error, after the function's."""
    try:
        return np.random.default_rng(seed)
    except (TypeError, ValueError):
        raise ScalarTypeError(f"{what} is {seed!r}, expected {expected}.") from None


def draw_arguments(rng: Seed, size: int | tuple[int, ...] | None) -> tuple[np.random.Generator, tuple[int, ...]]:
    """The generator for a generator or seed, and the leading shape for a size: None, a number or a tuple of numbers."""
    expected = "a numpy.random.Generator or a seed (0, 1, 2 …)"
    generator = read_generator("random_configuration: rng", rng, expected)
    sizes = () if size is None else tuple(size) if isinstance(size, (tuple, list)) else (size,)
    whole = all(isinstance(n, (int, np.integer)) and not isinstance(n, bool) and n >= 0 for n in sizes)
    if not whole:
        raise ScalarTypeError(
            f"random_configuration: size is {size!r}, expected a whole number of at least 0, or a tuple of them."
        )
    return generator, tuple(map(int, sizes))


def named_configuration(
    joints: Mapping[str, Joint], values: Mapping[str, Array], constraints: Iterable[Constraint]
) -> Array:
    """The configuration (nq,) of these joints: coordinates by name, mimic joints following; the others are neutral."""
    values = with_followers(values, constraints)
    q = np.concatenate([np.zeros(0), *(values.get(name, joint.neutral()) for name, joint in joints.items())])
    return exact(q) if q.dtype == object else q


def integrate_row(model: Model, q: Array, dq: Array) -> Array:
    """The configuration (nq,) reached from q by dq (nv,)."""
    parts = [model.joints[i].integrate(q[model.iq[i]], dq[model.iv[i]]) for i in model.bodies]
    return np.concatenate([np.zeros(0), *parts])


def difference_row(model: Model, q0: Array, q1: Array) -> Array:
    """The dq (nv,) from q0 to q1 (nq,)."""
    parts = [model.joints[i].difference(q0[model.iq[i]], q1[model.iq[i]]) for i in model.bodies]
    return np.concatenate([np.zeros(0), *parts])


def rate_row(model: Model, q: Array, qd: Array) -> Array:
    """dq/dt (nq,) at q along qd (nv,)."""
    parts = [model.joints[i].configuration_rate(q[model.iq[i]], qd[model.iv[i]]) for i in model.bodies]
    return np.concatenate([np.zeros(0), *parts])


def coadjoint_row(model: Model, q: Array, qd: Array, p: Array) -> Array:
    """ad* of the momentum p along qd, each (nv,): joint by joint."""
    parts = [model.joints[i].coadjoint(q[model.iq[i]], qd[model.iv[i]], p[model.iv[i]]) for i in model.bodies]
    return np.concatenate([np.zeros(0, dtype=int), *parts])


# quaternions ------------------------------------------------------------------------------------

UNIT = 1e-3  # how far from 1 the length of a quaternion may be: rounded digits and drift pass


def require_unit_quaternions(where: str, system: System, name: str, q: Array) -> None:
    """Raise if a quaternion in configurations q (…, nq), the argument ``name``, is not of unit length.

    States that are not finite pass, and so do symbols.
    """
    if q.dtype == object:
        return
    for joint, entries in remember(system, "quaternions", lambda: _quaternions(system)):
        quaternion = q[..., entries].astype(float)
        with np.errstate(all="ignore"):
            length = np.sqrt(np.square(quaternion).sum(axis=-1))
            wrong = (np.abs(length - 1) > UNIT) & np.isfinite(quaternion).all(axis=-1)
        if wrong.any():
            at = np.unravel_index(int(np.argmax(wrong)), wrong.shape)
            raise _length_error(where, name, joint, float(length[at]), tuple(map(int, at)))


def _quaternions(system: Any) -> tuple[tuple[str, slice], ...]:
    """(joint, slice of its quaternion in q) of the spherical and free joints of a system."""
    tree = system
    while tree is not None and not hasattr(tree, "joint_index"):
        tree = getattr(tree, "model", None)
    names = [name for name in system.joint_names if tree is not None and name in tree.joint_names]
    turning = [name for name in names if tree.joints[tree.joint_index(name)].has_quaternion]
    return tuple((name, slice(system.q_slice(name).start, system.q_slice(name).start + 4)) for name in turning)


def _length_error(where: str, name: str, joint: str, length: float, at: tuple[int, ...]) -> SixdError:
    """The error for a quaternion of a wrong length in the state with the index ``at``."""
    state = f" of state {at[0] if len(at) == 1 else at}" if at else ""
    if not length:
        return SingularError(
            f"{where}: the quaternion of joint {joint!r} is zero in {name}{state}, expected length 1, in the order "
            f"w, x, y, z. Start from model.neutral(), not from zeros; states of other programs: sixd.interop."
        )
    return ScalarTypeError(
        f"{where}: the quaternion of joint {joint!r} has length {length:.5g} in {name}{state}, expected 1. Its order "
        f"is w, x, y, z, before a position: convert states of MuJoCo or Pinocchio by sixd.interop, or divide it by its "
        f"length."
    )


def nonfinite_error(model: Any, where: str, row: str, *arrays: Array) -> SingularError:
    """The error for a result that is not finite although its arguments are; ``row``: text such as " in state (3,)"."""
    for q in arrays:
        tree = hasattr(model, "joints") and len(q) == model.nq
        for i in model.bodies if tree else ():
            quaternion = q[model.iq[i]][:4] if model.joints[i].has_quaternion else np.ones(4)
            with np.errstate(all="ignore"):
                square = quaternion @ quaternion
            if not 1e-290 < square < np.inf:
                what = "zero" if not quaternion.any() else "far too small or large"
                return SingularError(
                    f"{where}: the quaternion of joint {model.joint_names[i - 1]!r} is {what}{row}, expected a length "
                    f"near 1. Start from model.neutral(), not from zeros."
                )
    return SingularError(f"{where}: the result is not finite{row}. Are the arguments so large that they overflow?")
