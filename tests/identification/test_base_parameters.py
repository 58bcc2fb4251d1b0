"""Base parameters: their number, their formulas, and that torques depend on them alone."""

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import sixd
from peers import pin
from robots import FIVE, ByName, pinocchio_model, quiet_load
from samples import KINDS, Parabola, single_joint
from sixd.identification import base_parameters
from sixd.identification.structure.columns import make_columns

pytestmark = pytest.mark.one_target
EVERYTHING = {"friction": True, "armature": True}
OPTIONS = [{}, EVERYTHING, {"armature": True}, {"friction": "offset"}]


def random_states(model, count, rng):
    """States of which q is not within the limits."""
    free = [np.full(joint.nq, np.inf) for joint in model.joints]
    q = [joint.random_rows(rng, -x, x, count) for joint, x in zip(model.joints, free, strict=True)]
    return np.concatenate(q, axis=1), *rng.uniform(-3, 3, (2, count, model.nv))


def rows(columns, rng):
    """The regressor at random states, its columns of length 1 or 0."""
    count = 2 * columns.count // columns.model.nv + 20
    W = columns.regressor(*random_states(columns.model, count, rng)).reshape(-1, columns.count)
    size = np.linalg.norm(W, axis=0)
    return W / np.where(size > 1e-9 * size.max(), size, np.inf)


@pytest.mark.many
@pytest.mark.parametrize(("name", "count"), [("puma560", 36), ("ur_arm", 36), ("panda_arm", 43), ("pendulum", 3)])
@pytest.mark.parametrize("method", ["numeric", "ring"])
def test_their_number(name, count, method):
    base = base_parameters(sixd.zoo.get(name), method=method)
    assert len(base) == count
    assert repr(base) == f"<BaseParameters of {base.model.name!r}: {count} of {10 * base.model.nb}>"


def free_trees():
    """The models of the zoo without constraints, random trees, and every joint alone."""
    zoo = [sixd.zoo.get(name) for name in sixd.zoo.names()]
    trees = [model for model in zoo if not model.constraints]
    result = [*trees, *(sixd.zoo.random_tree(seed) for seed in (1, 2)), *map(single_joint, KINDS)]
    # the regressor of large ones takes seconds to compile
    return [pytest.param(m, marks=pytest.mark.long if m.nb > 8 else (), id=m.name) for m in result]


@pytest.mark.many
@pytest.mark.parametrize("model", free_trees())
def test_their_number_is_the_rank_of_the_regressor(model, rng):
    every = make_columns("test", model, True, True)
    W = rows(every, rng)
    for options in OPTIONS:
        base = base_parameters(model, **options)
        values = np.linalg.svd(W[:, [every.names.index(name) for name in base.names]], compute_uv=False)
        assert len(base) == (values > 1e-8 * values[0]).sum()


@pytest.mark.parametrize("model", [sixd.zoo.ur_arm(), single_joint("free")], ids=lambda m: m.name)
def test_torques_depend_on_them_alone(model, rng):
    base = base_parameters(model, **EVERYTHING)
    state = random_states(model, 20, rng)
    W = base.columns.regressor(*state)
    assert_allclose(base.regressor(*state) @ base.matrix, W, atol=1e-11 * np.abs(W).max())
    assert_allclose(base.matrix[:, base.independent], np.eye(len(base)), atol=0)
    tau = base.regressor(*state) @ base.of(model)
    expected = sixd.inverse_dynamics(model, *state) - base.columns.known(*state)
    assert_allclose(tau, expected, atol=1e-11 * np.abs(expected).max())


@pytest.mark.parametrize("name", ["puma560", "panda_arm", "rp_arm", "cart_pole", "spinning_top"])
def test_closed_forms_are_those_of_numbers(name):
    model = sixd.zoo.get(name)
    result, expected = base_parameters(model, method="ring"), base_parameters(model)
    assert result.independent == expected.independent
    assert_allclose(result.matrix.astype(float), expected.matrix, atol=1e-10)


