"""Live pages: the motion of ``sixd.simulate`` in a real browser, a mouse that pulls, sliders, sizes and errors."""

import dataclasses
import re

import numpy as np
import pytest
import sympy

import sixd
from browser import Watched, chromium, live_pages
from sixd.errors import SixdError

ARM = [0.3, -0.3, -0.4, -0.6, 0.9, 0.0]
HANGING = [0.0, 1.2, 0.3, 0.2, 0.1, 0.0]


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def live(browser, tmp_path):
    with live_pages(browser, tmp_path) as show:
        yield show


def ask(page, expression):
    return page.page.evaluate(expression)


def pixel(page, body):
    """Where a body is in the window, once the page is laid out."""
    ask(page, "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 50))))")
    return ask(page, f"sixd.pixel('{body}')")


# the motion ---------------------------------------------------------------------------------------

STARTS = {
    "pendulum": (sixd.zoo.pendulum, [0.5], [0.0]),
    "top": (sixd.zoo.spinning_top, [0.0, 0.5, 0.0], [0.0, 0.0, 1000.0]),
    "ur_arm": (sixd.zoo.ur_arm, ARM, np.zeros(6)),
    "rolling cone": (sixd.zoo.rolling_cone, None, [1.0, 2.0, 3.0, 0.1, 0.2, 0.3]),
    "four-bar": (sixd.zoo.four_bar, [1.0, -0.3, 1.5], np.zeros(3)),
}


@pytest.mark.parametrize("name", STARTS)
def test_the_motion_is_that_of_simulate(live, name):
    """To 1e-9 over a second: sines differ in their last bit, products are not fused."""
    make, q, qd = STARTS[name]
    model = make()
    if model.constraints:
        q = sixd.assemble(model, q)
    page = live(model, q=q, qd=qd)
    ask(page, "sixd.simulation.advance(1000)")
    motion = sixd.simulate(model, q, qd, 1.0)
    assert abs(ask(page, "sixd.simulation.time") - 1.0) < 1e-12
    assert np.abs(np.array(ask(page, "sixd.simulation.q")) - motion.q[-1]).max() < 1e-9
    assert np.abs(np.array(ask(page, "sixd.simulation.qd")) - motion.qd[-1]).max() < 1e-9
    energy = ask(page, "sixd.simulation.energy()")
    np.testing.assert_allclose([energy["kinetic"], energy["potential"]], [motion.kinetic[-1], motion.potential[-1]], rtol=1e-9, atol=1e-9)  # fmt: skip
    assert page.complaints == []
    assert page.outside == []
    assert page.size < 2e6


def test_forces_and_controllers(live):
    """What can be compiled lives: a controller, a compliant ground, dry friction, joints at their limits."""
    ball = sixd.zoo.falling_sphere()
    start = [1, 0, 0, 0, 0, 0, 0.2]
    ground = sixd.Ground({"sphere": (0, 0, 0, 0.05)})
    page = live(ball, q=start, forces=ground, parameters={"damping": None})
    ask(page, "sixd.simulation.advance(500)")
    motion = sixd.simulate(ball, start, None, 0.5, forces=ground)
    assert np.abs(np.array(ask(page, "sixd.simulation.q")) - motion.q[-1]).max() < 1e-9


# the reader ---------------------------------------------------------------------------------------


