"""The page: safe and complete in one file; and, in a real browser, what it shows and how it answers."""

import base64
import hashlib
import html as markup
import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import sixd
from browser import Watched, chromium
from sixd.viewer.page import PROGRAM, html

UNIT = [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
# a post that turns about z and a slide along its x; a brick that is free, its quaternion w x y z first
KINEMATICS = """
const c = Math.cos(q[0]), s = Math.sin(q[0]);
out.set([c, -s, 0, 0, s, c, 0, 0, 0, 0, 1, 0.2], 0);
out.set([c, -s, 0, c * q[1], s, c, 0, s * q[1], 0, 0, 1, 0.5], 12);
const w = q[2], x = q[3], y = q[4], z = q[5];
out.set([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y), q[6],
         2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x), q[7],
         2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y), q[8]], 24);
"""
START = [0.3, 0.3, 1, 0, 0, 0, -0.5, 0, 0.4]
HOSTILE = "</script><script>alert(1)</script><!--\u2028\ud800&amp;'\""


def packed(values, kind="float32"):
    data = np.ascontiguousarray(values, dtype=kind).ravel()
    return {"type": kind, "length": data.size, "data": base64.b64encode(data.tobytes()).decode()}


def body(name, radius=0.1):
    ellipsoid = {"axes": [1, 0, 0, 0, 1, 0, 0, 0, 1], "radii": [radius, radius, 2 * radius]}
    return {"name": name, "mass": 1.0, "com": [0.05, 0, 0], "ellipsoid": ellipsoid}


def joint(name, kind, body, first, labels, lower=None, upper=None):
    n = len(labels)
    limits = {"lower": [lower] * n, "upper": [upper] * n}
    return {"name": name, "kind": kind, "body": body, "q": [first, first + n], "labels": labels, **limits}


def make_scene(**changes):
    """A small mechanism with a turning, a sliding and a free joint."""
    pyramid = [[0, 0, 0.1], [0.1, 0.1, -0.1], [-0.1, 0.1, -0.1], [-0.1, -0.1, -0.1], [0.1, -0.1, -0.1]]
    sides = [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 1], [1, 3, 2], [1, 4, 3]]
    geometries = [
        {"kind": "cylinder", "size": [0.05, 0.4]},
        {"kind": "box", "size": [0.4, 0.1, 0.1]},
        {"kind": "mesh", "positions": packed(pyramid), "indices": packed(sides, "uint32"), "smooth": False},
        {"kind": "line", "positions": packed([[0, 0, 0], [0.3, 0.3, 0.3]])},
        {"kind": "capsule", "size": [0.04, 0.1]},
        {"kind": "sphere", "size": [0.05]},
        {"kind": "ellipsoid", "size": [0.05, 0.06, 0.07]},
    ]
    bodies = [1, 2, 3, 0, 2, 3, 0]
    colors = [[0.3, 0.5, 0.8, 1], [0.9, 0.5, 0.2, 1], [0.4, 0.7, 0.4, 1], [0.2, 0.2, 0.2, 1]] + [[0.6, 0.4, 0.6, 1]] * 3
    visuals = [{"body": b, "geometry": k, "pose": UNIT, "color": colors[k]} for k, b in enumerate(bodies)]
    joints = [
        joint("turn", "revolute", 1, 0, ["turn"], -1.0, 1.0),
        joint("slide", "prismatic", 2, 1, ["slide"]),
        joint("float", "free", 3, 2, ["qw", "qx", "qy", "qz", "x", "y", "z"]),
    ]
    return {
        "format": 1, "title": "test", "bodies": [{"name": "world"}, body("post"), body("rod"), body("brick")],
        "geometries": geometries, "visuals": visuals, "frames": [{"name": "tool", "body": 2, "pose": UNIT}],
        "joints": joints, "nq": 9, "q": START, "kinematics": KINEMATICS, "trajectories": [], "camera": None,
        "settings": {"play": False}, **changes,
    }  # fmt: skip


def motion(records=41, duration=2.0, **changes):
    """The post swings, the rod slides, the brick turns half round about x and moves along y."""
    t = np.linspace(0, duration, records)
    q = np.tile(START, (records, 1))
    q[:, 0], q[:, 1] = np.sin(2 * t), 0.3 + 0.1 * t
    q[:, 2], q[:, 3], q[:, 7] = np.cos(0.25 * np.pi * t), np.sin(0.25 * np.pi * t), 0.2 * t
    points = np.tile([[0.5, 0, 0], [-0.5, 0, 0]], (records, 1, 1))
    forces = np.tile([[0, 0, 10.0], [0, 3.0, 5.0]], (records, 1, 1)) * (1 + t[:, None, None])
    energy = [{"label": "kinetic", "values": packed(np.sin(t))}, {"label": "total", "values": packed(1 + 0 * t)}]
    plots = [{"title": "energy [J]", "series": energy}, {"title": "q", "series": [{"label": "turn", "coordinate": 0}]}]
    return {
        "name": "swing", "color": None, "offset": [0, 0, 0], "ghost": False, "t": packed(t, "float64"), "q": packed(q),
        "plots": plots, "contacts": {"count": 2, "points": packed(points), "forces": packed(forces)}, **changes,
    }  # fmt: skip


