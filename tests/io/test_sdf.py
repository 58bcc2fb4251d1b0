"""SDF: names, bases, loops, included files, defaults, shapes, findings. Numbers are in test_sdf_drake.py."""

import re
import warnings

import numpy as np
import pytest

import drake_models
import sixd
from robots import quiet_load
from sdf_text import INERTIAL, joint, link, model, sdf

FOLDER = drake_models.FOLDER
TWO = link("a") + link("b", "1 0 0 0 0 0")
pytestmark = pytest.mark.targets("plain")


# names -------------------------------------------------------------------------------------------


def test_names_of_one_model_have_no_prefix():
    for text in (sdf(model(TWO + joint())), sdf(f"<world name='w'>{model(TWO + joint())}</world>")):
        loaded = sixd.load(text)
        assert loaded.body_names == ("a", "b")
        assert loaded.joint_names == ("a_free", "j")
        assert set(loaded.frame_names) >= {"a", "b", "joint:j", "__model__"}


def test_names_of_several_models_have_the_model_in_front():
    """In a world, and several models in one file, as before SDF 1.8."""
    several = model(link("a"), "one") + model(link("a"), "two")
    for text in (sdf(several, "1.7"), sdf(f"<world name='w'>{several}</world>")):
        loaded = sixd.load(text)
        assert loaded.body_names == ("one::a", "two::a")
        assert loaded.joint_names == ("one::a_free", "two::a_free")
        assert {"one", "two"} <= set(loaded.frames)


def test_nested_names():
    loaded = quiet_load(FOLDER / "nested.sdf")
    assert loaded.body_names == ("base", "inner::base", "inner::hand", "inner::deep::ring")
    assert loaded.joint_names == ("base_free", "lift", "inner::wrist", "inner::spin")
    assert {"inner", "inner::deep", "inner::grip", "far", "__model__"} <= set(loaded.frames)


def test_a_joint_may_have_a_links_name_before_1_7():
    text = model(TWO + joint("a"))
    assert sixd.load(sdf(text, "1.6")).joint_names == ("a_free", "a")
    with pytest.raises(sixd.LoadError, match="a second element named 'a'"):
        sixd.load(sdf(text, "1.7"))


# bases -------------------------------------------------------------------------------------------


def test_models_without_a_joint_to_the_world_are_free():
    """At their poses in the file when q is neutral; ``floating_base=False`` fixes them there."""
    text = sdf(f"<world name='w'>{model(link('a', '1 0 0 0 0 0'), pose='0 2 0 0 0 1.5')}</world>")
    free, fixed = sixd.load(text), sixd.load(text, floating_base=False)
    assert isinstance(free.joints[1], sixd.Free)
    assert (free.nv, fixed.nv) == (6, 0)
    np.testing.assert_allclose(
        sixd.pose(free, free.neutral(), "a"), sixd.placement((np.cos(1.5), 2 + np.sin(1.5), 0), (0, 0, 1.5)), atol=1e-15
    )
    np.testing.assert_allclose(sixd.pose(fixed, np.zeros(0), "a"), sixd.pose(free, free.neutral(), "a"), atol=1e-15)
    assert fixed.body_inertia("world").mass == 1
    assert sixd.load(text, floating_base=True).nv == 6


def test_floating_base_needs_an_open_one():
    held = model(TWO + joint() + joint("k", "fixed", "world", "a", ""))
    assert sixd.load(sdf(held)).nv == 1
    with pytest.raises(sixd.LoadError, match="floating_base=True, but every model is static or has a joint"):
        sixd.load(sdf(held), floating_base=True)


def test_static_models_are_fixed_with_their_joints():
    loaded = sixd.load(sdf(model("<static>true</static>" + TWO + joint() + model(link("c"), "inner"))))
    assert loaded.nv == 0
    assert loaded.body_inertia("world").mass == 3
    assert [f.code for f in sixd.check(loaded)] == ["held"]


