"""Inertias of simple solids and of meshes, by integrals, by composition and by trimesh."""

import numpy as np
import pytest
import sympy as sp

import sixd
from peers import trimesh
from sixd import Inertia, ModelError, ModelWarning, ShapeError

ROOTS, WEIGHTS = np.polynomial.legendre.leggauss(12)  # exact for polynomials up to degree 23


class CUBE:
    """The unit cube's corners, and two triangles a face, seen from outside."""

    vertices = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], dtype=float)
    faces = np.array(
        [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
    )  # fmt: skip


def interval(low, high):
    """Nodes and weights of Gauss's rule."""
    return low + (high - low) * (ROOTS + 1) / 2, (high - low) * WEIGHTS / 2


def revolved(pieces, scale=(1, 1, 1)):
    """Points and volumes of solids inner < r < outer(z), z0 < z < z1, stretched along x, y, z."""
    points, volumes = [], []
    angles = np.arange(8) * np.pi / 4  # exact for trigonometric polynomials below degree 8
    for z0, z1, inner, outer in pieces:
        for z, wz in zip(*interval(z0, z1), strict=True):
            for r, wr in zip(*interval(inner, outer(z)), strict=True):
                points += [(r * np.cos(a), r * np.sin(a), z) for a in angles]
                volumes += [wz * wr * r * np.pi / 4] * 8
    return np.array(points) * scale, np.array(volumes) * np.prod(scale)


def brick(x, y, z):
    (xs, wx), (ys, wy), (zs, wz) = (interval(-e / 2, e / 2) for e in (x, y, z))
    points = np.stack(np.meshgrid(xs, ys, zs, indexing="ij"), -1).reshape(-1, 3)
    return points, np.einsum("i,j,k->ijk", wx, wy, wz).ravel()


def cap(z):
    return np.sqrt(0.09 - (abs(z) - 0.35) ** 2)


def ball(z):
    return np.sqrt(1 - z * z)


CAPSULE = [(-0.65, -0.35, 0, cap), (-0.35, 0.35, 0, lambda z: 0.3), (0.35, 0.65, 0, cap)]
SHAPES = {  # name: (sizes, points and volumes)
    "sphere": ((0.3,), lambda: revolved([(-1, 1, 0, ball)], (0.3, 0.3, 0.3))),
    "ellipsoid": ((0.3, 0.5, 0.2), lambda: revolved([(-1, 1, 0, ball)], (0.3, 0.5, 0.2))),
    "box": ((0.3, 0.5, 0.2), lambda: brick(0.3, 0.5, 0.2)),
    "cylinder": ((0.3, 0.7), lambda: revolved([(-0.35, 0.35, 0, lambda z: 0.3)])),
    "tube": ((0.2, 0.3, 0.7), lambda: revolved([(-0.35, 0.35, 0.2, lambda z: 0.3)])),
    "cone": ((0.3, 0.7), lambda: revolved([(-0.175, 0.525, 0, lambda z: 0.3 * (0.525 - z) / 0.7)])),
    "capsule": ((0.3, 0.7), lambda: revolved(CAPSULE)),
}


def close(a, b, tolerance=1e-13):
    a, b = (x.parameters if isinstance(x, Inertia) else np.asarray(x, dtype=float) for x in (a, b))
    return np.abs(a - b).max() <= tolerance * np.abs(b).max()


def make(name, *sizes, **given):
    return getattr(sixd, name)(*(sizes or SHAPES[name][0]), **given)


@pytest.mark.parametrize("name", SHAPES)
def test_shape_by_its_integral(name):
    """All ten numbers of each solid equal the volume integrals of 1, x, x xᵀ."""
    points, volumes = SHAPES[name][1]()
    second = (points * volumes[:, None]).T @ points
    integral = Inertia.from_moments(volumes.sum(), volumes @ points, np.trace(second) * np.eye(3) - second)
    shape = make(name, density=1.0)
    assert close(shape, integral)
    assert shape.com.tolist() == [0, 0, 0]
    assert shape.is_physical()


@pytest.mark.parametrize("name", SHAPES)
def test_mass_or_density(name):
    """ρ = m/V in every integral: the mass of a density gives the same body; neither or both is refused."""
    heavy = make(name, density=7850.0)
    assert close(make(name, mass=heavy.mass), heavy)
    assert make(name, mass=2.5).mass == 2.5
    for given, words in (({}, "neither"), ({"mass": 1.0, "density": 1.0}, "both")):
        with pytest.raises(ModelError, match=f"{name}: got {words} of mass and density, expected one"):
            make(name, **given)


@pytest.mark.parametrize(("name", "sizes"), [(n, SHAPES[n][0]) for n in list(SHAPES)[3:]] + [("rod", (0.7,))])
def test_axis_of_revolution(name, sizes):
    """The letter of the axis turns the shape."""
    z = np.diag(make(name, *sizes, mass=2.0).about_com)
    for axis, order in (("x", [2, 0, 1]), ("y", [1, 2, 0]), ("z", [0, 1, 2])):
        assert close(np.diag(make(name, *sizes, mass=2.0, axis=axis).about_com), z[order], 0)
    with pytest.raises(ModelError, match="axis is 'w', expected 'x', 'y' or 'z'"):
        make(name, *sizes, mass=2.0, axis="w")


def test_limits_of_shapes():
    """A capsule without length is a sphere, a tube without hole a cylinder, a thin cylinder a rod, a point a point."""
    assert close(sixd.capsule(0.3, 0.0, mass=2.0), sixd.sphere(0.3, mass=2.0), 1e-15)
    assert close(sixd.tube(0, 0.3, 0.7, mass=2.0), sixd.cylinder(0.3, 0.7, mass=2.0), 1e-15)
    assert close(sixd.cylinder(0, 0.7, mass=2.0), sixd.rod(0.7, mass=2.0), 1e-15)
    assert close(sixd.ellipsoid(1, 1, 1, mass=2.0), sixd.sphere(1, mass=2.0), 1e-15)
    assert close(sixd.point(2.0, (1, 0, 0)), Inertia(2.0, (1, 0, 0)), 0)


def test_capsule_without_radius():
    """It is a thin rod, as a cylinder without radius is."""
    assert close(sixd.capsule(0.0, 0.7, mass=2.0), sixd.rod(0.7, mass=2.0))


@pytest.mark.parametrize("bad", [-0.1, np.nan, np.inf])
def test_bad_sizes(bad):
    """Negative and non-finite sizes are refused by name."""
    sizes = {"sphere: radius": (bad,), "box: y": (1, bad, 1), "cylinder: length": (1, bad), "capsule: radius": (bad, 1)}
    for name, size in {**sizes, "rod: length": (bad,)}.items():
        with pytest.raises(ModelError, match=f"{name} is {bad}, expected a finite length"):
            make(name.partition(":")[0], *size, mass=1)
    with pytest.raises(ModelError, match=r"inner_radius 2 is larger than outer_radius 1"):
        sixd.tube(2, 1, 1, mass=1)


@pytest.mark.parametrize("bad", [-0.1, -3, np.nan, np.inf, sp.Rational(-1, 2)])
def test_bad_masses(bad):
    """No shape has a negative mass or density; a hole is a difference."""
    for name, sizes in {"box": (1, 1, 1), "sphere": (1,), "cylinder": (1, 1), "capsule": (1, 1), "point": ()}.items():
        for amount in ("mass", "density") if sizes else ("mass",):
            with pytest.raises(ModelError, match=f"{name}: {amount} is {bad}, expected a finite number of at least 0"):
                getattr(sixd, name)(*sizes, **{amount: bad})
    with pytest.raises(ModelError, match=f"mesh: density is {bad}"):
        sixd.mesh(CUBE, density=bad)
    assert sixd.box(1, 1, 1, mass=0).mass == 0
    drilled = sixd.box(1, 1, 1, density=2) - sixd.cylinder(0.1, 1, density=2)
    assert close(drilled.mass, 2 - 0.02 * np.pi)


def test_symbolic_shapes():
    """The printed formulas, exactly: sphere, ellipsoid, cylinder, box and tube."""
    m, a, b, c, h, d1, d2 = sp.symbols("m a b c h d1 d2", positive=True)
    expected = {
        sixd.sphere(a, mass=m): [2 * m * a**2 / 5] * 3,
        sixd.ellipsoid(a, b, c, mass=m): [m * (b**2 + c**2) / 5, m * (a**2 + c**2) / 5, m * (a**2 + b**2) / 5],
        sixd.cylinder(a, h, mass=m): [m * (3 * a**2 + h**2) / 12] * 2 + [m * a**2 / 2],
        sixd.box(a, b, c, mass=m): [m * (b**2 + c**2) / 12, m * (a**2 + c**2) / 12, m * (a**2 + b**2) / 12],
    }
    for shape, moments in expected.items():
        assert (sp.Matrix(shape.about_com) - sp.diag(*moments)).expand() == sp.zeros(3, 3)
    along = d2**4 / 32 - d1**4 / 32  # times ρ π L, with diameters
    tube = sixd.tube(d1 / 2, d2 / 2, h, mass=(d2**2 - d1**2) * h / 4).about_com  # mass over ρ π
    assert sp.expand(tube[2, 2] - h * along) == 0
    assert sp.expand(tube[0, 0] - h * along / 2 - h**3 * (d2**2 - d1**2) / 48) == 0


def test_symbolic_density():
    """A symbolic density gives the exact mass ρ V."""
    r, rho = sp.symbols("r rho")
    assert sp.expand(sixd.sphere(r, density=rho).mass - rho * 4 * sp.pi * r**3 / 3) == 0


def test_composed_solids():
    """A tube is a cylinder less a cylinder; a box is two boxes."""
    hole = sixd.cylinder(0.2, 0.7, density=5.0)
    assert close(sixd.cylinder(0.3, 0.7, density=5.0) - hole, sixd.tube(0.2, 0.3, 0.7, density=5.0))
    half = sixd.box(1, 2, 1.5, density=2.0)
    assert close(half.translated((0, 0, 0.75)) + half.translated((0, 0, -0.75)), sixd.box(1, 2, 3, density=2.0))


# meshes -------------------------------------------------------------------------------------------


def random_solid(seed):
    """A closed lump: a convex hull of random points, off the origin."""
    rng = np.random.default_rng(seed)
    return trimesh.convex.convex_hull(rng.normal(size=(20, 3)) + rng.uniform(-2, 2, 3))


@pytest.mark.parametrize("seed", range(4))
def test_mesh_beside_trimesh(seed):
    """Mass, centre and moment of inertia of hulls equal trimesh's; triangles seen from inside give the same."""
    hull = random_solid(seed)
    inertia = sixd.mesh(hull.vertices, hull.faces, density=3.0)
    hull.density = 3.0
    assert inertia.mass == pytest.approx(hull.mass, rel=1e-12)
    assert close(inertia.com, hull.center_mass, 1e-12)
    assert close(inertia.about_com, hull.moment_inertia, 1e-11)  # trimesh integrates about the origin
    assert close(sixd.mesh(hull.vertices, hull.faces[:, ::-1], density=3.0), inertia, 1e-15)
    assert close(sixd.mesh(hull, density=3.0), inertia, 0)
    assert close(sixd.mesh(hull, mass=inertia.mass), inertia, 1e-14)
    assert inertia.is_physical()


def test_mesh_of_cube_and_tetrahedron():
    """A unit cube at its corner is a box moved; the corner tetrahedron's integrals are 1/6, 1/24, 1/60, 1/120."""
    assert close(sixd.mesh(CUBE, density=2.0), sixd.box(1, 1, 1, density=2.0).translated((0.5, 0.5, 0.5)), 1e-15)
    tetrahedron = sixd.mesh(
        np.vstack([np.zeros(3), np.eye(3)]), [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]], density=1.0
    )
    expected = [1 / 6, *[1 / 24] * 3, *[2 / 60] * 3, *[-1 / 120] * 3]
    assert close(tetrahedron, expected, 1e-16)