# the file -----------------------------------------------------------------------------------------


class Elements(HTMLParser):
    """The elements of a page, with the text of its scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.texts, self.title = [], [], ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        if tag in ("script", "style"):
            self.texts.append((tag, dict(attributes), ""))

    def handle_data(self, data):
        tag = self.tags[-1][0] if self.tags else ""
        if tag in ("script", "style") and self.cdata_elem:
            self.texts[-1] = (*self.texts[-1][:2], self.texts[-1][2] + data)
        elif tag == "title":
            self.title += data


def test_page_names_nothing_outside_itself():
    page = Elements(html(make_scene()))
    for tag, attributes in page.tags:
        for name in ("src", "href", "action", "srcset", "poster"):
            assert attributes.get(name, "#").startswith(("#", "data:")), (tag, attributes)
    assert not [tag for tag, _ in page.tags if tag in ("iframe", "object", "embed", "base")]


def test_policy_admits_just_the_scripts_and_the_style_that_are_there():
    page = Elements(html(make_scene()))
    policy = next(a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))

    def hashes(tag):
        found = [text for kind, a, text in page.texts if kind == tag and a.get("type") != "application/json"]
        return {f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'" for text in found}

    assert rules["default-src"] == "'none'"
    assert set(rules["script-src"].split()) == hashes("script")
    assert set(rules["style-src"].split()) == hashes("style")
    assert "connect-src" not in rules
    assert "unsafe" not in policy
    assert "connect-src 'self'" in html(make_scene(server="/state"))


def test_hostile_names_stay_text():
    """A name that looks like markup changes neither the number of elements nor what the page reads."""
    scene = make_scene(title=HOSTILE, bodies=[{"name": HOSTILE}, body(HOSTILE), body("rod"), body("{{program}}")])
    hostile, plain = Elements(html(scene)), Elements(html(make_scene()))
    assert [tag for tag, _ in hostile.tags] == [tag for tag, _ in plain.tags]
    (text,) = [text for _, a, text in hostile.texts if a.get("id") == "scene"]
    assert json.loads(text) == {k: v for k, v in scene.items() if k != "kinematics"}
    html(scene).encode("utf-8")


def test_a_script_cannot_be_ended_by_its_source():
    assert len(re.findall("</script", html(make_scene(kinematics="if (1</script>/.x) {}")))) == 3


def test_numbers_that_json_lacks_become_null():
    page = Elements(html(make_scene(q=[float("nan"), float("inf"), 1.5])))
    (text,) = [text for _, a, text in page.texts if a.get("id") == "scene"]
    assert json.loads(text)["q"] == [None, None, 1.5]


def test_every_file_of_the_program_is_used():
    from sixd.viewer.page import FOLDER

    assert {path.name for path in FOLDER.iterdir()} == {*PROGRAM, "page.html", "style.css"}


def test_a_minute_of_a_humanoid_stays_below_ten_megabytes():
    """60 s at 60 records a second, 28 coordinates, their rates and forces and the energy plotted: only the data."""
    records, n = 3600, 28
    rng = np.random.default_rng(0)
    columns = [[{"label": f"joint {k}", "values": packed(rng.normal(size=records))} for k in range(n)] for _ in "vf"]
    plots = [
        {"title": "q", "series": [{"label": f"joint {k}", "coordinate": k} for k in range(n)]},
        *({"title": title, "series": series} for title, series in zip(("qd", "tau"), columns, strict=True)),
        {"title": "energy", "series": [{"label": "total", "values": packed(rng.normal(size=records))}] * 3},
    ]
    q = packed(rng.normal(size=(records, n)))
    t = packed(np.arange(records) / 60, "float64")
    # 4 MB of meshes is what a scene may hold
    mesh = {"kind": "mesh", "positions": packed(np.zeros((250_000, 3))), "indices": packed(np.zeros(300_000), "uint32")}
    changes = {"t": t, "q": q, "plots": plots, "contacts": None}
    scene = make_scene(nq=n, q=[0.0] * n, geometries=[mesh], visuals=[], trajectories=[motion(**changes)])
    assert len(html(scene).encode()) < 10e6


# the picture --------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture(scope="module")
def opened(browser, tmp_path_factory):
    """Opens scenes, each in a page of its own; the camera does not move smoothly, so that a picture is there at once."""
    pages = []

    def open_scene(scene, **options):
        path = tmp_path_factory.mktemp("page") / "a page.html"
        path.write_text(html(scene), encoding="utf-8")
        pages.append(Watched(browser, reduced_motion="reduce", **options).open(path))
        return pages[-1]

    yield open_scene
    for watched in pages:
        watched.page.close()


@pytest.fixture(scope="module")
def moving(opened):
    return opened(make_scene(trajectories=[motion()], settings={"play": False, "panel": True}))


@pytest.fixture(scope="module")
def resting(opened):
    return opened(make_scene(settings={"panel": True}))


def test_loads_from_a_file_without_complaint_or_request(moving, resting):
    for watched in (moving, resting):
        assert watched.complaints == []
        assert watched.outside == []


def test_page_executes_no_text(moving):
    """The policy forbids what an injected text would need; in a timer, for the driver's own calls are exempt."""
    attempt = "() => { try { done(new Function('return 1')()); } catch (e) { done(e.name); } }"
    assert moving.page.evaluate(f"new Promise((done) => setTimeout({attempt}))") == "EvalError"


