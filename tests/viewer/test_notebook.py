"""What objects show in notebooks: tables that are escaped, bounded and without colours; figures, once."""

import re
import sys
import tomllib
import types
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import sixd
from sixd.notebook import kernel, number, table

HOSTILE = "<script>alert(1)</script>&'\""


class Cells(HTMLParser):
    """The texts of a table's cells, row by row, and the names of all elements."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.tags, self.text, self.inside = [], set(), "", False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag):
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data):
        self.text += data
        if self.inside:
            self.rows[-1][-1] += data


def cells(shown):
    """Of an object that is shown, with what holds for all: plain tables, no colours of their own."""
    text = shown._repr_html_()
    found = Cells(text)
    assert found.tags <= {"div", "table", "tr", "th", "td", "b", "span"}
    assert not re.search(r"color|background|#[0-9a-f]{3}|rgb", text)
    return found


def chain(count, name="chain"):
    builder = sixd.ModelBuilder(name)
    for k in range(count):
        builder.add_body(
            f"link{k}", f"link{k - 1}" if k else "world", sixd.Revolute("z"), inertia=sixd.sphere(0.1, mass=1.0)
        )
    return builder.build()


# tables -------------------------------------------------------------------------------------------


def test_a_model():
    builder = sixd.ModelBuilder("arm")
    builder.add_body("a", "world", sixd.Revolute("z"), inertia=sixd.sphere(0.1, mass=1.23456), limits=(-1, 2))
    builder.add_body("b", "a", sixd.Free(), inertia=sixd.sphere(0.1, mass=2.0), joint_name="j")
    builder.add_frame("tool", "b", sixd.placement((0, 0, 0.125)))
    model = builder.build()
    found = cells(model)
    assert found.text.startswith("arm: 2 bodies, nq = 8, nv = 7, mass 3.23456 kg")
    assert found.rows[1:] == [
        ["a", "world", "a", "revolute z", "-1 … 2", "1.235"],
        ["b", "a", "j", "free", "", "2"],
    ]  # fmt: skip
    assert found.text.endswith("frames: world, a, b, tool")
    assert cells(model.frames).rows[-1] == ["tool", "b", "(0, 0, 0.125)", "b"]
    assert cells(model.frame("tool")).rows[2] == ["0", "0", "1", "0.125"]


def test_symbols_are_written_out():
    m = sp.Symbol("m_1")
    builder = sixd.ModelBuilder("rod")
    builder.add_body("rod", "world", sixd.Revolute("z"), inertia=sixd.point(m, (sp.Symbol("l"), 0, 0)))
    model = builder.build()
    assert cells(model).rows[1][-1] == "m_1"
    assert cells(model.frames).rows[2][0] == "joint:rod"


@pytest.mark.parametrize(
    "of", [lambda m: m, lambda m: m.frames, lambda m: m.frame(HOSTILE)], ids=["model", "frames", "frame"]
)
def test_names_are_escaped(of):
    builder = sixd.ModelBuilder(HOSTILE)
    builder.add_body("link", "world", sixd.Revolute("z"), inertia=sixd.sphere(0.1, mass=1.0), joint_name=HOSTILE)
    builder.add_frame(HOSTILE, "link")
    builder.add_frame("on it", HOSTILE)
    assert "script" not in cells(of(builder.build())).tags


def test_large_models_stay_small():
    model = chain(500)
    assert cells(model).rows[-1] == ["… and 440 more"]
    assert len(model._repr_html_()) < 60_000
    assert cells(model.frames).rows[-1] == ["… and 941 more"]
    assert len(model.frames._repr_html_()) < 60_000


def test_frames_are_a_mapping_that_cannot_be_changed():
    model = sixd.zoo.pendulum()
    assert dict(model.frames) == {name: model.frame(name) for name in model.frame_names}
    assert "rod1" in model.frames
    assert model.frames.get("none") is None
    with pytest.raises(TypeError, match="does not support item assignment"):
        model.frames["new"] = model.frame("rod1")


def test_a_trajectory():
    model = sixd.zoo.pendulum()
    t = np.linspace(0, 1, 11)
    motion = sixd.Trajectory(t, np.sin(np.pi * t)[:, None], np.zeros((11, 1)), system=model)
    found = cells(motion)
    assert found.text.startswith("Trajectory of 'pendulum': 11 records, 0 … 1 s")
    assert found.rows[1] == ["rod1", "rad", "0", "1.225e−16", "0", "1"]
    batch = sixd.Trajectory(t, np.zeros((3, 11, 1)), np.zeros((3, 11, 1)), system=model)
    assert cells(batch).rows == [["coordinate", "unit", "least", "largest"], ["rod1", "rad", "0", "0"]]
    empty = sixd.Trajectory(t[:0], np.zeros((0, 1)), np.zeros((0, 1)), system=model)
    assert cells(empty).rows == []
    wide = chain(100)
    many = sixd.Trajectory(t, np.zeros((11, 100)), np.zeros((11, 100)), system=wide)
    assert cells(many).rows[-1] == ["… and 40 more"]


def test_a_linearization():
    found = cells(sixd.linearize(sixd.zoo.pendulum(), [0.0], [0.0]))
    rate = np.sqrt(1.5 * 9.81)  # a rod of 1 m
    assert found.rows[1:3] == [["0", f"{s}{rate:.4g}", f"{rate / 2 / np.pi:.4g}"] for s in ("−", "")]
    assert "x = (δq[0], δqd[0])" in found.text
    assert "A: (2, 2)" in found.text


def test_a_mobility():
    found = cells(sixd.mobility(sixd.zoo.four_bar()))
    assert found.text.startswith("four_bar: 1 DoF left")
    assert ["DoF of the joints", "3"] in found.rows


def test_large_matrices_are_cut():
    A = np.arange(400.0).reshape(20, 20)
    found = Cells(table("A: (20, 20)", (), sixd.notebook.matrix_rows(A)))
    assert len(found.rows) == 17
    assert (found.rows[0][15:], found.rows[16]) == (["15", "…"], ["⋮"])


@pytest.mark.parametrize(
    ("x", "text"), [(1.23456, "1.235"), (-0.0, "0"), (-2.5e-9, "−2.5e−09"), (sp.Symbol("m"), "m"), (np.nan, "nan")]
)
def test_numbers(x, text):
    assert number(x) == text


# digits -------------------------------------------------------------------------------------------

x = sp.Symbol("x")


def test_displays_have_four_digits_and_fields_all():
    """9.81 times 1.2345 m."""
    system = sixd.lagrange(sp.Symbol("xd") ** 2 / 2, -9.81 * 1.23456 * sp.cos(x), [x])
    exact = 9.81 * 1.23456
    assert system.g[0].as_coefficient(sp.sin(x)) == pytest.approx(exact, rel=1e-15)
    for shown in (
        system.latex("g"),
        system.markdown("g"),
        system._repr_markdown_(),
        str(system),
        system.latex(system.g),
    ):
        assert "12.11" in shown
        assert "12.111" not in shown
    assert "12.1110" in system.latex("g", digits=None)
    assert "12.1110" in system.markdown("g", digits=None)
    assert r"12 \sin" in system.latex("g", digits=2)


@pytest.mark.parametrize(
    ("value", "tex", "plain"),
    [
        (0.344967216759, "0.345 x", "0.345 x"),
        (-1.23456e-9, r"- 1.235 \cdot 10^{-9} x", "-1.235e-9 x"),
        (2.0, "2 x", "2 x"),
        (123456.7, "123500 x", "123500 x"),
        (sp.Rational(12345, 67891), r"\frac{12345 x}{67891}", "12345 x/67891"),
    ],
)
def test_numbers_of_expressions(value, tex, plain):
    from sixd.symbolic.writing.latex import latex
    from sixd.symbolic.writing.unicode_text import text

    e = sp.sympify(value) * x
    assert latex(e) == tex
    assert text(e).replace("e-09", "e-9") == plain
    assert text(sp.Matrix([[e, 0]])).replace("e-09", "e-9") == f"[{plain}  0]"


def test_fractions_stand_before_a_product_with_a_sum():
    from sixd.symbolic.writing.latex import latex

    a, b, c = sp.symbols("a b c")
    half = sp.Rational(1, 2)
    assert latex(half * a * (b + c)) == r"\frac{1}{2} a \left(b + c\right)"
    assert latex(sp.Mul(half, b + c, evaluate=False)) == r"\frac{b + c}{2}"
    assert latex(half * a / (b + c)) == r"\frac{a}{2 \left(b + c\right)}"
    assert latex(half * a * b) == r"\frac{a b}{2}"


@pytest.mark.parametrize("digits", [0, -1, 2.5, "4", True])
def test_digits_are_a_number(digits):
    system = sixd.lagrange(sp.Symbol("xd") ** 2, 0, [x])
    with pytest.raises(sixd.ScalarTypeError, match="latex: digits is .*, expected a whole number from 1, or None"):
        system.latex("M", digits=digits)


# figures ------------------------------------------------------------------------------------------


@pytest.fixture
def notebook(monkeypatch):
    """A kernel's shell, with the list of what was displayed."""
    shell = types.SimpleNamespace(kernel=object(), execution_count=1, displayed=[])
    display = types.ModuleType("IPython.display")
    display.Image = lambda data, width: data
    display.display = shell.displayed.append
    package = types.ModuleType("IPython")
    package.get_ipython, package.display, package.version_info = (lambda: shell), display, (9, 0)
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    return shell


