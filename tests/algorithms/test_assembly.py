"""Assembly, mobility and what ``check`` says about constraints."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import sixd
from samples import constrained
from sixd.algorithms.constrained.assembly import solve_nearby
from sixd.algorithms.constrained.rank import assembled_rank


def close(x, y, tolerance=1e-12):
    assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max(initial=0.0)))


@pytest.mark.parametrize(
    ("model", "start"),
    [
        (sixd.zoo.four_bar(), [1.0, 0.0, 1.0]),
        (sixd.zoo.four_bar(), [0.0, 0.0, 0.0]),  # all in line: no way to bend is better than the other
        (sixd.zoo.four_bar(closed_by="axis"), [1.0, 0.3, 1.0]),
        (sixd.zoo.bricard(), [0.3, -0.1, 0.2, 0.1, 0.0]),
        (sixd.zoo.andrews(), np.array([-0.06, 0, 0.5, 0.5, 0.2, 1.2, -0.2]) + 0.05),
    ],
    ids=["four-bar", "four-bar in line", "spatial four-bar", "bricard", "andrews"],
)
def test_assembles_to_rounding(model, start):
    """φ vanishes to rounding of the mechanism's own size."""
    q = sixd.assemble(model, start)
    size = np.abs(sixd.constraint_jacobian(model, q)).max()
    assert np.abs(sixd.constraint_error(model, q)).max() < 1e-14 * max(size, 1.0)


def test_converges_quadratically():
    """The number of right digits doubles from step to step, also with redundant equations."""
    for model, near in ((sixd.zoo.four_bar(), [1.1, -0.5, 1.6]), (sixd.zoo.bricard(), [0.3, -0.3, 0.3, -0.3, 0.3])):
        free = np.ones(model.nv, dtype=bool)
        there = sixd.assemble(model, near)
        errors = []
        for size in (1e-2, 1e-4):
            import sixd.algorithms.constrained.assembly as assembly

            steps, assembly._STEPS = assembly._STEPS, 1
            try:
                once = solve_nearby(model, there + size * np.linspace(-1, 1, model.nv), free).q
            finally:
                assembly._STEPS = steps
            errors.append(np.abs(sixd.constraint_error(model, once)).max())
        assert errors[1] < 1e-3 * errors[0]  # a hundredth of the start's error: a ten-thousandth for exact squares
        assert errors[1] < 1e-7


def test_fixed_joints_stay():
    """Their coordinates are kept exactly, and velocities too."""
    model = sixd.zoo.four_bar()
    q, qd = sixd.assemble(model, [1.0, -0.5, 1.6], [2.0, 0.0, 0.0], fixed=["crank"])
    assert q[0] == 1.0
    assert qd[0] == 2.0
    close(sixd.constraint_error(model, q), [0, 0])
    close(sixd.constraint_velocity(model, q, qd), [0, 0])


def test_assembled_states_are_not_moved(rng):
    """What satisfies the constraints already comes back as it is."""
    model = sixd.zoo.bricard()
    q = sixd.assemble(model, [0.5, 0, 0, 0, 0], fixed=["rod1"])
    close(sixd.assemble(model, q), q, tolerance=1e-15)


def test_velocity_changes_least_in_the_mass_metric(rng):
    """It is the projection P qd."""
    model = sixd.zoo.andrews()
    q, qd = sixd.assemble(model, sixd.zoo.andrews_order(model, sixd.zoo.ANDREWS_START), rng.normal(size=7))
    given = rng.normal(size=7)
    _, got = sixd.assemble(model, q, given)
    close(got, sixd.projections(model, q)[0] @ given, tolerance=1e-9)  # bodies of grams: cond(M) is 1e3
    close(sixd.constraint_velocity(model, q, qd), np.zeros(6))


def test_batches():
    """Row by row, leading dimensions kept."""
    model = sixd.zoo.four_bar()
    starts = np.array([[[1.0, -0.5, 1.6]], [[0.8, -0.3, 1.5]]])
    q, qd = sixd.assemble(model, starts, [1.0, 0, 0])
    assert q.shape == (2, 1, 3)
    assert qd.shape == (2, 1, 3)
    close(q[1, 0], sixd.assemble(model, starts[1, 0]))


