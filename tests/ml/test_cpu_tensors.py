"""Tensors of PyTorch in the memory of the CPU: functions and kernels read them without copies, and return tensors."""

import numpy as np
import pytest

import sixd
from sixd.errors import ScalarTypeError, ShapeError

torch = pytest.importorskip("torch", reason="PyTorch is not installed: see `make ml`")
ROWS = 7


@pytest.fixture
def arm():
    return sixd.zoo.ur_arm()


def states(model, rng, dtype="float64"):
    return [rng.uniform(-1, 1, (ROWS, model.nv)).astype(dtype) for _ in range(3)]


def tensors(*arrays):
    return [torch.from_numpy(np.array(x)) for x in arrays]


def assert_same(found, true):
    assert type(found) is torch.Tensor
    assert np.array_equal(found.numpy(), true)
    assert found.numpy().dtype == np.asarray(true).dtype


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_functions(arm, rng, dtype):
    """The first call, and those after it, of one sample and of batches."""
    q, qd, qdd = states(arm, rng, dtype)
    for _ in range(3):
        for rows in (slice(None), 0, slice(0, 0)):
            given = q[rows], qd[rows], qdd[rows]
            assert_same(sixd.inverse_dynamics(arm, *tensors(*given)), sixd.inverse_dynamics(arm, *given))
    kinetic, _ = sixd.energy(arm, *tensors(q[0], qd[0]))
    assert kinetic.shape == ()
    assert_same(kinetic, sixd.energy(arm, q[0], qd[0])[0])


def test_named_results_choices_and_forces(arm, rng):
    q, qd, qdd = states(arm, rng)
    f_ext, tool = rng.uniform(-1, 1, (6, 6)), arm.body_names[-1]
    found = sixd.forward_dynamics_derivatives(arm, *tensors(q, qd, qdd))
    true = sixd.forward_dynamics_derivatives(arm, q, qd, qdd)
    assert type(found) is type(true)
    assert_same(found.q, true.q)
    assert_same(sixd.jacobian(arm, torch.from_numpy(q), tool), sixd.jacobian(arm, q, tool))
    there = sixd.inverse_dynamics(arm, *tensors(q, qd, qdd), f_ext=torch.from_numpy(f_ext))
    assert_same(there, sixd.inverse_dynamics(arm, q, qd, qdd, f_ext=f_ext))
    given, (q, qd, qdd) = arm.joint_names[:2], states(arm, rng)
    assert_same(sixd.hybrid_dynamics(arm, given, *tensors(q, qd, qdd, qd))[1],
                sixd.hybrid_dynamics(arm, given, q, qd, qdd, qd)[1])  # fmt: skip
    force = rng.uniform(-1, 1, 3)
    assert_same(sixd.external_force(arm, torch.from_numpy(q), tool, torch.from_numpy(force)),
                sixd.external_force(arm, q, tool, force))  # fmt: skip
    assert_same(sixd.operational_inertia(arm, torch.from_numpy(q), tool), sixd.operational_inertia(arm, q, tool))


def test_mixed_with_numpy(arm, rng):
    """One tensor among the arguments is enough for tensors as results."""
    q, qd, qdd = states(arm, rng)
    assert_same(
        sixd.inverse_dynamics(arm, q, torch.from_numpy(qd), qdd.tolist()), sixd.inverse_dynamics(arm, q, qd, qdd)
    )


def test_layouts(arm, rng):
    q, qd, qdd = states(arm, rng)
    wide = torch.from_numpy(np.repeat(q, 2, axis=1))[:, ::2]
    columns = torch.from_numpy(np.ascontiguousarray(qd.T)).T
    expanded = torch.from_numpy(qdd[:1]).expand(ROWS, 6)
    assert_same(sixd.inverse_dynamics(arm, wide, columns, expanded), sixd.inverse_dynamics(arm, q, qd, qdd[0]))


def test_out(arm, rng):
    q, qd, _ = states(arm, rng)
    out = torch.zeros(ROWS, 6, 6, dtype=torch.float64)
    assert sixd.mass_matrix(arm, torch.from_numpy(q), out=out) is out
    assert_same(out, sixd.mass_matrix(arm, q))
    memory = np.zeros((ROWS, 6, 6))
    assert sixd.mass_matrix(arm, torch.from_numpy(q), out=memory) is memory
    assert_same(torch.from_numpy(memory), sixd.mass_matrix(arm, q))
    two = torch.zeros(ROWS, dtype=torch.float64), torch.zeros(ROWS, dtype=torch.float64)
    assert sixd.energy(arm, *tensors(q, qd), out=two) is two
    assert_same(two[0], sixd.energy(arm, q, qd)[0])
    x = torch.from_numpy(q.copy())
    sixd.gravity_force(arm, x, out=x)  # overlaps: copied
    assert_same(x, sixd.gravity_force(arm, q))
    with pytest.raises(ShapeError, match=r"out has shape \(7, 6\)"):
        sixd.mass_matrix(arm, torch.from_numpy(q), out=x)


