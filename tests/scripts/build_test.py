#!/usr/bin/env python3
"""Runs scripts/build and scripts/estimate with a ninja and a ccache that are shell scripts, and
feeds scripts/build_progress by hand."""
import importlib.machinery
import importlib.util
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPTS))
import compile_times  # noqa: E402

FAILING = """echo "[1/2] Building CXX object a.o"
echo "FAILED: a.o"
echo "a.cpp:1: error: no such thing"
exit 1
"""
BUILD_NINJA = """build a.o: CXX a.cpp
  pool = heavy
build b.o: CXX b.cpp
"""
LOG = "# ninja log v5\n0\t600000\t0\ta.o\t1\n0\t120000\t0\tb.o\t1\n"


class Build(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)
        (self.folder / "build").mkdir()
        (self.folder / "build" / "build.ninja").write_text(BUILD_NINJA)
        self.program("ccache", "echo 'files_in_cache\t7'\n")

    def program(self, name, text):
        (self.folder / name).write_text("#!/bin/sh\n" + text)
        (self.folder / name).chmod(0o755)

    def run_script(self, *command):
        environment = {**os.environ, "PATH": f"{self.folder}:{os.environ['PATH']}"}
        done = subprocess.run([SCRIPTS / command[0], *command[1:]], env=environment, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout

    def test_a_failed_build_ends_with_what_failed_and_its_log(self):
        build = self.folder / "build"
        self.program("ninja", FAILING)
        code, output = self.run_script("build", build, "osora")
        self.assertEqual(code, 1)
        self.assertIn("a.cpp:1: error: no such thing", output)
        self.assertEqual(output.splitlines()[-1],
                         f"build: FAILED: a.o (log: {build}/build.log)")

    def test_an_estimate_is_one_line_from_earlier_times(self):
        build = self.folder / "build"
        self.program("ninja", "echo '[1/2] Building CXX object a.o'\n"
                     "echo '[2/2] Building CXX object b.o'\n")
        (build / ".ninja_log").write_text(LOG)
        (build / "test-results").mkdir()
        (build / "test-results" / "times.json").write_text('{"a": 600, "b": 600}')
        code, output = self.run_script("estimate", "test", build)
        self.assertEqual((code, output.count("\n")), (0, 1))
        self.assertRegex(output, r"^test: about \d+ min on \d+ cores \(.*2 files to compile: ")
        self.assertIn("as ccache holds 7 files", output)
        self.assertRegex(output, r"; the tests: 10 min\)$")

    def test_an_estimate_of_a_build_that_is_complete(self):
        self.program("ninja", "echo 'ninja: no work to do.'\n")
        code, output = self.run_script("estimate", "demo", self.folder / "build", "osora")
        self.assertEqual(code, 0)
        self.assertIn("built already; the demo: 3 min (a guess)", output)


def build_progress():
    loader = importlib.machinery.SourceFileLoader("build_progress", str(SCRIPTS / "build_progress"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    loader.exec_module(module)
    return module


class BuildProgress(unittest.TestCase):
    def setUp(self):
        self.progress = build_progress().Progress({"a.o": 1000, "b.o": 200}, 2)

    def test_what_is_left_is_weighed_by_what_each_compile_takes(self):
        self.assertFalse(self.progress.take("a.cpp:1: warning: unused\n"))
        self.assertTrue(self.progress.take("[1/4] Building CXX object a.o\n"))
        # b.o and two other steps of 0.4 s on two cores, at the pace that was expected.
        self.assertAlmostEqual(self.progress.left_s(500), 100.4)
        self.assertRegex(self.progress.text(500), r"^about 2 min left \[1/4\] Building")

    def test_a_slower_machine_takes_longer(self):
        self.progress.take("[1/4] Building CXX object a.o\n")
        slow = self.progress.left_s(1000)
        self.assertAlmostEqual(slow, 100.4 * (1000 + 60) / (500 + 60))

    def test_nothing_is_left_at_the_end(self):
        for line in ("[1/3] Building CXX object a.o", "[2/3] Building CXX object b.o",
                     "[3/3] Linking CXX executable osora"):
            self.progress.take(line)
        self.assertEqual(self.progress.left_s(600), 0)

    def test_a_unity_file_counts_the_bytes_that_it_joins(self):
        with tempfile.TemporaryDirectory() as scratch:
            unity = Path(scratch) / "unity"
            unity.mkdir()
            (unity / "all.cpp").write_text(
                '#include "scripts/build"\n#include "scripts/estimate"\n')
            joined = sum((SCRIPTS / each).stat().st_size for each in ("build", "estimate"))
            self.assertEqual(compile_times.source_bytes(Path(scratch), "unity/all.cpp"), joined)
        light, heavy = (compile_times.guess_s(60_000, each) for each in (False, True))
        self.assertGreater(light, compile_times.guess_s(10_000, False))
        self.assertGreater(heavy, light)


if __name__ == "__main__":
    unittest.main()
