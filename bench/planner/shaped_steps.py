#!/usr/bin/env python3
"""shaped_steps.py BUILD [--rates 200mbit,1gbit] [--steps N] [--rows]: predicted against measured
step times of the trainer on two nodes, for layouts and link rates.

Nodes are those of tests/cluster/bed: network namespaces joined by shaped links (needs root). For
each rate: one probe of the links and collectives, and one run of one rank, which the plans may use;
then a plan and a run of each layout. The nodes share this machine's caches and memory, as those of
a cluster do not, so the calibration and the run of one rank have another beside them. The
figure of a run is the median of its steps after the first five. Exit code 1: a prediction is off by
more than 15 %, or the layouts of a network and rate are ranked wrongly (Spearman's rank correlation
below 0.9).
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BED = os.path.join(ROOT, "tests/cluster/bed")

# name, settings
LAYOUTS = [
    ("dp 2", []),
    ("dp 2, micro-batch 1", ["bucket.micro_batch_size=1"]),
    ("dp 2, ZeRO-1", ["parallel.zero_stage=1"]),
    ("dp 2, ZeRO-2", ["parallel.zero_stage=2"]),
    ("dp 2, ZeRO-3", ["parallel.zero_stage=3"]),
    ("dp 2, recompute full", ["memory.recompute=full"]),
    ("tp 2", ["parallel.tp_size=2"]),
    ("tp 2, recompute full", ["parallel.tp_size=2", "memory.recompute=full"]),
    ("sp 2", ["parallel.sp_size=2"]),
    ("sp 2, ring", ["parallel.sp_size=2", "parallel.sp_kind=ring"]),
    ("pp 2", ["parallel.pp_size=2", "micro_batches=4"]),
    ("pp 2, interleaved", ["parallel.pp_size=2", "parallel.virtual_stages=2", "micro_batches=4"]),
]

RUN_FILE = """[run]
name = "{name}"
job = "train"
[resources]
backend = "slurm"
nodes = {nodes}
gpus_per_node = 1
cpus_per_worker = 1
time_limit = "00:20:00"
[model]
arch = "{arch}"
[data]
manifest = "{manifest}"
host_memory_gib = 1
[[bucket]]
resolution = "{resolution}"
num_frames = {frames}
micro_batch_size = {micro}
[batch]
global_batch_size = {batch}
[parallel]
tp_size = 1
sp_size = 1
pp_size = 1
zero_stage = 0
grad_bucket_mib = {bucket_mib}
[optim]
precision = "fp32"
[train]
steps = {steps}
[checkpoint]
every = 1000000
[probe]
before_start = "never"
"""


class Cluster:
    def __init__(self, folder, build, rate, nodes=2):
        self.folder, self.build = folder, os.path.abspath(build)
        self.bed = os.path.join(folder, "bed")
        subprocess.run([BED, "up", self.bed, "--nodes", str(nodes), "--rate", rate, "--no-sshd"],
                       check=True)
        self.state = os.path.join(self.bed, "state")
        os.makedirs(self.state, exist_ok=True)

    def close(self):
        subprocess.run([BED, "down", self.bed], check=False)

    def command(self, state, words):
        environment = {"OSORA_STATE_DIR": state, "CUDA_VISIBLE_DEVICES": ""}
        return [BED, "exec", self.bed, "ctl", "env", f"--chdir={self.bed}",
                *(f"{key}={value}" for key, value in environment.items()),
                os.path.join(self.build, "bin/osora"), *words]

    def osora_twice(self, *words):
        """As osora(), with another at work beside it, of which nothing is kept."""
        with tempfile.TemporaryDirectory() as state:
            beside = subprocess.Popen(self.command(state, words), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            try:
                self.osora(*words)
            finally:
                code = beside.wait()
        if code != 0:
            raise RuntimeError(f"osora {' '.join(words)}, the one beside: exit {code}")

    def osora(self, *words, check=True):
        done = subprocess.run(self.command(self.state, words), text=True, capture_output=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"osora {' '.join(words)}: exit {done.returncode}: "
                               f"{done.stdout[-800:]}{done.stderr[-800:]}")
        return done.stdout


def write_run_file(cluster, name, case, nodes, args, micro_batches=1, shared=1):
    arch, resolution, frames, samples = case
    batch = samples * nodes
    path = os.path.join(cluster.bed, f"{name}.toml")
    with open(path, "w") as out:
        out.write(RUN_FILE.format(name=name, nodes=nodes, arch=arch, resolution=resolution,
                                  frames=frames, batch=batch, manifest=args.clips,
                                  micro=batch * shared // nodes // micro_batches,
                                  steps=args.steps, bucket_mib=args.bucket_mib))
    return path


def measured_step_s(cluster, name):
    report = json.loads(cluster.osora("report", name, "--json"))
    return report["measured"]["step_s_median"], report["measured"]


def measure(cluster, case, args, rate):
    rows = []
    one = write_run_file(cluster, "one", case, 1, args)
    cluster.osora_twice("submit", one)
    for number, (layout, settings) in enumerate(LAYOUTS):
        micro_batches, shared, words = 1, 1, []
        for setting in settings:
            key, value = setting.split("=")
            if key == "micro_batches":
                micro_batches = int(value)
            elif key == "bucket.micro_batch_size":
                micro_batches = case[3] // int(value)
            else:
                words += ["--set", setting]
            if key in ("parallel.tp_size", "parallel.sp_size", "parallel.pp_size"):
                shared *= int(value)
        name = f"{case[0]}-{number}"
        path = write_run_file(cluster, name, case, 2, args, micro_batches, shared)
        plan = json.loads(cluster.osora("plan", path, "--json", *words))["predicted"]
        cluster.osora("submit", path, *words)
        step_s, whole = measured_step_s(cluster, name)
        rows.append({"rate": rate, "case": case, "layout": layout, "plan": plan,
                     "predicted": plan["step_time_s"], "measured": step_s, "figures": whole})
        if args.rows:
            print(f"{rate:>8} {case[0]} {case[1]} x {case[2]} {layout:<24} predicted"
                  f" {1e3 * plan['step_time_s']:8.1f} ms measured {1e3 * step_s:8.1f} ms"
                  f" {100 * (plan['step_time_s'] / step_s - 1):+6.1f} %", flush=True)
    return rows


def spearman(pairs):
    """Of (predicted, measured); times are never equal."""
    def ranks(values):
        order = sorted(values)
        return [order.index(value) for value in values]
    predicted, measured = (ranks(each) for each in zip(*pairs))
    n = len(pairs)
    off = sum((a - b) ** 2 for a, b in zip(predicted, measured))
    return 1 - 6 * off / (n * (n * n - 1))


def correlations(rows):
    groups = {}
    for row in rows:
        groups.setdefault((row["rate"], *row["case"]), []).append(
            (row["predicted"], row["measured"]))
    return {" ".join(map(str, group[:2])): spearman(pairs) for group, pairs in groups.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build")
    parser.add_argument("--rates", default="200mbit,1gbit")
    parser.add_argument("--cases", default="stdit3-tiny:64:8:4,mmdit-tiny:64:8:4",
                        help="arch:resolution:frames:samples a rank")
    parser.add_argument("--clips", default=os.path.join(ROOT, ".deps/clips/clips.csv"))
    parser.add_argument("--bucket-mib", type=int, default=1)
    parser.add_argument("--steps", type=int, default=25)
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--json", help="write all rows to this file")
    args = parser.parse_args()
    rows = []
    for rate in args.rates.split(","):
        with tempfile.TemporaryDirectory() as folder:
            cluster = Cluster(folder, args.build, rate)
            try:
                for text in args.cases.split(","):
                    arch, resolution, frames, samples = text.split(":")
                    case = (arch, resolution, int(frames), int(samples))
                    if text == args.cases.split(",")[0]:
                        cluster.osora_twice("plan", "calibrate")
                        path = write_run_file(cluster, "probed", case, 2, args)
                        cluster.osora("probe", path, "--nodes", "2", "--collectives")
                    rows += measure(cluster, case, args, rate)
            finally:
                cluster.close()
    if args.json:
        with open(args.json, "w") as out:
            json.dump(rows, out)
    errors = [abs(row["predicted"] / row["measured"] - 1) for row in rows]
    print(f"{len(rows)} runs: mean {100 * sum(errors) / len(errors):.1f} %,"
          f" max {100 * max(errors):.1f} %, within 15 %: {sum(e <= 0.15 for e in errors)}")
    ranked = correlations(rows)
    for group, value in ranked.items():
        print(f"{group}: rank correlation {value:.3f}")
    return max(errors) > 0.15 or min(ranked.values()) < 0.9


if __name__ == "__main__":
    sys.exit(main())
