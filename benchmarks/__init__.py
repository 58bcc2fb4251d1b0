"""The speed of sixd compared with Pinocchio, MuJoCo, CasADi and SymPy: ``python -m benchmarks`` (or ``make bench``).

One run measures everything in one process, contenders alternating, and writes ``RESULTS.md``. A contender whose
results differ from sixd's stops the run. ``robots`` and ``tasks`` are what is computed, ``contenders`` who computes it,
``sections`` the parts of the report; ``sixd.cli.timing`` and ``agreement`` measure and compare.
"""

import os

# before any library is loaded: everyone on one thread
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
