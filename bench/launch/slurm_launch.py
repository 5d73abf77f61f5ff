#!/usr/bin/env python3
"""From `osora submit` inside an allocation to all ranks running, against a bare srun.

  bench/launch/slurm_launch.py [--nodes 8] [--ranks 8] [--pairs 15] [--build build]

On a bed (tests/cluster/bed; needs root) of --nodes nodes, in one salloc of all of them, pairs of
`srun -N8 -n64 true` and `osora submit` of mock ranks alternate. The time is from the start of
the command to the wall time of the last rank's hello in the run's journal. Printed: medians, and
the median and 95 % bootstrap interval of osora - 1.3 x srun, which is to stay below 0.3 s. Exit
code 1 when it does not, 77 when no bed can run here.
"""
import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BED = os.path.join(ROOT, "tests/cluster/bed")
ALLOWED_S, ALLOWED_RATIO = 0.3, 1.3

RUN_FILE = """[run]
name = "launch"
[probe]
before_start = "never"
[resources]
backend = "slurm"
nodes = {nodes}
gpus_per_node = {ranks}
[data]
manifest = "clips.csv"
host_memory_gib = 1
[[bucket]]
resolution = "32"
num_frames = 4
[batch]
global_batch_size = {world}
[train]
steps = 2
[checkpoint]
every = 0
"""


def last_hello_s(osora, run_dir):
    """Wall time, in seconds, of the last rank_started of a journal."""
    data = open(os.path.join(run_dir, "journal"), "rb").read()
    at, last, count = data.index(b"\n") + 1, 0, 0
    while at + 8 <= len(data):
        length = int.from_bytes(data[at:at + 4], "big")
        body = data[at + 8:at + 8 + length]
        record = json.loads(body) if body.startswith(b"{") else {"type": "a measurement"}
        if record["type"] == "rank_started":
            last, count = max(last, record["wall_us"] / 1e6), count + 1
        at += 8 + length
    return last, count


def inside(arguments):
    """One process inside the allocation: prints a JSON line for each pair."""
    world = arguments.nodes * arguments.ranks
    with open("run.toml", "w") as file:
        file.write(RUN_FILE.format(nodes=arguments.nodes, ranks=arguments.ranks, world=world))
    with open("clips.csv", "w") as file:
        file.write("path,num_frames,height,width\na.mp4,64,96,96\n")
    osora = os.path.join(arguments.build, "bin/osora")
    srun = ["srun", "--mpi=none", f"-N{arguments.nodes}", f"-n{world}", "--overlap", "true"]
    for pair in range(arguments.pairs + 1):  # the first warms up
        started = time.time()
        subprocess.run(srun, check=True)
        bare_s = time.time() - started
        started = time.time()
        done = subprocess.run([osora, "submit", "run.toml"], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"osora submit: {done.returncode}\n{done.stdout}{done.stderr}")
        hello, count = last_hello_s(osora, os.path.join("state/runs", f"launch-{pair + 1:04}"))
        if count != world:
            sys.exit(f"{count} of {world} ranks have started")
        if pair > 0:
            print(json.dumps({"srun_s": bare_s, "osora_s": hello - started}), flush=True)


def interval(values):
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(2000))
    return medians[50], medians[1949]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    arguments.build = os.path.abspath(arguments.build)
    if arguments.inside:
        return inside(arguments)
    check = subprocess.run([BED, "check"], capture_output=True, text=True)
    if check.returncode != 0:
        print(check.stdout.strip())
        return 77
    with tempfile.TemporaryDirectory(prefix="osora-launch-") as folder:
        bed = os.path.join(folder, "bed")
        subprocess.run([BED, "up", bed, "--nodes", str(arguments.nodes), "--no-sshd"], check=True,
                       stdout=subprocess.DEVNULL)
        try:
            words = ["salloc", "--quiet", f"--nodes={arguments.nodes}", "--exclusive",
                     sys.executable, os.path.abspath(__file__), "--inside", "--nodes",
                     str(arguments.nodes), "--ranks", str(arguments.ranks), "--pairs",
                     str(arguments.pairs), "--build", arguments.build]
            work = os.path.join(bed, "work")
            os.makedirs(work)
            setting = ["env", "-C", work, f"OSORA_STATE_DIR={work}/state",
                       f"OSORA_WORKER={arguments.build}/bin/osora-worker-mock"]
            done = subprocess.run([BED, "exec", bed, "ctl", *setting, *words],
                                  stdout=subprocess.PIPE, text=True)
        finally:
            subprocess.run([BED, "down", bed], check=False, stdout=subprocess.DEVNULL)
    pairs = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or len(pairs) != arguments.pairs:
        print(done.stdout)
        return 2
    over = [pair["osora_s"] - ALLOWED_RATIO * pair["srun_s"] for pair in pairs]
    low, high = interval(over)
    bare, ours = (statistics.median(pair[key] for pair in pairs) for key in ("srun_s", "osora_s"))
    print(f"{len(pairs)} pairs, {arguments.nodes} nodes x {arguments.ranks}: srun {bare:.3f} s, "
          f"osora {ours:.3f} s ({ours / bare:.2f}x)")
    print(f"osora - 1.3 srun: {statistics.median(over):+.3f} s [{low:+.3f}, {high:+.3f}], "
          f"allowed {ALLOWED_S:+.3f}")
    return 0 if statistics.median(over) <= ALLOWED_S else 1


if __name__ == "__main__":
    sys.exit(main())
