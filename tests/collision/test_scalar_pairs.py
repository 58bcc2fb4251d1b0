"""Distances of pairs with closed forms on symbols, and in functions of users: compiled, differentiated, exported."""

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import sixd
from c_compiler import build, call, needs_cc
from sixd.errors import ModelError, ScalarTypeError, TraceError

BALL, ROD = sixd.Shape("sphere", (0.1,)), sixd.Shape("capsule", (0.05, 0.4))
BOX, PLANE = sixd.Shape("box", (0.1, 0.2, 0.3)), sixd.Shape("plane")
NAMES = ("distance", "point_a", "point_b", "normal")
pytestmark = pytest.mark.one_target


def arm(*shapes):
    """A link for each shape; a plane, a ball and a rod in the world."""
    builder, parent = sixd.ModelBuilder("arm"), "world"
    for k, shape in enumerate(shapes):
        builder.add_body(
            f"link{k}", parent, sixd.Revolute("zxy"[k % 3]), placement=sixd.placement((0, 0.5, 0.1)),
            inertia=sixd.sphere(0.1, mass=1.0), collisions=[(shape, sixd.placement((0.3, 0, 0), rpy=(1, 0, 0.4)))],
        )  # fmt: skip
        parent = f"link{k}"
    model = builder.build()
    for name, shape, pose in (
        ("floor", PLANE, sixd.placement((0, 0, -2))), ("ball", BALL, sixd.placement((0, 2, 0))),
        ("rod", ROD, sixd.placement((0, 2, 0.5), rpy=(0.4, 0.3, 0.2))),
    ):  # fmt: skip
        model = model.with_collision("world", shape, pose, name=name)
    return model


@pytest.fixture(scope="module")
def closed():
    return arm(BALL, ROD, BOX)


@pytest.fixture(scope="module")
def states():
    return np.random.default_rng(0).uniform(-1, 1, (50, 3))


# symbols --------------------------------------------------------------------------------------------


def test_symbolic_distances_are_those_of_numbers():
    """Of every pair of spheres, capsules and planes, points and normals included."""
    model, q = arm(BALL, ROD), sympy.symbols("q1:3", real=True)
    found, at = sixd.distance(model, q), [0.3, -0.5]
    true = sixd.distance(model, at)
    assert len(found.pairs) == 6
    for name in NAMES:
        numbers = sympy.lambdify(q, list(getattr(found, name).ravel()), "math", cse=True)(*at)
        assert_allclose(numbers, getattr(true, name).ravel(), rtol=0, atol=1e-12)
    pieces = [pair for pair, x in zip(found.pairs, found.distance, strict=True) if x.has(sympy.Piecewise)]
    assert pieces == [("link1", "floor")]  # which end of the rod is lower
    least = sympy.lambdify(q, sixd.min_distance(model, q), "math", cse=True)(*at)
    assert_allclose(least, true.distance.min(), rtol=0, atol=1e-12)


def test_closed_forms():
    """Symbolic radii and placements; whole numbers stay exact."""
    r, h, L, x = sympy.symbols("r h L x", positive=True)
    builder = sixd.ModelBuilder("slide")
    builder.add_body("a", "world", sixd.Prismatic("x"), inertia=sixd.sphere(0.1, mass=1.0),
                     collisions=[sixd.Shape("sphere", (r,))])  # fmt: skip
    model = builder.build()
    model = model.with_collision("world", sixd.Shape("sphere", (r,)), sixd.placement((0, h, 0)), name="b")
    model = model.with_collision("world", PLANE, sixd.placement((0, 0, -1)), name="floor")
    model = model.with_collision("world", sixd.Shape("capsule", (r, 2 * L)), sixd.placement((0, h, 0)), name="rod")
    assert sixd.distance(model, [x], [("a", "b")]).distance[0] == sympy.sqrt(h**2 + x**2) - 2 * r
    assert sixd.distance(model, [x], [("a", "floor")]).distance[0] == 1 - r
    assert (
        sympy.simplify(sixd.distance(model, [x], [("a", "rod")]).distance[0] - (sympy.sqrt(h**2 + x**2) - 2 * r)) == 0
    )
    two = sixd.distance(model, [[x], [2 * x]], [("a", "b")]).distance
    assert two.shape == (2, 1)
    assert two[1, 0] == sympy.sqrt(h**2 + 4 * x**2) - 2 * r


def test_parallel_axes_are_seen():
    """Capsules whose axes are parallel for all values of the symbols have the distance of parallel lines."""
    y = sympy.Symbol("y", positive=True)
    builder = sixd.ModelBuilder("slide")
    builder.add_body("a", "world", sixd.Prismatic("y"), inertia=sixd.sphere(0.1, mass=1.0), collisions=[ROD])
    model = builder.build().with_collision("world", ROD, name="rod")
    assert_allclose(float((sixd.distance(model, [y]).distance[0] - (y - 0.1)).subs(y, 0.7)), 0, rtol=0, atol=1e-12)


