"""The words of the field, the same in the whole project: texts and names use none of the words that were retired.

``python tests/test_vocabulary.py`` lists where they stand, folder by folder; ``python tests/test_vocabulary.py ik`` in one.
Words that are also used correctly are left to the reader: found, given, law, row, take and turn.
"""

import io
import re
import sys
import tokenize
from pathlib import Path

import pytest

pytestmark = pytest.mark.one_target
ROOT = Path(__file__).parents[1]
FOLDERS = ("src/sixd", "tests", "docs", "benchmarks", "examples")
PAGES = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")
SUFFIXES = (".py", ".md", ".js", ".html", ".css", ".txt")
OTHERS = ("docs/outputs", "tests/data", "docs/machinery/static")  # written by programs or by others

# what is never meant, as regular expressions in which a space is any gap, and what to write instead
RETIRED = {
    r"\bfreedoms?\b": "degrees of freedom, DoF",
    r"\bslopes?\b": "derivative (a plane, a line or a hill has a slope)",
    r"\bprocessors?\b": "CPU",
    r"\bblows?\b": "impact",
    r"\b(strikes?|striking|struck)\b": "impact, hits",
    r"\btold\b": "input, argument, prescribed; is stated",
    r"\bnobody\b": "no one; who is meant",
    r"\bhears?\b": "is called, is notified",
    r"\bbeside\b": "next to, compared with, in the same run",
    r"\bcan be had\b": "is available, can be computed",
    r"\bless an? empty\b": "minus the cost of an empty call",
    r"\bis none that\b": "is unknown, is invalid",
    r"\bnothing that (is|it)\b": "is invalid, is unknown",
    r"\b(derivatives?|gradients?|Jacobians?|Hessians?|differentiated?)( [^\s.;:,]+){0,4}"
    r" by (`*(q|qd|qdd|tau)`*|the (start|state|configuration)|a (configuration|state))(?![\w=])": "with respect to",
    r"\bgives? the bits of\b": "is bit-identical to",
    r"\bare by the start\b": "are with respect to the initial state",
    r"\bgiven by energies\b": "defined by energies",
    r"\bin row [({]": "in state (a row is of a matrix, or of memory)",
    r"\b(was|were|are both|f_ext is|target is) given\b": "is passed, is set, is prescribed",
    r"\bwhich see\b": "see …",
}
# what is right although it has such a word
RIGHT = (
    r"degrees?[ -]of[ -]freedom",
    r"\bslopes? of (a|the) ([^\s.]+ )?(planes?|lines?|ground|hills?|curve)\b",
    r"\bblows? up\b",
)
NAMES = {
    "freedom",
    "freedoms",
    "slope",
    "slopes",
    "processor",
    "processors",
    "blow",
    "blows",
    "strike",
    "strikes",
    "told",
}


def pattern(*words):
    """A compiled expression for any of these, also broken over lines of a comment."""
    return re.compile("|".join(words).replace("[ -]", r"[\s#-]+").replace(" ", r"[\s#]+"), re.IGNORECASE)


PATTERNS = {pattern(word): hint for word, hint in RETIRED.items()}
EXCEPTED = pattern(*RIGHT)
ANY = pattern(*RETIRED, *NAMES)
QUOTED = re.compile(r"“[^”]*”|^> .*$", re.MULTILINE)  # in pages: what others wrote

# what is right in a folder: names of the interface and of paths, and slopes of tilted planes and of fitted lines
FREEDOMS = {"freedoms"}  # mobility(…).freedoms
ALLOWED = {
    "benchmarks": {"processor"},  # platform.processor()
    "docs/course": {"slope", "slopes"},
    "examples": {"slope"},
    "src/sixd/actuation": {"freedom"},  # Motor(freedom=…)
    "src/sixd/algorithms": FREEDOMS,
    "src/sixd/cli": FREEDOMS,
    "tests/actuation": {"freedom"},
    "tests/cases": FREEDOMS | {"slope"},
    "tests/constraints": FREEDOMS,
    "tests/engine": {"nobody"},  # /proc/nobody
}
# folders whose names are still to be changed
PENDING = {"tests/algorithms", "tests/api", "tests/gpu", "tests/ml", "tests/spatial"}


def room(path):
    """The folder that a file is counted in, such as ``src/sixd/ik`` or ``docs/course``."""
    parts = path.relative_to(ROOT).parts
    depth = 2 + (parts[0] == "src")
    return "/".join(parts[:-1][:depth]) or parts[0]


def files():
    """All files with texts, by folder."""
    paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES]
    rooms = {}
    for path in sorted([*paths, *(ROOT / page for page in PAGES)]):
        if not path.relative_to(ROOT).as_posix().startswith(OTHERS) and path != Path(__file__).resolve():
            rooms.setdefault(room(path), []).append(path)
    return rooms


def prose(text):
    """The comments and strings of a Python file, where they stand; and the words of its names, with their lines."""
    lines = [" " * len(line) for line in text.splitlines()]
    words = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.NAME:
            parts = re.findall(r"[A-Z]?[a-z]+", re.sub("degrees?_of_freedom", "", token.string))
            words += [(token.start[0], part.lower(), token.string) for part in parts if part.lower() in NAMES]
        elif (
            token.type == tokenize.COMMENT
            or token.type == tokenize.STRING
            or "FSTRING" in tokenize.tok_name[token.type]
        ):
            for k, part in enumerate(token.string.splitlines()):
                at = token.start[1] if k == 0 else 0
                row = token.start[0] - 1 + k
                lines[row] = lines[row][:at] + part + lines[row][at + len(part) :]
    return "\n".join(lines), words


def blank(match):
    """Spaces in place of what was matched, with its line breaks."""
    return re.sub(r"[^\n]", " ", match[0])


def retired(path):
    """Where a file uses retired words: its lines, the words and what to write instead."""
    text, allowed = path.read_text(encoding="utf-8"), ALLOWED.get(room(path), set())
    if not ANY.search(EXCEPTED.sub(blank, text)):
        return
    if path.suffix == ".py":
        text, names = prose(text)
        yield from ((line, name, f"another name than {word!r}") for line, word, name in names if name not in allowed)
    elif path.suffix == ".md":
        text = QUOTED.sub(blank, text)
    text = EXCEPTED.sub(blank, text)
    for word, hint in PATTERNS.items():
        for match in word.finditer(text):
            if match[0].lower() not in allowed:
                yield text.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), hint


ROOMS = files()


@pytest.mark.parametrize("where", ROOMS)
def test_retired_words_are_not_used(where, request):
    if where in PENDING:
        request.applymarker(pytest.mark.xfail(reason="not renamed yet", strict=True))
    found = ((path.relative_to(ROOT), *use) for path in ROOMS[where] for use in retired(path))
    uses = [f"{path}:{line}: {word}  ->  {hint}" for path, line, word, hint in found]
    assert uses == []


if __name__ == "__main__":
    total = 0
    for where, paths in ROOMS.items():
        uses = sorted((path, *use) for path in paths for use in retired(path))
        total += len(uses)
        if uses and not sys.argv[1:]:
            print(f"{len(uses):5}  {where}{' (pending)' if where in PENDING else ''}")
        for path, line, word, hint in uses if where.split("/")[-1] in sys.argv[1:] else ():
            print(f"{path.relative_to(ROOT)}:{line}: {word}  ->  {hint}")
    print(f"{total:5}  in all")
