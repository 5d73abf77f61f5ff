"""The documents as a web site: Sphinx reads docs/ with this (scripts/site)."""
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

project = "osora"
lists = (ROOT / "CMakeLists.txt").read_text()
release = re.search(r"^project\(osora VERSION (\S+)", lists, re.M)[1]
extensions = ["myst_parser"]
root_doc = "index"
exclude_patterns = ["site", "man", "images"]
myst_heading_anchors = 3
highlight_language = "none"  # blocks without a language are commands
html_theme = "furo"
html_title = f"osora {release}"
html_copy_source = False
html_show_copyright = False


def name_files_elsewhere(app, docname, source):
    """A link to a file outside docs/ becomes its text: the site does not have the file."""
    folder, docs = (Path(app.srcdir) / docname).parent, Path(app.srcdir)

    def replaced(link):
        target = link[2].split("#")[0]
        elsewhere = "://" not in target and docs not in (folder / target).resolve().parents
        return link[1] if target and elsewhere else link[0]

    source[0] = re.sub(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)", replaced, source[0])


def setup(app):
    app.connect("source-read", name_files_elsewhere)
