"""Makes docs/friction.svg, docs/stiffness.svg and docs/contact.svg, the pictures of friction_stiffness_contact.md.

    python docs/make_step_pictures.py

Colours and greys are readable on white and on black, and there is no background: pages have either.
"""

from __future__ import annotations

import runpy
import warnings
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sixd
from sixd.spatial import sin

HERE = Path(__file__).resolve().parent
LEFT, TOP, WIDE, HIGH, PITCH = 58, 62, 226, 190, 312  # of the first panel's axes [pixels]; from one panel to the next
HEIGHT = 300
GREY, BLUE, ORANGE, GREEN = "#808790", "#3b8eea", "#e0752d", "#2fa36b"
START = 4.6  # rad/s, of the rod
Array = np.ndarray[Any, Any]


class Line(NamedTuple):
    """A curve, its colour, its label and where the label begins in the panel [pixels]."""

    x: Any
    y: Any
    colour: str
    label: str
    at: tuple[float, float]
    dashes: str = ""


class Panel(NamedTuple):
    """A title, a subtitle, the axes' ranges and ticks, and the curves."""

    title: str
    subtitle: str
    across: tuple[float, float]
    up: tuple[float, float]
    ticks_across: Sequence[float]
    ticks_up: Sequence[float]
    unit: str
    lines: Sequence[Line]


def draw(title: str, panels: Sequence[Panel]) -> str:
    """Panels next to each other as SVG text."""
    width = LEFT + PITCH * (len(panels) - 1) + WIDE + 26
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
        'font-family="system-ui, -apple-system, Segoe UI, Helvetica, Arial, sans-serif" font-size="13" '
        f'fill="{GREY}" role="img">',
        f"<title>{escape(title)}</title>",
    ]
    for k, panel in enumerate(panels):
        parts += [f'<g transform="translate({LEFT + k * PITCH} {TOP})">', *_panel(panel), "</g>"]
    return "\n".join([*parts, "</svg>", ""])


def _panel(panel: Panel) -> list[str]:
    (x0, x1), (y0, y1) = panel.across, panel.up

    def at(x: Any, y: Any) -> tuple[Any, Any]:
        return (np.asarray(x) - x0) / (x1 - x0) * WIDE, (y1 - np.asarray(y)) / (y1 - y0) * HIGH

    parts = [
        f'<text x="0" y="-36" font-size="15" font-weight="600">{escape(panel.title)}</text>',
        f'<text x="0" y="-17">{escape(panel.subtitle)}</text>',
    ]
    for y in panel.ticks_up:
        height = float(at(x0, y)[1])
        parts.append(f'<path d="M0 {height:.1f}H{WIDE}" stroke="{GREY}" stroke-opacity=".3"/>')
        parts.append(f'<text x="-8" y="{height + 4.5:.1f}" text-anchor="end">{y:g}</text>')
    for x in panel.ticks_across:
        across = float(at(x, y0)[0])
        parts.append(f'<path d="M{across:.1f} 0V{HIGH}" stroke="{GREY}" stroke-opacity=".3"/>')
        parts.append(f'<text x="{across:.1f}" y="{HIGH + 18}" text-anchor="middle">{x:g}</text>')
    parts.append(f'<text x="{WIDE}" y="{HIGH + 37}" text-anchor="end">{escape(panel.unit)}</text>')
    for line in panel.lines:
        x, y = _thinned(*at(line.x, np.clip(line.y, y0 - (y1 - y0), y1 + (y1 - y0))))
        path = "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y, strict=True))
        dashes = f' stroke-dasharray="{line.dashes}"' if line.dashes else ""
        parts.append(
            f'<svg x="0" y="-3" width="{WIDE}" height="{HIGH + 6}" viewBox="0 -3 {WIDE} {HIGH + 6}">'
            f'<path d="{path}" fill="none" stroke="{line.colour}" stroke-width="2" stroke-linejoin="round"{dashes}/>'
            "</svg>"
        )
        a, b = line.at
        parts.append(f'<text x="{a}" y="{b}" fill="{line.colour}" font-weight="600">{escape(line.label)}</text>')
    return parts


