"""Laws that must hold for every mechanism, over random trees of all joint types and extreme states."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from samples import KINDS, SEEDS, single_joint, states, trees
from sixd.algorithms.linear.tree import ltdl, ltl

pytestmark = pytest.mark.targets("compiled", "plain")  # on compiled code and with the plain algorithms

TREES = trees()
trees_and_singles = pytest.mark.parametrize(
    "model", TREES + [single_joint(k) for k in KINDS], ids=[f"tree{s}" for s in SEEDS] + list(KINDS)
)


def close(x, y, tolerance=1e-10):
    assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max(initial=0.0)))


@pytest.mark.many
@trees_and_singles
def test_aba_inverts_rnea(model, rng):
    """Forward dynamics of the inverse-dynamics force returns the acceleration, with external forces."""
    for q, qd, qdd in states(model, rng):
        f_ext = rng.uniform(-3, 3, (model.nb, 6))
        tau = sixd.inverse_dynamics(model, q, qd, qdd, f_ext=f_ext)
        close(sixd.forward_dynamics(model, q, qd, tau, f_ext=f_ext), qdd)


@pytest.mark.many
@trees_and_singles
def test_mass_matrix_is_rneas_columns(model, rng):
    """Column k of M is the inverse dynamics of a unit acceleration minus the bias; M is symmetric positive definite."""
    for q, qd, _ in states(model, rng):
        M, h = sixd.mass_matrix(model, q), sixd.bias_force(model, q, qd)
        columns = sixd.inverse_dynamics(model, q, qd, np.eye(model.nv)) - h
        close(M, columns)
        assert np.array_equal(M, M.T)
        assert np.linalg.eigvalsh(M)[0] > 0


@pytest.mark.many
@trees_and_singles
def test_mass_matrix_is_jacobian_sum(model, rng):
    """M = Σ JᵢᵀIᵢJᵢ + armature."""
    for q, _, _ in states(model, rng):
        total = np.diag(model.armature)
        for name in model.body_names:
            J = sixd.jacobian(model, q, name)
            total = total + J.T @ model.body_inertia(name).matrix @ J
        close(sixd.mass_matrix(model, q), total)


@pytest.mark.many
@trees_and_singles
def test_sparse_factors_have_the_pattern_of_m(model, rng):
    """LᵀL = M and LᵀDL = M, no zero is filled, and solves with M agree with dense ones."""
    for q, qd, _ in states(model, rng, count=2):
        M = sixd.mass_matrix(model, q)
        L = ltl(M, model.dof_parent)
        unit, D = ltdl(M, model.dof_parent)
        close(L.T @ L, M)
        close(unit.T @ np.diag(D) @ unit, M)
        for factor in (L, unit):
            assert not factor[(M == 0) | ~np.tri(model.nv, dtype=bool)].any()
        close(sixd.mass_matrix_solve(model, q, qd), np.linalg.solve(M, qd))
        close(sixd.inverse_mass_matrix(model, q) @ M, np.eye(model.nv))


@pytest.mark.many
@trees_and_singles
def test_power_balance(model, rng):
    """tau·qd = d(kinetic + potential)/dt + the power of damping and friction."""
    for q, qd, qdd in states(model, rng):
        step = 1e-3
        energies = []
        for k in (-2, -1, 1, 2):
            # second-order path with velocity qd and acceleration qdd in the joints' own coordinates
            t = k * step
            moved = model.integrate(q, t * qd + 0.5 * t * t * qdd)
            energies.append(sum(sixd.energy(model, moved, qd + t * qdd)))
        rate = (energies[0] - 8 * energies[1] + 8 * energies[2] - energies[3]) / (12 * step)
        lost = qd @ (model.damping * qd + model.friction * np.sign(qd))
        # differences of fourth order with a step of 1e-3 s leave 1e-10 · fifth derivative; velocities reach tens of rad/s
        close(sixd.inverse_dynamics(model, q, qd, qdd) @ qd, rate + lost, tolerance=1e-7)


@pytest.mark.many
@trees_and_singles
def test_energy_is_the_quadratic_form_and_gravity_its_gradient(model, rng):
    """Kinetic energy is ½ qdᵀM qd; gravity and springs are the potential's gradient."""
    for q, qd, _ in states(model, rng, count=2):
        kinetic, _ = sixd.energy(model, q, qd)
        close(kinetic, qd @ sixd.mass_matrix(model, q) @ qd / 2)
        at_rest = sixd.bias_force(model, q, np.zeros(model.nv))
        step = 1e-3
        for k, e in enumerate(np.eye(model.nv) * step):
            V = [sixd.energy(model, model.integrate(q, s * e), qd)[1] for s in (-2, -1, 1, 2)]
            derivative = (V[0] - 8 * V[1] + 8 * V[2] - V[3]) / (12 * step)
            close(derivative, at_rest[k], tolerance=1e-9)  # fourth-order differences


@pytest.mark.many
@trees_and_singles
def test_hybrid_dynamics_completes_either(model, rng):
    """From a mix of qdd and tau, hybrid dynamics computes the other values consistently; ignored entries may be NaN."""
    given = [name for name in model.joint_names if rng.random() < 0.5]
    mask = np.zeros(model.nv, dtype=bool)
    for name in given:
        mask[model.v_slice(name)] = True
    for q, qd, qdd in states(model, rng, count=3):
        tau = sixd.inverse_dynamics(model, q, qd, qdd)
        out = sixd.hybrid_dynamics(model, given, q, qd, np.where(mask, qdd, np.nan), np.where(mask, np.nan, tau))
        close(out[0], qdd)
        close(out[1], tau)


