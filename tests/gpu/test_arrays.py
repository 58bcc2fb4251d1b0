"""Arrays of CuPy and PyTorch on a GPU: layouts, out=, streams, errors, counts and graphs."""

import numpy as np
import pytest

import sixd
from sixd.errors import DeviceError, ScalarTypeError, ShapeError, SingularError

ROWS = 500


@pytest.fixture
def arm():
    return sixd.zoo.ur_arm()


@pytest.fixture
def state(rng):
    return [rng.uniform(-1, 1, (ROWS, 6)) for _ in range(3)]


def test_layouts(arm, state, library):
    to, back, kind = library
    q, qd, qdd = state
    cases = [
        (q, qd, qdd), (q, qd[0], qdd), (q[::5], qd[1::5], qdd[:100]), (q[:5, None, None], qd[:6, None], qdd[:7]),
        (q[0], qd[0], qdd[0]), (q[:0], qd[:0], qdd[:0]),
    ]  # fmt: skip
    for given in cases:
        found = sixd.inverse_dynamics(arm, *map(to, given))
        assert type(found) is kind
        assert np.array_equal(back(found), sixd.inverse_dynamics(arm, *given))
    columns = to(np.ascontiguousarray(q.T)).T
    assert np.array_equal(back(sixd.mass_matrix(arm, columns)), sixd.mass_matrix(arm, q))


def test_out(arm, state, library):
    to, back, _ = library
    q, *_ = state
    x, out = to(q), to(np.zeros((ROWS, 6, 6)))
    assert sixd.mass_matrix(arm, x, out=out) is out
    assert np.array_equal(back(out), sixd.mass_matrix(arm, q))
    with pytest.raises(DeviceError, match="overlaps"):
        sixd.gravity_force(arm, x, out=x)
    with pytest.raises(ShapeError, match="out is a"):
        sixd.gravity_force(arm, x, out=to(np.zeros((ROWS, 5))))


def test_derivatives_and_kernels(arm, state, library):
    to, back, _ = library
    for kernel in (
        sixd.compile((sixd.inverse_dynamics, sixd.energy), arm),
        sixd.jvp(sixd.inverse_dynamics, arm, by="q"),
        sixd.vjp(sixd.forward_dynamics, arm),
    ):
        given = [*state, state[0]][: len(kernel.inputs)]
        found, true = kernel(*map(to, given)), kernel(*given)
        pairs = zip(found, true, strict=True) if isinstance(true, tuple) else [(found, true)]
        assert all(np.array_equal(back(x), y) for x, y in pairs)


def test_wrong_arrays(arm, state, library):
    to, *_ = library
    q, qd, qdd = state
    with pytest.raises(DeviceError, match="qd is a numpy.ndarray in CPU memory, but q is on a GPU"):
        sixd.inverse_dynamics(arm, to(q), qd, to(qdd))
    with pytest.raises(ScalarTypeError, match="qd holds float32, expected float64"):
        sixd.inverse_dynamics(arm, to(q), to(qd.astype("f4")), to(qdd))
    with pytest.raises(DeviceError, match="CPU memory"):
        sixd.assemble(sixd.zoo.four_bar(), to(np.zeros(3)))


def test_samples_are_counted(arm, state, library):
    to, *_ = library
    q, qd, tau = state
    q[[3, 77]] = np.nan
    sixd.forward_dynamics(arm, to(q), to(qd), to(tau))
    with pytest.raises(SingularError, match=r"forward_dynamics \(2 states\)"):
        sixd.cuda.check()
    sixd.cuda.check()


def test_graph(arm, state, rng):
    """A launch that was captured with PyTorch is repeated with other numbers."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    q, qd, qdd = (torch.as_tensor(x, device="cuda") for x in state)
    out = torch.zeros_like(q)
    sixd.inverse_dynamics(arm, q, qd, qdd, out=out)  # compiled and loaded before
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        sixd.inverse_dynamics(arm, q, qd, qdd, out=out)
    new = rng.uniform(-1, 1, (ROWS, 6))
    q.copy_(torch.as_tensor(new))
    graph.replay()
    torch.cuda.synchronize()
    assert np.array_equal(out.cpu().numpy(), sixd.inverse_dynamics(arm, new, *state[1:]))


def test_stream(arm, rng):
    """Work is queued after that of the caller's stream."""
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    q = rng.uniform(-1, 1, (1 << 16, 6))
    there, side = torch.as_tensor(q, device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        twice = sixd.gravity_force(arm, there) * 2
    side.synchronize()
    assert np.array_equal(twice.cpu().numpy(), 2 * sixd.gravity_force(arm, q))