def test_one_bad_row_does_not_stop_a_batch():
    """It is NaN and named; the others are as they would be alone. One state by itself still raises."""
    model = sixd.zoo.four_bar()
    starts = np.array([[1.0, -0.5, 1.6], [np.nan, 0, 0], [0.8, -0.3, 1.5], [9.0, 0, np.inf]])
    with pytest.warns(
        sixd.SimulationWarning, match=r"assemble: states 1, 3 are not assembled and NaN. The first: q is .*nan"
    ):
        q, qd = sixd.assemble(model, starts, [1.0, 0, 0])
    assert np.isnan(np.hstack([q, qd])[[1, 3]]).all()
    for k in (0, 2):
        alone = sixd.assemble(model, starts[k], [1.0, 0, 0])
        np.testing.assert_array_equal((q[k], qd[k]), alone)
    with pytest.warns(sixd.SimulationWarning, match=r"state \(1, 0\) is not assembled"):
        q = sixd.assemble(model, starts[:2, None], fixed=["crank"])
    assert np.isfinite(q[0]).all()
    assert np.isnan(q[1]).all()
    bad = sixd.zoo.four_bar(5.0, 1.0, 2.0, 1.0)
    with pytest.warns(sixd.SimulationWarning, match=r"state 0 is .*Loop\(coupler_end, rocker_end\) is off by"):
        assert np.isnan(sixd.assemble(bad, [[0.1, 0.2, 0.3]])).all()
    assert sixd.assemble(bad, np.zeros((0, 3))).shape == (0, 3)
    with pytest.raises(sixd.AssemblyError):
        sixd.assemble(model, starts[1])


def test_quaternions_keep_their_length(rng):
    """Steps are taken on the manifold."""
    model = constrained(sixd.zoo.random_tree(3), sixd.Loop("frame4", "frame9", "point"), sixd.KnifeEdge("frame2"))
    q, qd = sixd.assemble(model, model.random_configuration(rng), rng.normal(size=model.nv))
    for i in model.bodies:
        if isinstance(model.joints[i], (sixd.Free, sixd.Spherical)):
            assert abs(np.linalg.norm(q[model.iq[i]][:4]) - 1) < 1e-14
    close(sixd.constraint_error(model, q), np.zeros(3))
    close(sixd.constraint_velocity(model, q, qd), np.zeros(4))


