"""The commands that move or measure something: simulate, view, demo, bench's and cache's examples."""

import dataclasses
import json
import socket
import urllib.request

import numpy as np
import pytest

import sixd
from browser import Watched, chromium
from commands import caller, fails, find
from sixd.cli import stage
from sixd.cli.state import parse_number, parse_state


@pytest.fixture(name="call")
def _call(capsys, tmp_path, monkeypatch):
    return caller(capsys, tmp_path, monkeypatch)


@pytest.mark.parametrize("name", ["simulate", "view", "bench", "cache", "demo"])
def test_examples_run(call, name, monkeypatch, tmp_path):
    monkeypatch.setattr("sixd.cli.timing.TURN", 1e-3)
    if name == "cache":  # that of the tests is not to be cleared
        monkeypatch.setenv("SIXD_CACHE_DIR", str(tmp_path / "cache"))
    if name == "demo":  # the tour of ten seconds of motion differs by a number from the quick one
        monkeypatch.setattr("sixd.cli.demo.SECONDS", 0.2)
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


@pytest.mark.parametrize("method", ["euler", "midpoint", "adaptive", "stiff"])
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
        (["--q", "rod1=1:2"], "with colons between"),
        (["--q", "one"], "expected a number such as"),
        (["--q", "inf"], "expected a number such as"),
        (["--controller", "pdd:1,2"], "Did you mean"),
        (["--controller", "pd"], "There are: 'none', 'gravity', 'pd:KP,KD'"),
        (["--controller", "gravity:1,2"], "no controller named"),
        (["--controller", "pd:1"], "expected two gains"),
        (["--controller", "pd:1,x"], "expected a number such as"),
        (["--controller", "pd:-1,0"], "kp"),
        (["--target", "1"], "without --controller pd"),
        (["--dt", "0"], "dt is 0.0"),
        (["--dt", "nan"], "dt is nan"),
        (["--duration", "-1"], "duration is -1.0"),
        (["-o", "x.mat"], "expected a name that ends in one of .npz, .csv"),
        (["--html", "x.txt"], ".html"),
        (["--plot", "no/x.png"], "is no folder"),
    ],
)
def test_simulate_refused(call, arguments, message):
    assert message in fails(call("simulate", "pendulum", *arguments))


def test_a_motion_that_fails(call):
    """A damper far too stiff for the step: told, and the exit status says so."""
    status, out, err = call(
        "simulate", "pendulum", "--q", 1, "--controller", "pd:0,1e6", "--target", 0, "--duration", 0.5
    )
    assert status == 1
    assert "1 rollout of 1" in out
    assert err.startswith("warning: simulate: the motion is not finite")


def test_an_interrupted_motion_is_kept(call, monkeypatch, tmp_path):
    whole = sixd.simulate(sixd.zoo.pendulum(), [1.0], None, 0.1)
    monkeypatch.setattr(sixd, "simulate", lambda *_, **__: dataclasses.replace(whole, interrupted=True))
    status, out, _ = call("simulate", "pendulum", "-o", "part.npz")
    assert status == 130
    assert "(interrupted)" in out
    assert (tmp_path / "part.npz").exists()


def test_states_on_the_command_line():
    arm = sixd.zoo.random_tree()
    q = arm.random_configuration(0)
    np.testing.assert_array_equal(parse_state(arm, "--q", ",".join(map(repr, q.tolist()))), q)
    name = next(n for n in arm.joint_names if arm.q_slice(n).stop - arm.q_slice(n).start > 1)
    place = arm.q_slice(name)
    given = parse_state(arm, "--q", f"{name}={':'.join(map(repr, q[place].tolist()))}")
    np.testing.assert_array_equal(given[place], q[place])
    np.testing.assert_array_equal(np.delete(given, np.r_[place]), np.delete(arm.neutral(), np.r_[place]))
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


def test_view_refused(call, tmp_path):
    assert "cannot read 'none.npz'" in fails(call("view", "pendulum", "none.npz", "--save", "x.html"))
    call("simulate", "planar", "--duration", 0.1, "-o", "planar.npz")
    assert "expected 'rod1'" in fails(call("view", "pendulum", "planar.npz", "--save", "x.html"))
    assert not (tmp_path / "x.html").exists()
    (tmp_path / "x.html").write_text("mine")
    assert "--force" in fails(call("view", "pendulum", "--save", "x.html"))
    assert call("view", "pendulum", "--save", "x.html", "--force")[0] == 0
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert str(port) in fails(call("view", "pendulum", "--no-browser", "--port", port))


# demo ---------------------------------------------------------------------------------------------


def test_demo(call, tmp_path, monkeypatch):
    monkeypatch.setattr("sixd.cli.timing.TURN", 1e-3)
    page = tmp_path / "sixd_demo.html"
    page.write_text("of a tour before")  # is replaced
    status, out, err = call("demo", "--quick")
    assert (status, err) == (0, "")
    lines = out.splitlines()
    assert lines[-1] == str(page)
    assert "energy" in page.read_text(encoding="utf-8")
    assert max(map(len, lines[:-1])) <= 100
    for part in ("A robot", "Equations of motion", "Speed", "Motion", "A page", "link6", "M[1,1] = I1 + I2 + m1·r1²"):
        assert part in out
    assert "--force" in fails(call("demo", "-o", page))
    with chromium() as browser:
        watched = Watched(browser).open(page)
        assert watched.complaints == []
        assert watched.outside == []
        start = watched.picture()
        watched.page.evaluate("sixd.pause(); sixd.seek(1.0)")
        assert watched.picture() != start


def test_the_stage_keeps_the_energy_and_its_parts_apart():
    """What the tour claims of its motions holds, and the arm meets neither the gantry nor the top."""
    from sixd.cli.demo import ARM_START, TOP_SPIN, TOP_START, simulated

    arm, top = stage.hung_arm(), stage.standing_top()
    swing, _ = simulated(arm, ARM_START, np.zeros(6), 10.0)
    spin, _ = simulated(top, TOP_START, np.array(TOP_SPIN), 10.0)
    for motion in (swing, spin):
        assert np.ptp(motion.energy) < 1e-9 * motion.kinetic.max()  # RK4 at 1 ms
    places = sixd.body_poses(arm, swing.q)[..., :3, 3].reshape(len(swing), -1, 3)[:, -4:]
    assert places[..., 2].max() < stage.GANTRY - 0.1
    assert np.linalg.norm(places - np.add(stage.PEDESTAL, (0, 0, stage.HEIGHT)), axis=-1).min() > stage.RADIUS + 0.1
