#!/usr/bin/env python3
"""Training steps of STDiT3 on several nodes: osora's ZeRO stages against DDP and FSDP, over Gloo.

  bench/trainer_vs_pytorch/over_links.py [--models 288x2] [--links 200mbit,1gbit] [--nodes 2]
      [--zero 0,1,2,3] [--peers ddp,fsdp] [--pairs 10] [--build build] [--python PYTHON]

"2-bf16" and "ddp-bf16": gradients travel as bf16 (DDP: its bf16_compress_hook).

Nodes are those of tests/cluster/bed: network namespaces joined by links of the given rate (needs
root). A node has one rank, one thread and one core. Runs of all sides alternate; printed are the
median of a step, its ratio to DDP's over the pairs with the upper end of its 95 % bootstrap
interval, and the largest memory of a rank while training.
"""
import json
import os
import random
import statistics
import subprocess
import tempfile

import compare
import options
from bed_nodes import NodePeer, add_options, bed_of, shape


def commands_of(args):
    program = os.path.join(args.build, "bench/trainer_step")
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "pytorch_step.py")
    mib = ["--bucket-mib", str(args.bucket_mib)]
    commands = {peer: [args.python, script, "--sharing", peer, *mib]
                for peer in args.peers.split(",")}
    for each in args.zero.split(","):
        stage, _, dtype = each.partition("-")
        ours = [program, "--zero", stage, *mib, "--reduce-dtype", dtype or "fp32"]
        commands[f"zero{each}"] = ours
    return commands


def measure(sides, bucket, args, rng):
    for side in sides.values():
        side.run(bucket, 2)
    names, rounds = list(sides), []
    for i in range(args.pairs):
        order = names if i % 2 == 0 else list(reversed(names))
        rounds.append({name: sides[name].run(bucket, args.steps)["wall_s"] for name in order})
    found = {}
    for name in names:
        ratios = [r[name] / r[args.peers.split(",")[0]] for r in rounds]
        found[name] = {"step_ms": 1e3 * statistics.median(r[name] for r in rounds) / args.steps,
                       "ratio": statistics.median(ratios),
                       "ratio_upper95": compare.upper_bound(ratios, rng)}
    return found


def measure_model(model, bed, args, rng):
    commands = commands_of(args)
    buckets = compare.BUCKETS.get(model, compare.LATENT_BUCKETS)[:1]
    results = {}
    with tempfile.TemporaryDirectory() as folder:
        case = os.path.join(folder, "case.safetensors")
        program = os.path.join(args.build, "bench/trainer_step")
        subprocess.run([program, "--model", model, "--dump", case], check=True)
        shape(bed, args.nodes, "none")
        sides = {name: NodePeer([*command, "--model", model], case, args.nodes, bed, 29500 + i)
                 for i, (name, command) in enumerate(commands.items())}
    for link in args.links.split(","):
        shape(bed, args.nodes, link)
        for bucket in buckets:
            results[f"{link} {bucket}"] = measure(sides, bucket, args, rng)
    for name, side in sides.items():
        peak = max(answer["peak_bytes"] for answer in side.ask("memory -"))
        for each in results.values():
            each[name]["peak_bytes"] = peak
    for side in sides.values():
        side.close()
    return results


def main():
    parser = options.parser_of(__doc__)
    add_options(parser)
    parser.add_argument("--models", default="288x2")
    parser.add_argument("--zero", default="0,1,2,3")
    parser.add_argument("--peers", default="ddp,fsdp", help="the first is what ratios are of")
    args = parser.parse_args()

    found = {}
    with bed_of(args.nodes) as bed:
        for model in args.models.split(","):
            found[model] = measure_model(model, bed, args, random.Random(1))
    if args.json:
        print(json.dumps({"schema": "osora.bench.over_links/1", "nodes": args.nodes,
                          "pairs": args.pairs, "bucket_mib": args.bucket_mib, "models": found}))
        return
    for model, cases in found.items():
        for case, sides in cases.items():
            print(f"{model}, {args.nodes} nodes, {case}")
            for name, side in sides.items():
                print(f"  {name:>10} {side['step_ms']:9.1f} ms  {side['ratio']:6.3f} of the first"
                      f" (<= {side['ratio_upper95']:.3f})  {side['peak_bytes'] / 1e6:6.0f} MB")


if __name__ == "__main__":
    main()
