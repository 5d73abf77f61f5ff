#!/usr/bin/env python3
"""Every program of bench/ starts and says how it is called; measuring takes too long for a test."""
import os
import subprocess
import sys
import unittest
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"


class BenchHelp(unittest.TestCase):
    def test_each_program_prints_its_usage(self):
        programs = [path for path in sorted(BENCH.rglob("*.py")) if os.access(path, os.X_OK)]
        self.assertGreater(len(programs), 15)
        for path in programs:
            with self.subTest(path.relative_to(BENCH)):
                done = subprocess.run([sys.executable, "-B", path, "--help"], text=True,
                                      capture_output=True, check=False)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertTrue(done.stdout.startswith("usage: "), done.stdout)


if __name__ == "__main__":
    unittest.main()
