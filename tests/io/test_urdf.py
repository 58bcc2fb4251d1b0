"""The URDF reader on correct, faulty, broken and hostile files."""

import sys
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from robots import FIVE, quiet_load
from sixd.algorithms.rnea import rnea
from urdf_text import CHAIN, fails, joint, link, robot

# what can be read -----------------------------------------------------------------------------------


def test_sources(tmp_path):
    """A path, text, bytes and open files give the same model."""
    path = tmp_path / "arm.urdf"
    path.write_text(CHAIN)
    with open(path) as text, open(path, "rb") as binary:
        models = [sixd.load(s) for s in (path, str(path), CHAIN, CHAIN.encode(), text, binary)]
    for model in models:
        assert (model.name, model.body_names, model.joint_names) == ("r", ("a", "b"), ("j1", "j2"))
        assert model.frame_names == ("world", "base", "joint:j1", "a", "joint:j2", "b")


def test_paths_that_no_system_opens():
    with pytest.raises(sixd.LoadError, match=r"^load: cannot read 'a+…': .*\. \S") as caught:
        sixd.load("a" * 5000)
    assert len(str(caught.value)) < 1000
    with pytest.raises(sixd.LoadError, match="cannot read '~no_such_user_here/arm.urdf'"):
        sixd.load("~no_such_user_here/arm.urdf")
    with pytest.raises(sixd.ScalarTypeError, match="package_dirs is 3, expected a folder or a list"):
        sixd.load(robot(link("a")), package_dirs=3)


def test_depth_first_children_in_file_order():
    """Numbering goes depth first, children in the order of their joints in the file."""
    text = robot(
        *(link(n) for n in "rabcde"),
        joint("z", "r", "a"), joint("y", "a", "b"), joint("x", "r", "c"), joint("w", "c", "d"), joint("v", "a", "e"),
    )  # fmt: skip
    model = sixd.load(text)
    assert model.joint_names == ("z", "y", "v", "x", "w")
    assert model.parent == (-1, 0, 1, 1, 0, 4)


def test_joint_types_axes_and_properties():
    """All joint types; skewed and non-unit axes; limits, damping, friction."""
    inside = (
        "<axis xyz='0 3 4'/><origin xyz='1 2 3' rpy='.1 .2 .3'/><limit lower='-1' upper='2' effort='5' velocity='inf'/>"
        "<dynamics damping='.7' friction='.3'/>"
    )
    text = robot(
        *(link(n) for n in "rabcdefg"),
        joint("j1", "r", "a", "revolute", inside), joint("j2", "a", "b", "continuous"), joint("j3", "b", "c", "prismatic", inside),
        joint("j4", "c", "d", "floating", ""), joint("j5", "d", "e", "planar", inside), joint("j6", "e", "f", "spherical", ""),
        joint("j7", "f", "g", "fixed", "<axis xyz='0 0 0'/>"),
    )  # fmt: skip
    model = sixd.load(text)
    kinds = [type(model.joint(n).joint).__name__ for n in model.joint_names]
    assert kinds == ["Revolute", "Revolute", "Prismatic", "Free", "Planar", "Spherical"]
    record = model.joint("j1")
    assert_allclose(record.joint.axis, (0, 0.6, 0.8))
    assert [
        float(x[0]) for x in (record.lower, record.upper, record.damping, record.friction, record.effort_limit)
    ] == [-1, 2, 0.7, 0.3, 5]
    assert record.velocity_limit[0] == np.inf
    assert not record.joint.continuous
    assert model.joint("j2").joint.continuous
    assert_allclose(model.joint("j5").joint.normal, (0, 0.6, 0.8))
    assert_allclose(model.joint("j5").damping, [0.7] * 3)
    R = sixd.spatial.rotation_from_rpy((0.1, 0.2, 0.3))
    assert_allclose(model.placement[1][:3, :3], R)
    assert model.frames["g"].body == 6


