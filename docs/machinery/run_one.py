"""Run pages without sphinx, while writing them: `python -m machinery.run_one course/lagrange/10_1_2_rp_arm.md`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

from machinery import answers, outputs
from machinery.page import read
from machinery.run import PageError, run


def main(paths: list[str]) -> int:
    """Run pages and print the outputs that they would store; 1 if one fails."""
    for path in paths:
        start = time.perf_counter()
        try:
            result = run(read(Path(path).resolve()))
            count = answers.check(result)
        except PageError as error:
            print(error, file=sys.stderr)
            return 1
        print(outputs.as_text(result))
        print(f"{path}: {len(result.outputs)} cells, {count} exercises, {time.perf_counter() - start:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
