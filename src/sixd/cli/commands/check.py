"""``sixd check``: what is wrong or doubtful in a robot file, and what to fix."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

import sixd
from sixd.api.checking import Findings
from sixd.cli.advice import advice
from sixd.cli.arguments.robot import load_robot, robot_argument
from sixd.cli.group import command
from sixd.cli.output import console, count, print_json, printable
from sixd.model import Model
from sixd.model.parts import Finding

_MOST_MESHES = 4  # that are named


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
def check(robot: str, floating_base: bool, package_dirs: tuple[str, ...], strict: bool, as_json: bool) -> int:
    """Is this robot physically plausible? Masses and inertias that no body can have or that are missing, joints that
    move nothing, exchanged limits, negative damping, loops that do not close; and what of the file was left out.

    Every finding says where it is and what to fix. Exit status: 0 if there is no fault, 1 if there is one (so a script
    can rely on it), 2 if the command was called in a wrong way. Remarks are no faults, unless --strict.
    """
    model = load_robot(robot, floating_base=floating_base, package_dirs=package_dirs, quiet=True)
    found = Findings([*sixd.check(model), *_lost_meshes(model)])
    faults = len(found) if strict else sum(advice(f).fault for f in found)
    if as_json:
        print_json(_facts(model, found, faults))
    else:
        _show(model, found, faults)
    return 1 if faults else 0


def _lost_meshes(model: Model) -> list[Finding]:
    """One remark on all files of meshes that are not there; the model itself never needs them."""
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
        told = advice(finding)
        mark = ("✗ ", "bold red") if told.fault else ("· ", "bold yellow")
        out.print(Text.assemble(mark, (printable(finding.where), "bold"), (f"  {finding.code}", "dim")))
        out.print(Padding(Text(printable(finding.message)), (0, 0, 0, 2)))
        out.print(Padding(Text(f"→ {told.text}", style="green"), (0, 0, 1, 2)))
    remarks = len(found) - sum(advice(f).fault for f in found)
    name = printable(model.name)
    if not found:
        out.print(Text.assemble(("✓ ", "bold green"), f"{name}: nothing doubtful found"))
    else:
        parts = [count(len(found) - remarks, "fault")] * (remarks < len(found)) + [count(remarks, "remark")] * bool(
            remarks
        )
        end = ("✗ ", "bold red") if faults else ("✓ ", "bold green")
        out.print(Text.assemble(end, f"{name}: {', '.join(parts)}"))
