"""Sphinx: pages with the outputs of `execute.py`, the directive `exercise`, and MathJax from a package."""

from __future__ import annotations

import html
import importlib.util
import json
import re
import shutil
from pathlib import Path
from typing import Any

import nbformat
from docutils import nodes
from docutils.parsers.rst import directives
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from machinery import answers, course, reference, sources
from machinery.execute import executed
from machinery.page import Cell, Exercise, parse

# files outside docs/ that pages link to, as pages of the site; links to other files become downloads
OUTSIDE = {
    "benchmarks/RESULTS": "measured.md#speed",
    "benchmarks/GPU": "measured.md#speed-on-a-gpu",
    "README": "index.md",
    "CONTRIBUTING": "contributing.md",
}
_LINK = re.compile(r"\]\((?:\.\./)+(" + "|".join(OUTSIDE) + r")\.md")


def read_page(text: str) -> nbformat.NotebookNode:
    """Return a page as a notebook with its outputs; a page without Python is a notebook with one text."""
    page = parse(text, Path("page"))
    ran = executed(text) if page.runs else None
    outputs = iter(ran or [])
    cells, lines = [], []
    for line, part in page.parts:
        lines.append(line)
        if isinstance(part, Cell):
            metadata = {"tags": [tag for tag in part.tags if "-" in tag]}
            shown = [_output(data) for data in next(outputs, [])]
            cells.append(nbformat.v4.new_code_cell(part.source, metadata=metadata, outputs=shown, execution_count=1))
        else:
            cells.append(nbformat.v4.new_markdown_cell(_LINK.sub(lambda m: f"](/{OUTSIDE[m[1]]}", part)))
    return nbformat.v4.new_notebook(cells=cells, metadata={"language_info": {"name": "python"}, "source_map": lines})


def _output(data: dict[str, str]) -> nbformat.NotebookNode:
    if "stdout" in data:
        return nbformat.v4.new_output("stream", name="stdout", text=data["stdout"])
    if "viewer" in data:
        data = {"text/html": data["viewer"]}
    return nbformat.v4.new_output("display_data", data=data)


class exercise(nodes.General, nodes.Element):
    """A question with a line to type the answer."""


class ExerciseDirective(SphinxDirective):
    """``exercise``: a title; options as in answers.py; a text, then `**Hint**` and `**Solution**` with theirs."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = dict.fromkeys(sorted(answers.KNOWN), directives.unchanged)

    def run(self) -> list[nodes.Node]:
        """Make the nodes."""
        data = Exercise(self.arguments[0], self.lineno, self.options, "")
        count = self.env.temp_data["exercises"] = self.env.temp_data.get("exercises", 0) + 1
        block = nodes.container(classes=["exercise"], ids=[f"exercise-{count}"])
        block += nodes.paragraph("", "", nodes.strong("", f"Exercise: {data.title}"), classes=["exercise-title"])
        texts: dict[str, list[str]] = {"": []}
        key = ""
        for line in self.content:
            if line.strip() in ("**Hint**", "**Solution**"):
                key = line.strip("* \n")
                texts[key] = []
            else:
                texts[key].append(line)
        block += self.parse_text_to_nodes("\n".join(texts.pop("")))
        block += nodes.raw("", _form(data), format="html")
        for title, lines in texts.items():
            block += nodes.raw(
                "", f'<details class="exercise-{title.lower()}"><summary>{title}</summary>', format="html"
            )
            block += self.parse_text_to_nodes("\n".join(lines))
            block += nodes.raw("", "</details>", format="html")
        return [block]


def _form(data: Exercise) -> str:
    """The line to type in; static/exercise.js reads its attribute."""
    names = answers.variables(data)
    what = "an expression in " + ", ".join(names) if names else f"{answers.digits(data)} digits, or exact"
    what += f", where {data.options['constraint']}" if "constraint" in data.options else ""
    unit = f'<span class="unit">{html.escape(data.options["unit"])}</span>' if "unit" in data.options else ""
    return (
        f'<form class="answer" data-exercise="{html.escape(json.dumps(answers.task(data)), quote=True)}">'
        f'<input type="text" aria-label="Your answer" placeholder="{html.escape(what)}" '
        'autocomplete="off" autocapitalize="off" spellcheck="false">'
        f'{unit}<button type="submit">Check</button><output aria-live="polite"></output></form>'
    )


class CourseDirective(SphinxDirective):
    """``course``: the table exercise → page → checks, or with the name of a chapter its pages in order."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make the nodes."""
        if not self.arguments:
            return self.parse_text_to_nodes(course.table())
        (chapter,) = (c for c in course.chapters() if c.folder == self.arguments[0])
        names = "\n".join(path.stem for path in chapter.pages if path.exists())
        return self.parse_text_to_nodes(f"```{{toctree}}\n:maxdepth: 1\n\n{names}\n```")


