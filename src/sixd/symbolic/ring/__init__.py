"""The ring: trigonometric polynomials in a normal form."""
