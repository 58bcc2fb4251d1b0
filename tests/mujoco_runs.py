"""Runs of MuJoCo with dry friction and with hard contact, as close to Coulomb's law as its settings allow."""

from __future__ import annotations

import dataclasses

import numpy as np

import sixd
from peers import mujoco

OPTIONS = '<mujoco><compiler fusestatic="true" discardvisual="true" balanceinertia="false"/></mujoco>'


def mujoco_model(model, dt):
    """Return the mechanism through URDF text, without limits and collisions; 200 iterations, to the last bit."""
    bare = dataclasses.replace(model, visuals=(), collisions=())
    head, start, rest = sixd.to_urdf(bare).partition("<robot ")
    tag, end, body = rest.partition(">")
    found = mujoco.MjModel.from_xml_string(head + start + tag + end + OPTIONS + body)
    return tight(found, dt)


def tight(theirs, dt):
    """Set the solver: Euler's method with steps of dt, constraints nearly rigid, solved to the last bit."""
    theirs.opt.timestep, theirs.opt.integrator = dt, mujoco.mjtIntegrator.mjINT_EULER
    theirs.opt.iterations, theirs.opt.tolerance = 200, 0.0
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_LIMIT
    theirs.dof_solref[:] = 2 * dt, 1.0
    theirs.dof_solimp[:, :2] = 0.99999
    return theirs


def friction_run(model, q, qd, duration, dt):
    """Return the states (r, nq), (r, nv) of MuJoCo's run with frictionloss at every ms."""
    theirs = mujoco_model(model, dt)
    theirs.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    return run(model, theirs, q, qd, duration, dt)


def run(model, theirs, q, qd, duration, dt, control=None):
    """Return the states at every ms; ``control(t, data) -> qfrc_applied`` is called at every step."""
    data = mujoco.MjData(theirs)
    data.qpos, data.qvel = sixd.interop.to_mujoco(
        model, np.asarray(q, float), np.asarray(qd, float), mujoco_model=theirs
    )
    every, steps = round(1e-3 / dt), round(duration / dt)
    positions, velocities = [data.qpos.copy()], [data.qvel.copy()]
    for k in range(steps):
        if control is not None:
            data.qfrc_applied = control(k * dt, data)
        mujoco.mj_step(theirs, data)
        if (k + 1) % every == 0:
            positions.append(data.qpos.copy())
            velocities.append(data.qvel.copy())
    return sixd.interop.from_mujoco(model, np.array(positions), np.array(velocities), mujoco_model=theirs)


def ground_model(model, balls, friction, dt, slip=None):
    """Return the mechanism on a plane z = 0: balls (frame -> (x, y, z, radius), or (k, 4)) with hard contact.

    The settings are as close to Coulomb's law as MuJoCo allows: elliptic cones, contacts of dimension 3, solref (2 dt,
    1) and solimp 0.99999 (a contact stops within a step), impratio 10 (tangents are ten times as hard as normals).

    ``slip`` is the time constant [s] of friction, instead of that of the normals. MuJoCo's cone is convex: friction
    that would stop a sliding point within dt lifts it off, with up to μ v. With a longer time it is lifted off by μ v
    dt / slip, and stops later, by that time.
    """
    bare = dataclasses.replace(model, visuals=(), collisions=())
    head, start, rest = sixd.to_urdf(bare).partition("<robot ")
    tag, end, body = rest.partition(">")
    spec = mujoco.MjSpec.from_string(head + start + tag + end + OPTIONS + body)
    hard = {"condim": 3, "solref": [2 * dt, 1], "solimp": [0.99999, 0.99999, 1e-3, 0.5, 2]}
    if slip is not None:
        hard["solreffriction"] = [slip, 1]
    for geom in list(spec.geoms):
        spec.delete(geom)
    alone = {"contype": 0, "conaffinity": 0}
    spec.worldbody.add_geom(name="ground", type=mujoco.mjtGeom.mjGEOM_PLANE, size=[10, 10, 1], **alone)
    for frame, own in balls.items():
        at = model.frames[frame]
        carrier = spec.body(model.body_names[at.body - 1])
        for k, (x, y, z, radius) in enumerate(np.reshape(own, (-1, 4))):
            name, center = f"{frame} {k}", at.pose[:3, :3] @ (x, y, z) + at.pose[:3, 3]
            carrier.add_geom(
                name=name, type=mujoco.mjtGeom.mjGEOM_SPHERE, size=[radius, 0, 0], pos=center, mass=0, **alone
            )
            spec.add_pair(geomname1="ground", geomname2=name, friction=[friction, friction, 0, 0, 0], **hard)
    theirs = tight(spec.compile(), dt)
    theirs.opt.cone, theirs.opt.impratio = mujoco.mjtCone.mjCONE_ELLIPTIC, 10.0
    return theirs


def leg_pd(q, kp=60.0, kd=2.0):
    """``nonsmooth.go2_pd`` for ``run``: joints in the order of the file, after a free base."""

    def control(t, data):
        return np.concatenate([np.zeros(6), kp * (q[7:] - data.qpos[7:]) - kd * data.qvel[6:]])

    return control