def test_bases_are_links_without_a_parent_joint():
    """Whatever their place in the file; a link with two parents is traversed in reverse, with the same coordinate."""
    loaded = sixd.load(sdf(model(TWO + link("c", "2 0 0 0 0 0") + joint("j", "prismatic", "b", "a"))))
    assert loaded.joint("j").parent_body == "b"
    loaded = sixd.load(sdf(model(TWO + link("c") + joint("j") + joint("k", "prismatic", "c", "b"))))
    assert loaded.joint("k").parent_body == "b"
    q = loaded.neutral()
    q[loaded.q_slice("k")] = 0.3
    assert (sixd.pose(loaded, q, "b") - sixd.pose(loaded, q, "c"))[2, 3] == pytest.approx(0.3)
    loaded = sixd.load(sdf(model(TWO + link("c") + joint("j") + joint("k", "ball", "c", "b", ""))))
    assert loaded.joint("k").parent_body == "c"  # from there no ball is traversed in reverse
    with pytest.raises(
        sixd.LoadError,
        match=r"joint 'k' \(ball\) in reverse, from child to parent, which this type does not allow. Exchange",
    ):
        sixd.load(sdf(model(TWO + link("c") + joint("j", "ball", inside="") + joint("k", "ball", "c", "b", ""))))


def test_a_screw_in_reverse():
    """The child's motion against the parent is the same function of q."""
    axis = "<axis><xyz>0 0 1</xyz></axis><screw_thread_pitch>0.5</screw_thread_pitch>"
    poses = []
    for hold in ("a", "b"):
        loaded = sixd.load(sdf(model(TWO + joint("j", "screw", inside=axis) + joint("k", "fixed", "world", hold, ""))))
        a, b = (sixd.pose(loaded, [0.7], name) for name in "ab")
        poses.append(np.linalg.inv(a) @ b)
    np.testing.assert_allclose(poses[0], poses[1], atol=1e-14)
    assert poses[0][2, 3] == pytest.approx(0.7 * 0.5 / (2 * np.pi))


# loops -------------------------------------------------------------------------------------------

FOUR_BAR = (
    link("crank", "0 0 0 0 0 0")
    + link("coupler", "0 0 1 0 0 0")
    + link("rocker", "2 0 0 0 0 0")
    + joint("j1", parent="world", child="crank", inside="<axis><xyz>0 1 0</xyz></axis>")
    + joint("j2", parent="crank", child="coupler", inside="<axis><xyz>0 1 0</xyz></axis>")
    + joint("j3", parent="world", child="rocker", inside="<axis><xyz>0 1 0</xyz></axis>")
)


def test_a_loop_of_links_becomes_a_constraint():
    """A parallelogram: the coupler only translates, so the crank and the rocker rotate alike."""
    closing = joint("j4", parent="rocker", child="coupler", inside="<axis><xyz>0 1 0</xyz></axis>", pose="2 0 0 0 0 0")
    loaded = sixd.load(sdf(model(FOUR_BAR + closing)))
    assert loaded.nv == 3
    (loop,) = loaded.constraints
    assert loop == sixd.Loop("j4_parent", "j4_child", "axis")
    q = np.array([0.4, -0.4, 0.4])
    np.testing.assert_allclose(loop.position(loaded, q), 0, atol=1e-15)
    assert np.abs(loop.position(loaded, [0.4, 0, 0.4])).max() > 0.1
    np.testing.assert_allclose(loop.jacobian(loaded, q) @ [1, -1, 1], 0, atol=1e-15)


@pytest.mark.parametrize(("kind", "rows"), [("fixed", 6), ("ball", 3), ("prismatic", 5), ("continuous", 5)])
def test_kinds_of_closing_joints(kind, rows):
    inside = "" if kind in ("fixed", "ball") else "<axis><xyz>1 2 2</xyz></axis>"
    loaded = sixd.load(sdf(model(FOUR_BAR + joint("j4", kind, "rocker", "coupler", inside))))
    (loop,) = loaded.constraints
    assert len(loop.position(loaded, np.zeros(3))) == rows
    np.testing.assert_allclose(loop.position(loaded, np.zeros(3)), 0, atol=1e-15)


