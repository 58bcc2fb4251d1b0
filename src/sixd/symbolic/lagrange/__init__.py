"""Lagrange's equations: energies of bodies, constraints and forces as SymPy expressions."""
