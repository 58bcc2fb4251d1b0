"""Targets: the required and the measured speed."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from benchmarks.session import Key, Session
from benchmarks.tasks import ALL
from sixd.cli.output import digits

ROWS = 4096
_BATCH = {"ur5": 30.0, "panda": 25.0, "talos": 15.0}
_MASS_MATRIX = {"ur5": 20.0, "panda": 20.0, "talos": 6.0, "anymal, floating": 10.0, "talos, floating": 8.0}
_FIRST_CALL = {200: 3.5, 1000: 16.0}  # of ABA of a chain of so many bodies [s]
_OPERATIONS = {
    "rnea": {"ur5": 630, "panda": 1014, "talos": 5044},
    "aba": {"ur5": 1461, "panda": 2183, "talos": 10665},
}
_SINGLE = {"kernel": 0.3, "public": 0.6}
_SMALL = {"ur5": (0.16, 0.22), "panda": (0.19, 0.25), "talos": (0.17, 0.20)}  # kernel and public function, RNEA
_FEW = {"16": 2.0, "256": 1.2}  # states, and the time of each as a multiple of that in a large batch
_FRICTION = {"panda": 1.6, "talos": 2.0}  # a step of rk4 with friction over one without
_CONTACT = {4: 2.0, 16: 8.0}  # points, and a step of a row [µs]
_ROBOTS = ("ur5", "panda", "anymal, floating", "talos", "talos, floating")
# of derivatives: the most operations, and the least ratio of Pinocchio's net call to a row, for these robots
_DERIVATIVES = {
    "drnea": ("∂RNEA", (2950, 4450, 10900, 23850, 34200), (25, 20, 12, 14, 8)),
    "daba": ("∂ABA", (4150, 6650, 26200, 43100, 125000), (20, 18, 8, 10, 4.5)),
}
_CODE_OF_DERIVATIVES = (0.3, 0.4, 0.5, 1.4, 1.8)  # of ∂RNEA: time to make the code of batches [s]
_GRADIENTS = {"RNEA": 2.7, "ABA": 2.1, "Euler step": 2.1}  # operations of a vjp over those of the function
_ROLLOUT_GRADIENT = 4.0  # over the rollout
_KINEMATICS = (0.995, 20.0)  # part of reachable poses that is solved; times a loop on Pinocchio's model
_KINEMATIC_ROBOTS = ("ur5", "panda", "talos", "anymal, floating")
_START = (
    ("cold RNEA of an arm", 0.5, [("rnea", "ur5", "cold"), ("rnea", "panda", "cold")]),
    ("cold ABA of talos", 3.0, [("aba", "talos", "cold")]),
    ("cold 200-body chain", 30.0, [("rnea", "chain of 200", "cold"), ("aba", "chain of 200", "cold")]),
    ("warm start of an arm", 0.05, [("rnea", "ur5", "warm"), ("rnea", "panda", "warm"), ("aba", "panda", "warm")]),
    ("warm start of talos", 0.3, [("rnea", "talos", "warm"), ("aba", "talos", "warm")]),
    ("`import sixd`", 0.3, [("import", "sixd")]),
)


class Target(NamedTuple):
    """A line of the table: what, the bound, what was measured (None: not in this run), whether it holds."""

    what: str
    required: str
    measured: str | None
    reached: bool


def show(session: Session) -> bool:
    """Add the table of targets; return whether all were measured and reached."""
    targets = [*_batches(session), *_singles(session), *_starts(session), *_growth(session), *_threads(session)]
    targets += [*_operations(session), *_constrained(session), *_rollouts(session), *_nonsmooth(session)]
    targets += [*_equations(session), *_derivatives(session), *_gradients(session), *_kinematics(session)]
    session.report.heading("Targets")
    if session.quick:
        session.report.paragraph(f"Only {session.rounds} rounds: a trial, whose verdicts mean little.")
    rows = [[t.what, t.required, t.measured or "not measured", _verdict(t)] for t in targets]
    session.report.table(["what", "required", "measured", "reached"], rows)
    return all(t.reached for t in targets)


def _verdict(target: Target) -> str:
    return "–" if target.measured is None else "yes" if target.reached else "**no**"


def _batches(session: Session) -> list[Target]:
    """Targets for batches of 4096 states; other sizes are not compared."""
    listed = []
    for word in ("rnea", "aba"):
        for robot, least in _BATCH.items():
            value = _of_batch(session, ("batch", word, robot), "Pinocchio batch", "sixd")
            listed.append(_at_least(f"{word.upper()} of {robot}, times Pinocchio's batch call", least, value))
    for robot, least in _MASS_MATRIX.items():
        value = _of_batch(session, ("batch", "crba", robot), "Pinocchio net", "sixd")
        listed.append(_at_least(f"CRBA of {robot}, times Pinocchio's call minus the empty call", least, value))
    return listed


def _singles(session: Session) -> list[Target]:
    """The worst of the fixed-base robots in this run, for each function."""
    listed = []
    robots = [name for name, floating in session.robot_names if not floating]
    for entry, most in _SINGLE.items():
        for task in ALL:
            values = {r: _quotient(session, ("single", task.word, r), entry, "Pinocchio") for r in robots}
            known = {r: value for r, value in values.items() if value is not None}
            worst = max(known, key=lambda r: known[r], default=None)
            what = f"single {task.title}, {entry} / Pinocchio's call"
            if worst is not None:
                what += f", worst of {', '.join(known)}: {worst}" if len(known) > 1 else f", {worst}"
            listed.append(_at_most(what, most, known.get(worst or "")))
    return [*listed, *_small_calls(session)]


def _small_calls(session: Session) -> list[Target]:
    """RNEA of one state and of small batches."""
    listed = []
    for robot, bounds in _SMALL.items():
        key = ("single", "rnea", robot)
        for entry, most in zip(("kernel", "public"), bounds, strict=True):
            value = _quotient(session, key, entry, "Pinocchio")
            listed.append(_at_most(f"single RNEA of {robot}, {entry} / Pinocchio's call", most, value))
        others = ("public, out=", "public, float32", "public, out=, float32")
        values = [_quotient(session, key, name, "public") for name in others]
        known = [x for x in values if x is not None]
        what = f"single RNEA of {robot}, `out=` and float32 / without, the slowest"
        listed.append(_at_most(what, 1.1, max(known) if len(known) == len(values) else None))
    for label in ("float64", "float32"):
        few = ("few", "rnea", "ur5", label)
        time = session.measured.get((*few, "8"))
        listed.append(_at_most(f"8 states, RNEA of ur5, {label}", 1.5, None if time is None else 8e-3 * time, "µs"))
        for rows, most in _FEW.items():
            value = _quotient(session, few, rows, str(ROWS))
            listed.append(_at_most(f"{rows} states, RNEA of ur5, {label}, a state / one of {ROWS:,}", most, value))
    return listed


def _starts(session: Session) -> list[Target]:
    """The slowest of the cases that a line stands for, if all of them were measured."""
    listed = []
    for what, most, keys in _START:
        times = [session.measured.get(("start", *key)) for key in keys]
        known = [t for t in times if t is not None]
        slowest = max(known) if len(known) == len(keys) else None
        listed.append(_at_most(what, most, slowest, "s", lambda x: f"{x:.3f}"))
    return listed


def _growth(session: Session) -> list[Target]:
    listed = []
    for n, most in _FIRST_CALL.items():
        value = session.measured.get(("growth", "aba", str(n), "first call"))
        listed.append(_at_most(f"first call of ABA of a chain of {n:,}", most, value, "s", lambda x: f"{x:.3f}"))
    return listed


def _threads(session: Session) -> list[Target]:
    value = _of_batch(session, ("threads",), "1", "2")
    return [_at_least("two threads, times one thread, RNEA of the panda, 100,000 states", 1.8, value)]


def _operations(session: Session) -> list[Target]:
    listed = []
    for word, robots in _OPERATIONS.items():
        for robot, known in robots.items():
            value = session.measured.get(("operations", word, robot))
            listed.append(
                _at_most(f"operations, {word.upper()} of {robot}", 1.05 * known, value, "", lambda x: f"{x:.0f}")
            )
    return listed


def _constrained(session: Session) -> list[Target]:
    listed = []
    for name in ("four-bar", "ur5"):
        value = _of_batch(session, ("constrained", name), "Pinocchio net", "sixd")
        listed.append(
            _at_least(f"constrained dynamics of {name}, times Pinocchio's call minus the empty call", 10.0, value)
        )
    return listed


def _rollouts(session: Session) -> list[Target]:
    listed = []
    for robot in ("ur5", "panda"):
        value = _of_batch(session, ("rollouts", robot), "MuJoCo", "rk4")
        listed.append(_at_least(f"rk4 rollouts of {robot}, times MuJoCo's rollout", 25.0, value))
    return listed


def _nonsmooth(session: Session) -> list[Target]:
    listed = []
    for robot, most in _FRICTION.items():
        value = _of_batch(session, ("nonsmooth", robot), "friction", "rk4")
        listed.append(_at_most(f"rk4 with dry friction of {robot} / without", most, value))
    for robot in ("ur5", "panda"):
        value = _of_batch(session, ("nonsmooth", robot), "implicit", "damped")
        listed.append(_at_most(f"implicit steps of {robot} with damping / rk4", 1.0, value))
    for points, most in _CONTACT.items():
        time = session.measured.get(("nonsmooth", f"go2, {points} points", "rigid"))
        value = None if time is None else 1e-3 * time
        listed.append(_at_most(f"rigid contact of go2 on {points} points, a step", most, value, "µs"))
    return listed


def _equations(session: Session) -> list[Target]:
    limits = {"ur5": 1.0, "puma560": 1.0, "symbols": 5.0}
    listed = []
    for name, most in limits.items():
        what = f"closed form of {name}" if name != "symbols" else "closed form of puma560 with 60 symbols"
        listed.append(_at_most(f"{what}: M, C and g", most, session.measured.get(("equations", name, "seconds")), "s"))
    for name in ("ur5", "puma560"):
        value = session.measured.get(("equations", name, "ratio"))
        listed.append(_at_least(f"operations of SymPy's mechanics, times those of the closed form, {name}", 8.0, value))
    return listed


def _derivatives(session: Session) -> list[Target]:
    """Operations of the derivatives, and batches of 4096 rows."""
    listed = []
    for word, (title, counts, ratios) in _DERIVATIVES.items():
        for robot, most, least in zip(_ROBOTS, counts, ratios, strict=True):
            count = session.measured.get((word, robot, "operations"))
            listed.append(_at_most(f"{title} of {robot}, operations", most, count, text=lambda x: f"{x:,.0f}"))
            value = _of_batch(session, (word, robot), "Pinocchio net", "sixd")
            listed.append(_at_least(f"{title} of {robot}, times Pinocchio's call minus the empty call", least, value))
    for robot, longest in zip(_ROBOTS, _CODE_OF_DERIVATIVES, strict=True):
        value = session.measured.get(("drnea", robot, "code"))
        listed.append(_at_most(f"∂RNEA of {robot}, code made in", longest, value, "s"))
    for title, most in _GRADIENTS.items():
        for robot in _ROBOTS:
            value = session.measured.get(("vjp", title, robot, "operations"))
            listed.append(_at_most(f"vjp of {title} of {robot}, operations over the function's", most, value))
    return listed


def _gradients(session: Session) -> list[Target]:
    """Gradients of rollouts."""
    listed = []
    for robot in ("ur5", "panda", "anymal, floating"):
        for method in ("rk4", "euler"):
            value = _quotient(session, ("gradient", robot, method), "gradient", "rollout")
            listed.append(
                _at_most(f"gradient of a rollout over the rollout, {robot}, {method}", _ROLLOUT_GRADIENT, value)
            )
    return listed


def _kinematics(session: Session) -> list[Target]:
    """Inverse kinematics."""
    listed, (part, times) = [], _KINEMATICS
    for robot in _KINEMATIC_ROBOTS:
        key = ("inverse kinematics", robot)
        listed.append(
            _at_least(f"reachable poses of {robot} solved, part", part, session.measured.get((*key, "solved")))
        )
        value = _quotient(session, key, "Pinocchio loop", "sixd")
        listed.append(_at_least(f"inverse kinematics of {robot}, times a loop on Pinocchio's model", times, value))
    return listed


def _quotient(session: Session, key: Key, over: str, under: str) -> float | None:
    top, bottom = session.measured.get((*key, over)), session.measured.get((*key, under))
    return top / bottom if top is not None and bottom else None


def _of_batch(session: Session, key: Key, over: str, under: str) -> float | None:
    return _quotient(session, key, over, under) if session.rows == ROWS else None


def _at_least(what: str, least: float, value: float | None) -> Target:
    return Target(what, f"≥ {least:g}", None if value is None else digits(value), value is not None and value >= least)


def _at_most(
    what: str, most: float, value: float | None, unit: str = "", text: Callable[[float], str] = digits
) -> Target:
    words = None if value is None else f"{text(value)} {unit}".strip()
    return Target(what, f"≤ {most:g} {unit}".strip(), words, value is not None and value <= most)
