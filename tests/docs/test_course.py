"""The course is whole: every exercise of docs/course/rows.toml has its page, and every page what a page must have."""

import pytest

from machinery.course import COURSE, chapters, shortcomings
from machinery.page import all_pages, read

pytestmark = pytest.mark.one_target

# pages that are not yet written: this list shrinks to nothing
MISSING = {
    "10_1_1_planar_body",
    "10_2_1_coriolis_matrix",
    "10_2_positive_definite",
    "10_2_thrusters",
    "10_2_damping_and_limits",
    "problem_01_polar_point",
    "problem_02_03_two_link_arm",
    "problem_04_pr_arm",
    "10_4_rotation",
    "10_4_shapes",
    "10_4_general_density",
    "problem_05_tube",
    "problem_06_moved_inertia",
    "problem_07_barbell",
    "problem_08_parallel_axis",
    "problem_09_euler_angles",
    "problem_10_tumbling_body",
    "10_3_pfaffian_constraints",
    "10_3_1_knife_edge",
    "10_3_holonomic_or_not",
    "problem_11_spherical_point",
    "problem_12_projected_equations",
    "problem_13_forces_on_the_sphere",
    "craig_6_5",
    "lagrangian_homework",
    "symmetric_velocity_terms",
    "a1_momentum",
    "a2_inverse_inertia",
    "a3_relative_inertia",
    "a4_equation_of_motion",
    "b1_constrained_body",
    "b2_subspace_fixed_in_the_body",
    "b3_b4_generalised_inertia",
    "c1_energy_and_momentum_of_a_tree",
    "mod1_index_sets",
    "mod2a_cylindrical",
    "mod2b_helical",
    "mod2c_rack_and_pinion",
    "id1_mass_matrix_from_inverse_dynamics",
    "effi1_equal_dynamics",
    "fd1_sparse_factor",
    "expanded_parents",
}
CHAPTERS = chapters()
PAGES = all_pages(COURSE)


def test_missing_pages_are_known():
    """Pages may be missing only while they are listed above; those that exist leave the list when all are there."""
    absent = {path.stem for chapter in CHAPTERS for path in chapter.pages if not path.exists()}
    assert absent <= MISSING


def test_every_row_is_named_by_its_page():
    """The page that rows.toml gives for a row names that row in its metadata, and no page names a row of another."""
    planned = {
        COURSE / chapter.folder / f"{row.page}.md": {r.row for r in chapter.rows if r.page == row.page}
        for chapter in CHAPTERS
        for row in chapter.rows
    }
    assert {path: set(read(path).listed("cases")) for path in planned if path.exists()} == {
        path: rows for path, rows in planned.items() if path.exists()
    }


def test_no_page_outside_the_plan():
    planned = {path for chapter in CHAPTERS for path in chapter.pages}
    assert [str(page.path) for page in PAGES if page.path not in planned] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_has_what_a_page_must_have(page):
    assert shortcomings(page) == []
