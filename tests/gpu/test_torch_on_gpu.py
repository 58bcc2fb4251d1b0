"""sixd.torch on a GPU: bit-identical to the CPU, gradients, compiled graphs, CUDA graphs."""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")
if not torch.cuda.is_available():
    pytest.skip("PyTorch finds no GPU", allow_module_level=True)

import sixd  # noqa: E402
import sixd.torch as st  # noqa: E402
from samples import KINDS, single_joint  # noqa: E402
from torch_samples import smooth, tensors  # noqa: E402

DT = 0.02


def on_gpu(model, dtype=torch.float64, **options):
    """Return tensors like ``tensors``, on the GPU."""
    found = tensors(model, grad=False, **options)
    return [x.to("cuda", dtype) for x in found]


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
@pytest.mark.parametrize("kind", KINDS)
def test_bits_are_those_of_the_cpu(kind, dtype):
    model = smooth(single_joint(kind))
    state = on_gpu(model, dtype, rows=40)
    for function in (st.inverse_dynamics, st.forward_dynamics):
        there, here = ([x.to(d).requires_grad_() for x in state] for d in ("cuda", "cpu"))
        a, b = function(model, *there), function(model, *here)
        np.testing.assert_array_equal(a.detach().cpu(), b.detach())
        gradients = (torch.autograd.grad(y, x, torch.ones_like(y)) for y, x in ((a, there), (b, here)))
        for x, y in zip(*gradients, strict=True):
            np.testing.assert_array_equal(x.cpu(), y)


@pytest.mark.parametrize("friction", [False, True])
def test_rollouts(friction):
    model = single_joint("free") if friction else smooth(single_joint("free"))
    q, qd, tau = on_gpu(model, rows=40)
    found = []
    for device in ("cuda", "cpu"):
        x = [y.to(device).requires_grad_() for y in (q, qd, tau[:, None].repeat(1, 5, 1))]
        motion = st.rollout(model, *x, DT)
        found.append([*motion, *torch.autograd.grad(motion.q.square().sum() + motion.qd.square().sum(), x)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_array_equal(a.detach().cpu(), b.detach())


def test_gradients():
    model = smooth(single_joint("free"))
    state = [x.requires_grad_() for x in on_gpu(model)]
    assert torch.autograd.gradcheck(lambda *x: st.forward_dynamics(model, *x), state)
    assert torch.autograd.gradgradcheck(lambda *x: st.inverse_dynamics(model, *x), state)
    assert torch.autograd.gradcheck(lambda q, qd, u: st.step(model, q, qd, DT, tau=u), state)
    controls = state[2].detach()[:, None].repeat(1, 3, 1).requires_grad_()
    assert torch.autograd.gradcheck(lambda *x: tuple(st.rollout(model, *x, DT)), (*state[:2], controls))


def test_a_compiled_graph():
    model = smooth(single_joint("free"))
    state = [x.requires_grad_() for x in on_gpu(model)]

    def loss(q, qd, tau):
        q1, v1 = st.step(model, q, qd, DT, tau=tau)
        return st.rollout(model, q1, v1, tau[:, None], DT).q.sin().sum()

    made = torch.compile(loss, fullgraph=True, backend="aot_eager")
    for x, y in zip(*(torch.autograd.grad(f(*state), state) for f in (loss, made)), strict=True):
        torch.testing.assert_close(x, y, rtol=1e-10, atol=1e-10)


def test_a_cuda_graph():
    model = sixd.zoo.ur_arm()
    q, qd, tau = on_gpu(model, rows=100)
    out, stream = torch.empty_like(tau), torch.cuda.Stream()

    def work():
        st.inverse_dynamics(model, q, qd, tau, out=out)
        return st.rollout(model, q, qd, out[:, None].expand(-1, 3, -1), DT).q

    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        work()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = work()
    q.mul_(0.5)
    graph.replay()
    torch.cuda.synchronize()
    kept = found.clone()
    torch.testing.assert_close(kept, work(), rtol=0, atol=0)


def test_samples_without_a_result_are_counted():
    model = sixd.zoo.random_tree(2, kinds=("free",))
    q, rest = (torch.zeros(2, n, dtype=torch.float64, device="cuda") for n in (model.nq, model.nv))
    assert torch.isnan(st.forward_dynamics(model, q, rest, rest)).any()
    with pytest.raises(sixd.SingularError, match="forward_dynamics"):
        sixd.cuda.check()


def test_devices_are_not_mixed():
    model = sixd.zoo.planar(2)
    q = torch.zeros(2, dtype=torch.float64, device="cuda")
    with pytest.raises(sixd.DeviceError, match="on cuda:0 and on cpu"):
        st.bias_force(model, q, q.cpu())
