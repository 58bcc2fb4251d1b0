"""Drawings of mechanisms: every joint and every model of the zoo, labels as written, sizes, files, and clear errors."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pytest
import sympy

import sixd
from sixd.drawing.labels import typeset
from sixd.zoo.random_trees import JOINT_KINDS, random_joint

SVG = "{http://www.w3.org/2000/svg}"
JOINTS = [sixd.Revolute("z"), *(random_joint(kind, np.random.default_rng(1)) for kind in JOINT_KINDS)]


def texts(drawing):
    """The labels of a drawing, each with its subscripts in line."""
    return ["".join(t.itertext()) for t in ET.fromstring(drawing.svg).iter(SVG + "text")]


def styles(drawing):
    """The classes of all marks."""
    return [e.get("class") for e in ET.fromstring(drawing.svg).iter() if e.get("class")]


def check(drawing):
    """A figure is well-formed, finite, small, and needs nothing from outside."""
    root = ET.fromstring(drawing.svg)
    assert root.tag == SVG + "svg"
    assert len(drawing.svg.encode()) <= 60_000
    assert not re.search(r"nan|inf\b|href|url\(|<script|@import|\bid=", drawing.svg)
    assert 0 < drawing.width < 1000
    assert 0 < drawing.height < 1000
    box = [float(x) for x in root.get("viewBox").split()]
    numbers = [float(x) for e in root.iter(SVG + "path") for x in re.findall(r"-?\d+\.?\d*", e.get("d"))]
    assert numbers
    assert np.isfinite(numbers).all()
    assert box[2:] == [drawing.width, drawing.height]


@pytest.mark.many
@pytest.mark.parametrize("name", sixd.zoo.names())
def test_every_model_of_the_zoo(name):
    check(sixd.draw(sixd.zoo.get(name)))


@pytest.mark.many
@pytest.mark.parametrize("view", [None, "front", "top", "side", "iso", (1, 2, -0.5), (0, 0, -1)])
@pytest.mark.parametrize("joint", JOINTS, ids=lambda j: type(j).__name__)
def test_every_joint_from_every_side(joint, view):
    builder = sixd.ModelBuilder("one")
    builder.add_body("body", "world", joint, inertia=sixd.box(0.2, 0.3, 0.1, mass=1.0).translated((0.5, 0.1, 0)))
    check(sixd.draw(builder.build(), view=view))
    check(sixd.draw(builder.build(), q=builder.build().neutral(), view=view, frames=True, dimensions=True))


@pytest.mark.parametrize("joint", [j for j in JOINTS if not j.has_quaternion], ids=lambda j: type(j).__name__)
def test_every_coordinate_has_a_label(joint):
    builder = sixd.ModelBuilder("one")
    builder.add_body("body", "world", joint, inertia=sixd.box(0.2, 0.3, 0.1, mass=1.0).translated((0.5, 0.1, 0)))
    missing = {f"q{k + 1}" for k in range(joint.nq)} - {*texts(sixd.draw(builder.build()))}
    assert not missing, f"give the symbol {joint.symbol!r} a branch in draw_coordinates of drawing/markings.py"


def test_shapes_in_outline():
    shapes = sixd.draw(sixd.zoo.ur_arm(), links="shapes")
    check(shapes)
    assert len(shapes.svg) > len(sixd.draw(sixd.zoo.ur_arm()).svg)


def test_symbols_are_labels_as_they_are_written():
    m1, m2, I1, I2, r1, r2, L1, g = sympy.symbols("m1 m2 I1 I2 r1 r2 L1 a_g", positive=True)
    labels = texts(sixd.draw(sixd.zoo.two_link_arm(m1, m2, I1, I2, r1, r2, L1, g)))
    assert {"m1", "m2", "r1", "r2", "L1", "ag", "q1", "q2", "x", "y"} <= set(labels)
    l, m = sympy.symbols("l m", positive=True)
    assert {"l/2", "m"} <= set(texts(sixd.draw(sixd.zoo.pendulum(1, l, m))))


def test_values_change_lengths_only():
    L1 = sympy.Symbol("L1", positive=True)
    arm = sixd.zoo.two_link_arm(L1=L1)
    short, long = (sixd.draw(arm, q=[0, 0.5], values={key: x}) for key, x in ((L1, 1.0), ("L1", 4.0)))
    assert sorted(texts(short)) == sorted(texts(long))
    assert short.svg != long.svg


def test_numbers_are_dimensions():
    assert {"1.2", "0.35", "0.5"} <= set(texts(sixd.draw(sixd.zoo.two_link_arm())))
    assert not {"1.2", "0.35"} & set(texts(sixd.draw(sixd.zoo.two_link_arm(), dimensions=False)))


def test_coordinates_are_named_by_the_user():
    arm = sixd.zoo.two_link_arm()
    theta = sympy.symbols("theta1 theta_2")
    for labels in (texts(sixd.draw(arm, coordinates=["θ1", "θ2"])), texts(sixd.draw(arm, q=theta))):
        assert {"θ1", "θ2"} <= set(labels)
        assert "q1" not in labels
    assert "q1" not in texts(sixd.draw(arm, coordinates=False))


def test_what_is_shown_can_be_chosen():
    arm = sixd.zoo.two_link_arm()
    plain = sixd.draw(arm, frames=False, names=False, coordinates=False, dimensions=False, masses=False, gravity=False)
    assert texts(plain) == []
    assert "X" not in styles(plain)
    assert {"x1", "x2", "x", "link1", "link2", "g"} <= set(texts(sixd.draw(arm, frames=True)))
    assert "xF" in texts(sixd.draw(arm, frames={"F": sixd.placement((1, 0, 0))}))
    assert "f" in texts(sixd.draw(arm, arrows={"f": ((1, 0, 0), (0, 0.5, 0))}))
    assert sixd.draw(arm, title="<an arm> & more").svg.count("&lt;an arm&gt; &amp; more") == 1


def test_planar_mechanisms_are_seen_along_their_axis():
    """Only the third axis of the world is missing in the figure of a planar arm; an arm in space has all."""
    assert not {"Z"} & set(styles(sixd.draw(sixd.zoo.planar(2))))
    assert {"X", "Y", "Z"} <= set(styles(sixd.draw(sixd.zoo.craig_arm())))
    # the pendulum's x axis points to the right, z upwards
    assert {"x", "z"} <= set(texts(sixd.draw(sixd.zoo.pendulum())))


@pytest.mark.parametrize(
    "constraint",
    [sixd.KnifeEdge("body"), sixd.Rolling("body", 0.3), sixd.RollingSphere("body", 0.3)],
    ids=lambda c: type(c).__name__,
)
@pytest.mark.parametrize("view", [None, "front", "iso"])
def test_constraints(constraint, view):
    builder = sixd.ModelBuilder("one")
    builder.add_body("body", "world", sixd.Free(), inertia=sixd.sphere(0.3, mass=1.0))
    builder.add_constraint(constraint)
    check(sixd.draw(builder.build(), view=view))


def test_loops_are_drawn_closed():
    """The four-bar's coupler and rocker meet in a pin: five hinges, the closing one included."""
    model = sixd.zoo.four_bar()
    hinges = [s for s in styles(sixd.draw(model, frames=False, masses=False)) if s == "p"]
    assert len(hinges) == 4 + 2  # four pins, two supports
    check(sixd.draw(model.with_constraints(sixd.Distance("crank_end", "rocker_end", 1.5)), q=[1, 0.2, 1.5]))


