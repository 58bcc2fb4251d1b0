"""spatial_v2's drawing instructions, camera and showmotion."""

import urllib.request

import numpy as np
import pytest

import sixd
import sixd.spatial_v2 as sv
from sixd.io.spatial_v2.drawing import read_appearance

RED, GREEN, BLUE = np.eye(3)
BOX = ["box", [[0, 0, 0], [1, 2, 3]]]


def draw(*items, base=()):
    """The visuals of one body's instructions."""
    found = read_appearance("draw", {"base": list(base), "body": [list(items)]}, 1)
    return [v for v in found if v.body or base]


def only(*items, **options):
    (visual,) = draw(*items, **options)
    return visual


def area(shape):
    a, b, c = (np.asarray(shape.vertices)[shape.triangles[:, k]] for k in range(3))
    return np.linalg.norm(np.cross(b - a, c - a), axis=1).sum() / 2


def enclosed(shape):
    """The volume inside a closed mesh; positive if its triangles run counter-clockwise seen from outside."""
    a, b, c = (np.asarray(shape.vertices)[shape.triangles[:, k]] for k in range(3))
    return (np.cross(a, b) * c).sum() / 6


# instructions -------------------------------------------------------------------------------------


def test_box():
    visual = only("box", [[1, 5, 3], [0, 2, 7]])
    assert (visual.shape.kind, visual.shape.size) == ("box", (1.0, 3.0, 4.0))
    assert visual.pose[:3, 3].tolist() == [0.5, 3.5, 5.0]


def test_cylinder_lies_between_the_centres_of_its_faces():
    ends = np.array([[1.0, 2, 3], [2, 0, 5]])
    visual = only("cyl", ends, 0.2)
    assert visual.shape.kind == "cylinder"
    assert np.allclose(visual.shape.size, (0.2, 3))
    for z, end in zip((-1.5, 1.5), ends, strict=True):
        assert np.allclose(visual.pose @ [0, 0, z, 1], [*end, 1])
    assert np.isclose(np.linalg.det(visual.pose[:3, :3]), 1)


@pytest.mark.parametrize("n", [3, 4, 7, 12])
def test_few_facets_are_seen(n):
    """A cylinder of n facets is a prism: its volume is that of a regular n-gon times its length."""
    shape = only("facets", n, "cyl", [[0, 0, 0], [0, 0, 2]], 0.5).shape
    wanted = n / 2 * 0.25 * np.sin(2 * np.pi / n)
    assert np.isclose(enclosed(shape), wanted * 2)
    assert np.isclose(area(shape), 2 * wanted + 2 * n * 2 * 0.5 * np.sin(np.pi / n))


def test_sphere():
    visual = only("sphere", [1, 2, 3], 0.5)
    assert (visual.shape.kind, visual.shape.size) == ("sphere", (0.5,))
    assert visual.pose[:3, 3].tolist() == [1, 2, 3]


def test_facets_of_a_sphere_round_up_to_a_multiple_of_four():
    """Nine facets are drawn as twelve."""
    shape = only("facets", 9, "sphere", [0, 0, 0], 1).shape
    around = {round(float(np.arctan2(y, x)), 6) % round(2 * np.pi, 6) for x, y, z in shape.vertices if abs(z) < 1e-9}
    assert len(around) == 12
    assert 0 < enclosed(shape) < 4 / 3 * np.pi


def test_sphere_of_two_colours_by_octant():
    visuals = draw("colour", [RED, BLUE], "sphere", [0, 0, 0], 1.0)
    assert [v.color for v in visuals] == [(1, 0, 0, 1), (0, 0, 1, 1)]
    for visual, sign in zip(visuals, (1, -1), strict=True):
        middle = visual.shape.vertices[visual.shape.triangles].mean(axis=1)
        assert (np.sign(middle.prod(axis=1)) == sign).all()
    assert np.isclose(*(area(v.shape) for v in visuals))


def test_line_through_coordinates_or_numbers_of_vertices():
    points = np.arange(12.0).reshape(4, 3)
    assert only("line", points[:2]).shape.vertices.tolist() == points[:2].tolist()
    by_number = only("vertices", points, "line", [4, 1, 2])
    assert by_number.shape.vertices.tolist() == points[[3, 0, 1]].tolist()
    # any vector counts as numbers, a row and a column too
    assert only("vertices", points, "line", np.array([[1], [2]])).shape.vertices.tolist() == points[:2].tolist()


