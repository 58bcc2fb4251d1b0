"""Denavit-Hartenberg rows: fixed ones, and tuples; others are in the cases."""

import numpy as np
import pytest
import sympy as sp
from numpy.testing import assert_array_equal

import sixd

ROWS = [
    {"alpha": 0.1, "a": 0.2, "d": 0.3, "theta": 0.4, "mass": 1, "com": (0.1, 0, 0)},
    {"alpha": -0.5, "a": 0.1, "d": 0.2, "theta": 0.3, "mass": 2, "com": (0, 0.1, 0), "inertia": (0.1, 0.2, 0.2)},
    {"alpha": 0.7, "a": 0.3, "d": 0.1, "theta": 0.2, "mass": 1, "com": (0.1, 0, 0), "joint": "prismatic"},
    {"alpha": 0.2, "a": 0.0, "d": 0.1, "theta": 0.6, "mass": 0.5},
]


@pytest.mark.parametrize("convention", ["modified", "standard"])
def test_a_fixed_row_is_a_joint_locked_at_zero(convention):
    """In the middle and at the end; its frame keeps its name and number."""
    held = [{**row, "joint": "fixed"} if k in (1, 3) else row for k, row in enumerate(ROWS)]
    model = sixd.from_dh(held, convention=convention, tool=(0, 0, 0.1))
    locked = sixd.from_dh(ROWS, convention=convention, tool=(0, 0, 0.1)).lock({"joint2": 0, "joint4": 0})
    q, qd, qdd = np.array([[0.3, 0.4], [1.0, -2.0], [0.5, 0.7]])
    assert model.joint_names == ("joint1", "joint3")
    for name in ("link1", "link2", "link3", "link4", "tool"):
        assert_array_equal(sixd.pose(model, q, name), sixd.pose(locked, q, name))
    assert_array_equal(sixd.inverse_dynamics(model, q, qd, qdd), sixd.inverse_dynamics(locked, q, qd, qdd))


@pytest.mark.parametrize("convention", ["modified", "standard"])
def test_tuples_have_the_order_of_the_table(convention):
    """(alpha, a, d, theta), and the type of the joint if it is not revolute; lists and arrays too, and symbols."""
    plain = [{key: row[key] for key in row if key in ("alpha", "a", "d", "theta", "joint")} for row in ROWS]
    rows = [tuple(row.values()) for row in plain]
    rows[0], rows[1] = list(rows[0]), np.array(rows[1])
    ours, theirs = (sixd.from_dh(r, convention=convention) for r in (rows, plain))
    q = np.array([0.1, 0.2, 0.3, 0.4])
    assert_array_equal(sixd.pose(ours, q, "link4"), sixd.pose(theirs, q, "link4"))
    length = sp.Symbol("l")
    assert sixd.from_dh([(0, length, 0, 0), (0, 0, 1, 0, "fixed")]).symbols == (length,)