def _thinned(x: Array, y: Array, apart: float = 0.1) -> tuple[Array, Array]:
    """The curve without points that change it by less than ``apart`` pixels (Douglas and Peucker)."""
    keep = np.zeros(len(x), bool)
    keep[[0, -1]] = True
    spans = [(0, len(x) - 1)]
    while spans:
        a, b = spans.pop()
        if b - a < 2:
            continue
        dx, dy = x[b] - x[a], y[b] - y[a]
        away = np.abs(dx * (y[a + 1 : b] - y[a]) - dy * (x[a + 1 : b] - x[a])) / max(np.hypot(dx, dy), 1e-9)
        k = int(np.argmax(away))
        if away[k] > apart:
            keep[a + 1 + k] = True
            spans += [(a, a + 1 + k), (a + 1 + k, b)]
    return x[keep], y[keep]


# friction -----------------------------------------------------------------------------------------


def _slider(stiffness: float) -> sixd.Model:
    builder = sixd.ModelBuilder("slider", gravity=(0, 0, 0))
    builder.add_body("mass", "world", sixd.Prismatic("x"), inertia=sixd.point(1.0), friction=1.0, stiffness=stiffness)
    return builder.build()


def _by_sign(velocity: float, deceleration: float, h: float, steps: int) -> list[float]:
    """RK4 on v' = -a sign(v): an integrator without a model of friction."""
    speeds = [velocity]
    for _ in range(steps):
        v = speeds[-1]
        k1 = -deceleration * np.sign(v)
        k2 = -deceleration * np.sign(v + h / 2 * k1)
        k3 = -deceleration * np.sign(v + h / 2 * k2)
        k4 = -deceleration * np.sign(v + h * k3)
        speeds.append(v + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
    return speeds


def friction() -> str:
    """A rod that stops, an oscillator, and a mass on a belt."""
    builder = sixd.ModelBuilder("rod", gravity=(0, 0, 0))
    inertia = sixd.Inertia(1e-3, (0, 0, 0), [2e-5] * 3)
    builder.add_body("rod", "world", sixd.Revolute("z"), inertia=inertia, friction=0.1)
    stop = sixd.simulate(builder.build(), [0.0], [START], 5e-3)
    swing = sixd.simulate(_slider(100.0), [0.105], None, 2.0)
    pushed = sixd.simulate(
        _slider(0.0), [0.0], [0.0], 2.0, controller=lambda t, q, qd: 1.6 * np.array([sin(2 * np.pi * t)])
    )
    push = 1.6 * np.sin(2 * np.pi * pushed.t)
    t = 1e3 * stop.t
    panels = [
        Panel("A rod stops", "velocity [rad/s], steps of 1 ms", (0, 5), (-1, 5.5), range(6), range(6), "time [ms]", [
            Line(t, _by_sign(START, 5000.0, 1e-3, 5), ORANGE, "rk4 with F sign v", (74, 108), "5 4"),
            Line(t, stop.qd[:, 0], BLUE, "predict, hold, correct", (62, 180)),
        ]),
        Panel("It turns, and comes to rest", "position [m], on a spring", (0, 2), (-0.12, 0.12),
              (0, 0.5, 1, 1.5, 2), (-0.1, 0, 0.1), "time [s]", [
            Line([0, 2], [0.01, 0.01], GREY, "", (0, 0), "2 4"),
            Line([0, 2], [-0.01, -0.01], GREY, "friction can hold it here", (58, 164), "2 4"),
            Line(swing.t, swing.q[:, 0], BLUE, "", (0, 0)),
        ]),
        Panel("It sticks, and slips", "velocity [m/s], pushed by a force [N]", (0, 2), (-1.7, 1.7),
              (0, 0.5, 1, 1.5, 2), (-1, 0, 1), "time [s]", [
            Line(pushed.t, push, GREY, "force", (48, 14), "2 4"),
            Line(pushed.t, 10 * pushed.qd[:, 0], BLUE, "10 × v", (4, 150)),
        ]),
    ]  # fmt: skip
    return draw("Dry friction in steps of 1 ms", panels)


# stiffness ----------------------------------------------------------------------------------------


def stiffness() -> str:
    """The growth of a decaying mode in a step, and a wrist under PD control."""
    z = np.linspace(0, 6, 400)
    g = 1 - 1 / np.sqrt(2)
    euler, rk4 = np.abs(1 - z), np.abs(1 - z + z**2 / 2 - z**3 / 6 + z**4 / 24)
    ros2 = np.abs((1 - (1 - 2 * g) * z) / (1 + g * z) ** 2)
    arm = sixd.zoo.ur_arm()
    q = np.array([0.0, -1.0, 1.2, -0.3, 0.5, 0.0])
    pd = sixd.controllers.PD(q + 0.2, kp=100.0, kd=20.0, model=arm, gravity=True)
    implicit = sixd.simulate(arm, q, None, 2.0, controller=pd, method="implicit")
    softer = sixd.controllers.PD(q + 0.2, kp=10.0, kd=0.4, model=arm, gravity=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.SimulationWarning)
        wrists = [sixd.simulate(arm, q, None, 0.02, controller=softer, method=m) for m in ("rk4", "implicit")]
    panels = [
        Panel("A mode that decays", "what a step of length h leaves of it", (0, 6), (0, 2), range(7),
              (0, 0.5, 1, 1.5, 2), "h λ", [
            Line(z, np.exp(-z), GREY, "exact", (100, 172), "2 4"),
            Line(z, euler, ORANGE, "euler", (48, 62), "5 4"),
            Line(z, rk4, GREEN, "rk4", (124, 62), "8 3"),
            Line(z, ros2, BLUE, "implicit", (170, 162)),
        ]),
        Panel("PD, kp = 100, kd = 20", "errors [rad] of an arm's six joints", (0, 2), (-0.22, 0.06),
              (0, 0.5, 1, 1.5, 2), (-0.2, -0.1, 0), "time [s]",
              [Line(implicit.t, implicit.q[:, k] - q[k] - 0.2, BLUE, "implicit, 1 ms" if k == 0 else "", (110, 110))
               for k in range(6)]),
        Panel("Its wrist, kp = 10, kd = 0.4", "velocity [rad/s]", (0, 20), (-45, 45), (0, 5, 10, 15, 20),
              (-40, -20, 0, 20, 40), "time [ms]", [
            Line(1e3 * wrists[0].t, wrists[0].qd[:, 5], ORANGE, "rk4", (80, 160)),
            Line(1e3 * wrists[1].t, wrists[1].qd[:, 5], BLUE, "implicit", (120, 72)),
        ]),
    ]  # fmt: skip
    return draw("Stiff forces: stability, and PD control of an arm", panels)


# contact ------------------------------------------------------------------------------------------


def contact() -> str:
    """A ball that bounces, a box that rocks, a quadruped that stands up."""
    builder = sixd.ModelBuilder("ball")
    builder.add_body("ball", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0))
    ground = sixd.RigidGround({"ball": (0, 0, 0, 0.1)}, restitution=0.8)
    ball = sixd.simulate(builder.build(), [1, 0, 0, 0, 0, 0, 1.1], None, 3.0, forces=ground)
    examples = HERE.parent / "examples"
    box = runpy.run_path(str(examples / "64_toppling_box.py"))
    rocking = sixd.simulate(box["box"], box["tilted"](0.58 * box["ALPHA"]), None, 2.5, forces=box["ground"])
    falling = sixd.simulate(box["box"], box["tilted"](1.02 * box["ALPHA"]), None, 2.5, forces=box["ground"])
    dog = runpy.run_path(str(examples / "65_quadruped_stands_up.py"))
    t, forces = dog["motion"].t, dog["forces"]
    panels = [
        Panel("It bounces", "height [m], e = 0.8", (0, 3), (0, 1.05), range(4), (0, 0.5, 1), "time [s]",
              [Line(ball.t, ball.q[:, 6] - 0.1, BLUE, "", (0, 0))]),
        Panel("It rocks, or topples", "tilt of a box on its edge [°]", (0, 2.5), (-20, 95), (0, 1, 2), (0, 30, 60, 90),
              "time [s]", [
            Line(rocking.t, np.degrees(box["tilt"](rocking)[0]), BLUE, "let go at 13°", (52, 128)),
            Line(falling.t, np.degrees(box["tilt"](falling)[0]), ORANGE, "let go at 22.2°", (112, 56)),
        ]),
        Panel("It stands up", "normal forces on a quadruped [N]", (0, 2), (0, 300), (0, 0.5, 1, 1.5, 2),
              (0, 100, 200, 300), "time [s]", [
            Line(t, forces[:, 4:, 2].sum(axis=1), ORANGE, "belly", (37, 118)),
            Line(t, forces[:, :4, 2].sum(axis=1), BLUE, "feet", (150, 82)),
        ]),
    ]  # fmt: skip
    return draw("Rigid contact in steps of 1 ms", panels)


def main() -> None:
    """Write the pictures."""
    for make in (friction, stiffness, contact):
        path = HERE / f"{make.__name__}.svg"
        path.write_text(make(), encoding="utf-8")
        print(f"{path}: {path.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    main()