def test_single_bodies():
    R = np.array([[0, -1, 0], [1, 0, 0], [0, 0, 1]])
    moved = sixd.draw(sixd.Inertia(1, (0, 0, 0), (1, 2, 2.5)), frames={"O": sixd.placement((3, 0, 2), R=R)})
    check(moved)
    assert {"xO", "yO", "zO", "xC", "O", "C"} <= set(texts(moved))
    a, b, c = sympy.symbols("a b c", positive=True)
    sizes = {"box": (a, b, c), "ellipsoid": (a, b, c), "cylinder": (a, b), "capsule": (a, b), "cone": (a, b),
             "sphere": (a,)}  # fmt: skip
    for kind, size in sizes.items():
        drawing = sixd.draw(sixd.Shape(kind, size))
        check(drawing)
        assert {str(x) for x in size} <= set(texts(drawing))
    m = sympy.Symbol("m", positive=True)
    assert "m" in texts(sixd.draw(sixd.box(a, b, c, mass=m), values={"a": 2.0}))


def test_reduced_models_and_large_robots():
    check(sixd.draw(sixd.zoo.double_elbow().reduce()))
    check(sixd.draw(sixd.zoo.random_tree(3, rounds=3)))
    check(sixd.draw(sixd.zoo.autotree(60, 2)))
    check(sixd.draw(sixd.zoo.planar(0)))


