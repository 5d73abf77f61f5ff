#!/usr/bin/env python3
"""Training steps of STDiT3: osora (C++, LibTorch) against PyTorch eager, interleaved in pairs.

  bench/trainer_vs_pytorch/compare.py [--models tiny,288x2,1152x2] [--ddp] [--compile] [--pairs 15]
                                      [--build build] [--python PYTHON]

Models are stdit3-tiny, or WIDTHxPAIRS of blocks on latents, with heads and captions as STDiT3-XL/2
has them. For each, first both compute loss and gradient norm from the same weights and inputs: they
must agree to 1e-5. Then pairs of (osora, PyTorch) runs of the same steps alternate, one thread a
process; printed are the median of the pairs' time ratios and the upper end of its 95 % bootstrap
interval, and the peak memory of the processes while training. --ddp: two ranks each, osora's
GradReducer against DistributedDataParallel, both over Gloo. --compile: torch.compile beside them.
Exit code 1 when losses differ, or an upper bound or a ratio of memory is above its limit.
"""
import json
import os
import random
import socket
import statistics
import subprocess
import sys
import tempfile

import options

BUCKETS = {"tiny": ["48x48x4", "32x32x8", "64x64x1"]}
LATENT_BUCKETS = ["16x16x8", "32x32x1"]  # height x width x frames of WIDTHxPAIRS


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


def check_equal(ours, theirs, buckets):
    """Largest relative difference of loss and gradient norm over the buckets."""
    worst = 0.0
    for bucket in buckets:
        a, b = ours.ask(f"loss {bucket}")[0], theirs.ask(f"loss {bucket}")[0]
        for key in ("loss", "grad_norm"):
            worst = max(worst, abs(a[key] - b[key]) / abs(b[key]))
    return worst


def upper_bound(ratios, rng):
    """97.5th percentile of the bootstrapped median: the upper end of the 95 % interval."""
    medians = sorted(statistics.median(rng.choices(ratios, k=len(ratios))) for _ in range(4000))
    return medians[int(0.975 * len(medians))]


def measure_bucket(sides, bucket, args, rng):
    """sides: {name: Peer}, "osora" first and "pytorch" next."""
    for side in sides.values():
        side.run(bucket, 2)
    rounds = []
    for i in range(args.pairs):
        order = list(sides) if i % 2 == 0 else list(reversed(sides))
        rounds.append({name: sides[name].run(bucket, args.steps) for name in order})
    result = {name + "_ms": 1e3 * statistics.median(r[name]["wall_s"] for r in rounds) / args.steps
              for name in sides}
    for clock in ("wall_s", "cpu_s"):
        ratios = [r["osora"][clock] / r["pytorch"][clock] for r in rounds]
        result[clock[:-2] + "_ratio"] = statistics.median(ratios)
        result[clock[:-2] + "_ratio_upper95"] = upper_bound(ratios, rng)
    return result


def measure_model(model, args, rng):
    program = os.path.join(args.build, "bench/trainer_step")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch_step.py")
    buckets = BUCKETS.get(model, LATENT_BUCKETS)
    with tempfile.TemporaryDirectory() as folder:
        case = os.path.join(folder, "case.safetensors")
        subprocess.run([program, "--model", model, "--dump", case], check=True)
        commands = {"osora": [program], "pytorch": [args.python, script]}
        if args.compile:
            commands["compiled"] = [args.python, script, "--compile"]
        sides = {name: Peer([*command, "--model", model], case, 2 if args.ddp else 1)
                 for name, command in commands.items()}
    difference = check_equal(sides["osora"], sides["pytorch"], buckets)
    results = {bucket: measure_bucket(sides, bucket, args, rng) for bucket in buckets}
    peaks = {name: max(a["peak_bytes"] for a in side.ask("memory -"))
             for name, side in sides.items()}
    for side in sides.values():
        side.close()
    fast = all(r["wall_ratio_upper95"] <= args.limit for r in results.values())
    small = peaks["osora"] <= peaks["pytorch"]
    return {"largest_difference": difference, "ok": difference <= 1e-5 and fast and small,
            "peak_bytes": peaks, "buckets": results}


def print_model(model, found):
    print(f"{model}: loss and gradient norm differ by at most {found['largest_difference']:.1e}"
          " (limit 1e-5)")
    names = [key[:-3] for key in next(iter(found["buckets"].values())) if key.endswith("_ms")]
    print(f"{'bucket':>8} " + " ".join(f"{name:>11}" for name in names)
          + f" {'ratio':>7} {'<= 95 %':>8} {'CPU ratio':>10} {'<= 95 %':>8}")
    for bucket, r in found["buckets"].items():
        print(f"{bucket:>8} " + " ".join(f"{r[name + '_ms']:8.1f} ms" for name in names)
              + f" {r['wall_ratio']:7.3f} {r['wall_ratio_upper95']:8.3f}"
              f" {r['cpu_ratio']:10.3f} {r['cpu_ratio_upper95']:8.3f}")
    peaks = found["peak_bytes"]
    print("peak memory: " + ", ".join(f"{name} {value / 1e6:.0f} MB"
                                      for name, value in peaks.items())
          + f", ratio {peaks['osora'] / peaks['pytorch']:.3f}")


def main():
    parser = options.parser_of(__doc__, pairs=15, steps=6)
    parser.add_argument("--models", default="tiny")
    parser.add_argument("--ddp", action="store_true", help="two ranks each")
    parser.add_argument("--compile", action="store_true", help="report torch.compile, too")
    parser.add_argument("--limit", type=float, default=1.03)
    args = parser.parse_args()

    rng = random.Random(1)
    found = {}
    if not args.json:
        mode = "2 ranks (osora buckets / DDP, Gloo)" if args.ddp else "1 rank"
        print(f"STDiT3 training step, {mode}, 1 thread a rank, {args.pairs} interleaved pairs")
    for model in args.models.split(","):
        found[model] = measure_model(model, args, rng)
        if not args.json:
            print_model(model, found[model])
    good = all(each["ok"] for each in found.values())
    if args.json:
        print(json.dumps({"schema": "osora.bench.trainer_vs_pytorch/2",
                          "ranks": 2 if args.ddp else 1, "pairs": args.pairs, "ok": good,
                          "models": found}))
    else:
        print("ok" if good else
              f"NOT ok: losses differ, an upper bound is above {args.limit}, or memory above 1")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
