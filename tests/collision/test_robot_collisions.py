"""Collision shapes of all robot files in the packages of the tests: counts, pairs, hulls, round trips."""

import warnings
import xml.etree.ElementTree as ET

import numpy as np
import pytest

import sixd
from mujoco_pairs import colliding_geoms, contact_pairs
from peers import mujoco, pin
from robots import DM_CONTROL, FIVE, ROBOTS, RTB, SITE, all_urdfs, pinocchio_model, quiet_load
from sixd.geometry.hulls import convex_hull

pytestmark = [pytest.mark.one_target, pytest.mark.long]

# no robots: a part of another file, a joint without its link, and a file that is empty
BROKEN = {"ur3.urdf", "falcon.urdf", "test.urdf"}
MJCFS = sorted(path for folder in (DM_CONTROL, SITE / "mujoco", RTB, ROBOTS) for path in folder.rglob("*.xml"))


def label(path):
    return "/".join(path.parts[-2:])


def mujocos_model(path):
    """MuJoCo's model of a file, None if it is only a part of a model."""
    mujoco.set_mju_user_warning(lambda text: None)  # it would write a log file
    try:
        return mujoco.MjModel.from_xml_path(str(path))
    except ValueError:
        return None
    finally:
        mujoco.set_mju_user_warning(None)


@pytest.mark.parametrize("path", MJCFS, ids=label)
def test_mjcf(path, rng):
    """Counts and pairs are MuJoCo's; what touches in random poses is among the pairs."""
    theirs = mujocos_model(path)
    if theirs is None:
        pytest.skip("a part of another file")
    model = quiet_load(path)
    geoms = colliding_geoms(theirs)
    assert len(model.collisions) == len(geoms)
    index = {c.name: g for c, g in zip(model.collisions, geoms, strict=True)}
    for c, g in zip(model.collisions, geoms, strict=True):
        assert theirs.geom(g).name in ("", c.name)
    pairs = {tuple(sorted((index[a], index[b]))) for a, b in sixd.collision_pairs(model)}
    assert pairs == contact_pairs(theirs)
    data = mujoco.MjData(theirs)
    theirs.opt.disableflags &= ~int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
    for _ in range(10):
        data.qpos[:] = rng.uniform(-1, 1, theirs.nq)
        mujoco.mj_forward(theirs, data)
        touching = {tuple(sorted(contact.geom.tolist())) for contact in data.contact}
        assert {pair for pair in touching if pair[0] >= 0} <= pairs  # -1 is of flexible bodies


@pytest.mark.parametrize("path", all_urdfs(), ids=label)
def test_urdf(path, tmp_path):
    """Every ``<collision>`` is a shape, with its place on its link; to_urdf keeps them all, or warns."""
    if path.name in BROKEN:
        with pytest.raises(sixd.LoadError):
            sixd.load(path)
        return
    model = quiet_load(path)
    elements = [c for link in ET.parse(path).getroot().findall("link") for c in link.findall("collision")]
    assert len(model.collisions) == len(elements)
    assert not [n for n in model.notes if n.code == "collision"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sixd.ModelWarning)
        again = sixd.load(sixd.to_urdf(model)) if _writable(model) else model
    assert {(c.name, c.body, c.link) for c in again.collisions} == {(c.name, c.body, c.link) for c in model.collisions}
    assert sixd.compare(model, again, ignore=["frames"], states=0).equal


def _writable(model):
    try:
        sixd.to_urdf(model)
    except sixd.ModelError:
        return False
    return True


@pytest.mark.parametrize("path", [p for p in all_urdfs() if p.name not in BROKEN], ids=label)
def test_hulls(path):
    """Every mesh has a hull: of at most 64 vertices, within 1 % of its size or 3 mm of the exact one, inside of it."""
    model = quiet_load(path)
    meshes = {(c.shape.file, c.shape.scale): c.shape for c in model.collisions if c.shape.kind == "mesh"}
    for shape in meshes.values():
        exact, hull = convex_hull(shape, most=None), convex_hull(shape)
        assert len(hull.vertices) <= 64
        size = np.linalg.norm(np.ptp(exact.vertices, axis=0))
        assert hull.deviation <= max(0.018 * size, 1e-3), shape.file  # measured: 0.5 % median, 1.7 % the largest


@pytest.mark.parametrize("name", FIVE)
def test_pairs_are_pinocchios(name):
    """Those of Pinocchio, minus those of bodies and their parents, which it keeps."""
    path = FIVE[name]
    theirs = pinocchio_model(path)
    shapes = pin.buildGeomFromUrdf(theirs, str(path), pin.GeometryType.COLLISION, package_dirs=[str(ROBOTS.parents[1])])
    shapes.addAllCollisionPairs()
    model = quiet_load(path)
    assert len(model.collisions) == shapes.ngeoms
    count = {}
    names = []  # of each of Pinocchio's shapes, which it calls LINK_0, LINK_1 …
    for c in model.collisions:
        count[c.link] = count.get(c.link, -1) + 1
        names.append(f"{c.link}_{count[c.link]}")
    ours = {c.name: n for c, n in zip(model.collisions, names, strict=True)}
    found = {frozenset((ours[a], ours[b])) for a, b in sixd.collision_pairs(model)}
    objects = shapes.geometryObjects
    expected = set()
    for pair in shapes.collisionPairs:
        one, two = objects[pair.first], objects[pair.second]
        a, b = one.parentJoint, two.parentJoint
        if 0 in (a, b) or (theirs.parents[a] != b and theirs.parents[b] != a):
            expected.add(frozenset((one.name, two.name)))
    assert found == expected
