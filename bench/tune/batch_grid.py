#!/usr/bin/env python3
"""batch_grid.py OSORA [--ranks N] [--rounds R] [--progressive]: osora tune --batch, or a run with
[tune] progressive, against all that it may choose.

Tunes a small STDiT3 on this machine's cores, then trains all micro-batches with all levels of
recomputing, in rounds that take turns, and compares the medians. Exit code 1: the tuned setting
trains over 3 % fewer samples a second than the best of the grid, or took more than 12 trials.
"""
import argparse
import json
import statistics
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import osora_command  # noqa: E402

CLIPS = Path(__file__).resolve().parents[2] / ".deps/clips/clips.csv"
MICRO_BATCHES, RECOMPUTE = (1, 2, 4, 8), ("full", "selective", "none")
GLOBAL_BATCH, STEPS = 8, 40
PROGRESSIVE_STEPS = 600
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
    return osora_command.output(ARGUMENTS.osora, folder, *arguments)


def rate(folder, settings):
    """Samples a second of a run with these settings."""
    sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    osora(folder, "submit", "run.toml", *sets)
    return json.loads(osora(folder, "report", "grid", "--json"))["measured"]["samples_per_s"]


def settings_of(micro_batch, recompute):
    bucket = f'[{{ resolution = "32", num_frames = 4, micro_batch_size = {micro_batch} }}]'
    return {"memory.recompute": recompute, "bucket": bucket}


def tuned_by_trials(folder):
    """Settings, and how many trials they took."""
    tuned = json.loads(osora(folder, "tune", "run.toml", "--batch", "--steps", str(STEPS),
                             "--json"))
    best = max((each for each in tuned["points"] if not each["failure"]),
               key=lambda each: each["samples_per_s"])["settings"]
    return best, tuned["trials"]


def tuned_in_a_run(folder):
    """The same of a run that tries while it trains, from what the plan chose."""
    osora(folder, "submit", "run.toml", "--set", "tune.progressive=true", "--set",
          f"train.steps={PROGRESSIVE_STEPS}", "--set", "run.name=progressive", "--set",
          "memory.rank_memory_gib=2")
    rows = json.loads(osora(folder, "history", "sql", "--json",
                            "SELECT body FROM v_event WHERE kind='notice'"))["rows"]
    notices = [json.loads(row[0]) for row in rows]
    details = [each["detail"] for each in notices if each["kind"] == "tuned"]
    print("\n".join(details))
    found = next((folder / "state" / "runs").glob("progressive-*/passes/stage-0.json"))
    buckets = json.loads(found.read_text())["buckets"]  # one for each shape of picture
    setting = max(buckets, key=lambda each: sum(
        each["micro_batch_size"] == other["micro_batch_size"] for other in buckets))
    trials = max(sum(name["bucket"] in detail for detail in details) for name in buckets)
    level = setting["recomputed_blocks"] or "none"
    return settings_of(setting["micro_batch_size"], level), trials


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "run.toml").write_text(RUN_FILE.replace("RANKS", str(ARGUMENTS.ranks)))
        best, trials = (tuned_in_a_run if ARGUMENTS.progressive else tuned_by_trials)(folder)
        grid = {(micro, level): settings_of(micro, level) for micro in MICRO_BATCHES
                for level in RECOMPUTE if micro * ARGUMENTS.ranks <= GLOBAL_BATCH}
        chosen = next((key for key, each in grid.items() if each == best), "tuned")
        grid[chosen] = best
        rates = {key: [] for key in grid}
        for _ in range(ARGUMENTS.rounds):
            for key, settings in grid.items():
                rates[key].append(rate(folder, settings))
    medians = {key: statistics.median(values) for key, values in rates.items()}
    for key, value in sorted(medians.items(), key=lambda item: -item[1]):
        print(f"{str(key):24} {value:8.2f} samples/s  {min(rates[key]):.2f} to "
              f"{max(rates[key]):.2f}")
    share = medians[chosen] / max(medians.values())
    print(f"tuned: {best} after {trials} trials; {share:.3f} of the best of the grid")
    return 1 if share < 0.97 or trials > 12 else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("osora")
    parser.add_argument("--ranks", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--progressive", action="store_true")
    ARGUMENTS = parser.parse_args()
    ARGUMENTS.osora = str(Path(ARGUMENTS.osora).resolve())
    sys.exit(main())
