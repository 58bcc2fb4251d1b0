"""The summary of a simulated motion, and the files written from it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

import sixd
from sixd.cli.output import console, count, digits, duration, fact_table, print_notes, printable
from sixd.model import Model
from sixd.trajectory.trajectory import Trajectory

_MOST_NUMBERS = 14  # coordinates that are printed
_KEPT = 0.01  # of the largest kinetic energy: up to this change energy is called constant


def summary(
    model: Model, motion: Trajectory, seconds: float, *, driven: bool, seed: int | None = None
) -> dict[str, Any]:
    """Return facts about a motion computed in ``seconds``; energies are those of rollouts with finite energy."""
    facts = dict(motion.facts)
    energy, kinetic = np.asarray(motion.energy), np.asarray(motion.kinetic)
    with np.errstate(invalid="ignore", over="ignore"):
        change = np.abs(energy - energy[..., :1])
    good = np.isfinite(change).all(axis=-1)
    worst = float(np.max(change[good], initial=0.0)) if good.any() else math.nan
    size = float(np.max(np.abs(kinetic[good]), initial=0.0))
    error = np.asarray(motion.constraint_error)
    rollouts = int(np.prod(motion.batch))
    relative = worst / size if size > 0 else worst if np.isnan(worst) else 0.0
    conservative = not (driven or np.any(model.damping) or np.any(model.friction))
    steps = round(motion.duration / facts["dt"]) * rollouts if facts.get("dt") else None
    return {
        "robot": model.name, "method": facts.get("method"), "dt": facts.get("dt"), "duration": motion.duration,
        "steps": steps, "records": len(motion), "rollouts": rollouts, "seed": seed,
        "failed": motion.failed, "interrupted": motion.interrupted,
        "energy_start": energy[..., 0] if not motion.batch else None,
        "energy_end": energy[..., -1] if not motion.batch else None,
        "energy_change": worst, "energy_change_relative": relative, "energy_not_finite": int(np.count_nonzero(~good)),
        "conservative": conservative, "energy_is_constant": conservative and bool(good.all()) and relative <= _KEPT,
        "constraint_error": float(np.nanmax(error, initial=0.0)) if model.constraints else None,
        "seconds": seconds, "steps_per_second": None if steps is None else steps / seconds,
        "q_start": None if motion.batch else motion.q[0], "qd_start": None if motion.batch else motion.qd[0],
        "q": None if motion.batch else motion.q[-1], "qd": None if motion.batch else motion.qd[-1],
    }  # fmt: skip


def save(model: Model, motion: Trajectory, paths: dict[str, Path | None]) -> dict[str, str]:
    """Write the requested files; return their names by option."""
    if paths["output"] is not None:
        motion.save(paths["output"])
    if paths["html"] is not None:
        with sixd.view(model, motion, open_browser=False) as viewer:
            viewer.save_html(paths["html"])
            print_notes(viewer.notes)
    if paths["plot"] is not None:
        motion.plot(path=paths["plot"], show=False)
    if paths["video"] is not None:
        motion.to_video(paths["video"])
    return {option: str(path) for option, path in paths.items() if path is not None}


def show(facts: dict[str, Any]) -> None:
    """Print the summary as text."""
    out = console()
    many = facts["rollouts"] > 1
    lines = {
        "simulated": f"{digits(facts['duration'])} s by {facts['method']}"
        + (f", dt = {facts['dt']:g} s" if facts["dt"] else "")
        + (f", {count(facts['rollouts'], 'rollout')}" if many else "")
        + (" (interrupted)" if facts["interrupted"] else ""),
        "took": f"{duration(facts['seconds'])}, including compilation"
        + (f"; {digits(facts['steps_per_second'])} steps/s" if facts["steps"] else ""),
        "energy": _energy(facts),
    }
    if facts["seed"] is not None:
        lines["start"] = f"random, seed {facts['seed']}"
    if facts["constraint_error"] is not None:
        lines["constraints"] = f"violated by {facts['constraint_error']:.1e} at most (rad or m)"
    if facts["failed"]:
        lines["failed"] = (
            f"{count(facts['failed'], 'rollout')} of {facts['rollouts']:,} ended in numbers that are not finite"
        )
    if not many and not facts["failed"] and len(facts["q"]) <= _MOST_NUMBERS:
        lines["q at the end"] = ", ".join(f"{x:.4g}" for x in facts["q"])
        lines["qd at the end"] = ", ".join(f"{x:.4g}" for x in facts["qd"])
    if facts["files"]:
        lines["written"] = ", ".join(facts["files"].values())
    out.print(printable(facts["robot"]), style="bold")
    out.print(fact_table(lines))


def _energy(facts: dict[str, Any]) -> str:
    if facts["failed"] == facts["rollouts"]:
        return "unknown"
    bad = facts["energy_not_finite"]
    if bad == facts["rollouts"]:
        return "not finite"
    change = _energy_change(facts)
    return f"{change}; not finite in {count(bad, 'rollout')}" if bad else change


def _energy_change(facts: dict[str, Any]) -> str:
    """Return the change of energy as text, for the rollouts with finite energy."""
    change = f"{facts['energy_change']:.2g} J ({facts['energy_change_relative']:.1e} of the largest kinetic energy)"
    if facts["conservative"]:
        if facts["energy_change_relative"] > _KEPT:
            return f"changed by {change} without friction and controller: use a smaller --dt, or another --method"
        return f"constant, to {change}" if facts["energy_change"] else "constant, to the last bit"
    if facts["energy_start"] is None:
        return f"changed by up to {change}, by friction or the controller"
    first, last = (digits(float(facts[name])) for name in ("energy_start", "energy_end"))
    return f"{first} J → {last} J, by friction or the controller"
