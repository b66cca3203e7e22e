"""How `scripts/site` makes a site of README and docs. The sources are the pages as they stand, links between them included."""

from __future__ import annotations

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import perwiz

project = "perwiz"
author = "The perwiz authors"
version = release = perwiz.__version__
root_doc = "docs/index"
include_patterns = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs/**.md", "traces/README.md", "scripts/casestudies/README.md"]
extensions = ["myst_parser", "reference"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # a page may begin a part below its title with a smaller heading
html_theme = "furo"
html_title = "perwiz"
html_additional_pages = {"index": "front.html"}
templates_path = ["templates"]
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
