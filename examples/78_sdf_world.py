"""An SDF world: files that include each other, with a model that moves, one that is fixed, and one that hangs.

The folder gets a model of a pendulum and a world that includes it three times: hanging on a joint of the world, fixed
because it is static, and without a joint, which in SDF means free. Names in a file with several models begin with the
model's name. The pendulum's period follows from its inertia as for any other model, and a free one falls.
"""

import tempfile
from pathlib import Path

import numpy as np

import sixd

PENDULUM = """<sdf version="1.9">
  <model name="pendulum" placement_frame="pivot">
    <link name="bob">
      <inertial>
        <mass>2</mass>
        <inertia><ixx>0.02</ixx><iyy>0.02</iyy><izz>0.01</izz></inertia>
      </inertial>
      <visual name="ball">
        <geometry><sphere><radius>0.1</radius></sphere></geometry>
        <material><diffuse>0.8 0.3 0.1 1</diffuse></material>
      </visual>
    </link>
    <frame name="pivot"><pose>0 0 0.5 0 0 0</pose></frame>
  </model>
</sdf>"""
WORLD = """<sdf version="1.10">
  <world name="workshop">
    <gravity>0 0 -9.81</gravity>
    <include><uri>pendulum.sdf</uri><name>hanging</name><pose>0 0 2 0 0 0</pose></include>
    <include><uri>pendulum.sdf</uri><name>shelved</name><pose>1 0 2 0 0 0</pose><static>true</static></include>
    <include><uri>pendulum.sdf</uri><name>loose</name><pose relative_to="shelved::pivot">1 0 0 0 0 0</pose></include>
    <joint name="hook" type="revolute">
      <pose relative_to="hanging::pivot"/>
      <parent>world</parent>
      <child>hanging::bob</child>
      <axis><xyz expressed_in="world">0 1 0</xyz></axis>
    </joint>
  </world>
</sdf>"""

with tempfile.TemporaryDirectory() as folder:
    Path(folder, "pendulum.sdf").write_text(PENDULUM)
    Path(folder, "workshop.sdf").write_text(WORLD)
    model = sixd.load(Path(folder, "workshop.sdf"))
    fixed = sixd.load(Path(folder, "workshop.sdf"), floating_base=False)
print(model)
print(f"with floating_base=False: nv = {fixed.nv} instead of {model.nv}")

# the file's configuration is the neutral one, and placement frames are where it puts them
q = model.neutral()
for name, x in (("hanging", 0), ("shelved", 1), ("loose", 2)):
    np.testing.assert_allclose(sixd.pose(model, q, f"{name}::pivot")[:3, 3], [x, 0, 2], atol=1e-14)
    np.testing.assert_allclose(sixd.pose(model, q, f"{name}::bob")[:3, 3], [x, 0, 1.5], atol=1e-14)

# the joint's inertia and stiffness, by hand: I = Icom + m l², k = m g l
m, l, g = 2.0, 0.5, 9.81
inertia = sixd.mass_matrix(fixed, [0.0])[0, 0]
print(f"hanging: inertia {inertia:.4f} kg m², period {2 * np.pi * np.sqrt(inertia / (m * g * l)):.4f} s")
assert abs(inertia - (0.02 + m * l**2)) < 1e-14
assert abs(sixd.gravity_force(fixed, [0.3])[0] - m * g * l * np.sin(0.3)) < 1e-12

# the loose one falls
motion = sixd.simulate(model, q, None, 0.5)
fallen = 1.5 - sixd.pose(model, motion.q[-1], "loose::bob")[2, 3]
print(f"loose: fell {fallen:.4f} m in 0.5 s; g t²/2 = {g * 0.5**2 / 2:.4f} m")
assert abs(fallen - g * 0.5**2 / 2) < 1e-9  # the sum of 500 steps