def test_planar_joint_follows_the_specification():
    """A planar joint moves in the plane across its axis (Pinocchio ignores the axis)."""
    text = robot(link("r"), link("a"), joint("j", "r", "a", "planar", "<axis xyz='1 0 0'/>"))
    model = sixd.load(text)
    J = sixd.jacobian(model, model.random_configuration(0), "a", expressed_in="aligned")
    assert_allclose(J[3], 0, atol=1e-15)  # no motion along x
    assert_allclose(np.abs(J[0]), [1, 0, 0], atol=1e-15)


def test_inertial_frames_are_rotated():
    """Off-diagonal inertias in a turned inertial frame, merged over a fixed joint."""
    inertial = (
        "<inertial><origin xyz='.1 .2 .3' rpy='.4 .5 .6'/><mass value='2'/>"
        "<inertia ixx='.3' iyy='.4' izz='.5' ixy='.01' ixz='-.02' iyz='.03'/></inertial>"
    )
    text = robot(
        link("r"), f"<link name='a'>{inertial}</link>", f"<link name='b'>{inertial}</link>", joint("j", "r", "a"),
        joint("f", "a", "b", "fixed", "<origin xyz='0 1 0' rpy='0 0 1.5707963267948966'/>"),
    )  # fmt: skip
    one = sixd.Inertia(2, about_com=[[0.3, 0.01, -0.02], [0.01, 0.4, 0.03], [-0.02, 0.03, 0.5]])
    one = one.moved(sixd.placement((0.1, 0.2, 0.3), (0.4, 0.5, 0.6)))
    both = one + one.moved(sixd.placement((0, 1, 0), (0, 0, np.pi / 2)))
    assert_allclose(sixd.load(text).body_inertia("a").matrix, both.matrix, atol=1e-15)


def test_floating_base():
    """The root link gets a free joint named root_joint and keeps its mass."""
    model = sixd.load(CHAIN, floating_base=True)
    assert model.joint_names == ("root_joint", "j1", "j2")
    assert model.body_names[0] == "base"
    assert (model.nq, model.nv, model.mass) == (9, 8, 3.0)


def test_link_called_world():
    """A fixed root called world is the world; a floating one is renamed, with a warning."""
    text = CHAIN.replace("'base'", "'world'")
    assert sixd.load(text).frame_names[:2] == ("world", "joint:j1")
    with pytest.warns(sixd.ModelWarning, match="world_link"):
        assert sixd.load(text, floating_base=True).body_names[0] == "world_link"


def test_mimic_relations_are_stored():
    """A mimic tag is kept as a constraint, ignored on fixed joints; nq does not change."""
    mimic = "<mimic joint='j1' multiplier='-2' offset='.5'/>"
    model = sixd.load(CHAIN.replace("</joint>\n</robot>", f"{mimic}</joint>\n</robot>"))
    assert model.constraints == (sixd.Mimic("j2", "j1", -2.0, 0.5),)
    assert model.nq == 2
    fixed = CHAIN.replace("prismatic", "fixed").replace("</joint>\n</robot>", f"{mimic}</joint>\n</robot>")
    assert sixd.load(fixed).constraints == ()
    assert quiet_load(FIVE["panda"]).constraints == (
        sixd.Mimic("panda_finger_joint2", "panda_finger_joint1", 1.0, 0.0),
    )
    assert quiet_load(FIVE["talos"]).constraints == ()
    unknown = CHAIN.replace("</joint>\n</robot>", "<mimic joint='jj'/></joint>\n</robot>")
    with pytest.warns(sixd.ModelWarning, match="j2: it mimics 'jj', which does not exist"):
        assert sixd.load(unknown).constraints == ()


