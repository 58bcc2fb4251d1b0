"""The commands that move or measure something: simulate, view, demo, bench's and cache's examples."""

import dataclasses
import json
import signal
import socket
import urllib.request

import numpy as np
import pytest

import sixd
from browser import Watched, chromium
from commands import caller, fails, find
from sixd.cli import demo_scene
from sixd.cli.arguments.state import parse_number, parse_state, random_states
from sixd.simulation.progress import Progress


@pytest.fixture(name="call")
def _call(capsys, tmp_path, monkeypatch):
    return caller(capsys, tmp_path, monkeypatch)


@pytest.mark.long
@pytest.mark.parametrize("name", ["simulate", "view", "bench", "cache", "demo"])
def test_examples_run(call, name, monkeypatch, tmp_path):
    monkeypatch.setattr("sixd.cli.commands.bench.MEASUREMENT", 1e-3)
    if name == "cache":  # that of the tests is not to be cleared
        monkeypatch.setenv("SIXD_CACHE_DIR", str(tmp_path / "cache"))
    if name == "demo":  # the tour of ten seconds of motion differs by a number from the quick one
        monkeypatch.setattr("sixd.cli.commands.demo.SECONDS", 0.2)
    for line, _ in find(name).examples:
        status, out, err = call(*line.split()[1:])
        assert (status, err) == (0, ""), line
        assert out
        for word in line.split():
            if word.endswith((".html", ".npz")):
                assert (tmp_path / word).stat().st_size > 1000


# simulate -----------------------------------------------------------------------------------------


def test_the_summary_is_that_of_the_motion(call):
    motion = sixd.simulate(sixd.zoo.pendulum(2), [2.0, 0.5], [0.1, 0.0], 0.5, record_every=10)
    status, out, err = call(
        "simulate", "double_pendulum", "--q", "2,0.5", "--qd", "rod1=0.1", "--duration", 0.5, "--json"
    )
    facts = json.loads(out)
    assert (status, err) == (0, "")
    np.testing.assert_array_equal(facts["q"], motion.q[-1])
    assert facts["records"] == len(motion)
    assert facts["steps"] == 500
    assert facts["energy_change"] == np.abs(motion.energy - motion.energy[0]).max()
    assert facts["energy_is_constant"]
    assert facts["energy_change_relative"] < 1e-8
    assert facts["constraint_error"] is None
    _, out, _ = call("simulate", "double_pendulum", "--q", "2,0.5", "--duration", 0.5)
    assert "0.500 s by rk4, dt = 0.001 s" in out
    assert "energy         constant, to " in out


@pytest.mark.parametrize("ending", [".npz", ".csv"])
def test_motions_are_saved(call, tmp_path, ending):
    file = f"swing{ending}"
    status, out, _ = call("simulate", "pendulum", "--q", "90deg", "--duration", 0.2, "--record-every", 50, "-o", file)
    assert status == 0
    assert file in out
    motion = sixd.Trajectory.load(tmp_path / file, sixd.zoo.pendulum())
    assert len(motion) == 5
    assert motion.q[0, 0] == np.pi / 2
    assert "--force" in fails(call("simulate", "pendulum", "-o", file))


@pytest.mark.long
def test_pages_and_plots(call, tmp_path):
    pytest.importorskip("matplotlib")
    status, _, err = call(
        "simulate", "pendulum", "--q", 1, "--duration", 0.2, "--html", "swing.html", "--plot", "swing.png"
    )
    assert (status, err) == (0, "")
    assert "<html" in (tmp_path / "swing.html").read_text(encoding="utf-8")
    assert (tmp_path / "swing.png").read_bytes().startswith(b"\x89PNG")