def test_a_half_turn_is_no_closure():
    """The rotation residual vanishes at a half turn too: assembly goes by the angle."""
    builder = sixd.ModelBuilder("turned")
    builder.add_body("body", "world", sixd.Spherical(), inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_constraint(sixd.Loop("world", "body", ("rx", "ry", "rz")))
    model = builder.build()
    half = np.array([0.0, 1.0, 0.0, 0.0])
    close(sixd.constraint_error(model, half), np.zeros(3))
    q = sixd.assemble(model, half)
    close(np.abs(q), [1, 0, 0, 0], tolerance=1e-10)

    builder = sixd.ModelBuilder("hinge")
    builder.add_body("body", "world", sixd.Revolute("x"), inertia=sixd.sphere(0.1, mass=1.0))
    builder.add_constraint(sixd.Loop("world", "body", "axis"))
    hinge = builder.build()
    close(np.cos(sixd.assemble(hinge, [3.0])), [1.0])
    with pytest.raises(sixd.AssemblyError, match=r"Loop\(world, body\) is off by 3.14 in its own unit"):
        sixd.assemble(hinge, [np.pi], fixed=["body"])


# what cannot be assembled --------------------------------------------------------------------------


def test_impossible():
    """Bars that are too short: the error names the constraint, its error, and that other starts fail too."""
    model = sixd.zoo.four_bar(5.0, 1.0, 2.0, 1.0)
    with pytest.raises(sixd.AssemblyError, match=r"Loop\(coupler_end, rocker_end\) is off by .*Starts elsewhere fail"):
        sixd.assemble(model, [0.1, 0.2, 0.3])
    assert [f.code for f in sixd.check(model)] == ["cannot-assemble"]


def test_contradiction():
    """Two distances that cannot both hold."""
    model = constrained(sixd.zoo.planar(2), sixd.Distance("world", "tip", 1.0), sixd.Distance("world", "tip", 1.5))
    with pytest.raises(sixd.AssemblyError, match="do the constraints contradict each other"):
        sixd.assemble(model, [0.3, 1.0])
    assert "cannot-assemble" in [f.code for f in sixd.check(model)]


def test_fixed_joints_may_forbid_it():
    with pytest.raises(sixd.AssemblyError, match="can no configuration with these joints fixed reach that far"):
        sixd.assemble(sixd.zoo.four_bar(), [1.0, 0.0, 0.0], fixed=["crank", "rocker"])


def test_contradicting_rates():
    """Two prescribed rates of one joint: no velocity has both."""
    drives = [sixd.Pfaffian(lambda q: np.array([[1, 0]]), lambda t, k=k: [k], name=f"drive{k}") for k in (1, 2)]
    model = constrained(sixd.zoo.planar(2), *drives)
    with pytest.raises(sixd.AssemblyError, match=r"no velocity satisfies the constraints.*Pfaffian\(drive"):
        sixd.assemble(model, [0.0, 0.0], [0.0, 0.0])


@pytest.mark.parametrize(
    ("arguments", "options", "error", "message"),
    [
        (([np.nan, 0, 0],), {}, sixd.AssemblyError, "q is .*nan.*, expected finite numbers"),
        (([0, 0, 0], [np.inf, 0, 0]), {}, sixd.AssemblyError, "qd is .*inf.*, expected finite numbers"),
        (([0, 0],), {}, sixd.ShapeError, r"q has shape \(2,\)"),
        (([0, 0, 0],), {"fixed": "crank"}, sixd.ScalarTypeError, "fixed is the string 'crank'"),
        (([0, 0, 0],), {"fixed": ["crnk"]}, sixd.UnknownNameError, "no joint named 'crnk'. Did you mean 'crank'"),
    ],
)
def test_bad_input(arguments, options, error, message):
    with pytest.raises(error, match=message):
        sixd.assemble(sixd.zoo.four_bar(), *arguments, **options)


def test_symbolic_models_are_refused():
    import sympy as sp

    with pytest.raises(sixd.ScalarTypeError, match="assemble: 'four_bar' has symbolic parameters"):
        sixd.assemble(sixd.zoo.four_bar(crank=sp.Symbol("a", positive=True)), [0, 0, 0])


# mobility ------------------------------------------------------------------------------------------


def test_mobility_prints_in_one_line():
    text = str(sixd.mobility(sixd.zoo.four_bar(closed_by="axis")))
    assert text == (
        "four_bar: 1 DoF = 3 of the joints - 2 independent of 5 equations, 3 redundant "
        "(3 in Loop(coupler_end, rocker_end))"
    )
    assert str(sixd.mobility(sixd.zoo.planar(2))) == "planar2: 2 DoF = 2 of the joints - 0 independent of 0 equations"


def test_mobility_at_a_configuration():
    """In a dead centre one more degree of freedom appears."""
    model = sixd.zoo.four_bar(1.0, 1.0, 1.0, 1.0)
    assert sixd.mobility(model).freedoms == 1
    assert sixd.mobility(model, [0.0, np.pi, np.pi]).freedoms == 2
    assert sixd.mobility(model, [0.4, -0.4, 0.4]).freedoms == 1
    with pytest.raises(sixd.ShapeError, match="expected one configuration of 3 finite numbers"):
        sixd.mobility(model, [[0, 0, 0]])


def test_a_start_in_a_special_pose_does_not_mislead():
    """The neutral pose of these is folded flat, with a lower rank than the mechanism has at large."""
    for bars in ((2.0, 1.0, 2.0, 1.0), (1.0, 1.0, 1.0, 1.0), (1.0, 2.0, 1.0, 2.0)):
        model = sixd.zoo.four_bar(*bars)
        assert np.abs(sixd.constraint_error(model, np.zeros(3))).max() == 0
        assert np.linalg.matrix_rank(sixd.constraint_jacobian(model, np.zeros(3))) == 1
        assert assembled_rank(model).number == 2


def test_which_equations_are_redundant():
    """The later of two equal constraints is named."""
    bar = sixd.zoo.four_bar()
    model = constrained(bar, sixd.Distance("rocker", "coupler_end", 1.5))
    found = sixd.mobility(model)
    assert (found.freedoms, found.redundant, found.redundant_in) == (1, 1, (("Distance(rocker, coupler_end)", 1),))
    (finding,) = sixd.check(model)
    assert finding.code == "redundant-constraints"
    assert "1 of its 3 constraint equations are redundant (1 in Distance(rocker, coupler_end))" in finding.message


def test_rolling_has_the_degrees_of_freedom_of_the_textbook():
    """Of velocities: a rolling disc has three (turn, roll, lean), a sphere three."""
    disc = sixd.zoo.rolling_disc()
    assert sixd.mobility(constrained(disc, sixd.Rolling("disc", 0.05))).freedoms == 3
    assert sixd.mobility(constrained(disc, sixd.RollingSphere("disc", 0.05))).freedoms == 3


def test_check_at_a_configuration():
    model = sixd.zoo.four_bar()
    assert not sixd.check(model)
    (finding,) = sixd.check(model, [1.0, 0.0, 0.0])
    assert finding.code == "not-assembled"
    assert "use sixd.assemble" in finding.message
    with pytest.raises(sixd.ShapeError, match="check: q is .* expected one configuration of 3 numbers"):
        sixd.check(model, [0.0])
