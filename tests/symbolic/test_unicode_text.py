"""Expressions and equations as readable text."""

import pytest
import sympy as sp

import sixd
from sixd.symbolic import text
from sixd.symbolic.writing.unicode_text import aligned, broken, width

q1, q2, qd1, theta, m1, a_g, x, y = sp.symbols("q1 q2 qd1 theta m1 a_g x y")
NAMES = {qd1: "q̇₁"}

CASES = [
    (m1 * x**2, "m₁ x²"),
    (-m1 * x, "-m₁ x"),
    (x - y, "x - y"),
    (-m1 * (x + y), "-m₁ (x + y)"),
    (x / 2 + sp.Rational(1, 3), "x/2 + 1/3"),
    (x / (y * m1), "x/(m₁ y)"),
    (1 / (x + y) ** 2, "1/(x + y)²"),
    (1 / (x + y), "1/(x + y)"),
    (sp.sqrt(x**2 + 1) / y, "√(x² + 1)/y"),
    (sp.sqrt(2) * x, "√2 x"),
    (sp.cos(q1 + q2) ** 2, "cos²(q₁ + q₂)"),
    (m1 * qd1 * sp.sin(theta) * (x + y), "m₁ (x + y) sin(θ) q̇₁"),
    (x + m1 * qd1, "m₁ q̇₁ + x"),
    (a_g * sp.pi, "π a_g"),
    (sp.Abs(x) + sp.sign(y), "|x| + sign(y)"),
    (sp.exp(-x), "exp(-x)"),
    (x**y, "x^y"),
    ((x + y) ** sp.Rational(1, 3), "(x + y)^(1/3)"),
    (sp.Float(0.1234567) * x, "0.1235 x"),
    (sp.Eq(x, y), "x = y"),
    (sp.Integer(0), "0"),
    (-(x + y) / 2, "-x/2 - y/2"),
    (sp.Rational(6, 5) * m1 * (x + y), "6 m₁ (x + y)/5"),
]


@pytest.mark.parametrize(("expression", "expected"), CASES, ids=[e for _, e in CASES])
def test_expressions(expression, expected):
    assert text(expression, NAMES) == expected


def test_matrices():
    assert text(sp.Matrix([[x, q1**2], [0, 1]])) == "⎡x  q₁²⎤\n⎣0  1  ⎦"
    assert text(sp.Matrix([[x, 1]])) == "[x  1]"
    assert text(sp.zeros(0, 3)) == "[]"


def test_alignment_counts_no_dots():
    assert width("q̇₁") == 2
    assert aligned([("q̇₁", "x"), ("abc", "y")]) == "q̇₁  = x\nabc = y"


def test_long_lines_are_broken_before_a_sign():
    line = " + ".join(f"a{k} (b + c)" for k in range(40))
    parts = broken(line, 60)
    assert all(width(p) <= 60 for p in parts)
    assert "".join(p.replace("  +", " +", 1) for p in parts) == line
    assert broken("x" * 200, 60) == ["x" * 200]  # there is no sign


def test_equations():
    m, L, I, r2, g = sp.symbols("m2 L1 I2 r2 g")
    arm = sixd.equations(sixd.zoo.two_link_arm(sp.Symbol("m1"), m, sp.Symbol("I1"), I, sp.Symbol("r1"), r2, L, g))
    assert str(arm).splitlines() == [
        "two_link_arm: M q̈ + C q̇ + g = τ in q₁, q₂",
        "",
        "M[1,1]          = I₁ + I₂ + m₁ r₁² + m₂ (L₁² + 2 L₁ r₂ cos(q₂) + r₂²)",
        "M[1,2] = M[2,1] = I₂ + m₂ r₂ (L₁ cos(q₂) + r₂)",
        "M[2,2]          = I₂ + m₂ r₂²",
        "",
        "C[1,1] = -L₁ m₂ r₂ sin(q₂) q̇₂",
        "C[1,2] = -L₁ m₂ r₂ sin(q₂) (q̇₁ + q̇₂)",
        "C[2,1] = L₁ m₂ r₂ sin(q₂) q̇₁",
        "C[2,2] = 0",
        "",
        "g[1] = g (m₂ r₂ cos(q₁ + q₂) + (L₁ m₂ + m₁ r₁) cos(q₁))",
        "g[2] = g m₂ r₂ cos(q₁ + q₂)",
    ]


def test_zeros_of_large_fields_are_gathered():
    lines = str(sixd.equations(sixd.zoo.puma560())).splitlines()
    assert "other C = 0" in [" ".join(line.split()) for line in lines]
    assert not any("Matrix" in line for line in lines)


def test_velocities_of_the_users_names():
    w = sp.Symbol("w")
    system = sixd.lagrange(m1 * w**2 / 2, sp.cos(theta), [theta], qd=[w], dissipation=x * w**2 / 2)
    assert "b[1] = w x" in str(system)
    assert str(system).startswith("system: M q̈ + C q̇ + g + b = τ, b for damping and friction, in θ")


@pytest.mark.long
def test_a_bicycle_prints():
    """Its rolling wheels have long rows with roots, which stay as they are."""
    assert "A[6,9]" in str(sixd.equations(sixd.zoo.bicycle()))
