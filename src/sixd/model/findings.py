"""What is doubtful in a body's inertia and in a joint's properties, in words; loaders and ``sixd.check`` share it."""

from __future__ import annotations

from collections.abc import Iterator

from sixd.model.model import Model
from sixd.model.parts import PER_V, Finding
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import is_object


def inertia_finding(name: str, inertia: Inertia) -> Finding | None:
    """The finding about a body's inertia, if there is one."""
    problem = inertia.problem()
    if problem is None:
        return None
    code = "negative-mass" if inertia.mass < 0 else "impossible-inertia"
    return Finding(code, name, f"no real body has this inertia: {problem}; fix the file or the parameters")


def missing_inertia(name: str) -> Finding:
    """The finding about a moving body without any inertia."""
    return Finding("missing-inertia", name, "it has no inertia, zero is taken; give it a mass and a matrix")


def told_at_load(model: Model) -> list[Finding]:
    """What a user is warned of when a file is loaded; ``sixd.check`` tells the quiet notes, and more."""
    return [*(note for note in model.notes if not note.quiet), *property_findings(model)]


def property_findings(model: Model) -> Iterator[Finding]:
    """The findings about limits that are exchanged, and properties that are negative."""
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
