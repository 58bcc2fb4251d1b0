"""Algorithms for systems with constraints: their rows, ranks, assembly and dynamics."""