def test_picture_shows_the_bodies(moving):
    full = moving.picture()
    moving.set("bodies", "hidden")
    empty = moving.picture()
    moving.set("bodies", "solid")
    assert full != empty
    assert moving.picture() == full


def test_playing_moves_the_picture_and_pausing_holds_it(moving):
    page = moving.page
    before = moving.picture()
    page.click("#t-play")
    moving.until("sixd.time > 0.1")
    assert page.evaluate("sixd.playing")
    page.click("#t-play")
    held, time = moving.picture(), page.evaluate("sixd.time")
    assert held != before
    # nothing is drawn while nothing changes
    page.wait_for_timeout(300)
    frames = page.evaluate("sixd.frames")
    page.wait_for_timeout(200)
    assert page.evaluate("[sixd.frames, sixd.time, sixd.playing]") == [frames, time, False]
    assert moving.picture() == held


def scrub(watched, fraction):
    watched.page.locator("#t-scrub").evaluate(
        "(slider, x) => { slider.value = x; slider.dispatchEvent(new Event('input')); }", fraction
    )


def test_scrubbing_there_and_back_gives_the_same_picture(moving):
    scrub(moving, 0.25)
    first = moving.picture()
    assert moving.page.evaluate("sixd.time") == pytest.approx(0.5, abs=1e-12)
    assert moving.page.inner_text("#t-time").startswith("0.500")
    scrub(moving, 0.8)
    assert moving.picture() != first
    scrub(moving, 0.25)
    assert moving.picture() == first


def test_configuration_between_records_lies_on_the_line_and_on_the_arc(moving):
    """Real coordinates are interpolated linearly, quaternions by the arc; the records are those of float32."""
    moving.page.evaluate("sixd.seek(0.4625)")
    q = moving.page.evaluate("sixd.configuration")
    line = 0.75 * np.sin(0.9) + 0.25 * np.sin(1.0)
    half = 0.25 * np.pi * 0.4625
    # 1e-6: the records are stored in single precision
    np.testing.assert_allclose(q[:2], [line, 0.34625], atol=1e-6)
    np.testing.assert_allclose(q[2:6], [np.cos(half), np.sin(half), 0, 0], atol=1e-6)
    assert np.linalg.norm(q[2:6]) == pytest.approx(1, abs=1e-14)
    c, s = np.cos(q[0]), np.sin(q[0])
    pose = np.reshape(moving.page.evaluate("sixd.bodyPose('rod')"), (4, 4)).T
    expected = [[c, -s, 0, c * q[1]], [s, c, 0, s * q[1]], [0, 0, 1, 0.5], [0, 0, 0, 1]]
    np.testing.assert_allclose(pose, expected, atol=1e-6)  # single precision, as the graphics card has it


def test_a_quaternion_of_the_other_sign_is_the_same_turn(opened):
    source = motion(records=3)
    q = np.frombuffer(base64.b64decode(source["q"]["data"]), dtype="float32").reshape(3, 9).copy()
    q[1, 2:6] *= -1
    watched = opened(make_scene(trajectories=[{**source, "q": packed(q), "plots": []}]), width=320, height=240)
    watched.page.evaluate("sixd.seek(0.5)")
    found = np.array(watched.page.evaluate("sixd.configuration"))[2:6]
    half = 0.25 * np.pi * 0.5
    assert abs(found @ [np.cos(half), np.sin(half), 0, 0]) == pytest.approx(1, abs=1e-6)  # single precision


def test_keys_step_play_and_switch(moving):
    page = moving.page
    page.evaluate("sixd.seek(1)")
    page.focus("#view")
    for key, time in (("ArrowRight", 1.05), ("ArrowLeft", 1.0), ("Shift+ArrowLeft", 0.5), ("End", 2.0), ("Home", 0.0)):
        page.keyboard.press(key)
        assert page.evaluate("sixd.time") == pytest.approx(time, abs=1e-12), key
    page.keyboard.press("+")
    assert page.evaluate("sixd.options.speed") == 2
    page.keyboard.press("-")
    for key, name in (("f", "frames"), ("l", "loop"), ("r", "reverse"), ("t", "trails")):
        before = bool(page.evaluate(f"sixd.options.{name}"))
        page.keyboard.press(key)
        assert bool(page.evaluate(f"sixd.options.{name}")) is not before
        page.keyboard.press(key)
    page.keyboard.press(" ")
    assert page.evaluate("sixd.playing")
    page.keyboard.press(" ")
    assert not page.evaluate("sixd.playing")
    page.keyboard.press("?")
    assert page.locator("#help").is_visible()
    page.keyboard.press("Escape")
    assert not page.locator("#help").is_visible()


