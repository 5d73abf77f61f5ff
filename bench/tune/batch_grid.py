#!/usr/bin/env python3
"""batch_grid.py OSORA [--ranks N] [--rounds R]: osora tune --batch against all that it may choose.

Tunes a small STDiT3 on this machine's cores, then trains all micro-batches with all levels of
recomputing, in rounds that take turns, and compares the medians. Exit code 1: the tuned setting
trains over 3 % fewer samples a second than the best of the grid, or took more than 12 trials.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

CLIPS = Path(__file__).resolve().parents[2] / ".deps/clips/clips.csv"
MICRO_BATCHES, RECOMPUTE = (1, 2, 4, 8), ("full", "selective", "none")
GLOBAL_BATCH, STEPS = 8, 40
RUN_FILE = f"""[run]
name = "grid"
[resources]
gpus_per_node = RANKS
cpus_per_worker = 1
[model]
arch = "stdit3-tiny"
[data]
manifest = "{CLIPS}"
host_memory_gib = 1
[[bucket]]
resolution = "32"
num_frames = 4
[batch]
global_batch_size = {GLOBAL_BATCH}
[train]
steps = {STEPS}
[checkpoint]
every = 0
"""


def osora(folder, *arguments):
    environment = {**os.environ, "OSORA_STATE_DIR": str(folder / "state"), "HOME": str(folder)}
    done = subprocess.run([ARGUMENTS.osora, *arguments], cwd=folder, env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    if done.returncode not in (0, 3):
        sys.exit(f"{arguments}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def rate(folder, settings):
    """Samples a second of a run with these settings."""
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    osora(folder, "submit", "run.toml", *sets)
    return json.loads(osora(folder, "report", "grid", "--json"))["measured"]["samples_per_s"]


def settings_of(micro_batch, recompute):
    bucket = f'[{{ resolution = "32", num_frames = 4, micro_batch_size = {micro_batch} }}]'
    return {"memory.recompute": recompute, "bucket": bucket}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run.toml").write_text(RUN_FILE.replace("RANKS", str(ARGUMENTS.ranks)))
        tuned = json.loads(osora(folder, "tune", "run.toml", "--batch", "--steps", str(STEPS),
                                 "--json"))
        best = max((each for each in tuned["points"] if not each["failure"]),
                   key=lambda each: each["samples_per_s"])["settings"]
        grid = {(micro, level): settings_of(micro, level) for micro in MICRO_BATCHES
                for level in RECOMPUTE if micro * ARGUMENTS.ranks <= GLOBAL_BATCH}
        grid["tuned"] = best
        rates = {key: [] for key in grid}
        for _ in range(ARGUMENTS.rounds):
            for key, settings in grid.items():
                rates[key].append(rate(folder, settings))
    medians = {key: statistics.median(values) for key, values in rates.items()}
    for key, value in sorted(medians.items(), key=lambda item: -item[1]):
        print(f"{str(key):24} {value:8.2f} samples/s  {min(rates[key]):.2f} to "
              f"{max(rates[key]):.2f}")
    share = medians["tuned"] / max(medians.values())
    print(f"tuned: {best} after {tuned['trials']} trials; {share:.3f} of the best of the grid")
    return 1 if share < 0.97 or tuned["trials"] > 12 else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("osora")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    ARGUMENTS = parser.parse_args()
    ARGUMENTS.osora = str(Path(ARGUMENTS.osora).resolve())
    sys.exit(main())
