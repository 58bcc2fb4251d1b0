"""States on the command line: numbers separated by commas, or joints by name; and random states."""

from __future__ import annotations

import math

import numpy as np

from sixd.cli.output import count
from sixd.cli.usage import from_option, wrong_call
from sixd.model import Model
from sixd.model.manifold import require_unit_quaternions
from sixd.spatial.scalar import Array


def parse_state(model: Model, option: str, text: str, others: Array | None = None) -> Array:
    """Return ``--q`` (…, nq) or ``--qd`` (…, nv) from text: "0.1,0.2,90deg", or "elbow=0.5,wrist=90deg".

    Joints that are not named keep their values in ``others``, by default those of the file, or zero velocities.
    Several coordinates of one joint are separated by colons: "base=1:0:0:0:0:0:0.5".
    """
    of_q = option != "--qd"
    if others is None:
        others = model.initial_configuration() if of_q else np.zeros(model.nv)
    parts = _parts(text)
    if any("=" in p for p in parts):
        values = _by_name(model, option, parts, others)
    else:
        values = np.broadcast_to(_numbers(model, option, parts, of_q), others.shape).copy()
    if of_q:
        with from_option(option):
            require_unit_quaternions("", model, "the state", values)
    return values


def named_joints(text: str | None) -> list[str]:
    """Return the joints that a state names."""
    return [p.partition("=")[0].strip() for p in _parts(text or "") if "=" in p]


def _parts(text: str) -> list[str]:
    return [p.strip() for p in text.split(",") if p.strip()]


def _numbers(model: Model, option: str, parts: list[str], of_q: bool) -> Array:
    for part in parts:
        if ":" in part:
            joint = model.joint_names[0] if model.nb else "joint"
            raise wrong_call(
                f"{option} has {part!r}, expected numbers separated by commas. Colons separate the coordinates of one "
                f"joint, after its name: {option} {joint}={part}."
            )
    values = np.array([parse_number(option, p) for p in parts])
    size, letters = (model.nq, "nq") if of_q else (model.nv, "nv")
    if len(values) != size:
        raise wrong_call(
            f"{option} has {count(len(values), 'number')}, expected {size} ({letters} of {model.name!r}). "
            f"Or name joints: {option} {_example(model, of_q)}."
        )
    return values


def _example(model: Model, of_q: bool) -> str:
    """Return an example of a joint with a value, of one coordinate if there is such a joint."""
    sizes = {name: (model.q_slice(name) if of_q else model.v_slice(name)) for name in model.joint_names}
    if not sizes:
        return "joint=0.5"
    name = min(sizes, key=lambda n: sizes[n].stop - sizes[n].start)
    values = model.neutral()[sizes[name]] if of_q else np.zeros(sizes[name].stop - sizes[name].start)
    return f"{name}=0.5" if len(values) == 1 else f"{name}={':'.join(f'{x:g}' for x in values)}"


def _by_name(model: Model, option: str, parts: list[str], others: Array) -> Array:
    values, seen = others.copy(), set[str]()
    for part in parts:
        name, sign, text = (x.strip() for x in part.partition("="))
        if not sign:
            raise wrong_call(f"{option} has {part!r} among joints by name, expected joint={part}.")
        if name in seen:
            raise wrong_call(f"{option} has joint {name!r} twice, expected once.")
        seen.add(name)
        with from_option(option):
            slot = model.q_slice(name) if option != "--qd" else model.v_slice(name)
        numbers = [parse_number(option, x) for x in text.split(":")]
        size = slot.stop - slot.start
        if len(numbers) != size:
            raise wrong_call(
                f"{option} has {count(len(numbers), 'number')} for joint {name!r}, expected {size}"
                + (", separated by colons." if size > 1 or len(numbers) > 1 else ".")
            )
        values[..., slot] = numbers
    return values


def parse_number(option: str, text: str) -> float:
    """Return the number; with the suffix ``deg`` it is converted from degrees to radians."""
    word = text.strip()
    in_degrees = word.endswith("deg")
    try:
        value = float(word.removesuffix("deg"))
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise wrong_call(f"{option} has {text!r}, expected a number such as 0.5, -1e-3 or 90deg.")
    return math.radians(value) if in_degrees else value


# random states --------------------------------------------------------------------------------------


def random_states(model: Model, seed: int, size: int | None) -> tuple[Array, Array]:
    """Return q within the joint limits and normally distributed qd [rad/s, m/s], each (n,) or (size, n)."""
    rng = np.random.default_rng(seed)
    q = model.random_configuration(rng, size=1 if size is None else size)
    qd = rng.standard_normal((len(q), model.nv))
    return (q[0], qd[0]) if size is None else (q, qd)
