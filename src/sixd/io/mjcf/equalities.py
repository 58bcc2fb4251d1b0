"""The constraints of a model as equalities of MJCF.

Relations between two joints are exact, and so are loops closed by a ball joint (one connect), by a hinge (two connects
on its axis) or rigidly (weld). MuJoCo enforces all of them softly.
"""

from __future__ import annotations

from collections.abc import Callable
from math import comb

from sixd.constraints.functions import Coupling, Polynomial
from sixd.constraints.loop import WORDS, Loop
from sixd.errors import ModelError
from sixd.io.mjcf.constraints import Constant
from sixd.io.writing import numbers, quoteattr
from sixd.model import Constraint, Mimic, Model
from sixd.spatial.transform import placement

_MOST_COEFFICIENTS = 5  # of the polynomial of an equality
_ALONG_AXIS = 1.0  # m between the two points that hold a hinge

Site = Callable[..., str]  # returns the name of a site at a frame, or at a pose in that frame


def equality_elements(model: Model, joints: dict[str, str], site: Site) -> list[str]:
    """Return the constraints as elements; ``joints`` are the names in the file of joints with one coordinate."""
    elements: list[str] = []
    for c in model.constraints:
        kinds = [w for w in ("weld", "point", "axis") if isinstance(c, Loop) and set(c.directions) == set(WORDS[w])]
        if isinstance(c, Mimic):
            factors = float(c.offset), float(c.multiplier)
            elements.append(relation_element(joints[c.joint], joints[c.source], factors))
        elif isinstance(c, Loop) and kinds:
            elements.append(_between("weld" if kinds == ["weld"] else "connect", site(c.frame_a), site(c.frame_b)))
            if kinds == ["axis"]:
                along = placement((0, 0, _ALONG_AXIS))
                elements.append(_between("connect", site(c.frame_a, along), site(c.frame_b, along)))
        else:
            elements.append(_coupling(model, c, joints))
    return elements


def _coupling(model: Model, c: Constraint, joints: dict[str, str]) -> str:
    """Return a coupling of two joints by a polynomial, or one that locks a joint."""
    if isinstance(c, Coupling) and len(c.dependent) == 1 and all(name in joints for name in c.joints):
        if isinstance(c.function, Constant) and not c.independent:
            return relation_element(joints[c.dependent[0]], None, (c.function.value,))
        if isinstance(c.function, Polynomial) and len(c.independent) == 1:
            coefficients = _about_zero(c.function)
            if len(coefficients) <= _MOST_COEFFICIENTS:
                return relation_element(joints[c.dependent[0]], joints[c.independent[0]], coefficients)
    hint = ""
    if isinstance(c, Loop):
        hint = "It has loops in directions 'point', 'axis' and 'weld'; in planar mechanisms 'point' is enough. "
    raise ModelError(f"to_mjcf: MJCF cannot hold the constraint {c.label}. {hint}Write the model without it.")


def _about_zero(function: Polynomial) -> tuple[float, ...]:
    """Return the coefficients of the polynomial in y itself instead of y - center."""
    terms = [float(x) for x in function.coefficients]
    while len(terms) > 1 and not terms[-1]:
        terms.pop()
    shift = -float(function.center)
    return tuple(
        sum(a * comb(n, k) * shift ** (n - k) for n, a in enumerate(terms) if n >= k) for k in range(len(terms))
    )


def relation_element(joint: str, source: str | None, coefficients: tuple[float, ...]) -> str:
    """Return q[joint] = Σ coefficients[k] q[source]^k."""
    second = "" if source is None else f" joint2={quoteattr(source)}"
    polynomial = [*coefficients, *[0.0] * (_MOST_COEFFICIENTS - len(coefficients))]
    return f"<joint joint1={quoteattr(joint)}{second} polycoef={numbers(polynomial)}/>"


def _between(kind: str, first: str, second: str) -> str:
    return f"<{kind} site1={quoteattr(first)} site2={quoteattr(second)}/>"
