"""The border: batches, broadcasting, dtypes, ``out=``, and errors for wrong arguments."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd

MODEL = sixd.zoo.random_tree(0, kinds=("universal", "revolute", "spherical"))  # quickly compiled
ARM = sixd.zoo.panda_arm()

# name, call, names of its array arguments
CALLS = {
    "inverse_dynamics": (lambda m, **a: sixd.inverse_dynamics(m, **a), ("q", "qd", "qdd", "f_ext")),
    "forward_dynamics": (lambda m, **a: sixd.forward_dynamics(m, **a), ("q", "qd", "tau", "f_ext")),
    "hybrid_dynamics": (lambda m, **a: sixd.hybrid_dynamics(m, ["joint2"], **a), ("q", "qd", "qdd", "tau", "f_ext")),
    "mass_matrix": (lambda m, **a: sixd.mass_matrix(m, **a), ("q",)),
    "coriolis_matrix": (lambda m, **a: sixd.coriolis_matrix(m, **a), ("q", "qd")),
    "bias_force": (lambda m, **a: sixd.bias_force(m, **a), ("q", "qd", "f_ext")),
    "gravity_force": (lambda m, **a: sixd.gravity_force(m, **a), ("q",)),
    "inverse_mass_matrix": (lambda m, **a: sixd.inverse_mass_matrix(m, **a), ("q",)),
    "mass_matrix_solve": (lambda m, **a: sixd.mass_matrix_solve(m, **a), ("q", "b")),
    "energy": (lambda m, **a: sixd.energy(m, **a), ("q", "qd")),
    "momentum": (lambda m, **a: sixd.momentum(m, **a), ("q", "qd")),
    "center_of_mass": (lambda m, **a: sixd.center_of_mass(m, **a), ("q",)),
    "centroidal_matrix": (lambda m, **a: sixd.centroidal_matrix(m, **a), ("q",)),
    "composite_inertia": (lambda m, **a: sixd.composite_inertia(m, **a), ("q",)),
    "body_poses": (lambda m, **a: sixd.body_poses(m, **a), ("q",)),
    "pose": (lambda m, **a: sixd.pose(m, frame="frame3", **a), ("q",)),
    "jacobian": (lambda m, **a: sixd.jacobian(m, frame="frame3", **a), ("q",)),
    "jacobian_rate": (lambda m, **a: sixd.jacobian_rate(m, frame="frame3", **a), ("q", "qd")),
    "velocity": (lambda m, **a: sixd.velocity(m, frame="frame3", **a), ("q", "qd")),
    "acceleration": (lambda m, **a: sixd.acceleration(m, frame="frame3", **a), ("q", "qd", "qdd")),
    "inverse_operational_inertia": (lambda m, **a: sixd.inverse_operational_inertia(m, frame="frame3", **a), ("q",)),
}
each_call = pytest.mark.parametrize("name", CALLS)


def arguments(model, names, rng, batch=()):
    rows = int(np.prod(batch))
    q = np.array([model.random_configuration(rng) for _ in range(rows)]).reshape((*batch, model.nq))
    shapes = {"f_ext": (model.nb, 6)}
    return {n: q if n == "q" else rng.uniform(-1, 1, batch + shapes.get(n, (model.nv,))) for n in names}


def as_tuple(result):
    return result if isinstance(result, tuple) else (result,)


@pytest.mark.many
@each_call
def test_batches_are_rows(name, rng):
    """Leading dimensions are rows: each equals the unbatched call, to the last bit."""
    call, names = CALLS[name]
    given = arguments(MODEL, names, rng, (2, 3))
    result = as_tuple(call(MODEL, **given))
    for index in np.ndindex(2, 3):
        row = as_tuple(call(MODEL, **{k: v[index] for k, v in given.items()}))
        for whole, one in zip(result, row, strict=True):
            assert np.array_equal(whole[index], one)


@pytest.mark.many
@each_call
def test_broadcasting_strides_and_empty_batches(name, rng):
    """One unbatched argument serves all rows; strided views work; no rows give no rows."""
    call, names = CALLS[name]
    given = arguments(MODEL, names, rng, (4,))
    result = as_tuple(call(MODEL, **given))
    for key in names:
        one = {**given, key: given[key][:1]}
        spread = {**given, key: np.broadcast_to(given[key][:1], given[key].shape)}
        for a, b in zip(as_tuple(call(MODEL, **one)), as_tuple(call(MODEL, **spread)), strict=True):
            assert np.array_equal(np.broadcast_to(a, b.shape), b)
    backwards = as_tuple(call(MODEL, **{k: v[::-1] for k, v in given.items()}))
    for a, b in zip(result, backwards, strict=True):
        assert np.array_equal(a, b[::-1])
    empty = as_tuple(call(MODEL, **{k: v[:0] for k, v in given.items()}))
    for a, b in zip(result, empty, strict=True):
        assert b.shape == (0, *a.shape[1:])


@pytest.mark.many
@each_call
def test_out_and_dtypes(name, rng):
    """``out=`` is filled and returned; float32 in gives float32 out; whole numbers and lists are accepted."""
    call, names = CALLS[name]
    given = arguments(MODEL, names, rng, (3,))
    result = as_tuple(call(MODEL, **given))
    out = tuple(np.full_like(x, np.nan) for x in result)
    target = out if len(out) > 1 else out[0]
    assert call(MODEL, **given, out=target) is target
    for x, y in zip(result, out, strict=True):
        assert np.array_equal(x, y)
    small = as_tuple(call(MODEL, **{k: v.astype(np.float32) for k, v in given.items()}))
    for x, y in zip(result, small, strict=True):
        assert y.dtype == np.float32
        assert_allclose(y, x, rtol=0, atol=1e-4 * max(1, np.abs(x).max()))  # float32 inputs
    lists = as_tuple(call(MODEL, **{k: v.tolist() for k, v in given.items()}))
    for x, y in zip(result, lists, strict=True):
        assert np.array_equal(x, y)


@each_call
def test_wrong_shapes_are_named(name, rng):
    """Each argument too long, in turn, is named with its shape and the expected one."""
    call, names = CALLS[name]
    given = arguments(MODEL, names, rng)
    for key in names:
        wrong = {**given, key: np.concatenate([given[key], given[key][:1]])}
        with pytest.raises(sixd.ShapeError, match=rf"{name}: {key} has shape .*, expected \(\.\.\., "):
            call(MODEL, **wrong)
        with pytest.raises(sixd.ShapeError, match=f"{name}: {key} has shape"):
            call(MODEL, **{**given, key: 1.0})


def test_nan_stays_in_its_row(rng):
    """A row with NaN gives NaN in that row and no other."""
    given = arguments(MODEL, ("q", "qd", "tau"), rng, (3,))
    clean = sixd.forward_dynamics(MODEL, **given)
    given["qd"][1, 0] = np.nan
    result = sixd.forward_dynamics(MODEL, **given)
    assert np.isnan(result[1]).any()
    assert np.array_equal(result[[0, 2]], clean[[0, 2]])


def test_singular_configuration_raises_with_its_row():
    """The spinning top upright: M is singular there alone, and the row is named."""
    top = sixd.zoo.spinning_top()
    q = np.array([[0, 0.5, 0], [0, 0, 0]])
    zero = np.zeros(3)
    assert np.isfinite(sixd.forward_dynamics(top, q[0], zero, zero)).all()
    with pytest.raises(
        sixd.SingularError, match=r"singular in this configuration in state \(1,\): there joints \['precession'\]"
    ):
        sixd.forward_dynamics(top, q, zero, zero)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda q, v: sixd.inverse_dynamics(ARM, q[:6], v, v), r"inverse_dynamics: q has shape \(6,\), expected \(..., 7\) \(nq of model 'panda_arm'\)"),
        (lambda q, v: sixd.inverse_dynamics(ARM, q[:, None], v, v), r"Use .ravel\(\) for a column vector"),
        (lambda q, v: sixd.inverse_dynamics(ARM, np.zeros((7, 5)), v, v), "The batch comes first: transpose it"),
        (lambda q, v: sixd.inverse_dynamics(ARM, np.zeros((2, 7)), np.zeros((3, 7)), v), r"batch dimensions do not broadcast: q \(2,\), qd \(3,\), qdd \(\)"),
        (lambda q, v: sixd.inverse_dynamics(ARM, q + 1j, v, v), "q holds complex128 values, expected real numbers"),
        (lambda q, v: sixd.inverse_dynamics(ARM, ["a"] * 7, v, v), "q holds <U1 values"),
        (lambda q, v: sixd.inverse_dynamics(ARM, [[1, 2], [3]], v, v), "q is a ragged sequence"),
        (lambda q, v: sixd.inverse_dynamics("panda", q, v, v), "model is a str, expected a sixd.Model"),
        (lambda q, v: sixd.inverse_dynamics(ARM, q, v, v, f_ext=np.zeros((6, 6))), r"f_ext has shape \(6, 6\), expected \(..., 7, 6\)"),
        (lambda q, v: sixd.inverse_dynamics(ARM, q, v, v, out=np.zeros(6)), r"out has shape \(6,\), expected \(7,\)"),
        (lambda q, v: sixd.inverse_dynamics(ARM, q, v, v, out=[0] * 7), "out is a list, expected a NumPy array"),
        (lambda q, v: sixd.inverse_dynamics(ARM, q, v, v, out=np.zeros(7, int)), "out holds int64, expected float64"),
        (lambda q, v: sixd.energy(ARM, q, v, out=np.zeros(())), "out has 1 arrays, expected a tuple of 2"),
        (lambda q, v: sixd.jacobian(ARM, q, "tool", expressed_in="local"), "expected_in|expressed_in: no choice named 'local'"),
        (lambda q, v: sixd.jacobian(ARM, q, "tol"), "jacobian: model 'panda_arm': no frame named 'tol'. Did you mean 'tool'?"),
        (lambda q, v: sixd.acceleration(ARM, q, v, v, "tool", kind="clasical"), "Did you mean 'classical'?"),
        (lambda q, v: sixd.hybrid_dynamics(ARM, "joint1", q, v, v, v), r"expected a list of joint names: \['joint1'\]"),
        (lambda q, v: sixd.hybrid_dynamics(ARM, ["join1"], q, v, v, v), "Did you mean 'joint1'?"),
        (lambda q, v: sixd.external_force(ARM, q, "tool", [1, 2]), r"wrench has shape \(2,\), expected \(..., 6\)"),
        (lambda q, v: sixd.external_force(ARM, q, "world", np.zeros(6)), "frame 'world' is fixed to the world"),
        (lambda q, v: sixd.external_force(ARM, q, "tool", np.zeros(6), expressed_in="tool"), "no choice named 'tool'"),
    ],
)  # fmt: skip
def test_errors_say_what_and_how_to_mend(call, message):
    with pytest.raises(sixd.SixdError, match=message):
        call(np.zeros(7), np.zeros(7))


def test_read_only_out_is_refused():
    out = np.zeros(7)
    out.flags.writeable = False
    with pytest.raises(sixd.ShapeError, match="out is read-only"):
        sixd.gravity_force(ARM, np.zeros(7), out=out)


def test_huge_values_stay_finite(rng):
    """Angles of 1e6 rad and speeds of 1e5 rad/s are evaluated, and forward still inverts inverse dynamics."""
    q, qd, qdd = 1e6 * rng.normal(size=7), 1e5 * rng.normal(size=7), rng.normal(size=7)
    tau = sixd.inverse_dynamics(ARM, q, qd, qdd)
    back = sixd.forward_dynamics(ARM, q, qd, tau)
    assert_allclose(back, qdd, rtol=0, atol=1e-15 * np.abs(tau).max() * np.linalg.cond(sixd.mass_matrix(ARM, q)))


def test_every_error_is_of_the_family():
    """Each class is a SixdError and the built-in that Python users would catch."""
    pairs = [
        (sixd.ShapeError, ValueError), (sixd.ScalarTypeError, TypeError), (sixd.ModelError, ValueError),
        (sixd.UnknownNameError, KeyError), (sixd.LoadError, ValueError), (sixd.SingularError, ArithmeticError),
        (sixd.MissingPackageError, ImportError),
    ]  # fmt: skip
    for ours, builtin in pairs:
        assert issubclass(ours, sixd.SixdError)
        assert issubclass(ours, builtin)


def test_hybrid_dynamics_of_singular_models():
    """A massless joint is an error where its force is given, and none where its motion is."""
    builder = sixd.ModelBuilder("m")
    builder.add_body("a", "world", sixd.Revolute("z"), inertia=sixd.point(1.0, (1, 0, 0)))
    builder.add_body("b", "a", sixd.Revolute("z"))
    model = builder.build()
    zero, one = np.zeros(2), np.ones(2)
    with pytest.raises(sixd.SingularError, match=r"hybrid_dynamics: .* joints \['b'\] move no inertia"):
        sixd.hybrid_dynamics(model, ["a"], zero, zero, one, one)
    qdd, tau = sixd.hybrid_dynamics(model, ["b"], zero, zero, one, one)
    assert_allclose(qdd, [1, 1])
    assert_allclose(tau, [1, 0])
    top = sixd.zoo.spinning_top()
    with pytest.raises(sixd.SingularError, match="singular in this configuration"):
        sixd.hybrid_dynamics(top, ["nutation"], np.zeros(3), np.zeros(3), np.zeros(3), np.ones(3))


@each_call
def test_not_a_model(name):
    call, names = CALLS[name]
    with pytest.raises(sixd.ScalarTypeError, match=f"{name}: model is a dict, expected a sixd.Model"):
        call({}, **{n: [0.0] for n in names})


def test_zero_quaternions_are_named():
    """Zeros for a floating base's q, the classic mistake, raise everywhere and tell where to start."""
    free = sixd.zoo.single_body().with_gravity((0, 0, -9.81))
    zero, v = np.zeros((2, 7)), np.ones(6)
    zero[0, 0] = 1
    for call in (
        lambda: sixd.inverse_dynamics(free, zero, v, v), lambda: sixd.forward_dynamics(free, zero, v, v),
        lambda: sixd.center_of_mass(sixd.zoo.scissor(), np.zeros(8)), lambda: sixd.pose(free, zero, "box"), lambda: free.integrate(zero, v),
        lambda: free.difference(zero, zero), lambda: sixd.momentum(free, zero, v),
    ):  # fmt: skip
        with pytest.raises(sixd.SingularError, match="the quaternion of joint '(box|base)' is zero.*model.neutral"):
            call()


