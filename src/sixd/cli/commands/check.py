"""``sixd check``: likely mistakes in a robot file, and how to fix them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import click

import sixd
from sixd.cli.arguments.robot import RobotSource, robot_argument
from sixd.cli.group import command
from sixd.cli.output import console, count, print_json, printable
from sixd.inspection.check_model import Findings
from sixd.model import Model
from sixd.model.parts import Finding, all_shapes

_MOST_MESHES = 4  # that a message lists


@command(
    "check",
    ("sixd check panda_arm", "A robot without mistakes: exit status 0."),
    ("sixd check puma560", "Two of its published inertias are not physical: exit status 1."),
    ("sixd check puma560 --json", "The same for a program, or for continuous integration."),
)
@robot_argument()
@click.option("--strict", is_flag=True, help="Count remarks as faults.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(source: RobotSource, strict: bool, as_json: bool) -> int:
    """Check whether a robot is physically plausible: missing or impossible masses and inertias, joints that move
    nothing, exchanged limits, negative damping, loops that do not close; and list what the model leaves out of its
    file.

    Every finding names its place and says how to fix it. Faults make results wrong or impossible; remarks do not.
    Exit status: 0 without faults (with --strict, also without remarks), 1 with faults, 2 for wrong usage.
    """
    model = source.load(quiet=True)
    findings = Findings([*sixd.check(model), *_lost_meshes(model)])
    faults = len(findings) if strict else sum(advice(f).fault for f in findings)
    if as_json:
        print_json(_facts(model, findings, faults))
    else:
        _show(model, findings, faults)
    return 1 if faults else 0


def _lost_meshes(model: Model) -> list[Finding]:
    """Return one remark on all missing mesh files; the dynamics never need them."""
    files = dict.fromkeys(p.shape.file for p in all_shapes(model) if p.shape.kind == "mesh" and p.shape.file)
    lost = [file for file in files if not Path(file).is_file()]
    if not lost:
        return []
    names = ", ".join(lost[:_MOST_MESHES]) + (f" and {len(lost) - _MOST_MESHES} more" * (len(lost) > _MOST_MESHES))
    return [Finding("lost-mesh", model.name, f"{count(len(lost), 'mesh', 'meshes')} not found: {names}.")]


def _facts(model: Model, findings: Findings, faults: int) -> dict[str, Any]:
    return {
        "robot": model.name,
        "plausible": not faults,
        "faults": faults,
        "findings": [
            {"code": f.code, "where": f.where, "message": f.message, "fault": advice(f).fault, "advice": advice(f).text}
            for f in findings
        ],
    }


def _show(model: Model, findings: Findings, faults: int) -> None:
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    for finding in findings:
        hint = advice(finding)
        mark = ("✗ ", "bold red") if hint.fault else ("· ", "bold yellow")
        out.print(Text.assemble(mark, (printable(finding.where), "bold"), (f"  {finding.code}", "dim")))
        out.print(Padding(Text(printable(finding.message)), (0, 0, 0, 2)))
        out.print(Padding(Text(f"→ {hint.text}", style="green"), (0, 0, 1, 2)))
    serious = sum(advice(f).fault for f in findings)
    name = printable(model.name)
    if not findings:
        out.print(Text.assemble(("✓ ", "bold green"), f"{name}: no likely mistakes found"))
    else:
        numbers = {"fault": serious, "remark": len(findings) - serious}
        parts = [count(n, word) for word, n in numbers.items() if n]
        end = ("✗ ", "bold red") if faults else ("✓ ", "bold green")
        out.print(Text.assemble(end, f"{name}: {', '.join(parts)}"))


# advice ---------------------------------------------------------------------------------------------


class Advice(NamedTuple):
    """How to fix a finding. A fault makes results wrong or impossible; a remark does not."""

    fault: bool
    text: str


_FAULTS = {
    "missing-inertia": "Write <inertial> with mass, origin and inertia for this link (those of a solid of its size and "
    "mass suffice), or make its joint fixed: it is then merged with its parent.",
    "negative-mass": "Correct the sign of the mass; to subtract a mass, write the difference in one link.",
    "impossible-inertia": "The principal moments A ≤ B ≤ C of a body about its centre of mass satisfy C ≤ A + B. Look "
    "for a matrix about another point or in other axes than those of <origin>, for grams or millimetres, or for "
    "rounded numbers.",
    "singular-mass-matrix": "Give the bodies on the joint a mass and an inertia, give the joint an armature, or make "
    "it fixed.",
    "limits": "Exchange lower and upper.",
    "negative-property": "Damping, friction, stiffness, armature and limits of effort are at least 0.",
    "cannot-assemble": "Correct the lengths or frames of the loop; sixd.assemble names the constraint with the largest "
    "error.",
    "mimic": "Name an existing joint of one degree of freedom in <mimic>, or remove it.",
    "misspelt": "Correct the name; the model ignores it.",
    "repeated": "Delete one of them; the model has only the first.",
}
_REMARKS = {
    "no-limits": "Write lower and upper, or the type continuous for a joint without limits.",
    "degrees": "Multiply the limits by π/180, if they are degrees.",
    "redundant-constraints": "Not a fault: the motion is unique. Leave equations out only if you need unique "
    "constraint forces.",
    "collision": "The shape takes no part in collisions; correct it, or ignore this remark.",
    "overlap": "Leave the pair out by an SRDF file, or by pairs= of sixd.distance, if these shapes always overlap.",
    "simplified-hull": "Nothing to do; sixd.convex_collisions(model, vertices=None) keeps exact hulls.",
    "not-convex": "Nothing to do if the hull suffices; sixd.convex_collisions(model, decompose=True) makes parts.",
    "visual": "Shapes do not affect the dynamics; correct the shape, or ignore this remark.",
    "lost-mesh": "Meshes do not affect the dynamics; name the folder of the packages with --package-dir.",
    "equality": "See model.constraints; constrained_dynamics and simulate satisfy them exactly.",
    "keyframe": "Correct the keyframe's numbers, or ignore this remark.",
    "group-state": "Correct the joint's name in the SRDF; it is neutral in the named configuration.",
    "disabled-pair": "Correct the link's name in the SRDF, or ignore this remark.",
    "virtual-joint": "Add --floating-base if the robot's base moves.",
    "held": "Nothing to do; remove <static> from a model that should move.",
    "renamed": "Nothing to do; use the new name.",
    "not-carried": "The model behaves as if they were absent; decide whether they matter.",
    "mujoco": "A remark of MuJoCo's own reader; correct the file as it says.",
}
_ADVICE = {code: Advice(code in _FAULTS, text) for code, text in (_FAULTS | _REMARKS).items()}
_ELSE = Advice(False, "See the documentation of sixd.check.")


def advice(finding: Finding) -> Advice:
    """Return the advice on a finding."""
    return _ADVICE.get(finding.code, _ELSE)