def test_kernels(arm, rng):
    q, qd, qdd = states(arm, rng)
    kernel = sixd.compile((sixd.inverse_dynamics, sixd.mass_matrix), arm)
    gradient = sixd.vjp(sixd.forward_dynamics, arm)
    for _ in range(2):
        for found, true in zip(kernel(*tensors(q, qd, qdd)), kernel(q, qd, qdd), strict=True):
            assert_same(found, true)
        found, true = gradient(*tensors(q, qd, qdd, q)), gradient(q, qd, qdd, q)
        assert type(found) is type(true)
        assert_same(found.q, true.q)
    actuation = sixd.Actuation(arm, [sixd.Motor(arm.joint_names[0])])
    assert_same(actuation.matrix(torch.from_numpy(q).float()), actuation.matrix(q.astype("float32")))


def test_gradients_are_not_lost(arm, rng):
    q, *_ = states(arm, rng)
    x = torch.from_numpy(q).requires_grad_()
    text = r"mass_matrix: q is a tensor that requires gradients.* sixd.torch, or give q.detach\(\)"
    with pytest.raises(ScalarTypeError, match=text):
        sixd.mass_matrix(arm, x)
    with pytest.raises(ScalarTypeError, match=text):
        sixd.compile(sixd.mass_matrix, arm)(x)
    with torch.no_grad():
        assert_same(sixd.mass_matrix(arm, x), sixd.mass_matrix(arm, q))
    assert_same(sixd.mass_matrix(arm, x.detach()), sixd.mass_matrix(arm, q))


def test_wrong_tensors(arm, rng):
    q, *_ = states(arm, rng)
    assert_same(sixd.mass_matrix(arm, torch.zeros(ROWS, 6, dtype=torch.int64)), sixd.mass_matrix(arm, 0 * q))
    with pytest.raises(ScalarTypeError, match="mass_matrix: q is a tensor without memory that NumPy can read"):
        sixd.mass_matrix(arm, torch.zeros(ROWS, 6, dtype=torch.bfloat16))
    with pytest.raises(ScalarTypeError, match=r"Inside torch.compile and torch.func use sixd.torch"):
        torch.func.vmap(lambda x: sixd.mass_matrix(arm, x))(torch.from_numpy(q))
    with pytest.raises(ScalarTypeError, match="expected a dense tensor"):
        sixd.mass_matrix(arm, torch.zeros(ROWS, 6, device="meta"))
    with pytest.raises(ScalarTypeError, match="q holds bool"):
        sixd.mass_matrix(arm, torch.zeros(ROWS, 6, dtype=torch.bool))
    with pytest.raises(ShapeError, match=r"q has shape \(7, 5\)"):
        sixd.mass_matrix(arm, torch.from_numpy(q)[:, :5])


def test_other_functions_accept_tensors(arm, rng):
    """Functions that are not compiled read tensors as arrays."""
    linkage = sixd.zoo.four_bar()
    q = linkage.neutral()
    assert np.array_equal(sixd.assemble(linkage, torch.from_numpy(q)), sixd.assemble(linkage, q))


def test_steps_and_simulations(rng):
    """A step returns tensors; a simulation returns a trajectory of NumPy arrays."""
    arm = sixd.zoo.planar(2)
    q, qd, tau = (rng.uniform(-1, 1, (ROWS, 2)) for _ in range(3))
    for controller in (tau, lambda t, q, qd: -q):
        given = torch.from_numpy(controller) if isinstance(controller, np.ndarray) else controller
        found = sixd.step(arm, *tensors(q, qd), 1e-3, controller=given)
        for x, y in zip(found, sixd.step(arm, q, qd, 1e-3, controller=controller), strict=True):
            assert_same(x, y)
        motion = sixd.simulate(arm, *tensors(q, qd), 0.01, controller=given)
        assert np.array_equal(motion.q, sixd.simulate(arm, q, qd, 0.01, controller=controller).q)
    with pytest.raises(ScalarTypeError, match="step: q is a tensor that requires gradients"):
        sixd.step(arm, torch.from_numpy(q).requires_grad_(), torch.from_numpy(qd), 1e-3)