def test_properties_of_closing_joints_are_reported():
    inside = "<axis><xyz>0 1 0</xyz><dynamics><damping>1</damping></dynamics><limit><lower>0</lower><upper>1</upper></limit></axis>"
    with pytest.warns(sixd.ModelWarning, match="closes a loop; its damping, limits are not supported"):
        sixd.load(sdf(model(FOUR_BAR + joint("j4", parent="rocker", child="coupler", inside=inside))))


# joints ------------------------------------------------------------------------------------------


def test_limits_damping_friction_and_springs():
    loaded = quiet_load(FOLDER / "revolute.sdf")
    found = loaded.joint("move")
    values = {"lower": -1.5, "upper": 2, "effort_limit": 30, "velocity_limit": 4, "damping": 0.7, "friction": 0.2}
    values |= {"stiffness": 5, "rest": 0.3}
    assert {key: getattr(found, key).tolist() for key in values} == {key: [x] for key, x in values.items()}
    assert quiet_load(FOLDER / "continuous.sdf").joint("move").joint.continuous
    assert np.isinf(quiet_load(FOLDER / "continuous.sdf").joint("move").upper).all()
    universal = quiet_load(FOLDER / "universal.sdf").joint("move")
    assert universal.damping.tolist() == [0.7, 0]
    assert universal.upper.tolist() == [2, np.inf]


def test_missing_limits_and_those_of_1e16_are_none():
    limit = "<limit><lower>-1e16</lower><upper>inf</upper><effort>-1</effort></limit>"
    for inside in ("", limit):
        found = sixd.load(sdf(model(TWO + joint(inside=f"<axis><xyz>0 0 1</xyz>{inside}</axis>")))).joint("j")
        for values in (found.lower, found.upper, found.effort_limit, found.velocity_limit):
            assert np.isinf(values).all()


def test_exchanged_limits_are_left_out():
    inside = "<axis><xyz>0 0 1</xyz><limit><lower>1</lower><upper>-1</upper></limit></axis>"
    with pytest.warns(sixd.ModelWarning, match="the lower limit .* is above the upper"):
        assert np.isinf(sixd.load(sdf(model(TWO + joint(inside=inside)))).joint("j").upper).all()


def test_mimic():
    """q = multiplier (leader - reference) + offset."""
    (relation,) = quiet_load(FOLDER / "mimic.sdf").constraints
    assert (relation.joint, relation.source, relation.multiplier) == ("follow", "open", -2)
    assert relation.offset == pytest.approx(0.3 + 2 * 0.1)


def test_world_joints():
    """A joint in the world between two models, which drake reads only if it is fixed."""
    inside = "<axis><xyz>0 1 0</xyz></axis>"
    text = model(link("base"), "a") + model(link("base", "1 0 0 0 0 0"), "b")
    text += joint("tie", parent="a::base", child="b::base", inside=inside) + joint("ground", "fixed", "world", "a", "")
    loaded = sixd.load(sdf(f"<world name='w'>{text}</world>", "1.10"))
    assert loaded.joint_names == ("tie",)
    assert loaded.joint("tie").body == "b::base"


# links -------------------------------------------------------------------------------------------


def test_missing_inertias_are_1_and_reported():
    with pytest.warns(sixd.ModelWarning, match="a: it has no <inertial>, 1 kg and 1 kg m² about each axis are assumed"):
        loaded = sixd.load(sdf(model("<link name='a'/>")))
    assert loaded.mass == 1
    with pytest.warns(sixd.ModelWarning, match="its <inertial> has no <inertia>, 1 is assumed, as SDF says"):
        sixd.load(sdf(model("<link name='a'><inertial><mass>2</mass></inertial></link>")))


