"""Tests that need an NVIDIA GPU, run by ``make gpu``; they are skipped where there is none."""

import pytest

import sixd

HERE = __file__.rpartition("conftest")[0]


def pytest_collection_modifyitems(items):
    if not sixd.cuda.is_available():
        for item in items:
            if str(item.path).startswith(HERE):
                item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU, or no driver of one"))