def test_near_singular_configurations(rng):
    """Near a singular configuration solves stay accurate or raise; they do not return garbage."""
    top = sixd.zoo.spinning_top()
    for angle in (1e-3, 1e-6):
        q = [0.3, angle, 0.7]
        assert_allclose(sixd.mass_matrix_solve(top, q, [0, 1, 0])[1], 1 / 0.010625, rtol=1e-10)
    for angle in (0.0, np.pi, 1e-200, 1e-8):  # at the last it may be right, but with the digits of cos(1e-8)
        with pytest.raises(sixd.SingularError, match="singular in this configuration"):
            sixd.forward_dynamics(top, [0.3, angle, 0.7], [0.1, 0.2, 0.3], [1, 2, 3])
        with pytest.raises(sixd.SingularError, match="singular in this configuration"):
            sixd.inverse_mass_matrix(top, [0.3, angle, 0.7])


NO_ARRAYS = {
    "None": None, "Nones": [None] * 7, "dict": {"a": 1}, "set": {1, 2}, "generator": (x for x in range(7)), "text": "q",
    "huge": [10**400] * 7, "masked": np.ma.masked_greater(np.arange(7.0), 3),
}  # fmt: skip


@pytest.mark.parametrize("kind", NO_ARRAYS)
def test_things_that_are_no_arrays(kind):
    with pytest.raises(sixd.ScalarTypeError, match="gravity_force: q "):
        sixd.gravity_force(ARM, NO_ARRAYS[kind])


