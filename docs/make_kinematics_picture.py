"""Makes docs/inverse_kinematics.svg, the picture of inverse_kinematics.md.

python docs/make_kinematics_picture.py
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import sixd
from make_step_pictures import BLUE, GREEN, GREY, ORANGE, Line, Panel, draw

HERE = Path(__file__).resolve().parent
Array = np.ndarray[Any, Any]


def planar_arm() -> sixd.Model:
    """Two links of 0.7 and 0.5 m in the xy-plane."""
    builder = sixd.ModelBuilder("2R")
    builder.add_body("upper", "world", sixd.Revolute("z"), inertia=sixd.rod(0.7, mass=1.0))
    place = sixd.placement([0.7, 0, 0])
    builder.add_body("lower", "upper", sixd.Revolute("z"), placement=place, inertia=sixd.rod(0.5, mass=1.0))
    builder.add_frame("tip", "lower", sixd.placement([0.5, 0, 0]))
    return builder.build()


def bars(arm: sixd.Model, q: Array) -> tuple[Array, Array]:
    """The links as a line: base, elbow, tip."""
    points = np.array([[0, 0, 0], *(sixd.pose(arm, q, name)[:3, 3] for name in ("lower", "tip"))])
    return points[:, 0], points[:, 1]


def cross(x: float, y: float, size: float = 0.04) -> tuple[list[float], list[float]]:
    """A cross as one line."""
    return [x - size, x + size, x, x - size, x + size], [y - size, y + size, y, y + size, y - size]


def branches() -> Panel:
    """Both solutions of a planar arm, and the residual of a target out of reach."""
    arm, near, far = planar_arm(), [0.75, 0.45, 0.0], [-0.9, 1.1, 0.0]
    down, up = (sixd.inverse_kinematics(arm, "tip", near, q0=[0.5, s]).q for s in (1.0, -1.0))
    lost = sixd.inverse_kinematics(arm, "tip", far)
    lines = [
        Line(*cross(*near[:2]), GREY, "target", (178, 70)),
        Line(*cross(*far[:2]), GREY, "out of reach", (26, 16)),
        Line(*bars(arm, down), BLUE, "one elbow", (140, 168)),
        Line(*bars(arm, up), GREEN, "the other", (106, 62)),
        Line(*bars(arm, lost.q), ORANGE, f"{lost.residual:.2f} m away", (2, 146), "5 4"),
    ]
    ticks = (-1, -0.5, 0, 0.5, 1)
    title, below = "Two solutions, and none", "a planar arm [m]"
    return Panel(title, below, (-1.15, 1.15), (-0.55, 1.3835), ticks, (-0.5, 0, 0.5, 1), "x", lines)


def circle() -> Panel:
    """Joint angles along a circle of the tool."""
    arm = sixd.zoo.panda_arm()
    start = np.array([0, -0.4, 0, -2.0, 0, 1.8, 0.8])
    angle = np.linspace(0, 2 * np.pi, 200)
    T = np.broadcast_to(sixd.pose(arm, start, "tool"), (200, 4, 4)).copy()
    T[:, 1, 3] += 0.15 * np.sin(angle)
    T[:, 2, 3] -= 0.15 * (1 - np.cos(angle))
    solution = sixd.inverse_kinematics(arm, "tool", T, q0=start, path=True)
    assert solution.success.all()
    lines = [Line(angle, solution.q[:, k], BLUE, "seven joints" * (k == 0), (8, 14)) for k in range(7)]
    title, below = "A path, path=True", "joint angles [rad], the tool on a circle"
    return Panel(title, below, (0, 2 * np.pi), (-2.6, 3.1), (0, 2, 4, 6), (-2, -1, 0, 1, 2, 3), "angle [rad]", lines)


def attempts() -> Panel:
    """The share of reachable poses that are solved, by the number of restarts."""
    counts = range(0, 13, 2)
    arms = {"panda_arm": (sixd.zoo.panda_arm(), BLUE, (60, 40)), "ur_arm": (sixd.zoo.ur_arm(), ORANGE, (34, 84))}
    lines = []
    for name, (arm, colour, at) in arms.items():
        frame = "tool" if "tool" in arm.frame_names else arm.body_names[-1]
        T = sixd.pose(arm, arm.random_configuration(0, size=2000), frame)
        parts = [100 * sixd.inverse_kinematics(arm, frame, T, restarts=n).success.mean() for n in counts]
        lines.append(Line(list(counts), parts, colour, name, at))
    title, below = "Attempts", "reachable poses solved [%]"
    return Panel(title, below, (0, 12), (40, 101), (0, 4, 8, 12), (40, 60, 80, 100), "restarts", lines)


def inverse_kinematics() -> str:
    """The picture as SVG text."""
    return draw("Inverse kinematics: solutions, a path, attempts", [branches(), circle(), attempts()])


def main() -> None:
    """Write the picture."""
    path = HERE / "inverse_kinematics.svg"
    path.write_text(inverse_kinematics(), encoding="utf-8")
    print(f"{path}: {path.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    main()
