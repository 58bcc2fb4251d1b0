"""Inertia that is fixed to the world: kept, carried on by every edit, and without any part in the results."""

import copy
import pickle

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose, assert_array_equal

import sixd
from sixd.engine.artifact import _model_key

ARM = """
  <link name="base"/>
  <link name="arm"><inertial><origin xyz="0.2 0 0"/><mass value="2"/>
    <inertia ixx="0.01" iyy="0.02" izz="0.02" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tool"/>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 1 0"/>
    <limit lower="-2" upper="2" effort="9" velocity="3"/></joint>
  <joint name="flange" type="fixed"><parent link="arm"/><child link="tool"/>
    <origin xyz="0.4 0 0.1" rpy="0.3 0.2 0.1"/></joint>"""
GRIPPER = """
  <link name="palm"><inertial><origin xyz="0.01 0.02 0.05" rpy="0.1 0.2 0.3"/><mass value="0.73"/>
    <inertia ixx="0.002" iyy="0.003" izz="0.002" ixy="0.0001" ixz="0" iyz="0.0002"/></inertial>
    <visual><geometry><box size="0.1 0.1 0.05"/></geometry></visual></link>
  <link name="finger"><inertial><origin xyz="0 0 0.03"/><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="5e-5" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="slide" type="prismatic"><parent link="palm"/><child link="finger"/><origin xyz="0 0.02 0.1"/>
    <axis xyz="0 1 0"/><limit lower="0" upper="0.05" effort="10" velocity="1"/></joint>"""
BY_HAND = """
  <joint name="mount" type="fixed"><parent link="tool"/><child link="palm"/><origin xyz="0 0 0.02" rpy="0.5 0 0.2"/></joint>"""
MOUNT = sixd.placement((0, 0, 0.02), (0.5, 0, 0.2))
BOX = sixd.box(0.1, 0.2, 0.3, mass=2.0).translated((0, 0, 0.1))


def robot(*parts):
    return f'<robot name="r">{"".join(parts)}</robot>'


@pytest.fixture(scope="module")
def arm():
    return sixd.load(robot(ARM))


@pytest.fixture(scope="module")
def gripper():
    return sixd.load(robot(GRIPPER))


def payload(inertia=BOX):
    """A model that is one body fixed to its world, drawn as a box."""
    builder = sixd.ModelBuilder("payload")
    builder.add_body("box", "world", sixd.Fixed(), inertia=inertia, placement=MOUNT)
    builder.add_visual("box", sixd.Shape("box", (0.1, 0.2, 0.3)))
    return builder.build()


def world_mass(model):
    return model.body_inertia("world").mass


# it is kept -----------------------------------------------------------------------------------------


def test_a_root_link_keeps_its_inertia(gripper):
    """A file's root link is fixed to the world: its mass is there, next to that of the moving bodies."""
    assert (gripper.mass, world_mass(gripper)) == (0.1, 0.73)
    assert_allclose(gripper.body_inertia("world").com, (0.01, 0.02, 0.05), atol=1e-16)
    assert "mass 0.1 kg, and 0.73 kg fixed to the world\n" in str(gripper)
    named = robot(GRIPPER.replace('"palm"', '"world"'))  # a root link that is the world itself
    assert_array_equal(sixd.load(named).inertia, gripper.inertia)


def test_locked_bodies_join_the_world():
    arm = sixd.zoo.ur_arm()
    held = arm.lock({"joint1": 0})
    assert_allclose([arm.mass - held.mass, world_mass(held)], [3.7, 3.7], atol=1e-14)
    every = held.lock(dict.fromkeys(held.joint_names, 0.3))
    assert_allclose([every.mass, world_mass(every)], [0, arm.mass], atol=1e-14)
    # the locked arm as one body is the composite inertia at that configuration
    q = [0, *[0.3] * 5]
    assert_allclose(every.inertia[0], sixd.composite_inertia(arm, q), atol=1e-13)


def test_copies_keep_it(gripper):
    edits = {
        "pickle": pickle.loads(pickle.dumps(gripper)),
        "deepcopy": copy.deepcopy(gripper),
        "without_passive": gripper.without_passive(),
        "with_gravity": gripper.with_gravity((0, 0, 0)),
        "with_frame": gripper.with_frame("tip", "finger"),
        "with_constraints": gripper.with_constraints(sixd.Loop("finger", "palm", "y")),
        "builder": sixd.ModelBuilder.from_model(gripper).build(),
        "submodel": gripper.submodel("finger"),
    }
    for name, model in edits.items():
        assert_array_equal(model.inertia, gripper.inertia, err_msg=name)
        assert ("palm" in model.frames, len(model.visuals)) == (True, 1), name


