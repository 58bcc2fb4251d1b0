"""Public functions and kernels called with arrays on a GPU, by a driver that runs the code on the CPU."""

import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import sympy

import sixd
from fake_gpu import Array, install
from samples import OPERATIONAL
from sixd.codegen.llvm.machine import host
from sixd.engine.functions import LIBRARY
from sixd.errors import DeviceError, ScalarTypeError, ShapeError, SingularError
from sixd.model.system import library
from sixd.runtime.cuda import driver

fused = pytest.mark.skipif(not host().has_fma, reason="bits are those of CPUs with fused multiply-add")
ROWS = 35


@pytest.fixture
def arm():
    return sixd.zoo.ur_arm()


@pytest.fixture
def gpu(monkeypatch):
    yield install(monkeypatch)
    driver.is_installed.cache_clear()


def states(model, rng, n=ROWS, dtype="float64"):
    q = model.random_configuration(rng, size=n).astype(dtype)
    return q, *(rng.uniform(-1, 1, (n, model.nv)).astype(dtype) for _ in range(2))


def parts(result):
    result = getattr(result, "raw", result)  # of sixd.newton_euler
    return result if isinstance(result, tuple) else (result,)


def assert_same(found, true):
    """Check that both sides have the same results, bit for bit."""
    assert type(found) is type(true) or not isinstance(true, tuple)
    for x, y in zip(parts(found), parts(true), strict=True):
        assert type(x) is Array
        assert x.dtype == np.asarray(y).dtype
        assert np.array_equal(x.data, y, equal_nan=True)


# every function ---------------------------------------------------------------------------------------------


def arguments(model, function, rng, dtype):
    """Return random arrays of a function's shapes."""
    for name in function.arrays:
        if name in ("q", "q0", "q1"):
            yield model.random_configuration(rng, size=ROWS).astype(dtype)
        else:
            yield rng.uniform(-1, 1, (ROWS, *function.core(model, name))).astype(dtype)


@pytest.mark.many
@fused
@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("name", sorted(LIBRARY))
def test_every_function_is_bit_identical_to_the_cpu(gpu, rng, name, dtype):
    """On a tree with a free and a spherical joint; functions of constraints on a four-bar linkage."""
    model = sixd.zoo.random_tree(7, kinds=("free", "revolute", "spherical"))
    if LIBRARY[name].generic and name not in OPERATIONAL:
        model = sixd.zoo.four_bar()
    function = LIBRARY[name].for_system(model)
    fixed = {"frame": model.body_names[-1], "given": [model.joint_names[1]]}
    choices = {key: fixed[key] for key, usual in function.choices.items() if usual is ...}
    given, front = list(arguments(model, function, rng, dtype)), library(name)

    def call(arrays):
        return front(model, **dict(zip(function.arrays, arrays, strict=True)), **choices)

    assert_same(call([Array(x) for x in given]), call(given))
    assert len(gpu.launches) == 1


def reduced():
    arm = sixd.zoo.planar(3)
    _, second, third = arm.joint_names
    return arm.with_constraints(sixd.Mimic(third, second, multiplier=-0.5)).reduce()


def pendulum():
    q, qd = sympy.Symbol("q"), sympy.Symbol("qd")
    return sixd.lagrange(qd**2 / 2, -9.81 * sympy.cos(q), [q], qd=[qd])


@fused
@pytest.mark.parametrize("make", [reduced, pendulum, sixd.zoo.rolling_disc])
def test_other_systems(gpu, rng, make):
    """A model in independent coordinates, equations from energies, and constraints on velocities."""
    system = make()
    q, qd, tau = states(system, rng)
    for function, arrays in ((sixd.mass_matrix, (q,)), (sixd.forward_dynamics, (q, qd, tau))):
        assert_same(function(system, *map(Array, arrays)), function(system, *arrays))


@fused
def test_external_forces(arm, gpu, rng):
    q, qd, qdd = states(arm, rng)
    f_ext = rng.uniform(-1, 1, (ROWS, arm.nb, 6))
    true = sixd.inverse_dynamics(arm, q, qd, qdd, f_ext=f_ext)
    assert_same(sixd.inverse_dynamics(arm, *map(Array, (q, qd, qdd)), f_ext=Array(f_ext)), true)
    kernel = sixd.compile(sixd.inverse_dynamics, arm)
    assert_same(kernel(*map(Array, (q, qd, qdd)), f_ext=Array(f_ext)), true)
    tool, force, point = arm.body_names[-1], rng.uniform(-1, 1, (ROWS, 3)), rng.uniform(-1, 1, 3)
    assert_same(sixd.external_force(arm, Array(q), tool, Array(force)), sixd.external_force(arm, q, tool, force))
    there = sixd.external_force(arm, Array(q), tool, Array(force), point=Array(point))
    assert_same(there, sixd.external_force(arm, q, tool, force, point=point))


