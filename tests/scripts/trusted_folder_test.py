#!/usr/bin/env python3
"""`make install` names the folder of LibTorch, its owner, and who else may write to it."""
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/trusted_folder"


class TrustedFolder(unittest.TestCase):
    def setUp(self):
        self.addCleanup(os.umask, os.umask(0o022))
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        self.root = Path(made.name).resolve()
        self.folder = self.root / "checkout/torch/lib"
        self.folder.mkdir(parents=True)

    def said(self, folder):
        done = subprocess.run([sys.executable, SCRIPT, "the worker loads LibTorch from", folder],
                              capture_output=True, text=True, check=True)
        # Folders above the one that this test made are the machine's.
        return [line for line in done.stdout.splitlines()
                if "warning" not in line or str(self.root) in line]

    def test_names_the_folder_and_its_owner(self):
        first, *warnings = self.said(self.folder)
        self.assertIn(f"the worker loads LibTorch from {self.folder} (owned by ", first)
        self.assertEqual(warnings, [])

    def test_warns_when_others_may_write_to_a_folder_above(self):
        (self.root / "checkout").chmod(0o775)
        _, warning = self.said(self.folder)
        self.assertIn(f"{self.root}/checkout can be written by its group (mode 0775)", warning)
        (self.root / "checkout").chmod(0o777)
        self.assertIn("can be written by everybody", self.said(self.folder)[1])
        (self.root / "checkout").chmod(0o1777)
        self.assertEqual(len(self.said(self.folder)), 1)

    def test_looks_behind_links(self):
        shared = self.root / "shared"
        (shared / "lib").mkdir(parents=True)
        shared.chmod(0o777)
        link = self.root / "link"
        link.symlink_to(shared / "lib")
        self.assertIn(f"{shared} can be written by everybody", self.said(link)[1])

    @unittest.skipUnless(os.getuid() == 0, "only root can give a folder away")
    def test_warns_of_a_folder_of_another_user(self):
        os.chown(self.root / "checkout", 65534, -1)
        self.assertRegex(self.said(self.folder)[1], f"{self.root}/checkout belongs to (nobody|uid)")

    def test_says_when_the_folder_is_gone(self):
        self.assertIn("No such file", self.said(self.root / "none")[0])


if __name__ == "__main__":
    unittest.main()