def test_loop_and_reverse(moving):
    page = moving.page
    moving.set("speed", 10)
    moving.set("loop", False)
    page.evaluate("(sixd.seek(1.9), sixd.play())")
    moving.until("!sixd.playing")
    assert page.evaluate("sixd.time") == 2
    moving.set("reverse", True)
    page.evaluate("sixd.play()")
    moving.until("!sixd.playing")
    assert page.evaluate("sixd.time") == 0
    moving.set("reverse", False)
    moving.set("loop", True)
    page.evaluate("(sixd.seek(1.99), sixd.play())")
    moving.until("sixd.time < 1.9")
    assert page.evaluate("sixd.playing")
    page.evaluate("sixd.pause()")
    moving.set("speed", 1)


SWITCHES = ["grid", "shadows", "frames", "axes", "com", "inertia", "contacts", "trails"]


def test_each_switch_changes_the_picture_and_gives_it_back(moving):
    page = moving.page
    page.evaluate("sixd.seek(1.5)")
    page.click("#b-display")
    before = moving.picture()
    pictures = {before}
    for name in SWITCHES:
        page.click(f"#s-{name}")
        pictures.add(moving.picture())
        page.click(f"#s-{name}")
    assert len(pictures) == 1 + len(SWITCHES)
    assert moving.picture() == before
    pictures = {before}
    for look in ("Clear", "Wire", "None"):
        page.click(f"#m-display >> text='{look}'")
        pictures.add(moving.picture())
    assert len(pictures) == 4
    page.click("#m-display >> text='Solid'")
    page.click("#b-display")
    assert moving.picture() == before


def test_names_are_written_beside_the_bodies(moving):
    moving.set("names", True)
    moving.picture()
    assert "brick" in moving.page.locator("#labels span").all_inner_texts()
    moving.set("names", False)


def test_camera_turns_moves_zooms_and_returns(moving):
    page = moving.page
    page.evaluate("(sixd.seek(0), sixd.view('iso'))")
    home = moving.picture()
    pictures = {home}
    for modifier in (None, "Shift"):
        page.mouse.move(120, 200)
        if modifier:
            page.keyboard.down(modifier)
        page.mouse.down()
        page.mouse.move(180, 230)
        page.mouse.up()
        if modifier:
            page.keyboard.up(modifier)
        pictures.add(moving.picture())
    page.mouse.wheel(0, -300)
    page.wait_for_timeout(50)
    pictures.add(moving.picture())
    for view in ("front", "side", "top"):
        page.evaluate(f"sixd.view('{view}')")
        pictures.add(moving.picture())
    assert len(pictures) == 7
    page.evaluate("sixd.view('iso')")
    assert moving.picture() == home


def test_double_click_beside_the_bodies_shows_everything(moving):
    page = moving.page
    page.evaluate("sixd.view('iso')")
    distance = page.evaluate("sixd.camera.distance")
    page.mouse.move(20, 270)
    page.mouse.wheel(0, 600)
    moving.until(f"sixd.camera.distance > {distance} * 1.2")
    page.mouse.dblclick(20, 270)
    assert page.evaluate("sixd.camera.distance") == pytest.approx(distance)


def test_camera_follows_a_body(moving):
    page = moving.page
    page.evaluate("sixd.seek(0)")
    moving.set("follow", "brick")
    away = "sixd.draw(), sixd.camera.target.map((x, i) => x - sixd.bodyPose('brick')[12 + i])"
    page.evaluate("sixd.seek(2)")
    np.testing.assert_allclose(page.evaluate(away), 0, atol=1e-6)  # poses are in single precision
    moving.set("follow", "")


def test_plots_are_drawn_and_scrub(moving):
    page = moving.page
    page.evaluate("sixd.seek(0)")
    plot = page.locator("#dock .plot canvas").first
    blue = """(canvas) => {
      const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
      let count = 0;
      for (let i = 0; i < data.length; i += 4) if (data[i + 3] > 128 && data[i + 2] > data[i] + 100) count++;
      return count;
    }"""
    moving.picture()
    assert plot.evaluate(blue) > 100  # the first line's colour
    assert page.locator("#dock .plot").count() == 2
    before = plot.evaluate("(canvas) => canvas.toDataURL()")
    box = plot.bounding_box()
    page.mouse.click(box["x"] + 46 + (box["width"] - 54) / 2, box["y"] + 40)
    assert page.evaluate("sixd.time") == pytest.approx(1, abs=0.02)  # a pixel of the plot
    page.mouse.move(5, 300)
    moving.picture()
    assert plot.evaluate("(canvas) => canvas.toDataURL()") != before
    values = page.locator("#dock .plot").first.locator(".chip em").all_inner_texts()
    assert float(values[0]) == pytest.approx(np.sin(1), abs=0.01)
    assert values[1] == "1.000"
    page.locator("#dock .chip").first.click(modifiers=["Shift"])
    moving.picture()
    assert plot.evaluate(blue) == 0
    page.locator("#dock .chip").first.click(modifiers=["Shift"])