def test_tessellated_ellipsoid_converges():
    """Finer meshes of an ellipsoid approach its formula with the square of the edge length."""
    errors = []
    for subdivisions in (2, 3, 4):
        ball = trimesh.creation.icosphere(subdivisions)
        inertia = sixd.mesh(ball.vertices * [0.3, 0.5, 0.2], ball.faces, mass=1.0)
        errors.append(np.abs(inertia.parameters - sixd.ellipsoid(0.3, 0.5, 0.2, mass=1.0).parameters).max())
    assert errors[0] / errors[1] == pytest.approx(4, rel=0.05)
    assert errors[1] / errors[2] == pytest.approx(4, rel=0.02)


@pytest.mark.parametrize("distance", [1e2, 1e4, 1e6])
def test_mesh_far_from_the_origin(distance):
    """A far mesh is the near one moved, to rounding of the numbers about the origin."""
    far = np.array([distance, -distance, 0.5 * distance])
    inertia = sixd.mesh(CUBE.vertices + far, CUBE.faces, mass=2.0)
    expected = sixd.box(1, 1, 1, mass=2.0).translated(far + 0.5)
    # corners near 1e6 m are themselves off by 1e-10 m
    assert inertia.parameters == pytest.approx(expected.parameters, rel=1e-13)


def test_mesh_file(tmp_path):
    """An STL (vertices not shared) and an OBJ read through trimesh give the mesh itself."""
    hull = random_solid(7)
    for suffix in ("stl", "obj"):
        path = tmp_path / f"solid.{suffix}"
        hull.export(path)
        # STL keeps single precision, OBJ eight decimals
        assert close(sixd.mesh(path, mass=2.0), sixd.mesh(hull, mass=2.0), 1e-6)
        assert close(sixd.mesh(str(path), mass=2.0), sixd.mesh(path, mass=2.0), 0)