def test_a_mouse_pulls_a_link_and_lets_go(live):
    """Pulling changes the energy; afterwards it is kept to 1e-6 of the largest kinetic energy, for 10 s."""
    page = live(sixd.zoo.ur_arm(), q=HANGING)
    before, mouse = ask(page, "sixd.simulation.energy()"), page.page.mouse
    x, y = pixel(page, "link3")
    mouse.move(x, y)
    mouse.down()
    assert ask(page, "sixd.simulation.pull.body") == 3
    assert ask(page, "sixd.playing")
    ask(page, "sixd.pause()")  # the steps below are counted: a busy machine draws few frames in the time that runs
    for k in range(1, 9):
        mouse.move(x + 5 * k, y - 2 * k)
        ask(page, "sixd.simulation.advance(40)")
    force = ask(page, "sixd.simulation.pull.force")
    assert np.linalg.norm(force) > 1.0
    mouse.up()
    assert ask(page, "sixd.simulation.pull") is None
    after = ask(page, "sixd.simulation.energy()")
    assert abs(after["total"] - before["total"]) > 0.1
    drift, kinetic = ask(
        page,
        """(() => {
          const start = sixd.simulation.energy().total;
          let drift = 0, kinetic = 0;
          for (let k = 0; k < 200; k++) {
            sixd.simulation.advance(50);
            const now = sixd.simulation.energy();
            drift = Math.max(drift, Math.abs(now.total - start));
            kinetic = Math.max(kinetic, now.kinetic);
          }
          return [drift, kinetic];
        })()""",
    )
    assert drift < 1e-6 * kinetic
    assert page.complaints == []


def test_a_drag_beside_the_bodies_turns_the_view(live):
    page = live(sixd.zoo.pendulum(), q=[0.3])
    azimuth = ask(page, "sixd.camera.azimuth")
    page.page.mouse.move(20, 300)
    page.page.mouse.down()
    page.page.mouse.move(60, 300)
    page.page.mouse.up()
    assert ask(page, "sixd.camera.azimuth") != azimuth
    assert ask(page, "sixd.simulation.pull") is None


def test_a_finger_pulls_and_two_fingers_do_not(live):
    """A second finger lets go: then both move the camera."""
    page = live(sixd.zoo.pendulum(), q=[0.3])
    x, y = pixel(page, "rod1")
    touch = page.page.context.new_cdp_session(page.page)

    def fingers(kind, *points):
        points = [{"x": a, "y": b, "id": k} for k, (a, b) in enumerate(points)]
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    fingers("touchStart", (x, y))
    page.until("sixd.simulation.pull !== null")
    fingers("touchMove", (x + 30, y))
    page.until("sixd.simulation.pull.force.some((f) => Math.abs(f) > 0.1)")
    fingers("touchStart", (x + 30, y), (30, 30))
    page.until("sixd.simulation.pull === null")
    fingers("touchEnd")


def test_space_pauses_and_r_goes_back(live):
    page = live(sixd.zoo.pendulum(), q=[0.5])
    page.page.keyboard.press("Space")
    assert ask(page, "sixd.playing")
    page.until("sixd.simulation.time > 0.05")
    page.page.keyboard.press("Space")
    assert not ask(page, "sixd.playing")
    page.page.keyboard.press("r")
    assert ask(page, "sixd.simulation.time") == 0
    page.page.keyboard.press("ArrowRight")
    assert ask(page, "sixd.simulation.time") == 1e-3


def test_sliders_are_inputs_of_the_step(live):
    """Symbols, gravity, damping and the mass of a body: the motion is that of a model with these numbers."""
    m, length = sympy.symbols("m l", positive=True)
    page = live(sixd.zoo.pendulum(1, length, m), q=[0.5], parameters={"m": (1.0, 0.2, 5.0), "l": (1.0, 0.5, 2.0)})
    ask(page, "sixd.simulation.set('l', 1.6); sixd.simulation.set('m', 3); sixd.simulation.set('gravity', 5)")
    ask(page, "sixd.simulation.advance(1000)")
    model = dataclasses.replace(sixd.zoo.pendulum(1, 1.6, 3.0), gravity=np.array([0, 0, -5.0]))
    motion = sixd.simulate(model, [0.5], None, 1.0)
    assert abs(ask(page, "sixd.simulation.q")[0] - motion.q[-1, 0]) < 1e-9
    ask(page, "sixd.simulation.set('damping', 5); sixd.simulation.advance(20000)")
    assert abs(ask(page, "sixd.simulation.energy()")["kinetic"]) < 1e-3