def test_a_submodel_leaves_the_world_behind_where_another_body_carries_it():
    arm = sixd.zoo.ur_arm().lock({"joint1": 0})
    assert_allclose(world_mass(arm.submodel("link2")), 3.7, atol=1e-14)
    part = arm.submodel("link3")
    assert (world_mass(part), "link1" in part.frames) == (0, False)


def test_symbols_are_kept_and_replaced():
    m = sympy.Symbol("m", positive=True)
    model = payload(sixd.Inertia(m, (0, 0, 1)))
    assert (model.symbols, model.mass, world_mass(model)) == ((m,), 0, m)
    expected = sixd.Inertia(2.0, (0, 0, 1)).moved(MOUNT).matrix
    assert_allclose(model.substitute({m: 2.0}).inertia[0], expected, atol=1e-15)
    pendulum = sixd.zoo.pendulum()
    body = pendulum.body_names[0]
    assert sympy.simplify(pendulum.attach(model, body).mass - pendulum.mass - m) == 0


# it is carried --------------------------------------------------------------------------------------


def same_dynamics(one, other, rng):
    assert one.joint_names == other.joint_names
    q = one.random_configuration(rng)
    qd, qdd = rng.normal(size=(2, one.nv))
    assert_allclose(sixd.mass_matrix(one, q), sixd.mass_matrix(other, q), atol=1e-13)
    tau = [sixd.inverse_dynamics(model, q, qd, qdd) for model in (one, other)]
    assert_allclose(*tau, atol=1e-12)


def test_attach_carries_the_root_link(arm, gripper, rng):
    """An arm with a gripper attached is the arm with the gripper written into its file."""
    both = arm.attach(gripper, "tool", placement=MOUNT)
    assert_allclose(both.mass - arm.mass, 0.83, atol=1e-15)
    same_dynamics(both, sixd.load(robot(ARM, GRIPPER, BY_HAND)), rng)
    assert (both.frames["palm"].body, both.visuals[0].body) == (1, 1)
    # on the world it stays fixed
    assert_allclose(world_mass(arm.attach(gripper)), 0.73, atol=1e-16)


def test_a_payload_adds_its_mass(arm, rng):
    """Built on Fixed() and attached, written with with_payload, or added to a builder: the same."""
    direct = arm.with_payload("box", "tool", BOX, placement=MOUNT, shapes=[sixd.Shape("box", (0.1, 0.2, 0.3))])
    attached = arm.attach(payload(), "tool")
    builder = sixd.ModelBuilder.from_model(arm)
    builder.add_body("box", "tool", sixd.Fixed(), inertia=BOX, placement=MOUNT)
    assert payload().nb == 0
    for model in (direct, attached, builder.build()):
        assert_allclose(model.mass - arm.mass, 2.0, atol=1e-15)
        assert_allclose(model.frames["box"].pose, direct.frames["box"].pose, atol=1e-16)
        same_dynamics(model, direct, rng)
    for model in (direct, attached):
        assert model.visuals[0].shape.size == (0.1, 0.2, 0.3)
        assert_allclose(model.visuals[0].pose, model.frames["box"].pose, atol=1e-16)


def test_a_payload_leaves_functions_of_q_alone(arm):
    """No coordinate is added, so a constraint on the whole q still holds."""
    held = arm.with_constraints(sixd.Holonomic(lambda q: q[:1] - 0.3))
    assert len(held.with_payload("box", "tool", BOX).constraints) == 1
    assert len(held.attach(payload(), "tool").constraints) == 1


def test_urdf_keeps_it(gripper):
    """On the link that is fixed, not on the world, whose inertia other readers drop."""
    text = sixd.to_urdf(gripper)
    world, palm = (text.split(f'<link name="{name}">')[1].split("</link>")[0] for name in ("world", "palm"))
    assert "inertial" not in world
    assert '<mass value="0.73"/>' in palm
    assert_allclose(sixd.load(text).inertia, gripper.inertia, atol=1e-16)
    # without any frame on the world, there is but the world
    named = sixd.load(robot(GRIPPER.replace('"palm"', '"world"')))
    assert_allclose(sixd.load(sixd.to_urdf(named)).inertia, gripper.inertia, atol=1e-16)


def test_a_chain_of_edits_loses_nothing(arm, gripper):
    both = arm.attach(gripper, "tool", placement=MOUNT).with_payload("box", "palm", BOX)
    held = both.lock({"shoulder": 0.4})
    assert_allclose(world_mass(held), arm.mass + 2.73, atol=1e-14)
    again = sixd.load(sixd.to_urdf(held.submodel("finger")))
    assert_allclose(again.inertia, held.inertia, atol=1e-14)
    onto = sixd.zoo.pendulum()
    moved = onto.attach(again, onto.body_names[0], prefix="g_")
    assert_allclose(moved.mass - onto.mass, both.mass, atol=1e-14)


# it takes no part -----------------------------------------------------------------------------------


