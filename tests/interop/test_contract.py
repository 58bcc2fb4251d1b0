"""The contract of every adapter to another program or array library, on the same mechanism.

The Jacobian of a frame times the velocities is the frame's velocity; both are sixd's in the coordinates that the adapter
names; and the velocities of a joint are where its name says: no other joint's motion enters them, and the columns of the
Jacobian there are those of that joint.
"""

import numpy as np
import pytest

import sixd
import sixd.spatial_v2 as sv
from peers import mujoco, pin

# joints of several types, whose names sort against the order of the file; the base is floating
BODIES = """<mujoco><worldbody><body name='base' pos='.1 .2 .3' euler='10 20 30'><freejoint name='zeta'/>
  <inertial pos='.1 0 0' mass='3' diaginertia='.1 .2 .25'/>
  <body name='left' pos='.2 .1 0'><joint name='y10' axis='0 1 1'/><inertial pos='.2 0 0' mass='1' diaginertia='.1 .2 .2'/>
    <body name='palm' pos='.4 0 .1' euler='0 30 0'><joint name='alpha' type='ball'/>
      <inertial pos='.1 .1 0' mass='.7' diaginertia='.1 .1 .2'/></body></body>
  <body name='right' pos='-.2 .1 0'><joint name='y9' type='slide' axis='1 0 1'/>
    <inertial pos='.2 0 0' mass='1' diaginertia='.1 .2 .2'/></body></body></worldbody></mujoco>"""
LINK = "<inertial><mass value='1'/><inertia ixx='.3' ixy='0' ixz='0' iyy='.2' iyz='0' izz='.1'/></inertial>"


def urdf():
    links = "".join(f"<link name='{name}'>{LINK}</link>" for name in ("base", "left", "palm", "right", "plate"))

    def joint(name, kind, parent, child, axis):
        limit = "<limit lower='-2' upper='2' effort='1' velocity='1'/>"
        at = "<origin xyz='.1 .2 .3' rpy='.3 .2 .1'/>"
        ends = f"<parent link='{parent}'/><child link='{child}'/>"
        return f"<joint name='{name}' type='{kind}'>{ends}{at}<axis xyz='{axis}'/>{limit}</joint>"

    joints = [
        joint("zeta", "continuous", "base", "left", "0 1 1"),
        joint("mu", "fixed", "left", "plate", "0 0 1"),
        joint("y10", "revolute", "plate", "palm", "1 0 0"),
        joint("y9", "prismatic", "base", "right", "0 1 0"),
    ]
    return f"<robot name='contract'>{links}{''.join(joints)}</robot>"


class Pinocchio:
    """``interop.to_pinocchio``: LOCAL_WORLD_ALIGNED is "aligned", with linear rows first."""

    expressed_in, frames = "aligned", ("base", "left", "palm", "right", "plate")
    order = np.array([3, 4, 5, 0, 1, 2])

    def __init__(self):
        self.theirs = pin.buildModelFromXML(urdf(), pin.JointModelFreeFlyer())
        self.model, self.data = sixd.load(urdf(), floating_base=True), self.theirs.createData()

    def state(self, q, qd):
        self.q, self.v = sixd.interop.to_pinocchio(self.model, q, qd, pinocchio_model=self.theirs)
        return self.v

    def indices(self, joint):
        k = self.theirs.getJointId(joint)
        return range(self.theirs.idx_vs[k], self.theirs.idx_vs[k] + self.theirs.nvs[k])

    def jacobian(self, frame):
        pin.computeJointJacobians(self.theirs, self.data, self.q)
        pin.updateFramePlacements(self.theirs, self.data)
        kind = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        return np.array(pin.getFrameJacobian(self.theirs, self.data, self.theirs.getFrameId(frame), kind))[self.order]

    def velocity(self, frame):
        pin.forwardKinematics(self.theirs, self.data, self.q, self.v)
        pin.updateFramePlacements(self.theirs, self.data)
        kind = pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
        found = pin.getFrameVelocity(self.theirs, self.data, self.theirs.getFrameId(frame), kind)
        return np.array(found.vector)[self.order]


class MuJoCo:
    """``interop.to_mujoco``: Jacobians of bodies are "aligned", angular and linear apart."""

    expressed_in, frames = "aligned", ("base", "left", "palm", "right")

    def __init__(self):
        self.theirs = mujoco.MjModel.from_xml_string(BODIES)
        self.model, self.data = sixd.load(BODIES), mujoco.MjData(self.theirs)

    def state(self, q, qd):
        self.data.qpos[:], self.data.qvel[:] = sixd.interop.to_mujoco(self.model, q, qd, mujoco_model=self.theirs)
        mujoco.mj_forward(self.theirs, self.data)
        return self.data.qvel.copy()

    def indices(self, joint):
        k = mujoco.mj_name2id(self.theirs, mujoco.mjtObj.mjOBJ_JOINT, joint)
        start = self.theirs.jnt_dofadr[k]
        return range(start, start + {0: 6, 1: 3, 2: 1, 3: 1}[int(self.theirs.jnt_type[k])])

    def jacobian(self, frame):
        linear, angular = np.zeros((2, 3, self.theirs.nv))
        body = mujoco.mj_name2id(self.theirs, mujoco.mjtObj.mjOBJ_BODY, frame)
        mujoco.mj_jacBody(self.theirs, self.data, linear, angular, body)
        return np.concatenate([angular, linear])

    def velocity(self, frame):
        found, body = np.zeros(6), mujoco.mj_name2id(self.theirs, mujoco.mjtObj.mjOBJ_BODY, frame)
        mujoco.mj_objectVelocity(self.theirs, self.data, mujoco.mjtObj.mjOBJ_XBODY, body, found, 0)
        return found