def test_damping_of_long_chains(live):
    """The rate of the slider is that of the motion, to a factor of some units, for many joints too: energy falls, and steps of 1 ms do."""
    page = live(sixd.zoo.pendulum(10), q=np.full(10, 0.2))
    start = ask(page, "sixd.simulation.energy()")["total"]
    ask(page, "sixd.simulation.set('damping', 5); sixd.simulation.advance(2000)")
    assert ask(page, "sixd.simulation.time") == pytest.approx(2.0)
    assert ask(page, "sixd.simulation.energy()")["total"] < start


def test_a_rod_grows_with_its_length(live):
    length = sympy.Symbol("l", positive=True)
    page = live(sixd.zoo.pendulum(1, length), q=[0.0], parameters={"l": (1.0, 0.5, 2.0)})
    before = page.picture()
    ask(page, "sixd.simulation.set('l', 2.0)")
    assert page.picture() != before


def test_mass_of_a_body(live):
    page = live(sixd.zoo.pendulum(2), q=[0.5, 0.0], parameters={"mass:rod2": (1.0, 0.0, 9.0), "gravity": None})
    labels = page.page.eval_on_selector_all(".parameter label", "all => all.map(x => x.textContent)")
    assert labels == ["mass of rod2 [kg]", "damping [1/s]"]


def test_a_motion_that_fails_says_so(live):
    """A step that is too long ends the motion with a notice; the page goes on from its start."""
    page = live(sixd.zoo.pendulum(2), q=[3.0, 0.0], qd=[60.0, -90.0], dt=0.2)
    ask(page, "sixd.play()")
    page.until("!sixd.playing")
    page.until("document.querySelector('.notice.warn') !== null")
    assert "not finite" in page.page.inner_text(".notice.warn")
    assert "too fast for steps of 200 ms" in page.page.inner_text(".notice.warn")
    ask(page, "sixd.play()")
    assert ask(page, "sixd.simulation.time") < 1


@pytest.mark.parametrize("mechanism", ["top", "polar"])
def test_singular_coordinates_are_named(live, mechanism):
    """A damped top that hangs down in Euler angles, a point at its origin in polar coordinates: not the steps are too long."""
    if mechanism == "top":
        page = live(sixd.zoo.spinning_top(), q=[0.0, 0.5, 0.0], qd=[0.0, 0.0, 150.0])
    else:
        page = live(sixd.zoo.rp_arm(0, 1.0, 0, 0, 0, 0), q=[0.0, 1.0], qd=[0.5, -2.0])
    ask(page, "sixd.simulation.set('damping', 1); sixd.simulation.advance(4000); sixd.play()")
    page.until("!sixd.playing")
    page.until("document.querySelector('.notice.warn') !== null")
    notice = page.page.inner_text(".notice.warn")
    assert "singular coordinates" in notice
    assert "too fast" not in notice


def test_a_body_behind_a_transparent_shape_is_grabbed(live):
    """One fixed to the world, such as a globe; a shape that hides the body protects it."""
    for alpha, grabbed in ((0.3, True), (1.0, False)):
        builder = sixd.ModelBuilder("point in a globe")
        builder.add_body("point", "world", sixd.Revolute("y"), inertia=sixd.point(1.0, (0, 0, -1)))
        builder.add_visual("world", sixd.Shape("sphere", (1.5,)), color=(0.6, 0.7, 0.85, alpha))
        builder.add_visual("point", sixd.Shape("sphere", (0.1,)), sixd.placement((0, 0, -1)))
        page = live(builder.build(), q=[0.5])
        page.page.mouse.move(*pixel(page, "point"))
        page.page.mouse.down()
        assert (ask(page, "sixd.simulation.pull") is not None) == grabbed
        page.page.mouse.up()


def test_a_slow_page_says_so(live):
    """Steps of a microsecond cannot keep up: the page runs slower, and goes on."""
    page = live(sixd.zoo.ur_arm(), q=ARM, dt=2e-7)
    ask(page, "sixd.play()")
    page.until("sixd.simulation.pace < 0.8")
    page.until("/slowed to 0/.test(document.querySelector('.slow').textContent)")
    now = ask(page, "sixd.simulation.time")
    page.until(f"sixd.simulation.time > {now}")


