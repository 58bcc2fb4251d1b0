"""Articulated bodies: what holds without rounding, and forward dynamics that agree with its inverse."""

import dataclasses

import numpy as np
import pytest
import sympy
from numpy.testing import assert_allclose

import sixd
from samples import KINDS, single_joint
from sixd.algorithms.aba import aba, articulated_inertias, hybrid, own_coordinates
from sixd.algorithms.kinematics import joint_transforms
from sixd.algorithms.rnea import rnea
from sixd.spatial.transform import congruence


def weighted(model, k):
    """The model with armature in its k-th degree of freedom."""
    armature = model.armature.copy()
    armature[k] = 0.3
    return dataclasses.replace(model, armature=armature)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_handed_on_along_a_free_joint(kind, rng):
    """Ia S = 0 and SᵀU D⁻¹ = 1 for every joint type without armature; exactly, where S has unit columns."""
    model = single_joint(kind)
    model = dataclasses.replace(model, armature=np.zeros(model.nv))
    X, S = joint_transforms(model, model.random_configuration(rng))
    found = articulated_inertias(model, X, S)
    last = model.nb
    p = model.parent[last]
    before = model.inertia[p] if p else np.zeros((6, 6))
    handed = congruence(np.linalg.inv(X[last].astype(float)), found.IA[p] - before)  # Ia in the body's own coordinates
    scale = abs(found.IA[last]).max()
    assert_allclose(handed @ S[last].astype(float), 0, atol=1e-12 * scale)
    assert_allclose(S[last].T @ found.UD_inv[last], np.eye(S[last].shape[1]), atol=1e-12)
    own = own_coordinates(S[last], np.zeros(S[last].shape[1]))
    if own:
        assert np.array_equal(S[last].T @ found.UD_inv[last], np.eye(len(own)))


def test_coordinates_of_joints():
    """Those of unit vectors of either sign; none with armature, for other vectors, and for symbols."""
    z = np.array([[0, 0, 1, 0, 0, 0]]).T
    assert own_coordinates(z, np.zeros(1)) == [2]
    assert own_coordinates(-1.0 * z, np.zeros(1)) == [2]
    assert own_coordinates(z, np.ones(1)) == []
    assert own_coordinates(2 * z, np.zeros(1)) == []
    assert own_coordinates(z + np.eye(6, dtype=int)[:, [5]], np.zeros(1)) == []  # a screw
    assert own_coordinates(np.eye(6, dtype=int)[:, [4, 3, 2]], np.zeros(3)) == [4, 3, 2]
    assert own_coordinates(np.eye(6, dtype=int)[:, [4, 4]], np.zeros(2)) == []
    assert own_coordinates(z @ np.array([[1, 0]]) + np.eye(6, dtype=int)[:, [3]] @ [[1, 0]], np.zeros(2)) == []
    assert own_coordinates(np.zeros((6, 0), dtype=int), np.zeros(0)) == []
    assert own_coordinates(z * sympy.Symbol("a"), np.zeros(1)) == []
    assert own_coordinates(z, np.array([sympy.Symbol("a")])) == []


def test_free_fall_moves_no_joint(rng):
    """Gravity is an acceleration of the world, and a free base falls with it: nothing of it reaches the joints."""
    model = sixd.zoo.humanoid()
    q, zero = model.random_configuration(rng), np.zeros(model.nv)
    qdd = aba(model, q, zero, zero)
    assert np.array_equal(qdd[6:], zero[6:])
    assert_allclose(np.linalg.norm(qdd[3:6]), 9.81, rtol=1e-14)
    assert_allclose(sixd.forward_dynamics(model, q, zero, zero), qdd, atol=1e-14)  # products are fused there


@pytest.mark.many
@pytest.mark.parametrize("armature", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_hybrid_dynamics_agree_with_the_inverse(kind, armature, rng):
    """Any joint's motion given, with forces from outside; tau and qdd are those of one motion."""
    model = single_joint(kind)
    if armature:
        model = weighted(model, model.nv - 1)
    q, (qd, qdd, tau) = model.random_configuration(rng), rng.normal(size=(3, model.nv))
    f_ext = rng.normal(size=(model.nb, 6))
    for given in ([], [model.joint_names[0]], [model.joint_names[-1]], list(model.joint_names)):
        motion, force = sixd.hybrid_dynamics(model, given, q, qd, qdd, tau, f_ext=f_ext)
        size = 1 + abs(motion).max() + abs(force).max()
        assert_allclose(rnea(model, q, qd, motion, f_ext=f_ext), force, atol=1e-11 * size)
        for name in model.joint_names:
            at = model.v_slice(name)
            assert np.array_equal(*((motion[at], qdd[at]) if name in given else (force[at], tau[at])))


def test_given_motions_come_back_as_they_are():
    """Exact numbers stay exact, and what is not given is not read."""
    model, third = sixd.zoo.planar(2), sympy.Rational(1, 3)
    x = sympy.Symbol("x", real=True)
    motion, _ = sixd.hybrid_dynamics(model, [model.joint_names[1]], [x, 0], [0, 0], [0, third], [1, 0])
    assert motion[1] is third
    nan = np.nan
    motion, force = hybrid(model, {2}, np.array([0.1, 0.2]), np.ones(2), np.array([nan, 1.0]), np.array([2.0, nan]))
    assert np.isfinite([*motion, *force]).all()


def test_symbols_in_armature_alone():
    model, a = sixd.zoo.planar(2), sympy.Symbol("a", positive=True)
    symbolic = dataclasses.replace(model, armature=np.array([0, a], dtype=object))
    q, zero = np.array([0.1, 0.2], dtype=object), np.zeros(2)
    _, force = sixd.hybrid_dynamics(symbolic, [model.joint_names[1]], q, zero, np.array([0.0, 1.0]), np.ones(2))
    numbers = dataclasses.replace(model, armature=np.array([0, 0.5]))
    _, expected = sixd.hybrid_dynamics(numbers, [model.joint_names[1]], [0.1, 0.2], zero, [0.0, 1.0], np.ones(2))
    assert_allclose(float(force[1].subs(a, 0.5)), expected[1], rtol=1e-13)
