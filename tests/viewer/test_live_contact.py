"""Live pages with rigid contact: the steps of ``sixd.simulate`` in a browser, pulled bodies, sliders of the ground."""

import re

import numpy as np
import pytest

import sixd
from browser import chromium, live_pages
from sixd.errors import SixdError

DROP = [np.cos(0.3), 0.6 * np.sin(0.3), 0.8 * np.sin(0.3), 0, 0, 0, 0.5]


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def live(browser, tmp_path):
    with live_pages(browser, tmp_path) as show:
        yield show


def ask(page, expression, argument=None):
    return page.page.evaluate(expression, argument)


def make_ball():
    builder = sixd.ModelBuilder("ball")
    builder.add_body("ball", "world", sixd.Free(), inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_visual("ball", sixd.Shape("sphere", (0.1,)))
    return builder.build(), {"ball": (0, 0, 0, 0.1)}


def make_box():
    builder = sixd.ModelBuilder("box")
    size = np.array([0.4, 0.3, 0.2])
    builder.add_body("box", "world", sixd.Free(), inertia=sixd.box(*size, mass=2.0))
    builder.add_visual("box", sixd.Shape("box", tuple(size)))
    signs = [(x, y, z) for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)]
    return builder.build(), {"box": np.array(signs) * size}


def make_quadruped(stiffness=150.0):
    """A trunk and four legs of three joints with springs; feet and the corners of the trunk may touch the ground."""
    builder = sixd.ModelBuilder("quadruped")
    builder.add_body("trunk", "world", sixd.Free(), inertia=sixd.box(0.5, 0.2, 0.1, mass=10.0))
    limb = sixd.cylinder(0.02, 0.22, mass=0.5).translated((0, 0, -0.11))
    below, spring = sixd.placement((0, 0, -0.22)), {"stiffness": stiffness, "damping": 4.0, "armature": 0.01}
    feet = {}
    for k, (x, y) in enumerate([(0.2, 0.15), (0.2, -0.15), (-0.2, 0.15), (-0.2, -0.15)]):
        hip, motor = sixd.placement((x, y, 0)), sixd.sphere(0.04, mass=0.6)
        builder.add_body(f"hip{k}", "trunk", sixd.Revolute("x"), placement=hip, inertia=motor, **spring)
        builder.add_body(f"thigh{k}", f"hip{k}", sixd.Revolute("y"), inertia=limb, rest=0.7, **spring)
        builder.add_body(
            f"shank{k}", f"thigh{k}", sixd.Revolute("y"), placement=below, inertia=limb, rest=-1.4, **spring
        )
        feet[f"shank{k}"] = (0, 0, -0.22, 0.02)
    corners = [(x, y, z) for x in (-0.25, 0.25) for y in (-0.1, 0.1) for z in (-0.05, 0.05)]
    return builder.build(), {**feet, "trunk": corners}


def state(page):
    return tuple(np.array(ask(page, f"sixd.simulation.{name}")) for name in ("q", "qd"))


# the motion ---------------------------------------------------------------------------------------


def test_a_ball_bounces_as_in_simulate(live):
    """To 1e-9: sums of forces of a step, and sines, may differ in their last bits. The ground's forces are those of the
    step; they carry the weight."""
    ball, points = make_ball()
    ground = sixd.RigidGround(points, friction=0.4, restitution=0.6, height=0.2)
    start, push = [1, 0, 0, 0, 0, 0, 0.5], [0, 5.0, 0, 0.5, 0, 0]
    page = live(ball, q=start, qd=push, forces=ground)
    motion = sixd.simulate(ball, start, push, 1.2, forces=ground)
    ask(page, "sixd.simulation.advance(1199)")
    touched = ask(page, "(sixd.simulation.contacts(), sixd.simulation.advance(1), sixd.simulation.contacts())")
    q, qd = state(page)
    np.testing.assert_allclose(q, motion.q[-1], atol=1e-9)
    np.testing.assert_allclose(qd, motion.qd[-1], atol=1e-9)
    [(_, places, forces)] = motion.contacts()
    np.testing.assert_allclose([one["point"] for one in touched], places[-1], atol=1e-9)
    np.testing.assert_allclose([one["force"] for one in touched], forces[-1], atol=1e-6)
    assert ask(page, "sixd.scene.settings.ground") == 0.2
    assert page.complaints == []
    assert page.outside == []


@pytest.mark.long
@pytest.mark.parametrize("make", [make_box, make_quadruped])
def test_bodies_fall_as_in_simulate(live, make):
    """Impacts enlarge rounding: a start that differs by 1e-14 m changes velocities of the quadruped by up to 5e-6. And
    the page is small."""
    model, points = make()
    start = np.concatenate([DROP, np.tile([0.0, 0.7, -1.4], 4)])[: model.nq]
    ground = sixd.RigidGround(points, friction=0.5, restitution=0.3)
    page = live(model, q=start, forces=ground, dt=2e-3)
    motion = sixd.simulate(model, start, None, 1.0, forces=ground, dt=2e-3)
    ask(page, "sixd.simulation.advance(500)")
    q, qd = state(page)
    np.testing.assert_allclose(q, motion.q[-1], atol=1e-5)
    np.testing.assert_allclose(qd, motion.qd[-1], atol=1e-4)
    assert page.size < 2e6
    assert page.outside == []


