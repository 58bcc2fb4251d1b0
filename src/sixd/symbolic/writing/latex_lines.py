"""LaTeX of equations one below the other, long right sides broken before a plus or minus."""

from __future__ import annotations

import re
from collections.abc import Iterable

WIDEST = 58.0  # letters of a line on a page; wider ones have to be scrolled
_SILENT = r"left|right|dot|ddot|frac|begin|end|operatorname|,|;|quad"  # commands without width of their own


def aligned_latex(equations: Iterable[tuple[str, str]]) -> str:
    r"""``\begin{aligned}`` … of (left, right) sides, the signs below one another."""
    blocks = []
    for left, right in equations:
        first, *others = broken_latex(right, WIDEST - latex_width(left) - 2)
        # {} before a sign gives it the space of one between two terms
        blocks.append(" \\\\\n".join([f"{left} &= {first}", *(rf"&\quad {{}} {part}" for part in others)]))
    return "\\begin{aligned}\n" + " \\\\[4pt]\n".join(blocks) + "\n\\end{aligned}"


def broken_latex(line: str, letters: float = WIDEST) -> list[str]:
    """The line in parts of at most so many letters, broken before a plus or minus outside of all brackets."""
    terms = _terms(line)
    parts = [terms[0]]
    for term in terms[1:]:
        if latex_width(parts[-1]) + latex_width(term) > letters:
            parts.append(term)
        else:
            parts[-1] += f" {term}"
    return parts


def latex_width(line: str) -> float:
    """Width of a line in letters; indices count half."""
    line = re.sub(r"\\begin\{\w+\}|\\end\{\w+\}", "", line)
    line = re.sub(rf"\\(?:{_SILENT})(?![A-Za-z])", "", line)
    line = re.sub(r"\\[A-Za-z]+", "x", line)  # one letter, or the name of a function
    small = sum(len(x) for x in re.findall(r"[_^]\{?([^{}\s]*)", line))
    plus = len(re.findall(r" [+-] |[=&]", line))  # with the space around them
    return len(re.sub(r"[{}\s_^\\]", "", line)) - small / 2 + plus


def _terms(line: str) -> list[str]:
    """The terms of a sum with their signs."""
    terms, depth, start, k = [], 0, 0, 0
    while k < len(line):
        if line.startswith((r"\left", r"\begin"), k) and not line.startswith(r"\leftarrow", k):
            depth += 1
        elif line.startswith((r"\right", r"\end"), k):
            depth -= 1
        elif line[k] in "{}":
            depth += 1 if line[k] == "{" else -1
        elif not depth and k > start and line[k : k + 3] in (" + ", " - "):
            terms.append(line[start:k])
            start = k + 1
        k += 1
    return [*terms, line[start:]]