def test_visuals_and_meshes(tmp_path):
    """Shapes are kept; package:// is found in package_dirs, else left as it is and never required."""
    (tmp_path / "pkg/meshes").mkdir(parents=True)
    (tmp_path / "pkg/meshes/a.stl").write_text("solid")
    visuals = (
        "<visual><geometry><mesh filename='package://pkg/meshes/a.stl' scale='1 2 3'/></geometry><material name='red'/></visual>"
        "<visual><origin xyz='0 0 1'/><geometry><box size='1 2 3'/></geometry></visual>"
        "<visual><geometry><capsule radius='.1' length='2'/></geometry></visual>"
        "<visual><geometry><sphere radius='.1'/></geometry></visual>"
        "<visual><geometry><blob/></geometry></visual>"
        "<visual><geometry><mesh filename='package://gone/b.stl'/></geometry></visual>"
    )
    text = robot(
        "<material name='red'><color rgba='1 0 0 1'/></material>",
        link("r"),
        link("a", extra=visuals),
        joint("j", "r", "a"),
    )
    model = sixd.load(text, package_dirs=tmp_path)
    shapes = [v.shape for v in model.visuals]
    assert [s.kind for s in shapes] == ["mesh", "box", "capsule", "sphere", "mesh"]
    assert shapes[0].file == str(tmp_path / "pkg/meshes/a.stl")
    assert shapes[0].scale == (1, 2, 3)
    assert shapes[4].file == "package://gone/b.stl"
    assert model.visuals[0].color == (1, 0, 0, 1)
    assert model.visuals[1].pose[2, 3] == 1
    assert quiet_load(FIVE["ur5"], package_dirs=[FIVE["ur5"].parents[4]]).visuals[0].shape.file.startswith("/")


def test_text_before_the_declaration():
    """A banner or blank lines before <?xml …> are passed over, and lines are still counted from the top."""
    text = "\n# generated\n<!-- note -->\n<?xml version='1.0'?>\n" + CHAIN
    assert sixd.load(text).nv == 2
    fails(text.replace("<axis xyz='0 0 1'/>", "<axis xyz='0 0 o'/>"), "line 9")


def chain(n):
    return robot(link("l0"), *(link(f"l{k}") + joint(f"j{k}", f"l{k - 1}", f"l{k}") for k in range(1, n)))


@pytest.mark.long
def test_long_chains_load():
    """10,000 links: no recursion limit; the tree prints in a page."""
    n = 10_000
    model = sixd.load(chain(n))
    assert model.nb == n - 1
    assert len(str(model).splitlines()) < 250
    zero = np.zeros(model.nv)
    assert_allclose(rnea(model, zero, zero, zero), 0, atol=1e-9)  # the algorithm itself: compiling it takes a minute


def test_loading_is_linear_in_the_links():
    """Twice the links, twice the calls of functions."""

    def calls(n):
        text, count = chain(n), 0

        def counted(frame, event, argument):
            nonlocal count
            count += event in ("call", "c_call")

        sys.setprofile(counted)
        try:
            sixd.load(text)
        finally:
            sys.setprofile(None)
        return count

    calls(10)  # imports
    assert calls(800) < 2.1 * calls(400)


# possible mistakes ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "code", "text"),
    [
        ("<link name='a'/>", "missing-inertia", "it has no inertia, zero is assumed"),
        (link("a", mass=-1), "negative-mass", "the mass is negative (-1 kg)"),
        (link("a", inertia="ixx='1' iyy='1' izz='3'"), "impossible-inertia", "break the triangle inequality"),
        (link("a", inertia="ixx='-1' iyy='1' izz='1'"), "impossible-inertia", "principal moment is negative"),
        (link("a", inertia="ixx='1' iyy='1' izz='1' ixy='2'"), "impossible-inertia", "principal moment is negative"),
        (link("a", mass=0), "impossible-inertia", "the mass is zero but the moments are not"),
    ],
)
def test_impossible_inertias_warn_and_are_listed(body, code, text):
    """A missing, negative or impossible inertia is a warning that names the body, and an entry of check."""
    with pytest.warns(sixd.ModelWarning, match="a: ") as caught:
        model = sixd.load(robot(link("r"), body, joint("j", "r", "a")))
    assert text in str(caught[0].message)
    assert len(caught) == 1
    finding = next(f for f in sixd.check(model) if f.code == code)
    assert finding.where == "a"
    assert text in str(finding)


