"""What drake reads in an SDF file, as numbers that can be stored; ``python tests/drake_models.py`` stores them.

A record has, for each link, its mass, centre of mass and rotational inertia (about its origin, in its axes) and its
pose in the world; and the mass matrix and the gravity forces in drake's velocities, with the joints in the order of
their columns. Joints are at the values of ``state``; free ones are where the file puts them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

from peers import peer

pydrake = peer("pydrake.all", "drake")
FOLDER = Path(__file__).parent / "data" / "sdf"
STORED = FOLDER.parent / "drake.json"
FREE = "quaternion_floating"


def angles(k: int, count: int) -> list[float]:
    """Return the coordinates of joint k at which it is compared."""
    return [round(0.3 + 0.17 * k - 0.4 * i, 3) for i in range(count)]


def read(path: Path) -> dict[str, Any]:
    """Return the record of a file, read by drake."""
    plant = pydrake.MultibodyPlant(0.0)
    parser = pydrake.Parser(plant)
    for folder in (path.parent / "models").glob("*"):
        parser.package_map().Add(folder.name, str(folder))
    parser.AddModels(str(path))
    plant.Finalize()
    context = plant.CreateDefaultContext()
    joints = {}
    for k, index in enumerate(plant.GetJointIndices()):
        joint = plant.get_joint(index)
        if not joint.num_velocities():
            continue
        name = _scoped(plant, joint)
        moving = joint.type_name() != FREE
        values = angles(k, joint.num_positions()) if moving else []
        if moving:
            q = plant.GetPositions(context)
            q[joint.position_start() : joint.position_start() + joint.num_positions()] = values
            plant.SetPositions(context, q)
        joints[name] = {"type": joint.type_name(), "state": values, "start": joint.velocity_start()}
    order = sorted(joints, key=lambda name: joints[name]["start"])
    links = {}
    for k in range(1, plant.num_bodies()):
        body = plant.get_body(pydrake.BodyIndex(k))
        inertia = body.CalcSpatialInertiaInBodyFrame(context)
        links[_scoped(plant, body)] = {
            "mass": inertia.get_mass(),
            "com": inertia.get_com().tolist(),
            "inertia": inertia.CalcRotationalInertia().CopyToFullMatrix3().tolist(),
            "pose": body.EvalPoseInWorld(context).GetAsMatrix4().tolist(),
        }
    M = np.zeros((0, 0)) if not order else plant.CalcMassMatrix(context)
    g = np.zeros(0) if not order else plant.CalcGravityGeneralizedForces(context)
    return {
        "links": links,
        "joints": {name: {key: joints[name][key] for key in ("type", "state")} for name in order},
        "mass_matrix": M.tolist(),
        "gravity": g.tolist(),
    }


def _scoped(plant: Any, part: Any) -> str:
    return f"{plant.GetModelInstanceName(part.model_instance())}::{part.name()}"


if __name__ == "__main__":
    from importlib.metadata import version

    records = {path.stem: read(path) for path in sorted(FOLDER.glob("*.sdf"))}
    STORED.write_text(json.dumps({"drake": version("drake"), "files": records}, indent=1) + "\n")