def test_batches_are_random_and_repeatable(call):
    arguments = ["simulate", "planar", "--batch", 20, "--duration", 0.1, "--json"]
    first, again = (json.loads(call(*arguments, "--random", 3)[1]) for _ in range(2))
    assert first["rollouts"] == 20
    assert first["energy_change"] == again["energy_change"] > 0
    assert first["energy_change"] != json.loads(call(*arguments, "--random", 4)[1])["energy_change"]
    assert "20 rollouts" in call(*arguments[:-1])[1]


def test_constrained_robots_start_assembled(call):
    facts = json.loads(call("simulate", "four_bar", "--q", "1,-0.5,1.6", "--duration", 0.2, "--json")[1])
    assert facts["constraint_error"] < 1e-10
    assert "constraints" in call("simulate", "four_bar", "--q", "1,-0.5,1.6", "--duration", 0.1)[1]


def test_named_joints_keep_their_values(call):
    """Constraints move the other joints; a note says which values they do not allow."""
    start = ["simulate", "four_bar", "--duration", 0.01, "--json"]
    _, out, err = call(*start, "--q", "crank=1", "--qd", "crank=2")
    facts = json.loads(out)
    assert err == ""
    assert (facts["q_start"][0], facts["qd_start"][0]) == (1.0, 2.0)
    model = sixd.zoo.four_bar()
    assert np.abs(sixd.constraint_error(model, facts["q_start"])).max() < 1e-10
    assert np.abs(sixd.constraint_velocity(model, facts["q_start"], facts["qd_start"])).max() < 1e-10
    _, out, err = call(*start, "--q", "9,9,9")
    assert err.startswith("note: --q was changed, because it violates the constraints: crank 9 → ")
    assert err.count("\n") == 1
    # one degree of freedom: of two joints the first is kept
    _, out, err = call(*start, "--q", "crank=1,coupler=3", "--qd", "crank=1,coupler=9")
    facts = json.loads(out)
    assert (facts["q_start"][0], facts["qd_start"][0]) == (1.0, 1.0)
    assert "violates the constraints: coupler 3 → " in err
    assert "note: --qd was changed" in err


def test_long_assembly_is_announced(call, monkeypatch):
    monkeypatch.setattr("sixd.cli.arguments.initial_state._LONG", 0.0)
    monkeypatch.setattr("sixd.cli.arguments.initial_state._MANY", 10)
    _, _, err = call("simulate", "four_bar", "--batch", 10, "--duration", 0.01)
    assert err.startswith("note: assembling 10 states one by one takes about ")


def test_random_states_are_those_of_the_joints():
    """Drawn all at once, they are within the limits and spread as those drawn one by one; quaternions have length 1."""
    model = sixd.zoo.random_tree()
    q, qd = random_states(model, 5, 4000)
    one = np.array([model.random_configuration(rng) for rng in map(np.random.default_rng, range(2000))])
    assert qd.shape == (4000, model.nv)
    # standard errors of means and of deviations are below 0.02 of the range
    spread = one.max(axis=0) - one.min(axis=0)
    np.testing.assert_allclose(q.mean(axis=0) / spread, one.mean(axis=0) / spread, atol=0.05)
    np.testing.assert_allclose(q.std(axis=0) / spread, one.std(axis=0) / spread, atol=0.05)
    for i in model.bodies:
        if model.joints[i].nq > model.joints[i].nv:
            np.testing.assert_allclose(np.linalg.norm(q[:, model.iq[i]][:, :4], axis=1), 1.0, rtol=1e-12)
    arm = sixd.zoo.panda_arm()
    q, _ = random_states(arm, 0, 1000)
    assert ((q >= arm.lower) & (q <= arm.upper)).all()
    assert random_states(arm, 0, None)[0].shape == (7,)


def test_the_seed_is_reported(call):
    arguments = ["simulate", "planar", "--batch", 4, "--duration", 0.01]
    assert "seed 0" in call(*arguments)[1]
    assert json.loads(call(*arguments, "--random", 7, "--json")[1])["seed"] == 7
    assert json.loads(call("simulate", "planar", "--duration", 0.01, "--json")[1])["seed"] is None


