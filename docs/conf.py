"""Sphinx: the site of sixd, built by `make docs`, read offline from a folder."""

import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import sixd  # noqa: E402

project = "sixd"
author = "The sixd authors"
copyright = "the sixd authors, BSD-3-Clause"
version = release = sixd.__version__

extensions = ["myst_nb", "sphinx.ext.mathjax", "machinery.extension"]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["machinery", "outputs"]
nitpicky = True

# pages run before sphinx starts (machinery/execute.py): here they are only read
nb_custom_formats = {".md": ["machinery.extension.read_page", {}, False]}
nb_execution_mode = "off"
nb_render_markdown_format = "myst"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist", "html_image", "attrs_inline"]
myst_heading_anchors = 4
myst_dmath_double_inline = True

html_theme = "furo"
html_title = "sixd"
html_static_path = ["machinery/static"]
html_extra_path = ["../build/docs/shown"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_search_summary = False  # summaries are fetched, which a browser refuses to pages from a folder
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": True}
pygments_style, pygments_dark_style = "default", "monokai"

# MathJax and its fonts are copied from a package: machinery/extension.py
mathjax_path = "mathjax/tex-chtml.js"
mathjax3_config = {
    "options": {"enableMenu": False},  # the menu loads more parts
    "chtml": {"scale": 1.0},
}
