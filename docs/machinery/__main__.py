"""`make docs`: run the pages, compare their outputs with the stored ones, and build the site in build/docs/html."""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from machinery.execute import BUILD, LIVE, execute
from machinery.page import DOCS, all_pages


def main() -> int:
    """Build the site; 0 if all pages ran, reproduced their stored outputs, and sphinx gave no warning."""
    parser = argparse.ArgumentParser(prog="python -m machinery", description=__doc__)
    parser.add_argument("--update", action="store_true", help="store what the pages show now")
    parser.add_argument("--only", default="", metavar="TEXT", help="run only pages whose names contain TEXT")
    parser.add_argument("--workers", type=int, default=2, help="pages that run at once")
    options = parser.parse_args()
    start = time.perf_counter()

    pages = [page for page in all_pages() if options.only in page.name]
    failures = execute(pages, workers=options.workers, update=options.update)
    for failure in failures:
        print(f"\n{failure}", file=sys.stderr)
    if failures:
        print(f"\n{len(failures)} of {len(pages)} pages failed", file=sys.stderr)
        if not options.only:
            return 1
    ran = time.perf_counter() - start

    LIVE.mkdir(parents=True, exist_ok=True)
    from sphinx.cmd.build import main as sphinx

    target = BUILD / "html"
    if not options.only:
        shutil.rmtree(target, ignore_errors=True)  # no pages of an earlier build
    strict = [] if options.only else ["-W", "--keep-going"]
    failed = sphinx(["-b", "html", "-q", "-E", *strict, "-d", str(BUILD / "doctrees"), str(DOCS), str(target)])
    size = sum(file.stat().st_size for file in target.rglob("*") if file.is_file()) / 1e6
    print(
        f"{target.relative_to(Path.cwd()) if target.is_relative_to(Path.cwd()) else target}/index.html: "
        f"{size:.1f} MB; pages {ran:.0f} s, site {time.perf_counter() - start - ran:.0f} s"
    )
    return int(bool(failures or failed))


if __name__ == "__main__":
    sys.exit(main())
