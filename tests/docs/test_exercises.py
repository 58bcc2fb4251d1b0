"""The line of an exercise in a browser: what it reads, what it calls right, and what it says."""

import html
import json

import pytest

from browser import Watched, chromium
from machinery import answers
from machinery.page import DOCS, Exercise, all_pages

pytestmark = pytest.mark.one_target

FORM = '<form class="answer" data-exercise="{}"><input><button>Check</button><output></output></form>'
SCRIPT = DOCS / "machinery" / "static" / "exercise.js"


@pytest.fixture(scope="module")
def browser():
    with chromium() as found:
        yield found


@pytest.fixture
def ask(browser, tmp_path):
    """A function (options of an exercise, answers) -> verdicts and messages."""
    pages = []

    def judge(*questions):
        """Each question is (options, answer); returns a list of (verdict, message)."""
        tasks = [answers.task(Exercise("", 0, options, "")) for options, _ in questions]
        forms = "".join(FORM.format(html.escape(json.dumps(task), quote=True)) for task in tasks)
        file = tmp_path / "exercises.html"
        file.write_text(f'<!doctype html><meta charset="utf-8"><body>{forms}<script>{SCRIPT.read_text()}</script>')
        page = Watched(browser)
        pages.append(page)
        page.page.goto(file.as_uri())
        found = page.page.evaluate(
            """(texts) => [...document.querySelectorAll('form')].map((form, k) => {
              form.querySelector('input').value = texts[k];
              form.querySelector('button').click();
              return [form.dataset.verdict, form.querySelector('output').textContent];
            })""",
            [text for _, text in questions],
        )
        assert page.complaints == []
        return [tuple(one) for one in found]

    yield judge
    for page in pages:
        page.page.close()


def test_how_formulas_are_written(ask):
    """As on paper: powers, Greek letters, dots, roots, functions without brackets."""
    cases = {
        ("m sin(q2) qd1^2", "m q2 qd1"): [
            "m sin(q2) qd1²", "m qd1² sin q2", "qd1^2 m sin q2", "m·qd1**2·sin(q2)",
            "m q̇1² sin q₂", "sin(q2) m qd1²",
        ],
        ("sin(q2) cos(q1)", "q1 q2"): ["sin q2 cos q1", "cos q1 sin q2", "sin q2*cos q1", "sin(q2)cos(q1)", "sin -q2 cos q1 * -1"],
        ("sin(2 q1)", "q1"): ["sin 2 q1", "sin 2q1", "2 sin q1 cos q1", "2sin(q1)·cos(q1)"],
        ("sin(q1)^2", "q1"): ["sin² q1", "sin²(q1)", "sin^2 q1", "1 − cos² q1", "sin(q1)²", "(sin q1)²"],
        ("g cos(theta1 + theta2)/l2", "g theta1 theta2 l2"): ["g cos(θ1 + θ2)/l2", "g cos(θ₁+θ₂) / l₂", "g cos(theta_1 + ϑ_2) l2⁻¹"],
        ("2 m r rd thetad", "m r rd thetad"): ["2 m r ṙ θ̇", "2m·r·rd·θd"],
        ("sqrt(d1^2 + d2^2)", "d1 d2"): ["√(d1² + d2²)", "√(d1^2+d2^2)", "(d1² + d2²)^(1/2)"],
        ("sqrt(2) a", "a"): ["√2 a", "a√2", "a sqrt 2", "2a/√2"],
        ("Omega/tan(alpha)", "Omega alpha"): ["Ω/tan(α)", "Ω/tan α"],
        ("I_A + m d_B^2", "I_A m d_B"): ["IA + m dB²", "I_A + m d_B²"],
        ("a pi", "a"): ["a π", "π a", "a pi"],
    }  # fmt: skip
    questions = [({"answer": a, "variables": v}, text) for (a, v), texts in cases.items() for text in texts]
    wrong = [(text, found) for (_, text), found in zip(questions, ask(*questions), strict=True) if found[0] != "right"]
    assert wrong == []


