"""What is doubtful in one body's inertia, in words; loaders and ``sixd.check`` share it."""

from __future__ import annotations

from sixd.model.parts import Finding
from sixd.spatial.inertia import Inertia


def inertia_finding(name: str, inertia: Inertia) -> Finding | None:
    """The finding about a body's inertia, if there is one."""
    problem = inertia.problem()
    if problem is None:
        return None
    code = "negative-mass" if inertia.mass < 0 else "impossible-inertia"
    return Finding(code, name, f"no real body has this inertia: {problem}; mend the file or the parameters")


def missing_inertia(name: str) -> Finding:
    """The finding about a moving body without any inertia."""
    return Finding("missing-inertia", name, "it has no inertia, zero is taken; give it a mass and a matrix")
