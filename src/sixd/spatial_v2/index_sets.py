"""Index sets κ, μ, ν and the depth of a tree, in the notation of the course  [RBDA section 4.1].

λ is the parent array, or a model with one. Bodies count from 1, and 0 is the base. Python's lists begin at 0: κ(i) is
``kappa(lam)[i - 1]``, whereas μ(i) is ``mu(lam)[i]``, because the base has children too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sixd.io.spatial_v2.structures import body_count, parents
from sixd.model.tree import Tree
from sixd.spatial.scalar import ArrayLike


def kappa(lam: ArrayLike | Mapping[str, Any]) -> list[list[int]]:
    """Return κ(1 … NB): the bodies, or joints, on the path from the base to each body, itself included.

    >>> kappa([0, 1, 1, 3, 3])
    [[1], [1, 2], [1, 3], [1, 3, 4], [1, 3, 5]]
    """
    tree, n = _tree("kappa", lam)
    return [list(tree.ancestors(i)) for i in range(1, n + 1)]


def mu(lam: ArrayLike | Mapping[str, Any]) -> list[list[int]]:
    """Return μ(0 … NB), NB + 1 lists: the children of the base and of each body.

    >>> mu([0, 1, 1, 3, 3])
    [[1], [2, 3], [], [4, 5], [], []]
    """
    tree, n = _tree("mu", lam)
    return [list(tree.children(i)) for i in range(n + 1)]


def nu(lam: ArrayLike | Mapping[str, Any]) -> list[list[int]]:
    """Return ν(1 … NB): each body and its descendants, depth first.

    >>> nu([0, 1, 1, 2, 3])[0]
    [1, 2, 4, 3, 5]
    """
    tree, n = _tree("nu", lam)
    return [list(tree.subtree(i)) for i in range(1, n + 1)]


def depth(lam: ArrayLike | Mapping[str, Any]) -> int:
    """Return the depth of the tree: the number of joints on the longest path from the base.

    >>> depth([0, 1, 1, 3, 3])
    3
    """
    return _tree("depth", lam)[0].depth()


def _tree(where: str, lam: ArrayLike | Mapping[str, Any]) -> tuple[Tree, int]:
    if isinstance(lam, Mapping):
        over = parents(where, "parent", lam["parent"], body_count(where, lam))
    else:
        over = parents(where, "lambda", lam)
    return Tree((-1, *over)), len(over)
