"""Models from Denavit-Hartenberg parameters, modified (Craig) or standard."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, unknown_name
from sixd.model import Fixed, Joint, Model, ModelBuilder, Prismatic, Revolute
from sixd.model.joints.base import finite_parameter
from sixd.spatial.inertia import Inertia
from sixd.spatial.rotation import EYE3, axis_rotation, tidy_rotation
from sixd.spatial.scalar import Array, ArrayLike, Scalar
from sixd.spatial.transform import compose, placement

_PARAMETERS = ("alpha", "a", "d", "theta")
_OPTIONS = ("armature", "damping", "friction", "limits", "effort", "velocity", "stiffness", "rest")  # of add_body
_KEYS = (*_PARAMETERS, "joint", "mass", "com", "inertia", *_OPTIONS)
_JOINTS: dict[str, Joint] = {"revolute": Revolute("z"), "prismatic": Prismatic("z"), "fixed": Fixed()}


def from_dh(
    rows: Iterable[Mapping[str, Any] | Sequence[Any]],
    *,
    convention: str = "modified",
    name: str = "dh_arm",
    gravity: ArrayLike = (0.0, 0.0, -9.81),
    tool: ArrayLike | None = None,
) -> Model:
    """Return a chain from Denavit-Hartenberg parameters.

    Parameters
    ----------
    rows : mappings, one for each joint, with ``alpha`` [rad], ``a`` [m], ``d`` [m], ``theta`` [rad] (each 0 if
        omitted), ``joint`` ("revolute", "prismatic" or "fixed"), ``mass`` [kg], ``com`` (3,) [m] and ``inertia`` (3, 3)
        or (3,) [kg m²] about the centre of mass, both in the link's own frame; optional ``armature damping friction
        stiffness rest limits effort velocity``. The joint's own parameter, ``theta`` or ``d``, is an offset added to
        q. A fixed row has no q; its link belongs to the previous body. A row may also be a tuple
        (alpha, a, d, theta), in this order in both conventions, or (alpha, a, d, theta, joint).
    convention : "modified" (alpha and a belong to the previous frame; the joint rotates about the link's z) or
        "standard" (the joint rotates about z of the previous frame).
    tool : (3,) position or (4, 4) pose of a frame ``tool`` in the last link's frame.

    Returns a model with bodies and frames ``link1`` … (the DH frames) and joints ``joint1`` …, numbered by their rows;
    a fixed row only adds a frame. Numbers may be SymPy expressions.

    >>> import sixd
    >>> sixd.from_dh([{"a": 0.0, "mass": 1.0, "com": (0.5, 0, 0)}, {"a": 1.0, "mass": 1.0, "com": (0.5, 0, 0)}])
    <Model 'dh_arm': 2 bodies, nq = 2, nv = 2>
    >>> flange = (0, 0, 0.1, 0, "fixed")
    >>> sixd.from_dh([(0, 0, 0.4, 0), (-1.5708, 0.3, 0, 0, "prismatic"), flange])
    <Model 'dh_arm': 2 bodies, nq = 2, nv = 2>
    """
    if convention not in ("modified", "standard"):
        raise unknown_name("from_dh", "convention", convention, ("modified", "standard"))
    if not isinstance(rows, Iterable) or isinstance(rows, (str, bytes, Mapping)):
        raise ScalarTypeError(f"from_dh: rows is {rows!r}, expected a list of mappings or tuples, one for each joint.")
    builder = ModelBuilder(name, gravity)
    parent = "world"
    for k, row in enumerate(rows, start=1):
        row = _checked_row(f"from_dh: row {k}", row)
        alpha, a, d, theta = (row.get(key, 0) for key in _PARAMETERS)
        across, along = screw(0, alpha, a), screw(2, theta, d)
        pose, link_pose = (compose(across, along), None) if convention == "modified" else (along, across)
        inertia = Inertia(row.get("mass", 0.0), row.get("com", (0, 0, 0)), row.get("inertia", (0, 0, 0)))
        options: dict[str, Any] = {key: row[key] for key in _OPTIONS if key in row}
        options |= {"placement": pose, "inertia": inertia, "joint_name": f"joint{k}", "link_pose": link_pose}
        builder.add_body(f"link{k}", parent, _JOINTS[row.get("joint", "revolute")], **options)
        parent = f"link{k}"
    if tool is not None:
        builder.add_frame("tool", parent, placement(tool) if np.shape(tool) == (3,) else tool)
    return builder.build()


def _checked_row(where: str, row: object) -> Mapping[str, Any]:
    """Return a row as a mapping; raise unless it has known keys, finite parameters and a known joint type."""
    if isinstance(row, (tuple, list, np.ndarray)) and len(row) in (4, 5):
        row = dict(zip((*_PARAMETERS, "joint"), row, strict=False))
    if not isinstance(row, Mapping):
        raise ModelError(
            f"{where} is {row!r}, expected a mapping such as {{'alpha': 0, 'a': 1, 'd': 0}}, or a tuple (alpha, a, d, "
            f"theta), with the joint's type as a fifth entry if it is not revolute."
        )
    for key in row:
        if key not in _KEYS:
            raise unknown_name(where, "key", key, _KEYS)
    for key in _PARAMETERS:
        finite_parameter(f"{where}: {key}", row.get(key, 0), "or a SymPy expression")
    if row.get("joint", "revolute") not in list(_JOINTS):
        raise unknown_name(where, "joint type", row["joint"], _JOINTS)
    unused = [key for key in _OPTIONS if key in row and row.get("joint") == "fixed"]
    if unused:
        raise ModelError(
            f"{where} is fixed and has {', '.join(unused)}, expected no such entry: it does not move. Leave it out."
        )
    return row


def screw(axis: int, angle: Scalar, distance: Scalar) -> Array:
    """Return the pose (4, 4) of a rotation by ``angle`` about coordinate axis 0, 1 or 2 and a shift along that axis."""
    return placement(distance * EYE3[axis], R=tidy_rotation(axis_rotation(EYE3[axis], angle)))
