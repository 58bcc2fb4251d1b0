"""Independent programs that the tests compare with. Each may be missing: a test that asks one for anything is then skipped."""

from __future__ import annotations

import importlib
import types
from typing import Any

import pytest


class Missing:
    """Stands for a package that is not installed; asked for anything inside a test, it skips that test."""

    def __init__(self, name: str, package: str) -> None:
        self._reason = f"{name} is not installed: pip install {package}"

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # Python's own questions, such as those of copying and of doctest
            raise AttributeError(attribute)
        pytest.skip(self._reason)


def peer(name: str, package: str) -> types.ModuleType | Missing:
    """The module of that name, or what skips the tests that use it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return Missing(name, package)


pin = peer("pinocchio", "pin")
mujoco = peer("mujoco", "mujoco-core")
trimesh = peer("trimesh", "trimesh")
