"""Mass, first moment and inertia of a body of any density, by integration over a region.

A region has limits in Cartesian, cylindrical or spherical coordinates, or is a solid shape. SymPy integrates exactly
what it can; numbers, and what is left, are integrated by Gauss's rule or, for roots and poles at the ends, by the
double exponential rule. Knows neither robots nor ``Inertia``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sixd.errors import ModelError, ScalarTypeError, ShapeError
from sixd.spatial.scalar import Array, Scalar, is_number, is_sympy, object_map

_KINDS = {"Cartesian": ("x", "y", "z"), "cylindrical": ("r", "phi", "z"), "spherical": ("r", "theta", "phi")}
_NAMES = ("x", "y", "z", "r", "theta", "phi")
_SECOND = ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1))
_TOLERANCE = 1e-11  # of two rules, relative to the integral of absolute values; the error is below 1e-10 of it
_GAUSS, _EXPONENTIAL = (10, 20, 40, 80), (0.2, 0.1, 0.05)  # points and steps in each direction
_ALLOWED = {"r": (0.0, np.inf), "theta": (0.0, np.pi + 1e-12)}


class Subregion(NamedTuple):
    """A part of a region: (coordinate, lower, upper) outermost first, the point p (3,), and the volume of du dv dw."""

    limits: list[tuple[Any, Any, Any]]
    point: Sequence[Any]
    volume: Any


def moments_of_density(where: str, density: object, region: object) -> tuple[Any, Array, Array]:
    """(m, m c (3,), matrix (3, 3) about the origin) of a density over a region; see ``Inertia.from_density``."""
    pieces = _pieces(where, region)
    rho = _density(where, density)
    expressions = [rho, *(x for p in pieces for _, *ends in p.limits for x in ends), *(p.volume for p in pieces)]
    coordinates = {*_symbols().values()}
    left = {s for x in expressions for s in getattr(x, "free_symbols", ())} - coordinates
    exact = _is_exact(density, region)
    moments: Any = None
    is_formula = not any(callable(x) and not is_sympy(x) for x in expressions)
    if is_formula and (left or exact):
        moments = _exactly(pieces, rho)
    if moments is None:
        if left:
            raise ModelError(
                f"{where}: SymPy finds no closed form of the integrals over {', '.join(sorted(map(str, left)))}, "
                f"expected numbers for these, to integrate numerically, or other coordinates."
            )
        moments = sum((_numerically(where, piece, rho) for piece in pieces), np.zeros(10))
    m, x, y, z, xx, yy, zz, yz, xz, xy = moments
    about = np.array([[yy + zz, -xy, -xz], [-xy, xx + zz, -yz], [-xz, -yz, xx + yy]])
    first = np.array([x, y, z])
    return (_short(m), object_map(_short, first), object_map(_short, about)) if is_sympy(m) else (m, first, about)


# arguments -----------------------------------------------------------------------------------------


def _symbols() -> dict[str, Any]:
    import sympy

    return {name: sympy.Symbol(name, real=True, nonnegative=True if name == "r" else None) for name in _NAMES}


def _own(x: Scalar) -> Any:
    """The expression with the coordinates' own symbols for all symbols of these names."""
    import sympy

    x = sympy.sympify(x)
    symbols = _symbols()
    return x.xreplace({s: symbols[str(s)] for s in x.free_symbols if str(s) in symbols})


def _is_exact(density: object, region: object) -> bool:
    """Whether SymPy objects without floats are among the numbers, so that the result is to be exact."""
    import sympy

    ends = region.values() if isinstance(region, Mapping) else [getattr(region, "size", ())]
    values = [density, *(x for pair in ends for x in np.ravel(np.array(pair, dtype=object)))]
    symbolic = [x for x in values if is_sympy(x)]
    floats = any(isinstance(x, (float, np.floating)) or (is_sympy(x) and x.has(sympy.Float)) for x in values)
    return bool(symbolic) and not floats


def _function(where: str, what: str, f: Callable[..., Any], known: Sequence[str]) -> Callable[..., Any]:
    """The function of keyword arguments named as the coordinates; three arguments of other names are x, y, z."""
    try:
        names = list(inspect.signature(f).parameters)
    except (TypeError, ValueError):
        names = ["x", "y", "z"]
    if all(n in known for n in names):
        return lambda **at: f(*(at[n] for n in names))
    if len(names) == 3 and set("xyz") <= set(known):
        return lambda **at: f(at["x"], at["y"], at["z"])
    wanted = f"of {', '.join(known)}" if known else "a number, since no coordinate stands before it"
    raise ScalarTypeError(f"{where}: {what} is a function of {', '.join(names)}, expected {wanted}.")