@fused
def test_ignored_entries_may_be_anything(arm, gpu, rng):
    q, qd, qdd = states(arm, rng)
    given, tau = arm.joint_names[:2], rng.uniform(-1, 1, (ROWS, 6))
    qdd[:, 2:] = tau[:, :2] = np.nan
    there = sixd.hybrid_dynamics(arm, given, *map(Array, (q, qd, qdd, tau)))
    assert_same(there, sixd.hybrid_dynamics(arm, given, q, qd, qdd, tau))


def test_singular_poses_are_counted_instead(gpu, rng):
    """A stretched arm cannot move its tip outwards: the CPU raises, the GPU counts the samples."""
    arm = sixd.zoo.planar(2)
    q, tip = rng.uniform(0.5, 1, (3, 2)), {arm.frame_names[-1]: (3, 4)}
    q[1:, 1] = 0
    with pytest.raises(SingularError, match=r"the 2 rows of .* are dependent there in state \(1,\) \(rank 1 of 2"):
        sixd.operational_inertia(arm, q, tip)
    there = sixd.operational_inertia(arm, Array(q), tip)
    assert np.array_equal(np.isnan(there.data).all(axis=(1, 2)), [False, True, True])
    with pytest.raises(SingularError, match=r"operational_inertia \(2 states\)"):
        sixd.cuda.check()
    # five joints cannot move a frame in six directions, wherever they are: rejected on both sides
    for x in (rng.uniform(-1, 1, (3, 5)), Array(rng.uniform(-1, 1, (3, 5)))):
        with pytest.raises(SingularError, match="cannot move in all six directions in any configuration"):
            sixd.operational_inertia(sixd.zoo.planar(5), x, "link5")


# kernels ----------------------------------------------------------------------------------------------------


@fused
def test_kernels_accept_both_kinds(arm, gpu, rng):
    """One object, called alternately with NumPy arrays and with arrays on a GPU."""
    q, qd, qdd = states(arm, rng)
    kernel = sixd.compile((sixd.inverse_dynamics, sixd.mass_matrix), arm)
    for _ in range(2):
        true = kernel(q, qd, qdd)
        assert_same(kernel(Array(q), Array(qd), qdd=Array(qdd)), true)
    tau, M = Array(np.zeros((ROWS, 6))), Array(np.zeros((ROWS, 6, 6)))
    assert kernel(Array(q), Array(qd), Array(qdd), out=(tau, M))[0] is tau
    assert_same((tau, M), true)


@pytest.mark.long
@fused
def test_derivatives(arm, gpu, rng):
    q, qd, qdd = states(arm, rng)
    w = rng.uniform(-1, 1, (ROWS, 6))
    inertia = np.array([sixd.Inertia.from_matrix(x).parameters for x in arm.inertia[1:]])
    for kernel, arrays in (
        (sixd.vjp(sixd.forward_dynamics, arm), (q, qd, qdd, w)),
        (sixd.vjp(sixd.inverse_dynamics, arm, parameters=["inertia"], by=["q", "inertia"]), (q, qd, qdd, inertia, w)),
        (sixd.jvp(sixd.inverse_dynamics, arm, by="q"), (q, qd, qdd, w)),
        (sixd.hvp(sixd.gravity_force, arm), (q, w, w)),
    ):
        assert_same(kernel(*map(Array, arrays)), kernel(*arrays))


@fused
def test_own_functions(arm, gpu, rng):
    """A user's function is traced once: the code for the GPU comes from the same trace."""
    q, *_ = states(arm, rng)
    gain = 2.0

    def law(model, q, k):
        return k * gain * q - sixd.gravity_force(model, q)

    kernel = sixd.compile(law, arm, shapes={"k": ()})
    true = kernel(q, 3.0)
    gain = 5.0
    assert_same(kernel(Array(q), Array(np.array(3.0))), true)
    assert_same(kernel(Array(q), 3.0), true)  # a plain number for a scalar
    with pytest.raises(DeviceError, match="q is a float in CPU memory"):
        kernel(3.0, Array(np.array(3.0)))