@pytest.mark.parametrize("kind", ["revolute", "prismatic"])
def test_a_limit_without_bounds_is_none(kind):
    """By URDF's rule both would be 0, and the joint could not move; effort and velocity are kept."""
    limit = "<limit effort='5' velocity='2'/>"
    text = robot(link("r"), link("a"), joint("j", "r", "a", kind, limit))
    with pytest.warns(sixd.ModelWarning, match="j: its <limit> has neither lower nor upper and is ignored"):
        model = sixd.load(text)
    assert (model.lower[0], model.upper[0], model.effort_limit[0], model.velocity_limit[0]) == (-np.inf, np.inf, 5, 2)
    assert [(f.code, f.where) for f in sixd.check(model)] == [("no-limits", "j")]
    one = sixd.load(text.replace("<limit", "<limit lower='-1'"))
    assert (one.lower[0], one.upper[0]) == (-1, 0)
    assert sixd.load(text.replace(kind, "continuous")).notes == ()


def test_bodies_that_do_not_move_need_no_inertia():
    """The fixed root and massless frames on fixed joints are no findings."""
    text = robot(
        "<link name='r'/>", link("a"), "<link name='tool'/>", joint("j", "r", "a"), joint("f", "a", "tool", "fixed", "")
    )
    assert sixd.check(sixd.load(text)) == []


def test_a_bad_link_hidden_by_merging_is_found():
    """An impossible link on a fixed joint is named, though the merged body is possible."""
    text = robot(
        link("r"), link("a", mass=9), link("bad", mass=-1), joint("j", "r", "a"), joint("f", "a", "bad", "fixed", "")
    )
    with pytest.warns(sixd.ModelWarning, match="bad: no real body"):
        model = sixd.load(text)
    assert [(f.code, f.where) for f in sixd.check(model)] == [("negative-mass", "bad")]


def test_singular_mass_matrix_raises_and_names(rng):
    """A massless leaf: inverse dynamics and M work, forward dynamics raises, naming joint and body."""
    text = robot(link("r"), link("a"), "<link name='b'/>", joint("j", "r", "a"), joint("k", "a", "b"))
    with pytest.warns(sixd.ModelWarning, match="b: it has no inertia"):
        model = sixd.load(text)
    assert np.isfinite(sixd.inverse_dynamics(model, *rng.normal(size=(3, 2)))).all()
    assert sixd.mass_matrix(model, [0, 0])[1, 1] == 0
    for call in (
        lambda: sixd.forward_dynamics(model, [0, 0], [0, 0], [0, 0]),
        lambda: sixd.inverse_mass_matrix(model, [0, 0]),
        lambda: sixd.mass_matrix_solve(model, [0, 0], [0, 0]),
    ):
        with pytest.raises(
            sixd.SingularError, match=r"joints \['k'\] move no inertia of their own \(they carry \['b'\]\).*model.lock"
        ):
            call()
    assert ("singular-mass-matrix", "k") in [(f.code, f.where) for f in sixd.check(model)]
    assert_allclose(sixd.forward_dynamics(model.lock({"k": 0.3}), [0], [0], [1.0]), [10.0])


# what is broken -------------------------------------------------------------------------------------


def test_broken_files_raise_with_the_line(tmp_path):
    """Broken XML, wrong roots, empty and missing files."""
    fails("<robot name='r'>\n<link name='a'>\n</robot>", "<text>, line 3: the XML is broken: mismatched tag")
    fails(b"", "the file is empty")
    fails(b"hello", "neither XML nor a .mat file")
    fails("<launch/>", "root tag is <launch>", "It is a launch file")
    fails("<robot name='r'/>", "has no <link>")
    fails(str(tmp_path / "none.urdf"), "cannot read", "No such file")
    (tmp_path / "arm.urdf").write_text(CHAIN)
    fails(tmp_path / "army.urdf", "Did you mean 'arm.urdf'")
    fails(tmp_path, "cannot read", "Name the file in that folder")
    with pytest.raises(sixd.ScalarTypeError, match="source is a int"):
        sixd.load(3)


