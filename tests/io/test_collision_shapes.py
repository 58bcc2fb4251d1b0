"""Collision shapes of URDF, SDF and MJCF files: read, written, and read again."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from peers import mujoco
from sdf_text import INERTIAL, sdf
from sdf_text import model as sdf_model
from urdf_text import joint, link, robot

pytestmark = pytest.mark.one_target

AT = "<origin xyz='1 2 3' rpy='.1 .2 .3'/>"


def collision(shape, name="", origin=AT):
    return f"<collision{f' name={name!r}' if name else ''}>{origin}<geometry>{shape}</geometry></collision>"


def names(model):
    return [c.name for c in model.collisions]


def same(model, again, *, atol=1e-12):
    """Both have the same collision shapes on the same bodies."""
    assert [(c.name, c.body, c.shape) for c in again.collisions] == [
        (c.name, c.body, c.shape) for c in model.collisions
    ]
    for one, two in zip(model.collisions, again.collisions, strict=True):
        assert_allclose(two.pose, one.pose, atol=atol)
    assert sixd.compare(model, again, ignore=["frames"]).equal


URDF = robot(
    link("base", extra=collision("<sphere radius='.5'/>", "foot")),
    link("a", extra=collision("<box size='1 2 3'/>") + collision("<cylinder radius='1' length='2'/>")),
    link("b", extra=collision("<capsule radius='1' length='2'/>", "foot") + collision("<mesh filename='m.stl' scale='1 2 3'/>", "")),
    joint("j1", "base", "a"),
    joint("j2", "a", "b", "fixed", f"{AT}"),
)  # fmt: skip


def test_urdf():
    """Kinds, places, and names of the file; those that are missing or used twice come from the link."""
    model = sixd.load(URDF)
    assert [c.shape.kind for c in model.collisions] == ["sphere", "box", "cylinder", "capsule", "mesh"]
    assert names(model) == ["foot", "a_1", "a_2", "b:foot", "b_1"]
    assert [(c.body, c.link) for c in model.collisions] == [(0, "base"), (1, "a"), (1, "a"), (1, "b"), (1, "b")]
    inside = sixd.placement((1, 2, 3), rpy=(0.1, 0.2, 0.3))
    assert_allclose(model.collisions[1].pose, inside)
    assert_allclose(model.collisions[3].pose, inside @ inside, atol=1e-15)
    assert (model.collisions[4].shape.file, model.collisions[4].shape.scale) == ("m.stl", (1, 2, 3))


def test_urdf_round_trip():
    """Shapes, names and links: those on frames are on links of their own."""
    model = sixd.load(URDF)
    again = sixd.load(sixd.to_urdf(model))
    order = {c.name: c for c in again.collisions}
    assert {c.name: c.link for c in model.collisions} == {c.name: c.link for c in again.collisions}
    for c in model.collisions:
        assert (order[c.name].shape, order[c.name].body) == (c.shape, c.body)
        assert_allclose(order[c.name].pose, c.pose, atol=1e-14)
    assert sixd.compare(model, again).equal


def test_urdf_warns_of_what_it_cannot_hold():
    cone = sixd.load(URDF).with_collision("a", sixd.Shape("cone", (1, 2)), contype=2)
    with pytest.warns(sixd.ModelWarning) as caught:
        sixd.to_urdf(cone)
    texts = [str(w.message) for w in caught]
    assert any("kinds cone are not in the file" in t for t in texts)
    assert any("which shapes a_3 may touch is not in the file" in t for t in texts)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ("<box size='0 1 1'/>", r"line 2: add_collision 'x': the size of a box is \(0.0, 1.0, 1.0\)"),
        ("<sphere radius='-1'/>", "size of a sphere"),
        ("<box size='1 2'/>", "has 2 numbers, expected 3"),
        ("<torus/>", "line 2: <collision> has no geometry, expected one of box, cylinder"),
        ("", "has no geometry"),
        ("<mesh filename='a.stl' scale='0 0 0'/>", "the scale of a mesh"),
    ],
)
def test_a_broken_shape_is_left_out(shape, message):
    """With the reason and the line, as a warning and in ``sixd.check``; the rest of the file counts."""
    text = robot(link("a", extra=collision(shape, "x") + collision("<sphere radius='1'/>", "y")))
    with pytest.warns(sixd.ModelWarning, match=message):
        model = sixd.load(text)
    assert names(model) == ["y"]
    assert [f.code for f in sixd.check(model) if f.where == "a"] == ["collision"]


def sdf_collision(shape, name="c", pose=""):
    return f"<collision name='{name}'>{pose}<geometry>{shape}</geometry></collision>"


def test_sdf():
    """Names within a link, a cone by its centre of mass, a plane by its normal, the empty shape."""
    shapes = (
        sdf_collision("<cone><radius>1</radius><length>4</length></cone>", "c", "<pose>1 0 0 0 0 0</pose>")
        + sdf_collision("<plane><normal>1 0 0</normal></plane>", "p")
        + sdf_collision("<empty/>", "e")
        + sdf_collision("<ellipsoid><radii>1 2 3</radii></ellipsoid>", "")
    )
    model = sixd.load(sdf(sdf_model(f"<link name='a'>{INERTIAL}{shapes}</link>")))
    assert names(model) == ["a::c", "a::p", "a_1"]
    cone, plane, ellipsoid = model.collisions
    assert (cone.shape, ellipsoid.shape) == (sixd.Shape("cone", (1, 4)), sixd.Shape("ellipsoid", (1, 2, 3)))
    assert_allclose(cone.pose[:3, 3], [1, 0, -1])
    assert_allclose(plane.pose[:3, 2], [1, 0, 0], atol=1e-15)


def test_sdf_of_other_kinds():
    text = sdf(sdf_model(f"<link name='a'>{INERTIAL}{sdf_collision('<heightmap/>')}</link>"))
    with pytest.warns(sixd.ModelWarning, match="the shape of the <collision> is not supported"):
        assert sixd.load(text).collisions == ()


MJCF = """<mujoco><option><flag contact='disable'/></option>
<asset><hfield name='h' nrow='2' ncol='3' size='1 2 .5 .1' elevation='0 1 2 3 4 6'/>
  <mesh name='m' vertex='0 0 0 1 0 0 0 1 0 0 0 1'/></asset>
