"""Mechanisms whose branches of assembly differ in rank: motion in each of them, NaN only in dead centres."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from samples import constrained
from sixd.algorithms.constrained.rank import assembled_rank, mobility_at
from sixd.algorithms.constrained.rows import constraint_bias

both = pytest.mark.parametrize("target", ["compiled", "plain"], indirect=True)


def on_a_line(*directions, twice):
    """A ball joint on a slider, whose body has a point on a line there, and a free body.

    The line meets the sphere of the point twice. Where the frames are one, the body cannot turn; in the other point it
    can, since the axes of all turns that lead there are perpendicular to the line: the rank is lower by one.
    """
    builder = sixd.ModelBuilder("on a line", (1.0, -2.0, 9.0))
    inertia = sixd.Inertia(1.3, (0.1, -0.2, 0.3), (0.8, 0.9, 0.7))
    builder.add_body("slider", "world", sixd.Prismatic("x"), inertia=inertia)
    builder.add_body("ball", "slider", sixd.Spherical(), inertia=inertia)
    builder.add_body("free", "slider", sixd.Free(), inertia=inertia)
    tilt = sixd.placement((0.4, -0.3, 0.5), R=sixd.spatial.rotation_from_euler("XYZ", (0.4, 0.9, -0.3)))
    builder.add_frame("line", "slider", tilt)
    builder.add_frame("point", "ball", tilt)
    for _ in range(2 if twice else 1):
        builder.add_constraint(sixd.Loop("line", "point", directions))
    builder.add_constraint(sixd.Distance("free", "world", 1.0))
    return builder.build()


def sliders(function, count):
    builder = sixd.ModelBuilder("sliders", (0, 0, 0))
    for k in range(count):
        builder.add_body(f"b{k}", f"b{k - 1}" if k else "world", sixd.Prismatic("xyz"[k % 3]), inertia=sixd.point(1.0))
    return constrained(builder.build(), sixd.Holonomic(function))


# q0 = 0, of rank one, and q1 = 3 with q2 = 0 or q3 = 0, of rank two
CROSS = sliders(lambda q: np.array([q[0] * (q[1] - 3), q[0] * q[2] * q[3]]), 4)
MODELS = {
    "once": on_a_line("x", "y", "rz", twice=False),
    "twice": on_a_line("y", "x", "rz", twice=True),
    "cross": CROSS,
}


def assembled_states(model, rng, count):
    """Assembled configurations from random starts, and velocities and forces."""
    while count:
        try:
            q = model.random_configuration(rng)
            if model.nq == model.nv:  # no quaternions
                q = q * rng.choice([1.0, 5.0], model.nq)
            q = sixd.assemble(model, q)
            q, qd = sixd.assemble(model, q, rng.standard_normal(model.nv))
        except sixd.AssemblyError:
            continue
        count -= 1
        yield q, qd, rng.standard_normal(model.nv)


def close(x, y, tolerance):
    assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max(initial=0.0)))


def require_laws(model, q, qd, tau):
    """A qdd + dA/dt qd = 0, M qdd + h = tau + Aᵀλ with λ of least norm, and the solution by LAPACK."""
    qdd, lam = sixd.constrained_dynamics(model, q, qd, tau)
    M, h, A = sixd.mass_matrix(model, q), sixd.bias_force(model, q, qd), sixd.constraint_jacobian(model, q)
    bias = np.asarray(constraint_bias(model, q, qd), dtype=float)
    K = np.block([[M, -A.T], [A, np.zeros((len(A), len(A)))]])
    x = np.linalg.lstsq(K, np.concatenate([tau - h, -bias]), rcond=1e-11)[0]
    close(A @ qdd, -bias, 1e-10 * max(1.0, np.abs(qdd).max()))
    close(M @ qdd + h - tau, A.T @ lam, 1e-10 * max(1.0, np.abs(lam).max()))
    close(qdd, x[: model.nv], 1e-8)  # conditions of the dense system reach 1e6
    close(lam, x[model.nv :], 1e-8)


@both
@pytest.mark.parametrize("name", MODELS)
def test_motion_in_every_branch(name, target, rng):
    model, ranks = MODELS[name], set()
    for q, qd, tau in assembled_states(model, rng, 12):
        ranks.add(mobility_at(model, q).rank)
        require_laws(model, q, qd, tau)
        assert "rank-drop" not in [f.code for f in sixd.check(model, q)]
    assert len(ranks) == 2


def test_mobility_names_other_branches():
    text = str(sixd.mobility(MODELS["twice"]))
    assert text.startswith("on a line: 6 DoF = 10 of the joints - 4 independent of 7 equations, 3 redundant")
    assert text.endswith("; 7 DoF in another branch")
    assert sixd.mobility(sixd.zoo.four_bar()).in_other_branches == ()


@both
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_nan_only_in_dead_centres(dtype, target):
    """Where two branches of rank two cross the rank is one, as in all of the third branch, but only there."""
    dead = [[2.0, 3, 0, 0], [-1, 3, 0, 0], [0, 3, 0, 0]]
    alive = [[2.0, 3, 0, 0.7], [2, 3, 0.5, 0], [0, 1, 2, 0.3], [0, 3, 1, 2], [2, 3, 1e-4, 0]]
    q = np.array([*dead, *alive], dtype=dtype)
    for result in sixd.constrained_dynamics(CROSS, q, np.zeros(4, dtype), np.ones(4, dtype)):
        assert np.isnan(result[:3]).all()
        assert np.isfinite(result[3:]).all()
    assert ["rank-drop" in [f.code for f in sixd.check(CROSS, x)] for x in q] == [True] * 3 + [False] * 5


@pytest.mark.long
def test_derivatives_in_every_branch(rng):
    model = MODELS["twice"]
    for q, qd, tau in assembled_states(model, rng, 6):
        slopes, x = sixd.constrained_dynamics_derivatives(model, q, qd, tau), sixd.projections(model, q)[0] @ qd
        ends = [sixd.constrained_dynamics(model, model.integrate(q, x * e), qd, tau)[0] for e in (1e-5, -1e-5)]
        close(slopes[0] @ x, (ends[0] - ends[1]) / 2e-5, 1e-6)  # differences over 1e-5 have six digits


def test_drift_keeps_the_branch(rng):
    """An error of assembly as integration leaves it is not taken for another rank."""
    model = MODELS["twice"]
    for q, qd, tau in assembled_states(model, rng, 8):
        exact = sixd.constrained_dynamics(model, q, qd, tau)[0]
        for size in (1e-9, 1e-6, 1e-4):
            moved = model.integrate(q, size * rng.uniform(-1, 1, model.nv))
            close(sixd.constrained_dynamics(model, moved, qd, tau)[0], exact, 1e4 * size)  # it depends on q


def test_usual_mechanisms_have_one_rank():
    """They keep the shorter code."""
    zoo = sixd.zoo
    for model in (zoo.four_bar(), zoo.four_bar(closed_by="axis"), zoo.bricard(), zoo.andrews(), zoo.bicycle()):
        rank = assembled_rank(model)
        assert rank.least == rank.number == rank.most


JOINTS = [sixd.Revolute("z"), sixd.Prismatic((1, 2, 3)), sixd.Spherical(), sixd.Free(), sixd.Cylindrical((3, 1, 2))]


def mechanism(rng):
    """A random tree with loops, some of them twice, that close in a random configuration."""
    builder = sixd.ModelBuilder("random", rng.uniform(-6, 6, 3))

    def place():
        return sixd.placement(rng.uniform(-0.6, 0.6, 3), R=sixd.spatial.rotation_from_vector(rng.uniform(-2, 2, 3)))

    names = ["world"]
    for k in range(int(rng.integers(2, 5))):
        inertia = sixd.Inertia(1.0, rng.uniform(-0.3, 0.3, 3), rng.uniform(0.5, 0.8, 3))
        joint = JOINTS[int(rng.integers(len(JOINTS)))]
        builder.add_body(f"b{k}", str(rng.choice(names)), joint, placement=place(), inertia=inertia)
        names.append(f"b{k}")
    tree = builder.build()
    q = tree.random_configuration(rng)
    for k in range(int(rng.integers(1, 4))):
        a, b = map(str, rng.choice(names, 2, replace=False))
        A, B = (sixd.pose(tree, q, name) for name in (a, b))
        at = np.asarray(place())
        builder.add_frame(f"a{k}", a, np.linalg.inv(A) @ at)
        builder.add_frame(f"c{k}", b, np.linalg.inv(B) @ at)
        directions = tuple(map(str, rng.permutation(["rx", "ry", "rz", "x", "y", "z"])[: rng.integers(1, 4)]))
        for _ in range(int(rng.integers(1, 3))):
            builder.add_constraint(sixd.Loop(f"a{k}", f"c{k}", directions))
    return builder.build(), q


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::sixd.ModelWarning")  # directions in which nothing moves
@pytest.mark.parametrize("target", ["plain"], indirect=True)
@pytest.mark.parametrize("seed", range(40))
def test_random_mechanisms(seed, target):
    rng = np.random.default_rng(seed)
    model, q = mechanism(rng)
    q, qd = sixd.assemble(model, q, rng.standard_normal(model.nv))
    require_laws(model, q, qd, rng.standard_normal(model.nv))
    for state in assembled_states(model, rng, 3):
        require_laws(model, *state)
