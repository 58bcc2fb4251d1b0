"""The independent joints of a model, and the order in which the dependent ones are computed from them."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from sixd.errors import ModelError
from sixd.model.constraint import Explicit, Mimic
from sixd.model.joints import Joint
from sixd.model.model import Model
from sixd.spatial.scalar import Array, Scalar, is_number


class Independent:
    """The joints of a model that are not ``dependent``, in its order: names, joints, and their slices of q and qd."""

    def __init__(self, model: Model, dependent: set[str]) -> None:
        self.names = tuple(name for name in model.joint_names if name not in dependent)
        self.joints: list[Joint] = [model.joint(name).joint for name in self.names]
        self.iq, self.iv = _slices([j.nq for j in self.joints]), _slices([j.nv for j in self.joints])
        self.nq, self.nv = sum(j.nq for j in self.joints), sum(j.nv for j in self.joints)

    def each(self, function: Callable[[Joint, Array, Array], Array], q: Array, qd: Array) -> Array:
        """``function(joint, q_i, qd_i)`` of each joint with its parts of q and qd, concatenated."""
        every = zip(self.joints, self.iq, self.iv, strict=True)
        return np.concatenate([qd[:0], *(function(joint, q[i], qd[k]) for joint, i, k in every)])


def dependent_order(model: Model) -> tuple[Explicit, ...]:
    """The explicit constraints, each after those that determine the joints it depends on."""
    waiting = [c for c in model.constraints if isinstance(c, Explicit)]
    explicit: dict[str, Explicit] = {}
    for c in waiting:
        for joint in c.dependent:
            if joint in explicit:
                raise ModelError(
                    f"reduce: joint {joint!r} of {model.name!r} is made dependent twice, by "
                    f"{explicit[joint].label} and {c.label}, expected once. Leave one of them out."
                )
            explicit[joint] = c
    order: list[Explicit] = []
    while waiting:
        unknown = {j for c in waiting for j in c.dependent}
        ready = [c for c in waiting if not unknown & set(c.independent)]
        if not ready:
            names = ", ".join(c.label for c in waiting)
            raise ModelError(
                f"reduce: {names} of {model.name!r} depend on each other in a circle, expected some joint that is "
                f"independent. Leave one of them out."
            )
        order += ready
        waiting = [c for c in waiting if c not in ready]
    return tuple(order)


def narrowed_limits(model: Model, steps: tuple[Explicit, ...], space: Independent) -> tuple[Array, Array]:
    """Lower and upper limits (nq,) of the independent joints, narrowed by the limits of joints that mimic them."""
    own = {name: [model.lower[model.q_slice(name)], model.upper[model.q_slice(name)]] for name in model.joint_names}
    for c in reversed(steps):  # from the last followers to those they follow
        if not isinstance(c, Mimic) or not _known(c.multiplier, c.offset, *own[c.joint], *own[c.source]):
            continue
        if c.multiplier == 0:
            continue
        ends = sorted((x - c.offset) / c.multiplier for x in (own[c.joint][0][0], own[c.joint][1][0]))
        low, high = own[c.source]
        own[c.source] = [np.maximum(low, ends[0]), np.minimum(high, ends[1])]
    sides = [[own[name][k] for name in space.names] for k in (0, 1)]
    lower, upper = (np.concatenate([np.zeros(0), *side]) for side in sides)
    return lower, upper


def _known(*values: Scalar) -> bool:
    return all(is_number(x) for value in values for x in np.ravel(value))


def _slices(counts: list[int]) -> list[slice]:
    edges = np.concatenate([[0], np.cumsum(counts, dtype=int)]).astype(int).tolist()
    return [slice(a, b) for a, b in pairwise(edges)]