def test_unnamed_joints_are_drawn(call):
    arguments = ["simulate", "planar", "--duration", 0.01, "--json", "--random", 2]
    drawn, named = (json.loads(call(*arguments, *more)[1])["q_start"] for more in ([], ["--q", "link1=0.25"]))
    assert named == [0.25, drawn[1]]


@pytest.mark.parametrize("arguments", [["--batch", 10**13], ["--duration", 1e9, "--dt", 1e-6]])
def test_motions_beyond_the_memory_are_refused(call, arguments):
    """Before a state is drawn."""
    assert "GB of free memory" in fails(call("simulate", "humanoid", *arguments))


def test_energy_is_not_called_constant_when_it_is_not(call):
    start = ["simulate", "double_pendulum", "--q", "3,0", "--method", "euler", "--dt", 0.1]
    out = call(*start)[1]
    assert "constant" not in out
    assert "without friction and controller" in " ".join(out.split())
    facts = json.loads(call(*start, "--json")[1])
    assert (facts["conservative"], facts["energy_is_constant"]) == (True, False)


def test_energies_that_are_not_finite(call, monkeypatch):
    whole = sixd.simulate(sixd.zoo.pendulum(), [[1.0], [0.5]], None, 0.1)
    kinetic, potential = whole.kinetic.copy(), whole.potential
    for failed, text in (([0], "; not finite in 1 rollout"), ([0, 1], "energy     not finite")):
        kinetic[failed, -1] = np.inf
        motion = dataclasses.replace(whole, known={**whole.known, "kinetic": kinetic.copy(), "potential": potential})
        monkeypatch.setattr(sixd, "simulate", lambda *_, motion=motion, **__: motion)
        assert text in call("simulate", "pendulum", "--batch", 2)[1]
    assert json.loads(call("simulate", "pendulum", "--batch", 2, "--json")[1])["energy_change"] is None


def test_records_of_adaptive_methods(call):
    """Their distance is dt times --record-every."""
    start = ["simulate", "pendulum", "--q", 1, "--duration", 0.5, "--method", "adaptive", "--json"]
    assert json.loads(call(*start, "--record-every", 100)[1])["records"] == 6
    assert json.loads(call(*start, "--dt", 0.01, "--record-every", 5)[1])["records"] == 11


def test_quaternions_of_length_zero(call):
    text = fails(call("simulate", "falling_sphere", "--q", "0,0,0,0,0,0,1"), 2)
    assert "the quaternion of joint 'sphere' is zero in the state, expected length 1, in the order w, x, y, z" in text


def test_controllers(call):
    start = ["simulate", "pendulum", "--q", 1, "--duration", 0.5, "--json"]
    held = json.loads(call(*start, "--controller", "gravity")[1])
    np.testing.assert_allclose(held["q"], [1.0], atol=1e-12)
    assert not held["energy_is_constant"]
    control = sixd.controllers.PD([0.4], 30.0, 5.0, model=sixd.zoo.pendulum(), gravity=True)
    motion = sixd.simulate(sixd.zoo.pendulum(), [1.0], None, 0.5, controller=control, record_every=10)
    led = json.loads(call(*start, "--controller", "gravity+pd:30,5", "--target", 0.4)[1])
    np.testing.assert_array_equal(led["q"], motion.q[-1])
    plain = json.loads(call(*start, "--controller", "pd:30,5")[1])
    assert plain["q"] != led["q"]
    assert "friction or the controller" in call(*start[:-1], "--controller", "gravity")[1]


def test_controllers_of_a_floating_base(call):
    """A controller that pushes what no motor drives says so; a state that does not fit names a joint that can be set."""
    start = ["simulate", "falling_sphere", "--duration", 0.01]
    _, _, err = call(*start, "--controller", "gravity")
    assert err.startswith("note: the controller also acts on sphere, which has no motor")
    assert "model=model" in err
    assert call(*start)[2] == ""
    text = fails(call(*start, "--controller", "pd:1,1", "--target", "0"), 2)
    assert "--target has 1 number, expected 7" in text
    assert "--target sphere=1:0:0:0:0:0:0." in text
    assert "--q left_forearm=0.5." in fails(call("simulate", "humanoid", "--q", "0"), 2)


