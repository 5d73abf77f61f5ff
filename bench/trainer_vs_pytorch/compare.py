#!/usr/bin/env python3
"""Training steps of stdit3-tiny: osora (C++, LibTorch) against PyTorch eager, interleaved in pairs.

  bench/trainer_vs_pytorch/compare.py [--ddp] [--pairs 15] [--build build] [--python PYTHON]

First both compute loss and gradient norm from the same weights and inputs: they must agree to
1e-5. Then pairs of (osora, PyTorch) runs of the same steps alternate, one thread a process; printed
are the median of the pairs' time ratios and the upper end of its 95 % bootstrap interval. --ddp:
two ranks each, osora's GradReducer against DistributedDataParallel, both over Gloo. Exit code 1
when the losses differ or an upper bound is above --limit.
"""
import argparse
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile

BUCKETS = ["48x48x4", "32x32x8", "64x64x1"]
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Peer:
    """The processes (ranks) of one side; every command goes to all, the slowest counts."""

    def __init__(self, command, case, world):
        port = str(free_port())
        env = {**os.environ, "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
        self.ranks = [
            subprocess.Popen([*command, "--case", case, "--rank", str(rank), "--world", str(world),
                              "--port", port],
                             stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)
            for rank in range(world)]
        for rank in self.ranks:
            if rank.stdout.readline().strip() != "ready":
                sys.exit(f"{command[0]}: did not start")

    def ask(self, line):
        for rank in self.ranks:
            rank.stdin.write(line + "\n")
            rank.stdin.flush()
        return [json.loads(rank.stdout.readline()) for rank in self.ranks]

    def run(self, bucket, steps):
        answers = self.ask(f"step {bucket} {steps}")
        return {key: max(a[key] for a in answers) for key in ("wall_s", "cpu_s")}

    def close(self):
        for rank in self.ranks:
            rank.stdin.close()
            rank.wait(timeout=30)


def check_equal(ours, theirs):
    """Largest relative difference of loss and gradient norm over the buckets."""
    worst = 0.0
    for bucket in BUCKETS:
        a, b = ours.ask(f"loss {bucket}")[0], theirs.ask(f"loss {bucket}")[0]
        for key in ("loss", "grad_norm"):
            worst = max(worst, abs(a[key] - b[key]) / abs(b[key]))
    return worst


def upper_bound(ratios, rng):
    """97.5th percentile of the bootstrapped median: the upper end of the 95 % interval."""
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(4000))
    return medians[int(0.975 * len(medians))]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ddp", action="store_true", help="two ranks each")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--steps", type=int, default=6, help="training steps of one measurement")
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--python", default=os.path.join(ROOT, ".deps/venv/bin/python"))
    parser.add_argument("--limit", type=float, default=1.03)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()

    program = os.path.join(args.build, "bench/trainer_step")
    world = 2 if args.ddp else 1
    here = os.path.dirname(os.path.abspath(__file__))
    rng = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        case = os.path.join(folder, "case.safetensors")
        subprocess.run([program, "--dump", case], check=True)
        ours = Peer([program], case, world)
        theirs = Peer([args.python, os.path.join(here, "pytorch_step.py")], case, world)
        difference = check_equal(ours, theirs)
        results = {}
        for bucket in BUCKETS:
            ours.run(bucket, 3), theirs.run(bucket, 3)
            pairs = []
            for i in range(args.pairs):
                sides = [ours, theirs] if i % 2 == 0 else [theirs, ours]
                times = {id(side): side.run(bucket, args.steps) for side in sides}
                pairs.append((times[id(ours)], times[id(theirs)]))
            result = {name: 1e3 * statistics.median(p[i]["wall_s"] for p in pairs) / args.steps
                      for i, name in enumerate(("osora_ms", "pytorch_ms"))}
            for clock in ("wall_s", "cpu_s"):
                ratios = [a[clock] / b[clock] for a, b in pairs]
                result[clock[:-2] + "_ratio"] = statistics.median(ratios)
                result[clock[:-2] + "_ratio_upper95"] = upper_bound(ratios, rng)
            results[bucket] = result
        ours.close()
        theirs.close()

    fast = all(r["wall_ratio_upper95"] <= args.limit for r in results.values())
    good = difference <= 1e-5 and fast
    if args.json:
        print(json.dumps({"schema": "osora.bench.trainer_vs_pytorch/1", "ranks": world,
                          "pairs": args.pairs, "largest_difference": difference, "ok": good,
                          "buckets": results}))
        return 0 if good else 1
    mode = "2 ranks (osora buckets / DDP, Gloo)" if args.ddp else "1 rank"
    print(f"stdit3-tiny training step, {mode}, 1 thread a rank, {args.pairs} interleaved pairs")
    print(f"loss and gradient norm differ by at most {difference:.1e} (limit 1e-5)")
    print(f"{'bucket':>8} {'osora':>9} {'PyTorch':>9} {'ratio':>7} {'<= 95 %':>8}"
          f" {'CPU ratio':>10} {'<= 95 %':>8}")
    for bucket, r in results.items():
        print(f"{bucket:>8} {r['osora_ms']:6.1f} ms {r['pytorch_ms']:6.1f} ms"
              f" {r['wall_ratio']:7.3f} {r['wall_ratio_upper95']:8.3f}"
              f" {r['cpu_ratio']:10.3f} {r['cpu_ratio_upper95']:8.3f}")
    print("ok" if good else f"NOT ok: an upper bound is above {args.limit} or the losses differ")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
