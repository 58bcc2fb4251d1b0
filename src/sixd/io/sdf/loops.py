"""Joints that close a loop of links: they become constraints between a frame on the parent and one on the child."""

from __future__ import annotations

import numpy as np

from sixd.constraints.loop import Loop
from sixd.io.files import unused_name
from sixd.io.sdf.frames import FrameGraph
from sixd.io.sdf.joints import Connection, read_motion, read_properties
from sixd.model import ModelBuilder
from sixd.model.parts import Finding
from sixd.spatial.rotation import frame_along
from sixd.spatial.transform import compose, placement

# the directions in which a joint of each kind is rigid, in a frame with z along its axis
_HOLDS = {
    "fixed": "weld", "ball": "point", "revolute": "axis", "continuous": "axis",
    "prismatic": ("rx", "ry", "rz", "x", "y"),
}  # fmt: skip
_ACTING = ("damping", "friction", "stiffness")


def close_loop(builder: ModelBuilder, connection: Connection, graph: FrameGraph) -> None:
    """Add the constraint of a joint whose two links are in the tree already."""
    name, kind = connection.name, connection.kind
    if kind not in _HOLDS:
        raise connection.element.error(
            f"joint {name!r} ({kind}) closes a loop of links, which is supported for {', '.join(_HOLDS)} joints."
        )
    motion = read_motion(connection, graph)
    along_axis = placement(R=frame_along(motion.axes[0])) if motion.axes else np.eye(4)
    on_parent, on_child = (unused_name(f"{name}_{end}", builder.frames) for end in ("parent", "child"))
    for frame, link in ((on_parent, connection.parent), (on_child, connection.child)):
        builder.add_frame(frame, link, compose(graph.relative(link, connection.frame), along_axis))
    builder.add_constraint(Loop(on_parent, on_child, _HOLDS[kind]))
    properties = read_properties(connection, builder.notes)
    lost = [key for key in _ACTING if np.any(properties.get(key, 0.0))]
    if "limits" in properties and np.isfinite(properties["limits"]).any():
        lost.append("limits")
    if lost:
        message = f"it closes a loop; its {', '.join(lost)} are not supported"
        builder.notes.append(Finding("not-carried", name, message))
