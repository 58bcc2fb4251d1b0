"""States on the command line: numbers with commas between, or joints by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sixd.errors import ScalarTypeError, ShapeError
from sixd.model import Model
from sixd.spatial.scalar import Array


def parse_state(model: Model, option: str, text: str) -> Array:
    """``--q`` (nq,) or ``--qd`` (nv,): "0.1,0.2,90deg", or "elbow=0.5,wrist=90deg" with the others at rest.

    A joint of several coordinates takes them with colons between: "base=1:0:0:0:0:0:0.5".
    """
    of_q = option != "--qd"
    size = model.nq if of_q else model.nv
    parts = [p.strip() for p in text.split(",") if p.strip()]
    if any("=" in p for p in parts):
        return _by_name(model, option, parts, of_q)
    values = np.array([parse_number(option, p) for p in parts])
    if len(values) != size:
        letters = "nq" if of_q else "nv"
        raise ShapeError(
            f"simulate: {option} has {len(values)} numbers, expected {size} ({letters} of {model.name!r}). "
            f"Or name joints: {option} {model.joint_names[0] if model.nb else 'joint'}=0.5."
        )
    return values


def _by_name(model: Model, option: str, parts: list[str], of_q: bool) -> Array:
    values = model.neutral() if of_q else np.zeros(model.nv)
    for part in parts:
        name, _, text = part.partition("=")
        place = model.q_slice(name.strip()) if of_q else model.v_slice(name.strip())
        numbers = [parse_number(option, x) for x in text.split(":")]
        if len(numbers) != place.stop - place.start:
            raise ShapeError(
                f"simulate: {option} gives joint {name.strip()!r} {len(numbers)} numbers, expected "
                f"{place.stop - place.start}, with colons between."
            )
        values[place] = numbers
    return values


def parse_number(option: str, text: str) -> float:
    """A number; with ``deg`` after it an angle in degrees."""
    word = text.strip()
    turned = word.endswith("deg")
    try:
        value = float(word.removesuffix("deg"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ScalarTypeError(f"simulate: {option} has {text!r}, expected a number such as 0.5, -1e-3 or 90deg.")
    return math.radians(value) if turned else value


def random_states(model: Model, seed: int, rows: int | None) -> tuple[Array, Array]:
    """q within the joint limits and normal qd [rad/s, m/s], each (n,) or (rows, n)."""
    rng = np.random.default_rng(seed)
    many = range(1 if rows is None else rows)
    q = np.array([model.random_configuration(rng) for _ in many]).reshape(len(many), model.nq)
    qd: Any = rng.standard_normal((len(many), model.nv))
    return (q[0], qd[0]) if rows is None else (q, qd)
