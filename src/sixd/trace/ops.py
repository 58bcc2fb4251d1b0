"""The operations of a graph: what each is called, how many arguments it takes, and what it yields."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class _Kind(NamedTuple):
    word: str
    arity: int
    boolean: bool = False  # whether it yields a truth value
    takes_boolean: bool = False


class Op(Enum):
    """An operation on scalars."""

    CONST = _Kind("const", 0)
    INPUT = _Kind("input", 0)
    ADD = _Kind("add", 2)
    SUB = _Kind("sub", 2)
    MUL = _Kind("mul", 2)
    DIV = _Kind("div", 2)
    NEG = _Kind("neg", 1)
    SIN = _Kind("sin", 1)
    COS = _Kind("cos", 1)
    TAN = _Kind("tan", 1)
    ASIN = _Kind("asin", 1)
    ACOS = _Kind("acos", 1)
    ATAN2 = _Kind("atan2", 2)
    SQRT = _Kind("sqrt", 1)
    EXP = _Kind("exp", 1)
    LOG = _Kind("log", 1)
    ABS = _Kind("abs", 1)
    SIGN = _Kind("sign", 1)
    MIN = _Kind("min", 2)
    MAX = _Kind("max", 2)
    LT = _Kind("lt", 2, True)
    LE = _Kind("le", 2, True)
    EQ = _Kind("eq", 2, True)
    NOT = _Kind("not", 1, True, True)
    AND = _Kind("and", 2, True, True)
    OR = _Kind("or", 2, True, True)
    SELECT = _Kind("select", 3)  # condition, value if true, value if false

    @property
    def word(self) -> str:
        """Its name in prints and counts."""
        return self.value.word

    @property
    def arity(self) -> int:
        """Number of arguments."""
        return self.value.arity

    @property
    def boolean(self) -> bool:
        """Whether it yields a truth value instead of a number."""
        return self.value.boolean

    def argument_boolean(self, k: int) -> bool:
        """Whether its argument k must be a truth value."""
        return self.value.takes_boolean or (self is Op.SELECT and k == 0)
