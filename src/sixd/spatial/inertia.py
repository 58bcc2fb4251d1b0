"""Rigid-body inertia.

Kept as mass m, first moment h = m c and matrix about the frame's origin: the ten numbers that are linear
in the body's mass distribution, so inertias add, subtract and move without dividing by the mass. A
massless body with a first moment (as in dynamically equivalent models) is therefore representable.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sixd.errors import ModelError, ShapeError, SingularError, require_known
from sixd.spatial.density import moments_of_density
from sixd.spatial.principal import PrincipalMoments, principal
from sixd.spatial.rotation import EYE3, skew
from sixd.spatial.scalar import Array, ArrayLike, Scalar, exact, is_object, is_zero, require_scalars
from sixd.spatial.transform import blocks


def _require_symmetric(A: Array) -> None:
    if A.dtype != object and np.abs(A - A.T).max(initial=0.0) > 1e-9 * np.abs(A).max(initial=0.0):
        raise ModelError(
            f"Inertia: the matrix {A.tolist()} is not symmetric. Off-diagonal entries come in equal pairs."
        )


def _require_shape(what: str, array: Array, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise ShapeError(f"Inertia.{what} shape {array.shape}, expected {shape}.")


def first_moment(matrix: Array) -> Array:
    """m c (3,) of a 6×6 inertia."""
    return np.array([matrix[2, 4], matrix[0, 5], matrix[1, 3]])


class Inertia:
    """Mass [kg], centre of mass (3,) [m] and matrix (3, 3) about the centre [kg m²], in one frame.

    ``about_com`` may also be the three diagonal entries. All may be SymPy expressions.

    >>> Inertia(2.0, (0.1, 0, 0), (1, 2, 3)).matrix[3:, 3:]
    array([[2., 0., 0.],
           [0., 2., 0.],
           [0., 0., 2.]])
    """

    __slots__ = ("about_origin", "first_moment", "mass")
    mass: Scalar
    first_moment: Array
    about_origin: Array

    def __init__(self, mass: Scalar, com: ArrayLike = (0.0, 0.0, 0.0), about_com: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        for name, x in (("mass", mass), ("com", com), ("about_com", about_com)):
            require_scalars(f"Inertia: {name}", x)
        c, I_C = np.asarray(com), np.asarray(about_com)
        if I_C.shape == (3,):
            I_C = np.diag(I_C)
        if c.shape != (3,) or I_C.shape != (3, 3) or np.ndim(mass) != 0:
            raise ShapeError(
                f"Inertia: mass, com and about_com have shapes {np.shape(mass)}, {c.shape} and {I_C.shape}, "
                f"expected (), (3,) and (3, 3) or (3,). Give one mass, a point and a matrix or its diagonal."
            )
        _require_symmetric(I_C)
        with np.errstate(all="ignore"):  # infinities are reported below
            self._set(mass, c * mass, I_C + (skew(c) @ skew(c).T) * mass)

    def _set(self, mass: Scalar, first_moment: Array, about_origin: Array) -> None:
        arrays = []
        for name, x in (("mass", mass), ("first moment", first_moment), ("matrix", about_origin)):
            x = np.array(x)
            if x.dtype != object:
                x = x.astype(float)
                if not np.isfinite(x).all():
                    raise ModelError(f"Inertia: the {name} is {x.tolist()}, expected finite numbers.")
            x.flags.writeable = False
            arrays.append(x)
        m, h, I_O = arrays
        if (m.shape, h.shape, I_O.shape) != ((), (3,), (3, 3)):
            raise ShapeError(
                f"Inertia: mass, first moment and matrix have shapes {m.shape}, {h.shape} and {I_O.shape}, expected "
                f"(), (3,) and (3, 3)."
            )
        _require_symmetric(I_O)
        object.__setattr__(self, "mass", m[()])
        object.__setattr__(self, "first_moment", h)
        object.__setattr__(self, "about_origin", I_O)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"Inertia: {name} cannot be set; an Inertia is frozen. Make a new one.")

    def __reduce__(self) -> tuple[Any, ...]:
        return Inertia.from_parameters, (self.parameters,)

    @classmethod
    def from_moments(cls, mass: Scalar, first_moment: ArrayLike, about_origin: ArrayLike) -> Inertia:
        """From mass, first moment m c (3,) [kg m] and the matrix (3, 3) about the frame's origin [kg m²]."""
        new = object.__new__(cls)
        new._set(mass, np.asarray(first_moment), np.asarray(about_origin))
        return new

    @classmethod
    def from_parameters(cls, parameters: ArrayLike) -> Inertia:
        """From (10,): m, hx hy hz, Ixx Iyy Izz Iyz Ixz Ixy about the origin."""
        p = np.asarray(parameters)
        _require_shape("from_parameters: got", p, (10,))
        m, hx, hy, hz, xx, yy, zz, yz, xz, xy = p
        return cls.from_moments(m, np.array([hx, hy, hz]), np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> Inertia:
        """From the 6×6 matrix of a rigid body; raises if it is not of that form."""
        A = np.asarray(matrix)
        _require_shape("from_matrix: got", A, (6, 6))
        new = cls.from_moments(A[3, 3], first_moment(A), A[:3, :3])
        if A.dtype != object and np.abs(new.matrix - A).max() > 1e-9 * np.abs(A).max():
            raise ModelError(
                "Inertia.from_matrix: the matrix is not that of a rigid body, expected [[I, h×], [-h×, m 1]]. "
                "Articulated-body inertias cannot be carried by a body."
            )
        return new

    @classmethod
    def from_pseudo_inertia(cls, pseudo: ArrayLike) -> Inertia:
        """From the 4×4 pseudo-inertia [[Σ, h], [hᵀ, m]]."""
        P = np.asarray(pseudo)
        _require_shape("from_pseudo_inertia: got", P, (4, 4))
        sigma = P[:3, :3]
        return cls.from_moments(P[3, 3], P[:3, 3], EYE3 * np.trace(sigma) - sigma)

    @classmethod
    def from_density(cls, density: Scalar, region: Any, *, pose: ArrayLike | None = None) -> Inertia:
        """From a density ρ over a region: m = ∫ρ dV, m c = ∫ρ p dV, I = ∫ρ (p·p 1 - p pᵀ) dV.

        Parameters
        ----------
        density : ρ [kg/m³]: a number, a SymPy expression in x, y, z (or in the region's own coordinates), or a function
            of them: ``lambda x, y, z: …`` or, by name, ``lambda r: …``.
        region : limits {name: (lower, upper)} [m, rad] in Cartesian (x, y, z), cylindrical (r, phi, z) or spherical
            coordinates (r, theta from +z, phi), the outermost coordinate first: a limit may be an expression in, or a
            function of, the coordinates that stand before it. Or a solid ``sixd.Shape``, centred as it is drawn.
        pose : T (4, 4), where the region is in the frame of the result; the density is a function of position before.

        Returns
        -------
        Inertia : exact if there are symbols or SymPy's numbers, and SymPy finds the integrals; otherwise floats, to
            1e-10 of the integrals of absolute values. Symbols named as coordinates are coordinates.

        >>> import sympy as sp
        >>> rho, R = sp.symbols("rho R", positive=True)
        >>> ball = {"r": (0, R), "theta": (0, sp.pi), "phi": (0, 2 * sp.pi)}
        >>> Inertia.from_density(rho, ball).about_origin[0, 0]
        8*pi*R**5*rho/15
        """
        shape = getattr(region, "shape", None)
        if hasattr(shape, "kind"):  # a shape on a body, with its pose there
            pose = region.pose if pose is None else np.asarray(pose) @ region.pose
            region = shape
        inertia = cls.from_moments(*moments_of_density("Inertia.from_density", density, region))
        return inertia if pose is None else inertia.moved(pose)

    # views ------------------------------------------------------------------------------------

    @property
    def com(self) -> Array:
        """Centre of mass (3,) [m]; the origin for a body without any mass or first moment."""
        if is_zero(self.mass):
            if all(is_zero(x) for x in self.first_moment):
                return np.zeros(3)
            raise ModelError("Inertia: a massless body with a first moment has no centre of mass.")
        return self.first_moment / self.mass

    @property
    def about_com(self) -> Array:
        """Matrix (3, 3) about the centre of mass [kg m²]."""
        c = self.com
        return self.about_origin - (skew(c) @ skew(c).T) * self.mass

    @property
    def matrix(self) -> Array:
        """Spatial inertia (6, 6) = [[I, h×], [-h×, m 1]], I about the origin  [RBDA 2.63]."""
        H = skew(self.first_moment)
        return blocks(self.about_origin, H, -H, EYE3 * self.mass)

    @property
    def parameters(self) -> Array:
        """(10,): m, hx hy hz, Ixx Iyy Izz Iyz Ixz Ixy about the origin."""
        A = self.about_origin
        six = [A[0, 0], A[1, 1], A[2, 2], A[1, 2], A[0, 2], A[0, 1]]
        return np.array([self.mass, *self.first_moment, *six])

    @property
    def pseudo_inertia(self) -> Array:
        """(4, 4): [[½ tr(I) 1 - I, h], [hᵀ, m]], positive semi-definite for every real body."""
        A, h = self.about_origin, self.first_moment
        P = np.zeros((4, 4), dtype=np.result_type(A, h, float))
        P[:3, :3], P[:3, 3], P[3, :3], P[3, 3] = EYE3 * (np.trace(A) / 2) - A, h, h, self.mass
        return P

    def principal(self, about: str = "com") -> PrincipalMoments:
        """Principal moments (3,) [kg m²] and axes (3, 3), unit vectors as columns, right-handed.

        ``about`` is the centre of mass, "com", or the "origin". The matrix is axes · diag(moments) · axesᵀ. Numbers:
        ascending. Equal moments leave their axes open: the result has those nearest to the frame's axes. Symbols: exact
        if one principal axis is an axis of the frame, or if the characteristic polynomial factors; in the order of the
        frame's axes nearby.

        >>> Inertia(1, about_com=[[2, 1, 0], [1, 2, 0], [0, 0, 4]]).principal().moments
        array([1., 3., 4.])
        """
        require_known("Inertia.principal: about", "point", about, ("com", "origin"))
        return principal(np.asarray(self.about_com if about == "com" else self.about_origin))

    def inverse(self) -> Array:
        """Inverse inertia (6, 6): acceleration per force; needs a mass and a regular matrix."""
        if is_zero(self.mass):
            raise SingularError("Inertia.inverse: a massless body has no inverse inertia. Give it a mass.")
        c, W = self.com, np.asarray(self.about_com)
        if W.dtype == object:
            import sympy

            J = np.array(sympy.Matrix(W).inv())
        elif np.linalg.cond(W) < 1e15:
            J = np.linalg.inv(W)
        else:
            raise SingularError(
                f"Inertia.inverse: the matrix about the centre {W.tolist()} is singular, as that of a point or a thin "
                f"rod is. Give the body extent."
            )
        C = skew(c)
        return blocks(J, J @ C.T, C @ J, EYE3 / self.mass + C @ J @ C.T)

    # operations -------------------------------------------------------------------------------

    def __add__(self, other: Inertia) -> Inertia:
        if not isinstance(other, Inertia):
            return NotImplemented
        return Inertia.from_moments(
            self.mass + other.mass,
            self.first_moment + other.first_moment,
            self.about_origin + other.about_origin,
        )

    def __radd__(self, other: int) -> Inertia:
        return self if other == 0 else NotImplemented  # so that sum() works

    def __neg__(self) -> Inertia:
        return Inertia.from_moments(-self.mass, -self.first_moment, -self.about_origin)

    def __sub__(self, other: Inertia) -> Inertia:
        return self + (-other)

    def moved(self, pose: ArrayLike) -> Inertia:
        """The inertia in A of a body with this inertia in B, for ``pose`` = T_AB (4, 4)."""
        T = np.asarray(pose)
        _require_shape("moved: pose has", T, (4, 4))
        if is_object(T, self.parameters):
            T = exact(T)
        return self.rotated(T[:3, :3]).translated(T[:3, 3])

    def rotated(self, R: ArrayLike) -> Inertia:
        """Turned by R (3, 3) about the origin."""
        R = np.asarray(R)
        if R.shape != (3, 3) or (R.dtype != object and not np.abs(R @ R.T - EYE3).max() < 1e-6):
            raise ShapeError(f"Inertia.rotated: R is {R.tolist()}, expected a rotation matrix (3, 3).")
        return Inertia.from_moments(self.mass, R @ self.first_moment, R @ self.about_origin @ R.T)

    def translated(self, p: ArrayLike) -> Inertia:
        """Moved by ``p`` (3,) [m]: the parallel-axis theorem, without dividing by the mass."""
        p = np.asarray(p)
        _require_shape("translated: p has", p, (3,))
        P, H = skew(p), skew(self.first_moment)
        shifted = self.about_origin - P @ H - H @ P - (P @ P) * self.mass
        return Inertia.from_moments(self.mass, self.first_moment + p * self.mass, shifted)

    def problem(self, tolerance: float = 1e-9) -> str | None:
        """Return why no real body has this inertia, as text; None if one can have it (or if it is symbolic)."""
        if is_object(self.about_origin, self.first_moment, self.mass):
            return None
        if self.mass < 0:
            return f"the mass is negative ({self.mass:g} kg)"
        if self.mass == 0:
            empty = not self.first_moment.any() and not self.about_origin.any()
            return None if empty else "the mass is zero but the moments are not"
        I_C = self.about_com
        moments = np.linalg.eigvalsh(I_C)
        # rounding of the shift to the centre scales with m c²
        slack = tolerance * max(np.abs(I_C).max(), float(self.mass * self.com @ self.com))
        if moments[0] < -slack:
            return f"a principal moment is negative ({moments[0]:.3g} kg m²)"
        if moments[0] + moments[1] < moments[2] - slack:
            triple = ", ".join(f"{x:.3g}" for x in moments)
            return f"its principal moments ({triple}) kg m² break the triangle inequality"
        return None

    def is_physical(self, tolerance: float = 1e-9) -> bool:
        """Whether a real body can have this inertia (massless counts)."""
        return self.problem(tolerance) is None

    def __repr__(self) -> str:
        try:
            c, A = self.com, self.about_com
        except ModelError:
            return f"Inertia.from_parameters({self.parameters.tolist()})"
        return f"Inertia({self.mass}, com={c.tolist()}, about_com={A.tolist()})"