def test_results_do_not_depend_on_it(gripper):
    """Every function, and the key of compiled code, is that of the model with nothing fixed."""
    light = sixd.load(robot(GRIPPER.replace("0.73", "0")))
    heavy = sixd.ModelBuilder.from_model(light)
    heavy.add_inertia("palm", sixd.box(1, 1, 1, mass=1e6))
    heavy = heavy.build()
    q, qd = np.array([0.02]), np.array([0.7])
    assert _model_key(light) == _model_key(heavy)
    calls = {
        "mass_matrix": (q,), "inverse_dynamics": (q, qd, qd), "forward_dynamics": (q, qd, qd), "energy": (q, qd),
        "momentum": (q, qd), "center_of_mass": (q,), "centroidal_matrix": (q,), "composite_inertia": (q,),
        "coriolis_matrix": (q, qd), "gravity_force": (q,),
    }  # fmt: skip
    symbol = np.array([sympy.Symbol("x")])  # the plain algorithms: both models share their compiled code
    for name, arrays in calls.items():
        function = getattr(sixd, name)
        for row in (arrays, [symbol if x is q else x.astype(object) for x in arrays]):
            one, other = (np.asarray(function(model, *row)) for model in (light, heavy))
            assert (one == other).all(), name
    assert (light.mass, heavy.mass) == (0.1, 0.1)


def test_only_fixed_links():
    """A model without moving bodies: empty arrays, or an error that says why."""
    model, none = payload(), np.zeros(0)
    assert (model.nb, model.nq, world_mass(model)) == (0, 0, 2.0)
    assert sixd.mass_matrix(model, none).shape == (0, 0)
    assert sixd.inverse_dynamics(model, np.zeros((3, 0)), none, none).shape == (3, 0)
    assert_allclose(sixd.pose(model, none, "box"), MOUNT, atol=1e-16)
    assert not sixd.composite_inertia(model, none).any()
    assert sixd.check(model) == []
    assert_allclose(sixd.load(sixd.to_urdf(model)).inertia, model.inertia, atol=1e-15)
    with pytest.raises(sixd.ModelError, match="'payload' has no mass, so no centre of mass"):
        sixd.center_of_mass(model, none)
    with pytest.raises(sixd.ScalarTypeError, match="has no degrees of freedom"):
        sixd.simulate(model, none, none, duration=1.0)


# mistakes -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: sixd.ModelBuilder(m), r"name is <Model .*expected a string. To extend a model use ModelBuilder.from_model"),
        (lambda m: sixd.ModelBuilder(3), "name is 3, expected a string. Give a name"),
        (lambda m: sixd.ModelBuilder.from_model("arm"), "ModelBuilder.from_model: model is a str, expected a sixd.Model"),
        (lambda m: m.with_payload("arm", "tool", BOX), "with_payload 'arm': a body or frame of that name exists"),
        (lambda m: m.with_payload("box", "tol", BOX), "with_payload 'box': .*no frame named 'tol'. Did you mean 'tool'?"),
        (lambda m: m.with_payload("box", "tool", 2.0), "with_payload 'box': inertia is a float, expected a sixd.Inertia"),
        (lambda m: m.with_payload("box", "tool", BOX, shapes=["box"]), "with_payload 'box': shapes is .*tuple of sixd.Shape"),
        (lambda m: m.with_payload("box", "tool", BOX, placement=(0, 0, 1)), r"placement has shape \(3,\), expected \(4, 4\)"),
        (lambda m: sixd.ModelBuilder.from_model(m).add_inertia("tool", 2.0), "add_inertia: inertia is a float"),
        (
            lambda m: sixd.ModelBuilder.from_model(m).add_body("x", "tool", sixd.Revolute("z"), joint_name="flange"),
            "a joint named 'flange' exists already",
        ),
    ],
)  # fmt: skip
def test_errors(arm, call, message):
    with pytest.raises(sixd.SixdError, match=message):
        call(arm)


def test_mimic_joints_are_held_with_their_source(rng):
    """And so on along a chain; a warning for what has to be dropped names no Python list."""
    builder = sixd.ModelBuilder("fingers")
    for k in range(3):
        builder.add_body(f"f{k}", "world", sixd.Prismatic("x"), inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_constraint(sixd.Mimic("f1", "f0", -2.0, 0.1))
    builder.add_constraint(sixd.Mimic("f2", "f1"))
    model = builder.build()
    held = model.lock({"f0": 0.3})
    assert held.nv == 0
    assert not held.constraints
    for name, x in (("f0", 0.3), ("f1", -0.5), ("f2", -0.5)):
        assert sixd.pose(held, [], name)[0, 3] == pytest.approx(x, abs=1e-15)
    with pytest.warns(sixd.ModelWarning, match="is dropped, since 'f2' no longer moves"):
        assert model.lock({"f2": 0.0}).nv == 2
