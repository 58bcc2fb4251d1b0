"""Near singular states: results are accurate to 10 eps cond(M), or an error names the sample."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_allclose

import sixd
from sixd.algorithms import singular
from sixd.algorithms.crba import crba
from sixd.algorithms.singular import condition, estimated_condition, reciprocal_pivots, usual_sizes, watch_weights
from sixd.engine import evaluate
from sixd.zoo.random_trees import JOINT_KINDS

EPS = np.finfo(float).eps
UNIT = sixd.Inertia(1.0, about_com=(1.0, 1.0, 1.0))
both_targets = pytest.mark.parametrize("target", ["compiled", "plain"], indirect=True)


def chain(*bodies, name="chain"):
    """Return a model of bodies (joint, inertia, place) in a chain, without gravity."""
    builder, parent = sixd.ModelBuilder(name, (0, 0, 0)), "world"
    for k, (joint, inertia, place) in enumerate(bodies):
        builder.add_body(f"b{k}", parent, joint, inertia=inertia, placement=sixd.placement(place))
        parent = f"b{k}"
    return builder.build()


def wrist():
    """Return z-y-z at one point, the first two bodies massless: M⁻¹ contains 1/(1 + cos θ) and 1/(1 - cos θ)."""
    z, y, at = sixd.Revolute("z"), sixd.Revolute("y"), (0, 0, 0)
    return chain((z, None, at), (y, None, at), (z, UNIT, at), name="wrist")


WRIST = wrist()
ZERO, ONE = np.zeros(3), np.ones(3)
CALLS = {
    "forward_dynamics": lambda q: sixd.forward_dynamics(WRIST, q, 0 * q, 0 * q + 1),
    "mass_matrix_solve": lambda q: sixd.mass_matrix_solve(WRIST, q, 0 * q + 1),
    "inverse_mass_matrix": lambda q: sixd.inverse_mass_matrix(WRIST, q),
    "hybrid_dynamics": lambda q: sixd.hybrid_dynamics(WRIST, ["b1"], q, 0 * q, 0 * q, 0 * q + 1)[0],
    "inverse_operational_inertia": lambda q: sixd.inverse_operational_inertia(WRIST, q, "b2"),
}
EXACT = {
    "forward_dynamics": lambda c: [1 / (1 + c), 1, 1 / (1 + c)],
    "mass_matrix_solve": lambda c: [1 / (1 + c), 1, 1 / (1 + c)],
    "hybrid_dynamics": lambda c: [1 / (1 + c), 0, 1 / (1 + c)],
}


def angles(*thetas, dtype=float):
    q = np.zeros((len(thetas), 3), dtype)
    q[:, 1] = thetas
    return q


@pytest.mark.many
@both_targets
@pytest.mark.parametrize("name", CALLS)
def test_a_wrist_stretched(name, target):
    """One sample and a batch. Angles up to 1e-8 rad are rejected, and those that cos cannot distinguish from it."""
    for theta in (1e-8, 1e-12, 0.0, 1e-7):
        with pytest.raises(
            sixd.SingularError, match=rf"{name}: .*singular in this configuration: there joints \['b0'\]"
        ):
            CALLS[name](angles(theta)[0])
        with pytest.raises(sixd.SingularError, match=rf"{name}: .*in this configuration in state \(1,\)"):
            CALLS[name](angles(0.3, theta, 0.7))
    for theta in (1.0, 1e-2, 1e-4, 1e-6):
        result = CALLS[name](angles(theta, 0.5))[0]
        if name in EXACT:
            exact = np.array(EXACT[name](np.cos(theta)))
            assert np.linalg.norm(result - exact) <= 10 * EPS * 2 / (1 - np.cos(theta)) * np.linalg.norm(exact)


@both_targets
def test_float32_has_its_own_limit(target):
    q, qd = angles(0.5, 0.02, 0.01, dtype=np.float32), np.zeros(3, np.float32)
    exact = 1 / (1 + np.cos(q[:, 1].astype(float)))
    for k, theta in enumerate(q[:, 1]):
        result = sixd.forward_dynamics(WRIST, q[k], qd, qd + 1)
        assert result.dtype == np.float32
        assert abs(result[0] - exact[k]) <= 10 * np.finfo(np.float32).eps * 2 / (1 - np.cos(float(theta))) * exact[k]
    for theta in (5e-3, 1e-3, 1e-5):
        with pytest.raises(sixd.SingularError, match=r"state \(1,\).*for float32"):
            sixd.forward_dynamics(WRIST, angles(0.5, theta, dtype=np.float32), qd, qd + 1)


def test_kernels_check_their_results():
    """Of one function, and of several; one sample, batches, and batches so long that they are searched by bisection."""
    for functions in (sixd.forward_dynamics, (sixd.forward_dynamics, sixd.mass_matrix)):
        kernel = sixd.compile(functions, WRIST)
        kernel(angles(0.5)[0], ZERO, ONE)
        with pytest.raises(sixd.SingularError, match="in this configuration: "):
            kernel(angles(1e-8)[0], ZERO, ONE)
        q = angles(*np.linspace(0.4, 1.2, 999))
        for row in (0, 500, 998):
            bad = q.copy()
            bad[row, 1] = 1e-8
            with pytest.raises(sixd.SingularError, match=rf"in state \({row},\)"):
                kernel(bad, ZERO, ONE)


def test_examined_samples_keep_their_bits():
    """Near enough to be suspect, far enough to be accurate: the sample is returned, whatever the other samples are."""
    q = angles(0.5, 1e-5, 0.9, 2e-6)
    whole = sixd.forward_dynamics(WRIST, q, ZERO, ONE)
    out = np.empty_like(whole)
    sixd.forward_dynamics(WRIST, q, ZERO, ONE, out=out)
    assert np.array_equal(out, whole)
    for k in range(4):
        assert np.array_equal(sixd.forward_dynamics(WRIST, q[k], ZERO, ONE), whole[k])


def test_ordinary_samples_are_not_examined(monkeypatch, rng):
    looked = []
    monkeypatch.setattr(evaluate, "inspect", lambda *arguments: looked.append(arguments[0].name))
    for name in ("ur_arm", "double_pendulum"):
        model = sixd.zoo.get(name)
        q = rng.uniform(-np.pi, np.pi, (10_000, model.nq))
        for dtype in (np.float64, np.float32):
            sixd.mass_matrix_solve(model, q.astype(dtype), np.ones(model.nv, dtype))
    assert looked == []
    sixd.forward_dynamics(WRIST, angles(1e-5, 1e-5), ZERO, ONE)
    assert looked == ["forward_dynamics"]


def test_checks_add_no_operations():
    """The reciprocals of pivots are those of the algorithm; of n joints, those that are not constant are checked."""
    model = sixd.zoo.get("ur_arm")
    watched, plain = (sixd.compile(f, model).program for f in (sixd.mass_matrix_solve, _solve))
    assert watched.operations == plain.operations
    assert len(watched.watched) == model.nv - 1  # the last joint's pivot is a constant
    assert plain.watched == ()


def _solve(model, q, tau):
    return sixd.mass_matrix_solve(model, q, tau)


# accuracy -------------------------------------------------------------------------------------------

BODY = sixd.Inertia(1.2, about_com=(0.4, 0.5, 0.3)).translated((0.3, 0.1, 0.2))
NEAR = {
    "wrist": lambda e: (WRIST, [0.3, e, 0.7]),
    "top": lambda e: (sixd.zoo.spinning_top(), [0.3, e, 0.7]),
    "coaxial": lambda e: (
        chain(
            (sixd.Revolute("x"), BODY, (0, 0, 0)),
            (sixd.Revolute("z"), None, (0.3, 0.1, 0.2)),
            (sixd.Revolute((np.sin(e), 0, np.cos(e))), BODY, (0, 0, 0)),
        ),
        [0.3, 0.5, 0.7],
    ),
    "one within another": lambda e: (
        chain(
            (sixd.Revolute("z"), None, (0, 0, 0)),
            (sixd.Revolute("y"), None, (0, 0, 0)),
            (sixd.Revolute("z"), None, (0, 0, 0)),
            (sixd.Prismatic("x"), None, (0, 0, 0)),
            (sixd.Prismatic((1, e, 0)), BODY, (0, 0, 0)),
        ),
        [0.3, e, 0.7, 0.2, 0.1],
    ),
    "ball": lambda e: (
        chain(
            (sixd.Spherical(), None, (0, 0, 0)),
            (sixd.Revolute("x"), None, (0, 0, 0.3)),
            (sixd.Revolute((1, e, 0)), BODY, (0, 0, 0)),
        ),
        [0.5, 0.5, -0.5, 0.5, 0.4, 0.7],
    ),
    "point on an axis": lambda e: (
        chain((sixd.Revolute("z"), None, (0, 0, 0)), (sixd.Revolute("y"), sixd.point(1.0, (0.3, 0, 0.4)), (0, 0, 0))),
        [0.3, e - np.arctan(0.75)],
    ),
}  # fmt: skip


def exact_solution(model, q, b):
    """Return M⁻¹ b (nv,) to 40 digits, and the condition number of M in its usual scale."""
    M = sp.Matrix(crba(model, np.array([sp.Float(float(x), 40) for x in q], dtype=object)))
    x = M.LUsolve(sp.Matrix([sp.Float(float(y), 40) for y in b]))
    size = np.sqrt(np.maximum([float(M[i, i]) for i in range(model.nv)], usual_sizes(model).size))
    scaled = M.applyfunc(lambda m: m)
    for i in range(model.nv):
        for j in range(model.nv):
            scaled[i, j] = M[i, j] / sp.Float(size[i], 40) / sp.Float(size[j], 40)
    inverse = scaled.inv()
    return x, np.linalg.norm(np.array(scaled, float), 2) * np.linalg.norm(np.array(inverse, float), 2), size


@pytest.mark.many
@both_targets
@pytest.mark.parametrize("name", NEAR)
def test_accurate_or_rejected(name, target, rng):
    """From far to near: within 10 eps cond(M) of 40 digits, both for random loads and for small solutions."""
    refused = 0
    for e in (1e-1, 1e-3, 1e-5, 1e-6, 1e-9):
        model, q = NEAR[name](e)
        for b in (rng.normal(size=model.nv), sixd.mass_matrix(model, q) @ rng.normal(size=model.nv)):
            exact, found, size = exact_solution(model, q, b)
            if EPS * found > 2e-2:
                refused += 1
                with pytest.raises(sixd.SingularError):
                    sixd.mass_matrix_solve(model, q, b)
            elif EPS * found < 5e-3:
                got = sixd.mass_matrix_solve(model, q, b)
                error = np.array([float(sp.Float(float(x), 40) - y) for x, y in zip(got, exact, strict=True)])
                whole = np.array(exact, float).ravel()
                assert np.linalg.norm(error * size) <= 10 * EPS * found * np.linalg.norm(whole * size)
    assert refused == 2


def test_light_bodies_on_heavy_ones():
    """cond(M) is 1e12 because of units alone. With a scale for each DoF it is 1, and results have all their digits."""
    finger = sixd.Inertia(1e-6, about_com=(1e-12, 1e-12, 1e-12)).translated((1e-3, 0, 0))
    base = sixd.Inertia(1e5, about_com=(1e5, 1e5, 1e5))
    model = chain((sixd.Revolute("z"), base, (0, 0, 0)), (sixd.Revolute("z"), finger, (0, 3, 0)))
    q = np.array([0.1, 0.2])
    assert np.linalg.cond(sixd.mass_matrix(model, q)) * EPS > 1e-2
    exact, found, _ = exact_solution(model, q, [1.0, 1e-12])
    assert found < 10
    assert_allclose(sixd.mass_matrix_solve(model, q, [1.0, 1e-12]), np.array(exact, float).ravel(), rtol=1e-14)


def test_other_systems():
    """Equations from energies, and models in reduced coordinates, are checked with their own M."""
    a, b, ad, bd = sp.symbols("a b ad bd")
    pendulum = sixd.lagrange((ad**2 + sp.sin(a) ** 2 * bd**2) / 2, sp.cos(a), [a, b], qd=[ad, bd])
    assert np.isfinite(sixd.forward_dynamics(pendulum, [1e-3, 0.0], [0.0, 0.0], [0.0, 1.0])).all()
    for angle in (1e-9, 0.0):
        with pytest.raises(sixd.SingularError, match=r"in this configuration: .*coordinates \['b'\]"):
            sixd.forward_dynamics(pendulum, [angle, 0.0], [0.0, 0.0], [0.0, 1.0])
    x, y, z, at = sixd.Revolute("x"), sixd.Revolute("y"), sixd.Revolute("z"), (0, 0, 0)
    model = chain((z, None, at), (y, None, at), (z, UNIT, at), (x, UNIT, (0, 0, 1)))
    reduced = model.with_constraints(sixd.Mimic("b3", "b1")).reduce()
    q = angles(0.5, 1e-8)
    assert np.isfinite(sixd.mass_matrix_solve(reduced, q[0], ONE)).all()
    with pytest.raises(sixd.SingularError, match=r"state \(1,\)"):
        sixd.mass_matrix_solve(reduced, q, ONE)


def test_conditions():
    """Scales do not matter, signs do, and NaN is not examined."""
    M = np.diag([1e-9, 1.0, 1e3])
    size = np.diag(M)
    assert condition(M, size) == pytest.approx(1.0, abs=1e-14)
    assert condition(M * 1e-6, size) == pytest.approx(1.0, abs=1e-14)
    assert condition(np.diag([1e-19, 1.0, 1e3]), size) == pytest.approx(1e10)
    assert condition(np.diag([1e-9, -1.0, 1e3]), size) == np.inf
    assert condition(np.diag([0.0, 1.0, 1.0]), np.array([0.0, 1.0, 1.0])) == np.inf
    assert np.isnan(condition(np.full((2, 3, 3), np.nan), size)).all()
    assert condition(np.zeros((4, 0, 0)), np.zeros(0)).shape == (4,)


# trees with many DoFs, whose M is not formed -----------------------------------------------------------


@pytest.mark.parametrize("kind", JOINT_KINDS)
def test_estimated_conditions(kind):
    """Within 20 % of the condition number of M, for all DoFs and for the free ones when some are prescribed."""
    model = sixd.zoo.random_tree(1, kinds=(kind,), rounds=4)
    for k, prescribed in enumerate((frozenset(), frozenset({1, 3}))):
        q, free = model.random_configuration(k), singular.solved_dofs(model, prescribed)
        M = np.asarray(crba(model, q), dtype=float)[np.ix_(free, free)]
        for size in (np.diag(M), 2 * np.diag(M)):
            found = estimated_condition(model, q, prescribed, size)
            assert 0.8 * condition(M, size) <= found <= (1 + 1e-6) * condition(M, size)


def test_estimates_of_special_matrices():
    """Equal pendulums in parallel (M is a multiple of 1), a singular state, and NaN."""
    builder = sixd.ModelBuilder("row of pendulums")
    for k in range(20):
        at = sixd.placement((k, 0, 0))
        builder.add_body(f"b{k}", "world", sixd.Revolute("x"), inertia=UNIT, placement=at)
    model = builder.build()
    assert estimated_condition(model, np.ones(20), frozenset(), np.ones(20)) == pytest.approx(1.0)
    assert estimated_condition(WRIST, ZERO, frozenset(), ONE) > 1e15
    assert np.isnan(estimated_condition(WRIST, ZERO * np.nan, frozenset(), ONE))


def test_usual_sizes_without_the_mass_matrix(monkeypatch):
    """Both methods give the same sizes and sums in the same configurations; the excess is an estimate."""
    monkeypatch.setattr(singular, "_TRIED_OF_MANY", singular._TRIED)
    for model in (sixd.zoo.random_tree(0), sixd.zoo.ur_arm(), sixd.zoo.humanoid()):
        formed = singular._usual_sizes(model, frozenset({2}))
        with monkeypatch.context() as patch:
            patch.setattr(singular, "_MANY", 0)
            estimated = singular._usual_sizes(model, frozenset({2}))
        assert np.array_equal(formed.size, estimated.size)
        assert formed.sum == estimated.sum
        assert estimated.excess <= formed.excess * (1 + 1e-6)


def test_large_trees_are_checked_without_the_mass_matrix(monkeypatch):
    """A sample near a singular state is rejected with the same message, and others are not."""
    monkeypatch.setattr(singular, "_MANY", 0)
    model = wrist()
    tau = np.ones((3, 3))
    with pytest.raises(sixd.SingularError, match=r"in state \(1,\): there joints \[.*\] move no inertia"):
        sixd.forward_dynamics(model, angles(0.5, 1e-8, 0.3), 0 * tau, tau)
    near = angles(1e-6)
    assert np.array_equal(sixd.forward_dynamics(model, near, ZERO, ONE), CALLS["forward_dynamics"](near))


def test_ordinary_states_of_long_chains_are_not_suspect():
    """The sums of 400 links are 1e7, twice what is large for robots.

    Only states that are not ordinary are suspect.
    """
    model = sixd.zoo.autotree(400, skew=0.3)
    weights = watch_weights(model, frozenset(), "float64")
    for seed in range(3):
        pivots = np.array(reciprocal_pivots(model, model.random_configuration(seed)), dtype=float)
        assert weights @ pivots < 1
    assert usual_sizes(model).sum > singular._LARGE_SUM
