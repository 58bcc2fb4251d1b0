"""Distances of collision shapes by Pinocchio and coal: the same solids as geometry objects, hulls included."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import coal
import numpy as np
import pinocchio

import sixd
from benchmarks.tasks import Array
from sixd.collision.solids import SolidPairs, solid_pairs
from sixd.spatial.transform import pose_from_transform


def geometry_of(model: sixd.Model, pairs: Any = None) -> tuple[Any, Any]:
    """Return Pinocchio's model of a robot without free joints, and its geometry with these pairs."""
    solids = solid_pairs("geometry_of", model, pairs)
    theirs, joints = pinocchio.Model(), [0]
    for i in model.bodies:
        joint, parent = model.joints[i], model.parent[i]
        X = np.asarray(pose_from_transform(model.X_tree[i]), dtype=float)
        kinds = {"Revolute": pinocchio.JointModelRevoluteUnaligned, "Prismatic": pinocchio.JointModelPrismaticUnaligned}
        axis = np.asarray(joint.subspace(np.zeros(1)), dtype=float)[:, 0]
        kind = "Revolute" if np.any(axis[:3]) else "Prismatic"
        direction = axis[:3] if kind == "Revolute" else axis[3:]
        placement = pinocchio.SE3(X[:3, :3], X[:3, 3])
        joints.append(theirs.addJoint(joints[parent], kinds[kind](direction), placement, model.body_names[i - 1]))
    return theirs, solids_of(solids, joints)


def solids_of(solids: SolidPairs, joints: Sequence[int]) -> Any:
    """Return Pinocchio's geometry of solids and their pairs; ``joints`` has its number of a joint for each body."""
    geometry = pinocchio.GeometryModel()
    for solid in solids.solids:
        placement = pinocchio.SE3(solid.pose[:3, :3], solid.pose[:3, 3])
        geometry.addGeometryObject(
            pinocchio.GeometryObject(solid.name, joints[solid.body], placement, shape_of(solid.kind[0], solid.size))
        )
    for i, j in solids.pairs:
        geometry.addCollisionPair(pinocchio.CollisionPair(i, j))
    return geometry


def shape_of(kind: str, size: Array) -> Any:
    """Return coal's solid of a kind; its cones have their origin in the middle of their height."""
    if kind == "hull":
        points = coal.StdVec_Vec3s()
        points.extend([np.array(v) for v in np.unique(size, axis=0)])
        return coal.ConvexBase.convexHull(points, False, "")
    makers = {"sphere": coal.Sphere, "box": coal.Box, "capsule": coal.Capsule, "cylinder": coal.Cylinder}
    return makers[kind](*map(float, size))


def distances(theirs: Any, geometry: Any, q: Array) -> Array:
    """Return the distances (states, pairs) of configurations (states, nq)."""
    data, geometry_data = theirs.createData(), pinocchio.GeometryData(geometry)
    rows = []
    for row in q:
        pinocchio.computeDistances(theirs, data, geometry, geometry_data, row)
        rows.append([result.min_distance for result in geometry_data.distanceResults])
    return np.array(rows)