def test_triangles():
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    visual = only("vertices", points, "triangles", [[1, 3, 2], [1, 2, 4], [2, 3, 4], [1, 4, 3]])
    assert np.isclose(enclosed(visual.shape), 1 / 6)


@pytest.mark.parametrize(("normal", "away"), [(0, False), (1, True), (2, False), (2, True)])
def test_tiles(normal, away):
    """[1 2; 3 4; -1 -1] by 0.4: 4 whole tiles, 4 halves and a quarter, all facing one side."""
    ranges = np.zeros((3, 2))
    ranges[normal] = -1, -2 if away else -1
    ranges[(normal + 1) % 3], ranges[(normal + 2) % 3] = (1, 2), (3, 4)
    visual = only(base=["tiles", ranges, 0.4])
    assert visual.color == (0.3, 0.3, 0.3, 1)
    a, b, c = (visual.shape.vertices[visual.shape.triangles[:, k]] for k in range(3))
    normals = np.cross(b - a, c - a)
    assert (normals[:, normal] * (-1 if away else 1) > 0).all()
    assert np.allclose(visual.shape.vertices[:, normal], -1)
    n = len(normals) // 2
    sizes = sorted(round(2 * x / 0.16, 1) for x in np.linalg.norm(normals, axis=1)[:n] / 2)
    assert sizes == [0.2] + [0.4] * 4 + [0.9] * 4  # a little less than 1/4, 1/2 and 1: there are joints between tiles


def test_settings_of_a_list_stay_in_it():
    """{Cr, B, {B, Cg, B, Cb, B}, B}: red, red, green, blue, red."""
    red, green, blue = (["colour", c] for c in (RED, GREEN, BLUE))
    visuals = draw(*red, *BOX, [*BOX, *green, *BOX, *blue, *BOX], *BOX)
    assert [v.color[:3] for v in visuals] == [tuple(c) for c in (RED, RED, GREEN, BLUE, RED)]


def test_inherited_vertices_and_facets():
    points = [[0, 0, 0], [1, 0, 0]]
    assert draw("vertices", points, ["line", [1, 2]])[0].shape.vertices.tolist() == points
    assert draw("facets", 4, [["cyl", points, 1]])[0].shape.kind == "mesh"


def test_default_colours():
    """The base has its own; bodies leave it to the viewer."""
    assert only(*BOX).color is None
    assert only(base=BOX).color == (0.4, 0.3, 0.2, 1)


FAULTS = {
    "at location {2}{3} in the drawing instructions of body number 1: no instruction named 'bx'. Did you mean 'box'?": [
        [],
        [*BOX, "bx"],
    ],
    "at location {1} in the drawing instructions of body number 1: there is 3, expected the name of an instruction": [
        3
    ],
    "'cyl' lacks an argument, expected 2": ["cyl", [[0, 0, 0], [1, 0, 0]]],
    "'box' has the shape (3,), expected 2×3 coordinates": ["box", [1, 2, 3]],
    "'box' has 'x', expected numbers": ["box", "x"],
    "'sphere' has the size -1, expected one positive number": ["sphere", [0, 0, 0], -1],
    "'sphere' has the centre [0, 0], expected three numbers": ["sphere", [0, 0], 1],
    "'cyl' has two equal end points": ["cyl", [[0, 0, 0], [0, 0, 0]], 1],
    "'colour' has [2, 0, 0], expected one or two rows of three numbers of 0 … 1": ["colour", [2, 0, 0]],
    "'facets' has 2, expected a whole number of at least 3": ["facets", 2],
    "'vertices' has the shape (1, 3), expected n×3 coordinates": ["vertices", [[0, 0, 0]]],
    "'line' has numbers of vertices, but there are no vertices": ["line", [1, 2]],
    "'line' has [1.0, 5.0], expected numbers of vertices, 1 … 2": ["vertices", [[0, 0, 0], [1, 0, 0]], "line", [1, 5]],
    "'triangles' needs at least three vertices": ["vertices", [[0, 0, 0], [1, 0, 0]], "triangles", [[1, 2, 2]]],
    "'triangles' has the shape (1, 2), expected n×3": ["vertices", np.eye(3), "triangles", [[1, 2]]],
    "'tiles' is among the instructions of a body": ["tiles", [[0, 1], [0, 1], [0, 0]], 0.1],
    "'box' has [[nan, 0.0, 0.0], [1.0, 1.0, 1.0]], expected finite numbers": ["box", [[np.nan, 0, 0], [1, 1, 1]]],
}


