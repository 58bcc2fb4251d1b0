"""Structural zeros of derivatives, and packed results."""

import numpy as np
import pytest

import sixd

PACKABLE = (sixd.inverse_dynamics_derivatives, sixd.forward_dynamics_derivatives, sixd.constrained_dynamics_derivatives)


def tree():
    return sixd.zoo.random_tree(4, kinds=("revolute", "universal", "spherical", "prismatic", "helical"))


@pytest.mark.long
@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("function", PACKABLE, ids=lambda f: f.__name__)
def test_packed_entries_are_those_of_the_pattern(function, force, rng):
    model = tree()
    q, f_ext = model.random_configuration(rng, size=3), rng.normal(size=(model.nb, 6)) if force else None
    qd, x = rng.normal(size=(2, 3, model.nv))
    pattern = sixd.derivative_pattern(function, model, f_ext=force)
    whole, packed = (function(model, q, qd, x, f_ext=f_ext, packed=flag) for flag in (False, True))
    assert type(pattern) is type(packed) is type(whole)
    for mask, some, every in zip(pattern, packed, whole, strict=True):
        assert mask.dtype == bool
        assert not every[:, ~mask].any()
        np.testing.assert_allclose(some, every[:, mask], rtol=1e-12, atol=1e-13)
    if function is not sixd.constrained_dynamics_derivatives:
        kernel = sixd.compile(function, model, packed=True)(q, qd, x)
        bare = function(model, q, qd, x, packed=True)
        assert all(map(np.array_equal, kernel, bare))


def test_branches():
    """Inverse dynamics couples only joints on one branch; M has the same zeros as ∂tau/∂qdd."""
    model = tree()
    pattern = sixd.derivative_pattern(sixd.inverse_dynamics_derivatives, model, f_ext=True)
    related = np.zeros((model.nv, model.nv), dtype=bool)
    for i in model.bodies:
        for j in model.tree.ancestors(i):
            related[model.iv[i], model.iv[j]] = related[model.iv[j], model.iv[i]] = True
    assert not related.all()
    assert not any((mask & ~related).any() for mask in pattern)
    assert np.array_equal(pattern.qdd, sixd.derivative_pattern(sixd.mass_matrix, model))


def test_other_functions():
    arm = sixd.zoo.planar(3)
    pattern = sixd.derivative_pattern(sixd.velocity_derivatives, arm, frame="link2")
    assert pattern._fields == ("q", "qd")
    assert not pattern.qd[:, 2].any()
    assert pattern.qd[2, :2].all()


def test_mistakes():
    arm = sixd.zoo.planar(2)
    with pytest.raises(sixd.ScalarTypeError, match="expected one of the library, such as sixd.inverse"):
        sixd.derivative_pattern(np.sin, arm)
    with pytest.raises(sixd.ScalarTypeError, match="velocity_derivatives needs frame"):
        sixd.derivative_pattern(sixd.velocity_derivatives, arm)
    with pytest.raises(sixd.ScalarTypeError, match=r"has no fixed argument 'kind', expected some of"):
        sixd.derivative_pattern(sixd.mass_matrix, arm, kind="spatial")
    with pytest.raises(sixd.ScalarTypeError, match="packed is 1, expected True or False"):
        sixd.inverse_dynamics_derivatives(arm, [0, 0], [0, 0], [0, 0], packed=1)
    with pytest.raises(sixd.ScalarTypeError, match="has parameters that are not numbers"):
        sixd.compile(sixd.inverse_dynamics_derivatives, arm, parameters=("gravity",), packed=True)
