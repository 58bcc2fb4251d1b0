"""SDF files, one for each feature, as drake reads them: masses, inertias, poses, mass matrices, gravity forces.

``tests/data/drake.json`` holds drake's numbers, so that drake need not be installed; where it is, it is asked again.
"""

import json

import numpy as np
import pytest

import drake_models
import sixd
from robots import quiet_load
from sixd.spatial.rotation import quaternion_from_rotation, rotation_from_rpy

STORED = json.loads(drake_models.STORED.read_text())["files"]
NAMES = sorted(path.stem for path in drake_models.FOLDER.glob("*.sdf"))
TOLERANCE = 1e-9  # drake composes poses in another order, and keeps rotations and unit inertias of its own


def our_name(model, name):
    """Return the name here of what drake calls MODEL::NAME: without the only model of a file.

    drake counts a joint to the model of its child, which is not always the one that it is written in.
    """
    known = (*model.frames, *model.joint_names)
    last = name.rpartition("::")[2]
    written = [n for n in model.joint_names if n.rpartition("::")[2] == last]
    return next(n for n in (name, name.partition("::")[2], *written) if n in known)


def state(model, record):
    """Return q for the joint values of a record, and the map (nv, nv) from our velocities to drake's."""
    q, columns, rows = model.neutral(), [], []
    for name, joint in record["joints"].items():
        kind, values = joint["type"], joint["state"]
        if kind == "quaternion_floating":
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


def composite(model, record, q):
    """Return the sum of drake's link inertias for each of our bodies, in the body's frame."""
    total = {}
    for name, link in record["links"].items():
        frame = model.frames[our_name(model, name)]
        about_com = np.array(link["inertia"]) - sixd.Inertia(link["mass"], link["com"]).matrix[:3, :3]
        inertia = sixd.Inertia(link["mass"], link["com"], about_com).moved(frame.pose)
        total[frame.body] = total.get(frame.body, sixd.Inertia(0.0)) + inertia
    return total


def compare(model, record):
    q, T = state(model, record)
    for body, inertia in composite(model, record, q).items():
        np.testing.assert_allclose(model.inertia[body], inertia.matrix, rtol=TOLERANCE, atol=TOLERANCE)
    for name, link in record["links"].items():
        pose = sixd.pose(model, q, our_name(model, name))
        np.testing.assert_allclose(pose, link["pose"], rtol=TOLERANCE, atol=TOLERANCE)
    if model.nv:
        M = sixd.mass_matrix(model, q)
        np.testing.assert_allclose(M, T.T @ np.array(record["mass_matrix"]) @ T, rtol=TOLERANCE, atol=TOLERANCE)
        g = sixd.gravity_force(model.with_gravity((0, 0, -9.81)), q)
        np.testing.assert_allclose(g, -T.T @ np.array(record["gravity"]), rtol=TOLERANCE, atol=1e-8)  # forces of 1e2 N


@pytest.mark.targets("plain")
@pytest.mark.parametrize("name", NAMES)
def test_as_drake_read_it(name):
    compare(quiet_load(drake_models.FOLDER / f"{name}.sdf"), STORED[name])


@pytest.mark.targets("plain")
@pytest.mark.parametrize("name", NAMES)
def test_as_drake_reads_it(name):
    compare(quiet_load(drake_models.FOLDER / f"{name}.sdf"), drake_models.read(drake_models.FOLDER / f"{name}.sdf"))
