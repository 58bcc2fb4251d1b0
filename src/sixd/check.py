"""``sixd.check``: what is doubtful in a model, in words."""

from __future__ import annotations

from sixd.algorithms.singular import singular_joints
from sixd.model.findings import inertia_finding
from sixd.model.model import Model, require_model
from sixd.model.parts import PER_V, Finding
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import is_object


class Findings(list[Finding]):
    """A list of findings that prints one per line."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) if self else "nothing doubtful found"


def check(model: Model) -> Findings:
    """What is doubtful in the model: each finding has a ``code``, ``where`` (a body or joint) and a ``message``.

    Codes: ``missing-inertia``, ``negative-mass``, ``impossible-inertia``, ``singular-mass-matrix``, ``limits``,
    ``negative-property``, and what a loader had to leave out of a file. An empty list means that nothing was found.
    """
    require_model("check", model)
    found = Findings(model.notes)
    known = {(f.code, f.where) for f in found}

    def add(finding: Finding | None) -> None:
        if finding and (finding.code, finding.where) not in known:
            found.append(finding)

    for i in model.bodies:
        name, matrix = model.body_names[i - 1], model.inertia[i]
        if not is_object(matrix):  # a massless body is no fault by itself: see singular-mass-matrix
            add(inertia_finding(name, Inertia.from_matrix(matrix)))
    for name in singular_joints(model):
        message = (
            "it moves no inertia of its own, so the mass matrix is singular: inverse dynamics works, forward dynamics "
            "does not. Give what it carries a mass, give it an armature, or lock it"
        )
        add(Finding("singular-mass-matrix", name, message))
    for i in model.bodies:
        low, high = model.lower[model.iq[i]], model.upper[model.iq[i]]
        if not is_object(low, high) and (low > high).any():
            message = f"the lower limit {low.tolist()} is above the upper {high.tolist()}; exchange them"
            add(Finding("limits", model.joint_names[i - 1], message))
        for key in PER_V:
            values = getattr(model, key)[model.iv[i]]
            if not is_object(values) and (values < 0).any():
                message = f"its {key.replace('_', ' ')} is negative ({values.min():g}); give a number of at least 0"
                add(Finding("negative-property", model.joint_names[i - 1], message))
    return found
