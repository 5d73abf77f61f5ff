#!/usr/bin/env python3
"""How much of its communication a training step of STDiT3 hides behind its own compute, over Gloo.

  bench/trainer_vs_pytorch/hidden.py [--links 200mbit,1gbit] [--nodes 2] [--zero 0,1,2,3]
      [--model 288x8] [--bucket-mib 4] [--pairs 10] [--build build]

Every stage runs twice, with parallel.overlap and without; the two alternate on nodes of
tests/cluster/bed (needs root). Of a step, medians over the pairs:
  alone     what a rank waits for collectives if nothing overlaps
  cover     compute that may hide them: backward; from stage 1 on also forward, behind which
            parameters are gathered (stages 1 and 2: each at most its own half)
  threads   CPU time of Gloo's threads, which the rank's core cannot use for compute
  softirqs  CPU time of this machine's softirqs (/proc/stat) with overlap: of the links between the
            nodes, which here share their cores
  hideable  min(cover, alone) - threads
  hidden    time of a step without overlap - with it; share = hidden / hideable
Gradients outside the blocks (embedders, captions) are there only when backward ends, so nothing
hides their reduction: 9 % of the parameters of 288x8, 28 % of 288x2.
Exit code 1 when a share is below --limit.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile

import compare
import options
from bed_nodes import NodePeer, add_options, bed_of, shape


def start(stage, args, bed):
    """The ranks without overlap, and those with it."""
    program = os.path.join(args.build, "bench/trainer_step")
    shape(bed, args.nodes, "none")
    with tempfile.TemporaryDirectory() as folder:
        case = os.path.join(folder, "case.safetensors")
        subprocess.run([program, "--model", args.model, "--dump", case], check=True)
        command = [program, "--model", args.model, "--zero", stage, "--reduce-dtype", "fp32",
                   "--bucket-mib", str(args.bucket_mib)]
        return [NodePeer([*command, "--overlap", str(overlap)], case, args.nodes, bed,
                         29500 + overlap) for overlap in (0, 1)]


def softirqs_s():
    """Of all cores since the machine started."""
    with open("/proc/stat") as stat:
        return int(stat.readline().split()[7]) / os.sysconf("SC_CLK_TCK")


def run(side, bucket, steps):
    """Means of the ranks, of a step."""
    before = softirqs_s()
    answers = side.ask(f"step {bucket} {steps}")
    mean = {key: sum(a[key] for a in answers) / len(answers) / steps for key in answers[0]}
    mean["softirqs_s"] = (softirqs_s() - before) / len(answers) / steps
    return mean


def measure(stage, sides, bucket, args):
    for side in sides:
        run(side, bucket, 2)
    rounds = []
    for i in range(args.pairs):
        order = (0, 1) if i % 2 == 0 else (1, 0)
        rounds.append({overlap: run(sides[overlap], bucket, args.steps) for overlap in order})
    median = {(overlap, key): statistics.median(r[overlap][key] for r in rounds)
              for overlap in (0, 1) for key in rounds[0][0]}
    alone, forward, backward = (median[0, key] for key in ("exposed_s", "forward_s", "backward_s"))
    reach = {"0": backward, "3": forward + backward}
    covered = min(alone, reach[stage]) if stage in reach else (
        min(alone / 2, backward) + min(alone / 2, forward))
    found = {"step_s": median[1, "wall_s"], "alone_s": alone, "exposed_s": median[1, "exposed_s"],
             "forward_s": forward, "backward_s": backward, "threads_s": median[1, "others_cpu_s"],
             "softirqs_s": median[1, "softirqs_s"],
             "hideable_s": covered - median[1, "others_cpu_s"],
             "hidden_s": statistics.median(r[0]["wall_s"] - r[1]["wall_s"] for r in rounds)}
    found["share"] = found["hidden_s"] / found["hideable_s"]
    return found


def main():
    parser = options.parser_of(__doc__)
    add_options(parser)
    parser.add_argument("--zero", default="0,1,2,3")
    parser.add_argument("--model", default="288x8")
    parser.add_argument("--limit", type=float, default=0.8)
    args = parser.parse_args()
    bucket = compare.BUCKETS.get(args.model, compare.LATENT_BUCKETS)[0]
    found = {link: {} for link in args.links.split(",")}
    with bed_of(args.nodes) as bed:
        for stage in args.zero.split(","):
            sides = start(stage, args, bed)
            for link, rows in found.items():
                shape(bed, args.nodes, link)
                rows[stage] = row = measure(stage, sides, bucket, args)
                if args.json:
                    continue
                print(f"stage {stage}, {link}: " + " ".join(
                    f"{key[:-2]} {1e3 * value:.0f} ms," for key, value in row.items()
                    if key != "share") + f" share {row['share']:.2f}", flush=True)
            for side in sides:
                side.close()
    if args.json:
        print(json.dumps({"schema": "osora.bench.hidden/1", "nodes": args.nodes,
                          "model": args.model, "bucket_mib": args.bucket_mib,
                          "pairs": args.pairs, "links": found}))
    return 0 if all(row["share"] >= args.limit for rows in found.values()
                    for row in rows.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
