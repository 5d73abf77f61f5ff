#!/usr/bin/env python3
"""A real PyTorch DDP script on Gloo under osora submit: steps, loss and time are taken from its
output, a rank that raises is the cause, and the run goes on. Skipped where no Python with PyTorch
is found (OSORA_TEST_PYTHON names one)."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ["OSORA_SOURCE_DIR"])
BIN = pathlib.Path(os.environ["OSORA_BIN_DIR"])
HERE = pathlib.Path(__file__).resolve().parent
STEPS = 40


def python_with_torch():
    tried = []
    chosen = os.environ.get("OSORA_TEST_PYTHON")
    for python in (chosen, str(SOURCE / ".deps/venv/bin/python"), sys.executable):
        if not python or not pathlib.Path(python).exists():
            continue
        code = "import importlib.util as u, sys; sys.exit(u.find_spec('torch') is None)"
        check = subprocess.run([python, "-c", code], capture_output=True, text=True, timeout=120)
        if check.returncode == 0:
            return python
        tried.append(f"{python}: {(check.stderr.strip().splitlines() or ['no torch'])[-1]}")
    print("skipped: no Python with PyTorch (" + "; ".join(tried) + ")")
    sys.exit(77)


def osora(folder, *arguments):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder),
                   "OSORA_STATE_DIR": str(folder / "state"),
                   "OSORA_WORKER": str(BIN / "osora-worker-mock")}
    return subprocess.run([str(BIN / "osora"), *arguments], cwd=folder, env=environment,
                          capture_output=True, text=True, timeout=100)


def expect(condition, what, ended):
    if not condition:
        sys.exit(f"{what}\n--- stdout\n{ended.stdout}\n--- stderr\n{ended.stderr}")


def run_file(python, *arguments):
    command = json.dumps([python, str(HERE / "ddp.py"), str(STEPS), *arguments])
    return (f'[run]\nname = "ddp"\njob = "exec"\n[resources]\ngpus_per_node = 2\n'
            f'[faults]\nmax_restarts = 1\n[train]\nsteps = {STEPS}\n'
            f'[worker]\ncommand = {command}\nenv = {{ OMP_NUM_THREADS = "1" }}\n')


def main():
    python = python_with_torch()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "run.toml").write_text(run_file(python))
        ended = osora(folder, "submit", "run.toml")
        expect(ended.returncode == 0, "submit failed", ended)
        expect(f"done     {STEPS} steps in " in ended.stdout, "steps were not found", ended)
        report = json.loads(osora(folder, "report", "1", "--format", "json").stdout)
        # osora must report what the script itself printed.
        log = (folder / "state/runs/ddp-0001/logs/0/0.log").read_text()
        printed = [(int(s), float(l), float(t) / 1000)
                   for s, l, t in re.findall(r"step (\d+) loss (\S+) time (\S+) ms", log)]
        expect(len(printed) == STEPS, "the script printed too little", ended)
        measured = report["measured"]
        expect(measured["steps"] == STEPS, f"report: {measured}", ended)
        used = sorted(t for _, _, t in printed[measured["warmup_steps"]:])
        median = (used[len(used) // 2] + used[(len(used) - 1) // 2]) / 2
        expect(abs(measured["step_s_median"] - median) < 1e-6, f"{median}: {measured}", ended)
        last = sum(l for _, l, _ in printed[STEPS // 2:]) / (STEPS // 2)
        expect(abs(measured["loss_last"] - last) < 1e-6, f"loss {last}: {measured}", ended)

        (folder / "run.toml").write_text(run_file(python, "20"))
        ended = osora(folder, "submit", "run.toml")
        expect(ended.returncode == 0, "the failed rank was not started again", ended)
        cause = "rank 1 on node 0 exited with 1: ValueError: rank 1 was asked to fail"
        expect(cause in ended.stdout, "the cause does not quote the script's own error", ended)
        expect("relaunch 1 of 1" in ended.stdout, "no relaunch", ended)
        logs = osora(folder, "logs", "2", "--attempt", "0")
        expect(logs.stdout.startswith("first to fail: rank 1 on node 0"),
               "logs do not begin with rank 1", logs)
    print("passed: steps, loss and time of a DDP script on Gloo, and its failure")


main()
