"""Makes docs/picture.webp, the picture at the top of the README: a moving arm next to its equations of motion.

    python docs/make_picture.py

The arm is drawn by the viewer's page in Chromium, the equations are those of ``sixd.equations``, set by Matplotlib.
Needs what the tests of the page need: chromium, playwright, pytest; and matplotlib, pillow, sympy.
"""

from __future__ import annotations

import base64
import io
import re
import sys
import tempfile
from pathlib import Path

import numpy as np
import sympy
from matplotlib import rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from PIL import Image, ImageDraw

import sixd
from sixd.zoo.appearance import DARK, STEEL, Appearance, Color

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "tests"))
from browser import Watched, chromium  # noqa: E402

WIDTH, HEIGHT, LEFT = 1180, 470, 440  # of the picture and of its left part [pixels]
FRAMES, MILLISECONDS = 36, 75  # one period of the motion
MOST_BYTES = 300_000
CORNER, BORDER = 14, (208, 215, 222)
INK, FAINT = "#1f2430", "#6b7280"
ALUMINIUM: Color = (0.76, 0.78, 0.80, 1.0)
BLUE: Color = (0.33, 0.56, 0.76, 1.0)


def dressed_arm() -> sixd.Model:
    """The zoo's arm of two links, in the vertical plane, with tubes and drums on a column behind it."""
    looks = Appearance(sixd.zoo.two_link_arm())
    rod = looks.rod
    looks.box(0, (-0.35, -1.25, -0.75), (0.35, -1.19, 0.05), STEEL)
    looks.box(0, (-0.13, -1.2, -0.48), (0.13, 0.0, -0.22), STEEL)
    rod(0, (0, 0, -0.50), (0, 0, -0.13), 0.17, STEEL)
    for body, length, z, radius in (("link1", 1.2, 0.0, 0.085), ("link2", 0.9, 0.24, 0.068)):
        rod(body, (0, 0, z - 0.12), (0, 0, z + 0.12), 1.65 * radius, ALUMINIUM)
        rod(body, (0, 0, z + 0.12), (0, 0, z + 0.145), 1.5 * radius, BLUE)
        rod(body, (0, 0, z), (length, 0, z), radius, ALUMINIUM)
    rod("link1", (1.2, 0, -0.12), (1.2, 0, 0.12), 0.125, ALUMINIUM)
    rod("link1", (1.2, 0, -0.145), (1.2, 0, -0.12), 0.112, BLUE)
    rod("link2", (0.9, 0, 0.24), (0.96, 0, 0.24), 0.085, DARK)
    for y in (-0.055, 0.055):
        looks.box("link2", (0.96, y - 0.016, 0.19), (1.12, y + 0.016, 0.29), DARK)
    return looks.apply()


def motion(model: sixd.Model) -> list[list[float]]:
    """Configurations of one period, each joint on a sine."""
    angle = 2 * np.pi * np.arange(FRAMES) / FRAMES
    return np.stack([0.95 + 0.55 * np.sin(angle), -1.25 + 0.85 * np.sin(angle + 1.9)], axis=1).tolist()


def pictures(model: sixd.Model, places: list[list[float]], width: int, height: int) -> list[Image.Image]:
    """The arm at these configurations as the page draws it, at twice the size and then smoothed."""
    camera = {"position": (0.75, 0.6, 5.5), "target": (0.52, 0.17, 0.0), "up": (0, 1, 0)}
    images = []
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        file = Path(folder) / "arm.html"
        with sixd.view(model, q=places[0], open_browser=False, camera=camera) as viewer:
            viewer.save_html(file)
        page = Watched(browser, width=width, height=height, device_scale_factor=2).open(file)
        page.set("theme", "light")
        page.set("panel", False)
        for q in places:
            page.page.evaluate("(q) => sixd.setConfiguration(q)", q)
            data = page.picture().decode().partition(",")[2]
            image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
            images.append(image.resize((width, height), Image.Resampling.LANCZOS))
    return images


def matrices() -> dict[str, list[list[str]]]:
    """M, C and g of the arm: rows of LaTeX, read from what ``latex`` writes."""
    symbols = sympy.symbols("m1 m2 I1 I2 r1 r2 L1 g0", positive=True)
    text = sixd.equations(sixd.zoo.two_link_arm(*symbols)).latex()
    cells = re.findall(r"(\w) &= \\left\[\\begin\{matrix\}(.*?)\\end\{matrix\}", text, flags=re.DOTALL)
    return {name: [[cell.strip() for cell in row.split("&")] for row in body.split(r"\\")] for name, body in cells}


