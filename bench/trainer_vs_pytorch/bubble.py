#!/usr/bin/env python3
"""Idle share of pipeline stages with equal work: osora's orders of passes over Gloo.

  bench/trainer_vs_pytorch/bubble.py [--model 144x24c64] [--micro-batches 2,4,8] [--virtual 1,2]
                                     [--steps 12] [--build build]

Two stages, processes of this machine with one thread each, so that two cores suffice. Idle is what
a stage waits for others, over what it computes in forward and backward: (p - 1) / m for p stages
and m micro-batches in 1F1B (arXiv 2104.04473, 2.2) and eager 1F1B, (p - 1) / (v m) with v runs of
blocks a stage.
Of each setting the step with the least wall time counts, the one that other programs disturbed
least; what is printed is the mean over the stages. Exit code 1: one differs by more than --limit.
"""
import json
import os
import subprocess
import sys
import tempfile

import compare
import options

STAGES = 2


def idle_share(case, virtual, eager, micro_batches, args):
    """Mean over the stages, in the least disturbed of the steps."""
    command = [os.path.join(args.build, "bench/trainer_step"), "--model", args.model,
               "--pp", str(STAGES), "--virtual", str(virtual), "--eager", str(int(eager)),
               "--samples", str(micro_batches), "--micro", "1"]
    side = compare.Peer(command, case, STAGES)
    side.ask(f"step {args.bucket} 2")
    steps = [side.ask(f"step {args.bucket} 1") for _ in range(args.steps)]
    side.close()
    best = min(steps, key=lambda ranks: max(rank["wall_s"] for rank in ranks))
    return sum(rank["exposed_s"] / (rank["forward_s"] + rank["backward_s"])
               for rank in best) / STAGES


def orders(virtual_stages):
    for virtual in virtual_stages:
        if virtual == 1:
            yield "1f1b", 1, False
            yield "eager_1f1b", 1, True
        else:
            yield f"{virtual} virtual stages", virtual, False


def main():
    parser = options.parser_of(__doc__, steps=12)
    parser.add_argument("--model", default="144x24c64",
                        help="few channels, many blocks: even stages")
    parser.add_argument("--bucket", default="16x16x8")
    parser.add_argument("--micro-batches", default="2,4,8")
    parser.add_argument("--virtual", default="1,2", help="runs of blocks of each stage")
    parser.add_argument("--limit", type=float, default=0.1, help="relative difference")
    args = parser.parse_args()

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        case = os.path.join(folder, "case.safetensors")
        subprocess.run([os.path.join(args.build, "bench/trainer_step"), "--model", args.model,
                        "--dump", case], check=True)
        for name, virtual, eager in orders(map(int, args.virtual.split(","))):
            for count in map(int, args.micro_batches.split(",")):
                formula = (STAGES - 1) / (virtual * count)
                found = idle_share(case, virtual, eager, count, args)
                rows.append({"order": name, "virtual_stages": virtual, "micro_batches": count,
                             "idle": found, "formula": formula})
                if not args.json:
                    print(f"{name}, micro-batches {count}: idle {found:.3f}, "
                          f"formula {formula:.3f}, ratio {found / formula:.2f}", flush=True)
    if args.json:
        print(json.dumps({"schema": "osora.bench.pipeline_bubble/1", "model": args.model,
                          "bucket": args.bucket, "stages": STAGES, "rows": rows}))
    return any(abs(row["idle"] / row["formula"] - 1) > args.limit for row in rows)


if __name__ == "__main__":
    sys.exit(main())
