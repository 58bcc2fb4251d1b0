"""Mistakes that users make, each answered by one clear error of the family, or by a finding; none in silence."""

import decimal

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd
from peers import pin
from sixd.spatial import rotz
from urdf_text import CHAIN, joint, link, robot

ARM = sixd.zoo.panda_arm()
INERTIA = sixd.box(1, 2, 3, mass=1.0)


def build(joint=None, **options):
    builder = sixd.ModelBuilder("m")
    builder.add_body("b", "world", joint or sixd.Revolute("z"), inertia=INERTIA, **options)
    return builder.build()


class Geared(sixd.Revolute):
    def transform(self, q):
        return rotz(2 * q[0])

    def subspace(self, q):
        return 2 * super().subspace(q)


class Countless(sixd.Joint):
    def transform(self, q):
        return np.eye(6)

    def subspace(self, q):
        return np.zeros((6, 1))


class Lists(Countless):
    nq = nv = 1

    def subspace(self, q):
        return [[0]] * 6


def mimics(*relations):
    builder = sixd.ModelBuilder("m")
    for name in "abc":
        builder.add_body(name, "world", sixd.Spherical() if name == "c" else sixd.Revolute("z"))
    for relation in relations:
        builder.add_constraint(sixd.Mimic(*relation))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: sixd.ModelBuilder(gravity=-9.81), r"gravity has shape \(\), expected \(3,\)"),
        (lambda: sixd.from_dh([{"a": 1, "mass": 1}], gravity=9.81), r"gravity has shape \(\), expected \(3,\)"),
        (lambda: ARM.with_gravity(9.81), r"with_gravity: gravity has shape \(\)"),
        (lambda: ARM.with_gravity([0, 0, np.nan]), "with_gravity: gravity is .*nan"),
        (lambda: ARM.with_gravity(["a", "b", "c"]), "gravity is .*expected numbers"),
        (lambda: build(armature=np.inf), "armature is .*inf.*, expected finite numbers"),
        (lambda: build(effort=np.nan), "effort is .*nan.*infinity allowed"),
        (lambda: build(limits=(np.nan, 1)), "limits is .*nan"),
        (lambda: build(damping="x"), "damping is 'x', expected numbers"),
        (lambda: build(sixd.Spherical(), stiffness=1, rest=[0, 0, 0, 0]), "rest has a zero quaternion"),
        (lambda: build(sixd.Spherical(), stiffness=1, rest=[0, 0, 0, 2]), "rest has a quaternion of length 2, expected length 1, in the order w, x, y, z"),
        (lambda: build(sixd.Helical("z", "a")), "Helical: pitch is 'a', expected numbers"),
        (lambda: build(sixd.Helical("z", None)), "Helical: pitch is None"),
        (lambda: build(Countless()), "nq is None, expected a whole number"),
        (lambda: build(Lists()), r"subspace\(q\) is a list, expected a NumPy array"),
        (lambda: sixd.to_urdf(build(Geared("z"))), r"cannot hold joint 'b' \(Geared\)"),
        (lambda: mimics(("a", "b", np.nan)), "multiplier or offset is .*nan"),
        (lambda: mimics(("a", "b", "x")), "multiplier or offset is 'x'"),
        (lambda: mimics(("a", "a")), "follows 'a' itself, expected no circle"),
        (lambda: mimics(("a", "b"), ("b", "a")), "follows 'b' itself, expected no circle"),
        (lambda: mimics(("a", "c")), "'c' has [0-9] coordinates"),
        (lambda: sixd.placement((0, 0, 0), (0, 0, 0), R=np.eye(3)), "got both rpy and R"),
        (lambda: sixd.placement(R=np.ones((3, 3))), "expected a rotation matrix"),
        (lambda: sixd.placement((np.nan, 0, 0)), "expected finite numbers"),
        (lambda: sixd.zoo.pendulum(1, sp.Symbol("l")).substitute({"l": np.nan}), "substitute: l is nan"),
        (lambda: sixd.check(None), "check: model is a NoneType, expected a sixd.Model"),
        (lambda: sixd.to_urdf(None), "to_urdf: model is a NoneType"),
        (lambda: sixd.to_urdf(ARM, "/no/such/folder/x.urdf"), "cannot write '/no/such/folder/x.urdf': No such file"),
        (lambda: ARM.lock(["joint1"]), "expected a mapping such as"),
        (lambda: ARM.lock({"joint1": "a"}), "lock: joint 'joint1' is 'a', expected numbers"),
        (lambda: ARM.attach(None), "attach: got None"),
        (lambda: ARM.attach(ARM, "tool", prefix=3), "the prefix 3"),
        (lambda: ARM.random_configuration("a"), "rng is 'a', expected a numpy.random.Generator"),
        (lambda: ARM.random_configuration(-1), "rng is -1"),
        (lambda: sixd.hybrid_dynamics(ARM, None, *np.zeros((4, 7))), "given is None, expected a list of joint names"),
        (lambda: sixd.interop.to_pinocchio(ARM, np.zeros(7), pinocchio_model=3), "pinocchio_model is a int"),
        (lambda: sixd.interop.to_mujoco(ARM, np.zeros(7), mujoco_model="x"), "mujoco_model is a str"),
        (lambda: sixd.Inertia("1"), "mass is '1', expected numbers"),
        (lambda: sixd.Inertia(None), "mass is None"),
        (lambda: sixd.sphere("1", mass=1), "sphere: radius is '1', expected numbers"),
        (lambda: sixd.sphere(1, mass="1"), "sphere: mass is '1'"),
        (lambda: sixd.from_dh(None), "rows is None, expected a list of mappings"),
        (lambda: sixd.from_dh([{"alfa": 0}]), "no key named 'alfa'. Did you mean 'alpha'?"),
        (lambda: sixd.from_dh([{"a": np.nan}]), "row 1: a is nan"),
        (lambda: sixd.from_dh([(0, 0, 0)]), r"row 1 is \(0, 0, 0\), expected a mapping .*, or a tuple \(alpha, a, d, theta"),
        (lambda: sixd.from_dh([(0, 0, 0, 0, "fixd")]), "no joint type named 'fixd'. Did you mean 'fixed'?"),
        (lambda: sixd.from_dh([{"joint": "fixed", "damping": 1}]), "row 1 is fixed and has damping, expected no such entry"),
        (lambda: sixd.from_dh([], convention="classic"), "no convention named 'classic'"),
        (lambda: sixd.zoo.planar(2.5), "n is 2.5, expected a whole number"),
        (lambda: sixd.ModelBuilder().add_body(None, "world", sixd.Revolute("z")), "name is None, expected a non-empty string"),
        (lambda: sixd.ModelBuilder().add_body("a", None, sixd.Revolute("z")), "no body named None"),
        (lambda: sixd.ModelBuilder().add_body("joint:a", "world", sixd.Revolute("z")), "the prefix 'joint:' is reserved"),
        (lambda: sixd.ModelBuilder().add_visual("world", "box"), "shape is 'box', expected a sixd.Shape"),
        (lambda: sixd.Shape("boxx"), "no kind named 'boxx'. Did you mean 'box'?"),
        (lambda: sixd.load(CHAIN, floating_base="no"), "floating_base is 'no', expected True or False"),
        (lambda: sixd.load(""), "the source is an empty string"),
        (lambda: sixd.from_dh([{"d": 1j, "mass": 1}]), "row 1: d is 1j, expected numbers"),
        (lambda: sixd.from_dh([{"a": np.array([1.0, 2])}]), "row 1: a is array"),
        (lambda: sixd.from_dh([{"a": 1}], tool=[None, 1, 2]), "placement: xyz, rpy or R is .*None"),
        (lambda: sixd.Helical("z", 1j), "pitch is 1j, expected numbers"),
        (lambda: sixd.Inertia(decimal.Decimal(1)), "mass is Decimal"),
        (lambda: ARM.lock({"joint1": None}), "lock: joint 'joint1' is None"),
        (lambda: ARM.lock({"joint1": [[1], [1, 2]]}), "expected numbers in a regular shape"),
        (lambda: ARM.lock({"joint1": 10**400}), "too large for a float"),
        (lambda: sixd.zoo.single_body().lock({"box": np.zeros(7)}), "Is its quaternion zero"),
        (lambda: sixd.external_force(ARM, np.zeros(7), "tool", [[1], [1, 2]]), "wrench is .*regular shape"),
        (lambda: sixd.external_force(sixd.zoo.single_body(), np.zeros(7), "box", np.ones(6), expressed_in="body"), "quaternion of joint 'box' is zero"),
        (lambda: sixd.pose(sixd.zoo.single_body(), [1e-155, 0, 0, 0, 0, 0, 0], "box"), "box' has length 1e-155 in q, expected 1. Its order is w, x, y, z"),
        (lambda: sixd.hybrid_dynamics(ARM, [], *np.zeros((3, 7)), np.ma.masked_less(np.zeros(7), 1)), "tau is a masked array"),
        (lambda: sixd.hybrid_dynamics(ARM, [], *np.zeros((2, 7)), [[1], [1, 2]], np.zeros(7)), "regular shape"),
        (lambda: sixd.hybrid_dynamics(ARM, [], *np.zeros((2, 7)), ["a"] * 7, np.zeros(7)), "qdd is .*expected numbers"),
    ],
)  # fmt: skip
def test_mistakes_are_named(call, message):
    with pytest.raises(sixd.SixdError, match=message):
        call()