def test_inertia_from_collisions():
    """A cone, which drake does not have, and a mass that scales the whole."""
    collision = "<collision name='c'><pose>{}</pose><geometry>{}</geometry></collision>"
    cone = collision.format("0 0 0.5 0 0 0", "<cone><radius>0.3</radius><length>1</length></cone>")
    loaded = sixd.load(
        sdf(model(f"<link name='a'><inertial auto='true'><mass>5</mass></inertial>{cone}</link>"), "1.11")
    )
    expected = sixd.cone(0.3, 1.0, mass=5).moved(sixd.placement((0, 0, 0.25)))
    np.testing.assert_allclose(loaded.inertia[1], expected.matrix, rtol=1e-13, atol=1e-13)
    ball = collision.format("0 0 0 0 0 0", "<sphere><radius>0.1</radius></sphere>")
    text = f"<link name='a'><inertial auto='1'><density>2000</density></inertial>{ball}</link>"
    assert sixd.load(sdf(model(text), "1.11")).mass == pytest.approx(2000 * 4 / 3 * np.pi * 1e-3)


def test_what_acts_and_is_not_carried_is_reported():
    for inside, message in {
        "<gravity>false</gravity>": "gravity acts on it",
        "<kinematic>true</kinematic>": "forces move it",
        "<velocity_decay><linear>0.1</linear></velocity_decay>": "<velocity_decay> is not supported",
    }.items():
        with pytest.warns(sixd.ModelWarning, match=message):
            sixd.load(sdf(model(link("a", inside=inside))))
    with pytest.warns(sixd.ModelWarning, match="<drake:gear_ratio> is not supported"):
        sixd.load(sdf(model(TWO + joint(inside="<axis><xyz>0 0 1</xyz></axis><drake:gear_ratio>3</drake:gear_ratio>"))))
    with pytest.raises(sixd.LoadError, match="<drake:joint> is not supported"):
        sixd.load(sdf(model(TWO + "<drake:joint name='j' type='planar'/>")))


def test_gravity_of_the_world():
    assert quiet_load(FOLDER / "static.sdf").gravity.tolist() == [0, 0, -1.62]
    assert sixd.load(sdf(f"<world name='w'>{model(link('a'))}</world>")).gravity.tolist() == [0, 0, -9.81]


def visual(geometry, more=""):
    return link("a", inside=f"<visual name='v'>{more}<geometry>{geometry}</geometry></visual>")


def test_shapes_to_draw():
    shapes = {
        "<box><size>1 2 3</size></box>": ("box", (1, 2, 3)),
        "<sphere><radius>2</radius></sphere>": ("sphere", (2,)),
        "<cylinder><radius>1</radius><length>2</length></cylinder>": ("cylinder", (1, 2)),
        "<capsule><radius>1</radius><length>2</length></capsule>": ("capsule", (1, 2)),
        "<ellipsoid><radii>1 2 3</radii></ellipsoid>": ("ellipsoid", (1, 2, 3)),
        "<cone><radius>1</radius><length>2</length></cone>": ("cone", (1, 2)),
        "<plane><normal>0 1 0</normal></plane>": ("plane", ()),
    }
    for text, (kind, size) in shapes.items():
        (found,) = sixd.load(sdf(model(visual(text, "<pose>0 0 1 0 0 0</pose>")))).visuals
        assert (found.shape.kind, found.shape.size, found.name) == (kind, size, "v")
        assert found.pose[2, 3] == (0.5 if kind == "cone" else 1)
    np.testing.assert_allclose(found.pose[:3, 2], [0, 1, 0], atol=1e-15)
    assert not sixd.load(sdf(model(visual("<empty/>")))).visuals
    assert not sixd.load(sdf(model(visual("<heightmap/>")))).visuals


def test_colours_and_frames_of_shapes():
    frame = "<frame name='f'><pose>0 0 2 0 0 0</pose></frame>"
    more = "<pose relative_to='f'>0 0 1 0 0 0</pose><material><diffuse>1 0.5 0 1</diffuse></material>"
    (found,) = sixd.load(sdf(model(frame + visual("<box><size>1 1 1</size></box>", more)))).visuals
    assert found.color == (1, 0.5, 0, 1)
    assert found.pose[2, 3] == 3


