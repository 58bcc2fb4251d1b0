"""Two harmonics as one product where that leaves fewer terms: a cos(u + v) + a cos(u - v) = 2 a cos u cos v.

The coefficients of harmonics are polynomials in the other symbols; whether to join two harmonics is decided by
counting terms. Two harmonics are X + Y and X - Y of two products X and Y, so that there are five ways to join them.
"""

from __future__ import annotations

from itertools import combinations

from sixd.symbolic.ring.fourier import Harmonic
from sixd.symbolic.ring.poly import Terms, added

Wave = tuple[Harmonic, ...]  # a product of harmonics
Pair = tuple[Harmonic, Harmonic]

# p (X + Y) + q (X - Y) = … : the multiples of p and q in the coefficients of X, Y, first, second
_WAYS: dict[str, list[tuple[str, int, int]]] = {
    "X for the first": [("X", 2, 0), ("second", -1, 1)],
    "X for the second": [("X", 0, 2), ("first", 1, -1)],
    "Y for the first": [("Y", 2, 0), ("second", 1, 1)],
    "Y for the second": [("Y", 0, -2), ("first", 1, 1)],
    "both": [("X", 1, 1), ("Y", 1, -1)],
}


def paired(series: dict[Harmonic, Terms]) -> dict[Wave, Terms]:
    """Σ harmonic · coefficient with harmonics joined in products, the most profitable first."""
    left = dict(series)
    out: dict[Wave, Terms] = {}
    gains = {pair: gain for pair in combinations(sorted(left), 2) if (gain := _gain(pair, left))}
    while gains:
        # the largest gain; of equals the one with the smallest multiples of angles
        pair = min(gains, key=lambda p: (-gains[p][0], sum(abs(m) for n, _ in p for m in n), p))
        for wave, terms in _joined(pair, left.pop(pair[0]), left.pop(pair[1]), gains[pair][1]):
            if len(wave) == 1:
                left[wave[0]] = terms
            else:
                out[wave] = added(out.get(wave, {}), terms)
        gains = {p: gain for p, gain in gains.items() if p[0] not in pair and p[1] not in pair}
        for h in pair:
            for other in left if h in left else ():
                p = (h, other) if h < other else (other, h)
                if h != other and (gain := _gain(p, left)):
                    gains[p] = gain
    return {w: t for w, t in out.items() if t} | {(h,): t for h, t in left.items()}


def _gain(pair: Pair, table: dict[Harmonic, Terms]) -> tuple[int, str] | None:
    """(terms saved, way) by joining two harmonics, or None if nothing is saved."""
    (a, odd), (b, other) = pair
    if odd != other or any((x + y) % 2 for x, y in zip(a, b, strict=True)):
        return None
    p, q = table[pair[0]], table[pair[1]]
    common = [(p[k], q[k]) for k in p.keys() & q.keys()]
    equal, opposite = sum(x == y for x, y in common), sum(x == -y for x, y in common)
    # p - q has len(p) + len(q) - len(common) - equal terms
    n = len(common)
    gains = {
        "X for the first": n + equal - len(p),
        "X for the second": n + equal - len(q),
        "Y for the first": n + opposite - len(p),
        "Y for the second": n + opposite - len(q),
        "both": 2 * n + equal + opposite - len(p) - len(q),
    }
    way = max(gains, key=lambda w: gains[w])
    return (gains[way], way) if gains[way] > 0 else None


def _joined(pair: Pair, p: Terms, q: Terms, way: str) -> list[tuple[Wave, Terms]]:
    """p · first + q · second by products of the harmonics of half the sum and half the difference."""
    (a, odd), (b, _) = pair
    u = tuple((x + y) // 2 for x, y in zip(a, b, strict=True))
    v = tuple((x - y) // 2 for x, y in zip(a, b, strict=True))
    waves: dict[str, tuple[int, Wave]] = {"first": (1, pair[:1]), "second": (1, pair[1:])}
    if odd:  # sin(u ± v) = sin u cos v ± cos u sin v
        waves |= {"X": _wave(1, (u, True), (v, False)), "Y": _wave(1, (u, False), (v, True))}
    else:  # cos(u ± v) = cos u cos v ∓ sin u sin v
        waves |= {"X": _wave(1, (u, False), (v, False)), "Y": _wave(-1, (u, True), (v, True))}
    out = []
    for name, of_p, of_q in _WAYS[way]:
        sign, wave = waves[name]
        terms = added({k: x * of_p * sign for k, x in p.items()}, {k: x * of_q * sign for k, x in q.items()})
        out.append((wave, {k: x for k, x in terms.items() if x}))
    return [(wave, terms) for wave, terms in out if terms]


def _wave(sign: int, *harmonics: Harmonic) -> tuple[int, Wave]:
    """(±1, product) in which the first nonzero multiple of every angle is positive."""
    out = []
    for n, odd in harmonics:
        if next((m for m in n if m), 0) < 0:
            n, sign = tuple(-m for m in n), -sign if odd else sign
        out.append((n, odd))
    return sign, tuple(sorted(out))
