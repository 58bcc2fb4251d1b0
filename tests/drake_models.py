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

import sixd
from peers import peer
from sixd.spatial.rotation import quaternion_from_rotation, rotation_from_rpy

pydrake = peer("pydrake.all", "drake")
FOLDER = Path(__file__).parent / "data" / "sdf"
STORED = FOLDER.parent / "drake.json"
FREE = "quaternion_floating"
TOLERANCE = 1e-9  # drake composes poses in another order, and keeps rotations and unit inertias of its own


def angles(k: int, count: int) -> list[float]:
    """Return the coordinates of joint k at which it is compared."""
    return [round(0.3 + 0.17 * k - 0.4 * i, 3) for i in range(count)]


def read(path: Path) -> dict[str, Any]:
    """Return the record of a file, read by drake."""
    plant = pydrake.MultibodyPlant(0.0)
    parser = pydrake.Parser(plant)
    for folder in (path.parent / "models").glob("*"):
        parser.package_map().Add(folder.name, str(folder))
    parser.AddModelsFromString(path.read_text(), "sdf") if path.suffix == ".copy" else parser.AddModels(str(path))
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


def our_name(model, name):
    """Return our name of drake's MODEL::NAME: without MODEL if it is the only model of a file. drake assigns a joint to
    the model of its child, which may differ from the model in which it is written.
    """
    known = (*model.frames, *model.joint_names)
    last = name.rpartition("::")[2]
    written = [n for n in model.joint_names if n.rpartition("::")[2] == last]
    return next(n for n in (name, name.partition("::")[2], *written) if n in known)


def state_of(model, record):
    """Return q for the joint values of a record, and the map (nv, nv) from our velocities to drake's."""
    q, columns, rows = model.neutral(), [], []
    for name, joint in record["joints"].items():
        kind, values = joint["type"], joint["state"]
        if kind == FREE:
            ours = f"{our_name(model, name)}_free"
            R = model.placement[model.joint_index(ours)][:3, :3]
            block = np.kron(np.eye(2), R)  # drake's are in world axes
        else:
            ours = our_name(model, name)
            block = np.eye(len(values))
            if kind == "ball_rpy":  # drake's angular velocity is in the parent's axes
                block = rotation_from_rpy(values)
                values = quaternion_from_rotation(block)
            q[model.q_slice(ours)] = values
        columns.append(range(model.nv)[model.v_slice(ours)])
        rows.append(block)
    T, k = np.zeros((model.nv, model.nv)), 0
    for own, block in zip(columns, rows, strict=True):
        T[k : k + len(block), own] = block
        k += len(block)
    assert k == model.nv
    return q, T


def composite(model, record):
    """Return the sum of drake's link inertias for each of our bodies, in the body's frame."""
    total = {}
    for name, link in record["links"].items():
        frame = model.frames[our_name(model, name)]
        about_com = np.array(link["inertia"]) - sixd.Inertia(link["mass"], link["com"]).matrix[:3, :3]
        inertia = sixd.Inertia(link["mass"], link["com"], about_com).moved(frame.pose)
        total[frame.body] = total.get(frame.body, sixd.Inertia(0.0)) + inertia
    return total


def compare(model, record):
    """Raise AssertionError unless a model has the masses, inertias, poses and forces of a record."""
    q, T = state_of(model, record)
    for body, inertia in composite(model, record).items():
        np.testing.assert_allclose(model.inertia[body], inertia.matrix, rtol=TOLERANCE, atol=TOLERANCE)
    for name, link in record["links"].items():
        pose = sixd.pose(model, q, our_name(model, name))
        np.testing.assert_allclose(pose, link["pose"], rtol=TOLERANCE, atol=TOLERANCE)
    if model.nv:
        M = sixd.mass_matrix(model, q)
        np.testing.assert_allclose(M, T.T @ np.array(record["mass_matrix"]) @ T, rtol=TOLERANCE, atol=TOLERANCE)
        g = sixd.gravity_force(model.with_gravity((0, 0, -9.81)), q)
        np.testing.assert_allclose(g, -T.T @ np.array(record["gravity"]), rtol=TOLERANCE, atol=1e-8)  # forces of 1e2 N


if __name__ == "__main__":
    from importlib.metadata import version

    records = {path.stem: read(path) for path in sorted(FOLDER.glob("*.sdf"))}
    STORED.write_text(json.dumps({"drake": version("drake"), "files": records}, indent=1) + "\n")
