"""Principal moments and axes: numbers with equal moments, symbols where they have a short form."""

import numpy as np
import pytest
import sympy as sp

from sixd import Inertia, ModelError, UnknownNameError

a, b, c, d, m = sp.symbols("a b c d m", positive=True)
MOMENTS = {"different": (1.0, 1.5, 2.0), "two below": (1.0, 1.0, 1.5), "two above": (1.0, 1.5, 1.5), "all": (2.0,) * 3}


def rebuilt(found):
    return found.axes @ np.diag(found.moments) @ found.axes.T


@pytest.mark.parametrize("moments", MOMENTS.values(), ids=MOMENTS)
@pytest.mark.parametrize("seed", range(6))
def test_numbers(moments, seed):
    """Ascending moments, a rotation as axes, and the matrix back."""
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    A = Q @ np.diag(moments) @ Q.T
    found = Inertia(2.0, rng.normal(size=3), (A + A.T) / 2).principal()
    np.testing.assert_allclose(found.moments, moments, rtol=0, atol=1e-13)
    np.testing.assert_allclose(rebuilt(found), A, rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.axes.T @ found.axes, np.eye(3), rtol=0, atol=1e-13)
    assert np.linalg.det(found.axes) > 0


def test_equal_moments_have_the_axes_of_the_frame():
    assert (Inertia(1, about_com=(2, 2, 2)).principal().axes == np.eye(3)).all()
    found = Inertia(1, about_com=(2, 2, 1)).principal()
    assert found.moments.tolist() == [1, 2, 2]
    assert (found.axes == np.eye(3)[:, [2, 0, 1]]).all()


def test_a_massless_body_and_a_point():
    assert (Inertia(0).principal().axes == np.eye(3)).all()
    assert Inertia(1.0, (1, 2, 3)).principal().moments.tolist() == [0, 0, 0]


def test_about_the_origin():
    rod = Inertia(1.0, (0.5, 0, 0), (0, 1 / 12, 1 / 12))
    np.testing.assert_allclose(rod.principal("origin").moments, [0, 1 / 3, 1 / 3], rtol=0, atol=1e-15)
    with pytest.raises(UnknownNameError, match=r"Inertia.principal: about.*com"):
        rod.principal("center")


EXACT = {
    "diagonal": ([[a, 0, 0], [0, b, 0], [0, 0, c]], [a, b, c]),
    "one axis known": ([[a, 0, d], [0, b, 0], [d, 0, c]], None),
    "cube about its corner": ([[a, -d, -d], [-d, a, -d], [-d, -d, a]], [a - 2 * d, a + d, a + d]),
    "whole numbers": ([[sp.Integer(3), 1, 0], [1, 2, 1], [0, 1, 3]], [1, 3, 4]),
}


@pytest.mark.parametrize(("matrix", "moments"), EXACT.values(), ids=EXACT)
def test_exact(matrix, moments):
    found = Inertia(m, about_com=np.array(matrix)).principal()
    if moments is not None:
        assert sorted(map(str, found.moments)) == sorted(map(str, moments))
    values = {a: 1.3, b: 1.1, c: 0.9, d: 0.2}
    axes, numbers = (np.array(sp.Matrix(x).subs(values).evalf(), dtype=float) for x in (found.axes, found.moments))
    back = axes @ np.diag(numbers.ravel()) @ axes.T
    np.testing.assert_allclose(back, np.array(sp.Matrix(matrix).subs(values), dtype=float), rtol=0, atol=1e-14)
    assert np.linalg.det(axes) == pytest.approx(1, abs=1e-14)


def test_irreducible():
    """Numbers fall back to floats; symbols without a short form are an error."""
    numbers = np.array([[sp.Integer(3), 1, 1], [1, 4, 2], [1, 2, 6]])
    found = Inertia(1, about_com=numbers).principal()
    back = rebuilt(found._replace(moments=found.moments.astype(float), axes=found.axes.astype(float)))
    np.testing.assert_allclose(back, numbers.astype(float), rtol=0, atol=1e-13)
    with pytest.raises(ModelError, match="has no factor, expected one.*Give numbers for a, b, c, d, m"):
        Inertia(m, about_com=np.array([[a, d, m], [d, b, c], [m, c, c]])).principal()