def test_closed_form_of_the_pendulum():
    """The axis along y: torques are Iyy qdd and those of the weight at (hx, hz)."""
    formulas = base_parameters(sixd.zoo.pendulum(1), method="ring").formulas
    assert set(map(str, formulas)) == {"hx1", "hz1", "Iyy1"}
    still = base_parameters(sixd.zoo.pendulum(1).with_gravity((0, 0, 0)))
    assert [str(f) for f in still.formulas] == ["Iyy1"]


def test_closed_form_of_a_planar_arm():
    """Two links with symbols: the second mass adds to the first link's moments, as in every textbook."""
    l1, l2, m1, m2, g = sympy.symbols("l1 l2 m1 m2 g", positive=True)
    base = base_parameters(sixd.zoo.point_arm(l1, l2, m1, m2, g), armature=True)
    symbol = {name: sympy.Symbol(name) for name in base.names}
    expected = {
        symbol["hx1"] + l1 * symbol["m2"],
        symbol["hy1"],
        symbol["Izz1"] + l1**2 * symbol["m2"] + symbol["Ia1"],
        symbol["hx2"],
        symbol["hy2"],
        symbol["Izz2"],
        symbol["Ia2"],
    }
    assert {sympy.expand(f) for f in base.formulas} == expected
    assert "Ixx1" in base.unobservable
    number = {l1: 0.7, l2: 0.4, m1: 1.0, m2: 2.0, g: 9.81}
    numbers = base_parameters(base.model.substitute(number), armature=True)
    assert numbers.independent == base.independent
    result = np.array([[float(x.subs(number)) for x in row] for row in base.matrix])
    assert_allclose(result, numbers.matrix, atol=1e-10)


def test_a_vertical_slider_with_armature_and_offset():
    """m (qdd + g) = Ia qdd + o: one of the three cannot be distinguished from the others."""
    builder = sixd.ModelBuilder("lift")
    builder.add_body("car", "world", sixd.Prismatic("z"), inertia=sixd.point(3.0))
    model = builder.build()
    assert len(base_parameters(model, armature=True)) == 2
    assert len(base_parameters(model, friction="offset")) == 2
    assert len(base_parameters(model, armature=True, friction="offset")) == 2
    assert len(base_parameters(model, armature=True, friction="offset", method="ring")) == 2


def test_joints_of_users(rng):
    builder = sixd.ModelBuilder("slide")
    builder.add_body("bead", "world", Parabola(), inertia=sixd.box(1, 2, 3, mass=4.0))
    base = base_parameters(builder.build(), armature=True)
    values = np.linalg.svd(rows(base.columns, rng), compute_uv=False)
    assert len(base) == (values > 1e-8 * values[0]).sum()


def test_angles_that_are_nearly_right():
    """Files write 1.570796 for 90°: what is as small as the error counts as zero."""

    def arm(right):
        builder, parent = sixd.ModelBuilder("arm"), "world"
        for k, (x, turn) in enumerate([(0.0, right), (0.1, right), (0.3, 0.0), (0.2, -right), (0.0, right)]):
            T, axis = sixd.placement((x, 0.05, 0.0), rpy=(turn, 0, 0)), "z" if k else "y"  # the first is vertical
            builder.add_body(f"b{k}", parent, sixd.Revolute(axis), inertia=sixd.box(1, 2, 3, mass=1.0), placement=T)
            parent = f"b{k}"
        return builder.build()

    exact = base_parameters(arm(np.pi / 2))
    assert base_parameters(arm(1.570796)).independent == exact.independent
    assert base_parameters(arm(1.57079632679)).independent == exact.independent
    assert len(base_parameters(arm(1.570796), tolerance=1e-9)) > len(exact)


