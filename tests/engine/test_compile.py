"""``sixd.compile``: kernels of the library's functions and of users' functions, of several at once, and with
parameters.
"""

import ctypes
import functools
import shutil
import subprocess
import warnings

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import sixd
from samples import OPERATIONAL, single_joint
from sixd.algorithms.aba import aba
from sixd.algorithms.crba import crba
from sixd.algorithms.rnea import rnea
from sixd.engine.functions import LIBRARY
from sixd.engine.parameters import PARAMETERS
from sixd.spatial import atan2, cos, maximum, placement, sin, sqrt, where, xlt

ARM = sixd.zoo.planar(2)
MODEL = single_joint("spherical")
FREE = sixd.zoo.random_tree(2, kinds=("free", "revolute"))
BATCHES = ((), (1,), (6,), (2, 3))


def parameter_values(model, name):
    """Return the value of a parameter of ``PARAMETERS`` in a model."""
    if name == "inertia":
        return np.array([sixd.Inertia.from_matrix(model.inertia[i]).parameters for i in model.bodies]).reshape(-1, 10)
    return model.placement[1:] if name == "placements" else getattr(model, name)


def draw(model, rng, batch=(), count=2):
    rows = int(np.prod(batch))
    q = np.array([model.random_configuration(rng) for _ in range(rows)]).reshape((*batch, model.nq))
    return [q, *(rng.uniform(-1, 1, (*batch, model.nv)) for _ in range(count))]


def as_tuple(result):
    if isinstance(result, sixd.NewtonEuler):  # kernels return only its arrays
        return tuple(result.raw)
    return result if isinstance(result, tuple) else (result,)


def assert_same(a, b):
    for x, y in zip(as_tuple(a), as_tuple(b), strict=True):
        assert np.shape(x) == np.shape(y)
        assert np.array_equal(x, y)


# functions of the library ----------------------------------------------------------------------------------------

COORDINATES = [{"expressed_in": c} for c in ("body", "aligned", "world")]
STATIC = {
    "hybrid_dynamics": [{"given": []}, {"given": ["joint1"]}, {"given": ["joint2", "joint1"]}],
    "pose": [{}],
    "acceleration": [{**c, "kind": k} for c in COORDINATES for k in ("spatial", "classical")],
    **{name: [{"per": p} for p in ("model", "body", "subtree")] for name in ("energy", "momentum")},
    **dict.fromkeys(("newton_euler", "joint_reactions", "jacobian", "jacobian_rate", "velocity", "inverse_operational_inertia", "external_force", *OPERATIONAL), COORDINATES),
}  # fmt: skip
PUBLIC = [name for name in LIBRARY if name not in ("integrate", "difference")]  # methods of a model


