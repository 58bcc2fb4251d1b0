"""Makes docs/control.svg, the picture of control.md, by the Python of that page.

python docs/make_control_picture.py
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import sixd
from make_derivative_pictures import Names, page
from make_step_pictures import BLUE, GREEN, GREY, ORANGE, Line, Panel, draw

HERE = Path(__file__).resolve().parent


def control(n: Names) -> str:
    """A tool that returns, an elbow that moves without it, and a push against a wall."""
    arm, start, goal = n["arm"], n["start"], n["goal"]
    motion = sixd.simulate(arm, n["q"], None, 2.0, controller=n["reach"])
    error = 100 * (goal[:3, 3] - sixd.pose(arm, motion.q, "tool")[:, :3, 3])
    elbow = n["elbow"]
    ways = [
        100 * np.linalg.norm(at - at[0], axis=1)
        for at in (sixd.pose(arm, elbow.q, name)[:, :3, 3] for name in ("link4", "tool"))
    ]
    contact, force = n["contact"], n["k"] * n["depth"]
    across = sixd.pose(arm, contact.q, "tool")[:, 0, 3] - start[0, 3]
    steady = n["K"] * n["k"] / (n["K"] + n["k"]) * 0.1
    top = float(np.ceil(ways[0].max() / 5) * 5)
    panels = [
        Panel("A tool returns", "its error [cm], by kp = 16/s²", (0, 2), (-6, 11), (0, 0.5, 1, 1.5, 2), (-5, 0, 5, 10),
              "time [s]", [
            Line(motion.t, error[:, 0], BLUE, "x", (48, 38)),
            Line(motion.t, error[:, 1], ORANGE, "y", (46, 174)),
            Line(motion.t, error[:, 2], GREEN, "z", (14, 76)),
        ]),
        Panel("Its elbow moves without it", "distance from the start [cm]", (0, 2), (-1, top), (0, 0.5, 1, 1.5, 2),
              np.arange(0, top + 1, 5), "time [s]", [
            Line(elbow.t, ways[0], ORANGE, "elbow", (130, 68)),
            Line(elbow.t, ways[1], BLUE, "tool", (130, 166)),
        ]),
        Panel("A wall is pushed", "force [N], target 0.1 m inside", (0, 2), (-2, 80), (0, 0.5, 1, 1.5, 2),
              (0, 20, 40, 60, 80), "time [s]", [
            Line([0, 2], [steady, steady], GREY, "by hand", (150, 92), "2 4"),
            Line(contact.t, force, BLUE, "wall", (26, 16)),
            Line(contact.t, n["K"] * (0.13 - across), ORANGE, "spring", (58, 124)),
        ]),
    ]  # fmt: skip
    return draw("Control of frames: operational space and impedance", panels)


if __name__ == "__main__":
    path = HERE / "control.svg"
    path.write_text(control(page("control")), encoding="utf-8")
    print(f"{path}: {path.stat().st_size / 1000:.1f} kB")
