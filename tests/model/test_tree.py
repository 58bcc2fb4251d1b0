"""Index sets of trees."""

import numpy as np
import pytest

from sixd import ModelError
from sixd.model.tree import Tree, expand_parent
from tree_matrices import COURSE, SEEDS, support


def test_mod1_index_sets():
    """κ, μ, ν and depth of λ = [0 1 1 3 3]; ν is depth first."""
    tree = Tree(COURSE)
    assert [tree.ancestors(i) for i in range(1, 6)] == [(1,), (1, 2), (1, 3), (1, 3, 4), (1, 3, 5)]
    assert [tree.children(i) for i in range(6)] == [(1,), (2, 3), (), (4, 5), (), ()]
    assert [tree.subtree(i) for i in range(1, 6)] == [(1, 2, 3, 4, 5), (2,), (3, 4, 5), (4,), (5,)]
    assert tree.depth() == 3
    assert Tree([-1, 0, 1, 1, 2, 3]).subtree(1) == (1, 2, 4, 3, 5)


def test_expanded_lambda():
    """λ = [0 1 1] with 2, 1 and 3 degrees of freedom gives [0 1 2 2 4 5], counted from 1."""
    expanded = expand_parent([-1, 0, 1, 1], [0, 2, 1, 3])
    assert [k + 1 for k in expanded] == [0, 1, 2, 2, 4, 5]
    # bodies without degrees of freedom hand their parent's on
    assert expand_parent([-1, 0, 1, 2, 0], [0, 1, 0, 2, 1]) == (-1, 0, 1, -1)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_trees(seed):
    """Each set by its definition: j ∈ κ(i) exactly if i ∈ ν(j); depth counts κ; μ partitions the bodies."""
    rng = np.random.default_rng(seed)
    n = 30
    parent = [-1] + [int(rng.integers(0, i)) for i in range(1, n)]
    tree = Tree(parent)
    carried = support([p - 1 for p in parent[1:]]) & np.tri(n - 1, dtype=bool)
    for i in range(1, n):
        assert tree.ancestors(i) == tuple(np.flatnonzero(carried[i - 1]) + 1)
        assert sorted(tree.subtree(i)) == (np.flatnonzero(carried[:, i - 1]) + 1).tolist()
        assert tree.depth(i) == carried[i - 1].sum()
        assert tree.children(i) == tuple(j for j in range(n) if parent[j] == i)
        # depth first: a body's subtree follows it without a gap
        at = tree.subtree(0).index(i)
        assert tree.subtree(0)[at : at + len(tree.subtree(i))] == tree.subtree(i)
    assert tree.ancestors(0) == ()
    assert tree.depth() == max(tree.depth(i) for i in range(n))


@pytest.mark.parametrize("parent", [[-1, 1], [-1, 0, 3, 1], [-1, -1], [-1, 0, 2]])
def test_bad_parents(parent):
    """A parent that does not come before its child is refused, and named."""
    with pytest.raises(ModelError, match=r"parent of body \d is -?\d, expected 0 to \d\. Number parents first"):
        Tree(parent)


def test_the_empty_tree():
    """The world alone has no bodies."""
    tree = Tree([-1])
    assert (tree.subtree(0), tree.children(0), tree.depth()) == ((), (), 0)
    assert expand_parent([-1], [0]) == ()


def test_a_long_chain_does_not_recurse():
    """10,000 bodies in a row, and as many side by side, stay within the stack."""
    n = 10_000
    tree = Tree(range(-1, n))
    assert tree.depth() == n
    assert tree.ancestors(n) == tree.subtree(1) == tuple(range(1, n + 1))
    assert expand_parent(range(-1, n), [1] * (n + 1)) == tuple(range(-1, n - 1))
    star = Tree([-1] + [0] * n)
    assert len(star.children(0)) == n
    assert star.depth() == 1
