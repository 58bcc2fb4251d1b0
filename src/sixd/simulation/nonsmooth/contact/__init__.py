"""Rigid contact in fixed steps: points over the ground, impulses in Coulomb's cones, impacts."""
