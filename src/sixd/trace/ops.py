"""The operations of a graph: their names, numbers of arguments, and kinds of results."""

from __future__ import annotations

from enum import Enum


class Op(Enum):
    """An operation on scalars."""

    CONST = ("const", 0)
    INPUT = ("input", 0)
    ADD = ("add", 2)
    SUB = ("sub", 2)
    MUL = ("mul", 2)
    DIV = ("div", 2)
    NEG = ("neg", 1)
    SIN = ("sin", 1)
    COS = ("cos", 1)
    TAN = ("tan", 1)
    ASIN = ("asin", 1)
    ACOS = ("acos", 1)
    ATAN2 = ("atan2", 2)
    SQRT = ("sqrt", 1)
    EXP = ("exp", 1)
    LOG = ("log", 1)
    ABS = ("abs", 1)
    SIGN = ("sign", 1)
    MIN = ("min", 2)
    MAX = ("max", 2)
    LT = ("lt", 2, True)
    LE = ("le", 2, True)
    EQ = ("eq", 2, True)
    NOT = ("not", 1, True, True)
    AND = ("and", 2, True, True)
    OR = ("or", 2, True, True)
    SELECT = ("select", 3)  # condition, value if true, value if false

    def __init__(self, word: str, arity: int, boolean: bool = False, takes_boolean: bool = False) -> None:
        self.word = word  # its name in printed graphs and counts
        self.arity = arity  # number of arguments
        self.boolean = boolean  # whether it yields a truth value instead of a number
        self.takes_boolean = takes_boolean

    __hash__ = object.__hash__  # Enum hashes the name, which is slow: operations are keys of every graph

    def argument_boolean(self, k: int) -> bool:
        """Whether its argument k must be a truth value."""
        return self.takes_boolean or (self is Op.SELECT and k == 0)