def pressed(box):
    return [chip.get_attribute("aria-pressed") == "true" for chip in box.locator(".chip").all()]


def test_a_click_on_a_name_shows_its_line_alone(moving):
    plot = moving.page.locator("#dock .plot").first
    assert pressed(plot) == [True, True]
    plot.locator(".chip").nth(1).click()
    assert pressed(plot) == [False, True]
    plot.locator(".chip").nth(0).click()  # another one instead
    assert pressed(plot) == [True, False]
    plot.locator(".chip").nth(0).click()
    assert pressed(plot) == [True, True]


def test_a_click_on_the_name_of_a_plot_shows_it_alone(moving):
    plots = moving.page.locator("#dock .plot")
    low = plots.nth(1).locator("canvas").bounding_box()["height"]
    plots.nth(1).locator("h3 .name").click()
    assert [plots.nth(k).is_visible() for k in range(2)] == [False, True]
    assert plots.nth(1).locator("canvas").bounding_box()["height"] > low
    plots.nth(1).locator("h3 .name").click()
    assert [plots.nth(k).is_visible() for k in range(2)] == [True, True]
    assert plots.nth(1).locator("canvas").bounding_box()["height"] == low


def test_hovering_a_plot_reads_it_without_moving(moving):
    page = moving.page
    page.evaluate("sixd.seek(0)")
    box = page.locator("#dock .plot canvas").first.bounding_box()
    page.mouse.move(box["x"] + box["width"] - 8, box["y"] + 40)
    assert float(page.locator("#dock .chip em").first.inner_text()) == pytest.approx(np.sin(2), abs=0.01)
    assert page.evaluate("sixd.time") == 0
    page.mouse.move(5, 300)


# without a motion ---------------------------------------------------------------------------------


def slide(watched, coordinate, value):
    watched.page.locator(f"[data-coordinate='{coordinate}']").evaluate(
        "(slider, x) => { slider.value = x; slider.dispatchEvent(new Event('input')); }", value
    )


def test_sliders_move_the_mechanism_and_reset(resting):
    start = resting.picture()
    assert not resting.page.locator("#transport").is_visible()
    for coordinate, value in ((0, -0.5), (1, 0.1), (8, 0.7)):
        before = resting.picture()
        slide(resting, coordinate, value)
        assert resting.page.evaluate("sixd.configuration")[coordinate] == pytest.approx(value)
        assert resting.picture() != before
    resting.page.click("#j-reset")
    assert resting.page.evaluate("sixd.configuration") == START
    assert resting.picture() == start


def test_limits_hold(resting):
    number = resting.page.locator("#dock input[type=number]").first
    number.fill("7")
    number.press("Enter")
    assert resting.page.evaluate("sixd.configuration")[0] == 1.0
    resting.page.click("#j-reset")


def angles(watched):
    """The degrees of the sliders of the orientation, by name."""
    sliders = watched.page.locator("[data-angle]").all()
    return {s.get_attribute("data-angle"): float(s.input_value()) for s in sliders}


def turn(watched, angle, degrees):
    watched.page.locator(f"[data-angle='{angle}']").evaluate(
        "(slider, x) => { slider.value = x; slider.dispatchEvent(new Event('input')); }", degrees
    )


def test_orientations_are_moved_by_angles(resting):
    """Roll, pitch and yaw in degrees, about fixed axes as in URDF; no slider of a quaternion's entries is left."""
    assert angles(resting) == {"roll": 0, "pitch": 0, "yaw": 0}
    assert [resting.page.locator(f"[data-coordinate='{k}']").count() for k in range(9)] == [1, 1, 0, 0, 0, 0, 1, 1, 1]
    for angle, degrees in (("roll", 40.0), ("yaw", -130.0), ("pitch", 25.0)):
        turn(resting, angle, degrees)
    assert angles(resting) == pytest.approx({"roll": 40, "pitch": 25, "yaw": -130})
    want = sixd.spatial.rotation_from_euler("xyz", np.radians([40, 25, -130]))
    q = np.array(resting.page.evaluate("sixd.configuration")[2:6])
    assert np.linalg.norm(q) == pytest.approx(1, abs=1e-12)
    assert np.allclose(sixd.spatial.quaternion_to_rotation(q), want, atol=1e-12)
    resting.page.click("#j-reset")
    assert angles(resting) == {"roll": 0, "pitch": 0, "yaw": 0}


