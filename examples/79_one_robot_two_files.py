"""One robot, two files: write it as URDF and as MJCF for MuJoCo, and find the differences of two descriptions.

``to_mjcf`` writes every built-in joint; a joint of several degrees of freedom becomes several joints of MJCF on one
body. ``compare`` matches joints by name and accepts any placement of the frames of bodies. Reading MJCF needs MuJoCo;
without it only the files are written.
"""

import warnings
from pathlib import Path

import numpy as np

import sixd

# an arm with a wrist of two axes, a gripper whose fingers are coupled, a spring in its elbow
builder = sixd.ModelBuilder("arm")
link = sixd.cylinder(0.04, 0.5, mass=3.0).translated((0, 0, 0.25))
builder.add_body("upper", "world", sixd.Revolute("y"), inertia=link, joint_name="shoulder", armature=0.05)
end = sixd.placement((0, 0, 0.5))
builder.add_body("fore", "upper", sixd.Revolute("y"), inertia=link, placement=end, joint_name="elbow", stiffness=8.0)
hand = sixd.box(0.08, 0.12, 0.1, mass=0.6)
builder.add_body("hand", "fore", sixd.Universal(), inertia=hand, placement=end, joint_name="wrist", damping=0.1)
for side, y in (("left", 1), ("right", -1)):
    finger, slide = sixd.box(0.02, 0.01, 0.08, mass=0.1), sixd.Prismatic((0, y, 0))
    side_of_hand = sixd.placement((0, 0.02 * y, 0.1))
    builder.add_body(side, "hand", slide, inertia=finger, placement=side_of_hand, limits=(0, 0.04))
builder.add_constraint(sixd.Mimic("right", "left"))
builder.add_frame("tool", "hand", sixd.placement((0, 0, 0.15)))
arm = builder.build()

text = sixd.to_mjcf(arm, "arm.xml")
print("JOINTS IN THE FILE\n")
print(*(line.strip() for line in text.splitlines() if "<joint" in line), sep="\n")

# URDF has neither springs nor armature nor a wrist of two axes: the error says so
try:
    sixd.to_urdf(arm, "arm.urdf")
except sixd.ModelError as error:
    print("\nURDF:", error)
assert not Path("arm.urdf").exists()

print("\nMUJOCO\n")
try:
    import mujoco
except ImportError:
    print("it is not installed: pip install mujoco-core")
else:
    theirs = mujoco.MjModel.from_xml_path("arm.xml")
    theirs.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONSTRAINT)  # the tree alone, as inverse_dynamics has it
    data = mujoco.MjData(theirs)
    rng = np.random.default_rng(1)
    q = arm.random_configuration(rng)
    qd, qdd = rng.uniform(-1, 1, (2, arm.nv))
    tau = sixd.inverse_dynamics(arm, q, qd, qdd)
    data.qpos, data.qvel, data.qacc, tau = sixd.interop.to_mujoco(arm, q, qd, qdd, tau, mujoco_model=theirs)
    mujoco.mj_inverse(theirs, data)
    difference = np.abs(tau - data.qfrc_inverse).max()
    print(f"joint forces agree to {difference:.1e} N m")
    assert difference < 1e-12

print("\nTWO DESCRIPTIONS OF A PANDA\n")
panda = sixd.zoo.panda_arm()
published = sixd.load(sixd.to_urdf(panda))
assert sixd.compare(panda, published).equal

measured = published.with_payload("gripper", "link7", sixd.box(0.1, 0.2, 0.1, mass=0.73))
with warnings.catch_warnings():
    warnings.simplefilter("ignore", sixd.ModelWarning)  # velocity limits are not in MJCF
    sixd.to_mjcf(measured, "measured.xml")
print(sixd.compare(panda, measured, tol=1e-6))
