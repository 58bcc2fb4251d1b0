"""The pairs of geoms that MuJoCo tests for contacts, by the rules of its documentation."""

from __future__ import annotations

import numpy as np

from peers import mujoco


def colliding_geoms(theirs):
    """The geoms that can touch others: those with masks or in an explicit pair, in MuJoCo's order."""
    explicit = {*theirs.pair_geom1.tolist(), *theirs.pair_geom2.tolist()}
    masks = theirs.geom_contype | theirs.geom_conaffinity
    return [g for g in range(theirs.ngeom) if masks[g] or g in explicit]


def contact_pairs(theirs):
    """The pairs of geoms (i, j), i < j: without planes and height fields among each other, and of what cannot move."""
    explicit = {frozenset(pair) for pair in zip(theirs.pair_geom1.tolist(), theirs.pair_geom2.tolist(), strict=True)}
    excluded = {frozenset(divmod(int(s), 1 << 16)) for s in theirs.exclude_signature}
    parents = not theirs.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_FILTERPARENT)
    moves = np.zeros(theirs.nbody, dtype=bool)
    for b in range(1, theirs.nbody):
        moves[b] = moves[theirs.body_parentid[b]] or theirs.body_jntnum[b] > 0
    body, contype, conaffinity = theirs.geom_bodyid, theirs.geom_contype, theirs.geom_conaffinity
    weld = theirs.body_weldid[body]
    above = theirs.body_weldid[theirs.body_parentid[weld]]
    found = set()
    for i in range(theirs.ngeom):
        for j in range(i + 1, theirs.ngeom):
            masks = contype[i] & conaffinity[j] or contype[j] & conaffinity[i]
            near = parents and weld[i] and weld[j] and (weld[i] == above[j] or weld[j] == above[i])
            free = weld[i] != weld[j] and not near and moves[body[[i, j]]].any()
            usual = free and masks and frozenset((int(body[i]), int(body[j]))) not in excluded
            if max(theirs.geom_type[[i, j]]) > 1 and (usual or frozenset((i, j)) in explicit):
                found.add((i, j))
    return found