def test_errors(closed):
    q = sympy.symbols("q1:4")
    with pytest.raises(ScalarTypeError, match="distance: 'link2' is a box, expected a sphere, a capsule or a plane"):
        sixd.distance(closed, q)
    with pytest.raises(ScalarTypeError, match="contact_points: an argument holds symbols, expected numbers"):
        sixd.contact_points(closed, q)
    with pytest.raises(ModelError, match="no collision shapes"):
        sixd.distance(sixd.zoo.pendulum(), [q[0]])
    with pytest.raises(sixd.SixdError, match="placements: no collision shape named 'bal'"):
        sixd.distance(arm(BALL), q[:1], placements={"bal": np.eye(4)})
    boxes = arm(BOX, BALL, BOX)
    for made in (sixd.compile, sixd.export_c):
        with pytest.raises(
            TraceError, match="the pair 'link0', 'link2' is a box and a box, expected a pair with a closed"
        ):
            made(sixd.distance, boxes, pairs=[("link0", "link2")])([0, 0, 0])


# functions of users -----------------------------------------------------------------------------------


def test_compiled(closed, states):
    """Points and normals included; placements that are inputs."""
    for found, true in zip(
        sixd.compile(sixd.distance, closed)(states), sixd.distance(closed, states).arrays(), strict=True
    ):
        assert_allclose(found, true, rtol=0, atol=1e-13)

    def cost(model, q, pose):
        near = sixd.distance(model, q, [("link0", "ball"), ("link1", "ball")], placements={"ball": pose})
        return (near.distance**2).sum()

    pose = sixd.placement((0.2, 1.5, 0.3))
    true = (
        sixd.distance(closed, states, [("link0", "ball"), ("link1", "ball")], placements={"ball": pose}).distance ** 2
    )
    kernel = sixd.compile(cost, closed, shapes={"pose": (4, 4)})
    assert_allclose(kernel(states, pose), true.sum(axis=-1), rtol=0, atol=1e-13)
    gradient = sixd.vjp(cost, closed, shapes={"pose": (4, 4)}, by="pose")(states[0], pose, 1.0)
    sides = [kernel(states[0], pose + s * 1e-6 * np.eye(1, 16, 7).reshape(4, 4)) for s in (1, -1)]
    assert_allclose(gradient[1, 3], (sides[0] - sides[1]) / 2e-6, rtol=0, atol=1e-8)  # of the differences


def test_derivatives(closed, states, rng):
    """First ones are those of ``distance_derivatives``; second ones, and those of points and normals, of differences."""
    d_q = rng.normal(size=(50, 3))
    _, A = sixd.distance_derivatives(closed, states)
    own = sixd.jvp(lambda model, q: sixd.distance(model, q).distance, closed)
    assert_allclose(own(states, d_q), np.einsum("rnv,rv->rn", A, d_q), rtol=0, atol=1e-12)
    least = sixd.vjp(lambda model, q: sixd.min_distance(model, q), closed)
    assert_allclose(least(states, 1.0), sixd.vjp(sixd.min_distance, closed)(states, 1.0), rtol=0, atol=1e-12)
    # differences of 1e-5 and 1e-6, accurate to 1e-8; none of these states is within that of a kink
    H = sixd.hessian(lambda model, q: sixd.distance(model, q).distance, closed)(states)
    h = 1e-5
    sides = [sixd.distance_derivatives(closed, states[:, None] + s * h * np.eye(3))[1] for s in (1, -1)]
    assert_allclose(H, np.moveaxis((sides[0] - sides[1]) / (2 * h), 1, -1), rtol=0, atol=1e-7)
    for name in NAMES[1:]:
        rate = sixd.jvp(lambda model, q: getattr(sixd.distance(model, q), name), closed)(states, d_q)  # noqa: B023
        sides = [getattr(sixd.distance(closed, states + s * 1e-6 * d_q), name) for s in (1, -1)]
        assert_allclose(rate, (sides[0] - sides[1]) / 2e-6, rtol=0, atol=1e-7)


@needs_cc
def test_c(closed, states, tmp_path):
    """Exported C returns the four arrays."""
    code = sixd.export_c(sixd.distance, closed)
    function, program = build(code, tmp_path), sixd.compile(sixd.distance, closed).program
    for q in states[:3]:
        for found, true in zip(call(function, program, q), sixd.distance(closed, q).arrays(), strict=True):
            assert_allclose(found, true, rtol=0, atol=1e-13)
    alone = sixd.export_c(lambda model, q: sixd.min_distance(model, q), closed, name="clearance")
    assert "clearance(const double q[3], double" in alone.header
