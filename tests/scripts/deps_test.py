#!/usr/bin/env python3
"""The pinned requirement files and the plan of the demo clips, read as scripts/bootstrap does."""
import re
import sys
import unittest
from pathlib import Path
from unittest import mock

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.path.insert(0, str(SCRIPTS))
sys.dont_write_bytecode = True
import install_wheels  # noqa: E402
import make_clips  # noqa: E402


def pins(name, python):
    with mock.patch.object(install_wheels.sys, "version_info", python):
        return install_wheels.requirements(SCRIPTS / f"deps-{name}.txt")


class Deps(unittest.TestCase):
    def test_every_python_gets_every_package_once(self):
        for minor in range(10, 14):
            full, light = pins("full", (3, minor)), pins("light", (3, minor))
            names = [name for name, *_ in full]
            self.assertEqual(len(names), len(set(names)))
            self.assertEqual(len(names), 35)
            self.assertEqual({pin[:2] for pin in light} - {pin[:2] for pin in full}, set())
            self.assertIn(("torch", "2.11.0"), {pin[:2] for pin in light})
            self.assertIn(("nvidia-nccl-cu13", "2.28.9"), {pin[:2] for pin in full})

    def test_every_pin_has_hashes_and_a_size(self):
        for name in ("full", "light", "clips", "web", "tests"):
            for package, _, size, lines in pins(name, (3, 11)):
                self.assertGreater(size, 0, package)
                self.assertRegex(lines, r"--hash=sha256:[0-9a-f]{64}\n$")
        torch = next(lines for name, _, _, lines in pins("full", (3, 11)) if name == "torch")
        self.assertEqual(len(re.findall("sha256:", torch)), 8)  # 4 pythons, 2 machines

    def test_clips_stay_inside_their_films(self):
        clips = list(make_clips.plan())
        films = {film: (frames, fps) for film, frames, fps, *_ in make_clips.FILMS}
        self.assertEqual(len({row["path"] for *_, row, _ in clips}), len(clips))
        for film, start, frames, row, _ in clips:
            self.assertLessEqual(start + frames, films[film][0])
            self.assertTrue(1.9 <= frames / films[film][1] <= 4.1, row)
            self.assertEqual((row["width"] % 2, row["height"] % 2), (0, 0))
            self.assertEqual(list(row), make_clips.COLUMNS)


if __name__ == "__main__":
    unittest.main()
