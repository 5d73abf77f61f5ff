#!/usr/bin/env python3
"""osora exec-steps: the steps that it finds in logs, with a pattern, and without any step."""
import json
import os
import subprocess
import unittest

OSORA = os.path.join(os.environ["OSORA_BIN_DIR"], "osora")
LOGS = os.path.join(os.environ["OSORA_SOURCE_DIR"], "tests", "data", "steps")
BAR = r"\| (?<step>\d+)/\d+ \[.*?(?<time_s>[\d.]+)s/it.*?loss=(?<loss>[\d.]+)"


def run(*words, text=None):
    done = subprocess.run([OSORA, "exec-steps", *words], input=text, capture_output=True,
                          text=True, check=False)
    return done.returncode, done.stdout, done.stderr


class ExecSteps(unittest.TestCase):
    def test_a_log(self):
        code, out, _ = run(os.path.join(LOGS, "musubi_wan_lora.log"), "--json")
        answer = json.loads(out)
        self.assertEqual(code, 0)
        self.assertEqual(answer["schema"], "osora.exec_steps/1")
        self.assertEqual([each["step"] for each in answer["steps"]], [73, 74, 75, 76, 77, 78])
        self.assertEqual(answer["steps"][0]["time_s"], 21.29)
        self.assertEqual(answer["steps"][0]["loss"], 0.0886)

    def test_words(self):
        code, out, _ = run(os.path.join(LOGS, "deepspeed_engine.log"))
        self.assertEqual(code, 0)
        self.assertIn("3 steps found in 6 lines", out)
        self.assertIn("clock", out)

    def test_a_pattern(self):
        code, out, _ = run(os.path.join(LOGS, "lightning_loss.log"), "--pattern", BAR, "--json")
        self.assertEqual(code, 0)
        losses = [each["loss"] for each in json.loads(out)["steps"]]
        self.assertEqual(losses, [10.072, 9.874, 9.613])

    def test_a_wrong_pattern(self):
        code, _, err = run("-", "--pattern", "step", text="")
        self.assertEqual(code, 2)
        self.assertIn(r"needs a group (?<step>\d+)", err)

    def test_none(self):
        code, out, _ = run("-", text="hello\nstep 3: saving 1/2\n")
        self.assertEqual(code, 3)
        self.assertIn("no steps found in 2 lines", out)
        self.assertIn("step 3: saving 1/2", out)
        self.assertIn("step_pattern = '", out)

    def test_no_file(self):
        code, _, err = run("/nowhere.log")
        self.assertEqual(code, 2)
        self.assertIn("/nowhere.log", err)


if __name__ == "__main__":
    unittest.main()
