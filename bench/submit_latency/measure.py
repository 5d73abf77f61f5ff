#!/usr/bin/env python3
"""Time from the start of `osora submit` to a worker's first instruction; time of `osora --help`.

  bench/submit_latency/measure.py [--runs 15] [--build build] [--submit-limit S] [--help-limit S]

The worker is a shell script that makes a file and ends; the time of that file against the time just
before osora was started is the overhead: validation, plan, run directory, controller, agent, fork.
Prints median and maximum; exit code 1 when a median is above its limit.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
WORKER = '#!/bin/sh\n: > "$OSORA_RUN_DIR/first-instruction"\nexit 14\n'
RUN_FILE = """[run]
name = "latency"
[resources]
backend = "local"
gpus_per_node = 2
[model]
arch = "stdit3-tiny"
[data]
manifest = "clips.csv"
[[bucket]]
resolution = "32"
num_frames = 1
[batch]
global_batch_size = 4
[optim]
precision = "fp32"
[train]
steps = 1
"""


def one_submit(osora, folder, env):
    start = time.time()
    subprocess.run([osora, "submit", "run.toml"], cwd=folder, env=env, stdin=subprocess.DEVNULL,
                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60, check=False)
    runs = os.path.join(env["OSORA_STATE_DIR"], "runs")
    newest = max((entry.path for entry in os.scandir(runs)), key=os.path.getmtime)
    return os.stat(os.path.join(newest, "first-instruction")).st_mtime_ns / 1e9 - start


def one_help(osora):
    start = time.time()
    subprocess.run([osora, "--help"], stdout=subprocess.DEVNULL, check=True, timeout=60)
    return time.time() - start


def report(name, times, limit):
    median = statistics.median(times)
    print(f"{name:<44} median {1e3 * median:6.1f} ms   max {1e3 * max(times):6.1f} ms   "
          f"limit {1e3 * limit:.0f} ms   {'ok' if median <= limit else 'FAILED'}")
    return median <= limit


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=15)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--submit-limit", type=float, default=0.3)
    parser.add_argument("--help-limit", type=float, default=0.03)
    args = parser.parse_args()
    osora = os.path.abspath(os.path.join(args.build, "bin", "osora"))
    with tempfile.TemporaryDirectory(prefix="osora-bench-") as folder:
        worker = os.path.join(folder, "worker")
        for name, text in [("worker", WORKER), ("run.toml", RUN_FILE),
                           ("clips.csv", "path,num_frames,height,width\na.mp4,100,64,64\n")]:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        os.chmod(worker, 0o755)
        env = {**os.environ, "OSORA_STATE_DIR": os.path.join(folder, "state"),
               "OSORA_WORKER": worker}
        submits = [one_submit(osora, folder, env) for _ in range(args.runs + 1)][1:]
    helps = [one_help(osora) for _ in range(args.runs)]
    fine = [report("osora submit to a worker's first instruction", submits, args.submit_limit),
            report("osora --help", helps, args.help_limit)]
    sys.exit(0 if all(fine) else 1)


if __name__ == "__main__":
    main()
