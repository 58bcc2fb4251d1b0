"""From ring elements to readable SymPy expressions, and to LaTeX."""