def _density(where: str, density: object) -> Any:
    """An expression in the coordinates, or a function on arrays by keyword if it does not accept symbols."""
    if not callable(density) or is_sympy(density):
        if not (is_sympy(density) or is_number(density)) or isinstance(density, bool):
            raise ScalarTypeError(
                f"{where}: density is {density!r}, expected a number [kg/m³], a SymPy expression in x, y, z, or a "
                f"function of x, y, z."
            )
        return _own(density)
    f = _function(where, "density", density, _NAMES)
    try:
        return _own(f(**_symbols()))
    except (TypeError, AttributeError, ValueError):  # math.exp, comparisons, …
        return f


def _pieces(where: str, region: Any) -> list[Subregion]:
    if isinstance(region, Mapping):
        return [_from_limits(where, region)]
    if isinstance(getattr(region, "kind", None), str):
        return _from_shape(where, region.kind, region.size)
    wanted = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in _KINDS.items())
    raise ScalarTypeError(
        f"{where}: region is {region!r}, expected limits {{name: (lower, upper)}} ({wanted}) or a sixd.Shape."
    )


def _from_limits(where: str, region: Mapping[str, Any]) -> Subregion:
    kind = next((k for k, names in _KINDS.items() if set(names) == set(region)), None)
    if kind is None:
        wanted = "; ".join(f"{', '.join(names)} ({k})" for k, names in _KINDS.items())
        raise ModelError(f"{where}: region has limits of {', '.join(map(str, region))}, expected of {wanted}.")
    symbols = _symbols()
    limits: list[tuple[Any, Any, Any]] = []
    outer: dict[str, Any] = {}
    for name, pair in region.items():
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ShapeError(f"{where}: the limits of {name} are {pair!r}, expected (lower, upper).")
        low, high = (_limit(where, name, x, outer) for x in pair)
        _require_order(where, name, low, high)
        limits.append((symbols[name], low, high))
        outer[name] = symbols[name]
    return _piece(kind, limits)


def _limit(where: str, name: str, x: object, outer: dict[str, Any]) -> Any:
    """A limit as an expression in the coordinates listed before it, or a function on arrays of them by keyword."""
    import sympy

    if callable(x) and not is_sympy(x):
        f = _function(where, f"a limit of {name}", x, list(outer))
        try:
            x = f(**outer)
        except (TypeError, AttributeError, ValueError):  # math.sqrt, np.sqrt, comparisons, …
            return f
    if not (is_sympy(x) or is_number(x)) or isinstance(x, bool):
        raise ScalarTypeError(f"{where}: a limit of {name} is {x!r}, expected a number, an expression or a function.")
    value = _own(x)
    if value.has(sympy.oo, -sympy.oo, sympy.zoo, sympy.nan):
        raise ModelError(f"{where}: a limit of {name} is {x}, expected a finite number.")
    inside = {s for s in value.free_symbols if s in _symbols().values() and s not in outer.values()}
    if inside:
        raise ModelError(
            f"{where}: the limits of {name} depend on {', '.join(sorted(map(str, inside)))}, expected coordinates that "
            f"stand before {name}: {', '.join(outer) or 'there are none'}. List the outermost coordinate first."
        )
    return value


def _require_order(where: str, name: str, low: Scalar, high: Scalar) -> None:
    numbers = [x for x in (low, high) if is_sympy(x) and x.is_number]
    if len(numbers) == 2 and not low <= high:
        raise ModelError(f"{where}: the limits of {name} are {low} and {high}, expected lower ≤ upper.")
    if len(numbers) == 2 and name == "phi" and float(high - low) > 2 * np.pi + 1e-12:
        raise ModelError(
            f"{where}: the limits of phi are {low} and {high}, expected at most one turn, 2π, between them."
        )
    least, most = _ALLOWED.get(name, (-np.inf, np.inf))
    for x in numbers:
        if not least <= float(x) <= most:
            raise ModelError(f"{where}: a limit of {name} is {x}, expected {least:g} ≤ {name} ≤ {most:.5g}.")


def _piece(kind: str, limits: list[tuple[Any, Any, Any]], stretch: Sequence[Any] = (1, 1, 1)) -> Subregion:
    import sympy

    x, y, z, r, theta, phi = _symbols().values()
    points = {
        "Cartesian": ((x, y, z), sympy.Integer(1)),
        "cylindrical": ((r * sympy.cos(phi), r * sympy.sin(phi), z), r),
        "spherical": (
            (r * sympy.sin(theta) * sympy.cos(phi), r * sympy.sin(theta) * sympy.sin(phi), r * sympy.cos(theta)),
            r**2 * sympy.sin(theta),
        ),
    }
    point, volume = points[kind]
    a, b, c = stretch
    return Subregion(limits, [s * p for s, p in zip(stretch, point, strict=True)], volume * a * b * c)


