#!/usr/bin/env python3
"""balance.py OSORA [--ranks 2] [--rounds 3] [--steps 24]: training one bucket a step, as osora
does, against buckets of equally many tokens that each rank draws for itself, as Open-Sora does.

stdit3-tiny on CPU ranks of this machine, on videos of 64 x 64 x 16 and pictures of 256 x 256: 4,096
tokens each, but attention within a picture costs 16 times as much. The two ways alternate. Compared
is the time of a pass over the clips: for each bucket its clips over its batch, times the mean step.
A rank that waits leaves its core to the others, so --ranks must not exceed the cores.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import osora_command  # noqa: E402

CLIPS = 48  # of each kind
RUN_FILE = """[run]
name = "{name}"
[resources]
gpus_per_node = {ranks}
cpus_per_worker = 1
[model]
arch = "stdit3-tiny"
[data]
manifest = "clips.csv"
host_memory_gib = 1
[[bucket]]
resolution = "64"
num_frames = 16
micro_batch_size = 1
[[bucket]]
resolution = "256"
num_frames = 1
micro_batch_size = 1
[batch]
global_batch_size = {batch}
min = 1
[train]
steps = {steps}
[checkpoint]
every = 0
[debug]
bucket_schedule = "{schedule}"
"""
# Of videos a step; equal cost then gives 4 pictures in both.
WAYS = {"drawn": {"batch": 4, "schedule": "original"},
        "balanced": {"batch": 16, "schedule": "balanced"}}


def make_clips(folder):
    rows = ["path,text,num_frames,height,width,aspect_ratio,resolution,fps"]
    for kind, size, frames in (("video", 64, 24), ("picture", 256, 1)):
        for i in range(CLIPS):
            path = folder / f"{kind}{i}.{'mp4' if frames > 1 else 'png'}"
            subprocess.run(["ffmpeg", "-loglevel", "error", "-f", "lavfi", "-i",
                            f"testsrc2=s={size}x{size}:r=8:d=4", "-vf", f"hue=h={7 * i}",
                            "-frames:v", str(frames), str(path)], check=True)
            rows.append(f"{path},{kind} {i},{frames},{size},{size},1.0,{size * size},8")
    (folder / "clips.csv").write_text("\n".join(rows) + "\n")


def osora(folder, *arguments):
    return osora_command.output(ARGUMENTS.osora, folder, *arguments)


def run(folder, way):
    """Plan of the run, and what `osora report` measured."""
    name = f"{way}.toml"
    (folder / name).write_text(RUN_FILE.format(name=way, ranks=ARGUMENTS.ranks,
                                               steps=ARGUMENTS.steps, **WAYS[way]))
    plan = json.loads(osora(folder, "plan", name, "--json"))
    osora(folder, "submit", name)
    return plan, json.loads(osora(folder, "report", way, "--json"))


def mean_step_s(folder, run_number):
    """Without the first four steps; of any bucket."""
    rows = osora(folder, "history", "sql", "--json",
                 f"SELECT avg(step_time_s) AS s FROM v_step WHERE run={run_number} AND step>=4")
    return json.loads(rows)["rows"][0][0]


def pass_s(folder, way, plan, report):
    """Seconds of a pass over the clips."""
    batches = [bucket["global_batch_size"] for bucket in plan["chosen"]["buckets"]]
    steps = [CLIPS / batch for batch in batches]
    if way == "drawn":  # a step is of several buckets
        return sum(steps) * mean_step_s(folder, report["run"]["number"])
    times = {row["bucket"]: row["step_s_median"] for row in report["buckets"]}
    return sum(count * times[f"{bucket['height']}x{bucket['width']}x{bucket['num_frames']}"]
               for count, bucket in zip(steps, plan["chosen"]["buckets"]))


def main():
    found = {way: [] for way in WAYS}
    balance = {way: [] for way in WAYS}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make_clips(folder)
        for _ in range(ARGUMENTS.rounds):
            for way in WAYS:
                plan, report = run(folder, way)
                found[way].append(pass_s(folder, way, plan, report))
                balance[way].append(report["compared"]["rank_balance"])
    for way in WAYS:
        measured = statistics.median(each["measured"] for each in balance[way])
        print(f"{way:9} {statistics.median(found[way]):7.2f} s a pass, longest work of a rank over "
              f"the mean {measured:.2f} (planned {balance[way][0]['predicted']:.2f})")
    ratios = [drawn / balanced for drawn, balanced in zip(found["drawn"], found["balanced"])]
    print(f"throughput: {statistics.median(ratios):.2f} x ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("osora", type=os.path.abspath)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--steps", type=int, default=24)
    ARGUMENTS = parser.parse_args()
    main()