@pytest.mark.parametrize("dtype", ["float64", pytest.param("float32", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", PUBLIC)
def test_every_function_of_the_library(name, dtype, rng):
    """A kernel is bit-identical to the public function, for each choice of its fixed arguments."""
    function = LIBRARY[name]
    # a frame with an operational inertia moves in all six directions
    model = sixd.zoo.random_tree(2, kinds=("free",) if name in OPERATIONAL else ("spherical", "revolute"))
    for static in STATIC.get(name, [{}])[: None if dtype == "float64" else 1]:
        if "frame" in function.choices:
            static = {"frame": model.frame_names[-1], **static}
        kernel = sixd.compile(getattr(sixd, name), model, dtype=dtype, **static)
        assert kernel.inputs == function.arrays
        for batch in BATCHES:
            given = {a: rng.uniform(-1, 1, (*batch, *function.core(model, a))).astype(dtype) for a in function.arrays}
            given["q"] = draw(model, rng, batch, 0)[0].astype(dtype)
            expected = getattr(sixd, name)(model, **given, **static)
            assert_same(kernel(*given.values()), expected)
            assert_same(kernel(**given), expected)
            assert all(x.dtype == dtype for x in as_tuple(expected))


@pytest.mark.many
@pytest.mark.parametrize("name", [n for n, f in LIBRARY.items() if f.force])
def test_external_forces(name, rng):
    """f_ext acts as in the public function: batched, broadcast, in float32; zeros have no effect."""
    static = {"given": ["joint1"]} if name == "hybrid_dynamics" else {}
    kernel = sixd.compile(getattr(sixd, name), FREE, **static)
    for batch in BATCHES:
        given = dict(zip(kernel.inputs, draw(FREE, rng, batch, len(kernel.inputs) - 1), strict=True))
        for force in (rng.normal(size=(*batch, 2, 6)), rng.normal(size=(2, 6))):
            result = kernel(*given.values(), f_ext=force)
            assert_same(result, getattr(sixd, name)(FREE, **given, **static, f_ext=force))
            without = as_tuple(kernel(*given.values()))
            assert not all(np.array_equal(x, y) for x, y in zip(as_tuple(result), without, strict=True))
            for x, y in zip(as_tuple(kernel(**given, f_ext=0 * force)), without, strict=True):
                assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    with pytest.raises(sixd.ShapeError, match=rf"{name}: f_ext has shape \(3, 6\), expected \(..., 2, 6\)"):
        kernel(*given.values(), f_ext=np.zeros((3, 6)))


def test_singular_models_are_rejected_each_time():
    """A joint that moves no inertia: the same error for one sample and for batches, at the first call and later."""
    builder = sixd.ModelBuilder("empty")
    builder.add_body("a", "world", sixd.Revolute("x"), inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_body("b", "a", sixd.Revolute("y"))
    model = builder.build()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a clear error needs no additional warnings
        for functions in (sixd.forward_dynamics, (sixd.forward_dynamics, sixd.mass_matrix)):
            kernel = sixd.compile(functions, model)
            for x in (np.zeros(2), np.zeros((3, 2)), np.zeros(2), np.zeros((3, 2))):
                with pytest.raises(sixd.SingularError, match=r"joints \['b'\] move no inertia"):
                    kernel(x, x, x)
            assert sixd.compile(sixd.mass_matrix, model)(np.zeros((3, 2))).shape == (3, 2, 2)


def test_attributes_and_repr_of_a_kernel():
    """Its name, its arrays, its program, and a line that describes it."""
    kernel = sixd.compile(sixd.inverse_dynamics, ARM, dtype="float32")
    assert (kernel.name, kernel.inputs, kernel.dtype, kernel.model) == (
        "inverse_dynamics",
        ("q", "qd", "qdd"),
        "float32",
        ARM,
    )
    assert repr(kernel) == "<Kernel inverse_dynamics(q, qd, qdd) of 'planar2', float32>"
    assert [slot.name for slot in kernel.program.inputs] == ["q", "qd", "qdd"]
    assert kernel.program.operations == sum(kernel.program.count().values()) > 20


@pytest.mark.parametrize("dtype", [np.float32, np.dtype("float32"), "f4", "float32"], ids=repr)
def test_dtypes_by_their_other_names(dtype):
    """Everything that NumPy accepts as a dtype is accepted."""
    kernel = sixd.compile(sixd.mass_matrix, ARM, dtype=dtype)
    assert kernel.dtype == "float32"
    assert kernel([0.1, 0.2]).dtype == np.float32


# several functions at once ---------------------------------------------------------------------------------------

JOINT = {
    "mass matrix and bias": (("mass_matrix", "bias_force"), {}),
    "both dynamics": (("inverse_dynamics", "forward_dynamics"), {}),
    "frames": (("pose", "jacobian", "jacobian_rate", "velocity"), {"frame": "link2"}),
    "two results, and one": (("energy", "momentum", "center_of_mass"), {}),
    "the same twice": (("mass_matrix", "mass_matrix"), {}),
    "hybrid": (("hybrid_dynamics", "mass_matrix"), {"given": ["link1"]}),
}


@pytest.mark.many
@pytest.mark.parametrize("case", JOINT)
def test_several_functions_in_one_kernel(case, rng):
    """Results, in a flat tuple, are those of the functions; the joint program is shorter than the sum of theirs."""
    names, static = JOINT[case]
    functions = [getattr(sixd, name) for name in names]
    joint = sixd.compile(tuple(functions), ARM, **static)
    own = {n: {k: x for k, x in static.items() if k in LIBRARY[n].choices} for n in names}
    single = [sixd.compile(f, ARM, **own[n]) for n, f in zip(names, functions, strict=True)]
    assert joint.program.operations < sum(k.program.operations for k in single)
    for batch in BATCHES:
        given = {a: rng.uniform(-1, 1, (*batch, 2)) for a in joint.inputs}
        results = joint(**given)
        assert isinstance(results, tuple)
        expected = [x for k in single for x in as_tuple(k(*(given[a] for a in k.inputs)))]
        for x, y in zip(results, expected, strict=True):
            assert np.shape(x) == np.shape(y)
            assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    out = tuple(np.empty_like(x) for x in results)
    assert joint(**given, out=out) is out
    assert_same(out, results)


def test_arrays_of_a_joint_kernel(rng):
    """They come in the order in which the functions name them first; f_ext goes to the functions that have it."""
    joint = sixd.compile([sixd.gravity_force, sixd.mass_matrix_solve, sixd.inverse_dynamics], FREE)
    assert joint.inputs == ("q", "b", "qd", "qdd")
    q, b, qd, qdd = draw(FREE, rng, (4,), 3)
    force = rng.normal(size=(4, 2, 6))
    gravity, solved, tau = joint(q, b, qd, qdd, f_ext=force)
    assert_allclose(gravity, sixd.gravity_force(FREE, q), rtol=1e-12, atol=1e-12)
    assert_allclose(solved, sixd.mass_matrix_solve(FREE, q, b), rtol=1e-10, atol=1e-10)
    assert_allclose(tau, sixd.inverse_dynamics(FREE, q, qd, qdd, f_ext=force), rtol=1e-12, atol=1e-12)
    alone = sixd.compile((sixd.mass_matrix,), ARM)
    assert alone([0.1, 0.2]).shape == (2, 2)


def test_a_joint_kernel_checks_its_results():
    """A singular sample is an error there too."""
    top = sixd.zoo.spinning_top()
    kernel = sixd.compile((sixd.forward_dynamics, sixd.mass_matrix), top)
    good, bad, zero = [0.1, 0.5, 0.2], [0.1, 0.0, 0.2], np.zeros(3)
    kernel(good, zero, zero)
    with pytest.raises(sixd.SingularError, match=r"singular in this configuration in state \(1,\)"):
        kernel([good, bad], zero, zero)
    with pytest.raises(sixd.SingularError, match="singular in this configuration"):
        kernel(bad, zero, zero)


# users' functions ------------------------------------------------------------------------------------------------


def check_own(function, model, rng, expected, count=1, dtype="float64", **options):
    """A kernel of a user's function gives, for each sample, what ``expected`` gives for numbers."""
    kernel = sixd.compile(function, model, dtype=dtype, **options)
    for batch in BATCHES:
        arrays = [x.astype(dtype) for x in draw(model, rng, batch, count)]
        results = as_tuple(kernel(*arrays))
        for index in np.ndindex(batch):
            row = as_tuple(expected(*(x[index].astype(float) for x in arrays)))
            for x, y in zip(results, row, strict=True):
                assert_allclose(
                    x[index], y, rtol=1e-10 if dtype == "float64" else 1e-4, atol=1e-12 if dtype == "float64" else 1e-4
                )
    return kernel


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions_in_numpy_style(dtype, rng):
    """Slices, matrix products, where, sums and functions of sixd.spatial, with one result or several."""

    def mixed(q, qd):
        turn = np.array([[cos(q[0]), -sin(q[0])], [sin(q[0]), cos(q[0])]])
        reach = sqrt(q @ q + 1.0)
        side = where(q[1] > 0, maximum(q[0], qd[1]), -(q[0] ** 2))
        return turn @ qd, reach, np.array([[side, atan2(q[1], reach)], [q.sum(), 2]])

    def on_floats(q, qd):
        turn = np.array([[np.cos(q[0]), -np.sin(q[0])], [np.sin(q[0]), np.cos(q[0])]])
        reach = np.sqrt(q @ q + 1.0)
        side = max(q[0], qd[1]) if q[1] > 0 else -(q[0] ** 2)
        return turn @ qd, reach, np.array([[side, np.arctan2(q[1], reach)], [q.sum(), 2]])

    check_own(mixed, ARM, rng, on_floats, dtype=dtype)
    check_own(mixed, ARM, rng, mixed, dtype=dtype)  # the same function on floats


@pytest.mark.long
def test_functions_that_call_the_library(rng):
    """A controller, energy rates and a time step, on a model with quaternions: closures over the model, or with it as
    an argument.
    """

    def computed_torque(q, qd):
        error = -2.0 * qd
        return sixd.inverse_dynamics(
            FREE, q, qd, error, f_ext=sixd.external_force(FREE, q, FREE.frame_names[-1], [0, 0, 0, 0, 0, 1.0])
        )

    def step(q, qd, tau, model, dt=0.01):
        qd = qd + dt * sixd.forward_dynamics(model, q, qd, tau)
        return model.integrate(q, dt * qd), qd

    def several(q, qd, model):
        kinetic, potential = sixd.energy(model, q, qd)
        (qdd, _) = sixd.hybrid_dynamics(model, ["joint1"], q, qd, 0 * qd, qd)
        return (
            kinetic + potential,
            sixd.pose(model, q, model.frame_names[-1])[:3, 3],
            qdd,
            sixd.mass_matrix(model, q) @ qd,
        )

    check_own(computed_torque, FREE, rng, computed_torque)
    check_own(step, FREE, rng, functools.partial(step, model=FREE), count=2)
    check_own(step, FREE, rng, functools.partial(step, model=FREE, dt=0.5), count=2, dt=0.5)
    check_own(several, FREE, rng, functools.partial(several, model=FREE))


def test_functions_that_call_kernels(rng):
    """A kernel inside a function is traced like any other function."""
    inner = sixd.compile((sixd.mass_matrix, sixd.bias_force), ARM)
    inner(*draw(ARM, rng, (), 1))  # compiled already or not

    def outer(q, qd):
        M, h = inner(q, qd)
        return M @ qd + h

    check_own(outer, ARM, rng, lambda q, qd: sixd.inverse_dynamics(ARM, q, qd, qd))


def test_arguments_of_functions(rng):
    """Arrays of known names and of declared shapes, fixed arguments of any kind, and defaults."""

    def function(q, gain, x, scale=2.0, *, names=("a",), shift=None):
        return q * gain + x[0, 1] * scale * len(names) + (0 if shift is None else shift @ q)

    kernel = sixd.compile(function, ARM, gain=3.0, shapes={"x": (2, 3)})
    assert kernel.inputs == ("q", "x")
    q, x = rng.normal(size=(4, 2)), rng.normal(size=(4, 2, 3))
    assert_allclose(kernel(q, x), 3 * q + 2 * x[:, 0, 1, None], rtol=1e-15, atol=1e-15)
    A = rng.normal(size=(2, 2))
    kernel = sixd.compile(function, ARM, names="xyz", shift=A, shapes={"x": (2, 3), "gain": (), "scale": 2})
    assert kernel.inputs == ("q", "gain", "x", "scale")
    gain, scale = rng.normal(size=4), rng.normal(size=2)
    assert_allclose(
        kernel(q, gain, x, scale), q * gain[:, None] + 3 * x[:, 0, 1, None] * scale + q @ A.T, rtol=1e-12, atol=1e-12
    )
    assert_allclose(kernel(q[0], 2.0, x[0], scale=scale), 2 * q[0] + 3 * x[0, 0, 1] * scale + A @ q[0], rtol=1e-12)
    assert sixd.compile(lambda tau, dq, qdd, qd: tau + dq + qdd + qd, FREE).inputs == ("tau", "dq", "qdd", "qd")


def test_functions_of_any_kind(rng):
    """Lambdas, partial functions, methods, callable objects and names beyond ASCII."""

    class Gain:
        def __call__(self, q):
            return 2 * q

        def of(self, q):
            return 3 * q

    def größe(q):
        return 4 * q

    q = rng.normal(size=(3, 2))
    for function, factor, name in [
        (lambda q: q, 1, "<lambda>"),
        (functools.partial(lambda q, k: k * q, k=5), 5, "partial"),
        (Gain(), 2, "Gain"),
        (Gain().of, 3, "of"),
        (größe, 4, "größe"),
    ]:
        kernel = sixd.compile(function, ARM)
        assert kernel.name == name
        assert_same(kernel(q), factor * q)
        assert_same(kernel(q[0]), factor * q[0])
    joint = sixd.compile((größe, sixd.mass_matrix), ARM)
    assert_same(joint(q), (4 * q, sixd.mass_matrix(ARM, q)))


def test_f_ext_of_functions(rng):
    """An array f_ext of a user's function can be passed by name, and acts together with the library's."""
    q, qd, qdd = draw(FREE, rng, (3,))
    force = rng.normal(size=(3, 2, 6))
    kernel = sixd.compile(lambda q, f_ext: f_ext[0] * 2, FREE)
    for result in (kernel(q, force), kernel(q, f_ext=force), kernel(f_ext=force, q=q)):
        assert_same(result, 2 * force[:, 0])
    joint = sixd.compile((lambda q, f_ext: f_ext[0] * 2, sixd.inverse_dynamics), FREE)
    double, tau = joint(q, qd=qd, qdd=qdd, f_ext=force)
    assert_same(double, 2 * force[:, 0])
    assert_allclose(tau, sixd.inverse_dynamics(FREE, q, qd, qdd, f_ext=force), rtol=1e-12, atol=1e-12)


def test_results_of_functions_are_not_checked(rng):
    """Results of users' functions that are not finite are returned: no error, no warning."""
    kernel = sixd.compile(lambda q: np.array([1 / q[0], sqrt(q[1])]), ARM)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for batch in ((), (3,)):
            q = np.broadcast_to([0.0, -1.0], (*batch, 2))
            result = kernel(q)
            assert np.isinf(result[..., 0]).all()
            assert np.isnan(result[..., 1]).all()


def test_large_constants_in_float32():
    """A constant beyond float32 is infinite there, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        kernel = sixd.compile(lambda q: q * 1e300 + 1e-300, ARM, dtype="float32")
        assert np.array_equal(kernel(np.array([[1, -1]], "f4")), [[np.inf, -np.inf]])


class Parabola(sixd.Joint):
    """A point that slides along y = x²: the example of ``sixd.Joint``."""

    nq = nv = 1

    def transform(self, q):
        return xlt([q[0], q[0] * q[0], 0])

    def subspace(self, q):
        return np.array([[0, 0, 0, 1, 2 * q[0], 0]]).T

    def subspace_rate(self, q, qd):
        return np.array([[0, 0, 0, 0, 2 * qd[0], 0]]).T


class Branching(Parabola):
    """A joint that branches on its configuration."""

    def transform(self, q):
        return xlt([q[0], q[0] * q[0] if q[0] > 0 else (-q[0]) ** 2, 0])


def sliding(joint):
    builder = sixd.ModelBuilder("slide", gravity=(0, -9.81, 0))
    builder.add_body("bead", "world", joint, inertia=sixd.sphere(0.1, mass=2.0))
    return builder.build()


def test_users_joints(rng):
    """They compile like the library's: a bead on a parabola has its closed form, by kernels and public functions."""
    model = sliding(Parabola())
    q, qd, qdd = rng.normal(size=(3, 7, 1))
    expected = 2.0 * ((1 + 4 * q**2) * qdd + 4 * q * qd**2 + 2 * 9.81 * q)
    kernel = sixd.compile((sixd.inverse_dynamics, sixd.mass_matrix), model)
    for tau in (sixd.inverse_dynamics(model, q, qd, qdd), kernel(q, qd, qdd)[0]):
        assert_allclose(tau, expected, rtol=1e-12)
    assert_allclose(sixd.forward_dynamics(model, q, qd, expected), qdd, rtol=1e-12)
    small = sixd.compile(sixd.inverse_dynamics, model, dtype="float32")
    assert_allclose(small(*(x.astype("f4") for x in (q, qd, qdd))), expected, rtol=1e-4)
    heavy = sixd.compile(sixd.mass_matrix, model, parameters=("inertia",))
    assert_allclose(heavy(q, 3 * parameter_values(model, "inertia")), 3 * kernel(q, qd, qdd)[1], rtol=1e-12)


def test_joints_that_branch_on_values_are_named():
    """A joint that branches cannot be compiled; the error names the joint, and says what to write instead."""
    model = sliding(Branching())
    for call in (sixd.compile(sixd.mass_matrix, model), functools.partial(sixd.mass_matrix, model)):
        for q in ([0.5], [[0.5]]):
            with pytest.raises(
                sixd.TraceError, match=r"mass_matrix: a traced value was asked.*sixd\.where.*\['Branching'\]"
            ):
                call(q)


# parameters ------------------------------------------------------------------------------------------------------


def build(values):
    """Return a chain with an unattached end; its numbers come from a table like that of ``sixd.engine.parameters``."""
    builder = sixd.ModelBuilder("built", gravity=values["gravity"])
    joints = (sixd.Revolute("y"), sixd.Spherical(), sixd.Prismatic("x"))
    parents = ("world", "b0", "b1")
    columns = (slice(0, 1), slice(1, 4), slice(4, 5))
    for k, (joint, parent, s) in enumerate(zip(joints, parents, columns, strict=True)):
        builder.add_body(
            f"b{k}", parent, joint, placement=values["placements"][k],
            inertia=sixd.Inertia.from_parameters(values["inertia"][k]), damping=values["damping"][s],
            friction=values["friction"][s], armature=values["armature"][s],
        )  # fmt: skip
    return builder.build()


def random_values(rng):
    """Return a table of parameters of bodies that can exist."""
    inertia = [
        (sixd.sphere(0.2, mass=rng.uniform(1, 3)).moved(placement(rng.normal(size=3)))).parameters for _ in range(3)
    ]
    pose = [placement(rng.normal(size=3), rng.uniform(-1, 1, 3)) for _ in range(3)]
    return {
        "inertia": np.array(inertia), "gravity": rng.normal(size=3), "placements": np.array(pose),
        "damping": rng.uniform(0, 1, 5), "friction": rng.uniform(0, 1, 5), "armature": rng.uniform(0, 1, 5),
    }  # fmt: skip


CHANGES = [((name,), "float64") for name in PARAMETERS] + [
    (("gravity", "inertia"), "float32"),
    (("placements", "armature", "damping"), "float64"),
    (tuple(PARAMETERS), "float64"),
    (tuple(PARAMETERS), "float32"),
]


@pytest.mark.many
@pytest.mark.parametrize(("names", "dtype"), CHANGES, ids=lambda x: x if isinstance(x, str) else "+".join(x))
def test_parameters(names, dtype, rng):
    """A kernel with parameters equals that of a model built with their values: one set for all samples, or one for
    each.
    """
    base = random_values(rng)
    model = build(base)
    kernel = sixd.compile((sixd.inverse_dynamics, sixd.forward_dynamics), model, dtype=dtype, parameters=names)
    assert kernel.inputs == ("q", "qd", "qdd", "tau", *names)
    tolerance = 1e-10 if dtype == "float64" else 2e-3  # rounding of inputs, times the condition number of M

    def check(tau, qdd, rebuilt, q, qd, qdd_given, tau_given):
        assert_allclose(tau, rnea(rebuilt, q, qd, qdd_given), rtol=tolerance, atol=tolerance)
        assert_allclose(qdd, aba(rebuilt, q, qd, tau_given), rtol=10 * tolerance, atol=10 * tolerance)

    state = [x.astype(dtype) for x in draw(model, rng, (5,), 3)]
    known = kernel(*state, *(parameter_values(model, name).astype(dtype) for name in names))
    others = [random_values(rng) for _ in range(5)]
    each = [np.array([other[name] for other in others]).astype(dtype) for name in names]
    tau, qdd = kernel(*state, *each)
    for k, other in enumerate(others):
        row = [x[k].astype(float) for x in state]
        check(known[0][k], known[1][k], model, *row)
        check(tau[k], qdd[k], build({**base, **{name: other[name] for name in names}}), *row)
        one = kernel(*(x[k] for x in state), *(x[k] for x in each))
        assert_same(one, (tau[k], qdd[k]))
        assert_same(tuple(x[k] for x in kernel(*(x[k] for x in state), **dict(zip(names, each, strict=True)))), one)


def test_parameters_of_a_users_function(rng):
    """A function whose argument is the model sees the parameters in it: domain randomisation of a controller."""
    base, others = random_values(rng), [random_values(rng) for _ in range(2)]
    model = build(base)

    def holds(q, model, factor=2.0):
        return factor * sixd.gravity_force(model, q), sixd.center_of_mass(model, q), model.gravity

    kernel = sixd.compile((holds, sixd.energy), model, parameters=("gravity", "inertia"), factor=3.0)
    assert kernel.inputs == ("q", "qd", "gravity", "inertia")
    q, qd = draw(model, rng, (2,), 1)
    results = kernel(q, qd, np.array([o["gravity"] for o in others]), np.array([o["inertia"] for o in others]))
    for k, other in enumerate(others):
        rebuilt = build({**base, "gravity": other["gravity"], "inertia": other["inertia"]})
        expected = (*holds(q[k], rebuilt, 3.0)[:2], other["gravity"], *sixd.energy(rebuilt, q[k], qd[k]))
        for x, y in zip(results, expected, strict=True):
            assert_allclose(x[k], y, rtol=1e-10, atol=1e-10)


def test_parameters_at_a_fixed_state(rng):
    """A function of the model alone: its mass matrix and mass in one configuration, as functions of the inertia."""
    base, other = random_values(rng), random_values(rng)
    model = build(base)
    q = model.random_configuration(rng)
    kernel = sixd.compile(lambda model: (sixd.mass_matrix(model, q), model.mass), model, parameters=("inertia",))
    for values in (base, other):
        rebuilt = build({**base, "inertia": values["inertia"]})
        M, mass = kernel(values["inertia"])
        assert_allclose(M, sixd.mass_matrix(rebuilt, q), rtol=1e-12, atol=1e-12)
        assert_allclose(mass, rebuilt.mass, rtol=1e-14)


def symbolic_arm():
    mass, length, angle = sympy.symbols("mass length angle", positive=True)
    builder = sixd.ModelBuilder("symbolic")
    first = sixd.Inertia(
        mass, [0, 0, length / 2], sympy.diag(mass * length**2 / 12, mass * length**2 / 12, sympy.Rational(1, 1000))
    )
    builder.add_body("a", "world", sixd.Revolute("y"), inertia=first, armature=sympy.sqrt(mass) / 10)
    tilt = placement([0, sympy.sin(angle), length], R=np.array(sympy.rot_axis1(angle).T))
    builder.add_body("b", "a", sixd.Helical("y", pitch=length / 10), placement=tilt, inertia=sixd.Inertia(2.0, [0, 0, 0.3], np.eye(3) * 0.1), damping=sympy.exp(-length))  # fmt: skip
    return builder.build(), (mass, length, angle)


def test_symbols_as_parameters(rng):
    """Symbols by their names, one value or one for each sample: like the model with them substituted."""
    model, symbols = symbolic_arm()
    assert {str(s) for s in model.symbols} == {"mass", "length", "angle"}
    functions = (sixd.inverse_dynamics, sixd.mass_matrix)
    kernel = sixd.compile(functions, model, parameters=("length", "angle", "mass"))
    numbers = model.substitute({symbols[0]: 2.5, symbols[1]: 0.7, symbols[2]: 0.4})
    state = list(rng.normal(size=(3, 5, 2)))
    expected = sixd.inverse_dynamics(numbers, *state), sixd.mass_matrix(numbers, state[0])
    for values in ((0.7, 0.4, 2.5), (np.full(5, 0.7), np.float64(0.4), np.array(2.5))):
        for x, y in zip(kernel(*state, *values), expected, strict=True):
            assert_allclose(x, y, rtol=1e-12, atol=1e-12)
    for x, y in zip(kernel(*(x[2] for x in state), mass=2.5, angle=0.4, length=0.7), expected, strict=True):
        assert_allclose(x, y[2], rtol=1e-12, atol=1e-12)
    each = rng.uniform(0.5, 1.5, (3, 5))
    tau, M = kernel(*state, *each)
    for k in range(5):
        values = dict(zip((symbols[1], symbols[2], symbols[0]), each[:, k], strict=True))
        row = model.substitute(values)
        assert_allclose(tau[k], rnea(row, *(x[k] for x in state)), rtol=1e-11, atol=1e-11)
        assert_allclose(M[k], crba(row, state[0][k]), rtol=1e-11, atol=1e-11)


def test_symbols_together_with_other_parameters(rng):
    """Gravity and a symbol at once, in float32, of a user's function."""
    model, symbols = symbolic_arm()
    numbers = model.substitute({symbols[0]: 1.0, symbols[1]: 1.0, symbols[2]: 0.3})
    kernel = sixd.compile(
        lambda q, model: sixd.gravity_force(model, q),
        model,
        dtype="float32",
        parameters=("mass", "gravity", "length", "angle"),
    )
    q = rng.normal(size=(4, 2)).astype("f4")
    result = kernel(q, 1.0, [0, 0, -9.81], 1.0, 0.3)
    assert_allclose(result, sixd.gravity_force(numbers, q), rtol=0, atol=1e-4)
    assert_allclose(kernel(q, 1.0, [0, 0, 0], 1.0, 0.3), 0, rtol=0, atol=1e-6)


@pytest.mark.parametrize("make", [sixd.compile, sixd.export_c, sixd.vjp], ids=lambda f: f.__name__)
def test_symbols_are_named_before_tracing(make):
    """A model with symbols: one sentence, which suggests to make them inputs; and that works."""
    model, _ = symbolic_arm()
    with pytest.raises(
        sixd.ScalarTypeError, match=r"symbolic parameters angle, length, mass, .* inputs: parameters=\('angle', "
    ):
        make(sixd.mass_matrix, model)
    make(sixd.mass_matrix, model, parameters=("angle", "length", "mass"))


def test_a_symbolic_model_needs_its_symbols(rng):
    """Without them, or with only some, the error names them."""
    model, _ = symbolic_arm()
    for names in ((), ("mass",), ("gravity",)):
        with pytest.raises(sixd.ScalarTypeError, match="symbolic.*angle, length, mass"):
            sixd.compile(sixd.mass_matrix, model, parameters=names)(
                np.zeros(2), *([1.0] if "mass" in names else [[0, 0, 1]] if names else [])
            )


# errors ----------------------------------------------------------------------------------------------------------


def branch(q):
    return q if q[0] > 0 else -q


def assign(q):
    x = np.zeros(2)
    x[0] = q[0]
    return x


ERRORS = {
    "unknown fixed argument": (lambda: sixd.compile(sixd.pose, ARM, frame="tip", fram="tip"), "compile: no argument named 'fram'. Did you mean 'frame'?"),
    "fixed argument of none": (lambda: sixd.compile(sixd.mass_matrix, ARM, frame="tip"), "compile: no argument named 'frame'"),
    "fixed argument of one's own": (lambda: sixd.compile(lambda q, gain: q, ARM, gian=1.0, gain=2), "no argument named 'gian'. Did you mean 'gain'?"),
    "missing frame": (lambda: sixd.compile(sixd.pose, ARM), r"compile: pose needs frame: sixd.compile\(sixd.pose, model, frame=…\)"),
    "missing joints": (lambda: sixd.compile(sixd.hybrid_dynamics, ARM), "hybrid_dynamics needs given"),
    "unknown frame": (lambda: sixd.compile(sixd.pose, ARM, frame="tipp"), "no frame named 'tipp'. Did you mean 'tip'?"),
    "unknown coordinates": (lambda: sixd.compile(sixd.jacobian, ARM, frame="tip", expressed_in="local"), "expressed_in: no choice named 'local'"),
    "unknown joints": (lambda: sixd.compile(sixd.hybrid_dynamics, ARM, given=["link9"]), "no joint named 'link9'"),
    "target": (lambda: sixd.compile(sixd.mass_matrix, ARM, target="tpu"), "compile: target: no choice named 'tpu'"),
    "dtype": (lambda: sixd.compile(sixd.mass_matrix, ARM, dtype="float16"), "compile: dtype: no choice named 'float16'. Did you mean 'float64'?"),
    "int dtype": (lambda: sixd.compile(sixd.mass_matrix, ARM, dtype=int), "dtype: no choice named 'int64'"),
    "byte order": (lambda: sixd.compile(sixd.mass_matrix, ARM, dtype=">f8"), "dtype: no choice named '>f8'"),
    "nonsense dtype": (lambda: sixd.compile(sixd.mass_matrix, ARM, dtype="doble"), "dtype: no choice named 'doble'"),
    "unknown parameter": (lambda: sixd.compile(sixd.mass_matrix, ARM, parameters=("inertias",)), "compile: parameters: no parameter named 'inertias'. Did you mean 'inertia'?"),
    "symbol that is not there": (lambda: sixd.compile(sixd.mass_matrix, ARM, parameters=("mass",)), "no parameter named 'mass'. There are: 'inertia'"),
    "parameters as text": (lambda: sixd.compile(sixd.mass_matrix, ARM, parameters="inertia"), r"parameters is a string, expected names in a tuple: \('inertia',\)"),
    "parameter twice": (lambda: sixd.compile(sixd.mass_matrix, ARM, parameters=("gravity", "gravity")), "expected each once"),
    "parameter like an array": (lambda: sixd.compile(lambda gravity, model: gravity, ARM, parameters=("gravity",), shapes={"gravity": 3}), "no name of an array"),
    "parameters without a model": (lambda: sixd.compile(lambda q: q, ARM, parameters=("gravity",)), "takes no model, so it cannot see the parameters"),
    "no function": (lambda: sixd.compile((), ARM), "compile: got no function"),
    "not a function": (lambda: sixd.compile("mass_matrix", ARM), "compile: function is 'mass_matrix', expected a function"),
    "not a function among some": (lambda: sixd.compile((sixd.mass_matrix, 3), ARM), "compile: function is 3"),
    "no model": (lambda: sixd.compile(sixd.mass_matrix, None), "compile: model is a NoneType, expected a sixd.Model"),
    "a path for a model": (lambda: sixd.compile(sixd.mass_matrix, "arm.urdf"), "compile: model is a str"),
    "*args": (lambda: sixd.compile(lambda *q: q, ARM), r"<lambda> takes \*q, expected arguments that can be passed by name"),
    "**options": (lambda: sixd.compile(lambda q, **x: q, ARM), "takes .*x, expected arguments that can be passed by name"),
    "unknown shape": (lambda: sixd.compile(lambda q, target: q, ARM), r"the shape of 'target', an argument of <lambda>, is not known.*shapes=\{'target': \(3,\)\}"),
    "shape of nothing": (lambda: sixd.compile(lambda q: q, ARM, shapes={"x": 3}), "shapes: no array named 'x'"),
    "negative shape": (lambda: sixd.compile(lambda x: x, ARM, shapes={"x": (-1,)}), r"the shape of 'x' is \(-1,\), expected whole numbers"),
    "half a shape": (lambda: sixd.compile(lambda x: x, ARM, shapes={"x": 2.5}), "the shape of 'x' is 2.5"),
    "shape in words": (lambda: sixd.compile(lambda x: x, ARM, shapes={"x": "nq"}), "the shape of 'x' is 'nq'"),
    "two shapes": (lambda: sixd.compile((lambda q: q, sixd.mass_matrix), ARM, shapes={"q": 3}), r"q has shape \(2,\) in mass_matrix, \(3,\) before"),
    "built-in class": (lambda: sixd.compile(int, ARM), "the arguments of int cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_errors_of_compile(case):
    """What cannot be compiled is rejected at once, with a suggestion."""
    call, message = ERRORS[case]
    with pytest.raises(sixd.SixdError, match=message):
        call()


TRACES = {
    "a branch": (branch, "branch: a traced value was asked whether it is true.*sixd.where"),
    "and": (lambda q: q[0] > 0 and q[1], "asked whether it is true"),
    "max": (lambda q: max(q), "asked whether it is true"),
    "np.where": (lambda q: np.where(q > 0, q, 0), "asked whether it is true"),
    "np.maximum": (lambda q: np.maximum(q, 0), "asked whether it is true"),
    "float": (lambda q: float(q[0]), "asked for a number"),
    "assignment": (assign, "assign: a traced value was asked for a number"),
    "np.clip": (lambda q: np.clip(q, -1, 1), "np.clip.*sixd.spatial.minimum, maximum, clip"),
    "np.arcsinh": (lambda q: np.arcsinh(q), "sixd.spatial"),
    "np.linalg": (lambda q: np.linalg.inv(np.eye(2) * q), "sixd.spatial"),
    "a power": (lambda q: q**1.5, "raised to 1.5"),
    "None": (lambda q: None, "NoneType"),
    "a text": (lambda q: "q", "str"),
    "a table": (lambda q: {"a": q}, "dict"),
    "a truth value": (lambda q: q[0] > 0, "expected numbers"),
    "complex": (lambda q: q * 1j, "complex"),
    "ragged": (lambda q: [q, q[:1]], "<lambda>"),
    "ragged in a tuple": (lambda q: (q, [q, q[:1]]), "<lambda>"),
    "no result": (lambda q: (), "<lambda>"),
    "a generator": (lambda q: (x for x in q), "generator"),
}  # fmt: skip


@pytest.mark.parametrize("case", TRACES)
def test_functions_that_cannot_be_traced(case):
    """A clear error of the library, at once."""
    function, message = TRACES[case]
    with pytest.raises(sixd.SixdError, match=message):
        sixd.compile(function, ARM)


def test_functions_are_fixed_when_they_are_compiled(rng):
    """Variables in a function's closure may change later, without effect on one sample or many; changes of its
    arguments count.
    """
    gain = 1.0
    kernel = sixd.compile(lambda q: gain * q, ARM)
    q = rng.normal(size=(3, 2))
    gain = 2.0
    assert_same(kernel(q[0]), q[0])
    gain = 3.0
    assert_same(kernel(q), q)

    def swap(q):
        q[0], q[1] = q[1], q[0] * 2
        return q

    assert_same(sixd.compile(swap, ARM)(q), q[:, ::-1] * [1, 2])


def test_numpys_functions_that_work_all_the_same(rng):
    """np.sin and others call methods of a traced scalar, so they give the same results."""
    q = rng.uniform(0.1, 1, (4, 2))
    kernel = sixd.compile(lambda q: np.sin(q) + np.sqrt(q) * np.exp(np.abs(q)), ARM)
    assert_allclose(kernel(q), np.sin(q) + np.sqrt(q) * np.exp(q), rtol=1e-14)
    kernel = sixd.compile(lambda q: np.tanh(q) + np.log1p(q) * np.hypot(q, q[::-1]), ARM)
    assert_allclose(kernel(q), np.tanh(q) + np.log1p(q) * np.hypot(q, q[:, ::-1]), rtol=1e-14)


def test_errors_of_users_functions_pass():
    """Errors that a user's function raises are not changed."""
    with pytest.raises(ZeroDivisionError):
        sixd.compile(lambda q: 1 / 0, ARM)(np.zeros(2))


CALLS = {
    "too few": (lambda k, x: k(x, x), "kernel inverse_dynamics: got 2 arrays, expected 3: q, qd, qdd. The model is part of the kernel"),
    "none": (lambda k, x: k(), "got 0 arrays"),
    "the model too": (lambda k, x: k(ARM, x, x, x), "got 4 arrays, expected 3"),
    "unknown name": (lambda k, x: k(x, x, qddd=x), "no array named 'qddd'. Did you mean 'qdd'?"),
    "one twice": (lambda k, x: k(x, x, x, q=x), "got 4 arrays, expected 3"),
    "one twice, one missing": (lambda k, x: k(x, x, q=x), "expected 3: q, qd, qdd"),
    "wrong shape": (lambda k, x: k(x, x, np.zeros(3)), r"inverse_dynamics: qdd has shape \(3,\), expected \(..., 2\) \(nv of model 'planar2'\)"),
    "no array": (lambda k, x: k(x, x, None), "qdd is a NoneType"),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_wrong_calls_of_kernels(case):
    """The error states the number and the names of the arrays."""
    call, message = CALLS[case]
    kernel = sixd.compile(sixd.inverse_dynamics, ARM)
    for x in (np.zeros(2), np.zeros((3, 2)), np.zeros(2), np.zeros((3, 2))):
        with pytest.raises(sixd.SixdError, match=message):
            call(kernel, x)
        kernel(x, x, x)


def test_results_among_the_arguments_are_refused():
    """An array too many is not used for a result, and one of ``out`` is not an argument."""
    kernel, q, place = sixd.compile(sixd.energy, ARM), np.zeros((3, 2)), np.zeros(3)
    for _ in range(2):
        with pytest.raises(sixd.ScalarTypeError, match="got 3 arrays, expected 2"):
            kernel(q, q, place, out=place)
        with pytest.raises(sixd.ScalarTypeError, match="got 1 arrays, expected 2"):
            kernel(q, out=(q, place, place.copy()))
        kernel(q, q)


def test_wrong_parameters_are_named():
    """The error states their shape, without words that belong to other arrays."""
    kernel = sixd.compile(sixd.mass_matrix, ARM, parameters=("inertia",))
    with pytest.raises(sixd.ShapeError, match=r"mass_matrix: inertia has shape \(2, 9\), expected \(..., 2, 10\)\.$"):
        kernel(np.zeros(2), np.zeros((2, 9)))
    with pytest.raises(sixd.ScalarTypeError, match="f_ext was passed, but this function takes no external forces"):
        kernel(np.zeros(2), np.zeros((2, 10)), f_ext=np.zeros((2, 6)))


# C ---------------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_joint_kernel_as_c(dtype, rng, tmp_path):
    """The C function of several functions, parameters and a user's function gives the kernel's results."""
    functions = (sixd.mass_matrix, sixd.energy, lambda q, qd: sin(q) * qd)
    options = {"dtype": dtype, "parameters": ("gravity",)}
    with pytest.raises(sixd.ScalarTypeError, match="takes no model"):
        sixd.export_c(functions, MODEL, **options)
    functions = (*functions[:2], lambda q, qd, model: model.gravity * qd[0])
    code = sixd.export_c(functions, MODEL, name="all_of_it", **options)
    source, _ = code.save(tmp_path)
    library = tmp_path / "code.so"
    subprocess.run(
        ["gcc", "-std=c99", "-O2", "-Wall", "-Werror", "-shared", "-fPIC", source, "-o", library, "-lm"], check=True
    )
    kernel = sixd.compile(functions, MODEL, **options)
    for _ in range(5):
        arrays = [x.astype(dtype) for x in (*draw(MODEL, rng, (), 1), rng.normal(size=3))]
        results = [np.zeros(np.shape(x), dtype) for x in kernel(*arrays)]
        ctypes.CDLL(str(library)).all_of_it(*(ctypes.c_void_p(x.ctypes.data) for x in (*arrays, *results)))
        for x, y in zip(results, kernel(*arrays), strict=True):
            assert_allclose(
                x, y, rtol=1e-12 if dtype == "float64" else 1e-4, atol=1e-12 if dtype == "float64" else 1e-5
            )
