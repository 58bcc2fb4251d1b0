"""Independent programs that the tests compare with. If one is not installed, a test that uses it is skipped."""

from __future__ import annotations

import importlib
import types
from typing import Any

import pytest


class Missing:
    """Stands for a package that is not installed; a test that uses an attribute of it is skipped."""

    def __init__(self, name: str, package: str) -> None:
        self._reason = f"{name} is not installed: pip install {package}"

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # asked by Python itself, as by copy and doctest
            raise AttributeError(attribute)
        pytest.skip(self._reason)


def peer(name: str, package: str) -> types.ModuleType | Missing:
    """Return the module of that name, or an object that skips the tests that use it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        return Missing(name, package)


pin = peer("pinocchio", "pin")
mujoco = peer("mujoco", "mujoco-core")
trimesh = peer("trimesh", "trimesh")