@pytest.mark.parametrize(
    "declaration", ["<!DOCTYPE robot>", "<!DOCTYPE robot [<!ENTITY x SYSTEM 'file:///etc/passwd'>]>"]
)
def test_any_dtd_is_refused(declaration):
    fails(f"<?xml version='1.0'?>\n{declaration}\n{CHAIN}", "line 2: the file has a DTD", "Delete it")


def test_entity_bomb_is_refused():
    bomb = (
        "<!DOCTYPE r [<!ENTITY a 'aaaaaaaaaa'>"
        + "".join(f"<!ENTITY {chr(98 + k)} '{f'&{chr(97 + k)};' * 10}'>" for k in range(8))
        + "]>"
    )
    fails(bomb + "<robot name='&i;'/>", "DTD")


def test_tree_errors_name_links():
    """Disconnected, cyclic, doubly parented, unknown and repeated links and joints."""
    a, b, c = link("a"), link("b"), link("c")
    fails(robot(a, b), "disconnected: 2 links have no parent ('a', 'b')")
    fails(robot(a, b, joint("j", "a", "b"), joint("k", "b", "a")), "the links form a cycle", "a", "b")
    fails(robot(link("r"), a, b, joint("j", "a", "b"), joint("k", "b", "a")), "the links form a cycle")
    fails(robot(a, joint("j", "a", "a")), "the links form a cycle: a -> a")
    fails(robot(a, b, c, joint("j", "a", "c"), joint("k", "b", "c")), "child of two joints, 'j' and 'k'", "line 6")
    fails(robot(a, link("shoulder"), joint("j", "a", "sholder")), "no link named 'sholder'. Did you mean 'shoulder'?")
    fails(robot(a, a), "line 3: a second link named 'a' (the first is on line 2)")
    fails(robot(a, b, c, joint("j", "a", "b"), joint("j", "b", "c")), "a second joint named 'j'")
    fails(robot(a, b, joint("j", "a", "b", "revolut")), "no joint type named 'revolut'. Did you mean 'revolute'?")
    fails(
        robot(a, b, "<joint name='j' type='fixed'><parent link='a'/></joint>"), "joint 'j' has no <child link=\"…\"/>"
    )
    fails(robot("<link/>"), "<link> has no attribute 'name'")


def test_number_errors_give_the_line():
    """Numbers like 0.07, with a comma, NaN, infinity, words, xacro, too few or too many."""

    def with_origin(xyz):
        return robot(link("a"), link("b"), joint("j", "a", "b", inside=f"<origin xyz='{xyz}'/>"))

    fails(with_origin("0 0 0.07,"), "line 4", "'0.07,' is not a finite number. Write 0.07.")
    fails(with_origin("0 nan 0"), "line 4", "'nan' is not a finite number. NaN is not a quantity")
    fails(with_origin("0 inf 0"), "'inf' is not a finite number")
    fails(with_origin("0 1e999 0"), "'1e999' is not a finite number")
    fails(with_origin("0 ${x} 0"), "expand it first")
    fails(with_origin("0 1_0 0"), "'1_0' is not a finite number")
    fails(with_origin("0 0"), "has 2 numbers, expected 3")
    fails(with_origin("0 0 0 0"), "has 4 numbers, expected 3")
    fails(robot(link("a"), link("b", mass="1kg"), joint("j", "a", "b")), "line 3", "'1kg'", "Write a decimal number")
    fails(robot(link("a"), link("b", mass="nan"), joint("j", "a", "b")), "line 3", "NaN")
    fails(
        robot(link("a"), link("b"), joint("j", "a", "b", inside="<axis xyz='0 0 0'/>")), "line 4", "joint 'j' has axis"
    )


def test_no_warning_is_repeated_or_lost():
    """Loading a clean file warns of nothing."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sixd.load(CHAIN)
