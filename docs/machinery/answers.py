"""The answers of exercises, checked: the answer must equal the page's own value (`:check:`).

A reader types a number or an expression of the exercise's variables; static/exercise.js reads it in the browser. Here
the same grammar is read by SymPy, and compared with the value of `:check:` in the names of the page after it ran.
"""

from __future__ import annotations

import math
import random
from typing import Any

from machinery.page import Exercise, Page
from machinery.run import PageError, Run

FUNCTIONS = ("sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sqrt", "exp", "log", "abs")
CONSTANTS = ("pi",)
KNOWN = {"answer", "check", "variables", "constraint", "tolerance", "unit"}
TOLERANCE = 5e-3  # of a typed number, relative, unless the exercise says otherwise: three digits
SAMPLES = 8


def variables(exercise: Exercise) -> list[str]:
    """The names that a reader may use in the answer."""
    return exercise.options.get("variables", "").replace(",", " ").split()


def tolerance(exercise: Exercise) -> float:
    """The relative difference up to which an answer is right."""
    return float(exercise.options.get("tolerance", TOLERANCE if not variables(exercise) else 1e-6))


def digits(exercise: Exercise) -> int:
    """The number of significant digits of an answer: rounding to this number is within the tolerance."""
    return max(1, math.ceil(1 - math.log10(2 * tolerance(exercise)) - 1e-9))


def task(exercise: Exercise) -> dict[str, Any]:
    """The data of an exercise for static/exercise.js."""
    texts = {name: exercise.options.get(name, "") for name in ("answer", "unit", "constraint")}
    return texts | {
        "variables": variables(exercise),
        "tolerance": tolerance(exercise),
        "digits": digits(exercise),
    }


def check(run: Run) -> int:
    """Check the answer of every exercise of a page that ran, and return how many there are."""
    for exercise in run.page.exercises:
        _check(run.page, exercise, run.names)
    return len(run.page.exercises)


def _check(page: Page, exercise: Exercise, names: dict[str, Any]) -> None:
    where = f"{page.path}:{exercise.line}: exercise {exercise.title!r} of {page.name}"
    if unknown := exercise.options.keys() - KNOWN:
        raise PageError(f"{where}: unknown option {min(unknown)!r}, expected one of {', '.join(sorted(KNOWN))}.")
    for needed in ("answer", "check"):
        if not exercise.options.get(needed):
            raise PageError(f"{where}: has no :{needed}:. Every exercise has an answer and a check of it.")
    try:
        answer = parsed(exercise.options["answer"], variables(exercise))
        value = eval(exercise.options["check"], dict(names))
        samples = _samples(variables(exercise), exercise.options.get("constraint"))
    except PageError as error:
        raise PageError(f"{where}: {error}") from None
    except Exception as error:
        raise PageError(f"{where}: {type(error).__name__}: {error}") from error
    # the stored answer has more digits than a reader needs
    allowed = min(tolerance(exercise) / 10, 1e-4)
    for sample in samples:
        a, b = _number(answer, sample, where), _number(value, sample, where)
        if not abs(a - b) <= allowed * max(abs(b), 1e-12):
            at = f" at {sample}" if sample else ""
            raise PageError(f"{where}: the answer is {a!r}, but :check: gives {b!r}{at}.")


def parsed(text: str, names: list[str]) -> Any:
    """Return an answer as a SymPy expression: numbers, names, + - * / ^ ( ), and the usual functions."""
    from sympy import Abs, Symbol, acos, asin, atan, atan2, cos, exp, log, pi, sin, sqrt, tan
    from sympy.parsing.sympy_parser import convert_xor, implicit_multiplication, parse_expr, standard_transformations

    functions = dict(zip(FUNCTIONS, (sin, cos, tan, asin, acos, atan, atan2, sqrt, exp, log, Abs), strict=True))
    known = {**functions, "pi": pi, **{name: Symbol(name) for name in names}}
    steps = (*standard_transformations, convert_xor, implicit_multiplication)
    expression = parse_expr(text, local_dict=known, transformations=steps)
    if unknown := {str(symbol) for symbol in expression.free_symbols} - set(names):
        raise PageError(f"the answer has {min(unknown)!r}, which is not in :variables: ({' '.join(names) or 'none'}).")
    return expression


def _samples(names: list[str], constraint: str | None = None) -> list[dict[str, float]]:
    """Values of the variables, the same every time; one empty sample if there are none.

    On the constraint `left = right`, if there is one, by Newton's method.
    """
    draw = random.Random(1)
    samples = [{name: draw.uniform(0.3, 1.7) for name in names} for _ in range(SAMPLES if names else 1)]
    if constraint is None:
        return samples
    from sympy import Symbol

    left, right = (parsed(side, names) for side in constraint.split("="))
    derivatives = {name: (left - right).diff(Symbol(name)) for name in names}
    for sample in samples:
        for _ in range(30):
            at = {Symbol(name): x for name, x in sample.items()}
            gradient = {name: float(derivatives[name].subs(at)) for name in names}
            by = float((left - right).subs(at)) / sum(x**2 for x in gradient.values())
            sample.update({name: x - by * gradient[name] for name, x in sample.items()})
    return samples


def _number(value: Any, sample: dict[str, float], where: str) -> float:
    if hasattr(value, "free_symbols"):
        value = value.subs({symbol: sample[symbol.name] for symbol in value.free_symbols if symbol.name in sample})
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise PageError(f"{where}: {value} is not a number: name its symbols in :variables:.") from None
    if not math.isfinite(number):
        raise PageError(f"{where}: {number} is not finite.")
    return number
