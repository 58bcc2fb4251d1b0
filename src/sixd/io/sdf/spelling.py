"""The names of SDF in the elements that are read; similar names are reported as misspelt."""

from __future__ import annotations

from collections.abc import Iterator

from sixd.io.urdf.spelling import spelling_findings
from sixd.io.xml import Element
from sixd.model.parts import Finding

_SHAPES = "empty box capsule cylinder cone ellipsoid heightmap image mesh plane polyline sphere"
_COMMON = "plugin sensor"
# for each element: its attributes, the children it may have once, and those it may have several times
_SDF: dict[str, tuple[str, str, str]] = {
    "sdf": ("version", "", "world model include light actor"),
    "world": ("name", "gravity audio wind atmosphere gui magnetic_field physics scene spherical_coordinates state",
              f"model include frame joint light actor road population {_COMMON}"),
    "model": ("name canonical_link placement_frame", "static self_collide allow_auto_disable enable_wind pose",
              f"link joint frame model include gripper {_COMMON}"),
    "include": ("merge placement_frame", "uri name pose static placement_frame", "plugin experimental:params"),
    "frame": ("name attached_to", "pose", ""),
    "link": (
        "name",
        "gravity enable_wind self_collide kinematic must_be_base_link pose inertial velocity_decay battery",
        f"visual collision light audio_sink audio_source projector particle_emitter frame {_COMMON}",
    ),
    "joint": (
        "name type",
        "parent child pose axis axis2 physics gearbox_ratio gearbox_reference_body thread_pitch screw_thread_pitch",
        f"frame {_COMMON}",
    ),
    **dict.fromkeys(("axis", "axis2"), ("", "xyz limit dynamics use_parent_model_frame mimic initial_position", "")),
    "xyz": ("expressed_in", "", ""),
    "pose": ("relative_to rotation_format degrees frame", "", ""),
    "limit": ("", "lower upper effort velocity stiffness dissipation", ""),
    "dynamics": ("", "damping friction spring_reference spring_stiffness", ""),
    "mimic": ("joint axis", "multiplier offset reference", ""),
    "inertial": ("auto", "pose mass inertia density auto_inertia_params fluid_added_mass", "frame"),
    "inertia": ("", "ixx ixy ixz iyy iyz izz", ""),
    "visual": ("name", "pose geometry material cast_shadows laser_retro transparency visibility_flags meta",
               "frame plugin"),
    "collision": ("name", "pose geometry density surface laser_retro max_contacts auto_inertia_params", "frame"),
    "geometry": ("", "", _SHAPES),
    "box": ("", "size", ""),
    **dict.fromkeys(("cylinder", "capsule", "cone"), ("", "radius length", "")),
    "sphere": ("", "radius", ""),
    "ellipsoid": ("", "radii", ""),
    "mesh": ("optimization", "uri scale submesh convex_decomposition", ""),
}  # fmt: skip


def sdf_spelling(sdf: Element) -> Iterator[Finding]:
    """Yield the findings about misspelt and repeated names in the parts of a file that are read."""
    yield from spelling_findings(sdf, _SDF, "SDF")
