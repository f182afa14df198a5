"""Settings of the site: ``make docs`` builds it, and a warning is an error."""

from typing import Any

import wisecrowd

project = "wisecrowd"
author = "the wisecrowd contributors"
project_copyright = author
release = version = wisecrowd.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
]
nitpicky = True
highlight_language = "none"
copybutton_prompt_text = ">>> "  # copied without it, and without what is printed

# -- pages -----------------------------------------------------------------------------

myst_heading_anchors = 4  # the anchors that links between pages use, as on GitHub

# -- docstrings ------------------------------------------------------------------------

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "none"  # the docstrings have the types, in words
autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "inherited-members": True}
templates_path = ["templates"]
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False  # autodoc shows them, on the page of the class

# -- looks -----------------------------------------------------------------------------

html_theme = "pydata_sphinx_theme"
html_context = {"default_mode": "auto"}  # else the theme complains in the console
html_title = "wisecrowd"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_sidebars = {"**": ["site-nav"]}
html_theme_options = {
    "navbar_center": [],  # the sidebar has all pages
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
}


def skip_what_is_not_ours(
    app: Any, what: str, name: str, member: Any, skip: bool, options: Any
) -> bool | None:
    """Leave out what scikit-learn and tuples bring along."""
    made = getattr(member, "fget", None) or getattr(member, "__func__", member)
    home = getattr(made, "__module__", None)
    return None if home is None or str(home).startswith("wisecrowd") else True


def setup(app: Any) -> None:
    """Tell Sphinx."""
    app.connect("autodoc-skip-member", skip_what_is_not_ours)
