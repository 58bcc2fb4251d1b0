"""From ring elements to expressions as a textbook prints them, as LaTeX and as code."""
