"""Moving an inertia: shift, then turn. The order matters, and so does what the numbers are relative to.

A body has the moments diag(1, 2, 3) about its centre of mass, which lies at r = (3, 0, 2) from a point O, in the
body's own axes. First the parallel axes: I' = I + m(‖r‖² 1 - r rᵀ). Then the body is turned by 90° about z: R I' Rᵀ.
The result is about O, and the centre has come to R r = (0, 3, 2):

    [2 + 13m     0        0   ]
    [   0      1 + 4m   -6m   ]
    [   0       -6m    3 + 9m ]

Were r given in the turned axes, one would turn first and shift then, and get another matrix.
"""

import numpy as np
import sympy as sp

import sixd
from sixd.symbolic import canonical, latex

m = sp.Symbol("m", positive=True)
body = sixd.Inertia(m, about_com=(1, 2, 3))
quarter = np.array(sp.rot_axis3(-sp.pi / 2))  # R maps x to y; SymPy's rot_axis3 turns the axes, so the other way

moved = body.translated((3, 0, 2)).rotated(quarter)
I_O = sp.Matrix(moved.about_origin).applyfunc(canonical)
print(latex(I_O))
book = sp.Matrix([[2 + 13 * m, 0, 0], [0, 1 + 4 * m, -6 * m], [0, -6 * m, 3 + 9 * m]])
assert book == I_O
assert [canonical(x) for x in moved.com] == [0, 3, 2]

# a pose does both at once, with the shift in the new axes: p = R r
assert sp.Matrix(body.moved(sixd.placement((0, 3, 2), R=quarter)).about_origin).applyfunc(canonical) == I_O

# the other order is another body
other = body.rotated(quarter).translated((3, 0, 2))
assert sp.Matrix(other.about_origin).applyfunc(canonical) != I_O
assert [canonical(x) for x in other.com] == [3, 0, 2]