def test_angles_keep_their_values_at_a_pitch_of_90_degrees(resting):
    """There roll and yaw turn about one axis: those that the reader set stay, others are shown as a yaw."""
    for angle, degrees in (("roll", 30.0), ("pitch", 90.0), ("yaw", 70.0)):
        turn(resting, angle, degrees)
    assert angles(resting) == pytest.approx({"roll": 30, "pitch": 90, "yaw": 70})
    r = np.sqrt(0.5)
    resting.page.evaluate(f"sixd.setConfiguration([0.3, 0.3, {2 * r}, 0, {2 * r}, 0, -0.5, 0, 0.4])")
    assert angles(resting) == pytest.approx({"roll": 0, "pitch": 90, "yaw": 0}, abs=1e-4)  # the arcsine near 1
    resting.page.click("#j-reset")


def test_configurations_are_read_as_angles(resting):
    rng = np.random.default_rng(3)
    for _ in range(10):
        wanted = rng.uniform([-170, -80, -170], [170, 80, 170])
        R = sixd.spatial.rotation_from_euler("xyz", np.radians(wanted))
        q = -3 * sixd.spatial.quaternion_from_rotation(R)  # of either sign and any length
        resting.page.evaluate("(q) => sixd.setConfiguration(q)", [0.3, 0.3, *q.tolist(), -0.5, 0, 0.4])
        assert list(angles(resting).values()) == pytest.approx(wanted.tolist(), abs=1e-9)
    resting.page.click("#j-reset")
    assert resting.page.evaluate("sixd.configuration") == START


def test_set_configuration_skips_what_is_not_a_number(resting):
    resting.page.evaluate("sixd.setConfiguration([0.1, null, NaN])")
    assert resting.page.evaluate("sixd.configuration") == [0.1, *START[1:]]
    resting.page.click("#j-reset")


# several, broken and unusual ----------------------------------------------------------------------


def test_several_motions_side_by_side_and_as_ghosts(opened):
    other = motion(name="other", offset=[0, 1.2, 0], color=[0.8, 0.3, 0.3])
    ghost = motion(name="ghost", ghost=True, color=[0.2, 0.4, 0.9])
    t = np.linspace(0, 1, 21)
    ghost |= {"t": packed(t, "float64"), "q": packed(np.tile(START, (21, 1))), "plots": [], "contacts": None}
    watched = opened(
        make_scene(trajectories=[motion(name=HOSTILE), other, ghost], title=HOSTILE), width=320, height=240
    )
    page = watched.page
    assert "</script><script>alert(1)" in page.inner_text("#title")
    page.evaluate("sixd.seek(1.5)")
    shift = np.subtract(*(page.evaluate(f"sixd.bodyPose('rod', {k})")[12:15] for k in (1, 0)))
    np.testing.assert_allclose(shift, [0, 1.2, 0], atol=1e-6)  # single precision
    # the one that ends early stays at its end
    np.testing.assert_allclose(page.evaluate("sixd.bodyPose('brick', 2)")[12:15], START[6:9], atol=1e-6)
    pictures = [watched.picture()]
    for k in range(3):
        page.locator("#actors .chip").nth(k).click()
        pictures.append(watched.picture())
    assert len(set(pictures)) == 4
    assert watched.complaints == []


def test_a_motion_that_fails_stops_there_and_says_so(opened):
    source = motion()
    q = np.frombuffer(base64.b64decode(source["q"]["data"]), dtype="float32").reshape(41, 9).copy()
    q[25:] = np.nan
    watched = opened(make_scene(trajectories=[{**source, "q": packed(q)}]), width=480, height=320)
    assert watched.page.evaluate("sixd.end") == pytest.approx(1.2)
    assert "“\u2068swing\u2069” ends at t = 1.2 s" in watched.page.inner_text("#notices")
    watched.page.evaluate("sixd.seek(5)")
    assert np.isfinite(watched.page.evaluate("sixd.configuration")).all()
    assert watched.complaints == []


def test_scenes_with_nothing_to_show_are_not_an_error(opened):
    nothing = {
        "bodies": [{"name": "world"}],
        "geometries": [],
        "visuals": [],
        "frames": [],
        "joints": [],
        "nq": 0,
        "q": [],
    }
    failed = motion(records=3, q=packed(np.full((3, 9), np.nan)))
    for scene in (
        make_scene(**nothing, kinematics=""),
        make_scene(trajectories=[failed], notes=["A mesh is missing."]),
    ):
        watched = opened(scene, width=320, height=240)
        watched.picture()
        assert watched.complaints == []
    notices = watched.page.inner_text("#notices")
    assert "has no finite state" in notices
    assert "A mesh is missing." in notices


def test_without_webgl_the_page_says_so_and_the_rest_works(opened):
    before = """const own = HTMLCanvasElement.prototype.getContext;
    HTMLCanvasElement.prototype.getContext = function (kind, ...rest) { return kind === 'webgl2' ? null : own.call(this, kind, ...rest); };"""
    watched = opened(make_scene(trajectories=[motion()]), before=before)
    assert "WebGL 2 is missing" in watched.page.inner_text("#fallback")
    watched.page.evaluate("sixd.seek(1)")
    assert watched.page.inner_text("#t-time").startswith("1.000")
    assert watched.complaints == []