def _from_shape(where: str, kind: str, size: Sequence[Any]) -> list[Subregion]:
    """The solid of a shape, its centre of mass (at uniform density) at the origin."""
    import sympy

    x, y, z, r, theta, phi = _symbols().values()
    around, down, sizes = (phi, 0, 2 * sympy.pi), (theta, 0, sympy.pi), [sympy.sympify(s) for s in size]
    if kind == "box":
        return [_piece("Cartesian", [(u, -s / 2, s / 2) for u, s in zip((x, y, z), sizes, strict=True)])]
    if kind == "sphere":
        return [_piece("spherical", [(r, 0, sizes[0]), down, around])]
    if kind == "ellipsoid":  # a unit ball, stretched
        return [_piece("spherical", [(r, 0, 1), down, around], sizes)]
    if kind not in ("cylinder", "cone", "capsule"):
        raise ModelError(
            f"{where}: region is a {kind}, expected a solid: box, sphere, ellipsoid, cylinder, cone or capsule. For a "
            f"mesh of uniform density use sixd.mesh."
        )
    R, h = sizes
    if kind == "cone":
        return [_piece("cylindrical", [(z, -h / 4, 3 * h / 4), (r, 0, R * (sympy.Rational(3, 4) - z / h)), around])]
    middle = _piece("cylindrical", [(z, -h / 2, h / 2), (r, 0, R), around])
    if kind == "cylinder":
        return [middle]
    # half spheres in cylindrical coordinates about their flat faces, r² + s² = R² with s = |z| - h/2
    ends = []
    for low, high, s in ((h / 2, h / 2 + R, z - h / 2), (-h / 2 - R, -h / 2, z + h / 2)):
        ends.append(_piece("cylindrical", [(z, low, high), (r, 0, sympy.sqrt(R**2 - s**2)), around]))
    return [middle, *ends]


# exactly -------------------------------------------------------------------------------------------


def _exactly(pieces: list[Subregion], rho: Scalar) -> list[Any] | None:
    """The ten integrals, or None if SymPy does not find one of them."""
    import sympy

    total: list[Any] = [sympy.Integer(0)] * 10
    for limits, p, volume in pieces:
        at = dict(zip(_symbols().values(), (*p, *_symbols().values()), strict=False))
        dm = sympy.nsimplify(rho, rational=True).xreplace({s: e for s, e in at.items() if str(s) in "xyz"}) * volume
        products = [sympy.Integer(1), *p, *(p[i] * p[j] for i, j in _SECOND)]
        for k, f in enumerate(products):
            value = f * dm
            for s, low, high in reversed(limits):
                value = _integral(value, s, *(sympy.nsimplify(x, rational=True) for x in (low, high)))
                if value is None:
                    return None
            total[k] += value
    return total


def _integral(f: Scalar, s: Scalar, low: Scalar, high: Scalar) -> Any:
    import sympy

    f = sympy.expand(f)
    if not f.has(s):
        return f * (high - low)
    if f.is_polynomial(s):  # many times as fast as sympy.integrate
        primitive = sympy.Poly(f, s).integrate().as_expr()
        return primitive.subs(s, high) - primitive.subs(s, low)
    try:
        integral = sympy.integrate(f, (s, low, high), conds="none")
    except (NotImplementedError, ValueError, TypeError, AttributeError, ZeroDivisionError):
        return None
    if integral.has(sympy.Integral, sympy.Piecewise, sympy.nan, sympy.oo, sympy.zoo, sympy.I):
        return None
    return integral


def _short(x: Scalar) -> Any:
    """The shorter of the factored and the expanded form."""
    import sympy

    expanded = sympy.expand(x)
    return min(sympy.factor_terms(expanded), sympy.factor(expanded), key=sympy.count_ops)


# numerically ---------------------------------------------------------------------------------------


def _numerically(where: str, piece: Subregion, rho: Scalar) -> Array:
    """The ten integrals over a piece as floats: two successive rules must agree."""
    limits = [(str(s), _limit_on_arrays(where, low), _limit_on_arrays(where, high)) for s, low, high in piece.limits]
    point, volume = [_on_arrays(x) for x in piece.point], _on_arrays(piece.volume)
    density = rho if callable(rho) else _on_arrays(rho)
    for rules in ([_gauss(n) for n in _GAUSS], [_double_exponential(h) for h in _EXPONENTIAL]):
        last: Array | None = None
        for nodes, weights in rules:
            moments, size = _summed(where, limits, point, volume, density, nodes, weights)
            if last is not None and (np.abs(moments - last) <= _TOLERANCE * size).all():
                return moments
            last = moments
    assert last is not None
    raise ModelError(
        f"{where}: the integrals do not converge to 1e-10 (mass {last[0]:.6g} kg), expected a density and limits "
        f"without jumps and kinks inside the region. Cut the region there, and add the inertias."
    )


