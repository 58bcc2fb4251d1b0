"""Pairs of collision shapes: MuJoCo's rule, links that a file excludes, and the selection by names."""

import dataclasses

import pytest

import sixd
from mujoco_pairs import contact_pairs
from peers import mujoco
from sixd.collision.pairs import CollisionPairs

pytestmark = pytest.mark.one_target

BALL = sixd.Shape("sphere", (0.1,))
MASS = sixd.box(0.1, 0.1, 0.5, mass=1.0)
HEAD = (
    "<mujoco><option><flag {}/></option><asset><hfield name='h' nrow='2' ncol='2' size='1 1 1 1'/></asset><worldbody>"
)


def document(bodies, contact="", flag="contact='enable'"):
    return HEAD.format(flag) + f"{bodies}</worldbody><contact>{contact}</contact></mujoco>"


def body(name, inside="", joint="<joint/>", geom=""):
    return f"<body name='{name}'>{joint}<geom name='g{name}' size='.1' {geom}/>{inside}</body>"


SCENES = {
    "chain": document(body("a", body("b", body("c", body("d"))))),
    "welded": document(body("a", body("b", body("c", body("d"), joint=""), joint=""))),
    "on the world": document("<geom name='floor' type='plane' size='1 1 1'/>" + body("s", body("a", body("b")), joint="") + body("t", joint="")),
    "two joints": document(body("a", body("b", body("c"), joint="<joint/><joint axis='0 1 0'/><joint axis='1 0 0'/>"))),
    "masks": document(body("a", geom="contype='2' conaffinity='4'") + body("b", geom="contype='4' conaffinity='0'") + body("c", geom="contype='0'")
                      + body("d", geom="contype='0' conaffinity='0'")),
    "excluded": document(body("a", body("b", joint="")) + body("c", body("d")), "<exclude body1='a' body2='c'/><exclude body1='world' body2='d'/>")
                .replace("<worldbody>", "<worldbody><geom name='ground' size='1'/>"),
    "explicit": document(body("a", body("b", body("e", joint=""), geom="contype='0' conaffinity='0'")),
                         "<pair geom1='gb' geom2='ga'/><pair geom1='gb' geom2='ge'/><exclude body1='a' body2='b'/>"),
    "parents": document(body("a", body("b", body("c"))), flag="filterparent='disable'"),
    "surfaces": document("<geom name='f' type='plane' size='1 1 1'/>" + body("a") + "<body name='p'><freejoint/><geom size='.1'/>"
                         "<geom name='g' type='hfield' hfield='h'/></body>").replace("size='1 1 1 1'", "size='1 1 1 1' elevation='0 1 2 3'"),
    "moved by the user": document("<geom name='f' type='plane' size='1 1 1'/><body name='m' mocap='true'><geom name='gm' size='.1'/></body>" + body("a", body("b"))),
}  # fmt: skip


@pytest.mark.parametrize("name", SCENES)
def test_mujocos_rule(name):
    """The pairs are those of the documented rule, and contain all that MuJoCo finds where everything overlaps."""
    text = SCENES[name]
    if name == "surfaces":
        text = text.replace("<geom size='.1'/>", "<geom name='q' size='.1'/>")
    theirs = mujoco.MjModel.from_xml_string(text)
    model = sixd.load(text)
    pairs = set(map(frozenset, sixd.collision_pairs(model)))
    names = [theirs.geom(g).name for g in range(theirs.ngeom)]
    assert pairs == {frozenset((names[i], names[j])) for i, j in contact_pairs(theirs)}
    data = mujoco.MjData(theirs)
    mujoco.mj_forward(theirs, data)
    touching = {frozenset(theirs.geom(int(g)).name for g in contact.geom) for contact in data.contact}
    assert touching <= pairs
    if name != "surfaces":  # its height field does not reach all others
        assert touching == pairs


def scene():
    """Two arms of three links on plinths, the left one with a hand on a fixed joint; a free cube and a table."""
    builder = sixd.ModelBuilder("arm")
    builder.add_frame("base", "world")
    builder.add_collision("base", BALL)
    parent = "base"
    for name in ("one", "two", "three"):
        builder.add_body(name, parent, sixd.Revolute("y"), inertia=MASS, collisions=[BALL])
        parent = name
    arm = builder.build()
    builder = sixd.ModelBuilder.from_model(sixd.ModelBuilder("scene").build())
    builder.add_collision("world", sixd.Shape("plane"), name="table")
    builder.add_body("cube", "world", sixd.Free(), inertia=MASS, collisions=[BALL, BALL])
    model = builder.build().attach(arm, prefix="left/").attach(arm, prefix="right_")
    builder = sixd.ModelBuilder.from_model(model)
    builder.add_body("hand", "left/three", sixd.Fixed(), collisions=[BALL])
    return builder.build()


def among(*terms):
    return set(map(frozenset, sixd.collision_pairs(scene(), *terms)))


def pairs(*names):
    return {frozenset(name.split("-")) for name in names}


