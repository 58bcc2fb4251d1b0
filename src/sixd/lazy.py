"""SymPy, imported when it is first used, because it takes longer to load than sixd: ``from sixd.lazy import sympy``."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any, TypeAlias


class LazyModule:
    """A module that is imported when one of its attributes is first used."""

    def __init__(self, name: str) -> None:
        self.__name__ = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # a question of inspect or pickle
            raise AttributeError(name)
        value = getattr(importlib.import_module(self.__name__), name)
        setattr(self, name, value)  # the next access needs no call
        return value


if TYPE_CHECKING:
    import sympy
else:
    sympy = LazyModule("sympy")

# for annotations alone
Basic: TypeAlias = "sympy.Basic"
Expr: TypeAlias = "sympy.Expr"
Matrix: TypeAlias = "sympy.Matrix"
NDimArray: TypeAlias = "sympy.NDimArray"
Symbol: TypeAlias = "sympy.Symbol"
