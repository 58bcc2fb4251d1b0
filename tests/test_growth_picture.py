"""The picture of growth that the benchmarks draw: well-formed, small, with every measured series."""

import xml.etree.ElementTree as ET

import pytest
from benchmarks.growth_picture import COLOURS, HEIGHT, PANELS, WIDTH, draw

SVG = "{http://www.w3.org/2000/svg}"
BODIES = (1, 2, 5, 10, 20, 50, 100, 200, 400, 1000)
SERIES = [(name, panel.scale) for panel in PANELS for name in (panel.ours, panel.theirs) if name]
FULL = {("growth", w, str(n), s): 20.0 * n**1.1 / scale for w in COLOURS for n in BODIES for s, scale in SERIES}


def paths(picture, dashed):
    """Return the lines of ours, or of Pinocchio's."""
    found = [p for p in picture.iter(f"{SVG}path") if p.get("fill") == "none"]
    return [p for p in found if (p.get("stroke-dasharray") is not None) == dashed]


def test_every_series_is_drawn():
    text = draw(FULL | {("batch", "rnea", "ur5", "sixd"): 1.0})
    assert len(text.encode()) < 60_000
    picture = ET.fromstring(text)
    assert len(paths(picture, dashed=False)) == 3 * len(COLOURS)
    assert len(paths(picture, dashed=True)) == 2 * len(COLOURS)
    assert all(p.get("d").count("L") == len(BODIES) - 1 for p in paths(picture, dashed=True))
    words = [t.text for t in picture.iter(f"{SVG}text")]
    assert {"sixd", "Pinocchio", "RNEA", "ABA", "CRBA", "bodies", "1,000", "10 ns", "1 µs"} <= set(words)


def test_points_are_inside_the_picture():
    for group in ET.fromstring(draw(FULL)).iter(f"{SVG}g"):
        left, top = (float(x) for x in group.get("transform").removeprefix("translate(").rstrip(")").split())
        for dot in group.iter(f"{SVG}circle"):
            assert 0 <= left + float(dot.get("cx")) <= WIDTH
            assert 0 <= top + float(dot.get("cy")) <= HEIGHT


@pytest.mark.parametrize("measured", [{}, {("growth", "aba", "10", "sixd"): 100.0}], ids=["nothing", "one number"])
def test_a_part_of_a_run(measured):
    """A trial run measures fewer series; panels without numbers stay empty."""
    picture = ET.fromstring(draw(measured))
    assert len(paths(picture, dashed=False)) == len(measured)
    assert not paths(picture, dashed=True)
