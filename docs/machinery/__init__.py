"""How the pages of this site are run, checked and shown: `make docs`, and the tests of the pages.

`page.py` reads a page, `run.py` runs its cells, `answers.py` checks its exercises, `outputs.py` compares what it
prints with what is stored. These four need Python and sixd alone, so that the tests can use them. `execute.py` runs all
pages in processes, `extension.py` hands them to sphinx.
"""
