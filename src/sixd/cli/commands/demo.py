"""``sixd demo``: the tour. A robot, its equations, its speed, its motion, and an interactive page."""

from __future__ import annotations

from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click
import numpy as np

import sixd
from sixd.cli import demo_scene
from sixd.cli.arguments.files import FilePath, free_path
from sixd.cli.commands import bench
from sixd.cli.group import command
from sixd.cli.output import PAGE as WIDEST
from sixd.cli.output import console, count, duration
from sixd.cli.tree import tree_table
from sixd.model import Model
from sixd.spatial.scalar import Array
from sixd.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from rich.console import Console

PAGE = Path("sixd_demo.html")
_OUTPUT = f"The page's file.  [default: {PAGE}, replaced if it exists]"
TITLE = "sixd: an arm and a top"
ARM_START = (0.3, -0.3, -0.4, -0.6, 0.9, 0.0)  # to the side; from here it touches neither gantry nor top
TOP_START, TOP_SPIN = (0.0, 0.45, 0.0), (0.0, 0.0, 30.0)  # leaning by 0.45 rad, about five revolutions per second
SECONDS, QUICK = 10.0, 2.0  # of motion
DT, RECORD_EVERY = 1e-3, 17  # s; 59 records a second, as many as the page shows


@command(
    "demo",
    ("sixd demo", "The tour; writes sixd_demo.html in this folder."),
    ("sixd demo --quick --output tour.html", "Shorter motions, fewer measurements."),
)
@click.option("-o", "--output", type=FilePath(), metavar="FILE", help=_OUTPUT)
@click.option("--force", is_flag=True, help="Replace an existing file.")
@click.option("--quick", is_flag=True, help="Two seconds of motion instead of ten, fewer measurements.")
def demo(output: Path | None, force: bool, quick: bool) -> None:
    """Show a tour in a few seconds: the tree of a six-axis arm; the equations of motion of a two-link arm; the speed of
    the arm's compiled functions, compared with plain NumPy (and Pinocchio if installed); simulations of a spinning top
    and the arm; and a page in one file that simulates both and lets you pull them with the mouse. The last line is the
    page's path.
    """
    path = free_path(output or PAGE, force or output is None)
    out = console()
    arm = sixd.zoo.ur_arm()
    out.print(f"sixd {sixd.__version__}: robot dynamics written once. Read it, run it at speed, print it as equations.")
    _robot(out, arm)
    _equations(out)
    _speed(out, arm, quick)
    _page(out, _motion(out, QUICK if quick else SECONDS), path)
    click.echo(path.absolute())


def _part(out: Console, title: str, call: str) -> None:
    """Print the heading of a part of the tour, and the Python call."""
    from rich.rule import Rule
    from rich.text import Text

    out.print()
    out.print(Rule(Text(title, style="bold cyan"), align="left", style="dim"), width=min(out.width, WIDEST))
    out.print(Text(call, style="green"))
    out.print()


def _robot(out: Console, arm: Model) -> None:
    _part(out, "A robot", 'arm = sixd.zoo.ur_arm()      # or sixd.load("robot.urdf"); `sixd info ur_arm` shows more')
    out.print(tree_table(arm, out.width))


def _equations(out: Console) -> None:
    from rich.text import Text
    from sympy import symbols

    _part(out, "Equations of motion", "sixd.equations(sixd.zoo.two_link_arm(m1, m2, I1, I2, r1, r2, L1, g))")
    began = perf_counter()
    derived = sixd.equations(sixd.zoo.two_link_arm(*symbols("m1 m2 I1 I2 r1 r2 L1 g")))
    out.print(Text(str(derived)))
    took = duration(perf_counter() - began)
    out.print(f"\nDerived in {took}; parameters may be symbols or numbers.", style="dim")


def _speed(out: Console, arm: Model, quick: bool) -> None:
    _part(out, "Speed", "sixd.inverse_dynamics(arm, q, qd, qdd)      # q of shape (4096, 6); the first call compiles")
    rows, remark = bench.measure(arm, bench.USUAL, 4096, rounds=3 if quick else bench.ROUNDS)
    out.print(bench.table(rows, out.width))
    out.print()
    out.print(bench.footnote(rows, remark), style="dim")


def _motion(out: Console, seconds: float) -> Model:
    """Return the arm and the top in one world; each is simulated separately."""
    from rich.text import Text

    _part(out, "Motion", "sixd.simulate(arm, q, qd, 10.0)      # RK4 by default, in one fused kernel")
    hung, top = demo_scene.hung_arm(), demo_scene.standing_top()
    parts = {
        "six-axis arm, falling": simulated(hung, ARM_START, np.zeros(hung.nv), seconds),
        "spinning top": simulated(top, TOP_START, np.array(TOP_SPIN), seconds),
    }
    for title, (motion, took) in parts.items():
        drift = np.abs(motion.energy - motion.energy[0]).max() / motion.kinetic.max()
        steps = count(round(motion.duration / DT), "step")
        text = f"  {title:<22}{motion.duration:g} s, {steps} in {duration(took)};  "
        out.print(Text.assemble(text, (f"energy constant to {drift:.0e} of the largest kinetic energy", "bold")))
    note = f"RK4, dt = {DT * 1e3:g} ms; times include compilation. The arm's motors have inertias of 0.12 to 0.6 kg m²."
    out.print(f"\n{note}", style="dim")
    return demo_scene.both(hung, top)


def simulated(model: Model, q: tuple[float, ...], qd: Array, seconds: float) -> tuple[Trajectory, float]:
    """Return a motion and the time of its computation [s]."""
    began = perf_counter()
    motion = sixd.simulate(model, np.array(q), qd, seconds, dt=DT, record_every=RECORD_EVERY)
    return motion, perf_counter() - began


def _page(out: Console, model: Model, path: Path) -> None:
    call = "sixd.view(model, q=q, qd=qd, live=True).save_html(path)"
    _part(out, "A page that simulates", f"{call}      # without save_html: opens the browser")
    q, qd = np.array([*ARM_START, *TOP_START]), np.array([*np.zeros(len(ARM_START)), *TOP_SPIN])
    viewer = sixd.view(
        model, q=q, qd=qd, live=True, trace="top_tip", open_browser=False, camera=demo_scene.CAMERA, title=TITLE
    )
    with viewer:
        viewer.save_html(path)
    out.print("Next: `sixd info FILE`, `sixd check FILE`, `sixd view FILE --live`, `sixd simulate --help`, examples/.")
    out.print("Open this file in a browser and pull the arm or the top with the mouse; the space bar pauses:\n")