def test_forces_and_momentum(live):
    """Those that the page plots and draws are the library's, pulled or not."""
    model = sixd.zoo.four_bar()
    page = live(model, q=sixd.assemble(model, [1.0, -0.3, 1.5]))
    page.set("reactions", True)
    page.set("momentum", True)
    ask(page, "sixd.simulation.advance(200)")
    q, qd = (np.array(ask(page, f"sixd.simulation.{name}")) for name in ("q", "qd"))
    expected = sixd.joint_reactions(model, q, qd, np.zeros(3), expressed_in="aligned")[:, 3:]
    turn = np.reshape(ask(page, "sixd.scene.simulation.turn"), (3, 3))
    np.testing.assert_allclose(ask(page, "sixd.simulation.reactions()"), expected @ turn.T, atol=1e-9)
    observed = ask(page, "sixd.simulation.observed()")
    np.testing.assert_allclose(observed["momentum"], sixd.momentum(model, q, qd)[3:], atol=1e-9)
    np.testing.assert_allclose(observed["centre of mass"], sixd.center_of_mass(model, q), atol=1e-9)
    assert page.complaints == []


def test_systems_given_by_energies(live):
    """A pendulum by its Lagrangian: its bob can be pulled, though it is a drawing."""
    theta, rate = sympy.symbols("theta thetad")
    g, length = sympy.symbols("g l", positive=True)
    system = sixd.lagrange(
        length**2 * rate**2 / 2, -g * length * sympy.cos(theta), [theta], qd=[rate],
        bodies={"bob": {"position": (length * sympy.sin(theta), -length * sympy.cos(theta))}},
    )  # fmt: skip
    page = live(system, q=[0.5], parameters={"g": (9.81, 0, 20), "l": (1.0, 0.5, 2.0)})
    ask(page, "sixd.simulation.advance(1000)")
    motion = sixd.simulate(system.substitute({g: 9.81, length: 1.0}), [0.5], [0.0], 1.0)
    assert abs(ask(page, "sixd.simulation.q")[0] - motion.q[-1, 0]) < 1e-9
    x, y = pixel(page, "bob")
    page.page.mouse.move(x, y)
    page.page.mouse.down()
    page.until("sixd.simulation.pull !== null")
    page.page.mouse.move(x + 40, y)
    page.until("Math.abs(sixd.simulation.pull.force[0]) > 0.1")
    page.page.mouse.up()
    assert page.complaints == []


# the file -----------------------------------------------------------------------------------------


def test_a_page_inside_another(browser, tmp_path):
    """In a small frame of a page from the disk it runs too, and leaves the wheel to that page until it is clicked."""
    with sixd.view(sixd.zoo.pendulum(), live=True, q=[0.5], open_browser=False) as viewer:
        viewer.save_html(tmp_path / "pendulum.html")
    outer = tmp_path / "outer.html"
    frame = '<iframe src="pendulum.html" width="420" height="300" sandbox="allow-scripts"></iframe>'
    outer.write_text(f'<!doctype html><body style="margin: 0">{frame}<div style="height: 3000px"></div>')
    page = Watched(browser)
    page.page.goto(outer.as_uri())
    inner = page.page.frames[1]
    inner.evaluate("sixd.ready")
    inner.evaluate("sixd.pause(); sixd.simulation.advance(10)")
    assert inner.evaluate("sixd.simulation.time") >= 0.01
    assert not inner.evaluate("getComputedStyle(document.getElementById('b-help')).display !== 'none'")
    distance = inner.evaluate("sixd.camera.distance")
    page.page.mouse.move(30, 150)
    page.page.mouse.wheel(0, 120)
    page.until("window.scrollY > 0")
    assert inner.evaluate("sixd.camera.distance") == distance
    for k in range(10):  # the browser scrolls on for a while, and keeps one turn of the wheel in one page
        inner.evaluate("new Promise((done) => setTimeout(done, 500))")
        page.page.evaluate("window.scrollTo(0, 0)")
        page.page.mouse.click(30 + k, 150)
        page.page.mouse.wheel(0, 120)
        if inner.evaluate("sixd.camera.distance") > distance:
            break
    assert inner.evaluate("sixd.camera.distance") > distance
    inner.evaluate("window.postMessage({ sixd: 'dark' }, '*')")
    inner.evaluate("new Promise((done) => setTimeout(done, 100))")
    assert inner.evaluate("document.documentElement.dataset.theme") == "dark"
    assert page.complaints == []
    page.page.close()


