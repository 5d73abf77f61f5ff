#!/usr/bin/env python3
"""mixed_buckets.py OSORA: buckets whose needs differ, with and without what osora does about it.

Trains a small STDiT3 on clips of 32x32x4 and on pictures of 160x160, which come later, on one CPU
rank: attention that keeps all scores, as Open-Sora without flash attention, under a cap of two
thirds of what it needs; then with the memory guard, and with fused attention. Prints the peak of
each bucket (docs/rfc/026). Exit code 1: the first does not run out of memory, or one of the others
does not complete with the losses of a run without a cap.
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import osora_command  # noqa: E402

CLIPS, STEPS = 12, 6
LOSSES_ALIKE = 1e-4
RUN_FILE = f"""[run]
name = "mixed"
[resources]
gpus_per_node = 1
cpus_per_worker = 1
[model]
arch = "stdit3-tiny"
[data]
manifest = "clips.csv"
host_memory_gib = 1
[[bucket]]
resolution = "32"
num_frames = 4
keep_prob = 1
micro_batch_size = 2
[[bucket]]
resolution = "160"
num_frames = 1
keep_prob = 1
micro_batch_size = 2
[batch]
global_batch_size = 2
[optim]
precision = "fp32"
[train]
steps = {STEPS}
[checkpoint]
every = 0
[faults]
max_restarts = 0
"""


def make_clips(folder):
    names = []
    for number in range(CLIPS):
        size = "160x160" if number % 4 == 3 else "32x32"
        source = f"testsrc2=size={size}:rate=12:duration=1,hue=h={number * 37}:s=1"
        names.append(f"clip{number}.mp4")
        subprocess.run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i", source, "-c:v",
                        "libx264", "-g", "6", "-pix_fmt", "yuv420p", str(folder / names[-1])],
                       check=True)
    (folder / "clips.csv").write_text("path\n" + "".join(name + "\n" for name in names))


class Run:
    """One run, and its steps from the history."""

    def __init__(self, folder, settings):
        self.folder = folder
        sets = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
        self.osora("submit", "run.toml", *sets)
        last = "run = (SELECT max(run) FROM v_run)"
        self.verdict = self.rows(f"SELECT verdict FROM v_run WHERE {last}")[0]["verdict"]
        self.steps = self.rows("SELECT bucket, loss, peak_allocated_max_bytes AS bytes "
                               f"FROM v_step WHERE {last} ORDER BY step")

    def rows(self, query):
        asked = self.osora("history", "sql", query, "--json")
        if asked.returncode != 0:
            sys.exit(asked.stderr)
        answer = json.loads(asked.stdout)
        return [dict(zip(answer["columns"], row)) for row in answer["rows"]]

    def osora(self, *words):
        return osora_command.run(ARGUMENTS.osora, self.folder, *words)

    def peak(self, bucket=None):
        return max((each["bytes"] for each in self.steps if bucket in (None, each["bucket"])),
                   default=0)

    def completes_as(self, other):
        if self.verdict != "ok" or len(self.steps) != len(other.steps):
            return False
        return all(abs(own["loss"] - its["loss"]) <= LOSSES_ALIKE * its["loss"]
                   for own, its in zip(self.steps, other.steps))


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_clips(folder)
        (folder / "run.toml").write_text(RUN_FILE)
        unfused = {"debug.attention": "unfused"}
        free = Run(folder, unfused)
        cap = {"memory.rank_memory_gib": f"{free.peak() * 2 / 3 / 2**30:.6f}"}
        stock = Run(folder, {**unfused, **cap, "debug.memory_guard": "false"})
        guarded = Run(folder, {**unfused, **cap})
        fused = Run(folder, cap)
    buckets = sorted({each["bucket"] for each in free.steps})
    print(f"peaks in MiB; cap {free.peak() * 2 / 3 / 2**20:.1f}")
    print(f"{'':34}{'ends':>5}{'steps':>6}" + "".join(f"{bucket:>12}" for bucket in buckets))
    for label, run in (("unfused, no cap", free), ("unfused, cap", stock),
                       ("unfused, cap, guard", guarded), ("fused, cap", fused)):
        peaks = "".join(f"{run.peak(bucket) / 2**20:12.1f}" for bucket in buckets)
        print(f"{label:34}{run.verdict:>5}{len(run.steps):6}{peaks}")
    fails = stock.verdict == "oom" and 0 < len(stock.steps) < STEPS
    completes = all(run.completes_as(free) for run in (guarded, fused))
    return 0 if free.verdict == "ok" and fails and completes else 1


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("osora")
    ARGUMENTS = parser.parse_args()
    ARGUMENTS.osora = str(Path(ARGUMENTS.osora).resolve())
    sys.exit(main())
