"""``sixd.torch.distance`` and ``min_distance`` on the CPU: values, gradients of first order, vmap, torch.compile.

gradcheck compares with central differences of 1e-6 at its default tolerances.
"""

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed: make ml")

import sixd  # noqa: E402
import sixd.torch as st  # noqa: E402
from collision_scenes import SOLIDS, three_and_a_box  # noqa: E402
from sixd.errors import ScalarTypeError, ShapeError, TraceError  # noqa: E402

gradcheck = torch.autograd.gradcheck
BALL = SOLIDS["sphere"]


@pytest.fixture(scope="module")
def model():
    """A free box, a ball on a spherical and a cylinder on a revolute joint, and a box in the world."""
    return three_and_a_box()


@pytest.fixture(scope="module")
def states(model):
    return torch.tensor(model.random_configuration(4, size=3))


def test_values(model, states):
    """Those of sixd, in both dtypes, with pairs and placements."""
    for dtype in (torch.float64, torch.float32):
        q = states.to(dtype)
        for pairs in (None, [("a", "obstacle")]):
            moved = {"obstacle": sixd.placement((0, 2, 0))}
            for options in ({}, {"placements": moved}):
                found = st.distance(model, q, pairs, **options)
                expected = sixd.distance(model, q.numpy(), pairs, **options).distance
                assert found.dtype == dtype
                assert np.array_equal(found, expected)
                assert np.array_equal(st.min_distance(model, q, pairs, **options), expected.min(axis=-1))
    assert st.distance(model, states[0]).shape == (4,)
    assert st.distance(model, states[:0]).shape == (0, 4)
    assert st.min_distance(model, states[:, None]).shape == (3, 1)


def test_gradients(model, states):
    """In ambient coordinates, also of quaternions that are not of unit length."""
    q = (states * 1.0005).requires_grad_()
    assert gradcheck(lambda q: st.distance(model, q), q)
    assert gradcheck(lambda q: st.min_distance(model, q), q)
    assert gradcheck(lambda q: st.distance(model, q[0]).sum(), q)
    (found,) = torch.autograd.grad(st.distance(model, q).sum(), q)
    for part in (slice(0, 4), slice(7, 11)):
        assert (found[:, part] * q[:, part]).sum(dim=-1).abs().max() < 1e-12


def test_transforms(model, states):
    """vmap, jacrev and jacfwd of torch.func."""
    one = lambda q: st.distance(model, q)  # noqa: E731
    expected = one(states)
    assert torch.equal(torch.func.vmap(one)(states), expected)
    reverse = torch.func.vmap(torch.func.jacrev(one))(states)
    forward = torch.func.vmap(torch.func.jacfwd(one))(states)
    assert reverse.shape == (3, 4, model.nq)
    assert (reverse - forward).abs().max() < 1e-14
    assert torch.equal(torch.func.vmap(lambda q: st.min_distance(model, q))(states), expected.amin(dim=-1))


def test_compiled(model, states):
    """torch.compile without a break of the graph."""
    loss = lambda q: torch.relu(0.5 - st.distance(model, q)).sum() + st.min_distance(model, q).sum()  # noqa: E731
    compiled = torch.compile(loss, backend="aot_eager", fullgraph=True)
    q, p = states.clone().requires_grad_(), states.clone().requires_grad_()
    compiled(q).backward()
    loss(p).backward()
    assert torch.equal(q.grad, p.grad)


def test_equal_distances():
    """The gradient of the least of two equal distances is the mean."""
    slide = sixd.ModelBuilder("slide")
    slide.add_body("ball", "world", sixd.Prismatic("x"), inertia=sixd.sphere(0.1, mass=1.0), collisions=[BALL])
    model = slide.build()
    for side in (-1, 1):
        model = model.with_collision("world", BALL, sixd.placement((side, 0, 0)), name=f"at {side}")
    q = torch.tensor([[0.0], [0.25]], dtype=torch.float64, requires_grad=True)
    st.min_distance(model, q).sum().backward()
    assert q.grad.tolist() == [[0.0], [-1.0]]


def test_errors(model, states):
    q = states.clone().requires_grad_()
    (first,) = torch.autograd.grad(st.distance(model, q).sum(), q, create_graph=True)
    with pytest.raises(TraceError, match="order of the derivative is 2, expected 1"):
        first.sum().backward()
    with pytest.raises(ShapeError, match="distance: q has shape"):
        st.distance(model, states[:, :3])
    with pytest.raises(ShapeError, match=r"placement of 'obstacle' has shape .*expected \(4, 4\)"):
        st.distance(model, states, placements={"obstacle": np.zeros((3, 4, 4))})
    with pytest.raises(ScalarTypeError, match="expected some"):
        st.distance(model, states.numpy())