@pytest.mark.parametrize("method", ["euler", "midpoint", "implicit", "adaptive", "stiff"])
def test_methods(call, method):
    status, out, err = call("simulate", "pendulum", "--q", 1, "--duration", 0.2, "--method", method)
    assert (status, err) == (0, "")
    assert f"by {method}" in out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--q", "1,2"], "--q has 2 numbers, expected 1"),
        (["--qd", "1,2"], "--qd has 2 numbers, expected 1"),
        (["--q", "rod2=1"], "Did you mean 'rod1'?"),
        (["--q", "rod1=1:2"], "separated by colons"),
        (["--q", "one"], "expected a number such as"),
        (["--q", "inf"], "expected a number such as"),
        (["--controller", "pdd:1,2"], "There are: none, gravity, pd:KP,KD"),
        (["--controller", "pd"], "expected it with gains: pd:KP,KD, such as pd:100,20."),
        (["--controller", "gravity+pd:"], "gravity+pd:KP,KD"),
        (["--controller", "gravity:1,2"], "Did you mean gravity+pd:1,2?"),
        (["--controller", "pd:1"], "expected two gains"),
        (["--controller", "pd:1,x"], "expected a number such as"),
        (["--controller", "pd:-1,0"], "kp"),
        (["--q", "rod1=1,rod1=2"], "has joint 'rod1' twice"),
        (["--q", "rod1=1,2"], "expected joint=2"),
        (["--q", "1:2:3"], "--q rod1=1:2:3"),
        (["-o", ""], "--output is empty"),
        (["--target", "1"], "requires --controller pd"),
        (["--dt", "0"], "--dt is 0, expected a finite number above 0"),
        (["--dt", "nan"], "--dt is nan"),
        (["--duration", "-1"], "--duration is -1, expected a finite number of at least 0"),
        (["-o", "x.mat"], "expected a name that ends in one of .npz, .csv"),
        (["--html", "x.txt"], ".html"),
        (["--plot", "no/x.png"], "is not a folder"),
    ],
)
def test_simulate_refused(call, arguments, message):
    status = 1 if "folder" in message else 2
    assert message in fails(call("simulate", "pendulum", *arguments), status)


def test_a_motion_that_fails(call):
    """A damper far too stiff for the step is reported, also by the exit status."""
    options = ("--q", 1, "--controller", "pd:0,1e6", "--target", 0, "--duration", 0.5)
    status, out, err = call("simulate", "pendulum", *options, "--method", "rk4")
    assert status == 1
    assert "1 rollout of 1" in out
    step, end = err.splitlines()  # before, and when it had happened
    assert step.startswith("warning: simulate: the step dt = 0.001 s is beyond the limit of method 'rk4', 9.28e-07 s")
    assert end.startswith("warning: simulate: the motion is not finite from t = ")
    assert ", joint 'rod1' first" in end


def test_high_gains_just_work(call):
    """Without --method a step that is too long for RK4 is made by implicit steps, and a note gives the reason."""
    start = ("simulate", "ur_arm", "--controller", "gravity+pd:100,20", "--duration", 0.1)
    status, out, err = call(*start)
    assert status == 0
    assert "by implicit" in out
    (note,) = err.splitlines()
    assert note.startswith("note: method 'implicit' is used, since the step dt = 0.001 s is beyond the limit of")
    assert "method 'rk4', 1.8" in note
    assert "a mode mostly of joint 'joint6' decays" in note
    status, out, err = call(*start, "--json")
    assert json.loads(out)["method"] == "implicit"
    status, out, err = call(*start, "--dt", 1e-5, "--json")
    assert (status, err) == (0, "")
    assert json.loads(out)["method"] == "rk4"