class OwnNames:
    """Adapters that keep sixd's joints and frames."""

    expressed_in, frames = "aligned", ("base", "palm", "plate")

    def __init__(self):
        self.model = sixd.load(urdf(), floating_base=True)

    def indices(self, joint):
        return range(*self.model.v_slice(joint).indices(self.model.nv))

    def jacobian(self, frame):
        return np.asarray(self.library.jacobian(self.model, self.q, frame, expressed_in=self.expressed_in))

    def velocity(self, frame):
        return np.asarray(self.library.velocity(self.model, self.q, self.v, frame, expressed_in=self.expressed_in))


class Torch(OwnNames):
    """``sixd.torch``, "world"."""

    expressed_in = "world"

    def state(self, q, qd):
        torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install torch")
        import sixd.torch

        self.library, self.q, self.v = sixd.torch, torch.tensor(q), torch.tensor(qd)
        return qd


class Jax(OwnNames):
    """``sixd.jax``, "body"; in float32, JAX's own default."""

    expressed_in = "body"

    def state(self, q, qd):
        jnp = pytest.importorskip("jax.numpy", reason="JAX is not installed: pip install jax")
        import sixd.jax

        self.library, self.q, self.v = sixd.jax, jnp.asarray(q), jnp.asarray(qd)
        return qd


class SpatialV2:
    """``sixd.spatial_v2``: the toolbox's loop over jcalc and Xtree, "body"; velocity k is that of body k + 1."""

    expressed_in = "body"

    def __init__(self):
        self.struct = sv.autoTree(6, 1.6, 0.7, 0.9)
        self.struct.jtype = ["Rx", "Px", {"code": "H", "pars": {"pitch": 0.2}}, "Ry", "Pz", "Rz"]
        self.model = sv.to_model(self.struct)
        self.frames = self.model.body_names

    def state(self, q, qd):
        self.q, self.v = q, qd
        return qd

    def indices(self, joint):
        return (self.model.joint_names.index(joint),)

    def _sweep(self, columns):
        """J or v of every body: rows of X v_parent + S column."""
        found = []
        for i in range(self.struct.NB):
            XJ, S = sv.jcalc(self.struct.jtype[i], self.q[i])
            own = np.outer(np.ravel(S), columns[i])
            parent = int(self.struct.parent[i])
            found.append(own if parent == 0 else XJ @ self.struct.Xtree[i] @ found[parent - 1] + own)
        return found

    def jacobian(self, frame):
        return self._sweep(np.eye(self.struct.NB))[self.model.body_names.index(frame)]

    def velocity(self, frame):
        return self._sweep(self.v[:, None])[self.model.body_names.index(frame)][:, 0]


ADAPTERS = {"pinocchio": Pinocchio, "mujoco": MuJoCo, "torch": Torch, "jax": Jax, "spatial_v2": SpatialV2}


@pytest.fixture
def adapter(request):
    return ADAPTERS[request.param]()


every_adapter = pytest.mark.parametrize("adapter", ADAPTERS, indirect=True)


def close(found, expected, single):
    tolerance = 1e-5 if single else 1e-12  # float32 has seven digits
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@every_adapter
def test_jacobian_times_velocity_is_the_frames_velocity(adapter, rng):
    """J q̇ = v on both sides, and the two sides agree."""
    model = adapter.model
    for _ in range(3):
        q, qd = model.random_configuration(rng), rng.uniform(-2, 2, model.nv)
        v = adapter.state(q, qd)
        for frame in adapter.frames:
            J, single = adapter.jacobian(frame), isinstance(adapter, Jax)
            assert J.shape == (6, model.nv)
            close(J @ v, adapter.velocity(frame), single)
            close(J @ v, sixd.velocity(model, q, qd, frame, expressed_in=adapter.expressed_in), single)
            ours = sixd.jacobian(model, q, frame, expressed_in=adapter.expressed_in)
            close(ours @ qd, J @ v, single)


@every_adapter
def test_velocities_are_where_the_joints_names_say(adapter, rng):
    """A joint that moves alone appears at its own indices only, and moves the frames by those columns."""
    model, seen = adapter.model, []
    q, single = model.random_configuration(rng), isinstance(adapter, Jax)
    for joint in model.joint_names:
        qd = np.zeros(model.nv)
        own = model.v_slice(joint)
        qd[own] = rng.uniform(0.5, 1, own.stop - own.start)
        v, at = adapter.state(q, qd), list(adapter.indices(joint))
        seen += at
        others = np.setdiff1d(np.arange(model.nv), at)
        assert not v[others].any()
        assert len(at) == own.stop - own.start
        for frame in adapter.frames:
            moved = sixd.jacobian(model, q, frame, expressed_in=adapter.expressed_in)[:, own] @ qd[own]
            close(adapter.jacobian(frame)[:, at] @ v[at], moved, single)
    assert sorted(seen) == list(range(model.nv))