def test_meshes_are_next_to_the_file(tmp_path):
    (tmp_path / "meshes").mkdir()
    (tmp_path / "meshes" / "a.stl").write_text("solid")
    for uri in ("meshes/a.stl", f"model://{tmp_path.name}/meshes/a.stl"):
        path = tmp_path / "a.sdf"
        path.write_text(sdf(model(visual(f"<mesh><uri>{uri}</uri><scale>2 2 2</scale></mesh>"))))
        (found,) = sixd.load(path).visuals
        assert found.shape.file == str(tmp_path / "meshes" / "a.stl")
        assert found.shape.scale == (2, 2, 2)


def test_broken_shapes_are_left_out_with_a_warning():
    for geometry, more in (
        ("<box><size>1 x 1</size></box>", ""),
        ("<sphere><radius>1</radius></sphere>", "<pose>1</pose>"),
    ):
        with pytest.warns(sixd.ModelWarning, match="a shape is left out: <text>, line"):
            assert not sixd.load(sdf(model(visual(geometry, more)))).visuals


# included files ----------------------------------------------------------------------------------


def test_model_uris(tmp_path, monkeypatch):
    """A folder's newest file by its model.config; next to the file, in package_dirs, by the environment."""
    text = (FOLDER / "include.sdf").read_text().replace("cart/model.sdf", "cart")
    (tmp_path / "world.sdf").write_text(text)
    with pytest.raises(sixd.LoadError, match=r"the included 'model://cart' is not found next to world\.sdf"):
        sixd.load(tmp_path / "world.sdf")
    names = quiet_load(FOLDER / "include.sdf").body_names
    assert names == tuple(f"{m}::{n}" for m in ("cart", "second", "third") for n in ("body", "wheel"))
    assert sixd.load(tmp_path / "world.sdf", package_dirs=FOLDER / "models").body_names == names
    assert sixd.load(text, package_dirs=[FOLDER / "models"]).body_names == names
    monkeypatch.setenv("SDF_PATH", str(FOLDER / "models"))
    assert sixd.load(text).body_names == names


def test_included_paths_and_what_replaces_the_models_own(tmp_path):
    (tmp_path / "part.sdf").write_text(sdf(model(link("a") + link("b") + joint(), "part", "9 0 0 0 0 0")))
    uris = ("part.sdf", "./part.sdf", str(tmp_path / "part.sdf"), (tmp_path / "part.sdf").as_uri())
    for uri in uris:
        include = f"<include><uri>{uri}</uri><name>x</name><pose>1 0 0 0 0 0</pose><static>true</static></include>"
        (tmp_path / "world.sdf").write_text(
            sdf(f"<world name='w'>{include}<include><uri>{uri}</uri></include></world>")
        )
        loaded = sixd.load(tmp_path / "world.sdf")
        assert loaded.body_names == ("part::a", "part::b")
        poses = [sixd.pose(loaded, loaded.neutral(), name)[0, 3] for name in ("x::a", "part::a")]
        assert poses == [1, 9]


# findings ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ("expressed_in", "expresed_in"), ("relative_to", "relativ_to"), ("<damping>1</damping>", "<dampping>1</dampping>"),
        ("attached_to", "atached_to"),
    ],
)  # fmt: skip
def test_misspelt_names_are_reported(right, wrong):
    text = sdf(
        model(
            "<frame name='f' attached_to='b'/>"
            + link("a")
            + link("b", "1 0 0 0 0 0").replace("<pose>", "<pose relative_to='a'>")
            + joint(inside="<axis><xyz expressed_in='a'>0 0 1</xyz><dynamics><damping>1</damping></dynamics></axis>")
        )
    )
    assert right in text
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sixd.load(text)
    with pytest.warns(
        sixd.ModelWarning, match=rf"line \d+: .*{re.escape(wrong.split('>')[0].strip('<'))}.*did you mean"
    ):
        sixd.load(text.replace(right, wrong).replace(right.replace("<", "</"), wrong.replace("<", "</")))


def test_files_of_other_programs_elements_load_in_silence():
    more = "<plugin name='p' filename='x'><masss>1</masss></plugin><sensor name='s' type='imu'/>"
    sixd.load(sdf(model(link("a", inside=more) + more)))
    assert INERTIAL in link("a")
