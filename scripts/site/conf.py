"""What Sphinx is told about the site. make.py lays out the pages and calls Sphinx with this file."""

project = "Elapse"
author = "the Elapse authors"
copyright = author  # pylint: disable=redefined-builtin
extensions = ["myst_parser"]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["extra"]

# Links to headings have the names that GitHub gives them; make.py turns the scheme into paths.
myst_heading_anchors = 6
myst_url_schemes = ["http", "https", "mailto", "site"]

html_theme = "sphinx_rtd_theme"
html_theme_options = {"navigation_depth": 2, "collapse_navigation": False, "prev_next_buttons_location": "bottom"}
html_title = "Elapse"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_extra_path = ["extra"]
html_copy_source = False
html_show_sourcelink = False
smartquotes = False