def test_open_surface_warns():
    """A cube without a triangle, or with one turned over, has no inside: the result comes with a warning."""
    turned = np.vstack([CUBE.faces[0, ::-1], CUBE.faces[1:]])
    for faces in (CUBE.faces[1:], turned):
        with pytest.warns(ModelWarning, match="mesh: the surface is not closed"):
            sixd.mesh(CUBE.vertices, faces, mass=1.0)


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            lambda: sixd.mesh(np.eye(3), [[0, 1, 2], [0, 2, 1]], mass=1),
            ModelError,
            "the volume is zero, expected a solid",
        ),
        (lambda: sixd.mesh(np.eye(3), mass=1), ShapeError, "triangles are missing"),
        (lambda: sixd.mesh(np.eye(2), [[0, 1, 2]], mass=1), ShapeError, r"vertices have shape \(2, 2\)"),
        (lambda: sixd.mesh(np.eye(3), np.zeros((0, 3), int), mass=1), ShapeError, r"triangles \(0, 3\)"),
        (lambda: sixd.mesh(np.eye(3), [[0, 1, 3]], mass=1), ShapeError, "name vertices 0 to 3, expected 0 to 2"),
        (lambda: sixd.mesh(np.eye(3) * np.nan, [[0, 1, 2]], mass=1), ModelError, "NaN or infinity"),
        (lambda: sixd.mesh(CUBE), ModelError, "exactly one of mass"),
        (lambda: sixd.mesh(CUBE, mass=1, density=1), ModelError, "exactly one of mass"),
        (lambda: sixd.mesh("nowhere.stl", mass=1), ModelError, "cannot read 'nowhere.stl'"),
        (lambda: sixd.mesh(CUBE.vertices, CUBE.faces + 0.5, mass=1), ShapeError, "expected whole vertex numbers"),
    ],
)
def test_mesh_errors(make, error, words):
    """Flat, open-ended or broken meshes give one clear error."""
    with pytest.raises(error, match=words):
        make()
