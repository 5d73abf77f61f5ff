#!/usr/bin/env python3
"""scripts/site builds the documents without a warning of Sphinx, as pages that load nothing from
elsewhere and whose search finds what they say."""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = Path(os.environ["OSORA_SOURCE_DIR"])
LOADED = re.compile(r"<(?:script|img|iframe)\b[^>]*\bsrc=\"([^\"]*)\"|"
                    r"<link\b[^>]*\brel=\"(?:stylesheet|preload)\"[^>]*\bhref=\"([^\"]*)\"")


def main():
    with tempfile.TemporaryDirectory() as name:
        done = subprocess.run([SOURCE / "scripts/site", name], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        if done.returncode and "package index unreachable" in done.stdout:
            print("Sphinx cannot be fetched")
            return 77
        assert done.returncode == 0, done.stdout
        site = Path(name) / "site"
        for page in sorted((SOURCE / "docs/guide").glob("*.md")):
            text = (site / "guide" / f"{page.stem}.html").read_text()
            for match in LOADED.finditer(text):
                address = match[1] or match[2]
                assert not re.match(r"(?:\w+:)?//", address), (page.name, address)
        index = (site / "searchindex.js").read_text()
        for word in ("eager_1f1b", "spank", "vacuum"):
            assert f"{word}\":" in index or f"{word}:" in index, word
        for title in ("Your first run", "Which layout when", "osora on Slurm"):
            assert f'"{title}"' in index, title
    return 0


if __name__ == "__main__":
    sys.exit(main())