@pytest.mark.many
@trees_and_singles
def test_external_force_is_jacobian_transpose(model, rng):
    """tau = M qdd + h - Jᵀf for a wrench in any of the three frames, at any frame."""
    for q, qd, qdd in states(model, rng, count=2):
        bare = sixd.inverse_dynamics(model, q, qd, qdd)
        for frame in ("frame1", f"frame{model.nb}", model.body_names[-1]):
            for expressed_in in ("body", "aligned", "world"):
                wrench = rng.uniform(-3, 3, 6)
                f_ext = sixd.external_force(model, q, frame, wrench, expressed_in=expressed_in)
                J = sixd.jacobian(model, q, frame, expressed_in=expressed_in)
                close(sixd.inverse_dynamics(model, q, qd, qdd, f_ext=f_ext), bare - J.T @ wrench)


def test_external_force_at_a_point(rng):
    """A force at a point is the wrench [p×f; f]."""
    model = TREES[0]
    q, force, point = model.random_configuration(rng), rng.normal(size=3), rng.normal(size=3)
    for expressed_in in ("body", "aligned", "world"):
        f = sixd.external_force(model, q, "frame3", force, point=point, expressed_in=expressed_in)
        wrench = np.concatenate([np.cross(point, force), force])
        close(f, sixd.external_force(model, q, "frame3", wrench, expressed_in=expressed_in))


@pytest.mark.parametrize("seed", SEEDS, ids=[f"tree{s}" for s in SEEDS])
def test_results_do_not_depend_on_frames(seed, rng):
    """Moving the world, cutting links in two and moving masses to fixed sub-links changes nothing."""
    model = sixd.zoo.random_tree(seed)
    moved = reframed(model, rng)
    assert moved.nv == model.nv
    for q, qd, qdd in states(model, rng, count=2):
        close(sixd.inverse_dynamics(moved, q, qd, qdd), sixd.inverse_dynamics(model, q, qd, qdd))
        close(sixd.mass_matrix(moved, q), sixd.mass_matrix(model, q))
        tau = rng.uniform(-2, 2, model.nv)
        close(sixd.forward_dynamics(moved, q, qd, tau), sixd.forward_dynamics(model, q, qd, tau))


def reframed(model, rng):
    """Return the same mechanism with other frames: every link's frame has another place on it, and so has the world's."""
    from sixd.spatial import inverse_pose
    from sixd.zoo.random_trees import random_pose

    T_world = random_pose(rng)
    builder = sixd.ModelBuilder("moved", T_world[:3, :3] @ model.gravity)
    half = {}  # pose of each body's second half in its joint frame
    for i in model.bodies:
        name, record, parent = model.body_names[i - 1], model.joint(model.joint_names[i - 1]), model.parent[i]
        base = f"{model.body_names[parent - 1]}:half" if parent else "world"
        T_base = inverse_pose(half[parent]) if parent else T_world
        T_link, T_mass = random_pose(rng), random_pose(rng)
        builder.add_body(
            name,
            base,
            record.joint,
            placement=T_base @ model.placement[i],
            link_pose=T_link,
            damping=record.damping,
            friction=record.friction,
            armature=record.armature,
            stiffness=record.stiffness[0] if isinstance(record.joint, sixd.Spherical) else record.stiffness,
            rest=record.rest,
        )
        # the mass sits on one fixed sub-link, the children on another
        inertia = model.body_inertia(name).moved(inverse_pose(T_link @ T_mass))
        builder.add_body(f"{name}:mass", name, sixd.Fixed(), placement=T_mass, inertia=inertia)
        T_half = random_pose(rng)
        builder.add_body(f"{name}:half", name, sixd.Fixed(), placement=T_half)
        half[i] = T_link @ T_half
    return builder.build()


@trees_and_singles
def test_difference_inverts_integrate(model, rng):
    """difference(q, integrate(q, dq)) = dq for rotations below pi, and integrate(q0, difference(q0, q1)) is at q1."""
    for q, qd, _ in states(model, rng, count=3):
        for scale in (1e-9, 1e-4, 0.5, 1.0):
            dq = scale * qd / max(1.0, np.abs(qd).max())
            close(model.difference(q, model.integrate(q, dq)), dq)
        other = model.random_configuration(rng)
        there = model.integrate(q, model.difference(q, other))
        for frame in model.body_names:
            close(sixd.pose(model, there, frame), sixd.pose(model, other, frame))


@pytest.mark.many
@pytest.mark.parametrize("seed", range(5))
def test_ill_conditioned_mass_matrices(seed, rng):
    """With condition numbers up to 1e8, the residual of forward dynamics stays at rounding."""
    builder = sixd.ModelBuilder("uneven")
    parent = "world"
    for k, mass in enumerate(np.geomspace(1e4, 1e-3, 6)):
        inertia = sixd.sphere(0.1, mass=mass).translated(rng.normal(scale=0.2, size=3))
        builder.add_body(
            f"b{k}",
            parent,
            sixd.Revolute(rng.normal(size=3)),
            placement=sixd.placement(rng.normal(size=3)),
            inertia=inertia,
        )
        parent = f"b{k}"
    model = builder.build()
    for q, qd, tau in states(model, rng):
        M, h = sixd.mass_matrix(model, q), sixd.bias_force(model, q, qd)
        assert 1e5 < np.linalg.cond(M) < 1e10
        qdd = sixd.forward_dynamics(model, q, qd, tau)
        # the rounding of qdd alone moves M qdd by |M| |qdd| 1e-16
        assert np.abs(M @ qdd + h - tau).max() < 1e-10 * max(1.0, (np.abs(M) @ np.abs(qdd)).max())
