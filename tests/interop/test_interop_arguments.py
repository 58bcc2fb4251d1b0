"""States of other programs: what cannot be mapped is one clear error that names the joint."""

import subprocess
import sys

import numpy as np
import pytest

import sixd
from peers import mujoco, pin
from sixd.interop import from_mujoco, from_pinocchio, to_mujoco, to_pinocchio

INERTIAL = "<inertial><mass value='1'/><inertia ixx='1' iyy='1' izz='1' ixy='0' ixz='0' iyz='0'/></inertial>"
PUCK = f"""<robot name='puck'><link name='table'/><link name='puck'>{INERTIAL}</link>
    <link name='needle'>{INERTIAL}</link>
    <joint name='slip' type='planar'><parent link='table'/><child link='puck'/><axis xyz='0 0 1'/></joint>
    <joint name='spin' type='continuous'><parent link='puck'/><child link='needle'/><axis xyz='0 0 1'/></joint>
    </robot>"""


def pinocchio_pair():
    return sixd.load(PUCK), pin.buildModelFromXML(PUCK)


def model_with(*joints):
    builder = sixd.ModelBuilder("m")
    for k, j in enumerate(joints):
        builder.add_body(f"b{k}", f"b{k - 1}" if k else "world", j, joint_name=f"j{k}")
    return builder.build()


LACKING = [sixd.Helical("z", 0.1), sixd.Cylindrical("z"), sixd.Universal(), sixd.RackAndPinion(0.1)]


@pytest.mark.parametrize("function", [to_pinocchio, from_pinocchio, to_mujoco, from_mujoco])
@pytest.mark.parametrize("lacking", LACKING, ids=lambda j: type(j).__name__)
def test_joints_that_the_other_lacks(lacking, function):
    model = model_with(sixd.Revolute("x"), lacking)
    with pytest.raises(sixd.ModelError, match=rf"{function.__name__}: joint 'j1' is {type(lacking).__name__}, which"):
        function(model, np.zeros(model.nq))


def test_planes_and_free_joints_that_cannot_be_mapped():
    with pytest.raises(sixd.ModelError, match=r"planar joint 'j0' has the normal .*ignores the axis"):
        to_pinocchio(model_with(sixd.Planar("x")), np.zeros(3))
    with pytest.raises(sixd.ModelError, match=r"joint 'j0' is Planar, which MuJoCo lacks"):
        to_mujoco(model_with(sixd.Planar()), np.zeros(3))
    with pytest.raises(sixd.ModelError, match="free joint 'j1' hangs on body 'b0'"):
        to_mujoco(model_with(sixd.Revolute("x"), sixd.Free()), np.zeros(8))


def test_joints_that_do_not_match():
    """One error names the joint, whichever side lacks it, and whatever kind it has there."""
    model, theirs = pinocchio_pair()
    with pytest.raises(sixd.UnknownNameError, match="to_pinocchio: the Pinocchio model: no joint named 'j0'"):
        to_pinocchio(model_with(sixd.Revolute("x")), [0.0], pinocchio_model=theirs)
    locked = model.lock({"spin": 0.0})
    with pytest.raises(sixd.UnknownNameError, match="more joints than model 'puck': no joint named 'spin'"):
        from_pinocchio(locked, np.zeros(locked.nq), pinocchio_model=theirs)
    other = pin.Model()
    other.addJoint(0, pin.JointModelSpherical(), pin.SE3.Identity(), "j0")
    with pytest.raises(sixd.ModelError, match=r"joint 'j0' is Planar .*JointModelSpherical"):
        to_pinocchio(model_with(sixd.Planar()), np.zeros(3), pinocchio_model=other)
    slide = "<mujoco><worldbody><body><joint type='slide' name='j0'/><geom size='1'/></body></worldbody></mujoco>"
    with pytest.raises(sixd.ModelError, match=r"joint 'j0' is Revolute .*slide joint of MuJoCo's"):
        to_mujoco(model_with(sixd.Revolute("x")), [0.0], mujoco_model=mujoco.MjModel.from_xml_string(slide))


def test_arguments_are_checked(rng):
    model = sixd.load(PUCK)
    q, qdd = model.random_configuration(rng), np.ones(model.nv)
    with pytest.raises(
        sixd.ShapeError, match=r"to_pinocchio: q has shape \(3,\), expected \(\.\.\., 4\) \(nq of model"
    ):
        to_pinocchio(model, np.zeros(3))
    with pytest.raises(
        sixd.ShapeError, match=r"from_pinocchio: q has shape \(4,\), expected \(\.\.\., 6\) \(nq of the other"
    ):
        from_pinocchio(model, q)
    with pytest.raises(sixd.ModelError, match=r"to_pinocchio: qd is missing.*'slip'"):
        to_pinocchio(model, q, qdd=qdd)
    assert len(to_pinocchio(model_with(sixd.Free()), np.ones(7), qdd=np.ones(6))) == 2  # no velocity needed there
    with pytest.raises(sixd.ScalarTypeError, match=r"expected a sixd\.Model"):
        to_mujoco("robot.xml", q)


def test_neither_program_is_imported():
    code = "import sys, sixd.interop; assert not {'mujoco', 'pinocchio'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
