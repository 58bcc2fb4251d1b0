"""``sixd check``: faults and doubtful parts of a robot file, and how to fix them."""

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
from sixd.model.parts import Finding

_MOST_MESHES = 4  # that a message lists


@command(
    "check",
    examples=[
        ("sixd check panda_arm", "A clean robot: exit status 0."),
        ("sixd check puma560", "Two of its published inertias belong to no real body: exit status 1."),
        ("sixd check puma560 --json", "The same for a program, or for a check in continuous integration."),
    ],
)
@robot_argument()
@click.option("--strict", is_flag=True, help="Let remarks count as faults.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def check(source: RobotSource, strict: bool, as_json: bool) -> int:
    """Is this robot physically plausible? Masses and inertias that no body can have or that are missing, joints that
    move nothing, exchanged limits, negative damping, loops that do not close; and what of the file was left out.

    Every finding says where it is and what to fix. Exit status: 0 if there is no fault, 1 if there is one (so a script
    can rely on it), 2 on wrong usage. Remarks are not faults, unless --strict.
    """
    model = source.load(quiet=True)
    found = Findings([*sixd.check(model), *_lost_meshes(model)])
    faults = len(found) if strict else sum(advice(f).fault for f in found)
    if as_json:
        print_json(_facts(model, found, faults))
    else:
        _show(model, found, faults)
    return 1 if faults else 0


def _lost_meshes(model: Model) -> list[Finding]:
    """Return one remark on all missing mesh files; the dynamics never need them."""
    files = dict.fromkeys(v.shape.file for v in model.visuals if v.shape.kind == "mesh" and v.shape.file)
    lost = [file for file in files if not Path(file).is_file()]
    if not lost:
        return []
    names = ", ".join(lost[:_MOST_MESHES]) + (f" and {len(lost) - _MOST_MESHES} more" * (len(lost) > _MOST_MESHES))
    return [Finding("lost-mesh", model.name, f"{count(len(lost), 'mesh', 'meshes')} not found: {names}.")]


def _facts(model: Model, found: Findings, faults: int) -> dict[str, Any]:
    return {
        "robot": model.name,
        "plausible": not faults,
        "faults": faults,
        "findings": [
            {"code": f.code, "where": f.where, "message": f.message, "fault": advice(f).fault, "advice": advice(f).text}
            for f in found
        ],
    }


def _show(model: Model, found: Findings, faults: int) -> None:
    from rich.padding import Padding
    from rich.text import Text

    out = console()
    for finding in found:
        hint = advice(finding)
        mark = ("✗ ", "bold red") if hint.fault else ("· ", "bold yellow")
        out.print(Text.assemble(mark, (printable(finding.where), "bold"), (f"  {finding.code}", "dim")))
        out.print(Padding(Text(printable(finding.message)), (0, 0, 0, 2)))
        out.print(Padding(Text(f"→ {hint.text}", style="green"), (0, 0, 1, 2)))
    serious = sum(advice(f).fault for f in found)
    name = printable(model.name)
    if not found:
        out.print(Text.assemble(("✓ ", "bold green"), f"{name}: no likely mistakes found"))
    else:
        numbers = {"fault": serious, "remark": len(found) - serious}
        parts = [count(n, word) for word, n in numbers.items() if n]
        end = ("✗ ", "bold red") if faults else ("✓ ", "bold green")
        out.print(Text.assemble(end, f"{name}: {', '.join(parts)}"))


# advice ---------------------------------------------------------------------------------------------


class Advice(NamedTuple):
    """How to fix a finding. A fault makes results wrong or impossible; a remark only says what the model leaves out."""

    fault: bool
    text: str


_FAULTS = {
    "missing-inertia": "Write <inertial> with mass, origin and inertia for this link (those of a solid of its size and "
    "mass will do), or make its joint fixed, so that it is merged with its parent.",
    "negative-mass": "Correct the sign of the mass; masses that were subtracted belong into one link.",
    "impossible-inertia": "The principal moments A ≤ B ≤ C of a body satisfy C ≤ A + B, about its centre of mass. Look "
    "for a matrix about another point or in other axes than <origin> says, for grams or millimetres, or for rounded "
    "numbers.",
    "singular-mass-matrix": "Give what the joint carries a mass and a matrix, give the joint an armature, or make it "
    "fixed.",
    "limits": "Exchange lower and upper.",
    "negative-property": "Damping, friction, stiffness, armature and limits of effort are at least 0.",
    "cannot-assemble": "Correct the lengths or frames of the loop; sixd.assemble names the constraint that is farthest "
    "off.",
    "mimic": "Name an existing joint of one freedom in <mimic>, or remove it.",
    "misspelt": "Correct the name; what it says is not in the model.",
    "repeated": "Delete the one that is not meant; only the first is in the model.",
}
_REMARKS = {
    "no-limits": "Write lower and upper, or the type continuous for a joint that turns without end.",
    "degrees": "Multiply the limits by π/180, if they are degrees.",
    "redundant-constraints": "Not a fault: the motion is unique. Leave equations out only if you need unique "
    "constraint forces.",
    "visual": "For pictures only; correct the shape, or leave it so.",
    "lost-mesh": "For pictures only; give the folder that holds the packages by --package-dir.",
    "equality": "Look at model.constraints; constrained_dynamics and simulate hold them exactly.",
    "keyframe": "Correct the keyframe's numbers, or leave it so.",
    "group-state": "Correct the joint's name in the SRDF; the named configuration has it neutral.",
    "disabled-pair": "Correct the link's name in the SRDF, or leave it so.",
    "virtual-joint": "Give --floating-base if the robot's base moves.",
    "held": "Nothing to do; make a model that is to move not static.",
    "renamed": "Nothing to do; use the new name.",
    "not-carried": "The model behaves as if these were not there; see whether they matter to you.",
    "mujoco": "A remark of MuJoCo's own reader; correct the file where it says so.",
}
_ADVICE = {code: Advice(code in _FAULTS, text) for code, text in (_FAULTS | _REMARKS).items()}
_ELSE = Advice(False, "See docs of sixd.check.")


def advice(finding: Finding) -> Advice:
    """Return the advice on a finding."""
    return _ADVICE.get(finding.code, _ELSE)
