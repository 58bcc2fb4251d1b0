"""Findings about a body's inertia and a joint's properties; the file readers and ``sixd.check`` share them."""

from __future__ import annotations

from collections.abc import Iterator

from sixd.model.model import Model
from sixd.model.parts import PER_V, Finding
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import is_object


def inertia_finding(name: str, inertia: Inertia) -> Finding | None:
    """Return the finding about a body's inertia, if there is one."""
    problem = inertia.problem()
    if problem is None:
        return None
    code = "negative-mass" if inertia.mass < 0 else "impossible-inertia"
    return Finding(code, name, f"no real body has this inertia: {problem}; fix the file or the parameters")


def missing_inertia(name: str) -> Finding:
    """Return the finding about a moving body without any inertia."""
    return Finding("missing-inertia", name, "it has no inertia, zero is taken; give it a mass and a matrix")


def findings_at_load(model: Model) -> list[Finding]:
    """Return the findings that loading a file warns of; ``sixd.check`` also lists the quiet ones, and more."""
    return [*(note for note in model.notes if not note.quiet), *property_findings(model)]


def property_findings(model: Model) -> Iterator[Finding]:
    """Yield the findings about limits in the wrong order and about negative properties."""
    for i in model.bodies:
        low, high = model.lower[model.iq[i]], model.upper[model.iq[i]]
        if not is_object(low, high) and (low > high).any():
            message = f"the lower limit {low.tolist()} is above the upper {high.tolist()}; exchange them"
            yield Finding("limits", model.joint_names[i - 1], message)
        for key in PER_V:
            values = getattr(model, key)[model.iv[i]]
            if not is_object(values) and (values < 0).any():
                message = f"its {key.replace('_', ' ')} is negative ({values.min():g}); give a number of at least 0"
                yield Finding("negative-property", model.joint_names[i - 1], message)