def test_what_is_not_understood_is_named(ask):
    cases = {
        "sin q1 q2": "how far does sin reach? Write sin(…)",
        "sin q1/2": "how far does sin reach",
        "sin 2*q1": "how far does sin reach",
        "sin q1 (q2)": "how far does sin reach",
        "sin": "write sin(…)",
        "sin^-1 q1": "asin(…) for its inverse",
        "q1 ² ³": "'³' is not expected here",
        "η q1": "'eta' is not known here: use q1, q2",
        "q1 # 2": "'#' is not understood",
        "q1 m": "'m' is not known here",
        "q1 √": "missing at the end",
        "²": "'²' is not expected here",
        "q1 +": "missing at the end",
        "q1^^2": "'^' is not expected here",
        "": "type an answer first",
    }
    found = ask(*(({"answer": "q1 q2", "variables": "q1 q2"}, text) for text in cases))
    assert [verdict for verdict, _ in found] == ["unclear"] * len(cases)
    assert [text for (text, reason), (_, said) in zip(cases.items(), found, strict=True) if reason not in said] == []


@pytest.mark.parametrize(
    ("answer", "unit", "verdicts"),
    [
        ("0.5275174", "rad", {"0.527": "right", "0.528": "right", "0.5275": "right", "0.53": "give 3 digits", "0.526": "Not yet.", "0.5": "Not yet.", "0.5275 rad": "right", "30.22°": "right", "30.22 deg": "right", "0.53 rad": "give 3 digits", "0.5275 m": "the unit is rad"}),
        ("31.8825", "N m", {"31.9 N m": "right", "31.9 Nm": "right", "31.9 J": "right", "31.88 N·m": "right", "31.9 N": "the unit is N m", "31.9 N/m": "the unit is N m", "32": "give 3 digits", "3188 N cm": "right", "31.9": "right"}),
        ("3.2", "rad/s", {"3.2": "right", "3.2 rad/s": "right", "3.2/s": "right", "3.2 rad": "the unit is rad/s", "3.2 s^-1": "right", "3.2 s⁻¹": "right", "3.2 furlongs": "'furlongs' is not known here"}),
        ("0.136501", "kg m²", {"0.137 kg m²": "right", "0.1365 kg·m^2": "right", "0.1365 N m s²": "right", "0.137 kg m": "the unit is kg m²"}),
        ("-9", "N", {"-9": "right", "−9 N": "right", "-0.009 kN": "right", "9 N": "Not yet.", "-9.05": "Not yet."}),
        ("1.35", "m/s²", {"1.35 m/s²": "right", "1.35 m/s^2": "right", "135 cm/s²": "right", "1.4": "give 3 digits", "1.34": "Not yet."}),
        ("131.8103", "°", {"131.8°": "right", "131.8": "right", "2.3005 rad": "right"}),
        ("4", "", {"4": "right", "4.0": "right", "4 m": "type a number", "5": "Not yet.", "8/2": "right"}),
        ("3866.28", "N m/rad", {"3870 N m/rad": "right", "3870 Nm": "right", "3900": "give 3 digits", "3866": "right"}),
        ("0", "N", {"0": "right", "0 N": "right", "0.1": "Not yet."}),
    ],
)  # fmt: skip
def test_numbers_and_units(ask, answer, unit, verdicts):
    found = ask(*(({"answer": answer, "unit": unit}, text) for text in verdicts))
    for (text, expected), (verdict, message) in zip(verdicts.items(), found, strict=True):
        assert expected == verdict if expected == "right" else expected in message, (text, verdict, message)


def test_answers_hold_on_the_constraint(ask):
    """Of a point on a circle, whose samples are on the circle: all ways to write the tangential part are right."""
    circle = {"answer": "u1 - x*(x*u1 + y*u2)", "variables": "x y u1 u2", "constraint": "x^2 + y^2 = 1"}
    texts = {"u1 - x (x u1 + y u2)": "right", "y (y u1 - x u2)": "right", "y² u1 - x y u2": "right", "u1": "wrong", "y (x u2 - y u1)": "wrong"}  # fmt: skip
    assert [verdict for verdict, _ in ask(*((circle, text) for text in texts))] == list(texts.values())
    free = {name: x for name, x in circle.items() if name != "constraint"}
    assert ask((free, "y (y u1 - x u2)"))[0][0] == "wrong"


def test_every_answer_of_the_pages_is_right(ask):
    """With its unit, too."""
    exercises = [(page.name, one.options) for page in all_pages() for one in page.exercises]
    questions = [(options, options["answer"]) for _, options in exercises]
    questions += [(options, f"{options['answer']} {options['unit']}") for _, options in exercises if "unit" in options]
    assert [(text, found) for (_, text), found in zip(questions, ask(*questions), strict=True) if found[0] != "right"] == []  # fmt: skip