def _summed(
    where: str, limits: Scalar, point: Scalar, volume: Scalar, density: Scalar, nodes: Array, weights: Array
) -> tuple[Array, Array]:
    """The ten integrals by one rule in each direction, and those of absolute values."""
    total, size = np.zeros(10), np.zeros(10)
    n = len(nodes)
    v, w = (np.repeat(nodes, n), np.tile(nodes, n))
    inner = np.repeat(weights, n) * np.tile(weights, n)
    name, low, high = limits[0]
    for u, weight in zip(nodes, weights, strict=True):
        a, b = float(low({})), float(high({}))
        at: dict[str, Any] = {name: np.full(n * n, a + (b - a) * u)}
        scale = weight * (b - a) * inner
        for (other, below, above), t in zip(limits[1:], (v, w), strict=True):
            first, last = below(at), above(at)
            at[other] = first + (last - first) * t
            scale = scale * (last - first)
        p = np.array([np.broadcast_to(f(at), n * n) for f in point], dtype=float)
        full = {**dict(zip(_NAMES, [0.0] * 6, strict=True)), **at, **dict(zip("xyz", p, strict=True))}
        dm = _density_at(where, density, full, n * n) * np.broadcast_to(volume(at), n * n) * scale
        terms = np.array([np.ones(n * n), *p, *(p[i] * p[j] for i, j in _SECOND)]) * dm
        total += terms.sum(axis=1)
        size += np.abs(terms).sum(axis=1)
    largest = size[0], size[1:4].max(), size[4:].max()
    return total, np.repeat(largest, (1, 3, 6))


def _density_at(where: str, density: Scalar, at: dict[str, Any], n: int) -> Array:
    values = density(at) if getattr(density, "on_arrays", False) else _called(where, "the density", density, at, n)
    if not np.isfinite(values).all():
        raise ModelError(f"{where}: the density is not finite inside the region, expected finite numbers [kg/m³].")
    return np.broadcast_to(values, n)


def _called(where: str, what: str, f: Callable[..., Any], at: Mapping[str, Any], n: int) -> Array:
    """A user's function at n points; one that accepts no arrays is called for each point."""
    try:
        with np.errstate(all="ignore"):
            values = np.asarray(f(**at), dtype=float)
    except (TypeError, ValueError):
        columns = [np.broadcast_to(x, n).tolist() for x in at.values()]
        values = np.array([f(**dict(zip(at, row, strict=True))) for row in zip(*columns, strict=True)])
    if values.shape not in ((), (n,)) or values.dtype.kind not in "fiub":
        raise ShapeError(
            f"{where}: {what} returned an array of shape {values.shape} for coordinates of shape {(n,)}, expected one "
            f"number for each point."
        )
    return np.broadcast_to(values.astype(float), n)


def _limit_on_arrays(where: str, x: Scalar) -> Callable[[Mapping[str, Any]], Any]:
    """A limit, an expression or a user's function, as a function of arrays by the names of the coordinates."""
    if is_sympy(x) or not callable(x):
        return _on_arrays(x)

    def value(at: Mapping[str, Any]) -> Any:
        n = len(next(iter(at.values())))
        values = _called(where, "a limit", x, at, n)
        if not np.isfinite(values).all():
            raise ModelError(
                f"{where}: a limit is not finite inside the limits before it, expected finite numbers [m]."
            )
        return values

    return value


def _on_arrays(x: Scalar) -> Callable[[Mapping[str, Any]], Any]:
    """An expression as a function of arrays by the names of the coordinates."""
    import sympy

    names = list(_symbols().values())
    f = sympy.lambdify(names, x, "numpy", cse=True)

    def value(at: Mapping[str, Any]) -> Any:
        return f(*(at.get(str(s), 0.0) for s in names))

    value.on_arrays = True  # type: ignore[attr-defined]
    return value


def _gauss(n: int) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1]: exact for polynomials of degree 2n - 1."""
    x, w = np.polynomial.legendre.leggauss(n)
    return (x + 1) / 2, w / 2


def _double_exponential(step: float) -> tuple[Array, Array]:
    """Nodes and weights on [0, 1] that crowd at the ends, where roots and poles are allowed."""
    t = np.arange(-3.2, 3.2 + step / 2, step)
    x = 1 / (1 + np.exp(-np.pi * np.sinh(t)))
    return x, step * np.pi * np.cosh(t) * x * (1 - x)