@pytest.mark.parametrize("message", FAULTS)
def test_mistakes_are_reported_with_their_location(message):
    with pytest.raises(sixd.ModelError) as caught:
        draw(*FAULTS[message])
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("ranges", "message"),
    [
        ([[0, 1], [0, 1], [0, 1]], "with exactly two ranges of positive length"),
        ([[0, 1], [0, 0.1], [0, 0]], "at least 1.5 each way"),
    ],
)
def test_mistakes_of_tiles(ranges, message):
    with pytest.raises(sixd.ModelError, match=message):
        draw(base=["tiles", ranges, 0.1])


def test_mistakes_of_the_whole_appearance():
    with pytest.raises(sixd.ModelError, match="appearance.body has 1 entries, expected a list for each of 2"):
        read_appearance("load", {"body": [[]]}, 2)
    with pytest.raises(sixd.ModelError, match="appearance is 3, expected a structure"):
        read_appearance("load", 3, 1)


# models -------------------------------------------------------------------------------------------

MODELS = {
    "autoTree": lambda: sv.autoTree(4, 2), "planar": lambda: sv.planar(3), "vee": sv.vee, "scissor": sv.scissor,
    "singlebody": sv.singlebody, "doubleElbow": sv.doubleElbow, "rollingdisc": lambda: sv.rollingdisc(12),
    "gfxExample": sv.gfxExample, "gfxExample track": lambda: sv.gfxExample(1),
}  # fmt: skip


@pytest.fixture
def show():
    """showmotion without a browser; its server is closed afterwards."""
    viewers = []

    def call(*arguments, **options):
        viewers.append(sv.showmotion(*arguments, open_browser=False, **options))
        return viewers[-1]

    yield call
    for viewer in viewers:
        viewer.close()


@pytest.mark.parametrize("name", MODELS)
def test_appearance_is_carried_by_load(name):
    model = MODELS[name]()
    loaded = sixd.load(model)
    assert loaded.visuals
    assert len(loaded.visuals) == len(sv.to_model(model).visuals)


@pytest.mark.parametrize("name", MODELS)
def test_save_and_load_give_the_same_picture(name, show, tmp_path):
    """showmotion('save', file), showmotion(file): the same scene, to the bit."""
    first = show(MODELS[name]())
    sv.showmotion("about", {"author": "A. Body", "title": "A motion"})
    path = sv.showmotion("save", tmp_path / "motion.mat")
    again = show(str(path.with_suffix("")))
    for key in ("geometries", "visuals", "trajectories", "camera", "kinematics"):
        assert first.scene[key] == again.scene[key]
    assert again.scene["title"] == "A motion"
    assert sv.showmotion("about")["author"] == "A. Body"
    assert sixd.load(path).visuals


def test_ramps_without_data(show):
    """Each joint goes from 0 to 1 and back within a second, one after another: t = 0, ½, …, NB."""
    from sixd.spatial_v2.motion import ramps

    t, q = ramps(3)
    assert t.tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3]
    assert q.tolist() == [[0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 0, 0, 1, 0]]
    assert show(sv.planar(3)).scene["trajectories"][0]["t"]["length"] == 7


def test_motion_by_columns(show):
    """q_data is NB×n or NB×1×n; times may repeat, where the motion jumps."""
    t, q = [0, 1, 1, 2], np.arange(8.0).reshape(2, 4)
    flat, deep = show(sv.planar(2), t, q), show(sv.planar(2), t, q[:, None])
    assert flat.scene["trajectories"] == deep.scene["trajectories"]


@pytest.mark.parametrize(
    ("t", "q", "message"),
    [
        ([0, 1], np.zeros((3, 2)), "q_data has shape (3, 2), expected 2×2"),
        ([0, 1], np.zeros((2, 3)), "q_data has shape (2, 3), expected 2×2"),
        ([1, 0], np.zeros((2, 2)), "t_data is not ascending"),
        ([1, 1], np.zeros((2, 2)), "t_data is not ascending"),
        ([0, 1], None, "only one of t_data and q_data is passed"),
        ([0, 1], "x", "q_data is 'x', expected numbers"),
    ],
)
def test_wrong_motions(t, q, message):
    with pytest.raises(sixd.SixdError) as caught:
        sv.showmotion(sv.planar(2), t, q)
    assert message in str(caught.value)


def test_camera_follows_its_body(show):
    camera = show(sv.gfxExample(1)).scene["camera"]
    assert camera["track"] == "body2"
    assert np.allclose(camera["target"], [1.5, 0, 0])  # the track point, half along the second rod
    direction = np.subtract(camera["position"], camera["target"])
    assert np.allclose(direction / np.linalg.norm(direction), np.array([0, -1, 0.8]) / np.hypot(1, 0.8))