def test_an_interrupted_motion_is_kept(call, monkeypatch, tmp_path):
    whole = sixd.simulate(sixd.zoo.pendulum(), [1.0], None, 0.1)
    monkeypatch.setattr(sixd, "simulate", lambda *_, **__: dataclasses.replace(whole, interrupted=True))
    status, out, _ = call("simulate", "pendulum", "-o", "part.npz")
    assert status == 130
    assert "(interrupted)" in out
    assert (tmp_path / "part.npz").exists()


@pytest.mark.parametrize("method", ["rk4", "adaptive", "stiff"])
def test_interrupted_by_the_keyboard(call, method, monkeypatch, tmp_path):
    """Ctrl-C midway, whatever the method: the file holds what was computed."""
    monkeypatch.setattr("sixd.simulation.stepping.fixed._CALL", 1e4)
    update = Progress.update

    def press(bar, done):
        update(bar, done)
        if done > bar.total / 2:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(Progress, "update", press)
    options = ("--q", "1", "--duration", 2, "--method", method)
    status, out, err = call("simulate", "pendulum", *options, "-o", "part.npz")
    assert status == 130
    assert "(interrupted)" in out
    assert err.startswith("warning: simulate: interrupted at t = 1")
    motion = sixd.Trajectory.load(tmp_path / "part.npz")
    assert motion.interrupted
    assert 0.9 < motion.t[-1] < 1.9
    assert np.isfinite(motion.q).all()


def test_friction_needs_no_warning(call):
    status, _, err = call("simulate", "puma560", "--duration", 0.01)
    assert (status, err) == (0, "")


def test_states_on_the_command_line():
    arm = sixd.zoo.random_tree()
    q = arm.random_configuration(0)
    np.testing.assert_array_equal(parse_state(arm, "--q", ",".join(map(repr, q.tolist()))), q)
    name = next(n for n in arm.joint_names if arm.q_slice(n).stop - arm.q_slice(n).start > 1)
    place = arm.q_slice(name)
    parsed = parse_state(arm, "--q", f"{name}={':'.join(map(repr, q[place].tolist()))}")
    np.testing.assert_array_equal(parsed[place], q[place])
    np.testing.assert_array_equal(np.delete(parsed, np.r_[place]), np.delete(arm.neutral(), np.r_[place]))
    assert parse_number("--q", " -45deg") == -np.pi / 4


# view ---------------------------------------------------------------------------------------------


def test_a_page_is_served_until_interrupted(call, monkeypatch):
    seen = []

    def wait(viewer):
        with urllib.request.urlopen(viewer.url) as page:
            seen.append((viewer.url, page.read().decode()))

    monkeypatch.setattr(sixd.Viewer, "wait", wait)
    status, out, err = call("view", "pendulum", "--no-browser", "--q", "rod1=0.5")
    assert (status, err) == (0, "")
    ((url, page),) = seen
    assert url in out
    assert url.startswith("http://127.0.0.1:")
    assert "<html" in page


def test_videos_of_motions(call, tmp_path, monkeypatch):
    pytest.importorskip("PIL")
    monkeypatch.setenv("SIXD_BROWSER", "off")
    record = ("simulate", "pendulum", "--q", "1", "--duration", 0.02, "-o", "swing.npz", "--video", "own.gif")
    assert "swing.npz, own.gif" in call(*record)[1]
    status, out, err = call("view", "pendulum", "swing.npz", "--video", "again.gif")
    assert (status, err) == (0, "")
    assert out.startswith("again.gif  (0.")
    assert (tmp_path / "own.gif").read_bytes() == (tmp_path / "again.gif").read_bytes()
    assert (tmp_path / "own.gif").read_bytes().startswith(b"GIF89a")
    assert "--force" in fails(call("view", "pendulum", "swing.npz", "--video", "own.gif"))
    assert "--video requires a TRAJECTORY" in fails(call("view", "pendulum", "--video", "new.gif"), 2)
    assert "ends in one of .mp4, .gif" in fails(call("view", "pendulum", "swing.npz", "--video", "new.avi"), 2)


