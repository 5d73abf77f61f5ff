#!/usr/bin/env python3
"""Runs scripts/run_tests on made-up build folders, whose "programs" are shell lines, and reads what
it counts."""
import subprocess
import tempfile
import unittest
from pathlib import Path

RUN_TESTS = Path(__file__).resolve().parents[2] / "scripts" / "run_tests"
CASES = """<testsuites><testsuite name="S">
<testcase name="A" status="run" result="completed" classname="S" />
<testcase name="B" status="run" result="skipped" classname="S"><skipped message="f.cpp:1&#x0A;no GPU
"/></testcase>{more}
</testsuite></testsuites>"""
FAILURE = """<testcase name="C" status="run" result="completed" classname="S">
<failure message="f.cpp:2&#x0A;Expected 1, got 2" type=""/></testcase>"""


def run(programs, tier="gate"):
    """(exit code, last line, all output). programs: {name: (shell text, writes XML?)}."""
    with tempfile.TemporaryDirectory() as folder:
        build = Path(folder)
        lines = []
        for name, (text, is_gtest) in programs.items():
            (build / name).write_text("#!/bin/sh\n" + text)
            (build / name).chmod(0o755)
            xml = f'"--gtest_output=xml:{build}/test-results/{name}.xml"' if is_gtest else ""
            lines.append(f'add_test({name} "{build}/{name}" {xml})\n'
                         f"set_tests_properties({name} PROPERTIES LABELS gate SKIP_RETURN_CODE 77)")
        (build / "CTestTestfile.cmake").write_text("\n".join(lines))
        done = subprocess.run([RUN_TESTS, tier, build], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        return done.returncode, done.stdout.splitlines()[-1], done.stdout


def gtest(more="", code=0):
    """A program that writes this XML to where --gtest_output says."""
    return (f"cat > \"${{1#*xml:}}\" <<'END'\n{CASES.format(more=more)}\nEND\nexit {code}\n", True)


class RunTests(unittest.TestCase):
    def test_counts_cases_and_scripts(self):
        code, last, output = run({"unit": gtest(), "script": ("echo fine\n", False),
                                  "bed": ("echo starting; echo needs root; exit 77\n", False)})
        self.assertEqual((code, last), (0, "2 passed, 0 failed, 2 skipped"))
        self.assertIn("unit: S.B: no GPU", output)
        self.assertIn("bed: needs root", output)

    def test_failures_show_their_messages(self):
        code, last, output = run({"unit": gtest(FAILURE, 1),
                                  "script": ("echo it broke; exit 3\n", False)})
        self.assertEqual((code, last), (1, "1 passed, 2 failed, 1 skipped"))
        self.assertIn("FAILED unit: S.C\nf.cpp:2\nExpected 1, got 2", output)
        self.assertIn("FAILED script\nit broke", output)

    def test_a_crash_is_a_failed_case(self):
        crash = ("echo last words; kill -SEGV $$\n", True)
        code, last, output = run({"unit": gtest(), "crash": crash})
        self.assertEqual((code, last), (1, "1 passed, 1 failed, 1 skipped"))
        self.assertIn("last words", output)

    def test_a_bad_exit_after_good_cases_is_a_failure(self):
        code, last, _ = run({"unit": gtest(code=1)})
        self.assertEqual((code, last), (1, "1 passed, 1 failed, 1 skipped"))

    def test_a_missing_program_is_a_failure(self):
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "CTestTestfile.cmake").write_text(
                'add_test(gone "/nonexistent/gone")\n'
                "set_tests_properties(gone PROPERTIES LABELS gate)")
            done = subprocess.run([RUN_TESTS, "gate", folder], text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT, check=False)
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "0 passed, 1 failed, 0 skipped")

    def test_nothing_run_is_a_failure(self):
        self.assertEqual(run({"unit": gtest()}, "soak")[:2], (1, "0 passed, 0 failed, 0 skipped"))
        empty = ("echo '<testsuites/>' > \"${1#*xml:}\"\n", True)
        self.assertEqual(run({"unit": empty})[:2], (1, "0 passed, 1 failed, 0 skipped"))


if __name__ == "__main__":
    unittest.main()
