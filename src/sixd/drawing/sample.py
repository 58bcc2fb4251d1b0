"""What is drawn: numbers for symbols, and a configuration that shows every joint bent a little."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import Any

import numpy as np

from sixd.algorithms.kinematics import body_poses
from sixd.api.constraints import assemble
from sixd.constraints.loop import Loop
from sixd.errors import ModelError, ScalarTypeError, ShapeError, SixdError
from sixd.geometry.sticks import mechanism_size
from sixd.model.joints import (
    parameters_of,
)
from sixd.model.model import Model
from sixd.model.parts import FILE
from sixd.runtime.arrays.registry import require_cpu
from sixd.spatial.inertia import first_moment
from sixd.spatial.rotation import quaternion_from_vector
from sixd.spatial.scalar import Array, is_number, symbols_in

_ANGLES = (0.6, 0.75, 0.5, -0.9, 0.7, -0.6)  # [rad] of successive hinges
_LENGTHS = (1.0, 0.85, 0.7)


def sample_values(model: Model, values: Mapping[Any, Any] | None) -> dict[Any, Any]:
    """Return a number for each symbol of the model: the user's, or one that suits its use.

    Lengths between joints are about 1, distances of centres of mass about half of that.
    """
    given = {str(k): v for k, v in (values or {}).items()}
    known = {str(s) for s in model.symbols}
    for name in given:
        if name not in known:
            raise ModelError(
                f"draw: values has {name!r}, which is not a symbol of model {model.name!r}. Its symbols: "
                f"{', '.join(sorted(known)) or 'none'}."
            )
    lengths = symbols_in([model.placement, *(f.pose for f in model.frames.values())])
    centres = symbols_in([_centre(model, i) for i in model.bodies]) - lengths
    weight = symbols_in([model.gravity])
    radii = symbols_in([parameters_of(j) for j in model.joints])
    masses = symbols_in([model.inertia[i][5:, 5:] for i in model.bodies]) - centres - lengths
    found, used = {}, 0
    for s in model.symbols:
        if str(s) in given:
            found[s] = given[str(s)]
        elif s in lengths:
            found[s], used = _LENGTHS[used % 3], used + 1
        else:
            found[s] = 0.5 if s in centres or s in radii else 9.81 if s in weight else 1.0 if s in masses else 0.05
    return found


def _centre(model: Model, i: int) -> Array:
    """The centre of mass (3,) as the model has it, symbols included; zero for a body without mass."""
    matrix = model.inertia[i]
    m, h = matrix[5, 5], first_moment(matrix)
    return (
        np.zeros(3)
        if is_number(m) and float(m) == 0
        else np.array([x if is_number(x) and x == 0 else x / m for x in h])
    )


def centre_label(model: Model, i: int) -> Array:
    """Return the centre of mass (3,) of body i for labels: numbers, or simplified expressions."""
    centre = _centre(model, i)
    if centre.dtype != object:
        return centre
    import sympy

    return np.array([x if is_number(x) else sympy.cancel(x) for x in centre], dtype=object)


def with_numbers(model: Model, values: Mapping[Any, Any] | None) -> Model:
    """Return the model with numbers for its symbols; ``values`` by symbol or name go before sample values."""
    if not isinstance(values, (Mapping, type(None))):
        raise ScalarTypeError(f"draw: values is {values!r}, expected a mapping such as {{'L1': 1.2}}.")
    table = sample_values(model, values)
    return model.substitute(table) if table else model


def read_configuration(model: Model, q: Any) -> tuple[Array, list[str] | None]:
    """Return q (nq,) as floats, and labels of the coordinates if q has symbols; q may be None."""
    if q is None:
        return bent(model), None
    require_cpu("draw", q=q)
    try:
        given = np.asarray(q, dtype=object)
    except ValueError:
        given = np.zeros((0, 0))
    if given.shape != (model.nq,):
        raise ShapeError(f"draw: q has shape {given.shape}, expected ({model.nq},) for {model.name!r}.")
    symbolic = [k for k, x in enumerate(given) if hasattr(x, "free_symbols") and not is_number(x)]
    numbers, labels = (bent(model), [str(x) for x in given]) if symbolic else (np.zeros(model.nq), None)
    for k, x in enumerate(given):
        if k in symbolic:
            continue
        try:
            numbers[k] = float(x)
        except (TypeError, ValueError):
            raise ScalarTypeError(f"draw: q[{k}] is {x!r}, expected a number or a symbol.") from None
    if not np.isfinite(numbers).all():
        raise ModelError(f"draw: q is {numbers.tolist()}, expected finite numbers.")
    return numbers, labels


def bent(model: Model) -> Array:
    """Return a configuration (nq,) that shows how the joints move, within limits, with loops closed if they can be."""
    q, hinges = model.neutral(), 0
    named = [own for name, own in model.configurations.items() if name != FILE or not np.array_equal(own, q)]
    if named:
        return named[0].copy()
    # a robot of many bodies is bent less, or drawn as its file has it
    much = 1.0 if model.nb <= 4 else 0.6 if model.nb <= 8 else 0.0
    size = _reach(model)
    for i in model.bodies:
        joint, own = model.joints[i], model.iq[i]
        if joint.symbol in ("hinge", "screw") and much:
            q[own] = _middle(model, i) + _fan(model, i, _ANGLES[hinges % len(_ANGLES)] * much)
            hinges += 1
        elif joint.symbol == "slide":
            q[own] = (1.1 if model.parent[i] else 0.7) * size * (much > 0)
        elif joint.symbol == "sleeve":
            q[own] = 0.7, 0.5 * size
        elif joint.symbol == "pinion":
            q[own] = -0.9
        elif joint.symbol == "plate":
            q[own] = 0.5, 1.3 * size, 0.9 * size
        elif joint.symbol == "ball":
            q[own] = quaternion_from_vector(np.array([0.3, 0.4, 0.2]))
        elif joint.symbol not in ("none", "hinge", "screw"):
            q[own] = 0.5 * (much > 0)
    q = np.clip(q, model.lower, model.upper)
    if model.constraints:
        return _closed(model, q)
    return _raised(model, q) if 4 < model.nb <= 8 and np.any(model.gravity) else q


def _raised(model: Model, q: Array) -> Array:
    """q of an arm with the signs of its first hinges changed so that it reaches upwards."""
    first = [model.iq[i].start for i in model.bodies if model.joints[i].symbol == "hinge"][:4]
    found = []
    for signs in itertools.product((1, -1), repeat=len(first)):
        other = q.copy()
        other[first] *= signs
        other = np.clip(other, model.lower, model.upper)
        poses = np.asarray(body_poses(model, other), dtype=float)
        found.append((float((poses[:, :3, 3] @ -model.gravity).sum()), other))
    return max(found, key=lambda pair: pair[0])[1]


def _fan(model: Model, i: int, angle: float) -> float:
    """The angle [rad] of a hinge: the prescribed one, or its part of a fan if several share a point of one body."""
    here = [k for k in model.tree.children(model.parent[i]) if np.allclose(model.placement[k], model.placement[i])]
    return angle if len(here) == 1 else ((len(here) - 1) / 2 - here.index(i)) * 0.9 + 0.15


def _middle(model: Model, i: int) -> float:
    """The middle of a hinge's range if that is far from 0, as for a robot's elbow; else 0."""
    low, high = float(model.lower[model.iq[i]][0]), float(model.upper[model.iq[i]][0])
    middle = (low + high) / 2 if np.isfinite([low, high]).all() else 0.0
    return middle if abs(middle) > 0.4 else 0.0


def _reach(model: Model) -> float:
    """A length [m] for slides and planar joints: the mechanism's, or that of a body alone."""
    poses = np.tile(np.eye(4), (model.nb + 1, 1, 1))
    for i in model.bodies:
        poses[i] = poses[model.parent[i]] @ np.asarray(model.placement[i], dtype=float)
    return mechanism_size(model, poses)


def _closed(model: Model, q: Array) -> Array:
    """The highest of some assembled configurations; q itself if the loops cannot be closed."""
    rng = np.random.default_rng(4)
    up = -np.asarray(model.gravity, dtype=float) if np.any(model.gravity) else np.array([0.0, 1.0, 0.0])
    found: list[tuple[float, Array]] = []
    for start in (q, model.neutral(), -q, *(model.random_configuration(rng) for _ in range(2))):
        try:
            there = np.asarray(assemble(model, start), dtype=float)
        except SixdError:
            continue
        height = float((np.asarray(body_poses(model, there), dtype=float)[:, :3, 3] @ up).sum())
        found.append((height, there))
        if model.nb > 8 or not any(isinstance(c, Loop) for c in model.constraints):
            break
    return max(found, key=lambda pair: pair[0])[1] if found else q
