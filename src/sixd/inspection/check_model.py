"""``sixd.check``: findings of likely mistakes in a model."""

from __future__ import annotations

import warnings

import numpy as np

from sixd.algorithms.constrained.assembly import ACCEPTED, holonomic_rows, row_scale
from sixd.algorithms.constrained.dynamics import projections
from sixd.algorithms.constrained.rank import assembled_rank, mobility_at
from sixd.algorithms.singular import singular_joints
from sixd.collision.distances import distance
from sixd.errors import ModelError, ModelWarning, ShapeError
from sixd.model.model import Model
from sixd.model.parts import Finding
from sixd.model.system import System, require_system
from sixd.model.validate import inertia_finding, property_findings
from sixd.runtime.arrays.registry import require_cpu
from sixd.spatial.inertia import Inertia
from sixd.spatial.scalar import ArrayLike, is_object

_OVERLAP = 1e-6  # m: shapes that touch are drawn so
_MOST_OVERLAPS = 8  # pairs that are listed


class Findings(list[Finding]):
    """A list of findings that prints one per line."""

    def __str__(self) -> str:
        return "\n".join(map(str, self)) if self else "no likely mistakes found"


def check(model: System, q: ArrayLike | None = None) -> Findings:
    """Return the findings of likely mistakes in a model or another system.

    Each finding has a ``code``, ``where`` (a body or joint) and a ``message``.

    Codes: ``missing-inertia``, ``negative-mass``, ``impossible-inertia``, ``singular-mass-matrix``, ``limits``,
    ``degrees``, ``negative-property``, ``redundant-constraints``, ``cannot-assemble``, and findings of the reader of a
    file: ``misspelt``, ``repeated``, ``no-limits``, ``mimic``, ``visual``, ``collision``, ``renamed``, ``not-carried``,
    ``equality``, ``keyframe``, ``mujoco``. ``overlap`` names collision shapes that overlap in the neutral
    configuration. With a configuration q (nq,) also ``not-assembled``, and ``rank-drop`` where
    ``constrained_dynamics`` returns NaN. An empty list means no likely mistakes.
    """
    require_system("check", model)
    findings = Findings(model.notes if isinstance(model, Model) else ())
    known = {(f.code, f.where) for f in findings}
    more = _tree_findings(model) if isinstance(model, Model) else []
    if model.constraints and not model.symbols:
        with np.errstate(all="ignore"):
            more += _constraint_findings(model) + (_findings_at(model, q) if q is not None else [])
    if isinstance(model, Model) and model.collisions and not model.symbols:
        more += _overlaps(model)
    findings.extend(f for f in more if (f.code, f.where) not in known)
    return findings


def _tree_findings(model: Model) -> list[Finding]:
    findings: list[Finding] = []
    for i in model.bodies:
        name, matrix = model.body_names[i - 1], model.inertia[i]
        if not is_object(matrix):  # a massless body alone is not a mistake: see singular-mass-matrix
            finding = inertia_finding(name, Inertia.from_matrix(matrix))
            findings += [finding] if finding else []
    for name in singular_joints(model):
        message = (
            "it moves no inertia of its own, so the mass matrix is singular: inverse dynamics works, forward dynamics "
            "does not. Give the bodies that it carries a mass, give it an armature, or lock it"
        )
        findings.append(Finding("singular-mass-matrix", name, message))
    return [*findings, *property_findings(model)]


def _overlaps(model: Model) -> list[Finding]:
    """Return the pairs of collision shapes that overlap in the neutral configuration, the deepest first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # of meshes: convex_collisions reports these
        try:
            found = distance(model, np.asarray(model.neutral(), dtype=float))
        except ModelError:  # a shape without distances
            return []
    depths = -found.distance
    deepest = [k for k in np.argsort(-depths, kind="stable").tolist() if depths[k] > _OVERLAP]
    findings = [
        Finding("overlap", " - ".join(found.pairs[k]), f"they overlap by {1e3 * depths[k]:.3g} mm", True)
        for k in deepest[:_MOST_OVERLAPS]
    ]
    if len(deepest) > _MOST_OVERLAPS:
        message = f"{len(deepest) - _MOST_OVERLAPS} more pairs of collision shapes overlap in the neutral configuration"
        findings.append(Finding("overlap", model.name, message, True))
    return findings


def _constraint_findings(model: System) -> list[Finding]:
    rank = assembled_rank(model)
    if not rank.assembles:
        message = "no configuration that satisfies the constraints was found from several starts; see sixd.assemble"
        return [Finding("cannot-assemble", model.name, message)]
    mobility = mobility_at(model, rank.at)
    if not mobility.redundant:
        return []
    which = ", ".join(f"{n} in {label}" for label, n in mobility.redundant_in)
    message = (
        f"{mobility.redundant} of its {mobility.equations} constraint equations are redundant ({which}): accelerations "
        f"are unique, multipliers have the least norm, and symbolic scalars are refused"
    )
    return [Finding("redundant-constraints", model.name, message)]


def _findings_at(model: System, q: ArrayLike) -> list[Finding]:
    require_cpu("check", q=q)
    configuration = np.asarray(q)
    if configuration.shape != (model.nq,) or configuration.dtype.kind not in "fiu":
        raise ShapeError(f"check: q is {q!r}, expected one configuration of {model.nq} numbers.")
    configuration, findings = configuration.astype(float), []
    phi, A = holonomic_rows(model, configuration)
    error = float(np.abs(phi / row_scale(A)).max(initial=0.0))
    if not error <= 10 * ACCEPTED:
        message = f"the configuration violates its constraints by {error:.3g} rad or m; use sixd.assemble"
        findings.append(Finding("not-assembled", model.name, message))
    usual, here = assembled_rank(model), mobility_at(model, configuration)
    if here.rank < usual.least or (here.rank < usual.most and np.isnan(projections(model, configuration)[0]).any()):
        message = (
            f"the rank of the constraints is {here.rank} in this configuration, lower than near it, as in a dead "
            f"centre: the motion is not determined, and constrained_dynamics returns NaN; move away from it"
        )
        findings.append(Finding("rank-drop", model.name, message))
    return findings
