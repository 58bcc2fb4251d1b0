"""Two harmonics as one product where that leaves fewer terms: a cos(u + v) + a cos(u - v) = 2 a cos u cos v.

The coefficients are polynomials in what is no angle; whether to join two harmonics is decided by counting their
terms. The same for the powers of one angle: a + b cos² may be shorter as (a + b) cos² + a sin².
"""

from __future__ import annotations

from itertools import combinations

from sixd.symbolic.fourier import Harmonic
from sixd.symbolic.poly import Terms

Wave = tuple[Harmonic, ...]  # a product of harmonics


def paired(series: dict[Harmonic, Terms]) -> dict[Wave, Terms]:
    """Σ harmonic · coefficient with harmonics joined in products, the most profitable first."""
    left, out = dict(series), {}
    gains = {pair: gain for pair in combinations(sorted(left), 2) if (gain := _gain(*pair, left))}
    while gains:
        # the largest gain; of equals the one with the smallest multiples of angles
        pair = min(gains, key=lambda p: (-gains[p][0], sum(abs(m) for n, _ in p for m in n), p))
        for wave, terms in _joined(*pair, *(left.pop(h) for h in pair), gains[pair][1]):
            if len(wave) == 1:
                left[wave[0]] = terms
            else:
                out[wave] = added(out.get(wave, {}), terms)
        gains = {p: g for p, g in gains.items() if not set(p) & set(pair)}
        for h in set(pair) & set(left):
            others = [tuple(sorted((h, other))) for other in left if other != h]
            gains.update({p: g for p in others if (g := _gain(*p, left))})
    return {w: t for w, t in out.items() if t} | {(h,): t for h, t in left.items()}


def _gain(a: Harmonic, b: Harmonic, table: dict[Harmonic, Terms]) -> tuple[int, str] | None:
    """(terms saved, how) by joining two harmonics, or None if none are."""
    if a[1] != b[1] or any((x + y) % 2 for x, y in zip(a[0], b[0], strict=True)):
        return None
    p, q = table[a], table[b]
    common = [(p[k], q[k]) for k in p.keys() & q.keys()]
    if not common:
        return None
    equal, opposite = sum(x == y for x, y in common), sum(x == -y for x, y in common)
    n = len(common)
    gains = [
        (n + equal - len(p), "first by sum"),
        (n + equal - len(q), "second by sum"),
        (n + opposite - len(p), "first by difference"),
        (n + opposite - len(q), "second by difference"),
        (2 * n + equal + opposite - len(p) - len(q), "both"),
    ]
    best = max(gains, key=lambda g: g[0])
    return best if best[0] > 0 else None


def _joined(a: Harmonic, b: Harmonic, p: Terms, q: Terms, how: str) -> list[tuple[Wave, Terms]]:
    """p · a + q · b by a = X + Y, b = X - Y, where X and Y are products of harmonics of half the sum and difference."""
    u = tuple((x + y) // 2 for x, y in zip(a[0], b[0], strict=True))
    v = tuple((x - y) // 2 for x, y in zip(a[0], b[0], strict=True))
    if a[1]:  # sin(u ± v) = sin u cos v ± cos u sin v
        X, Y = _wave(1, (u, True), (v, False)), _wave(1, (u, False), (v, True))
    else:  # cos(u ± v) = cos u cos v ∓ sin u sin v
        X, Y = _wave(1, (u, False), (v, False)), _wave(-1, (u, True), (v, True))
    options = {
        "first by sum": [(X, p, 2), (b, q, 1), (b, p, -1)],
        "second by sum": [(X, q, 2), (a, p, 1), (a, q, -1)],
        "first by difference": [(Y, p, 2), (b, p, 1), (b, q, 1)],
        "second by difference": [(Y, q, -2), (a, p, 1), (a, q, 1)],
        "both": [(X, p, 1), (X, q, 1), (Y, p, 1), (Y, q, -1)],
    }
    out: dict[Wave, Terms] = {}
    for what, terms, factor in options[how]:
        sign, wave = what if isinstance(what[0], int) else (1, (what,))
        out[wave] = added(out.get(wave, {}), {k: v * factor * sign for k, v in terms.items()})
    return [(w, t) for w, t in out.items() if t]


def _wave(sign: int, *harmonics: Harmonic) -> tuple[int, Wave]:
    """(±1, product) with every angle led by a positive number."""
    out = []
    for n, odd in harmonics:
        if next((m for m in n if m), 0) < 0:
            n, sign = tuple(-m for m in n), -sign if odd else sign
        out.append((n, odd))
    return sign, tuple(sorted(out))


def added(a: Terms, b: Terms) -> Terms:
    """The sum of two polynomials."""
    out = dict(a)
    for k, v in b.items():
        total = out.get(k, 0) + v
        if total:
            out[k] = total
        else:
            out.pop(k, None)
    return out