# arrays -----------------------------------------------------------------------------------------------------


@fused
@pytest.mark.parametrize("kept", [False, True])
def test_layouts(arm, gpu, rng, kept):
    """Broadcasting over several dimensions, column-major arrays, slices, one sample, none; repeated calls use a plan."""
    q, qd, qdd = states(arm, rng, 12)
    cases = [
        (q, qd[0], qdd), (np.asfortranarray(q), qd, np.asfortranarray(qdd)), (q[::3], qd[1::3], qdd[:4]),
        (q[::-1], qd, qdd), (q[:2, None, None], qd[:3, None], qdd[:4]), (q[0], qd[0], qdd[0]),
        (q[:0], qd[:0], qdd[:0]), (q[:0], qd[0], qdd[0]),
    ]  # fmt: skip
    for given in cases * (1 + kept):
        assert_same(sixd.inverse_dynamics(arm, *map(Array, given)), sixd.inverse_dynamics(arm, *given))


@fused
def test_out(arm, gpu, rng):
    q, *_ = states(arm, rng, 9)
    true = sixd.mass_matrix(arm, q)
    for memory in (np.zeros((9, 6, 6)), np.zeros((9, 6, 6), order="F"), np.zeros((18, 6, 6))[::2]):
        out = Array(memory)
        assert sixd.mass_matrix(arm, Array(q), out=out) is out
        assert np.array_equal(memory, true)
    memory = rng.uniform(-1, 1, (9, 18))
    x = Array(memory[:, :6])
    for _ in range(2):
        with pytest.raises(DeviceError, match="out overlaps another array"):
            sixd.gravity_force(arm, x, out=Array(memory[:, 5:11]))
        with pytest.raises(DeviceError, match="out overlaps another array"):
            sixd.gravity_force(arm, x, out=x)
    sixd.gravity_force(arm, Array(q), out=Array(memory[:, 6:12]))
    for out, error in (
        (
            np.zeros((8, 6)),
            "out is a float64 array of shape (8, 6), expected a writeable float64 array of shape (9, 6)",
        ),
        (np.zeros((9, 6), "f4"), "out is a float32 array"),
        (np.lib.stride_tricks.as_strided(np.zeros((9, 1)), (9, 6), (8, 0)), "entries of out are at one address"),
    ):
        with pytest.raises(ShapeError, match=re.escape(error)):
            sixd.gravity_force(arm, Array(q), out=Array(out))
    with pytest.raises(ShapeError, match="out has 1 arrays, expected 2"):
        sixd.energy(arm, Array(q), Array(q), out=Array(np.zeros(9)))


def test_wrong_arrays(arm, gpu, rng):
    q, qd, qdd = states(arm, rng, 5)
    for wrong, error, text in (
        (qd, DeviceError, r"qd is a numpy.ndarray in CPU memory, but q is on a GPU, .* "
         r"cupy.asarray\(qd\), or the others to the CPU, q.get\(\)"),
        (qd.tolist(), DeviceError, "qd is a list in CPU memory"),
        (1.0, DeviceError, "qd is a float in CPU memory"),
        (None, DeviceError, "qd is a NoneType in CPU memory"),
        (Array(qd.astype("float32")), ScalarTypeError, "qd holds float32, expected float64"),
        (Array(qd.astype(int)), ScalarTypeError, "qd holds <i8, expected float64 or float32 on the GPU"),
        (Array(qd[:, :5]), ShapeError, r"qd has shape \(5, 5\), expected \('...', 6\)"),
        (Array(qd[:3]), ShapeError, "the batch dimensions do not broadcast: q"),
    ):  # fmt: skip
        with pytest.raises(error, match=f"inverse_dynamics: {text}"):
            sixd.inverse_dynamics(arm, Array(q), wrong, Array(qdd))
    with pytest.raises(DeviceError, match="out is a numpy.ndarray in CPU memory, but q is on a GPU"):
        sixd.gravity_force(arm, Array(q), out=np.zeros((5, 6)))
    with pytest.raises(DeviceError, match="q is a numpy.ndarray in CPU memory, but out is on a GPU"):
        sixd.gravity_force(arm, q, out=Array(np.zeros((5, 6))))
    with pytest.raises(ScalarTypeError, match="f_ext was passed|takes no"):
        sixd.compile(sixd.mass_matrix, arm)(Array(q), f_ext=Array(np.zeros((6, 6))))
    assert not gpu.launches