def equations(width: int, height: int) -> Image.Image:
    """The equation of motion with its matrices, black on white."""
    scale = 2  # drawn larger, then smoothed
    figure = Figure(figsize=(scale * width / 100, scale * height / 100), dpi=100, facecolor="white")
    canvas = FigureCanvasAgg(figure)

    def write(x: float, y: float, text: str, size: float = 19, color: str = INK, **options: str) -> float:
        """Write text at a position in pixels from the upper left; return its right end."""
        placed = figure.text(
            x / width, 1 - y / height, text, size=size * scale * 0.72, color=color, va="center", **options
        )
        box = placed.get_window_extent(canvas.get_renderer())
        return float(box.x1) / scale

    def matrix(y: float, name: str, rows: list[list[str]], line: float = 38) -> None:
        """Its name, and its cells in columns between brackets."""
        write(34, y, f"${name}$", 20)
        left = write(60, y, "$=$", 20) + 22
        top, right = y - line * (len(rows) - 1) / 2, left
        for cells in zip(*rows, strict=True):
            ends = [write(right, top + k * line, f"${cell}$") for k, cell in enumerate(cells)]
            right = max(ends) + 28
        half = line * len(rows) / 2 + 1
        for x, inward in ((left - 9, 5), (right - 19, -5)):
            xs = [(x + inward) / width, x / width, x / width, (x + inward) / width]
            ys = [1 - (y + d) / height for d in (-half, -half, half, half)]
            figure.add_artist(Line2D(xs, ys, color=INK, linewidth=scale, solid_joinstyle="miter"))

    with rc_context({"mathtext.fontset": "cm", "font.family": "DejaVu Sans"}):
        write(34, 52, r"$M(q)\,\ddot{q} \;+\; C(q,\dot{q})\,\dot{q} \;+\; g(q) \;=\; \tau$", 27)
        parts = matrices()
        for name, y in (("M", 142), ("C", 244), ("g", 346)):
            matrix(y, name, parts[name])
        code = {"family": "DejaVu Sans Mono"}
        write(34, 430, "sixd.equations(arm)   sixd.simulate(arm, …)   sixd.view(arm, motion)", 14.5, FAINT, **code)
        canvas.draw()
    image = Image.frombytes("RGBA", canvas.get_width_height(), bytes(canvas.buffer_rgba())).convert("RGB")
    return image.resize((width, height), Image.Resampling.LANCZOS)


def card(left: Image.Image, right: Image.Image) -> Image.Image:
    """Both next to each other on a card with round corners and a thin border, for light and dark pages."""
    image = Image.new("RGB", (WIDTH, HEIGHT), "white")
    image.paste(left, (0, 0))
    image.paste(right, (LEFT, 0))
    mask = Image.new("L", (4 * WIDTH, 4 * HEIGHT), 0)
    ImageDraw.Draw(mask).rounded_rectangle((0, 0, 4 * WIDTH - 1, 4 * HEIGHT - 1), 4 * CORNER, fill=255)
    ImageDraw.Draw(image).rounded_rectangle((0, 0, WIDTH - 1, HEIGHT - 1), CORNER, outline=BORDER, width=1)
    image.putalpha(mask.resize((WIDTH, HEIGHT), Image.Resampling.LANCZOS))
    return image


def main() -> None:
    """Write the picture, of the best quality that fits."""
    model = dressed_arm()
    right = equations(WIDTH - LEFT, HEIGHT)
    cards = [card(left, right) for left in pictures(model, motion(model), LEFT, HEIGHT)]
    path = HERE / "picture.webp"
    for quality in (90, 80, 70, 60, 50):
        file = io.BytesIO()
        cards[0].save(
            file, "WEBP", save_all=True, append_images=cards[1:], duration=MILLISECONDS, loop=0, quality=quality,
            method=6, minimize_size=True,
        )  # fmt: skip
        if file.tell() <= MOST_BYTES:
            break
    path.write_bytes(file.getvalue())
    print(f"{path}: {file.tell() / 1000:.0f} kB, quality {quality}")


if __name__ == "__main__":
    main()