def test_view_refused(call, tmp_path):
    assert "--save is 'page', expected a name that ends in one of .html" in fails(
        call("view", "pendulum", "--save", "page"), 2
    )
    assert "cannot read 'none.npz'" in fails(call("view", "pendulum", "none.npz", "--save", "x.html"))
    call("simulate", "planar", "--duration", 0.1, "-o", "planar.npz")
    assert "expected 'rod1'" in fails(call("view", "pendulum", "planar.npz", "--save", "x.html"))
    assert not (tmp_path / "x.html").exists()
    (tmp_path / "x.html").write_text("mine")
    assert "--force" in fails(call("view", "pendulum", "--save", "x.html"))
    assert call("view", "pendulum", "--save", "x.html", "--force")[0] == 0
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert str(port) in fails(call("view", "pendulum", "--no-browser", "--port", port))


# demo ---------------------------------------------------------------------------------------------


@pytest.mark.long
def test_demo(call, tmp_path, monkeypatch):
    monkeypatch.setattr("sixd.cli.commands.bench.MEASUREMENT", 1e-3)
    page = tmp_path / "sixd_demo.html"
    page.write_text("of a tour before")  # is replaced
    status, out, err = call("demo", "--quick")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[-1] == str(page)
    assert "energy" in page.read_text(encoding="utf-8")
    assert max(map(len, lines[:-1])) <= 100
    for part in (
        "A robot",
        "Equations of motion",
        "Speed",
        "Motion",
        "A page",
        "link6",
        "M[1,1]          = I₁ + I₂ + m₁ r₁²",
    ):
        assert part in out
    assert "--force" in fails(call("demo", "-o", page))
    with chromium() as browser:
        watched = Watched(browser).open(page)
        assert watched.complaints == []
        assert watched.outside == []
        start = watched.picture()
        watched.page.evaluate("sixd.pause(); sixd.seek(1.0)")
        assert watched.picture() != start
        assert abs(watched.page.evaluate("sixd.simulation.time") - 1.0) < 1e-9


def test_the_stage_keeps_the_energy_and_its_parts_apart():
    """What the tour claims of its motions holds, and the arm meets neither the gantry nor the top."""
    from sixd.cli.commands.demo import ARM_START, TOP_SPIN, TOP_START, simulated

    arm, top = demo_scene.hung_arm(), demo_scene.standing_top()
    swing, _ = simulated(arm, ARM_START, np.zeros(6), 10.0)
    spin, _ = simulated(top, TOP_START, np.array(TOP_SPIN), 10.0)
    for motion in (swing, spin):
        assert np.ptp(motion.energy) < 1e-9 * motion.kinetic.max()  # RK4 at 1 ms
    places = sixd.body_poses(arm, swing.q)[..., :3, 3].reshape(len(swing), -1, 3)[:, -4:]
    assert places[..., 2].max() < demo_scene.GANTRY - 0.1
    assert (
        np.linalg.norm(places - np.add(demo_scene.PEDESTAL, (0, 0, demo_scene.HEIGHT)), axis=-1).min()
        > demo_scene.RADIUS + 0.1
    )


def test_a_start_beyond_the_limits_is_reported(call):
    """Degrees instead of radians, most often; the motion is simulated all the same."""
    status, _, err = call("simulate", "panda_arm", "--q", "joint1=45,joint4=-1", "--duration", "0.01", "--json")
    assert status == 0
    assert "q starts 'joint1' at 45 rad (limits -2.8973 … 2.8973), which look like degrees" in err
    assert "the command reads 45deg" in err
    status, _, err = call("simulate", "panda_arm", "--q", "joint1=45deg,joint4=-1", "--duration", "0.01", "--json")
    assert (status, err) == (0, "")
