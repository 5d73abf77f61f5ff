#!/usr/bin/env python3
"""Runs scripts/run_tests on made-up build folders, whose "programs" are shell lines, and reads what
it counts."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
sys.dont_write_bytecode = True
sys.path.insert(0, str(SCRIPTS))
from test_programs import places_for  # noqa: E402

CASES = """<testsuites><testsuite name="S">
<testcase name="A" status="run" result="completed" classname="S" />
<testcase name="B" status="run" result="skipped" classname="S"><skipped message="f.cpp:1&#x0A;no GPU
"/></testcase>{more}
</testsuite></testsuites>"""
FAILURE = """<testcase name="C" status="run" result="completed" classname="S">
<failure message="f.cpp:2&#x0A;Expected 1, got 2" type=""/></testcase>"""
# Lines that a program starts with: it fails in its first run only.
FIRST_TIME = "if [ -e ran_$(basename $0) ]; then again=1; fi; touch ran_$(basename $0)\n"


class Build:
    """A folder with a CTestTestfile.cmake."""

    def __init__(self, folder):
        self.folder, self.lines = Path(folder), []

    def add(self, name, text, is_gtest=False, properties="LABELS gate"):
        (self.folder / name).write_text("#!/bin/sh\n" + text)
        (self.folder / name).chmod(0o755)
        self.declare(name, f'"{self.folder}/test-results/{name}.xml"' if is_gtest else "",
                     properties)

    def declare(self, name, xml="", properties="LABELS gate"):
        argument = f"--gtest_output=xml:{xml[1:-1]}" if xml else ""
        self.lines.append(f'add_test({name} "{self.folder}/{name}" {argument})\n'
                          f"set_tests_properties({name} PROPERTIES SKIP_RETURN_CODE 77 "
                          f"WORKING_DIRECTORY {self.folder} {properties})")

    def run(self, *arguments, program="run_tests", at_a_time="2"):
        """(exit code, last line, all output)"""
        (self.folder / "CTestTestfile.cmake").write_text("\n".join(self.lines))
        environment = {**os.environ, "OSORA_TEST_PROGRAMS": at_a_time,
                       "CXX": "true"}  # what gate_under_load compiles with
        environment.pop("OSORA_CI_TIMES", None)
        done = subprocess.run([SCRIPTS / program, *arguments, self.folder], text=True,
                              env=environment,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        return done.returncode, (done.stdout.splitlines() or [""])[-1], done.stdout

    def read(self, path):
        return (self.folder / "test-results" / path).read_text()


def xml(more="", code=0):
    """A program that writes this XML to where --gtest_output says."""
    return f"cat > \"${{1#*xml:}}\" <<'END'\n{CASES.format(more=more)}\nEND\nexit {code}\n"


class RunTests(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.build = Build(scratch.name)

    def test_counts_cases_and_scripts(self):
        self.build.add("unit", xml(), True)
        self.build.add("script", "echo fine\n")
        self.build.add("bed", "echo starting; echo needs root; exit 77\n")
        code, last, output = self.build.run("gate")
        self.assertEqual((code, last), (0, "2 passed, 0 failed, 2 skipped"))
        self.assertIn("unit: S.B: no GPU", output)
        self.assertIn("bed: needs root", output)
        self.assertNotIn("Unsteady", output)
        self.assertIn("Slowest programs:", output)
        self.assertRegex(output, r"\nrun_tests: 3 programs in \d+ s, 0 unsteady\n")

    def test_what_fails_twice_failed(self):
        self.build.add("unit", xml(FAILURE, 1), True)
        self.build.add("script", "echo it broke; exit 3\n")
        code, last, output = self.build.run("gate")
        self.assertEqual((code, last), (1, "1 passed, 2 failed, 1 skipped"))
        self.assertIn("FAILED unit: S.C\nf.cpp:2\nExpected 1, got 2", output)
        self.assertIn("FAILED script\nit broke\nexit code 3", output)
        self.assertIn("run_tests: script failed twice; logs: ", output)
        self.assertIn("it broke", self.build.read("logs/script.txt"))
        self.assertIn("it broke", self.build.read("logs/script.again.txt"))

    def test_what_passes_the_second_time_is_unsteady(self):
        self.build.add("good", "echo fine\n")
        self.build.add("script", FIRST_TIME + "[ $again ] || { echo first words; exit 3; }\n")
        self.build.add("unit", FIRST_TIME + f"if [ $again ]; then\n{xml()}fi\n{xml(FAILURE, 1)}",
                       True)
        code, last, output = self.build.run("gate")
        self.assertEqual((code, last), (0, "3 passed, 0 failed, 1 skipped"))
        unsteady = output[output.index("Unsteady:"):]
        self.assertIn("  script (first output: ", unsteady)
        self.assertIn("first words", unsteady)
        self.assertIn("Expected 1, got 2", unsteady)
        self.assertNotIn("FAILED unit: S.C", output)
        self.assertIn("first words", self.build.read("unsteady/script.txt"))
        self.assertNotIn("Unsteady:", self.build.run("gate")[2])
        self.assertFalse((self.build.folder / "test-results" / "unsteady").exists())

    def test_a_crash_is_a_failed_case(self):
        self.build.add("unit", xml(), True)
        self.build.add("crash", "echo last words; kill -SEGV $$\n", True)
        code, last, output = self.build.run("gate")
        self.assertEqual((code, last), (1, "1 passed, 1 failed, 1 skipped"))
        self.assertIn("last words", output)
        self.assertIn("crashed: SIGSEGV", output)

    def test_a_program_without_end_is_killed_with_what_it_started(self):
        self.build.add("endless", "setsid sleep 999 & echo $! > child; wait\n",
                       properties="LABELS gate TIMEOUT 1")
        code, last, output = self.build.run("gate")
        self.assertEqual((code, last), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertIn("out of time: still running after 1 s", output)
        child = int((self.build.folder / "child").read_text())
        state = Path(f"/proc/{child}/stat")
        self.assertTrue(not state.exists() or state.read_text().rpartition(")")[2][1] == "Z")

    def test_a_bad_exit_after_good_cases_is_a_failure(self):
        self.build.add("unit", xml(code=1), True)
        self.assertEqual(self.build.run("gate")[:2], (1, "1 passed, 1 failed, 1 skipped"))

    def test_a_missing_program_is_a_failure(self):
        self.build.declare("gone")
        code, last, output = self.build.run("gate")
        self.assertEqual((code, last), (1, "0 passed, 1 failed, 0 skipped"))
        self.assertIn("did not start", output)

    def test_nothing_run_is_a_failure(self):
        self.build.add("unit", "echo '<testsuites/>' > \"${1#*xml:}\"\n", True)
        self.assertEqual(self.build.run("soak")[:2], (1, "0 passed, 0 failed, 0 skipped"))
        self.assertEqual(self.build.run("gate")[:2], (1, "0 passed, 1 failed, 0 skipped"))

    def test_the_longest_starts_first_and_keeps_the_properties(self):
        for name in ("a", "b", "c"):
            self.build.add(name, f"echo {name}$COLOUR >> order\n", properties=(
                'LABELS "gate;numeric" RUN_SERIAL TRUE ENVIRONMENT COLOUR=red'))
        results = self.build.folder / "test-results"
        results.mkdir()
        (results / "times.json").write_text(json.dumps({"a": 1, "c": 5}))
        self.assertEqual(self.build.run("gate")[1], "3 passed, 0 failed, 0 skipped")
        order = (self.build.folder / "order").read_text().split()
        self.assertEqual(order, ["bred", "cred", "ared"])
        self.assertEqual(set(json.loads(self.build.read("times.json"))), {"a", "b", "c"})

    def test_programs_run_two_at_a_time_unless_they_ask_for_more(self):
        # Each of a pair waits for the other; a program with two slots finds no other running.
        for name, other in (("a", "b"), ("b", "a")):
            wait = f"touch is_{name}; while [ ! -e is_{other} ]; do sleep 0.01; done\n"
            self.build.add(name, wait, properties="LABELS gate TIMEOUT 60")
        alone = "mkdir busy || exit 1; sleep 0.1; rmdir busy\n"
        self.build.add("c", alone, properties="LABELS gate PROCESSORS 2")
        self.build.add("d", alone, properties="LABELS gate RUN_SERIAL TRUE")
        code, last, output = self.build.run("gate")
        self.assertEqual((code, last), (0, "4 passed, 0 failed, 0 skipped"))
        self.assertNotIn("Unsteady", output)

    def test_two_that_wait_run_beside_two_that_compute(self):
        names = ("a", "b", "waits_a", "waits_b")
        for name in names:
            others = " ".join(f"[ -e is_{each} ] &&" for each in names)
            labels = "gate;waits" if name.startswith("waits") else "gate"
            self.build.add(name, f"touch is_{name}; until {others} :; do sleep 0.01; done\n",
                           properties=f'LABELS "{labels}" TIMEOUT 60')
        code, last, output = self.build.run("gate")
        self.assertEqual((code, last), (0, "4 passed, 0 failed, 0 skipped"))
        self.assertNotIn("Unsteady", output)

    def test_no_more_than_two_of_a_kind_run_at_a_time(self):
        # Of each kind there are two places, which are folders.
        takes = ("mkdir {0}1 2> no || {{ mkdir {0}2 || exit 1; kept={0}2; }}; "
                 "sleep 0.1; rmdir ${{kept:-{0}1}}\n")
        for kind, labels in (("computes", "gate"), ("waits", "gate;waits")):
            for number in range(4):
                self.build.add(f"{kind}_{number}", takes.format(kind),
                               properties=f'LABELS "{labels}" TIMEOUT 60')
        code, last, output = self.build.run("gate")
        self.assertEqual((code, last), (0, "8 passed, 0 failed, 0 skipped"))
        self.assertNotIn("Unsteady", output)

    def test_a_larger_machine_runs_more_at_a_time(self):
        gib = 1 << 30
        self.assertEqual(places_for(2, 8 * gib), 2)
        self.assertEqual(places_for(16, 128 * gib), 16)
        self.assertEqual(places_for(16, 13 * gib), 3)  # 4 GiB each
        self.assertEqual(places_for(1, 3 * gib), 2)
        # Each of three waits for the two others, and one with two slots still runs alone.
        for name in "abc":
            wait = "".join(f"while [ ! -e is_{each} ]; do sleep 0.01; done\n" for each in "abc")
            self.build.add(name, f"touch is_{name}\n{wait}", properties="LABELS gate TIMEOUT 60")
        for name in "de":
            self.build.add(name, "mkdir busy || exit 1; sleep 0.1; rmdir busy\n",
                           properties="LABELS gate PROCESSORS 2")
        code, last, output = self.build.run("gate", at_a_time="3")
        self.assertEqual((code, last), (0, "5 passed, 0 failed, 0 skipped"))
        self.assertIn("run_tests: 5 programs, 3 at a time, and 3 of those that mostly wait", output)
        self.assertNotIn("Unsteady", output)

    def test_an_unknown_number_of_programs_is_an_error(self):
        self.build.add("a", "exit 0\n")
        code, last, _ = self.build.run("gate", at_a_time="all")
        self.assertEqual(code, 1)
        self.assertIn("OSORA_TEST_PROGRAMS=all: not a number of programs", last)

    def test_an_unknown_property_is_an_error(self):
        self.build.add("a", "exit 0\n", properties="LABELS gate WILL_FAIL TRUE")
        code, last, _ = self.build.run("gate")
        self.assertEqual(code, 1)
        self.assertIn("WILL_FAIL", last)


class GateUnderLoad(unittest.TestCase):
    def test_counts_each_round(self):
        with tempfile.TemporaryDirectory() as folder:
            build = Build(folder)
            build.add("good", "ps -o args= -u $(id -u) >> seen\n")
            build.add("script", FIRST_TIME + "[ $again ]\n")
            code, last, output = build.run("2", program="gate_under_load")
            self.assertEqual(code, 1)
            self.assertIn("round 1: 2 passed, 0 failed, 0 skipped, 1 unsteady\n  unsteady: script",
                          output)
            self.assertIn("round 2: 2 passed, 0 failed, 0 skipped, 0 unsteady\n", output)
            self.assertEqual(last, "2 rounds: 4 passed, 0 failed, 0 skipped, 1 unsteady")
            self.assertIn("osora-busy-loop", (Path(folder) / "seen").read_text())
            code, last, _ = build.run("1", program="gate_under_load")
            self.assertEqual((code, last),
                             (0, "1 rounds: 2 passed, 0 failed, 0 skipped, 0 unsteady"))
            build.add("bad", "exit 1\n")
            self.assertEqual(build.run("1", program="gate_under_load")[0], 1)


class Isa(unittest.TestCase):
    def test_runs_numeric_tests_under_each_setting(self):
        with tempfile.TemporaryDirectory() as folder:
            build = Build(folder)
            build.add("plain", "exit 1\n")
            build.add("numeric", "[ \"$ATEN_CPU_CAPABILITY\" != default ] || "
                      "[ $OMP_NUM_THREADS != 2 ] || { echo too far off; exit 1; }\n",
                      properties='LABELS "gate;numeric" ENVIRONMENT OMP_NUM_THREADS=1')
            code, last, output = build.run("--isa")
        self.assertEqual(code, 1)
        self.assertRegex(last, r"^\d+ passed, 1 failed, \d+ skipped$")
        default = "ATEN_CPU_CAPABILITY=default OMP_NUM_THREADS="
        self.assertIn(f"isa: {default}1: 1 passed, 0 failed", output)
        self.assertIn(f"isa: {default}2: 0 passed, 1 failed", output)
        self.assertIn(f"FAILED {default}2: numeric\ntoo far off", output)
        settings = sum(output.count(f"isa: {name}=") for name in
                       ("ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "MKL_CBWR"))
        skipped = output.count(": skipped: this CPU has no ")
        self.assertEqual(settings, 14 - skipped)


if __name__ == "__main__":
    unittest.main()