def test_the_page_executes_no_text():
    with sixd.view(sixd.zoo.pendulum(), live=True, open_browser=False) as viewer:
        page = viewer._page(is_served=False)
    assert "unsafe" not in re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]


def test_names_stay_text(live):
    """Of symbols, bodies and joints, whatever they contain."""
    name = "</script><b>'\"`${1}"
    mass = sympy.Symbol(name, positive=True)
    builder = sixd.ModelBuilder(name)
    builder.add_body(
        name, "world", sixd.Revolute("y"), inertia=sixd.point(mass, (0, 0, -1)), joint_name=f"joint {name}"
    )
    page = live(builder.build(), q=[0.5], parameters={name: (1.0, 0.5, 2.0)}, trace=name)
    ask(page, "sixd.simulation.advance(100)")
    labels = page.page.eval_on_selector_all(".parameter label", "all => all.map(x => x.textContent)")
    assert labels[0] == name
    assert ask(page, "sixd.simulation.time") == pytest.approx(0.1)
    assert page.complaints == []


@pytest.mark.long
def test_large_pages_are_small():
    """Except for meshes, a page takes at most 2.4 MB: near the largest number of operations, too."""
    with sixd.view(sixd.zoo.autotree(220), live=True, open_browser=False) as viewer:
        assert len(viewer._page(is_served=False)) < 2.4e6


def test_a_configuration_from_python(browser):
    """``show`` moves a live page that is open, too."""
    with sixd.view(sixd.zoo.pendulum(), live=True, q=[0.5], open_browser=False) as viewer:
        page = Watched(browser)
        page.page.goto(viewer.url)
        page.page.evaluate("sixd.ready")
        viewer.show([2.0])
        page.until("Math.abs(sixd.simulation.q[0] - 2.0) < 1e-12")
        assert not page.page.evaluate("sixd.playing")
        page.page.close()


# errors -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "adaptive"}, "chooses its steps in Python"),
        ({"method": "midpoint"}, "expected one of rk4, euler, "),
        ({"method": "rk5"}, "rk4"),
        ({"controller": lambda t, q, qd: np.array([float(q[0])])}, "runs without Python"),
        ({"q": [[0.1], [0.2]]}, "one motion"),
        ({"q": "rondom"}, "random"),
        ({"dt": 0}, "above 0"),
        ({"parameters": {"m": (1, 0, 2)}}, "no parameter"),
        ({"parameters": {"gravity": 3}}, "three numbers"),
        ({"parameters": {"gravity": (3, 4, 5)}}, "lowest ≤ value"),
        ({"parameters": {"mass:rod2": (1, 0, 2)}}, "mass:rod1"),
        ({"parameters": [1]}, "mapping"),
        ({"trace": "top"}, "frame"),
        ({"trace": "world"}, "fixed to the world"),
        ({"trajectory": ([0, 1], [[0], [1]])}, "live page computes"),
    ],
)
def test_what_cannot_live(options, words):
    with pytest.raises(SixdError, match=re.escape(words)):
        sixd.view(sixd.zoo.pendulum(), live=True, open_browser=False, **options)


def test_symbols_without_a_slider():
    with pytest.raises(SixdError, match="symbols without a slider, l, m"):
        sixd.view(sixd.zoo.pendulum(1, *sympy.symbols("l m")), live=True, open_browser=False)


def test_arguments_of_live_pages_alone():
    with pytest.raises(SixdError, match=re.escape("Add live=True.")):
        sixd.view(sixd.zoo.pendulum(), qd=[1.0], open_browser=False)


@pytest.mark.long
def test_too_large_models():
    with pytest.raises(SixdError, match="operations, expected at most"):
        sixd.view(sixd.zoo.autotree(240), live=True, open_browser=False)