def test_pivots_do_not_depend_on_units():
    """A planet, a grain and a body far from its frame are regular, whatever the ratio of their moments to their mass."""
    for inertia in (
        sixd.Inertia(5.97e24, (0, 0, 0), (8.01e37, 8.01e37, 8.04e37)), sixd.Inertia(1.0, (0, 0, 0), (1e-14, 1e-14, 1e-14)),
        sixd.Inertia(1.0, (1e4, 0, 0), (1, 1, 1)),
    ):  # fmt: skip
        builder = sixd.ModelBuilder("m", (0, 0, 0))
        builder.add_body("b", "world", sixd.Free(), inertia=inertia)
        model = builder.build()
        assert_allclose(sixd.forward_dynamics(model, model.neutral(), np.zeros(6), np.zeros(6)), 0, atol=1e-20)


def test_operational_inertia_row_by_row(rng):
    """Far from the origin it is still found; a NaN row does not hide the singular ones."""
    builder = sixd.ModelBuilder("m")
    builder.add_body("drone", "world", sixd.Free(), inertia=sixd.Inertia(1.5, (0, 0, 0), (0.01, 0.01, 0.02)))
    drone = builder.build()
    q = np.array([1.0, 0, 0, 0, 1000, 0, 0])
    inertia = sixd.operational_inertia(drone, q, "drone", expressed_in="world")
    assert_allclose(inertia, sixd.composite_inertia(drone, q), rtol=1e-9)
    arm = sixd.zoo.puma560()
    rows, tool = rng.uniform(0.3, 0.6, (3, 6)), arm.body_names[-1]
    rows[0] = np.nan
    rows[1, 4] = 0.0  # the wrist is stretched
    with pytest.raises(sixd.SingularError, match=r"cannot move in all six directions there in state \(1,\)"):
        sixd.operational_inertia(arm, rows, tool)
    good = sixd.operational_inertia(arm, rows[::2], tool)
    assert np.isnan(good[0]).all()
    assert np.isfinite(good[1]).all()
    with pytest.raises(sixd.SingularError, match="cannot move in all six directions in any configuration"):
        sixd.operational_inertia(arm.lock({arm.joint_names[0]: 0.2}), rows[:, :5], tool)


# names ----------------------------------------------------------------------------------------------


def test_public_names_alone():
    """``dir(sixd)`` and ``from sixd import *`` show the public names; other modules stay importable."""
    import types

    import sixd.runtime.batch

    given = {}
    exec("from sixd import *", given)
    assert set(given) - {"__builtins__"} == set(dir(sixd))
    own = {name for name, x in vars(sixd).items() if name[0] != "_" and not isinstance(x, types.ModuleType)}
    packages = {"controllers", "cuda", "identification", "interop", "spatial", "spatial_v2", "zoo"}
    assert set(dir(sixd)) == own | packages | {"__version__"}
    assert callable(sixd.runtime.batch.apply)
