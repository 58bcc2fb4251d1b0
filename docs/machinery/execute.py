"""Runs all pages, each in a process of its own, and keeps their outputs in build/docs for sphinx.

A page runs again only if it, the library or this folder changed. A page that fails, or shows something else than is
stored, is reported with page, cell and difference after all have run.
"""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import sys
import time
from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from machinery import answers, outputs
from machinery.page import DOCS, Page, read
from machinery.run import PageError, run

ROOT = DOCS.parent
BUILD = ROOT / "build" / "docs"
EXECUTED, LIVE = BUILD / "executed", BUILD / "shown"


def execute(pages: Iterable[Page], *, workers: int = 2, update: bool = False) -> list[str]:
    """Run the pages that changed, and return the errors, one text for each failed page."""
    library = _library()
    due = [page for page in pages if update or _key(page, library) != _done(page)]
    failures = []
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["sixd", "sympy", "machinery.run"])
    with ProcessPoolExecutor(workers, mp_context=context, max_tasks_per_child=1) as pool:
        jobs = {pool.submit(_one, page.path, library, update): page for page in due}
        for done, job in enumerate(as_completed(jobs), 1):
            seconds, failure = job.result()
            print(f"[{done}/{len(due)}] {jobs[job].name} {seconds:.1f} s{'  FAILED' if failure else ''}", flush=True)
            failures += [failure] if failure else []
    return failures


def executed(text: str) -> list[list[dict[str, str]]] | None:
    """Return the outputs of the page with this text, one list for each cell, or None if it did not run."""
    file = EXECUTED / f"{_hash(text)}.json"
    return json.loads(file.read_text(encoding="utf-8"))["outputs"] if file.exists() else None


def _one(path: Path, library: str, update: bool) -> tuple[float, str | None]:
    """Run one page, in a process of its own."""
    start = time.perf_counter()
    sys.argv = [str(path)]
    os.chdir(_scratch(path))
    page = read(path)
    for old in (LIVE / "live" / page.name).parent.glob(f"{path.stem}-*.html"):
        old.unlink()
    try:
        result = run(page, LIVE / "live")
        answers.check(result)
        shown = [[output.data for output in cell] for cell in result.outputs]
        _write(page, {"name": page.name, "key": "", "outputs": shown})  # runs again if the comparison fails
        if update:
            outputs.store(result)
        outputs.compare(result)
        _write(page, {"name": page.name, "key": _key(page, library), "outputs": shown})
    except PageError as error:
        return time.perf_counter() - start, str(error)
    return time.perf_counter() - start, None


def _write(page: Page, data: dict[str, Any]) -> None:
    file = EXECUTED / f"{_hash(page.path.read_text(encoding='utf-8'))}.json"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(data), encoding="utf-8")


def _scratch(path: Path) -> Path:
    """A folder for files that the page writes."""
    folder = BUILD / "scratch" / path.stem
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _done(page: Page) -> str | None:
    """The key of the last run of a page, if its stored outputs exist too."""
    file = EXECUTED / f"{_hash(page.path.read_text(encoding='utf-8'))}.json"
    return json.loads(file.read_text(encoding="utf-8"))["key"] if file.exists() else None


def _key(page: Page, library: str) -> str:
    stored = outputs.stored_file(page)
    return _hash(page.name + library + (stored.read_text(encoding="utf-8") if stored.exists() else ""))


def _library() -> str:
    """A hash of everything else that a page's output depends on: the library and the runner."""
    files = [
        *sorted((ROOT / "src").rglob("*.py")),
        *sorted((ROOT / "src").rglob("*.js")),
        *sorted((DOCS / "machinery").glob("*.py")),
    ]
    return _hash("".join(_hash(file.read_text(encoding="utf-8")) for file in files))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:24]
