"""The pictures of docs/derivatives.md: well-formed, small, and named on the page."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent / "docs"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", ["descent", "masses", "lqr"])
def test_pictures(name):
    text = (DOCS / f"{name}.svg").read_text(encoding="utf-8")
    assert len(text.encode()) < 20_000
    picture = ET.fromstring(text)
    assert len([t for t in picture.iter(f"{SVG}text") if t.get("font-size") == "15"]) == 3
    assert f"({name}.svg)" in (DOCS / "derivatives.md").read_text(encoding="utf-8")
    assert f"def {name}(" in (DOCS / "make_derivative_pictures.py").read_text(encoding="utf-8")
