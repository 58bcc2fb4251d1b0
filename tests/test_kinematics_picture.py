"""The picture of docs/inverse_kinematics.md: well-formed, small, and named on the page."""

import xml.etree.ElementTree as ET
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"
SVG = "{http://www.w3.org/2000/svg}"


def test_picture():
    text = (DOCS / "inverse_kinematics.svg").read_text(encoding="utf-8")
    assert len(text.encode()) < 20_000
    assert len([t for t in ET.fromstring(text).iter(f"{SVG}text") if t.get("font-size") == "15"]) == 3
    assert "(inverse_kinematics.svg)" in (DOCS / "inverse_kinematics.md").read_text(encoding="utf-8")
    assert (DOCS / "make_kinematics_picture.py").exists()
