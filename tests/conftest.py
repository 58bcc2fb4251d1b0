"""Fixtures shared by all tests."""

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def pytest_terminal_summary(terminalreporter):
    """One table of what the walk over all robot files saw."""
    reports = [r for key in ("passed", "failed") for r in terminalreporter.stats.get(key, [])]
    rows = sorted(text for r in reports for key, text in getattr(r, "user_properties", []) if key == "urdf")
    if rows:
        terminalreporter.section("URDF files beside Pinocchio: largest scaled difference")
        terminalreporter.line(
            f"{'file':34} {'nv':>4}  {'tau':>8}  {'M':>8}  {'qdd':>8}  {'residual':>8}  {'cond(M)':>8}"
        )
        for row in rows:
            terminalreporter.line(row)