def test_a_joint_of_the_users_own():
    class Parabola(sixd.Joint):
        nq = nv = 1

        def transform(self, q):
            return sixd.spatial.xlt([q[0], q[0] * q[0], 0])

        def subspace(self, q):
            return np.array([[0, 0, 0, 1, 2 * q[0], 0]]).T

        def subspace_rate(self, q, qd):
            return np.array([[0, 0, 0, 0, 2 * qd[0], 0]]).T

    builder = sixd.ModelBuilder("own")
    builder.add_body("point", "world", Parabola(), inertia=sixd.point(1.0))
    check(sixd.draw(builder.build()))


def test_files_and_notebooks(tmp_path):
    drawing = sixd.draw(sixd.zoo.two_link_arm())
    path = drawing.save(tmp_path / "arm.svg")
    assert ET.parse(path).getroot().tag == SVG + "svg"
    assert "color-scheme:light dark" in path.read_text(encoding="utf-8")
    assert drawing._repr_html_() == drawing.svg
    assert drawing._repr_svg_().startswith("<svg ")
    assert repr(drawing).startswith("<Drawing of 'two_link_arm': ")
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(sixd.FileError, match=r"does not end in \.svg"):
        drawing.save(tmp_path / "arm.png")
    with pytest.raises(sixd.FileError, match="is a folder"):
        drawing.save(tmp_path)
    with pytest.raises(sixd.FileError, match="cannot write"):
        drawing.save(tmp_path / "missing" / "arm.svg")


def test_the_same_model_gives_the_same_figure():
    assert sixd.draw(sixd.zoo.four_bar()) == sixd.draw(sixd.zoo.four_bar())


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("L1", [("L", "", 0), ("1", "r", -1)]),
        ("theta_2", [("θ", "", 0), ("2", "r", -1)]),
        ("a_g", [("a", "", 0), ("g", "", -1)]),
        ("l/2", [("l", "", 0), ("/", "r", 0), ("2", "r", 0)]),
        ("2*x**2", [("2", "r", 0), ("\u2009", "r", 0), ("x", "", 0), ("2", "r", 1)]),
    ],
)
def test_labels_are_set_as_mathematics(text, parts):
    assert typeset(text) == parts


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"view": "left"}, sixd.UnknownNameError, "draw: view"),
        ({"view": (0, 0, 0)}, sixd.ShapeError, "not all zero"),
        ({"view": object()}, sixd.ScalarTypeError, "three numbers"),
        ({"links": "wires"}, sixd.UnknownNameError, "draw: links"),
        ({"q": [1.0]}, sixd.ShapeError, r"expected \(2,\)"),
        ({"q": [1.0, float("nan")]}, sixd.ModelError, "finite"),
        ({"q": [1.0, "a"]}, sixd.ScalarTypeError, r"q\[1\]"),
        ({"values": {"L7": 1.0}}, sixd.ModelError, "L7"),
        ({"values": 3}, sixd.ScalarTypeError, "mapping"),
        ({"frames": ["elbow"]}, sixd.UnknownNameError, "elbow"),
        ({"frames": {"F": np.eye(3)}}, sixd.ShapeError, r"pose \(4, 4\)"),
        ({"frames": 7}, sixd.ModelError, "names"),
        ({"coordinates": ["a"]}, sixd.ShapeError, "expected 2"),
        ({"arrows": {"f": (1, 2)}}, sixd.ShapeError, "a point and a vector"),
    ],
)
def test_errors_say_what_is_wrong(arguments, error, message):
    with pytest.raises(error, match=message):
        sixd.draw(sixd.zoo.two_link_arm(), **arguments)


def test_what_is_not_a_mechanism():
    with pytest.raises(sixd.ScalarTypeError, match="expected a sixd.Model"):
        sixd.draw("arm.urdf")
    with pytest.raises(sixd.ModelError, match="no mass"):
        sixd.draw(sixd.Inertia(0.0))
    with pytest.raises(sixd.ModelError, match="mapping"):
        sixd.draw(sixd.sphere(1.0, mass=1.0), frames=["O"])


def test_what_cannot_be_drawn_or_saved():
    with pytest.raises(sixd.ModelError, match="which is not read"):
        sixd.draw(sixd.Shape("mesh", file="missing.stl"))
    with pytest.raises(sixd.FileError, match="path is None, expected the name of a file"):
        sixd.draw(sixd.zoo.pendulum()).save(None)