<worldbody><geom name='floor' type='plane' size='1 1 1'/><geom type='hfield' hfield='h' pos='5 0 0'/>
  <body name='a'><joint/><geom name='drawn' size='.1' contype='0' conaffinity='0'/><geom name='a' size='.1' group='3'/>
    <body name='b' pos='0 0 1'><joint axis='1 0 0'/><geom name='g' type='mesh' mesh='m' contype='4' conaffinity='6'/>
      <geom name='always' size='.2' contype='0' conaffinity='0'/></body></body>
  <body name='c'><freejoint/><geom type='box' size='1 2 3'/><geom type='capsule' size='1 2'/></body></worldbody>
<contact><exclude body1='a' body2='c'/><pair geom1='always' geom2='a'/></contact></mujoco>"""


def test_mjcf():
    """Geoms that can touch, hidden ones too; masks, pairs and exclusions; heights in the order of the surface."""
    model = sixd.load(MJCF)
    assert names(model) == ["floor", "world_1", "a", "g", "always", "c_1", "c_2"]
    kinds = ["plane", "height_field", "sphere", "mesh", "sphere", "box", "capsule"]
    assert [c.shape.kind for c in model.collisions] == kinds
    assert [(c.contype, c.conaffinity) for c in model.collisions][2:5] == [(1, 1), (4, 6), (0, 0)]
    assert (model.collisions[2].paired, model.collisions[4].paired) == (("always",), ("a",))
    assert [(c.body, c.link) for c in model.collisions][2:5] == [(1, "a"), (2, "b"), (2, "b")]
    assert model.disabled_collisions == (("a", "c"),)
    field = model.collisions[1].shape
    assert field.size == (2, 4, 0.1)
    assert_allclose(field.heights, np.array([[3, 4, 6], [0, 1, 2]]) / 12, atol=1e-7)  # single precision in MuJoCo
    assert [v.name for v in model.visuals] == ["floor", "", "drawn", "g", "always", "", ""]


def test_mjcf_heights_are_where_mujoco_has_them():
    """A ray from above meets the surface at the corners of the grid."""
    theirs, model = mujoco.MjModel.from_xml_string(MJCF), sixd.load(MJCF)
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    field = model.collisions[1].shape
    for row, y in enumerate((-2, 2)):
        for column, x in enumerate((-1, 0, 1)):
            start = np.array([5 + 0.999 * x, 0.999 * y, 10.0])
            down = mujoco.mj_ray(theirs, data, start, np.array([0, 0, -1.0]), None, 1, -1, np.zeros((1, 1), np.int32))
            height = 10 - (down[0] if isinstance(down, tuple) else down)
            assert abs(height - field.heights[row, column]) < 1e-3  # the ray is 1 mm inside of the corner


def test_mjcf_round_trip():
    """One geom for a shape that is drawn and collides; names, masks, pairs and exclusions stay; so do MuJoCo's."""
    model = sixd.load(MJCF)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.ModelWarning)
        text = sixd.to_mjcf(model)
        again = sixd.load(text)
    theirs, other = mujoco.MjModel.from_xml_string(MJCF), mujoco.MjModel.from_xml_string(text)
    assert other.ngeom == theirs.ngeom
    others = {c.name: c for c in again.collisions}  # in another order: shapes that are drawn come first
    assert others.keys() == set(names(model))
    assert set(map(frozenset, sixd.collision_pairs(again))) == set(map(frozenset, sixd.collision_pairs(model)))
    drawn = ["floor", "world_1", "drawn", "g", "always", "c_1", "c_2"]
    assert sorted(v.name for v in again.visuals) == sorted(drawn)  # those without a name have the collision shape's
    for one in model.collisions:
        two = others[one.name]
        assert (one.shape.kind, one.shape.size) == (two.shape.kind, two.shape.size)
        assert (one.contype, one.conaffinity, one.paired) == (two.contype, two.conaffinity, two.paired)
        if one.shape.heights is not None:
            assert_allclose(two.shape.heights, one.shape.heights, atol=1e-7)


