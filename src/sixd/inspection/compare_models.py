"""``sixd.compare``: where two descriptions of a robot differ.

Two files of one robot may place the frames of its bodies differently, as a URDF and an MJCF file do. Differences are
therefore measured after an alignment: C_BA, the pose of a's frame of a body in b's frame of the same body. It assumes
that the named frames coincide, or those of the joints, or the bodies in the neutral configuration, whichever leads to
the fewest differences. With P the placement of a joint, S its motion subspace and I the inertia of its body, the
mechanisms agree if and only if D = P_b⁻¹ C_p P_a C⁻¹ = 1, X_BA S_a = S_b and I_a moved by C = I_b for every joint.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

import numpy as np

from sixd.api.dynamics import inverse_dynamics
from sixd.errors import ModelError, ScalarTypeError, look_up
from sixd.inspection.compare_shapes import collision_differences
from sixd.inspection.comparison import KINDS, Comparison, Difference
from sixd.model import Free, Mimic, Model, Spherical
from sixd.model.model import require_model
from sixd.model.parts import PER_V
from sixd.model.printing import describe_joint
from sixd.spatial import quaternion_from_rotation, quaternion_multiply, quaternion_to_rotation
from sixd.spatial.inertia import Inertia
from sixd.spatial.rotation import rotation_to_rpy, rotation_to_vector
from sixd.spatial.scalar import Array, ArrayLike
from sixd.spatial.transform import inverse_pose, transform_from_pose

_LEAST = 1e-12  # smaller differences are rounding errors, in any unit
_UNITS = {"lower": "limits", "upper": "limits", "effort_limit": "limits", "velocity_limit": "limits"}
_BETWEEN = "absent"


def compare(
    a: Model,
    b: Model,
    *,
    tol: float = 1e-9,
    dynamics_tol: float = 1e-9,
    states: int = 20,
    seed: int = 0,
    by: str = "name",
    ignore: Iterable[str] = (),
) -> Comparison:
    """Return the differences between two descriptions of a robot, part by part and in their dynamics.

    Parameters
    ----------
    a, b : models, such as a URDF and an MJCF file of the same robot.
    tol : tolerance of single quantities. Masses, inertias, limits and passive properties relative to the larger one;
        placements, axes and centres of mass in m and rad. Differences below 1e-12 never count.
    dynamics_tol : tolerance of joint forces, relative to the largest.
    states : number of random states, within a's limits and with velocities and accelerations within ±1, at which the
        joint forces of inverse dynamics are compared; 0 for no comparison.
    seed : of the random states.
    by : "name" matches joints by name, "order" the first joint with the first, whatever their names.
    ignore : kinds of differences to leave out: any of "joints", "names", "masses", "inertias", "placements", "limits",
        "passive", "frames", "collisions", "constraints", "gravity", "dynamics".

    Returns
    -------
    Comparison : prints as a table; ``.equal``, ``.differences``, ``.dynamics_error``, ``.to_dict()``.

    Body frames may be at different places on the bodies: only the places of joints, masses, named frames and collision
    shapes count. Of collision meshes in files only the kind is compared.
    Values of a are expressed in b's frames. The order of bodies does not matter.

    >>> import sixd
    >>> arm = sixd.zoo.panda_arm()
    >>> sixd.compare(arm, arm.with_gravity((0, 0, -1.62)), ignore=["dynamics"]).differences[0].kind
    'gravity'
    """
    for model in (a, b):
        require_model("compare", model)
        model.require_numeric("compare")
    _require_numbers(tol=tol, dynamics_tol=dynamics_tol)
    if isinstance(states, bool) or not isinstance(states, (int, np.integer)) or states < 0:
        raise ScalarTypeError(f"compare: states is {states!r}, expected a whole number of at least 0.")
    ignored = {ignore} if isinstance(ignore, str) else set(ignore)
    for kind in ignored:
        look_up("compare: ignore", "kind", kind, dict.fromkeys(KINDS))
    paired = _Pairs(a, b, _pairs(a, b, by), float(tol))
    differences = list(paired.differences())
    error = None
    if states and paired.same_joints and "dynamics" not in ignored:
        error, worst = paired.dynamics(int(states), seed)
        if not error <= dynamics_tol:
            differences.append(Difference("dynamics", worst, "inverse dynamics, relative", "", "", error))
    kept = sorted((d for d in differences if d.kind not in ignored), key=lambda d: KINDS.index(d.kind))
    return Comparison(a.name, b.name, tuple(kept), int(states) if "dynamics" not in ignored else 0, error)


def _require_numbers(**values: float) -> None:
    for name, value in values.items():
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 <= value < np.inf:
            raise ScalarTypeError(f"compare: {name} is {value!r}, expected a finite number of at least 0.")


def _pairs(a: Model, b: Model, by: str) -> dict[int, int]:
    """Return the bodies of b by those of a, the world included."""
    if by not in ("name", "order"):
        raise ModelError(f"compare: by is {by!r}, expected 'name' or 'order'.")
    if by == "order":
        return {i: i for i in range(min(a.nb, b.nb) + 1)}
    theirs = {name: j for j, name in enumerate(b.joint_names, start=1)}
    named = {i: theirs[name] for i, name in enumerate(a.joint_names, start=1) if name in theirs}
    return {0: 0, **named}


class _Pairs:
    """The bodies of two models, paired and aligned."""

    def __init__(self, a: Model, b: Model, pairs: dict[int, int], tol: float) -> None:
        self.a, self.b, self.pairs, self.tol = a, b, pairs, tol
        kinds = [type(a.joints[i]) is type(b.joints[j]) for i, j in pairs.items()]
        self.same_joints = all(kinds) and len(pairs) == a.nb + 1 == b.nb + 1
        self.frames: dict[tuple[int, int], list[str]] = {}  # names of frames that both have, by their bodies
        for name, frame in a.frames.items():
            if name in b.frames and not name.startswith("joint:"):
                self.frames.setdefault((frame.body, b.frames[name].body), []).append(name)
        self.aligned: dict[int, Array] = {0: np.eye(4)}  # C_BA by a's body
        for i, j in pairs.items():
            if i:
                self.aligned[i] = min(self._candidates(i, j), key=partial(self._count, i, j))

    # alignment ------------------------------------------------------------------------------------

    def _same_parent(self, i: int, j: int) -> bool:
        return self.pairs.get(self.a.parent[i]) == self.b.parent[j]

    def _candidates(self, i: int, j: int) -> Iterator[Array]:
        named_a, named_b = (m.frames[m.body_names[k - 1]].pose for m, k in ((self.a, i), (self.b, j)))
        yield named_b @ inverse_pose(named_a)
        yield np.eye(4)
        if self._same_parent(i, j):
            yield self._ahead(i, j)

    def _ahead(self, i: int, j: int) -> Array:
        """Return P_b⁻¹ C_p P_a: a's joint frame in b's."""
        C_p = self.aligned[self.a.parent[i]] if self._same_parent(i, j) else np.eye(4)
        return inverse_pose(self.b.placement[j]) @ C_p @ self.a.placement[i]

    def _count(self, i: int, j: int, C: Array) -> int:
        """Return how many things of a joint, its body and the frames on it differ for one alignment."""
        D = self._ahead(i, j) @ inverse_pose(C)
        S_a, S_b = self._subspaces(i, j, C)
        moved = np.abs(D - np.eye(4)).max(), np.abs(S_a - S_b).max(initial=0.0)
        pairs = [(C @ self.a.frames[n].pose, self.b.frames[n].pose) for n in self.frames.get((i, j), ())]
        moved += tuple(np.abs(mine - theirs).max() for mine, theirs in pairs)
        unequal = [*self._mass_distribution("", *self._inertias(i, j, C))]
        return len(unequal) + sum(size > max(self.tol, _LEAST) for size in moved)

    def _inertias(self, i: int, j: int, C: Array) -> tuple[Inertia, Inertia]:
        return Inertia.from_matrix(self.a.inertia[i]).moved(C), Inertia.from_matrix(self.b.inertia[j])

    def _subspaces(self, i: int, j: int, C: Array) -> tuple[Array, Array]:
        """Return X_BA S_a and S_b (6, nv) in a configuration in which no angle is special."""
        one, two = self.a.joints[i], self.b.joints[j]
        if type(one) is not type(two) or isinstance(one, Free):
            return np.zeros((6, 0)), np.zeros((6, 0))
        q = np.linspace(0.3, 0.7, one.nq)
        X_BA = transform_from_pose(inverse_pose(C))
        S_a, S_b = X_BA @ np.asarray(one.subspace(q), dtype=float), np.asarray(two.subspace(q), dtype=float)
        if isinstance(one, Spherical):  # its axes are those of the body's frame; what counts is the centre
            S_b = np.concatenate([S_a[:3], S_b[3:]])
        return S_a, S_b

    # differences ----------------------------------------------------------------------------------

    def differences(self) -> Iterator[Difference]:
        """Yield all that differs by more than the tolerance, but not the dynamics."""
        for one, two, first in ((self.a, self.pairs, True), (self.b, set(self.pairs.values()), False)):
            for k in one.bodies:
                if k not in two:
                    here = describe_joint(one.joints[k])
                    values = (here, _BETWEEN) if first else (_BETWEEN, here)
                    yield Difference("joints", one.joint_names[k - 1], "joint", *values)
        for i, j in self.pairs.items():
            where = self.a.joint_names[i - 1] if i else "world"
            yield from self._joint(where, i, j) if i else ()
            yield from self._inertia(where, i, j)
        yield from self._frames()
        parts = self.a, self.b, self.pairs, self.aligned, self.tol
        yield from collision_differences(*parts, self._values, self._pose)
        yield from self._constraints()
        yield from self._values("gravity", "world", "gravity [m/s²]", self.a.gravity, self.b.gravity)

    def _joint(self, where: str, i: int, j: int) -> Iterator[Difference]:
        a, b = self.a, self.b
        body_a, body_b = a.body_names[i - 1], b.body_names[j - 1]
        if a.joint_names[i - 1] != b.joint_names[j - 1]:
            yield Difference("names", where, "name of the joint", a.joint_names[i - 1], b.joint_names[j - 1])
        if body_a != body_b:
            yield Difference("names", where, "name of the body", body_a, body_b)
        if not self._same_parent(i, j):
            parents = [("world", *m.joint_names)[m.parent[k]] for m, k in ((a, i), (b, j))]
            yield Difference("joints", where, "carried by", parents[0], parents[1])
        if type(a.joints[i]) is not type(b.joints[j]):
            yield Difference("joints", where, "kind", describe_joint(a.joints[i]), describe_joint(b.joints[j]))
            return
        yield from self._placement(where, i, j)
        one, two = a.joint(a.joint_names[i - 1]), b.joint(b.joint_names[j - 1])
        springs = one.stiffness.any() or two.stiffness.any()
        for key in ("lower", "upper", *PER_V, *(["rest"] if springs else [])):
            kind = _UNITS.get(key, "passive")
            yield from self._values(kind, where, key.replace("_", " "), getattr(one, key), getattr(two, key))

    def _placement(self, where: str, i: int, j: int) -> Iterator[Difference]:
        C = self.aligned[i]
        if self._same_parent(i, j):
            mine = self.aligned[self.a.parent[i]] @ self.a.placement[i] @ inverse_pose(C)
            yield from self._pose("placements", where, "placement", mine, self.b.placement[j])
        S_a, S_b = self._subspaces(i, j, C)
        linear = not S_b[:3].any()
        for rows, what in ((slice(0, 3), "axis"), (slice(3, 6), "axis" if linear else "anchor of the axis [m]")):
            size = float(np.abs(S_a[rows] - S_b[rows]).max(initial=0.0))
            if size > max(self.tol, _LEAST):
                yield Difference("placements", where, what, S_a[rows].T, S_b[rows].T, size)

    def _pose(self, kind: str, where: str, what: str, mine: Array, theirs: Array) -> Iterator[Difference]:
        size = float(np.linalg.norm(mine[:3, 3] - theirs[:3, 3]))
        if size > max(self.tol, _LEAST):
            yield Difference(kind, where, f"{what} [m]", mine[:3, 3], theirs[:3, 3], size)
        angle = float(np.linalg.norm(np.asarray(rotation_to_vector(mine[:3, :3].T @ theirs[:3, :3]), dtype=float)))
        if angle > max(self.tol, _LEAST):
            rpy = rotation_to_rpy(mine[:3, :3]), rotation_to_rpy(theirs[:3, :3])
            yield Difference(kind, where, f"{what}, roll pitch yaw [rad]", *rpy, angle)

    def _inertia(self, where: str, i: int, j: int) -> Iterator[Difference]:
        mine, theirs = self._inertias(i, j, self.aligned[i])
        body = self.a.body_names[i - 1] if i else where
        yield from self._values("masses", body, "mass [kg]", mine.mass, theirs.mass)
        yield from self._mass_distribution(body, mine, theirs)

    def _mass_distribution(self, body: str, mine: Inertia, theirs: Inertia) -> Iterator[Difference]:
        if min(abs(mine.mass), abs(theirs.mass)) < _LEAST:  # no centre of mass
            parameters = mine.parameters[1:], theirs.parameters[1:]
            yield from self._values("inertias", body, "first moment, inertia about the origin", *parameters, whole=True)
            return
        size = float(np.linalg.norm(mine.com - theirs.com))
        if size > max(self.tol, _LEAST):
            yield Difference("inertias", body, "centre of mass [m]", mine.com, theirs.com, size)
        upper = np.triu_indices(3)
        rounding = 1e-13 * float(mine.mass * (mine.com @ mine.com))
        I_a, I_b = mine.about_com[upper], theirs.about_com[upper]
        yield from self._values("inertias", body, "Ixx Ixy Ixz Iyy Iyz Izz [kg m²]", I_a, I_b, rounding, whole=True)

    def _values(
        self, kind: str, where: str, what: str, x: ArrayLike, y: ArrayLike, rounding: float = 0.0, whole: bool = False
    ) -> Iterator[Difference]:
        """Yield the difference of two arrays, relative to each pair of entries or to the whole."""
        x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
        with np.errstate(invalid="ignore"):
            size = np.where(x == y, 0.0, np.abs(x - y))
            scale = np.maximum(np.abs(x), np.abs(y))
            scale = np.where(np.isfinite(scale), scale, 0.0)
        allowed = np.maximum(self.tol * (scale.max(initial=0.0) if whole else scale), _LEAST + rounding)
        if not (size <= allowed).all():
            shown = [z.item() if z.size == 1 else z for z in (x, y)]
            yield Difference(kind, where, what, shown[0], shown[1], float(size.max()))

    def _frames(self) -> Iterator[Difference]:
        a, b = (dict.fromkeys(n for n in m.frames if not n.startswith("joint:")) for m in (self.a, self.b))
        for name in [*a, *(name for name in b if name not in a)]:
            if name not in a or name not in b:
                values = ("frame", _BETWEEN) if name in a else (_BETWEEN, "frame")
                yield Difference("frames", name, "frame", *values)
                continue
            mine, theirs = self.a.frames[name], self.b.frames[name]
            bodies = [("world", *m.body_names)[f.body] for m, f in ((self.a, mine), (self.b, theirs))]
            if self.pairs.get(mine.body) == theirs.body:
                yield from self._pose("frames", name, "frame", self.aligned[mine.body] @ mine.pose, theirs.pose)
            elif bodies[0] != bodies[1]:
                yield Difference("frames", name, "is on body", bodies[0], bodies[1])

    def _constraints(self) -> Iterator[Difference]:
        mimics = [{c.joint: c for c in m.constraints if isinstance(c, Mimic)} for m in (self.a, self.b)]
        for joint in mimics[0].keys() & mimics[1].keys():
            one, two = mimics[0][joint], mimics[1][joint]
            if one.source != two.source:
                yield Difference("constraints", joint, "mimics", one.source, two.source)
            for key in ("multiplier", "offset"):
                values = (float(getattr(one, key)), float(getattr(two, key)))
                yield from self._values("constraints", joint, f"{key} of the mimic", *values)
        # others, and mimic joints of one model alone, by their labels
        labels = [
            Counter(c.label for c in m.constraints if not isinstance(c, Mimic) or c.joint not in other)
            for m, other in ((self.a, mimics[1]), (self.b, mimics[0]))
        ]
        for label in sorted(labels[0] | labels[1]):
            if labels[0][label] != labels[1][label]:
                yield Difference("constraints", label, "constraint", labels[0][label], labels[1][label])

    # dynamics -------------------------------------------------------------------------------------

    def dynamics(self, states: int, seed: int) -> tuple[float, str]:
        """Return the largest difference of joint forces, relative to the largest, and the joint where it is."""
        rng = np.random.default_rng(seed)
        q = self.a.random_configuration(rng, size=states)
        qd, qdd = rng.uniform(-1, 1, (2, states, self.a.nv))
        theirs = np.zeros((states, self.b.nq)), np.zeros((states, self.b.nv)), np.zeros((states, self.b.nv))
        maps = {i: self._map(i, j) for i, j in self.pairs.items() if i}
        for i, A in maps.items():
            j = self.pairs[i]
            theirs[0][:, self.b.iq[j]] = self._coordinates(i, j, q[:, self.a.iq[i]])
            for x, y in ((qd, theirs[1]), (qdd, theirs[2])):
                y[:, self.b.iv[j]] = x[:, self.a.iv[i]] @ A.T
        tau, other = inverse_dynamics(self.a, q, qd, qdd), inverse_dynamics(self.b, *theirs)
        back = np.zeros_like(tau)
        for i, A in maps.items():  # power is the same: tau_a = Aᵀ tau_b
            back[:, self.a.iv[i]] = other[:, self.b.iv[self.pairs[i]]] @ A
        size = np.abs(tau - back).max(axis=0, initial=0.0)
        largest = max(float(np.abs(tau).max(initial=0.0)), float(np.abs(back).max(initial=0.0)), 1e-300)
        worst = max(maps, key=lambda i: float(np.nan_to_num(size[self.a.iv[i]], nan=np.inf).max()), default=None)
        return float(size.max(initial=0.0)) / largest, "" if worst is None else self.a.joint_names[worst - 1]

    def _map(self, i: int, j: int) -> Array:
        """Return A (nv, nv) with qd_b = A qd_a: rotated axes for spherical and free joints."""
        X_BA = transform_from_pose(inverse_pose(self.aligned[i]))
        joint = self.a.joints[i]
        return X_BA if isinstance(joint, Free) else X_BA[:3, :3] if isinstance(joint, Spherical) else np.eye(joint.nv)

    def _coordinates(self, i: int, j: int, q: Array) -> Array:
        """Return b's coordinates (n, nq) of a joint that put its body where a's coordinates q put it."""
        if not self.a.joints[i].has_quaternion:
            return q
        before, after = self._ahead(i, j), inverse_pose(self.aligned[i])
        first, last = quaternion_from_rotation(before[:3, :3]), quaternion_from_rotation(after[:3, :3])
        quaternion = quaternion_multiply(first, quaternion_multiply(q[:, :4].T, last)).T
        if isinstance(self.a.joints[i], Spherical):
            return quaternion
        R = np.moveaxis(quaternion_to_rotation(q[:, :4].T), -1, 0)
        position = q[:, 4:] + R @ after[:3, 3]
        return np.hstack([quaternion, position @ before[:3, :3].T + before[:3, 3]])
