"""Sphinx configuration; `make docs` builds with warnings as errors."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

import dpauto

project = "dpauto"
author = "The dpauto developers"
copyright = "2026, The dpauto developers"
release = version = dpauto.__version__

extensions = [
    "mathml",
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_click",
    "sphinx_copybutton",
]
exclude_patterns = ["_build"]
templates_path = ["_templates"]

myst_enable_extensions = ["amsmath", "colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3

# One page for each public name; a class shows its own members, once.
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# `code` in a docstring links to the name when there is one and is plain code when there is none.
default_role = "literal"

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "furo"
html_title = f"dpauto {version}"
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["dpauto.css"]
html_show_sourcelink = False