def test_every_kind_to_mjcf():
    """A height field that begins above 0 keeps its place, a hull its vertices; a plane stays on the world."""
    rng = np.random.default_rng(0)
    corners = np.array([(x, y, z) for x in (0, 1) for y in (0, 2) for z in (0, 3)], dtype=float)
    heights = rng.uniform(0.2, 1, (4, 5))
    builder = sixd.ModelBuilder("m")
    builder.add_body("a", "world", sixd.Revolute("x"), inertia=sixd.box(1, 1, 1, mass=1))
    tilt = sixd.placement((1, 2, 3), rpy=(0.1, 0.2, 0.3))
    shapes = [("plane", ()), ("height_field", (2.0, 3.0, 0.5)), ("hull", ()), ("box", (1.0, 2.0, 3.0)), ("ellipsoid", (1.0, 2.0, 3.0))]  # fmt: skip
    for kind, size in shapes:
        extra = {"height_field": {"heights": heights}, "hull": {"vertices": corners}}.get(kind, {})
        builder.add_collision("world" if kind == "plane" else "a", sixd.Shape(kind, size, **extra), tilt, name=kind)
    model = builder.build()
    again = {c.name: c for c in sixd.load(sixd.to_mjcf(model)).collisions}
    assert set(again) == {kind for kind, _ in shapes}
    for name in again:
        if name in ("plane", "box", "ellipsoid"):
            assert_allclose(again[name].pose, tilt, atol=1e-12)
    field = again["height_field"]
    low = tilt @ sixd.placement((0, 0, heights.min()))
    assert_allclose(field.pose, low, atol=1e-12)
    assert_allclose(field.shape.heights, heights - heights.min(), atol=1e-7)  # single precision in MuJoCo
    assert abs(field.shape.size[2] - (0.5 + heights.min())) < 1e-12
    placed = [
        np.asarray(s.shape.vertices) @ s.pose[:3, :3].T + s.pose[:3, 3] for s in (model.collisions[2], again["hull"])
    ]
    assert_allclose(placed[1].min(axis=0), placed[0].min(axis=0), atol=1e-6)  # single precision in MuJoCo


def test_disabled_links_to_mjcf():
    """Excluded are bodies all of whose links are; others are in the warning."""
    builder = sixd.ModelBuilder("m")
    ball = sixd.Shape("sphere", (0.1,))
    for name in ("a", "b", "c"):
        builder.add_body(name, "world", sixd.Revolute("x"), inertia=sixd.box(1, 1, 1, mass=1), collisions=[ball])
    builder.add_body("tip", "b", sixd.Fixed(), collisions=[ball])
    builder.disabled_collisions += [("a", "c"), ("a", "b")]
    model = builder.build()
    with pytest.warns(sixd.ModelWarning, match="those on the same bodies may not: a and b"):
        text = sixd.to_mjcf(model)
    assert text.count("<exclude") == 1
    assert '<exclude body1="a" body2="c"/>' in text


def test_compare_finds_differences():
    model = sixd.load(URDF)
    other = sixd.load(URDF.replace("size='1 2 3'", "size='1 2 4'").replace("name='foot'", "name='toe'", 1))
    found = sixd.compare(model, other)
    assert {d.kind for d in found.differences} == {"collisions"}
    assert [(d.where, d.what) for d in found.differences] == [("a_1", "size [m]")]
    assert sixd.compare(model, other, ignore=["collisions"]).equal
    without = sixd.load(
        robot(link("base"), link("a"), link("b"), joint("j1", "base", "a"), joint("j2", "a", "b", "fixed", AT))
    )
    (one,) = sixd.compare(model, without).differences
    assert (one.a, one.b) == (5, 0)