def test_negative_properties_are_findings():
    """Negative armature, damping and the like are accepted, and listed."""
    model = build(armature=-0.1, damping=-1, friction=-2)
    found = {(f.code, f.where, f.message.split(" is ")[0]) for f in sixd.check(model)}
    assert found == {("negative-property", "b", f"its {key}") for key in ("armature", "damping", "friction")}


def test_symbolic_models_have_random_configurations():
    assert sixd.zoo.pendulum(2, sp.Symbol("l")).random_configuration(0).shape == (2,)


def test_package_dirs_may_be_none():
    assert sixd.load(CHAIN, package_dirs=None).nv == 2


@pytest.mark.parametrize("name", ["pendulum", "cart_pole", "panda_arm", "tree"])
def test_written_urdf_is_read_by_others(name, rng):
    """Joints without limits are written with numbers that urdfdom takes, and read back as unlimited."""
    model = sixd.zoo.get(name)
    text = sixd.to_urdf(model)
    other = pin.buildModelFromXML(text)
    assert other.nv == model.nv
    assert np.array_equal(sixd.load(text).upper, model.upper)


def test_control_characters_cannot_be_written():
    builder = sixd.ModelBuilder("m")
    builder.add_body("a\x01", "world", sixd.Revolute("z"), inertia=INERTIA)
    with pytest.raises(sixd.ModelError, match="has a control character"):
        sixd.to_urdf(builder.build())