def test_pinocchio_s_regressor_has_the_same_rank_and_columns(rng):
    """Pinocchio's regressor times a change of parameters without effect is zero, and its rank is their number."""
    model, other = quiet_load(FIVE["ur5"]).without_passive(), pinocchio_model(FIVE["ur5"])
    by_name, data = ByName(model, other), other.createData()
    order = [0, 1, 2, 3, 4, 6, 9, 8, 7, 5]
    result = []
    for q, qd, qdd in zip(*random_states(model, 30, rng), strict=True):
        theirs = pin.computeJointTorqueRegressor(other, data, by_name.q(q), by_name.v(qd), by_name.v(qdd))
        starts = [10 * (other.getJointId(joint) - 1) for joint in model.joint_names]
        result.append(np.hstack([theirs[by_name.columns][:, k : k + 10][:, order] for k in starts]))
    W = np.concatenate(result)
    base = base_parameters(model)
    assert_allclose(W[:, base.independent] @ base.matrix, W, atol=1e-10 * np.abs(W).max())
    values = np.linalg.svd(W[:, base.independent], compute_uv=False)
    assert values[-1] > 1e-6 * values[0]
    assert len(base) == 36


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"friction": "dry"}, "no kind named 'dry'"),
        ({"friction": 3}, "friction is 3"),
        ({"armature": 1.0}, "armature is 1.0"),
        ({"method": "svd"}, "no method named 'svd'"),
        ({"tolerance": -1}, "tolerance is -1"),
        ({"tolerance": np.nan}, "tolerance is nan"),
    ],
)
def test_wrong_options(options, words):
    with pytest.raises(sixd.SixdError, match=words):
        base_parameters(sixd.zoo.planar(2), **options)


def test_wrong_models():
    with pytest.raises(sixd.ScalarTypeError, match="expected a sixd.Model"):
        base_parameters("ur5")
    with pytest.raises(sixd.ModelError, match="has constraints"):
        base_parameters(sixd.zoo.four_bar())
    with pytest.raises(sixd.ModelError, match="has no joints"):
        base_parameters(sixd.ModelBuilder("nothing").build())
    l1, l2, m1, m2, g = sympy.symbols("l1 l2 m1 m2 g")
    with pytest.raises(sixd.ScalarTypeError, match="symbolic parameters"):
        base_parameters(sixd.zoo.point_arm(l1, l2, m1, m2, g), method="numeric")
    with pytest.raises(sixd.SixdError, match="expected"):
        base_parameters(sixd.zoo.planar(2)).of(np.zeros(3))
    with pytest.raises(sixd.SixdError, match="expected"):
        base_parameters(sixd.zoo.planar(2)).of(sixd.zoo.planar(3))


def test_rotations_in_decimals():
    """A rotation by 0.3 rad in floats is not exactly one; the closed form has the decimals."""
    builder = sixd.ModelBuilder("tilted")
    builder.add_body("a", "world", sixd.Revolute("z"), inertia=sixd.box(1, 2, 3, mass=1.0))
    tilt = sixd.placement((0.1, 0.2, 0.3), rpy=(0.3, 0.5, 0.7))
    builder.add_body("b", "a", sixd.Revolute("z"), inertia=sixd.box(1, 2, 3, mass=1.0), placement=tilt)
    builder.add_body("c", "b", sixd.Revolute("x"), inertia=sixd.box(1, 2, 3, mass=1.0), placement=tilt)
    model = builder.build()
    result = base_parameters(model, method="ring")
    assert len(result) == len(base_parameters(model))


def test_names_and_units():
    columns = make_columns("test", sixd.zoo.cart_pole(), True, True)
    assert columns.names[:4] == ("m1", "hx1", "hy1", "hz1")
    assert columns.names[20:] == ("D1", "D2", "F1", "F2", "o1", "o2", "Ia1", "Ia2")
    assert columns.units[20:] == ("N s/m", "N m s/rad", "N", "N m", "N", "N m", "kg", "kg m²")


def test_regressors_of_wrong_arrays():
    base = base_parameters(sixd.zoo.planar(2))
    rows = np.zeros((6, 2))
    with pytest.raises(sixd.ShapeError, match="BaseParameters.regressor: the batch dimensions do not broadcast"):
        base.regressor(rows, rows, rows[:3])
    with pytest.raises(sixd.ShapeError, match=r"qd has shape \(6, 1\)"):
        base.regressor(rows, rows[:, :1], rows)
    with pytest.raises(sixd.ScalarTypeError, match="q holds"):
        base.regressor("here", rows, rows)
    assert base.regressor(rows[0], rows, rows[:1]).shape == (6, 2, len(base))
