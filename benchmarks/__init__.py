"""How fast sixd is, beside Pinocchio, MuJoCo and CasADi: ``python -m benchmarks`` (or ``make bench``).

One run measures everything in one process, contenders taking turns, and writes ``RESULTS.md``. A contender whose
results differ from sixd's stops the run. Files: ``robots``, ``tasks`` (what is computed), ``ours`` and ``with_*`` (who
computes it), ``timing`` and ``agreement`` (how it is measured), one file for each section of the report, ``targets``.
"""

import os

# before any library is loaded: everyone on one thread
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[_name] = "1"
