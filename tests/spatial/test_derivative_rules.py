"""The table of derivatives: complete, and right by central differences."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from sixd.spatial import scalar
from sixd.spatial.dual import Dual
from sixd.spatial.scalar import CHOOSES_FIRST, RULES


def test_every_function_has_a_rule():
    functions = {name for name, f in vars(scalar).items() if getattr(f, "__code__", None) is scalar.sin.__code__}
    assert functions == {*RULES, *CHOOSES_FIRST}


@pytest.mark.parametrize("name", RULES)
def test_rules_by_differences(name, rng):
    """Partial derivatives from the table, and the derivatives of dual numbers."""
    function, rule, step = getattr(scalar, name), RULES[name], 1e-6
    for _ in range(5):
        x = rng.uniform(0.1, 0.9, len(rule.signs))
        steps = np.eye(len(x)) * step
        numeric = [(function(*(x + e)) - function(*(x - e))) / (2 * step) for e in steps]
        assert_allclose(rule.partials(function(*x), *x), numeric, rtol=1e-8, atol=1e-8)  # central differences
        slopes = rng.standard_normal(len(x))
        found = function(*map(Dual, x, slopes))
        assert found.value == function(*x)
        assert_allclose(found.derivative, slopes @ numeric, rtol=1e-8, atol=1e-8)