# files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "inside",
    [
        "<geometry><mesh filename='a.stl' scale='1 1 1 1'/></geometry>", "<geometry><mesh/></geometry>", "<geometry><box size='1 2'/></geometry>",
        "<origin xyz='0 0 x'/><geometry><sphere radius='1'/></geometry>",
        "<geometry><sphere radius='1'/></geometry><material name='m'><color rgba='1 0 0'/></material>",
    ],
)  # fmt: skip
def test_broken_shapes_do_not_stop_a_load(inside):
    with pytest.warns(sixd.ModelWarning, match="b: a shape is left out: <text>, line 3"):
        model = sixd.load(robot(link("a"), link("b", extra=f"<visual>{inside}</visual>"), joint("j", "a", "b")))
    assert model.visuals == ()


@pytest.mark.parametrize(
    ("inertial", "missing"),
    [
        ("<mass value='1'/>", "no <inertia>, zero is assumed"),
        ("<inertia ixx='1' iyy='1' izz='1'/>", "no <mass>, zero is assumed"),
        ("<mass value='1'/><inertia ixx='1' izz='1'/>", "no iyy, zero is assumed"),
    ],
)
def test_incomplete_inertials_are_reported(inertial, missing):
    text = robot(link("a"), f"<link name='b'><inertial>{inertial}</inertial></link>", joint("j", "a", "b"))
    with pytest.warns(sixd.ModelWarning) as caught:
        model = sixd.load(text)
    assert any(missing in str(w.message) for w in caught)
    assert "missing-inertia" in [f.code for f in sixd.check(model)]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "latin-1", "gb2312", "shift_jis"])
def test_encodings(encoding):
    """Declared encodings that Python knows, byte-order marks, and undeclared bytes of Latin-1."""
    name = {"gb2312": "臂", "shift_jis": "腕"}.get(encoding, "Ärm")
    text = CHAIN.replace("'r'", f"'{name}'")
    data = (
        text.encode(encoding)
        if encoding in ("utf-8-sig", "latin-1")
        else f"<?xml version='1.0' encoding='{encoding}'?>{text}".encode(encoding)
    )
    assert sixd.load(data).name == name


def test_mimic_circles_in_files_are_findings():
    text = robot(
        link("a"), link("b"), link("c"), joint("j", "a", "b", inside="<mimic joint='k'/>"), joint("k", "b", "c", inside="<mimic joint='j'/>"),
    )  # fmt: skip
    with pytest.warns(sixd.ModelWarning, match="k: the relation is ignored: .*no circle"):
        assert sixd.load(text).constraints == (sixd.Mimic("j", "k"),)


def test_links_called_world_and_world_link():
    text = robot(link("world"), link("world_link"), joint("j", "world", "world_link"))
    with pytest.warns(sixd.ModelWarning, match="'world_link_'"):
        assert sixd.load(text, floating_base=True).body_names == ("world_link_", "world_link")


@pytest.mark.long
def test_solves_are_linear_in_the_chain():
    """A chain of 40 bodies is solved in a moment, and M⁻¹ b agrees with M."""
    builder = sixd.ModelBuilder("chain")
    for k in range(40):
        builder.add_body(
            f"b{k}",
            f"b{k - 1}" if k else "world",
            sixd.Revolute("xyz"[k % 3]),
            placement=sixd.placement((0.1, 0, 0)),
            inertia=INERTIA,
        )
    model = builder.build()
    q, b = np.full(40, 0.1), np.ones(40)
    x = sixd.mass_matrix_solve(model, q, b)
    zero = np.zeros(40)
    tau = sixd.inverse_dynamics(model, q, zero, x) - sixd.bias_force(model, q, zero)
    assert_allclose(tau, b, atol=1e-8)  # torques of the chain reach 1e6 N m
