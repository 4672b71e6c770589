"""The configuration of the documentation site: `make docs` builds it."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_extensions"), str(HERE.parent / "src")]

# One core and no compilation at the first call: examples are small, and the machine may be busy.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("NUMBA_DISABLE_JIT", "1")

from selfpaced import __version__

project = "selfpaced"
author = "The selfpaced developers"
copyright = "The selfpaced developers, BSD-3-Clause"
release = version = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "myst_parser",
    "numpydoc",
    "repository_links",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "gallery_style",
]
exclude_patterns = ["_build", "_extensions", "gallery/*.ipynb", "gallery/*.py"]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": r"plot_",
    "reset_modules": ("matplotlib", "gallery_style.reset"),
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "within_subsection_order": "gallery_style.TeachingOrder",
    "abort_on_example_error": True,
    "copyfile_regex": "",
}

html_theme = "pydata_sphinx_theme"
html_title = "selfpaced"
html_context = {"default_mode": "auto"}  # light or dark, as the reader's system
html_static_path = ["_static"]
html_favicon = "_static/favicon.svg"
html_css_files = ["site.css"]
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": "selfpaced"},
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "navigation_with_keys": False,
}
html_sidebars = {"index": [], "changelog": [], "how-to": []}
