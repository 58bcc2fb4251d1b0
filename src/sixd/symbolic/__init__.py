"""Closed-form equations: exact trigonometric polynomials, and the SymPy expressions a textbook would print."""
