"""Collision shapes: the pairs that may touch, and convex shapes in place of meshes."""