def test_nothing_is_cut_off(opened):
    """Every control lies inside the window, at the smallest size too; menus and the panel scroll where they must."""
    scene = make_scene(title="A long title that a narrow window cannot hold " * 3, trajectories=[motion()])
    watched = opened(scene, width=1280, height=800)
    watched.page.click("#b-display")
    for width, height in ((1280, 800), (700, 450), (390, 700)):
        watched.page.set_viewport_size({"width": width, "height": height})
        watched.set("panel", True)
        watched.until(f"document.getElementById('stage').clientWidth <= {width}")
        watched.picture()
        check_that_nothing_is_cut_off(watched.page)
    # on a telephone the slider has a row of its own, and the length of the motion is shown
    assert watched.page.locator("#t-scrub").bounding_box()["width"] > 340
    assert watched.page.inner_text("#t-time") == "0.000 / 2.000 s"
    assert watched.page.locator("#t-time small").is_visible()
    assert watched.page.locator("#dock .chip em").first.inner_text() == "0.000"


def box_of(watched, name):
    return watched.page.locator(name).bounding_box()


@pytest.mark.parametrize("size", [(390, 844), (768, 1024)])
def test_portrait_screens(opened, size):
    """The panel is closed at first, and lies below the picture; the title is as wide as the picture."""
    width, height = size
    watched = opened(
        make_scene(title="A title of some words, for a telephone", trajectories=[motion()]), width=width, height=height
    )
    assert not watched.page.locator("#dock").is_visible()
    watched.page.click("#b-panel")
    stage, dock = box_of(watched, "#stage"), box_of(watched, "#dock")
    assert (stage["width"], dock["width"]) == (width, width)
    assert dock["y"] >= stage["y"] + stage["height"]
    assert stage["height"] > 0.4 * height
    assert watched.page.evaluate("(h => h.scrollWidth <= h.clientWidth)(document.getElementById('title'))")
    check_that_nothing_is_cut_off(watched.page)


def test_a_camera_of_the_scene_steps_back_where_the_picture_is_narrow(opened):
    camera = {"position": [3, 0, 0], "target": [0, 0, 0], "up": [0, 0, 1], "track": None}
    watched = opened(make_scene(camera=camera), width=900, height=600)
    watched.set("panel", False)
    assert watched.page.evaluate("sixd.camera.distance") == pytest.approx(3)
    watched.page.set_viewport_size({"width": 300, "height": 600})
    watched.until("sixd.camera.aspect < 0.6")
    assert watched.page.evaluate("sixd.camera.distance") == pytest.approx(3 * 0.9 / 0.5, rel=1e-6)


# frames of notebooks ------------------------------------------------------------------------------


@pytest.mark.parametrize(("hidden", "moves"), [("display: none", True), ("width: 0; height: 0; border: 0", False)])
def test_a_frame_that_is_hidden_at_first(browser, hidden, moves):
    """Notebooks make frames that have no size for a while: as soon as they have, all is as if they always had."""
    scene = make_scene(trajectories=[motion()] if moves else [], settings={"play": moves})
    text = markup.escape(html(scene), quote=True)

    def shown(style):
        watched = Watched(browser, width=900, height=320, reduced_motion="reduce")
        watched.page.set_content(f'<iframe srcdoc="{text}" sandbox="allow-scripts" style="{style}"></iframe>')
        frame = watched.page.frame_locator("iframe")
        # the page's program has run; its frame may never draw while it is hidden
        frame.locator("html[data-theme]").wait_for(state="attached")
        watched.page.locator("iframe").evaluate(
            "(f) => { f.style.cssText = 'width: 880px; height: 300px; border: 0'; }"
        )
        (inner,) = watched.page.main_frame.child_frames
        inner.evaluate("sixd.ready")
        inner.evaluate("""new Promise((done, fail) => {
          const last = performance.now() + 30000;
          const ask = () => document.getElementById('view').width > 300 && sixd.frames > 0 ? done() : performance.now() > last ? fail(new Error('waited in vain')) : setTimeout(ask, 20);
          ask();
        })""")
        playing = inner.evaluate("sixd.playing")
        inner.evaluate("(sixd.pause(), sixd.seek(0.5), sixd.draw())")
        found = {
            "picture": inner.evaluate("(sixd.draw(), document.getElementById('view').toDataURL())"),
            "distance": inner.evaluate("sixd.camera.distance"), "playing": playing,
            "panel": inner.locator("#dock").is_visible(), "plot": inner.evaluate("document.querySelector('#dock canvas')?.toDataURL()"),
        }  # fmt: skip
        assert watched.complaints == []
        watched.page.close()
        return found

    usual = shown("width: 880px; height: 300px; border: 0")
    assert usual["panel"]
    assert usual["playing"] == moves
    assert shown(hidden) == usual


