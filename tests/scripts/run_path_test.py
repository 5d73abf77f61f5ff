#!/usr/bin/env python3
"""Programs and modules load libraries from the folders that the build names, and from no folder
that a user happens to stand in."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["OSORA_BIN_DIR"]).parent
FOLDERS = sys.argv[1:] or [BUILD / name for name in ("bin", "lib", "bench", "tests")]


def is_elf(path):
    if path.is_symlink() or not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def elf_files():
    return [path for folder in map(Path, FOLDERS) for path in sorted(folder.glob("*"))
            if is_elf(path)]


def dynamic_section(path):
    return subprocess.run(["readelf", "-dW", path], capture_output=True, text=True,
                          check=True).stdout


def run_path(path):
    """The entries of RPATH and RUNPATH."""
    found = re.findall(r"\((?:RPATH|RUNPATH)\).*?\[(.*)\]", dynamic_section(path))
    return [entry for each in found for entry in each.split(":")]


def needed(path):
    return re.findall(r"\(NEEDED\).*?\[(.*)\]", dynamic_section(path))


def is_fixed(entry):
    return entry.startswith("/") or re.match(r"\$(ORIGIN|\{ORIGIN\})(/|$)", entry)


class RunPath(unittest.TestCase):
    def test_has_no_entry_that_depends_on_the_current_folder(self):
        files = elf_files()
        self.assertTrue(files, f"no ELF file in {FOLDERS}")
        for path in files:
            for entry in run_path(path):
                self.assertTrue(is_fixed(entry), f"{path}: '{entry}' in its run path")

    def test_programs_load_nothing_from_a_hostile_folder(self):
        # What is no ELF file stops the loader that finds it.
        for path in elf_files():
            if path.parent.name != "bin":
                continue
            with tempfile.TemporaryDirectory() as folder:
                for name in needed(path):
                    Path(folder, name).write_text("not a library\n")
                done = subprocess.run([path, "--version"], cwd=folder, capture_output=True,
                                      text=True, check=False)
                self.assertNotIn("shared librar", done.stderr, path)
                self.assertNotIn("invalid ELF", done.stderr, path)
                self.assertNotEqual(done.returncode, 127, f"{path}: {done.stderr}")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