class SourceDirective(SphinxDirective):
    """``source``: the source of a function, with equations next to its lines; see sources.py."""

    required_arguments = 1
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Make the nodes."""
        name = self.arguments[0]
        head = f"`{name.partition(':')[2]}` in `{sources.file_of(name)}`"
        block = nodes.container("", *self.parse_text_to_nodes(head), classes=["annotated"])
        for row in sources.rows(name, "\n".join(self.content)):
            code = nodes.raw("", _lines(row.code), format="html")
            equation = nodes.container("", *self.parse_text_to_nodes(row.equation), classes=["annotated-equation"])
            block += nodes.container("", code, equation, classes=["annotated-row"])
        return [block]


def _lines(code: str) -> str:
    """Source in colours; the rest of a long line continues below it, with a larger indent."""
    blank = [len(line) - len(line.lstrip()) for line in code.splitlines()]
    shown = highlight(code, PythonLexer(stripnl=False), HtmlFormatter(nowrap=True)).splitlines()
    lines = [f'<span class="line" style="--indent: {n}ch">{x}\n</span>' for n, x in zip(blank, shown, strict=True)]
    return f'<div class="highlight"><pre>{"".join(lines)}</pre></div>'


class ReferenceDirective(SphinxDirective):
    """``reference``: the public names of a page of the reference, from their docstrings."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """Make the nodes."""
        return self.parse_text_to_nodes("\n\n".join(map(reference.markdown, reference.entries(self.arguments[0]))))


def copy_mathjax(app: Sphinx, error: Exception | None) -> None:
    """Copy MathJax and its fonts next to the pages, without its speech rules (18 MB), which these pages do not use."""
    if error is None and app.builder.format == "html":
        package = importlib.util.find_spec("sphinx-mathjax-offline")
        assert package is not None
        source = Path(package.submodule_search_locations[0]) / "static" / "mathjax"  # type: ignore[index]
        target = Path(app.outdir) / "_static" / "mathjax"
        for part in ("tex-chtml.js", "output/chtml", "input/tex/extensions"):
            if (source / part).is_dir():
                shutil.copytree(source / part, target / part, dirs_exist_ok=True)
            else:
                target.mkdir(parents=True, exist_ok=True)
                shutil.copy(source / part, target / part)


def copy_summary(app: Sphinx, error: Exception | None) -> None:
    """Write llms.txt next to the pages, its links to them."""
    file = Path(app.srcdir) / "llms.txt"
    if error is None and app.builder.format == "html" and file.exists():
        text = re.sub(r"(\]\([^)]+)\.md\)", r"\1.html)", file.read_text(encoding="utf-8"))
        (Path(app.outdir) / "llms.txt").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the parts that conf.py needs."""
    app.add_directive("exercise", ExerciseDirective)
    app.add_directive("course", CourseDirective)
    app.add_directive("reference", ReferenceDirective)
    app.add_directive("source", SourceDirective)
    app.connect("build-finished", copy_mathjax)
    app.connect("build-finished", copy_summary)
    app.connect("html-page-context", _scripts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def _scripts(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Scripts only where they are used: those of exercises, of frames, and of formulas within a line."""
    if tree is None:
        return
    # sphinx marks searched words, also in titles of drawings, and reads their extent, which they do not have
    app.add_js_file(None, body="SVGElement.prototype.getBBox ??= () => new DOMRect();", priority=100)
    if any("exercise" in node["classes"] for node in tree.findall(nodes.container)):
        app.add_js_file("exercise.js", loading_method="defer")
    if any("<iframe" in node.astext() for node in tree.findall(nodes.raw)):
        app.add_js_file("frames.js", loading_method="defer")
    if any(tree.findall(nodes.math)):
        app.add_js_file("formulas.js", loading_method="defer")
