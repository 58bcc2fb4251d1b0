"""The pictures of docs/shapes_and_distances.md: well-formed, small, and named on the page."""

import xml.etree.ElementTree as ET
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
SVG = "{http://www.w3.org/2000/svg}"


def test_pictures():
    page = (DOCS / "shapes_and_distances.md").read_text(encoding="utf-8")
    text = (DOCS / "distances.svg").read_text(encoding="utf-8")
    assert len(text.encode()) < 20_000
    assert len([t for t in ET.fromstring(text).iter(f"{SVG}text") if t.get("font-size") == "15"]) == 3
    photo = (DOCS / "distances.webp").read_bytes()
    assert photo[:4] == b"RIFF"
    assert len(photo) < 40_000
    assert "(distances.svg)" in page
    assert "(distances.webp)" in page
    assert (DOCS / "make_distance_pictures.py").exists()
