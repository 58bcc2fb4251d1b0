"""Makes docs/descent.svg, docs/masses.svg and docs/lqr.svg, the pictures of derivatives.md, by the Python of that page.

python docs/make_derivative_pictures.py
"""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import numpy as np

import sixd
from make_step_pictures import BLUE, GREEN, GREY, ORANGE, Line, Panel, draw

HERE = Path(__file__).resolve().parent
SECONDS = (0, 1, 2, 3)
Names = dict[str, Any]


def page(name: str = "derivatives") -> Names:
    """The names that a page's Python defines."""
    text = (HERE / f"{name}.md").read_text(encoding="utf-8")
    names: Names = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for block in re.findall(r"^```python\n(.*?)^```$", text, flags=re.DOTALL | re.MULTILINE):
            exec(block, names)
    return names


def _tip(system: sixd.Model, q: Any) -> Any:
    return sixd.pose(system, q, "tip")[:, 0, 3]


def descent(n: Names) -> str:
    """The cost over the iterations, the force, and the motion."""
    costs = [n["cost"](np.zeros(n["steps"]))[0]]
    n["minimize"](
        n["cost"], np.zeros(n["steps"]), jac=True, method="L-BFGS-B", callback=lambda x: costs.append(n["cost"](x)[0])
    )
    t = n["dt"] * np.arange(n["steps"] + 1)
    panels = [
        Panel("The cost falls", "logarithm of the cost, base 10", (0, 12), (-3, 1), (0, 4, 8, 12), (-3, -2, -1, 0, 1),
              "iterations", [Line(np.arange(len(costs)), np.log10(costs), BLUE, "", (0, 0))]),
        Panel("The force", "on the cart [N], held for 10 ms each", (0, 3), (-5, 5), SECONDS, (-4, -2, 0, 2, 4),
              "time [s]", [Line(t[:-1], n["plan"].x, BLUE, "", (0, 0))]),
        Panel("The motion", "positions along the rail [m]", (0, 3), (-0.5, 2.5), SECONDS, (0, 1, 2), "time [s]", [
            Line([0, 3], [2, 2], GREY, "", (0, 0), "2 4"),
            Line(t, n["q"][:, 0], ORANGE, "cart", (52, 92)),
            Line(t, _tip(n["crane"], n["q"]), BLUE, "load", (122, 118)),
        ]),
    ]  # fmt: skip
    return draw("A crane carries a load over 2 m: forces optimized by gradient descent", panels)


def masses(n: Names) -> str:
    """The load's path with other masses, and its sensitivities."""
    ends = np.arange(5, n["steps"] + 1, 5)
    sensitivities = np.array([n["sensitivity"](int(k)) for k in ends])
    t, controller = n["dt"] * np.arange(n["steps"] + 1), lambda k, x, xd: n["tau"][k]
    usual = _tip(n["crane"], n["q"])
    lines = []
    for change, colour, at in ((-0.2, GREEN, (60, 66)), (0.2, ORANGE, (60, 132))):
        model = n["crane_with"](1 + change)
        lines += [
            Line(t, _tip(model, n["motion"](model, n["start"], controller)[0]) - usual, colour, f"{change:+.0%}", at),
            Line(n["dt"] * ends, change * sensitivities[:, 2], GREY, "", (0, 0), "5 4"),
        ]
    loads = np.linspace(0.5, 1.5, 11)
    models = [n["crane_with"](x) for x in loads]
    last = [_tip(model, n["motion"](model, n["start"], controller)[0])[-1] for model in models]
    titles, colours, at = ("cart", "hook", "load"), (BLUE, GREEN, ORANGE), ((150, 160), (186, 44), (186, 96))
    panels = [
        Panel("A lighter or heavier load", "change of its path [m]", (0, 3), (-0.15, 0.15), SECONDS, (-0.1, 0, 0.1),
              "time [s]", lines),
        Panel("Where it ends", "position along the rail [m]", (0.5, 1.5), (1.7, 2.3), (0.5, 1, 1.5),
              (1.8, 2, 2.2), "mass of the load [kg]", [
            Line(loads, last, BLUE, "simulated", (126, 78)),
            Line(loads, usual[-1] + sensitivities[-1, 2] * (loads - 1), GREY, "derivative", (20, 112), "5 4"),
        ]),
        Panel("Sensitivities", "of the load's position [m per 100 %]", (0, 3), (-1.1, 0.3), SECONDS, (-1, -0.5, 0),
              "time [s]", [Line(n["dt"] * ends, sensitivities[:, k], colours[k], titles[k], at[k]) for k in range(3)]),
    ]  # fmt: skip
    return draw("Sensitivity of a crane's motion to masses", panels)


def lqr(n: Names) -> str:
    """The load and the swing of a heavier crane, with feedback and without."""
    t = n["dt"] * np.arange(n["steps"] + 1)
    alone = n["motion"](n["heavy"], n["swinging"], lambda k, x, xd: n["tau"][k])[0]
    closed, rates = n["motion"](n["heavy"], n["swinging"], n["feedback"])
    force = [n["feedback"](k, closed[k], rates[k])[0] for k in range(n["steps"])]
    panels = [
        Panel("The load arrives", "its position along the rail [m]", (0, 3), (-0.7, 2.6), SECONDS, (0, 1, 2),
              "time [s]", [
            Line(t, _tip(n["crane"], n["q"]), GREY, "plan", (40, 168), "2 4"),
            Line(t, _tip(n["heavy"], alone), ORANGE, "plan's forces", (128, 106)),
            Line(t, _tip(n["heavy"], closed), BLUE, "with feedback", (118, 14)),
        ]),
        Panel("It hangs still", "angle of the hook's rope [°]", (0, 3), (-30, 30), SECONDS, (-30, -15, 0, 15, 30),
              "time [s]", [
            Line(t, np.degrees(n["q"][:, 1]), GREY, "", (0, 0), "2 4"),
            Line(t, np.degrees(alone[:, 1]), ORANGE, "", (0, 0)),
            Line(t, np.degrees(closed[:, 1]), BLUE, "", (0, 0)),
        ]),
        Panel("The force", "on the cart [N]", (0, 3), (-6, 14), SECONDS, (-5, 0, 5, 10), "time [s]", [
            Line(t[:-1], n["plan"].x, GREY, "", (0, 0), "2 4"),
            Line(t[:-1], force, BLUE, "", (0, 0)),
        ]),
    ]  # fmt: skip
    return draw("LQR about a motion: a heavier load that swings at the start", panels)


def main() -> None:
    """Write the pictures."""
    names = page()
    for make in (descent, masses, lqr):
        path = HERE / f"{make.__name__}.svg"
        path.write_text(make(names), encoding="utf-8")
        print(f"{path}: {path.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    main()