def test_all():
    """Everything but shapes of one body, of neighbours, and of what is fixed to the world."""
    found = among()
    assert len(scene().collisions) == 12
    left, right = (
        ["left/base", "left/one", "left/two", "left/three", "hand"],
        ["right_base", "right_one", "right_two", "right_three"],
    )
    cube, expected = ["cube_1", "cube_2"], set()
    own = pairs(
        "left/base-left/one",
        "left/one-left/three",
        "left/one-hand",
        "left/base-left/two",
        "left/base-left/three",
        "left/base-hand",
    )
    own |= pairs("right_base-right_one", "right_one-right_three", "right_base-right_two", "right_base-right_three")
    cross = {frozenset((a, b)) for a in left for b in right if not (a.endswith("base") and b.endswith("base"))}
    cross |= {frozenset((a, b)) for a in cube for b in [*left, *right, "table"]}
    cross |= {frozenset((a, "table")) for a in [*left, *right] if not a.endswith("base")}
    expected = own | cross
    assert found == expected


SELECTIONS = [
    ("left/*", 6), (("left", "right"), 19), (("hand", "cube"), 2), (("body:left/three", "cube"), 4),
    (("subtree:right_two", "table"), 2), (("cube", "*"), 20), ("self", 10), (["self", ("cube", "table")], 12), (["left/one", "hand", "cube"], 5),
    ([("left/one", "left/two")], 1), ([("left/one", "left/two"), ("left/one", "left/two")], 1), ((["left/one", "hand"], ["table", "cube_1"]), 4),
    ("right_", 4), ((("left/one", "hand"), "table"), 2), ("subtree:world", 56),
]  # fmt: skip


@pytest.mark.parametrize(("term", "count"), SELECTIONS, ids=str)
def test_selections(term, count):
    """Names of shapes, links, bodies and attached models, patterns, tuples, lists and "self"."""
    found = among(term)
    assert len(found) == count
    assert found <= among() | pairs("left/one-left/two")  # two names of shapes are a pair in any case


def test_self_is_within_mechanisms():
    """What only the world connects is not one mechanism; the base on the world belongs to its arm."""
    found = among("self")
    assert all(len({name.split("/")[0].split("_")[0].replace("hand", "left") for name in pair}) == 1 for pair in found)
    assert frozenset(("left/base", "hand")) in found


def test_results_are_plain():
    """A tuple of pairs that selects itself again, and prints."""
    model = scene()
    found = sixd.collision_pairs(model)
    assert isinstance(found, tuple)
    assert found[0] == (model.collisions[0].name, model.collisions[1].name)
    assert sixd.collision_pairs(model, found) == found
    backwards = [(b, a) for a, b in reversed(found[:3])]
    assert sixd.collision_pairs(model, backwards) == tuple(backwards)
    assert {a for a, _ in sixd.collision_pairs(model, ("hand", "*"))} == {"hand"}
    assert str(found).startswith(f"{len(found)} pairs of collision shapes\n  table  -  cube_1\n")
    assert str(found).endswith(f"… and {len(found) - 20} more")
    assert repr(CollisionPairs(found[:1])) == "<CollisionPairs: 1>"
    assert "<b>CollisionPairs" in found._repr_html_()
    assert sixd.collision_pairs(sixd.zoo.panda_arm()) == ()


BAD = [
    ("hnd", sixd.UnknownNameError, "no collision shape, link or body named 'hnd'. Did you mean 'hand'"),
    ("hand", sixd.ModelError, r"among is 'hand', which is one shape, 'hand', expected several. Write \('hand', '\*'\)"),
    ("body:hnd", sixd.UnknownNameError, "Did you mean 'hand'"),
    (("hand", "tool"), sixd.ModelError, "'tool' has no collision shapes, expected one of those with: world, cube"),
    (("hand", "hand"), sixd.ModelError, "both names are 'hand', expected two shapes"),
    (("hand", 3), sixd.ScalarTypeError, "a part is 3, expected a name or a pattern"),
    (("hand", ""), sixd.ScalarTypeError, "a part is ''"),
    (("hand", "cube", "table"), sixd.ScalarTypeError, "expected a name, a pattern, 'self', a tuple of two"),
    (3, sixd.ScalarTypeError, "among is 3, expected a name"),
]  # fmt: skip


@pytest.mark.parametrize(("term", "error", "message"), BAD)
def test_unknown_names(term, error, message):
    model = scene().with_frame("tool", "hand")
    with pytest.raises(error, match=message):
        sixd.collision_pairs(model, term)


def test_disabled_links():
    """Pairs of links, not of the bodies that they are fixed to."""
    model = dataclasses.replace(scene(), disabled_collisions=(("hand", "cube"), ("right_two", "left/one")))
    lost = among() - set(map(frozenset, sixd.collision_pairs(model)))
    assert lost == pairs("hand-cube_1", "hand-cube_2", "left/one-right_two")


def test_not_a_model():
    with pytest.raises(sixd.ScalarTypeError, match="model is a str, expected a sixd.Model"):
        sixd.collision_pairs("panda")
