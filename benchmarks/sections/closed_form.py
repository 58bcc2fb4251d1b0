"""Closed-form equations of six-axis arms: time to derive, and operations, compared with SymPy's mechanics module."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from benchmarks.agreement import Disagreement
from benchmarks.report import progress
from benchmarks.session import Session

HEAD = ["arm", "", "derived, s", "M", "the rest", "M and rest", "after CSE"]


def measure(session: Session) -> None:
    """A table of both arms, and of the Puma with ten symbols for each body."""
    import sixd
    from benchmarks.robots import load

    session.report.heading("Closed-form equations")
    session.report.paragraph(
        "Operations as SymPy counts them, in the expressions as they are written. 'The rest' is C q̇ + g for sixd, the "
        "forcing vector for SymPy's Kane's method; sixd's M counts its upper triangle, and so does SymPy's here."
    )
    rows = []
    sixd.equations(sixd.zoo.planar(2)).tau  # noqa: B018  SymPy and its tables are loaded
    for name, model in {"ur5": load("ur5").model, "puma560": sixd.zoo.puma560()}.items():
        progress(f"closed form of {name}")
        bare = model.without_passive()
        started = time.perf_counter()
        ours = sixd.equations(bare)
        M, C, g = ours.M, ours.C, ours.g
        taken = time.perf_counter() - started
        del C, g
        own = _counts(M, ours.h)
        rows.append([name, "sixd", f"{taken:.2f}", *map(_thousands, own)])
        theirs, their_time = _sympy(ours)
        rows.append([name, "SymPy", f"{their_time:.2f}", *map(_thousands, theirs)])
        rows.append(
            [name, "ratio", f"{their_time / taken:.0f}", *(f"{b / a:.1f}" for a, b in zip(own, theirs, strict=True))]
        )
        session.measured["equations", name, "seconds"] = taken
        session.measured["equations", name, "ratio"] = theirs[2] / own[2]
    taken = _symbolic_puma()
    rows.append(["puma560, 60 symbols", "sixd", f"{taken:.2f}", "", "", "", ""])
    session.measured["equations", "symbols", "seconds"] = taken
    session.report.table(HEAD, rows, left=2)


def _sympy(ours: Any) -> tuple[list[int], float]:
    from benchmarks.contenders.with_sympy import derive

    started = time.perf_counter()
    derived = derive(ours.model)
    taken = time.perf_counter() - started
    table = dict(zip(derived.q, ours.q, strict=True)) | dict(zip(derived.u, ours.qd, strict=True))
    M, rest = derived.mass_matrix.xreplace(table), -derived.forcing.xreplace(table)
    state = dict(zip([*ours.q, *ours.qd], np.random.default_rng(0).uniform(-1, 1, 2 * ours.nv), strict=True))
    for a, b in ((ours.M, M), (ours.h, rest)):
        one, other = (np.array(x.xreplace(state), dtype=float) for x in (a, b))
        if np.abs(one - other).max() > 1e-9 * max(1.0, np.abs(other).max()):
            raise Disagreement(f"closed form of {ours.name}: SymPy differs by {np.abs(one - other).max():.1e}")
    return _counts(M, rest), taken


def _counts(M: Any, rest: Any) -> list[int]:
    """Operations of M's upper triangle, of the rest, of both, and of both with shared parts taken out."""
    import sympy

    upper = [M[i, j] for i in range(M.rows) for j in range(i, M.cols)]
    first, second = (int(sum(sympy.count_ops(x) for x in group)) for group in (upper, list(rest)))
    shared, left = sympy.cse([*upper, *rest], list=False)
    after = sum(sympy.count_ops(x) for _, x in shared) + sum(sympy.count_ops(x) for x in left)
    return [first, second, first + second, int(after)]


def _symbolic_puma() -> float:
    import dataclasses

    import sympy

    import sixd

    model = sixd.zoo.puma560().without_passive()
    bodies = [model.inertia[0]]
    for i in model.bodies:
        letters = sympy.symbols(
            " ".join(f"{n}{i}" for n in ("m", "hx", "hy", "hz", "Ixx", "Iyy", "Izz", "Iyz", "Ixz", "Ixy"))
        )
        bodies.append(sixd.Inertia.from_parameters(list(letters)).matrix)
    model = dataclasses.replace(model, inertia=np.array(bodies, dtype=object))
    started = time.perf_counter()
    ours = sixd.equations(model)
    ours.M, ours.C, ours.g  # noqa: B018
    return time.perf_counter() - started


def _thousands(n: int) -> str:
    return f"{n:,}"