def check_that_nothing_is_cut_off(page):
    outside = page.evaluate("""() => [...document.querySelectorAll('#toolbar button, #transport *, #heading, .menu:not([hidden]), #dock:not([hidden])')]
      .filter((e) => e.getClientRects().length)
      .filter((e) => { const r = e.getBoundingClientRect(); return r.left < 0 || r.top < 0 || r.right > innerWidth + 0.5 || r.bottom > innerHeight + 0.5; })
      .map((e) => e.id || e.tagName)""")
    assert outside == []
    assert page.evaluate(
        "document.documentElement.scrollWidth <= innerWidth && document.documentElement.scrollHeight <= innerHeight"
    )
    heading, bar = (page.locator(name).bounding_box() for name in ("#heading", "#toolbar"))
    assert heading["x"] + heading["width"] <= bar["x"] or heading["y"] >= bar["y"] + bar["height"]
    # the picture is as sharp as the screen
    assert page.evaluate(
        "(c => [c.width - c.clientWidth, c.height - c.clientHeight])(document.getElementById('view'))"
    ) == [0, 0]


def crowd(count, names):
    """Motions side by side, each with so many angles, the sixth of which goes far."""
    t = np.linspace(0, 2, 41)
    for k, name in enumerate(names):
        angles = [np.sin(t + n) * (20 if n == 5 else 1 + 0.01 * n) for n in range(count)]
        series = [{"label": f"joint{n}", "values": packed(x)} for n, x in enumerate(angles)]
        tiny = [{"label": "rest", "values": packed(3e-28 + 0 * t)}, {"label": "all", "values": packed(5 * np.sin(t))}]
        none = [{"label": "none", "values": packed(np.nan * t)}]
        plots = [
            {"title": "angle [rad]", "unit": "rad", "series": series},
            {"title": "energy [J]", "unit": "J", "series": tiny},
            {"title": "torque [N m]", "unit": "N m", "series": none},
        ]
        yield motion(name=name, offset=[0.0, 1.5 * k, 0.0], color=[0.1 * k, 0.5, 0.5], plots=plots, contacts=None)


@pytest.fixture(scope="module")
def crowded(opened):
    names = ["a\u202eb\u0007", *(f"row {k}" for k in range(1, 8))]
    return opened(make_scene(trajectories=list(crowd(32, names)), settings={"play": False, "panel": True}))


def test_a_line_that_goes_far_has_a_plot_of_its_own(crowded):
    """Angles of 1 rad and one of 20: two plots; energies stay in one, however small some are."""
    titles = crowded.page.locator("#dock .plot h3 .name").all_inner_texts()
    assert titles == ["angle [rad]", "angle [rad], larger", "energy [J]", "torque [N m]"]
    assert crowded.page.locator("#dock .plot").nth(1).locator(".chip b").all_inner_texts() == ["joint5"]


def test_long_legends_are_short_until_asked(crowded):
    plot = crowded.page.locator("#dock .plot").first
    assert plot.locator(".chip:visible").count() == 11
    colors = plot.locator(".chip i").evaluate_all("list => list.map((key) => key.style.background)")
    assert len(set(colors)) == 31
    more = plot.locator(".more")
    assert more.inner_text() == "… and 21 more"
    more.click()
    assert plot.locator(".chip:visible").count() == 31


def test_numbers_of_a_legend_keep_their_width_and_what_is_tiny_is_zero(crowded):
    page, widths = crowded.page, set()
    values = page.locator("#dock .plot").nth(2).locator(".chip em")
    values.first.scroll_into_view_if_needed()
    for time in (0.0, 0.05, 1.55):
        page.evaluate(f"(sixd.seek({time}), sixd.draw())")
        assert values.first.inner_text() == "0.000"
        assert float(values.last.inner_text()) == pytest.approx(5 * np.sin(time), abs=1e-3)
        widths.add(values.last.bounding_box()["width"])
    assert len(widths) == 1


def test_a_plot_without_numbers_says_so(crowded):
    plot = crowded.page.locator("#dock .plot").nth(3)
    plot.scroll_into_view_if_needed()
    crowded.page.evaluate("sixd.draw()")
    assert plot.locator("em").inner_text() == "–"
    drawn = "(c) => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some((x) => x > 0)"
    assert plot.locator("canvas").evaluate(drawn)


def test_of_many_motions_only_the_one_pointed_at_is_named(crowded):
    page = crowded.page
    crowded.picture()
    assert page.locator("#labels span").count() == 0
    page.locator("#actors .chip").nth(3).hover()
    crowded.picture()
    assert page.locator("#labels span").all_inner_texts() == ["row 3"]
    page.mouse.move(5, 300)


def test_controls_in_names_are_shown_not_obeyed(crowded):
    name = crowded.page.locator("#actors .chip b").first
    assert name.inner_text() == "a\ufffdb\ufffd"
    assert name.evaluate("(e) => getComputedStyle(e).unicodeBidi") == "isolate"
    assert crowded.complaints == []


def test_theme_follows_the_system_and_the_switch(opened):
    watched = opened(make_scene(), width=480, height=320, color_scheme="dark")
    theme = "document.documentElement.dataset.theme"
    assert watched.page.evaluate(theme) == "dark"
    dark = watched.picture()
    watched.page.click("#b-theme")
    assert watched.page.evaluate(theme) == "light"
    assert watched.picture() != dark
