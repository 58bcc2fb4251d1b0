"""Reports: what they hold, and that they are written whole or not at all."""

import re
import xml.dom.minidom

import numpy as np
import pytest

import sixd
from sixd.identification import fit, payload, report

pytest.importorskip("matplotlib")
pytestmark = pytest.mark.one_target


@pytest.fixture(scope="module")
def results():
    arm = sixd.zoo.planar(2)
    states = np.random.default_rng(0).uniform(-1, 1, (3, 80, 2))
    tau = sixd.inverse_dynamics(arm, *states) + 0.05 * np.random.default_rng(1).normal(size=(80, 2))
    ur = sixd.zoo.ur_arm()
    held = ur.with_payload("can", "link6", sixd.box(0.1, 0.1, 0.2, mass=1.5))
    motion = np.random.default_rng(0).uniform(-1, 1, (3, 80, 6))
    return fit(arm, *states, tau), payload(ur, "link6", *motion, sixd.inverse_dynamics(held, *motion))


def test_html(results, tmp_path):
    for result, words in zip(results, (["Base parameters", "Izz1 + m2", "deviation"], ["1.5 ±", "link6"]), strict=True):
        report(result, tmp_path / "report.html", level=0.9)
        text = (tmp_path / "report.html").read_text(encoding="utf-8")
        assert text.count("<svg") == 2
        assert "90 %" in text
        assert all(word in text for word in words)
        assert "http://" not in re.sub(r'"http://www\.w3\.org/[^"]*"|"http://purl[^"]*"', "", text)
        for svg in re.findall(r"<svg.*?</svg>", text, flags=re.DOTALL):
            xml.dom.minidom.parseString(svg)


def test_markdown(results, tmp_path):
    report(results[0], tmp_path / "report.md")
    text = (tmp_path / "report.md").read_text(encoding="utf-8")
    assert text.startswith("# Identification of planar2\n")
    files = re.findall(r"!\[\w+\]\(([^)]+)\)", text)
    assert files == ["report_torques.svg", "report_parameters.svg"]
    for name in files:
        xml.dom.minidom.parse(str(tmp_path / name))
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(["report.md", *files])


def test_the_same_result_gives_the_same_bytes(results, tmp_path):
    for name in ("a.html", "b.html"):
        report(results[0], tmp_path / name)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_wrong_arguments(results, tmp_path):
    with pytest.raises(sixd.ScalarTypeError, match="got a dict"):
        report({}, tmp_path / "report.html")
    with pytest.raises(sixd.UnknownNameError, match="no file format named '.pdf'"):
        report(results[0], tmp_path / "report.pdf")
    with pytest.raises(sixd.FileError, match="cannot write"):
        report(results[0], tmp_path / "none" / "report.html")
    with pytest.raises(sixd.ScalarTypeError, match="level is 2"):
        report(results[0], tmp_path / "report.html", level=2)
    assert list(tmp_path.iterdir()) == []