def test_zoom_brings_the_camera_nearer(show):
    def distance(zoom):
        camera = show(sv.planar(2) | {"camera": {"zoom": zoom}}).scene["camera"]
        return np.linalg.norm(np.subtract(camera["position"], camera["target"]))

    assert np.isclose(distance(1), 2 * distance(2))


def test_a_planar_model_with_gravity_is_seen_upright(show):
    """Gravity along -y: the page's up is y of the model, and the camera looks along its z from slightly above."""
    camera = show(sv.planar(2) | {"gravity": [0, -9.81]}).scene["camera"]
    assert np.allclose(camera["up"], [0, 0, 1])
    direction = np.subtract(camera["position"], camera["target"])
    assert np.allclose(direction / np.linalg.norm(direction), np.array([0, -1, 0.4]) / np.hypot(1, 0.4))


@pytest.mark.parametrize(
    ("camera", "message"),
    [
        ({"body": 3}, "camera.body is 3, expected 0 … 2"),
        ({"zoom": 0}, "camera.zoom is 0.0, expected a positive number"),
        ({"direction": [0, 0, 0]}, "camera.direction is [0.0, 0.0, 0.0], expected a direction"),
        ({"up": [0, -1, 0.8]}, "camera.up is parallel to camera.direction"),
        ({"locus": [1, 2, 3]}, "camera.locus has shape (3,), expected a vector of 2 numbers"),
    ],
)
def test_wrong_cameras(camera, message):
    with pytest.raises(sixd.SixdError) as caught:
        sv.showmotion(sv.planar(2) | {"camera": camera})
    assert message in str(caught.value)


def test_one_picture_at_a_time(show):
    first = show(sv.planar(1))
    show(sv.planar(2))
    with pytest.raises(OSError, match="refused"):
        urllib.request.urlopen(first.url, timeout=5)


# files --------------------------------------------------------------------------------------------


def test_description_is_read_from_a_file(show, tmp_path, capsys):
    show(sv.planar(1))
    (tmp_path / "words.txt").write_text("Two words.")
    assert sv.showmotion("about", {"description": str(tmp_path / "words.txt")})["description"] == "Two words."
    sv.showmotion("about")
    assert "description: Two words." in capsys.readouterr().out
    assert sv.showmotion("about", {"description": ""})["description"] == ""
    with pytest.raises(sixd.LoadError, match="the description '.*' cannot be read"):
        sv.showmotion("about", {"description": str(tmp_path / "none.txt")})
    with pytest.raises(sixd.ScalarTypeError, match="expected a dictionary with author, title, description"):
        sv.showmotion("about", {"colour": 1})


def test_files_that_are_not_showmotions(show, tmp_path):
    from scipy.io import savemat

    def refused(message, **content):
        savemat(tmp_path / "x.mat", content)
        with pytest.raises(sixd.LoadError, match=message):
            sv.showmotion(tmp_path / "x.mat")

    model = {"NB": 1}
    data = {"model": model, "t_data": [0, 1], "q_data": [0, 1]}
    refused("is not a file of showmotion: it lacks q_data, about", model=model, t_data=[0, 1])
    refused("its about.playable lacks 2", **data, about={"playable": [1, 3]})
    (tmp_path / "x.mat").write_bytes(b"nonsense")
    with pytest.raises(sixd.LoadError, match="cannot be read as a .mat file"):
        sv.showmotion(tmp_path / "x.mat")
    with pytest.raises(sixd.LoadError, match="cannot read '.*none': No such file"):
        sv.showmotion(tmp_path / "none")
    show(sv.planar(1))
    with pytest.raises(sixd.FileError, match="cannot write"):
        sv.showmotion("save", tmp_path / "no folder" / "x.mat")
    with pytest.raises(sixd.ScalarTypeError, match="the file is None, expected its name"):
        sv.showmotion("save")
    with pytest.raises(sixd.ScalarTypeError, match="the first argument is a int, expected a model"):
        sv.showmotion(3)


def test_nothing_to_save_before_anything_is_shown(monkeypatch):
    import sixd.spatial_v2.motion as motion

    fresh = motion._Shown()
    fresh.about = {}
    monkeypatch.setattr(motion, "_shown", fresh)
    for form in (("save", "x.mat"), ("about",)):
        with pytest.raises(sixd.ModelError, match="no motion was shown yet"):
            sv.showmotion(*form)