# the reader ---------------------------------------------------------------------------------------


def test_friction_and_restitution_are_sliders(live):
    """The motion is that of a ground with these numbers."""
    ball, points = make_ball()
    start, push = [1, 0, 0, 0, 0, 0, 0.4], [0, 0, 0, 1.0, 0, 0]
    options = {"friction": (0.5, 0, 2), "gravity": None, "damping": None}
    page = live(ball, q=start, qd=push, forces=sixd.RigidGround(points, friction=0.5), parameters=options)
    labels = page.page.eval_on_selector_all(".parameter label", "all => all.map(x => x.textContent)")
    assert labels == ["friction", "restitution"]
    for friction, restitution in ((0.1, 0.7), (0.0, 1.0), (2.0, 0.0)):
        settings = f"sixd.simulation.set('friction', {friction}); sixd.simulation.set('restitution', {restitution});"
        ask(page, f"{settings} sixd.simulation.reset(); sixd.simulation.advance(800)")
        ground = sixd.RigidGround(points, friction=friction, restitution=restitution)
        motion = sixd.simulate(ball, start, push, 0.8, forces=ground)
        np.testing.assert_allclose(state(page)[0], motion.q[-1], atol=1e-9)


def test_a_mouse_lifts_a_body_from_the_ground(live):
    """The ground carries less while the body is pulled up, and nothing once it is in the air; the body falls again."""
    ball, points = make_ball()
    page = live(ball, q=[1, 0, 0, 0, 0, 0, 0.1], forces=sixd.RigidGround(points), parameters={"gravity": (3, 0, 9)})

    def carried(steps):
        ask(page, f"sixd.simulation.advance({steps}); sixd.simulation.contacts(); sixd.simulation.advance(5)")
        return ask(page, "sixd.simulation.contacts()[0].force[2]")

    assert carried(10) == pytest.approx(3)
    ask(page, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))")
    x, y = ask(page, "sixd.pixel('ball')")
    mouse = page.page.mouse
    mouse.move(x, y)
    mouse.down()
    ask(page, "sixd.pause()")
    mouse.move(x, y - 4)
    assert 0 < carried(0) < 2.9
    mouse.move(x, y - 180)
    assert carried(200) == 0
    assert state(page)[0][6] > 0.12
    mouse.up()
    assert carried(2000) == pytest.approx(3)
    assert page.complaints == []


def test_the_step_is_compiled_before_the_motion_starts(live):
    """The page shows its start meanwhile, and then runs from there."""
    ball, points = make_ball()
    page = live(ball, q=[1, 0, 0, 0, 0, 0, 5.0], forces=sixd.RigidGround(points))
    ask(page, "sixd.play()")
    page.until("sixd.simulation.time > 0.1")
    time, height = ask(page, "[sixd.simulation.time, sixd.simulation.q[6]]")
    assert height == pytest.approx(5 - 9.81 / 2 * time**2, abs=1e-9)


# sliders at their ends and in between, and nothing that sinks in: [setting, lowest point, time]
SETTINGS = """() => {
  const s = sixd.simulation, { sliders } = sixd.scene.simulation, out = [];
  let settings = [[]];
  for (const { low, value, high } of sliders) settings = settings.flatMap((one) => [...new Set([low, value, high])].map((x) => [...one, x]));
  for (const setting of settings) {
    sliders.forEach(({ label }, k) => s.set(label, setting[k]));
    s.reset();
    let low = 0;
    for (let k = 0; k < 100; k++) {
      s.advance(10);
      low = Math.min(low, ...s.contacts().map(({ point }) => point[2]));
    }
    out.push([setting, low, s.time]);
  }
  return out;
}"""


@pytest.mark.long
@pytest.mark.parametrize("make", [make_box, make_quadruped])
def test_sliders_at_their_ends(live, make):
    """The state stays finite, and no point is below the ground by more than 1e-6 m, as in ``sixd.simulate``."""
    model, points = make()
    start = np.concatenate([DROP, np.tile([0.0, 0.7, -1.4], 4)])[: model.nq]
    page = live(model, q=start, forces=sixd.RigidGround(points, friction=0.7, restitution=0.3), dt=2e-3)
    result = ask(page, SETTINGS)
    assert len(result) == 54
    for setting, low, time in result:
        assert low > -1e-6, setting
        assert time == pytest.approx(2.0), setting
    assert page.complaints == []


# errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"friction": (0.5, -0.1, 1)}, "at least 0"),
        ({"restitution": (0.5, 0, 1.2)}, "from 0 to 1"),
        ({"restitution": 0.5}, "three numbers"),
        ({"frction": (0.5, 0, 1)}, "no parameter"),
    ],
)
def test_ranges(parameters, words):
    ball, points = make_ball()
    with pytest.raises(SixdError, match=re.escape(words)):
        sixd.view(ball, live=True, forces=sixd.RigidGround(points), parameters=parameters, open_browser=False)


def test_friction_needs_a_ground():
    with pytest.raises(SixdError, match="no parameter"):
        sixd.view(make_ball()[0], live=True, parameters={"friction": (0.5, 0, 1)}, open_browser=False)
