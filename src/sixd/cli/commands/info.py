"""``sixd info``: the parts of a robot."""

from __future__ import annotations

from typing import Any

import click

import sixd
from sixd import zoo
from sixd.cli.arguments.robot import RobotSource, robot_argument
from sixd.cli.group import command
from sixd.cli.output import console, count, fact_table, heading, print_json, printable
from sixd.cli.tree import MOST_BODIES, tree_table
from sixd.model import Model
from sixd.model.printing import describe_joint

_MOST_NAMES = 24


@command(
    "info",
    ("sixd info panda_arm", "A ready-made model; the path of a file works as well."),
    ("sixd info four_bar --json", "Facts for a program: counts, joints with limits, masses, frames, constraints."),
    ("sixd info", "The ready-made models."),
)
@robot_argument(required=False)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def info(source: RobotSource | None, as_json: bool) -> None:
    """Show a robot: its tree of bodies and joints with limits and masses [kg, m, rad, N, N m], the numbers of
    coordinates (nq), degrees of freedom (nv) and moving bodies (nb), its frames, its constraints and mobility, and a
    summary of likely mistakes in its file. Without ROBOT: a list of the ready-made models.
    """
    if source is None:
        _show_zoo(as_json)
        return
    model = source.load(quiet=True)
    if as_json:
        print_json(facts(model))
    else:
        show(model)


def facts(model: Model) -> dict[str, Any]:
    """Return the facts that ``--json`` prints."""
    mobility = sixd.mobility(model) if model.constraints else None
    return {
        "robot": model.name,
        **{name: getattr(model, name) for name in ("nq", "nv", "nb", "mass", "gravity")},
        "joints": [_joint_facts(model, name) for name in model.joint_names],
        "frames": [n for n in model.frame_names if not n.startswith("joint:")],
        "collisions": [c.name for c in model.collisions],
        "collision_pairs": len(sixd.collision_pairs(model)),
        "constraints": [c.label for c in model.constraints],
        "mobility": model.nv if mobility is None else mobility.freedoms,
        "assembles": True if mobility is None else mobility.assembled,
        "findings": [{"code": f.code, "where": f.where, "message": f.message} for f in sixd.check(model)],
    }


def _joint_facts(model: Model, name: str) -> dict[str, Any]:
    joint = model.joint(name)
    body = model.body_inertia(joint.body)
    return {
        "name": name, "kind": describe_joint(joint.joint), "body": joint.body, "parent": joint.parent_body,
        "q": [model.q_slice(name).start, model.q_slice(name).stop],
        "v": [model.v_slice(name).start, model.v_slice(name).stop],
        "lower": joint.lower, "upper": joint.upper, "effort": joint.effort_limit, "velocity": joint.velocity_limit,
        **{name: getattr(joint, name) for name in ("damping", "friction", "stiffness", "armature")},
        "mass": body.mass, "com": body.com if body.mass else None,
    }  # fmt: skip


def show(model: Model) -> None:
    """Print the facts as text."""
    from rich.text import Text

    out = console()
    numbers = f"{count(model.nb, 'body', 'bodies')} · nq = {model.nq} · nv = {model.nv} · {float(model.mass):.5g} kg"
    out.print(Text.assemble((printable(model.name), "bold"), f"   {numbers}"))
    out.print()
    out.print(tree_table(model, out.width))
    out.print()
    lines = {"gravity": f"({', '.join(f'{x:g}' for x in model.gravity)}) m/s²"}
    if model.nb <= MOST_BODIES:
        lines |= {"frames": _names(model)}
    if model.collisions:
        pairs = count(len(sixd.collision_pairs(model)), "pair")
        lines["collisions"] = f"{count(len(model.collisions), 'shape')}, {pairs} that may touch"
    if model.constraints:
        lines["constraints"] = ", ".join(printable(c.label) for c in model.constraints)
        lines["mobility"] = printable(sixd.mobility(model)).partition(": ")[2]
    out.print(fact_table({k: v for k, v in lines.items() if v}))
    findings = sixd.check(model)
    if findings:
        out.print()
        out.print(heading(f"{count(len(findings), 'finding')}: `sixd check` says how to fix them"))
        for finding in findings[:_MOST_NAMES]:
            out.print(Text(f"  {printable(finding.where)}: {finding.code}"))


def _names(model: Model) -> str:
    """Return the names of the frames other than those of bodies and joints."""
    names = [n for n in model.frame_names if n not in model.body_names and n != "world" and not n.startswith("joint:")]
    more = f" … and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return printable(", ".join(names[:_MOST_NAMES])) + more


def _show_zoo(as_json: bool) -> None:
    models = {name: zoo.get(name) for name in zoo.names()}
    if as_json:
        print_json([{"robot": name, "nq": m.nq, "nv": m.nv, "nb": m.nb} for name, m in models.items()])
        return
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim")
    for column in ("robot", "bodies", "DoF", "constraints"):
        first = column == "robot"
        table.add_column(column, justify="left" if first else "right", overflow="fold", no_wrap=first)
    for name, m in models.items():
        table.add_row(name, str(m.nb), str(m.nv), str(len(m.constraints)) if m.constraints else "")
    out = console()
    out.print(table)
    out.print("\n`sixd info NAME` shows one of them; every command accepts a name in place of a file.")
