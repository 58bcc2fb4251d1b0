"""Rank of a system's constraint equations in assembled configurations, and its mobility.

Works on floats only. The rank is a property of the mechanism, computed once: the largest over an assembled
configuration and a few near it, since the first may be a special pose. Branches of assembly may differ in it, so that
some other assembled configurations are tried too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from sixd.algorithms.constrained.assembly import assembled, solve_nearby
from sixd.algorithms.constrained.rows import constraint_jacobian, row_slices
from sixd.algorithms.crba import crba
from sixd.model.memo import known_of, remember
from sixd.model.system import System
from sixd.notebook import table
from sixd.spatial.scalar import Array

# singular values below this part of the largest count as zero: assembly leaves 1e-10, a pose near a special one 1e-2
_ZERO = 1e-7
_ROUNDING = 1e-12  # part of the largest row of a constraint: sums of terms that cancel leave 1e-16
_NEIGHBOURS = 4  # configurations near the first
_FAR = 0.3  # their distance from it [rad or m]
# assembled configurations from random starts, to meet other branches of assembly, and most starts: 1 to 15 ms each
_APART, _STARTS = 12, 21
# a row that vanishes within this distance [rad or m] of every assembled configuration has a double root there: in a
# function such as 1 - cos q rounding lets assembly stop at a distance of 1e-8
_DOUBLE = 1e-6
_STEP = 1e-3  # over which the change of a row is measured


class Rank(NamedTuple):
    """Rank of the constraints: number of independent rows of A, of all rows, and those that always vanish.

    ``branches`` are the ranks in the branches of assembly that were met, ``number`` is the largest. Ranks from
    ``least`` to ``most`` are accepted where they stay the same nearby. ``lengths`` are the usual norms of the rows,
    ``sizes`` the same with each DoF scaled by its inertia. ``at`` is the configuration in which
    the rank was computed; ``assembles`` is False if none was assembled and ``at`` is a random one. ``doubles`` maps the
    rows with a double root where they are assembled, φ = f², to their norms elsewhere: they vanish there.
    """

    number: int
    rows: int
    vanishing: frozenset[int]
    sizes: tuple[float, ...]
    at: Array
    assembles: bool
    doubles: Mapping[int, float]
    least: int
    most: int
    lengths: tuple[float, ...]
    branches: frozenset[int]


def derived(new: System, old: System) -> System:
    """Return ``new``, marked as ``old`` with other numbers (traced ones, too): it has the same rank."""
    known_of(new)["origin"] = old
    return new


def assembled_rank(system: System) -> Rank:
    """The rank of A (k, nv) in assembled configurations; computed once per system."""
    origin = known_of(system).get("origin")
    return assembled_rank(origin) if origin is not None else remember(system, "rank", lambda: _find(system))


def scaled_rows(system: System, q: Array, sizes: Sequence[float] | None = None) -> Array:
    """A (k, nv) as floats, each DoF scaled by its inertia and each row divided by its size."""
    A = np.asarray(constraint_jacobian(system, q), dtype=float)
    with np.errstate(all="ignore"):
        M = np.diag(np.asarray(system.apply("mass_matrix", crba, q), dtype=float))
    A = without_rounding(system, A / np.sqrt(np.where(M > 0, M, 1.0)))
    return A if sizes is None else A / np.array(sizes)[:, None]


def without_rounding(system: System, A: Array) -> Array:
    """A (k, nv) with zeros for rows that are negligible against others of the same constraint.

    The height of a wheel on a planar base cannot change, but its row may be 1e-17 by rounding.
    """
    A = A.copy()
    for rows in row_slices(system):
        size = np.abs(A[rows]).max(axis=1, initial=0.0)
        A[rows][size < _ROUNDING * size.max(initial=0.0)] = 0.0
    return A


def _rank(A: Array) -> int:
    if not A.size or not np.isfinite(A).all():
        return 0
    values = np.linalg.svd(A, compute_uv=False)
    return int((values > _ZERO * max(values[0], 1e-300)).sum())


@np.errstate(all="ignore")  # a start where a function has no derivative is skipped
def _find(system: System) -> Rank:
    rng = np.random.default_rng(0)
    system = _with_numbers(system, rng)
    anywhere = [np.asarray(system.random_configuration(rng), dtype=float) for _ in range(3)]
    rows = [without_rounding(system, np.asarray(constraint_jacobian(system, q), dtype=float)) for q in anywhere]
    vanishing = frozenset(np.flatnonzero(~np.any(rows, axis=(0, 2))).tolist())
    free = np.ones(system.nv, dtype=bool)
    start = np.asarray(system.neutral(), dtype=float)
    first = next((a.q for q in [start, *anywhere] if (a := assembled(system, q, free, rng)).done), None)
    assembles = first is not None
    configurations = anywhere if first is None else [first, *_neighbours(system, first, free, rng)]
    elsewhere = [scaled_rows(system, q) for q in anywhere]
    sizes = _sizes([scaled_rows(system, q) for q in configurations], elsewhere)
    lengths = _sizes([np.asarray(constraint_jacobian(system, q), dtype=float) for q in configurations], rows)
    # neighbours of a special configuration may be special too: add some that are not near it
    far = [a.q for q in anywhere if (a := solve_nearby(system, q, free)).done] if assembles else []
    doubles = _double_roots(system, [*configurations, *far] if assembles else [], elsewhere, rng)

    def rank_at(q: Array) -> int:
        return _rank(scaled_rows(system, q, sizes))

    ranks = [rank_at(q) for q in configurations]
    at, branches = configurations[ranks.index(max(ranks))], [max(ranks)]
    if assembles:
        at, branches = _other_branches(system, at, branches[0], far, rank_at, free, rng)
    number, least = max(branches), min(branches)
    most = number
    if assembles and number < len(rows[0]) - len(vanishing):
        # the bound leaves out branches without a DoF, which overconstrained loops have off their motion; if one was
        # met, those that move may be rare
        general = max(_rank(A / np.array(sizes)[:, None]) for A in elsewhere)
        most = max(number, min(general, system.nv - 1))
        least = least if number < system.nv else 0
    sampled = frozenset(branches)
    return Rank(number, len(rows[0]), vanishing, sizes, at, assembles, doubles, least, most, lengths, sampled)


def _with_numbers(system: System, rng: np.random.Generator) -> System:
    """The system with random numbers for its symbols; symbols that must match each other may not assemble."""
    if not system.symbols:
        return system
    values = rng.uniform(0.5, 1.5, len(system.symbols))
    return system.substitute({s: float(x) for s, x in zip(system.symbols, values, strict=True)})


def _other_branches(
    system: System,
    at: Array,
    first: int,
    far: list[Array],
    rank_at: Callable[[Array], int],
    free: Array,
    rng: np.random.Generator,
) -> tuple[Array, list[int]]:
    """A configuration of the largest rank, ``at`` if no other branch has more, and the ranks of all branches met."""
    starts = (np.asarray(system.random_configuration(rng), dtype=float) for _ in range(_STARTS))
    more = (a.q for q in starts if (a := solve_nearby(system, q, free)).done)
    branches = [first]
    for q in [*far, *islice(more, _APART - len(far))]:
        if rank_at(q) != first:  # another branch, or a special configuration of this one
            branches.append(max(map(rank_at, [q, *_neighbours(system, q, free, rng)])))
            at = q if rank_at(q) == max(branches) > first else at
    return at, branches


def _neighbours(system: System, q: Array, free: Array, rng: np.random.Generator) -> list[Array]:
    """Assembled configurations near q (nq,), in random directions that the constraints allow there."""
    near = []
    for _ in range(_NEIGHBOURS):
        dq = _allowed(system, q) @ rng.standard_normal(system.nv)
        step = dq * (_FAR / max(np.abs(dq).max(initial=0.0), 1e-300))
        nearby = solve_nearby(system, np.asarray(system.integrate_row(q, step), dtype=float), free)
        if nearby.done:
            near.append(nearby.q)
    return near


def _sizes(here: list[Array], anywhere: list[Array]) -> tuple[float, ...]:
    """The largest norm of each row in the first group, or in the second if it vanishes there, else 1."""
    first, second = (np.max([np.linalg.norm(A, axis=1) for A in group], axis=0) for group in (here, anywhere))
    return tuple(np.where(first > 1e-12, first, np.where(second > 0, second, 1.0)).tolist())


def _double_roots(
    system: System, configurations: list[Array], elsewhere: list[Array], rng: np.random.Generator
) -> dict[int, float]:
    """The rows with a double root at each of the configurations, and their largest norms elsewhere."""
    double = np.full(len(elsewhere[0]), bool(configurations))
    for q in configurations:
        A = np.asarray(constraint_jacobian(system, q), dtype=float)
        step = rng.standard_normal(system.nv)
        step *= _STEP / max(float(np.linalg.norm(step)), 1e-300)
        moved = np.asarray(system.integrate_row(q, step), dtype=float)
        change = np.linalg.norm(np.asarray(constraint_jacobian(system, moved), dtype=float) - A, axis=1) / _STEP
        double &= np.linalg.norm(A, axis=1) < _DOUBLE * change
    lengths = np.max([np.linalg.norm(A, axis=1) for A in elsewhere], axis=0)
    return {j: float(lengths[j]) for j in np.flatnonzero(double & (lengths > 0)).tolist()}


def _allowed(system: System, q: Array) -> Array:
    """The projection (nv, nv) onto the velocities that the constraints allow at q."""
    A = np.asarray(constraint_jacobian(system, q), dtype=float)
    return np.eye(system.nv) - np.linalg.pinv(A, rcond=_ZERO) @ A


@dataclass(frozen=True)
class Mobility:
    """Result of ``sixd.mobility``: DoF left, rank and number of the equations, and which are redundant.

    ``redundant_in`` pairs the label of a constraint with the number of its rows that depend on earlier rows.
    ``in_other_branches`` are the DoF in other branches of assembly, if they were met and differ.
    """

    name: str
    nv: int
    freedoms: int
    rank: int
    equations: int
    redundant: int
    redundant_in: tuple[tuple[str, int], ...] = ()
    assembled: bool = True  # whether a configuration satisfies the constraints
    in_other_branches: tuple[int, ...] = ()

    def __str__(self) -> str:
        text = f"{self.name}: {self.freedoms} DoF = {self.nv} of the joints - "
        text += f"{self.rank} independent of {self.equations} equations"
        if self.redundant:
            text += f", {self.redundant} redundant (" + ", ".join(f"{n} in {c}" for c, n in self.redundant_in) + ")"
        text += "".join(f"; {n} DoF in another branch" for n in self.in_other_branches)
        return text if self.assembled else text + "; no configuration was found that satisfies them all"

    def _repr_html_(self) -> str:
        """DoF and equations as a table, for notebooks."""
        rows: list[list[Any]] = [
            ["DoF of the joints", self.nv], ["equations of the constraints", self.equations],
            ["of them independent", self.rank], ["of them redundant", self.redundant],
        ]  # fmt: skip
        rows += [[f"redundant in {label}", count] for label, count in self.redundant_in]
        note = "" if self.assembled else "no configuration was found that satisfies them all"
        return table(f"{self.name}: {self.freedoms} DoF left", (), rows, note=note)


def mobility_at(system: System, q: Array) -> Mobility:
    """The mobility at a configuration q (nq,)."""
    A, before, redundant = scaled_rows(system, q, assembled_rank(system).sizes), 0, []
    for c, rows in zip(system.constraints, row_slices(system), strict=True):
        now = _rank(A[: rows.stop])
        surplus = rows.stop - rows.start - (now - before)
        if surplus:
            redundant.append((c.label, surplus))
        before = now
    return Mobility(system.name, system.nv, system.nv - before, before, len(A), len(A) - before, tuple(redundant))