def test_symbols(gpu):
    m = sympy.Symbol("m")
    with pytest.raises(ScalarTypeError, match="symbolic parameters"):
        sixd.mass_matrix(sixd.zoo.rack_and_pinion(mass=m), Array(np.zeros((3, 1))))


def test_read_only(arm, gpu, rng):
    """Arrays of other libraries state in their interface whether they are writeable."""

    class Other(Array):
        @property
        def __cuda_array_interface__(self):
            info = super().__cuda_array_interface__
            return {**info, "data": (info["data"][0], not self.data.flags.writeable)}

    q, *_ = states(arm, rng, 5)
    memory = np.zeros((5, 6))
    sixd.gravity_force(arm, Other(q), out=Other(memory))
    assert np.array_equal(memory, sixd.gravity_force(arm, q))
    memory.setflags(write=False)
    with pytest.raises(ShapeError, match="out is a read-only float64 array"):
        sixd.gravity_force(arm, Other(q), out=Other(memory))
    with pytest.raises(DeviceError, match="give out="):
        sixd.gravity_force(arm, Other(q))


def test_several_gpus(arm, monkeypatch, rng):
    install(monkeypatch, devices=2)

    class There(Array):
        """An array on the second GPU."""

        @property
        def data(self):
            return self._data

        @data.setter
        def data(self, x):
            class Second(type(x)):
                device_id = 1

            self._data = np.asarray(x).view(Second)

    There.__module__ = "cupy"
    q, qd, qdd = states(arm, rng, 5)
    with pytest.raises(DeviceError, match=r"several GPUs \(q on 0, qd on 1, qdd on 0\), expected all on one"):
        sixd.inverse_dynamics(arm, Array(q), There(qd), Array(qdd))
    driver.is_installed.cache_clear()


@fused
@pytest.mark.parametrize("devices", [1, 2])
def test_repeated_launches(arm, monkeypatch, rng, devices):
    """Calls like the one before, with other numbers, in several threads, and mixed with calls with other layouts."""
    library = install(monkeypatch, devices)
    kernel, only = sixd.compile(sixd.gravity_force, arm), sixd.compile(sixd.gravity_force, arm, target="cuda")

    def work(seed):
        own = np.random.default_rng(seed)
        for k in range(6):
            q, out = own.uniform(-1, 1, (3 + (k == 4), 6)), np.zeros((3 + (k == 4), 6))
            true = sixd.gravity_force(arm, q)
            for call in (kernel, only, lambda x, **options: sixd.gravity_force(arm, x, **options)):
                call(Array(q), out=Array(out))
                assert np.array_equal(out, true)
                out[:] = 0
                assert_same(call(Array(q)), true)
        return True

    with ThreadPoolExecutor(3) as pool:
        assert all(pool.map(work, range(3)))
    assert not library.contexts  # left unchanged
    driver.is_installed.cache_clear()


def test_functions_of_the_cpu_say_so(arm, gpu):
    """Functions that are not compiled need arrays in the memory of the CPU."""
    linkage = sixd.zoo.four_bar()
    q, pins = Array(np.zeros(6)), Array(np.zeros(3))
    for call in (
        lambda: sixd.assemble(linkage, pins),
        lambda: sixd.mobility(linkage, pins),
        lambda: sixd.linearize(arm, q, np.zeros(6)),
        lambda: sixd.step_derivatives(arm, q, np.zeros(6), 1e-3),
        lambda: sixd.draw(arm, q),
        lambda: sixd.check(linkage, q=pins),
        lambda: sixd.Actuation(arm, [sixd.Motor(arm.joint_names[0])]).allocate(q, np.zeros(6)),
    ):
        with pytest.raises(DeviceError, match=r"q is a cupy.Array on a GPU, .* in CPU memory. Give q.get"):
            call()


@fused
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_actuation(arm, gpu, rng, dtype):
    actuation = sixd.Actuation(arm, [sixd.Motor(arm.joint_names[0]), sixd.Motor(arm.joint_names[3])])
    q, f = states(arm, rng, dtype=dtype)[0], rng.uniform(-1, 1, (ROWS, 2)).astype(dtype)
    assert_same(actuation.generalized(Array(q), Array(f)), actuation.generalized(q, f))
    assert_same(actuation.matrix(Array(q)), actuation.matrix(q))
