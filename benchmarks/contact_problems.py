"""The problems that steps with rigid contact solve: what the solver is given in a step, and what it returns.

A step is evaluated by NumPy, work by work. It is the recipe that is compiled otherwise; the names of the
arrays of each problem in its memory are noted while it is traced.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from unittest import mock

import numpy as np

import sixd
from sixd.simulation.nonsmooth.contact.contact_rows import ContactRows
from sixd.simulation.nonsmooth.contact.solver import FAR, ContactSolver
from sixd.simulation.problem import Problem
from sixd.simulation.stepping.compiled_steps import make_recipe
from sixd.trace.stages import Stages

Array = Any

PREDICTED, CORRECTED, IMPACT, REBOUND, HEIGHTS = "predicted", "corrected", "impact", "rebound", "heights"


@dataclass(frozen=True, eq=False)
class ContactProblem:
    """A problem: ``kind``, the state (q, v) with the impulses ``guess`` (n,), and the solution.

    b (n,) are the velocities without impulses, slide (k, 3) the shifts of the cones (``laws.py``), bounds (4m,) the
    graphs of joint rows; x (n,) the impulses, and whether they were ``solved``. Points without ``parts`` (k,) take no
    part. If the problem ``is_empty``, no point does, and the impulses are zero.
    """

    kind: str
    q: Array
    v: Array
    guess: Array
    b: Array
    slide: Array
    mu: Array
    bounds: Array
    gamma: float
    x: Array
    solved: bool
    is_empty: bool

    @property
    def parts(self) -> Array:
        """Which points (k,) take part."""
        return self.b[: 3 * len(self.mu) : 3] < FAR / 2


class _Memory(dict[str, Array]):
    """The memory of a recipe, which tells what is written."""

    def __init__(self, values: dict[str, Array], watch: Any) -> None:
        super().__init__(values)
        self.watch = watch

    def update(self, *values: Any, **_: Any) -> None:
        """Write arrays."""
        new = dict(*values)
        super().update(new)
        self.watch(self, new)


class ContactTrial:
    """Steps of a model, evaluated one by one, and the problems within them."""

    def __init__(self, model: sixd.Model, forces: Sequence[Any], method: str = "rk4") -> None:
        self.states: dict[str, tuple[str, ...]] = {}  # q and v, by a result of the program that needs them
        self.calls: list[tuple[str, dict[str, str]]] = []
        with self._noting():
            self.recipe = make_recipe(Problem("simulate", model, forces=tuple(forces)), method)

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """Note the names of arrays while a step is traced."""
        own: dict[str, Any] = {}
        made, call, solve = ContactRows.__init__, Stages.__call__, ContactSolver.__call__

        @functools.wraps(made)
        def make(rows: Any, *arguments: Any) -> None:
            made(rows, *arguments)
            own["programs"] = rows.first, rows.last

        @functools.wraps(call)
        def called(stages: Any, program: Any, *arrays: Any, **options: Any) -> Any:
            results = call(stages, program, *arrays, **options)
            if any(program is known for known in own.get("programs", ())):
                self.states[stages.works[-1].outputs[0]] = stages.works[-1].inputs[2:4]
            return results

        @functools.wraps(solve)
        def solved(solver: Any, stages: Any, known: Any, gamma: Any, b: Any, guess: Any, slide: Any, bounds: Any,
                   mu: Any, when: Any, **options: Any) -> Any:  # fmt: skip
            results = solve(solver, stages, known, gamma, b, guess, slide, bounds, mu, when, **options)
            bounds = np.zeros(0) if bounds is None else bounds
            arrays = {"guess": guess, "b": b, "slide": slide, "mu": mu, "bounds": bounds, "x": results[0]}
            arrays["numbers"] = np.array([gamma, when, results[2]])  # the last that is written
            names = stages.store(arrays)
            self.calls.append((self._kind(options), dict(zip(arrays, names, strict=True))))
            return results

        patches = (ContactRows, "__init__", make), (Stages, "__call__", called), (ContactSolver, "__call__", solved)
        with mock.patch.object(*patches[0]), mock.patch.object(*patches[1]), mock.patch.object(*patches[2]):
            yield

    def _kind(self, options: dict[str, Any]) -> str:
        if options.get("pressed") is not None:
            return HEIGHTS
        if options.get("predicts"):
            return PREDICTED
        if options.get("cold"):
            return IMPACT
        return REBOUND if self.calls and self.calls[-1][0] == IMPACT else CORRECTED

    def step(self, h: float, *state: Any) -> tuple[tuple[Array, ...], list[ContactProblem]]:
        """Return the state after a step, and its problems; the states are (q, qd, u), and friction of joint rows."""
        q, qd, u, *friction = state
        arrays = 0.0, q, qd, u, 0.0, *friction, h, 0.0
        values = {name: np.asarray(x, float).ravel() for name, x in zip(self.recipe.inputs, arrays, strict=True)}
        found: list[ContactProblem] = []
        at: list[Array] = []
        ends = {names["numbers"]: (kind, names) for kind, names in self.calls}

        def watch(memory: dict[str, Array], new: dict[str, Array]) -> None:
            for name in new.keys() & self.states.keys():
                at[:] = [np.array(memory[own]) for own in self.states[name]]
            for name in new.keys() & ends.keys():
                kind, names = ends[name]
                y = {key: np.array(memory[own]) for key, own in names.items()}
                gamma, when, solved = map(float, y.pop("numbers"))
                y["slide"] = y["slide"].reshape(-1, 3)
                found.append(ContactProblem(kind, *at, **y, gamma=gamma, solved=solved > 0.5, is_empty=when == 0))

        memory = _Memory(values, watch)
        self.recipe.run(self.recipe.works, memory)
        return tuple(memory[name] for name in self.recipe.results), found
