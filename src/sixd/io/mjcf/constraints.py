"""The equalities of a compiled MuJoCo model as constraints.

MuJoCo's equalities are soft, springs with a time constant; here they hold exactly. ``mujoco`` is not imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sixd.constraints.functions import Coupling, Polynomial
from sixd.constraints.loop import Loop
from sixd.errors import ModelError
from sixd.io.files import unused_name
from sixd.io.mjcf.compiled import complete_names
from sixd.model import Constraint, Mimic, ModelBuilder
from sixd.model.parts import Finding
from sixd.spatial.rotation import quaternion_to_rotation
from sixd.spatial.scalar import Array
from sixd.spatial.transform import placement

if TYPE_CHECKING:
    from mujoco import MjModel

CONNECT, WELD, JOINT, TENDON = range(4)  # MuJoCo's mjtEq; larger numbers are for flexible bodies
_SITE = 6  # in MuJoCo's mjtObj


class Equalities:
    """Adds the equalities of a compiled model to a builder that has its bodies and sites."""

    def __init__(
        self, builder: ModelBuilder, compiled: MjModel, bodies: list[str], joints: list[str], sites: dict[int, str]
    ) -> None:
        self.builder, self.compiled = builder, compiled
        self.bodies, self.joints, self.sites = bodies, joints, sites
        self.names = complete_names(compiled, "eq", "equality")
        self.built = builder.build()  # says which bodies are merged

    def add(self, enabled: bool) -> None:
        """Add every active equality, unless all are disabled; notes count those left out."""
        c, counts = self.compiled, Counter[str]()
        for e in range(c.neq):
            if not enabled or not c.eq_active0[e]:
                counts["inactive"] += 1
            elif c.eq_type[e] > JOINT:
                counts["other"] += 1
            elif c.eq_type[e] != JOINT and self._body(e, 1) == self._body(e, 2):
                counts["idle"] += 1
            else:
                self._add_one(e, counts)
        self.builder.notes.extend(_notes(counts, self.builder.name))

    def _add_one(self, e: int, counts: Counter[str]) -> None:
        try:
            self.builder.add_constraint(self._relation(e) if self.compiled.eq_type[e] == JOINT else self._loop(e))
            counts["carried"] += 1
        except ModelError as error:
            self.builder.notes.append(Finding("not-carried", self.names[e], f"the equality is left out: {error}"))

    def _relation(self, e: int) -> Constraint:
        """Return q1 - ref1 = Σ polycoef[k] (q2 - ref2)^k; without a second joint q1 - ref1 = polycoef[0]."""
        c = self.compiled
        one, two = int(c.eq_obj1id[e]), int(c.eq_obj2id[e])
        shift, *factors = (float(x) for x in c.eq_data[e][:5])
        offset = float(c.qpos0[c.jnt_qposadr[one]]) + shift
        if two < 0:
            return Coupling(self.joints[one], (), Constant(offset))
        center = float(c.qpos0[c.jnt_qposadr[two]])
        if any(factors[1:]):
            return Coupling(self.joints[one], self.joints[two], Polynomial((offset, *factors), center))
        return Mimic(self.joints[one], self.joints[two], factors[0], offset - factors[0] * center)

    def _loop(self, e: int) -> Loop:
        """Return the loop of a "connect" or "weld", between two sites or between two new frames."""
        c = self.compiled
        data, weld = np.array(c.eq_data[e], dtype=float), c.eq_type[e] == WELD
        directions = "weld" if weld and data[10] else "point"  # with scale 0 it rotates freely
        if c.eq_objtype[e] == _SITE:
            return Loop(self._site(c.eq_obj1id[e]), self._site(c.eq_obj2id[e]), directions)
        # a weld has its anchors in the opposite order, and the pose of body 2 in body 1
        first, second = (data[3:6], data[:3]) if weld else (data[:3], data[3:6])
        R = quaternion_to_rotation(data[6:10]) if weld and data[6:10].any() else np.eye(3)
        frame_a = self._frame(f"{self.names[e]}:1", self.bodies[c.eq_obj1id[e]], placement(first, R=R))
        frame_b = self._frame(f"{self.names[e]}:2", self.bodies[c.eq_obj2id[e]], placement(second))
        return Loop(frame_a, frame_b, directions)

    def _site(self, s: int) -> str:
        c, s = self.compiled, int(s)
        if s not in self.sites:
            pose = placement(np.array(c.site_pos[s]), R=quaternion_to_rotation(c.site_quat[s]))
            self.sites[s] = self._frame(f"site{s}", self.bodies[c.site_bodyid[s]], pose)
        return self.sites[s]

    def _frame(self, name: str, body: str, pose: Array) -> str:
        name = unused_name(name, self.builder.frames)
        self.builder.add_frame(name, body, pose)
        return name

    def _body(self, e: int, end: int) -> int:
        """Return the index of the moving body at an end of the equality, 0 for the world."""
        c, k = self.compiled, int(getattr(self.compiled, f"eq_obj{end}id")[e])
        return self.built.frames[self.bodies[c.site_bodyid[k] if c.eq_objtype[e] == _SITE else k]].body


@dataclass(frozen=True)
class Constant:
    """A function for ``Coupling`` that does not depend on its argument."""

    value: float

    def __call__(self, y: Array) -> Array:
        return np.array([self.value])


def _notes(counts: Counter[str], model: str) -> Iterator[Finding]:
    quiet = {
        "carried": "equality constraints ({}) are soft in MuJoCo and exact here",
        "inactive": "equality constraints ({}) are not active and are left out",
        "idle": "equality constraints ({}) connect points of the same body and are left out",
    }
    yield from (
        Finding("equality", model, text.format(counts[key]), True) for key, text in quiet.items() if counts[key]
    )
    if counts["other"]:
        text = f"equality constraints of tendons or flexible bodies ({counts['other']}) are not supported"
        yield Finding("not-carried", model, f"{text}; the parts they connect move freely")
