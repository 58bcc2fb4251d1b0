"""Every operation of a traced scalar, as functions of two numbers."""

from sixd.spatial import acos, asin, atan2, cos, exp, log, maximum, minimum, sign, sin, sqrt, tan, where
from sixd.spatial.scalar import absolute

ARITHMETIC = {
    "x + y": lambda x, y: x + y, "x - y": lambda x, y: x - y, "x * y": lambda x, y: x * y, "x / y": lambda x, y: x / y,
    "-x": lambda x, y: -x, "+x": lambda x, y: +x, "abs(x)": lambda x, y: abs(x), "x ** 5": lambda x, y: x**5,
    "x ** -2": lambda x, y: x**-2, "|y| ** .5": lambda x, y: abs(y) ** 0.5, "2 - x / 3": lambda x, y: 2 - x / 3,
    "sin": lambda x, y: sin(x), "cos": lambda x, y: cos(-x), "tan": lambda x, y: tan(x), "asin": lambda x, y: asin(x / 10),
    "acos": lambda x, y: acos(x / 10), "atan2": lambda x, y: atan2(x, y), "atan2 of 1": lambda x, y: atan2(1.0, y), "sqrt": lambda x, y: sqrt(x * x),
    "exp": lambda x, y: exp(x), "log": lambda x, y: log(absolute(y)), "sign": lambda x, y: sign(x), "absolute": lambda x, y: absolute(x),
    "minimum": lambda x, y: minimum(x, y), "maximum": lambda x, y: maximum(1.0, y), "where <": lambda x, y: where(x < y, x, 2.0),
    "where >=": lambda x, y: where(x >= 0, sin(x), y), "where ==": lambda x, y: where(x == y, 1.0, 2.0), "where !=": lambda x, y: where(x != y, x, y),
    "where &": lambda x, y: where((x > 0) & (y > 0), 1.0, 0.0), "where |": lambda x, y: where((x > 0) | ~(y > 0), 1.0, 0.0),
}  # fmt: skip