@pytest.fixture
def motion():
    pytest.importorskip("matplotlib")
    model, t = sixd.zoo.pendulum(), np.linspace(0, 1, 11)
    return sixd.Trajectory(t, np.sin(t)[:, None], np.zeros((11, 1)), system=model)


def test_a_plot_is_shown_once_in_a_cell(notebook, motion):
    """When it is made; not again as the cell's result, unless it was changed, but in later cells."""
    from matplotlib.figure import Figure

    assert kernel() is notebook
    figure = motion.plot(["q"])
    assert isinstance(figure, Figure)
    (picture,) = notebook.displayed
    assert picture.startswith(b"\x89PNG")
    figure._ipython_display_()  # what IPython calls for the result of a cell
    assert len(notebook.displayed) == 1
    figure.suptitle("another")
    figure._ipython_display_()
    assert len(notebook.displayed) == 2
    notebook.execution_count = 2
    figure._ipython_display_()
    assert len(notebook.displayed) == 3


def test_a_plot_may_be_kept_back(notebook, motion):
    figure = motion.plot(["q"], show=False)
    assert notebook.displayed == []
    assert not hasattr(figure, "_ipython_display_")


def test_elsewhere_a_plot_is_returned_alone(motion):
    assert kernel() is None
    assert not hasattr(motion.plot(["q"]), "_ipython_display_")


def test_everything_includes_plots_and_tables():
    extras = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    (everything,) = extras["all"]
    names = everything.removeprefix("sixd[").removesuffix("]").split(",")
    assert any(package.startswith("pandas") for name in names for package in extras[name])
