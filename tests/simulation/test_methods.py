"""Every method with fixed steps has a step and a stable region, in one table."""

import numpy as np
import pytest

from sixd.simulation.stepping.compiled_steps import FIXED_STEP, MIDPOINT
from sixd.simulation.stepping.implicit import IMPLICIT
from sixd.simulation.stepping.runge_kutta import EXPLICIT
from sixd.simulation.stepping.stability import _MAPS


def test_every_method_has_a_stable_region():
    """Except "implicit", which is stable with any step."""
    assert {*_MAPS} == {*FIXED_STEP} - {IMPLICIT} == {*EXPLICIT, MIDPOINT}


@pytest.mark.parametrize("name", EXPLICIT)
def test_map_of_errors_is_that_of_the_step(name):
    """On a linear motion in a vector space the step is linear: x → E x."""
    rng = np.random.default_rng(0)
    nq, nu, h = 3, 2, 0.1
    A = rng.uniform(-1, 1, (2 * nq + nu, 2 * nq + nu))
    A[:nq] = 0
    A[:nq, nq : 2 * nq] = np.eye(nq)

    def rates(t, q, qd, u):
        change = A @ np.concatenate([q, qd, u])
        return change[nq : 2 * nq], change[2 * nq :]

    x = rng.uniform(-1, 1, len(A))
    after = EXPLICIT[name].step(lambda q, dq: q + dq, rates, 0.0, h, *np.split(x, [nq, 2 * nq]))
    assert np.allclose(np.concatenate(after), EXPLICIT[name].errors(A, h, nq, nq) @ x, rtol=0, atol=1e-14)
