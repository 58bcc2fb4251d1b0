"""Makes docs/distances.webp and docs/distances.svg, the pictures of shapes_and_distances.md.

    python docs/make_distance_pictures.py

The first needs a browser of Chromium's family, and pillow; the second contourpy, which matplotlib brings along.
"""

from __future__ import annotations

import contextlib
import io
import runpy
from pathlib import Path
from typing import Any

import contourpy
import numpy as np
from PIL import Image

import sixd
from make_step_pictures import BLUE, GREEN, GREY, ORANGE, Line, Panel, draw
from sixd.geometry.hulls import convex_hull

HERE = Path(__file__).resolve().parent
EXAMPLE = HERE.parent / "examples" / "68_distances_of_an_arm.py"
CAMERA = {"position": (1.55, -1.35, 1.0), "target": (0.33, 0.0, 0.36)}
SIZE = 520, 440
Array = np.ndarray[Any, Any]


def cell() -> tuple[sixd.Model, Any]:
    """The arm of the example with its obstacles, and its pairs."""
    with contextlib.redirect_stdout(io.StringIO()):
        names = runpy.run_path(str(EXAMPLE))
    return names["cell"], names["pairs"]


def views(model: sixd.Model, pairs: Any) -> Array:
    """The arm under the shelf, and with its hand in the can: next to each other."""
    free = [0.1, 0.1, 0.1, -2.2, 0.1, 2.2, 0.8]
    deep = [-0.15, 0.5, 0.1, -2.1, 0.1, 2.5, 0.8]
    options = {"camera": CAMERA, "collisions": True, "distances": 0.2, "pairs": pairs, "renderer": "page"}
    return np.concatenate([sixd.picture(model, q, SIZE, **options) for q in (free, deep)], axis=1)


def along_a_joint(model: sixd.Model) -> Panel:
    """Signed distances of four pairs while one joint moves."""
    shown = {
        ("link6", "shelf"): (BLUE, (26, 184)),
        ("link7", "table"): (ORANGE, (44, 24)),
        ("link7", "can"): (GREEN, (0, 152)),
    }
    angle = np.linspace(-0.3, 0.9, 400)
    q = np.tile([0.0, 0.0, 0.1, -2.2, 0.1, 2.1, 0.8], (400, 1))
    q[:, 1] = angle
    d = 100 * sixd.distance(model, q, sixd.collision_pairs(model, list(shown))).distance
    lines = [Line(angle, d[:, k], colour, " - ".join(pair), at) for k, (pair, (colour, at)) in enumerate(shown.items())]
    lines.append(Line([-0.3, 0.9], [0, 0], GREY, "", (0, 0)))
    title, below = "Signed distances", "of three pairs [cm], one joint moves"
    return Panel(title, below, (-0.3, 0.9), (-10, 50), (-0.3, 0, 0.3, 0.6, 0.9), (0, 20, 40), "joint 2 [rad]", lines)


def planar_arm() -> sixd.Model:
    """Two links of 0.5 and 0.4 m in the xy-plane between a ball, a box and a wall."""
    builder, parent, at = sixd.ModelBuilder("2R"), "world", 0.0
    for name, length in (("upper", 0.5), ("lower", 0.4)):
        capsule = sixd.Shape("capsule", (0.03, length)), sixd.placement((length / 2, 0, 0), (0, np.pi / 2, 0))
        place, inertia = sixd.placement((at, 0, 0)), sixd.rod(length, mass=1.0)
        builder.add_body(name, parent, sixd.Revolute("z"), placement=place, inertia=inertia, collisions=[capsule])
        parent, at = name, length
    builder.add_collision("world", sixd.Shape("sphere", (0.12,)), sixd.placement((0.5, 0.5, 0)))
    builder.add_collision("world", sixd.Shape("box", (0.2, 0.3, 0.2)), sixd.placement((-0.6, 0.35, 0)))
    builder.add_collision("world", sixd.Shape("box", (3.0, 0.1, 0.2)), sixd.placement((0, -0.65, 0)))
    return builder.build()


def free_space() -> Panel:
    """The configurations of a planar arm that touch an obstacle, and those with 5 cm of clearance."""
    arm, axis = planar_arm(), np.linspace(-np.pi, np.pi, 401)
    grid = np.stack(np.meshgrid(axis, axis), axis=-1)
    clearance = sixd.min_distance(arm, grid)
    contours = contourpy.contour_generator(axis, axis, clearance)
    lines = []
    for level, colour, label, at in ((0.05, GREY, "5 cm", (150, 14)), (0.0, ORANGE, "contact", (30, 100))):
        # closed contours as two halves, whose ends differ
        halves = [(piece[: len(piece) // 2 + 1], piece[len(piece) // 2 :]) for piece in contours.lines(level)]
        pieces = [half for both in halves for half in both if len(half) > 8]
        lines += [Line(*piece.T, colour, label * (k == 0), at) for k, piece in enumerate(pieces)]
    ticks, title, below = (
        (-3, -1.5, 0, 1.5, 3),
        "Clearance of 160,801 states",
        "of a planar arm: joint 2 over joint 1 [rad]",
    )
    return Panel(title, below, (-np.pi, np.pi), (-np.pi, np.pi), ticks, ticks, "joint 1", lines)


def simplified_hulls() -> Panel:
    """How far hulls of few vertices deviate from an exact one."""
    points = np.random.default_rng(0).normal(size=(5000, 3))
    points *= np.array([0.1, 0.08, 0.05]) / np.linalg.norm(points, axis=1)[:, None]
    stone = sixd.Shape("mesh", vertices=points)
    counts = np.array([8, 12, 16, 24, 32, 48, 64, 96, 128])
    deviation = [1e3 * convex_hull(stone, most=int(n)).deviation for n in counts]
    print("hulls:", dict(zip(counts.tolist(), np.round(deviation, 2).tolist(), strict=True)))
    lines = [Line(counts, deviation, BLUE, "an ellipsoid of 20 cm", (56, 106))]
    title, below = "Hulls of fewer vertices", "deviation from the exact hull [mm]"
    return Panel(title, below, (0, 128), (0, 40), (0, 32, 64, 96, 128), (0, 10, 20, 30, 40), "vertices", lines)


def distances(model: sixd.Model) -> str:
    """The second picture as SVG text."""
    return draw("Signed distances, clearance, hulls", [along_a_joint(model), free_space(), simplified_hulls()])


def main() -> None:
    """Write both pictures."""
    model, pairs = cell()
    svg, webp = HERE / "distances.svg", HERE / "distances.webp"
    svg.write_text(distances(model), encoding="utf-8")
    Image.fromarray(views(model, pairs)).save(webp, quality=80, method=6)
    for path in (svg, webp):
        print(f"{path}: {path.stat().st_size / 1000:.1f} kB")


if __name__ == "__main__":
    main()
